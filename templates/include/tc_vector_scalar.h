/* SPDX-License-Identifier: Apache-2.0
 *
 * The tcv_ types and operations in plain C: arrays of 16. For targets without vectors (generated code is one lane wide
 * there) and as the definition that tests hold the instruction sets against.
 */
#ifndef TC_VECTOR_SCALAR_H
#define TC_VECTOR_SCALAR_H

typedef struct {
    float v[16];
} tcv_f32;
typedef struct {
    int32_t v[16];
} tcv_i32;
typedef struct {
    uint8_t v[16];
} tcv_mask;

#define TCV_LANES(R, expression)                                                                                       \
    {                                                                                                                  \
        R r;                                                                                                           \
        for (int l = 0; l < 16; ++l)                                                                                   \
            r.v[l] = (expression);                                                                                     \
        return r;                                                                                                      \
    }
#define TCV_UNARY(R, T, name)                                                                                          \
    static TC_INLINE R tcv_##name(T x) TCV_LANES(R, tc_##name(x.v[l]))
#define TCV_BINARY(R, T, name)                                                                                         \
    static TC_INLINE R tcv_##name(T x, T y) TCV_LANES(R, tc_##name(x.v[l], y.v[l]))
#define TCV_MEMORY(V, C, T)                                                                                            \
    static TC_INLINE V tcv_splat_##T(C x) TCV_LANES(V, x)                                                              \
    static TC_INLINE V tcv_load_##T(const C *p) TCV_LANES(V, p[l])                                                     \
    static TC_INLINE void tcv_store_##T(C *p, V x)                                                                     \
    {                                                                                                                  \
        for (int l = 0; l < 16; ++l)                                                                                   \
            p[l] = x.v[l];                                                                                             \
    }
#define TCV_PARTIAL(V, C, T)                                                                                           \
    static TC_INLINE V tcv_loadw_##T(const C *p, tc_index lo, tc_index hi, V other)                                    \
        TCV_LANES(V, lo <= l && l < hi ? p[l] : other.v[l])                                                            \
    static TC_INLINE void tcv_storen_##T(C *p, V x, tc_index n)                                                        \
    {                                                                                                                  \
        for (tc_index l = 0; l < tc_min(n, 16); ++l)                                                                   \
            p[l] = x.v[l];                                                                                             \
    }

TCV_MEMORY(tcv_f32, float, f32)
TCV_MEMORY(tcv_i32, int32_t, i32)
TCV_MEMORY(tcv_mask, uint8_t, bool)
TCV_PARTIAL(tcv_f32, float, f32)
TCV_PARTIAL(tcv_i32, int32_t, i32)

static TC_INLINE tcv_f32 tcv_set_f32(const float *p, tc_index stride) TCV_LANES(tcv_f32, p[l * stride])
static TC_INLINE tcv_f32 tcv_evens_f32(const float *p, tc_index lo, tc_index hi)
    TCV_LANES(tcv_f32, lo <= 2 * l && 2 * l < hi ? p[2 * l] : 0.0f)
static TC_INLINE tcv_f32 tcv_odds_f32(const float *p, tc_index lo, tc_index hi)
    TCV_LANES(tcv_f32, lo <= 2 * l + 1 && 2 * l + 1 < hi ? p[2 * l + 1] : 0.0f)
static TC_INLINE tcv_i32 tcv_pairs_8(const void *p)
    TCV_LANES(tcv_i32, ((const uint8_t *)p)[2 * l] | ((const uint8_t *)p)[2 * l + 1] << 8)
static TC_INLINE tcv_i32 tcv_pairs_16(const void *p)
    TCV_LANES(tcv_i32, (int32_t)(((const uint16_t *)p)[2 * l] | (uint32_t)((const uint16_t *)p)[2 * l + 1] << 16))
static TC_INLINE tcv_mask tcv_range(tc_index lo, tc_index hi) TCV_LANES(tcv_mask, lo <= l && l < hi)

TCV_UNARY(tcv_f32, tcv_f32, neg_f32)
TCV_UNARY(tcv_f32, tcv_f32, abs_f32)
TCV_UNARY(tcv_f32, tcv_f32, sqrt_f32)
TCV_UNARY(tcv_i32, tcv_i32, abs_i32)
TCV_UNARY(tcv_i32, tcv_f32, asint_f32)
TCV_UNARY(tcv_f32, tcv_i32, asfloat_i32)
TCV_UNARY(tcv_i32, tcv_f32, cast_f32_i32)
TCV_UNARY(tcv_f32, tcv_i32, cast_i32_f32)
TCV_UNARY(tcv_mask, tcv_mask, logical_not_bool)
TCV_BINARY(tcv_f32, tcv_f32, add_f32)
TCV_BINARY(tcv_f32, tcv_f32, sub_f32)
TCV_BINARY(tcv_f32, tcv_f32, mul_f32)
TCV_BINARY(tcv_f32, tcv_f32, div_f32)
TCV_BINARY(tcv_f32, tcv_f32, maximum_f32)
TCV_BINARY(tcv_f32, tcv_f32, minimum_f32)
TCV_BINARY(tcv_f32, tcv_f32, lesser_f32)
TCV_BINARY(tcv_f32, tcv_f32, greater_f32)
TCV_BINARY(tcv_mask, tcv_f32, eq_f32)
TCV_BINARY(tcv_mask, tcv_f32, ne_f32)
TCV_BINARY(tcv_mask, tcv_f32, lt_f32)
TCV_BINARY(tcv_mask, tcv_f32, le_f32)
TCV_BINARY(tcv_i32, tcv_i32, add_i32)
TCV_BINARY(tcv_i32, tcv_i32, sub_i32)
TCV_BINARY(tcv_i32, tcv_i32, mul_i32)
TCV_BINARY(tcv_i32, tcv_i32, maximum_i32)
TCV_BINARY(tcv_i32, tcv_i32, minimum_i32)
TCV_BINARY(tcv_i32, tcv_i32, bit_and_i32)
TCV_BINARY(tcv_i32, tcv_i32, bit_or_i32)
TCV_BINARY(tcv_i32, tcv_i32, bit_xor_i32)
TCV_BINARY(tcv_mask, tcv_i32, eq_i32)
TCV_BINARY(tcv_mask, tcv_i32, lt_i32)
TCV_BINARY(tcv_mask, tcv_mask, logical_and_bool)
TCV_BINARY(tcv_mask, tcv_mask, logical_or_bool)
TCV_BINARY(tcv_mask, tcv_mask, logical_xor_bool)

static TC_INLINE tcv_i32 tcv_truncate_f32(tcv_f32 x) TCV_LANES(tcv_i32, (int32_t)x.v[l])
static TC_INLINE tcv_i32 tcv_cast_bounded_f32(tcv_f32 x) TCV_LANES(tcv_i32, x.v[l] == x.v[l] ? (int32_t)x.v[l] : 0)
static TC_INLINE tcv_i32 tcv_fma_short(tcv_i32 x, tcv_i32 y, tcv_i32 z)
    TCV_LANES(tcv_i32, tc_add_i32(z.v[l], x.v[l] * y.v[l]))
static TC_INLINE tcv_f32 tcv_fma_f32(tcv_f32 x, tcv_f32 y, tcv_f32 z)
    TCV_LANES(tcv_f32, tc_fma_f32(x.v[l], y.v[l], z.v[l]))
static TC_INLINE tcv_f32 tcv_select_f32(tcv_mask m, tcv_f32 x, tcv_f32 y) TCV_LANES(tcv_f32, m.v[l] ? x.v[l] : y.v[l])
static TC_INLINE tcv_i32 tcv_select_i32(tcv_mask m, tcv_i32 x, tcv_i32 y) TCV_LANES(tcv_i32, m.v[l] ? x.v[l] : y.v[l])
static TC_INLINE tcv_i32 tcv_shl_i32(tcv_i32 x, int n) TCV_LANES(tcv_i32, tc_shl_i32(x.v[l], n))
static TC_INLINE tcv_i32 tcv_sar_i32(tcv_i32 x, int n) TCV_LANES(tcv_i32, tc_sar_i32(x.v[l], n))

static TC_INLINE float tcv_sum_f32(tcv_f32 x)
{
    for (int half = 8; half > 0; half /= 2)
        for (int l = 0; l < half; ++l)
            x.v[l] += x.v[l + half];
    return x.v[0];
}

static TC_INLINE int32_t tcv_sum_i32(tcv_i32 x)
{
    int32_t r = x.v[0];
    for (int l = 1; l < 16; ++l)
        r = tc_add_i32(r, x.v[l]);
    return r;
}

static TC_INLINE int32_t tcv_max_i32(tcv_i32 x)
{
    int32_t r = x.v[0];
    for (int l = 1; l < 16; ++l)
        r = tc_maximum_i32(r, x.v[l]);
    return r;
}

static TC_INLINE int32_t tcv_min_i32(tcv_i32 x)
{
    int32_t r = x.v[0];
    for (int l = 1; l < 16; ++l)
        r = tc_minimum_i32(r, x.v[l]);
    return r;
}

static TC_INLINE uint8_t tcv_any_bool(tcv_mask x)
{
    uint8_t any = 0;
    for (int l = 0; l < 16; ++l)
        any |= x.v[l];
    return any;
}

#undef TCV_LANES
#undef TCV_UNARY
#undef TCV_BINARY
#undef TCV_MEMORY
#undef TCV_PARTIAL

#endif
