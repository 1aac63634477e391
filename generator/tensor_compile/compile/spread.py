# SPDX-License-Identifier: Apache-2.0
"""How far rounding carries a model's results: runs of the interpreter in which every rounding goes up or down at random
(interpreter/noise.h). `check` bounds the errors of results by what these samples show of each element
(docs/checking.md)."""
from __future__ import annotations

import math
import re
from dataclasses import field
from pathlib import Path
from typing import Callable, Iterable, Iterator, Sequence

from ..errors import UserError
from ..records import dataclass
from . import memory
from .jobs import run_all, spare_jobs

MOST = 16           # samples
SPREADS = 8.0       # of an element's own that its error may be: that of generator/check/compare.c
UNLIKELY = 1e12     # odds against a right error
SHARE = re.compile(r", (\S+) of the bound")
DIFFER = re.compile(r"(\d+) of \d+ elements differ")


@dataclass(slots=True)
class Samples:
    """options: those of the interpreter for a sample, by its number. draw: runs it with these; the results go where it
    is told. Samples are made as they are needed, the number n at `at`-n, states at `at`-n-state. tell: says how far
    they are, "" at the end. asked: for how many; drawn: how many were tried; files: those that there are, by number."""

    options: Callable[[int], Sequence[str]]
    draw: Callable[..., object]
    at: Path
    jobs: int | None
    tell: Callable[[str], None]
    files: dict[int, Path] = field(default_factory=dict)
    asked: int = 0
    drawn: int = 0

    def first(self, count: int, likely: int = 0) -> list[Path]:
        """That many, or fewer: where other roundings lead to an index out of range, there is none. likely: how many it
        will take; of these as many are made together as there are processors."""
        most = memory.fitting(memory.largest_child())
        together = min(spare_jobs(self.jobs) + 1, most)
        last = max(count, min(likely, together))
        numbers = list(range(self.drawn + 1, last + 1))

        def told(done: int) -> None:
            self.tell(f"{done} of {len(numbers)} runs with other roundings")
        if numbers:
            told(0)
            made = run_all(self._sample, numbers, self.jobs, told, most)
            self.files |= {n: path for n, path in zip(numbers, made, strict=True) if path is not None}
            self.tell("")
        self.asked, self.drawn = max(self.asked, count), max(self.drawn, last)
        return [path for n, path in self.files.items() if n <= count]

    def _sample(self, number: int) -> Path | None:
        path = Path(f"{self.at}-{number}")
        try:
            self.draw(*self.options(number), out=path)
        except UserError:
            return None
        return path


@dataclass(frozen=True, slots=True)
class Spread:
    """center: the results in double precision. samples: with errors as those of rounding; larger: with errors SPREADS
    times as large."""

    center: Path
    samples: Samples
    larger: Samples

    @staticmethod
    def around(center: Path, draw: Callable[..., object], at: Path, jobs: int | None, tell: Callable[[str], None]
               ) -> "Spread":
        """draw, at, jobs, tell: of the samples."""
        return Spread(center, Samples(_errors, draw, at, jobs, tell),
                      Samples(_larger_errors, draw, Path(f"{at}-larger"), jobs, tell))


def _errors(number: int) -> tuple[str, ...]:
    return "--noise", str(number)


def _larger_errors(number: int) -> tuple[str, ...]:
    """Two samples in turn have the same errors of either sign: what stays on one side of a bend in one run is likely to
    be beyond it in the other."""
    sign = 1 if number % 2 else -1
    return "--noise", str(MOST + (number + 1) // 2), "--times", str(sign * int(SPREADS))


def counts() -> Iterator[int]:
    """How many samples are tried: more where these do not decide."""
    yield 0
    count = 2
    while count <= MOST:
        yield count
        count *= 2


def decided(line: str, count: int) -> bool:
    """Whether a tensor's line of `tc-data spread` stays as it is with more samples: it is right, or what its errors are
    beyond so many samples, half of which are rounded and may show none, is too unlikely for a right one. Of elements
    that no sample moves it says nothing."""
    found = SHARE.search(line)
    if not line.endswith("FAILED") or "elements differ" not in line or count == MOST:
        return True
    share = float(found[1]) if found is not None else math.inf
    # what is infinite, no number or no float may be a sample's
    return count > 0 and math.isfinite(share) and SPREADS * share > UNLIKELY ** (2 / count)


def likely(lines: Iterable[str]) -> int:
    """How many samples it will take, by lines of fewer: until no right element is expected to be beyond them."""
    found = [DIFFER.search(line) for line in lines if line.endswith("FAILED")]
    differ = sum(int(one[1]) for one in found if one is not None)
    return next((n for n in counts() if differ * beyond(n) < 0.1), MOST) if differ else 0


def beyond(count: int) -> float:
    """How likely the error of a right element is beyond so many samples (generator/check/compare.c)."""
    odd = math.prod(range(1, count, 2))
    return odd / 10.0 ** count
