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

/* -- calls with memory of the device: NAME_cuda(&context, &args, stream) of the generated header ---------------------
 *
 * Their pointers, the state's too, are addresses in the device's memory, aligned to 16 bytes. They wait for nothing:
 * the caller orders them by streams and waits where it needs the results. Calls of one tc_cuda share its arena, so
 * calls on different streams have to be ordered. A state starts as a copy of one of the processor's memory that
 * tc_state_init made. The functions below serve programs without a CUDA library of their own; a stream is a CUstream or
 * cudaStream_t. */

/* *address: new memory, aligned to 256 bytes. TC_STATUS_DEVICE: there is none; *address is 0 then. */
tc_status tc_cuda_allocate(tc_cuda *cuda, uint64_t *address, size_t bytes, tc_error *error);

/* 0 is accepted. */
tc_status tc_cuda_free(tc_cuda *cuda, uint64_t address, tc_error *error);

/* Copies on a stream. `to` of a download holds the bytes after tc_cuda_finish; `from` of an upload may change when this
 * returns, unless it is page-locked. */
tc_status tc_cuda_upload(tc_cuda *cuda, uint64_t to, const void *from, size_t bytes, void *stream, tc_error *error);
tc_status tc_cuda_download(tc_cuda *cuda, void *to, uint64_t from, size_t bytes, void *stream, tc_error *error);

/* Waits for a stream. TC_STATUS_INDEX_OUT_OF_RANGE: a call since the last one met such an index, which the error tells;
 * what that call wrote is undefined, but it read and wrote nothing outside its arguments. TC_STATUS_DEVICE. */
tc_status tc_cuda_finish(tc_cuda *cuda, void *stream, tc_error *error);

/* A function without loops or branches is recorded as a CUDA graph at its first call where all its sizes are fixed;
 * later calls, with any pointers, start that. sizes: how many recordings of other sizes are kept besides (0: none,
 * which is where a device starts; the one used longest ago goes first); -1: nothing is recorded. */
void tc_cuda_graphs(tc_cuda *cuda, int sizes);

#ifdef __cplusplus
}
#endif

#endif
