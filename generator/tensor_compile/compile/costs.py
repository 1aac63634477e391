# SPDX-License-Identifier: Apache-2.0
"""What every kernel of a variant costs at some sizes, from the emitted program: operations, bytes, code; with the place
in the model that it comes from."""
from __future__ import annotations

from dataclasses import replace
from typing import Callable, Iterator, Mapping, Sequence

from ..emit.work import in_integers, kernel_operations, product_operations
from ..instruction_sets import instruction_set
from ..loops.loop_ir import Kernel
from ..loops.plan import bytes_of
from ..loops.program_ir import bodies, Branch, Element, FunctionPlan, Region, Step, Tiles, Variant
from ..loops.scalars import extent
from ..loops.tile_axes import Axis
from ..loops.traffic import Traffic, traffic
from ..records import dataclass
from ..symbolic import Expr, Sym
from ..target import Target
from .assemble import Made


@dataclass(frozen=True, slots=True)
class Cost:
    """A kernel in its step. runs: how often a call runs it; operations, read, written: of all of them, bytes of
    distinct elements of each run; code: bytes by instruction set; scope, place: "" where nothing is known; integers:
    these are what it computes, so that no ceiling of floats is its. each: of runs that are alike, how many and the
    bytes of one; distinct: bytes of distinct elements of all runs, as far as known; in_tile: a run is one thread's;
    by_data: how often it runs depends on data, here counted once in each run of what is around. kept: bytes that it
    reads of what stays from call to call, constants and state; all_kept: those of all kernels, which are read before
    these are read again."""

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
    each: tuple[tuple[float, int], ...] = ()
    distinct: int = 0
    in_tile: bool = False
    by_data: bool = False
    kept: int = 0
    all_kept: int = 0

    @property
    def name(self) -> str:
        return f"{self.scope}: {self.label}" if self.scope else self.label

    @property
    def bytes(self) -> int:
        return self.read + self.written


@dataclass(frozen=True, slots=True)
class Runs:
    """Runs of a call that have the same sizes: how many, and what the symbols of the regions around stand for. over:
    the iterations of the loops around; in_tile, by_data: as of Cost."""

    count: int
    at: Mapping[Sym, int]
    over: frozenset[Sym] = frozenset()
    in_tile: bool = False
    by_data: bool = False


def walk_steps(items: list[Element], sizes: Mapping[Sym, int], depth: int = 0,
               runs: Sequence[Runs] = (Runs(1, {}),)) -> Iterator[tuple[int, Sequence[Runs], Element]]:
    """(depth, its runs in a call, element) of everything that runs, in order; of a while one iteration, of a branch
    both sides."""
    for item in items:
        yield depth, runs, item
        if not isinstance(item, Step):
            inner = [Runs(r.count * more.count, {**r.at, **more.at}, r.over | more.over, r.in_tile or more.in_tile,
                          r.by_data or more.by_data) for r in runs for more in _within(item, {**sizes, **r.at})]
            for body in bodies(item):
                yield from walk_steps(body, sizes, depth + 1, inner)


def _within(region: Region, sizes: Mapping[Sym, int]) -> list[Runs]:
    """The runs of what a region holds, in one run of the region."""
    if isinstance(region, Tiles):
        return [replace(r, in_tile=True) for r in _tiles(region, sizes)]
    if isinstance(region, Branch) or region.iteration is None:
        return [Runs(1, {}, by_data=True)]
    iterations = extent(region.iteration).evaluate(sizes)
    return [Runs(iterations, {region.iteration: 0}, frozenset((region.iteration,)))]


def _tiles(region: Tiles, sizes: Mapping[Sym, int]) -> list[Runs]:
    """Tiles of one thread."""
    found = [Runs(1, {})]
    for axis in region.axes:
        blocks = _blocks(axis, sizes, axis is region.axes[-1] and (region.growing or bool(region.windows)))
        found = [Runs(r.count * block.count, {**r.at, **block.at}) for r in found for block in blocks]
    below = {w: 0 for w in region.windows}     # the first row that no tile before has computed
    for number, r in enumerate(found):
        if r.at[region.axes[-1].start] == 0:
            below = {w: 0 for w in region.windows}
        rows: dict[Sym, int] = {}
        for w in region.windows:
            first, end, size = (e.evaluate({**sizes, **r.at}) for e in (w.first, w.end, w.size))
            begin = max(first, below[w])
            rows |= {w.begin: begin, w.at: begin - first, w.count: max(0, min(end, size) - begin)}
            below[w] = max(begin, min(end, size))
        found[number] = Runs(r.count, {**r.at, **rows})
    return found


def _blocks(axis: Axis, sizes: Mapping[Sym, int], each: bool) -> list[Runs]:
    """The blocks of an axis. All are alike but for the last one; each: none is, as later ones have more work, or begin
    with rows that the one before computed."""
    count, size = axis.blocks.evaluate(sizes), axis.size.evaluate(sizes)
    often = {i: 1 for i in range(count)} if each or count < 2 else {0: count - 1, count - 1: 1}
    at = {i: {axis.start: i * axis.block} for i in often}
    if axis.count is not None:
        at = {i: {**start, axis.count: min(axis.block, size - i * axis.block)} for i, start in at.items()}
    return [Runs(often[i], at[i]) for i in often]


def moved(kernel: Kernel, runs: Sequence[Runs], sizes: Mapping[Sym, int]) -> Traffic:
    """Bytes that a call's runs of a kernel read and write."""
    return _together(_each(kernel, runs, sizes))


def _each(kernel: Kernel, runs: Sequence[Runs], sizes: Mapping[Sym, int]) -> list[tuple[int, Traffic]]:
    """Of runs that are alike, how many and what one moves."""
    return [(r.count, traffic(kernel, {**sizes, **r.at})) for r in runs]


def _together(each: Sequence[tuple[int, Traffic]]) -> Traffic:
    return Traffic(sum(count * t.read for count, t in each), sum(count * t.written for count, t in each))


def _distinct(kernel: Kernel, runs: Sequence[Runs], sizes: Mapping[Sym, int]) -> int:
    """Bytes of distinct elements of all iterations; of tiles those of the one that touches most."""
    return max((t.read + t.written for t in (traffic(kernel, {**sizes, **r.at}, r.over) for r in runs)), default=0)


def as_run(cost: Cost, runs: float) -> Cost:
    """The same kernel where a call ran it so often."""
    if not cost.by_data or not cost.runs:
        return cost
    times = runs / cost.runs
    return replace(cost, runs=round(runs), operations=round(cost.operations * times), read=round(cost.read * times),
                   written=round(cost.written * times), distinct=cost.distinct if runs else 0,
                   each=tuple((count * times, size) for count, size in cost.each))


def serving(function: FunctionPlan, sizes: Mapping[str, int]) -> Variant:
    """The variant that a call with these sizes runs."""
    return next(v for v in function.variants if all(sizes.get(name) == size for name, size in v.when.items()))


def sizes_at(function: FunctionPlan, at: Mapping[str, int]) -> dict[str, int]:
    """Of every dim; where `at` says nothing the lower end."""
    return {d.sym.name: at.get(d.sym.name, d.sym.lo) for d in function.dims}


def chosen(function: FunctionPlan, at: Mapping[str, int]) -> list[tuple[Variant, dict[str, int]]]:
    """What a summary shows, each at sizes of all dims: the specialized variants for calls of the sizes `at`; where
    there are none, the generic one, other dims at their lower ends."""
    least = sizes_at(function, at)
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
    values = _dynamic(function, variant, sizes)
    found: list[Cost] = []
    kept: dict[str, int] = {}
    for depth, runs, item in walk_steps(variant.program.steps, values):
        if not isinstance(item, Step):
            continue
        kernel = item.kernel
        each = _each(kernel, runs, values)
        moves = _together(each)
        symbols = tuple(made.sources.symbol(kernel, isa, function.is_plain(variant)) for isa in made.target.isas)
        loc = getattr(kernel, "loc", None)
        own = {b.name: bytes_of(b).value for b in kernel.params if b.kind in ("packed", "state")}
        kept |= {name: min(size, moves.read) for name, size in own.items()}    # of a table, or a cache, some rows
        found.append(Cost(len(found), kernel.label, loc.scope if loc else "", f"{loc.file}:{loc.line}" if loc else "",
                          item.barrier and bool(found), depth, sum(r.count for r in runs),
                          _operations(kernel, runs, values), moves.read, moves.written,
                          symbols, tuple(map(made.code, symbols)), in_integers(kernel),
                          tuple((count, t.read + t.written) for count, t in each), _distinct(kernel, runs, values),
                          any(r.in_tile for r in runs), any(r.by_data for r in runs),
                          min(sum(own.values()), moves.read)))
    return [replace(cost, all_kept=sum(kept.values())) for cost in found]


def of_products(function: FunctionPlan, variant: Variant, sizes: Mapping[str, int]) -> int:
    """Operations of a call's products and convolutions, two a multiply-add. sizes: as of of_variant."""
    values = _dynamic(function, variant, sizes)
    return sum(_operations(item.kernel, runs, values, product_operations)
               for _, runs, item in walk_steps(variant.program.steps, values) if isinstance(item, Step))


def _dynamic(function: FunctionPlan, variant: Variant, sizes: Mapping[str, int]) -> dict[Sym, int]:
    return {d.sym: sizes[d.sym.name] for d in function.dims if d.sym.name not in variant.when}


def _operations(kernel: Kernel, runs: Sequence[Runs], sizes: Mapping[Sym, int],
                count: Callable[[Kernel, Mapping[Sym, int]], Expr] = kernel_operations) -> int:
    """Scalar operations of a call's runs of a kernel, as `count` has those of one."""
    total = 0
    for r in runs:
        work, at = count(kernel, r.at), {**sizes, **r.at}
        total += r.count * work.evaluate({**at, **{s: at.get(s, s.lo) for s in work.symbols()}})
    return total


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
    operations = 2.0 * known.lanes * target.fmas(known) * target.clock * 1e6
    return Ceilings(operations * threads, target.bandwidth * 1e6 * threads)
