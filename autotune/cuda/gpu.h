/* SPDX-License-Identifier: Apache-2.0
 *
 * The GPU that candidates are measured on: its memory, images, and time between two events of its own clock.
 */
#ifndef TC_AUTOTUNE_GPU_H
#define TC_AUTOTUNE_GPU_H

#include "../../runtime/cuda/api.h"

/* What the driver says of the device. clock, memory_clock: MHz, the most that it has. */
typedef struct {
    char name[96];
    int multiprocessors, clock, memory_clock, driver;
    size_t cache_bytes;
} tc_gpu_facts;

typedef struct {
    tc_cuda_api api;
    void *context, *stream, *start, *end;
    int device, failed; /* failed: the first error of the driver; nothing more is tried then */
    const char *call;   /* that failed */
    tc_gpu_facts facts;
} tc_gpu;

/* A kernel of an image, and how it is started. overlaps: it waits by itself for the kernel in front of it. */
typedef struct {
    void *module, *function;
    unsigned blocks, threads, shared;
    int overlaps;
} tc_gpu_kernel;

/* Returns NULL, or why there is none; the text is static or the gpu's. */
const char *tc_gpu_open(tc_gpu *gpu);
void tc_gpu_close(tc_gpu *gpu);

/* Notes a failure; whether there has been none. */
int tc_gpu_answer(tc_gpu *gpu, int code, const char *call);

/* The image lies in a file. Returns whether it is loaded. */
int tc_gpu_load(tc_gpu *gpu, tc_gpu_kernel *kernel, const char *image, const char *symbol);
void tc_gpu_unload(tc_gpu *gpu, tc_gpu_kernel *kernel);

/* arguments: the kernel's one parameter. */
void tc_gpu_launch(tc_gpu *gpu, const tc_gpu_kernel *kernel, void *arguments);
void tc_gpu_wait(tc_gpu *gpu);

/* What is launched between them becomes a graph, NULL on a failure; tc_gpu_time starts it twice and returns the
 * nanoseconds of the second: the host's part of the launch lies behind the first. */
void tc_gpu_record(tc_gpu *gpu);
void *tc_gpu_recorded(tc_gpu *gpu);
double tc_gpu_time(tc_gpu *gpu, void *graph);

/* MHz of the multiprocessors and of the memory at this moment; 0 where the driver's library does not tell. */
void tc_gpu_clocks(unsigned *multiprocessors, unsigned *memory);

#endif
