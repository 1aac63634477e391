# SPDX-License-Identifier: Apache-2.0
"""Functions of the user's program as operations: built, linked and run; checked with their source; every refusal."""
from __future__ import annotations

import os
import struct
import subprocess
import tempfile
from pathlib import Path

import forked
from tap import done, equal, note, ok

HERE = Path(__file__).resolve().parent
ROOT = Path(os.environ["TC_SOURCE_ROOT"])
CACHE = ["--cache", os.environ["TC_TESTS_CACHE"]]


def run(*words: object) -> subprocess.CompletedProcess:
    return subprocess.run([str(w) for w in words], capture_output=True, text=True, check=False)


def wanted(n: int) -> list[float]:
    """What main.c prints for n rows, by the definitions of user.c."""
    x = [[float(5 * r + c - 7) for c in range(5)] for r in range(n)]
    scaled = [[2 * 2 * v - 1 for v in row] for row in x]
    h, turns = [1.0] * 5, []
    for row in x:
        h = [a + b - 1 for a, b in zip(h, row)]
        turns.append(h)
    printed = [v for a, b in zip(scaled, turns) for pair in zip(a, b) for v in pair]
    for r, row in enumerate(scaled):
        kept = [max(v, 0.0) for v in row]
        printed += [sum(kept) + 1, sum(v > 0 for v in kept), r]
    return printed


with tempfile.TemporaryDirectory() as place:
    folder = Path(place)
    built = forked.tool("build", HERE / "model.c", "-o", folder, "--verify", *CACHE)
    ok(built.returncode == 0, "a model with extern calls builds, verified") or note(built.stderr)
    core = sorted((ROOT / "runtime" / "core").glob("*.c"))
    linked = run("cc", "-std=c11", "-O1", f"-I{folder}", f"-I{ROOT / 'runtime' / 'include'}", HERE / "main.c",
                 HERE / "user.c",
                 folder / "model.o", *core, "-o", folder / "program")
    ok(linked.returncode == 0, "it links with the user's functions") or note(linked.stderr)
    lines = run(folder / "program").stdout.splitlines()
    equal(len(lines), 3, "the program runs")
    for line, n in zip(lines, (3, 4)):
        equal([float(word) for word in line.split()], wanted(n), f"{n} rows: what the functions are defined to give")
    doubled = ["%x" % struct.unpack("<H", struct.pack("<e", 2 * v))[0]
               for v in (1.0, 2.0, -1.0, 0.0, float("inf"), 2.0**-24)]
    equal(lines[2].split(), [*doubled, "5", "5"],
          "16 bits arrive as they are stored; constants are not computed at build time")
    without = run("cc", HERE / "main.c", f"-I{folder}", f"-I{ROOT / 'runtime' / 'include'}", folder / "model.o", *core,
                  "-o",
                  folder / "none")
    ok(without.returncode != 0 and "user_scale" in without.stderr, "without them the linker names what is missing")

    checked = forked.tool("check", HERE / "model.c", "--extern-source", HERE / "user.c", "--threads", 2,
                          "--with-reference", *CACHE)
    ok(checked.returncode == 0 and "scaled: equal" in checked.stdout, "check runs them in the interpreter, too") or \
        note(checked.stdout + checked.stderr)
    for name, words, message in (
            ("without a source", (), "the model calls functions of your program: user_bits, user_rows, user_scale"),
            ("a source that is not there", ("--extern-source", folder / "none.c"), "no such file"),
            ("a source of something else", ("--extern-source", ROOT / "runtime" / "core" / "text.c"),
             "the sources of --extern-source do not make a program with what the model calls")):
        found = forked.tool("check", HERE / "model.c", *words, *CACHE)
        ok(found.returncode == 1 and message in found.stderr, f"check {name}: {message}") or note(found.stderr)
    device = forked.tool("build", HERE / "model.c", "-o", folder, "--target", "cuda", "--nvcc", "true", *CACHE)
    message = "tc_extern: user_scale is a function of your program, which a GPU cannot call"
    ok(device.returncode == 1 and message in device.stderr, message) or note(device.stderr)
done()
