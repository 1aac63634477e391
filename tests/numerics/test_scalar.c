/* SPDX-License-Identifier: Apache-2.0
 *
 * tc_scalar.h against the host's libm, against integer arithmetic of twice the width, and on special values.
 */
#include <float.h>
#include <math.h>
#include <string.h>

#include "tap.h"
#include "tc_scalar.h"

static float of(uint32_t bits)
{
    return tc_asfloat_i32((int32_t)bits);
}

static uint32_t bits(float x)
{
    return (uint32_t)tc_asint_f32(x);
}

static int same(float a, float b)
{
    return (a != a && b != b) || bits(a) == bits(b);
}

__extension__ typedef __int128 wide;

static uint64_t random_state = 0x9e3779b97f4a7c15u;

static uint64_t random64(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state * 0x2545f4914f6cdd1du;
}

static const float specials[] = {0.0f,     -0.0f,    1.0f,    -1.0f,   0x1p-149f,   -0x1p-149f, 0x1p-126f, -0x1p-126f,
                                 0.5f,     1.5f,     FLT_MAX, -FLT_MAX, INFINITY,    -INFINITY,  NAN,       0x1.fffffep-127f,
                                 0x1p31f,  -0x1p31f, 0x1p63f, -0x1p63f, 0x1.fffffep30f, 2.5f,    -2.5f,     0x1.000002p0f};
enum { SPECIALS = sizeof specials / sizeof specials[0] };

/* Cases in which the sum of the exact product and c, rounded to double, lies on a tie of f32. */
static const float ties[][3] = {
    {0x1.001p0f, 0x1.001p0f, 0x1p-80f},        {0x1.001p0f, 0x1.001p0f, -0x1p-80f},
    {0x1.001p0f, -0x1.001p0f, 0x1p-80f},       {0x1.001p0f, -0x1.001p0f, -0x1p-80f},
    {0x1.001p0f, 0x1.001p0f, 0x1p-149f},       {0x1.001p0f, 0x1.001p0f, -0x1p-149f},
    {0x1.003p0f, 0x1.001p0f, 0x1p-60f},        {0x1.003p0f, 0x1.001p0f, -0x1p-60f},
    {0x1p-75f, 0x1p-75f, 0x1p-149f},           {0x1p-75f, -0x1p-75f, 0x1p-149f},
    {0x1.8p-75f, 0x1p-75f, 0x1p-149f},         {0x1p-74f, 0x1p-76f, 0x1p-126f},
    {0x1.000002p-75f, 0x1p-75f, 0x1p-126f},    {0x1.fffffep-76f, 0x1p-75f, 0x1p-126f},
    {0x1.fffffep63f, 0x1.000002p64f, 0x1p-20f}, {0x1p64f, 0x1p64f, -0x1p103f},
    {0x1.fffffep127f, 0x1.0p0f, 0x1p103f},     {0x1.fffffep127f, 0x1.0p0f, 0x1.fffffep102f},
    {0x1p24f, 0x1p0f, 0x1.0p-1f},              {0x1.000002p24f, 0x1p0f, 0x1p-30f},
};

static void test_fma(void)
{
    int good = 1, hard = 1;
    for (size_t i = 0; i < sizeof ties / sizeof ties[0]; i++) {
        const float want = fmaf(ties[i][0], ties[i][1], ties[i][2]);
        if (!same(tc_fma_soft_f32(ties[i][0], ties[i][1], ties[i][2]), want)) {
            tc_note("tie %zu: %a, want %a", i, (double)tc_fma_soft_f32(ties[i][0], ties[i][1], ties[i][2]), (double)want);
            good = 0;
        }
        hard &= same(tc_fma_f32(ties[i][0], ties[i][1], ties[i][2]), want);
    }
    tc_ok(good, "fma: the emulation rounds ties once");
    tc_ok(hard, "fma: the operation does");
    tc_ok(bits((float)((double)0x1.001p0f * 0x1.001p0f + 0x1p-80)) != bits(fmaf(0x1.001p0f, 0x1.001p0f, 0x1p-80f)),
          "fma: the first vector is one where plain double is wrong");
    good = 1;
    for (int i = 0; i < SPECIALS; i++)
        for (int j = 0; j < SPECIALS; j++)
            for (int k = 0; k < SPECIALS; k++)
                good &= same(tc_fma_soft_f32(specials[i], specials[j], specials[k]),
                             fmaf(specials[i], specials[j], specials[k]));
    tc_ok(good, "fma: all triples of special values");
    good = 1;
    for (int i = 0; i < 2000000 && good; i++) {
        const uint64_t r = random64();
        float a = of((uint32_t)r), b = of((uint32_t)(r >> 32)), c = of((uint32_t)random64());
        if (i % 2 != 0) { /* few significant bits and near cancellation, where ties are frequent */
            a = of((uint32_t)r & 0xbffff000u);
            b = of((uint32_t)(r >> 32) & 0xbffff000u);
            c = of((bits(a * b) ^ ((uint32_t)(i % 4 / 2) << 31)) + (uint32_t)(i % 5) - 2);
        }
        good = same(tc_fma_soft_f32(a, b, c), fmaf(a, b, c));
        if (!good)
            tc_note("fma(%a, %a, %a)", (double)a, (double)b, (double)c);
    }
    tc_ok(good, "fma: two million random triples");
}

static void test_extremes(void)
{
    int good = 1;
    for (int i = 0; i < SPECIALS; i++) {
        for (int j = 0; j < SPECIALS; j++) {
            const float a = specials[i], b = specials[j];
            float high = a > b ? a : b, low = a > b ? b : a;
            if (a == b) {
                high = signbit(a) ? b : a;
                low = signbit(a) ? a : b;
            }
            if (a != a || b != b)
                high = low = NAN;
            good &= same(tc_maximum_f32(a, b), high) && same(tc_minimum_f32(a, b), low);
        }
    }
    tc_ok(good, "maximum, minimum: NaN propagates, -0 < +0");
}

static void test_integers(void)
{
    static const int32_t edge32[] = {0, 1, -1, 2, -2, 7, INT32_MAX, INT32_MIN, INT32_MIN + 1, 46341, -46341};
    static const int64_t edge64[] = {0, 1, -1, 2, -2, 7, INT64_MAX, INT64_MIN, INT64_MIN + 1, 3037000500, INT32_MIN};
    int good = 1;
    for (size_t i = 0; i < sizeof edge32 / sizeof edge32[0]; i++) {
        for (size_t j = 0; j < sizeof edge32 / sizeof edge32[0]; j++) {
            const int32_t a = edge32[i], b = edge32[j];
            const int64_t wide_a = a, wide_b = b;
            good &= tc_add_i32(a, b) == (int32_t)(uint32_t)(uint64_t)(wide_a + wide_b);
            good &= tc_sub_i32(a, b) == (int32_t)(uint32_t)(uint64_t)(wide_a - wide_b);
            good &= tc_mul_i32(a, b) == (int32_t)(uint32_t)(uint64_t)(wide_a * wide_b);
            good &= tc_div_i32(a, b) == (b == 0 ? 0 : (int32_t)(uint32_t)(uint64_t)(wide_a / wide_b));
            good &= tc_rem_i32(a, b) == (b == 0 ? 0 : (int32_t)(wide_a % wide_b));
            good &= tc_neg_i32(a) == (int32_t)(uint32_t)(uint64_t)-wide_a;
            good &= tc_abs_i32(a) == (int32_t)(uint32_t)(uint64_t)(wide_a < 0 ? -wide_a : wide_a);
            good &= tc_maximum_i32(a, b) == (a > b ? a : b) && tc_minimum_i32(a, b) == (a > b ? b : a);
        }
    }
    tc_ok(good, "i32: wraps, truncates, x / 0 = 0, MIN / -1 = MIN");
    good = 1;
    for (size_t i = 0; i < sizeof edge64 / sizeof edge64[0]; i++) {
        for (size_t j = 0; j < sizeof edge64 / sizeof edge64[0]; j++) {
            const int64_t a = edge64[i], b = edge64[j];
            const wide wide_a = a, wide_b = b;
            good &= tc_add_i64(a, b) == (int64_t)(uint64_t)(wide_a + wide_b);
            good &= tc_sub_i64(a, b) == (int64_t)(uint64_t)(wide_a - wide_b);
            good &= tc_mul_i64(a, b) == (int64_t)(uint64_t)(wide_a * wide_b);
            good &= tc_div_i64(a, b) == (b == 0 ? 0 : (int64_t)(uint64_t)(wide_a / wide_b));
            good &= tc_rem_i64(a, b) == (b == 0 ? 0 : (int64_t)(wide_a % wide_b));
        }
    }
    tc_ok(good, "i64: wraps, truncates, x / 0 = 0, MIN / -1 = MIN");
    tc_ok(tc_cast_i64_i32(0x180000001) == INT32_MIN + 1 && tc_cast_i64_i32(-1) == -1, "i64 to i32 keeps the low bits");
}

static void test_shifts(void)
{
    int good = 1;
    for (int n = -70; n <= 70; n++) {
        for (int i = 0; i < 64; i++) {
            const int64_t x = (int64_t)random64() >> i;
            const int32_t y = (int32_t)x;
            const wide far = n < 0 || n > 63 ? 63 : n; /* every bit but the sign's is out from the width on */
            good &= tc_shift_left_i64(x, n) == (n < 0 || n > 63 ? 0 : (int64_t)(uint64_t)((wide)x * ((wide)1 << n)));
            good &= tc_shift_left_i32(y, n) == (n < 0 || n > 31 ? 0 : (int32_t)(uint32_t)((uint64_t)(int64_t)y << n));
            good &= tc_shift_right_i64(x, n) == (int64_t)((wide)x >> far);
            good &= tc_shift_right_i32(y, n) == y >> (far > 31 ? 31 : (int)far);
        }
    }
    tc_ok(good, "shifts by any amount: 0 or the sign from the width on");
    tc_ok(tc_bit_not_i32(0) == -1 && tc_bit_not_i64(INT64_MIN) == INT64_MAX && tc_bit_xor_i32(-1, 5) == -6, "bits");
}

static void test_casts(void)
{
    int good = tc_cast_f32_i32(NAN) == 0 && tc_cast_f32_i64(NAN) == 0 && tc_cast_f32_bool(NAN) == 1;
    good &= tc_cast_f32_i32(INFINITY) == INT32_MAX && tc_cast_f32_i32(-INFINITY) == INT32_MIN;
    good &= tc_cast_f32_i64(INFINITY) == INT64_MAX && tc_cast_f32_i64(-INFINITY) == INT64_MIN;
    good &= tc_cast_f32_i32(0x1p31f) == INT32_MAX && tc_cast_f32_i32(-0x1p31f) == INT32_MIN;
    good &= tc_cast_f32_i32(0x1.fffffep30f) == 0x7fffff80 && tc_cast_f32_i64(0x1.fffffep62f) == 0x7fffff8000000000;
    good &= tc_cast_f32_i32(-2.9f) == -2 && tc_cast_f32_i32(2.9f) == 2 && tc_cast_f32_i32(-0.9f) == 0;
    good &= tc_cast_f32_bool(-0.0f) == 0 && tc_cast_f32_bool(0x1p-149f) == 1;
    tc_ok(good, "f32 to integers truncates and saturates, NaN is 0");
    good = tc_bitcast_f32_i32(-1.5f) == (int32_t)0xbfc00000 && tc_bitcast_f32_u32(-0.0f) == 0x80000000 &&
           tc_bitcast_f64_i64(1.0) == 0x3ff0000000000000 && tc_bitcast_u64_f64(0xc000000000000000) == -2.0 &&
           tc_bitcast_i32_f32(0x40490fdb) == 3.1415927f && tc_bitcast_u32_f32(1) == 0x1p-149f &&
           tc_bitcast_f16_i16(0xbc00) == -0x4400 && tc_bitcast_u16_bf16(0x3f80) == 0x3f80;
    tc_ok(good, "bitcasts keep the bits");
    good = tc_cast_i32_f32(16777217) == 16777216.0f && tc_cast_i32_f32(16777219) == 16777220.0f &&
           tc_cast_i32_f32(INT32_MAX) == 0x1p31f && tc_cast_i64_f32(INT64_MAX) == 0x1p63f &&
           tc_cast_i64_f32((int64_t)0x4000004000000001) == 0x1.000002p62f &&
           tc_cast_i64_f32((int64_t)0x4000004000000000) == 0x1p62f;
    tc_ok(good, "integers to f32 round to nearest even, once");
}

static void test_bool(void)
{
    int good = 1;
    for (uint8_t a = 0; a < 2; a++) {
        good &= tc_logical_not_bool(a) == !a;
        for (uint8_t b = 0; b < 2; b++)
            good &= tc_logical_and_bool(a, b) == (a && b) && tc_logical_or_bool(a, b) == (a || b) &&
                    tc_logical_xor_bool(a, b) == (a != b) && tc_lt_bool(a, b) == (a < b) && tc_eq_bool(a, b) == (a == b);
    }
    tc_ok(good, "bool: every pair");
}

static void test_functions(void)
{
    tc_ok(bits(tc_exp_f32(-INFINITY)) == 0 && tc_exp_f32(INFINITY) == INFINITY && tc_exp_f32(0.0f) == 1.0f &&
              tc_exp_f32(89.0f) == INFINITY && tc_exp_f32(-104.0f) == 0.0f && isnan(tc_exp_f32(NAN)) &&
              tc_exp_f32(-103.0f) == 0x1p-149f,
          "exp: special values");
    tc_ok(tc_log_f32(0.0f) == -INFINITY && tc_log_f32(-0.0f) == -INFINITY && isnan(tc_log_f32(-0x1p-149f)) &&
              isnan(tc_log_f32(-INFINITY)) && tc_log_f32(INFINITY) == INFINITY && isnan(tc_log_f32(NAN)) &&
              bits(tc_log_f32(1.0f)) == 0 && tc_log_f32(0x1p-149f) == (float)log(0x1p-149),
          "log: special values");
    int good = bits(tc_tanh_f32(-0.0f)) == 0x80000000u && bits(tc_erf_f32(-0.0f)) == 0x80000000u &&
               bits(tc_tanh_f32(0.0f)) == 0 && bits(tc_erf_f32(0.0f)) == 0;
    good &= tc_tanh_f32(INFINITY) == 1.0f && tc_tanh_f32(-INFINITY) == -1.0f && isnan(tc_tanh_f32(NAN));
    good &= tc_erf_f32(INFINITY) == 1.0f && tc_erf_f32(-INFINITY) == -1.0f && isnan(tc_erf_f32(NAN));
    good &= tc_tanh_f32(0x1p-149f) == 0x1p-149f && tc_erf_f32(0x1p-149f) == 0x1p-149f;
    tc_ok(good, "tanh, erf: special values");
    good = 1;
    for (uint32_t i = 0; i < 0x7f800000u; i += 1009) {
        const float x = of(i), t = tc_tanh_f32(x), e = tc_erf_f32(x);
        good &= t >= 0 && t <= 1 && e >= 0 && e <= 1 && same(tc_tanh_f32(-x), -t) && same(tc_erf_f32(-x), -e);
    }
    tc_ok(good, "tanh, erf: odd and within -1..1");
    good = tc_erfc_f32(-0.0f) == 1.0f && same(tc_erfc_f32(INFINITY), 0.0f) && tc_erfc_f32(-INFINITY) == 2.0f &&
           isnan(tc_erfc_f32(NAN)) && same(tc_erfc_f32(12.0f), 0.0f);
    for (uint32_t i = 0; i < 0x7f800000u; i += 1009)
        good &= tc_erfc_f32(of(i)) >= 0 && tc_erfc_f32(of(i)) <= 1 && tc_erfc_f32(-of(i)) >= 1 && tc_erfc_f32(-of(i)) <= 2;
    tc_ok(good, "erfc: special values, and within 0..2");
    good = tc_lgamma_f32(0.0f) == INFINITY && tc_lgamma_f32(-0.0f) == INFINITY && tc_lgamma_f32(-7.0f) == INFINITY &&
           tc_lgamma_f32(INFINITY) == INFINITY && tc_lgamma_f32(-INFINITY) == INFINITY && isnan(tc_lgamma_f32(NAN)) &&
           same(tc_lgamma_f32(1.0f), 0.0f) && same(tc_lgamma_f32(2.0f), 0.0f) && tc_lgamma_f32(-3e38f) == INFINITY;
    tc_ok(good, "lgamma: special values");
    double worst = 0;
    for (uint32_t i = 0; i < 0x7f800000u; i += 1009) {
        /* near a zero of lgamma the error is one of what it is the difference of */
        const double x = of(i), want = lgamma(-x), size = fmax(fmax(fabs(want), lgamma(x)), 1);
        if (size < 0x1p127)
            worst = fmax(worst, fabs(tc_lgamma_f32(-of(i)) - want) / ldexp(1, ilogb(size) - 23));
    }
    tc_ok(worst <= 3, "lgamma of negative numbers: %.2f ULP of the larger part", worst);
    good = isnan(tc_sqrt_soft_f32(-1.0f)) && isnan(tc_sqrt_f32(-1.0f)) && bits(tc_sqrt_f32(-0.0f)) == 0x80000000u;
    for (uint64_t i = 0; i < (uint64_t)1 << 32; i += 1009)
        good &= same(tc_sqrt_soft_f32(of((uint32_t)i)), tc_sqrt_f32(of((uint32_t)i)));
    tc_ok(good, "sqrt: the instruction and the integer form agree");
    good = 1;
    for (uint64_t i = 0; i < (uint64_t)1 << 32; i += 1009)
        good &= same(tc_round_f32(of((uint32_t)i)), rintf(of((uint32_t)i)));
    tc_ok(good && tc_round_f32(2.5f) == 2.0f && bits(tc_round_f32(-0.5f)) == 0x80000000u, "round: half to even");
    good = bits(tc_expm1_f32(-0.0f)) == 0x80000000u && tc_expm1_f32(-INFINITY) == -1.0f &&
           tc_expm1_f32(INFINITY) == INFINITY && isnan(tc_expm1_f32(NAN)) && tc_expm1_f32(0x1p-149f) == 0x1p-149f;
    good &= bits(tc_log1p_f32(-0.0f)) == 0x80000000u && tc_log1p_f32(-1.0f) == -INFINITY &&
            isnan(tc_log1p_f32(-0x1.000002p0f)) && tc_log1p_f32(INFINITY) == INFINITY &&
            tc_log1p_f32(-0x1p-149f) == -0x1p-149f && isnan(tc_log1p_f32(NAN));
    tc_ok(good, "expm1, log1p: special values");
    good = bits(tc_sin_f32(-0.0f)) == 0x80000000u && tc_sin_f32(0x1p-149f) == 0x1p-149f && tc_cos_f32(-0.0f) == 1.0f &&
           isnan(tc_sin_f32(INFINITY)) && isnan(tc_cos_f32(-INFINITY)) && isnan(tc_sin_f32(NAN));
    for (uint32_t i = 0; i < 0x7f800000u; i += 1009)
        good &= same(tc_sin_f32(-of(i)), -tc_sin_f32(of(i))) && same(tc_cos_f32(-of(i)), tc_cos_f32(of(i)));
    tc_ok(good, "sin, cos: special values, odd and even");
    good = isnan(tc_floor_f32(NAN)) && bits(tc_floor_f32(-0.0f)) == 0x80000000u && tc_floor_f32(-0x1p-149f) == -1.0f;
    good &= tc_floor_f32(0x1.fffffep22f) == 0x1.fffffcp22f && tc_floor_f32(-0x1.fffffep22f) == -0x1p23f;
    for (uint64_t i = 0; i < (uint64_t)1 << 32; i += 1009)
        good &= same(tc_floor_f32(of((uint32_t)i)), floorf(of((uint32_t)i)));
    tc_ok(good, "floor: that of libm, bit for bit");
}

/* The distance of a result from its source in units of the last place of the f32 it rounds to. */
static double ulps(float got, double want)
{
    if (isnan(want) || isinf(want) || isnan(got))
        return same(got, (float)want) ? 0 : (double)INFINITY;
    int exponent;
    frexp(want, &exponent);
    exponent = exponent < -125 ? -125 : exponent > 128 ? 128 : exponent;
    if (isinf(got) && fabs(want) > 0x1.fffffep127)
        return !!signbit(got) == !!signbit(want) ? 0 : (double)INFINITY;
    return fabs((double)got - want) / ldexp(1, exponent - 24);
}

/* Operands of pow: bits at random, results spread evenly over the exponents, bases near 1, negative ones to whole powers. */
static void power_operands(int i, float *x, float *y)
{
    const uint64_t r = random64();
    const double spread = (double)(int32_t)(r >> 32) * 0x1p-31 * 150;
    *x = of((uint32_t)r & 0x7fffffffu);
    *y = of((uint32_t)(r >> 32));
    if (i % 4 == 1)
        *y = (float)(spread / (fabs(log2((double)*x)) + 1e-3));
    if (i % 4 == 2) {
        *x = of(0x3f000000u + (uint32_t)(r >> 8 & 0xffffff));
        *y = (float)(spread / (fabs(log2((double)*x)) + 1e-30));
    }
    if (i % 4 == 3) {
        *x = -of(0x3f800000u + (uint32_t)(r % 200000) - 100000);
        *y = (float)((int32_t)(r >> 32) >> (r % 20 + 4));
    }
}

static void test_pairs(void)
{
    static const float edges[] = {0.0f,  -0.0f,     1.0f,      -1.0f,    2.0f,           -2.0f,          3.0f,
                                  -3.0f, 0.5f,      -0.5f,     1.5f,     -1.5f,          INFINITY,       -INFINITY,
                                  NAN,   0x1p-149f, -0x1p-149f, 0x1p23f, 0x1.000002p23f, -0x1.000002p23f, 0x1p24f,
                                  0x1.000002p24f, FLT_MAX, -FLT_MAX, 0x1.fffffep-1f, -0x1.fffffep-1f, 0x1.000002p0f,
                                  4194303.5f, -4194304.5f, 8388607.0f, -8388607.0f, 0x1.fffffep-127f};
    enum { EDGES = sizeof edges / sizeof edges[0] };
    int powers = 1, remainders = 1;
    for (int i = 0; i < EDGES; i++) {
        for (int j = 0; j < EDGES; j++) {
            const double want = pow((double)edges[i], (double)edges[j]);
            const float got = tc_pow_f32(edges[i], edges[j]);
            powers &= ulps(got, want) <= 1 && (isnan(want) || !!signbit(got) == !!signbit(want));
            remainders &= same(tc_rem_f32(edges[i], edges[j]), fmodf(edges[i], edges[j]));
        }
    }
    tc_ok(powers, "pow: C99's special cases, and the pairs of edges");
    tc_ok(remainders, "rem: fmod of all pairs of edges");
    double worst = 0;
    for (int i = 0; i < 2000000; i++) {
        float x, y;
        power_operands(i, &x, &y);
        const double error = ulps(tc_pow_f32(x, y), pow((double)x, (double)y));
        if (error > worst) {
            worst = error;
            tc_note("pow(%a, %a): %.4f ULP", (double)x, (double)y, error);
        }
    }
    tc_ok(worst <= 1, "pow: two million pairs within 1 ULP");
    for (int i = 0; i < 2000000 && remainders; i++) {
        const uint64_t r = random64();
        const float x = of((uint32_t)r);
        const uint32_t nearby = ((uint32_t)tc_asint_f32(x) & 0x7f800000u) - (uint32_t)(r >> 56) % 30 * 0x800000u;
        const float y = of(i % 2 ? ((uint32_t)(r >> 32) & 0x807fffffu) | (nearby & 0x7f800000u) : (uint32_t)(r >> 32));
        remainders = same(tc_rem_f32(x, y), fmodf(x, y));
    }
    tc_ok(remainders, "rem: fmod of two million pairs");
    int doubles = 1;
    for (int i = 0; i < 500000 && doubles; i++) {
        const double x = tc_asfloat_i64((int64_t)random64()), other = tc_asfloat_i64((int64_t)random64());
        const double y = i % 2 ? x * 0x1p-20 * (double)(i + 1) : other;
        const double got = tc_rem_f64(x, y), want = fmod(x, y), whole = tc_round_f64(y);
        doubles = ((got != got && want != want) || tc_asint_f64(got) == tc_asint_f64(want)) &&
                  ((whole != whole && y != y) || tc_asint_f64(whole) == tc_asint_f64(rint(y)));
    }
    tc_ok(doubles && isnan(tc_rem_f64(INFINITY, 1)) && tc_rem_f64(-3, INFINITY) == -3 && isnan(tc_rem_f64(1, -0.0)),
          "rem, round of f64: fmod and rint");
}

int main(void)
{
    test_fma();
    test_extremes();
    test_integers();
    test_shifts();
    test_casts();
    test_pairs();
    test_bool();
    test_functions();
    return tc_done();
}
