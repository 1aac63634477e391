# SPDX-License-Identifier: Apache-2.0
"""How `check` compares results with those that they should equal: tc-data does, and prints a line a tensor."""
from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Iterable, Sequence

from ..errors import UserError
from ..records import dataclass
from .spread import Spread, counts, decided, likely

LARGER = re.compile(r"(\d+) of \d+ elements as errors \d+ times as large have them")
NEAR = "1e-4,1e-5"      # rtol, atol of floats that become integers; the one that the user does not name
# rtol, atol of products of fewer digits, and units in the last place of 1 for results of 16 bits
BOUNDS = {"tf32": "5e-3,1e-2,16", "f16": "5e-3,1e-2,16", "bf16": "2e-2,5e-2,16"}


@dataclass(frozen=True, slots=True)
class Judge:
    """A line a tensor; what differs too much ends in FAILED. data: tc-data. bound: RTOL,ATOL of what should be nearly
    equal, "" for one that the spread of each element gives."""

    data: Path
    bound: str

    def bits(self, got: Path, want: Path) -> list[str]:
        """Of results that should be equal."""
        return self._compared("bits", got, want)

    def lines(self, got: Path, want: Path, spread: Spread, suffix: str = "", rtol: float = 0, sampled: bool = True,
              ignored: Sequence[str] = ()) -> list[str]:
        """Of results that should be nearly equal. rtol: what is right besides. sampled: whether samples are drawn for
        what is not right without any."""
        if self.bound:
            return self._compared(self.bound, got, want, ignored)
        lines: list[str] = []
        before = 0
        for count in counts() if sampled else (0,):
            # the first ones decide nearly everything
            larger = count if before else 0
            lines = self.measured(got, want, spread, suffix, rtol, count, larger, ignored, expected=likely(lines))
            if all(decided(line, count) for line in lines):
                break
            before = count
        return lines

    def measured(self, got: Path, want: Path, spread: Spread, suffix: str, rtol: float, count: int, larger: int,
                 ignored: Sequence[str] = (), others: str = "any", expected: int = 0) -> list[str]:
        """With that many samples, and that many of larger errors. others: whether an integer may be a sample's (any),
        or not (own). expected: how many samples it will take."""
        files = [[f"{path}{suffix}" for path in samples]
                 for samples in (spread.samples.first(count, expected), spread.larger.first(larger))]
        return self._lines(want, "spread", str(rtol), others, str(got), str(want), f"{spread.center}{suffix}",
                           *(str(len(paths)) for paths in files), *files[0], *files[1], *ignored)

    def _compared(self, how: str, got: Path, want: Path, ignored: Sequence[str] = ()) -> list[str]:
        """how: bits, or RTOL,ATOL."""
        return self._lines(want, "compare", how, str(got), str(want), *ignored)

    def _lines(self, want: Path, *words: str) -> list[str]:
        result = subprocess.run([str(self.data), *words], capture_output=True, text=True, check=False)
        if result.returncode not in (0, 1):
            raise UserError(result.stderr.strip(), str(want))
        return result.stdout.splitlines()


def excused(lines: Iterable[str]) -> int:
    """How many elements are right as samples of larger errors alone explain them."""
    return sum(int(found[1]) for line in lines if (found := LARGER.search(line)))


def wrong(lines: Iterable[str]) -> list[str]:
    """Those of tensors that differ too much."""
    return [line for line in lines if line.endswith("FAILED")]
