# SPDX-License-Identifier: Apache-2.0
"""templates/candidates.def: what the instruction sets can do, and the tiles that are tried on each."""
from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from .template import TEMPLATES

PANEL = 16            # columns of a vector operation, whatever the registers of the instruction set
LOOP = 0.5            # cycles by which the loop's own instructions delay a step


@dataclass(frozen=True, slots=True)
class InstructionSet:
    """A TC_INSTRUCTION_SET line of the table, which explains the fields."""

    isa: str
    lanes: int
    registers: int
    pointers: int
    fmas: int
    loads: int
    latency: int


@dataclass(frozen=True, slots=True)
class Candidate:
    """A TC_CANDIDATE line: `rows` x `columns` accumulators in registers."""

    op: str
    dtype: str
    isa: str
    rows: int
    columns: int


@lru_cache(maxsize=None)
def _table() -> tuple[dict[str, InstructionSet], tuple[Candidate, ...]]:
    sets: dict[str, InstructionSet] = {}
    candidates: list[Candidate] = []
    text = (TEMPLATES / "candidates.def").read_text(encoding="utf-8")
    for kind, inside in re.findall(r"^(TC_\w+)\((.*)\)$", text, re.MULTILINE):
        fields = [int(f) if f.isdigit() else f for f in (part.strip() for part in inside.split(","))]
        if kind == "TC_INSTRUCTION_SET":
            sets[fields[0]] = InstructionSet(*fields)
        else:
            candidates.append(Candidate(*fields))
    return sets, tuple(candidates)


def instruction_set(isa: str) -> InstructionSet:
    return _table()[0][isa]


def candidates(isa: str) -> tuple[Candidate, ...]:
    """Every line of the table for an instruction set, in the table's order."""
    return tuple(c for c in _table()[1] if c.isa == isa)


def registers_needed(isa: InstructionSet, rows: int, columns: int) -> int:
    """Accumulators, and the smaller of: the row of b and one element of a; a column of a and one register of b."""
    row = columns // isa.lanes
    return rows * row + min(row, rows) + 1


def micro_pointers(rows: int, columns: int, steps: bool) -> int:
    """General registers of a micro-kernel's inner loop: rows, counter, terms, b and the multiples of its panels' distance
    (of eight panels the next base, too), what is fetched ahead or the steps."""
    panels = -(-columns // PANEL)
    multiples = (panels > 1) + (panels > 3) + (panels > 5) + (panels > 7) + (panels - 1) // 8
    return rows + 2 + 1 + multiples + (2 if steps else rows >= 3)


def step_cycles(isa: InstructionSet, rows: int, columns: int) -> float:
    """Cycles of one k of a tile: bound by multiply-adds, by loads, or by the latency of its own accumulators."""
    row = max(1, columns // isa.lanes)
    return max(rows * row / isa.fmas, (rows + row) / isa.loads, float(isa.latency)) + LOOP
