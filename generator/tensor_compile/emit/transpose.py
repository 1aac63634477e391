# SPDX-License-Identifier: Apache-2.0
"""Loop nests that do nothing but transpose: panels of a second operand that is not constant, packed where it lies
otherwise.

The vector variable steps by 1 where the loop nest stores, and the variable of its last row by 1 where it loads. Such a
loop nest moves 16 x 16 elements at a time through registers (tc_transpose.h) instead of collecting each vector from
16 rows.
"""
from __future__ import annotations


from ..loops.loop_ir import LoopNestKernel, Store
from ..loops.scalar_ir import Buffer, Load
from ..loops.scalars import extent
from ..records import dataclass
from ..symbolic import Expr, Sym, ZERO

SIDE = 16


@dataclass(frozen=True, slots=True)
class Transposition:
    """to[to_first + j*to_step + i] = from[from_first + i*from_step + j] for j below `count` and i below 16; zero where
    i is not below all of `rows`. j is the variable of the loop nest's last row."""

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
    if not isinstance(x, Load) or x.dtype != "f32" or x.dynamic or store.dynamic or x.buffer == store.buffer \
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
    return Transposition(x.buffer, store.buffer, source.substitute(first), to.substitute(first), from_step, to_step,
                         extent(column).value, tuple(e.substitute(first) + 1 for e in x.valid))
