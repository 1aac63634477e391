/* SPDX-License-Identifier: Apache-2.0
 *
 * Canonical polynomials. Each function is the counterpart of the one of the same name in symbolic/, in the same
 * order of steps, because the canonical text depends on it.
 */
#include "dims.h"

#include <stdlib.h>
#include <string.h>

/* -- integers ------------------------------------------------------------------------------------------------------ */

int64_t tc_floor_div(int64_t a, int64_t b)
{
    int64_t q = a / b;
    return (a % b != 0 && (a < 0) != (b < 0)) ? q - 1 : q;
}

int64_t tc_floor_mod(int64_t a, int64_t b)
{
    int64_t r = a % b;
    return (r != 0 && (r < 0) != (b < 0)) ? r + b : r;
}

int64_t tc_gcd(int64_t a, int64_t b)
{
    a = a < 0 ? -a : a;
    b = b < 0 ? -b : b;
    while (b) {
        int64_t r = a % b;
        a = b;
        b = r;
    }
    return a;
}

static int64_t add(tc_dims *dims, int64_t a, int64_t b)
{
    int64_t out;
    if (__builtin_add_overflow(a, b, &out)) {
        dims->overflow = true;
        return 0;
    }
    return out;
}

static int64_t multiply(tc_dims *dims, int64_t a, int64_t b)
{
    int64_t out;
    if (__builtin_mul_overflow(a, b, &out) || out == INT64_MIN) {
        dims->overflow = true;
        return 0;
    }
    return out;
}

/* -- interning ----------------------------------------------------------------------------------------------------- */

int tc_atom_compare(const tc_atom *a, const tc_atom *b)
{
    if (a == b)
        return 0;
    if (a->kind != b->kind)
        return a->kind < b->kind ? -1 : 1;
    return strcmp(a->key, b->key);
}

static int compare_monomials(const tc_term *a, const tc_term *b)
{
    if (a->degree != b->degree)
        return a->degree > b->degree ? -1 : 1;
    for (int i = 0; i < a->degree; ++i) {
        int c = tc_atom_compare(a->atoms[i], b->atoms[i]);
        if (c)
            return c;
    }
    return 0;
}

static int compare_terms(const void *a, const void *b)
{
    return compare_monomials(a, b);
}

static bool same_monomial(const tc_term *a, const tc_term *b)
{
    return a->degree == b->degree &&
           (a->degree == 0 || memcmp(a->atoms, b->atoms, (size_t)a->degree * sizeof *a->atoms) == 0);
}

static uint32_t hash_terms(int count, const tc_term *terms)
{
    uint64_t h = 0xcbf29ce484222325u;
    for (int i = 0; i < count; ++i) {
        h = (h ^ (uint64_t)terms[i].coefficient) * 0x100000001b3u;
        for (int j = 0; j < terms[i].degree; ++j)
            h = (h ^ ((uintptr_t)terms[i].atoms[j] >> 4)) * 0x100000001b3u;
        h = (h ^ 0x2bu) * 0x100000001b3u;
    }
    return (uint32_t)(h ^ (h >> 32));
}

static void grow(tc_dims *dims)
{
    uint32_t size = dims->table_size ? dims->table_size * 2 : 256;
    tc_expr **table = tc_arena_alloc(dims->arena, size * sizeof *table);
    for (uint32_t i = 0; i < dims->table_size; ++i) {
        for (tc_expr *e = dims->table[i], *next; e; e = next) {
            next = e->chain;
            e->chain = table[e->hash & (size - 1)];
            table[e->hash & (size - 1)] = e;
        }
    }
    dims->table = table;
    dims->table_size = size;
}

/* The expression of sorted terms without repeated monomials or zero coefficients. */
static const tc_expr *intern(tc_dims *dims, int count, const tc_term *terms)
{
    uint32_t hash = hash_terms(count, terms);
    for (tc_expr *e = dims->table_size ? dims->table[hash & (dims->table_size - 1)] : NULL; e; e = e->chain) {
        if (e->hash != hash || e->count != count)
            continue;
        int i = 0;
        while (i < count && e->terms[i].coefficient == terms[i].coefficient && same_monomial(&e->terms[i], &terms[i]))
            ++i;
        if (i == count)
            return e;
    }
    if (dims->used >= dims->table_size)
        grow(dims);
    tc_expr *e = tc_arena_alloc(dims->arena, sizeof *e);
    tc_term *own = tc_arena_alloc(dims->arena, (size_t)count * sizeof *own);
    for (int i = 0; i < count; ++i) {
        own[i] = terms[i];
        if (own[i].degree) {
            const tc_atom **atoms = tc_arena_alloc(dims->arena, (size_t)own[i].degree * sizeof *atoms);
            memcpy(atoms, terms[i].atoms, (size_t)own[i].degree * sizeof *atoms);
            own[i].atoms = atoms;
        }
    }
    *e = (tc_expr){.dims = dims, .count = count, .terms = own, .hash = hash};
    e->chain = dims->table[hash & (dims->table_size - 1)];
    dims->table[hash & (dims->table_size - 1)] = e;
    ++dims->used;
    return e;
}

/* d*floordiv(x, d) is x where d divides x: rewrites the first such term; NULL where there is none. */
static const tc_expr *replace_exact(tc_dims *dims, int count, tc_term *terms)
{
    for (int i = 0; i < count; ++i) {
        for (int j = 0; j < terms[i].degree; ++j) {
            const tc_atom *atom = terms[i].atoms[j];
            if (!atom->exact || terms[i].coefficient % atom->exact)
                continue;
            const tc_atom **others = tc_arena_alloc(dims->arena, (size_t)terms[i].degree * sizeof *others);
            for (int k = 0, n = 0; k < terms[i].degree; ++k)
                if (k != j)
                    others[n++] = terms[i].atoms[k];
            tc_term factor = {terms[i].coefficient / atom->exact, terms[i].degree - 1, others};
            memmove(&terms[i], &terms[i + 1], (size_t)(count - i - 1) * sizeof *terms);
            return tc_expr_add(tc_expr_of_terms(dims, count - 1, terms),
                               tc_expr_mul(atom->num, tc_expr_of_term(dims, &factor)));
        }
    }
    return NULL;
}

const tc_expr *tc_expr_of_terms(tc_dims *dims, int count, tc_term *terms)
{
    if (count > 1)
        qsort(terms, (size_t)count, sizeof *terms, compare_terms);
    int out = 0;
    for (int i = 0; i < count;) {
        tc_term merged = terms[i];
        for (++i; i < count && same_monomial(&merged, &terms[i]); ++i)
            merged.coefficient = add(dims, merged.coefficient, terms[i].coefficient);
        if (merged.coefficient)
            terms[out++] = merged;
    }
    const tc_expr *replaced = dims->has_exact ? replace_exact(dims, out, terms) : NULL;
    return replaced ? replaced : intern(dims, out, terms);
}

tc_term *tc_dims_terms(tc_dims *dims, int count)
{
    return tc_arena_alloc(dims->arena, (size_t)(count ? count : 1) * sizeof(tc_term));
}

void tc_dims_init(tc_dims *dims, tc_arena *arena)
{
    *dims = (tc_dims){.arena = arena};
    dims->zero = intern(dims, 0, NULL);
    dims->one = tc_expr_const(dims, 1);
}

const tc_expr *tc_expr_const(tc_dims *dims, int64_t value)
{
    return value ? intern(dims, 1, &(tc_term){.coefficient = value}) : dims->zero;
}

const tc_expr *tc_expr_of_atom(tc_dims *dims, const tc_atom *atom)
{
    return intern(dims, 1, &(tc_term){.coefficient = 1, .degree = 1, .atoms = &atom});
}

const tc_expr *tc_expr_of_term(tc_dims *dims, const tc_term *term)
{
    return intern(dims, 1, term);
}

const tc_expr *tc_expr_sym(tc_dims *dims, const tc_sym *sym)
{
    tc_atom *atom = tc_arena_alloc(dims->arena, sizeof *atom);
    *atom = (tc_atom){.sym = sym, .key = sym->name};
    return tc_expr_of_atom(dims, atom);
}

/* -- inspection ---------------------------------------------------------------------------------------------------- */

bool tc_expr_is_const(const tc_expr *e)
{
    return e->count == 0 || (e->count == 1 && e->terms[0].degree == 0);
}

bool tc_expr_value(const tc_expr *e, int64_t *value)
{
    if (!tc_expr_is_const(e))
        return false;
    *value = e->count ? e->terms[0].coefficient : 0;
    return true;
}

bool tc_expr_is(const tc_expr *e, int64_t c)
{
    int64_t value;
    return tc_expr_value(e, &value) && value == c;
}

bool tc_expr_uses(const tc_expr *e, const tc_sym *sym)
{
    for (int i = 0; i < e->count; ++i) {
        for (int j = 0; j < e->terms[i].degree; ++j) {
            const tc_atom *atom = e->terms[i].atoms[j];
            if (atom->sym ? atom->sym == sym : tc_expr_uses(atom->num, sym) || tc_expr_uses(atom->den, sym))
                return true;
        }
    }
    return false;
}

int64_t tc_expr_constant_term(const tc_expr *e)
{
    return e->count && e->terms[e->count - 1].degree == 0 ? e->terms[e->count - 1].coefficient : 0;
}

int64_t tc_expr_divisor(const tc_expr *e)
{
    int64_t out = 0;
    for (int i = 0; i < e->count; ++i) {
        int64_t term = e->terms[i].coefficient;
        for (int j = 0; j < e->terms[i].degree; ++j) {
            int64_t wider, known = 1;
            const tc_atom *atom = e->terms[i].atoms[j];
            if (atom->sym)
                known = atom->sym->divisor;
            else if (atom->exact && tc_expr_divisor(atom->num) >= atom->exact)
                known = tc_expr_divisor(atom->num) / atom->exact;
            else if (atom->kind != TC_ATOM_DIVISION)
                known = tc_gcd(tc_expr_divisor(atom->num), tc_expr_divisor(atom->den));
            if (!__builtin_mul_overflow(term, known, &wider))
                term = wider;
        }
        out = tc_gcd(out, term);
    }
    return out;
}

static const char *atom_text(tc_dims *dims, const tc_atom *atom)
{
    if (atom->sym)
        return atom->sym->name;
    static const char *const names[] = {"", "floordiv", "max", "min"};
    return tc_arena_format(dims->arena, "%s(%s, %s)", names[atom->kind], tc_expr_text(atom->num),
                           tc_expr_text(atom->den));
}

const char *tc_expr_text(const tc_expr *e)
{
    if (e->text)
        return e->text;
    const char *text = "";
    for (int i = 0; i < e->count; ++i) {
        const tc_term *t = &e->terms[i];
        const char *sign = t->coefficient < 0 ? (i ? " - " : "-") : (i ? " + " : "");
        int64_t magnitude = t->coefficient < 0 ? -t->coefficient : t->coefficient;
        const char *body = "";
        for (int j = 0; j < t->degree; ++j)
            body = tc_arena_format(e->dims->arena, "%s%s%s", body, j ? "*" : "", atom_text(e->dims, t->atoms[j]));
        if (t->degree == 0)
            body = tc_arena_format(e->dims->arena, "%lld", (long long)magnitude);
        else if (magnitude != 1)
            body = tc_arena_format(e->dims->arena, "%lld*%s", (long long)magnitude, body);
        text = tc_arena_format(e->dims->arena, "%s%s%s", text, sign, body);
    }
    ((tc_expr *)e)->text = e->count ? text : "0";
    return e->text;
}

/* -- arithmetic ---------------------------------------------------------------------------------------------------- */

const tc_expr *tc_expr_add(const tc_expr *a, const tc_expr *b)
{
    if (!b->count)
        return a;
    if (!a->count)
        return b;
    tc_term *terms = tc_dims_terms(a->dims, a->count + b->count);
    memcpy(terms, a->terms, (size_t)a->count * sizeof *terms);
    memcpy(terms + a->count, b->terms, (size_t)b->count * sizeof *terms);
    return tc_expr_of_terms(a->dims, a->count + b->count, terms);
}

const tc_expr *tc_expr_mul_int(const tc_expr *a, int64_t b)
{
    if (b == 1 || !a->count)
        return a;
    if (b == 0)
        return a->dims->zero;
    tc_term *terms = tc_dims_terms(a->dims, a->count);
    for (int i = 0; i < a->count; ++i) {
        terms[i] = a->terms[i];
        terms[i].coefficient = multiply(a->dims, terms[i].coefficient, b);
    }
    return tc_expr_of_terms(a->dims, a->count, terms);
}

const tc_expr *tc_expr_add_int(const tc_expr *a, int64_t b)
{
    return tc_expr_add(a, tc_expr_const(a->dims, b));
}

const tc_expr *tc_expr_sub(const tc_expr *a, const tc_expr *b)
{
    return tc_expr_add(a, tc_expr_mul_int(b, -1));
}

static tc_term product_term(tc_dims *dims, const tc_term *a, const tc_term *b)
{
    int degree = a->degree + b->degree;
    const tc_atom **atoms = tc_arena_alloc(dims->arena, (size_t)(degree + 1) * sizeof *atoms);
    for (int i = 0, j = 0, n = 0; n < degree; ++n) {
        bool left = j == b->degree || (i < a->degree && tc_atom_compare(a->atoms[i], b->atoms[j]) <= 0);
        atoms[n] = left ? a->atoms[i++] : b->atoms[j++];
    }
    return (tc_term){.coefficient = multiply(dims, a->coefficient, b->coefficient), .degree = degree, .atoms = atoms};
}

const tc_expr *tc_expr_mul(const tc_expr *a, const tc_expr *b)
{
    int64_t c;
    if (tc_expr_value(b, &c))
        return tc_expr_mul_int(a, c);
    if (tc_expr_value(a, &c))
        return tc_expr_mul_int(b, c);
    tc_term *terms = tc_dims_terms(a->dims, a->count * b->count);
    int n = 0;
    for (int i = 0; i < a->count; ++i)
        for (int j = 0; j < b->count; ++j)
            terms[n++] = product_term(a->dims, &a->terms[i], &b->terms[j]);
    return tc_expr_of_terms(a->dims, n, terms);
}

static const tc_expr *combine(tc_atom_kind kind, const tc_expr *a, const tc_expr *b)
{
    return kind == TC_ATOM_DIVISION ? tc_expr_floordiv(a, b)
           : kind == TC_ATOM_MAX    ? tc_expr_max(a, b)
                                    : tc_expr_min(a, b);
}

const tc_expr *tc_expr_substitute(const tc_expr *e, const tc_sym *sym, const tc_expr *by)
{
    if (!tc_expr_uses(e, sym))
        return e;
    tc_dims *dims = e->dims;
    const tc_expr *out = dims->zero;
    for (int i = 0; i < e->count; ++i) {
        const tc_expr *term = tc_expr_const(dims, e->terms[i].coefficient);
        for (int j = 0; j < e->terms[i].degree; ++j) {
            const tc_atom *atom = e->terms[i].atoms[j];
            const tc_expr *factor = tc_expr_of_atom(dims, atom);
            if (atom->sym == sym)
                factor = by;
            else if (!atom->sym)
                factor = combine(atom->kind, tc_expr_substitute(atom->num, sym, by),
                                 tc_expr_substitute(atom->den, sym, by));
            term = tc_expr_mul(term, factor);
        }
        out = tc_expr_add(out, term);
    }
    return out;
}
