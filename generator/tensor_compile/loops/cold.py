# SPDX-License-Identifier: Apache-2.0
"""Cold: which products of one row read constants that come from memory in every call (x86-64).

Where the constants of a function are more than the third cache, none of them is there when the next call reads it. A
product of one row reads each panel of them once, at the pace of memory. Processors see streams and fetch ahead, but not
beyond the end of a page, and a tile reads some panels side by side, a few pages each. So its micro-kernel fetches lines
of each panel to the second cache itself (emit/contraction/micro.py). Constants that stay in a cache come without that:
there it costs a fifth.
"""
from __future__ import annotations

from dataclasses import replace

from ..symbolic import product
from ..target import Target
from .accesses import read
from .fused import Fused
from .loop_ir import ContractionKernel, GroupedContractionKernel, Kernel
from .plan import bytes_of
from .products import F32
from .program_ir import leaves, mapped
from .scalars import extent


def cold(fused: Fused, target: Target) -> Fused:
    """The same kernels; of products of one row those `cold` that read such constants."""
    if target.arch != "x86_64" or not target.l3 or _constants(fused) <= target.l3:
        return fused
    constant = {b.name for b in fused.buffers.values() if b.kind == "packed"}

    def one(kernel: Kernel) -> Kernel:
        if isinstance(kernel, GroupedContractionKernel):
            return replace(kernel, contractions=tuple(_marked(part, constant) for part in kernel.contractions))
        return _marked(kernel, constant) if type(kernel) is ContractionKernel else kernel
    return replace(fused, kernels=mapped(fused.kernels, one))


def _constants(fused: Fused) -> int:
    """Bytes of the constants that products read."""
    names = {name for item in leaves(fused.kernels) if isinstance(item, (ContractionKernel, GroupedContractionKernel))
             for name in read(item)}
    return sum(bytes_of(b).value for b in fused.buffers.values() if b.name in names and b.kind == "packed")


def _marked(kernel: ContractionKernel, constant: set[str]) -> ContractionKernel:
    rows = product(extent(s) for s in (*kernel.batch, *kernel.m))
    return replace(kernel, cold=kernel.product == F32 and rows == 1 and all(b.buffer in constant for b in kernel.b))
