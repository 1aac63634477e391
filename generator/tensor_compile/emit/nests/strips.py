# SPDX-License-Identifier: Apache-2.0
"""Pointwise nests whose points reduce an axis that lies across them, such as sums of columns: several vectors of points
share the loop over the terms. What they read of a term are whole lines that lie one behind the other, which the
processor fetches ahead, and their chains of dependent operations overlap. Every point keeps its own order.
"""
from __future__ import annotations

from typing import Mapping, Sequence

from ...instruction_sets import InstructionSet
from ...loops.loop_ir import Phase, Store
from ...loops.scalar_ir import Buffer, Load, Reduction
from ...loops.scalars import domain_size, last, rewritten, walk
from ...symbolic import Expr, Sym, sym
from .reduction import POSITIONS
from .row_sums import placed
from ..scalar import extent

SIDE = 4      # vectors
LEAST = 17    # terms, more than lanes


def side_by_side(phase: Phase, buffers: Mapping[str, Buffer], isa: InstructionSet) -> int:
    """How many vectors of points share their loops."""
    if not phase.vars or phase.reduces or isa.room < 2 * SIDE:
        return 1
    inner = phase.vars[-1]
    nodes = dict.fromkeys(walk(*(v for x in phase.stores for v in x.values)))
    found = [x for x in nodes if isinstance(x, Reduction)]
    if not extent(inner).is_const or extent(inner).value < 16 * SIDE or not found:
        return 1
    terms = domain_size(found[0].vars)
    if not terms.is_const or terms.value < LEAST or len(found[0].vars) != 1 \
            or any(x.vars != found[0].vars or x.valid or x.op == "dot" for x in found):
        return 1
    loads = [x for node in found for x in walk(node.value) if isinstance(x, Load)]
    places = [buffers[x.buffer].address(x.index) for x in loads]
    across = any(place.coefficient(inner) == 1 and _apart(place.coefficient(found[0].vars[0])) for place in places)
    if not across or any(x.dynamic or x.valid for x in loads):
        return 1
    registers = sum(2 if x.op in POSITIONS else 1 for x in found)    # of a vector: an extreme and its position
    return max(1, min(SIDE, isa.room // 2 // registers))


def _apart(step: Expr | None) -> bool:
    """Terms lie in different lines."""
    return step is not None and (not step.is_const or abs(step.value) >= 16)


def beside(stores: Sequence[Store], inner: Sym, count: int) -> tuple[Sym, list[Store]]:
    """The stores of `count` vectors, from a point of the first one on."""
    first = Sym(inner.name, 0, last(inner) - 16 * (count - 1))
    changes = [placed(inner, sym(first) + 16 * i) for i in range(count)]
    return first, [rewritten(x, change) for change in changes for x in stores]
