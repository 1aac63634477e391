# SPDX-License-Identifier: Apache-2.0
"""Measures decisions that are neither schedules nor forms (decisions.py), in whole builds for this machine's best
instruction set: one with what is used now, and one a trial, in which each decision has the first (second, …) of its
other choices. A trial's lock is all that differs.

Kernels are timed within calls of a team, so each finds the caches as it does in the model. Kernels of the two builds
that differ are put into regions: two are in one where they touch a buffer that only one of the builds has, or store the
same. What a decision costs is the time of its regions, the sum over all places where it applies. Outputs of a trial
must have the bits of what is used now."""
from __future__ import annotations

import os
from collections import defaultdict
from dataclasses import field, replace
from functools import partial
from pathlib import Path
from typing import Callable, Hashable, Iterable, Mapping, Sequence

from ..emit.identity import identity
from ..loops.accesses import read, written
from ..loops.program_ir import FunctionPlan, Program, Step, Variant
from ..records import dataclass
from ..target import Target
from . import assemble, lock as locks, machine_lock
from .decisions import Decision
from .duel import fought
from .lock import Entry
from .options import Options
from .progress import Progress
from .toolchain import Compiler
from .tools import ToolBroken
from .tune import OutOfTime
from .tune_variants import Built, calls_user, Timed

TURNS = 6        # of the two builds of a trial
LOST = 1         # of them that a choice may lose and still take the place of what is used
CALLS = 12       # of a turn, at most
WHOLE = 0.995    # of the time of what is used, below which whole calls with what won are faster by more than noise
WHOLE_MEASURED = 0.985   # the same where an earlier run chose any of it
WORTH = 0.97     # of the time of what is used, below which another choice takes its place
WORTH_MEASURED = 0.94   # the same where an earlier run chose it

# of an entry, a variant's name and a kernel: the decisions that it follows
KeysOf = Callable[[str, str, Step], Iterable[str]]


@dataclass(frozen=True, slots=True)
class Kind:
    """Decisions that are measured together. name: of many; keys_of: of a kernel that differs; None: each decision has
    trials of its own, and all that differs in them is its."""

    name: str
    decisions: Sequence[Decision]
    keys_of: KeysOf | None


@dataclass(slots=True)
class Search:
    """What is known so far. found: of a decision, microseconds in each turn of what is used and of another choice, by
    that choice; measured: decisions that an earlier run measured; called: of a call of what is used, and of what won;
    proved: that was measured, or nothing won."""

    used: dict[str, str]
    measured: frozenset[str] = frozenset()
    found: dict[str, dict[str, tuple[list[float], list[float]]]] = field(default_factory=lambda: defaultdict(dict))
    called: tuple[float, float] | None = None
    proved: bool = False

    def won(self, key: str) -> Timed:
        """The choice that is best of those that are better than what is used by more than chance."""
        best = Timed(key, (self.used[key], 0.0), (self.used[key], 0.0))
        worth = WORTH_MEASURED if key in self.measured else WORTH
        for name, (used, tried) in self.found[key].items():
            was, now = min(used), min(tried)
            lost = sum(b >= a for a, b in zip(used, tried))
            if not best.used[1]:
                best = Timed(key, (self.used[key], was), (self.used[key], was))
            if now < worth * was and lost <= LOST and now / was < best.won[1] / best.used[1]:
                best = Timed(key, (self.used[key], was), (name, now))
        return best

    def keep(self, keys: Iterable[str]) -> None:
        """Nothing is better than what is used there, whose time stays known."""
        for key in keys:
            self.found[key] = {name: (used, used) for name, (used, _) in self.found[key].items()}


def todo(kind: Kind, known: Mapping[str, Entry], name_of_compiler: str, again: bool) -> list[Decision]:
    """Those whose line is missing, is none of the choices, or was measured with other templates or another compiler."""
    templates = locks.templates_digest()

    def fresh(d: Decision) -> bool:
        entry = known.get(d.key)
        return entry is not None and entry.candidate in (d.usual, *d.others) and \
            (entry.templates, entry.compiler) == (templates, name_of_compiler)
    return [d for d in kind.decisions if again or not fresh(d)]


def left(lock: Path, kind: Kind, compiler: Compiler, again: bool) -> set[str]:
    """The keys of what is to be measured."""
    return {d.key for d in todo(kind, locks.read(lock), compiler.release, again)}


def builds(lock: Path, kind: Kind, compiler: Compiler, again: bool) -> int:
    """Builds that measuring them takes: one with what is used, the trials, one that is proved."""
    known = locks.read(lock)
    found = todo(kind, known, compiler.release, again)
    trials = len(_trials(kind, found, _searching(found, known, frozenset()))) if found else 0
    return trials + 2 if trials else 0


def _searching(found: Sequence[Decision], known: Mapping[str, Entry], measured: frozenset[str]) -> Search:
    """Nothing is measured yet."""
    return Search({d.key: known[d.key].candidate if d.key in known and known[d.key].candidate in d.others else d.usual
                   for d in found}, measured)


@dataclass(frozen=True, slots=True)
class Found:
    """timed: of what was measured; called: microseconds of a call with what was used and with what won, None where
    nothing won; ended: the time was enough for all; search: all that was measured."""

    timed: list[Timed]
    called: tuple[float, float] | None
    ended: bool
    search: Search


def tune(options: Options, kind: Kind, target: Target, compiler: Compiler, again: bool, progress: Progress, keep: bool
         ) -> Found:
    """Brings the lock up to date with the decisions. options: of the builds that are measured."""
    lock, name_of_compiler = options.lock_path, compiler.release
    known = locks.read(lock)
    found = todo(kind, known, name_of_compiler, again)
    missing = {d.key for d in todo(kind, known, name_of_compiler, False)}
    search = _searching(found, known, frozenset(d.key for d in found if d.key not in missing))
    done: list[str] = []
    ended = True
    try:
        done += [d.key for d in found if not _choices(d, search)]
        if len(done) < len(found):
            if keep:
                locks.require_writable(lock)
            _measure(options, kind, found, search, done, target, progress)
    except OutOfTime:
        ended = False
    finally:
        timed = [t for t in map(search.won, done) if search.proved or t.won[0] == t.used[0]]
        if keep and timed:
            for t in timed:
                known[t.key] = Entry(t.key, *t.won, False, name_of_compiler, locks.templates_digest())
            locks.write(lock, known)
    return Found(timed, search.called, ended, search)


def _choices(d: Decision, search: Search) -> list[str]:
    return [name for name in (d.usual, *d.others) if name != search.used[d.key]]


def _trials(kind: Kind, left: Sequence[Decision], search: Search) -> list[dict[str, str]]:
    """What each trial decides otherwise than is used."""
    if kind.keys_of is None:
        return [{d.key: name} for d in left for name in _choices(d, search)]
    most = max(len(_choices(d, search)) for d in left)
    return [{d.key: names[i] for d in left if i < len(names := _choices(d, search))} for i in range(most)]


def _measure(options: Options, kind: Kind, left: Sequence[Decision], search: Search, done: list[str], target: Target,
             progress: Progress) -> None:
    """done: decisions get there as soon as all their choices are measured."""
    own = replace(options, weights="external", tune="lock", explain="", keep="", max_arena=None, max_weights=None,
                  max_code=None, max_stack=None)
    entries = locks.read(options.lock_path)
    cache = options.open_cache()
    with cache.scratch() as scratch:
        def built(name: str, decided: dict[str, str]) -> Built:
            """With a line for each decision, as in the lock then: a value in another order would move those beside it
            that have none."""
            path = Path(scratch) / f"{name}.lock"
            lines = entries | {key: Entry(key, choice, 0.0, False, "c", "0")
                               for key, choice in (search.used | decided).items()}
            locks.write(path, lines)
            folder = Path(scratch) / name
            folder.mkdir()
            return Built(assemble.run(replace(own, lock=str(path)), progress), own, folder)
        base = built("used", {})
        if calls_user(base.made):
            done += [d.key for d in left if d.key not in done]
            return   # whose functions are not here
        trials = _trials(kind, left, search)
        for number, decided in enumerate(trials):
            progress.say(f"{options.shown}: trial {number + 1} of {len(trials)} of {len(left)} decisions")
            trial = built(f"trial{number}", decided)
            with machine_lock.alone(progress.notes(options.shown)):
                _compare(base, trial, kind, decided, search, options.shown)
            later = {key for following in trials[number + 1:] for key in following}
            done += [key for key in decided if key not in later and key not in done]
        better = {key: t.won[0] for key in done if (t := search.won(key)).won[0] != t.used[0]}
        if better:
            _prove(base, built("won", better), better, search, target, progress)
        search.proved = True


def _prove(base: Built, won: Built, better: Mapping[str, str], search: Search, target: Target,
           progress: Progress) -> None:
    """Whole calls with all that won beside what is used: where they win no duel (duel.py), nothing has won."""
    sized = _sized(base)

    def call(one: Built) -> float:
        return sum(one.time(function, variant, _threads(variant, target)) for function, variant in sized)
    with machine_lock.alone(progress.notes(base.options.shown)):
        duel = fought(partial(call, base), partial(call, won),
                      WHOLE_MEASURED if search.measured & better.keys() else WHOLE)
    search.called = duel.least
    if not duel.won:
        search.keep(better)


def _sized(built: Built) -> list[tuple[FunctionPlan, Variant]]:
    return [(f, v) for f in built.made.compiled.plan.functions for v in f.variants if len(v.when) == len(f.dims)]


def team(target: Target) -> int:
    """The largest that is measured with."""
    return min(len(os.sched_getaffinity(0)), target.threads)


def _threads(variant: Variant, target: Target) -> int:
    return variant.threads or team(target)


def _compare(base: Built, trial: Built, kind: Kind, decided: Mapping[str, str], search: Search, shown: str) -> None:
    """Times what differs."""
    used, tried = ({key: [0.0] * TURNS for key in decided} for _ in range(2))
    linked: dict[str, str] = {key: key for key in decided}

    def root(key: str) -> str:
        while linked[key] != key:
            key = linked[key]
        return key
    seen: set[str] = set()
    target = base.made.target
    for (function, variant), (_, other) in zip(_sized(base), _sized(trial), strict=True):
        steps = variant.program.kernel_steps, other.program.kernel_steps
        of: list[tuple[tuple[list[int], list[int]], str]] = []
        for region in regions_of(variant.program, other.program):
            keys = list(decided) if kind.keys_of is None else [
                key for number, mine in enumerate(region) for i in mine
                for key in kind.keys_of(function.name, variant.name, steps[number][i]) if key in decided]
            if not keys:
                continue
            for key in keys:
                linked[root(key)] = root(keys[0])
            seen.update(keys)
            of.append((region, keys[0]))
        if not of:
            continue
        for turn in range(TURNS):
            times = [one.profile(function, variant, _threads(variant, target), CALLS) for one in (base, trial)]
            for (was, now), key in of:
                used[key][turn] += sum(times[0].get(i, 0.0) for i in was)
                tried[key][turn] += sum(times[1].get(i, 0.0) for i in now)
        if base.results(function, variant) != trial.results(function, variant):
            raise ToolBroken(f"{shown}: other bits by another choice in the tuning lock",
                             "\n".join(f"{key}: {name}" for key, name in decided.items()))
    for key in seen:    # of what is decided together, the sum counts
        if root(key) != key:
            for turn in range(TURNS):
                used[root(key)][turn] += used[key][turn]
                tried[root(key)][turn] += tried[key][turn]
    for key in seen:
        search.found[key][decided[key]] = used[root(key)], tried[root(key)]


# -- what differs between two programs ------------------------------------------------------------------------------
def regions_of(base: Program, trial: Program) -> list[tuple[list[int], list[int]]]:
    """The kernels that only one of two programs of a function has, by the number of their steps, those together that
    depend on each other's difference."""
    programs = base, trial
    known = [_signatures(p) for p in programs]
    both = set(known[0]) & set(known[1])
    differing = [(number, i) for number, found in enumerate(known) for i, s in enumerate(found) if s not in both]
    other = {name for name in base.buffers.keys() | trial.buffers.keys()
             if base.buffers.get(name) != trial.buffers.get(name)}
    parts: list[tuple[set[tuple[str, str]], list[tuple[int, int]]]] = []
    for at in differing:
        kernel = programs[at[0]].kernel_steps[at[1]].kernel
        stored = written(kernel)
        names = {("stored", name) for name in stored} | {("other", name) for name in (*stored, *read(kernel))
                                                         if name in other}
        joined, apart = [at], []
        for part in parts:
            if names & part[0]:
                names |= part[0]
                joined += part[1]
            else:
                apart.append(part)
        parts = [*apart, (names, joined)]
    return [([i for n, i in sorted(of) if n == 0], [i for n, i in sorted(of) if n == 1]) for _, of in parts]


def _signatures(program: Program) -> list[Hashable]:
    """Equal for two kernels that do the same to the same buffers."""
    return [(identity(step.kernel), tuple((p.name, p.kind) for p in step.kernel.params if p.kind != "scratch"))
            for step in program.kernel_steps]
