# SPDX-License-Identifier: Apache-2.0
"""Paired: where a GPU multiplies few rows (few_rows.py), a nest right behind that joins what two columns of a product
left, which lie a half of something apart, runs in the product's kernel. So rotary positions need no kernels of their
own: a column of a head's first half and one of its second half are multiplied by two warps of one block, which tell
each other their sums. A kernel that adds a few thousand elements takes as long to start, and to wait for, as some
megabytes of weights."""
from __future__ import annotations

from dataclasses import replace
from typing import Any

from ..symbolic import product, sym
from ..target import Target
from . import schedule_cuda
from .accesses import read, written
from .column_pairs import Halves, halves_of
from .few_rows import FewRows
from .fused import Fused
from .kernel_interface import changed, grouped
from .loop_ir import ContractionKernel, GroupedContractionKernel, LoopNestKernel, Store
from .neighbours import Neighbours
from .scalar_ir import Acc, Load, Scalar
from .scalars import extent, loads, Rewriter, unlinear, walk


def form(fused: Fused, target: Target) -> Fused:
    """The same kernels, some of them as one."""
    return _Former(fused, target).form()


class _Former(Neighbours):
    def guest_and_host(self, first: Any, second: Any) -> tuple[Any, Any]:
        return second, first

    def joined(self, kernel: Any, nest: Any) -> ContractionKernel | GroupedContractionKernel | None:
        """The two kernels as one, where they can be that."""
        if not isinstance(nest, LoopNestKernel) or type(kernel) not in (ContractionKernel, GroupedContractionKernel) \
                or self.units.precision not in schedule_cuda.NARROW or len(nest.phases) != 1 \
                or nest.phases[0].reduces or len(nest.stores) != 1 \
                or set(written(nest)) & {*read(kernel), *written(kernel)}:
            return None
        needed = set(read(nest))
        parts = [part for part in kernel.contractions if needed <= set(written(part))]
        if not isinstance(schedule_cuda.tile(kernel, self.units), FewRows) or len(parts) != 1 \
                or not all(self.uses.hands_on(kernel, self.buffers[name]) for name in needed):
            return None
        made = self.paired(parts[0], nest)
        if made is None:
            return None
        if isinstance(kernel, ContractionKernel):
            return replace(made, label=f"{kernel.label}+{nest.label}")
        return grouped(f"{kernel.label}+{nest.label}",
                       tuple(made if part is parts[0] else part for part in kernel.contractions), kernel.loc)

    def paired(self, part: ContractionKernel, nest: LoopNestKernel) -> ContractionKernel | None:
        """The product with the nest's store in the place of those that it reads."""
        points, (store,) = nest.rows + nest.phases[0].vars, nest.stores
        if len(part.b) != 1 or part.where is not None or len(part.n) != 1 or store.dynamic \
                or product(extent(s) for s in part.m) != 1 or not extent(part.n[0]).is_const \
                or product(extent(s) for s in points) != extent(part.n[0]):
            return None
        (column,) = part.n
        place = dict(zip(points, unlinear(sym(column), tuple(map(extent, points)))))
        at_column = Rewriter(lambda e: e.substitute(place))
        value = at_column(store.value)
        found = list(dict.fromkeys(loads(value)))
        for halves in halves_of(column):
            stored = [self.stored(part, load, halves) for load in found]
            values = [v for v in stored if v is not None]
            if len(values) == len(stored) and any(isinstance(x, Acc) and x.number for v in values for x in walk(v)):
                own: dict[Scalar, Scalar] = dict(zip(found, values))
                made = Store(store.buffer, tuple(e.substitute(place) for e in store.index),
                             Rewriter(leaf=own.get)(value))
                gone = {x.buffer for x in found}
                (b,) = part.b
                other = Load(b.buffer, b.dtype, tuple(map(halves.other, b.index)))
                return changed(self.buffers, part, b=(b, other),
                               stores=(*(s for s in part.stores if s.buffer not in gone), made))
        return None

    def stored(self, part: ContractionKernel, load: Scalar, halves: Halves) -> Scalar | None:
        """What the product stored where the nest loads, of sum 0 at the point's column or of sum 1, the other
        column's."""
        assert isinstance(load, Load)
        store, *others = (s for s in part.stores if s.buffer == load.buffer)
        if others or load.valid or load.dynamic or store.dynamic:
            return None
        wanted, address = (self.buffers[load.buffer].address(index) for index in (load.index, store.index))
        if address == wanted:
            return store.value
        if halves.other(address) != wanted:
            return None
        return Rewriter(halves.other, lambda s: Acc(s.dtype, 1) if isinstance(s, Acc) else None)(store.value)
