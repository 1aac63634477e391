# SPDX-License-Identifier: Apache-2.0
"""Constants to a safetensors file: bytes from where they are to where they belong, a block at a time."""
from __future__ import annotations

import json
from typing import Iterator

from ..symbolic import Expr
from .dims import constants
from .values import DTYPES, Bytes, Data, Element, Value, encode, number

_NAMES = {"f32": "F32", "f64": "F64", "f16": "F16", "bf16": "BF16", "i8": "I8", "i16": "I16", "i32": "I32",
          "i64": "I64", "u8": "U8", "u16": "U16", "u32": "U32", "u64": "U64", "bool": "BOOL"}


def single(value: Value) -> Element | None:
    """The number that a constant is written as, where it is one for all elements; a stored weight of one axis or more
    keeps its name."""
    if value.splat is not None:
        return value.splat
    if value.rank and value.data is not None and not constants(value.shape) == [1]:
        return None
    found = value.single
    if isinstance(found, Expr):
        found = found.value if found.is_const else None
    return found if found is not None and number(found, value.dtype) is not None else None


def is_weight(value: Value) -> bool:
    """Whether a constant is read from the weights file: it is no one number and no dims."""
    if not value.is_constant or single(value) is not None:
        return False
    return value.data is not None or not any(isinstance(e, Expr) and not e.is_const for e in value.known or ())


class Weights:
    """The constants that the program reads as tensors, by name."""

    def __init__(self) -> None:
        self._tensors: dict[str, tuple[Value, Data]] = {}

    def add(self, name: str, value: Value) -> bool:
        """False where its elements are no bytes (sizes that are dynamic)."""
        data = value.data
        if data is None:
            content = encode(value.known or (), value.dtype) if value.known is not None else None
            if content is None:
                return False
            data = Bytes(content)
        self._tensors[name] = value, data
        return True

    def __contains__(self, name: object) -> bool:
        return name in self._tensors

    def __len__(self) -> int:
        return len(self._tensors)

    def blocks(self) -> Iterator[bytes]:
        """The file: an 8-byte length, the JSON header, the tensors in the order in which they were first used."""
        header: dict[str, object] = {}
        at = 0
        for name, (value, data) in self._tensors.items():
            header[name] = {"dtype": _NAMES[value.dtype], "shape": constants(value.shape),
                            "data_offsets": [at, at + data.length]}
            at += data.length
        text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
        text += b" " * (-len(text) % 8)
        yield len(text).to_bytes(8, "little")
        yield text
        for name, (_value, data) in self._tensors.items():
            written = 0
            for block in data.blocks():
                written += len(block)
                yield block
            assert written == data.length, name


def size_of(value: Value) -> int:
    """Bytes of a value of constant sizes."""
    total = DTYPES[value.dtype][0]
    for s in constants(value.shape) or ():
        total *= s
    return total
