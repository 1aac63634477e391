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
    return tc_done();
}
