# SPDX-License-Identifier: Apache-2.0
"""What --target chooses: how the kernels of a plan become objects, and which driver calls them. All other stages of a
build are the same for every backend."""
from __future__ import annotations

from typing import Callable, Iterator, Protocol

from ..emit.driver import Code
from ..emit.kernels import KernelSource, library
from ..loops.loop_ir import Kernel
from ..loops.program_ir import ModelPlan
from .cache import Cache
from .lock import Tuning
from .lock_cuda import ShapeTuning
from .objects import Object, Unit
from .options import Machine, Options
from ..target import Target
from .toolchain import Compiler


class Sources:
    """The source of every kernel for every instruction set; equal ones are one. suffix: of their files."""

    def __init__(self, suffix: str = "c") -> None:
        self.suffix = suffix
        self.by_symbol: dict[str, KernelSource] = {}
        self.of_kernel: dict[Code, KernelSource] = {}
        self.given: dict[str, KernelSource] = {}   # to a library of the device's: nothing is compiled

    def add(self, kernel: Kernel, source: KernelSource, isas: tuple[str, ...], plain: bool = False) -> None:
        """isas: whose calls take it."""
        self.by_symbol[source.symbol] = source
        for isa in isas:
            self.of_kernel[kernel, isa, plain] = source

    def give_away(self, kernel: Kernel, source: KernelSource, isas: tuple[str, ...]) -> None:
        """A kernel that a library of the device's computes. source: what tells the library."""
        self.given[source.symbol] = source
        for isa in isas:
            self.of_kernel[kernel, isa, False] = source

    def add_libraries(self) -> None:
        """The micro-kernels that the sources call, one unit an instruction set."""
        isas = dict.fromkeys(s.isa for s in self.by_symbol.values())
        for made in [library(self.by_symbol.values(), isa) for isa in isas]:
            if made is not None:
                self.by_symbol[made.symbol] = made

    def symbol(self, kernel: Kernel, isa: str, plain: bool = False) -> str:
        return self.of_kernel[kernel, isa, plain].symbol

    def text(self, symbol: str) -> str:
        """Of what people look at."""
        return (self.given.get(symbol) or self.by_symbol[symbol]).text

    def texts(self) -> Iterator[tuple[str, str]]:
        """File names and texts, for --keep."""
        for source in self.by_symbol.values():
            yield f"{source.symbol}.{self.suffix}", source.text


class Backend(Protocol):
    @property
    def plain(self) -> bool:
        """One loop nest an operation, no layout and no fusion."""

    def default_target(self, machine: Machine, compiler: Compiler) -> str:
        """The name of the target file where none is given; "" where none is known."""

    def target(self, machine: Machine, target: Target, compiler: Compiler) -> Target:
        """The target as the machine restricts it. A user's error where backend, target, compiler and options do not go
        together."""

    def tuning(self, options: Options, target: Target) -> Tuning | ShapeTuning:
        """What a build takes from its tuning lock."""

    def sources(self, machine: Machine, plan: ModelPlan, target: Target) -> Sources:
        """The source of every kernel of the plan."""

    def driver(self, plan: ModelPlan, target: Target, sources: Sources, embed: bool) -> str:
        """The C text of the driver. embed: the weights are in the object."""

    def compile(self, machine: Machine, target: Target, compiler: Compiler, cache: Cache, sources: Sources,
                driver: Unit, progress: Callable[[int], None]) -> list[Object]:
        """The objects of the kernels in the order of sources.by_symbol, then that of the driver."""


def find(name: str) -> Backend:
    """The backend of a value of --target."""
    from .cpu_target import Cpu
    from .cuda_target import Cuda

    backends: dict[str, Backend] = {"c": Cpu(plain=False), "reference": Cpu(plain=True), "cuda": Cuda()}
    return backends[name]
