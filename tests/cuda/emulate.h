/* SPDX-License-Identifier: Apache-2.0
 *
 * CUDA's words for kernels that are compiled for the processor: included before a generated .cu, which is then a C++
 * file. A kernel is called once for each thread of a block; __syncthreads hands on to the others (emulate.cc). A
 * launch's one parameter is passed by its address.
 */
#ifndef EMULATE_H
#define EMULATE_H

#include <string.h>

struct emulated_index {
    unsigned x;
};

extern "C" {
extern emulated_index emulated_thread, emulated_block, emulated_grid;
void emulated_barrier(void);
void emulated_warp_barrier(void);
void *emulated_slot(unsigned lane); /* 16 bytes of each lane, for the others of its warp */

/* A kernel as it is called here, and a launch of it. reverse: threads and blocks in descending order. */
typedef void emulated_kernel(const void *arguments);
void emulated_launch(emulated_kernel *kernel, const void *arguments, unsigned blocks, unsigned threads, int reverse);
}

#define threadIdx emulated_thread
#define blockIdx emulated_block
#define gridDim emulated_grid
#define __syncthreads emulated_barrier
#define __syncwarp emulated_warp_barrier
#define __global__
#define __device__
#define __shared__ static
#define __align__(bytes) __attribute__((aligned(bytes)))
#define __launch_bounds__(threads)
#define __grid_constant__ &

/* What the lane `from` of the warp has. */
template <class T> static inline T emulated_shuffle(T value, unsigned from)
{
    T found;
    static_assert(sizeof value <= 16, "a slot's bytes");
    memcpy(emulated_slot(emulated_thread.x % 32), &value, sizeof value);
    emulated_warp_barrier();
    memcpy(&found, emulated_slot(from % 32), sizeof found);
    emulated_warp_barrier();
    return found;
}

#define __shfl_sync(mask, value, lane) emulated_shuffle(value, (unsigned)(lane))
#define __shfl_xor_sync(mask, value, bits) emulated_shuffle(value, threadIdx.x % 32 ^ (unsigned)(bits))
#define __shfl_down_sync(mask, value, by)                                                                              \
    emulated_shuffle(value, threadIdx.x % 32 + (by) < 32 ? threadIdx.x % 32 + (by) : threadIdx.x % 32)

struct float4 {
    float x, y, z, w;
};

struct float2 {
    float x, y;
};

static inline float4 make_float4(float x, float y, float z, float w)
{
    return {x, y, z, w};
}

static inline void atomicMin(unsigned long long *cell, unsigned long long value)
{
    if (value < *cell)
        *cell = value;
}

#endif
