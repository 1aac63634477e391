/* SPDX-License-Identifier: Apache-2.0
 *
 * Layers and products of quantized tensors: exact sums, brought to the scale of the result.
 */
#include <math.h>

#include "compose.h"
#include "quantization.h"
#include "quantized_scales.h"
#include "windows.h"

/* -- multipliers that depend on tensors ---------------------------------------------------------------------------- */

/* tc_quantized_multiplier of each number of an f64 tensor: q, and the shift e. Steps by powers of two are exact. */
static tc_tensor multipliers(tc_graph *g, tc_site at, tc_tensor scale, tc_tensor *shift)
{
    tc_tensor m = scale, e = tc_broadcast_to(g, tc_constant_of(g, TC_I32, TC_OPERAND(0)), m->type.rank, m->type.shape);
    for (int k = 16; k; k /= 2) {
        tc_tensor small = LT(m, ldexp(1, -k)), large = GE(m, ldexp(1, k));
        tc_tensor up = MUL(m, ldexp(1, k)), down = MUL(m, ldexp(1, -k));
        m = WHERE(small, up, WHERE(large, down, m));
        tc_tensor less = SUB(e, k), more = ADD(e, k);
        e = WHERE(small, less, WHERE(large, more, e));
    }
    tc_tensor large = GE(m, 1), half = MUL(m, 0.5), next = ADD(e, 1);
    m = WHERE(large, half, m);
    e = WHERE(large, next, e);
    tc_tensor rounded = tc_floor_at(at, ADD(MUL(m, 2147483648.0), 0.5)), carry = GE(rounded, 2147483648.0);
    tc_tensor q = WHERE(carry, 1 << 30, tc_prim_cast(g, rounded, TC_I32)), after = ADD(e, 1);
    e = WHERE(carry, after, e);
    tc_tensor nothing = LT(e, -31), beyond = GT(e, 30);
    *shift = WHERE(nothing, 0, MINIMUM(e, 30));
    return WHERE(nothing, 0, WHERE(beyond, INT32_MAX, q));
}

/* x, i64 below 2^47, by the upper 16 bits of the multiplier. */
static tc_tensor scaled_wide(tc_graph *g, tc_site at, tc_tensor x, tc_tensor q, tc_tensor e)
{
    tc_tensor large = GE(q, 0x7fff0000), upper = SHIFT_RIGHT(ADD(MINIMUM(q, 0x7fff0000), 1 << 15), 16);
    tc_tensor reduced = tc_prim_cast(g, WHERE(large, 0x7fff, upper), TC_I64);
    tc_tensor places = SUB(15, tc_prim_cast(g, e, TC_I64)), before = SUB(places, 1);
    tc_tensor one = tc_constant_of(g, TC_I64, TC_OPERAND(1));
    tc_tensor half = SHIFT_LEFT(tc_broadcast_to(g, one, before->type.rank, before->type.shape), before);
    half = tc_broadcast_to(g, half, x->type.rank, x->type.shape);
    places = tc_broadcast_to(g, places, x->type.rank, x->type.shape);
    return tc_prim_cast(g, SHIFT_RIGHT(ADD(MUL(x, reduced), half), places), TC_I32);
}

/* Sums with one multiplier, or one a slice of the axis, to the result. scale: f64. */
static tc_tensor rescaled(tc_graph *g, tc_site at, tc_tensor sums, tc_tensor scale, int axis, bool once, bool floats,
                          int zero, tc_dtype dtype)
{
    const tc_type *x = &sums->type;
    if (floats) {
        scale = tc_quantized_along(g, at, "scale", tc_prim_cast(g, scale, TC_F32), x, axis, 0);
        return tc_is_poison(scale) ? scale : tc_affine_in_floats(g, at, sums, scale, zero, dtype);
    }
    tc_tensor e, q = multipliers(g, at, scale, &e);
    q = tc_quantized_along(g, at, "scale", q, x, axis, 0);
    e = tc_quantized_along(g, at, "scale", e, x, axis, 0);
    if (tc_is_poison(q) || tc_is_poison(e))
        return tc_poison();
    if (x->dtype == TC_I64)
        return tc_affine_finished(at, scaled_wide(g, at, sums, q, e), zero, dtype);
    return tc_affine_finished(at,
                              once ? tc_requantize_fixed(g, at, sums, q, e, true)
                                   : tc_requantize_normal(g, at, sums, q, e),
                              zero, dtype);
}

/* -- layers -------------------------------------------------------------------------------------------------------- */

static bool check_weights(tc_graph *g, tc_tensor w, tc_tensor scale, tc_tensor bias)
{
    if (w->type.dtype != TC_I8) {
        tc_fail(g, NULL, "the weights are i8, not %s", tc_type_text(g, &w->type));
        return false;
    }
    if (scale->type.dtype != TC_F32 || scale->type.rank > 1) {
        tc_fail(g, "f32: one number, or one an output channel", "w_scale is %s", tc_type_text(g, &scale->type));
        return false;
    }
    if (!bias || bias->type.dtype == TC_I32 || bias->type.dtype == TC_I64)
        return true;
    tc_fail(g, NULL, "the bias is i32 or i64, not %s", tc_type_text(g, &bias->type));
    return false;
}

static tc_tensor as_number(tc_graph *g, tc_tensor p)
{
    return p->type.rank == 1 && tc_expr_is(p->type.shape[0], 1) ? tc_prim_reshape(g, p, 0, NULL) : p;
}

/* Sums of windows, [n, o, ...], to the result: the weights have one scale, or one an output channel. */
static tc_tensor rescaled_windows(tc_graph *g, tc_site at, tc_tensor sums, tc_tensor w_scale, float x_scale,
                                  float scale, bool once, bool floats, int zero, tc_dtype dtype)
{
    if (tc_is_poison(sums))
        return sums;
    tc_tensor both = MUL(tc_prim_cast(g, as_number(g, w_scale), TC_F64), (double)x_scale);
    return rescaled(g, at, sums, DIV(both, (double)scale), 1, once, floats, zero, dtype);
}

static tc_tensor quantized_conv(tc_graph *g, const tc_quantized_conv_args *a)
{
    const tc_site at = a->at;
    const tc_dtype dtype = a->x.x->type.dtype;
    if (!tc_affine_read(g, ".x", &a->x, true) || !check_weights(g, a->w, a->w_scale, a->bias) ||
        !tc_affine_check_result(g, dtype, a->scale, a->zero))
        return tc_poison();
    tc_conv_integer_args product =
        {.x = a->x.x, .w = a->w, .bias = a->bias, .groups = a->groups, .same = a->same, .at = at};
    product.x_zero = a->x.zero ? tc_constant_of(g, dtype, TC_OPERAND(a->x.zero)) : NULL;
    for (int i = 0; i < 3; ++i) {
        product.stride[i] = a->stride[i];
        product.padding[i] = a->padding[i];
        product.low[i] = a->low[i];
        product.high[i] = a->high[i];
        product.dilation[i] = a->dilation[i];
    }
    tc_tensor sums = tc_conv_integer_at(&product);
    return rescaled_windows(g, at, sums, a->w_scale, a->x.scale, a->scale, a->once, a->floats, a->zero, dtype);
}

tc_tensor tc_quantized_conv_at(const tc_quantized_conv_args *args)
{
    tc_graph *g = tc_op_enter(args->at, "tc_quantized_conv", "quantized_conv", "x w w_scale ?bias", 4,
                              (tc_tensor[]){args->x.x, args->w, args->w_scale, args->bias});
    return g ? tc_op_leave(g, tc_written_as(g, quantized_conv(g, args), args->scale, args->zero)) : tc_poison();
}

/* Each phase becomes integers of the result before they are interleaved. */
static tc_tensor quantized_phase(tc_graph *g, const tc_phase *p, const void *context)
{
    const tc_quantized_conv_transpose_args *a = context;
    const tc_site at = a->at;
    const tc_dtype dtype = p->x->type.dtype;
    tc_tensor bias = a->bias, sums;
    if (!bias) {
        tc_tensor nothing = tc_constant_of(g, dtype == TC_I16 ? TC_I64 : TC_I32, TC_OPERAND(0));
        bias = tc_broadcast_to(g, nothing, 1, p->shape + 1);
    }
    if (p->weight) {
        tc_conv_integer_args product = {.x = p->x, .w = p->weight, .bias = bias, .groups = p->groups, .at = at};
        product.x_zero = a->x.zero ? tc_constant_of(g, dtype, TC_OPERAND(a->x.zero)) : NULL;
        for (int i = 0; i < 2; ++i) {
            product.low[i] = p->low[i];
            product.high[i] = p->high[i];
            product.dilation[i] = p->dilation[i];
        }
        sums = tc_conv_integer_at(&product);
    } else {
        tc_tensor nothing = tc_constant_of(g, bias->type.dtype, TC_OPERAND(0));
        sums = tc_add_channel_bias(g, at, tc_broadcast_to(g, nothing, 4, p->shape), bias);
    }
    return rescaled_windows(g, at, sums, a->w_scale, a->x.scale, a->scale, a->once, a->floats, a->zero, dtype);
}

static tc_tensor quantized_conv_transpose2d(tc_graph *g, const tc_quantized_conv_transpose_args *a)
{
    if (!tc_affine_read(g, ".x", &a->x, true) || !check_weights(g, a->w, a->w_scale, a->bias) ||
        !tc_affine_check_result(g, a->x.x->type.dtype, a->scale, a->zero))
        return tc_poison();
    tc_conv_transpose2d_args product = {.x = a->x.x, .weight = a->w, .groups = a->groups, .at = a->at};
    for (int i = 0; i < 2; ++i) {
        product.stride[i] = a->stride[i];
        product.padding[i] = a->padding[i];
        product.low[i] = a->low[i];
        product.high[i] = a->high[i];
        product.output_padding[i] = a->output_padding[i];
        product.dilation[i] = a->dilation[i];
    }
    return tc_conv_transpose_by(g, &product, quantized_phase, a);
}

tc_tensor tc_quantized_conv_transpose2d_at(const tc_quantized_conv_transpose_args *args)
{
    tc_graph *g = tc_op_enter(args->at, "tc_quantized_conv_transpose2d", "quantized_conv_transpose2d",
                              "x w w_scale ?bias", 4, (tc_tensor[]){args->x.x, args->w, args->w_scale, args->bias});
    if (!g)
        return tc_poison();
    return tc_op_leave(g, tc_written_as(g, quantized_conv_transpose2d(g, args), args->scale, args->zero));
}

static tc_tensor quantized_linear(tc_graph *g, const tc_quantized_linear_args *a)
{
    const tc_site at = a->at;
    const tc_dtype dtype = a->x.x->type.dtype;
    if (!tc_affine_read(g, ".x", &a->x, true) || !check_weights(g, a->w, a->w_scale, a->bias) ||
        !tc_affine_check_result(g, dtype, a->scale, a->zero))
        return tc_poison();
    const tc_dtype wide = a->bias ? a->bias->type.dtype : TC_I32;
    tc_tensor x = tc_prim_cast(g, a->x.x, wide), w = tc_prim_cast(g, a->w, wide), bias = a->bias;
    if (a->x.zero && w->type.rank == 2) { /* x - zero: less zero times the sum of each output's weights */
        tc_tensor share = MUL(tc_prim_reduce(g, w, "sum", 1, (const int[]){1}), a->x.zero);
        bias = bias ? SUB(bias, share) : tc_neg_at(at, share);
    }
    tc_tensor sums = tc_linear_at(&(tc_linear_args){x, w, bias, .at = at});
    if (tc_is_poison(sums))
        return sums;
    tc_tensor scale = as_number(g, a->w_scale);
    if (scale->type.rank)
        scale = MUL(tc_prim_cast(g, scale, TC_F64), (double)a->x.scale);
    else
        scale = tc_prim_cast(g, MUL(scale, (double)a->x.scale), TC_F64);
    return rescaled(g, at, sums, DIV(scale, (double)a->scale), sums->type.rank - 1, a->once, a->floats, a->zero, dtype);
}

tc_tensor tc_quantized_linear_at(const tc_quantized_linear_args *args)
{
    tc_graph *g = tc_op_enter(args->at, "tc_quantized_linear", "quantized_linear", "x w w_scale ?bias", 4,
                              (tc_tensor[]){args->x.x, args->w, args->w_scale, args->bias});
    return g ? tc_op_leave(g, tc_written_as(g, quantized_linear(g, args), args->scale, args->zero)) : tc_poison();
}

/* -- products of two tensors --------------------------------------------------------------------------------------- */

static tc_tensor quantized_matmul(tc_graph *g, const tc_quantized_two_args *args)
{
    const tc_site at = args->at;
    const tc_affine *a = &args->a, *b = &args->b;
    if (!tc_affine_read_two(g, args))
        return tc_poison();
    const tc_dtype dtype = a->x->type.dtype, wide = dtype == TC_I16 ? TC_I64 : TC_I32;
    tc_tensor x = tc_prim_cast(g, tc_affine_centered(g, at, a), wide),
              y = tc_prim_cast(g, tc_affine_centered(g, at, b), wide);
    tc_tensor sums = tc_matmul_at(at, x, y);
    if (tc_is_poison(sums))
        return sums;
    const double scale = (double)(a->scale * b->scale) / (double)args->scale;
    if (args->floats)
        return tc_affine_by_number(g, at, sums, scale, args->zero, dtype);
    if (wide == TC_I64)
        return rescaled(g, at, sums, tc_constant_of(g, TC_F64, TC_OPERAND(scale)), 0, false, false, args->zero, dtype);
    return tc_affine_finished(at, tc_affine_scaled(g, at, sums, scale), args->zero, dtype);
}

tc_tensor tc_quantized_matmul_at(const tc_quantized_two_args *args)
{
    tc_graph *g = tc_op_enter(args->at, "tc_quantized_matmul", "quantized_matmul", "a b", 2,
                              (tc_tensor[]){args->a.x, args->b.x});
    return g ? tc_op_leave(g, tc_written_as(g, quantized_matmul(g, args), args->scale, args->zero)) : tc_poison();
}
