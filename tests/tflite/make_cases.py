# SPDX-License-Identifier: Apache-2.0
"""Makes cases.zip: models of one operation, random, with what TensorFlow Lite gives for random inputs and the ends of
the range.

    make_cases.py           needs ai-edge-litert, tflite-micro and numpy; nothing else of the project does

Cases that cases.zip has already stay as they are: without the file all are made anew.

Integers are those of TensorFlow Lite Micro, or of LiteRT's reference kernels where Micro does not have the operation: a
case says which. Floats are LiteRT's.
"""
from __future__ import annotations

import json
import os
import sys
import zipfile
from pathlib import Path
from typing import Sequence

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import numpy
from case_parts import affine, case, cases, constant, one, r, ranges, result_window, scale, sizes, weights
from cases_floats import make_boxes, make_composites, make_indexing, make_making, make_recurrent, make_spectra, \
    make_windows
from encode import Operator, Tensor

HERE = Path(__file__).resolve().parent


def make() -> None:
    for i, (shape, out, kernel, options) in enumerate([
            ((1, 9, 7, 3), 5, (3, 3), {"padding": 0, "stride_w": 1, "stride_h": 1}),
            ((2, 8, 8, 4), 8, (3, 2), {"padding": 0, "stride_w": 2, "stride_h": 2, "activation": 1}),
            ((1, 10, 6, 2), 4, (2, 3), {"padding": 1, "stride_w": 1, "stride_h": 2, "activation": 3}),
            ((1, 9, 9, 2), 3, (3, 3), {"padding": 0, "stride_w": 1, "stride_h": 1, "dilation_w": 2, "dilation_h": 2}),
            ((1, 5, 5, 16), 4, (1, 1), {"padding": 1, "stride_w": 1, "stride_h": 1})]):
        x, y = affine("x", shape), affine("y", [1], s=scale(0.02, 0.5))
        each = kernel[0] * kernel[1] * shape[3]
        y.shape = result_window(shape, out, kernel, options)
        case(f"conv_{i}", [x, *weights(out, each, 0, [out, *kernel, shape[3]], i != 4, x), y],
             [Operator("CONV_2D", ["x", "w", "b"], ["y"], options, 3)], ["x"], ["y"])
    for i, (shape, times, kernel, options) in enumerate([
            ((1, 8, 8, 4), 1, (3, 3), {"padding": 0, "stride_w": 1, "stride_h": 1}),
            ((1, 7, 9, 3), 2, (3, 3), {"padding": 0, "stride_w": 2, "stride_h": 2, "activation": 1}),
            ((1, 9, 5, 6), 1, (5, 1), {"padding": 1, "stride_w": 1, "stride_h": 1, "activation": 2})]):
        x, y, out = affine("x", shape), affine("y", [1], s=scale(0.02, 0.3)), shape[3] * times
        y.shape = result_window(shape, out, kernel, options)
        case(f"depthwise_{i}", [x, *weights(out, kernel[0] * kernel[1], 3, [1, *kernel, out], True, x), y],
             [Operator("DEPTHWISE_CONV_2D", ["x", "w", "b"], ["y"], {**options, "multiplier": times}, 3)], ["x"], ["y"])
    for i in range(3):
        x, y = affine("x", [2, 24]), affine("y", [2, 10], s=scale(0.05, 0.5))
        case(f"linear_{i}", [x, *weights(10, 24, 0, [10, 24], False, x), y],
             [Operator("FULLY_CONNECTED", ["x", "w", "b"], ["y"], {"activation": i}, 4)], ["x"], ["y"])
    for op in ("ADD", "SUB", "MUL"):
        for i, (a, b) in enumerate([((1, 6, 5, 4), (1, 6, 5, 4)), ((2, 3, 4), (4,)), ((1, 4, 4, 3), (1, 1, 1, 3))]):
            y = affine("y", numpy.broadcast_shapes(a, b))
            case(f"{op.lower()}_{i}", [affine("x", a), affine("x2", b), y],
                 [Operator(op, ["x", "x2"], ["y"], {"activation": i % 2}, 2)], ["x", "x2"], ["y"])
    for i in range(4):
        one(f"softmax_{i}", "SOFTMAX", affine("x", [3, (2, 10, 64, 300)[i]], s=(0.05, 0.18, 0.4, 1.2)[i]),
            affine("y", [3, (2, 10, 64, 300)[i]], s=1 / 256, z=-128), beta=(1.0, 1.0, 0.5, 2.0)[i])
    every = numpy.arange(-128, 128).reshape(1, 256)
    for i in range(4):
        s = (0.01, 0.05, 0.11, 0.3)[i]
        one(f"logistic_{i}", "LOGISTIC", affine("x", every.shape, s=s), affine("y", every.shape, s=1 / 256, z=-128))
        one(f"tanh_{i}", "TANH", affine("x", every.shape, s=s), affine("y", every.shape, s=1 / 128, z=0))
        one(f"leaky_relu_{i}", "LEAKY_RELU", affine("x", every.shape, s=s), affine("y", every.shape, s=s * 0.7),
            alpha=(0.1, 0.01, 0.3, 0.9)[i])
        one(f"relu_{i}", ("RELU", "RELU6", "RELU", "RELU6")[i],
            affine("x", every.shape, s=s, z=(None, -128, None, -128)[i]),
            affine("y", every.shape, s=s * 1.1) if i % 2 == 0 else affine("y", every.shape, s=s, z=-128))
        one(f"quantize_{i}", "QUANTIZE", affine("x", every.shape, s=s),
            affine("y", every.shape, s=s * (0.5, 1, 2.3, 0.9)[i]), 2)
    for i, options in enumerate([{"padding": 1, "stride_w": 2, "stride_h": 2, "width": 2, "height": 2},
                                 {"padding": 0, "stride_w": 1, "stride_h": 2, "width": 3, "height": 3},
                                 {"padding": 0, "stride_w": 2, "stride_h": 2, "width": 2, "height": 3,
                                  "activation": 1}]):
        for op in ("AVERAGE_POOL_2D", "MAX_POOL_2D"):
            x = affine("x", (1, 9, 7, 3))
            y = affine("y", result_window((1, 9, 7, 3), 3, (options["height"], options["width"]), options),
                       s=x.scales[0], z=x.zeros[0])
            one(f"{op.lower()}_{i}", op, x, y, **options)
    for i, (shape, axes, keep,
            same) in enumerate([((1, 5, 7, 6), (1, 2), True, False), ((1, 5, 7, 6), (1, 2), False, False),
                                                   ((2, 12), (1,), True, True), ((3, 4, 5), (0, 2), False, False)]):
        x = affine("x", shape)
        out = [1 if a in axes else s for a, s in enumerate(shape) if keep or a not in axes]
        y = affine("y", out, s=x.scales[0] if same else scale(0.01, 0.1), z=x.zeros[0] if same else None)
        one(f"mean_{i}", "MEAN", x, y, 2, [sizes("axes", axes)], keep_dims=keep)
    moving()
    floats()
    sixteen()


def moving() -> None:
    """Operations that move elements."""
    def like(x: Tensor, name: str, shape: Sequence[int]) -> Tensor:
        return affine(name, shape, s=x.scales[0], z=x.zeros[0])

    x = affine("x", (1, 4, 6, 3))
    one("reshape", "RESHAPE", x, like(x, "y", (2, 36)), 1, [sizes("shape", (2, -1))], new_shape=[2, -1])
    one("transpose", "TRANSPOSE", x, like(x, "y", (1, 3, 4, 6)), 2, [sizes("order", (0, 3, 1, 2))])
    one("pad", "PAD", x, like(x, "y", (1, 7, 7, 3)), 2, [Tensor("sides", "i32", [4, 2], [0, 0, 1, 2, 0, 1, 0, 0])])
    one("slice", "SLICE", x, like(x, "y", (1, 2, 5, 3)), 2,
        [sizes("begin", (0, 1, 1, 0)), sizes("size", (1, 2, -1, 3))])
    one("strided_slice", "STRIDED_SLICE", x, like(x, "y", (1, 2, 3)), 2, [
        sizes("begin", (0, 1, 0, 0)), sizes("end", (1, 2, 4, 3)), sizes("strides", (1, 1, 2, 1))], begin_mask=8,
        end_mask=8,
        shrink_axis_mask=2)
    one("nearest", "RESIZE_NEAREST_NEIGHBOR", x, like(x, "y", (1, 7, 9, 3)), 3, [sizes("size", (7, 9))])
    case("concat", [affine("x", (1, 2, 3, 4), s=x.scales[0], z=3), affine("x2", (1, 2, 3, 2), s=x.scales[0], z=3),
                    affine("y", (1, 2, 3, 6), s=x.scales[0], z=3)],
         [Operator("CONCATENATION", ["x", "x2"], ["y"], {"axis": 3}, 2)], ["x", "x2"], ["y"])
    case("split",
         [x, sizes("axis", [2]), like(x, "y", (1, 4, 2, 3)), like(x, "y2", (1, 4, 2, 3)), like(x, "y3", (1, 4, 2, 3))],
         [Operator("SPLIT", ["axis", "x"], ["y", "y2", "y3"], {"count": 3}, 2)], ["x"], ["y", "y2", "y3"])
    conv = {"padding": 0, "stride_w": 1, "stride_h": 1}
    hidden, end = affine("h", (1, 4, 6, 4), s=0.1, z=-5), affine("y", (1, 4, 6, 4), s=0.1, z=7)
    case("residual", [x, *weights(4, 27, 0, [4, 3, 3, 3], True, x), hidden, constant("k", "i8", [1, 1, 1, 4],
                                                                                     r.integers(-128, 128, size=4),
                                                                                     [0.03], 0, [2]),
                      affine("m", (1, 4, 6, 4), s=0.12, z=1), end],
         [Operator("CONV_2D", ["x", "w", "b"], ["h"], conv, 3), Operator("MUL", ["h", "k"], ["m"], {}, 2),
          Operator("ADD", ["m", "h"], ["y"], {}, 2)], ["x"], ["y"])


def floats() -> None:
    def real(name: str, shape: Sequence[int]) -> Tensor:
        return Tensor(name, "f32", shape)

    def numbers(name: str, shape: Sequence[int]) -> Tensor:
        return constant(name, "f32", shape, r.normal(size=shape).astype(numpy.float32))

    conv = {"padding": 0, "stride_w": 2, "stride_h": 1, "activation": 3}
    case("float_conv",
         [real("x", (1, 7, 8, 3)), numbers("w", (5, 3, 3, 3)), numbers("b", (5,)), real("y", (1, 7, 4, 5))],
         [Operator("CONV_2D", ["x", "w", "b"], ["y"], conv, 1)], ["x"], ["y"])
    case("float_transpose_conv", [sizes("shape", (1, 8, 10, 4)), numbers("w", (4, 3, 3, 2)), real("x", (1, 4, 5, 2)),
                                  real("y", (1, 8, 10, 4))],
         [Operator("TRANSPOSE_CONV", ["shape", "w", "x"], ["y"], {"padding": 0, "stride_w": 2, "stride_h": 2}, 1)],
         ["x"], ["y"])
    case("float_linear", [real("x", (1, 2, 6)), numbers("w", (4, 6)), numbers("b", (4,)), real("y", (1, 2, 4))],
         [Operator("FULLY_CONNECTED", ["x", "w", "b"], ["y"], {"keep_num_dims": 1, "activation": 1}, 5)], ["x"], ["y"])
    for name in ("LOGISTIC", "TANH", "EXP", "SQUARE", "ABS", "HARD_SWISH", "NEG", "FLOOR", "RELU_N1_TO_1"):
        one(f"float_{name.lower()}", name, real("x", (2, 9)), real("y", (2, 9)), 1)
    for name in ("ADD", "SUB", "MUL", "DIV", "MAXIMUM", "MINIMUM", "SQUARED_DIFFERENCE", "POW"):
        case(f"float_{name.lower()}", [real("x", (2, 3, 4)), numbers("k", (4,)), real("y", (2, 3, 4))],
             [Operator(name, ["x", "k"], ["y"], {}, 1)], ["x"], ["y"])
    for align, half in ((0, 0), (1, 0), (0, 1)):
        for name in ("RESIZE_BILINEAR", "RESIZE_NEAREST_NEIGHBOR"):
            one(f"float_{name.lower()}_{align}{half}", name, real("x", (1, 4, 5, 2)), real("y", (1, 7, 9, 2)), 3,
                [sizes("size", (7, 9))], align_corners=align, half_pixel_centers=half)
    one("float_mean", "MEAN", real("x", (2, 3, 4, 5)), real("y", (2, 5)), 1, [sizes("axes", (1, 2))])
    one("float_average", "AVERAGE_POOL_2D", real("x", (1, 5, 6, 2)), real("y", (1, 3, 3, 2)), 1, padding=0, stride_w=2,
        stride_h=2,
        width=3, height=3)
    one("float_softmax", "SOFTMAX", real("x", (2, 7)), real("y", (2, 7)), 1, beta=1.0)
    one("float_depth_to_space", "DEPTH_TO_SPACE", real("x", (1, 2, 3, 8)), real("y", (1, 4, 6, 2)), 1, block=2)
    one("float_space_to_depth", "SPACE_TO_DEPTH", real("x", (1, 4, 6, 2)), real("y", (1, 2, 3, 8)), 1, block=2)
    one("float_mirror_pad", "MIRROR_PAD", real("x", (1, 4, 5)), real("y", (1, 6, 8)), 1,
        [Tensor("sides", "i32", [3, 2], [0, 0, 1, 1, 1, 2])])
    q = affine("y", (3, 20), s=0.05, z=-3)
    one("to_integers", "QUANTIZE", real("x", (3, 20)), q, 1)
    one("from_integers", "DEQUANTIZE", affine("x", (3, 20)), real("y", (3, 20)), 2)


def sixteen() -> None:
    """Activations of 16 bits by weights of 8, sums of 64."""
    def wide(name: str, shape: Sequence[int], s: float = 0.0) -> Tensor:
        return affine(name, shape, "i16", s or scale(1e-5, 1e-3), 0)

    x, y = wide("x", (1, 7, 6, 3)), wide("y", (1, 7, 6, 4), scale(1e-4, 1e-3))
    case("conv16", [x, *weights(4, 27, 0, [4, 3, 3, 3], True, x, "i64"), y],
         [Operator("CONV_2D", ["x", "w", "b"], ["y"], {"padding": 0, "stride_w": 1, "stride_h": 1}, 4)], ["x"], ["y"])
    x, y = wide("x", (2, 24)), wide("y", (2, 10), scale(1e-4, 1e-3))
    case("linear16", [x, *weights(10, 24, 0, [10, 24], False, x, "i64"), y],
         [Operator("FULLY_CONNECTED", ["x", "w", "b"], ["y"], {}, 7)], ["x"], ["y"])
    for op in ("ADD", "SUB", "MUL"):
        case(f"{op.lower()}16", [wide("x", (2, 30)), wide("x2", (2, 30)), wide("y", (2, 30))],
             [Operator(op, ["x", "x2"], ["y"], {}, 5 if op == "SUB" else 4)], ["x", "x2"], ["y"])
    x = wide("x", (1, 6, 6, 2))
    one("avg16", "AVERAGE_POOL_2D", x, wide("y", (1, 3, 3, 2), x.scales[0]), 3, padding=1, stride_w=2, stride_h=2,
        width=2, height=2)


def make_sixteen() -> None:
    """Softmax of 16 bits, between points: few and many terms, scales that reach to exp(-10) and far beyond. Logistic
    function and tangent: the scale that needs no product, nearly that, small and large ones."""
    for i, (shape, s, beta) in enumerate([((3, 10), 2e-4, 1.0), ((2, 1), 1e-3, 1.0), ((4, 300), 3e-5, 1.0),
                                          ((2, 3, 40), 1e-3, 0.5), ((2, 1000), 5e-6, 2.0)]):
        one(f"softmax16_{i}", "SOFTMAX", affine("x", shape, "i16", s), affine("y", shape, "i16", 1 / 32768), 3,
            beta=beta)
    for i, s in enumerate((2.0**-12, 2.0**-11, 0.000244, 1.1e-3, 3e-5, 0.07)):
        for name in ("LOGISTIC", "TANH"):
            one(f"{name.lower()}16_{i}", name, affine("x", (1, 2000), "i16", s),
                affine("y", (1, 2000), "i16", 1 / 32768), 3)


def litert(name: str, content: bytes, inputs: dict[str, numpy.ndarray]) -> list[numpy.ndarray]:
    """By its reference kernels; by others where it has no such kernel, and where that of LOCAL_RESPONSE_NORMALIZATION
    leaves out the last channel of each window."""
    from ai_edge_litert.interpreter import Interpreter, OpResolverType
    kinds = OpResolverType.BUILTIN_REF, OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES
    try:
        kind = kinds["response_norm" in name]
        i = Interpreter(model_content=content, experimental_op_resolver_type=kind, num_threads=1)
    except ValueError:
        i = Interpreter(model_content=content, experimental_op_resolver_type=kinds[1], num_threads=1)
    i.allocate_tensors()
    for about in i.get_input_details():
        i.set_tensor(about["index"], inputs[about["name"]])
    i.invoke()
    return [i.get_tensor(about["index"]) for about in i.get_output_details()]


def micro(content: bytes, inputs: list[numpy.ndarray], outputs: int) -> list[numpy.ndarray]:
    from tflite_micro.python.tflite_micro import runtime
    i = runtime.Interpreter.from_bytes(content, arena_size=1 << 22)
    for k, x in enumerate(inputs):
        i.set_input(x, k)
    i.invoke()
    return [i.get_output(k).copy() for k in range(outputs)]


def make_control() -> None:
    """Loops and branches; in a loop, a list of which each iteration writes a row,
        as Keras' recurrent layers have it."""
    rows = [Tensor("i", "i32", []), Tensor("list", "f32", [4, 1, 3]), Tensor("x", "f32", [4, 1, 3])]
    test = ([*rows, Tensor("four", "i32", [], [4]), Tensor("p", "bool", [])], [Operator("LESS", ["i", "four"], ["p"])],
            ["i", "list", "x"], ["p"])
    body = ([*rows, Tensor("one", "i32", [], [1]), Tensor("j", "i32", []), Tensor("got", "f32", [1, 3]),
             Tensor("h", "f32", [1, 3]), sizes("at", [1, 1, 3]), Tensor("row", "f32", [1, 1, 3]), sizes("first", [1]),
             Tensor("i1", "i32", [1]), Tensor("j1", "i32", [1]), sizes("all", [-1, -1]), sizes("none", [0, 0]),
             Tensor("size", "i32", [3]), Tensor("begin", "i32", [3]), sizes("zeros", [0, 0, 0]),
             sizes("rest", [-1] * 3),
             Tensor("before", "f32", [1, 1, 3], open=[0, 1, 2]),
             Tensor("behind", "f32", [1, 1, 3], open=[0, 1, 2]), Tensor("next", "f32", [4, 1, 3])],
            [Operator("ADD", ["i", "one"], ["j"]), Operator("GATHER", ["x", "i"], ["got"]),
             Operator("MUL", ["got", "got"], ["h"]), Operator("RESHAPE", ["h", "at"], ["row"]),
             Operator("RESHAPE", ["i", "first"], ["i1"]), Operator("CONCATENATION", ["i1", "all"], ["size"]),
             Operator("SLICE", ["list", "zeros", "size"], ["before"]), Operator("RESHAPE", ["j", "first"], ["j1"]),
             Operator("CONCATENATION", ["j1", "none"], ["begin"]), Operator("SLICE", ["list", "begin", "rest"],
                                        ["behind"]),
             Operator("CONCATENATION", ["before", "row", "behind"], ["next"])],
            ["i", "list", "x"], ["j", "next", "x"])
    case("float_while", [Tensor("x", "f32", [4, 1, 3]), Tensor("list", "f32", [4, 1, 3]), Tensor("zero", "i32", [],
                         [0]),
                         Tensor("n", "i32", []), Tensor("y", "f32", [4, 1, 3]), Tensor("same", "f32", [4, 1, 3])],
         [Operator("WHILE", ["zero", "list", "x"], ["n", "y", "same"], {"test": 1, "body": 2})],
         ["x", "list"], ["y", "n"], [test, body])
    one = [Tensor("x", "f32", [2, 3]), Tensor("y", "f32", [2, 3])]
    for truth in (0, 1):
        least = Tensor("least", "f32", [], [-100.0 if truth else 100.0])
        case(f"float_if_{truth}", [*one, least, sizes("axes", [0, 1]), Tensor("most", "f32", []), Tensor("p", "bool",
                                   [])],
             [Operator("REDUCE_MAX", ["x", "axes"], ["most"]), Operator("LESS", ["least", "most"], ["p"]),
              Operator("IF", ["p", "x"], ["y"], {"then": 1, "other": 2})], ["x"], ["y"],
             [(one, [Operator("ADD", ["x", "x"], ["y"])], ["x"], ["y"]),
              (one, [Operator("MUL", ["x", "x"], ["y"])], ["x"], ["y"])])
    case("float_reverse", [Tensor("x", "f32", [2, 3, 4]), sizes("axes", [1, 2]), Tensor("y", "f32", [2, 3, 4])],
         [Operator("REVERSE_V2", ["x", "axes"], ["y"])], ["x"], ["y"])


def make_others() -> None:
    x = Tensor("x", "f32", [2, 5, 4])
    for name, options in (("", {}), ("_exclusive", {"exclusive": True}),
                          ("_both", {"exclusive": True, "reverse": True})):
        case(f"float_cumsum{name}", [x, Tensor("axis", "i32", [1], [1]), Tensor("y", "f32", x.shape)],
             [Operator("CUMSUM", ["x", "axis"], ["y"], options)], ["x"], ["y"])
    case("float_topk",
         [x, Tensor("k", "i32", [], [3]), Tensor("y", "f32", [2, 5, 3]), Tensor("at", "i32", [2, 5, 3])],
         [Operator("TOPK_V2", ["x", "k"], ["y", "at"])], ["x"], ["y", "at"])
    case("float_blocks", [Tensor("x", "f32", [2, 7, 5, 3]), sizes("block", [2, 3]),
                          Tensor("pad", "i32", [2, 2], [0, 1, 2, 2]), Tensor("crop", "i32", [2, 2], [1, 0, 0, 2]),
                          Tensor("h", "f32", [12, 4, 3, 3]), Tensor("y", "f32", [2, 7, 7, 3])],
         [Operator("SPACE_TO_BATCH_ND", ["x", "block", "pad"], ["h"]),
          Operator("BATCH_TO_SPACE_ND", ["h", "block", "crop"], ["y"])], ["x"], ["h", "y"])


def make_integers() -> None:
    """Hard swish of every integer, transposed convolutions, products of two activations; these of 16 bits, too."""
    for i, (dtype, s, z, into, zero) in enumerate([
            ("i8", 0.05, 9, 0.03, -110), ("i8", 0.02, -30, 0.021, -100), ("i8", 0.3, 0, 0.31, -128),
            ("i8", 1e-4, 5, 7e-5, -11), ("i8", 0.7, 40, 0.5, -60), ("u8", 0.06, 100, 0.04, 20)]):
        one(f"hard_swish_{i}", "HARD_SWISH", affine("x", (1, 256), dtype, s, z),
            affine("y", (1, 256), dtype, into, zero), 1)
    for i, (shape, kernel, whole, options, bias) in enumerate([
            ((1, 4, 5, 3), (3, 3), (8, 10), {"padding": 0, "stride_w": 2, "stride_h": 2}, True),
            ((2, 5, 4, 2), (2, 2), (10, 8), {"padding": 1, "stride_w": 2, "stride_h": 2, "activation": 1}, True),
            ((1, 3, 6, 4), (4, 3), (9, 6), {"padding": 0, "stride_w": 1, "stride_h": 3, "activation": 3}, True),
            ((1, 6, 3, 5), (1, 2), (11, 8), {"padding": 1, "stride_w": 3, "stride_h": 2}, False),
            ((1, 4, 4, 8), (4, 4), (8, 8), {"padding": 0, "stride_w": 2, "stride_h": 2}, True),
            ((1, 5, 5, 3), (3, 5), (5, 5), {"padding": 0, "stride_w": 1, "stride_h": 1}, True)]):
        out = 5
        x, y = affine("x", shape, s=0.05), affine("y", (shape[0], *whole, out), s=(0.3, 0.7)[i % 2])
        parts = weights(out, 0, 0, [out, *kernel, shape[3]], i != 4, x)
        case(f"transpose_conv_{i}", [sizes("shape", y.shape), *parts, x, y],
             [Operator("TRANSPOSE_CONV", ["shape", "w", "x", *["b"] * bias], ["y"], options, 3 if bias else 2)],
             ["x"], ["y"])
    for i, (a, b, options) in enumerate([((3, 4), (4, 5), {}), ((2, 3, 4, 6), (2, 3, 5, 6), {"adj_y": True}),
                                         ((2, 7, 3), (1, 7, 4), {"adj_x": True}),
                                         ((1, 2, 9, 16), (3, 1, 16, 8), {}),
                                         ((2, 3, 64), (2, 5, 64), {"adj_y": True})]):
        n, m = a[-1 if options.get("adj_x") else -2], b[-2 if options.get("adj_y") else -1]
        x, x2 = (affine(name, shape, z=int(r.integers(-20, 20))) for name, shape in (("x", a), ("x2", b)))
        y = affine("y", (*numpy.broadcast_shapes(a[:-2], b[:-2]), n, m),
                   s=x.scales[0] * x2.scales[0] * (400, 900)[i % 2])
        case(f"batch_matmul_{i}", [x, x2, y],
             [Operator("BATCH_MATMUL", ["x", "x2"], ["y"], options, 2)], ["x", "x2"], ["y"])
    for bias in (True, False):
        x, y = affine("x", (1, 4, 5, 3), "i16", 2e-4), affine("y", (1, 8, 10, 5), "i16", 5e-4)
        case(f"transpose_conv16{'' if bias else '_plain'}",
             [sizes("shape", y.shape), *weights(5, 0, 0, [5, 3, 3, 3], True, x, "i64"), x, y],
             [Operator("TRANSPOSE_CONV", ["shape", "w", "x", *["b"] * bias], ["y"],
                       {"padding": 0, "stride_w": 2, "stride_h": 2}, 4)], ["x"], ["y"])
    case("batch_matmul16", [affine("x", (2, 5, 32), "i16", 2e-4), affine("x2", (2, 32, 6), "i16", 3e-4),
                            affine("y", (2, 5, 6), "i16", 0.01)],
         [Operator("BATCH_MATMUL", ["x", "x2"], ["y"], {}, 3)], ["x", "x2"], ["y"])
    x, h = affine("x", (1, 8, 6, 3), z=4), affine("h", (1, 4, 3, 8), s=0.05, z=-7)
    s = affine("s", (1, 4, 3, 8), s=0.04, z=-118)
    first, second = weights(8, 0, 0, [8, 3, 3, 3], True, x), weights(4, 0, 0, [4, 2, 2, 8], True, s)
    for t, name in zip(second, ("v", "c")):
        t.name = name
    same = {"padding": 0, "stride_w": 2, "stride_h": 2}
    case("upward", [x, *first, h, s, *second, sizes("shape", (1, 8, 6, 4)), affine("u", (1, 8, 6, 4), s=0.1, z=-3),
                    affine("y", (1, 8, 6, 4), s=1 / 256, z=-128)],
         [Operator("CONV_2D", ["x", "w", "b"], ["h"], same, 3), Operator("HARD_SWISH", ["h"], ["s"]),
          Operator("TRANSPOSE_CONV", ["shape", "v", "s", "c"], ["u"], same, 3),
          Operator("LOGISTIC", ["u"], ["y"], {}, 2)], ["x"], ["y"])


def main() -> None:
    with zipfile.ZipFile(HERE / "cases.zip", "a", zipfile.ZIP_DEFLATED) as out:
        for stage in (make, make_control, make_others, make_integers, make_sixteen, make_indexing,
                      make_windows, make_making, make_boxes, make_recurrent,
                      make_spectra, make_composites):
            r.bit_generator.state = numpy.random.default_rng([14, *stage.__name__.encode()]).bit_generator.state
            stage()
            write(out)
            cases.clear()
            ranges.clear()


def drawn(name: str, content: bytes) -> dict[str, numpy.ndarray]:
    """Inputs: random numbers, every integer of 8 bits, or integers of 16 bits from one end to the other."""
    from ai_edge_litert.interpreter import Interpreter
    given = {}
    for detail in Interpreter(model_content=content).get_input_details():
        shape, dtype = detail["shape"], detail["dtype"]
        if dtype == numpy.float32:
            x = (r.normal(size=shape) * 3).astype(dtype)
            x = numpy.abs(x) if "pow" in name else x
        elif numpy.prod(shape) == 256 and dtype in (numpy.int8, numpy.uint8):
            ends = numpy.iinfo(dtype)
            x = numpy.arange(ends.min, ends.max + 1).astype(dtype).reshape(shape)
        elif dtype == numpy.int16 and len(shape) == 2 and shape[0] == 1:
            x = numpy.linspace(-32768, 32767, shape[1]).astype(dtype).reshape(shape)
        elif detail["name"] in ranges:
            x = r.integers(*ranges[detail["name"]], size=shape).astype(dtype)
        else:
            ends = numpy.iinfo(dtype)
            x = r.integers(ends.min, ends.max, size=shape, endpoint=True).astype(dtype)
        given[detail["name"]] = x
    return given


def write(out: zipfile.ZipFile) -> None:
    from ai_edge_litert.interpreter import Interpreter
    there, count = set(out.namelist()), 0
    for name, (content, names) in cases.items():
        given = drawn(name, content)
        if f"{name}/model.tflite" in there:
            continue
        reference = litert(name, content, given)
        source = "litert"
        if not name.startswith("float"):
            try:
                small = micro(content, [given[n] for n in names], len(reference))
                if any((a != b).any() for a, b in zip(small, reference)):
                    print(f"{name}: Micro and LiteRT differ", file=sys.stderr)
                reference, source = small, "micro"
            except Exception as error:
                print(f"{name}: not by Micro ({type(error).__name__})", file=sys.stderr)
        results = [d["name"] for d in Interpreter(model_content=content).get_output_details()]
        out.writestr(f"{name}/model.tflite", content)
        header = {"source": source,
                  "inputs": {n: [v.dtype.name, list(v.shape), v.tobytes().hex()] for n, v in given.items()},
                  "outputs": {n: [v.dtype.name, list(v.shape), v.tobytes().hex()]
                              for n, v in zip(results, reference)}}
        out.writestr(f"{name}/data.json", json.dumps(header))
        count += 1
    print(f"{count} of {len(cases)} cases added")


if __name__ == "__main__":
    main()
