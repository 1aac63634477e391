# SPDX-License-Identifier: Apache-2.0
"""The work of a build, stage by stage: capture, passes, weights, kernels, driver, link."""
from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields
from pathlib import Path
from typing import Iterator

from .. import pipeline
from ..emit.header import emit_header
from ..emit.interface import interface
from ..emit.weights import weights_header, weights_place, weights_section
from ..errors import OptionError, UserError, closest
from ..graph.bake import Evaluate
from ..graph.ir import Module
from ..instruction_sets import baseline
from ..loops.program_ir import ModelPlan
from ..passes import ChooseForm, NAMES
from ..records import dataclass
from . import backends, budget, capture_run, files, host_programs, link, objects, pack, recording, runtime_stack, \
    toolchain
from .backends import Sources
from .cache import Cache
from .jobs import spare_jobs
from .lock import Tuning
from .lock_cuda import ShapeTuning
from .objects import Object, Unit
from .options import Machine, Options, Passes
from .progress import Progress
from .record import Inputs
from .. import target as targets
from ..target import Target


LONGEST_MODEL = 200  # characters of its name in a file's name


@dataclass(slots=True)
class Planned:
    """A build before its first C compilation for the target. weights: the packed ones, in the cache."""

    compiled: pipeline.Compiled
    target: Target
    target_file: Path
    captured: capture_run.Captured
    weight_files: list[Path]
    weights: Path
    sources: Sources
    driver_text: str
    header_text: str
    compiler: toolchain.Compiler
    host: toolchain.Compiler


@dataclass(slots=True)
class Made(Planned):
    """Everything a build knows when all is compiled; paths lie in the cache. embedded: the weights that the object
    holds; flags: the target's and the host's; runtime: stack of the runtime, where there is one thread and the compiler
    tells, else None."""

    objects: dict[str, Object]
    driver: Object
    embedded: Path | None
    flags: tuple[str, ...]
    runtime: int | None

    def code(self, symbol: str) -> int:
        """Bytes of a kernel; what a library computes has none."""
        return self.objects[symbol].code if symbol in self.objects else 0


def toolchains(machine: Machine, inputs: Inputs | None = None
               ) -> tuple[toolchain.Compiler, toolchain.Compiler, Target, Path]:
    """The target's compiler, the build machine's, the target and its file."""
    cache = machine.open_cache()
    compiler = toolchain.detect(machine.cc, cache.programs.root, "the compiler for the target")
    host = recording.host_compiler(machine.host_cc, cache)
    backend = backends.find(machine.backend)
    name = machine.target_file or backend.default_target(machine, compiler)
    if not name:
        flags = ", or give the processor's flags (-mcpu=…) in --cflags" if compiler.arch == "arm" else ""
        raise UserError(f"no target is known for {compiler.machine}",
                        hint=f"name one with --target-file: {', '.join(targets.names())}, or a .toml file of your own"
                        + flags)
    path = targets.find(name)
    if inputs:
        inputs.digest(path)
    return compiler, host, backend.target(machine, targets.load(path), compiler), path


def compile_graph(passes: Passes, text: str, target: Target,
                  tuning: Tuning | ShapeTuning | None = None, evaluate: Evaluate | None = None,
                  form: ChooseForm | None = None) -> pipeline.Compiled:
    """tuning: what chooses the schedules or shapes of contractions; None: the cost model. evaluate: for
    --bake-values. form: what chooses the forms of variants, instead of tuning."""
    dumped: list[str] = []

    def dump(name: str, printed: str) -> None:
        if name == passes.dump_after:
            dumped.append(printed)

    if passes.dump_after and passes.dump_after not in NAMES:
        raise OptionError(f"--dump-after: no pass is called {passes.dump_after!r}",
                          hint=closest(passes.dump_after, NAMES) +
                          f"passes, in order: {', '.join(NAMES)}")
    compiled = pipeline.run(text, passes.shown, target, dict(passes.specialize), verify=passes.verify,
                            dump=dump if passes.dump_after else None, plain=backends.find(passes.backend).plain,
                            with_reference=passes.with_reference, taps=passes.taps,
                            choose=tuning.schedule if isinstance(tuning, Tuning) else None,
                            shapes=tuning.shape if isinstance(tuning, ShapeTuning) else None,
                            relaxed=passes.numerics == "relaxed", small=passes.memory == "small",
                            evaluate=evaluate if passes.bake_values else None,
                            form=form or (tuning.form if isinstance(tuning, Tuning) else None),
                            decide=tuning if isinstance(tuning, Tuning) else None)
    for printed in dumped:
        print(printed, end="")
    return compiled


def entry_symbols(plan: ModelPlan) -> dict[str, str]:
    """The C names of the model's functions, in order, by their names in the graph."""
    return {entry.plan.name: entry.symbol for entry in interface(plan, False).entries}


def placed(module: Module, made: Planned) -> Module:
    """The module with absolute paths of its weight files."""
    return Module(module.model, module.dims, [str(p) for p in made.weight_files], module.weights, module.states,
                  module.functions)


def external_weights(plan: ModelPlan, payload: Path) -> Iterator[bytes]:
    """An external weights file, part by part: header and payload."""
    yield weights_header(plan, bytes.fromhex(files.file_digest(payload)))
    yield from files.blocks(payload)


def plan(options: Options, progress: Progress, captured: capture_run.Captured | None = None,
         inputs: Inputs | None = None, form: ChooseForm | None = None) -> Planned:
    """captured: the graph where it is there already; None: options.model is recorded. inputs: what is read is noted
    there. form: as of compile_graph."""
    cache = options.open_cache()
    inputs = inputs or Inputs(cache.root)
    captured = captured or recording.record(options, progress, inputs)
    compiler, host, target, target_file = toolchains(options, inputs)
    with ThreadPoolExecutor(1) as beside:
        # Passes are one process: the interpreter, which packs the weights, is compiled meanwhile.
        if spare := spare_jobs(options.jobs):
            beside.submit(host_programs.interpreter, host, cache, spare)
        progress.say(f"{options.shown}: passes")
        tuning = backends.find(options.backend).tuning(options, target)
        own = captured.model == Path(options.model)  # else they were imported in the cache: no inputs
        of_weights = inputs if own else Inputs(cache.root)
        evaluate = pack.evaluator(captured, host, cache, of_weights, options.jobs)
        with captured.errors():
            compiled = compile_graph(options, captured.text, target, tuning, evaluate, form)
        target = compiled.target
        if isinstance(tuning, Tuning):
            tuning.cover(compiled.plan)
        for warning in tuning.finish():
            print(warning, file=sys.stderr)
    progress.say(f"{options.shown}: packing weights")
    weight_files = pack.weight_files(compiled.constants, captured.model)
    weights = pack.pack(compiled, weight_files, captured, host, cache, of_weights, options.jobs)
    inputs.hashes.save()

    embed = options.weights == "embed"
    backend = backends.find(options.backend)
    sources = backend.sources(options, compiled.plan, target)
    return Planned(compiled, target, target_file, captured, weight_files, weights, sources,
                   backend.driver(compiled.plan, target, sources, embed),
                   emit_header(compiled.plan, target, stem=Path(options.header).stem, embed=embed,
                               max_arena=options.max_arena), compiler, host)


def run(options: Options, progress: Progress, captured: capture_run.Captured | None = None,
        inputs: Inputs | None = None, form: ChooseForm | None = None) -> Made:
    """The plan, compiled; captured, inputs, form: as of `plan`."""
    planned = plan(options, progress, captured, inputs, form)
    compiler, target, sources = planned.compiler, planned.target, planned.sources
    # The driver runs before the instruction set is chosen: it is compiled for the baseline. With -O2 that takes twice
    # as long for a model of many layers, and is no faster; on microcontrollers, of one thread, it is smaller.
    optimise = "-O1" if target.threads > 1 else "-O2"
    driver = Unit(f"tcd_{planned.compiled.plan.model[:LONGEST_MODEL]}", planned.driver_text,
                  toolchain.kernel_flags(compiler, baseline(compiler.arch).name, target.flags, options.cflags,
                                         compiler.arch, optimise=optimise))
    if options.keep:
        for name, text in (*sources.texts(), (f"{driver.name}.c", driver.text)):
            files.write(Path(options.keep) / name, text)
    count = len(sources.by_symbol) + 1
    compiled_units = backends.find(options.backend).compile(
        options, target, compiler, options.open_cache(), sources, driver,
        lambda n: progress.say(f"{options.shown}: compiled {n} of {count}"))
    embedded = planned.weights if planned.compiled.plan.packed_bytes and options.weights == "embed" else None
    made = Made(**{f.name: getattr(planned, f.name) for f in fields(planned)},
                objects={o.name: o for o in compiled_units[:-1]}, driver=compiled_units[-1], embedded=embedded,
                flags=(*target.flags, *options.cflags),
                runtime=None if target.apart or target.threads > 1 else runtime_stack.needed(
                    options.runtime, compiler, (*target.flags, *options.cflags), options.open_cache()))
    budget.check(budget.bill(made), made, options.shown, options.max_arena, options.max_weights, options.max_code,
                 options.max_stack)
    return made


def link_object(made: Made, cache: Cache, out: Path, outputs: files.Outputs) -> None:
    """Links everything to the object `out` of the outputs: the driver first, then kernels by name, then the weights, in
    an order that does not depend on how fast they compiled."""
    with cache.scratch() as scratch:
        work = Path(scratch)
        objects_by_name = [o for _, o in sorted(made.objects.items())]
        linked = [o.path for o in (made.driver, *objects_by_name) if o.path]
        contents: dict[str, Path] = {}
        if made.embedded is not None:
            linked.append(objects.assemble(weights_place(made.compiled.plan), made.compiler,
                                           toolchain.host_flags(made.flags, made.compiler.arch), work))
            contents[weights_section(made.compiled.plan)] = made.embedded
        link.relocatable(linked, work / "model.o", made.compiler, made.flags, work, contents)
        outputs.move(work / "model.o", out)


def write(made: Made, options: Options) -> list[Path]:
    """All outputs or none of them; returns their paths."""
    paths = [Path(options.object), Path(options.header)]
    with files.Outputs() as outputs:
        link_object(made, options.open_cache(), paths[0], outputs)
        outputs.write(paths[1], made.header_text)
        if options.weights == "external":
            paths.append(Path(options.weights_file))
            outputs.write(paths[-1], external_weights(made.compiled.plan, made.weights))
        if options.explain:
            from . import report

            paths.append(Path(options.explain))
            outputs.write(paths[-1], report.text(made, options.shown))
    return paths
