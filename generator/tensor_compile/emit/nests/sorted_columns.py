# SPDX-License-Identifier: Apache-2.0
"""Sorting along another axis than the one that lies side by side: lanes are 16 neighbouring rows of the nest, which are
sorted side by side in scratch (tc_sort_lanes.h), where the kernel has room for that (loops/sorted_columns.py).
"""
from __future__ import annotations

from ...loops.loop_ir import LoopNestKernel, Store
from ...loops.scalar_ir import Load
from ...loops.scalars import last
from ...loops.sorted_columns import SortedColumns
from ...symbolic import Expr, Sym, sym
from .columns import by_strips
from .row_sums import placed
from ..scalar import CValue, ScalarEmitter, extent

HEADER = "tc_sort_lanes.h"


def emit(e: ScalarEmitter, kernel: LoopNestKernel, form: SortedColumns) -> None:
    by_strips(e, kernel, 1, lambda first, count, lanes: _strip(e, kernel, form, first, lanes))


def _strip(e: ScalarEmitter, kernel: LoopNestKernel, form: SortedColumns, first: str, lanes: str | None) -> None:
    """Keys and positions of the rows from `first` on into scratch, sorted there; what is stored of each place. In a
    scope that the caller closes."""
    base, r, size = Sym(form.row.name, 0, last(form.row)), form.sort, e.index(extent(form.terms))
    e.names[base] = first
    e.open((base,))
    keys, at = e.fresh("keys"), e.fresh("at")
    e.lines += [f"int32_t *const {keys} = (int32_t *)(void *){e.pointers[r.buffer]};",
                f"int32_t *const {at} = {keys} + 16 * ({size});"]
    e.width, e.vector, e.lanes = 16, base, lanes
    head = e.loop(form.terms)
    key = f"tcv_sort_key_{r.value.dtype}({e.wide(placed(form.row, sym(base))(r.value))})"
    number = e.names[form.terms]
    e.lines += [f"tcv_store_i32({keys} + 16 * {number}, {f'tcv_bit_not_i32({key})' if r.descending else key});",
                f"tcv_store_i32({at} + 16 * {number}, tcv_splat_i32((int32_t){number}));"]
    e.close(head)
    e.lines.append(f"tc_sort_lanes({keys}, {at}, {size});")
    head = e.loop(form.place) if form.place is not None else ""
    e.open()
    place = f"{at} + 16 * {e.names[form.place]}" if form.place is not None else at
    for store, what in zip(kernel.phases[1].stores, form.stored, strict=True):
        index = tuple(x.substitute({form.row: sym(base)}) for x in store.index)
        if what == "position":
            value = CValue(f"tcv_cast_i32_i64(tcv_load_i32({place}))", True, len(e.scopes) - 1)
            e.store_value(Store(store.buffer, index, store.value), value)
        else:
            _elements(e, form, store, index, base, place, lanes)
    e.close("")
    if form.place is not None:
        e.close(head)
    e.width, e.vector, e.lanes = 1, None, None


def _elements(e: ScalarEmitter, form: SortedColumns, store: Store, index: tuple[Expr, ...], base: Sym, place: str,
              lanes: str | None) -> None:
    """The elements of a place, each lane's from its own position."""
    x, lane = store.value, e.fresh("l")
    assert isinstance(x, Load)
    ((g, _),) = x.dynamic
    here = Sym(base.name, 0, last(base))
    e.names[here], e.names[g] = f"({e.names[base]} + {lane})", f"({place})[{lane}]"
    change = {base: sym(here), form.row: sym(here)}
    to, source = (e.index(e.address(name, tuple(i.substitute(change) for i in at)))
                  for name, at in ((store.buffer, index), (x.buffer, x.index)))
    e.lines += [f"for (int {lane} = 0; {lane} < {lanes or '16'}; ++{lane})",
                f"    {e.pointers[store.buffer]}[{to}] = {e.pointers[x.buffer]}[{source}];"]
    del e.names[g], e.names[here]
