# SPDX-License-Identifier: Apache-2.0
"""Outputs of the interpreter against PyTorch's (make_expected.py), within a bound; and the same inputs in another
float.

Compiled models are compared with the interpreter bit for bit (run_cases.c), so what holds of its outputs holds of
theirs.
"""
from __future__ import annotations

import json
import math
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(1, str(Path(__file__).resolve().parents[1] / "interpreter"))

import st
from tap import note, ok

Tensors = dict[str, tuple[str, list[int], list]]
# Bits of the significand, and the exponents of the smallest and the largest normal numbers.
FORMATS = {"F64": (53, -1022, 1023), "F32": (24, -126, 127), "F16": (11, -14, 15), "BF16": (8, -126, 127)}
# This project's own error where it computes in f32: exp, tanh, erf (docs/numerics.md), and sums of some hundred terms
# of
# about 1; relative and absolute. In f64 it is as many units in the last place.
OWN = {"F64": 2e-5 * 2.0**-29, "F32": 2e-5, "F16": 2e-5, "BF16": 2e-5}


def unit(dtype: str, x: float) -> float:
    """The distance of neighbours in dtype, next to x."""
    bits, least, most = FORMATS[dtype]
    exponent = math.frexp(x)[1] - 1 if x and math.isfinite(x) else least
    return 2.0 ** (min(max(exponent, least), most) - bits + 1)


def largest(dtype: str) -> float:
    bits, _, most = FORMATS[dtype]
    return (2 - 2.0 ** (1 - bits)) * 2.0**most


@dataclass(frozen=True)
class Wanted:
    """The values of an output, of dtype `given` in the file. roundings: those within the function that its result
    shows."""

    given: str
    values: list
    roundings: int = 0

    def misses(self, dtype: str, got: list) -> list[int]:
        """Where `got`, of `dtype`, is too far. A composition computes f16 and bf16 in f32 and rounds once: its result
        is within half a unit in the last place of what f32 gives, and the file's values within half a unit of their own
        dtype. So two operations in a row would be seen. Functions of several public operations, each of which rounds,
        say how many `roundings` come before: a unit of the output's largest value each, as any of them may cancel."""
        if dtype not in FORMATS:
            return [i for i, (a, b) in enumerate(zip(got, self.values)) if a != b]
        scale = max((abs(v) for v in self.values if math.isfinite(v)), default=0.0)
        narrow = dtype in ("F16", "BF16")
        inner = self.roundings * unit(dtype, scale) if narrow else 0.0

        def near(a: float, b: float) -> bool:
            if a == b or (math.isnan(a) and math.isnan(b)):
                return True
            bound = OWN[dtype] * (1 + abs(b)) + inner + unit(self.given, b) / 2 + (unit(dtype, b) / 2 if narrow else 0)
            if math.isinf(a):   # beyond half a unit above the largest number
                return a * b > 0 and abs(b) + bound >= largest(dtype) + unit(dtype, largest(dtype))
            return abs(a - b) <= bound

        return [i for i, (a, b) in enumerate(zip(got, self.values)) if not near(a, b)]


@dataclass(frozen=True)
class Expected:
    """What make_expected.py wrote for a family. sizes: of each function."""

    tensors: Tensors
    sizes: dict[str, dict[str, int]]

    @staticmethod
    def read(path: Path) -> "Expected":
        data = path.read_bytes()
        metadata = json.loads(data[8:8 + int.from_bytes(data[:8], "little")])["__metadata__"]
        return Expected(st.read(path), {
            function: {k: int(v) for k, v in (word.split("=") for word in text.split(",") if word)}
            for function, text in metadata.items()})

    def part(self, function: str, direction: str) -> Tensors:
        """The inputs ("in") or the outputs ("out") of a function, by their names in the model."""
        prefix = f"{function}.{direction}."
        return {k.removeprefix(prefix): t for k, t in self.tensors.items() if k.startswith(prefix)}

    def with_inputs_in(self, dtype: str) -> "Expected":
        """All inputs of f32 in another float, which has their values (make_expected.py sees to it)."""
        return Expected({k: (dtype if d == "F32" and ".in." in k else d, shape, values)
                         for k, (d, shape, values) in self.tensors.items()}, self.sizes)


def compare(title: str, interpreter: Path, graph: str, weights: Path, expected: Expected,
            roundings: dict[str, int]) -> None:
    """One TAP point a function, named after the title. graph: its text; weights: the folder of its weight files;
    roundings: by function, those within, which count where f16 and bf16 are rounded."""
    with tempfile.TemporaryDirectory() as scratch:
        text, given, out = (Path(scratch) / name for name in ("graph.tcg", "in.safetensors", "out.safetensors"))
        text.write_text(graph, encoding="utf-8")
        for function, sizes in sorted(expected.sizes.items()):
            st.write(given, expected.part(function, "in"))
            run = subprocess.run([interpreter, text, "--function", function, "--inputs", given, "--out", out,
                                  "--weights-dir", weights,
                                  *(["--dims", ",".join(f"{k}={v}" for k, v in sizes.items())] if sizes else [])],
                                 capture_output=True, text=True, check=False)
            wrong = [run.stderr] if run.returncode else _differences(st.read(out), expected.part(function, "out"),
                                                                     roundings.get(function, 0))
            if not ok(not wrong, f"{title} {function}"):
                note("\n".join(wrong))


def _differences(got: Tensors, want: Tensors, roundings: int) -> list[str]:
    if set(got) != set(want):
        return [f"outputs {sorted(got)}, expected {sorted(want)}"]
    wrong = []
    for name, (dtype, shape, values) in got.items():
        given, want_shape, wanted = want[name]
        if shape != want_shape or (given not in FORMATS and given != dtype):
            wrong.append(f"{name}: {dtype}{shape}, expected {given}{want_shape}")
            continue
        misses = Wanted(given, wanted, roundings).misses(dtype, values)
        wrong += [f"{name}[{i}] of {len(values)}: {values[i]!r}, expected {wanted[i]!r}" for i in misses[:3]]
    return wrong
