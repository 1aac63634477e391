/* SPDX-License-Identifier: Apache-2.0
 *
 * Reductions over axes, and what is made of them: deviations, logarithms of sums, norms.
 */
#include <math.h>

#include "compose.h"
#include "reductions.h"

static bool contains(const tc_axes *a, int axis)
{
    for (int i = 0; i < a->count; ++i)
        if (a->list[i] == axis)
            return true;
    return false;
}

bool tc_axes_in_order(tc_graph *g, int rank, int count, const int *list, int *out)
{
    for (int i = 0; i < count; ++i) {
        int axis = tc_axis(g, list[i], rank);
        if (axis < 0)
            return false;
        for (int j = 0; j < i; ++j)
            if (out[j] == axis) {
                tc_fail(g, NULL, "axis %d is named twice", list[i]);
                return false;
            }
        out[i] = axis; /* at most rank of them differ */
    }
    return true;
}

bool tc_axes_read(tc_graph *g, int rank, int count, const int *list, tc_axes *out)
{
    tc_axes named = {.count = count};
    if (!tc_axes_in_order(g, rank, count, list, named.list))
        return false;
    out->count = 0;
    for (int i = 0; i < rank; ++i)
        if (!count || contains(&named, i))
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

tc_tensor tc_divide_by_size(tc_graph *g, tc_site at, tc_tensor x, const tc_expr *size)
{
    int64_t value;
    if (tc_is_poison(x))
        return x;
    if (tc_expr_value(size, &value))
        return DIV(x, (double)value);
    return DIV(x, tc_prim_cast(g, tc_prim_dim_value(g, TC_I64, size), x->type.dtype));
}

tc_tensor tc_mean_of(tc_graph *g, tc_site at, tc_tensor x, const tc_axes *a, int correction)
{
    const tc_expr *count = g->dims.one;
    for (int i = 0; i < a->count; ++i)
        count = tc_expr_mul(count, x->type.shape[a->list[i]]);
    tc_tensor sum = tc_prim_reduce(g, x, "sum", a->count, a->list);
    const tc_expr *divisor = tc_expr_add_int(count, -correction);
    if (!correction || tc_expr_nonnegative(divisor))
        return tc_divide_by_size(g, at, sum, divisor);
    tc_tensor size = MAXIMUM(tc_size_value(g, TC_I64, divisor), 0);
    return tc_is_poison(sum) ? sum : DIV(sum, tc_prim_cast(g, size, x->type.dtype));
}

tc_tensor tc_variance_of(tc_graph *g, tc_site at, tc_tensor x, const tc_axes *a, int correction, tc_tensor *mean,
                         tc_tensor *centered)
{
    tc_tensor middle = tc_mean_of(g, at, x, a, 0), d = SUB(x, tc_axes_spread(g, middle, &x->type, a));
    if (mean)
        *mean = middle;
    if (centered)
        *centered = d;
    return tc_mean_of(g, at, MUL(d, d), a, correction);
}

tc_tensor tc_or_zero(tc_site at, tc_tensor x)
{
    tc_tensor finite = EQ(SUB(x, x), 0);
    return WHERE(finite, x, 0);
}

/* -- reductions ---------------------------------------------------------------------------------------------------- */

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

#define REDUCTION(name, op)                                                                                            \
    tc_tensor tc_##name##_at(tc_site at, tc_tensor x, bool keepdims, int count, const int *list)                       \
    {                                                                                                                  \
        return reduction(at, "tc_" #name, op, x, keepdims, count, list);                                               \
    }
REDUCTION(sum, "sum")
REDUCTION(prod, "prod")
REDUCTION(amax, "max")
REDUCTION(amin, "min")
REDUCTION(any, "any")
REDUCTION(all, "all")
#undef REDUCTION

tc_tensor tc_predicate_of(tc_graph *g, tc_tensor x, tc_tensor where)
{
    const tc_type *t = &x->type, *p = &where->type;
    if (p->dtype != TC_BOOL) {
        tc_fail(g, "compare first: tc_ne(x, 0)", "the predicate is %s, not bool", tc_type_text(g, p));
        return NULL;
    }
    bool fits = p->rank <= t->rank;
    for (int i = 1; fits && i <= p->rank; ++i) {
        const tc_expr *size = p->shape[p->rank - i];
        fits = tc_expr_is(size, 1) || tc_known_same(g, size, t->shape[t->rank - i]);
    }
    if (fits)
        return tc_broadcast_to(g, where, t->rank, t->shape);
    tc_fail(g, "its dims are the last ones of x, or 1", "the predicate %s does not broadcast to %s", tc_type_text(g, p),
            tc_type_text(g, t));
    return NULL;
}

/* The mean over the terms; 16-bit floats in f32. */
static tc_tensor mean_where(tc_graph *g, tc_site at, tc_tensor x, tc_tensor p, const tc_axes *a)
{
    if (!tc_check_float(g, &x->type))
        return tc_poison();
    tc_tensor wide = tc_prim_widen(g, x), sum = tc_prim_reduce_where(g, wide, p, "sum", a->count, a->list);
    tc_tensor terms = tc_prim_reduce(g, tc_prim_cast(g, p, TC_I64), "sum", a->count, a->list);
    tc_tensor count = tc_prim_cast(g, terms, wide->type.dtype);
    return tc_prim_narrow(g, DIV(sum, count), x->type.dtype);
}

tc_tensor tc_reduce_where_at(tc_site at, tc_where_kind kind, tc_tensor x, tc_tensor where, bool keepdims, int count,
                             const int *list)
{
    static const char *const names[] = {"tc_sum_where",  "tc_prod_where", "tc_amax_where", "tc_amin_where",
                                        "tc_mean_where", "tc_any_where",  "tc_all_where"};
    static const char *const ops[] = {"sum", "prod", "max", "min", NULL, "any", "all"};
    tc_graph *g = tc_op_enter(at, names[kind], NULL, "x where", 2, (tc_tensor[]){x, where});
    tc_axes a;
    if (!g)
        return tc_poison();
    if (!tc_axes_read(g, x->type.rank, count, list, &a))
        return tc_op_leave(g, tc_poison());
    tc_tensor p = tc_predicate_of(g, x, where);
    if (!p)
        return tc_op_leave(g, tc_poison());
    tc_tensor out = ops[kind] ? tc_prim_reduce_where(g, x, p, ops[kind], a.count, a.list) : mean_where(g, at, x, p, &a);
    return tc_op_leave(g, keepdims ? tc_axes_keep(g, out, &x->type, &a) : out);
}

static tc_tensor arg_reduction(tc_site at, const char *name, const char *op, tc_tensor x, int axis, bool keepdims)
{
    tc_graph *g = tc_op_enter_axis(at, name, NULL, x, &axis);
    if (!g)
        return tc_poison();
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

/* -- of floats: several steps, in f32 where they have 16 bits ------------------------------------------------------ */

/* A call's own data. x is widened; `option` is what the operation takes beside the axes. */
typedef struct call {
    tc_graph *g;
    tc_site at;
    tc_tensor x;
    tc_axes axes;
    double option;
} call;

/* The result without the axes. */
typedef tc_tensor formula(const call *c);

static tc_tensor of_floats(tc_site at, const char *name, const char *region, tc_tensor x, double option, formula *f,
                           bool keepdims, int count, const int *list)
{
    tc_graph *g = tc_op_enter(at, name, region, "x", 1, &x);
    if (!g)
        return tc_poison();
    call c = {.g = g, .at = at, .option = option};
    if (!tc_check_float(g, &x->type) || !tc_axes_read(g, x->type.rank, count, list, &c.axes))
        return tc_op_leave(g, tc_poison());
    c.x = tc_prim_widen(g, x);
    tc_tensor out = tc_prim_narrow(g, f(&c), x->type.dtype);
    return tc_op_leave(g, keepdims ? tc_axes_keep(g, out, &x->type, &c.axes) : out);
}

static tc_tensor mean(const call *c)
{
    return tc_mean_of(c->g, c->at, c->x, &c->axes, 0);
}

tc_tensor tc_mean_at(tc_site at, tc_tensor x, bool keepdims, int count, const int *list)
{
    return of_floats(at, "tc_mean", "mean", x, 0, mean, keepdims, count, list);
}

static tc_tensor variance(const call *c)
{
    return tc_variance_of(c->g, c->at, c->x, &c->axes, (int)c->option, NULL, NULL);
}

tc_tensor tc_var_at(tc_site at, tc_tensor x, int correction, bool keepdims, int count, const int *list)
{
    return of_floats(at, correction ? "tc_var_unbiased" : "tc_var", "var", x, correction, variance, keepdims, count,
                     list);
}

static tc_tensor deviation(const call *c)
{
    return tc_sqrt_at(c->at, variance(c));
}

tc_tensor tc_std_at(tc_site at, tc_tensor x, int correction, bool keepdims, int count, const int *list)
{
    return of_floats(at, correction ? "tc_std_unbiased" : "tc_std", "std", x, correction, deviation, keepdims, count,
                     list);
}

tc_tensor tc_var_mean_at(tc_site at, tc_tensor x, tc_tensor *mean, bool root, int correction, bool keepdims, int count,
                         const int *list)
{
    const char *name = root ? "tc_std_mean" : "tc_var_mean";
    *mean = tc_poison();
    tc_graph *g = tc_op_enter(at, name, name + 3, "x", 1, &x);
    tc_axes a;
    if (!g)
        return tc_poison();
    if (!tc_check_float(g, &x->type) || !tc_axes_read(g, x->type.rank, count, list, &a))
        return tc_op_leave(g, tc_poison());
    tc_tensor out[2];
    out[0] = tc_variance_of(g, at, tc_prim_widen(g, x), &a, correction, &out[1], NULL);
    if (root)
        out[0] = tc_sqrt_at(at, out[0]);
    for (int i = 0; i < 2; ++i) {
        out[i] = tc_prim_narrow(g, out[i], x->type.dtype);
        out[i] = keepdims ? tc_axes_keep(g, out[i], &x->type, &a) : out[i];
    }
    *mean = out[1];
    return tc_op_leave(g, out[0]);
}

/* log(sum(exp(x - m))) + m for the largest element m */
static tc_tensor log_of_sum(const call *c)
{
    const tc_site at = c->at;
    tc_tensor most = tc_or_zero(at, tc_prim_reduce(c->g, c->x, "max", c->axes.count, c->axes.list));
    if (tc_is_poison(most))
        return most;
    tc_tensor e = tc_exp_at(at, SUB(c->x, tc_axes_spread(c->g, most, &c->x->type, &c->axes)));
    return ADD(tc_log_at(at, tc_prim_reduce(c->g, e, "sum", c->axes.count, c->axes.list)), most);
}

tc_tensor tc_logsumexp_at(tc_site at, tc_tensor x, bool keepdims, int count, const int *list)
{
    return of_floats(at, "tc_logsumexp", "logsumexp", x, 0, log_of_sum, keepdims, count, list);
}

/* -- norms --------------------------------------------------------------------------------------------------------- */

tc_tensor tc_norm_of(tc_graph *g, tc_site at, tc_tensor x, double p, const tc_axes *a)
{
    if (isnan(p)) {
        tc_fail(g, NULL, "p is NaN");
        return tc_poison();
    }
    if (p == 2)
        return tc_sqrt_at(at, tc_prim_reduce(g, MUL(x, x), "sum", a->count, a->list));
    if (p == 0)
        return tc_prim_reduce(g, tc_cast_at(at, NE(x, 0), x->type.dtype), "sum", a->count, a->list);
    tc_tensor size = tc_abs_at(at, x);
    if (isinf(p))
        return tc_prim_reduce(g, size, p > 0 ? "max" : "min", a->count, a->list);
    if (p == 1)
        return tc_prim_reduce(g, size, "sum", a->count, a->list);
    tc_tensor powers = tc_pow_at(at, TC_OPERAND(size), TC_OPERAND(p));
    tc_tensor sum = tc_prim_reduce(g, powers, "sum", a->count, a->list);
    return tc_pow_at(at, TC_OPERAND(sum), TC_OPERAND(1 / p));
}

static tc_tensor norm(const call *c)
{
    return tc_norm_of(c->g, c->at, c->x, c->option, &c->axes);
}

tc_tensor tc_norm_at(tc_site at, tc_tensor x, double p, bool keepdims, int count, const int *axes)
{
    return of_floats(at, keepdims ? "tc_norm_keepdims" : "tc_norm", "norm", x, p, norm, keepdims, count, axes);
}
