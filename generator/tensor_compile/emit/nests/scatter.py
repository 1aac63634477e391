# SPDX-License-Identifier: Apache-2.0
"""Stores at indices that are data: the elements that the dynamic index leads to, of all rows, are split over the team;
each thread walks all points of its rows in order and stores into its own elements."""
from __future__ import annotations

from typing import Callable

from ...loops.loop_ir import LoopNestKernel, Phase, Store
from ...loops.scalars import symbols_of
from ...symbolic import product
from .items import GRAIN
from ..scalar import ScalarEmitter, extent


def emit(e: ScalarEmitter, kernel: LoopNestKernel, along: Callable[[Phase, Store], None]) -> None:
    """along: writes the innermost loop of a store."""
    (phase,) = kernel.phases
    (store,) = phase.stores
    ((g, at),) = store.dynamic
    asked = symbols_of(at)
    within = set().union(*(i.symbols() for i in store.index))
    tail = max((i + 1 for i, s in enumerate(phase.vars) if s in asked or s not in within), default=0)
    outer, inner = phase.vars[:tail], phase.vars[tail:]
    size, rows = e.index(extent(g)), product(extent(s) for s in kernel.rows)
    work = e.index(rows * product(extent(s) for s in phase.vars))
    e.lines += ["tc_index begin, end;",
                f"const tc_index size = {size}, team = tc_min(threads, 1 + ({work}) / {GRAIN});",
                "if (thread >= team)", "    return;",
                f"tc_split({e.index(rows * extent(g))}, thread, team, &begin, &end);", "if (begin >= end)",
                "    return;"]
    row = []
    rest = "row"
    for s in reversed(kernel.rows):
        row.append(f"const tc_index {e.bind(s)} = {rest} % ({e.index(extent(s))});")
        rest = f"{rest} / ({e.index(extent(s))})"
    e.open(kernel.rows)
    e.lines += [*row, "const tc_index low = tc_max(begin - row * size, 0), high = tc_min(end - row * size, size);"]
    heads = [e.loop(s) for s in outer]
    e.names[g] = e.fresh("g")
    e.lines.append(f"const tc_index {e.names[g]} = (tc_index){e.scalar(at)};")
    e.open((g,), guard=True)
    heads.append(f"if ({e.names[g]} >= low && {e.names[g]} < high)")
    if inner:
        heads += [e.loop(s) for s in inner[:-1]]
        along(phase, store)
    else:
        e.store(store)
    for head in reversed(heads):
        e.close(head)
    e.close("for (tc_index row = begin / size; row * size < end; ++row)")
