# SPDX-License-Identifier: Apache-2.0
"""A model's file in memory, and constants where they lie in it."""
from __future__ import annotations

import mmap
from contextlib import contextmanager
from pathlib import Path
from typing import Iterator

from ..errors import UserError
from ..records import dataclass

BLOCK = 1 << 20    # bytes that are copied at once


@contextmanager
def opening(shown: str, wanted: str) -> Iterator[None]:
    """Reading a file that may not be there, or not be readable. wanted: what it should be, "a model"."""
    try:
        yield
    except IsADirectoryError:
        raise UserError(f"a folder, not {wanted}", shown) from None
    except FileNotFoundError:
        raise UserError("no such file", shown) from None
    except OSError as error:
        raise UserError(f"cannot be read: {error.strerror}", shown) from None


def load(path: Path, shown: str) -> memoryview:
    """The file's memory, read as it is needed."""
    with opening(shown, "a model"), open(path, "rb") as f:
        if not path.stat().st_size:
            raise UserError("the file is empty", shown)
        return memoryview(mmap.mmap(f.fileno(), 0, access=mmap.ACCESS_READ))


@dataclass(frozen=True, slots=True)
class Mapped:
    """A part of the mapped file."""

    view: memoryview

    @property
    def length(self) -> int:
        return len(self.view)

    def blocks(self) -> Iterator[bytes]:
        for at in range(0, len(self.view), BLOCK):
            yield bytes(self.view[at:at + BLOCK])
