# SPDX-License-Identifier: Apache-2.0
"""Mistakes that C programmers make with this language, and what the tool says of each: mistakes.txt, which is read for
its own sake, too. One program has them all, a function each.

  python3 test_mistakes.py --write      stores what the tool says now, to be read before it is committed
"""
import json
import os
import re
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

from tap import done, equal, ok

HERE = Path(__file__).resolve().parent
TABLE = HERE / "mistakes.txt"
TOOL = [sys.executable, str(HERE.parents[1] / "generator" / "tensor-compile")]
SHAPES = {"k": [4, 3, 3, 3], "fc.weight": [7, 5], "fc.bias": [7]}
HEAD = """#include <tensor_compile/model.h>
#include <tensor_compile/layers.h>
TC_MODEL(model)
{
    tc_weights(g, "w.safetensors");
    tc_output(g, "o", tc_input(g, "x", TC_F32, 2));
}
"""
# what a case may use; one line, so that messages tell the same places
GIVEN = """    tc_dim n = tc_dynamic(g, "n", 1, 64); \
tc_tensor x = tc_input(g, "x", TC_F32, n, 8), y = tc_input(g, "y", TC_F32, n, 5), i = tc_input(g, "i", TC_I32, n); \
tc_tensor im = tc_input(g, "im", TC_F32, 1, 3, 16, 16), q = tc_input(g, "q", TC_F32, 2, 4, 8); \
tc_tensor k = tc_weight(g, "k"), w = tc_weight(g, "fc.weight"), b = tc_weight(g, "fc.bias"); \
tc_tensor st = tc_state(g, "st", TC_F32, 4), part[3]; \
(void)n, (void)x, (void)y, (void)i, (void)im, (void)q, (void)k, (void)w, (void)b, (void)st, (void)part;
"""


def weights() -> bytes:
    header, at = {}, 0
    for name, shape in SHAPES.items():
        size = 4
        for n in shape:
            size *= n
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [at, at + size]}
        at += size
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + bytes(at)


def parsed(text: str) -> list[list[tuple[str, list[str]]]]:
    """The parts of the table: cases, each with its lines."""
    parts: list[list[tuple[str, list[str]]]] = []
    for line in text.splitlines():
        if line.startswith("== "):
            parts.append([])
        elif line.startswith("    "):
            parts[-1][-1][1].append(line[4:])
        elif line and not line.startswith("#"):
            parts[-1].append((line, []))
    return parts


def said(cases: list[str]) -> list[list[str]]:
    """What the tool says of each, lines of messages without their places."""
    text, at = HEAD, {}
    for number, case in enumerate(cases):
        text += f"TC_FUNCTION(case{number})\n{{\n{GIVEN}    {case}\n"
        at[text.count("\n")] = number
        text += '    tc_output(g, "r", x);\n}\n'
        at[text.count("\n")] = number   # what is left open is found where the function ends
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        (folder / "model.c").write_text(text, encoding="utf-8")
        (folder / "w.safetensors").write_bytes(weights())
        result = subprocess.run([*TOOL, "build", "model.c", "--cache", os.environ["TC_TESTS_CACHE"]], cwd=folder,
                                capture_output=True, text=True, check=False)
    found: list[list[str]] = [[] for _ in cases]
    current = None
    for line in result.stderr.splitlines():
        if place := re.match(r"model\.c:(\d+):(?:\d+:)? (.*)", line):
            current = at.get(int(place[1]))
            line = place[2]
        elif not line.startswith("  "):
            current = None
        if current is not None:
            found[current].append(re.sub(r"line \d+", "line N", line).strip())
    ok(result.returncode == 1 and "Traceback" not in result.stderr, "mistakes are the user's errors")
    return found


recorded, compiled = parsed(TABLE.read_text(encoding="utf-8"))
now = said([case for case, _ in recorded])
if "--write" in sys.argv:
    text = TABLE.read_text(encoding="utf-8")
    head, tail = text[:text.index("== ")], text[text.index("== ", text.index("== ") + 3):]
    title = text[text.index("== "):].split("\n", 1)[0]
    TABLE.write_text(head + title + "\n" + "".join("\n".join([case, *(f"    {line}" for line in lines)]) + "\n"
                                                   for (case, _), lines in zip(recorded, now)) + "\n" + tail,
                     encoding="utf-8")
for (case, want), lines in zip(recorded, now):
    equal("\n".join(lines), "\n".join(want), case)
for (case, want), lines in zip(compiled, said([case for case, _ in compiled])):
    # the compiler's words differ from version to version: the table has those that all of them use
    text = "\n".join(lines)
    if not ok("error: " in text and all(word in text for word in want), case):
        print("# " + text.replace("\n", "\n# "))
done()
