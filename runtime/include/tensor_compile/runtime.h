/* SPDX-License-Identifier: Apache-2.0
 *
 * The runtime of compiled models: what a program that calls one needs (docs/runtime.md).
 *
 * Everything here is freestanding: no allocation, no global state, no locks, no operating system. All memory is the
 * caller's. tensor_compile/hosted.h adds files, environment, logging to stderr and threads.
 *
 * Thread safety: functions touch only what their arguments point to. Two threads may call models at the same time
 * with two contexts; one context serves one call at a time.
 */
#ifndef TENSOR_COMPILE_RUNTIME_H
#define TENSOR_COMPILE_RUNTIME_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TC_VERSION_MAJOR 0
#define TC_VERSION_MINOR 1
#define TC_VERSION_PATCH 0
#define TC_VERSION "0.1.0"

/* Of the contract between a compiled model and this library. A model built for another one does not link: it refers
 * to a symbol that carries this number. It counts releases that differ: before the first, model and library are built from
 * one state of the sources. */
#define TC_ABI 1

/* Alignment in bytes of arenas, state buffers and weights. */
#define TC_ALIGNMENT 64

/* What defines a function of a generated header: files that do not call it get no warning. */
#ifdef __GNUC__
#define TC_HEADER_FUNCTION static inline __attribute__((unused))
#else
#define TC_HEADER_FUNCTION static inline
#endif

/* Sizes and positions: elements unless said otherwise. */
typedef ptrdiff_t tc_index;

/* Everything but TC_STATUS_OK leaves outputs and state as they were, except TC_STATUS_INDEX_OUT_OF_RANGE of an index
 * that is looked at in a loop or a branch (docs/runtime.md). */
typedef enum tc_status {
    TC_STATUS_OK = 0,
    TC_STATUS_NULL_POINTER,       /* a required pointer is NULL */
    TC_STATUS_DIM_OUT_OF_RANGE,   /* a dim is outside its range or no multiple of its divisor */
    TC_STATUS_GUARD_FAILED,       /* the dims break a relation that the model states or needs */
    TC_STATUS_MISALIGNED,         /* a pointer lacks its natural alignment; arena, state, weights: TC_ALIGNMENT */
    TC_STATUS_OVERLAP,            /* an output overlaps another buffer, or the arena any */
    TC_STATUS_ARENA_TOO_SMALL,    /* detail: value is the size given, low the size needed, in bytes */
    TC_STATUS_INDEX_OUT_OF_RANGE, /* an index tensor holds a value outside its range */
    TC_STATUS_UNSUPPORTED_CPU,    /* no instruction set of the model runs on this processor */
    TC_STATUS_GENERIC_REFUSED,    /* stance TC_STANCE_FAIL_ON_GENERIC, and no specialized variant fits */
    TC_STATUS_NOT_BUILT,          /* the model was built without what is asked for */
    TC_STATUS_BAD_STATE,          /* the state buffer was not initialised for this model */
    TC_STATUS_BAD_WEIGHTS,        /* the external weights are not this model's, truncated or damaged */
    TC_STATUS_BAD_VIEW,           /* tc_call: wrong count, dtype, rank, shape or strides */
    TC_STATUS_BAD_ARGUMENT,       /* any other argument outside its documented values */
    TC_STATUS_SYSTEM,             /* hosted part: the operating system refused (file, memory, thread) */
    TC_STATUS_NO_DEVICE,          /* the model was compiled for a device that is not there, or not in the context */
    TC_STATUS_DEVICE,             /* the device's driver refused; the detail has its reason */
    TC_STATUS_COUNT
} tc_status;

/* One English sentence without a full stop, static storage; "unknown status" beyond the enum. */
const char *tc_status_string(tc_status status);

/* What went wrong in the last failed call of a context. */
typedef struct tc_error {
    tc_status status;
    const char *function;     /* the model's function; static storage; NULL before any */
    const char *subject;      /* the tensor, dim or guard; static storage; NULL where there is none */
    const char *other;        /* the second one (overlap); static storage; NULL */
    int64_t position;         /* element of the tensor, or axis; -1 where there is none */
    int64_t value, low, high; /* what it was and the inclusive range it should be in */
    char message[160];        /* one line that says all of this, always terminated, truncated where too long */
} tc_error;

/* Instruction sets: TC_CPU_SCALAR, which runs everywhere, TC_CPU_X86_64, TC_CPU_AVX2, TC_CPU_AVX512, TC_CPU_NEON, … as
 * instruction_sets.def has them, within one architecture in ascending order of preference. */
typedef enum tc_cpu {
#define TC_INSTRUCTION_SET(name, upper, number, ...) TC_CPU_##upper = number,
#include "instruction_sets.def"
    TC_CPU_COUNT = 0
#define TC_INSTRUCTION_SET(...) +1
#include "instruction_sets.def"
} tc_cpu;

/* The processor's instruction sets: bit (1u << tc_cpu) for each that it and the operating system support. x86-64 asks
 * cpuid and xgetbv, and Linux there for the registers of AMX's tiles: once it gives them, an alternate signal stack of
 * the process must have room for them, too (8 KiB more; sigaltstack refuses a smaller one). AArch64 asks Linux's
 * auxiliary vector. Elsewhere the answer is the baseline that this library was compiled for. */
unsigned tc_cpu_detect(void);

/* A short name as the build tool writes it ("avx2"); static storage; "unknown" beyond the enum. */
const char *tc_cpu_name(tc_cpu cpu);

/* What to do where no specialized variant fits. */
typedef enum tc_stance {
    TC_STANCE_DEFAULT = 0,     /* run the generic variant */
    TC_STANCE_FAIL_ON_GENERIC, /* TC_STATUS_GENERIC_REFUSED, named in the error detail */
    TC_STANCE_REFERENCE, /* run the reference kernels (built --with-reference); TC_STATUS_NOT_BUILT without them */
    TC_STANCE_COUNT
} tc_stance;

/* -- teams --------------------------------------------------------------------------------------------------------- */

/* One thread's work of a call: `thread` of `threads`. */
typedef void tc_team_job(void *argument, tc_index thread, tc_index threads);

/* A team of threads. run calls job(argument, t, n) once for each t in 0..n-1, all at the same time, each on a thread of
 * its own, and returns when all have returned. n is its choice in 1..threads, the same for every t: a busy pool may
 * give 1. Threads of one call wait for each other, so a run that starts one job after another never returns. */
typedef struct tc_team {
    void (*run)(void *user, tc_index threads, tc_team_job *job, void *argument); /* NULL: the calling thread alone */
    void *user;
    tc_index threads; /* the largest team to ask for; below 1 counts as 1 */
    /* How many of `threads` threads, the calling one among them, would begin at once if they were started now: those that
     * are awake; 1 at least. Any thread may ask. Calls of some microseconds are shared by these. work: estimated operations
     * of the call. NULL: such calls run on one thread. It decides how long short calls take, never their results: threads
     * that are counted and asleep are waited for, those that are not counted do nothing. A number outside 1..threads counts
     * as the nearer of both. */
    tc_index (*awake)(void *user, tc_index threads, uint64_t work);
} tc_team;

/* -- logs and profiles --------------------------------------------------------------------------------------------- */

/* Topics of the log, a bit set. */
enum {
    TC_LOG_ERRORS = 1,  /* every failed call: its message */
    TC_LOG_GUARDS = 2,  /* each call: the variant chosen, and why a specialized one did not fit */
    TC_LOG_KERNELS = 4, /* each call: every kernel, as thread 0 starts it */
    TC_LOG_ALL = 7
};

/* `text` is one line without a newline, valid during the call. */
typedef void tc_log_fn(void *user, unsigned topic, const char *text);

/* Called by every thread before (begin 1) and after (begin 0) each kernel: the time between is the kernel's. `kernel`
 * is its name in the build's report, with its place in the model where that is known: "add (layer.0 model.c:12)";
 * `step` its place in the variant; static storage. Must be safe to call from the threads of the team at the same
 * time. */
typedef void tc_profile_fn(void *user, const char *function, const char *variant, const char *kernel, tc_index step,
                           tc_index thread, int begin);

/* -- the context --------------------------------------------------------------------------------------------------- */

/* A device that kernels run on, of the hosted part (tensor_compile/cuda.h). */
typedef struct tc_device tc_device;

/* What calls need besides their arguments: neutral to models, owned by the caller, plain data. Set it up with
 * tc_context_init; the fields below may then be changed between calls. It holds no resource and needs no closing. */
typedef struct tc_context {
    void *arena;        /* working memory of calls, TC_ALIGNMENT-aligned; not shared with a concurrent call */
    size_t arena_bytes; /* its size */
    unsigned cpus;      /* bit set of tc_cpu; a model runs the best of its instruction sets that is in it */
    tc_stance stance;
    tc_team team;
    void (*yield)(void *user); /* called by threads that wait long for others; NULL: they spin */
    void *yield_user;
    tc_log_fn *log; /* NULL: silent */
    void *log_user;
    unsigned log_topics; /* TC_LOG_… */
    tc_profile_fn *profile;
    void *profile_user;
    tc_device *device; /* where models compiled for a device run, others do not ask for it; NULL: nowhere */
    tc_error error;    /* of the last call that failed; status TC_STATUS_OK before the first */
} tc_context;

/* The processor detected, no team, no callbacks. The arena (NULL with 0 for models that need none) stays the caller's
 * and must live as long as the context is used. TC_STATUS_NULL_POINTER, TC_STATUS_MISALIGNED. */
tc_status tc_context_init(tc_context *context, void *arena, size_t arena_bytes);

/* The same with the caller's own answer to which instruction sets there are: `detect` is called once, here. */
tc_status tc_context_init_with(tc_context *context, void *arena, size_t arena_bytes, unsigned (*detect)(void *user),
                               void *user);

/* Instruction sets preferred to `best` are no longer used (tests compare them so). */
void tc_context_limit_cpu(tc_context *context, tc_cpu best);

/* -- models -------------------------------------------------------------------------------------------------------- */

/* A compiled model and one of its functions; the generated header declares them. Read-only. */
typedef struct tc_model tc_model;
typedef struct tc_function tc_function;

/* The numbers are part of the ABI: new ones are appended. */
typedef enum tc_dtype {
    TC_DTYPE_F32 = 0,
    TC_DTYPE_I32,
    TC_DTYPE_I64,
    TC_DTYPE_BOOL, /* a byte 0 or 1 */
    TC_DTYPE_F64,
    TC_DTYPE_F16,
    TC_DTYPE_BF16,
    TC_DTYPE_I8,
    TC_DTYPE_U8,
    TC_DTYPE_I16,
    TC_DTYPE_U16,
    TC_DTYPE_U32,
    TC_DTYPE_U64,
    TC_DTYPE_COUNT
} tc_dtype;

/* Elements of f16 (IEEE binary16) and bf16 (the upper half of a binary32) in arguments: their bits, as C has no such
 * types on all targets. A _Float16 or __bf16 of a compiler that has them may be copied in and out. */
typedef uint16_t tc_f16;
typedef uint16_t tc_bf16;

/* Bytes of an element; 0 beyond the enum. */
size_t tc_dtype_bytes(tc_dtype dtype);

#define TC_MAX_RANK 8

/* A tensor of the dynamic entry. strides in elements, NULL for dense row-major, which is also all that is accepted
 * (the stride of a dim of size 1 is free). An input's data is only read. Empty tensors may have data NULL. */
typedef struct tc_view {
    void *data;
    tc_dtype dtype;
    int rank;
    const tc_index *shape;
    const tc_index *strides;
} tc_view;

/* What the dynamic entry takes besides tensors; NULL where a model has none of it. */
typedef struct tc_call_options {
    const tc_index *dims; /* in the order of the header's arguments; NULL: told from the shapes of the inputs */
    void *state;
    const void *weights;
    void *counters; /* the function's part of the model's counters block */
} tc_call_options;

/* The dynamic entry: the call that the typed entry makes, with inputs and outputs in the header's order, after checks
 * of counts, dtypes, ranks, shapes and strides (TC_STATUS_BAD_VIEW). options may be NULL. */
tc_status tc_call(tc_context *context, const tc_function *function, const tc_view *inputs, size_t input_count,
                  const tc_view *outputs, size_t output_count, const tc_call_options *options);

/* Bytes of arena that one call needs with a team of up to `threads` under a stance (the generated NAME_arena_bytes
 * answers for TC_STANCE_DEFAULT). dims in the order of the header's arguments; NULL where there are none. 0 where they
 * are NULL or out of range, and for TC_STANCE_REFERENCE without reference kernels. */
size_t tc_function_arena_bytes(const tc_function *function, const tc_index *dims, tc_index threads, tc_stance stance);

/* Bytes of an input or output: `tensor` counts the inputs, then the outputs, in the header's order (the generated
 * NAME_TENSOR_bytes calls it). dims as above; 0 where they are NULL, out of range or broken by a guard, for a tensor
 * that is not there and for one without elements. */
size_t tc_function_tensor_bytes(const tc_function *function, unsigned tensor, const tc_index *dims);

/* Logs the counters of a function (topic TC_LOG_GUARDS, one line a guard), whatever log_topics says; `counters` as in
 * tc_call_options. */
void tc_counters_log(const tc_context *context, const tc_function *function, const void *counters);

/* -- state --------------------------------------------------------------------------------------------------------- */

/* A model's state is one buffer of the caller's, tc_state_bytes(model) long, TC_ALIGNMENT-aligned; its inner layout is
 * the model's own. Not to be used by two calls at the same time. 0 for NULL. */
size_t tc_state_bytes(const tc_model *model);

/* All tensors zero. Also makes a used state new again. TC_STATUS_NULL_POINTER, TC_STATUS_MISALIGNED. */
tc_status tc_state_init(const tc_model *model, void *state);

/* `to` becomes equal to `from`; both are whole state buffers, `to` need not be initialised. TC_STATUS_OVERLAP. */
tc_status tc_state_copy(const tc_model *model, void *to, const void *from);

/* One tensor of the state out of it or into it, in logical row-major layout; `bytes` must be its size.
 * TC_STATUS_BAD_ARGUMENT: no tensor of that name or another size. */
tc_status tc_state_export(const tc_model *model, const void *state, const char *name, void *data, size_t bytes);
tc_status tc_state_import(const tc_model *model, void *state, const char *name, const void *data, size_t bytes);

/* -- external weights ---------------------------------------------------------------------------------------------- */

/* A weights file is a 128-byte header and the payload; in memory it is used as it is, so it may also lie in flash.
 * Checks that `weights` holds a whole weights file of this model: header, its checksum, layout and size. The payload's
 * own hash is checked by the hosted part on request. TC_STATUS_NULL_POINTER, _MISALIGNED, _BAD_WEIGHTS. */
tc_status tc_weights_check(const tc_model *model, const void *weights, size_t bytes);

#ifdef __cplusplus
}
#endif

#endif
