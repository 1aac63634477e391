/* SPDX-License-Identifier: Apache-2.0
 *
 * What attention needs beside the products of tc_half.cuh: a row of scores is shared by the four threads of a quad.
 */
#ifndef TC_ATTENTION_CUH
#define TC_ATTENTION_CUH

#include "tc_half.cuh"

#define TC_INFINITY tc_asfloat_i32(0x7f800000)
#define TC_LOG2E 1.4426950408889634f

__device__ inline float tc_quad_max(float x)
{
    const float y = __shfl_xor_sync(0xffffffffu, x, 1);
    x = x < y ? y : x;
    const float z = __shfl_xor_sync(0xffffffffu, x, 2);
    return x < z ? z : x;
}

__device__ inline float tc_quad_sum(float x)
{
    x += __shfl_xor_sync(0xffffffffu, x, 1);
    return x + __shfl_xor_sync(0xffffffffu, x, 2);
}

#endif
