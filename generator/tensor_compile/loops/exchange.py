# SPDX-License-Identifier: Apache-2.0
"""Carries of a loop that need no copy: what would be copied behind each iteration changes places with the carry."""
from __future__ import annotations

from collections import Counter
from typing import Mapping

from .accesses import touched
from .loop_ir import Kernel, LoopNestKernel
from .program_ir import Element, Loop
from .scalar_ir import Buffer, Load
from .scalars import domain_size
from .uses import reading_items

Swap = tuple[str, str]   # a carry's buffer and that of its next value


def exchanged(loop: Loop, body: list[Element], buffers: Mapping[str, Buffer],
              readers_of_all: Counter[str]) -> tuple[list[Element], tuple[Swap, ...]]:
    """The loop's fused body without what is left as nothing but a copy of the next value into a carry's buffer, and the
    pairs that change places instead. readers_of_all: how many items of the whole function read a buffer."""
    mine, (_, writes) = reading_items(loop.body), touched(loop.body)
    kept, swaps = [], []
    taken: set[str] = set()
    for kernel in body:
        pair = _copies(kernel, loop.carried, buffers)
        if pair is not None and not taken & set(pair) and pair[1] in writes \
                and readers_of_all[pair[1]] == mine[pair[1]]:
            taken |= set(pair)
            swaps.append(pair)
        else:
            kept.append(kernel)
    return kept, tuple(swaps)


def _copies(kernel: Kernel, carried: tuple[str, ...], buffers: Mapping[str, Buffer]) -> Swap | None:
    """(carry, its next value) where the kernel does nothing but copy all of a temp into the carry's buffer."""
    if not isinstance(kernel, LoopNestKernel) or len(kernel.phases) != 1 or kernel.phases[0].reduces \
            or len(kernel.phases[0].stores) != 1:
        return None
    (s,) = kernel.phases[0].stores
    x = s.value
    if s.buffer not in carried or not isinstance(x, Load) or x.valid or x.dynamic or x.buffer in carried:
        return None
    to, source = buffers[s.buffer], buffers[x.buffer]
    whole = domain_size(kernel.rows + kernel.phases[0].vars) == to.elements == source.elements
    if source.kind != "temp" or not whole or to.address(s.index) != source.address(x.index):
        return None
    return s.buffer, x.buffer
