/* SPDX-License-Identifier: Apache-2.0
 *
 * The accuracy of every unary f32 function, over all 2^32 inputs or every n-th of them.
 *
 *   sweep [--stride N] [--threads N] [FUNCTION...]
 *
 * The source is libm in double, whose functions used here err by less than 2 ULP of double, 2^-28 ULP of f32; sqrt and its
 * software form are exact in it. An error is |result - source| in units of the last place of the f32 that the source
 * rounds to (2^-149 for denormals); NaN must meet NaN, and an overflow counts against 2^128. A bound that is exceeded is
 * a failed point. The bounds are those of docs/numerics.md.
 */
#define _POSIX_C_SOURCE 200809L
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "tap.h"
#include "tc_scalar.h"

typedef struct function {
    const char *name;
    float (*f32)(float);
    double (*f64)(double);
    double bound; /* ULP */
} function;

/* What capture writes for tc_tan. */
static float tan_f32(float x)
{
    return tc_sin_f32(x) / tc_cos_f32(x);
}

/* Of negative operands the error is measured on another scale, in test_scalar.c. */
static float positive_lgamma_f32(float x)
{
    return x < 0 ? 0.0f : tc_lgamma_f32(x);
}

static double positive_lgamma(double x)
{
    return x < 0 ? 0.0 : lgamma(x);
}

static const function functions[] = {
    {"exp", tc_exp_f32, exp, 1.1},       {"expm1", tc_expm1_f32, expm1, 2}, {"log", tc_log_f32, log, 1.0},
    {"log1p", tc_log1p_f32, log1p, 2}, {"tanh", tc_tanh_f32, tanh, 3},    {"erf", tc_erf_f32, erf, 6.5},
    {"erfc", tc_erfc_f32, erfc, 4.5},  {"lgamma", positive_lgamma_f32, positive_lgamma, 3},
    {"sin", tc_sin_f32, sin, 2},       {"cos", tc_cos_f32, cos, 2},       {"tan", tan_f32, tan, 4},
    {"sqrt", tc_sqrt_f32, sqrt, 0.5},    {"sqrt_soft", tc_sqrt_soft_f32, sqrt, 0.5},
    {"floor", tc_floor_f32, floor, 0},   {"round", tc_round_f32, rint, 0},
};

typedef struct part {
    const function *f;
    uint64_t first, stride;
    double worst;
    uint32_t at;
} part;

/* The distance of a result from its source in ULP; infinite where one is NaN and the other is not. */
static double ulps(float got, double want)
{
    if (isnan(got) || isnan(want))
        return isnan(got) && isnan(want) ? 0 : (double)INFINITY;
    if (isinf(want))
        return isinf(got) && (got > 0) == (want > 0) ? 0 : (double)INFINITY;
    const double value = isinf(got) ? copysign(0x1p128, (double)got) : (double)got;
    int exponent;
    frexp(want, &exponent);
    exponent = exponent < -125 ? -125 : exponent > 128 ? 128 : exponent;
    if (isinf(got) && fabs(want) > 0x1p128)
        return 0;
    return fabs(value - want) / ldexp(1, exponent - 24);
}

static void *sweep(void *argument)
{
    part *p = argument;
    for (uint64_t i = p->first; i < (uint64_t)1 << 32; i += p->stride) {
        const float x = tc_asfloat_i32((int32_t)(uint32_t)i), got = p->f->f32(x);
        const double want = p->f->f64((double)x);
        if (got == (float)want && p->worst >= 0.5)
            continue; /* the nearest f32: no more than half an ULP */
        const double error = ulps(got, want);
        if (error > p->worst) {
            p->worst = error;
            p->at = (uint32_t)i;
        }
    }
    return NULL;
}

static int wanted(const char *name, char **names, int count)
{
    for (int i = 0; i < count; i++)
        if (strcmp(names[i], name) == 0)
            return 1;
    return count == 0;
}

int main(int argc, char **argv)
{
    enum { MAX_THREADS = 64 };
    uint64_t stride = 1;
    int threads = 1, i = 1;
    for (; i + 1 < argc && argv[i][0] == '-'; i += 2) {
        if (strcmp(argv[i], "--stride") == 0)
            stride = strtoull(argv[i + 1], NULL, 10);
        else if (strcmp(argv[i], "--threads") == 0)
            threads = atoi(argv[i + 1]);
        else
            break;
    }
    if ((i < argc && argv[i][0] == '-') || stride < 1 || threads < 1 || threads > MAX_THREADS) {
        fprintf(stderr, "usage: sweep [--stride N] [--threads 1..%d] [FUNCTION...]\n", (int)MAX_THREADS);
        return 2;
    }
    for (size_t k = 0; k < sizeof functions / sizeof functions[0]; k++) {
        part parts[MAX_THREADS];
        pthread_t ids[MAX_THREADS];
        if (!wanted(functions[k].name, argv + i, argc - i))
            continue;
        for (int t = 0; t < threads; t++) {
            parts[t] = (part){&functions[k], (uint64_t)t * stride, stride * (uint64_t)threads, 0, 0};
            if (pthread_create(&ids[t], NULL, sweep, &parts[t]) != 0) {
                fprintf(stderr, "sweep: a thread cannot be started\n");
                return 1;
            }
        }
        double worst = 0;
        uint32_t at = 0;
        for (int t = 0; t < threads; t++) {
            pthread_join(ids[t], NULL);
            if (parts[t].worst > worst) {
                worst = parts[t].worst;
                at = parts[t].at;
            }
        }
        tc_ok(worst <= functions[k].bound, "%s: at most %.4f ULP, at %a (0x%08x); bound %.1f", functions[k].name, worst,
              (double)tc_asfloat_i32((int32_t)at), (unsigned)at, functions[k].bound);
    }
    return tc_done();
}
