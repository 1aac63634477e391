/* SPDX-License-Identifier: Apache-2.0
 *
 * Losses of vectors, and of two scores that are to be in an order.
 */
#include "losses.h"

static tc_tensor ranking(tc_graph *g, const tc_pair_loss_args *args)
{
    const tc_site at = args->at;
    if (!tc_loss_operands(g, 3, (const tc_tensor[]){args->a, args->b, args->target}))
        return tc_poison();
    tc_tensor a = tc_prim_widen(g, args->a), b = tc_prim_widen(g, args->b), target = tc_prim_widen(g, args->target);
    tc_tensor side = tc_neg_at(at, MUL(target, SUB(a, b)));
    return tc_loss_reduced(g, at, MAXIMUM(ADD(side, args->margin), 0), args->reduction, args->a->type.dtype);
}

tc_tensor tc_margin_ranking_loss_at(const tc_pair_loss_args *args)
{
    tc_graph *g = tc_op_enter(args->at, "tc_margin_ranking_loss", "margin_ranking_loss", "a b target", 3,
                              (tc_tensor[]){args->a, args->b, args->target});
    return g ? tc_op_leave(g, ranking(g, args)) : tc_poison();
}

static tc_tensor over_last(tc_site at, tc_tensor a, tc_tensor b)
{
    return tc_sum_at(at, MUL(a, b), false, 1, (const int[]){-1});
}

/* PyTorch's cosine of this loss, which differs from tc_cosine_similarity: sum of a*b / sqrt((sum of a*a + e) * (sum of
 * b*b + e)) */
static tc_tensor cosine(tc_site at, tc_tensor a, tc_tensor b)
{
    const double e = 1e-12;
    tc_tensor product = over_last(at, a, b), first = ADD(over_last(at, a, a), e);
    tc_tensor sizes = MUL(first, ADD(over_last(at, b, b), e));
    return DIV(product, tc_sqrt_at(at, sizes));
}

static tc_tensor embedding(tc_graph *g, const tc_pair_loss_args *args)
{
    const tc_site at = args->at;
    if (!tc_loss_operands(g, 3, (const tc_tensor[]){args->a, args->b, args->target}))
        return tc_poison();
    tc_tensor target = tc_prim_widen(g, args->target), a = tc_prim_widen(g, args->a);
    tc_tensor c = cosine(at, a, tc_prim_widen(g, args->b)), near = SUB(1, c), far = MAXIMUM(SUB(c, args->margin), 0);
    tc_tensor positive = EQ(target, 1), negative = EQ(target, -1);
    far = WHERE(negative, far, 0);
    return tc_loss_reduced(g, at, WHERE(positive, near, far), args->reduction, args->a->type.dtype);
}

tc_tensor tc_cosine_embedding_loss_at(const tc_pair_loss_args *args)
{
    tc_graph *g = tc_op_enter(args->at, "tc_cosine_embedding_loss", "cosine_embedding_loss", "a b target", 3,
                              (tc_tensor[]){args->a, args->b, args->target});
    return g ? tc_op_leave(g, embedding(g, args)) : tc_poison();
}

static tc_tensor triplet(tc_graph *g, const tc_triplet_loss_args *args)
{
    const tc_site at = args->at;
    if (!tc_loss_operands(g, 3, (const tc_tensor[]){args->anchor, args->positive, args->negative}))
        return tc_poison();
    tc_tensor anchor = tc_prim_widen(g, args->anchor), positive = tc_prim_widen(g, args->positive);
    tc_tensor negative = tc_prim_widen(g, args->negative);
    const double margin = args->margin != 0 ? args->margin : 1;
    tc_pairwise_args pair = {.a = anchor, .b = positive, .p = args->p, .eps = args->eps, .at = at};
    tc_tensor near = tc_pairwise_distance_at(&pair);
    pair.b = negative;
    tc_tensor far = tc_pairwise_distance_at(&pair);
    if (args->swap) {
        pair.a = positive;
        far = MINIMUM(far, tc_pairwise_distance_at(&pair));
    }
    return tc_loss_reduced(g, at, MAXIMUM(ADD(SUB(near, far), margin), 0), args->reduction, args->anchor->type.dtype);
}

tc_tensor tc_triplet_margin_loss_at(const tc_triplet_loss_args *args)
{
    tc_graph *g = tc_op_enter(args->at, "tc_triplet_margin_loss", "triplet_margin_loss", "anchor positive negative", 3,
                              (tc_tensor[]){args->anchor, args->positive, args->negative});
    return g ? tc_op_leave(g, triplet(g, args)) : tc_poison();
}
