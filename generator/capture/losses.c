/* SPDX-License-Identifier: Apache-2.0
 *
 * Losses.
 */
#include <math.h>

#include "compose.h"

/* -- of two tensors -------------------------------------------------------------------------------------------------- */

static tc_tensor reduced(tc_site at, tc_tensor terms, tc_loss_reduction reduction)
{
    return reduction == TC_LOSS_NONE  ? terms
           : reduction == TC_LOSS_SUM ? tc_sum_at(at, terms, false, 0, NULL)
                                      : tc_mean_at(at, terms, false, 0, NULL);
}

#define OF_TWO(name, terms)                                                                                           \
    tc_tensor tc_##name##_at(const tc_loss_args *args)                                                                \
    {                                                                                                                 \
        tc_graph *g = tc_op_enter(args->at, "tc_" #name, #name, "x target", 2, (tc_tensor[]){args->x, args->target}); \
        return g ? tc_op_leave(g, reduced(args->at, terms(args->at, args), args->reduction)) : tc_poison();           \
    }

static tc_tensor squares(tc_site at, const tc_loss_args *args)
{
    tc_tensor difference = SUB(args->x, args->target);
    return MUL(difference, difference);
}

static tc_tensor distances(tc_site at, const tc_loss_args *args)
{
    return tc_abs_at(at, SUB(args->x, args->target));
}

static tc_tensor huber(tc_site at, const tc_loss_args *args)
{
    const double delta = args->delta == 0 ? 1 : args->delta;
    tc_tensor z = distances(at, args), near = LT(z, delta), curve = MUL(MUL(z, z), 0.5);
    return WHERE(near, curve, MUL(SUB(z, delta / 2), delta));
}

static tc_tensor smooth_distances(tc_site at, const tc_loss_args *args)
{
    const double beta = args->beta == 0 ? 1 : args->beta;
    tc_tensor z = distances(at, args), near = LT(z, beta), curve = DIV(MUL(MUL(z, z), 0.5), beta);
    return WHERE(near, curve, SUB(z, beta / 2));
}

static tc_tensor logistic(tc_site at, const tc_loss_args *args)
{
    tc_tensor x = args->x, size = tc_abs_at(at, x), below = MAXIMUM(tc_neg_at(at, x), 0);
    tc_tensor rest = ADD(tc_log1p_at(at, tc_exp_at(at, tc_neg_at(at, size))), below);
    if (args->positive_weight)
        rest = MUL(rest, ADD(MUL(SUB(args->positive_weight, 1), args->target), 1));
    tc_tensor terms = ADD(MUL(SUB(1, args->target), x), rest);
    return args->weight ? MUL(terms, args->weight) : terms;
}

static tc_tensor divergence(tc_site at, const tc_loss_args *args)
{
    tc_tensor x = args->x, target = args->target;
    if (args->log_target) {
        tc_tensor difference = SUB(target, x);
        return MUL(tc_exp_at(at, target), difference);
    }
    tc_tensor none = EQ(target, 0), entropy = MUL(target, tc_log_at(at, target)), crossed = MUL(target, x);
    return SUB(WHERE(none, 0, entropy), crossed);
}

OF_TWO(mse_loss, squares)
OF_TWO(l1_loss, distances)
OF_TWO(huber_loss, huber)
OF_TWO(smooth_l1_loss, smooth_distances)
OF_TWO(binary_cross_entropy_with_logits, logistic)
OF_TWO(kl_div, divergence)
#undef OF_TWO

/* -- of classes: logp are logarithms of probabilities --------------------------------------------------------------- */

static int class_axis(tc_tensor x)
{
    return x->type.rank > 1 ? 1 : 0;
}

/* A tensor [c] as [c, 1, ...], so that it broadcasts along the axis of the classes of x. */
static tc_tensor along_classes(tc_graph *g, tc_tensor x, tc_tensor values)
{
    const tc_expr *shape[TC_MAX_RANK] = {values->type.shape[0]};
    const int rank = x->type.rank - class_axis(x);
    for (int i = 1; i < rank; ++i)
        shape[i] = g->dims.one;
    return tc_prim_reshape(g, values, rank, shape);
}

static tc_tensor over_classes(tc_site at, tc_tensor x)
{
    return tc_sum_at(at, x, false, 1, (int[]){class_axis(x)});
}

static bool same_sizes(tc_graph *g, tc_tensor x, tc_tensor target, bool indices)
{
    const int axis = class_axis(x);
    bool same = x->type.rank > 0 && target->type.rank == x->type.rank - (indices ? 1 : 0);
    for (int i = 0; same && i < target->type.rank; ++i)
        same = tc_same_dim(g, target->type.shape[i], x->type.shape[i + (indices && i >= axis)]);
    if (!same)
        tc_fail(g, "indices have the shape of x without axis 1 (of a single axis: rank 0), probabilities x's own",
                "a target %s for scores %s", tc_type_text(g, &target->type), tc_type_text(g, &x->type));
    return same;
}

static bool check_classes(tc_graph *g, const tc_class_loss_args *args, bool indices)
{
    if (!same_sizes(g, args->x, args->target, indices))
        return false;
    const tc_type *type = &args->x->type;
    const tc_expr *classes = type->shape[class_axis(args->x)];
    if (args->weight && (args->weight->type.rank != 1 || !tc_same_dim(g, args->weight->type.shape[0], classes))) {
        tc_fail(g, NULL, "the weight %s has not one element a class of %s", tc_type_text(g, &args->weight->type),
                tc_type_text(g, type));
        return false;
    }
    if (!indices && args->ignore) {
        tc_fail(g, "set the probabilities of what is ignored to 0", ".ignore is for class indices, not %s",
                tc_type_text(g, &args->target->type));
        return false;
    }
    if (!(args->label_smoothing >= 0 && args->label_smoothing <= 1)) {
        tc_fail(g, NULL, "the label smoothing %g is outside 0..1", args->label_smoothing);
        return false;
    }
    return true;
}

static tc_tensor class_count(tc_site at, tc_graph *g, tc_tensor x, tc_dtype dtype)
{
    tc_tensor count = tc_dim_value_at(at, g, TC_I64, tc_dim_of(x->type.shape[class_axis(x)]));
    return tc_cast_at(at, count, dtype);
}

/* x at each target's class, 0 where it is none. */
static tc_tensor picked(tc_site at, tc_graph *g, tc_tensor x, tc_tensor target)
{
    const int axis = class_axis(x);
    tc_type type = {.dtype = target->type.dtype, .rank = 1, .shape = {x->type.shape[axis]}};
    tc_tensor numbers = along_classes(g, x, tc_prim_iota(g, 0, &type));
    tc_tensor hit = EQ(numbers, tc_unsqueeze_at(at, target, axis));
    return over_classes(at, WHERE(hit, x, 0));
}

static tc_tensor smoothed(tc_site at, tc_graph *g, const tc_class_loss_args *args, tc_tensor weighted, tc_tensor terms)
{
    if (args->label_smoothing == 0)
        return terms;
    tc_tensor count = class_count(at, g, args->x, weighted->type.dtype);
    tc_tensor all = tc_neg_at(at, MUL(over_classes(at, weighted), args->label_smoothing));
    tc_tensor spread = DIV(all, count);
    return ADD(MUL(terms, 1 - args->label_smoothing), spread);
}

static tc_tensor of_indices(tc_site at, tc_graph *g, const tc_class_loss_args *args, tc_tensor logp)
{
    tc_tensor target = args->target, weighted = logp, weights = NULL;
    if (args->weight) {
        tc_tensor spread = tc_broadcast_to(g, along_classes(g, logp, args->weight), logp->type.rank, logp->type.shape);
        weighted = MUL(logp, spread);
        weights = picked(at, g, spread, target);
    }
    tc_tensor terms = smoothed(at, g, args, weighted, tc_neg_at(at, picked(at, g, weighted, target)));
    tc_tensor first = GE(target, 0), last = LT(target, class_count(at, g, logp, target->type.dtype));
    tc_tensor known = tc_logical_and_at(at, TC_OPERAND(first), TC_OPERAND(last));
    terms = WHERE(known, terms, (double)NAN);
    if (args->ignore) {
        tc_tensor counted = NE(target, args->ignore_index);
        terms = WHERE(counted, terms, 0);
        weights = weights ? WHERE(counted, weights, 0) : tc_cast_at(at, counted, logp->type.dtype);
    }
    if (args->reduction != TC_LOSS_MEAN || !weights)
        return reduced(at, terms, args->reduction);
    tc_tensor sum = tc_sum_at(at, terms, false, 0, NULL);
    return DIV(sum, tc_sum_at(at, weights, false, 0, NULL));
}

static tc_tensor of_probabilities(tc_site at, tc_graph *g, const tc_class_loss_args *args, tc_tensor logp)
{
    tc_tensor weighted = args->weight ? MUL(logp, along_classes(g, logp, args->weight)) : logp;
    tc_tensor terms = tc_neg_at(at, over_classes(at, MUL(weighted, args->target)));
    return reduced(at, smoothed(at, g, args, weighted, terms), args->reduction);
}

static tc_tensor of_classes(tc_site at, tc_graph *g, const tc_class_loss_args *args, bool scores)
{
    const tc_dtype dtype = args->target->type.dtype;
    const bool indices = dtype == TC_I32 || dtype == TC_I64;
    if (!indices && !(scores && dtype == args->x->type.dtype)) {
        tc_fail(g, scores ? "class indices are i32 or i64, probabilities have the dtype of the scores" : NULL,
                "a target %s for scores %s", tc_type_text(g, &args->target->type), tc_type_text(g, &args->x->type));
        return tc_poison();
    }
    if (!check_classes(g, args, indices))
        return tc_poison();
    tc_tensor logp = scores ? tc_log_softmax_at(at, args->x, class_axis(args->x)) : args->x;
    if (tc_is_poison(logp))
        return logp;
    return indices ? of_indices(at, g, args, logp) : of_probabilities(at, g, args, logp);
}

static tc_tensor class_loss(const tc_class_loss_args *args, const char *name, const char *region, bool scores)
{
    tc_graph *g = tc_op_enter(args->at, name, region, "x target weight", args->weight ? 3 : 2,
                              (tc_tensor[]){args->x, args->target, args->weight});
    return g ? tc_op_leave(g, of_classes(args->at, g, args, scores)) : tc_poison();
}

tc_tensor tc_cross_entropy_at(const tc_class_loss_args *args)
{
    return class_loss(args, "tc_cross_entropy", "cross_entropy", true);
}

tc_tensor tc_nll_loss_at(const tc_class_loss_args *args)
{
    return class_loss(args, "tc_nll_loss", "nll_loss", false);
}
