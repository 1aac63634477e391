/* SPDX-License-Identifier: Apache-2.0
 *
 * A runtime of less than 1 KiB for firmware, in the place of runtime/core but for its cpu.c: contexts and typed calls of
 * models without state whose weights are in the object, by one thread. A call checks what else would be undefined: NULL,
 * the arena's size and place, dims and guards. What it leaves out: texts of errors (context->error has the status and
 * names), overlapping and misaligned tensors, counters, logs, profiles, teams, tc_call, stances.
 */
#include "../core/fpenv.h"

#include <tensor_compile/driver.h>

const unsigned char TC_ABI_SYMBOL = TC_ABI;

static tc_status refuse(tc_context *context, tc_status status, const tc_function *f, const char *subject)
{
    if (context) {
        context->error.status = status;
        context->error.function = f ? f->name : NULL;
        context->error.subject = subject;
    }
    return status;
}

static int misaligned(const void *arena)
{
    return ((uintptr_t)arena & (TC_ALIGNMENT - 1)) != 0;
}

tc_status tc_context_init(tc_context *context, void *arena, size_t arena_bytes)
{
    if (!context)
        return TC_STATUS_NULL_POINTER;
    *context = (tc_context){.arena = arena, .arena_bytes = arena_bytes, .team.threads = 1, .cpus = tc_cpu_detect()};
    return !arena && arena_bytes ? refuse(context, TC_STATUS_NULL_POINTER, NULL, "arena")
           : misaligned(arena)   ? refuse(context, TC_STATUS_MISALIGNED, NULL, "arena")
                                 : TC_STATUS_OK;
}

tc_status tc_run(tc_context *context, const tc_function *f, const tc_index *dims, void *const *buffers, void *state,
                 const void *weights, void *counters)
{
    (void)state, (void)weights, (void)counters;
    if (!context)
        return TC_STATUS_NULL_POINTER;
    if (f->uses_state || (f->model->weights_bytes && !f->model->weights) || f->model->device)
        return refuse(context, TC_STATUS_NOT_BUILT, f, NULL);
    for (unsigned i = 0; i < f->dim_count; ++i)
        if (dims[i] < f->dims[i].low || dims[i] > f->dims[i].high || dims[i] % f->dims[i].divisor)
            return refuse(context, TC_STATUS_DIM_OUT_OF_RANGE, f, f->dims[i].name);
    int64_t sides[2];
    const int guard = f->guard(dims, sides);
    if (guard >= 0)
        return refuse(context, TC_STATUS_GUARD_FAILED, f, f->guards[guard]);
    for (unsigned i = 0; i < f->input_count + f->output_count; ++i)
        if (!buffers[i])
            return refuse(context, TC_STATUS_NULL_POINTER, f, f->tensors[i].name);
    unsigned table = f->cpu_count;
    do
        if (!table--)
            return refuse(context, TC_STATUS_UNSUPPORTED_CPU, f, NULL);
    while (!(context->cpus >> f->cpus[table] & 1));
    const tc_variant *const variant = &f->variants[f->select(dims)];
    if (variant->arena(dims, 1, NULL) > context->arena_bytes)
        return refuse(context, TC_STATUS_ARENA_TOO_SMALL, f, "arena");
    if (misaligned(context->arena))
        return refuse(context, TC_STATUS_MISALIGNED, f, "arena");
    unsigned char nothing; /* what offsets of 0 are added to where there is no arena */
    tc_frame frame;
    frame.function = f;
    frame.dims = dims;
    frame.buffers = buffers;
    frame.arena = context->arena ? context->arena : &nothing;
    frame.state = NULL;
    frame.weights = f->model->weights;
    frame.kernels = f->kernels[table];
    frame.fault = 0;
    frame.fault_name = NULL;
    const tc_fpenv saved = tc_fpenv_enter();
    variant->run(&frame, 0, 1);
    tc_fpenv_leave(saved);
    return frame.fault ? refuse(context, TC_STATUS_INDEX_OUT_OF_RANGE, f, frame.fault_name) : TC_STATUS_OK;
}

tc_status tc_run_null(tc_context *context, const tc_function *f)
{
    return refuse(context, TC_STATUS_NULL_POINTER, f, "args");
}

size_t tc_run_arena_bytes(const tc_function *f, const tc_index *dims, tc_index threads)
{
    (void)threads;
    return (size_t)f->variants[f->select(dims)].arena(dims, 1, NULL);
}

tc_status tc_call_with(tc_context *context, const tc_function *f, const tc_view *inputs, const tc_view *outputs,
                       const tc_call_options *options, tc_index *dims, void **buffers)
{
    (void)inputs, (void)outputs, (void)options, (void)dims, (void)buffers;
    return refuse(context, TC_STATUS_NOT_BUILT, f, NULL);
}

void tc_step(tc_frame *frame, tc_index step, tc_kernel *kernel, void *const *p, const tc_index *d, tc_index thread,
             tc_index threads)
{
    (void)frame, (void)step;
    kernel(p, d, thread, threads);
}

void tc_tile_step(tc_frame *frame, tc_index step, tc_kernel *kernel, void *const *p, const tc_index *d, tc_index thread,
                  tc_index tile)
{
    (void)frame, (void)step, (void)thread, (void)tile;
    kernel(p, d, 0, 1);
}

void tc_shared_step(tc_frame *frame, tc_index step, tc_kernel *kernel, void *const *p, const tc_index *d,
                    tc_index thread, tc_index threads, uint64_t work)
{
    (void)frame, (void)step, (void)work;
    kernel(p, d, thread, threads);
}

tc_pieces tc_pieces_of(tc_frame *frame, tc_index thread, tc_index threads, uint64_t work)
{
    (void)frame, (void)work;
    return (tc_pieces){.thread = thread, .threads = threads, .count = threads, .piece = -1};
}

int tc_pieces_next(tc_pieces *pieces)
{
    const int first = pieces->piece < 0;
    pieces->piece = pieces->thread;
    return first;
}

void tc_barrier(tc_frame *frame, tc_index thread, tc_index threads)
{
    (void)frame, (void)thread, (void)threads;
}

void tc_wait(tc_frame *frame, tc_arrival *arrival)
{
    (void)frame, (void)arrival;
}

void tc_fault(tc_frame *frame, int group, const char *name, const void *data, tc_dtype dtype, int64_t n, int64_t bound)
{
    (void)data, (void)dtype, (void)n, (void)bound;
    if (!frame->fault) {
        frame->fault = group;
        frame->fault_name = name;
    }
}

int tc_faulted(tc_frame *frame, int group, tc_index thread, tc_index threads)
{
    (void)thread, (void)threads;
    return frame->fault != 0 && frame->fault <= group;
}
