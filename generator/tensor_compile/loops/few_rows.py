# SPDX-License-Identifier: Apache-2.0
"""Contractions of few rows on a GPU: the second operand, constants as a rule, is all that there is to read, so a warp
has a column of it and nothing is brought to shared memory but the rows."""
from __future__ import annotations

from dataclasses import replace

from ..records import dataclass
from ..symbolic import divisor_of, product
from .column_pairs import half_of, multiplied
from .loop_ir import ContractionKernel, GroupedContractionKernel
from .scalar_ir import Buffer, Load
from .scalars import extent, point_number
from .schedule_half import MULTIPROCESSORS

MOST_ROWS = 4
MOST_BYTES = 64 * 1024       # of the rows in shared memory
FEWEST_TERMS = 64
MOST_SUMS = 4
# Warps of a block, vectors ahead, and blocks of a multiprocessor that have registers, and that one launch has. Where
# these are fewer, blocks of the next kernel come early beside them.
FORMS = ((8, 8, 3, 3), (4, 8, 6, 6), (4, 4, 8, 8), (8, 8, 3, 2), (4, 8, 6, 4), (4, 4, 8, 4), (4, 4, 8, 6))


@dataclass(frozen=True, slots=True)
class FewRows:
    """rows: of the contraction; terms: in whole vectors; ahead: vectors of a thread and operand that are on their way;
    warps: of a block, `parted` of which share a column's terms; together: blocks of a multiprocessor that registers are
    left for; at_once: that one launch has."""

    rows: int
    terms: int
    ahead: int
    warps: int
    together: int
    at_once: int
    parted: int = 1

    @property
    def columns(self) -> int:
        """That a block has at a time."""
        return self.warps // self.parted

    @property
    def threads(self) -> int:
        return 32 * self.warps

    @property
    def shared(self) -> int:
        return 2 * self.rows * self.terms

    @property
    def most_blocks(self) -> int:
        """Of a launch: each goes on with further columns."""
        return self.at_once * MULTIPROCESSORS


def few_rows(kernel: ContractionKernel | GroupedContractionKernel, dtype: str) -> list[FewRows]:
    """How it may be computed so, with operands of `dtype`, the best first; nothing where it may not."""
    buffers = {b.name: b for b in kernel.params}
    rows = terms = sums = 0
    for part in kernel.contractions:
        m, k = product(extent(s) for s in part.m), product(extent(s) for s in part.k)
        own = multiplied(buffers, part)    # the other column's sum is another warp's
        if product(extent(s) for s in part.batch) != 1 or not m.is_const or not k.is_const or m.value > MOST_ROWS \
                or k.value < FEWEST_TERMS or not all(lines_of_terms(buffers, part, b, dtype) for b in own):
            return []
        rows, terms, sums = max(rows, m.value), max(terms, -(-k.value // 8) * 8), max(sums, len(own))
    if 2 * rows * terms > MOST_BYTES or sums > MOST_SUMS:
        return []
    made = (FewRows(rows, terms, ahead if sums == 1 else ahead // 2, warps, together, at_once)
            for warps, ahead, together, at_once in FORMS)
    return [replace(tile, parted=parted(kernel, tile)) for tile in made]


def parted(kernel: ContractionKernel | GroupedContractionKernel, tile: FewRows) -> int:
    """Warps that share a column's terms: as many as have all of their terms on the way at once, where blocks with a
    column a warp are fewer than a launch has."""
    (*others, part), at_once = kernel.contractions, tile.ahead * 32 * 8
    if others or half_of({b.name: b for b in kernel.params}, part):
        return 1
    columns, found = product(extent(s) for s in part.n), 1
    if not columns.is_const or -(-columns.value // tile.warps) >= tile.most_blocks:
        return 1
    while 2 * found <= tile.warps and found * at_once < tile.terms:
        found *= 2
    return found


def lines_of_terms(buffers: dict[str, Buffer], part: ContractionKernel, load: Load, dtype: str) -> bool:
    """Whether the terms of a column lie side by side, in whole vectors."""
    if load.dtype != dtype or load.valid or load.dynamic:
        return False
    address = buffers[load.buffer].address(load.index)
    outer = address.substitute({s: 0 for s in part.k})
    return address - outer == point_number(part.k) and divisor_of(outer) % 8 == 0
