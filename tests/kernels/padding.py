# SPDX-License-Identifier: Apache-2.0
"""What the cost model takes for the part of a padded window that tiles compute: counted point by point."""
from __future__ import annotations

import itertools
from dataclasses import replace

from cases import convolution, dim, matmul
from tap import done, equal
from tensor_compile.emit.contraction import padding
from tensor_compile.emit.contraction.access import Access
from tensor_compile.emit.scalar import extent
from tensor_compile.loops.loop_ir import ContractionKernel
from tensor_compile.loops.scalar_ir import Load
from tensor_compile.symbolic import sym


def counted(kernel: ContractionKernel, height: int) -> float:
    """By `valid` at every point: of each tile the taps that exist for one of its rows."""
    window = kernel.k[:2]
    rows = list(itertools.product(*(range(extent(s).value) for s in kernel.m)))
    taps = list(itertools.product(*(range(extent(s).value) for s in window)))
    tiles = [rows[at:at + height] for at in range(0, len(rows) - height + 1, height)]

    def exists(row: tuple[int, ...], tap: tuple[int, ...]) -> bool:
        at = dict(zip((*kernel.m, *window), (*row, *tap)))
        return all(e.evaluate(at) >= 0 for e in kernel.a.valid)

    some = sum(any(exists(row, tap) for row in tile) for tile in tiles for tap in taps)
    return some / (len(tiles) * len(taps))


for name, kernel in (("3x3 of 7x7", convolution(1, 8, 7, 7, 16, (3, 3), pad=1)),
                     ("3x3 of 7x7, planar", convolution(1, 8, 7, 7, 16, (3, 3), pad=1, planar_in=True)),
                     ("3x3 of two 9x7, stride 2", convolution(2, 4, 9, 7, 16, (3, 3), 2, 1)),
                     ("3x3 of one row, dilated", convolution(1, 8, 2, 8, 16, (3, 3), 1, 2, 2))):
    for height in (1, 3, 7):
        equal(padding.computed(Access.of(kernel), height), counted(kernel, height), f"{name}, {height} rows")
equal(padding.computed(Access.of(convolution(1, 8, 7, 7, 16, (3, 3), pad=1)), 50), 1.0, "no full tile")
equal(padding.computed(Access.of(matmul(7, 16, 8)), 7), 1.0, "no window")
above = convolution(1, 8, 7, 7, 16, (3, 3), pad=1)
a = above.a
moved = replace(above, a=Load(a.buffer, a.dtype, a.index, tuple(e + sym(dim("tile")) for e in a.valid), a.other))
equal(padding.computed(Access.of(moved), 7), 1.0, "rows of a block that is not known")
equal(padding.computed(Access.of(convolution(1, 8, sym(dim("h")), 7, 16, (3, 3), pad=1)), 7), 1.0, "unknown rows")
done()
