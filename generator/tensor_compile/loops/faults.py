# SPDX-License-Identifier: Apache-2.0
"""A fault leaves outputs and states as they were: outside of loops and branches nothing is stored there before every
index has been looked at. Lowering copies there at the end what an index is computed from, and fusion makes no kernel of
what a check waits for and of what it does not."""
from __future__ import annotations

from ..symbolic import Expr
from .accesses import touched
from .loop_ir import CheckKernel, Computation, Contraction
from .program_ir import Element
from .scalar_ir import Buffer
from .disjoint import apart
from .scalars import loads


def waited_for(items: list[Element]) -> set[int]:
    """The positions of the items that the list's checks need, directly or not. None stands for an item that is gone."""
    writers: dict[str, list[int]] = {}
    for position, item in enumerate(items):
        for name in () if item is None else touched([item])[1]:
            writers.setdefault(name, []).append(position)
    early: set[int] = set()
    pending = [position for position, item in enumerate(items) if isinstance(item, CheckKernel)]
    while pending:
        here = pending.pop()
        for name, index in _reads(items[here]):
            for w in writers.get(name, ()):
                if w < here and w not in early and not (index and isinstance(items[w], (Computation, Contraction))
                                                        and apart(items[w].index, index)):
                    early.add(w)
                    pending.append(w)
    return early


def _reads(item: Element) -> list[tuple[str, tuple[Expr, ...]]]:
    """(buffer, index) of all that an item loads, () where that is not one index."""
    if isinstance(item, (Computation, Contraction)):
        values = item.values if isinstance(item, Contraction) else [item.value, *(v for _, v in item.dynamic)]
        return [(x.buffer, x.index) for x in loads(*values)]
    return [(name, ()) for name in touched([item])[0]]


def stored_early(items: list[Element], buffers: dict[str, Buffer]) -> frozenset[str]:
    """Outputs and states that hold what a check waits for."""
    names = (name for position in waited_for(items) for name in touched([items[position]])[1])
    return frozenset(name for name in names if buffers[name].kind in ("output", "state"))
