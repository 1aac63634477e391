/* SPDX-License-Identifier: Apache-2.0
 *
 * Pooling in one, two and three dims.
 */
#include <math.h>
#include <string.h>

#include "compose.h"
#include "windows.h"

/* What the calls of all dims have in common. */
typedef struct call {
    tc_site at;
    tc_tensor x, *indices;
    int dims, divisor;
    const int *kernel;
    tc_window_options options;
    tc_same same;
    bool ceil_mode, exclude_padding;
    double norm;
} call;

/* The padding of .same, reported where it is no constant. */
static bool pad_same(tc_graph *g, const call *c, tc_windows *w)
{
    if (c->ceil_mode) {
        tc_fail(g, NULL, ".same and .ceil_mode: both make the number of windows");
        return false;
    }
    if (!tc_windows_check_same(g, w))
        return false;
    for (int i = 0; i < w->dims; ++i) {
        const tc_expr *size = c->x->type.shape[2 + i], *low, *high;
        int64_t before, behind;
        if (!tc_windows_pad_same(g, w, i, size, c->same, &low, &high))
            return false;
        if (!tc_expr_value(low, &before) || !tc_expr_value(high, &behind)) {
            tc_fail(g, "a constant size, or one with a divisor", "the padding of .same depends on the size %s",
                    tc_expr_text(size));
            return false;
        }
        if (!tc_windows_padding(g, before, &w->low[i]) || !tc_windows_padding(g, behind, &w->high[i]))
            return false;
    }
    return true;
}

/* Reads and checks what all poolings share. With ceil_mode the last window may reach beyond the padding, if it begins
 * in the input or before it: of the sizes in + 2*low - extent and in - 1 + low, divided by the stride and rounded up or
 * down, the smaller counts, and as both are of the form floor((in + constant) / stride) that is the one of the smaller
 * constant: an amount of padding at the end, whatever the size. */
static bool read_pool(tc_graph *g, const call *c, tc_windows *w)
{
    w->dims = c->dims;
    if (!tc_windows_check_rank(g, &c->x->type, c->dims))
        return false;
    const int *kernel = tc_windows_each(g, c->dims, c->kernel);
    for (int i = 0; i < c->dims; ++i) {
        w->size[i] = kernel[i];
        if (kernel[i] < 1) {
            tc_fail(g, "name it: .kernel = {2, 2}", "kernel is %s", tc_windows_text(g, c->dims, kernel));
            return false;
        }
    }
    if (!tc_windows_read(g, &c->options, true, w))
        return false;
    if (c->same)
        return pad_same(g, c, w);
    for (int i = 0; i < c->dims; ++i) {
        int half = w->size[i] / 2;
        if (w->low[i] > half || w->high[i] > half) {
            tc_fail(g, "a window must not lie in the padding alone", "padding %s is more than half of the kernel %s",
                    tc_windows_text(g, c->dims, w->low[i] > half ? w->low : w->high),
                    tc_windows_text(g, c->dims, kernel));
            return false;
        }
        int64_t whole = (int64_t)w->high[i] + w->stride[i] - 1, begun = tc_windows_extent(w, i) - 1;
        if (c->ceil_mode && !tc_windows_padding(g, whole < begun ? whole : begun, &w->high[i]))
            return false;
    }
    return true;
}

static tc_tensor window_reduce(tc_graph *g, tc_tensor x, const char *op, const tc_windows *w)
{
    return tc_prim_window_reduce(g, x, op, w->dims, w->size, w->stride, w->low, w->high, w->dilation);
}

/* -- maximum ------------------------------------------------------------------------------------------------------- */

/* x padded along the axis by the smallest number. */
static tc_tensor pad_smallest(tc_graph *g, tc_tensor x, int axis, int low, int high)
{
    const tc_expr *lows[TC_MAX_RANK], *highs[TC_MAX_RANK];
    tc_dtype dtype = x->type.dtype;
    if (!low && !high)
        return x;
    for (int i = 0; i < x->type.rank; ++i) {
        lows[i] = i == axis ? tc_expr_const(&g->dims, low) : g->dims.zero;
        highs[i] = i == axis ? tc_expr_const(&g->dims, high) : g->dims.zero;
    }
    return tc_prim_pad(g, x, tc_smallest(g, dtype), lows, highs);
}

/* One element of each window along the axis, the `tap`th. */
static tc_tensor tap_of(tc_site at, tc_tensor padded, int axis, const tc_expr *count, const tc_windows *w, int i,
                        int tap)
{
    int64_t start = (int64_t)tap * w->dilation[i];
    const tc_expr *span = tc_expr_mul_int(tc_expr_add_int(count, -1), w->stride[i]);
    return tc_slice_at(at, padded, axis, tc_dim_int_(start), tc_dim_of(tc_expr_add_int(span, start + 1)), w->stride[i]);
}

/* The maximum along one axis of windows, and beside it where it was found: `found` holds the flat index of each element
 * of x, NULL for none yet. A later element wins where it is larger or NaN, as in PyTorch; padding never does, because
 * the first to compare with is an element of x. */
static tc_tensor largest_of_axis(tc_graph *g, tc_site at, tc_tensor x, const tc_windows *w, int i, tc_tensor *found)
{
    int axis = 2 + i;
    tc_type shape = x->type;
    const tc_expr *count = tc_windows_count(g, w, i, x->type.shape[axis]);
    shape.shape[axis] = count;
    shape.dtype = TC_I64;
    tc_tensor padded = pad_smallest(g, x, axis, w->low[i], w->high[i]);
    tc_tensor places = *found ? pad_smallest(g, *found, axis, w->low[i], w->high[i]) : NULL;
    tc_tensor start = SUB(MUL(tc_prim_iota(g, axis, &shape), w->stride[i]), w->low[i]);
    tc_tensor best = tap_of(at, padded, axis, count, w, i, 0);
    *found = places ? tap_of(at, places, axis, count, w, i, 0) : start;
    for (int tap = 1; tap < w->size[i]; ++tap) {
        int64_t before = (int64_t)(tap - 1) * w->dilation[i];
        tc_tensor value = tap_of(at, padded, axis, count, w, i, tap), larger = GT(value, best);
        tc_tensor unknown = NE(value, value), wins = OR(larger, unknown);
        if (before < w->low[i]) { /* while everything so far was padding, the next one wins, unless it is padding too */
            tc_tensor outside = LT(ADD(start, before), 0);
            wins = OR(wins, outside);
        }
        tc_tensor place = places ? tap_of(at, places, axis, count, w, i, tap) : ADD(start, before + w->dilation[i]);
        best = WHERE(wins, value, best);
        *found = WHERE(wins, place, *found);
    }
    return best;
}

/* The maxima's indices in a plane of x: axis by axis from the last, which gives the first in row-major order. */
static tc_tensor indices_of(tc_graph *g, tc_site at, tc_tensor x, const tc_windows *w)
{
    tc_tensor values = x, index = NULL;
    const tc_expr *row = g->dims.one;
    for (int i = w->dims - 1; i >= 0 && !tc_is_poison(values); --i) {
        if (index) { /* places of the axes behind, to which this axis's own place is added */
            tc_type here = index->type;
            tc_tensor step = tc_size_value(g, TC_I64, row);
            index = ADD(MUL(tc_prim_iota(g, 2 + i, &here), step), index);
        }
        values = largest_of_axis(g, at, values, w, i, &index);
        row = tc_expr_mul(row, x->type.shape[2 + i]);
    }
    return index;
}

static tc_tensor max_pool(tc_graph *g, const call *c)
{
    tc_windows w;
    if (c->exclude_padding || c->divisor || c->norm != 0) {
        tc_fail(g, NULL, ".exclude_padding, .divisor and .norm are options of other poolings");
        return tc_poison();
    }
    if (!read_pool(g, c, &w))
        return tc_poison();
    tc_tensor y = window_reduce(g, c->x, "max", &w);
    if (c->indices && !tc_is_poison(y))
        *c->indices = indices_of(g, c->at, c->x, &w);
    return y;
}

/* -- average ------------------------------------------------------------------------------------------------------- */

static bool check_average(tc_graph *g, const call *c, tc_windows *w)
{
    const int *dilation = tc_windows_each(g, c->dims, c->options.dilation);
    if (dilation) {
        for (int i = 0; i < c->dims; ++i) {
            if (dilation[i]) {
                tc_fail(g, NULL, "an average has no dilation");
                return false;
            }
        }
    }
    if (c->divisor < 0 || c->indices) {
        tc_fail(g, NULL, c->indices ? ".indices are those of a maximum" : "divisor is negative");
        return false;
    }
    return read_pool(g, c, w) && tc_check_float(g, &c->x->type);
}

/* How many elements of each window count, [windows...] of the dtype: a window sum of ones. With `padding`, that of the
 * call counts, what ceil_mode adds behind it does not. */
static tc_tensor window_counts(tc_graph *g, const call *c, const tc_windows *w, bool padding, tc_dtype dtype)
{
    tc_windows own = *w;
    const tc_expr *shape[TC_MAX_RANK];
    const int *high = tc_windows_each(g, w->dims, c->options.high);
    const int *both = tc_windows_each(g, w->dims, c->options.padding);
    for (int i = 0; i < w->dims; ++i) {
        int given = !c->ceil_mode ? w->high[i] : high[i] ? high[i] : both[i];
        shape[i] = tc_expr_add_int(c->x->type.shape[2 + i], padding ? (int64_t)w->low[i] + given : 0);
        own.low[i] -= padding ? w->low[i] : 0;
        own.high[i] -= padding ? given : 0;
    }
    tc_tensor one = tc_constant_of(g, dtype, tc_operand_int_(1));
    return window_reduce(g, tc_prim_broadcast(g, one, w->dims, shape, NULL), "sum", &own);
}

static double window_size(const tc_windows *w)
{
    double size = 1;
    for (int i = 0; i < w->dims; ++i)
        size *= w->size[i];
    return size;
}

static tc_tensor average(tc_graph *g, const call *c)
{
    tc_site at = c->at;
    tc_windows w;
    if (c->norm != 0) {
        tc_fail(g, NULL, ".norm is an option of tc_lp_pool");
        return tc_poison();
    }
    if (!check_average(g, c, &w))
        return tc_poison();
    tc_tensor x = tc_prim_widen(g, c->x), sum = window_reduce(g, x, "sum", &w), mean;
    bool padded = false, beyond = false;
    for (int i = 0; i < c->dims; ++i) {
        padded |= w.low[i] || w.high[i];
        beyond |= c->ceil_mode && w.stride[i] > 1;
    }
    if (!c->divisor && ((c->exclude_padding && padded) || beyond)) {
        tc_tensor counts = window_counts(g, c, &w, !c->exclude_padding, x->type.dtype);
        mean = DIV(sum, counts);
    } else {
        mean = DIV(sum, c->divisor ? c->divisor : window_size(&w));
    }
    return tc_prim_narrow(g, mean, c->x->type.dtype);
}

/* -- powers -------------------------------------------------------------------------------------------------------- */

static tc_tensor power_pool(tc_graph *g, const call *c)
{
    tc_site at = c->at;
    tc_windows w;
    if (c->exclude_padding || c->divisor || !(c->norm > 0) || isinf(c->norm)) {
        tc_fail(g, "name it: .norm = 2", "the norm is %g, and .exclude_padding and .divisor have no meaning here",
                c->norm);
        return tc_poison();
    }
    if (!check_average(g, c, &w))
        return tc_poison();
    tc_tensor x = tc_prim_widen(g, c->x), powers = tc_pow_at(at, TC_OPERAND(x), TC_OPERAND(c->norm));
    tc_tensor sum = window_reduce(g, powers, "sum", &w);
    if (c->ceil_mode) { /* windows that are cut off count as whole ones */
        tc_tensor counts = window_counts(g, c, &w, true, x->type.dtype);
        sum = MUL(DIV(sum, counts), window_size(&w));
    }
    tc_tensor y = tc_pow_at(at, TC_OPERAND(sum), TC_OPERAND(1 / c->norm));
    return tc_prim_narrow(g, y, c->x->type.dtype);
}

/* -- calls --------------------------------------------------------------------------------------------------------- */

static tc_tensor entered(const char *name, const char *region, const call *c, tc_tensor body(tc_graph *, const call *))
{
    if (c->indices)
        *c->indices = tc_poison();
    tc_graph *g = tc_op_enter(c->at, name, region, "x", 1, &c->x);
    return g ? tc_op_leave(g, body(g, c)) : tc_poison();
}

/* FIELD: how a field of the arguments is the address of its first number. */
#define POOL(kind, body, dims_, FIELD)                                                                                 \
    tc_tensor tc_##kind##dims_##d_at(const tc_pool##dims_##d_args *args)                                               \
    {                                                                                                                  \
        return entered("tc_" #kind #dims_ "d", #kind #dims_ "d",                                                       \
                       &(const call){.at = args->at,                                                                   \
                                     .x = args->x,                                                                     \
                                     .indices = args->indices,                                                         \
                                     .dims = dims_,                                                                    \
                                     .divisor = args->divisor,                                                         \
                                     .kernel = FIELD(kernel),                                                          \
                                     .norm = args->norm,                                                               \
                                     .same = args->same,                                                               \
                                     .ceil_mode = args->ceil_mode,                                                     \
                                     .exclude_padding = args->exclude_padding,                                         \
                                     .options = {FIELD(stride), FIELD(padding), FIELD(low), FIELD(high),               \
                                                 FIELD(dilation)}},                                                    \
                       body);                                                                                          \
    }
#define POOLS(kind, body)                                                                                              \
    POOL(kind, body, 1, ONE)                                                                                           \
    POOL(kind, body, 2, SEVERAL)                                                                                       \
    POOL(kind, body, 3, SEVERAL)
#define ONE(field) &args->field
#define SEVERAL(field) args->field
POOLS(max_pool, max_pool)
POOLS(avg_pool, average)
POOLS(lp_pool, power_pool)
