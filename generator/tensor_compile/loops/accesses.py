# SPDX-License-Identifier: Apache-2.0
"""Which buffers the elements of a program touch, and between what there are barriers: walks that planner and verifier
share."""
from __future__ import annotations

from dataclasses import replace
from typing import Any, Callable, Iterable, Iterator

from ..records import dataclass
from .loop_ir import CheckKernel, Computation, Contraction, ExternKernel, Kernel, LoopNestKernel, RowSort, Store
from .program_ir import Branch, Element, leaves, Loop, regions, Step, Tiles
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
    else:
        values = item.values
    return list({x.buffer: None for x in loads(*values)})


def touched(items: Iterable[Element]) -> tuple[dict[str, None], dict[str, None]]:
    """(read, written) by a list and its regions; a condition is read."""
    items = list(items)
    conditions = {r.condition: None for r in regions(items) if not isinstance(r, Tiles) and r.condition}
    reads = conditions | {name: None for item in leaves(items) for name in read(item)}
    return reads, {name: None for item in leaves(items) for name in written(item)}


# -- what ran since the last barrier ---------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class Touch:
    """A kernel, or the decision of a region, and what it touches, under the names of the moment. stores: the elements
    that it writes; none where it writes whole buffers."""

    label: str
    reads: tuple[str, ...]
    writes: tuple[str, ...] = ()
    stores: tuple[Store, ...] = ()
    is_check: bool = False

    def stored_apart(self, other: Touch, name: str) -> bool:
        """The two store different elements of one buffer: parts of a concatenation."""
        first, second = ([s.index for s in t.stores if s.buffer == name] for t in (self, other))
        return bool(self.stores and other.stores) and all(apart(a, b) for a in first for b in second)


def touch_of(kernel: Kernel) -> Touch:
    return Touch(kernel.label, tuple(read(kernel)), tuple(written(kernel)), kernel.stores,
                 isinstance(kernel, CheckKernel))


Since = dict[Touch, None]   # in the order in which they ran


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
                touch = touch_of(item.kernel)
                since = self.touch(item, touch, since)
                checked = touch.is_check
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
        return Touch(tiles.label, tuple(r for r in reads if r not in own), tuple(w for w in writes if w not in own),
                     tiles.stores)

    def touch(self, place: object, touch: Touch, since: Since) -> Since:
        if self.needs_barrier(place, touch, since):
            since = {}
        return {**since, touch: None}

    def decide(self, region: Loop | Branch, since: Since) -> Since:
        return self.touch(region, Touch(region.label, (region.condition,)), since)

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
    return {replace(t, reads=tuple(other.get(n, n) for n in t.reads), writes=tuple(other.get(n, n) for n in t.writes),
                    stores=tuple(replace(s, buffer=other.get(s.buffer, s.buffer)) for s in t.stores)): None
            for t in since}


def conflicts(touch: Touch, before: Touch, overlap: Callable[[str, str], bool]) -> Iterator[tuple[str, str, str, str]]:
    """(does, mine, did, other) for all that one touches and the other one stores."""
    pairs = [("reads", r, "stores", w) for r in touch.reads for w in before.writes]
    pairs += [("stores", w, "reads", r) for w in touch.writes for r in before.reads]
    pairs += [("stores", w, "stores", v) for w in touch.writes for v in before.writes]
    for does, mine, did, other in pairs:
        if (mine == other or overlap(mine, other)) and not (
                does == did and mine == other and before.stored_apart(touch, mine)):
            yield does, mine, did, other
