# SPDX-License-Identifier: Apache-2.0
"""Pointwise loop nests that load something in another order than the one they store in: its fastest variable is that
of a row of theirs.

Some rows and some elements of each are walked before the next ones. What is loaded of them in the other order comes to
a small buffer first, by blocks of whole lines that are turned in registers (turned_copies.py says why), and is loaded
from there.
"""
from __future__ import annotations

from dataclasses import replace
from typing import Callable

from ...graph.dtypes import DTYPES
from ...instruction_sets import CACHE_LINE
from ...loops.loop_ir import LoopNestKernel, Phase
from ...loops.scalar_ir import Buffer, Load, Reduction, Scalar
from ...loops.scalars import Rewriter, rewritten, walk
from ...records import dataclass
from ...symbolic import Expr, Sym, ZERO, const, product, sym
from .items import elements_of_row, next_item, positions, share
from .turned_copies import Turn, worth
from ..scalar import C_TYPE, ScalarEmitter, extent

HELD = 2048   # elements that are held at a time, of rows of a line of theirs or more
MOST = 2      # loads that are turned


@dataclass(frozen=True, slots=True)
class TurnedLoads:
    """loads: which, each with how it moves: as to the columns of a buffer of `side` rows of `length` elements."""

    inner: Sym
    column: Sym
    others: tuple[Sym, ...]
    loads: tuple[tuple[Load, Turn], ...]
    side: int

    @property
    def length(self) -> int:
        return max(self.side, HELD // self.side)

    @property
    def columns(self) -> Expr:
        return (extent(self.column) + (self.side - 1)) // self.side

    @property
    def pieces(self) -> Expr:
        return (extent(self.inner) + (self.length - 1)) // self.length

    @property
    def items(self) -> Expr:
        return product(extent(s) for s in self.others) * self.columns * self.pieces


def turned_loads(kernel: LoopNestKernel) -> TurnedLoads | None:
    """None where it has none, or too many."""
    if len(kernel.phases) != 1 or kernel.phases[0].reduces or len(kernel.phases[0].vars) != 1:
        return None
    (phase,), (inner,) = kernel.phases, kernel.phases[0].vars
    written, buffers = {x.buffer for x in phase.stores}, {b.name: b for b in kernel.params}
    nodes = dict.fromkeys(walk(*(v for x in phase.stores for v in x.values)))
    if any(isinstance(x, Reduction) for x in nodes) or any(x.dynamic for x in phase.stores):
        return None
    found: dict[Load, tuple[Sym, Turn]] = {}
    for x in nodes:
        if isinstance(x, Load) and not x.dynamic and not x.valid and x.buffer not in written:
            how = _across(x, buffers[x.buffer], inner, kernel.rows)
            if how is not None:
                found[x] = how
    columns = {column for column, _ in found.values()}
    if len(columns) != 1 or len(found) > MOST:
        return None
    (column,) = columns
    side = max(CACHE_LINE // t.size for _, t in found.values())
    return TurnedLoads(inner, column, tuple(s for s in kernel.rows if s != column),
                       tuple((x, t) for x, (_, t) in found.items()), side)


def _across(x: Load, buffer: Buffer, inner: Sym, rows: tuple[Sym, ...]) -> tuple[Sym, Turn] | None:
    """The row along which its elements are side by side."""
    address = buffer.address(x.index)
    column = next((s for s in rows if address.coefficient(s) == 1), None)
    step = address.coefficient(inner)
    if column is None or step is None or not step.terms or step == const(1) \
            or any(not s.is_dim for s in step.symbols()) or not (worth(inner, x.dtype) and worth(column, x.dtype)):
        return None
    first = address.substitute({inner: ZERO, column: ZERO})
    return column, Turn(x.buffer, "", DTYPES[x.dtype].bytes, inner, column, (), first, ZERO, step, ZERO)


def emit(e: ScalarEmitter, kernel: LoopNestKernel, c: TurnedLoads, body: Callable[[list[Phase], tuple[str, str]], None]
         ) -> None:
    """Pieces of rows, split over the team. body: writes the loop of a phase from one of its elements to another."""
    e.lines += share(e, c.items, max(1, kernel.grain // max(1, c.side * c.length // elements_of_row(kernel))))
    loops = [(e.bind(s), e.index(extent(s))) for s in c.others]
    loops += [(e.fresh("columns"), e.index(c.columns)), (e.fresh("piece"), e.index(c.pieces))]
    (columns, _), (piece, _) = loops[-2:]
    e.lines += positions(loops, "begin")
    first, low = Sym("first", 0, extent(c.column) - 1), Sym("low", 0, extent(c.inner) - 1)
    e.open((*c.others, first, low))
    e.names[first], e.names[low] = e.fresh("first"), e.fresh("low")
    last, high = e.fresh("last"), e.fresh("high")
    e.lines += [f"const tc_index {e.names[first]} = {columns} * {c.side};",
                f"const tc_index {last} = tc_min({e.names[first]} + {c.side}, {e.index(extent(c.column))});",
                f"const tc_index {e.names[low]} = {piece} * {c.length};",
                f"const tc_index {high} = tc_min({e.names[low]} + {c.length}, {e.index(extent(c.inner))});"]
    taken: dict[Scalar, Load] = {}
    for x, t in c.loads:
        held = e.fresh("held")
        e.pointers[held] = held
        e.buffers = {**e.buffers, held: Buffer(held, x.dtype, (const(c.side), const(c.length)), (0, 1), "tile")}
        taken[x] = Load(held, x.dtype, (sym(c.column) - sym(first), sym(c.inner) - sym(low)), (), x.other)
        e.lines += [f"_Alignas({CACHE_LINE}) {C_TYPE[x.dtype]} {held}[{c.side * c.length}];",
                    f"tc_turn_{t.size}({held}, {c.length}, {e.pointers[t.source]} + ({e.index(t.from_first)}) + "
                    f"{e.names[low]} * ({e.index(t.from_step)}) + {e.names[first]}, {e.index(t.from_step)}, "
                    f"{high} - {e.names[low]}, {last} - {e.names[first]}, 0);"]
    column = e.bind(c.column)
    e.open((c.column,))
    (phase,), change = kernel.phases, Rewriter(leaf=taken.get)
    body([replace(phase, stores=tuple(rewritten(x, change) for x in phase.stores))], (e.names[low], high))
    e.close(f"for (tc_index {column} = {e.names[first]}; {column} < {last}; ++{column})")
    e.lines += next_item([name for name, _ in loops], [size for _, size in loops])
    e.close("for (tc_index item = begin; item < end; ++item)")
