# SPDX-License-Identifier: Apache-2.0
"""Gives contractions for a GPU the shapes that a tuning lock names; what it does not name is left to the cost model."""
from __future__ import annotations

from dataclasses import replace
from typing import Callable, Hashable, TypeAlias

from ..loops.fused import Fused
from ..loops.loop_ir import AttentionKernel, ContractionKernel, GroupedContractionKernel, Kernel, mapped, \
    PreparedKernel
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
        key = identity(kernel)
        if key not in found:
            found[key] = shape(kernel)
        return replace(kernel, shape=found[key])

    return replace(scheduled, kernels=mapped(scheduled.kernels, one))
