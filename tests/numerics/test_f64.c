/* SPDX-License-Identifier: Apache-2.0
 *
 * The operations of tc_f64.h: those that are correctly rounded against the host's libm, the functions against long double,
 * whose 11 more digits make its own error small beside the bounds of docs/numerics.md.
 */
#include <math.h>

#include "tap.h"
#include "tc_scalar.h"

static uint64_t state = 88172645463325252u;

static uint64_t next(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    return state ^= state << 17;
}

static double unit(void)
{
    return (double)(next() >> 11) * 0x1p-53;
}

/* Any pattern, a number of about 1, a denormal, a power of two or next to one, an integer. */
static double any(void)
{
    const uint64_t r = next(), signed_fraction = r & 0x800fffffffffffff;
    switch (next() % 5) {
    case 0:
        return tc_asfloat_i64((int64_t)r);
    case 1:
        return tc_asfloat_i64((int64_t)(signed_fraction | (1000 + next() % 60) << 52));
    case 2:
        return tc_asfloat_i64((int64_t)signed_fraction);
    case 3:
        return tc_asfloat_i64((int64_t)((r & (uint64_t)1 << 63) | next() % 2047 << 52 | (next() & 1)));
    default:
        return ldexp((double)(int64_t)(r >> 40) - 8388608, (int)(next() % 40) - 20);
    }
}

static int same(double a, double b)
{
    return (a != a && b != b) || tc_asint_f64(a) == tc_asint_f64(b);
}

static void check_exact(void)
{
    long fma_wrong = 0, soft_wrong = 0, sqrt_wrong = 0, floor_wrong = 0;
    for (int i = 0; i < 1000000; ++i) {
        const double a = any(), b = any(), c = next() % 4 ? any() : -(a * b), size = fabs(a);
        fma_wrong += !same(tc_fma_f64(a, b, c), fma(a, b, c));
        soft_wrong += !same(tc_fma_soft_f64(a, b, c), fma(a, b, c));
        sqrt_wrong += !same(tc_sqrt_f64(a), sqrt(a)) || !same(tc_sqrt_soft_f64(size), sqrt(size));
        floor_wrong += !same(tc_floor_f64(a), floor(a));
    }
    tc_ok(fma_wrong == 0, "fma");
    tc_ok(soft_wrong == 0, "fma without the instruction");
    tc_ok(sqrt_wrong == 0, "sqrt, and without the instruction");
    tc_ok(floor_wrong == 0, "floor");
    /* the product ends in half a last place; what the addend is decides */
    const double a = 1 + 0x1p-27, b = 1 + 0x1p-26, up = tc_fma_soft_f64(a, b, 0x1p-200);
    tc_ok(up > tc_fma_soft_f64(a, b, -0x1p-200) && same(up, fma(a, b, 0x1p-200)), "a tie that the addend breaks");
    const double zero = 0, nan = NAN, one = 1, two = 2;
    tc_ok(same(tc_maximum_f64(-zero, zero), zero) && same(tc_minimum_f64(zero, -zero), -zero) &&
              isnan(tc_maximum_f64(one, nan)) && isnan(tc_minimum_f64(nan, one)) && tc_maximum_f64(one, two) == two,
          "maximum and minimum: NaN, zeros");
    tc_ok(same(tc_neg_f64(zero), -zero) && same(tc_abs_f64(-two), two), "neg, abs");
}

typedef double function(double x);
typedef long double source(long double x);

static void check_ulp(const char *name, function *f, source *exact, double low, double high, double bound)
{
    double worst = 0, at = 0;
    for (int i = 0; i < 400000; ++i) {
        const double x = i % 4 ? low + (high - low) * unit() : ldexp(unit() * (next() % 2 ? 1 : -1), -(int)(next() % 60));
        if (x < low || x > high)
            continue;
        const long double want = exact(x);
        int exponent;
        frexpl(want, &exponent);
        const double error = (double)(fabsl(f(x) - want) / ldexpl(1, (exponent < -1021 ? -1021 : exponent) - 53));
        if (!(error <= worst))
            worst = error, at = x;
    }
    if (!tc_ok(worst <= bound, "%s over %g..%g", name, low, high))
        tc_note("%g ULP at %a", worst, at);
}

/* The distance of a result from its source in ULP; infinite where one is NaN, or infinite, and the other is not. */
static double ulps(double got, long double want)
{
    if (isnan(got) || isnan(want))
        return isnan(got) && isnan(want) ? 0 : (double)INFINITY;
    if (isinf(got) || fabsl(want) >= 0x1.fffffffffffff8p1023L)
        return isinf(got) && fabsl(want) >= 0x1.fffffffffffff8p1023L && (got > 0) == (want > 0) ? 0 : (double)INFINITY;
    int exponent;
    frexpl(want, &exponent);
    return (double)(fabsl(got - want) / ldexpl(1, (exponent < -1021 ? -1021 : exponent) - 53));
}

static double tangent(double x)
{
    return tc_sin_f64(x) / tc_cos_f64(x);
}

/* Operands of every size, and those next to multiples of pi/2, where digits cancel. */
static void check_angles(const char *name, function *f, source *exact, double bound)
{
    /* the nearest of all to a multiple of pi/2, pi/2 itself, the ends of the far reduction */
    static const double hard[] = {0x1.6ac5b262ca1ffp+849, 0x1.6ac5b262ca1ffp+850, 0x1.921fb54442d18p+0, 0x1.921fb54442d18p+1,
                                  0x1p30, 0x1.fffffffffffffp29, 0x1.fffffffffffffp1023, 0x1p-1074, 0x1p-26};
    enum { HARD = sizeof hard / sizeof hard[0] };
    double worst = 0, at = 0;
    for (int i = 0; i < 100000; ++i) {
        const long double multiple = (long double)(1 + next() % ((uint64_t)1 << next() % 40)) * 1.57079632679489661923L;
        const double near = (double)multiple;
        const double x = i < HARD   ? hard[i]
                         : i % 3 == 0 ? ldexp(1 + unit(), (int)(next() % 1100) - 76)
                         : i % 3 == 1 ? tc_asfloat_i64(tc_asint_f64(near) + (int64_t)(next() % 3) - 1)
                                      : 40 * unit() - 20;
        const double error = ulps(f(x), exact(x));
        if (!(error <= worst))
            worst = error, at = x;
    }
    if (!tc_ok(worst <= bound, "%s of every size", name))
        tc_note("%g ULP at %a", worst, at);
}

/* Powers between the ends of f64: random ones, bases near 1, denormal bases and results. */
static void check_pow(void)
{
    double worst = 0, at = 0, to = 0;
    for (int i = 0; i < 60000; ++i) {
        const double x = i % 4 == 0   ? ldexp(1 + unit(), (int)(next() % 2046) - 1022)
                         : i % 4 == 1 ? 1 + (unit() - 0.5) * ldexp(1, -(int)(next() % 45))
                         : i % 4 == 2 ? tc_asfloat_i64((int64_t)(next() >> 12 | 1))
                                      : 8 * unit();
        const double digits = log2(x), y = (2 * unit() - 1) * (fabs(digits) > 0 ? 1080 / fabs(digits) : 1);
        const double error = ulps(tc_pow_f64(x, y), powl(x, y));
        if (!(error <= worst))
            worst = error, at = x, to = y;
    }
    if (!tc_ok(worst <= 0.8, "pow"))
        tc_note("%g ULP at %a, %a", worst, at, to);
    static const double few[] = {0.0, -0.0, 1, -1, 0.5, -0.5, 2, -3, 0x1p53, -0x1.8p52, 1100, -1100, 0x1p-1074, -0x1p-1074,
                                 0x1.fffffffffffffp1023, INFINITY, -INFINITY, NAN};
    int special = 1;
    for (size_t i = 0; i < sizeof few / sizeof few[0]; ++i)
        for (size_t j = 0; j < sizeof few / sizeof few[0]; ++j) {
            const double got = tc_pow_f64(few[i], few[j]), want = pow(few[i], few[j]);
            special &= ulps(got, want) <= 1.5 && (isnan(want) || signbit(got) == signbit(want));
        }
    tc_ok(special, "pow of special values");
}

/* Near a zero of lgamma the error is one of what it is the difference of. */
static void check_negative_lgamma(void)
{
    double worst = 0, at = 0;
    for (int i = 0; i < 60000; ++i) {
        const double x = i % 2 ? -20 * unit() : -ldexp(1 + unit(), (int)(next() % 100) - 60);
        const long double want = lgammal(x);
        if (isinf(want))
            continue;
        const double size = fmax(fmax((double)fabsl(want), (double)lgammal(-x)), 1);
        const double error = (double)fabsl(tc_lgamma_f64(x) - want) / (nextafter(size, INFINITY) - size);
        if (!(error <= worst))
            worst = error, at = x;
    }
    if (!tc_ok(worst <= 3, "lgamma of negative numbers"))
        tc_note("%g ULP at %a", worst, at);
}

int main(void)
{
    check_exact();
    check_ulp("exp", tc_exp_f64, expl, -745, 709.7, 1);
    check_ulp("exp", tc_exp_f64, expl, -1, 1, 1);
    check_ulp("log", tc_log_f64, logl, 1e-300, 1e300, 1);
    check_ulp("log", tc_log_f64, logl, 0.5, 2, 1);
    check_ulp("tanh", tc_tanh_f64, tanhl, -22, 22, 3);
    check_ulp("tanh", tc_tanh_f64, tanhl, -1, 1, 3);
    check_ulp("erf", tc_erf_f64, erfl, -6.5, 6.5, 1.5);
    check_ulp("erf", tc_erf_f64, erfl, -1, 1, 1.5);
    check_ulp("erfc", tc_erfc_f64, erfcl, -6, 27, 4.3);
    check_ulp("erfc", tc_erfc_f64, erfcl, -1, 1, 4.3);
    check_ulp("lgamma", tc_lgamma_f64, lgammal, 0, 1, 2.7);
    check_ulp("lgamma", tc_lgamma_f64, lgammal, 0.5, 12, 2.7);
    check_ulp("lgamma", tc_lgamma_f64, lgammal, 1, 1e300, 2.7);
    check_negative_lgamma();
    check_ulp("expm1", tc_expm1_f64, expm1l, -45, 709.7, 1.1);
    check_ulp("expm1", tc_expm1_f64, expm1l, -1, 1, 1.1);
    check_ulp("log1p", tc_log1p_f64, log1pl, -1, 1, 1);
    check_ulp("log1p", tc_log1p_f64, log1pl, -0.5, 1e300, 1);
    check_angles("sin", tc_sin_f64, sinl, 0.8);
    check_angles("cos", tc_cos_f64, cosl, 0.8);
    check_angles("tan", tangent, tanl, 2.2);
    check_pow();
    const double infinity = INFINITY, zero = 0, nan = NAN;
    tc_ok(tc_exp_f64(infinity) == infinity && same(tc_exp_f64(-infinity), 0) && isnan(tc_exp_f64(nan)) &&
              tc_exp_f64(710) == infinity && same(tc_exp_f64(-746), 0) && tc_exp_f64(-zero) == 1,
          "exp of special values");
    tc_ok(tc_log_f64(zero) == -infinity && tc_log_f64(-zero) == -infinity && isnan(tc_log_f64(-1)) &&
              tc_log_f64(infinity) == infinity && isnan(tc_log_f64(nan)) && same(tc_log_f64(1), 0),
          "log of special values");
    tc_ok(same(tc_tanh_f64(-zero), -zero) && tc_tanh_f64(infinity) == 1 && tc_tanh_f64(-infinity) == -1 &&
              isnan(tc_tanh_f64(nan)) && same(tc_tanh_f64(0x1p-1074), 0x1p-1074),
          "tanh of special values");
    tc_ok(same(tc_erf_f64(-zero), -zero) && tc_erf_f64(infinity) == 1 && tc_erf_f64(-infinity) == -1 &&
              isnan(tc_erf_f64(nan)),
          "erf of special values");
    tc_ok(tc_erfc_f64(-zero) == 1 && same(tc_erfc_f64(infinity), 0) && tc_erfc_f64(-infinity) == 2 &&
              isnan(tc_erfc_f64(nan)) && same(tc_erfc_f64(30), 0),
          "erfc of special values");
    tc_ok(tc_lgamma_f64(zero) == infinity && tc_lgamma_f64(-zero) == infinity && tc_lgamma_f64(-3) == infinity &&
              tc_lgamma_f64(infinity) == infinity && tc_lgamma_f64(-infinity) == infinity && isnan(tc_lgamma_f64(nan)) &&
              same(tc_lgamma_f64(1), 0) && same(tc_lgamma_f64(2), 0) && tc_lgamma_f64(-1e300) == infinity,
          "lgamma of special values");
    tc_ok(same(tc_expm1_f64(-zero), -zero) && tc_expm1_f64(infinity) == infinity && tc_expm1_f64(-infinity) == -1 &&
              isnan(tc_expm1_f64(nan)) && same(tc_expm1_f64(0x1p-1074), 0x1p-1074) && tc_expm1_f64(710) == infinity,
          "expm1 of special values");
    tc_ok(same(tc_log1p_f64(-zero), -zero) && tc_log1p_f64(infinity) == infinity && tc_log1p_f64(-1) == -infinity &&
              isnan(tc_log1p_f64(nan)) && isnan(tc_log1p_f64(-2)) && same(tc_log1p_f64(-0x1p-1074), -0x1p-1074),
          "log1p of special values");
    tc_ok(same(tc_sin_f64(-zero), -zero) && tc_cos_f64(-zero) == 1 && isnan(tc_sin_f64(infinity)) &&
              isnan(tc_cos_f64(-infinity)) && isnan(tc_sin_f64(nan)) && same(tc_sin_f64(-0x1p-1074), -0x1p-1074),
          "sin and cos of special values");
    return tc_done();
}
