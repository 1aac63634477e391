# SPDX-License-Identifier: Apache-2.0
"""What an import of a TensorFlow Lite model writes, and its errors."""
import tempfile
from pathlib import Path
from typing import Sequence

from encode import Operator, Part, Table, Tensor, Vector, flatbuffer, model
from tap import done, equal, note, ok
from tensor_compile.errors import UserError
from tensor_compile.importer.dims import Range
from tensor_compile.importer.tflite import reader

FOLDER = tempfile.TemporaryDirectory()
PATH = Path(FOLDER.name) / "m.tflite"
F = "f32"


def contains(found: str, part: str, name: str) -> None:
    if not ok(part in found, name):
        note(found[:2000])


def text(content: bytes, **ranges: Range) -> str:
    PATH.write_bytes(content)
    return reader.import_file(PATH, "m.tflite", ranges=ranges).text.partition("TC_MODEL")[2]


def error(content: bytes, **more: Sequence[str]) -> str:
    PATH.write_bytes(content)
    try:
        return "no error: " + reader.import_file(PATH, "m.tflite", **more).text
    except UserError as raised:
        return f"{raised.message} ({raised.hint})"


def small(op: Operator, *more: Tensor, shape: Sequence[int] = (1, 4, 4, 2),
          result: Sequence[int] = (1, 4, 4, 2)) -> bytes:
    return model([Tensor("x", F, shape), Tensor("y", F, result), *more], [op], ["x"], ["y"])


# -- layout: one move in, one move out
# -----------------------------------------------------------------------------------------
W = [Tensor(f"net/conv_{i}/Conv2D", F, [2, 1, 1, 2], [1, 2, 3, 4]) for i in range(2)]
CONV = {"padding": 1, "stride_w": 1, "stride_h": 1, "activation": 1}
layers = model([Tensor("x", F, [1, 4, 4, 2]), *W, Tensor("h", F, [1, 4, 4, 2]), Tensor("y", F, [1, 4, 4, 2]),
                Tensor("z", F, [1, 4, 4, 2])],
               [Operator("CONV_2D", ["x", W[0].name, ""], ["h"], CONV),
                Operator("CONV_2D", ["h", W[1].name, ""], ["y"], CONV),
                Operator("ADD", ["h", "y"], ["z"])], ["x"], ["z"])
written = text(layers)
equal(written.count("tc_permute(x, 0, 3, 1, 2)"), 1, "channels move to the front once")
equal(written.count("0, 2, 3, 1"), 1, "and back once, for the output")
contains(written, 'tc_weight(g, "conv_0.weight")', "weights are named by layer and role")
equal(text(layers), written, "the same file gives the same text")

# -- dims --------------------------------------------------------------------------------------------------------------
# ----------
signed = Table([("u32", 3), Vector("", [Table([("i8", 19), None, ("i32", 1), ("i32", 19)])]), Vector("", [Table([
    Vector("", [Table([Vector("i32", [1, 3]), ("i8", 0), ("u32", 0), Vector("text", b"a"), None, None, None,
                       Vector("i32", [-1, 3])]),
                Table([Vector("i32", [1, 3]), ("i8", 0), ("u32", 0), Vector("text", b"b")])]),
    Vector("i32", [0]), Vector("i32", [1]),
    Vector("", [Table([("u32", 0), Vector("i32", [0]), Vector("i32", [1])])])])]), None, Vector("", [Table([])])])
contains(text(flatbuffer(signed)), 'tc_input(g, "a", TC_F32, 1, 3)', "a size that may differ is what the file says")
contains(text(flatbuffer(signed), a_0=Range(1, 8)), 'tc_dynamic(g, "a_0", 1, 8)', "or the dim that is asked for")

# -- sizes that the model computes of its own
SIZES = [Tensor("sizes", "i32", [2]), Tensor("at", "i32", [1], [0]), Tensor("to", "i32", [1], [1]),
         Tensor("step", "i32", [1], [1]), Tensor("batch", "i32", []), Tensor("six", "i32", [], [6]),
         Tensor("whole", "i32", [2])]
flat = model([Tensor("x", F, [1, 2, 3], open=[0]), Tensor("y", F, [1, 6]), *SIZES, Tensor("r", "i32", [3])],
             [Operator("SHAPE", ["x"], ["r"]),
              Operator("STRIDED_SLICE", ["r", "at", "to", "step"], ["batch"], {"shrink_axis_mask": 1}),
              Operator("PACK", ["batch", "six"], ["whole"], {"count": 2}),
              Operator("RESHAPE", ["x", "whole"], ["y"])], ["x"], ["y"])
contains(text(flat), "tc_reshape(x, 1, 6)", "a shape that the model computes is one that is known")
contains(text(flat, x_0=Range(1, 8)), "tc_reshape(x, x_0, 6)", "and follows a dim")
opened = model([Tensor("x", F, [1, 2, 3], open=[0]), Tensor("y", F, [1, 6]), Tensor("s", "i32", [2], [-1, 6])],
               [Operator("RESHAPE", ["x", "s"], ["y"])], ["x"], ["y"])
contains(text(opened, x_0=Range(1, 8)), "tc_reshape(x, x_0, 6)", "a size that is left open may be a dim")
product = model([Tensor("x", F, [1, 2, 3], open=[0]), Tensor("y", F, [6]), Tensor("r", "i32", [3]),
                 Tensor("all", "i32", [1]), Tensor("axes", "i32", [1], [0])],
                [Operator("SHAPE", ["x"], ["r"]), Operator("REDUCE_PROD", ["r", "axes"], ["all"], {"keep_dims": True}),
                 Operator("RESHAPE", ["x", "all"], ["y"])], ["x"], ["y"])
contains(text(product, x_0=Range(1, 8)), "tc_reshape(x, tc_dim_mul(x_0, 6))", "products of sizes")
contains(error(model([Tensor("x", F, [1, 2], open=[0]), Tensor("r", "i32", [2]), Tensor("y", "i32", [2])],
                     [Operator("SHAPE", ["x"], ["r"]), Operator("ADD", ["r", "r", "r"], ["y"])], ["x"], ["y"])),
         "3 operands", "sums of three sizes")

# -- variables
VARIABLE = {"shared_name": "stream/last"}
SHAPE = [1, 2]
HANDLE = Operator("VAR_HANDLE", [], ["v"], VARIABLE)


def first_value(first: Sequence[float]) -> Part:
    return ([Tensor("v", "resource", []), Tensor("c", F, SHAPE, first)],
            [HANDLE, Operator("ASSIGN_VARIABLE", ["v", "c"], [])], [], [])


def streaming(first: Sequence[float] | None) -> bytes:
    once = [first_value(first)] if first else []
    return model([Tensor("x", F, SHAPE), Tensor("v", "resource", []), Tensor("last", F, SHAPE), Tensor("y", F, SHAPE)],
                 [*[Operator("CALL_ONCE", [], [], {"graph": 1})] * len(once), HANDLE,
                  Operator("READ_VARIABLE", ["v"], ["last"]), Operator("ADD", ["x", "last"], ["y"]),
                  Operator("ASSIGN_VARIABLE", ["v", "y"], [])], ["x"], ["y"], others=once)


for first in (None, [0.0, 0.0]):
    written = text(streaming(first))
    contains(written, 'last = tc_state(g, "stream.last", TC_F32, 1, 2)', "a variable is a state")
    ok("started" not in written, "one that begins as zeros needs no flag")
contains(written, "tc_assign(last, add)", "that keeps what is assigned")
contains(text(streaming([1.0, 2.0])), "= tc_where(started, last, tc_weight(g, \"c\"))", "and begins as the file says")
TENSORS = [Tensor("x", F, SHAPE), Tensor("v", "resource", []), Tensor("w", F, SHAPE), Tensor("y", F, SHAPE)]
READ = [HANDLE, Operator("READ_VARIABLE", ["v"], ["w"]), Operator("ADD", ["x", "w"], ["y"])]
constant = model(TENSORS, [Operator("CALL_ONCE", [], [], {"graph": 1}), *READ], ["x"], ["y"],
                 others=[first_value([1, 2])])
ok("tc_state" not in text(constant), "a variable that nothing assigns later is a constant")
contains(error(model(TENSORS, READ, ["x"], ["y"])), "the variable 'stream/last' has no value: nothing assigns one",
         "weights that were not frozen")

# -- loops and branches
def graphs(body: Part, *others: Part) -> bytes:
    """A loop over i and x, whose graph 1 says whether there is one more and whose graph 2 is an iteration."""
    test = ([Tensor("i", "i32", []), Tensor("x", F, [2]), Tensor("three", "i32", [], [3]), Tensor("p", "bool", [])],
            [Operator("LESS", ["i", "three"], ["p"])], ["i", "x"], ["p"])
    return model([Tensor("x", F, [2]), Tensor("zero", "i32", [], [0]), Tensor("n", "i32", []), Tensor("y", F, [2])],
                 [Operator("WHILE", ["zero", "x"], ["n", "y"], {"test": 1, "body": 2})], ["x"], ["y"],
                 others=[test, body, *others])


CARRIED = [Tensor("i", "i32", []), Tensor("x", F, [2]), Tensor("one", "i32", [], [1]), Tensor("j", "i32", []),
           Tensor("z", F, [2])]
NEXT = Operator("ADD", ["i", "one"], ["j"])
written = text(graphs((CARRIED, [NEXT, Operator("ADD", ["x", "x"], ["z"])], ["i", "x"], ["j", "z"])))
for line in ("TC_WHILE(g, &", "= tc_lt(", "tc_test(p);", "tc_output(g, \"y\""):
    contains(written, line, f"a loop has {line}")
contains(error(graphs((CARRIED, [NEXT, Operator("LSTM", ["x"], ["z"])], ["i", "x"], ["j", "z"]))),
         "LSTM: no such operation is known", "what a graph within cannot have is named")
contains(error(graphs((CARRIED, [NEXT, Operator("ADD", ["x", "x"], ["z"])], ["i", "x"], ["j"]))),
         "its graphs do not fit what it carries", "a loop that does not give what it takes")
contains(error(graphs((CARRIED, [NEXT], ["i", "x"], ["x", "j"]))), "another one in each graph or iteration",
         "or gives another type")
contains(error(model([Tensor("x", F, [2]), Tensor("y", F, [2])],
                     [Operator("WHILE", ["x"], ["y"], {"test": 1, "body": 2})], ["x"], ["y"])), "graph 1 of 1",
         "a graph that is not there")
itself = ([Tensor("x", F, [2]), Tensor("y", F, [2])],
          [Operator("WHILE", ["x"], ["y"], {"test": 1, "body": 1})], ["x"], ["y"])
contains(error(model(*itself, others=[itself])), "graphs run each other more than 16 deep",
         "graphs that run themselves")

# -- errors
# ----------------------------------------------------------------------------------------------------------------------
contains(error(b"TFL3"), "is it whole, and a TensorFlow Lite model?", "too short")
contains(error(b"\x08\0\0\0ONNX" + bytes(64)), "it does not begin as the format says", "another format")
contains(error(layers[:200]), "leads out of the file", "cut off")
contains(error(small(Operator("CUSTOM", ["x"], ["y"], custom="Frobnicate"))),
         "custom operation 'Frobnicate': no such operation",
         "custom operations are named")
contains(error(small(Operator("LSTM", ["x"], ["y"]))), "LSTM: no such operation is known", "builtin ones, too")
contains(error(small(Operator("RELU", ["x"], ["y"], version=9))), "RELU: version 9 of it is not known, 3 is the newest",
         "versions")
contains(error(small(Operator("RELU", ["x"], ["y"])), fixed=["x=1"]),
         "--set: a TensorFlow Lite model has constants where they were converted", "--set")
contains(error(small(Operator("ADD", ["x", "q"], ["y"]), Tensor("q", "i8", [1], [1]))), "f32 and i8",
         "dtypes that differ")
contains(error(small(Operator("RESHAPE", ["x", "s"], ["y"]), Tensor("s", "i32", [2], [3, 5]))),
         "32 elements to the shape [3, 5]",
         "a shape of another size")
contains(error(model([Tensor("x", "i8", [4], scales=[0.0]), Tensor("y", "i8", [4], scales=[0.5])],
                     [Operator("RELU", ["x"], ["y"])], ["x"], ["y"])), "the scale of 'x' is 0.0", "a scale of 0")
contains(error(small(Operator("RELU", ["y"], ["y"]))), "nothing before it gives the tensor 'y'", "is named")
I8, Q = "i8", {"scales": [0.5]}
square = [Tensor("x", I8, [2, 2], **Q), Tensor("y", I8, [2, 2], **Q)]
contains(text(model(square, [Operator("BATCH_MATMUL", ["x", "x"], ["y"], {"adj_y": True}, 2)], ["x"], ["y"])),
         "tc_quantized_matmul(.a = {x, 0.5, 0}, .b = {tc_transpose(x, -2, -1), 0.5, 0}", "a product of integers")
contains(error(model([square[0], Tensor("y", "i32", [2, 2], **Q)],
                     [Operator("BATCH_MATMUL", ["x", "x"], ["y"], {}, 2)], ["x"], ["y"])),
         "BATCH_MATMUL: a product of i8 and i8 that is i32", "a product that stays exact")
contains(error(model([square[1], Tensor("x", "u8", [2, 2], **Q)],
                     [Operator("BATCH_MATMUL", ["x", "x"], ["y"], {}, 2)], ["x"], ["y"])),
         "BATCH_MATMUL: a product of u8 and u8", "a product of dtypes that it does not take")
contains(error(model([Tensor("x", "i16", [2, 2], **Q), Tensor("y", "i16", [2, 2], **Q)],
                     [Operator("HARD_SWISH", ["x"], ["y"])], ["x"], ["y"])),
         "HARD_SWISH: integers of i16", "a function of 16 bits")
short = Tensor("x", "i16", [2, 2], **Q)
contains(error(model([short, Tensor("y", "i16", [2, 2], scales=[0.5])],
                     [Operator("SOFTMAX", ["x"], ["y"], {"beta": 1.0})], ["x"], ["y"])),
         "SOFTMAX: a result of the scale 0.5, zero 0", "a softmax whose result has a scale of its own")
contains(error(model([square[0], Tensor("y", "i16", [2, 2], scales=[2.0**-16], zeros=[-32768])],
                     [Operator("SOFTMAX", ["x"], ["y"], {"beta": 1.0})], ["x"], ["y"])),
         "SOFTMAX: a softmax of i8 to i16", "or another dtype")
fine = {"scales": [2.0**-15]}
contains(text(model([short, Tensor("y", "i16", [2, 2], **fine)], [Operator("TANH", ["x"], ["y"], {}, 3)], ["x"],
                    ["y"])), "tc_quantized_tanh(.x = {x, 0.5, 0})", "a tangent of 16 bits")
contains(error(model([short, Tensor("y", "i16", [2, 2], scales=[2.0**-14])],
                     [Operator("LOGISTIC", ["x"], ["y"], {}, 3)], ["x"], ["y"])),
         "LOGISTIC: a result of the scale 6.1035156e-05, zero 0", "whose result has a scale of its own")
contains(error(model([Tensor("x", "i16", [2, 2], scales=[0.5], zeros=[7]), Tensor("y", "i16", [2, 2], **fine)],
                     [Operator("LOGISTIC", ["x"], ["y"], {}, 3)], ["x"], ["y"])),
         "LOGISTIC: 16 bits with the zero 7", "or whose operand has another zero than 0")
contains(error(model([square[0], Tensor("y", "i16", [2, 2], **fine)], [Operator("TANH", ["x"], ["y"])], ["x"], ["y"])),
         "TANH: a function of i8 to i16", "or another dtype")
contains(error(model([Tensor("x", "u8", [1, 2, 2, 1], **Q), Tensor("y", "u8", [1, 4, 4, 1], **Q),
                      Tensor("w", "u8", [1, 2, 2, 1], [1, 2, 3, 4], **Q), Tensor("s", "i32", [4], [1, 4, 4, 1])],
                     [Operator("TRANSPOSE_CONV", ["s", "w", "x"], ["y"], {"stride_w": 2, "stride_h": 2})],
                     ["x"], ["y"])),
         "TRANSPOSE_CONV: a transposed convolution of u8 by u8", "bytes without a sign")
softmax = [square[0], Tensor("y", I8, [2, 2], scales=[2.0**-8], zeros=[-128])]
contains(error(model(softmax, [Operator("SOFTMAX", ["x"], ["y"], {"beta": 0.0})], ["x"], ["y"])),
         "SOFTMAX: a softmax of integers whose beta is 0.0", "a softmax that looks at nothing")
contains(error(model([square[0], Tensor("y", "u8", [2, 2], **Q)], [Operator("HARD_SWISH", ["x"], ["y"])], ["x"],
                     ["y"])),
         "HARD_SWISH: a hard swish of i8 to u8", "a function whose result has another dtype")
contains(error(model([Tensor("x", I8, [2, 2]), square[1]], [Operator("HARD_SWISH", ["x"], ["y"])], ["x"], ["y"])),
         "HARD_SWISH: integers without a scale (x)", "or whose operand has no scale")
contains(error(model([Tensor("x", I8, [2, 2]), square[1]], [Operator("BATCH_MATMUL", ["x", "x"], ["y"], {}, 2)], ["x"],
                     ["y"])), "BATCH_MATMUL: integers without a scale (x)", "a product of integers without a scale")


def up(dtype: str, result: str, bias: str = "", rows: int = 4) -> bytes:
    """A transposed convolution of 2x2 points by a window of 2x2 at a stride of 2."""
    tensors = [Tensor("x", dtype, [1, 2, 2, 1], **Q), Tensor("y", result, [1, rows, 4, 1], **Q),
               Tensor("w", I8, [1, 2, 2, 1], [1, 2, 3, 4], **Q), Tensor("s", "i32", [4], [1, rows, 4, 1]),
               *([Tensor("b", bias, [1], [5], scales=[0.25])] if bias else [])]
    return model(tensors, [Operator("TRANSPOSE_CONV", ["s", "w", "x", *["b"] * bool(bias)], ["y"],
                                    {"stride_w": 2, "stride_h": 2}, 3)], ["x"], ["y"])


contains(text(up("f32", "f32")), 'tc_dequantize(tc_weight(g, "w.weight"), tc_full(g, 0.5, TC_F32))',
         "weights of integers beside floats become floats")
contains(text(model([Tensor("x", F, [2, 2]), Tensor("w", I8, [2, 2], [1, 2, 3, 4], **Q), Tensor("y", F, [2, 2])],
                    [Operator("BATCH_MATMUL", ["x", "w"], ["y"], {}, 2)], ["x"], ["y"])),
         'tc_dequantize(tc_weight(g, "w"), tc_full(g, 0.5, TC_F32))', "those of a product, too")
contains(text(up("i16", "i16", "i64")), "tc_quantized_conv_transpose2d(.x = {", "a transposed convolution of 16 bits")
contains(error(up("i16", "i16", "i32")), "TRANSPOSE_CONV: a bias of i32 for 16 bits", "whose bias is of i64 alone")
contains(error(up("i8", "i16")), "TRANSPOSE_CONV: a transposed convolution of i8 to i16", "or of another dtype")


def back(whole: Sequence[int], image: Sequence[int] = (1, 2, 2, 1), w: Sequence[int] = (3, 2, 2, 1)) -> bytes:
    """A transposed convolution of three channels."""
    return model([Tensor("s", "i32", [4], whole), Tensor("w", F, w, [1] * (3 * 4 * w[-1])), Tensor("x", F, image),
                  Tensor("y", F, whole)], [Operator("TRANSPOSE_CONV", ["s", "w", "x"], ["y"],
                                                    {"padding": 1, "stride_w": 1, "stride_h": 1})], ["x"], ["y"])


contains(text(back([1, 3, 3, 3])), "tc_conv_transpose2d(", "a transposed convolution to three channels")
contains(error(back([7, 3, 3, 3])), "a result of the shape [7, 3, 3, 3], of 1 images and 3 channels",
         "whose result has as many images")
contains(error(back([1, 3, 3, 9])), "a result of the shape [1, 3, 3, 9], of 1 images and 3 channels", "and channels")
contains(error(back([1, 3, 3, 3], w=(3, 2, 2, 2))), "weights of the shape [3, 2, 2, 2] for 1 channels",
         "as its weights have")
contains(error(back([1, 3, 3, 3], image=(2, 2, 1))), "weights, operand and the result's shape have rank 4",
         "whose operand has rank 4")
contains(error(small(Operator("DEPTH_TO_SPACE", ["x"], ["y"], {"block": 2}), shape=(2, 2, 4), result=(4, 4, 1))),
         "an operand of rank 3", "so has that of depth to space")
contains(error(up("i8", "i8", rows=9)),
         "a result of 9 positions does not follow from 2, a window of 2 and a stride of 2",
         "or of a size that nothing gives")
contains(text(model([Tensor("x", "i8", [4], scales=[1e-44]), Tensor("y", "i8", [4], scales=[1e-44])],
                    [Operator("RELU6", ["x"], ["y"])], ["x"], ["y"])), "tc_maximum(x, 0)",
                    "6 over a scale that f32 hardly has")

# -- indices
# ---------------------------------------------------------------------------------------------------------------------
def indexed(name: str, *operands: Tensor, result: Sequence[int] = (3,), dtype: str = F, **options: object) -> bytes:
    return model([*operands, Tensor("y", dtype, result)],
                 [Operator(name, [t.name for t in operands], ["y"], options)],
                 [t.name for t in operands if t.data is None], ["y"])


X, PLACES, COUNT = Tensor("x", F, [3, 4]), Tensor("at", "i32", [3]), Tensor("count", "i32", [], [5])
ON, OFF = Tensor("on", F, [], [1.0]), Tensor("off", F, [], [0.0])
contains(text(indexed("ONE_HOT", PLACES, COUNT, ON, OFF, result=[3, 5], axis=-1)),
         "tc_where(same, tc_full(g, 1.0, TC_F32), tc_full(g, 0.0, TC_F32))", "one of several classes")
contains(error(indexed("ONE_HOT", PLACES, Tensor("count", "i32", []), ON, OFF, result=[3, 5])),
         "ONE_HOT: the depth is known at run time only", "whose number has to be known")
contains(error(indexed("ONE_HOT", Tensor("at", "u8", [3]), COUNT, ON, OFF, result=[3, 5])),
         "ONE_HOT: indices of u8", "indices of another dtype")
contains(error(indexed("ONE_HOT", PLACES, COUNT, Tensor("on", I8, [], [1], **Q), Tensor("off", I8, [], [0], **Q),
                       result=[3, 5], dtype=I8)),
         "ONE_HOT: numbers of another scale than the result", "numbers with a scale that the result has not")
contains(error(indexed("ONE_HOT", PLACES, COUNT, ON, Tensor("off", "i32", [], [0]), result=[3, 5])),
         "one depth and two numbers of one type", "numbers of two types")
contains(error(indexed("GATHER_ND", X, Tensor("at", "i32", [2, 3]), result=[2])),
         "indices of 3 axes of a tensor of rank 2", "more places than axes")
contains(text(indexed("GATHER_ND", X, Tensor("at", "i16", [2, 2]), result=[2])), "tc_cast(at, TC_I32)",
         "indices of 16 bits")
contains(error(indexed("SCATTER_ND", Tensor("at", "i32", [3, 1]), Tensor("x", "bool", [3]),
                       Tensor("shape", "i32", [1], [5]), dtype="bool", result=[5])),
         "SCATTER_ND: slices of bool", "slices that are not added")
contains(error(indexed("SCATTER_ND", Tensor("at", "i32", [3, 1]), Tensor("x", F, [2]),
                       Tensor("shape", "i32", [1], [5]), result=[5])), "slices of the shape [2]", "or too few of them")
contains(error(indexed("GATHER", X, Tensor("at", "i32", [2, 2]), result=[2, 2], axis=1, batch_dims=1)),
         "1 axes that [3, 4] and [2, 2] have in common", "a batch that is none")
contains(error(indexed("EMBEDDING_LOOKUP", PLACES, Tensor("w", "i8", [2, 2], [1, 2, 3, 4]), result=[3, 2])),
         "EMBEDDING_LOOKUP: rows of i8 that become f32", "a table of integers without a scale")
contains(error(indexed("EMBEDDING_LOOKUP", Tensor("at", "i32", [1, 3]), X, result=[1, 3, 4])),
         "indices of i32, of rank 2", "or indices of several axes")
contains(error(indexed("REVERSE_SEQUENCE", X, PLACES, result=[3, 4])),
         "lengths of rank 1, sequences along axis 0 of a batch along axis 0", "sequences along the batch")
contains(error(indexed("DYNAMIC_UPDATE_SLICE", X, Tensor("u", F, [3, 5]), Tensor("at", "i32", [2]), result=[3, 4])),
         "[3, 5] into [3, 4]", "an update that does not fit")
contains(error(indexed("DYNAMIC_UPDATE_SLICE", X, Tensor("u", F, [1, 4]), PLACES, result=[3, 4])),
         "[1, 4] into [3, 4]", "or begins at places of other axes")
contains(error(indexed("SEGMENT_SUM", X, PLACES, result=[2, 4])),
         "SEGMENT_SUM: segments whose number is known at run time only", "segments that nobody counted")
contains(error(indexed("UNSORTED_SEGMENT_SUM", Tensor("x", "i64", [3]), PLACES, COUNT, dtype="i64", result=[5])),
         "UNSORTED_SEGMENT_SUM: segments of i64", "of a dtype that no interpreter takes")
contains(error(indexed("UNSORTED_SEGMENT_SUM", Tensor("x", F, [2]), PLACES, COUNT, result=[5])),
         "numbers of the shape [3] for [2]", "more numbers than slices")

# constants outside are an error of every call
AXES = Tensor("shape", "i32", [2], [3, 4])
for at in (-1, 3):
    one, two = Tensor("at", "i32", [2], [0, at]), Tensor("at", "i16", [2, 2], [0, 0, at, 0])
    contains(error(indexed("GATHER", X, one, result=[2, 4])), f"GATHER y: index {at} of 3", f"element {at} of 3")
    contains(error(indexed("GATHER_ND", X, two, result=[2])), f"index {at} of 3", f"element {at} of 3 along one of two")
    contains(error(indexed("SCATTER_ND", Tensor("at", "i32", [2, 2], [0, 0, at, 0]), Tensor("x", F, [2]), AXES,
                           result=[3, 4])), f"index {at} of 3", f"a slice at {at} of 3")
    contains(error(indexed("EMBEDDING_LOOKUP", one, X, result=[2, 4])), f"index {at} of 3", f"row {at} of 3")
contains(text(indexed("GATHER_ND", X, Tensor("at", "i32", [2, 2], [2, 3, 0, 0]), result=[2])), "tc_gather_nd(x, ",
         "the last element is one")
contains(text(model([Tensor("x", F, [3, 4], open=[0]), Tensor("at", "i32", [1], [7]), Tensor("y", F, [1, 4])],
                    [Operator("GATHER", ["x", "at"], ["y"])], ["x"], ["y"]), x_0=Range(1, 8)), "tc_gather(x, ",
         "where the size is a dim calls say it")
for length in (-1, 5):
    contains(error(indexed("REVERSE_SEQUENCE", X, Tensor("n", "i32", [3], [4, 0, length]), result=[3, 4], time=1)),
             f"a length of {length}, of 4", f"a sequence of {length} elements of 4")
contains(error(indexed("UNSORTED_SEGMENT_SUM", X, Tensor("at", "i32", [3], [0, 5, -1]), COUNT, result=[5, 4])),
         "index 5 of 5", "a segment behind the last one")

# -- windows
# ---------------------------------------------------------------------------------------------------------------------
VOLUME, STEPS = Tensor("x", F, [1, 2, 2, 2, 1]), {"padding": 1, "stride_d": 1, "stride_h": 1, "stride_w": 1}


def three(name: str, w: Tensor, result: Sequence[int], *more: Tensor) -> bytes:
    return indexed(name, *more, *([w, VOLUME] if more else [VOLUME, w]), result=result, **STEPS)


EIGHT = Tensor("w", F, [2, 2, 2, 1, 1], [1, 2, 3, 4, 5, 6, 7, 8])
written = text(three("CONV_3D", EIGHT, [1, 1, 1, 1, 1]))
contains(written, "tc_conv3d(", "windows of three axes")
contains(written, 'tc_weight(g, "w.weight")', "whose weights are named by layer and role")
contains(error(three("CONV_3D", Tensor("w", I8, [2, 2, 2, 1, 1], [1, 2, 3, 4, 5, 6, 7, 8], **Q), [1, 1, 1, 1, 1])),
         "CONV_3D: a convolution of f32 by i8 along three axes", "whose weights are floats")
contains(error(three("CONV_3D", Tensor("w", F, [2, 2, 1, 2, 1], [1, 2, 3, 4, 5, 6, 7, 8]), [1, 1, 1, 2, 1])),
         "weights of the shape [2, 2, 1, 2, 1] for 1 channels", "of as many channels as there are")
BACK = Tensor("shape", "i32", [5], [1, 3, 3, 3, 1])
contains(text(three("CONV_3D_TRANSPOSE", EIGHT, [1, 3, 3, 3, 1], BACK)), "tc_conv_transpose3d(", "and back")
contains(error(three("CONV_3D_TRANSPOSE", EIGHT, [1, 4, 3, 3, 1], Tensor("shape", "i32", [5], [1, 4, 3, 3, 1]))),
         "a result of 4 positions does not follow from 2, a window of 2 and a stride of 1", "to sizes that follow")
contains(error(three("CONV_3D_TRANSPOSE", Tensor("w", I8, [2, 2, 2, 1, 1], [1] * 8, **Q), [1, 3, 3, 3, 1], BACK)),
         "CONV_3D_TRANSPOSE: a transposed convolution of f32 by i8 along three axes", "by floats, too")
contains(error(three("CONV_3D_TRANSPOSE", Tensor("w", F, [2, 2, 1, 1, 2], [1] * 8), [1, 3, 3, 3, 1], BACK)),
         "weights of the shape [2, 2, 1, 1, 2] for 1 channels", "of as many channels")
for whole in ([7, 3, 3, 3, 1], [1, 3, 3, 3, 9]):
    contains(error(three("CONV_3D_TRANSPOSE", EIGHT, whole, Tensor("shape", "i32", [5], whole))),
             f"a result of the shape {whole}, of 1 images and 1 channels", "to as many images and channels")
NORM = {"radius": 2, "bias": 1.0, "alpha": 0.5, "beta": 0.75}
contains(text(small(Operator("LOCAL_RESPONSE_NORMALIZATION", ["x"], ["y"], NORM))),
         ".size = 5, .alpha = 2.5,", "a norm of neighbouring channels")
contains(error(small(Operator("LOCAL_RESPONSE_NORMALIZATION", ["x"], ["y"], NORM | {"alpha": 0.0}))),
         "LOCAL_RESPONSE_NORMALIZATION: f32, alpha 0.0, beta 0.75 and bias 1.0", "that looks at none")
contains(error(small(Operator("LOCAL_RESPONSE_NORMALIZATION", ["x"], ["y"], NORM | {"radius": -1}))),
         "a radius of -1", "or is none")
contains(error(model([Tensor("x", I8, [1, 2, 2, 1], **Q), Tensor("y", I8, [1, 2, 2, 1], **Q)],
                     [Operator("L2_POOL_2D", ["x"], ["y"], {"stride_w": 1, "stride_h": 1, "width": 1, "height": 1})],
                     ["x"], ["y"])), "L2_POOL_2D: integers of i8", "roots of floats alone")

# -- tensors of sizes and numbers, sides, parts
# ---------------------------------------------------------------------------------------------------------------------
V = Tensor("v", F, [], [1.5])
contains(text(model([Tensor("x", F, [1, 2], open=[0]), Tensor("s", "i32", [2]), V, Tensor("h", F, [1, 2]),
                     Tensor("y", F, [1, 2])],
                    [Operator("SHAPE", ["x"], ["s"]), Operator("FILL", ["s", "v"], ["h"]),
                     Operator("ADD", ["x", "h"], ["y"])], ["x"], ["y"]), x_0=Range(1, 8)),
         "tc_full(g, 1.5, TC_F32, x_0, 2)", "a tensor of a dynamic size")
two = [Tensor("first", "i32", [], [0]), Tensor("step", "i32", [], [1])]
counted = model([Tensor("x", F, [1, 2], open=[0]), Tensor("s", "i32", [2]), Tensor("at", "i32", [], [0]),
                 Tensor("n", "i32", []), *two, Tensor("y", "i32", [1])],
                [Operator("SHAPE", ["x"], ["s"]), Operator("GATHER", ["s", "at"], ["n"]),
                 Operator("RANGE", ["first", "n", "step"], ["y"])], ["x"], ["y"])
contains(text(counted, x_0=Range(1, 8)), "tc_arange(g, TC_I32, x_0)", "numbers up to a size")
FIRST, LIMIT = Tensor("first", F, [], [0.0]), Tensor("limit", F, [], [2.0])
contains(error(indexed("RANGE", FIRST, Tensor("limit", F, []), Tensor("step", F, [], [1.0]))),
         "RANGE: numbers that are known at run time only", "numbers up to one that nobody knows")
contains(error(indexed("RANGE", FIRST, LIMIT, Tensor("step", F, [], [0.5]))),
         "RANGE: steps from or by 0.5, which is no whole number", "steps that are rounded")
contains(error(indexed("RANGE", FIRST, LIMIT, Tensor("step", F, [], [0.0]))), "RANGE: a step of 0", "steps of nothing")
contains(error(indexed("FILL", Tensor("shape", "i32", [1], [-2]), V, result=[2])),
         "a value of rank 0 and the shape [-2]", "a shape that is none")
contains(error(indexed("BROADCAST_ARGS", Tensor("a", "i32", [1]), Tensor("b", "i32", [1], [3]), dtype="i32")),
         "BROADCAST_ARGS: shapes that are known at run time only", "shapes that are data")
contains(error(indexed("MATRIX_DIAG", Tensor("x", F, []))), "MATRIX_DIAG: quantized operands, or a single number",
         "a matrix of one number")
contains(error(indexed("MATRIX_SET_DIAG", X, X, result=[3, 4])), "[3, 4] as the diagonal of [3, 4]",
         "a diagonal of another rank")
contains(error(indexed("MATRIX_SET_DIAG", X, Tensor("d", F, [4]), result=[3, 4])), "[4] as the diagonal of [3, 4]",
         "a diagonal that is longer")
contains(error(indexed("BITWISE_XOR", X, X, result=[3, 4])), "BITWISE_XOR: bits of f32 and f32", "bits of floats")
contains(error(indexed("ADD_N", X, PLACES)), "parts of different shapes or types", "sums of what does not fit")
contains(error(indexed("ADD_N", Tensor("x", I8, [3], **Q), Tensor("z", I8, [3], **Q), dtype=I8)),
         "ADD_N: quantized operands", "or has scales")
BYTES, SCALED = Tensor("x", I8, [3]), Tensor("z", I8, [3], [1, 1, 0], **Q)    # the second one alone has a scale
for name, why in (("ADD", "integers without a scale (x)"), ("MAXIMUM", "operands of different scales"),
                  ("FLOOR_MOD", "quantized operands"), ("ADD_N", "quantized operands"),
                  ("BITWISE_XOR", "bits of quantized integers"), ("EQUAL", "quantized operands")):
    contains(error(indexed(name, BYTES, SCALED, dtype="bool" if name == "EQUAL" else I8)), f"{name}: {why}",
             f"{name} asks both operands for their scales")
CONDITION, WITHOUT = Tensor("p", "bool", [3]), Tensor("a", I8, [3])
contains(error(indexed("SELECT_V2", CONDITION, WITHOUT, SCALED, dtype=I8)), "SELECT_V2: operands of different scales",
         "so does a choice")
contains(error(indexed("SELECT_V2", CONDITION, Tensor("a", I8, [3], **Q), SCALED, dtype=I8)),
         "SELECT_V2: operands of different scales", "and its result")
contains(text(model([CONDITION, Tensor("a", I8, [3], **Q), SCALED, Tensor("y", I8, [3], **Q)],
                    [Operator("SELECT_V2", ["p", "a", "z"], ["y"])], ["p", "a"], ["y"])), "tc_where(p, a, ",
         "of one scale")
contains(error(indexed("BUCKETIZE", X, dtype="i32", result=[3, 4], boundaries=[2.0, 1.0])),
         "boundaries that do not rise", "buckets out of order")
contains(error(indexed("BUCKETIZE", Tensor("x", "i64", [3]), dtype="i32", boundaries=[1.0])),
         "BUCKETIZE: buckets of i64", "or of a dtype that f32 does not hold")
contains(error(indexed("MIRROR_PAD", X, Tensor("sides", "i32", [2, 2], [4, 0, 0, 0]), result=[7, 4], mode=1)),
         "a mirror image of 4 elements of 3", "more than there are")
contains(error(indexed("MIRROR_PAD", X, Tensor("sides", "i32", [2, 2], [1, 0, 0, 0]), result=[4, 4], mode=2)),
         "the mode 2", "a mirror of another kind")
for many in ([], [-1]):
    contains(error(indexed("UNSORTED_SEGMENT_SUM", X, PLACES, Tensor("n", "i32", [len(many)], many), result=[1, 4])),
             f"{many} segments", "segments of no number")
contains(error(indexed("SCATTER_ND", Tensor("p", "i32", [2, 1]), Tensor("u", F, [2, 4]),
                       Tensor("s", "i32", [2], [-3, 4]), result=[3, 4])), "SCATTER_ND y: the shape [-3, 4]",
         "slices of a shape that is none")
contains(error(indexed("ONE_HOT", PLACES, Tensor("count", "i32", [], [-2]), ON, OFF, result=[3, 1], axis=-1)),
         "a depth of -2", "a depth below 0")
contains(error(indexed("REVERSE_SEQUENCE", X, Tensor("n", "i32", [2]), result=[3, 4], time=1)),
         "2 lengths of 3 sequences", "lengths of other sequences")
START = Tensor("start", "i32", [1])
contains(error(indexed("DYNAMIC_UPDATE_SLICE", Tensor("x", I8, [3], **Q), Tensor("u", I8, [1], scales=[0.25]), START,
                       dtype=I8)), "DYNAMIC_UPDATE_SLICE: a result of another scale than its input",
         "an update of a tensor whose result has no scale")
contains(error(model([Tensor("x", I8, [3], **Q), Tensor("u", I8, [1], scales=[0.25], zeros=[0]), START,
                      Tensor("y", I8, [3], **Q)], [Operator("DYNAMIC_UPDATE_SLICE", ["x", "u", "start"], ["y"])],
                     ["x", "u", "start"], ["y"])), "DYNAMIC_UPDATE_SLICE: an update of another scale",
         "or of another scale")


def part(begin: Sequence[int], end: Sequence[int], step: Sequence[int], **masks: object) -> bytes:
    bounds = zip(("begin", "end", "step"), (begin, end, step))
    return indexed("STRIDED_SLICE", X, *[Tensor(name, "i32", [len(at)], at) for name, at in bounds], **masks)


contains(error(part([0, 0], [1, 1], [1, 0])), "a step of 0", "a part of no steps")
contains(error(part([0, 0], [1, 1], [1, 0], offset=True)), "a step of 0", "or of a number of elements without steps")
contains(text(part([-2], [2], [1], offset=True)), "tc_slice(x, 0, 1, 3)",
         "as many elements, from one that counts from the end")
contains(text(part([2], [2], [1], offset=True, begin_mask=1)), "tc_slice(x, 0, 0, 2)", "or from the axis's begin")
contains(error(part([0, 0], [1], [1, 1])), "bounds of 2, 1 and 2 axes", "bounds that do not fit")
contains(error(part([5], [6], [1], shrink_axis_mask=1)), "element 5 of 3", "an element that is not there")
contains(error(part([0, 0, 0], [1, 1, 1], [1, 1, 1])), "bounds of 3 axes of 2, 0 places for all others",
         "bounds of more axes than there are")
contains(error(part([0, 0], [1, 1], [1, 1], ellipsis_mask=3)), "bounds of 0 axes of 2, 2 places for all others",
         "all others twice")

# -- boxes
# ---------------------------------------------------------------------------------------------------------------------
def boxes(most: Sequence[int] | None = (2,), overlap: float = 0.5, sigma: float = 0.0, dtype: str = F,
          rank: int = 2) -> bytes:
    given = [Tensor("b", dtype, [3, 4, 1][:rank]), Tensor("s", dtype, [3]), Tensor("most", "i32", [], most),
             Tensor("overlap", F, [], [overlap]), Tensor("least", F, [], [0.0]), Tensor("sigma", F, [], [sigma])]
    return model([*given, Tensor("at", "i32", [2]), Tensor("y", F, [2]), Tensor("n", "i32", [])],
                 [Operator("NON_MAX_SUPPRESSION_V5", [t.name for t in given], ["at", "y", "n"])],
                 ["b", "s", *["most"] * (most is None)], ["at", "y", "n"])


contains(text(boxes()), ".iou_threshold = 0.49999997,", "boxes that stay")
contains(error(boxes(most=None)), "NON_MAX_SUPPRESSION_V5: how many boxes stay is known at run time only",
         "as many as are known")
contains(error(boxes(sigma=0.5)), "boxes that lower the scores of others (a sigma that is not 0)", "or go slowly")
contains(error(boxes(overlap=2)), "boxes of the shape [3, 4], (2,) of them, an overlap of 2.0", "an overlap beyond 1")
contains(error(boxes(rank=1)), "boxes of the shape [3]", "boxes that are none")
contains(error(boxes(dtype="i8")), "boxes of i8 with scores of i8", "of floats alone")

# -- recurrent layers, whose states are variables among their inputs
# ---------------------------------------------------------------------------------------------------------------------
def matrix(name: str, *shape: int) -> Tensor:
    return Tensor(name, F, shape, [0.5] * (shape[0] * (shape[1] if shape[1:] else 1)))


def lstm(*more: Tensor, missing: Sequence[int] = (), depth: int = 3, rank: int = 3, dtype: str = F, batch: int = 1,
         variable: bool = True, **options: object) -> bytes:
    """An LSTM of two cells. more: tensors for the places that they are called by; missing: places without a tensor."""
    parts = {i: matrix(f"w{i}", 2, 3 if i < 5 else 2) for i in range(1, 9)}
    parts |= {i: matrix(f"b{i}", 2) for i in range(12, 16)}
    parts |= {i: Tensor(f"s{i}", F, [batch, 2], variable=variable) for i in (18, 19)} | {int(t.name): t for t in more}
    parts = {i: t for i, t in parts.items() if i not in missing}
    tensors = [Tensor("x", dtype, [1, 4, depth][3 - rank:]), *parts.values(), Tensor("y", F, [1, 4, 2])]
    names = ["x", *[parts[i].name if i in parts else "" for i in range(1, 24)]]
    return model(tensors, [Operator("UNIDIRECTIONAL_SEQUENCE_LSTM", names, ["y"], {"activation": 4, **options})],
                 ["x"], ["y"])


written = text(lstm())
contains(written, 'tc_state(g, "s18", TC_F32, 1, 2)', "a variable tensor is a state")
contains(written, "tc_assign(s18, ", "which keeps what is behind the last step")
contains(text(lstm(Tensor("1", I8, [2, 3], [1] * 6, **Q))), "tc_dequantize(", "weights of integers become floats")
for name, content, message in (
        ("another activation", lstm(activation=1), "a cell with the activation relu, a limit or diagonal weights"),
        ("limits", lstm(cell_clip=1.0), "a cell with the activation tanh, a limit or diagonal weights"),
        ("norms", lstm(matrix("21", 2)), "a projection or norms of gates"),
        ("no input gate", lstm(missing=[1, 5, 12]), "a cell without an input gate, or with peepholes of some gates"),
        ("one peephole", lstm(matrix("9", 2)), "a cell without an input gate, or with peepholes of some gates"),
        ("integers", lstm(dtype="i32"), "sequences of i32"),
        ("frames", lstm(rank=2), "sequences of rank 2"),
        ("another depth", lstm(depth=4), "weights of the shapes [1, 8, 3] and [1, 8, 2] for [1, 4, 4]"),
        ("gates of several sizes", lstm(matrix("2", 3, 3)), "weight of the shapes [2, 3], [2, 3], [3, 3], [2, 3]"),
        ("a state of another size", lstm(batch=2), "a state of the shape [2, 2] for [1, 2]"),
        ("a weight of one number", lstm(Tensor("2", F, [], [1.0])), "weights of rank 0"),
        ("a state that nobody keeps", lstm(Tensor("18", F, [1, 2], [0.0, 0.0])), "a state that is no variable"),
        ("a bias of two axes", lstm(*[matrix(f"{i}", 2, 1) for i in range(12, 16)]), "a bias of rank 2")):
    contains(error(content), message, f"an LSTM that is refused: {name}")


def simple(name: str, *operands: Tensor, result: Sequence[int], **options: object) -> bytes:
    return model([*operands, Tensor("y", F, result)], [Operator(name, [t.name for t in operands], ["y"], options)],
                 ["x"], ["y"])


HELD, FRAMES = Tensor("h", F, [1, 2], variable=True), Tensor("x", F, [1, 4, 3])
contains(error(simple("UNIDIRECTIONAL_SEQUENCE_RNN", FRAMES, matrix("w", 2, 3), matrix("r", 2, 2), matrix("b", 2), HELD,
                      result=[1, 4, 2], activation=3)), "a cell with the activation relu6", "another function")
contains(error(simple("UNIDIRECTIONAL_SEQUENCE_RNN", FRAMES, matrix("w", 2, 2), matrix("r", 2, 2), matrix("b", 2), HELD,
                      result=[1, 4, 2], activation=4)), "weights of the shapes [1, 2, 2] and [1, 2, 2] for [1, 4, 3]",
         "or another depth")
for name, operands, rank, message in (
        ("depths", [Tensor("x", F, [1, 4]), matrix("w", 2, 3), matrix("t", 2, 2), matrix("b", 2), HELD], 1,
         "weights of the shapes [2, 3] and [2, 2] for [1, 4]"),
        ("units", [Tensor("x", F, [1, 3]), matrix("w", 2, 3), matrix("t", 2, 2), matrix("b", 2), HELD], 4,
         "2 filters in units of 4"),
        ("a state", [Tensor("x", F, [1, 3]), matrix("w", 2, 3), matrix("t", 2, 2), matrix("b", 2), HELD], 1,
         "a state of the shape [1, 2] for 2 filters of 2 features"),
        ("integers", [Tensor("x", I8, [1, 3], **Q), matrix("w", 2, 3), matrix("t", 2, 2), matrix("b", 2), HELD], 1,
         "SVDF: frames of i8")):
    contains(error(simple("SVDF", *operands, result=[1, 2], rank=rank)), message, f"filters that do not fit: {name}")

# -- spectra
# ---------------------------------------------------------------------------------------------------------------------
LENGTHS, WAVES = Tensor("n", "i32", [2], [1, 4]), Tensor("x", F, [3, 1, 4])


def spectrum(op: Operator, result: Tensor, x: Tensor = WAVES, lengths: Tensor = LENGTHS) -> bytes:
    return model([x, lengths, Tensor("z", "complex64", [3, 1, 3]), result],
                 [Operator("RFFT2D", ["x", "n"], ["z"]), op], ["x"], ["y"])


ABS = Operator("COMPLEX_ABS", ["z"], ["y"])
contains(text(spectrum(ABS, Tensor("y", F, [3, 1, 3]))),
         "tc_dft(tc_unsqueeze(x, 3), .axis = 2, TC_SIZES(4), .onesided = true)", "the magnitudes of a spectrum")
contains(error(spectrum(Operator("MUL", ["z", "z"], ["y"]), Tensor("y", "complex64", [3, 1, 3]))),
         "MUL: operands that are complex numbers", "what takes no complex numbers")
contains(error(small(Operator("REAL", ["x"], ["y"]))), "REAL: operands that are no complex numbers",
         "what takes no others")
contains(error(spectrum(ABS, Tensor("y", F, [3, 1, 3]), x=Tensor("x", "i32", [3, 1, 4]))),
         "RFFT2D: the spectrum of i32", "waves of floats alone")
contains(error(spectrum(ABS, Tensor("y", F, [3, 1, 3]), lengths=Tensor("n", "i32", [1], [4]))),
         "1 lengths of a tensor of rank 3", "along two axes")
contains(error(model([WAVES, Tensor("n", "i32", [2]), Tensor("z", "complex64", [3, 1, 3]), Tensor("y", F, [3, 1, 3])],
                     [Operator("RFFT2D", ["x", "n"], ["z"]), ABS], ["x", "n"], ["y"])),
         "RFFT2D: the lengths are known at run time only", "of lengths that are constants")
contains(error(spectrum(Operator("SQUEEZE", ["z"], ["y"]), Tensor("y", "complex64", [2, 3]))),
         "SQUEEZE: complex numbers of the shape [3, 1, 3] that become [2, 3]", "numbers that become fewer")
contains(text(spectrum(Operator("SQUEEZE", ["z"], ["y"]), Tensor("y", "complex64", [3, 3]))),
         'tc_reshape(z, 3, 3, 2)', "an output of complex numbers has a last axis with their parts")

# -- graphs behind a name
# ---------------------------------------------------------------------------------------------------------------------
def named(*outputs: str, number: int = 1, op: str = "ADD") -> bytes:
    vectors = [Tensor(name, F, [2]) for name in ("x", "y", "z")]
    return model(vectors, [Operator("STABLEHLO_COMPOSITE", ["x"], ["y"], {"name": "a.b", "graph": number})], ["x"],
                 ["y"], others=[(vectors, [Operator(op, ["x", "x"], ["y"])], ["x"], outputs or ["y"])])


contains(text(named()), "= tc_add(x, x);", "a composite is what its graph says")
contains(error(named("y", "x")), "its graph does not fit its results", "as many results as it has")
contains(error(named(op="LSTM")), "LSTM: no such operation is known", "of operations that are known")
contains(error(named(number=2)), "graph 2 of 2", "and a graph that is there")
FOLDER.cleanup()
done()
