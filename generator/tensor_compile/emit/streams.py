# SPDX-License-Identifier: Apache-2.0
"""Steps that read packed weights once, panel by panel, as a decoder's products of one row do: memory sets their time.

A thread that waits at a barrier before such a step fetches its part of the panels (tc_barrier_ahead), so that memory is
read while small steps run, or other threads finish. What a part is the kernel says: all panels of all its products, one
product behind the other, split evenly (templates/contraction/memory.c.in, `by_panels`).
"""
from __future__ import annotations

from typing import Mapping

from ..graph.dtypes import DTYPES
from ..loops.loop_ir import ContractionKernel, GroupedContractionKernel, Kernel
from ..loops.scalars import domain_size, extent
from ..records import dataclass

ROWS = 8          # of a product up to which all of them are one tile, so that panels are read once
LEAST = 1 << 19   # bytes of a step's panels, from which on they come from behind the second caches of a team


@dataclass(frozen=True, slots=True)
class Stream:
    """Panels first.. of those that a team shares in a step; offset, bytes: in the packed weights, of one panel."""

    first: int
    count: int
    offset: int
    bytes: int


@dataclass(frozen=True, slots=True)
class Streams:
    """Of one step, whose team shares so many panels."""

    panels: int
    parts: tuple[Stream, ...]


def streams(kernel: Kernel, packed: Mapping[str, int]) -> Streams | None:
    """None where the kernel is no such step. packed: where the packed buffers lie."""
    if not isinstance(kernel, (ContractionKernel, GroupedContractionKernel)):
        return None
    first, parts = 0, []
    for part in kernel.contractions:
        count = _panels(part, packed)
        if not count:
            return None
        for b in part.b:
            buffer = next(p for p in part.params if p.name == b.buffer)
            size = buffer.elements.value * DTYPES[buffer.dtype].bytes
            parts.append(Stream(first, count, packed[b.buffer], size // count))
        first += count
    if sum(p.count * p.bytes for p in parts) < LEAST:
        return None
    return Streams(first, tuple(parts))


def _panels(part: ContractionKernel, packed: Mapping[str, int]) -> int:
    """Of each second operand; 0 where they are not read so."""
    rows, columns, terms = domain_size(part.batch + part.m), domain_size(part.n), domain_size(part.k)
    if not (part.b_panel and rows.is_const and rows.value <= ROWS and columns.is_const and terms.is_const) \
            or any(extent(s).value != 1 for s in part.batch):
        return 0
    count = -(-columns.value // part.b_panel)
    for b in part.b:
        buffer = next(p for p in part.params if p.name == b.buffer)
        if b.buffer not in packed or not buffer.elements.is_const \
                or buffer.elements.value != count * part.b_panel * terms.value:
            return 0
    return count
