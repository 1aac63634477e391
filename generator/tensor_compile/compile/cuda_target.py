# SPDX-License-Identifier: Apache-2.0
"""The backend `cuda`: each kernel becomes an image with machine code for the target's architectures and portable code
for later ones, which the object embeds; the driver is compiled for the processor that the device belongs to."""
from __future__ import annotations

import functools
import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Callable, ClassVar, Hashable

from ..emit.cuda_kernels import emit_kernel, emit_plain
from ..emit.cuda_driver import emit_driver
from ..emit.cuda_products import given_away
from ..emit.identity import identity
from ..emit.kernels import KernelSource
from ..emit.weights import embedding
from ..errors import UserError
from ..loops import schedule_cuda
from ..loops.loop_ir import ModelPlan
from ..records import dataclass
from . import elf, files, objects, toolchain
from .backends import Sources
from .cache import Cache
from .host_programs import TEMPLATES
from .jobs import run_all
from .lock_cuda import ShapeTuning
from .objects import Object, Unit
from .options import Machine, Options
from ..target import Target
from .toolchain import Compiler
from .tools import run_tool

FLOOR = 12   # of the CUDA toolkit
# The arithmetic is docs/numerics.md's; a file's name and place, and the time, are in no image.
FLAGS = ("-std=c++17", "-w", "-fatbin", "-fmad=false", "-ftz=false", "-prec-div=true", "-prec-sqrt=true")


@dataclass(frozen=True, slots=True)
class Nvcc:
    """command: the words that start it; banner: what it says it is; architectures: those it makes code for; toolkit:
    that it is of, as `nvcc 13.0`."""

    command: tuple[str, ...]
    banner: str
    architectures: frozenset[str]
    toolkit: str


def detect(command: tuple[str, ...]) -> Nvcc:
    if not command or shutil.which(command[0]) is None:
        raise UserError(f"nvcc not found: {command[0] if command else '(empty)'}",
                        hint=f"--target cuda needs the CUDA toolkit, {FLOOR} or newer; name its compiler with --nvcc")

    def ask(option: str) -> str:
        try:
            done = subprocess.run([*command, option], capture_output=True, text=True, check=False, timeout=60)
        except (OSError, subprocess.TimeoutExpired) as error:
            raise UserError(f"nvcc does not run: {' '.join(command)}: {error}") from None
        if done.returncode:
            raise UserError(f"nvcc does not answer {option}: {' '.join(command)}\n{done.stderr.strip()}")
        return done.stdout

    found = re.search(r"release ((\d+)\.\d+), (V[\d.]+)", ask("--version"))
    if not found:
        raise UserError(f"no CUDA compiler: {' '.join(command)}", hint="name nvcc with --nvcc")
    if int(found[2]) < FLOOR:
        raise UserError(f"nvcc is too old: {found[3]}", hint=f"the CUDA toolkit {FLOOR} or newer is needed")
    return Nvcc(command, f"nvcc {found[3]}", frozenset(ask("--list-gpu-code").split()), f"nvcc {found[1]}")


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
        flags = (*FLAGS, *architectures(target))
        host = toolchain.host_flags(machine.cflags, compiler.arch)
        headers = headers_digest()

        def one(source: KernelSource) -> Object:
            key = files.digest(nvcc.banner, compiler.identity, headers, *flags, *host, source.symbol, source.text)
            folder = cache.entry("objects", key, lambda work: _embed(
                source, cached_image(source, nvcc, flags, headers, cache), compiler, host, work))
            path = folder / f"{source.symbol}.o"
            return Object(source.symbol, path, elf.read(path).size("rodata"), 0)

        kernels = run_all(one, list(sources.by_symbol.values()), machine.jobs, progress)
        return [*kernels, *objects.compile_units([driver], compiler, cache, machine.jobs)]


def architectures(target: Target) -> tuple[str, ...]:
    """Machine code for each, and portable code of the last for what comes after it."""
    words = [f"-gencode=arch={isa.replace('sm', 'compute')},code={isa}" for isa in target.isas]
    last = target.isas[-1].replace("sm", "compute").removesuffix("a")   # what ends in a runs on one chip alone
    return (*words, f"-gencode=arch={last},code={last}")


def cached_image(source: KernelSource, nvcc: Nvcc, flags: tuple[str, ...], headers: str, cache: Cache) -> Path:
    """The kernel's image; `tune` and builds share it. headers: their digest."""
    key = files.digest("image", nvcc.banner, headers, *flags, source.symbol, source.text)
    folder = cache.entry("objects", key, lambda work: _compile(source, nvcc, flags, work))
    return folder / f"{source.symbol}.bin"


def _compile(source: KernelSource, nvcc: Nvcc, flags: tuple[str, ...], work: Path) -> None:
    name = source.symbol
    (work / f"{name}.cu").write_text(source.text, encoding="utf-8")
    run_tool([*nvcc.command, *flags, f"-I{TEMPLATES / 'cuda'}", f"-I{TEMPLATES / 'include'}", f"{name}.cu", "-o",
              f"{name}.bin"], f"the generated {name}.cu does not compile", work, source.text)


def headers_digest() -> str:
    return files.tree_digest([TEMPLATES / "include", TEMPLATES / "cuda"])


def _embed(source: KernelSource, made: Path, compiler: Compiler, host: tuple[str, ...], work: Path) -> None:
    name = source.symbol
    shutil.copyfile(made, work / made.name)
    objects.assemble(embedding(name, made.name), compiler, host, work, name)
