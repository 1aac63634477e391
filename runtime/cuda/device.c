/* SPDX-License-Identifier: Apache-2.0
 *
 * A CUDA device behind the core's tc_device: its calls, its arena and its stream.
 */
#include "device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ALIGNMENT = 256 }; /* of allocations */
/* Of tensor maps: CUtensorMapDataType, …Interleave, …Swizzle, …L2promotion, …FloatOOBfill. */
enum {
    WORDS_OF_16_BITS = 1,
    NOT_INTERLEAVED = 0,
    SWIZZLED_128 = 3,
    PROMOTED_256 = 3,
    ZEROS_OUTSIDE = 0,
    LINE_TERMS = 64
};

tc_status tc_cuda_fail(tc_error *error, tc_status status, const char *subject, const char *reason)
{
    if (error) {
        *error = (tc_error){.status = status, .subject = subject, .position = -1};
        /* A long reason loses its end. */
        if (snprintf(error->message, sizeof error->message, "cuda: %s: %s", subject, reason) < 0)
            error->message[0] = 0;
    }
    return status;
}

/* What the driver answered: OK where that was 0, else `status`. What is no driver, as the toolkit's stub, has no names. */
tc_status tc_cuda_answer_as(const tc_cuda *cuda, int code, tc_status status, const char *what, tc_error *error)
{
    char reason[sizeof error->message];
    if (!code)
        return TC_STATUS_OK;
    const char *text = tc_cuda_error_text(&cuda->api, code);
    if (*text)
        snprintf(reason, sizeof reason, "%s: %s", tc_cuda_error(&cuda->api, code), text);
    else
        snprintf(reason, sizeof reason, "error %d, which the library has no words for", code);
    return tc_cuda_fail(error, status, what, reason);
}

tc_status tc_cuda_answer(const tc_cuda *cuda, int code, const char *what, tc_error *error)
{
    return tc_cuda_answer_as(cuda, code, TC_STATUS_DEVICE, what, error);
}

/* -- calls --------------------------------------------------------------------------------------------------------- */

void tc_cuda_note(tc_cuda *cuda, int code, const char *what)
{
    if (code && !cuda->device.refused) {
        cuda->device.refused = what;
        cuda->device.reason = tc_cuda_error(&cuda->api, code);
    }
}

static int enter(tc_device *device, const tc_model *model, uint64_t *weights)
{
    tc_cuda *cuda = (tc_cuda *)device;
    for (cuda->current = cuda->models; cuda->current && cuda->current->model != model;)
        cuda->current = cuda->current->next;
    if (!cuda->current)
        return 0;
    *weights = cuda->current->weights;
    tc_cuda_note(cuda, cuda->api.context_push(cuda->context), "cuCtxPushCurrent");
    return !device->refused;
}

static void leave(tc_device *device)
{
    tc_cuda *cuda = (tc_cuda *)device;
    void *popped;
    if (device->stream == device->own_stream) /* copies to and from the caller's memory have ended */
        tc_cuda_note(cuda, cuda->api.stream_wait(device->stream), "cuStreamSynchronize");
    tc_cuda_note(cuda, cuda->api.context_pop(&popped), "cuCtxPopCurrent");
}

static void upload(tc_device *device, uint64_t to, const void *from, size_t bytes)
{
    tc_cuda *cuda = (tc_cuda *)device;
    tc_cuda_note(cuda, cuda->api.upload(to, from, bytes, cuda->device.stream), "cuMemcpyHtoDAsync");
}

static void wait_for_all(tc_device *device)
{
    tc_cuda *cuda = (tc_cuda *)device;
    tc_cuda_note(cuda, cuda->api.stream_wait(cuda->device.stream), "cuStreamSynchronize");
}

static void download(tc_device *device, void *to, uint64_t from, size_t bytes)
{
    tc_cuda *cuda = (tc_cuda *)device;
    tc_cuda_note(cuda, cuda->api.download(to, from, bytes, cuda->device.stream), "cuMemcpyDtoHAsync");
}

/* A product of the library's. */
static void multiply(tc_cuda *cuda, unsigned kernel, const tc_device_operands *operands, void *stream)
{
    tc_device_operands at = *operands;
    const tc_device_product *product = cuda->current->model->device->kernels[kernel].product;
    if (product->has_bias && product->result != TC_DTYPE_F32)
        at.bias += cuda->current->biases;
    const int status = tc_lt_multiply(&cuda->lt, product, &cuda->current->plans[kernel], &at, stream);
    if (status && !cuda->device.refused) {
        cuda->device.refused = "cublasLtMatmul";
        cuda->device.reason = cuda->lt.status_name(status);
    }
}

/* A kernel's one parameter goes by its address: within a block of parameters it would not lie first where it is aligned
 * to more than the driver's own begin. */
static void launch(tc_device *device, unsigned kernel, const void *arguments, unsigned blocks, unsigned threads)
{
    tc_cuda *cuda = (tc_cuda *)device;
    const unsigned shared = cuda->current->model->device->kernels[kernel].shared_bytes;
    void *const stream = tc_cuda_stream(cuda);
    const unsigned here = 1u << (cuda->recording ? cuda->part : 0);
    const int overlaps = cuda->overlaps && !(cuda->waits & here);
    void *parameters[] = {(void *)(uintptr_t)arguments};
    cuda->waits &= ~here;
    if (cuda->current->model->device->kernels[kernel].product) {
        multiply(cuda, kernel, arguments, stream);
        return;
    }
    if (overlaps && cuda->current->model->device->overlaps) {
        const tc_cuda_attribute overlap = {.id = TC_CUDA_OVERLAP, .value.number = 1};
        const tc_cuda_launch how = {{blocks, 1, 1}, {threads, 1, 1}, shared, stream, &overlap, 1};
        tc_cuda_note(cuda, cuda->api.launch_with(&how, cuda->current->functions[kernel], parameters, NULL),
                     "cuLaunchKernelEx");
        return;
    }
    tc_cuda_note(cuda,
                 cuda->api.launch(cuda->current->functions[kernel], blocks, 1, 1, threads, 1, 1, shared, stream,
                                  parameters, NULL),
                 "cuLaunchKernel");
}

/* Encodes a tensor map, or finds it among those encoded before: calls that are no recording ask for the same ones. */
static void map(tc_device *device, uint64_t *to, uint64_t address, int64_t terms, int64_t lines, int64_t line_bytes,
                unsigned box)
{
    tc_cuda *cuda = (tc_cuda *)device;
    const tc_cuda_map_key key = {address, terms, lines, line_bytes, box};
    const uint64_t mixed = (address / 16 + (uint64_t)box) * UINT64_C(0x9e3779b97f4a7c15);
    tc_cuda_map *kept = &cuda->maps[mixed >> 32 & (TC_CUDA_MAPS - 1)];
    if (kept->key.box && memcmp(&kept->key, &key, sizeof key) == 0) {
        memcpy(to, kept->words, sizeof kept->words);
        return;
    }
    const uint64_t sizes[] = {(uint64_t)terms, (uint64_t)lines}, strides[] = {(uint64_t)line_bytes};
    const unsigned boxes[] = {LINE_TERMS, box}, steps[] = {1, 1};
    const int code = cuda->api.tensor_map(to, WORDS_OF_16_BITS, 2, address, sizes, strides, boxes, steps,
                                          NOT_INTERLEAVED, SWIZZLED_128, PROMOTED_256, ZEROS_OUTSIDE);
    tc_cuda_note(cuda, code, "cuTensorMapEncodeTiled");
    if (!code) {
        kept->key = key;
        memcpy(kept->words, to, sizeof kept->words);
    }
}

/* -- opening and closing ------------------------------------------------------------------------------------------- */

tc_status tc_cuda_open(tc_cuda **out, int ordinal, tc_error *error)
{
    if (!out)
        return tc_cuda_fail(error, TC_STATUS_NULL_POINTER, "cuda", "is NULL");
    *out = NULL;
    tc_cuda *cuda = calloc(1, sizeof *cuda);
    if (!cuda)
        return tc_cuda_fail(error, TC_STATUS_SYSTEM, "tc_cuda_open", "no memory");
    cuda->device = (tc_device){.kind = "cuda",
                               .enter = enter,
                               .leave = leave,
                               .upload = upload,
                               .download = download,
                               .begin = tc_cuda_begin,
                               .launch = launch,
                               .branch = tc_cuda_branch,
                               .end = tc_cuda_end,
                               .wait = wait_for_all,
                               .map = map};
    const char *missing = tc_cuda_api_load(&cuda->api);
    if (missing) {
        free(cuda);
        return tc_cuda_fail(error, TC_STATUS_NO_DEVICE, missing,
                            "not found: is an NVIDIA driver installed, and recent enough?");
    }
    /* Whatever these two refuse for, there is nothing to run on. */
    tc_status status = tc_cuda_answer_as(cuda, cuda->api.init(0), TC_STATUS_NO_DEVICE, "cuInit", error);
    if (status == TC_STATUS_OK)
        status = tc_cuda_answer_as(cuda, cuda->api.device_get(&cuda->ordinal, ordinal), TC_STATUS_NO_DEVICE,
                                   "cuDeviceGet", error);
    if (status == TC_STATUS_OK)
        status = tc_cuda_answer(cuda, cuda->api.context_retain(&cuda->context, cuda->ordinal),
                                "cuDevicePrimaryCtxRetain", error);
    if (status != TC_STATUS_OK) {
        free(cuda);
        return status;
    }
    void *popped;
    int version = 0;
    cuda->overlaps = cuda->api.driver_version(&version) == 0 && version >= TC_CUDA_OVERLAP_DRIVER;
    status = tc_cuda_answer(cuda, cuda->api.context_push(cuda->context), "cuCtxPushCurrent", error);
    if (status == TC_STATUS_OK) {
        status = tc_cuda_answer(cuda, cuda->api.stream_create(&cuda->device.own_stream, TC_CUDA_NON_BLOCKING),
                                "cuStreamCreate", error);
        cuda->device.stream = cuda->device.own_stream;
        cuda->api.context_pop(&popped);
    }
    if (status != TC_STATUS_OK) {
        cuda->api.context_release(cuda->ordinal);
        free(cuda);
        return status;
    }
    *out = cuda;
    return TC_STATUS_OK;
}

static void drop_arena(tc_cuda *cuda)
{
    tc_cuda_drop_graphs(cuda); /* they have its address */
    if (cuda->owns_arena)
        cuda->api.release(cuda->device.arena);
    cuda->owns_arena = 0;
    cuda->device.arena = cuda->device.arena_bytes = 0;
}

void tc_cuda_close(tc_cuda *cuda)
{
    if (!cuda)
        return;
    void *popped;
    if (cuda->api.context_push(cuda->context) == 0) {
        tc_cuda_drop_graphs(cuda);
        tc_cuda_drop_parts(cuda);
        while (cuda->models) {
            tc_cuda_loaded *next = cuda->models->next;
            tc_cuda_unload(cuda, cuda->models);
            cuda->models = next;
        }
        drop_arena(cuda);
        tc_lt_close(&cuda->lt);
        if (cuda->device.cell)
            cuda->api.release(cuda->device.cell);
        cuda->api.stream_destroy(cuda->device.own_stream);
        cuda->api.context_pop(&popped);
    }
    cuda->api.context_release(cuda->ordinal);
    free(cuda);
}

void tc_context_use_cuda(tc_context *context, tc_cuda *cuda)
{
    if (context)
        context->device = cuda ? &cuda->device : NULL;
}

/* -- the arena ----------------------------------------------------------------------------------------------------- */

tc_status tc_cuda_reserve(tc_cuda *cuda, size_t bytes, tc_error *error)
{
    if (!cuda)
        return tc_cuda_fail(error, TC_STATUS_NULL_POINTER, "cuda", "is NULL");
    void *popped;
    tc_status status = tc_cuda_answer(cuda, cuda->api.context_push(cuda->context), "cuCtxPushCurrent", error);
    if (status != TC_STATUS_OK)
        return status;
    drop_arena(cuda);
    if (bytes) {
        tc_cuda_address address;
        status = tc_cuda_answer(cuda, cuda->api.allocate(&address, bytes), "cuMemAlloc", error);
        if (status == TC_STATUS_OK) {
            cuda->device.arena = address;
            cuda->device.arena_bytes = bytes;
            cuda->owns_arena = 1;
        }
    }
    cuda->api.context_pop(&popped);
    return status;
}

tc_status tc_cuda_borrow(tc_cuda *cuda, uint64_t address, size_t bytes, tc_error *error)
{
    if (!cuda || (!address && bytes))
        return tc_cuda_fail(error, TC_STATUS_NULL_POINTER, cuda ? "address" : "cuda", "is NULL");
    if (address % ALIGNMENT)
        return tc_cuda_fail(error, TC_STATUS_MISALIGNED, "address", "is not aligned to 256 bytes");
    const tc_status status = tc_cuda_reserve(cuda, 0, error);
    if (status != TC_STATUS_OK)
        return status;
    cuda->device.arena = address;
    cuda->device.arena_bytes = bytes;
    return TC_STATUS_OK;
}

/* -- memory of the caller's on the device --------------------------------------------------------------------------- */

/* Makes the device's context current, or says why not. */
static tc_status work_on(tc_cuda *cuda, tc_error *error)
{
    return cuda ? tc_cuda_answer(cuda, cuda->api.context_push(cuda->context), "cuCtxPushCurrent", error)
                : tc_cuda_fail(error, TC_STATUS_NULL_POINTER, "cuda", "is NULL");
}

static tc_status done(tc_cuda *cuda, int code, const char *what, tc_error *error)
{
    void *popped;
    const tc_status status = tc_cuda_answer(cuda, code, what, error);
    cuda->api.context_pop(&popped);
    return status;
}

tc_status tc_cuda_allocate(tc_cuda *cuda, uint64_t *address, size_t bytes, tc_error *error)
{
    if (!address)
        return tc_cuda_fail(error, TC_STATUS_NULL_POINTER, "address", "is NULL");
    *address = 0;
    const tc_status status = work_on(cuda, error);
    return status == TC_STATUS_OK ? done(cuda, cuda->api.allocate(address, bytes ? bytes : 1), "cuMemAlloc", error)
                                  : status;
}

tc_status tc_cuda_free(tc_cuda *cuda, uint64_t address, tc_error *error)
{
    if (!address)
        return TC_STATUS_OK;
    const tc_status status = work_on(cuda, error);
    return status == TC_STATUS_OK ? done(cuda, cuda->api.release(address), "cuMemFree", error) : status;
}

tc_status tc_cuda_upload(tc_cuda *cuda, uint64_t to, const void *from, size_t bytes, void *stream, tc_error *error)
{
    const tc_status status = bytes ? work_on(cuda, error) : TC_STATUS_OK;
    return bytes && status == TC_STATUS_OK
               ? done(cuda, cuda->api.upload(to, from, bytes, stream), "cuMemcpyHtoDAsync", error)
               : status;
}

tc_status tc_cuda_download(tc_cuda *cuda, void *to, uint64_t from, size_t bytes, void *stream, tc_error *error)
{
    const tc_status status = bytes ? work_on(cuda, error) : TC_STATUS_OK;
    return bytes && status == TC_STATUS_OK
               ? done(cuda, cuda->api.download(to, from, bytes, stream), "cuMemcpyDtoHAsync", error)
               : status;
}

tc_status tc_cuda_finish(tc_cuda *cuda, void *stream, tc_error *error)
{
    static const tc_device_fault none;
    tc_device_fault found = none;
    tc_status status = work_on(cuda, error);
    if (status != TC_STATUS_OK)
        return status;
    int code = cuda->device.cell ? cuda->api.download(&found, cuda->device.cell, sizeof found, stream) : 0;
    if (!code)
        code = cuda->api.stream_wait(stream);
    if (!code && found.position)
        code = cuda->api.upload(cuda->device.cell, &none, sizeof none, stream);
    status = done(cuda, code, "cuStreamSynchronize", error);
    if (status != TC_STATUS_OK || !found.position)
        return status;
    const tc_device_index *index = (const tc_device_index *)(uintptr_t)found.index;
    const int64_t at = (int64_t)found.position - 1;
    if (error) {
        *error = (tc_error){.status = TC_STATUS_INDEX_OUT_OF_RANGE,
                            .function = index->function->name,
                            .subject = index->name,
                            .position = at,
                            .value = found.value,
                            .high = found.bound - 1};
        snprintf(error->message, sizeof error->message, "%s: %s[%lld] = %lld is not in 0..%lld", error->function,
                 error->subject, (long long)at, (long long)found.value, (long long)found.bound - 1);
    }
    return TC_STATUS_INDEX_OUT_OF_RANGE;
}

void tc_cuda_graphs(tc_cuda *cuda, int sizes)
{
    if (cuda)
        cuda->graphs_asked = sizes;
}
