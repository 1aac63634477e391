# SPDX-License-Identifier: Apache-2.0
"""examples/digits in integers, calibrated on 100 of its images by the compiled model: at most one of 360 answers is
another one, so at most 0.28 points are lost; and nothing but the weights' integers is in the file."""
import json
import os
import re
import struct
import tempfile
from pathlib import Path

from samples import ROOT, run
from tap import done, equal, note, ok

EXAMPLE = ROOT / "examples" / "digits"
ISA = {"x86_64": "x86_64", "aarch64": "neon", "riscv64": "rv64"}.get(os.uname().machine, "")

with tempfile.TemporaryDirectory() as name:
    out = Path(name) / "int8"
    made = run("quantize", EXAMPLE / "model.c", "--data", EXAMPLE / "held-out.safetensors", "--map", "image=images",
               "--samples", 100, "--observer", "percentile", "-o", out, "--no-compare", "--isa", ISA,
               "--optimize", "size", "--cache", os.environ["TC_TESTS_CACHE"])
    if not ok(made.returncode == 0, "digits is quantized"):
        note(made.stderr)
    equal(made.stdout.splitlines()[1:],
          ["in floats: 1 softmax (model.c:19)", "", f"written: {out / 'model.c'}, {out / 'model.safetensors'}"],
          "all but its softmax")
    content = (out / "model.safetensors").read_bytes()
    header = json.loads(content[8:8 + struct.unpack("<Q", content[:8])[0]])
    equal({name: entry["dtype"] for name, entry in header.items()},
          {f"{layer}.{part}": dtype for layer in ("conv1", "conv2", "fc")
           for part, dtype in (("weight", "I8"), ("scale", "F32"), ("bias", "I32"))}, "the weights are bytes")
    checked = run("check", out / "model.c", "--float", EXAMPLE / "model.c", "--inputs",
                  EXAMPLE / "held-out.safetensors",
                  "--map", "image=images", "--least", 30, "--interpret")
    if not ok(checked.returncode == 0, "every layer is near the float one's"):
        note(checked.stdout + checked.stderr)
    found = re.search(r"same place: (\d+) of 360", checked.stdout)
    ok(found and int(found[1]) >= 359, f"answers are those of the float model: {found[1] if found else 'none'} of 360")
    note(checked.stdout)
    checked = run("check", out / "model.c", "--isa", ISA)
    ok(checked.returncode == 0, "check is right without --atol") or note(checked.stdout + checked.stderr)
    shown = run("explain", out / "model.c", "--isa", ISA, "--summary")
    ok(shown.returncode == 0 and " kernels, " in shown.stdout and "of arithmetic" not in shown.stdout,
       "the summary says no least time by the ceiling of floats") or note(shown.stdout + shown.stderr)
    again = run("quantize", EXAMPLE / "model.c", "--data", EXAMPLE / "held-out.safetensors", "-o", EXAMPLE)
    ok(again.returncode == 2 and "would take the place of the model itself" in again.stderr,
       "a model is not overwritten")
done()
