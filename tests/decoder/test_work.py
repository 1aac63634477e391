# SPDX-License-Identifier: Apache-2.0
"""What one step of decoding costs, as `explain` reads it from the emitted program: the state is updated in place, and
the work grows with the tokens before it, not with the capacity of the cache.

  test_work.py CACHE ARGUMENTS…        (of the build whose compiled kernels it shares)
"""
import re
import subprocess
import sys
from pathlib import Path

from tap import done, equal, note, ok

HERE = Path(__file__).resolve().parent
TOOL = HERE.parents[1] / "generator" / "tensor-compile"
LAYERS, KV_HEADS, HEAD, HEADS, CAPACITY = 2, 2, 8, 4, 64
ROW = KV_HEADS * HEAD * 4  # bytes of one token in one cache
KERNEL = re.compile(r"^ +\d+[| ] +(\S.*?) +(\d+) +(\d+) +\d+(?:/\d+)*  \S.*$")


def decode(past: int) -> tuple[list[tuple[str, int, int]], str]:
    """(kernel, bytes read, bytes written) of each step, and the text about decode."""
    command = [sys.executable, str(TOOL), "explain", str(HERE / "model.c"), "--at", f"past={past}", *sys.argv[1:]]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if not ok(result.returncode == 0, f"explain --at past={past}"):
        note(result.stderr)
        done()
    # generic; then comes reference
    text = result.stdout.split("\nfunction decoder_model_decode\n")[1].split("\n  variant ")[1]
    return [(m[1], int(m[2]), int(m[3])) for m in map(KERNEL.match, text.splitlines()) if m], text


pasts = [15, 31, 63]
runs = {past: decode(past) for past in pasts}
steps, text = runs[15]
ok(len(steps) >= 10, "the kernels of decode are listed")
for past in pasts:
    equal([name for name, _, _ in runs[past][0]], [name for name, _, _ in steps], f"the same kernels at past={past}")

moved = {past: sum(r + w for _, r, w in runs[past][0]) for past in pasts}
slope = moved[31] - moved[15]
equal(moved[63] - moved[31], 2 * slope, "bytes grow in proportion to the tokens before")
# Keys are read, packed (written, read) and values read; scores are written and read by softmax, then written and read.
token = LAYERS * (4 * ROW + 4 * HEADS * 4)
ok(slope <= 16 * token, f"at most {token} bytes a token before it")
note(f"bytes moved: {moved}")

written = {past: [w for _, _, w in runs[past][0]] for past in pasts}
constant = [i for i in range(len(steps)) if len({written[p][i] for p in pasts}) == 1]
projections = [i for i in constant if steps[i][0] == "linear+linear+linear"]
equal([written[63][i] for i in projections], LAYERS * [HEADS * HEAD * 4 + 2 * ROW],
      "one kernel writes a step's queries, and its row in place into both caches")
growing = [i for i in range(len(steps)) if i not in constant]
ok(all(written[63][i] <= CAPACITY * max(ROW, HEADS * 4) for i in growing) and len(growing) <= 3 * LAYERS,
   "what grows are packed keys, scores and weights of attention")
shapes = re.findall(r"^ +%\w+: f32\[(.*)\] (?:in slot|at) ", text, re.MULTILINE)
ok(shapes and not any(re.search(rf"\b{CAPACITY}\b", shape) for shape in shapes),
   "no tensor of the arena has the capacity of the cache")
done()
