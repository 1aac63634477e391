/* SPDX-License-Identifier: Apache-2.0
 *
 * Functions of quantized tensors that tables have: of each of 256 integers, or of points between which lines are drawn.
 */
#include <math.h>

#include "compose.h"
#include "fixed_point.h"
#include "quantization.h"
#include "quantized_scales.h"

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
    if (!tc_affine_read(g, ".x", &args->x, false))
        return tc_poison();
    tc_integer_range(dtype, 0, &low, &high);
    const argument a = argument_of(args->x.scale, 4);
    tc_tensor x = integers(g, at, (int)low - args->x.zero, 256), inside = MINIMUM(MAXIMUM(x, -a.radius), a.radius);
    tc_tensor value = function(at, tc_affine_multiplied(g, at, inside, a.multiplier, a.shift));
    tc_tensor y = tc_rounding_shift_at(at, value, TC_OPERAND(31 - outputs));
    tc_tensor above = GE(x, a.radius), below = LE(x, -a.radius);
    y = MINIMUM(MAXIMUM(ADD(y, middle), low), high);
    return looked_up(g, at, args->x.x, tc_prim_cast(g, WHERE(below, low, WHERE(above, high, y)), dtype));
}

/* -- functions of 16 bits: lines between points -------------------------------------------------------------------- */

/* 32768 tanh(i / 48) for i = 0 ... 255, for linear interpolation: each value but the last is corrected by half of the
 * error in the middle of its interval. The last one is `end`, and stands twice. */
static tc_tensor tangent_points(tc_graph *g, tc_site at, int end)
{
    enum { LAST = 255 };
    tc_tensor i = tc_prim_cast(g, integers(g, at, 0, LAST + 2), TC_F64), y[3];
    for (int half = 0; half < 3; ++half)
        y[half] = MUL(tc_tanh_at(at, DIV(ADD(i, half / 2.0), 48)), 32768);
    tc_tensor line = MUL(ADD(y[0], y[2]), 0.5), off = MUL(SUB(y[1], line), 0.5), inner = LT(i, LAST);
    return tc_prim_cast(g, WHERE(inner, tc_floor_at(at, ADD(ADD(y[0], off), 0.5)), end), TC_I32);
}

/* x in steps of 1 / 12288, as TensorFlow Lite has it: by a multiplier of 15 bits, its rest dropped. A scale within a
 * thousandth of log2 is taken as 1 / 4096, of a tangent as 1 / 2048, too. */
static tc_tensor in_steps(tc_graph *g, tc_site at, const tc_affine *a, bool tangent)
{
    const double least = 0.999307093, most = 1.000693387; /* 2^-0.001, 2^0.001 */
    double factor = (double)a->scale * 12288;
    int shift = 0;
    tc_tensor x = tc_prim_cast(g, a->x, TC_I32);
    for (int whole = 3; whole <= (tangent ? 6 : 3); whole += 3)
        if (factor > least * whole && factor < most * whole)
            return MUL(x, whole);
    for (; factor <= 32767.0 / 2 && shift < 31; ++shift)
        factor *= 2;
    if (!(factor >= 1 && factor < 32768)) {
        tc_fail(g, "from 3.8e-14 to 2.6", "the scale %g is too %s", (double)a->scale, factor < 1 ? "small" : "large");
        return tc_poison();
    }
    x = MUL(x, (int)factor);
    return shift ? SHIFT_RIGHT(ADD(x, 1 << (shift - 1)), shift) : x;
}

/* tanh(x), or the logistic function as 1/2 + tanh(x / 2) / 2, with 15 bits behind the point. */
static tc_tensor by_points(tc_graph *g, const tc_quantized_one_args *args, bool tangent)
{
    const tc_site at = args->at;
    const int bits = tangent ? 8 : 9, places = tangent ? 8 : 10; /* of x between points; of y behind the result's */
    if (!tc_affine_read(g, ".x", &args->x, true))
        return tc_poison();
    if (args->x.zero) {
        tc_fail(g, NULL, "the zero %d: of 16 bits it is 0", args->x.zero);
        return tc_poison();
    }
    tc_tensor x = in_steps(g, at, &args->x, tangent);
    if (tc_is_poison(x))
        return x;
    tc_tensor points = tangent_points(g, at, tangent ? 32767 : 32766), positive = GE(x, 0);
    x = tc_abs_at(at, x);
    tc_tensor i = MINIMUM(MAXIMUM(SHIFT_RIGHT(x, bits), 0), 255), from = tc_prim_gather(g, points, i, 0);
    tc_tensor slope = SUB(tc_prim_gather(g, points, ADD(i, 1), 0), from), along = BIT_AND(x, (1 << bits) - 1);
    tc_tensor rise = MUL(slope, along);
    tc_tensor y = ADD(SHIFT_LEFT(from, bits), rise);
    tc_tensor above = ADD(y, 1 << (places - 1)), below = SUB((1 << (places - 1)) - 1, y);
    y = SHIFT_RIGHT(WHERE(positive, above, below), places);
    return tc_prim_cast(g, tangent ? y : ADD(y, 1 << 14), TC_I16);
}

/* -- logistic function and hyperbolic tangent ---------------------------------------------------------------------- */

static tc_tensor one_of(tc_graph *g, const tc_quantized_one_args *args, bool tangent)
{
    const tc_dtype dtype = args->x.x->type.dtype;
    if (dtype == TC_I16)
        return tc_written_as(g, by_points(g, args, tangent), 1.0 / 32768, 0);
    const int middle = dtype == TC_U8 ? 128 : 0, zero = tangent ? middle : middle - 128;
    if (tangent)
        return tc_written_as(g, by_table(g, args, tc_fixed_tanh, 7, zero), 1.0 / 128, zero);
    return tc_written_as(g, by_table(g, args, tc_fixed_logistic, 8, zero), 1.0 / 256, zero);
}

tc_tensor tc_quantized_sigmoid_at(const tc_quantized_one_args *args)
{
    tc_graph *g = tc_op_enter(args->at, "tc_quantized_sigmoid", "quantized_sigmoid", "x", 1, &args->x.x);
    return g ? tc_op_leave(g, one_of(g, args, false)) : tc_poison();
}

tc_tensor tc_quantized_tanh_at(const tc_quantized_one_args *args)
{
    tc_graph *g = tc_op_enter(args->at, "tc_quantized_tanh", "quantized_tanh", "x", 1, &args->x.x);
    return g ? tc_op_leave(g, one_of(g, args, true)) : tc_poison();
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
    /* as in TensorFlow Lite the last place is shifted behind the product; more than 15 places saturate all but 0 */
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
    if (!tc_affine_read(g, ".x", &args->x, false) || !tc_affine_check_result(g, dtype, args->scale, args->zero))
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
    y = tc_affine_finished(at, tc_rounding_shift_at(at, y, TC_OPERAND(-to)), args->zero, dtype);
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
    tc_tensor y = tc_fixed_exp(at, tc_affine_multiplied(g, at, inside, a.multiplier, a.shift), 5),
              beyond = GT(d, a.radius);
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

/* A table of 513 values of a function from `first` to `last`, times 32768, for linear interpolation. Each value but the
 * last is corrected by half of the error in the middle of its interval. */
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

/* Of 16 bits: exp(x) from -10 to 0 and 1 / (1 + x) from 0 to 1 by tables, as in TensorFlow Lite Micro, which computes
 * the second in f32; computed in f64, two of its values would be others. The sum has 15 bits behind the point; its
 * fraction is counted from 1.5, the middle of the table. */
static tc_tensor softmax_by_points(tc_graph *g, tc_site at, tc_tensor x, double scale)
{
    const int axis = x->type.rank - 1;
    tc_tensor powers = points(g, at, TC_F64, -10, 0, tc_exp_at),
              reciprocals = points(g, at, TC_F32, 0, 1, reciprocal_of_one_plus);
    tc_tensor wide = tc_prim_cast(g, x, TC_I32), zeros;
    tc_tensor most = tc_amax_at(at, wide, true, 1, (const int[]){axis});
    tc_tensor below = tc_affine_scaled(g, at, SUB(wide, most), scale / (10.0 / 65535));
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
    if (!tc_affine_read(g, ".x", &args->x, true))
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
    y = tc_affine_finished(at, tc_rounding_shift_at(at, y, TC_OPERAND(MINIMUM(places, 31))), (int)low, type->dtype);
    return tc_written_as(g, y, 1.0 / 256, (int)low);
}

tc_tensor tc_quantized_softmax_at(const tc_quantized_softmax_args *args)
{
    tc_graph *g = tc_op_enter(args->at, "tc_quantized_softmax", "quantized_softmax", "x", 1, &args->x.x);
    return g ? tc_op_leave(g, quantized_softmax(g, args)) : tc_poison();
}
