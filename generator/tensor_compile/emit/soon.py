# SPDX-License-Identifier: Apache-2.0
"""What the tiles of a product fetch while they are computed: what their thread reads soon (tc_soon_of in fetching.h).

A team shares a product of many rows by columns, so a thread reads neighbouring panels, once each, and all its tiles of
rows meet them. Where weights come from behind the second caches, a thread would wait for the first group of its
columns, longer than for a tile's products, and for each later one that nobody fetched. So tiles fetch the thread's
later panels, and the last ones the first panels that it reads in the next such step.
"""
from __future__ import annotations

from typing import Mapping, Sequence

from ..graph.dtypes import DTYPES
from ..loops.contraction_schedule import Schedule
from ..loops.loop_ir import ContractionKernel, Element, GroupedContractionKernel, Kernel, numbered, Step
from ..loops.scalars import domain_size
from ..records import dataclass
from ..target import Target
from .contraction.schedule_blocks import fetches_soon
from .contraction.schedules import isas_of
from .streams import LEAST, PANEL


@dataclass(frozen=True, slots=True)
class Panels:
    """tc_panels: the weights of a part of a product."""

    offset: int
    bytes: int
    panels: int
    rows: int
    size: int


@dataclass(frozen=True, slots=True)
class Read:
    """A step that reads panels so. reads: for each instruction set of the function, whether its team shares columns;
    fetches: whether tiles fetch, too."""

    parts: tuple[Panels, ...]
    reads: tuple[bool, ...]
    fetches: tuple[bool, ...]


@dataclass(slots=True)
class Soon:
    """The steps outside of loops that read panels so, by number, and what the driver says of them. name: of the table
    of their panels."""

    steps: dict[int, Read]
    name: str = ""

    @staticmethod
    def of(items: Sequence[Element], packed: Mapping[str, int], target: Target) -> "Soon":
        """packed: where the packed buffers lie."""
        steps = {number: _read(item.kernel, packed, target) for number, item in numbered(items)
                 if isinstance(item, Step)}
        found = {number: read for number, read in steps.items() if read is not None}
        return Soon(found if any(any(read.fetches) for read in found.values()) else {})

    def table(self, variant: str) -> list[str]:
        """C lines of the panels of all steps."""
        self.name = f"{variant}_panels"
        rows = [f"    {{{p.offset}, {p.bytes}, {p.panels}, {p.rows}, {p.size}}}," for read in self.steps.values()
                for p in read.parts]
        return [f"static const tc_panels {self.name}[] = {{", *rows, "};", ""] if rows else []

    def told(self, number: int) -> tuple[list[str], str] | None:
        """C lines that make what a step's tiles are told, and the pointer to it; None where they are told nothing."""
        read = self.steps.get(number)
        if read is None or not any(read.fetches):
            return None
        numbers = list(self.steps)
        at = numbers.index(number)
        begin = sum(len(self.steps[n].parts) for n in numbers[:at])
        behind, count = "0", "0"
        if at + 1 < len(numbers):
            then = self.steps[numbers[at + 1]]
            behind, count = f"{self.name} + {begin + len(read.parts)}", _where(then.reads, str(len(then.parts)))
        return ["tc_index soon[TC_SOON];", f"tc_soon_of(soon, f->weights, {self.name} + {begin}, {len(read.parts)}, "
                f"{behind}, {count}, thread, threads);"], _where(read.fetches, "soon")


def _where(sets: tuple[bool, ...], text: str) -> str:
    """C text of a value for those of the function's instruction sets; for the others 0."""
    if all(sets):
        return text
    return f"(0x{sum(1 << i for i, one in enumerate(sets) if one):x}u >> tc_set(f) & 1 ? {text} : 0)"


def _read(kernel: Kernel, packed: Mapping[str, int], target: Target) -> Read | None:
    if not isinstance(kernel, (ContractionKernel, GroupedContractionKernel)):
        return None
    found = [_panels(part, packed) for part in kernel.contractions]
    parts = tuple(part for part in found if part is not None)
    if len(parts) < len(found) or sum(part.bytes * part.panels for part in parts) < LEAST:
        return None
    chosen = [[s for part in kernel.contractions for s in part.schedules if s.isa == made]
              for _, made in isas_of(kernel, target)]
    reads = tuple(bool(schedules) and all(map(_by_columns, schedules)) for schedules in chosen)
    fetches = tuple(by and any(map(fetches_soon, schedules)) for by, schedules in zip(reads, chosen, strict=True))
    return Read(parts, reads, fetches) if any(reads) else None


def _panels(part: ContractionKernel, packed: Mapping[str, int]) -> Panels | None:
    """None where they are no constants that lie one behind the other."""
    rows, columns, batches = domain_size(part.m), domain_size(part.n), domain_size(part.batch)
    if part.b_panel != PANEL or len(part.b) != 1 or not all(e.is_const for e in (rows, columns, batches)) \
            or batches.value != 1 or min(rows.value, columns.value) < 1:
        return None
    (b,) = part.b
    buffer, count = next(p for p in part.params if p.name == b.buffer), -(-columns.value // PANEL)
    if b.buffer not in packed or not buffer.elements.is_const or buffer.elements.value % count:
        return None
    size = DTYPES[buffer.dtype].bytes
    return Panels(packed[b.buffer], buffer.elements.value // count * size, count, rows.value, size * part.product.group)


def _by_columns(schedule: Schedule) -> bool:
    """A thread's share is neighbouring columns, of all rows."""
    return not (schedule.blocked or schedule.packed_b or schedule.bands or schedule.mc or schedule.lines)
