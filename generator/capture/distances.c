/* SPDX-License-Identifier: Apache-2.0
 *
 * Distances and similarities of vectors. 16-bit floats are computed in f32 and rounded once.
 */
#include "compose.h"
#include "reductions.h"

static bool check_floats(tc_graph *g, tc_tensor a, tc_tensor b)
{
    return tc_check_float(g, &a->type) && tc_check_same_dtype(g, &a->type, &b->type);
}

/* x, widened, with axes of size 1 in front. */
static tc_tensor with_rank(tc_graph *g, tc_tensor x, int rank)
{
    const tc_expr *shape[TC_MAX_RANK];
    int added = rank - x->type.rank;
    for (int i = 0; i < rank; ++i)
        shape[i] = i < added ? g->dims.one : x->type.shape[i - added];
    x = tc_prim_widen(g, x);
    return added ? tc_prim_reshape(g, x, rank, shape) : x;
}

static tc_tensor cosine(tc_graph *g, tc_site at, tc_tensor a, tc_tensor b, int axis, double eps)
{
    const int rank = a->type.rank > b->type.rank ? a->type.rank : b->type.rank;
    tc_axes along;
    if (!check_floats(g, a, b) || !tc_axes_read(g, rank, 1, &axis, &along))
        return tc_poison();
    tc_tensor sides[] = {with_rank(g, a, rank), with_rank(g, b, rank)};
    for (int i = 0; i < 2; ++i) {
        tc_tensor size = MAXIMUM(tc_norm_of(g, at, sides[i], 2, &along), eps);
        sides[i] = DIV(sides[i], tc_axes_keep(g, size, &sides[i]->type, &along));
    }
    tc_tensor terms = MUL(sides[0], sides[1]);
    return tc_is_poison(terms) ? terms
                               : tc_prim_narrow(g, tc_prim_reduce(g, terms, "sum", 1, along.list), a->type.dtype);
}

tc_tensor tc_cosine_similarity_at(tc_site at, tc_tensor a, tc_tensor b, int axis, double eps)
{
    tc_graph *g = tc_op_enter(at, "tc_cosine_similarity", "cosine_similarity", "a b", 2, (tc_tensor[]){a, b});
    return g ? tc_op_leave(g, cosine(g, at, a, b, axis, eps)) : tc_poison();
}

/* The p-norm along the last axis of a - b (+ eps, where that is not 0), of widened operands. */
static tc_tensor norm_of_difference(tc_graph *g, tc_site at, tc_tensor a, tc_tensor b, double p, double eps,
                                    bool keepdims)
{
    tc_tensor difference = SUB(a, b);
    tc_axes last;
    if (tc_is_poison(difference) || !tc_axes_read(g, difference->type.rank, 1, (const int[]){-1}, &last))
        return tc_poison();
    difference = eps != 0 ? ADD(difference, eps) : difference;
    tc_tensor out = tc_norm_of(g, at, difference, p, &last);
    return keepdims ? tc_axes_keep(g, out, &difference->type, &last) : out;
}

/* [..., m, n] of a[..., m, d] and b[..., n, d]: the norm of each difference of two rows. */
static tc_tensor distances(tc_graph *g, tc_site at, tc_tensor a, tc_tensor b, double p)
{
    int rank = a->type.rank;
    if (!check_floats(g, a, b))
        return tc_poison();
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
    tc_tensor rows = tc_unsqueeze_at(at, tc_prim_widen(g, a), -2),
              columns = tc_unsqueeze_at(at, tc_prim_widen(g, b), -3);
    return tc_prim_narrow(g, norm_of_difference(g, at, rows, columns, p, 0, false), a->type.dtype);
}

tc_tensor tc_cdist_at(tc_site at, tc_tensor a, tc_tensor b, double p)
{
    tc_graph *g = tc_op_enter(at, "tc_cdist", "cdist", "a b", 2, (tc_tensor[]){a, b});
    return g ? tc_op_leave(g, distances(g, at, a, b, p)) : tc_poison();
}

static tc_tensor pairwise(tc_graph *g, const tc_pairwise_args *args)
{
    tc_tensor a = args->a, b = args->b;
    if (!check_floats(g, a, b))
        return tc_poison();
    const double p = args->p != 0 ? args->p : 2, eps = args->eps != 0 ? args->eps : 1e-6;
    tc_tensor x = tc_prim_widen(g, a), y = tc_prim_widen(g, b);
    return tc_prim_narrow(g, norm_of_difference(g, args->at, x, y, p, eps, args->keepdims), a->type.dtype);
}

tc_tensor tc_pairwise_distance_at(const tc_pairwise_args *args)
{
    tc_graph *g = tc_op_enter(args->at, "tc_pairwise_distance", "pairwise_distance", "a b", 2,
                              (tc_tensor[]){args->a, args->b});
    return g ? tc_op_leave(g, pairwise(g, args)) : tc_poison();
}
