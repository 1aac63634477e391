/* SPDX-License-Identifier: Apache-2.0
 *
 * Views that are made of reshape, permute, expand and slices; windows as views.
 */
#include "windows.h"

#define TENSOR(x) tc_operand_tensor_(x)

/* -- axes joined, split, moved ------------------------------------------------------------------------------------------ */

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
    if (open >= 0 && tc_at_least(g, known, g->dims.one)) { /* of the axis alone, so that empty other axes do not matter */
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

tc_tensor tc_reshape_as_at(tc_site at, tc_tensor x, tc_tensor like)
{
    tc_graph *g = tc_op_enter(at, "tc_reshape_as", NULL, "x like", 2, (tc_tensor[]){x, like});
    return g ? tc_op_leave(g, tc_prim_reshape(g, x, like->type.rank, like->type.shape)) : tc_poison();
}

/* -- parts -------------------------------------------------------------------------------------------------------------- */

tc_tensor tc_narrow_at(tc_site at, tc_tensor x, int axis, tc_dim start, tc_dim length)
{
    tc_graph *g = tc_op_enter(at, "tc_narrow", NULL, "x", 1, &x);
    if (!g)
        return tc_poison();
    const tc_expr *stop = tc_expr_add(tc_dim_expr(g, start), tc_dim_expr(g, length));
    return tc_op_leave(g, tc_slice_at(at, x, axis, start, tc_dim_of(stop), 1));
}

/* Slices of `size` along a constant axis, the last one of what is left; at most `most`. Their number. */
static int slices(tc_graph *g, tc_site at, tc_tensor x, int axis, int64_t whole, int64_t size, int most, tc_tensor *parts)
{
    int64_t count = size > 0 ? (whole + size - 1) / size : 1;
    if (count < 1)
        count = 1; /* of an empty axis: one empty part */
    if (count > most) {
        tc_fail(g, NULL, "%lld parts of %lld do not fit an array of %d", (long long)count, (long long)size, most);
        return 0;
    }
    for (int i = 0; i < (int)count; ++i) {
        int64_t start = i * size, stop = start + size < whole ? start + size : whole;
        parts[i] = tc_slice_at(at, x, axis, tc_dim_int_(start), tc_dim_int_(stop), 1);
    }
    return (int)count;
}

static int part(tc_graph *g, tc_site at, tc_tensor x, int axis, int64_t size, int count, tc_tensor *parts)
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
    if (count < 1 || size < 0) {
        tc_fail(g, NULL, "%s is %lld", count < 1 ? "the number of parts" : "the size", (long long)(count < 1 ? count : size));
        return 0;
    }
    return slices(g, at, x, axis, whole, size ? size : (whole + count - 1) / count, count, parts);
}

static int parted(tc_site at, const char *name, tc_tensor x, int axis, int64_t size, int count, tc_tensor *parts)
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
    return parted(at, "tc_chunk", x, axis, 0, count, parts);
}

int tc_split_every_at(tc_site at, tc_tensor x, int axis, int64_t size, int most, tc_tensor *parts)
{
    return parted(at, "tc_split_every", x, axis, size > 0 ? size : -1, most, parts);
}

/* -- windows as views ------------------------------------------------------------------------------------------------------ */

static tc_tensor sliding(tc_graph *g, tc_site at, tc_tensor x, int axis, int size, int step)
{
    int perm[TC_MAX_RANK], rank = x->type.rank;
    axis = tc_axis(g, axis, rank);
    if (axis < 0)
        return tc_poison();
    if (size < 1 || step < 1 || rank == TC_MAX_RANK || !tc_at_least(g, x->type.shape[axis], tc_expr_const(&g->dims, size))) {
        tc_fail(g, "1 <= size <= that of the axis, step >= 1", "windows of %d every %d along axis %d of %s", size, step, axis,
                tc_type_text(g, &x->type));
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

/* -- channels and pixels --------------------------------------------------------------------------------------------------- */

/* x[..., c*r*r, h, w] -> [..., c, h*r, w*r], and back */
static tc_tensor shuffle_pixels(tc_graph *g, tc_tensor x, int r, bool back)
{
    int rank = x->type.rank, lead = rank - 3;
    const tc_expr *const *s = x->type.shape + lead, *split[TC_MAX_RANK], *joined[TC_MAX_RANK];
    const tc_expr *factor = tc_expr_const(&g->dims, r);
    if (rank < 3 || rank + 2 > TC_MAX_RANK || r < 1) {
        tc_fail(g, "[..., c, h, w]", "a factor of %d for %s", r, tc_type_text(g, &x->type));
        return tc_poison();
    }
    const tc_expr *channels = tc_expr_floordiv(s[0], tc_expr_mul_int(factor, r));
    const tc_expr *height = tc_expr_floordiv(s[1], factor), *width = tc_expr_floordiv(s[2], factor);
    bool fits = back ? tc_same_dim(g, s[1], tc_expr_mul_int(height, r)) && tc_same_dim(g, s[2], tc_expr_mul_int(width, r))
                     : tc_same_dim(g, s[0], tc_expr_mul_int(channels, (int64_t)r * r));
    if (!fits) {
        tc_fail(g, NULL, back ? "height and width of %s are no multiples of %d"
                              : "the channels of %s are no multiple of the square of %d", tc_type_text(g, &x->type), r);
        return tc_poison();
    }
    const tc_expr *const forth[] = {channels, factor, factor, s[1], s[2]};
    const tc_expr *const backward[] = {s[0], height, factor, width, factor};
    static const int forth_perm[] = {0, 3, 1, 4, 2}, back_perm[] = {0, 2, 4, 1, 3};
    int perm[TC_MAX_RANK];
    for (int i = 0; i < lead; ++i) {
        split[i] = joined[i] = x->type.shape[i];
        perm[i] = i;
    }
    for (int i = 0; i < 5; ++i) {
        split[lead + i] = (back ? backward : forth)[i];
        perm[lead + i] = lead + (back ? back_perm : forth_perm)[i];
    }
    joined[lead] = back ? tc_expr_mul_int(s[0], (int64_t)r * r) : channels;
    joined[lead + 1] = back ? height : tc_expr_mul_int(s[1], r);
    joined[lead + 2] = back ? width : tc_expr_mul_int(s[2], r);
    x = tc_prim_transpose(g, tc_prim_reshape(g, x, rank + 2, split), perm);
    return tc_prim_reshape(g, x, rank, joined);
}

tc_tensor tc_pixel_shuffle_at(tc_site at, tc_tensor x, int factor)
{
    tc_graph *g = tc_op_enter(at, "tc_pixel_shuffle", "pixel_shuffle", "x", 1, &x);
    return g ? tc_op_leave(g, shuffle_pixels(g, x, factor, false)) : tc_poison();
}

tc_tensor tc_pixel_unshuffle_at(tc_site at, tc_tensor x, int factor)
{
    tc_graph *g = tc_op_enter(at, "tc_pixel_unshuffle", "pixel_unshuffle", "x", 1, &x);
    return g ? tc_op_leave(g, shuffle_pixels(g, x, factor, true)) : tc_poison();
}

tc_tensor tc_channel_shuffle_at(tc_site at, tc_tensor x, int groups)
{
    tc_graph *g = tc_op_enter(at, "tc_channel_shuffle", "channel_shuffle", "x", 1, &x);
    if (!g)
        return tc_poison();
    int64_t channels;
    if (x->type.rank < 2 || x->type.rank == TC_MAX_RANK || groups < 1 || !tc_expr_value(x->type.shape[1], &channels) ||
        channels % groups) {
        tc_fail(g, "[n, c, ...], groups divides c", "%d groups of the channels of %s", groups, tc_type_text(g, &x->type));
        return tc_op_leave(g, tc_poison());
    }
    tc_dim sizes[] = {tc_dim_int_(groups), tc_dim_int_(channels / groups)};
    tc_tensor parts = tc_transpose_at(at, tc_unflatten_at(at, x, 1, 2, sizes), 1, 2);
    return tc_op_leave(g, tc_flatten_range_at(at, parts, 1, 2));
}
