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

/* A kernel as the model's object holds it: the name of its function in an image that the device's driver loads. */
typedef struct tc_device_kernel {
    const char *name;
    const unsigned char *image;
} tc_device_kernel;

typedef struct tc_device_code {
    const char *kind; /* of device: "cuda" */
    unsigned kernel_count;
    const tc_device_kernel *kernels;
} tc_device_code;

/* What a hosted part fills in. Work is done in the order in which it is asked for; only download and wait wait for it.
 * Each function leaves what refused, and its reason, in `refused` and `reason` (static storage): after that the core
 * asks for nothing more in the call. */
struct tc_device {
    const char *kind;
    uint64_t arena, arena_bytes;
    const char *refused, *reason;
    /* Before all others of a call; 0 where the model is not loaded. weights: where its packed weights lie. */
    int (*enter)(tc_device *device, const tc_model *model, uint64_t *weights);
    void (*leave)(tc_device *device); /* after a call that entered */
    void (*upload)(tc_device *device, uint64_t to, const void *from, size_t bytes);
    void (*download)(tc_device *device, void *to, uint64_t from, size_t bytes);
    /* arguments: as the kernel takes them, one block of memory */
    void (*launch)(tc_device *device, unsigned kernel, const void *arguments, unsigned blocks, unsigned threads);
    void (*wait)(tc_device *device);
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

typedef struct tc_variant {
    const char *name;
    const char *const *steps; /* kernel names in order */
    /* Bytes of arena for a team; where its slots and scratch lie goes to `offsets`, which may be NULL. */
    uint64_t (*arena)(const tc_index *dims, uint64_t threads, uint64_t *offsets);
    uint64_t (*work)(const tc_index *dims); /* estimated scalar operations */
    void (*run)(tc_frame *frame, tc_index thread, tc_index threads);
} tc_variant;

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
    const tc_variant *reference; /* of any size, what TC_STANCE_REFERENCE runs; NULL: not built */
    const tc_cpu *cpus;               /* ascending preference; NULL where the model was compiled for a device */
    tc_kernel *const *const *kernels; /* a table for each of cpus */
    /* tc_call_with with arrays of the function's size */
    tc_status (*call)(tc_context *context, const tc_view *inputs, const tc_view *outputs,
                      const tc_call_options *options);
};

/* The counters block of a function: calls, calls of the generic variant, then one for each dim with sizes (calls in
 * which it had none of them), then one for each guard (calls that failed it). */
enum { TC_COUNTER_CALLS, TC_COUNTER_GENERIC, TC_COUNTER_FIRST };

/* One call. Threads share it; what they write is atomic. */
struct tc_frame {
    const tc_function *function;
    const tc_variant *variant;
    tc_kernel *const *kernels;
    const tc_index *dims;
    void *const *buffers; /* inputs, then outputs */
    unsigned char *arena;
    unsigned char *state; /* behind its header */
    const unsigned char *weights;
    tc_context *context;
    unsigned logs;           /* the topics to log; 0 without a log callback */
    unsigned char apart[64]; /* what waiting threads read stays off the line of what all threads read */
    unsigned arrived, phase; /* the barrier */
    int fault;               /* the group of checks that failed, 0: none; what follows tells which */
    const char *fault_name;
    int64_t fault_position, fault_value, fault_bound;
    tc_device *device;                  /* of the context, where the model was compiled for one */
    uint64_t device_arena, device_weights;
};

/* The typed entry's call: dims and buffers (inputs, then outputs) in the function's order. */
tc_status tc_run(tc_context *context, const tc_function *function, const tc_index *dims, void *const *buffers,
                 void *state, const void *weights, void *counters);

/* tc_function_arena_bytes under the default stance. */
size_t tc_run_arena_bytes(const tc_function *function, const tc_index *dims, tc_index threads);

/* A typed entry without arguments: TC_STATUS_NULL_POINTER. */
tc_status tc_run_null(tc_context *context, const tc_function *function);

/* tc_call after the check of counts; dims and buffers are the function's number of elements, to be filled. */
tc_status tc_call_with(tc_context *context, const tc_function *function, const tc_view *inputs,
                       const tc_view *outputs, const tc_call_options *options, tc_index *dims, void **buffers);

void tc_step(tc_frame *frame, tc_index step, tc_kernel *kernel, void *const *p, const tc_index *d, tc_index thread,
             tc_index threads);

/* All threads of the call meet. What each wrote before is seen by all after. */
void tc_barrier(tc_frame *frame, tc_index threads);

/* Records that check `group` (> 0, ascending) failed: `data` (n elements of i32 or i64) has one outside 0..bound-1. */
void tc_fault(tc_frame *frame, int group, const char *name, const void *data, tc_dtype dtype, int64_t n, int64_t bound);

/* Whether any thread recorded a fault of `group` or an earlier one; all threads must call it: they meet in it. */
int tc_faulted(tc_frame *frame, int group, tc_index threads);

/* -- the steps of a call on a device; all do nothing once one was refused ------------------------------------------ */

/* Blocks that `points` ask for at `each` a block, `most` at most. */
static inline unsigned tc_blocks(int64_t points, int64_t each, unsigned most)
{
    const int64_t blocks = points / each + (points % each != 0);
    return blocks < (int64_t)most ? (unsigned)blocks : most;
}

/* Copies between the caller's memory and the device's; nothing where bytes is 0. */
void tc_device_upload(tc_frame *frame, uint64_t to, const void *from, int64_t bytes);
void tc_device_download(tc_frame *frame, void *to, uint64_t from, int64_t bytes);

/* Starts a kernel (its number in tc_device_code); nothing where blocks is 0. */
void tc_device_step(tc_frame *frame, tc_index step, unsigned kernel, const uint64_t *arguments, unsigned blocks,
                    unsigned threads);

/* The same for a check of n indices at arguments[0]: it leaves the least position of one outside 0..bound-1 in the 8
 * bytes at `cell`, which is arguments[1]. Waits, and returns whether the call ends: with a fault, or refused. */
int tc_device_check(tc_frame *frame, tc_index step, unsigned kernel, const uint64_t *arguments, unsigned blocks,
                    unsigned threads, const char *name, tc_dtype dtype, int64_t bound);

/* Waits, and returns the bool at an address; 0 once the call has ended. */
int tc_device_holds(tc_frame *frame, uint64_t address);

/* Waits for all kernels; whether results may be fetched. */
int tc_device_ready(tc_frame *frame);

#endif
