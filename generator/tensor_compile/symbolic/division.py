# SPDX-License-Identifier: Apache-2.0
"""Floor division: what is divided exactly, what cannot carry and what merges leaves; the rest is an atom."""
from __future__ import annotations

from math import gcd

from .expressions import Expr, FloorDiv, Monomial, ZERO, const, constant_term, divide_term, divisor_of, exact_atoms, \
    exact_div, make
from .prover import is_nonnegative

_divs: dict[tuple[Expr, Expr], Expr] = {}
_div_atoms: dict[tuple[Expr, Expr], FloorDiv] = {}


def floordiv(num: Expr, den: Expr) -> Expr:
    if den.is_const and den.value == 1:
        return num
    if num.is_const and den.is_const:
        return const(num.value // den.value)
    found = _divs.get((num, den))
    if found is None:
        found = _divs[(num, den)] = _floordiv(num, den)
    return found


def _floordiv(num: Expr, den: Expr) -> Expr:
    exact = exact_div(num, den)
    if exact is not None:
        return exact
    # num = den*q + rest with q polynomial: floor(num/den) = q + floor(rest/den)
    quotient = ZERO
    if len(den.terms) == 1:
        dm, dc = den.terms[0]
        rest: dict[Monomial, int] = {}
        q: dict[Monomial, int] = {}
        for monomial, c in num.terms:
            divided = divide_term(monomial, c, dm, dc)
            if divided is None and not dm and not monomial and not 0 <= c < dc:
                # the constant's remainder is kept in [0, dc), so that (x - 1)//2 + 1 and (x + 1)//2 are one expression;
                # floor((5*x)/3) has no simpler form for a symbol
                q[()] = q.get((), 0) + c // dc
                if c % dc:
                    rest[()] = c % dc
                continue
            if divided is None:
                rest[monomial] = c
            else:
                q[divided[0]] = q.get(divided[0], 0) + divided[1]
        quotient, num = make(q), make(rest)
    if is_nonnegative(num) and is_nonnegative(den - 1 - num):
        return quotient
    if den.is_const:
        # drop a small remainder that cannot carry: floor((4*x + 3)/8) = floor(x/2) as g = 4 divides the rest of num
        constant = constant_term(num)
        g = gcd(divisor_of(num - constant), den.value)
        if g > 1:
            reduced = _scale_down(num - constant, g)
            if reduced is not None:
                inner = reduced + constant // g
                d = const(den.value // g)
                return quotient + (floordiv(inner, d) if d.value != 1 else inner)
            if constant % g:
                return quotient + floordiv(num - constant % g, den)
        small = _drop_small(num, den.value)
        if small is not None:
            return quotient + floordiv(small, den)
    # floor((floor(x/a) + c)/b) = floor((x + a*c)/(a*b)), for a c where a and b are constants: bounds stay as near
    constant = constant_term(num)
    inner = num - constant
    if len(inner.terms) == 1 and inner.terms[0][1] == 1 and len(inner.terms[0][0]) == 1:
        atom = inner.terms[0][0][0]
        if isinstance(atom, FloorDiv) and (not constant or atom.den.is_const and den.is_const):
            return quotient + floordiv(atom.num + constant * atom.den, atom.den * den)
    if num.is_const and num.value == 0:
        return quotient
    return quotient + Expr((((_division(num, den),), 1),))


def _division(num: Expr, den: Expr) -> FloorDiv:
    atom = _div_atoms.get((num, den))
    if atom is None:
        if den.is_const and den.value <= 0:
            raise ValueError(f"({num}) // ({den}): proofs about divisions need a positive divisor")
        atom = _div_atoms[(num, den)] = FloorDiv(num, den, len(_div_atoms))
        if atom.exact:
            exact_atoms.add(atom)
    return atom


def _scale_down(e: Expr, g: int) -> Expr | None:
    """e / g where every coefficient is a multiple of g."""
    if any(c % g for _, c in e.terms):
        return None
    return Expr(tuple((m, c // g) for m, c in e.terms))


def _drop_small(num: Expr, den: int) -> Expr | None:
    """num without the terms whose sum lies in [0, g), g dividing the other terms and den: they cannot carry."""
    g = 0
    for _monomial, c in sorted(num.terms, key=lambda t: -abs(t[1])):
        g2 = gcd(gcd(g, abs(c)), den)
        if g2 <= 1:
            return None
        g = g2
        big = make({m: k for m, k in num.terms if k % g == 0})
        small = num - big
        if not small.terms:
            return None
        if is_nonnegative(small) and is_nonnegative(const(g - 1) - small):
            return big
    return None
