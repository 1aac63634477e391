# SPDX-License-Identifier: Apache-2.0
"""Solves for the variables of an item in the coordinates of a kernel: `index(variables) == known index`."""
from __future__ import annotations

from ..symbolic import Expr, FloorDiv, Sym, is_nonnegative, sym
from .scalars import extent, linear, domain_size, unlinear


def solve(equations: list[tuple[Expr, Expr]], variables: tuple[Sym, ...]) -> dict[Sym, Expr] | None:
    """Variables from `index(variables) == known`; those that no equation names stay open. None: not solvable."""
    solution: dict[Sym, Expr] = {}
    mine = set(variables)
    later = []
    for a, b in equations:
        terms = a.terms
        if len(terms) == 1 and terms[0][1] == 1 and len(terms[0][0]) == 1 and isinstance(terms[0][0][0], Sym) \
                and terms[0][0][0] in mine:
            s = terms[0][0][0]
            if s not in solution:
                solution[s] = b
            elif solution[s] != b:
                return None
        else:
            later.append((a, b))
    for a, b in later:
        if a.substitute(solution) == b:
            continue
        free = [s for s in a.symbols() if s in mine and s not in solution]
        if not free:
            return None
        rest = a
        strides = []
        for s in sorted(free, key=lambda s: s.key):
            c = rest.coefficient(s)
            if c is None or not c.terms:
                return None if c is not None else _solve_division(a, b, later, solution, mine)
            strides.append((c, s))
            rest = rest - c * sym(s)
        value = b - rest.substitute(solution)
        backwards: set[Sym] = set()
        for place, (c, s) in enumerate(strides):  # c*s with c < 0 is c*last - c*(last - s), and last - s counts upwards
            if is_nonnegative(-c):
                last = extent(s) - 1
                backwards.add(s)
                strides[place] = -c, s
                value = value - c * last
            elif not is_nonnegative(c):
                return None
        strides.sort(key=lambda p: (len(p[0].terms[0][0]), abs(p[0].terms[0][1])), reverse=True)
        for c, s in strides:
            quotient = value // c
            solution[s] = extent(s) - 1 - quotient if s in backwards else quotient
            value = value - quotient * c
        if value.terms:
            return None
    for a, b in later:  # the same on both sides, before and now
        solution |= {s: sym(s) for s in a.symbols() & b.symbols() if s in mine and s not in solution}
    return solution


def _solve_division(a: Expr, b: Expr, later: list[tuple[Expr, Expr]], solution: dict[Sym, Expr],
                    mine: set[Sym]) -> dict[Sym, Expr] | None:
    """i // d == q and i mod d == r, in whatever order: i = q*d + r."""
    for quotient, q in later:
        if len(quotient.terms) != 1 or len(quotient.terms[0][0]) != 1 or quotient.terms[0][1] != 1:
            continue
        atom = quotient.terms[0][0][0]
        if not isinstance(atom, FloorDiv) or len(atom.num.terms) != 1:
            continue
        (s,), = [m for m, _ in atom.num.terms] if len(atom.num.terms[0][0]) == 1 else [(None,)]
        if not isinstance(s, Sym) or s not in mine or s in solution:
            continue
        for remainder, r in later:
            if remainder == sym(s) - atom.den * quotient:
                solution[s] = q * atom.den + r
    for x, y in later:
        if x.substitute(solution) != y:
            return None
    return solution


def fill(solution: dict[Sym, Expr], rest: list[Sym], cols: tuple[Sym, ...]) -> bool:
    """Variables that no equation names walk the columns of the row."""
    if not cols:
        return False
    used: set[Sym] = set()
    for e in solution.values():
        used |= e.symbols()
    if used & set(cols):
        return False
    wanted, have = [extent(s) for s in rest], [extent(s) for s in cols]
    if wanted == have:
        solution.update({s: sym(c) for s, c in zip(rest, cols)})
        return True
    if domain_size(tuple(rest)) != domain_size(cols):
        return False
    position = linear(tuple(sym(c) for c in cols), tuple(have))
    solution.update(zip(rest, unlinear(position, tuple(wanted))))
    return True


def in_range(solution: dict[Sym, Expr]) -> bool:
    for s, e in solution.items():
        if e is not sym(s) and not (is_nonnegative(e) and is_nonnegative(extent(s) - 1 - e)):
            return False
    return True
