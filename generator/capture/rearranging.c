/* SPDX-License-Identifier: Apache-2.0
 *
 * The same elements in other places, or several times.
 */
#include "compose.h"

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
    i = ADD(MUL(i, step), start);
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
                                      tc_dim_of(tc_expr_const(&g->dims, offset < 0 ? most : 0)), tc_operand_int_(0));
    if (tc_is_poison(spread))
        return spread;
    const tc_expr *size = spread->type.shape[rank - 1];
    const tc_type plane = {.dtype = TC_I64, .rank = 2, .shape = {size, size}};
    tc_tensor row = tc_prim_iota(g, 0, &plane), column = tc_prim_iota(g, 1, &plane);
    tc_tensor on = EQ(column, ADD(row, offset));
    return WHERE(on, tc_unsqueeze_at(at, spread, rank - 1), 0);
}

tc_tensor tc_diag_at(tc_site at, tc_tensor x, int offset)
{
    tc_graph *g = tc_op_enter(at, "tc_diag", "diag", "x", 1, &x);
    return g ? tc_op_leave(g, diag(g, at, x, offset)) : tc_poison();
}

/* x where column - row <= diagonal (upper: >=), else 0. */
static tc_tensor triangle(tc_graph *g, tc_site at, tc_tensor x, int diagonal, bool upper)
{
    int rank = x->type.rank;
    if (rank < 2) {
        tc_fail(g, NULL, "needs rank 2 or more, not %s", tc_type_text(g, &x->type));
        return tc_poison();
    }
    tc_type plane = {.dtype = TC_I64, .rank = 2, .shape = {x->type.shape[rank - 2], x->type.shape[rank - 1]}};
    tc_tensor row = tc_prim_iota(g, 0, &plane), column = tc_prim_iota(g, 1, &plane);
    if (diagonal)
        row = ADD(row, diagonal);
    tc_tensor keep = upper ? GE(column, row) : LE(column, row);
    return WHERE(keep, x, 0);
}

tc_tensor tc_tril_at(tc_site at, tc_tensor x, int diagonal)
{
    tc_graph *g = tc_op_enter(at, "tc_tril", "tril", "x", 1, &x);
    return g ? tc_op_leave(g, triangle(g, at, x, diagonal, false)) : tc_poison();
}

tc_tensor tc_triu_at(tc_site at, tc_tensor x, int diagonal)
{
    tc_graph *g = tc_op_enter(at, "tc_triu", "triu", "x", 1, &x);
    return g ? tc_op_leave(g, triangle(g, at, x, diagonal, true)) : tc_poison();
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
