# SPDX-License-Identifier: Apache-2.0
"""A call whose tensors are all empty needs no arena: the driver then adds nothing to no pointer (Clang's sanitizer)."""
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from places import GOOD, said, tool
from tap import done, equal, note, ok, skip

MODEL = """#include <tensor_compile/model.h>
TC_MODEL(m)
{
    tc_dim n = tc_dynamic(g, "n", 0, 64);
    tc_tensor x = tc_input(g, "x", TC_F32, n, 4), y = tc_cumsum(x, 0);
    tc_output(g, "y", tc_matmul(tc_exp(y), tc_transpose(tc_cumsum(y, 0), 0, 1)));
}
"""
MAIN = """#include "model.h"
#include <stdio.h>
int main(void)
{
    tc_context context;
    float x[8] = {0, 1, 2, 3, 4, 5, 6, 7}, y[4];
    tc_context_init(&context, NULL, 0);
    printf("%zu %d ", m_arena_bytes(0, 1), m(&context, &(m_args){.n = 0, .x = x, .y = y}));
    printf("%d ", m(&context, &(m_args){.n = 0}));
    printf("%s\\n", m(&context, &(m_args){.n = 2, .x = x, .y = y}) == TC_STATUS_ARENA_TOO_SMALL ? "small" : "?");
    return 0;
}
"""

with tempfile.TemporaryDirectory() as scratch:
    folder = Path(scratch)
    (folder / "model.c").write_text(MODEL, encoding="utf-8")
    (folder / "main.c").write_text(MAIN, encoding="utf-8")
    equal(said(tool(folder, "model.c", "-o", "out", "--emit", "c", "--cache", os.environ["TC_TESTS_CACHE"])), GOOD,
          "built")
    if not shutil.which("clang"):
        skip("no arena", "there is no Clang")
        done()
    made = subprocess.run(["clang", "-O1", "-g", "-w", "-fsanitize=undefined", "-fno-sanitize-recover=all", "-Iout",
                           "main.c",
                           *map(str, sorted((folder / "out").glob("*.c"))), "-o", "main"], cwd=folder,
                           capture_output=True,
                          text=True, check=False)
    if not ok(made.returncode == 0, "compiles with the sanitizer"):
        note(made.stderr[:2000])
        done()
    run = subprocess.run(["./main"], cwd=folder, capture_output=True, text=True, check=False)
    equal((run.returncode, run.stdout, run.stderr), (0, "0 0 0 small\n", ""), "a call without an arena")
done()
