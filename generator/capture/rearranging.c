/* SPDX-License-Identifier: Apache-2.0
 *
 * The same elements in other places, or several times.
 */
#include "internal.h"

#define TENSOR(x) tc_operand_tensor_(x)
#define INTEGER(x) tc_operand_int_(x)

tc_tensor tc_flip_at(tc_site at, tc_tensor x, int count, const int *axes)
{
    tc_graph *g = tc_op_enter(at, "tc_flip", "flip", "x", 1, &x);
    bool named[TC_MAX_RANK] = {false};
    int list[TC_MAX_RANK], found = 0;
    if (!g)
        return tc_poison();
    for (int i = 0; i < count; ++i) {
        const int axis = tc_axis(g, axes[i], x->type.rank);
        if (axis < 0)
            return tc_op_leave(g, tc_poison());
        if (named[axis]) {
            tc_fail(g, NULL, "axis %d is named twice", axes[i]);
            return tc_op_leave(g, tc_poison());
        }
        named[axis] = true;
    }
    for (int i = 0; i < x->type.rank; ++i)
        if (named[i])
            list[found++] = i;
    return tc_op_leave(g, tc_prim_reverse(g, x, found, list));
}

tc_tensor tc_roll_at(tc_site at, tc_tensor x, int shift, int axis)
{
    tc_graph *g = tc_op_enter(at, "tc_roll", "roll", "x", 1, &x);
    if (!g)
        return tc_poison();
    axis = tc_axis(g, axis, x->type.rank);
    if (axis < 0 || shift == 0)
        return tc_op_leave(g, axis < 0 ? tc_poison() : x);
    const tc_expr *size = x->type.shape[axis];
    if (!tc_at_least(g, size, tc_expr_const(&g->dims, shift < 0 ? -shift : shift))) {
        tc_fail(g, NULL, "a shift of %d is more than axis %d of %s", shift, axis, tc_type_text(g, &x->type));
        return tc_op_leave(g, tc_poison());
    }
    /* what comes first in the result begins here in x */
    const tc_dim first = tc_dim_of(shift > 0 ? tc_expr_add_int(size, -shift) : tc_expr_const(&g->dims, -shift));
    const tc_tensor parts[] = {tc_slice_at(at, x, axis, first, tc_dim_of(size), 1),
                               tc_slice_at(at, x, axis, tc_dim_of(g->dims.zero), first, 1)};
    return tc_op_leave(g, tc_concat_at(at, axis, 2, parts));
}

tc_tensor tc_repeat_at(tc_site at, tc_tensor x, tc_dim times, int axis, bool interleave)
{
    tc_graph *g = tc_op_enter(at, interleave ? "tc_repeat_interleave" : "tc_repeat", "repeat", "x", 1, &x);
    const tc_expr *wide[TC_MAX_RANK], *shape[TC_MAX_RANK];
    int kept[TC_MAX_RANK];
    if (!g)
        return tc_poison();
    const tc_expr *count = tc_dim_expr(g, times);
    axis = tc_axis(g, axis, x->type.rank);
    if (axis < 0)
        return tc_op_leave(g, tc_poison());
    if (x->type.rank == TC_MAX_RANK || !tc_at_least(g, count, g->dims.zero)) {
        tc_fail(g, NULL, "%s cannot be repeated %s times", tc_type_text(g, &x->type), tc_expr_text(count));
        return tc_op_leave(g, tc_poison());
    }
    /* [..., n, times, ...] or [..., times, n, ...], joined */
    const int added = axis + interleave;
    for (int i = 0; i < x->type.rank; ++i) {
        kept[i] = i + (i >= added);
        wide[kept[i]] = shape[i] = x->type.shape[i];
    }
    wide[added] = count;
    shape[axis] = tc_expr_mul(shape[axis], count);
    tc_tensor repeated = tc_prim_broadcast(g, x, x->type.rank + 1, wide, kept);
    return tc_op_leave(g, tc_prim_reshape(g, repeated, x->type.rank, shape));
}

tc_tensor tc_stack_at(tc_site at, int axis, int count, const tc_tensor *tensors)
{
    tc_graph *g = tc_current_graph();
    if (!tc_op_enter_graph(g, at, "tc_stack", "stack"))
        return tc_poison();
    tc_tensor *parts = tc_arena_alloc(&g->arena, (size_t)(count + 1) * sizeof *parts);
    int rank = count > 0 && !tc_is_poison(tensors[0]) ? tensors[0]->type.rank + 1 : 1;
    axis = tc_axis(g, axis, rank);
    if (axis < 0)
        return tc_op_leave(g, tc_poison());
    for (int i = 0; i < count; ++i)
        parts[i] = tc_unsqueeze_at(at, tensors[i], axis);
    return tc_op_leave(g, tc_concat_at(at, axis, count, parts));
}

void tc_unbind_at(tc_site at, tc_tensor x, int axis, int count, tc_tensor *parts)
{
    for (int i = 0; i < count; ++i)
        parts[i] = tc_poison();
    tc_graph *g = tc_op_enter(at, "tc_unbind", NULL, "x", 1, &x);
    if (!g)
        return;
    axis = tc_axis(g, axis, x->type.rank);
    if (axis >= 0 && !tc_same_dim(g, x->type.shape[axis], tc_expr_const(&g->dims, count))) {
        tc_fail(g, NULL, "axis %d of %s has not %d parts", axis, tc_type_text(g, &x->type), count);
        axis = -1;
    }
    for (int i = 0; axis >= 0 && i < count; ++i)
        parts[i] = tc_select_at(at, x, axis, tc_dim_of(tc_expr_const(&g->dims, i)));
    tc_op_leave(g, NULL);
}

/* -- diagonals ------------------------------------------------------------------------------------------------------- */

/* The smaller of two sizes; NULL where their order is not known. */
static const tc_expr *smaller(const tc_expr *a, const tc_expr *b)
{
    if (tc_expr_nonnegative(tc_expr_sub(b, a)))
        return a;
    return tc_expr_nonnegative(tc_expr_sub(a, b)) ? b : NULL;
}

/* The elements [i, i + offset] as those at i*(m + 1) + offset of the two axes joined. */
static tc_tensor diagonal(tc_graph *g, tc_site at, tc_tensor x, int offset)
{
    const int rank = x->type.rank;
    if (rank < 2) {
        tc_fail(g, NULL, "needs rank 2 or more, not %s", tc_type_text(g, &x->type));
        return tc_poison();
    }
    const tc_expr *n = x->type.shape[rank - 2], *m = x->type.shape[rank - 1], *shape[TC_MAX_RANK];
    const tc_expr *rows = offset < 0 ? tc_expr_add_int(n, offset) : n;
    const tc_expr *columns = offset > 0 ? tc_expr_add_int(m, -offset) : m, *size = smaller(rows, columns);
    if (!size || !tc_at_least(g, size, g->dims.zero)) {
        tc_fail(g, "the smaller size must be known", "no diagonal %d of %s", offset, tc_type_text(g, &x->type));
        return tc_poison();
    }
    for (int i = 0; i < rank; ++i)
        shape[i] = x->type.shape[i];
    shape[rank - 2] = tc_expr_mul(n, m);
    tc_tensor joined = tc_prim_reshape(g, x, rank - 1, shape);
    tc_tensor i = tc_prim_iota(g, 0, &(tc_type){.dtype = TC_I64, .rank = 1, .shape = {size}});
    tc_tensor step = tc_dim_value_at(at, g, TC_I64, tc_dim_of(tc_expr_add_int(m, 1)));
    const tc_expr *first = offset < 0 ? tc_expr_mul(tc_expr_const(&g->dims, -offset), m) : tc_expr_const(&g->dims, offset);
    tc_tensor start = tc_dim_value_at(at, g, TC_I64, tc_dim_of(first));
    i = tc_add_at(at, TENSOR(tc_mul_at(at, TENSOR(i), TENSOR(step))), TENSOR(start));
    return tc_is_poison(i) ? i : tc_prim_gather(g, joined, i, rank - 2);
}

tc_tensor tc_diagonal_at(tc_site at, tc_tensor x, int offset)
{
    tc_graph *g = tc_op_enter(at, "tc_diagonal", "diagonal", "x", 1, &x);
    return g ? tc_op_leave(g, diagonal(g, at, x, offset)) : tc_poison();
}

/* x where column == row + offset, else 0. */
static tc_tensor diag(tc_graph *g, tc_site at, tc_tensor x, int offset)
{
    const int rank = x->type.rank, most = offset < 0 ? -offset : offset;
    if (rank < 1 || rank == TC_MAX_RANK) {
        tc_fail(g, NULL, "no diagonal of a matrix is %s", tc_type_text(g, &x->type));
        return tc_poison();
    }
    /* x[j - shift] stands in column j */
    tc_tensor spread = tc_pad_axis_at(at, x, rank - 1, tc_dim_of(tc_expr_const(&g->dims, offset > 0 ? most : 0)),
                                      tc_dim_of(tc_expr_const(&g->dims, offset < 0 ? most : 0)), INTEGER(0));
    if (tc_is_poison(spread))
        return spread;
    const tc_expr *size = spread->type.shape[rank - 1];
    const tc_type plane = {.dtype = TC_I64, .rank = 2, .shape = {size, size}};
    tc_tensor row = tc_prim_iota(g, 0, &plane), column = tc_prim_iota(g, 1, &plane);
    tc_tensor on = tc_eq_at(at, TENSOR(column), TENSOR(tc_add_at(at, TENSOR(row), INTEGER(offset))));
    return tc_where_at(at, on, TENSOR(tc_unsqueeze_at(at, spread, rank - 1)), INTEGER(0));
}

tc_tensor tc_diag_at(tc_site at, tc_tensor x, int offset)
{
    tc_graph *g = tc_op_enter(at, "tc_diag", "diag", "x", 1, &x);
    return g ? tc_op_leave(g, diag(g, at, x, offset)) : tc_poison();
}
