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
    int64_t constant;
    if (tc_expr_value(size, &constant))
        shift = constant ? (int)(shift % constant) : 0;
    if (shift == 0)
        return tc_op_leave(g, x);
    if (!tc_at_least(g, size, tc_expr_const(&g->dims, shift < 0 ? -(int64_t)shift : shift))) {
        tc_fail(g, NULL, "a shift of %d is more than axis %d of %s", shift, axis, tc_type_text(g, &x->type));
        return tc_op_leave(g, tc_poison());
    }
    /* what comes first in the result begins here in x */
    const int64_t back = -(int64_t)shift;
    const tc_dim first = tc_dim_of(shift > 0 ? tc_expr_add_int(size, back) : tc_expr_const(&g->dims, back));
    tc_tensor parts[2];
    parts[0] = tc_slice_at(at, x, axis, first, tc_dim_of(size), 1);
    parts[1] = tc_slice_at(at, x, axis, tc_dim_of(g->dims.zero), first, 1);
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

tc_tensor tc_tile_at(tc_site at, tc_tensor x, int count, const tc_dim *times)
{
    tc_graph *g = tc_op_enter(at, "tc_tile", "tile", "x", 1, &x);
    if (!g)
        return tc_poison();
    const int rank = count > x->type.rank ? count : x->type.rank;
    const tc_expr *shape[TC_MAX_RANK];
    if (rank > TC_MAX_RANK) {
        tc_fail(g, NULL, "%d dims; %d is the most", rank, TC_MAX_RANK);
        return tc_op_leave(g, tc_poison());
    }
    for (int i = 0; i < rank; ++i)
        shape[i] = i < rank - x->type.rank ? g->dims.one : x->type.shape[i - (rank - x->type.rank)];
    tc_tensor out = x->type.rank == rank ? x : tc_prim_reshape(g, x, rank, shape);
    for (int i = 0; i < count; ++i)
        if (!tc_expr_is(tc_dim_expr(g, times[i]), 1))
            out = tc_repeat_at(at, out, times[i], rank - count + i, false);
    return tc_op_leave(g, out);
}

tc_tensor tc_rot90_at(tc_site at, tc_tensor x, int turns, int a, int b)
{
    tc_graph *g = tc_op_enter(at, "tc_rot90", "rot90", "x", 1, &x);
    if (!g)
        return tc_poison();
    a = tc_axis(g, a, x->type.rank);
    b = a < 0 ? a : tc_axis(g, b, x->type.rank);
    if (b >= 0 && a == b)
        tc_fail(g, NULL, "both axes are %d", a);
    if (b < 0 || a == b)
        return tc_op_leave(g, tc_poison());
    turns = (turns % 4 + 4) % 4;
    const int both[] = {a < b ? a : b, a < b ? b : a};
    if (turns == 2)
        x = tc_prim_reverse(g, x, 2, both);
    else if (turns)
        x = tc_transpose_at(at, tc_prim_reverse(g, x, 1, turns == 1 ? &b : &a), a, b);
    return tc_op_leave(g, x);
}

/* Of each sequence of the batch axis the first `lengths` steps backwards: the place of every element along time. */
static tc_tensor reverse_sequence(tc_graph *g, tc_site at, tc_tensor x, tc_tensor lengths, int time, int batch)
{
    const bool is_index = lengths->type.dtype == TC_I32 || lengths->type.dtype == TC_I64;
    if (time == batch || !is_index || lengths->type.rank != 1 ||
        !tc_same_dim(g, lengths->type.shape[0], x->type.shape[batch])) {
        tc_fail(g, "i32 or i64, one for each of the batch axis", "lengths %s for axes %d and %d of %s",
                tc_type_text(g, &lengths->type), time, batch, tc_type_text(g, &x->type));
        return tc_poison();
    }
    const tc_expr *steps = x->type.shape[time], *shape[TC_MAX_RANK];
    const tc_type plane = {.dtype = TC_I64, .rank = 2, .shape = {steps, x->type.shape[batch]}};
    tc_tensor iteration = tc_prim_iota(g, 0, &plane), row = tc_prim_iota(g, 1, &plane);
    tc_tensor length = tc_cast_at(at, lengths, TC_I64),
              count = tc_dim_value_at(at, g, TC_I64, tc_dim_of(plane.shape[1]));
    tc_tensor within = LT(iteration, length), back = SUB(SUB(length, 1), iteration);
    tc_tensor place = ADD(MUL(WHERE(within, back, iteration), count), row);
    /* both axes first and joined: [steps * batch, others...] */
    int perm[TC_MAX_RANK] = {time, batch}, undo[TC_MAX_RANK], rank = 2;
    for (int i = 0; i < x->type.rank; ++i)
        if (i != time && i != batch)
            perm[rank++] = i;
    for (int i = 0; i < rank; ++i)
        undo[perm[i]] = i;
    tc_tensor front = tc_permute_at(at, x, rank, perm);
    shape[0] = tc_expr_mul(plane.shape[0], plane.shape[1]);
    for (int i = 2; i < rank; ++i)
        shape[i - 1] = front->type.shape[i];
    tc_tensor rows = tc_prim_reshape(g, front, rank - 1, shape);
    if (tc_is_poison(place) || tc_is_poison(rows))
        return tc_poison();
    return tc_permute_at(at, tc_prim_gather(g, rows, place, 0), rank, undo);
}

tc_tensor tc_reverse_sequence_at(tc_site at, tc_tensor x, tc_tensor lengths, int time_axis, int batch_axis)
{
    tc_graph *g = tc_op_enter(at, "tc_reverse_sequence", "reverse_sequence", "x lengths", 2, (tc_tensor[]){x, lengths});
    if (!g)
        return tc_poison();
    int time = tc_axis(g, time_axis, x->type.rank), batch = time < 0 ? time : tc_axis(g, batch_axis, x->type.rank);
    return tc_op_leave(g, batch < 0 ? tc_poison() : reverse_sequence(g, at, x, lengths, time, batch));
}

/* -- of several tensors -------------------------------------------------------------------------------------------- */

static tc_tensor kron(tc_graph *g, tc_site at, tc_tensor a, tc_tensor b)
{
    const int rank = a->type.rank > b->type.rank ? a->type.rank : b->type.rank;
    const tc_expr *outer[TC_MAX_RANK], *inner[TC_MAX_RANK], *shape[TC_MAX_RANK];
    if (2 * rank > TC_MAX_RANK) {
        tc_fail(g, NULL, "%s and %s: at most %d dims", tc_type_text(g, &a->type), tc_type_text(g, &b->type),
                TC_MAX_RANK / 2);
        return tc_poison();
    }
    for (int i = 0; i < rank; ++i) {
        outer[2 * i] = i < rank - a->type.rank ? g->dims.one : a->type.shape[i - rank + a->type.rank];
        inner[2 * i + 1] = i < rank - b->type.rank ? g->dims.one : b->type.shape[i - rank + b->type.rank];
        inner[2 * i] = outer[2 * i + 1] = g->dims.one;
        shape[i] = tc_expr_mul(outer[2 * i], inner[2 * i + 1]);
    }
    a = tc_prim_reshape(g, a, 2 * rank, outer);
    b = tc_prim_reshape(g, b, 2 * rank, inner);
    tc_tensor product = MUL(a, b);
    return tc_is_poison(product) ? product : tc_prim_reshape(g, product, rank, shape);
}

tc_tensor tc_kron_at(tc_site at, tc_tensor a, tc_tensor b)
{
    tc_graph *g = tc_op_enter(at, "tc_kron", "kron", "a b", 2, (tc_tensor[]){a, b});
    return g ? tc_op_leave(g, kron(g, at, a, b)) : tc_poison();
}

/* Every matrix among zeros as wide as all of them, one below the other. */
static tc_tensor block_diag(tc_graph *g, tc_site at, int count, const tc_tensor *blocks)
{
    const tc_expr *width = g->dims.zero, *before = g->dims.zero;
    tc_tensor *rows = tc_arena_alloc(&g->arena, (size_t)(count + 1) * sizeof *rows);
    for (int i = 0; i < count; ++i) {
        if (blocks[i]->type.rank != 2) {
            tc_fail(g, "tc_reshape makes one", "operand %d is no matrix: %s", i, tc_type_text(g, &blocks[i]->type));
            return tc_poison();
        }
        width = tc_expr_add(width, blocks[i]->type.shape[1]);
    }
    for (int i = 0; i < count; ++i) {
        const tc_expr *columns = blocks[i]->type.shape[1];
        const tc_expr *behind = tc_expr_sub(width, tc_expr_add(before, columns));
        rows[i] = tc_pad_axis_at(at, blocks[i], 1, tc_dim_of(before), tc_dim_of(behind), tc_operand_int_(0));
        before = tc_expr_add(before, columns);
    }
    return tc_concat_at(at, 0, count, rows);
}

tc_tensor tc_block_diag_at(tc_site at, int count, const tc_tensor *blocks)
{
    tc_graph *g = tc_current_graph();
    for (int i = 0; i < count; ++i) {
        if (!tc_op_enter(at, "tc_block_diag", NULL, "x", 1, &blocks[i]))
            return tc_poison();
        tc_op_leave(g, NULL);
    }
    return tc_op_enter_graph(g, at, "tc_block_diag", "block_diag") ? tc_op_leave(g, block_diag(g, at, count, blocks))
                                                                   : tc_poison();
}

/* -- diagonals ----------------------------------------------------------------------------------------------------- */

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
    const tc_expr *first = offset < 0 ? tc_expr_mul(tc_expr_const(&g->dims, -offset), m)
                                      : tc_expr_const(&g->dims, offset);
    tc_tensor start = tc_dim_value_at(at, g, TC_I64, tc_dim_of(first));
    i = ADD(MUL(i, step), start);
    return tc_is_poison(i) ? i : tc_prim_gather(g, joined, i, rank - 2);
}

tc_tensor tc_diagonal_at(tc_site at, tc_tensor x, int offset)
{
    tc_graph *g = tc_op_enter(at, "tc_diagonal", "diagonal", "x", 1, &x);
    return g ? tc_op_leave(g, diagonal(g, at, x, offset)) : tc_poison();
}

tc_tensor tc_trace_at(tc_site at, tc_tensor x)
{
    tc_graph *g = tc_op_enter(at, "tc_trace", "trace", "x", 1, &x);
    if (!g)
        return tc_poison();
    const int last = x->type.rank - 2;
    tc_tensor elements = diagonal(g, at, x, 0);
    return tc_op_leave(g, tc_is_poison(elements) ? elements : tc_sum_at(at, elements, false, 1, &last));
}

/* Where a plane of these sizes has column == row + offset. */
static tc_tensor on_diagonal(tc_graph *g, tc_site at, const tc_expr *rows, const tc_expr *columns, int offset)
{
    const tc_type plane = {.dtype = TC_I64, .rank = 2, .shape = {rows, columns}};
    tc_tensor row = tc_prim_iota(g, 0, &plane), column = tc_prim_iota(g, 1, &plane);
    return EQ(column, ADD(row, offset));
}

tc_tensor tc_diagonal_scatter_at(tc_site at, tc_tensor x, tc_tensor y, int offset)
{
    tc_graph *g = tc_op_enter(at, "tc_diagonal_scatter", "diagonal_scatter", "x y", 2, (tc_tensor[]){x, y});
    if (!g)
        return tc_poison();
    tc_tensor there = diagonal(g, at, x, offset);
    if (tc_is_poison(there))
        return tc_op_leave(g, there);
    bool fits = y->type.dtype == x->type.dtype && y->type.rank == there->type.rank;
    for (int i = 0; fits && i < y->type.rank; ++i)
        fits = tc_same_dim(g, y->type.shape[i], there->type.shape[i]);
    if (!fits) {
        tc_fail(g, NULL, "%s is not diagonal %d of %s: %s", tc_type_text(g, &y->type), offset,
                tc_type_text(g, &x->type), tc_type_text(g, &there->type));
        return tc_op_leave(g, tc_poison());
    }
    /* y[j - offset] stands in column j, and is padded to a whole row */
    const int last = x->type.rank - 1;
    const tc_expr *low = tc_expr_const(&g->dims, offset > 0 ? offset : 0), *columns = x->type.shape[last];
    const tc_expr *high = tc_expr_sub(columns, tc_expr_add(low, y->type.shape[last - 1]));
    tc_tensor spread = tc_pad_axis_at(at, y, last - 1, tc_dim_of(low), tc_dim_of(high), tc_operand_int_(0));
    tc_tensor on = on_diagonal(g, at, x->type.shape[last - 1], columns, offset);
    spread = tc_unsqueeze_at(at, spread, last - 1);
    return tc_op_leave(g, WHERE(on, spread, x));
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
    tc_tensor on = on_diagonal(g, at, size, size, offset);
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

/* -- channels and pixels ------------------------------------------------------------------------------------------- */

/* x[..., c*r*r, h, w] -> [..., c, h*r, w*r], and back; blocks: the channels are [r, r, c] instead of [c, r, r] */
static tc_tensor shuffle_pixels(tc_graph *g, tc_tensor x, int r, bool back, bool blocks)
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
    bool fits = back ? tc_same_dim(g, s[1], tc_expr_mul_int(height, r)) &&
                           tc_same_dim(g, s[2], tc_expr_mul_int(width, r))
                     : tc_same_dim(g, s[0], tc_expr_mul_int(channels, (int64_t)r * r));
    if (!fits) {
        tc_fail(g, NULL,
                back ? "height and width of %s are no multiples of %d"
                     : "the channels of %s are no multiple of the square of %d",
                tc_type_text(g, &x->type), r);
        return tc_poison();
    }
    const tc_expr *const forth[] = {blocks ? factor : channels, factor, blocks ? channels : factor, s[1], s[2]};
    const tc_expr *const backward[] = {s[0], height, factor, width, factor};
    static const int forth_perms[2][5] = {{0, 3, 1, 4, 2}, {2, 3, 0, 4, 1}},
                     back_perms[2][5] = {{0, 2, 4, 1, 3}, {2, 4, 0, 1, 3}};
    int perm[TC_MAX_RANK];
    for (int i = 0; i < lead; ++i) {
        split[i] = joined[i] = x->type.shape[i];
        perm[i] = i;
    }
    for (int i = 0; i < 5; ++i) {
        split[lead + i] = (back ? backward : forth)[i];
        perm[lead + i] = lead + (back ? back_perms : forth_perms)[blocks][i];
    }
    joined[lead] = back ? tc_expr_mul_int(s[0], (int64_t)r * r) : channels;
    joined[lead + 1] = back ? height : tc_expr_mul_int(s[1], r);
    joined[lead + 2] = back ? width : tc_expr_mul_int(s[2], r);
    x = tc_prim_transpose(g, tc_prim_reshape(g, x, rank + 2, split), perm);
    return tc_prim_reshape(g, x, rank, joined);
}

static tc_tensor shuffled(tc_site at, const char *name, tc_tensor x, int factor, bool back, bool blocks)
{
    tc_graph *g = tc_op_enter(at, name, name + 3, "x", 1, &x);
    return g ? tc_op_leave(g, shuffle_pixels(g, x, factor, back, blocks)) : tc_poison();
}

tc_tensor tc_pixel_shuffle_at(tc_site at, tc_tensor x, int factor)
{
    return shuffled(at, "tc_pixel_shuffle", x, factor, false, false);
}

tc_tensor tc_pixel_unshuffle_at(tc_site at, tc_tensor x, int factor)
{
    return shuffled(at, "tc_pixel_unshuffle", x, factor, true, false);
}

tc_tensor tc_depth_to_space_at(tc_site at, tc_tensor x, int factor)
{
    return shuffled(at, "tc_depth_to_space", x, factor, false, true);
}

tc_tensor tc_space_to_depth_at(tc_site at, tc_tensor x, int factor)
{
    return shuffled(at, "tc_space_to_depth", x, factor, true, true);
}

tc_tensor tc_channel_shuffle_at(tc_site at, tc_tensor x, int groups)
{
    tc_graph *g = tc_op_enter(at, "tc_channel_shuffle", "channel_shuffle", "x", 1, &x);
    if (!g)
        return tc_poison();
    int64_t channels;
    if (x->type.rank < 2 || x->type.rank == TC_MAX_RANK || groups < 1 || !tc_expr_value(x->type.shape[1], &channels) ||
        channels % groups) {
        tc_fail(g, "[n, c, ...], groups divides c", "%d groups of the channels of %s", groups,
                tc_type_text(g, &x->type));
        return tc_op_leave(g, tc_poison());
    }
    tc_dim sizes[] = {tc_dim_int_(groups), tc_dim_int_(channels / groups)};
    tc_tensor parts = tc_transpose_at(at, tc_unflatten_at(at, x, 1, 2, sizes), 1, 2);
    return tc_op_leave(g, tc_flatten_range_at(at, parts, 1, 2));
}
