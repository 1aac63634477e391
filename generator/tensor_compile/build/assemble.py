# SPDX-License-Identifier: Apache-2.0
"""The work of a build, stage by stage: capture, passes, weights, kernels, driver, link."""
from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Hashable, Iterator

from .. import pipeline
from ..emit.header import emit_header
from ..emit.identity import identity
from ..emit.interface import interface
from ..emit.kernels import KernelSource, emit_kernel, emit_plain
from ..emit.program import emit_driver
from ..emit.weights import weights_assembly, weights_header
from ..errors import UserError
from ..loops.ir import ContractionKernel, Kernel, ModelPlan
from . import budget, capture_run, files, host_programs, link, objects, pack, target as targets, toolchain
from .cache import Cache
from .jobs import spare_jobs
from .lock import Tuning
from .objects import Object, Unit
from .options import Options
from .progress import Progress
from .record import Hashes
from .target import Target

DEFAULT_TARGETS = {"x86_64": "x86_64", "aarch64": "aarch64", "riscv64": "riscv64"}


class Sources:
    """The source of every kernel for every instruction set; equal ones are one."""

    def __init__(self) -> None:
        self.by_symbol: dict[str, KernelSource] = {}
        self.of_kernel: dict[tuple[int, str], KernelSource] = {}  # by the kernel's id and the instruction set

    def add(self, kernel: Kernel, source: KernelSource, isas: tuple[str, ...] = ()) -> None:
        """isas: whose calls take it, where not those of its own set alone."""
        self.by_symbol[source.symbol] = source
        for isa in isas or (source.isa,):
            self.of_kernel[id(kernel), isa] = source

    def symbol(self, kernel: Kernel, isa: str) -> str:
        return self.of_kernel[id(kernel), isa].symbol


@dataclass(slots=True)
class Made:
    """Everything a build knows when all is compiled; paths lie in the cache. embedded: the weights that the object
    holds; flags: the target's and the host's."""

    compiled: pipeline.Compiled
    target: Target
    target_file: Path
    headers: tuple[Path, ...]
    weight_files: list[Path]
    weights: Path
    sources: Sources
    objects: dict[str, Object]
    driver: Object
    header_text: str
    embedded: Path | None
    flags: tuple[str, ...]
    compiler: toolchain.Compiler
    host: toolchain.Compiler


def toolchains(options: Options) -> tuple[toolchain.Compiler, toolchain.Compiler, Target, Path]:
    """The target's compiler, the build machine's, the target and its file."""
    cache = Path(options.cache)
    compiler = toolchain.detect(options.cc, cache, "the compiler for the target")
    host = toolchain.detect(options.host_cc, cache, "the compiler for the build machine")
    name = options.target_file or DEFAULT_TARGETS.get(compiler.arch, "")
    if not name:
        raise UserError(f"no target is known for {compiler.machine}",
                        hint=f"name one with --target-file: {', '.join(targets.names())}, or a .toml file of your own")
    path = targets.find(name)
    target = targets.load(path)
    if target.arch != compiler.arch:
        raise UserError(f"the target {target.name} is {target.arch}, but {' '.join(options.cc)} compiles for "
                        f"{compiler.machine}", hint="name the target's compiler with --cc")
    if options.isas:
        target = target.with_isas(options.isas)
    if options.backend == "reference":
        target = target.as_reference()
    return compiler, host, target, path


def capture(options: Options, host: toolchain.Compiler, cache: Cache) -> capture_run.Captured:
    return capture_run.run(Path(options.model), options.shown, options.preprocessor, host, cache,
                           options.capture_timeout, options.jobs,
                           keep=Path(options.keep) if options.keep else None)


def compile_graph(options: Options, text: str, target: Target) -> pipeline.Compiled:
    dumped: list[str] = []

    def dump(name: str, printed: str) -> None:
        if name == options.dump_after:
            dumped.append(printed)

    if options.dump_after and options.dump_after not in pipeline.PASSES:
        raise UserError(f"--dump-after: no pass is called {options.dump_after!r}",
                        hint=f"passes, in order: {', '.join(pipeline.PASSES)}")
    compiled = pipeline.run(text, options.shown, target, dict(options.specialize), verify=options.verify,
                            dump=dump if options.dump_after else None, plain=options.backend == "reference",
                            with_reference=options.with_reference)
    for printed in dumped:
        print(printed, end="")
    return compiled


def kernel_sources(options: Options, plan: ModelPlan, target: Target) -> Sources:
    """Every kernel for every instruction set; the tuning lock chooses among a contraction's candidates. Those of a
    reference are compiled once, for the plain instruction set."""
    tuning = Tuning.load(options.tune if options.backend == "c" else "off", options.lock_path, target)
    sources = Sources()
    made: dict[Hashable, KernelSource] = {}
    plainest = target.as_reference().isas[0]
    for function in plan.functions:
        for variant in function.built:
            for step in variant.program.steps:
                kernel, form = step.kernel, identity(step.kernel)
                if variant is function.reference:
                    if (form, "reference") not in made:
                        made[form, "reference"] = emit_plain(kernel, plainest)
                    sources.add(kernel, made[form, "reference"], target.isas)
                    continue
                for isa in target.isas:
                    if (form, isa) not in made:
                        chosen = tuning.candidate(kernel, isa) if isinstance(kernel, ContractionKernel) else None
                        made[form, isa] = emit_kernel(kernel, isa, chosen)
                    sources.add(kernel, made[form, isa])
    for warning in tuning.finish():
        print(warning, file=sys.stderr)
    return sources


def entry_symbols(plan: ModelPlan) -> list[str]:
    """The C names of the model's functions."""
    return [entry.symbol for entry in interface(plan, False).entries]


def external_weights(plan: ModelPlan, payload: Path) -> Iterator[bytes]:
    """An external weights file, part by part: header and payload."""
    yield weights_header(plan, bytes.fromhex(files.file_digest(payload)))
    yield from files.blocks(payload)


def run(options: Options, progress: Progress, captured: capture_run.Captured | None = None) -> Made:
    """captured: the graph where it is there already; None: options.model is recorded."""
    cache = Cache(Path(options.cache))
    compiler, host, target, target_file = toolchains(options)
    if captured is None:
        progress.say(f"{options.shown}: recording the graph")
        host_programs.capture_library(host, cache, options.jobs)
    with ThreadPoolExecutor(1) as beside:
        # Recording and passes are one process: the interpreter, which packs the weights, is compiled meanwhile.
        if spare := spare_jobs(options.jobs):
            beside.submit(host_programs.interpreter, host, cache, spare)
        captured = captured or capture(options, host, cache)
        progress.say(f"{options.shown}: passes")
        compiled = compile_graph(options, captured.text, target)
    plan = compiled.plan
    progress.say(f"{options.shown}: packing weights")
    hashes = Hashes(cache.root)
    weight_files = pack.weight_files(compiled.constants, Path(options.model))
    weights = pack.pack(compiled, weight_files, options.shown, host, cache, hashes, options.jobs)
    hashes.save()

    external = options.weights == "external"
    sources = kernel_sources(options, plan, target)
    units = [Unit(s.symbol, s.text, toolchain.kernel_flags(compiler, s.isa, target.flags, options.cflags, target.arch),
                  kernel=True)
             for s in sources.by_symbol.values()]
    # The driver runs before the instruction set is chosen: it is compiled for the baseline.
    units.append(Unit(f"tcd_{plan.model}", emit_driver(plan, target, sources.of_kernel, embed=not external),
                      toolchain.kernel_flags(compiler, toolchain.BASELINE[target.arch], target.flags, options.cflags,
                                             target.arch, optimise="-O2")))
    header_text = emit_header(plan, target, stem=Path(options.header).stem, embed=not external,
                              max_arena=options.max_arena)
    if options.keep:
        for unit in units:
            files.write(Path(options.keep) / f"{unit.name}.c", unit.text)
    compiled_units = objects.compile_units(units, compiler, cache, options.jobs,
                                           lambda n: progress.say(f"{options.shown}: compiled {n} of {len(units)}"))
    embedded = weights if plan.packed_bytes and not external else None
    made = Made(compiled, target, target_file, captured.headers, weight_files, weights, sources,
                {o.name: o for o in compiled_units[:-1]}, compiled_units[-1], header_text, embedded,
                (*target.flags, *options.cflags), compiler, host)
    budget.check(budget.bill(made), options.shown, options.max_arena, options.max_weights, options.max_code,
                 options.max_stack)
    return made


def link_object(made: Made, cache: Cache, out: Path, outputs: files.Outputs) -> None:
    """Links everything to the object `out` of the outputs: the driver first, then kernels by name, then the weights, in an order that
    does not depend on how fast they compiled."""
    with cache.scratch() as scratch:
        work = Path(scratch)
        linked = [made.driver.path, *(made.objects[name].path for name in sorted(made.objects))]
        if made.embedded is not None:
            linked.append(objects.assemble(weights_assembly(made.compiled.plan, "weights.bin"), made.embedded,
                                           made.compiler, toolchain.host_flags(made.flags, made.target.arch), work))
        link.relocatable(linked, work / "model.o", made.compiler, made.flags, work)
        outputs.move(work / "model.o", out)


def write(made: Made, options: Options) -> list[Path]:
    """All outputs or none of them; returns their paths."""
    paths = [Path(options.object), Path(options.header)]
    with files.Outputs() as outputs:
        link_object(made, Cache(Path(options.cache)), paths[0], outputs)
        outputs.write(paths[1], made.header_text)
        if options.weights == "external":
            paths.append(Path(options.weights_file))
            outputs.write(paths[-1], external_weights(made.compiled.plan, made.weights))
        if options.explain:
            from . import report

            paths.append(Path(options.explain))
            outputs.write(paths[-1], report.text(made, options.shown))
    return paths
