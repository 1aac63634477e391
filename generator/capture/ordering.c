/* SPDX-License-Identifier: Apache-2.0
 *
 * Prefixes along an axis; sorting and what follows from it.
 */
#include <math.h>

#include "compose.h"

/* Puts poison where results of a call that fails would be. */
static void nothing(tc_tensor *indices)
{
    if (indices)
        *indices = tc_poison();
}

/* Elements start..start+size-1 of an axis. */
static tc_tensor part(tc_graph *g, tc_tensor x, int axis, const tc_expr *start, const tc_expr *size)
{
    const tc_expr *starts[TC_MAX_RANK], *sizes[TC_MAX_RANK];
    int strides[TC_MAX_RANK];
    if (tc_is_poison(x))
        return x;
    for (int i = 0; i < x->type.rank; ++i) {
        starts[i] = i == axis ? start : g->dims.zero;
        sizes[i] = i == axis ? size : x->type.shape[i];
        strides[i] = 1;
    }
    return tc_prim_slice(g, x, starts, sizes, strides);
}

/* The element at one place of an axis, which vanishes. */
static tc_tensor at_place(tc_graph *g, tc_tensor x, int axis, const tc_expr *place)
{
    const tc_expr *shape[TC_MAX_RANK];
    tc_tensor one = part(g, x, axis, place, g->dims.one);
    if (tc_is_poison(one))
        return one;
    for (int i = 0; i + 1 < x->type.rank; ++i)
        shape[i] = x->type.shape[i + (i >= axis)];
    return tc_prim_reshape(g, one, x->type.rank - 1, shape);
}

/* -- prefixes ------------------------------------------------------------------------------------------------------ */

tc_tensor tc_cumulative_at(tc_site at, const char *name, tc_tensor x, const char *op, int axis, bool reverse)
{
    tc_graph *g = tc_op_enter_axis(at, name, name + 3, x, &axis);
    return g ? tc_op_leave(g, tc_prim_cumulative(g, x, op, axis, reverse)) : tc_poison();
}

tc_tensor tc_cumulative_exclusive_at(tc_site at, const char *name, tc_tensor x, const char *op, int axis, bool reverse)
{
    tc_graph *g = tc_op_enter_axis(at, name, name + 3, x, &axis);
    if (!g)
        return tc_poison();
    tc_tensor y = tc_prim_cumulative(g, x, op, axis, reverse);
    if (tc_is_poison(y))
        return tc_op_leave(g, y);
    y = tc_pad_axis_at(at, y, axis, tc_dim_int_(!reverse), tc_dim_int_(reverse), tc_operand_int_(op[0] == 'p'));
    return tc_op_leave(g, part(g, y, axis, reverse ? g->dims.one : g->dims.zero, x->type.shape[axis]));
}

tc_tensor tc_cummax_at(tc_site at, tc_tensor x, int axis, bool smallest, tc_tensor *indices)
{
    nothing(indices);
    tc_graph *g = tc_op_enter(at, smallest ? "tc_cummin" : "tc_cummax", smallest ? "cummin" : "cummax", "x", 1, &x);
    if (!g)
        return tc_poison();
    axis = tc_axis(g, axis, x->type.rank);
    tc_tensor out = axis < 0 ? tc_poison() : tc_prim_cumulative(g, x, smallest ? "min" : "max", axis, false);
    if (indices && !tc_is_poison(out)) {
        tc_type type = x->type;
        type.dtype = TC_I64;
        tc_tensor here = tc_prim_iota(g, axis, &type), zero = tc_constant_of(g, TC_I64, tc_operand_int_(0));
        tc_tensor equal = EQ(x, out), nan = NE(x, x);
        here = WHERE(OR(equal, nan), here, zero);
        *indices = tc_is_poison(here) ? here : tc_prim_cumulative(g, here, "max", axis, false);
    }
    return tc_op_leave(g, out);
}

/* log(exp(a) + exp(b)) = m + log1p(exp(l - m)), m the larger and l the smaller one; of equal ones l - m is 0, infinite
 * too. */
static tc_tensor log_add_exp(tc_site at, tc_tensor a, tc_tensor b)
{
    tc_tensor more = MAXIMUM(a, b), less = MINIMUM(a, b), equal = EQ(more, less);
    tc_tensor distance = WHERE(equal, 0, SUB(less, more));
    return ADD(more, tc_log1p_at(at, tc_exp_at(at, distance)));
}

tc_tensor tc_logcumsumexp_at(tc_site at, tc_tensor x, int axis)
{
    tc_graph *g = tc_op_enter_axis(at, "tc_logcumsumexp", "logcumsumexp", x, &axis);
    if (!g)
        return tc_poison();
    const tc_dtype dtype = x->type.dtype;
    if (!tc_dtype_is_float(dtype)) {
        tc_fail(g, NULL, "needs floats, not %s", tc_type_text(g, &x->type));
        return tc_op_leave(g, tc_poison());
    }
    /* one iteration an element of the axis, which comes first */
    int perm[TC_MAX_RANK] = {axis}, back[TC_MAX_RANK];
    for (int i = 0, next = 1; i < x->type.rank; ++i)
        if (i != axis)
            perm[next++] = i;
    for (int i = 0; i < x->type.rank; ++i)
        back[perm[i]] = i;
    x = tc_permute_at(at, tc_prim_widen(g, x), x->type.rank, perm);
    tc_tensor none = tc_constant_of(g, x->type.dtype, tc_operand_float_(-INFINITY)), all = tc_poison();
    tc_tensor so_far = tc_broadcast_to(g, none, x->type.rank - 1, x->type.shape + 1);
    tc_scan_begin_at(at, g, tc_size_at(at, x, 0), "steps, &sum", (tc_tensor *const[]){&so_far, NULL});
    so_far = log_add_exp(at, so_far, tc_each_at(at, x));
    tc_collect_at(at, so_far, &all);
    tc_block_end(g);
    return tc_op_leave(g, tc_prim_narrow(g, tc_permute_at(at, all, x->type.rank, back), dtype));
}

/* -- sorting ------------------------------------------------------------------------------------------------------- */

tc_tensor tc_sort_at(tc_site at, tc_tensor x, int axis, bool descending, tc_tensor *indices)
{
    nothing(indices);
    tc_graph *g = tc_op_enter_axis(at, "tc_sort", "sort", x, &axis);
    return g ? tc_op_leave(g, tc_prim_sort(g, x, axis, x->type.shape[axis], descending, indices)) : tc_poison();
}

tc_tensor tc_argsort_at(tc_site at, tc_tensor x, int axis, bool descending)
{
    tc_tensor indices = tc_poison();
    tc_graph *g = tc_op_enter(at, "tc_argsort", "argsort", "x", 1, &x);
    if (!g)
        return tc_poison();
    tc_sort_at(at, x, axis, descending, &indices);
    return tc_op_leave(g, indices);
}

tc_tensor tc_topk_at(tc_site at, tc_tensor x, tc_dim k, int axis, bool largest, tc_tensor *indices)
{
    nothing(indices);
    tc_graph *g = tc_op_enter_axis(at, "tc_topk", "topk", x, &axis);
    return g ? tc_op_leave(g, tc_prim_sort(g, x, axis, tc_dim_expr(g, k), largest, indices)) : tc_poison();
}

tc_tensor tc_kthvalue_at(tc_site at, tc_tensor x, tc_dim k, int axis, tc_tensor *indices)
{
    nothing(indices);
    tc_graph *g = tc_op_enter(at, "tc_kthvalue", "kthvalue", "x", 1, &x);
    if (!g)
        return tc_poison();
    axis = tc_axis(g, axis, x->type.rank);
    const tc_expr *count = tc_dim_expr(g, k);
    if (axis >= 0 && !tc_at_least(g, count, g->dims.one)) {
        tc_fail(g, "k counts from 1", "k is %s", tc_expr_text(count));
        axis = -1;
    }
    if (axis < 0)
        return tc_op_leave(g, tc_poison());
    tc_tensor places, values = tc_prim_sort(g, x, axis, count, false, &places);
    const tc_expr *last = tc_expr_add_int(count, -1);
    if (indices)
        *indices = at_place(g, places, axis, last);
    return tc_op_leave(g, at_place(g, values, axis, last));
}

tc_tensor tc_median_at(tc_site at, tc_tensor x, int axis, tc_tensor *indices)
{
    nothing(indices);
    tc_graph *g = tc_op_enter_axis(at, "tc_median", "median", x, &axis);
    if (!g)
        return tc_poison();
    const tc_expr *last = tc_expr_add_int(x->type.shape[axis], -1);
    if (!tc_at_least(g, last, g->dims.zero)) {
        tc_fail(g, NULL, "axis %d of %s is empty and has no median", axis, tc_type_text(g, &x->type));
        return tc_op_leave(g, tc_poison());
    }
    const tc_expr *middle = tc_expr_floordiv(last, tc_expr_const(&g->dims, 2));
    tc_tensor places, values = tc_prim_sort(g, x, axis, x->type.shape[axis], false, &places);
    tc_tensor value = at_place(g, values, axis, middle), place = at_place(g, places, axis, middle);
    tc_tensor end = at_place(g, values, axis, last); /* NaN where there is one */
    tc_tensor nan = NE(end, end);
    if (indices)
        *indices = WHERE(nan, tc_argmax_at(at, x, axis, false), place);
    return tc_op_leave(g, WHERE(nan, end, value));
}

tc_tensor tc_searchsorted_at(tc_site at, tc_tensor sorted, tc_tensor values, bool right)
{
    tc_graph *g = tc_op_enter(at, "tc_searchsorted", "searchsorted", "sorted values", 2, (tc_tensor[]){sorted, values});
    if (!g)
        return tc_poison();
    const int last = values->type.rank, rows = sorted->type.rank - 1;
    bool fits = rows == 0 || (rows == last - 1 && last < TC_MAX_RANK);
    for (int i = 0; fits && i < rows; ++i)
        fits = tc_same_dim(g, sorted->type.shape[i], values->type.shape[i]);
    if (!fits) {
        tc_fail(g, "one sequence for all values, or one for each row of them", "the sorted %s for the values %s",
                tc_type_text(g, &sorted->type), tc_type_text(g, &values->type));
        return tc_op_leave(g, tc_poison());
    }
    tc_tensor each = tc_unsqueeze_at(at, values, last);
    if (rows)
        sorted = tc_unsqueeze_at(at, sorted, rows);
    /* below: sorted < value; a NaN is not below and nothing is at or above it, so the other comparison is turned
     * round */
    tc_tensor above = right ? GT(sorted, each) : GE(sorted, each);
    tc_tensor below = tc_cast_at(at, tc_logical_not_at(at, above), TC_I64);
    return tc_op_leave(g, tc_sum_at(at, below, false, 1, &last));
}
