# SPDX-License-Identifier: Apache-2.0
"""Rows, or lines, of a number of positions that is known when the kernel runs.

Positions that lie side by side are code of their own, in which no test of a window's terms asks for the position: it
runs where each of these tests holds for all of them. Where one may fail, as at the padding, or where fewer positions
are left, other code runs, which asks. A row is walked piece by piece, and each piece takes the first code that fits.
"""
from __future__ import annotations

from typing import Callable, Iterable, Sequence

from ...loops.loop_ir import Store
from ...loops.scalar_ir import Reduction, Scalar
from ...loops.scalars import last, Rewriter, rewritten
from ...records import dataclass
from ...symbolic import Expr, Sym, const, is_nonnegative, sym
from ..scalar import ScalarEmitter, extent, indent


@dataclass(frozen=True, slots=True)
class Piece:
    """Code for `count` positions, written by a function that gets the first one: where at least `left` are left, and
    each of `tests` holds for the first `tested` of them. begins: and where these are the first ones of the row."""

    count: int
    left: int
    tested: int
    tests: Sequence[Expr]
    write: Callable[[Sym], None]
    begins: bool = False


def is_open(row: Sym) -> bool:
    return not extent(row).is_const


def least(windows: Iterable[Reduction], row: Sym) -> list[Expr] | None:
    """The tests of the windows' terms that depend on the position, each as it is for the term for which it is least;
    None where one does not depend on the position, or on a term's variables, by constant steps."""
    found: dict[Expr, None] = {}
    for r in windows:
        for e in r.valid:
            if row not in e.symbols():
                continue
            for s in r.vars:
                step = e.coefficient(s)
                if step is None or not step.is_const:
                    return None
                e = e.substitute({s: const(s.lo) if step.value >= 0 else last(s)})
            step = e.coefficient(row)
            if step is None or not step.is_const or not step.terms:
                return None
            if not is_nonnegative(e):
                found[e] = None
    return list(found)


def before(tests: Iterable[Expr], row: Sym) -> int:
    """Positions at the beginning of a row for which a test fails."""
    count = 0
    for e in tests:
        step, first = e.coefficient(row), e.substitute({row: const(0)})
        assert step is not None
        if step.value > 0 and first.is_const:
            count = max(count, -(first.value // step.value))
    return count


def reaches_behind(test: Expr, row: Sym) -> bool:
    """It fails from some position on, and not up to some position."""
    step = test.coefficient(row)
    assert step is not None
    return step.value < 0


def without_tests(stores: Iterable[Store], row: Sym, holds: Callable[[Expr], bool] = lambda e: True
                  ) -> tuple[Store, ...]:
    """The stores where all tests of their windows that depend on the position hold, or those of which that is known."""
    def leaf(s: Scalar) -> Scalar | None:
        if not isinstance(s, Reduction):
            return None
        left = tuple(e for e in s.valid if row not in e.symbols() or not holds(e))
        return Reduction(s.op, s.order, s.dtype, s.vars, s.value, left)
    change = Rewriter(None, leaf)
    return tuple(rewritten(x, change) for x in stores)


def walk_row(e: ScalarEmitter, row: Sym, low: str, high: str, pieces: Sequence[Piece]) -> None:
    """The loop over the positions from low to high. The last piece takes what no other one does."""
    at = Sym(row.name, 0, row.hi)
    name = e.names[at] = e.fresh("at")
    e.open((at,))
    made: list[list[str]] = []   # what several pieces need is written before the first of them
    for piece in pieces:
        e.open(guard=True)
        piece.write(at)
        made.append(e.scopes.pop().lines)
    for number, (piece, lines) in enumerate(zip(pieces, made, strict=True)):
        fits = [f"{name} == 0"] if piece.begins else []
        fits += [f"{name} + {piece.left} <= {high}"] if piece.left > 1 else []
        for test in piece.tests:
            worst = sym(at) + (piece.tested - 1) if reaches_behind(test, row) else sym(at)
            fits.append(f"{e.index(test.substitute({row: worst}))} >= 0")
        head = f"if ({' && '.join(fits)}) {{" if fits else "{"
        e.lines += [f"{'else ' if number else ''}{head}", *indent(lines), f"    {name} += {piece.count};", "}"]
    e.close(f"for (tc_index {name} = {low}; {name} < {high};)")
