/* SPDX-License-Identifier: Apache-2.0
 *
 * Distances and similarities of vectors.
 */
#include "reductions.h"

#define TENSOR(x) tc_operand_tensor_(x)
#define NUMBER(x) tc_operand_float_(x)

/* x with axes of size 1 in front. */
static tc_tensor with_rank(tc_graph *g, tc_tensor x, int rank)
{
    const tc_expr *shape[TC_MAX_RANK];
    int added = rank - x->type.rank;
    for (int i = 0; i < rank; ++i)
        shape[i] = i < added ? g->dims.one : x->type.shape[i - added];
    return added ? tc_prim_reshape(g, x, rank, shape) : x;
}

tc_tensor tc_cosine_similarity_at(tc_site at, tc_tensor a, tc_tensor b, int axis, double eps)
{
    tc_graph *g = tc_op_enter(at, "tc_cosine_similarity", "cosine_similarity", "a b", 2, (tc_tensor[]){a, b});
    if (!g)
        return tc_poison();
    int rank = a->type.rank > b->type.rank ? a->type.rank : b->type.rank;
    axis = tc_axis(g, axis, rank);
    if (axis < 0)
        return tc_op_leave(g, tc_poison());
    tc_tensor sides[] = {with_rank(g, a, rank), with_rank(g, b, rank)};
    for (int i = 0; i < 2; ++i) {
        tc_tensor size = tc_maximum_at(at, TENSOR(tc_norm_of(g, at, sides[i], 2, true, 1, &axis)), NUMBER(eps));
        sides[i] = tc_div_at(at, TENSOR(sides[i]), TENSOR(size));
    }
    return tc_op_leave(g, tc_sum_at(at, tc_mul_at(at, TENSOR(sides[0]), TENSOR(sides[1])), false, 1, &axis));
}

/* [..., m, n] of a[..., m, d] and b[..., n, d]: the norm of each difference of two rows. */
static tc_tensor distances(tc_graph *g, tc_site at, tc_tensor a, tc_tensor b, double p)
{
    int rank = a->type.rank;
    if (rank < 2 || b->type.rank < 2) {
        tc_fail(g, "a[..., m, d], b[..., n, d]", "no rows: %s and %s", tc_type_text(g, &a->type),
                tc_type_text(g, &b->type));
        return tc_poison();
    }
    if (!tc_same_dim(g, a->type.shape[rank - 1], b->type.shape[b->type.rank - 1])) {
        tc_fail(g, "rows of one length", "the rows differ: %s and %s", tc_type_text(g, &a->type),
                tc_type_text(g, &b->type));
        return tc_poison();
    }
    tc_tensor rows = tc_unsqueeze_at(at, a, -2), columns = tc_unsqueeze_at(at, b, -3);
    tc_tensor difference = tc_sub_at(at, TENSOR(rows), TENSOR(columns));
    return tc_is_poison(difference) ? difference : tc_norm_of(g, at, difference, p, false, 1, (const int[]){-1});
}

tc_tensor tc_cdist_at(tc_site at, tc_tensor a, tc_tensor b, double p)
{
    tc_graph *g = tc_op_enter(at, "tc_cdist", "cdist", "a b", 2, (tc_tensor[]){a, b});
    return g ? tc_op_leave(g, distances(g, at, a, b, p)) : tc_poison();
}
