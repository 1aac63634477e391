/* SPDX-License-Identifier: Apache-2.0
 *
 * Models on a device: their image, weights and products of the library's, loaded and given back.
 */
#include "device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WEIGHTS_HEADER = 128 };                             /* core/weights.c */
enum { MOST_DYNAMIC_SHARED = 8, USUAL_SHARED = 48 << 10 }; /* a function's attribute; what needs none */

/* Of loading an image. An old driver has no word for what it lacks, so the message tells the version. */
static tc_status answer_to_image(const tc_cuda *cuda, int code, tc_error *error)
{
    char reason[sizeof error->message];
    int version = 0;
    if (!code)
        return TC_STATUS_OK;
    cuda->api.driver_version(&version);
    snprintf(reason, sizeof reason, "%s (a driver of CUDA %d.%d): %s", tc_cuda_error(&cuda->api, code), version / 1000,
             version % 1000 / 10, tc_cuda_error_text(&cuda->api, code));
    const int foreign = code == TC_CUDA_NO_BINARY_FOR_GPU || code == TC_CUDA_JIT_COMPILER_NOT_FOUND ||
                        code == TC_CUDA_UNSUPPORTED_PTX_VERSION || code == TC_CUDA_JIT_COMPILATION_DISABLED;
    return tc_cuda_fail(error, foreign ? TC_STATUS_NO_DEVICE : TC_STATUS_DEVICE, "cuModuleLoadData", reason);
}

static void forget(tc_cuda_loaded *model)
{
    free(model->functions);
    free(model->plans);
    free(model);
}

void tc_cuda_unload(tc_cuda *cuda, tc_cuda_loaded *model)
{
    if (model->module)
        cuda->api.module_unload(model->module);
    for (unsigned i = 0; i < model->model->device->kernel_count; ++i)
        if (model->plans[i].operation)
            tc_lt_plan_drop(&cuda->lt, &model->plans[i]);
    if (model->weights)
        cuda->api.release(model->weights);
    if (model->biases)
        cuda->api.release(model->biases);
    forget(model);
}

static tc_status load_kernels(tc_cuda *cuda, tc_cuda_loaded *made, tc_error *error)
{
    const tc_device_code *code = made->model->device;
    tc_status status = code->image ? answer_to_image(cuda, cuda->api.module_load(&made->module, code->image), error)
                                   : TC_STATUS_OK;
    for (unsigned i = 0; status == TC_STATUS_OK && i < code->kernel_count; ++i) {
        const tc_device_kernel *kernel = &code->kernels[i];
        if (kernel->product)
            continue;
        status = tc_cuda_answer(cuda, cuda->api.module_function(&made->functions[i], made->module, kernel->name),
                                "cuModuleGetFunction", error);
        if (status == TC_STATUS_OK && kernel->shared_bytes > USUAL_SHARED)
            status = tc_cuda_answer(cuda,
                                    cuda->api.function_set(made->functions[i], MOST_DYNAMIC_SHARED,
                                                           (int)kernel->shared_bytes),
                                    "cuFuncSetAttribute", error);
    }
    return status;
}

/* Why the library serves no model. An error outlives the device, which has the name of its file. */
static tc_status refuse_library(const tc_cuda *cuda, const char *why, tc_error *error)
{
    const tc_status status = tc_cuda_fail(error, TC_STATUS_NO_DEVICE, cuda->lt.name, why);
    if (error)
        error->subject = "libcublasLt";
    return status;
}

/* The library of a product's version, open. */
static tc_status find_library(tc_cuda *cuda, unsigned version, tc_error *error)
{
    char reason[sizeof error->message];
    const char *why = cuda->lt.handle ? NULL : tc_lt_open(&cuda->lt, version / 10000);
    if (why)
        return refuse_library(cuda, why, error);
    const unsigned there = (unsigned)cuda->lt.version();
    if (there == version)
        return TC_STATUS_OK;
    snprintf(reason, sizeof reason, "version %u.%u.%u, the model was tuned with %u.%u.%u", there / 10000,
             there / 100 % 100, there % 100, version / 10000, version / 100 % 100, version % 100);
    return refuse_library(cuda, reason, error);
}

static tc_status load_products(tc_cuda *cuda, tc_cuda_loaded *made, tc_error *error)
{
    for (unsigned i = 0; i < made->model->device->kernel_count; ++i) {
        const tc_device_product *product = made->model->device->kernels[i].product;
        if (!product)
            continue;
        const tc_status status = find_library(cuda, product->version, error);
        if (status != TC_STATUS_OK)
            return status;
        int code = tc_lt_plan_make(&cuda->lt, product, &made->plans[i]);
        code = code ? code : tc_lt_plan_check(&cuda->lt, product, &made->plans[i]);
        if (code) {
            char reason[sizeof error->message];
            snprintf(reason, sizeof reason, "%s: the algorithm of %s is not for this GPU", cuda->lt.status_name(code),
                     made->model->device->kernels[i].name);
            return refuse_library(cuda, reason, error);
        }
    }
    return TC_STATUS_OK;
}

/* Copies `bytes` bytes to new memory of the device, *to. `from` has to stay until the stream is waited for. The caller
   releases *to where it is not 0, also where the copy failed. */
static tc_status place(tc_cuda *cuda, tc_cuda_address *to, const void *from, size_t bytes, tc_error *error)
{
    const tc_status status = tc_cuda_answer(cuda, cuda->api.allocate(to, bytes), "cuMemAlloc", error);
    if (status != TC_STATUS_OK)
        return status;
    return tc_cuda_answer(cuda, cuda->api.upload(*to, from, bytes, cuda->device.own_stream), "cuMemcpyHtoDAsync",
                          error);
}

/* The same, and waits: `from` need not stay. */
static tc_status place_whole(tc_cuda *cuda, tc_cuda_address *to, const void *from, size_t bytes, tc_error *error)
{
    const tc_status status = place(cuda, to, from, bytes, error);
    if (status != TC_STATUS_OK)
        return status;
    return tc_cuda_answer(cuda, cuda->api.stream_wait(cuda->device.own_stream), "cuStreamSynchronize", error);
}

/* The cell that checks of indices leave faults in. Where it cannot be filled there is none: the next load makes it. */
static tc_status make_cell(tc_cuda *cuda, tc_error *error)
{
    static const tc_device_fault none;
    tc_cuda_address *cell = &cuda->device.cell;
    if (*cell)
        return TC_STATUS_OK;
    const tc_status status = place(cuda, cell, &none, sizeof none, error);
    if (status != TC_STATUS_OK && *cell) {
        cuda->api.release(*cell);
        *cell = 0;
    }
    return status;
}

static tc_status load_weights(tc_cuda *cuda, tc_cuda_loaded *made, const unsigned char *payload, tc_error *error)
{
    const size_t bytes = (size_t)made->model->weights_bytes;
    return bytes ? place_whole(cuda, &made->weights, payload, bytes, error) : TC_STATUS_OK;
}

static tc_status load_biases(tc_cuda *cuda, tc_cuda_loaded *made, const unsigned char *payload, tc_error *error)
{
    const tc_device_code *code = made->model->device;
    if (!code->bias_bytes)
        return TC_STATUS_OK;
    unsigned char *block = calloc(1, (size_t)code->bias_bytes);
    if (!block)
        return tc_cuda_fail(error, TC_STATUS_SYSTEM, made->model->name, "no memory");
    for (unsigned i = 0; i < code->bias_count; ++i) {
        const tc_device_bias *bias = &code->biases[i];
        tc_lt_round((uint16_t *)(void *)(block + bias->to), (const float *)(const void *)(payload + bias->from),
                    (size_t)bias->count, bias->dtype);
    }
    const tc_status status = place_whole(cuda, &made->biases, block, (size_t)code->bias_bytes, error);
    free(block);
    return status;
}

/* Where the model's packed weights are in the caller's memory. */
static tc_status find_weights(const tc_model *model, const void *weights, const unsigned char **payload,
                              tc_error *error)
{
    *payload = model->weights;
    if (model->weights || !model->weights_bytes)
        return TC_STATUS_OK;
    const tc_status status = tc_weights_check(model, weights, WEIGHTS_HEADER + (size_t)model->weights_bytes);
    if (status != TC_STATUS_OK)
        return tc_cuda_fail(error, status, "weights", tc_status_string(status));
    *payload = (const unsigned char *)weights + WEIGHTS_HEADER;
    return TC_STATUS_OK;
}

tc_status tc_cuda_load(tc_cuda *cuda, const tc_model *model, const void *weights, tc_error *error)
{
    const unsigned char *payload;
    if (!cuda || !model)
        return tc_cuda_fail(error, TC_STATUS_NULL_POINTER, cuda ? "model" : "cuda", "is NULL");
    if (!model->device)
        return tc_cuda_fail(error, TC_STATUS_BAD_ARGUMENT, model->name, "was not compiled for CUDA");
    for (const tc_cuda_loaded *other = cuda->models; other; other = other->next)
        if (other->model == model)
            return tc_cuda_fail(error, TC_STATUS_BAD_ARGUMENT, model->name, "is loaded already");
    tc_status status = find_weights(model, weights, &payload, error);
    if (status != TC_STATUS_OK)
        return status;
    const size_t count = model->device->kernel_count ? model->device->kernel_count : 1;
    tc_cuda_loaded *made = calloc(1, sizeof *made);
    if (!made)
        return tc_cuda_fail(error, TC_STATUS_SYSTEM, model->name, "no memory");
    *made = (tc_cuda_loaded){.model = model,
                             .functions = calloc(count, sizeof *made->functions),
                             .plans = calloc(count, sizeof *made->plans),
                             .next = cuda->models};
    void *popped;
    const int open = cuda->lt.handle != NULL;
    status = made->functions && made->plans
                 ? tc_cuda_answer(cuda, cuda->api.context_push(cuda->context), "cuCtxPushCurrent", error)
                 : tc_cuda_fail(error, TC_STATUS_SYSTEM, model->name, "no memory");
    if (status != TC_STATUS_OK) {
        forget(made);
        return status;
    }
    status = make_cell(cuda, error);
    if (status == TC_STATUS_OK)
        status = load_kernels(cuda, made, error);
    if (status == TC_STATUS_OK)
        status = load_products(cuda, made, error);
    if (status == TC_STATUS_OK)
        status = load_weights(cuda, made, payload, error);
    if (status == TC_STATUS_OK)
        status = load_biases(cuda, made, payload, error);
    if (status == TC_STATUS_OK)
        cuda->models = made;
    else
        tc_cuda_unload(cuda, made);
    if (status != TC_STATUS_OK && !open)
        tc_lt_close(&cuda->lt); /* the next model may have another version */
    cuda->api.context_pop(&popped);
    return status;
}
