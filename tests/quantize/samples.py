# SPDX-License-Identifier: Apache-2.0
"""Files of seeded numbers for tests of quantize, and its runs."""
from __future__ import annotations

import contextlib
import io
import math
import os
import random
import subprocess
import sys
from pathlib import Path

import forked
from tap import note, ok
from tensor_compile.cli import main
from tensor_compile.compile import cpu_target

ROOT = Path(os.environ["TC_SOURCE_ROOT"])
sys.path.insert(0, str(ROOT / "tests" / "interpreter"))
import st


def floats(count: int, seed: int, scale: float = 1.0) -> list[float]:
    rng = random.Random(seed)
    return [rng.gauss(0, scale) for _ in range(count)]


def write(path: Path, tensors: dict[str, tuple[tuple[int, ...], list[float]]]) -> None:
    """A safetensors file of f32."""
    for name, (shape, values) in tensors.items():
        assert len(values) == math.prod(shape), name
    st.write(path, {name: ("F32", [*shape], values) for name, (shape, values) in tensors.items()})


def called(*words: object) -> subprocess.CompletedProcess[str]:
    """The tool in this process."""
    out, errors = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(errors):
        try:
            code = main([*map(str, words)])
        except SystemExit as end:
            code = int(end.code or 0)
    return subprocess.CompletedProcess([], code, out.getvalue(), errors.getvalue())


def run(*words: object) -> subprocess.CompletedProcess[str]:
    """The tool. Kernels that only have to give the right bits are compiled with -O1, those of `build`, which tests
    disassemble, as users' are."""
    cpu_target.OPTIMISE["speed"] = "-O3" if words[0] == "build" else "-O1"
    return forked.tool(*words)


def bits(name: str, *words: object, least: int = 1) -> None:
    """`check` of a model, which prints at least so many lines about its results, finds the bits of the interpreter in
    all that this processor can run."""
    done = run("check", *words)
    lines = [line for line in done.stdout.splitlines() if "bits of the interpreter: " in line]
    if not ok(len(lines) >= least and all(line.endswith(": equal") or "skipped" in line for line in lines), name):
        note(done.stdout + done.stderr)
