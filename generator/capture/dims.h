/* SPDX-License-Identifier: Apache-2.0
 *
 * Integer expressions over dynamic dims: canonical polynomials with floor division, maximum and minimum, and the prover
 * over them. The C twin of generator/tensor_compile/symbolic/: the same canonical form, so the same text; tests/capture
 * compares both on random expressions. Expressions are interned: equal polynomials are the same pointer.
 */
#ifndef TC_CAPTURE_DIMS_H
#define TC_CAPTURE_DIMS_H

#include <stdbool.h>
#include <stdint.h>

#include "memory.h"

typedef struct tc_expr tc_expr;
typedef struct tc_sym tc_sym;

/* A dynamic dim: inclusive range, and a divisor of its value. */
struct tc_sym {
    const char *name;
    int64_t lo, hi, divisor;
};

/* A factor of a monomial: a dim; a floor division that could not be reduced; the larger or smaller of two expressions
 * that could not be ordered. In the order in which they are sorted. */
typedef enum tc_atom_kind { TC_ATOM_SYM, TC_ATOM_DIVISION, TC_ATOM_MAX, TC_ATOM_MIN } tc_atom_kind;

typedef struct tc_atom {
    tc_atom_kind kind;
    const tc_sym *sym;        /* of a dim, else NULL */
    const tc_expr *num, *den; /* floordiv(num, den); of max and min the operands */
    const char *key;          /* sorts among its kind */
    int64_t exact; /* of a division: the constant den where the divisors of dims make it divide num, else 0 */
} tc_atom;

typedef struct tc_term {
    int64_t coefficient;
    int degree;
    const tc_atom *const *atoms; /* sorted, repeated for powers */
} tc_term;

typedef struct tc_bound {
    bool known;
    int64_t value;
} tc_bound;

struct tc_expr {
    struct tc_dims *dims;
    int count;
    const tc_term *terms; /* sorted: higher degree first, the constant last */
    uint32_t hash;
    tc_expr *chain;                /* in the table of expressions */
    struct tc_quotient *quotients; /* floor divisions of this expression made so far */
    const char *text;              /* NULL until asked for */
    signed char nonnegative;       /* 0 not asked, 1 no (or being asked), 2 proved */
    bool has_bounds;
    tc_bound lo, hi;
};

typedef struct tc_dims {
    tc_arena *arena;
    tc_expr **table;
    uint32_t table_size, used;
    struct tc_atom_list *divisions, *extrema;
    bool has_exact; /* some division is exact */
    const tc_expr *zero, *one;
    bool overflow; /* a coefficient left int64; the results since are meaningless */
} tc_dims;

void tc_dims_init(tc_dims *dims, tc_arena *arena);
const tc_expr *tc_expr_const(tc_dims *dims, int64_t value);
/* A new symbol each call. */
const tc_expr *tc_expr_sym(tc_dims *dims, const tc_sym *sym);
const tc_expr *tc_expr_add(const tc_expr *a, const tc_expr *b);
const tc_expr *tc_expr_sub(const tc_expr *a, const tc_expr *b);
const tc_expr *tc_expr_mul(const tc_expr *a, const tc_expr *b);
/* floor(num / den), den provably positive. */
const tc_expr *tc_expr_floordiv(const tc_expr *num, const tc_expr *den);
const tc_expr *tc_expr_add_int(const tc_expr *a, int64_t b);
const tc_expr *tc_expr_mul_int(const tc_expr *a, int64_t b);
/* The larger and the smaller (dims_extrema.c). */
const tc_expr *tc_expr_max(const tc_expr *a, const tc_expr *b);
const tc_expr *tc_expr_min(const tc_expr *a, const tc_expr *b);
/* num / den where that is a polynomial for every value of the dims; NULL otherwise. */
const tc_expr *tc_expr_exact_div(const tc_expr *num, const tc_expr *den);
const tc_expr *tc_expr_substitute(const tc_expr *e, const tc_sym *sym, const tc_expr *by);
bool tc_expr_is_const(const tc_expr *e);
/* True and the value where e is a constant. */
bool tc_expr_value(const tc_expr *e, int64_t *value);
/* e == c, a constant. */
bool tc_expr_is(const tc_expr *e, int64_t c);
bool tc_expr_uses(const tc_expr *e, const tc_sym *sym);
/* The canonical text, `2*batch*seq + 1`. */
const char *tc_expr_text(const tc_expr *e);
/* The largest known integer that divides e for every value of its dims; 0 for zero. */
int64_t tc_expr_divisor(const tc_expr *e);

/* dims_prove.c. Sound, not complete: false means "not proved". */
tc_bound tc_expr_lo(const tc_expr *e);
tc_bound tc_expr_hi(const tc_expr *e);
bool tc_expr_nonnegative(const tc_expr *e);
bool tc_expr_never_equal(const tc_expr *a, const tc_expr *b);

typedef struct tc_atom_list {
    tc_atom atom;
    struct tc_atom_list *next;
} tc_atom_list;

/* Shared by the files. */
const tc_expr *tc_expr_of_atom(tc_dims *dims, const tc_atom *atom);
const tc_expr *tc_expr_of_term(tc_dims *dims, const tc_term *term);
/* Sorts, merges and interns `terms`, which it overwrites; room for `count` of them, the arena's. */
const tc_expr *tc_expr_of_terms(tc_dims *dims, int count, tc_term *terms);
tc_term *tc_dims_terms(tc_dims *dims, int count);
int tc_atom_compare(const tc_atom *a, const tc_atom *b);
int64_t tc_floor_div(int64_t a, int64_t b);
int64_t tc_floor_mod(int64_t a, int64_t b);
int64_t tc_gcd(int64_t a, int64_t b);
int64_t tc_expr_constant_term(const tc_expr *e);
/* The common divisor of the coefficients and g; e / g where g divides them. */
int64_t tc_expr_coefficients_gcd(const tc_expr *e, int64_t g);
const tc_expr *tc_expr_scaled_down(const tc_expr *e, int64_t g);

#endif
