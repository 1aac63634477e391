/* SPDX-License-Identifier: Apache-2.0
 *
 * Resampling to other sizes, axis by axis from the last: nearest, linear, cubic.
 *
 * Place i of the result lies at a coordinate of the input, computed in f32 as PyTorch does:
 *   nearest            floor(i * ratio)                       nearest_exact   floor((i + 0.5) * ratio)
 *   linear and cubic   (i + 0.5) * ratio - 0.5, at least 0 for linear; with align_corners i * ratio
 * ratio is 1 / scale, or in / out where sizes are given (align_corners: (in - 1) / (out - 1), 0 for one place).
 */
#include <math.h>

#include "windows.h"

#define TENSOR(x) tc_operand_tensor_(x)
#define NUMBER(x) tc_operand_float_(x)
#define INTEGER(x) tc_operand_int_(x)

typedef struct resampling {
    tc_graph *g;
    tc_site at;
    tc_interpolation mode;
    bool align_corners;
    int axis;
    const tc_expr *in, *out;
    double scale; /* 0: by sizes */
} resampling;

static tc_tensor scalar_of_size(const resampling *r, const tc_expr *size)
{
    return tc_cast_at(r->at, tc_prim_dim_value(r->g, TC_I64, size), TC_F32);
}

/* x * ratio, x an f32 vector. */
static tc_tensor scaled(const resampling *r, tc_tensor x)
{
    int64_t in, out;
    bool corners = r->align_corners && r->mode >= TC_LINEAR;
    int less = corners ? -1 : 0;
    if (!corners && r->scale > 0)
        return tc_mul_at(r->at, TENSOR(x), NUMBER((float)(1 / r->scale)));
    if (corners && tc_expr_is(r->out, 1))
        return tc_mul_at(r->at, TENSOR(x), NUMBER(0));
    if (tc_expr_value(r->in, &in) && tc_expr_value(r->out, &out))
        return tc_mul_at(r->at, TENSOR(x), NUMBER((float)(in + less) / (float)(out + less)));
    tc_tensor over = scalar_of_size(r, tc_expr_add_int(r->in, less)), under = scalar_of_size(r, tc_expr_add_int(r->out, less));
    if (corners) /* of one place: anything finite times 0 */
        under = tc_maximum_at(r->at, TENSOR(under), NUMBER(1));
    tc_tensor ratio = tc_div_at(r->at, TENSOR(over), TENSOR(under));
    return tc_mul_at(r->at, TENSOR(x), TENSOR(ratio));
}

/* 0, 1, ... as an f32 vector of the result's size. */
static tc_tensor places(const resampling *r)
{
    tc_type line = {.dtype = TC_I64, .rank = 1, .shape = {r->out}};
    return tc_cast_at(r->at, tc_prim_iota(r->g, 0, &line), TC_F32);
}

static tc_tensor coordinates(const resampling *r)
{
    tc_tensor i = places(r);
    if (r->mode == TC_NEAREST || (r->align_corners && r->mode >= TC_LINEAR))
        return scaled(r, i);
    tc_tensor middle = scaled(r, tc_add_at(r->at, TENSOR(i), NUMBER(0.5)));
    return r->mode == TC_NEAREST_EXACT ? middle : tc_sub_at(r->at, TENSOR(middle), NUMBER(0.5));
}

/* x's elements along the axis at the i64 vector, which is limited to the axis. */
static tc_tensor elements(const resampling *r, tc_tensor x, tc_tensor index)
{
    int64_t in;
    tc_tensor low = tc_maximum_at(r->at, TENSOR(index), INTEGER(0));
    tc_operand last = tc_expr_value(r->in, &in) ? INTEGER(in - 1)
                                                : TENSOR(tc_prim_dim_value(r->g, TC_I64, tc_expr_add_int(r->in, -1)));
    return tc_prim_gather(r->g, x, tc_minimum_at(r->at, TENSOR(low), last), r->axis);
}

static tc_tensor weighted(const resampling *r, tc_tensor x, tc_tensor weight)
{
    if (tc_is_poison(x) || tc_is_poison(weight))
        return tc_poison();
    tc_tensor along = tc_prim_broadcast(r->g, weight, x->type.rank, x->type.shape, &r->axis);
    return tc_mul_at(r->at, TENSOR(x), TENSOR(along));
}

/* -- nearest -------------------------------------------------------------------------------------------------------------- */

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

/* x[..., n, ...] -> [..., n*times, ...] */
static tc_tensor repeat(const resampling *r, tc_tensor x, int64_t times)
{
    const tc_expr *shape[TC_MAX_RANK], *joined[TC_MAX_RANK];
    int axes[TC_MAX_RANK], rank = x->type.rank;
    for (int i = 0; i < rank; ++i) {
        axes[i] = i + (i > r->axis);
        shape[axes[i]] = joined[i] = x->type.shape[i];
    }
    shape[r->axis + 1] = tc_expr_const(&r->g->dims, times);
    joined[r->axis] = r->out;
    return tc_prim_reshape(r->g, tc_prim_broadcast(r->g, x, rank + 1, shape, axes), rank, joined);
}

static tc_tensor nearest(const resampling *r, tc_tensor x)
{
    int64_t times;
    const tc_expr *quotient = tc_expr_exact_div(r->out, r->in);
    if (quotient && tc_expr_value(quotient, &times) && (r->scale == 0 || r->scale == (double)times) && repeats(r, times))
        return repeat(r, x, times);
    tc_tensor index = tc_cast_at(r->at, tc_floor_at(r->at, coordinates(r)), TC_I64);
    return elements(r, x, index);
}

/* -- linear and cubic -------------------------------------------------------------------------------------------------------- */

static tc_tensor linear(const resampling *r, tc_tensor x)
{
    tc_tensor at = tc_maximum_at(r->at, TENSOR(coordinates(r)), NUMBER(0)), low = tc_floor_at(r->at, at);
    tc_tensor index = tc_cast_at(r->at, low, TC_I64);
    tc_tensor above = tc_minimum_at(r->at, TENSOR(tc_sub_at(r->at, TENSOR(at), TENSOR(low))), NUMBER(1));
    tc_tensor below = tc_sub_at(r->at, NUMBER(1), TENSOR(above));
    tc_tensor first = weighted(r, elements(r, x, index), below);
    tc_tensor second = weighted(r, elements(r, x, tc_add_at(r->at, TENSOR(index), INTEGER(1))), above);
    return tc_add_at(r->at, TENSOR(first), TENSOR(second));
}

/* The cubic kernel with a = -0.75 at distance d: below 1 or (far) from 1 to 2, by Horner's rule. */
static tc_tensor cubic_weight(tc_site at, tc_tensor d, bool far)
{
    static const double near_terms[] = {1.25, -2.25, 0, 1}, far_terms[] = {-0.75, 3.75, -6, 3};
    const double *terms = far ? far_terms : near_terms;
    tc_tensor y = tc_mul_at(at, TENSOR(d), NUMBER(terms[0]));
    for (int i = 1; i < 4; ++i) {
        if (terms[i] != 0)
            y = tc_add_at(at, TENSOR(y), NUMBER(terms[i]));
        if (i < 3)
            y = tc_mul_at(at, TENSOR(y), TENSOR(d));
    }
    return y;
}

static tc_tensor cubic(const resampling *r, tc_tensor x)
{
    tc_tensor at = coordinates(r), low = tc_floor_at(r->at, at), y = NULL;
    tc_tensor index = tc_cast_at(r->at, low, TC_I64), t = tc_sub_at(r->at, TENSOR(at), TENSOR(low));
    tc_tensor rest = tc_sub_at(r->at, NUMBER(1), TENSOR(t));
    for (int tap = 0; tap < 4; ++tap) {
        bool far = tap == 0 || tap == 3;
        tc_tensor near = tap < 2 ? t : rest, distance = far ? tc_add_at(r->at, TENSOR(near), NUMBER(1)) : near;
        tc_tensor place = tap == 1 ? index : tc_add_at(r->at, TENSOR(index), INTEGER(tap - 1));
        tc_tensor term = weighted(r, elements(r, x, place), cubic_weight(r->at, distance, far));
        y = y ? tc_add_at(r->at, TENSOR(y), TENSOR(term)) : term;
    }
    return y;
}

/* -- calls ------------------------------------------------------------------------------------------------------------------- */

static const tc_expr *target_size(tc_graph *g, const tc_interpolate_args *args, int i, double *scale)
{
    const tc_expr *in = args->x->type.shape[2 + i];
    int64_t constant;
    *scale = 0;
    if (args->size)
        return tc_dim_expr(g, args->size[i]);
    *scale = args->scale[i];
    if (tc_expr_value(in, &constant))
        return tc_expr_const(&g->dims, (int64_t)floor((double)constant * *scale));
    for (int64_t under = 1; under <= 64; ++under) { /* a dynamic size times a fraction */
        double over = *scale * (double)under;
        if (over == floor(over) && over < 1 << 20)
            return tc_expr_floordiv(tc_expr_mul_int(in, (int64_t)over), tc_expr_const(&g->dims, under));
    }
    return NULL;
}

static bool check(tc_graph *g, const tc_interpolate_args *args)
{
    const tc_type *x = &args->x->type;
    int dims = x->rank - 2;
    if (dims < 1 || dims > TC_MAX_WINDOW) {
        tc_fail(g, "[n, c, ...] with one to three axes behind", "cannot resample %s", tc_type_text(g, x));
        return false;
    }
    if (args->mode < TC_NEAREST || args->mode > TC_CUBIC || (args->align_corners && args->mode < TC_LINEAR)) {
        tc_fail(g, "TC_NEAREST, TC_NEAREST_EXACT, TC_LINEAR, TC_CUBIC; align_corners is for the last two",
                args->align_corners ? "align_corners has no meaning for this mode" : "%d is no mode", (int)args->mode);
        return false;
    }
    if (args->mode >= TC_LINEAR && x->dtype != TC_F32) {
        tc_fail(g, "convert with tc_cast(x, TC_F32)", "needs f32, not %s", tc_type_text(g, x));
        return false;
    }
    if (args->size ? args->size_count != dims : !(args->scale[0] > 0)) {
        tc_fail(g, "TC_SIZES(.size, h, w) or .scale = {2, 2}, a number for each axis behind the channels",
                args->size ? "%d sizes for %s" : "neither sizes nor scales: %d for %s", args->size_count, tc_type_text(g, x));
        return false;
    }
    for (int i = 0; i < dims && !args->size; ++i) {
        if (!(args->scale[i] > 0) || isinf(args->scale[i])) {
            tc_fail(g, "a positive scale for each axis behind the channels", "scale %d is %g", i, args->scale[i]);
            return false;
        }
    }
    return true;
}

static tc_tensor interpolate(tc_graph *g, const tc_interpolate_args *args)
{
    static tc_tensor (*const modes[])(const resampling *, tc_tensor) = {nearest, nearest, linear, cubic};
    if (!check(g, args))
        return tc_poison();
    tc_tensor x = args->x;
    resampling axes[TC_MAX_WINDOW];
    int dims = x->type.rank - 2;
    bool same = true;
    for (int i = 0; i < dims; ++i) {
        resampling *r = &axes[i];
        *r = (resampling){.g = g, .at = args->at, .mode = args->mode, .align_corners = args->align_corners, .axis = 2 + i};
        r->in = x->type.shape[2 + i];
        r->out = target_size(g, args, i, &r->scale);
        if (!r->out || !tc_at_least(g, r->out, g->dims.one) || !tc_at_least(g, r->in, g->dims.one)) {
            tc_fail(g, r->out ? "sizes are positive" : "give sizes, or a scale that is a fraction of small numbers",
                    "axis %d of %s cannot get the size %s", 2 + i, tc_type_text(g, &x->type),
                    r->out ? tc_expr_text(r->out) : tc_arena_format(&g->arena, "times %g", r->scale));
            return tc_poison();
        }
        same &= tc_known_same(g, r->in, r->out);
    }
    if (same)
        return x;
    for (int i = dims - 1; i >= 0 && !tc_is_poison(x); --i)
        if (!tc_known_same(g, axes[i].in, axes[i].out))
            x = modes[args->mode](&axes[i], x);
    return x;
}

tc_tensor tc_interpolate_at(const tc_interpolate_args *args)
{
    tc_graph *g = tc_op_enter(args->at, "tc_interpolate", "interpolate", "x", 1, &args->x);
    return g ? tc_op_leave(g, interpolate(g, args)) : tc_poison();
}
