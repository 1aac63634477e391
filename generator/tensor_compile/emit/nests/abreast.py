# SPDX-License-Identifier: Apache-2.0
"""Functions along one long row: several neighbouring vectors of it side by side, as rows are where there are several.
Whether all operands of an exp are near 0, or all quotients are multiply-adds, is asked once for all of them. Sums take
the terms in their order.
"""
from __future__ import annotations

from dataclasses import replace
from typing import Mapping, Sequence

from ...instruction_sets import InstructionSet, WIDE
from ...loops.loop_ir import Store
from ...loops.scalar_ir import Apply, Buffer, Load, Local
from ...loops.scalars import last, rewritten, walk
from ...symbolic import Sym, sym
from .reduction import POSITIONS
from .row_sums import placed, RowSum
from ..scalar import extent, ScalarEmitter

VECTORS = 4    # side by side
LEAST = 4      # steps of so many, below which what is left counts too much


def side_by_side(e: ScalarEmitter, isa: InstructionSet, sums: Sequence[RowSum], stores: Sequence[Store],
                 inner: Sym) -> bool:
    """Whether a phase of one row asks what is asked once for several vectors."""
    size, values = extent(inner), [s.reduce.value for s in sums] + [v for x in stores for v in x.values]
    if isa.lanes < WIDE or not size.is_const or size.value < LEAST * VECTORS * WIDE or any(x.dynamic for x in stores) \
            or any(s.reduce.op in POSITIONS or s.reduce.order == "running" for s in sums):
        return False
    nodes = list(dict.fromkeys(walk(*values)))
    if not all(_follows(x, e.buffers, inner) for x in nodes if isinstance(x, Load)):
        return False
    exps = [x for x in nodes if isinstance(x, Apply) and x.op == "exp"]
    quotients = [x for x in nodes if isinstance(x, Apply) and (x.op, x.dtype) == ("div", "f32")]
    return len(exps) == 1 and e.below or not exps and len(quotients) == 1 and _by_one_number(quotients[0])


def _by_one_number(x: Apply) -> bool:
    """All elements of the row have the same divisor, which is a number of the row."""
    divisor = list(walk(x.args[1]))
    return any(isinstance(y, Local) for y in divisor) and not any(isinstance(y, Load) for y in divisor)


def _follows(x: Load, buffers: Mapping[str, Buffer], inner: Sym) -> bool:
    """Its lanes are neighbouring elements, or one."""
    step = buffers[x.buffer].address(x.index).coefficient(inner)
    return not x.dynamic and not x.valid and step is not None and (not step.terms or step == 1)


def copies(sums: Sequence[RowSum], stores: Sequence[Store],
           inner: Sym) -> tuple[Sym, list[tuple[list[RowSum], list[Store]]]]:
    """The variable of the first vector's points, and what is done for each vector. All add to the same accumulators."""
    first = Sym(inner.name, 0, last(inner) - WIDE * (VECTORS - 1))
    made = []
    for i in range(VECTORS):
        change = placed(inner, sym(first) + WIDE * i)
        made.append(([replace(s, reduce=replace(s.reduce, value=change(s.reduce.value))) for s in sums],
                     [rewritten(x, change) for x in stores]))
    return first, made
