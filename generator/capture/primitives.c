/* SPDX-License-Identifier: Apache-2.0
 *
 * The table of primitives and the making of nodes.
 */
#include <string.h>

#include "internal.h"

enum { MAX_NODES = 1000000 }; /* a model that makes more loops forever */

/* As in primitives.def: the operands' number (0 of "*" makes it any), attributes as one string. */
static const struct {
    const char *name, *operands, *attributes;
} rows[TC_OP_COUNT] = {
    [TC_OP_parameter] = {"parameter", "0", "name:name"},
#define TC_PRIMITIVE(name, operands, results, type_rule, lowering, cost, code, what, traits, derivative, attributes)   \
    [TC_OP_##name] = {#name, #operands, attributes},
#include "../primitives.def"
#undef TC_PRIMITIVE
};

const char *tc_op_text(tc_op op)
{
    return rows[op].name;
}

const char *tc_op_attributes(tc_op op)
{
    return rows[op].attributes;
}

static int attribute_count(tc_op op)
{
    int count = 0;
    for (const char *p = rows[op].attributes; *p; ++p)
        count += *p == ':';
    return count;
}

tc_attr tc_attr_dims(tc_graph *g, int count, const tc_expr *const *dims)
{
    const tc_expr **own = tc_arena_alloc(&g->arena, (size_t)(count + 1) * sizeof *own);
    for (int i = 0; i < count; ++i)
        own[i] = dims[i];
    return (tc_attr){.kind = TC_ATTR_DIMS, .count = count, .dims = own};
}

tc_attr tc_attr_ints(tc_graph *g, int count, const int *ints)
{
    int64_t *own = tc_arena_alloc(&g->arena, (size_t)(count + 1) * sizeof *own);
    for (int i = 0; i < count; ++i)
        own[i] = ints[i];
    return (tc_attr){.kind = TC_ATTR_INTS, .count = count, .ints = own};
}

tc_attr tc_attr_int(int64_t value)
{
    return (tc_attr){.kind = TC_ATTR_INT, .integer = value};
}

tc_attr tc_attr_word(const char *word)
{
    return (tc_attr){.kind = TC_ATTR_WORD, .text = word};
}

tc_attr tc_attr_name(const char *name)
{
    return (tc_attr){.kind = TC_ATTR_NAME, .text = name};
}

tc_attr tc_attr_bits(uint64_t bits)
{
    return (tc_attr){.kind = TC_ATTR_BITS, .bits = bits};
}

tc_attr tc_attr_graph(const tc_captured *graph)
{
    return (tc_attr){.kind = TC_ATTR_GRAPH, .graph = graph};
}

tc_node *tc_append_node(tc_graph *g, tc_op op, int count, const tc_tensor *operands, const tc_attr *attrs,
                        int result_count, const tc_type *types)
{
    if (++g->node_count > MAX_NODES) {
        tc_fail(g, "does a loop of the model never end?", "the model has more than %d operations", MAX_NODES);
        tc_give_up(g);
    }
    tc_captured *f = g->current;
    tc_node *node = tc_arena_alloc(&g->arena, sizeof *node);
    *node = (tc_node){.op = op,
                      .operand_count = count,
                      .result_count = result_count,
                      .site = g->op_site,
                      .region = f->scope};
    node->operands = tc_arena_alloc(&g->arena, (size_t)(count + 1) * sizeof *node->operands);
    for (int i = 0; i < count; ++i)
        node->operands[i] = tc_lift(g, f, operands[i]);
    memcpy(node->attrs, attrs, (size_t)attribute_count(op) * sizeof *attrs);
    node->results = tc_arena_alloc(&g->arena, (size_t)(result_count + 1) * sizeof *node->results);
    for (int i = 0; i < result_count; ++i)
        node->results[i] = (struct tc_value){.self = &node->results[i],
                                             .function = f,
                                             .node = node,
                                             .index = i,
                                             .type = types[i]};
    *f->nodes_end = node;
    f->nodes_end = &node->next;
    return node;
}

tc_tensor tc_add_node(tc_graph *g, tc_op op, int count, const tc_tensor *operands, const tc_attr *attrs,
                      const tc_type *declared)
{
    static const tc_attr none[1];
    tc_type type;
    for (int i = 0; i < count; ++i)
        if (tc_is_poison(operands[i]))
            return tc_poison();
    if (!tc_infer(g, op, count, operands, attrs, declared, &type))
        return tc_poison();
    return tc_append_node(g, op, count, operands, attrs ? attrs : none, 1, &type)->results;
}
