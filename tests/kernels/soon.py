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

from cases import matmul
from tap import done, equal, note, ok
from tensor_compile.emit.soon import _tiles
from tensor_compile.loops.contraction_schedule import Schedule

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


# rows, a schedule of 8x48; panels of a group, tiles of rows, of a block of them in small teams, in large ones
TILES = [
    ("columns outermost", 784, {}, (3, 98, 98, 98)), ("blocks of rows", 784, {"mc": 64}, (3, 98, 8, 8)),
    ("bands", 784, {"bands": 16}, (3, 98, 7, 7)), ("bands of blocks", 784, {"bands": 4, "mc": 64}, (3, 98, 7, 7)),
    ("bands of large teams", 784, {"bands": 16, "large_teams": True}, (3, 98, 98, 7)),
    ("of some small teams", 784, {"bands": 16, "small_teams": True}, (3, 98, 0, 0)),
    ("of fewer tiles than a large team has pieces", 200, {"bands": 16, "small_teams": True}, (3, 25, 0, 25)),
    ("of small and large teams", 784, {"bands": 16, "small_teams": True, "large_teams": True}, (3, 98, 0, 7)),
    ("blocks of terms", 784, {"kc": 64, "mc": 64, "nc": 96}, (1, 1, 0, 0)), ("one tile of rows", 8, {}, (1, 1, 1, 1))]


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


for what, count, words, expected in TILES:
    equal(_tiles(matmul(count, 512, 128, 16), Schedule("avx512", "f32", 8, 48, **words), count), expected,
          f"tiles: {what}")
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
