# SPDX-License-Identifier: Apache-2.0
"""Contractions of few rows on a GPU: the second operand, constants as a rule, is all that there is to read, so a warp
has a column of it and nothing is brought to shared memory but the rows."""
from __future__ import annotations


from ..records import dataclass
from ..symbolic import divisor_of, product
from .loop_ir import ContractionKernel, GroupedContractionKernel
from .scalar_ir import Buffer, Load
from .scalars import extent, point_number
from .schedule_half import MULTIPROCESSORS

MOST_ROWS = 4
MOST_BYTES = 64 * 1024       # of the rows in shared memory
TOGETHER = 3                 # blocks of a multiprocessor at a time
MOST_BLOCKS = TOGETHER * MULTIPROCESSORS   # of a launch: each goes on with further columns
FEWEST_TERMS = 64


@dataclass(frozen=True, slots=True)
class FewRows:
    """rows: of the contraction; terms: in whole vectors; warps: of a block, each with a column; ahead: vectors of a
    thread that are on their way."""

    rows: int
    terms: int
    ahead: int
    warps: int = 8

    @property
    def threads(self) -> int:
        return 32 * self.warps

    @property
    def shared(self) -> int:
        return 2 * self.rows * self.terms


def few_rows(kernel: ContractionKernel | GroupedContractionKernel, dtype: str) -> FewRows | None:
    """How it is computed so, with operands of `dtype`; None where it is not."""
    buffers = {b.name: b for b in kernel.params}
    rows = terms = sums = 0
    for part in kernel.contractions:
        m, k = product(extent(s) for s in part.m), product(extent(s) for s in part.k)
        if product(extent(s) for s in part.batch) != 1 or not m.is_const or not k.is_const or m.value > MOST_ROWS \
                or k.value < FEWEST_TERMS or not all(lines_of_terms(buffers, part, b, dtype) for b in part.b):
            return None
        rows, terms, sums = max(rows, m.value), max(terms, -(-k.value // 8) * 8), max(sums, len(part.b))
    made = FewRows(rows, terms, 8 if sums == 1 else 4)
    return made if made.shared <= MOST_BYTES and sums <= 4 else None


def lines_of_terms(buffers: dict[str, Buffer], part: ContractionKernel, load: Load, dtype: str) -> bool:
    """Whether the terms of a column lie side by side, in whole vectors."""
    if load.dtype != dtype or load.valid or load.dynamic:
        return False
    address = buffers[load.buffer].address(load.index)
    outer = address.substitute({s: 0 for s in part.k})
    return address - outer == point_number(part.k) and divisor_of(outer) % 8 == 0
