/* SPDX-License-Identifier: Apache-2.0
 *
 * The scalar operations in double, with the host's libm: what those on floats are under --f64. The same names as in
 * templates/include/tc_scalar.h with `wide` for the dtype, and the same rules for NaN, zeros and saturation.
 */
#ifndef TCI_SCALAR_WIDE_H
#define TCI_SCALAR_WIDE_H

#include <math.h>

#include "noise.h"
#include "tc_scalar.h"

static inline double tc_neg_wide(double x)
{
    return -x;
}

static inline double tc_abs_wide(double x)
{
    return fabs(x);
}

static inline double tc_exp_wide(double x)
{
    return exp(x);
}

static inline double tc_log_wide(double x)
{
    return log(x);
}

static inline double tc_sqrt_wide(double x)
{
    return sqrt(x);
}

static inline double tc_floor_wide(double x)
{
    return floor(x);
}

static inline double tc_tanh_wide(double x)
{
    return tanh(x);
}

static inline double tc_erf_wide(double x)
{
    return erf(x);
}

static inline double tc_erfc_wide(double x)
{
    return erfc(x);
}

static inline double tc_lgamma_wide(double x)
{
    return lgamma(x);
}

static inline double tc_sin_wide(double x)
{
    return sin(x);
}

static inline double tc_cos_wide(double x)
{
    return cos(x);
}

static inline double tc_expm1_wide(double x)
{
    return expm1(x);
}

static inline double tc_log1p_wide(double x)
{
    return log1p(x);
}

static inline double tc_round_wide(double x)
{
    return rint(x);
}

static inline double tc_pow_wide(double a, double b)
{
    return pow(a, b);
}

static inline double tc_rem_wide(double a, double b)
{
    return fmod(a, b);
}

static inline double tc_add_wide(double a, double b)
{
    return tci_noisy_sum(a + b);
}

static inline double tc_sub_wide(double a, double b)
{
    return a - b;
}

static inline double tc_mul_wide(double a, double b)
{
    return tci_noisy_sum(a * b);
}

static inline double tc_div_wide(double a, double b)
{
    return a / b;
}

static inline double tc_maximum_wide(double a, double b)
{
    return a != a || a > b ? a : a == b ? (signbit(a) ? b : a) : b;
}

static inline double tc_minimum_wide(double a, double b)
{
    return a != a || a < b ? a : a == b ? (signbit(a) ? a : b) : b;
}

static inline uint8_t tc_eq_wide(double a, double b)
{
    return a == b;
}

static inline uint8_t tc_ne_wide(double a, double b)
{
    return a != b;
}

static inline uint8_t tc_lt_wide(double a, double b)
{
    return a < b;
}

static inline uint8_t tc_le_wide(double a, double b)
{
    return a <= b;
}

static inline uint8_t tc_gt_wide(double a, double b)
{
    return a > b;
}

static inline uint8_t tc_ge_wide(double a, double b)
{
    return a >= b;
}

static inline double tc_select_wide(uint8_t condition, double a, double b)
{
    return condition ? a : b;
}

static inline double tc_cast_wide_wide(double x)
{
    return x;
}

#define TC_WIDE_CAST(T, C)                                                                                             \
    static inline C tc_cast_wide_##T(double x)                                                                         \
    {                                                                                                                  \
        return tc_cast_f64_##T(x);                                                                                     \
    }                                                                                                                  \
    static inline double tc_cast_##T##_wide(C x)                                                                       \
    {                                                                                                                  \
        return tc_cast_##T##_f64(x);                                                                                   \
    }
TC_WIDE_CAST(i8, int8_t)
TC_WIDE_CAST(i16, int16_t)
TC_WIDE_CAST(i32, int32_t)
TC_WIDE_CAST(i64, int64_t)
TC_WIDE_CAST(u8, uint8_t)
TC_WIDE_CAST(u16, uint16_t)
TC_WIDE_CAST(u32, uint32_t)
TC_WIDE_CAST(u64, uint64_t)
TC_WIDE_CAST(bool, uint8_t)
#undef TC_WIDE_CAST

/* One multiply-add of a contraction; double needs no fusing to be the better source. */
static inline double tc_fma_wide(double a, double b, double c)
{
    return a * b + c;
}

#endif
