/* SPDX-License-Identifier: Apache-2.0
 *
 * Bounds and the prover of symbolic.py for dims (loop variables, whose range depends on dims, exist only there).
 */
#include "dims.h"

static const tc_bound unknown = {false, 0};

static bool product(int64_t a, int64_t b, int64_t *out)
{
    return !__builtin_mul_overflow(a, b, out);
}

static void atom_range(const tc_atom *atom, tc_bound *lo, tc_bound *hi)
{
    if (atom->sym) {
        *lo = (tc_bound){true, atom->sym->lo};
        *hi = (tc_bound){true, atom->sym->hi};
        return;
    }
    tc_bound nlo = tc_expr_lo(atom->num), nhi = tc_expr_hi(atom->num);
    tc_bound dlo = tc_expr_lo(atom->den), dhi = tc_expr_hi(atom->den);
    *lo = *hi = unknown;
    if (!dlo.known || dlo.value <= 0)
        return;
    bool dhi_usable = dhi.known && dhi.value;
    if (nlo.known) {
        *lo = (tc_bound){true, 0};
        if (nlo.value < 0 || dhi_usable)
            lo->value = tc_floor_div(nlo.value, nlo.value >= 0 && dhi_usable ? dhi.value : dlo.value);
    }
    if (nhi.known) {
        *hi = (tc_bound){true, 0};
        if (nhi.value >= 0)
            hi->value = tc_floor_div(nhi.value, dlo.value);
        else if (dhi_usable)
            hi->value = tc_floor_div(nhi.value, dhi.value);
    }
}

static tc_bound bound(const tc_expr *e, bool upper)
{
    int64_t total = 0;
    for (int i = 0; i < e->count; ++i) {
        const tc_term *t = &e->terms[i];
        tc_bound lo = {true, 1}, hi = {true, 1};
        for (int j = 0; j < t->degree; ++j) {
            tc_bound alo, ahi;
            atom_range(t->atoms[j], &alo, &ahi);
            if (!alo.known || alo.value < 0) {
                if (t->degree > 1)
                    return unknown;
                lo = alo;
                hi = ahi;
                break;
            }
            if (!product(lo.value, alo.value, &lo.value))
                return unknown;
            if (hi.known)
                hi.known = ahi.known && product(hi.value, ahi.value, &hi.value);
        }
        tc_bound pick = (t->coefficient > 0) == upper ? hi : lo;
        int64_t term;
        if (!pick.known || !product(t->coefficient, pick.value, &term) || __builtin_add_overflow(total, term, &total))
            return unknown;
    }
    return (tc_bound){true, total};
}

static void find_bounds(const tc_expr *e)
{
    if (e->has_bounds)
        return;
    tc_expr *own = (tc_expr *)e;
    own->lo = bound(e, false);
    own->hi = bound(e, true);
    own->has_bounds = true;
}

tc_bound tc_expr_lo(const tc_expr *e)
{
    find_bounds(e);
    return e->lo;
}

tc_bound tc_expr_hi(const tc_expr *e)
{
    find_bounds(e);
    return e->hi;
}

static bool term_has(const tc_term *t, const tc_atom *atom)
{
    for (int i = 0; i < t->degree; ++i)
        if (t->atoms[i] == atom)
            return true;
    return false;
}

/* Every coefficient >= 0 once each dim is written as its lower end plus a non-negative rest. */
static bool prove_by_shift(const tc_expr *e)
{
    const tc_expr *moved = e;
    bool shifted = false;
    for (int i = 0; i < e->count; ++i)
        for (int j = 0; j < e->terms[i].degree; ++j)
            if (!e->terms[i].atoms[j]->sym || e->terms[i].atoms[j]->sym->lo < 0)
                return false;
    for (int i = 0; i < e->count; ++i) {
        for (int j = 0; j < e->terms[i].degree; ++j) {
            const tc_atom *atom = e->terms[i].atoms[j];
            bool seen = j > 0 && e->terms[i].atoms[j - 1] == atom;
            for (int k = 0; k < i && !seen; ++k)
                seen = term_has(&e->terms[k], atom);
            if (seen || atom->sym->lo <= 0)
                continue;
            moved = tc_expr_substitute(moved, atom->sym,
                                       tc_expr_add_int(tc_expr_of_atom(e->dims, atom), atom->sym->lo));
            shifted = true;
        }
    }
    for (int i = 0; i < moved->count; ++i)
        if (moved->terms[i].coefficient < 0)
            return false;
    return shifted;
}

/* x*y - x = x*(y - 1): take out a factor that divides every term and is itself non-negative. */
static bool prove_by_factor(const tc_expr *e)
{
    if (e->count < 2)
        return false;
    const tc_atom *previous = NULL;
    for (int j = 0; j < e->terms[0].degree; ++j) {
        const tc_atom *atom = e->terms[0].atoms[j];
        if (atom == previous)
            continue;
        previous = atom;
        int i = 1;
        while (i < e->count && term_has(&e->terms[i], atom))
            ++i;
        tc_bound lo, hi;
        atom_range(atom, &lo, &hi);
        if (i < e->count || !lo.known || lo.value < 0)
            continue;
        const tc_expr *quotient = tc_expr_exact_div(e, tc_expr_of_atom(e->dims, atom));
        if (quotient && quotient != e && tc_expr_nonnegative(quotient))
            return true;
    }
    return prove_by_shift(e);
}

/* Replaces floordiv(n, d), d constant, by its linear bounds: (n - d + 1)/d <= floordiv(n, d) <= n/d. */
static bool prove_by_floor(const tc_expr *e)
{
    for (int i = 0; i < e->count; ++i) {
        const tc_term *t = &e->terms[i];
        int64_t d;
        if (t->degree != 1 || t->atoms[0]->sym || !tc_expr_value(t->atoms[0]->den, &d))
            continue;
        const tc_expr *rest = tc_expr_mul_int(tc_expr_sub(e, tc_expr_of_term(e->dims, t)), d);
        const tc_expr *num = t->atoms[0]->num;
        const tc_expr *linear = tc_expr_mul_int(t->coefficient < 0 ? num : tc_expr_add_int(num, 1 - d), t->coefficient);
        if (tc_expr_nonnegative(tc_expr_add(rest, linear)))
            return true;
    }
    return false;
}

bool tc_expr_nonnegative(const tc_expr *e)
{
    int64_t value;
    if (tc_expr_value(e, &value))
        return value >= 0;
    if (!e->nonnegative) {
        tc_expr *own = (tc_expr *)e;
        own->nonnegative = 1; /* a question that leads back to itself is not proved */
        tc_bound lo = tc_expr_lo(e);
        own->nonnegative = (lo.known && lo.value >= 0) || prove_by_factor(e) || prove_by_floor(e) ? 2 : 1;
    }
    return e->nonnegative == 2;
}

bool tc_expr_never_equal(const tc_expr *a, const tc_expr *b)
{
    const tc_expr *d = tc_expr_sub(a, b);
    if (tc_expr_nonnegative(tc_expr_add_int(d, -1)) ||
        tc_expr_nonnegative(tc_expr_add_int(tc_expr_mul_int(d, -1), -1)))
        return true;
    int64_t constant = d->count && d->terms[d->count - 1].degree == 0 ? d->terms[d->count - 1].coefficient : 0;
    int64_t g = tc_expr_divisor(tc_expr_add_int(d, -constant));
    return g > 1 && constant % g != 0;
}
