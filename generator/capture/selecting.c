/* SPDX-License-Identifier: Apache-2.0
 *
 * Elements whose number is data: what a mask chooses, and what is different.
 */
#include "compose.h"
#include "indexing.h"

static tc_tensor number_true(tc_graph *g, tc_site at, tc_tensor mask)
{
    const int axes[TC_MAX_RANK] = {0, 1, 2, 3, 4, 5, 6, 7};
    return tc_prim_reduce(g, tc_cast_at(at, mask, TC_I64), "sum", mask->type.rank, axes);
}

tc_tensor tc_count_nonzero_at(tc_site at, tc_tensor x)
{
    tc_graph *g = tc_op_enter(at, "tc_count_nonzero", "count_nonzero", "x", 1, &x);
    if (!g)
        return tc_poison();
    return tc_op_leave(g, number_true(g, at, x->type.dtype == TC_BOOL ? x : NE(x, 0)));
}

/* v along one axis, repeated to the shape of x. */
static tc_tensor spread(tc_graph *g, tc_tensor v, tc_tensor x, int axis)
{
    return tc_prim_broadcast(g, v, x->type.rank, x->type.shape, &axis);
}

static tc_tensor compress(tc_graph *g, tc_site at, tc_tensor x, tc_tensor mask, int axis, const tc_expr *size,
                          tc_operand fill)
{
    if (mask->type.dtype != TC_BOOL || mask->type.rank != 1 ||
        !tc_at_least(g, x->type.shape[axis], mask->type.shape[0])) {
        tc_fail(g, "bool[n], no longer than the axis", "the mask is %s for axis %d of %s", tc_type_text(g, &mask->type),
                axis, tc_type_text(g, &x->type));
        return tc_poison();
    }
    tc_tensor places, chosen = tc_prim_sort(g, mask, 0, size, true, &places);
    if (tc_is_poison(chosen))
        return chosen;
    tc_tensor found = tc_prim_gather(g, x, places, axis);
    if (tc_is_poison(found))
        return found;
    return tc_where_at(at, spread(g, chosen, found, axis), tc_operand_tensor_(found), fill);
}

tc_tensor tc_compress_at(tc_site at, tc_tensor x, tc_tensor mask, int axis, tc_dim size, tc_operand fill)
{
    tc_graph *g = tc_op_enter(at, "tc_compress", "compress", "x mask", 2, (tc_tensor[]){x, mask});
    if (!g)
        return tc_poison();
    axis = tc_axis(g, axis, x->type.rank);
    return tc_op_leave(g, axis < 0 ? tc_poison() : compress(g, at, x, mask, axis, tc_dim_expr(g, size), fill));
}

/* -- unique ------------------------------------------------------------------------------------------------------ */

static tc_tensor numbers(tc_graph *g, const tc_expr *size)
{
    return tc_prim_iota(g, 0, &(tc_type){.dtype = TC_I64, .rank = 1, .shape = {size}});
}

/* The elements (rows) before each one along axis 0; the first before itself. */
static tc_tensor ones_before(tc_graph *g, tc_site at, tc_tensor x)
{
    tc_tensor before = MAXIMUM(SUB(numbers(g, x->type.shape[0]), 1), 0);
    return tc_prim_gather(g, x, before, 0);
}

/* Of vectors: where an element of the sorted ones differs from the one before. */
static tc_tensor changes(tc_graph *g, tc_site at, tc_tensor sorted)
{
    tc_tensor before = ones_before(g, at, sorted), differs = NE(sorted, before);
    if (!tc_dtype_is_float(sorted->type.dtype))
        return differs;
    tc_tensor number = EQ(sorted, sorted), numbered = EQ(before, before), either = OR(number, numbered);
    return AND(differs, either);
}

/* The order of rows[n, m], lexicographic: stable sorts by one column after the other, the last one first. */
static tc_tensor row_order(tc_graph *g, tc_site at, tc_tensor rows)
{
    tc_tensor columns = tc_prim_reverse(g, tc_prim_transpose(g, rows, (const int[]){1, 0}), 1, (const int[]){0});
    tc_tensor order = numbers(g, rows->type.shape[0]);
    tc_scan_begin_at(at, g, tc_dim_of(rows->type.shape[1]), "columns, &order", (tc_tensor *const[]){&order, NULL});
    tc_tensor key = tc_prim_gather(g, tc_each_at(at, columns), order, 0), places;
    tc_prim_sort(g, key, 0, rows->type.shape[0], false, &places);
    order = tc_prim_gather(g, order, places, 0);
    tc_block_end(g);
    return order;
}

/* Numbers of `size` slots, each that of `values` at its index or, where none leads there, the one of `none`. */
static tc_tensor slots(tc_graph *g, const tc_expr *size, const tc_expr *none, tc_tensor index, tc_tensor values,
                       const char *op)
{
    tc_tensor empty = tc_broadcast_to(g, tc_size_value(g, TC_I64, none), 1, &size);
    return tc_prim_scatter(g, empty, index, values, op, 0);
}

typedef struct unique {
    tc_graph *g;
    tc_site at;
    const tc_expr *all, *size;
    tc_tensor first, inverse, counts, number; /* first and counts have `all` slots */
} unique;

/* What the order says of equal neighbours: `new` where a group of them begins. */
static void read_groups(unique *u, tc_tensor order, tc_tensor new)
{
    tc_graph *g = u->g;
    const tc_site at = u->at;
    const tc_expr *zero = g->dims.zero;
    tc_tensor ones = tc_broadcast_to(g, tc_size_value(g, TC_I64, g->dims.one), 1, &u->all);
    tc_tensor begun = tc_prim_cumulative(g, tc_cast_at(at, new, TC_I64), "sum", 0, false), group = SUB(begun, 1);
    u->number = number_true(g, at, new);
    u->first = slots(g, u->all, u->all, group, order, "min");
    u->counts = slots(g, u->all, zero, group, ones, "add");
    u->inverse = slots(g, u->all, zero, order, group, "set");
}

/* Groups in the order of their first elements. */
static void order_by_first(unique *u)
{
    tc_graph *g = u->g;
    tc_tensor order;
    u->first = tc_prim_sort(g, u->first, 0, u->all, false, &order);
    u->counts = tc_prim_gather(g, u->counts, order, 0);
    tc_tensor rank = slots(g, u->all, g->dims.zero, order, numbers(g, u->all), "set");
    u->inverse = tc_prim_gather(g, rank, u->inverse, 0);
}

static tc_tensor find_unique(tc_graph *g, const tc_unique_args *args, unique *u)
{
    const tc_site at = args->at;
    tc_tensor x = args->x, order, new;
    const int axis = args->along ? tc_axis(g, args->axis, x->type.rank) : 0;
    if (axis < 0)
        return tc_poison();
    if (args->size && args->size_count != 1) {
        tc_fail(g, "TC_SIZES(n)", "%d sizes", args->size_count);
        return tc_poison();
    }
    if (!args->along) {
        x = tc_index_joined(g, x, 0, x->type.rank);
        new = changes(g, at, tc_prim_sort(g, x, 0, x->type.shape[0], false, &order));
    } else {
        tc_tensor rows = tc_movedim_at(at, x, axis, 0);
        const tc_expr *each = g->dims.one;
        for (int i = 1; i < rows->type.rank; ++i)
            each = tc_expr_mul(each, rows->type.shape[i]);
        rows = tc_prim_reshape(g, rows, 2, (const tc_expr *const[]){rows->type.shape[0], each});
        order = row_order(g, at, rows);
        rows = tc_prim_gather(g, rows, order, 0);
        new = tc_any_at(at, NE(rows, ones_before(g, at, rows)), false, 1, (const int[]){1});
    }
    u->all = x->type.shape[axis];
    u->size = args->size ? tc_dim_expr(g, args->size[0]) : u->all;
    tc_tensor begins = EQ(numbers(g, u->all), 0);
    read_groups(u, order, OR(begins, new));
    if (args->unsorted)
        order_by_first(u);
    if (tc_is_poison(u->first) || tc_is_poison(u->counts))
        return tc_poison();
    const tc_dim zero = tc_dim_int_(0), size = tc_dim_of(u->size);
    tc_tensor used = LT(numbers(g, u->size), u->number);
    u->first = tc_slice_at(at, u->first, 0, zero, size, 1);
    u->first = WHERE(used, u->first, 0);
    u->counts = tc_slice_at(at, u->counts, 0, zero, size, 1);
    if (tc_is_poison(u->first))
        return tc_poison();
    tc_tensor out = tc_prim_gather(g, x, u->first, axis);
    if (tc_is_poison(out))
        return out;
    tc_tensor keep = spread(g, used, out, axis), none = tc_constant_of(g, x->type.dtype, tc_operand_int_(0));
    return WHERE(keep, out, none);
}

tc_tensor tc_unique_at(const tc_unique_args *args)
{
    tc_tensor *const wanted[] = {args->first, args->inverse, args->counts, args->count};
    for (int i = 0; i < 4; ++i)
        if (wanted[i])
            *wanted[i] = tc_poison();
    tc_graph *g = tc_op_enter(args->at, "tc_unique", "unique", "x", 1, &args->x);
    if (!g)
        return tc_poison();
    unique u = {.g = g, .at = args->at};
    tc_tensor out = find_unique(g, args, &u);
    const tc_tensor found[] = {u.first, u.inverse, u.counts, u.number};
    for (int i = 0; i < 4 && !tc_is_poison(out); ++i)
        if (wanted[i])
            *wanted[i] = found[i];
    return tc_op_leave(g, out);
}
