# SPDX-License-Identifier: Apache-2.0
"""Which loop nests find the maxima of the next rows ahead: while the second phase computes functions of these rows.

The first phase of a softmax has one operation a term and waits for the second level of cache; the second one has many,
and loads to spare. Rows run side by side, so that a thread's next ones are known; what a row stores no other one reads.
"""
from __future__ import annotations

from dataclasses import replace
from typing import Sequence

from ...instruction_sets import InstructionSet
from ...loops.loop_ir import LoopNestKernel, RowReduce
from ...loops.scalar_ir import Local
from ...loops.scalars import loads, Rewriter, walk
from ...symbolic import Expr, sym
from .row_sums import copied, row_reduces, RowSum
from ..scalar import extent

REGISTERS = 32    # vectors in registers from which on there is room for the maxima of both


def finds(kernel: LoopNestKernel, side: int, isa: InstructionSet) -> bool:
    """kernel: whose rows run `side` by side."""
    if len(kernel.rows) != 1 or len(kernel.phases) < 2 or isa.room < REGISTERS or (extent(kernel.rows[0]) % side).terms:
        return False
    (row,), (first, second, *_) = kernel.rows, kernel.phases
    kinds = {b.name: b.kind for b in kernel.params}
    values = [r.value for r in first.reduces if isinstance(r, RowReduce) and r.op == "max"]
    return not first.stores and 0 < len(values) == len(first.reduces) and len(first.vars) == len(second.vars) == 1 \
        and extent(first.vars[0]) == extent(second.vars[0]) and row not in extent(first.vars[0]).symbols() \
        and not any(isinstance(x, Local) for x in walk(*values)) \
        and all(kinds[x.buffer] == "tile" and not x.dynamic for x in loads(*values))


def following(kernel: LoopNestKernel, maxima: Sequence[RowSum], rows: Sequence[Expr]) -> list[RowSum]:
    """The same maxima, found in the loop of the second phase. rows: which come next."""
    (row,), (first, second, *_) = kernel.rows, kernel.phases
    here = {first.vars[0]: sym(second.vars[0])}
    change = Rewriter(lambda place: place.substitute(here), lambda node: None)
    reduces = [r for i, at in enumerate(rows) for r in row_reduces(copied(first, row, at, f"_{i}"))]
    return [replace(s, reduce=replace(r, value=change(r.value)), vars=second.vars)
            for s, r in zip(maxima, reduces, strict=True)]
