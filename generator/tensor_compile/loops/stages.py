# SPDX-License-Identifier: Apache-2.0
"""Stages: kernels of branches that do not need each other stand side by side, so that fewer barriers part them.

A team meets at a barrier wherever a kernel needs what one since the last barrier stored. Branches that follow each
other have the barriers of all of them; side by side they have those of the longest. What is left of a thread's time in
one kernel is also made up for by the next one of its stage.

A stretch is a row of steps that no step outside of it may run beside: all behind it need all of it. Its steps are
sorted by the stage in which they can run first. That pays where barriers take a part of the time and changes
nothing else: where all that a stretch touches stays in the second cache, whatever the order, and the arena grows
little. What a stage touches is kept for all of it (plan.py), as its steps run at the same time; so each thread has
scratch for all of a stage's steps.
"""
from __future__ import annotations

import math
from itertools import pairwise
from typing import Callable, Iterable, Iterator, Mapping, Sequence

from ..graph.dtypes import DTYPES
from ..records import dataclass
from ..target import Target
from .accesses import conflicts, Touch, touch_of
from .loop_ir import CheckKernel, ExternKernel
from .program_ir import Element, leaves, Step
from .scalar_ir import Buffer

CONSTANT = ("packed", "scratch")    # kinds of buffers that no step hands on
GROWS = 1.5  # the temps, and a thread's scratch, at most by this factor,
NEAR = 0.75  # and the temps to this part of the second cache

Stage = tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class Staged:
    """Steps in an order in which they may run. stages: those of two steps and more that are sorted so."""

    steps: list[Element]
    stages: tuple[Stage, ...] = ()


def staged(steps: Sequence[Element], buffers: Mapping[str, Buffer], target: Target,
           arena: Callable[[Staged], int | None]) -> Staged:
    """The steps of a program whose branches stand side by side where that pays. arena: the bytes of temps of such a
    program; None: not known."""
    best = Staged(list(steps))
    size = arena(best) if target.threads > 1 else None
    if size is None:
        return best
    most = max(size, min(GROWS * size, NEAR * target.l2))
    room = GROWS * max((_scratch((step,)) for step in leaves(best.steps)), default=0)
    for first, end in _stretches(best.steps):
        row = [s for s in best.steps[first:end] if isinstance(s, Step)]
        needs = _needs(row)
        by_stage = _by_stage(row, needs)
        if len(by_stage) >= _intervals(needs) or not _near(row, buffers, target):
            continue
        order = [s for stage in by_stage for s in stage]
        more = tuple(stage for stage in by_stage if len(stage) > 1)
        if any(_scratch(stage) > room for stage in more):
            continue
        trial = Staged([*best.steps[:first], *order, *best.steps[end:]], best.stages + more)
        needed = arena(trial)
        if needed is not None and needed <= most:
            best = trial
    return best


def _stretches(steps: Sequence[Element]) -> Iterator[tuple[int, int]]:
    """Where each begins and ends; of the outermost list alone."""
    first = 0
    for end in range(len(steps) + 1):
        if end == len(steps) or not _sorts(steps[end]):
            yield from ((first + a, first + b) for a, b in _parted(steps[first:end]))
            first = end + 1


def _sorts(item: Element) -> bool:
    """A check stops the call, a user's function may have its own reasons for an order, and a region has barriers of
    its own: they keep their places."""
    return isinstance(item, Step) and not isinstance(item.kernel, (CheckKernel, ExternKernel))


def _parted(row: Sequence[Element]) -> Iterator[tuple[int, int]]:
    """Stretches of neighbouring steps: cut wherever all steps behind need all before."""
    behind: list[int] = []       # by step, a bit for each that it needs, also by way of others
    for needs in _needs([s for s in row if isinstance(s, Step)]):
        behind.append(0)
        for i in needs:
            behind[-1] |= behind[i] | 1 << i
    cuts, every = [len(behind)], -1
    for i in reversed(range(len(behind))):
        every &= behind[i]
        if every | -1 << i == -1:
            cuts.append(i)
    yield from pairwise(reversed(cuts))


def _needs(row: Sequence[Step]) -> list[set[int]]:
    """Of each step those before it that store what it touches, or read what it stores."""
    touches = [touch_of(s.kernel) for s in row]
    readers: dict[str, list[int]] = {}
    writers: dict[str, list[int]] = {}
    needs: list[set[int]] = []
    for i, touch in enumerate(touches):
        found = {j for name in touch.reads for j in writers.get(name, ())}
        found |= {j for name in touch.writes for j in (*writers.get(name, ()), *readers.get(name, ()))}
        needs.append({j for j in found if _conflict(touch, touches[j])})
        for names, positions in ((touch.reads, readers), (touch.writes, writers)):
            for name in names:
                positions.setdefault(name, []).append(i)
    return needs


def _conflict(touch: Touch, before: Touch) -> bool:
    return any(conflicts(touch, before, lambda mine, other: False))


def _by_stage(row: Sequence[Step], needs: Sequence[set[int]]) -> list[Stage]:
    """Each step in the first stage behind those of what it needs."""
    at: list[int] = []
    for mine in needs:
        at.append(max((at[i] + 1 for i in mine), default=0))
    return [tuple(s for s, stage in zip(row, at, strict=True) if stage == i) for i in range(max(at, default=-1) + 1)]


def _intervals(needs: Sequence[set[int]]) -> int:
    """Into how many parts barriers cut steps with these needs as they stand."""
    count, since = 0, -1
    for i, mine in enumerate(needs):
        if count == 0 or any(j >= since for j in mine):
            count, since = count + 1, i
    return count


def _scratch(stage: Iterable[Step]) -> float:
    """Bytes of a thread: of steps between two barriers it lies side by side."""
    sizes = [(b.elements, DTYPES[b.dtype].bytes) for s in stage for b in s.kernel.params if b.kind == "scratch"]
    return sum(count.value * each if count.is_const else math.inf for count, each in sizes)


def _near(row: Iterable[Step], buffers: Mapping[str, Buffer], target: Target) -> bool:
    """What is computed in a call and touched by some of the steps fits the second cache."""
    touched = [buffers[name] for name in {b.name for s in row for b in s.kernel.params if b.kind not in CONSTANT}]
    return all(b.elements.is_const for b in touched) \
        and sum(b.elements.value * DTYPES[b.dtype].bytes for b in touched) <= target.l2
