# SPDX-License-Identifier: Apache-2.0
"""Random errors (--noise): as large as those of rounding to the declared dtype, in results and in partial sums; none
where a result is exact; other ones with another seed."""
from __future__ import annotations

import math
import random
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

import st
from tap import done, equal, ok

GRAPH = """tensor_compile.graph 1
model "m"

function f(%0 "x" : f32[64,1024] loc("m.c":1)) entry {
  %1 = reduce(%0) {op=sum, axes=[1], order=lanes} : f32[64] loc("m.c":2)
  %2 = mul(%0, %0) : f32[64,1024] loc("m.c":2)
  %3 = cast(%0) {dtype=f16} : f16[64,1024] loc("m.c":2)
  %4 = cast(%0) {dtype=bf16} : bf16[64,1024] loc("m.c":2)
  %5 = erf(%0) : f32[64,1024] loc("m.c":2)
  %6 = cast(%0) {dtype=i32} : i32[64,1024] loc("m.c":2)
  %7 = dot(%0, %0) {lhs_batch=[], rhs_batch=[], lhs_contract=[1], rhs_contract=[1], order=seq} : f32[64,64] loc("m.c":2)
  return "sum" %1 loc("m.c":3)
  return "square" %2 loc("m.c":3)
  return "half" %3 loc("m.c":3)
  return "brain" %4 loc("m.c":3)
  return "erf" %5 loc("m.c":3)
  return "whole" %6 loc("m.c":3)
  return "dot" %7 loc("m.c":3)
}
"""


def rms(values: list[float]) -> float:
    return math.sqrt(sum(v * v for v in values) / len(values))


def main(interpret: str) -> None:
    draw = random.Random(1)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "m.tcg").write_text(GRAPH, encoding="utf-8")

        def run(x: list[float], *more: str) -> dict[str, list[float]]:
            st.write(folder / "in", {"x": ("F32", [64, 1024], x)})
            subprocess.run([interpret, "m.tcg", "--function", "f", "--inputs", "in", "--out", "out", "--f64", *more],
                           check=True, cwd=folder)
            return {key: values for key, (_, _, values) in st.read(folder / "out").items()}

        x = [draw.choice((-1, 1)) * draw.uniform(1, 1.99) for _ in range(64 * 1024)]
        exact, first, again, other = (run(x, *(("--noise", seed) if seed else ())) for seed in ("", "2", "2", "4"))
        ok(first == again and first["sum"] != other["sum"], "a seed gives one run")
        for result, unit, of in (("square", 2.0 ** -23, 2), ("half", 2.0 ** -10, 1), ("brain", 2.0 ** -7, 1),
                                 ("erf", 2.0 ** -24 * (2 * 6.2345 + 1), 1)):
            errors = [(a - b) / unit for a, b in zip(first[result], exact[result])]
            most = max(map(abs, errors))
            ok(0.4 < most <= of / 2 and abs(sum(errors) / len(errors)) < 0.01,
               f"{result}: errors of up to half a unit, {most}")
        rounded = run(x, "--noise", "1")
        for result, code in (("square", "f"), ("half", "e"), ("erf", "f"), ("sum", "f")):
            ok(all(struct.unpack(code, struct.pack(code, v))[0] == v for v in rounded[result]) and
               rounded[result] != exact[result], f"{result}: with an odd seed it is a number of its dtype")
        equal(first["whole"], exact["whole"], "integers are exact")
        # a sum of n terms of magnitude 1: each partial sum has an error of its own size
        for result, longest in (("sum", 64), ("dot", 1024)):
            values = [v for i, v in enumerate(first[result]) if result == "sum" or i % 65]
            wants = [v for i, v in enumerate(exact[result]) if result == "sum" or i % 65]
            far = rms([(a - b) * 2 ** 24 for a, b in zip(values, wants)])
            ok(longest / 8 < far < longest * 4, f"{result}: partial sums have errors, {far:.3g} * 2^-24 in the mean")
        numbers = run([float(draw.randint(-64, 64)) for _ in range(64 * 1024)])
        drawn = run([*st.read(folder / "in")["x"][2]], "--noise", "3")
        equal([drawn[key] for key in ("sum", "square", "half", "brain", "dot")],
              [numbers[key] for key in ("sum", "square", "half", "brain", "dot")], "what the dtype holds has no error")
        larger, opposite = (run(x, "--noise", "2", "--times", times) for times in ("8", "-8"))
        for result in ("square", "half", "brain", "erf"):
            far = [b - a for a, b in zip(exact[result], first[result])]
            ok(all(abs(b - a - 8 * f) <= 1e-12 and abs(c - a + 8 * f) <= 1e-12 for a, b, c, f in
                   zip(exact[result], larger[result], opposite[result], far)),
               f"{result}: errors that are 8 times as large, and those of the other sign")
        for result in ("sum", "dot"):
            own, eight = (rms([b - a for a, b in zip(exact[result], run_[result])]) for run_ in (first, larger))
            ok(4 < eight / own < 16, f"{result}: partial sums, too, {eight / own:.3g}")
        beyond = run([7e4] * (64 * 1024), "--noise", "1")
        tiny = [run([1e-9] * (64 * 1024), "--noise", seed)["half"] for seed in ("1", "2")]
        ok(not any(map(any, tiny)), "what f16 rounds to zero is zero")
        ok(all(map(math.isinf, beyond["half"])) and not any(map(math.isinf, beyond["brain"])), "f16 ends at 65504")
        result = subprocess.run([interpret, "m.tcg", "--function", "f", "--out", "out", "--noise", "1"], text=True,
                                capture_output=True, check=False, cwd=folder)
        ok(result.returncode == 2 and "--noise goes with --f64" in result.stderr, "without --f64: a usage error")
        for words, why in ((("--times", "8"), "--times goes with --noise"),
                           (("--noise", "1", "--times", "6"), "--times is no power of two: 6")):
            result = subprocess.run([interpret, "m.tcg", "--function", "f", "--out", "out", "--f64", *words], text=True,
                                    capture_output=True, check=False, cwd=folder)
            ok(result.returncode == 2 and why in result.stderr, f"a usage error: {why}")
    done()


main(str(Path(sys.argv[1]).resolve()))
