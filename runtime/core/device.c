/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls of models that were compiled for a device. The arena is the device's; arguments are copied to it and, once all
 * kernels have ended well, results back: a call that fails leaves outputs and state as they were.
 */
#include "internal.h"

static int stopped(const tc_frame *frame)
{
    return frame->fault || frame->device->refused;
}

void tc_device_upload(tc_frame *frame, uint64_t to, const void *from, int64_t bytes)
{
    if (bytes > 0 && !stopped(frame))
        frame->device->upload(frame->device, to, from, (size_t)bytes);
}

void tc_device_download(tc_frame *frame, void *to, uint64_t from, int64_t bytes)
{
    if (bytes > 0 && !stopped(frame))
        frame->device->download(frame->device, to, from, (size_t)bytes);
}

void tc_device_step(tc_frame *frame, tc_index step, unsigned kernel, const uint64_t *arguments, unsigned blocks,
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

int tc_device_check(tc_frame *frame, tc_index step, unsigned kernel, const uint64_t *arguments, unsigned blocks,
                    unsigned threads, const char *name, tc_dtype dtype, int64_t bound)
{
    const uint64_t none = UINT64_MAX, cell = arguments[1];
    uint64_t position = none;
    tc_device_upload(frame, cell, &none, sizeof none);
    tc_device_step(frame, step, kernel, arguments, blocks, threads);
    tc_device_download(frame, &position, cell, sizeof position);
    if (stopped(frame) || position == none)
        return stopped(frame);
    int64_t wide = 0;
    int32_t narrow = 0;
    if (dtype == TC_DTYPE_I32)
        tc_device_download(frame, &narrow, arguments[0] + position * sizeof narrow, sizeof narrow);
    else
        tc_device_download(frame, &wide, arguments[0] + position * sizeof wide, sizeof wide);
    frame->fault = 1;
    frame->fault_name = name;
    frame->fault_bound = bound;
    frame->fault_position = (int64_t)position;
    frame->fault_value = dtype == TC_DTYPE_I32 ? narrow : wide;
    return 1;
}

int tc_device_holds(tc_frame *frame, uint64_t address)
{
    unsigned char value = 0;
    tc_device_download(frame, &value, address, 1);
    return !stopped(frame) && value;
}

int tc_device_ready(tc_frame *frame)
{
    if (!stopped(frame))
        frame->device->wait(frame->device);
    return !stopped(frame);
}

tc_status tc_run_on_device(tc_frame *frame)
{
    const tc_function *f = frame->function;
    tc_context *context = frame->context;
    tc_device *device = frame->device = context->device;
    const char *kind = f->model->device->kind;
    if (!device || !tc_names_equal(device->kind, kind))
        return tc_fail(context, TC_STATUS_NO_DEVICE, f, &(tc_detail){.subject = kind, .position = -1},
                       "compiled for %s: the context has no such device");
    const uint64_t need = frame->variant->arena(frame->dims, (uint64_t)f->max_threads, NULL);
    if (device->arena_bytes < need) {
        const int64_t least = need > INT64_MAX ? INT64_MAX : (int64_t)need;
        return tc_fail(context, TC_STATUS_ARENA_TOO_SMALL, f,
                       &(tc_detail){"arena", NULL, -1, (int64_t)device->arena_bytes, least, PTRDIFF_MAX},
                       "the device's arena has %v bytes, this call needs %l");
    }
    device->refused = device->reason = NULL;
    frame->device_arena = device->arena;
    if (!device->enter(device, f->model, &frame->device_weights) && !device->refused)
        return tc_fail(context, TC_STATUS_NO_DEVICE, f, &(tc_detail){.subject = f->model->name, .position = -1},
                       "%s is not loaded on the context's device");
    if (!device->refused) {
        frame->variant->run(frame, 0, f->max_threads);
        device->leave(device);
    }
    if (device->refused)
        return tc_fail(context, TC_STATUS_DEVICE, f,
                       &(tc_detail){.subject = device->refused, .other = device->reason, .position = -1}, "%s: %o");
    return frame->fault ? tc_fail_index(frame) : TC_STATUS_OK;
}
