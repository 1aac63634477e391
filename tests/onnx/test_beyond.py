# SPDX-License-Identifier: Apache-2.0
"""What ONNX's own suite does not have: the results are ONNX Runtime's (models_beyond.py), those of even_lrn by the
formula of the operation's page, for ONNX Runtime takes no even size."""
import os
import struct
import subprocess
import tempfile
from pathlib import Path

import encode as e
import forked
from models_beyond import CASES
from tap import done, ok
from tensor_compile.importer.values import DTYPES, Bytes, Value
from tensor_compile.importer.weights import Weights
from tensor_compile.symbolic import wrap

CACHE = os.environ["TC_TESTS_CACHE"]
Tensors = dict[str, tuple[str, list[int], list]]
PICKED = [0.0, 0.0, 4.0, 4.0, 0.89999998, 0.0, 20.0, 4.0, 44.0, 0.60000002, 0.0, 40.0, 4.0, 84.0, 0.80000001, 0.0, 0.0,
          4.0,
          4.0, 0.30000001]
# What they give, with zeros behind what is counted, and options of check.
EXPECTED: dict[str, tuple[Tensors, tuple[str, ...]]] = {
    "even_lrn": ({"y": ("f32", [1, 5, 1, 1], [0.41313071, -0.8203525, 1.0732622, 0.19805599, 1.333149])}, ()),
    "wide": ({
        "strided": ("i8", [1, 1, 4], [-100, -7, -3, -90]),
        "dilated": ("f32", [1, 1, 6], [3.0, -2.0, 3.0, -1.0, 3.0, -1.0]),
        "ceil": ("f32", [1, 1, 3], [3.0, -1.0, -4.0]),
        "plane": ("f32", [1, 2, 3, 6], [-20.0, -3.0, 14.0, 14.0, 14.0, 7.0, -14.0, 3.0, 20.0, 20.0, 20.0, 13.0, -11.0,
            6.0, 20.0, 20.0, 20.0, 16.0, -8.0, 9.0, 9.0, 9.0, 19.0, 19.0, -2.0, 15.0, 15.0, 15.0, 19.0, 19.0, 1.0,
            18.0, 18.0, 18.0, 11.0, 11.0]),
        "columns": ("f32", [1, 2, 3, 3], [14.0, -3.0, 14.0, 20.0, 3.0, 20.0, 20.0, 6.0, 20.0, 19.0, 9.0, 19.0, 19.0,
            15.0, 19.0, 1.0, 18.0, -6.0]),
        "flat": ("u8", [1, 1, 5], [0, 0, 0, 0, 0]),
        "strided_at": ("i64", [1, 1, 4], [0, 1, 3, 4]),
        "dilated_at": ("i64", [1, 1, 6], [2, 3, 2, 5, 2, 5]),
        "ceil_at": ("i64", [1, 1, 3], [2, 5, 4]),
        "plane_at": ("i64", [1, 2, 3, 6], [0, 1, 2, 2, 2, 4, 10, 11, 12, 12, 12, 14, 15, 16, 12, 12, 12, 19, 20, 21,
            21, 21, 24, 24, 30, 31, 31, 31, 24, 24, 35, 36, 36, 36, 38, 38]),
        "columns_at": ("i64", [1, 2, 3, 3], [8, 4, 8, 10, 6, 10, 10, 7, 10, 36, 24, 36, 36, 26, 36, 23, 27, 31]),
        "flat_at": ("i64", [1, 1, 5], [0, 1, 0, 1, 2]),
    }, ()),
    "steps": ({"y": ("f32", [3], [1.5, 3.5, 5.5])}, ("--dims", "w=6")),
    "spectrum": ({"y": ("f32", [2, 3, 3, 2], [
        0.0, 0.0, -1.5, -2.5, -3.0, 0.0, 1.25, 0.0, -3.0, 2.25, 4.75, 0.0, 0.75, 0.0, 2.5, -1.75, 0.25, 0.0, -0.25, 0.0,
        3.0, 0.75, -1.75, 0.0, 2.75, 0.0, -2.0, -3.25, -2.75, 0.0, -3.0, 0.0, 3.5, 1.5, -2.0, 0.0])}, ()),
    # ONNX Runtime quantizes activations, too: its results differ by its steps.
    "dynamic_lstm": ({"y": ("f32", [3, 1, 1, 2], [0.047492024, -0.00014230229, 0.043564685, -0.047982536, 0.050003372,
        -0.071584202]), "h": ("f32", [1, 1, 2], [0.050003372, -0.071584202])}, ("--dims", "t=3", "--atol", "2e-3")),
    "detector": ({"rows": ("f32", [6, 5], PICKED + [0.0] * 10), "rows_count": ("i64", [], [4]),
                  "classes": ("f32", [6], [0.0, 0.0, 1.0, 1.0, 0.0, 0.0]), "classes_count": ("i64", [], [4])},
                 ("--dims", "n=4")),
}


def tensors(path: Path, values: Tensors) -> None:
    found = Weights()
    for key, (dtype, shape, elements) in values.items():
        found.add(key, Value(dtype, tuple(map(wrap, shape)),
                             data=Bytes(struct.pack(f"<{len(elements)}{DTYPES[dtype][1]}", *elements))))
    path.write_bytes(b"".join(found.blocks()))


def tool(*words: object) -> subprocess.CompletedProcess:
    return forked.tool(*words, cwd=work)


with tempfile.TemporaryDirectory() as place:
    work = Path(place)
    for name, (model, inputs) in CASES.items():
        (work / f"{name}.onnx").write_bytes(model)
        tensors(work / f"{name}.in", inputs)
        outputs, words = EXPECTED[name]
        tensors(work / f"{name}.out", outputs)
        result = tool("check", f"{name}.onnx", "--isa", "avx2", "--cache", CACHE, "--inputs", f"{name}.in", "--expect",
                      f"{name}.out", *words)
        if not ok(result.returncode == 0, f"{name}: the results of ONNX Runtime"):
            print("# " + (result.stdout + result.stderr).replace("\n", "\n# "))

    result = tool("check", "steps.onnx", "--isa", "avx2", "--cache", CACHE, "--inputs", "steps.in",
                  "--expect", "steps.out", "--dim", "w=6")
    if not ok(result.returncode == 0, "steps: of a width that --dim makes a constant"):
        print("# " + (result.stdout + result.stderr).replace("\n", "\n# "))

    # Sizes without a name, and results of a size that is data where they cannot be computed with
    unnamed = e.model(e.graph([e.node("Relu", ["x"], ["y"], "r")], [e.value_info("x", e.FLOAT, [2, "?", "?", "None"])],
                              [e.value_info("y", e.FLOAT, None)]))
    (work / "unnamed.onnx").write_bytes(unnamed)
    tool("import", "unnamed.onnx", "-o", "unnamed")
    ok("2, x_1, x_2, x_3)" in (work / "unnamed" / "model.c").read_text(),
       "sizes that are called ? are not the same one")
    for op, inputs, more in (("ReduceSum", ["places"], {}), ("Gather", ["places", "first"], {"axis": 1}),
                             ("Add", ["places", "x"], {}), ("Concat", ["places", "places"], {"axis": 1})):
        (work / "wrong.onnx").write_bytes(e.model(e.graph(
            [e.node("NonZero", ["x"], ["places"], "n"), e.node(op, inputs, ["y"], "o", **more)],
            [e.value_info("x", e.INT64, [5])], [e.value_info("y", e.INT64, None)],
            [e.tensor("first", e.INT64, [1], [0])])))
        result = tool("import", "wrong.onnx", "-o", "wrong")
        ok(result.returncode == 1 and f"  {op}: the size of an" in result.stderr and "is data (at o)" in result.stderr,
           f"{op} along a size that is data is refused") or print("# " + result.stderr.replace("\n", "\n# "))
done()
