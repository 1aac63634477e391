# SPDX-License-Identifier: Apache-2.0
"""Measures the shapes of a build's contractions, attention and rows on the GPU of this machine and writes the tuning
lock (lock_cuda.py). Never part of a build.

Images are compiled first, as a build compiles them, and a library is asked for its algorithms where the build may take
them; then the harness (autotune/cuda, C) proves each against the plain kernel of the reference (attention, which has
none, against the cost model's choice), and times it by the GPU's events, with constants that are in no cache."""
from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Callable, Mapping, Sequence

from ..emit.cuda.kernels import emit_kernel, emit_plain
from ..emit.cuda.shapes import Tuned, is_tuned, product_of
from ..emit.kernels import KernelSource
from ..errors import UserError
from ..graph.dtypes import DTYPES
from ..loops import schedule_cuda
from ..loops.library_products import FUNCTIONS, LibraryAlgorithm, LibraryProduct, library_product, \
    shown
from ..loops.loop_ir import AttentionKernel, LoopNestKernel
from ..loops.program_ir import ModelPlan
from ..loops.schedule_cuda import Shape, shape_name, Units
from ..loops.schedule_half import MULTIPROCESSORS
from ..loops.scalar_ir import Buffer
from ..records import dataclass
from ..symbolic import Sym
from ..target import Target
from . import cuda_image, files, lock as locks, machine_lock
from .cache import Cache
from .cuda_image import Nvcc
from .host_programs import ROOT, program
from .lock import Entry
from .lock_cuda import key_of, named
from .toolchain import Compiler
from .tools import run_tool
from .tune import OutOfTime, Reader, Result, Say, Stopped, Telling, limited, run_harness, sizes
from .tune_pace import GROUP

MOST = 16                # shapes of a kernel that are measured: those that the cost model prefers
TOLERANCE = 0.02         # of the largest element, where operands are rounded
PLAIN = "plain"
PLAIN_BLOCKS = 4 * MULTIPROCESSORS
PROPOSED = 8             # algorithms of a library for a kernel
HARNESS = [*sorted((ROOT / "autotune" / "cuda").glob("*.c")), ROOT / "autotune" / "rank.c",
           ROOT / "autotune" / "data.c", ROOT / "runtime" / "cuda" / "api.c", ROOT / "runtime" / "cuda" / "products.c"]
INCLUDES = f"-I{ROOT / 'runtime' / 'include'}"


@dataclass(frozen=True, slots=True)
class Toolset:
    """nvcc for the target's kernels, the build machine's compiler for the harness. libraries: whether cuBLASLt's
    algorithms are candidates, too."""

    nvcc: Nvcc
    host: Compiler
    target: Target
    cache: Cache
    jobs: int | None = None
    libraries: bool = False

    @property
    def major(self) -> int:
        """The library's: that of the toolkit."""
        return int(self.nvcc.toolkit.removeprefix("nvcc ").partition(".")[0])


@dataclass(frozen=True, slots=True)
class Choice:
    """A shape, as the lock and the output name it."""

    name: str
    isa: str


@dataclass(frozen=True, slots=True)
class Case:
    """One kernel at one size. incumbent: the shape to be beaten, one of `shapes`. product: what it is for a library,
    whose algorithms are candidates, too."""

    name: str
    kernel: Tuned
    sizes: Mapping[Sym, int]
    shapes: tuple[Shape, ...]
    incumbent: Shape
    product: LibraryProduct | None = None

    @property
    def operations(self) -> int:
        """Products of a call, or points."""
        if isinstance(self.kernel, LoopNestKernel):
            return sum(schedule_cuda.usual((*self.kernel.rows, *phase.vars)) for phase in self.kernel.phases)
        return sum(schedule_cuda.usual((*part.batch, *part.m, *part.n, *part.k)) * len(part.b)
                   for part in self.kernel.contractions)


def kernels(plan: ModelPlan, units: Units) -> list[Tuned]:
    """Every kernel of the plan that has several shapes, in the order of the programs."""
    found: list[Tuned] = []
    for function in plan.functions:
        for variant in function.built:
            for step in variant.program.kernel_steps if not function.is_plain(variant) else ():
                kernel = product_of(step.kernel)
                if is_tuned(kernel, units):
                    found.append(kernel)
    return found


@dataclass(frozen=True, slots=True)
class Measurer:
    """What measures, as entries name it: the toolkit and the GPU. library: cuBLASLt's version; 0: it has no part."""

    toolkit: str
    gpu: str
    library: int = 0

    def text(self, product: LibraryProduct | None) -> str:
        theirs = f" with cuBLASLt {shown(self.library)}" if self.library and product else ""
        return f"{self.toolkit}{theirs} on {self.gpu}"


def cases(found: Sequence[Tuned], target: Target, known: Mapping[str, Entry], by: Measurer, again: bool) -> list[Case]:
    """What is to be measured: each key once, and only those whose entry is missing, does not apply, or was measured
    with other templates, another toolkit or library, or on another GPU (all of them where `again`)."""
    made: dict[str, Case] = {}
    units, templates = schedule_cuda.units(target), locks.gpu_templates_digest()
    keys = [key_of(kernel, target) for kernel in found]
    ours = {key for key, kernel in zip(keys, found, strict=True)   # a key does not tell whose the operands are
            if not by.library or not library_product(kernel, target.precision)}
    for key, kernel in zip(keys, found, strict=True):
        if key in made:
            continue
        shapes = schedule_cuda.shapes(kernel, units)
        product = None if key in ours else library_product(kernel, target.precision)
        entry = known.get(key)
        used = named(kernel, target, entry.candidate) if entry else None
        if entry and used and (entry.templates, entry.compiler) == (templates, by.text(product)) and not again:
            continue
        if isinstance(used, LibraryAlgorithm) and (product is None or used.version != by.library):
            used = None
        tried = tuple(shapes[:MOST]) if used is None or used in shapes[:MOST] else (*shapes[:MOST], used)
        if len(tried) > 1 or product:
            made[key] = Case(key, kernel, sizes(kernel), tried, used or tried[0], product)
    return list(made.values())


def tune(found: Sequence[Tuned], tools: Toolset, lock: Path, rounds: int = 20, again: bool = False,
         say: Say = lambda line: None, budget: float | None = None, keep: bool = True,
         note: Callable[[str], None] = lambda line: None, waits: Say = lambda line: None) -> Result:
    """As tune.tune, for the GPU of this machine. note: told what was measured on."""
    harness = _harness(tools)
    by = _device(harness, tools, note)
    known = locks.read(lock)
    todo = sorted(cases(found, tools.target, known, by, again), key=lambda case: -case.operations)
    if keep and todo:
        locks.require_writable(lock)
    about = {case.name: by.text(case.product) for case in todo}
    result = Result("us", by=about, used={case.name: shape_name(case.incumbent) for case in todo},
                    chosen={case.name: shape_name(case.shapes[0]) for case in todo})
    tell = Telling(say, len(todo), budget)
    templates = locks.gpu_templates_digest()

    def kept() -> None:
        if keep and result.timed:
            for key, winner, count in result.timed:
                known[key] = Entry(key, winner.name, count, False, about[key], templates)
            locks.write(lock, known)
    try:
        with limited(budget):
            # the first alone: so that a short time measures something
            for group in [todo[:1], *(todo[i:i + GROUP] for i in range(1, len(todo), GROUP))] if todo else []:
                _measure(group, tools, harness, rounds, result, tell, note, waits, kept)
    except OutOfTime:
        result.left = len(todo) - len(result.timed)
    except KeyboardInterrupt:
        result.left = len(todo) - len(result.timed)
        raise Stopped(result) from None
    finally:
        kept()
    return result


def _harness(tools: Toolset) -> Path:
    """The program, linked once a compiler."""
    def make(folder: Path) -> None:
        run_tool([*tools.host.command, "-O2", "-std=c11", "-D_GNU_SOURCE", INCLUDES, *map(str, HARNESS), "-o",
                  str(folder / "tc-tune-cuda"), "-ldl", "-lm"], "the measuring harness does not compile", folder)

    key = files.digest(tools.host.identity, files.tree_digest([ROOT / "autotune", ROOT / "runtime" / "cuda",
                                                                 ROOT / "runtime" / "include"]))
    return program(tools.cache, key, make) / "tc-tune-cuda"


def _device(harness: Path, tools: Toolset, note: Callable[[str], None]) -> Measurer:
    """Toolkit, GPU and library. An error of the user's where no GPU is found, or no library that is asked for."""
    said: list[str] = []
    with tools.cache.scratch() as scratch:
        plan = Path(scratch) / "plan"
        plan.write_text("", encoding="utf-8")
        run_harness(_command(harness, plan, 1, tools), said.append)
    for line in said:
        if line.startswith("failed "):
            raise UserError(f"no GPU to measure on: {line.removeprefix('failed ')}",
                            hint="tune on a machine with one and commit the lock: builds read it, or use the cost "
                                 "model")
        if line.startswith("absent "):
            raise UserError(f"no library to measure: {line.removeprefix('absent ')}",
                            hint="--cuda-libraries none measures our own kernels alone")
    (device,) = [line.removeprefix("device ") for line in said if line.startswith("device ")]
    versions = [int(line.removeprefix("library ")) for line in said if line.startswith("library ")]
    note(f"{device}; clocks as found, constants from memory, the rest in the second cache")
    name = re.sub(r"[^\w .()-]", "", device.split(", ")[0])
    return Measurer(tools.nvcc.toolkit, name, *versions)


def _command(harness: Path, plan: Path, rounds: int, tools: Toolset) -> list[str]:
    return [str(harness), str(plan), str(rounds), *([str(tools.major)] if tools.libraries else [])]


def _measure(todo: Sequence[Case], tools: Toolset, harness: Path, rounds: int, result: Result, tell: Telling,
             note: Callable[[str], None], waits: Say = lambda line: None,
             kept: Callable[[], None] = lambda: None) -> None:
    """Compiles the shapes of some kernels and times them, alone on the machine."""
    tell.say(f"compiling {sum(len(c.shapes) for c in todo)} candidates of {len(todo)} kernels")
    isa = "+".join(tools.target.isas)
    reader = Reader(result, lambda name: Choice(name, isa))

    def line(text: str) -> None:
        if text.startswith("case "):
            tell.measuring()
        if text.startswith("clocks "):
            note(text)
        else:
            reader.line(text)
        if text.startswith("winner "):
            kept()

    with tools.cache.scratch() as scratch:
        plan = Path(scratch) / "plan"
        plan.write_text(plan_text(todo, tools), encoding="utf-8")
        with machine_lock.alone(waits):
            run_harness(_command(harness, plan, rounds, tools), line)


def plan_text(todo: Sequence[Case], tools: Toolset) -> str:
    """What the harness reads (autotune/cuda/main.c); every image is compiled."""
    units = schedule_cuda.units(tools.target)
    shaped = [(case, [replace(case.kernel, shape=shape) for shape in case.shapes
                      if not isinstance(shape, LibraryAlgorithm)]) for case in todo]
    sources = {id(kernel): emit_kernel(kernel, units) for _, kernels in shaped for kernel in kernels}
    sources |= {id(case): emit_plain(case.kernel) for case in todo if not isinstance(case.kernel, AttentionKernel)}
    images = _images(list({source.symbol: source for source in sources.values()}.values()), tools)
    lines: list[str] = []
    for case, made in shaped:
        lines += [f"case {case.name}", *(_buffer(b, case) for b in case.kernel.params)]
        if case.kernel.dims:
            lines.append("dims " + " ".join(str(case.sizes[s]) for s in case.kernel.dims))
        lines.append(f"tolerance {0 if tools.target.precision == 'f32' else TOLERANCE}")
        if id(case) in sources:
            lines.append(_candidate(PLAIN, case.kernel, case, sources[id(case)], images, tools, plain=True))
        else:
            lines.append(_candidate(PLAIN, made[0], case, sources[id(made[0])], images, tools))
        for kernel in made:
            assert kernel.shape is not None
            lines.append(_candidate(shape_name(kernel.shape), kernel, case, sources[id(kernel)], images, tools))
            lines += _maps(kernel, case, units)
        if case.product:
            lines += _product(case.product, case)
        lines.append(f"end {shape_name(case.incumbent)}")
    return "\n".join([*lines, ""])


def _images(sources: Sequence[KernelSource], tools: Toolset) -> dict[str, Path]:
    """The images by their symbols, compiled as a build's."""
    return cuda_image.make_each(sources, tools.nvcc, tools.target, tools.cache, tools.jobs)


def _buffer(b: Buffer, case: Case) -> str:
    parts = () if isinstance(case.kernel, LoopNestKernel) else case.kernel.contractions
    stored = {s.buffer for s in case.kernel.stores}
    padded = any(part.a.valid for part in parts)
    second = {load.buffer for part in parts for load in part.b}
    return f"buffer {list(DTYPES).index(b.dtype)} {b.elements.evaluate(case.sizes)} {int(b.kind == 'packed')} " \
           f"{int(b.name in stored)} {int(padded and b.name in second)}"


def _candidate(name: str, kernel: Tuned, case: Case, source: KernelSource, images: Mapping[str, Path], tools: Toolset,
               plain: bool = False) -> str:
    launch = schedule_cuda.launch(kernel, plain, schedule_cuda.units(tools.target))
    blocks = launch.blocks(case.sizes, tools.target.threads)
    if plain:   # each thread counts through all points to find its own
        blocks = min(blocks, PLAIN_BLOCKS)
    return f"candidate {name} {blocks} {launch.threads} {launch.shared} " \
           f"{int(schedule_cuda.overlaps(tools.target))} {source.symbol} {images[source.symbol]}"


def _maps(kernel: Tuned, case: Case, units: schedule_cuda.Units) -> list[str]:
    buffers = {b.name: (i, DTYPES[b.dtype].bytes) for i, b in enumerate(kernel.params)}
    lines = []
    for m in schedule_cuda.tensor_maps(kernel, units):
        number, size = buffers[m.buffer]
        offset, terms, lines_, stride = (e.evaluate(case.sizes) for e in (m.offset, m.terms, m.lines, m.stride))
        lines.append(f"map {number} {offset * size} {terms} {lines_} {stride * size} {m.box}")
    return lines


def _product(product: LibraryProduct, case: Case) -> list[str]:
    """What the library is asked for."""
    places = {"first": product.first, "second": product.second, "added": product.added, "result": product.result,
              "bias": product.bias}
    numbers = {b.name: (i, DTYPES[b.dtype].bytes) for i, b in enumerate(case.kernel.params)}
    lines = [f"product {product.rows} {product.columns} {product.terms} {FUNCTIONS.index(product.function)} {PROPOSED}"]
    for name, place in places.items():
        if place:
            number, size = numbers[place.buffer.name]
            lines.append(f"matrix {name} {number} {place.offset * size} {place.stride} {int(place.turned)}")
    return lines + [f"algorithm {shape_name(shape)}" for shape in case.shapes if isinstance(shape, LibraryAlgorithm)]


def unused(plans: Sequence[tuple[Sequence[Tuned], Target]], lock: Path) -> list[Entry]:
    """As tune.unused."""
    known = locks.read(lock)
    used = {key for found, target in plans for kernel in found
            if (key := key_of(kernel, target)) in known and named(kernel, target, known[key].candidate)}
    here = {f"target={target.name}/{'+'.join(target.isas)}" for _, target in plans}
    return [entry for key, entry in sorted(known.items()) if key not in used and key.rpartition(" ")[2] in here]
