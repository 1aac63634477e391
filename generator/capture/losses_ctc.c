/* SPDX-License-Identifier: Apache-2.0
 *
 * Connectionist temporal classification: a scan over the steps, of the logarithms of the probabilities of the label
 * sequence's prefixes, with a blank before, between and behind the labels (Graves et al., 2006, equations 6 and 7).
 */
#include <math.h>

#include "losses.h"
#include "reductions.h"

typedef struct ctc {
    tc_graph *g;
    tc_site at;
    tc_tensor x;            /* [t, n, c], widened */
    tc_tensor labels, skip; /* [n, 2s + 1]: with the blanks; whether the place before the last may be left out */
    tc_tensor lengths, target_lengths;
    const tc_expr *places;
} ctc;

static bool is_index(tc_tensor x, int rank)
{
    return (x->type.dtype == TC_I32 || x->type.dtype == TC_I64) && x->type.rank == rank;
}

static bool check_operands(tc_graph *g, const tc_ctc_loss_args *args)
{
    const tc_type *x = &args->x->type, *target = &args->target->type, *lengths = &args->lengths->type;
    const tc_type *target_lengths = &args->target_lengths->type;
    if (!tc_check_float(g, x))
        return false;
    if (x->rank == 3 && is_index(args->target, 2) && is_index(args->lengths, 1) && is_index(args->target_lengths, 1) &&
        tc_same_dim(g, target->shape[0], x->shape[1]) && tc_same_dim(g, lengths->shape[0], x->shape[1]) &&
        tc_same_dim(g, target_lengths->shape[0], x->shape[1]))
        return true;
    tc_fail(g, "x[t, n, c] and integers target[n, s], lengths[n], target_lengths[n]",
            "scores %s, targets %s, lengths %s and %s do not fit", tc_type_text(g, x), tc_type_text(g, target),
            tc_type_text(g, lengths), tc_type_text(g, target_lengths));
    return false;
}

/* x moved by `count` places along its axis 1; what comes in is the number. */
static tc_tensor moved(const ctc *c, tc_tensor x, int count, tc_operand number)
{
    tc_tensor padded = tc_pad_axis_at(c->at, x, 1, tc_dim_int_(count), tc_dim_int_(0), number);
    return tc_narrow_at(c->at, padded, 1, tc_dim_int_(0), tc_dim_of(c->places));
}

/* Fills labels, places and skip. Labels that are no class become one: behind a target's end nothing reads them, and
 * before it of_known does. */
static void read_labels(ctc *c, tc_tensor target, int blank)
{
    const tc_site at = c->at;
    tc_graph *g = c->g;
    const tc_expr *n = target->type.shape[0], *s = target->type.shape[1];
    const tc_expr *last = tc_expr_add_int(c->x->type.shape[2], -1);
    c->places = tc_expr_add_int(tc_expr_mul(s, tc_expr_const(&g->dims, 2)), 1);
    tc_tensor blanks = tc_broadcast_to(g, tc_constant_of(g, target->type.dtype, TC_OPERAND(blank)), 2,
                                       target->type.shape);
    tc_tensor pairs = tc_stack_at(at, 2, 2, (const tc_tensor[]){blanks, target});
    pairs = tc_prim_reshape(g, pairs, 2, (const tc_expr *const[]){n, tc_expr_add_int(c->places, -1)});
    tc_tensor labels = tc_pad_axis_at(at, pairs, 1, tc_dim_int_(0), tc_dim_int_(1), TC_OPERAND(blank));
    tc_tensor most = tc_size_value(g, target->type.dtype, last);
    c->labels = MAXIMUM(MINIMUM(labels, most), 0);
    tc_tensor other = NE(labels, moved(c, labels, 2, TC_OPERAND(blank))), label = NE(labels, blank);
    c->skip = tc_logical_and_at(at, TC_OPERAND(other), TC_OPERAND(label));
}

/* The places after one more step with the labels' probabilities `now`: from the place itself, the one before and, where
 * it may be left out, the one before that. */
static tc_tensor step(const ctc *c, tc_tensor before, tc_tensor now)
{
    const tc_site at = c->at;
    const tc_operand none = TC_OPERAND((double)-INFINITY);
    tc_tensor one = moved(c, before, 1, none), two = moved(c, before, 2, none);
    two = WHERE(c->skip, two, (double)-INFINITY);
    tc_tensor most = tc_or_zero(at, MAXIMUM(MAXIMUM(before, one), two));
    tc_tensor sum = tc_exp_at(at, SUB(before, most));
    sum = ADD(sum, tc_exp_at(at, SUB(one, most)));
    sum = ADD(sum, tc_exp_at(at, SUB(two, most)));
    tc_tensor prefix = ADD(tc_log_at(at, sum), most);
    return ADD(prefix, now);
}

/* 0, 1, ... as [size] of the dtype */
static tc_tensor numbers(tc_graph *g, tc_dtype dtype, const tc_expr *size)
{
    return tc_prim_iota(g, 0, &(tc_type){.dtype = dtype, .rank = 1, .shape = {size}});
}

/* [n, places] behind the last step of each sequence. */
static tc_tensor walk(const ctc *c)
{
    const tc_site at = c->at;
    tc_graph *g = c->g;
    const tc_expr *const shape[] = {c->x->type.shape[0], c->x->type.shape[1], c->places};
    tc_tensor index = tc_broadcast_to(g, c->labels, 3, shape);
    tc_tensor chances = tc_take_along_at(at, c->x, index, 2);
    tc_tensor iterations = numbers(g, c->lengths->type.dtype, shape[0]), first = EQ(numbers(g, TC_I32, c->places), 0);
    tc_tensor start = tc_broadcast_to(g, tc_constant_of(g, c->x->type.dtype, TC_OPERAND((double)-INFINITY)), 1,
                                      &c->places);
    tc_tensor alpha = tc_broadcast_to(g, WHERE(first, 0, start), 2, shape + 1);
    tc_tensor ends = tc_unsqueeze_at(at, c->lengths, 1);
    if (tc_is_poison(chances) || tc_is_poison(alpha) || tc_is_poison(ends))
        return tc_poison();
    tc_scan_begin_at(at, g, tc_dim_of(shape[0]), "steps, &alpha", (tc_tensor *const[]){&alpha, NULL});
    tc_tensor now = tc_each_at(at, chances), running = LT(tc_each_at(at, iterations), ends);
    tc_tensor after = step(c, alpha, now);
    alpha = WHERE(running, after, alpha);
    tc_block_end(g);
    return alpha;
}

/* The terms, NaN where a label within its target's length is no class. */
static tc_tensor of_known(const ctc *c, tc_tensor target, tc_tensor terms)
{
    const tc_site at = c->at;
    tc_graph *g = c->g;
    tc_tensor classes = tc_size_value(g, target->type.dtype, c->x->type.shape[2]);
    tc_tensor place = numbers(g, c->target_lengths->type.dtype, target->type.shape[1]);
    tc_tensor listed = LT(place, tc_unsqueeze_at(at, c->target_lengths, 1));
    tc_tensor below = LT(target, 0), above = GE(target, classes), other = OR(below, above),
              unknown = AND(other, listed);
    return WHERE(tc_any_at(at, unknown, false, 1, (const int[]){1}), (double)NAN, terms);
}

static tc_tensor ctc_loss(tc_graph *g, const tc_ctc_loss_args *args)
{
    const tc_site at = args->at;
    if (!check_operands(g, args))
        return tc_poison();
    const tc_expr *classes = args->x->type.shape[2];
    if (args->blank < 0 || !tc_at_least(g, classes, tc_expr_const(&g->dims, (int64_t)args->blank + 1))) {
        tc_fail(g, "classes count from 0", "the blank %d is no class of %s", args->blank,
                tc_type_text(g, &args->x->type));
        return tc_poison();
    }
    ctc c = {.g = g,
             .at = at,
             .x = tc_prim_widen(g, args->x),
             .lengths = args->lengths,
             .target_lengths = args->target_lengths};
    read_labels(&c, args->target, args->blank);
    tc_tensor alpha = walk(&c), lengths = args->target_lengths;
    tc_tensor twice = tc_unsqueeze_at(at, MUL(lengths, 2), 1), place = numbers(g, lengths->type.dtype, c.places);
    tc_tensor behind = EQ(place, twice), before = EQ(place, SUB(twice, 1));
    tc_tensor end = tc_logical_or_at(at, TC_OPERAND(behind), TC_OPERAND(before));
    tc_tensor terms = tc_neg_at(at,
                                tc_logsumexp_at(at, WHERE(end, alpha, (double)-INFINITY), false, 1, (const int[]){1}));
    if (args->zero_infinity)
        terms = WHERE(EQ(terms, (double)INFINITY), 0, terms);
    terms = of_known(&c, args->target, terms);
    if (args->reduction == TC_LOSS_MEAN && !tc_is_poison(terms))
        terms = DIV(terms, tc_prim_cast(g, MAXIMUM(lengths, 1), terms->type.dtype));
    return tc_loss_reduced(g, at, terms, args->reduction, args->x->type.dtype);
}

tc_tensor tc_ctc_loss_at(const tc_ctc_loss_args *args)
{
    tc_graph *g = tc_op_enter(args->at, "tc_ctc_loss", "ctc_loss", "x target lengths target_lengths", 4,
                              (tc_tensor[]){args->x, args->target, args->lengths, args->target_lengths});
    return g ? tc_op_leave(g, ctc_loss(g, args)) : tc_poison();
}
