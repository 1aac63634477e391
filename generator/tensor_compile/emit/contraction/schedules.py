# SPDX-License-Identifier: Apache-2.0
"""Gives every contraction of a program its schedules, before memory is planned: one for each instruction set, and the
scratch that they need as a buffer of the kernel."""
from __future__ import annotations

from dataclasses import replace
from typing import Callable, Hashable, Sequence

from ...instruction_sets import instruction_set
from ...loops.contraction_schedule import Schedule
from ...loops.fused import Fused
from ...loops.loop_ir import consecutive, ContractionKernel, Kernel, GroupedContractionKernel, LoopNestKernel
from ...loops.program_ir import mapped
from ...loops.scalar_ir import Buffer, unused
from ...symbolic import wrap
from ...target import Target
from . import image_lines
from .access import Access
from ..integers.windows import byte_window, multiplies_words
from ..identity import identity
from .schedule_blocks import blocks, tiled

# (kernel, instruction set, parts of the kernel that it is a part of) -> its schedule
Choose = Callable[[ContractionKernel, str, int], Schedule]


def isas_of(kernel: Kernel, target: Target) -> list[tuple[str, str]]:
    """Each instruction set of the target with the one whose code of the kernel it runs: its own, but for sets that are
    there for products of integers and have nothing for this kernel, or tiles that it does not fill."""
    parts = kernel.contractions if isinstance(kernel, (ContractionKernel, GroupedContractionKernel)) else ()
    if any(part.product.integer for part in parts):
        whole = all(tiled(part) for part in parts)
        return [(isa, isa if whole else _without_tiles(isa)) for isa in target.isas]
    plain = [isa for isa in target.isas if isa not in target.integer_isas]
    window = isinstance(kernel, LoopNestKernel) and byte_window(kernel) is not None
    return [(isa, _without_tiles(isa) if window and multiplies_words(isa) else
             next(base.name for base in instruction_set(isa).bases if base.name in plain)) for isa in target.isas]


def made_for(kernel: Kernel, target: Target) -> tuple[str, ...]:
    """The instruction sets that have code of their own for the kernel."""
    return tuple(dict.fromkeys(made for _, made in isas_of(kernel, target)))


def _without_tiles(isa: str) -> str:
    return next(base.name for base in instruction_set(isa).bases if not base.tiles)


def with_schedules(scheduled: Fused, target: Target, choose: Choose) -> Fused:
    """The same kernels, contractions with `schedules` and scratch. Of equal contractions one is looked at."""
    buffers = dict(scheduled.buffers)
    found: dict[tuple[Hashable, tuple[str, ...], int], tuple[Schedule, ...]] = {}

    def schedules_of(part: ContractionKernel, isas: tuple[str, ...], parts: int) -> tuple[Schedule, ...]:
        key = (identity(part), isas, parts)
        if key not in found:
            found[key] = tuple(choose(part, isa, parts) for isa in isas)
        return found[key]

    def one(kernel: Kernel) -> Kernel:
        if not isinstance(kernel, (ContractionKernel, GroupedContractionKernel)):
            return kernel
        isas = made_for(kernel, target)
        beside = 1 if consecutive(kernel) else len(kernel.contractions)    # parts that a team shares at a time
        parts = tuple(replace(part, schedules=schedules_of(part, isas, beside))
                      for part in kernel.contractions)
        made = replace(kernel, contractions=parts) if isinstance(kernel, GroupedContractionKernel) else parts[0]
        room = max(floats(part, s) for part in parts for s in part.schedules)
        if not room:
            return made
        name = unused(buffers, "%p")
        buffers[name] = scratch(name, room)
        return replace(made, params=(*made.params, buffers[name]))

    kernels = mapped(scheduled.kernels, one)
    return replace(scheduled, kernels=kernels, buffers=buffers)


def floats(part: ContractionKernel, schedule: Schedule) -> int:
    """Of scratch that a thread needs."""
    if schedule.lines:
        return image_lines.room(part)
    if not (schedule.blocked or schedule.packed_b or schedule.in_parts):
        return 0
    return blocks(Access.of(part), schedule).room.all


def scratch(name: str, room: int) -> Buffer:
    return Buffer(name, "f32", (wrap(room),), (0,), "scratch")


def with_scratch(kernel: ContractionKernel, schedules: Sequence[Schedule]) -> ContractionKernel:
    """A kernel that stands alone, with the scratch that any of the schedules needs."""
    room = max((floats(kernel, s) for s in schedules), default=0)
    own = tuple(p for p in kernel.params if p.kind != "scratch")
    return replace(kernel, params=(*own, scratch("%p", room)) if room else own)
