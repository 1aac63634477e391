# SPDX-License-Identifier: Apache-2.0
"""Far: which loop nests store their results past the caches (x86-64).

A line of memory that is stored is read first, and takes the place of another line in the caches. Where a kernel
touches more than these hold, the line is gone before anybody reads it. So it is written to memory at once: a copy then
moves two thirds of the bytes.

A thread waits for such stores. Others go to memory while the next elements are computed, so kernels that compute much
keep these. A thread that is alone has a smaller part of the third cache's throughput than a team, so it gains earlier.
"""
from __future__ import annotations

from dataclasses import replace

from ..graph.table import cost_of
from ..target import Target
from .fused import Fused
from .loop_ir import ALONE, ALWAYS, LoopNestKernel
from .plan import bytes_of
from .scalar_ir import Apply, Buffer, Reduction, Sorted
from .scalars import walk
from .traffic import traffic
from .uses import Uses

# Parts of the third cache, from which on it pays. Times without to times with such stores, two cores of a Zen 4 (32
# MiB), one thread and two, by MiB that a kernel touches: sums of two tensors 12: 1.29 0.97, 24: 1.77 0.99, 36: 1.96
# 1.35, 48: 1.76 1.72; copies 12: 0.84 0.99, 24: 1.26 1.00, 36: 1.84 0.89, 128: 1.59 1.51; what is written alone 16:
# 0.63 1.00, 24: 1.17 0.36, 36: 1.24 0.68, 48: 1.69 0.93, 64: 1.70 0.93; exp 40: 1.05 0.86, 128: 1.05 1.26.
OF_ONE_THREAD, OF_A_TEAM = 2 / 3, 3 / 2
WRITTEN_ALONE = 1 / 2   # bytes of a kernel that reads less than half of what it writes count less
COMPUTED = 2   # times that a line's elements may take what its bytes take to memory


def far(fused: Fused, target: Target) -> Fused:
    """The same kernels, some of which store past the caches: of those outside of loops, branches and tiles."""
    if target.arch != "x86_64" or not target.l3:
        return fused
    uses = Uses(fused.kernels)
    return replace(fused, kernels=[replace(x, far=_far(x, uses, target)) if type(x) is LoopNestKernel else x
                                   for x in fused.kernels])


def _far(kernel: LoopNestKernel, uses: Uses, target: Target) -> str:
    """Where a flat loop nest does so: ALONE, ALWAYS or nowhere."""
    stores = kernel.stores
    if kernel.dims or len(kernel.phases) > 1 or kernel.phases[0].reduces or not kernel.phases[0].vars \
            or any(s.dynamic for s in stores) or not all(b.elements.is_const for b in kernel.params):
        return ""
    stored = [b for b in kernel.params if any(s.buffer == b.name for s in stores)]
    if not all(_gone(b, uses, target) for b in stored) \
            or _cycles(kernel) * target.reads.memory > COMPUTED * target.line:
        return ""
    moved = traffic(kernel, {})
    written = sum(bytes_of(b).value for b in stored)    # also what others store there: a concatenation
    touched = moved.read + written if 2 * moved.read >= moved.written else written * WRITTEN_ALONE
    return ALWAYS if touched >= target.l3 * OF_A_TEAM else ALONE if touched >= target.l3 * OF_ONE_THREAD else ""


def _gone(buffer: Buffer, uses: Uses, target: Target) -> bool:
    """Whether nothing of it would be in a cache when it is read: it leaves the model, or the third one is smaller."""
    return buffer.kind == "output" and not uses.readers[buffer.name] or \
        buffer.kind in ("output", "temp") and bytes_of(buffer).value > target.l3


def _cycles(kernel: LoopNestKernel) -> int:
    """What the elements of a line take to compute, about: 16 of them are a vector."""
    nodes = set(walk(*kernel.values))
    return 1000 if any(isinstance(x, (Reduction, Sorted)) for x in nodes) else \
        sum(cost_of(x.op) for x in nodes if isinstance(x, Apply))
