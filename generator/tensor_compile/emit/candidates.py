# SPDX-License-Identifier: Apache-2.0
"""The candidate table (templates/candidates.def), its prover, and the cost model that chooses without measuring.

A candidate may be used only where `refusal` finds no reason against it; `choose` depends on the kernel and on the target
description alone, so a build without a tuning lock is the same everywhere.
"""
from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from ..loops.ir import ContractionKernel
from ..symbolic import Expr
from .access import Access
from .template import TEMPLATES

PANEL = 16            # columns of a vector operation, whatever the registers of the instruction set
LOOP = 0.5            # cycles by which the loop's own instructions delay a step
TEAM = 8              # threads for which the cost model looks at the split
UNKNOWN_SIZE = 128    # what the cost model takes for a dim without an upper bound


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

    @property
    def unit(self) -> int:
        """Columns of the narrowest tile."""
        return PANEL if self.lanes > 1 else 1


@dataclass(frozen=True, slots=True)
class Candidate:
    """A TC_CANDIDATE line: `rows` x `columns` accumulators in registers."""

    op: str
    dtype: str
    isa: str
    rows: int
    columns: int

    @property
    def name(self) -> str:
        return f"tc_{self.op}_{self.dtype}_{self.rows}x{self.columns}__{self.isa}"


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


def find(name: str) -> Candidate | None:
    """The candidate of that name; None where the table has none."""
    return next((c for c in _table()[1] if c.name == name), None)


def registers_needed(isa: InstructionSet, rows: int, columns: int) -> int:
    """Accumulators, and the smaller of: the row of b and one element of a; a column of a and one register of b."""
    row = columns // isa.lanes
    return rows * row + min(row, rows) + 1


def pointers_needed(access: Access, isa: InstructionSet, rows: int, columns: int) -> int:
    """General registers of the inner loop: counter and end, rows of a, panels of b."""
    panels = 1 if access.b_piece.is_const else max(1, columns // PANEL)
    return 2 + (1 if access.row_stride_known else rows) + panels


def refusal(kernel: ContractionKernel, candidate: Candidate) -> str | None:
    """Why a candidate cannot be this kernel's; None where it can."""
    isa, access = instruction_set(candidate.isa), Access.of(kernel)
    rows, columns = candidate.rows, candidate.columns
    if kernel.a.dtype != candidate.dtype:
        return f"computes {candidate.dtype}, not {kernel.a.dtype}"
    if isa.lanes > 1 and kernel.b_panel not in (0, PANEL):
        return f"panels of {kernel.b_panel} columns"
    if isa.lanes == 1 and kernel.b_panel % columns:
        return f"panels of {kernel.b_panel} columns cannot be cut into {columns}"
    if registers_needed(isa, rows, columns) > isa.registers:
        return f"needs {registers_needed(isa, rows, columns)} registers of {isa.registers}"
    if pointers_needed(access, isa, rows, columns) > isa.pointers:
        return f"needs {pointers_needed(access, isa, rows, columns)} pointers of {isa.pointers}"
    if rows > 1 and access.rows.is_const and rows > max(1, access.rows.value):
        return f"the kernel has only {access.rows} rows"
    if access.columns.is_const and columns > isa.unit and columns - isa.unit >= max(1, access.columns.value):
        smallest = min(c.columns for c in candidates(isa.isa))
        if columns > smallest:
            return f"the kernel has only {access.columns} columns"
    return None


def legal(kernel: ContractionKernel, isa: str) -> list[Candidate]:
    """The candidates of an instruction set that fit a kernel, in the table's order; never empty."""
    return [c for c in candidates(isa) if refusal(kernel, c) is None]


# -- the cost model -------------------------------------------------------------------------------------------------
def choose(kernel: ContractionKernel, isa: str, target, parts: int = 1) -> Candidate:
    """The legal candidate of least modelled time; of equal ones the first of the table. parts: of the kernel that it is a
    part of, which a team shares."""
    access = Access.of(kernel)
    return min(legal(kernel, isa), key=lambda c: cycles(access, instruction_set(isa), c.rows, c.columns, target, parts))


def step_cycles(isa: InstructionSet, rows: int, columns: int) -> float:
    """Cycles of one k of a tile: bound by multiply-adds, by loads, or by the latency of its own accumulators."""
    row = max(1, columns // isa.lanes)
    return max(rows * row / isa.fmas, (rows + row) / isa.loads, float(isa.latency)) + LOOP


def tail_columns(isa: InstructionSet, rows: int, widest: int, b_pieces_known: bool) -> int:
    """Columns of a tile of only a few rows: as many as keep the multiply-adds busy, at most `widest`."""
    if isa.lanes == 1:
        return widest
    best = PANEL
    for columns in range(PANEL, widest + 1, PANEL):
        pointers = 2 + rows + (1 if b_pieces_known else columns // PANEL)
        if registers_needed(isa, rows, columns) > isa.registers or pointers > isa.pointers:
            break
        if step_cycles(isa, rows, columns) / columns < step_cycles(isa, rows, best) / best * 0.999:
            best = columns
    return best


def cycles(access: Access, isa: InstructionSet, rows: int, columns: int, target, parts: int = 1) -> float:
    """Modelled time of the kernel with one thread, and a tenth of what a team loses by an uneven split. For a dynamic
    number of rows the mean of the time a row at several numbers."""
    if access.rows.is_const:
        return _cycles(access, isa, rows, columns, target, max(1, access.rows.value), parts)
    most, (least, _) = size(access.rows), access.rows.range()
    numbers = {max(m, least or 1) for m in (most, most // 2 + 1, 5, 1)}
    return sum(_cycles(access, isa, rows, columns, target, m, parts) / m for m in sorted(numbers))


def _cycles(access: Access, isa: InstructionSet, rows: int, columns: int, target, m: int, parts: int) -> float:
    n, k, batches = (max(1, size(e)) for e in (access.columns, access.terms, access.batches))
    # bytes a cycle, the first time that panels of b are read
    once = 10 if batches * 4 * k * n * access.sums > target.l2 else 32

    def pace(width: int) -> int:
        """Bytes a cycle when they are read again for the next rows: by the level that holds the group's panels."""
        held = 4 * k * width * access.sums
        return 64 if held <= target.l1d // 2 else 32 if held <= target.l2 // 2 else 10

    def tile(height: int, width: int) -> float:
        compute = k * step_cycles(isa, height, width)
        return access.sums * (max(compute, 4 * k * width / pace(width)) + 20 + 3 * height * max(1, width // isa.lanes))

    def across(count: int, height: int, width: int) -> float:
        """`count` tiles one below the other, for all columns."""
        full, rest = divmod(n, width)
        rounded = -(-rest // isa.unit) * isa.unit
        total = count * (full * tile(height, width) + (tile(height, rounded) if rest else 0.0))
        first = max(0.0, access.sums * 4 * k * width / min(once, pace(width)) - tile(height, width))
        return total + first * n / width

    full, rest = divmod(m, rows)
    total = across(full, rows, columns) if full else 0.0
    items = full * -(-n // columns)
    if rest:
        width = max(columns, tail_columns(isa, rest, max(columns, 8 * PANEL), access.b_piece.is_const))
        total += across(1, rest, width)
        items += -(-n // width)
    team = min(target.threads, TEAM)
    shares = -(-batches * items * parts // team) * team / (batches * items * parts)
    return batches * total * (0.9 + 0.1 * shares)


def size(e: Expr) -> int:
    """A size for the cost model: a dim stands for its upper end, at most UNKNOWN_SIZE."""
    def of(symbol) -> int:
        hi = symbol.hi if isinstance(symbol.hi, int) else UNKNOWN_SIZE
        return max(symbol.lo, min(hi, UNKNOWN_SIZE) // symbol.divisor * symbol.divisor)

    return e.evaluate({s: of(s) for s in e.symbols()})
