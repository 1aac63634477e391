# SPDX-License-Identifier: Apache-2.0
"""How many rows of reductions are walked side by side: as many as stay in the first cache, else two. test_nests.py
compares results.
"""
from __future__ import annotations

from dataclasses import replace

from cases import all_cases, layer_norm
from tap import done, equal
from tensor_compile.emit.nests.loop_nest import emit_loop_nest
from tensor_compile.emit.nests.rows_together import rows_together

kernels = {case.name: case.kernel for case in all_cases()}
short, long = kernels["layer norm 16 x 40"], kernels["layer norm 16 x 1500"]
equal(rows_together(short, 4), 4, "rows, weights and results that a first cache holds: four rows")
equal(rows_together(long, 4), 2, "more than that: two rows")
longer = layer_norm(8192, False, 16).kernel
equal([rows_together(longer, n) for n in (1, 2)], [1, 2], "no more than registers are there for")
equal(rows_together(kernels["softmax 16 x 4096"], 4), 4, "reductions of exp: four rows, however long")
once = replace(longer, phases=(longer.phases[0], *longer.phases[3:]))
equal(rows_together(once, 4), 4, "rows that are read once: four")
equal([f"items = {n};" in emit_loop_nest(kernel, "avx512", "f") for kernel, n in ((short, 4), (long, 8))], [True, True],
      "blocks of rows in the kernels")
done()
