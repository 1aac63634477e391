/* SPDX-License-Identifier: Apache-2.0
 *
 * einsum: "bhqd,bhkd->bhqk". Operands are taken from left to right, two at a time.
 */
#include <ctype.h>
#include <string.h>

#include "compose.h"

/* Labels are letters; the dims of an ellipsis get labels of their own, from the last of them on. */
enum { ELLIPSIS = 128, LABELS = ELLIPSIS + TC_MAX_RANK };

/* A tensor and the label of each of its dims, all different. */
typedef struct term {
    tc_tensor x;
    unsigned char labels[TC_MAX_RANK];
} term;

typedef struct equation {
    tc_graph *g;
    tc_site at;
    const char *text;
    int operands, ellipsis; /* dims of the widest ellipsis */
    int uses[LABELS];       /* in operands not yet taken, and once more in the result */
    unsigned char result[TC_MAX_RANK];
    int result_rank;
} equation;

static bool fail(const equation *e, const char *hint, const char *what)
{
    tc_fail(e->g, hint, "\"%s\": %s", e->text, what);
    return false;
}

/* -- reading ------------------------------------------------------------------------------------------------------- */

/* Reads one list of labels up to a comma, an arrow or the end; `rank` is that of the operand, -1 for the result. */
static bool read_labels(equation *e, const char **p, int rank, unsigned char *labels, int *count)
{
    int letters = 0, dots = -1;
    for (const char *q = *p; *q && *q != ',' && *q != '-'; ++q)
        letters += isalpha((unsigned char)*q) ? 1 : 0;
    *count = 0;
    for (; **p && **p != ',' && **p != '-'; ++*p) {
        if (**p == ' ')
            continue;
        int added = 1;
        if (!strncmp(*p, "...", 3)) {
            if (dots >= 0)
                return fail(e, NULL, "two ellipses in one list");
            added = dots = rank < 0 ? e->ellipsis : rank - letters;
            if (dots < 0)
                break; /* reported below */
            *p += 2;
        } else if (!isalpha((unsigned char)**p)) {
            return fail(e, "letters, \"...\", commas and one \"->\"",
                        tc_arena_format(&e->g->arena, "unexpected '%c'", **p));
        }
        if (*count + added > TC_MAX_RANK)
            return fail(e, NULL, "too many dims in one list");
        for (int i = 0; i < added; ++i)
            labels[(*count)++] = dots >= 0 && **p == '.' ? (unsigned char)(ELLIPSIS + added - 1 - i)
                                                         : (unsigned char)**p;
    }
    if (dots > e->ellipsis)
        e->ellipsis = dots;
    return true;
}

/* The parts of x where the labels of axes `first` and `second` have equal positions; `second` vanishes. The two are
 * joined to n*n, padded to n*(n + 1) and split into rows of n + 1, whose first elements are the diagonal. */
static tc_tensor diagonal(const equation *e, tc_tensor x, int first, int second)
{
    tc_graph *g = e->g;
    int perm[TC_MAX_RANK], rank = x->type.rank, next = 0;
    const tc_expr *n = x->type.shape[first];
    if (!tc_same_dim(g, n, x->type.shape[second])) {
        tc_fail(g, "a repeated label takes the diagonal", "\"%s\": axes %d and %d of %s differ", e->text, first, second,
                tc_type_text(g, &x->type));
        return tc_poison();
    }
    for (int i = 0; i < rank; ++i)
        if (i != first && i != second)
            perm[next++] = i;
    perm[next] = first;
    perm[next + 1] = second;
    x = tc_permute_at(e->at, x, rank, perm);
    tc_dim shape[TC_MAX_RANK];
    for (int i = 0; i < next; ++i)
        shape[i] = tc_dim_of(x->type.shape[i]);
    shape[next] = tc_dim_of(tc_expr_mul(n, n));
    x = tc_reshape_at(e->at, x, next + 1, shape);
    x = tc_pad_axis_at(e->at, x, next, tc_dim_int_(0), tc_dim_of(n), tc_operand_int_(0));
    shape[next] = tc_dim_of(n);
    shape[next + 1] = tc_dim_of(tc_expr_add_int(n, 1));
    x = tc_select_at(e->at, tc_reshape_at(e->at, x, next + 2, shape), next + 1, tc_dim_int_(0));
    for (int i = 0, from = 0; i < rank - 1; ++i) /* the diagonal goes where `first` was */
        perm[i] = i == first - (second < first) ? rank - 2 : from++;
    return tc_permute_at(e->at, x, rank - 1, perm);
}

static bool read_operand(equation *e, const char **p, tc_tensor x, term *out)
{
    int count;
    unsigned char labels[TC_MAX_RANK];
    if (!read_labels(e, p, x->type.rank, labels, &count))
        return false;
    if (count != x->type.rank)
        return fail(e, "one label a dim",
                    tc_arena_format(&e->g->arena, "%d label%s for %s", count, count == 1 ? "" : "s",
                                    tc_type_text(e->g, &x->type)));
    *out = (term){.x = tc_prim_widen(e->g, x)};
    int rank = 0;
    for (int i = 0; i < count; ++i) {
        const unsigned char *seen = memchr(out->labels, labels[i], (size_t)rank);
        if (!seen) {
            out->labels[rank++] = labels[i];
            ++e->uses[labels[i]];
            continue;
        }
        out->x = diagonal(e, out->x, (int)(seen - out->labels), rank);
        if (tc_is_poison(out->x))
            return false;
    }
    return true;
}

/* The labels of the result: after the arrow, or those that occur once, ellipsis first, then in alphabetical order. */
static bool read_result(equation *e, const char *p, const int *occurrences)
{
    if (!*p) {
        for (int i = e->ellipsis - 1; i >= 0; --i)
            e->result[e->result_rank++] = (unsigned char)(ELLIPSIS + i);
        for (int label = 0; label < ELLIPSIS; ++label) {
            if (occurrences[label] != 1)
                continue;
            if (e->result_rank == TC_MAX_RANK)
                return fail(e, "name the result's labels: \"->...\"", "too many dims in the result");
            e->result[e->result_rank++] = (unsigned char)label;
        }
    } else {
        if (strncmp(p, "->", 2))
            return fail(e, "one list an operand, then \"->\" and that of the result", "an arrow is missing");
        p += 2;
        if (!read_labels(e, &p, -1, e->result, &e->result_rank))
            return false;
        if (*p)
            return fail(e, NULL, "more than one result");
    }
    for (int i = 0; i < e->result_rank; ++i) {
        if (!e->uses[e->result[i]])
            return fail(e, NULL, "a label of the result is in no operand");
        if (memchr(e->result, e->result[i], (size_t)i))
            return fail(e, NULL, "a label occurs twice in the result");
        ++e->uses[e->result[i]];
    }
    return true;
}

/* -- computing ----------------------------------------------------------------------------------------------------- */

static int position(const term *t, int label)
{
    for (int i = 0; i < t->x->type.rank; ++i)
        if (t->labels[i] == label)
            return i;
    return -1;
}

/* Removes the dims that nobody else needs, by sums. */
static void sum_alone(const equation *e, term *t)
{
    int axes[TC_MAX_RANK], count = 0, kept = 0;
    for (int i = 0; i < t->x->type.rank; ++i) {
        if (e->uses[t->labels[i]])
            t->labels[kept++] = t->labels[i];
        else
            axes[count++] = i;
    }
    if (count)
        t->x = tc_sum_at(e->at, t->x, false, count, axes);
}

/* A dim of size 1 that meets a larger one is repeated by leaving it out: the other operand alone has it then. */
static void drop_repeated(const equation *e, term *t, const term *other)
{
    for (int i = t->x->type.rank - 1; i >= 0; --i) {
        int at = position(other, t->labels[i]);
        if (at < 0 || !tc_expr_is(t->x->type.shape[i], 1) || tc_expr_is(other->x->type.shape[at], 1))
            continue;
        t->x = tc_squeeze_at(e->at, t->x, i);
        memmove(t->labels + i, t->labels + i + 1, (size_t)(t->x->type.rank - i));
    }
}

/* The product of two terms: labels of both that somebody else needs are batch dims, the others are summed. */
static bool multiply(const equation *e, term *a, term *b)
{
    const tc_site at = e->at;
    tc_contraction c = {0};
    term out = {0};
    int rank = 0;
    drop_repeated(e, a, b);
    drop_repeated(e, b, a);
    int ra = a->x->type.rank, rb = b->x->type.rank;
    for (int i = 0; i < ra; ++i) {
        int there = position(b, a->labels[i]);
        if (there < 0)
            continue;
        if (!tc_same_dim(e->g, a->x->type.shape[i], b->x->type.shape[there]))
            return fail(e, NULL,
                        tc_arena_format(&e->g->arena, "sizes of one label differ: %s and %s",
                                        tc_type_text(e->g, &a->x->type), tc_type_text(e->g, &b->x->type)));
        if (e->uses[a->labels[i]]) {
            c.a_batch[c.batch] = i;
            c.b_batch[c.batch++] = there;
            out.labels[rank++] = a->labels[i];
        } else {
            c.a_summed[c.summed] = i;
            c.b_summed[c.summed++] = there;
        }
    }
    if (ra + rb - c.batch - 2 * c.summed > TC_MAX_RANK)
        return fail(e, NULL, "an intermediate result has too many dims");
    for (int i = 0; i < ra; ++i)
        if (position(b, a->labels[i]) < 0)
            out.labels[rank++] = a->labels[i];
    for (int i = 0; i < rb; ++i)
        if (position(a, b->labels[i]) < 0)
            out.labels[rank++] = b->labels[i];
    if (c.summed) {
        out.x = tc_prim_contract(e->g, a->x, b->x, &c);
    } else { /* no sum: the elements' products, broadcast */
        tc_tensor sides[2];
        for (int side = 0; side < 2; ++side) {
            const term *t = side ? b : a;
            int perm[TC_MAX_RANK], from[TC_MAX_RANK], next = 0;
            tc_dim shape[TC_MAX_RANK];
            for (int i = 0; i < rank; ++i) {
                from[i] = position(t, out.labels[i]);
                shape[i] = from[i] < 0 ? tc_dim_int_(1) : tc_dim_of(t->x->type.shape[from[i]]);
                if (from[i] >= 0)
                    perm[next++] = from[i];
            }
            sides[side] = tc_reshape_at(at, tc_permute_at(at, t->x, next, perm), rank, shape);
        }
        out.x = MUL(sides[0], sides[1]);
    }
    *a = out;
    return !tc_is_poison(out.x);
}

static tc_tensor einsum(equation *e, const tc_tensor *operands)
{
    term *terms = tc_arena_alloc(&e->g->arena, (size_t)e->operands * sizeof *terms);
    int occurrences[LABELS];
    const char *p = e->text;
    memset(occurrences, 0, sizeof occurrences);
    for (int i = 0; i < e->operands; ++i) {
        const char *begin = p;
        if (!tc_check_same_dtype(e->g, &operands[0]->type, &operands[i]->type) ||
            !read_operand(e, &p, operands[i], &terms[i]))
            return tc_poison();
        for (; begin < p; ++begin)
            if (isalpha((unsigned char)*begin))
                ++occurrences[(unsigned char)*begin];
        bool more = *p == ',';
        if (more != (i + 1 < e->operands)) {
            fail(e, "one list an operand",
                 tc_arena_format(&e->g->arena, "%s lists than the %d operand%s", more ? "more" : "fewer", e->operands,
                                 e->operands == 1 ? "" : "s"));
            return tc_poison();
        }
        p += more;
    }
    if (!read_result(e, p, occurrences))
        return tc_poison();
    term all = terms[0];
    for (int i = 0; i < e->operands; ++i) {
        for (int d = 0; d < terms[i].x->type.rank; ++d)
            --e->uses[terms[i].labels[d]];
        term next = terms[i];
        if (!i) {
            sum_alone(e, &all);
            continue;
        }
        /* a label of this operand alone is summed before, one of both by the product */
        for (int d = 0; d < all.x->type.rank; ++d)
            ++e->uses[all.labels[d]];
        sum_alone(e, &next);
        for (int d = 0; d < all.x->type.rank; ++d)
            --e->uses[all.labels[d]];
        if (tc_is_poison(next.x) || !multiply(e, &all, &next))
            return tc_poison();
        sum_alone(e, &all);
        if (tc_is_poison(all.x))
            return all.x;
    }
    int perm[TC_MAX_RANK];
    for (int i = 0; i < e->result_rank; ++i)
        perm[i] = position(&all, e->result[i]);
    return tc_prim_narrow(e->g, tc_permute_at(e->at, all.x, e->result_rank, perm), operands[0]->type.dtype);
}

tc_tensor tc_einsum_at(tc_site at, const char *text, int count, const tc_tensor *operands)
{
    tc_graph *g = tc_op_enter_list(at, "tc_einsum", "einsum", count, operands);
    if (!g)
        return tc_poison();
    if (!text) {
        tc_fail(g, NULL, "the equation is NULL");
        return tc_op_leave(g, tc_poison());
    }
    equation e = {.g = g, .at = at, .text = text, .operands = count};
    return tc_op_leave(g, einsum(&e, operands));
}
