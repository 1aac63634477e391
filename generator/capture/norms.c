/* SPDX-License-Identifier: Apache-2.0
 *
 * Normalizations over groups of channels, single channels, neighbouring channels, and vectors.
 */
#include <math.h>

#include "internal.h"

#define TENSOR(x) tc_operand_tensor_(x)
#define NUMBER(x) tc_operand_float_(x)

static bool check_float(tc_graph *g, tc_tensor x)
{
    if (tc_dtype_is_float(x->type.dtype))
        return true;
    tc_fail(g, "convert with tc_cast(x, TC_F32)", "needs floats, not %s", tc_type_text(g, &x->type));
    return false;
}

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
    if (!check_float(g, x))
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
    if (!check_float(g, args->x))
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
    if (!check_float(g, x))
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

static tc_tensor norm(tc_graph *g, tc_site at, tc_tensor x, double p, bool keepdims, int count, const int *axes)
{
    if (!check_float(g, x))
        return tc_poison();
    if (isnan(p)) {
        tc_fail(g, NULL, "p is NaN");
        return tc_poison();
    }
    if (p == 2)
        return tc_sqrt_at(at, tc_sum_at(at, tc_mul_at(at, TENSOR(x), TENSOR(x)), keepdims, count, axes));
    tc_tensor size = tc_abs_at(at, x);
    if (isinf(p))
        return (p > 0 ? tc_amax_at : tc_amin_at)(at, size, keepdims, count, axes);
    if (p == 0) {
        tc_tensor there = tc_cast_at(at, tc_ne_at(at, TENSOR(x), NUMBER(0)), x->type.dtype);
        return tc_sum_at(at, there, keepdims, count, axes);
    }
    if (p == 1)
        return tc_sum_at(at, size, keepdims, count, axes);
    tc_tensor powers = tc_pow_at(at, TENSOR(size), NUMBER(p));
    return tc_pow_at(at, TENSOR(tc_sum_at(at, powers, keepdims, count, axes)), NUMBER(1 / p));
}

tc_tensor tc_norm_at(tc_site at, tc_tensor x, double p, bool keepdims, int count, const int *axes)
{
    tc_graph *g = tc_op_enter(at, keepdims ? "tc_norm_keepdims" : "tc_norm", "norm", "x", 1, &x);
    return g ? tc_op_leave(g, norm(g, at, x, p, keepdims, count, axes)) : tc_poison();
}

tc_tensor tc_normalize_at(const tc_normalize_args *args)
{
    tc_graph *g = tc_op_enter(args->at, "tc_normalize", "normalize", "x", 1, &args->x);
    if (!g)
        return tc_poison();
    double p = args->p != 0 ? args->p : 2, eps = args->eps != 0 ? args->eps : 1e-12;
    tc_tensor size = norm(g, args->at, args->x, p, true, 1, &args->axis);
    size = tc_maximum_at(args->at, TENSOR(size), NUMBER(eps));
    return tc_op_leave(g, tc_div_at(args->at, TENSOR(args->x), TENSOR(size)));
}

/* x with axes of size 1 in front. */
static tc_tensor with_rank(tc_graph *g, tc_tensor x, int rank)
{
    const tc_expr *shape[TC_MAX_RANK];
    int added = rank - x->type.rank;
    for (int i = 0; i < rank; ++i)
        shape[i] = i < added ? g->dims.one : x->type.shape[i - added];
    return added ? tc_prim_reshape(g, x, rank, shape) : x;
}

tc_tensor tc_cosine_similarity_at(tc_site at, tc_tensor a, tc_tensor b, int axis, double eps)
{
    tc_graph *g = tc_op_enter(at, "tc_cosine_similarity", "cosine_similarity", "a b", 2, (tc_tensor[]){a, b});
    if (!g)
        return tc_poison();
    int rank = a->type.rank > b->type.rank ? a->type.rank : b->type.rank;
    axis = tc_axis(g, axis, rank);
    if (axis < 0)
        return tc_op_leave(g, tc_poison());
    tc_tensor sides[] = {with_rank(g, a, rank), with_rank(g, b, rank)};
    for (int i = 0; i < 2; ++i) {
        tc_tensor size = tc_maximum_at(at, TENSOR(norm(g, at, sides[i], 2, true, 1, &axis)), NUMBER(eps));
        sides[i] = tc_div_at(at, TENSOR(sides[i]), TENSOR(size));
    }
    return tc_op_leave(g, tc_sum_at(at, tc_mul_at(at, TENSOR(sides[0]), TENSOR(sides[1])), false, 1, &axis));
}

/* -- distances ------------------------------------------------------------------------------------------------------- */

/* [..., m, n] of a[..., m, d] and b[..., n, d]: the norm of each difference of two rows. */
static tc_tensor distances(tc_graph *g, tc_site at, tc_tensor a, tc_tensor b, double p)
{
    int rank = a->type.rank;
    if (rank < 2 || b->type.rank < 2) {
        tc_fail(g, "a[..., m, d], b[..., n, d]", "no rows: %s and %s", tc_type_text(g, &a->type),
                tc_type_text(g, &b->type));
        return tc_poison();
    }
    if (!tc_same_dim(g, a->type.shape[rank - 1], b->type.shape[b->type.rank - 1])) {
        tc_fail(g, "rows of one length", "the rows differ: %s and %s", tc_type_text(g, &a->type),
                tc_type_text(g, &b->type));
        return tc_poison();
    }
    tc_tensor rows = tc_unsqueeze_at(at, a, -2), columns = tc_unsqueeze_at(at, b, -3);
    tc_tensor difference = tc_sub_at(at, TENSOR(rows), TENSOR(columns));
    return tc_is_poison(difference) ? difference : norm(g, at, difference, p, false, 1, (const int[]){-1});
}

tc_tensor tc_cdist_at(tc_site at, tc_tensor a, tc_tensor b, double p)
{
    tc_graph *g = tc_op_enter(at, "tc_cdist", "cdist", "a b", 2, (tc_tensor[]){a, b});
    return g ? tc_op_leave(g, distances(g, at, a, b, p)) : tc_poison();
}
