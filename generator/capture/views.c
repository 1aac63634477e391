/* SPDX-License-Identifier: Apache-2.0
 *
 * Views: reshape, squeeze, permute, expand.
 */
#include "internal.h"

/* -- reshape ------------------------------------------------------------------------------------------------------- */

/* The size of the dim written -1: elements / known. A remainder that is not known to be 0 becomes a guard. */
static const tc_expr *remaining(tc_graph *g, const tc_type *x, const tc_expr *known)
{
    const tc_expr *total = tc_element_count(g, x);
    if (!tc_expr_nonnegative(tc_expr_add_int(known, -1))) {
        tc_fail(g, "write the size out", "-1 has no one answer: the other sizes multiply to %s", tc_expr_text(known));
        return NULL;
    }
    const tc_expr *size = tc_expr_floordiv(total, known);
    if (tc_same_dim(g, total, tc_expr_mul(size, known)))
        return size;
    tc_fail(g, NULL, "%s elements of %s are no multiple of %s", tc_expr_text(total), tc_type_text(g, x),
            tc_expr_text(known));
    return NULL;
}

static tc_tensor reshape(tc_graph *g, tc_tensor x, int count, const tc_dim *dims)
{
    const tc_expr *shape[TC_MAX_RANK], *known = g->dims.one;
    int open = -1;
    if (count > TC_MAX_RANK) {
        tc_fail(g, NULL, "%d dims; %d is the most", count, TC_MAX_RANK);
        return tc_poison();
    }
    for (int i = 0; i < count; ++i) {
        shape[i] = tc_dim_expr(g, dims[i]);
        if (tc_expr_is(shape[i], -1)) {
            if (open >= 0) {
                tc_fail(g, "-1 is what the other sizes leave", "two dims are -1");
                return tc_poison();
            }
            open = i;
        } else if (!tc_at_least(g, shape[i], g->dims.zero)) {
            tc_fail(g, NULL, "dim %d is negative: %s", i, tc_expr_text(shape[i]));
            return tc_poison();
        } else {
            known = tc_expr_mul(known, shape[i]);
        }
    }
    if (open >= 0) {
        shape[open] = remaining(g, &x->type, known);
        if (!shape[open])
            return tc_poison();
    }
    return tc_prim_reshape(g, x, count, shape);
}

tc_tensor tc_reshape_at(tc_site at, tc_tensor x, int count, const tc_dim *shape)
{
    tc_graph *g = tc_op_enter(at, "tc_reshape", NULL, "x", 1, &x);
    return g ? tc_op_leave(g, reshape(g, x, count, shape)) : tc_poison();
}

tc_tensor tc_flatten_at(tc_site at, tc_tensor x, int first)
{
    tc_graph *g = tc_op_enter(at, "tc_flatten", NULL, "x", 1, &x);
    if (!g)
        return tc_poison();
    first = x->type.rank ? tc_axis(g, first, x->type.rank) : 0;
    if (first < 0)
        return tc_op_leave(g, tc_poison());
    const tc_expr *shape[TC_MAX_RANK], *joined = g->dims.one;
    for (int i = 0; i < x->type.rank; ++i) {
        if (i < first)
            shape[i] = x->type.shape[i];
        else
            joined = tc_expr_mul(joined, x->type.shape[i]);
    }
    shape[first] = joined;
    return tc_op_leave(g, tc_prim_reshape(g, x, first + 1, shape));
}

tc_tensor tc_squeeze_at(tc_site at, tc_tensor x, int axis)
{
    tc_graph *g = tc_op_enter(at, "tc_squeeze", NULL, "x", 1, &x);
    if (!g)
        return tc_poison();
    axis = tc_axis(g, axis, x->type.rank);
    if (axis >= 0 && !tc_expr_is(x->type.shape[axis], 1)) {
        tc_fail(g, NULL, "axis %d of %s has the size %s, not 1", axis, tc_type_text(g, &x->type),
                tc_expr_text(x->type.shape[axis]));
        axis = -1;
    }
    if (axis < 0)
        return tc_op_leave(g, tc_poison());
    const tc_expr *shape[TC_MAX_RANK];
    for (int i = 0; i + 1 < x->type.rank; ++i)
        shape[i] = x->type.shape[i + (i >= axis)];
    return tc_op_leave(g, tc_prim_reshape(g, x, x->type.rank - 1, shape));
}

tc_tensor tc_unsqueeze_at(tc_site at, tc_tensor x, int axis)
{
    tc_graph *g = tc_op_enter(at, "tc_unsqueeze", NULL, "x", 1, &x);
    if (!g)
        return tc_poison();
    if (x->type.rank == TC_MAX_RANK) {
        tc_fail(g, NULL, "%s has %d dims already", tc_type_text(g, &x->type), TC_MAX_RANK);
        return tc_op_leave(g, tc_poison());
    }
    axis = tc_axis(g, axis, x->type.rank + 1);
    if (axis < 0)
        return tc_op_leave(g, tc_poison());
    const tc_expr *shape[TC_MAX_RANK];
    for (int i = 0; i <= x->type.rank; ++i)
        shape[i] = i == axis ? g->dims.one : x->type.shape[i - (i > axis)];
    return tc_op_leave(g, tc_prim_reshape(g, x, x->type.rank + 1, shape));
}

static tc_tensor squeeze_axes(tc_graph *g, tc_tensor x, int count, const int *axes)
{
    bool gone[TC_MAX_RANK] = {false};
    const tc_expr *shape[TC_MAX_RANK];
    int rank = 0;
    for (int i = 0; i < count; ++i) {
        int axis = tc_axis(g, axes[i], x->type.rank);
        if (axis < 0)
            return tc_poison();
        if (gone[axis] || !tc_expr_is(x->type.shape[axis], 1)) {
            tc_fail(g, NULL, gone[axis] ? "axis %d is named twice" : "axis %d of %s has not the size 1", axes[i],
                    tc_type_text(g, &x->type));
            return tc_poison();
        }
        gone[axis] = true;
    }
    for (int i = 0; i < x->type.rank; ++i)
        if (!gone[i])
            shape[rank++] = x->type.shape[i];
    return tc_prim_reshape(g, x, rank, shape);
}

tc_tensor tc_squeeze_axes_at(tc_site at, tc_tensor x, int count, const int *axes)
{
    tc_graph *g = tc_op_enter(at, "tc_squeeze_axes", NULL, "x", 1, &x);
    return g ? tc_op_leave(g, squeeze_axes(g, x, count, axes)) : tc_poison();
}

static tc_tensor flatten_range(tc_graph *g, tc_tensor x, int first, int last)
{
    const tc_expr *shape[TC_MAX_RANK], *joined = g->dims.one;
    int rank = 0, from = tc_axis(g, first, x->type.rank), to = from < 0 ? from : tc_axis(g, last, x->type.rank);
    if (to < 0)
        return tc_poison();
    if (to < from) {
        tc_fail(g, NULL, "axis %d lies before axis %d", last, first);
        return tc_poison();
    }
    for (int i = 0; i < x->type.rank; ++i) {
        if (i >= from && i <= to)
            joined = tc_expr_mul(joined, x->type.shape[i]);
        if (i < from || i > to)
            shape[rank++] = x->type.shape[i];
        else if (i == to)
            shape[rank++] = joined;
    }
    return tc_prim_reshape(g, x, rank, shape);
}

tc_tensor tc_flatten_range_at(tc_site at, tc_tensor x, int first, int last)
{
    tc_graph *g = tc_op_enter(at, "tc_flatten_range", NULL, "x", 1, &x);
    return g ? tc_op_leave(g, flatten_range(g, x, first, last)) : tc_poison();
}

/* The axis of x replaced by the sizes, one of which may be -1. */
static tc_tensor unflatten(tc_graph *g, tc_site at, tc_tensor x, int axis, int count, const tc_dim *sizes)
{
    tc_dim shape[TC_MAX_RANK];
    const tc_expr *known = g->dims.one;
    int rank = 0, open = -1;
    axis = tc_axis(g, axis, x->type.rank);
    if (axis < 0)
        return tc_poison();
    if (x->type.rank - 1 + count > TC_MAX_RANK) {
        tc_fail(g, NULL, "the result has more than %d dims", TC_MAX_RANK);
        return tc_poison();
    }
    for (int i = 0; i < x->type.rank; ++i) {
        if (i != axis) {
            shape[rank++] = tc_dim_of(x->type.shape[i]);
            continue;
        }
        for (int j = 0; j < count; ++j, ++rank) {
            shape[rank] = sizes[j];
            if (!sizes[j].expr && sizes[j].value == -1 && open < 0)
                open = rank;
            else
                known = tc_expr_mul(known, tc_dim_expr(g, sizes[j]));
        }
    }
    if (open >= 0 &&
        tc_at_least(g, known, g->dims.one)) { /* of the axis alone, so that empty other axes do not matter */
        shape[open] = tc_dim_of(tc_expr_floordiv(x->type.shape[axis], known));
        known = tc_expr_mul(known, tc_dim_expr(g, shape[open]));
    }
    if (!tc_same_dim(g, x->type.shape[axis], known)) {
        tc_fail(g, "one size may be -1", "the sizes multiply to %s, not to axis %d of %s", tc_expr_text(known), axis,
                tc_type_text(g, &x->type));
        return tc_poison();
    }
    return tc_reshape_at(at, x, rank, shape);
}

tc_tensor tc_unflatten_at(tc_site at, tc_tensor x, int axis, int count, const tc_dim *sizes)
{
    tc_graph *g = tc_op_enter(at, "tc_unflatten", NULL, "x", 1, &x);
    return g ? tc_op_leave(g, unflatten(g, at, x, axis, count, sizes)) : tc_poison();
}

tc_tensor tc_reshape_as_at(tc_site at, tc_tensor x, tc_tensor like)
{
    tc_graph *g = tc_op_enter(at, "tc_reshape_as", NULL, "x like", 2, (tc_tensor[]){x, like});
    return g ? tc_op_leave(g, tc_prim_reshape(g, x, like->type.rank, like->type.shape)) : tc_poison();
}

/* -- permute, expand ----------------------------------------------------------------------------------------------- */

static tc_tensor permute(tc_graph *g, tc_tensor x, int count, const int *axes)
{
    int perm[TC_MAX_RANK];
    bool seen[TC_MAX_RANK] = {false}, identity = true;
    if (count != x->type.rank) {
        tc_fail(g, "every axis once, in their new order", "%d axes for %s", count, tc_type_text(g, &x->type));
        return tc_poison();
    }
    for (int i = 0; i < count; ++i) {
        perm[i] = tc_axis(g, axes[i], count);
        if (perm[i] < 0)
            return tc_poison();
        if (seen[perm[i]]) {
            tc_fail(g, NULL, "axis %d is named twice", axes[i]);
            return tc_poison();
        }
        seen[perm[i]] = true;
        identity &= perm[i] == i;
    }
    return identity ? x : tc_prim_transpose(g, x, perm);
}

tc_tensor tc_permute_at(tc_site at, tc_tensor x, int count, const int *axes)
{
    tc_graph *g = tc_op_enter(at, "tc_permute", NULL, "x", 1, &x);
    return g ? tc_op_leave(g, permute(g, x, count, axes)) : tc_poison();
}

tc_tensor tc_transpose_at(tc_site at, tc_tensor x, int a, int b)
{
    tc_graph *g = tc_op_enter(at, "tc_transpose", NULL, "x", 1, &x);
    if (!g)
        return tc_poison();
    int perm[TC_MAX_RANK];
    a = tc_axis(g, a, x->type.rank);
    b = a < 0 ? a : tc_axis(g, b, x->type.rank);
    if (b < 0)
        return tc_op_leave(g, tc_poison());
    for (int i = 0; i < x->type.rank; ++i)
        perm[i] = i == a ? b : i == b ? a : i;
    return tc_op_leave(g, a == b ? x : tc_prim_transpose(g, x, perm));
}

static tc_tensor expand(tc_graph *g, tc_tensor x, int count, const tc_dim *dims)
{
    const tc_expr *shape[TC_MAX_RANK];
    int added = count - x->type.rank;
    if (added < 0 || count > TC_MAX_RANK) {
        tc_fail(g, NULL, "%d dims for %s", count, tc_type_text(g, &x->type));
        return tc_poison();
    }
    for (int i = 0; i < count; ++i) {
        const tc_expr *have = i < added ? g->dims.one : x->type.shape[i - added];
        shape[i] = tc_dim_expr(g, dims[i]);
        if (tc_expr_is(shape[i], -1) && i >= added)
            shape[i] = have;
        bool fits = tc_at_least(g, shape[i], g->dims.zero) && (tc_expr_is(have, 1) || tc_same_dim(g, have, shape[i]));
        if (!fits) {
            tc_fail(g, "a size of 1 repeats, any other stays", "%s does not expand to %s in dim %d",
                    tc_type_text(g, &x->type), tc_expr_text(shape[i]), i);
            return tc_poison();
        }
    }
    return tc_broadcast_to(g, x, count, shape);
}

tc_tensor tc_expand_at(tc_site at, tc_tensor x, int count, const tc_dim *shape)
{
    tc_graph *g = tc_op_enter(at, "tc_expand", NULL, "x", 1, &x);
    return g ? tc_op_leave(g, expand(g, x, count, shape)) : tc_poison();
}

tc_tensor tc_movedim_at(tc_site at, tc_tensor x, int from, int to)
{
    tc_graph *g = tc_op_enter(at, "tc_movedim", NULL, "x", 1, &x);
    if (!g)
        return tc_poison();
    int perm[TC_MAX_RANK], rank = x->type.rank, next = 0;
    from = tc_axis(g, from, rank);
    to = from < 0 ? from : tc_axis(g, to, rank);
    if (to < 0)
        return tc_op_leave(g, tc_poison());
    for (int i = 0; i < rank; ++i) {
        next += next == from;
        perm[i] = i == to ? from : next++;
    }
    return tc_op_leave(g, tc_permute_at(at, x, rank, perm));
}

tc_tensor tc_expand_as_at(tc_site at, tc_tensor x, tc_tensor like)
{
    tc_graph *g = tc_op_enter(at, "tc_expand_as", NULL, "x like", 2, (tc_tensor[]){x, like});
    if (!g)
        return tc_poison();
    tc_dim shape[TC_MAX_RANK];
    for (int i = 0; i < like->type.rank; ++i)
        shape[i] = tc_dim_of(like->type.shape[i]);
    return tc_op_leave(g, tc_expand_at(at, x, like->type.rank, shape));
}
