# SPDX-License-Identifier: Apache-2.0
"""How a team shares the tiles of a contraction (templates/contraction/). Thread t of n takes those from t/n to (t+1)/n,
of their number where all take about as long. The last rows and the last columns may be fewer: 49 rows in tiles of 12
leave one. Threads that took many such tiles would wait for the others. So either tiles are shared by the time that they
take (share.c.in). Or, where rows are copied, the tiles of the last rows are shared by themselves behind the others:
then parts of the others begin with a tile of rows more often, and fewer rows are copied twice.
"""
from __future__ import annotations

from dataclasses import replace

from ...instruction_sets import instruction_set
from ...loops.contraction_schedule import Schedule
from ...records import dataclass
from .access import Access
from .candidate_table import PANEL
from .product_forms import form
from .schedule_blocks import Blocks, blocks, tiles_in_place
from .schedule_tiles import by_panels
from ..template import expand_file

LEAST_GROUPS = 8      # of columns that a team's thread computes of the rows that it copies, where there are as many
MOST_COLUMNS = 512    # of so many columns panels stay near
TEAMS = (4, 8, 16)    # threads for which the split is looked at
MOST_ITEMS = 64       # of a thread of the largest of these: with more, one more or less is little
WORTH = 1.04          # how much longer the slowest thread must take, if tiles are counted
ROW, COLUMN = 2, 8    # rows and columns that take as long as what else a tile begins and ends with
COPIED, SORTED = 8, 32    # columns that take as long as copying rows, and sorting their words


def most_groups(schedule: Schedule) -> int:
    """Of a band of columns."""
    return max(LEAST_GROUPS, MOST_COLUMNS // schedule.nr)


def team_groups(most: int) -> str:
    """C text of the groups of a band, about. share: the items of a thread."""
    return f"tc_min(tc_max(share, {LEAST_GROUPS}), {most})"


@dataclass(frozen=True)
class Split:
    """The items in their order: blocks of `block` tiles of rows, in each the groups of columns, in each the tiles;
    then `wide` ones of the rows that are left. Where `most` is not 0: bands of groups (band), in each the tiles, in
    each its groups. A tile's time is row * column; last_row, last_column: of the last tile, of the last group. Rows
    are copied in `copy` times row."""

    tiles: int
    groups: int
    block: int
    most: int
    row: int
    last_row: int
    column: int
    last_column: int
    wide: int
    wide_time: int
    copy: int

    @property
    def items(self) -> int:
        return self.tiles * self.groups + self.wide

    @property
    def across(self) -> int:
        """The time of a row of tiles, by that of one's rows."""
        return (self.groups - 1) * self.column + self.last_column

    @property
    def down(self) -> int:
        """The time of a column of tiles, by that of one's columns."""
        return (self.tiles - 1) * self.row + self.last_row if self.tiles else 0

    @property
    def narrow_time(self) -> int:
        return self.down * self.across

    @property
    def time(self) -> int:
        return self.narrow_time + self.wide * self.wide_time

    def band(self, threads: int) -> int:
        """Groups of a band of columns."""
        bands = max(1, self.groups // min(max(self.items // threads, LEAST_GROUPS), self.most))
        return -(-self.groups // bands)

    def before(self, time: int, threads: int) -> int:
        """The number of items that end before `time`, which is less than that of all: share.c.in computes the same."""
        if time >= self.narrow_time:
            return self.tiles * self.groups + (time - self.narrow_time) // self.wide_time
        if self.most:
            band = self.band(threads)
            first = time // (self.down * self.column * band) * band
            wide = min(band, self.groups - first)
            across = wide * self.column - (self.column - self.last_column if first + wide == self.groups else 0)
            time -= first * self.down * self.column
            tile = min(time // (self.row * across), self.tiles - 1)
            each = (self.last_row if tile == self.tiles - 1 else self.row) * self.column
            return first * self.tiles + tile * wide + (time - tile * self.row * across) // each
        above = min(time // (self.block * self.row * self.across), (self.tiles - 1) // self.block) * self.block
        rows = min(self.block, self.tiles - above)
        down = rows * self.row - (self.row - self.last_row if above + rows == self.tiles else 0)
        time -= above * self.row * self.across
        group = min(time // (down * self.column), self.groups - 1)
        each = self.row * (self.last_column if group == self.groups - 1 else self.column)
        return above * self.groups + group * rows + (time - group * down * self.column) // each

    def ordered(self, threads: int) -> list[tuple[int, int]]:
        """Every item in order: its tile of rows and its time."""
        rows = [(i, self.row if i < self.tiles - 1 else self.last_row) for i in range(self.tiles)]
        columns = [self.column] * (self.groups - 1) + [self.last_column]
        found = []
        if self.most:
            band = self.band(threads)
            for first in range(0, self.groups, band):
                found += [(tile, row * column) for tile, row in rows for column in columns[first:first + band]]
        else:
            for above in range(0, self.tiles, self.block):
                found += [(tile, row * column) for column in columns for tile, row in rows[above:above + self.block]]
        return found + [(self.tiles, self.wide_time)] * self.wide

    def parts(self, threads: int, timed: bool) -> list[int]:
        """The time of every thread: of its items, and of copying the tiles of rows that they are of."""
        bounds = [self.before(self.time * t // threads, threads) if timed else t * self.items // threads
                  for t in range(threads)]
        items, found = self.ordered(threads), []
        for first, last in zip(bounds, [*bounds[1:], self.items]):
            tiles = {tile for tile, _ in items[first:last]}
            rows = sum(self.last_row if tile == self.tiles - 1 else self.row for tile in tiles)
            found.append(sum(time for _, time in items[first:last]) + self.copy * rows)
        return found


@dataclass(frozen=True, slots=True)
class TeamSplit:
    """How the items of `split` are shared: timed: by their time, else by their number. last: the split of the items of
    the last rows, by their number, where these stand behind."""

    split: Split
    timed: bool = False
    last: Split | None = None

    def slowest(self, threads: int) -> int:
        """The time of the thread that takes longest."""
        parts = self.split.parts(threads, self.timed)
        last = self.last.parts(threads, False) if self.last is not None else [0] * threads
        return max(a + b for a, b in zip(parts, last))


def team_split(access: Access, schedule: Schedule) -> TeamSplit | None:
    """Of a kernel whose sizes are known, and not for little code; None: tiles are counted, nothing stands behind."""
    rows, columns = access.rows, access.columns
    if not (rows.is_const and columns.is_const and access.batches.is_const and access.batches.value == 1) \
            or rows.value <= 0 or columns.value <= 0 or schedule.compact or schedule.lines or schedule.term_by_term \
            or schedule.bands and not (schedule.large_teams and not schedule.small_teams) \
            or by_panels(access, schedule) or instruction_set(schedule.isa).lanes == 1:
        return None
    plan, (full, rest) = blocks(access, schedule), divmod(rows.value, schedule.mr)
    band = plan.tiles.behind(full, rest)
    wide = band.columns if band is not None and band.columns > schedule.nr else 0
    groups = -(-columns.value // schedule.nr)
    last = -(-(columns.value - (groups - 1) * schedule.nr) // PANEL) * PANEL
    first = schedule.blocked and plan.rows_first
    tiles, height, few = full + (rest > 0 and not wide), schedule.mr + ROW, rest + ROW
    if not tiles or tiles * groups > MOST_ITEMS * max(TEAMS):
        return None
    copied = (SORTED if plan.form.sorts else COPIED) if first and not tiles_in_place(access, schedule) else 0
    whole = Split(tiles, groups, _block(plan, tiles), most_groups(schedule) if first else 0, height,
                  few if rest and not wide else height, schedule.nr + COLUMN, last + COLUMN,
                  -(-columns.value // wide) if wide else 0, few * (wide + COLUMN), copied)
    forms = [TeamSplit(whole), TeamSplit(whole, True)]
    if first and full and rest:
        above = replace(whole, tiles=full, last_row=height)
        below = replace(whole, tiles=1)
        forms += [TeamSplit(above, False, below), TeamSplit(above, True, below)]

    def lost(form: TeamSplit) -> float:
        """By how much slowest threads take longer than the best of all forms, the mean of some teams."""
        return sum(form.slowest(n) / min(other.slowest(n) for other in forms) for n in TEAMS) / len(TEAMS)
    best = min(forms, key=lost)
    return best if lost(forms[0]) > WORTH * lost(best) else None


def copying(access: Access, schedule: Schedule) -> int:
    """Operations that take about as long as copying the rows of a tile with all their terms."""
    if tiles_in_place(access, schedule):
        return 0
    columns = SORTED if form(schedule.dtype, schedule.isa).sorts else COPIED
    return 2 * access.elements.value * schedule.mr * columns


def _block(plan: Blocks, tiles: int) -> int:
    """Tiles of a block of rows; all, where columns are outermost."""
    schedule = plan.schedule
    return tiles if schedule.blocked or schedule.packed_b else schedule.block(tiles)


def emit_split(found: TeamSplit | None) -> dict[str, object]:
    """What kernel.c.in is expanded with beside the text of share.c.in: its entry "share", "" where there is none."""
    if found is None:
        return {"uneven": False, "last_apart": 0, "all": "cut(d).all", "share": ""}
    s, apart = found.split, found.last.items if found.last is not None else 0
    values: dict[str, object] = {
        "in_bands": s.most > 0, "parameter": ", tc_index threads" if s.most else "",
        "argument": ", threads" if s.most else "", "time": s.time,
        "team_groups": team_groups(s.most), "one_block": s.block >= s.tiles, "wide": s.wide,
        "narrow": s.tiles * s.groups, "narrow_time": s.narrow_time, "wide_time": s.wide_time, "tiles": s.tiles,
        "last_tile": s.tiles - 1, "groups": s.groups, "last_group": s.groups - 1, "block": s.block, "row": s.row,
        "down": s.down, "fewer_rows": s.row - s.last_row, "fewer_columns": s.column - s.last_column,
        "row_time": s.row * s.across, "column": s.column, "column_time": s.down * s.column,
        "last_time": s.row * s.last_column, "tile_time": s.row * s.column, "last_row_time": s.last_row * s.column}
    return {"uneven": found.timed, "items": s.items, "last_apart": apart,
            "before_threads": ", team" if s.most else "",
            "all": f"team > 1 ? {s.items} : {s.items + apart}" if apart else "cut(d).all",
            "share": expand_file("contraction/share.c.in", values).rstrip("\n") if found.timed else ""}
