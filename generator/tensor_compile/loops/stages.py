# SPDX-License-Identifier: Apache-2.0
"""Stages: kernels of branches that do not need each other stand side by side, so that fewer barriers part them.

A team meets at a barrier wherever a kernel needs what one since the last barrier stored. Branches that follow each
other have the barriers of all of them; side by side they have those of the longest. What is left of a thread's time in
one kernel is also made up for by the next one of its stage.

A stretch is a row of steps that no step outside of it may run beside: all behind it need all of it. Its steps are
sorted by the stage in which they can run first. That pays where barriers take a part of the time and changes
nothing else: where all that a stretch touches stays in the second cache, whatever the order, and the arena grows
little. What a stage touches is kept for all of it (plan.py), as its steps run at the same time; so each thread has
scratch for all of a stage's steps. Where the whole of a stretch would take too much, some of its branches at a time
may not (stage_groups.py).
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
from .stage_groups import by_stage, grouped, intervals, most_alive, Needs, Stages

CONSTANT = ("packed", "scratch")    # kinds of buffers that no step hands on
GROWS = 1.5  # the temps, and a thread's scratch, at most by this factor,
NEAR = 0.75  # and the temps to this part of the second cache

Stage = tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class Staged:
    """Steps in an order in which they may run. stages: those of two steps and more that are sorted so."""

    steps: list[Element]
    stages: tuple[Stage, ...] = ()


@dataclass(frozen=True, slots=True)
class Stretch:
    """The steps from `first` on, and what each needs of those before it."""

    first: int
    row: tuple[Step, ...]
    needs: Needs

    @property
    def pays(self) -> bool:
        """All branches side by side have fewer barriers than in their order."""
        every = range(len(self.row))
        return len(by_stage(every, self.needs)) < intervals(self.needs, every)


Sorted = tuple[tuple[Stretch, Stages], ...]


def staged(steps: Sequence[Element], buffers: Mapping[str, Buffer], target: Target,
           arena: Callable[[Staged], int | None]) -> Staged:
    """The steps of a program whose branches stand side by side where that pays. arena: the bytes of temps of such a
    program; None: not known."""
    plain = Staged(list(steps))
    paying = [s for s in _stretches(steps) if s.pays] if target.threads > 1 else []
    size = arena(plain) if paying else None
    if size is None:
        return plain
    most = max(size, min(GROWS * size, NEAR * target.l2))
    limits = _Limits(steps, buffers, target, most)

    def fits(found: Sorted) -> bool:
        needed = arena(_in_order(steps, found))
        return needed is not None and needed <= most

    def added(found: Sorted, more: Sequence[tuple[Stretch, Stages]]) -> Sorted:
        """With those of these that fit: all, or else each half by itself."""
        if not more or fits((*found, *more)):
            return (*found, *more)
        if len(more) == 1:
            (stretch, stages), = more
            some = limits.groups(stretch)
            tried = (*found, (stretch, some)) if some is not None and some != stages else found
            return tried if tried is not found and fits(tried) else found
        half = len(more) // 2
        return added(added(found, more[:half]), more[half:])

    offered = [(s, limits.whole(s) or limits.groups(s)) for s in paying]
    return _in_order(steps, added((), [(s, stages) for s, stages in offered if stages is not None]))


def _in_order(steps: Sequence[Element], found: Sorted) -> Staged:
    order = list(steps)
    several: list[Stage] = []
    for stretch, stages in found:
        order[stretch.first:stretch.first + len(stretch.row)] = [stretch.row[i] for stage in stages for i in stage]
        several += [tuple(stretch.row[i] for i in stage) for stage in stages if len(stage) > 1]
    return Staged(order, tuple(several))


class _Limits:
    """What a stretch, or a group of its branches, may take. most: bytes of temps."""

    def __init__(self, steps: Sequence[Element], buffers: Mapping[str, Buffer], target: Target, most: float):
        self.buffers, self.target, self.most = buffers, target, most
        self.room = GROWS * max((_scratch((step,)) for step in leaves(steps)), default=0)
        self.lives: dict[str, tuple[int, int]] = {}    # from where to where a tensor is touched
        for i, item in enumerate(steps):
            for name in (b.name for step in leaves([item]) for b in step.kernel.params if b.kind == "temp"):
                self.lives[name] = self.lives.get(name, (i, i))[0], i

    def whole(self, stretch: Stretch) -> Stages | None:
        """All branches side by side; None where that is too much already without their places in the arena."""
        stages = by_stage(range(len(stretch.row)), stretch.needs)
        return stages if self.near(stretch, stages) and self.has_room(stretch, stages) else None

    def groups(self, stretch: Stretch) -> Stages | None:
        """Some branches side by side. How much of the arena they need is reckoned from the tensors that are alive."""
        first, end = stretch.first, stretch.first + len(stretch.row)
        touched = {b.name for s in stretch.row for b in s.kernel.params}
        sizes = {name: self.bytes(name) for name in touched if name in self.lives}
        before = {name for name in sizes if self.lives[name][0] < first}
        behind = {name for name in sizes if self.lives[name][1] >= end}
        through = sum(self.bytes(name) for name, (a, b) in self.lives.items()
                      if a < first and b >= end and name not in touched)

        def fits(group: Stages, stages: Stages) -> bool:
            if not self.near(stretch, group) or not self.has_room(stretch, group):
                return False
            order = [[b.name for i in stage for b in stretch.row[i].kernel.params] for stage in stages]
            return through + most_alive(order, sizes, before, behind) <= self.most
        return grouped(stretch.needs, fits)

    def bytes(self, name: str) -> float:
        b = self.buffers[name]
        return b.elements.value * DTYPES[b.dtype].bytes if b.elements.is_const else math.inf

    def near(self, stretch: Stretch, stages: Stages) -> bool:
        """What is computed in a call and touched by some of the steps fits the second cache."""
        touched = {b.name for stage in stages for i in stage for b in stretch.row[i].kernel.params
                   if b.kind not in CONSTANT}
        return sum(map(self.bytes, touched)) <= self.target.l2

    def has_room(self, stretch: Stretch, stages: Stages) -> bool:
        """A thread's scratch for the steps of a stage is hardly more than for one."""
        return all(_scratch(stretch.row[i] for i in stage) <= self.room for stage in stages if len(stage) > 1)


def _stretches(steps: Sequence[Element]) -> Iterator[Stretch]:
    """Of the outermost list alone."""
    first = 0
    for end in range(len(steps) + 1):
        if end == len(steps) or not _sorts(steps[end]):
            row = [s for s in steps[first:end] if isinstance(s, Step)]
            needs = _needs(row)
            for a, b in _parted(needs):
                yield Stretch(first + a, tuple(row[a:b]), [{j - a for j in mine if j >= a} for mine in needs[a:b]])
            first = end + 1


def _sorts(item: Element) -> bool:
    """A check stops the call, a user's function may have its own reasons for an order, and a region has barriers of
    its own: they keep their places."""
    return isinstance(item, Step) and not isinstance(item.kernel, (CheckKernel, ExternKernel))


def _parted(needs: Needs) -> Iterator[tuple[int, int]]:
    """Where stretches begin and end: cut wherever all steps behind need all before."""
    behind: list[int] = []       # by step, a bit for each that it needs, also by way of others
    for mine in needs:
        behind.append(0)
        for i in mine:
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


def _scratch(stage: Iterable[Step]) -> float:
    """Bytes of a thread: of steps between two barriers it lies side by side."""
    sizes = [(b.elements, DTYPES[b.dtype].bytes) for s in stage for b in s.kernel.params if b.kind == "scratch"]
    return sum(count.value * each if count.is_const else math.inf for count, each in sizes)
