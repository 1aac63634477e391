# SPDX-License-Identifier: Apache-2.0
"""What `check` prints of its comparisons, and whether all is right."""
from __future__ import annotations

from dataclasses import field
from typing import Iterable, Mapping

from ..records import dataclass
from . import judge, roundings
from .numbers import number_of


@dataclass(slots=True)
class Verdict:
    """What was found, for the lines at the end: the comparisons, the first that failed, how many elements are right as
    runs of larger errors alone explain them, how many runs were left out, by the instruction set that is not there.
    notes: each once."""

    compared: int = 0
    failed: int = 0
    excused: int = 0
    first: str = ""
    skipped: dict[str, int] = field(default_factory=dict)
    notes: dict[str, None] = field(default_factory=dict)

    def say(self, title: str, with_what: str, lines: list[str], taps: Mapping[str, str],
            steps: Mapping[str, float] = {}) -> bool:
        """Prints the lines of a comparison, and which of the taps is the first to differ, with its place. Whether all
        is right."""
        self.compared += len(lines)
        self.excused += judge.excused(lines)
        for line in lines:
            said = f"{title}: {with_what}: {roundings.in_steps(line, steps)}"
            print(said)
            if line.endswith("FAILED"):
                self._fail(said)
        wrong = judge.wrong(lines)
        apart = [name for name in taps if any(line.startswith(f"{name}: ") for line in wrong)]
        if apart:
            print(f"{title}: {with_what}: the first to differ is {apart[0]} ({taps[apart[0]]})")
        return not wrong

    def say_ended(self, title: str, why: str) -> None:
        """Of a call that has no results."""
        line = f"{title}: FAILED: {why}"
        print(line)
        self.compared += 1
        self._fail(line)

    def say_skipped(self, title: str, cpu: str) -> None:
        print(f"{title}: skipped, this processor does not have it")
        self.skipped[cpu] = self.skipped.get(cpu, 0) + 1

    def note(self, lines: Iterable[str]) -> None:
        self.notes |= dict.fromkeys(lines)

    def bent(self) -> list[str]:
        """Of the elements that the runs of larger errors alone explain."""
        if not self.excused:
            return []
        return [f"double precision: {number_of(self.excused, 'element')} right by runs with errors 8 times as large "
                "alone: near a bend or a jump of a function, as most are, or by chance (docs/checking.md)"]

    def text(self, shown: str, runs: int) -> str:
        skipped = f", {number_of(sum(self.skipped.values()), 'run')} skipped" if self.skipped else ""
        if self.failed:
            return f"{shown}: WRONG: {self.failed} of {number_of(self.compared, 'comparison')} failed{skipped}; " \
                   f"the first: {self.first}"
        if not self.compared:
            return f"{shown}: NOTHING WAS COMPARED{skipped}: this processor does not have {' and '.join(self.skipped)}"
        return f"{shown}: right: {number_of(self.compared, 'comparison')} in {number_of(runs, 'run')}{skipped}"

    def _fail(self, line: str) -> None:
        self.failed += 1
        self.first = self.first or line.removesuffix("FAILED").rstrip()


def rounded_or_wrong(title: str, bound: str) -> str:
    """What a difference from double precision may be, where the bits are right. bound: rtol,atol, "" for none."""
    rtol, _, atol = bound.partition(",")    # of f32, of which there are no units
    what = f"by more than {atol} + {rtol} * |want|" if bound else "otherwise than runs that round at random"
    return f"the bits of {title} are the interpreter's, so either the model rounds {what}, or the graph was " \
           "simplified wrongly; docs/checking.md says how to tell"


def no_parts(shown: str) -> str:
    """Of expected outputs, where the model is tapped and they have none of the parts."""
    return f"{shown} has none of the parts that --tap names, so it does not say where the difference begins; " \
           "docs/porting.md shows how to save them"
