# SPDX-License-Identifier: Apache-2.0
"""Memory and code by layer, for builds that exceed a budget: what of the arena is needed while each kernel of a program
runs, at the dims' upper ends (tensors that live then, and scratch of the largest team), and whose each kernel is."""
from __future__ import annotations

from typing import Mapping, TYPE_CHECKING

from ..emit.cwriter import largest
from ..emit.memory import memory, round64
from ..loops.accesses import written
from ..loops.loop_ir import Kernel
from ..loops.program_ir import leaves, Program
from ..loops.plan import bytes_of, Lives
from ..loops.scalar_ir import Buffer
from ..records import dataclass
from ..target import Target

if TYPE_CHECKING:
    from .assemble import Made, Planned


MOST = 3    # layers of a kernel that are named


@dataclass(frozen=True, slots=True)
class Layer:
    """what: the kernel and where it comes from; parts: (what it is, bytes), which make up `bytes`."""

    what: str
    parts: tuple[tuple[str, int], ...]

    @property
    def bytes(self) -> int:
        return sum(size for _, size in self.parts)


def layer_name(kernel: Kernel) -> str:
    loc = getattr(kernel, "loc", None)
    return f"{kernel.label} ({loc})" if loc else kernel.label


def layers(program: Program, target: Target) -> list[Layer]:
    """In the order of a call; kernels that run tile by tile need what all of them do."""
    lives, where = Lives(program.steps, program.asides), program.arena.offset or program.arena.slot_of
    makers = {name: layer_name(step.kernel) for step in program.kernel_steps for name in written(step.kernel)}
    temps = [b for b in program.buffers.values() if b.kind == "temp" and b.name in lives.first]
    together = sorted([(i, [step]) for i, step in lives.steps]
                      + [(i, list(leaves([tiles]))) for i, tiles in lives.tiles], key=lambda found: found[0])
    found: list[Layer] = []
    for position, steps in together:
        held: dict[int, tuple[str, int]] = {}    # of temps that share memory, the largest
        for b in temps:
            if lives.first[b.name] <= position <= lives.last[b.name]:
                size = _bytes(b)
                if size > held.get(where[b.name], ("", 0))[1]:
                    held[where[b.name]] = _described(b, makers), size
        scratch = {p.name if p.kind == "tile" else (i, p.name): _bytes(p) * target.threads
                   for i, step in enumerate(steps) for p in step.kernel.params if p.kind in ("scratch", "tile")}
        parts = sorted(held.values(), key=lambda part: -part[1])
        if scratch:
            parts.append(("scratch", sum(scratch.values())))
        names = dict.fromkeys(layer_name(step.kernel) for step in steps)
        found.append(Layer(", ".join(names), tuple(parts)))
    return found


def _bytes(b: Buffer) -> int:
    return round64(largest(bytes_of(b), b.name))


def _described(b: Buffer, makers: dict[str, str]) -> str:
    kind = f"{b.dtype}[{','.join(map(str, b.shape))}]"
    return f"{kind} of {makers[b.name]}" if b.name in makers else f"{kind}, scratch"


def largest_arena(made: Made | Planned) -> tuple[str, list[Layer]]:
    """The variant that needs the largest arena, and its layers."""
    target = made.target
    _, name, program = max(((memory(v.program, target.apart).bound(target.threads, "the arena"), f"{f.name} {v.name}",
                             v.program) for f in made.compiled.plan.functions for v in f.variants),
                           key=lambda found: found[0])
    return name, layers(program, target)


def owners(made: Made | Planned) -> Mapping[str, str]:
    """The layers that call a kernel, by its symbol."""
    found: dict[str, dict[str, None]] = {}
    for f in made.compiled.plan.functions:
        for variant in f.built:
            for step in variant.program.kernel_steps:
                place = getattr(step.kernel, "loc", None)
                for isa in made.target.isas if place else ():
                    found.setdefault(made.sources.symbol(step.kernel, isa, f.is_plain(variant)), {})[str(place)] = None
    return {symbol: ", ".join(list(places)[:MOST]) + (f" and {len(places) - MOST} more" if len(places) > MOST else "")
            for symbol, places in found.items()}
