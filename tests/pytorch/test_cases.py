# SPDX-License-Identifier: Apache-2.0
"""Programs that PyTorch exported, one for each operation and overload: imported, compiled many to a model.c, called,
compared with PyTorch's results. test_cases.py FAMILY [CASE...] [--all]; make_cases.py makes them."""
from __future__ import annotations

import json
import sys
import zipfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "onnx"))

import conformance
import stored_cases
from tensor_compile.errors import UserError
from tensor_compile.importer.dims import constants
from tensor_compile.importer.pytorch import reader
from tensor_compile.importer.values import Bytes, Value
from tensor_compile.symbolic import wrap

CASES = Path(__file__).resolve().parent / "cases"
DTYPES = {"F32": "f32", "F64": "f64", "F16": "f16", "BF16": "bf16", "BOOL": "bool", "I8": "i8", "U8": "u8",
          "I16": "i16",
          "I32": "i32", "I64": "i64"}
# Sums of some hundred terms in another order, in f32; 16 bits as PyTorch rounds them.
TOLERANCE = (2e-4, 2e-5)
HALF = (2e-3, 2e-3)


def tensors(content: bytes) -> dict[str, Value]:
    """Those of a safetensors file."""
    size = int.from_bytes(content[:8], "little")
    found = {}
    for name, about in json.loads(content[8:8 + size]).items():
        begin, end = about["data_offsets"]
        found[name] = Value(DTYPES[about["dtype"]], tuple(map(wrap, about["shape"])),
                            data=Bytes(content[8 + size + begin:8 + size + end]))
    return found


def job(case: str, archive: zipfile.ZipFile, folder: Path, label: str = "") -> conformance.Job:
    """label: stands before the case's name, where a name is there more than once."""
    path = folder / f"{case}.pt2"
    path.write_bytes(archive.read(f"{case}/program.pt2"))
    inputs = tensors(archive.read(f"{case}/inputs.safetensors"))
    outputs = tensors(archive.read(f"{case}/outputs.safetensors"))
    program = reader.import_program(path, path.name, f"case_{label}{case}")
    program.prefix = f"{label}{case}."
    dims = {}
    for name, value in program.inputs:
        for size, actual in zip(value.shape, constants(inputs[name].shape) or ()):
            if not size.is_const and str(size) in program.dims.declared:
                dims[str(size)] = actual
    if f"{case}/numbers.json" in archive.namelist():
        dims |= {f"{case}_{symbol}": n for symbol, n in json.loads(archive.read(f"{case}/numbers.json")).items()}
    wanted = {name: outputs[name] for name, _ in program.outputs}
    if wanted.keys() != outputs.keys():
        raise UserError(f"it has the outputs {sorted(wanted)}, PyTorch has {sorted(outputs)}")
    narrow = any(v.dtype in ("f16", "bf16") for v in [*inputs.values(), *outputs.values()])
    return conformance.Job(label + case, program.name, program, inputs, wanted, counts={},
                           tolerance=HALF if narrow else TOLERANCE, fixed=[], dims=dims)


if __name__ == "__main__":   # the cases run in a process that imports this file
    stored_cases.run(CASES / f"{sys.argv[1]}.zip", sys.argv[2:], job, "pytorch", sys.argv[1])
