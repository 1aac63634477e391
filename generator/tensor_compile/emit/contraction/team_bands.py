# SPDX-License-Identifier: Apache-2.0
"""The bands of rows that a team shares a contraction in where the tuning lock does not say (compile/decisions.py).

What a thread wrote itself in the step before lies in its own cache; a line that another thread wrote takes as long to
come as a hundred multiply-adds. Steps of many rows are mostly shared by rows: pointwise kernels, windows, products of
few columns. A product of several groups of columns goes by columns first, so that its panels stay near. Where all
panels are near anyway, a team takes bands of rows instead, and a thread reads the rows that it wrote. Of few tiles of
rows a large team's threads would each have parts of one, and all of them fetch all panels: there small teams alone
do, and none where larger ones share tiles by their time.
"""
from __future__ import annotations

from dataclasses import replace

from ...loops.contraction_schedule import Schedule
from ...loops.loop_ir import ContractionKernel
from ...target import Target
from . import candidates
from .access import Access
from .product_forms import form
from .team_split import team_split

BANDS = 16            # of a team
LEAST_TILES = 16      # of a band: a tile more or less is little then; with fewer tiles, bands are those of small teams
NEAR = 4              # of the second cache the part that holds all panels
SMALL_TEAMS = ("x86_64",)    # where bands of small teams were measured


def team_bands(kernel: ContractionKernel, schedule: Schedule, target: Target) -> Schedule:
    """The schedule with bands, or as it is."""
    access = Access.of(kernel)
    if target.threads == 1 or schedule.compact or not all(
            e.is_const for e in (access.rows, access.columns, access.terms, access.batches)) \
            or access.batches.value != 1 or access.columns.value <= schedule.nr \
            or access.rows.value < BANDS * schedule.mr:
        return schedule
    panels = form(schedule.dtype, schedule.isa).b_bytes * access.terms.value * access.columns.value * access.sums
    few = access.rows.value < BANDS * LEAST_TILES * schedule.mr
    found = replace(schedule, bands=BANDS, small_teams=few)
    if panels > target.l2 // NEAR or candidates.refusal(kernel, found) is not None:
        return schedule
    if few and (target.arch not in SMALL_TEAMS or team_split(access, schedule) is not None):
        return schedule
    return found
