# SPDX-License-Identifier: Apache-2.0
"""prepare.py FOLDER ROW…: weights, inputs, PyTorch's outputs and an ONNX file of rows, made in FOLDER.

MODEL.safetensors; ROW.NAME.npy and, for our programs, ROW.NAME.raw an input, which ROW.json lists; ROW.expected.npy;
ROW.onnx, which comes last: where it is there, all of the row is kept.
"""
from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path

import numpy as np
import torch

sys.path.insert(0, str(Path(__file__).resolve().parent))
import peer_networks as networks
from rows import Row, named

PEERS_ONLY = {"cache"}   # inputs that are state in our models


def prepare(row: Row, folder: Path) -> None:
    network = folder / f"{row.name}.onnx"
    if network.exists():
        return
    weights = networks.weights(row.model, folder / f"{row.model}.safetensors")
    inputs = networks.inputs(row.model, row.sizes)
    for name, tensor in inputs.items():
        np.save(folder / f"{row.name}.{name}.npy", tensor.numpy())
        tensor.numpy().tofile(folder / f"{row.name}.{name}.raw")
    with torch.inference_mode():
        expected = networks.Model(row.model, weights, inputs)(*inputs.values())
    np.save(folder / f"{row.name}.expected.npy", expected.numpy())
    (folder / f"{row.name}.json").write_text(
        json.dumps({"inputs": list(inputs), "ours": [n for n in inputs if n not in PEERS_ONLY]}))
    part = network.with_suffix(".part")
    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(networks.exportable(row.model, weights, inputs), tuple(inputs.values()),
                          str(part), input_names=list(inputs), output_names=["y"],
                          opset_version=17, dynamo=False)
    part.rename(network)


if __name__ == "__main__":
    for name in sys.argv[2:]:
        prepare(*named(name), Path(sys.argv[1]))
