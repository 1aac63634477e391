/* SPDX-License-Identifier: Apache-2.0
 *
 * Graph functions. Each call captures the body anew, for its operands' types and its prefix, and keeps the result only
 * where no function like it exists: so a layer is one function however often it is called, and a body that depends on
 * its weights' shapes, or on anything else, is still right.
 */
#include <string.h>

#include "internal.h"

static bool same_text(const char *a, const char *b)
{
    return a == b || (a && b && !strcmp(a, b));
}

static bool same_type(const tc_type *a, const tc_type *b)
{
    bool same = a->dtype == b->dtype && a->rank == b->rank;
    for (int i = 0; same && i < a->rank; ++i)
        same = a->shape[i] == b->shape[i];
    return same;
}

static bool same_attr(const tc_attr *a, const tc_attr *b)
{
    if (a->kind != b->kind || a->count != b->count || a->integer != b->integer || a->bits != b->bits ||
        a->graph != b->graph || !same_text(a->text, b->text))
        return false;
    for (int i = 0; i < a->count; ++i)
        if (a->kind == TC_ATTR_DIMS ? a->dims[i] != b->dims[i] : a->ints[i] != b->ints[i])
            return false;
    return true;
}

/* Nodes are numbered in step, so operands are the same where their numbers are. */
static bool same_value(tc_tensor a, tc_tensor b)
{
    return a->node->number == b->node->number && a->index == b->index;
}

static bool same_nodes(const tc_node *a, const tc_node *b)
{
    for (; a && b; a = a->next, b = b->next) {
        if (a->op != b->op || a->operand_count != b->operand_count || a->result_count != b->result_count)
            return false;
        for (int i = 0; i < a->operand_count; ++i)
            if (!same_value(a->operands[i], b->operands[i]))
                return false;
        for (int i = 0; i < TC_MAX_ATTRS; ++i)
            if (!same_attr(&a->attrs[i], &b->attrs[i]))
                return false;
        for (int i = 0; i < a->result_count; ++i)
            if (!same_type(&a->results[i].type, &b->results[i].type))
                return false;
    }
    return !a && !b;
}

static bool same_named(const tc_named *a, const tc_named *b)
{
    for (; a && b; a = a->next, b = b->next)
        if (strcmp(a->name, b->name) || !same_value(a->value, b->value))
            return false;
    return !a && !b;
}

static bool same_guards(const tc_guard *a, const tc_guard *b)
{
    for (; a && b; a = a->next, b = b->next)
        if (a->lhs != b->lhs || a->rhs != b->rhs || a->is_equality != b->is_equality)
            return false;
    return !a && !b;
}

static void number_nodes(tc_captured *f)
{
    int number = 0;
    for (tc_node *n = f->parameters; n; n = n->next)
        n->number = number++;
    for (tc_node *n = f->nodes; n; n = n->next)
        n->number = number++;
}

static bool same_function(const tc_captured *a, const tc_captured *b)
{
    return a->body == b->body && same_nodes(a->parameters, b->parameters) && same_nodes(a->nodes, b->nodes) &&
           same_guards(a->guards, b->guards) && same_named(a->assigns, b->assigns) &&
           same_named(a->results, b->results);
}

static bool name_taken(const tc_graph *g, const char *name)
{
    for (const tc_captured *f = g->functions; f; f = f->next)
        if (!strcmp(f->name, name))
            return true;
    for (int i = 0; i < g->entry_count; ++i)
        if (!strcmp(g->entries[i]->name, name))
            return true;
    return false;
}

tc_captured *tc_captured_settle(tc_graph *g, tc_captured *f)
{
    number_nodes(f);
    for (tc_captured *known = g->functions; known; known = known->next)
        if (same_function(known, f))
            return known;
    const char *base = f->name;
    for (int i = 2; name_taken(g, f->name); ++i)
        f->name = tc_arena_format(&g->arena, "%s_%d", base, i);
    tc_captured_append(g, f);
    return f;
}

static bool recursive(const tc_graph *g, const tc_graph_function *function)
{
    for (const tc_captured *f = g->current; f; f = f->caller)
        if (f->body == function->body)
            return true;
    return false;
}

/* Runs the body for the operands; NULL where it cannot be called or has an error. */
static tc_captured *capture(tc_graph *g, const tc_graph_function *function, const char *prefix, int count,
                            const tc_tensor *operands)
{
    if (recursive(g, function)) {
        tc_fail(g, NULL, "%s calls itself", function->name);
        return NULL;
    }
    int errors = g->error_count;
    tc_captured *f = tc_captured_new(g, function->name, false);
    f->body = function->body;
    f->base = tc_arena_format(&g->arena, "%s%s", g->current->base, prefix);
    f->arguments = operands;
    f->argument_count = count;
    tc_captured_run(g, f, function->body);
    if (f->arguments_taken < count)
        tc_fail(g, NULL, "%s takes %d operand%s, not %d", function->name, f->arguments_taken,
                f->arguments_taken == 1 ? "" : "s", count);
    return g->error_count == errors ? f : NULL;
}

static bool call(tc_graph *g, const tc_graph_function *function, const char *prefix, int result_count,
                 tc_tensor *results, int count, const tc_tensor *operands)
{
    const char *dotted = *prefix ? tc_arena_format(&g->arena, "%s.", prefix) : "";
    dotted = tc_scoped_name(g, dotted);
    tc_captured *f = capture(g, function, dotted, count, operands);
    if (!f)
        return false;
    int have = 0;
    for (const tc_named *r = f->results; r; r = r->next)
        ++have;
    if (have != result_count) {
        tc_fail(g, "tc_call is for one result, tc_call_results for several", "%s has %d results, not %d",
                function->name, have, result_count);
        return false;
    }
    f = tc_captured_settle(g, f);
    for (const tc_guard *guard = f->guards; guard; guard = guard->next)
        tc_guard_add(g, g->current, guard->lhs, guard->is_equality, guard->rhs, guard->site);
    tc_type *types = tc_arena_alloc(&g->arena, (size_t)(have + 1) * sizeof *types);
    int n = 0;
    for (const tc_named *r = f->results; r; r = r->next)
        types[n++] = r->value->type;
    tc_attr attrs[] = {tc_attr_graph(f), tc_attr_name(dotted)};
    tc_node *node = tc_append_node(g, TC_OP_call, count, operands, attrs, have, types);
    for (int i = 0; i < have; ++i)
        results[i] = &node->results[i];
    return true;
}

static const char *const operand_names = "x x2 x3 x4 x5 x6 x7 x8 x9 x10 x11 x12 x13 x14 x15 x16";

void tc_call_results_at(tc_site at, tc_graph *g, const tc_graph_function *function, const char *prefix,
                        int result_count, tc_tensor *results, int count, const tc_tensor *operands)
{
    for (int i = 0; i < result_count; ++i)
        results[i] = tc_poison();
    if (!tc_op_enter_graph(g, at, "tc_call", NULL))
        return;
    if (!prefix)
        tc_fail(g, "\"\" for none", "argument 'prefix' is NULL");
    else if (!tc_check_text(g, "prefix", prefix))
        ;
    else if (count > 16)
        tc_fail(g, NULL, "more than 16 operands");
    else if (tc_op_enter(at, "tc_call", NULL, operand_names, count, operands)) {
        call(g, function, prefix, result_count, results, count, operands);
        tc_op_leave(g, NULL);
    }
    tc_op_leave(g, NULL);
}

tc_tensor tc_call_at(tc_site at, tc_graph *g, const tc_graph_function *function, const char *prefix, int count,
                     const tc_tensor *operands)
{
    tc_tensor result;
    tc_call_results_at(at, g, function, prefix, 1, &result, count, operands);
    return result;
}
