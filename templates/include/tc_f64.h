/* SPDX-License-Identifier: Apache-2.0
 *
 * f64: the scalar operations on doubles (docs/numerics.md), included by tc_scalar.h. There are no vectors of them. Arithmetic
 * is here, functions are in tc_f64_math.h and tc_f64_trig.h.
 */
#ifndef TC_F64_H
#define TC_F64_H

static inline int64_t tc_asint_f64(double x)
{
    const union {
        double f;
        int64_t i;
    } u = {.f = x};
    return u.i;
}

static inline double tc_asfloat_i64(int64_t x)
{
    const union {
        int64_t i;
        double f;
    } u = {.i = x};
    return u.f;
}

/* -- fma ------------------------------------------------------------------------------------------------------------ */

#if defined(__CUDA_ARCH__) || defined(__FMA__) || defined(__aarch64__) || (defined(__riscv_flen) && __riscv_flen >= 64) || \
    (defined(__ARM_FEATURE_FMA) && defined(__ARM_FP) && (__ARM_FP & 8))
#define TC_HAVE_FMA64 1
#else
#define TC_HAVE_FMA64 0
#endif

/* Leading zeros of a number that is not 0. The builtin calls libgcc where there is no instruction. */
static inline int tc_zeros_u64(uint64_t x)
{
#if defined(__CUDA_ARCH__)
    return __clzll((long long)x);
#elif defined(__riscv) && !defined(__riscv_zbb)
    int zeros = 0;
    for (int step = 32; step > 0; step /= 2) {
        if (x >> (64 - step) == 0) {
            zeros += step;
            x <<= step;
        }
    }
    return zeros;
#else
    return __builtin_clzll(x);
#endif
}

/* A number that is not negative in 128 bits: the one integer arithmetic of the emulation. */
typedef struct tc_u128 {
    uint64_t high, low;
} tc_u128;

static inline tc_u128 tc_product_u128(uint64_t a, uint64_t b)
{
    const uint64_t a0 = a & UINT32_MAX, a1 = a >> 32, b0 = b & UINT32_MAX, b1 = b >> 32;
    const uint64_t low = a0 * b0, middle = a1 * b0 + (low >> 32), other = a0 * b1 + (middle & UINT32_MAX);
    return (tc_u128){a1 * b1 + (middle >> 32) + (other >> 32), other << 32 | (low & UINT32_MAX)};
}

static inline tc_u128 tc_shl_u128(tc_u128 x, int n)
{
    if (n >= 64)
        return (tc_u128){x.low << (n - 64), 0};
    return n == 0 ? x : (tc_u128){x.high << n | x.low >> (64 - n), x.low << n};
}

/* The last bit stands for all that is shifted out. */
static inline tc_u128 tc_shr_odd_u128(tc_u128 x, int n)
{
    if (n == 0)
        return x;
    if (n > 127)
        return (tc_u128){0, (x.high | x.low) != 0};
    if (n >= 64) {
        const uint64_t lost = x.low | (n > 64 ? x.high << (128 - n) : 0);
        return (tc_u128){0, x.high >> (n - 64) | (lost != 0)};
    }
    return (tc_u128){x.high >> n, (x.high << (64 - n) | x.low >> n) | ((x.low << (64 - n)) != 0)};
}

/* |x| = significand * 2^exponent with bit 52 of the significand set, for a finite x that is not 0. */
static inline uint64_t tc_significand_f64(double x, int *exponent)
{
    const uint64_t bits = (uint64_t)tc_asint_f64(x) & INT64_MAX, fraction = bits & (((uint64_t)1 << 52) - 1);
    if (bits >> 52) {
        *exponent = (int)(bits >> 52) - 1075;
        return fraction | (uint64_t)1 << 52;
    }
    const int shift = tc_zeros_u64(fraction) - 11;
    *exponent = -1074 - shift;
    return fraction << shift;
}

/* x * 2^exponent, rounded once; x is not 0, and its last bit may stand for more. */
static inline double tc_rounded_u128(tc_u128 x, int exponent, int negative)
{
    int shift = x.high ? 75 - tc_zeros_u64(x.high) : 11 - tc_zeros_u64(x.low);
    if (exponent + shift < -1074)
        shift = -1074 - exponent; /* denormal */
    if (exponent + shift > 971)
        return negative ? -tc_asfloat_i64(0x7ff0000000000000) : tc_asfloat_i64(0x7ff0000000000000);
    uint64_t kept;
    if (shift <= 0) {
        kept = tc_shl_u128(x, -shift).low;
    } else {
        /* one bit below the last place, and one that stands for the rest */
        const uint64_t more = shift > 1 ? tc_shr_odd_u128(x, shift - 2).low : tc_shl_u128(x, 1).low;
        kept = (more >> 2) + ((more & 3) == 3 || ((more & 3) == 2 && (more & 4)));
    }
    /* the hidden bit, or a carry, adds one to the exponent's field; beyond the largest number this is infinity */
    const uint64_t bits = ((uint64_t)(exponent + shift + 1074) << 52) + kept;
    return tc_asfloat_i64((int64_t)(bits | (uint64_t)negative << 63));
}

/*
 * Without the instruction: the product has at most 106 bits. It and the addend are put into 128 bits below two free ones, the
 * smaller one is shifted to the exponent of the larger, bits that fall off being remembered in the last one: where digits
 * can cancel, the exponents are near and nothing falls off.
 */
static inline double tc_fma_soft_f64(double a, double b, double c)
{
    const int64_t infinity = 0x7ff0000000000000;
    if ((tc_asint_f64(a) & INT64_MAX) >= infinity || (tc_asint_f64(b) & INT64_MAX) >= infinity)
        return a * b + c;
    if ((tc_asint_f64(c) & INT64_MAX) >= infinity)
        return c;
    if (a == 0 || b == 0)
        return a * b + c;
    if (c == 0)
        return a * b;
    int ea, eb, ec;
    const uint64_t ma = tc_significand_f64(a, &ea), mb = tc_significand_f64(b, &eb), mc = tc_significand_f64(c, &ec);
    const int negative = (tc_asint_f64(a) ^ tc_asint_f64(b)) < 0, other = tc_asint_f64(c) < 0;
    tc_u128 p = tc_shl_u128(tc_product_u128(ma, mb), 20), q = tc_shl_u128((tc_u128){0, mc}, 72);
    int e = ea + eb - 20;
    ec -= 72;
    if (ec > e) {
        p = tc_shr_odd_u128(p, ec - e);
        e = ec;
    } else {
        q = tc_shr_odd_u128(q, e - ec);
    }
    if (negative == other) {
        const uint64_t low = p.low + q.low;
        return tc_rounded_u128((tc_u128){p.high + q.high + (low < p.low), low}, e, negative);
    }
    const int swap = p.high < q.high || (p.high == q.high && p.low < q.low);
    const tc_u128 more = swap ? q : p, less = swap ? p : q;
    const tc_u128 rest = {more.high - less.high - (more.low < less.low), more.low - less.low};
    return rest.high || rest.low ? tc_rounded_u128(rest, e, swap ? other : negative) : 0.0;
}

static inline double tc_fma_f64(double a, double b, double c)
{
#if defined(__CUDA_ARCH__)
    return __fma_rn(a, b, c);
#elif TC_HAVE_FMA64
    return __builtin_fma(a, b, c);
#else
    return tc_fma_soft_f64(a, b, c);
#endif
}

/* -- sqrt: as tc_sqrt_f32 ------------------------------------------------------------------------------------------- */

static inline double tc_sqrt_soft_f64(double x)
{
    const uint64_t bits = (uint64_t)tc_asint_f64(x), infinity = (uint64_t)0x7ff << 52;
    if (x == 0 || bits == infinity)
        return x;
    if (bits > infinity)
        return tc_asfloat_i64(0x7ff8000000000000); /* negative or NaN */
    int e;
    uint64_t m = tc_significand_f64(x, &e), root = 0, rest = 0;
    m <<= 10 + (e & 1); /* of 63 or 64 bits; the exponent e - 10 - (e & 1) is even */
    e -= 10 + (e & 1);
    /* 55 digits of the root, two bits of m, then zeros, a digit: 53 and two for rounding. Ties cannot occur. */
    for (int digit = 0; digit < 55; ++digit) {
        rest = rest << 2 | m >> 62;
        m <<= 2;
        const uint64_t trial = root << 2 | 1;
        root <<= 1;
        if (rest >= trial) {
            rest -= trial;
            root |= 1;
        }
    }
    /* 32 pairs were m's own, 23 more were zeros: the root is of m 2^46 */
    return tc_rounded_u128((tc_u128){0, root << 1 | (rest != 0)}, e / 2 - 24, 0);
}

static inline double tc_sqrt_f64(double x)
{
#if defined(__CUDA_ARCH__)
    return __dsqrt_rn(x);
#elif defined(__AVX__)
    double r;
    __asm__("vsqrtsd {%1, %1, %0|%0, %1, %1}" : "=x"(r) : "x"(x));
    return r;
#elif defined(__SSE2__)
    double r;
    __asm__("sqrtsd {%1, %0|%0, %1}" : "=x"(r) : "x"(x));
    return r;
#elif defined(__aarch64__)
    double r;
    __asm__("fsqrt %d0, %d1" : "=w"(r) : "w"(x));
    return r;
#elif defined(__riscv_flen) && __riscv_flen >= 64
    double r;
    __asm__("fsqrt.d %0, %1" : "=f"(r) : "f"(x));
    return r;
#elif defined(__ARM_FP) && (__ARM_FP & 8)
    double r;
    __asm__("vsqrt.f64 %P0, %P1" : "=w"(r) : "w"(x));
    return r;
#else
    return tc_sqrt_soft_f64(x);
#endif
}

/* -- arithmetic ----------------------------------------------------------------------------------------------------- */

static inline double tc_neg_f64(double x)
{
    return tc_asfloat_i64((int64_t)((uint64_t)tc_asint_f64(x) ^ (uint64_t)1 << 63));
}

static inline double tc_abs_f64(double x)
{
    return tc_asfloat_i64(tc_asint_f64(x) & INT64_MAX);
}

static inline double tc_add_f64(double a, double b)
{
    return a + b;
}

static inline double tc_sub_f64(double a, double b)
{
    return a - b;
}

static inline double tc_mul_f64(double a, double b)
{
    return a * b;
}

static inline double tc_div_f64(double a, double b)
{
    return a / b;
}

static inline double tc_maximum_f64(double a, double b)
{
    return a != a || a > b ? a : a == b ? tc_asfloat_i64(tc_asint_f64(a) & tc_asint_f64(b)) : b;
}

static inline double tc_minimum_f64(double a, double b)
{
    return a != a || a < b ? a : a == b ? tc_asfloat_i64(tc_asint_f64(a) | tc_asint_f64(b)) : b;
}

/* The nearest integer by adding 2^52, with the sign of x, and one less where it is above x. */
static inline double tc_floor_f64(double x)
{
    const double whole = 0x1p52, size = tc_abs_f64(x);
    if (!(size < whole))
        return x;
    const double rounded = size + whole - whole;
    const double n = tc_asint_f64(x) < 0 ? tc_neg_f64(rounded) : rounded;
    return x < n ? n - 1.0 : n;
}

static inline double tc_round_f64(double x)
{
    const double whole = 0x1p52, size = tc_abs_f64(x);
    if (!(size < whole))
        return x;
    const double rounded = size + whole - whole;
    return tc_asint_f64(x) < 0 ? tc_neg_f64(rounded) : rounded;
}

/* C's fmod, exact: long division of the significands, 11 bits a step. */
static inline double tc_rem_f64(double x, double y)
{
    const uint64_t infinity = (uint64_t)0x7ff << 52, hidden = (uint64_t)1 << 52;
    const uint64_t sign = (uint64_t)tc_asint_f64(x) & ((uint64_t)1 << 63);
    const uint64_t a = (uint64_t)tc_asint_f64(x) ^ sign, b = (uint64_t)tc_asint_f64(y) & ~((uint64_t)1 << 63);
    if (a >= infinity || b > infinity || b == 0)
        return tc_asfloat_i64((int64_t)(infinity | hidden >> 1));
    if (a < b)
        return x;
    int ea = (int)(a >> 52), eb = (int)(b >> 52);
    uint64_t ma = a & (hidden - 1), mb = b & (hidden - 1);
    ma = ea != 0 ? ma | hidden : ma;
    mb = eb != 0 ? mb | hidden : mb;
    ea = ea != 0 ? ea : 1;
    eb = eb != 0 ? eb : 1;
    ma %= mb;
    for (; ea - eb >= 11; ea -= 11)
        ma = (ma << 11) % mb;
    ma = (ma << (ea - eb)) % mb;
    if (ma == 0)
        return tc_asfloat_i64((int64_t)sign);
    for (; ma < hidden && eb > 1; eb--)
        ma <<= 1;
    const uint64_t size = ma < hidden ? ma : (ma & (hidden - 1)) | (uint64_t)eb << 52;
    return tc_asfloat_i64((int64_t)(size | sign));
}

#include "tc_f64_math.h"
#include "tc_f64_trig.h"

#endif
