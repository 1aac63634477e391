/* SPDX-License-Identifier: Apache-2.0
 *
 * Losses of classes: one score a class along axis 1, or along the only axis.
 */
#include <math.h>

#include "losses.h"
#include "reductions.h"

static int class_axis(tc_tensor x)
{
    return x->type.rank > 1 ? 1 : 0;
}

static const tc_expr *classes(tc_tensor x)
{
    return x->type.shape[class_axis(x)];
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

/* Whether the target has x's shape, of indices without the axis of the classes. */
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

static bool check_weight(tc_graph *g, tc_tensor x, tc_tensor weight)
{
    if (!weight)
        return true;
    if (!tc_check_same_dtype(g, &x->type, &weight->type))
        return false;
    if (weight->type.rank == 1 && tc_same_dim(g, weight->type.shape[0], classes(x)))
        return true;
    tc_fail(g, NULL, "the weight %s has not one element a class of %s", tc_type_text(g, &weight->type),
            tc_type_text(g, &x->type));
    return false;
}

static bool check_classes(tc_graph *g, const tc_class_loss_args *args, bool indices)
{
    if (!same_sizes(g, args->x, args->target, indices) || !check_weight(g, args->x, args->weight))
        return false;
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

/* True where the target is the class: along x's classes. */
static tc_tensor hits(tc_site at, tc_graph *g, tc_tensor x, tc_tensor target)
{
    const tc_type type = {.dtype = target->type.dtype, .rank = 1, .shape = {classes(x)}};
    tc_tensor numbers = along_classes(g, x, tc_prim_iota(g, 0, &type));
    return EQ(numbers, tc_unsqueeze_at(at, target, class_axis(x)));
}

/* x at each target's class, 0 where it is none. */
static tc_tensor picked(tc_site at, tc_graph *g, tc_tensor x, tc_tensor target)
{
    tc_tensor hit = hits(at, g, x, target);
    return over_classes(at, WHERE(hit, x, 0));
}

/* The terms, NaN where the target is no class of x. */
static tc_tensor of_known(tc_site at, tc_graph *g, tc_tensor x, tc_tensor target, tc_tensor terms)
{
    tc_tensor count = tc_size_value(g, target->type.dtype, classes(x));
    tc_tensor first = GE(target, 0), last = LT(target, count);
    tc_tensor known = tc_logical_and_at(at, TC_OPERAND(first), TC_OPERAND(last));
    return WHERE(known, terms, (double)NAN);
}

static tc_tensor smoothed(tc_site at, tc_graph *g, const tc_class_loss_args *args, tc_tensor weighted, tc_tensor terms)
{
    const double share = args->label_smoothing;
    if (share == 0)
        return terms;
    tc_tensor all = tc_neg_at(at, MUL(over_classes(at, weighted), share));
    tc_tensor spread = tc_divide_by_size(g, at, all, classes(args->x));
    return ADD(MUL(terms, 1 - share), spread);
}

/* logp, the logarithms of the probabilities, and weight are widened, here and below. */
static tc_tensor of_indices(tc_site at, tc_graph *g, const tc_class_loss_args *args, tc_tensor logp, tc_tensor weight)
{
    const tc_dtype dtype = args->x->type.dtype;
    tc_tensor target = args->target, weighted = logp, weights = NULL;
    if (weight) {
        tc_tensor spread = tc_broadcast_to(g, along_classes(g, logp, weight), logp->type.rank, logp->type.shape);
        weighted = MUL(logp, spread);
        weights = picked(at, g, spread, target);
    }
    tc_tensor terms = smoothed(at, g, args, weighted, tc_neg_at(at, picked(at, g, weighted, target)));
    terms = of_known(at, g, logp, target, terms);
    if (args->ignore) {
        tc_tensor counted = NE(target, args->ignore_index);
        terms = WHERE(counted, terms, 0);
        weights = weights ? WHERE(counted, weights, 0) : tc_cast_at(at, counted, logp->type.dtype);
    }
    if (args->reduction != TC_LOSS_MEAN || !weights)
        return tc_loss_reduced(g, at, terms, args->reduction, dtype);
    tc_tensor sum = tc_sum_at(at, terms, false, 0, NULL);
    return tc_prim_narrow(g, DIV(sum, tc_sum_at(at, weights, false, 0, NULL)), dtype);
}

static tc_tensor of_probabilities(tc_site at, tc_graph *g, const tc_class_loss_args *args, tc_tensor logp,
                                  tc_tensor weight)
{
    tc_tensor weighted = weight ? MUL(logp, along_classes(g, logp, weight)) : logp;
    tc_tensor terms = tc_neg_at(at, over_classes(at, MUL(weighted, tc_prim_widen(g, args->target))));
    terms = smoothed(at, g, args, weighted, terms);
    return tc_loss_reduced(g, at, terms, args->reduction, args->x->type.dtype);
}

static bool is_index(tc_tensor x)
{
    return x->type.dtype == TC_I32 || x->type.dtype == TC_I64;
}

static tc_tensor of_classes(tc_site at, tc_graph *g, const tc_class_loss_args *args, bool scores)
{
    const bool indices = is_index(args->target);
    if (!tc_check_float(g, &args->x->type))
        return tc_poison();
    if (!indices && !(scores && args->target->type.dtype == args->x->type.dtype)) {
        tc_fail(g, scores ? "class indices are i32 or i64, probabilities have the dtype of the scores" : NULL,
                "a target %s for scores %s", tc_type_text(g, &args->target->type), tc_type_text(g, &args->x->type));
        return tc_poison();
    }
    if (!check_classes(g, args, indices))
        return tc_poison();
    tc_tensor x = tc_prim_widen(g, args->x), weight = tc_prim_widen(g, args->weight);
    tc_tensor logp = scores ? tc_softmax_at(at, TC_LOG_SOFTMAX, x, 1, (const int[]){class_axis(x)}) : x;
    if (tc_is_poison(logp))
        return logp;
    return indices ? of_indices(at, g, args, logp, weight) : of_probabilities(at, g, args, logp, weight);
}

static tc_tensor class_loss(const tc_class_loss_args *args, const char *name, bool scores)
{
    tc_graph *g = tc_op_enter(args->at, name, name + 3, "x target ?weight", 3,
                              (tc_tensor[]){args->x, args->target, args->weight});
    return g ? tc_op_leave(g, of_classes(args->at, g, args, scores)) : tc_poison();
}

tc_tensor tc_cross_entropy_at(const tc_class_loss_args *args)
{
    return class_loss(args, "tc_cross_entropy", true);
}

tc_tensor tc_nll_loss_at(const tc_class_loss_args *args)
{
    return class_loss(args, "tc_nll_loss", false);
}

/* -- margins between classes --------------------------------------------------------------------------------------- */

/* x[c] or x[n, c], and a target of that shape or, of indices, without the classes. */
static bool check_margins(tc_graph *g, tc_tensor x, tc_tensor target, bool indices)
{
    if (!tc_check_float(g, &x->type))
        return false;
    if (x->type.rank > 2) {
        tc_fail(g, "x[c] or x[n, c]", "the scores are %s", tc_type_text(g, &x->type));
        return false;
    }
    return same_sizes(g, x, target, indices);
}

static bool check_indices(tc_graph *g, tc_tensor target)
{
    if (is_index(target))
        return true;
    tc_fail(g, "class indices are i32 or i64", "a target %s", tc_type_text(g, &target->type));
    return false;
}

static tc_tensor multi_margin(tc_graph *g, const tc_margin_loss_args *args)
{
    const tc_site at = args->at;
    tc_tensor target = args->target;
    if (!check_indices(g, target) || !check_margins(g, args->x, target, true) ||
        !check_weight(g, args->x, args->weight))
        return tc_poison();
    const double p = args->p != 0 ? args->p : 1, margin = args->margin != 0 ? args->margin : 1;
    if (p != 1 && p != 2) {
        tc_fail(g, NULL, "p is 1 or 2, not %g", p);
        return tc_poison();
    }
    tc_tensor x = tc_prim_widen(g, args->x), hit = hits(at, g, x, target);
    tc_tensor own = tc_unsqueeze_at(at, over_classes(at, WHERE(hit, x, 0)), class_axis(x));
    tc_tensor over = MAXIMUM(ADD(SUB(x, own), margin), 0);
    over = p == 2 ? MUL(over, over) : over;
    tc_tensor sum = over_classes(at, WHERE(hit, 0, over));
    if (args->weight) {
        tc_tensor weight = along_classes(g, x, tc_prim_widen(g, args->weight));
        weight = tc_broadcast_to(g, weight, x->type.rank, x->type.shape);
        sum = MUL(sum, picked(at, g, weight, target));
    }
    tc_tensor terms = tc_divide_by_size(g, at, sum, classes(x));
    return tc_loss_reduced(g, at, of_known(at, g, x, target, terms), args->reduction, args->x->type.dtype);
}

tc_tensor tc_multi_margin_loss_at(const tc_margin_loss_args *args)
{
    tc_graph *g = tc_op_enter(args->at, "tc_multi_margin_loss", "multi_margin_loss", "x target ?weight", 3,
                              (tc_tensor[]){args->x, args->target, args->weight});
    return g ? tc_op_leave(g, multi_margin(g, args)) : tc_poison();
}

/* True where no index up to this place is negative. */
static tc_tensor listed(tc_site at, tc_graph *g, tc_tensor target)
{
    return GE(tc_prim_cumulative(g, target, "min", class_axis(target), false), 0);
}

/* Each listed class j against each class i that is not listed: maximum(1 - (x[j] - x[i]), 0). The classes i are along
 * the last axis, the places of the list along the one before. NaN where a listed class is none. */
static tc_tensor multilabel_margin(tc_graph *g, const tc_margin_loss_args *args)
{
    const tc_site at = args->at;
    tc_tensor target = args->target;
    if (!check_indices(g, target) || !check_margins(g, args->x, target, false))
        return tc_poison();
    const tc_type numbers = {.dtype = target->type.dtype, .rank = 1, .shape = {classes(args->x)}};
    tc_tensor x = tc_unsqueeze_at(at, tc_prim_widen(g, args->x), -2);
    tc_tensor places = tc_unsqueeze_at(at, target, -1), there = tc_unsqueeze_at(at, listed(at, g, target), -1);
    tc_tensor hit = EQ(places, tc_prim_iota(g, 0, &numbers));
    hit = tc_logical_and_at(at, TC_OPERAND(hit), TC_OPERAND(there));
    tc_tensor label = tc_any_at(at, hit, true, 1, (const int[]){-2});
    tc_tensor own = tc_sum_at(at, WHERE(hit, x, 0), true, 1, (const int[]){-1});
    tc_tensor over = MAXIMUM(SUB(1, SUB(own, x)), 0), other = tc_logical_not_at(at, label);
    tc_tensor counted = tc_logical_and_at(at, TC_OPERAND(there), TC_OPERAND(other));
    tc_tensor sum = tc_sum_at(at, WHERE(counted, over, 0), false, 2, (const int[]){-1, -2});
    tc_tensor terms = tc_divide_by_size(g, at, sum, classes(args->x));
    tc_tensor count = tc_size_value(g, target->type.dtype, classes(args->x)),
              known = LT(WHERE(there, places, 0), count);
    known = tc_all_at(at, known, false, 2, (const int[]){-1, -2});
    return tc_loss_reduced(g, at, WHERE(known, terms, (double)NAN), args->reduction, args->x->type.dtype);
}

tc_tensor tc_multilabel_margin_loss_at(const tc_margin_loss_args *args)
{
    tc_graph *g = tc_op_enter(args->at, "tc_multilabel_margin_loss", "multilabel_margin_loss", "x target", 2,
                              (tc_tensor[]){args->x, args->target});
    return g ? tc_op_leave(g, multilabel_margin(g, args)) : tc_poison();
}

/* The mean over the last axis of -(target * logsigmoid(x) + (1 - target) * logsigmoid(-x)) * weight */
static tc_tensor multilabel_soft_margin(tc_graph *g, const tc_margin_loss_args *args)
{
    const tc_site at = args->at;
    const tc_tensor operands[] = {args->x, args->target, args->weight};
    if (!tc_loss_operands(g, 3, operands))
        return tc_poison();
    if (!args->x->type.rank) {
        tc_fail(g, "x[..., c]", "scores of rank 0");
        return tc_poison();
    }
    tc_tensor x = tc_prim_widen(g, args->x), target = tc_prim_widen(g, args->target);
    tc_tensor yes = MUL(target, tc_loss_softplus(at, tc_neg_at(at, x)));
    tc_tensor no = SUB(1, target);
    no = MUL(no, tc_loss_softplus(at, x));
    tc_tensor terms = ADD(yes, no);
    if (args->weight)
        terms = MUL(terms, tc_prim_widen(g, args->weight));
    terms = tc_mean_at(at, terms, false, 1, (const int[]){-1});
    return tc_loss_reduced(g, at, terms, args->reduction, args->x->type.dtype);
}

tc_tensor tc_multilabel_soft_margin_loss_at(const tc_margin_loss_args *args)
{
    tc_graph *g = tc_op_enter(args->at, "tc_multilabel_soft_margin_loss", "multilabel_soft_margin_loss",
                              "x target ?weight", 3, (tc_tensor[]){args->x, args->target, args->weight});
    return g ? tc_op_leave(g, multilabel_soft_margin(g, args)) : tc_poison();
}
