# SPDX-License-Identifier: Apache-2.0
"""The larger and the smaller of two expressions: one of them where their order is proved, else an atom."""
from __future__ import annotations

from math import gcd

from .expressions import Expr, Extremum, IntLike, constant_term, make, wrap
from .prover import is_nonnegative

_atoms: dict[tuple[bool, Expr, Expr], Extremum] = {}


def maximum(a: IntLike, b: IntLike) -> Expr:
    return _extremum(True, wrap(a), wrap(b))


def minimum(a: IntLike, b: IntLike) -> Expr:
    return _extremum(False, wrap(a), wrap(b))


def _extremum(largest: bool, a: Expr, b: Expr) -> Expr:
    if is_nonnegative(a - b):
        return a if largest else b
    if is_nonnegative(b - a):
        return b if largest else a
    # One form for max(n + 1, 5) and max(n, 4) + 1, for max(2*n, 8) and 2*max(n, 4).
    common = min(constant_term(a), constant_term(b))
    if common:
        return _extremum(largest, a - common, b - common) + common
    g = gcd(*(c for e in (a, b) for _, c in e.terms))
    if g > 1:
        return _extremum(largest, *(make({m: c // g for m, c in e.terms}) for e in (a, b))) * g
    if repr(b) < repr(a):
        a, b = b, a
    atom = _atoms.get((largest, a, b))
    if atom is None:
        atom = _atoms[(largest, a, b)] = Extremum(largest, a, b, len(_atoms))
    return Expr((((atom,), 1),))
