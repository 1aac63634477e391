# SPDX-License-Identifier: Apache-2.0
"""Three bytes of a point that lie side by side, where vectors are along a row: an image whose channels come last. The
three vectors of 16 points are stored together."""
from __future__ import annotations

from ...instruction_sets import InstructionSet
from ...loops.loop_ir import LoopNestKernel
from ...loops.scalars import loads, substitute
from ...symbolic import const, product
from .items import next_item, positions, share
from ..scalar import ScalarEmitter, extent, splat

TURNS = 3


def in_turn(kernel: LoopNestKernel, isa: InstructionSet) -> bool:
    """Whether the last row variable is that of three bytes which lie so, and what it stores has whole vectors."""
    if isa.vectors not in ("AVX2", "AVX512") or len(kernel.phases) != 1 or not kernel.rows:
        return False
    (phase,), turn = kernel.phases, kernel.rows[-1]
    if phase.reduces or len(phase.stores) != 1 or len(phase.vars) != 1 or extent(turn) != TURNS:
        return False
    (store,), row = phase.stores, extent(phase.vars[0])
    if not row.is_const or row.value % 16:
        return False
    address = {b.name: b for b in kernel.params}[store.buffer].address(store.index)
    return store.value.dtype in ("i8", "u8") and address.coefficient(turn) == 1 \
        and address.coefficient(phase.vars[0]) == TURNS and not any(x.dynamic for x in loads(store.value))


def emit(e: ScalarEmitter, kernel: LoopNestKernel) -> None:
    """Rows of points, split over the team."""
    alone, turn, (phase,) = kernel.rows[:-1], kernel.rows[-1], kernel.phases
    e.lines += share(e, product(extent(s) for s in alone), max(1, kernel.grain // TURNS))
    (store,), (inner,) = phase.stores, phase.vars
    loops = [(e.bind(s), e.index(extent(s))) for s in alone]
    e.lines += positions(loops, "begin")
    e.open(alone)
    name = e.bind(inner)
    e.open((inner,))
    e.width, e.vector, e.lanes = 16, inner, None
    values = []
    for k in range(TURNS):
        result = e.value(substitute(store.value, {turn: const(k)}))
        values.append(result.text if result.vector else splat(store.value.dtype, result.text))
    first = e.address(store.buffer, tuple(x.substitute({turn: const(0)}) for x in store.index))
    e.lines.append(f"tcv_store_three_bytes({e.pointers[store.buffer]} + ({e.index(first)}), {', '.join(values)});")
    e.width, e.vector, e.lanes = 1, None, None
    e.close(f"for (tc_index {name} = 0; {name} < {e.index(extent(inner))}; {name} += 16)")
    e.lines += next_item([name for name, _ in loops], [size for _, size in loops]) if loops else []
    e.close("for (tc_index item = begin; item < end; ++item)")
