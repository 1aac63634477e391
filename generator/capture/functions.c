/* SPDX-License-Identifier: Apache-2.0
 *
 * Functions made of the elementary ones. 16-bit floats are computed in f32 and rounded once.
 */
#include <float.h>
#include <math.h>

#include "compose.h"

COMPOSE(square, MUL(x, x))
COMPOSE(exp2, tc_pow_at(at, TC_OPERAND(2), TC_OPERAND(x)))
COMPOSE_WIDE(deg2rad, MUL(x, 0.017453292519943295))
COMPOSE_WIDE(rad2deg, MUL(x, 57.29577951308232))
COMPOSE(isposinf, EQ(x, (double)INFINITY))
COMPOSE(isneginf, EQ(x, (double)-INFINITY))

/* -- logarithms ---------------------------------------------------------------------------------------------------- */

/* log(x) / log(2); exact where x is a power of 2, which the quotient is not always. */
static tc_tensor log2_of(tc_site at, tc_tensor x)
{
    tc_tensor y = DIV(tc_log_at(at, x), 0.6931471805599453), whole = tc_round_at(at, y);
    tc_tensor exact = EQ(tc_pow_at(at, TC_OPERAND(2), TC_OPERAND(whole)), x);
    return WHERE(exact, whole, y);
}

COMPOSE_WIDE(log2, log2_of(at, x))
COMPOSE_WIDE(log10, DIV(tc_log_at(at, x), 2.302585092994046))

tc_tensor tc_logit_at(tc_site at, tc_tensor x, double eps)
{
    tc_graph *g = tc_op_enter(at, "tc_logit", "logit", "x", 1, &x);
    if (!g)
        return tc_poison();
    tc_tensor p = tc_prim_widen(g, x);
    if (eps > 0)
        p = MINIMUM(MAXIMUM(p, eps), 1 - eps);
    return tc_op_leave(g, tc_prim_narrow(g, tc_log_at(at, DIV(p, SUB(1, p))), x->type.dtype));
}

/* The larger of both and, of their distance d, 0 where they are equal (infinities too), log1p(exp(-d)). */
static tc_tensor log_of_sum(tc_site at, tc_tensor x, tc_tensor y, double base)
{
    tc_tensor most = MAXIMUM(x, y), same = EQ(x, y), d = tc_neg_at(at, tc_abs_at(at, SUB(x, y)));
    d = WHERE(same, 0, d);
    if (base == 1)
        return ADD(most, tc_log1p_at(at, tc_exp_at(at, d)));
    return ADD(most, DIV(tc_log1p_at(at, tc_exp_at(at, MUL(d, base))), base));
}

static tc_tensor logaddexp(tc_site at, tc_tensor x, tc_tensor y)
{
    return log_of_sum(at, x, y, 1);
}

static tc_tensor logaddexp2(tc_site at, tc_tensor x, tc_tensor y)
{
    return log_of_sum(at, x, y, 0.6931471805599453);
}

/* 0 where x is 0, even times log(0); NaN where y is. */
static tc_tensor xlogy(tc_site at, tc_tensor x, tc_tensor y)
{
    tc_tensor none = EQ(x, 0), number = EQ(y, y), product = MUL(x, tc_log_at(at, y));
    none = tc_logical_and_at(at, TC_OPERAND(none), TC_OPERAND(number));
    return WHERE(none, 0, product);
}

COMPOSE_TWO(logaddexp, logaddexp)
COMPOSE_TWO(logaddexp2, logaddexp2)
COMPOSE_TWO(xlogy, xlogy)

/* -- hyperbolic functions: odd ones of a = abs(x), with the sign of x ---------------------------------------------- */

/* y, not negative, with the sign of x; a zero x, which has both, is its own result. */
static tc_tensor with_sign(tc_site at, tc_tensor x, tc_tensor y)
{
    tc_tensor below = LT(x, 0), zero = EQ(x, 0), other = tc_neg_at(at, y);
    return WHERE(zero, x, WHERE(below, other, y));
}

/* exp(a) / 2, which is finite where exp(a) is not any more */
static tc_tensor half_exp(tc_site at, tc_tensor a)
{
    tc_tensor root = tc_exp_at(at, MUL(a, 0.5));
    return MUL(MUL(root, 0.5), root);
}

/* (e + e / (e + 1)) / 2 of e = expm1(a); beyond 20, where exp(-a) is below every last place, exp(a) / 2 */
static tc_tensor sinh_of(tc_site at, tc_tensor x)
{
    tc_tensor a = tc_abs_at(at, x), e = tc_expm1_at(at, a), near = MUL(ADD(DIV(e, ADD(e, 1)), e), 0.5);
    tc_tensor far = half_exp(at, a), large = GT(a, 20);
    return with_sign(at, x, WHERE(large, far, near));
}

static tc_tensor cosh_of(tc_site at, tc_tensor x)
{
    tc_tensor a = tc_abs_at(at, x), e = tc_exp_at(at, a), near = MUL(ADD(DIV(1, e), e), 0.5);
    tc_tensor far = half_exp(at, a), large = GT(a, 20);
    return WHERE(large, far, near);
}

/* log1p(a + a*a / (1 + sqrt(a*a + 1))); beyond 1e9 log(a) + log(2) */
static tc_tensor asinh_of(tc_site at, tc_tensor x)
{
    tc_tensor a = tc_abs_at(at, x), large = GT(a, 1e9), small = MINIMUM(a, 1e9), square = MUL(small, small);
    tc_tensor root = ADD(tc_sqrt_at(at, ADD(square, 1)), 1);
    tc_tensor near = tc_log1p_at(at, ADD(small, DIV(square, root))), far = ADD(tc_log_at(at, a), 0.6931471805599453);
    return with_sign(at, x, WHERE(large, far, near));
}

/* log1p(t + sqrt(t * (t + 2))) of t = x - 1, NaN where that is negative; beyond 1e9 log(x) + log(2) */
static tc_tensor acosh_of(tc_site at, tc_tensor x)
{
    tc_tensor large = GT(x, 1e9), t = MINIMUM(SUB(x, 1), 1e9), outside = LT(t, 0);
    tc_tensor root = tc_sqrt_at(at, MUL(t, ADD(t, 2))), near = tc_log1p_at(at, ADD(t, root));
    tc_tensor far = ADD(tc_log_at(at, x), 0.6931471805599453);
    near = WHERE(outside, (double)NAN, near);
    return WHERE(large, far, near);
}

/* log1p(2a / (1 - a)) / 2 */
static tc_tensor atanh_of(tc_site at, tc_tensor x)
{
    tc_tensor a = tc_abs_at(at, x), twice = MUL(a, 2);
    return with_sign(at, x, MUL(tc_log1p_at(at, DIV(twice, SUB(1, a))), 0.5));
}

COMPOSE_WIDE(sinh, sinh_of(at, x))
COMPOSE_WIDE(cosh, cosh_of(at, x))
COMPOSE_WIDE(asinh, asinh_of(at, x))
COMPOSE_WIDE(acosh, acosh_of(at, x))
COMPOSE_WIDE(atanh, atanh_of(at, x))

static tc_tensor sinc(tc_site at, tc_tensor x)
{
    tc_tensor zero = EQ(x, 0), angle = MUL(x, 3.141592653589793), ratio = DIV(tc_sin_at(at, angle), angle);
    return WHERE(zero, 1, ratio);
}

COMPOSE_WIDE(sinc, sinc(at, x))

/* -- parts and special values -------------------------------------------------------------------------------------- */

COMPOSE_WIDE(frac, SUB(x, tc_trunc_at(at, x)))

/* Below 0, or of a zero: its reciprocal is. */
static tc_tensor negative(tc_site at, tc_tensor x)
{
    tc_tensor below = LT(x, 0), inverse = LT(DIV(1, x), 0);
    return tc_logical_or_at(at, TC_OPERAND(below), TC_OPERAND(inverse));
}

COMPOSE(signbit, negative(at, x))

static tc_tensor copysign_of(tc_site at, tc_tensor x, tc_tensor y)
{
    tc_tensor size = tc_abs_at(at, x), below = negative(at, y), other = tc_neg_at(at, size);
    return WHERE(below, other, size);
}

static tc_tensor heaviside(tc_site at, tc_tensor x, tc_tensor y)
{
    tc_tensor zero = EQ(x, 0), above = tc_cast_at(at, GT(x, 0), x->type.dtype);
    return WHERE(zero, y, above);
}

/* The other where one is NaN. */
static tc_tensor fmax_of(tc_site at, tc_tensor x, tc_tensor y)
{
    tc_tensor no_x = NE(x, x), no_y = NE(y, y), most = MAXIMUM(x, y);
    return WHERE(no_x, y, WHERE(no_y, x, most));
}

static tc_tensor fmin_of(tc_site at, tc_tensor x, tc_tensor y)
{
    tc_tensor no_x = NE(x, x), no_y = NE(y, y), least = MINIMUM(x, y);
    return WHERE(no_x, y, WHERE(no_y, x, least));
}

COMPOSE_TWO(copysign, copysign_of)
COMPOSE_TWO(heaviside, heaviside)
COMPOSE_TWO(fmax, fmax_of)
COMPOSE_TWO(fmin, fmin_of)

tc_tensor tc_nan_to_num_at(const tc_nan_to_num_args *args)
{
    static const double largest[] = {[TC_F32] = FLT_MAX, [TC_F64] = DBL_MAX, [TC_F16] = 65504, [TC_BF16] = 0x1.fep127};
    const tc_site at = args->at;
    tc_tensor x = args->x;
    tc_graph *g = tc_op_enter(at, "tc_nan_to_num", "nan_to_num", "x", 1, &x);
    if (!g)
        return tc_poison();
    if (!tc_check_float(g, &x->type))
        return tc_op_leave(g, tc_poison());
    const double most = largest[x->type.dtype], above = args->posinf != 0 ? args->posinf : most;
    const double below = args->neginf != 0 ? args->neginf : -most;
    tc_tensor nan = NE(x, x), high = EQ(x, (double)INFINITY), low = EQ(x, (double)-INFINITY);
    x = WHERE(nan, args->nan, x);
    x = WHERE(high, above, x);
    return tc_op_leave(g, WHERE(low, below, x));
}

/* -- two and more operands ----------------------------------------------------------------------------------------- */

/* m * sqrt(1 + (n / m)^2) of the larger size m and the smaller n: no square overflows */
static tc_tensor hypot_of(tc_site at, tc_tensor x, tc_tensor y)
{
    x = tc_abs_at(at, x);
    y = tc_abs_at(at, y);
    tc_tensor most = fmax_of(at, x, y), least = fmin_of(at, x, y), zero = EQ(least, 0),
              endless = EQ(most, (double)INFINITY);
    tc_tensor ratio = DIV(least, most), sum = MUL(most, tc_sqrt_at(at, ADD(MUL(ratio, ratio), 1)));
    tc_tensor either = ADD(x, y); /* NaN where one is */
    sum = WHERE(zero, either, sum);
    tc_tensor number = EQ(either, either);
    sum = WHERE(number, sum, either);
    return WHERE(endless, most, sum);
}

COMPOSE_TWO(hypot, hypot_of)

/* x + number * a * b, or a / b in place of a * b */
static tc_tensor added(tc_site at, const char *name, tc_tensor x, tc_tensor a, tc_tensor b, double number, bool divide)
{
    tc_graph *g = tc_op_enter(at, name, name + 3, "x a b", 3, (tc_tensor[]){x, a, b});
    if (!g)
        return tc_poison();
    const tc_dtype dtype = x->type.dtype;
    if (!tc_check_float(g, &x->type) || !tc_check_same_dtype(g, &x->type, &a->type) ||
        !tc_check_same_dtype(g, &x->type, &b->type))
        return tc_op_leave(g, tc_poison());
    x = tc_prim_widen(g, x);
    a = tc_prim_widen(g, a);
    b = tc_prim_widen(g, b);
    a = number == 1 ? a : MUL(a, number);
    return tc_op_leave(g, tc_prim_narrow(g, ADD(x, divide ? DIV(a, b) : MUL(a, b)), dtype));
}

tc_tensor tc_addcmul_at(tc_site at, tc_tensor x, tc_tensor a, tc_tensor b, double number)
{
    return added(at, "tc_addcmul", x, a, b, number, false);
}

tc_tensor tc_addcdiv_at(tc_site at, tc_tensor x, tc_tensor a, tc_tensor b, double number)
{
    return added(at, "tc_addcdiv", x, a, b, number, true);
}

/* From the nearer end. */
static tc_tensor lerp(tc_site at, tc_tensor a, tc_tensor b, tc_operand weight)
{
    tc_tensor way = SUB(b, a);
    if (weight.kind != TC_OPERAND_TENSOR) {
        const double w = weight.kind == TC_OPERAND_INT ? (double)weight.integer : weight.real;
        return w < 0.5 ? ADD(a, MUL(way, w)) : SUB(b, MUL(way, 1 - w));
    }
    tc_tensor w = weight.tensor, first = LT(w, 0.5), near = ADD(a, MUL(way, w)), rest = SUB(1, w);
    return WHERE(first, near, SUB(b, MUL(way, rest)));
}

tc_tensor tc_lerp_at(tc_site at, tc_tensor a, tc_tensor b, tc_operand weight)
{
    const bool tensor = weight.kind == TC_OPERAND_TENSOR;
    tc_graph *g = tc_op_enter(at, "tc_lerp", "lerp", "a b ?weight", 3,
                              (tc_tensor[]){a, b, tensor ? weight.tensor : NULL});
    if (!g)
        return tc_poison();
    const tc_dtype dtype = a->type.dtype;
    if (!tc_check_float(g, &a->type) || !tc_check_same_dtype(g, &a->type, &b->type) ||
        (tensor && !tc_check_same_dtype(g, &a->type, &weight.tensor->type)))
        return tc_op_leave(g, tc_poison());
    a = tc_prim_widen(g, a);
    b = tc_prim_widen(g, b);
    if (tensor)
        weight.tensor = tc_prim_widen(g, weight.tensor);
    return tc_op_leave(g, tc_prim_narrow(g, lerp(at, a, b, weight), dtype));
}

tc_tensor tc_isclose_at(tc_site at, tc_tensor a, tc_tensor b, double relative, double absolute)
{
    tc_graph *g = tc_op_enter(at, "tc_isclose", "isclose", "a b", 2, (tc_tensor[]){a, b});
    if (!g)
        return tc_poison();
    if (!tc_check_float(g, &a->type) || !tc_check_same_dtype(g, &a->type, &b->type))
        return tc_op_leave(g, tc_poison());
    a = tc_prim_widen(g, a);
    b = tc_prim_widen(g, b);
    tc_tensor same = EQ(a, b), distance = tc_abs_at(at, SUB(a, b));
    tc_tensor bound = ADD(MUL(tc_abs_at(at, b), relative), absolute), finite = LT(distance, (double)INFINITY);
    tc_tensor near = LE(distance, bound);
    near = tc_logical_and_at(at, TC_OPERAND(near), TC_OPERAND(finite));
    return tc_op_leave(g, tc_logical_or_at(at, TC_OPERAND(same), TC_OPERAND(near)));
}
