# SPDX-License-Identifier: Apache-2.0
"""Running sums along another axis than the one that lies side by side: lanes are neighbouring rows of the nest.

Each step of a row waits for the one before it, and its terms lie far apart. Of neighbouring rows, `SIDE` vectors
are walked together: the order of every row stays, and what is loaded and stored at a step are whole lines.
"""
from __future__ import annotations

from typing import Callable

from ...instruction_sets import InstructionSet
from ...loops.loop_ir import LoopNestKernel, Phase
from ...loops.scalar_ir import Reduction
from ...loops.scalars import last, loads, walk
from ...symbolic import product, sym, Sym
from ...symbolic.typical import typical
from .items import next_item, positions, share
from .row_sums import copied, row_reduces, row_sum
from ..scalar import CValue, ScalarEmitter, extent, vectorizable

SIDE = 4      # vectors
LEAST = 8     # rows, below which lanes would be empty


def steps_together(kernel: LoopNestKernel, isa: InstructionSet) -> bool:
    """Whether neighbouring rows of a nest of running sums are lanes."""
    if not isa.has_vectors or not kernel.rows or len(kernel.phases) != 1 or typical(extent(kernel.rows[-1])) < LEAST:
        return False
    (phase,), row = kernel.phases, kernel.rows[-1]
    reduces, buffers = row_reduces(phase), {b.name: b for b in kernel.params}
    values = [r.value for r in reduces] + [x.value for x in phase.stores]
    if not reduces or len(reduces) < len(phase.reduces) or any(row in extent(s).symbols() for s in phase.vars):
        return False
    places = [(x.buffer, x.index, x.dynamic or x.valid) for x in loads(*values)] \
        + [(x.buffer, x.index, x.dynamic) for x in phase.stores]
    return all(r.order == "running" and r.dtype in ("f32", "i32") for r in reduces) \
        and not any(isinstance(x, Reduction) for x in walk(*values)) and vectorizable(values, row) \
        and all(not hard and buffers[name].address(index).coefficient(row) == 1 for name, index, hard in places)


def emit(e: ScalarEmitter, kernel: LoopNestKernel) -> None:
    (phase,), row = kernel.phases, kernel.rows[-1]
    by_strips(e, kernel, SIDE, lambda first, count, lanes: _strip(e, phase, row, first, count, lanes))


def by_strips(e: ScalarEmitter, kernel: LoopNestKernel, side: int,
              strip: Callable[[str, int, str | None], None]) -> None:
    """Strips of `side` vectors of rows, split over the team. strip: writes all steps of the rows from a first one on,
    of so many vectors and lanes (None: all), in a scope that is closed here."""
    *alone, row = kernel.rows
    strips = (extent(row) + (16 * side - 1)) // (16 * side)
    e.lines += share(e, product(extent(s) for s in alone) * strips, max(1, kernel.grain // (16 * side)))
    loops = [(e.bind(s), e.index(extent(s))) for s in alone] + [(e.fresh("strip"), e.index(strips))]
    e.lines += positions(loops, "begin")
    e.open(alone)
    first, end = e.fresh("first"), e.index(extent(row))
    e.lines.append(f"tc_index {first} = {loops[-1][0]} * {16 * side};")
    whole = not (extent(row) % (16 * side)).terms
    strip(first, side, None)
    e.close("" if whole else f"if ({first} + {16 * side} <= {end})")
    if not whole:
        e.open()
        if side > 1:
            strip(first, 1, None)
            e.close(f"for (; {first} + 16 <= {end}; {first} += 16)")
        if (extent(row) % 16).terms:
            rest = e.fresh("rest")
            strip(first, 1, rest)
            e.scopes[-1].lines.insert(0, f"const tc_index {rest} = {end} - {first};")
            e.close(f"if ({first} < {end})")
        e.close("else")
    e.lines += next_item([name for name, _ in loops], [size for _, size in loops])
    e.close("for (tc_index item = begin; item < end; ++item)")


def _strip(e: ScalarEmitter, phase: Phase, row: Sym, first: str, count: int, lanes: str | None) -> None:
    """All steps of `count` vectors of rows from `first` on, in a scope that the caller closes."""
    base = Sym(row.name, 0, last(row) - 16 * (count - 1))
    e.names[base] = first
    e.open((base,))
    e.width, e.vector, e.lanes = 16, base, lanes
    copies = [copied(phase, row, sym(base) + 16 * i, f"_{i}") for i in range(count)]
    sums = [[row_sum(e, r, True, one.vars) for r in row_reduces(one)] for one in copies]
    heads = [e.loop(s) for s in phase.vars]
    for one, mine in zip(copies, sums, strict=True):
        for s in mine:
            s.accumulate(e, "", "")
            e.locals[s.reduce.name] = CValue(s.acc, True, len(e.scopes) - 1)
        e.stores(one.stores)
    for head in reversed(heads):
        e.close(head)
    e.width, e.vector, e.lanes = 1, None, None
