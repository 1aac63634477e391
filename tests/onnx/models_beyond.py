# SPDX-License-Identifier: Apache-2.0
"""Models of what ONNX's own suite does not have; `models_beyond.py` prints what ONNX Runtime gives for them, which
test_beyond.py holds."""
from __future__ import annotations

from typing import Any

import encode as e

F, I, B, I8 = e.FLOAT, e.INT64, e.BOOL, 3

# name -> (model, inputs as (dtype, shape, elements))
Case = tuple[bytes, dict[str, tuple[str, list[int], list[Any]]]]


def one(op: str, kind: int, dims: list[int | str], out: int | None = None, **attributes: Any) -> bytes:
    """A model of one node of x."""
    return e.model(e.graph([e.node(op, ["x"], ["y"], "n", **attributes)], [e.value_info("x", kind, dims)],
                           [e.value_info("y", out or kind, None)]))


def wide() -> bytes:
    """Maxima whose padding is more than half of the window, with their places."""
    def pool(name: str, x: str, *more: str, **attributes: Any) -> bytes:
        return e.node("MaxPool", [x], [name, *more], name, **attributes)

    two = {"kernel_shape": [3, 3], "strides": [2, 1]}
    nodes = [pool("strided", "x", "strided_at", kernel_shape=[3], pads=[2, 2], strides=[2]),
             pool("dilated", "line", "dilated_at", kernel_shape=[3], pads=[2, 2], dilations=[2]),
             pool("ceil", "line", "ceil_at", kernel_shape=[3], pads=[2, 2], dilations=[2], strides=[3], ceil_mode=1),
             pool("plane", "image", "plane_at", pads=[2, 2, 2, 1], **two),
             pool("columns", "image", "columns_at", pads=[2, 0, 1, 2], dilations=[1, 2], storage_order=1, **two),
             pool("flat", "zeros", "flat_at", kernel_shape=[3], pads=[2, 2], dilations=[2])]
    kinds = {"strided": I8, "dilated": F, "ceil": F, "plane": F, "columns": F, "flat": 2}
    outputs = [e.value_info(name, kind, None) for name, kind in kinds.items()]
    places = [e.value_info(f"{name}_at", I, None) for name in kinds]
    return e.model(e.graph(nodes, [e.value_info("x", I8, [1, 1, 5]), e.value_info("line", F, [1, 1, 6]),
                                   e.value_info("image", F, [1, 2, 4, 5]), e.value_info("zeros", 2, [1, 1, 5])],
                           [*outputs, *places]))


def detector() -> bytes:
    """Boxes and scores to the chosen boxes, with their scores and classes, as exporters of detectors write it."""
    nodes = [e.node("NonMaxSuppression", ["boxes", "scores", "limit", "iou", "least"], ["chosen"], "nms"),
             e.node("Gather", ["chosen", "two"], ["place"], "place", axis=1),
             e.node("Gather", ["chosen", "one"], ["class"], "class", axis=1),
             e.node("Squeeze", ["boxes", "zero1"], ["flat"], "flat"),
             e.node("Gather", ["flat", "place"], ["picked"], "picked", axis=0),
             e.node("Mul", ["picked", "scale"], ["chosen_boxes"], "scaled"),
             e.node("GatherND", ["scores", "chosen"], ["chosen_scores"], "chosen_scores"),
             e.node("Unsqueeze", ["chosen_scores", "one1"], ["column"], "column"),
             e.node("Concat", ["chosen_boxes", "column"], ["rows"], "rows", axis=1),
             e.node("Cast", ["class"], ["classes"], "classes", to=F)]
    numbers = [e.tensor("limit", I, [1], [3]), e.tensor("iou", F, [1], [0.5]), e.tensor("least", F, [1], [0.25]),
               e.tensor("two", I, [], [2]), e.tensor("one", I, [], [1]), e.tensor("zero1", I, [1], [0]),
               e.tensor("one1", I, [1], [1]), e.tensor("scale", F, [4], [2.0, 2.0, 4.0, 4.0])]
    return e.model(e.graph(nodes, [e.value_info("boxes", F, [1, "n", 4]), e.value_info("scores", F, [1, 2, "n"])],
                           [e.value_info("rows", F, ["k", 5]), e.value_info("classes", F, ["k"])], numbers))


def steps() -> bytes:
    """What YOLO's exporters write of a dynamic width: the points of a grid."""
    nodes = [e.node("Shape", ["x"], ["shape"], "shape"), e.node("Gather", ["shape", "first"], ["width"], "width"),
             e.node("Cast", ["width"], ["end"], "end", to=F),
             e.node("Range", ["begin", "end", "step"], ["points"], "range"),
             e.node("Add", ["points", "half"], ["y"], "add")]
    return e.model(e.graph(nodes, [e.value_info("x", F, ["w"])], [e.value_info("y", F, None)],
                           [e.tensor("first", I, [], [0]), e.tensor("begin", F, [], [1.0]),
                            e.tensor("step", F, [], [2.0]), e.tensor("half", F, [], [0.5])]))


def spectrum() -> bytes:
    """A real signal without an axis for its parts, as PyTorch writes it."""
    return e.model(e.graph([e.node("STFT", ["x", "step", "window"], ["y"], "n")], [e.value_info("x", F, [2, 8])],
                           [e.value_info("y", F, None)],
                           [e.tensor("step", I, [], [2]), e.tensor("window", F, [4], [0.5, 1.0, 1.0, 0.25])]))


def dynamic_lstm() -> bytes:
    """Weights of 8 bits; ONNX Runtime quantizes activations, too."""
    names = ["x", "w", "r", "b", "", "", "", "", "ws", "wz", "rs", "rz"]
    cell = e.node("DynamicQuantizeLSTM", names, ["y", "h"], "n", domain="com.microsoft", hidden_size=2)
    return e.model(e.graph([cell], [e.value_info("x", F, ["t", 1, 3])],
                           [e.value_info("y", F, None), e.value_info("h", F, None)],
                           [e.tensor("w", I8, [1, 3, 8], [i * 11 % 29 - 14 for i in range(24)]),
                            e.tensor("r", I8, [1, 2, 8], [i * 7 % 23 - 11 for i in range(16)]),
                            e.tensor("b", F, [1, 16], [0.0625 * (i % 5 - 2) for i in range(16)]),
                            e.tensor("ws", F, [1], [0.0625]), e.tensor("wz", I8, [1], [3]),
                            e.tensor("rs", F, [1], [0.125]), e.tensor("rz", I8, [1], [0])]),
                   domains={"com.microsoft": 1})


BOXES = [0.0, 0.0, 1.0, 1.0, 0.0, 0.1, 1.0, 1.1, 0.0, 10.0, 1.0, 11.0, 0.0, 20.0, 1.0, 21.0]
SCORES = [0.9, 0.75, 0.6, 0.1, 0.3, 0.2, 0.1, 0.8]
CASES: dict[str, Case] = {
    "even_lrn": (one("LRN", F, [1, 5, 1, 1], size=4, alpha=0.5, beta=0.75, bias=1.5),
                 {"x": ("f32", [1, 5, 1, 1], [1.0, -2.0, 3.0, 0.5, 2.5])}),
    "wide": (wide(), {"x": ("i8", [1, 1, 5], [-100, -7, -128, -3, -90]),
                      "line": ("f32", [1, 1, 6], [1.0, -5.0, 3.0, -2.0, -4.0, -1.0]),
                      "image": ("f32", [1, 2, 4, 5], [float(i * 17 % 41 - 20) for i in range(40)]),
                      "zeros": ("u8", [1, 1, 5], [0] * 5)}),
    "steps": (steps(), {"x": ("f32", [6], [0.0] * 6)}),
    "spectrum": (spectrum(), {"x": ("f32", [2, 8], [float(i * 5 % 7 - 3) for i in range(16)])}),
    "dynamic_lstm": (dynamic_lstm(), {"x": ("f32", [3, 1, 3], [0.25 * (i * 4 % 9 - 4) for i in range(9)])}),
    "detector": (detector(), {"boxes": ("f32", [1, 4, 4], BOXES), "scores": ("f32", [1, 2, 4], SCORES)}),
}


def main() -> None:
    import numpy as np
    import onnxruntime as ort

    for name, (model, inputs) in CASES.items():
        if name == "even_lrn":
            continue   # it refuses an even size
        session = ort.InferenceSession(model)
        types = {"f32": np.float32, "i64": np.int64, "i8": np.int8, "u8": np.uint8}
        got = session.run(None, {k: np.array(v, types[d]).reshape(s) for k, (d, s, v) in inputs.items()})
        for output, x in zip(session.get_outputs(), got):
            print(name, output.name, list(x.shape), [float(f"{v:.8g}") for v in x.ravel().tolist()])


if __name__ == "__main__":
    main()
