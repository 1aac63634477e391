# SPDX-License-Identifier: Apache-2.0
"""Constants, where they lie in the file."""
from __future__ import annotations

from dataclasses import dataclass
from typing import Iterator

BLOCK = 1 << 20


@dataclass(frozen=True, slots=True)
class View:
    """A part of the mapped file."""

    view: memoryview

    @property
    def length(self) -> int:
        return len(self.view)

    def blocks(self) -> Iterator[bytes]:
        for at in range(0, len(self.view), BLOCK):
            yield bytes(self.view[at:at + BLOCK])
