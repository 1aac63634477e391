/* SPDX-License-Identifier: Apache-2.0
 *
 * Sampling at the points of a grid.
 */
#include "internal.h"

#define TENSOR(x) tc_operand_tensor_(x)
#define NUMBER(x) tc_operand_float_(x)
#define INTEGER(x) tc_operand_int_(x)

typedef struct sampling {
    tc_graph *g;
    tc_site at;
    tc_tensor x;    /* [n*h*w, c] */
    tc_tensor base; /* i64[n, h', w']: the first element of each image */
    const tc_expr *sizes[2]; /* h, w */
    bool align_corners;
    tc_grid_padding padding;
} sampling;

static tc_operand size_operand(const sampling *s, const tc_expr *size, tc_dtype dtype)
{
    int64_t constant;
    if (tc_expr_value(size, &constant))
        return dtype == TC_I64 ? INTEGER(constant) : NUMBER((double)constant);
    return TENSOR(tc_cast_at(s->at, tc_prim_dim_value(s->g, TC_I64, size), dtype));
}

/* low..high mirrored over and over: twice the bounds' values, so that halves are whole. */
static tc_tensor reflect(const sampling *s, tc_tensor x, const tc_expr *twice_low, const tc_expr *twice_high)
{
    tc_site at = s->at;
    tc_tensor low = tc_mul_at(at, TENSOR(tc_cast_at(at, tc_prim_dim_value(s->g, TC_I64, twice_low), TC_F32)), NUMBER(0.5));
    tc_operand half = NUMBER(0.5), span2 = size_operand(s, tc_expr_sub(twice_high, twice_low), TC_F32);
    tc_tensor span = span2.kind == TC_OPERAND_TENSOR ? tc_mul_at(at, span2, half) : NULL;
    tc_operand length = span ? TENSOR(span) : NUMBER(span2.real / 2);
    tc_tensor distance = tc_abs_at(at, tc_sub_at(at, TENSOR(x), TENSOR(low)));
    tc_tensor flips = tc_floor_at(at, tc_div_at(at, TENSOR(distance), length));
    tc_tensor extra = tc_sub_at(at, TENSOR(distance), TENSOR(tc_mul_at(at, TENSOR(flips), length)));
    tc_tensor halves = tc_mul_at(at, TENSOR(flips), half);
    tc_tensor even = tc_eq_at(at, TENSOR(tc_floor_at(at, halves)), TENSOR(halves));
    tc_tensor forth = tc_add_at(at, TENSOR(extra), TENSOR(low));
    tc_tensor back = tc_add_at(at, TENSOR(tc_sub_at(at, length, TENSOR(extra))), TENSOR(low));
    return tc_where_at(at, even, TENSOR(forth), TENSOR(back));
}

/* Coordinates of the grid, -1..1 along axis i, as places in the image. */
static tc_tensor places(const sampling *s, tc_tensor grid, int i)
{
    tc_site at = s->at;
    const tc_expr *size = s->sizes[i], *last = tc_expr_add_int(size, -1);
    tc_tensor x = tc_select_at(at, grid, 3, tc_dim_int_(1 - i));
    x = tc_add_at(at, TENSOR(x), NUMBER(1));
    if (s->align_corners) {
        x = tc_mul_at(at, TENSOR(tc_mul_at(at, TENSOR(x), NUMBER(0.5))), size_operand(s, last, TC_F32));
    } else {
        x = tc_sub_at(at, TENSOR(tc_mul_at(at, TENSOR(x), size_operand(s, size, TC_F32))), NUMBER(1));
        x = tc_mul_at(at, TENSOR(x), NUMBER(0.5));
    }
    if (s->padding == TC_GRID_ZEROS)
        return x;
    if (s->padding == TC_GRID_REFLECTION) {
        const tc_expr *twice = tc_expr_mul_int(size, 2), *minus = tc_expr_const(&s->g->dims, -1);
        if (!s->align_corners)
            x = reflect(s, x, minus, tc_expr_add_int(twice, -1));
        else if (tc_expr_is(size, 1))
            x = tc_mul_at(at, TENSOR(x), NUMBER(0));
        else
            x = reflect(s, x, s->g->dims.zero, tc_expr_add_int(twice, -2));
    }
    x = tc_maximum_at(at, TENSOR(x), NUMBER(0));
    return tc_minimum_at(at, TENSOR(x), size_operand(s, last, TC_F32));
}

/* Whole numbers that lie in the axis; of NaN none. */
static tc_tensor inside(const sampling *s, tc_tensor x, int i)
{
    tc_tensor above = tc_ge_at(s->at, TENSOR(x), NUMBER(0));
    return tc_logical_and_at(s->at, TENSOR(above), TENSOR(tc_lt_at(s->at, TENSOR(x), size_operand(s, s->sizes[i], TC_F32))));
}

static tc_tensor limited(const sampling *s, tc_tensor x, int i)
{
    tc_tensor index = tc_maximum_at(s->at, TENSOR(tc_cast_at(s->at, x, TC_I64)), INTEGER(0));
    return tc_minimum_at(s->at, TENSOR(index), size_operand(s, tc_expr_add_int(s->sizes[i], -1), TC_I64));
}

/* v[n, h', w'] beside every channel: [n, h', w', c] */
static tc_tensor beside(const sampling *s, tc_tensor v, tc_tensor like)
{
    return tc_prim_broadcast(s->g, v, 4, like->type.shape, (const int[]){0, 1, 2});
}

/* The pixels [n, h', w', c] at whole coordinates y and x, times the weight (NULL: 1), 0 outside of the image. */
static tc_tensor pixels(const sampling *s, tc_tensor y, tc_tensor x, tc_tensor weight)
{
    tc_site at = s->at;
    tc_tensor row = tc_mul_at(at, TENSOR(limited(s, y, 0)), size_operand(s, s->sizes[1], TC_I64));
    tc_tensor index = tc_add_at(at, TENSOR(s->base), TENSOR(tc_add_at(at, TENSOR(row), TENSOR(limited(s, x, 1)))));
    tc_tensor found = tc_prim_gather(s->g, s->x, index, 0);
    tc_tensor keep = tc_logical_and_at(at, TENSOR(inside(s, y, 0)), TENSOR(inside(s, x, 1)));
    if (tc_is_poison(found) || tc_is_poison(keep))
        return tc_poison();
    if (weight)
        found = tc_mul_at(at, TENSOR(found), TENSOR(beside(s, weight, found)));
    return tc_where_at(at, beside(s, keep, found), TENSOR(found), INTEGER(0));
}

static tc_tensor bilinear(const sampling *s, tc_tensor y, tc_tensor x)
{
    tc_site at = s->at;
    tc_tensor low[2] = {tc_floor_at(at, y), tc_floor_at(at, x)}, high[2], above[2], below[2], sum = NULL;
    for (int i = 0; i < 2; ++i) {
        high[i] = tc_add_at(at, TENSOR(low[i]), NUMBER(1));
        above[i] = tc_sub_at(at, TENSOR(i ? x : y), TENSOR(low[i]));
        below[i] = tc_sub_at(at, TENSOR(high[i]), TENSOR(i ? x : y));
    }
    for (int corner = 0; corner < 4; ++corner) {
        bool down = corner >= 2, right = corner & 1;
        tc_tensor weight = tc_mul_at(at, TENSOR(right ? above[1] : below[1]), TENSOR(down ? above[0] : below[0]));
        tc_tensor term = pixels(s, down ? high[0] : low[0], right ? high[1] : low[1], weight);
        sum = sum ? tc_add_at(at, TENSOR(sum), TENSOR(term)) : term;
    }
    return sum;
}

static tc_tensor sample(tc_graph *g, const tc_grid_sample_args *args)
{
    tc_tensor x = args->x, grid = args->grid;
    const tc_type *t = &x->type;
    if (t->rank != 4 || grid->type.rank != 4 || !tc_expr_is(grid->type.shape[3], 2) ||
        !tc_same_dim(g, t->shape[0], grid->type.shape[0])) {
        tc_fail(g, "x[n, c, h, w], grid[n, h', w', 2]", "shapes do not fit: %s at %s", tc_type_text(g, t),
                tc_type_text(g, &grid->type));
        return tc_poison();
    }
    if (t->dtype != TC_F32 || grid->type.dtype != TC_F32) {
        tc_fail(g, "convert with tc_cast(x, TC_F32)", "needs f32: %s at %s", tc_type_text(g, t),
                tc_type_text(g, &grid->type));
        return tc_poison();
    }
    if (!tc_at_least(g, t->shape[2], g->dims.one) || !tc_at_least(g, t->shape[3], g->dims.one)) {
        tc_fail(g, NULL, "the image is empty: %s", tc_type_text(g, t));
        return tc_poison();
    }
    sampling s = {.g = g, .at = args->at, .sizes = {t->shape[2], t->shape[3]}, .align_corners = args->align_corners,
                  .padding = args->padding};
    const tc_expr *area = tc_expr_mul(t->shape[2], t->shape[3]);
    const tc_expr *flat[] = {tc_expr_mul(t->shape[0], area), t->shape[1]};
    s.x = tc_prim_reshape(g, tc_permute_at(args->at, x, 4, (const int[]){0, 2, 3, 1}), 2, flat);
    tc_type plane = {.dtype = TC_I64, .rank = 3, .shape = {t->shape[0], grid->type.shape[1], grid->type.shape[2]}};
    s.base = tc_mul_at(args->at, TENSOR(tc_prim_iota(g, 0, &plane)), size_operand(&s, area, TC_I64));
    tc_tensor y = places(&s, grid, 0);
    x = places(&s, grid, 1);
    if (args->nearest) {
        y = tc_round_at(args->at, y);
        x = tc_round_at(args->at, x);
    }
    tc_tensor out = args->nearest ? pixels(&s, y, x, NULL) : bilinear(&s, y, x);
    return tc_is_poison(out) ? out : tc_permute_at(args->at, out, 4, (const int[]){0, 3, 1, 2});
}

tc_tensor tc_grid_sample_at(const tc_grid_sample_args *args)
{
    tc_graph *g = tc_op_enter(args->at, "tc_grid_sample", "grid_sample", "x grid", 2, (tc_tensor[]){args->x, args->grid});
    return g ? tc_op_leave(g, sample(g, args)) : tc_poison();
}
