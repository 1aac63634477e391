/* SPDX-License-Identifier: Apache-2.0
 *
 * Questions about dynamic sizes: proved, answered by an earlier guard, or made a guard that the generated entry checks.
 */
#include "internal.h"

/* e with every dim that an equality guard fixes replaced. */
static const tc_expr *apply(const tc_captured *f, const tc_expr *e)
{
    for (const tc_guard *guard = f->guards; guard; guard = guard->next)
        if (guard->by)
            e = tc_expr_substitute(e, guard->solved, guard->by);
    return e;
}

static bool follows_equal(const tc_captured *f, const tc_expr *difference)
{
    if (!difference->count)
        return true;
    for (const tc_guard *guard = f->guards; guard; guard = guard->next) {
        if (!guard->is_equality || guard->by)
            continue;
        const tc_expr *known = apply(f, tc_expr_sub(guard->lhs, guard->rhs));
        if (known->count && tc_expr_exact_div(difference, known))
            return true;
    }
    return false;
}

bool tc_known_same(tc_graph *g, const tc_expr *a, const tc_expr *b)
{
    return a == b || follows_equal(g->current, apply(g->current, tc_expr_sub(a, b)));
}

/* The dim that the equation `difference == 0` fixes: one that occurs once, alone, with coefficient 1 or -1. */
static void solve(tc_guard *guard, const tc_expr *difference)
{
    for (int i = 0; i < difference->count; ++i) {
        const tc_term *t = &difference->terms[i];
        if (t->degree != 1 || !t->atoms[0]->sym || (t->coefficient != 1 && t->coefficient != -1))
            continue;
        const tc_expr *rest = tc_expr_sub(difference, tc_expr_of_term(difference->dims, t));
        if (tc_expr_uses(rest, t->atoms[0]->sym))
            continue;
        guard->solved = t->atoms[0]->sym;
        guard->by = tc_expr_mul_int(rest, -t->coefficient);
        return;
    }
}

void tc_guard_add(tc_graph *g, tc_captured *f, const tc_expr *lhs, bool is_equality, const tc_expr *rhs, tc_site site)
{
    for (const tc_guard *guard = f->guards; guard; guard = guard->next)
        if (guard->is_equality == is_equality && guard->lhs == lhs && guard->rhs == rhs)
            return;
    tc_guard *guard = tc_arena_alloc(&g->arena, sizeof *guard);
    *guard = (tc_guard){.lhs = lhs, .rhs = rhs, .is_equality = is_equality, .site = site};
    if (is_equality)
        solve(guard, apply(f, tc_expr_sub(lhs, rhs)));
    *f->guards_end = guard;
    f->guards_end = &guard->next;
}

bool tc_same_dim(tc_graph *g, const tc_expr *a, const tc_expr *b)
{
    tc_captured *f = g->current;
    if (tc_known_same(g, a, b))
        return true;
    if (tc_expr_is_const(a) || tc_expr_is_const(b) || tc_expr_never_equal(apply(f, a), apply(f, b)))
        return false;
    tc_guard_add(g, f, a, true, b, g->op_site);
    return true;
}

bool tc_at_least(tc_graph *g, const tc_expr *a, const tc_expr *b)
{
    tc_captured *f = g->current;
    const tc_expr *difference = apply(f, tc_expr_sub(a, b));
    if (tc_expr_nonnegative(difference) || follows_equal(f, difference))
        return true;
    for (const tc_guard *guard = f->guards; guard; guard = guard->next)
        if (!guard->is_equality &&
            tc_expr_nonnegative(tc_expr_sub(difference, apply(f, tc_expr_sub(guard->lhs, guard->rhs)))))
            return true;
    if (tc_expr_nonnegative(tc_expr_add_int(tc_expr_mul_int(difference, -1), -1)))
        return false;
    tc_guard_add(g, f, a, false, b, g->op_site);
    return true;
}
