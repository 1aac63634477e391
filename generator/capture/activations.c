/* SPDX-License-Identifier: Apache-2.0
 *
 * Activations.
 */
#include "compose.h"
#include "reductions.h"

#define TENSOR(x) tc_operand_tensor_(x)
#define NUMBER(x) tc_operand_float_(x)

tc_tensor tc_relu_at(tc_site at, tc_tensor x)
{
    tc_graph *g = tc_op_enter(at, "tc_relu", "relu", "x", 1, &x);
    return g ? tc_op_leave(g, tc_maximum_at(at, TENSOR(x), tc_operand_int_(0))) : tc_poison();
}

tc_tensor tc_leaky_relu_at(tc_site at, tc_tensor x, double slope)
{
    tc_graph *g = tc_op_enter(at, "tc_leaky_relu", "leaky_relu", "x", 1, &x);
    if (!g)
        return tc_poison();
    tc_tensor above = tc_maximum_at(at, TENSOR(x), NUMBER(0));
    tc_tensor below = tc_mul_at(at, TENSOR(tc_minimum_at(at, TENSOR(x), NUMBER(0))), NUMBER(slope));
    return tc_op_leave(g, tc_add_at(at, TENSOR(above), TENSOR(below)));
}

tc_tensor tc_sigmoid_at(tc_site at, tc_tensor x)
{
    tc_graph *g = tc_op_enter(at, "tc_sigmoid", "sigmoid", "x", 1, &x);
    if (!g)
        return tc_poison();
    tc_tensor grown = tc_add_at(at, TENSOR(tc_exp_at(at, tc_neg_at(at, x))), NUMBER(1));
    return tc_op_leave(g, tc_div_at(at, NUMBER(1), TENSOR(grown)));
}

tc_tensor tc_silu_at(tc_site at, tc_tensor x)
{
    tc_graph *g = tc_op_enter(at, "tc_silu", "silu", "x", 1, &x);
    return g ? tc_op_leave(g, tc_mul_at(at, TENSOR(x), TENSOR(tc_sigmoid_at(at, x)))) : tc_poison();
}

/* x/2 * (1 + inner) */
static tc_tensor half_gate(tc_site at, tc_tensor x, tc_tensor inner)
{
    tc_tensor half = tc_mul_at(at, TENSOR(x), NUMBER(0.5));
    return tc_mul_at(at, TENSOR(half), TENSOR(tc_add_at(at, TENSOR(inner), NUMBER(1))));
}

tc_tensor tc_gelu_at(tc_site at, tc_tensor x)
{
    tc_graph *g = tc_op_enter(at, "tc_gelu", "gelu", "x", 1, &x);
    if (!g)
        return tc_poison();
    tc_tensor inner = tc_erf_at(at, tc_mul_at(at, TENSOR(x), NUMBER(0.70710678118654752440)));
    return tc_op_leave(g, half_gate(at, x, inner));
}

tc_tensor tc_gelu_tanh_at(tc_site at, tc_tensor x)
{
    tc_graph *g = tc_op_enter(at, "tc_gelu_tanh", "gelu_tanh", "x", 1, &x);
    if (!g)
        return tc_poison();
    tc_tensor cube = tc_mul_at(at, TENSOR(tc_mul_at(at, TENSOR(x), TENSOR(x))), TENSOR(x));
    tc_tensor sum = tc_add_at(at, TENSOR(x), TENSOR(tc_mul_at(at, TENSOR(cube), NUMBER(0.044715))));
    tc_tensor inner = tc_tanh_at(at, tc_mul_at(at, TENSOR(sum), NUMBER(0.79788456080286535588)));
    return tc_op_leave(g, half_gate(at, x, inner));
}

COMPOSE(relu6, MINIMUM(tc_relu_at(at, x), 6))

/* -- two pieces, which meet in 0 ------------------------------------------------------------------------------------- */

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

tc_tensor tc_prelu_at(tc_site at, tc_tensor x, tc_tensor slope)
{
    tc_graph *g = tc_op_enter(at, "tc_prelu", "prelu", "x slope", 2, (tc_tensor[]){x, slope});
    if (!g)
        return tc_poison();
    tc_tensor spread = by_channel(g, x, slope), above = MAXIMUM(x, 0), below = MINIMUM(x, 0);
    return tc_op_leave(g, ADD(above, MUL(spread, below)));
}

/* maximum(x, 0) + alpha * expm1(minimum(x, 0) / width) */
static tc_tensor exponential(tc_site at, tc_tensor x, double alpha, double width)
{
    tc_tensor above = MAXIMUM(x, 0), below = MINIMUM(x, 0);
    below = tc_expm1_at(at, width == 1 ? below : DIV(below, width));
    return ADD(above, MUL(below, alpha));
}

tc_tensor tc_elu_at(tc_site at, tc_tensor x, double alpha)
{
    tc_graph *g = tc_op_enter(at, "tc_elu", "elu", "x", 1, &x);
    return g ? tc_op_leave(g, exponential(at, x, alpha, 1)) : tc_poison();
}

tc_tensor tc_celu_at(tc_site at, tc_tensor x, double alpha)
{
    tc_graph *g = tc_op_enter(at, "tc_celu", "celu", "x", 1, &x);
    return g ? tc_op_leave(g, exponential(at, x, alpha, alpha)) : tc_poison();
}

COMPOSE(selu, MUL(exponential(at, x, 1.6732632423543772, 1), 1.0507009873554805))

/* -- pieces of lines ------------------------------------------------------------------------------------------------- */

tc_tensor tc_hardtanh_at(tc_site at, tc_tensor x, double low, double high)
{
    tc_graph *g = tc_op_enter(at, "tc_hardtanh", "hardtanh", "x", 1, &x);
    return g ? tc_op_leave(g, MINIMUM(MAXIMUM(x, low), high)) : tc_poison();
}

COMPOSE(hardsigmoid, DIV(tc_relu6_at(at, ADD(x, 3)), 6))
COMPOSE(hardswish, DIV(MUL(x, tc_relu6_at(at, ADD(x, 3))), 6))

/* -- of log(1 + exp(x)) ---------------------------------------------------------------------------------------------- */

/* log1p(exp(-abs(x))) */
static tc_tensor tail(tc_site at, tc_tensor x)
{
    return tc_log1p_at(at, tc_exp_at(at, tc_neg_at(at, tc_abs_at(at, x))));
}

tc_tensor tc_softplus_at(const tc_softplus_args *args)
{
    const tc_site at = args->at;
    tc_tensor x = args->x;
    tc_graph *g = tc_op_enter(at, "tc_softplus", "softplus", "x", 1, &x);
    if (!g)
        return tc_poison();
    const double beta = args->beta == 0 ? 1 : args->beta, threshold = args->threshold == 0 ? 20 : args->threshold;
    tc_tensor scaled = beta == 1 ? x : MUL(x, beta), above = MAXIMUM(scaled, 0), sum = ADD(above, tail(at, scaled));
    tc_tensor soft = beta == 1 ? sum : DIV(sum, beta), straight = GT(scaled, threshold);
    return tc_op_leave(g, WHERE(straight, x, soft));
}

static tc_tensor log_sigmoid(tc_site at, tc_tensor x)
{
    tc_tensor below = MINIMUM(x, 0);
    return SUB(below, tail(at, x));
}

COMPOSE(logsigmoid, log_sigmoid(at, x))
COMPOSE(mish, MUL(x, tc_tanh_at(at, tc_softplus_at(&(const tc_softplus_args){.x = x, .at = at}))))
COMPOSE(softsign, DIV(x, ADD(tc_abs_at(at, x), 1)))

/* -- gates ----------------------------------------------------------------------------------------------------------- */

tc_tensor tc_glu_at(tc_site at, tc_tensor x, int axis)
{
    tc_graph *g = tc_op_enter(at, "tc_glu", "glu", "x", 1, &x);
    if (!g)
        return tc_poison();
    tc_tensor halves[2];
    tc_split_at(at, x, axis, 2, halves);
    return tc_op_leave(g, MUL(halves[0], tc_sigmoid_at(at, halves[1])));
}

/* -- softmax --------------------------------------------------------------------------------------------------------- */

static tc_tensor softmax(tc_site at, const char *name, const char *region, tc_tensor x, int axis, bool logarithm)
{
    tc_graph *g = tc_op_enter(at, name, region, "x", 1, &x);
    if (!g)
        return tc_poison();
    axis = tc_axis(g, axis, x->type.rank);
    if (axis < 0 || !tc_check_float(g, &x->type))
        return tc_op_leave(g, tc_poison());
    tc_axes a = {1, {axis}};
    tc_dtype dtype = x->type.dtype;
    x = tc_prim_widen(g, x);
    tc_tensor largest = tc_axes_spread(g, tc_prim_reduce(g, x, "max", 1, &axis), &x->type, &a);
    tc_tensor shifted = tc_sub_at(at, TENSOR(x), TENSOR(largest));
    tc_tensor e = tc_exp_at(at, shifted);
    tc_tensor sum = tc_prim_reduce(g, e, "sum", 1, &axis);
    tc_tensor out = logarithm ? tc_sub_at(at, TENSOR(shifted), TENSOR(tc_axes_spread(g, tc_log_at(at, sum), &x->type, &a)))
                              : tc_div_at(at, TENSOR(e), TENSOR(tc_axes_spread(g, sum, &x->type, &a)));
    return tc_op_leave(g, tc_prim_narrow(g, out, dtype));
}

tc_tensor tc_softmax_at(tc_site at, tc_tensor x, int axis)
{
    return softmax(at, "tc_softmax", "softmax", x, axis, false);
}

tc_tensor tc_log_softmax_at(tc_site at, tc_tensor x, int axis)
{
    return softmax(at, "tc_log_softmax", "log_softmax", x, axis, true);
}
