# SPDX-License-Identifier: Apache-2.0
"""How many neighbouring rows of reductions a nest walks side by side.

Several, so that their chains of dependent operations overlap. But the loops of a row read it several times, so what
they touch of all rows of a block should stay in the first cache from one loop to the next. Where it does not, two rows
are walked: fewer lines are in use at a time, and most of the overlap is left. Functions of a reduction, as exp of a
softmax, take longer than their operands, and gain more from the overlap.
"""
from __future__ import annotations

from typing import Iterator

from ...graph.dtypes import DTYPES
from ...instruction_sets import InstructionSet
from ...loops.loop_ir import LoopNestKernel, Phase, Store
from ...loops.scalar_ir import Apply, Load
from ...loops.scalars import extent, is_function, loads, walk
from ...symbolic import Sym, product
from ...symbolic.typical import typical as size
from .row_sums import is_wide

MOST = 4          # rows
FEW = 2           # where the data of a block of rows do not all stay in the first cache
FEW_ROWS = 16     # rows below which none are joined, so that a team finds enough of them
A_ROW = 4         # vectors that a row of reductions keeps in registers
FIRST_CACHE = 1 << 15    # bytes of a first cache


def joined_rows(kernel: LoopNestKernel, isa: InstructionSet) -> int:
    """Of a kernel; 1 where rows stay apart: all phases are 16 wide and rows share no memory where they do not."""
    count = product(extent(s) for s in kernel.rows)
    joins = kernel.rows and not (count.is_const and count.value < FEW_ROWS) \
        and any(s.reduces for s in kernel.phases) and all(not s.vars or is_wide(s, isa) for s in kernel.phases) \
        and not any(b.kind == "scratch" for b in kernel.params)
    return rows_together(kernel, max(1, isa.room // A_ROW)) if joins else 1


def rows_together(kernel: LoopNestKernel, most: int) -> int:
    """At most `most` rows."""
    rows = min(MOST, most)
    if rows <= FEW or not _read_again(kernel) or any(_has_functions(phase) for phase in kernel.phases):
        return rows
    own, shared = _touched(kernel)
    return rows if rows * own + shared <= FIRST_CACHE else FEW


def _read_again(kernel: LoopNestKernel) -> bool:
    """A loop of a row reads what an earlier one reads or writes."""
    before: set[str] = set()
    for phase in kernel.phases:
        here = {x.buffer for x in loads(*phase.values)}
        if phase.vars and here & before:
            return True
        before |= here | {x.buffer for x in phase.stores}
    return False


def _has_functions(phase: Phase) -> bool:
    """A reduction of the phase adds or compares functions, such as exp."""
    return any(isinstance(x, Apply) and is_function(x.op) for x in walk(*(r.value for r in phase.reduces)))


def _touched(kernel: LoopNestKernel) -> tuple[int, int]:
    """Bytes of the tensors that the loops of a row touch: of the row alone, and of all rows."""
    element = {b.name: DTYPES[b.dtype].bytes for b in kernel.params}
    own: dict[str, int] = {}
    shared: dict[str, int] = {}
    for phase in kernel.phases:
        for place in _places(phase):
            symbols: set[Sym] = set().union(*(e.symbols() for e in place.index))
            held = shared if symbols.isdisjoint(kernel.rows) else own
            walked = element[place.buffer] * size(product(extent(s) for s in phase.vars if s in symbols))
            held[place.buffer] = max(held.get(place.buffer, 0), walked)
    return sum(own.values()), sum(shared.values())


def _places(phase: Phase) -> Iterator[Load | Store]:
    yield from loads(*phase.values)
    yield from phase.stores
