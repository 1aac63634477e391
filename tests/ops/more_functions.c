/* SPDX-License-Identifier: Apache-2.0
 *
 * Functions made of the elementary ones, on [n, m].
 */
#include <tensor_compile/model.h>

#include "float.h"

#define SIZES tc_dim n = tc_dynamic(g, "n", 0, 64), m = tc_dynamic(g, "m", 0, 512)
#define INPUT(name) tc_tensor name = tc_input(g, #name, FLOAT, n, m)

TC_MODEL(more_functions)
{
}

TC_FUNCTION(op_logarithms)
{
    SIZES;
    INPUT(x);
    INPUT(p);
    tc_output(g, "log2", tc_log2(x));
    tc_output(g, "log10", tc_log10(x));
    tc_output(g, "logit", tc_logit(p, 0));
    tc_output(g, "limited", tc_logit(p, 0.125));
    tc_output(g, "acosh", tc_acosh(x));
    tc_output(g, "atanh", tc_atanh(tc_sub(p, 0.5)));
}

TC_FUNCTION(op_hyperbolic)
{
    SIZES;
    INPUT(x);
    tc_output(g, "square", tc_square(x));
    tc_output(g, "exp2", tc_exp2(x));
    tc_output(g, "sinh", tc_sinh(x));
    tc_output(g, "cosh", tc_cosh(x));
    tc_output(g, "asinh", tc_asinh(x));
    tc_output(g, "sinc", tc_sinc(x));
    tc_output(g, "radians", tc_deg2rad(x));
    tc_output(g, "degrees", tc_rad2deg(x));
}

TC_FUNCTION(op_special)
{
    SIZES;
    INPUT(x);
    tc_output(g, "frac", tc_frac(x));
    tc_output(g, "numbers", tc_nan_to_num(x, .nan = 1, .posinf = 500, .neginf = -0.5));
    tc_output(g, "positive", tc_isposinf(x));
    tc_output(g, "negative", tc_isneginf(x));
    tc_output(g, "sign", tc_signbit(x));
}

TC_FUNCTION(op_pairs)
{
    SIZES;
    INPUT(a);
    INPUT(b);
    tc_output(g, "logaddexp", tc_logaddexp(a, b));
    tc_output(g, "logaddexp2", tc_logaddexp2(a, b));
    tc_output(g, "xlogy", tc_xlogy(a, tc_abs(b)));
    tc_output(g, "hypot", tc_hypot(a, b));
    tc_output(g, "fmax", tc_fmax(a, b));
    tc_output(g, "fmin", tc_fmin(a, b));
    tc_output(g, "copysign", tc_copysign(a, b));
    tc_output(g, "heaviside", tc_heaviside(a, b));
    tc_output(g, "close", tc_isclose(a, b, 0.5, 0.125));
}

TC_FUNCTION(op_three)
{
    SIZES;
    INPUT(x);
    INPUT(a);
    INPUT(b);
    tc_output(g, "lerp", tc_lerp(x, a, b));
    tc_output(g, "third", tc_lerp(x, a, 0.375));
    tc_output(g, "most", tc_lerp(x, a, 0.875));
    tc_output(g, "product", tc_addcmul(x, a, b, 0.7));
    tc_output(g, "quotient", tc_addcdiv(x, a, tc_add(tc_abs(b), 1), -3));
}

TC_FUNCTION(op_angles)
{
    SIZES;
    INPUT(x);
    INPUT(y);
    tc_tensor p = tc_mul(x, 0.0625);
    tc_output(g, "asin", tc_asin(p));
    tc_output(g, "acos", tc_acos(p));
    tc_output(g, "atan", tc_atan(x));
    tc_output(g, "atan2", tc_atan2(y, x));
}
