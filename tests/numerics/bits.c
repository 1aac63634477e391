/* SPDX-License-Identifier: Apache-2.0
 *
 * Prints a checksum of each scalar operation's result bits over one fixed set of operands (NaNs all counted as one).
 * test_bits.py compares the output of every compiler, optimization level and architecture that it can run.
 */
#include <stdio.h>

#include "tc_scalar.h"

static uint64_t sum;

static void mix(uint64_t value)
{
    sum = (sum ^ value) * 0x100000001b3u;
    sum ^= sum >> 29;
}

static void mix_f32(float x)
{
    mix(x != x ? 0x7fc00000u : (uint32_t)tc_asint_f32(x));
}

static void mix_f64(double x)
{
    mix(x != x ? 0x7ff8000000000000u : (uint64_t)tc_asint_f64(x));
}

static uint32_t next(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state ^ *state >> 15;
}

#define CHECK(name, count, expression, add)                                                                            \
    do {                                                                                                               \
        uint32_t state = 1;                                                                                            \
        sum = 0xcbf29ce484222325u;                                                                                     \
        for (uint32_t i = 0; i < (count); i++) {                                                                       \
            const int32_t ia = (int32_t)next(&state), ib = (int32_t)(next(&state) >> i % 31);                          \
            const float a = tc_asfloat_i32(ia), b = tc_asfloat_i32((int32_t)next(&state));                             \
            const float c = i % 2 != 0 ? tc_asfloat_i32(tc_asint_f32(a * b) ^ (int32_t)0x80000001u) : b;               \
            (void)ib;                                                                                                  \
            (void)c;                                                                                                   \
            add(expression);                                                                                           \
        }                                                                                                              \
        printf("%-12s %016llx\n", name, (unsigned long long)sum);                                                      \
    } while (0)

/* Half of the operands around 1, so that functions of them are numbers. */
#define CHECK_F64(name, count, expression)                                                                             \
    do {                                                                                                               \
        uint32_t state = 1;                                                                                            \
        sum = 0xcbf29ce484222325u;                                                                                     \
        for (uint32_t i = 0; i < (count); i++) {                                                                       \
            const uint64_t high = next(&state), low = next(&state), more = next(&state);                               \
            const double a = tc_asfloat_i64((int64_t)(high << 32 | low));                                              \
            const double b = tc_asfloat_i64((int64_t)(((high & 0x800fffff) | (1000 + more % 40) << 20) << 32 | more)); \
            const double x = i % 2 != 0 ? a : b;                                                                       \
            (void)x;                                                                                                   \
            mix_f64(expression);                                                                                       \
        }                                                                                                              \
        printf("%-12s %016llx\n", name, (unsigned long long)sum);                                                      \
    } while (0)

int main(void)
{
    const uint32_t n = 100000;
    CHECK("add", n, tc_add_f32(a, b), mix_f32);
    CHECK("sub", n, tc_sub_f32(a, b), mix_f32);
    CHECK("mul", n, tc_mul_f32(a, b), mix_f32);
    CHECK("div", n, tc_div_f32(a, b), mix_f32);
    CHECK("fma", n, tc_fma_f32(a, b, c), mix_f32);
    CHECK("maximum", n, tc_maximum_f32(a, c), mix_f32);
    CHECK("minimum", n, tc_minimum_f32(a, c), mix_f32);
    CHECK("sqrt", n, tc_sqrt_f32(a), mix_f32);
    CHECK("sqrt_soft", n, tc_sqrt_soft_f32(a), mix_f32);
    CHECK("floor", n, tc_floor_f32(a), mix_f32);
    CHECK("exp", n, tc_exp_f32(a), mix_f32);
    CHECK("log", n, tc_log_f32(a), mix_f32);
    CHECK("tanh", n, tc_tanh_f32(a), mix_f32);
    CHECK("erf", n, tc_erf_f32(a), mix_f32);
    CHECK("erfc", n, tc_erfc_f32(a), mix_f32);
    CHECK("lgamma", n, tc_lgamma_f32(a), mix_f32);
    CHECK("round", n, tc_round_f32(a), mix_f32);
    CHECK("expm1", n, tc_expm1_f32(a), mix_f32);
    CHECK("log1p", n, tc_log1p_f32(a), mix_f32);
    CHECK("sin", n, tc_sin_f32(a), mix_f32);
    CHECK("cos", n, tc_cos_f32(a), mix_f32);
    CHECK("pow", n, tc_pow_f32(a, b), mix_f32);
    CHECK("rem", n, tc_rem_f32(a, b), mix_f32);
    const uint32_t few = 10000; /* without the instruction each fma is integer arithmetic */
    CHECK_F64("fma_f64", few, tc_fma_f64(a, b, x));
    CHECK_F64("sqrt_f64", few, tc_sqrt_f64(x));
    CHECK_F64("exp_f64", few, tc_exp_f64(x));
    CHECK_F64("expm1_f64", few, tc_expm1_f64(x));
    CHECK_F64("log_f64", few, tc_log_f64(x));
    CHECK_F64("log1p_f64", few, tc_log1p_f64(x));
    CHECK_F64("tanh_f64", few, tc_tanh_f64(x));
    CHECK_F64("erf_f64", few, tc_erf_f64(x));
    CHECK_F64("erfc_f64", few, tc_erfc_f64(x));
    CHECK_F64("lgamma_f64", few, tc_lgamma_f64(x));
    CHECK_F64("sin_f64", few, tc_sin_f64(x));
    CHECK_F64("cos_f64", few, tc_cos_f64(x));
    CHECK_F64("pow_f64", few, tc_pow_f64(tc_abs_f64(b), x) + tc_pow_f64(x, b));
    CHECK("f32_i32", n, (uint32_t)tc_cast_f32_i32(a), mix);
    CHECK("f32_i64", n, (uint64_t)tc_cast_f32_i64(a), mix);
    CHECK("i32_f32", n, tc_cast_i32_f32(ia), mix_f32);
    CHECK("i64_f32", n, tc_cast_i64_f32((int64_t)((uint64_t)(uint32_t)ia << 31 ^ (uint32_t)ib)), mix_f32);
    CHECK("i32_div", n, (uint32_t)tc_div_i32(ia, ib), mix);
    CHECK("i32_rem", n, (uint32_t)tc_rem_i32(ia, ib), mix);
    CHECK("i32_shifts", n, (uint32_t)(tc_shift_left_i32(ia, ib & 63) ^ tc_shift_right_i32(ib, ia & 63)), mix);
    CHECK("i32_mul", n, (uint32_t)tc_mul_i32(ia, ib), mix);
    CHECK("compare", n, (uint64_t)(tc_lt_f32(a, b) + 2 * tc_le_f32(a, c) + 4 * tc_eq_f32(a, c) + 8 * tc_ne_f32(a, b)), mix);
    return 0;
}
