# SPDX-License-Identifier: Apache-2.0
"""The backend `cuda`: the kernels become one image with machine code for the target's architectures and portable code
for later ones, which the object embeds; the driver is compiled for the processor that the device belongs to."""
from __future__ import annotations

import functools
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Callable, ClassVar, Hashable

from ..emit.cuda.kernels import emit_kernel, emit_plain
from ..emit.cuda.driver import IMAGE, emit_driver
from ..emit.cuda.products import given_away
from ..emit.identity import identity
from ..emit.kernels import KernelSource
from ..emit.weights import embedding
from ..errors import UserError
from ..loops import schedule_cuda
from ..loops.program_ir import ModelPlan
from ..records import dataclass
from . import cuda_image, files, objects, toolchain
from .backends import Sources
from .cache import Cache
from .cuda_image import detect
from .lock_cuda import ShapeTuning
from .objects import Object, Unit
from .options import Machine, Options
from ..target import Target
from .toolchain import Compiler


@dataclass(frozen=True, slots=True)
class Cuda:
    plain: ClassVar[bool] = False

    def default_target(self, machine: Machine, compiler: Compiler) -> str:
        return "cuda-sm80"

    def target(self, machine: Machine, target: Target, compiler: Compiler) -> Target:
        if target.arch != "cuda":
            raise UserError(f"the target {target.name} is {target.arch}, no GPU",
                            hint="--target cuda takes a target file of arch \"cuda\", such as cuda-sm90")
        if target.flags:
            raise UserError(f"the target {target.name} has flags, which a GPU's does not take")
        target = replace(target, precision=machine.precision)
        return target.with_isas(machine.isas) if machine.isas else target

    def tuning(self, options: Options, target: Target) -> ShapeTuning:
        return ShapeTuning.load(options.tune, options.lock_path, target,
                                functools.cache(lambda: detect(options.nvcc).toolkit),
                                options.cuda_libraries == "auto")

    def sources(self, machine: Machine, plan: ModelPlan, target: Target) -> Sources:
        """One for all architectures: an image holds their code side by side."""
        sources = Sources("cu")
        made: dict[Hashable, KernelSource] = {}
        for function in plan.functions:
            for variant in function.built:
                plain = function.is_plain(variant)
                for step in variant.program.kernel_steps:
                    given = None if plain else given_away(step.kernel, target.precision)
                    if given:
                        sources.give_away(step.kernel, given.source(), target.isas)
                        continue
                    # Addresses of the caller's come another way, and a device describes only what is not the caller's.
                    form = plain, identity(step.kernel), tuple(b.kind for b in step.kernel.params)
                    if form not in made:
                        made[form] = emit_plain(step.kernel) if plain else emit_kernel(step.kernel,
                                                                                       schedule_cuda.units(target))
                    sources.add(step.kernel, made[form], target.isas, plain)
        return sources

    def driver(self, plan: ModelPlan, target: Target, sources: Sources, embed: bool) -> str:
        return emit_driver(plan, target, sources.of_kernel, embed=embed)

    def compile(self, machine: Machine, target: Target, compiler: Compiler, cache: Cache, sources: Sources,
                driver: Unit, progress: Callable[[int], None]) -> list[Object]:
        nvcc = detect(machine.nvcc)
        for isa in target.isas:
            if isa.removesuffix("a") not in nvcc.architectures:
                raise UserError(f"{nvcc.banner} makes no code for {isa}",
                                hint="choose others of the target's with --isa")
        host = toolchain.host_flags(machine.cflags, compiler.arch)
        kernels = list(sources.by_symbol.values())
        made = cuda_image.make(kernels, nvcc, target, cache, machine.jobs, progress) if kernels else None
        parts = [Object(name, None, share, 0) for name, share in made.shares().items()] if made else []
        return [*parts, *([_embed(made, compiler, host, cache)] if made else []),
                *objects.compile_units([driver], compiler, cache, machine.jobs)]


def _embed(made: cuda_image.Image, compiler: Compiler, host: tuple[str, ...], cache: Cache) -> Object:
    """The image as an object, whose bytes are the kernels'."""

    def make(work: Path) -> None:
        shutil.copyfile(made.path, work / made.path.name)
        objects.assemble(embedding(IMAGE, made.path.name), compiler, host, work, IMAGE)
        (work / made.path.name).unlink()

    key = files.digest("embedded image", compiler.identity, *host, files.file_digest(made.path))
    return Object(IMAGE, cache.entry("objects", key, make) / f"{IMAGE}.o", 0, 0)
