/* SPDX-License-Identifier: Apache-2.0
 *
 * The x86-64 baseline (SSE2): four registers of 4 lanes, fused multiply-add emulated exactly. See tc_vector_parts.h for
 * the contract of the tcq_ functions.
 */
#ifndef TC_VECTOR_X86_64_H
#define TC_VECTOR_X86_64_H

#include <emmintrin.h>

#define TCQ_COUNT 4
typedef __m128 tcq_f32;
typedef __m128i tcq_i32;
typedef __m128i tcq_mask;

static TC_INLINE tcq_mask tcq_range(tc_index lo, tc_index hi) {
    __m128i lane = _mm_setr_epi32(0, 1, 2, 3);
    __m128i below = _mm_set1_epi32((int)tc_max(-1, tc_min(lo, 4)));
    __m128i above = _mm_set1_epi32((int)tc_max(-1, tc_min(hi, 4)));
    return _mm_andnot_si128(_mm_cmpgt_epi32(below, lane), _mm_cmpgt_epi32(above, lane));
}

static TC_INLINE tcq_f32 tcq_splat_f32(float x) {
    return _mm_set1_ps(x);
}
static TC_INLINE tcq_f32 tcq_load_f32(const float *p) {
    return _mm_loadu_ps(p);
}
static TC_INLINE void tcq_store_f32(float *p, tcq_f32 x) {
    _mm_storeu_ps(p, x);
}
static TC_INLINE tcq_i32 tcq_load_i32(const int32_t *p) {
    return _mm_loadu_si128((const __m128i *)(const void *)p);
}
static TC_INLINE void tcq_store_i32(int32_t *p, tcq_i32 x) {
    _mm_storeu_si128((__m128i *)(void *)p, x);
}
#include "tc_vector_lanes4.h"
static TC_INLINE tcq_f32 tcq_set_f32(const float *p, tc_index s) {
    return _mm_setr_ps(p[0], p[s], p[2 * s], p[3 * s]);
}
static TC_INLINE tcq_f32 tcq_even_f32(tcq_f32 x, tcq_f32 y) {
    return _mm_shuffle_ps(x, y, 0x88);
}
static TC_INLINE tcq_f32 tcq_odd_f32(tcq_f32 x, tcq_f32 y) {
    return _mm_shuffle_ps(x, y, 0xdd);
}
#define TCQ_BELOW
static TC_INLINE tcq_f32 tcq_below_f32(tcq_f32 x) {
    return _mm_castsi128_ps(_mm_srli_si128(_mm_castps_si128(x), 4));
}
static TC_INLINE tcq_i32 tcq_splat_i32(int32_t x) {
    return _mm_set1_epi32(x);
}
static TC_INLINE tcq_f32 tcq_asfloat_i32(tcq_i32 x) {
    return _mm_castsi128_ps(x);
}
static TC_INLINE tcq_i32 tcq_asint_f32(tcq_f32 x) {
    return _mm_castps_si128(x);
}

static TC_INLINE tcq_f32 tcq_add_f32(tcq_f32 x, tcq_f32 y) {
    return _mm_add_ps(x, y);
}
static TC_INLINE tcq_f32 tcq_sub_f32(tcq_f32 x, tcq_f32 y) {
    return _mm_sub_ps(x, y);
}
static TC_INLINE tcq_f32 tcq_mul_f32(tcq_f32 x, tcq_f32 y) {
    return _mm_mul_ps(x, y);
}
static TC_INLINE tcq_f32 tcq_div_f32(tcq_f32 x, tcq_f32 y) {
    return _mm_div_ps(x, y);
}
static TC_INLINE tcq_f32 tcq_sqrt_f32(tcq_f32 x) {
    return _mm_sqrt_ps(x);
}

/*
 * x*y + z for two lanes with the sum rounded to odd in double: the product is exact (48 of 53 bits), the error of the sum
 * is found by the two-sum algorithm, and an inexact sum whose last bit is even moves one step towards the exact value.
 * Rounding the result to float is then the only rounding, because 53 >= 24 + 2 (Boldo, Melquiond: Emulation of a FMA and
 * correctly rounded sums, 2008).
 */
static TC_INLINE __m128d tcq_fma_odd_f64(__m128d x, __m128d y, __m128d z) {
    __m128d p = _mm_mul_pd(x, y);
    __m128d s = _mm_add_pd(p, z);
    __m128d t = _mm_sub_pd(s, p);
    __m128d e = _mm_add_pd(_mm_sub_pd(p, _mm_sub_pd(s, t)), _mm_sub_pd(z, t));
    __m128d zero = _mm_setzero_pd();
    /* ordered comparisons: false for the NaN error of an infinite sum */
    __m128i inexact = _mm_castpd_si128(_mm_or_pd(_mm_cmplt_pd(e, zero), _mm_cmpgt_pd(e, zero)));
    __m128i bits = _mm_castpd_si128(s);
    __m128i even = _mm_sub_epi64(_mm_and_si128(bits, _mm_set1_epi64x(1)), _mm_set1_epi64x(1));
    __m128i sign = _mm_srai_epi32(_mm_xor_si128(bits, _mm_castpd_si128(e)), 31);
    __m128i step = _mm_or_si128(_mm_shuffle_epi32(sign, _MM_SHUFFLE(3, 3, 1, 1)), _mm_set1_epi64x(1));
    return _mm_castsi128_pd(_mm_add_epi64(bits, _mm_and_si128(_mm_and_si128(inexact, even), step)));
}
/* Not inlined: 25 instructions a lane pair would fill the caches, where speed is no aim. */
static TC_NOINLINE __attribute__((unused)) tcq_f32 tcq_fma_f32(tcq_f32 x, tcq_f32 y, tcq_f32 z) {
    __m128d low = tcq_fma_odd_f64(_mm_cvtps_pd(x), _mm_cvtps_pd(y), _mm_cvtps_pd(z));
    __m128d high = tcq_fma_odd_f64(_mm_cvtps_pd(_mm_movehl_ps(x, x)), _mm_cvtps_pd(_mm_movehl_ps(y, y)),
                                   _mm_cvtps_pd(_mm_movehl_ps(z, z)));
    return _mm_movelh_ps(_mm_cvtpd_ps(low), _mm_cvtpd_ps(high));
}

static TC_INLINE tcq_f32 tcq_neg_f32(tcq_f32 x) {
    return _mm_xor_ps(x, _mm_set1_ps(-0.0f));
}
static TC_INLINE tcq_f32 tcq_abs_f32(tcq_f32 x) {
    return _mm_andnot_ps(_mm_set1_ps(-0.0f), x);
}
/* maxps(x, y) is y where either is NaN or both are zero: both orders agree elsewhere, and unordered lanes become NaN. */
static TC_INLINE tcq_f32 tcq_maximum_f32(tcq_f32 x, tcq_f32 y) {
    return _mm_or_ps(_mm_and_ps(_mm_max_ps(x, y), _mm_max_ps(y, x)), _mm_cmpunord_ps(x, y));
}
static TC_INLINE tcq_f32 tcq_minimum_f32(tcq_f32 x, tcq_f32 y) {
    return _mm_or_ps(_mm_or_ps(_mm_min_ps(x, y), _mm_min_ps(y, x)), _mm_cmpunord_ps(x, y));
}
/* minps and maxps give the second operand where one is NaN or both are equal. */
static TC_INLINE tcq_f32 tcq_lesser_f32(tcq_f32 x, tcq_f32 y) {
    return _mm_min_ps(x, y);
}
static TC_INLINE tcq_f32 tcq_greater_f32(tcq_f32 x, tcq_f32 y) {
    return _mm_max_ps(x, y);
}
static TC_INLINE tcq_mask tcq_eq_f32(tcq_f32 x, tcq_f32 y) {
    return _mm_castps_si128(_mm_cmpeq_ps(x, y));
}
static TC_INLINE tcq_mask tcq_ne_f32(tcq_f32 x, tcq_f32 y) {
    return _mm_castps_si128(_mm_cmpneq_ps(x, y));
}
static TC_INLINE tcq_mask tcq_lt_f32(tcq_f32 x, tcq_f32 y) {
    return _mm_castps_si128(_mm_cmplt_ps(x, y));
}
static TC_INLINE tcq_mask tcq_le_f32(tcq_f32 x, tcq_f32 y) {
    return _mm_castps_si128(_mm_cmple_ps(x, y));
}
static TC_INLINE tcq_i32 tcq_select_i32(tcq_mask m, tcq_i32 x, tcq_i32 y) {
    return _mm_or_si128(_mm_and_si128(m, x), _mm_andnot_si128(m, y));
}
static TC_INLINE tcq_f32 tcq_select_f32(tcq_mask m, tcq_f32 x, tcq_f32 y) {
    return _mm_castsi128_ps(tcq_select_i32(m, _mm_castps_si128(x), _mm_castps_si128(y)));
}

static TC_INLINE tcq_i32 tcq_add_i32(tcq_i32 x, tcq_i32 y) {
    return _mm_add_epi32(x, y);
}
static TC_INLINE tcq_i32 tcq_sub_i32(tcq_i32 x, tcq_i32 y) {
    return _mm_sub_epi32(x, y);
}
static TC_INLINE tcq_i32 tcq_mul_i32(tcq_i32 x, tcq_i32 y) {
    __m128i even = _mm_mul_epu32(x, y);
    __m128i odd = _mm_mul_epu32(_mm_srli_epi64(x, 32), _mm_srli_epi64(y, 32));
    return _mm_unpacklo_epi32(_mm_shuffle_epi32(even, _MM_SHUFFLE(0, 0, 2, 0)),
                              _mm_shuffle_epi32(odd, _MM_SHUFFLE(0, 0, 2, 0)));
}
/* x * y + z, where x and y are within 16 bits, signed: their upper halves are multiplied by 0 of y's. */
static TC_INLINE tcq_i32 tcq_fma_short(tcq_i32 x, tcq_i32 y, tcq_i32 z) {
    return _mm_add_epi32(z, _mm_madd_epi16(x, _mm_and_si128(y, _mm_set1_epi32(0xffff))));
}
static TC_INLINE tcq_i32 tcq_abs_i32(tcq_i32 x) {
    __m128i sign = _mm_srai_epi32(x, 31);
    return _mm_sub_epi32(_mm_xor_si128(x, sign), sign);
}
static TC_INLINE tcq_i32 tcq_and_i32(tcq_i32 x, tcq_i32 y) {
    return _mm_and_si128(x, y);
}
static TC_INLINE tcq_i32 tcq_or_i32(tcq_i32 x, tcq_i32 y) {
    return _mm_or_si128(x, y);
}
static TC_INLINE tcq_i32 tcq_xor_i32(tcq_i32 x, tcq_i32 y) {
    return _mm_xor_si128(x, y);
}
static TC_INLINE tcq_i32 tcq_shl_i32(tcq_i32 x, int n) {
    return _mm_slli_epi32(x, n);
}
static TC_INLINE tcq_i32 tcq_sar_i32(tcq_i32 x, int n) {
    return _mm_srai_epi32(x, n);
}
static TC_INLINE tcq_mask tcq_eq_i32(tcq_i32 x, tcq_i32 y) {
    return _mm_cmpeq_epi32(x, y);
}
static TC_INLINE tcq_mask tcq_lt_i32(tcq_i32 x, tcq_i32 y) {
    return _mm_cmplt_epi32(x, y);
}
static TC_INLINE tcq_i32 tcq_maximum_i32(tcq_i32 x, tcq_i32 y) {
    return tcq_select_i32(_mm_cmpgt_epi32(x, y), x, y);
}
static TC_INLINE tcq_i32 tcq_minimum_i32(tcq_i32 x, tcq_i32 y) {
    return tcq_select_i32(_mm_cmpgt_epi32(x, y), y, x);
}

static TC_INLINE tcq_f32 tcq_cast_i32_f32(tcq_i32 x) {
    return _mm_cvtepi32_ps(x);
}
static TC_INLINE tcq_i32 tcq_truncate_f32(tcq_f32 x) {
    return _mm_cvttps_epi32(x);
}
static TC_INLINE tcq_i32 tcq_cast_bounded_f32(tcq_f32 x) {
    return _mm_and_si128(_mm_castps_si128(_mm_cmpord_ps(x, x)), _mm_cvttps_epi32(x));
}
/* The conversion gives INT32_MIN beyond the range and for NaN. */
static TC_INLINE tcq_i32 tcq_cast_f32_i32(tcq_f32 x) {
    __m128i big = _mm_castps_si128(_mm_cmpge_ps(x, _mm_set1_ps(0x1p31f)));
    __m128i number = _mm_castps_si128(_mm_cmpord_ps(x, x));
    return _mm_and_si128(number, _mm_xor_si128(_mm_cvttps_epi32(x), big));
}

/* Of an element that stands in the upper bits of its lane the shift makes the value. */
static TC_INLINE tcq_i32 tcq_widen_i8(const int8_t *p) {
    int32_t four;
    __builtin_memcpy(&four, p, sizeof four);
    const __m128i bytes = _mm_cvtsi32_si128(four), words = _mm_unpacklo_epi8(bytes, bytes);
    return _mm_srai_epi32(_mm_unpacklo_epi16(words, words), 24);
}
static TC_INLINE tcq_i32 tcq_widen_u8(const uint8_t *p) {
    int32_t four;
    __builtin_memcpy(&four, p, sizeof four);
    const __m128i zero = _mm_setzero_si128(), words = _mm_unpacklo_epi8(_mm_cvtsi32_si128(four), zero);
    return _mm_unpacklo_epi16(words, zero);
}
static TC_INLINE tcq_i32 tcq_widen_i16(const int16_t *p) {
    const __m128i words = _mm_loadl_epi64((const __m128i *)(const void *)p);
    return _mm_srai_epi32(_mm_unpacklo_epi16(words, words), 16);
}
static TC_INLINE tcq_i32 tcq_widen_u16(const uint16_t *p) {
    return _mm_unpacklo_epi16(_mm_loadl_epi64((const __m128i *)(const void *)p), _mm_setzero_si128());
}
static TC_INLINE tcq_i32 tcq_pairs_8(const void *p) {
    return _mm_unpacklo_epi16(_mm_loadl_epi64((const __m128i *)p), _mm_setzero_si128());
}
static TC_INLINE tcq_i32 tcq_pairs_16(const void *p) {
    return _mm_loadu_si128((const __m128i *)p);
}

static TC_INLINE tcq_mask tcq_splat_bool(uint8_t x) {
    return _mm_set1_epi32(-(x != 0));
}
static TC_INLINE tcq_mask tcq_and_bool(tcq_mask x, tcq_mask y) {
    return _mm_and_si128(x, y);
}
static TC_INLINE tcq_mask tcq_or_bool(tcq_mask x, tcq_mask y) {
    return _mm_or_si128(x, y);
}
static TC_INLINE tcq_mask tcq_xor_bool(tcq_mask x, tcq_mask y) {
    return _mm_xor_si128(x, y);
}
static TC_INLINE tcq_mask tcq_not_bool(tcq_mask x) {
    return _mm_xor_si128(x, _mm_set1_epi32(-1));
}
static TC_INLINE uint8_t tcq_any_bool(tcq_mask x) {
    return _mm_movemask_epi8(x) != 0;
}
static TC_INLINE tcq_mask tcq_load_bool(const uint8_t *p) {
    __m128i wide = _mm_setr_epi32(p[0], p[1], p[2], p[3]);
    return _mm_cmpgt_epi32(wide, _mm_setzero_si128());
}
static TC_INLINE void tcq_store_bool(uint8_t *p, tcq_mask x) {
    int bits = _mm_movemask_ps(_mm_castsi128_ps(x));
    for (int l = 0; l < 4; ++l)
        p[l] = (uint8_t)(bits >> l & 1);
}

static TC_INLINE float tcq_sum_f32(tcq_f32 x) {
    __m128 q = _mm_add_ps(x, _mm_movehl_ps(x, x));
    return _mm_cvtss_f32(_mm_add_ss(q, _mm_shuffle_ps(q, q, 1)));
}
static TC_INLINE int32_t tcq_sum_i32(tcq_i32 x) {
    x = tcq_add_i32(x, _mm_shuffle_epi32(x, 0x4e));
    return _mm_cvtsi128_si32(tcq_add_i32(x, _mm_shuffle_epi32(x, 0xb1)));
}
static TC_INLINE int32_t tcq_max_i32(tcq_i32 x) {
    x = tcq_maximum_i32(x, _mm_shuffle_epi32(x, 0x4e));
    return _mm_cvtsi128_si32(tcq_maximum_i32(x, _mm_shuffle_epi32(x, 0xb1)));
}
static TC_INLINE int32_t tcq_min_i32(tcq_i32 x) {
    x = tcq_minimum_i32(x, _mm_shuffle_epi32(x, 0x4e));
    return _mm_cvtsi128_si32(tcq_minimum_i32(x, _mm_shuffle_epi32(x, 0xb1)));
}

#endif
