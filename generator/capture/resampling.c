/* SPDX-License-Identifier: Apache-2.0
 *
 * Resampling to other sizes, axis by axis from the last: nearest, linear, cubic; areas are an adaptive average.
 *
 * Place i of the result lies at a coordinate of the input, computed as PyTorch does, in f32 (linear and cubic of f64:
 * in f64):
 *   nearest            floor(i * ratio)                       nearest_exact   floor((i + 0.5) * ratio)
 *   linear and cubic   (i + 0.5) * ratio - 0.5, at least 0 for linear; with align_corners i * ratio
 * ratio is 1 / scale, or in / out where sizes are given (align_corners: (in - 1) / (out - 1), 0 for one place).
 */
#include <math.h>

#include "compose.h"
#include "resampling.h"
#include "windows.h"

typedef struct resampling {
    tc_graph *g;
    tc_site at;
    tc_interpolation mode;
    bool align_corners;
    tc_dtype dtype; /* of the coordinates */
    int axis;
    const tc_expr *in, *out;
    double scale; /* 0: by sizes */
} resampling;

static bool by_kernel(tc_interpolation mode)
{
    return mode == TC_LINEAR || mode == TC_CUBIC;
}

/* -- coordinates --------------------------------------------------------------------------------------------------- */

/* The ratio where it is a constant, else 0. */
static double constant_ratio(const resampling *r)
{
    int64_t in, out;
    int less = r->align_corners ? 1 : 0;
    if (!less && r->scale > 0)
        return 1 / r->scale;
    if (!tc_expr_value(r->in, &in) || !tc_expr_value(r->out, &out) || out == less)
        return 0;
    return (double)(in - less) / (double)(out - less);
}

/* The ratio, rank 0. */
static tc_tensor ratio(const resampling *r)
{
    tc_site at = r->at;
    double constant = constant_ratio(r);
    int less = r->align_corners ? 1 : 0;
    if (constant > 0 || (less && tc_expr_is(r->out, 1)))
        return tc_constant_of(r->g, r->dtype, tc_operand_float_(constant));
    tc_tensor over = tc_size_value(r->g, r->dtype, tc_expr_add_int(r->in, -less));
    tc_tensor under = tc_size_value(r->g, r->dtype, tc_expr_add_int(r->out, -less));
    if (less) /* of one place: anything finite times 0 */
        under = MAXIMUM(under, 1);
    return DIV(over, under);
}

/* 0, 1, ... as a vector of the result's size. */
static tc_tensor places(const resampling *r)
{
    tc_type line = {.dtype = TC_I64, .rank = 1, .shape = {r->out}};
    return tc_cast_at(r->at, tc_prim_iota(r->g, 0, &line), r->dtype);
}

static tc_tensor coordinates(const resampling *r)
{
    tc_site at = r->at;
    tc_tensor i = places(r), step = ratio(r);
    if (r->mode == TC_NEAREST || r->align_corners)
        return MUL(i, step);
    tc_tensor middle = MUL(ADD(i, 0.5), step);
    return r->mode == TC_NEAREST_EXACT ? middle : SUB(middle, 0.5);
}

static tc_tensor elements(const resampling *r, tc_tensor x, tc_tensor index)
{
    return tc_limited_elements(r->g, r->at, x, r->axis, r->in, index);
}

static tc_tensor weighted(const resampling *r, tc_tensor x, tc_tensor weight)
{
    return tc_weighted_along(r->g, r->at, x, weight, r->axis);
}

tc_tensor tc_limited_elements(tc_graph *g, tc_site at, tc_tensor x, int axis, const tc_expr *in, tc_tensor places)
{
    tc_tensor last = tc_size_value(g, TC_I64, tc_expr_add_int(in, -1));
    return tc_prim_gather(g, x, MINIMUM(MAXIMUM(places, 0), last), axis);
}

tc_tensor tc_spread_along(tc_graph *g, tc_tensor v, tc_tensor x, int axis)
{
    if (tc_is_poison(x) || tc_is_poison(v))
        return tc_poison();
    return tc_prim_broadcast(g, v, x->type.rank, x->type.shape, (const int[]){axis, axis + 1});
}

tc_tensor tc_weighted_along(tc_graph *g, tc_site at, tc_tensor x, tc_tensor weight, int axis)
{
    tc_tensor spread = tc_spread_along(g, weight, x, axis);
    return tc_is_poison(spread) ? spread : MUL(x, spread);
}

/* -- nearest ------------------------------------------------------------------------------------------------------- */

/* Whether each element is repeated `times` times, in f32 as the coordinates are computed, whatever the size. */
static bool repeats(const resampling *r, int64_t times)
{
    tc_bound most = tc_expr_hi(r->out);
    volatile float ratio = r->scale > 0 ? (float)(1 / r->scale) : 1 / (float)times; /* volatile: no wider than float */
    if (r->mode == TC_NEAREST && times <= 2)
        return true;
    if (!most.known || most.value > 1 << 22)
        return false;
    for (int64_t i = 0; i < most.value; ++i) {
        volatile float place = (float)i, shifted = place + (r->mode == TC_NEAREST ? 0 : 0.5f), at = shifted * ratio;
        if ((int64_t)floorf(at) != i / times)
            return false;
    }
    return true;
}

tc_tensor tc_repeated_along(tc_graph *g, tc_tensor x, int axis, int64_t times)
{
    const tc_expr *shape[TC_MAX_RANK], *joined[TC_MAX_RANK];
    int axes[TC_MAX_RANK], rank = x->type.rank;
    for (int i = 0; i < rank; ++i) {
        axes[i] = i + (i > axis);
        shape[axes[i]] = joined[i] = x->type.shape[i];
    }
    shape[axis + 1] = tc_expr_const(&g->dims, times);
    joined[axis] = tc_expr_mul_int(joined[axis], times);
    return tc_prim_reshape(g, tc_prim_broadcast(g, x, rank + 1, shape, axes), rank, joined);
}

static tc_tensor nearest(const resampling *r, tc_tensor x)
{
    int64_t times;
    const tc_expr *quotient = tc_expr_exact_div(r->out, r->in);
    if (quotient && tc_expr_value(quotient, &times) && (r->scale == 0 || r->scale == (double)times) &&
        repeats(r, times))
        return tc_repeated_along(r->g, x, r->axis, times);
    tc_tensor index = tc_cast_at(r->at, tc_floor_at(r->at, coordinates(r)), TC_I64);
    return elements(r, x, index);
}

/* -- linear and cubic ---------------------------------------------------------------------------------------------- */

static tc_tensor linear(const resampling *r, tc_tensor x)
{
    tc_site at = r->at;
    tc_tensor c = MAXIMUM(coordinates(r), 0), low = tc_floor_at(at, c), index = tc_cast_at(at, low, TC_I64);
    tc_tensor above = MINIMUM(SUB(c, low), 1), below = SUB(1, above);
    tc_tensor first = weighted(r, elements(r, x, index), below);
    tc_tensor next = elements(r, x, ADD(index, 1)), second = weighted(r, next, above);
    return ADD(first, second);
}

tc_tensor tc_cubic_weight(tc_site at, tc_tensor d, double a, bool far)
{
    const double near_terms[] = {a + 2, -a - 3, 0, 1}, far_terms[] = {a, -5 * a, 8 * a, -4 * a};
    const double *terms = far ? far_terms : near_terms;
    tc_tensor y = MUL(d, terms[0]);
    for (int i = 1; i < 4; ++i) {
        if (terms[i] != 0)
            y = ADD(y, terms[i]);
        if (i < 3)
            y = MUL(y, d);
    }
    return y;
}

void tc_cubic_weights(tc_site at, tc_tensor above, tc_tensor weights[4])
{
    tc_tensor rest = SUB(1, above);
    for (int tap = 0; tap < 4; ++tap) {
        bool far = tap == 0 || tap == 3;
        tc_tensor near = tap < 2 ? above : rest, distance = far ? ADD(near, 1) : near;
        weights[tap] = tc_cubic_weight(at, distance, -0.75, far);
    }
}

static tc_tensor cubic(const resampling *r, tc_tensor x)
{
    tc_site at = r->at;
    tc_tensor c = coordinates(r), low = tc_floor_at(at, c), index = tc_cast_at(at, low, TC_I64), weights[4], y = NULL;
    tc_cubic_weights(at, SUB(c, low), weights);
    for (int tap = 0; tap < 4; ++tap) {
        tc_tensor element = elements(r, x, tap == 1 ? index : ADD(index, tap - 1));
        tc_tensor term = weighted(r, element, weights[tap]);
        y = y ? ADD(y, term) : term;
    }
    return y;
}

/* -- linear and cubic over all that a place covers ----------------------------------------------------------------- */

/* No place has more elements within its reach, which is `reach` elements of the larger of input and result. */
static const tc_expr *most_taps(const resampling *r, int reach)
{
    tc_dims *dims = &r->g->dims;
    double constant = constant_ratio(r);
    if (constant > 0)
        return tc_expr_const(dims, 2 * (int64_t)ceil(fmax(constant, 1) * reach) + 1);
    const tc_expr *ceiling = tc_expr_floordiv(tc_expr_add_int(tc_expr_add(r->in, r->out), -1), r->out);
    return tc_expr_add_int(tc_expr_mul_int(ceiling, 2 * reach), 1);
}

/* The weight of an element at a distance. */
static tc_tensor filter(const resampling *r, tc_tensor distance)
{
    tc_site at = r->at;
    tc_tensor d = tc_abs_at(at, distance);
    if (r->mode == TC_LINEAR)
        return MAXIMUM(SUB(1, d), 0);
    tc_tensor far = tc_cubic_weight(at, d, -0.5, true), reached = LT(d, 2), outer = WHERE(reached, far, 0);
    tc_tensor near = tc_cubic_weight(at, d, -0.5, false), inner = LT(d, 1);
    return WHERE(inner, near, outer);
}

static tc_tensor antialiased(const resampling *r, tc_tensor x)
{
    tc_graph *g = r->g;
    tc_site at = r->at;
    int reach = r->mode == TC_LINEAR ? 1 : 2;
    tc_type plane = {.dtype = TC_I64, .rank = 2, .shape = {r->out, most_taps(r, reach)}};
    tc_tensor step = ratio(r), wide = MAXIMUM(step, 1), support = MUL(wide, reach), inverse = DIV(1, wide);
    tc_tensor centre = MUL(ADD(places(r), 0.5), step), size = tc_size_value(g, r->dtype, r->in);
    tc_tensor first = MAXIMUM(tc_floor_at(at, ADD(SUB(centre, support), 0.5)), 0);
    tc_tensor end = MINIMUM(tc_floor_at(at, ADD(ADD(centre, support), 0.5)), size);
    if (tc_is_poison(end))
        return end;
    tc_tensor from = tc_prim_broadcast(g, tc_cast_at(at, first, TC_I64), 2, plane.shape, (const int[]){0});
    tc_tensor index = ADD(from, tc_prim_iota(g, 1, &plane));
    tc_tensor stop = tc_prim_broadcast(g, tc_cast_at(at, end, TC_I64), 2, plane.shape, (const int[]){0});
    tc_tensor inside = LT(index, stop), middle = tc_prim_broadcast(g, centre, 2, plane.shape, (const int[]){0});
    tc_tensor distance = MUL(ADD(SUB(tc_cast_at(at, index, r->dtype), middle), 0.5), inverse);
    tc_tensor raw = WHERE(inside, filter(r, distance), 0);
    tc_tensor total = tc_sum_at(at, raw, true, 1, (const int[]){1}), weight = DIV(raw, total);
    tc_tensor term = weighted(r, elements(r, x, index), weight), keep = tc_spread_along(g, inside, term, r->axis);
    return tc_is_poison(keep) ? keep : tc_sum_at(at, WHERE(keep, term, 0), false, 1, (const int[]){r->axis + 1});
}

/* -- calls --------------------------------------------------------------------------------------------------------- */

/* One number without braces is every axis' (detail.h). */
static double scale_of(const tc_interpolate_args *args, int i)
{
    return args->scale[args->scale[1] == TC_EACH_REAL_ ? 0 : i];
}

static const tc_expr *target_size(tc_graph *g, const tc_interpolate_args *args, int i, double *scale)
{
    const tc_expr *in = args->x->type.shape[2 + i];
    *scale = 0;
    if (args->size)
        return tc_dim_expr(g, args->size[args->size_count == 1 ? 0 : i]);
    *scale = scale_of(args, i);
    return tc_scaled_size(g, in, *scale);
}

static bool check_mode(tc_graph *g, const tc_interpolate_args *args)
{
    if (args->mode < TC_NEAREST || args->mode > TC_AREA) {
        tc_fail(g, "TC_NEAREST, TC_NEAREST_EXACT, TC_LINEAR, TC_CUBIC or TC_AREA", "%d is no mode", (int)args->mode);
        return false;
    }
    if ((args->align_corners || args->antialias) && !by_kernel(args->mode)) {
        tc_fail(g, "it is an option of TC_LINEAR and TC_CUBIC", "%s has no meaning for this mode",
                args->align_corners ? "align_corners" : "antialias");
        return false;
    }
    return args->mode < TC_LINEAR || tc_check_float(g, &args->x->type);
}

static bool check(tc_graph *g, const tc_interpolate_args *args)
{
    const tc_type *x = &args->x->type;
    int dims = x->rank - 2;
    if (dims < 1 || dims > TC_MAX_WINDOW) {
        tc_fail(g, "[n, c, ...] with one to three axes behind", "cannot resample %s", tc_type_text(g, x));
        return false;
    }
    if (!check_mode(g, args))
        return false;
    if (args->size ? args->size_count != dims && args->size_count != 1 : !(args->scale[0] > 0)) {
        tc_fail(g, "TC_SIZES(h, w) or .scale = {2, 2}, a number for each axis behind the channels",
                args->size ? "%d sizes for %s" : "neither sizes nor scales: %d for %s", args->size_count,
                tc_type_text(g, x));
        return false;
    }
    for (int i = 0; i < dims && !args->size; ++i) {
        if (!(scale_of(args, i) > 0) || isinf(scale_of(args, i))) {
            tc_fail(g, "a positive scale for each axis behind the channels", "scale %d is %g", i, scale_of(args, i));
            return false;
        }
    }
    return true;
}

/* Axis i of the call, reported where it cannot be. */
static bool read_axis(tc_graph *g, const tc_interpolate_args *args, int i, resampling *r)
{
    const tc_type *x = &args->x->type;
    *r = (resampling){.g = g,
                      .at = args->at,
                      .mode = args->mode,
                      .align_corners = args->align_corners,
                      .axis = 2 + i,
                      .dtype = by_kernel(args->mode) && x->dtype == TC_F64 ? TC_F64 : TC_F32,
                      .in = x->shape[2 + i]};
    r->out = target_size(g, args, i, &r->scale);
    if (!r->out || !tc_at_least(g, r->out, g->dims.one) || !tc_at_least(g, r->in, g->dims.one)) {
        tc_fail(g, r->out ? "sizes are positive" : "give sizes, or a scale that is a fraction of small numbers",
                "axis %d of %s cannot get the size %s", 2 + i, tc_type_text(g, x),
                r->out ? tc_expr_text(r->out) : tc_arena_format(&g->arena, "times %g", r->scale));
        return false;
    }
    if (args->recompute_scale)
        r->scale = 0;
    if (args->antialias && args->align_corners && !(tc_expr_is_const(r->in) && tc_expr_is_const(r->out))) {
        tc_fail(g, "constant sizes, or no align_corners", "antialias with align_corners for the sizes %s and %s",
                tc_expr_text(r->in), tc_expr_text(r->out));
        return false;
    }
    return true;
}

/* Whether the axis is left as it is. Plain cubic goes by the scale where that is not 1 although the size is kept. */
static bool unchanged(const resampling *r, bool antialias)
{
    bool by_scale = r->mode == TC_CUBIC && !antialias;
    return tc_known_same(r->g, r->in, r->out) && (r->scale == 0 || r->scale == 1 || r->align_corners || !by_scale);
}

static tc_tensor interpolate(tc_graph *g, const tc_interpolate_args *args)
{
    static tc_tensor (*const modes[])(const resampling *, tc_tensor) = {nearest, nearest, linear, cubic};
    resampling axes[TC_MAX_WINDOW];
    tc_dim sizes[TC_MAX_WINDOW];
    tc_tensor x = args->x;
    int dims = x->type.rank - 2;
    bool changed = false;
    if (!check(g, args))
        return tc_poison();
    for (int i = 0; i < dims; ++i) {
        if (!read_axis(g, args, i, &axes[i]))
            return tc_poison();
        sizes[i] = tc_dim_of(axes[i].out);
        changed |= !unchanged(&axes[i], args->antialias);
    }
    if (!changed)
        return x;
    if (args->mode == TC_AREA)
        return tc_adaptive_avg_pool_at(args->at, "tc_interpolate", x, dims, sizes);
    if (by_kernel(args->mode))
        x = tc_prim_widen(g, x);
    for (int i = dims - 1; i >= 0 && !tc_is_poison(x); --i)
        if (!unchanged(&axes[i], args->antialias))
            x = (args->antialias ? antialiased : modes[args->mode])(&axes[i], x);
    return tc_prim_narrow(g, x, args->x->type.dtype);
}

tc_tensor tc_interpolate_at(const tc_interpolate_args *args)
{
    tc_graph *g = tc_op_enter(args->at, "tc_interpolate", "interpolate", "x", 1, &args->x);
    return g ? tc_op_leave(g, interpolate(g, args)) : tc_poison();
}
