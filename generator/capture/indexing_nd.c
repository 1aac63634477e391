/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads and writes at indices whose last axis names a place in several axes at once, and at places that run on from a
 * start.
 */
#include "compose.h"
#include "indexing.h"

/* -- indices ----------------------------------------------------------------------------------------------------- */

tc_tensor tc_from_end_at(tc_site at, tc_tensor index, int count, const tc_dim *sizes)
{
    tc_graph *g = tc_op_enter(at, "tc_from_end", "from_end", "index", 1, &index);
    if (!g)
        return tc_poison();
    const int last = index->type.rank - 1;
    if (!tc_index_check(g, index))
        return tc_op_leave(g, tc_poison());
    if (count > 1 && (last < 0 || !tc_expr_is(index->type.shape[last], count))) {
        tc_fail(g, "one, or one for each place of the index's last axis", "%d sizes for the index %s", count,
                tc_type_text(g, &index->type));
        return tc_op_leave(g, tc_poison());
    }
    tc_tensor parts[16];
    for (int i = 0; i < count; ++i)
        parts[i] = tc_size_value(g, TC_I64, tc_dim_expr(g, sizes[i]));
    tc_tensor size = count == 1 ? parts[0] : tc_stack_at(at, 0, count, parts);
    index = tc_cast_at(at, index, TC_I64);
    tc_tensor below = LT(index, 0), wrapped = ADD(index, size);
    return tc_op_leave(g, WHERE(below, wrapped, index));
}

/* The linear index into axes first, first + 1, ... of x of what the last axis of the index holds, behind the index of
 * the first axes, which is the place itself (`batch` of them); the shape of the index without its last axis. */
static tc_tensor linear_index(tc_graph *g, tc_site at, tc_tensor x, tc_tensor index, int batch, int count)
{
    const int last = index->type.rank - 1;
    tc_type places = {.dtype = TC_I64, .rank = last};
    tc_tensor linear = NULL, valid = NULL;
    for (int i = 0; i < last; ++i)
        places.shape[i] = index->type.shape[i];
    for (int i = 0; i < batch; ++i) {
        tc_tensor own = tc_prim_iota(g, i, &places);
        linear = tc_index_further(g, at, linear, x->type.shape[i], own);
    }
    for (int i = 0; i < count; ++i) {
        const tc_expr *size = x->type.shape[batch + i];
        tc_tensor place = tc_cast_at(at, tc_select_at(at, index, last, tc_dim_int_(i)), TC_I64);
        tc_tensor inside = tc_index_within(g, at, place, size);
        valid = valid ? AND(valid, inside) : inside;
        linear = tc_index_further(g, at, linear, size, place);
    }
    return WHERE(valid, linear, -1);
}

/* How many axes the index names a place in: the size of its last axis, reported and 0 where it is none of x. */
static int indexed_axes(tc_graph *g, tc_tensor x, tc_tensor index, int batch)
{
    const int last = index->type.rank - 1;
    int64_t count = 0;
    bool fits = last >= batch && batch >= 0 && tc_expr_value(index->type.shape[last], &count) && count > 0 &&
                batch + count <= x->type.rank;
    for (int i = 0; fits && i < batch; ++i)
        fits = tc_same_dim(g, index->type.shape[i], x->type.shape[i]);
    if (fits)
        return (int)count;
    tc_fail(g, "its last axis has a constant size: a place in each of as many axes of x, behind the axes of the batch",
            "the index %s does not fit %s with %d axes of a batch", tc_type_text(g, &index->type),
            tc_type_text(g, &x->type), batch);
    return 0;
}

tc_tensor tc_gather_nd_at(tc_site at, tc_tensor x, tc_tensor index, int batch)
{
    tc_graph *g = tc_op_enter(at, "tc_gather_nd", "gather_nd", "x index", 2, (tc_tensor[]){x, index});
    if (!g)
        return tc_poison();
    const int count = tc_index_check(g, index) ? indexed_axes(g, x, index, batch) : 0;
    if (!count)
        return tc_op_leave(g, tc_poison());
    if (index->type.rank - 1 + x->type.rank - batch - count > TC_MAX_RANK) {
        tc_fail(g, NULL, "the result has more than %d dims", TC_MAX_RANK);
        return tc_op_leave(g, tc_poison());
    }
    tc_tensor linear = linear_index(g, at, x, index, batch, count);
    tc_tensor flat = tc_index_joined(g, x, 0, batch + count);
    return tc_op_leave(g, tc_is_poison(linear) ? linear : tc_prim_gather(g, flat, linear, 0));
}

tc_tensor tc_scatter_nd_at(tc_site at, const char *name, const char *op, tc_tensor x, tc_tensor index, tc_tensor values)
{
    tc_graph *g = tc_op_enter(at, name, name + 3, "x index values", 3, (tc_tensor[]){x, index, values});
    if (!g)
        return tc_poison();
    const int count = tc_index_check(g, index) ? indexed_axes(g, x, index, 0) : 0, places = index->type.rank - 1;
    if (!count)
        return tc_op_leave(g, tc_poison());
    bool fits = values->type.dtype == x->type.dtype && values->type.rank == places + x->type.rank - count;
    for (int i = 0; fits && i < values->type.rank; ++i)
        fits = tc_same_dim(g, values->type.shape[i],
                           i < places ? index->type.shape[i] : x->type.shape[i - places + count]);
    if (!fits) {
        tc_fail(g, "what tc_gather_nd gives there, in x's dtype", "the values %s do not fit the index %s of %s",
                tc_type_text(g, &values->type), tc_type_text(g, &index->type), tc_type_text(g, &x->type));
        return tc_op_leave(g, tc_poison());
    }
    tc_tensor linear = linear_index(g, at, x, index, 0, count), flat = tc_index_joined(g, x, 0, count);
    tc_tensor out = tc_is_poison(linear) ? linear : tc_prim_scatter(g, flat, linear, values, op, 0);
    return tc_op_leave(g, tc_is_poison(out) ? out : tc_prim_reshape(g, out, x->type.rank, x->type.shape));
}

/* -- caches ------------------------------------------------------------------------------------------------------ */

static tc_tensor tensor_scatter(tc_graph *g, tc_site at, tc_tensor x, tc_tensor y, tc_tensor start, int axis,
                                bool circular)
{
    bool fits = axis > 0 && y->type.rank == x->type.rank && y->type.dtype == x->type.dtype;
    for (int i = 0; fits && i < x->type.rank; ++i)
        fits = i == axis ? tc_at_least(g, x->type.shape[i], y->type.shape[i])
                         : tc_same_dim(g, x->type.shape[i], y->type.shape[i]);
    if (!fits) {
        tc_fail(g, "one dtype and shape but for an axis that is not the first", "%s in %s along axis %d",
                tc_type_text(g, &y->type), tc_type_text(g, &x->type), axis);
        return tc_poison();
    }
    if (start && (!tc_index_check(g, start) || start->type.rank != 1 ||
                  !tc_same_dim(g, start->type.shape[0], x->type.shape[0]))) {
        tc_fail(g, "i32 or i64, one for each place of the first axis", "the starts are %s",
                tc_type_text(g, &start->type));
        return tc_poison();
    }
    tc_type places = {.dtype = TC_I64, .rank = axis + 1};
    for (int i = 0; i <= axis; ++i)
        places.shape[i] = y->type.shape[i];
    tc_tensor place = tc_prim_iota(g, axis, &places), linear = NULL;
    if (start) {
        tc_tensor first = tc_prim_broadcast(g, tc_cast_at(at, start, TC_I64), axis + 1, places.shape, (const int[]){0});
        place = ADD(place, first);
    }
    if (circular) {
        tc_tensor size = tc_size_value(g, TC_I64, x->type.shape[axis]);
        place = tc_remainder_at(at, TC_OPERAND(place), TC_OPERAND(size));
    }
    for (int i = 0; i <= axis; ++i) {
        tc_tensor own = i == axis ? place : tc_prim_iota(g, i, &places);
        linear = tc_index_further(g, at, linear, x->type.shape[i], own);
    }
    linear = WHERE(tc_index_within(g, at, place, x->type.shape[axis]), linear, -1);
    if (tc_is_poison(linear))
        return linear;
    tc_tensor flat = tc_index_joined(g, x, 0, axis + 1), values = tc_index_joined(g, y, 0, axis + 1);
    tc_tensor out = tc_prim_scatter(g, flat, tc_index_joined(g, linear, 0, axis + 1), values, "set", 0);
    return tc_prim_reshape(g, out, x->type.rank, x->type.shape);
}

tc_tensor tc_tensor_scatter_at(tc_site at, tc_tensor x, tc_tensor y, tc_tensor start, int axis, bool circular)
{
    tc_graph *g = tc_op_enter(at, "tc_tensor_scatter", "tensor_scatter", "x y ?start", 3, (tc_tensor[]){x, y, start});
    if (!g)
        return tc_poison();
    axis = tc_axis(g, axis, x->type.rank);
    return tc_op_leave(g, axis < 0 ? tc_poison() : tensor_scatter(g, at, x, y, start, axis, circular));
}

/* -- one hot ----------------------------------------------------------------------------------------------------- */

tc_tensor tc_one_hot_values_at(tc_site at, tc_tensor index, tc_dim classes, tc_tensor values, int axis)
{
    tc_graph *g = tc_op_enter(at, "tc_one_hot_values", "one_hot_values", "index values", 2,
                              (tc_tensor[]){index, values});
    if (!g)
        return tc_poison();
    const tc_expr *size = tc_dim_expr(g, classes);
    axis = tc_axis(g, axis, index->type.rank + 1);
    if (axis < 0 || !tc_index_check(g, index))
        return tc_op_leave(g, tc_poison());
    if (values->type.rank != 1 || !tc_expr_is(values->type.shape[0], 2) || !tc_at_least(g, size, g->dims.zero)) {
        tc_fail(g, "the value elsewhere, then the one at the index", "the values %s of %s classes",
                tc_type_text(g, &values->type), tc_expr_text(size));
        return tc_op_leave(g, tc_poison());
    }
    tc_tensor place = tc_unsqueeze_at(at, tc_from_end_at(at, index, 1, &classes), axis);
    if (tc_is_poison(place))
        return tc_op_leave(g, place);
    tc_type type = place->type;
    type.shape[axis] = size;
    tc_tensor each = tc_prim_iota(g, axis, &type), same = EQ(tc_broadcast_to(g, place, type.rank, type.shape), each);
    tc_tensor off = tc_select_at(at, values, 0, tc_dim_int_(0)), on = tc_select_at(at, values, 0, tc_dim_int_(1));
    return tc_op_leave(g, WHERE(same, on, off));
}
