# SPDX-License-Identifier: Apache-2.0
"""generator/tensor-compile-export.py: the names of the samples it saves are those of the imported model."""
from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import tap
from tensor_compile.importer.pytorch import reader

SCRIPT = Path(__file__).resolve().parents[2] / "generator" / "tensor-compile-export.py"
NET = """import torch
class Net(torch.nn.Module):
    def forward(self, a, mask, flag=True, other=None, scale=1.0):
        return {"y": a * scale if flag else a, "mask": mask, "other": other}
def make():
    return Net(), (torch.rand(2, 3),), {"flag": False, "other": None, "mask": torch.rand(2, 3), "scale": 2.5}
"""


def header(path: Path) -> list[str]:
    content = path.read_bytes()
    return list(json.loads(content[8:8 + int.from_bytes(content[:8], "little")]))


if importlib.util.find_spec("torch") is None:
    tap.skip("names of saved samples", "PyTorch is not installed")
    tap.done()
with tempfile.TemporaryDirectory() as temporary:
    place = Path(temporary)
    (place / "net.py").write_text(NET)
    done = subprocess.run([sys.executable, str(SCRIPT), "net.py:make", "-o", "net.pt2", "--dynamic", "a.0=n:1:8",
                           "--dynamic", "mask.0=m:1:8"], cwd=place, capture_output=True, text=True)
    tap.equal(done.returncode, 0, "a module with flags and None is exported")
    tap.ok(done.stdout.endswith("inputs a, mask\n"), "tensors alone are named as inputs")
    text = reader.import_file(place / "net.pt2", "net.pt2").text
    tap.equal(header(place / "net.inputs.safetensors"), ["a", "mask"], "the sample's inputs")
    names = header(place / "net.outputs.safetensors")
    tap.equal(names, ["y", "mask_2"], "an output that an input is called as has a number")
    tap.ok(all(f'tc_output(g, "{name}"' in text for name in names), "the imported model calls its outputs so")
tap.done()
