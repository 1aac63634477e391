/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads and writes at indices that are data, an index an element or an axis. They are gathers and scatters of x's axes
 * joined: an index of each axis makes a linear one, or -1 where one of them is out of range, for the check to find.
 */
#include <math.h>
#include <string.h>

#include "compose.h"
#include "indexing.h"

/* -- lookups ------------------------------------------------------------------------------------------------------- */

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

bool tc_index_check(tc_graph *g, tc_tensor index)
{
    if (index->type.dtype == TC_I32 || index->type.dtype == TC_I64)
        return true;
    tc_fail(g,
            index->type.dtype == TC_BOOL
                ? "how many elements a mask has is data: tc_where, tc_masked_scatter, tc_nonzero_static"
                : "convert with tc_cast(index, TC_I64)",
            "the index is i32 or i64, not %s", tc_type_text(g, &index->type));
    return false;
}

tc_tensor tc_index_joined(tc_graph *g, tc_tensor x, int first, int count)
{
    const tc_expr *shape[TC_MAX_RANK] = {g->dims.one}, *all = g->dims.one;
    int rank = 0;
    for (int i = 0; i < x->type.rank; ++i) {
        if (i < first || i >= first + count)
            shape[rank++] = x->type.shape[i];
        else if (i == first)
            shape[rank++] = all = x->type.shape[i];
        else
            shape[first] = all = tc_expr_mul(all, x->type.shape[i]);
    }
    return tc_prim_reshape(g, x, rank + (x->type.rank == 0), shape);
}

/* All elements in a row. */
static tc_tensor joined(tc_graph *g, tc_tensor x)
{
    return tc_index_joined(g, x, 0, x->type.rank);
}

tc_tensor tc_index_further(tc_graph *g, tc_site at, tc_tensor linear, const tc_expr *size, tc_tensor place)
{
    if (!linear)
        return place;
    tc_tensor count = tc_dim_value_at(at, g, TC_I64, tc_dim_of(size));
    return ADD(MUL(linear, count), place);
}

tc_tensor tc_index_within(tc_graph *g, tc_site at, tc_tensor place, const tc_expr *size)
{
    tc_tensor count = tc_dim_value_at(at, g, TC_I64, tc_dim_of(size));
    tc_tensor above = GE(place, 0), below = LT(place, count);
    return AND(above, below);
}

/* -- an index an element ------------------------------------------------------------------------------------------- */

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
        linear = tc_index_further(g, at, linear, x->type.shape[i], i == axis ? place : tc_prim_iota(g, i, &type));
    if (x->type.rank > 1)
        linear = WHERE(tc_index_within(g, at, place, x->type.shape[axis]), linear, -1);
    return tc_is_poison(linear) ? linear : joined(g, linear);
}

tc_tensor tc_take_along_at(tc_site at, tc_tensor x, tc_tensor index, int axis)
{
    tc_graph *g = tc_op_enter(at, "tc_take_along", "take_along", "x index", 2, (tc_tensor[]){x, index});
    if (!g)
        return tc_poison();
    axis = tc_axis(g, axis, x->type.rank);
    tc_tensor linear = axis < 0 || !tc_index_check(g, index) ? tc_poison() : along(g, at, x, index, axis);
    if (tc_is_poison(linear))
        return tc_op_leave(g, tc_poison());
    tc_tensor taken = tc_prim_gather(g, joined(g, x), linear, 0);
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
    tc_tensor flat = joined(g, x), given = joined(g, values);
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
    if (axis < 0 || !tc_index_check(g, index))
        return tc_op_leave(g, tc_poison());
    return tc_op_leave(g, scatter(g, at, op, x, index, values, axis));
}

/* The extreme that every other number of the dtype replaces in a maximum (minimum where `largest`). */
static tc_operand extreme(tc_dtype dtype, bool largest)
{
    const tc_dtype_info *about = tc_dtype_about(dtype);
    if (about->kind == TC_KIND_FLOAT)
        return tc_operand_float_(largest ? INFINITY : -INFINITY);
    int64_t most = about->digits < 63 ? ((int64_t)1 << about->digits) - 1 : INT64_MAX;
    return tc_operand_int_(largest ? most : about->kind == TC_KIND_SIGNED ? -most - 1 : 0);
}

static tc_tensor filled(tc_graph *g, tc_dtype dtype, tc_operand value, const tc_type *like)
{
    return tc_broadcast_to(g, tc_constant_of(g, dtype, value), like->rank, like->shape);
}

/* x and values in f32 where they have 16 bits. */
static tc_tensor scatter_reduce(tc_graph *g, tc_site at, tc_tensor x, tc_tensor index, tc_tensor values, int axis,
                                const char *op, bool include_self)
{
    static const char *const names[] = {"sum", "prod", "mean", "amax", "amin"};
    static const char *const ops[] = {"add", "mul", "add", "max", "min"};
    enum { PROD = 1, MEAN = 2, AMAX = 3, KINDS = 5 };
    const tc_dtype dtype = x->type.dtype;
    const tc_operand zero = tc_operand_int_(0), one = tc_operand_int_(1);
    int kind = 0;
    while (kind < KINDS && strcmp(op, names[kind]))
        ++kind;
    if (kind == KINDS || dtype == TC_BOOL) {
        tc_fail(g, "of numbers: \"sum\", \"prod\", \"mean\", \"amax\" or \"amin\"", "\"%s\" of %s", op,
                tc_type_text(g, &x->type));
        return tc_poison();
    }
    if (!include_self) {
        tc_operand first = kind == PROD ? one : kind < AMAX ? zero : extreme(dtype, kind > AMAX);
        tc_tensor nowhere = filled(g, TC_BOOL, zero, &x->type), yes = filled(g, TC_BOOL, one, &index->type);
        tc_tensor hit = scatter(g, at, "set", nowhere, index, yes, axis);
        if (tc_is_poison(hit))
            return hit;
        x = tc_where_at(at, hit, first, tc_operand_tensor_(x));
    }
    tc_tensor out = scatter(g, at, ops[kind], x, index, values, axis);
    if (kind != MEAN || tc_is_poison(out))
        return out;
    tc_tensor counts = filled(g, dtype, include_self ? one : zero, &x->type),
              ones = filled(g, dtype, one, &index->type);
    counts = MAXIMUM(scatter(g, at, "add", counts, index, ones, axis), 1);
    return tc_dtype_is_float(dtype) ? DIV(out, counts)
                                    : tc_floor_divide_at(at, tc_operand_tensor_(out), tc_operand_tensor_(counts));
}

tc_tensor tc_scatter_reduce_at(tc_site at, tc_tensor x, tc_tensor index, tc_tensor values, int axis, const char *op,
                               bool include_self)
{
    tc_graph *g = tc_op_enter(at, "tc_scatter_reduce", "scatter_reduce", "x index values", 3,
                              (tc_tensor[]){x, index, values});
    if (!g)
        return tc_poison();
    axis = tc_axis(g, axis, x->type.rank);
    if (axis < 0 || !tc_index_check(g, index))
        return tc_op_leave(g, tc_poison());
    tc_tensor start = tc_prim_widen(g, x), given = tc_prim_widen(g, values);
    tc_tensor out = scatter_reduce(g, at, start, index, given, axis, op ? op : "", include_self);
    return tc_op_leave(g, tc_prim_narrow(g, out, x->type.dtype));
}

/* -- an index a slice of one axis ---------------------------------------------------------------------------------- */

tc_tensor tc_index_reduce_at(tc_site at, const char *name, const char *op, tc_tensor x, int axis, tc_tensor index,
                             tc_tensor values)
{
    tc_graph *g = tc_op_enter(at, name, name + 3, "x index values", 3, (tc_tensor[]){x, index, values});
    if (!g)
        return tc_poison();
    axis = tc_axis(g, axis, x->type.rank);
    return tc_op_leave(g, axis < 0 ? tc_poison() : tc_prim_scatter(g, x, index, values, op, axis));
}

tc_tensor tc_index_fill_at(tc_site at, tc_tensor x, int axis, tc_tensor index, tc_operand value)
{
    tc_tensor given = value.kind == TC_OPERAND_TENSOR ? value.tensor : NULL;
    tc_graph *g = tc_op_enter(at, "tc_index_fill", "index_fill", "x index ?value", 3, (tc_tensor[]){x, index, given});
    if (!g)
        return tc_poison();
    axis = tc_axis(g, axis, x->type.rank);
    if (axis < 0 || !tc_index_check(g, index))
        return tc_op_leave(g, tc_poison());
    if (given && (given->type.rank || given->type.dtype != x->type.dtype)) {
        tc_fail(g, "a C number, or a tensor of rank 0 and of x's dtype", "the value is %s",
                tc_type_text(g, &given->type));
        return tc_op_leave(g, tc_poison());
    }
    const int rank = x->type.rank - 1 + index->type.rank;
    if (rank > TC_MAX_RANK) {
        tc_fail(g, NULL, "%s at %s has more than %d dims", tc_type_text(g, &x->type), tc_type_text(g, &index->type),
                TC_MAX_RANK);
        return tc_op_leave(g, tc_poison());
    }
    const tc_expr *shape[TC_MAX_RANK];
    for (int i = 0, last = axis + index->type.rank; i < rank; ++i)
        shape[i] = i < axis   ? x->type.shape[i]
                   : i < last ? index->type.shape[i - axis]
                              : x->type.shape[i - last + axis + 1];
    tc_tensor fill = tc_broadcast_to(g, given ? given : tc_constant_of(g, x->type.dtype, value), rank, shape);
    return tc_op_leave(g, tc_is_poison(fill) ? fill : tc_prim_scatter(g, x, index, fill, "set", axis));
}

tc_tensor tc_take_at(tc_site at, tc_tensor x, tc_tensor index)
{
    tc_graph *g = tc_op_enter(at, "tc_take", "take", "x index", 2, (tc_tensor[]){x, index});
    return g ? tc_op_leave(g, tc_index_check(g, index) ? tc_prim_gather(g, joined(g, x), index, 0) : tc_poison())
             : tc_poison();
}

/* -- an index an axis ---------------------------------------------------------------------------------------------- */

/* The axes of x that have indices, side by side: x as it is, or with those axes first. */
typedef struct indexed {
    tc_tensor x;
    int first, count;      /* the axes of x */
    int perm[TC_MAX_RANK]; /* what x was transposed by */
    bool moved;
    tc_tensor linear; /* into these axes joined; its shape is what the indices broadcast to */
} indexed;

/* The linear index; poison where an index is wrong. */
static tc_tensor together(tc_graph *g, tc_site at, const indexed *in, const tc_tensor *indices)
{
    tc_tensor linear = NULL, valid = NULL;
    for (int i = 0; i < in->count; ++i) {
        if (!tc_index_check(g, indices[i]))
            return tc_poison();
        if (in->count == 1)
            return indices[0];
        const tc_expr *size = in->x->type.shape[in->first + i];
        tc_tensor place = tc_cast_at(at, indices[i], TC_I64), inside = tc_index_within(g, at, place, size);
        valid = valid ? AND(valid, inside) : inside;
        linear = tc_index_further(g, at, linear, size, place);
    }
    return WHERE(valid, linear, -1);
}

/* indices: one an axis from the first, NULL for all of that axis. */
static bool index_axes(tc_graph *g, tc_site at, tc_tensor x, int count, const tc_tensor *indices, indexed *out)
{
    tc_tensor given[TC_MAX_RANK];
    *out = (indexed){.x = x};
    int last = -1, others = 0;
    for (int i = 0; i < count && i < x->type.rank; ++i) {
        if (!indices[i])
            continue;
        out->first = out->count ? out->first : i;
        out->perm[out->count] = last = i;
        given[out->count++] = indices[i];
    }
    if (count > x->type.rank || !out->count) {
        tc_fail(g, "one an axis, from the first; NULL for all of an axis", "%d indices of %s", count,
                tc_type_text(g, &x->type));
        return false;
    }
    out->moved = last - out->first + 1 != out->count;
    for (int i = 0; out->moved && i < x->type.rank; ++i)
        if (i >= count || !indices[i])
            out->perm[out->count + others++] = i;
    if (out->moved) {
        out->first = 0;
        out->x = tc_prim_transpose(g, x, out->perm);
    }
    out->linear = together(g, at, out, given);
    if (!tc_is_poison(out->linear) && out->linear->type.rank + x->type.rank - out->count > TC_MAX_RANK) {
        tc_fail(g, NULL, "the result has more than %d dims", TC_MAX_RANK);
        return false;
    }
    return !tc_is_poison(out->linear);
}

/* tc_op_enter of x, the values if any and a list; NULL where the call cannot go on. */
static tc_graph *enter(tc_site at, const char *name, tc_tensor x, tc_tensor values, int count, const tc_tensor *indices)
{
    for (int i = 0; i < count; ++i) {
        tc_graph *g = tc_op_enter(at, name, NULL, "?index", 1, &indices[i]);
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
    indexed in;
    if (!index_axes(g, at, x, count, indices, &in))
        return tc_op_leave(g, tc_poison());
    return tc_op_leave(g, tc_prim_gather(g, tc_index_joined(g, in.x, in.first, in.count), in.linear, in.first));
}

/* The values as what tc_index gives there. */
static tc_tensor as_indexed(tc_graph *g, const indexed *in, tc_tensor values)
{
    const tc_type *x = &in->x->type, *index = &in->linear->type;
    const int end = in->first + index->rank;
    tc_type wanted = {.dtype = x->dtype, .rank = index->rank + x->rank - in->count};
    for (int i = 0; i < wanted.rank; ++i)
        wanted.shape[i] = i < in->first ? x->shape[i]
                          : i < end     ? index->shape[i - in->first]
                                        : x->shape[i - end + in->first + in->count];
    bool fits = values->type.rank <= wanted.rank;
    for (int i = 1; fits && i <= values->type.rank; ++i) {
        const tc_expr *have = values->type.shape[values->type.rank - i], *want = wanted.shape[wanted.rank - i];
        fits = tc_expr_is(have, 1) || tc_same_dim(g, have, want);
    }
    if (fits)
        return tc_broadcast_to(g, values, wanted.rank, wanted.shape);
    tc_fail(g, "a size of 1 repeats, any other stays", "the values %s do not broadcast to %s",
            tc_type_text(g, &values->type), tc_type_text(g, &wanted));
    return tc_poison();
}

tc_tensor tc_index_put_at(tc_site at, tc_tensor x, tc_tensor values, bool accumulate, int count,
                          const tc_tensor *indices)
{
    tc_graph *g = enter(at, "tc_index_put", x, values, count, indices);
    if (!g)
        return tc_poison();
    indexed in;
    if (!index_axes(g, at, x, count, indices, &in))
        return tc_op_leave(g, tc_poison());
    values = as_indexed(g, &in, values);
    tc_tensor flat = tc_index_joined(g, in.x, in.first, in.count);
    tc_tensor out = tc_is_poison(values)
                        ? values
                        : tc_prim_scatter(g, flat, in.linear, values, accumulate ? "add" : "set", in.first);
    if (tc_is_poison(out))
        return tc_op_leave(g, out);
    out = tc_prim_reshape(g, out, in.x->type.rank, in.x->type.shape);
    int back[TC_MAX_RANK];
    for (int i = 0; in.moved && i < x->type.rank; ++i)
        back[in.perm[i]] = i;
    return tc_op_leave(g, in.moved ? tc_prim_transpose(g, out, back) : out);
}

/* -- masks and counts ---------------------------------------------------------------------------------------------- */

static tc_tensor masked_scatter(tc_graph *g, tc_site at, tc_tensor x, tc_tensor mask, tc_tensor source)
{
    if (mask->type.dtype != TC_BOOL || source->type.dtype != x->type.dtype) {
        tc_fail(g, "a bool mask, and a source of x's dtype", "the mask is %s, the source %s",
                tc_type_text(g, &mask->type), tc_type_text(g, &source->type));
        return tc_poison();
    }
    if (!tc_at_least(g, tc_element_count(g, &source->type), g->dims.one)) {
        tc_fail(g, NULL, "the source %s is empty", tc_type_text(g, &source->type));
        return tc_poison();
    }
    int rank;
    const tc_expr *shape[TC_MAX_RANK];
    if (!tc_broadcast_shape(g, &mask->type, &x->type, &rank, shape))
        return tc_poison();
    mask = tc_broadcast_to(g, mask, rank, shape);
    x = tc_broadcast_to(g, x, rank, shape);
    tc_tensor flat = joined(g, mask), counts = tc_prim_cumulative(g, tc_prim_cast(g, flat, TC_I64), "sum", 0, false);
    tc_tensor place = WHERE(flat, SUB(counts, 1), 0);
    tc_tensor taken = tc_prim_gather(g, joined(g, source), place, 0);
    return WHERE(mask, tc_prim_reshape(g, taken, rank, shape), x);
}

tc_tensor tc_masked_scatter_at(tc_site at, tc_tensor x, tc_tensor mask, tc_tensor source)
{
    tc_graph *g = tc_op_enter(at, "tc_masked_scatter", "masked_scatter", "x mask source", 3,
                              (tc_tensor[]){x, mask, source});
    return g ? tc_op_leave(g, masked_scatter(g, at, x, mask, source)) : tc_poison();
}

/* The places among all elements, then of each the index along every axis, last axis first. */
static tc_tensor nonzero_static(tc_graph *g, tc_site at, tc_tensor x, const tc_expr *size, tc_operand fill)
{
    const int rank = x->type.rank;
    tc_tensor columns[TC_MAX_RANK], place, is = x->type.dtype == TC_BOOL ? x : NE(x, 0);
    if (rank == 0) {
        tc_fail(g, "tc_reshape(x, 1)", "x has rank 0");
        return tc_poison();
    }
    tc_tensor first = tc_prim_sort(g, joined(g, is), 0, size, true, &place);
    if (tc_is_poison(first))
        return first;
    for (int i = rank - 1; i >= 0; --i) {
        tc_tensor along_axis = tc_dim_value_at(at, g, TC_I64, tc_dim_of(x->type.shape[i]));
        columns[i] = tc_unsqueeze_at(at, i ? REM(place, along_axis) : place, 1);
        place = i ? DIV(place, along_axis) : place;
    }
    tc_tensor found = rank == 1 ? columns[0] : tc_concat_at(at, 1, rank, columns);
    return tc_where_at(at, tc_unsqueeze_at(at, first, 1), tc_operand_tensor_(found), fill);
}

tc_tensor tc_nonzero_static_at(tc_site at, tc_tensor x, tc_dim size, tc_operand fill)
{
    tc_graph *g = tc_op_enter(at, "tc_nonzero_static", "nonzero_static", "x", 1, &x);
    return g ? tc_op_leave(g, nonzero_static(g, at, x, tc_dim_expr(g, size), fill)) : tc_poison();
}

tc_tensor tc_bincount_at(tc_site at, tc_tensor index, tc_dim bins)
{
    tc_graph *g = tc_op_enter(at, "tc_bincount", "bincount", "index", 1, &index);
    if (!g)
        return tc_poison();
    const tc_expr *size = tc_dim_expr(g, bins);
    if (!tc_index_check(g, index))
        return tc_op_leave(g, tc_poison());
    if (!tc_at_least(g, size, g->dims.zero)) {
        tc_fail(g, NULL, "%s bins", tc_expr_text(size));
        return tc_op_leave(g, tc_poison());
    }
    tc_tensor none = filled(g, TC_I64, tc_operand_int_(0), &(tc_type){.rank = 1, .shape = {size}});
    tc_tensor ones = filled(g, TC_I64, tc_operand_int_(1), &index->type);
    return tc_op_leave(g, tc_prim_scatter(g, none, index, ones, "add", 0));
}

static tc_tensor histc(tc_graph *g, tc_site at, tc_tensor x, int64_t bins, double low, double high)
{
    const tc_dtype dtype = x->type.dtype;
    if (!tc_dtype_is_float(dtype)) {
        tc_fail(g, "tc_bincount counts integers", "x is %s", tc_type_text(g, &x->type));
        return tc_poison();
    }
    if (bins < 1 || !(low < high)) {
        tc_fail(g, NULL, "%lld bins between %g and %g", (long long)bins, low, high);
        return tc_poison();
    }
    x = tc_prim_widen(g, x);
    tc_tensor above = GE(x, low), below = LE(x, high), inside = AND(above, below), known = WHERE(inside, x, low);
    tc_tensor scaled = MUL(SUB(known, low), (double)bins), part = tc_prim_cast(g, DIV(scaled, high - low), TC_I64);
    tc_tensor counts = joined(g, tc_prim_cast(g, inside, x->type.dtype)), place = joined(g, MINIMUM(part, bins - 1));
    tc_tensor none = filled(g, x->type.dtype, tc_operand_int_(0),
                            &(tc_type){.rank = 1, .shape = {tc_expr_const(&g->dims, bins)}});
    return tc_prim_narrow(g, tc_prim_scatter(g, none, place, counts, "add", 0), dtype);
}

tc_tensor tc_histc_at(tc_site at, tc_tensor x, int64_t bins, double low, double high)
{
    tc_graph *g = tc_op_enter(at, "tc_histc", "histc", "x", 1, &x);
    return g ? tc_op_leave(g, histc(g, at, x, bins, low, high)) : tc_poison();
}

tc_tensor tc_one_hot_at(tc_site at, tc_tensor index, tc_dim classes, tc_dtype dtype)
{
    tc_graph *g = tc_op_enter(at, "tc_one_hot", "one_hot", "index", 1, &index);
    if (!g)
        return tc_poison();
    const tc_expr *size = tc_dim_expr(g, classes);
    if (!tc_index_check(g, index))
        return tc_op_leave(g, tc_poison());
    if (!tc_at_least(g, size, g->dims.zero)) {
        tc_fail(g, NULL, "%s classes", tc_expr_text(size));
        return tc_op_leave(g, tc_poison());
    }
    /* the index itself, looked up so that it is checked */
    tc_tensor each = tc_prim_iota(g, 0, &(tc_type){.dtype = index->type.dtype, .rank = 1, .shape = {size}});
    tc_tensor place = tc_prim_gather(g, each, index, 0);
    tc_tensor same = EQ(tc_unsqueeze_at(at, place, index->type.rank), each);
    return tc_op_leave(g, tc_cast_at(at, same, dtype));
}
