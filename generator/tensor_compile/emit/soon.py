# SPDX-License-Identifier: Apache-2.0
"""What the tiles of a product fetch while they are computed: what their thread reads soon (tc_soon_of in fetching.h).

A team shares a product of many rows by its tiles, groups of columns outermost or in each block of rows, so a thread
reads neighbouring panels, of which its tiles of rows meet a group many times. Where weights come from behind the second
caches, a thread would wait for the first group of its columns, longer than for a tile's products, and for each later
one that nobody fetched. So tiles fetch the thread's later panels, and the last ones the first group that it reads in
the next such step.
"""
from __future__ import annotations

from typing import Mapping, Sequence

from ..graph.dtypes import DTYPES
from ..loops.contraction_schedule import LARGE_PIECES, Schedule
from ..loops.loop_ir import consecutive, ContractionKernel, GroupedContractionKernel, Kernel
from ..loops.program_ir import Element, numbered, Step
from ..loops.scalars import domain_size
from ..records import dataclass
from ..target import Target
from .contraction.access import Access
from .contraction.schedule_blocks import fetches_soon
from .contraction.schedule_tiles import by_panels
from .contraction.schedules import isas_of
from .streams import LEAST, PANEL


@dataclass(frozen=True, slots=True)
class Panels:
    """tc_panels: the weights of a part of a product. Blocks of 0 tiles: what threads read is not known."""

    offset: int
    bytes: int
    panels: int
    rows: int
    size: int
    across: int
    tiles: int
    block: int
    large: int

    @property
    def numbers(self) -> tuple[int, ...]:
        """As the driver's struct has them."""
        return (self.offset, self.bytes, self.panels, self.rows, self.size, self.across, self.tiles, self.block,
                self.large)


@dataclass(frozen=True, slots=True)
class Read:
    """A step that reads panels so. parts: for each instruction set of the function; fetches: whether tiles fetch there,
    too."""

    parts: tuple[tuple[Panels, ...], ...]
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
        """C lines of the panels of all steps, for each instruction set."""
        self.name = f"{variant}_panels"
        if not self.steps:
            return []
        sets = list(zip(*(read.parts for read in self.steps.values()), strict=True))
        count = sum(map(len, sets[0]))
        lines = [f"static const tc_panels {self.name}[][{count}] = {{"]
        for one in sets:
            rows = [", ".join(map(str, p.numbers)) for parts in one for p in parts]
            lines += ["    {", *(f"        {{{row}}}," for row in rows), "    },"]
        return [*lines, "};", ""]

    def begin(self) -> list[str]:
        """C lines before all steps: the panels of the set whose kernels run."""
        return [f"const tc_panels *const panels = {self.name}[{'0' if self.sets == 1 else 'tc_set(f)'}];"] \
            if self.steps else []

    @property
    def sets(self) -> int:
        return max((len(read.parts) for read in self.steps.values()), default=0)

    def told(self, number: int) -> tuple[list[str], str] | None:
        """C lines that make what a step's tiles are told, and the pointer to it; None where they are told nothing."""
        read = self.steps.get(number)
        if read is None or not any(read.fetches):
            return None
        numbers = list(self.steps)
        at = numbers.index(number)
        begin, count = sum(len(self.steps[n].parts[0]) for n in numbers[:at]), len(read.parts[0])
        behind = len(self.steps[numbers[at + 1]].parts[0]) if at + 1 < len(numbers) else 0
        then = f"panels + {begin + count}" if behind else "0"
        return ["tc_index soon[TC_SOON];", f"tc_soon_of(soon, f->weights, panels + {begin}, {count}, {then}, {behind}, "
                "thread, threads);"], _where(read.fetches, "soon")


def _where(sets: tuple[bool, ...], text: str) -> str:
    """C text of a value for those of the function's instruction sets; for the others 0."""
    if all(sets):
        return text
    return f"(0x{sum(1 << i for i, one in enumerate(sets) if one):x}u >> tc_set(f) & 1 ? {text} : 0)"


def _read(kernel: Kernel, packed: Mapping[str, int], target: Target) -> Read | None:
    if not isinstance(kernel, (ContractionKernel, GroupedContractionKernel)) or consecutive(kernel):
        return None
    found: list[tuple[Panels, ...]] = []
    fetches: list[bool] = []
    for _, made in isas_of(kernel, target):
        schedules = [next((s for s in part.schedules if s.isa == made), None) for part in kernel.contractions]
        parts = [_panels(part, schedule, packed) for part, schedule in zip(kernel.contractions, schedules, strict=True)]
        known = tuple(part for part in parts if part is not None)
        if len(known) < len(parts):
            return None
        found.append(known)
        fetches.append(all(p.large for p in known) and any(s is not None and fetches_soon(s) for s in schedules))
    large = sum(part.bytes * part.panels for part in found[0]) >= LEAST
    return Read(tuple(found), tuple(fetches)) if large and any(p.large for parts in found for p in parts) else None


def _panels(part: ContractionKernel, schedule: Schedule | None, packed: Mapping[str, int]) -> Panels | None:
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
    across, tiles, block, large = _tiles(part, schedule, rows.value)
    return Panels(packed[b.buffer], buffer.elements.value // count * size, count, rows.value, size * part.product.group,
                  across, tiles, block, large)


def _tiles(part: ContractionKernel, schedule: Schedule | None, rows: int) -> tuple[int, int, int, int]:
    """Panels of a group, tiles of rows, tiles of a block of rows in teams of a few threads, and in large ones."""
    if schedule is None or schedule.blocked or schedule.packed_b or schedule.lines or schedule.nr % PANEL:
        return 1, 1, 0, 0
    if by_panels(Access.of(part), schedule):
        return 1, 1, 1, 1
    tiles = -(-rows // schedule.mr)
    alone = schedule.block(tiles)
    if not schedule.bands:
        return schedule.nr // PANEL, tiles, alone, alone
    # as taps.c.in has it
    all_tiles = -(-tiles // schedule.bands)
    band = -(-all_tiles // -(-all_tiles // alone))
    # which small teams share bands, their pieces say
    few = 0 if schedule.small_teams else alone if schedule.large_teams else band
    some = alone if tiles < LARGE_PIECES else 0
    return schedule.nr // PANEL, tiles, few, some if schedule.small_teams and not schedule.large_teams else band
