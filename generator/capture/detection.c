/* SPDX-License-Identifier: Apache-2.0
 *
 * Which of overlapping boxes stay: a loop that takes one box of every image and class an iteration.
 */
#include <math.h>

#include "compose.h"

typedef struct nms {
    tc_graph *g;
    tc_site at;
    const tc_nms_args *args;
    const tc_expr *images, *classes, *boxes, *iterations;
    tc_tensor edges[4]; /* top, left, bottom, right: [images, 1, boxes] */
    tc_tensor area;
    tc_tensor iou; /* the threshold, rank 0 */
} nms;

/* One coordinate of all boxes. */
static tc_tensor coordinate(const nms *s, tc_tensor boxes, int i)
{
    return tc_unsqueeze_at(s->at, tc_select_at(s->at, boxes, 2, tc_dim_int_(i)), 1);
}

static void read_edges(nms *s, tc_tensor boxes)
{
    const tc_site at = s->at;
    tc_tensor c[4];
    for (int i = 0; i < 4; ++i)
        c[i] = coordinate(s, boxes, i);
    for (int i = 0; i < 2; ++i) {
        if (s->args->centers) { /* x, y, width, height */
            tc_tensor half = MUL(c[3 - i], 0.5);
            s->edges[i] = SUB(c[1 - i], half);
            s->edges[2 + i] = ADD(c[1 - i], half);
        } else {
            s->edges[i] = MINIMUM(c[i], c[2 + i]);
            s->edges[2 + i] = MAXIMUM(c[i], c[2 + i]);
        }
    }
    tc_tensor height = SUB(s->edges[2], s->edges[0]), width = SUB(s->edges[3], s->edges[1]);
    s->area = MUL(height, width);
}

/* v[images, 1, boxes] at the boxes place[images, classes]: [images, classes, 1] */
static tc_tensor chosen(const nms *s, tc_tensor v, tc_tensor place)
{
    tc_graph *g = s->g;
    const tc_expr *const all = tc_expr_mul(s->images, s->boxes);
    tc_tensor flat = tc_prim_reshape(g, v, 1, &all);
    return tc_unsqueeze_at(s->at, tc_prim_gather(g, flat, place, 0), 2);
}

/* Whether each box overlaps the one at `place` too much. */
static tc_tensor overlaps(const nms *s, tc_tensor place)
{
    const tc_site at = s->at;
    tc_tensor side[2];
    for (int i = 0; i < 2; ++i) {
        tc_tensor low = MAXIMUM(s->edges[i], chosen(s, s->edges[i], place));
        tc_tensor high = MINIMUM(s->edges[2 + i], chosen(s, s->edges[2 + i], place));
        side[i] = MAXIMUM(SUB(high, low), 0);
    }
    tc_tensor both = MUL(side[0], side[1]), areas = ADD(s->area, chosen(s, s->area, place)), joined = SUB(areas, both);
    tc_tensor share = DIV(both, joined), meet = GT(both, 0), above = GT(share, s->iou);
    return AND(meet, above);
}

/* The rows of all iterations: taken[iterations, images, classes], and whether there was one. */
static tc_tensor rows(const nms *s, tc_tensor taken, tc_tensor was)
{
    tc_graph *g = s->g;
    const tc_site at = s->at;
    const int order[] = {1, 2, 0};
    const tc_type type = {.dtype = TC_I64, .rank = 3, .shape = {s->images, s->classes, s->iterations}};
    const tc_expr *count = tc_expr_mul(tc_expr_mul(s->images, s->classes), s->iterations);
    tc_tensor columns[3], stays = tc_prim_transpose(g, was, order);
    if (s->args->limit) {
        tc_tensor limit = tc_cast_at(at, s->args->limit, TC_I64), within = LT(tc_prim_iota(g, 2, &type), limit);
        stays = AND(stays, within);
    }
    columns[0] = tc_prim_iota(g, 0, &type);
    columns[1] = tc_prim_iota(g, 1, &type);
    columns[2] = tc_prim_transpose(g, taken, order);
    tc_tensor table = tc_stack_at(at, 3, 3, columns);
    table = tc_prim_reshape(g, table, 2, (const tc_expr *const[]){count, tc_expr_const(&g->dims, 3)});
    stays = tc_prim_reshape(g, stays, 1, &count);
    if (s->args->count)
        *s->args->count = tc_count_nonzero_at(at, stays);
    return tc_compress_at(at, table, stays, 0, tc_dim_of(count), tc_operand_int_(0));
}

static bool check(tc_graph *g, const tc_nms_args *args)
{
    const tc_type *boxes = &args->boxes->type, *scores = &args->scores->type;
    if (boxes->rank != 3 || scores->rank != 3 || !tc_expr_is(boxes->shape[2], 4) ||
        !tc_same_dim(g, boxes->shape[0], scores->shape[0]) || !tc_same_dim(g, boxes->shape[1], scores->shape[2])) {
        tc_fail(g, "boxes[b, n, 4], scores[b, c, n]", "boxes %s, scores %s", tc_type_text(g, boxes),
                tc_type_text(g, scores));
        return false;
    }
    if (!tc_at_least(g, boxes->shape[1], g->dims.one)) {
        tc_fail(g, NULL, "no boxes: %s", tc_type_text(g, boxes));
        return false;
    }
    if (!args->size || args->size_count != 1 || !tc_at_least(g, tc_dim_expr(g, args->size[0]), g->dims.zero)) {
        tc_fail(g, "TC_SIZES(m), the most boxes of an image and class", "%d sizes", args->size_count);
        return false;
    }
    const tc_tensor one[] = {args->limit, args->iou, args->score};
    for (int i = 0; i < 3; ++i)
        if (one[i] && !tc_expr_is(tc_element_count(g, &one[i]->type), 1)) {
            tc_fail(g, NULL, "a limit or threshold is %s, not one number", tc_type_text(g, &one[i]->type));
            return false;
        }
    return tc_check_float(g, boxes) && tc_check_same_dtype(g, boxes, scores);
}

/* A threshold of rank 0: the tensor, else the number. */
static tc_tensor threshold(const nms *s, tc_dtype dtype, tc_tensor given, double number)
{
    if (!given)
        return tc_constant_of(s->g, dtype, tc_operand_float_(number));
    return tc_cast_at(s->at, tc_prim_reshape(s->g, given, 0, NULL), dtype);
}

static tc_tensor suppress(tc_graph *g, const tc_nms_args *args)
{
    const tc_site at = args->at;
    if (!check(g, args))
        return tc_poison();
    tc_tensor boxes = tc_prim_widen(g, args->boxes), scores = tc_prim_widen(g, args->scores), taken, was;
    const tc_dtype dtype = boxes->type.dtype;
    const tc_expr *const *shape = scores->type.shape;
    nms s = {.g = g,
             .at = at,
             .args = args,
             .images = shape[0],
             .classes = shape[1],
             .boxes = shape[2],
             .iterations = tc_dim_expr(g, args->size[0])};
    s.iou = threshold(&s, dtype, args->iou, args->iou_threshold);
    read_edges(&s, boxes);
    tc_type all = {.dtype = TC_BOOL, .rank = 3, .shape = {shape[0], shape[1], shape[2]}};
    tc_tensor left = args->scored || args->score
                         ? GT(scores, threshold(&s, dtype, args->score, args->score_threshold))
                         : tc_broadcast_to(g, tc_constant_of(g, TC_BOOL, tc_operand_int_(1)), 3, all.shape);
    all.dtype = TC_I64;
    const tc_type pairs = {.dtype = TC_I64, .rank = 2, .shape = {shape[0], shape[1]}};
    tc_tensor number = tc_prim_iota(g, 2, &all), count = tc_size_value(g, TC_I64, s.boxes);
    tc_tensor first = MUL(tc_prim_iota(g, 0, &pairs), count);
    if (tc_is_poison(left) || tc_is_poison(s.area))
        return tc_poison();
    tc_scan_begin_at(at, g, tc_dim_of(s.iterations), "iterations, &left", (tc_tensor *const[]){&left, NULL});
    tc_tensor value = WHERE(left, scores, (double)-INFINITY), place = tc_prim_arg_reduce(g, value, "max", 2);
    tc_tensor some = tc_prim_reduce(g, left, "any", 1, (const int[]){2});
    tc_tensor gone = overlaps(&s, ADD(first, place)), itself = EQ(number, tc_unsqueeze_at(at, place, 2));
    tc_tensor out = OR(gone, itself);
    left = AND(left, tc_logical_not_at(at, out));
    tc_collect_at(at, place, &taken);
    tc_collect_at(at, some, &was);
    tc_block_end(g);
    return rows(&s, taken, was);
}

tc_tensor tc_nms_at(const tc_nms_args *args)
{
    if (args->count)
        *args->count = tc_poison();
    tc_graph *g = tc_op_enter(args->at, "tc_nms", "nms", "boxes scores ?limit ?iou ?score", 5,
                              (tc_tensor[]){args->boxes, args->scores, args->limit, args->iou, args->score});
    return g ? tc_op_leave(g, suppress(g, args)) : tc_poison();
}
