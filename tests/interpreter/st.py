# SPDX-License-Identifier: Apache-2.0
"""Reads safetensors with the standard library: name -> (dtype, shape, flat list of values)."""
from __future__ import annotations

import json
import math
import struct
from pathlib import Path

FORMATS = {"F16": "e", "F32": "f", "F64": "d", "I8": "b", "I16": "h", "I32": "i", "I64": "q", "U8": "B", "U16": "H",
           "U32": "I", "U64": "Q", "BOOL": "?", "BF16": "H"}


def to_bf16(values: list[float]) -> list[int]:
    """Of bf16: the upper half of f32's. The values are its own."""
    words = [int.from_bytes(struct.pack("<f", v), "little") for v in values]
    assert all(math.isnan(v) or w % 65536 == 0 for v, w in zip(values, words)), "not a number of bf16"
    return [w >> 16 for w in words]


def of_bf16(patterns: list[int]) -> list[float]:
    return [struct.unpack("<f", (p << 16).to_bytes(4, "little"))[0] for p in patterns]


def read(path: str | Path) -> dict[str, tuple[str, list[int], list]]:
    raw = Path(path).read_bytes()
    length = struct.unpack_from("<Q", raw)[0]
    header = json.loads(raw[8:8 + length])
    header.pop("__metadata__", None)
    out = {}
    for name, entry in header.items():
        begin, end = (8 + length + offset for offset in entry["data_offsets"])
        values = [v for (v,) in struct.iter_unpack("<" + FORMATS[entry["dtype"]], raw[begin:end])]
        values = of_bf16(values) if entry["dtype"] == "BF16" else values
        out[name] = (entry["dtype"], entry["shape"], values)
    return out


def write(path: str | Path, tensors: dict[str, tuple[str, list[int], list]]) -> None:
    header: dict = {}
    data = b""
    for name, (dtype, shape, values) in tensors.items():
        values = to_bf16(values) if dtype == "BF16" else values
        raw = struct.pack(f"<{len(values)}{FORMATS[dtype]}", *values)
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header).encode()
    Path(path).write_bytes(struct.pack("<Q", len(text)) + text + data)
