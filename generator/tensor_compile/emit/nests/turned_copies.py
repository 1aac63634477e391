# SPDX-License-Identifier: Apache-2.0
"""Loop nests that copy what lies in another order: the fastest variable of loads is not that of stores.

Such a nest moves matrices, from[row, column] to to[column, row], by tiles that threads share. In a tile blocks of whole
lines of the caches are turned in registers (tc_turn.h), where a vector collected from 16 rows would use a part of each
line and, where rows lie a power of two apart, find it gone before it uses the next. turned_loads.py has nests that
compute something.
"""
from __future__ import annotations

from ...graph.dtypes import DTYPES
from ...instruction_sets import CACHE_LINE
from ...loops.loop_ir import LoopNestKernel
from ...loops.scalar_ir import Load
from ...records import dataclass
from ...symbolic import Expr, Sym, ZERO, const, divisor_of, product
from .items import elements_of_row, FEW_ITEMS, next_item, positions, share
from ..scalar import ScalarEmitter, extent
from . import far

SMALLEST = 16   # rows and columns of a matrix that is worth it; of 8 bytes an element half of it
ROWS = 256      # of a tile
ROW_LINES = 4   # of the caches, of a tile's row


@dataclass(frozen=True, slots=True)
class Turn:
    """to[to_first + column*to_step + row] = from[from_first + row*from_step + column], for all of `others`."""

    source: str
    target: str
    size: int
    row: Sym
    column: Sym
    others: tuple[Sym, ...]
    from_first: Expr
    to_first: Expr
    from_step: Expr
    to_step: Expr

    @property
    def side(self) -> int:
        """Elements of a line."""
        return CACHE_LINE // self.size

    @property
    def whole(self) -> bool:
        """Rows of the result are whole lines."""
        return all(divisor_of(e) % self.side == 0 for e in (self.to_first, self.to_step, extent(self.row)))


def turn(kernel: LoopNestKernel) -> Turn | None:
    """What the loop nest is, where it is nothing else."""
    if len(kernel.phases) != 1 or kernel.phases[0].reduces or len(kernel.phases[0].stores) != 1:
        return None
    (store,), variables = kernel.phases[0].stores, (*kernel.rows, *kernel.phases[0].vars)
    x = store.value
    if not isinstance(x, Load) or x.dynamic or x.valid or store.dynamic or x.buffer == store.buffer:
        return None
    buffers = {b.name: b for b in kernel.params}
    to, source = buffers[store.buffer].address(store.index), buffers[x.buffer].address(x.index)
    row = next((s for s in variables if to.coefficient(s) == 1), None)
    column = next((s for s in variables if source.coefficient(s) == 1), None)
    if row is None or column is None or row == column or not (worth(row, x.dtype) and worth(column, x.dtype)):
        return None
    to_step, from_step = to.coefficient(column), source.coefficient(row)
    if to_step is None or from_step is None or not (to_step.terms and from_step.terms) \
            or any(not s.is_dim for e in (to_step, from_step) for s in e.symbols()):
        return None
    first = {row: ZERO, column: ZERO}
    return Turn(x.buffer, store.buffer, DTYPES[x.dtype].bytes, row, column,
                tuple(s for s in variables if s not in (row, column)), source.substitute(first), to.substitute(first),
                from_step, to_step)


def worth(s: Sym, dtype: str) -> bool:
    """Whether a matrix has enough along this variable."""
    size = extent(s)
    return not size.is_const or size.value >= min(SMALLEST, CACHE_LINE // DTYPES[dtype].bytes)


@dataclass(frozen=True, slots=True)
class Tiles:
    """How many there are along the rows and along the columns, and a tile's elements."""

    rows: Expr
    columns: Expr
    elements: int


def tiles(t: Turn) -> Tiles:
    """Smaller ones where they are few."""
    rows, columns = ROWS, ROW_LINES * t.side
    while True:
        found = Tiles(_count(extent(t.row), rows), _count(extent(t.column), columns), rows * columns)
        items = product(extent(s) for s in t.others) * found.rows * found.columns
        if not items.is_const or items.value >= FEW_ITEMS or (rows, columns) == (t.side, t.side):
            return found
        rows, columns = (rows, columns // 2) if columns > t.side else (rows // 2, columns)


def _count(size: Expr, most: int) -> Expr:
    return const(max(1, size.value // most)) if size.is_const else (size + (most - 1)) // most


def emit(e: ScalarEmitter, kernel: LoopNestKernel, t: Turn) -> None:
    """Tiles, split over the team. One begins at a line of the result and has a line or more."""
    tiled = tiles(t)
    items = product(extent(s) for s in t.others) * tiled.rows * tiled.columns
    e.lines += share(e, items, max(1, kernel.grain // max(1, tiled.elements // elements_of_row(kernel))))
    b, passes = e.buffers[t.target], "0"
    if b.kind == "output" and far.large(b) and t.whole:
        passes = "far"
        e.lines.append(far.test(e, kernel, [b.name]))
    loops = [(e.bind(s), e.index(extent(s))) for s in t.others]
    counts = [(e.fresh(name), e.index(count)) for name, count in (("rows", tiled.rows), ("columns", tiled.columns))]
    loops += [loop for loop in counts if loop[1] != "1"]
    e.lines += positions(loops, "begin")
    e.open(t.others)
    bounds = []
    for (name, count), s in zip(counts, (t.row, t.column)):
        low, high, size = e.fresh("low"), e.fresh("high"), e.index(extent(s))
        at = f"* ({size}) / ({count}) / {t.side} * {t.side}"
        begin, end = f"{name} {at}", f"{name} + 1 == ({count}) ? {size} : ({name} + 1) {at}"
        if count == "1":
            begin, end = "0", size
        e.lines += [f"const tc_index {low} = {begin};", f"const tc_index {high} = {end};"]
        bounds.append((low, high))
    (row, last_row), (column, last_column) = bounds
    to_step, from_step = e.fresh("to_step"), e.fresh("from_step")
    e.lines += [f"const tc_index {to_step} = {e.index(t.to_step)}, {from_step} = {e.index(t.from_step)};",
                f"tc_turn_{t.size}({e.pointers[t.target]} + ({e.index(t.to_first)}) + {column} * {to_step} + {row}, "
                f"{to_step},", f"          {e.pointers[t.source]} + ({e.index(t.from_first)}) + {row} * {from_step} + "
                f"{column}, {from_step}, {last_row} - {row}, {last_column} - {column}, {passes});"]
    e.lines += next_item([name for name, _ in loops], [size for _, size in loops]) if loops else []
    e.close("for (tc_index item = begin; item < end; ++item)")
    if passes == "far":
        e.lines += far.END
