/* SPDX-License-Identifier: Apache-2.0
 *
 * Pooling in one, two and three dims.
 */
#include <math.h>
#include <string.h>

#include "windows.h"

#define TENSOR(x) tc_operand_tensor_(x)
#define NUMBER(x) tc_operand_float_(x)
#define INTEGER(x) tc_operand_int_(x)

/* What the calls of all dims have in common. */
typedef struct call {
    tc_site at;
    tc_tensor x, *indices;
    int dims, divisor;
    const int *kernel;
    tc_window_options options;
    bool ceil_mode, exclude_padding;
    double norm;
} call;

static bool check_rank(tc_graph *g, tc_tensor x, int dims)
{
    static const char *const hints[] = {"[n, c, l]", "[n, c, h, w]", "[n, c, d, h, w]"};
    if (x->type.rank == dims + 2)
        return true;
    tc_fail(g, hints[dims - 1], "needs rank %d, not %s", dims + 2, tc_type_text(g, &x->type));
    return false;
}

static bool check_float(tc_graph *g, tc_tensor x)
{
    if (tc_dtype_is_float(x->type.dtype))
        return true;
    tc_fail(g, "convert with tc_cast(x, TC_F32)", "needs floats, not %s", tc_type_text(g, &x->type));
    return false;
}

/* Reads and checks what all poolings share. With ceil_mode the last window may reach beyond the padding, if it begins
 * in the input or before it: of the sizes in + 2*low - extent and in - 1 + low, divided by the stride and rounded up or
 * down, the smaller counts, and as both are of the form floor((in + constant) / stride) that is the one of the smaller
 * constant: an amount of padding at the end, whatever the size. */
static bool read_pool(tc_graph *g, const call *c, tc_windows *w)
{
    w->dims = c->dims;
    if (!check_rank(g, c->x, c->dims))
        return false;
    for (int i = 0; i < c->dims; ++i) {
        w->size[i] = c->kernel[i];
        if (c->kernel[i] < 1) {
            tc_fail(g, "name it: .kernel = {2, 2}", "kernel is %s", tc_windows_text(g, c->dims, c->kernel));
            return false;
        }
    }
    if (!tc_windows_read(g, &c->options, true, w))
        return false;
    for (int i = 0; i < c->dims; ++i) {
        if (2 * w->low[i] > w->size[i] || 2 * w->high[i] > w->size[i]) {
            tc_fail(g, "a window must not lie in the padding alone", "padding %s is more than half of the kernel %s",
                    tc_windows_text(g, c->dims, 2 * w->low[i] > w->size[i] ? w->low : w->high),
                    tc_windows_text(g, c->dims, c->kernel));
            return false;
        }
        int whole = w->high[i] + w->stride[i] - 1, begun = tc_windows_extent(w, i) - 1;
        if (c->ceil_mode)
            w->high[i] = whole < begun ? whole : begun;
    }
    return true;
}

static tc_tensor window_reduce(tc_graph *g, tc_tensor x, const char *op, const tc_windows *w)
{
    return tc_prim_window_reduce(g, x, op, w->dims, w->size, w->stride, w->low, w->high, w->dilation);
}

/* -- maximum --------------------------------------------------------------------------------------------------------- */

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
    return tc_prim_pad(g, x, tc_constant_of(g, dtype, tc_windows_smallest(dtype)), lows, highs);
}

/* One element of each window along the axis, the `tap`th. */
static tc_tensor tap_of(tc_site at, tc_tensor padded, int axis, const tc_expr *count, const tc_windows *w, int i, int tap)
{
    int start = tap * w->dilation[i];
    const tc_expr *span = tc_expr_mul_int(tc_expr_add_int(count, -1), w->stride[i]);
    return tc_slice_at(at, padded, axis, tc_dim_int_(start), tc_dim_of(tc_expr_add_int(span, start + 1)),
                       w->stride[i]);
}

/* The maximum along one axis of windows, and beside it where it was found: `found` holds the flat index of each element
 * of x, NULL for none yet. A later element wins where it is larger or NaN, as in PyTorch; padding never does, because
 * the first to compare with is an element of x. */
static tc_tensor largest_of_axis(const call *c, tc_graph *g, tc_tensor x, const tc_windows *w, int i, tc_tensor *found)
{
    int axis = 2 + i;
    tc_type shape = x->type;
    const tc_expr *size = x->type.shape[axis];
    const tc_expr *room = tc_expr_add_int(size, w->low[i] + w->high[i] - tc_windows_extent(w, i));
    const tc_expr *count = tc_expr_add_int(tc_expr_floordiv(room, tc_expr_const(&g->dims, w->stride[i])), 1);
    shape.shape[axis] = count;
    shape.dtype = TC_I64;
    tc_tensor padded = pad_smallest(g, x, axis, w->low[i], w->high[i]), best = tc_poison(), at = tc_poison();
    tc_tensor places = *found ? pad_smallest(g, *found, axis, w->low[i], w->high[i]) : NULL;
    tc_tensor start = tc_sub_at(c->at, TENSOR(tc_mul_at(c->at, TENSOR(tc_prim_iota(g, axis, &shape)),
                                                        INTEGER(w->stride[i]))), INTEGER(w->low[i]));
    for (int tap = 0; tap < w->size[i]; ++tap) {
        tc_tensor value = tap_of(c->at, padded, axis, count, w, i, tap);
        tc_tensor position = tc_add_at(c->at, TENSOR(start), INTEGER(tap * w->dilation[i]));
        tc_tensor place = places ? tap_of(c->at, places, axis, count, w, i, tap) : position;
        if (!tap) {
            best = value;
            at = place;
            continue;
        }
        tc_tensor wins = tc_logical_or_at(c->at, TENSOR(tc_gt_at(c->at, TENSOR(value), TENSOR(best))),
                                          TENSOR(tc_ne_at(c->at, TENSOR(value), TENSOR(value))));
        /* while everything so far was padding, the next one wins, unless it is padding too */
        tc_tensor outside = tc_lt_at(c->at, TENSOR(tc_sub_at(c->at, TENSOR(position), INTEGER(w->dilation[i]))),
                                     INTEGER(0));
        if ((tap - 1) * w->dilation[i] < w->low[i])
            wins = tc_logical_or_at(c->at, TENSOR(wins), TENSOR(outside));
        best = tc_where_at(c->at, wins, TENSOR(value), TENSOR(best));
        at = tc_where_at(c->at, wins, TENSOR(place), TENSOR(at));
    }
    *found = at;
    return best;
}

/* The maxima and their indices in a plane of x: axis by axis from the last, which gives the first in row-major order. */
static tc_tensor max_with_indices(tc_graph *g, const call *c, const tc_windows *w)
{
    tc_tensor values = c->x, index = NULL;
    const tc_expr *row = g->dims.one;
    tc_type shape = c->x->type;
    shape.dtype = TC_I64;
    for (int i = w->dims - 1; i >= 0 && !tc_is_poison(values); --i) {
        if (index) { /* places of the axes behind, to which this axis's own place is added */
            tc_type here = index->type;
            tc_tensor own = tc_prim_iota(g, 2 + i, &here);
            int64_t constant;
            tc_operand scale = tc_expr_value(row, &constant) ? INTEGER(constant)
                                                             : TENSOR(tc_prim_dim_value(g, TC_I64, row));
            index = tc_add_at(c->at, TENSOR(tc_mul_at(c->at, TENSOR(own), scale)), TENSOR(index));
        }
        values = largest_of_axis(c, g, values, w, i, &index);
        row = tc_expr_mul(row, shape.shape[2 + i]);
    }
    *c->indices = index;
    return values;
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
        max_with_indices(g, c, &w);
    return y;
}

/* -- average --------------------------------------------------------------------------------------------------------- */

static bool check_average(tc_graph *g, const call *c, tc_windows *w)
{
    if (c->options.dilation) {
        for (int i = 0; i < c->dims; ++i) {
            if (c->options.dilation[i]) {
                tc_fail(g, NULL, "an average has no dilation");
                return false;
            }
        }
    }
    if (c->divisor < 0 || c->indices) {
        tc_fail(g, NULL, c->indices ? ".indices are those of a maximum" : "divisor is negative");
        return false;
    }
    return read_pool(g, c, w) && check_float(g, c->x);
}

/* How many elements of each window count, [windows...]: a window sum of ones. With `padding`, that of the call counts,
 * what ceil_mode adds behind it does not. */
static tc_tensor window_counts(tc_graph *g, const call *c, const tc_windows *w, bool padding)
{
    tc_windows own = *w;
    const tc_expr *shape[TC_MAX_RANK];
    for (int i = 0; i < w->dims; ++i) {
        int given = c->options.high[i] ? c->options.high[i] : c->options.padding[i];
        shape[i] = tc_expr_add_int(c->x->type.shape[2 + i], padding ? w->low[i] + given : 0);
        own.low[i] -= padding ? w->low[i] : 0;
        own.high[i] -= padding ? given : 0;
    }
    tc_tensor one = tc_constant_of(g, c->x->type.dtype, NUMBER(1));
    return window_reduce(g, tc_prim_broadcast(g, one, w->dims, shape, NULL), "sum", &own);
}

static tc_tensor average(tc_graph *g, const call *c)
{
    tc_windows w;
    if (c->norm != 0) {
        tc_fail(g, NULL, ".norm is an option of tc_lp_pool");
        return tc_poison();
    }
    if (!check_average(g, c, &w))
        return tc_poison();
    tc_tensor sum = window_reduce(g, c->x, "sum", &w);
    double size = 1;
    bool padded = false, beyond = false;
    for (int i = 0; i < c->dims; ++i) {
        size *= w.size[i];
        padded |= w.low[i] || w.high[i];
        beyond |= c->ceil_mode && w.stride[i] > 1;
    }
    if (!c->divisor && ((c->exclude_padding && padded) || beyond))
        return tc_div_at(c->at, TENSOR(sum), TENSOR(window_counts(g, c, &w, !c->exclude_padding)));
    return tc_div_at(c->at, TENSOR(sum), NUMBER(c->divisor ? c->divisor : size));
}

/* -- powers ---------------------------------------------------------------------------------------------------------- */

static tc_tensor power_pool(tc_graph *g, const call *c)
{
    tc_windows w;
    if (c->exclude_padding || c->divisor || !(c->norm > 0) || isinf(c->norm)) {
        tc_fail(g, "name it: .norm = 2", "the norm is %g, and .exclude_padding and .divisor have no meaning here", c->norm);
        return tc_poison();
    }
    if (!check_average(g, c, &w))
        return tc_poison();
    tc_tensor sum = window_reduce(g, tc_pow_at(c->at, tc_operand_tensor_(c->x), tc_operand_float_(c->norm)), "sum", &w);
    if (c->ceil_mode) { /* windows that are cut off count as whole ones */
        sum = tc_div_at(c->at, TENSOR(sum), TENSOR(window_counts(g, c, &w, true)));
        double size = 1;
        for (int i = 0; i < w.dims; ++i)
            size *= w.size[i];
        sum = tc_mul_at(c->at, TENSOR(sum), NUMBER(size));
    }
    return tc_pow_at(c->at, tc_operand_tensor_(sum), tc_operand_float_(1 / c->norm));
}

/* -- calls ----------------------------------------------------------------------------------------------------------- */

static tc_tensor entered(const char *name, const char *region, const call *c, tc_tensor body(tc_graph *, const call *))
{
    if (c->indices)
        *c->indices = tc_poison();
    tc_graph *g = tc_op_enter(c->at, name, region, "x", 1, &c->x);
    return g ? tc_op_leave(g, body(g, c)) : tc_poison();
}

/* FIELD: how a field of the arguments is the address of its first number. */
#define POOL(kind, body, dims_, FIELD)                                                                                \
    tc_tensor tc_##kind##dims_##d_at(const tc_pool##dims_##d_args *args)                                              \
    {                                                                                                                 \
        return entered("tc_" #kind #dims_ "d", #kind #dims_ "d",                                                      \
                       &(const call){.at = args->at, .x = args->x, .indices = args->indices, .dims = dims_,           \
                                     .divisor = args->divisor, .kernel = FIELD(kernel), .norm = args->norm,           \
                                     .ceil_mode = args->ceil_mode, .exclude_padding = args->exclude_padding,          \
                                     .options = {FIELD(stride), FIELD(padding), FIELD(low), FIELD(high),              \
                                                 FIELD(dilation)}},                                                   \
                       body);                                                                                         \
    }
#define POOLS(kind, body)                                                                                             \
    POOL(kind, body, 1, ONE)                                                                                          \
    POOL(kind, body, 2, SEVERAL)                                                                                      \
    POOL(kind, body, 3, SEVERAL)
#define ONE(field) &args->field
#define SEVERAL(field) args->field
POOLS(max_pool, max_pool)
POOLS(avg_pool, average)
POOLS(lp_pool, power_pool)
