/* SPDX-License-Identifier: Apache-2.0
 *
 * Windows laid out as columns, and columns added up to the tensor again.
 */
#include "compose.h"
#include "windows.h"

static bool read_windows(tc_graph *g, const tc_unfold_args *args, tc_windows *w)
{
    *w = (tc_windows){.dims = 2};
    const int *kernel = tc_windows_each(g, 2, args->kernel);
    for (int i = 0; i < 2; ++i) {
        w->size[i] = kernel[i];
        if (w->size[i] < 1) {
            tc_fail(g, "name it: .kernel = {2, 2}", "kernel is %s", tc_windows_text(g, 2, kernel));
            return false;
        }
    }
    tc_window_options options = {args->stride, args->padding, args->low, args->high, args->dilation};
    return tc_windows_read(g, &options, false, w);
}

static tc_tensor unfold(tc_graph *g, const tc_unfold_args *args)
{
    tc_windows w;
    tc_tensor x = args->x;
    if (x->type.rank != 4) {
        tc_fail(g, "[n, c, h, w]", "needs rank 4, not %s", tc_type_text(g, &x->type));
        return tc_poison();
    }
    if (!read_windows(g, args, &w))
        return tc_poison();
    const tc_expr *n = x->type.shape[0], *c = x->type.shape[1], *counts[2];
    for (int i = 0; i < 2; ++i)
        if (!(counts[i] = tc_windows_count(g, &w, i, x->type.shape[2 + i])))
            return tc_poison();
    tc_pad_args pads = {.x = x,
                        .low = {0, 0, w.low[0], w.low[1]},
                        .high = {0, 0, w.high[0], w.high[1]},
                        .at = args->at};
    x = tc_pad_at(&pads);
    for (int i = 1; i >= 0; --i) /* [n, c, kh, h', kw, w'] */
        x = tc_prim_gather(g, x, tc_index_windows(g, args->at, w.size[i], w.dilation[i], counts[i], w.stride[i]),
                           2 + i);
    x = tc_permute_at(args->at, x, 6, (const int[]){0, 1, 2, 4, 3, 5});
    const tc_expr *shape[] = {n, tc_expr_mul_int(c, (int64_t)w.size[0] * w.size[1]), tc_expr_mul(counts[0], counts[1])};
    return tc_is_poison(x) ? x : tc_prim_reshape(g, x, 3, shape);
}

tc_tensor tc_unfold_at(const tc_unfold_args *args)
{
    tc_graph *g = tc_op_enter(args->at, "tc_unfold", "unfold", "x", 1, &args->x);
    return g ? tc_op_leave(g, unfold(g, args)) : tc_poison();
}

/* Replaces axes `axis` (taps) and `axis` + 1 (windows) of x by `size`: each place the sum of the elements that windows
 * have there, in order of the taps. Place y meets tap k in window (y + low - k*dilation) / stride, where that is
 * one. */
static tc_tensor add_windows(tc_graph *g, tc_site at, tc_tensor x, int axis, const tc_windows *w, int i,
                             const tc_expr *count, const tc_expr *size)
{
    tc_type plane = {.dtype = TC_I64, .rank = 2, .shape = {size, tc_expr_const(&g->dims, w->size[i])}};
    tc_tensor windows = tc_size_value(g, TC_I64, count), last = tc_size_value(g, TC_I64, tc_expr_add_int(count, -1));
    tc_tensor place = ADD(tc_prim_iota(g, 0, &plane), w->low[i]), tap = tc_prim_iota(g, 1, &plane);
    tc_tensor back = MUL(tap, w->dilation[i]), from = SUB(place, back), window = DIV(from, w->stride[i]);
    tc_tensor exact = EQ(MUL(window, w->stride[i]), from), begun = GE(from, 0), inside = LT(window, windows);
    tc_tensor there = MINIMUM(MAXIMUM(window, 0), last);
    tc_tensor index = ADD(MUL(tap, windows), there);
    x = tc_prim_gather(g, tc_flatten_range_at(at, x, axis, axis + 1), index, axis);
    if (tc_is_poison(x))
        return x;
    tc_tensor keep = AND(begun, inside);
    keep = AND(exact, keep);
    keep = tc_prim_broadcast(g, keep, x->type.rank, x->type.shape, (const int[]){axis, axis + 1});
    return tc_sum_at(at, WHERE(keep, x, 0), false, 1, (const int[]){axis + 1});
}

static tc_tensor fold(tc_graph *g, const tc_unfold_args *args, tc_dim height, tc_dim width)
{
    tc_windows w;
    tc_tensor x = args->x;
    if (x->type.rank != 3) {
        tc_fail(g, "[n, c*kh*kw, windows]", "needs rank 3, not %s", tc_type_text(g, &x->type));
        return tc_poison();
    }
    if (!read_windows(g, args, &w))
        return tc_poison();
    const tc_expr *sizes[] = {tc_dim_expr(g, height), tc_dim_expr(g, width)}, *counts[2];
    for (int i = 0; i < 2; ++i)
        if (!(counts[i] = tc_windows_count(g, &w, i, sizes[i])))
            return tc_poison();
    int64_t taps = (int64_t)w.size[0] * w.size[1];
    const tc_expr *c = tc_expr_floordiv(x->type.shape[1], tc_expr_const(&g->dims, taps));
    if (!tc_same_dim(g, x->type.shape[1], tc_expr_mul_int(c, taps)) ||
        !tc_same_dim(g, x->type.shape[2], tc_expr_mul(counts[0], counts[1]))) {
        tc_fail(g, "[n, c*kh*kw, h'*w']", "%s holds no columns of %s windows of %lld elements",
                tc_type_text(g, &x->type), tc_expr_text(tc_expr_mul(counts[0], counts[1])), (long long)taps);
        return tc_poison();
    }
    const tc_expr *split[] = {x->type.shape[0],
                              c,
                              tc_expr_const(&g->dims, w.size[0]),
                              tc_expr_const(&g->dims, w.size[1]),
                              counts[0],
                              counts[1]};
    x = tc_prim_reshape(g, tc_prim_widen(g, x), 6, split);
    x = tc_permute_at(args->at, x, 6, (const int[]){0, 1, 2, 4, 3, 5});
    x = add_windows(g, args->at, x, 4, &w, 1, counts[1], sizes[1]); /* [n, c, kh, h', w] */
    if (!tc_is_poison(x))
        x = add_windows(g, args->at, x, 2, &w, 0, counts[0], sizes[0]);
    return tc_prim_narrow(g, x, args->x->type.dtype);
}

tc_tensor tc_fold_at(const tc_unfold_args *args, tc_dim height, tc_dim width)
{
    tc_graph *g = tc_op_enter(args->at, "tc_fold", "fold", "x", 1, &args->x);
    return g ? tc_op_leave(g, fold(g, args, height, width)) : tc_poison();
}
