# SPDX-License-Identifier: Apache-2.0
"""The sizes of the blocks that a schedule cuts a contraction into, the scratch that they need, and whether a kernel can
be cut so (in_memory.py emits them)."""
from __future__ import annotations

from functools import cached_property

from ...instruction_sets import instruction_set
from ...loops.contraction_schedule import Schedule
from ...loops.loop_ir import ContractionKernel
from ...records import dataclass
from ...symbolic import product
from .access import Access
from .candidate_table import PANEL, TILE
from .in_registers import line_of_planes, own_columns, stands_alone, turn_terms, walks_planes
from .product_forms import Form, form
from .schedule_tiles import by_panels, Tiles, tiles

SKEW = 16         # elements by which copied rows, or panels, are further apart than long: they do not share cache sets
MOST_TAPS = 128   # for which pointers to rows are kept
MOST_LOOKED_UP = 512   # the same where most tiles need none of them
MOST_TILES = 64   # of a block of rows: bits of a word
FEWEST_COPIED = 4   # positions of a line whose channels are brought together by vectors
MORE_PRODUCTS = 1   # of tiles than the least number, which a row may take that needs no copy then


@dataclass(frozen=True, slots=True)
class Room:
    """Floats of a thread's scratch."""

    packed_a: int
    packed_b: int
    sums: int

    @property
    def all(self) -> int:
        return self.packed_a + self.packed_b + self.sums


@dataclass(frozen=True, slots=True)
class Planes:
    """`count` channels of `positions` elements that lie side by side in each, channels `step` elements apart."""

    count: int
    positions: int
    step: int


@dataclass(frozen=True)
class Blocks:
    """The sizes of a schedule's blocks for one kernel, in tiles and groups."""

    access: Access
    schedule: Schedule
    tiles: Tiles

    @cached_property
    def terms(self) -> int:
        """Most terms of a block."""
        return self.schedule.kc or max(1, self.access.terms.value)

    @cached_property
    def rows(self) -> int:
        """Tiles of a block of rows."""
        schedule = self.schedule
        return schedule.block(0) if schedule.mc else max(1, -(-self.access.rows.value // schedule.mr))

    @cached_property
    def groups(self) -> int:
        return max(1, self.schedule.nc // self.schedule.nr)

    @cached_property
    def waits(self) -> bool:
        """Sums of a block of tiles wait for later terms."""
        terms = self.access.terms
        return (self.schedule.blocked or self.schedule.in_parts) and not (terms.is_const and terms.value <= self.terms)

    @cached_property
    def rows_first(self) -> bool:
        """Blocks of rows are outermost, each with all columns: its rows are copied once, and by few threads."""
        return copies_rows_once(self.schedule)

    @cached_property
    def form(self) -> Form:
        return form(self.schedule.dtype, self.schedule.isa)

    @cached_property
    def depth(self) -> int:
        """Words of a row that a product of tiles takes; 0 where there are no tiles."""
        return tile_depth(self.access, self.schedule) if self.form.tiles else 0

    @property
    def row_room(self) -> int:
        return -(-self.terms * self.form.halves // SKEW) * SKEW + SKEW

    @property
    def starts_at(self) -> int:
        """Where what the sums of a tile's rows start from stands behind the rows, side by side."""
        return self.schedule.mr * self.row_room

    @property
    def later(self) -> bool:
        """What sums start from is added behind the micro-kernel."""
        return self.form.tiles and self.form.starts

    @property
    def tile_room(self) -> int:
        return self.starts_at + (self.schedule.mr if self.later else 0)

    @property
    def tile_sums(self) -> int:
        return self.access.sums * self.schedule.mr * self.schedule.nr

    @property
    def group_room(self) -> int:
        width = -(-self.schedule.nr // self.tiles.unit) * self.tiles.unit
        return -(-self.access.sums * (width * self.terms + width // self.tiles.unit * self.panel_skew) // 16) * 16

    @cached_property
    def panel_skew(self) -> int:
        """Elements between copied panels."""
        return SKEW if self.tiles.unit == PANEL else 0

    @cached_property
    def room(self) -> Room:
        schedule = self.schedule

        def up(n: int) -> int:
            return -(-n // 16) * 16
        return Room(up(self.rows * self.tile_room) if schedule.packed_a else 0,
                    (1 if schedule.blocked else self.groups) * self.group_room if schedule.packed_b else 0,
                    up((self.groups * self.rows if self.waits else 2 if self.form.tiles else 1) * self.tile_sums)
                    if schedule.blocked or schedule.in_parts else 0)


def steps(access: Access, schedule: Schedule) -> bool:
    """The distances of terms are arguments of the micro-kernels."""
    inner, lanes = access.inside[-1], instruction_set(schedule.isa).lanes
    if access.product.group > 1:
        return inner.b != PANEL
    b_step = PANEL if lanes > 1 else schedule.nr
    return not ((schedule.packed_a or inner.a == 1) and (b_step if schedule.packed_b else inner.b) == PANEL)


def skips_padding(access: Access, schedule: Schedule) -> bool:
    """Taps that no row of a tile has are left out: what they add is zero."""
    return bool(access.bounds) and not access.product.integer and (
        access.border_inner or stands_alone(access, schedule) and not schedule.packed_a)


def cuts_taps(access: Access, schedule: Schedule) -> bool:
    """Micro-kernels take terms of several taps in blocks, and no row is copied."""
    several = len(access.inside) > 1 or bool(access.bounds)
    return several and schedule.kc > 0 and not (schedule.packed_a or schedule.in_parts)


def _uncut(access: Access, schedule: Schedule) -> str | None:
    """Why the taps cannot be cut so: a block is some whole taps, or one of equal parts of a tap. So it is where all
    positions exist, and taps that lie side by side are one, and where some do not."""
    if schedule.packed_b:
        return "columns are copied with the terms of whole sums, or of a single loop"
    if not access.terms.is_const or access.terms.value == 0:
        return "an unknown number of terms is cut in a single loop alone"
    if schedule.kc >= access.terms.value:
        return "all terms are one block"
    if schedule.prefetch and access.in_place:
        return "the terms of b do not follow one another"
    for loops in (access.inside, access.border) if access.bounds else (access.inside,):
        terms = loops[-1].extent.value
        if schedule.kc % terms and terms % schedule.kc:
            return "a block of terms ends within a tap"
    return None


def _no_parts(access: Access, schedule: Schedule) -> str | None:
    """Why tiles of the kernel's own cannot take terms in blocks; None where they can. A block is some whole turns of
    the outermost loop over terms, which has as many turns at the padding as elsewhere."""
    if not stands_alone(access, schedule):
        return "terms are cut in tiles of the kernel's own only where all tiles are its own"
    if schedule.prefetch or access.sums > 1:
        return "blocks of terms have one sum a point, and nothing is fetched"
    if not schedule.mc and not access.rows.is_const:
        return "blocks of an unknown number of rows"
    if not access.terms.is_const or schedule.kc >= access.terms.value:
        return "all terms are one block"
    if len(access.inside) < 2 or len(access.border) < 2 or access.inside[0].extent != access.border[0].extent \
            or schedule.kc % turn_terms(access.inside):
        return "a block of terms ends within a turn of the outermost loop"
    return None


def later_terms(access: Access, schedule: Schedule) -> bool:
    """What is fetched meanwhile is the next block of terms, of the same columns."""
    return schedule.prefetch and schedule.kc > 0 and not schedule.packed_b and whole_lines(access, schedule.nr)


def whole_lines(access: Access, columns: int) -> bool:
    """b lies in memory as one piece, a term behind the other, and one group of so many columns has all of it."""
    (*outer, inner), width = access.inside, access.columns
    return access.in_place and not outer and width.is_const and width.value <= columns and inner.b == width \
        and inner.b.value % PANEL == 0


def blocks(access: Access, schedule: Schedule) -> Blocks:
    return Blocks(access, schedule, tiles(access, schedule))


def tiled(kernel: ContractionKernel) -> bool:
    """A product of bytes that is worth tiles: one at least is full, and of few columns each lies in a full one. Of rows
    that a loop over blocks of rows hands on, all but the last are as many as there may be."""
    access = Access.of(kernel)
    terms, columns, (least, most) = access.terms, access.columns, access.rows.range()
    if columns.is_const and columns.value < 2 * TILE and columns.value % TILE:
        return False
    rows = most if any(p.kind == "tile" for p in kernel.params) else least
    return access.product.group == 4 and terms.is_const and terms.value >= TILE and (rows or 0) >= TILE


def asks_threads(access: Access, schedule: Schedule) -> bool:
    """What a thread takes depends on how many there are."""
    return schedule.bands > 0 or schedule.blocked and blocks(access, schedule).rows_first


def copied_planes(access: Access, schedule: Schedule) -> Planes | None:
    """How the terms of the two innermost loops lie where they are a line of a window over few channels, as of a model's
    own image: a compiler stores such elements of several channels by vectors. None where there are no vectors, terms do
    not lie so, or some may not exist."""
    vectors = instruction_set(schedule.isa).lanes > 1
    if not vectors or access.product.name != "f32" or access.bounds or len(access.inside) < 2:
        return None
    line, channels = access.inside[-2:]
    if not line_of_planes(line, channels) or line.extent.value < FEWEST_COPIED:
        return None
    return Planes(channels.extent.value, line.extent.value, channels.a.value)


def copies_rows_once(schedule: Schedule) -> bool:
    """Rows of integers are copied with all their terms."""
    return schedule.packed_a and not schedule.kc and form(schedule.dtype, schedule.isa).product.integer


def remembers(schedule: Schedule) -> bool:
    """What a thread copied for one piece of its part serves the next one: columns of b, rows of integers, or the
    weights that it arranged (image_lines.py)."""
    return schedule.lines or schedule.packed_b and not schedule.blocked or copies_rows_once(schedule)


def fetches_soon(schedule: Schedule) -> bool:
    """The driver tells the kernel what its thread reads soon, and tiles fetch it meanwhile (tc_soon_share)."""
    return schedule.prefetch and not schedule.blocked


def words_in_place(access: Access, schedule: Schedule) -> bool:
    """Rows of bytes lie in memory as they are multiplied, word by word, and need no copy."""
    kind = form(schedule.dtype, schedule.isa)
    return kind.halves == 1 and kind.isa.lanes > 1 and not kind.tiles and _side_by_side(access, schedule)


def sorts_in_place(access: Access, schedule: Schedule) -> bool:
    """Rows whose words are sorted are read where they lie, once: copying them before takes as long again."""
    return form(schedule.dtype, schedule.isa).sorts and _side_by_side(access, schedule)


def tiles_in_place(access: Access, schedule: Schedule) -> bool:
    """The same of tiles of AMX whose rows all exist. Others are copied, as all of their rows are read."""
    return form(schedule.dtype, schedule.isa).tiles and _rows_lie(access, schedule) \
        and access.terms.value % tile_depth(access, schedule) == 0


def tile_depth(access: Access, schedule: Schedule) -> int:
    """The words of a row that a product of tiles takes: the largest number that divides all words of the row. TILE
    where that needs too many products: then the row is copied, and what is left over stands behind zeros."""
    words = access.terms.value
    least = -(-words // TILE)
    depth = max(d for d in range(1, TILE + 1) if words % d == 0)
    most = least + MORE_PRODUCTS if _rows_lie(access, schedule) else least
    return depth if words <= depth * most else TILE


def _rows_lie(access: Access, schedule: Schedule) -> bool:
    """Rows of bytes lie in memory as they are multiplied, all neighbours at one distance of whole words."""
    stride = access.a_row if access.row_stride_known else None
    return stride is not None and stride.value % access.product.group == 0 and _side_by_side(access, schedule)


def _side_by_side(access: Access, schedule: Schedule) -> bool:
    """The terms of a row are bytes one behind the other, as they are multiplied, and fill words."""
    (*outer, inner), terms = access.inside, access.elements
    return access.product.group == 4 and not (form(schedule.dtype, schedule.isa).starts or access.bounds or outer) \
        and inner.a == 1 and terms.is_const and terms.value > 0 and terms.value % 4 == 0


def _many_taps(access: Access, schedule: Schedule) -> bool:
    """Tiles of the library would look up more taps than that. Those of a kernel's own over lines of few channels walk
    them without, but for the last rows and columns."""
    if schedule.epilogue == "registers" and not access.bounds and instruction_set(schedule.isa).lanes > 1 \
            and walks_planes(access.inside):
        taps = product(loop.extent for loop in access.inside[:-1])
        return not taps.is_const or taps.value > MOST_LOOKED_UP
    return access.taps is None or access.taps > MOST_TAPS


def refusal(access: Access, schedule: Schedule) -> str | None:
    """Why a kernel cannot be cut so; None where it can."""
    if access.product.integer and (schedule.packed_b or schedule.epilogue == "registers"):
        return "sums of integers end in memory, of columns that are in panels"
    if access.product.integer and not schedule.packed_a and (schedule.kc or not words_in_place(access, schedule)):
        return "rows of integers are copied"
    kind = form(schedule.dtype, schedule.isa)
    if (kind.tiles or kind.sorts or kind.tall(schedule.mr)) and schedule.kc:
        return "tiles, sorted words and sums of many rows take all terms"
    copied = schedule.packed_a or schedule.packed_b
    if copied and not schedule.kc and not access.terms.is_const:
        return "copies need blocks of a known number of terms"
    if schedule.packed_b and not access.in_place:
        return "b is packed already"
    if access.in_place and not schedule.packed_b and not access.whole_panels:
        return "the last columns end before their panel does"
    if access.in_place and schedule.packed_a and not schedule.packed_b and len(access.inside) > 1:
        return "the terms of b do not follow one another"
    if not schedule.packed_a:
        if stands_alone(access, schedule):
            columns = access.columns
            if not columns.is_const or columns.value % schedule.nr and columns.value != own_columns(access, schedule):
                return "tiles at the edges are whole ones"
        elif len(access.border) > 1 and _many_taps(access, schedule) or access.bounds and not access.border_inner:
            return "more taps than pointers are kept for"
        if cuts_taps(access, schedule):
            why = _uncut(access, schedule)
            if why is not None:
                return why
    if schedule.in_parts:
        why = _no_parts(access, schedule)
        if why is not None:
            return why
    if schedule.bands and (schedule.blocked or schedule.packed_b or by_panels(access, schedule)):
        return "a team's bands of rows have whole sums, of columns that are not copied"
    if schedule.bands and (not access.rows.is_const or access.rows.value <= (schedule.bands - 1) * schedule.mr):
        return f"{schedule.bands} bands of fewer tiles"
    if (schedule.small_teams or schedule.large_teams) and not schedule.bands:
        return "some teams share bands"
    if schedule.blocked:
        if not (schedule.mc or access.rows.is_const):
            return "blocks of an unknown number of rows"
        if blocks(access, schedule).rows > MOST_TILES:
            return f"more than {MOST_TILES} tiles in a block of rows"
    elif schedule.nc and not schedule.packed_b:
        return "columns are cut into blocks only where they are copied, or terms are cut"
    return None
