/* SPDX-License-Identifier: Apache-2.0
 *
 * Resampling as ONNX's Resize has it, axis by axis from the last. Coordinates are computed in f64: a nearest element
 * may be decided by half a place, and f32 does not tell on which side of it a place of a large axis lies.
 */
#include <math.h>

#include "compose.h"
#include "resampling.h"

typedef struct resized {
    tc_graph *g;
    tc_site at;
    const tc_resize_args *args;
    int number, axis; /* of the call's axes; of x */
    const tc_expr *in, *out;
    double scale;   /* 0: out / in */
    tc_dtype dtype; /* of the weights */
} resized;

/* -- coordinates ------------------------------------------------------------------------------------------------- */

static tc_tensor number_of(const resized *r, double x)
{
    return tc_constant_of(r->g, TC_F64, tc_operand_float_(x));
}

static tc_tensor size_of(const resized *r, const tc_expr *size)
{
    return tc_size_value(r->g, TC_F64, size);
}

/* The scale where it is a constant, else 0. */
static double constant_scale(const resized *r)
{
    int64_t in, out;
    if (r->scale > 0)
        return r->scale;
    return tc_expr_value(r->in, &in) && tc_expr_value(r->out, &out) ? (double)out / (double)in : 0;
}

static tc_tensor scale_of(const resized *r)
{
    const tc_site at = r->at;
    double constant = constant_scale(r);
    if (constant > 0)
        return number_of(r, constant);
    tc_tensor out = size_of(r, r->out), in = size_of(r, r->in);
    return DIV(out, in);
}

/* The size before it is made whole: in * scale. */
static tc_tensor exact_size(const resized *r)
{
    const tc_site at = r->at;
    if (r->scale == 0)
        return size_of(r, r->out);
    return MUL(size_of(r, r->in), r->scale);
}

/* One end of the part that TC_CROP takes, in shares of the axis. */
static tc_tensor crop_end(const resized *r, bool end)
{
    const tc_resize_args *args = r->args;
    if (!args->roi)
        return number_of(r, end ? args->end[r->number] : args->start[r->number]);
    const int place = r->number + (end ? args->axis_count : 0);
    return tc_cast_at(r->at, tc_select_at(r->at, args->roi, 0, tc_dim_int_(place)), TC_F64);
}

static tc_tensor cropped(const resized *r, tc_tensor i)
{
    const tc_site at = r->at;
    tc_tensor start = crop_end(r, false), end = crop_end(r, true), last = size_of(r, tc_expr_add_int(r->in, -1));
    tc_tensor span = MUL(SUB(end, start), last), size = exact_size(r), single = EQ(size, 1), first = MUL(start, last);
    tc_tensor steps = WHERE(single, 1, SUB(size, 1)), many = DIV(MUL(i, span), steps), middle = MUL(span, 0.5);
    return ADD(WHERE(single, middle, many), first);
}

/* f64 of the result's size. */
static tc_tensor coordinates(const resized *r)
{
    const tc_site at = r->at;
    const tc_type line = {.dtype = TC_I64, .rank = 1, .shape = {r->out}};
    tc_tensor i = tc_cast_at(at, tc_prim_iota(r->g, 0, &line), TC_F64);
    const tc_resize_places places = r->args->places;
    if (places == TC_CROP)
        return cropped(r, i);
    if (places == TC_ALIGN_CORNERS) {
        tc_tensor size = exact_size(r), single = EQ(size, 1), steps = WHERE(single, 1, SUB(size, 1));
        tc_tensor over = MUL(i, size_of(r, tc_expr_add_int(r->in, -1))), c = DIV(over, steps);
        return WHERE(single, 0, c);
    }
    tc_tensor scale = scale_of(r);
    if (places == TC_ASYMMETRIC)
        return DIV(i, scale);
    tc_tensor middle = DIV(ADD(i, 0.5), scale);
    if (places == TC_HALF_PIXEL_FOR_NEAREST)
        return middle;
    tc_tensor c = SUB(middle, 0.5);
    if (places == TC_PYTORCH_HALF_PIXEL)
        return WHERE(EQ(exact_size(r), 1), 0, c);
    if (places == TC_HALF_PIXEL_SYMMETRIC && r->scale > 0) {
        tc_tensor out = size_of(r, r->out), share = DIV(out, exact_size(r)), centre = MUL(size_of(r, r->in), 0.5);
        return ADD(c, MUL(centre, SUB(1, share)));
    }
    return c;
}

/* -- elements and weights ---------------------------------------------------------------------------------------- */

static tc_tensor elements(const resized *r, tc_tensor x, tc_tensor places)
{
    return tc_limited_elements(r->g, r->at, x, r->axis, r->in, places);
}

/* Whether each element is repeated `times` times. */
static bool repeats(const resized *r, int64_t *times)
{
    const tc_resize_args *args = r->args;
    const tc_expr *quotient = tc_expr_exact_div(r->out, r->in);
    if (!quotient || !tc_expr_value(quotient, times) || (r->scale > 0 && r->scale != (double)*times))
        return false;
    if (args->places == TC_HALF_PIXEL || args->places == TC_HALF_PIXEL_SYMMETRIC)
        return args->rounding == TC_ROUND_HALF_DOWN || args->rounding == TC_ROUND_HALF_UP;
    return (args->places == TC_ASYMMETRIC || args->places == TC_HALF_PIXEL_FOR_NEAREST) &&
           args->rounding == TC_ROUND_DOWN;
}

static tc_tensor nearest(const resized *r, tc_tensor x, tc_tensor c)
{
    const tc_site at = r->at;
    const tc_resize_rounding rounding = r->args->rounding;
    tc_tensor moved = rounding == TC_ROUND_HALF_DOWN ? SUB(c, 0.5) : rounding == TC_ROUND_HALF_UP ? ADD(c, 0.5) : c;
    const bool up = rounding == TC_ROUND_HALF_DOWN || rounding == TC_ROUND_UP;
    tc_tensor whole = up ? tc_ceil_at(at, moved) : tc_floor_at(at, moved);
    return elements(r, x, tc_cast_at(at, whole, TC_I64));
}

/* The weight of an element at a distance that is not negative. */
static tc_tensor kernel(const resized *r, tc_tensor d)
{
    const tc_site at = r->at;
    const double a = r->args->a != 0 ? r->args->a : -0.75;
    if (r->args->mode == TC_LINEAR)
        return MAXIMUM(SUB(1, d), 0);
    tc_tensor far = tc_cubic_weight(at, d, a, true), reached = LT(d, 2), outer = WHERE(reached, far, 0);
    tc_tensor near = tc_cubic_weight(at, d, a, false), inner = LE(d, 1);
    return WHERE(inner, near, outer);
}

/* Whether places, i64, lie in the axis. */
static tc_tensor inside(const resized *r, tc_tensor places)
{
    const tc_site at = r->at;
    tc_tensor size = tc_size_value(r->g, TC_I64, r->in), above = GE(places, 0), below = LT(places, size);
    return AND(above, below);
}

/* Two elements, of cubic four. */
static tc_tensor around(const resized *r, tc_tensor x, tc_tensor c)
{
    const tc_site at = r->at;
    const int reach = r->args->mode == TC_LINEAR ? 1 : 2, taps = 2 * reach;
    tc_tensor low = tc_floor_at(at, c), index = tc_cast_at(at, low, TC_I64), above = SUB(c, low);
    tc_tensor places[4], weights[4], total = NULL, y = NULL;
    for (int tap = 0; tap < taps; ++tap) {
        const int offset = tap + 1 - reach;
        places[tap] = offset ? ADD(index, offset) : index;
        weights[tap] = kernel(r, offset <= 0 ? SUB(above, offset) : SUB(offset, above));
        if (!r->args->exclude_outside)
            continue;
        weights[tap] = WHERE(inside(r, places[tap]), weights[tap], 0);
        total = total ? ADD(total, weights[tap]) : weights[tap];
    }
    for (int tap = 0; tap < taps; ++tap) {
        tc_tensor weight = tc_cast_at(at, total ? DIV(weights[tap], total) : weights[tap], r->dtype);
        tc_tensor term = tc_weighted_along(r->g, at, elements(r, x, places[tap]), weight, r->axis);
        y = y ? ADD(y, term) : term;
    }
    return y;
}

/* All elements within the kernel's reach, on a plane [out, elements]. */
static tc_tensor antialiased(const resized *r, tc_tensor x, tc_tensor c)
{
    tc_graph *g = r->g;
    const tc_site at = r->at;
    const int reach = r->args->mode == TC_LINEAR ? 1 : 2;
    const double constant = constant_scale(r);
    const tc_expr *side = tc_expr_const(&g->dims, reach);
    if (constant > 0) {
        side = tc_expr_const(&g->dims, (int64_t)ceil(reach / fmin(constant, 1)));
    } else {
        const tc_expr *over = tc_expr_add_int(tc_expr_add(tc_expr_mul_int(r->in, reach), r->out), -1);
        side = tc_expr_max(side, tc_expr_floordiv(over, r->out));
    }
    const tc_type plane = {.dtype = TC_I64, .rank = 2, .shape = {r->out, tc_expr_mul_int(side, 2)}};
    const tc_expr *before = tc_expr_sub(g->dims.one, side);
    tc_tensor low = SUB(tc_ceil_at(at, c), 1), above = SUB(c, low), narrow = MINIMUM(scale_of(r), 1);
    tc_tensor number = tc_prim_iota(g, 1, &plane), offset = ADD(number, tc_size_value(g, TC_I64, before));
    if (tc_is_poison(above) || tc_is_poison(offset))
        return tc_poison();
    tc_tensor index = tc_prim_broadcast(g, tc_cast_at(at, low, TC_I64), 2, plane.shape, (const int[]){0});
    index = ADD(index, offset);
    tc_tensor from = tc_prim_broadcast(g, above, 2, plane.shape, (const int[]){0});
    tc_tensor distance = SUB(tc_cast_at(at, offset, TC_F64), from);
    tc_tensor weight = kernel(r, tc_abs_at(at, MUL(distance, narrow)));
    if (r->args->exclude_outside)
        weight = WHERE(inside(r, index), weight, 0);
    tc_tensor total = tc_sum_at(at, weight, true, 1, (const int[]){1});
    weight = tc_cast_at(at, DIV(weight, total), r->dtype);
    tc_tensor term = tc_weighted_along(g, at, elements(r, x, index), weight, r->axis);
    return tc_sum_at(at, term, false, 1, (const int[]){r->axis + 1});
}

static tc_tensor resize_axis(const resized *r, tc_tensor x)
{
    const tc_site at = r->at;
    const tc_resize_args *args = r->args;
    int64_t times;
    if (args->mode == TC_NEAREST && repeats(r, &times))
        return tc_repeated_along(r->g, x, r->axis, times);
    tc_tensor c = coordinates(r);
    tc_tensor y = args->mode == TC_NEAREST ? nearest(r, x, c)
                  : args->antialias        ? antialiased(r, x, c)
                                           : around(r, x, c);
    if (args->places != TC_CROP || tc_is_poison(y))
        return y;
    tc_tensor last = size_of(r, tc_expr_add_int(r->in, -1)), below = LT(c, 0), beyond = GT(c, last);
    tc_tensor out = tc_spread_along(r->g, OR(below, beyond), y, r->axis);
    return WHERE(out, args->outside, y);
}

/* -- calls ------------------------------------------------------------------------------------------------------- */

const tc_expr *tc_scaled_size(tc_graph *g, const tc_expr *in, double scale)
{
    int64_t constant;
    if (tc_expr_value(in, &constant))
        return tc_expr_const(&g->dims, (int64_t)floor((double)constant * scale));
    for (int64_t under = 1; under <= 64; ++under) { /* a dynamic size times a fraction */
        double over = scale * (double)under;
        if (over == floor(over) && over < 1 << 20)
            return tc_expr_floordiv(tc_expr_mul_int(in, (int64_t)over), tc_expr_const(&g->dims, under));
    }
    int exponent;
    double digits = ldexp(frexp(scale, &exponent), 24); /* of f32, a fraction of a power of 2 */
    if (digits != floor(digits) || exponent > 24 || exponent < -13)
        return NULL;
    const tc_expr *under = tc_expr_const(&g->dims, (int64_t)1 << (24 - exponent));
    return tc_expr_floordiv(tc_expr_mul_int(in, (int64_t)digits), under);
}

static bool check(tc_graph *g, const tc_resize_args *args)
{
    const tc_type *x = &args->x->type;
    const bool kernels = args->mode == TC_LINEAR || args->mode == TC_CUBIC;
    if (!kernels && args->mode != TC_NEAREST) {
        tc_fail(g, "TC_NEAREST, TC_LINEAR or TC_CUBIC", "%d is no mode of it", (int)args->mode);
        return false;
    }
    if (args->places < TC_HALF_PIXEL || args->places > TC_CROP || args->rounding < 0 || args->rounding > TC_ROUND_UP) {
        tc_fail(g, NULL, ".places is %d, .rounding %d", (int)args->places, (int)args->rounding);
        return false;
    }
    if (!kernels && (args->antialias || args->exclude_outside)) {
        tc_fail(g, "it is an option of TC_LINEAR and TC_CUBIC", "%s has no meaning for this mode",
                args->antialias ? "antialias" : "exclude_outside");
        return false;
    }
    if (args->size && args->size_count != args->axis_count) {
        tc_fail(g, "one for each axis", "%d sizes for %d axes", args->size_count, args->axis_count);
        return false;
    }
    const tc_tensor roi = args->places == TC_CROP ? args->roi : NULL;
    if (roi && (!tc_dtype_is_float(roi->type.dtype) || roi->type.rank != 1 ||
                !tc_expr_is(roi->type.shape[0], 2 * args->axis_count))) {
        tc_fail(g, "the starts of all axes, then their ends", "the roi of %d axes is %s", args->axis_count,
                tc_type_text(g, &roi->type));
        return false;
    }
    return !kernels || tc_check_float(g, x);
}

/* Axis number i of the call, reported where it cannot be. */
static bool read_axis(tc_graph *g, const tc_resize_args *args, int i, resized *r)
{
    const tc_type *x = &args->x->type;
    const int axis = tc_axis(g, args->axes[i], x->rank);
    if (axis < 0)
        return false;
    *r = (resized){.g = g,
                   .at = args->at,
                   .args = args,
                   .number = i,
                   .axis = axis,
                   .in = x->shape[axis],
                   .scale = args->scale[i],
                   .dtype = x->dtype == TC_F64 ? TC_F64 : TC_F32};
    if (!(args->size ? r->scale >= 0 : r->scale > 0) || isinf(r->scale)) {
        tc_fail(g, "TC_SIZES(h, w) or .scale = {2, 2}, one for each axis", "scale %d is %g", i, r->scale);
        return false;
    }
    r->out = args->size ? tc_dim_expr(g, args->size[i]) : tc_scaled_size(g, r->in, r->scale);
    if (!r->out || !tc_at_least(g, r->out, g->dims.zero) || !tc_at_least(g, r->in, g->dims.one)) {
        tc_fail(g, r->out ? "an axis has elements" : "give sizes, or a scale that is a fraction of small numbers",
                "axis %d of %s cannot get the size %s", axis, tc_type_text(g, x),
                r->out ? tc_expr_text(r->out) : tc_arena_format(&g->arena, "times %g", r->scale));
        return false;
    }
    return true;
}

static tc_tensor resize(tc_graph *g, const tc_resize_args *given)
{
    static const int all[TC_MAX_RANK] = {0, 1, 2, 3, 4, 5, 6, 7};
    tc_resize_args args = *given;
    resized axes[TC_MAX_RANK];
    bool named[TC_MAX_RANK] = {false};
    tc_tensor x = args.x;
    if (!args.axes) {
        args.axes = all;
        args.axis_count = x->type.rank;
    }
    if (args.axis_count > x->type.rank) {
        tc_fail(g, NULL, "%d axes of %s", args.axis_count, tc_type_text(g, &x->type));
        return tc_poison();
    }
    if (!check(g, &args))
        return tc_poison();
    for (int i = 0; i < args.axis_count; ++i) {
        if (!read_axis(g, &args, i, &axes[i]))
            return tc_poison();
        if (named[axes[i].axis]) {
            tc_fail(g, NULL, "axis %d is named twice", args.axes[i]);
            return tc_poison();
        }
        named[axes[i].axis] = true;
    }
    const tc_dtype dtype = x->type.dtype;
    if (args.mode != TC_NEAREST)
        x = tc_prim_widen(g, x);
    for (int axis = x->type.rank - 1; axis >= 0; --axis) {
        for (int i = 0; i < args.axis_count && !tc_is_poison(x); ++i) {
            const resized *r = &axes[i];
            const bool kept = tc_known_same(g, r->in, r->out) && (r->scale == 0 || r->scale == 1);
            if (r->axis == axis && (!kept || args.places == TC_CROP))
                x = resize_axis(r, x);
        }
    }
    return tc_is_poison(x) ? x : tc_prim_narrow(g, x, dtype);
}

tc_tensor tc_resize_at(const tc_resize_args *args)
{
    tc_graph *g = tc_op_enter(args->at, "tc_resize", "resize", "x ?roi", 2, (tc_tensor[]){args->x, args->roi});
    return g ? tc_op_leave(g, resize(g, args)) : tc_poison();
}
