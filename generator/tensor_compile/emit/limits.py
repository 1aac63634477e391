# SPDX-License-Identifier: Apache-2.0
"""A number of f32 that is limited by a constant, as relu and clamp do: the operation of vectors that takes fewest
instructions. Processors have no maximum that keeps NaN and knows the zeros apart; where the limit is no NaN, and zeros
of both signs cannot meet, that of x86-64 does both (tc_vector.h)."""
from __future__ import annotations

from typing import Callable, Iterable

from ..loops.scalar_ir import Acc, Apply, Const, Reduction, Scalar

_ZERO, _MINUS_ZERO, _INFINITY = 0, 0x80000000, 0x7f800000
# -0 needs -0 as every operand, or as one
_FOUND: dict[str, Callable[[Iterable[bool]], bool]] = {"add": any, "maximum": all, "minimum": all}


def limit(s: Apply) -> tuple[str, tuple[Scalar, ...]] | None:
    """The operation and its operands, where s is the maximum or the minimum of a number and a limit."""
    if s.op not in ("maximum", "minimum") or s.dtype != "f32":
        return None
    first, second = s.args
    x, by = (first, second) if isinstance(second, Const) else (second, first)
    if not isinstance(by, Const) or by.bits & ~_MINUS_ZERO > _INFINITY:
        return None
    if s.op == "minimum":
        return ("at_most", (x, by)) if by.bits != _MINUS_ZERO else None
    return ("relu", (x,)) if by.bits == _ZERO and not never_minus_zero(x) else ("at_least", (x, by))


def never_minus_zero(s: Scalar, known: dict[Scalar, bool] | None = None) -> bool:
    """s is never -0. A sum is -0 only where all its terms are."""
    known = {} if known is None else known
    if s not in known:
        known[s] = _never_minus_zero(s, known)
    return known[s]


def _never_minus_zero(s: Scalar, known: dict[Scalar, bool]) -> bool:
    if isinstance(s, Const):
        return s.bits != _MINUS_ZERO
    if isinstance(s, Acc):
        return True
    if isinstance(s, Reduction):
        return (s.op, s.order) == ("dot", "seq")
    if not isinstance(s, Apply) or s.dtype != "f32" or s.op not in _FOUND:
        return False
    return _FOUND[s.op](never_minus_zero(x, known) for x in s.args)
