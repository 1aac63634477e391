/* SPDX-License-Identifier: Apache-2.0
 *
 * Sampling images and volumes at the points of a grid, and grids of affine maps.
 */
#include "compose.h"
#include "resampling.h"
#include "windows.h"

typedef struct sampling {
    tc_graph *g;
    tc_site at;
    int dims;
    tc_tensor x;    /* [n*size, c] */
    tc_tensor base; /* i64[n, points...]: the first element of each image */
    const tc_expr *sizes[TC_MAX_WINDOW];
    tc_dtype dtype; /* of the coordinates */
    bool align_corners;
    tc_grid_padding padding;
} sampling;

/* -- coordinates --------------------------------------------------------------------------------------------------- */

/* low..high mirrored over and over: twice the bounds' values, so that halves are whole. */
static tc_tensor reflect(const sampling *s, tc_tensor x, const tc_expr *twice_low, const tc_expr *twice_high)
{
    tc_site at = s->at;
    tc_tensor low = MUL(tc_size_value(s->g, s->dtype, twice_low), 0.5);
    tc_tensor span = MUL(tc_size_value(s->g, s->dtype, tc_expr_sub(twice_high, twice_low)), 0.5);
    tc_tensor distance = tc_abs_at(at, SUB(x, low)), flips = tc_floor_at(at, DIV(distance, span));
    tc_tensor extra = SUB(distance, MUL(flips, span));
    tc_tensor halves = MUL(flips, 0.5), even = EQ(tc_floor_at(at, halves), halves);
    tc_tensor forth = ADD(extra, low), back = ADD(SUB(span, extra), low);
    return WHERE(even, forth, back);
}

/* Coordinates of the grid, -1..1 along axis i, as places in the image. */
static tc_tensor places(const sampling *s, tc_tensor grid, int i)
{
    tc_site at = s->at;
    tc_tensor x = ADD(tc_select_at(at, grid, s->dims + 1, tc_dim_int_(s->dims - 1 - i)), 1);
    tc_tensor size = tc_size_value(s->g, s->dtype, tc_expr_add_int(s->sizes[i], s->align_corners ? -1 : 0));
    if (s->align_corners)
        return MUL(MUL(x, 0.5), size);
    return MUL(SUB(MUL(x, size), 1), 0.5);
}

/* Places outside of axis i as its border or its mirror image has them; as they are where zeros lie outside. */
static tc_tensor bordered(const sampling *s, tc_tensor x, int i)
{
    tc_site at = s->at;
    const tc_expr *size = s->sizes[i], *twice = tc_expr_mul_int(size, 2);
    if (s->padding == TC_GRID_ZEROS)
        return x;
    if (s->padding == TC_GRID_REFLECTION) {
        if (!s->align_corners)
            x = reflect(s, x, tc_expr_const(&s->g->dims, -1), tc_expr_add_int(twice, -1));
        else
            x = reflect(s, x, s->g->dims.zero, tc_expr_add_int(twice, -2));
    }
    tc_tensor last = tc_size_value(s->g, s->dtype, tc_expr_add_int(size, -1));
    if (s->padding == TC_GRID_REFLECTION && s->align_corners && !tc_expr_nonnegative(tc_expr_add_int(size, -2))) {
        tc_tensor single = EQ(last, 0); /* of one place there is no mirror image but itself */
        x = WHERE(single, 0, x);
    }
    return MINIMUM(MAXIMUM(x, 0), last);
}

/* Whole numbers that lie in the axis; of NaN none. */
static tc_tensor inside(const sampling *s, tc_tensor x, int i)
{
    tc_site at = s->at;
    tc_tensor above = GE(x, 0), size = tc_size_value(s->g, s->dtype, s->sizes[i]), below = LT(x, size);
    return AND(above, below);
}

static tc_tensor limited(const sampling *s, tc_tensor x, int i)
{
    tc_site at = s->at;
    tc_tensor last = tc_size_value(s->g, TC_I64, tc_expr_add_int(s->sizes[i], -1));
    return MINIMUM(MAXIMUM(tc_cast_at(at, x, TC_I64), 0), last);
}

/* -- pixels -------------------------------------------------------------------------------------------------------- */

/* v[n, points...] beside every channel: [n, points..., c] */
static tc_tensor beside(const sampling *s, tc_tensor v, tc_tensor like)
{
    return tc_prim_broadcast(s->g, v, s->dims + 2, like->type.shape, (const int[]){0, 1, 2, 3});
}

/* The pixels [n, points..., c] at whole coordinates, one an axis, times the weight (NULL: 1), 0 outside. */
static tc_tensor pixels(const sampling *s, const tc_tensor *where, tc_tensor weight)
{
    tc_site at = s->at;
    tc_tensor index = limited(s, where[0], 0), keep = inside(s, where[0], 0);
    for (int i = 1; i < s->dims; ++i) {
        tc_tensor size = tc_size_value(s->g, TC_I64, s->sizes[i]), row = MUL(index, size);
        tc_tensor place = limited(s, where[i], i), within = inside(s, where[i], i);
        index = ADD(row, place);
        keep = AND(keep, within);
    }
    tc_tensor found = tc_prim_gather(s->g, s->x, ADD(s->base, index), 0);
    if (tc_is_poison(found) || tc_is_poison(keep))
        return tc_poison();
    if (weight) {
        tc_tensor spread = beside(s, weight, found);
        found = MUL(found, spread);
    }
    keep = beside(s, keep, found);
    return WHERE(keep, found, 0);
}

static tc_tensor nearest(const sampling *s, const tc_tensor *where)
{
    tc_tensor rounded[TC_MAX_WINDOW];
    for (int i = 0; i < s->dims; ++i)
        rounded[i] = tc_round_at(s->at, bordered(s, where[i], i));
    return pixels(s, rounded, NULL);
}

/* The corners around a place, each times its distances to the opposite one. */
static tc_tensor linear(const sampling *s, const tc_tensor *where)
{
    tc_site at = s->at;
    tc_tensor ends[TC_MAX_WINDOW][2], weights[TC_MAX_WINDOW][2], sum = NULL; /* the lower, the upper */
    for (int i = 0; i < s->dims; ++i) {
        tc_tensor x = bordered(s, where[i], i);
        ends[i][0] = tc_floor_at(at, x);
        ends[i][1] = ADD(ends[i][0], 1);
        weights[i][0] = SUB(ends[i][1], x);
        weights[i][1] = SUB(x, ends[i][0]);
    }
    for (int corner = 0; corner < 1 << s->dims; ++corner) {
        tc_tensor corners[TC_MAX_WINDOW], weight = NULL;
        for (int i = s->dims - 1; i >= 0; --i) {
            int upper = corner >> (s->dims - 1 - i) & 1;
            corners[i] = ends[i][upper];
            weight = weight ? MUL(weight, weights[i][upper]) : weights[i][upper];
        }
        tc_tensor term = pixels(s, corners, weight);
        sum = sum ? ADD(sum, term) : term;
    }
    return sum;
}

/* Four rows of four pixels: each row's sum, then theirs. */
static tc_tensor cubic(const sampling *s, const tc_tensor *where)
{
    tc_site at = s->at;
    tc_tensor low[2], weights[2][4], sum = NULL;
    for (int i = 0; i < 2; ++i) {
        low[i] = tc_floor_at(at, where[i]);
        tc_cubic_weights(at, SUB(where[i], low[i]), weights[i]);
    }
    for (int row = 0; row < 4; ++row) {
        tc_tensor line = NULL, y = bordered(s, ADD(low[0], row - 1), 0);
        for (int column = 0; column < 4; ++column) {
            tc_tensor x = bordered(s, ADD(low[1], column - 1), 1);
            tc_tensor term = pixels(s, (const tc_tensor[]){y, x}, weights[1][column]);
            line = line ? ADD(line, term) : term;
        }
        if (tc_is_poison(line))
            return line;
        tc_tensor weight = beside(s, weights[0][row], line), term = MUL(line, weight);
        sum = sum ? ADD(sum, term) : term;
    }
    return sum;
}

static bool check(tc_graph *g, const tc_grid_sample_args *args)
{
    const tc_type *x = &args->x->type, *grid = &args->grid->type;
    int dims = x->rank - 2;
    if (dims < 2 || dims > TC_MAX_WINDOW || grid->rank != x->rank || !tc_expr_is(grid->shape[dims + 1], dims) ||
        !tc_same_dim(g, x->shape[0], grid->shape[0])) {
        tc_fail(g, "x[n, c, h, w], grid[n, h', w', 2], or x[n, c, d, h, w], grid[n, d', h', w', 3]",
                "shapes do not fit: %s at %s", tc_type_text(g, x), tc_type_text(g, grid));
        return false;
    }
    if (!tc_dtype_is_float(x->dtype) || grid->dtype != x->dtype) {
        tc_fail(g, "convert with tc_cast(x, TC_F32)", "needs floats of one dtype: %s at %s", tc_type_text(g, x),
                tc_type_text(g, grid));
        return false;
    }
    for (int i = 0; i < dims; ++i) {
        if (!tc_at_least(g, x->shape[2 + i], g->dims.one)) {
            tc_fail(g, NULL, "the image is empty: %s", tc_type_text(g, x));
            return false;
        }
    }
    if (args->cubic && (args->nearest || dims != 2)) {
        tc_fail(g, NULL, args->nearest ? "both .nearest and .cubic" : ".cubic samples images, not volumes");
        return false;
    }
    return true;
}

static tc_tensor sample(tc_graph *g, const tc_grid_sample_args *args)
{
    tc_site at = args->at;
    tc_tensor x = args->x, grid = args->grid, where[TC_MAX_WINDOW];
    if (!check(g, args))
        return tc_poison();
    tc_dtype dtype = x->type.dtype;
    int dims = x->type.rank - 2, last[TC_MAX_RANK] = {0}, back[TC_MAX_RANK] = {0, dims + 1};
    grid = tc_prim_widen(g, grid);
    if (!args->nearest)
        x = tc_prim_widen(g, x);
    sampling s = {.g = g,
                  .at = at,
                  .dims = dims,
                  .dtype = grid->type.dtype,
                  .align_corners = args->align_corners,
                  .padding = args->padding};
    const tc_expr *size = g->dims.one;
    tc_type points = {.dtype = TC_I64, .rank = dims + 1, .shape = {x->type.shape[0]}};
    for (int i = 0; i < dims; ++i) {
        s.sizes[i] = x->type.shape[2 + i];
        size = tc_expr_mul(size, s.sizes[i]);
        points.shape[1 + i] = grid->type.shape[1 + i];
        last[1 + i] = 2 + i;
        back[2 + i] = 1 + i;
    }
    last[dims + 1] = 1;
    const tc_expr *flat[] = {tc_expr_mul(x->type.shape[0], size), x->type.shape[1]};
    s.x = tc_prim_reshape(g, tc_permute_at(at, x, dims + 2, last), 2, flat);
    tc_tensor elements = tc_size_value(g, TC_I64, size);
    s.base = MUL(tc_prim_iota(g, 0, &points), elements);
    for (int i = 0; i < dims; ++i)
        where[i] = places(&s, grid, i);
    tc_tensor out = (args->nearest ? nearest : args->cubic ? cubic : linear)(&s, where);
    return tc_is_poison(out) ? out : tc_prim_narrow(g, tc_permute_at(at, out, dims + 2, back), dtype);
}

tc_tensor tc_grid_sample_at(const tc_grid_sample_args *args)
{
    tc_graph *g = tc_op_enter(args->at, "tc_grid_sample", "grid_sample", "x grid", 2,
                              (tc_tensor[]){args->x, args->grid});
    return g ? tc_op_leave(g, sample(g, args)) : tc_poison();
}

/* -- affine grids -------------------------------------------------------------------------------------------------- */

/* -1 to 1 along an axis of the size: from its outer pixels' edges, or of their centres; 0 where there is one. */
static tc_tensor base_line(tc_graph *g, tc_site at, tc_dtype dtype, const tc_expr *size, bool align_corners)
{
    tc_tensor number = tc_prim_iota(g, 0, &(tc_type){.dtype = TC_I64, .rank = 1, .shape = {size}});
    tc_tensor last = tc_size_value(g, TC_I64, tc_expr_add_int(size, -1)), twice = MUL(number, 2);
    tc_tensor over = tc_cast_at(at, SUB(twice, last), dtype);
    tc_tensor under = align_corners ? MAXIMUM(last, 1) : tc_size_value(g, TC_I64, size);
    tc_tensor length = tc_cast_at(at, under, dtype);
    return DIV(over, length);
}

static tc_tensor affine(tc_graph *g, const tc_affine_grid_args *args)
{
    tc_site at = args->at;
    const tc_type *t = &args->theta->type;
    int dims = args->size_count;
    if (dims < 2 || dims > TC_MAX_WINDOW || t->rank != 3 || !tc_expr_is(t->shape[1], dims) ||
        !tc_expr_is(t->shape[2], dims + 1)) {
        tc_fail(g, "theta[n, 2, 3] and TC_SIZES(h, w), or theta[n, 3, 4] and TC_SIZES(d, h, w)", "%s for %d sizes",
                tc_type_text(g, t), dims);
        return tc_poison();
    }
    if (!tc_check_float(g, t))
        return tc_poison();
    tc_tensor theta = tc_prim_widen(g, args->theta), sum = NULL;
    const tc_expr *shape[TC_MAX_RANK] = {t->shape[0]};
    for (int i = 0; i < dims; ++i) {
        shape[1 + i] = tc_dim_expr(g, args->size[i]);
        if (!tc_at_least(g, shape[1 + i], g->dims.one)) {
            tc_fail(g, NULL, "size %d is %s", i, tc_expr_text(shape[1 + i]));
            return tc_poison();
        }
    }
    shape[1 + dims] = t->shape[1];
    for (int term = 0; term <= dims; ++term) { /* the last axis is the first coordinate; the last column is alone */
        int axis = dims - term;
        tc_tensor column = tc_select_at(at, theta, 2, tc_dim_int_(term));
        column = tc_prim_broadcast(g, column, dims + 2, shape, (const int[]){0, dims + 1});
        if (term < dims) {
            tc_tensor line = base_line(g, at, theta->type.dtype, shape[axis], args->align_corners);
            line = tc_prim_broadcast(g, line, dims + 2, shape, &axis);
            column = MUL(line, column);
        }
        sum = sum ? ADD(sum, column) : column;
    }
    return tc_prim_narrow(g, sum, t->dtype);
}

tc_tensor tc_affine_grid_at(const tc_affine_grid_args *args)
{
    tc_graph *g = tc_op_enter(args->at, "tc_affine_grid", "affine_grid", "theta", 1, &args->theta);
    return g ? tc_op_leave(g, affine(g, args)) : tc_poison();
}
