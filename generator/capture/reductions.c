/* SPDX-License-Identifier: Apache-2.0
 *
 * Reductions over axes, and what is made of them: deviations, logarithms of sums, norms.
 */
#include <math.h>

#include "reductions.h"

#define TENSOR(x) tc_operand_tensor_(x)
#define NUMBER(x) tc_operand_float_(x)

static bool contains(const tc_axes *a, int axis)
{
    for (int i = 0; i < a->count; ++i)
        if (a->list[i] == axis)
            return true;
    return false;
}

bool tc_axes_read(tc_graph *g, int rank, int count, const int *list, tc_axes *out)
{
    bool listed[TC_MAX_RANK] = {false};
    for (int i = 0; i < count; ++i) {
        int axis = tc_axis(g, list[i], rank);
        if (axis < 0)
            return false;
        if (listed[axis]) {
            tc_fail(g, NULL, "axis %d is named twice", list[i]);
            return false;
        }
        listed[axis] = true;
    }
    out->count = 0;
    for (int i = 0; i < rank; ++i)
        if (listed[i] || !count)
            out->list[out->count++] = i;
    return true;
}

tc_tensor tc_axes_keep(tc_graph *g, tc_tensor reduced, const tc_type *like, const tc_axes *a)
{
    if (tc_is_poison(reduced))
        return reduced;
    const tc_expr *shape[TC_MAX_RANK];
    for (int i = 0; i < like->rank; ++i)
        shape[i] = contains(a, i) ? g->dims.one : like->shape[i];
    return tc_prim_reshape(g, reduced, like->rank, shape);
}

tc_tensor tc_axes_spread(tc_graph *g, tc_tensor reduced, const tc_type *like, const tc_axes *a)
{
    int kept[TC_MAX_RANK], n = 0;
    for (int i = 0; i < like->rank; ++i)
        if (!contains(a, i))
            kept[n++] = i;
    return tc_prim_broadcast(g, reduced, like->rank, like->shape, kept);
}

/* x / (count of elements along the axes - correction), the count's value at run time where it is dynamic. */
static tc_tensor divide_by_count(tc_graph *g, tc_site at, tc_tensor sum, const tc_type *x, const tc_axes *a, int correction)
{
    const tc_expr *count = g->dims.one;
    for (int i = 0; i < a->count; ++i)
        count = tc_expr_mul(count, x->shape[a->list[i]]);
    count = tc_expr_add_int(count, -correction);
    int64_t value;
    if (tc_expr_value(count, &value))
        return tc_div_at(at, TENSOR(sum), NUMBER((double)value));
    tc_tensor dynamic = tc_prim_cast(g, tc_prim_dim_value(g, TC_I64, count), sum->type.dtype);
    return tc_div_at(at, TENSOR(sum), TENSOR(dynamic));
}

tc_tensor tc_mean_of(tc_graph *g, tc_site at, tc_tensor x, const tc_axes *a, int correction)
{
    tc_tensor sum = tc_prim_reduce(g, x, "sum", a->count, a->list);
    return divide_by_count(g, at, sum, &x->type, a, correction);
}

/* -- reductions ------------------------------------------------------------------------------------------------------ */

static tc_tensor reduction(tc_site at, const char *name, const char *op, tc_tensor x, bool keepdims, int count,
                           const int *list)
{
    tc_graph *g = tc_op_enter(at, name, NULL, "x", 1, &x);
    tc_axes a;
    if (!g)
        return tc_poison();
    if (!tc_axes_read(g, x->type.rank, count, list, &a))
        return tc_op_leave(g, tc_poison());
    tc_tensor out = tc_prim_reduce(g, x, op, a.count, a.list);
    return tc_op_leave(g, keepdims ? tc_axes_keep(g, out, &x->type, &a) : out);
}

#define REDUCTION(name, op)                                                                                           \
    tc_tensor tc_##name##_at(tc_site at, tc_tensor x, bool keepdims, int count, const int *list)                      \
    {                                                                                                                 \
        return reduction(at, "tc_" #name, op, x, keepdims, count, list);                                              \
    }
REDUCTION(sum, "sum")
REDUCTION(prod, "prod")
REDUCTION(amax, "max")
REDUCTION(amin, "min")
REDUCTION(any, "any")
REDUCTION(all, "all")
#undef REDUCTION

tc_tensor tc_mean_at(tc_site at, tc_tensor x, bool keepdims, int count, const int *list)
{
    tc_graph *g = tc_op_enter(at, "tc_mean", "mean", "x", 1, &x);
    tc_axes a;
    if (!g)
        return tc_poison();
    if (!tc_check_float(g, &x->type) || !tc_axes_read(g, x->type.rank, count, list, &a))
        return tc_op_leave(g, tc_poison());
    tc_tensor out = tc_prim_narrow(g, tc_mean_of(g, at, tc_prim_widen(g, x), &a, 0), x->type.dtype);
    return tc_op_leave(g, keepdims ? tc_axes_keep(g, out, &x->type, &a) : out);
}

tc_tensor tc_variance_of(tc_graph *g, tc_site at, tc_tensor x, const tc_axes *a, int correction, tc_tensor *centered)
{
    tc_tensor middle = tc_axes_spread(g, tc_mean_of(g, at, x, a, 0), &x->type, a);
    tc_tensor d = tc_sub_at(at, TENSOR(x), TENSOR(middle));
    if (centered)
        *centered = d;
    return tc_mean_of(g, at, tc_mul_at(at, TENSOR(d), TENSOR(d)), a, correction);
}

tc_tensor tc_var_at(tc_site at, tc_tensor x, int correction, bool keepdims, int count, const int *list)
{
    tc_graph *g = tc_op_enter(at, correction ? "tc_var_unbiased" : "tc_var", "var", "x", 1, &x);
    tc_axes a;
    if (!g)
        return tc_poison();
    if (!tc_check_float(g, &x->type) || !tc_axes_read(g, x->type.rank, count, list, &a))
        return tc_op_leave(g, tc_poison());
    tc_tensor out = tc_prim_narrow(g, tc_variance_of(g, at, tc_prim_widen(g, x), &a, correction, NULL), x->type.dtype);
    return tc_op_leave(g, keepdims ? tc_axes_keep(g, out, &x->type, &a) : out);
}

static tc_tensor arg_reduction(tc_site at, const char *name, const char *op, tc_tensor x, int axis, bool keepdims)
{
    tc_graph *g = tc_op_enter(at, name, NULL, "x", 1, &x);
    if (!g)
        return tc_poison();
    axis = tc_axis(g, axis, x->type.rank);
    if (axis < 0)
        return tc_op_leave(g, tc_poison());
    tc_tensor out = tc_prim_arg_reduce(g, x, op, axis);
    return tc_op_leave(g, keepdims ? tc_axes_keep(g, out, &x->type, &(tc_axes){1, {axis}}) : out);
}

tc_tensor tc_argmax_at(tc_site at, tc_tensor x, int axis, bool keepdims)
{
    return arg_reduction(at, "tc_argmax", "max", x, axis, keepdims);
}

tc_tensor tc_argmin_at(tc_site at, tc_tensor x, int axis, bool keepdims)
{
    return arg_reduction(at, "tc_argmin", "min", x, axis, keepdims);
}

/* -- made of them ----------------------------------------------------------------------------------------------------- */

tc_tensor tc_std_at(tc_site at, tc_tensor x, int correction, bool keepdims, int count, const int *axes)
{
    tc_graph *g = tc_op_enter(at, correction ? "tc_std_unbiased" : "tc_std", "std", "x", 1, &x);
    if (!g)
        return tc_poison();
    return tc_op_leave(g, tc_sqrt_at(at, tc_var_at(at, x, correction, keepdims, count, axes)));
}

tc_tensor tc_logsumexp_at(tc_site at, tc_tensor x, bool keepdims, int count, const int *axes)
{
    tc_graph *g = tc_op_enter(at, "tc_logsumexp", "logsumexp", "x", 1, &x);
    if (!g)
        return tc_poison();
    tc_tensor most = tc_amax_at(at, x, true, count, axes);
    tc_tensor finite = tc_eq_at(at, TENSOR(tc_sub_at(at, TENSOR(most), TENSOR(most))), NUMBER(0));
    most = tc_where_at(at, finite, TENSOR(most), NUMBER(0));
    tc_tensor e = tc_exp_at(at, tc_sub_at(at, TENSOR(x), TENSOR(most)));
    tc_tensor sum = tc_log_at(at, tc_sum_at(at, e, keepdims, count, axes));
    if (!keepdims && !tc_is_poison(sum) && !tc_is_poison(most))
        most = tc_prim_reshape(g, most, sum->type.rank, sum->type.shape);
    return tc_op_leave(g, tc_add_at(at, TENSOR(sum), TENSOR(most)));
}

tc_tensor tc_norm_of(tc_graph *g, tc_site at, tc_tensor x, double p, bool keepdims, int count, const int *axes)
{
    if (!tc_check_float(g, &x->type))
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
    return g ? tc_op_leave(g, tc_norm_of(g, at, x, p, keepdims, count, axes)) : tc_poison();
}
