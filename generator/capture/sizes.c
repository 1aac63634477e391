/* SPDX-License-Identifier: Apache-2.0
 *
 * The public face of dims: declaration, arithmetic, guards a user asks for.
 */
#include <string.h>

#include "internal.h"

const tc_expr *tc_dim_expr(tc_graph *g, tc_dim dim)
{
    return dim.expr ? dim.expr : tc_expr_const(&g->dims, dim.value);
}

tc_dim tc_dim_of(const tc_expr *e)
{
    int64_t value;
    return tc_expr_value(e, &value) ? (tc_dim){NULL, value} : (tc_dim){e, 0};
}

bool tc_read_type(tc_graph *g, int count, const tc_dim *dtype_and_shape, tc_type *out)
{
    if (count < 1 || dtype_and_shape[0].expr || !tc_dtype_valid(dtype_and_shape[0].value)) {
        tc_fail(g, tc_arena_format(&g->arena, "%s stands before the dims", tc_dtype_list(g)), "the dtype is missing");
        return false;
    }
    if (count - 1 > TC_MAX_RANK) {
        tc_fail(g, NULL, "%d dims; %d is the most", count - 1, TC_MAX_RANK);
        return false;
    }
    *out = (tc_type){.dtype = (tc_dtype)dtype_and_shape[0].value, .rank = count - 1};
    for (int i = 0; i < out->rank; ++i) {
        out->shape[i] = tc_dim_expr(g, dtype_and_shape[i + 1]);
        if (!tc_at_least(g, out->shape[i], g->dims.zero)) {
            tc_fail(g, NULL, "dim %d is negative: %s", i, tc_expr_text(out->shape[i]));
            return false;
        }
    }
    return true;
}

/* The arguments of tc_dynamic make sense; reported otherwise. */
static bool dynamic_ok(tc_graph *g, const char *name, int64_t lo, int64_t hi, int64_t divisor)
{
    if (!name) {
        tc_fail(g, NULL, "argument 'name' is NULL");
        return false;
    }
    if (!tc_check_identifier(g, "dim", name))
        return false;
    if (!strcmp(name, "floordiv") || !strcmp(name, "max") || !strcmp(name, "min")) {
        tc_fail(g, NULL, "\"%s\" is the name of an operation on dims", name);
        return false;
    }
    if (lo < 0 || hi < lo) {
        tc_fail(g, "both ends are inclusive", "dim \"%s\" has the range %lld..%lld", name, (long long)lo,
                (long long)hi);
        return false;
    }
    if (divisor < 1 || hi / divisor * divisor < lo) {
        tc_fail(g, NULL, "dim \"%s\": no multiple of %lld lies in %lld..%lld", name, (long long)divisor, (long long)lo,
                (long long)hi);
        return false;
    }
    return true;
}

static int specialized(const tc_dynamic_options *options)
{
    int n = 0;
    while (n < 8 && options->specialize[n])
        ++n;
    return n;
}

static bool same_declaration(const tc_dim_decl *d, int64_t lo, int64_t hi, int64_t divisor,
                             const tc_dynamic_options *options)
{
    int n = specialized(options);
    return d->sym->lo == lo && d->sym->hi == hi && d->sym->divisor == divisor && d->specialize_count == n &&
           !memcmp(d->specialize, options->specialize, (size_t)n * sizeof *d->specialize);
}

static tc_dim declare(tc_graph *g, const char *name, int64_t lo, int64_t hi, const tc_dynamic_options *options)
{
    int64_t divisor = options->divisor ? options->divisor : 1;
    tc_dim failed = {NULL, hi > 0 ? hi : 1};
    if (!dynamic_ok(g, name, lo, hi, divisor))
        return failed;
    for (const tc_dim_decl *d = g->dim_decls; d; d = d->next) {
        if (strcmp(d->sym->name, name))
            continue;
        if (!same_declaration(d, lo, hi, divisor, options))
            tc_fail(g, "functions share dims by name", "dim \"%s\" was declared otherwise at line %d: %lld..%lld", name,
                    d->site.line, (long long)d->sym->lo, (long long)d->sym->hi);
        return (tc_dim){d->expr, 0};
    }
    for (int i = 0; i < specialized(options); ++i) {
        int64_t size = options->specialize[i];
        if (size < lo || size > hi || size % divisor) {
            tc_fail(g, NULL, "dim \"%s\" cannot be %lld, which .specialize names", name, (long long)size);
            return failed;
        }
    }
    tc_sym *sym = tc_arena_alloc(&g->arena, sizeof *sym);
    *sym = (tc_sym){tc_arena_copy(&g->arena, name), lo, hi, divisor};
    tc_dim_decl *d = tc_arena_alloc(&g->arena, sizeof *d);
    *d = (tc_dim_decl){.sym = sym, .expr = tc_expr_sym(&g->dims, sym), .site = options->at};
    d->specialize_count = specialized(options);
    memcpy(d->specialize, options->specialize, sizeof d->specialize);
    *g->dim_decls_end = d;
    g->dim_decls_end = &d->next;
    return (tc_dim){d->expr, 0};
}

tc_dim tc_dynamic_at(tc_graph *g, const char *name, int64_t lo, int64_t hi, const tc_dynamic_options *options)
{
    if (!tc_op_enter_graph(g, options->at, "tc_dynamic", NULL))
        return (tc_dim){NULL, 1};
    tc_dim dim = declare(g, name, lo, hi, options);
    tc_op_leave(g, NULL);
    return dim;
}

tc_dim tc_size_at(tc_site at, tc_tensor x, int axis)
{
    tc_graph *g = tc_op_enter(at, "tc_size", NULL, "x", 1, &x);
    if (!g)
        return (tc_dim){NULL, 1};
    axis = tc_axis(g, axis, x->type.rank);
    tc_op_leave(g, NULL);
    return axis < 0 ? (tc_dim){NULL, 1} : tc_dim_of(x->type.shape[axis]);
}

typedef const tc_expr *tc_expr_function(const tc_expr *a, const tc_expr *b);

static tc_dim combine(tc_site at, const char *name, tc_expr_function *function, tc_dim a, tc_dim b)
{
    tc_graph *g = tc_current_graph();
    if (!tc_op_enter_graph(g, at, name, NULL))
        return a;
    bool before = g->dims.overflow;
    g->dims.overflow = false;
    tc_dim out = tc_dim_of(function(tc_dim_expr(g, a), tc_dim_expr(g, b)));
    if (g->dims.overflow)
        tc_fail(g, NULL, "the result leaves 64 bits");
    g->dims.overflow |= before;
    tc_op_leave(g, NULL);
    return out;
}

tc_dim tc_dim_add_at(tc_site at, tc_dim a, tc_dim b)
{
    return combine(at, "tc_dim_add", tc_expr_add, a, b);
}

tc_dim tc_dim_sub_at(tc_site at, tc_dim a, tc_dim b)
{
    return combine(at, "tc_dim_sub", tc_expr_sub, a, b);
}

tc_dim tc_dim_mul_at(tc_site at, tc_dim a, tc_dim b)
{
    return combine(at, "tc_dim_mul", tc_expr_mul, a, b);
}

static const tc_expr *ceildiv(const tc_expr *a, const tc_expr *b)
{
    return tc_expr_floordiv(tc_expr_add_int(tc_expr_add(a, b), -1), b);
}

static const tc_expr *modulo(const tc_expr *a, const tc_expr *b)
{
    return tc_expr_sub(a, tc_expr_mul(b, tc_expr_floordiv(a, b)));
}

/* The same for a b that is proved to be positive; reported otherwise. */
static tc_dim divide(tc_site at, const char *name, tc_expr_function *function, tc_dim a, tc_dim b)
{
    tc_graph *g = tc_current_graph();
    if (!tc_op_enter_graph(g, at, name, NULL))
        return a;
    const tc_expr *den = tc_dim_expr(g, b);
    bool positive = tc_expr_nonnegative(tc_expr_add_int(den, -1));
    if (!positive)
        tc_fail(g, "give the dim a range that starts at 1 or more", "the divisor %s is not known to be positive",
                tc_expr_text(den));
    tc_dim out = positive ? combine(at, name, function, a, b) : a;
    tc_op_leave(g, NULL);
    return out;
}

tc_dim tc_dim_floordiv_at(tc_site at, tc_dim a, tc_dim b)
{
    return divide(at, "tc_dim_floordiv", tc_expr_floordiv, a, b);
}

tc_dim tc_dim_ceildiv_at(tc_site at, tc_dim a, tc_dim b)
{
    return divide(at, "tc_dim_ceildiv", ceildiv, a, b);
}

tc_dim tc_dim_mod_at(tc_site at, tc_dim a, tc_dim b)
{
    return divide(at, "tc_dim_mod", modulo, a, b);
}

tc_dim tc_dim_max_at(tc_site at, tc_dim a, tc_dim b)
{
    return combine(at, "tc_dim_max", tc_expr_max, a, b);
}

tc_dim tc_dim_min_at(tc_site at, tc_dim a, tc_dim b)
{
    return combine(at, "tc_dim_min", tc_expr_min, a, b);
}

void tc_require_at(tc_site at, tc_graph *g, tc_dim a, bool equal, tc_dim b)
{
    if (!tc_op_enter_graph(g, at, equal ? "tc_require_equal" : "tc_require_at_least", NULL))
        return;
    const tc_expr *lhs = tc_dim_expr(g, a), *rhs = tc_dim_expr(g, b);
    if (equal) {
        if (!tc_known_same(g, lhs, rhs)) {
            if (tc_expr_never_equal(lhs, rhs))
                tc_fail(g, NULL, "%s and %s are never equal", tc_expr_text(lhs), tc_expr_text(rhs));
            else
                tc_guard_add(g, g->current, lhs, true, rhs, at);
        }
    } else if (!tc_at_least(g, lhs, rhs)) {
        tc_fail(g, NULL, "%s is always less than %s", tc_expr_text(lhs), tc_expr_text(rhs));
    }
    tc_op_leave(g, NULL);
}
