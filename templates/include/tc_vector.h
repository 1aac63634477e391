/* SPDX-License-Identifier: Apache-2.0
 *
 * Vectors of 16 lanes on every instruction set: tcv_f32, tcv_i32 and tcv_mask (a bool a lane), operations under the
 * names of tc_scalar.h with tcv_ in place of tc_. Each lane has the bits that the scalar operation gives (or both are
 * NaN). One of TC_ISA_AVX512, TC_ISA_AVX2, TC_ISA_X86_64, TC_ISA_NEON and TC_ISA_SCALAR is defined by the compile command.
 *
 * Memory (p of any alignment; partial forms touch only the elements they name):
 *   tcv_load_T(p), tcv_store_T(p, x)          16 elements
 *   tcv_loadn_T(p, n), tcv_storen_T(p, x, n)  the first n; other lanes of a load are 0
 *   tcv_loadw_T(p, lo, hi, other)             lanes lo <= l < hi from p[l], the others of `other`; lo, hi any numbers
 *   tcv_loads_T(p, stride, lo, hi, other)     the same from p[l*stride]
 *   tcv_evens_T(p, lo, hi)                    p[2*l]; where not lo <= 2*l < hi, a lane has any value
 *   tcv_odds_T(p, lo, hi)                     p[2*l + 1], likewise. Both load the elements from lo to hi, of 32 at most:
 *                                             of one p they share these loads
 *   tcv_shifted_f32(x, y, n)                  lanes n to n + 15 of x and y, one behind the other; n a constant, 1 to 15
 *   tcv_stores_T(p, stride, x, n)             the first n lanes to p[l*stride]
 *   tcv_stream_f32(p, x)                      16 elements past the caches where the set can; p is a multiple of 64.
 *                                             tcv_stream_end() comes before another thread loads them
 * T is f32, i32 or bool (bytes 0 or 1).
 */
#ifndef TC_VECTOR_H
#define TC_VECTOR_H

#include "tc_kernel.h"
#include "tc_scalar.h"

#if defined(TC_ISA_AVX512)
#include "tc_vector_avx512.h"
#include "tc_vector_parts.h"
#elif defined(TC_ISA_AVX2)
#include "tc_vector_avx2.h"
#include "tc_vector_parts.h"
#elif defined(TC_ISA_X86_64)
#include "tc_vector_x86_64.h"
#include "tc_vector_parts.h"
#elif defined(TC_ISA_NEON)
#include "tc_vector_neon.h"
#include "tc_vector_parts.h"
#elif defined(TC_ISA_SCALAR)
#include "tc_vector_scalar.h"
#else
#error "tc_vector.h: the compile command names no instruction set (-DTC_ISA_...)"
#endif

/* x / y in every lane; meant for loops in which y stays. */
#ifndef TCQ_DIV_BY
static TC_INLINE tcv_f32 tcv_div_by_f32(tcv_f32 x, float y)
{
    return tcv_div_f32(x, tcv_splat_f32(y));
}
#endif

/* The same of `count` vectors in their places, four at most: x[i] / y[i]. */
static TC_INLINE void tcv_divs_by_f32(tcv_f32 *x, const float *y, int count)
{
#if defined(TC_ISA_AVX512)
    __m512i most = _mm512_setzero_si512();
    __mmask16 all = 0;
    tcq_divisor by[4];
    for (int i = 0; i < count; ++i) {
        by[i] = tcq_divisor_f32(y[i]); /* before the branch, so that it leaves a loop around this */
        all |= by[i].all;
        most = _mm512_max_epu32(most, tcq_above_f32(x[i].a));
    }
    if (__builtin_expect(all | _mm512_cmpgt_epu32_mask(most, _mm512_set1_epi32(TCQ_NEAR)), 0))
        for (int i = 0; i < count; ++i)
            x[i].a = tcq_div_by_f32(x[i].a, y[i]);
    else
        for (int i = 0; i < count; ++i)
            x[i].a = tcq_quotient_f32(x[i].a, &by[i]);
#else
    for (int i = 0; i < count; ++i)
        x[i] = tcv_div_by_f32(x[i], y[i]);
#endif
}

/* maximum of a term and of those before it, in one operation: a NaN among the terms may be lost, and a zero has either
 * sign. */
static TC_INLINE tcv_f32 tcv_larger_f32(tcv_f32 x, tcv_f32 most)
{
#if defined(TC_ISA_AVX512) || defined(TC_ISA_AVX2) || defined(TC_ISA_X86_64)
    return tcv_greater_f32(x, most);
#else
    return tcv_maximum_f32(x, most);
#endif
}

/* maximum and minimum of x and a limit that is not NaN. The limit of at_least is +0 only where x is never -0, that of
 * at_most is never -0: of equal numbers x86-64 gives the second operand, and so it does of NaN and a number. */
static TC_INLINE tcv_f32 tcv_at_least_f32(tcv_f32 x, tcv_f32 limit)
{
#if defined(TC_ISA_AVX512) || defined(TC_ISA_AVX2) || defined(TC_ISA_X86_64)
    return tcv_greater_f32(limit, x);
#else
    return tcv_maximum_f32(x, limit);
#endif
}
static TC_INLINE tcv_f32 tcv_at_most_f32(tcv_f32 x, tcv_f32 limit)
{
#if defined(TC_ISA_AVX512) || defined(TC_ISA_AVX2) || defined(TC_ISA_X86_64)
    return tcv_lesser_f32(limit, x);
#else
    return tcv_minimum_f32(x, limit);
#endif
}

/* maximum of x and +0 */
static TC_INLINE tcv_f32 tcv_relu_f32(tcv_f32 x)
{
#if defined(TC_ISA_AVX512) || defined(TC_ISA_AVX2) || defined(TC_ISA_X86_64)
    const tcv_f32 zero = tcv_splat_f32(0.0f);
    return tcv_greater_f32(zero, tcv_add_f32(x, zero)); /* -0 + +0 is +0 */
#else
    return tcv_maximum_f32(x, tcv_splat_f32(0.0f));
#endif
}

typedef int32_t __attribute__((may_alias, aligned(1))) tc_touched;

/* Brings the line at p, of which 4 bytes can be read, to the first cache, and the line at `later` nearer. On x86-64 the first
   one by a load: a Zen 4 by itself fetches from memory what follows the lines of loads, but not what follows those of
   prefetches. A Xeon waits for such a load, unless the line was fetched long before. */
static TC_INLINE void tc_touch(const void *p, const void *later)
{
#if defined(TC_ISA_AVX512) || defined(TC_ISA_AVX2) || defined(TC_ISA_X86_64)
    int loaded;
    __builtin_prefetch(later, 0, 2);
    __asm__ volatile("mov{l} {%1, %0|%0, %1}" : "=r"(loaded) : "m"(*(const tc_touched *)p));
    (void)loaded;
#else
    (void)later;
    __builtin_prefetch(p, 0, 3);
#endif
}

#ifndef TCQ_STREAM
static TC_INLINE void tcv_stream_f32(float *p, tcv_f32 x)
{
    tcv_store_f32(p, x);
}
static TC_INLINE void tcv_stream_end(void)
{
}
#endif

/* Partial and strided memory access of every set. */
static TC_INLINE tcv_f32 tcv_loadn_f32(const float *p, tc_index n)
{
    return tcv_loadw_f32(p, 0, n, tcv_splat_f32(0.0f));
}

static TC_INLINE tcv_i32 tcv_loadn_i32(const int32_t *p, tc_index n)
{
    return tcv_loadw_i32(p, 0, n, tcv_splat_i32(0));
}

static TC_INLINE tcv_i32 tcv_evens_i32(const int32_t *p, tc_index lo, tc_index hi)
{
    return tcv_asint_f32(tcv_evens_f32((const float *)(const void *)p, lo, hi));
}

static TC_INLINE tcv_i32 tcv_odds_i32(const int32_t *p, tc_index lo, tc_index hi)
{
    return tcv_asint_f32(tcv_odds_f32((const float *)(const void *)p, lo, hi));
}

#if defined(TC_ISA_AVX512)
#define tcv_shifted_f32(x, y, n)                                                                                       \
    ((tcv_f32){_mm512_castsi512_ps(                                                                                    \
        _mm512_alignr_epi32(_mm512_castps_si512((y).a), _mm512_castps_si512((x).a), n))})
#else
static TC_INLINE tcv_f32 tcv_shifted_f32(tcv_f32 x, tcv_f32 y, int n)
{
    float t[32];
    tcv_store_f32(t, x);
    tcv_store_f32(t + 16, y);
    return tcv_load_f32(t + n);
}
#endif

/* All 16 lanes of a strided load are every other element up to the last one's. */
#define TCV_EVERY_OTHER (__builtin_constant_p(stride) && stride == 2 && lo <= 0 && hi >= 16)

static TC_INLINE tcv_f32 tcv_loads_f32(const float *p, tc_index stride, tc_index lo, tc_index hi, tcv_f32 other)
{
    if (TCV_EVERY_OTHER)
        return tcv_evens_f32(p, 0, 31);
    if (lo <= 0 && hi >= 16)
        return tcv_set_f32(p, stride);
    float t[16];
    tcv_store_f32(t, other);
    for (tc_index l = tc_max(lo, 0); l < tc_min(hi, 16); ++l)
        t[l] = p[l * stride];
    return tcv_load_f32(t);
}

static TC_INLINE tcv_i32 tcv_loads_i32(const int32_t *p, tc_index stride, tc_index lo, tc_index hi, tcv_i32 other)
{
    if (TCV_EVERY_OTHER)
        return tcv_evens_i32(p, 0, 31);
    int32_t t[16];
    tcv_store_i32(t, other);
    for (tc_index l = tc_max(lo, 0); l < tc_min(hi, 16); ++l)
        t[l] = p[l * stride];
    return tcv_load_i32(t);
}

static TC_INLINE tcv_mask tcv_loads_bool(const uint8_t *p, tc_index stride, tc_index lo, tc_index hi, tcv_mask other)
{
    uint8_t t[16];
    tcv_store_bool(t, other);
    for (tc_index l = tc_max(lo, 0); l < tc_min(hi, 16); ++l)
        t[l] = p[l * stride];
    return tcv_load_bool(t);
}

static TC_INLINE tcv_mask tcv_loadw_bool(const uint8_t *p, tc_index lo, tc_index hi, tcv_mask other)
{
    return tcv_loads_bool(p, 1, lo, hi, other);
}

static TC_INLINE tcv_mask tcv_loadn_bool(const uint8_t *p, tc_index n)
{
    return tcv_loads_bool(p, 1, 0, n, tcv_splat_bool(0));
}

static TC_INLINE void tcv_stores_f32(float *p, tc_index stride, tcv_f32 x, tc_index n)
{
    float t[16];
    tcv_store_f32(t, x);
    for (tc_index l = 0; l < tc_min(n, 16); ++l)
        p[l * stride] = t[l];
}

static TC_INLINE void tcv_stores_i32(int32_t *p, tc_index stride, tcv_i32 x, tc_index n)
{
    int32_t t[16];
    tcv_store_i32(t, x);
    for (tc_index l = 0; l < tc_min(n, 16); ++l)
        p[l * stride] = t[l];
}

static TC_INLINE void tcv_stores_bool(uint8_t *p, tc_index stride, tcv_mask x, tc_index n)
{
    uint8_t t[16];
    tcv_store_bool(t, x);
    for (tc_index l = 0; l < tc_min(n, 16); ++l)
        p[l * stride] = t[l];
}

static TC_INLINE void tcv_storen_bool(uint8_t *p, tcv_mask x, tc_index n)
{
    tcv_stores_bool(p, 1, x, n);
}

/* 0, 1, ..., 15. */
static TC_INLINE tcv_i32 tcv_iota_i32(void)
{
    static const int32_t lanes[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    return tcv_load_i32(lanes);
}

/* Operations made of others. */
static TC_INLINE tcv_i32 tcv_neg_i32(tcv_i32 x)
{
    return tcv_sub_i32(tcv_splat_i32(0), x);
}

static TC_INLINE tcv_i32 tcv_bit_not_i32(tcv_i32 x)
{
    return tcv_bit_xor_i32(x, tcv_splat_i32(-1));
}

/* Lane by lane: no instruction set divides integers in vectors, and some do not shift every lane by its own amount. */
#define TCV_EACH_LANE(name)                                                                                            \
    static TC_INLINE tcv_i32 tcv_##name(tcv_i32 x, tcv_i32 y)                                                          \
    {                                                                                                                  \
        int32_t a[16], b[16];                                                                                          \
        tcv_store_i32(a, x);                                                                                           \
        tcv_store_i32(b, y);                                                                                           \
        for (int l = 0; l < 16; ++l)                                                                                   \
            a[l] = tc_##name(a[l], b[l]);                                                                              \
        return tcv_load_i32(a);                                                                                        \
    }
TCV_EACH_LANE(div_i32)
TCV_EACH_LANE(rem_i32)
#ifndef TCV_SHIFTS
TCV_EACH_LANE(shift_left_i32)
TCV_EACH_LANE(shift_right_i32)
#endif
#undef TCV_EACH_LANE

static TC_INLINE tcv_mask tcv_gt_f32(tcv_f32 x, tcv_f32 y)
{
    return tcv_lt_f32(y, x);
}

static TC_INLINE tcv_mask tcv_ge_f32(tcv_f32 x, tcv_f32 y)
{
    return tcv_le_f32(y, x);
}

static TC_INLINE tcv_mask tcv_ne_i32(tcv_i32 x, tcv_i32 y)
{
    return tcv_logical_not_bool(tcv_eq_i32(x, y));
}

static TC_INLINE tcv_mask tcv_gt_i32(tcv_i32 x, tcv_i32 y)
{
    return tcv_lt_i32(y, x);
}

static TC_INLINE tcv_mask tcv_le_i32(tcv_i32 x, tcv_i32 y)
{
    return tcv_logical_not_bool(tcv_lt_i32(y, x));
}

static TC_INLINE tcv_mask tcv_ge_i32(tcv_i32 x, tcv_i32 y)
{
    return tcv_logical_not_bool(tcv_lt_i32(x, y));
}

static TC_INLINE tcv_mask tcv_ne_bool(tcv_mask x, tcv_mask y)
{
    return tcv_logical_xor_bool(x, y);
}

static TC_INLINE tcv_mask tcv_eq_bool(tcv_mask x, tcv_mask y)
{
    return tcv_logical_not_bool(tcv_logical_xor_bool(x, y));
}

static TC_INLINE tcv_mask tcv_lt_bool(tcv_mask x, tcv_mask y)
{
    return tcv_logical_and_bool(tcv_logical_not_bool(x), y);
}

static TC_INLINE tcv_mask tcv_gt_bool(tcv_mask x, tcv_mask y)
{
    return tcv_lt_bool(y, x);
}

static TC_INLINE tcv_mask tcv_le_bool(tcv_mask x, tcv_mask y)
{
    return tcv_logical_not_bool(tcv_lt_bool(y, x));
}

static TC_INLINE tcv_mask tcv_ge_bool(tcv_mask x, tcv_mask y)
{
    return tcv_logical_not_bool(tcv_lt_bool(x, y));
}

static TC_INLINE tcv_mask tcv_select_bool(tcv_mask m, tcv_mask x, tcv_mask y)
{
    return tcv_logical_or_bool(tcv_logical_and_bool(m, x), tcv_lt_bool(m, y));
}

static TC_INLINE tcv_f32 tcv_cast_bool_f32(tcv_mask x)
{
    return tcv_select_f32(x, tcv_splat_f32(1.0f), tcv_splat_f32(0.0f));
}

static TC_INLINE tcv_i32 tcv_cast_bool_i32(tcv_mask x)
{
    return tcv_select_i32(x, tcv_splat_i32(1), tcv_splat_i32(0));
}

static TC_INLINE tcv_mask tcv_cast_f32_bool(tcv_f32 x)
{
    return tcv_ne_f32(x, tcv_splat_f32(0.0f));
}

static TC_INLINE tcv_mask tcv_cast_i32_bool(tcv_i32 x)
{
    return tcv_ne_i32(x, tcv_splat_i32(0));
}

static TC_INLINE tcv_i32 tcv_bitcast_f32_i32(tcv_f32 x)
{
    return tcv_asint_f32(x);
}

static TC_INLINE tcv_f32 tcv_bitcast_i32_f32(tcv_i32 x)
{
    return tcv_asfloat_i32(x);
}

/* Extremes over the lanes. As integers, patterns whose magnitude is flipped below zero order as the numbers do, -0 below
 * +0; a NaN wins over all. */
static TC_INLINE tcv_i32 tcv_order_f32(tcv_f32 x)
{
    const tcv_i32 bits = tcv_asint_f32(x);
    return tcv_bit_xor_i32(bits, tcv_bit_and_i32(tcv_sar_i32(bits, 31), tcv_splat_i32(INT32_MAX)));
}

static TC_INLINE float tcv_ordered_f32(tcv_f32 x, int32_t extreme)
{
    const float nan = tc_asfloat_i32(0x7fc00000);
    return tcv_any_bool(tcv_ne_f32(x, x)) ? nan : tc_asfloat_i32(extreme ^ (tc_sar_i32(extreme, 31) & INT32_MAX));
}

static TC_INLINE float tcv_max_f32(tcv_f32 x)
{
    return tcv_ordered_f32(x, tcv_max_i32(tcv_order_f32(x)));
}

static TC_INLINE float tcv_min_f32(tcv_f32 x)
{
    return tcv_ordered_f32(x, tcv_min_i32(tcv_order_f32(x)));
}

/* Positions of extremes (docs/numerics.md, arg_reduce). tcv_argT_better: the lanes where x replaces the best before it;
 * tcv_argT: of each lane's best and its position, the position of the first extreme of all. */
#define TCV_ARG(name, T, beats, V, C)                                                                                  \
    static TC_INLINE tcv_mask tcv_##name##_better_##T(V x, V best)                                                     \
    {                                                                                                                  \
        return tcv_logical_and_bool(tcv_eq_##T(best, best),                                                            \
                                    tcv_logical_or_bool(tcv_##beats##_##T(x, best), tcv_ne_##T(x, x)));                \
    }                                                                                                                  \
    static TC_INLINE int64_t tcv_##name##_##T(V best, tcv_i32 at)                                                      \
    {                                                                                                                  \
        C value[16], won;                                                                                              \
        int32_t position[16], first;                                                                                   \
        tcv_store_##T(value, best);                                                                                    \
        tcv_store_i32(position, at);                                                                                   \
        won = value[0], first = position[0];                                                                           \
        for (int l = 1; l < 16; ++l) {                                                                                 \
            const int number = tc_eq_##T(won, won), other = tc_eq_##T(value[l], value[l]);                             \
            const int equal = tc_eq_##T(value[l], won) || (!number && !other);                                         \
            const int wins = number && (!other || tc_##beats##_##T(value[l], won));                                    \
            if (wins || (equal && position[l] < first))                                                                \
                won = value[l], first = position[l];                                                                   \
        }                                                                                                              \
        return first;                                                                                                  \
    }
TCV_ARG(argmax, f32, gt, tcv_f32, float)
TCV_ARG(argmin, f32, lt, tcv_f32, float)
TCV_ARG(argmax, i32, gt, tcv_i32, int32_t)
TCV_ARG(argmin, i32, lt, tcv_i32, int32_t)
#undef TCV_ARG

/* The lanes whose x stands before y in a row that is sorted descending or ascending, whatever their positions (tc_sort.h):
 * a NaN is above every number and equal to every NaN. */
static TC_INLINE tcv_mask tcv_descends_f32(tcv_f32 x, tcv_f32 y)
{
    return tcv_logical_and_bool(tcv_eq_f32(y, y), tcv_logical_not_bool(tcv_le_f32(x, y)));
}

static TC_INLINE tcv_mask tcv_ascends_f32(tcv_f32 x, tcv_f32 y)
{
    return tcv_logical_and_bool(tcv_eq_f32(x, x), tcv_logical_not_bool(tcv_ge_f32(x, y)));
}

static TC_INLINE tcv_mask tcv_descends_i32(tcv_i32 x, tcv_i32 y)
{
    return tcv_gt_i32(x, y);
}

static TC_INLINE tcv_mask tcv_ascends_i32(tcv_i32 x, tcv_i32 y)
{
    return tcv_lt_i32(x, y);
}

static TC_INLINE uint8_t tcv_all_bool(tcv_mask x)
{
    return !tcv_any_bool(tcv_logical_not_bool(x));
}

/* Products of all lanes: once a row or block, so that memory costs nothing beside the row. */
static TC_INLINE float tcv_prod_f32(tcv_f32 x)
{
    float t[16];
    tcv_store_f32(t, x);
    return tc_lanes_prod_f32(t);
}

static TC_INLINE int32_t tcv_prod_i32(tcv_i32 x)
{
    int32_t t[16], product = 1;
    tcv_store_i32(t, x);
    for (int l = 0; l < 16; ++l)
        product = tc_mul_i32(product, t[l]);
    return product;
}

#include "tc_vector_narrow.h"

/* The lanes that arithmetic in f32 leaves, one at a time. Vectors without any pay for the test alone. */
static inline void tcv_reduce_lanes_f32(const uint8_t *far, const float *x, float *r, int32_t *n)
{
    for (int l = 0; l < 16; ++l)
        if (far[l])
            r[l] = tc_reduce_far_f32(x[l], &n[l]);
}

static TC_INLINE tcv_f32 tcv_reduce_rest_f32(tcv_mask far, tcv_f32 x, tcv_f32 r, tcv_i32 *n)
{
    if (tcv_any_bool(far)) {
        float size[16], rest[16];
        int32_t quadrant[16];
        uint8_t chosen[16];
        tcv_store_bool(chosen, far);
        tcv_store_f32(size, x);
        tcv_store_f32(rest, r);
        tcv_store_i32(quadrant, *n);
        tcv_reduce_lanes_f32(chosen, size, rest, quadrant);
        *n = tcv_load_i32(quadrant);
        r = tcv_load_f32(rest);
    }
    return r;
}

static inline void tcv_rem_lanes_f32(const uint8_t *far, const float *x, const float *y, float *r)
{
    for (int l = 0; l < 16; ++l)
        if (far[l])
            r[l] = tc_rem_far_f32(x[l], y[l]);
}

static TC_INLINE tcv_f32 tcv_rem_rest_f32(tcv_mask far, tcv_f32 x, tcv_f32 y, tcv_f32 r)
{
    if (tcv_any_bool(far)) {
        float a[16], b[16], rest[16];
        uint8_t chosen[16];
        tcv_store_bool(chosen, far);
        tcv_store_f32(a, x);
        tcv_store_f32(b, y);
        tcv_store_f32(rest, r);
        tcv_rem_lanes_f32(chosen, a, b, rest);
        r = tcv_load_f32(rest);
    }
    return r;
}

/* The functions of tc_math.inc: inlined, as vectors passed in memory would cost more than the arithmetic. */
#define TCM_FUNCTION static TC_INLINE
#define TCM_F32 tcv_f32
#define TCM_I32 tcv_i32
#define TCM_MASK tcv_mask
#define TCM(name) tcv_##name
#ifdef TCV_SCALE
#define TCM_SCALE
#endif
#ifdef TCV_ROUND
#define TCM_ROUND
#endif
#if defined(TC_ISA_AVX512) || defined(TC_ISA_AVX2)
#define TCM_NEAR(far) !__builtin_expect(tcv_any_bool(far), 0)
#endif
#include "tc_math.inc"
#undef TCM_FUNCTION
#undef TCM_F32
#undef TCM_I32
#undef TCM_MASK
#undef TCM
#undef TCM_SCALE
#undef TCM_ROUND
#undef TCM_NEAR

#include "tc_vector_i64.h"
#include "tc_vector_bytes.h"

#endif
