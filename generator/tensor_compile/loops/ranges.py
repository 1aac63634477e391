# SPDX-License-Identifier: Apache-2.0
"""In which range an integer scalar lies, as expressions: what spares a gather the check of its index.

A bound is any of a list, because a clamp has two: minimum(i + 2, n - 1) is at most both.
"""
from __future__ import annotations

from ..graph.dtypes import DTYPES, INDICES
from ..symbolic import Expr, is_nonnegative, wrap
from .scalar_ir import Apply, Const, IndexValue, Scalar

_MOST = 4  # of each list: an expression of many clamps is not worth more
Bounds = tuple[list[Expr], list[Expr]]


def lies_in(s: Scalar, bound: Expr) -> bool:
    """0 <= s < bound is proved."""
    low, high = _bounds(s)
    return any(is_nonnegative(e) for e in low) and any(is_nonnegative(bound - 1 - e) for e in high)


def index_of(s: Scalar) -> Expr | None:
    """s as an expression of dims and loop variables, where it is one."""
    if isinstance(s, IndexValue):
        return s.expr
    if isinstance(s, Const) and s.dtype in INDICES:
        return wrap(DTYPES[s.dtype].number(s.bits))
    return None


def _bounds(s: Scalar) -> Bounds:
    """Lower and upper bounds; none of a kind where none is known. An operation that may wrap has them only where both
    ends of its operands are known and those of its result lie within the dtype."""
    exact = index_of(s)
    if exact is not None:
        return [exact], [exact]
    if not isinstance(s, Apply) or s.dtype not in ("i32", "i64"):
        return [], []
    if s.op == "select":
        (a_low, a_high), (b_low, b_high) = _bounds(s.args[1]), _bounds(s.args[2])
        return _outer(a_low, b_low, -1), _outer(a_high, b_high, 1)
    if s.op == "cast":
        operand = s.args[0]
        return _bounds(operand) if operand.dtype == s.dtype or (operand.dtype, s.dtype) == ("i32", "i64") else ([], [])
    if s.op not in ("minimum", "maximum", "add", "sub", "mul"):
        return [], []
    (a_low, a_high), (b_low, b_high) = _bounds(s.args[0]), _bounds(s.args[1])
    if s.op == "minimum":
        return _outer(a_low, b_low, -1), (a_high + b_high)[:_MOST]
    if s.op == "maximum":
        return (a_low + b_low)[:_MOST], _outer(a_high, b_high, 1)
    if not (a_low and a_high and b_low and b_high):
        return [], []
    if s.op == "add":
        return _unwrapped(s.dtype, _pairs(a_low, b_low, 1), _pairs(a_high, b_high, 1))
    if s.op == "sub":
        return _unwrapped(s.dtype, _pairs(a_low, b_high, -1), _pairs(a_high, b_low, -1))
    factor = index_of(s.args[1])
    low, high = a_low, a_high
    if factor is None:
        factor, low, high = index_of(s.args[0]), b_low, b_high
    if factor is None or not is_nonnegative(factor):
        return [], []
    return _unwrapped(s.dtype, [e * factor for e in low], [e * factor for e in high])


def _unwrapped(dtype: str, low: list[Expr], high: list[Expr]) -> Bounds:
    """The bounds, where one of each kind shows that the exact result is a value of the dtype; else none."""
    half = 1 << (31 if dtype == "i32" else 63)
    lowest, highest = [e.range()[0] for e in low], [e.range()[1] for e in high]
    fits = any(n is not None and n >= -half for n in lowest) and any(n is not None and n < half for n in highest)
    return (low, high) if fits else ([], [])


def _outer(a: list[Expr], b: list[Expr], sign: int) -> list[Expr]:
    """Bounds of both sides at once: of two comparable ones the one further out (sign -1: the lower)."""
    kept = []
    for x in a:
        for y in b:
            difference = (x - y) * sign
            if is_nonnegative(difference):
                kept.append(x)
            elif is_nonnegative(difference * -1):
                kept.append(y)
    return kept[:_MOST]


def _pairs(a: list[Expr], b: list[Expr], sign: int) -> list[Expr]:
    return [x + y * sign for x in a for y in b][:_MOST]
