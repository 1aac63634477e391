/* SPDX-License-Identifier: Apache-2.0
 *
 * tc_cast_<from>_<to> between all dtypes (docs/numerics.md), included by tc_scalar.h.
 *
 * Numbers to bool: x != 0, so NaN is true. Integers to integers: the low bits. Floats to integers: truncated, saturated, NaN
 * is 0. To floats: rounded to nearest even, once. f16 and bf16 go by way of f32, which has all their values.
 * tc_bitcast_<from>_<to> keep the bits.
 */
#ifndef TC_CAST_H
#define TC_CAST_H

#define TC_CAST(from, F, to, T, expression)                                                                            \
    static inline T tc_cast_##from##_##to(F x)                                                                         \
    {                                                                                                                  \
        return expression;                                                                                             \
    }

/* -- integers: gcc and clang keep the low bits of what is out of range ---------------------------------------------- */

#define TC_CAST_PAIR(A, X, B, Y) TC_CAST(A, X, B, Y, (Y)x) TC_CAST(B, Y, A, X, (X)x)
TC_CAST_PAIR(i8, int8_t, i16, int16_t)
TC_CAST_PAIR(i8, int8_t, i32, int32_t)
TC_CAST_PAIR(i8, int8_t, i64, int64_t)
TC_CAST_PAIR(i8, int8_t, u8, uint8_t)
TC_CAST_PAIR(i8, int8_t, u16, uint16_t)
TC_CAST_PAIR(i8, int8_t, u32, uint32_t)
TC_CAST_PAIR(i8, int8_t, u64, uint64_t)
TC_CAST_PAIR(i16, int16_t, i32, int32_t)
TC_CAST_PAIR(i16, int16_t, i64, int64_t)
TC_CAST_PAIR(i16, int16_t, u8, uint8_t)
TC_CAST_PAIR(i16, int16_t, u16, uint16_t)
TC_CAST_PAIR(i16, int16_t, u32, uint32_t)
TC_CAST_PAIR(i16, int16_t, u64, uint64_t)
TC_CAST_PAIR(i32, int32_t, i64, int64_t)
TC_CAST_PAIR(i32, int32_t, u8, uint8_t)
TC_CAST_PAIR(i32, int32_t, u16, uint16_t)
TC_CAST_PAIR(i32, int32_t, u32, uint32_t)
TC_CAST_PAIR(i32, int32_t, u64, uint64_t)
TC_CAST_PAIR(i64, int64_t, u8, uint8_t)
TC_CAST_PAIR(i64, int64_t, u16, uint16_t)
TC_CAST_PAIR(i64, int64_t, u32, uint32_t)
TC_CAST_PAIR(i64, int64_t, u64, uint64_t)
TC_CAST_PAIR(u8, uint8_t, u16, uint16_t)
TC_CAST_PAIR(u8, uint8_t, u32, uint32_t)
TC_CAST_PAIR(u8, uint8_t, u64, uint64_t)
TC_CAST_PAIR(u16, uint16_t, u32, uint32_t)
TC_CAST_PAIR(u16, uint16_t, u64, uint64_t)
TC_CAST_PAIR(u32, uint32_t, u64, uint64_t)
#undef TC_CAST_PAIR

/* -- between f32, f64 and integers: the conversion of C where it is defined ------------------------------------------ */

/* LIMIT is the first power of two that T has not; what truncates to a number below MIN is at most MIN - 1, where MIN is
 * exact. */
#define TC_SATURATE(T, MIN, MAX, LIMIT) (x >= (LIMIT) ? (MAX) : x < (MIN) ? (MIN) : x != x ? 0 : (T)x)
#define TC_CAST_INTEGER(T, C, MIN, MAX, LIMIT)                                                                         \
    TC_CAST(T, C, bool, uint8_t, x != 0)                                                                               \
    TC_CAST(bool, uint8_t, T, C, (C)x)                                                                                 \
    TC_CAST(T, C, f32, float, (float)x)                                                                                \
    TC_CAST(T, C, f64, double, (double)x)                                                                              \
    TC_CAST(f32, float, T, C, TC_SATURATE(C, MIN, MAX, LIMIT##f))                                                      \
    TC_CAST(f64, double, T, C, TC_SATURATE(C, MIN, MAX, LIMIT))                                                        \
    TC_CAST(f16, uint16_t, T, C, tc_cast_f32_##T(tc_unpack_f16(x)))                                                    \
    TC_CAST(bf16, uint16_t, T, C, tc_cast_f32_##T(tc_unpack_bf16(x)))
TC_CAST_INTEGER(i8, int8_t, INT8_MIN, INT8_MAX, 0x1p7)
TC_CAST_INTEGER(i16, int16_t, INT16_MIN, INT16_MAX, 0x1p15)
TC_CAST_INTEGER(i32, int32_t, INT32_MIN, INT32_MAX, 0x1p31)
TC_CAST_INTEGER(i64, int64_t, INT64_MIN, INT64_MAX, 0x1p63)
TC_CAST_INTEGER(u8, uint8_t, 0, UINT8_MAX, 0x1p8)
TC_CAST_INTEGER(u16, uint16_t, 0, UINT16_MAX, 0x1p16)
TC_CAST_INTEGER(u32, uint32_t, 0, UINT32_MAX, 0x1p32)
TC_CAST_INTEGER(u64, uint64_t, 0, UINT64_MAX, 0x1p64)
#undef TC_CAST_INTEGER
#undef TC_SATURATE

TC_CAST(f32, float, f64, double, x)
TC_CAST(f64, double, f32, float, (float)x)
TC_CAST(f32, float, bool, uint8_t, x != 0)
TC_CAST(f64, double, bool, uint8_t, x != 0)
TC_CAST(bool, uint8_t, f32, float, (float)x)
TC_CAST(bool, uint8_t, f64, double, (double)x)

/* -- to f16 and bf16 ------------------------------------------------------------------------------------------------ */

TC_CAST(f16, uint16_t, f32, float, tc_unpack_f16(x))
TC_CAST(bf16, uint16_t, f32, float, tc_unpack_bf16(x))
TC_CAST(f32, float, f16, uint16_t, (uint16_t)tc_pack_f16(tc_round_f16(x)))
TC_CAST(f32, float, bf16, uint16_t, (uint16_t)tc_pack_bf16(tc_round_bf16(x)))

/* The pattern of the 16-bit float nearest to x, ties to even, with `fraction` stored digits and that bias: one rounding,
 * of what is denormal there too. */
static inline uint16_t tc_narrow_f64(double x, int fraction, int bias)
{
    const uint64_t bits = (uint64_t)tc_asint_f64(x), size = bits & INT64_MAX, infinity = (uint64_t)0x7ff << 52;
    const uint16_t sign = (uint16_t)(bits >> 48 & 0x8000), top = (uint16_t)((2 * bias + 1) << fraction);
    if (size >= infinity)
        return size == infinity ? sign | top : sign | top | (uint16_t)(1 << (fraction - 1));
    int exponent = (int)(size >> 52) - 1023, shift = 52 - fraction;
    if (exponent > bias)
        return sign | top;
    if (exponent < 1 - bias) { /* denormal: its last place is that of the smallest normal number */
        shift += 1 - bias - exponent;
        exponent = 1 - bias;
        if (shift > 54)
            return sign; /* less than half the smallest number; f64's own denormals, too */
    }
    const uint64_t significand = (size & (((uint64_t)1 << 52) - 1)) | (uint64_t)1 << 52;
    const uint64_t rest = significand & (((uint64_t)1 << shift) - 1), half = (uint64_t)1 << (shift - 1);
    uint64_t kept = significand >> shift;
    kept += rest > half || (rest == half && (kept & 1) != 0);
    /* the hidden bit, or a carry, adds one to the exponent's field; beyond the largest number this is infinity */
    return sign | (uint16_t)(((uint64_t)(exponent + bias - 1) << fraction) + kept);
}

TC_CAST(f64, double, f16, uint16_t, tc_narrow_f64(x, 10, 15))
TC_CAST(f64, double, bf16, uint16_t, tc_narrow_f64(x, 7, 127))
TC_CAST(f16, uint16_t, f64, double, tc_unpack_f16(x))
TC_CAST(bf16, uint16_t, f64, double, tc_unpack_bf16(x))
TC_CAST(f16, uint16_t, bf16, uint16_t, tc_cast_f32_bf16(tc_unpack_f16(x)))
TC_CAST(bf16, uint16_t, f16, uint16_t, tc_cast_f32_f16(tc_unpack_bf16(x)))
TC_CAST(f16, uint16_t, bool, uint8_t, (x & 0x7fff) != 0)
TC_CAST(bf16, uint16_t, bool, uint8_t, (x & 0x7fff) != 0)

/* A double on the same side of every number of fewer than 43 digits as x, and x itself where it fits: what no double holds
 * ends in a bit that stands for the rest, so that the next rounding is the only one. */
static inline double tc_odd_u64(uint64_t x)
{
    return x >> 53 ? (double)(int64_t)(x >> 12 | ((x & 0xfff) != 0)) * 0x1p12 : (double)(int64_t)x;
}

static inline double tc_odd_i64(int64_t x)
{
    return x < 0 ? -tc_odd_u64((uint64_t)0 - (uint64_t)x) : tc_odd_u64((uint64_t)x);
}

#define TC_CAST_HALVES(T, C, wide)                                                                                     \
    TC_CAST(T, C, f16, uint16_t, tc_cast_f64_f16(wide)) TC_CAST(T, C, bf16, uint16_t, tc_cast_f64_bf16(wide))
TC_CAST(bool, uint8_t, f16, uint16_t, x ? 0x3c00 : 0)
TC_CAST(bool, uint8_t, bf16, uint16_t, x ? 0x3f80 : 0)
TC_CAST_HALVES(i8, int8_t, (double)x)
TC_CAST_HALVES(i16, int16_t, (double)x)
TC_CAST_HALVES(i32, int32_t, (double)x)
TC_CAST_HALVES(i64, int64_t, tc_odd_i64(x))
TC_CAST_HALVES(u8, uint8_t, (double)x)
TC_CAST_HALVES(u16, uint16_t, (double)x)
TC_CAST_HALVES(u32, uint32_t, (double)x)
TC_CAST_HALVES(u64, uint64_t, tc_odd_u64(x))
#undef TC_CAST_HALVES
#undef TC_CAST

/* -- the same bits as another dtype --------------------------------------------------------------------------------- */

#define TC_BITCAST(F, float_type, SI, UI, width, bits, from_bits)                                                      \
    static inline int##width##_t tc_bitcast_##F##_##SI(float_type x)                                                   \
    {                                                                                                                  \
        return (int##width##_t)bits;                                                                                   \
    }                                                                                                                  \
    static inline uint##width##_t tc_bitcast_##F##_##UI(float_type x)                                                  \
    {                                                                                                                  \
        return (uint##width##_t)bits;                                                                                  \
    }                                                                                                                  \
    static inline float_type tc_bitcast_##SI##_##F(int##width##_t x)                                                   \
    {                                                                                                                  \
        return from_bits;                                                                                              \
    }                                                                                                                  \
    static inline float_type tc_bitcast_##UI##_##F(uint##width##_t x)                                                  \
    {                                                                                                                  \
        return from_bits;                                                                                              \
    }
TC_BITCAST(f32, float, i32, u32, 32, tc_asint_f32(x), tc_asfloat_i32((int32_t)x))
TC_BITCAST(f64, double, i64, u64, 64, tc_asint_f64(x), tc_asfloat_i64((int64_t)x))
TC_BITCAST(f16, uint16_t, i16, u16, 16, x, (uint16_t)x)
TC_BITCAST(bf16, uint16_t, i16, u16, 16, x, (uint16_t)x)
#undef TC_BITCAST

#endif
