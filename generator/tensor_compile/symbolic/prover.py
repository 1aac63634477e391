# SPDX-License-Identifier: Apache-2.0
"""Bounds of expressions, and the questions that passes ask: is it never negative, never equal?"""
from __future__ import annotations

from math import gcd

from .expressions import Atom, Expr, Extremum, FloorDiv, IntLike, Range, Sym, constant_term, divisor_of, exact_div, \
    make, sym, wrap


def _split(e: Expr, s: Sym) -> tuple[Expr, Expr] | None:
    c = e.coefficient(s)
    return None if c is None else (c, e - c * sym(s))


def extreme(e: Expr, upper: bool) -> Expr:
    """Replaces loop variables and iterations by the end of their range that makes e largest (smallest); sizes stay."""
    for _ in range(64):
        ends = {s: s.hi for s in e.symbols() if s.hi is not None and (isinstance(s.hi, Expr) or not s.is_dim)}
        loops = sorted(ends, key=lambda s: s.key)
        done = True
        within = frozenset().union(*(end.symbols() for end in ends.values() if isinstance(end, Expr)))
        loops.sort(key=lambda s: s in within)   # the range of another one depends on it: it comes last
        for s in loops:
            split = _split(e, s)
            if split is None:
                continue
            c, rest = split
            if c.terms and is_nonnegative(c):
                e, done = rest + c * (ends[s] if upper else s.lo), False
            elif c.terms and is_nonnegative(-c):
                e, done = rest + c * (s.lo if upper else ends[s]), False
            else:
                continue
            break
        if done:
            break
    return e


def _atom_range(atom: Atom) -> Range:
    if isinstance(atom, Sym):
        hi = atom.hi.range()[1] if isinstance(atom.hi, Expr) else atom.hi
        return atom.lo, hi
    (nlo, nhi), (dlo, dhi) = (part.range() for part in atom.parts)
    if isinstance(atom, Extremum):
        pick = max if atom.largest else min
        lows, highs = ([end for end in ends if end is not None] for ends in ((nlo, dlo), (nhi, dhi)))
        return (pick(lows) if len(lows) + atom.largest > 1 and lows else None,
                pick(highs) if len(highs) + (not atom.largest) > 1 and highs else None)
    if dlo is None or dlo <= 0:
        return None, None
    lo = None if nlo is None else (nlo // (dhi if nlo >= 0 and dhi else dlo) if nlo < 0 or dhi else 0)
    hi = None if nhi is None else (nhi // dlo if nhi >= 0 else (nhi // dhi if dhi else 0))
    return lo, hi


def bound(e: Expr, upper: bool) -> int | None:
    total = 0
    for monomial, c in e.terms:
        lo: int | None = 1
        hi: int | None = 1
        for atom in monomial:
            alo, ahi = _atom_range(atom)
            if alo is None or alo < 0 or lo is None:
                if len(monomial) == 1:
                    lo, hi = alo, ahi
                    break
                return None
            lo, hi = lo * alo, (None if hi is None or ahi is None else hi * ahi)
        pick = hi if (c > 0) == upper else lo
        if pick is None:
            return None
        total += c * pick
    return total


_proved: dict[Expr, bool] = {}
_open: dict[Expr, int] = {}       # the questions that lead to the one of the moment, with their depths
_led_back = [1 << 30]             # the least depth of an open question that was asked again


def is_nonnegative(e: IntLike) -> bool:
    """True only where e >= 0 is proved for every value of its symbols within their ranges.

    A question that leads back to itself is not proved by that way. What was not proved while an earlier question was
    open may be proved without it, so it is not remembered: answers do not depend on what was asked before.
    """
    e = wrap(e)
    if e.is_const:
        return e.value >= 0
    found = _proved.get(e)
    if found is not None:
        return found
    if e in _open:
        _led_back[0] = min(_led_back[0], _open[e])
        return False
    depth = _open[e] = len(_open)
    around, _led_back[0] = _led_back[0], 1 << 30
    try:
        found = _prove_nonnegative(e)
    finally:
        del _open[e]
        back, _led_back[0] = _led_back[0], around
    if found or back >= depth:
        _proved[e] = found
    else:
        _led_back[0] = min(around, back)
    return found


def _prove_nonnegative(e: Expr) -> bool:
    lo = bound(e, False)
    if lo is not None and lo >= 0:
        return True
    g = gcd(*(c for _, c in e.terms))
    if g > 1:
        return is_nonnegative(make({m: c // g for m, c in e.terms}))
    reduced = extreme(e, False)
    if reduced is not e:
        if reduced.is_const:
            return reduced.value >= 0
        lo = bound(reduced, False)
        if lo is not None and lo >= 0:
            return True
        if gcd(*(c for _, c in reduced.terms)) > 1 and is_nonnegative(reduced):
            return True
    return _prove_by_factor(reduced) or _prove_by_floor(reduced) or _prove_by_remainder(e) \
        or _prove_by_extremum(reduced) or _prove_by_ends(reduced) or _prove_by_digits(e) or _prove_by_multiple(e)


def _prove_by_factor(e: Expr) -> bool:
    """x*y - x = x*(y - 1): take out a symbol that divides every term but is itself non-negative."""
    if len(e.terms) < 2:
        return False
    common = set(e.terms[0][0])
    for monomial, _ in e.terms[1:]:
        common &= set(monomial)
    for atom in sorted(common, key=lambda a: a.key):
        lo = _atom_range(atom)[0]
        if lo is not None and lo >= 0:
            quotient = exact_div(e, Expr((((atom,), 1),)))
            if quotient is not None and quotient is not e and is_nonnegative(quotient):
                return True
    return _prove_by_shift(e)


def _prove_by_shift(e: Expr) -> bool:
    """With every symbol and every quotient written as its lower bound plus something that is not negative, no
    coefficient is negative: (f - 1)*(w - 2) for f >= 4 and w >= 7."""
    above: dict[Atom, Sym] = {}
    moved = wrap(0)
    for monomial, c in e.terms:
        part = wrap(c)
        for atom in monomial:
            lo = _atom_range(atom)[0]
            if lo is None or lo < 0:
                return False
            more = above.setdefault(atom, Sym(f"above{len(above)}", 0, None))
            part = part * (sym(more) + lo)
        moved = moved + part
    return all(c >= 0 for _, c in moved.terms)


def _prove_by_floor(e: Expr) -> bool:
    """Replaces floordiv(n, d) by what it says of n: q <= floordiv(n, d) where q*d <= n, and floordiv(n, d) <= q where
    n <= q*d + d - 1; with another factor, where d is a constant, by (n - d + 1)/d <= floordiv(n, d) <= n/d."""
    for monomial, c in e.terms:
        if len(monomial) != 1 or not isinstance(monomial[0], FloorDiv):
            continue
        n, d = monomial[0].num, monomial[0].den
        rest = e - c * Expr(((monomial, 1),))
        if c == 1 and is_nonnegative(n + rest * d) or c == -1 and is_nonnegative(rest * d + d - 1 - n):
            return True
        if d.is_const and is_nonnegative(rest * d + (n * c if c < 0 else (n - (d - 1)) * c)):
            return True
    return False


def _prove_by_remainder(e: Expr) -> bool:
    """Takes out a remainder: 0 <= n - d*floordiv(n, d) <= d - 1, or d - g where g divides n and d; also where n is a
    floor division itself."""
    atoms = sorted({a for m, _ in e.terms for a in m if isinstance(a, FloorDiv)}, key=lambda a: a.key)
    for atom in atoms:
        factor = make({tuple(a for a in m if a is not atom): c for m, c in e.terms if m.count(atom) == 1})
        whole = [(atom.num, atom.den)]
        for inner in atoms:  # floordiv(n, d1*d) = floordiv(floordiv(n, d1), d)
            d = exact_div(atom.den, inner.den) if inner is not atom and inner.num is atom.num else None
            if d is not None:
                whole.append((Expr((((inner,), 1),)), d))
        for n, d in whole:
            times = exact_div(factor, d)
            if times is None or not times.is_const:
                continue
            rest = e + times * (n - d * Expr((((atom,), 1),)))  # e = rest - times * remainder
            if any(atom in m for m, _ in rest.terms):
                continue
            step = gcd(divisor_of(n), d.value) if d.is_const else 1   # of remainders
            if is_nonnegative(rest if times.value < 0 else rest - times * (d - step)):
                return True
    return False


def _prove_by_multiple(e: Expr) -> bool:
    """Takes an exact division as its numerator: den times e is not negative where e is not."""
    for atom in sorted({a for m, _ in e.terms for a in m if isinstance(a, FloorDiv) and a.exact}, key=lambda a: a.key):
        multiple = e * atom.exact
        if not any(atom in m for m, _ in multiple.terms):
            return is_nonnegative(multiple)
    return False


def _prove_by_extremum(e: Expr) -> bool:
    """A max or min is one of its operands: with either of them e is not negative. Where e grows with a max, or shrinks
    with a min, it is at least what any one operand makes of it."""
    atom = min((a for m, _ in e.terms for a in m if isinstance(a, Extremum)), key=lambda a: a.key, default=None)
    if atom is None:
        return False
    grows = all(m.count(atom) == 1 and (c > 0) == atom.largest and
                all((_atom_range(a)[0] or 0) >= 0 and _atom_range(a)[0] is not None for a in m if a is not atom)
                for m, c in e.terms if atom in m)
    return (any if grows else all)(is_nonnegative(_replaced(e, atom, part)) for part in atom.parts)


def _prove_by_ends(e: Expr) -> bool:
    """A floor division is smallest, or largest, where its loop variables are at the ends of their ranges; there it may
    be one that e holds, too."""
    for monomial, c in e.terms:
        if len(monomial) == 1 and isinstance(monomial[0], FloorDiv):
            num, den = monomial[0].parts
            end = extreme(num, c < 0)
            if end is not num:
                return is_nonnegative(e - c * Expr(((monomial, 1),)) + c * (end // den))
    return False


_digits: dict[tuple[Sym, tuple[Expr, ...]], Expr | None] = {}


def _prove_by_digits(e: Expr) -> bool:
    """A loop variable that is divided by n, and by n*n say, is a*n*n + b*n + c for b and c below n: no division is
    left, and what a, b and c lead to is seen apart."""
    divided: dict[Sym, set[Expr]] = {}
    for monomial, _ in e.terms:
        for atom in monomial:
            if not isinstance(atom, FloorDiv):
                continue
            s = next(iter(atom.num.symbols()), None)
            if s is not None and atom.num == sym(s) and not s.is_dim and s.lo == 0 and s.hi is not None:
                divided.setdefault(s, set()).add(atom.den)
    for s, dens in sorted(divided.items(), key=lambda of: of[0].key):
        key = s, tuple(sorted(dens, key=lambda d: (len(d.terms[0][0]), abs(d.terms[0][1]))))
        if key not in _digits:
            _digits[key] = _in_digits(*key)
        value = _digits[key]
        if value is not None:
            return is_nonnegative(e.substitute({s: value}))
    return False


def _in_digits(s: Sym, dens: tuple[Expr, ...]) -> Expr | None:
    """The variable as the sum of its digits times their places, which are 1 and the divisors; None where a place is no
    multiple of the one before."""
    value, place = wrap(0), wrap(1)
    assert s.hi is not None
    for end in (*dens, wrap(s.hi) + 1):
        count = exact_div(end, place)
        if count is None:
            return None
        value = value + sym(Sym(f"{s.name}_digit", 0, count - 1)) * place
        place = end
    return value


def _replaced(e: Expr, atom: Atom, by: Expr) -> Expr:
    """e with `by` in the place of the atom, outside of other atoms."""
    out = wrap(0)
    for monomial, c in e.terms:
        term = wrap(c)
        for factor in monomial:
            term = term * (by if factor is atom else Expr((((factor,), 1),)))
        out = out + term
    return out


def is_zero(e: IntLike) -> bool:
    return wrap(e).terms == ()


def equal(a: IntLike, b: IntLike) -> bool:
    """Proved equal for every value of the symbols."""
    return (wrap(a) - wrap(b)).terms == ()


def never_equal(a: IntLike, b: IntLike) -> bool:
    """Proved different for every value of the symbols."""
    d = wrap(a) - wrap(b)
    if is_nonnegative(d - 1) or is_nonnegative(-d - 1):
        return True
    # parity: 2*x + 1 is never 0
    constant = constant_term(d)
    g = divisor_of(d - constant)
    return g > 1 and constant % g != 0
