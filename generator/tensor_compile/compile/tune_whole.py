# SPDX-License-Identifier: Apache-2.0
"""Proves what `tune` chose for a GPU's kernels, each alone, by whole calls: how a kernel does among others depends on
how it begins before the one in front has ended, on what that leaves in the second cache and on the room that it leaves
for the one behind it.

A build with all that won is timed beside one that goes back to what was used before for one kernel of each variant;
where that is faster, the choice is refused. Both builds take turns, the least time counts."""
from __future__ import annotations

import shutil
import tempfile
from dataclasses import field, replace
from pathlib import Path
from typing import Mapping

from ..emit.cuda.shapes import is_tuned, product_of
from ..errors import UserError
from ..loops import schedule_cuda
from ..loops.program_ir import FunctionPlan, ModelPlan, Variant
from ..records import dataclass
from ..target import Target
from . import assemble, lock as locks, machine_lock
from .lock import Entry
from .lock_cuda import key_of
from .options import Options
from .progress import Progress
from .tools import ToolBroken
from .tune import OutOfTime, Result, limited
from .tune_cuda import Choice
from .tune_variants import Built, calls_user

TURNS = 3
FASTER = 0.998   # of a call's time, below which a choice is better gone back on
Place = tuple[str, str]
Times = Mapping[Place, float]


@dataclass(frozen=True, slots=True)
class Change:
    """What won alone, what was used before, and by what it was measured, as entries say."""

    won: str
    used: str
    by: str


@dataclass(slots=True)
class Proof:
    """refused: keys whose change makes whole calls slower; called: microseconds of a call of each variant as it was and
    with what is left of the changes; unproved: keys that were not compared so, and why: there was no time, or calls
    cannot be timed."""

    refused: list[str] = field(default_factory=list)
    called: tuple[float, float] | None = None
    unproved: list[str] = field(default_factory=list)
    why: str = "no time was left"


def changes(result: Result) -> dict[str, Change]:
    """Of a search: what is another choice now."""
    return {key: Change(winner.name, result.used[key], result.by[key]) for key, winner, _ in result.timed
            if winner.name != result.used[key] and key in result.before}


def refuse(result: Result, proof: Proof, lock: Path, keep: bool) -> None:
    """What was refused stays as it was, in the result and, where that is kept, in the lock."""
    result.timed = [(key, Choice(result.used[key], winner.isa), result.before[key]) if key in proof.refused else
                    (key, winner, count) for key, winner, count in result.timed]
    if keep and proof.refused:
        known = locks.read(lock)
        for key in proof.refused:
            known[key] = replace(known[key], candidate=result.used[key], time=result.before[key])
        locks.write(lock, known)


def summary(proof: Proof, count: int) -> str:
    told = f"whole calls: {len(proof.refused)} of {count} changes make them slower and are not taken"
    if proof.called:
        told += f", {proof.called[0]:.1f} us before, {proof.called[1]:.1f} us now"
    return told + (f"; {len(proof.unproved)} were not compared so: {proof.why}" if proof.unproved else "")


def prove(options: Options, changes: Mapping[str, Change], where: Mapping[str, set[Place]], progress: Progress,
          budget: float | None) -> Proof:
    """options: of a build whose lock has the entries of all other kernels; where: the `places` of its plan. Kernels of
    sizes that vary are not proved. budget: seconds."""
    changes = {key: change for key, change in changes.items() if where.get(key)}
    proof = Proof(unproved=list(changes))
    try:
        with limited(budget), options.open_cache().scratch() as scratch:
            if changes:
                _Search(options, changes, where, progress, Path(scratch), proof).run()
    except OutOfTime:
        pass
    except UserError as error:
        proof.why = error.message
    return proof


def places(plan: ModelPlan, target: Target) -> dict[str, set[Place]]:
    """Functions and variants of fixed sizes by the keys of their kernels."""
    found: dict[str, set[Place]] = {}
    units = schedule_cuda.units(target)
    for function, variant in sized(plan):
        for step in variant.program.kernel_steps:
            kernel = product_of(step.kernel)
            if is_tuned(kernel, units):
                found.setdefault(key_of(kernel, target), set()).add((function.name, variant.name))
    return found


def sized(plan: ModelPlan) -> list[tuple[FunctionPlan, Variant]]:
    return [(f, v) for f in plan.functions for v in f.variants if len(v.when) == len(f.dims)]


@dataclass(slots=True)
class _Search:
    options: Options
    changes: Mapping[str, Change]
    where: Mapping[str, set[Place]]
    progress: Progress
    scratch: Path
    proof: Proof

    def run(self) -> None:
        before = self.built({key: change.used for key, change in self.changes.items()})
        if calls_user(before.made):
            self.proof.why = "the model calls functions of your program"
            return
        now = self.built({})
        left = list(self.changes)
        self.same(before, now)
        while left:
            trial = _apart(left, self.where)
            self.progress.say(f"{self.options.shown}: whole calls, {len(left)} choices left")
            now = self.tried(now, trial)
            left = [key for key in left if key not in trial]
            self.proof.unproved = [key for key in self.proof.unproved if key not in trial]
        with_, without = self.timed((now, before))
        self.proof.called = sum(without.values()), sum(with_.values())

    def tried(self, now: Built, trial: list[str]) -> Built:
        """The build with what is left of the changes, when those of the trial without which variants that have them are
        faster are refused."""
        other = self.built({key: self.changes[key].used for key in trial})
        times, without = self.timed((now, other))

        def of(key: str, found: Times) -> float:
            return sum(found[place] for place in self.where[key])
        refused = [key for key in trial if of(key, without) < FASTER * of(key, times)]
        self.proof.refused += refused
        kept = now if not refused else other if refused == trial else self.built({})
        for one in (now, other):
            if one is not kept:
                shutil.rmtree(one.folder)
        return kept

    def built(self, other: Mapping[str, str]) -> Built:
        """With what won and was not refused, but for `other`."""
        lines = locks.read(self.options.lock_path)
        for key, change in self.changes.items():
            name = other.get(key, change.used if key in self.proof.refused else change.won)
            lines[key] = Entry(key, name, 0.0, False, change.by, "0")
        folder = Path(tempfile.mkdtemp(dir=self.scratch))
        locks.write(folder / "lock", lines)
        own = replace(self.options, weights="external", tune="lock", lock=str(folder / "lock"), explain="", keep="",
                      max_arena=None, max_weights=None, max_code=None)
        return Built(assemble.run(own, self.progress), own, folder)

    def timed(self, both: tuple[Built, Built]) -> tuple[Times, Times]:
        """Microseconds of a call of every variant."""
        found: tuple[dict[Place, float], dict[Place, float]] = {}, {}
        with machine_lock.alone(self.progress.notes(self.options.shown)):
            for function, variant in sized(both[0].made.compiled.plan):
                at = function.name, variant.name
                for _ in range(TURNS):
                    for times, one in zip(found, both):
                        times[at] = min(one.time(function, variant, 1), times.get(at, float("inf")))
        return found

    def same(self, before: Built, now: Built) -> None:
        """Exact results have the same bits, whatever was chosen."""
        if now.made.target.precision != "f32":
            return
        self.timed((before, now))
        for function, variant in sized(now.made.compiled.plan):
            if before.results(function, variant) != now.results(function, variant):
                raise ToolBroken(f"{self.options.shown}: other bits by other choices in the tuning lock",
                                 "\n".join(f"{key}: {change.won}" for key, change in self.changes.items()))


def _apart(keys: list[str], where: Mapping[str, set[Place]]) -> list[str]:
    """The first key, and further ones of other variants."""
    taken: set[Place] = set()
    chosen = []
    for key in keys:
        if not taken & where[key]:
            taken |= where[key]
            chosen.append(key)
    return chosen
