# SPDX-License-Identifier: Apache-2.0
"""Fusion: Computations, Contractions and checks -> kernels, list by list.

Each step makes a value that the next one reads: `dependences` says who loads and stores what, `repeat` rewrites the
items whose readers compute them, `join` puts items into groups, `group_contractions` has groups run as one kernel, and
KernelBuilder writes the kernels.
"""
from __future__ import annotations

from collections import Counter
from dataclasses import field, replace
from typing import Mapping

from ..records import dataclass
from .accesses import written
from .build_kernels import KernelBuilder
from .dependences import dependences
from .exchange import exchanged
from .faults import waited_for
from .fused import Fused
from .grouped_contractions import group_contractions
from .groups import Group, Grouped, Notes, ordered
from .joining import join, SaysApart
from .loop_ir import Computation
from .program_ir import Apart, Branch, Element, Loop
from .lower import LoweredFunction
from .repeat import repeat
from .scalar_ir import Buffer, Load
from .uses import reading_items


def fuse(lowered: LoweredFunction, separate: bool = False,
         apart: SaysApart = lambda first, item, made, buffers: False) -> Fused:
    """The kernels of a function. separate: one an item, nothing fused (what fusion is compared with); apart: as of
    join."""
    low, buffers = lowered, dict(lowered.buffers)
    lists = _Lists(buffers, separate, reading_items(low.items), apart)
    kernels = lists.kernels(low.items, outermost=True)
    return Fused(low.name, buffers, kernels, low.inputs, low.outputs, low.states, low.dims, lists.fusions,
                 lists.copies, lists.stayed)


@dataclass(frozen=True, slots=True)
class _Lists:
    """What the lists of a function share, whose kernels are each list's alone. readers: items that read a buffer, in
    all of the function. fusions, copies, stayed: what is recorded of all lists (fusions, refusals and apart of Fused).
    """

    buffers: dict[str, Buffer]
    separate: bool
    readers: Counter[str]
    apart: SaysApart
    fusions: list[str] = field(default_factory=list)
    copies: list[tuple[str, str]] = field(default_factory=list)
    stayed: list[Apart] = field(default_factory=list)

    def kernels(self, items: list[Element], lasting: frozenset[str] = frozenset(),
                outermost: bool = False) -> list[Element]:
        """Of one list. lasting: as of Dependences."""
        mine = reading_items(items)
        outside = frozenset(name for name, count in self.readers.items() if count > mine[name]) | lasting
        uses = dependences(items, self.buffers, outside, lasting)
        if not self.separate:
            uses = repeat(uses)
        notes = Notes()
        grouped = join(uses, waited_for(uses.items) if outermost else set(), self.separate, notes, self.apart)
        if not self.separate:
            group_contractions(grouped, notes)
        self.fusions.extend(notes.fusions)
        self.note_copies(grouped)
        builder = KernelBuilder(grouped, self.buffers)
        groups = ordered(grouped.groups)
        built = [self.region(g.members[0].item, lasting) if g.kind == "region" else builder.build(g) for g in groups]
        kernels = {g: k for g, k in zip(groups, built, strict=True) if k is not None}
        self.stayed.extend(stayed_apart(grouped, kernels, notes))
        return list(kernels.values())

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
                self.copies.append((f"{item.label} in place", item.copy))


def stayed_apart(grouped: Grouped, kernels: Mapping[Group, Element], notes: Notes) -> list[Apart]:
    """One for every two kernels that were tried: the reason that was met first. What became one kernel in another way
    is none."""
    found: dict[frozenset[Group], Apart] = {}
    for tried in notes.tried:
        one, other = grouped.group_of(tried.one), grouped.group_of(tried.other)
        pair = frozenset((one, other))
        if len(pair) < 2 or pair in found or not all(g in kernels and written(kernels[g]) for g in pair):
            continue
        first, second = kernels[one], kernels[other]
        found[pair] = Apart(f"{first.label} {tried.how} {second.label}", tried.why,
                            (written(first)[0], written(second)[0]))
    return list(found.values())
