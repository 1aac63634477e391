# SPDX-License-Identifier: Apache-2.0
"""Plan: where temps lie, which of them share memory, and between which kernels the threads must meet.

A temp lives from the step that first writes it to the last that reads it. It takes over the memory of a temp that dies
in the step which writes it, where every load of the dying one is at the very address that is stored next (in place).
Blocks of constant size get byte offsets, the largest first, at the lowest offset that is free during their life; the
blocks of a generic program share slots, whose sizes are known at entry only.

A step needs a barrier when it reads what was written, or writes what was read or written, since the last barrier: that
two kernels walk equal rows says nothing, as the part of its points that a thread computes is each kernel's own choice.
Kernels that store provably different elements of one buffer, the parts of a concatenation, need none between them. The
first step behind a check needs one too: no output may be touched before every index has been looked at.
"""
from __future__ import annotations

from dataclasses import dataclass

from ..graph.dtypes import DTYPES
from ..symbolic import Expr, Sym, is_nonnegative
from .fuse import Fused
from .ir import Arena, Buffer, CheckKernel, ContractionKernel, Load, NestKernel, Program, Reduction, Step, Store
from .points import apart
from .scalars import loads, walk

ALIGN = 64


def plan(scheduled: Fused, target) -> Program:
    """The program of one variant. `target` is not asked yet: alignment is the same everywhere."""
    steps = [Step(k) for k in scheduled.kernels]
    blocks, block_of = _blocks(scheduled, steps)
    arena = Arena()
    if all(b.size.is_const for b in blocks):
        _place(blocks, arena, len(steps))
    else:
        _share_slots(blocks, arena)
    _barriers(steps, block_of, arena)
    used: dict[str, None] = {}
    for step in steps:
        for b in step.kernel.params:
            used[b.name] = None
    kept = ("input", "output", "state")
    buffers = {name: b for name, b in scheduled.buffers.items() if name in used or b.kind in kept}
    dims: set[Sym] = set()
    for b in buffers.values():
        dims |= _symbols(b)
    for step in steps:
        dims |= set(step.kernel.dims)
    return Program(buffers, steps, arena, tuple(sorted(dims, key=lambda s: s.key)), scheduled.fusions,
                   scheduled.refusals)


@dataclass(slots=True)
class Block:
    """Memory that one temp, or several one after the other, live in: steps first..last."""

    names: list[str]
    size: Expr
    first: int
    last: int
    offset: int = 0


def bytes_of(b: Buffer) -> Expr:
    return b.elements * DTYPES[b.dtype].bytes


def _symbols(b: Buffer) -> set[Sym]:
    found: set[Sym] = set()
    for d in b.shape:
        found |= d.symbols()
    return found


def _stores(kernel) -> list[Store]:
    if isinstance(kernel, CheckKernel):
        return []
    return kernel.stores if isinstance(kernel, ContractionKernel) else \
        [s for stage in kernel.stages for s in stage.stores]


def _written(kernel) -> list[str]:
    return list({s.buffer: None for s in _stores(kernel)})


def _read(kernel) -> list[str]:
    if isinstance(kernel, CheckKernel):
        return [kernel.buffer.name]
    if isinstance(kernel, ContractionKernel):
        values = [kernel.a, kernel.b, *(s.value for s in kernel.stores)]
    else:
        values = [r.value for s in kernel.stages for r in s.reduces] + \
            [x.value for s in kernel.stages for x in s.stores]
    return list({x.buffer: None for x in loads(*values)})


def _blocks(scheduled: Fused, steps: list[Step]) -> tuple[list[Block], dict[str, Block]]:
    last: dict[str, int] = {}
    for i, step in enumerate(steps):
        for b in step.kernel.params:
            last[b.name] = i
    blocks: list[Block] = []
    block_of: dict[str, Block] = {}
    for i, step in enumerate(steps):
        for name in _written(step.kernel):
            b = scheduled.buffers[name]
            if b.kind != "temp" or name in block_of:
                continue
            host = None
            for x in step.kernel.params:
                held = block_of.get(x.name)
                if x.kind == "temp" and held is not None and last[x.name] == i and held.last == i \
                        and bytes_of(x) == bytes_of(b) and _in_place(step.kernel, x, b):
                    host = held
                    break
            if host is None:
                host = Block([name], bytes_of(b), i, last[name])
                blocks.append(host)
            else:
                host.names.append(name)
                host.last = last[name]
            block_of[name] = host
    return blocks, block_of


def _in_place(kernel, x: Buffer, out: Buffer) -> bool:
    """`out` may overwrite x point by point. Never in a contraction, whose template may hold sums in `out`."""
    if not isinstance(kernel, NestKernel):
        return False
    addresses = {out.address(s.index) for stage in kernel.stages for s in stage.stores if s.buffer == out.name}
    if len(addresses) != 1:
        return False
    (address,) = addresses
    written = False
    for stage in kernel.stages:
        values = [r.value for r in stage.reduces]
        for s in (None, *stage.stores):
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


def _round(size: int) -> int:
    return -(-size // ALIGN) * ALIGN


def _place(blocks: list[Block], arena: Arena, steps: int) -> None:
    """Greedy by size: each block at the lowest offset that is free during its whole life."""
    placed: list[Block] = []
    for block in sorted(blocks, key=lambda b: (-b.size.value, b.first, b.names[0])):
        size = _round(block.size.value)
        offset = 0
        for other in sorted((p for p in placed if p.first <= block.last and block.first <= p.last),
                            key=lambda p: p.offset):
            if offset + size <= other.offset:
                break
            offset = max(offset, other.offset + _round(other.size.value))
        block.offset = offset
        placed.append(block)
    for block in blocks:
        for name in block.names:
            arena.offset[name] = block.offset
    arena.size = max((b.offset + _round(b.size.value) for b in blocks), default=0)
    live = [0] * steps
    for block in blocks:
        for i in range(block.first, block.last + 1):
            live[i] += _round(block.size.value)
    arena.lower_bound = max(live, default=0)


def _share_slots(blocks: list[Block], arena: Arena) -> None:
    """In order of their lives: a free slot of the same size, else one that is provably comparable, else a new one."""
    free_from: list[int] = []
    for block in blocks:
        free = [i for i, step in enumerate(free_from) if step < block.first]
        slot = next((i for i in free if block.size in arena.slots[i]), None)
        if slot is None:
            slot = next((i for i in free if any(is_nonnegative(s - block.size) for s in arena.slots[i])), None)
        if slot is None:
            slot = next((i for i in free if any(is_nonnegative(block.size - s) for s in arena.slots[i])), None)
        if slot is None:
            slot = len(arena.slots)
            arena.slots.append([])
            free_from.append(0)
        if not any(is_nonnegative(s - block.size) for s in arena.slots[slot]):
            arena.slots[slot] = [s for s in arena.slots[slot] if not is_nonnegative(block.size - s)] + [block.size]
        free_from[slot] = block.last
        for name in block.names:
            arena.slot_of[name] = slot


def arena_bytes(program: Program, dims: dict[Sym, int]) -> int:
    """Bytes of the temps for given dims."""
    if program.arena.size is not None:
        return program.arena.size
    return sum(max(_round(s.evaluate(dims)) for s in slot) for slot in program.arena.slots)


def _barriers(steps: list[Step], block_of: dict[str, Block], arena: Arena) -> None:
    def overlap(a: str, b: str) -> bool:
        if a == b:
            return True
        x, y = block_of.get(a), block_of.get(b)
        if x is None or y is None:
            return False
        if arena.size is None:
            return arena.slot_of[a] == arena.slot_of[b]
        return x.offset < y.offset + _round(y.size.value) and y.offset < x.offset + _round(x.size.value)

    before: list[tuple] = []       # since the last barrier: kernels, what they read, what they write
    for step in steps:
        kernel = step.kernel
        reads, writes = _read(kernel), _written(kernel)
        step.barrier = any(
            isinstance(k, CheckKernel) and not isinstance(kernel, CheckKernel) or
            any(overlap(r, w) for r in reads for w in written) or
            any(overlap(w, r) for w in writes for r in read) or
            any(overlap(w, v) and not (w == v and stored_apart(k, kernel, w)) for w in writes for v in written)
            for k, read, written in before)
        before = ([] if step.barrier else before) + [(kernel, reads, writes)]


def stored_apart(one, two, name: str) -> bool:
    """Two kernels store different elements of one buffer: parts of a concatenation."""
    first, second = ([s.index for s in _stores(k) if s.buffer == name] for k in (one, two))
    return all(apart(a, b) for a in first for b in second)
