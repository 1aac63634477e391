# SPDX-License-Identifier: Apache-2.0
"""Parts of a kernel that a team computes band of rows by band of rows: which do, and their results by any team."""
from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path

from cases import siblings
from tap import done, equal, ok
from tensor_compile.emit.contraction.micro import library
from tensor_compile.emit.contraction.source import band_tiles, emit_contraction, emit_reference
from tensor_compile.loops.contraction_schedule import Schedule
from tensor_compile.loops.loop_ir import GroupedContractionKernel

INCLUDE = Path(__file__).resolve().parents[2] / "templates" / "include"
PROGRAM = """
#include <stdio.h>
#include <string.h>
void tiles(void *const *p, const tc_index *d, tc_index thread, tc_index threads);
void plain(void *const *p, const tc_index *d, tc_index thread, tc_index threads);
enum {{ M = {m}, K = {k}, N = {n}, PARTS = {parts}, PANELS = (N + {panel} - 1) / {panel} * {panel} }};
static _Alignas(64) float a[M * K], b[PARTS][PANELS * K], out[PARTS][M * N], want[PARTS][M * N];
int main(void)
{{
    unsigned state = 1;
    for (int i = 0; i < M * K; ++i)
        a[i] = (float)((state = state * 1664525u + 1013904223u) >> 8) / 8388608.0f - 1;
    for (int part = 0; part < PARTS; ++part)
        for (int i = 0; i < PANELS * K; ++i)
            b[part][i] = (float)((state = state * 1664525u + 1013904223u) >> 8) / 8388608.0f - 1;
    void *p[] = {{{found}}}, *q[] = {{{wanted}}};
    tc_index d[1] = {{0}};
    plain(q, d, 0, 1);
    for (tc_index threads = 1; threads < 40; threads += 1 + threads / 4) {{
        memset(out, 0xff, sizeof out);
        for (tc_index thread = threads; thread-- > 0;)
            tiles(p, d, thread, threads);
        if (memcmp(out, want, sizeof out))
            printf("%td ", threads);
    }}
    return 0;
}}
"""


def wrong(kernel: GroupedContractionKernel, schedule: Schedule) -> str:
    """The teams that compute something else than plain loops do."""
    parts = len(kernel.contractions)
    (m, k), n = (d.value for d in kernel.params[0].shape), kernel.contractions[0].n[0].hi.value + 1

    def pointers(result: str) -> str:
        return ", ".join("a" if p.name == "a" else f"{'b' if p.name[0] == 'b' else result}[{p.name[-1]}]"
                         for p in kernel.params)
    program = PROGRAM.format(m=m, k=k, n=n, parts=parts, panel=kernel.contractions[0].b_panel,
                             found=pointers("out"), wanted=pointers("want"))
    with tempfile.TemporaryDirectory() as folder:
        made = emit_contraction(kernel, [schedule] * parts, "tiles")
        sources = {"tiles.c": made.text, "micro.c": library(made.micros, schedule.isa),
                   "plain.c": emit_reference(kernel, "plain"), "main.c": '#include "tc_kernel.h"\n' + program}
        for name, text in sources.items():
            (Path(folder) / name).write_text(text, encoding="utf-8")
        subprocess.run(["cc", "-std=c11", "-O1", "-ffp-contract=off", "-fwrapv", "-DTC_ISA_SCALAR", f"-I{INCLUDE}",
                        *(str(Path(folder) / name) for name in sources), "-o", f"{folder}/program"], check=True)
        return subprocess.run([f"{folder}/program"], capture_output=True, text=True, check=True).stdout


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
