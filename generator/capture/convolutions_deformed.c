/* SPDX-License-Identifier: Apache-2.0
 *
 * Deformable convolutions: the elements of all windows, found between pixels, then a contraction with the weights.
 */
#include "compose.h"
#include "windows.h"

typedef struct deform {
    tc_graph *g;
    tc_site at;
    const tc_expr *images, *groups, *taps, *size[2], *out[2]; /* of offsets; of windows; of x and of the result */
    tc_tensor rows;                                           /* [n*d*h*w, channels of a group of offsets] */
    tc_tensor base;                                           /* i64[n, d, taps, h', w']: the first row of each */
    tc_tensor place[2];                                       /* [n, d, taps, h', w']: down and right */
} deform;

/* place[i] of all windows' elements: window * stride + tap * dilation - low + offset */
static tc_tensor places(const deform *s, tc_tensor offset, const tc_windows *w, int i)
{
    tc_graph *g = s->g;
    const tc_site at = s->at;
    const tc_type type = {.dtype = TC_I64, .rank = 5, .shape = {s->images, s->groups, s->taps, s->out[0], s->out[1]}};
    tc_tensor tap = tc_prim_iota(g, 2, &type), width = tc_constant_of(g, TC_I64, tc_operand_int_(w->size[1]));
    tap = i ? REM(tap, width) : DIV(tap, width);
    tc_tensor start = MUL(tc_prim_iota(g, 3 + i, &type), w->stride[i]), whole = ADD(MUL(tap, w->dilation[i]), start);
    tc_tensor regular = tc_cast_at(at, SUB(whole, w->low[i]), offset->type.dtype);
    return ADD(regular, tc_select_at(at, offset, 3, tc_dim_int_(i)));
}

/* The element at whole places times the weight, [n, d, taps, h', w', channels]; 0 outside. */
static tc_tensor element(const deform *s, const tc_tensor where[2], tc_tensor weight)
{
    tc_graph *g = s->g;
    const tc_site at = s->at;
    tc_tensor index[2], inside = NULL;
    for (int i = 0; i < 2; ++i) {
        tc_tensor size = tc_size_value(g, where[i]->type.dtype, s->size[i]),
                  last = tc_size_value(g, TC_I64, tc_expr_add_int(s->size[i], -1));
        tc_tensor above = GE(where[i], 0), below = LT(where[i], size), within = AND(above, below);
        inside = inside ? AND(inside, within) : within;
        index[i] = MINIMUM(MAXIMUM(tc_cast_at(at, where[i], TC_I64), 0), last);
    }
    tc_tensor width = tc_size_value(g, TC_I64, s->size[1]), row = ADD(MUL(index[0], width), s->base);
    tc_tensor found = tc_prim_gather(g, s->rows, ADD(row, index[1]), 0);
    if (tc_is_poison(found) || tc_is_poison(inside))
        return tc_poison();
    const int axes[] = {0, 1, 2, 3, 4};
    tc_tensor spread = tc_prim_broadcast(g, weight, 6, found->type.shape, axes), term = MUL(found, spread);
    return WHERE(tc_prim_broadcast(g, inside, 6, found->type.shape, axes), term, 0);
}

static tc_tensor between(const deform *s)
{
    const tc_site at = s->at;
    tc_tensor ends[2][2], weights[2][2], sum = NULL;
    for (int i = 0; i < 2; ++i) {
        ends[i][0] = tc_floor_at(at, s->place[i]);
        ends[i][1] = ADD(ends[i][0], 1);
        weights[i][1] = SUB(s->place[i], ends[i][0]);
        weights[i][0] = SUB(1, weights[i][1]);
    }
    for (int corner = 0; corner < 4; ++corner) {
        const int down = corner >> 1, right = corner & 1;
        tc_tensor weight = MUL(weights[0][down], weights[1][right]);
        tc_tensor term = element(s, (const tc_tensor[]){ends[0][down], ends[1][right]}, weight);
        sum = sum ? ADD(sum, term) : term;
    }
    return sum;
}

/* The groups of offsets; 0 and reported where shapes do not fit. */
static int64_t offset_groups(tc_graph *g, const tc_deform_conv2d_args *args, int groups, const tc_windows *w)
{
    const tc_type *x = &args->x->type, *weight = &args->weight->type, *offset = &args->offset->type;
    const tc_type *mask = args->mask ? &args->mask->type : NULL;
    const int64_t taps = (int64_t)w->size[0] * w->size[1];
    int64_t channels, outs, own, shifts, shares = 0;
    bool fits = x->rank == 4 && offset->rank == 4 && tc_expr_value(x->shape[1], &channels) &&
                tc_expr_value(weight->shape[0], &outs) && tc_expr_value(weight->shape[1], &own) &&
                tc_expr_value(offset->shape[1], &shifts) && tc_same_dim(g, x->shape[0], offset->shape[0]);
    fits = fits && groups > 0 && own * groups == channels && outs % groups == 0 && shifts > 0 &&
           shifts % (2 * taps) == 0 && channels % (shifts / (2 * taps)) == 0;
    for (int i = 0; fits && i < 2; ++i) {
        const tc_expr *count = tc_windows_count(g, w, i, x->shape[2 + i]);
        fits = count && tc_same_dim(g, offset->shape[2 + i], count);
    }
    if (fits && mask) {
        fits = mask->rank == 4 && tc_expr_value(mask->shape[1], &shares) && shares == shifts / 2;
        for (int i = 0; fits && i < 4; ++i)
            fits = i == 1 || tc_same_dim(g, mask->shape[i], offset->shape[i]);
    }
    if (fits)
        return shifts / (2 * taps);
    tc_fail(g, "x[n, c, h, w], weight[o, c / groups, kh, kw], offset[n, d*kh*kw*2, h', w'], mask[n, d*kh*kw, h', w']",
            "shapes do not fit: %s by %s at %s", tc_type_text(g, x), tc_type_text(g, weight), tc_type_text(g, offset));
    return 0;
}

/* columns[n, d, taps, h', w', channels / d] and the weights: the result without bias */
static tc_tensor contracted(tc_graph *g, tc_tensor columns, tc_tensor weight, int groups)
{
    const tc_expr *const *shape = columns->type.shape, *const many = tc_expr_const(&g->dims, groups);
    int64_t outs, own;
    tc_expr_value(weight->type.shape[0], &outs);
    tc_expr_value(weight->type.shape[1], &own);
    const tc_expr *terms = tc_expr_mul_int(shape[2], own), *points = tc_expr_mul(shape[3], shape[4]);
    columns = tc_prim_transpose(g, columns, (const int[]){0, 1, 5, 2, 3, 4});
    columns = tc_prim_reshape(g, columns, 4, (const tc_expr *const[]){shape[0], many, terms, points});
    tc_tensor rows = tc_prim_reshape(g, weight, 3,
                                     (const tc_expr *const[]){many, tc_expr_const(&g->dims, outs / groups), terms});
    const tc_contraction c =
        {.batch = 1, .a_batch = {0}, .b_batch = {1}, .summed = 1, .a_summed = {2}, .b_summed = {2}};
    tc_tensor y = tc_prim_contract(g, rows, columns, &c); /* [groups, outs, n, points] */
    if (tc_is_poison(y))
        return y;
    y = tc_prim_transpose(g, y, (const int[]){2, 0, 1, 3});
    return tc_prim_reshape(g, y, 4,
                           (const tc_expr *const[]){shape[0], tc_expr_const(&g->dims, outs), shape[3], shape[4]});
}

static tc_tensor deform_conv(tc_graph *g, const tc_deform_conv2d_args *args)
{
    const tc_site at = args->at;
    const tc_tensor given[] = {args->weight, args->offset, args->bias, args->mask};
    const tc_type *type = &args->x->type;
    const int groups = args->groups ? args->groups : 1;
    tc_windows w = {.dims = 2};
    int64_t sizes[2];
    if (args->weight->type.rank != 4 || !tc_expr_value(args->weight->type.shape[2], &sizes[0]) ||
        !tc_expr_value(args->weight->type.shape[3], &sizes[1]) || sizes[0] < 1 || sizes[1] < 1) {
        tc_fail(g, "weight[o, c / groups, kh, kw] of constant sizes", "the weight is %s",
                tc_type_text(g, &args->weight->type));
        return tc_poison();
    }
    w.size[0] = (int)sizes[0];
    w.size[1] = (int)sizes[1];
    const tc_window_options options = {args->stride, args->padding, args->low, args->high, args->dilation};
    if (!tc_check_float(g, type) || !tc_windows_read(g, &options, false, &w))
        return tc_poison();
    for (int i = 0; i < 4; ++i)
        if (given[i] && !tc_check_same_dtype(g, type, &given[i]->type))
            return tc_poison();
    const int64_t d = offset_groups(g, args, groups, &w);
    if (!d)
        return tc_poison();
    tc_tensor x = tc_prim_widen(g, args->x), offset = tc_prim_widen(g, args->offset),
              mask = tc_prim_widen(g, args->mask);
    int64_t channels;
    tc_expr_value(type->shape[1], &channels);
    const tc_expr *area = tc_expr_mul(type->shape[2], type->shape[3]), *own = tc_expr_const(&g->dims, channels / d);
    deform s = {.g = g,
                .at = at,
                .images = type->shape[0],
                .groups = tc_expr_const(&g->dims, d),
                .taps = tc_expr_const(&g->dims, sizes[0] * sizes[1]),
                .size = {type->shape[2], type->shape[3]},
                .out = {offset->type.shape[2], offset->type.shape[3]}};
    x = tc_prim_reshape(g, x, 4, (const tc_expr *const[]){s.images, s.groups, own, area});
    x = tc_prim_transpose(g, x, (const int[]){0, 1, 3, 2});
    s.rows = tc_prim_reshape(g, x, 2,
                             (const tc_expr *const[]){tc_expr_mul(tc_expr_mul(s.images, s.groups), area), own});
    const tc_type all = {.dtype = TC_I64, .rank = 5, .shape = {s.images, s.groups, s.taps, s.out[0], s.out[1]}};
    tc_tensor number = MUL(tc_prim_iota(g, 0, &all), d), group = ADD(number, tc_prim_iota(g, 1, &all));
    tc_tensor elements = tc_size_value(g, TC_I64, area);
    s.base = MUL(group, elements);
    const tc_expr *const pairs[] = {s.images, s.groups, s.taps, tc_expr_const(&g->dims, 2), s.out[0], s.out[1]};
    offset = tc_prim_reshape(g, offset, 6, pairs);
    for (int i = 0; i < 2; ++i)
        s.place[i] = places(&s, offset, &w, i);
    tc_tensor columns = between(&s);
    if (mask && !tc_is_poison(columns)) {
        mask = tc_prim_reshape(g, mask, 5, all.shape);
        mask = tc_prim_broadcast(g, mask, 6, columns->type.shape, (const int[]){0, 1, 2, 3, 4});
        columns = MUL(columns, mask);
    }
    if (tc_is_poison(columns))
        return columns;
    tc_tensor y = contracted(g, columns, tc_prim_widen(g, args->weight), groups);
    if (args->bias && !tc_is_poison(y))
        y = tc_add_channel_bias(g, at, y, tc_prim_widen(g, args->bias));
    return tc_is_poison(y) ? y : tc_prim_narrow(g, y, type->dtype);
}

tc_tensor tc_deform_conv2d_at(const tc_deform_conv2d_args *args)
{
    tc_graph *g = tc_op_enter(args->at, "tc_deform_conv2d", "deform_conv2d", "x weight offset ?bias ?mask", 5,
                              (tc_tensor[]){args->x, args->weight, args->offset, args->bias, args->mask});
    return g ? tc_op_leave(g, deform_conv(g, args)) : tc_poison();
}
