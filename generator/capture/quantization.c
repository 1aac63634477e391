/* SPDX-License-Identifier: Apache-2.0
 *
 * From floats to integers and back, and from accumulators to integers.
 */
#include <math.h>

#include "compose.h"
#include "quantization.h"

/* -- scales and zeros ---------------------------------------------------------------------------------------------- */

static tc_tensor one_number(tc_graph *g, tc_tensor p)
{
    bool single = p->type.rank > 0;
    for (int i = 0; i < p->type.rank; ++i)
        single = single && tc_expr_is(p->type.shape[i], 1);
    return single ? tc_prim_reshape(g, p, 0, NULL) : p;
}

/* A number a block of the axis: each repeated, and what is behind the end of x cut off. */
static tc_tensor along_blocks(tc_graph *g, tc_site at, const char *what, tc_tensor p, const tc_type *x, int axis,
                              int block)
{
    const tc_expr *size = x->shape[axis], *one = tc_expr_const(&g->dims, block);
    const tc_expr *blocks = tc_expr_floordiv(tc_expr_add_int(size, block - 1), one);
    bool fits = p->type.rank == x->rank;
    for (int i = 0; fits && i < x->rank; ++i)
        fits = tc_same_dim(g, p->type.shape[i], i == axis ? blocks : x->shape[i]);
    if (!fits) {
        tc_fail(g, "x's shape, with ceil(size / block) along the axis",
                "the %s %s has not one number a block of %d along axis %d of %s", what, tc_type_text(g, &p->type),
                block, axis, tc_type_text(g, x));
        return tc_poison();
    }
    p = tc_repeat_at(at, p, tc_dim_int_(block), axis, true);
    return tc_is_poison(p) || tc_known_same(g, p->type.shape[axis], size)
               ? p
               : tc_slice_at(at, p, axis, tc_dim_int_(0), tc_dim_of(size), 1);
}

tc_tensor tc_quantized_along(tc_graph *g, tc_site at, const char *what, tc_tensor p, const tc_type *x, int axis,
                             int block)
{
    if (block < 0) {
        tc_fail(g, NULL, ".block is %d", block);
        return tc_poison();
    }
    if (!block)
        p = one_number(g, p);
    if (!p->type.rank)
        return p;
    axis = tc_axis(g, axis, x->rank);
    if (axis < 0)
        return tc_poison();
    if (block)
        return along_blocks(g, at, what, p, x, axis, block);
    if (p->type.rank != 1 || !tc_same_dim(g, p->type.shape[0], x->shape[axis])) {
        tc_fail(g, "one number, or with .axis one a slice, or with .block one a block",
                "the %s %s has neither one number nor one a slice of axis %d of %s", what, tc_type_text(g, &p->type),
                axis, tc_type_text(g, x));
        return tc_poison();
    }
    return tc_prim_broadcast(g, p, x->rank, x->shape, (const int[]){axis});
}

bool tc_is_short_integer(tc_dtype dtype)
{
    return dtype == TC_I8 || dtype == TC_U8 || dtype == TC_I16 || dtype == TC_U16;
}

void tc_integer_range(tc_dtype dtype, int bits, int64_t *low, int64_t *high)
{
    const bool is_signed = tc_dtype_about(dtype)->kind == TC_KIND_SIGNED;
    bits = bits ? bits : 8 * tc_dtype_size(dtype);
    *low = is_signed ? -((int64_t)1 << (bits - 1)) : 0;
    *high = ((int64_t)1 << (bits - is_signed)) - 1;
}

/* -- quantize ------------------------------------------------------------------------------------------------------ */

static bool check_scale(tc_graph *g, tc_tensor scale)
{
    if (tc_dtype_is_float(scale->type.dtype))
        return true;
    tc_fail(g, "convert with tc_cast(scale, TC_F32)", "the scale is %s, no float", tc_type_text(g, &scale->type));
    return false;
}

/* The dtype of the integers; reported. */
static bool integer_dtype(tc_graph *g, tc_dtype dtype, tc_tensor zero, tc_dtype otherwise, tc_dtype *out)
{
    *out = dtype ? dtype : zero ? zero->type.dtype : otherwise;
    if (!tc_is_short_integer(*out) && *out != TC_I32) {
        tc_fail(g, "TC_I8, TC_U8, TC_I16, TC_U16 or TC_I32", "no integers of quantized tensors: %s",
                tc_dtype_valid(*out) ? tc_dtype_name(*out) : "the dtype is unknown");
        return false;
    }
    if (!zero || zero->type.dtype == *out)
        return true;
    tc_fail(g, "zero has the integers' dtype", "zero is %s for integers of %s", tc_type_text(g, &zero->type),
            tc_dtype_name(*out));
    return false;
}

/* The nearest integer, of two the one farther from 0. */
static tc_tensor halves_away(tc_site at, tc_tensor x)
{
    tc_tensor whole = tc_trunc_at(at, x), rest = SUB(x, whole), above = GE(rest, 0.5), below = LE(rest, -0.5);
    tc_tensor more = ADD(whole, 1), less = SUB(whole, 1);
    return WHERE(above, more, WHERE(below, less, whole));
}

static tc_tensor quantize(tc_graph *g, const tc_quantize_args *args)
{
    const tc_site at = args->at;
    const tc_type *type = &args->x->type;
    if ((type->dtype != TC_I32 && !tc_check_float(g, type)) || !check_scale(g, args->scale))
        return tc_poison();
    const tc_dtype precision = args->precision ? args->precision : args->scale->type.dtype;
    if (!tc_dtype_valid(precision) || !tc_dtype_is_float(precision)) {
        tc_fail(g, "TC_F32, TC_F16, TC_BF16 or TC_F64", ".precision is no float");
        return tc_poison();
    }
    tc_dtype dtype = TC_U8;
    if (args->format) {
        if (args->zero || args->dtype || args->bits) {
            tc_fail(g, NULL, "zero, .dtype and .bits are of integers, and .format names a small float");
            return tc_poison();
        }
    } else if (!integer_dtype(g, args->dtype, args->zero, TC_U8, &dtype)) {
        return tc_poison();
    }
    if (args->bits < 0 || args->bits > 8 * tc_dtype_size(dtype)) {
        tc_fail(g, NULL, ".bits is %d for integers of %s", args->bits, tc_dtype_name(dtype));
        return tc_poison();
    }
    tc_tensor scale = tc_quantized_along(g, at, "scale", args->scale, type, args->axis, args->block);
    tc_tensor zero = args->zero ? tc_quantized_along(g, at, "zero", args->zero, type, args->axis, args->block) : NULL;
    tc_tensor x = tc_cast_at(at, args->x, precision), y = DIV(x, tc_cast_at(at, scale, precision));
    if (args->format == TC_E2M1)
        y = ADD(y, 0); /* ONNX adds the zero there: -0 becomes +0 */
    if (args->format)
        return tc_is_poison(y) ? y
                               : tc_encode_float_of(g, &(tc_encode_float_args){.x = y,
                                                                               .format = args->format,
                                                                               .overflow = args->overflow,
                                                                               .at = at});
    y = precision == TC_F64 ? y : tc_cast_at(at, y, TC_F32);
    y = args->halves_away ? halves_away(at, y) : tc_round_at(at, y);
    if (zero)
        y = ADD(y, tc_cast_at(at, zero, precision == TC_F64 ? TC_F64 : TC_F32));
    if (args->bits) {
        int64_t low, high;
        tc_integer_range(dtype, args->bits, &low, &high);
        y = MINIMUM(MAXIMUM(y, low), high);
    }
    y = tc_cast_at(at, y, dtype); /* saturates */
    return tc_written_by(g, y, args->scale, args->zero);
}

tc_tensor tc_quantize_at(const tc_quantize_args *args)
{
    tc_graph *g = tc_op_enter(args->at, "tc_quantize", "quantize", "x scale ?zero", 3,
                              (tc_tensor[]){args->x, args->scale, args->zero});
    return g ? tc_op_leave(g, quantize(g, args)) : tc_poison();
}

static tc_tensor dequantize(tc_graph *g, const tc_dequantize_args *args)
{
    const tc_site at = args->at;
    const tc_type *type = &args->x->type;
    tc_dtype integers, dtype = args->dtype ? args->dtype : args->scale->type.dtype;
    if (!check_scale(g, args->scale))
        return tc_poison();
    if (!tc_dtype_valid(dtype) || !tc_dtype_is_float(dtype)) {
        tc_fail(g, "TC_F32, TC_F16, TC_BF16 or TC_F64", ".dtype is no float");
        return tc_poison();
    }
    if (args->format && args->zero) {
        tc_fail(g, NULL, "zero is of integers, and .format names a small float");
        return tc_poison();
    }
    if (!args->format && !integer_dtype(g, type->dtype, args->zero, type->dtype, &integers))
        return tc_poison();
    const tc_dtype wide = args->scale->type.dtype == TC_F64 ? TC_F64 : TC_F32;
    tc_tensor scale = tc_quantized_along(g, at, "scale", args->scale, type, args->axis, args->block), x;
    if (args->format) {
        x = tc_decode_float_at(at, args->x, args->format);
    } else {
        tc_read_by(g, "x", args->x, args->scale, args->zero);
        x = tc_cast_at(at, args->x, TC_I32);
        if (args->zero) {
            tc_tensor zero = tc_quantized_along(g, at, "zero", args->zero, type, args->axis, args->block);
            x = SUB(x, tc_cast_at(at, zero, TC_I32));
        }
    }
    x = tc_cast_at(at, x, wide);
    return tc_cast_at(at, MUL(x, tc_cast_at(at, scale, wide)), dtype);
}

tc_tensor tc_dequantize_at(const tc_dequantize_args *args)
{
    tc_graph *g = tc_op_enter(args->at, "tc_dequantize", "dequantize", "x scale ?zero", 3,
                              (tc_tensor[]){args->x, args->scale, args->zero});
    return g ? tc_op_leave(g, dequantize(g, args)) : tc_poison();
}

static tc_tensor dynamic_quantize(tc_graph *g, tc_site at, tc_tensor x, tc_tensor *scale, tc_tensor *zero)
{
    if (x->type.dtype != TC_F32) {
        tc_fail(g, "convert with tc_cast(x, TC_F32)", "needs f32, not %s", tc_type_text(g, &x->type));
        return tc_poison();
    }
    tc_tensor low = MINIMUM(tc_amin_at(at, x, false, 0, NULL), 0);
    tc_tensor high = MAXIMUM(tc_amax_at(at, x, false, 0, NULL), 0), range = SUB(high, low);
    tc_tensor nothing = EQ(range, 0);
    *scale = WHERE(nothing, 1, DIV(range, 255));
    *zero = tc_cast_at(at, tc_round_at(at, DIV(tc_neg_at(at, low), *scale)), TC_U8);
    return tc_quantize_at(&(tc_quantize_args){.x = x, .scale = *scale, .zero = *zero, .at = at});
}

tc_tensor tc_dynamic_quantize_at(tc_site at, tc_tensor x, tc_tensor *scale, tc_tensor *zero)
{
    tc_graph *g = tc_op_enter(at, "tc_dynamic_quantize", "dynamic_quantize", "x", 1, &x);
    *scale = *zero = tc_poison();
    return g ? tc_op_leave(g, dynamic_quantize(g, at, x, scale, zero)) : tc_poison();
}

/* -- fixed point --------------------------------------------------------------------------------------------------- */

static bool are_i32(tc_graph *g, tc_tensor a, tc_operand b)
{
    const bool tensor = b.kind == TC_OPERAND_TENSOR;
    if (a->type.dtype == TC_I32 && (!tensor || b.tensor->type.dtype == TC_I32))
        return true;
    tc_fail(g, "convert with tc_cast(x, TC_I32)", "needs i32: %s and %s", tc_type_text(g, &a->type),
            tensor ? tc_type_text(g, &b.tensor->type) : "a number");
    return false;
}

/* Both in i64: floor((a * b + 2^30) / 2^31) is what rounding the magnitude and truncating give. */
static tc_tensor mulhigh(tc_graph *g, tc_site at, tc_tensor a, tc_tensor b)
{
    tc_tensor wide = tc_prim_cast(g, a, TC_I64), product = MUL(wide, tc_prim_cast(g, b, TC_I64));
    tc_tensor high = SHIFT_RIGHT(ADD(product, (int64_t)1 << 30), 31);
    return tc_prim_cast(g, MINIMUM(high, INT32_MAX), TC_I32);
}

tc_tensor tc_mulhigh_round_at(tc_site at, tc_tensor a, tc_operand b)
{
    tc_graph *g = tc_op_enter_two(at, "tc_mulhigh_round", "mulhigh_round", TC_OPERAND(a), b);
    tc_tensor x, y;
    if (!g)
        return tc_poison();
    if (!are_i32(g, a, b) || !tc_align(g, TC_OPERAND(a), b, &x, &y))
        return tc_op_leave(g, tc_poison());
    return tc_op_leave(g, mulhigh(g, at, x, y));
}

static tc_tensor rounding_shift(tc_graph *g, tc_site at, tc_tensor x, tc_tensor n)
{
    tc_tensor one = tc_broadcast_to(g, tc_constant_of(g, TC_I32, TC_OPERAND(1)), n->type.rank, n->type.shape);
    tc_tensor mask = SUB(SHIFT_LEFT(one, n), 1), rest = BIT_AND(x, mask);
    tc_tensor negative = tc_prim_cast(g, LT(x, 0), TC_I32), half = ADD(SHIFT_RIGHT(mask, 1), negative);
    tc_tensor quotient = SHIFT_RIGHT(x, n);
    return ADD(quotient, tc_prim_cast(g, GT(rest, half), TC_I32));
}

tc_tensor tc_rounding_shift_at(tc_site at, tc_tensor x, tc_operand n)
{
    tc_graph *g = tc_op_enter_two(at, "tc_rounding_shift", "rounding_shift", TC_OPERAND(x), n);
    tc_tensor a, b;
    if (!g)
        return tc_poison();
    if (n.kind != TC_OPERAND_TENSOR && (n.kind != TC_OPERAND_INT || n.integer < 0 || n.integer > 31)) {
        tc_fail(g, NULL, "a shift by %g places; 0 to 31 are possible",
                n.kind == TC_OPERAND_INT ? (double)n.integer : n.real);
        return tc_op_leave(g, tc_poison());
    }
    if (!are_i32(g, x, n) || !tc_align(g, TC_OPERAND(x), n, &a, &b))
        return tc_op_leave(g, tc_poison());
    return tc_op_leave(g, rounding_shift(g, at, a, b));
}

int32_t tc_quantized_multiplier(double scale, int *shift)
{
    *shift = 0;
    if (!(scale > 0) || isinf(scale))
        return 0;
    int64_t q = (int64_t)round(frexp(scale, shift) * 2147483648.0);
    if (q == (int64_t)1 << 31) {
        q /= 2;
        ++*shift;
    }
    if (*shift < -31) {
        *shift = 0;
        q = 0;
    } else if (*shift > 30) {
        *shift = 30;
        q = INT32_MAX;
    }
    return (int32_t)q;
}

/* -- requantize ---------------------------------------------------------------------------------------------------- */

tc_tensor tc_requantize_by(tc_graph *g, tc_site at, tc_tensor x, tc_tensor scale, tc_tensor zero, tc_dtype dtype)
{
    tc_tensor y = tc_round_at(at, MUL(tc_prim_cast(g, x, TC_F32), scale));
    if (zero)
        y = ADD(y, tc_cast_at(at, zero, TC_F32));
    return tc_cast_at(at, y, dtype);
}

/* The bits of n, below 256, as the bytes that are stored of constants. */
static tc_tensor by_byte(tc_graph *g, tc_tensor n, tc_dtype dtype)
{
    return tc_prim_cast(g, tc_prim_cast(g, n, dtype), TC_I32);
}

/* x and the rounded upper half of its product (of i64) with 2q - 2^32: the upper half of x * 2q, mulhigh(x, q). */
static tc_tensor upper_half(tc_graph *g, tc_site at, tc_tensor x, tc_tensor product)
{
    return ADD(x, tc_prim_cast(g, SHIFT_RIGHT(ADD(product, (int64_t)1 << 31), 32), TC_I32));
}

tc_tensor tc_scaled_high(tc_graph *g, tc_site at, tc_tensor x, int32_t q)
{
    return upper_half(g, at, x, MUL(tc_prim_cast(g, x, TC_I64), (int64_t)(int32_t)((uint32_t)q << 1)));
}

/* rounding_shift(mulhigh(x * 2^max(e, 0), q), max(-e, 0)) in steps without a comparison, for q from 2^30 on; where q is
 * 0, so is the result. `any` is -1 where there is a shift to the right: halves of negative numbers go down by one
 * before all places but one are shifted out, then the last place rounds up. The upper half of a product is never -2^31,
 * from which 1 cannot be taken. */
static tc_tensor rounded_twice(tc_graph *g, tc_site at, tc_tensor x, tc_tensor q, tc_tensor e)
{
    tc_tensor right = MAXIMUM(tc_neg_at(at, e), 0), one = MINIMUM(right, 1), places = SUB(right, one);
    tc_tensor nothing = EQ(q, 0), out = WHERE(nothing, 32, MAXIMUM(e, 0)), factor = MAXIMUM(q, 1 << 30);
    tc_tensor any = by_byte(g, tc_neg_at(at, one), TC_I8), left = by_byte(g, out, TC_U8);
    tc_tensor shifted = SHIFT_LEFT(x, left), wide = tc_prim_cast(g, shifted, TC_I64), rest = SHIFT_LEFT(factor, 1);
    tc_tensor high = upper_half(g, at, shifted, MUL(wide, tc_prim_cast(g, rest, TC_I64)));
    tc_tensor below = BIT_AND(SHIFT_RIGHT(high, 31), any);
    places = by_byte(g, places, TC_U8);
    tc_tensor twice = SHIFT_RIGHT(ADD(high, below), places);
    return SUB(twice, BIT_AND(SHIFT_RIGHT(twice, 1), any));
}

tc_tensor tc_requantize_normal(tc_graph *g, tc_site at, tc_tensor x, tc_tensor q, tc_tensor e)
{
    q = tc_broadcast_to(g, q, x->type.rank, x->type.shape);
    return rounded_twice(g, at, x, q, tc_broadcast_to(g, e, x->type.rank, x->type.shape));
}

tc_tensor tc_requantize_fixed(tc_graph *g, tc_site at, tc_tensor x, tc_tensor q, tc_tensor e, bool once)
{
    q = tc_broadcast_to(g, q, x->type.rank, x->type.shape);
    e = tc_broadcast_to(g, e, x->type.rank, x->type.shape);
    if (!once) {
        tc_tensor left = SHIFT_LEFT(x, MAXIMUM(e, 0));
        tc_tensor high = mulhigh(g, at, left, q), right = MAXIMUM(tc_neg_at(at, e), 0);
        return rounding_shift(g, at, high, right);
    }
    tc_tensor wide = tc_prim_cast(g, x, TC_I64), product = MUL(wide, tc_prim_cast(g, q, TC_I64));
    tc_tensor places = SUB(31, tc_prim_cast(g, e, TC_I64));
    tc_tensor one = tc_broadcast_to(g, tc_constant_of(g, TC_I64, TC_OPERAND(1)), x->type.rank, x->type.shape);
    tc_tensor half = SHIFT_LEFT(one, SUB(places, 1)), y = SHIFT_RIGHT(ADD(product, half), places);
    return tc_prim_cast(g, MINIMUM(MAXIMUM(y, INT32_MIN), INT32_MAX), TC_I32);
}

static bool check_requantize(tc_graph *g, const tc_requantize_args *args, tc_dtype *dtype)
{
    if (args->x->type.dtype != TC_I32) {
        tc_fail(g, NULL, "an accumulator is i32, not %s", tc_type_text(g, &args->x->type));
        return false;
    }
    if (!args->scale == !args->multiplier || !args->multiplier != !args->shift) {
        tc_fail(g, ".scale, or .multiplier and .shift", "needs a scale, or a multiplier and a shift");
        return false;
    }
    if (args->scale ? args->scale->type.dtype != TC_F32
                    : args->multiplier->type.dtype != TC_I32 || args->shift->type.dtype != TC_I32) {
        tc_fail(g, NULL, "a scale is f32, multiplier and shift are i32");
        return false;
    }
    if (args->scale && args->once) {
        tc_fail(g, NULL, ".once is of a multiplier");
        return false;
    }
    return integer_dtype(g, args->dtype, args->zero, TC_I8, dtype);
}

static tc_tensor requantize(tc_graph *g, const tc_requantize_args *args)
{
    const tc_site at = args->at;
    const tc_type *x = &args->x->type;
    tc_dtype dtype;
    if (!check_requantize(g, args, &dtype))
        return tc_poison();
    tc_tensor zero = args->zero ? tc_quantized_along(g, at, "zero", args->zero, x, args->axis, 0) : NULL;
    if (args->scale) {
        tc_tensor scale = tc_quantized_along(g, at, "scale", args->scale, x, args->axis, 0);
        return tc_requantize_by(g, at, args->x, scale, zero, dtype);
    }
    tc_tensor q = tc_quantized_along(g, at, "multiplier", args->multiplier, x, args->axis, 0);
    tc_tensor e = tc_quantized_along(g, at, "shift", args->shift, x, args->axis, 0);
    if (tc_is_poison(q) || tc_is_poison(e) || (zero && tc_is_poison(zero)))
        return tc_poison();
    tc_tensor y = tc_requantize_fixed(g, at, args->x, q, e, args->once);
    if (dtype == TC_I32)
        return zero ? ADD(y, zero) : y;
    int64_t low, high;
    tc_integer_range(dtype, 0, &low, &high);
    if (zero) { /* in i64: the sum of an i32 at its end would wrap */
        y = tc_prim_cast(g, y, TC_I64);
        y = ADD(y, tc_prim_cast(g, zero, TC_I64));
    }
    return tc_cast_at(at, MINIMUM(MAXIMUM(y, low), high), dtype);
}

tc_tensor tc_requantize_at(const tc_requantize_args *args)
{
    tc_graph *g = tc_op_enter(args->at, "tc_requantize", "requantize", "x ?scale ?zero ?multiplier ?shift", 5,
                              (tc_tensor[]){args->x, args->scale, args->zero, args->multiplier, args->shift});
    return g ? tc_op_leave(g, requantize(g, args)) : tc_poison();
}
