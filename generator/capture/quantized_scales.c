/* SPDX-License-Identifier: Apache-2.0
 *
 * Integers of quantized tensors: what they stand for, and sums by another scale.
 */
#include <math.h>

#include "compose.h"
#include "quantization.h"
#include "quantized_scales.h"

bool tc_affine_check_scale(tc_graph *g, const char *what, double scale)
{
    if (scale > 0 && !isinf(scale))
        return true;
    tc_fail(g, "a positive number", "the scale%s is %g", what, scale);
    return false;
}

static bool check_zero(tc_graph *g, tc_dtype dtype, int zero)
{
    int64_t low, high;
    tc_integer_range(dtype, 0, &low, &high);
    if (zero >= low && zero <= high)
        return true;
    tc_fail(g, NULL, "the zero %d is none of %s", zero, tc_dtype_name(dtype));
    return false;
}

bool tc_affine_read(tc_graph *g, const char *argument, const tc_affine *a, bool wide)
{
    const tc_dtype dtype = a->x->type.dtype;
    if (dtype != TC_I8 && dtype != TC_U8 && !(wide && dtype == TC_I16)) {
        tc_fail(g, wide ? "i8, u8 or i16" : "i8 or u8", "no integers that are computed with here: %s",
                tc_type_text(g, &a->x->type));
        return false;
    }
    if (!tc_affine_check_scale(g, "", a->scale) || !check_zero(g, dtype, a->zero))
        return false;
    tc_read_as(g, argument, a->x, a->scale, a->zero);
    return true;
}

bool tc_affine_check_result(tc_graph *g, tc_dtype dtype, double scale, int zero)
{
    return tc_affine_check_scale(g, " of the result", scale) && check_zero(g, dtype, zero);
}

tc_tensor tc_affine_centered(tc_graph *g, tc_site at, const tc_affine *a)
{
    tc_tensor x = tc_prim_cast(g, a->x, TC_I32);
    return a->zero ? SUB(x, a->zero) : x;
}

tc_tensor tc_affine_multiplied(tc_graph *g, tc_site at, tc_tensor x, int32_t multiplier, int shift)
{
    if (shift > 0)
        x = SHIFT_LEFT(x, shift);
    x = multiplier >= 1 << 30 ? tc_scaled_high(g, at, x, multiplier)
                              : tc_mulhigh_round_at(at, x, TC_OPERAND(multiplier));
    if (shift >= 0)
        return x;
    /* tc_rounding_shift of what is never -2^31: halves of negative numbers go down before the last place rounds up */
    tc_tensor below = SHIFT_RIGHT(x, 31), twice = SHIFT_RIGHT(ADD(x, below), -shift - 1);
    return SHIFT_RIGHT(ADD(twice, 1), 1);
}

tc_tensor tc_affine_scaled(tc_graph *g, tc_site at, tc_tensor x, double scale)
{
    int shift;
    const int32_t multiplier = tc_quantized_multiplier(scale, &shift);
    return tc_affine_multiplied(g, at, x, multiplier, shift);
}

tc_tensor tc_affine_finished(tc_site at, tc_tensor x, int zero, tc_dtype dtype)
{
    int64_t low, high;
    tc_integer_range(dtype, 0, &low, &high);
    if (dtype == TC_I32)
        return zero ? ADD(x, zero) : x;
    /* limited before, so that the sum does not wrap */
    x = MINIMUM(MAXIMUM(x, low - zero), high - zero);
    return tc_cast_at(at, zero ? ADD(x, zero) : x, dtype);
}

tc_tensor tc_affine_in_floats(tc_graph *g, tc_site at, tc_tensor x, tc_tensor scale, int zero, tc_dtype dtype)
{
    tc_tensor z = zero ? tc_constant_of(g, TC_I32, TC_OPERAND(zero)) : NULL;
    return tc_requantize_by(g, at, x, scale, z, dtype);
}

tc_tensor tc_affine_by_number(tc_graph *g, tc_site at, tc_tensor x, double scale, int zero, tc_dtype dtype)
{
    return tc_is_poison(x) ? x
                           : tc_affine_in_floats(g, at, x, tc_constant_of(g, TC_F32, TC_OPERAND(scale)), zero, dtype);
}

bool tc_affine_read_two(tc_graph *g, const tc_quantized_two_args *args)
{
    return tc_affine_read(g, ".a", &args->a, true) && tc_affine_read(g, ".b", &args->b, true) &&
           tc_check_same_dtype(g, &args->a.x->type, &args->b.x->type) &&
           tc_affine_check_result(g, args->a.x->type.dtype, args->scale, args->zero);
}
