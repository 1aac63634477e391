# SPDX-License-Identifier: Apache-2.0
"""The detector of examples/lstm-vad with the trained weights of Silero VAD, against what onnxruntime computed for real
recordings. Skips where the data does not lie beside the repository.

  test_silero.py ARGUMENTS…        (of tensor-compile build: compilers, cache)
"""
import os
import sys
import tempfile
from pathlib import Path

from tap import done, points_of, skip, step

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
RUNTIME = ROOT / "runtime"
DATA = ROOT.parent / "shared" / "data" / "onnx"
CC = os.environ.get("CC", "cc").split()
# frames of each pair; the tolerance is the data's rule of thumb for outputs below 1
PAIRS, TOLERANCE = ("0:31", "1:312", "2:16", "3:31", "4:1"), "1e-4"


model = DATA / "silero_vad_sequence.onnx"
if not model.exists():
    skip("trained weights", f"{model} is not there")
    done()
with tempfile.TemporaryDirectory() as temporary:
    out = Path(temporary)
    weights, program = out / "weights.safetensors", out / "test_vad"
    step("the weights are read", [sys.executable, str(HERE / "silero.py"), str(model), str(weights)])
    step("the model builds", [sys.executable, str(ROOT / "generator" / "tensor-compile"), "build",
                              str(ROOT / "examples" / "lstm-vad" / "model.c"), "--object", str(out / "vad.o"),
                              "--header", str(out / "vad.h"), *sys.argv[1:], f'-DWEIGHTS="{weights}"'])
    step("the test program builds", [*CC, "-std=c11", "-O2", f"-I{ROOT / 'tests'}", f"-I{RUNTIME / 'include'}",
                                     f"-I{out}",
                                     str(HERE / "test_vad.c"), str(out / "vad.o"),
                                     *map(str, sorted(RUNTIME.glob("core/*.c"))),
                                     *map(str, sorted(RUNTIME.glob("hosted/safetensors*.c"))),
                                     "-lm", "-o", str(program)])
    points_of([str(program), str(DATA / "silero_vad_sequence.io.safetensors"), TOLERANCE, *PAIRS])
done()
