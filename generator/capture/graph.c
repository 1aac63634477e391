/* SPDX-License-Identifier: Apache-2.0
 *
 * The graph, its functions, scopes and regions, and the brackets of public calls.
 */
#include <stdlib.h>
#include <string.h>

#include "internal.h"

/* Calls with no other way to a graph (NULL arguments) report to this one: a model's body runs in one thread. */
static tc_graph *current_graph;

static struct tc_value poison;

/* Where there is no such graph (a constructor of the program calls operations), their errors are this one's. */
static tc_graph *stray_graph;

tc_graph *tc_current_graph(void)
{
    if (current_graph)
        return current_graph;
    if (!stray_graph && !(stray_graph = tc_graph_create(stderr)))
        abort();
    current_graph = NULL;
    return stray_graph;
}

tc_graph *tc_graph_create(FILE *errors)
{
    jmp_buf no_memory;
    tc_graph *volatile g = NULL;
    tc_arena arena = {.escape = &no_memory};
    if (setjmp(no_memory)) {
        if (g)
            arena = g->arena;
        tc_arena_free(&arena);
        return NULL;
    }
    tc_graph *made = tc_arena_alloc(&arena, sizeof *made);
    made->arena = arena;
    g = made;
    made->errors = errors;
    tc_dims_init(&made->dims, &made->arena);
    made->dim_decls_end = &made->dim_decls;
    made->files_end = &made->files;
    made->weights_end = &made->weights;
    made->bare_norms_end = &made->bare_norms;
    made->states_end = &made->states;
    made->functions_end = &made->functions;
    made->arena.escape = NULL;
    current_graph = made;
    return made;
}

void tc_graph_destroy(tc_graph *g)
{
    if (current_graph == g)
        current_graph = NULL;
    if (g) {
        tc_arena arena = g->arena;
        tc_arena_free(&arena);
    }
}

tc_tensor tc_poison(void)
{
    return &poison;
}

bool tc_is_poison(tc_tensor x)
{
    return !x->node;
}

bool tc_made(const tc_graph *g, tc_tensor x)
{
    if (x == &poison)
        return true;
    return (uintptr_t)x % _Alignof(struct tc_value) == 0 && tc_arena_holds(&g->arena, x, sizeof *x) && x->self == x;
}

/* -- functions ----------------------------------------------------------------------------------------------------- */

tc_captured *tc_captured_new(tc_graph *g, const char *name, bool is_entry)
{
    tc_captured *f = tc_arena_alloc(&g->arena, sizeof *f);
    f->name = name;
    f->is_entry = is_entry;
    f->base = "";
    f->parameters_end = &f->parameters;
    f->nodes_end = &f->nodes;
    f->guards_end = &f->guards;
    f->assigns_end = &f->assigns;
    f->results_end = &f->results;
    return f;
}

void tc_captured_append(tc_graph *g, tc_captured *f)
{
    *g->functions_end = f;
    g->functions_end = &f->next;
}

tc_tensor tc_captured_parameter(tc_graph *g, tc_captured *f, const char *name, const tc_type *type)
{
    tc_node *node = tc_arena_alloc(&g->arena, sizeof *node);
    tc_tensor x = tc_arena_alloc(&g->arena, sizeof *x);
    *x = (struct tc_value){.self = x, .function = f, .node = node, .type = *type};
    *node = (tc_node){.op = TC_OP_parameter, .result_count = 1, .results = x, .site = g->op_site};
    node->attrs[0] = tc_attr_name(tc_arena_copy(&g->arena, name));
    *f->parameters_end = node;
    f->parameters_end = &node->next;
    return x;
}

void tc_captured_run(tc_graph *g, tc_captured *f, tc_graph_body *body)
{
    f->caller = g->current;
    g->current = f;
    int base = g->op_base; /* the body's calls name themselves */
    const char *name = g->op_name;
    tc_site place = g->op_site;
    g->op_base = g->op_depth;
    body(g);
    tc_check_else(g, f);
    for (const tc_region *r = f->scope; r; r = r->parent)
        tc_error(g, r->site, "close each tc_scope_push and tc_region_push, or use the blocks TC_SCOPE and TC_REGION",
                 "\"%s\" is still open at the end of %s", r->name, f->name);
    f->scope = NULL;
    g->op_base = base;
    g->op_name = name;
    g->op_site = place;
    g->current = f->caller;
}

static tc_named *find_named(tc_named *list, const char *name)
{
    while (list && strcmp(list->name, name))
        list = list->next;
    return list;
}

static tc_node *find_parameter(tc_captured *f, const char *name)
{
    tc_node *p = f->parameters;
    while (p && strcmp(p->attrs[0].text, name))
        p = p->next;
    return p;
}

tc_tensor tc_input_at(tc_site at, tc_graph *g, const char *name, int count, const tc_dim *dtype_and_shape)
{
    tc_type type;
    if (!tc_op_enter_graph(g, at, "tc_input", NULL))
        return tc_poison();
    tc_captured *f = g->current;
    if (!name) {
        tc_fail(g, NULL, "argument 'name' is NULL");
    } else if (f->block) {
        tc_fail(g, "declare it before the block", "inputs are no part of a block");
    } else if (!f->is_entry) {
        tc_fail(g, "its operands come from the call: tc_parameter(g, name)", "a graph function has no inputs");
    } else if (tc_check_identifier(g, "input", name) && tc_read_type(g, count, dtype_and_shape, &type)) {
        const tc_node *before = find_parameter(f, name);
        if (before)
            tc_fail(g, NULL, "a second input \"%s\" (the first is at %s)", name, tc_site_text(g, before->site));
        else
            return tc_op_leave(g, tc_captured_parameter(g, f, name, &type));
    }
    return tc_op_leave(g, tc_poison());
}

tc_tensor tc_parameter_at(tc_site at, tc_graph *g, const char *name)
{
    if (!tc_op_enter_graph(g, at, "tc_parameter", NULL))
        return tc_poison();
    tc_captured *f = g->current;
    tc_tensor x = tc_poison();
    if (!tc_check_text(g, "name", name))
        ;
    else if (f->block)
        tc_fail(g, "declare it before the block", "parameters are no part of a block");
    else if (f->is_entry)
        tc_fail(g, "an entry function declares tc_input(g, name, dtype, dim...)", "%s is no graph function", f->name);
    else if (f->arguments_taken == f->argument_count)
        tc_fail(g, NULL, "the call of %s has %d operand%s, and this asks for one more", f->name, f->argument_count,
                f->argument_count == 1 ? "" : "s");
    else
        x = tc_captured_parameter(g, f, name, &f->arguments[f->arguments_taken++]->type);
    return tc_op_leave(g, x);
}

void tc_output_at(tc_site at, tc_graph *g, const char *name, tc_tensor x)
{
    if (!tc_op_enter_graph(g, at, "tc_output", NULL))
        return;
    tc_captured *f = g->current;
    ++f->results_declared;
    const tc_named *before = name ? find_named(f->results, name) : NULL;
    if (!tc_check_text(g, "name", name))
        ;
    else if (f->block)
        tc_fail(g, "list a variable in the block's head, or tc_collect it", "outputs are no part of a block");
    else if (before)
        tc_fail(g, NULL, "a second output \"%s\" (the first is at %s)", name, tc_site_text(g, before->site));
    else if (f->is_entry && find_parameter(f, name))
        tc_fail(g, "inputs, outputs and dims are members of one struct", "\"%s\" is an input already", name);
    else if ((!f->is_entry || tc_check_identifier(g, "output", name)) &&
             tc_op_enter(at, "tc_output", NULL, "x", 1, &x)) {
        tc_named *result = tc_arena_alloc(&g->arena, sizeof *result);
        *result = (tc_named){tc_arena_copy(&g->arena, name), x, at, NULL};
        *f->results_end = result;
        f->results_end = &result->next;
        tc_op_leave(g, x);
    }
    tc_op_leave(g, NULL);
}

/* -- public calls -------------------------------------------------------------------------------------------------- */

static tc_region *region_new(tc_graph *g, tc_region *parent, const char *name, bool is_scope, tc_site site)
{
    tc_region *r = tc_arena_alloc(&g->arena, sizeof *r);
    *r = (tc_region){.parent = parent, .name = name, .is_scope = is_scope, .site = site};
    return r;
}

bool tc_op_enter_graph(tc_graph *g, tc_site site, const char *name, const char *region)
{
    if (!g)
        g = tc_current_graph();
    if (g->op_depth == g->op_base) {
        g->op_name = name;
        g->op_site = site;
    }
    if (!g->current) {
        ++g->op_depth;
        tc_fail(g, NULL, "called outside TC_MODEL and TC_FUNCTION");
        --g->op_depth;
        return false;
    }
    if (g->op_depth == g->op_room) {
        tc_region **wider = tc_arena_alloc(&g->arena, (size_t)(2 * g->op_room + 32) * sizeof *wider);
        if (g->op_depth)
            memcpy(wider, g->op_scopes, (size_t)g->op_depth * sizeof *wider);
        g->op_scopes = wider;
        g->op_room = 2 * g->op_room + 32;
    }
    g->op_scopes[g->op_depth++] = g->current->scope;
    if (region)
        g->current->scope = region_new(g, g->current->scope, region, false, site);
    return true;
}

tc_graph *tc_op_enter_list(tc_site site, const char *name, const char *region, int count, const tc_tensor *operands)
{
    tc_graph *g = tc_current_graph();
    for (int i = 0; i < count; ++i) {
        if (!tc_op_enter(site, name, NULL, "x", 1, &operands[i]))
            return NULL;
        tc_op_leave(g, NULL);
    }
    return tc_op_enter_graph(g, site, name, region) ? g : NULL;
}

tc_tensor tc_op_leave(tc_graph *g, tc_tensor x)
{
    g->current->scope = g->op_scopes[--g->op_depth];
    return x;
}

/* The name of operand i in the list `names`. */
static const char *operand_name(tc_graph *g, const char *names, int i)
{
    for (; i > 0; --i)
        names += strcspn(names, " ") + 1;
    names += *names == '?';
    return tc_arena_format(&g->arena, "%.*s", (int)strcspn(names, " "), names);
}

static bool operand_optional(const char *names, int i)
{
    for (; i > 0; --i)
        names += strcspn(names, " ") + 1;
    return *names == '?';
}

static bool same_place(tc_site a, tc_site b)
{
    return a.line == b.line && !strcmp(a.file, b.file);
}

/* The operands of the graph function that x is made of by calls at one place alone: those that are declared within the
 * arguments of a call there. Adds those that are not in `found` yet; returns their number. Looks at *steps nodes at
 * most. */
static int declared_at(tc_site site, tc_tensor x, int count, const tc_node **found, int most, int *steps)
{
    const tc_node *node = x && !tc_is_poison(x) ? x->node : NULL;
    if (!node || !same_place(node->site, site) || --*steps < 0)
        return count;
    for (int i = 0; node->op != TC_OP_parameter && i < node->operand_count && count < most; ++i)
        count = declared_at(site, node->operands[i], count, found, most, steps);
    if (node->op != TC_OP_parameter)
        return count;
    for (int i = 0; i < count; ++i)
        if (found[i] == node)
            return count;
    found[count] = node;
    return count + 1;
}

/* Operands of a graph function are told by the order of their declarations; those of a block are not the user's. */
static bool in_order(tc_graph *g, int count, const tc_tensor *operands)
{
    const tc_node *found[2];
    int declared = 0, here = 0, steps = 1000;
    if (g->current->is_entry || g->current->block)
        return true;
    for (const tc_node *p = g->current->parameters; p; p = p->next)
        here += same_place(p->site, g->op_site);
    if (here < 2 || g->op_depth != g->op_base + 1)
        return true;
    for (int i = 0; i < count && declared < 2; ++i)
        declared = declared_at(g->op_site, operands[i], declared, found, 2, &steps);
    if (declared < 2)
        return true;
    tc_fail(g, "C leaves open which of a call's arguments is made first: declare them before, on lines of their own",
            "\"%s\" and \"%s\" are declared at the place where both are used", found[0]->attrs[0].text,
            found[1]->attrs[0].text);
    return false;
}

tc_graph *tc_op_enter(tc_site site, const char *name, const char *region, const char *names, int count,
                      const tc_tensor *operands)
{
    tc_graph *g = tc_current_graph();
    if (!tc_op_enter_graph(g, site, name, region))
        return NULL;
    bool usable = true;
    for (int i = 0; i < count; ++i) {
        if (!operands[i]) {
            if (operand_optional(names, i))
                continue;
            tc_fail(g, NULL, "argument '%s' is NULL", operand_name(g, names, i));
            usable = false;
        } else if (!tc_made(g, operands[i])) {
            tc_fail(g, "set its variable on every path; NULL is no tensor",
                    "argument '%s' is no tensor that was ever made", operand_name(g, names, i));
            usable = false;
        } else if (tc_is_poison(operands[i])) {
            usable = false;
        } else if (!tc_visible(g->current, operands[i]->function)) {
            tc_fail(g,
                    operands[i]->function->block
                        ? "a block's tensors stay in it: list a variable in its head, or tc_collect it"
                        : "pass it as an operand of tc_call, or declare it in this function too",
                    "argument '%s' is a tensor of another function, %s", operand_name(g, names, i),
                    operands[i]->function->name);
            usable = false;
        }
    }
    if (usable && in_order(g, count, operands))
        return g;
    tc_op_leave(g, NULL);
    return NULL;
}

/* -- scopes -------------------------------------------------------------------------------------------------------- */

const char *tc_name(tc_graph *g, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    char *text = tc_arena_vformat(&g->arena, format, args);
    va_end(args);
    return text;
}

void tc_scope_push_at(tc_site at, tc_graph *g, const char *format, ...)
{
    if (!tc_op_enter_graph(g, at, "tc_scope_push", NULL))
        return;
    va_list args;
    va_start(args, format);
    const char *name = tc_arena_vformat(&g->arena, format, args);
    va_end(args);
    if (!*name)
        tc_fail(g, NULL, "the scope's name is empty");
    else if (!tc_check_text(g, "name", name))
        name = "scope";
    tc_op_leave(g, NULL);
    g->current->scope = region_new(g, g->current->scope, name, true, at);
}

void tc_region_push_at(tc_site at, tc_graph *g, const char *name)
{
    if (!tc_op_enter_graph(g, at, "tc_region_push", NULL))
        return;
    if (!name || !*name) {
        tc_fail(g, NULL, "the region needs a name");
        name = "region";
    } else if (!tc_check_text(g, "name", name)) {
        name = "region";
    }
    tc_op_leave(g, NULL);
    g->current->scope = region_new(g, g->current->scope, tc_arena_copy(&g->arena, name), false, at);
}

static void pop(tc_site at, tc_graph *g, const char *call, bool is_scope)
{
    if (!tc_op_enter_graph(g, at, call, NULL))
        return;
    tc_region *top = g->current->scope;
    bool matches = top && top->is_scope == is_scope;
    if (!matches)
        tc_fail(g, "use the blocks TC_SCOPE and TC_REGION", "no %s is open here", is_scope ? "scope" : "region");
    tc_op_leave(g, NULL);
    if (matches)
        g->current->scope = (tc_region *)top->parent;
}

/* Closes the innermost scope or region that a block opened, with what is open in it. */
static void left(bool is_scope)
{
    tc_graph *g = tc_current_graph();
    tc_region *r = g->current ? g->current->scope : NULL;
    while (r && r->is_scope != is_scope)
        r = (tc_region *)r->parent;
    if (!r)
        return;
    tc_error(g, r->site, "leave the block at its end: what follows it is not in it",
             "%s: it is left by break, return or goto", is_scope ? "TC_SCOPE" : "TC_REGION");
    g->current->scope = (tc_region *)r->parent;
}

void tc_scope_left_(const int *open)
{
    if (*open)
        left(true);
}

void tc_region_left_(const int *open)
{
    if (*open)
        left(false);
}

void tc_scope_pop_at(tc_site at, tc_graph *g)
{
    pop(at, g, "tc_scope_pop", true);
}

void tc_region_pop_at(tc_site at, tc_graph *g)
{
    pop(at, g, "tc_region_pop", false);
}

const char *tc_scoped_name(tc_graph *g, const char *name)
{
    for (const tc_region *r = g->current->scope; r; r = r->parent)
        if (r->is_scope)
            name = tc_arena_format(&g->arena, "%s.%s", r->name, name);
    return name;
}

/* -- the module ---------------------------------------------------------------------------------------------------- */

static bool shares_name_with_dim(tc_graph *g, const char *name)
{
    for (const tc_dim_decl *d = g->dim_decls; d; d = d->next)
        if (!strcmp(d->sym->name, name))
            return true;
    return false;
}

static const tc_state_decl *shares_name_with_state(const tc_graph *g, const char *name)
{
    const tc_state_decl *d = g->states;
    while (d && strcmp(d->name, name))
        d = d->next;
    return d;
}

static void check_entry(tc_graph *g, const tc_captured *f, tc_site site)
{
    if (!f->results_declared && !f->assigns)
        tc_error(g, site, "tc_output(g, name, x) makes a tensor a result", "%s has no outputs", f->name);
    for (const tc_node *p = f->parameters; p; p = p->next)
        if (shares_name_with_dim(g, p->attrs[0].text))
            tc_error(g, p->site, "inputs, outputs and dims are members of one struct",
                     "input \"%s\" has the name of a dim", p->attrs[0].text);
    for (const tc_named *r = f->results; r; r = r->next)
        if (shares_name_with_dim(g, r->name))
            tc_error(g, r->site, "inputs, outputs and dims are members of one struct",
                     "output \"%s\" has the name of a dim", r->name);
    const char *hint = "a report and a call's detail name them all: give one another name";
    for (const tc_node *p = f->parameters; p; p = p->next)
        if (shares_name_with_state(g, p->attrs[0].text))
            tc_error(g, p->site, hint, "input \"%s\" has the name of a state", p->attrs[0].text);
    for (const tc_named *r = f->results; r; r = r->next)
        if (shares_name_with_state(g, r->name))
            tc_error(g, r->site, hint, "output \"%s\" has the name of a state", r->name);
}

/* The file of an entry, which #line does not change where main was told the model's name. */
static const char *file_of(const tc_graph *g, const tc_entry *entry)
{
    return entry->file ? entry->file : g->model_file ? g->model_file : entry->site.file;
}

static bool capture(tc_graph *g, int count, tc_entry *const *entries)
{
    const tc_entry *model = NULL;
    g->entries = entries;
    g->entry_count = count;
    for (int i = 0; i < count; ++i) {
        if (!entries[i]->is_model)
            continue;
        if (!model) {
            model = entries[i];
            g->model = model->name;
            g->model_file = file_of(g, model);
            g->op_site = model->site; /* where its name is judged */
            tc_check_identifier(g, "model", model->name);
        } else {
            tc_error(g, entries[i]->site, "further entry functions are TC_FUNCTION",
                     "a second TC_MODEL: %s (the first is %s)", entries[i]->name, model->name);
        }
    }
    if (!model) {
        const char *file = g->model_file ? g->model_file : "model.c";
        g->model_file = count ? file_of(g, entries[0]) : NULL;
        tc_error(g, count ? entries[0]->site : (tc_site){file, 1},
                 "TC_MODEL(name) { ... } declares the model; TC_FUNCTION(name) further entries", "no TC_MODEL");
        return false;
    }
    for (int pass = 0; pass < 2; ++pass) { /* the model's body first: it may declare what all functions share */
        for (int i = 0; i < count; ++i) {
            const tc_entry *e = entries[i];
            if (e->is_model != !pass || (e->is_model && e != model))
                continue;
            for (int j = 0; j < i; ++j)
                if (!strcmp(entries[j]->name, e->name))
                    tc_error(g, e->site, NULL, "a second function %s", e->name);
            tc_captured *f = tc_captured_new(g, e->name, true);
            tc_captured_run(g, f, e->body);
            bool declares_only = e->is_model && count > 1 && !f->parameters && !f->results_declared && !f->assigns;
            if (!declares_only) {
                check_entry(g, f, e->site);
                tc_captured_append(g, f);
            }
        }
    }
    if (g->dims.overflow)
        tc_error(g, model->site, "lower the upper ends of tc_dynamic", "a size expression leaves 64 bits");
    tc_warn_of_bare_norms(g);
    return g->error_count == 0;
}

bool tc_attempt(tc_graph *g, bool (*step)(tc_graph *g, void *argument), void *argument)
{
    jmp_buf *const outer = g->arena.escape;
    jmp_buf escape;
    g->arena.escape = &escape;
    const int left = setjmp(escape);
    const bool good = !left && step(g, argument);
    g->arena.escape = outer;
    g->out_of_memory |= left == TC_NO_MEMORY;
    return good;
}

void tc_give_up(tc_graph *g)
{
    if (!g->arena.escape)
        abort();
    longjmp(*g->arena.escape, TC_NO_MEMORY + 1);
}

typedef struct entry_list {
    int count;
    tc_entry *const *entries;
} entry_list;

static bool capture_list(tc_graph *g, void *list)
{
    const entry_list *l = list;
    return capture(g, l->count, l->entries);
}

bool tc_capture(tc_graph *g, int count, tc_entry *const *entries)
{
    if (stray_graph)
        g->error_count += stray_graph->error_count;
    return tc_attempt(g, capture_list, &(entry_list){count, entries});
}
