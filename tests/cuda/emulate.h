/* SPDX-License-Identifier: Apache-2.0
 *
 * CUDA's words for kernels that are compiled for the processor: included before a generated .cu, which is then a C++
 * file. A kernel is called once for each thread of a block; __syncthreads hands on to the others (emulate.cc). A
 * launch's one parameter is passed by its address.
 */
#ifndef EMULATE_H
#define EMULATE_H

struct emulated_index {
    unsigned x;
};

extern "C" {
extern emulated_index emulated_thread, emulated_block, emulated_grid;
void emulated_barrier(void);

/* A kernel as it is called here, and a launch of it. reverse: threads and blocks in descending order. */
typedef void emulated_kernel(const void *arguments);
void emulated_launch(emulated_kernel *kernel, const void *arguments, unsigned blocks, unsigned threads, int reverse);
}

#define threadIdx emulated_thread
#define blockIdx emulated_block
#define gridDim emulated_grid
#define __syncthreads emulated_barrier
#define __global__
#define __device__
#define __shared__ static
#define __align__(bytes) __attribute__((aligned(bytes)))
#define __launch_bounds__(threads)
#define __grid_constant__ &

static inline void atomicMin(unsigned long long *cell, unsigned long long value)
{
    if (value < *cell)
        *cell = value;
}

#endif
