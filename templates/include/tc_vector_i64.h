/* SPDX-License-Identifier: Apache-2.0
 *
 * Vectors of 16 lanes of i64, for what lies between i32 and i32: fixed-point products, their roundings and shifts. The
 * names and results are those of tc_scalar.h; included by tc_vector.h. What emit/scalar.py does not name in WIDE has no
 * vectors of i64.
 */
#ifndef TC_VECTOR_I64_H
#define TC_VECTOR_I64_H

#if defined(TC_ISA_AVX512)

#define TCV_WIDE_PARTS 2
#define TCV_WIDE(F) F(0) F(1)
typedef __m512i tcq_i64;

static TC_INLINE tcq_i64 tcq_wide_splat(int64_t x) {
    return _mm512_set1_epi64(x);
}
static TC_INLINE tcq_i64 tcq_wide_load(const int64_t *p) {
    return _mm512_loadu_si512(p);
}
static TC_INLINE tcq_i64 tcq_wide_add(tcq_i64 x, tcq_i64 y) {
    return _mm512_add_epi64(x, y);
}
static TC_INLINE tcq_i64 tcq_wide_sub(tcq_i64 x, tcq_i64 y) {
    return _mm512_sub_epi64(x, y);
}
static TC_INLINE tcq_i64 tcq_wide_mul(tcq_i64 x, tcq_i64 y) {
    return _mm512_mullo_epi64(x, y);
}
static TC_INLINE tcq_i64 tcq_wide_maximum(tcq_i64 x, tcq_i64 y) {
    return _mm512_max_epi64(x, y);
}
static TC_INLINE tcq_i64 tcq_wide_minimum(tcq_i64 x, tcq_i64 y) {
    return _mm512_min_epi64(x, y);
}
static TC_INLINE tcq_i64 tcq_wide_left(tcq_i64 x, tcq_i64 n) {
    return _mm512_sllv_epi64(x, n);
}
static TC_INLINE tcq_i64 tcq_wide_right(tcq_i64 x, tcq_i64 n) {
    return _mm512_srav_epi64(x, n);
}

#elif defined(TC_ISA_AVX2)

#define TCV_WIDE_PARTS 4
#define TCV_WIDE(F) F(0) F(1) F(2) F(3)
typedef __m256i tcq_i64;

static TC_INLINE tcq_i64 tcq_wide_splat(int64_t x) {
    return _mm256_set1_epi64x(x);
}
static TC_INLINE tcq_i64 tcq_wide_load(const int64_t *p) {
    return _mm256_loadu_si256((const __m256i *)p);
}
static TC_INLINE tcq_i64 tcq_wide_add(tcq_i64 x, tcq_i64 y) {
    return _mm256_add_epi64(x, y);
}
static TC_INLINE tcq_i64 tcq_wide_sub(tcq_i64 x, tcq_i64 y) {
    return _mm256_sub_epi64(x, y);
}
/* The low halves' product, and the two products of a high and a low half above it. */
static TC_INLINE tcq_i64 tcq_wide_mul(tcq_i64 x, tcq_i64 y) {
    const __m256i cross = _mm256_add_epi64(_mm256_mul_epu32(_mm256_srli_epi64(x, 32), y),
                                           _mm256_mul_epu32(x, _mm256_srli_epi64(y, 32)));
    return _mm256_add_epi64(_mm256_mul_epu32(x, y), _mm256_slli_epi64(cross, 32));
}
static TC_INLINE tcq_i64 tcq_wide_maximum(tcq_i64 x, tcq_i64 y) {
    return _mm256_blendv_epi8(y, x, _mm256_cmpgt_epi64(x, y));
}
static TC_INLINE tcq_i64 tcq_wide_minimum(tcq_i64 x, tcq_i64 y) {
    return _mm256_blendv_epi8(x, y, _mm256_cmpgt_epi64(x, y));
}
static TC_INLINE tcq_i64 tcq_wide_left(tcq_i64 x, tcq_i64 n) {
    return _mm256_sllv_epi64(x, n);
}
/* By the bits of the sign turned: what they are shifted to is taken off again. 63 stands for all that is not below it. */
static TC_INLINE tcq_i64 tcq_wide_right(tcq_i64 x, tcq_i64 n) {
    const __m256i most = _mm256_set1_epi64x(63), sign = _mm256_set1_epi64x(INT64_MIN);
    const __m256i beyond = _mm256_or_si256(_mm256_cmpgt_epi64(n, most), n);
    n = _mm256_castpd_si256(_mm256_blendv_pd(_mm256_castsi256_pd(n), _mm256_castsi256_pd(most),
                                             _mm256_castsi256_pd(beyond)));
    return _mm256_sub_epi64(_mm256_srlv_epi64(_mm256_xor_si256(x, sign), n), _mm256_srlv_epi64(sign, n));
}

#else

/* One lane after the other. */
#define TCV_WIDE_PARTS 16
#define TCV_WIDE(F) F(0) F(1) F(2) F(3) F(4) F(5) F(6) F(7) F(8) F(9) F(10) F(11) F(12) F(13) F(14) F(15)
typedef int64_t tcq_i64;

static TC_INLINE tcq_i64 tcq_wide_splat(int64_t x) {
    return x;
}
static TC_INLINE tcq_i64 tcq_wide_load(const int64_t *p) {
    return *p;
}
#define tcq_wide_add tc_add_i64
#define tcq_wide_sub tc_sub_i64
#define tcq_wide_mul tc_mul_i64
#define tcq_wide_maximum tc_maximum_i64
#define tcq_wide_minimum tc_minimum_i64
#define tcq_wide_left tc_shift_left_i64
#define tcq_wide_right tc_shift_right_i64

#endif

typedef struct {
    tcq_i64 r[TCV_WIDE_PARTS];
} tcv_i64;

#define TCV_WIDE_SPLAT(i) tcq_wide_splat(x),
static TC_INLINE tcv_i64 tcv_splat_i64(int64_t x)
{
    return (tcv_i64){{TCV_WIDE(TCV_WIDE_SPLAT)}};
}

#define TCV_WIDE_LOAD(i) tcq_wide_load(p + (i) * (16 / TCV_WIDE_PARTS)),
static TC_INLINE tcv_i64 tcv_load_i64(const int64_t *p)
{
    return (tcv_i64){{TCV_WIDE(TCV_WIDE_LOAD)}};
}

static TC_INLINE tcv_i64 tcv_loads_i64(const int64_t *p, tc_index stride, tc_index lo, tc_index hi, tcv_i64 other)
{
    int64_t t[16];
    __builtin_memcpy(t, &other, sizeof t);
    for (tc_index l = tc_max(lo, 0); l < tc_min(hi, 16); ++l)
        t[l] = p[l * stride];
    return tcv_load_i64(t);
}

static TC_INLINE tcv_i64 tcv_loadn_i64(const int64_t *p, tc_index n)
{
    return tcv_loads_i64(p, 1, 0, n, tcv_splat_i64(0));
}

static TC_INLINE void tcv_stores_i64(int64_t *p, tc_index stride, tcv_i64 x, tc_index n)
{
    int64_t t[16];
    __builtin_memcpy(t, &x, sizeof t);
    for (tc_index l = 0; l < tc_min(n, 16); ++l)
        p[l * stride] = t[l];
}

static TC_INLINE void tcv_storen_i64(int64_t *p, tcv_i64 x, tc_index n)
{
    tcv_stores_i64(p, 1, x, n);
}

static TC_INLINE void tcv_store_i64(int64_t *p, tcv_i64 x)
{
    __builtin_memcpy(p, &x, 16 * sizeof *p);
}

#define TCV_WIDE_BINARY(name, part)                                                                                    \
    static TC_INLINE tcv_i64 tcv_##name##_i64(tcv_i64 x, tcv_i64 y)                                                    \
    {                                                                                                                  \
        return (tcv_i64){{TCV_WIDE(part)}};                                                                            \
    }
#define TCV_WIDE_ADD(i) tcq_wide_add(x.r[i], y.r[i]),
TCV_WIDE_BINARY(add, TCV_WIDE_ADD)
#define TCV_WIDE_SUB(i) tcq_wide_sub(x.r[i], y.r[i]),
TCV_WIDE_BINARY(sub, TCV_WIDE_SUB)
#define TCV_WIDE_MUL(i) tcq_wide_mul(x.r[i], y.r[i]),
TCV_WIDE_BINARY(mul, TCV_WIDE_MUL)
#define TCV_WIDE_MAXIMUM(i) tcq_wide_maximum(x.r[i], y.r[i]),
TCV_WIDE_BINARY(maximum, TCV_WIDE_MAXIMUM)
#define TCV_WIDE_MINIMUM(i) tcq_wide_minimum(x.r[i], y.r[i]),
TCV_WIDE_BINARY(minimum, TCV_WIDE_MINIMUM)
#define TCV_WIDE_LEFT(i) tcq_wide_left(x.r[i], y.r[i]),
TCV_WIDE_BINARY(shift_left, TCV_WIDE_LEFT)
#define TCV_WIDE_RIGHT(i) tcq_wide_right(x.r[i], y.r[i]),
TCV_WIDE_BINARY(shift_right, TCV_WIDE_RIGHT)

#if defined(TC_ISA_AVX512)
static TC_INLINE tcv_i64 tcv_cast_i32_i64(tcv_i32 x)
{
    return (tcv_i64){{_mm512_cvtepi32_epi64(_mm512_castsi512_si256(x.a)),
                      _mm512_cvtepi32_epi64(_mm512_extracti64x4_epi64(x.a, 1))}};
}
static TC_INLINE tcv_i32 tcv_cast_i64_i32(tcv_i64 x)
{
    const __m512i low = _mm512_castsi256_si512(_mm512_cvtepi64_epi32(x.r[0]));
    return (tcv_i32){_mm512_inserti64x4(low, _mm512_cvtepi64_epi32(x.r[1]), 1)};
}
#elif defined(TC_ISA_AVX2)
static TC_INLINE tcv_i64 tcv_cast_i32_i64(tcv_i32 x)
{
    return (tcv_i64){{_mm256_cvtepi32_epi64(_mm256_castsi256_si128(x.a)),
                      _mm256_cvtepi32_epi64(_mm256_extracti128_si256(x.a, 1)),
                      _mm256_cvtepi32_epi64(_mm256_castsi256_si128(x.b)),
                      _mm256_cvtepi32_epi64(_mm256_extracti128_si256(x.b, 1))}};
}
/* The low halves of 8 lanes. */
static TC_INLINE __m256i tcq_low_halves(__m256i x, __m256i y)
{
    const __m256 both = _mm256_shuffle_ps(_mm256_castsi256_ps(x), _mm256_castsi256_ps(y), 0x88);
    return _mm256_permute4x64_epi64(_mm256_castps_si256(both), 0xd8);
}
static TC_INLINE tcv_i32 tcv_cast_i64_i32(tcv_i64 x)
{
    return (tcv_i32){tcq_low_halves(x.r[0], x.r[1]), tcq_low_halves(x.r[2], x.r[3])};
}
#else
static TC_INLINE tcv_i64 tcv_cast_i32_i64(tcv_i32 x)
{
    int32_t t[16];
    tcv_i64 r;
    tcv_store_i32(t, x);
    for (int l = 0; l < 16; ++l)
        r.r[l] = t[l];
    return r;
}
static TC_INLINE tcv_i32 tcv_cast_i64_i32(tcv_i64 x)
{
    int32_t t[16];
    for (int l = 0; l < 16; ++l)
        t[l] = tc_cast_i64_i32(x.r[l]);
    return tcv_load_i32(t);
}
#endif

/* -- products of i32 that are rounded to a half of their bits -------------------------------------------------------------
 * tcv_upper_half_i32(x, y): x + ((x * y + 2^31) >> 32); tcv_high_half_i32(x, y): min((x * y + 2^30) >> 31, INT32_MAX).
 * What emit/halves.py finds in scalar expressions. Only -2^31 * -2^31 is too large for the second. */
#if defined(TC_ISA_NEON)

static TC_INLINE tcq_i32 tcq_upper_half_i32(tcq_i32 x, tcq_i32 y) {
    const int32x2_t low = vrshrn_n_s64(vmull_s32(vget_low_s32(x), vget_low_s32(y)), 32);
    return vaddq_s32(x, vrshrn_high_n_s64(low, vmull_high_s32(x, y), 32));
}
static TC_INLINE tcq_i32 tcq_high_half_i32(tcq_i32 x, tcq_i32 y) {
    return vqrdmulhq_s32(x, y);
}

#elif defined(TC_ISA_SCALAR)
#else

#if defined(TC_ISA_AVX512)
#define TCQ_X86(name) _mm512_##name
#define TCQ_HALF_ODD(x) _mm512_srli_epi64(x, 32)
#define TCQ_HALF_JOIN(even, odd) _mm512_mask_blend_epi32(0xaaaa, even, odd)
#define TCQ_HALF_OVER(x, y) _mm512_mask_sub_epi32(x, _mm512_cmpeq_epi32_mask(x, y), x, _mm512_set1_epi32(1))
#define TCQ_PRODUCT(x, y) _mm512_mul_epi32(x, y)
#define tcq_words _mm512_set1_epi64
#elif defined(TC_ISA_AVX2)
#define TCQ_X86(name) _mm256_##name
#define TCQ_HALF_ODD(x) _mm256_srli_epi64(x, 32)
#define TCQ_HALF_JOIN(even, odd) _mm256_blend_epi32(even, odd, 0xaa)
#define TCQ_HALF_OVER(x, y) _mm256_add_epi32(x, _mm256_cmpeq_epi32(x, y))
#define TCQ_PRODUCT(x, y) _mm256_mul_epi32(x, y)
#define tcq_words _mm256_set1_epi64x
#else
#define TCQ_X86(name) _mm_##name
#define TCQ_HALF_ODD(x) _mm_srli_epi64(x, 32)
#define TCQ_HALF_JOIN(even, odd)                                                                                       \
    _mm_or_si128(_mm_and_si128(even, _mm_set1_epi64x(0xffffffff)), _mm_andnot_si128(_mm_set1_epi64x(0xffffffff), odd))
#define TCQ_HALF_OVER(x, y) _mm_add_epi32(x, _mm_cmpeq_epi32(x, y))
/* The product of signed words from that of unsigned ones: 2^32 times each is taken off where the other is negative. */
static TC_INLINE __m128i tcq_product_(__m128i x, __m128i y) {
    const __m128i over = _mm_add_epi32(_mm_and_si128(_mm_srai_epi32(x, 31), y), _mm_and_si128(_mm_srai_epi32(y, 31), x));
    return _mm_sub_epi64(_mm_mul_epu32(x, y), _mm_slli_epi64(over, 32));
}
#define TCQ_PRODUCT(x, y) tcq_product_(x, y)
#define tcq_words _mm_set1_epi64x
#endif

static TC_INLINE tcq_i32 tcq_upper_half_i32(tcq_i32 x, tcq_i32 y) {
    const tcq_i32 half = tcq_words(INT64_C(1) << 31);
    const tcq_i32 even = TCQ_X86(add_epi64)(TCQ_PRODUCT(x, y), half);
    const tcq_i32 odd = TCQ_X86(add_epi64)(TCQ_PRODUCT(TCQ_HALF_ODD(x), TCQ_HALF_ODD(y)), half);
    return TCQ_X86(add_epi32)(x, TCQ_HALF_JOIN(TCQ_HALF_ODD(even), odd));
}
static TC_INLINE tcq_i32 tcq_high_half_i32(tcq_i32 x, tcq_i32 y) {
    const tcq_i32 half = tcq_words(INT64_C(1) << 30);
    const tcq_i32 even = TCQ_X86(add_epi64)(TCQ_PRODUCT(x, y), half);
    const tcq_i32 odd = TCQ_X86(add_epi64)(TCQ_PRODUCT(TCQ_HALF_ODD(x), TCQ_HALF_ODD(y)), half);
    const tcq_i32 r = TCQ_HALF_JOIN(TCQ_X86(srli_epi64)(even, 31), TCQ_X86(slli_epi64)(odd, 1));
    return TCQ_HALF_OVER(r, TCQ_X86(set1_epi32)(INT32_MIN));
}
#undef TCQ_X86
#undef TCQ_HALF_ODD
#undef TCQ_HALF_JOIN
#undef TCQ_HALF_OVER
#undef TCQ_PRODUCT
#undef tcq_words

#endif

#if defined(TC_ISA_SCALAR)
static TC_INLINE tcv_i32 tcv_upper_half_i32(tcv_i32 x, tcv_i32 y)
{
    for (int l = 0; l < 16; ++l)
        x.v[l] = tc_add_i32(x.v[l], (int32_t)(((int64_t)x.v[l] * y.v[l] + (INT64_C(1) << 31)) >> 32));
    return x;
}
static TC_INLINE tcv_i32 tcv_high_half_i32(tcv_i32 x, tcv_i32 y)
{
    for (int l = 0; l < 16; ++l) {
        const int64_t half = ((int64_t)x.v[l] * y.v[l] + (INT64_C(1) << 30)) >> 31;
        x.v[l] = half > INT32_MAX ? INT32_MAX : (int32_t)half;
    }
    return x;
}
#else
#define TCV_HALF(m, l) x.m = tcq_upper_half_i32(x.m, y.m);
static TC_INLINE tcv_i32 tcv_upper_half_i32(tcv_i32 x, tcv_i32 y)
{
    TCV_EACH(TCV_HALF)
    return x;
}
#undef TCV_HALF
#define TCV_HALF(m, l) x.m = tcq_high_half_i32(x.m, y.m);
static TC_INLINE tcv_i32 tcv_high_half_i32(tcv_i32 x, tcv_i32 y)
{
    TCV_EACH(TCV_HALF)
    return x;
}
#undef TCV_HALF
#endif

#endif
