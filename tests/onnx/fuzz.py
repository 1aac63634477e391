# SPDX-License-Identifier: Apache-2.0
"""Damaged models: whatever is done to a file, the import ends in model text or in one UserError, in bounded time and
memory.

    fuzz.py [--fields] SECONDS [SEED] [MODEL...]

Bytes are flipped, inserted, taken away and repeated, fields moved between files; with --fields what is changed are
fields of messages, so that the file stays one of the format: numbers become others, names and messages those of other
places, fields go, stand twice or have another number. Without models, those of test_import.py's kind are made. Prints
what went wrong with the seed that does it again; exit code 1 where something did. What was found is kept in damaged/ as
files, which test_damaged.py reads.
"""
from __future__ import annotations

import copy
import random
import sys
from dataclasses import dataclass, replace
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


VARINT, LONG, BYTES, WORD = 0, 1, 2, 5    # how a field is written
WILD = (0, 1, 2, 3, 5, 7, 16, -1, -2, 1 << 31, 1 << 40, (1 << 63) - 1, -(1 << 63))


@dataclass
class Field:
    """value: a number, bytes or, of a message, its fields."""

    number: int
    wire: int
    value: int | bytes | list["Field"]

    def write(self) -> bytes:
        head = e.varint(self.number << 3 | self.wire)
        if isinstance(self.value, int):
            return head + e.varint(self.value)
        body = self.value if isinstance(self.value, bytes) else b"".join(f.write() for f in self.value)
        return head + (e.varint(len(body)) + body if self.wire == BYTES else body)


def fields(data: bytes) -> list[Field] | None:
    """The fields of a message; None where the bytes are none."""
    found, at = [], 0
    while at < len(data):
        tag, at = _varint(data, at)
        if tag <= 7 or at < 0:
            return None
        wire = tag & 7
        if wire == VARINT:
            value, at = _varint(data, at)
            if at < 0:
                return None
            found.append(Field(tag >> 3, wire, value))
            continue
        size = {LONG: 8, WORD: 4}.get(wire, -1)
        if wire == BYTES:
            size, at = _varint(data, at)
        if at < 0 or size < 0 or at + size > len(data):
            return None
        body, at = data[at:at + size], at + size
        within = fields(body) if wire == BYTES and len(body) > 1 else None
        found.append(Field(tag >> 3, wire, within or body))
    return found


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """A number, and where what follows begins; -1: there is none."""
    value = 0
    for i in range(10):
        if at + i >= len(data):
            break
        value |= (data[at + i] & 0x7f) << 7 * i
        if data[at + i] < 128:
            return value, at + i + 1
    return 0, -1


def _below(lists: list[list[Field]]) -> list[tuple[list[Field], int]]:
    """Every field, as the list that has it and its place there."""
    found, left = [], list(lists)
    while left:
        one = left.pop()
        found += [(one, i) for i in range(len(one))]
        left += [f.value for f in one if isinstance(f.value, list)]
    return found


def damaged_fields(models: list[bytes], r: random.Random) -> bytes:
    """A model some of whose fields are others."""
    whole, other = fields(r.choice(models)) or [], fields(r.choice(models)) or []
    for _ in range(r.choice((1, 1, 1, 2, 4))):
        places = _below([whole])
        if not places:
            break
        holder, at = r.choice(places)
        same = [list_[i] for list_, i in _below([whole, other]) if list_[i].wire == holder[at].wire]
        kind = r.randrange(7)
        if kind == 0:
            del holder[at]
        elif kind == 1:
            holder.insert(r.randrange(len(holder) + 1), copy.deepcopy(holder[at]))
        elif kind == 2:
            holder[at] = replace(holder[at], number=r.choice((1, 2, 3, 4, 5, 6, 7, 8, 9, 13, 14, 20)))
        elif kind == 3:
            alike = [f for f in same if f.number == holder[at].number]
            holder[at] = replace(holder[at], value=copy.deepcopy(r.choice(alike).value))
        elif isinstance(holder[at].value, int):
            holder[at] = replace(holder[at], value=r.choice((*WILD, holder[at].value + 1, holder[at].value * 2)))
        elif kind == 4:
            holder[at] = replace(holder[at], value=copy.deepcopy(r.choice(same).value))
        elif holder[at].wire == BYTES:
            holder[at] = replace(holder[at], value=r.choice((b"", b"x", b"Shape", b"Loop", bytes(8), b"\xff" * 8,
                                                             "\u00e9".encode(), b"\xff")))
        else:
            holder[at] = replace(holder[at], value=r.choice((bytes(8), b"\xff" * 8))[:len(holder[at].value)])
    return b"".join(f.write() for f in whole)


def main() -> int:
    words = [word for word in sys.argv[1:] if word != "--fields"]
    damage = damaged_fields if "--fields" in sys.argv else damaged
    models = [Path(p).read_bytes() for p in words[2:]] or seeds()
    seed = int(words[1]) if len(words) > 1 else 1
    return fuzz(reader.import_file, "model.onnx", lambda r: damage(models, r), float(words[0]), seed)


if __name__ == "__main__":
    sys.exit(main())
