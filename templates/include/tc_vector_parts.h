/* SPDX-License-Identifier: Apache-2.0
 *
 * tcv_ types and operations of 16 lanes from TCQ_COUNT registers of the instruction set: part i holds the lanes from
 * i*(16/TCQ_COUNT) on.
 *
 * What an instruction set's header defines for a part: the types tcq_f32, tcq_i32 and tcq_mask; the operations below
 * under tcq_; tcq_loadw (lanes lo <= l < hi from p[l], the others of `other`; lo and hi any number), tcq_storen (the
 * lanes below n, n any number), tcq_set (p[l*s]), tcq_range (the mask lo <= l < hi), tcq_truncate_f32 (to integer, in
 * range), tcq_cast_bounded_f32 (to integer, in range, or NaN, which is 0), tcq_fma_short (x * y + z of integers, x and y
 * within 16 bits, signed), tcq_sum_f32 (the tree of docs/numerics.md over the part's lanes), tcq_sum_i32, tcq_max_i32 and
 * tcq_min_i32 (over the part's lanes). Partial loads and stores touch only the named elements. TCQ_STREAM: tcq_stream_f32(p, x)
 * stores past the caches, p aligned to the part; tcq_stream_end() comes before others may load that.
 * tcq_even_f32(x, y) and tcq_odd_f32(x, y) are the elements of even and of odd numbers of what x and y, one behind the other,
 * hold; TCQ_EVENS: there are tcq_evens_f32(p) and tcq_odds_f32(p), the same of memory. TCQ_BELOW: there is a tcq_below_f32(x),
 * every lane but the last from the one above it. tcq_pairs_8(p) and tcq_pairs_16(p): a lane has two elements of 8 or 16 bits.
 * TCQ_DIV_BY: there is a tcq_div_by_f32(x, y), x / y for a y that is the same in a loop. TCQ_SCALE: there is a
 * tcq_scale_f32(x, n), x 2^n rounded once for an integer n. TCQ_SHIFTS: there are tcq_shift_left_i32(x, n) and tcq_shift_right_i32(x, n), by an
 * amount a lane. TCQ_QUANTIZED: there is a tcq_quantized_f32(x, low, high, zero), x within low and high rounded to an
 * integer, plus zero; 0 where x is NaN. TCQ_ROUND: there is a tcq_round_f32(x), to nearest even. TCQ_F16: there are tcq_load_f16(p),
 * tcq_unpack_f16(pattern), tcq_store_f16(p, x) and tcq_round_f16(x), which round to nearest even, keep denormals and give a NaN for a NaN.
 */
#ifndef TC_VECTOR_PARTS_H
#define TC_VECTOR_PARTS_H

/* TCV_EACH(F) lists F(member, first lane). */
#if TCQ_COUNT == 1
#define TCV_EACH(F) F(a, 0)
#define TCV_MEMBERS(T) T a
#elif TCQ_COUNT == 2
#define TCV_EACH(F) F(a, 0) F(b, 8)
#define TCV_MEMBERS(T) T a, b
#else
#define TCV_EACH(F) F(a, 0) F(b, 4) F(c, 8) F(d, 12)
#define TCV_MEMBERS(T) T a, b, c, d
#endif

typedef struct {
    TCV_MEMBERS(tcq_f32);
} tcv_f32;
typedef struct {
    TCV_MEMBERS(tcq_i32);
} tcv_i32;
typedef struct {
    TCV_MEMBERS(tcq_mask);
} tcv_mask;

/* One function of the given parameters whose parts are all CALL(member, lane). */
#define TCV_DEFINE(R, name, parameters, EACH)                                                                          \
    static TC_INLINE R name parameters                                                                                 \
    {                                                                                                                  \
        R r;                                                                                                           \
        TCV_EACH(EACH)                                                                                                 \
        return r;                                                                                                      \
    }
#define TCV_DO(name, parameters, EACH)                                                                                 \
    static TC_INLINE void name parameters                                                                              \
    {                                                                                                                  \
        TCV_EACH(EACH)                                                                                                 \
    }

/* Memory, f32 and i32. */
#define TCV_P(m, l) r.m = tcq_splat_f32(x);
TCV_DEFINE(tcv_f32, tcv_splat_f32, (float x), TCV_P)
#undef TCV_P
#define TCV_P(m, l) r.m = tcq_splat_i32(x);
TCV_DEFINE(tcv_i32, tcv_splat_i32, (int32_t x), TCV_P)
#undef TCV_P
#define TCV_P(m, l) r.m = tcq_load_f32(p + l);
TCV_DEFINE(tcv_f32, tcv_load_f32, (const float *p), TCV_P)
#undef TCV_P
#define TCV_P(m, l) r.m = tcq_load_i32(p + l);
TCV_DEFINE(tcv_i32, tcv_load_i32, (const int32_t *p), TCV_P)
#undef TCV_P
#define TCV_P(m, l) r.m = tcq_loadw_f32(p + l, lo - l, hi - l, other.m);
TCV_DEFINE(tcv_f32, tcv_loadw_f32, (const float *p, tc_index lo, tc_index hi, tcv_f32 other), TCV_P)
#undef TCV_P
#define TCV_P(m, l) r.m = tcq_loadw_i32(p + l, lo - l, hi - l, other.m);
TCV_DEFINE(tcv_i32, tcv_loadw_i32, (const int32_t *p, tc_index lo, tc_index hi, tcv_i32 other), TCV_P)
#undef TCV_P
#define TCV_P(m, l) tcq_store_f32(p + l, x.m);
TCV_DO(tcv_store_f32, (float *p, tcv_f32 x), TCV_P)
#undef TCV_P
#ifdef TCQ_DIV_BY
#define TCV_P(m, l) r.m = tcq_div_by_f32(x.m, y);
TCV_DEFINE(tcv_f32, tcv_div_by_f32, (tcv_f32 x, float y), TCV_P)
#undef TCV_P
#endif
#ifdef TCQ_STREAM
#define TCV_P(m, l) tcq_stream_f32(p + l, x.m);
TCV_DO(tcv_stream_f32, (float *p, tcv_f32 x), TCV_P)
#undef TCV_P
static TC_INLINE void tcv_stream_end(void)
{
    tcq_stream_end();
}
#endif
#define TCV_P(m, l) tcq_store_i32(p + l, x.m);
TCV_DO(tcv_store_i32, (int32_t *p, tcv_i32 x), TCV_P)
#undef TCV_P
#define TCV_P(m, l) tcq_storen_f32(p + l, n - l, x.m);
TCV_DO(tcv_storen_f32, (float *p, tcv_f32 x, tc_index n), TCV_P)
#undef TCV_P
#define TCV_P(m, l) tcq_storen_i32(p + l, n - l, x.m);
TCV_DO(tcv_storen_i32, (int32_t *p, tcv_i32 x, tc_index n), TCV_P)
#undef TCV_P
#define TCV_P(m, l) r.m = tcq_set_f32(p + l * stride, stride);
TCV_DEFINE(tcv_f32, tcv_set_f32, (const float *p, tc_index stride), TCV_P)
#undef TCV_P

/* Operations lane by lane. */
#if TCQ_COUNT == 1
#define TCV_MAP1(f, x) {f(x.a)}
#define TCV_MAP2(f, x, y) {f(x.a, y.a)}
#define TCV_MAP3(f, x, y, z) {f(x.a, y.a, z.a)}
#elif TCQ_COUNT == 2
#define TCV_MAP1(f, x) {f(x.a), f(x.b)}
#define TCV_MAP2(f, x, y) {f(x.a, y.a), f(x.b, y.b)}
#define TCV_MAP3(f, x, y, z) {f(x.a, y.a, z.a), f(x.b, y.b, z.b)}
#else
#define TCV_MAP1(f, x) {f(x.a), f(x.b), f(x.c), f(x.d)}
#define TCV_MAP2(f, x, y) {f(x.a, y.a), f(x.b, y.b), f(x.c, y.c), f(x.d, y.d)}
#define TCV_MAP3(f, x, y, z) {f(x.a, y.a, z.a), f(x.b, y.b, z.b), f(x.c, y.c, z.c), f(x.d, y.d, z.d)}
#endif
#define TCV_UNARY(R, T, name, part)                                                                                    \
    static TC_INLINE R tcv_##name(T x)                                                                                 \
    {                                                                                                                  \
        return (R)TCV_MAP1(tcq_##part, x);                                                                             \
    }
#define TCV_BINARY(R, T, name, part)                                                                                   \
    static TC_INLINE R tcv_##name(T x, T y)                                                                            \
    {                                                                                                                  \
        return (R)TCV_MAP2(tcq_##part, x, y);                                                                          \
    }

TCV_UNARY(tcv_f32, tcv_f32, neg_f32, neg_f32)
TCV_UNARY(tcv_f32, tcv_f32, abs_f32, abs_f32)
TCV_UNARY(tcv_f32, tcv_f32, sqrt_f32, sqrt_f32)
TCV_UNARY(tcv_i32, tcv_i32, abs_i32, abs_i32)
TCV_UNARY(tcv_i32, tcv_f32, asint_f32, asint_f32)
TCV_UNARY(tcv_f32, tcv_i32, asfloat_i32, asfloat_i32)
TCV_UNARY(tcv_i32, tcv_f32, cast_f32_i32, cast_f32_i32)
TCV_UNARY(tcv_f32, tcv_i32, cast_i32_f32, cast_i32_f32)
TCV_UNARY(tcv_i32, tcv_f32, truncate_f32, truncate_f32)
TCV_UNARY(tcv_i32, tcv_f32, cast_bounded_f32, cast_bounded_f32)
TCV_UNARY(tcv_mask, tcv_mask, logical_not_bool, not_bool)

TCV_BINARY(tcv_f32, tcv_f32, add_f32, add_f32)
TCV_BINARY(tcv_f32, tcv_f32, sub_f32, sub_f32)
TCV_BINARY(tcv_f32, tcv_f32, mul_f32, mul_f32)
TCV_BINARY(tcv_f32, tcv_f32, div_f32, div_f32)
TCV_BINARY(tcv_f32, tcv_f32, maximum_f32, maximum_f32)
TCV_BINARY(tcv_f32, tcv_f32, minimum_f32, minimum_f32)
TCV_BINARY(tcv_f32, tcv_f32, lesser_f32, lesser_f32)
TCV_BINARY(tcv_f32, tcv_f32, greater_f32, greater_f32)
TCV_BINARY(tcv_mask, tcv_f32, eq_f32, eq_f32)
TCV_BINARY(tcv_mask, tcv_f32, ne_f32, ne_f32)
TCV_BINARY(tcv_mask, tcv_f32, lt_f32, lt_f32)
TCV_BINARY(tcv_mask, tcv_f32, le_f32, le_f32)
TCV_BINARY(tcv_i32, tcv_i32, add_i32, add_i32)
TCV_BINARY(tcv_i32, tcv_i32, sub_i32, sub_i32)
TCV_BINARY(tcv_i32, tcv_i32, mul_i32, mul_i32)
TCV_BINARY(tcv_i32, tcv_i32, maximum_i32, maximum_i32)
TCV_BINARY(tcv_i32, tcv_i32, minimum_i32, minimum_i32)
TCV_BINARY(tcv_i32, tcv_i32, bit_and_i32, and_i32)
TCV_BINARY(tcv_i32, tcv_i32, bit_or_i32, or_i32)
TCV_BINARY(tcv_i32, tcv_i32, bit_xor_i32, xor_i32)
TCV_BINARY(tcv_mask, tcv_i32, eq_i32, eq_i32)
TCV_BINARY(tcv_mask, tcv_i32, lt_i32, lt_i32)
TCV_BINARY(tcv_mask, tcv_mask, logical_and_bool, and_bool)
TCV_BINARY(tcv_mask, tcv_mask, logical_or_bool, or_bool)
TCV_BINARY(tcv_mask, tcv_mask, logical_xor_bool, xor_bool)

static TC_INLINE tcv_f32 tcv_fma_f32(tcv_f32 x, tcv_f32 y, tcv_f32 z)
{
    return (tcv_f32)TCV_MAP3(tcq_fma_f32, x, y, z);
}
static TC_INLINE tcv_i32 tcv_fma_short(tcv_i32 x, tcv_i32 y, tcv_i32 z)
{
    return (tcv_i32)TCV_MAP3(tcq_fma_short, x, y, z);
}

/* Every other element (tc_vector.h): parts with all elements are loaded as they are. */
#define TCQ_LANES (16 / TCQ_COUNT)
static TC_INLINE tcq_f32 tcq_some_f32(const float *p, tc_index lo, tc_index hi)
{
    if (lo <= 0 && hi >= TCQ_LANES)
        return tcq_load_f32(p);
#ifdef TCQ_BELOW
    if (lo < 0 && hi == TCQ_LANES - 1)
        return tcq_below_f32(tcq_load_f32(p - 1));
#endif
    return tcq_loadw_f32(p, lo, hi, tcq_splat_f32(0.0f));
}
#ifdef TCQ_EVENS
#define TCV_ALL(whole) if (lo <= 0 && hi >= 2 * TCQ_LANES) return whole;
#else
#define TCV_ALL(whole)
#endif
#define TCV_ALTERNATE(parity)                                                                                          \
    static TC_INLINE tcq_f32 tcq_some_##parity##s_f32(const float *p, tc_index lo, tc_index hi)                        \
    {                                                                                                                  \
        TCV_ALL(tcq_##parity##s_f32(p))                                                                                \
        return tcq_##parity##_f32(tcq_some_f32(p, lo, hi), tcq_some_f32(p + TCQ_LANES, lo - TCQ_LANES, hi - TCQ_LANES)); \
    }
TCV_ALTERNATE(even)
TCV_ALTERNATE(odd)
#undef TCV_ALTERNATE
#undef TCV_ALL
#define TCV_P(m, l) r.m = tcq_some_evens_f32(p + 2 * l, lo - 2 * l, hi - 2 * l);
TCV_DEFINE(tcv_f32, tcv_evens_f32, (const float *p, tc_index lo, tc_index hi), TCV_P)
#undef TCV_P
#define TCV_P(m, l) r.m = tcq_some_odds_f32(p + 2 * l, lo - 2 * l, hi - 2 * l);
TCV_DEFINE(tcv_f32, tcv_odds_f32, (const float *p, tc_index lo, tc_index hi), TCV_P)
#undef TCV_P

/* Pairs of narrow elements, of which the first is in the low bits of its lane; bits above the second are 0. */
#define TCV_P(m, l) r.m = tcq_pairs_8((const uint8_t *)p + 2 * l);
TCV_DEFINE(tcv_i32, tcv_pairs_8, (const void *p), TCV_P)
#undef TCV_P
#define TCV_P(m, l) r.m = tcq_pairs_16((const uint16_t *)p + 2 * l);
TCV_DEFINE(tcv_i32, tcv_pairs_16, (const void *p), TCV_P)
#undef TCV_P

#ifdef TCQ_SHIFTS
#define TCV_SHIFTS
TCV_BINARY(tcv_i32, tcv_i32, shift_left_i32, shift_left_i32)
TCV_BINARY(tcv_i32, tcv_i32, shift_right_i32, shift_right_i32)
#endif

#ifdef TCQ_ROUND
#define TCV_ROUND
TCV_UNARY(tcv_f32, tcv_f32, round_f32, round_f32)
#endif

#ifdef TCQ_F16
#define TCV_F16
#define TCV_P(m, l) r.m = tcq_load_f16(p + l);
TCV_DEFINE(tcv_f32, tcv_widen_f16, (const uint16_t *p), TCV_P)
#undef TCV_P
#define TCV_P(m, l) tcq_store_f16(p + l, x.m);
TCV_DO(tcv_narrow_f16, (uint16_t *p, tcv_f32 x), TCV_P)
#undef TCV_P
TCV_UNARY(tcv_f32, tcv_f32, round_f16, round_f16)
TCV_UNARY(tcv_f32, tcv_i32, unpacked_f16, unpack_f16)
#endif

#ifdef TCQ_SCALE
#define TCV_SCALE
static TC_INLINE tcv_f32 tcv_scale_f32(tcv_f32 x, tcv_f32 n, tcv_i32 integer)
{
    (void)integer;
    return (tcv_f32)TCV_MAP2(tcq_scale_f32, x, n);
}
#endif

static TC_INLINE tcv_f32 tcv_select_f32(tcv_mask m, tcv_f32 x, tcv_f32 y)
{
    return (tcv_f32)TCV_MAP3(tcq_select_f32, m, x, y);
}

static TC_INLINE tcv_i32 tcv_select_i32(tcv_mask m, tcv_i32 x, tcv_i32 y)
{
    return (tcv_i32)TCV_MAP3(tcq_select_i32, m, x, y);
}

#define TCV_P(m, l) r.m = tcq_shl_i32(x.m, n);
TCV_DEFINE(tcv_i32, tcv_shl_i32, (tcv_i32 x, int n), TCV_P)
#undef TCV_P
#define TCV_P(m, l) r.m = tcq_sar_i32(x.m, n);
TCV_DEFINE(tcv_i32, tcv_sar_i32, (tcv_i32 x, int n), TCV_P)
#undef TCV_P

/* Masks. */
#define TCV_P(m, l) r.m = tcq_splat_bool(x);
TCV_DEFINE(tcv_mask, tcv_splat_bool, (uint8_t x), TCV_P)
#undef TCV_P
#define TCV_P(m, l) r.m = tcq_range(lo - l, hi - l);
TCV_DEFINE(tcv_mask, tcv_range, (tc_index lo, tc_index hi), TCV_P)
#undef TCV_P
#define TCV_P(m, l) r.m = tcq_load_bool(p + l);
TCV_DEFINE(tcv_mask, tcv_load_bool, (const uint8_t *p), TCV_P)
#undef TCV_P
#define TCV_P(m, l) tcq_store_bool(p + l, x.m);
TCV_DO(tcv_store_bool, (uint8_t *p, tcv_mask x), TCV_P)
#undef TCV_P

/* The tree of docs/numerics.md: whole parts are folded first, then the lanes of the one left. */
static TC_INLINE float tcv_sum_f32(tcv_f32 x)
{
#if TCQ_COUNT == 1
    return tcq_sum_f32(x.a);
#elif TCQ_COUNT == 2
    return tcq_sum_f32(tcq_add_f32(x.a, x.b));
#else
    return tcq_sum_f32(tcq_add_f32(tcq_add_f32(x.a, x.c), tcq_add_f32(x.b, x.d)));
#endif
}

#if TCQ_COUNT == 1
#define TCV_FOLD(f, x) (x).a
#elif TCQ_COUNT == 2
#define TCV_FOLD(f, x) f((x).a, (x).b)
#else
#define TCV_FOLD(f, x) f(f((x).a, (x).b), f((x).c, (x).d))
#endif
static TC_INLINE int32_t tcv_sum_i32(tcv_i32 x)
{
    return tcq_sum_i32(TCV_FOLD(tcq_add_i32, x));
}

static TC_INLINE int32_t tcv_max_i32(tcv_i32 x)
{
    return tcq_max_i32(TCV_FOLD(tcq_maximum_i32, x));
}

static TC_INLINE int32_t tcv_min_i32(tcv_i32 x)
{
    return tcq_min_i32(TCV_FOLD(tcq_minimum_i32, x));
}

static TC_INLINE uint8_t tcv_any_bool(tcv_mask x)
{
    return tcq_any_bool(TCV_FOLD(tcq_or_bool, x));
}

#undef TCV_FOLD
#undef TCV_MAP1
#undef TCV_MAP2
#undef TCV_MAP3
#undef TCV_UNARY
#undef TCV_BINARY
#undef TCV_DEFINE
#undef TCV_DO

#endif
