# SPDX-License-Identifier: Apache-2.0
"""What every kernel of a variant costs at some sizes, from the emitted program: operations, bytes, code; with the place
in the model that it comes from."""
from __future__ import annotations

from typing import Iterator, Mapping

from ..emit.work import in_integers, kernel_work
from ..instruction_sets import instruction_set
from ..loops.loop_ir import Element, FunctionPlan, Loop, Step, Tiles, Variant, bodies
from ..loops.scalars import extent, first
from ..loops.traffic import traffic
from ..records import dataclass
from ..symbolic import Sym
from ..target import Target
from .assemble import Made


@dataclass(frozen=True, slots=True)
class Cost:
    """A kernel in its step. runs: how often a call runs it; operations, read, written: of all of them, bytes of
    distinct elements; code: bytes by instruction set; scope, place: "" where nothing is known; integers: these are what
    it computes, so that no ceiling of floats is its."""

    step: int
    label: str
    scope: str
    place: str
    barrier: bool
    depth: int
    runs: int
    operations: int
    read: int
    written: int
    symbols: tuple[str, ...]
    code: tuple[int, ...]
    integers: bool = False

    @property
    def name(self) -> str:
        return f"{self.scope}: {self.label}" if self.scope else self.label

    @property
    def bytes(self) -> int:
        return self.read + self.written


def walk_steps(items: list[Element], sizes: Mapping[Sym, int], depth: int = 0, iterations: int = 1
               ) -> Iterator[tuple[int, int, Element]]:
    """(depth, how often it runs, element) of everything that runs, in order; of a while one iteration, of a branch both
    sides."""
    for item in items:
        yield depth, iterations, item
        if not isinstance(item, Step):
            counted = isinstance(item, Loop) and item.iteration is not None
            often = iterations * (extent(item.iteration).evaluate(sizes) if counted else 1)
            for axis in item.axes if isinstance(item, Tiles) else ():
                often *= axis.blocks.evaluate(sizes)
            for body in bodies(item):
                yield from walk_steps(body, sizes, depth + 1, often)


def serving(function: FunctionPlan, sizes: Mapping[str, int]) -> Variant:
    """The variant that a call with these sizes runs."""
    return next(v for v in function.variants if all(sizes.get(name) == size for name, size in v.when.items()))


def chosen(function: FunctionPlan, at: Mapping[str, int]) -> list[tuple[Variant, dict[str, int]]]:
    """What a summary shows, each at sizes of all dims: the specialized variants for calls of the sizes `at`; where
    there are none, the generic one, other dims at their lower ends."""
    least = {d.sym.name: at.get(d.sym.name, d.sym.lo) for d in function.dims}
    special = [v for v in function.variants if v.when and all(at.get(k, n) == n for k, n in v.when.items())]
    return [(v, {**least, **v.when}) for v in special] or [(function.variants[-1], least)]


def headed(function: FunctionPlan, variant: Variant) -> str:
    """The variant's name and, where there are others, the sizes of calls that run it."""
    sizes = " and ".join(f"{name} == {size}" for name, size in variant.when.items())
    if not sizes and variant is function.variants[-1] and len(function.variants) > 1:
        sizes = "all other sizes"
    return f"{variant.name} ({sizes})" if sizes else variant.name


def of_variant(made: Made, function: FunctionPlan, variant: Variant, sizes: Mapping[str, int]) -> list[Cost]:
    """By step. sizes: of every dim of the function."""
    values = {d.sym: sizes[d.sym.name] for d in function.dims if d.sym.name not in variant.when}
    found: list[Cost] = []
    usual = variant.program.usual
    for depth, runs, item in walk_steps(variant.program.steps, values):
        if not isinstance(item, Step):
            continue
        kernel = item.kernel
        at = {**values, **{s: first(s) for s in kernel.dims if s.is_iteration}, **usual}
        moved = traffic(kernel, at)
        symbols = tuple(made.sources.symbol(kernel, isa, function.is_plain(variant)) for isa in made.target.isas)
        loc = getattr(kernel, "loc", None)
        operations = kernel_work(kernel, usual)
        work = operations.evaluate({**at, **{s: values.get(s, s.lo) for s in operations.symbols()}})
        found.append(Cost(len(found), kernel.label, loc.scope if loc else "", f"{loc.file}:{loc.line}" if loc else "",
                          item.barrier and bool(found), depth, runs, runs * work, runs * moved.read,
                          runs * moved.written,
                          symbols, tuple(map(made.code, symbols)), in_integers(kernel)))
    return found


@dataclass(frozen=True, slots=True)
class Ceilings:
    """Of a target and some threads: operations and bytes in a second; 0 where the target file does not say."""

    operations: float
    bytes: float

    def seconds(self, cost: Cost) -> float:
        """The least time that a kernel can take."""
        return max(cost.operations / self.operations if self.operations else 0.0,
                   cost.bytes / self.bytes if self.bytes else 0.0)


def ceilings(target: Target, isa: str, threads: int) -> Ceilings:
    """Multiply-adds of f32 in vectors; memory as one core reads it, times threads."""
    if target.apart:
        return Ceilings(0, 0)
    known = instruction_set(isa)
    return Ceilings(2.0 * known.lanes * known.fmas * target.clock * 1e6 * threads, target.bandwidth * 1e6 * threads)
