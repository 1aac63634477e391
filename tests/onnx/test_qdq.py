# SPDX-License-Identifier: Apache-2.0
"""--qdq integers: what an operation between DequantizeLinear and QuantizeLinear becomes, and what is left or refused.
The numbers are compared by tests/tflite/test_tiny.py --onnx."""
import tempfile
from pathlib import Path

import encode as e
from tap import done, note, ok
from tensor_compile.errors import UserError
from tensor_compile.importer.onnx import reader

FOLDER = tempfile.TemporaryDirectory()
PATH = Path(FOLDER.name) / "m.onnx"


def text(nodes: list[bytes], tensors: list[bytes], dims=(1, 2, 4, 4), result=None, in_integers: bool = True) -> str:
    graph = e.graph(nodes, [e.value_info("x", e.INT8, dims)], [e.value_info("y", e.INT8, result)], tensors)
    PATH.write_bytes(e.model(graph, 13))
    try:
        return reader.import_file(PATH, "m.onnx", in_integers=in_integers).text.partition("TC_MODEL")[2]
    except UserError as error:
        return f"error: {error.message}"


def has(found: str, part: str, name: str) -> None:
    if not ok(part in found, name):
        note(found)


def number(name: str, kind: int, value: float) -> bytes:
    return e.tensor(name, kind, [], [value])


def quantized(op: bytes, last: str) -> list[bytes]:
    return [e.node("DequantizeLinear", ["x", "xs", "xz"], ["xd"]), op,
            e.node("QuantizeLinear", [last, "ys", "yz"], ["y"])]


SCALES = [number("xs", e.FLOAT, 0.5), number("xz", e.INT8, 3), number("ys", e.FLOAT, 0.25), number("yz", e.INT8, -7)]
W = [e.tensor("w", e.INT8, [3, 2, 1, 1], [1, 2, 3, 4, 5, 6]), number("ws", e.FLOAT, 0.125), number("wz", e.INT8, 0),
     e.tensor("b", e.INT32, [3], [7, 8, 9]), number("bz", e.INT32, 0)]
WEIGHTS = [e.node("DequantizeLinear", ["w", "ws", "wz"], ["wd"]), e.node("DequantizeLinear", ["b", "bs", "bz"], ["bd"])]
CONV = e.node("Conv", ["xd", "wd", "bd"], ["c"])
RIGHT, WRONG = number("bs", e.FLOAT, 0.0625), number("bs", e.FLOAT, 0.07)

conv = [*WEIGHTS, *quantized(CONV, "c")]
found = text(conv, [*SCALES, *W, RIGHT])
has(found, "tc_quantized_conv(.x = {x, 0.5, 3}", "a convolution in integers")
has(found, ".scale = 0.25, .zero = -7", "with the result's scale and zero")
ok("tc_dequantize" not in found and "tc_quantize(" not in found, "and nothing in floats")
has(text(conv, [*SCALES, *W, RIGHT], in_integers=False), "tc_dequantize", "without the option in floats")
has(text(conv, [*SCALES, *W, WRONG]), "a bias that has not the scale of the product",
    "a bias of another scale is refused")
has(text([*WEIGHTS, e.node("DequantizeLinear", ["x", "xs", "xz"], ["xd"]), CONV, e.node("Relu", ["c"], ["r"]),
          e.node("QuantizeLinear", ["r", "ys", "yz"], ["y"])], [*SCALES, *W, RIGHT]), "tc_maximum(conv, -7)",
          "a Relu ends at the zero")
has(text(quantized(e.node("Add", ["xd", "xd"], ["c"]), "c"), SCALES),
    "tc_quantized_add(.a = {x, 0.5, 3}, .b = {x, 0.5, 3}", "a sum")
has(text(quantized(e.node("AveragePool", ["xd"], ["c"], kernel_shape=[2, 2]), "c"), SCALES),
    "a result of another scale than its input",
    "an average to another scale is refused")
has(text(quantized(e.node("Softmax", ["xd"], ["c"]), "c"), SCALES),
    "a result that has not the scale 0.00390625 and the zero -128",
    "a softmax has its own scale")
has(text(quantized(e.node("Exp", ["xd"], ["c"]), "c"), SCALES), "tc_exp(",
    "what has no form in integers stays in floats")
FOLDER.cleanup()
done()
