/* SPDX-License-Identifier: Apache-2.0
 *
 * Parts of tensors, tensors joined of parts, padding.
 */
#include "compose.h"
#include "windows.h"

/* -- parts --------------------------------------------------------------------------------------------------------- */

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

/* A slice of an axis, in range: counted from the front. */
typedef struct range {
    int axis;
    const tc_expr *start, *size;
} range;

/* What the user's bounds mean; reports. */
static bool read_range(tc_graph *g, tc_tensor x, int axis, tc_dim from, tc_dim to, int step, range *out)
{
    axis = tc_axis(g, axis, x->type.rank);
    if (axis < 0)
        return false;
    const tc_expr *whole = x->type.shape[axis], *start = bound(g, from, whole), *stop = bound(g, to, whole);
    if (step < 1) {
        tc_fail(g, NULL, "step is %d", step);
        return false;
    }
    if (!tc_at_least(g, start, g->dims.zero) || !tc_at_least(g, stop, start) || !tc_at_least(g, whole, stop)) {
        tc_fail(g, "0 <= start <= stop <= size; bounds are not clamped", "%s..%s is not inside axis %d of %s",
                tc_expr_text(start), tc_expr_text(stop), axis, tc_type_text(g, &x->type));
        return false;
    }
    const tc_expr *length = tc_expr_add_int(tc_expr_sub(stop, start), step - 1);
    *out = (range){axis, start, tc_expr_floordiv(length, tc_expr_const(&g->dims, step))};
    return true;
}

static tc_tensor slice_between(tc_graph *g, tc_tensor x, int axis, tc_dim from, tc_dim to, int step)
{
    range r;
    return read_range(g, x, axis, from, to, step, &r) ? slice(g, x, r.axis, r.start, r.size, step) : tc_poison();
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

static void take_parts(tc_graph *g, tc_tensor x, int axis, tc_tensor *parts, int count, const tc_expr *const *sizes)
{
    const tc_expr *start = g->dims.zero;
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
        if (tc_same_dim(g, x->type.shape[axis], tc_expr_mul_int(size, count)))
            take_parts(g, x, axis, parts, count, sizes);
        else
            tc_fail(g, "tc_chunk, tc_split_sizes make parts of other sizes", "axis %d of %s is not %d equal parts",
                    axis, tc_type_text(g, &x->type), count);
    }
    tc_op_leave(g, NULL);
}

static void split_sizes(tc_graph *g, tc_tensor x, int axis, tc_tensor *parts, int count, const tc_expr *const *sizes)
{
    const tc_expr *whole = g->dims.zero;
    for (int i = 0; i < count; ++i) {
        if (!tc_at_least(g, sizes[i], g->dims.zero)) {
            tc_fail(g, NULL, "part %d has the size %s", i, tc_expr_text(sizes[i]));
            return;
        }
        whole = tc_expr_add(whole, sizes[i]);
    }
    if (tc_same_dim(g, x->type.shape[axis], whole))
        take_parts(g, x, axis, parts, count, sizes);
    else
        tc_fail(g, NULL, "the sizes add up to %s, not to axis %d of %s", tc_expr_text(whole), axis,
                tc_type_text(g, &x->type));
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
        split_sizes(g, x, axis, parts, count, own);
    }
    tc_op_leave(g, NULL);
}

tc_tensor tc_narrow_at(tc_site at, tc_tensor x, int axis, tc_dim start, tc_dim length)
{
    tc_graph *g = tc_op_enter(at, "tc_narrow", NULL, "x", 1, &x);
    if (!g)
        return tc_poison();
    const tc_expr *stop = tc_expr_add(tc_dim_expr(g, start), tc_dim_expr(g, length));
    return tc_op_leave(g, tc_slice_at(at, x, axis, start, tc_dim_of(stop), 1));
}

/* Slices of `size` along a constant axis, the last one of what is left; at most `most`. Their number. */
static int slices(tc_graph *g, tc_site at, tc_tensor x, int axis, int64_t whole, int64_t size, int most,
                  tc_tensor *parts)
{
    int64_t count = size > 0 ? whole / size + (whole % size != 0) : 1;
    if (count < 1)
        count = 1; /* of an empty axis: one empty part */
    if (count > most) {
        tc_fail(g, NULL, "%lld parts of %lld do not fit an array of %d", (long long)count, (long long)size, most);
        return 0;
    }
    for (int i = 0; i < (int)count; ++i) {
        int64_t start = i * size, stop = size < whole - start ? start + size : whole;
        parts[i] = tc_slice_at(at, x, axis, tc_dim_int_(start), tc_dim_int_(stop), 1);
    }
    return (int)count;
}

/* size: of a part; NULL for `count` parts of one size */
static int part(tc_graph *g, tc_site at, tc_tensor x, int axis, const int64_t *size, int count, tc_tensor *parts)
{
    int64_t whole;
    axis = tc_axis(g, axis, x->type.rank);
    if (axis < 0)
        return 0;
    if (!tc_expr_value(x->type.shape[axis], &whole)) {
        tc_fail(g, "tc_split and tc_split_sizes take dynamic sizes", "axis %d of %s is not constant", axis,
                tc_type_text(g, &x->type));
        return 0;
    }
    if (count < 1 || (size && *size < 1)) {
        tc_fail(g, NULL, "%s is %lld", count < 1 ? "the number of parts" : "the size",
                (long long)(count < 1 ? count : *size));
        return 0;
    }
    return slices(g, at, x, axis, whole, size ? *size : (whole + count - 1) / count, count, parts);
}

static int parted(tc_site at, const char *name, tc_tensor x, int axis, const int64_t *size, int count, tc_tensor *parts)
{
    for (int i = 0; i < count; ++i)
        parts[i] = tc_poison();
    tc_graph *g = tc_op_enter(at, name, NULL, "x", 1, &x);
    if (!g)
        return count;
    int made = part(g, at, x, axis, size, count, parts);
    tc_op_leave(g, NULL);
    return made;
}

int tc_chunk_at(tc_site at, tc_tensor x, int axis, int count, tc_tensor *parts)
{
    return parted(at, "tc_chunk", x, axis, NULL, count, parts);
}

int tc_split_every_at(tc_site at, tc_tensor x, int axis, int64_t size, int most, tc_tensor *parts)
{
    return parted(at, "tc_split_every", x, axis, &size, most, parts);
}

void tc_tensor_split_at(tc_site at, tc_tensor x, int axis, int count, tc_tensor *parts)
{
    for (int i = 0; i < count; ++i)
        parts[i] = tc_poison();
    tc_graph *g = tc_op_enter(at, "tc_tensor_split", NULL, "x", 1, &x);
    if (!g)
        return;
    int64_t whole, start = 0;
    axis = tc_axis(g, axis, x->type.rank);
    if (axis >= 0 && count < 1)
        tc_fail(g, NULL, "%d parts", count);
    else if (axis >= 0 && !tc_expr_value(x->type.shape[axis], &whole))
        tc_fail(g, "tc_split and tc_split_sizes take dynamic sizes", "axis %d of %s is not constant", axis,
                tc_type_text(g, &x->type));
    else if (axis >= 0)
        for (int i = 0; i < count; ++i) { /* the first whole % count parts have one element more */
            int64_t size = whole / count + (i < whole % count);
            parts[i] = tc_slice_at(at, x, axis, tc_dim_int_(start), tc_dim_int_(start + size), 1);
            start += size;
        }
    tc_op_leave(g, NULL);
}

void tc_tensor_split_places_at(tc_site at, tc_tensor x, int axis, tc_tensor *parts, int count, const tc_dim *places)
{
    for (int i = 0; i <= count; ++i)
        parts[i] = tc_poison();
    tc_graph *g = tc_op_enter(at, "tc_tensor_split_places", NULL, "x", 1, &x);
    if (!g)
        return;
    for (int i = 0; i <= count; ++i) {
        tc_dim from = i ? places[i - 1] : tc_dim_int_(0), to = i < count ? places[i] : tc_dim_int_(TC_END);
        parts[i] = tc_slice_at(at, x, axis, from, to, 1);
        if (tc_is_poison(parts[i]))
            break;
    }
    tc_op_leave(g, NULL);
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

/* -- windows as views ---------------------------------------------------------------------------------------------- */

static tc_tensor sliding(tc_graph *g, tc_site at, tc_tensor x, int axis, int size, int step)
{
    int perm[TC_MAX_RANK], rank = x->type.rank;
    axis = tc_axis(g, axis, rank);
    if (axis < 0)
        return tc_poison();
    if (size < 1 || step < 1 || rank == TC_MAX_RANK ||
        !tc_at_least(g, x->type.shape[axis], tc_expr_const(&g->dims, size))) {
        tc_fail(g, "1 <= size <= that of the axis, step >= 1", "windows of %d every %d along axis %d of %s", size, step,
                axis, tc_type_text(g, &x->type));
        return tc_poison();
    }
    const tc_expr *room = tc_expr_add_int(x->type.shape[axis], -size);
    const tc_expr *count = tc_expr_add_int(tc_expr_floordiv(room, tc_expr_const(&g->dims, step)), 1);
    x = tc_prim_gather(g, x, tc_index_windows(g, at, size, 1, count, step), axis); /* [..., size, count, ...] */
    for (int i = 0; i < rank; ++i)
        perm[i] = i < axis ? i : i + 1;
    perm[rank] = axis;
    return tc_permute_at(at, x, rank + 1, perm);
}

tc_tensor tc_sliding_at(tc_site at, tc_tensor x, int axis, int size, int step)
{
    tc_graph *g = tc_op_enter(at, "tc_sliding", "sliding", "x", 1, &x);
    return g ? tc_op_leave(g, sliding(g, at, x, axis, size, step)) : tc_poison();
}

/* -- joining ------------------------------------------------------------------------------------------------------- */

tc_tensor tc_concat_at(tc_site at, int axis, int count, const tc_tensor *tensors)
{
    tc_graph *g = tc_op_enter_list(at, "tc_concat", NULL, count, tensors);
    if (!g)
        return tc_poison();
    if (count < 1) {
        tc_fail(g, NULL, "no operands");
        return tc_op_leave(g, tc_poison());
    }
    axis = tc_axis(g, axis, tensors[0]->type.rank);
    if (axis < 0)
        return tc_op_leave(g, tc_poison());
    return tc_op_leave(g, count == 1 ? tensors[0] : tc_prim_concat(g, axis, count, tensors));
}

tc_tensor tc_update_slice_at(tc_site at, tc_tensor x, tc_tensor y, int count, const tc_dim *start)
{
    tc_graph *g = tc_op_enter(at, "tc_update_slice", NULL, "x y", 2, (tc_tensor[]){x, y});
    if (!g)
        return tc_poison();
    if (count != x->type.rank) {
        tc_fail(g, "one start an axis", "%d start%s for %s", count, count == 1 ? "" : "s", tc_type_text(g, &x->type));
        return tc_op_leave(g, tc_poison());
    }
    const tc_expr *starts[TC_MAX_RANK];
    for (int i = 0; i < count; ++i)
        starts[i] = tc_dim_expr(g, start[i]);
    return tc_op_leave(g, tc_prim_update_slice(g, x, y, starts));
}

/* Before the new axis is there, so that the message has the operands' own shapes. */
static bool check_stacked(tc_graph *g, int count, const tc_tensor *tensors)
{
    for (int i = 1; i < count; ++i) {
        const tc_type *first = &tensors[0]->type, *x = &tensors[i]->type;
        bool fits = x->dtype == first->dtype && x->rank == first->rank;
        for (int d = 0; fits && d < x->rank; ++d)
            fits = tc_same_dim(g, first->shape[d], x->shape[d]);
        if (!fits) {
            tc_fail(g, "all shapes must agree, and dtypes; tc_concat joins along an axis of the operands",
                    "operand %d does not fit: %s and %s", i, tc_type_text(g, first), tc_type_text(g, x));
            return false;
        }
    }
    return true;
}

tc_tensor tc_stack_at(tc_site at, int axis, int count, const tc_tensor *tensors)
{
    tc_graph *g = tc_op_enter_list(at, "tc_stack", "stack", count, tensors);
    if (!g)
        return tc_poison();
    tc_tensor *parts = tc_arena_alloc(&g->arena, (size_t)(count + 1) * sizeof *parts);
    int rank = count > 0 ? tensors[0]->type.rank + 1 : 1;
    axis = tc_axis(g, axis, rank);
    if (axis < 0 || !check_stacked(g, count, tensors))
        return tc_op_leave(g, tc_poison());
    for (int i = 0; i < count; ++i)
        parts[i] = tc_unsqueeze_at(at, tensors[i], axis);
    return tc_op_leave(g, tc_concat_at(at, axis, count, parts));
}

/* x with y in the range's place. */
static tc_tensor slice_scatter(tc_graph *g, tc_site at, tc_tensor x, tc_tensor y, const range *r, int step)
{
    if (step == 1) {
        const tc_expr *starts[TC_MAX_RANK];
        bool fits = y->type.rank == x->type.rank && y->type.dtype == x->type.dtype;
        for (int i = 0; fits && i < x->type.rank; ++i) {
            starts[i] = i == r->axis ? r->start : g->dims.zero;
            fits = tc_same_dim(g, y->type.shape[i], i == r->axis ? r->size : x->type.shape[i]);
        }
        if (fits)
            return tc_prim_update_slice(g, x, y, starts);
        tc_fail(g, NULL, "%s has no place in axis %d of %s: %s elements from %s", tc_type_text(g, &y->type), r->axis,
                tc_type_text(g, &x->type), tc_expr_text(r->size), tc_expr_text(r->start));
        return tc_poison();
    }
    tc_tensor place = tc_prim_iota(g, 0, &(tc_type){.dtype = TC_I64, .rank = 1, .shape = {r->size}});
    tc_tensor first = tc_dim_value_at(at, g, TC_I64, tc_dim_of(r->start));
    place = ADD(MUL(place, step), first);
    return tc_is_poison(place) ? place : tc_prim_scatter(g, x, place, y, "set", r->axis);
}

tc_tensor tc_slice_scatter_at(tc_site at, tc_tensor x, tc_tensor y, int axis, tc_dim start, tc_dim stop, int step)
{
    tc_graph *g = tc_op_enter(at, "tc_slice_scatter", "slice_scatter", "x y", 2, (tc_tensor[]){x, y});
    range r;
    if (!g)
        return tc_poison();
    if (!read_range(g, x, axis, start, stop, step, &r))
        return tc_op_leave(g, tc_poison());
    return tc_op_leave(g, slice_scatter(g, at, x, y, &r, step));
}

tc_tensor tc_select_scatter_at(tc_site at, tc_tensor x, tc_tensor y, int axis, tc_dim index)
{
    tc_graph *g = tc_op_enter(at, "tc_select_scatter", "select_scatter", "x y", 2, (tc_tensor[]){x, y});
    if (!g)
        return tc_poison();
    axis = tc_axis(g, axis, x->type.rank);
    if (axis < 0 || y->type.rank + 1 != x->type.rank) {
        if (axis >= 0)
            tc_fail(g, "x without the axis", "%s has no place in %s", tc_type_text(g, &y->type),
                    tc_type_text(g, &x->type));
        return tc_op_leave(g, tc_poison());
    }
    const tc_expr *place = bound(g, index, x->type.shape[axis]);
    range r;
    if (!read_range(g, x, axis, tc_dim_of(place), tc_dim_of(tc_expr_add_int(place, 1)), 1, &r))
        return tc_op_leave(g, tc_poison());
    return tc_op_leave(g, slice_scatter(g, at, x, tc_unsqueeze_at(at, y, axis), &r, 1));
}

/* -- padding ------------------------------------------------------------------------------------------------------- */

tc_tensor tc_pad_at(const tc_pad_args *args)
{
    tc_tensor x = args->x;
    tc_graph *g = tc_op_enter(args->at, "tc_pad", "pad", "x", 1, &x);
    if (!g)
        return tc_poison();
    const tc_expr *low[TC_MAX_RANK], *high[TC_MAX_RANK];
    for (int i = 0; i < TC_MAX_RANK; ++i) {
        low[i] = tc_expr_const(&g->dims, args->low[i]);
        high[i] = tc_expr_const(&g->dims, args->high[i]);
        if (i >= x->type.rank && (args->low[i] || args->high[i])) {
            tc_fail(g, NULL, "padding of axis %d of %s", i, tc_type_text(g, &x->type));
            return tc_op_leave(g, tc_poison());
        }
    }
    tc_tensor value = tc_constant_of(g, x->type.dtype, tc_operand_float_(args->value));
    return tc_op_leave(g, tc_is_poison(value) ? value : tc_prim_pad(g, x, value, low, high));
}

tc_tensor tc_pad_axis_at(tc_site at, tc_tensor x, int axis, tc_dim low, tc_dim high, tc_operand value)
{
    tc_graph *g = tc_op_enter_axis(at, "tc_pad_axis", "pad", x, &axis);
    if (!g)
        return tc_poison();
    const tc_expr *lows[TC_MAX_RANK], *highs[TC_MAX_RANK];
    for (int i = 0; i < x->type.rank; ++i) {
        lows[i] = i == axis ? tc_dim_expr(g, low) : g->dims.zero;
        highs[i] = i == axis ? tc_dim_expr(g, high) : g->dims.zero;
    }
    if (value.kind == TC_OPERAND_TENSOR) {
        tc_fail(g, NULL, "the value is a C number, not a tensor");
        return tc_op_leave(g, tc_poison());
    }
    tc_tensor constant = tc_constant_of(g, x->type.dtype, value);
    return tc_op_leave(g, tc_is_poison(constant) ? constant : tc_prim_pad(g, x, constant, lows, highs));
}
