/* SPDX-License-Identifier: Apache-2.0
 *
 * Activations. Those of several steps that round compute 16-bit floats in f32 and round their result alone.
 */
#include <float.h>

#include "compose.h"
#include "reductions.h"

/* -- two pieces, which meet in 0 ----------------------------------------------------------------------------------- */

COMPOSE(relu, MAXIMUM(x, 0))
COMPOSE(relu6, MINIMUM(tc_relu_at(at, x), 6))

static tc_tensor leaky(tc_site at, tc_tensor x, double slope)
{
    tc_tensor above = MAXIMUM(x, 0), below = MINIMUM(x, 0);
    return ADD(above, MUL(below, slope));
}

/* At each point one of the pieces is 0, but products round: wide. */
COMPOSE_WIDE_WITH(leaky_relu, slope, leaky(at, x, slope))

tc_tensor tc_rrelu_at(tc_site at, tc_tensor x, double low, double high)
{
    tc_graph *g = tc_op_enter(at, "tc_rrelu", "rrelu", "x", 1, &x);
    return g ? tc_op_leave(g, tc_leaky_relu_at(at, x, (low + high) / 2)) : tc_poison();
}

static tc_tensor by_channel(tc_graph *g, tc_tensor x, tc_tensor slope)
{
    const tc_type *type = &x->type, *one = &slope->type;
    const tc_expr *count = tc_element_count(g, one);
    const bool single = tc_expr_is(count, 1);
    if (one->rank > 1 || (!single && (type->rank < 2 || !tc_same_dim(g, one->shape[0], type->shape[1])))) {
        tc_fail(g, "axis 1 of x counts the channels", "the slope %s has neither one element nor one a channel of %s",
                tc_type_text(g, one), tc_type_text(g, type));
        return tc_poison();
    }
    if (single)
        return tc_prim_reshape(g, slope, 0, NULL);
    return tc_prim_broadcast(g, slope, type->rank, type->shape, (int[]){1});
}

static tc_tensor prelu(tc_graph *g, tc_site at, tc_tensor x, tc_tensor slope)
{
    if (!tc_check_same_dtype(g, &x->type, &slope->type))
        return tc_poison();
    tc_tensor wide = tc_prim_widen(g, x), spread = by_channel(g, x, tc_prim_widen(g, slope));
    tc_tensor above = MAXIMUM(wide, 0), below = MINIMUM(wide, 0);
    return tc_prim_narrow(g, ADD(above, MUL(spread, below)), x->type.dtype);
}

tc_tensor tc_prelu_at(tc_site at, tc_tensor x, tc_tensor slope)
{
    tc_graph *g = tc_op_enter(at, "tc_prelu", "prelu", "x slope", 2, (tc_tensor[]){x, slope});
    return g ? tc_op_leave(g, prelu(g, at, x, slope)) : tc_poison();
}

/* maximum(x, 0) + alpha * expm1(minimum(x, 0) / width) */
static tc_tensor exponential(tc_site at, tc_tensor x, double alpha, double width)
{
    tc_tensor above = MAXIMUM(x, 0), below = MINIMUM(x, 0);
    below = tc_expm1_at(at, width == 1 ? below : DIV(below, width));
    return ADD(above, MUL(below, alpha));
}

COMPOSE_WIDE_WITH(elu, alpha, exponential(at, x, alpha, 1))
COMPOSE_WIDE_WITH(celu, alpha, exponential(at, x, alpha, alpha))
COMPOSE_WIDE(selu, MUL(exponential(at, x, 1.6732632423543772, 1), 1.0507009873554805))

/* -- pieces of lines ----------------------------------------------------------------------------------------------- */

tc_tensor tc_hardtanh_at(tc_site at, tc_tensor x, double low, double high)
{
    tc_graph *g = tc_op_enter(at, "tc_hardtanh", "hardtanh", "x", 1, &x);
    return g ? tc_op_leave(g, MINIMUM(MAXIMUM(x, low), high)) : tc_poison();
}

COMPOSE_WIDE(hardsigmoid, DIV(tc_relu6_at(at, ADD(x, 3)), 6))
COMPOSE_WIDE(hardswish, DIV(MUL(x, tc_relu6_at(at, ADD(x, 3))), 6))

tc_tensor tc_threshold_at(tc_site at, tc_tensor x, double threshold, double value)
{
    tc_graph *g = tc_op_enter(at, "tc_threshold", "threshold", "x", 1, &x);
    return g ? tc_op_leave(g, WHERE(LE(x, threshold), value, x)) : tc_poison();
}

tc_tensor tc_hardshrink_at(tc_site at, tc_tensor x, double lambda)
{
    tc_graph *g = tc_op_enter(at, "tc_hardshrink", "hardshrink", "x", 1, &x);
    return g ? tc_op_leave(g, WHERE(LE(tc_abs_at(at, x), lambda), 0, x)) : tc_poison();
}

/* Of x - lambda and x + lambda the one that has x's side; 0 where neither has; NaN stays. */
static tc_tensor shrunk(tc_site at, tc_tensor x, double lambda)
{
    tc_tensor above = GT(x, lambda), below = LT(x, -lambda), less = SUB(x, lambda), more = ADD(x, lambda);
    return WHERE(above, less, WHERE(below, more, MUL(x, 0)));
}

COMPOSE_WIDE_WITH(softshrink, lambda, shrunk(at, x, lambda))
COMPOSE_WIDE(tanhshrink, SUB(x, tc_tanh_at(at, x)))

/* -- smooth -------------------------------------------------------------------------------------------------------- */

COMPOSE_WIDE(sigmoid, DIV(1, ADD(tc_exp_at(at, tc_neg_at(at, x)), 1)))
COMPOSE_WIDE(silu, MUL(x, tc_sigmoid_at(at, x)))
COMPOSE_WIDE(softsign, DIV(x, ADD(tc_abs_at(at, x), 1)))

/* x/2 * (1 + inner) */
static tc_tensor half_gate(tc_site at, tc_tensor x, tc_tensor inner)
{
    tc_tensor half = MUL(x, 0.5);
    return MUL(half, ADD(inner, 1));
}

/* tanh(sqrt(2/pi) * (x + 0.044715 * x^3)) */
static tc_tensor tanh_gate(tc_site at, tc_tensor x)
{
    tc_tensor cube = MUL(MUL(x, x), x);
    return tc_tanh_at(at, MUL(ADD(x, MUL(cube, 0.044715)), 0.79788456080286535588));
}

COMPOSE_WIDE(gelu, half_gate(at, x, tc_erf_at(at, MUL(x, 0.70710678118654752440))))
COMPOSE_WIDE(gelu_tanh, half_gate(at, x, tanh_gate(at, x)))

/* log1p(exp(-abs(x))) */
static tc_tensor tail(tc_site at, tc_tensor x)
{
    return tc_log1p_at(at, tc_exp_at(at, tc_neg_at(at, tc_abs_at(at, x))));
}

static tc_tensor softplus(tc_site at, tc_tensor x, double beta, double threshold)
{
    tc_tensor scaled = beta == 1 ? x : MUL(x, beta), above = MAXIMUM(scaled, 0), sum = ADD(above, tail(at, scaled));
    tc_tensor soft = beta == 1 ? sum : DIV(sum, beta), straight = GT(scaled, threshold);
    return WHERE(straight, x, soft);
}

tc_tensor tc_softplus_at(const tc_softplus_args *args)
{
    tc_graph *g = tc_op_enter(args->at, "tc_softplus", "softplus", "x", 1, &args->x);
    if (!g)
        return tc_poison();
    const double beta = args->beta == 0 ? 1 : args->beta, threshold = args->threshold == 0 ? 20 : args->threshold;
    tc_tensor y = softplus(args->at, tc_prim_widen(g, args->x), beta, threshold);
    return tc_op_leave(g, tc_prim_narrow(g, y, args->x->type.dtype));
}

static tc_tensor log_sigmoid(tc_site at, tc_tensor x)
{
    tc_tensor below = MINIMUM(x, 0);
    return SUB(below, tail(at, x));
}

COMPOSE_WIDE(logsigmoid, log_sigmoid(at, x))
COMPOSE_WIDE(mish, MUL(x, tc_tanh_at(at, softplus(at, x, 1, 20))))

static tc_tensor shrink(tc_site at, tc_tensor x, double lambda, double bias)
{
    tc_tensor low = LT(x, -lambda), high = GT(x, lambda), raised = ADD(x, bias), lowered = SUB(x, bias);
    tc_tensor upper = WHERE(high, lowered, 0);
    return WHERE(low, raised, upper);
}

COMPOSE_WIDE_OF(shrink, (tc_site at, tc_tensor x, double lambda, double bias), shrink(at, x, lambda, bias))
COMPOSE_WIDE_WITH(swish, alpha, MUL(x, tc_sigmoid_at(at, MUL(x, alpha))))

tc_tensor tc_hardmax_at(tc_site at, tc_tensor x, int axis)
{
    tc_graph *g = tc_op_enter(at, "tc_hardmax", "hardmax", "x", 1, &x);
    if (!g)
        return tc_poison();
    axis = tc_axis(g, axis, x->type.rank);
    tc_tensor place = axis < 0 ? tc_poison() : tc_argmax_at(at, x, axis, true);
    if (tc_is_poison(place))
        return tc_op_leave(g, place);
    tc_type type = x->type;
    type.dtype = TC_I64;
    tc_tensor each = tc_prim_iota(g, axis, &type);
    return tc_op_leave(g, tc_cast_at(at, EQ(each, place), x->type.dtype));
}

/* -- gates --------------------------------------------------------------------------------------------------------- */

tc_tensor tc_glu_at(tc_site at, tc_tensor x, int axis)
{
    tc_graph *g = tc_op_enter(at, "tc_glu", "glu", "x", 1, &x);
    if (!g)
        return tc_poison();
    tc_tensor halves[2];
    tc_split_at(at, tc_prim_widen(g, x), axis, 2, halves);
    return tc_op_leave(g, tc_prim_narrow(g, MUL(halves[0], tc_sigmoid_at(at, halves[1])), x->type.dtype));
}

/* -- softmax ------------------------------------------------------------------------------------------------------- */

/* Of x, widened: exp(x - max) / sum, or its logarithm. zeros: as of tc_softmax_or_zeros. */
static tc_tensor soft_weights(tc_graph *g, tc_site at, tc_tensor x, const tc_axes *a, bool logarithm, bool zeros)
{
    tc_tensor most = tc_prim_reduce(g, x, "max", a->count, a->list);
    /* -inf less the least number is -inf, whose exp is +0; a sum that has exp(0) is at least 1 */
    if (zeros)
        most = MAXIMUM(most, x->type.dtype == TC_F64 ? -DBL_MAX : (double)-FLT_MAX);
    tc_tensor shifted = SUB(x, tc_axes_spread(g, most, &x->type, a));
    tc_tensor e = tc_exp_at(at, shifted), sum = tc_prim_reduce(g, e, "sum", a->count, a->list);
    if (zeros)
        sum = MAXIMUM(sum, 1);
    if (logarithm)
        return SUB(shifted, tc_axes_spread(g, tc_log_at(at, sum), &x->type, a));
    return DIV(e, tc_axes_spread(g, sum, &x->type, a));
}

tc_tensor tc_softmax_at(tc_site at, tc_softmax_kind kind, tc_tensor x, int count, const int *axes)
{
    static const char *const names[] = {"tc_softmax", "tc_log_softmax", "tc_softmin"};
    tc_graph *g = tc_op_enter(at, names[kind], names[kind] + 3, "x", 1, &x);
    tc_axes a;
    if (!g)
        return tc_poison();
    if (!tc_axes_read(g, x->type.rank, count, axes, &a) || !tc_check_float(g, &x->type))
        return tc_op_leave(g, tc_poison());
    tc_tensor wide = tc_prim_widen(g, x);
    if (kind == TC_SOFTMIN)
        wide = tc_neg_at(at, wide);
    return tc_op_leave(g,
                       tc_prim_narrow(g, soft_weights(g, at, wide, &a, kind == TC_LOG_SOFTMAX, false), x->type.dtype));
}

tc_tensor tc_softmax_or_zeros(tc_site at, tc_tensor x)
{
    tc_graph *g = tc_op_enter(at, "tc_softmax", "softmax", "x", 1, &x);
    tc_axes a;
    if (!g)
        return tc_poison();
    tc_axes_read(g, x->type.rank, 1, (const int[]){-1}, &a);
    return tc_op_leave(g, soft_weights(g, at, x, &a, false, true));
}

tc_tensor tc_softmax_where_at(tc_site at, tc_tensor x, tc_tensor where, int count, const int *axes)
{
    tc_graph *g = tc_op_enter(at, "tc_softmax_where", "softmax_where", "x where", 2, (tc_tensor[]){x, where});
    tc_axes a;
    if (!g)
        return tc_poison();
    if (!tc_axes_read(g, x->type.rank, count, axes, &a) || !tc_check_float(g, &x->type))
        return tc_op_leave(g, tc_poison());
    tc_tensor p = tc_predicate_of(g, x, where);
    if (!p)
        return tc_op_leave(g, tc_poison());
    tc_tensor wide = tc_prim_widen(g, x), most = tc_prim_reduce_where(g, wide, p, "max", a.count, a.list);
    if (tc_is_poison(most))
        return tc_op_leave(g, tc_poison());
    tc_tensor e = tc_exp_at(at, SUB(wide, tc_axes_spread(g, most, &wide->type, &a)));
    tc_tensor sum = tc_prim_reduce_where(g, e, p, "sum", a.count, a.list);
    tc_tensor weights = DIV(e, tc_axes_spread(g, sum, &wide->type, &a));
    return tc_op_leave(g, tc_prim_narrow(g, WHERE(p, weights, 0), x->type.dtype));
}
