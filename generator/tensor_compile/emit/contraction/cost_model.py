# SPDX-License-Identifier: Apache-2.0
"""The cost model of contractions: the cycles that a schedule takes. They follow from the kernel and from the target
description alone; nothing is measured. By them one of the legal schedules is chosen (candidates.py), and the physical
order of what convolutions read (order_price.py)."""
from __future__ import annotations

import math
from dataclasses import replace
from typing import Callable

from ...instruction_sets import instruction_set
from ...loops.contraction_schedule import Schedule
from ...loops.loop_ir import ContractionKernel
from ...symbolic.typical import typical as size
from ...target import Target
from . import image_lines, padding, schedule_blocks
from .access import Access
from .candidate_table import LOOP, NAMED_LOOP, PANEL, TILE, step_cycles, tile_step_cycles
from .in_registers import half_register, NAMED_TURN, named, of_copied_columns, stands_alone, together
from .product_forms import form
from .schedule_tiles import Band, by_panels, tiles

TEAM = 8              # threads for which the cost model looks at the split
OWN_CODE = 1.01       # how much faster a tile of the kernel's own must be to be worth its compilation
CUT_TAPS = 1.04       # how much faster blocks of taps must be, which each block looks up for rows at the edges
NEAR_PANELS = 1 << 16  # bytes of all panels of tiles up to which a block is one tile of rows
NEAR_SORTED = 2       # of sorted words, up to that part of the second cache
SECOND_READ = 1 / 2    # of the second cache's pace: panels that are read from there once more, for few rows
BEYOND = 0.5         # of the time of panels that tiles are too few to fetch ahead
EDGE = 0.4            # cycles a term of each row of a tile whose positions are looked up one by one
FAR = 1024            # bytes from one row to the next, from which on each is a place of its own to the processor
NO_STREAM = (1 / 2, 10 / 32, 1 / 2)    # of the paces of the first cache, the second and beyond: of such rows
MET = (1 / 2, 5 / 32, 0.3)             # the same where rows meet in few sets of the caches
FEW_ROWS = 8          # of a, up to which such rows are read once, by one tile, in half the time that copies take
READ_ONCE = 0.75      # of the paces, then
AGAIN = 0.3           # of the time of panels that come from far once more, for the next rows, fetched ahead or not
STREAMS = 4           # panels side by side that the processor fetches ahead for one row, from memory
STREAM = 0.012        # of the time of panels from memory, for each panel beyond
APART = 3             # cycles a line of results whose neighbours are stored long before, or long after
BROKEN = 2            # more of results that leave the second cache, where a tile does not store whole rows of them
PAIR = 32             # columns of two lines of results: a processor fetches them together
LONE = 4              # cycles a line of results, or of columns that are copied, where groups of columns part such pairs
PARTED = 1.02         # how much longer all takes there, where a vector is a line
SHARED = 4            # cycles a line of results of bytes that lies in two groups of columns
OTHERS = 4            # cycles a line of rows of tiles that threads read for several groups of columns


def cost_of(kernel: ContractionKernel, target: Target, parts: int = 1) -> Callable[[Schedule], float]:
    """What a legal schedule of the kernel costs, beside others. parts: of the kernel that it is a part of, which a team
    shares."""
    access = Access.of(kernel)
    handed = (access.product.integer or _of_stripe(access)) and any(p.kind == "tile" for p in kernel.params)
    narrow = all(s.value.dtype in ("i8", "u8") for s in kernel.stores)

    def cost(schedule: Schedule) -> float:
        if schedule.term_by_term:    # there is no other
            return 0.0
        if schedule.lines:
            return _lines_cycles(kernel, schedule, target, parts, handed)
        more = OWN_CODE if schedule.epilogue == "registers" else 1.0
        more = CUT_TAPS if schedule_blocks.cuts_taps(access, schedule) else more
        return more * cycles(access, schedule, target, parts, handed, narrow)

    return cost


def _of_stripe(access: Access) -> bool:
    """Its rows are those of a stripe that the tile before has not left (tile_axes.Window); there may be none."""
    return any(s.is_dim and s.lo == 0 for s in access.rows.symbols())


def cycles(access: Access, schedule: Schedule, target: Target, parts: int = 1, handed: bool = False,
           narrow: bool = False) -> float:
    """Modelled time of the kernel with one thread, and a tenth of what a team loses by an uneven split. For a dynamic
    number of rows the mean, of ratios, of the time at several numbers; the largest alone where they are handed on by a
    loop over blocks of rows, all but the last of which have as many. narrow: results are of 8 bits."""
    model = _Model(access, schedule, target, parts, 1 if narrow else 4)
    return _mean([model.cycles(m) for m in _rows(access, handed)])


def _lines_cycles(kernel: ContractionKernel, schedule: Schedule, target: Target, parts: int, handed: bool) -> float:
    """The same where lines of an image are copied: a team shares rows of results."""
    access, fmas = Access.of(kernel), target.fmas(instruction_set(schedule.isa))
    each = image_lines.cycles(kernel, schedule, fmas)
    batches, positions = max(1, size(access.batches)), max(1, size(access.run))
    return _mean([batches * m * each * _uneven(batches * -(-m // positions) * parts, target)
                  for m in _rows(access, handed)])


def _uneven(items: int, target: Target) -> float:
    """How much longer all takes where a team shares so many items, by a tenth of what the threads lose."""
    team, shared = min(target.threads, TEAM), max(1, items)
    shares = -(-shared // team) * team / shared
    return 0.9 + 0.1 * shares


def _rows(access: Access, handed: bool) -> list[int]:
    """The numbers of rows that are looked at."""
    if access.rows.is_const:
        return [max(1, access.rows.value)]
    most, (least, _) = size(access.rows), access.rows.range()
    return sorted({most} if handed else {max(m, least or 1) for m in (most, most // 2 + 1, 5, 1)})


def _mean(times: list[float]) -> float:
    """Of ratios."""
    return math.exp(sum(math.log(t) for t in times) / len(times)) if len(times) > 1 else times[0]


def _beside(compute: float, stream: float) -> float:
    """Cycles of two things that overlap, for the most part."""
    return max(compute, stream) + 0.25 * min(compute, stream)


def one_tile(access: Access, rows: int) -> bool:
    """So many rows are all, or more."""
    return access.rows.is_const and access.rows.value <= rows


def far_columns(access: Access) -> bool:
    """Columns are read where they lie, terms far apart."""
    return access.in_place and 4 * size(access.inside[-1].b) >= FAR


def near_panels(access: Access, schedule: Schedule, target: Target) -> bool:
    """Panels of integers that are near enough to be read again for every tile of rows. Sorted rows are four times as
    long as they were: a tile of them may stay in the first cache, a block of tiles would fill the second one."""
    kind = form(schedule.dtype, schedule.isa)
    most = NEAR_PANELS if kind.tiles else target.l2 // NEAR_SORTED if kind.sorts else -1
    return second_bytes(access, 4) <= most


def second_bytes(access: Access, element: int) -> int:
    """Of all panels of b, of a batch."""
    return element * max(1, size(access.terms)) * max(1, size(access.columns)) * access.sums


def result_row(access: Access) -> int:
    """Bytes of a row of results."""
    return 4 * max(1, size(access.columns))


def bytes_a_row(access: Access) -> int:
    """Bytes of a that are a row's alone: the taps of a convolution share theirs."""
    return 4 * max(1, size(access.terms)) // max(1, access.taps or 1)


class _Model:
    """Cycles of one thread: multiply-adds, what they wait for, copies, and what tiles begin and end with."""

    def __init__(self, access: Access, schedule: Schedule, target: Target, parts: int, result: int):
        self.access, self.schedule, self.target, self.parts = access, schedule, target, parts
        self.result = result    # bytes of one of a point
        self.isa = instruction_set(schedule.isa)
        self.form = form(schedule.dtype, schedule.isa)
        self.tiles = tiles(access, schedule)
        # panels, not tiles, are what a team shares; of constant ones a tile more or less is little of a thread's part
        self.panels = access.in_place and by_panels(access, schedule)
        self.n, self.k, self.batches = (max(1, size(e)) for e in (access.columns, access.terms, access.batches))
        single = one_tile(access, schedule.mr)    # tile of rows: it reads no panel again
        self.block = min(self.k, schedule.kc) if schedule.kc and not single else self.k
        # a full tile takes several terms a turn
        inner = access.inside[-1].extent
        self.counts_little = named(schedule) and not schedule.prefetch and inner.is_const \
            and inner.value % NAMED_TURN == 0
        # bytes a cycle, the first time that panels of b are read
        reads, all_panels = target.reads, self.batches * second_bytes(access, self.form.b_bytes)
        self.far = all_panels > target.l2 * 3 // 4
        self.once = reads.of(all_panels, target) if self.far else reads.l2
        # and when rows are read again for the next columns
        self.a_row_bytes = bytes_a_row(access)
        near = self.a_row_bytes * (schedule.mc or size(access.rows)) <= target.l2 // 2
        self.row_pace = reads.l2 if near or schedule.packed_a or self.n <= schedule.nr else reads.l3
        # the part of the tiles that have positions in the padding, where those are looked up
        self.edges = 0.0
        if schedule.epilogue == "registers" and stands_alone(access, schedule):
            self.edges = min(1.0, (schedule.mr + 2) / max(1, size(access.run)))
        # bytes a cycle when panels are read again, by the level that holds them: columns of rows that lie far apart are
        # not fetched ahead by the processor, and with distances of powers of two meet in few sets of its caches. What
        # few rows read once waits less, as later terms are loaded meanwhile
        self.paces = (reads.l1d, reads.l2, reads.l3)
        if not schedule.packed_b and far_columns(access) and self.far:
            met = 4 * size(access.inside[-1].b) % FAR == 0
            whole_terms = schedule.kc > 0 and schedule.nc >= self.n
            once = 1.0 if whole_terms else READ_ONCE
            few = single and access.rows.value <= FEW_ROWS
            first, second, beyond = (once, once, once) if few else MET if met else NO_STREAM
            self.paces = (first * reads.l1d, second * reads.l2, beyond * reads.l3)
        elif schedule.packed_b:   # panels that were copied just now
            self.paces = (reads.l1d, reads.l1d, reads.l3)
        # groups of columns that are copied end between two lines of a pair, where other groups would not
        self.parted = schedule.packed_b and self.n > schedule.nr and schedule.nr % PAIR > 0 and self.n % PAIR == 0
        # the part of the terms that a full tile computes: taps that lie in the padding are left out
        self.part = padding.computed(access, schedule.mr) if schedule_blocks.skips_padding(access, schedule) else 1.0
        self.times: dict[tuple[int, int], float] = {}    # of tiles, by height and width

    def pace(self, width: int) -> float:
        """Bytes a cycle when panels are read again for the next rows: by the level that holds a block of them. Panels
        that tiles fetch ahead may fill more of the second cache, as measured on a Zen 4 core and a Xeon."""
        held, near = self.form.b_bytes * self.block * width * self.access.sums, self.target.l1d // 2
        if self.schedule.in_parts:    # beside the panels a tile reads few lines: of its rows at a few taps
            near = self.target.l1d * 3 // 4
        limit = self.target.l2 * 7 // 8 if self.schedule.prefetch else self.target.l2 * 3 // 4
        return self.paces[0 if held <= near else 1 if held <= limit else 2]

    def tile(self, height: int, width: int) -> float:
        """One tile over all terms."""
        time = self.times.get((height, width))
        if time is None:
            time = self.times[height, width] = self.tile_time(height, width)
        return time

    def tile_time(self, height: int, width: int) -> float:
        own_panels = of_copied_columns(self.access, self.schedule)
        whole = self.schedule.epilogue == "registers" \
            and (own_panels or (height, width) == (self.schedule.mr, self.schedule.nr))
        if whole and together(self.access, self.schedule):
            return self.sums_time(height, width, self.access.sums, whole)
        return self.access.sums * self.sums_time(height, width, 1, whole)

    def sums_time(self, height: int, width: int, sums: int, whole: bool) -> float:
        """So many sums of a tile's points, which are taken together. whole: by a tile of the kernel's own."""
        columns = width * sums
        registers = height * max(1, columns // self.isa.lanes)
        depth = schedule_blocks.tile_depth(self.access, self.schedule) if self.form.tiles else 1
        steps = -(-self.k // depth)
        if self.form.tiles:
            step = tile_step_cycles(height, columns, depth)
        else:
            step = self.form.pace * step_cycles(self.isa, height, columns, self.target.fmas(self.isa), self.half(width))
            step += self.conflicts(height) + EDGE * height * self.edges
        slower = self.isa.fmas / self.target.fmas(self.isa)    # vectors in halves, at the ends of tiles as well
        stream = self.form.b_bytes * self.k * columns / self.pace(width) + self.a_row_bytes * height / self.row_pace
        if whole and self.counts_little and self.pace(width) == self.paces[0]:
            step -= LOOP - NAMED_LOOP
        time = _beside(steps * step, stream) * (self.part if height == self.schedule.mr else 1.0) + 20 * slower \
            + 3 * registers * slower
        blocks = -(-self.k // self.block)
        if whole:
            time += (blocks - 1) * (20 + 2 * registers) * slower
        else:   # accumulators leave and come back, once a block
            time += (30 + 2 * height + 2 * registers * blocks + registers) * slower
            if self.access.bounds and not self.schedule.packed_a:
                time += (self.access.taps or 1) * height
        return time

    def half(self, width: int) -> bool:
        """A tile of columns that were copied computes half of its last register."""
        rest, nr = self.n % self.schedule.nr, self.schedule.nr
        last = rest > 0 and width == -(-rest // self.isa.lanes) * self.isa.lanes and (width < nr or self.n < nr)
        return last and of_copied_columns(self.access, self.schedule) \
            and half_register(self.access, replace(self.schedule, nr=width), rest)

    def conflicts(self, height: int) -> float:
        """Cycles a term that rows wait because too many of them lie in one set of the first cache."""
        stride, way = self.access.a_row, 4096
        if self.schedule.packed_a or stride is None or not stride.is_const or not self.target.l1d:
            return 0.0
        distance = 4 // self.access.product.group * stride.value % way
        apart = min(distance, way - distance)
        ways = self.target.l1d // way
        if apart == 0:
            together = height
        elif way % apart == 0 or apart < 64:
            together = -(-height * max(apart, 1) // way) if apart >= 64 else 1
            together = -(-height // (way // apart)) if apart >= 64 else 1
        else:
            together = 1
        beyond = max(0, together - ways)
        return 0.05 * beyond ** 3 + (0.01 * together if 2 * together >= ways else 0.0)

    def across(self, count: int, band: Band, below: bool = False) -> float:
        """`count` tiles of a band one below the other, for all columns. below: they are what full tiles leave over."""
        full, rest = divmod(self.n, band.columns)
        total = count * full * self.tile(band.height, band.columns)
        if rest:
            total += count * sum(self.tile(band.height, w) for w in band.cut(rest, self.tiles.unit))
        width = band.columns
        if self.schedule.packed_b or below and width <= self.schedule.nr:
            return total   # the panels are there
        # the first rows wait for what comes from far, or it for them; the two overlap for the most part
        rate = min(self.once, self.pace(width), SECOND_READ * self.target.reads.l2 if below else self.once)
        first = self.access.sums * self.form.b_bytes * self.k * width / rate
        if band.height == 1 and self.far and not self.access.in_place:
            first *= 1 + STREAM * max(0, width // PANEL - STREAMS)
        tile = self.tile(band.height, width)
        wait = 0.0
        if self.schedule.prefetch and not below:
            # each of the tiles before fetches a panel at most, those at edges nothing; panels beyond are waited for
            fetched = min(1.0, count * PANEL / width)
            wait = BEYOND * (1 - fetched) * first
            first *= fetched * (1 - 0.7 * (1 - self.edges))
        # panels that are all near are read from far for the first block of rows alone
        near = near_panels(self.access, self.schedule, self.target)
        times = -(-count * band.height // self.schedule.mc) if self.schedule.mc and not self.schedule.kc and not near \
            else 1
        if self.far:   # all of b comes from far each time
            wait += AGAIN * (times - 1) / times * self.access.sums * self.form.b_bytes * self.k * width / self.once
        return total + times * (_beside(first, tile) - tile + wait) * self.n / width

    def copies(self, m: int) -> float:
        """Of operands to scratch: b once for each block of rows, a once for each block of columns."""
        schedule, access, total = self.schedule, self.access, 0.0
        if schedule.packed_b:
            times = -(-m // schedule.mc) if schedule.mc and schedule.blocked else 1
            elements = self.k * -(-self.n // PANEL) * PANEL * access.sums
            arrives = self.form.b_bytes / self.once
            total += times * elements * max(0.3 if self.isa.lanes > 1 else 2.0, arrives)
            if self.parted:
                total += times * LONE * elements / PANEL
        if schedule.packed_a:
            neighbours = access.inside[-1].a == 1
            times = 1 if access.product.integer and not schedule.kc else -(-self.n // max(schedule.nc, schedule.nr))
            if schedule_blocks.tiles_in_place(access, schedule):
                m = m % schedule.mr if m % TILE else 0
            short = 8 / max(8, min(64, size(access.inside[-1].extent)))
            total += times * self.k * m * (0.5 + short if neighbours else 1.5)
        return total

    def stores(self, m: int) -> float:
        """Rows that are stored in several groups of columns, of so many rows each that they left the cache between, or
        in groups that end between two lines of a pair, or of bytes within a line: of a team, two threads write it. The
        processor fetches lines ahead that come one behind the other, as those of whole rows do."""
        rows, several = min(m, self.schedule.mc or m), self.n > self.schedule.nr
        apart = several and rows * result_row(self.access) > self.target.l2 // 2
        line = self.target.line
        shared = several and self.result == 1 and line and not self.n % line and self.schedule.nr % line
        lines = m * self.n / line if shared else 0.0
        broken = several and not self.access.product.integer and self.isa.lanes == PANEL \
            and m * result_row(self.access) > self.target.l2 > 0
        each = max(APART * apart, LONE * self.parted) + BROKEN * broken
        return each * m * self.n / PANEL + SHARED * lines

    def shared_rows(self, m: int) -> float:
        """A small kernel has few tiles for each thread. Tiles of the same rows and of different columns are often parts
        of two threads, which both wait for what a third one wrote."""
        if not self.form.tiles or self.n <= self.schedule.nr or not self.target.line:
            return 0.0
        return OTHERS * m * self.a_row_bytes / self.target.line

    def cycles(self, m: int) -> float:
        full, rest = divmod(m, self.schedule.mr)
        total, items = 0.0, 0
        for count, band in ((full, self.tiles.full), (1, self.tiles.behind(full, rest))):
            if count and band is not None:
                total += self.across(count, band, full > 0 and band is not self.tiles.full)
                items += count * -(-self.n // (self.tiles.unit if self.panels else band.columns))
        total += self.copies(m) + self.stores(m) + self.shared_rows(m)
        total *= PARTED if self.parted and self.isa.lanes == PANEL else 1.0
        return self.batches * total * _uneven(self.batches * items * self.parts, self.target)
