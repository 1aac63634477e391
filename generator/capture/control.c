/* SPDX-License-Identifier: Apache-2.0
 *
 * TC_SCAN, TC_WHILE, TC_IF and TC_ELSE. A block is recorded as a graph function while it is the function under capture.
 * What it reads from around becomes a parameter of it (tc_lift), and an operand of the node that holds it: for a loop a
 * carry that every turn hands on.
 */
#include <string.h>

#include "internal.h"

typedef enum { SCAN, WHILE, THEN, ELSE } block_kind;

static const char *const kind_names[] = {"TC_SCAN", "TC_WHILE", "TC_IF", "TC_ELSE"};
static const char *const region_names[] = {"scan", "while", "cond", "cond"};

/* A tensor of the function around, and what stands for it in the block. */
typedef struct pair {
    tc_tensor outer, inner;
    struct pair *next;
} pair;

typedef struct list {
    pair *first, **end;
    int count;
} list;

typedef struct collected {
    tc_tensor x, *all;
    struct collected *next;
} collected;

struct tc_block {
    block_kind kind;
    tc_site site;
    tc_region *scope;
    const char *names;             /* of the variables as written: "&h, &c", behind the head's first word */
    tc_tensor *const *variables;   /* ending with NULL */
    int count;
    tc_tensor *before, *inside;    /* the variables' values before the block, and what they are within */
    list captured, slices;
    collected *collected, **collected_end;
    const tc_expr *turns;
    tc_tensor test;                /* of a while: of the block; of a condition: of the function around */
    tc_function *then;             /* of TC_ELSE */
    tc_tensor *made;               /* of TC_IF, closed: what the variables became */
    int errors;                    /* reported before it */
};

static void append(tc_graph *g, list *to, tc_tensor outer, tc_tensor inner)
{
    pair *p = tc_arena_alloc(&g->arena, sizeof *p);
    *p = (pair){outer, inner, NULL};
    if (!to->end)
        to->end = &to->first;
    *to->end = p;
    to->end = &p->next;
    ++to->count;
}

static tc_tensor find(const list *in, tc_tensor outer)
{
    for (const pair *p = in->first; p; p = p->next)
        if (p->outer->node == outer->node && p->outer->index == outer->index)
            return p->inner;
    return NULL;
}

static tc_tensor parameter(tc_graph *g, tc_function *f, const char *what, int number, const tc_type *type)
{
    return tc_function_parameter(g, f, tc_arena_format(&g->arena, "%s%d", what, number), type);
}

bool tc_visible(const tc_function *from, const tc_function *function)
{
    while (from && from != function)
        from = from->block ? from->caller : NULL;
    return from;
}

tc_tensor tc_lift(tc_graph *g, tc_function *f, tc_tensor x)
{
    if (x->function == f)
        return x;
    tc_tensor outer = tc_lift(g, f->caller, x);
    list *captured = &f->block->captured;
    tc_tensor inner = find(captured, outer);
    if (!inner) {
        inner = parameter(g, f, "captured", captured->count, &outer->type);
        append(g, captured, outer, inner);
    }
    return inner;
}

/* The name of variable i as the user wrote it. */
static const char *variable_name(tc_graph *g, const struct tc_block *b, int i)
{
    const char *p = b->names;
    int skipped = b->kind == WHILE ? i : i + 1; /* the head's first word is the number of turns or the condition */
    for (int depth = 0; *p && skipped; ++p) {
        depth += (*p == '(' || *p == '[' || *p == '{') - (*p == ')' || *p == ']' || *p == '}');
        skipped -= *p == ',' && depth == 0;
    }
    p += strspn(p, " &");
    return tc_arena_format(&g->arena, "%.*s", (int)strcspn(p, ", "), p);
}

/* -- opening ------------------------------------------------------------------------------------------------------ */

static void copy_guards(tc_graph *g, const tc_function *from, tc_function *to)
{
    for (const tc_guard *guard = from->guards; guard; guard = guard->next)
        tc_guard_add(g, to, guard->lhs, guard->is_equality, guard->rhs, guard->site);
}

/* The block's function, not yet under capture. Within a call of the block's name. */
static tc_function *block_new(tc_graph *g, block_kind kind, tc_site at, const char *names, tc_tensor *const *variables)
{
    tc_function *f = tc_function_new(g, region_names[kind], false);
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
    copy_guards(g, g->current, f);
    for (int i = 0; i < b->count; ++i) {
        tc_tensor x = b->before[i];
        bool usable = x && (tc_is_poison(x) || tc_visible(g->current, x->function));
        if (!usable)
            tc_fail(g, "it starts from the variable's value before it", "%s has no value before the block",
                    variable_name(g, b, i));
        for (int j = 0; j < i; ++j)
            if (variables[j] == variables[i])
                tc_fail(g, NULL, "%s is listed twice", variable_name(g, b, i));
        if (!usable)
            b->before[i] = b->inside[i] = tc_poison();
    }
    return f;
}

static void block_open(tc_graph *g, tc_function *f)
{
    for (int i = 0; i < f->block->count; ++i)
        *f->block->variables[i] = f->block->inside[i];
    tc_op_leave(g, NULL);
    g->current = f;
}

/* The variables become parameters: what the turn before left. */
static void carry_all(tc_graph *g, tc_function *f)
{
    struct tc_block *b = f->block;
    for (int i = 0; i < b->count; ++i)
        b->inside[i] = tc_is_poison(b->before[i]) ? b->before[i] : parameter(g, f, "carry", i, &b->before[i]->type);
}

static bool begin(tc_graph *g, tc_site at, block_kind kind)
{
    if (!tc_op_enter_graph(g, at, kind_names[kind], region_names[kind]))
        return false;
    tc_check_else(g, g->current);
    return true;
}

void tc_scan_begin_at(tc_site at, tc_graph *g, tc_dim turns, const char *names, tc_tensor *const *variables)
{
    if (!begin(g, at, SCAN))
        return;
    tc_function *f = block_new(g, SCAN, at, names, variables);
    f->block->turns = tc_dim_expr(g, turns);
    if (tc_expr_is_const(f->block->turns) && !tc_expr_nonnegative(f->block->turns))
        tc_fail(g, NULL, "the number of turns is negative: %s", tc_expr_text(f->block->turns));
    carry_all(g, f);
    block_open(g, f);
}

void tc_while_begin_at(tc_site at, tc_graph *g, const char *names, tc_tensor *const *variables)
{
    if (!begin(g, at, WHILE))
        return;
    tc_function *f = block_new(g, WHILE, at, names, variables);
    carry_all(g, f);
    block_open(g, f);
}

static bool is_condition(tc_tensor p)
{
    return p->type.dtype == TC_BOOL && p->type.rank == 0;
}

void tc_if_begin_at(tc_site at, tc_graph *g, tc_tensor p, const char *names, tc_tensor *const *variables)
{
    if (!begin(g, at, THEN))
        return;
    tc_function *f = block_new(g, THEN, at, names, variables);
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
    tc_function *then = g->current->open_if;
    static tc_tensor *const none[1];
    g->current->open_if = NULL;
    if (!then)
        tc_fail(g, NULL, "there is no TC_IF right before it");
    else
        g->current->scope = then->block->scope;
    tc_function *f = block_new(g, ELSE, at, then ? then->block->names : "", then ? then->block->variables : none);
    f->block->then = then;
    for (int i = 0; i < f->block->count; ++i)
        f->block->before[i] = f->block->inside[i] = then->block->before[i];
    block_open(g, f);
}

void tc_check_else(tc_graph *g, tc_function *f)
{
    if (f->open_if)
        tc_error(g, f->open_if->block->site, "TC_ELSE(g) { } leaves the variables as they were",
                 "TC_IF: there is no TC_ELSE behind it");
    f->open_if = NULL;
}

/* -- within ------------------------------------------------------------------------------------------------------- */

/* The innermost block where it is of this kind; reports else. */
static struct tc_block *directly_in(tc_graph *g, block_kind kind)
{
    struct tc_block *b = g->current->block;
    if (b && b->kind == kind)
        return b;
    tc_fail(g, NULL, "it stands directly within %s", kind_names[kind]);
    return NULL;
}

tc_tensor tc_each_at(tc_site at, tc_tensor x)
{
    tc_graph *g = tc_op_enter(at, "tc_each", NULL, "x", 1, &x);
    if (!g)
        return tc_poison();
    tc_function *f = g->current;
    struct tc_block *b = directly_in(g, SCAN);
    tc_tensor slice = tc_poison();
    if (!b) {
        /* reported */
    } else if (x->function == f) {
        tc_fail(g, NULL, "%s is made within the block", tc_type_text(g, &x->type));
    } else if (x->type.rank == 0 || !tc_same_dim(g, x->type.shape[0], b->turns)) {
        tc_fail(g, NULL, "axis 0 of %s is not the number of turns, %s", tc_type_text(g, &x->type),
                tc_expr_text(b->turns));
    } else {
        tc_type type = {.dtype = x->type.dtype, .rank = x->type.rank - 1};
        for (int i = 0; i < type.rank; ++i)
            type.shape[i] = x->type.shape[i + 1];
        tc_tensor outer = tc_lift(g, f->caller, x);
        slice = find(&b->slices, outer);
        if (!slice) {
            slice = parameter(g, f, "slice", b->slices.count, &type);
            append(g, &b->slices, outer, slice);
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
    struct tc_block *b = directly_in(g, SCAN);
    if (!all) {
        tc_fail(g, NULL, "argument 'all' is NULL");
    } else if (b && x->type.rank == TC_MAX_RANK) {
        tc_fail(g, NULL, "%s has no room for one more axis", tc_type_text(g, &x->type));
    } else if (b) {
        collected *c = tc_arena_alloc(&g->arena, sizeof *c);
        *c = (collected){tc_lift(g, g->current, x), all, NULL};
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
        if (g->current && g->current->block && g->current->block->kind == WHILE && !g->current->block->test)
            g->current->block->test = tc_poison();
        return;
    }
    struct tc_block *b = directly_in(g, WHILE);
    if (b && b->test)
        tc_fail(g, "tc_logical_and joins two", "a second tc_test in one TC_WHILE");
    else if (b && !is_condition(p))
        tc_fail(g, "tc_any, tc_all and comparisons of numbers make one", "the test is %s, not bool[]",
                tc_type_text(g, &p->type));
    else if (b)
        b->test = tc_lift(g, g->current, p);
    tc_op_leave(g, NULL);
}

/* -- closing ------------------------------------------------------------------------------------------------------ */

static void result(tc_graph *g, tc_function *f, const char *what, int number, tc_tensor x)
{
    tc_named *r = tc_arena_alloc(&g->arena, sizeof *r);
    *r = (tc_named){tc_arena_format(&g->arena, "%s%d", what, number), x, f->block->site, NULL};
    *f->results_end = r;
    f->results_end = &r->next;
}

/* Takes all parameters out of f; put_parameters puts some back in order. */
static void clear_parameters(tc_function *f)
{
    f->parameters = NULL;
    f->parameters_end = &f->parameters;
}

static void put_parameter(tc_function *f, tc_tensor x)
{
    x->node->next = NULL;
    *f->parameters_end = x->node;
    f->parameters_end = &x->node->next;
}

static bool same_type(tc_graph *g, const tc_type *a, const tc_type *b)
{
    bool same = a->dtype == b->dtype && a->rank == b->rank;
    for (int i = 0; same && i < a->rank; ++i)
        same = tc_known_same(g, a->shape[i], b->shape[i]);
    return same;
}

/* What the variables are at the block's end, as tensors of f; false where one cannot be used (reported). */
static bool read_variables(tc_graph *g, tc_function *f, tc_tensor *made)
{
    struct tc_block *b = f->block;
    bool good = true;
    for (int i = 0; i < b->count; ++i) {
        tc_tensor x = *b->variables[i];
        if (x && !tc_is_poison(x) && tc_visible(f, x->function)) {
            made[i] = tc_lift(g, f, x);
            continue;
        }
        if (!x || !tc_is_poison(x))
            tc_error(g, b->site, NULL, "%s: %s has no value at the end of the block", kind_names[b->kind],
                     variable_name(g, b, i));
        good = false;
    }
    return good;
}

static bool check_carries(tc_graph *g, tc_function *f, tc_tensor *made)
{
    struct tc_block *b = f->block;
    bool good = true;
    for (int i = 0; i < b->count; ++i) {
        const tc_type *was = &b->inside[i]->type, *is = &made[i]->type;
        if (tc_is_poison(b->inside[i]) || same_type(g, was, is))
            continue;
        tc_error(g, b->site, "what a turn starts from and what it leaves are of one type",
                 "%s: %s is %s before a turn and %s behind it", kind_names[b->kind], variable_name(g, b, i),
                 tc_type_text(g, was), tc_type_text(g, is));
        good = false;
    }
    return good;
}

static tc_node *hold(tc_graph *g, struct tc_block *b, tc_op op, int count, const tc_tensor *operands,
                     const tc_attr *attrs, int results, const tc_type *types)
{
    tc_op_enter_graph(g, b->site, kind_names[b->kind], NULL);
    g->current->scope = b->scope;
    tc_node *node = tc_append_node(g, op, count, operands, attrs, results, types);
    tc_op_leave(g, NULL);
    return node;
}

/* The nodes of f that its test needs, as a function of the same parameters. */
static tc_function *test_function(tc_graph *g, tc_function *f, tc_tensor test)
{
    tc_function *t = tc_function_new(g, "while_test", false);
    t->block = f->block;
    t->base = f->base;
    copy_guards(g, f, t);
    int count = 0;
    for (tc_node *n = f->parameters; n; n = n->next)
        n->number = count++;
    for (tc_node *n = f->nodes; n; n = n->next)
        n->number = count++;
    bool *needed = tc_arena_alloc(&g->arena, (size_t)(count + 1) * sizeof *needed);
    tc_node **all = tc_arena_alloc(&g->arena, (size_t)(count + 1) * sizeof *all);
    tc_node **copies = tc_arena_alloc(&g->arena, (size_t)(count + 1) * sizeof *copies);
    for (tc_node *n = f->nodes; n; n = n->next)
        all[n->number] = n;
    needed[test->node->number] = true;
    for (int i = count - 1; i >= 0; --i)
        for (int j = 0; needed[i] && all[i] && j < all[i]->operand_count; ++j)
            needed[all[i]->operands[j]->node->number] = true;
    for (tc_node *n = f->parameters; n; n = n->next)
        copies[n->number] = tc_function_parameter(g, t, n->attrs[0].text, &n->results[0].type)->node;
    for (tc_node *n = f->nodes; n; n = n->next) {
        if (!needed[n->number])
            continue;
        tc_node *copy = copies[n->number] = tc_arena_alloc(&g->arena, sizeof *copy);
        *copy = *n;
        copy->next = NULL;
        copy->operands = tc_arena_alloc(&g->arena, (size_t)(n->operand_count + 1) * sizeof *copy->operands);
        for (int i = 0; i < n->operand_count; ++i)
            copy->operands[i] = &copies[n->operands[i]->node->number]->results[n->operands[i]->index];
        copy->results = tc_arena_alloc(&g->arena, (size_t)(n->result_count + 1) * sizeof *copy->results);
        for (int i = 0; i < n->result_count; ++i) {
            copy->results[i] = n->results[i];
            copy->results[i].function = t;
            copy->results[i].node = copy;
        }
        *t->nodes_end = copy;
        t->nodes_end = &copy->next;
    }
    result(g, t, "test", 0, &copies[test->node->number]->results[test->index]);
    return tc_function_settle(g, t);
}

/* Operands and parameters: the variables, what is captured, what is walked. Results: the variables, what is captured as
 * it is, what is collected. */
static void close_loop(tc_graph *g, tc_function *f, tc_tensor *made)
{
    struct tc_block *b = f->block;
    int carries = b->count + b->captured.count, walked = b->slices.count, n = 0, results = carries;
    for (const collected *c = b->collected; c; c = c->next)
        ++results;
    tc_tensor *operands = tc_arena_alloc(&g->arena, (size_t)(carries + walked + 1) * sizeof *operands);
    tc_type *types = tc_arena_alloc(&g->arena, (size_t)(results + 1) * sizeof *types);
    clear_parameters(f);
    for (int i = 0; i < b->count; ++i) {
        put_parameter(f, b->inside[i]);
        result(g, f, "carry", i, made[i]);
        types[n] = b->inside[i]->type;
        operands[n++] = b->before[i];
    }
    int number = 0;
    for (const pair *p = b->captured.first; p; p = p->next) {
        put_parameter(f, p->inner);
        result(g, f, "captured", number++, p->inner);
        types[n] = p->inner->type;
        operands[n++] = p->outer;
    }
    int k = n;
    for (const pair *p = b->slices.first; p; p = p->next) {
        put_parameter(f, p->inner);
        operands[k++] = p->outer;
    }
    number = 0;
    for (const collected *c = b->collected; c; c = c->next) {
        result(g, f, "collected", number++, c->x);
        tc_type type = {.dtype = c->x->type.dtype, .rank = c->x->type.rank + 1};
        type.shape[0] = b->turns;
        for (int i = 1; i < type.rank; ++i)
            type.shape[i] = c->x->type.shape[i - 1];
        types[n++] = type;
    }
    tc_node *node;
    if (b->kind == WHILE) {
        tc_attr attrs[] = {tc_attr_graph(test_function(g, f, b->test)), tc_attr_graph(tc_function_settle(g, f))};
        node = hold(g, b, TC_OP_while, k, operands, attrs, results, types);
    } else {
        tc_attr attrs[] = {tc_attr_graph(tc_function_settle(g, f)), tc_attr_dims(g, 1, &b->turns),
                           tc_attr_int(carries)};
        node = hold(g, b, TC_OP_scan, k, operands, attrs, results, types);
    }
    for (int i = 0; i < b->count; ++i)
        *b->variables[i] = &node->results[i];
    n = carries;
    for (const collected *c = b->collected; c; c = c->next)
        *c->all = &node->results[n++];
}

/* The parameters of a side: everything that either of them captures. */
static void put_captured(tc_graph *g, tc_function *f, const list *all)
{
    list own = f->block->captured;
    int number = own.count;
    clear_parameters(f);
    for (const pair *p = all->first; p; p = p->next) {
        tc_tensor inner = find(&own, p->outer);
        if (inner)
            put_parameter(f, inner);
        else
            parameter(g, f, "captured", number++, &p->outer->type);
    }
}

static void close_if(tc_graph *g, tc_function *other, tc_tensor *made)
{
    struct tc_block *b = other->block;
    tc_function *then = b->then;
    list all = {0};
    for (const pair *p = then->block->captured.first; p; p = p->next)
        append(g, &all, p->outer, p->outer);
    for (const pair *p = b->captured.first; p; p = p->next)
        if (!find(&all, p->outer))
            append(g, &all, p->outer, p->outer);
    put_captured(g, then, &all);
    put_captured(g, other, &all);
    tc_tensor *operands = tc_arena_alloc(&g->arena, (size_t)(all.count + 1) * sizeof *operands);
    tc_type *types = tc_arena_alloc(&g->arena, (size_t)(b->count + 1) * sizeof *types);
    int n = 0;
    operands[n++] = then->block->test;
    for (const pair *p = all.first; p; p = p->next)
        operands[n++] = p->outer;
    for (int i = 0; i < b->count; ++i) {
        result(g, then, "result", i, then->block->made[i]);
        result(g, other, "result", i, made[i]);
        types[i] = made[i]->type;
    }
    tc_attr attrs[] = {tc_attr_graph(tc_function_settle(g, then)), tc_attr_graph(tc_function_settle(g, other))};
    tc_node *node = hold(g, b, TC_OP_cond, n, operands, attrs, b->count, types);
    for (int i = 0; i < b->count; ++i)
        *b->variables[i] = &node->results[i];
}

static bool check_sides(tc_graph *g, const struct tc_block *b, tc_tensor *made)
{
    bool good = true;
    for (int i = 0; i < b->count; ++i) {
        const tc_type *x = &b->then->block->made[i]->type, *y = &made[i]->type;
        if (same_type(g, x, y))
            continue;
        tc_error(g, b->then->block->site, NULL, "TC_IF: %s is %s behind TC_IF and %s behind TC_ELSE",
                 variable_name(g, b->then->block, i), tc_type_text(g, x), tc_type_text(g, y));
        good = false;
    }
    return good;
}

void tc_block_end(tc_graph *g)
{
    tc_function *f = g->current;
    struct tc_block *b = f ? f->block : NULL;
    if (!b)
        return; /* it could not be opened, which was reported */
    tc_check_else(g, f);
    tc_tensor *made = tc_arena_alloc(&g->arena, (size_t)(b->count + 1) * sizeof *made);
    if (f->scope != b->scope)
        tc_error(g, b->site, "close each tc_scope_push and tc_region_push, or use the blocks TC_SCOPE and TC_REGION",
                 "a scope is still open at the end of %s", kind_names[b->kind]);
    bool good = read_variables(g, f, made) && (b->kind > WHILE || check_carries(g, f, made));
    if (b->kind == WHILE && !b->test && g->error_count == b->errors)
        tc_error(g, b->site, "tc_test(p): turns for as long as p is true", "TC_WHILE: there is no tc_test in it");
    good = good && g->error_count == b->errors && !(b->test && tc_is_poison(b->test));
    g->current = f->caller;
    copy_guards(g, f, g->current);
    if (b->kind == THEN) {
        b->made = good ? made : NULL;
        g->current->open_if = f;
        for (int i = 0; i < b->count; ++i)
            *b->variables[i] = b->before[i];
        return;
    }
    if (b->kind == ELSE)
        good = good && b->then && b->then->block->made && check_sides(g, b, made);
    for (int i = 0; i < b->count && good; ++i)
        good = !tc_is_poison(b->before[i]);
    if (good) {
        if (b->kind == ELSE)
            close_if(g, f, made);
        else
            close_loop(g, f, made);
        return;
    }
    for (int i = 0; i < b->count; ++i)
        *b->variables[i] = tc_poison();
    for (const collected *c = b->collected; c; c = c->next)
        *c->all = tc_poison();
}
