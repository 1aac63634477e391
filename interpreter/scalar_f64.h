/* SPDX-License-Identifier: Apache-2.0
 *
 * The scalar operations in double, with the host's libm: what f32 operations are under --f64. The same names as in
 * templates/include/tc_scalar.h with the dtype f64, and the same rules for NaN, zeros and saturation.
 */
#ifndef TCI_SCALAR_F64_H
#define TCI_SCALAR_F64_H

#include <math.h>

#include "tc_scalar.h"

static inline double tc_neg_f64(double x)
{
    return -x;
}

static inline double tc_abs_f64(double x)
{
    return fabs(x);
}

static inline double tc_exp_f64(double x)
{
    return exp(x);
}

static inline double tc_log_f64(double x)
{
    return log(x);
}

static inline double tc_sqrt_f64(double x)
{
    return sqrt(x);
}

static inline double tc_floor_f64(double x)
{
    return floor(x);
}

static inline double tc_tanh_f64(double x)
{
    return tanh(x);
}

static inline double tc_erf_f64(double x)
{
    return erf(x);
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
    return a != a || a > b ? a : a == b ? (signbit(a) ? b : a) : b;
}

static inline double tc_minimum_f64(double a, double b)
{
    return a != a || a < b ? a : a == b ? (signbit(a) ? a : b) : b;
}

static inline uint8_t tc_eq_f64(double a, double b)
{
    return a == b;
}

static inline uint8_t tc_ne_f64(double a, double b)
{
    return a != b;
}

static inline uint8_t tc_lt_f64(double a, double b)
{
    return a < b;
}

static inline uint8_t tc_le_f64(double a, double b)
{
    return a <= b;
}

static inline uint8_t tc_gt_f64(double a, double b)
{
    return a > b;
}

static inline uint8_t tc_ge_f64(double a, double b)
{
    return a >= b;
}

static inline double tc_select_f64(uint8_t condition, double a, double b)
{
    return condition ? a : b;
}

static inline double tc_cast_f64_f64(double x)
{
    return x;
}

static inline int32_t tc_cast_f64_i32(double x)
{
    return x >= 0x1p31 ? INT32_MAX : x < -0x1p31 ? INT32_MIN : x != x ? 0 : (int32_t)x;
}

static inline int64_t tc_cast_f64_i64(double x)
{
    return x >= 0x1p63 ? INT64_MAX : x < -0x1p63 ? INT64_MIN : x != x ? 0 : (int64_t)x;
}

static inline uint8_t tc_cast_f64_bool(double x)
{
    return x != 0.0;
}

static inline double tc_cast_i32_f64(int32_t x)
{
    return x;
}

static inline double tc_cast_i64_f64(int64_t x)
{
    return (double)x;
}

static inline double tc_cast_bool_f64(uint8_t x)
{
    return x;
}

/* One multiply-add of a contraction; double needs no fusing to be the better source. */
static inline double tc_fma_f64(double a, double b, double c)
{
    return a * b + c;
}

#endif
