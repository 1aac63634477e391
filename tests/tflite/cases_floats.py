# SPDX-License-Identifier: Apache-2.0
"""Cases of operations on floats, indices and other numbers without a scale, for make_cases.py."""
from __future__ import annotations

from typing import Sequence

import numpy
from case_parts import case, constant, one, r, ranges, sizes
from encode import Operator, Tensor


def make_indexing() -> None:
    """Reading and writing at indices, some of them outside where that means something."""
    ranges.update(place=(0, 3), h=(-1, 6), n=(0, 5), s=(-2, 5), group=(-1, 4))
    x = Tensor("x", "f32", [3, 4, 5])

    def indexed(name: str, op: str, inputs: Sequence[Tensor], y: Tensor, options: dict[str, object] | None = None,
                version: int = 1) -> None:
        case(f"float_{name}", [*inputs, y], [Operator(op, [t.name for t in inputs], [y.name], options or {}, version)],
             [t.name for t in inputs if t.data is None], [y.name])

    one, nothing = Tensor("on", "f32", [], [1.0]), Tensor("off", "f32", [], [0.0])
    index, depth = Tensor("h", "i32", [2, 4]), Tensor("depth", "i32", [], [5])
    indexed("one_hot", "ONE_HOT", [index, depth, one, nothing], Tensor("y", "f32", [2, 4, 5]), {"axis": -1})
    indexed("one_hot_first", "ONE_HOT", [index, depth, Tensor("on", "f32", [], [2.5]), Tensor("off", "f32", [], [-1])],
            Tensor("y", "f32", [5, 2, 4]))
    indexed("one_hot_integers", "ONE_HOT", [Tensor("h", "i64", [6]), depth, Tensor("on", "i32", []),
                                            Tensor("off", "i32", [])], Tensor("y", "i32", [6, 5]), {"axis": 1})
    indexed("one_hot_truths", "ONE_HOT", [Tensor("h", "i32", [3]), depth, Tensor("on", "bool", [], [1]),
                                          Tensor("off", "bool", [], [0])], Tensor("y", "bool", [3, 5]), {"axis": -1})
    indexed("gather_nd", "GATHER_ND", [x, Tensor("place", "i32", [2, 6, 2])], Tensor("y", "f32", [2, 6, 5]))
    indexed("gather_nd_elements", "GATHER_ND", [x, Tensor("place", "i64", [7, 3])], Tensor("y", "f32", [7]))
    indexed("scatter_nd", "SCATTER_ND", [Tensor("place", "i32", [6, 1]), Tensor("x", "f32", [6, 4]),
                                         sizes("to", [3, 4])], Tensor("y", "f32", [3, 4]))
    indexed("scatter_nd_integers", "SCATTER_ND", [Tensor("place", "i32", [2, 9, 2]), Tensor("x", "i32", [2, 9]),
                                                  sizes("to", [3, 4])], Tensor("y", "i32", [3, 4]))
    for name, shape, places, options, result in (
            ("", [2, 3, 4], [2, 5], {"axis": 1, "batch_dims": 1}, [2, 5, 4]),
            ("_behind", [2, 4, 3, 5], [2, 3, 6], {"axis": 2, "batch_dims": 1}, [2, 4, 3, 6, 5]),
            ("_elements", [2, 3, 4], [2, 3], {"axis": 2, "batch_dims": 2}, [2, 3]),
            ("_last", [2, 4, 3], [2], {"axis": -1, "batch_dims": 1}, [2, 4])):
        indexed(f"gather_batch{name}", "GATHER", [Tensor("x", "f32", shape), Tensor("place", "i32", places)],
                Tensor("y", "f32", result), options, 5)
    indexed("embedding", "EMBEDDING_LOOKUP", [Tensor("place", "i32", [4]), constant("w", "f32", [3, 5], r.normal(
        size=(3, 5)).astype(numpy.float32))], Tensor("y", "f32", [4, 5]))
    indexed("embedding_integers", "EMBEDDING_LOOKUP", [
        Tensor("place", "i32", [4]), constant("w", "i8", [3, 5], r.integers(-127, 128, size=(3, 5)), [0.031])],
            Tensor("y", "f32", [4, 5]), {}, 3)
    indexed("reverse_sequence", "REVERSE_SEQUENCE", [x, Tensor("n", "i32", [3])], Tensor("y", "f32", [3, 4, 5]),
            {"time": 1, "batch": 0})
    indexed("reverse_sequence_last", "REVERSE_SEQUENCE", [Tensor("x", "f32", [5, 2, 3]), Tensor("n", "i64", [3])],
            Tensor("y", "f32", [5, 2, 3]), {"time": 0, "batch": 2})
    indexed("update_slice", "DYNAMIC_UPDATE_SLICE", [x, Tensor("u", "f32", [3, 2, 5]), Tensor("s", "i32", [3])],
            Tensor("y", "f32", [3, 4, 5]))
    indexed("update_slice_several", "DYNAMIC_UPDATE_SLICE", [x, Tensor("u", "f32", [3, 3, 2]), Tensor("s", "i32", [3])],
            Tensor("y", "f32", [3, 4, 5]))
    indexed("segment_sum", "SEGMENT_SUM", [Tensor("x", "f32", [6, 2]), sizes("ids", [0, 0, 1, 1, 1, 2])],
            Tensor("y", "f32", [3, 2]))
    for how in ("SUM", "PROD", "MAX", "MIN"):
        indexed(f"segment_{how.lower()}_unsorted", f"UNSORTED_SEGMENT_{how}",
                [Tensor("x", "f32", [2, 4, 3]), Tensor("group", "i32", [2, 4]), Tensor("count", "i32", [], [5])],
                Tensor("y", "f32", [5, 3]))
    indexed("segment_max_integers", "UNSORTED_SEGMENT_MAX", [Tensor("x", "i32", [7]), Tensor("group", "i32", [7]),
                                                             Tensor("count", "i32", [], [6])], Tensor("y", "i32", [6]))


def make_windows() -> None:
    """Windows of three axes, and those of other means than the average."""
    def numbers(name: str, *shape: int) -> Tensor:
        return constant(name, "f32", shape, (r.normal(size=shape) / 16).astype(numpy.float32))

    steps = {"stride_d": 1, "stride_h": 1, "stride_w": 1}
    for i, (shape, kernel, result, options, bias) in enumerate([
            ((1, 5, 6, 7, 3), (3, 3, 3), (5, 6, 7), {"padding": 0}, True),
            ((2, 6, 5, 8, 2), (2, 3, 1), (3, 2, 8), {"padding": 1, "stride_d": 2, "stride_h": 2, "activation": 1},
             True),
            ((1, 4, 7, 6, 4), (2, 3, 2), (2, 7, 3), {"padding": 0, "stride_d": 2, "stride_w": 2, "activation": 3},
             False),
            ((1, 7, 7, 7, 1), (3, 2, 2), (3, 6, 5), {"padding": 1, "dilation_d": 2, "dilation_w": 2}, True)]):
        case(f"float_conv3d_{i}", [Tensor("x", "f32", shape), numbers("w", *kernel, shape[4], 5), numbers("b", 5),
                                   Tensor("y", "f32", (shape[0], *result, 5))],
             [Operator("CONV_3D", ["x", "w", *["b"] * bias], ["y"], steps | options)], ["x"], ["y"])
    for i, (shape, kernel, result, options, bias) in enumerate([
            ((1, 3, 4, 2, 3), (3, 3, 3), (6, 8, 4), {"padding": 0, "stride_d": 2, "stride_h": 2, "stride_w": 2}, True),
            ((2, 2, 3, 4, 2), (2, 3, 1), (4, 5, 4), {"padding": 1, "stride_d": 2, "activation": 1}, True),
            ((1, 4, 3, 3, 4), (2, 2, 3), (4, 9, 5), {"padding": 0, "stride_h": 3, "stride_w": 2}, False),
            ((1, 3, 3, 3, 2), (2, 2, 2), (5, 3, 3), {"padding": 0, "stride_d": 2}, True)]):
        case(f"float_conv3d_transpose_{i}", [
            sizes("shape", (shape[0], *result, 5)), numbers("w", *kernel, 5, shape[4]), Tensor("x", "f32", shape),
            numbers("b", 5), Tensor("y", "f32", (shape[0], *result, 5))],
             [Operator("CONV_3D_TRANSPOSE", ["shape", "w", "x", *["b"] * bias], ["y"], steps | options)], ["x"], ["y"])
    one("float_l2_pool", "L2_POOL_2D", Tensor("x", "f32", (1, 5, 6, 2)), Tensor("y", "f32", (1, 3, 3, 2)), 1, padding=0,
        stride_w=2, stride_h=2, width=3, height=3)
    one("float_l2_pool_valid", "L2_POOL_2D", Tensor("x", "f32", (2, 6, 6, 3)), Tensor("y", "f32", (2, 3, 5, 3)), 1,
        padding=1, stride_w=1, stride_h=2, width=2, height=2, activation=3)
    for radius in (1, 5):
        one(f"float_response_norm_{radius}", "LOCAL_RESPONSE_NORMALIZATION", Tensor("x", "f32", (1, 3, 4, 7)),
            Tensor("y", "f32", (1, 3, 4, 7)), 1, radius=radius, bias=1.5, alpha=0.3, beta=0.75)


def make_making() -> None:
    """Tensors of sizes and numbers, bits, sides, parts."""
    ranges.update(n=(-3, 12), k=(1, 9))
    x = Tensor("x", "f32", [2, 3, 4])

    def made(name: str, op: str, inputs: Sequence[Tensor], y: Tensor, version: int = 1, **options: object) -> None:
        case(f"float_{name}", [*inputs, y], [Operator(op, [t.name for t in inputs], [y.name], options, version)],
             [t.name for t in inputs if t.data is None], [y.name])

    made("fill", "FILL", [sizes("shape", [2, 5]), Tensor("v", "f32", [])], Tensor("y", "f32", [2, 5]))
    case("float_fill_number", [x, sizes("shape", [3, 4]), Tensor("v", "f32", [], [1.5]), Tensor("h", "f32", [3, 4]),
                               Tensor("y", "f32", [2, 3, 4])],
         [Operator("FILL", ["shape", "v"], ["h"]), Operator("ADD", ["x", "h"], ["y"])], ["x"], ["y"])
    case("float_zeros_like", [x, Tensor("h", "f32", [2, 3, 4]), Tensor("y", "f32", [2, 3, 4])],
         [Operator("ZEROS_LIKE", ["x"], ["h"]), Operator("MAXIMUM", ["x", "h"], ["y"])], ["x"], ["y"])
    for name, dtype, bounds in (("", "f32", [3.0, -7.0, -3.0]), ("_integers", "i32", [-2, 5, 2])):
        parts = [Tensor(f"{part}", dtype, [], [b]) for part, b in zip(("first", "limit", "step"), bounds)]
        case(f"float_range{name}", [Tensor("x", dtype, [1]), *parts, Tensor("h", dtype, [4]), Tensor("y", dtype, [4])],
             [Operator("RANGE", ["first", "limit", "step"], ["h"]), Operator("ADD", ["x", "h"], ["y"])], ["x"], ["y"])
    made("matrix_diag", "MATRIX_DIAG", [x], Tensor("y", "f32", [2, 3, 4, 4]))
    made("matrix_set_diag", "MATRIX_SET_DIAG", [x, Tensor("d", "f32", [2, 3])], Tensor("y", "f32", [2, 3, 4]))
    for dtype in ("i8", "i32", "u8"):
        two = [Tensor("x", dtype, [3, 4]), Tensor("n", dtype, [4])]
        if dtype != "u8":
            made(f"right_shift_{dtype}", "RIGHT_SHIFT", two, Tensor("y", dtype, [3, 4]))
        made(f"bitwise_xor_{dtype}", "BITWISE_XOR", two, Tensor("y", dtype, [3, 4]))
    made("add_n", "ADD_N", [Tensor(name, "f32", [2, 3]) for name in ("a", "b", "c", "d")], Tensor("y", "f32", [2, 3]))
    made("bucketize", "BUCKETIZE", [Tensor("x", "f32", [4, 9])], Tensor("y", "i32", [4, 9]),
         boundaries=[-4.0, -1.0, 0.0, 2.5, 3.0])
    made("bucketize_integers", "BUCKETIZE", [Tensor("n", "i32", [30])], Tensor("y", "i32", [30]),
         boundaries=[-2.0, 0.0, 3.5, 8.0])
    made("relu_0_to_1", "RELU_0_TO_1", [x], Tensor("y", "f32", [2, 3, 4]))
    made("quotient_integers", "DIV", [Tensor("x", "i32", [3, 4]), Tensor("k", "i32", [4])], Tensor("y", "i32", [3, 4]))
    made("squared_difference_integers", "SQUARED_DIFFERENCE", [Tensor("n", "i32", [3, 4]), Tensor("k", "i32", [4])],
         Tensor("y", "i32", [3, 4]))
    made("mirror_pad_symmetric", "MIRROR_PAD", [Tensor("x", "f32", [1, 4, 5]),
                                                Tensor("sides", "i32", [3, 2], [0, 0, 1, 2, 5, 0])],
         Tensor("y", "f32", [1, 7, 10]), mode=1)
    case("float_select_rows", [x, Tensor("k", "i32", [2]), Tensor("five", "i32", [1], [5]), Tensor("p", "bool", [2]),
                               Tensor("x2", "f32", [2, 3, 4]), Tensor("y", "f32", [2, 3, 4])],
         [Operator("LESS", ["k", "five"], ["p"]), Operator("SELECT", ["p", "x", "x2"], ["y"])], ["x", "k", "x2"], ["y"])
    for name, shape, begin, end, steps, masks in (
            ("backwards", [2, 3, 4], [0, -1, 3], [2, 0, 0], [1, -1, -2], {"end_mask": 4}),
            ("from_end", [2, 1, 4], [0, 9, 0], [2, -1, 4], [1, -2, 1], {"end_mask": 2}),
            ("dots", [2, 3, 2], [0, 1], [0, 3], [1, 1], {"ellipsis_mask": 1}),
            ("new", [2, 1, 2, 4], [0, 0, 1], [0, 0, 3], [1, 1, 1],
             {"begin_mask": 1, "end_mask": 1, "new_axis_mask": 2}),
            ("all", [1, 3, 2, 1], [1, 0, 0, 3, 0], [2, 0, 0, 0, 0], [1, 1, 1, -2, 1],
             {"shrink_axis_mask": 1, "ellipsis_mask": 4, "new_axis_mask": 18, "end_mask": 0}),
            ("offset", [1, 2, 4], [1, 1, 0], [1, 2, 4], [1, 1, 1], {"offset": True})):
        made(f"strided_slice_{name}", "STRIDED_SLICE", [x, sizes("begin", begin), sizes("end", end),
                                                        sizes("step", steps)], Tensor("y", "f32", shape),
             8 if "offset" in masks else 2, **masks)
    case("float_broadcast_args", [Tensor("x", "f32", [3, 1]), sizes("a", [3, 1]), sizes("b", [2, 1, 4]),
                                  Tensor("h", "i32", [3]), Tensor("y", "f32", [2, 3, 4])],
         [Operator("BROADCAST_ARGS", ["a", "b"], ["h"]), Operator("BROADCAST_TO", ["x", "h"], ["y"], {}, 2)], ["x"],
         ["y"])


def make_boxes() -> None:
    """Boxes that overlap: more than may stay, fewer, and pairs that are equal, whose overlap is the threshold."""
    for i, (count, most, overlap, least) in enumerate([(30, 10, 0.5, 0.0), (40, 40, 0.3, -1.0), (6, 9, 0.6, 0.5),
                                                         (14, 14, 1.0, -9.0)]):
        corners = numpy.sort(r.uniform(0, 1, size=(count, 2, 2)).astype(numpy.float32), axis=1)
        corners[::3] = corners[::3, ::-1]   # the other way round
        if overlap == 1:
            corners[1::2] = corners[::2]
        boxes = constant("k", "f32", [count, 4], corners.reshape(count, 4))
        given = [Tensor("x", "f32", [count, 4]), boxes, Tensor("b", "f32", [count, 4]), Tensor("s", "f32", [count]),
                 Tensor("most", "i32", [], [most]), Tensor("overlap", "f32", [], [overlap]),
                 Tensor("least", "f32", [], [least]), Tensor("sigma", "f32", [], [0.0]), sizes("none", [0, 0]),
                 Tensor("at", "i32", [most]), Tensor("y", "f32", [most]), Tensor("n", "i32", [])]
        # Each box is moved by a small share of what comes in.
        move = [Tensor("share", "f32", [], [0.02 * (overlap < 1)]), Tensor("m", "f32", [count, 4])]
        moved = [Operator("MUL", ["x", "share"], ["m"]), Operator("ADD", ["m", "k"], ["b"])]
        for version, (inputs, outputs) in {4: ([], []), 5: (["sigma"], ["y"])}.items():
            case(f"float_nms_v{version}_{i}", [*given, *move],
                 [*moved, Operator(f"NON_MAX_SUPPRESSION_V{version}", ["b", "s", "most", "overlap", "least", *inputs],
                                   ["at", *outputs, "n"])], ["x", "s"], ["at", *outputs, "n"])


def make_recurrent() -> None:
    """Recurrent layers: the first call, in which their states are zeros. All cases are entries of one model: names of
    states differ."""
    def numbers(name: str, *shape: int) -> Tensor:
        return constant(name, "f32", shape, (r.normal(size=shape) / 4).astype(numpy.float32))

    gates = ("i", "f", "c", "o")
    for name, peepholes, steps_first in (("", False, False), ("_peepholes", True, False),
                                         ("_steps_first", False, True)):
        batch, steps, depth, hidden = 2, 5, 6, 7
        w = [numbers(f"w{g}", hidden, depth) for g in gates] + [numbers(f"r{g}", hidden, hidden) for g in gates]
        p = [numbers(f"p{g}", hidden) for g in "ifo"] if peepholes else []
        b = [numbers(f"b{g}", hidden) for g in gates]
        states = [Tensor(f"lstm_{s}{name}", "f32", [batch, hidden], variable=True) for s in "hc"]
        shape = [steps, batch] if steps_first else [batch, steps]
        inputs = ["x", *[t.name for t in w], *([t.name for t in p] or [""] * 3), *[t.name for t in b], "", "",
                  *[t.name for t in states], "", "", "", ""]
        case(f"float_lstm{name}", [Tensor("x", "f32", [*shape, depth]), *w, *p, *b, *states,
                                   Tensor("y", "f32", [*shape, hidden])],
             [Operator("UNIDIRECTIONAL_SEQUENCE_LSTM", inputs, ["y"], {"activation": 4, "time_major": steps_first})],
             ["x"], ["y"])
    for name, options in (("", {"activation": 4}), ("_relu", {"activation": 1, "time_major": True})):
        state = Tensor(f"rnn{name}", "f32", [4 if name else 3, 6], variable=True)
        case(f"float_rnn{name}", [Tensor("x", "f32", [3, 4, 5]), numbers("w", 6, 5), numbers("r", 6, 6),
                                  numbers("b", 6), state, Tensor("y", "f32", [3, 4, 6])],
             [Operator("UNIDIRECTIONAL_SEQUENCE_RNN", ["x", "w", "r", "b", state.name], ["y"], options)], ["x"], ["y"])
    for rank in (1, 2):
        case(f"float_svdf_{rank}", [Tensor("x", "f32", [2, 5]), numbers("w", 6, 5), numbers("t", 6, 4),
                                    numbers("b", 6 // rank), Tensor(f"svdf_{rank}", "f32", [2, 24], variable=True),
                                    Tensor("y", "f32", [2, 6 // rank])],
             [Operator("SVDF", ["x", "w", "t", "b", f"svdf_{rank}"], ["y"], {"rank": rank, "activation": rank - 1})],
             ["x"], ["y"])
    case("float_svdf_twice", [*[Tensor(name, "f32", [2, 5]) for name in ("x", "x2")], numbers("w", 6, 5),
                              numbers("t", 6, 4), Tensor("svdf_twice", "f32", [2, 24], variable=True),
                              *[Tensor(name, "f32", [2, 6]) for name in ("y", "y2")]],
         [Operator("SVDF", [x, "w", "t", "", "svdf_twice"], [y], {"rank": 1}) for x, y in (("x", "y"), ("x2", "y2"))],
         ["x", "x2"], ["y", "y2"])


def make_spectra() -> None:
    """Spectra of rows and of matrices, cut and filled with zeros, and what models make of them."""
    for name, shape, lengths in (("rows", [3, 1, 16], [1, 16]), ("filled", [2, 1, 12], [1, 32]),
                                 ("cut", [2, 5, 14], [4, 8]), ("matrices", [2, 8, 16], [8, 16])):
        rows, columns = lengths[0], lengths[1] // 2 + 1
        z = Tensor("z", "complex64", [shape[0], rows, columns])
        flat = Tensor("f", "complex64", [shape[0], rows * columns])
        results = [Tensor("y", "f32", z.shape), Tensor("im", "f32", flat.shape), Tensor("re", "f32", z.shape)]
        case(f"float_rfft2d_{name}", [Tensor("x", "f32", shape), sizes("lengths", lengths), z, flat, *results,
                                      sizes("shape", flat.shape)],
             [Operator("RFFT2D", ["x", "lengths"], ["z"]), Operator("COMPLEX_ABS", ["z"], ["y"]),
              Operator("RESHAPE", ["z", "shape"], ["f"]), Operator("IMAG", ["f"], ["im"]),
              Operator("REAL", ["z"], ["re"])], ["x"], ["y", "im", "re"])
    case("float_rfft2d_squeezed", [Tensor("x", "f32", [4, 1, 8]), sizes("lengths", [1, 8]), sizes("axis", [0]),
                                   Tensor("z", "complex64", [4, 1, 5]), Tensor("s", "complex64", [4, 5]),
                                   Tensor("e", "complex64", [1, 4, 5]), Tensor("y", "f32", [1, 4, 5])],
         [Operator("RFFT2D", ["x", "lengths"], ["z"]), Operator("SQUEEZE", ["z"], ["s"], {"dims": [1]}),
          Operator("EXPAND_DIMS", ["s", "axis"], ["e"]), Operator("COMPLEX_ABS", ["e"], ["y"])], ["x"], ["y"])


def make_composites() -> None:
    """A graph behind a name: a norm of rows, called twice."""
    def rows(name: str) -> Tensor:
        return Tensor(name, "f32", [3, 4])

    axes = sizes("axes", [1])
    inside = ([rows("a"), Tensor("k", "f32", [4]), axes, Tensor("m", "f32", [3, 1]), rows("d"), rows("z")],
              [Operator("MEAN", ["a", "axes"], ["m"], {"keep_dims": True}), Operator("SUB", ["a", "m"], ["d"]),
               Operator("MUL", ["d", "k"], ["z"])], ["a", "k"], ["z"])
    options = {"name": "test.centered", "graph": 1, "version": 1, "attributes": [0, 1]}
    case("float_composite", [rows("x"), constant("k", "f32", [4], r.normal(size=4).astype(numpy.float32)), rows("h"),
                             rows("s"), rows("y")],
         [Operator("STABLEHLO_COMPOSITE", ["x", "k"], ["h"], options), Operator("MUL", ["h", "x"], ["s"]),
          Operator("STABLEHLO_COMPOSITE", ["s", "k"], ["y"], options)], ["x"], ["y", "h"], [inside])
