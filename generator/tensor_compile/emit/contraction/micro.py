# SPDX-License-Identifier: Apache-2.0
"""The library of micro-kernels: tiles of accumulators over terms, which the contractions of a build share.

A micro-kernel knows its instruction set, its dtypes and the accumulators of its tile; terms, strides and rows are
arguments (templates/include/tc_micro.h). It starts from zeros or from accumulators in memory and leaves them there, so
a sum may be cut into blocks of terms without a change of its bits. All that a build needs of one instruction set are
one translation unit.
"""
from __future__ import annotations

from dataclasses import dataclass
from typing import Iterable, Sequence

from ...instruction_sets import InstructionSet, instruction_set
from .candidate_table import PANEL, TILE
from .product_forms import Form, form
from ..template import expand_file

LIBRARY = "tck_micro_"   # starts the names of the units, and of what is in them
ROW_TILES, COLUMN_TILES = (4, 5), (6, 7)   # of tiles' operands; those before are sums (TCT_TILES)
FETCHING = 3   # rows of a tile from which on it fetches ahead: with fewer, loads bound it
UNROLLED = 8   # lanes from which on loops of several rows are unrolled: counting terms shares ports with multiply-adds
QUAD = 4       # terms of a row in one register, where lanes of it are multiplied
NEXT_TERMS = 24   # terms ahead that a fetching kernel brings columns of b to the first cache (of 8 and 24 the better)
COLD_TERMS = 32   # and to the second one, where they are panels that come from memory: half a page (Zen 4)


@dataclass(frozen=True, slots=True, order=True)
class Micro:
    """rows x columns accumulators of a product (loops/products.py, its name). steps: where the terms of a
    row of a, or of a column of b, are not neighbours (panels'), their distances are arguments, too. fetches: panels of
    later columns, or a later block of terms, are fetched meanwhile. streams: later terms of its own columns are, as no
    tile reads them again: to the first cache, of panels to the second one."""

    isa: str
    rows: int
    columns: int
    steps: bool
    fetches: bool = False
    product: str = "f32"
    streams: bool = False

    @property
    def symbol(self) -> str:
        return f"{LIBRARY}{self.product}_{self.rows}x{self.columns}{'_steps' if self.steps else ''}" \
            f"{'_fetch' if self.fetches else ''}{'_stream' if self.streams else ''}__{self.isa}"


@dataclass(frozen=True, slots=True)
class _Row:
    r: int


@dataclass(frozen=True, slots=True)
class Reg:
    """v: its number; b: the address of its columns; near: the same from a pointer to its panel (p0, p1, …); t: what
    the names of its type and functions begin with (tc_tile.h)."""

    v: int
    b: str
    near: str
    t: str = "tct"


@dataclass(frozen=True, slots=True)
class _Half:
    """name: of the function that loads it of b; at: where a row has it."""

    name: str
    at: str


@dataclass(frozen=True, slots=True)
class Pair:
    """Registers of columns that one instruction loads. together: else the compiler loads each where its one use is."""

    regs: Sequence[Reg]
    together: bool

    @property
    def first(self) -> int:
        return self.regs[0].v

    @property
    def second(self) -> int:
        return self.regs[1].v


# Panels from b: multiples of the distance that an address can hold, so that few registers hold them all.
_PANELS = ("", "b_piece", "2 * b_piece", "b_third", "4 * b_piece", "b_fifth", "2 * b_third", "b_seventh")


def _tiles(micro: Micro) -> str:
    """Of a product of tiles. The columns' operands take turns."""
    high, wide, kind = micro.rows // TILE, micro.columns // TILE, form(micro.product, micro.isa)
    rows = [{"r": r, "tile": ROW_TILES[r]} for r in range(high)]
    columns = [{"c": c, "tile": COLUMN_TILES[c % len(COLUMN_TILES)],
                "products": [{"sum": r * wide + c, "row": rows[r]["tile"]} for r in range(high)]} for c in range(wide)]
    return expand_file("contraction/tiles.c.in", {
        "symbol": micro.symbol, "rows": rows, "columns": columns, "names": kind.names, "tile": TILE,
        "sums": [{"i": r * wide + c, "at": r * TILE * micro.columns + c * TILE, "column": c * TILE}
                 for r in range(high) for c in range(wide)],
        "width": micro.columns, "fetches": micro.fetches})


def _text(micro: Micro, isa: InstructionSet) -> str:
    if form(micro.product, micro.isa).tiles:
        return _tiles(micro)
    rows, regs = _rows(micro), _registers(micro, isa)
    return expand_file("contraction/micro.c.in", {
        "symbol": micro.symbol, "row_list": rows, "reg_list": regs, "lanes": isa.lanes, "rows": micro.rows,
        "columns": micro.columns, "sum_c": form(micro.product, micro.isa).sum_c,
        "sum": form(micro.product, micro.isa).product.sum, "sums_text": sums_text(micro, isa, True)})


def _rows(micro: Micro) -> list[_Row]:
    return [_Row(r) for r in range(micro.rows)]


def _registers(micro: Micro, isa: InstructionSet) -> list[Reg]:
    lanes = isa.lanes
    within = max(1, min(PANEL, micro.columns) // lanes)
    regs = []
    for v in range(micro.columns // lanes):
        panel, part = divmod(v, within)
        far, near = divmod(panel, len(_PANELS))
        place = " + ".join(x for x in (_PANELS[near], str(part * lanes) if part else "") if x)
        regs.append(Reg(v, f"b{far if far else ''}{f' + {place}' if place else ''}", f"p{panel} + {part * lanes}"))
    return regs


def pairs(regs: Sequence[Reg], rows: int, isa: InstructionSet) -> list[Pair]:
    """The registers of columns beside four terms of each row: pairs where there is room for more than one of them."""
    free = isa.registers - rows * len(regs) - rows
    size = 2 if free > 2 and len(regs) % 2 == 0 else 1
    return [Pair(regs[i:i + size], size == 2 and rows == 1) for i in range(0, len(regs), size)]


def sums_text(micro: Micro, isa: InstructionSet, more: bool, terms: str = "m->terms", taps: str = "m->taps",
              apart: int = 0, start: str = "") -> str:
    """The sums in registers, of what `m` describes. more: they may go on from sums in memory. terms, taps: how many,
    where that is known; apart: elements from one row to the next, where that is. start: the address of what the sums
    start from, a number a column; "": zeros."""
    rows, regs = _rows(micro), _registers(micro, isa)
    panels, kind = -(-micro.columns // PANEL), form(micro.product, micro.isa)
    if kind.sorts or kind.tall(micro.rows):
        return _by_registers(micro, isa, kind, terms, apart)
    cold = micro.streams and not micro.steps
    halves = [_Half("", "i")] if kind.halves == 1 else [_Half(str(h), f"2 * i + {h}") for h in range(kind.halves)]
    return expand_file("contraction/sums.c.in", {
        "start": start, "lanes": isa.lanes, "steps": micro.steps, "more": more, "terms": terms, "taps": taps,
        "unrolls": not kind.product.integer and isa.lanes >= UNROLLED and len(rows) > 1,
        "row_list": rows, "reg_list": regs, "hold_b": len(regs) <= len(rows),
        "quads": [{"i": i} for i in range(QUAD if kind.quads else 0)],
        "panels": [{"p": p, "at": regs[p * (len(regs) // panels)].b} for p in range(panels)],
        "pairs": pairs(regs, len(rows), isa),
        "third": panels > 3, "fifth": panels > 5, "seventh": panels > 7,
        "far": [{"i": i, "first": i * len(_PANELS)} for i in range(1, -(-panels // len(_PANELS)))],
        "fetches": micro.fetches, "next_terms": COLD_TERMS if cold else NEXT_TERMS, "locality": 2 if cold else 3,
        "ahead": cold or (micro.fetches and not micro.steps or micro.streams) and isa.lanes == PANEL,
        "panel": PANEL, "halves": halves, "names": kind.names, "loaded": kind.loaded, "row_c": kind.row_c,
        "b_c": kind.b_c, "sum_c": kind.sum_c, "sum": kind.product.sum, "starts": kind.starts,
        "row_terms": kind.row_terms}).rstrip("\n")


def _by_registers(micro: Micro, isa: InstructionSet, kind: Form, terms: str, apart: int) -> str:
    """The sums of one register of columns after the other: of words that are sorted by their kinds, or of many rows."""
    within = PANEL // isa.lanes
    return expand_file(f"contraction/{'sorted' if kind.sorts else 'halves'}.c.in", {
        "names": kind.names, "loaded": kind.loaded,
        "row_list": [{"r": r, "at": f"x0 + at + {r * apart}" if apart else f"x{r} + at"} for r in range(micro.rows)],
        "pointers": [{"r": r} for r in range(1 if apart else micro.rows)],
        "reg_list": [
            {"v": v, "panel": v // within, "half": v % within, "fetches": micro.fetches and v == 0,
             "waits": v + 1 < micro.columns // isa.lanes} for v in range(micro.columns // isa.lanes)],
        "lanes": isa.lanes, "panel": PANEL, "b": kind.product.b, "row_c": kind.row_c, "b_c": kind.b_c,
        "fetches": micro.fetches, "terms": terms, "rows": micro.rows, "regs": micro.columns // isa.lanes,
        "waiting": micro.columns // isa.lanes - 1}).rstrip("\n")


def library(micros: Iterable[Micro], isa: str) -> str:
    """The translation unit of one instruction set's micro-kernels."""
    found = instruction_set(isa)
    return expand_file("contraction/library.c.in", {
        "isa": isa, "plain_schedule": found.plain_schedule,
        "texts": [_text(m, found).rstrip("\n") for m in sorted(micros)]})
