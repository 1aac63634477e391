# SPDX-License-Identifier: Apache-2.0
"""What `explain` says of fusion: a line for each decision, equal ones once with their number."""
from __future__ import annotations

from collections import Counter
from typing import Iterable

from ..loops.accesses import written
from ..loops.program_ir import Program, Region, Step, Tiles, leaves, regions


def fused(program: Program) -> list[str]:
    """What was joined."""
    return once(program.fusions)


def apart(program: Program) -> dict[tuple[str, str], int]:
    """(what, why not) of what stayed apart, in order, with how often. Kernels that run one behind the other in each
    tile of a region are not apart, whatever fusion said of them."""
    region = {id(step): r for r in regions(program.steps) if isinstance(r, Tiles) for step in leaves([r])}
    writers: dict[str, list[Step]] = {}
    for step in program.kernel_steps:
        for name in written(step.kernel):
            writers.setdefault(name, []).append(step)

    def together(one: Step, other: Step) -> bool:
        where: Region | None = region.get(id(one))
        return one is other or where is not None and where is region.get(id(other))

    def stayed(pair: tuple[str, str]) -> bool:
        ones, others = (writers.get(name, []) for name in pair)
        return any(not together(one, other) for one in ones for other in others)

    return dict(Counter([*((a.what, a.why) for a in program.apart if stayed(a.between)), *program.refusals]))


def once(lines: Iterable[str]) -> list[str]:
    """Equal lines once, with how often."""
    return [line + times(n) for line, n in Counter(lines).items()]


def times(n: int) -> str:
    """Behind what is said once."""
    return f" ({n} times)" if n > 1 else ""
