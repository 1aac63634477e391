/* SPDX-License-Identifier: Apache-2.0
 *
 * Views: reshape, permute, expand, slices.
 */
#include "internal.h"

/* -- reshape --------------------------------------------------------------------------------------------------------- */

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
                tc_fail(g, NULL, "two dims are -1");
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

/* -- permute, expand --------------------------------------------------------------------------------------------------- */

static tc_tensor permute(tc_graph *g, tc_tensor x, int count, const int *axes)
{
    int perm[TC_MAX_RANK];
    bool seen[TC_MAX_RANK] = {false}, identity = true;
    if (count != x->type.rank) {
        tc_fail(g, NULL, "%d axes for %s", count, tc_type_text(g, &x->type));
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

/* -- slices ------------------------------------------------------------------------------------------------------------ */

/* x[start : stop : step] along the axis, bounds resolved and in range; x itself where that is all of it. */
static tc_tensor slice(tc_graph *g, tc_tensor x, int axis, const tc_expr *start, const tc_expr *size, int step)
{
    const tc_expr *starts[TC_MAX_RANK], *sizes[TC_MAX_RANK];
    int strides[TC_MAX_RANK];
    if (!start->count && size == x->type.shape[axis] && step == 1)
        return x;
    for (int i = 0; i < x->type.rank; ++i) {
        starts[i] = i == axis ? start : g->dims.zero;
        sizes[i] = i == axis ? size : x->type.shape[i];
        strides[i] = i == axis ? step : 1;
    }
    return tc_prim_slice(g, x, starts, sizes, strides);
}

/* A bound of the user: negative constants count from the end. */
static const tc_expr *bound(tc_graph *g, tc_dim dim, const tc_expr *size)
{
    if (!dim.expr && dim.value == TC_END)
        return size;
    return !dim.expr && dim.value < 0 ? tc_expr_add_int(size, dim.value) : tc_dim_expr(g, dim);
}

static tc_tensor slice_between(tc_graph *g, tc_tensor x, int axis, tc_dim from, tc_dim to, int step)
{
    axis = tc_axis(g, axis, x->type.rank);
    if (axis < 0)
        return tc_poison();
    const tc_expr *whole = x->type.shape[axis], *start = bound(g, from, whole), *stop = bound(g, to, whole);
    if (step < 1) {
        tc_fail(g, NULL, "step is %d", step);
        return tc_poison();
    }
    if (!tc_at_least(g, start, g->dims.zero) || !tc_at_least(g, stop, start) || !tc_at_least(g, whole, stop)) {
        tc_fail(g, "0 <= start <= stop <= size; bounds are not clamped", "%s..%s is not inside axis %d of %s",
                tc_expr_text(start), tc_expr_text(stop), axis, tc_type_text(g, &x->type));
        return tc_poison();
    }
    const tc_expr *length = tc_expr_add_int(tc_expr_sub(stop, start), step - 1);
    return slice(g, x, axis, start, tc_expr_floordiv(length, tc_expr_const(&g->dims, step)), step);
}

tc_tensor tc_slice_at(tc_site at, tc_tensor x, int axis, tc_dim start, tc_dim stop, int step)
{
    tc_graph *g = tc_op_enter(at, "tc_slice", NULL, "x", 1, &x);
    return g ? tc_op_leave(g, slice_between(g, x, axis, start, stop, step)) : tc_poison();
}

static tc_tensor select_index(tc_graph *g, tc_tensor x, int axis, tc_dim index)
{
    axis = tc_axis(g, axis, x->type.rank);
    if (axis < 0)
        return tc_poison();
    const tc_expr *at = bound(g, index, x->type.shape[axis]);
    if (!tc_at_least(g, at, g->dims.zero) || !tc_at_least(g, x->type.shape[axis], tc_expr_add_int(at, 1))) {
        tc_fail(g, NULL, "index %s is outside axis %d of %s", tc_expr_text(at), axis, tc_type_text(g, &x->type));
        return tc_poison();
    }
    tc_tensor one = slice(g, x, axis, at, g->dims.one, 1);
    const tc_expr *shape[TC_MAX_RANK];
    for (int i = 0; i + 1 < x->type.rank; ++i)
        shape[i] = x->type.shape[i + (i >= axis)];
    return tc_prim_reshape(g, one, x->type.rank - 1, shape);
}

tc_tensor tc_select_at(tc_site at, tc_tensor x, int axis, tc_dim index)
{
    tc_graph *g = tc_op_enter(at, "tc_select", NULL, "x", 1, &x);
    return g ? tc_op_leave(g, select_index(g, x, axis, index)) : tc_poison();
}

static void split(tc_graph *g, tc_tensor x, int axis, tc_tensor *parts, int count, const tc_expr *const *sizes)
{
    const tc_expr *start = g->dims.zero;
    for (int i = 0; i < count; ++i) {
        if (!tc_at_least(g, sizes[i], g->dims.zero)) {
            tc_fail(g, NULL, "part %d has the size %s", i, tc_expr_text(sizes[i]));
            return;
        }
        start = tc_expr_add(start, sizes[i]);
    }
    if (!tc_same_dim(g, x->type.shape[axis], start)) {
        tc_fail(g, NULL, "the sizes add up to %s, not to axis %d of %s", tc_expr_text(start), axis,
                tc_type_text(g, &x->type));
        return;
    }
    start = g->dims.zero;
    for (int i = 0; i < count; ++i) {
        parts[i] = slice(g, x, axis, start, sizes[i], 1);
        start = tc_expr_add(start, sizes[i]);
    }
}

void tc_split_at(tc_site at, tc_tensor x, int axis, int count, tc_tensor *parts)
{
    for (int i = 0; i < count; ++i)
        parts[i] = tc_poison();
    tc_graph *g = tc_op_enter(at, "tc_split", NULL, "x", 1, &x);
    if (!g)
        return;
    axis = tc_axis(g, axis, x->type.rank);
    if (axis >= 0 && count < 1) {
        tc_fail(g, NULL, "%d parts", count);
    } else if (axis >= 0) {
        const tc_expr *size = tc_expr_floordiv(x->type.shape[axis], tc_expr_const(&g->dims, count));
        const tc_expr **sizes = tc_arena_alloc(&g->arena, (size_t)count * sizeof *sizes);
        for (int i = 0; i < count; ++i)
            sizes[i] = size;
        split(g, x, axis, parts, count, sizes);
    }
    tc_op_leave(g, NULL);
}

void tc_split_sizes_at(tc_site at, tc_tensor x, int axis, tc_tensor *parts, int count, const tc_dim *sizes)
{
    for (int i = 0; i < count; ++i)
        parts[i] = tc_poison();
    tc_graph *g = tc_op_enter(at, "tc_split_sizes", NULL, "x", 1, &x);
    if (!g)
        return;
    axis = tc_axis(g, axis, x->type.rank);
    if (axis >= 0) {
        const tc_expr **own = tc_arena_alloc(&g->arena, (size_t)count * sizeof *own);
        for (int i = 0; i < count; ++i)
            own[i] = tc_dim_expr(g, sizes[i]);
        split(g, x, axis, parts, count, own);
    }
    tc_op_leave(g, NULL);
}
