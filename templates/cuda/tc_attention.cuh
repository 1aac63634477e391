/* SPDX-License-Identifier: Apache-2.0
 *
 * What attention needs beside the products of tc_half.cuh: a row of scores is shared by the four threads of a quad.
 */
#ifndef TC_ATTENTION_CUH
#define TC_ATTENTION_CUH

#include "tc_half.cuh"

#define TC_INFINITY tc_asfloat_i32(0x7f800000)

/* The line of memory at `from` is on its way to the second cache; what a kernel still running stores there is seen. */
__device__ inline void tc_soon_line(const void *from)
{
#ifdef __CUDACC__
    asm volatile("prefetch.global.L2 [%0];" ::"l"(from));
#endif
}

/* The larger one; of a NaN and a number either, as the NaN is in the sum of the row anyway. */
__device__ inline float tc_larger(float a, float b)
{
#ifdef __CUDACC__
    return fmaxf(a, b);
#else
    return a < b ? b : a;
#endif
}

__device__ inline float tc_quad_max(float x)
{
    x = tc_larger(x, __shfl_xor_sync(0xffffffffu, x, 1));
    return tc_larger(x, __shfl_xor_sync(0xffffffffu, x, 2));
}

__device__ inline float tc_quad_sum(float x)
{
    x += __shfl_xor_sync(0xffffffffu, x, 1);
    return x + __shfl_xor_sync(0xffffffffu, x, 2);
}

#endif
