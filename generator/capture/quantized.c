/* SPDX-License-Identifier: Apache-2.0
 *
 * Operations of TensorFlow Lite on quantized tensors, in integers.
 */
#include <math.h>

#include "compose.h"
#include "fixed_point.h"
#include "quantization.h"
#include "windows.h"

/* -- scales -------------------------------------------------------------------------------------------------------- */

static bool check_scale(tc_graph *g, const char *what, double scale)
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

/* The argument of that name: integers of 8 or, where `wide`, 16 bits with their scale and zero; reported. */
static bool read_affine(tc_graph *g, const char *argument, const tc_affine *a, bool wide)
{
    const tc_dtype dtype = a->x->type.dtype;
    if (dtype != TC_I8 && dtype != TC_U8 && !(wide && dtype == TC_I16)) {
        tc_fail(g, wide ? "i8, u8 or i16" : "i8 or u8", "no integers that are computed with here: %s",
                tc_type_text(g, &a->x->type));
        return false;
    }
    if (!check_scale(g, "", a->scale) || !check_zero(g, dtype, a->zero))
        return false;
    tc_read_as(g, argument, a->x, a->scale, a->zero);
    return true;
}

static bool check_result(tc_graph *g, tc_dtype dtype, double scale, int zero)
{
    return check_scale(g, " of the result", scale) && check_zero(g, dtype, zero);
}

/* x - zero in i32. */
static tc_tensor centered(tc_graph *g, tc_site at, const tc_affine *a)
{
    tc_tensor x = tc_prim_cast(g, a->x, TC_I32);
    return a->zero ? SUB(x, a->zero) : x;
}

/* x * multiplier * 2^(shift - 31), rounded twice. */
static tc_tensor multiplied(tc_graph *g, tc_site at, tc_tensor x, int32_t multiplier, int shift)
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

static tc_tensor scaled(tc_graph *g, tc_site at, tc_tensor x, double scale)
{
    int shift;
    const int32_t multiplier = tc_quantized_multiplier(scale, &shift);
    return multiplied(g, at, x, multiplier, shift);
}

/* x + zero in the dtype, saturating: limited before, so that the sum does not wrap. */
static tc_tensor finished(tc_site at, tc_tensor x, int zero, tc_dtype dtype)
{
    int64_t low, high;
    tc_integer_range(dtype, 0, &low, &high);
    if (dtype == TC_I32)
        return zero ? ADD(x, zero) : x;
    x = MINIMUM(MAXIMUM(x, low - zero), high - zero);
    return tc_cast_at(at, zero ? ADD(x, zero) : x, dtype);
}

/* round(x * scale) + zero in the dtype: halves to even, in f32. scale: f32 that broadcasts to x. */
static tc_tensor in_floats(tc_graph *g, tc_site at, tc_tensor x, tc_tensor scale, int zero, tc_dtype dtype)
{
    tc_tensor z = zero ? tc_constant_of(g, TC_I32, TC_OPERAND(zero)) : NULL;
    return tc_requantize_by(g, at, x, scale, z, dtype);
}

static tc_tensor by_number(tc_graph *g, tc_site at, tc_tensor x, double scale, int zero, tc_dtype dtype)
{
    return tc_is_poison(x) ? x : in_floats(g, at, x, tc_constant_of(g, TC_F32, TC_OPERAND(scale)), zero, dtype);
}

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
        return tc_is_poison(scale) ? scale : in_floats(g, at, sums, scale, zero, dtype);
    }
    tc_tensor e, q = multipliers(g, at, scale, &e);
    q = tc_quantized_along(g, at, "scale", q, x, axis, 0);
    e = tc_quantized_along(g, at, "scale", e, x, axis, 0);
    if (tc_is_poison(q) || tc_is_poison(e))
        return tc_poison();
    if (x->dtype == TC_I64)
        return finished(at, scaled_wide(g, at, sums, q, e), zero, dtype);
    return finished(at, once ? tc_requantize_fixed(g, at, sums, q, e, true) : tc_requantize_normal(g, at, sums, q, e),
                    zero, dtype);
}

/* -- products ------------------------------------------------------------------------------------------------------ */

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
    if (!read_affine(g, ".x", &a->x, true) || !check_weights(g, a->w, a->w_scale, a->bias) ||
        !check_result(g, dtype, a->scale, a->zero))
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
    if (!read_affine(g, ".x", &a->x, true) || !check_weights(g, a->w, a->w_scale, a->bias) ||
        !check_result(g, a->x.x->type.dtype, a->scale, a->zero))
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
    if (!read_affine(g, ".x", &a->x, true) || !check_weights(g, a->w, a->w_scale, a->bias) ||
        !check_result(g, dtype, a->scale, a->zero))
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

/* -- sums and products of elements --------------------------------------------------------------------------------- */

static bool check_two(tc_graph *g, const tc_quantized_two_args *args)
{
    return read_affine(g, ".a", &args->a, true) && read_affine(g, ".b", &args->b, true) &&
           tc_check_same_dtype(g, &args->a.x->type, &args->b.x->type) &&
           check_result(g, args->a.x->type.dtype, args->scale, args->zero);
}

static tc_tensor quantized_sum(tc_graph *g, const tc_quantized_two_args *args, bool difference)
{
    const tc_site at = args->at;
    if (!check_two(g, args))
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
    tc_tensor left = scaled(g, at, SHIFT_LEFT(centered(g, at, a), places), a->scale / twice);
    tc_tensor right = scaled(g, at, SHIFT_LEFT(centered(g, at, b), places), b->scale / twice);
    tc_tensor sum = difference ? SUB(left, right) : ADD(left, right);
    if (tc_is_poison(sum))
        return sum;
    return finished(at, scaled(g, at, sum, twice / ((1 << places) * (double)args->scale)), args->zero, dtype);
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
    if (!check_two(g, args))
        return tc_poison();
    tc_tensor a = centered(g, at, &args->a), b = centered(g, at, &args->b), product = MUL(a, b);
    if (tc_is_poison(product))
        return product;
    const double scale = (double)args->a.scale * (double)args->b.scale / (double)args->scale;
    if (args->floats)
        return by_number(g, at, product, scale, args->zero, args->a.x->type.dtype);
    return finished(at, scaled(g, at, product, scale), args->zero, args->a.x->type.dtype);
}

tc_tensor tc_quantized_mul_at(const tc_quantized_two_args *args)
{
    tc_graph *g = ENTER_TWO(mul);
    return g ? tc_op_leave(g, tc_written_as(g, quantized_mul(g, args), args->scale, args->zero)) : tc_poison();
}

static tc_tensor quantized_matmul(tc_graph *g, const tc_quantized_two_args *args)
{
    const tc_site at = args->at;
    const tc_affine *a = &args->a, *b = &args->b;
    if (!check_two(g, args))
        return tc_poison();
    const tc_dtype dtype = a->x->type.dtype, wide = dtype == TC_I16 ? TC_I64 : TC_I32;
    tc_tensor x = tc_prim_cast(g, centered(g, at, a), wide), y = tc_prim_cast(g, centered(g, at, b), wide);
    tc_tensor sums = tc_matmul_at(at, x, y);
    if (tc_is_poison(sums))
        return sums;
    const double scale = (double)(a->scale * b->scale) / (double)args->scale;
    if (args->floats)
        return by_number(g, at, sums, scale, args->zero, dtype);
    if (wide == TC_I64)
        return rescaled(g, at, sums, tc_constant_of(g, TC_F64, TC_OPERAND(scale)), 0, false, false, args->zero, dtype);
    return finished(at, scaled(g, at, sums, scale), args->zero, dtype);
}

tc_tensor tc_quantized_matmul_at(const tc_quantized_two_args *args)
{
    tc_graph *g = ENTER_TWO(matmul);
    return g ? tc_op_leave(g, tc_written_as(g, quantized_matmul(g, args), args->scale, args->zero)) : tc_poison();
}

/* -- another scale ------------------------------------------------------------------------------------------------- */

static tc_tensor quantized_rescale(tc_graph *g, const tc_quantized_rescale_args *args)
{
    const tc_dtype from = args->x.x->type.dtype, dtype = args->dtype ? args->dtype : from;
    if (from != TC_I32 && !read_affine(g, ".x", &args->x, true))
        return tc_poison();
    if (dtype != TC_I8 && dtype != TC_U8 && dtype != TC_I16 && dtype != TC_I32) {
        tc_fail(g, "TC_I8, TC_U8, TC_I16 or TC_I32", "no integers of quantized tensors: %s",
                tc_dtype_valid(dtype) ? tc_dtype_name(dtype) : "the dtype is unknown");
        return tc_poison();
    }
    if (!check_scale(g, "", args->x.scale) || !check_result(g, dtype, args->scale, args->zero))
        return tc_poison();
    if (from == TC_I32)
        tc_read_as(g, ".x", args->x.x, args->x.scale, args->x.zero);
    tc_tensor x = centered(g, args->at, &args->x);
    const double scale = (double)args->x.scale / (double)args->scale;
    if (args->floats)
        return by_number(g, args->at, x, scale, args->zero, dtype);
    return finished(args->at, scaled(g, args->at, x, scale), args->zero, dtype);
}

tc_tensor tc_quantized_rescale_at(const tc_quantized_rescale_args *args)
{
    tc_graph *g = tc_op_enter(args->at, "tc_quantized_rescale", "quantized_rescale", "x", 1, &args->x.x);
    return g ? tc_op_leave(g, tc_written_as(g, quantized_rescale(g, args), args->scale, args->zero)) : tc_poison();
}

/* -- functions of 8 bits: tables ----------------------------------------------------------------------------------- */

/* `count` integers from `first` on, in i32. */
static tc_tensor integers(tc_graph *g, tc_site at, int first, int count)
{
    const tc_type type = {.dtype = TC_I32, .rank = 1, .shape = {tc_expr_const(&g->dims, count)}};
    return ADD(tc_prim_iota(g, 0, &type), first);
}

/* Of a function's argument with `bits` integer bits: the multiplier that brings integers of the scale to it, and beyond
 * which of them it is out of range. */
typedef struct argument {
    int32_t multiplier;
    int shift, radius;
} argument;

static argument argument_of(double scale, int bits)
{
    argument a;
    const double most = 2147483647.0, factor = fmin(scale * (double)(1 << (31 - bits)), most);
    a.multiplier = tc_quantized_multiplier(factor, &a.shift);
    a.radius = (int)floor(((1 << bits) - 1) * (double)(1LL << (31 - bits)) / ldexp(1, a.shift));
    return a;
}

/* What a table has for each integer that x may be. */
static tc_tensor looked_up(tc_graph *g, tc_site at, tc_tensor x, tc_tensor table)
{
    tc_tensor index = tc_prim_cast(g, x, TC_I32);
    return tc_prim_gather(g, table, x->type.dtype == TC_I8 ? SUB(index, -128) : index, 0);
}

/* The function of every integer that x may be, as a table that x looks up. outputs: bits of the result's fraction;
 * middle: what the result 0 becomes. */
static tc_tensor by_table(tc_graph *g, const tc_quantized_one_args *args, tc_tensor function(tc_site at, tc_tensor a),
                          int outputs, int middle)
{
    const tc_site at = args->at;
    const tc_dtype dtype = args->x.x->type.dtype;
    int64_t low, high;
    if (!read_affine(g, ".x", &args->x, false))
        return tc_poison();
    tc_integer_range(dtype, 0, &low, &high);
    const argument a = argument_of(args->x.scale, 4);
    tc_tensor x = integers(g, at, (int)low - args->x.zero, 256), inside = MINIMUM(MAXIMUM(x, -a.radius), a.radius);
    tc_tensor value = function(at, multiplied(g, at, inside, a.multiplier, a.shift));
    tc_tensor y = tc_rounding_shift_at(at, value, TC_OPERAND(31 - outputs));
    tc_tensor above = GE(x, a.radius), below = LE(x, -a.radius);
    y = MINIMUM(MAXIMUM(ADD(y, middle), low), high);
    return looked_up(g, at, args->x.x, tc_prim_cast(g, WHERE(below, low, WHERE(above, high, y)), dtype));
}

tc_tensor tc_quantized_sigmoid_at(const tc_quantized_one_args *args)
{
    tc_graph *g = tc_op_enter(args->at, "tc_quantized_sigmoid", "quantized_sigmoid", "x", 1, &args->x.x);
    if (!g)
        return tc_poison();
    const int zero = args->x.x->type.dtype == TC_I8 ? -128 : 0;
    return tc_op_leave(g, tc_written_as(g, by_table(g, args, tc_fixed_logistic, 8, zero), 1.0 / 256, zero));
}

tc_tensor tc_quantized_tanh_at(const tc_quantized_one_args *args)
{
    tc_graph *g = tc_op_enter(args->at, "tc_quantized_tanh", "quantized_tanh", "x", 1, &args->x.x);
    if (!g)
        return tc_poison();
    const int zero = args->x.x->type.dtype == TC_I8 ? 0 : 128;
    return tc_op_leave(g, tc_written_as(g, by_table(g, args, tc_fixed_tanh, 7, zero), 1.0 / 128, zero));
}

/* -- hard swish ---------------------------------------------------------------------------------------------------- */

/* A scale as a multiplier of 15 bits, rounded, at most 0x7fff: scale = q * 2^(shift - 15). */
static int32_t short_multiplier(double scale, int *shift)
{
    const int32_t q = tc_quantized_multiplier(scale, shift);
    return q >= 0x7fff0000 ? 0x7fff : (q + (1 << 15)) >> 16;
}

/* x * q / 2^15, rounded: x of 16 bits. */
static tc_tensor short_scaled(tc_site at, tc_tensor x, int32_t q)
{
    return SHIFT_RIGHT(ADD(MUL(x, q), 1 << 14), 15);
}

static tc_tensor saturated_16(tc_site at, tc_tensor x)
{
    return MINIMUM(MAXIMUM(x, INT16_MIN), INT16_MAX);
}

/* x limited to [-3, 3], as 0 to 32767: x has 7 bits behind the point, q and shift bring it to the scale 3 / 2^15. */
static tc_tensor clamped_share(tc_site at, tc_tensor x, int32_t q, int shift)
{
    /* the last place is shifted behind the product, as in TensorFlow Lite; a shift by more than 15 saturates all but 0 */
    if (shift > 0)
        x = saturated_16(at, SHIFT_LEFT(x, shift > 15 ? 15 : shift - 1));
    x = short_scaled(at, x, q);
    x = shift > 0 ? saturated_16(at, SHIFT_LEFT(x, 1)) : tc_rounding_shift_at(at, x, TC_OPERAND(-shift));
    return SHIFT_RIGHT(ADD(x, 1 << 15), 1);
}

static tc_tensor quantized_hardswish(tc_graph *g, const tc_quantized_hardswish_args *args)
{
    const tc_site at = args->at;
    const tc_dtype dtype = args->x.x->type.dtype;
    const float fine = args->x.scale / 128;
    int to, by;
    if (!read_affine(g, ".x", &args->x, false) || !check_result(g, dtype, args->scale, args->zero))
        return tc_poison();
    const int32_t factor = short_multiplier((double)(fine / args->scale), &to);
    const int32_t slope = short_multiplier((double)(fine / (3.0f / 32768)), &by);
    if (by < -15) {
        tc_fail(g, NULL, "the scale %g is too small", (double)args->x.scale);
        return tc_poison();
    }
    if (to > 0 || to < -15) {
        tc_fail(g, "from 1 / 512 to 128 times it", "the scale %g is too far from that of the result, %g",
                (double)args->x.scale, (double)args->scale);
        return tc_poison();
    }
    tc_tensor x = SHIFT_LEFT(integers(g, at, (dtype == TC_I8 ? -128 : 0) - args->x.zero, 256), 7);
    tc_tensor share = clamped_share(at, x, slope, by), y = DIV(MUL(share, short_scaled(at, x, factor)), 1 << 15);
    y = finished(at, tc_rounding_shift_at(at, y, TC_OPERAND(-to)), args->zero, dtype);
    return looked_up(g, at, args->x.x, y);
}

tc_tensor tc_quantized_hardswish_at(const tc_quantized_hardswish_args *args)
{
    tc_graph *g = tc_op_enter(args->at, "tc_quantized_hardswish", "quantized_hardswish", "x", 1, &args->x.x);
    return g ? tc_op_leave(g, tc_written_as(g, quantized_hardswish(g, args), args->scale, args->zero)) : tc_poison();
}

/* -- softmax ------------------------------------------------------------------------------------------------------- */

/* exp(-d * scale) for d = 0 ... 255, with 0 integer bits; 0 where that is too small. */
static tc_tensor exponentials(tc_graph *g, tc_site at, double scale)
{
    const argument a = argument_of(scale, 5);
    tc_tensor d = integers(g, at, 0, 256), inside = tc_neg_at(at, MINIMUM(d, a.radius));
    tc_tensor y = tc_fixed_exp(at, multiplied(g, at, inside, a.multiplier, a.shift), 5), beyond = GT(d, a.radius);
    return WHERE(beyond, 0, y);
}

/* A positive x shifted left by the number of its leading zeros without the sign's. */
static tc_tensor normalized(tc_graph *g, tc_site at, tc_tensor x, tc_tensor *zeros)
{
    tc_tensor n = tc_broadcast_to(g, tc_constant_of(g, TC_I32, TC_OPERAND(0)), x->type.rank, x->type.shape);
    for (int k = 16; k; k /= 2) {
        tc_tensor small = LT(x, 1 << (31 - k)), more = ADD(n, k), shifted = SHIFT_LEFT(x, k);
        n = WHERE(small, more, n);
        x = WHERE(small, shifted, x);
    }
    *zeros = n;
    return x;
}

/* 1 / x of a positive x, as a factor of 31 bits and the number of its leading zeros without the sign's. */
static tc_tensor inverse(tc_graph *g, tc_site at, tc_tensor x, tc_tensor *zeros)
{
    x = normalized(g, at, x, zeros);
    return tc_fixed_reciprocal(at, SHIFT_LEFT(SUB(x, 1 << 30), 1));
}

/* x rounded, halves away from zero. */
static tc_tensor rounded(tc_site at, tc_tensor x)
{
    return tc_trunc_at(at, ADD(x, tc_copysign_at(at, TC_OPERAND(0.5), TC_OPERAND(x))));
}

/* A table of 513 values of a function from `first` to `last`, times 32768, for linear interpolation. Each value but the last
 * is corrected by half of the error in the middle of its interval. */
static tc_tensor points(tc_graph *g, tc_site at, tc_dtype dtype, double first, double last,
                        tc_tensor function(tc_site at, tc_tensor x))
{
    enum { LINES = 512 };
    const double step = (last - first) / LINES;
    tc_tensor i = tc_prim_cast(g, integers(g, at, 0, LINES + 1), dtype);
    tc_tensor from = ADD(MUL(i, step), first), to = ADD(from, step);
    tc_tensor y = rounded(at, MUL(function(at, from), 32768)), next = MUL(function(at, to), 32768);
    tc_tensor line = rounded(at, MUL(ADD(next, y), 0.5));
    tc_tensor middle = rounded(at, MUL(function(at, ADD(from, step / 2)), 32768));
    tc_tensor off = rounded(at, MUL(SUB(line, middle), 0.5)), inner = LT(i, LINES);
    return tc_prim_cast(g, saturated_16(at, WHERE(inner, SUB(y, off), y)), TC_I16);
}

/* The function of such a table, of an x of 16 bits in i32, by linear interpolation. */
static tc_tensor interpolated(tc_graph *g, tc_site at, tc_tensor table, tc_tensor x)
{
    tc_tensor i = ADD(SHIFT_RIGHT(x, 7), 256), y = tc_prim_cast(g, tc_prim_gather(g, table, i, 0), TC_I32);
    tc_tensor next = tc_prim_cast(g, tc_prim_gather(g, table, ADD(i, 1), 0), TC_I32), slope = SUB(next, y);
    tc_tensor rise = MUL(slope, BIT_AND(x, 127));
    return ADD(y, SHIFT_RIGHT(ADD(rise, 64), 7));
}

static tc_tensor reciprocal_of_one_plus(tc_site at, tc_tensor x)
{
    return DIV(1, ADD(x, 1));
}

/* Of 16 bits: exp(x) from -10 to 0 and 1 / (1 + x) from 0 to 1 by tables, as in TensorFlow Lite Micro, which computes the
 * second in f32; computed in f64, two of its values would be others. The sum has 15 bits behind the point; its fraction is
 * counted from 1.5, the middle of the table. */
static tc_tensor softmax_by_points(tc_graph *g, tc_site at, tc_tensor x, double scale)
{
    const int axis = x->type.rank - 1;
    tc_tensor powers = points(g, at, TC_F64, -10, 0, tc_exp_at),
              reciprocals = points(g, at, TC_F32, 0, 1, reciprocal_of_one_plus);
    tc_tensor wide = tc_prim_cast(g, x, TC_I32), zeros;
    tc_tensor most = tc_amax_at(at, wide, true, 1, (const int[]){axis});
    tc_tensor below = scaled(g, at, SUB(wide, most), scale / (10.0 / 65535));
    tc_tensor term = interpolated(g, at, powers, saturated_16(at, ADD(below, INT16_MAX)));
    tc_tensor sum = normalized(g, at, tc_sum_at(at, term, true, 1, (const int[]){axis}), &zeros);
    tc_tensor fraction = SUB(SHIFT_RIGHT(ADD(SHIFT_RIGHT(sum, 13), 1), 1), (1 << 16) + (1 << 15));
    tc_tensor factor = interpolated(g, at, reciprocals, saturated_16(at, fraction));
    tc_tensor places = SUB(29, zeros), twice = SHIFT_RIGHT(MUL(term, factor), places);
    tc_tensor y = SHIFT_RIGHT(ADD(twice, 1), 1);
    return tc_prim_cast(g, MINIMUM(MAXIMUM(y, 0), INT16_MAX), TC_I16);
}

static tc_tensor quantized_softmax(tc_graph *g, const tc_quantized_softmax_args *args)
{
    const tc_site at = args->at;
    const tc_type *type = &args->x.x->type;
    const double beta = args->beta != 0 ? args->beta : 1;
    int64_t low, high;
    if (!read_affine(g, ".x", &args->x, true))
        return tc_poison();
    if (!type->rank || !(beta > 0)) {
        tc_fail(g, NULL, type->rank ? "beta is not positive" : "a single number has no softmax");
        return tc_poison();
    }
    if (type->dtype == TC_I16)
        return tc_written_as(g, softmax_by_points(g, at, args->x.x, beta * args->x.scale), 1.0 / 32768, 0);
    const int axis = type->rank - 1;
    tc_integer_range(type->dtype, 0, &low, &high);
    tc_tensor table = exponentials(g, at, beta * args->x.scale);
    tc_tensor shares = tc_rounding_shift_at(at, table, TC_OPERAND(12));
    tc_tensor x = tc_prim_cast(g, args->x.x, TC_I32), most = tc_amax_at(at, x, true, 1, (const int[]){axis});
    tc_tensor below = SUB(most, x), terms = tc_prim_gather(g, shares, below, 0);
    tc_tensor sum = tc_sum_at(at, terms, true, 1, (const int[]){axis}), zeros, factor = inverse(g, at, sum, &zeros);
    tc_tensor y = tc_mulhigh_round_at(at, tc_prim_gather(g, table, below, 0), TC_OPERAND(factor));
    tc_tensor places = SUB(12 - 1 + 31 - 8, zeros);
    y = finished(at, tc_rounding_shift_at(at, y, TC_OPERAND(MINIMUM(places, 31))), (int)low, type->dtype);
    return tc_written_as(g, y, 1.0 / 256, (int)low);
}

tc_tensor tc_quantized_softmax_at(const tc_quantized_softmax_args *args)
{
    tc_graph *g = tc_op_enter(args->at, "tc_quantized_softmax", "quantized_softmax", "x", 1, &args->x.x);
    return g ? tc_op_leave(g, quantized_softmax(g, args)) : tc_poison();
}

/* -- average pooling ----------------------------------------------------------------------------------------------- */

static tc_tensor window_sums(tc_graph *g, tc_tensor x, const tc_windows *w)
{
    return tc_prim_window_reduce(g, x, "sum", w->dims, w->size, w->stride, w->low, w->high, w->dilation);
}

static tc_tensor average_pool(tc_graph *g, const tc_quantized_pool_args *a)
{
    const tc_site at = a->at;
    const tc_dtype dtype = a->x->type.dtype;
    tc_windows w = {.dims = 2};
    if (dtype != TC_I8 && dtype != TC_U8 && dtype != TC_I16) {
        tc_fail(g, "i8, u8 or i16", "no integers that are computed with here: %s", tc_type_text(g, &a->x->type));
        return tc_poison();
    }
    if (!tc_windows_check_rank(g, &a->x->type, 2) ||
        !tc_windows_positive(g, "kernel", 2, tc_windows_each(g, 2, a->kernel), tc_windows_ones, w.size))
        return tc_poison();
    const tc_window_options options = {a->stride, a->padding, a->low, a->high, NULL};
    if (!tc_windows_read(g, &options, true, &w))
        return tc_poison();
    tc_tensor sums = window_sums(g, tc_prim_cast(g, a->x, TC_I32), &w), counts;
    tc_tensor one = tc_constant_of(g, TC_I32, TC_OPERAND(1));
    if (tc_is_poison(sums))
        return sums;
    if (w.low[0] || w.low[1] || w.high[0] || w.high[1])
        counts = window_sums(g, tc_prim_broadcast(g, one, 2, a->x->type.shape + 2, NULL), &w);
    else
        counts = tc_constant_of(g, TC_I32, TC_OPERAND(w.size[0] * w.size[1]));
    counts = tc_broadcast_to(g, counts, 4, sums->type.shape);
    tc_tensor half = DIV(counts, 2), positive = GT(sums, 0), more = ADD(sums, half), less = SUB(sums, half);
    return tc_prim_cast(g, DIV(WHERE(positive, more, less), counts), dtype);
}

tc_tensor tc_quantized_avg_pool2d_at(const tc_quantized_pool_args *args)
{
    tc_graph *g = tc_op_enter(args->at, "tc_quantized_avg_pool2d", "quantized_avg_pool2d", "x", 1, &args->x);
    return g ? tc_op_leave(g, tc_means_as(g, average_pool(g, args), args->x)) : tc_poison();
}

/* -- mean ---------------------------------------------------------------------------------------------------------- */

static tc_tensor quantized_mean(tc_graph *g, const tc_quantized_mean_args *args)
{
    const tc_site at = args->at;
    const tc_type *type = &args->x.x->type;
    int64_t count = 1, size;
    int shift, places = 0;
    if (!read_affine(g, ".x", &args->x, true) || !check_result(g, type->dtype, args->scale, args->zero))
        return tc_poison();
    if (args->axis_count < 1 || args->axis_count > type->rank) {
        tc_fail(g, NULL, ".axis_count is %d for a tensor of rank %d", args->axis_count, type->rank);
        return tc_poison();
    }
    for (int i = 0; i < args->axis_count; ++i) {
        const int axis = tc_axis(g, args->axes[i], type->rank);
        if (axis < 0)
            return tc_poison();
        if (!tc_expr_value(type->shape[axis], &size) || size < 1 || (count *= size) > INT32_MAX) {
            tc_fail(g, NULL, "axis %d must have a constant size, not 0: %s", axis, tc_type_text(g, type));
            return tc_poison();
        }
    }
    tc_tensor sums = tc_sum_at(at, centered(g, at, &args->x), args->keepdims, args->axis_count, args->axes);
    if (args->floats) {
        const double scale = (double)args->x.scale / ((double)args->scale * (double)count);
        return by_number(g, at, sums, scale, args->zero, type->dtype);
    }
    const int64_t multiplier = tc_quantized_multiplier((double)args->x.scale / (double)args->scale, &shift);
    while (places < 31 + shift && (count >> places) > 1)
        ++places;
    tc_tensor mean = multiplied(g, at, sums, (int32_t)((multiplier << places) / count), shift - places);
    return finished(at, mean, args->zero, type->dtype);
}

tc_tensor tc_quantized_mean_at(const tc_quantized_mean_args *args)
{
    tc_graph *g = tc_op_enter(args->at, "tc_quantized_mean", "quantized_mean", "x", 1, &args->x.x);
    return g ? tc_op_leave(g, tc_written_as(g, quantized_mean(g, args), args->scale, args->zero)) : tc_poison();
}

/* -- leaky relu ---------------------------------------------------------------------------------------------------- */

static tc_tensor quantized_leaky_relu(tc_graph *g, const tc_quantized_leaky_args *args)
{
    const tc_site at = args->at;
    const tc_dtype dtype = args->x.x->type.dtype;
    if (!read_affine(g, ".x", &args->x, true) || !check_result(g, dtype, args->scale, args->zero))
        return tc_poison();
    const float sloped = args->x.scale * args->slope / args->scale;
    if (!(sloped > 0)) {
        tc_fail(g, NULL, "the slope is %g, not positive", (double)args->slope);
        return tc_poison();
    }
    tc_tensor x = centered(g, at, &args->x), negative = LT(x, 0), below = scaled(g, at, x, (double)sloped);
    tc_tensor above = scaled(g, at, x, (double)args->x.scale / (double)args->scale);
    return finished(at, WHERE(negative, below, above), args->zero, dtype);
}

tc_tensor tc_quantized_leaky_relu_at(const tc_quantized_leaky_args *args)
{
    tc_graph *g = tc_op_enter(args->at, "tc_quantized_leaky_relu", "quantized_leaky_relu", "x", 1, &args->x.x);
    return g ? tc_op_leave(g, tc_written_as(g, quantized_leaky_relu(g, args), args->scale, args->zero)) : tc_poison();
}
