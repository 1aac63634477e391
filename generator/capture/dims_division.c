/* SPDX-License-Identifier: Apache-2.0
 *
 * Floor division of canonical polynomials: what is divided exactly, what cannot carry and what merges leaves; the rest
 * is an atom. The counterpart of symbolic/division.py, in the same order of steps.
 */
#include "dims.h"

#include <stdlib.h>
#include <string.h>

typedef struct tc_quotient {
    const tc_expr *den, *result;
    struct tc_quotient *next;
} tc_quotient;

/* term / by where that is a monomial with an integer coefficient. */
static bool divide_term(tc_dims *dims, const tc_term *term, const tc_term *by, tc_term *out)
{
    if (term->coefficient % by->coefficient || term->degree < by->degree)
        return false;
    const tc_atom **rest = tc_arena_alloc(dims->arena, (size_t)(term->degree + 1) * sizeof *rest);
    int n = 0, j = 0;
    for (int i = 0; i < term->degree; ++i) { /* both are sorted */
        if (j < by->degree && term->atoms[i] == by->atoms[j])
            ++j;
        else
            rest[n++] = term->atoms[i];
    }
    if (j < by->degree)
        return false;
    *out = (tc_term){.coefficient = term->coefficient / by->coefficient, .degree = n, .atoms = rest};
    return true;
}

const tc_expr *tc_expr_exact_div(const tc_expr *num, const tc_expr *den)
{
    tc_dims *dims = num->dims;
    if (num == den)
        return dims->one;
    if (!den->count)
        return NULL;
    const tc_expr *quotient = dims->zero, *rest = num;
    for (int step = 0; step < num->count + 8; ++step) {
        if (!rest->count)
            return quotient;
        tc_term divided;
        int i = 0;
        while (i < rest->count && !divide_term(dims, &rest->terms[i], &den->terms[0], &divided))
            ++i;
        if (i == rest->count)
            return NULL;
        const tc_expr *part = tc_expr_of_term(dims, &divided);
        quotient = tc_expr_add(quotient, part);
        rest = tc_expr_sub(rest, tc_expr_mul(part, den));
    }
    return NULL;
}

/* num without the terms whose sum lies in [0, g), g dividing the other terms and den: they cannot carry. */
static const tc_expr *drop_small(const tc_expr *num, int64_t den)
{
    tc_dims *dims = num->dims;
    tc_term *order = tc_dims_terms(dims, num->count);
    memcpy(order, num->terms, (size_t)num->count * sizeof *order);
    for (int i = 1; i < num->count; ++i) { /* by magnitude, largest first, stable */
        tc_term term = order[i];
        int j = i;
        for (; j > 0 && llabs(order[j - 1].coefficient) < llabs(term.coefficient); --j)
            order[j] = order[j - 1];
        order[j] = term;
    }
    int64_t g = 0;
    for (int i = 0; i < num->count; ++i) {
        g = tc_gcd(tc_gcd(g, order[i].coefficient), den);
        if (g <= 1)
            return NULL;
        tc_term *kept = tc_dims_terms(dims, num->count);
        int n = 0;
        for (int j = 0; j < num->count; ++j)
            if (num->terms[j].coefficient % g == 0)
                kept[n++] = num->terms[j];
        const tc_expr *big = tc_expr_of_terms(dims, n, kept), *small = tc_expr_sub(num, big);
        if (!small->count)
            return NULL;
        if (tc_expr_nonnegative(small) && tc_expr_nonnegative(tc_expr_sub(tc_expr_const(dims, g - 1), small)))
            return big;
    }
    return NULL;
}

static const tc_expr *division_atom(const tc_expr *num, const tc_expr *den)
{
    tc_dims *dims = num->dims;
    for (tc_atom_list *l = dims->divisions; l; l = l->next)
        if (l->atom.num == num && l->atom.den == den)
            return tc_expr_of_atom(dims, &l->atom);
    tc_atom_list *l = tc_arena_alloc(dims->arena, sizeof *l);
    const char *key = tc_arena_format(dims->arena, "%s//%s", tc_expr_text(num), tc_expr_text(den));
    int64_t d;
    bool exact = tc_expr_value(den, &d) && tc_expr_divisor(num) % d == 0;
    *l = (tc_atom_list){.next = dims->divisions};
    l->atom = (tc_atom){.kind = TC_ATOM_DIVISION, .num = num, .den = den, .key = key, .exact = exact ? d : 0};
    dims->has_exact |= exact;
    dims->divisions = l;
    return tc_expr_of_atom(dims, &l->atom);
}

/* The rules for a constant divisor; NULL where none applies. */
static const tc_expr *divide_by_constant(const tc_expr *num, const tc_expr *den, int64_t d)
{
    tc_dims *dims = num->dims;
    int64_t constant = tc_expr_constant_term(num);
    const tc_expr *rest = tc_expr_add_int(num, -constant);
    int64_t g = tc_gcd(tc_expr_divisor(rest), d);
    if (g > 1) {
        tc_term *scaled = tc_dims_terms(dims, rest->count);
        int i = 0;
        for (; i < rest->count && rest->terms[i].coefficient % g == 0; ++i) {
            scaled[i] = rest->terms[i];
            scaled[i].coefficient /= g;
        }
        if (i == rest->count) {
            const tc_expr *inner = tc_expr_add_int(tc_expr_of_terms(dims, i, scaled), tc_floor_div(constant, g));
            return d / g != 1 ? tc_expr_floordiv(inner, tc_expr_const(dims, d / g)) : inner;
        }
        if (tc_floor_mod(constant, g))
            return tc_expr_floordiv(tc_expr_add_int(num, -tc_floor_mod(constant, g)), den);
    }
    const tc_expr *big = drop_small(num, d);
    return big ? tc_expr_floordiv(big, den) : NULL;
}

/* floor((floor(x/a) + c)/b) = floor((x + a*c)/(a*b)), for a c where a and b are constants; NULL where num is not so. */
static const tc_expr *merge_division(const tc_expr *num, const tc_expr *den)
{
    const int64_t constant = tc_expr_constant_term(num);
    const tc_expr *inner = tc_expr_add_int(num, -constant);
    int64_t a, b;
    if (inner->count != 1 || inner->terms[0].coefficient != 1 || inner->terms[0].degree != 1)
        return NULL;
    const tc_atom *atom = inner->terms[0].atoms[0];
    if (atom->kind != TC_ATOM_DIVISION || (constant && !(tc_expr_value(atom->den, &a) && tc_expr_value(den, &b))))
        return NULL;
    return tc_expr_floordiv(tc_expr_add(atom->num, tc_expr_mul_int(atom->den, constant)), tc_expr_mul(atom->den, den));
}

static const tc_expr *reduce_floordiv(const tc_expr *num, const tc_expr *den)
{
    tc_dims *dims = num->dims;
    const tc_expr *exact = tc_expr_exact_div(num, den);
    if (exact)
        return exact;
    const tc_expr *quotient = dims->zero;
    if (den->count == 1) {
        const tc_term *by = &den->terms[0];
        tc_term *q = tc_dims_terms(dims, num->count), *rest = tc_dims_terms(dims, num->count);
        int q_count = 0, rest_count = 0;
        for (int i = 0; i < num->count; ++i) {
            const tc_term *t = &num->terms[i];
            if (divide_term(dims, t, by, &q[q_count])) {
                ++q_count;
            } else if (!by->degree && !t->degree && (t->coefficient < 0 || t->coefficient > by->coefficient)) {
                q[q_count++] = (tc_term){.coefficient = tc_floor_div(t->coefficient, by->coefficient)};
                rest[rest_count++] = (tc_term){.coefficient = tc_floor_mod(t->coefficient, by->coefficient)};
            } else {
                rest[rest_count++] = *t;
            }
        }
        quotient = tc_expr_of_terms(dims, q_count, q);
        num = tc_expr_of_terms(dims, rest_count, rest);
    }
    if (tc_expr_nonnegative(num) && tc_expr_nonnegative(tc_expr_sub(tc_expr_add_int(den, -1), num)))
        return quotient;
    int64_t d;
    if (tc_expr_value(den, &d)) {
        const tc_expr *found = divide_by_constant(num, den, d);
        if (found)
            return tc_expr_add(quotient, found);
    }
    const tc_expr *merged = merge_division(num, den);
    if (merged)
        return tc_expr_add(quotient, merged);
    if (!num->count)
        return quotient;
    return tc_expr_add(quotient, division_atom(num, den));
}

const tc_expr *tc_expr_floordiv(const tc_expr *num, const tc_expr *den)
{
    int64_t n, d;
    if (tc_expr_is(den, 1))
        return num;
    if (tc_expr_is(den, 0)) { /* not positive: the caller's error, named there */
        num->dims->overflow = true;
        return num;
    }
    if (tc_expr_value(num, &n) && tc_expr_value(den, &d))
        return tc_expr_const(num->dims, tc_floor_div(n, d));
    for (tc_quotient *q = num->quotients; q; q = q->next)
        if (q->den == den)
            return q->result;
    tc_quotient *q = tc_arena_alloc(num->dims->arena, sizeof *q);
    q->den = den;
    q->result = reduce_floordiv(num, den);
    q->next = num->quotients;
    ((tc_expr *)num)->quotients = q;
    return q->result;
}
