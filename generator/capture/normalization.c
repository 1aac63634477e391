/* SPDX-License-Identifier: Apache-2.0
 *
 * Normalizations over the last axes, single channels, groups of channels, neighbouring channels and vectors.
 */
#include "reductions.h"

#define TENSOR(x) tc_operand_tensor_(x)
#define NUMBER(x) tc_operand_float_(x)

/* -- the last axes --------------------------------------------------------------------------------------------------- */

static tc_axes last_axes(int rank, int count)
{
    tc_axes out = {.count = count};
    for (int i = 0; i < count; ++i)
        out.list[i] = rank - count + i;
    return out;
}

/* 1 / sqrt(x + eps) */
static tc_tensor inverse_deviation(tc_site at, tc_tensor x, double eps)
{
    return tc_rsqrt_at(at, tc_add_at(at, TENSOR(x), NUMBER(eps > 0 ? eps : 1e-5)));
}

/* An optional parameter has the shape of x's last axes. */
static bool fits_last(tc_graph *g, const char *what, tc_tensor p, const tc_type *x, int count)
{
    bool fits = !p || (p->type.dtype == x->dtype && p->type.rank == count);
    for (int i = 0; p && fits && i < count; ++i)
        fits = tc_same_dim(g, p->type.shape[i], x->shape[x->rank - count + i]);
    if (!fits)
        tc_fail(g, "it has x's dtype and the shape of the normalized axes", "%s is %s, but %d ax%s of %s %s normalized", what,
                tc_type_text(g, &p->type), count, count == 1 ? "is" : "es", tc_type_text(g, x),
                count == 1 ? "is" : "are");
    return fits;
}

static tc_tensor scale_and_shift(tc_site at, tc_tensor x, tc_tensor weight, tc_tensor bias)
{
    if (weight)
        x = tc_mul_at(at, TENSOR(x), TENSOR(weight));
    return bias ? tc_add_at(at, TENSOR(x), TENSOR(bias)) : x;
}

static tc_tensor layer_norm(tc_graph *g, const tc_norm_args *args, bool center)
{
    tc_tensor x = args->x;
    int count = args->axes ? args->axes : args->weight ? args->weight->type.rank : 1;
    if (count < 1 || count > x->type.rank) {
        tc_fail(g, NULL, "%d axes of %s cannot be normalized", count, tc_type_text(g, &x->type));
        return tc_poison();
    }
    if (!tc_check_float(g, &x->type) || !fits_last(g, "weight", args->weight, &x->type, count) ||
        !fits_last(g, "bias", args->bias, &x->type, count))
        return tc_poison();
    tc_axes a = last_axes(x->type.rank, count);
    tc_dtype dtype = x->type.dtype;
    x = tc_prim_widen(g, x);
    tc_tensor spreadable, out = x;
    if (center)
        spreadable = tc_variance_of(g, args->at, x, &a, 0, &out);
    else
        spreadable = tc_mean_of(g, args->at, tc_mul_at(args->at, TENSOR(x), TENSOR(x)), &a, 0);
    tc_tensor inverse = tc_axes_spread(g, inverse_deviation(args->at, spreadable, args->eps), &x->type, &a);
    out = scale_and_shift(args->at, tc_mul_at(args->at, TENSOR(out), TENSOR(inverse)), tc_prim_widen(g, args->weight),
                          tc_prim_widen(g, args->bias));
    return tc_prim_narrow(g, out, dtype);
}

tc_tensor tc_layer_norm_at(const tc_norm_args *args)
{
    tc_graph *g = tc_op_enter(args->at, "tc_layer_norm", "layer_norm", "x ?weight ?bias", 3,
                              (tc_tensor[]){args->x, args->weight, args->bias});
    return g ? tc_op_leave(g, layer_norm(g, args, true)) : tc_poison();
}

tc_tensor tc_rms_norm_at(const tc_norm_args *args)
{
    tc_graph *g = tc_op_enter(args->at, "tc_rms_norm", "rms_norm", "x ?weight ?bias", 3,
                              (tc_tensor[]){args->x, args->weight, args->bias});
    return g ? tc_op_leave(g, layer_norm(g, args, false)) : tc_poison();
}

/* A [c] parameter along axis 1 of x. */
static tc_tensor along_channels(tc_graph *g, tc_tensor p, const tc_type *x)
{
    return p ? tc_prim_broadcast(g, p, x->rank, x->shape, (const int[]){1}) : NULL;
}

static tc_tensor batch_norm(tc_graph *g, const tc_batch_norm_args *args)
{
    tc_tensor x = args->x;
    const tc_tensor parameters[] = {args->mean, args->variance, args->weight, args->bias};
    static const char *const names[] = {"mean", "variance", "weight", "bias"};
    if (!tc_check_float(g, &x->type))
        return tc_poison();
    if (x->type.rank < 2) {
        tc_fail(g, "[n, c, ...]", "x needs a channel axis: %s", tc_type_text(g, &x->type));
        return tc_poison();
    }
    for (int i = 0; i < 4; ++i) {
        tc_tensor p = parameters[i];
        if (p && (p->type.dtype != x->type.dtype || p->type.rank != 1 ||
                  !tc_same_dim(g, p->type.shape[0], x->type.shape[1]))) {
            tc_fail(g, "one number a channel, of x's dtype", "%s is %s, axis 1 of x %s", names[i], tc_type_text(g, &p->type),
                    tc_type_text(g, &x->type));
            return tc_poison();
        }
    }
    tc_tensor centered = tc_sub_at(args->at, TENSOR(x), TENSOR(along_channels(g, args->mean, &x->type)));
    tc_tensor inverse = along_channels(g, inverse_deviation(args->at, args->variance, args->eps), &x->type);
    return scale_and_shift(args->at, tc_mul_at(args->at, TENSOR(centered), TENSOR(inverse)),
                           along_channels(g, args->weight, &x->type), along_channels(g, args->bias, &x->type));
}

tc_tensor tc_batch_norm_at(const tc_batch_norm_args *args)
{
    tc_graph *g = tc_op_enter(args->at, "tc_batch_norm", "batch_norm", "x mean variance ?weight ?bias", 5,
                              (tc_tensor[]){args->x, args->mean, args->variance, args->weight, args->bias});
    return g ? tc_op_leave(g, batch_norm(g, args)) : tc_poison();
}

/* -- channels -------------------------------------------------------------------------------------------------------- */

/* (x - mean) * (1 / sqrt(variance + eps)) over the axes from `first` on. */
static tc_tensor standardize(tc_site at, tc_tensor x, int first, double eps)
{
    int axes[TC_MAX_RANK], count = 0;
    for (int i = first; i < x->type.rank; ++i)
        axes[count++] = i;
    tc_tensor centered = tc_sub_at(at, TENSOR(x), TENSOR(tc_mean_at(at, x, true, count, axes)));
    tc_tensor squares = tc_mul_at(at, TENSOR(centered), TENSOR(centered));
    tc_tensor variance = tc_mean_at(at, squares, true, count, axes);
    tc_tensor inverse = tc_rsqrt_at(at, tc_add_at(at, TENSOR(variance), NUMBER(eps > 0 ? eps : 1e-5)));
    return tc_mul_at(at, TENSOR(centered), TENSOR(inverse));
}

/* x * weight + bias along axis 1, each optional; reported where one is no vector of x's channels. */
static tc_tensor scale_channels(tc_graph *g, tc_site at, tc_tensor x, tc_tensor weight, tc_tensor bias)
{
    const tc_tensor parameters[] = {weight, bias};
    if (tc_is_poison(x))
        return x;
    for (int i = 0; i < 2; ++i) {
        tc_tensor p = parameters[i];
        if (!p)
            continue;
        if (p->type.dtype != x->type.dtype || p->type.rank != 1 || !tc_same_dim(g, p->type.shape[0], x->type.shape[1])) {
            tc_fail(g, "one number a channel, of x's dtype", "%s is %s, axis 1 of x %s", i ? "bias" : "weight",
                    tc_type_text(g, &p->type), tc_type_text(g, &x->type));
            return tc_poison();
        }
        tc_tensor along = tc_prim_broadcast(g, p, x->type.rank, x->type.shape, (const int[]){1});
        x = (i ? tc_add_at : tc_mul_at)(at, TENSOR(x), TENSOR(along));
    }
    return x;
}

static tc_tensor group_norm(tc_graph *g, const tc_group_norm_args *args, int groups)
{
    tc_tensor x = args->x;
    int64_t channels;
    if (!tc_check_float(g, &x->type))
        return tc_poison();
    if (x->type.rank < 2 || x->type.rank == TC_MAX_RANK || !tc_expr_value(x->type.shape[1], &channels)) {
        tc_fail(g, "[n, c, ...] with a constant number of channels", "no channels to group: %s", tc_type_text(g, &x->type));
        return tc_poison();
    }
    if (groups < 1 || channels % groups) {
        tc_fail(g, "groups divides the channels", "%lld channels in %d groups", (long long)channels, groups);
        return tc_poison();
    }
    const tc_expr *split[TC_MAX_RANK] = {x->type.shape[0], tc_expr_const(&g->dims, groups),
                                         tc_expr_const(&g->dims, channels / groups)};
    for (int i = 2; i < x->type.rank; ++i)
        split[i + 1] = x->type.shape[i];
    tc_tensor parts = tc_prim_reshape(g, x, x->type.rank + 1, split);
    tc_tensor y = standardize(args->at, parts, 2, args->eps);
    if (!tc_is_poison(y))
        y = tc_prim_reshape(g, y, x->type.rank, x->type.shape);
    return scale_channels(g, args->at, y, args->weight, args->bias);
}

tc_tensor tc_group_norm_at(const tc_group_norm_args *args)
{
    tc_graph *g = tc_op_enter(args->at, "tc_group_norm", "group_norm", "x ?weight ?bias", 3,
                              (tc_tensor[]){args->x, args->weight, args->bias});
    return g ? tc_op_leave(g, group_norm(g, args, args->groups)) : tc_poison();
}

static tc_tensor instance_norm(tc_graph *g, const tc_group_norm_args *args)
{
    if (args->groups) {
        tc_fail(g, NULL, ".groups is an option of tc_group_norm");
        return tc_poison();
    }
    if (!tc_check_float(g, &args->x->type))
        return tc_poison();
    if (args->x->type.rank < 3) {
        tc_fail(g, "[n, c, ...]", "needs rank 3 or more, not %s", tc_type_text(g, &args->x->type));
        return tc_poison();
    }
    return scale_channels(g, args->at, standardize(args->at, args->x, 2, args->eps), args->weight, args->bias);
}

tc_tensor tc_instance_norm_at(const tc_group_norm_args *args)
{
    tc_graph *g = tc_op_enter(args->at, "tc_instance_norm", "instance_norm", "x ?weight ?bias", 3,
                              (tc_tensor[]){args->x, args->weight, args->bias});
    return g ? tc_op_leave(g, instance_norm(g, args)) : tc_poison();
}

/* -- neighbouring channels ------------------------------------------------------------------------------------------- */

static tc_tensor response_norm(tc_graph *g, const tc_local_response_norm_args *args)
{
    tc_tensor x = args->x;
    int rank = x->type.rank, size[TC_MAX_RANK], low[TC_MAX_RANK], high[TC_MAX_RANK], ones[TC_MAX_RANK];
    if (!tc_check_float(g, &x->type))
        return tc_poison();
    if (rank < 2 || args->size < 1) {
        tc_fail(g, "[n, c, ...], .size = 5", "size %d along axis 1 of %s", args->size, tc_type_text(g, &x->type));
        return tc_poison();
    }
    for (int i = 0; i + 1 < rank; ++i) {
        size[i] = i ? 1 : args->size;
        low[i] = i ? 0 : args->size / 2;
        high[i] = i ? 0 : (args->size - 1) / 2;
        ones[i] = 1;
    }
    double alpha = args->alpha != 0 ? args->alpha : 1e-4, beta = args->beta != 0 ? args->beta : 0.75;
    tc_tensor squares = tc_mul_at(args->at, TENSOR(x), TENSOR(x));
    tc_tensor sum = tc_prim_window_reduce(g, squares, "sum", rank - 1, size, ones, low, high, ones);
    tc_tensor mean = tc_div_at(args->at, TENSOR(sum), NUMBER(args->size));
    tc_tensor scaled = tc_add_at(args->at, TENSOR(tc_mul_at(args->at, TENSOR(mean), NUMBER(alpha))),
                                 NUMBER(args->k != 0 ? args->k : 1));
    return tc_div_at(args->at, TENSOR(x), TENSOR(tc_pow_at(args->at, TENSOR(scaled), NUMBER(beta))));
}

tc_tensor tc_local_response_norm_at(const tc_local_response_norm_args *args)
{
    tc_graph *g = tc_op_enter(args->at, "tc_local_response_norm", "local_response_norm", "x", 1, &args->x);
    return g ? tc_op_leave(g, response_norm(g, args)) : tc_poison();
}

/* -- vectors --------------------------------------------------------------------------------------------------------- */

tc_tensor tc_normalize_at(const tc_normalize_args *args)
{
    tc_graph *g = tc_op_enter(args->at, "tc_normalize", "normalize", "x", 1, &args->x);
    if (!g)
        return tc_poison();
    double p = args->p != 0 ? args->p : 2, eps = args->eps != 0 ? args->eps : 1e-12;
    tc_tensor size = tc_norm_of(g, args->at, args->x, p, true, 1, &args->axis);
    size = tc_maximum_at(args->at, TENSOR(size), NUMBER(eps));
    return tc_op_leave(g, tc_div_at(args->at, TENSOR(args->x), TENSOR(size)));
}
