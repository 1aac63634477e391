/* SPDX-License-Identifier: Apache-2.0
 *
 * AVX2, FMA and F16C: two registers of 8 lanes. See tc_vector_parts.h for the contract of the tcq_ functions.
 */
#ifndef TC_VECTOR_AVX2_H
#define TC_VECTOR_AVX2_H

#include <immintrin.h>

#define TCQ_COUNT 2
typedef __m256 tcq_f32;
typedef __m256i tcq_i32;
typedef __m256i tcq_mask;

static TC_INLINE tcq_mask tcq_range(tc_index lo, tc_index hi) {
    __m256i lane = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    __m256i below = _mm256_set1_epi32((int)tc_max(-1, tc_min(lo, 8)));
    __m256i above = _mm256_set1_epi32((int)tc_max(-1, tc_min(hi, 8)));
    return _mm256_andnot_si256(_mm256_cmpgt_epi32(below, lane), _mm256_cmpgt_epi32(above, lane));
}

static TC_INLINE tcq_f32 tcq_splat_f32(float x) {
    return _mm256_set1_ps(x);
}
static TC_INLINE tcq_f32 tcq_load_f32(const float *p) {
    return _mm256_loadu_ps(p);
}
static TC_INLINE tcq_f32 tcq_loadw_f32(const float *p, tc_index lo, tc_index hi, tcq_f32 other) {
    tcq_mask m = tcq_range(lo, hi);
    return _mm256_blendv_ps(other, _mm256_maskload_ps(p, m), _mm256_castsi256_ps(m));
}
static TC_INLINE void tcq_store_f32(float *p, tcq_f32 x) {
    _mm256_storeu_ps(p, x);
}
#define TCQ_STREAM
static TC_INLINE void tcq_stream_f32(float *p, tcq_f32 x) {
    _mm256_stream_ps(p, x);
}
static TC_INLINE void tcq_stream_end(void) {
    _mm_sfence();
}
static TC_INLINE void tcq_storen_f32(float *p, tc_index n, tcq_f32 x) {
    _mm256_maskstore_ps(p, tcq_range(0, n), x);
}
static TC_INLINE tcq_f32 tcq_set_f32(const float *p, tc_index s) {
    return _mm256_setr_ps(p[0], p[s], p[2 * s], p[3 * s], p[4 * s], p[5 * s], p[6 * s], p[7 * s]);
}

static TC_INLINE tcq_f32 tcq_even_f32(tcq_f32 x, tcq_f32 y) {
    const __m256d halves = _mm256_castps_pd(_mm256_shuffle_ps(x, y, 0x88));
    return _mm256_castpd_ps(_mm256_permute4x64_pd(halves, 0xd8));
}
static TC_INLINE tcq_f32 tcq_odd_f32(tcq_f32 x, tcq_f32 y) {
    const __m256d halves = _mm256_castps_pd(_mm256_shuffle_ps(x, y, 0xdd));
    return _mm256_castpd_ps(_mm256_permute4x64_pd(halves, 0xd8));
}
/* From memory: halves are brought to their places as they are loaded. */
#define TCQ_EVENS
static TC_INLINE __m256 tcq_halves(const float *low, const float *high) {
    return _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(low)), _mm_loadu_ps(high), 1);
}
static TC_INLINE tcq_f32 tcq_evens_f32(const float *p) {
    return _mm256_shuffle_ps(tcq_halves(p, p + 8), tcq_halves(p + 4, p + 12), 0x88);
}
static TC_INLINE tcq_f32 tcq_odds_f32(const float *p) {
    return _mm256_shuffle_ps(tcq_halves(p, p + 8), tcq_halves(p + 4, p + 12), 0xdd);
}

static TC_INLINE tcq_i32 tcq_splat_i32(int32_t x) {
    return _mm256_set1_epi32(x);
}
static TC_INLINE tcq_i32 tcq_load_i32(const int32_t *p) {
    return _mm256_loadu_si256((const __m256i *)(const void *)p);
}
static TC_INLINE tcq_i32 tcq_loadw_i32(const int32_t *p, tc_index lo, tc_index hi, tcq_i32 other) {
    tcq_mask m = tcq_range(lo, hi);
    return _mm256_blendv_epi8(other, _mm256_maskload_epi32(p, m), m);
}
static TC_INLINE void tcq_store_i32(int32_t *p, tcq_i32 x) {
    _mm256_storeu_si256((__m256i *)(void *)p, x);
}
static TC_INLINE void tcq_storen_i32(int32_t *p, tc_index n, tcq_i32 x) {
    _mm256_maskstore_epi32(p, tcq_range(0, n), x);
}

static TC_INLINE tcq_f32 tcq_asfloat_i32(tcq_i32 x) {
    return _mm256_castsi256_ps(x);
}
static TC_INLINE tcq_i32 tcq_asint_f32(tcq_f32 x) {
    return _mm256_castps_si256(x);
}

static TC_INLINE tcq_f32 tcq_add_f32(tcq_f32 x, tcq_f32 y) {
    return _mm256_add_ps(x, y);
}
static TC_INLINE tcq_f32 tcq_sub_f32(tcq_f32 x, tcq_f32 y) {
    return _mm256_sub_ps(x, y);
}
static TC_INLINE tcq_f32 tcq_mul_f32(tcq_f32 x, tcq_f32 y) {
    return _mm256_mul_ps(x, y);
}
static TC_INLINE tcq_f32 tcq_div_f32(tcq_f32 x, tcq_f32 y) {
    return _mm256_div_ps(x, y);
}
static TC_INLINE tcq_f32 tcq_fma_f32(tcq_f32 x, tcq_f32 y, tcq_f32 z) {
    return _mm256_fmadd_ps(x, y, z);
}
static TC_INLINE tcq_f32 tcq_sqrt_f32(tcq_f32 x) {
    return _mm256_sqrt_ps(x);
}
static TC_INLINE tcq_f32 tcq_neg_f32(tcq_f32 x) {
    return _mm256_xor_ps(x, _mm256_set1_ps(-0.0f));
}
static TC_INLINE tcq_f32 tcq_abs_f32(tcq_f32 x) {
    return _mm256_andnot_ps(_mm256_set1_ps(-0.0f), x);
}
/* maxps(x, y) is y where either is NaN or both are zero: both orders agree elsewhere, and unordered lanes become NaN. */
static TC_INLINE tcq_f32 tcq_maximum_f32(tcq_f32 x, tcq_f32 y) {
    return _mm256_or_ps(_mm256_and_ps(_mm256_max_ps(x, y), _mm256_max_ps(y, x)), _mm256_cmp_ps(x, y, _CMP_UNORD_Q));
}
static TC_INLINE tcq_f32 tcq_minimum_f32(tcq_f32 x, tcq_f32 y) {
    return _mm256_or_ps(_mm256_or_ps(_mm256_min_ps(x, y), _mm256_min_ps(y, x)), _mm256_cmp_ps(x, y, _CMP_UNORD_Q));
}
/* minps and maxps give the second operand where one is NaN or both are equal. */
static TC_INLINE tcq_f32 tcq_lesser_f32(tcq_f32 x, tcq_f32 y) {
    return _mm256_min_ps(x, y);
}
static TC_INLINE tcq_f32 tcq_greater_f32(tcq_f32 x, tcq_f32 y) {
    return _mm256_max_ps(x, y);
}
static TC_INLINE tcq_mask tcq_eq_f32(tcq_f32 x, tcq_f32 y) {
    return _mm256_castps_si256(_mm256_cmp_ps(x, y, _CMP_EQ_OQ));
}
static TC_INLINE tcq_mask tcq_ne_f32(tcq_f32 x, tcq_f32 y) {
    return _mm256_castps_si256(_mm256_cmp_ps(x, y, _CMP_NEQ_UQ));
}
static TC_INLINE tcq_mask tcq_lt_f32(tcq_f32 x, tcq_f32 y) {
    return _mm256_castps_si256(_mm256_cmp_ps(x, y, _CMP_LT_OQ));
}
static TC_INLINE tcq_mask tcq_le_f32(tcq_f32 x, tcq_f32 y) {
    return _mm256_castps_si256(_mm256_cmp_ps(x, y, _CMP_LE_OQ));
}
static TC_INLINE tcq_f32 tcq_select_f32(tcq_mask m, tcq_f32 x, tcq_f32 y) {
    return _mm256_blendv_ps(y, x, _mm256_castsi256_ps(m));
}

static TC_INLINE tcq_i32 tcq_add_i32(tcq_i32 x, tcq_i32 y) {
    return _mm256_add_epi32(x, y);
}
static TC_INLINE tcq_i32 tcq_sub_i32(tcq_i32 x, tcq_i32 y) {
    return _mm256_sub_epi32(x, y);
}
static TC_INLINE tcq_i32 tcq_mul_i32(tcq_i32 x, tcq_i32 y) {
    return _mm256_mullo_epi32(x, y);
}
/* x * y + z, where x and y are within 16 bits, signed: their upper halves are multiplied by 0 of y's. */
static TC_INLINE tcq_i32 tcq_fma_short(tcq_i32 x, tcq_i32 y, tcq_i32 z) {
    const __m256i low = _mm256_and_si256(y, _mm256_set1_epi32(0xffff));
#ifdef __AVXVNNI__
    return _mm256_dpwssd_avx_epi32(z, x, low);
#else
    return _mm256_add_epi32(z, _mm256_madd_epi16(x, low));
#endif
}
static TC_INLINE tcq_i32 tcq_abs_i32(tcq_i32 x) {
    return _mm256_abs_epi32(x);
}
static TC_INLINE tcq_i32 tcq_maximum_i32(tcq_i32 x, tcq_i32 y) {
    return _mm256_max_epi32(x, y);
}
static TC_INLINE tcq_i32 tcq_minimum_i32(tcq_i32 x, tcq_i32 y) {
    return _mm256_min_epi32(x, y);
}
static TC_INLINE tcq_i32 tcq_and_i32(tcq_i32 x, tcq_i32 y) {
    return _mm256_and_si256(x, y);
}
static TC_INLINE tcq_i32 tcq_or_i32(tcq_i32 x, tcq_i32 y) {
    return _mm256_or_si256(x, y);
}
static TC_INLINE tcq_i32 tcq_xor_i32(tcq_i32 x, tcq_i32 y) {
    return _mm256_xor_si256(x, y);
}
static TC_INLINE tcq_i32 tcq_shl_i32(tcq_i32 x, int n) {
    return _mm256_slli_epi32(x, n);
}
static TC_INLINE tcq_i32 tcq_sar_i32(tcq_i32 x, int n) {
    return _mm256_srai_epi32(x, n);
}
static TC_INLINE tcq_mask tcq_eq_i32(tcq_i32 x, tcq_i32 y) {
    return _mm256_cmpeq_epi32(x, y);
}
static TC_INLINE tcq_mask tcq_lt_i32(tcq_i32 x, tcq_i32 y) {
    return _mm256_cmpgt_epi32(y, x);
}
static TC_INLINE tcq_i32 tcq_select_i32(tcq_mask m, tcq_i32 x, tcq_i32 y) {
    return _mm256_blendv_epi8(y, x, m);
}

static TC_INLINE tcq_f32 tcq_cast_i32_f32(tcq_i32 x) {
    return _mm256_cvtepi32_ps(x);
}
static TC_INLINE tcq_i32 tcq_truncate_f32(tcq_f32 x) {
    return _mm256_cvttps_epi32(x);
}
static TC_INLINE tcq_i32 tcq_cast_bounded_f32(tcq_f32 x) {
    return _mm256_and_si256(_mm256_castps_si256(_mm256_cmp_ps(x, x, _CMP_ORD_Q)), _mm256_cvttps_epi32(x));
}
/* The conversion gives INT32_MIN beyond the range and for NaN. */
static TC_INLINE tcq_i32 tcq_cast_f32_i32(tcq_f32 x) {
    __m256i big = _mm256_castps_si256(_mm256_cmp_ps(x, _mm256_set1_ps(0x1p31f), _CMP_GE_OQ));
    __m256i number = _mm256_castps_si256(_mm256_cmp_ps(x, x, _CMP_ORD_Q));
    return _mm256_and_si256(number, _mm256_xor_si256(_mm256_cvttps_epi32(x), big));
}

#define TCQ_QUANTIZED
static TC_INLINE tcq_f32 tcq_between_f32(tcq_f32 x, tcq_f32 low, tcq_f32 high) {
    return _mm256_min_ps(high, _mm256_max_ps(low, x));
}
static TC_INLINE tcq_i32 tcq_limited_f32(tcq_f32 x, tcq_f32 low, tcq_f32 high) {
    return _mm256_cvtps_epi32(tcq_between_f32(x, low, high));
}
static TC_INLINE tcq_i32 tcq_quantized_f32(tcq_f32 x, tcq_f32 low, tcq_f32 high, tcq_i32 zero) {
    const __m256i number = _mm256_castps_si256(_mm256_cmp_ps(x, x, _CMP_ORD_Q));
    return _mm256_and_si256(number, _mm256_add_epi32(tcq_limited_f32(x, low, high), zero));
}

static TC_INLINE tcq_i32 tcq_widen_i8(const int8_t *p) {
    return _mm256_cvtepi8_epi32(_mm_loadl_epi64((const __m128i *)(const void *)p));
}
static TC_INLINE tcq_i32 tcq_widen_u8(const uint8_t *p) {
    return _mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)(const void *)p));
}
static TC_INLINE tcq_i32 tcq_widen_i16(const int16_t *p) {
    return _mm256_cvtepi16_epi32(_mm_loadu_si128((const __m128i *)(const void *)p));
}
static TC_INLINE tcq_i32 tcq_widen_u16(const uint16_t *p) {
    return _mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)(const void *)p));
}
static TC_INLINE tcq_i32 tcq_pairs_8(const void *p) {
    return _mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)p));
}
static TC_INLINE tcq_i32 tcq_pairs_16(const void *p) {
    return _mm256_loadu_si256((const __m256i *)p);
}

#define TCQ_SHIFTS
static TC_INLINE tcq_i32 tcq_shift_left_i32(tcq_i32 x, tcq_i32 n) {
    return _mm256_sllv_epi32(x, n);
}
static TC_INLINE tcq_i32 tcq_shift_right_i32(tcq_i32 x, tcq_i32 n) {
    return _mm256_srav_epi32(x, n);
}

#define TCQ_ROUND
static TC_INLINE tcq_f32 tcq_round_f32(tcq_f32 x) {
    return _mm256_round_ps(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}

#define TCQ_F16
static TC_INLINE tcq_f32 tcq_load_f16(const uint16_t *p) {
    return _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(const void *)p));
}
static TC_INLINE void tcq_store_f16(uint16_t *p, tcq_f32 x) {
    _mm_storeu_si128((__m128i *)(void *)p, _mm256_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT));
}
static TC_INLINE tcq_f32 tcq_unpack_f16(tcq_i32 pattern) {
    return _mm256_cvtph_ps(_mm_packus_epi32(_mm256_castsi256_si128(pattern), _mm256_extracti128_si256(pattern, 1)));
}
static TC_INLINE tcq_f32 tcq_round_f16(tcq_f32 x) {
    return _mm256_cvtph_ps(_mm256_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT));
}

static TC_INLINE tcq_mask tcq_splat_bool(uint8_t x) {
    return _mm256_set1_epi32(-(x != 0));
}
static TC_INLINE tcq_mask tcq_and_bool(tcq_mask x, tcq_mask y) {
    return _mm256_and_si256(x, y);
}
static TC_INLINE tcq_mask tcq_or_bool(tcq_mask x, tcq_mask y) {
    return _mm256_or_si256(x, y);
}
static TC_INLINE tcq_mask tcq_xor_bool(tcq_mask x, tcq_mask y) {
    return _mm256_xor_si256(x, y);
}
static TC_INLINE tcq_mask tcq_not_bool(tcq_mask x) {
    return _mm256_xor_si256(x, _mm256_set1_epi32(-1));
}
static TC_INLINE uint8_t tcq_any_bool(tcq_mask x) {
    return _mm256_movemask_epi8(x) != 0;
}
static TC_INLINE tcq_mask tcq_load_bool(const uint8_t *p) {
    __m256i wide = _mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)(const void *)p));
    return _mm256_cmpgt_epi32(wide, _mm256_setzero_si256());
}
static TC_INLINE void tcq_store_bool(uint8_t *p, tcq_mask x) {
    __m128i words = _mm_packs_epi32(_mm256_castsi256_si128(x), _mm256_extracti128_si256(x, 1));
    __m128i bytes = _mm_and_si128(_mm_packs_epi16(words, words), _mm_set1_epi8(1));
    _mm_storel_epi64((__m128i *)(void *)p, bytes);
}

static TC_INLINE float tcq_sum_f32(tcq_f32 x) {
    __m128 q = _mm_add_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
    q = _mm_add_ps(q, _mm_movehl_ps(q, q));
    return _mm_cvtss_f32(_mm_add_ss(q, _mm_shuffle_ps(q, q, 1)));
}
static TC_INLINE int32_t tcq_sum_i32(tcq_i32 x) {
    __m128i q = _mm_add_epi32(_mm256_castsi256_si128(x), _mm256_extracti128_si256(x, 1));
    q = _mm_add_epi32(q, _mm_shuffle_epi32(q, 0x4e));
    return _mm_cvtsi128_si32(_mm_add_epi32(q, _mm_shuffle_epi32(q, 0xb1)));
}
static TC_INLINE int32_t tcq_max_i32(tcq_i32 x) {
    __m128i q = _mm_max_epi32(_mm256_castsi256_si128(x), _mm256_extracti128_si256(x, 1));
    q = _mm_max_epi32(q, _mm_shuffle_epi32(q, 0x4e));
    return _mm_cvtsi128_si32(_mm_max_epi32(q, _mm_shuffle_epi32(q, 0xb1)));
}
static TC_INLINE int32_t tcq_min_i32(tcq_i32 x) {
    __m128i q = _mm_min_epi32(_mm256_castsi256_si128(x), _mm256_extracti128_si256(x, 1));
    q = _mm_min_epi32(q, _mm_shuffle_epi32(q, 0x4e));
    return _mm_cvtsi128_si32(_mm_min_epi32(q, _mm_shuffle_epi32(q, 0xb1)));
}

#endif
