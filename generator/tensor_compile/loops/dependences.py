# SPDX-License-Identifier: Apache-2.0
"""Who loads and stores what among the items of a list: what fusion asks before items become one kernel."""
from __future__ import annotations

from dataclasses import field
from typing import Mapping

from ..records import dataclass
from ..symbolic import Expr
from .accesses import touched
from .disjoint import apart
from .loop_ir import CheckKernel, Computation, Contraction, ExternKernel
from .program_ir import Branch, Element, Loop
from .scalar_ir import Buffer, Load
from .scalars import loads


@dataclass(slots=True)
class Dependences:
    """items: None for one that is gone. buffers: of the function. loads: of each item; none where it touches whole
    buffers. writers, readers: by buffer, the items' positions. outside: buffers that items elsewhere read. lasting:
    buffers whose value an iteration of a loop around finds and then overwrites, beside the states."""

    items: list[Element]
    buffers: Mapping[str, Buffer]
    outside: frozenset[str]
    lasting: frozenset[str]
    loads: list[list[Load]] = field(default_factory=list)
    writers: dict[str, list[int]] = field(default_factory=dict)
    readers: dict[str, list[int]] = field(default_factory=dict)
    _writer_of: dict[tuple[str, tuple[Expr, ...]], int | None] = field(default_factory=dict)

    def overwrites(self, name: str) -> bool:
        """The buffer has two values here, one before the item that stores into it and one behind it."""
        return name in self.lasting or self.buffers[name].kind == "state"

    def may_alias(self, writer: int, x: Load) -> bool:
        """What is loaded may be an element that the item writes."""
        item = self.items[writer]
        return not (isinstance(item, (Computation, Contraction)) and apart(item.index, x.index))

    def writer_of(self, x: Load) -> int | None:
        """The item that computes what is loaded, where one alone does: of a buffer that is written in parts, that of
        the part."""
        key = x.buffer, x.index
        if key not in self._writer_of:
            writers = list(self.writers.get(x.buffer, ())) if not self.overwrites(x.buffer) else []
            if len(writers) > 1:
                writers = [w for w in writers if self.may_alias(w, x)]
            self._writer_of[key] = writers[0] if len(writers) == 1 else None
        return self._writer_of[key]


def item_loads(item: Computation) -> list[Load]:
    return loads(*(v for _, v in item.dynamic), item.value)


def dependences(items: list[Element], buffers: Mapping[str, Buffer], outside: frozenset[str],
                lasting: frozenset[str]) -> Dependences:
    """Of the items of a list, which may hold regions."""
    found = Dependences(list(items), buffers, outside, lasting)
    for seq, item in enumerate(items):
        if isinstance(item, CheckKernel):
            found.loads.append([])
            found.readers.setdefault(item.buffer.name, []).append(seq)
            continue
        if isinstance(item, (Loop, Branch, ExternKernel)):
            found.loads.append([])
            reads, writes = touched([item])
            for positions, names in ((found.readers, reads), (found.writers, writes)):
                for name in names:
                    positions.setdefault(name, []).append(seq)
            continue
        item_reads = loads(*item.values) if isinstance(item, Contraction) else item_loads(item)
        found.loads.append(item_reads)
        for name in {x.buffer: None for x in item_reads}:
            found.readers.setdefault(name, []).append(seq)
        found.writers.setdefault(item.out, []).append(seq)
    return found
