# SPDX-License-Identifier: Apache-2.0
"""Which buffers the elements of a program touch, and between what there are barriers: walks that planner and verifier
share."""
from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Callable, Iterable, Iterator

from .loop_ir import Branch, CheckKernel, Computation, Contraction, Element, ExternKernel, \
    Kernel, leaves, Loop, LoopNestKernel, regions, RowSort, Step, Tiles
from .disjoint import apart
from .scalars import loads


def written(item: Element) -> list[str]:
    """Buffers that a kernel or item stores into, each once."""
    if isinstance(item, (Computation, Contraction)):
        return [item.out]
    if isinstance(item, ExternKernel):
        return [b.name for b in item.writes]
    sorted_rows = [r.buffer for phase in item.phases for r in phase.reduces if isinstance(r, RowSort)] \
        if isinstance(item, LoopNestKernel) else []
    return list(dict.fromkeys([*(s.buffer for s in item.stores), *sorted_rows]))


def read(item: Element) -> list[str]:
    """Buffers that a kernel or item loads from, each once."""
    if isinstance(item, CheckKernel):
        return [item.buffer.name]
    if isinstance(item, ExternKernel):
        return list({b.name: None for b in item.reads})
    if isinstance(item, Computation):
        values = [item.value, *(v for _, v in item.dynamic)]
    elif isinstance(item, Contraction):
        values = [item.a, item.b]
    else:
        values = item.values
    return list({x.buffer: None for x in loads(*values)})


def touched(items: Iterable[Element]) -> tuple[dict[str, None], dict[str, None]]:
    """(read, written) by a list and its regions; a condition is read."""
    items = list(items)
    conditions = {r.condition: None for r in regions(items) if not isinstance(r, Tiles) and r.condition}
    reads = conditions | {name: None for item in leaves(items) for name in read(item)}
    return reads, {name: None for item in leaves(items) for name in written(item)}


def stored_apart(one: Kernel | Tiles, two: Kernel | Tiles, name: str) -> bool:
    """Two kernels store different elements of one buffer: parts of a concatenation."""
    if isinstance(one, ExternKernel) or isinstance(two, ExternKernel):
        return False
    first, second = ([s.index for s in k.stores if s.buffer == name] for k in (one, two))
    return all(apart(a, b) for a in first for b in second)


# -- what ran since the last barrier ---------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class Touch:
    """A kernel, or the decision of a region (kernel None), and what it touches, under the names of the moment."""

    label: str
    kernel: Kernel | Tiles | None
    reads: tuple[str, ...]
    writes: tuple[str, ...]

    @property
    def key(self) -> tuple[Any, ...]:
        return self.label, id(self.kernel), self.reads, self.writes

    @property
    def is_check(self) -> bool:
        return isinstance(self.kernel, CheckKernel)


Since = dict[tuple[Any, ...], Touch]


class BarrierWalk:
    """Walks a program in every order in which it may run. `needs_barrier(place, touch, since)` is asked before each
    kernel and each decision, whose place is the Step or region, whether a barrier stands there; `since` is what may
    have run since the last one. It may be asked several times of one place, with more in `since` each time."""

    def __init__(self, needs_barrier: Callable[[Any, Touch, Iterable[Touch]], bool]):
        self.needs_barrier = needs_barrier

    def run(self, items: list[Element], since: Since) -> Since:
        checked = False
        for item in items:
            if isinstance(item, Step):
                kernel = item.kernel
                touch = Touch(kernel.label, kernel, tuple(read(kernel)), tuple(written(kernel)))
                since = self.touch(item, touch, since)
                checked = isinstance(kernel, CheckKernel)
                continue
            since = {} if checked else since   # a barrier, as all threads must know what the checks found
            checked = False
            if isinstance(item, Tiles):
                since = self.touch(item, self.tiles(item), since)
                continue
            since = self.loop(item, since) if isinstance(item, Loop) else self.branch(item, since)
        return {} if checked else since

    def tiles(self, tiles: Tiles) -> Touch:
        """All kernels of a region as one; what they hand on is each thread's own."""
        reads, writes = touched([step.kernel for step in leaves([tiles])])
        own = {b.name for step in leaves([tiles]) for b in step.kernel.params if b.kind == "tile"}
        return Touch(tiles.label, tiles, tuple(r for r in reads if r not in own),
                     tuple(w for w in writes if w not in own))

    def touch(self, place: object, touch: Touch, since: Since) -> Since:
        if self.needs_barrier(place, touch, since.values()):
            since = {}
        return {**since, touch.key: touch}

    def decide(self, region: Loop | Branch, since: Since) -> Since:
        return self.touch(region, Touch(region.label, None, (region.condition,), ()), since)

    def branch(self, branch: Branch, since: Since) -> Since:
        since = self.decide(branch, since)
        return {**self.run(branch.then, since), **self.run(branch.other, since)}

    def loop(self, loop: Loop, since: Since) -> Since:
        """A while is left behind its test, a scan behind any iteration, or before the first."""
        while True:
            begin = {} if loop.iteration_barrier else since
            decided = self.decide(loop, self.run(loop.test, begin)) if loop.condition else begin
            end = self.run(loop.body, decided)
            more = {**since, **_renamed(end, loop.swaps)}
            if len(more) == len(since):
                return decided if loop.condition else since
            since = more


def _renamed(since: Since, swaps: tuple[tuple[str, str], ...]) -> Since:
    """What was touched under one name of a pair is known by the other one after the swap."""
    other = {name: pair[1 - i] for pair in swaps for i, name in enumerate(pair)}
    moved = [Touch(t.label, t.kernel, tuple(other.get(n, n) for n in t.reads), tuple(other.get(n, n) for n in t.writes))
             for t in since.values()]
    return {t.key: t for t in moved}


def conflicts(touch: Touch, before: Touch, overlap: Callable[[str, str], bool]) -> Iterator[tuple[str, str, str, str]]:
    """(does, mine, did, other) for all that one touches and the other one stores."""
    pairs = [("reads", r, "stores", w) for r in touch.reads for w in before.writes]
    pairs += [("stores", w, "reads", r) for w in touch.writes for r in before.reads]
    pairs += [("stores", w, "stores", v) for w in touch.writes for v in before.writes]
    for does, mine, did, other in pairs:
        if (mine == other or overlap(mine, other)) and not (
                does == did and mine == other and touch.kernel is not before.kernel
                and touch.kernel is not None and before.kernel is not None
                and stored_apart(before.kernel, touch.kernel, mine)):
            yield does, mine, did, other
