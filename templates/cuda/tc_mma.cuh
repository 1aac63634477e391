/* SPDX-License-Identifier: Apache-2.0
 *
 * The matrix units, by the instructions of compute capability 8.0 and later. A fragment of the first operand is 16 rows by
 * 8 words of terms, of the second one 8 words by 8 columns; which thread has what is told by PTX's mma.m16n8k16 (two
 * terms a word) and .m16n8k8 (tf32, one).
 */
#ifndef TC_MMA_CUH
#define TC_MMA_CUH

#include "tc_tile.cuh"

#ifdef __CUDACC__

#define TC_MMA(name, shape, type)                                                                                      \
    __device__ inline void tc_mma_##name(float (&c)[4], const unsigned (&a)[4], const unsigned (&b)[2])                \
    {                                                                                                                  \
        asm("mma.sync.aligned." shape ".row.col.f32." type "." type ".f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, " \
                     "{%8, %9}, {%0, %1, %2, %3};"                                                                     \
                     : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])                                                  \
                     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));                              \
    }

TC_MMA(bf16, "m16n8k16", "bf16")
TC_MMA(f16, "m16n8k16", "f16")
TC_MMA(tf32, "m16n8k8", "tf32")

/* Two terms as a word, the earlier one in the lower half; rounded to nearest even. */
__device__ inline unsigned tc_pair_bf16(float first, float second)
{
    unsigned word;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(word) : "f"(second), "f"(first));
    return word;
}

__device__ inline unsigned tc_pair_f16(float first, float second)
{
    unsigned word;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(word) : "f"(second), "f"(first));
    return word;
}

/* One term as a word; rounded to nearest, away from 0 in the middle. */
__device__ inline unsigned tc_round_tf32(float term)
{
    unsigned word;
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(word) : "f"(term));
    return word;
}

#else /* the emulation of the tests */

#define tc_mma_bf16(c, a, b) emulated_mma(c, a, b, 2, [](unsigned word, int i) { return tc_cast_bf16_f32((uint16_t)(word >> 16 * i)); })
#define tc_mma_f16(c, a, b) emulated_mma(c, a, b, 2, [](unsigned word, int i) { return tc_cast_f16_f32((uint16_t)(word >> 16 * i)); })
#define tc_mma_tf32(c, a, b) emulated_mma(c, a, b, 1, [](unsigned word, int) { return tc_asfloat_i32((int32_t)word); })

static inline unsigned tc_pair_bf16(float first, float second)
{
    return tc_cast_f32_bf16(first) | (unsigned)tc_cast_f32_bf16(second) << 16;
}

static inline unsigned tc_pair_f16(float first, float second)
{
    return tc_cast_f32_f16(first) | (unsigned)tc_cast_f32_f16(second) << 16;
}

static inline unsigned tc_round_tf32(float term)
{
    return ((unsigned)tc_asint_f32(term) + 0x1000u) & ~0x1fffu;
}

#endif

/* The word of the term at `from`. */
template <int STEP> __device__ inline unsigned tc_word_tf32(const float *from)
{
    return tc_round_tf32(from[0]);
}

#endif
