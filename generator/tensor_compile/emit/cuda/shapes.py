# SPDX-License-Identifier: Apache-2.0
"""Gives kernels for a GPU the shapes that a tuning lock names; what it does not name is left to the cost model."""
from __future__ import annotations

from dataclasses import replace
from itertools import count
from typing import Callable, Hashable, TypeAlias, TypeGuard

from ...loops import tile_limits
from ...loops.fused import Fused
from ...loops.library_products import with_workspace, workspace
from ...loops.loop_ir import ContractionKernel, GroupedContractionKernel, Kernel, LoopNestKernel, PreparedKernel
from ...loops.program_ir import leaves, mapped
from ...loops.scalars import loads
from ...loops.schedule_cuda import Shape, shapes, Units
from ..identity import identity

Tuned: TypeAlias = ContractionKernel | GroupedContractionKernel | LoopNestKernel
Shapes: TypeAlias = Callable[[Tuned], Shape | None]   # None: the cost model decides


def product_of(kernel: Kernel) -> Kernel:
    """The part of a kernel that may have other shapes."""
    return kernel.contraction if isinstance(kernel, PreparedKernel) else kernel


def is_tuned(kernel: Kernel, units: Units) -> TypeGuard[Tuned]:
    """Whether a lock may say how it is computed: it has several shapes, and any data fits it. It has no indices that
    are data, nor first operands that have to be zeros where a predicate is false (loops/tile_limits.py)."""
    if isinstance(kernel, LoopNestKernel):
        return len(shapes(kernel, units)) > 1 and not any(x.dynamic for x in loads(*kernel.values))
    return isinstance(kernel, (ContractionKernel, GroupedContractionKernel)) and len(shapes(kernel, units)) > 1 and \
        all(tile_limits.of_terms(part) is None for part in kernel.contractions)


def with_shapes(scheduled: Fused, shape: Shapes, units: Units, rows: bool) -> Fused:
    """The same kernels, with their shapes: nests that have rows, or all others. Of equal ones one is looked at."""
    found: dict[Hashable, Shape | None] = {}

    def one(kernel: Kernel) -> Kernel:
        if isinstance(kernel, LoopNestKernel) is not rows or not is_tuned(kernel, units):
            return kernel
        assert isinstance(kernel, (ContractionKernel, GroupedContractionKernel, LoopNestKernel))
        key = identity(kernel), tuple(b.kind for b in kernel.params)   # what is the caller's no library computes
        if key not in found:
            found[key] = shape(kernel)
        return with_workspace(replace(kernel, shape=found[key]), next(numbers))

    numbers = count()
    kernels = mapped(scheduled.kernels, one)
    rooms = {b.name: b for b in map(workspace, leaves(kernels)) if b is not None}
    return replace(scheduled, kernels=kernels, buffers=scheduled.buffers | rooms)
