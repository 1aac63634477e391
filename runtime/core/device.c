/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls of models that were compiled for a device. Arguments in its memory are used where they are, and nothing is waited
 * for. Those in the processor's memory are copied to the arena and, once all kernels have ended well, results back: a call
 * that fails leaves outputs and state as they were.
 */
#include "internal.h"

static int stopped(const tc_frame *frame)
{
    return frame->fault || frame->device->refused;
}

static void upload(tc_frame *frame, uint64_t to, const void *from, int64_t bytes)
{
    if (bytes > 0 && !stopped(frame))
        frame->device->upload(frame->device, to, from, (size_t)bytes);
}

uint64_t tc_device_input(tc_frame *frame, unsigned input, uint64_t place, int64_t bytes)
{
    if (frame->resident)
        return (uint64_t)(uintptr_t)frame->buffers[input];
    upload(frame, place, frame->buffers[input], bytes);
    return place;
}

uint64_t tc_device_output(tc_frame *frame, unsigned buffer, uint64_t place)
{
    return frame->resident ? (uint64_t)(uintptr_t)frame->buffers[buffer] : place;
}

uint64_t tc_device_state(tc_frame *frame, uint64_t offset, uint64_t place, int64_t bytes)
{
    if (frame->resident)
        return (uint64_t)(uintptr_t)frame->state + offset;
    upload(frame, place, frame->state + offset, bytes);
    return place;
}

void tc_device_download(tc_frame *frame, void *to, uint64_t from, int64_t bytes)
{
    if (bytes > 0 && !stopped(frame))
        frame->device->download(frame->device, to, from, (size_t)bytes);
}

int tc_device_begin(tc_frame *frame, int varies, uint64_t *externals, unsigned count)
{
    tc_device *device = frame->device;
    if (stopped(frame))
        return 0;
    /* Who wants to see every kernel sees none of a recording. */
    if (frame->context->profile || (frame->logs & TC_LOG_KERNELS) || frame->variant == frame->function->reference)
        varies = TC_DEVICE_VARIES;
    return device->begin(device, frame->variant, frame->dims, frame->function->dim_count, varies, externals, count);
}

void tc_device_end(tc_frame *frame)
{
    frame->device->end(frame->device); /* a recording ends even where a launch was refused */
}

void tc_device_step(tc_frame *frame, tc_index step, unsigned kernel, const void *arguments, unsigned blocks,
                    unsigned threads)
{
    const tc_context *context = frame->context;
    tc_device *device = frame->device;
    const char *name = frame->variant->steps[step];
    if (stopped(frame))
        return;
    if (frame->logs & TC_LOG_KERNELS)
        context->log(context->log_user, TC_LOG_KERNELS, name);
    const char *function = frame->function->name, *variant = frame->variant->name;
    if (context->profile) {
        device->wait(device); /* what is before it is not its time */
        context->profile(context->profile_user, function, variant, name, step, 0, 1);
    }
    if (blocks)
        device->launch(device, kernel, arguments, blocks, threads);
    if (context->profile) {
        device->wait(device);
        context->profile(context->profile_user, function, variant, name, step, 0, 0);
    }
}

void tc_device_branch(tc_frame *frame, unsigned where)
{
    frame->device->branch(frame->device, where); /* parts are joined even where a launch was refused */
}

void tc_device_map(tc_frame *frame, uint64_t *to, uint64_t address, int64_t terms, int64_t lines, int64_t line_bytes,
                   unsigned box)
{
    if (!stopped(frame) && terms > 0 && lines > 0)
        frame->device->map(frame->device, to, address, terms, lines, line_bytes, box);
}

/* Waits for the device's cell; whether the call ends. */
static int look(tc_frame *frame)
{
    static const tc_device_fault none;
    tc_device_fault found = none;
    tc_device_download(frame, &found, frame->device->cell, sizeof found);
    if (!stopped(frame))
        frame->device->wait(frame->device);
    if (stopped(frame) || !found.position)
        return stopped(frame);
    upload(frame, frame->device->cell, &none, sizeof none);
    frame->fault_name = ((const tc_device_index *)(uintptr_t)found.index)->name;
    frame->fault_position = (int64_t)found.position - 1;
    frame->fault_value = found.value;
    frame->fault_bound = found.bound;
    frame->fault = 1;
    return 1;
}

int tc_device_check(tc_frame *frame, tc_index step, unsigned kernel, const uint64_t *arguments, unsigned blocks,
                    unsigned threads)
{
    tc_device_step(frame, step, kernel, arguments, blocks, threads);
    return frame->variant == frame->function->reference ? look(frame) : stopped(frame);
}

int tc_device_holds(tc_frame *frame, uint64_t address, int checks)
{
    unsigned char value = 0;
    tc_device_download(frame, &value, address, 1);
    if (!stopped(frame))
        frame->device->wait(frame->device);
    return !(checks ? look(frame) : stopped(frame)) && value;
}

int tc_device_ready(tc_frame *frame, int checks)
{
    if (stopped(frame) || frame->resident)
        return 0;
    if (checks)
        return !look(frame);
    frame->device->wait(frame->device);
    return !stopped(frame);
}

tc_status tc_run_on_device(tc_frame *frame, void *stream)
{
    const tc_function *f = frame->function;
    tc_context *context = frame->context;
    tc_device *device = frame->device = context->device;
    const char *kind = f->model->device->kind;
    if (!device || !tc_names_equal(device->kind, kind))
        return tc_refuse_name(context, TC_STATUS_NO_DEVICE, f, kind, "compiled for %s: the context has no such device");
    const uint64_t need = frame->variant->arena(frame->dims, (uint64_t)f->max_threads, NULL);
    if (device->arena_bytes < need) {
        const int64_t least = need > INT64_MAX ? INT64_MAX : (int64_t)need;
        return tc_refuse_range(context, TC_STATUS_ARENA_TOO_SMALL, f, "arena", (int64_t)device->arena_bytes, least,
                               PTRDIFF_MAX, "the device's arena has %v bytes, this call needs %l");
    }
    device->refused = device->reason = NULL;
    device->stream = frame->resident ? stream : device->own_stream;
    frame->device_arena = device->arena;
    if (!device->enter(device, f->model, &frame->device_weights) && !device->refused)
        return tc_refuse_name(context, TC_STATUS_NO_DEVICE, f, f->model->name,
                              "%s is not loaded on the context's device");
    if (!device->refused) {
        frame->variant->run(frame, 0, f->max_threads);
        device->leave(device);
    }
    if (device->refused)
        return tc_refuse(context, TC_STATUS_DEVICE, f,
                         &(tc_detail){.subject = device->refused, .other = device->reason, .position = -1}, "%s: %o");
    return frame->fault ? tc_refuse_index(frame) : TC_STATUS_OK;
}
