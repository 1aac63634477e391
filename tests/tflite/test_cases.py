# SPDX-License-Identifier: Apache-2.0
"""Models of one operation: imported, compiled into one program, called, and compared with what TensorFlow Lite gave for
the same inputs (make_cases.py): integers bit for bit. test_cases.py [CASE...]"""
from __future__ import annotations

import json
import sys
import zipfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "onnx"))

import conformance
import stored_cases
from tensor_compile.importer.tflite import reader
from tensor_compile.importer.values import Bytes, Value
from tensor_compile.symbolic import wrap

CASES = Path(__file__).resolve().parent / "cases.zip"
DTYPES = {"float32": "f32", "int8": "i8", "uint8": "u8", "int16": "i16", "int32": "i32", "int64": "i64",
          "bool": "bool"}
TOLERANCE = (1e-5, 1e-6)   # of floats


def values(about: dict[str, list]) -> dict[str, Value]:
    return {name: Value(DTYPES[dtype], tuple(map(wrap, shape)), data=Bytes(bytes.fromhex(content)))
            for name, (dtype, shape, content) in about.items()}


def job(name: str, archive: zipfile.ZipFile, folder: Path) -> conformance.Job:
    path = folder / f"{name}.tflite"
    path.write_bytes(archive.read(f"{name}/model.tflite"))
    data = json.loads(archive.read(f"{name}/data.json"))
    program, _ = reader.import_program(path, path.name, f"case_{name}")
    program.prefix = f"{name}."
    return conformance.Job(name, program.name, program, values(data["inputs"]), values(data["outputs"]), counts={},
                           tolerance=TOLERANCE, fixed=[], dims={})


if __name__ == "__main__":   # the cases run in a process that imports this file
    stored_cases.run(CASES, sys.argv[1:], job, "tflite")
