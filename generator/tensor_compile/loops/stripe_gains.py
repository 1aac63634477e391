# SPDX-License-Identifier: Apache-2.0
"""Which chains run in stripes (stripes.py) to save time, and with how many rows a block.

A value of which a thread's part does not fit half of its second cache leaves that, and the next kernel reads it from
farther away: a stripe of it stays. On the other side stand kernels of few rows, which take longer than one of all rows;
rows that a thread computes again where its share begins within an image; and shares of whole tiles, which are not
equal. Both are estimated for several sizes of a team, in cycles of a thread. Sizes that a build does not know count at
their lower ends.
"""
from __future__ import annotations

from dataclasses import replace
from typing import Callable, Sequence

from ..graph.dtypes import DTYPES
from ..instruction_sets import instruction_set
from ..records import dataclass
from ..symbolic import Expr
from ..target import Target
from .fused import Fused
from .loop_ir import ContractionKernel, Kernel
from .plan import bytes_of
from .program_ir import each_list, Element
from .scalars import extent
from .stripes import Chain, chains, striped

FEWEST, MOST = 4, 16    # rows of a block
SMALLER = 1 / 25    # of the time of a chain, by which kernels of few rows take longer: 0 to 6 % of each on Zen 4
NEARER = 50         # bytes of a value for which a core saves a cycle where they would come from the third cache,
MUCH_NEARER = 10    # and where all that a chain hands on fills a third of it, which others use, too (Zen 4)
STRIPES = " in stripes"    # behind the chain's label, where a refusal says why it does not run so
TUNED = "; one thread gains, so `tune` may choose it"    # behind the reason, where that is so
OF_ONE_THREAD = ([1], 1.0)    # teams and margin of what a tuning lock may choose
SURE = 1.5          # times of what it loses that a chain saves, where nobody measures it

Work = Callable[[Kernel], Expr]    # operations


def fastest(fused: Fused, target: Target, work: Work, teams: Sequence[int], margin: float) -> Fused:
    """The same kernels, those chains in stripes that with a team of each of these sizes save `margin` times of what
    they lose."""
    if not target.l2:
        return fused
    gains = _Gains(fused, target, work, teams, margin)
    tuned = _Gains(fused, target, work, *OF_ONE_THREAD)
    chosen: dict[str, tuple[Chain, int]] = {}
    refusals: list[tuple[str, str]] = []

    def collect(items: list[Element]) -> list[Element]:
        for chain in chains(fused, items):
            parts = gains.parted(chain)
            chosen.update({part.key: (part, block) for part, block in parts})
            if not parts and (reason := gains.refusal(chain)):
                refusals.append((chain.label + STRIPES, reason + (TUNED if tuned.parted(chain) else "")))
        return items
    each_list(fused.kernels, collect)
    made = striped(fused, chosen) if chosen else fused
    return replace(made, refusals=[*made.refusals, *refusals])


@dataclass(frozen=True, slots=True)
class _Costs:
    """Of a part of a chain. values: bytes of what its kernels hand on; row: of a row of each; work: operations of all
    kernels, each: of one row of what each of them hands on; panels: bytes of second operands, which every tile
    walks."""

    images: int
    rows: int
    values: tuple[int, ...]
    row: tuple[int, ...]
    work: int
    each: tuple[float, ...]
    panels: int


class _Gains:
    def __init__(self, fused: Fused, target: Target, work: Work, teams: Sequence[int], margin: float):
        self.buffers, self.target, self.work, self.teams, self.margin = fused.buffers, target, work, teams, margin
        self.rate = 2 * instruction_set(target.isas[-1]).lanes    # operations a cycle: a multiply-add of vectors

    def parted(self, chain: Chain) -> list[tuple[Chain, int]]:
        """The parts of a chain that together gain most, each with the rows of its blocks."""
        best: list[tuple[float, list[tuple[Chain, int]]]] = [(0.0, [])]
        for behind in range(1, len(chain.kernels) + 1):
            found = [best[-1]]
            for first in range(behind - 1):
                part = chain.part(first, behind)
                costs = self.costs(part)
                block = self.block(part, costs) if costs is not None else 0
                if costs is not None and block and (gain := self.gain(part, costs, block)) > 0:
                    found.append((best[first][0] + gain, [*best[first][1], (part, block)]))
            best.append(max(found, key=lambda one: one[0]))
        return best[-1][1]

    def refusal(self, chain: Chain) -> str:
        """Why no part of a chain pays, of the one that is nearest to it; "" where none would save anything."""
        found = []
        for first in range(len(chain.kernels) - 1):
            part = chain.part(first, first + 2)
            costs = self.costs(part)
            if costs is not None and self.saved(costs, 1) and (block := self.block(part, costs)):
                rest = [(self.saved(costs, team), self.lost(part, costs, block, team), team) for team in self.teams]
                found.append(min(rest, key=lambda one: one[0] / one[1]))
        if not found:
            return ""
        saved, lost, team = max(found, key=lambda one: one[0] / one[1])
        thread = "one thread" if team == 1 else f"a thread of {team}"
        return f"that would save {thread} {round(saved)} cycles and cost it {round(lost)}"

    def costs(self, part: Chain) -> _Costs | None:
        """None where values are no floats, windows touch no neighbours, or rows are not known."""
        buffers = [self.buffers[link.name] for link in part.links]
        rows = extent(part.links[-1].reader)
        if not rows.is_const or any(not DTYPES[b.dtype].is_float for b in buffers) \
                or not any(link.step > 1 or link.high > link.low for link in part.links):
            return None
        images = 1 if part.links[0].images is None else _least(extent(part.links[0].images[1]))
        tall = [_least(b.shape[link.dim]) * images for b, link in zip(buffers, part.links)]
        values = [_least(bytes_of(b)) for b in buffers]
        work = [_least(self.work(kernel)) for kernel in part.kernels]
        panels = sum(_least(bytes_of(b)) for kernel in part.kernels if isinstance(kernel, ContractionKernel)
                     for b in kernel.params if b.name in {load.buffer for load in kernel.b})
        return _Costs(images, rows.value, tuple(values), tuple(v // n for v, n in zip(values, tall)), sum(work),
                      tuple(w / n for w, n in zip(work, tall)), panels)

    def block(self, part: Chain, costs: _Costs) -> int:
        """Rows of a block: of those numbers that leave what a tile holds in half of the second cache, the one that
        gains most, equal blocks where that does not halve them; 0: even few rows do not stay."""
        fit = [block for block in range(min(FEWEST, costs.rows), min(MOST, costs.rows) + 1)
               if sum(h * row for h, row in zip(part.heights(block), costs.row)) <= self.target.l2 // 2]
        whole = [block for block in fit if costs.rows % block == 0 and 2 * block >= fit[-1]]
        return max(whole or fit, key=lambda block: (self.gain(part, costs, block), block), default=0)

    def gain(self, part: Chain, costs: _Costs, block: int) -> float:
        """Cycles of all threads, in the team that gains least; what is lost counts `margin` times."""
        return min(team * (self.saved(costs, team) - self.margin * self.lost(part, costs, block, team))
                   for team in self.teams)

    def saved(self, costs: _Costs, team: int) -> float:
        """Cycles of a thread."""
        left = sum(v for v in costs.values if v // team > self.target.l2 // 2)
        return left / team / (NEARER if sum(costs.values) <= self.target.l3 // 3 else MUCH_NEARER)

    def lost(self, part: Chain, costs: _Costs, block: int, team: int) -> float:
        """Cycles of a thread."""
        tiles = costs.images * -(-costs.rows // block)
        share = -(-tiles // team)
        uneven = share * team / tiles - 1
        again = 0.0
        if costs.images % team:    # shares begin within images
            again = sum(above * each for above, each in zip(_above(part), costs.each))
        walks = share * costs.panels / NEARER if costs.panels > self.target.l2 // 4 else 0.0
        return ((SMALLER + uneven) * costs.work / team + again) / self.rate + walks


def _above(part: Chain) -> list[int]:
    """Rows of what each kernel hands on that two neighbouring blocks need, as many as a share begins with."""
    steps, out = 1, []
    for link, height in zip(reversed(part.links), reversed(part.heights(1))):
        steps *= link.step
        out.append(max(0, height - steps))
    return out[::-1]


def _least(e: Expr) -> int:
    """With dims at their lower ends."""
    return max(1, e.evaluate({s: s.lo for s in e.symbols()}))
