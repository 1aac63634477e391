/* SPDX-License-Identifier: Apache-2.0
 *
 * The scalar operations: each the C expression of docs/numerics.md, used by kernels, by the interpreter and by tests.
 *
 * Names are tc_<op>_<dtype>, the dtypes those of generator/dtypes.def; a bool is a uint8_t holding 0 or 1, f16 and bf16
 * are uint16_t holding the bits and know no arithmetic, only casts and what moves elements. Freestanding; nothing here
 * becomes a call of libm, whatever the options (a builtin is used only where the target has its instruction). Compile
 * with -ffp-contract=off -fwrapv and without fast-math; the environment rounds to nearest and keeps denormals.
 */
#ifndef TC_SCALAR_H
#define TC_SCALAR_H

#include <stdint.h>

#if defined(__FAST_MATH__)
#error "tc_scalar.h: -ffast-math changes results; compile without it"
#endif
#if defined(__FLT_EVAL_METHOD__) && __FLT_EVAL_METHOD__ != 0 && __FLT_EVAL_METHOD__ != 16
#error "tc_scalar.h: arithmetic in more than the operands' precision (x87) is not supported"
#endif

/* Bit patterns. */
static inline int32_t tc_asint_f32(float x)
{
    const union {
        float f;
        int32_t i;
    } u = {.f = x};
    return u.i;
}

static inline float tc_asfloat_i32(int32_t x)
{
    const union {
        int32_t i;
        float f;
    } u = {.i = x};
    return u.f;
}

/*
 * fma: a*b + c with one rounding. TC_HAVE_FMA says that the target has the instruction.
 */
#if defined(__CUDA_ARCH__) || defined(__FMA__) || defined(__aarch64__) || (defined(__riscv_flen) && __riscv_flen >= 32) || \
    (defined(__ARM_FEATURE_FMA) && defined(__ARM_FP) && (__ARM_FP & 4))
#define TC_HAVE_FMA 1
#else
#define TC_HAVE_FMA 0
#endif

/*
 * Without the instruction. The product of two f32 is exact in double. Its sum with c is rounded to odd (where inexact, the
 * last bit is set: the candidate next to the exact sum whose significand is odd), after which the rounding to f32 is right
 * because double has more than two bits to spare; rounding the sum to nearest instead is wrong for a = b = 1 + 2^-12, c
 * = 2^-80. The error of the sum is Knuth's two-sum, exact as nothing overflows.
 */
static inline float tc_fma_soft_f32(float a, float b, float c)
{
    const double p = (double)a * (double)b, addend = (double)c;
    union {
        double f;
        uint64_t i;
    } sum = {.f = p + addend};
    const double back = sum.f - p;
    const double error = (p - (sum.f - back)) + (addend - back);
    const int finite = (sum.i >> 52 & 0x7ff) != 0x7ff;
    if (finite && error != 0.0 && (sum.i & 1) == 0)
        sum.i += (error > 0.0) == (sum.f > 0.0) ? 1u : UINT64_MAX;
    return (float)sum.f;
}

static inline float tc_fma_f32(float a, float b, float c)
{
#if defined(__CUDA_ARCH__)
    return __fmaf_rn(a, b, c);
#elif TC_HAVE_FMA
    return __builtin_fmaf(a, b, c);
#else
    return tc_fma_soft_f32(a, b, c);
#endif
}

/*
 * Square root, correctly rounded: the instruction, in assembly because __builtin_sqrtf may call libm to set
 * errno, and the intrinsics' headers need a hosted C library. Negative numbers give NaN, -0 gives -0.
 * On x86-64 {AT&T|Intel}: the host's flags may ask for either dialect.
 */
static inline float tc_sqrt_soft_f32(float x)
{
    uint32_t bits = (uint32_t)tc_asint_f32(x);
    if (bits == 0x80000000u || bits == 0 || bits == 0x7f800000u)
        return x;
    if (bits > 0x7f800000u)
        return tc_asfloat_i32(0x7fc00000); /* negative or NaN */
    int32_t e = (int32_t)(bits >> 23);
    uint32_t m = bits & 0x7fffffu;
    if (e != 0)
        m |= 0x800000u;
    else
        for (e = 1; (m & 0x800000u) == 0; e--)
            m <<= 1;
    /* x = m 2^(e - 150). With an even exponent, the root of m 2^24 (or 2^25) has 24 or 25 bits: one for rounding. */
    const int32_t odd = (e - 150) & 1;
    uint64_t rest = (uint64_t)m << (24 + 2 + odd), root = 0;
    for (uint64_t bit = (uint64_t)1 << 52; bit != 0; bit >>= 2) {
        if (rest >= root + bit) {
            rest -= root + bit;
            root = (root >> 1) + bit;
        } else {
            root >>= 1;
        }
    }
    /* root = floor(sqrt(m 2^(26 + odd))), in [2^24, 2^26): 24 bits are kept; ties cannot occur as rest != 0 then. */
    const int32_t shift = root >= ((uint64_t)1 << 25) ? 2 : 1;
    const uint64_t kept = root >> shift, half = (uint64_t)1 << (shift - 1), low = root & (((uint64_t)1 << shift) - 1);
    const uint64_t rounded = kept + (low > half || (low == half && (rest != 0 || (kept & 1) != 0)));
    const int32_t exponent = (e - 150 - odd - 26) / 2 + shift + 150; /* of the kept bits, biased */
    return tc_asfloat_i32((int32_t)((uint32_t)(exponent - 1) << 23) + (int32_t)rounded);
}

static inline float tc_sqrt_f32(float x)
{
#if defined(__CUDA_ARCH__)
    return __fsqrt_rn(x);
#elif defined(__AVX__)
    float r;
    __asm__("vsqrtss {%1, %1, %0|%0, %1, %1}" : "=x"(r) : "x"(x));
    return r;
#elif defined(__SSE2__)
    float r;
    __asm__("sqrtss {%1, %0|%0, %1}" : "=x"(r) : "x"(x));
    return r;
#elif defined(__aarch64__)
    float r;
    __asm__("fsqrt %s0, %s1" : "=w"(r) : "w"(x));
    return r;
#elif defined(__riscv_flen) && __riscv_flen >= 32
    float r;
    __asm__("fsqrt.s %0, %1" : "=f"(r) : "f"(x));
    return r;
#elif defined(__ARM_FP) && (__ARM_FP & 4)
    float r;
    __asm__("vsqrt.f32 %0, %1" : "=t"(r) : "t"(x));
    return r;
#else
    return tc_sqrt_soft_f32(x);
#endif
}

#include "tc_scalar_far.h"

/* f32 arithmetic. */
static inline float tc_neg_f32(float x)
{
    return tc_asfloat_i32((int32_t)((uint32_t)tc_asint_f32(x) ^ 0x80000000u));
}

static inline float tc_abs_f32(float x)
{
    return tc_asfloat_i32(tc_asint_f32(x) & 0x7fffffff);
}

static inline float tc_add_f32(float a, float b)
{
    return a + b;
}

static inline float tc_sub_f32(float a, float b)
{
    return a - b;
}

static inline float tc_mul_f32(float a, float b)
{
    return a * b;
}

static inline float tc_div_f32(float a, float b)
{
    return a / b;
}

/* NaN where an operand is NaN; -0 < +0. Where a == b only zeros of two signs differ, and `and`, `or` of the bits choose. */
static inline float tc_maximum_f32(float a, float b)
{
    return a != a || a > b ? a : a == b ? tc_asfloat_i32(tc_asint_f32(a) & tc_asint_f32(b)) : b;
}

static inline float tc_minimum_f32(float a, float b)
{
    return a != a || a < b ? a : a == b ? tc_asfloat_i32(tc_asint_f32(a) | tc_asint_f32(b)) : b;
}

/* Integers wrap; division truncates, x / 0 is 0 and MIN / -1 is MIN; the remainder has the sign of the dividend, x rem 0 is
 * 0. */
#define TC_SCALAR_INTEGER(T, I, U, MIN)                                                                                \
    static inline I tc_neg_##T(I x)                                                                                    \
    {                                                                                                                  \
        return (I)((U)0 - (U)x);                                                                                       \
    }                                                                                                                  \
    static inline I tc_abs_##T(I x)                                                                                    \
    {                                                                                                                  \
        return x > 0 || (MIN) == 0 ? x : tc_neg_##T(x);                                                                \
    }                                                                                                                  \
    static inline I tc_add_##T(I a, I b)                                                                               \
    {                                                                                                                  \
        return (I)((U)a + (U)b);                                                                                       \
    }                                                                                                                  \
    static inline I tc_sub_##T(I a, I b)                                                                               \
    {                                                                                                                  \
        return (I)((U)a - (U)b);                                                                                       \
    }                                                                                                                  \
    static inline I tc_mul_##T(I a, I b)                                                                               \
    {                                                                                                                  \
        return (I)((U)a * (U)b);                                                                                       \
    }                                                                                                                  \
    static inline I tc_div_##T(I a, I b)                                                                               \
    {                                                                                                                  \
        return b == 0 ? 0 : a == (MIN) && (MIN) < 0 && b == (I)-1 ? a : a / b;                                         \
    }                                                                                                                  \
    static inline I tc_rem_##T(I a, I b)                                                                               \
    {                                                                                                                  \
        return b == 0 || ((MIN) < 0 && b == (I)-1) ? 0 : a % b;                                                        \
    }                                                                                                                  \
    static inline I tc_maximum_##T(I a, I b)                                                                           \
    {                                                                                                                  \
        return a > b ? a : b;                                                                                          \
    }                                                                                                                  \
    static inline I tc_minimum_##T(I a, I b)                                                                           \
    {                                                                                                                  \
        return a < b ? a : b;                                                                                          \
    }                                                                                                                  \
    static inline I tc_bit_not_##T(I x)                                                                                \
    {                                                                                                                  \
        return (I)~x;                                                                                                  \
    }                                                                                                                  \
    static inline I tc_bit_and_##T(I a, I b)                                                                           \
    {                                                                                                                  \
        return a & b;                                                                                                  \
    }                                                                                                                  \
    static inline I tc_bit_or_##T(I a, I b)                                                                            \
    {                                                                                                                  \
        return a | b;                                                                                                  \
    }                                                                                                                  \
    static inline I tc_bit_xor_##T(I a, I b)                                                                           \
    {                                                                                                                  \
        return a ^ b;                                                                                                  \
    }                                                                                                                  \
    /* n is taken as unsigned: what is beyond the width shifts everything out */                                       \
    static inline I tc_shift_left_##T(I x, I n)                                                                        \
    {                                                                                                                  \
        return (U)n < sizeof(I) * 8 ? (I)((U)x << ((U)n & (sizeof(I) * 8 - 1))) : 0;                                   \
    }                                                                                                                  \
    static inline I tc_shift_right_##T(I x, I n) /* gcc and clang shift signed integers arithmetically */              \
    {                                                                                                                  \
        return (I)(x >> ((U)n < sizeof(I) * 8 ? (U)n : (U)(sizeof(I) * 8 - 1)));                                       \
    }                                                                                                                  \
    static inline I tc_shl_##T(I x, int n)                                                                             \
    {                                                                                                                  \
        return (I)((U)x << n);                                                                                         \
    }                                                                                                                  \
    static inline I tc_sar_##T(I x, int n)                                                                             \
    {                                                                                                                  \
        return x >> n;                                                                                                 \
    }

/* U has at least 32 bits: narrower unsigned types would be promoted to int, whose products overflow. */
TC_SCALAR_INTEGER(i8, int8_t, uint32_t, INT8_MIN)
TC_SCALAR_INTEGER(i16, int16_t, uint32_t, INT16_MIN)
TC_SCALAR_INTEGER(i32, int32_t, uint32_t, INT32_MIN)
TC_SCALAR_INTEGER(i64, int64_t, uint64_t, INT64_MIN)
TC_SCALAR_INTEGER(u8, uint8_t, uint32_t, 0)
TC_SCALAR_INTEGER(u16, uint16_t, uint32_t, 0)
TC_SCALAR_INTEGER(u32, uint32_t, uint32_t, 0)
TC_SCALAR_INTEGER(u64, uint64_t, uint64_t, 0)
#undef TC_SCALAR_INTEGER

/* Comparisons give 0 or 1; with a NaN all but `ne` give 0. */
#define TC_SCALAR_COMPARE(T, C)                                                                                        \
    static inline uint8_t tc_eq_##T(C a, C b)                                                                          \
    {                                                                                                                  \
        return a == b;                                                                                                 \
    }                                                                                                                  \
    static inline uint8_t tc_ne_##T(C a, C b)                                                                          \
    {                                                                                                                  \
        return a != b;                                                                                                 \
    }                                                                                                                  \
    static inline uint8_t tc_lt_##T(C a, C b)                                                                          \
    {                                                                                                                  \
        return a < b;                                                                                                  \
    }                                                                                                                  \
    static inline uint8_t tc_le_##T(C a, C b)                                                                          \
    {                                                                                                                  \
        return a <= b;                                                                                                 \
    }                                                                                                                  \
    static inline uint8_t tc_gt_##T(C a, C b)                                                                          \
    {                                                                                                                  \
        return a > b;                                                                                                  \
    }                                                                                                                  \
    static inline uint8_t tc_ge_##T(C a, C b)                                                                          \
    {                                                                                                                  \
        return a >= b;                                                                                                 \
    }

/* What moves elements; the bits of f16 and bf16 too. */
#define TC_SCALAR_MOVES(T, C)                                                                                          \
    static inline C tc_select_##T(uint8_t condition, C a, C b)                                                         \
    {                                                                                                                  \
        return condition ? a : b;                                                                                      \
    }                                                                                                                  \
    static inline C tc_splat_##T(C x)                                                                                  \
    {                                                                                                                  \
        return x;                                                                                                      \
    }                                                                                                                  \
    static inline C tc_cast_##T##_##T(C x)                                                                             \
    {                                                                                                                  \
        return x;                                                                                                      \
    }

/* not by one macro more: it would expand a `bool` that is one itself */
TC_SCALAR_COMPARE(f32, float)
TC_SCALAR_MOVES(f32, float)
TC_SCALAR_COMPARE(f64, double)
TC_SCALAR_MOVES(f64, double)
TC_SCALAR_COMPARE(i8, int8_t)
TC_SCALAR_MOVES(i8, int8_t)
TC_SCALAR_COMPARE(i16, int16_t)
TC_SCALAR_MOVES(i16, int16_t)
TC_SCALAR_COMPARE(i32, int32_t)
TC_SCALAR_MOVES(i32, int32_t)
TC_SCALAR_COMPARE(i64, int64_t)
TC_SCALAR_MOVES(i64, int64_t)
TC_SCALAR_COMPARE(u8, uint8_t)
TC_SCALAR_MOVES(u8, uint8_t)
TC_SCALAR_COMPARE(u16, uint16_t)
TC_SCALAR_MOVES(u16, uint16_t)
TC_SCALAR_COMPARE(u32, uint32_t)
TC_SCALAR_MOVES(u32, uint32_t)
TC_SCALAR_COMPARE(u64, uint64_t)
TC_SCALAR_MOVES(u64, uint64_t)
TC_SCALAR_COMPARE(bool, uint8_t)
TC_SCALAR_MOVES(bool, uint8_t)
TC_SCALAR_MOVES(f16, uint16_t)
TC_SCALAR_MOVES(bf16, uint16_t)
#undef TC_SCALAR_COMPARE
#undef TC_SCALAR_MOVES

/* bool. */
static inline uint8_t tc_logical_not_bool(uint8_t x)
{
    return x ^ 1;
}

static inline uint8_t tc_logical_and_bool(uint8_t a, uint8_t b)
{
    return a & b;
}

static inline uint8_t tc_logical_or_bool(uint8_t a, uint8_t b)
{
    return a | b;
}

static inline uint8_t tc_logical_xor_bool(uint8_t a, uint8_t b)
{
    return a ^ b;
}

/* How the functions of tc_math.inc clamp: the second operand where one is NaN. */
static inline float tc_lesser_f32(float x, float y)
{
    return x < y ? x : y;
}

static inline float tc_greater_f32(float x, float y)
{
    return x > y ? x : y;
}

/* The lanes that arithmetic in f32 leaves. */
static inline float tc_reduce_rest_f32(uint8_t far, float x, float r, int32_t *n)
{
    return far ? tc_reduce_far_f32(x, n) : r;
}

static inline float tc_rem_rest_f32(uint8_t far, float x, float y, float r)
{
    return far ? tc_rem_far_f32(x, y) : r;
}

/* floor, round, exp, expm1, log, log1p, tanh, erf, sin, cos, pow, rem. */
#define TCM_FUNCTION static inline
#define TCM_F32 float
#define TCM_I32 int32_t
#define TCM_MASK uint8_t
#define TCM(name) tc_##name
#include "tc_half.inc"
#include "tc_f64.h"
#include "tc_cast.h"
#include "tc_math.inc"
#undef TCM_FUNCTION
#undef TCM_F32
#undef TCM_I32
#undef TCM_MASK
#undef TCM

#endif
