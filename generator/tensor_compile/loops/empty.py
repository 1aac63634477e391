# SPDX-License-Identifier: Apache-2.0
"""Takes out the items that compute no element, so that what comes behind never sees an index into an empty tensor.

A loop over an axis of size 0 has no iteration, and the indices in it are simplified as if it had one. Such items are
left out here. A buffer without elements stays: it has an address, and reductions of no term read none of it.
"""
from __future__ import annotations

from dataclasses import replace

from ..symbolic import Expr
from .loop_ir import Branch, CheckKernel, Computation, Contraction, Element, Loop
from .scalar_ir import Buffer
from .scalars import domain_size


def nowhere(domain: Expr) -> bool:
    """Whether the size of a domain is 0, whatever the dims are."""
    return domain.is_const and domain.value == 0


def without_empty(items: list[Element], buffers: dict[str, Buffer]) -> list[Element]:
    """The items of a function, also those in its loops and branches, that compute at least one element."""
    kept = []
    for item in items:
        if isinstance(item, Loop):
            full = [pair for pair in item.swaps if not any(nowhere(buffers[name].elements) for name in pair)]
            item = replace(item, test=without_empty(item.test, buffers), body=without_empty(item.body, buffers),
                           swaps=tuple(full))
        elif isinstance(item, Branch):
            item = replace(item, then=without_empty(item.then, buffers), other=without_empty(item.other, buffers))
        elif isinstance(item, Computation) and nowhere(domain_size(item.vars)):
            continue
        elif isinstance(item, Contraction) and nowhere(domain_size((*item.batch, *item.m, *item.n))):
            continue
        elif isinstance(item, CheckKernel) and nowhere(item.buffer.elements):
            continue
        kept.append(item)
    return kept
