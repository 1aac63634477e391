# SPDX-License-Identifier: Apache-2.0
"""Fusion: Computations, Contractions and checks -> kernels, list by list.

Each step makes a value that the next one reads: `dependences` says who loads and stores what, `repeat` rewrites the
items whose readers compute them, `join` puts items into groups, `group_contractions` has groups run as one kernel, and
KernelBuilder writes the kernels.
"""
from __future__ import annotations

from collections import Counter
from dataclasses import replace

from ..records import dataclass
from .build_kernels import KernelBuilder
from .dependences import dependences
from .exchange import exchanged
from .faults import waited_for
from .fused import Fused
from .grouped_contractions import group_contractions
from .groups import Grouped, Notes, ordered
from .joining import Apart, join
from .loop_ir import Branch, Computation, Element, Loop
from .lower import LoweredFunction
from .repeat import repeat
from .scalar_ir import Buffer, Load
from .uses import reading_items


def fuse(lowered: LoweredFunction, separate: bool = False,
         apart: Apart = lambda first, item, made, buffers: False) -> Fused:
    """The kernels of a function. separate: one an item, nothing fused (what fusion is compared with); apart: as of
    join."""
    low, notes, buffers = lowered, Notes(), dict(lowered.buffers)
    kernels = _Lists(buffers, separate, reading_items(low.items), notes, apart).kernels(low.items, outermost=True)
    return Fused(low.name, buffers, kernels, low.inputs, low.outputs, low.states, low.dims, notes.fusions,
                 notes.refusals)


@dataclass(frozen=True, slots=True)
class _Lists:
    """What the lists of a function share, whose kernels are each list's alone. readers: items that read a buffer, in
    all of the function."""

    buffers: dict[str, Buffer]
    separate: bool
    readers: Counter[str]
    notes: Notes
    apart: Apart

    def kernels(self, items: list[Element], lasting: frozenset[str] = frozenset(),
                outermost: bool = False) -> list[Element]:
        """Of one list. lasting: as of Dependences."""
        mine = reading_items(items)
        outside = frozenset(name for name, count in self.readers.items() if count > mine[name]) | lasting
        uses = dependences(items, self.buffers, outside, lasting)
        if not self.separate:
            uses = repeat(uses)
        grouped = join(uses, waited_for(uses.items) if outermost else set(), self.separate, self.notes,
                       self.apart)
        if not self.separate:
            group_contractions(grouped, self.notes)
        self.note_copies(grouped)
        builder = KernelBuilder(grouped, self.buffers)
        kernels = [self.region(g.members[0].item, lasting) if g.kind == "region" else builder.build(g)
                   for g in ordered(grouped.groups)]
        return [k for k in kernels if k is not None]

    def region(self, item: Loop | Branch, lasting: frozenset[str]) -> Loop | Branch:
        """The region with the kernels of its lists."""
        if isinstance(item, Branch):
            return replace(item, then=self.kernels(item.then, lasting), other=self.kernels(item.other, lasting))
        lasting = lasting | frozenset(item.carried)
        body, swaps = exchanged(item, self.kernels(item.body, lasting), self.buffers, self.readers)
        return replace(item, test=self.kernels(item.test, lasting), body=body, swaps=swaps)

    def note_copies(self, grouped: Grouped) -> None:
        """Why what is copied is not computed where it is needed."""
        for seq, item in enumerate(grouped.uses.items):
            if isinstance(item, Computation) and item.copy and isinstance(item.value, Load) \
                    and not grouped.made_in(item.value, grouped.group_of(seq)):
                self.notes.refusals.append((f"{item.label} in place", item.copy))
