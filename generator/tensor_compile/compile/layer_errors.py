# SPDX-License-Identifier: Apache-2.0
"""How far tensors are from what they should be, summed over calls: the noise beside the signal, in decibels, and the
largest difference."""
from __future__ import annotations

import math
from dataclasses import field
from typing import Mapping, Sequence

from ..records import dataclass


@dataclass(slots=True)
class Error:
    """signal, noise: sums of squares, of what is wanted and of the difference; largest: difference; most: wanted
    magnitude; rows, agreeing: places along all axes but the last, and those whose largest element is at the same
    place."""

    signal: float = 0.0
    noise: float = 0.0
    largest: float = 0.0
    most: float = 0.0
    rows: int = 0
    agreeing: int = 0

    @property
    def decibels(self) -> float:
        if self.noise == 0:
            return math.inf
        return 10 * math.log10(self.signal / self.noise) if self.signal else -math.inf

    @property
    def relative(self) -> float:
        """The noise's root mean square in parts of the signal's."""
        return math.sqrt(self.noise / self.signal) if self.signal else 0.0 if not self.noise else math.inf


@dataclass(slots=True)
class Errors:
    """By the names of outputs: of the model's layers, in their order, each with its own name; and of the model's
    outputs."""

    layers: Mapping[str, str]
    outputs: Sequence[str]
    found: dict[str, Error] = field(default_factory=dict)

    def shown(self, name: str) -> str:
        """What the user calls it."""
        return self.layers.get(name, name)

    def add(self, printed: str) -> None:
        """What `tc-data errors` prints of one call."""
        for line in printed.splitlines():
            name, *words = line.split()
            signal, noise, largest, most, rows, agreeing = map(float, words)
            e = self.found.setdefault(name, Error())
            e.signal, e.noise = e.signal + signal, e.noise + noise
            e.largest, e.most = max(e.largest, largest), max(e.most, most)
            e.rows, e.agreeing = e.rows + int(rows), e.agreeing + int(agreeing)


def table(errors: Errors) -> list[str]:
    """A line a layer."""
    names = [name for name in (*errors.layers, *errors.outputs) if name in errors.found]
    width = max((len(errors.shown(n)) for n in names), default=5)
    lines = [f"{'layer':{width}}  signal to noise  relative error  largest error  largest value"]
    for name in names:
        e = errors.found[name]
        if name == next(iter(errors.outputs), None):
            lines.append("outputs")
        lines.append(f"{errors.shown(name):{width}}  {e.decibels:12.1f} dB  {100 * e.relative:12.2f} %  "
                     f"{e.largest:13.4g}  {e.most:13.4g}"
                     + (f"  largest element at the same place: {e.agreeing} of {e.rows}" if name in errors.outputs
                        else ""))
    return lines
