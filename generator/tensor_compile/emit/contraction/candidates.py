# SPDX-License-Identifier: Apache-2.0
"""The schedules of a contraction: those that are legal, and the cost model that chooses among them without measuring.

`choose` depends on the kernel and on the target description alone, so a build without a tuning lock is the same
everywhere.
"""
from __future__ import annotations

import math
from dataclasses import replace
from typing import Iterator

from ...instruction_sets import instruction_set
from ...loops.contraction_schedule import Schedule
from ...loops.loop_ir import ContractionKernel
from ...loops.products import by_name
from ...symbolic.typical import typical as size
from ...target import Target
from . import image_lines, padding, schedule_blocks, term_by_term
from .access import Access
from .candidate_table import LOOP, NAMED_LOOP, PANEL, TILE, Candidate, candidates, micro_pointers, registers_needed, \
    step_cycles, tile_step_cycles
from .in_registers import copied, half_register, NAMED_TURN, named, own_columns, stands_alone, together, turn_terms
from .product_forms import form
from .schedule_tiles import Band, by_panels, tiles
from .team_bands import team_bands

BOTH = 4              # schedules that tuning tries with what is fetched ahead and without
TEAM = 8              # threads for which the cost model looks at the split
OWN_CODE = 1.01       # how much faster a tile of the kernel's own must be to be worth its compilation
CUT_TAPS = 1.04       # how much faster blocks of taps must be, which each block looks up for rows at the edges
BLOCK_ROWS = 96       # of a block of terms, about
BLOCK_COLUMNS = 512
NEAR_PANELS = 1 << 16  # bytes of all panels of tiles up to which a block is one tile of rows
NEAR_SORTED = 2       # of sorted words, up to that part of the second cache
MANY_ROWS = 512       # from which on what panels wait for, once, is not worth fetching them ahead
SECOND_READ = 1 / 2    # of the second cache's pace: panels that are read from there once more, for few rows
FETCHED_ROWS = 4      # tiles of rows that fetch the next terms; fewer would not fetch all of them
BEYOND = 0.5         # of the time of panels that tiles are too few to fetch ahead
EDGE = 0.4            # cycles a term of each row of a tile whose positions are looked up one by one
FAR = 1024            # bytes from one row to the next, from which on each is a place of its own to the processor
NO_STREAM = (1 / 2, 10 / 32, 1 / 2)    # of the paces of the first cache, the second and beyond: of such rows
MET = (1 / 2, 5 / 32, 0.3)             # the same where rows meet in few sets of the caches
AGAIN = 0.3           # of the time of panels that come from far once more, for the next rows, fetched ahead or not
OPERANDS = 3          # registers beside the accumulators of one register of columns
STREAMS = 4           # panels side by side that the processor fetches ahead for one row, from memory
STREAM = 0.012        # of the time of panels from memory, for each panel beyond
APART = 3             # cycles a line of results whose neighbours are stored long before, or long after
BROKEN = 2            # more of results that leave the second cache, where a tile does not store whole rows of them
PAIR = 32             # columns of two lines of results: a processor fetches them together
LONE = 4              # cycles a line of results, or of columns that are copied, where groups of columns part such pairs
PARTED = 1.02         # how much longer all takes there, where a vector is a line
SHARED = 4            # cycles a line of results of bytes that lies in two groups of columns
OTHERS = 4            # cycles a line of rows of tiles that threads read for several groups of columns


def refusal(kernel: ContractionKernel, schedule: Schedule, spills: bool = False) -> str | None:
    """Why a schedule cannot be this kernel's; None where it can. spills: its pointers need not fit the registers."""
    if schedule.lines:
        made = image_lines.schedule_of(kernel, schedule.isa)
        return "rows are no windows in lines of an image" if made is None else \
            None if replace(schedule, compact=False) == made else f"windows in lines are those of {made.name}"
    isa, access = instruction_set(schedule.isa), Access.of(kernel)
    if schedule.term_by_term or access.term_by_term:
        made = term_by_term.schedule_of(kernel, schedule.isa)
        return "columns do not lie term by term" if made is None else \
            None if replace(schedule, compact=False) == made else f"columns term by term are those of {made.name}"
    rows, columns = schedule.mr, schedule.nr
    if not known(schedule):
        return f"no tile of {rows}x{columns} is in the table"
    if kernel.product.name != schedule.dtype:
        return f"computes {schedule.dtype}, not {kernel.product.name}"
    if isa.lanes > 1 and kernel.b_panel not in (0, PANEL):
        return f"panels of {kernel.b_panel} columns"
    if isa.lanes == 1 and kernel.b_panel % columns:
        return f"panels of {kernel.b_panel} columns cannot be cut into {columns}"
    kind = form(schedule.dtype, isa.name)
    if kind.tiles and not schedule_blocks.tiled(kernel):
        return "too few rows or terms for a tile"
    if kind.tiles:
        return schedule_blocks.refusal(access, schedule)
    # one register of columns after the other, whose rows are a known distance apart
    alone = kind.sorts or kind.tall(rows)
    needed = rows + OPERANDS if alone else registers_needed(isa, rows, columns) + kind.extra
    if needed > isa.registers:
        return f"needs {needed} registers of {isa.registers}"
    pointers = 0 if alone else _pointers(access, schedule)
    if pointers > isa.pointers and not spills:
        return f"needs {pointers} pointers of {isa.pointers}"
    if rows > 1 and access.rows.is_const and rows > max(1, access.rows.value):
        return f"the kernel has only {access.rows} rows"
    unit = PANEL if isa.lanes > 1 else 1
    if access.columns.is_const and columns > unit and columns - unit >= max(1, access.columns.value):
        smallest = min(c.columns for c in candidates(isa.name) if c.dtype == kernel.product.tiles)
        if columns > smallest:
            return f"the kernel has only {access.columns} columns"
    own_panels = copied(access, schedule)
    if schedule.epilogue == "registers" and (schedule.packed_a or schedule.packed_b) and not own_panels:
        return "only micro-kernels take copies"
    if schedule.epilogue == "registers" and not own_panels and access.columns.is_const \
            and access.columns.value < own_columns(access, schedule):
        return "no tile is full"
    return schedule_blocks.refusal(access, schedule)


def known(schedule: Schedule) -> bool:
    """The table has its tile, or it has a form of its own."""
    if schedule.lines or schedule.term_by_term:
        return True
    product = by_name(schedule.dtype)
    return product is not None and any((c.rows, c.columns, c.dtype) == (schedule.mr, schedule.nr, product.tiles)
                                       for c in candidates(schedule.isa))


def _pointers(access: Access, schedule: Schedule) -> int:
    """General registers of the inner loop."""
    needed = micro_pointers(schedule.mr, schedule.nr, schedule_blocks.steps(access, schedule))
    if schedule.epilogue == "memory":
        return needed
    panels = 1 if access.b_piece.is_const else max(1, schedule.nr // PANEL)
    return 2 + (1 if access.row_stride_known else schedule.mr) + panels


def schedules(kernel: ContractionKernel, isa: str, target: Target) -> Iterator[Schedule]:
    """What is tried for a kernel, legal or not, in the order of ties."""
    alone = term_by_term.schedule_of(kernel, isa)
    if alone is not None:
        yield alone
        return
    access = Access.of(kernel)
    second = {b.buffer for b in kernel.b}
    constant = all(p.kind == "packed" for p in kernel.params if p.name in second)
    for tile in candidates(isa):
        if tile.dtype != access.product.tiles:
            continue
        for own in ("memory", "registers"):
            plain = Schedule(isa, access.product.name, tile.rows, tile.columns, epilogue=own,
                             prefetch=_waits(access, tile, target, constant))
            yield plain
            yield replace(plain, mc=_near_rows(access, tile, target))
            yield replace(plain, mc=_near_results(access, tile, target))
            yield from _in_parts(access, plain, target)
        yield from _copying(access, tile, target, constant)
    lines = image_lines.schedule_of(kernel, isa)
    if lines is not None:
        yield lines


def _waits(access: Access, tile: Candidate, target: Target, constant: bool) -> bool:
    """Panels that are read the first time are waited for, and there are tiles before that can fetch them. Those that
    the program itself packs are near, unless a batch of them is more than the second cache."""
    if not (constant or _second_bytes(access, 4) > target.l2 > 0):
        return False
    return size(access.rows) < MANY_ROWS and _can_fetch(access, tile.isa, tile.rows, tile.columns)


def _can_fetch(access: Access, isa: str, rows: int, columns: int) -> bool:
    """There are tiles of so many rows and columns that can fetch the panels of later ones."""
    least = 1 if form(access.product.name, isa).tiles else 2    # tiles of sums take long enough each
    several = not (access.rows.is_const and access.rows.value < least * rows) \
        and not (access.columns.is_const and access.columns.value <= columns)
    return several and instruction_set(isa).lanes > 1 and not access.in_place


def _in_parts(access: Access, plain: Schedule, target: Target) -> Iterator[Schedule]:
    """Blocks of terms, each of about as many turns of the outermost loop over terms, where all tiles are the kernel's
    own. A block's panels fill at most three quarters of the first cache, and so do the sums of a block of rows."""
    if not (stands_alone(access, plain) and access.terms.is_const and len(access.inside) > 1 and target.l1d):
        return
    turn, turns = turn_terms(access.inside), access.inside[0].extent.value
    near = target.l1d * 3 // 4 // (4 * plain.nr)    # terms of panels, or rows of sums
    most, mc = near // max(1, turn), max(1, near // plain.mr) * plain.mr
    if 0 < most < turns:
        some = -(-turns // -(-turns // most))
        yield replace(plain, kc=some * turn, mc=mc if mc < size(access.rows) else 0, prefetch=False)


def _copying(access: Access, tile: Candidate, target: Target, constant: bool) -> Iterator[Schedule]:
    """Blocks of terms whose panels fit a quarter of the second cache, or half of it where they are whole taps, with and
    without copies. constant: b is."""
    plain = Schedule(tile.isa, access.product.name, tile.rows, tile.columns,
                     prefetch=_waits(access, tile, target, constant))
    most = max(1, size(access.terms))
    cache = target.l2 // 4 if target.l2 else target.l1d // 2
    room = max(64, cache // (4 * tile.columns * access.sums) // 64 * 64)
    count = -(-most // room)
    kc = -(-most // count // 32) * 32 if count > 1 or not access.terms.is_const else 0
    kind = form(plain.dtype, tile.isa)
    if kind.tiles or kind.sorts or kind.tall(tile.rows):
        kc = 0
    mc = min(max(1, BLOCK_ROWS // tile.rows), schedule_blocks.MOST_TILES) * tile.rows
    if _near_panels(access, plain, target):
        mc = tile.rows    # rows that were copied just now meet all columns
    nc = max(1, BLOCK_COLUMNS // tile.columns) * tile.columns
    if access.rows.is_const and access.rows.value <= tile.rows and not (access.in_place or access.product.integer):
        return   # every panel is read once
    for a in (False, True):
        for b in ((False, True) if access.in_place else (False,)):
            if b and not a:   # whole sums, of a group of columns or of many
                yield replace(plain, packed_b=True)
                wide = max(1, target.l2 // 2 // (4 * most * access.sums) // tile.columns) * tile.columns
                wide = min(wide, -(-size(access.columns) // tile.columns) * tile.columns)
                many = replace(plain, packed_b=True, nc=wide, mc=_near_rows(access, tile, target))
                yield many
                for memory in (replace(plain, packed_b=True), many):
                    yield replace(memory, epilogue="registers")
            some = kc if a or b else _whole_taps(access, kc, 2 * room)
            if some or a:
                yield replace(plain, kc=some, mc=mc, nc=nc, packed_a=a, packed_b=b)
            if kc and not (a or b) and _far_terms(access, tile, target):
                # two blocks at a time: the one that comes next is fetched
                yield replace(plain, kc=max(64, kc // 2), mc=mc, nc=nc, prefetch=True)


def _near_panels(access: Access, schedule: Schedule, target: Target) -> bool:
    """Panels of integers that are near enough to be read again for every tile of rows. Sorted rows are four times as
    long as they were: a tile of them may stay in the first cache, a block of tiles would fill the second one."""
    kind = form(schedule.dtype, schedule.isa)
    most = NEAR_PANELS if kind.tiles else target.l2 // NEAR_SORTED if kind.sorts else -1
    return _second_bytes(access, 4) <= most


def _whole_taps(access: Access, kc: int, room: int) -> int:
    """Terms of a block where rows are not copied: those of whole taps, as nearly equal as may be; 0: none fits."""
    if not kc or not (len(access.inside) > 1 or access.bounds):
        return kc
    terms, tap = access.terms, access.inside[-1].extent
    if not terms.is_const or not tap.is_const or tap.value > room:
        return 0
    taps = terms.value // tap.value
    count = -(-taps // (room // tap.value))
    return -(-taps // count) * tap.value if count > 1 else 0


def _far_terms(access: Access, tile: Candidate, target: Target) -> bool:
    """Terms come from behind the second cache, and there are tiles that fetch the next ones meanwhile."""
    return _second_bytes(access, 4) > target.l2 > 0 and schedule_blocks.whole_lines(access, tile.columns) \
        and size(access.rows) >= FETCHED_ROWS * tile.rows and instruction_set(tile.isa).lanes > 1


def _near_rows(access: Access, tile: Candidate, target: Target) -> int:
    """Rows whose terms fit a quarter of the second cache; 0 where all of them do, or there is one group of columns."""
    near = max(BLOCK_ROWS // 2, target.l2 // 4 // max(1, _bytes_a_row(access))) // tile.rows * tile.rows
    return near if 0 < near < size(access.rows) and size(access.columns) > tile.columns else 0


def _near_results(access: Access, tile: Candidate, target: Target) -> int:
    """Rows whose results fit an eighth of the second cache, where all results do not fit half of it, b does, and there
    are several groups of columns; else 0."""
    if _second_bytes(access, 4) > target.l2 // 2:
        return 0
    near = max(1, target.l2 // 8 // _result_row(access) // tile.rows) * tile.rows
    far = size(access.rows) * _result_row(access) > target.l2 // 2
    return near if far and near < size(access.rows) and size(access.columns) > tile.columns else 0


def _second_bytes(access: Access, element: int) -> int:
    """Of all panels of b, of a batch."""
    return element * max(1, size(access.terms)) * max(1, size(access.columns)) * access.sums


def _result_row(access: Access) -> int:
    """Bytes of a row of results."""
    return 4 * max(1, size(access.columns))


def _bytes_a_row(access: Access) -> int:
    """Bytes of a that are a row's alone: the taps of a convolution share theirs."""
    return 4 * max(1, size(access.terms)) // max(1, access.taps or 1)


def legal(kernel: ContractionKernel, isa: str, target: Target) -> list[Schedule]:
    """The schedules of an instruction set that fit a kernel, in the order of ties; never empty: where a processor has
    too few registers for any, those whose pointers lie on the stack."""
    tried = list(dict.fromkeys(schedules(kernel, isa, target)))
    return [s for s in tried if refusal(kernel, s) is None] or \
        [s for s in tried if refusal(kernel, s, spills=True) is None]


# -- the cost model -------------------------------------------------------------------------------------------------
def choose(kernel: ContractionKernel, isa: str, target: Target, parts: int = 1) -> Schedule:
    """The legal schedule of least modelled time; of equal ones the first. Where a team would share the next one in bands
    of rows, that one, rather than tiles of copied columns: these are few per cent faster on one thread, and a team
    shares them by columns. parts: of the kernel that it is a part of, which a team shares."""
    found, access = ranked(kernel, isa, target, parts), Access.of(kernel)
    if copied(access, found[0]):
        in_place = next((s for s in found if not copied(access, s)), found[0])
        return in_place if team_bands(kernel, in_place, target).bands else found[0]
    return found[0]


def smallest(kernel: ContractionKernel, isa: str, target: Target, parts: int = 1) -> Schedule:
    """The schedule of little code: micro-kernels of the library instead of tiles of its own, the same few for every
    kernel of a build, and copies only where nothing else is legal. They are the narrowest that there are, and of these
    the highest."""
    def code(schedule: Schedule) -> tuple[bool, bool, bool, bool, int, int, int]:
        return (schedule.lines, schedule.blocked, schedule.packed_b, schedule.epilogue == "registers", schedule.nr,
                -schedule.mr, schedule.mc)   # 0: rows are not taken in blocks

    return replace(min(ranked(kernel, isa, target, parts), key=code), prefetch=False, compact=True)


def tried(kernel: ContractionKernel, isa: str, target: Target, most: int) -> list[Schedule]:
    """What tuning measures: those of least modelled time, and behind the first ones these with what comes next fetched
    ahead where it is not, and not where it is."""
    found = ranked(kernel, isa, target)[:most]
    access = Access.of(kernel)

    def legal(schedule: Schedule) -> bool:
        fetches = not schedule.prefetch or not schedule.in_parts and _can_fetch(access, isa, schedule.mr, schedule.nr)
        alone = schedule.lines or schedule.term_by_term or access.in_place
        return fetches and not alone and refusal(kernel, schedule) is None
    others = [s for s in (replace(first, prefetch=not first.prefetch) for first in found[:BOTH]) if legal(s)]
    return list(dict.fromkeys([*found[:BOTH], *others, *found[BOTH:]]))[:most]


def ranked(kernel: ContractionKernel, isa: str, target: Target, parts: int = 1) -> list[Schedule]:
    """The legal schedules, those of least modelled time first."""
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

    return sorted(legal(kernel, isa, target), key=cost)


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
        single = access.rows.is_const and access.rows.value <= schedule.mr   # tile of rows: it reads no panel again
        self.block = min(self.k, schedule.kc) if schedule.kc and not single else self.k
        # a full tile takes several terms a turn
        inner = access.inside[-1].extent
        self.counts_little = named(schedule) and not schedule.prefetch and inner.is_const \
            and inner.value % NAMED_TURN == 0
        # bytes a cycle, the first time that panels of b are read
        reads, all_panels = target.reads, self.batches * _second_bytes(access, self.form.b_bytes)
        self.far = all_panels > target.l2 * 3 // 4
        self.once = reads.of(all_panels, target) if self.far else reads.l2
        # and when rows are read again for the next columns
        self.a_row_bytes = _bytes_a_row(access)
        near = self.a_row_bytes * (schedule.mc or size(access.rows)) <= target.l2 // 2
        self.row_pace = reads.l2 if near or schedule.packed_a or self.n <= schedule.nr else reads.l3
        # the part of the tiles that have positions in the padding, where those are looked up
        self.edges = 0.0
        if schedule.epilogue == "registers" and stands_alone(access, schedule):
            self.edges = min(1.0, (schedule.mr + 2) / max(1, size(access.run)))
        # bytes a cycle when panels are read again, by the level that holds them: columns of rows that lie far apart are
        # not fetched ahead by the processor, and with distances of powers of two meet in few sets of its caches
        self.paces = (reads.l1d, reads.l2, reads.l3)
        if access.in_place and not schedule.packed_b:
            distance = 4 * size(access.inside[-1].b)
            if distance >= FAR and self.far:
                first, second, beyond = MET if distance % FAR == 0 else NO_STREAM
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
        own_panels = copied(self.access, self.schedule)
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
        return last and copied(self.access, self.schedule) \
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
        if band.height == 1 and self.far:
            first *= 1 + STREAM * max(0, width // PANEL - STREAMS)
        tile = self.tile(band.height, width)
        wait = 0.0
        if self.schedule.prefetch and not below:
            # each of the tiles before fetches a panel at most, those at edges nothing; panels beyond are waited for
            fetched = min(1.0, count * PANEL / width)
            wait = BEYOND * (1 - fetched) * first
            first *= fetched * (1 - 0.7 * (1 - self.edges))
        # panels that are all near are read from far for the first block of rows alone
        near = _near_panels(self.access, self.schedule, self.target)
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
        apart = several and rows * _result_row(self.access) > self.target.l2 // 2
        line = self.target.line
        shared = several and self.result == 1 and line and not self.n % line and self.schedule.nr % line
        lines = m * self.n / line if shared else 0.0
        broken = several and not self.access.product.integer and self.isa.lanes == PANEL \
            and m * _result_row(self.access) > self.target.l2 > 0
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
