/* SPDX-License-Identifier: Apache-2.0
 *
 * Determinants, by elimination with partial pivoting: a loop over the rows that changes all matrices at once.
 */
#include "compose.h"

/* One iteration: row k of a[b, n, n] becomes the pivot's, and is taken from those below it. */
static void eliminate(tc_graph *g, tc_site at, tc_tensor k, tc_tensor *a, tc_tensor *det)
{
    const tc_type plane = (*a)->type;
    tc_type line = {.dtype = TC_I64, .rank = 2, .shape = {plane.shape[0], plane.shape[1]}};
    tc_tensor row = tc_prim_iota(g, 1, &line), left = GE(row, k);
    tc_tensor column = tc_prim_gather(g, *a, k, 2), size = tc_abs_at(at, column), sizes = WHERE(left, size, -1);
    tc_tensor place = tc_prim_arg_reduce(g, sizes, "max", 1), places = tc_unsqueeze_at(at, place, 1);
    /* the pivot's row, and the one it changes places with */
    const tc_expr *const one_row[] = {plane.shape[0], g->dims.one, plane.shape[2]};
    tc_tensor index = tc_broadcast_to(g, tc_unsqueeze_at(at, places, 2), 3, one_row);
    tc_tensor pivot_row = tc_take_along_at(at, *a, index, 1),
              this_row = tc_unsqueeze_at(at, tc_prim_gather(g, *a, k, 1), 1);
    tc_tensor here = tc_unsqueeze_at(at, EQ(row, k), 2), there = tc_unsqueeze_at(at, EQ(row, places), 2);
    tc_tensor others = WHERE(there, this_row, *a), swapped = WHERE(here, pivot_row, others);
    tc_tensor pivot = tc_prim_gather(g, tc_squeeze_at(at, pivot_row, 1), k, 1), pivots = tc_unsqueeze_at(at, pivot, 1);
    tc_tensor below = tc_prim_gather(g, swapped, k, 2), under = GT(row, k), nothing = EQ(pivots, 0),
              share = DIV(below, pivots);
    tc_tensor used = WHERE(nothing, 0, share), factor = tc_unsqueeze_at(at, WHERE(under, used, 0), 2);
    *a = SUB(swapped, MUL(factor, pivot_row));
    tc_tensor stays = EQ(place, k), flipped = tc_neg_at(at, pivot), factor_of_det = WHERE(stays, pivot, flipped);
    *det = MUL(*det, factor_of_det);
}

static tc_tensor determinant(tc_graph *g, tc_site at, tc_tensor x)
{
    const int rank = x->type.rank;
    if (rank < 2 || !tc_same_dim(g, x->type.shape[rank - 2], x->type.shape[rank - 1])) {
        tc_fail(g, "[..., n, n]", "%s holds no square matrices", tc_type_text(g, &x->type));
        return tc_poison();
    }
    if (!tc_check_float(g, &x->type))
        return tc_poison();
    const tc_expr *n = x->type.shape[rank - 1], *count = g->dims.one;
    for (int i = 0; i < rank - 2; ++i)
        count = tc_expr_mul(count, x->type.shape[i]);
    tc_tensor a = tc_prim_reshape(g, tc_prim_widen(g, x), 3, (const tc_expr *const[]){count, n, n});
    tc_tensor det = tc_broadcast_to(g, tc_constant_of(g, a->type.dtype, tc_operand_int_(1)), 1, &count);
    tc_tensor iterations = tc_prim_iota(g, 0, &(tc_type){.dtype = TC_I64, .rank = 1, .shape = {n}});
    if (!tc_expr_is(n, 0)) {
        tc_scan_begin_at(at, g, tc_dim_of(n), "rows, &a, &det", (tc_tensor *const[]){&a, &det, NULL});
        eliminate(g, at, tc_each_at(at, iterations), &a, &det);
        tc_block_end(g);
    }
    return tc_prim_narrow(g, tc_prim_reshape(g, det, rank - 2, x->type.shape), x->type.dtype);
}

tc_tensor tc_det_at(tc_site at, tc_tensor x)
{
    tc_graph *g = tc_op_enter(at, "tc_det", "det", "x", 1, &x);
    return g ? tc_op_leave(g, determinant(g, at, x)) : tc_poison();
}
