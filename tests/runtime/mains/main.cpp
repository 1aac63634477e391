/* SPDX-License-Identifier: Apache-2.0
 *
 * The same as main.c in C++, by the typed entry and by the dynamic one; and what is thrown where something is wrong.
 */
#include "model.h"

#include <tensor_compile/runtime.hpp>

#include <array>
#include <cstdio>

namespace tc = tensor_compile;

template <class F> static bool throws(tc_status status, const char *message, F &&call)
{
    try {
        call();
    } catch (const tc::error &error) {
        if (error.status() == status && std::string(error.what()).find(message) != std::string::npos)
            return true;
        std::fprintf(stderr, "got %d: %s\n", error.status(), error.what());
        return false;
    }
    std::fprintf(stderr, "nothing was thrown: %s\n", message);
    return false;
}

static bool errors(const tc::safetensors &in, const char *path)
{
    tc::context small(64);
    std::array<float, 12> x{};
    std::array<float, 6> y{};
    std::array<double, 12> wide{};
    tc::safetensors again(path);
    tc::state memory(model_model);
    const tc_call_options options{nullptr, memory.get(), nullptr, nullptr};
    return throws(TC_STATUS_SYSTEM, "no.safetensors: cannot be opened", [] { tc::safetensors file("no.safetensors"); }) &&
           throws(TC_STATUS_SYSTEM, "no.bin: No such file", [] { tc::weights_file file(model_model, "no.bin"); }) &&
           throws(TC_STATUS_BAD_ARGUMENT, "\"x\" is F32, not F64", [&] { again.read<double>("x"); }) &&
           throws(TC_STATUS_BAD_VIEW, "a shape of 8 elements for 12", [&] { tc::view view(x, {2, 4}); }) &&
           throws(TC_STATUS_BAD_VIEW, "x", [&] { small.call(model_function, {{wide, {3, 4}}}, {{y, {3, 2}}}, options); }) &&
           throws(TC_STATUS_NULL_POINTER, "weights", [&] {
               small.call(model_function, {{x, {3, 4}}}, {{y, {3, 2}}}, options);
           }) &&
           throws(TC_STATUS_SYSTEM, "no pool of 2 threads on processors -1, 99999 can be made",
                  [] { tc::pool pool(std::array{int{TC_ANY_PROCESSOR}, 99999}); }) &&
           throws(TC_STATUS_SYSTEM, "no pool of 0 threads", [] { tc::pool pool(std::span<const int>{}); }) &&
           (in.find("none") == nullptr);
}

int main(int argc, char **argv)
try {
    if (argc != 4)
        return 1;
    tc::safetensors in(argv[1]);
    const tc::weights_file weights(model_model, argv[3], true);
    tc::state memory(model_model);
    tc::pool pool(2);
    tc::context context(1);
    context.use(pool);
    context.reserve(model_arena_bytes(3, 2));

    std::vector<float> x = in.read<float>("x");
    std::vector<float> y(6);
    model_args args{};
    args.batch = 3, args.x = x.data(), args.y = y.data();
    args.state = memory.get(), args.weights = weights.get();
    context.check(model(context, &args));

    tc::context moved = std::move(context);
    moved.call(model_function, {{x, {3, 4}}}, {{std::span(y), {3, 2}}},
               {nullptr, memory.get(), weights.get(), nullptr});
    const tc::pool anywhere(std::array<int, 3>{TC_ANY_PROCESSOR, TC_ANY_PROCESSOR, TC_ANY_PROCESSOR});
    const std::vector<float> before = y;
    moved.use(anywhere);
    moved.reserve(model_arena_bytes(3, 3));
    tc::state zeros(model_model);
    args.state = zeros.get();
    for (int call = 0; call < 2; ++call)
        moved.check(model(moved, &args));
    if (y != before || tc::use_huge_pages(model_model) != 0)   /* its weights are external */
        return std::fprintf(stderr, "another pool computes something else\n"), 1;
    tc::write_safetensors(argv[2], {tc::named("y", {y, {3, 2}})});
    return errors(in, argv[1]) ? 0 : 1;
} catch (const tc::error &error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
}
