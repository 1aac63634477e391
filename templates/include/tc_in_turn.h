/* SPDX-License-Identifier: Apache-2.0
 *
 * Elements of several vectors that lie in turn in memory: pixels of 3 channels, pairs of a complex number. Of n vectors,
 * n 2, 3, 4 or 8:
 *
 *   tcv_part_f32(x, n, some)      x has 16 n elements in their order, of which those of the first `some` vectors count; from
 *                                 then on vector k has the elements k, k + n, k + 2n, ...
 *   tcv_join_f32(x, n, n)         and back
 *   tcv_take_T(p, n, lo, hi, x)   x[k] has p[l*n + k] in lane l; where not lo <= l*n + k < hi, a lane has any value
 *   tcv_put_T(p, n, count, x)     and back, of lanes below count, from 1 to 16
 *
 * n is a constant; T is any dtype of vectors but bool. Nothing but these elements is touched.
 */
#ifndef TC_IN_TURN_H
#define TC_IN_TURN_H

#include "tc_vector.h"

#if defined(TC_ISA_SCALAR)
static TC_INLINE void tcv_part_f32(tcv_f32 *x, int n, int some)
{
    (void)some;
    float t[8 * 16];
    for (int i = 0; i < n * 16; ++i)
        t[i] = x[i / 16].v[i % 16];
    for (int i = 0; i < n * 16; ++i)
        x[i % n].v[i / n] = t[i];
}
static TC_INLINE void tcv_join_f32(tcv_f32 *x, int n, int some)
{
    (void)some;
    float t[8 * 16];
    for (int i = 0; i < n * 16; ++i)
        t[i] = x[i % n].v[i / n];
    for (int i = 0; i < n * 16; ++i)
        x[i / 16].v[i % 16] = t[i];
}
#else

/* -- registers: zips of two, and of three in place ------------------------------------------------------------------ */
#if defined(TC_ISA_AVX512)
static TC_INLINE tcq_f32 tcq_zip_low_f32(tcq_f32 x, tcq_f32 y)
{
    const __m512i lanes = _mm512_setr_epi32(0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
    return _mm512_permutex2var_ps(x, lanes, y);
}
static TC_INLINE tcq_f32 tcq_zip_high_f32(tcq_f32 x, tcq_f32 y)
{
    const __m512i lanes = _mm512_setr_epi32(8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
    return _mm512_permutex2var_ps(x, lanes, y);
}
/* Lanes i of the result by what e(i) is: an element of x and y, one behind the other, or from 32 on one of z. */
#define TCQ_OF_THREE(r, x, y, z, e)                                                                                    \
    do {                                                                                                               \
        const __m512i lanes_ = _mm512_setr_epi32(e(0), e(1), e(2), e(3), e(4), e(5), e(6), e(7), e(8), e(9), e(10),    \
                                                 e(11), e(12), e(13), e(14), e(15));                                   \
        enum {                                                                                                         \
            LAST_ = (e(0) > 31) | (e(1) > 31) << 1 | (e(2) > 31) << 2 | (e(3) > 31) << 3 | (e(4) > 31) << 4 |          \
                    (e(5) > 31) << 5 | (e(6) > 31) << 6 | (e(7) > 31) << 7 | (e(8) > 31) << 8 | (e(9) > 31) << 9 |     \
                    (e(10) > 31) << 10 | (e(11) > 31) << 11 | (e(12) > 31) << 12 | (e(13) > 31) << 13 |                \
                    (e(14) > 31) << 14 | (e(15) > 31) << 15                                                            \
        };                                                                                                             \
        r = _mm512_mask_permutexvar_ps(_mm512_permutex2var_ps(x, lanes_, y), (__mmask16)LAST_, lanes_, z);             \
    } while (0)
static TC_INLINE void tcq_part_3_f32(tcq_f32 *x)
{
    const tcq_f32 a = x[0], b = x[1], c = x[2];
#define TCQ_X(i) (3 * (i))
#define TCQ_Y(i) (3 * (i) + 1)
#define TCQ_Z(i) (3 * (i) + 2)
    TCQ_OF_THREE(x[0], a, b, c, TCQ_X);
    TCQ_OF_THREE(x[1], a, b, c, TCQ_Y);
    TCQ_OF_THREE(x[2], a, b, c, TCQ_Z);
#undef TCQ_X
#undef TCQ_Y
#undef TCQ_Z
}
static TC_INLINE void tcq_join_3_f32(tcq_f32 *x)
{
    const tcq_f32 a = x[0], b = x[1], c = x[2];
#define TCQ_AT(i, first) (((first) + (i)) % 3 * 16 + ((first) + (i)) / 3)
#define TCQ_X(i) TCQ_AT(i, 0)
#define TCQ_Y(i) TCQ_AT(i, 16)
#define TCQ_Z(i) TCQ_AT(i, 32)
    TCQ_OF_THREE(x[0], a, b, c, TCQ_X);
    TCQ_OF_THREE(x[1], a, b, c, TCQ_Y);
    TCQ_OF_THREE(x[2], a, b, c, TCQ_Z);
#undef TCQ_X
#undef TCQ_Y
#undef TCQ_Z
#undef TCQ_AT
}
#undef TCQ_OF_THREE
#elif defined(TC_ISA_AVX2)
static TC_INLINE tcq_f32 tcq_zip_low_f32(tcq_f32 x, tcq_f32 y)
{
    return _mm256_permute2f128_ps(_mm256_unpacklo_ps(x, y), _mm256_unpackhi_ps(x, y), 0x20);
}
static TC_INLINE tcq_f32 tcq_zip_high_f32(tcq_f32 x, tcq_f32 y)
{
    return _mm256_permute2f128_ps(_mm256_unpacklo_ps(x, y), _mm256_unpackhi_ps(x, y), 0x31);
}
/* In each half as quads are. */
static TC_INLINE void tcq_part_3_f32(tcq_f32 *x)
{
    const tcq_f32 p = _mm256_blend_ps(x[0], x[1], 0xf0), q = _mm256_permute2f128_ps(x[0], x[2], 0x21);
    const tcq_f32 r = _mm256_blend_ps(x[1], x[2], 0xf0);
    const tcq_f32 high = _mm256_shuffle_ps(q, r, 0x9e), low = _mm256_shuffle_ps(p, q, 0x49);
    x[0] = _mm256_shuffle_ps(p, high, 0x8c);
    x[1] = _mm256_shuffle_ps(low, high, 0xd8);
    x[2] = _mm256_shuffle_ps(low, r, 0xcd);
}
static TC_INLINE void tcq_join_3_f32(tcq_f32 *x)
{
    const tcq_f32 xy = _mm256_shuffle_ps(x[0], x[1], 0x88), yz = _mm256_shuffle_ps(x[1], x[2], 0xdd);
    const tcq_f32 zx = _mm256_shuffle_ps(x[2], x[0], 0xd8);
    const tcq_f32 p = _mm256_shuffle_ps(xy, zx, 0x88), q = _mm256_shuffle_ps(yz, xy, 0xd8);
    const tcq_f32 r = _mm256_shuffle_ps(zx, yz, 0xdd);
    x[0] = _mm256_permute2f128_ps(p, q, 0x20);
    x[1] = _mm256_blend_ps(r, p, 0xf0);
    x[2] = _mm256_permute2f128_ps(q, r, 0x31);
}
#elif defined(TC_ISA_X86_64)
static TC_INLINE tcq_f32 tcq_zip_low_f32(tcq_f32 x, tcq_f32 y)
{
    return _mm_unpacklo_ps(x, y);
}
static TC_INLINE tcq_f32 tcq_zip_high_f32(tcq_f32 x, tcq_f32 y)
{
    return _mm_unpackhi_ps(x, y);
}
static TC_INLINE void tcq_part_3_f32(tcq_f32 *x)
{
    const tcq_f32 high = _mm_shuffle_ps(x[1], x[2], 0x9e), low = _mm_shuffle_ps(x[0], x[1], 0x49), last = x[2];
    x[0] = _mm_shuffle_ps(x[0], high, 0x8c);
    x[1] = _mm_shuffle_ps(low, high, 0xd8);
    x[2] = _mm_shuffle_ps(low, last, 0xcd);
}
static TC_INLINE void tcq_join_3_f32(tcq_f32 *x)
{
    const tcq_f32 xy = _mm_shuffle_ps(x[0], x[1], 0x88), yz = _mm_shuffle_ps(x[1], x[2], 0xdd);
    const tcq_f32 zx = _mm_shuffle_ps(x[2], x[0], 0xd8);
    x[0] = _mm_shuffle_ps(xy, zx, 0x88);
    x[1] = _mm_shuffle_ps(yz, xy, 0xd8);
    x[2] = _mm_shuffle_ps(zx, yz, 0xdd);
}
#else
static TC_INLINE tcq_f32 tcq_zip_low_f32(tcq_f32 x, tcq_f32 y)
{
    return vzip1q_f32(x, y);
}
static TC_INLINE tcq_f32 tcq_zip_high_f32(tcq_f32 x, tcq_f32 y)
{
    return vzip2q_f32(x, y);
}
/* A lane of four bytes from byte 4 i of the three registers. */
#define TCQ_LANE(i) 4 * (i), 4 * (i) + 1, 4 * (i) + 2, 4 * (i) + 3
static TC_INLINE void tcq_of_three_f32(tcq_f32 *x, const uint8_t lanes[3][16])
{
    const uint8x16x3_t all = {
        {vreinterpretq_u8_f32(x[0]), vreinterpretq_u8_f32(x[1]), vreinterpretq_u8_f32(x[2])}};
    TC_UNROLL(8)
    for (int i = 0; i < 3; ++i)
        x[i] = vreinterpretq_f32_u8(vqtbl3q_u8(all, vld1q_u8(lanes[i])));
}
static TC_INLINE void tcq_part_3_f32(tcq_f32 *x)
{
    static const uint8_t lanes[3][16] = {{TCQ_LANE(0), TCQ_LANE(3), TCQ_LANE(6), TCQ_LANE(9)},
                                         {TCQ_LANE(1), TCQ_LANE(4), TCQ_LANE(7), TCQ_LANE(10)},
                                         {TCQ_LANE(2), TCQ_LANE(5), TCQ_LANE(8), TCQ_LANE(11)}};
    tcq_of_three_f32(x, lanes);
}
static TC_INLINE void tcq_join_3_f32(tcq_f32 *x)
{
    static const uint8_t lanes[3][16] = {{TCQ_LANE(0), TCQ_LANE(4), TCQ_LANE(8), TCQ_LANE(1)},
                                         {TCQ_LANE(5), TCQ_LANE(9), TCQ_LANE(2), TCQ_LANE(6)},
                                         {TCQ_LANE(10), TCQ_LANE(3), TCQ_LANE(7), TCQ_LANE(11)}};
    tcq_of_three_f32(x, lanes);
}
#undef TCQ_LANE
#endif

/* -- vectors: their registers in the order of memory ---------------------------------------------------------------- */
#define TCV_GET(m, l) q[l / (16 / TCQ_COUNT)] = x.m;
#define TCV_SET(m, l) x.m = q[l / (16 / TCQ_COUNT)];
static TC_INLINE void tcv_registers_f32(tcq_f32 *q, tcv_f32 x)
{
    TCV_EACH(TCV_GET)
}
static TC_INLINE tcv_f32 tcv_of_registers_f32(const tcq_f32 *q)
{
    tcv_f32 x;
    TCV_EACH(TCV_SET)
    return x;
}
#undef TCV_GET
#undef TCV_SET

static TC_INLINE void tcv_part_2_f32(tcv_f32 *x, tcv_f32 *y)
{
    tcq_f32 q[2 * TCQ_COUNT], even[TCQ_COUNT], odd[TCQ_COUNT];
    tcv_registers_f32(q, *x);
    tcv_registers_f32(q + TCQ_COUNT, *y);
    TC_UNROLL(8)
    for (int i = 0; i < TCQ_COUNT; ++i) {
        even[i] = tcq_even_f32(q[2 * i], q[2 * i + 1]);
        odd[i] = tcq_odd_f32(q[2 * i], q[2 * i + 1]);
    }
    *x = tcv_of_registers_f32(even);
    *y = tcv_of_registers_f32(odd);
}
static TC_INLINE void tcv_join_2_f32(tcv_f32 *x, tcv_f32 *y)
{
    tcq_f32 q[2 * TCQ_COUNT], first[TCQ_COUNT], second[TCQ_COUNT];
    tcv_registers_f32(first, *x);
    tcv_registers_f32(second, *y);
    TC_UNROLL(8)
    for (int i = 0; i < TCQ_COUNT; ++i) {
        q[2 * i] = tcq_zip_low_f32(first[i], second[i]);
        q[2 * i + 1] = tcq_zip_high_f32(first[i], second[i]);
    }
    *x = tcv_of_registers_f32(q);
    *y = tcv_of_registers_f32(q + TCQ_COUNT);
}
static TC_INLINE void tcv_part_3_f32(tcv_f32 *x)
{
    tcq_f32 q[3 * TCQ_COUNT], parts[3][TCQ_COUNT];
    TC_UNROLL(8)
    for (int k = 0; k < 3; ++k)
        tcv_registers_f32(q + k * TCQ_COUNT, x[k]);
    TC_UNROLL(8)
    for (int i = 0; i < TCQ_COUNT; ++i) {
        tcq_part_3_f32(q + 3 * i);
        TC_UNROLL(8)
        for (int k = 0; k < 3; ++k)
            parts[k][i] = q[3 * i + k];
    }
    TC_UNROLL(8)
    for (int k = 0; k < 3; ++k)
        x[k] = tcv_of_registers_f32(parts[k]);
}
static TC_INLINE void tcv_join_3_f32(tcv_f32 *x)
{
    tcq_f32 q[3 * TCQ_COUNT], parts[3][TCQ_COUNT];
    TC_UNROLL(8)
    for (int k = 0; k < 3; ++k)
        tcv_registers_f32(parts[k], x[k]);
    TC_UNROLL(8)
    for (int i = 0; i < TCQ_COUNT; ++i) {
        TC_UNROLL(8)
        for (int k = 0; k < 3; ++k)
            q[3 * i + k] = parts[k][i];
        tcq_join_3_f32(q + 3 * i);
    }
    TC_UNROLL(8)
    for (int k = 0; k < 3; ++k)
        x[k] = tcv_of_registers_f32(q + k * TCQ_COUNT);
}

/* Pairs that lie 1, 2 and 4 apart. some: vectors that hold anything; of others no pairs are made. */
#define TCV_PAIR(of, i, j) tcv_##of##_2_f32(x + i, x + j);
#define TCV_NEXT(of)                                                                                                   \
    TCV_PAIR(of, 0, 1)                                                                                                 \
    if (n > 2 && some > 2) {                                                                                           \
        TCV_PAIR(of, 2, 3)                                                                                             \
    }                                                                                                                  \
    if (n > 4 && some > 4) {                                                                                           \
        TCV_PAIR(of, 4, 5) TCV_PAIR(of, 6, 7)                                                                          \
    }
#define TCV_SECOND(of)                                                                                                 \
    if (n > 2) {                                                                                                       \
        TCV_PAIR(of, 0, 2) TCV_PAIR(of, 1, 3)                                                                          \
    }                                                                                                                  \
    if (n > 4 && some > 4) {                                                                                           \
        TCV_PAIR(of, 4, 6) TCV_PAIR(of, 5, 7)                                                                          \
    }
#define TCV_FOURTH(of)                                                                                                 \
    if (n > 4) {                                                                                                       \
        TCV_PAIR(of, 0, 4) TCV_PAIR(of, 1, 5) TCV_PAIR(of, 2, 6) TCV_PAIR(of, 3, 7)                                    \
    }
static TC_INLINE void tcv_part_f32(tcv_f32 *x, int n, int some)
{
    if (n == 3) {
        tcv_part_3_f32(x);
        return;
    }
    TCV_NEXT(part)
    TCV_SECOND(part)
    TCV_FOURTH(part)
}
static TC_INLINE void tcv_join_f32(tcv_f32 *x, int n, int some)
{
    if (n == 3) {
        tcv_join_3_f32(x);
        return;
    }
    TCV_FOURTH(join)
    TCV_SECOND(join)
    TCV_NEXT(join)
}
#undef TCV_PAIR
#undef TCV_NEXT
#undef TCV_SECOND
#undef TCV_FOURTH
#endif

/* -- memory --------------------------------------------------------------------------------------------------------- */
#define TCV_AS_FLOATS(of)                                                                                              \
    static TC_INLINE void tcv_##of##_i32(tcv_i32 *x, int n, int some)                                                  \
    {                                                                                                                  \
        tcv_f32 y[8];                                                                                                  \
        TC_UNROLL(8)                                                                                                   \
        for (int k = 0; k < n; ++k)                                                                                    \
            y[k] = tcv_asfloat_i32(x[k]);                                                                              \
        tcv_##of##_f32(y, n, some);                                                                                    \
        TC_UNROLL(8)                                                                                                   \
        for (int k = 0; k < n; ++k)                                                                                    \
            x[k] = tcv_asint_f32(y[k]);                                                                                \
    }
TCV_AS_FLOATS(part)
TCV_AS_FLOATS(join)
#undef TCV_AS_FLOATS

#define TCV_IN_TURN(T, C, V, WIDE)                                                                                     \
    static TC_INLINE void tcv_take_##T(const C *p, int n, tc_index lo, tc_index hi, V *x)                              \
    {                                                                                                                  \
        TC_UNROLL(8)                                                                                                   \
        for (int k = 0; k < n; ++k) {                                                                                  \
            const tc_index low = lo - 16 * k, high = hi - 16 * k;                                                      \
            x[k] = low <= 0 && high >= 16 ? tcv_load_##T(p + 16 * k)                                                   \
                   : low <= 0             ? tcv_loadn_##T(p + 16 * k, tc_max(high, 0))                                 \
                                          : tcv_loadw_##T(p + 16 * k, low, high, tcv_splat_##T(0));                    \
        }                                                                                                              \
        tcv_part_##WIDE(x, n, hi > 0 ? (int)((hi + 15) / 16) : 0);                                                     \
    }                                                                                                                  \
    static TC_INLINE void tcv_put_##T(C *p, int n, tc_index count, V *x)                                               \
    {                                                                                                                  \
        tcv_join_##WIDE(x, n, n);                                                                                      \
        TC_UNROLL(8)                                                                                                   \
        for (int k = 0; k < n; ++k) {                                                                                  \
            if (count >= 16)                                                                                           \
                tcv_store_##T(p + 16 * k, x[k]);                                                                       \
            else if (n * count > 16 * k)                                                                               \
                tcv_storen_##T(p + 16 * k, x[k], tc_min(n * count - 16 * k, 16));                                      \
        }                                                                                                              \
    }
TCV_IN_TURN(f32, float, tcv_f32, f32)
TCV_IN_TURN(i32, int32_t, tcv_i32, i32)
TCV_IN_TURN(f16, uint16_t, tcv_f32, f32)
TCV_IN_TURN(bf16, uint16_t, tcv_f32, f32)
TCV_IN_TURN(i8, int8_t, tcv_i32, i32)
TCV_IN_TURN(u8, uint8_t, tcv_i32, i32)
TCV_IN_TURN(i16, int16_t, tcv_i32, i32)
TCV_IN_TURN(u16, uint16_t, tcv_i32, i32)
#undef TCV_IN_TURN

#endif
