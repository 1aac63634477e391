# SPDX-License-Identifier: Apache-2.0
"""Measures the candidates of a build's contractions and writes the tuning lock. The only code that runs kernels of the
target, and never part of a build.

Everything is compiled first (kernels by groups where time is limited); then the harness runs alone, under a lock of the
whole machine. It proves every candidate against the reference before it is timed.
"""
from __future__ import annotations

import os
import signal
import subprocess
import tempfile
from contextlib import contextmanager
from dataclasses import field, replace
from math import inf
from pathlib import Path
from typing import Callable, Collection, Iterable, Iterator, Mapping, Protocol, Sequence

from ..emit.contraction import candidates as table
from ..emit.contraction.key import kernel_key
from ..emit.contraction.schedules import made_for
from ..errors import Interrupted, UserError
from ..loops.contraction_schedule import Schedule, parse
from ..loops.loop_ir import ContractionKernel, GroupedContractionKernel, Kernel, LoopNestKernel
from ..loops.plan import bytes_of
from ..loops.program_ir import Branch, Element, leaves, Loop, ModelPlan, Tiles
from ..loops.scalars import extent, last
from ..records import dataclass
from ..symbolic import Sym, sym
from ..symbolic.typical import typical
from ..target import Target
from . import children, lock as locks, machine_lock, tune_pace
from .counting import bare, check, counted, UNITS
from .harness import Case, operations, program, Toolset
from .lock import Entry
from .numbers import numbers_of
from .processor import runs
from .tools import ToolBroken

Say = Callable[[str], None]


LONG = 1 << 28   # operations of a call, beyond which dynamic dims are smaller: one of 64 images takes a second
WORTH = 0.98     # of the time of the cost model's choice, below which another candidate takes its place
WORTH_MEASURED = 0.96   # the same of what an earlier run chose: what is as good as that stays behind it
CONFIRM = 0.06   # of the budget, kept for confirming what changed
SETTLED = 6      # rounds of a kernel before its two choices fight again
BEYOND = 2       # times the last cache: bytes behind which none of those before is in it
MOST_BETWEEN = 1 << 28   # bytes of copies of constants


class Named(Protocol):
    """What won: a Schedule, or a GPU's."""

    @property
    def name(self) -> str:
        """As the lock has it."""

    @property
    def isa(self) -> str:
        """The instruction set whose kernels a device runs."""


class Stopped(Interrupted):
    """An interruption. result: what was measured by then."""

    def __init__(self, result: Result, said: str = ""):
        super().__init__(said)
        self.result = result


class OutOfTime(BaseException):
    """The budget is used up. Like an interruption it ends whatever is going on."""


@dataclass(slots=True)
class Result:
    """unit: what was counted in; timed: (key, winner, count) of every case; before: those of what was used before, by
    key, and used: what that was; by: what measures it, as entries of a GPU say; counts: of all candidates, by their
    names; model: those of the cost model's choice, and chosen: what that is; left: how many cases the budget left
    out, or more; skipped: instruction sets that this processor lacks; beyond: kernels with a candidate whose call is
    longer than the counter counts; wrong: candidates that differ from the reference, which is a bug of ours; begun:
    whether a kernel was being measured, be it that none came to its end; planned: whether there was time to find out
    what there is to measure; decisions: how many of each kind the budget left out; sets: the target's instruction sets,
    the best of this machine first."""

    unit: str = "us"
    timed: list[tuple[str, Named, float]] = field(default_factory=list)
    before: dict[str, float] = field(default_factory=dict)
    used: dict[str, str] = field(default_factory=dict)
    by: dict[str, str] = field(default_factory=dict)
    model: dict[str, float] = field(default_factory=dict)
    counts: dict[str, dict[str, float]] = field(default_factory=dict)
    chosen: dict[str, str] = field(default_factory=dict)
    left: int = 0
    skipped: set[str] = field(default_factory=set)
    beyond: set[str] = field(default_factory=set)
    wrong: list[str] = field(default_factory=list)
    begun: bool = False
    planned: bool = True
    decisions: dict[str, int] = field(default_factory=dict)
    sets: list[str] = field(default_factory=list)

    @property
    def rest(self) -> str:
        """All that the budget left out."""
        return numbers_of({**({"kernels": self.left} if self.left else {}), **self.decisions})


def contractions(plan: ModelPlan) -> list[ContractionKernel]:
    """Every contraction of every variant, in the order of the programs. Parts of a kernel are measured by
    themselves."""
    return [kernel for _, kernel, _ in of_functions(plan)]


def of_functions(plan: ModelPlan) -> list[tuple[str, ContractionKernel, int]]:
    """The same, each with its function's name and the bytes of constants that are read from one call of it to the
    next."""
    return [(function.name, part, read) for function in plan.functions for variant in function.variants
            for kernel, read in _reading(variant.program.steps, constants(variant.program.steps))
            if isinstance(kernel, (ContractionKernel, GroupedContractionKernel)) for part in kernel.contractions]


def constants(steps: Sequence[Element]) -> int:
    """Bytes of constants that steps read."""
    buffers = {p for step in leaves(steps) for p in step.kernel.params if p.kind == "packed"}
    return sum(bytes_of(p).value for p in buffers)


def _reading(steps: Sequence[Element], around: int) -> Iterator[tuple[Kernel, int]]:
    """Every kernel, with the bytes of constants that are read from one call of it to the next: those of the loop, or of
    the tiles, that it stands in, else `around`."""
    for item in steps:
        if isinstance(item, Branch):
            yield from _reading([*item.then, *item.other], around)
        elif isinstance(item, (Loop, Tiles)):
            test = item.test if isinstance(item, Loop) else []
            yield from _reading([*test, *item.body], constants([item]))
        else:
            yield item.kernel, around


def between(read: int, target: Target) -> int:
    """Bytes of constants that lie between two uses of a kernel's where so many are read from one to the other: as many
    as push the same out of the caches. 0: they stay in the second cache."""
    last = max(target.l2, target.l3)
    return 0 if read <= target.l2 or not last else min(read, BEYOND * last, MOST_BETWEEN)


def sizes(kernel: ContractionKernel | GroupedContractionKernel | LoopNestKernel, most: float = inf) -> dict[Sym, int]:
    """At which sizes a kernel of dynamic dims is measured: those that the cost model assumes, in a loop's first
    iteration and in a block of tiles that is neither the first nor, where there are more, the last, of stripes with all
    rows that a block needs. While a call has more operations than `most`, the largest dim is halved."""
    parts = () if isinstance(kernel, LoopNestKernel) else kernel.contractions
    counts = {s for part in parts for v in (*part.batch, *part.m, *part.n, *part.k) for s in extent(v).symbols()}

    def assumed(s: Sym) -> int:
        if s.is_iteration and not s.lo and s.divisor == 1 and s not in counts:
            return 0
        return min(typical(sym(s)), max(0, typical(last(s)))) if s.is_iteration else typical(sym(s))
    found = {s: assumed(s) for s in kernel.dims}
    while sum(operations(part, found) for part in parts) > most:
        halved = {s: n // 2 // s.divisor * s.divisor for s, n in found.items() if s.is_dim}
        fitting = [s for s, n in halved.items() if n > 0 and s.takes(n)]
        if not fitting:
            break
        largest = max(fitting, key=lambda s: found[s])
        found[largest] = halved[largest]
    return found


def cases(kernels: Sequence[ContractionKernel], tools: Toolset, known: dict[str, Entry], again: bool,
          functions: Sequence[str] = (), reads: Sequence[int] = ()) -> list[Case]:
    """What is to be measured: each key once, and only those whose entry is missing, does not apply, or was measured
    with other templates, with another compiler or in another unit (all of them where `again`). functions: whose each
    kernel is, where there are several; reads: bytes of constants that are read from one call of each to the next."""
    found: dict[str, Case] = {}
    timed = tools.count == "time" and not bare(tools.target)
    far = [between(read, tools.target) if timed else 0 for read in reads or [0] * len(kernels)]
    templates, compiler = locks.templates_digest(), tools.compiler.release
    for kernel, owner, distance in zip(kernels, functions or [""] * len(kernels), far, strict=True):
        for isa in made_for(kernel, tools.target):
            key = kernel_key(kernel, isa, tools.target.name)
            if key in found:
                found[key] = replace(found[key], functions=found[key].functions | {owner},
                                     between=max(found[key].between, distance))
                continue
            legal = tuple(table.tried(kernel, isa, tools.target, tune_pace.MOST))
            entry = known.get(key)
            named = _applies(entry, kernel, isa)
            legal = legal if named is None or named in legal else (*legal, named)
            good = entry and (entry.templates, entry.compiler, entry.unit) == (templates, compiler, UNITS[tools.count])
            if named and good and not again:
                continue
            incumbent = named or table.choose(kernel, isa, tools.target)
            found[key] = Case(key, kernel, sizes(kernel, LONG), legal, incumbent,
                              WORTH_MEASURED if named and good else WORTH, frozenset({owner}), distance)
    return list(found.values())


def _applies(entry: Entry | None, kernel: ContractionKernel, isa: str) -> Schedule | None:
    """The candidate of an entry, where it can be the kernel's."""
    named = parse(entry.candidate) if entry else None
    return named if named is not None and named.isa == isa and not table.refusal(kernel, named) else None


def tune(kernels: Sequence[ContractionKernel], tools: Toolset, lock: Path, rounds: int = 20, again: bool = False,
         say: Say = lambda line: None, budget: float | None = None, keep: bool = True,
         behind: Mapping[str, int] | None = None, functions: Sequence[str] = (), most: float | None = None,
         waits: Say = lambda line: None, reads: Sequence[int] = ()) -> Result:
    """Brings the lock up to date with the kernels; entries of other kernels stay as they are. What was measured is kept
    when the user interrupts it (Stopped), and when the budget (seconds) is used up. The best instruction set comes
    first, and where time is limited one kernel of each function, then the kernels of known sizes, of these those with
    the most operations, functions in turns, but last of all those that would take most of the time; so many candidates
    of each are measured that it is enough for all kernels. keep: whether the lock is written; behind: what else is to
    be measured then, for those who wait; functions: whose each kernel is; most: seconds in place of the budget until
    each function has a kernel that is measured; waits: told that another one measures, which the budget does not
    count; reads: bytes of constants that are read from one call of each kernel to
    the next."""
    check(tools.count, tools.target, tools.wrapper)
    begun = machine_lock.now()
    known = locks.read(lock)
    todo: list[Case] = []
    tell: Telling | None = None
    result, confirmed = Result(UNITS[tools.count]), Result(UNITS[tools.count])
    pace = tune_pace.Pace(None if budget is None else begun + (1 - CONFIRM) * budget)

    def kept() -> None:   # what is killed has lost nothing; what has to win once more stays as it was
        if keep:
            _keep(result, known, tools, lock, {case.name for case in _changed(result, todo)})
    try:
        with limited(budget if budget is None or most is None else max(budget, most)):
            order = result.sets = best_first(tools)
            todo = sorted(cases(kernels, tools, known, again, functions, reads),
                          key=lambda case: order.index(case.incumbent.isa))
            if keep and todo:
                locks.require_writable(lock)
            result.used |= {case.name: case.incumbent.name for case in todo}
            result.chosen |= {case.name: case.candidates[0].name for case in todo}
            groups = [todo] if todo else []
            if budget is not None or bare(tools.target):   # whose memory is small
                todo.sort(key=lambda case: (order.index(case.incumbent.isa), -case.operations))
                if tools.count == "time" and not tools.wrapper:
                    pace.calls = {case.name: tune_pace.least(case, tools.target) for case in todo}
                long = pace.long()
                groups = tune_pace.groups(todo, long)
                pace.firsts = tune_pace.firsts(todo, long)
            tell = Telling(say, len(todo), budget, behind or {})
            while groups:
                over = budget is not None and machine_lock.now() > begun + budget
                if over and not pace.firsts - result.counts.keys():
                    raise OutOfTime
                now, later = pace.fitting(groups[0])
                rest = [case for group in groups for case in group]
                with pace.taken(pace.fewer(now, rest), result.counts) as cases_now:
                    _measure(cases_now, tools, rounds, result, tell, waits, kept)
                groups[:1] = [later] if later else []
            changed = _changed(result, todo) if tools.count == "time" else []
            if changed:
                say(f"comparing {len(changed)} changes once more")
                silent = Telling(lambda line: None, len(changed), None)
                _measure(changed, tools, min(rounds, SETTLED), confirmed, silent, waits)
    except OutOfTime:
        result.left = len(todo) - len(result.timed) if todo else 1
        result.begun = tell is not None and tell.begun > 0
    except KeyboardInterrupt:
        result.left = len(todo) - len(result.timed)
        raise Stopped(result) from None
    finally:
        if tools.count == "time":
            _settle(result, confirmed, todo)
        if keep and result.timed:
            _keep(result, known, tools, lock)
    return result


def _changed(result: Result, todo: Sequence[Case]) -> list[Case]:
    """Cases that another choice won than what an earlier run measured, with these two."""
    won = {key: winner.name for key, winner, _ in result.timed if key in result.before}

    def two(case: Case) -> tuple[Schedule, ...]:
        return tuple(c for c in case.candidates if c.name in (won[case.name], case.incumbent.name))
    return [replace(case, candidates=two(case)) for case in todo
            if case.worth == WORTH_MEASURED and won.get(case.name, case.incumbent.name) != case.incumbent.name]


def _settle(result: Result, again: Result, todo: Sequence[Case]) -> None:
    """What took the place of what an earlier run measured and did not win once more, in a program of its own and at
    another time, or for which there was no time left, goes back."""
    second = {key: winner.name for key, winner, _ in again.timed}
    changed = {case.name: case for case in _changed(result, todo)}
    for at, (key, winner, _) in enumerate(result.timed):
        if key in changed and second.get(key) != winner.name:
            result.timed[at] = key, changed[key].incumbent, result.before[key]


def best_first(tools: Toolset) -> list[str]:
    """The target's instruction sets, those that this machine does not run last."""
    here = not tools.wrapper and tools.target.arch == os.uname().machine
    return sorted(reversed(tools.target.isas), key=lambda isa: here and not runs(isa))


def _keep(result: Result, known: dict[str, Entry], tools: Toolset, lock: Path, but: Collection[str] = ()) -> None:
    """but: the keys of those that stay as they are."""
    emulated = bool(tools.wrapper) and Path(tools.wrapper[0]).name.startswith("qemu")
    templates = locks.templates_digest()
    for key, winner, count in result.timed:
        if key not in but:
            known[key] = Entry(key, winner.name, count, emulated, tools.compiler.release, templates, result.unit)
    locks.write(lock, known)


@contextmanager
def limited(seconds: float | None) -> Iterator[None]:
    """Raises OutOfTime when the seconds have passed; what was started by then ends at once."""
    if seconds is None:
        yield
        return

    def end(number: int, frame: object) -> None:
        children.end()
        raise OutOfTime
    before = signal.signal(signal.SIGALRM, end)
    signal.setitimer(signal.ITIMER_REAL, max(seconds, 0.001))
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@dataclass(slots=True)
class Telling:
    """Says how far it is and how long it takes. behind: what follows, by kind; begun: when the first kernel was
    measured; done: how many were."""

    say: Say
    total: int
    budget: float | None
    behind: Mapping[str, int] = field(default_factory=dict)
    start: float = field(default_factory=machine_lock.now)
    begun: float = 0.0
    done: int = 0

    def measuring(self) -> None:
        now = machine_lock.now()
        self.begun = self.begun or now
        left = None if not self.done else (now - self.begun) / self.done * (self.total - self.done)
        if self.budget is not None:
            most = self.start + self.budget - now
            left = most if left is None else min(left, most)
        self.done += 1
        self.say(f"measuring {self.done} of {self.total} kernels" +
                 (f", then {numbers_of(self.behind)}" if self.behind else "") +
                 (f", {max(left, 0):.0f} s left" if left is not None else ""))


def _measure(todo: Sequence[Case], tools: Toolset, rounds: int, result: Result, tell: Telling, waits: Say,
             kept: Callable[[], None] = lambda: None) -> None:
    """Compiles the candidates of some cases and times them, alone on the machine. kept: called behind each case."""
    tell.say(f"compiling {sum(len(c.candidates) for c in todo)} candidates of {len(todo)} kernels")
    reader = Reader(result)
    with tools.cache.scratch() as scratch:
        board = bare(tools.target)
        path = program(todo, tools, Path(scratch) / "harness", rounds if board else 0)
        wrapper, environment = list(tools.wrapper), dict(os.environ)
        if tools.count == "instructions" and not board:
            wrapper, file = counted(wrapper, tools.host, Path(scratch))
            environment["TC_COUNT_FILE"] = str(file)

        def line(text: str) -> None:
            if text.startswith("case "):
                tell.measuring()
            reader.line(text)
            if text.startswith("winner "):
                kept()
        with machine_lock.alone(waits):
            run_harness([*wrapper, str(path), *(() if board else ("time", str(rounds)))], line, environment, board)
    if reader.cases != len(todo) or board and not reader.ended:
        raise UserError(f"only {reader.cases} of {len(todo)} kernels came back from the board; its last line: "
                        f"{reader.last or 'none'}", hint="what the harness prints, and where: docs/tuning.md")


def run_harness(command: list[str], line: Say, environment: dict[str, str] | None = None, board: bool = False) -> None:
    """Gives every line that the harness prints, as it comes. board: what it says may come on either output."""
    with tempfile.TemporaryFile("w+") as errors:
        try:
            process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT if board else errors,
                                       text=True, stdin=subprocess.DEVNULL, env=environment)
        except OSError as error:
            raise UserError(f"the measuring harness does not start: {error.strerror}: {command[0]}",
                            hint="for another processor, --exe-wrapper names what runs its programs here") from None
        with process:
            try:
                for text in process.stdout or ():
                    line(text.rstrip("\r\n"))
            except BaseException:
                process.kill()
                raise
        if process.returncode and not board:
            errors.seek(0)
            raise ToolBroken(f"the measuring harness failed (exit {process.returncode})",
                             f"{' '.join(command)}\n{errors.read()}")


@dataclass(slots=True)
class Reader:
    """The lines that autotune/main.c documents. find: what a name stands for; key: of the case that they are of; cases:
    how many were begun; ended: a board said so; last: the last line."""

    result: Result
    find: Callable[[str], Named] = field(default_factory=lambda: _schedule)
    key: str = ""
    cases: int = 0
    ended: bool = False
    last: str = ""

    def line(self, text: str) -> None:
        kind, _, rest = text.partition(" ")
        self.last = text or self.last
        if kind == "case":
            self.key, self.cases = rest, self.cases + 1
        elif kind == "exit":
            self.ended = True
        elif kind == "skipped":
            self.result.skipped.add(self.find(rest).isa)
        elif kind == "wrong":
            name, _, why = rest.partition(" ")
            self.result.wrong.append(f"{name}: {self.key}: {why}")
        elif kind == "candidate":
            name, count, _ = rest.split(" ")
            self.result.counts.setdefault(self.key, {})[name] = self.of(count)
            if name == self.result.used.get(self.key):
                self.result.before[self.key] = self.of(count)
            if name == self.result.chosen.get(self.key):
                self.result.model[self.key] = self.of(count)
        elif kind == "beyond":
            self.result.beyond.add(self.key)
        elif kind == "winner":
            name, count = rest.split(" ")
            self.result.timed.append((self.key, self.find(name), self.of(count)))
        elif kind == "failed":
            raise UserError(f"nothing can be measured there: {rest}")

    def of(self, count: str) -> float:
        """In the result's unit: times are printed in nanoseconds."""
        return float(count) / 1000 if self.result.unit == "us" else float(count)


def unused(plans: Sequence[tuple[Sequence[ContractionKernel], Target]], lock: Path, variants: Iterable[str] = ()
           ) -> list[Entry]:
    """Entries of the lock that none of the builds uses, of their targets and instruction sets: no kernel has the key,
    or the candidate cannot be its. What other targets use is not known here. variants: the keys of the builds'."""
    used: set[str] = set(variants)
    known = locks.read(lock)
    for kernels, target in plans:
        for kernel in kernels:
            for isa in made_for(kernel, target):
                key = kernel_key(kernel, isa, target.name)
                if _applies(known.get(key), kernel, isa):
                    used.add(key)
    here = {f"target={target.name}{isa}" for _, target in plans for isa in ("", *(f"/{isa}" for isa in target.isas))}
    return [entry for key, entry in sorted(known.items()) if key not in used and key.rpartition(" ")[2] in here]


def prune(entries: Sequence[Entry], lock: Path) -> None:
    """Takes entries out of the lock."""
    gone, known = {entry.key for entry in entries}, locks.read(lock)
    if known:
        locks.write(lock, {key: entry for key, entry in known.items() if key not in gone})


def _schedule(name: str) -> Schedule:
    found = parse(name)
    assert found is not None, f"{name}: the harness names what it was given"
    return found
