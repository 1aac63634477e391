# SPDX-License-Identifier: Apache-2.0
"""Products whose weights are larger than caches: on a GPU launches follow each other, and nothing is fetched ahead."""
from __future__ import annotations

import json
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

import emulation
from emulation import ROOT
from tap import done, equal, note, ok

COLUMNS, TERMS = 512, 384
MODEL = f"""#include <tensor_compile/model.h>
TC_MODEL(m)
{{
    tc_weights(g, "w.safetensors");
    tc_tensor few = tc_input(g, "few", TC_F32, 1, {TERMS}), many = tc_input(g, "many", TC_F32, 40, {TERMS});
    tc_output(g, "y", tc_linear(few, tc_weight(g, "a"), NULL));
    tc_output(g, "z", tc_linear(many, tc_weight(g, "b"), NULL));
}}
"""

with tempfile.TemporaryDirectory() as name:
    folder, size = Path(name), 4 * COLUMNS * TERMS
    (folder / "m.c").write_text(MODEL, encoding="utf-8")
    tensors = {weight: {"dtype": "F32", "shape": [COLUMNS, TERMS], "data_offsets": [at, at + size]}
               for weight, at in (("a", 0), ("b", size))}
    header = json.dumps(tensors).encode()
    (folder / "w.safetensors").write_bytes(struct.pack("<Q", len(header)) + header + bytes(2 * size))
    made = subprocess.run([sys.executable, ROOT / "generator" / "tensor-compile", "build", "m.c", "-o", "out",
                           "--target", "cuda", "--target-file", "cuda-sm90", "--keep", "keep",
                           "--nvcc", emulation.stub(folder)], cwd=folder, capture_output=True, text=True, check=False)
    if not ok(made.returncode == 0, "the model is built"):
        note(made.stdout + made.stderr)
    drivers = [path.read_text(encoding="utf-8") for path in folder.glob("keep/*.c")]
    equal([word for word in ("tc_ahead", "tc_soon_of", "tc_panels") if any(word in text for text in drivers)], [],
          "its driver fetches nothing")
    ok(any("tc_device_step" in text for text in drivers), "and launches kernels")
done()
