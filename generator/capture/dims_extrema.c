/* SPDX-License-Identifier: Apache-2.0
 *
 * The larger and the smaller of two expressions; the counterpart of symbolic/extrema.py, in the same order of steps.
 */
#include "dims.h"

#include <string.h>

static int64_t coefficients_gcd(const tc_expr *e, int64_t g)
{
    for (int i = 0; i < e->count; ++i)
        g = tc_gcd(g, e->terms[i].coefficient);
    return g;
}

/* e / g, which divides every coefficient. */
static const tc_expr *scaled_down(const tc_expr *e, int64_t g)
{
    const tc_expr *out = e->dims->zero;
    for (int i = 0; i < e->count; ++i) {
        tc_term term = e->terms[i];
        term.coefficient /= g;
        out = tc_expr_add(out, tc_expr_of_term(e->dims, &term));
    }
    return out;
}

static const tc_expr *extremum_atom(tc_atom_kind kind, const tc_expr *a, const tc_expr *b)
{
    tc_dims *dims = a->dims;
    for (tc_atom_list *l = dims->extrema; l; l = l->next)
        if (l->atom.kind == kind && l->atom.num == a && l->atom.den == b)
            return tc_expr_of_atom(dims, &l->atom);
    tc_atom_list *l = tc_arena_alloc(dims->arena, sizeof *l);
    const char *key = tc_arena_format(dims->arena, "%s(%s, %s)", kind == TC_ATOM_MAX ? "max" : "min", tc_expr_text(a),
                                      tc_expr_text(b));
    *l = (tc_atom_list){.atom = {.kind = kind, .num = a, .den = b, .key = key}, .next = dims->extrema};
    dims->extrema = l;
    return tc_expr_of_atom(dims, &l->atom);
}

static const tc_expr *extremum(tc_atom_kind kind, const tc_expr *a, const tc_expr *b)
{
    const bool largest = kind == TC_ATOM_MAX;
    if (tc_expr_nonnegative(tc_expr_sub(a, b)))
        return largest ? a : b;
    if (tc_expr_nonnegative(tc_expr_sub(b, a)))
        return largest ? b : a;
    const int64_t one = tc_expr_constant_term(a), two = tc_expr_constant_term(b), common = one < two ? one : two;
    if (common)
        return tc_expr_add_int(extremum(kind, tc_expr_add_int(a, -common), tc_expr_add_int(b, -common)), common);
    const int64_t g = coefficients_gcd(b, coefficients_gcd(a, 0));
    if (g > 1)
        return tc_expr_mul_int(extremum(kind, scaled_down(a, g), scaled_down(b, g)), g);
    const bool swap = strcmp(tc_expr_text(b), tc_expr_text(a)) < 0;
    return extremum_atom(kind, swap ? b : a, swap ? a : b);
}

const tc_expr *tc_expr_max(const tc_expr *a, const tc_expr *b)
{
    return extremum(TC_ATOM_MAX, a, b);
}

const tc_expr *tc_expr_min(const tc_expr *a, const tc_expr *b)
{
    return extremum(TC_ATOM_MIN, a, b);
}
