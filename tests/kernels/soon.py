# SPDX-License-Identifier: Apache-2.0
"""What the driver tells tiles of what their thread reads soon: of which steps, where their panels lie; and that
programs which do so have the bits of the interpreter, in teams, too.
"""
from __future__ import annotations

import json
import random
import re
import struct
import subprocess
import sys
import tempfile
from array import array
from pathlib import Path

from tap import done, equal, note, ok

ROOT = Path(__file__).resolve().parents[2]
ROWS, WIDTH, INNER = 40, 384, 400
MODEL = f"""#include <tensor_compile/model.h>
TC_MODEL(m)
{{
    tc_weights(g, "w.safetensors");
    tc_tensor x = tc_input(g, "x", TC_F32, {ROWS}, {WIDTH});
    tc_tensor h = tc_relu(tc_linear(x, tc_weight(g, "up"), NULL));
    tc_tensor small = tc_relu(tc_linear(h, tc_weight(g, "small"), NULL));
    tc_tensor q = tc_linear(h, tc_weight(g, "q"), NULL), k = tc_linear(h, tc_weight(g, "k"), NULL);
    tc_output(g, "q", q);
    tc_output(g, "y", tc_linear(tc_tanh(k), tc_weight(g, "out"), NULL));
    tc_output(g, "z", small);
}}
"""
WEIGHTS = {"up": (INNER, WIDTH), "small": (16, INNER), "q": (WIDTH, INNER), "k": (WIDTH, INNER), "out": (INNER, WIDTH)}


def write(path: Path) -> None:
    header, data, rng = {}, array("f"), random.Random(3)
    for name, shape in WEIGHTS.items():
        begin = 4 * len(data)
        data.extend(rng.uniform(-0.1, 0.1) for _ in range(shape[0] * shape[1]))
        header[name] = {"dtype": "F32", "shape": list(shape), "data_offsets": [begin, 4 * len(data)]}
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data.tobytes())


def tool(folder: Path, *words: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, str(ROOT / "generator" / "tensor-compile"), *map(str, words)], cwd=folder,
                          capture_output=True, text=True, check=False)


with tempfile.TemporaryDirectory() as name:
    folder = Path(name)
    (folder / "m.c").write_text(MODEL, encoding="utf-8")
    write(folder / "w.safetensors")
    made = tool(folder, "build", "m.c", "--isa", "avx512", "--target-file", "x86_64", "--emit", "c", "-o", "out")
    if not ok(made.returncode == 0, "the model is built"):
        note(made.stderr)
    driver = (folder / "out" / "m.c").read_text(encoding="utf-8")
    table = re.search(r"tc_panels tcd_m_v0_panels\[\]\[5\] = \{\n    \{\n(.*?)\n    \},\n\};", driver, re.S)
    rows = [tuple(map(int, re.findall(r"\d+", line))) for line in (table.group(1) if table else "").splitlines()]
    # bytes of a panel, panels, rows, bytes of an element; the small product is computed with two large ones
    wide, narrow = (64 * WIDTH, INNER // 16, ROWS, 4), (64 * INNER, WIDTH // 16, ROWS, 4)
    equal([row[1:5] for row in rows], [wide, (narrow[0], 1, *narrow[2:]), narrow, narrow, wide],
          "panels of the products")
    equal([(0 < across <= 4, tiles >= ROWS // 14, block == large == tiles) for *_, across, tiles, block, large in rows],
          [(True, True, True)] * 5, "their tiles: columns outermost")
    number = r"(?:panels \+ )?(\d+)"
    calls = re.findall(rf"tc_soon_of\(soon, f->weights, {number}, (\d+), {number}, (\d+),", driver)
    equal([tuple(map(int, call)) for call in calls], [(0, 1, 1, 3), (1, 3, 4, 1), (4, 1, 0, 0)],
          "each step is told of itself and of the next one")
    for isa in ("avx2", "avx512", "avx2,avx512"):
        for threads in (1, 5):
            checked = tool(folder, "check", "m.c", "--isa", isa, "--threads", threads)
            found = [line for line in checked.stdout.splitlines() if "bits of the interpreter: " in line]
            if not ok(checked.returncode == 0 and found and all(": equal" in x or "skipped" in x for x in found),
                      f"{isa}, {threads} threads: the bits of the interpreter"):
                note(checked.stdout + checked.stderr)
done()
