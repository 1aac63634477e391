/* SPDX-License-Identifier: Apache-2.0
 *
 * The part of the CUDA driver API that is used, by pointers found in libcuda.so.1 at run time. The declarations are
 * ours: the driver's ABI is stable and its header is not needed. Functions return 0 or an error's number.
 */
#ifndef TC_CUDA_API_H
#define TC_CUDA_API_H

#include <stddef.h>
#include <stdint.h>

typedef uint64_t tc_cuda_address;

/* An attribute of a launch, and a launch: CUlaunchAttribute, CUlaunchConfig. */
typedef struct tc_cuda_attribute {
    int id;
    union {
        char bytes[64];
        int number;
        uint64_t alignment;
    } value;
} tc_cuda_attribute;

typedef struct tc_cuda_launch {
    unsigned grid[3], block[3], shared_bytes;
    void *stream;
    const tc_cuda_attribute *attributes;
    unsigned attribute_count;
} tc_cuda_launch;

enum { TC_CUDA_NON_BLOCKING = 1 };       /* CU_STREAM_NON_BLOCKING */
enum { TC_CUDA_OVERLAP = 6 };            /* CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION */
enum { TC_CUDA_OVERLAP_DRIVER = 12040 }; /* records such launches, too */

/* X(field, symbol, parameters). A symbol's version is part of its name. */
#define TC_CUDA_FUNCTIONS(X)                                                                                           \
    X(init, "cuInit", (unsigned flags))                                                                                \
    X(device_get, "cuDeviceGet", (int *device, int ordinal))                                                           \
    X(context_retain, "cuDevicePrimaryCtxRetain", (void **context, int device))                                        \
    X(context_release, "cuDevicePrimaryCtxRelease_v2", (int device))                                                   \
    X(context_push, "cuCtxPushCurrent_v2", (void *context))                                                            \
    X(context_pop, "cuCtxPopCurrent_v2", (void **context))                                                             \
    X(stream_create, "cuStreamCreate", (void **stream, unsigned flags))                                                \
    X(stream_destroy, "cuStreamDestroy_v2", (void *stream))                                                            \
    X(stream_wait, "cuStreamSynchronize", (void *stream))                                                              \
    X(stream_follow, "cuStreamWaitEvent", (void *stream, void *event, unsigned flags))                                 \
    X(event_create, "cuEventCreate", (void **event, unsigned flags))                                                   \
    X(event_destroy, "cuEventDestroy_v2", (void *event))                                                               \
    X(event_record, "cuEventRecord", (void *event, void *stream))                                                      \
    X(allocate, "cuMemAlloc_v2", (tc_cuda_address * address, size_t bytes))                                            \
    X(release, "cuMemFree_v2", (tc_cuda_address address))                                                              \
    X(upload, "cuMemcpyHtoDAsync_v2", (tc_cuda_address to, const void *from, size_t bytes, void *stream))              \
    X(download, "cuMemcpyDtoHAsync_v2", (void *to, tc_cuda_address from, size_t bytes, void *stream))                  \
    X(module_load, "cuModuleLoadData", (void **module, const void *image))                                             \
    X(module_unload, "cuModuleUnload", (void *module))                                                                 \
    X(module_function, "cuModuleGetFunction", (void **function, void *module, const char *name))                       \
    X(launch, "cuLaunchKernel",                                                                                        \
      (void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y,          \
       unsigned block_z, unsigned shared_bytes, void *stream, void **parameters, void **extra))                        \
    X(launch_with, "cuLaunchKernelEx", (const tc_cuda_launch *how, void *function, void **parameters, void **extra))   \
    X(function_set, "cuFuncSetAttribute", (void *function, int attribute, int value))                                  \
    X(record_begin, "cuStreamBeginCapture_v2", (void *stream, int mode))                                               \
    X(record_end, "cuStreamEndCapture", (void *stream, void **graph))                                                  \
    X(graph_make, "cuGraphInstantiateWithFlags", (void **made, void *graph, unsigned long long flags))                 \
    X(graph_launch, "cuGraphLaunch", (void *made, void *stream))                                                       \
    X(graph_drop_made, "cuGraphExecDestroy", (void *made))                                                             \
    X(graph_drop, "cuGraphDestroy", (void *graph))                                                                     \
    X(tensor_map, "cuTensorMapEncodeTiled",                                                                            \
      (void *map, int dtype, unsigned rank, tc_cuda_address address, const uint64_t *sizes, const uint64_t *strides,   \
       const unsigned *boxes, const unsigned *steps, int interleave, int swizzle, int promotion, int outside))         \
    X(driver_version, "cuDriverGetVersion", (int *version))                                                            \
    X(error_name, "cuGetErrorName", (int error, const char **name))                                                    \
    X(error_text, "cuGetErrorString", (int error, const char **text))

typedef struct tc_cuda_api {
#define TC_CUDA_FIELD(field, symbol, parameters) int(*field) parameters;
    TC_CUDA_FUNCTIONS(TC_CUDA_FIELD)
#undef TC_CUDA_FIELD
} tc_cuda_api;

/* Errors of loading an image that mean that it is no code for this device or this driver. */
enum {
    TC_CUDA_NO_BINARY_FOR_GPU = 209,
    TC_CUDA_JIT_COMPILER_NOT_FOUND = 221,
    TC_CUDA_UNSUPPORTED_PTX_VERSION = 222,
    TC_CUDA_JIT_COMPILATION_DISABLED = 223
};

/* Fills *api. Returns NULL, or what is missing: the library's or a function's name. The library stays loaded, as the
 * texts of its errors are handed on. */
const char *tc_cuda_api_load(tc_cuda_api *api);

/* The name of an error, and what the driver says of it ("" where nothing); static storage. */
const char *tc_cuda_error(const tc_cuda_api *api, int error);
const char *tc_cuda_error_text(const tc_cuda_api *api, int error);

#endif
