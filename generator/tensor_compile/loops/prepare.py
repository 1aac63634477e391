# SPDX-License-Identifier: Apache-2.0
"""Prepare: where a GPU multiplies few rows (few_rows.py), a nest right in front that makes them, a norm as a rule, runs
in the product's kernel: every block makes all rows for itself, as they have to be in its memory anyway. A kernel that
has one row of a few thousand elements to do takes as long to start, and to wait for, as some megabytes of weights."""
from __future__ import annotations

from typing import Any

from ..symbolic import product
from ..target import Target
from . import schedule_cuda, wide
from .accesses import read, written
from .few_rows import FewRows
from .fused import Fused
from .kernel_interface import prepared
from .loop_ir import ContractionKernel, GroupedContractionKernel, LoopNestKernel, PreparedKernel
from .neighbours import Neighbours
from .scalars import extent, loads, point_number

MOST_VECTORS = 8    # of a thread, of each row


def form(fused: Fused, target: Target) -> Fused:
    """The same kernels, some of them as one."""
    return _Former(fused, target).form()


class _Former(Neighbours):
    def guest_and_host(self, first: Any, second: Any) -> tuple[Any, Any]:
        return first, second

    def joined(self, rows: Any, item: Any) -> PreparedKernel | None:
        """The two kernels as one, where they can be that."""
        if not isinstance(rows, LoopNestKernel) or type(item) not in (ContractionKernel, GroupedContractionKernel) \
                or self.units.precision not in schedule_cuda.NARROW:
            return None
        shape, names = schedule_cuda.tile(item, self.units), written(rows)
        if not isinstance(shape, FewRows) or len(names) != 1 or not self.uses.hands_on(rows, self.buffers[names[0]]):
            return None
        (name,), own = names, self.buffers[names[0]]
        if own.dtype != self.units.precision or set(written(item)) & set(read(rows)) or not self.fits(rows, shape):
            return None
        others = (x for part in item.contractions for x in loads(*part.b, *(v for s in part.stores for v in s.values)))
        if any(x.buffer == name for x in others):
            return None
        width = shape.terms
        places = [(own.address(x.index), (part.m, part.k)) for part in item.contractions for x in (part.a,)
                  if x.buffer == name and not x.valid and not x.dynamic]
        places += [(own.address(s.index), (rows.rows, phase.vars)) for phase in rows.phases for s in phase.stores]
        if len(places) != len(item.contractions) + len(rows.stores):
            return None
        if any(address != point_number(lines) * width + point_number(terms) or
               product(extent(s) for s in terms) != width for address, (lines, terms) in places):
            return None
        return prepared(rows, item)

    def fits(self, rows: LoopNestKernel, shape: FewRows) -> bool:
        """Whether the threads of a block can make all rows, eight elements at a time."""
        count = product(extent(s) for s in rows.rows)
        return count == shape.rows and len(rows.phases) > 1 and wide.row_threads(rows, shape.rows) > 0 \
            and shape.terms <= MOST_VECTORS * wide.WIDTH * shape.threads
