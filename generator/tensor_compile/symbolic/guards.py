# SPDX-License-Identifier: Apache-2.0
"""What can be proved of an expression where others are known not to be negative: the guards of an entry, loops that
have a point."""
from __future__ import annotations

from typing import Iterator, Sequence

from .expressions import ONE, Expr, FloorDiv, Monomial, sym, wrap
from .prover import extreme, is_nonnegative


def holds(e: Expr, guards: Sequence[Expr], pairs: bool = True) -> bool:
    """e >= 0 where every guard is: proved alone, from a multiple of one guard, of two (pairs), or through
    floordiv(n, d) >= q where n >= q*d and floordiv(n, d) <= q where n <= q*d + d - 1, of a multiple where nothing else
    varies. A guard of floordiv(n, d) says the same of n."""
    if is_nonnegative(e) or _follows_from_some(e, guards, pairs):
        return True
    least = extreme(e, False) if guards else e
    if least is not e and _follows_from_some(least, guards, pairs):
        return True
    for monomial, c in e.terms if guards else ():
        rest = e - c * Expr(((monomial, 1),))
        if len(monomial) == 1 and isinstance(monomial[0], FloorDiv) and (c in (1, -1) or rest.is_const):
            n, d = monomial[0].num, monomial[0].den
            rest = (rest if c in (1, -1) else wrap(rest.value // abs(c))) * d
            bound = rest + n if c > 0 else rest + d - 1 - n
            if any(is_nonnegative(bound - g) for g in (*guards, *_of_numerators(guards))):
                return True
    least = _at_the_least(e, guards)
    return least is not e and holds(least, guards, pairs)


def _of_numerators(guards: Sequence[Expr]) -> Iterator[Expr]:
    """n - q*d, of each guard that is floordiv(n, d) - q: neither is negative where the other is not."""
    for g in guards:
        for monomial, c in g.terms:
            if c == 1 and len(monomial) == 1 and isinstance(monomial[0], FloorDiv):
                n, d = monomial[0].parts
                yield n + (g - Expr(((monomial, 1),))) * d


def _at_the_least(e: Expr, guards: Sequence[Expr]) -> Expr:
    """e with a loop variable, of whose coefficient guards alone tell the sign, where it makes e smallest."""
    for s in sorted((s for s in e.symbols() if not s.is_dim and s.hi is not None),
                    key=lambda s: s.key) if guards else ():
        c = e.coefficient(s)
        if c is None or is_nonnegative(c) or is_nonnegative(-c):
            continue
        for sign, end in ((c, s.lo), (-c, s.hi)):
            if end is not None and any(is_nonnegative(sign - g) for g in guards):
                return e - c * sym(s) + c * end
    return e


def _follows_from_some(e: Expr, guards: Sequence[Expr], pairs: bool) -> bool:
    return any(_follows(e, g) for g in guards) or pairs and _follows_from_two(e, guards)


def _follows(e: Expr, g: Expr) -> bool:
    """e >= 0 as g >= 0: e is at least a multiple of g, or k*e is more than -k, e being an integer."""
    return any(is_nonnegative(e - times * g) for times in _multiples(e, g)) \
        or any(is_nonnegative(k * e + (k - 1) - g) for k in _parts(e, g))


def _follows_from_two(e: Expr, guards: Sequence[Expr]) -> bool:
    """e is at least a multiple of one guard and one of another, or n + 1 times one: n times and once more."""
    for g in guards:
        for times in _multiples(e, g):
            rest = e - times * g
            for h in guards:
                if any(is_nonnegative(rest - more * h) for more in _multiples(rest, h)):
                    return True
    return False


def _multiples(e: Expr, g: Expr) -> list[Expr]:
    """1, and what a term of g must be multiplied by to be one of e: 3, where a step of 3 stands behind a guard; n,
    where the index of a row of n elements is guarded. None is negative."""
    found = {ONE: None}
    for monomial, c in g.terms:
        for whole, times in e.terms if monomial else ():
            rest = _without(whole, monomial) if times % c == 0 and times // c > 0 else None
            if rest is not None:
                factor = Expr(((rest, times // c),))
                if is_nonnegative(factor):
                    found[factor] = None
    return list(found)


def _parts(e: Expr, g: Expr) -> list[int]:
    """How often a term of e goes into that of g."""
    of = dict(e.terms)
    return sorted({c // of[m] for m, c in g.terms if m and m in of and c % of[m] == 0 and c // of[m] > 1})


def _without(whole: Monomial, part: Monomial) -> Monomial | None:
    """The factors of a monomial that are left when those of another are taken out."""
    left = list(whole)
    for atom in part:
        if atom not in left:
            return None
        left.remove(atom)
    return tuple(left)
