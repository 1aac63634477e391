# SPDX-License-Identifier: Apache-2.0
"""Writes small TensorFlow Lite models: a flatbuffer from nested tables, references before what they lead to."""
from __future__ import annotations

import struct
from collections import deque
from dataclasses import dataclass, field
from typing import Sequence, Union

from tensor_compile.importer.tflite.flatbuffer import KINDS
from tensor_compile.importer.tflite.schema import IDENTIFIER, OPERATIONS, OPTIONS, TYPES

RESOURCE = 13    # the type of a tensor that names a variable
NUMBERS = {dtype: number for number, dtype in TYPES.items()} | {"complex64": 8}
LETTERS = {"f32": "f", "i32": "i", "i64": "q", "i8": "b", "u8": "B", "i16": "h", "bool": "?"}

Field = Union[tuple[str, float], "Table", "Vector", None]


@dataclass(slots=True)
class Vector:
    """Numbers of a kind, tables (kind ""), bytes or text."""

    kind: str
    items: Sequence[object]


@dataclass(slots=True)
class Table:
    fields: list[Field]


def text(content: str) -> Vector:
    return Vector("text", content.encode())


def flatbuffer(root: Table) -> bytes:
    out = bytearray(b"\0\0\0\0" + IDENTIFIER)
    waiting: deque[tuple[int, Table | Vector]] = deque([(0, root)])

    def align(to: int, more: int = 0) -> None:
        while (len(out) + more) % to:
            out.append(0)

    def refer(item: Table | Vector) -> None:
        align(4)
        waiting.append((len(out), item))
        out.extend(b"\0\0\0\0")

    while waiting:
        at, item = waiting.popleft()
        if isinstance(item, Vector):
            size, letter = KINDS.get(item.kind, (1, "B")) if item.kind else (4, "I")
            align(4)
            while (len(out) + 4) % size:
                out.extend(b"\0\0\0\0")
            struct.pack_into("<I", out, at, len(out) - at)
            out += struct.pack("<I", len(item.items))
            if not item.kind:
                for inner in item.items:
                    refer(inner)  # type: ignore[arg-type]
            elif item.kind in KINDS:
                out += struct.pack(f"<{len(item.items)}{letter}", *item.items)
            else:
                out += bytes(item.items)  # type: ignore[arg-type]
                out += b"\0" * (item.kind == "text")
            continue
        align(2)
        vtable = len(out)
        out += bytes(4 + 2 * len(item.fields))
        align(8, 4)
        begin = len(out)
        struct.pack_into("<I", out, at, begin - at)
        out += struct.pack("<i", begin - vtable)
        for i, value in enumerate(item.fields):
            if value is None:
                continue
            size, letter = KINDS[value[0]] if isinstance(value, tuple) else (4, "I")
            align(size)
            struct.pack_into("<H", out, vtable + 4 + 2 * i, len(out) - begin)
            if isinstance(value, tuple):
                out += struct.pack("<" + letter, value[1] if letter == "f" else int(value[1]))
            else:
                refer(value)
        struct.pack_into("<HH", out, vtable, 4 + 2 * len(item.fields), len(out) - begin)
    align(4)
    return bytes(out)


@dataclass(slots=True)
class Tensor:
    """data: elements of a constant. scales, zeros: of quantized ones. open: axes whose size may differ. variable: its
    value stays from call to call."""

    name: str
    dtype: str
    shape: Sequence[int]
    data: Sequence[float] | None = None
    scales: Sequence[float] = ()
    zeros: Sequence[int] = ()
    axis: int = 0
    open: Sequence[int] = ()
    variable: bool = False


@dataclass(slots=True)
class Operator:
    """inputs and outputs: names of tensors, "" for an input that is left out."""

    name: str
    inputs: Sequence[str]
    outputs: Sequence[str]
    options: dict[str, object] = field(default_factory=dict)
    version: int = 1
    custom: str = ""


Part = tuple[Sequence[Tensor], Sequence[Operator], Sequence[str], Sequence[str]]   # a graph: as `model` takes it

# The number that the format gives to an operation's table of options: readers of TensorFlow Lite want it.
OPTION_NUMBERS = {
    "CONV_2D": 1, "DEPTHWISE_CONV_2D": 2, "AVERAGE_POOL_2D": 5, "MAX_POOL_2D": 5, "FULLY_CONNECTED": 8, "SOFTMAX": 9,
    "CONCATENATION": 10, "ADD": 11, "RESIZE_BILINEAR": 15, "RESHAPE": 17, "MUL": 21, "PAD": 22, "GATHER": 23,
    "TRANSPOSE": 26,
    "MEAN": 27, "SUM": 27, "REDUCE_MAX": 27, "REDUCE_MIN": 27, "SUB": 28, "DIV": 29, "SQUEEZE": 30, "STRIDED_SLICE": 32,
    "EXP": 33,
    "SPLIT": 35, "LOG_SOFTMAX": 36, "CAST": 37, "ARG_MAX": 40, "SLICE": 48, "TRANSPOSE_CONV": 49, "PACK": 59,
    "UNPACK": 64,
    "RESIZE_NEAREST_NEIGHBOR": 74, "LEAKY_RELU": 75, "MIRROR_PAD": 77, "SPLIT_V": 79, "QUANTIZE": 89,
    "BATCH_MATMUL": 101,
    "DEPTH_TO_SPACE": 94, "SPACE_TO_DEPTH": 19, "L2_NORMALIZATION": 12, "EXPAND_DIMS": 52, "TILE": 51, "GELU": 116,
    "MAXIMUM": 39, "MINIMUM": 39, "DEQUANTIZE": 38, "HARD_SWISH": 91, "ARG_MIN": 57, "ABS": 78,
    "SHAPE": 55, "REDUCE_PROD": 27,
    "IF": 92, "WHILE": 93, "CALL_ONCE": 103, "REVERSE_V2": 81, "CUMSUM": 102,
    "TOPK_V2": 34, "SPACE_TO_BATCH_ND": 25, "BATCH_TO_SPACE_ND": 24,
    "NON_MAX_SUPPRESSION_V4": 95, "NON_MAX_SUPPRESSION_V5": 96,
    "UNIDIRECTIONAL_SEQUENCE_LSTM": 71, "UNIDIRECTIONAL_SEQUENCE_RNN": 31, "SVDF": 6,
    "RFFT2D": 105,
    "FILL": 68, "RANGE": 73, "ZEROS_LIKE": 67, "MATRIX_DIAG": 88, "MATRIX_SET_DIAG": 90, "BITWISE_XOR": 125,
    "RIGHT_SHIFT": 126, "ADD_N": 82, "BUCKETIZE": 115, "SELECT": 47, "SQUARED_DIFFERENCE": 76,
    "CONV_3D": 106, "CONV_3D_TRANSPOSE": 106, "LOCAL_RESPONSE_NORMALIZATION": 13, "L2_POOL_2D": 5,
    "LESS": 41, "ONE_HOT": 61, "GATHER_ND": 83, "SCATTER_ND": 97, "REVERSE_SEQUENCE": 87, "SEGMENT_SUM": 100,
    "DYNAMIC_UPDATE_SLICE": 117, "UNSORTED_SEGMENT_SUM": 121, "UNSORTED_SEGMENT_PROD": 118,
    "UNSORTED_SEGMENT_MAX": 119, "UNSORTED_SEGMENT_MIN": 120,
    "VAR_HANDLE": 111, "READ_VARIABLE": 112, "ASSIGN_VARIABLE": 113}

NEWER_NUMBERS = {"STABLEHLO_COMPOSITE": 21}   # of those whose options lie in another field


def _options(name: str, given: dict[str, object]) -> Table:
    found: list[Field] = []
    for key, (_, kind, default) in OPTIONS.get(name, {}).items():
        value = given.get(key)
        if kind.startswith("*"):
            found.append(Vector(kind[1:], value) if value is not None else None)  # type: ignore[arg-type]
        elif kind == "text":
            found.append(text(str(value)) if value is not None else None)
        else:
            found.append((kind, value) if value is not None and value != default else None)  # type: ignore[arg-type]
    assert set(given) <= set(OPTIONS.get(name, {})), name
    return Table(found)


def model(tensors: Sequence[Tensor], operators: Sequence[Operator], inputs: Sequence[str], outputs: Sequence[str],
          description: str = "", others: Sequence[Part] = ()) -> bytes:
    """others: graphs that operators run, as the four things that make this one."""
    graphs = [(tensors, operators, inputs, outputs), *others]
    codes = list(dict.fromkeys((o.name, o.version, o.custom) for _, found, _, _ in graphs for o in found))
    kept: list[Table] = [Table([])]
    made = [_graph(*graph, codes, kept) for graph in graphs]
    opcodes = [Table([("i8", min(OPERATIONS.index(name), 127)), text(custom) if custom else None, ("i32", version),
                      ("i32", OPERATIONS.index(name))]) for name, version, custom in codes]
    return flatbuffer(Table([("u32", 3), Vector("", opcodes), Vector("", made), text(description),
                             Vector("", kept)]))


def _graph(tensors: Sequence[Tensor], operators: Sequence[Operator], inputs: Sequence[str], outputs: Sequence[str],
           codes: list[tuple[str, int, str]], kept: list[Table]) -> Table:
    places = {t.name: i for i, t in enumerate(tensors)} | {"": -1}
    made = []
    for t in tensors:
        number = 0
        if t.data is not None:
            content = struct.pack(f"<{len(t.data)}{LETTERS[t.dtype]}", *t.data)
            kept.append(Table([Vector("bytes", content)]))
            number = len(kept) - 1
        q = Table([None, None, Vector("f32", t.scales), Vector("i64", t.zeros or [0] * len(t.scales)), None, None,
                   ("i32", t.axis)]) if t.scales else None
        dtype = NUMBERS.get(t.dtype, RESOURCE)
        signature = [None, None, Vector("i32", [-1 if a in t.open else s for a, s in enumerate(t.shape)])]
        signature[0] = ("bool", 1) if t.variable else None
        made.append(Table([Vector("i32", t.shape), ("i8", dtype), ("u32", number), text(t.name), q,
                           *(signature if t.open else signature[:1])]))
    table = []
    for o in operators:
        kind, newer = OPTION_NUMBERS.get(o.name), NEWER_NUMBERS.get(o.name)
        table.append(Table([("u32", codes.index((o.name, o.version, o.custom))),
                            Vector("i32", [places[i] for i in o.inputs]),
                            Vector("i32", [places[i] for i in o.outputs]), ("u8", kind) if kind else None,
                            _options(o.name, o.options) if kind else None, *[None] * 6,
                            *([("u8", newer), _options(o.name, o.options)] if newer else [])]))
    return Table([Vector("", made), Vector("i32", [places[i] for i in inputs]),
                  Vector("i32", [places[i] for i in outputs]), Vector("", table), text("main")])
