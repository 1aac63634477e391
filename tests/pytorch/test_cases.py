# SPDX-License-Identifier: Apache-2.0
"""Programs that PyTorch exported, one for each operation and overload: imported, compiled many to a model.c, called,
compared with PyTorch's results. test_cases.py FAMILY [CASE]; make_cases.py makes them."""
from __future__ import annotations

import os
import sys
import tempfile
import zipfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "onnx"))

import conformance
import tap
from processor import lacks
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
    import json

    size = int.from_bytes(content[:8], "little")
    found = {}
    for name, about in json.loads(content[8:8 + size]).items():
        begin, end = about["data_offsets"]
        found[name] = Value(DTYPES[about["dtype"]], tuple(map(wrap, about["shape"])),
                            data=Bytes(content[8 + size + begin:8 + size + end]))
    return found


def job(case: str, archive: zipfile.ZipFile, folder: Path) -> conformance.Job:
    path = folder / f"{case}.pt2"
    path.write_bytes(archive.read(f"{case}/program.pt2"))
    inputs = tensors(archive.read(f"{case}/inputs.safetensors"))
    outputs = tensors(archive.read(f"{case}/outputs.safetensors"))
    program = reader.import_program(path, path.name, f"case_{case}")
    program.prefix = f"{case}."
    dims = {}
    for name, value in program.inputs:
        for size, actual in zip(value.shape, constants(inputs[name].shape) or ()):
            if not size.is_const and str(size) in program.dims.declared:
                dims[str(size)] = actual
    wanted = {name: outputs[name] for name, _ in program.outputs}
    if wanted.keys() != outputs.keys():
        raise UserError(f"it has the outputs {sorted(wanted)}, PyTorch has {sorted(outputs)}")
    narrow = any(v.dtype in ("f16", "bf16") for v in [*inputs.values(), *outputs.values()])
    return conformance.Job(case, program.name, program, inputs, wanted, counts={},
                           tolerance=HALF if narrow else TOLERANCE, fixed=[], dims=dims)


def main(family: str, wanted: list[str]) -> None:
    if lacks(conformance.ISA):
        tap.skip(family, f"this processor has no {conformance.ISA}")
        tap.done()
    cache = Path(os.environ["TC_TESTS_CACHE"]) / "pytorch"
    cache.mkdir(parents=True, exist_ok=True)
    jobs, results = [], []
    with zipfile.ZipFile(CASES / f"{family}.zip") as archive, tempfile.TemporaryDirectory() as temporary:
        names = sorted({name.partition("/")[0] for name in archive.namelist()})
        for case in wanted or names:
            try:
                jobs.append(job(case, archive, Path(temporary)))
            except UserError as error:
                results.append(conformance.Result(case, "unsupported", error.message))
        results += conformance.run_batch(jobs, cache, 2)
    for result in sorted(results, key=lambda r: r.case):
        if not tap.ok(result.status == "passed", f"{family} {result.case}"):
            tap.note(f"{result.status}: {result.reason}")
    tap.equal(len(results), len(wanted or names), "every case was run")
    tap.done()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
