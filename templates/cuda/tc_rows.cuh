/* SPDX-License-Identifier: Apache-2.0
 *
 * Rows whose threads have vectors of eight, in any order that is the same every time.
 */
#ifndef TC_ROWS_CUH
#define TC_ROWS_CUH

#include "tc_half.cuh"
#include "tc_warp.cuh"

/* All values of THREADS threads, which every one gets: those of a warp, and then the warps' one after the other. */
template <int THREADS, class F> __device__ inline float tc_rows_reduce(float value, float *shared, F combine)
{
    for (int half = 16; half > 0; half /= 2)
        value = combine(value, __shfl_xor_sync(TC_WARP, value, half));
    if (THREADS == 32)
        return value;
    __syncthreads();
    if (threadIdx.x % 32 == 0)
        shared[threadIdx.x / 32] = value;
    __syncthreads();
    float all = shared[0];
    for (int i = 1; i < THREADS / 32; ++i)
        all = combine(all, shared[i]);
    return all;
}

#endif
