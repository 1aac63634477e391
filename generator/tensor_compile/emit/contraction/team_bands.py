# SPDX-License-Identifier: Apache-2.0
"""The bands of rows that a team shares a contraction in where the tuning lock does not say (compile/decisions.py).

What a thread wrote itself in the step before lies in its own cache; a line that another thread wrote takes as long to
come as a hundred multiply-adds. Steps of many rows are mostly shared by rows: pointwise kernels, windows, products of
few columns. A product of several groups of columns goes by columns first, so that its panels stay near. Where all
panels are near anyway, a team takes bands of rows instead, and a thread reads the rows that it wrote. Of few tiles of
rows a large team's threads have parts of one, and all of them fetch all panels: there small teams do so, unless larger
ones share tiles by their time, and large teams where by columns a thread would read all rows, or nearly all.
"""
from __future__ import annotations

from dataclasses import replace

from ...loops.contraction_schedule import LARGE_PIECES, LARGE_TEAM, Schedule
from ...loops.loop_ir import ContractionKernel
from ...target import Target
from . import schedule_blocks
from .access import Access
from .product_forms import form
from .team_split import team_split

BANDS = 16            # of a team
LEAST_TILES = 16      # of a band: a tile more or less is little then; with fewer tiles, bands are those of some teams
NEAR = 4              # of the second cache the part that holds all panels
WRITTEN = 6           # panels' bytes that a large team's thread fetches in the time of one that others wrote
SOME_TEAMS = ("x86_64",)    # where bands of some teams were measured


def teams_text(schedule: Schedule) -> str:
    """C text of whether a team that shares a kernel in `threads` pieces does so in bands."""
    small, large = "threads > 1 && threads <= w->tiles", f"threads >= {LARGE_PIECES}"
    if schedule.small_teams and schedule.large_teams:
        return f"({small}) || {large}"
    return large if schedule.large_teams else small if schedule.small_teams else "threads > 1"


def has_bands(schedule: Schedule, threads: int) -> bool:
    """Whether so many threads share a large kernel in bands. Small teams are those of two or three at most."""
    some = schedule.small_teams or schedule.large_teams
    return schedule.bands > 0 and (not some or schedule.large_teams and threads >= LARGE_TEAM)


def team_bands(kernel: ContractionKernel, schedule: Schedule, target: Target) -> Schedule:
    """The schedule with bands, or as it is."""
    access = Access.of(kernel)
    if target.threads == 1 or schedule.compact or schedule.lines or schedule.term_by_term or not all(
            e.is_const for e in (access.rows, access.columns, access.terms, access.batches)) \
            or access.batches.value != 1 or access.columns.value <= schedule.nr \
            or access.rows.value < BANDS * schedule.mr:
        return schedule
    near = _panels(access, schedule) <= target.l2 // NEAR
    if access.rows.value >= BANDS * LEAST_TILES * schedule.mr:
        found = replace(schedule, bands=BANDS) if near else schedule
    elif target.arch in SOME_TEAMS:
        small = near and team_split(access, schedule) is None
        large = _reads_less(access, schedule, target)
        found = replace(schedule, bands=BANDS, small_teams=small, large_teams=large) if small or large else schedule
    else:
        found = schedule
    return found if schedule_blocks.refusal(access, found) is None else schedule


def _panels(access: Access, schedule: Schedule) -> int:
    """Bytes of all panels."""
    return form(schedule.dtype, schedule.isa).b_bytes * access.terms.value * access.columns.value * access.sums


def _reads_less(access: Access, schedule: Schedule, target: Target) -> bool:
    """Whether a thread of a large team fetches for less time by bands: fewer rows, which others wrote, and all panels,
    which the second cache must hold."""
    panels = _panels(access, schedule)
    if target.threads < BANDS or access.product.integer or panels > target.l2:
        return False
    tiles, groups = -(-access.rows.value // schedule.mr), -(-access.columns.value // schedule.nr)
    row = 4 * access.terms.value // (access.taps or 1)
    share = max(1, tiles * groups // BANDS)    # of a thread, by columns or in blocks of rows
    block = schedule.block(tiles)
    rows = min(access.rows.value, min(share, block) * schedule.mr)
    met = min(groups, -(-share // block)) * panels // groups
    fewer = rows - -(-tiles // BANDS) * schedule.mr
    return WRITTEN * fewer * row > panels - met
