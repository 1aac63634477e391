# SPDX-License-Identifier: Apache-2.0
"""The whole encoder of examples/minilm: weights, build, the checks of test_encoder.c against PyTorch's embeddings, and
the example's own program.

  test_full.py ARGUMENTS…        (of tensor-compile build: compilers, cache)
"""
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from tap import done, note, ok, points_of, step
from tensor_compile.compile.host_programs import HOSTED

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
RUNTIME = ROOT / "runtime"
CC = os.environ.get("CC", "cc").split()


with tempfile.TemporaryDirectory() as temporary:
    out = Path(temporary)
    make, weights, program = out / "make_weights", out / "minilm.safetensors", out / "test_encoder"
    step("the program of weights compiles", [*CC, "-std=c11", "-O2", "-Wall", "-Wextra", "-Wpedantic", "-Werror",
                                             str(ROOT / "examples" / "minilm" / "make_weights.c"), "-o", str(make),
                                             "-lm"])
    step("it writes the weights", [str(make), str(weights)])
    step("the model builds", [sys.executable, str(ROOT / "generator" / "tensor-compile"), "build",
                              str(ROOT / "examples" / "minilm" / "model.c"), "--object", str(out / "encoder.o"),
                              "--header", str(out / "encoder.h"), *sys.argv[1:], "-DLAYERS=6", "-DHIDDEN=384",
                              "-DHEADS=12", f'-DWEIGHTS="{weights}"'])
    link = [str(out / "encoder.o"), *map(str, sorted(RUNTIME.glob("core/*.c"))),
            *map(str, HOSTED),
            f"-I{RUNTIME / 'include'}", f"-I{out}", "-lpthread", "-lm"]
    step("the test program builds", [*CC, "-std=c11", "-O2", "-D_POSIX_C_SOURCE=200809L", "-DHIDDEN=384",
                                     f"-I{ROOT / 'tests'}", str(HERE / "test_encoder.c"), *link, "-o", str(program)])
    points_of([str(program), str(HERE / "full.safetensors"), "1x128", "3x20"])

    example = out / "minilm"
    shutil.copy(out / "encoder.h", out / "model.h")
    step("the example builds", [*CC, "-std=c11", "-O2", "-D_POSIX_C_SOURCE=200809L", "-Wall", "-Wextra", "-Wpedantic",
                                str(ROOT / "examples" / "minilm" / "main.c"), *link, "-o", str(example)])
    result = subprocess.run([str(example), "2"], capture_output=True, text=True, check=False)
    ok(result.returncode == 0 and "padding and batching change no bit" in result.stdout, "the example runs")
    note(result.stdout + result.stderr)
done()
