# SPDX-License-Identifier: Apache-2.0
"""What can be proved of an expression where others are known not to be negative: the guards of an entry, loops that have
a point."""
from __future__ import annotations

from itertools import combinations
from typing import Sequence

from .expressions import Expr, FloorDiv, sym
from .prover import is_nonnegative


def holds(e: Expr, guards: Sequence[Expr], pairs: bool = True) -> bool:
    """e >= 0 where every guard is: proved alone, from a multiple of one guard, the sum of two (pairs), or through
    floordiv(n, d) >= q where n >= q*d and floordiv(n, d) <= q where n <= q*d + d - 1."""
    if is_nonnegative(e) or any(is_nonnegative(e - times * g) for g in guards for times in _multiples(e, g)) \
            or pairs and any(is_nonnegative(e - g - h) for g, h in combinations(guards, 2)):
        return True
    for monomial, c in e.terms if guards else ():
        if c in (1, -1) and len(monomial) == 1 and isinstance(monomial[0], FloorDiv):
            n, d = monomial[0].num, monomial[0].den
            rest = (e - c * Expr(((monomial, 1),))) * d
            bound = rest + n if c == 1 else rest + d - 1 - n
            if any(is_nonnegative(bound - g) for g in guards):
                return True
    least = _at_the_least(e, guards)
    return least is not e and holds(least, guards, pairs)


def _at_the_least(e: Expr, guards: Sequence[Expr]) -> Expr:
    """e with a loop variable, of whose coefficient guards alone tell the sign, where it makes e smallest."""
    for s in sorted((s for s in e.symbols() if not s.is_dim and s.hi is not None), key=lambda s: s.key) if guards else ():
        c = e.coefficient(s)
        if c is None or is_nonnegative(c) or is_nonnegative(-c):
            continue
        for sign, end in ((c, s.lo), (-c, s.hi)):
            if any(is_nonnegative(sign - g) for g in guards):
                return e - c * sym(s) + c * end
    return e


def _multiples(e: Expr, g: Expr) -> list[int]:
    """1, and how often a term of g goes into that of e: a step of 3 behind a guard has three times the guard's."""
    of = dict(e.terms)
    found = {of[m] // c for m, c in g.terms if m and m in of and of[m] % c == 0 and of[m] // c > 1}
    return [1, *sorted(found)]
