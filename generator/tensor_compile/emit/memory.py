# SPDX-License-Identifier: Apache-2.0
"""The arena of a variant as the driver lays it out: temps as planned, then scratch for the team of the call.

A step of one thread may run beside another step of another thread, up to the next barrier, and a thread's steps between
two barriers have their scratch side by side; after a barrier the same bytes serve again. In a program with loops or
branches every step's scratch lies apart.
"""
from __future__ import annotations

from dataclasses import field

from ..loops.loop_ir import CheckKernel
from ..loops.plan import bytes_of
from ..loops.program_ir import Element, leaves, Program, Slot, Step, Tiles
from ..records import dataclass
from ..symbolic import Expr
from .cwriter import largest


@dataclass(frozen=True, slots=True)
class Memory:
    """temps: bytes (int where constant), or None where the slots say.
    temp: position of each temp: ("offset", bytes) or ("slot", number). scratch: the groups of steps between barriers,
    each the scratch buffers of its steps as (step, parameter, bytes); their numbers count through all groups. copies:
    where the arena is a memory of its own, bytes of what a call brings into it; they lie behind the scratch. shared:
    for each (step, parameter) that is a buffer of tiles, the one that stands for it in `scratch`."""

    temps: int | None
    slots: tuple[Slot, ...]
    temp: dict[str, tuple[str, int]]
    scratch: tuple[tuple[tuple[int, int, Expr], ...], ...]
    copies: tuple[tuple[str, Expr], ...] = ()
    shared: dict[tuple[int, int], tuple[int, int]] = field(default_factory=dict)

    def bound(self, threads: int, what: str) -> int:
        """Bytes at the upper ends of the dims."""
        temps = self.temps
        if temps is None:
            ends: list[int] = []
            for slot in self.slots:
                ends.append(max((ends[i] for i in slot.above), default=0) + round64(largest(slot.size, what)))
            temps = max(ends, default=0)
        copies = sum(round64(largest(e, what)) for _, e in self.copies)
        return temps + copies + threads * max((sum(round64(largest(e, what)) for _, _, e in group)
                                               for group in self.scratch), default=0)

    @property
    def scratch_count(self) -> int:
        return sum(map(len, self.scratch))

    @property
    def scratch_numbers(self) -> dict[tuple[int, int], int]:
        numbers = {(step, parameter): i
                   for i, (step, parameter, _) in enumerate(s for group in self.scratch for s in group)}
        return numbers | {at: numbers[first] for at, first in self.shared.items()}

    @property
    def room_number(self) -> int:
        """The number of the offset that is none: the bytes of scratch of a thread, or of all blocks of a device."""
        return len(self.slots) + self.scratch_count + len(self.copies)

    @property
    def copy_numbers(self) -> dict[str, int]:
        """Each copy's number, counted on behind slots and scratch."""
        first = len(self.slots) + self.scratch_count
        return {name: first + i for i, (name, _) in enumerate(self.copies)}

    @property
    def count(self) -> int:
        """Of offsets that are known at entry only, and the room of scratch."""
        return self.room_number + (1 if self.scratch else 0)


def round64(size: int) -> int:
    return (size + 63) // 64 * 64


def memory(program: Program, apart: bool = False) -> Memory:
    """apart: the program runs in a memory that inputs, outputs and state are copied to (target.apart)."""
    arena = program.arena
    steps = program.kernel_steps
    temps = {p.name: p for step in steps for p in step.kernel.params if p.kind == "temp"}
    constant = arena.size is not None and all(name in arena.offset for name in temps)
    where = {name: ("offset", arena.offset[name]) if constant else ("slot", arena.slot_of[name]) for name in temps}
    groups: list[list[tuple[int, int, Expr]]] = [[]]
    shared: dict[tuple[int, int], tuple[int, int]] = {}
    straight = all(isinstance(item, (Step, Tiles)) for item in program.steps)
    number = 0
    for i, item in enumerate(program.steps):
        if straight and barrier_before(program.steps, i):
            groups.append([])
        handed: dict[str, tuple[int, int]] = {}    # a buffer of tiles is one for all kernels of its region
        for step in leaves([item]):
            for j, p in enumerate(step.kernel.params if not isinstance(step.kernel, CheckKernel) else ()):
                if p.kind == "scratch" or p.kind == "tile" and p.name not in handed:
                    groups[-1].append((number, j, bytes_of(p)))
                if p.kind == "tile":
                    shared[number, j] = handed.setdefault(p.name, (number, j))
            number += 1
    slots = () if constant else tuple(arena.slots)
    copies: list[tuple[str, Expr]] = [(b.name, bytes_of(b)) for b in program.buffers.values()
                                      if b.kind in ("input", "output", "state")]
    return Memory(arena.size if constant else None, slots, where, tuple(tuple(g) for g in groups if g),
                  tuple(copies) if apart else (), shared)


def is_check(item: object) -> bool:
    return isinstance(item, Step) and isinstance(item.kernel, CheckKernel)


def closes_checks(items: list[Element], i: int) -> bool:
    """Whether a group of checks ends right before position i of a list."""
    return i > 0 and is_check(items[i - 1]) and not (i < len(items) and is_check(items[i]))


def barrier_before(items: list[Element], i: int) -> bool:
    """Whether a barrier stands before the step at position i: at a barrier or behind a group of checks."""
    return i > 0 and (closes_checks(items, i) or items[i].barrier)
