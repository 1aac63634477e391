# SPDX-License-Identifier: Apache-2.0
"""What `explain` says of contractions that a team shares in bands of rows, by the tuning lock or without it
(emit/contraction/team_bands.py)."""
from __future__ import annotations

from typing import Iterator

from ..loops.contraction_schedule import Schedule
from ..loops.loop_ir import ContractionKernel, GroupedContractionKernel
from ..loops.program_ir import Program


def splits(program: Program) -> list[str]:
    """The kernel's number, how, and for which instruction sets."""
    lines = []
    for number, part in contractions(program):
        cuts: dict[str, list[str]] = {}
        for schedule in part.schedules:
            if schedule.bands:
                cuts.setdefault(f"{schedule.bands} bands of rows{_teams(schedule)}", []).append(schedule.isa)
        sets = len(part.schedules) > 1
        told = [cut + (f" ({', '.join(isas)})" if sets else "") for cut, isas in cuts.items()]
        lines += [f"{number} {part.label}: {'; '.join(told)}"] if told else []
    return lines


def count(program: Program) -> int:
    """Contractions of the program, in bands or not."""
    return sum(1 for _ in contractions(program))


def contractions(program: Program) -> Iterator[tuple[int, ContractionKernel]]:
    """Each with its kernel's number."""
    for number, step in enumerate(program.kernel_steps):
        if isinstance(step.kernel, (ContractionKernel, GroupedContractionKernel)):
            yield from ((number, part) for part in step.kernel.contractions)


def _teams(schedule: Schedule) -> str:
    some = [what for what, ok in (("small", schedule.small_teams), ("large", schedule.large_teams)) if ok]
    return f" in {' and '.join(some)} teams" if some else ""
