/* SPDX-License-Identifier: Apache-2.0
 *
 * Operations on each element of quantized tensors.
 */
#include "compose.h"
#include "quantization.h"
#include "quantized_scales.h"

/* -- sums and products --------------------------------------------------------------------------------------------- */

static tc_tensor quantized_sum(tc_graph *g, const tc_quantized_two_args *args, bool difference)
{
    const tc_site at = args->at;
    if (!tc_affine_read_two(g, args))
        return tc_poison();
    const tc_affine *a = &args->a, *b = &args->b;
    const tc_dtype dtype = a->x->type.dtype;
    if (args->floats) {
        const double by_a = (double)a->scale / (double)args->scale;
        const double by_b = (double)b->scale / (double)args->scale * (difference ? -1 : 1);
        const double more = args->zero - by_a * a->zero - by_b * b->zero;
        tc_tensor left = MUL(tc_prim_cast(g, a->x, TC_F32), by_a), right = MUL(tc_prim_cast(g, b->x, TC_F32), by_b);
        tc_tensor sum = ADD(left, right);
        return tc_is_poison(sum) ? sum : tc_cast_at(at, tc_round_at(at, ADD(sum, more)), dtype);
    }
    const int places = dtype == TC_I16 ? 15 : 20;
    const double larger = a->scale > b->scale ? a->scale : b->scale, twice = 2 * larger;
    tc_tensor left = tc_affine_scaled(g, at, SHIFT_LEFT(tc_affine_centered(g, at, a), places), a->scale / twice);
    tc_tensor right = tc_affine_scaled(g, at, SHIFT_LEFT(tc_affine_centered(g, at, b), places), b->scale / twice);
    tc_tensor sum = difference ? SUB(left, right) : ADD(left, right);
    if (tc_is_poison(sum))
        return sum;
    return tc_affine_finished(at, tc_affine_scaled(g, at, sum, twice / ((1 << places) * (double)args->scale)),
                              args->zero, dtype);
}

#define ENTER_TWO(name)                                                                                                \
    tc_op_enter(args->at, "tc_quantized_" #name, "quantized_" #name, "a b", 2, (tc_tensor[]){args->a.x, args->b.x})

tc_tensor tc_quantized_add_at(const tc_quantized_two_args *args)
{
    tc_graph *g = ENTER_TWO(add);
    return g ? tc_op_leave(g, tc_written_as(g, quantized_sum(g, args, false), args->scale, args->zero)) : tc_poison();
}

tc_tensor tc_quantized_sub_at(const tc_quantized_two_args *args)
{
    tc_graph *g = ENTER_TWO(sub);
    return g ? tc_op_leave(g, tc_written_as(g, quantized_sum(g, args, true), args->scale, args->zero)) : tc_poison();
}

static tc_tensor quantized_mul(tc_graph *g, const tc_quantized_two_args *args)
{
    const tc_site at = args->at;
    if (!tc_affine_read_two(g, args))
        return tc_poison();
    tc_tensor a = tc_affine_centered(g, at, &args->a), b = tc_affine_centered(g, at, &args->b), product = MUL(a, b);
    if (tc_is_poison(product))
        return product;
    const double scale = (double)args->a.scale * (double)args->b.scale / (double)args->scale;
    if (args->floats)
        return tc_affine_by_number(g, at, product, scale, args->zero, args->a.x->type.dtype);
    return tc_affine_finished(at, tc_affine_scaled(g, at, product, scale), args->zero, args->a.x->type.dtype);
}

tc_tensor tc_quantized_mul_at(const tc_quantized_two_args *args)
{
    tc_graph *g = ENTER_TWO(mul);
    return g ? tc_op_leave(g, tc_written_as(g, quantized_mul(g, args), args->scale, args->zero)) : tc_poison();
}

/* -- another scale ------------------------------------------------------------------------------------------------- */

static tc_tensor quantized_rescale(tc_graph *g, const tc_quantized_rescale_args *args)
{
    const tc_dtype from = args->x.x->type.dtype, dtype = args->dtype ? args->dtype : from;
    if (from != TC_I32 && !tc_affine_read(g, ".x", &args->x, true))
        return tc_poison();
    if (dtype != TC_I8 && dtype != TC_U8 && dtype != TC_I16 && dtype != TC_I32) {
        tc_fail(g, "TC_I8, TC_U8, TC_I16 or TC_I32", "no integers of quantized tensors: %s",
                tc_dtype_valid(dtype) ? tc_dtype_name(dtype) : "the dtype is unknown");
        return tc_poison();
    }
    if (!tc_affine_check_scale(g, "", args->x.scale) || !tc_affine_check_result(g, dtype, args->scale, args->zero))
        return tc_poison();
    if (from == TC_I32)
        tc_read_as(g, ".x", args->x.x, args->x.scale, args->x.zero);
    tc_tensor x = tc_affine_centered(g, args->at, &args->x);
    const double scale = (double)args->x.scale / (double)args->scale;
    if (args->floats)
        return tc_affine_by_number(g, args->at, x, scale, args->zero, dtype);
    return tc_affine_finished(args->at, tc_affine_scaled(g, args->at, x, scale), args->zero, dtype);
}

tc_tensor tc_quantized_rescale_at(const tc_quantized_rescale_args *args)
{
    tc_graph *g = tc_op_enter(args->at, "tc_quantized_rescale", "quantized_rescale", "x", 1, &args->x.x);
    return g ? tc_op_leave(g, tc_written_as(g, quantized_rescale(g, args), args->scale, args->zero)) : tc_poison();
}

/* -- leaky relu ---------------------------------------------------------------------------------------------------- */

static tc_tensor quantized_leaky_relu(tc_graph *g, const tc_quantized_leaky_args *args)
{
    const tc_site at = args->at;
    const tc_dtype dtype = args->x.x->type.dtype;
    if (!tc_affine_read(g, ".x", &args->x, true) || !tc_affine_check_result(g, dtype, args->scale, args->zero))
        return tc_poison();
    const float sloped = args->x.scale * args->slope / args->scale;
    if (!(sloped > 0)) {
        tc_fail(g, NULL, "the slope is %g, not positive", (double)args->slope);
        return tc_poison();
    }
    tc_tensor x = tc_affine_centered(g, at, &args->x), negative = LT(x, 0),
              below = tc_affine_scaled(g, at, x, (double)sloped);
    tc_tensor above = tc_affine_scaled(g, at, x, (double)args->x.scale / (double)args->scale);
    return tc_affine_finished(at, WHERE(negative, below, above), args->zero, dtype);
}

tc_tensor tc_quantized_leaky_relu_at(const tc_quantized_leaky_args *args)
{
    tc_graph *g = tc_op_enter(args->at, "tc_quantized_leaky_relu", "quantized_leaky_relu", "x", 1, &args->x.x);
    return g ? tc_op_leave(g, tc_written_as(g, quantized_leaky_relu(g, args), args->scale, args->zero)) : tc_poison();
}
