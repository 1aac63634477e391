/* SPDX-License-Identifier: Apache-2.0
 *
 * What quantized integers stand for. Each operation names scale and zero of its operands and of its result, so they
 * stand in a model twice or more; here they are compared. A tensor means what the operation that wrote it said; where
 * none did (an input, a table), what the first that read it said. Weights are left out: one may be read in several ways.
 */
#include <stdlib.h>
#include <string.h>

#include "quantization.h"

struct tc_meaning {
    float scale;
    int zero;
    bool written; /* else read */
    tc_site site;
};

/* -- where the elements of a tensor come from ---------------------------------------------------------------------- */

/* Operands from `first` to before `end` are what the node's elements are elements of. */
typedef struct sources {
    int first, end;
} sources;

static sources sources_of(const tc_node *node)
{
    switch (node->op) {
    case TC_OP_broadcast:
    case TC_OP_reshape:
    case TC_OP_transpose:
    case TC_OP_slice:
    case TC_OP_reverse:
    case TC_OP_gather:
    case TC_OP_sort: return (sources){0, 1};
    case TC_OP_pad:
    case TC_OP_concat:
    case TC_OP_update_slice:
    case TC_OP_maximum:
    case TC_OP_minimum: return (sources){0, node->operand_count};
    case TC_OP_select: return (sources){1, 3};
    case TC_OP_reduce:
    case TC_OP_reduce_where:
    case TC_OP_window_reduce:
    case TC_OP_cumulative:
        return (sources){0, !strcmp(node->attrs[0].text, "max") || !strcmp(node->attrs[0].text, "min")};
    default: return (sources){0, 0};
    }
}

/* The tensor of the same elements, each there once or more. */
static tc_tensor without_views(tc_tensor x)
{
    while (x->node->op == TC_OP_broadcast || x->node->op == TC_OP_reshape || x->node->op == TC_OP_transpose ||
           x->node->op == TC_OP_reverse)
        x = x->node->operands[0];
    return x;
}

static bool same(const tc_meaning *a, const tc_meaning *b)
{
    return a->scale == b->scale && a->zero == b->zero;
}

typedef struct pending {
    tc_tensor x;
    struct pending *next;
} pending;

/* A meaning of x or of what its elements come from; of several one that is not `mine` (NULL: the first). NULL where
 * nothing is known. */
static const tc_meaning *find(tc_graph *g, tc_tensor x, const tc_meaning *mine)
{
    const tc_meaning *found = NULL;
    pending *next = &(pending){x, NULL}, *last = next;
    const int walk = ++g->walks;
    for (; next; next = next->next) {
        const tc_meaning *meaning = next->x->meaning;
        tc_node *node = next->x->node;
        if (meaning && (!mine || !same(meaning, mine)))
            return meaning;
        if (meaning || node->walk == walk || next->x->index) {
            found = found ? found : meaning;
            continue;
        }
        node->walk = walk;
        const sources from = sources_of(node);
        for (int i = from.first; i < from.end; ++i) {
            pending *p = tc_arena_alloc(&g->arena, sizeof *p);
            *p = (pending){node->operands[i], NULL};
            last = last->next = p;
        }
    }
    return found;
}

/* -- what operations say ------------------------------------------------------------------------------------------- */

static tc_meaning *meaning_new(tc_graph *g, double scale, int zero, bool written)
{
    tc_meaning *m = tc_arena_alloc(&g->arena, sizeof *m);
    *m = (tc_meaning){(float)scale, zero, written, g->op_site};
    return m;
}

/* The shortest decimal number that is this float. */
static const char *scale_text(tc_graph *g, float scale)
{
    const char *text = NULL;
    for (int digits = 6; digits <= 9; ++digits) {
        text = tc_arena_format(&g->arena, "%.*g", digits, (double)scale);
        if (strtof(text, NULL) == scale)
            break;
    }
    return text;
}

void tc_read_as(tc_graph *g, const char *argument, tc_tensor x, double scale, int zero)
{
    if (tc_is_poison(x))
        return;
    const tc_meaning *mine = meaning_new(g, scale, zero, false), *found = find(g, x, mine);
    tc_tensor whole = without_views(x);
    if (found && !same(found, mine))
        tc_warn(g, g->op_site, NULL, "%s is read with the scale %s and the zero %d, and %s %s it with %s and %d",
                argument, scale_text(g, mine->scale), zero, tc_site_text(g, found->site),
                found->written ? "wrote" : "read", scale_text(g, found->scale), found->zero);
    else if (!found && whole->node->op != TC_OP_weight && whole->node->op != TC_OP_constant)
        whole->meaning = mine;
}

tc_tensor tc_written_as(tc_graph *g, tc_tensor y, double scale, int zero)
{
    if (!tc_is_poison(y))
        y->meaning = meaning_new(g, scale, zero, true);
    return y;
}

tc_tensor tc_means_as(tc_graph *g, tc_tensor y, tc_tensor x)
{
    if (!tc_is_poison(y) && !tc_is_poison(x))
        y->meaning = find(g, x, NULL);
    return y;
}

/* -- constants ----------------------------------------------------------------------------------------------------- */

/* The number that all elements of x are; false where that is not known, or x is no float of 32 or 64 bits. */
static bool float_of(tc_tensor x, double *number)
{
    x = without_views(x);
    const uint64_t bits = x->node->op == TC_OP_constant ? x->node->attrs[0].bits : 0;
    if (x->node->op != TC_OP_constant || (x->type.dtype != TC_F32 && x->type.dtype != TC_F64))
        return false;
    if (x->type.dtype == TC_F64) {
        memcpy(number, &bits, sizeof bits);
        return true;
    }
    const uint32_t half = (uint32_t)bits;
    float narrow;
    memcpy(&narrow, &half, sizeof half);
    *number = (double)narrow;
    return true;
}

/* The same of an integer of at most 32 bits. */
static bool integer_of(tc_tensor x, int *number)
{
    x = without_views(x);
    const tc_dtype_info *dtype = tc_dtype_about(x->type.dtype);
    if (x->node->op != TC_OP_constant || dtype->kind == TC_KIND_FLOAT || dtype->bytes > 4)
        return false;
    int64_t value = (int64_t)x->node->attrs[0].bits;
    if (dtype->kind == TC_KIND_SIGNED && value >> (8 * dtype->bytes - 1))
        value -= (int64_t)1 << (8 * dtype->bytes);
    *number = (int)value;
    return true;
}

static bool numbers_of(tc_tensor scale, tc_tensor zero, double *s, int *z)
{
    *z = 0;
    if (tc_is_poison(scale) || (zero && tc_is_poison(zero)))
        return false;
    return float_of(scale, s) && (!zero || integer_of(zero, z));
}

void tc_read_by(tc_graph *g, const char *argument, tc_tensor x, tc_tensor scale, tc_tensor zero)
{
    double s;
    int z;
    if (numbers_of(scale, zero, &s, &z))
        tc_read_as(g, argument, x, s, z);
}

tc_tensor tc_written_by(tc_graph *g, tc_tensor y, tc_tensor scale, tc_tensor zero)
{
    double s;
    int z;
    return numbers_of(scale, zero, &s, &z) ? tc_written_as(g, y, s, z) : y;
}
