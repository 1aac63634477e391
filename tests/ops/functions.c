/* SPDX-License-Identifier: Apache-2.0
 *
 * Elementary functions, rounding and remainders of f32 on [n, m].
 */
#include <tensor_compile/model.h>

#include "float.h"

#define SIZES tc_dim n = tc_dynamic(g, "n", 0, 64), m = tc_dynamic(g, "m", 0, 512)
#define INPUT(name) tc_tensor name = tc_input(g, #name, FLOAT, n, m)

TC_MODEL(functions)
{
}

TC_FUNCTION(op_trigonometry)
{
    SIZES;
    INPUT(x);
    tc_output(g, "sin", tc_sin(x));
    tc_output(g, "cos", tc_cos(x));
    tc_output(g, "tan", tc_tan(x));
}

TC_FUNCTION(op_exponential)
{
    SIZES;
    INPUT(x);
    tc_output(g, "expm1", tc_expm1(x));
    tc_output(g, "log1p", tc_log1p(x));
}

TC_FUNCTION(op_gamma)
{
    SIZES;
    INPUT(x);
    tc_output(g, "erfc", tc_erfc(x));
    tc_output(g, "lgamma", tc_lgamma(x));
}

TC_FUNCTION(op_whole)
{
    SIZES;
    INPUT(x);
    tc_output(g, "ceil", tc_ceil(x));
    tc_output(g, "trunc", tc_trunc(x));
    tc_output(g, "round", tc_round(x));
    tc_output(g, "sign", tc_sign(x));
}

TC_FUNCTION(op_classes)
{
    SIZES;
    INPUT(x);
    tc_output(g, "nan", tc_isnan(x));
    tc_output(g, "inf", tc_isinf(x));
    tc_output(g, "finite", tc_isfinite(x));
    tc_output(g, "inverse", tc_reciprocal(x));
}

TC_FUNCTION(op_power)
{
    SIZES;
    INPUT(a);
    INPUT(b);
    tc_output(g, "y", tc_pow(a, b));
}

TC_FUNCTION(op_power_number)
{
    SIZES;
    INPUT(x);
    tc_output(g, "of_two", tc_pow(2, x));
    tc_output(g, "to_tenths", tc_pow(x, 2.7));
}

TC_FUNCTION(op_remainders)
{
    SIZES;
    INPUT(a);
    INPUT(b);
    tc_output(g, "rem", tc_rem(a, b));
    tc_output(g, "remainder", tc_remainder(a, b));
    tc_output(g, "floor", tc_floor_divide(a, b));
}

TC_FUNCTION(op_remainders_number)
{
    SIZES;
    INPUT(x);
    tc_output(g, "fmod", tc_fmod(x, -1.5));
    tc_output(g, "remainder", tc_remainder(x, -1.5));
    tc_output(g, "floor", tc_floor_divide(7, x));
}
