/* SPDX-License-Identifier: Apache-2.0
 *
 * What a device's shortcomings end in on a real one, and what a call asks of the processor: the encoder of
 * examples/minilm, one scenario a process.
 *
 *   memory    none for an arena, for weights, for the first call of a recording; nothing is kept of what failed, nor
 *             behind closing
 *   foreign   a model without code for this chip
 *   lost      an address that is none: the device is lost, the process is not
 *   absent    nothing to open
 *   start     what opening, loading and the first calls take
 *   calls     what the program allocates in recorded calls, and what one takes of the processor's time
 */
#include "model.h"
#include "tests/tap.h"

#include "runtime/cuda/device.h"

#include <dlfcn.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#ifndef HIDDEN
#define HIDDEN 768
#endif

enum { SEQ = 128, CYCLES = 10, CALLS = 1000, IN_A_ROW = 20 };

static tc_context context;
static tc_error error;
static int64_t ids[SEQ], mask[SEQ];
static float embedding[HIDDEN], wanted[HIDDEN];

/* -- what is allocated ----------------------------------------------------------------------------------------------- */

void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t count, size_t bytes);
void *__libc_realloc(void *block, size_t bytes);
extern const char __executable_start, etext;

static volatile long own_allocations, all_allocations;

/* Of this program, the runtime among it, and of all libraries. */
static void count(const void *caller)
{
    const uintptr_t at = (uintptr_t)caller;
    ++all_allocations;
    own_allocations += at >= (uintptr_t)&__executable_start && at < (uintptr_t)&etext;
}

void *malloc(size_t bytes)
{
    count(__builtin_return_address(0));
    return __libc_malloc(bytes);
}

void *calloc(size_t number, size_t bytes)
{
    count(__builtin_return_address(0));
    return __libc_calloc(number, bytes);
}

void *realloc(void *block, size_t bytes)
{
    count(__builtin_return_address(0));
    return __libc_realloc(block, bytes);
}

static tc_cuda_api real;
static long device_allocations, recordings, loadings;

static int counted_allocate(tc_cuda_address *address, size_t bytes)
{
    ++device_allocations;
    return real.allocate(address, bytes);
}

static int counted_graph(void **made, void *graph, unsigned long long flags)
{
    ++recordings;
    return real.graph_make(made, graph, flags);
}

static int counted_module(void **module, const void *image)
{
    ++loadings;
    return real.module_load(module, image);
}

/* -- the device's own account ------------------------------------------------------------------------------------------ */

static struct {
    int (*init)(unsigned), (*get)(int *, int), (*retain)(void **, int), (*push)(void *), (*pop)(void **),
        (*info)(size_t *, size_t *), (*allocate)(uint64_t *, size_t), (*release)(uint64_t);
} cu;
static void *own_context;

/* A hold on the device's context, so that its own memory is no part of what is compared. */
static int hold(void)
{
    static const char *const names[] = {"cuInit", "cuDeviceGet", "cuDevicePrimaryCtxRetain", "cuCtxPushCurrent_v2",
                                        "cuCtxPopCurrent_v2", "cuMemGetInfo_v2", "cuMemAlloc_v2", "cuMemFree_v2"};
    void *library = dlopen("libcuda.so.1", RTLD_NOW), *found;
    int device = 0;
    if (!library)
        return 0;
    for (size_t i = 0; i < sizeof names / sizeof *names; ++i) {
        if (!(found = dlsym(library, names[i])))
            return 0;
        memcpy((char *)&cu + i * sizeof found, &found, sizeof found);
    }
    return !cu.init(0) && !cu.get(&device, 0) && !cu.retain(&own_context, device);
}

static size_t left(void)
{
    size_t there = 0, all;
    void *popped;
    cu.push(own_context);
    cu.info(&there, &all);
    cu.pop(&popped);
    return there;
}

/* Whether the device has no less memory than it had; what a failure asks of the driver may give back more than it took. */
static void same(size_t before, const char *what)
{
    const size_t there = left();
    tc_ok(there >= before, "%s: %zu KiB free, %+lld bytes", what, there >> 10, (long long)there - (long long)before);
}

static uint64_t taken[256];
static int takings;

/* Takes the device's memory but for about `bytes`, to the last piece of `least`. */
static void take_but(size_t bytes, size_t least)
{
    void *popped;
    cu.push(own_context);
    for (size_t piece = (size_t)32 << 30; piece >= least && takings < 256;) {
        size_t there = 0, all;
        cu.info(&there, &all);
        if (there < bytes + piece || cu.allocate(&taken[takings], piece))
            piece /= 2;
        else
            ++takings;
    }
    cu.pop(&popped);
}

static void give_back(void)
{
    void *popped;
    cu.push(own_context);
    while (takings)
        cu.release(taken[--takings]);
    cu.pop(&popped);
}

/* -- calls --------------------------------------------------------------------------------------------------------------- */

static tc_status call(void)
{
    memset(embedding, 0x55, sizeof embedding);
    return minilm(&context, &(minilm_args){.batch = 1, .seq = SEQ, .ids = ids, .mask = mask, .embedding = embedding});
}

static int untouched(void)
{
    for (size_t i = 0; i < sizeof embedding; ++i)
        if (((const unsigned char *)embedding)[i] != 0x55)
            return 0;
    return 1;
}

static int right(void)
{
    return !memcmp(embedding, wanted, sizeof wanted);
}

static int refused(tc_status got, const tc_error *of)
{
    return got == TC_STATUS_DEVICE && of->status == got && strstr(of->message, "CUDA_ERROR_OUT_OF_MEMORY");
}

static tc_cuda *opened(void)
{
    tc_cuda *cuda = NULL;
    if (tc_cuda_open(&cuda, 0, &error) != TC_STATUS_OK)
        tc_ok(0, "a device: %s", error.message);
    tc_context_use_cuda(&context, cuda);
    return cuda;
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

/* Open, load, reserve, call, close. */
static int cycle(void)
{
    tc_cuda *cuda = opened();
    const int good = cuda && tc_cuda_load(cuda, &minilm_model, NULL, &error) == TC_STATUS_OK &&
                     tc_cuda_reserve(cuda, MINILM_ARENA_BYTES, &error) == TC_STATUS_OK && call() == TC_STATUS_OK;
    tc_cuda_close(cuda);
    return good;
}

static void memory(void)
{
    if (!tc_ok(hold(), "the driver's own account"))
        return;
    tc_ok(cycle(), "a first turn: %s", error.message);
    memcpy(wanted, embedding, sizeof wanted);
    const size_t before = left();
    tc_note("%zu MiB free, the weights take %zu MiB, the arena %zu", before >> 20,
            (size_t)minilm_model.weights_bytes >> 20, (size_t)MINILM_ARENA_BYTES >> 20);

    tc_cuda *cuda = opened();
    const size_t bare = left();
    tc_ok(refused(tc_cuda_reserve(cuda, (size_t)1 << 46, &error), &error), "64 TiB of arena: %s", error.message);
    same(bare, "nothing is kept of that");
    take_but((size_t)minilm_model.weights_bytes / 2, 1 << 20);
    const size_t tight = left();
    tc_ok(refused(tc_cuda_load(cuda, &minilm_model, NULL, &error), &error), "no room for weights: %s", error.message);
    tc_note("%+lld bytes free behind it", (long long)left() - (long long)tight);
    tc_ok(left() + (4 << 20) >= tight, "no more is kept of that than the cell of faults and the driver's own");
    const size_t again = left();
    for (int i = 0; i < CYCLES; ++i)
        tc_cuda_load(cuda, &minilm_model, NULL, &error);
    same(again, "and nothing of ten more times");
    give_back();
    tc_ok(tc_cuda_load(cuda, &minilm_model, NULL, &error) == TC_STATUS_OK, "with memory it loads");

    take_but(0, 2 << 20);
    const size_t full = left();
    tc_ok(refused(tc_cuda_reserve(cuda, (size_t)1 << 30, &error), &error), "no room for an arena: %s", error.message);
    tc_ok(call() == TC_STATUS_ARENA_TOO_SMALL && untouched(), "and no call: %s", context.error.message);
    same(full, "nothing is kept of that");
    give_back();
    tc_ok(tc_cuda_reserve(cuda, MINILM_ARENA_BYTES, &error) == TC_STATUS_OK, "with memory there is one");

    take_but(0, 512);
    const tc_status first = call();
    tc_note("a first recorded call with %zu KiB free: %s, %s", left() >> 10, tc_status_string(first),
            first == TC_STATUS_OK ? "" : context.error.message);
    tc_ok(first == TC_STATUS_OK ? right() : refused(first, &context.error) && untouched(),
          "it is right, or refused with outputs as they were");
    give_back();
    tc_ok(call() == TC_STATUS_OK && right() && call() == TC_STATUS_OK && right(), "calls behind that are right: %s",
          context.error.message);
    tc_cuda_close(cuda);
    same(before, "behind closing the device has what it had");
    const struct mallinfo2 host = mallinfo2();
    for (int i = 0; i < CYCLES; ++i)
        if (!cycle() || !right())
            tc_ok(0, "turn %d: %s", i, error.message);
    same(before, "and behind ten turns of open, load, call, close");
    tc_note("the process has %+ld bytes more of malloc's behind them",
            (long)mallinfo2().uordblks - (long)host.uordblks);
}

static void foreign(void)
{
    if (!tc_ok(hold(), "the driver's own account"))
        return;
    tc_cuda *cuda = opened();
    tc_cuda_load(cuda, &minilm_model, NULL, &error);
    const size_t before = left();
    for (int i = 0; i < CYCLES; ++i)
        if (tc_cuda_load(cuda, &minilm_model, NULL, &error) != TC_STATUS_NO_DEVICE)
            tc_ok(0, "no code for this chip: %s", error.message);
    tc_ok(error.status == TC_STATUS_NO_DEVICE, "no code for this chip: %s", error.message);
    same(before, "nothing is kept of ten times");
    tc_ok(tc_cuda_reserve(cuda, MINILM_ARENA_BYTES, &error) == TC_STATUS_OK && call() == TC_STATUS_NO_DEVICE && untouched(),
          "and no call: %s", context.error.message);
    tc_cuda_close(cuda);
}

static void lost(void)
{
    tc_cuda *cuda = opened();
    tc_ok(tc_cuda_load(cuda, &minilm_model, NULL, &error) == TC_STATUS_OK &&
              tc_cuda_reserve(cuda, MINILM_ARENA_BYTES, &error) == TC_STATUS_OK && call() == TC_STATUS_OK,
          "a call: %s", error.message);
    const uintptr_t nowhere = 0x10000, bytes = 0x10000; /* of each, so that none overlaps another */
    const tc_status asked = minilm_cuda(&context,
                                        &(minilm_args){.batch = 1,
                                                       .seq = SEQ,
                                                       .ids = (const int64_t *)nowhere,
                                                       .mask = (const int64_t *)(nowhere + bytes),
                                                       .embedding = (float *)(nowhere + 2 * bytes)},
                                        NULL);
    const tc_status end = tc_cuda_finish(cuda, NULL, &error);
    tc_ok((asked == TC_STATUS_OK || asked == TC_STATUS_DEVICE) && end == TC_STATUS_DEVICE, "an address that is none: %s",
          error.message);
    tc_ok(call() == TC_STATUS_DEVICE && untouched(), "a call behind it: %s", context.error.message);
    tc_ok(tc_cuda_reserve(cuda, 1 << 20, &error) == TC_STATUS_DEVICE, "nor is there memory: %s", error.message);
    tc_cuda_close(cuda);
    const tc_status status = tc_cuda_open(&cuda, 0, &error);
    tc_note("opened once more: %s", status == TC_STATUS_OK ? "ok" : error.message);
    tc_cuda_close(cuda);
    tc_ok(1, "the process lives");
}

static void absent(void)
{
    tc_cuda *cuda = (tc_cuda *)&context;
    const tc_status status = tc_cuda_open(&cuda, 0, &error);
    tc_ok(status == TC_STATUS_NO_DEVICE && !cuda && error.status == status, "nothing to open: %s", error.message);
    tc_context_use_cuda(&context, cuda);
    tc_ok(call() == TC_STATUS_NO_DEVICE && untouched(), "and no call: %s", context.error.message);
    tc_cuda_close(cuda);
}

static void start(void)
{
    const double begun = now();
    tc_cuda *cuda = opened();
    const double open = now();
    const tc_status loading = tc_cuda_load(cuda, &minilm_model, NULL, &error);
    const double loaded = now();
    const tc_status reserving = tc_cuda_reserve(cuda, MINILM_ARENA_BYTES, &error);
    const double reserved = now();
    const tc_status first = call();
    const double called = now();
    const tc_status second = call();
    const double end = now();
    tc_ok(!loading && !reserving && !first && !second, "calls: %s", error.message);
    tc_note("ms: open %.1f (the driver's start), load %.1f (%u kernels, %zu MiB of weights), reserve %.2f, first call "
            "%.2f, second %.3f",
            open - begun, loaded - open, minilm_model.device->kernel_count, (size_t)minilm_model.weights_bytes >> 20,
            reserved - loaded, called - reserved, end - called);
    tc_cuda_close(cuda);
}

static int by_time(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void counts_from_here(void)
{
    own_allocations = all_allocations = device_allocations = recordings = loadings = 0;
}

static void calls(void)
{
    static double asked[CALLS / IN_A_ROW];
    uint64_t there[3];
    tc_cuda *cuda = opened();
    tc_ok(hold() && tc_cuda_load(cuda, &minilm_model, NULL, &error) == TC_STATUS_OK &&
              tc_cuda_reserve(cuda, MINILM_ARENA_BYTES, &error) == TC_STATUS_OK,
          "loaded");
    real = cuda->api;
    cuda->api.allocate = counted_allocate;
    cuda->api.graph_make = counted_graph;
    cuda->api.module_load = counted_module;
    const size_t sizes[] = {sizeof ids, sizeof mask, sizeof embedding};
    for (int i = 0; i < 3; ++i)
        tc_cuda_allocate(cuda, &there[i], sizes[i], &error);
    tc_cuda_upload(cuda, there[0], ids, sizeof ids, NULL, &error);
    tc_cuda_upload(cuda, there[1], mask, sizeof mask, NULL, &error);
    const minilm_args args = {.batch = 1,
                              .seq = SEQ,
                              .ids = (const int64_t *)(uintptr_t)there[0],
                              .mask = (const int64_t *)(uintptr_t)there[1],
                              .embedding = (float *)(uintptr_t)there[2]};
    tc_ok(call() == TC_STATUS_OK && minilm_cuda(&context, &args, NULL) == TC_STATUS_OK &&
              tc_cuda_finish(cuda, NULL, &error) == TC_STATUS_OK,
          "the first ones: %ld recordings, %ld allocations of the device's", recordings, device_allocations);
    memcpy(wanted, embedding, sizeof wanted);

    const size_t before = left();
    counts_from_here();
    int good = 1;
    for (int i = 0; i < 100; ++i)
        good &= call() == TC_STATUS_OK && right();
    tc_ok(good && !own_allocations && !device_allocations && !recordings && !loadings,
          "100 calls with the processor's memory: %ld allocations of this program's, %ld of the device's, %ld recordings",
          own_allocations, device_allocations, recordings);
    tc_note("%ld allocations of the driver's own in them", all_allocations);
    counts_from_here();
    for (int i = 0; i < CALLS / IN_A_ROW; ++i) {
        const double begun = now();
        for (int j = 0; j < IN_A_ROW; ++j)
            good &= minilm_cuda(&context, &args, NULL) == TC_STATUS_OK;
        asked[i] = (now() - begun) / IN_A_ROW * 1e3;
        good &= tc_cuda_finish(cuda, NULL, &error) == TC_STATUS_OK;
    }
    tc_ok(good && !own_allocations && !device_allocations && !recordings,
          "%d calls with the device's memory: %ld allocations of this program's, %ld of the device's, %ld recordings",
          CALLS, own_allocations, device_allocations, recordings);
    tc_note("%ld allocations of the driver's own in them", all_allocations);
    same(before, "the device has as much memory as before");
    good = tc_cuda_download(cuda, embedding, there[2], sizeof embedding, NULL, &error) == TC_STATUS_OK &&
           tc_cuda_finish(cuda, NULL, &error) == TC_STATUS_OK && right();
    tc_ok(good, "the same bits");
    qsort(asked, CALLS / IN_A_ROW, sizeof *asked, by_time);
    tc_note("a recorded call takes %.2f us of the processor's time (median of %d times %d in a row; %.2f to %.2f)",
            asked[CALLS / IN_A_ROW / 2], CALLS / IN_A_ROW, IN_A_ROW, asked[0], asked[CALLS / IN_A_ROW - 1]);
    for (int i = 0; i < 3; ++i)
        tc_cuda_free(cuda, there[i], &error);
    tc_cuda_close(cuda);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } scenarios[] = {{"memory", memory}, {"foreign", foreign}, {"lost", lost},
                     {"absent", absent}, {"start", start},     {"calls", calls}};
    for (int i = 0; i < SEQ; ++i)
        ids[i] = i * 211 % 30522, mask[i] = i < SEQ - 9;
    tc_context_init(&context, NULL, 0);
    for (size_t i = 0; i < sizeof scenarios / sizeof *scenarios; ++i)
        if (argc > 1 && !strcmp(argv[1], scenarios[i].name))
            scenarios[i].run();
    return tc_done();
}
