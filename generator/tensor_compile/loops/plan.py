# SPDX-License-Identifier: Apache-2.0
"""Plan: where temps lie, which of them share memory, and between which kernels a barrier stands.

A temp lives from the step that first writes it to the last that reads it. It takes over the memory of a temp that dies
in the step which writes it, where every load of the dying one is at the very address that is stored next (in place).
arena.py places these blocks.

A step needs a barrier when it reads what was written, or writes what was read or written, since the last barrier: that
two kernels walk equal rows says nothing, as the part of its points that a thread computes is each kernel's own choice.
Kernels that store provably different elements of one buffer, the parts of a concatenation, need none between them. The
first step behind a check needs one too: no output may be touched before every index has been looked at.
"""
from __future__ import annotations

from typing import Callable, Iterable, Mapping

from ..graph.dtypes import DTYPES
from ..symbolic import Expr, Sym
from ..target import Target
from . import arena
from .accesses import BarrierWalk, Touch, conflicts, read, written
from .arena import Block
from .asides import asides
from .byte_products import ByteProductKernel, overwrites
from .fused import Fused
from .library_products import workspace
from .loop_ir import CheckKernel, ContractionKernel, Kernel, LoopNestKernel, Store
from .program_ir import Arena, Aside, Branch, Element, leaves, Loop, mapped, Program, Region, regions, Step, Tiles
from .scalar_ir import Buffer, Load, Reduction, Scalar
from .scalars import loads, walk
from .stages import Stage, Staged, staged


def plan(scheduled: Fused, target: Target, sorts: bool = False) -> Program:
    """The program of one variant. sorts: its steps may be sorted by stages."""
    found = Staged(mapped(scheduled.kernels, Step))
    if sorts:
        found = staged(found.steps, scheduled.buffers, target, lambda one: _placed(scheduled, one, (), target).size)
    steps = found.steps
    beside = asides(steps, target)
    memory = _placed(scheduled, found, beside, target)
    _barriers(steps, memory, scheduled.buffers)
    used: dict[str, None] = {}
    for step in leaves(steps):
        for b in step.kernel.params:
            used[b.name] = None
    kept = ("input", "output", "state")
    buffers = {name: b for name, b in scheduled.buffers.items() if name in used or b.kind in kept}
    dims: set[Sym] = set()
    for b in buffers.values():
        dims |= _symbols(b)
    for step in leaves(steps):
        dims |= {s for s in step.kernel.dims if not s.is_iteration}
    return Program(buffers, steps, memory, tuple(sorted(dims, key=lambda s: s.key)), scheduled.fusions,
                   scheduled.refusals, beside, scheduled.apart)


def _placed(scheduled: Fused, found: Staged, beside: Iterable[Aside], target: Target) -> Arena:
    memory = Arena()
    arena.place(blocks(scheduled, Lives(found.steps, beside, found.stages), target), memory)
    return memory


def bytes_of(b: Buffer) -> Expr:
    return b.elements * DTYPES[b.dtype].bytes


def _symbols(b: Buffer) -> set[Sym]:
    symbols: set[Sym] = set()
    for d in b.shape:
        symbols |= d.symbols()
    return symbols


class Lives:
    """From where to where each buffer is needed, in positions: every step and every decision has one.

    What an iteration of a loop leaves to the next one, or the loop to what is around it, is needed in all of the loop;
    two buffers that change places are needed as long as either of them is. What steps beside the others touch is needed
    in all of their stretch, and what a stage touches in all of it.
    """

    def __init__(self, steps: list[Element], beside: Iterable[Aside] = (), stages: Iterable[Stage] = ()):
        self.first: dict[str, int] = {}
        self.last: dict[str, int] = {}
        self.steps: list[tuple[int, Step]] = []                  # those outside of tiles
        self.tiles: list[tuple[int, Tiles]] = []
        self.end = 0
        self._loops: list[tuple[Loop, int, int, set[str]]] = []  # loop, its positions, what it touches
        self._names: list[set[str]] = [set()]                    # touched within each of the open loops
        self._walk(steps)
        while self._extend():
            pass
        self._beside = [(aside, {b.name for i in aside.steps for b in steps[i].kernel.params}) for aside in beside]
        for aside, names in self._beside:     # their programs have no region: steps are positions
            for name in names:
                self._cover(name, aside.first, aside.end - 1)
        position = {id(step): i for i, step in self.steps}
        for stage in stages:
            for name in {b.name for step in stage for b in step.kernel.params}:
                self._cover(name, position[id(stage[0])], position[id(stage[-1])])

    def beside(self, name: str, position: int) -> bool:
        """Whether a step beside the one at the position may touch it at that time: then none may overwrite it."""
        return any(aside.first <= position < aside.end and name in names for aside, names in self._beside)

    def _touch(self, names: Iterable[str]) -> None:
        for name in names:
            self.first.setdefault(name, self.end)
            self.last[name] = self.end
            self._names[-1].add(name)
        self.end += 1

    def _walk(self, items: list[Element]) -> None:
        for item in items:
            if isinstance(item, Step):
                self.steps.append((self.end, item))
                self._touch([b.name for b in item.kernel.params])
            elif isinstance(item, Tiles):    # one position: other tiles are at any of its kernels
                self.tiles.append((self.end, item))
                self._touch([b.name for step in leaves([item]) for b in step.kernel.params])
            elif isinstance(item, Branch):
                self._touch([item.condition])
                self._walk(item.then)
                self._walk(item.other)
            else:
                self._loop(item)

    def _loop(self, loop: Loop) -> None:
        start = self.end
        self._names.append(set())
        self._walk(loop.test)
        if loop.condition:
            self._touch([loop.condition])
        self._walk(loop.body)
        names = self._names.pop()
        self._names[-1] |= names
        self._loops.append((loop, start, self.end - 1, names))

    def _cover(self, name: str, first: int, last: int) -> bool:
        grew = first < self.first[name] or last > self.last[name]
        self.first[name], self.last[name] = min(first, self.first[name]), max(last, self.last[name])
        return grew

    def _extend(self) -> bool:
        grew = False
        for loop, start, end, names in self._loops:
            swapped = {name for pair in loop.swaps for name in pair}
            for name in sorted(names):
                if self.first[name] < start or self.last[name] > end or name in loop.carried or name in swapped:
                    grew |= self._cover(name, start, end)
            for a, b in (pair for pair in loop.swaps if all(name in self.first for name in pair)):
                first, last = min(self.first[a], self.first[b]), max(self.last[a], self.last[b])
                grew |= self._cover(a, first, last) | self._cover(b, first, last)
        return grew


def blocks(scheduled: Fused, lives: Lives, target: Target) -> list[Block]:
    """The memory that temps need, in the order of their lives. On a GPU contractions overwrite nothing: one thread may
    load for the epilogue what another one stores."""
    overwriting: tuple[type[Kernel], ...] = (LoopNestKernel,) if target.apart else (LoopNestKernel, ContractionKernel)
    first, last = lives.first, lives.last
    found: list[Block] = []
    block_of: dict[str, Block] = {}
    alone: list[tuple[int, Kernel, Kernel | None]] = [(i, step.kernel, step.kernel) for i, step in lives.steps]
    shared: list[tuple[int, Kernel, Kernel | None]] = [(i, step.kernel, None) for i, tiles in lives.tiles
                                                       for step in leaves([tiles])]
    for i, kernel, whole in sorted(alone + shared, key=lambda x: x[0]):    # whole: its points are all that runs there
        unstored = [name for name in read(kernel) if scheduled.buffers[name].is_empty]
        work = [kernel.work.name] if isinstance(kernel, ByteProductKernel) and kernel.work is not None else []
        room = workspace(kernel)
        work += [room.name] if room is not None else []
        for name in [*written(kernel), *unstored, *work]:
            b = scheduled.buffers[name]
            if b.kind != "temp" or name in block_of:
                continue
            host = None
            for x in whole.params if whole is not None and first[name] == i else ():
                block = block_of.get(x.name)
                if x.kind == "temp" and block is not None and last[x.name] == i and block.last == i \
                        and bytes_of(x) == bytes_of(b) and isinstance(whole, overwriting) and in_place(whole, x, b) \
                        and not lives.beside(x.name, i):
                    host = block
                    break
            if host is None:
                host = Block([name], bytes_of(b), first[name], last[name])
                found.append(host)
            else:
                host.names.append(name)
                host.last = last[name]
            block_of[name] = host
    return sorted(found, key=lambda b: b.first)


def in_place(kernel: Kernel, x: Buffer, out: Buffer) -> bool:
    """`out` may overwrite x point by point: of x each point loads what it stores next, and nothing else. The sums of a
    contraction never wait in `out`; what they are made of is read again for other points."""
    if isinstance(kernel, ByteProductKernel):
        if x is kernel.work:
            return False
        if overwrites(kernel, x, out):
            return True
    if DTYPES[x.dtype].bytes != DTYPES[out.dtype].bytes:   # equal indices are not equal places
        return False
    if type(kernel) is ContractionKernel:
        if any(y.buffer == x.name for y in loads(kernel.a, *kernel.b, *kernel.predicates)):
            return False
        phases: list[tuple[list[Scalar], tuple[Store, ...]]] = [([], kernel.stores)]
    elif isinstance(kernel, LoopNestKernel):
        phases = [([r.value for r in phase.reduces], phase.stores) for phase in kernel.phases]
    else:
        return False
    addresses = {out.address(s.index) for s in kernel.stores if s.buffer == out.name}
    if len(addresses) != 1:
        return False
    (address,) = addresses
    written = False
    for values, stores in phases:
        for s in (None, *stores):
            if s is not None:
                values = [s.value]
            for v in walk(*values):
                if isinstance(v, Load) and v.buffer == x.name and (
                        written or v.dynamic or v.valid or x.address(v.index) != address):
                    return False
                if isinstance(v, Reduction) and any(y.buffer == x.name for y in loads(v)):
                    return False
            written = written or (s is not None and s.buffer == out.name)
    return True


def arena_bytes(program: Program, dims: Mapping[Sym, int]) -> int:
    """Bytes of the temps for given dims."""
    if program.arena.size is not None:
        return program.arena.size
    return arena.total(program.arena.slots, dims)


def live_bytes(program: Program, dims: Mapping[Sym, int]) -> int:
    """The most bytes of temps that are needed at once at the given dims: no assignment of offsets can do with less."""
    lives, where = Lives(program.steps, program.asides), program.arena.offset or program.arena.slot_of
    bytes_at: list[dict[int, int]] = [{} for _ in range(lives.end)]  # by offset
    for name, first in lives.first.items():
        b = program.buffers[name]
        if b.kind == "temp":
            size = arena.rounded(bytes_of(b).evaluate(dict(dims)))
            for position in range(first, lives.last[name] + 1):
                bytes_at[position][where[name]] = max(size, bytes_at[position].get(where[name], 0))
    return max((sum(at.values()) for at in bytes_at), default=0)


def swapped_with(steps: list[Element]) -> dict[str, frozenset[str]]:
    """For each buffer that changes places in some loop: all whose memory it may be found in."""
    out: dict[str, frozenset[str]] = {}
    for region in regions(steps):
        for a, b in region.swaps if isinstance(region, Loop) else ():
            joined = out.get(a, frozenset((a,))) | out.get(b, frozenset((b,)))
            out |= {name: joined for name in joined}
    return out


def in_common(steps: list[Element], memory: Arena, buffers: dict[str, Buffer]) -> Callable[[str, str], bool]:
    """together(a, b): two buffers of different names may be in the same memory at some time."""
    changing = swapped_with(steps)
    apart = arena.apart(memory.slots)

    def overlap(a: str, b: str) -> bool:
        if memory.size is None:
            return not apart(memory.slot_of[a], memory.slot_of[b])
        x, y = memory.offset[a], memory.offset[b]
        return x < y + arena.rounded(bytes_of(buffers[b]).value) and y < x + arena.rounded(bytes_of(buffers[a]).value)

    def together(a: str, b: str) -> bool:
        if buffers[a].kind != "temp" or buffers[b].kind != "temp" or a in changing.get(b, ()):
            return False
        return any(overlap(x, y) for x in changing.get(a, (a,)) for y in changing.get(b, (b,)))
    return together


def _barriers(steps: list[Element], memory: Arena, buffers: dict[str, Buffer]) -> None:
    """A group of checks in a loop is told apart from the same group of the next iteration by a meeting of all
    threads."""
    together = in_common(steps, memory, buffers)
    for step in leaves(steps):
        step.barrier = False
    for region in regions(steps):
        if isinstance(region, Tiles):
            region.barrier = False
        if isinstance(region, Loop):
            region.iteration_barrier = any(isinstance(s.kernel, CheckKernel) for s in leaves([region]))

    def needs_barrier(place: Step | Region, touch: Touch, since: Iterable[Touch]) -> bool:
        place.barrier = place.barrier or any(
            before.is_check and not touch.is_check or any(conflicts(touch, before, together)) for before in since)
        return place.barrier

    BarrierWalk(needs_barrier).run(steps, {})
