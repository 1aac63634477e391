# SPDX-License-Identifier: Apache-2.0
"""Rows that a loop over blocks of rows hands on: the schedule is that of as many as a block has."""
from __future__ import annotations

from dataclasses import replace

from cases import dim, typed
from tap import done, equal, ok
from tensor_compile import target as targets
from tensor_compile.emit.contraction.candidates import choose
from tensor_compile.loops import products
from tensor_compile.loops.kernel_interface import changed
from tensor_compile.symbolic import sym

TARGET = targets.load(targets.find("x86_64"))
product = products.integers("i8", "i8", "x86_64")[0]
few = typed(sym(dim("m", 32)), 256, 64, product)
buffers = {p.name: replace(p, kind="tile") if p.name == few.a.buffer else p for p in few.params}
handed = changed(buffers, few)
for isa in ("avx2", "avx512_vnni"):
    all_rows = choose(typed(32, 256, 64, product), isa, TARGET)
    equal(choose(handed, isa, TARGET).mr, all_rows.mr, f"{isa}: tiles as high as those of 32 rows")
    ok(choose(few, isa, TARGET).mr <= all_rows.mr, f"{isa}: no higher ones of 1 to 32 rows, each as likely")
done()
