# SPDX-License-Identifier: Apache-2.0
"""The schedules of a contraction: those that are tried, which of them are legal, and which one is chosen: that of the
least modelled time (cost_model.py), so a build without a tuning lock is the same everywhere."""
from __future__ import annotations

from dataclasses import replace
from typing import Iterator

from ...instruction_sets import instruction_set
from ...loops.contraction_schedule import Schedule
from ...loops.loop_ir import ContractionKernel
from ...loops.products import by_name
from ...symbolic.typical import typical as size
from ...target import Target
from . import image_lines, schedule_blocks, term_by_term
from .access import Access
from .candidate_table import PANEL, Candidate, candidates, micro_pointers, registers_needed
from .cost_model import bytes_a_row, cost_of, far_columns, near_panels, one_tile, result_row, second_bytes
from .in_registers import of_copied_columns, own_columns, stands_alone, turn_terms
from .product_forms import form
from .team_bands import team_bands

BOTH = 4              # schedules that tuning tries with what is fetched ahead and without
BLOCK_ROWS = 96       # of a block of terms, about
BLOCK_COLUMNS = 512
MANY_ROWS = 512       # from which on what panels wait for, once, is not worth fetching them ahead
WHOLE_ROWS = 2        # rows up to which blocks of ROW_TERMS terms are read as they lie, each with all its columns
ROW_TERMS = 64
FETCHED_ROWS = 4      # tiles of rows that fetch the next terms; fewer would not fetch all of them
OPERANDS = 3          # registers beside the accumulators of one register of columns


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
    own_panels = of_copied_columns(access, schedule)
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
    if not (constant or second_bytes(access, 4) > target.l2 > 0):
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
    if near_panels(access, plain, target):
        mc = tile.rows    # rows that were copied just now meet all columns
    nc = max(1, BLOCK_COLUMNS // tile.columns) * tile.columns
    if one_tile(access, tile.rows) and not (access.in_place or access.product.integer):
        return   # every panel is read once
    if one_tile(access, min(tile.rows, WHOLE_ROWS)) and far_columns(access) and most > ROW_TERMS:
        yield replace(plain, kc=ROW_TERMS, nc=-(-size(access.columns) // tile.columns) * tile.columns)
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
    return second_bytes(access, 4) > target.l2 > 0 and schedule_blocks.whole_lines(access, tile.columns) \
        and size(access.rows) >= FETCHED_ROWS * tile.rows and instruction_set(tile.isa).lanes > 1


def _near_rows(access: Access, tile: Candidate, target: Target) -> int:
    """Rows whose terms fit a quarter of the second cache; 0 where all of them do, or there is one group of columns."""
    near = max(BLOCK_ROWS // 2, target.l2 // 4 // max(1, bytes_a_row(access))) // tile.rows * tile.rows
    return near if 0 < near < size(access.rows) and size(access.columns) > tile.columns else 0


def _near_results(access: Access, tile: Candidate, target: Target) -> int:
    """Rows whose results fit an eighth of the second cache, where all results do not fit half of it, b does, and there
    are several groups of columns; else 0."""
    if second_bytes(access, 4) > target.l2 // 2:
        return 0
    near = max(1, target.l2 // 8 // result_row(access) // tile.rows) * tile.rows
    far = size(access.rows) * result_row(access) > target.l2 // 2
    return near if far and near < size(access.rows) and size(access.columns) > tile.columns else 0


def legal(kernel: ContractionKernel, isa: str, target: Target) -> list[Schedule]:
    """The schedules of an instruction set that fit a kernel, in the order of ties; never empty: where a processor has
    too few registers for any, those whose pointers lie on the stack."""
    tried = list(dict.fromkeys(schedules(kernel, isa, target)))
    return [s for s in tried if refusal(kernel, s) is None] or \
        [s for s in tried if refusal(kernel, s, spills=True) is None]


# -- which one is chosen, by the cost model --------------------------------------------------------------------------
def choose(kernel: ContractionKernel, isa: str, target: Target, parts: int = 1) -> Schedule:
    """The legal schedule of least modelled time; of equal ones the first. Where a team would share the next one in
    bands of rows, that one, rather than tiles of copied columns: these are few per cent faster on one thread, and a
    team shares them by columns. parts: of the kernel that it is a part of, which a team shares."""
    found, access = ranked(kernel, isa, target, parts), Access.of(kernel)
    if of_copied_columns(access, found[0]):
        in_place = next((s for s in found if not of_copied_columns(access, s)), found[0])
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
    return sorted(legal(kernel, isa, target), key=cost_of(kernel, target, parts))
