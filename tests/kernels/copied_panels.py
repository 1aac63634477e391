# SPDX-License-Identifier: Apache-2.0
"""Where columns are copied to panels, those that a tile reads side by side lie in different sets of the first cache,
whatever the number of terms: their distance is no multiple of a way's bytes."""
from __future__ import annotations

import re
from dataclasses import replace

from cases import matmul, sums
from tap import done, ok
from tensor_compile.emit.contraction.source import emit_contraction
from tensor_compile.loops.contraction_schedule import Schedule

WAY = 4096    # bytes

for isa, rows, columns in (("avx512", 6, 64), ("avx512", 8, 48), ("avx2", 3, 32), ("neon", 3, 32)):
    for terms in (64, 512, 768, 4096):
        for name, kernel in (("one sum", matmul(96, 192, terms, 0, bias=False)), ("two", sums(96, 192, terms, 2, 0))):
            whole = Schedule(isa, "f32", rows, columns, packed_b=True)
            for schedule, block in ((whole, terms), (replace(whole, kc=64, mc=4 * rows, nc=columns), 64)):
                text = emit_contraction(kernel, [schedule], "copies").text
                piece = re.search(r"\.b_piece = ([^,;}]+),", text)
                apart = 4 * eval(piece[1], {"terms": block}) if piece else 0
                ok(apart % WAY >= 64, f"{schedule.name}, {terms} terms, {name}: {apart} bytes from panel to panel")
done()
