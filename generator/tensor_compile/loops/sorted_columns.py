# SPDX-License-Identifier: Apache-2.0
"""Nests that sort along another axis than the one that lies side by side: which ones, and room for sorting 16
neighbouring rows of them side by side (emit/nests/sorted_columns.py). That is given behind schedule and before plan, as
scratch is memory."""
from __future__ import annotations

from dataclasses import replace

from ..instruction_sets import instruction_set, WIDE
from ..records import dataclass
from ..symbolic import const, Sym, sym, wrap
from ..symbolic.typical import typical
from ..target import Target
from .fused import Fused
from .loop_ir import Kernel, LoopNestKernel, RowSort, Store
from .program_ir import mapped
from .scalar_ir import Load
from .scalars import extent

LEAST = 8          # neighbouring rows, below which lanes would be empty
FEW = 8            # first places that registers hold (emit/nests/top_columns.py)
MOST_TERMS = 1024  # of a row that is sorted beside others: all of them should stay in the second cache


@dataclass(frozen=True, slots=True)
class SortedColumns:
    """terms: the variable along which is sorted; row: that of neighbouring rows; place: that of the sorted order (None:
    there is one place); stored: of each store whether it is that of a "position" or of an "element"."""

    sort: RowSort
    terms: Sym
    row: Sym
    place: Sym | None
    stored: tuple[str, ...]


def find(kernel: Kernel) -> SortedColumns | None:
    """What the kernel sorts, where neighbouring rows may be lanes; None where not."""
    if not isinstance(kernel, LoopNestKernel) or len(kernel.phases) != 2 or not kernel.rows:
        return None
    (first, second), row = kernel.phases, kernel.rows[-1]
    if len(first.reduces) != 1 or len(first.vars) != 1 or first.stores or len(second.vars) > 1 or second.reduces:
        return None
    (r,), (terms,), buffers = first.reduces, first.vars, {b.name: b for b in kernel.params}
    most = extent(terms).range()[1]
    if not isinstance(r, RowSort) or not isinstance(r.value, Load) or r.value.dynamic or r.value.valid \
            or r.value.dtype not in ("f32", "i32") or most is None or most >= 1 << 31 \
            or typical(extent(row)) < LEAST or row in extent(terms).symbols():
        return None
    places = [(r.value.buffer, r.value.index), *((x.buffer, x.index) for x in second.stores)]
    if any(buffers[name].address(index).coefficient(row) != 1 for name, index in places):
        return None
    place = second.vars[0] if second.vars else None
    stored = tuple(_stored(x, r, r.value, terms, place) for x in second.stores)
    return SortedColumns(r, terms, row, place, stored) if "" not in stored else None


def _stored(store: Store, r: RowSort, x: Load, terms: Sym, place: Sym | None) -> str:
    at = Load(r.buffer, "i64", (const(0) if place is None else sym(place),))
    if store.dynamic or store.value is at:
        return "" if store.dynamic else "position"
    if not isinstance(store.value, Load) or len(store.value.dynamic) != 1:
        return ""
    ((g, position),) = store.value.dynamic
    there = tuple(e.substitute({terms: sym(g)}) for e in x.index)
    same = Load(x.buffer, x.dtype, there, (), store.value.other, store.value.dynamic)
    return "element" if position is at and store.value is same else ""


def side_by_side(kernel: LoopNestKernel, found: SortedColumns) -> bool:
    """Whether the kernel has the room for it."""
    room = next(b for b in kernel.params if b.name == found.sort.buffer).elements
    return extent(found.terms).is_const and room.is_const and room.value >= _room(extent(found.terms).value)


def _room(terms: int) -> int:
    """Words of i64: of 16 rows a key and a position each."""
    return WIDE * terms


def with_room(fused: Fused, target: Target) -> Fused:
    """The same kernels, of which those that sort rows side by side have scratch for it."""
    if target.apart or not any(instruction_set(isa).has_vectors for isa in target.isas):
        return fused
    buffers = dict(fused.buffers)

    def one(kernel: Kernel) -> Kernel:
        found = find(kernel)
        if found is None or not isinstance(kernel, LoopNestKernel):
            return kernel
        terms, count = extent(found.terms), found.sort.count
        if not terms.is_const or terms.value > MOST_TERMS or count.is_const and count.value <= FEW:
            return kernel
        old = buffers[found.sort.buffer]
        buffers[old.name] = replace(old, shape=(wrap(_room(terms.value)),))
        return replace(kernel, params=tuple(buffers[b.name] if b.name == old.name else b for b in kernel.params))

    kernels = mapped(fused.kernels, one)
    return replace(fused, kernels=kernels, buffers=buffers)
