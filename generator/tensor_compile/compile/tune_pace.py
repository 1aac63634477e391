# SPDX-License-Identifier: Apache-2.0
"""Which candidates of which kernels there is time for, where a budget limits a search.

Kernels of the same columns and terms are kin: they differ in their rows and in what follows the sums, and what is fast
for one is mostly fast for the others. The first of its kin is measured with as many candidates as there is time for,
the others with those that were best then.
"""
from __future__ import annotations

from contextlib import contextmanager
from dataclasses import field, replace
from math import inf
from typing import Collection, Hashable, Iterator, Mapping, Sequence

from ..emit.contraction import product_forms
from ..emit.contraction.access import Access
from ..loops.contraction_schedule import parse, Schedule
from ..records import dataclass
from ..target import Target
from . import machine_lock
from .costs import ceilings
from .harness import Case

MOST = 24    # schedules of a kernel that are measured: those that the cost model prefers
FIRST = 12   # of the first kernel where that may be too much: it tells how long one takes
SLOW = 0.5   # seconds that a candidate takes at most until that is known
FEWEST = 4   # of the others
LATER = 5    # of a kernel whose kin is measured
GROUP = 4    # kernels that are compiled and measured together, twice as many of those
CALLS = 40   # calls at the target's peak, which take as long as measuring a candidate whose calls are long
LONG = 1 / 2  # of the time, which a kernel may take and still come before shorter ones
MANY = 32    # rows from which on their number hardly decides about tiles


def kin(case: Case) -> Hashable:
    """Equal for kernels that are kin."""
    access = Access.of(case.kernel)
    rows = (access.rows * access.batches).evaluate(case.sizes)
    return case.incumbent.isa, repr(case.kernel.product), str(access.columns), str(access.terms), min(rows, MANY)


def least(case: Case, target: Target) -> float:
    """Seconds that a candidate takes for its calls alone; 0: the target file does not tell."""
    isa = case.incumbent.isa
    floats, own = (product_forms.form(name, isa).speed for name in ("f32", case.incumbent.dtype))
    peak = ceilings(target, isa, 1).operations * own / floats
    return CALLS * case.operations / peak if peak else 0.0


def firsts(todo: Sequence[Case], long: Collection[str] = ()) -> set[str]:
    """Of the first instruction set the kernel of each function that is measured first, by its name. long: as below."""
    best = [case for case in todo if case.incumbent.isa == todo[0].incumbent.isa]
    return {name for name, turn in _turns(best, long).items() if turn == 0}


def _turns(todo: Sequence[Case], long: Collection[str]) -> dict[str, int]:
    """How many kernels of its instruction set a function has before each, by its name: functions take turns. Of several
    functions the one counts in which it comes first."""
    found: dict[str, int] = {}
    before: dict[tuple[str, str], int] = {}
    for case in sorted(todo, key=lambda case: (case.name in long, bool(case.kernel.dims))):
        owners = [(case.incumbent.isa, function) for function in case.functions]
        found[case.name] = min((before.get(owner, 0) for owner in owners), default=0)
        before |= {owner: before.get(owner, 0) + 1 for owner in owners}
    return found


def groups(todo: Sequence[Case], long: Collection[str] = ()) -> list[list[Case]]:
    """What is compiled and measured together, in the order given but for this: of each instruction set, one kernel of
    each function before others, then kernels of known sizes, functions in turns, and of these the first of each kin
    before its others. The very first kernel is alone: so that a short time measures something. long: the names of those
    that are measured at the end, each alone."""
    sets = list(dict.fromkeys(case.incumbent.isa for case in todo))
    seen: set[Hashable] = set()
    parts: dict[tuple[bool, int, bool, bool, bool], list[Case]] = {}
    turns = _turns(todo, long)

    def place(case: Case) -> tuple[bool, int, bool, bool]:
        return case.name in long, sets.index(case.incumbent.isa), turns[case.name] > 0, bool(case.kernel.dims)
    for case in sorted(todo, key=lambda case: (*place(case), turns[case.name])):
        later = kin(case) in seen
        seen.add(kin(case))
        parts.setdefault((*place(case), later), []).append(case)
    found: list[list[Case]] = []
    for (alone, *_, later), cases in sorted(parts.items()):
        if not found:
            found, cases = [cases[:1]], cases[1:]
        size = 1 if alone else 2 * GROUP if later else GROUP
        found += [cases[i:i + size] for i in range(0, len(cases), size)]
    return found


def spread(case: Case, most: int) -> Case:
    """With so many of its candidates: for one half the best form of each tile, by the cost model, for the other those
    that it prefers."""
    first = {(c.mr, c.nr): c for c in reversed(case.candidates)}
    tiles = [c for c in case.candidates if first[c.mr, c.nr] == c][:max(1, most // 2)]
    return _only(case, [*tiles, *(c for c in case.candidates if c not in tiles)][:most])


def _only(case: Case, kept: Sequence[Schedule]) -> Case:
    """With these of its candidates, in the cost model's order, and the incumbent."""
    return replace(case, candidates=tuple(c for c in case.candidates if c in kept or c == case.incumbent))


def _form(schedule: Schedule | None) -> Hashable:
    """The tile and how it is computed, without the sizes of blocks."""
    assert schedule is not None, "the harness names what it was given"
    return schedule.mr, schedule.nr, schedule.epilogue, schedule.packed_a, schedule.packed_b, schedule.prefetch, \
        schedule.lines


def like(case: Case, counts: Mapping[str, float]) -> Case:
    """With the cost model's choice and the candidates that were best for its kin. counts: of these, by name."""
    forms: dict[Hashable, float] = {}
    for name, least in counts.items():
        form = _form(parse(name))
        forms[form] = min(least, forms.get(form, inf))

    def count(c: Schedule) -> tuple[float, float]:
        return forms.get(_form(c), inf), counts.get(c.name, inf)
    best = sorted(case.candidates[1:], key=count)[:LATER - 1]
    return _only(case, [case.candidates[0], *best])


@dataclass(slots=True)
class Pace:
    """How many candidates there is time for. end: of the search; None: it has all the time; seconds: that so many
    candidates took, compiled and measured; counts: of those of each kin; calls: the seconds that a candidate of a case
    takes for its calls alone, by its name; firsts: the kernels that functions have first."""

    end: float | None
    seconds: float = 0.0
    candidates: int = 0
    counts: dict[Hashable, Mapping[str, float]] = field(default_factory=dict)
    calls: Mapping[str, float] = field(default_factory=dict)
    firsts: set[str] = field(default_factory=set)

    def long(self) -> set[str]:
        """The cases of which one would take most of the time."""
        if self.end is None:
            return set()
        most = LONG * (self.end - machine_lock.now())
        return {name for name, seconds in self.calls.items() if FIRST * seconds > most}

    def fitting(self, group: list[Case]) -> tuple[list[Case], list[Case]]:
        """As many of the group's cases as there is time for, one at least, and the others: what is compiled together
        and does not come to its end leaves nothing."""
        if self.end is None or not self.candidates:
            return group, []
        room = (self.end - machine_lock.now()) / (self.seconds / self.candidates)
        most = max(1, int(room / FEWEST))
        return group[:most], group[most:]

    def fewer(self, group: Sequence[Case], rest: Sequence[Case]) -> list[Case]:
        """The group's cases with so many candidates that what is left of the time is enough for all of the rest that
        are of its instruction set: with all where there is time for that."""
        if self.end is None:
            return list(group)
        alike = [kin(case) for case in rest if case.incumbent.isa == group[0].incumbent.isa]
        each = self.seconds / self.candidates if self.candidates else SLOW
        room = (self.end - machine_lock.now()) / max(each, *(self.calls.get(case.name, 0.0) for case in group))
        if room >= MOST * len(alike):
            return list(group)
        new = max(1, len(set(alike) - self.counts.keys()))
        most = int((room - LATER * (len(alike) - new)) / new) if self.candidates else \
            min(FIRST, int(room / max(1, len(self.firsts))))
        most = max(FEWEST, min(MOST, most))
        return [like(case, self.counts[kin(case)]) if kin(case) in self.counts else spread(case, most)
                for case in group]

    @contextmanager
    def taken(self, group: list[Case], counts: Mapping[str, Mapping[str, float]]) -> Iterator[list[Case]]:
        """counts: of what was measured, by the names of cases, when the group is."""
        begun = machine_lock.now()
        yield group
        self.seconds += machine_lock.now() - begun
        self.candidates += sum(len(case.candidates) for case in group)
        for case in group:
            if counts.get(case.name):
                self.counts.setdefault(kin(case), counts[case.name])
