# SPDX-License-Identifier: Apache-2.0
"""Floats that become integers: a run in double precision takes the integers of another run where both have nearly the
same float, and its own ones elsewhere."""
from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import st
from tap import done, equal, ok

GRAPH = """tensor_compile.graph 1
model "m"

function f(%0 "x" : f32[4] loc("m.c":1), %1 "n" : i64[] loc("m.c":1)) entry {
  %2 = constant() {bits=0x41200000} : f32[] loc("m.c":2)
  %3 = broadcast(%2) {shape=[4], axes=[]} : f32[4] loc("m.c":2)
  %4 = mul(%0, %3) : f32[4] loc("m.c":3)
  %5 = round(%4) : f32[4] loc("m.c":4)
  %6 = cast(%5) {dtype=i32} : i32[4] loc("m.c":5)
  %7 = cast(%4) {dtype=i8} : i8[4] loc("m.c":6)
  %8 = floor(%4) : f32[4] loc("m.c":7)
  return "rounded" %6 loc("m.c":8)
  return "cut" %7 loc("m.c":8)
  return "below" %8 loc("m.c":8)
}
"""


def main(interpret: str) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "m.tcg").write_text(GRAPH, encoding="utf-8")

        def run(x: list[float], *more: object) -> tuple[subprocess.CompletedProcess[str], dict[str, list[float]]]:
            st.write(folder / "in", {"x": ("F32", [4], x), "n": ("I64", [], [0])})
            result = subprocess.run([interpret, "m.tcg", "--function", "f", "--inputs", "in", "--out", "out",
                                     *map(str, more)], capture_output=True, text=True, check=False, cwd=folder)
            return result, {key: values for key, (_, _, values) in st.read(folder / "out").items()} \
                if not result.returncode else {}

        # 0.35 and 0.7 of f32 lie below these numbers and beside them: 3.5 and 7 in f32, in double less than 3.5 and 7
        x = [0.35, 0.1, 0.7, -0.33]
        first, exact = run(x, "--roundings", "kept")
        equal((first.returncode, first.stdout), (0, ""), "what is kept is not told")
        equal(exact, {"rounded": [4, 1, 7, -3], "cut": [3, 1, 7, -3], "below": [3, 1, 7, -4]}, "in f32")
        _, own = run(x, "--f64")
        equal(own, {"rounded": [3, 1, 7, -3], "cut": [3, 1, 6, -3], "below": [3, 1, 6, -4]}, "in double precision")
        again, followed = run(x, "--f64", "--roundings", "kept", "--bound", "1e-4,1e-5")
        equal((again.returncode, again.stdout), (0, "3 0 whole\n"), "three elements have the integers of f32")
        equal(followed, exact, "which are taken")
        strict, alone = run(x, "--f64", "--roundings", "kept")
        equal((strict.stdout, alone), ("0 3 whole\nm.c:4\n", own),
              "without a bound none is, and the first place is told")
        far, alone = run([0.62, 0.1, 0.7, -0.33], "--f64", "--roundings", "kept", "--bound", "1e-4,1e-5")
        equal((far.stdout, alone["rounded"][0]), ("2 3 whole\nm.c:4\n", 6), "floats that differ keep their integers")
        nan = float("nan")
        run([nan, 0.1, 0.7, -0.33], "--roundings", "kept")
        other, _ = run([-nan, 0.1, 0.7, -0.33], "--f64", "--roundings", "kept", "--bound", "1e-4,1e-5")
        equal(other.stdout, "2 0 whole\n", "a NaN of another sign is no other integer")
        run(x, "--roundings", "kept")
        kept = (folder / "kept").read_bytes()
        (folder / "kept").write_bytes(kept[:20])
        short, _ = run(x, "--f64", "--roundings", "kept")
        ok(short.returncode == 1 and "round: the file of roundings is short" in short.stderr, "a file that is cut")
        (folder / "kept").write_bytes(b"")
        ended, alone = run(x, "--f64", "--roundings", "kept", "--bound", "1e-4,1e-5")
        equal((ended.stdout, alone), ("0 0 ended\n", own), "another way through the graph is told")
        for options, what in ((("--roundings", "none/kept"), "none/kept: error: cannot be opened"),
                              (("--roundings", "/dev/full"), "/dev/full: error: cannot be written"),
                              (("--roundings", "kept", "--bound", "1"), "--bound: error: RTOL,ATOL is expected")):
            wrong, _ = run(x, *options)
            ok(wrong.returncode == 1 and what in wrong.stderr, what)
    done()


main(str(Path(sys.argv[1]).resolve()))
