# SPDX-License-Identifier: Apache-2.0
"""Few rows by columns that lie in place, each read once: nothing is copied, and one or two rows read whole terms."""
from __future__ import annotations

from cases import matmul
from tap import done, equal, ok
from tensor_compile import target as targets
from tensor_compile.emit.contraction.candidates import choose

TARGET = targets.load(targets.find("x86_64"))
for isa in ("avx2", "avx512"):
    for m in (1, 2, 4, 8):
        found = choose(matmul(m, 1024, 1024, 0, bias=False), isa, TARGET)
        if m <= found.mr:
            ok(not found.packed_a and not found.packed_b, f"{isa}: {m} rows, nothing is copied: {found.name}")
        equal(found.kc > 0, m <= 2, f"{isa}: {m} rows, terms in blocks")
    ok(choose(matmul(64, 1024, 1024, 0, bias=False), isa, TARGET).packed_b, f"{isa}: columns of many rows are copied")
    near = choose(matmul(1, 64, 512, 0, bias=False), isa, TARGET)
    ok(not near.packed_b and not near.kc, f"{isa}: terms that lie side by side are read so")
done()
