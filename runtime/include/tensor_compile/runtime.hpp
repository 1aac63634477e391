/* SPDX-License-Identifier: Apache-2.0
 *
 * The hosted runtime for C++20: owners of contexts, pools, states, weights and files, and tensors as std::span. What is
 * wrong is thrown as tensor_compile::error. The generated header is C and is used as it is:
 *
 *     tensor_compile::context context(CLASSIFIER_ARENA_BYTES);
 *     std::vector<float> image(64), probabilities(10);
 *     classifier_args args{};
 *     args.batch = 1, args.image = image.data(), args.probabilities = probabilities.data();
 *     context.check(classifier(context, &args));
 *
 * or by the names' order, with every size, dtype and shape checked:
 *
 *     context.call(classifier_function, {{image, {1, 1, 8, 8}}}, {{probabilities, {1, 10}}});
 */
#ifndef TENSOR_COMPILE_RUNTIME_HPP
#define TENSOR_COMPILE_RUNTIME_HPP

#if !defined __cplusplus || __cplusplus <= 201703L
#error "tensor_compile/runtime.hpp needs C++20: -std=c++20 (tensor_compile/runtime.h, in C, goes with every C++)"
#else

#include "hosted.h"
#include "safetensors.h"

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <new>
#include <ranges>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace tensor_compile {

class error : public std::runtime_error {
public:
    error(tc_status status, const std::string &what) : std::runtime_error(what), status_(status) {}
    tc_status status() const noexcept { return status_; }

private:
    tc_status status_;
};

/* Throws with the status's own words behind `what`. */
inline void check(tc_status status, const std::string &what)
{
    if (status == TC_STATUS_OK)
        return;
    const char *reason = status == TC_STATUS_SYSTEM ? std::strerror(errno) : tc_status_string(status);
    throw error(status, what + ": " + reason);
}

/* -- elements ------------------------------------------------------------------------------------------------------ */

/* Elements of f16 and bf16 as their bits: C++20 has no such types, and one 16-bit integer cannot be three dtypes. */
enum class f16 : std::uint16_t {};
enum class bf16 : std::uint16_t {};

template <class T> struct dtype_of;
template <> struct dtype_of<float> : std::integral_constant<tc_dtype, TC_DTYPE_F32> {};
template <> struct dtype_of<double> : std::integral_constant<tc_dtype, TC_DTYPE_F64> {};
template <> struct dtype_of<f16> : std::integral_constant<tc_dtype, TC_DTYPE_F16> {};
template <> struct dtype_of<bf16> : std::integral_constant<tc_dtype, TC_DTYPE_BF16> {};
template <> struct dtype_of<bool> : std::integral_constant<tc_dtype, TC_DTYPE_BOOL> {};
template <> struct dtype_of<std::int8_t> : std::integral_constant<tc_dtype, TC_DTYPE_I8> {};
template <> struct dtype_of<std::int16_t> : std::integral_constant<tc_dtype, TC_DTYPE_I16> {};
template <> struct dtype_of<std::int32_t> : std::integral_constant<tc_dtype, TC_DTYPE_I32> {};
template <> struct dtype_of<std::int64_t> : std::integral_constant<tc_dtype, TC_DTYPE_I64> {};
template <> struct dtype_of<std::uint8_t> : std::integral_constant<tc_dtype, TC_DTYPE_U8> {};
template <> struct dtype_of<std::uint16_t> : std::integral_constant<tc_dtype, TC_DTYPE_U16> {};
template <> struct dtype_of<std::uint32_t> : std::integral_constant<tc_dtype, TC_DTYPE_U32> {};
template <> struct dtype_of<std::uint64_t> : std::integral_constant<tc_dtype, TC_DTYPE_U64> {};
static_assert(sizeof(bool) == 1);

/* A tensor of a call: elements that somebody else owns, dense and row-major, and their shape. */
class view {
public:
    /* From anything that a span is made of: a vector, an array, a span. */
    template <std::ranges::contiguous_range R>
    view(R &&elements, std::initializer_list<tc_index> shape) : view(elements, std::span<const tc_index>(shape))
    {
    }

    template <std::ranges::contiguous_range R> view(R &&elements, std::span<const tc_index> shape)
    {
        using element = std::remove_cv_t<std::ranges::range_value_t<R>>;
        data_ = const_cast<element *>(std::ranges::data(elements));
        dtype_ = dtype_of<element>::value;
        tc_index count = 1;
        if (shape.size() > TC_MAX_RANK)
            throw error(TC_STATUS_BAD_VIEW, "a tensor of more than 8 dims");
        for (const tc_index size : shape)
            shape_[rank_++] = size, count *= size;
        if (count != static_cast<tc_index>(std::ranges::size(elements)))
            throw error(TC_STATUS_BAD_VIEW, "a shape of " + std::to_string(count) + " elements for " +
                                                std::to_string(std::ranges::size(elements)));
    }

    /* Its shape lies in this object. */
    tc_view get() const noexcept { return {data_, dtype_, rank_, shape_, nullptr}; }

private:
    void *data_;
    tc_dtype dtype_;
    int rank_ = 0;
    tc_index shape_[TC_MAX_RANK] = {};
};

/* -- owners ---------------------------------------------------------------------------------------------------------
 * They move, they are not copied. */

namespace detail {

struct aligned_delete {
    void operator()(void *memory) const noexcept { ::operator delete(memory, std::align_val_t{TC_ALIGNMENT}); }
};
using memory = std::unique_ptr<void, aligned_delete>;

inline memory allocate(std::size_t bytes)
{
    return memory(bytes ? ::operator new(bytes, std::align_val_t{TC_ALIGNMENT}) : nullptr);
}

} /* namespace detail */

/* A team of threads, for one context or several. */
class pool {
public:
    explicit pool(tc_index threads = tc_environment_threads()) : pool_(tc_pool_create(threads), tc_pool_destroy)
    {
        if (!pool_)
            throw error(TC_STATUS_SYSTEM, "no pool of " + std::to_string(threads) + " threads can be made");
    }
    /* A thread for each of the processors, that stays on it (TC_ANY_PROCESSOR: anywhere). The first is the calling
     * thread, which is not moved: see tc_pool_options. */
    explicit pool(std::span<const int> processors) : pool_(nullptr, tc_pool_destroy)
    {
        const tc_pool_options options{static_cast<tc_index>(processors.size()), processors.data()};
        pool_.reset(tc_pool_create_with(&options));
        if (pool_)
            return;
        std::string names;
        for (const int processor : processors)
            names += (names.empty() ? "" : ", ") + std::to_string(processor);
        throw error(TC_STATUS_SYSTEM, "no pool of " + std::to_string(processors.size()) +
                                          " threads on processors " + names + " can be made");
    }
    tc_pool *get() const noexcept { return pool_.get(); }

private:
    std::unique_ptr<tc_pool, void (*)(tc_pool *)> pool_;
};

/* A context with its arena. Its fields may be changed between calls: context->log = .... */
class context {
public:
    explicit context(std::size_t arena_bytes) : arena_(detail::allocate(arena_bytes))
    {
        tensor_compile::check(tc_context_init(&context_, arena_.get(), arena_bytes), "context");
    }

    /* Calls run on the pool from now on, which must live as long. */
    void use(const pool &threads) noexcept { tc_context_use_pool(&context_, threads.get()); }

    /* An arena of at least `bytes`: what the generated NAME_arena_bytes(dims, threads) asks for. */
    void reserve(std::size_t bytes)
    {
        if (bytes <= context_.arena_bytes)
            return;
        arena_ = detail::allocate(bytes);
        context_.arena = arena_.get();
        context_.arena_bytes = bytes;
    }

    operator tc_context *() noexcept { return &context_; }
    tc_context *operator->() noexcept { return &context_; }

    /* What a call of this context returned: throws with the line that says what is wrong. */
    void check(tc_status status) const
    {
        if (status != TC_STATUS_OK)
            throw error(status, context_.error.status == status ? context_.error.message : tc_status_string(status));
    }

    /* Inputs and outputs in the order of the generated header. */
    void call(const tc_function &function, std::initializer_list<view> inputs, std::initializer_list<view> outputs,
              const tc_call_options &options = {})
    {
        std::vector<tc_view> views;
        views.reserve(inputs.size() + outputs.size());
        for (const view &v : inputs)
            views.push_back(v.get());
        for (const view &v : outputs)
            views.push_back(v.get());
        check(tc_call(&context_, &function, views.data(), inputs.size(), views.data() + inputs.size(), outputs.size(),
                      &options));
    }

private:
    detail::memory arena_;
    tc_context context_;
};

/* The state of a model: zeros at first. */
class state {
public:
    explicit state(const tc_model &model) : model_(&model), memory_(detail::allocate(tc_state_bytes(&model)))
    {
        clear();
    }
    void clear() { tensor_compile::check(tc_state_init(model_, memory_.get()), "state"); }
    void *get() const noexcept { return memory_.get(); }

private:
    const tc_model *model_;
    detail::memory memory_;
};

/* External weights, mapped. */
class weights_file {
public:
    weights_file(const tc_model &model, const std::string &path, bool verify = false) : model_(&model)
    {
        tensor_compile::check(tc_weights_open(&file_, &model, path.c_str(), verify), path);
    }
    weights_file(weights_file &&other) noexcept : model_(other.model_), file_(other.file_) { other.file_ = {}; }
    weights_file &operator=(weights_file &&other) noexcept
    {
        std::swap(model_, other.model_);
        return std::swap(file_, other.file_), *this;
    }
    ~weights_file() { tc_weights_close(&file_); }
    const void *get() const noexcept { return file_.data; }
    /* Returns how many bytes lie in huge pages then, see tc_weights_use_huge_pages. */
    std::size_t use_huge_pages() noexcept { return tc_weights_use_huge_pages(model_, file_.data); }

private:
    const tc_model *model_;
    tc_weights_file file_{};
};

/* Moves weights that are embedded in the program into huge pages. Returns how many bytes lie in them then, see
 * tc_weights_use_huge_pages. */
inline std::size_t use_huge_pages(const tc_model &model) noexcept
{
    return tc_weights_use_huge_pages(&model, nullptr);
}

/* A safetensors file, read. */
class safetensors {
public:
    explicit safetensors(const std::string &path)
    {
        const tc_status status = tc_safetensors_open(&file_, path.c_str());
        if (status != TC_STATUS_OK)
            throw error(status, path + ": " + file_.message);
    }
    safetensors(safetensors &&other) noexcept : file_(other.file_) { other.file_ = {}; }
    safetensors &operator=(safetensors &&other) noexcept { return std::swap(file_, other.file_), *this; }
    ~safetensors() { tc_safetensors_close(&file_); }

    std::span<const tc_safetensor> tensors() const noexcept { return {file_.tensors, file_.count}; }
    const tc_safetensor *find(const std::string &name) const noexcept
    {
        return tc_safetensors_find(&file_, name.c_str());
    }

    /* The elements of a tensor, copied. */
    template <class T> std::vector<T> read(const std::string &name)
    {
        static_assert(!std::is_same_v<T, bool>, "std::vector<bool> is no array: read into a span");
        const tc_safetensor *found = find(name);
        std::vector<T> to(found ? found->bytes / sizeof(T) : 0);
        read(name, std::span<T>(to));
        return to;
    }
    template <class T> void read(const std::string &name, std::span<T> to)
    {
        const tc_status status =
            tc_safetensors_read(&file_, name.c_str(), dtype_of<T>::value, to.data(), to.size_bytes());
        if (status != TC_STATUS_OK)
            throw error(status, file_.message);
    }

private:
    tc_safetensors file_{};
};

/* A tensor to be written: its elements stay the caller's. */
inline tc_safetensor named(const char *name, const view &tensor)
{
    const tc_view v = tensor.get();
    tc_safetensor out{};
    out.name = name;
    out.dtype = v.dtype;
    out.rank = v.rank;
    out.data = v.data;
    out.bytes = tc_dtype_bytes(v.dtype);
    for (int d = 0; d < v.rank; ++d)
        out.shape[d] = v.shape[d], out.bytes *= static_cast<std::size_t>(v.shape[d]);
    return out;
}

inline void write_safetensors(const std::string &path, std::initializer_list<tc_safetensor> tensors)
{
    check(tc_safetensors_write(path.c_str(), tensors.begin(), tensors.size()), path);
}

} /* namespace tensor_compile */

#endif /* C++20 */
#endif
