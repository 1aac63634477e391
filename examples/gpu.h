/* SPDX-License-Identifier: Apache-2.0
 *
 * What the programs of the examples do around their calls on a GPU: a device with the model, memory there, copies.
 */
#ifndef GPU_H
#define GPU_H

#include "measure.h"
#include <tensor_compile/cuda.h>

/* The first device with the model loaded and room for calls of `bytes`, for the context; ends the program where there is
 * none, and says what is missing. */
static inline tc_cuda *open_gpu(tc_context *context, const tc_model *model, size_t bytes)
{
    tc_cuda *cuda;
    tc_context_init(context, NULL, 0); /* no memory of the processor's is needed */
    must(context, tc_cuda_open(&cuda, 0, &context->error));
    must(context, tc_cuda_load(cuda, model, NULL, &context->error));
    must(context, tc_cuda_reserve(cuda, bytes, &context->error));
    tc_context_use_cuda(context, cuda);
    return cuda;
}

/* Memory of the device, with what `data` has where it is not NULL. Lives as long as the device is open. */
static inline void *gpu_memory(tc_context *context, tc_cuda *cuda, const void *data, size_t bytes)
{
    uint64_t address;
    must(context, tc_cuda_allocate(cuda, &address, bytes, &context->error));
    if (data)
        must(context, tc_cuda_upload(cuda, address, data, bytes, NULL, &context->error));
    return (void *)(uintptr_t)address;
}

static inline void to_gpu(tc_context *context, tc_cuda *cuda, void *to, const void *from, size_t bytes)
{
    must(context, tc_cuda_upload(cuda, (uint64_t)(uintptr_t)to, from, bytes, NULL, &context->error));
}

/* Behind the calls on the device's own stream; waits for them. */
static inline void from_gpu(tc_context *context, tc_cuda *cuda, void *to, const void *from, size_t bytes)
{
    must(context, tc_cuda_download(cuda, to, (uint64_t)(uintptr_t)from, bytes, NULL, &context->error));
    must(context, tc_cuda_finish(cuda, NULL, &context->error));
}

#endif
