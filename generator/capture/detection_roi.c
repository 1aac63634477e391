/* SPDX-License-Identifier: Apache-2.0
 *
 * What lies in boxes of images: averages of bilinear points, or the largest elements.
 */
#include <math.h>

#include "compose.h"

/* The box's coordinate i of each row: [r]. */
static tc_tensor coordinate(tc_site at, tc_tensor rois, int i)
{
    return tc_select_at(at, rois, 1, tc_dim_int_(i));
}

enum { MOST_POINTS = 1024 }; /* along an axis of a part: boxes are data, and the call has to end */

/* -- points ------------------------------------------------------------------------------------------------------ */

typedef struct roi_align {
    tc_graph *g;
    tc_site at;
    const tc_roi_align_args *args;
    tc_tensor rows;                 /* [n*h*w, c] */
    tc_tensor image;                /* i64[r]: its first element, -1 where there is no such image */
    const tc_expr *count, *size[2]; /* boxes; height and width of images */
    int parts[2];
    tc_tensor start[2], step[2], points[2]; /* [r]: of a box along height and width; points of a part, i64 */
    tc_dtype dtype;
} roi_align;

/* Where a point lies along an axis, [r, parts]: the two elements and how far behind the first it is; whether it is
 * outside. */
typedef struct line {
    tc_tensor low, high, above, outside;
} line;

static line points_along(const roi_align *s, int i, tc_tensor number)
{
    tc_graph *g = s->g;
    const tc_site at = s->at;
    const tc_expr *const shape[] = {s->count, tc_expr_const(&g->dims, s->parts[i])};
    const tc_type type = {.dtype = TC_I64, .rank = 2, .shape = {shape[0], shape[1]}};
    tc_tensor part = tc_cast_at(at, tc_prim_iota(g, 1, &type), s->dtype);
    tc_tensor step = tc_unsqueeze_at(at, s->step[i], 1), start = tc_unsqueeze_at(at, s->start[i], 1);
    tc_tensor points = tc_unsqueeze_at(at, tc_cast_at(at, s->points[i], s->dtype), 1);
    tc_tensor place = ADD(tc_cast_at(at, number, s->dtype), 0.5), within = DIV(MUL(step, place), points);
    tc_tensor x = ADD(ADD(MUL(part, step), start), within), size = tc_size_value(g, s->dtype, s->size[i]);
    tc_tensor before = LT(x, -1), behind = GT(x, size),
              last = tc_size_value(g, TC_I64, tc_expr_add_int(s->size[i], -1));
    line out = {.outside = OR(before, behind)};
    x = MINIMUM(MAXIMUM(x, 0), size);
    tc_tensor low = tc_floor_at(at, x), whole = tc_cast_at(at, low, TC_I64), end = GE(whole, last), rest = SUB(x, low);
    out.low = MINIMUM(whole, last);
    out.high = MINIMUM(ADD(whole, 1), last);
    out.above = WHERE(end, 0, rest);
    return out;
}

/* v[r, height] or v[r, width] beside the others: [r, height, width, c] */
static tc_tensor beside(const roi_align *s, tc_tensor v, int i, const tc_expr *const *shape, int rank)
{
    return tc_is_poison(v) ? v : tc_prim_broadcast(s->g, v, rank, shape, (const int[]){0, 1 + i});
}

/* The value of point `number` of each part, [r, height, width, c], of which the elements' products are added, or for
 * .max the largest one. */
static tc_tensor point(const roi_align *s, const tc_tensor number[2])
{
    tc_graph *g = s->g;
    const tc_site at = s->at;
    const tc_expr *const shape[] = {s->count, tc_expr_const(&g->dims, s->parts[0]),
                                    tc_expr_const(&g->dims, s->parts[1]), s->rows->type.shape[1]};
    const line y = points_along(s, 0, number[0]), x = points_along(s, 1, number[1]);
    tc_tensor first = tc_prim_broadcast(g, s->image, 3, shape, (const int[]){0}),
              width = tc_size_value(g, TC_I64, s->size[1]);
    tc_tensor none = LT(first, 0), far = beside(s, y.outside, 0, shape, 4), wide = beside(s, x.outside, 1, shape, 4);
    tc_tensor out = OR(far, wide), value = NULL;
    for (int corner = 0; corner < 4; ++corner) {
        tc_tensor row = corner & 2 ? y.high : y.low, column = beside(s, corner & 1 ? x.high : x.low, 1, shape, 3);
        tc_tensor down = corner & 2 ? y.above : SUB(1, y.above), right = corner & 1 ? x.above : SUB(1, x.above);
        tc_tensor start = beside(s, MUL(row, width), 0, shape, 3), place = ADD(ADD(first, start), column);
        tc_tensor weight = beside(s, down, 0, shape, 3);
        weight = MUL(weight, beside(s, right, 1, shape, 3));
        tc_tensor found = tc_prim_gather(g, s->rows, WHERE(none, -1, place), 0);
        tc_tensor spread = tc_is_poison(weight) ? weight
                                                : tc_prim_broadcast(g, weight, 4, shape, (const int[]){0, 1, 2});
        tc_tensor term = MUL(found, spread);
        value = !value ? term : s->args->max ? MAXIMUM(value, term) : ADD(value, term);
    }
    return WHERE(out, 0, value);
}

/* All points, one an iteration: as many iterations as the box with most points needs along each axis. */
static tc_tensor gathered(const roi_align *s)
{
    tc_graph *g = s->g;
    const tc_site at = s->at;
    const tc_expr *const shape[] = {s->count, tc_expr_const(&g->dims, s->parts[0]),
                                    tc_expr_const(&g->dims, s->parts[1]), s->rows->type.shape[1]};
    tc_tensor most[2], iteration = tc_constant_of(g, TC_I64, tc_operand_int_(0));
    for (int i = 0; i < 2; ++i)
        most[i] = MAXIMUM(tc_prim_reduce(g, s->points[i], "max", 1, (const int[]){0}), 0);
    tc_tensor iterations = MUL(most[0], most[1]), across = MAXIMUM(most[1], 1);
    tc_tensor none = tc_constant_of(g, s->dtype, tc_operand_float_(s->args->max ? -INFINITY : 0));
    tc_tensor all = tc_broadcast_to(g, none, 4, shape);
    if (tc_is_poison(all) || tc_is_poison(iterations))
        return tc_poison();
    tc_while_begin_at(at, g, "&all, &iteration", (tc_tensor *const[]){&all, &iteration, NULL});
    tc_test_at(at, LT(iteration, iterations));
    const tc_tensor number[] = {DIV(iteration, across), REM(iteration, across)};
    tc_tensor down = LT(number[0], s->points[0]), right = LT(number[1], s->points[1]), counts = AND(down, right);
    tc_tensor value = point(s, number), next = s->args->max ? MAXIMUM(all, value) : ADD(all, value);
    counts = tc_prim_broadcast(g, counts, 4, shape, (const int[]){0});
    all = WHERE(counts, next, all);
    iteration = ADD(iteration, 1);
    tc_block_end(g);
    tc_tensor points = MUL(s->points[0], s->points[1]), some = MAXIMUM(points, 1), empty = EQ(points, 0);
    some = tc_prim_broadcast(g, tc_cast_at(at, some, s->dtype), 4, shape, (const int[]){0});
    empty = tc_prim_broadcast(g, empty, 4, shape, (const int[]){0});
    return s->args->max ? WHERE(empty, 0, all) : DIV(all, some);
}

static bool check_align(tc_graph *g, const tc_roi_align_args *args)
{
    const tc_type *x = &args->x->type, *rois = &args->rois->type, *images = &args->images->type;
    if (x->rank != 4 || rois->rank != 2 || !tc_expr_is(rois->shape[1], 4) || images->rank != 1 ||
        (images->dtype != TC_I32 && images->dtype != TC_I64) || !tc_same_dim(g, rois->shape[0], images->shape[0])) {
        tc_fail(g, "x[n, c, h, w], rois[r, 4], images i64[r]", "%s in %s of the images %s", tc_type_text(g, x),
                tc_type_text(g, rois), tc_type_text(g, images));
        return false;
    }
    if (args->height < 0 || args->width < 0 || args->samples < 0 || !(args->scale >= 0) || isinf(args->scale)) {
        tc_fail(g, NULL, "%d * %d parts, %d samples, scale %g", args->height, args->width, args->samples, args->scale);
        return false;
    }
    if (!tc_at_least(g, x->shape[2], g->dims.one) || !tc_at_least(g, x->shape[3], g->dims.one) ||
        !tc_at_least(g, rois->shape[0], g->dims.one)) {
        tc_fail(g, NULL, "empty images or no boxes: %s, %s", tc_type_text(g, x), tc_type_text(g, rois));
        return false;
    }
    return tc_check_float(g, x) && tc_check_same_dtype(g, x, rois);
}

/* The first element of each image, of images of so many elements; -1 where there is none. */
static tc_tensor first_elements(tc_graph *g, tc_site at, tc_tensor images, const tc_expr *count,
                                const tc_expr *elements)
{
    tc_tensor number = tc_cast_at(at, images, TC_I64), size = tc_size_value(g, TC_I64, elements),
              start = MUL(number, size);
    tc_tensor above = GE(number, 0), below = LT(number, tc_size_value(g, TC_I64, count));
    return WHERE(AND(above, below), start, -1);
}

static tc_tensor align(tc_graph *g, const tc_roi_align_args *args)
{
    const tc_site at = args->at;
    if (!check_align(g, args))
        return tc_poison();
    tc_tensor x = tc_prim_widen(g, args->x), rois = tc_prim_widen(g, args->rois);
    const tc_expr *const *shape = x->type.shape;
    const tc_expr *elements = tc_expr_mul(shape[2], shape[3]);
    const tc_expr *const flat[] = {tc_expr_mul(shape[0], elements), shape[1]};
    roi_align s = {.g = g,
                   .at = at,
                   .args = args,
                   .count = rois->type.shape[0],
                   .size = {shape[2], shape[3]},
                   .parts = {args->height ? args->height : 1, args->width ? args->width : 1},
                   .dtype = x->type.dtype};
    s.rows = tc_prim_reshape(g, tc_prim_transpose(g, x, (const int[]){0, 2, 3, 1}), 2, flat);
    s.image = first_elements(g, at, args->images, shape[0], elements);
    for (int i = 0; i < 2; ++i) {
        tc_tensor ends[2];
        for (int end = 0; end < 2; ++end) {
            ends[end] = MUL(coordinate(at, rois, 2 * end + 1 - i), args->scale != 0 ? args->scale : 1);
            ends[end] = args->half_pixel ? SUB(ends[end], 0.5) : ends[end];
        }
        tc_tensor length = SUB(ends[1], ends[0]);
        length = args->half_pixel ? length : MAXIMUM(length, 1);
        s.start[i] = ends[0];
        s.step[i] = DIV(length, s.parts[i]);
        if (args->samples)
            s.points[i] = tc_broadcast_to(g, tc_constant_of(g, TC_I64, tc_operand_int_(args->samples)), 1, &s.count);
        else
            s.points[i] = tc_cast_at(at, MINIMUM(MAXIMUM(tc_ceil_at(at, s.step[i]), 0), MOST_POINTS), TC_I64);
    }
    tc_tensor y = gathered(&s);
    if (tc_is_poison(y))
        return y;
    return tc_prim_narrow(g, tc_prim_transpose(g, y, (const int[]){0, 3, 1, 2}), args->x->type.dtype);
}

tc_tensor tc_roi_align_at(const tc_roi_align_args *args)
{
    tc_graph *g = tc_op_enter(args->at, "tc_roi_align", "roi_align", "x rois images", 3,
                              (tc_tensor[]){args->x, args->rois, args->images});
    return g ? tc_op_leave(g, align(g, args)) : tc_poison();
}

/* -- the largest elements ---------------------------------------------------------------------------------------- */

/* Whole numbers, halves away from 0. */
static tc_tensor rounded(tc_site at, tc_tensor x)
{
    tc_tensor size = tc_floor_at(at, ADD(tc_abs_at(at, x), 0.5)), below = LT(x, 0), less = tc_neg_at(at, size);
    return WHERE(below, less, size);
}

/* Which elements of an axis are in each part of each box: bool[r, parts, size] */
static tc_tensor parts_of_axis(tc_graph *g, tc_site at, tc_tensor first, tc_tensor last, int parts, const tc_expr *size)
{
    const tc_type type = {.dtype = TC_I64,
                          .rank = 3,
                          .shape = {first->type.shape[0], tc_expr_const(&g->dims, parts), size}};
    const tc_dtype dtype = first->type.dtype;
    tc_tensor part = tc_cast_at(at, tc_prim_iota(g, 1, &type), dtype),
              place = tc_cast_at(at, tc_prim_iota(g, 2, &type), dtype);
    tc_tensor length = MAXIMUM(ADD(SUB(last, first), 1), 1), step = DIV(length, parts);
    step = tc_prim_broadcast(g, step, 3, type.shape, (const int[]){0});
    tc_tensor start = tc_prim_broadcast(g, first, 3, type.shape, (const int[]){0});
    tc_tensor low = ADD(tc_floor_at(at, MUL(part, step)), start), next = MUL(ADD(part, 1), step);
    tc_tensor high = ADD(tc_ceil_at(at, next), start), behind = GE(place, low), before = LT(place, high);
    return AND(behind, before);
}

static tc_tensor pool(tc_graph *g, tc_site at, tc_tensor x, tc_tensor rois, int height, int width, double scale)
{
    const tc_type *type = &x->type, *boxes = &rois->type;
    if (type->rank != 4 || boxes->rank != 2 || !tc_expr_is(boxes->shape[1], 5)) {
        tc_fail(g, "x[n, c, h, w], rois[r, 5]", "%s in %s", tc_type_text(g, type), tc_type_text(g, boxes));
        return tc_poison();
    }
    if (height < 1 || width < 1 || !(scale > 0) || isinf(scale)) {
        tc_fail(g, NULL, "%d * %d parts, scale %g", height, width, scale);
        return tc_poison();
    }
    if (!tc_check_float(g, type) || !tc_check_same_dtype(g, type, boxes))
        return tc_poison();
    tc_tensor wide = tc_prim_widen(g, rois), image = tc_cast_at(at, coordinate(at, wide, 0), TC_I64), edge[4];
    for (int i = 0; i < 4; ++i)
        edge[i] = rounded(at, MUL(coordinate(at, wide, 1 + i), scale));
    const tc_expr *rows = boxes->shape[0], *tall = tc_expr_const(&g->dims, height),
                  *across = tc_expr_const(&g->dims, width);
    const tc_expr *const down[] = {rows, type->shape[1], tall, type->shape[2], type->shape[3]};
    const tc_expr *const right[] = {rows, type->shape[1], tall, across, type->shape[3]};
    tc_tensor in_rows = parts_of_axis(g, at, edge[1], edge[3], height, type->shape[2]);
    tc_tensor in_columns = parts_of_axis(g, at, edge[0], edge[2], width, type->shape[3]);
    tc_tensor own = tc_prim_gather(g, x, image, 0);
    if (tc_is_poison(own) || tc_is_poison(in_rows) || tc_is_poison(in_columns))
        return tc_poison();
    own = tc_prim_broadcast(g, own, 5, down, (const int[]){0, 1, 3, 4});
    in_rows = tc_prim_broadcast(g, in_rows, 5, down, (const int[]){0, 2, 3});
    tc_tensor lines = tc_prim_reduce(g, WHERE(in_rows, own, (double)-INFINITY), "max", 1, (const int[]){3});
    lines = tc_prim_broadcast(g, lines, 5, right, (const int[]){0, 1, 2, 4});
    in_columns = tc_prim_broadcast(g, in_columns, 5, right, (const int[]){0, 3, 4});
    tc_tensor most = tc_prim_reduce(g, WHERE(in_columns, lines, (double)-INFINITY), "max", 1, (const int[]){4});
    return WHERE(EQ(most, (double)-INFINITY), 0, most);
}

tc_tensor tc_roi_pool_at(tc_site at, tc_tensor x, tc_tensor rois, int height, int width, double scale)
{
    tc_graph *g = tc_op_enter(at, "tc_roi_pool", "roi_pool", "x rois", 2, (tc_tensor[]){x, rois});
    return g ? tc_op_leave(g, pool(g, at, x, rois, height, width, scale)) : tc_poison();
}
