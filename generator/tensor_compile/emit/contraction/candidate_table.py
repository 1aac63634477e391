# SPDX-License-Identifier: Apache-2.0
"""templates/candidates.def: the tiles that are tried on each instruction set, and what one of them takes."""
from __future__ import annotations

import re
from dataclasses import replace
from functools import lru_cache

from ...instruction_sets import WIDE, InstructionSet, instruction_set
from ...records import dataclass
from ..template import TEMPLATES

PANEL = WIDE          # columns of a panel of vectors
TILE = 16             # rows of a tile of AMX, its columns of i32, and its words of a row of an operand
TILE_LATENCY = 52     # cycles until a sum of tiles can be added to
LOOP = 0.5            # cycles by which the loop's own instructions delay a step
NAMED_LOOP = 0.1      # the same where a tile names its registers and panels are near: eight terms a turn, fewer loads


@dataclass(frozen=True, slots=True)
class Candidate:
    """A TC_CANDIDATE line: `rows` x `columns` accumulators in registers."""

    op: str
    dtype: str
    isa: str
    rows: int
    columns: int


@lru_cache(maxsize=None)
def _table() -> tuple[Candidate, ...]:
    text = (TEMPLATES / "candidates.def").read_text(encoding="utf-8")
    lines = re.findall(r"^TC_CANDIDATE\((\w+), (\w+), (\w+), (\d+), (\d+)\)$", text, re.MULTILINE)
    return tuple(Candidate(op, dtype, isa, int(rows), int(columns)) for op, dtype, isa, rows, columns in lines)


def has_candidates(isa: str) -> bool:
    """The table has lines of its own for an instruction set."""
    return any(c.isa == isa for c in _table())


@lru_cache(maxsize=None)
def candidates(isa: str) -> tuple[Candidate, ...]:
    """The candidates of an instruction set in the table's order: its own lines, and its base's for what it has no line
    of its own for."""
    found: list[Candidate] = []
    for at in instruction_set(isa).bases:
        have = {(c.op, c.dtype) for c in found}
        found += [replace(c, isa=isa) for c in _table() if c.isa == at.name and (c.op, c.dtype) not in have]
    return tuple(found)


def registers_needed(isa: InstructionSet, rows: int, columns: int) -> int:
    """Accumulators, and the smaller of: the row of b and one element of a; a column of a and one register of b."""
    row = columns // isa.lanes
    return rows * row + min(row, rows) + 1


def micro_pointers(rows: int, columns: int, steps: bool) -> int:
    """General registers of a micro-kernel's inner loop: rows, counter, b and the multiples of its panels' distance (of
    eight panels the next base, too), what is fetched and its step, or the terms and the steps of both operands."""
    panels = -(-columns // PANEL)
    multiples = (panels > 1) + (panels > 3) + (panels > 5) + (panels > 7) + (panels - 1) // 8
    return rows + 2 + multiples + (3 if steps else 2 if rows >= 3 else 0)


def step_cycles(isa: InstructionSet, rows: int, columns: int, fmas: float = 0.0, half: bool = False) -> float:
    """Cycles of one k of a tile: bound by multiply-adds, by loads, or by the latency of its own accumulators. fmas:
    those of a processor in a cycle, where they are not the instruction set's. One that does half of them takes vectors
    in halves, loads as well. half: of a row's last register the first half alone is computed: that saves time there,
    and elsewhere costs none."""
    row, slower = float(max(1, columns // isa.lanes)), isa.fmas / fmas if fmas else 1.0
    if half:
        row -= 0.5
    return max(slower * max(rows * row / isa.fmas, (rows + row) / isa.loads), float(isa.latency)) + LOOP


def tile_step_cycles(rows: int, columns: int, depth: int) -> float:
    """The same of `depth` k by products of tiles, each of which adds them to TILE x TILE sums in TILE cycles: bound by
    products, by the loads of operands, two rows a cycle, or by the latency of a sum."""
    high, wide = -(-rows // TILE), -(-columns // TILE)
    return max(TILE * high * wide, (TILE * high + depth * wide) / 2, TILE_LATENCY) + LOOP
