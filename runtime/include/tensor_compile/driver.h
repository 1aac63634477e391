/* SPDX-License-Identifier: Apache-2.0
 *
 * Between a generated driver and the core: the tables that describe a model, and what its steps call. Programs do not
 * include this; it changes with TC_ABI. All tables are read-only and static.
 */
#ifndef TENSOR_COMPILE_DRIVER_H
#define TENSOR_COMPILE_DRIVER_H

#include "runtime.h"

/* The name carries the ABI's number; a driver's model refers to it. */
#define TC_ABI_SYMBOL tc_abi_1
extern const unsigned char TC_ABI_SYMBOL;

/* Sizes of memory in generated code: rounded up to TC_ALIGNMENT. */
static inline uint64_t tc_round(int64_t bytes)
{
    return ((uint64_t)bytes + (TC_ALIGNMENT - 1)) / TC_ALIGNMENT * TC_ALIGNMENT;
}

/* The later one of two offsets. */
static inline uint64_t tc_later(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* floor(a / b) for b > 0 */
static inline int64_t tc_floordiv(int64_t a, int64_t b)
{
    return a / b - (a % b < 0);
}

/* What the user's program sees of a driver; everything else in it is hidden. */
#define TC_PUBLIC __attribute__((visibility("default")))

/* The kernel ABI (docs/loops.md). */
typedef void tc_kernel(void *const *p, const tc_index *d, tc_index thread, tc_index threads);

typedef struct tc_frame tc_frame;
typedef struct tc_variant tc_variant;

/* sizes: those with variants of their own (count of them), for messages and counters. */
typedef struct tc_dim_info {
    const char *name;
    tc_index low, high, divisor;
    const tc_index *sizes;
    unsigned size_count;
    /* how tc_call tells it: axis `axis` of input `input` is scale * dim + offset; input -1: it cannot */
    int input, axis;
    tc_index scale, offset;
} tc_dim_info;

/* Inputs, then outputs. Shapes come from tc_function.shape. */
typedef struct tc_tensor_info {
    const char *name;
    tc_dtype dtype;
    int rank;
} tc_tensor_info;

typedef struct tc_state_info {
    const char *name;
    tc_dtype dtype;
    size_t offset, bytes; /* offset from the end of the state's header */
} tc_state_info;

/* -- devices: kernels that run in a memory of their own, whose addresses are 64-bit numbers ------------------------ */

/* What follows the sums of a product of a library's. */
enum { TC_PRODUCT_PLAIN, TC_PRODUCT_GELU, TC_PRODUCT_RELU };

/* A product that cuBLASLt computes (docs/cuda.md): result = function(first second + bias + added), rows x columns of sums
 * of `terms`, of operands of f16 or bf16. Lines of an operand are rows of the first or columns of
 * the second one; terms where it is turned. Strides are elements between lines. `algorithm` is the library's, for its
 * version alone (13.1.2: 130102), and takes no more than `workspace` bytes. */
typedef struct tc_device_product {
    unsigned version;
    tc_dtype operand, result; /* added has the result's dtype */
    int64_t rows, columns, terms;
    int64_t first_stride, second_stride, added_stride, result_stride;
    uint8_t first_turned, second_turned, has_added, has_bias, function;
    uint64_t workspace;
    uint64_t algorithm[8];
} tc_device_product;

/* The arguments of such a step: addresses; `bias` of a 16-bit result lies in what tc_device_code.biases makes, from
 * there on. */
typedef struct tc_device_operands {
    uint64_t first, second, added, result, bias, workspace;
} tc_device_operands;

/* `count` packed weights of f32, `from` bytes behind the first, that are put down in a dtype of 16 bits when the model is
 * loaded, at `to` of a block of their own. */
typedef struct tc_device_bias {
    uint64_t from, to, count;
    tc_dtype dtype;
} tc_device_bias;

/* A kernel as the model's object holds it: the name of its function in the image, and the bytes of shared memory that
 * each launch asks for. Where there is a product, that is the step in place of the function. */
typedef struct tc_device_kernel {
    const char *name;
    unsigned shared_bytes;
    const tc_device_product *product;
} tc_device_kernel;

typedef struct tc_device_code {
    const char *kind;           /* of device: "cuda" */
    const unsigned char *image; /* of all kernels, which the device's driver loads; NULL where all are products */
    unsigned kernel_count;
    const tc_device_kernel *kernels;
    int overlaps; /* each waits by itself for the one in front of it, so it may be started before that has ended */
    unsigned bias_count;
    const tc_device_bias *biases;
    uint64_t bias_bytes;
} tc_device_code;

/* An index check of a function: what its kernel leaves in the device's cell where an index is out of range. */
typedef struct tc_device_index {
    const tc_function *function;
    const char *name; /* of the tensor */
} tc_device_index;

/* The cell of a device, all 0 before the first fault: 1 + the position of the first index that was out of range, its
 * value, its bound, and the address of its tc_device_index. Later faults leave it as it is. */
typedef struct tc_device_fault {
    uint64_t position;
    int64_t value, bound;
    uint64_t index;
} tc_device_fault;

/* How often a variant's steps are the same launches: never (loops, branches), for one set of dims, for all calls. */
enum { TC_DEVICE_VARIES, TC_DEVICE_BY_DIMS, TC_DEVICE_FIXED };

/* An entry of a recorded call's arguments that is the address of an address: this bit and where that lies. */
#define TC_DEVICE_INDIRECT (UINT64_C(1) << 63)

/* What a hosted part fills in. Work is done in the order in which it is asked for on `stream`; only wait waits for
 * it, and leave where the stream is the device's own. Each function leaves what refused, and its reason, in `refused` and `reason` (static storage): after that
 * the core asks for nothing more in the call. */
struct tc_device {
    const char *kind;
    uint64_t arena, arena_bytes, cell;
    const char *refused, *reason;
    void *own_stream, *stream; /* the device's; the one of the call */
    /* Before all others of a call; 0 where the model is not loaded. weights: where its packed weights lie. */
    int (*enter)(tc_device *device, const tc_model *model, uint64_t *weights);
    void (*leave)(tc_device *device); /* after a call that entered */
    void (*upload)(tc_device *device, uint64_t to, const void *from, size_t bytes);
    void (*download)(tc_device *device, void *to, uint64_t from, size_t bytes);
    /* Before the steps of a call: 0 where a recording of them has been started in their place. Otherwise the call goes on
     * with its launches and `end`; where those are recorded, the externals (addresses of arguments) become indirect. */
    int (*begin)(tc_device *device, const tc_variant *variant, const tc_index *dims, unsigned dim_count, int varies,
                 uint64_t *externals, unsigned count);
    /* arguments: as the kernel takes them, one block of memory; of a product: tc_device_operands */
    void (*launch)(tc_device *device, unsigned kernel, const void *arguments, unsigned blocks, unsigned threads);
    /* As tc_device_branch has it; launches that are not recorded stay in one row. */
    void (*branch)(tc_device *device, unsigned where);
    void (*end)(tc_device *device);
    void (*wait)(tc_device *device);
    /* Describes `lines` lines of `terms` elements of 16 bits, line_bytes apart, to a kernel that takes 64 terms of `box`
     * lines at a time: 128 bytes, aligned to 64. */
    void (*map)(tc_device *device, uint64_t *to, uint64_t address, int64_t terms, int64_t lines, int64_t line_bytes,
                unsigned box);
};

struct tc_model {
    const unsigned char *abi; /* &TC_ABI_SYMBOL */
    const char *name;
    size_t state_bytes; /* with its header; 0: no state */
    unsigned state_count;
    const tc_state_info *states;
    uint64_t weights_bytes;
    const unsigned char *weights; /* embedded payload; NULL: external, or none where weights_bytes is 0 */
    uint8_t layout[32];           /* SHA-256 of the text that describes weights and states */
    const tc_device_code *device; /* NULL: its functions run on the processor */
};

/* Estimated scalar operations that a further thread of the team must be worth: at ten a nanosecond some 25
 * microseconds, several times what starting and joining it and its barriers cost (one to some ten microseconds). */
#define TC_WORK_PER_THREAD ((uint64_t)1 << 18)

/* The same of threads that are awake, and what is added for each barrier: on a Zen 4 starting and joining two threads takes
 * 0.07 us, a barrier 0.1, on a Xeon some tenths of a microsecond. */
#define TC_WORK_PER_AWAKE_THREAD ((uint64_t)1 << 16)
#define TC_WORK_PER_BARRIER ((uint64_t)1 << 14)

struct tc_variant {
    const char *name;
    const char *const *steps; /* kernel names in order */
    tc_index threads;         /* of the team, where a tuning lock says it; 0: by the work */
    unsigned barriers;        /* that a thread meets the others at while it does that work */
    /* Bytes of arena for a team; where its slots and scratch lie goes to `offsets`, which may be NULL. */
    uint64_t (*arena)(const tc_index *dims, uint64_t threads, uint64_t *offsets);
    uint64_t (*work)(const tc_index *dims); /* estimated scalar operations */
    void (*run)(tc_frame *frame, tc_index thread, tc_index threads);
};

struct tc_function {
    const tc_model *model;
    const char *name;
    unsigned dim_count, input_count, output_count, guard_count, variant_count, cpu_count, uses_state;
    tc_index max_threads;
    const tc_dim_info *dims;
    const tc_tensor_info *tensors;
    void (*shape)(const tc_index *dims, unsigned tensor, int64_t sizes[TC_MAX_RANK]);
    const char *const *guards;                            /* names */
    int (*guard)(const tc_index *dims, int64_t sides[2]); /* the first that fails (sides: its values), or -1 */
    unsigned (*select)(const tc_index *dims);             /* the first variant that fits; the last one always does */
    const tc_variant *variants;
    const tc_variant *reference;      /* of any size, what TC_STANCE_REFERENCE runs; NULL: not built */
    const tc_cpu *cpus;               /* ascending preference; NULL where the model was compiled for a device */
    tc_kernel *const *const *kernels; /* a table for each of cpus */
    /* tc_call_with with arrays of the function's size */
    tc_status (*call)(tc_context *context, const tc_view *inputs, const tc_view *outputs,
                      const tc_call_options *options);
};

/* The counters block of a function: calls, calls of the generic variant, then one for each dim with sizes (calls in
 * which it had none of them), then one for each guard (calls that failed it). */
enum { TC_COUNTER_CALLS, TC_COUNTER_GENERIC, TC_COUNTER_FIRST };

/* What the other threads of a team look at, on lines of the cache of its own: two neighbouring ones, as some processors
 * fetch both. `left`: of the thread's part of a shared step, the number of the step, modulo 2^16, and the pieces from `next`
 * to before `end`, eight bits each. `arrived`: the barriers that the thread has arrived at, modulo 2^32. */
typedef struct tc_member {
    _Alignas(128) unsigned left; /* step << 16 | end << 8 | next */
    _Alignas(128) unsigned arrived;
} tc_member;

/* One call. Threads share it; what they write is atomic. */
struct tc_frame {
    const tc_function *function;
    const tc_variant *variant;
    tc_kernel *const *kernels;
    const tc_index *dims;
    void *const *buffers; /* inputs, then outputs */
    tc_member *members;   /* the threads; NULL: the team is too large for it, and no step is shared in pieces */
    unsigned char *arena;
    unsigned char *state; /* behind its header */
    const unsigned char *weights;
    tc_context *context;
    unsigned logs; /* the topics to log; 0 without a log callback */
    /* The barrier of a team without members: a counter, and what those that wait look at. */
    unsigned char apart[64];
    unsigned arrived;
    unsigned char apart_too[64];
    unsigned phase;
    int fault; /* the group of checks that failed, 0: none; what follows tells which */
    const char *fault_name;
    int64_t fault_position, fault_value, fault_bound;
    tc_device *device; /* of the context, where the model was compiled for one */
    uint64_t device_arena, device_weights;
    int resident; /* buffers and state are in the device's memory */
};

/* The typed entry's call: dims and buffers (inputs, then outputs) in the function's order. */
tc_status tc_run(tc_context *context, const tc_function *function, const tc_index *dims, void *const *buffers,
                 void *state, const void *weights, void *counters);

/* The same where buffers and state are in the memory of the context's device, which has loaded the weights. The call's
 * work goes to `stream` and is not waited for. */
tc_status tc_run_resident(tc_context *context, const tc_function *function, const tc_index *dims, void *const *buffers,
                          void *state, void *counters, void *stream);

/* tc_function_arena_bytes under the default stance. */
size_t tc_run_arena_bytes(const tc_function *function, const tc_index *dims, tc_index threads);

/* A typed entry without arguments: TC_STATUS_NULL_POINTER. */
tc_status tc_run_null(tc_context *context, const tc_function *function);

/* tc_call after the check of counts; dims and buffers are the function's number of elements, to be filled. */
tc_status tc_call_with(tc_context *context, const tc_function *function, const tc_view *inputs, const tc_view *outputs,
                       const tc_call_options *options, tc_index *dims, void **buffers);

void tc_step(tc_frame *frame, tc_index step, tc_kernel *kernel, void *const *p, const tc_index *d, tc_index thread,
             tc_index threads);

/* The same within tile number `tile` of a region: the kernel is this thread's alone. */
void tc_tile_step(tc_frame *frame, tc_index step, tc_kernel *kernel, void *const *p, const tc_index *d, tc_index thread,
                  tc_index tile);

/* The same shared by the threads as they get on: a thread that has done its part takes pieces of others' parts. The
 * kernel's scratch is this thread's for all pieces that it takes. work: estimated scalar operations of the step. */
void tc_shared_step(tc_frame *frame, tc_index step, tc_kernel *kernel, void *const *p, const tc_index *d,
                    tc_index thread, tc_index threads, uint64_t work);

/* Estimated scalar operations that a piece is worth at least: a microsecond or two of products, where a piece costs less
 * than a tenth of one. */
enum { TC_PIECE_WORK = 1 << 17 };

/* The `work` of which a thread has at most `each` pieces. */
static inline uint64_t tc_few_pieces(uint64_t work, tc_index each, tc_index threads)
{
    const uint64_t most = (uint64_t)(each * threads) * TC_PIECE_WORK;
    return work < most ? work : most;
}

/* The `work` of a step whose time is that of reading its panels, which takes some microseconds for each. A piece is one; two,
 * which are read side by side, where a thread has at least 4, and four where it has 16. A thread has 8 pieces at most, each of
 * which reads on from where the one before ended. */
static inline uint64_t tc_stream_work(tc_index panels, tc_index threads)
{
    const tc_index own = panels / threads, piece = own < 4 ? 1 : own < 16 ? 2 : 4;
    return tc_few_pieces((uint64_t)(panels / piece) * TC_PIECE_WORK, 8, threads);
}

/* The `work` of a step whose threads keep what they packed for their next pieces. Pieces of few columns read rows more
 * often, and a small team seldom has a slow thread: a thread has at most as many pieces as the team has threads. */
static inline uint64_t tc_packed_work(uint64_t work, tc_index threads)
{
    return tc_few_pieces(work, threads, threads);
}

/* The `work` of stripes over so many images: pieces are whole images, as rows are computed again where a piece begins within
 * one. Where threads would not have equally many images, each has one piece. */
static inline uint64_t tc_striped_work(uint64_t work, tc_index images, tc_index threads)
{
    if (images % threads)
        return 0;
    tc_index each = images / threads > 8 ? 8 : images / threads;
    while (each > 1 && images / threads % each)
        --each;
    return tc_few_pieces(work, each, threads);
}

/* The instruction set whose kernels a team's call runs: its number in the function's table. */
static inline unsigned tc_set(const tc_frame *frame)
{
    unsigned set = 0;
    while (frame->function->kernels[set] != frame->kernels)
        ++set;
    return set;
}

/* What a thread does of a step that is shared so: while tc_pieces_next, piece number `piece` of `count`. */
typedef struct tc_pieces {
    tc_frame *frame; /* NULL: the thread's own part is one piece */
    tc_index thread, threads, count, piece;
    tc_index helped; /* the thread whose piece it took last; -1: none yet */
    unsigned round;
} tc_pieces;

tc_pieces tc_pieces_of(tc_frame *frame, tc_index thread, tc_index threads, uint64_t work);
int tc_pieces_next(tc_pieces *pieces);

/* Thread `thread`'s share [*begin, *end) of n tiles: contiguous, sizes at most one apart. */
static inline void tc_share(tc_index n, tc_index thread, tc_index threads, tc_index *begin, tc_index *end)
{
    const tc_index size = n / threads, more = n % threads;
    *begin = thread * size + thread * more / threads;
    *end = (thread + 1) * size + (thread + 1) * more / threads;
}

/* Number i of 0..n-1 in the order 0, n-1, 1, n-2, …: neighbours have about the same sum everywhere. */
static inline tc_index tc_either_end(tc_index i, tc_index n)
{
    return i % 2 ? n - 1 - i / 2 : i / 2;
}

/* A stripe of rows that a tile hands on: row `first` is in front; rows below `high` have been computed. */
typedef struct tc_window {
    tc_index first, high;
} tc_window;

/* Of `size` rows, those from `first` to `end`-1 are needed, as far as there are any; each has `bytes`. Where the tile goes on from
 * the one before, rows that it left are moved to where they are now. The first row that is to be computed; w->high is
 * behind the last one. */
static inline tc_index tc_window_begin(tc_window *w, unsigned char *rows, tc_index bytes, int goes_on, tc_index first,
                                       tc_index end, tc_index size)
{
    const tc_index low = first > 0 ? first : 0, high = end < size ? end : size;
    tc_index begin = low;
    if (goes_on && w->high > low) {
        begin = w->high;
        __builtin_memmove(rows + (low - first) * bytes, rows + (low - w->first) * bytes,
                          (size_t)((begin - low) * bytes));
    }
    w->first = first;
    w->high = high > begin ? high : begin;
    return begin;
}

/* Between two looks at what another thread writes. */
static inline void tc_pause(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

/* A barrier of all threads of the call. What each wrote before is seen by all after.
 *
 * Each thread says on a line of its own that it has arrived, and looks at the others' lines, one after the other: they were
 * written long ago but for those of the last threads. What the last one writes is all that the others then wait for. With a
 * counter in one place that the threads add to, and a word that the last one writes, it takes two misses of the cache, and as
 * many as there are threads where they arrive together: 16 threads, behind 3 us of work that differs by 2 %, took 1.5 us, and
 * take 0.7 to 0.9; where it differs by 30 %, 0.70 and 0.60 us behind the last thread; 2 threads 0.35 and 0.27. */
void tc_barrier(tc_frame *frame, tc_index thread, tc_index threads);

/* A thread at a barrier: the others that it has seen there, and what it waits for. */
typedef struct tc_arrival {
    tc_index thread, threads, seen;
    unsigned phase;
} tc_arrival;

/* Its parts. The thread is there; it waits while tc_waits. */
static inline tc_arrival tc_arrive(tc_frame *frame, tc_index thread, tc_index threads)
{
    tc_arrival arrival = {thread, threads, 1, 0};
    if (frame->members) {
        unsigned *const own = &frame->members[thread].arrived;
        arrival.phase = *own + 1; /* which nobody else writes */
        __atomic_store_n(own, arrival.phase, __ATOMIC_RELEASE);
        return arrival;
    }
    arrival.phase = __atomic_load_n(&frame->phase, __ATOMIC_RELAXED) + 1; /* cannot change before we arrive */
    if (__atomic_add_fetch(&frame->arrived, 1u, __ATOMIC_ACQ_REL) == (unsigned)threads) {
        __atomic_store_n(&frame->arrived, 0u, __ATOMIC_RELAXED);
        __atomic_store_n(&frame->phase, arrival.phase, __ATOMIC_RELEASE);
    }
    return arrival;
}

/* Whether some thread has not arrived. One that goes on may have arrived at the next barrier, but not at one behind that. */
static inline int tc_waits(const tc_frame *frame, tc_arrival *arrival)
{
    if (!frame->members)
        return __atomic_load_n(&frame->phase, __ATOMIC_ACQUIRE) != arrival->phase;
    for (; arrival->seen < arrival->threads; ++arrival->seen) {
        const tc_index next = arrival->thread + arrival->seen;
        const tc_member *const other = &frame->members[next < arrival->threads ? next : next - arrival->threads];
        const unsigned arrived = __atomic_load_n(&other->arrived, __ATOMIC_ACQUIRE);
        if (arrived != arrival->phase && arrived != arrival->phase + 1)
            return 1;
    }
    return 0;
}

void tc_wait(tc_frame *frame, tc_arrival *arrival);

/* Records that check `group` (> 0, ascending) failed: `data` (n elements of i32 or i64) has one outside 0..bound-1. */
void tc_fault(tc_frame *frame, int group, const char *name, const void *data, tc_dtype dtype, int64_t n, int64_t bound);

/* Whether any thread recorded a fault of `group` or an earlier one; all threads must call it: it is a barrier. */
int tc_faulted(tc_frame *frame, int group, tc_index thread, tc_index threads);

/* -- the steps of a call on a device; all do nothing once one was refused ------------------------------------------ */

/* Blocks that `points` ask for at `each` a block, `most` at most. */
static inline unsigned tc_blocks(int64_t points, int64_t each, unsigned most)
{
    const int64_t blocks = points / each + (points % each != 0);
    return blocks < (int64_t)most ? (unsigned)blocks : most;
}

/* The address of an input, output or state for kernels: its own where it is in the device's memory, else `place`, where
 * inputs and state are copied to. */
uint64_t tc_device_input(tc_frame *frame, unsigned input, uint64_t place, int64_t bytes);
uint64_t tc_device_output(tc_frame *frame, unsigned buffer, uint64_t place);
uint64_t tc_device_state(tc_frame *frame, uint64_t offset, uint64_t place, int64_t bytes);

/* Around the steps; 0: they are not to be run. externals: the addresses from above. */
int tc_device_begin(tc_frame *frame, int varies, uint64_t *externals, unsigned count);
void tc_device_end(tc_frame *frame);

/* Starts a kernel (its number in tc_device_code), with arguments as tc_device.launch has them; nothing where blocks is
 * 0. */
void tc_device_step(tc_frame *frame, tc_index step, unsigned kernel, const void *arguments, unsigned blocks,
                    unsigned threads);

/* Where launches go from here on: 0, the row of those that follow each other; 1 to TC_DEVICE_PARTS, a part beside it, which
 * follows what the row had at the last TC_DEVICE_FORK. Behind TC_DEVICE_JOIN the row follows all parts. */
enum { TC_DEVICE_PARTS = 3, TC_DEVICE_FORK, TC_DEVICE_JOIN };
void tc_device_branch(tc_frame *frame, unsigned where);

/* As tc_device.map; nothing where there is no element. */
void tc_device_map(tc_frame *frame, uint64_t *to, uint64_t address, int64_t terms, int64_t lines, int64_t line_bytes,
                   unsigned box);

/* The same for a check of indices: arguments[1] is the device's cell, arguments[2] a tc_device_index. Whether the call
 * ends, which a check of the reference waits to know; other kernels read nothing outside, whatever an index is. */
int tc_device_check(tc_frame *frame, tc_index step, unsigned kernel, const uint64_t *arguments, unsigned blocks,
                    unsigned threads);

/* Waits, and returns the bool at an address; 0 once the call has ended. checks: as below. */
int tc_device_holds(tc_frame *frame, uint64_t address, int checks);

/* Whether results are to be fetched: 0 where the caller's buffers are the device's, else it waits for all kernels.
 * checks: some of them check indices. */
int tc_device_ready(tc_frame *frame, int checks);

/* Copies from the device's memory, until the call ends; nothing where bytes is 0. */
void tc_device_download(tc_frame *frame, void *to, uint64_t from, int64_t bytes);

#include "fetching.h"

#endif
