# SPDX-License-Identifier: Apache-2.0
"""The backends `c` and `reference`: kernels for the processor, compiled once for each of the target's instruction
sets."""
from __future__ import annotations

from dataclasses import replace
from typing import Callable, Hashable

from ..emit.identity import identity
from ..emit.kernels import KernelSource, emit_kernel, emit_plain
from ..emit.driver import emit_driver
from ..emit.contraction.schedules import isas_of
from ..emit.shared import Shared, shared
from ..errors import UserError
from ..instruction_sets import instruction_set
from ..loops.loop_ir import Kernel
from ..loops.program_ir import ModelPlan
from ..records import dataclass
from . import compiled_for, objects, toolchain
from .backends import Sources
from .cache import Cache
from .lock import Tuning
from .objects import Object, Unit
from .options import Machine, Options
from ..target import Target
from .toolchain import Compiler

DEFAULT_TARGETS = {"x86_64": "x86_64", "aarch64": "aarch64", "riscv64": "riscv64"}
OPTIMISE = {"size": "-Os", "balanced": "-O2", "speed": "-O3"}   # by --optimize


@dataclass(frozen=True, slots=True)
class Cpu:
    """plain: `reference`."""

    plain: bool

    def default_target(self, machine: Machine, compiler: Compiler) -> str:
        return DEFAULT_TARGETS.get(compiler.arch) or compiled_for.suited(machine, compiler)

    def target(self, machine: Machine, target: Target, compiler: Compiler) -> Target:
        if not compiler.makes(target.arch) and machine.emit == "object":
            raise UserError(f"the target {target.name} is {target.arch}, but {' '.join(machine.cc)} compiles for "
                            f"{compiler.machine}", hint="name the target's compiler with --cc")
        if machine.isas:
            target = replace(target.with_isas(machine.isas), integer_isas=machine.integer_isas)
        target = target.as_reference() if self.plain else target
        if machine.emit == "object":
            compiled_for.require(machine, target, compiler)
        return target

    def tuning(self, options: Options, target: Target) -> Tuning:
        return Tuning.load("off" if self.plain else options.tune, options.lock_path, target, options.optimize == "size",
                           lines=options.tunes_lines)

    def sources(self, machine: Machine, plan: ModelPlan, target: Target) -> Sources:
        return kernel_sources(plan, target, machine.optimize)

    def driver(self, plan: ModelPlan, target: Target, sources: Sources, embed: bool) -> str:
        return emit_driver(plan, target, sources.of_kernel, embed=embed)

    def compile(self, machine: Machine, target: Target, compiler: Compiler, cache: Cache, sources: Sources,
                driver: Unit, progress: Callable[[int], None]) -> list[Object]:
        units = [Unit(s.symbol, s.text, toolchain.kernel_flags(compiler, s.isa, target.flags, machine.cflags,
                                                               target.arch, OPTIMISE[machine.optimize]),
                      kernel=not instruction_set(s.isa).byte_vectors)
                 for s in sources.by_symbol.values()]
        return objects.compile_units([*units, driver], compiler, cache, machine.jobs, progress)


def kernel_sources(plan: ModelPlan, target: Target, optimize: str = "speed") -> Sources:
    """Every kernel for every instruction set. Those of a reference are compiled once, for the plain instruction set.
    optimize: the option; it says which kernels that differ in constants alone are one function."""
    sources = Sources()
    made: dict[Hashable, KernelSource] = {}
    plainest = target.as_reference().isas[0]
    functions = _functions(plan, optimize)
    for function in plan.functions:
        for variant in function.built:
            for step in variant.program.kernel_steps:
                kernel, form = step.kernel, identity(step.kernel)
                if function.is_plain(variant):
                    if (form, "reference") not in made:
                        made[form, "reference"] = emit_plain(kernel, plainest)
                    sources.add(kernel, made[form, "reference"], target.isas, plain=True)
                    continue
                own = functions[form]
                for isa, compiled in isas_of(kernel, target):
                    if (own.kernel, compiled) not in made:
                        made[own.kernel, compiled] = emit_kernel(own.kernel, compiled)
                    sources.add(kernel, replace(made[own.kernel, compiled], arguments=own.arguments), (isa,))
    sources.add_libraries()
    return sources


def _functions(plan: ModelPlan, optimize: str) -> dict[Hashable, Shared]:
    """What computes each kernel that is not a reference's, by its identity."""
    kernels: dict[Hashable, Kernel] = {}
    for function in plan.functions:
        for variant in function.built:
            for step in variant.program.kernel_steps if not function.is_plain(variant) else ():
                kernels.setdefault(identity(step.kernel), step.kernel)
    return dict(zip(kernels, shared(list(kernels.values()), fast=optimize != "size"), strict=True))
