/* SPDX-License-Identifier: Apache-2.0
 *
 * The parser of graph text (docs/graph.md). It checks names, counts, attributes and that values are defined before they
 * are used; shapes and dtypes are checked when a node runs.
 */
#include "graph.h"
#include "lexer.h"

#include <string.h>

enum { MAX_EXPR_NODES = 512 };

/* What `%N` stands for: results first .. first + count - 1 of the function's slots. */
typedef struct value_range {
    size_t first, count;
} value_range;

typedef struct parser {
    tci_lexer lexer;
    tci_module *module;
    int expr_nodes; /* of the expression being read: bounds the recursion over it */
    value_range *values;
    size_t value_count, value_capacity;
    tci_dtype *dtypes; /* one a slot */
    size_t slot_capacity;
} parser;

static bool is_punct(const parser *p, const char *text)
{
    return p->lexer.token == TCI_TOKEN_PUNCT && strcmp(p->lexer.punct, text) == 0;
}

static bool is_word(const parser *p, const char *text)
{
    return p->lexer.token == TCI_TOKEN_WORD && strcmp(p->lexer.text, text) == 0;
}

static bool take(parser *p, const char *punct)
{
    if (!is_punct(p, punct))
        return false;
    tci_lexer_next(&p->lexer);
    return true;
}

static bool expect(parser *p, const char *punct)
{
    return take(p, punct) || tci_lexer_fail(&p->lexer, "'%s' is expected", punct);
}

static bool expect_word(parser *p, const char *word)
{
    if (!is_word(p, word))
        return tci_lexer_fail(&p->lexer, "'%s' is expected", word);
    tci_lexer_next(&p->lexer);
    return true;
}

static const char *any_word(parser *p, const char *what)
{
    const char *text = p->lexer.text;
    if (p->lexer.token != TCI_TOKEN_WORD) {
        tci_lexer_fail(&p->lexer, "%s is expected", what);
        return "";
    }
    tci_lexer_next(&p->lexer);
    return text;
}

static const char *string(parser *p, const char *what)
{
    const char *text = p->lexer.text;
    if (p->lexer.token != TCI_TOKEN_STRING) {
        tci_lexer_fail(&p->lexer, "%s is expected as a quoted string", what);
        return "";
    }
    tci_lexer_next(&p->lexer);
    return text;
}

static int64_t integer(parser *p)
{
    const bool negative = take(p, "-");
    if (p->lexer.token != TCI_TOKEN_NUMBER) {
        tci_lexer_fail(&p->lexer, "an integer is expected");
        return 0;
    }
    const int64_t value = (int64_t)p->lexer.number;
    tci_lexer_next(&p->lexer);
    return negative ? -value : value;
}

static void *allocate(parser *p, size_t count, size_t size)
{
    void *memory = tci_arena_alloc(&p->module->arena, count, size);
    if (memory == NULL)
        tci_lexer_fail(&p->lexer, "out of memory");
    return memory;
}

/* Makes room for one more element; evaluates to false where memory is out. */
#define GROW(p, array, count, capacity) grow((p), (void **)&(array), (count), &(capacity), sizeof *(array))

static bool grow(parser *p, void **array, size_t count, size_t *capacity, size_t size)
{
    void *larger = tci_arena_grow(&p->module->arena, *array, count, capacity, size);
    if (larger == NULL)
        return tci_lexer_fail(&p->lexer, "out of memory");
    *array = larger;
    return true;
}

static bool name_it(parser *p, tci_names *names, const char *name, size_t position)
{
    return tci_names_add(names, &p->module->arena, name, position) || tci_lexer_fail(&p->lexer, "out of memory");
}

/* -- dim expressions ----------------------------------------------------------------------------------------------- */
static const tci_expr zero_expr = {.kind = TCI_EXPR_CONST, .value = 0};

static const tci_expr *sum(parser *p);

static const tci_expr *make_expr(parser *p, int kind, int64_t value, const tci_expr *a, const tci_expr *b)
{
    if (++p->expr_nodes > MAX_EXPR_NODES) {
        tci_lexer_fail(&p->lexer, "a dim expression of more than %d terms", (int)MAX_EXPR_NODES);
        return &zero_expr;
    }
    tci_expr *e = allocate(p, 1, sizeof *e);
    if (e == NULL)
        return &zero_expr;
    e->kind = kind;
    e->value = value;
    e->a = a;
    e->b = b;
    return e;
}

static const tci_expr *atom(parser *p)
{
    if (p->lexer.token == TCI_TOKEN_NUMBER)
        return make_expr(p, TCI_EXPR_CONST, integer(p), NULL, NULL);
    if (is_punct(p, "-") || is_punct(p, "(")) {
        /* counted before the recursion, which would otherwise go as deep as the text likes */
        const tci_expr *zero = make_expr(p, TCI_EXPR_CONST, 0, NULL, NULL);
        if (take(p, "-"))
            return make_expr(p, TCI_EXPR_SUB, 0, zero, atom(p));
        take(p, "(");
        const tci_expr *inner = p->lexer.token == TCI_TOKEN_END ? &zero_expr : sum(p);
        expect(p, ")");
        return inner;
    }
    const char *name = any_word(p, "a dim, a number or '('");
    const bool largest = strcmp(name, "max") == 0, smallest = strcmp(name, "min") == 0;
    if ((largest || smallest || strcmp(name, "floordiv") == 0) && is_punct(p, "(")) {
        make_expr(p, TCI_EXPR_CONST, 0, NULL, NULL);
        expect(p, "(");
        const tci_expr *a = sum(p);
        expect(p, ",");
        const tci_expr *b = sum(p);
        expect(p, ")");
        return make_expr(p, largest ? TCI_EXPR_MAX : smallest ? TCI_EXPR_MIN : TCI_EXPR_FLOORDIV, 0, a, b);
    }
    size_t position;
    if (tci_names_find(&p->module->dim_names, name, &position))
        return make_expr(p, TCI_EXPR_DIM, (int64_t)position, NULL, NULL);
    tci_lexer_fail(&p->lexer, "unknown dim '%s'", name);
    return &zero_expr;
}

static const tci_expr *product(parser *p)
{
    const tci_expr *e = atom(p);
    while (take(p, "*"))
        e = make_expr(p, TCI_EXPR_MUL, 0, e, atom(p));
    return e;
}

static const tci_expr *sum(parser *p)
{
    const tci_expr *e;
    if (is_punct(p, "-")) { /* a leading minus applies to the whole first product */
        tci_lexer_next(&p->lexer);
        e = make_expr(p, TCI_EXPR_SUB, 0, &zero_expr, product(p));
    } else {
        e = product(p);
    }
    for (;;) {
        if (take(p, "+"))
            e = make_expr(p, TCI_EXPR_ADD, 0, e, product(p));
        else if (take(p, "-"))
            e = make_expr(p, TCI_EXPR_SUB, 0, e, product(p));
        else
            return e;
    }
}

static const tci_expr *expression(parser *p)
{
    p->expr_nodes = 0;
    return sum(p);
}

/* '[' e, e, ... ']' */
static tci_exprs expressions(parser *p)
{
    tci_exprs list = {0};
    size_t capacity = 0;
    expect(p, "[");
    if (take(p, "]"))
        return list;
    do {
        const tci_expr *e = expression(p);
        if (!GROW(p, list.items, list.count, capacity))
            break;
        list.items[list.count++] = e;
    } while (take(p, ","));
    expect(p, "]");
    return list;
}

/* -- types, places, values ----------------------------------------------------------------------------------------- */
static tci_type type(parser *p)
{
    tci_type result = {0};
    const char *name = any_word(p, "a dtype");
    const tci_dtype dtype = tci_dtype_named(name);
    if (dtype == TCI_WIDE)
        tci_lexer_fail(&p->lexer, "unknown dtype '%s'", name);
    result.dtype = dtype == TCI_WIDE ? TCI_F32 : dtype;
    result.shape = expressions(p);
    if (result.shape.count > TCI_MAX_RANK)
        tci_lexer_fail(&p->lexer, "more than %d dims", (int)TCI_MAX_RANK);
    return result;
}

/* [loc("file":line)]; where it is absent, the place in the graph text. */
static tci_loc location(parser *p, int line)
{
    tci_loc loc = {p->module->path, line};
    if (is_word(p, "loc")) {
        tci_lexer_next(&p->lexer);
        expect(p, "(");
        loc.file = string(p, "a file");
        expect(p, ":");
        const int64_t at = integer(p);
        loc.line = at > 0 && at < INT32_MAX ? (int)at : 0;
        expect(p, ")");
    }
    return loc;
}

static size_t value(parser *p)
{
    if (p->lexer.token != TCI_TOKEN_VALUE) {
        tci_lexer_fail(&p->lexer, "a value (%%N) is expected");
        return 0;
    }
    const uint64_t number = p->lexer.number;
    const size_t result = p->lexer.result < 0 ? 0 : (size_t)p->lexer.result;
    if (number >= p->value_count || result >= p->values[number].count) {
        tci_lexer_fail(&p->lexer, "%%%llu.%zu is not defined here", (unsigned long long)number, result);
        return 0;
    }
    tci_lexer_next(&p->lexer);
    return p->values[number].first + result;
}

/* Reads the `%N` that is being defined and gives it `count` slots. */
static void number_of_value(parser *p)
{
    if (p->lexer.token != TCI_TOKEN_VALUE || p->lexer.result >= 0 || p->lexer.number != p->value_count)
        tci_lexer_fail(&p->lexer, "%%%zu is expected: values are numbered in order", p->value_count);
    else
        tci_lexer_next(&p->lexer);
}

static bool define(parser *p, tci_function *f, size_t count, const tci_type *types)
{
    if (!GROW(p, p->values, p->value_count, p->value_capacity))
        return false;
    p->values[p->value_count++] = (value_range){f->slot_count, count};
    for (size_t i = 0; i < count; i++) {
        if (!GROW(p, p->dtypes, f->slot_count, p->slot_capacity))
            return false;
        p->dtypes[f->slot_count++] = types[i].dtype;
    }
    return true;
}

/* -- nodes --------------------------------------------------------------------------------------------------------- */
static void attribute(parser *p, tci_node *node)
{
    const char *name = any_word(p, "an attribute");
    size_t position = 0;
    const tci_attr_kind kind = tci_primitive_attr(node->op, name, &position);
    if (kind == TCI_ATTR_NONE || node->attrs[position].present) {
        tci_lexer_fail(&p->lexer, "%s: %s attribute '%s'", tci_primitives[node->op].name,
                       kind == TCI_ATTR_NONE ? "unknown" : "repeated", name);
        return;
    }
    tci_attr *attr = &node->attrs[position];
    attr->present = true;
    expect(p, "=");
    size_t capacity = 0;
    switch (kind) {
    case TCI_ATTR_DIMS: attr->dims = expressions(p); break;
    case TCI_ATTR_INTS:
        expect(p, "[");
        if (take(p, "]"))
            break;
        do {
            const int64_t i = integer(p);
            if (!GROW(p, attr->ints, attr->count, capacity))
                return;
            attr->ints[attr->count++] = i;
        } while (take(p, ","));
        expect(p, "]");
        break;
    case TCI_ATTR_INT:
        attr->ints = allocate(p, 1, sizeof *attr->ints);
        if (attr->ints != NULL)
            attr->ints[attr->count++] = integer(p);
        break;
    case TCI_ATTR_NAME: attr->text = string(p, "a name"); break;
    case TCI_ATTR_BITS:
        if (p->lexer.token != TCI_TOKEN_BITS)
            tci_lexer_fail(&p->lexer, "bits are expected as 0x...");
        attr->bits = p->lexer.number;
        tci_lexer_next(&p->lexer);
        break;
    case TCI_ATTR_GRAPH:
        expect(p, "@");
        attr->text = any_word(p, "a graph function");
        break;
    default: attr->text = any_word(p, "a word"); break;
    }
}

static void attributes(parser *p, tci_node *node)
{
    if (take(p, "{") && !take(p, "}")) {
        do
            attribute(p, node);
        while (take(p, ","));
        expect(p, "}");
    }
    const char *spec = tci_primitives[node->op].attributes;
    for (size_t i = 0; *spec != '\0'; i++) {
        const size_t length = strcspn(spec, ":");
        if (i >= TCI_MAX_ATTRS || !node->attrs[i].present) {
            tci_lexer_fail(&p->lexer, "%s: attribute '%.*s' is missing", tci_primitives[node->op].name, (int)length,
                           spec);
            return;
        }
        spec += strcspn(spec, " ");
        spec += *spec == ' ';
    }
}

/* [: type] or [: (type, type)] */
static void result_types(parser *p, tci_node *node)
{
    expect(p, ":");
    tci_type *types = NULL;
    size_t capacity = 0;
    const bool several = take(p, "(");
    if (!several || !is_punct(p, ")")) {
        do {
            const tci_type t = type(p);
            if (!GROW(p, types, node->result_count, capacity))
                return;
            types[node->result_count++] = t;
        } while (several && take(p, ","));
    }
    if (several)
        expect(p, ")");
    node->types = types;
    const int fixed = tci_primitives[node->op].results;
    if (fixed >= 0 && node->result_count != (size_t)fixed)
        tci_lexer_fail(&p->lexer, "%s has %d result, not %zu", tci_primitives[node->op].name, fixed,
                       node->result_count);
}

static void node(parser *p, tci_function *f, tci_node *n)
{
    const int line = p->lexer.line;
    number_of_value(p);
    expect(p, "=");
    const char *name = any_word(p, "a primitive");
    int op = 0;
    while (op < TCI_OP_COUNT && strcmp(tci_primitives[op].name, name) != 0)
        op++;
    if (op == TCI_OP_COUNT) {
        tci_lexer_fail(&p->lexer, "unknown primitive '%s'", name);
        return;
    }
    n->op = (tci_op)op;
    expect(p, "(");
    size_t *operands = NULL, capacity = 0;
    if (!take(p, ")")) {
        do {
            const size_t slot = value(p);
            if (!GROW(p, operands, n->operand_count, capacity))
                return;
            operands[n->operand_count++] = slot;
        } while (take(p, ","));
        expect(p, ")");
    }
    n->operands = operands;
    const int fixed = tci_primitives[op].operands;
    if (fixed >= 0 && n->operand_count != (size_t)fixed)
        tci_lexer_fail(&p->lexer, "%s has %d operands, not %zu", name, fixed, n->operand_count);
    attributes(p, n);
    result_types(p, n);
    n->loc = location(p, line);
    if (is_word(p, "scope")) {
        tci_lexer_next(&p->lexer);
        expect(p, "(");
        string(p, "a scope");
        expect(p, ")");
    }
    n->first_result = f->slot_count;
    n->first_dtype = n->operand_count && operands[0] < f->slot_count ? p->dtypes[operands[0]] : TCI_WIDE;
    define(p, f, n->result_count, n->types);
}

/* -- functions ----------------------------------------------------------------------------------------------------- */
static void parameters(parser *p, tci_function *f)
{
    size_t capacity = 0;
    expect(p, "(");
    if (take(p, ")"))
        return;
    do {
        tci_entry parameter = {.slot = f->slot_count};
        const int line = p->lexer.line;
        number_of_value(p);
        parameter.name = p->lexer.token == TCI_TOKEN_STRING ? string(p, "a name") : "";
        expect(p, ":");
        parameter.type = type(p);
        parameter.loc = location(p, line);
        if (!GROW(p, f->parameters, f->parameter_count, capacity) || !define(p, f, 1, &parameter.type))
            return;
        f->parameters[f->parameter_count++] = parameter;
    } while (take(p, ","));
    expect(p, ")");
}

static void guard(parser *p, tci_function *f, size_t *capacity)
{
    const int line = p->lexer.line;
    tci_lexer_next(&p->lexer);
    tci_guard g = {.name = string(p, "a guard's name")};
    g.lhs = expression(p);
    g.equal = is_punct(p, "==");
    if (!take(p, "==") && !take(p, ">="))
        tci_lexer_fail(&p->lexer, "'==' or '>=' is expected");
    g.rhs = expression(p);
    g.loc = location(p, line);
    if (GROW(p, f->guards, f->guard_count, *capacity))
        f->guards[f->guard_count++] = g;
}

/* assign "name" %N, or return "name" %N */
static void named_value(parser *p, tci_entry **entries, size_t *count, size_t *capacity)
{
    const int line = p->lexer.line;
    tci_lexer_next(&p->lexer);
    tci_entry entry = {.name = p->lexer.token == TCI_TOKEN_STRING ? string(p, "a name") : ""};
    entry.slot = value(p);
    entry.loc = location(p, line);
    if (GROW(p, *entries, *count, *capacity))
        (*entries)[(*count)++] = entry;
}

static void function(parser *p, size_t *capacity)
{
    tci_function f = {0};
    size_t guards = 0, nodes = 0, assigns = 0, results = 0;
    p->value_count = 0;
    tci_lexer_next(&p->lexer);
    f.name = any_word(p, "a function's name");
    if (tci_module_find_function(p->module, f.name) != NULL)
        tci_lexer_fail(&p->lexer, "function '%s' is defined twice", f.name);
    parameters(p, &f);
    if (is_word(p, "entry")) {
        f.entry = true;
        tci_lexer_next(&p->lexer);
    }
    expect(p, "{");
    while (p->lexer.token != TCI_TOKEN_END && !is_punct(p, "}")) {
        if (is_word(p, "guard")) {
            guard(p, &f, &guards);
        } else if (is_word(p, "assign")) {
            named_value(p, &f.assigns, &f.assign_count, &assigns);
        } else if (is_word(p, "return")) {
            named_value(p, &f.results, &f.result_count, &results);
        } else {
            tci_node n = {0};
            node(p, &f, &n);
            if (!GROW(p, f.nodes, f.node_count, nodes))
                break;
            f.nodes[f.node_count++] = n;
        }
    }
    expect(p, "}");
    if (GROW(p, p->module->functions, p->module->function_count, *capacity) &&
        name_it(p, &p->module->function_names, f.name, p->module->function_count))
        p->module->functions[p->module->function_count++] = f;
}

/* -- the module ---------------------------------------------------------------------------------------------------- */
static void dim(parser *p, size_t *capacity)
{
    tci_dim d = {0};
    tci_lexer_next(&p->lexer);
    d.name = any_word(p, "a dim's name");
    expect_word(p, "range");
    expect(p, "=");
    d.lo = integer(p);
    expect(p, ":");
    d.hi = integer(p);
    expect_word(p, "divisor");
    expect(p, "=");
    d.divisor = integer(p);
    expect_word(p, "specialize");
    expect(p, "=");
    expressions(p);
    location(p, p->lexer.line);
    if (d.divisor < 1 || d.lo < 0 || d.hi < d.lo)
        tci_lexer_fail(&p->lexer, "dim '%s': the range or the divisor makes no sense", d.name);
    if (GROW(p, p->module->dims, p->module->dim_count, *capacity) &&
        name_it(p, &p->module->dim_names, d.name, p->module->dim_count))
        p->module->dims[p->module->dim_count++] = d;
}

static void file(parser *p, size_t *capacity)
{
    tci_lexer_next(&p->lexer);
    if (integer(p) != (int64_t)p->module->file_count)
        tci_lexer_fail(&p->lexer, "files are numbered in order");
    const char *path = string(p, "a path");
    if (GROW(p, p->module->files, p->module->file_count, *capacity))
        p->module->files[p->module->file_count++] = path;
}

static void declaration(parser *p, bool weight, tci_entry **entries, size_t *count, size_t *capacity)
{
    const int line = p->lexer.line;
    tci_lexer_next(&p->lexer);
    tci_entry entry = {.name = string(p, "a name")};
    expect(p, ":");
    entry.type = type(p);
    if (weight) {
        expect_word(p, "file");
        expect(p, "=");
        const int64_t number = integer(p);
        if (number < 0 || number >= (int64_t)p->module->file_count)
            tci_lexer_fail(&p->lexer, "weight \"%s\": no such file", entry.name);
        entry.file = (int)number;
    }
    entry.loc = location(p, line);
    if (GROW(p, *entries, *count, *capacity))
        (*entries)[(*count)++] = entry;
}

bool tci_module_parse(tci_module *module, const char *path, const char *text, size_t length, tci_diag *diag)
{
    *module = (tci_module){.path = path};
    parser p = {.module = module};
    size_t dims = 0, files = 0, weights = 0, states = 0, functions = 0;
    tci_lexer_init(&p.lexer, path, text, length, &module->arena, diag);
    expect_word(&p, "tensor_compile.graph");
    if (integer(&p) != 1)
        tci_lexer_fail(&p.lexer, "version 1 of the graph text is expected");
    expect_word(&p, "model");
    module->model = string(&p, "the model's name");
    while (p.lexer.token != TCI_TOKEN_END) {
        if (is_word(&p, "dim"))
            dim(&p, &dims);
        else if (is_word(&p, "file"))
            file(&p, &files);
        else if (is_word(&p, "weight"))
            declaration(&p, true, &module->weights, &module->weight_count, &weights);
        else if (is_word(&p, "state"))
            declaration(&p, false, &module->states, &module->state_count, &states);
        else if (is_word(&p, "function"))
            function(&p, &functions);
        else
            tci_lexer_fail(&p.lexer, "dim, file, weight, state or function is expected");
    }
    return !diag->failed;
}

void tci_module_finish(tci_module *module)
{
    tci_arena_finish(&module->arena);
}
