/* SPDX-License-Identifier: Apache-2.0
 *
 * A libcuda.so.1 without a GPU: the functions that runtime/cuda asks for, with kernels compiled for the processor
 * (emulate.cc). Memory of the device is filled with NaNs, lies before an unmapped page, and may only be copied within.
 *
 *   FAKE_CUDA_KERNELS  the library of the kernels
 *   FAKE_CUDA_ORDER    reverse: threads and blocks in descending order, and of a recording's launches the last one first
 *                      that nothing keeps waiting
 *   FAKE_CUDA_FAIL     FUNCTION[:N[:CODE[+]]]: the Nth call (from 1; 0: each) answers CODE (719); +: and so does all
 *                      work from then on, as on a device that is lost
 *   FAKE_CUDA_DEVICES  the number of devices (1)
 *
 * Its clock counts a microsecond for each thread of a launch.
 */
#include "emulate.h"

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace
{

enum {
    OK = 0,
    INVALID_VALUE = 1,
    OUT_OF_MEMORY = 2,
    NO_DEVICE = 100,
    INVALID_DEVICE = 101,
    INVALID_IMAGE = 200,
    INVALID_CONTEXT = 201,
    NO_BINARY = 209,
    UNSUPPORTED_PTX = 222,
    NOT_FOUND = 500,
    LAUNCH_FAILED = 719,
    CAPTURE_UNJOINED = 904,
    MISMATCH = 803,
    PAGE = 4096
};

std::map<uint64_t, size_t> memory;
int depth;
std::map<std::string, int> calls;
int lost; /* what all work answers from now on */
double threads_run;

int entered(const char *name)
{
    const char *fail = getenv("FAKE_CUDA_FAIL");
    const int count = ++calls[name];
    char which[64] = "", lasting = 0;
    int nth = 1, code = LAUNCH_FAILED;
    if (lost && strcmp(name, "cuCtxPushCurrent"))
        return lost;
    if (!fail)
        return OK;
    sscanf(fail, "%63[^:]:%d:%d%c", which, &nth, &code, &lasting);
    if (strcmp(which, name) || (nth && count != nth))
        return OK;
    lost = lasting == '+' ? code : 0;
    return code;
}

#define ENTER(name)                                                                                                    \
    if (int failed = entered(name))                                                                                    \
        return failed;
#define CURRENT                                                                                                        \
    if (depth == 0)                                                                                                    \
        return INVALID_CONTEXT;

/* A function of a module, how many blocks a cluster of it has, and the bytes of its parameter. */
struct kernel {
    emulated_kernel *call;
    unsigned cluster;
    size_t bytes;
};

/* A launch, with its parameters; work of a library (host) in its place; a recording of some, of which each runs behind
 * those whose numbers are in `behind`. */
struct launched {
    const kernel *function;
    unsigned blocks, threads;
    std::vector<char> parameters;
    void (*host)(const void *) = nullptr;
    std::set<size_t> behind;
};

typedef std::vector<launched> graph;
typedef std::set<size_t> place; /* the launches of a recording that what comes next in a stream runs behind */
graph *recording;
void *recorded_stream;                /* the one that the recording began on */
std::map<void *, place> streams;      /* of the recording */
int graphs;                           /* made and not destroyed */
int modules;                          /* loaded and not unloaded */
int streams_made, events_made;        /* and not destroyed */

struct event {
    double time = 0;
    place at;
};

void run(const launched &one)
{
    const char *order = getenv("FAKE_CUDA_ORDER");
    threads_run += (double)one.blocks * one.threads;
    if (one.host) {
        one.host(one.parameters.data());
        return;
    }
    emulated_launch(one.function->call, one.parameters.data(), one.blocks, one.function->cluster, one.threads,
                    order && !strcmp(order, "reverse"));
}

/* Takes up a launch, or runs it. */
int take(launched made, void *stream)
{
    if (!recording) {
        run(made);
        return OK;
    }
    if (!streams.count(stream)) /* work beside a recording, which waits for nothing of it */
        return INVALID_VALUE;
    made.behind = streams[stream];
    streams[stream] = {recording->size()};
    recording->push_back(made);
    return OK;
}

/* In the order of the recording, or the last one first of those that have nothing to wait for. */
void run_all(const graph &all)
{
    const char *order = getenv("FAKE_CUDA_ORDER");
    const bool backwards = order && !strcmp(order, "reverse");
    std::set<size_t> left, done;
    for (size_t i = 0; i < all.size(); ++i)
        left.insert(i);
    while (!left.empty()) {
        size_t next = *left.begin();
        for (auto i = left.rbegin(); backwards && i != left.rend(); ++i)
            if (std::includes(done.begin(), done.end(), all[*i].behind.begin(), all[*i].behind.end())) {
                next = *i;
                break;
            }
        run(all[next]);
        left.erase(next);
        done.insert(next);
    }
}

bool inside(uint64_t address, size_t bytes)
{
    auto after = memory.upper_bound(address);
    if (after == memory.begin())
        return false;
    --after;
    return address + bytes <= after->first + after->second;
}

} // namespace

extern "C" {

int cuInit(unsigned)
{
    ENTER("cuInit")
    return OK;
}

int cuDeviceGet(int *device, int ordinal)
{
    ENTER("cuDeviceGet")
    const char *count = getenv("FAKE_CUDA_DEVICES");
    *device = ordinal;
    return ordinal >= 0 && ordinal < (count ? atoi(count) : 1) ? OK : INVALID_DEVICE;
}

int cuDeviceGetName(char *name, int length, int)
{
    snprintf(name, (size_t)length, "Fake GPU, of 2 processors");
    return OK;
}

/* A second cache of 1 KiB; 1000 of everything else. */
int cuDeviceGetAttribute(int *value, int attribute, int)
{
    *value = attribute == 38 ? 1 << 10 : 1000;
    return OK;
}

int cuEventCreate(void **made, unsigned)
{
    CURRENT
    ENTER("cuEventCreate")
    *made = new event;
    ++events_made;
    return OK;
}

int cuEventDestroy_v2(void *made)
{
    CURRENT
    delete (event *)made;
    --events_made;
    return OK;
}

int cuEventRecord(void *made, void *stream)
{
    CURRENT
    ENTER("cuEventRecord")
    ((event *)made)->time = threads_run;
    if (recording)
        ((event *)made)->at = streams[stream];
    return OK;
}

/* Of recordings: a stream that waits for an event of one is part of it from then on. */
int cuStreamWaitEvent(void *stream, void *made, unsigned)
{
    CURRENT
    ENTER("cuStreamWaitEvent")
    if (!recording)
        return INVALID_VALUE;
    const place &at = ((event *)made)->at;
    streams[stream].insert(at.begin(), at.end());
    return OK;
}

int cuEventElapsedTime(float *milliseconds, void *start, void *end)
{
    *milliseconds = (float)((((event *)end)->time - ((event *)start)->time) / 1e3);
    return OK;
}

int cuDevicePrimaryCtxRetain(void **context, int)
{
    ENTER("cuDevicePrimaryCtxRetain")
    *context = &memory;
    return OK;
}

int cuDevicePrimaryCtxRelease_v2(int)
{
    if (!memory.empty() || depth || graphs || recording || modules || streams_made || events_made)
        fprintf(stderr,
                "fake driver: %zu allocations, %d graphs, %d modules, %d streams and %d events left, context pushed %d "
                "times\n",
                memory.size(), graphs, modules, streams_made, events_made, depth);
    return OK;
}

int cuCtxPushCurrent_v2(void *)
{
    ENTER("cuCtxPushCurrent")
    ++depth;
    return OK;
}

int cuCtxPopCurrent_v2(void **)
{
    CURRENT
    --depth;
    return OK;
}

int cuStreamCreate(void **stream, unsigned)
{
    CURRENT
    ENTER("cuStreamCreate")
    *stream = new char;
    ++streams_made;
    return OK;
}

int cuStreamDestroy_v2(void *stream)
{
    CURRENT
    delete (char *)stream;
    --streams_made;
    return OK;
}

int cuStreamSynchronize(void *)
{
    CURRENT
    ENTER("cuStreamSynchronize")
    if (recording)
        return INVALID_VALUE;
    return OK;
}

int cuMemAlloc_v2(uint64_t *address, size_t bytes)
{
    CURRENT
    ENTER("cuMemAlloc")
    const size_t room = (bytes + PAGE - 1) / PAGE * PAGE;
    char *base = (char *)mmap(nullptr, room + PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (base == MAP_FAILED)
        return OUT_OF_MEMORY;
    mprotect(base + room, PAGE, PROT_NONE);
    memset(base, 0xff, room);
    *address = (uint64_t)(uintptr_t)base + (room - bytes) / 256 * 256;
    memory[*address] = bytes;
    return OK;
}

int cuMemFree_v2(uint64_t address)
{
    CURRENT
    return memory.erase(address) ? OK : NOT_FOUND;
}

int cuMemcpyHtoDAsync_v2(uint64_t to, const void *from, size_t bytes, void *)
{
    CURRENT
    ENTER("cuMemcpyHtoDAsync")
    if (recording)
        return INVALID_VALUE;
    if (!inside(to, bytes))
        return LAUNCH_FAILED;
    memcpy((void *)(uintptr_t)to, from, bytes);
    return OK;
}

int cuMemcpyDtoHAsync_v2(void *to, uint64_t from, size_t bytes, void *)
{
    CURRENT
    ENTER("cuMemcpyDtoHAsync")
    if (!inside(from, bytes))
        return LAUNCH_FAILED;
    memcpy(to, (const void *)(uintptr_t)from, bytes);
    return OK;
}

int cuModuleLoadData(void **module, const void *image)
{
    CURRENT
    ENTER("cuModuleLoadData")
    *module = (void *)image;
    uint32_t magic;
    memcpy(&magic, image, sizeof magic);
    if (magic != 0xba55ed50)
        return INVALID_IMAGE;
    ++modules;
    return OK;
}

int cuModuleUnload(void *)
{
    CURRENT
    --modules;
    return OK;
}

/* The image that a build has made by the compiler of the tests has the names of its kernels behind its number, each in a
 * line. */
int cuModuleGetFunction(void **function, void *module, const char *name)
{
    CURRENT
    ENTER("cuModuleGetFunction")
    const char *names = (const char *)module + sizeof(uint32_t);
    if (!strncmp(names, "tck_", 4) && !strstr(names, (std::string(name) + "\n").c_str())) {
        fprintf(stderr, "fake driver: the image has no %s\n", name);
        return NOT_FOUND;
    }
    static void *library = dlopen(getenv("FAKE_CUDA_KERNELS"), RTLD_NOW | RTLD_LOCAL);
    static std::map<std::string, kernel> kernels;
    emulated_kernel *call = library ? (emulated_kernel *)dlsym(library, name) : nullptr;
    const size_t *bytes = call ? (const size_t *)dlsym(library, (std::string(name) + "_bytes").c_str()) : nullptr;
    if (!bytes) {
        fprintf(stderr, "fake driver: %s\n", dlerror());
        return NOT_FOUND;
    }
    const unsigned *cluster = (const unsigned *)dlsym(library, (std::string(name) + "_cluster").c_str());
    *function = &(kernels[name] = {call, cluster ? *cluster : 1, *bytes});
    return OK;
}

int cuFuncSetAttribute(void *, int, int)
{
    CURRENT
    ENTER("cuFuncSetAttribute")
    return OK;
}

/* The one parameter comes by its address. */
int cuLaunchKernel(void *function, unsigned x, unsigned y, unsigned z, unsigned count, unsigned down, unsigned deep,
                   unsigned shared, void *stream, void **parameters, void **extra)
{
    CURRENT
    ENTER("cuLaunchKernel")
    if (!x || x % ((const kernel *)function)->cluster || y != 1 || z != 1 || !count || count > 1024 || down != 1 || deep != 1 || shared > 227 << 10)
        return LAUNCH_FAILED;
    if (!parameters || extra)
        return INVALID_VALUE;
    const char *block = (const char *)parameters[0];
    return take({(const kernel *)function, x, count, {block, block + ((const kernel *)function)->bytes}, nullptr, {}},
                stream);
}

/* A launch with attributes: those of ours say that it may overlap, which nothing does here. In a recording it then
 * follows one other at most: a device's may begin before those behind events have ended. */
int cuLaunchKernelEx(const void *how, void *function, void **parameters, void **extra)
{
    const unsigned *sizes = (const unsigned *)how;
    const struct {
        unsigned sizes[7];
        void *stream;
        const int *attributes;
        unsigned count;
    } *given = (decltype(given))how;
    if (given->count != 1 || given->attributes[0] != 6 || given->attributes[2] != 1)
        return INVALID_VALUE;
    if (recording && streams.count(given->stream) && streams[given->stream].size() > 1)
        return INVALID_VALUE;
    return cuLaunchKernel(function, sizes[0], sizes[1], sizes[2], sizes[3], sizes[4], sizes[5], sizes[6], given->stream,
                          parameters, extra);
}

int cuStreamBeginCapture_v2(void *stream, int)
{
    CURRENT
    ENTER("cuStreamBeginCapture")
    if (recording)
        return INVALID_VALUE;
    recording = new graph;
    recorded_stream = stream;
    streams = {{stream, {}}};
    return OK;
}

int cuStreamEndCapture(void *, void **made)
{
    CURRENT
    *made = recording;
    recording = nullptr;
    int failed = entered("cuStreamEndCapture");
    std::set<size_t> joined = streams[recorded_stream]; /* everything has to be in front of what the stream has last */
    for (size_t i = ((graph *)*made)->size(); i-- > 0;)
        if (joined.count(i))
            joined.insert(((graph *)*made)->at(i).behind.begin(), ((graph *)*made)->at(i).behind.end());
    if (!failed && joined.size() < ((graph *)*made)->size())
        failed = CAPTURE_UNJOINED;
    if (failed) {
        delete (graph *)*made;
        *made = nullptr;
        return failed;
    }
    return OK;
}

int cuGraphInstantiateWithFlags(void **made, void *from, unsigned long long)
{
    CURRENT
    ENTER("cuGraphInstantiate")
    *made = new graph(*(graph *)from);
    ++graphs;
    return OK;
}

int cuGraphLaunch(void *made, void *)
{
    CURRENT
    ENTER("cuGraphLaunch")
    run_all(*(graph *)made);
    return OK;
}

int cuGraphExecDestroy(void *made)
{
    CURRENT
    delete (graph *)made;
    --graphs;
    return OK;
}

int cuGraphDestroy(void *made)
{
    CURRENT
    delete (graph *)made;
    return OK;
}

/* Lines of 16 bits, 64 of them a piece, swizzled: what runtime/cuda asks for. */
int cuTensorMapEncodeTiled(void *map, int dtype, unsigned rank, uint64_t address, const uint64_t *sizes,
                           const uint64_t *strides, const unsigned *boxes, const unsigned *steps, int interleave, int swizzle,
                           int, int outside)
{
    CURRENT
    ENTER("cuTensorMapEncodeTiled")
    if (dtype != 1 || rank != 2 || address % 16 || strides[0] % 16 || boxes[0] != 64 || boxes[1] > 256 || steps[0] != 1 ||
        steps[1] != 1 || interleave || swizzle != 3 || outside || (uintptr_t)map % 64)
        return INVALID_VALUE;
    const emulated_map made = {(const unsigned char *)(uintptr_t)address, (long long)sizes[0], (long long)sizes[1],
                               (long long)strides[0], boxes[1]};
    memcpy(map, &made, sizeof made);
    return OK;
}

/* For the library of the tests: whether a call of its is to fail; and work of its on a stream, which counts as so many
 * threads. */
int fake_cuda_entered(const char *name)
{
    return entered(name);
}

int fake_cuda_work(void (*work)(const void *), const void *data, size_t bytes, unsigned threads, void *stream)
{
    CURRENT
    return take({nullptr, 1, threads, {(const char *)data, (const char *)data + bytes}, work, {}}, stream);
}

int cuDriverGetVersion(int *version)
{
    const char *asked = getenv("FAKE_CUDA_VERSION");
    *version = asked ? atoi(asked) : 12020;
    return OK;
}

int cuGetErrorName(int error, const char **name)
{
    static const std::map<int, const char *> names = {
        {OUT_OF_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY"},
        {NO_DEVICE, "CUDA_ERROR_NO_DEVICE"},
        {INVALID_DEVICE, "CUDA_ERROR_INVALID_DEVICE"},
        {INVALID_IMAGE, "CUDA_ERROR_INVALID_IMAGE"},
        {NO_BINARY, "CUDA_ERROR_NO_BINARY_FOR_GPU"},
        {UNSUPPORTED_PTX, "CUDA_ERROR_UNSUPPORTED_PTX_VERSION"},
        {NOT_FOUND, "CUDA_ERROR_NOT_FOUND"},
        {LAUNCH_FAILED, "CUDA_ERROR_LAUNCH_FAILED"},
        {MISMATCH, "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH"},
    };
    auto found = names.find(error);
    if (found == names.end())
        return INVALID_VALUE;
    *name = found->second;
    return OK;
}

int cuGetErrorString(int error, const char **text)
{
    const char *name;
    *text = "the driver's own words";
    return cuGetErrorName(error, &name);
}
}
