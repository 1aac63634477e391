# SPDX-License-Identifier: Apache-2.0
"""Kernels compiled several a translation unit, for the families of tests/ops on a GPU: they have thousands of small
ones, and nvcc takes four times as long to start and to read CUDA's headers as for one of these. An image then holds all
kernels of its unit, for the target's own architectures alone, and each is found by its name as in a build.

  batching.py WORD…    the tool itself, which compiles so
"""
from __future__ import annotations

import sys
from pathlib import Path
from typing import Callable

import emulation
from tensor_compile import cli
from tensor_compile.compile import cuda_target, files, objects, toolchain
from tensor_compile.compile.cache import Cache
from tensor_compile.compile.objects import Object, Unit
from tensor_compile.compile.jobs import run_all
from tensor_compile.compile.options import Machine
from tensor_compile.emit.kernels import KernelSource
from tensor_compile.emit.weights import embedding
from tensor_compile.target import Target
from tensor_compile.compile.backends import Sources
from tensor_compile.compile.toolchain import Compiler

UNIT = 60_000   # characters of the kernels of a unit


def units(sources: list[KernelSource]) -> list[list[KernelSource]]:
    """Neighbours by name, of about UNIT characters together."""
    found: list[list[KernelSource]] = [[]]
    size = 0
    for source in sorted(sources, key=lambda s: s.symbol):
        if found[-1] and size + len(source.text) > UNIT:
            found.append([])
            size = 0
        found[-1].append(source)
        size += len(source.text)
    return found if found[0] else []


def compile_batched(self: cuda_target.Cuda, machine: Machine, target: Target, compiler: Compiler, cache: Cache,
                    sources: Sources, driver: Unit, progress: Callable[[int], None]) -> list[Object]:
    """In Cuda.compile's place."""
    nvcc = cuda_target.detect(machine.nvcc)
    flags = (*cuda_target.FLAGS, *cuda_target.architectures(target)[:-1])
    host = toolchain.host_flags(machine.cflags, compiler.arch)
    headers = cuda_target.headers_digest()

    def one(unit: list[KernelSource]) -> Object:
        key = files.digest("unit", nvcc.banner, compiler.identity, headers, *flags, *host,
                           *(text for source in unit for text in (source.symbol, source.text)))
        name = unit[0].symbol

        def make(work: Path) -> None:
            for source in unit:
                (work / f"{source.symbol}.cu").write_text(source.text, encoding="utf-8")
            whole = KernelSource(f"{name}-unit", unit[0].isa,
                                 emulation.together(f"{source.symbol}.cu" for source in unit))
            cuda_target._compile(whole, nvcc, flags, work)
            image = embedding(name, f"{whole.symbol}.bin")
            for source in unit[1:]:
                image += f"    .globl {source.symbol}\n    .hidden {source.symbol}\n    .set {source.symbol}, {name}\n"
            objects.assemble(image, compiler, host, work, name)

        return Object(name, cache.entry("objects", key, make) / f"{name}.o", 0, 0)

    kernels = run_all(one, units(list(sources.by_symbol.values())), machine.jobs, progress)
    return [*kernels, *objects.compile_units([driver], compiler, cache, machine.jobs)]


if __name__ == "__main__":
    cuda_target.Cuda.compile = compile_batched
    sys.exit(cli.main(sys.argv[1:]))
