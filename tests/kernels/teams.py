# SPDX-License-Identifier: Apache-2.0
"""The results of a kernel of several parts by teams of 1 to 39 threads, beside those of plain loops."""
from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path
from typing import Sequence

from tensor_compile.emit.contraction.micro import library
from tensor_compile.emit.contraction.source import emit_contraction, emit_reference
from tensor_compile.loops.contraction_schedule import Schedule
from tensor_compile.loops.loop_ir import GroupedContractionKernel

INCLUDE = Path(__file__).resolve().parents[2] / "templates" / "include"
PROGRAM = """
#include "tc_kernel.h"
#include <stdio.h>
#include <string.h>
void tiles(void *const *p, const tc_index *d, tc_index thread, tc_index threads);
void plain(void *const *p, const tc_index *d, tc_index thread, tc_index threads);
static unsigned state = 1;
static void draw(float *x, int count)
{
    for (int i = 0; i < count; ++i)
        x[i] = (float)((state = state * 1664525u + 1013904223u) >> 8) / 8388608.0f - 1;
}
ARRAYS
int main(void)
{
    fill();
    void *p[] = {FOUND}, *q[] = {WANTED};
    tc_index d[1] = {0};
    plain(q, d, 0, 1);
    for (tc_index threads = 1; threads < 40; threads += 1 + threads / 4) {
        memset(out, 0xff, sizeof out);
        for (tc_index thread = threads; thread-- > 0;)
            tiles(p, d, thread, threads);
        if (memcmp(out, want, sizeof out))
            printf("%td ", threads);
    }
    return 0;
}
"""


def wrong(kernel: GroupedContractionKernel, chosen: Sequence[Schedule], arrays: str) -> str:
    """The teams that compute something else than plain loops do. arrays: C of the operands, of the results `out` and
    `want`, a row a part, and of the function `fill`, which draws the operands. A parameter is the array of its name, or
    where its name ends with a number, that row of it."""
    def pointers(result: str) -> str:
        found = []
        for p in kernel.params:
            name = p.name.rstrip("0123456789")
            row = p.name.removeprefix(name)
            found.append((result if name == "out" else name) + (f"[{row}]" if row else ""))
        return ", ".join(found)
    program = PROGRAM.replace("ARRAYS", arrays).replace("FOUND", pointers("out")).replace("WANTED", pointers("want"))
    with tempfile.TemporaryDirectory() as folder:
        made = emit_contraction(kernel, list(chosen), "tiles")
        sources = {"tiles.c": made.text, "micro.c": library(made.micros, chosen[0].isa),
                   "plain.c": emit_reference(kernel, "plain"), "main.c": program}
        for name, text in sources.items():
            (Path(folder) / name).write_text(text, encoding="utf-8")
        subprocess.run(["cc", "-std=c11", "-O1", "-ffp-contract=off", "-fwrapv", "-DTC_ISA_SCALAR", f"-I{INCLUDE}",
                        *(str(Path(folder) / name) for name in sources), "-o", f"{folder}/program"], check=True)
        return subprocess.run([f"{folder}/program"], capture_output=True, text=True, check=True).stdout
