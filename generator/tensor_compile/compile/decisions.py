# SPDX-License-Identifier: Apache-2.0
"""What a tuning lock may decide beside schedules and forms, one line a decision (docs/tuning.md): the `order` in which
values lie, whether an item is `fuse`d into the kernel of another one, how many rows a `block` of a tile region has, the
`split` of a contraction's results among a team."""
from __future__ import annotations

import re
from dataclasses import replace
from typing import Iterator, Sequence

from ..emit.contraction import candidates as table
from ..emit.contraction.access import Access
from ..emit.contraction.key import order_key, split_key
from ..emit.contraction.team_bands import has_bands, team_bands
from ..loops.contraction_schedule import Schedule
from ..loops.loop_ir import ContractionKernel, GroupedContractionKernel
from ..loops.program_ir import leaves, ModelPlan, regions, Tiles
from ..loops.orders import choice_name, Offer
from ..loops.tile_regions import FEWEST
from ..records import dataclass
from ..target import Target

USUAL = "usual"      # as without a line
FUSIONS = ("fused", "stored")
MOST_ORDERS = 4      # other orders of a function's values that are measured: those that cost the least by the model
CLOSE = 1.0          # and at most so much more, as a part, than what the model chooses
MOST_SPLITS = 3      # of a kernel that are measured: those whose threads fetch least
_COUNT = re.compile(r"(bands|rows)([1-9]\d*)$")


@dataclass(frozen=True, slots=True)
class Decision:
    """key: of the lock; usual: what a build does without a line; others: what else may be done, what the cost model
    prefers first."""

    key: str
    usual: str
    others: tuple[str, ...]


def orders(offers: Sequence[Offer], target: str) -> dict[str, Decision]:
    """By key. offers: of a function, the cheapest first; target: the description's name."""
    found: dict[str, Decision] = {}
    for offer in offers:
        shape = offer.group.members[0].shape
        if offer.price > CLOSE or not all(d.is_const for d in shape):
            continue
        key, name = order_key(offer.group, target), choice_name(offer.choice)
        known = found.get(key) or Decision(key, choice_name(offer.usual), ())
        if name not in known.others and sum(len(d.others) for d in found.values()) < MOST_ORDERS:
            found[key] = replace(known, others=(*known.others, name))
    return found


def block(key: str, usual: int, most: int) -> Decision:
    """Blocks of half and of twice the rows. usual: those of the cost model; most: of all blocks."""
    found = [rows for rows in (usual // 2, min(2 * usual, most)) if rows >= FEWEST and rows != usual]
    return Decision(key, USUAL, tuple(f"rows{rows}" for rows in found))


def count_of(what: str, name: str) -> int | None:
    """How many bands of rows the name of a split says, or rows that of a block; 0: as without a line; None where it is
    no such name."""
    match = _COUNT.match(name)
    return 0 if name == USUAL else int(match[2]) if match and match[1] == what else None


def _unbanded(schedule: Schedule) -> Schedule:
    return replace(schedule, bands=0, small_teams=False, large_teams=False)


def split_keys(plan: ModelPlan, target: str) -> Iterator[tuple[str, ContractionKernel]]:
    """The contractions of variants of known sizes that a team can share otherwise. target: the description's name."""
    for function in plan.functions:
        for variant in function.variants:
            if len(variant.when) != len(function.dims) or variant.threads == 1:
                continue
            tiled = {id(step) for region in regions(variant.program.steps) if isinstance(region, Tiles)
                     for step in leaves([region])}
            for step in variant.program.kernel_steps:
                if isinstance(step.kernel, (ContractionKernel, GroupedContractionKernel)) and id(step) not in tiled:
                    for part in step.kernel.contractions:
                        if any(_legal(part, _unbanded(s), 2) for s in part.schedules):
                            yield split_key(part, target), part


def splits(plan: ModelPlan, target: Target, isa: str, threads: int) -> list[Decision]:
    """isa: whose schedules are cut; threads: of the team that they are measured with."""
    found: dict[str, Decision] = {}
    for key, kernel in split_keys(plan, target.name):
        schedule = next((_unbanded(s) for s in kernel.schedules if s.isa == isa), None)
        if key not in found and schedule is not None:
            usual = team_bands(kernel, schedule, target)
            others = _bands(kernel, schedule, usual.bands if has_bands(usual, threads) else 0, threads)
            found[key] = Decision(key, USUAL, tuple(f"bands{n}" for n in others))
    return list(found.values())


def _bands(kernel: ContractionKernel, schedule: Schedule, usual: int, threads: int) -> list[int]:
    """Of a team's bands those with which a thread fetches least: of its rows one band, of the columns its share of
    that band. usual: those that it has without a line."""
    access = Access.of(kernel)
    if not (access.rows.is_const and access.columns.is_const and access.terms.is_const):
        return []
    rows = access.rows.value * max(1, access.terms.value // (access.taps or 1))
    columns = access.columns.value * access.terms.value * access.sums
    tried = [1 << i for i in range(threads.bit_length()) if 1 << i <= threads]
    return sorted((n for n in tried if n != usual and (n == 1 and usual or _legal(kernel, schedule, n))),
                  key=lambda n: rows / n + columns * n / threads)[:MOST_SPLITS]


def _legal(kernel: ContractionKernel, schedule: Schedule, bands: int) -> bool:
    """One band is what a schedule without blocks of rows has."""
    return (bands > 1 or schedule.mc > 0) and table.refusal(kernel, replace(schedule, bands=bands)) is None
