/* SPDX-License-Identifier: Apache-2.0
 *
 * Contractions of few rows: eight terms of 16 bits as a vector of words, and as floats.
 */
#ifndef TC_FEW_CUH
#define TC_FEW_CUH

#include "tc_half.cuh"
#include "tc_warp.cuh"

struct __align__(16) tc_words {
    unsigned at[4];
};

/* A vector that is read once by the whole device. Constants are on their way before the kernel in front has ended. */
template <bool CONSTANT> __device__ inline tc_words tc_stream(const uint16_t *from)
{
#ifdef __CUDACC__
    if (CONSTANT) {
        tc_words to;
        asm volatile("ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
                     : "=r"(to.at[0]), "=r"(to.at[1]), "=r"(to.at[2]), "=r"(to.at[3])
                     : "l"(from));
        return to;
    }
#endif
    return *(const tc_words *)from;
}

__device__ inline void tc_terms_bf16(float (&to)[8], const tc_words &from)
{
#pragma unroll
    for (int i = 0; i < 4; ++i)
        to[2 * i] = tc_asfloat_i32((int32_t)(from.at[i] << 16)), to[2 * i + 1] = tc_asfloat_i32((int32_t)(from.at[i] & 0xffff0000u));
}

__device__ inline void tc_terms_f16(float (&to)[8], const tc_words &from)
{
#pragma unroll
    for (int i = 0; i < 8; ++i) {
        const uint16_t half = (uint16_t)(from.at[i / 2] >> 16 * (i % 2));
#ifdef __CUDACC__
        asm("cvt.f32.f16 %0, %1;" : "=f"(to[i]) : "h"(half));
#else
        to[i] = tc_cast_f16_f32(half);
#endif
    }
}

#endif
