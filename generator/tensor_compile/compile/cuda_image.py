# SPDX-License-Identifier: Apache-2.0
"""The image of kernels for GPUs, which the driver loads as one module: machine code for each of the target's
architectures and portable code of the last for what comes after it.

Each kernel is compiled by itself, beside others, and kept in the cache: to machine code that is whole but can be linked
(nvcc's -ewp; with -rdc it would ignore setmaxnreg), and to portable code. nvlink links the first, whose instructions
stay as they are; the second is text (ptx.py).
"""
from __future__ import annotations

import os
import re
import shutil
import subprocess
from functools import cache as once, partial
from pathlib import Path
from typing import Callable, Mapping, Sequence

from ..emit.kernels import KernelSource
from ..errors import UserError
from ..records import dataclass
from ..target import Target
from . import files, ptx
from .cache import Cache
from .host_programs import TEMPLATES
from .jobs import run_all
from .toolchain import answer
from .tools import run_tool

FLOOR = 12   # of the CUDA toolkit
# The arithmetic is docs/numerics.md's; a file's name and place, and the time, are in no image.
FLAGS = ("-std=c++17", "-w", "-fmad=false", "-ftz=false", "-prec-div=true", "-prec-sqrt=true")
WHOLE = "-ewp"
JOINED = ("-64", "--cmdline=--fmad false")   # for drivers that translate the portable code


@dataclass(frozen=True, slots=True)
class Nvcc:
    """command: the words that start it; banner: what it says it is; architectures: those it makes code for; toolkit:
    that it is of, as `nvcc 13.0`."""

    command: tuple[str, ...]
    banner: str
    architectures: frozenset[str]
    toolkit: str

    def beside(self, name: str) -> str:
        """A program of its toolkit, where it would find that itself."""
        found = shutil.which(name, path=_path(self.command))
        if found is None:
            raise UserError(f"{name} not found: it comes with {self.banner}",
                            hint="--target cuda needs a whole CUDA toolkit")
        return found


@once
def _path(command: tuple[str, ...]) -> str | None:
    """Where nvcc looks for the programs of its toolkit; None: it does not say."""
    done = subprocess.run([*command, "--dryrun", "-E", "-x", "cu", os.devnull], capture_output=True, text=True,
                          check=False)
    told = re.search(r"^#\$ PATH=(.*)$", done.stdout + done.stderr, re.MULTILINE)
    return told[1] if told else None


def detect(command: tuple[str, ...]) -> Nvcc:
    if not command or shutil.which(command[0]) is None:
        raise UserError(f"nvcc not found: {command[0] if command else '(empty)'}",
                        hint=f"--target cuda needs the CUDA toolkit, {FLOOR} or newer; name its compiler with --nvcc")

    found = re.search(r"release ((\d+)\.\d+), (V[\d.]+)", answer(command, "--version", "nvcc"))
    if not found:
        raise UserError(f"no CUDA compiler: {' '.join(command)}", hint="name nvcc with --nvcc")
    if int(found[2]) < FLOOR:
        raise UserError(f"nvcc is too old: {found[3]}", hint=f"the CUDA toolkit {FLOOR} or newer is needed")
    architectures = frozenset(answer(command, "--list-gpu-code", "nvcc").split())
    return Nvcc(command, f"nvcc {found[3]}", architectures, f"nvcc {found[1]}")


@dataclass(frozen=True, slots=True)
class Image:
    """path: of the file; kernels: bytes of machine code by their symbols."""

    path: Path
    kernels: dict[str, int]

    def shares(self) -> dict[str, int]:
        """Bytes of the image by kernels, in the order in which they were given, as their machine code has it."""
        whole, machine, made, before = self.path.stat().st_size, sum(self.kernels.values()), {}, 0
        done = 0
        for symbol, size in self.kernels.items():
            done += size
            made[symbol] = whole * done // machine - before
            before += made[symbol]
        return made


@dataclass(frozen=True, slots=True)
class Maker:
    """What makes images for a target. portable: the architecture of the portable code."""

    nvcc: Nvcc
    isas: tuple[str, ...]
    cache: Cache
    headers: str

    @staticmethod
    def of(nvcc: Nvcc, target: Target, cache: Cache) -> Maker:
        return Maker(nvcc, target.isas, cache, headers_digest())

    @property
    def portable(self) -> str:
        return _virtual(self.isas[-1]).removesuffix("a")   # what ends in a runs on one chip alone

    def kernel(self, source: KernelSource) -> Path:
        """The folder of a kernel's codes, named by the digest of what makes them; `tune` and builds share it."""
        key = files.digest("kernel", self.nvcc.banner, self.headers, *FLAGS, WHOLE, *self.isas, source.symbol,
                           source.text)
        return self.cache.entry("objects", key, partial(self._compile, source))

    def _compile(self, source: KernelSource, work: Path) -> None:
        name = source.symbol
        (work / f"{name}.cu").write_text(source.text, encoding="utf-8")
        for virtual in dict.fromkeys([*map(_virtual, self.isas), self.portable]):
            text = f"{name}.{virtual}.ptx"
            self._nvcc(source, work, "-ptx", virtual, virtual, f"-I{TEMPLATES / 'cuda'}", f"-I{TEMPLATES / 'include'}",
                       f"{name}.cu", "-o", text)
            for isa in self.isas:
                if _virtual(isa) == virtual:
                    self._nvcc(source, work, "-cubin", virtual, isa, WHOLE, text, "-o", f"{name}.{isa}.cubin")
            if virtual != self.portable:
                (work / text).unlink()

    def _nvcc(self, source: KernelSource, work: Path, form: str, virtual: str, code: str, *words: str) -> None:
        run_tool([*self.nvcc.command, *FLAGS, form, f"-gencode=arch={virtual},code={code}", *words],
                 f"the generated {source.symbol}.cu does not compile", work, source.text)

    def image(self, folders: Mapping[str, Path]) -> Image:
        """folders: of the kernels' codes, by their symbols."""
        inputs = sorted(folders.items())
        key = files.digest("image", *JOINED, *(folder.name for _, folder in inputs))
        path = self.cache.entry("objects", key, partial(self._join, inputs)) / "image.bin"
        return Image(path, {symbol: sum((folder / f"{symbol}.{isa}.cubin").stat().st_size for isa in self.isas)
                            for symbol, folder in folders.items()})

    def _join(self, inputs: Sequence[tuple[str, Path]], work: Path) -> None:
        failure = "the kernels cannot be joined to one image"
        with self.cache.scratch() as scratch:
            folder = Path(scratch)
            images = []
            for isa in self.isas:
                self.link(inputs, isa, folder, failure)
                images.append(f"--image3=kind=elf,sm={isa.removeprefix('sm_')},file={isa}.cubin")
            texts = [(at / f"{symbol}.{self.portable}.ptx").read_text(encoding="utf-8") for symbol, at in inputs]
            try:
                (folder / "portable.ptx").write_text(ptx.merge(texts), encoding="utf-8")
            except ptx.Malformed as error:
                raise UserError(f"{failure}: the portable code of {self.nvcc.banner}: {error}",
                                hint="use CUDA toolkit 13.0, which this is tested with") from None
            number = self.portable.removeprefix("compute_")
            images.append(f"--image3=kind=ptx,sm={number},file=portable.ptx")
            # Makes a file as well, of what is checked.
            run_tool([*self.nvcc.command, "-w", "-fatbin", f"-gencode=arch={self.portable},code={self.portable}",
                      "portable.ptx", "-o", "checked.bin"], failure, folder)
            run_tool([self.nvcc.beside("fatbinary"), "--create=image.bin", *JOINED, *images], failure, folder)
            shutil.move(folder / "image.bin", work / "image.bin")

    def link(self, inputs: Sequence[tuple[str, Path]], isa: str, folder: Path, failure: str) -> None:
        """Under names that do not depend on the cache."""
        names = []
        for symbol, at in inputs:
            name = f"{symbol}.{isa}.cubin"
            os.symlink((at / name).resolve(), folder / name)
            names.append(name)
        (folder / f"{isa}.inputs").write_text("\n".join(names), encoding="utf-8")
        run_tool([self.nvcc.beside("nvlink"), f"-arch={isa}", "-optf", f"{isa}.inputs", "-o", f"{isa}.cubin"], failure,
                 folder)


def make(sources: Sequence[KernelSource], nvcc: Nvcc, target: Target, cache: Cache, jobs: int | None,
         progress: Callable[[int], None] = lambda n: None) -> Image:
    """One image of all."""
    maker = Maker.of(nvcc, target, cache)
    folders = run_all(maker.kernel, list(sources), jobs, progress)
    return maker.image({source.symbol: folder for source, folder in zip(sources, folders, strict=True)})


def make_each(sources: Sequence[KernelSource], nvcc: Nvcc, target: Target, cache: Cache, jobs: int | None
              ) -> dict[str, Path]:
    """An image of each, by their symbols."""
    maker = Maker.of(nvcc, target, cache)
    made = run_all(lambda source: maker.image({source.symbol: maker.kernel(source)}).path, list(sources), jobs)
    return dict(zip([source.symbol for source in sources], made, strict=True))


def headers_digest() -> str:
    return files.tree_digest([TEMPLATES / "include", TEMPLATES / "cuda"])


def _virtual(isa: str) -> str:
    """The architecture whose portable code machine code for `isa` is made of."""
    return isa.replace("sm", "compute")
