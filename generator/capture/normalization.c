/* SPDX-License-Identifier: Apache-2.0
 *
 * Normalizations over the last axes, single channels, groups of channels, neighbouring channels and vectors. All of
 * them compute 16-bit floats in f32 and round their result alone.
 */
#include "compose.h"
#include "reductions.h"

/* The axes from `first` on. */
static tc_axes last_axes(int rank, int first)
{
    tc_axes out = {.count = rank - first};
    for (int i = first; i < rank; ++i)
        out.list[i - first] = i;
    return out;
}

/* 1 / sqrt(x + eps) */
static tc_tensor inverse_deviation(tc_site at, tc_tensor x, double eps)
{
    return tc_rsqrt_at(at, ADD(x, eps > 0 ? eps : 1e-5));
}

/* (x - mean) * (1 / sqrt(variance + eps)) over the axes; without `center` x * (1 / sqrt(mean of squares + eps)). *mean
 * and *inverse (NULL: not wanted) become the mean and the factor, with axes of size 1. */
static tc_tensor standardize(tc_graph *g, tc_site at, tc_tensor x, const tc_axes *a, double eps, bool center,
                             tc_tensor *mean, tc_tensor *inverse)
{
    tc_tensor out = x,
              spread = center ? tc_variance_of(g, at, x, a, 0, mean, &out) : tc_mean_of(g, at, MUL(x, x), a, 0);
    tc_tensor factor = inverse_deviation(at, spread, eps);
    if (mean)
        *mean = tc_axes_keep(g, *mean, &x->type, a);
    if (inverse)
        *inverse = tc_axes_keep(g, factor, &x->type, a);
    return MUL(out, tc_axes_spread(g, factor, &x->type, a));
}

/* x * weight + bias, each optional, and of a shape that broadcasts to x. */
static tc_tensor scale_and_shift(tc_site at, tc_tensor x, tc_tensor weight, tc_tensor bias)
{
    x = weight ? MUL(x, weight) : x;
    return bias ? ADD(x, bias) : x;
}

/* -- the last axes ------------------------------------------------------------------------------------------------- */

/* An optional parameter has the shape of x's last axes. */
static bool fits_last(tc_graph *g, const char *what, tc_tensor p, const tc_type *x, int count)
{
    bool fits = !p || (p->type.dtype == x->dtype && p->type.rank == count);
    for (int i = 0; p && fits && i < count; ++i)
        fits = tc_same_dim(g, p->type.shape[i], x->shape[x->rank - count + i]);
    if (!fits)
        tc_fail(g, "it has x's dtype and the shape of the normalized axes", "%s is %s, but %d ax%s of %s %s normalized",
                what, tc_type_text(g, &p->type), count, count == 1 ? "is" : "es", tc_type_text(g, x),
                count == 1 ? "is" : "are");
    return fits;
}

static tc_tensor layer_norm(tc_graph *g, const tc_norm_args *args, bool center)
{
    tc_tensor x = args->x;
    int count = args->axes ? args->axes : args->weight ? args->weight->type.rank : 1;
    if (count < 1 || count > x->type.rank) {
        tc_fail(g, NULL, "%d axes of %s cannot be normalized", count, tc_type_text(g, &x->type));
        return tc_poison();
    }
    if (!center && args->mean) {
        tc_fail(g, NULL, ".mean is of tc_layer_norm: nothing else subtracts one");
        return tc_poison();
    }
    if (!tc_check_float(g, &x->type) || !fits_last(g, "weight", args->weight, &x->type, count) ||
        !fits_last(g, "bias", args->bias, &x->type, count))
        return tc_poison();
    const tc_axes a = last_axes(x->type.rank, x->type.rank - count);
    tc_tensor y = standardize(g, args->at, tc_prim_widen(g, x), &a, args->eps, center, args->mean, args->inverse);
    tc_tensor weight = tc_prim_widen(g, args->weight), bias = tc_prim_widen(g, args->bias);
    return tc_prim_narrow(g, scale_and_shift(args->at, y, weight, bias), x->type.dtype);
}

static tc_tensor last_axes_norm(const tc_norm_args *args, const char *name, bool center)
{
    tc_graph *g = tc_op_enter(args->at, name, name + 3, "x ?weight ?bias", 3,
                              (tc_tensor[]){args->x, args->weight, args->bias});
    if (args->mean)
        *args->mean = tc_poison();
    if (args->inverse)
        *args->inverse = tc_poison();
    return g ? tc_op_leave(g, layer_norm(g, args, center)) : tc_poison();
}

tc_tensor tc_layer_norm_at(const tc_norm_args *args)
{
    return last_axes_norm(args, "tc_layer_norm", true);
}

tc_tensor tc_rms_norm_at(const tc_norm_args *args)
{
    return last_axes_norm(args, "tc_rms_norm", false);
}

/* -- channels ------------------------------------------------------------------------------------------------------ */

/* [n, c, ...] with c, where it is constant, in *channels (NULL: any c). */
static bool has_channels(tc_graph *g, const tc_type *x, int64_t *channels)
{
    if (!tc_check_float(g, x))
        return false;
    if (x->rank < 2) {
        tc_fail(g, "[n, c, ...]", "x needs a channel axis: %s", tc_type_text(g, x));
        return false;
    }
    if (!channels || tc_expr_value(x->shape[1], channels))
        return true;
    tc_fail(g, "[n, c, ...] with a constant number of channels", "no channels to group: %s", tc_type_text(g, x));
    return false;
}

/* Whether each parameter that there is has a number a channel of x. */
static bool fit_channels(tc_graph *g, const tc_type *x, int count, const tc_tensor *parameters,
                         const char *const *names)
{
    for (int i = 0; i < count; ++i) {
        const tc_tensor p = parameters[i];
        if (p && (p->type.dtype != x->dtype || p->type.rank != 1 || !tc_same_dim(g, p->type.shape[0], x->shape[1]))) {
            tc_fail(g, "one number a channel, of x's dtype", "%s is %s, axis 1 of x %s", names[i],
                    tc_type_text(g, &p->type), tc_type_text(g, x));
            return false;
        }
    }
    return true;
}

/* A [c] parameter, widened, along axis 1 of x; NULL where there is none. */
static tc_tensor along_channels(tc_graph *g, tc_tensor p, const tc_type *x)
{
    return p ? tc_prim_broadcast(g, tc_prim_widen(g, p), x->rank, x->shape, (const int[]){1}) : NULL;
}

static tc_tensor scale_channels(tc_graph *g, tc_site at, tc_tensor x, tc_tensor weight, tc_tensor bias)
{
    tc_tensor scale = along_channels(g, weight, &x->type), shift = along_channels(g, bias, &x->type);
    return scale_and_shift(at, x, scale, shift);
}

static tc_tensor batch_norm(tc_graph *g, const tc_batch_norm_args *args)
{
    const tc_site at = args->at;
    const tc_type *type = &args->x->type;
    const tc_tensor parameters[] = {args->mean, args->variance, args->weight, args->bias};
    if (!has_channels(g, type, NULL) ||
        !fit_channels(g, type, 4, parameters, (const char *const[]){"mean", "variance", "weight", "bias"}))
        return tc_poison();
    tc_tensor x = tc_prim_widen(g, args->x), centered = SUB(x, along_channels(g, args->mean, type));
    tc_tensor inverse = inverse_deviation(at, tc_prim_widen(g, args->variance), args->eps);
    tc_tensor y = MUL(centered, along_channels(g, inverse, type));
    return tc_prim_narrow(g, scale_channels(g, at, y, args->weight, args->bias), type->dtype);
}

tc_tensor tc_batch_norm_at(const tc_batch_norm_args *args)
{
    tc_graph *g = tc_op_enter(args->at, "tc_batch_norm", "batch_norm", "x mean variance ?weight ?bias", 5,
                              (tc_tensor[]){args->x, args->mean, args->variance, args->weight, args->bias});
    return g ? tc_op_leave(g, batch_norm(g, args)) : tc_poison();
}

/* Over the axes from the second on of x, which is args->x or its channels in groups. */
static tc_tensor normalize_channels(tc_graph *g, const tc_group_norm_args *args, tc_tensor x)
{
    const tc_type *type = &args->x->type;
    const tc_axes a = last_axes(x->type.rank, 2);
    if (!fit_channels(g, type, 2, (const tc_tensor[]){args->weight, args->bias},
                      (const char *const[]){"weight", "bias"}))
        return tc_poison();
    tc_tensor y = standardize(g, args->at, x, &a, args->eps, true, NULL, NULL);
    y = tc_prim_reshape(g, y, type->rank, type->shape);
    return tc_prim_narrow(g, scale_channels(g, args->at, y, args->weight, args->bias), type->dtype);
}

static tc_tensor group_norm(tc_graph *g, const tc_group_norm_args *args)
{
    const tc_type *type = &args->x->type;
    const int groups = args->groups;
    int64_t channels;
    if (!has_channels(g, type, &channels))
        return tc_poison();
    if (type->rank == TC_MAX_RANK) {
        tc_fail(g, NULL, "needs a rank below %d, not %s", TC_MAX_RANK, tc_type_text(g, type));
        return tc_poison();
    }
    if (groups < 1 || channels % groups) {
        tc_fail(g, ".groups = a number that divides the channels", "%lld channels in %d groups", (long long)channels,
                groups);
        return tc_poison();
    }
    const tc_expr *split[TC_MAX_RANK] = {type->shape[0], tc_expr_const(&g->dims, groups),
                                         tc_expr_const(&g->dims, channels / groups)};
    for (int i = 2; i < type->rank; ++i)
        split[i + 1] = type->shape[i];
    return normalize_channels(g, args, tc_prim_reshape(g, tc_prim_widen(g, args->x), type->rank + 1, split));
}

tc_tensor tc_group_norm_at(const tc_group_norm_args *args)
{
    tc_graph *g = tc_op_enter(args->at, "tc_group_norm", "group_norm", "x ?weight ?bias", 3,
                              (tc_tensor[]){args->x, args->weight, args->bias});
    return g ? tc_op_leave(g, group_norm(g, args)) : tc_poison();
}

static tc_tensor instance_norm(tc_graph *g, const tc_group_norm_args *args)
{
    if (args->groups) {
        tc_fail(g, NULL, ".groups is an option of tc_group_norm");
        return tc_poison();
    }
    if (!has_channels(g, &args->x->type, NULL))
        return tc_poison();
    if (args->x->type.rank < 3) {
        tc_fail(g, "[n, c, ...]", "needs rank 3 or more, not %s", tc_type_text(g, &args->x->type));
        return tc_poison();
    }
    return normalize_channels(g, args, tc_prim_widen(g, args->x));
}

tc_tensor tc_instance_norm_at(const tc_group_norm_args *args)
{
    tc_graph *g = tc_op_enter(args->at, "tc_instance_norm", "instance_norm", "x ?weight ?bias", 3,
                              (tc_tensor[]){args->x, args->weight, args->bias});
    return g ? tc_op_leave(g, instance_norm(g, args)) : tc_poison();
}

/* -- neighbouring channels ----------------------------------------------------------------------------------------- */

static tc_tensor response_norm(tc_graph *g, const tc_local_response_norm_args *args)
{
    const tc_site at = args->at;
    const tc_type *type = &args->x->type;
    int rank = type->rank, size[TC_MAX_RANK], low[TC_MAX_RANK], high[TC_MAX_RANK], ones[TC_MAX_RANK];
    if (!tc_check_float(g, type))
        return tc_poison();
    if (rank < 2 || args->size < 1) {
        tc_fail(g, "[n, c, ...], .size = 5", "size %d along axis 1 of %s", args->size, tc_type_text(g, type));
        return tc_poison();
    }
    for (int i = 0; i + 1 < rank; ++i) {
        size[i] = i ? 1 : args->size;
        low[i] = i ? 0 : args->size / 2;
        high[i] = i ? 0 : (args->size - 1) / 2;
        ones[i] = 1;
    }
    const double alpha = args->alpha != 0 ? args->alpha : 1e-4, beta = args->beta != 0 ? args->beta : 0.75;
    tc_tensor x = tc_prim_widen(g, args->x);
    tc_tensor sum = tc_prim_window_reduce(g, MUL(x, x), "sum", rank - 1, size, ones, low, high, ones);
    tc_tensor scaled = ADD(MUL(DIV(sum, args->size), alpha), args->k != 0 ? args->k : 1);
    return tc_prim_narrow(g, DIV(x, tc_pow_at(at, TC_OPERAND(scaled), TC_OPERAND(beta))), type->dtype);
}

tc_tensor tc_local_response_norm_at(const tc_local_response_norm_args *args)
{
    tc_graph *g = tc_op_enter(args->at, "tc_local_response_norm", "local_response_norm", "x", 1, &args->x);
    return g ? tc_op_leave(g, response_norm(g, args)) : tc_poison();
}

/* -- vectors ------------------------------------------------------------------------------------------------------- */

static tc_tensor normalize(tc_graph *g, const tc_normalize_args *args)
{
    const tc_site at = args->at;
    const tc_type *type = &args->x->type;
    const double p = args->p != 0 ? args->p : 2, eps = args->eps != 0 ? args->eps : 1e-12;
    tc_axes a;
    if (!tc_check_float(g, type) || !tc_axes_read(g, type->rank, 1, &args->axis, &a))
        return tc_poison();
    tc_tensor x = tc_prim_widen(g, args->x), size = MAXIMUM(tc_norm_of(g, at, x, p, &a), eps);
    return tc_prim_narrow(g, DIV(x, tc_axes_spread(g, size, type, &a)), type->dtype);
}

tc_tensor tc_normalize_at(const tc_normalize_args *args)
{
    tc_graph *g = tc_op_enter(args->at, "tc_normalize", "normalize", "x", 1, &args->x);
    return g ? tc_op_leave(g, normalize(g, args)) : tc_poison();
}
