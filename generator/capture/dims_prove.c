/* SPDX-License-Identifier: Apache-2.0
 *
 * Bounds and the prover of symbolic/prover.py for dims (loop variables, whose range depends on dims, exist only there).
 */
#include "dims.h"

static const tc_bound unknown = {false, 0};

static bool product(int64_t a, int64_t b, int64_t *out)
{
    return !__builtin_mul_overflow(a, b, out);
}

/* Of what both bounds say; `either`: one alone says something, too. */
static tc_bound joined(tc_bound a, tc_bound b, bool larger, bool either)
{
    if (!a.known || !b.known)
        return !either ? unknown : a.known ? a : b;
    return (a.value > b.value) == larger ? a : b;
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
    if (atom->kind != TC_ATOM_DIVISION) {
        const bool largest = atom->kind == TC_ATOM_MAX;
        *lo = joined(nlo, dlo, largest, largest);
        *hi = joined(nhi, dhi, largest, !largest);
        return;
    }
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

/* What an atom is above its lower bound: a symbol of its own. */
typedef struct above {
    const tc_atom *atom;
    const tc_expr *more;
    struct above *next;
} above;

static const tc_expr *above_of(tc_dims *dims, above **known, const tc_atom *atom)
{
    int count = 0;
    for (above *a = *known; a; a = a->next, ++count)
        if (a->atom == atom)
            return a->more;
    tc_sym *sym = tc_arena_alloc(dims->arena, sizeof *sym);
    *sym = (tc_sym){tc_arena_format(dims->arena, "above%d", count), 0, INT64_MAX, 1};
    above *a = tc_arena_alloc(dims->arena, sizeof *a);
    *a = (above){atom, tc_expr_sym(dims, sym), *known};
    *known = a;
    return a->more;
}

/* With every dim and every quotient written as its lower bound plus something that is not negative, no coefficient is
 * negative: (f - 1)*(w - 2) for f >= 4 and w >= 7. */
static bool prove_by_shift(const tc_expr *e)
{
    const bool overflow = e->dims->overflow;
    const tc_expr *moved = e->dims->zero;
    above *known = NULL;
    for (int i = 0; i < e->count; ++i) {
        const tc_expr *part = tc_expr_const(e->dims, e->terms[i].coefficient);
        for (int j = 0; j < e->terms[i].degree; ++j) {
            const tc_atom *atom = e->terms[i].atoms[j];
            tc_bound lo, hi;
            atom_range(atom, &lo, &hi);
            if (!lo.known || lo.value < 0)
                return false;
            part = tc_expr_mul(part, tc_expr_add_int(above_of(e->dims, &known, atom), lo.value));
        }
        moved = tc_expr_add(moved, part);
    }
    /* numbers beyond 64 bits prove nothing, and are no error of the model */
    const bool exact = e->dims->overflow == overflow;
    e->dims->overflow = overflow;
    for (int i = 0; i < moved->count; ++i)
        if (moved->terms[i].coefficient < 0)
            return false;
    return exact;
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

/* Replaces floordiv(n, d) by what it says of n: q <= floordiv(n, d) where q*d <= n, and floordiv(n, d) <= q where
 * n <= q*d + d - 1; with another factor, where d is a constant, by (n - d + 1)/d <= floordiv(n, d) <= n/d. */
static bool prove_by_floor(const tc_expr *e)
{
    for (int i = 0; i < e->count; ++i) {
        const tc_term *t = &e->terms[i];
        if (t->degree != 1 || t->atoms[0]->kind != TC_ATOM_DIVISION)
            continue;
        const tc_expr *n = t->atoms[0]->num, *d = t->atoms[0]->den;
        const tc_expr *rest = tc_expr_mul(tc_expr_sub(e, tc_expr_of_term(e->dims, t)), d);
        int64_t c = t->coefficient, constant;
        if (c == 1 && tc_expr_nonnegative(tc_expr_add(n, rest)))
            return true;
        if (c == -1 && tc_expr_nonnegative(tc_expr_sub(tc_expr_add_int(tc_expr_add(rest, d), -1), n)))
            return true;
        if (!tc_expr_value(d, &constant))
            continue;
        const tc_expr *linear = tc_expr_mul_int(c < 0 ? n : tc_expr_add_int(n, 1 - constant), c);
        if (tc_expr_nonnegative(tc_expr_add(rest, linear)))
            return true;
    }
    return false;
}

/* The different floor divisions of e, sorted; at most `room`. */
static int divisions_of(const tc_expr *e, const tc_atom **out, int room)
{
    int count = 0;
    for (int i = 0; i < e->count; ++i) {
        for (int j = 0; j < e->terms[i].degree; ++j) {
            const tc_atom *atom = e->terms[i].atoms[j];
            int at = 0;
            while (at < count && tc_atom_compare(out[at], atom) < 0)
                ++at;
            if (atom->kind != TC_ATOM_DIVISION || (at < count && out[at] == atom) || count == room)
                continue;
            for (int k = count++; k > at; --k)
                out[k] = out[k - 1];
            out[at] = atom;
        }
    }
    return count;
}

/* What multiplies `atom` in the terms of e that hold it once. */
static const tc_expr *factor_of(const tc_expr *e, const tc_atom *atom)
{
    const tc_expr *factor = e->dims->zero, *alone = tc_expr_of_atom(e->dims, atom);
    for (int i = 0; i < e->count; ++i) {
        int times = 0;
        for (int j = 0; j < e->terms[i].degree; ++j)
            times += e->terms[i].atoms[j] == atom;
        if (times == 1)
            factor = tc_expr_add(factor, tc_expr_exact_div(tc_expr_of_term(e->dims, &e->terms[i]), alone));
    }
    return factor;
}

static bool holds(const tc_expr *e, const tc_atom *atom)
{
    for (int i = 0; i < e->count; ++i)
        if (term_has(&e->terms[i], atom))
            return true;
    return false;
}

/* e is proved by 0 <= n - d*atom <= d - 1, or d - g where g divides n and d; atom = floordiv(n, d). */
static bool by_one_remainder(const tc_expr *e, const tc_atom *atom, const tc_expr *n, const tc_expr *d)
{
    const tc_expr *times = tc_expr_exact_div(factor_of(e, atom), d);
    int64_t constant;
    if (!times || !tc_expr_value(times, &constant))
        return false;
    const tc_expr *remainder = tc_expr_sub(n, tc_expr_mul(d, tc_expr_of_atom(e->dims, atom)));
    const tc_expr *rest = tc_expr_add(e, tc_expr_mul_int(remainder, constant));
    if (holds(rest, atom))
        return false;
    int64_t known, step = tc_expr_value(d, &known) ? tc_gcd(tc_expr_divisor(n), known) : 1; /* of remainders */
    if (constant >= 0)
        rest = tc_expr_sub(rest, tc_expr_mul_int(tc_expr_add_int(d, -step), constant));
    return tc_expr_nonnegative(rest);
}

/* Takes out a remainder, also of n that is a floor division itself: floordiv(n, d1*d) = floordiv(floordiv(n, d1),
 * d). */
static bool prove_by_remainder(const tc_expr *e)
{
    const tc_atom *atoms[16];
    int count = divisions_of(e, atoms, 16);
    for (int i = 0; i < count; ++i) {
        if (by_one_remainder(e, atoms[i], atoms[i]->num, atoms[i]->den))
            return true;
        for (int j = 0; j < count; ++j) {
            const tc_expr *d = j != i && atoms[j]->num == atoms[i]->num
                                   ? tc_expr_exact_div(atoms[i]->den, atoms[j]->den)
                                   : NULL;
            if (d && by_one_remainder(e, atoms[i], tc_expr_of_atom(e->dims, atoms[j]), d))
                return true;
        }
    }
    return false;
}

/* Takes an exact division as its numerator: den times e is not negative where e is not. */
static bool prove_by_multiple(const tc_expr *e)
{
    const tc_atom *atoms[16];
    int count = e->dims->has_exact ? divisions_of(e, atoms, 16) : 0;
    for (int i = 0; i < count; ++i) {
        const tc_expr *multiple = atoms[i]->exact ? tc_expr_mul_int(e, atoms[i]->exact) : NULL;
        if (multiple && !holds(multiple, atoms[i]))
            return tc_expr_nonnegative(multiple);
    }
    return false;
}

/* The max or min of e that sorts first; NULL where there is none. */
static const tc_atom *first_extremum(const tc_expr *e)
{
    const tc_atom *first = NULL;
    for (int i = 0; i < e->count; ++i) {
        for (int j = 0; j < e->terms[i].degree; ++j) {
            const tc_atom *atom = e->terms[i].atoms[j];
            if (atom->kind >= TC_ATOM_MAX && (!first || tc_atom_compare(atom, first) < 0))
                first = atom;
        }
    }
    return first;
}

/* Whether e grows with `atom` (shrinks, where it is a min): then e is at least what either operand makes of it. */
static bool monotone(const tc_expr *e, const tc_atom *atom)
{
    for (int i = 0; i < e->count; ++i) {
        const tc_term *t = &e->terms[i];
        if (!term_has(t, atom))
            continue;
        int times = 0;
        for (int j = 0; j < t->degree; ++j) {
            tc_bound lo, hi;
            atom_range(t->atoms[j], &lo, &hi);
            times += t->atoms[j] == atom;
            if (t->atoms[j] != atom && (!lo.known || lo.value < 0))
                return false;
        }
        if (times != 1 || (t->coefficient > 0) != (atom->kind == TC_ATOM_MAX))
            return false;
    }
    return true;
}

/* e with `by` in the place of the atom, outside of other atoms. */
static const tc_expr *replaced(const tc_expr *e, const tc_atom *atom, const tc_expr *by)
{
    const tc_expr *out = e->dims->zero;
    for (int i = 0; i < e->count; ++i) {
        const tc_expr *term = tc_expr_const(e->dims, e->terms[i].coefficient);
        for (int j = 0; j < e->terms[i].degree; ++j) {
            const tc_atom *factor = e->terms[i].atoms[j];
            term = tc_expr_mul(term, factor == atom ? by : tc_expr_of_atom(e->dims, factor));
        }
        out = tc_expr_add(out, term);
    }
    return out;
}

/* A max or min is one of its operands: with either of them e is not negative. */
static bool prove_by_extremum(const tc_expr *e)
{
    const tc_atom *atom = first_extremum(e);
    if (!atom)
        return false;
    if (monotone(e, atom))
        return tc_expr_nonnegative(replaced(e, atom, atom->num)) || tc_expr_nonnegative(replaced(e, atom, atom->den));
    return tc_expr_nonnegative(replaced(e, atom, atom->num)) && tc_expr_nonnegative(replaced(e, atom, atom->den));
}

int64_t tc_expr_coefficients_gcd(const tc_expr *e, int64_t g)
{
    for (int i = 0; i < e->count; ++i)
        g = tc_gcd(g, e->terms[i].coefficient);
    return g;
}

const tc_expr *tc_expr_scaled_down(const tc_expr *e, int64_t g)
{
    const tc_expr *out = e->dims->zero;
    for (int i = 0; i < e->count; ++i) {
        tc_term term = e->terms[i];
        term.coefficient /= g;
        out = tc_expr_add(out, tc_expr_of_term(e->dims, &term));
    }
    return out;
}

static bool prove_nonnegative(const tc_expr *e)
{
    const tc_bound lo = tc_expr_lo(e);
    if (lo.known && lo.value >= 0)
        return true;
    const int64_t g = tc_expr_coefficients_gcd(e, 0);
    if (g > 1)
        return tc_expr_nonnegative(tc_expr_scaled_down(e, g));
    return prove_by_factor(e) || prove_by_floor(e) || prove_by_remainder(e) || prove_by_extremum(e) ||
           prove_by_multiple(e);
}

bool tc_expr_nonnegative(const tc_expr *e)
{
    int64_t value;
    if (tc_expr_value(e, &value))
        return value >= 0;
    if (!e->nonnegative) {
        tc_expr *own = (tc_expr *)e;
        own->nonnegative = 1; /* a question that leads back to itself is not proved */
        own->nonnegative = prove_nonnegative(e) ? 2 : 1;
    }
    return e->nonnegative == 2;
}

bool tc_expr_never_equal(const tc_expr *a, const tc_expr *b)
{
    const tc_expr *d = tc_expr_sub(a, b);
    if (tc_expr_nonnegative(tc_expr_add_int(d, -1)) || tc_expr_nonnegative(tc_expr_add_int(tc_expr_mul_int(d, -1), -1)))
        return true;
    int64_t constant = d->count && d->terms[d->count - 1].degree == 0 ? d->terms[d->count - 1].coefficient : 0;
    int64_t g = tc_expr_divisor(tc_expr_add_int(d, -constant));
    return g > 1 && constant % g != 0;
}
