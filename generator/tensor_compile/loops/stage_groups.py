# SPDX-License-Identifier: Apache-2.0
"""Groups of branches: where all branches of a stretch cannot stand side by side (stages.py), some of them can.

A branch is a row of steps each of which needs the one before it. Branches keep their order: each joins the group before
it, or begins another, and groups follow each other. So a branch may need earlier ones, as sums of branches do.
"""
from __future__ import annotations

from typing import Callable, Mapping, Sequence

Needs = Sequence[set[int]]    # of each step of a stretch those before it that it has to run behind
Stages = list[list[int]]      # steps of a stretch, by their numbers


def by_stage(steps: Sequence[int], needs: Needs) -> Stages:
    """Each step in the first stage behind those of what it needs among these."""
    at: dict[int, int] = {}
    for i in steps:
        at[i] = max((at[j] + 1 for j in needs[i] if j in at), default=0)
    return [[i for i in steps if at[i] == stage] for stage in range(max(at.values(), default=-1) + 1)]


def intervals(needs: Needs, order: Sequence[int]) -> int:
    """Into how many parts barriers cut steps in this order."""
    count, since = 0, -1
    place: dict[int, int] = {}
    for n, i in enumerate(order):
        place[i] = n
        if count == 0 or any(place.get(j, -1) >= since for j in needs[i]):
            count, since = count + 1, n
    return count


def grouped(needs: Needs, fits: Callable[[Stages, Stages], bool]) -> Stages | None:
    """All steps, in stages of some branches at a time; None where barriers are not fewer by that. fits: whether a group
    may run in these stages, and all steps in those."""
    groups: list[Stages] = []
    behind = len(needs)
    for branch in _branches(needs):
        if groups:
            before = [i for stage in groups[-1] for i in stage]
            both = by_stage(sorted(before + branch), needs)
            whole = [*(stage for group in groups[:-1] for stage in group), *both,
                     *([i] for i in range(branch[-1] + 1, behind))]
            if len(both) <= intervals(needs, before + branch) and fits(both, whole):
                groups[-1] = both
                continue
        groups.append([[i] for i in branch])
    stages = [stage for group in groups for stage in group]
    fewer = intervals(needs, [i for stage in stages for i in stage]) < intervals(needs, range(len(needs)))
    return stages if fewer else None


def _branches(needs: Needs) -> list[list[int]]:
    found: list[list[int]] = []
    for i, mine in enumerate(needs):
        if found and i - 1 in mine:
            found[-1].append(i)
        else:
            found.append([i])
    return found


def most_alive(order: Sequence[Sequence[str]], sizes: Mapping[str, float], before: set[str], behind: set[str]) -> float:
    """Bytes of tensors that are needed at once, where each of `order` touches some of them. before, behind: those that
    are needed from the first on, and to the last."""
    first: dict[str, int] = {}
    last: dict[str, int] = {}
    for i, names in enumerate(order):
        for name in names:
            if name in sizes:
                first.setdefault(name, 0 if name in before else i)
                last[name] = len(order) - 1 if name in behind else i
    change = [0.0] * (len(order) + 1)
    for name, i in first.items():
        change[i] += sizes[name]
        change[last[name] + 1] -= sizes[name]
    most = now = 0.0
    for step in change:
        now += step
        most = max(most, now)
    return most
