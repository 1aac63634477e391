/* SPDX-License-Identifier: Apache-2.0
 *
 * AVX-512 (F, BW, DQ, VL): one register of 16 lanes. See tc_vector_parts.h for the contract of the tcq_ functions.
 */
#ifndef TC_VECTOR_AVX512_H
#define TC_VECTOR_AVX512_H

#include <immintrin.h>

#define TCQ_COUNT 1
typedef __m512 tcq_f32;
typedef __m512i tcq_i32;
typedef __mmask16 tcq_mask;

static TC_INLINE tcq_mask tcq_first(tc_index n) {
    return n >= 16 ? (tcq_mask)0xffff : n <= 0 ? (tcq_mask)0 : (tcq_mask)((1u << n) - 1);
}

static TC_INLINE tcq_mask tcq_range(tc_index lo, tc_index hi) {
    return (tcq_mask)(tcq_first(hi) & ~tcq_first(lo));
}

static TC_INLINE tcq_f32 tcq_splat_f32(float x) {
    return _mm512_set1_ps(x);
}
static TC_INLINE tcq_f32 tcq_load_f32(const float *p) {
    return _mm512_loadu_ps(p);
}
static TC_INLINE tcq_f32 tcq_loadw_f32(const float *p, tc_index lo, tc_index hi, tcq_f32 other) {
    return _mm512_mask_loadu_ps(other, tcq_range(lo, hi), p);
}
static TC_INLINE void tcq_store_f32(float *p, tcq_f32 x) {
    _mm512_storeu_ps(p, x);
}
#define TCQ_STREAM
static TC_INLINE void tcq_stream_f32(float *p, tcq_f32 x) {
    _mm512_stream_ps(p, x);
}
static TC_INLINE void tcq_stream_end(void) {
    _mm_sfence();
}
static TC_INLINE void tcq_storen_f32(float *p, tc_index n, tcq_f32 x) {
    if (__builtin_constant_p(n) && n == 8) /* stores of Zen 4 take much longer with a mask */
        _mm256_storeu_ps(p, _mm512_castps512_ps256(x));
    else
        _mm512_mask_storeu_ps(p, tcq_first(n), x);
}
static TC_INLINE tcq_f32 tcq_set_f32(const float *p, tc_index s) {
    return _mm512_setr_ps(p[0], p[s], p[2 * s], p[3 * s], p[4 * s], p[5 * s], p[6 * s], p[7 * s], p[8 * s], p[9 * s],
                          p[10 * s], p[11 * s], p[12 * s], p[13 * s], p[14 * s], p[15 * s]);
}

/* Of two registers in memory order. */
static TC_INLINE tcq_f32 tcq_even_f32(tcq_f32 x, tcq_f32 y) {
    const __m512i lanes = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
    return _mm512_permutex2var_ps(x, lanes, y);
}
static TC_INLINE tcq_f32 tcq_odd_f32(tcq_f32 x, tcq_f32 y) {
    const __m512i lanes = _mm512_setr_epi32(1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31);
    return _mm512_permutex2var_ps(x, lanes, y);
}

static TC_INLINE tcq_i32 tcq_splat_i32(int32_t x) {
    return _mm512_set1_epi32(x);
}
static TC_INLINE tcq_i32 tcq_load_i32(const int32_t *p) {
    return _mm512_loadu_si512(p);
}
static TC_INLINE tcq_i32 tcq_loadw_i32(const int32_t *p, tc_index lo, tc_index hi, tcq_i32 other) {
    return _mm512_mask_loadu_epi32(other, tcq_range(lo, hi), p);
}
static TC_INLINE void tcq_store_i32(int32_t *p, tcq_i32 x) {
    _mm512_storeu_si512(p, x);
}
static TC_INLINE void tcq_storen_i32(int32_t *p, tc_index n, tcq_i32 x) {
    _mm512_mask_storeu_epi32(p, tcq_first(n), x);
}

static TC_INLINE tcq_f32 tcq_asfloat_i32(tcq_i32 x) {
    return _mm512_castsi512_ps(x);
}
static TC_INLINE tcq_i32 tcq_asint_f32(tcq_f32 x) {
    return _mm512_castps_si512(x);
}

static TC_INLINE tcq_f32 tcq_add_f32(tcq_f32 x, tcq_f32 y) {
    return _mm512_add_ps(x, y);
}
static TC_INLINE tcq_f32 tcq_sub_f32(tcq_f32 x, tcq_f32 y) {
    return _mm512_sub_ps(x, y);
}
static TC_INLINE tcq_f32 tcq_mul_f32(tcq_f32 x, tcq_f32 y) {
    return _mm512_mul_ps(x, y);
}
static TC_INLINE tcq_f32 tcq_div_f32(tcq_f32 x, tcq_f32 y) {
    return _mm512_div_ps(x, y);
}
/* The divisor is the same in a loop, so its reciprocal is there: multiply-adds take less than half of the divider's time.
 * With the reciprocal r rounded to nearest and a quotient q within a last place of x / y, q + (x - q y) r is the quotient
 * rounded to nearest (Markstein, 1990), where nothing leaves the normal numbers: other lanes than zeros must be within
 * 2^-60 and 2^60. Such a q is x r plus x times what rounding took from r. */
#define TCQ_DIV_BY
typedef struct {
    float y, inverse, rest;
    __mmask16 all; /* lanes that are divided for y's sake */
} tcq_divisor;
static TC_INLINE tcq_divisor tcq_divisor_f32(float y) {
    const float inverse = 1.0f / y, rest = __builtin_fmaf(-inverse, y, 1.0f) * inverse;
    return (tcq_divisor){y, inverse, rest, y >= 0x1p-60f && y <= 0x1p60f ? 0 : 0xffff};
}
static TC_INLINE tcq_f32 tcq_quotient_f32(tcq_f32 x, const tcq_divisor *by) {
    const __m512 r = _mm512_set1_ps(by->inverse), q = _mm512_fmadd_ps(x, r, _mm512_mul_ps(x, _mm512_set1_ps(by->rest)));
    return _mm512_fmadd_ps(_mm512_fnmadd_ps(q, _mm512_set1_ps(by->y), x), r, q);
}
/* How far each lane's bits are above those of 2^-60; more than TCQ_NEAR where x is beyond, or a zero. */
#define TCQ_NEAR 0x3c000000
static TC_INLINE __m512i tcq_above_f32(tcq_f32 x) {
    return _mm512_sub_epi32(_mm512_castps_si512(x), _mm512_set1_epi32(0x21800000));
}
static TC_INLINE tcq_f32 tcq_div_by_f32(tcq_f32 x, float y) {
    const tcq_divisor by = tcq_divisor_f32(y);
    const __mmask16 some = _mm512_test_epi32_mask(_mm512_castps_si512(x), _mm512_castps_si512(x));
    const __mmask16 beyond = _mm512_mask_cmpgt_epu32_mask(some, tcq_above_f32(x), _mm512_set1_epi32(TCQ_NEAR));
    if (__builtin_expect(beyond | by.all, 0))
        return tcq_div_f32(x, _mm512_set1_ps(y));
    return tcq_quotient_f32(x, &by);
}
static TC_INLINE tcq_f32 tcq_fma_f32(tcq_f32 x, tcq_f32 y, tcq_f32 z) {
    return _mm512_fmadd_ps(x, y, z);
}
static TC_INLINE tcq_f32 tcq_sqrt_f32(tcq_f32 x) {
    return _mm512_sqrt_ps(x);
}
static TC_INLINE tcq_f32 tcq_neg_f32(tcq_f32 x) {
    return tcq_asfloat_i32(_mm512_xor_si512(tcq_asint_f32(x), _mm512_set1_epi32(INT32_MIN)));
}
static TC_INLINE tcq_f32 tcq_abs_f32(tcq_f32 x) {
    return tcq_asfloat_i32(_mm512_and_si512(tcq_asint_f32(x), _mm512_set1_epi32(INT32_MAX)));
}
/* vrangeps orders -0 below +0 and returns the other operand where one is NaN: those lanes take x + y instead. */
static TC_INLINE tcq_f32 tcq_maximum_f32(tcq_f32 x, tcq_f32 y) {
    return _mm512_mask_add_ps(_mm512_range_ps(x, y, 5), _mm512_cmp_ps_mask(x, y, _CMP_UNORD_Q), x, y);
}
static TC_INLINE tcq_f32 tcq_minimum_f32(tcq_f32 x, tcq_f32 y) {
    return _mm512_mask_add_ps(_mm512_range_ps(x, y, 4), _mm512_cmp_ps_mask(x, y, _CMP_UNORD_Q), x, y);
}
/* minps and maxps give the second operand where one is NaN or both are equal. */
static TC_INLINE tcq_f32 tcq_lesser_f32(tcq_f32 x, tcq_f32 y) {
    return _mm512_min_ps(x, y);
}
static TC_INLINE tcq_f32 tcq_greater_f32(tcq_f32 x, tcq_f32 y) {
    return _mm512_max_ps(x, y);
}
#define TCQ_SCALE
/* Lanes whose result is 0 are left out, as the instruction rounds denormal numbers on the way to it. */
static TC_INLINE tcq_f32 tcq_scale_f32(tcq_f32 x, tcq_f32 n) {
    return _mm512_maskz_scalef_ps(_mm512_cmp_ps_mask(n, _mm512_set1_ps(-252.0f), _CMP_NLT_UQ), x, n);
}
static TC_INLINE tcq_mask tcq_eq_f32(tcq_f32 x, tcq_f32 y) {
    return _mm512_cmp_ps_mask(x, y, _CMP_EQ_OQ);
}
static TC_INLINE tcq_mask tcq_ne_f32(tcq_f32 x, tcq_f32 y) {
    return _mm512_cmp_ps_mask(x, y, _CMP_NEQ_UQ);
}
static TC_INLINE tcq_mask tcq_lt_f32(tcq_f32 x, tcq_f32 y) {
    return _mm512_cmp_ps_mask(x, y, _CMP_LT_OQ);
}
static TC_INLINE tcq_mask tcq_le_f32(tcq_f32 x, tcq_f32 y) {
    return _mm512_cmp_ps_mask(x, y, _CMP_LE_OQ);
}
static TC_INLINE tcq_f32 tcq_select_f32(tcq_mask m, tcq_f32 x, tcq_f32 y) {
    return _mm512_mask_blend_ps(m, y, x);
}

static TC_INLINE tcq_i32 tcq_add_i32(tcq_i32 x, tcq_i32 y) {
    return _mm512_add_epi32(x, y);
}
static TC_INLINE tcq_i32 tcq_sub_i32(tcq_i32 x, tcq_i32 y) {
    return _mm512_sub_epi32(x, y);
}
static TC_INLINE tcq_i32 tcq_mul_i32(tcq_i32 x, tcq_i32 y) {
    return _mm512_mullo_epi32(x, y);
}
/* x * y + z, where x and y are within 16 bits, signed: their upper halves are multiplied by 0 of y's. */
static TC_INLINE tcq_i32 tcq_fma_short(tcq_i32 x, tcq_i32 y, tcq_i32 z) {
    const __m512i low = _mm512_and_si512(y, _mm512_set1_epi32(0xffff));
#ifdef __AVX512VNNI__
    return _mm512_dpwssd_epi32(z, x, low);
#else
    return _mm512_add_epi32(z, _mm512_madd_epi16(x, low));
#endif
}
static TC_INLINE tcq_i32 tcq_abs_i32(tcq_i32 x) {
    return _mm512_abs_epi32(x);
}
static TC_INLINE tcq_i32 tcq_maximum_i32(tcq_i32 x, tcq_i32 y) {
    return _mm512_max_epi32(x, y);
}
static TC_INLINE tcq_i32 tcq_minimum_i32(tcq_i32 x, tcq_i32 y) {
    return _mm512_min_epi32(x, y);
}
static TC_INLINE tcq_i32 tcq_and_i32(tcq_i32 x, tcq_i32 y) {
    return _mm512_and_si512(x, y);
}
static TC_INLINE tcq_i32 tcq_or_i32(tcq_i32 x, tcq_i32 y) {
    return _mm512_or_si512(x, y);
}
static TC_INLINE tcq_i32 tcq_xor_i32(tcq_i32 x, tcq_i32 y) {
    return _mm512_xor_si512(x, y);
}
static TC_INLINE tcq_i32 tcq_shl_i32(tcq_i32 x, int n) {
    return _mm512_sllv_epi32(x, _mm512_set1_epi32(n));
}
static TC_INLINE tcq_i32 tcq_sar_i32(tcq_i32 x, int n) {
    return _mm512_srav_epi32(x, _mm512_set1_epi32(n));
}
static TC_INLINE tcq_mask tcq_eq_i32(tcq_i32 x, tcq_i32 y) {
    return _mm512_cmpeq_epi32_mask(x, y);
}
static TC_INLINE tcq_mask tcq_lt_i32(tcq_i32 x, tcq_i32 y) {
    return _mm512_cmplt_epi32_mask(x, y);
}
static TC_INLINE tcq_i32 tcq_select_i32(tcq_mask m, tcq_i32 x, tcq_i32 y) {
    return _mm512_mask_blend_epi32(m, y, x);
}

static TC_INLINE tcq_f32 tcq_cast_i32_f32(tcq_i32 x) {
    return _mm512_cvtepi32_ps(x);
}
static TC_INLINE tcq_i32 tcq_truncate_f32(tcq_f32 x) {
    return _mm512_cvttps_epi32(x);
}
static TC_INLINE tcq_i32 tcq_cast_bounded_f32(tcq_f32 x) {
    return _mm512_maskz_cvttps_epi32(_mm512_cmp_ps_mask(x, x, _CMP_ORD_Q), x);
}
/* The conversion gives INT32_MIN beyond the range and for NaN. */
static TC_INLINE tcq_i32 tcq_cast_f32_i32(tcq_f32 x) {
    tcq_mask big = _mm512_cmp_ps_mask(x, _mm512_set1_ps(0x1p31f), _CMP_GE_OQ);
    tcq_mask number = _mm512_cmp_ps_mask(x, x, _CMP_ORD_Q);
    return _mm512_maskz_mov_epi32(number, _mm512_mask_set1_epi32(_mm512_cvttps_epi32(x), big, INT32_MAX));
}

#define TCQ_QUANTIZED
static TC_INLINE tcq_f32 tcq_between_f32(tcq_f32 x, tcq_f32 low, tcq_f32 high) {
    return _mm512_min_ps(high, _mm512_max_ps(low, x));
}
static TC_INLINE tcq_i32 tcq_limited_f32(tcq_f32 x, tcq_f32 low, tcq_f32 high) {
    return _mm512_cvtps_epi32(tcq_between_f32(x, low, high));
}
static TC_INLINE tcq_i32 tcq_quantized_f32(tcq_f32 x, tcq_f32 low, tcq_f32 high, tcq_i32 zero) {
    return _mm512_maskz_add_epi32(_mm512_cmp_ps_mask(x, x, _CMP_ORD_Q), tcq_limited_f32(x, low, high), zero);
}

static TC_INLINE tcq_i32 tcq_widen_i8(const int8_t *p) {
    return _mm512_cvtepi8_epi32(_mm_loadu_si128((const __m128i *)(const void *)p));
}
static TC_INLINE tcq_i32 tcq_widen_u8(const uint8_t *p) {
    return _mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i *)(const void *)p));
}
static TC_INLINE tcq_i32 tcq_widen_i16(const int16_t *p) {
    return _mm512_cvtepi16_epi32(_mm256_loadu_si256((const __m256i *)(const void *)p));
}
static TC_INLINE tcq_i32 tcq_widen_u16(const uint16_t *p) {
    return _mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *)(const void *)p));
}
static TC_INLINE tcq_i32 tcq_pairs_8(const void *p) {
    return _mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *)p));
}
static TC_INLINE tcq_i32 tcq_pairs_16(const void *p) {
    return _mm512_loadu_si512(p);
}

#define TCQ_SHIFTS
static TC_INLINE tcq_i32 tcq_shift_left_i32(tcq_i32 x, tcq_i32 n) {
    return _mm512_sllv_epi32(x, n);
}
static TC_INLINE tcq_i32 tcq_shift_right_i32(tcq_i32 x, tcq_i32 n) {
    return _mm512_srav_epi32(x, n);
}

#define TCQ_ROUND
static TC_INLINE tcq_f32 tcq_round_f32(tcq_f32 x) {
    return _mm512_roundscale_ps(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}

#define TCQ_F16
static TC_INLINE tcq_f32 tcq_load_f16(const uint16_t *p) {
    return _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)(const void *)p));
}
static TC_INLINE void tcq_store_f16(uint16_t *p, tcq_f32 x) {
    _mm256_storeu_si256((__m256i *)(void *)p, _mm512_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT));
}
static TC_INLINE tcq_f32 tcq_unpack_f16(tcq_i32 pattern) {
    return _mm512_cvtph_ps(_mm512_cvtepi32_epi16(pattern));
}
static TC_INLINE tcq_f32 tcq_round_f16(tcq_f32 x) {
    return _mm512_cvtph_ps(_mm512_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT));
}

static TC_INLINE tcq_mask tcq_splat_bool(uint8_t x) {
    return (tcq_mask)(x ? 0xffff : 0);
}
static TC_INLINE tcq_mask tcq_and_bool(tcq_mask x, tcq_mask y) {
    return (tcq_mask)(x & y);
}
static TC_INLINE tcq_mask tcq_or_bool(tcq_mask x, tcq_mask y) {
    return (tcq_mask)(x | y);
}
static TC_INLINE tcq_mask tcq_xor_bool(tcq_mask x, tcq_mask y) {
    return (tcq_mask)(x ^ y);
}
static TC_INLINE tcq_mask tcq_not_bool(tcq_mask x) {
    return (tcq_mask)~x;
}
static TC_INLINE uint8_t tcq_any_bool(tcq_mask x) {
    return x != 0;
}
static TC_INLINE tcq_mask tcq_load_bool(const uint8_t *p) {
    __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)p);
    return _mm_test_epi8_mask(bytes, bytes);
}
static TC_INLINE void tcq_store_bool(uint8_t *p, tcq_mask x) {
    _mm_storeu_si128((__m128i *)(void *)p, _mm_maskz_set1_epi8(x, 1));
}

/* The lower half of the lanes with the upper half folded onto it, until one is left. */
static TC_INLINE float tcq_sum_f32(tcq_f32 x) {
    __m256 h = _mm256_add_ps(_mm512_castps512_ps256(x), _mm512_extractf32x8_ps(x, 1));
    __m128 q = _mm_add_ps(_mm256_castps256_ps128(h), _mm256_extractf128_ps(h, 1));
    q = _mm_add_ps(q, _mm_movehl_ps(q, q));
    return _mm_cvtss_f32(_mm_add_ss(q, _mm_shuffle_ps(q, q, 1)));
}
static TC_INLINE int32_t tcq_sum_i32(tcq_i32 x) {
    __m256i h = _mm256_add_epi32(_mm512_castsi512_si256(x), _mm512_extracti64x4_epi64(x, 1));
    __m128i q = _mm_add_epi32(_mm256_castsi256_si128(h), _mm256_extracti128_si256(h, 1));
    q = _mm_add_epi32(q, _mm_shuffle_epi32(q, 0x4e));
    return _mm_cvtsi128_si32(_mm_add_epi32(q, _mm_shuffle_epi32(q, 0xb1)));
}
static TC_INLINE int32_t tcq_max_i32(tcq_i32 x) {
    __m256i h = _mm256_max_epi32(_mm512_castsi512_si256(x), _mm512_extracti64x4_epi64(x, 1));
    __m128i q = _mm_max_epi32(_mm256_castsi256_si128(h), _mm256_extracti128_si256(h, 1));
    q = _mm_max_epi32(q, _mm_shuffle_epi32(q, 0x4e));
    return _mm_cvtsi128_si32(_mm_max_epi32(q, _mm_shuffle_epi32(q, 0xb1)));
}
static TC_INLINE int32_t tcq_min_i32(tcq_i32 x) {
    __m256i h = _mm256_min_epi32(_mm512_castsi512_si256(x), _mm512_extracti64x4_epi64(x, 1));
    __m128i q = _mm_min_epi32(_mm256_castsi256_si128(h), _mm256_extracti128_si256(h, 1));
    q = _mm_min_epi32(q, _mm_shuffle_epi32(q, 0x4e));
    return _mm_cvtsi128_si32(_mm_min_epi32(q, _mm_shuffle_epi32(q, 0xb1)));
}

#endif
