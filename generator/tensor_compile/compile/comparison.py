# SPDX-License-Identifier: Apache-2.0
"""What `check` compares the results of a call with: the interpreter's, which a model has to have bit by bit, those in
double precision, and the user's own."""
from __future__ import annotations

from pathlib import Path
from typing import Callable, Mapping, Sequence

from ..records import dataclass
from . import roundings, verdict as verdicts
from .check_calls import Calls
from .judge import Judge, wrong
from .roundings import Followed
from .spread import Spread
from .verdict import Verdict

EXPECTED = 1e-4         # of the user's own outputs, which other programs computed in their ways


@dataclass(frozen=True, slots=True)
class Comparison:
    """Of one run, whatever instruction set it is called for. exact: results with the bits that the model has to have,
    None where it has an order of sums, and numbers, of its own; wide: those in double precision; plain: their spread.
    rounds: floats become integers, which `followed` takes of the model's own arithmetic. steps: of the results that are
    multiples of one number, that number. ignored: tensors of the expected outputs that are not compared."""

    calls: Calls
    judge: Judge
    verdict: Verdict
    exact: Path | None
    wide: Path
    plain: Spread
    rounds: bool
    followed: Callable[[], Followed]
    steps: Mapping[str, float]
    ignored: Sequence[str]

    def with_interpreter(self, title: str, out: Path) -> None:
        """title: of the call. out: its results."""
        taps = self.calls.taps
        for suffix in self.calls.suffixes:
            got, named = Path(f"{out}{suffix}"), title + (": state" if suffix else "")
            right = self.exact is None or self.verdict.say(
                named, "bits of the interpreter", self.judge.bits(got, Path(f"{self.exact}{suffix}")), taps)
            double = Path(f"{self.wide}{suffix}")
            lines = self.judge.lines(got, double, self.plain, suffix, sampled=not (self.rounds and right))
            if self.rounds and right and wrong(lines):
                self._say_followed(named, got, double, lines, suffix)
                continue
            self.verdict.say(named, "double precision", lines, taps, self.steps)
            if self.exact is not None and right and wrong(lines):
                self.verdict.note([verdicts.rounded_or_wrong(named, self.judge.bound)])

    def with_expected(self, title: str, out: Path) -> None:
        """With the user's outputs, where there are any."""
        expected, path, taps = self.calls.run.expect, self.calls.expect, self.calls.taps
        if expected is None or path is None:
            return
        lines = self.judge.lines(out, path, self.plain, rtol=EXPECTED, ignored=self.ignored,
                                 sampled=not self.rounds)
        if self.rounds and not self.judge.bound and wrong(lines):
            lines = self.judge.lines(out, path, self.followed().spread, rtol=EXPECTED, ignored=self.ignored)
        right = self.verdict.say(title, expected.shown, lines, taps, self.steps)
        self.verdict.note(roundings.hints(lines, self.steps))
        if not right and taps and not any(expected.find(name) for name in taps):
            self.verdict.note([verdicts.no_parts(expected.shown)])
        if taps and self.ignored:
            left = ", ".join(self.ignored)
            self.verdict.note([f"{expected.shown}: not compared: {left} (no parts that --tap names)"])

    def _say_followed(self, title: str, got: Path, double: Path, lines: list[str], suffix: str) -> None:
        """Of what differs in double precision, where floats become integers. With the integers of the model's own
        arithmetic it has to be right. lines: of what differs without any sample."""
        judge, verdict, taps, steps, found = self.judge, self.verdict, self.calls.taps, self.steps, self.followed()
        again = judge.lines(got, double if not found.taken else Path(f"{found.results}{suffix}"), found.spread, suffix)
        if not found.taken:
            verdict.say(title, "double precision", again, taps, steps)
            verdict.note(found.notes())
            return
        if not judge.bound:
            spread = found.spread
            lines = judge.measured(got, double, spread, suffix, 0, spread.samples.asked, spread.larger.asked,
                                   others="own")
        others = {line.partition(": ")[0] for line in wrong(lines)}
        verdict.say(title, "double precision", [line for line in lines if not line.endswith("FAILED")], taps, steps)
        for line in wrong(lines):
            print(f"{title}: double precision: {roundings.in_steps(line, steps).removesuffix('FAILED').rstrip()}: "
                  "by other integers")
        again = [line for line in again if line.partition(": ")[0] in others]
        verdict.say(title, "double precision with the interpreter's integers", again, taps, steps)
        if others:
            verdict.note(found.notes())
