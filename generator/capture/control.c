/* SPDX-License-Identifier: Apache-2.0
 *
 * TC_SCAN, TC_WHILE, TC_IF and TC_ELSE: opening them, and what stands within. A block is recorded as a graph function
 * while it is the function under capture. What it reads from around becomes a parameter of it (tc_lift), and an operand
 * of the node that holds it: for a loop a carry that every iteration hands on.
 */
#include <string.h>

#include "blocks.h"

const char *const tc_block_names[] = {"TC_SCAN", "TC_WHILE", "TC_IF", "TC_ELSE"};
static const char *const region_names[] = {"scan", "while", "cond", "cond"};

void tc_pairs_append(tc_graph *g, tc_pairs *to, tc_tensor outer, tc_tensor inner)
{
    tc_pair *p = tc_arena_alloc(&g->arena, sizeof *p);
    *p = (tc_pair){outer, inner, NULL};
    if (!to->end)
        to->end = &to->first;
    *to->end = p;
    to->end = &p->next;
    ++to->count;
}

tc_tensor tc_pairs_find(const tc_pairs *in, tc_tensor outer)
{
    for (const tc_pair *p = in->first; p; p = p->next)
        if (p->outer->node == outer->node && p->outer->index == outer->index)
            return p->inner;
    return NULL;
}

tc_tensor tc_block_parameter(tc_graph *g, tc_captured *f, const char *what, int number, const tc_type *type)
{
    return tc_captured_parameter(g, f, tc_arena_format(&g->arena, "%s%d", what, number), type);
}

bool tc_visible(const tc_captured *from, const tc_captured *function)
{
    while (from && from != function)
        from = from->block ? from->caller : NULL;
    return from;
}

tc_tensor tc_lift(tc_graph *g, tc_captured *f, tc_tensor x)
{
    if (x->function == f)
        return x;
    tc_tensor outer = tc_lift(g, f->caller, x);
    tc_pairs *captured = &f->block->captured;
    tc_tensor inner = tc_pairs_find(captured, outer);
    if (!inner) {
        inner = tc_block_parameter(g, f, "captured", captured->count, &outer->type);
        tc_pairs_append(g, captured, outer, inner);
    }
    return inner;
}

const char *tc_block_variable(tc_graph *g, const struct tc_block *b, int i)
{
    const char *p = b->names;
    int skipped = b->kind == TC_BLOCK_WHILE
                      ? i
                      : i + 1; /* the head's first word is the number of iterations or the condition */
    for (int depth = 0; *p && skipped; ++p) {
        depth += (*p == '(' || *p == '[' || *p == '{') - (*p == ')' || *p == ']' || *p == '}');
        skipped -= *p == ',' && depth == 0;
    }
    p += strspn(p, " &");
    return tc_arena_format(&g->arena, "%.*s", (int)strcspn(p, ", "), p);
}

void tc_copy_guards(tc_graph *g, const tc_captured *from, tc_captured *to)
{
    for (const tc_guard *guard = from->guards; guard; guard = guard->next)
        tc_guard_add(g, to, guard->lhs, guard->is_equality, guard->rhs, guard->site);
}

/* -- opening ------------------------------------------------------------------------------------------------------ */

/* The block's function, not yet under capture. Within a call of the block's name. */
static tc_captured *block_new(tc_graph *g, tc_block_kind kind, tc_site at, const char *names,
                              tc_tensor *const *variables)
{
    tc_captured *f = tc_captured_new(g, region_names[kind], false);
    struct tc_block *b = tc_arena_alloc(&g->arena, sizeof *b);
    *b = (struct tc_block){.kind = kind, .site = at, .scope = g->current->scope, .names = names};
    b->errors = g->error_count;
    b->collected_end = &b->collected;
    while (variables[b->count])
        ++b->count;
    tc_tensor **own = tc_arena_alloc(&g->arena, (size_t)(b->count + 1) * sizeof *own);
    b->variables = own;
    b->before = tc_arena_alloc(&g->arena, (size_t)(b->count + 1) * sizeof *b->before);
    b->inside = tc_arena_alloc(&g->arena, (size_t)(b->count + 1) * sizeof *b->inside);
    for (int i = 0; i < b->count; ++i) {
        own[i] = variables[i];
        b->before[i] = b->inside[i] = *variables[i];
    }
    f->block = b;
    f->base = g->current->base;
    f->scope = b->scope;
    f->caller = g->current;
    tc_copy_guards(g, g->current, f);
    for (int i = 0; i < b->count; ++i) {
        tc_tensor x = b->before[i];
        bool usable = x && tc_made(g, x) && (tc_is_poison(x) || tc_visible(g->current, x->function));
        if (!usable)
            tc_fail(g, "it starts from the variable's value before it", "%s has no value before the block",
                    tc_block_variable(g, b, i));
        for (int j = 0; j < i; ++j)
            if (variables[j] == variables[i])
                tc_fail(g, NULL, "%s is listed twice", tc_block_variable(g, b, i));
        if (!usable)
            b->before[i] = b->inside[i] = tc_poison();
    }
    return f;
}

static void block_open(tc_graph *g, tc_captured *f)
{
    for (int i = 0; i < f->block->count; ++i)
        *f->block->variables[i] = f->block->inside[i];
    tc_op_leave(g, NULL);
    g->current = f;
}

/* The variables become parameters: what the iteration before left. */
static void carry_all(tc_graph *g, tc_captured *f)
{
    struct tc_block *b = f->block;
    for (int i = 0; i < b->count; ++i)
        b->inside[i] = tc_is_poison(b->before[i]) ? b->before[i]
                                                  : tc_block_parameter(g, f, "carry", i, &b->before[i]->type);
}

static bool begin(tc_graph *g, tc_site at, tc_block_kind kind)
{
    if (!tc_op_enter_graph(g, at, tc_block_names[kind], region_names[kind]))
        return false;
    tc_check_else(g, g->current);
    return true;
}

void tc_scan_begin_at(tc_site at, tc_graph *g, tc_dim iterations, const char *names, tc_tensor *const *variables)
{
    if (!begin(g, at, TC_BLOCK_SCAN))
        return;
    tc_captured *f = block_new(g, TC_BLOCK_SCAN, at, names, variables);
    f->block->iterations = tc_dim_expr(g, iterations);
    if (tc_expr_is_const(f->block->iterations) && !tc_expr_nonnegative(f->block->iterations))
        tc_fail(g, NULL, "the number of iterations is negative: %s", tc_expr_text(f->block->iterations));
    carry_all(g, f);
    block_open(g, f);
}

void tc_while_begin_at(tc_site at, tc_graph *g, const char *names, tc_tensor *const *variables)
{
    if (!begin(g, at, TC_BLOCK_WHILE))
        return;
    tc_captured *f = block_new(g, TC_BLOCK_WHILE, at, names, variables);
    carry_all(g, f);
    block_open(g, f);
}

static bool is_condition(tc_tensor p)
{
    return p->type.dtype == TC_BOOL && p->type.rank == 0;
}

void tc_if_begin_at(tc_site at, tc_graph *g, tc_tensor p, const char *names, tc_tensor *const *variables)
{
    if (!begin(g, at, TC_BLOCK_THEN))
        return;
    tc_captured *f = block_new(g, TC_BLOCK_THEN, at, names, variables);
    f->block->test = tc_poison();
    if (tc_op_enter(at, "TC_IF", NULL, "condition", 1, &p)) {
        if (is_condition(p))
            f->block->test = p;
        else
            tc_fail(g, "tc_any, tc_all and comparisons of numbers make one", "the condition is %s, not bool[]",
                    tc_type_text(g, &p->type));
        tc_op_leave(g, NULL);
    }
    block_open(g, f);
}

void tc_else_begin_at(tc_site at, tc_graph *g)
{
    if (!tc_op_enter_graph(g, at, "TC_ELSE", NULL))
        return;
    tc_captured *then = g->current->open_if;
    static tc_tensor *const none[1];
    g->current->open_if = NULL;
    if (!then)
        tc_fail(g, NULL, "there is no TC_IF right before it");
    else
        g->current->scope = then->block->scope;
    tc_captured *f = block_new(g, TC_BLOCK_ELSE, at, then ? then->block->names : "",
                               then ? then->block->variables : none);
    f->block->then = then;
    for (int i = 0; i < f->block->count; ++i)
        f->block->before[i] = f->block->inside[i] = then->block->before[i];
    block_open(g, f);
}

void tc_check_else(tc_graph *g, tc_captured *f)
{
    if (f->open_if)
        tc_error(g, f->open_if->block->site, "TC_ELSE(g) { } leaves the variables as they were",
                 "TC_IF: there is no TC_ELSE behind it");
    f->open_if = NULL;
}

/* -- within ------------------------------------------------------------------------------------------------------- */

/* The innermost block where it is of this kind; reports else. */
static struct tc_block *directly_in(tc_graph *g, tc_block_kind kind)
{
    struct tc_block *b = g->current->block;
    if (b && b->kind == kind)
        return b;
    tc_fail(g, "not in a block within it, and not outside", "goes directly into %s { … }", tc_block_names[kind]);
    return NULL;
}

tc_tensor tc_each_at(tc_site at, tc_tensor x)
{
    tc_graph *g = tc_op_enter(at, "tc_each", NULL, "x", 1, &x);
    if (!g)
        return tc_poison();
    tc_captured *f = g->current;
    struct tc_block *b = directly_in(g, TC_BLOCK_SCAN);
    tc_tensor slice = tc_poison();
    const bool known = b && x->type.rank && tc_known_same(g, x->type.shape[0], b->iterations);
    if (!b) {
        /* reported */
    } else if (x->function == f) {
        tc_fail(g, NULL, "%s is made within the block", tc_type_text(g, &x->type));
    } else if (x->type.rank == 0 || !tc_same_dim(g, x->type.shape[0], b->iterations)) {
        tc_fail(g, NULL, "axis 0 of %s is not the number of iterations, %s", tc_type_text(g, &x->type),
                tc_expr_text(b->iterations));
    } else {
        tc_type type = {.dtype = x->type.dtype, .rank = x->type.rank - 1};
        if (!known)
            tc_notify(g, "%s and %s must be equal from here on: axis 0 of %s, and the number of iterations",
                      tc_expr_text(x->type.shape[0]), tc_expr_text(b->iterations), tc_type_text(g, &x->type));
        for (int i = 0; i < type.rank; ++i)
            type.shape[i] = x->type.shape[i + 1];
        tc_tensor outer = tc_lift(g, f->caller, x);
        slice = tc_pairs_find(&b->slices, outer);
        if (!slice) {
            slice = tc_block_parameter(g, f, "slice", b->slices.count, &type);
            tc_pairs_append(g, &b->slices, outer, slice);
        }
    }
    return tc_op_leave(g, slice);
}

void tc_collect_at(tc_site at, tc_tensor x, tc_tensor *all)
{
    tc_graph *g = tc_op_enter(at, "tc_collect", NULL, "x", 1, &x);
    if (!g) {
        if (all)
            *all = tc_poison();
        return;
    }
    struct tc_block *b = directly_in(g, TC_BLOCK_SCAN);
    if (!all) {
        tc_fail(g, NULL, "argument 'all' is NULL");
    } else if (b && x->type.rank == TC_MAX_RANK) {
        tc_fail(g, NULL, "%s has no room for one more axis", tc_type_text(g, &x->type));
    } else if (b) {
        tc_collected *c = tc_arena_alloc(&g->arena, sizeof *c);
        *c = (tc_collected){tc_lift(g, g->current, x), all, NULL};
        *b->collected_end = c;
        b->collected_end = &c->next;
    }
    tc_op_leave(g, NULL);
}

void tc_test_at(tc_site at, tc_tensor p)
{
    tc_graph *g = tc_op_enter(at, "tc_test", NULL, "p", 1, &p);
    if (!g) {
        g = tc_current_graph();
        if (g->current && g->current->block && g->current->block->kind == TC_BLOCK_WHILE && !g->current->block->test)
            g->current->block->test = tc_poison();
        return;
    }
    struct tc_block *b = directly_in(g, TC_BLOCK_WHILE);
    if (b && b->test)
        tc_fail(g, "tc_logical_and joins two", "a second tc_test in one TC_WHILE");
    else if (b && !is_condition(p))
        tc_fail(g, "tc_any, tc_all and comparisons of numbers make one", "the test is %s, not bool[]",
                tc_type_text(g, &p->type));
    else if (b)
        b->test = tc_lift(g, g->current, p);
    tc_op_leave(g, NULL);
}
