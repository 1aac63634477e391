# SPDX-License-Identifier: Apache-2.0
"""Which tiles a schedule cuts a contraction into: what the cost model counts is what is emitted.

Columns are walked in groups, in each the rows from the first to the last: full tiles, then one band of what is left of
them. A band's columns are cut into its widths, the widest that fits first; the last 16 may be fewer. A compact schedule
has few heights and widths: rows that are computed and are none cost time, each tile more costs code.

A few rows keep the multipliers busy in a tile that is wider than a group. Such tiles stand for themselves, so that all
panels are read once more: behind full tiles they are taken only where panels are near.
"""
from __future__ import annotations

from dataclasses import replace

from ...instruction_sets import InstructionSet, instruction_set
from ...loops.contraction_schedule import Schedule
from ...records import dataclass
from ...symbolic import Expr
from ...symbolic.typical import typical as size
from .access import Access
from .candidate_table import PANEL, TILE, micro_pointers, registers_needed, step_cycles
from .in_registers import stands_alone
from .product_forms import form

WIDEST = 128              # columns of the tiles for few rows
NEAR = 1 << 18            # bytes of panels that are still near when all of them are read once more


@dataclass(frozen=True, slots=True)
class Band:
    """height: rows that are computed; columns: of a group; widths: of its tiles, widest first."""

    height: int
    columns: int
    widths: tuple[int, ...]

    def cut(self, columns: int, unit: int) -> list[int]:
        """The widths that `columns` of a group are cut into."""
        out, left = [], columns
        while left > 0:
            out.append(next((w for w in self.widths if w <= -(-left // unit) * unit), self.widths[-1]))
            left -= out[-1]
        return out


@dataclass(frozen=True, slots=True)
class Tiles:
    """full: where the kernel may have that many rows; rests: the band of each number of rows that may be left; group:
    columns of a group; near: wider bands are taken behind full tiles, too."""

    full: Band | None
    rests: dict[int, Band]
    unit: int
    group: int
    near: bool

    def behind(self, full: int, rest: int) -> Band | None:
        """The band of the rows that are left behind so many full tiles."""
        band = self.rests.get(rest)
        if band is None or not full or self.near or band.columns <= self.group:
            return band
        return replace(band, columns=self.group)

    @property
    def bands(self) -> list[Band]:
        """Each once: the full one, then lower ones."""
        found = dict.fromkeys([*([self.full] if self.full else []), *self.rests.values()])
        return list(found)


def unit_of(isa: InstructionSet, schedule: Schedule) -> int:
    """Columns of the narrowest tile."""
    if isa.lanes > 1:
        return PANEL
    return schedule.nr


def by_panels(access: Access, schedule: Schedule) -> bool:
    """A team shares single panels, each thread neighbouring ones: all rows are one tile, so that nothing is read twice.
    Groups of columns would be too few to be shared evenly."""
    isa = instruction_set(schedule.isa)
    plain = not (schedule.compact or schedule.packed_b or access.product.integer or stands_alone(access, schedule))
    return plain and isa.lanes > 1 and access.rows.is_const and access.rows.value == schedule.mr


def item_columns(access: Access, schedule: Schedule) -> int | None:
    """Columns of what a team's threads take of a product of one row; None where those of its last item are others, or
    items have a form of their own."""
    if schedule.lines or schedule.term_by_term or schedule.mr != 1 or access.rows != 1:
        return None
    return PANEL if by_panels(access, schedule) else schedule.nr


def tiles(access: Access, schedule: Schedule) -> Tiles:
    isa, rows, mr = instruction_set(schedule.isa), access.rows, schedule.mr
    unit = unit_of(isa, schedule)
    kind = form(schedule.dtype, schedule.isa)
    high = TILE if kind.tiles else 1    # rows of the lowest tile
    near = access.sums * kind.b_bytes * size(access.terms) * size(access.columns) <= NEAR

    def band(height: int, columns: int) -> Band:
        if by_panels(access, schedule):
            return Band(height, columns, _halves(columns, unit))
        return Band(height, columns, _widths(access.columns, columns, unit, schedule.compact))

    def narrow(height: int) -> Band:
        return band(-(-height // high) * high, schedule.nr)

    def wide(height: int) -> Band:
        """As wide as keeps the multipliers busy."""
        group, alone = narrow(height), schedule.blocked or schedule.packed_b or stands_alone(access, schedule)
        if isa.lanes == 1 or schedule.compact or alone:
            return group
        columns = _tail_columns(access, isa, group.height, schedule)
        return band(group.height, columns) if columns > schedule.nr else group

    def either(height: int) -> Band:
        """With the widths of both."""
        one, other = wide(height), narrow(height)
        return one if near else replace(one, widths=tuple(sorted({*one.widths, *other.widths}, reverse=True)))

    if rows.is_const:
        full, rest = divmod(rows.value, mr)
        height = mr if schedule.compact and rest > 1 else rest
        rests = {rest: (narrow if full and not near else wide)(height)} if rest else {}
    else:
        full, heights = 1, sorted({1, mr} if schedule.compact or high > 1 else {1, 2, (mr + 1) // 2, mr})
        rests = {r: either(next(h for h in heights if h >= r)) for r in range(1, mr)}
    return Tiles(band(mr, schedule.nr) if full else None, rests, unit, schedule.nr, near)


def _widths(total: Expr, columns: int, unit: int, compact: bool) -> tuple[int, ...]:
    if total.is_const:
        full, rest = divmod(total.value, columns)
        return (*((columns,) if full else ()), *((-(-rest // unit) * unit,) if rest else ())) or (unit,)
    if compact:
        return tuple(dict.fromkeys((columns, unit)))
    return _halves(columns, unit)


def _halves(columns: int, unit: int) -> tuple[int, ...]:
    """All columns, and what any number of units below is cut into."""
    out, width = [columns], 1 << (max(1, columns // unit).bit_length() - 1)
    while width:
        if width * unit < columns:
            out.append(width * unit)
        width //= 2
    return tuple(out)


def _tail_columns(access: Access, isa: InstructionSet, rows: int, schedule: Schedule) -> int:
    """Columns of a tile of only a few rows: as many as keep the multiply-adds busy."""
    widest = WIDEST
    if access.columns.is_const:
        widest = min(widest, max(schedule.nr, -(-access.columns.value // PANEL) * PANEL))
    best = PANEL
    for columns in range(PANEL, widest + 1, PANEL):
        pointers = micro_pointers(rows, columns, not (access.inside[-1].a == 1 and access.inside[-1].b == PANEL))
        if registers_needed(isa, rows, columns) > isa.registers or pointers > isa.pointers:
            break
        if step_cycles(isa, rows, columns) / columns < step_cycles(isa, rows, best) / best * 0.999:
            best = columns
    return best
