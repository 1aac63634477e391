/* SPDX-License-Identifier: Apache-2.0
 *
 * The larger and the smaller of two expressions; the counterpart of symbolic/extrema.py, in the same order of steps.
 */
#include "dims.h"

#include <string.h>

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
    const int64_t g = tc_expr_coefficients_gcd(b, tc_expr_coefficients_gcd(a, 0));
    if (g > 1)
        return tc_expr_mul_int(extremum(kind, tc_expr_scaled_down(a, g), tc_expr_scaled_down(b, g)), g);
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
