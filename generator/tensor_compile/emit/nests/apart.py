# SPDX-License-Identifier: Apache-2.0
"""Maxima, minima and their kin of one long row, whose terms may be taken in any order: several vectors of them, so that
an operation does not wait for the one before it. Rows that run side by side overlap by themselves.
"""
from __future__ import annotations

from dataclasses import replace
from typing import Sequence

from ...loops.scalars import last
from ...symbolic import Sym, sym
from .reduction import OPERATION
from .row_sums import placed, RowSum, row_sum
from ..scalar import ScalarEmitter, extent

FREE = frozenset(("max", "min", "any", "all"))
VECTORS = 4    # that are added to in turn
LEAST = 4      # steps of each, below which it is not worth combining them


def terms_apart(sums: Sequence[RowSum], inner: Sym) -> int:
    """How many of the first terms go to `VECTORS` vectors; 0: none."""
    size = extent(inner)
    if not sums or not all(s.vector and s.reduce.op in FREE for s in sums) or not size.is_const:
        return 0
    each = 16 * VECTORS
    return size.value // each * each if size.value >= LEAST * each else 0


def others(e: ScalarEmitter, sums: Sequence[RowSum], inner: Sym) -> tuple[Sym, list[RowSum]]:
    """Declares the other vectors. The variable is that of the first one's terms, of which the others are the next."""
    first = Sym(inner.name, 0, last(inner) - 16 * (VECTORS - 1))
    made = []
    for i in range(VECTORS):
        change = placed(inner, sym(first) + 16 * i)
        for s in sums:
            r = replace(s.reduce, value=change(s.reduce.value))
            made.append(replace(s, reduce=r) if i == 0 else row_sum(e, r, True, s.vars, s.loses_nan))
    return first, made


def combine(e: ScalarEmitter, sums: Sequence[RowSum], made: Sequence[RowSum]) -> None:
    """What all vectors have goes to the first ones."""
    for number, one in enumerate(made[len(sums):]):
        s = sums[number % len(sums)]
        operation = "larger" if s.loses_nan else OPERATION[s.reduce.op]
        e.lines.append(f"{s.acc} = tcv_{operation}_{s.reduce.dtype}({one.acc}, {s.acc});")
