# SPDX-License-Identifier: Apache-2.0
"""Takes out the items that compute no element, so that what comes behind never sees an index into an empty tensor.

A loop over an axis of size 0 has no iteration, and the indices in it are simplified as if it had one. Such items are
left out here. A buffer without elements stays: it has an address, and reductions of no term read none of it.
"""
from __future__ import annotations

from dataclasses import replace

from .loop_ir import CheckKernel, Computation, Contraction
from .program_ir import each_list, Element, Loop
from .scalar_ir import Buffer
from .scalars import empty


def without_empty(items: list[Element], buffers: dict[str, Buffer]) -> list[Element]:
    """The items of a function, also those in its loops and branches, that compute at least one element."""
    def full(item: Element) -> Element:
        if not isinstance(item, Loop):
            return item
        swaps = (pair for pair in item.swaps if not any(buffers[name].is_empty for name in pair))
        return replace(item, swaps=tuple(swaps))

    return each_list(items, lambda one: [full(item) for item in one if not _computes_nothing(item)])


def _computes_nothing(item: Element) -> bool:
    if isinstance(item, Computation):
        return empty(item.vars)
    if isinstance(item, Contraction):
        return empty((*item.batch, *item.m, *item.n))
    return isinstance(item, CheckKernel) and item.buffer.is_empty
