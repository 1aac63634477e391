# SPDX-License-Identifier: Apache-2.0
"""Loop nests that do nothing but transpose: panels of a second operand that is not constant, packed where it lies
otherwise.

The vector variable steps by 1 where the loop nest stores, and the variable of its last row by 1 where it loads. Such a
loop nest moves 16 x 16 elements, of 32 bits or of 16, at a time through registers (tc_transpose.h) instead of
collecting each vector from 16 rows.
"""
from __future__ import annotations

from ...graph.dtypes import DTYPES, NARROW_FLOATS
from ...instruction_sets import CACHE_LINE
from ...loops.loop_ir import LoopNestKernel, Store
from ...loops.scalar_ir import Buffer, Load
from ...records import dataclass
from ...symbolic import Expr, Sym, ZERO, product
from .items import next_item, positions, share
from ..scalar import C_TYPE, ScalarEmitter, extent, indent

SIDE = 16
MOVED = {"f32": "f32", **dict.fromkeys(NARROW_FLOATS, "u16")}    # what elements of a dtype are moved as
AHEAD = 2    # blocks of 16 rows that are fetched ahead


@dataclass(frozen=True, slots=True)
class Transposition:
    """to[to_first + j*to_step + i] = from[from_first + i*from_step + j] for j below `count` and i below 16; zero where
    i is not below all of `rows`. j is the variable of the loop nest's last row."""

    dtype: str
    source: str
    target: str
    from_first: Expr
    to_first: Expr
    from_step: Expr
    to_step: Expr
    count: int
    rows: tuple[Expr, ...]


def transposition(kernel: LoopNestKernel) -> Transposition | None:
    """What the loop nest is, where it is nothing else."""
    if len(kernel.phases) != 1 or not kernel.rows:
        return None
    (phase,) = kernel.phases
    if phase.reduces or len(phase.stores) != 1 or len(phase.vars) != 1 or not phase.vector:
        return None
    (store,), (lane,), column = phase.stores, phase.vars, kernel.rows[-1]
    x = store.value
    if not isinstance(x, Load) or x.dtype not in MOVED or x.dynamic or store.dynamic or x.buffer == store.buffer \
            or extent(lane) != SIDE or not extent(column).is_const or extent(column).value % SIDE \
            or (x.other is not None and x.other.bits):
        return None
    return _steps(store, x, {b.name: b for b in kernel.params}, lane, column)


def _steps(store: Store, x: Load, buffers: dict[str, Buffer], lane: Sym, column: Sym) -> Transposition | None:
    to, source = buffers[store.buffer].address(store.index), buffers[x.buffer].address(x.index)
    to_step, from_step = to.coefficient(column), source.coefficient(lane)
    if to.coefficient(lane) != 1 or source.coefficient(column) != 1 or to_step is None or from_step is None \
            or not to_step.terms or any(not s.is_dim for e in (to_step, from_step) for s in e.symbols()) \
            or any(e.coefficient(lane) != -1 or column in e.symbols() for e in x.valid):
        return None
    first = {lane: ZERO, column: ZERO}
    return Transposition(x.dtype, x.buffer, store.buffer, source.substitute(first), to.substitute(first), from_step,
                         to_step, extent(column).value, tuple(e.substitute(first) + 1 for e in x.valid))


def emit(e: ScalarEmitter, kernel: LoopNestKernel, t: Transposition) -> None:
    """Rows, split over the team. All of the last row's variable is one thread's, 16 at a time."""
    alone = kernel.rows[:-1]
    e.lines += share(e, product(extent(s) for s in alone), max(1, kernel.grain // max(1, t.count)))
    loops = [(e.bind(s), e.index(extent(s))) for s in alone]
    e.lines += positions(loops, "begin")
    e.open(alone)
    rows = str(SIDE)
    for bound in t.rows:
        rows = f"tc_min({rows}, {e.index(bound)})"
    kind = C_TYPE[t.dtype]
    e.lines += [f"{kind} *const to = {e.pointers[t.target]} + ({e.index(t.to_first)});",
                f"const {kind} *const from = {e.pointers[t.source]} + ({e.index(t.from_first)});",
                f"const tc_index rows = {rows}, to_step = {e.index(t.to_step)}, from_step = "
                f"{e.index(t.from_step)};"]
    ahead = _ahead(e, t)
    e.lines += [*ahead[:1], f"for (tc_index j = 0; j < {t.count}; j += {SIDE}) {{", *indent(ahead[1:]),
                f"    tc_transpose_{MOVED[t.dtype]}(to + j * to_step, to_step, from + j, from_step, rows);", "}"]
    e.lines += next_item([name for name, _ in loops], [size for _, size in loops]) if loops else []
    e.close("for (tc_index item = begin; item < end; ++item)")


def _ahead(e: ScalarEmitter, t: Transposition) -> list[str]:
    """The line before the loop and the lines in it that fetch rows that are read soon: those that lie AHEAD blocks
    behind, as far as the buffer goes. Its own order, all rows of 16 columns, is one that processors do not foresee."""
    whole = SIDE * t.count
    elements = e.buffers[t.source].elements
    if t.from_step != t.count or (elements.range()[0] or 0) < whole:
        return []
    first, last_block = e.index(t.from_first + AHEAD * whole), e.index(elements - whole)
    line = CACHE_LINE // DTYPES[t.dtype].bytes
    at = f"(j + i) * {SIDE}" if line == SIDE else f"j * {SIDE} + i * {line}"
    return [f"const {C_TYPE[t.dtype]} *const next = {e.pointers[t.source]} + tc_min({first}, {last_block});",
            f"for (tc_index i = 0; i < {SIDE * SIDE // line}; ++i)", f"    __builtin_prefetch(next + {at}, 0, 2);"]
