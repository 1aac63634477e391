# SPDX-License-Identifier: Apache-2.0
"""Which steps are taken to read packed weights once, and where their panels lie."""
from __future__ import annotations

from cases import dim, matmul, siblings
from tap import done, equal
from tensor_compile.emit.streams import streams
from tensor_compile.loops.loop_ir import Kernel
from tensor_compile.symbolic import sym


def found(kernel: Kernel, **packed: int) -> list[tuple[int, int, int, int]] | None:
    read = streams(kernel, packed)
    return None if read is None else [(p.first, p.count, p.offset, p.bytes) for p in read.parts]


equal(found(matmul(1, 1000, 300), b=128), [(0, 63, 128, 19200)], "a product of one row: 63 panels of 16 columns")
equal(found(matmul(8, 1000, 300), b=128), [(0, 63, 128, 19200)], "of eight rows, which are one tile")
equal(found(matmul(9, 1000, 300), b=128), None, "of more rows than a tile has")
equal(found(matmul(1, 1000, 100), b=128), None, "weights that stay in the caches of a team")
equal(found(matmul(1, 1000, 300)), None, "weights of the call's own")
equal(found(matmul(1, 1000, 300, panel=0), b=128), None, "columns that are no panels")
equal(found(matmul(sym(dim("m")), 1000, 300), b=128), None, "rows that are known at run time alone")
equal(found(matmul(1, 1000, 300, batch=2), b=128), None, "a batch")
group = siblings(1, 300, (992, 500, 16))
equal(found(group, **{p.b[0].buffer: 4096 * i for i, p in enumerate(group.contractions)}),
      [(0, 62, 0, 19200), (62, 32, 4096, 19200), (94, 1, 8192, 19200)],
      "of products side by side, one behind the other")
done()
