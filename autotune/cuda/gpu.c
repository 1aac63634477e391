/* SPDX-License-Identifier: Apache-2.0 */
#include "gpu.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NON_BLOCKING = 1, MOST_DYNAMIC_SHARED = 8, USUAL_SHARED = 48 << 10 };
enum { CLOCK_RATE = 13, MULTIPROCESSORS = 16, MEMORY_CLOCK_RATE = 36, L2_CACHE_SIZE = 38 }; /* CUdevice_attribute */

/* What the runtime needs no pointers of. */
#define FUNCTIONS(X)                                                                                                   \
    X(device_name, "cuDeviceGetName", (char *name, int length, int device))                                            \
    X(device_attribute, "cuDeviceGetAttribute", (int *value, int attribute, int device))                               \
    X(event_create, "cuEventCreate", (void **event, unsigned flags))                                                   \
    X(event_destroy, "cuEventDestroy_v2", (void *event))                                                               \
    X(event_record, "cuEventRecord", (void *event, void *stream))                                                      \
    X(event_elapsed, "cuEventElapsedTime", (float *milliseconds, void *start, void *end))

static struct {
#define FIELD(field, symbol, parameters) int(*field) parameters;
    FUNCTIONS(FIELD)
#undef FIELD
} more;

static const char *load_more(void)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL), *found;
    if (!library)
        return "libcuda.so.1";
#define FIND(field, symbol, parameters)                                                                                \
    if (!(found = dlsym(library, symbol)))                                                                             \
        return symbol;                                                                                                 \
    memcpy(&more.field, &found, sizeof found);
    FUNCTIONS(FIND)
#undef FIND
    return NULL;
}

int tc_gpu_answer(tc_gpu *gpu, int code, const char *call)
{
    if (code && !gpu->failed) {
        gpu->failed = code;
        gpu->call = call;
    }
    return !gpu->failed;
}

/* Nothing is called any more once the driver has refused. */
#define TRY(gpu, call, symbol, ...)                                                                                    \
    tc_gpu_answer(gpu, (gpu)->failed ? (gpu)->failed : (gpu)->api.call(__VA_ARGS__), symbol)
#define TRY_MORE(gpu, call, symbol, ...)                                                                               \
    tc_gpu_answer(gpu, (gpu)->failed ? (gpu)->failed : more.call(__VA_ARGS__), symbol)

static int attribute(tc_gpu *gpu, int which)
{
    int value = 0;
    TRY_MORE(gpu, device_attribute, "cuDeviceGetAttribute", &value, which, gpu->device);
    return value;
}

const char *tc_gpu_open(tc_gpu *gpu)
{
    static char text[200];
    memset(gpu, 0, sizeof *gpu);
    const char *missing = tc_cuda_api_load(&gpu->api);
    missing = missing ? missing : load_more();
    if (missing) {
        snprintf(text, sizeof text, "%s: not found: is an NVIDIA driver installed, and recent enough?", missing);
        return text;
    }
    if (TRY(gpu, init, "cuInit", 0) && TRY(gpu, device_get, "cuDeviceGet", &gpu->device, 0) &&
        TRY(gpu, context_retain, "cuDevicePrimaryCtxRetain", &gpu->context, gpu->device) &&
        TRY(gpu, context_push, "cuCtxPushCurrent", gpu->context) &&
        TRY(gpu, stream_create, "cuStreamCreate", &gpu->stream, NON_BLOCKING) &&
        TRY_MORE(gpu, event_create, "cuEventCreate", &gpu->start, 0) &&
        TRY_MORE(gpu, event_create, "cuEventCreate", &gpu->end, 0)) {
        TRY_MORE(gpu, device_name, "cuDeviceGetName", gpu->facts.name, (int)sizeof gpu->facts.name, gpu->device);
        gpu->facts.multiprocessors = attribute(gpu, MULTIPROCESSORS);
        gpu->facts.clock = attribute(gpu, CLOCK_RATE) / 1000;
        gpu->facts.memory_clock = attribute(gpu, MEMORY_CLOCK_RATE) / 1000;
        gpu->facts.cache_bytes = (size_t)attribute(gpu, L2_CACHE_SIZE);
        TRY(gpu, driver_version, "cuDriverGetVersion", &gpu->facts.driver);
    }
    if (!gpu->failed)
        return NULL;
    snprintf(text, sizeof text, "%s: %s: %s", gpu->call, tc_cuda_error(&gpu->api, gpu->failed),
             tc_cuda_error_text(&gpu->api, gpu->failed));
    return text;
}

void tc_gpu_close(tc_gpu *gpu)
{
    void *popped;
    if (!gpu->context)
        return;
    if (gpu->start)
        more.event_destroy(gpu->start);
    if (gpu->end)
        more.event_destroy(gpu->end);
    if (gpu->stream)
        gpu->api.stream_destroy(gpu->stream);
    gpu->api.context_pop(&popped);
    gpu->api.context_release(gpu->device);
}

static char *whole_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    char *text = NULL;
    long size = -1;
    if (file && fseek(file, 0, SEEK_END) == 0 && (size = ftell(file)) >= 0 && fseek(file, 0, SEEK_SET) == 0)
        text = malloc((size_t)size + 1);
    if (text && fread(text, 1, (size_t)size, file) != (size_t)size) {
        free(text);
        text = NULL;
    }
    if (file)
        fclose(file);
    return text;
}

int tc_gpu_load(tc_gpu *gpu, tc_gpu_kernel *kernel, const char *image, const char *symbol)
{
    char *text = whole_file(image);
    if (!text)
        return 0;
    int code = gpu->api.module_load(&kernel->module, text);
    free(text);
    if (code)
        return 0;
    code = gpu->api.module_function(&kernel->function, kernel->module, symbol);
    if (!code && kernel->shared > USUAL_SHARED)
        code = gpu->api.function_set(kernel->function, MOST_DYNAMIC_SHARED, (int)kernel->shared);
    return !code;
}

void tc_gpu_unload(tc_gpu *gpu, tc_gpu_kernel *kernel)
{
    if (kernel->module)
        gpu->api.module_unload(kernel->module);
    kernel->module = NULL;
}

void tc_gpu_launch(tc_gpu *gpu, const tc_gpu_kernel *kernel, void *arguments)
{
    void *parameters[] = {arguments};
    const tc_cuda_attribute overlap = {.id = TC_CUDA_OVERLAP, .value.number = 1};
    const tc_cuda_launch how =
        {{kernel->blocks, 1, 1}, {kernel->threads, 1, 1}, kernel->shared, gpu->stream, &overlap, 1};
    if (kernel->overlaps && gpu->facts.driver >= TC_CUDA_OVERLAP_DRIVER)
        TRY(gpu, launch_with, "cuLaunchKernelEx", &how, kernel->function, parameters, NULL);
    else
        TRY(gpu, launch, "cuLaunchKernel", kernel->function, kernel->blocks, 1, 1, kernel->threads, 1, 1,
            kernel->shared, gpu->stream, parameters, NULL);
}

void tc_gpu_wait(tc_gpu *gpu)
{
    TRY(gpu, stream_wait, "cuStreamSynchronize", gpu->stream);
}

void tc_gpu_record(tc_gpu *gpu)
{
    TRY(gpu, record_begin, "cuStreamBeginCapture", gpu->stream, 2); /* CU_STREAM_CAPTURE_MODE_RELAXED */
}

void *tc_gpu_recorded(tc_gpu *gpu)
{
    void *graph = NULL, *made = NULL;
    TRY(gpu, record_end, "cuStreamEndCapture", gpu->stream, &graph);
    TRY(gpu, graph_make, "cuGraphInstantiate", &made, graph, 0);
    if (graph)
        gpu->api.graph_drop(graph);
    return made;
}

double tc_gpu_time(tc_gpu *gpu, void *graph)
{
    float milliseconds = 0;
    TRY(gpu, graph_launch, "cuGraphLaunch", graph, gpu->stream);
    TRY_MORE(gpu, event_record, "cuEventRecord", gpu->start, gpu->stream);
    TRY(gpu, graph_launch, "cuGraphLaunch", graph, gpu->stream);
    TRY_MORE(gpu, event_record, "cuEventRecord", gpu->end, gpu->stream);
    tc_gpu_wait(gpu);
    TRY_MORE(gpu, event_elapsed, "cuEventElapsedTime", &milliseconds, gpu->start, gpu->end);
    return milliseconds * 1e6;
}

void tc_gpu_clocks(unsigned *multiprocessors, unsigned *memory)
{
    enum { CLOCK_SM = 1, CLOCK_MEMORY = 2 }; /* nvmlClockType_t */
    int (*init)(void), (*find)(unsigned index, void **device), (*clock)(void *device, int type, unsigned *mhz);
    void *library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL), *device = NULL;
    *multiprocessors = *memory = 0;
    if (!library)
        return;
    void *symbols[] = {dlsym(library, "nvmlInit_v2"), dlsym(library, "nvmlDeviceGetHandleByIndex_v2"),
                       dlsym(library, "nvmlDeviceGetClockInfo")};
    memcpy(&init, &symbols[0], sizeof init);
    memcpy(&find, &symbols[1], sizeof find);
    memcpy(&clock, &symbols[2], sizeof clock);
    if (init && find && clock && !init() && !find(0, &device)) {
        clock(device, CLOCK_SM, multiprocessors);
        clock(device, CLOCK_MEMORY, memory);
    }
    dlclose(library);
}
