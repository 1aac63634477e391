# SPDX-License-Identifier: Apache-2.0
"""Damaged models: whatever is done to a file, the import ends in model text or in one UserError, in bounded time and
memory.

    fuzz.py SECONDS [SEED] [MODEL...]

Bytes are flipped, inserted, taken away and repeated, fields moved between files; without models, those of
test_import.py's kind are made. Prints what went wrong with the seed that does it again; exit code 1 where something
did. What was found is kept in damaged/ as files, which test_damaged.py reads.
"""
from __future__ import annotations

import random
import sys
from pathlib import Path

import encode as e
from fuzzing import change, fuzz, KINDS
from tensor_compile.importer.onnx import reader


def seeds() -> list[bytes]:
    """Small models that reach much of the importer."""
    f, i = e.FLOAT, e.INT64
    made = []

    def add(nodes: list[bytes], inputs: list[bytes], tensors: list[bytes] | None = None, opset: int = 17) -> None:
        made.append(e.model(e.graph(nodes, inputs, [e.value_info("y", f, None)], tensors or []), opset))

    x = e.value_info("x", f, ["n", 3, 8, 8])
    add([e.node("Conv", ["x", "w", "b"], ["a"], "/l/c", pads=[1, 1, 1, 1], strides=[2, 2], group=1),
         e.node("MaxPool", ["a"], ["p"], "/l/p", kernel_shape=[2, 2], auto_pad="SAME_UPPER"),
         e.node("Flatten", ["p"], ["f"], "f", axis=1), e.node("Softmax", ["f"], ["y"], "s", axis=-1)], [x],
        [e.tensor("w", f, [4, 3, 3, 3], [0.5] * 108), e.tensor("b", f, [4], [0.0] * 4)])
    add([e.node("Shape", ["x"], ["s"]), e.node("Slice", ["s", "k0", "k1"], ["t"]),
         e.node("Concat", ["t", "m"], ["u"], axis=0),
         e.node("Reshape", ["x", "u"], ["r"]), e.node("Gather", ["r", "k0"], ["g"], axis=1),
         e.node("Expand", ["g", "e"], ["y"])],
        [x], [e.tensor("k0", i, [1], [0]), e.tensor("k1", i, [1], [1]), e.tensor("m", i, [1], [-1]),
              e.tensor("e", i, [2], [1, 1])])
    add([e.node("Resize", ["x", "", "sc"], ["a"], mode="linear"), e.node("Pad", ["a", "pads"], ["b"], mode="constant"),
         e.node("Split", ["b"], ["c", "d"], axis=3), e.node("Transpose", ["c"], ["y"], perm=[0, 3, 2, 1])], [x],
        [e.tensor("sc", f, [4], [1.0, 1.0, 2.0, 2.0]), e.tensor("pads", i, [8], [0, 0, 1, 1, 0, 0, 1, 1])], 13)
    body = e.graph([e.node("Add", ["v", "x0"], ["v2"]), e.node("Identity", ["c"], ["c2"])],
                   [e.value_info("t", i, []), e.value_info("c", e.BOOL, []), e.value_info("v", f, [2])],
                   [e.value_info("c2", e.BOOL, []), e.value_info("v2", f, [2])])
    add([e.node("Loop", ["iterations", "", "x0"], ["y"], body=("graph", body))], [e.value_info("x0", f, [2])],
        [e.tensor("iterations", i, [], [3])])
    add([e.node("Einsum", ["a", "b"], ["c"], equation="bij,bjk->bik"),
         e.node("ReduceSum", ["c", "ax"], ["y"], keepdims=0)],
        [e.value_info("a", f, ["b", 2, 3]), e.value_info("b", f, ["b", 3, 4])], [e.tensor("ax", i, [1], [1])])
    made.append(e.model(e.graph([e.node("F", ["x"], ["y"], "call", domain="d", alpha=0.5)], [e.value_info("x", f, [2])],
                                [e.value_info("y", f, [2])]), 17,
                        [e.function("d", "F", ["p"], ["q"],
                                    [e.node("LeakyRelu", ["p"], ["q"], alpha=("ref", "alpha", 1))],
                                    ["alpha"])], {"d": 1}))
    return made


def damaged(models: list[bytes], r: random.Random) -> bytes:
    data = bytearray(r.choice(models))
    for _ in range(r.choice((1, 1, 2, 3, 8))):
        if not data:
            break
        at = r.randrange(len(data))
        kind = r.randrange(KINDS + 2)
        if kind < KINDS:
            change(data, at, kind, models, r)
        elif kind == KINDS:
            data[at:at] = data[at:at + r.choice((8, 32, 128))]
        else:
            data[at:at + 1] = e.varint(r.choice((0, 1, 1 << 31, 1 << 40, (1 << 63) - 1, 1 << 63, (1 << 64) - 1)))
    return bytes(data)


def main() -> int:
    models = [Path(p).read_bytes() for p in sys.argv[3:]] or seeds()
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else 1
    return fuzz(reader.import_file, "model.onnx", lambda r: damaged(models, r), float(sys.argv[1]), seed)


if __name__ == "__main__":
    sys.exit(main())
