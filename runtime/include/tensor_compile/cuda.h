/* SPDX-License-Identifier: Apache-2.0
 *
 * NVIDIA GPUs: where models that were compiled with --target cuda run (docs/cuda.md). Link the dependency
 * tensor-compile-cuda. The driver, libcuda.so.1, is loaded when a device is opened; nothing here needs it to be there.
 *
 *     tc_context_init(&context, NULL, 0);
 *     tc_cuda *cuda;
 *     if (tc_cuda_open(&cuda, 0, &context.error) == TC_STATUS_OK &&
 *         tc_cuda_load(cuda, &digits_model, NULL, &context.error) == TC_STATUS_OK &&
 *         tc_cuda_reserve(cuda, DIGITS_ARENA_BYTES, &context.error) == TC_STATUS_OK) {
 *         tc_context_use_cuda(&context, cuda);
 *         ... digits(&context, &args) as for any other target
 *     }
 *     tc_cuda_close(cuda);
 *
 * All functions explain a failure in *error, which may be NULL. One tc_cuda serves one call at a time.
 */
#ifndef TENSOR_COMPILE_CUDA_H
#define TENSOR_COMPILE_CUDA_H

#include "runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tc_cuda tc_cuda;

/* Opens device number `ordinal` (from 0) by its primary context, which programs that use CUDA's runtime share. On
 * failure *cuda is NULL. TC_STATUS_NO_DEVICE: no driver, one that does not start (the message has its error), or no
 * such device; TC_STATUS_DEVICE: the device refuses a context or a stream; TC_STATUS_SYSTEM: no memory. */
tc_status tc_cuda_open(tc_cuda **cuda, int ordinal, tc_error *error);

/* Gives back everything: kernels, weights, the arena that it owns. No context may use it any more. NULL is accepted. */
void tc_cuda_close(tc_cuda *cuda);

/* Loads a model's kernels and copies its packed weights to the device, once for all calls. weights: of a model with
 * external weights, a whole weights file in memory, which is not needed any more after this (calls still check the
 * header of the one that they are given); NULL otherwise. TC_STATUS_BAD_ARGUMENT: not compiled for CUDA, or loaded
 * already; TC_STATUS_NO_DEVICE: it has no code for this device, or none that its driver knows; TC_STATUS_BAD_WEIGHTS,
 * _DEVICE, _SYSTEM. */
tc_status tc_cuda_load(tc_cuda *cuda, const tc_model *model, const void *weights, tc_error *error);

/* The arena of calls: one allocation of `bytes`, for the largest NAME_ARENA_BYTES of the models (or NAME_arena_bytes()
 * of a call), in place of what was there. 0 gives it back. TC_STATUS_DEVICE: no memory; there is no arena then. */
tc_status tc_cuda_reserve(tc_cuda *cuda, size_t bytes, tc_error *error);

/* The same with device memory of the caller's (a CUdeviceptr of the primary context, aligned to 256 bytes), which must
 * live as long as it is used. TC_STATUS_MISALIGNED. */
tc_status tc_cuda_borrow(tc_cuda *cuda, uint64_t address, size_t bytes, tc_error *error);

/* Calls with this context of models compiled for CUDA run on `cuda` from now on; NULL: on none. */
void tc_context_use_cuda(tc_context *context, tc_cuda *cuda);

#ifdef __cplusplus
}
#endif

#endif
