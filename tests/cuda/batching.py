# SPDX-License-Identifier: Apache-2.0
"""Kernels compiled several a translation unit, for the families of tests/ops on a GPU: they have thousands of small
ones, and nvcc takes four times as long to start and to read CUDA's headers as for one of these. Images then have
machine code alone.

  batching.py WORD…    the tool itself, which compiles so
"""
from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import Callable, Sequence

import emulation
from tensor_compile import cli
from tensor_compile.compile import cuda_image, files
from tensor_compile.compile.cache import Cache
from tensor_compile.compile.cuda_image import Image, Maker, Nvcc
from tensor_compile.compile.host_programs import TEMPLATES
from tensor_compile.compile.jobs import run_all
from tensor_compile.compile.tools import run_tool
from tensor_compile.emit.kernels import KernelSource
from tensor_compile.target import Target

UNIT = 60_000   # characters of the kernels of a unit


def units(sources: Sequence[KernelSource]) -> list[list[KernelSource]]:
    """Neighbours by name, of about UNIT characters together."""
    found: list[list[KernelSource]] = [[]]
    size = 0
    for source in sorted(sources, key=lambda s: s.symbol):
        if found[-1] and size + len(source.text) > UNIT:
            found.append([])
            size = 0
        found[-1].append(source)
        size += len(source.text)
    return found


def make_batched(sources: Sequence[KernelSource], nvcc: Nvcc, target: Target, cache: Cache, jobs: int | None,
                 progress: Callable[[int], None] = lambda n: None) -> Image:
    """In cuda_image.make's place, for the last of the target's architectures."""
    maker, isa = Maker.of(nvcc, target, cache), target.isas[-1]
    words = [*nvcc.command, *cuda_image.FLAGS, "-cubin", cuda_image.WHOLE,
             f"-gencode=arch={isa.replace('sm', 'compute')},code={isa}", f"-I{TEMPLATES / 'cuda'}",
             f"-I{TEMPLATES / 'include'}"]

    def one(unit: list[KernelSource]) -> tuple[str, Path]:
        name = f"{unit[0].symbol}-unit"

        def compile_unit(work: Path) -> None:
            for source in unit:
                (work / f"{source.symbol}.cu").write_text(source.text, encoding="utf-8")
            (work / f"{name}.cu").write_text(emulation.together(f"{s.symbol}.cu" for s in unit), encoding="utf-8")
            run_tool([*words, f"{name}.cu", "-o", f"{name}.{isa}.cubin"], f"{name}.cu does not compile", work, name)

        key = files.digest("unit", nvcc.banner, maker.headers, isa, *cuda_image.FLAGS,
                           *(text for source in unit for text in (source.symbol, source.text)))
        return name, cache.entry("objects", key, compile_unit)

    made = run_all(one, units(sources), jobs, progress)

    def link(work: Path) -> None:
        with cache.scratch() as scratch:
            folder = Path(scratch)
            maker.link(made, isa, folder, "the units cannot be joined")
            shutil.move(folder / f"{isa}.cubin", work / "image.bin")

    key = files.digest("units", nvcc.banner, *(str(at) for _, at in made))
    path = cache.entry("objects", key, link) / "image.bin"
    return Image(path, {source.symbol: 1 for source in sources})


if __name__ == "__main__":
    cuda_image.make = make_batched
    sys.exit(cli.main(sys.argv[1:]))
