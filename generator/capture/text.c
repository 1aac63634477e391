/* SPDX-License-Identifier: Apache-2.0
 *
 * The writer of docs/graph.md's text form. Values and regions are numbered here, in the order of the file.
 */
#include <inttypes.h>
#include <string.h>

#include "internal.h"

typedef struct writer {
    tc_graph *g;
    FILE *out;
    int regions; /* numbered so far */
} writer;

static void put_quoted(FILE *out, const char *text)
{
    putc('"', out);
    for (; *text; ++text) {
        if (*text == '\n') {
            fputs("\\n", out);
            continue;
        }
        if (*text == '"' || *text == '\\')
            putc('\\', out);
        putc(*text, out);
    }
    putc('"', out);
}

static void put_loc(writer *w, tc_site site)
{
    fputs(" loc(", w->out);
    put_quoted(w->out, tc_short_path(w->g, site.file));
    fprintf(w->out, ":%d)", site.line);
}

static void put_type(writer *w, const tc_type *type)
{
    fputs(tc_type_text(w->g, type), w->out);
}

static void put_value(writer *w, tc_tensor x)
{
    fprintf(w->out, "%%%d", x->node->number);
    if (x->node->result_count != 1)
        fprintf(w->out, ".%d", x->index);
}

static void put_attr(writer *w, const tc_node *node, const tc_attr *attr)
{
    switch (attr->kind) {
    case TC_ATTR_DIMS:
        putc('[', w->out);
        for (int i = 0; i < attr->count; ++i)
            fprintf(w->out, "%s%s", i ? ", " : "", tc_expr_text(attr->dims[i]));
        putc(']', w->out);
        break;
    case TC_ATTR_INTS:
        putc('[', w->out);
        for (int i = 0; i < attr->count; ++i)
            fprintf(w->out, "%s%" PRId64, i ? ", " : "", attr->ints[i]);
        putc(']', w->out);
        break;
    case TC_ATTR_INT: fprintf(w->out, "%" PRId64, attr->integer); break;
    case TC_ATTR_WORD: fputs(attr->text, w->out); break;
    case TC_ATTR_NAME: put_quoted(w->out, attr->text); break;
    case TC_ATTR_BITS:
        fprintf(w->out, "0x%0*" PRIx64, 2 * tc_dtype_size(node->results[0].type.dtype), attr->bits);
        break;
    case TC_ATTR_GRAPH: fprintf(w->out, "@%s", attr->graph->name); break;
    }
}

static void put_attrs(writer *w, const tc_node *node)
{
    const char *names = tc_op_attributes(node->op);
    if (!*names)
        return;
    fputs(" {", w->out);
    for (int i = 0; *names; ++i) {
        int length = (int)strcspn(names, ":");
        fprintf(w->out, "%s%.*s=", i ? ", " : "", length, names);
        put_attr(w, node, &node->attrs[i]);
        names += strcspn(names, " ");
        names += *names == ' ';
    }
    putc('}', w->out);
}

static void number_region(writer *w, tc_region *r)
{
    if (!r || r->number)
        return;
    number_region(w, (tc_region *)r->parent);
    if (!r->is_scope)
        r->number = ++w->regions;
}

static void put_region_path(writer *w, const tc_region *r)
{
    if (r->parent) {
        put_region_path(w, r->parent);
        putc('/', w->out);
    }
    fputs(r->name, w->out);
    if (!r->is_scope)
        fprintf(w->out, "#%d", r->number);
}

static void put_node(writer *w, tc_node *node)
{
    fprintf(w->out, "  %%%d = %s(", node->number, tc_op_text(node->op));
    for (int i = 0; i < node->operand_count; ++i) {
        fputs(i ? ", " : "", w->out);
        put_value(w, node->operands[i]);
    }
    putc(')', w->out);
    put_attrs(w, node);
    fputs(" : ", w->out);
    if (node->result_count != 1)
        putc('(', w->out);
    for (int i = 0; i < node->result_count; ++i) {
        fputs(i ? ", " : "", w->out);
        put_type(w, &node->results[i].type);
    }
    if (node->result_count != 1)
        putc(')', w->out);
    put_loc(w, node->site);
    if (node->region) {
        number_region(w, node->region);
        fputs(" scope(\"", w->out);
        put_region_path(w, node->region);
        fputs("\")", w->out);
    }
    putc('\n', w->out);
}

static void put_all_named(writer *w, const char *what, const tc_named *first)
{
    for (const tc_named *n = first; n; n = n->next) {
        fprintf(w->out, "  %s ", what);
        put_quoted(w->out, n->name);
        putc(' ', w->out);
        put_value(w, n->value);
        put_loc(w, n->site);
        putc('\n', w->out);
    }
}

static void put_function(writer *w, tc_captured *f)
{
    int number = 0;
    fprintf(w->out, "\nfunction %s(", f->name);
    for (tc_node *p = f->parameters; p; p = p->next) {
        p->number = number++;
        fprintf(w->out, "%s%%%d ", p == f->parameters ? "" : ", ", p->number);
        put_quoted(w->out, p->attrs[0].text);
        fputs(" : ", w->out);
        put_type(w, &p->results[0].type);
        put_loc(w, p->site);
    }
    fprintf(w->out, ")%s {\n", f->is_entry ? " entry" : "");
    for (const tc_guard *guard = f->guards; guard; guard = guard->next) {
        const char *lhs = tc_expr_text(guard->lhs), *rhs = tc_expr_text(guard->rhs);
        fputs("  guard ", w->out);
        put_quoted(w->out, tc_arena_format(&w->g->arena, "%s %s %s", lhs, guard->is_equality ? "=" : ">=", rhs));
        fprintf(w->out, " %s %s %s", lhs, guard->is_equality ? "==" : ">=", rhs);
        put_loc(w, guard->site);
        putc('\n', w->out);
    }
    for (tc_node *node = f->nodes; node; node = node->next) {
        node->number = number++;
        put_node(w, node);
    }
    put_all_named(w, "assign", f->assigns);
    put_all_named(w, "return", f->results);
    fputs("}\n", w->out);
}

void tc_text_write(tc_graph *g, FILE *out)
{
    writer w = {.g = g, .out = out};
    fputs("tensor_compile.graph 1\nmodel ", out);
    put_quoted(out, g->model);
    putc('\n', out);
    for (const tc_dim_decl *d = g->dim_decls; d; d = d->next) {
        fprintf(out, "dim %s range=%" PRId64 ":%" PRId64 " divisor=%" PRId64 " specialize=[", d->sym->name, d->sym->lo,
                d->sym->hi, d->sym->divisor);
        for (int i = 0; i < d->specialize_count; ++i)
            fprintf(out, "%s%d", i ? ", " : "", d->specialize[i]);
        putc(']', out);
        put_loc(&w, d->site);
        putc('\n', out);
    }
    for (const tc_weight_file *f = g->files; f; f = f->next) {
        fprintf(out, "file %d ", f->number);
        put_quoted(out, f->printed);
        putc('\n', out);
    }
    for (const tc_weight_decl *d = g->weights; d; d = d->next) {
        fputs("weight ", out);
        put_quoted(out, d->name);
        fputs(" : ", out);
        put_type(&w, &d->type);
        fprintf(out, " file=%d", d->file);
        put_loc(&w, d->site);
        putc('\n', out);
    }
    for (const tc_state_decl *d = g->states; d; d = d->next) {
        fputs("state ", out);
        put_quoted(out, d->name);
        fputs(" : ", out);
        put_type(&w, &d->type);
        put_loc(&w, d->site);
        putc('\n', out);
    }
    for (tc_captured *f = g->functions; f; f = f->next)
        put_function(&w, f);
}
