# SPDX-License-Identifier: Apache-2.0
"""Gives contractions for a GPU the shapes that a tuning lock names; what it does not name is left to the cost model."""
from __future__ import annotations

from dataclasses import replace
from itertools import count
from typing import Callable, Hashable, TypeAlias

from ..loops.fused import Fused
from ..loops.library_products import with_workspace, workspace
from ..loops.loop_ir import AttentionKernel, ContractionKernel, GroupedContractionKernel, Kernel, leaves, \
    mapped, PreparedKernel
from ..loops.schedule_cuda import Shape
from .identity import identity

Tuned: TypeAlias = ContractionKernel | GroupedContractionKernel
Shapes: TypeAlias = Callable[[Tuned], Shape | None]   # None: the cost model decides


def product_of(kernel: Kernel) -> Kernel:
    """The part of a kernel that may have other shapes."""
    return kernel.contraction if isinstance(kernel, PreparedKernel) else kernel


def is_tuned(kernel: Kernel) -> bool:
    return isinstance(kernel, (ContractionKernel, GroupedContractionKernel)) and not isinstance(kernel, AttentionKernel)


def with_shapes(scheduled: Fused, shape: Shapes) -> Fused:
    """The same kernels, contractions with their shapes. Of equal ones one is looked at."""
    found: dict[Hashable, Shape | None] = {}

    def one(kernel: Kernel) -> Kernel:
        if not is_tuned(kernel):
            return kernel
        assert isinstance(kernel, (ContractionKernel, GroupedContractionKernel))
        key = identity(kernel), tuple(b.kind for b in kernel.params)   # what is the caller's no library computes
        if key not in found:
            found[key] = shape(kernel)
        return with_workspace(replace(kernel, shape=found[key]), next(numbers))

    numbers = count()
    kernels = mapped(scheduled.kernels, one)
    rooms = {b.name: b for b in map(workspace, leaves(kernels)) if b is not None}
    return replace(scheduled, kernels=kernels, buffers=scheduled.buffers | rooms)
