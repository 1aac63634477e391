/* SPDX-License-Identifier: Apache-2.0
 *
 * Closing TC_SCAN, TC_WHILE, TC_IF and TC_ELSE: the recorded function becomes part of a node of the function around.
 */
#include "blocks.h"

static void result(tc_graph *g, tc_captured *f, const char *what, int number, tc_tensor x)
{
    tc_named *r = tc_arena_alloc(&g->arena, sizeof *r);
    *r = (tc_named){tc_arena_format(&g->arena, "%s%d", what, number), x, f->block->site, NULL};
    *f->results_end = r;
    f->results_end = &r->next;
}

/* Takes all parameters out of f; put_parameters puts some back in order. */
static void clear_parameters(tc_captured *f)
{
    f->parameters = NULL;
    f->parameters_end = &f->parameters;
}

static void put_parameter(tc_captured *f, tc_tensor x)
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
static bool read_variables(tc_graph *g, tc_captured *f, tc_tensor *made)
{
    struct tc_block *b = f->block;
    bool good = true;
    for (int i = 0; i < b->count; ++i) {
        tc_tensor x = *b->variables[i];
        const bool is_tensor = x && tc_made(g, x);
        if (is_tensor && !tc_is_poison(x) && tc_visible(f, x->function)) {
            made[i] = tc_lift(g, f, x);
            continue;
        }
        if (!is_tensor || !tc_is_poison(x))
            tc_error(g, b->site, NULL, "%s: %s has no value at the end of the block", tc_block_names[b->kind],
                     tc_block_variable(g, b, i));
        good = false;
    }
    return good;
}

static bool check_carries(tc_graph *g, tc_captured *f, tc_tensor *made)
{
    struct tc_block *b = f->block;
    bool good = true;
    for (int i = 0; i < b->count; ++i) {
        const tc_type *was = &b->inside[i]->type, *is = &made[i]->type;
        if (tc_is_poison(b->inside[i]) || same_type(g, was, is))
            continue;
        tc_error(g, b->site, "what an iteration starts from and what it leaves are of one type",
                 "%s: %s is %s before an iteration and %s behind it", tc_block_names[b->kind],
                 tc_block_variable(g, b, i), tc_type_text(g, was), tc_type_text(g, is));
        good = false;
    }
    return good;
}

static tc_node *hold(tc_graph *g, struct tc_block *b, tc_op op, int count, const tc_tensor *operands,
                     const tc_attr *attrs, int results, const tc_type *types)
{
    tc_op_enter_graph(g, b->site, tc_block_names[b->kind], NULL);
    g->current->scope = b->scope;
    tc_node *node = tc_append_node(g, op, count, operands, attrs, results, types);
    tc_op_leave(g, NULL);
    return node;
}

/* The nodes of f that its test needs, as a function of the same parameters. */
static tc_captured *test_function(tc_graph *g, tc_captured *f, tc_tensor test)
{
    tc_captured *t = tc_captured_new(g, "while_test", false);
    t->block = f->block;
    t->base = f->base;
    tc_copy_guards(g, f, t);
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
        copies[n->number] = tc_captured_parameter(g, t, n->attrs[0].text, &n->results[0].type)->node;
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
            copy->results[i].self = &copy->results[i];
            copy->results[i].function = t;
            copy->results[i].node = copy;
        }
        *t->nodes_end = copy;
        t->nodes_end = &copy->next;
    }
    result(g, t, "test", 0, &copies[test->node->number]->results[test->index]);
    return tc_captured_settle(g, t);
}

/* Operands and parameters: the variables, what is captured, what is walked. Results: the variables, what is captured as
 * it is, what is collected. */
static void close_loop(tc_graph *g, tc_captured *f, tc_tensor *made)
{
    struct tc_block *b = f->block;
    int carries = b->count + b->captured.count, walked = b->slices.count, n = 0, results = carries;
    for (const tc_collected *c = b->collected; c; c = c->next)
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
    for (const tc_pair *p = b->captured.first; p; p = p->next) {
        put_parameter(f, p->inner);
        result(g, f, "captured", number++, p->inner);
        types[n] = p->inner->type;
        operands[n++] = p->outer;
    }
    int k = n;
    for (const tc_pair *p = b->slices.first; p; p = p->next) {
        put_parameter(f, p->inner);
        operands[k++] = p->outer;
    }
    number = 0;
    for (const tc_collected *c = b->collected; c; c = c->next) {
        result(g, f, "collected", number++, c->x);
        tc_type type = {.dtype = c->x->type.dtype, .rank = c->x->type.rank + 1};
        type.shape[0] = b->iterations;
        for (int i = 1; i < type.rank; ++i)
            type.shape[i] = c->x->type.shape[i - 1];
        types[n++] = type;
    }
    tc_node *node;
    if (b->kind == TC_BLOCK_WHILE) {
        tc_attr attrs[] = {tc_attr_graph(test_function(g, f, b->test)), tc_attr_graph(tc_captured_settle(g, f))};
        node = hold(g, b, TC_OP_while, k, operands, attrs, results, types);
    } else {
        tc_attr attrs[] = {tc_attr_graph(tc_captured_settle(g, f)), tc_attr_dims(g, 1, &b->iterations),
                           tc_attr_int(carries)};
        node = hold(g, b, TC_OP_scan, k, operands, attrs, results, types);
    }
    for (int i = 0; i < b->count; ++i)
        *b->variables[i] = &node->results[i];
    n = carries;
    for (const tc_collected *c = b->collected; c; c = c->next)
        *c->all = &node->results[n++];
}

/* The parameters of a side: everything that either of them captures. */
static void put_captured(tc_graph *g, tc_captured *f, const tc_pairs *all)
{
    tc_pairs own = f->block->captured;
    int number = own.count;
    clear_parameters(f);
    for (const tc_pair *p = all->first; p; p = p->next) {
        tc_tensor inner = tc_pairs_find(&own, p->outer);
        if (inner)
            put_parameter(f, inner);
        else
            tc_block_parameter(g, f, "captured", number++, &p->outer->type);
    }
}

static void close_if(tc_graph *g, tc_captured *other, tc_tensor *made)
{
    struct tc_block *b = other->block;
    tc_captured *then = b->then;
    tc_pairs all = {0};
    for (const tc_pair *p = then->block->captured.first; p; p = p->next)
        tc_pairs_append(g, &all, p->outer, p->outer);
    for (const tc_pair *p = b->captured.first; p; p = p->next)
        if (!tc_pairs_find(&all, p->outer))
            tc_pairs_append(g, &all, p->outer, p->outer);
    put_captured(g, then, &all);
    put_captured(g, other, &all);
    tc_tensor *operands = tc_arena_alloc(&g->arena, (size_t)(all.count + 1) * sizeof *operands);
    tc_type *types = tc_arena_alloc(&g->arena, (size_t)(b->count + 1) * sizeof *types);
    int n = 0;
    operands[n++] = then->block->test;
    for (const tc_pair *p = all.first; p; p = p->next)
        operands[n++] = p->outer;
    for (int i = 0; i < b->count; ++i) {
        result(g, then, "result", i, then->block->made[i]);
        result(g, other, "result", i, made[i]);
        types[i] = made[i]->type;
    }
    tc_attr attrs[] = {tc_attr_graph(tc_captured_settle(g, then)), tc_attr_graph(tc_captured_settle(g, other))};
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
                 tc_block_variable(g, b->then->block, i), tc_type_text(g, x), tc_type_text(g, y));
        good = false;
    }
    return good;
}

void tc_block_end(tc_graph *g)
{
    tc_captured *f = g->current;
    struct tc_block *b = f ? f->block : NULL;
    if (!b)
        return; /* it could not be opened, which was reported */
    tc_check_else(g, f);
    tc_tensor *made = tc_arena_alloc(&g->arena, (size_t)(b->count + 1) * sizeof *made);
    if (f->scope != b->scope && !b->left)
        tc_error(g, b->site, "close each tc_scope_push and tc_region_push, or use the blocks TC_SCOPE and TC_REGION",
                 "a scope is still open at the end of %s", tc_block_names[b->kind]);
    bool good = !b->left && read_variables(g, f, made) && (b->kind > TC_BLOCK_WHILE || check_carries(g, f, made));
    if (b->kind == TC_BLOCK_WHILE && !b->test && g->error_count == b->errors)
        tc_error(g, b->site, "tc_test(p): iterates for as long as p is true", "TC_WHILE: there is no tc_test in it");
    good = good && g->error_count == b->errors && !(b->test && tc_is_poison(b->test));
    g->current = f->caller;
    tc_copy_guards(g, f, g->current);
    if (b->kind == TC_BLOCK_THEN) {
        b->made = good ? made : NULL;
        g->current->open_if = f;
        for (int i = 0; i < b->count; ++i)
            *b->variables[i] = b->before[i];
        return;
    }
    if (b->kind == TC_BLOCK_ELSE)
        good = good && b->then && b->then->block->made && check_sides(g, b, made);
    for (int i = 0; i < b->count && good; ++i)
        good = !tc_is_poison(b->before[i]);
    if (good) {
        if (b->kind == TC_BLOCK_ELSE)
            close_if(g, f, made);
        else
            close_loop(g, f, made);
        return;
    }
    for (int i = 0; i < b->count; ++i)
        *b->variables[i] = tc_poison();
    for (const tc_collected *c = b->collected; c; c = c->next)
        *c->all = tc_poison();
}

void tc_block_left_(const int *open)
{
    tc_graph *g = *open ? tc_current_graph() : NULL;
    struct tc_block *b = g && g->current ? g->current->block : NULL;
    if (!b)
        return;
    tc_error(g, b->site, "tc_where and TC_IF choose; tc_test ends a TC_WHILE",
             "%s: it is left by break, return or goto", tc_block_names[b->kind]);
    b->left = true;
    tc_block_end(g);
}
