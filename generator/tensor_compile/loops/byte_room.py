# SPDX-License-Identifier: Apache-2.0
"""Less scratch for products of bytes (byte_products.py) where an arena would be larger for it alone.

What tensors need at once is known before the arena is planned. A kernel may have as much scratch as fits beside the
tensors that are needed then, and a share of what they need at most. More makes it faster, so a kernel at whose step few
tensors live keeps all that it likes.
"""
from __future__ import annotations

from dataclasses import replace
from typing import Callable

from ..symbolic import wrap
from ..target import Target
from . import arena
from .byte_products import ByteProductKernel, find, Form
from .fused import Fused
from .loop_ir import Kernel
from .program_ir import mapped, Step
from .plan import blocks, Lives

SHARE = 20      # parts of the tensors' bytes, one of which scratch may add
LEAST = 256     # bytes that it may add to every arena


def with_room(made: Fused, target: Target, scratch: Callable[[Form, int | None], int]) -> Fused:
    """The same kernels with smaller scratch. scratch: as with_byte_products has it."""
    lives = Lives(mapped(made.kernels, Step))
    work = {step.kernel.work.name: at for at, step in lives.steps
            if isinstance(step.kernel, ByteProductKernel) and step.kernel.work is not None
            and step.kernel.work.kind == "temp"}
    needed = [0] * lives.end
    for block in blocks(made, lives, target):
        if not block.size.is_const:
            return made
        if not work.keys() & set(block.names):
            for at in range(block.first, block.last + 1):
                needed[at] += arena.rounded(block.size.value)
    most = max(needed, default=0)
    most += max(LEAST, most // SHARE)
    buffers = dict(made.buffers)

    def one(kernel: Kernel) -> Kernel:
        if not isinstance(kernel, ByteProductKernel) or kernel.work is None or kernel.work.name not in work:
            return kernel
        room = (most - needed[work[kernel.work.name]]) // arena.ALIGN * arena.ALIGN
        form = find(kernel)
        assert form is not None
        buffer = replace(kernel.work, shape=(wrap(scratch(form, room)),))
        buffers[buffer.name] = buffer
        return replace(kernel, params=(*kernel.params[:-1], buffer))

    kernels = mapped(made.kernels, one)
    return replace(made, kernels=kernels, buffers=buffers)
