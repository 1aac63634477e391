# SPDX-License-Identifier: Apache-2.0
"""How far rounding carries a model's results: runs of the interpreter in which every rounding goes up or down at random
(interpreter/noise.h). `check` bounds the errors of results by what these samples show of each element
(docs/checking.md)."""
from __future__ import annotations

import math
import re
from dataclasses import field
from pathlib import Path
from typing import Callable, Iterator

from ..errors import UserError
from ..records import dataclass
from .jobs import run_all

MOST = 16           # samples
SPREADS = 8.0       # of an element's own that its error may be: that of generator/check/compare.c
UNLIKELY = 1e12     # odds against a right error
SHARE = re.compile(r", (\S+) of the bound")


@dataclass(slots=True)
class Spread:
    """center: the results in double precision. draw: makes one sample, by its number. They are made as they are needed,
    the number n at `at`-n, states at `at`-n-state."""

    center: Path
    draw: Callable[[int, Path], object]
    at: Path
    jobs: int | None
    files: list[Path] = field(default_factory=list)
    drawn: int = 0

    def samples(self, count: int) -> list[Path]:
        """That many, or fewer: where other roundings lead to an index out of range, there is none."""
        numbers = range(self.drawn + 1, count + 1)
        self.files += [path for path in run_all(self._sample, list(numbers), self.jobs) if path is not None]
        self.drawn = max(self.drawn, count)
        return self.files

    def _sample(self, number: int) -> Path | None:
        path = Path(f"{self.at}-{number}")
        try:
            self.draw(number, path)
        except UserError:
            return None
        return path


def counts() -> Iterator[int]:
    """How many samples are tried: more where these do not decide."""
    yield 0
    count = 2
    while count <= MOST:
        yield count
        count *= 2


def decided(line: str, count: int) -> bool:
    """Whether a tensor's line of `tc-data spread` stays as it is with more samples: it is right, or what its errors are
    beyond so many samples, half of which are rounded and may show none, is too unlikely for a right one."""
    found = SHARE.search(line)
    if not line.endswith("FAILED") or "elements differ" not in line or count == MOST:
        return True
    share = float(found[1]) if found is not None else math.inf
    # what is infinite, no number or no float may be a sample's
    return count > 0 and math.isfinite(share) and SPREADS * share > UNLIKELY ** (2 / count)
