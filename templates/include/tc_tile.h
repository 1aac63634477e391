/* SPDX-License-Identifier: Apache-2.0
 *
 * What tiles of the contraction templates are made of. T is the dtype of the sums, f32 or i32; P names a product, of what
 * its operands are: f32, f32xbf16 (a x b), i8xu8 (tc_tile_integers.h).
 *
 *   tct_T                    an accumulator: one register of the instruction set, or one number where there are no vectors
 *   tct_zero_T()  tct_load_T(p)  tct_store_T(p, x)  tct_splat_T(x)  tct_add_T(x, y)
 *   tct_a_P  tct_splat_P(p)  an element of a row, for all columns
 *   tct_b_P  tct_load_P(p)   columns of b
 *   tct_fma_P(a, b, c)       c + a * b
 *   tct_quad_P  tct_load_quad_P(p)  tct_fma_lane_P(a, lane, b, c)   where the instruction multiplies by a lane: four
 *                            neighbouring elements of a row; c + a[lane] * b, lane a constant
 *   tch_f32 …                the first half of a register, of AVX-512: tch_zero_f32, tch_load_f32, tch_fma_f32, and
 *                            tch_add_f32 of it and of a whole one; tch_whole_f32: a whole one, zeros behind it
 *   tct_join(...)            the 16-lane value, in which epilogues are computed, of a panel's registers
 */
#ifndef TC_TILE_H
#define TC_TILE_H

#include "tc_kernel.h"
#include "tc_micro.h"
#include "tc_scalar.h"

/* Forgets what the compiler knows of the number x; of the vector x, on x86-64. */
#define TC_UNKNOWN(x) __asm__("" : "+r"(x))
#define TC_UNKNOWN_VECTOR(x) __asm__("" : "+v"(x))

/* held: of what a thread copied, panels or tiles of rows, numbers held[1] to held[2]-1 are in its scratch, in
 * places for `most` of them (tc_held_at). Returns whether number `panel` is to be copied; then it is held, and what lay at
 * its place is not. */
static inline int tc_hold(tc_index *held, tc_index panel, tc_index most)
{
    if (panel >= held[1] && panel < held[2])
        return 0;
    if (panel == held[2] && held[1] < panel) {
        held[2] = panel + 1;
        held[1] = tc_max(held[1], held[2] - most);
    } else if (panel + 1 == held[1] && panel + 1 < held[2]) { /* another thread's pieces are taken from the last one on */
        held[1] = panel;
        held[2] = tc_min(held[2], panel + most);
    } else {
        held[1] = panel;
        held[2] = panel + 1;
        held[4] = panel % most; /* to the first place: it was written in the step before, so it is in the caches */
    }
    return 1;
}

/* The place of what is held: neighbours lie side by side, and the last one before the first. */
static inline tc_index tc_held_at(const tc_index *held, tc_index panel, tc_index most)
{
    return (panel + (most - held[4])) % most;
}

#if defined(TC_ISA_SCALAR)

typedef float tct_f32;
typedef int32_t tct_i32;
static inline tct_f32 tct_splat_f32_(float x) {
    return x;
}
static inline tct_f32 tct_load_f32(const float *p) {
    return *p;
}
static inline void tct_store_f32(float *p, tct_f32 x) {
    *p = x;
}
static inline tct_f32 tct_fma_f32(tct_f32 a, tct_f32 b, tct_f32 c) {
    return tc_fma_f32(a, b, c);
}
static inline tct_f32 tct_add_f32(tct_f32 a, tct_f32 b) {
    return a + b;
}
static inline tct_f32 tct_load_f32xf16(const uint16_t *p) {
    return tc_cast_f16_f32(*p);
}
static inline tct_f32 tct_load_f32xbf16(const uint16_t *p) {
    return tc_cast_bf16_f32(*p);
}

static inline tct_i32 tct_splat_i32(int32_t x) {
    return x;
}
static inline tct_i32 tct_load_i32(const int32_t *p) {
    return *p;
}
static inline void tct_store_i32(int32_t *p, tct_i32 x) {
    *p = x;
}
static inline tct_i32 tct_add_i32(tct_i32 a, tct_i32 b) {
    return tc_add_i32(a, b);
}

#else

#include "tc_transpose.h"
#include "tc_vector.h"

typedef tcq_f32 tct_f32;
typedef tcq_i32 tct_i32;
static inline tct_f32 tct_splat_f32_(float x) {
    return tcq_splat_f32(x);
}
static inline tct_f32 tct_load_f32(const float *p) {
    return tcq_load_f32(p);
}
static inline void tct_store_f32(float *p, tct_f32 x) {
    tcq_store_f32(p, x);
}
static inline tct_f32 tct_fma_f32(tct_f32 a, tct_f32 b, tct_f32 c) {
    return tcq_fma_f32(a, b, c);
}
static inline tct_f32 tct_add_f32(tct_f32 a, tct_f32 b) {
    return tcq_add_f32(a, b);
}

static inline tct_i32 tct_splat_i32(int32_t x) {
    return tcq_splat_i32(x);
}
static inline tct_i32 tct_load_i32(const int32_t *p) {
    return tcq_load_i32(p);
}
static inline void tct_store_i32(int32_t *p, tct_i32 x) {
    tcq_store_i32(p, x);
}
static inline tct_i32 tct_add_i32(tct_i32 a, tct_i32 b) {
    return tcq_add_i32(a, b);
}

/* 16 bits of b are widened where they are loaded. */
#ifdef TCQ_F16
static inline tct_f32 tct_load_f32xf16(const uint16_t *p) {
    return tcq_load_f16(p);
}
#else
/* As tc_half.inc says it, of four patterns. */
static inline tct_f32 tct_unpack_f16(__m128i pattern) {
    const __m128i fields = _mm_slli_epi32(_mm_and_si128(pattern, _mm_set1_epi32(0x7fff)), 13);
    const __m128 number = _mm_mul_ps(_mm_castsi128_ps(fields), _mm_set1_ps(0x1p112f));
    const __m128i none = _mm_cmpgt_epi32(fields, _mm_set1_epi32(0x7bff << 13));
    const __m128i sign = _mm_slli_epi32(_mm_and_si128(pattern, _mm_set1_epi32(0x8000)), 16);
    const __m128i more = _mm_or_si128(sign, _mm_and_si128(none, _mm_set1_epi32(0x7f800000)));
    return _mm_or_ps(number, _mm_castsi128_ps(more));
}
static inline tct_f32 tct_load_f32xf16(const uint16_t *p) {
    return tct_unpack_f16(_mm_unpacklo_epi16(_mm_loadl_epi64((const __m128i *)p), _mm_setzero_si128()));
}
#endif
#if defined(TC_ISA_AVX512)
static inline tct_f32 tct_load_f32xbf16(const uint16_t *p) {
    const __m512i wide = _mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *)p));
    return _mm512_castsi512_ps(_mm512_slli_epi32(wide, 16));
}
#elif defined(TC_ISA_AVX2)
static inline tct_f32 tct_load_f32xbf16(const uint16_t *p) {
    const __m256i wide = _mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)p));
    return _mm256_castsi256_ps(_mm256_slli_epi32(wide, 16));
}
#elif defined(TC_ISA_NEON)
static inline tct_f32 tct_load_f32xbf16(const uint16_t *p) {
    return vreinterpretq_f32_u32(vshll_n_u16(vld1_u16(p), 16));
}
#else
static inline tct_f32 tct_load_f32xbf16(const uint16_t *p) {
    return _mm_castsi128_ps(_mm_unpacklo_epi16(_mm_setzero_si128(), _mm_loadl_epi64((const __m128i *)p)));
}
#endif

/* Elements of 16 bits that lie in pairs: the lower one of each, and the upper one. */
#if defined(TC_ISA_AVX512)
static inline tct_f32 tct_lower_f32xf16(tct_f32 pairs) {
    return _mm512_cvtph_ps(_mm512_castsi512_si256(tc_halves(pairs)));
}
static inline tct_f32 tct_upper_f32xf16(tct_f32 pairs) {
    return _mm512_cvtph_ps(_mm512_extracti64x4_epi64(tc_halves(pairs), 1));
}
#elif defined(TC_ISA_AVX2)
static inline tct_f32 tct_lower_f32xf16(tct_f32 pairs) {
    return _mm256_cvtph_ps(_mm256_castsi256_si128(tc_halves(pairs)));
}
static inline tct_f32 tct_upper_f32xf16(tct_f32 pairs) {
    return _mm256_cvtph_ps(_mm256_extracti128_si256(tc_halves(pairs), 1));
}
#elif defined(TC_ISA_NEON)
static inline tct_f32 tct_lower_f32xf16(tct_f32 pairs) {
    return vcvt_f32_f16(vreinterpret_f16_u16(vmovn_u32(vreinterpretq_u32_f32(pairs))));
}
static inline tct_f32 tct_upper_f32xf16(tct_f32 pairs) {
    return vcvt_f32_f16(vreinterpret_f16_u16(vshrn_n_u32(vreinterpretq_u32_f32(pairs), 16)));
}
#else
static inline tct_f32 tct_lower_f32xf16(tct_f32 pairs) {
    return tct_unpack_f16(_mm_castps_si128(pairs));
}
static inline tct_f32 tct_upper_f32xf16(tct_f32 pairs) {
    return tct_unpack_f16(_mm_srli_epi32(_mm_castps_si128(pairs), 16));
}
#endif
static inline tct_f32 tct_lower_f32xbf16(tct_f32 pairs) {
    return tcq_asfloat_i32(tcq_shl_i32(tcq_asint_f32(pairs), 16));
}
static inline tct_f32 tct_upper_f32xbf16(tct_f32 pairs) {
    return tcq_asfloat_i32(tcq_and_i32(tcq_asint_f32(pairs), tcq_splat_i32((int32_t)0xffff0000)));
}

/* Fetches a line that will be written. */
static inline void tct_fetch_to_write(const float *p) {
#if defined(TC_ISA_AVX2) || defined(TC_ISA_AVX512)
    __asm__ volatile("prefetchw %0" : : "m"(*p)); /* which GCC has for processors with 3DNow alone */
#else
    __builtin_prefetch(p, 1, 3);
#endif
}

/* Registers by name, of tiles that need all that there are. A name holds no value over a call. {AT&T|Intel}: tc_scalar.h. */
#if defined(TC_ISA_AVX2)
#define TCT_REGISTER(number) __asm__("ymm" #number)
#define TCT_SPLAT_TO(x, p) __asm__ volatile("vbroadcastss {%1, %0|%0, %1}" : "=x"(x) : "m"(*(p)))
#define TCT_LOAD_TO(x, p) __asm__ volatile("vmovups {%1, %0|%0, %1}" : "=x"(x) : "m"(*(const __m256_u *)(p)))
#define TCT_FMA_TO(c, a, b) __asm__ volatile("vfmadd231ps {%2, %1, %0|%0, %1, %2}" : "+x"(c) : "x"(a), "x"(b))
#endif

#define tct_join(...) ((tcv_f32){__VA_ARGS__})

#endif

static inline tct_f32 tct_zero_f32(void) {
    return tct_splat_f32_(0.0f);
}
static inline tct_i32 tct_zero_i32(void) {
    return tct_splat_i32(0);
}

typedef tct_f32 tct_a_f32, tct_b_f32, tct_a_f32xf16, tct_b_f32xf16, tct_a_f32xbf16, tct_b_f32xbf16;
static inline tct_f32 tct_splat_f32(const float *p) {
    return tct_splat_f32_(*p);
}
#define tct_splat_f32xf16 tct_splat_f32
#define tct_splat_f32xbf16 tct_splat_f32
#define tct_fma_f32xf16 tct_fma_f32
#define tct_fma_f32xbf16 tct_fma_f32

#if defined(TC_ISA_AVX512)
typedef __m256 tch_f32, tch_b_f32;
static inline tch_f32 tch_zero_f32(void) {
    return _mm256_setzero_ps();
}
static inline tch_b_f32 tch_load_f32(const float *p) {
    return _mm256_loadu_ps(p);
}
static inline tch_f32 tch_fma_f32(tct_a_f32 a, tch_b_f32 b, tch_f32 c) {
    return _mm256_fmadd_ps(_mm512_castps512_ps256(a), b, c);
}
static inline tch_f32 tch_add_f32(tch_f32 x, tct_f32 y) {
    return _mm256_add_ps(x, _mm512_castps512_ps256(y));
}
static inline tct_f32 tch_whole_f32(tch_f32 x) {
    return _mm512_zextps256_ps512(x);
}
#endif

#if defined(TC_ISA_NEON)
typedef tct_f32 tct_quad_f32, tct_quad_f32xf16, tct_quad_f32xbf16;
#define tct_load_quad_f32 tct_load_f32
#define tct_load_quad_f32xf16 tct_load_f32
#define tct_load_quad_f32xbf16 tct_load_f32
#define tct_fma_lane_f32(a, lane, b, c) vfmaq_laneq_f32(c, b, a, lane)
#define tct_fma_lane_f32xf16 tct_fma_lane_f32
#define tct_fma_lane_f32xbf16 tct_fma_lane_f32
/* Both are loaded here. */
#define TCT_TOGETHER(x, y) __asm__("" : "+w"(x), "+w"(y))
#endif

#include "tc_tile_integers.h"
#include "tc_byte_rows.h"
#include "tc_byte_windows.h"
#include "tc_image_lines.h"

#endif
