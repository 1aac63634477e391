# SPDX-License-Identifier: Apache-2.0
"""Who reads and who writes each buffer of a function."""
from __future__ import annotations

from collections import Counter

from .accesses import read, written
from .loop_ir import Kernel
from .program_ir import Branch, Element, leaves, Loop, regions
from .scalar_ir import Buffer


def reading_items(items: list[Element]) -> Counter[str]:
    """How many items of a list and its regions read each buffer; a decision counts as one."""
    reads = Counter(r.condition for r in regions(items) if isinstance(r, (Loop, Branch)) and r.condition)
    for item in leaves(items):
        reads.update(read(item))
    return reads


class Uses:
    """readers, writers: how many items of a function, with those in its regions, load and store a buffer."""

    def __init__(self, items: list[Element]):
        self.readers = reading_items(items)
        self.writers = Counter(name for item in leaves(items) for name in set(written(item)))

    def hands_on(self, kernel: Kernel, buffer: Buffer) -> bool:
        """Whether a temp goes from this kernel to one other: nobody else stores or loads any of it."""
        own = buffer.name in read(kernel)
        return buffer.kind == "temp" and self.writers[buffer.name] == 1 and self.readers[buffer.name] - own == 1
