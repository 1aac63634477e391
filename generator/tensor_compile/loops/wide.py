# SPDX-License-Identifier: Apache-2.0
"""Which nests a GPU's threads go through eight points at a time, 16 bytes an access.

    points   the points need nothing of each other, and what is stored lies side by side
    rows     where sums need not follow an order (the build rounds to 16 bits anyway): every phase of a row goes over
    the same points, and each thread of the row has the same ones in all of them, in registers. There is no barrier
    between phases, so what one phase stores no other loads, unless each point loads what the same point has stored
"""
from __future__ import annotations

from typing import Sequence

from ..records import dataclass
from ..symbolic import Expr, Sym, divisor_of, product, sym
from .loop_ir import LoopNestKernel, RowReduce, Store
from .scalar_ir import Buffer, Load, Reduction, Scalar
from .scalars import extent, loads, symbols_of, walk
from .schedule_half import MULTIPROCESSORS

WIDTH = 8
DTYPES = ("f32", "bf16", "f16")   # that tc_load8 and tc_store8 know
FEWEST_POINTS = 1 << 15
MOST_PASSES = 4                   # vectors of a thread in a row


@dataclass(frozen=True, slots=True)
class RowShape:
    """threads: of a row, of a warp where a block has several rows."""

    threads: int


def is_wide(address: Expr, last: Sym, dtype: str, buffer: Buffer) -> bool:
    """Whether eight points from a multiple of eight on are eight aligned elements."""
    if dtype not in DTYPES or address.coefficient(last) != 1 or buffer.kind == "scratch":
        return False
    return divisor_of(address.substitute({last: 0})) % WIDTH == 0


def eights(s: Sym) -> bool:
    return divisor_of(extent(s)) % WIDTH == 0


def apart(stores: Sequence[Store]) -> bool:
    """Whether a point needs nothing that another one of the eight stores."""
    written = {x.buffer for x in stores}
    return not any(isinstance(n, Load) and n.buffer in written for x in stores for n in walk(x.value))


def depends(s: Scalar, variable: Sym) -> bool:
    """Whether a value is not the same at all points of the variable."""
    return variable in symbols_of(s)


def own_points(kernel: LoopNestKernel) -> bool:
    """Whether the phases of a row hand on nothing through memory but what a point has stored for itself."""
    buffers = {b.name: b for b in kernel.params}
    places: dict[str, set[tuple[tuple[Sym, ...], Expr]]] = {}
    for phase in kernel.phases:
        for s in phase.stores:
            places.setdefault(s.buffer, set()).add((phase.vars, buffers[s.buffer].address(s.index)))
    for phase in kernel.phases:
        for x in loads(*phase.values):
            if x.buffer in places and (x.dynamic or not all(
                    _same_point(phase.vars, buffers[x.buffer].address(x.index), *place) for place in places[x.buffer])):
                return False
    return True


def _same_point(loading: Sequence[Sym], loaded: Expr, storing: Sequence[Sym], stored: Expr) -> bool:
    """Whether points with the same number load and store the same element. Phases without points are one thread's."""
    if not loading or list(map(extent, loading)) != list(map(extent, storing)):
        return False
    return loaded == stored.substitute({a: sym(b) for a, b in zip(storing, loading)})


def reductions(roots: Sequence[Scalar]) -> list[Reduction]:
    """The outermost ones."""
    found: dict[Reduction, None] = {}
    pending = list(roots)[::-1]
    while pending:
        node = pending.pop()
        if isinstance(node, Reduction):
            found[node] = None
        else:
            pending += reversed(node.children)
    return list(found)


def points(kernel: LoopNestKernel, buffers: dict[str, Buffer]) -> bool:
    """Of a nest of one phase without row reductions."""
    (phase,) = kernel.phases
    variables = kernel.rows + phase.vars
    if not variables or not eights(variables[-1]) or not apart(phase.stores) or any(s.dynamic for s in phase.stores):
        return False
    last, count = variables[-1], product(extent(s) for s in variables).range()[1]
    if count is not None and count < FEWEST_POINTS:
        return False
    if not all(is_wide(buffers[s.buffer].address(s.index), last, s.value.dtype, buffers[s.buffer])
               for s in phase.stores):
        return False
    for r in reductions([s.value for s in phase.stores]):
        if r.op not in ("max", "min", "sum") or r.order not in ("free", "seq") or reductions([r.value]) \
                or any(last in e.symbols() for e in r.valid) or last in r.vars \
                or any(isinstance(n, Load) and n.valid for n in walk(r.value)):
            return False
    return True


def row_threads(kernel: LoopNestKernel, usual_rows: int) -> int:
    """Threads of a row, 32 where a warp has it; 0 where rows are not gone through so."""
    phases = [phase for phase in kernel.phases if phase.vars]
    if not phases or any(b.kind == "scratch" for b in kernel.params) or not own_points(kernel):
        return 0
    counts = {product(extent(s) for s in phase.vars) for phase in phases}
    if len(counts) != 1 or not (count := counts.pop()).is_const or not all(eights(phase.vars[-1]) for phase in phases):
        return 0
    for phase in kernel.phases:
        if any(s.dynamic for s in phase.stores) or not phase.vars and phase.reduces or not apart(phase.stores):
            return 0
        for r in phase.reduces:
            if not isinstance(r, RowReduce) or r.op not in ("sum", "max", "min") or r.order == "running" \
                    or r.dtype != "f32":
                return 0
        if reductions(phase.values):
            return 0
    vectors = count.value // WIDTH
    if isinstance(kernel.shape, RowShape):
        return kernel.shape.threads if has_room(vectors, kernel.shape.threads) else 0
    threads = 32
    while threads < 256 and vectors > threads and (vectors > threads * MOST_PASSES
                                                   or usual_rows < MULTIPROCESSORS * 16):
        threads *= 2
    return threads if has_room(vectors, threads) else 0


def has_room(vectors: int, threads: int) -> bool:
    """Whether so many threads have all vectors of a row in registers."""
    return vectors <= threads * MOST_PASSES * 2
