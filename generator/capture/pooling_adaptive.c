/* SPDX-License-Identifier: Apache-2.0
 *
 * Pooling to a given size. Window i of an axis has the elements from floor(i*in / out) to below ceil((i + 1)*in / out).
 */
#include <math.h>

#include "windows.h"

#define TENSOR(x) tc_operand_tensor_(x)
#define NUMBER(x) tc_operand_float_(x)
#define INTEGER(x) tc_operand_int_(x)

typedef struct pool {
    tc_graph *g;
    tc_site at;
    int dims;
    const tc_expr *in[TC_MAX_WINDOW], *out[TC_MAX_WINDOW];
    bool maximum;
} pool;

/* -- windows of one size --------------------------------------------------------------------------------------------- */

/* Windows of a constant size side by side, where all axes are made of such. */
static bool regular(const pool *p, tc_windows *w)
{
    *w = (tc_windows){.dims = p->dims};
    for (int i = 0; i < p->dims; ++i) {
        const tc_expr *size = p->in[i] == p->out[i] ? p->g->dims.one : tc_expr_exact_div(p->in[i], p->out[i]);
        int64_t constant;
        if (!size || !tc_expr_value(size, &constant) || constant < 1 || constant > INT32_MAX)
            return false;
        w->size[i] = w->stride[i] = (int)constant;
        w->dilation[i] = 1;
    }
    return true;
}

static tc_tensor pool_regular(const pool *p, tc_tensor x, const tc_windows *w)
{
    double size = 1;
    for (int i = 0; i < w->dims; ++i)
        size *= w->size[i];
    tc_tensor y = tc_prim_window_reduce(p->g, x, p->maximum ? "max" : "sum", w->dims, w->size, w->stride, w->low, w->high,
                                        w->dilation);
    return p->maximum ? y : tc_div_at(p->at, TENSOR(y), NUMBER(size));
}

/* One window an axis: all of it. */
static tc_tensor pool_all(const pool *p, tc_tensor x)
{
    static const int axes[TC_MAX_WINDOW] = {2, 3, 4};
    return (p->maximum ? tc_amax_at : tc_mean_at)(p->at, x, true, p->dims, axes);
}

/* -- windows of several sizes ---------------------------------------------------------------------------------------- */

static tc_operand size_operand(const pool *p, const tc_expr *size)
{
    int64_t constant;
    return tc_expr_value(size, &constant) ? INTEGER(constant) : TENSOR(tc_prim_dim_value(p->g, TC_I64, size));
}

/* floor(x*in / out) and the same rounded up, x an i64 tensor. */
static tc_tensor bound(const pool *p, int i, tc_tensor x, bool up)
{
    tc_tensor scaled = tc_mul_at(p->at, TENSOR(x), size_operand(p, p->in[i]));
    if (up)
        scaled = tc_add_at(p->at, TENSOR(scaled), size_operand(p, tc_expr_add_int(p->out[i], -1)));
    return tc_div_at(p->at, TENSOR(scaled), size_operand(p, p->out[i]));
}

/* Replaces axis 2 + i of x by [out, longest]: window and place in it; what is behind the window's end repeats the last
 * element, and is false in `inside`. `count`: the windows' lengths, [out]. */
static tc_tensor spread_windows(const pool *p, tc_tensor x, int i, tc_tensor *inside, tc_tensor *count)
{
    tc_graph *g = p->g;
    const tc_expr *rounded = tc_expr_floordiv(tc_expr_add_int(tc_expr_add(p->in[i], p->out[i]), -1), p->out[i]);
    const tc_expr *longest = tc_expr_add_int(rounded, 1);
    tc_type plane = {.dtype = TC_I64, .rank = 2, .shape = {p->out[i], longest}};
    tc_tensor window = tc_prim_iota(g, 0, &plane), place = tc_prim_iota(g, 1, &plane);
    tc_tensor start = bound(p, i, window, false);
    tc_tensor index = tc_add_at(p->at, TENSOR(start), TENSOR(place));
    index = tc_minimum_at(p->at, TENSOR(index), size_operand(p, tc_expr_add_int(p->in[i], -1)));
    tc_tensor end = bound(p, i, tc_add_at(p->at, TENSOR(window), INTEGER(1)), true);
    *inside = tc_lt_at(p->at, TENSOR(place), TENSOR(tc_sub_at(p->at, TENSOR(end), TENSOR(start))));
    tc_tensor number = tc_prim_iota(g, 0, &(tc_type){.dtype = TC_I64, .rank = 1, .shape = {p->out[i]}});
    tc_tensor behind = bound(p, i, tc_add_at(p->at, TENSOR(number), INTEGER(1)), true);
    *count = tc_sub_at(p->at, TENSOR(behind), TENSOR(bound(p, i, number, false)));
    return tc_prim_gather(g, x, index, 2 + i);
}

/* v, a vector along axis `axis` or a matrix along that and the next one, repeated to the shape of `like`. */
static tc_tensor along(const pool *p, tc_tensor v, const tc_type *like, int axis)
{
    return tc_is_poison(v) ? v : tc_prim_broadcast(p->g, v, like->rank, like->shape, (const int[]){axis, axis + 1});
}

static tc_tensor pool_irregular(const pool *p, tc_tensor x)
{
    tc_tensor inside[TC_MAX_WINDOW], counts[TC_MAX_WINDOW];
    int axes[TC_MAX_WINDOW];
    for (int i = p->dims - 1; i >= 0; --i) {
        x = spread_windows(p, x, i, &inside[i], &counts[i]);
        axes[i] = 3 + 2 * i;
        if (tc_is_poison(x))
            return x;
    }
    tc_tensor keep = along(p, inside[0], &x->type, 2);
    for (int i = 1; i < p->dims; ++i)
        keep = tc_logical_and_at(p->at, TENSOR(keep), TENSOR(along(p, inside[i], &x->type, 2 + 2 * i)));
    x = tc_where_at(p->at, keep, TENSOR(x), p->maximum ? tc_windows_smallest(x->type.dtype) : NUMBER(0));
    tc_tensor y = tc_prim_reduce(p->g, x, p->maximum ? "max" : "sum", p->dims, axes);
    if (p->maximum || tc_is_poison(y))
        return y;
    tc_tensor size = along(p, counts[0], &y->type, 2);
    for (int i = 1; i < p->dims; ++i)
        size = tc_mul_at(p->at, TENSOR(size), TENSOR(along(p, counts[i], &y->type, 2 + i)));
    return tc_div_at(p->at, TENSOR(y), TENSOR(tc_cast_at(p->at, size, y->type.dtype)));
}

/* -- calls ----------------------------------------------------------------------------------------------------------- */

static tc_tensor adaptive(tc_graph *g, tc_site at, tc_tensor x, bool maximum, int dims, const tc_dim *sizes)
{
    pool p = {.g = g, .at = at, .dims = dims, .maximum = maximum};
    bool all = true;
    if (x->type.rank != dims + 2) {
        tc_fail(g, "[n, c, ...] and one axis a size", "needs rank %d, not %s", dims + 2, tc_type_text(g, &x->type));
        return tc_poison();
    }
    if (!maximum && !tc_dtype_is_float(x->type.dtype)) {
        tc_fail(g, "convert with tc_cast(x, TC_F32)", "needs floats, not %s", tc_type_text(g, &x->type));
        return tc_poison();
    }
    for (int i = 0; i < dims; ++i) {
        p.in[i] = x->type.shape[2 + i];
        p.out[i] = tc_dim_expr(g, sizes[i]);
        if (tc_expr_is(p.out[i], -1))
            p.out[i] = p.in[i];
        if (!tc_at_least(g, p.out[i], g->dims.one) || !tc_at_least(g, p.in[i], g->dims.one)) {
            tc_fail(g, "sizes are positive", "axis %d of %s to the size %s", 2 + i, tc_type_text(g, &x->type),
                    tc_expr_text(p.out[i]));
            return tc_poison();
        }
        all &= tc_expr_is(p.out[i], 1);
    }
    tc_windows w;
    return all ? pool_all(&p, x) : regular(&p, &w) ? pool_regular(&p, x, &w) : pool_irregular(&p, x);
}

static tc_tensor entered(tc_site at, const char *name, const char *region, tc_tensor x, bool maximum, int dims,
                         const tc_dim *sizes)
{
    tc_graph *g = tc_op_enter(at, name, region, "x", 1, &x);
    return g ? tc_op_leave(g, adaptive(g, at, x, maximum, dims, sizes)) : tc_poison();
}

tc_tensor tc_adaptive_avg_pool_at(tc_site at, const char *name, tc_tensor x, int dims, const tc_dim *sizes)
{
    return entered(at, name, "adaptive_avg_pool", x, false, dims, sizes);
}

tc_tensor tc_adaptive_max_pool_at(tc_site at, const char *name, tc_tensor x, int dims, const tc_dim *sizes)
{
    return entered(at, name, "adaptive_max_pool", x, true, dims, sizes);
}

static tc_tensor global(tc_site at, const char *name, const char *region, tc_tensor x, bool maximum)
{
    static const int axes[TC_MAX_RANK] = {2, 3, 4, 5, 6, 7};
    tc_graph *g = tc_op_enter(at, name, region, "x", 1, &x);
    if (!g)
        return tc_poison();
    if (x->type.rank < 3) {
        tc_fail(g, "[n, c, ...]", "needs rank 3 or more, not %s", tc_type_text(g, &x->type));
        return tc_op_leave(g, tc_poison());
    }
    return tc_op_leave(g, (maximum ? tc_amax_at : tc_mean_at)(at, x, true, x->type.rank - 2, axes));
}

tc_tensor tc_global_avg_pool_at(tc_site at, tc_tensor x)
{
    return global(at, "tc_global_avg_pool", "global_avg_pool", x, false);
}

tc_tensor tc_global_max_pool_at(tc_site at, tc_tensor x)
{
    return global(at, "tc_global_max_pool", "global_max_pool", x, true);
}
