/* SPDX-License-Identifier: Apache-2.0
 *
 * One call of a function: every argument is checked, a variant chosen and the team started.
 */
#include "fpenv.h"
#include "internal.h"

const unsigned char TC_ABI_SYMBOL = TC_ABI;

static const char *tensor_role(const tc_function *f, unsigned tensor)
{
    return tensor < f->input_count ? "input" : "output";
}

/* The product of two numbers that are not negative; -1 beyond the address space. A division takes longer than the rest of
 * a tensor's checks, so only numbers that need it have one. */
static int64_t product(int64_t a, int64_t b)
{
    const int fits = (a | b) >> 31 ? b <= PTRDIFF_MAX / a : a * b <= PTRDIFF_MAX;
    return fits ? a * b : -1;
}

int64_t tc_tensor_bytes(const tc_function *f, const tc_index *dims, unsigned tensor)
{
    int64_t shape[TC_MAX_RANK];
    int64_t bytes = (int64_t)tc_dtype_bytes(f->tensors[tensor].dtype);
    f->shape(dims, tensor, shape);
    for (int i = 0; i < f->tensors[tensor].rank; ++i)
        if (shape[i] == 0)
            return 0;
        else if (bytes >= 0)
            bytes = product(bytes, shape[i]);
    return bytes;
}

tc_status tc_check_dims(tc_context *context, const tc_function *f, const tc_index *dims, uint64_t *counters)
{
    unsigned sized = 0;
    for (unsigned i = 0; i < f->dim_count; ++i) {
        const tc_dim_info *dim = &f->dims[i];
        sized += dim->size_count != 0;
        const int outside = dims[i] < dim->low || dims[i] > dim->high;
        if (outside || (dim->divisor > 1 && dims[i] % dim->divisor))
            return tc_refuse(context, TC_STATUS_DIM_OUT_OF_RANGE, f,
                             &(tc_detail){dim->name, NULL, outside ? -1 : dim->divisor, dims[i], dim->low, dim->high},
                             outside ? "dim %s = %v is not in %l..%h" : "dim %s = %v is no multiple of %p");
    }
    int64_t sides[2];
    const int failed = f->guard(dims, sides);
    if (failed >= 0) {
        const tc_detail detail = {f->guards[failed], NULL, -1, sides[0], sides[1], sides[1]};
        if (counters)
            ++counters[TC_COUNTER_FIRST + sized + (unsigned)failed];
        return tc_refuse(context, TC_STATUS_GUARD_FAILED, f, &detail, "guard %s fails: %v against %l");
    }
    return TC_STATUS_OK;
}

static int overlap(const void *a, uint64_t a_bytes, const void *b, uint64_t b_bytes)
{
    const uintptr_t x = (uintptr_t)a, y = (uintptr_t)b;
    return a_bytes && b_bytes && (x < y ? y - x < a_bytes : x - y < b_bytes);
}

static tc_status fail_overlap(tc_context *context, const tc_function *f, const char *a, const char *b)
{
    return tc_refuse(context, TC_STATUS_OVERLAP, f, &(tc_detail){.subject = a, .other = b, .position = -1},
                     "%s overlaps %o");
}

/* A block of the caller's that is not a tensor: state, weights, arena. */
static tc_status check_block(tc_context *context, const tc_function *f, const char *name, const void *p)
{
    if (p && tc_aligned(p, TC_ALIGNMENT))
        return TC_STATUS_OK;
    return tc_refuse(context, p ? TC_STATUS_MISALIGNED : TC_STATUS_NULL_POINTER, f,
                     &(tc_detail){.subject = name, .position = -1, .low = TC_ALIGNMENT, .high = TC_ALIGNMENT},
                     p ? "%s is not aligned to %l bytes" : "%s is NULL");
}

static tc_status check_blocks(tc_context *context, const tc_function *f, const void *state, const void *weights,
                              int resident)
{
    tc_status status = TC_STATUS_OK;
    const tc_model *model = f->model;
    if (resident)
        return f->uses_state ? check_block(context, f, "state", state) : TC_STATUS_OK;
    if (f->uses_state && (status = check_block(context, f, "state", state)) == TC_STATUS_OK &&
        !tc_state_ready(model, state))
        status = tc_refuse_name(context, TC_STATUS_BAD_STATE, f, "state", "state is not initialised for this model");
    /* A device has had its copy since the model was loaded there. */
    if (status == TC_STATUS_OK && !model->weights && model->weights_bytes && (weights || !model->device) &&
        (status = check_block(context, f, "weights", weights)) == TC_STATUS_OK && !tc_weights_fit(model, weights))
        status = tc_refuse_name(context, TC_STATUS_BAD_WEIGHTS, f, "weights", "weights are not this model's");
    return status;
}

/* The first of `count` tensors that overlaps a block; count where none does. */
static unsigned overlapping(const tc_function *f, const tc_index *dims, void *const *buffers, unsigned count,
                            const void *block, uint64_t bytes)
{
    unsigned i = 0;
    while (i < count && !overlap(buffers[i], (uint64_t)tc_tensor_bytes(f, dims, i), block, bytes))
        ++i;
    return i;
}

static tc_status check_tensors(tc_context *context, const tc_function *f, const tc_index *dims, void *const *buffers,
                               const void *state, const void *weights, int resident)
{
    const uint64_t state_bytes = f->uses_state ? f->model->state_bytes : 0;
    const uint64_t weights_bytes = f->model->weights ? 0 : f->model->weights_bytes + TC_WEIGHTS_HEADER;
    for (unsigned i = 0; i < f->input_count + f->output_count; ++i) {
        const tc_tensor_info *tensor = &f->tensors[i];
        const int64_t bytes = tc_tensor_bytes(f, dims, i);
        const int64_t natural = resident ? TC_RESIDENT_ALIGNMENT : (int64_t)tc_dtype_bytes(tensor->dtype);
        tc_status status = TC_STATUS_OK;
        const char *format = NULL;
        if (bytes < 0)
            status = TC_STATUS_DIM_OUT_OF_RANGE, format = "%o %s is larger than memory";
        else if (!buffers[i] && bytes)
            status = TC_STATUS_NULL_POINTER, format = "%o %s is NULL";
        else if (!tc_aligned(buffers[i], (size_t)natural))
            status = TC_STATUS_MISALIGNED, format = "%o %s is not aligned to %l bytes";
        if (status != TC_STATUS_OK)
            return tc_refuse(context, status, f, &(tc_detail){tensor->name, tensor_role(f, i), -1, 0, natural, natural},
                             format);
        const char *other = NULL;
        if (overlap(buffers[i], (uint64_t)bytes, state, state_bytes))
            other = "state";
        if (i >= f->input_count) {
            const unsigned before = overlapping(f, dims, buffers, i, buffers[i], (uint64_t)bytes);
            if (before < i)
                other = f->tensors[before].name;
            else if (weights && overlap(buffers[i], (uint64_t)bytes, weights, weights_bytes))
                other = "weights";
        }
        if (other)
            return fail_overlap(context, f, tensor->name, other);
    }
    return weights && overlap(state, state_bytes, weights, weights_bytes) ? fail_overlap(context, f, "state", "weights")
                                                                          : TC_STATUS_OK;
}

static tc_status check_arena(tc_context *context, const tc_function *f, const tc_index *dims, void *const *buffers,
                             const void *state, const void *weights, uint64_t need)
{
    const uint64_t given = context->arena ? context->arena_bytes : 0;
    if (!need)
        return TC_STATUS_OK;
    if (given < need) {
        const int64_t high = PTRDIFF_MAX, least = need > INT64_MAX ? INT64_MAX : (int64_t)need;
        return tc_refuse_range(context, TC_STATUS_ARENA_TOO_SMALL, f, "arena", (int64_t)given, least, high,
                               "arena has %v bytes, this call needs %l");
    }
    const tc_status status = check_block(context, f, "arena", context->arena);
    if (status != TC_STATUS_OK)
        return status;
    const unsigned count = f->input_count + f->output_count;
    const unsigned other = overlapping(f, dims, buffers, count, context->arena, need);
    if (other < count)
        return fail_overlap(context, f, f->tensors[other].name, "arena");
    if (f->uses_state && overlap(context->arena, need, state, f->model->state_bytes))
        return fail_overlap(context, f, "state", "arena");
    if (weights && !f->model->weights &&
        overlap(context->arena, need, weights, f->model->weights_bytes + TC_WEIGHTS_HEADER))
        return fail_overlap(context, f, "weights", "arena");
    return TC_STATUS_OK;
}

static tc_status choose_kernels(tc_context *context, const tc_function *f, tc_kernel *const **kernels)
{
    for (unsigned i = f->cpu_count; i-- > 0;)
        if (context->cpus >> f->cpus[i] & 1) {
            *kernels = f->kernels[i];
            return TC_STATUS_OK;
        }
    return tc_refuse_name(context, TC_STATUS_UNSUPPORTED_CPU, f, context->cpus ? tc_cpu_name(f->cpus[0]) : "context",
                          context->cpus
                              ? "needs at least the instruction set %s"
                              : "%s has no instruction set: was tc_context_init called, and what did it return?");
}

static int has_size(const tc_dim_info *dim, tc_index value)
{
    for (unsigned i = 0; i < dim->size_count; ++i)
        if (dim->sizes[i] == value)
            return 1;
    return 0;
}

/* Counts and logs the dims for which the generic variant runs; returns the first, or -1. */
static int count_misses(const tc_context *context, const tc_function *f, const tc_index *dims, uint64_t *counters)
{
    int first = -1;
    unsigned counter = TC_COUNTER_FIRST;
    for (unsigned i = 0; i < f->dim_count; ++i) {
        const tc_dim_info *dim = &f->dims[i];
        if (!dim->size_count)
            continue;
        if (!has_size(dim, dims[i])) {
            if (counters)
                ++counters[counter];
            first = first < 0 ? (int)i : first;
            if (context->log && (context->log_topics & TC_LOG_GUARDS)) {
                char line[160];
                tc_text text = tc_text_start(line, sizeof line);
                tc_text_say(&text, f, &(tc_detail){dim->name, NULL, -1, dims[i], dim->low, dim->high},
                            "guard missed: %s = %v of %l..%h, specialized for");
                for (unsigned j = 0; j < dim->size_count; ++j) {
                    tc_text_put(&text, j ? ", " : " ");
                    tc_text_put_int(&text, dim->sizes[j]);
                }
                context->log(context->log_user, TC_LOG_GUARDS, line);
            }
        }
        ++counter;
    }
    return first;
}

static tc_status choose_variant(tc_context *context, const tc_function *f, const tc_index *dims, uint64_t *counters,
                                const tc_variant **variant)
{
    if ((unsigned)context->stance >= TC_STANCE_COUNT)
        return tc_refuse_range(context, TC_STATUS_BAD_ARGUMENT, f, "stance", context->stance, 0, TC_STANCE_COUNT - 1,
                               "%s %v is not in %l..%h");
    const int reference = context->stance == TC_STANCE_REFERENCE;
    if (reference && !f->reference)
        return tc_refuse_name(context, TC_STATUS_NOT_BUILT, f, "reference", "built without %s kernels");
    const unsigned chosen = reference ? 0 : f->select(dims);
    const int generic = !reference && f->variant_count > 1 && chosen == f->variant_count - 1;
    *variant = reference ? f->reference : &f->variants[chosen];
    if (counters)
        ++counters[TC_COUNTER_CALLS];
    if (generic) {
        if (counters)
            ++counters[TC_COUNTER_GENERIC];
        const int missed = count_misses(context, f, dims, counters);
        if (context->stance == TC_STANCE_FAIL_ON_GENERIC) {
            const tc_dim_info *dim = &f->dims[missed < 0 ? 0 : missed];
            return tc_refuse_range(context, TC_STATUS_GENERIC_REFUSED, f, dim->name, dims[dim - f->dims], dim->low,
                                   dim->high, "no specialized variant for %s = %v (%l..%h)");
        }
    }
    if (context->log && (context->log_topics & TC_LOG_GUARDS)) {
        char line[160];
        tc_text text = tc_text_start(line, sizeof line);
        tc_text_say(&text, f, &(tc_detail){.subject = (*variant)->name}, "variant %s");
        context->log(context->log_user, TC_LOG_GUARDS, line);
    }
    return TC_STATUS_OK;
}

/* The threads that a call is worth: of those that are awake more than of those that may have to be woken up. Whatever a
 * team of the user's says of its threads, these are no more than that. */
static tc_index team_size(const tc_context *context, const tc_function *f, const tc_variant *variant,
                          const tc_index *dims)
{
    const tc_team *const team = &context->team;
    const tc_index asked = TC_TEAMS && team->run ? team->threads : 1;
    tc_index most = asked < f->max_threads ? asked : f->max_threads;
    if (most < 2)
        return 1;
    uint64_t threads = (uint64_t)variant->threads;
    if (threads == 0) {
        const uint64_t work = variant->work(dims);
        threads = work / TC_WORK_PER_THREAD;
        const uint64_t worth = work / (TC_WORK_PER_AWAKE_THREAD + variant->barriers * TC_WORK_PER_BARRIER);
        if (team->awake && threads < (uint64_t)most && worth > 1 && worth > threads) {
            most = worth < (uint64_t)most ? (tc_index)worth : most;
            const tc_index awake = team->awake(team->user, most, work);
            threads = awake > (tc_index)threads ? (uint64_t)awake : threads;
        }
    }
    return threads < 2 ? 1 : threads < (uint64_t)most ? (tc_index)threads : most;
}

static void run_thread(void *argument, tc_index thread, tc_index threads)
{
    tc_frame *frame = argument;
    const tc_fpenv saved = tc_fpenv_enter();
    frame->variant->run(frame, thread, threads);
    tc_fpenv_leave(saved);
}

/* The largest teams whose threads look at each other: one that takes little of the caller's stack, and any. */
enum { FEW_MEMBERS = 16, MOST_MEMBERS = 64 };

static void run_members(tc_frame *frame, tc_index threads, tc_member *members)
{
    for (tc_index i = 0; members && i < threads; ++i)
        members[i].left = members[i].arrived = 0;
    frame->members = members;
    frame->context->team.run(frame->context->team.user, threads, run_thread, frame);
}

__attribute__((noinline)) static void run_few(tc_frame *frame, tc_index threads)
{
    tc_member members[FEW_MEMBERS];
    run_members(frame, threads, members);
}

__attribute__((noinline)) static void run_many(tc_frame *frame, tc_index threads)
{
    tc_member members[MOST_MEMBERS];
    run_members(frame, threads, threads <= MOST_MEMBERS ? members : NULL);
}

/* On a stack of its own: calls on one thread have no use for members. */
__attribute__((noinline)) static void run_team(tc_frame *frame, tc_index threads)
{
    if (threads <= FEW_MEMBERS)
        run_few(frame, threads);
    else
        run_many(frame, threads);
}

static tc_status run(tc_context *context, const tc_function *f, const tc_index *dims, void *const *buffers, void *state,
                     const void *weights, void *counters, int resident, void *stream)
{
    if (!context)
        return TC_STATUS_NULL_POINTER;
    tc_status status = tc_check_dims(context, f, dims, counters);
    if (status == TC_STATUS_OK)
        status = check_blocks(context, f, state, weights, resident);
    if (status == TC_STATUS_OK)
        status = check_tensors(context, f, dims, buffers, state, weights, resident);
    if (status != TC_STATUS_OK)
        return status;
    tc_frame frame = {.function = f, .dims = dims, .buffers = buffers, .context = context, .resident = resident};
    if (!f->model->device)
        status = choose_kernels(context, f, &frame.kernels);
    if (status == TC_STATUS_OK)
        status = choose_variant(context, f, dims, counters, &frame.variant);
    if (status != TC_STATUS_OK)
        return status;
    frame.state = f->uses_state ? (unsigned char *)state + TC_STATE_HEADER : NULL;
    frame.logs = context->log ? context->log_topics : 0;
    if (f->model->device)
        return tc_run_on_device(&frame, stream);
    const tc_index threads = team_size(context, f, frame.variant, dims);
    status = check_arena(context, f, dims, buffers, state, weights,
                         frame.variant->arena(dims, (uint64_t)threads, NULL));
    if (status != TC_STATUS_OK)
        return status;
    unsigned char nothing; /* what offsets of 0 are added to where there is no arena */
    frame.arena = context->arena ? context->arena : &nothing;
    frame.weights = f->model->weights ? f->model->weights
                    : weights         ? (const unsigned char *)weights + TC_WEIGHTS_HEADER
                                      : NULL;
    if (threads == 1)
        run_thread(&frame, 0, 1);
    else
        run_team(&frame, threads);
    return frame.fault ? tc_refuse_index(&frame) : TC_STATUS_OK;
}

tc_status tc_run(tc_context *context, const tc_function *f, const tc_index *dims, void *const *buffers, void *state,
                 const void *weights, void *counters)
{
    return run(context, f, dims, buffers, state, weights, counters, 0, NULL);
}

tc_status tc_run_resident(tc_context *context, const tc_function *f, const tc_index *dims, void *const *buffers,
                          void *state, void *counters, void *stream)
{
    return run(context, f, dims, buffers, state, NULL, counters, 1, stream);
}

tc_status tc_refuse_index(const tc_frame *frame)
{
    return tc_refuse(frame->context, TC_STATUS_INDEX_OUT_OF_RANGE, frame->function,
                     &(tc_detail){frame->fault_name, NULL, frame->fault_position, frame->fault_value, 0,
                                  frame->fault_bound - 1},
                     "%s[%p] = %v is not in %l..%h");
}

tc_status tc_run_null(tc_context *context, const tc_function *f)
{
    return context ? tc_refuse_name(context, TC_STATUS_NULL_POINTER, f, "args", "%s is NULL") : TC_STATUS_NULL_POINTER;
}

size_t tc_run_arena_bytes(const tc_function *f, const tc_index *dims, tc_index threads)
{
    return tc_function_arena_bytes(f, dims, threads, TC_STANCE_DEFAULT);
}

/* Whether a call with these dims would pass the checks of their ranges and the guards. */
static int accepts(const tc_function *f, const tc_index *dims)
{
    int64_t sides[2];
    if (!f || (!dims && f->dim_count))
        return 0;
    for (unsigned i = 0; i < f->dim_count; ++i)
        if (dims[i] < f->dims[i].low || dims[i] > f->dims[i].high || dims[i] % f->dims[i].divisor)
            return 0;
    return f->guard(dims, sides) < 0;
}

size_t tc_function_tensor_bytes(const tc_function *f, unsigned tensor, const tc_index *dims)
{
    if (!accepts(f, dims) || tensor >= f->input_count + f->output_count)
        return 0;
    const uint64_t bytes = (uint64_t)tc_tensor_bytes(f, dims, tensor);
    return bytes > SIZE_MAX ? SIZE_MAX : (size_t)bytes;
}

size_t tc_function_arena_bytes(const tc_function *f, const tc_index *dims, tc_index threads, tc_stance stance)
{
    if (!accepts(f, dims))
        return 0;
    if (threads > f->max_threads)
        threads = f->max_threads;
    const tc_variant *const variant = stance == TC_STANCE_REFERENCE ? f->reference : &f->variants[f->select(dims)];
    if (!variant)
        return 0;
    const uint64_t bytes = variant->arena(dims, (uint64_t)(threads < 1 ? 1 : threads), NULL);
    return bytes > SIZE_MAX ? SIZE_MAX : (size_t)bytes;
}
