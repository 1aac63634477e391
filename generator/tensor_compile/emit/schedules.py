# SPDX-License-Identifier: Apache-2.0
"""Gives every contraction of a program its schedules, before memory is planned: one for each instruction set, and the
scratch that they need as a buffer of the kernel."""
from __future__ import annotations

from dataclasses import replace
from typing import Callable, Iterable

from ..loops.contraction_schedule import Schedule
from ..loops.fuse import Fused
from ..loops.loop_ir import ContractionKernel, Kernel, GroupedContractionKernel, mapped
from ..loops.scalar_ir import Buffer
from ..symbolic import wrap
from . import in_memory
from .access import Access

# (kernel, instruction set, parts of the kernel that it is a part of) -> its schedule
Choose = Callable[[ContractionKernel, str, int], Schedule]


def with_schedules(scheduled: Fused, isas: Iterable[str], choose: Choose) -> Fused:
    """The same kernels, contractions with `schedules` and scratch."""
    buffers = dict(scheduled.buffers)

    def one(kernel: Kernel) -> Kernel:
        if not isinstance(kernel, (ContractionKernel, GroupedContractionKernel)):
            return kernel
        found = [[choose(part, isa, len(kernel.contractions)) for isa in isas] for part in kernel.contractions]
        parts = [replace(part, schedules=tuple(s)) for part, s in zip(kernel.contractions, found, strict=True)]
        made = replace(kernel, contractions=parts) if isinstance(kernel, GroupedContractionKernel) else parts[0]
        room = max(floats(part, s) for part in parts for s in part.schedules)
        if not room:
            return made
        name = next(n for i in range(len(buffers) + 1) if (n := f"%p{i}") not in buffers)
        buffers[name] = scratch(name, room)
        return replace(made, params=(*made.params, buffers[name]))

    kernels = mapped(scheduled.kernels, one)
    return replace(scheduled, kernels=kernels, buffers=buffers)


def floats(part: ContractionKernel, schedule: Schedule) -> int:
    """Of scratch that a thread needs."""
    if schedule.epilogue == "registers" or not (schedule.blocked or schedule.packed_b):
        return 0
    return in_memory.blocks(Access.of(part), schedule).room.all


def scratch(name: str, room: int) -> Buffer:
    return Buffer(name, "f32", (wrap(room),), (0,), "scratch")


def with_scratch(kernel: ContractionKernel, schedules: Iterable[Schedule]) -> ContractionKernel:
    """A kernel that stands alone, with the scratch that any of the schedules needs."""
    room = max((floats(kernel, s) for s in schedules), default=0)
    own = tuple(p for p in kernel.params if p.kind != "scratch")
    return replace(kernel, params=(*own, scratch("%p", room)) if room else own)
