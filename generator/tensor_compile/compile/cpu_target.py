# SPDX-License-Identifier: Apache-2.0
"""The backends `c` and `reference`: kernels for the processor, compiled once for each of the target's instruction
sets."""
from __future__ import annotations

from dataclasses import dataclass
from typing import Callable, Hashable

from ..emit.identity import identity
from ..emit.kernels import KernelSource, emit_kernel, emit_plain
from ..emit.driver import emit_driver
from ..emit.schedules import isas_of
from ..errors import UserError
from ..instruction_sets import instruction_set
from ..loops.loop_ir import ModelPlan
from . import objects, toolchain
from .backends import Sources
from .cache import Cache
from .objects import Object, Unit
from .options import Machine
from ..target import Target
from .toolchain import Compiler

DEFAULT_TARGETS = {"x86_64": "x86_64", "aarch64": "aarch64", "riscv64": "riscv64"}
OPTIMISE = {"size": "-Os", "balanced": "-O2", "speed": "-O3"}   # by --optimize


@dataclass(frozen=True, slots=True)
class Cpu:
    """plain: `reference`."""

    plain: bool

    def default_target(self, compiler: Compiler) -> str:
        return DEFAULT_TARGETS.get(compiler.arch, "")

    def target(self, machine: Machine, target: Target, compiler: Compiler) -> Target:
        if target.arch != compiler.arch and machine.emit == "object":
            raise UserError(f"the target {target.name} is {target.arch}, but {' '.join(machine.cc)} compiles for "
                            f"{compiler.machine}", hint="name the target's compiler with --cc")
        if machine.isas:
            target = target.with_isas(machine.isas)
        return target.as_reference() if self.plain else target

    def sources(self, plan: ModelPlan, target: Target) -> Sources:
        return kernel_sources(plan, target)

    def driver(self, plan: ModelPlan, target: Target, sources: Sources, embed: bool) -> str:
        return emit_driver(plan, target, sources.of_kernel, embed=embed)

    def compile(self, machine: Machine, target: Target, compiler: Compiler, cache: Cache, sources: Sources,
                driver: Unit, progress: Callable[[int], None]) -> list[Object]:
        units = [Unit(s.symbol, s.text, toolchain.kernel_flags(compiler, s.isa, target.flags, machine.cflags,
                                                               target.arch, OPTIMISE[machine.optimize]),
                      kernel=not instruction_set(s.isa).byte_vectors)
                 for s in sources.by_symbol.values()]
        return objects.compile_units([*units, driver], compiler, cache, machine.jobs, progress)


def kernel_sources(plan: ModelPlan, target: Target) -> Sources:
    """Every kernel for every instruction set. Those of a reference are compiled once, for the plain instruction set."""
    sources = Sources()
    made: dict[Hashable, KernelSource] = {}
    plainest = target.as_reference().isas[0]
    for function in plan.functions:
        for variant in function.built:
            for step in variant.program.kernel_steps:
                kernel, form = step.kernel, identity(step.kernel)
                if function.is_plain(variant):
                    if (form, "reference") not in made:
                        made[form, "reference"] = emit_plain(kernel, plainest)
                    sources.add(kernel, made[form, "reference"], target.isas, plain=True)
                    continue
                for isa, own in isas_of(kernel, target):
                    if (form, own) not in made:
                        made[form, own] = emit_kernel(kernel, own)
                    sources.add(kernel, made[form, own], (isa,))
    sources.add_libraries()
    return sources
