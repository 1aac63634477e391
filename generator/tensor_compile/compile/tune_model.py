# SPDX-License-Identifier: Apache-2.0
"""One model's search for its tuning lock, part by part, each in a part of the time: forms of variants, orders,
fusion and blocks, from which kernels follow; schedules of these; how teams share them."""
from __future__ import annotations

import os
from contextlib import contextmanager
from dataclasses import field, replace
from functools import partial
from typing import Callable, Iterable, Iterator, Mapping, Sequence

from ..emit.contraction.key import split_key
from ..errors import UsageError
from ..instruction_sets import instruction_set
from ..loops import schedule_cuda
from ..loops.accesses import written
from ..loops.loop_ir import ContractionKernel, GroupedContractionKernel
from ..loops.program_ir import ModelPlan, Step
from ..loops.sorted_words import multiplied_by
from ..records import dataclass
from ..target import Target
from . import assemble, counting, cuda_image, decisions, lock as locks, machine_lock, pack, processor, recording, \
    tune, tune_cuda, tune_lines, tune_variants, tune_whole
from .harness import Toolset
from .lock import Entry, Tuning
from .numbers import number_of, numbers_of
from .options import Options
from .progress import Progress
from .record import Inputs
from .toolchain import Compiler
from .tune import OutOfTime, Result, Stopped
from .tune_lines import Kind
from .tune_variants import Keys, Timed

FORMS, LINES = 1 / 3, 1 / 4    # of what is left of the time, that they may take
SPLITS = 1 / 5                 # what splits have at least
WHOLE = 1 / 4                  # what proofs by whole calls of a GPU have at least
LEAST = 0.5    # seconds, below which no part begins
EARLY, EARLY_PART = 2.0, 0.03   # seconds at most that a search ends early, and part of its budget: processes end, too
FORM_BUILDS = 2   # with and without regions; stripes have most kernels of one of these
BUILD = 3      # times what planning takes: a build of decisions with its own kernels, and timing it

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Request:
    """again: what has a good line, too; keep: the lock is written; rounds, count, wrapper, link_args: as of `tune`."""

    again: bool
    keep: bool
    rounds: int
    count: str
    wrapper: tuple[str, ...]
    link_args: tuple[str, ...]
    jobs: int | None


@dataclass(slots=True)
class Clock:
    """budget: seconds, None: no limit; most: those in its place until something is measured of each function, 0: no
    more."""

    budget: float | None
    begun: float = field(default_factory=machine_lock.now)
    most: float = 0.0

    def left(self, part: float = 1.0) -> float | None:
        """A part of what is left."""
        return None if self.budget is None else part * self._until(self.budget)

    def left_at_most(self) -> float | None:
        return None if self.budget is None else self._until(max(self.budget, self.most))

    def _until(self, end: float) -> float:
        return end - min(EARLY, EARLY_PART * end) - (machine_lock.now() - self.begun)

    @property
    def over(self) -> bool:
        left = self.left()
        return left is not None and left < LEAST


@dataclass(frozen=True, slots=True)
class Planned:
    """target: with all instruction sets that kernels are made for (keys.tuning.target: without those for integers that
    the model needs); keys: of the variants, and what else the lock may decide."""

    plan: ModelPlan
    compiler: Compiler
    host: Compiler
    target: Target
    keys: Keys


def planned(options: Options) -> Planned:
    """What a build of these options is, with what its lock has."""
    compiler, host, target, _ = assemble.toolchains(options)
    cache = options.open_cache()
    captured = recording.capture(options, host, cache)
    evaluate = pack.evaluator(captured, host, cache, Inputs(cache.root), options.jobs)
    keys = Keys(Tuning.load("off" if target.apart else "lock", options.lock_path, target,
                            options.optimize == "size", True))
    with captured.errors():
        compiled = assemble.compile_graph(options, captured.text, target, keys.tuning, evaluate, keys.form)
    return Planned(compiled.plan, compiler, host, compiled.target, keys)


def used(of: Planned) -> list[str]:
    """The keys of the lock that a build asks for, beside those of schedules."""
    tuning = of.keys.tuning
    splits = (key for key, _ in decisions.split_keys(of.plan, of.target.name))
    return [*of.keys.found.values(), *tuning.orders, *tuning.applied, *tuning.fusions, *tuning.blocks, *splits]


def search(options: Options, request: Request, clock: Clock, tell: Say) -> Result:
    """tell: gets lines that stay; what is under way is shown as progress. An interruption (Stopped) says what is
    kept."""
    if options.backend == "cuda" and (request.count != "time" or request.wrapper):
        raise UsageError("kernels of a GPU are timed by it: --count and --exe-wrapper do not go with them")
    if request.keep:
        locks.renew(options.lock_path)
    # a frozen build asks for lines that are to be measured here
    with Progress(pulse=True) as progress:
        begun = _Search(replace(options, tune="lock"), request, clock, tell, progress, locks.read(options.lock_path))
        try:
            return begun.run()
        except Stopped as end:
            raise Stopped(end.result, begun.kept(end.result)) from None
        except KeyboardInterrupt:
            raise Stopped(begun.result, begun.kept(begun.result)) from None


@dataclass(slots=True)
class _Search:
    options: Options
    request: Request
    clock: Clock
    tell: Say
    progress: Progress = field(default_factory=Progress)
    known: Mapping[str, Entry] = field(default_factory=dict)   # lines of the lock when the search begins
    formed: float = 0.0   # seconds that forms took, two builds that are timed; nothing where the lock has them
    planning: float = 0.0   # seconds that it took to plan the build
    share: float = LINES / 2   # of what is left of the time, which orders, fusions and blocks may take each
    waiting: bool = False   # one of them had too little
    unformed: bool = False   # forms had too little
    last: Planned | None = None   # what the build was when it was looked at last
    measured: set[str] = field(default_factory=set)   # keys of decisions and variants, in this search
    result: Result = field(default_factory=Result)    # of kernels, once all of them were looked at

    def run(self) -> Result:
        of = self.planned()
        if of is not None and of.target.apart:
            return self.on_gpu(of)
        if of is not None and self.calls(of.target):
            if self.known and not self.request.again and (left := self.decisions_left(of)):
                self.tell(f"left to be measured, beside kernels: {numbers_of(left)}")
            for part in (self.forms, self.lines):
                if of is not None and not self.clock.over and part(of) and self.request.keep:
                    of = self.planned()   # whose kernels may be others now
        if of is None:
            return Result(left=1, planned=False)
        shares = self.calls(of.target) and tune_lines.team(of.target) > 1
        reserved = SPLITS if shares and not self.short(self.split_kind(of), SPLITS, self.request.again) else 0
        behind = self.decisions_left(of)
        with self.shown() as progress:
            tools = Toolset(of.compiler, of.target, self.options.cflags, self.options.open_cache(),
                            self.request.wrapper, self.request.link_args, self.request.jobs, self.request.count,
                            of.host.command)
            names, kernels, reads = [*zip(*tune.of_functions(of.plan), strict=True)] or ((), (), ())
            result = tune.tune(kernels, tools, self.options.lock_path, self.request.rounds, self.request.again,
                               self.say(progress), self.clock.left(1 - reserved), self.request.keep, behind, names,
                               self.clock.left_at_most() if self.clock.most else None,
                               progress.notes(self.options.shown), reads)
        self.result = result
        if shares:
            self.splits()
        if self.unformed and not self.clock.over and (now := self.planned()) is not None:
            self.forms(now, 1)
        if self.waiting and not self.clock.over and (now := self.planned()) is not None:
            self.share = 1
            self.lines(now)   # where kernels are others then, they are the next run's
        if self.clock.budget is not None and self.last is not None:
            result.decisions = self.decisions_left(self.last)
        return result

    def kept(self, result: Result) -> str:
        """What an interruption leaves behind, in the words of a search that ends. result: of kernels."""
        lock, of = self.options.lock_path, self.last
        if not self.request.keep:
            return "nothing was written"
        if of is None:
            return "nothing was measured yet; run it again"
        now, name = locks.read(lock), os.path.relpath(lock)
        left = replace(result, decisions=self.decisions_left(of)).rest if result.timed or result.left else ""
        state = f"there is no {name} yet" if not now else f"{name} is as it was" if now == self.known else \
            f"{name} has what was measured"
        return f"{number_of(len(result.timed), 'kernel') if result.timed else 'no kernel'} measured" \
               f"{f' (left for the next run: {left})' if left else ''}; {state}; run it again to go on"

    def short(self, kind: Kind, part: float, again: bool) -> bool:
        """Whether decisions would not come to their end in that part of what is left of the time."""
        return self.clock.budget is not None and self.last is not None and self.too_short(
            tune_lines.builds(self.options.lock_path, kind, self.last.compiler, again), part)

    def too_short(self, builds: int, part: float) -> bool:
        """Whether so many builds, each of which is timed, would not come to their end in that part of what is left."""
        room = self.clock.left(part)
        return room is not None and room < builds * max(BUILD * self.planning, self.formed / 2)

    def decisions_left(self, of: Planned) -> dict[str, int]:
        """How many variants, and decisions of each kind, are to be measured, where whole calls are timed."""
        if not self.calls(of.target):
            return {}
        lock, again = self.options.lock_path, self.request.again
        kinds = [self.order_kind(of), self.fusion_kind(of), self.block_kind(of)] if self.options.tunes_lines else []
        kinds += [self.split_kind(of)] if tune_lines.team(of.target) > 1 else []
        found = {"variants": tune_variants.left(lock, of.plan, of.keys, of.compiler, again)} | \
            {kind.name: tune_lines.left(lock, kind, of.compiler, again) for kind in kinds}
        return {name: len(keys - self.measured) for name, keys in found.items() if keys - self.measured}

    def planned(self) -> Planned | None:
        """What the build is now; None where there is no time for that."""
        begun = machine_lock.now()
        try:
            with self.shown() as progress, tune.limited(self.clock.left_at_most()):
                progress.say(f"{self.options.shown}: planning the build")
                self.last = planned(self.options)
        except OutOfTime:
            return None
        self.planning = machine_lock.now() - begun
        return self.last

    @contextmanager
    def shown(self) -> Iterator[Progress]:
        """What a part of the search says, which is cleared at its end."""
        try:
            yield self.progress
        finally:
            self.progress.say("")

    def say(self, progress: Progress) -> Say:
        return partial(lambda model, line: progress.say(f"{model}: {line}"), self.options.shown)

    def on_gpu(self, of: Planned) -> Result:
        with self.shown() as progress:
            tools = tune_cuda.Toolset(cuda_image.detect(self.options.nvcc), of.host, of.target,
                                      self.options.open_cache(), self.request.jobs,
                                      self.options.cuda_libraries == "auto")
            kernels = tune_cuda.kernels(of.plan, schedule_cuda.units(of.target))
            result = tune_cuda.tune(kernels, tools, self.options.lock_path, self.request.rounds,
                                    self.request.again, self.say(progress), self.clock.left(1 - WHOLE),
                                    self.request.keep, self.tell, progress.notes(self.options.shown))
        self.result = result
        changes = tune_whole.changes(result)
        if changes:
            with self.shown() as progress:
                proof = tune_whole.prove(self.options, changes, tune_whole.places(of.plan, of.target), progress,
                                         self.clock.left())
            tune_whole.refuse(result, proof, self.options.lock_path, self.request.keep)
            self.tell(tune_whole.summary(proof, len(changes)))
        return result

    def calls(self, target: Target) -> bool:
        """Whether whole calls can be timed here."""
        return self.request.count == "time" and not self.request.wrapper and not counting.bare(target) and \
            target.arch == os.uname().machine

    def forms(self, of: Planned, part: float = FORMS) -> bool:
        """How the kernels of variants run together. Whether forms may be others now."""
        measured, begun = False, machine_lock.now()
        left = tune_variants.left(self.options.lock_path, of.plan, of.keys, of.compiler, self.request.again) - \
            self.measured
        self.unformed = bool(left) and self.too_short(FORM_BUILDS, part)
        if self.unformed:
            return False
        try:
            with self.shown() as progress, tune.limited(self.clock.left(part)):
                for timed in tune_variants.tune(self.options, left, of.keys, of.compiler, progress, self.request.keep):
                    progress.say("")
                    measured = True
                    self.measured.add(timed.key)
                    self.tell(line(timed))
        except OutOfTime:
            self.unformed = True
            if part == 1:
                self.tell("how kernels run together was not measured to the end: the next run goes on")
        self.formed = machine_lock.now() - begun
        return measured

    def lines(self, of: Planned) -> bool:
        """Orders, fusion and blocks. Whether any is another one now."""
        if not self.options.tunes_lines:
            return False
        more = changed = self.kind(of, self.order_kind(of), self.share, self.request.again)
        again = self.request.again
        while True:
            if more and self.request.keep:   # values that lie otherwise have other fusions, what is stored has more
                now = None if self.clock.over else self.planned()
                if now is None:
                    return True
                of = now
            more = self.kind(of, self.fusion_kind(of), self.share, again)
            changed, again = changed or more, False
            if not (more and self.request.keep):    # chains are what fusion left
                return self.kind(of, self.block_kind(of), self.share, self.request.again) or changed

    def order_kind(self, of: Planned) -> Kind:
        return Kind("orders", list(of.keys.tuning.orders.values()), None)

    def fusion_kind(self, of: Planned) -> Kind:
        return Kind("fusions", list(of.keys.tuning.fusions.values()), partial(_of_written, of.keys.tuning.stored))

    def block_kind(self, of: Planned) -> Kind:
        return Kind("blocks", list(of.keys.tuning.blocks.values()), partial(_of_written, of.keys.tuning.handed))

    def splits(self) -> None:
        """How a team shares each contraction, whose schedules are in the lock by now."""
        of = None if self.clock.over else self.planned()
        if of is not None:
            self.kind(of, self.split_kind(of), 1, self.request.again)

    def split_kind(self, of: Planned) -> Kind:
        target = of.keys.tuning.target
        isa = (processor.best_only(self.options, target).isas or target.isas)[-1]

        def shared(entry: str, variant: str, step: Step) -> Iterable[str]:
            kernel = step.kernel
            parts = kernel.contractions if isinstance(kernel, (ContractionKernel, GroupedContractionKernel)) else ()
            return [split_key(part, target.name) for part in parts]
        return Kind("splits", decisions.splits(of.plan, target, isa, tune_lines.team(target)), shared)

    def here(self, of: Planned) -> Options:
        """Of what is measured: with this machine's best instruction set, and with one that has the weights' words
        sorted where the build has such a one, so that they lie in memory as there and keys are the same."""
        target = of.keys.tuning.target
        best = processor.best_only(self.options, target)
        sorting = [isa for isa in target.isas if multiplied_by(instruction_set(isa))]
        if not any(kernel.product.ordered for kernel in tune.contractions(of.plan)) or set(sorting) & set(best.isas):
            return best
        return replace(best, isas=(sorting[0], *best.isas))

    def kind(self, of: Planned, kind: Kind, part: float, again: bool) -> bool:
        """Whether any decision is another one now. again: those with a good line are measured, too."""
        if self.clock.over or not kind.decisions:
            return False
        if self.short(kind, part, again):
            self.waiting |= kind.name != "splits"
            return False
        with self.shown() as progress, tune.limited(self.clock.left(part)):
            found = tune_lines.tune(self.here(of), kind, of.keys.tuning.target, of.compiler, again, progress,
                                    self.request.keep)
        self.waiting |= kind.name != "splits" and not found.ended
        self.measured |= {timed.key for timed in found.timed}
        for timed in sorted(found.timed, key=lambda timed: timed.won[1] - timed.used[1]):
            if timed.won[0] != timed.used[0]:
                self.tell(line(timed))
        if found.timed or not found.ended:
            self.tell(summary(kind.name, found.timed, found.called, found.ended, self.request.keep))
        return any(timed.won[0] != timed.used[0] for timed in found.timed)


def _of_written(keys: Mapping[tuple[str, str, str], str], entry: str, variant: str, step: Step) -> Iterator[str]:
    """What the lock's keys are of the values that a step stores. keys: by entry, variant and value."""
    return (keys[at] for name in written(step.kernel) if (at := (entry, variant, name)) in keys)


def line(timed: Timed) -> str:
    (before, was), (now, us) = timed.used, timed.won
    notes, others = [], ""
    if timed.teams:
        notes = [f"a whole call by {number_of(timed.teams[1], 'thread')}"]
        others = f" by {number_of(timed.teams[0], 'thread')}" if timed.teams[0] != timed.teams[1] else ""
    if now != before:
        notes.append(f"was {was:.3f} us{others}, {before}")
    return f"{us:>11.3f} us  {now}  {timed.key}" + (f"  ({'; '.join(notes)})" if notes else "")


def summary(name: str, timed: Sequence[Timed], called: tuple[float, float] | None, ended: bool, kept: bool) -> str:
    if not timed:
        return f"{name} were not measured to their end: the next run goes on"
    changed = sum(t.won[0] != t.used[0] for t in timed)
    calls = "" if called is None else f", a call {called[0]:.1f} us before, {called[1]:.1f} us now"
    rest = "" if ended else "; the rest is left for the next run"
    return f"{changed} of {len(timed)} {name} {'changed' if kept else 'would change'}{calls}{rest}"
