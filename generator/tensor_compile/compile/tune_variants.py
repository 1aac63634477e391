# SPDX-License-Identifier: Apache-2.0
"""Measures how the kernels of each variant run together (loops/variant_form.py): whole calls, with and without tile
regions and stripes, by teams of several sizes. Kernels have the schedules of the lock, as far as it has any.

A call of every form is timed in turns, alone on the machine; a form's time is its least. The one that was used stays
unless another one is more than 3 % faster and wins a duel (duel.py). Variants whose sizes are not all known are not
measured."""
from __future__ import annotations

import os
import resource
from dataclasses import field
from functools import partial
from pathlib import Path
from typing import Callable, Collection, Iterator, Mapping

from ..emit.contraction.key import variant_key
from ..emit.work import program_barriers, program_work, team_worth
from ..errors import UserError
from ..graph.ir import Function
from ..loops.loop_ir import ExternKernel
from ..loops.program_ir import FunctionPlan, ModelPlan, Program, regions, Tiles, Variant
from ..loops.stripe_gains import STRIPES
from ..loops.variant_form import VariantForm, parse
from ..records import dataclass
from ..target import Target
from . import assemble, lock as locks, machine_lock, model_program, processor, profile_model, random_inputs, \
    run_model, tensor_files
from .assemble import Made
from .duel import Duel, fought
from .lock import Entry, Tuning
from .options import Options
from .progress import Progress
from .toolchain import Compiler

TURNS = 3          # of every form
TURN = 60          # milliseconds of calls in one
FEW_SWITCHES = 50  # involuntary ones a second that threads ran, beside no other work; beside some they are hundreds
FINALISTS = 2      # forms that may beat the one that was used
WORTH = 0.97       # of the time of the form that was used, below which another one takes its place
WORTH_MEASURED = 0.94   # the same where an earlier run chose it


@dataclass(frozen=True, slots=True)
class Timed:
    """key: of the lock; used: the choice before and its microseconds; won: the same of the choice now. teams: the
    threads of both, where whole calls were timed."""

    key: str
    used: tuple[str, float]
    won: tuple[str, float]
    teams: tuple[int, int] | None = None


@dataclass(slots=True)
class Keys:
    """The keys of a build's variants by entry and name, which the passes ask for their forms: those of the lock."""

    tuning: Tuning
    found: dict[tuple[str, str], str] = field(default_factory=dict)

    def form(self, entry: str, variant: str, graph: Function) -> VariantForm:
        self.found[entry, variant] = variant_key(entry, variant, graph, self.tuning.target.name)
        return self.tuning.form(entry, variant, graph)


def left(lock: Path, plan: ModelPlan, keys: Keys, compiler: Compiler, again: bool) -> set[str]:
    """The keys of the variants that are to be measured. plan, keys: of a build."""
    known, target = locks.read(lock), keys.tuning.target
    sized = {(function.name, variant.name) for function in plan.functions for variant in function.variants
             if len(variant.when) == len(function.dims)}
    externs = any(isinstance(step.kernel, ExternKernel) for function in plan.functions for variant in function.variants
                  for step in variant.program.kernel_steps)
    if externs or target.threads < 2 and not target.tiles:
        return set()
    templates = locks.templates_digest()
    return {key for at, key in keys.found.items()
            if at in sized and (again or not _fresh(known.get(key), compiler, templates))}


def _fresh(entry: Entry | None, compiler: Compiler, templates: str) -> bool:
    """Whether a line is none that has to be measured again. templates: their digest."""
    return entry is not None and parse(entry.candidate) is not None and \
        (entry.templates, entry.compiler) == (templates, compiler.release)


def tune(options: Options, wanted: Collection[str], keys: Keys, compiler: Compiler, progress: Progress, keep: bool
         ) -> Iterator[Timed]:
    """Brings the lock up to date with the variants, one after the other. wanted: the keys of those that are measured;
    keys: of a build with these options."""
    lock, target = options.lock_path, keys.tuning.target
    known, templates = locks.read(lock), locks.templates_digest()
    todo = {at for at, key in keys.found.items() if key in wanted}
    if not todo:
        return
    if keep:
        locks.require_writable(lock)
    for name, found in _measured(options, todo, target, progress):
        key = keys.found[name]
        used = parse(known[key].candidate) if key in known else None
        timed = _decide(key, used or VariantForm(), found,
                        WORTH_MEASURED if _fresh(known.get(key), compiler, templates) else WORTH)
        if keep:
            known[key] = Entry(key, *timed.won, False, compiler.release, templates)
            locks.write(lock, known)
        yield timed


@dataclass(frozen=True, slots=True)
class _Times:
    """us: of a call by form, each with its number of threads; usual: how many the core takes unless a form says it;
    duel: of two of them, what is used and a challenger."""

    us: dict[VariantForm, float]
    usual: int
    duel: Callable[[VariantForm, VariantForm, float], Duel]


def _decide(key: str, used: VariantForm, found: _Times, worth: float = WORTH) -> Timed:
    """Of those that beat what was used the best."""
    def exact(form: VariantForm) -> VariantForm:
        return VariantForm(form.chains, form.threads or found.usual)

    def name(form: VariantForm) -> str:
        return VariantForm(form.chains, 0 if form.threads == found.usual else form.threads).name
    before = exact(used) if exact(used) in found.us else exact(VariantForm())
    us = found.us[before]
    for best in sorted(found.us, key=lambda form: found.us[form])[:FINALISTS]:
        if found.us[best] < worth * us and (duel := found.duel(before, best, worth)).won:
            return Timed(key, (name(before), duel.least[0]), (name(best), duel.least[1]),
                         (before.threads, best.threads))
    return Timed(key, (name(before), us), (name(before), us), (before.threads, before.threads))


def _measured(options: Options, todo: set[tuple[str, str]], target: Target, progress: Progress
              ) -> Iterator[tuple[tuple[str, str], _Times]]:
    """The times of one variant after the other."""
    cache = options.open_cache()
    with cache.scratch() as scratch:
        def built(chains: str) -> Built | None:
            """None where it calls the user's functions, which are not here."""
            form = VariantForm(chains, target.threads)   # any team is worth it
            made = assemble.run(processor.best_only(options, target), progress, form=lambda *of, form=form: form)
            if calls_user(made):
                return None
            folder = Path(scratch) / form.name
            folder.mkdir()
            return Built(made, options, folder)
        first = built(VariantForm().chains)
        if first is None:
            return
        programs = {VariantForm().chains: first}
        programs |= {chains: other for chains in _others(first.made.compiled.plan, options)
                     if (other := built(chains)) is not None}
        for function in first.made.compiled.plan.functions:
            for variant in function.variants:
                if (function.name, variant.name) in todo:
                    progress.say(f"{options.shown}: measuring {function.name}/{variant.name}")
                    with machine_lock.alone(progress.notes(options.shown)):
                        yield (function.name, variant.name), _timed(programs, function, variant, target)


def _others(plan: ModelPlan, options: Options) -> list[str]:
    """What a form may have in place of `regions`, of which the plan is, that differs for some variant."""
    programs = [variant.program for function in plan.functions for variant in function.variants]
    small = options.memory == "small"    # stripes are those of the least memory, whatever the form
    return [chains for chains, differs in (("stripes", not small and any(map(_may_have_stripes, programs))),
                                           ("kernels", any(map(_has_tiles, programs)))) if differs]


def _timed(programs: dict[str, Built], function: FunctionPlan, variant: Variant, target: Target) -> _Times:
    most = min(len(os.sched_getaffinity(0)), target.threads)
    work = program_work(variant.program)
    usual = team_worth(work.value if work.is_const else 0, program_barriers(variant.program), most)
    teams = sorted({1, usual, most, *(1 << i for i in range(1, most.bit_length()) if 1 << i < most)})
    differs = {"stripes": _may_have_stripes, "kernels": _has_tiles}
    tried = [chains for chains in programs if chains not in differs or differs[chains](variant.program)]
    us: dict[VariantForm, float] = {}

    def time(form: VariantForm) -> float:
        return programs[form.chains].time(function, variant, form.threads)
    for _ in range(TURNS):
        for form in (VariantForm(chains, t) for chains in tried for t in teams):
            found = time(form)
            us[form] = min(found, us.get(form, found))
    return _Times(us, usual, partial(_fought, programs, function, variant))


def _fought(programs: Mapping[str, Built], function: FunctionPlan, variant: Variant, used: VariantForm,
            other: VariantForm, worth: float) -> Duel:
    """Beside other work a larger team waits for its threads: that says nothing about teams of other sizes."""
    held = [False, False]   # the two calls of a turn, which may be of one program

    def time(at: int, form: VariantForm) -> float:
        program = programs[form.chains]
        us = program.time(function, variant, form.threads)
        held[at] = program.held_up
        return us
    return fought(partial(time, 0, used), partial(time, 1, other), worth,
                  lambda: used.threads == other.threads or not any(held))


def _may_have_stripes(program: Program) -> bool:
    """Chains of which the first team alone says whether stripes pay."""
    return any(isinstance(region, Tiles) and region.windows for region in regions(program.steps)) or \
        any(what.endswith(STRIPES) for what, _ in program.refusals)


def _has_tiles(program: Program) -> bool:
    return any(isinstance(region, Tiles) for region in regions(program.steps))


def calls_user(made: Made) -> bool:
    return any(n.op == "extern_call" for f in made.compiled.captured.functions.values() for n in f.nodes)


class Built:
    """A build that can be called. folder: for its files; held_up: threads were taken from processors while the last
    calls were timed."""

    held_up = False

    def __init__(self, made: Made, options: Options, folder: Path):
        self.made, self.options, self.folder = made, options, folder
        cache = options.open_cache()
        self.program = model_program.build(made, options, cache, folder, (), ())
        self.data = model_program.data_tool(made, cache)
        self.symbols = assemble.entry_symbols(made.compiled.plan)

    def time(self, function: FunctionPlan, variant: Variant, threads: int) -> float:
        """Microseconds of a call on random inputs."""
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        us = int(self._call(function, variant, threads, time=TURN)) / 1e3
        now = resource.getrusage(resource.RUSAGE_CHILDREN)
        ran = now.ru_utime + now.ru_stime - before.ru_utime - before.ru_stime
        self.held_up = now.ru_nivcsw - before.ru_nivcsw > FEW_SWITCHES * max(ran, TURN / 1e3)
        return us

    def profile(self, function: FunctionPlan, variant: Variant, threads: int, calls: int) -> dict[int, float]:
        """Microseconds of each step of such a call, the median of some."""
        record = self.folder / "record"
        made = int(self._call(function, variant, threads, profile=(str(calls), str(record))))
        symbol = self.symbols[function.name]
        events = [e for e in profile_model.read_record(record, "the record")
                  if (e.function, e.variant) == (symbol, variant.name)]
        return profile_model.medians(events, made)

    def results(self, function: FunctionPlan, variant: Variant) -> bytes:
        """The outputs of the variant's last call."""
        return (self.folder / f"{function.name}.{variant.name}.outputs").read_bytes()

    def _call(self, function: FunctionPlan, variant: Variant, threads: int, profile: tuple[str, ...] = (),
              time: int = 0) -> str:
        sizes = dict(variant.when)
        inputs = self.folder / f"{function.name}.{variant.name}.inputs"
        if not inputs.exists():
            if function.inputs:
                model_program.run([str(self.data), "random", "1", str(inputs),
                                   *random_inputs.specs(self.made.compiled, function, sizes)])
            else:
                tensor_files.write_zeros(inputs, {})
        states = run_model.states(self.made, run_model.Request("", "", {}, ""), self.folder)
        symbol = self.symbols[function.name]
        result = self.program.call(symbol, inputs, self.folder / f"{function.name}.{variant.name}.outputs", "best",
                                   threads, sizes, states, self.options.shown, profile, time)
        if result.returncode or not result.stdout.strip().isdigit():
            raise UserError(f"{symbol}: {result.stderr.strip() or 'its calls cannot be timed'}", self.options.shown)
        return result.stdout
