# SPDX-License-Identifier: Apache-2.0
"""`check`: the compiled model against the interpreter and the user's own outputs. All arithmetic is in C: the
interpreter, the compiled model in a small program (generator/check/run_model.c), and tc-data, which makes random inputs
and compares.
"""
from __future__ import annotations

import functools
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Sequence

from ..errors import OptionError, UserError
from ..graph.dce import dce
from ..graph.ir import Module
from ..graph.text import print_module
from . import assemble, check_calls, check_runs, chosen, files, given, host_programs, model_program, numpy_files, \
    roundings
from .assemble import Made
from .check_calls import Calls, Tools
from .check_runs import Request, Run
from .comparison import Comparison
from .given import Given
from .judge import BOUNDS, NEAR, Judge
from .options import Options
from .progress import Progress
from .spread import Spread
from .verdict import Verdict


def run(options: Options, request: Request) -> int:
    # what is wrong with a file is said before the model is built
    cases = [check_runs.opened(case, request.names, options.shown) for case in request.cases]
    state = Given.read(request.state, {}) if request.state else None
    with Progress() as progress:
        made = assemble.run(options, progress)
        progress.say("")
        model_program.warn_fewer(options, request.threads, made.target)
        cache = options.open_cache()
        checked = chosen.functions(made, options.shown, request.function)
        if state is not None and not made.compiled.plan.states:
            raise OptionError("--state: the model has no state", state.shown)
        chosen.known_dims(made.compiled.plan.functions, request.dims, options.shown)
        runs = [replace(r, state=state) for function in checked
                for r in check_runs.runs_of(function, request, cases, made.captured, len(checked) > 1)]
        others = {b.name for f in made.compiled.plan.functions for b in f.outputs}
        ignored = [check_runs.not_compared(r, made.compiled.taps.get(r.function.name, {}), others) for r in runs]
        if request.cases:
            known = [b.name for f in made.compiled.plan.functions for b in (*f.inputs, *f.outputs)]
            tapped = [name for taps in made.compiled.taps.values() for name in taps]
            given.refuse_names(request.names, [*known, *tapped],
                               [f for r in runs for f in (r.inputs, r.expect) if f is not None])
        if not runs:
            cases[0].inputs.require(checked[0].inputs[0], "input")
        if request.save and len(runs) > 1:
            raise OptionError(f"--save: one file cannot hold the outputs of {len(runs)} runs", options.shown,
                              "choose one with --function and --dims")
        numpy_files.require_archivable(request.save, runs[0].function.outputs if runs else ())
        with cache.scratch() as scratch:
            folder = Path(scratch)
            names, externs = model_program.extern_sources(made, options.shown, request.externs)
            interpreter = host_programs.interpreter_with(made.host, cache, folder, externs, names, options.jobs) \
                if names else host_programs.interpreter(made.host, cache, options.jobs)
            tools = Tools(model_program.data_tool(made, cache), interpreter,
                          model_program.build(made, options, cache, folder, externs, request.wrapper), folder)
            for name, module in (("captured", _live(made.compiled.captured)), ("reference", made.compiled.reference)):
                (folder / f"{name}.tcg").write_bytes(files.encoded(print_module(assemble.placed(module, made))))
            verdict = Verdict()
            for wanted, left in zip(runs, ignored, strict=True):
                progress.say("")
                _check(made, options, wanted, request, tools, verdict, left, progress)
    for note in (*verdict.notes, *verdict.bent()):
        print(note)
    print(verdict.text(options.shown, len(runs)))
    return 0 if verdict.compared and not verdict.failed else 1


def _live(module: Module) -> Module:
    """The module without what no result needs: an index of what is not read cannot be out of range."""
    return replace(module, functions={name: dce(f) for name, f in module.functions.items()})


def _check(made: Made, options: Options, wanted: Run, request: Request, tools: Tools, verdict: Verdict,
           ignored: Sequence[str], progress: Progress) -> None:
    """ignored: tensors of the expected outputs that are not compared."""
    calls = check_calls.prepared(made, wanted, request, tools, options.shown)
    # a device takes what suits it of its images: one run
    cpus = (*((made.target.arch,) if made.target.apart else made.target.isas),
            *(("reference",) if options.with_reference else ()))
    exact, wide = tools.folder / "exact", tools.folder / "wide"
    graph, center = "captured", wide
    if options.numerics == "relaxed":   # its sums have other terms
        graph, center = "reference", tools.folder / "wide-reference"
    called = _called(calls, cpus, exact, wide, graph, center, options.jobs)
    bound = request.bound(BOUNDS.get(options.precision, ""))
    same_numbers = options.precision == "f32"   # others have an order of sums, and numbers, of their own
    plain = Spread.around(center, functools.partial(calls.interpret, "--f64", graph=graph), tools.folder / "noise",
                          options.jobs, progress.say)
    followed = functools.cache(lambda: roundings.follow(calls.interpret, bound or NEAR, tools.folder,
                                                        made.captured.as_given, options.jobs, progress.say))
    name = wanted.function.name
    comparison = Comparison(
        calls, Judge(tools.data, bound), verdict, exact if same_numbers else None, wide, plain,
        rounds=same_numbers and roundings.place(made.compiled.captured, name) is not None, followed=followed,
        steps=roundings.steps(made.compiled.captured, name), ignored=ignored)
    at = ", ".join(f"{k}={v}" for k, v in wanted.sizes.items())
    for cpu in cpus:
        title = " ".join(word for word in (calls.symbol, at, cpu) if word)
        if not _has_results(called[cpu], title, cpu, options, verdict):
            continue
        comparison.with_interpreter(title, calls.out(cpu))
        comparison.with_expected(title, calls.out(cpu))
        if request.save:
            numpy_files.write_tensors(request.save, calls.out(cpu), tools.folder / "archive")


def _called(calls: Calls, cpus: Sequence[str], exact: Path, wide: Path, graph: str, center: Path, jobs: int | None
            ) -> dict[str, subprocess.CompletedProcess[str]]:
    """The calls of the compiled model. The interpreter's results lie at exact, at wide in double precision, and at
    center those of the graph around which other roundings spread."""
    called: dict[str, subprocess.CompletedProcess[str]] = {}

    def call(cpu: str) -> None:
        called[cpu] = calls.compiled(cpu)

    references = [functools.partial(calls.interpret, out=exact, graph="reference"),
                  functools.partial(calls.interpret, "--f64", out=wide)]
    if center != wide:
        references.append(functools.partial(calls.interpret, "--f64", out=center, graph=graph))
    compiled = [functools.partial(call, cpu) for cpu in cpus]
    if calls.threads == 1:
        check_calls.side_by_side([*references, *compiled], calls.made, jobs)
    else:   # a team has the processors to itself
        check_calls.side_by_side(references, calls.made, jobs)
        check_calls.side_by_side(compiled, calls.made, 1)
    return called


def _has_results(called: subprocess.CompletedProcess[str], title: str, cpu: str, options: Options, verdict: Verdict
                 ) -> bool:
    """Whether a call of the compiled model has ended well; else says what became of it."""
    if called.returncode == model_program.NO_SUCH_CPU:
        verdict.say_skipped(title, cpu)
        return False
    if called.returncode == model_program.NO_DEVICE:
        raise UserError(f"the model cannot run here: {called.stderr.strip()}", options.shown,
                        f"check --target {options.backend} needs the device; building does not")
    if called.returncode:
        verdict.say_ended(title, called.stderr.strip() or f"exit code {called.returncode}")
        return False
    return True
