/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads and writes at indices that are data, an index an element or an axis. They are gathers and scatters of x's axes
 * joined: an index of each axis makes a linear one, or -1 where one of them is out of range, for the check to find.
 */
#include "compose.h"

/* -- lookups ----------------------------------------------------------------------------------------------------------- */

tc_tensor tc_embedding_at(tc_site at, tc_tensor index, tc_tensor table)
{
    tc_graph *g = tc_op_enter(at, "tc_embedding", "embedding", "index table", 2, (tc_tensor[]){index, table});
    if (!g)
        return tc_poison();
    if (table->type.rank < 1) {
        tc_fail(g, NULL, "the table has rank 0");
        return tc_op_leave(g, tc_poison());
    }
    return tc_op_leave(g, tc_prim_gather(g, table, index, 0));
}

tc_tensor tc_gather_at(tc_site at, tc_tensor x, tc_tensor index, int axis)
{
    tc_graph *g = tc_op_enter(at, "tc_gather", NULL, "x index", 2, (tc_tensor[]){x, index});
    if (!g)
        return tc_poison();
    axis = tc_axis(g, axis, x->type.rank);
    return tc_op_leave(g, axis < 0 ? tc_poison() : tc_prim_gather(g, x, index, axis));
}

static bool is_index(tc_graph *g, tc_tensor index)
{
    if (index->type.dtype == TC_I32 || index->type.dtype == TC_I64)
        return true;
    tc_fail(g, "convert with tc_cast(index, TC_I64)", "the index is i32 or i64, not %s", tc_type_text(g, &index->type));
    return false;
}

/* Joins the first `count` axes of x. */
static tc_tensor joined(tc_graph *g, tc_tensor x, int count)
{
    const tc_expr *shape[TC_MAX_RANK] = {g->dims.one};
    for (int i = 0; i < x->type.rank; ++i) {
        if (i < count)
            shape[0] = tc_expr_mul(shape[0], x->type.shape[i]);
        else
            shape[i - count + 1] = x->type.shape[i];
    }
    return tc_prim_reshape(g, x, x->type.rank - count + 1, shape);
}

/* Adds the place in an axis of `size` to a linear index: linear*size + place. NULL stands for 0. */
static tc_tensor further(tc_graph *g, tc_site at, tc_tensor linear, const tc_expr *size, tc_tensor place)
{
    if (!linear)
        return place;
    tc_tensor count = tc_dim_value_at(at, g, TC_I64, tc_dim_of(size));
    return ADD(MUL(linear, count), place);
}

/* 0 <= place < size. */
static tc_tensor within(tc_graph *g, tc_site at, tc_tensor place, const tc_expr *size)
{
    tc_tensor count = tc_dim_value_at(at, g, TC_I64, tc_dim_of(size));
    tc_tensor above = GE(place, 0), below = LT(place, count);
    return AND(above, below);
}

/* -- an index an element --------------------------------------------------------------------------------------------- */

/* The linear index into x of what the element of `index` at each point leads to along the axis; its shape joined. */
static tc_tensor along(tc_graph *g, tc_site at, tc_tensor x, tc_tensor index, int axis)
{
    bool fits = index->type.rank == x->type.rank;
    for (int i = 0; fits && i < x->type.rank; ++i)
        fits = i == axis || tc_at_least(g, x->type.shape[i], index->type.shape[i]);
    if (!fits) {
        tc_fail(g, "it has x's rank, and no larger size but along the axis", "the index %s does not fit axis %d of %s",
                tc_type_text(g, &index->type), axis, tc_type_text(g, &x->type));
        return tc_poison();
    }
    tc_type type = index->type;
    type.dtype = TC_I64;
    tc_tensor linear = NULL, place = tc_cast_at(at, index, TC_I64);
    for (int i = 0; i < x->type.rank; ++i)
        linear = further(g, at, linear, x->type.shape[i], i == axis ? place : tc_prim_iota(g, i, &type));
    if (x->type.rank > 1)
        linear = WHERE(within(g, at, place, x->type.shape[axis]), linear, -1);
    return tc_is_poison(linear) ? linear : joined(g, linear, linear->type.rank);
}

tc_tensor tc_take_along_at(tc_site at, tc_tensor x, tc_tensor index, int axis)
{
    tc_graph *g = tc_op_enter(at, "tc_take_along", "take_along", "x index", 2, (tc_tensor[]){x, index});
    if (!g)
        return tc_poison();
    axis = tc_axis(g, axis, x->type.rank);
    tc_tensor linear = axis < 0 || !is_index(g, index) ? tc_poison() : along(g, at, x, index, axis);
    if (tc_is_poison(linear))
        return tc_op_leave(g, tc_poison());
    tc_tensor taken = tc_prim_gather(g, joined(g, x, x->type.rank), linear, 0);
    return tc_op_leave(g, tc_prim_reshape(g, taken, index->type.rank, index->type.shape));
}

static tc_tensor scatter(tc_graph *g, tc_site at, const char *op, tc_tensor x, tc_tensor index, tc_tensor values,
                         int axis)
{
    bool fits = values->type.rank == index->type.rank && values->type.dtype == x->type.dtype;
    for (int i = 0; fits && i < index->type.rank; ++i)
        fits = tc_same_dim(g, values->type.shape[i], index->type.shape[i]);
    if (!fits) {
        tc_fail(g, "one value an index, of x's dtype", "the values are %s, the index %s",
                tc_type_text(g, &values->type), tc_type_text(g, &index->type));
        return tc_poison();
    }
    tc_tensor linear = along(g, at, x, index, axis);
    if (tc_is_poison(linear))
        return linear;
    tc_tensor flat = joined(g, x, x->type.rank), given = joined(g, values, values->type.rank);
    tc_tensor out = tc_prim_scatter(g, flat, linear, given, op, 0);
    return tc_prim_reshape(g, out, x->type.rank, x->type.shape);
}

tc_tensor tc_scatter_at(tc_site at, const char *name, const char *op, tc_tensor x, tc_tensor index, tc_tensor values,
                        int axis)
{
    tc_graph *g = tc_op_enter(at, name, name + 3, "x index values", 3, (tc_tensor[]){x, index, values});
    if (!g)
        return tc_poison();
    axis = tc_axis(g, axis, x->type.rank);
    if (axis < 0 || !is_index(g, index))
        return tc_op_leave(g, tc_poison());
    return tc_op_leave(g, scatter(g, at, op, x, index, values, axis));
}

tc_tensor tc_index_add_at(tc_site at, tc_tensor x, int axis, tc_tensor index, tc_tensor values, bool add)
{
    const char *name = add ? "tc_index_add" : "tc_index_copy";
    tc_graph *g = tc_op_enter(at, name, name + 3, "x index values", 3, (tc_tensor[]){x, index, values});
    if (!g)
        return tc_poison();
    axis = tc_axis(g, axis, x->type.rank);
    return tc_op_leave(g, axis < 0 ? tc_poison() : tc_prim_scatter(g, x, index, values, add ? "add" : "set", axis));
}

/* -- an index an axis ------------------------------------------------------------------------------------------------ */

/* The linear index of the first `count` axes of x; its shape is what the indices broadcast to. */
static tc_tensor together(tc_graph *g, tc_site at, tc_tensor x, int count, const tc_tensor *indices)
{
    if (count < 1 || count > x->type.rank) {
        tc_fail(g, "one an axis, from the first", "%d indices of %s", count, tc_type_text(g, &x->type));
        return tc_poison();
    }
    tc_tensor linear = NULL, valid = NULL;
    for (int i = 0; i < count; ++i) {
        if (!is_index(g, indices[i]))
            return tc_poison();
        if (count == 1)
            return indices[0];
        tc_tensor place = tc_cast_at(at, indices[i], TC_I64), inside = within(g, at, place, x->type.shape[i]);
        valid = valid ? AND(valid, inside) : inside;
        linear = further(g, at, linear, x->type.shape[i], place);
    }
    return WHERE(valid, linear, -1);
}

/* tc_op_enter of x, the values if any and a list; NULL where the call cannot go on. */
static tc_graph *enter(tc_site at, const char *name, tc_tensor x, tc_tensor values, int count, const tc_tensor *indices)
{
    for (int i = 0; i < count; ++i) {
        tc_graph *g = tc_op_enter(at, name, NULL, "index", 1, &indices[i]);
        if (!g)
            return NULL;
        tc_op_leave(g, NULL);
    }
    return tc_op_enter(at, name, name + 3, "x ?values", 2, (tc_tensor[]){x, values});
}

tc_tensor tc_index_at(tc_site at, tc_tensor x, int count, const tc_tensor *indices)
{
    tc_graph *g = enter(at, "tc_index", x, NULL, count, indices);
    if (!g)
        return tc_poison();
    tc_tensor linear = together(g, at, x, count, indices);
    return tc_op_leave(g, tc_is_poison(linear) ? linear : tc_prim_gather(g, joined(g, x, count), linear, 0));
}

tc_tensor tc_index_put_at(tc_site at, tc_tensor x, tc_tensor values, bool accumulate, int count,
                          const tc_tensor *indices)
{
    tc_graph *g = enter(at, "tc_index_put", x, values, count, indices);
    if (!g)
        return tc_poison();
    tc_tensor linear = together(g, at, x, count, indices);
    if (tc_is_poison(linear))
        return tc_op_leave(g, linear);
    tc_type wanted = {.dtype = x->type.dtype, .rank = linear->type.rank + x->type.rank - count};
    if (wanted.rank > TC_MAX_RANK || values->type.rank > wanted.rank) {
        tc_fail(g, NULL, "the values %s have too many dims", tc_type_text(g, &values->type));
        return tc_op_leave(g, tc_poison());
    }
    for (int i = 0; i < wanted.rank; ++i)
        wanted.shape[i] = i < linear->type.rank ? linear->type.shape[i] : x->type.shape[i - linear->type.rank + count];
    for (int i = 1; i <= values->type.rank; ++i) {
        const tc_expr *have = values->type.shape[values->type.rank - i], *want = wanted.shape[wanted.rank - i];
        if (!tc_expr_is(have, 1) && !tc_same_dim(g, have, want)) {
            tc_fail(g, "a size of 1 repeats, any other stays", "the values %s do not broadcast to %s",
                    tc_type_text(g, &values->type), tc_type_text(g, &wanted));
            return tc_op_leave(g, tc_poison());
        }
    }
    values = tc_broadcast_to(g, values, wanted.rank, wanted.shape);
    tc_tensor out = tc_prim_scatter(g, joined(g, x, count), linear, values, accumulate ? "add" : "set", 0);
    return tc_op_leave(g, tc_is_poison(out) ? out : tc_prim_reshape(g, out, x->type.rank, x->type.shape));
}

tc_tensor tc_one_hot_at(tc_site at, tc_tensor index, tc_dim classes, tc_dtype dtype)
{
    tc_graph *g = tc_op_enter(at, "tc_one_hot", "one_hot", "index", 1, &index);
    if (!g)
        return tc_poison();
    const tc_expr *size = tc_dim_expr(g, classes);
    if (!is_index(g, index))
        return tc_op_leave(g, tc_poison());
    if (!tc_at_least(g, size, g->dims.zero)) {
        tc_fail(g, NULL, "%s classes", tc_expr_text(size));
        return tc_op_leave(g, tc_poison());
    }
    tc_tensor each = tc_prim_iota(g, 0, &(tc_type){.dtype = index->type.dtype, .rank = 1, .shape = {size}});
    tc_tensor same = EQ(tc_unsqueeze_at(at, index, index->type.rank), each);
    return tc_op_leave(g, tc_cast_at(at, same, dtype));
}
