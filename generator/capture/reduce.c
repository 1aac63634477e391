/* SPDX-License-Identifier: Apache-2.0
 *
 * Reductions, softmax and the normalizations.
 */
#include "internal.h"

#define TENSOR(x) tc_operand_tensor_(x)
#define NUMBER(x) tc_operand_float_(x)

/* The reduced axes of a call, ascending. */
typedef struct axes {
    int count, list[TC_MAX_RANK];
} axes;

static bool contains(const axes *a, int axis)
{
    for (int i = 0; i < a->count; ++i)
        if (a->list[i] == axis)
            return true;
    return false;
}

/* Of the user's list, none meaning all; reported where one is wrong. */
static bool read_axes(tc_graph *g, int rank, int count, const int *list, axes *out)
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

static axes last_axes(int rank, int count)
{
    axes out = {.count = count};
    for (int i = 0; i < count; ++i)
        out.list[i] = rank - count + i;
    return out;
}

/* Puts size 1 where the axes of `like` were reduced. */
static tc_tensor keep(tc_graph *g, tc_tensor reduced, const tc_type *like, const axes *a)
{
    if (tc_is_poison(reduced))
        return reduced;
    const tc_expr *shape[TC_MAX_RANK];
    for (int i = 0; i < like->rank; ++i)
        shape[i] = contains(a, i) ? g->dims.one : like->shape[i];
    return tc_prim_reshape(g, reduced, like->rank, shape);
}

/* Repeats a reduced tensor along the axes of `like` that it lost. */
static tc_tensor spread(tc_graph *g, tc_tensor reduced, const tc_type *like, const axes *a)
{
    int kept[TC_MAX_RANK], n = 0;
    for (int i = 0; i < like->rank; ++i)
        if (!contains(a, i))
            kept[n++] = i;
    return tc_prim_broadcast(g, reduced, like->rank, like->shape, kept);
}

/* x / (count of elements along the axes - correction), the count's value at run time where it is dynamic. */
static tc_tensor divide_by_count(tc_graph *g, tc_site at, tc_tensor sum, const tc_type *x, const axes *a, int correction)
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

static tc_tensor mean(tc_graph *g, tc_site at, tc_tensor x, const axes *a, int correction)
{
    tc_tensor sum = tc_prim_reduce(g, x, "sum", a->count, a->list);
    return divide_by_count(g, at, sum, &x->type, a, correction);
}

static bool check_float(tc_graph *g, tc_tensor x)
{
    if (tc_dtype_is_float(x->type.dtype))
        return true;
    tc_fail(g, "convert with tc_cast(x, TC_F32)", "needs floats, not %s", tc_type_text(g, &x->type));
    return false;
}

/* -- reductions ------------------------------------------------------------------------------------------------------ */

static tc_tensor reduction(tc_site at, const char *name, const char *op, tc_tensor x, bool keepdims, int count,
                           const int *list)
{
    tc_graph *g = tc_op_enter(at, name, NULL, "x", 1, &x);
    axes a;
    if (!g)
        return tc_poison();
    if (!read_axes(g, x->type.rank, count, list, &a))
        return tc_op_leave(g, tc_poison());
    tc_tensor out = tc_prim_reduce(g, x, op, a.count, a.list);
    return tc_op_leave(g, keepdims ? keep(g, out, &x->type, &a) : out);
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
    axes a;
    if (!g)
        return tc_poison();
    if (!check_float(g, x) || !read_axes(g, x->type.rank, count, list, &a))
        return tc_op_leave(g, tc_poison());
    tc_tensor out = tc_prim_narrow(g, mean(g, at, tc_prim_widen(g, x), &a, 0), x->type.dtype);
    return tc_op_leave(g, keepdims ? keep(g, out, &x->type, &a) : out);
}

/* (x - mean)^2 over the axes, x - mean too where asked for */
static tc_tensor variance(tc_graph *g, tc_site at, tc_tensor x, const axes *a, int correction, tc_tensor *centered)
{
    tc_tensor middle = spread(g, mean(g, at, x, a, 0), &x->type, a);
    tc_tensor d = tc_sub_at(at, TENSOR(x), TENSOR(middle));
    if (centered)
        *centered = d;
    return mean(g, at, tc_mul_at(at, TENSOR(d), TENSOR(d)), a, correction);
}

tc_tensor tc_var_at(tc_site at, tc_tensor x, int correction, bool keepdims, int count, const int *list)
{
    tc_graph *g = tc_op_enter(at, correction ? "tc_var_unbiased" : "tc_var", "var", "x", 1, &x);
    axes a;
    if (!g)
        return tc_poison();
    if (!check_float(g, x) || !read_axes(g, x->type.rank, count, list, &a))
        return tc_op_leave(g, tc_poison());
    tc_tensor out = tc_prim_narrow(g, variance(g, at, tc_prim_widen(g, x), &a, correction, NULL), x->type.dtype);
    return tc_op_leave(g, keepdims ? keep(g, out, &x->type, &a) : out);
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
    return tc_op_leave(g, keepdims ? keep(g, out, &x->type, &(axes){1, {axis}}) : out);
}

tc_tensor tc_argmax_at(tc_site at, tc_tensor x, int axis, bool keepdims)
{
    return arg_reduction(at, "tc_argmax", "max", x, axis, keepdims);
}

tc_tensor tc_argmin_at(tc_site at, tc_tensor x, int axis, bool keepdims)
{
    return arg_reduction(at, "tc_argmin", "min", x, axis, keepdims);
}

/* -- softmax --------------------------------------------------------------------------------------------------------- */

static tc_tensor softmax(tc_site at, const char *name, const char *region, tc_tensor x, int axis, bool logarithm)
{
    tc_graph *g = tc_op_enter(at, name, region, "x", 1, &x);
    if (!g)
        return tc_poison();
    axis = tc_axis(g, axis, x->type.rank);
    if (axis < 0 || !check_float(g, x))
        return tc_op_leave(g, tc_poison());
    axes a = {1, {axis}};
    tc_dtype dtype = x->type.dtype;
    x = tc_prim_widen(g, x);
    tc_tensor largest = spread(g, tc_prim_reduce(g, x, "max", 1, &axis), &x->type, &a);
    tc_tensor shifted = tc_sub_at(at, TENSOR(x), TENSOR(largest));
    tc_tensor e = tc_exp_at(at, shifted);
    tc_tensor sum = tc_prim_reduce(g, e, "sum", 1, &axis);
    tc_tensor out = logarithm ? tc_sub_at(at, TENSOR(shifted), TENSOR(spread(g, tc_log_at(at, sum), &x->type, &a)))
                              : tc_div_at(at, TENSOR(e), TENSOR(spread(g, sum, &x->type, &a)));
    return tc_op_leave(g, tc_prim_narrow(g, out, dtype));
}

tc_tensor tc_softmax_at(tc_site at, tc_tensor x, int axis)
{
    return softmax(at, "tc_softmax", "softmax", x, axis, false);
}

tc_tensor tc_log_softmax_at(tc_site at, tc_tensor x, int axis)
{
    return softmax(at, "tc_log_softmax", "log_softmax", x, axis, true);
}

/* -- normalizations -------------------------------------------------------------------------------------------------- */

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
    if (!check_float(g, x) || !fits_last(g, "weight", args->weight, &x->type, count) ||
        !fits_last(g, "bias", args->bias, &x->type, count))
        return tc_poison();
    axes a = last_axes(x->type.rank, count);
    tc_dtype dtype = x->type.dtype;
    x = tc_prim_widen(g, x);
    tc_tensor spreadable, out = x;
    if (center)
        spreadable = variance(g, args->at, x, &a, 0, &out);
    else
        spreadable = mean(g, args->at, tc_mul_at(args->at, TENSOR(x), TENSOR(x)), &a, 0);
    tc_tensor inverse = spread(g, inverse_deviation(args->at, spreadable, args->eps), &x->type, &a);
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
    if (!check_float(g, x))
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
