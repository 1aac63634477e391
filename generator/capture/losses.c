/* SPDX-License-Identifier: Apache-2.0
 *
 * Losses of two tensors, element by element.
 */
#include "losses.h"
#include "reductions.h"

bool tc_loss_operands(tc_graph *g, int count, const tc_tensor *tensors)
{
    if (!tc_check_float(g, &tensors[0]->type))
        return false;
    for (int i = 1; i < count; ++i)
        if (tensors[i] && !tc_check_same_dtype(g, &tensors[0]->type, &tensors[i]->type))
            return false;
    return true;
}

tc_tensor tc_loss_reduced(tc_graph *g, tc_site at, tc_tensor terms, tc_loss_reduction reduction, tc_dtype dtype)
{
    if (tc_is_poison(terms))
        return terms;
    if (reduction == TC_LOSS_MEAN)
        terms = tc_mean_at(at, terms, false, 0, NULL);
    if (reduction == TC_LOSS_SUM)
        terms = tc_sum_at(at, terms, false, 0, NULL);
    if (reduction == TC_LOSS_BATCH_MEAN) {
        if (!terms->type.rank) {
            tc_fail(g, "TC_LOSS_MEAN is the term itself", "the mean over a batch of terms of rank 0");
            return tc_poison();
        }
        terms = tc_divide_by_size(g, at, tc_sum_at(at, terms, false, 0, NULL), terms->type.shape[0]);
    }
    return tc_prim_narrow(g, terms, dtype);
}

tc_tensor tc_loss_softplus(tc_site at, tc_tensor x)
{
    tc_tensor above = MAXIMUM(x, 0);
    return ADD(above, tc_log1p_at(at, tc_exp_at(at, tc_neg_at(at, tc_abs_at(at, x)))));
}

/* A call, its tensors widened; weight and positive are NULL where they are left out. */
typedef struct loss {
    tc_site at;
    tc_tensor x, target, weight, positive;
    const tc_loss_args *args;
} loss;

typedef tc_tensor formula(const loss *l);

static tc_tensor of_two(const tc_loss_args *args, const char *name, formula *terms)
{
    const tc_tensor operands[] = {args->x, args->target, args->weight, args->positive_weight};
    tc_graph *g = tc_op_enter(args->at, name, name + 3, "x target ?weight ?positive_weight", 4, operands);
    if (!g)
        return tc_poison();
    if (!tc_loss_operands(g, 4, operands))
        return tc_op_leave(g, tc_poison());
    loss l = {.at = args->at, .args = args};
    l.x = tc_prim_widen(g, args->x);
    l.target = tc_prim_widen(g, args->target);
    l.weight = tc_prim_widen(g, args->weight);
    l.positive = tc_prim_widen(g, args->positive_weight);
    return tc_op_leave(g, tc_loss_reduced(g, args->at, terms(&l), args->reduction, args->x->type.dtype));
}

#define OF_TWO(name, terms)                                                                                            \
    tc_tensor tc_##name##_at(const tc_loss_args *args)                                                                 \
    {                                                                                                                  \
        return of_two(args, "tc_" #name, terms);                                                                       \
    }

static double or_else(double value, double otherwise)
{
    return value != 0 ? value : otherwise;
}

static tc_tensor squares(const loss *l)
{
    const tc_site at = l->at;
    tc_tensor difference = SUB(l->x, l->target);
    return MUL(difference, difference);
}

static tc_tensor distances(const loss *l)
{
    const tc_site at = l->at;
    return tc_abs_at(at, SUB(l->x, l->target));
}

static tc_tensor huber(const loss *l)
{
    const tc_site at = l->at;
    const double delta = or_else(l->args->delta, 1);
    tc_tensor z = distances(l), near = LT(z, delta), curve = MUL(MUL(z, z), 0.5);
    return WHERE(near, curve, MUL(SUB(z, delta / 2), delta));
}

static tc_tensor smooth_distances(const loss *l)
{
    const tc_site at = l->at;
    const double beta = or_else(l->args->beta, 1);
    tc_tensor z = distances(l), near = LT(z, beta), curve = DIV(MUL(MUL(z, z), 0.5), beta);
    return WHERE(near, curve, SUB(z, beta / 2));
}

/* -- of probabilities ---------------------------------------------------------------------------------------------- */

static tc_tensor weighted(const loss *l, tc_tensor terms)
{
    const tc_site at = l->at;
    return l->weight ? MUL(terms, l->weight) : terms;
}

static tc_tensor logistic(const loss *l)
{
    const tc_site at = l->at;
    tc_tensor x = l->x, size = tc_abs_at(at, x), below = MAXIMUM(tc_neg_at(at, x), 0);
    tc_tensor rest = ADD(tc_log1p_at(at, tc_exp_at(at, tc_neg_at(at, size))), below);
    if (l->positive)
        rest = MUL(rest, ADD(MUL(SUB(l->positive, 1), l->target), 1));
    return weighted(l, ADD(MUL(SUB(1, l->target), x), rest));
}

/* Logarithms are not below -100, so that a certain and wrong probability has a loss. */
static tc_tensor binary(const loss *l)
{
    const tc_site at = l->at;
    tc_tensor yes = MAXIMUM(tc_log_at(at, l->x), -100), no = MAXIMUM(tc_log1p_at(at, tc_neg_at(at, l->x)), -100);
    tc_tensor right = MUL(l->target, yes), wrong = MUL(SUB(1, l->target), no);
    return weighted(l, tc_neg_at(at, ADD(right, wrong)));
}

static tc_tensor divergence(const loss *l)
{
    const tc_site at = l->at;
    tc_tensor x = l->x, target = l->target;
    if (l->args->log_target) {
        tc_tensor difference = SUB(target, x);
        return MUL(tc_exp_at(at, target), difference);
    }
    tc_tensor none = EQ(target, 0), entropy = MUL(target, tc_log_at(at, target)), crossed = MUL(target, x);
    return SUB(WHERE(none, 0, entropy), crossed);
}

/* -- of distributions ---------------------------------------------------------------------------------------------- */

static tc_tensor poisson(const loss *l)
{
    const tc_site at = l->at;
    tc_tensor x = l->x, target = l->target, terms;
    if (!l->args->rates) {
        tc_tensor crossed = MUL(target, x);
        terms = SUB(tc_exp_at(at, x), crossed);
    } else {
        terms = SUB(x, MUL(target, tc_log_at(at, ADD(x, or_else(l->args->eps, 1e-8)))));
    }
    if (!l->args->full)
        return terms;
    tc_tensor inner = SUB(MUL(target, tc_log_at(at, target)), target), many = GT(target, 1);
    tc_tensor stirling = ADD(inner, MUL(tc_log_at(at, MUL(target, 6.283185307179586)), 0.5));
    return ADD(terms, WHERE(many, stirling, 0));
}

/* -- of a side: the target is 1 or -1 ------------------------------------------------------------------------------ */

static tc_tensor soft_margin(const loss *l)
{
    const tc_site at = l->at;
    return tc_loss_softplus(at, tc_neg_at(at, MUL(l->x, l->target)));
}

static tc_tensor hinge(const loss *l)
{
    const tc_site at = l->at;
    tc_tensor far = MAXIMUM(SUB(or_else(l->args->margin, 1), l->x), 0);
    tc_tensor positive = EQ(l->target, 1), negative = EQ(l->target, -1);
    far = WHERE(positive, 0, far);
    return ADD(far, WHERE(negative, 0, l->x));
}

OF_TWO(mse_loss, squares)
OF_TWO(l1_loss, distances)
OF_TWO(huber_loss, huber)
OF_TWO(smooth_l1_loss, smooth_distances)
OF_TWO(binary_cross_entropy_with_logits, logistic)
OF_TWO(binary_cross_entropy, binary)
OF_TWO(kl_div, divergence)
OF_TWO(poisson_nll_loss, poisson)
OF_TWO(soft_margin_loss, soft_margin)
OF_TWO(hinge_embedding_loss, hinge)
#undef OF_TWO

tc_tensor tc_gaussian_nll_loss_at(const tc_gaussian_loss_args *args)
{
    const tc_site at = args->at;
    const tc_tensor operands[] = {args->x, args->target, args->variance};
    tc_graph *g = tc_op_enter(at, "tc_gaussian_nll_loss", "gaussian_nll_loss", "x target variance", 3, operands);
    if (!g)
        return tc_poison();
    if (!tc_loss_operands(g, 3, operands))
        return tc_op_leave(g, tc_poison());
    tc_tensor x = tc_prim_widen(g, args->x), target = tc_prim_widen(g, args->target);
    tc_tensor variance = MAXIMUM(tc_prim_widen(g, args->variance), or_else(args->eps, 1e-6)), d = SUB(x, target);
    tc_tensor distance = DIV(MUL(d, d), variance), terms = MUL(ADD(tc_log_at(at, variance), distance), 0.5);
    if (args->full)
        terms = ADD(terms, 0.9189385332046727); /* log(2 pi) / 2 */
    return tc_op_leave(g, tc_loss_reduced(g, at, terms, args->reduction, args->x->type.dtype));
}
