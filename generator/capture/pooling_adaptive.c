/* SPDX-License-Identifier: Apache-2.0
 *
 * Pooling to a given size. Window i of an axis has the elements from floor(i*in / out) to below ceil((i + 1)*in / out).
 */
#include "compose.h"
#include "windows.h"

typedef struct pool {
    tc_graph *g;
    tc_site at;
    int dims;
    const tc_expr *in[TC_MAX_WINDOW], *out[TC_MAX_WINDOW];
    bool maximum;
    tc_tensor *indices; /* NULL: not wanted */
} pool;

/* -- windows of one size ------------------------------------------------------------------------------------------- */

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
    tc_site at = p->at;
    double size = 1;
    for (int i = 0; i < w->dims; ++i)
        size *= w->size[i];
    tc_tensor y = tc_prim_window_reduce(p->g, x, p->maximum ? "max" : "sum", w->dims, w->size, w->stride, w->low,
                                        w->high, w->dilation);
    return p->maximum ? y : DIV(y, size);
}

/* One window an axis: all of it. */
static tc_tensor pool_all(const pool *p, tc_tensor x)
{
    static const int axes[TC_MAX_WINDOW] = {2, 3, 4};
    return (p->maximum ? tc_amax_at : tc_mean_at)(p->at, x, true, p->dims, axes);
}

/* -- windows of several sizes -------------------------------------------------------------------------------------- */

/* The windows along one axis. */
typedef struct span {
    const tc_expr *longest; /* no window is longer */
    tc_tensor start, count; /* the first element and the number of elements: i64[out] */
    tc_tensor inside;       /* whether a window has a place: bool[out, longest] */
} span;

static tc_tensor size_value(const pool *p, const tc_expr *size)
{
    return tc_size_value(p->g, TC_I64, size);
}

/* floor(x*in / out) and the same rounded up, x an i64 tensor. */
static tc_tensor bound(const pool *p, int i, tc_tensor x, bool up)
{
    tc_site at = p->at;
    tc_tensor in = size_value(p, p->in[i]), out = size_value(p, p->out[i]), scaled = MUL(x, in);
    if (up) {
        tc_tensor less = size_value(p, tc_expr_add_int(p->out[i], -1));
        scaled = ADD(scaled, less);
    }
    return DIV(scaled, out);
}

/* Replaces axis 2 + i of x by [out, longest]: window and place in it; what is behind the window's end repeats the last
 * element, and is false in `inside`. */
static tc_tensor spread_windows(const pool *p, tc_tensor x, int i, span *s)
{
    tc_graph *g = p->g;
    tc_site at = p->at;
    const tc_expr *rounded = tc_expr_floordiv(tc_expr_add_int(tc_expr_add(p->in[i], p->out[i]), -1), p->out[i]);
    const tc_expr *even = tc_expr_exact_div(p->in[i], p->out[i]);
    s->longest = even ? even : tc_expr_add_int(rounded, 1);
    tc_type plane = {.dtype = TC_I64, .rank = 2, .shape = {p->out[i], s->longest}};
    tc_tensor window = tc_prim_iota(g, 0, &plane), place = tc_prim_iota(g, 1, &plane);
    tc_tensor start = bound(p, i, window, false), last = size_value(p, tc_expr_add_int(p->in[i], -1));
    tc_tensor index = MINIMUM(ADD(start, place), last);
    tc_tensor end = bound(p, i, ADD(window, 1), true), length = SUB(end, start);
    s->inside = LT(place, length);
    tc_tensor number = tc_prim_iota(g, 0, &(tc_type){.dtype = TC_I64, .rank = 1, .shape = {p->out[i]}});
    tc_tensor behind = bound(p, i, ADD(number, 1), true);
    s->start = bound(p, i, number, false);
    s->count = SUB(behind, s->start);
    return tc_prim_gather(g, x, index, 2 + i);
}

/* v, a vector along axis `axis` or a matrix along that and the next one, repeated to the shape of `like`. */
static tc_tensor along(const pool *p, tc_tensor v, const tc_type *like, int axis)
{
    return tc_is_poison(v) ? v : tc_prim_broadcast(p->g, v, like->rank, like->shape, (const int[]){axis, axis + 1});
}

/* x[n, c, ...] as [n, c, out, longest, out, longest, ...], with `outside` behind the windows' ends. */
static tc_tensor spread(const pool *p, tc_tensor x, tc_tensor outside, span *spans)
{
    tc_site at = p->at;
    for (int i = p->dims - 1; i >= 0 && !tc_is_poison(x); --i)
        x = spread_windows(p, x, i, &spans[i]);
    if (tc_is_poison(x))
        return x;
    tc_tensor keep = along(p, spans[0].inside, &x->type, 2);
    for (int i = 1; i < p->dims; ++i) {
        tc_tensor other = along(p, spans[i].inside, &x->type, 2 + 2 * i);
        keep = AND(keep, other);
    }
    return WHERE(keep, x, outside);
}

static tc_tensor pool_irregular(const pool *p, tc_tensor x)
{
    static const int axes[TC_MAX_WINDOW] = {3, 5, 7};
    tc_site at = p->at;
    tc_dtype dtype = x->type.dtype;
    span spans[TC_MAX_WINDOW];
    tc_tensor outside = p->maximum ? tc_smallest(p->g, dtype) : tc_constant_of(p->g, dtype, tc_operand_int_(0));
    x = spread(p, x, outside, spans);
    tc_tensor y = tc_prim_reduce(p->g, x, p->maximum ? "max" : "sum", p->dims, axes);
    if (p->maximum || tc_is_poison(y))
        return y;
    tc_tensor size = along(p, spans[0].count, &y->type, 2);
    for (int i = 1; i < p->dims; ++i) {
        tc_tensor other = along(p, spans[i].count, &y->type, 2 + i);
        size = MUL(size, other);
    }
    return DIV(y, tc_cast_at(at, size, dtype));
}

/* Where the maxima are in the plane, i64[n, c, out...]: the first place of the largest in each window, found among its
 * places in row-major order. */
static tc_tensor places_of_maxima(const pool *p, tc_tensor x)
{
    tc_site at = p->at;
    span spans[TC_MAX_WINDOW];
    int perm[TC_MAX_RANK] = {0, 1}, rank = p->dims + 3;
    x = spread(p, x, tc_smallest(p->g, x->type.dtype), spans);
    if (tc_is_poison(x))
        return x;
    const tc_expr *shape[TC_MAX_RANK] = {x->type.shape[0], x->type.shape[1]}, *places = p->g->dims.one;
    for (int i = 0; i < p->dims; ++i) {
        perm[2 + i] = 2 + 2 * i;
        perm[2 + p->dims + i] = 3 + 2 * i;
        shape[2 + i] = p->out[i];
        places = tc_expr_mul(places, spans[i].longest);
    }
    shape[rank - 1] = places;
    x = tc_prim_reshape(p->g, tc_prim_transpose(p->g, x, perm), rank, shape);
    tc_tensor rest = tc_prim_arg_reduce(p->g, x, "max", rank - 1), index = NULL;
    const tc_expr *row = p->g->dims.one;
    for (int i = p->dims - 1; i >= 0 && !tc_is_poison(rest); --i) {
        tc_tensor length = size_value(p, spans[i].longest), step = size_value(p, row);
        tc_tensor start = along(p, spans[i].start, &rest->type, 2 + i), place = ADD(start, REM(rest, length));
        tc_tensor term = MUL(place, step);
        index = index ? ADD(index, term) : term;
        rest = DIV(rest, length);
        row = tc_expr_mul(row, p->in[i]);
    }
    return index ? index : tc_poison();
}

/* -- calls --------------------------------------------------------------------------------------------------------- */

static bool read_sizes(pool *p, const tc_type *x, const tc_dim *sizes)
{
    tc_graph *g = p->g;
    for (int i = 0; i < p->dims; ++i) {
        p->in[i] = x->shape[2 + i];
        p->out[i] = tc_dim_expr(g, sizes[i]);
        if (tc_expr_is(p->out[i], -1))
            p->out[i] = p->in[i];
        if (!tc_at_least(g, p->out[i], g->dims.one) || !tc_at_least(g, p->in[i], g->dims.one)) {
            tc_fail(g, "sizes are positive", "axis %d of %s to the size %s", 2 + i, tc_type_text(g, x),
                    tc_expr_text(p->out[i]));
            return false;
        }
    }
    return true;
}

static tc_tensor adaptive(pool *p, tc_tensor x, const tc_dim *sizes)
{
    tc_dtype dtype = x->type.dtype;
    tc_windows w;
    bool all = true;
    if (!tc_windows_check_rank(p->g, &x->type, p->dims) || (!p->maximum && !tc_check_float(p->g, &x->type)) ||
        !read_sizes(p, &x->type, sizes))
        return tc_poison();
    for (int i = 0; i < p->dims; ++i)
        all &= tc_expr_is(p->out[i], 1);
    if (p->indices)
        *p->indices = places_of_maxima(p, x);
    if (!p->maximum)
        x = tc_prim_widen(p->g, x);
    tc_tensor y = all ? pool_all(p, x) : regular(p, &w) ? pool_regular(p, x, &w) : pool_irregular(p, x);
    return tc_prim_narrow(p->g, y, dtype);
}

tc_tensor tc_adaptive_avg_pool_at(tc_site at, const char *name, tc_tensor x, int dims, const tc_dim *sizes)
{
    tc_graph *g = tc_op_enter(at, name, "adaptive_avg_pool", "x", 1, &x);
    return g ? tc_op_leave(g, adaptive(&(pool){.g = g, .at = at, .dims = dims}, x, sizes)) : tc_poison();
}

tc_tensor tc_adaptive_max_pool_at(tc_site at, const char *name, tc_tensor x, tc_tensor *indices, int dims,
                                  const tc_dim *sizes)
{
    if (indices)
        *indices = tc_poison();
    tc_graph *g = tc_op_enter(at, name, "adaptive_max_pool", "x", 1, &x);
    pool p = {.g = g, .at = at, .dims = dims, .maximum = true, .indices = indices};
    return g ? tc_op_leave(g, adaptive(&p, x, sizes)) : tc_poison();
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
