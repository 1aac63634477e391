# SPDX-License-Identifier: Apache-2.0
"""Parts of a kernel that a team computes band of rows by band of rows: which do, and their results by any team."""
from __future__ import annotations

import teams
from cases import siblings
from tap import done, equal, ok
from tensor_compile.emit.contraction.source import band_tiles
from tensor_compile.loops.contraction_schedule import Schedule
from tensor_compile.loops.loop_ir import GroupedContractionKernel

ARRAYS = """
enum {{ M = {m}, K = {k}, N = {n}, PARTS = {parts}, PANELS = (N + {panel} - 1) / {panel} * {panel} }};
static _Alignas(64) float a[M * K], b[PARTS][PANELS * K], out[PARTS][M * N], want[PARTS][M * N];
static void fill(void)
{{
    draw(a, M * K);
    for (int part = 0; part < PARTS; ++part)
        draw(b[part], PANELS * K);
}}
"""


def wrong(kernel: GroupedContractionKernel, schedule: Schedule) -> str:
    """The teams that compute something else than plain loops do."""
    parts = len(kernel.contractions)
    (m, k), n = (d.value for d in kernel.params[0].shape), kernel.contractions[0].n[0].hi.value + 1
    arrays = ARRAYS.format(m=m, k=k, n=n, parts=parts, panel=kernel.contractions[0].b_panel)
    return teams.wrong(kernel, [schedule] * parts, arrays)


own = Schedule("scalar", "f32", 2, 4, epilogue="registers")
wide = Schedule("avx512", "f32", 14, 32, epilogue="registers")
equal(band_tiles(siblings(4096, 64, (32, 32, 32, 32)).contractions, [wide] * 4), (1 << 17) // (4 * 192) // 14,
      "rows and results of a band have 128 KiB")
for why, parts, schedule in (
        ("of several groups of columns", siblings(4096, 64, (48, 48)), wide),
        ("that differ", siblings(4096, 64, (32, 16)), wide),
        ("that are alone", siblings(4096, 64, (32,)), wide),
        ("whose sums lie in memory", siblings(4096, 64, (32, 32)), Schedule("avx512", "f32", 14, 32))):
    equal(band_tiles(parts.contractions, [schedule] * len(parts.contractions)), 0, f"no bands of parts {why}")
for rows in (1, 301, 1000):
    kernel = siblings(rows, 300, (4, 4, 4), panel=4)
    ok(band_tiles(kernel.contractions, [own] * 3) == 52, f"{rows} rows: bands of 52 tiles")
    equal(wrong(kernel, own), "", f"{rows} rows: the results of plain loops by every team")
done()
