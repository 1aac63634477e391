# SPDX-License-Identifier: Apache-2.0
"""ahead.py FOLDER THREADS ROW…: torch.compile's code of rows for a number of threads, FOLDER/ROW.THREADS.pt2.

AOTInductor with max_autotune and freezing. It takes minutes a row. The file holds the weights and runs with the same
version of torch on other machines that have the instructions: CXX may be a script that gives another -march than
native. prepare.py made the other files.
"""
from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import torch
from torch._inductor import config

sys.path.insert(0, str(Path(__file__).resolve().parent))
import peer_networks as networks
from rows import Row, named


def compile_ahead(row: Row, threads: int, folder: Path) -> None:
    names = json.loads((folder / f"{row.name}.json").read_text())["inputs"]
    inputs = {name: torch.from_numpy(np.load(folder / f"{row.name}.{name}.npy")) for name in names}
    weights = networks.weights(row.model, folder / f"{row.model}.safetensors")
    model = networks.Model(row.model, weights, inputs).eval()
    torch.set_num_threads(threads)
    config.freezing = config.max_autotune = True
    with torch.no_grad():
        program = torch.export.export(model, tuple(inputs.values()))
        torch._inductor.aoti_compile_and_package(program, package_path=str(folder / f"{row.name}.{threads}.pt2"))


if __name__ == "__main__":
    for name in sys.argv[3:]:
        compile_ahead(*named(name), int(sys.argv[2]), Path(sys.argv[1]))
