# SPDX-License-Identifier: Apache-2.0
"""Reads safetensors with the standard library: name -> (dtype, shape, flat list of values)."""
from __future__ import annotations

import json
import struct
from pathlib import Path

FORMATS = {"F32": "f", "F64": "d", "I32": "i", "I64": "q", "BOOL": "?"}


def read(path: str | Path) -> dict[str, tuple[str, list[int], list]]:
    raw = Path(path).read_bytes()
    length = struct.unpack_from("<Q", raw)[0]
    header = json.loads(raw[8:8 + length])
    header.pop("__metadata__", None)
    out = {}
    for name, entry in header.items():
        begin, end = (8 + length + offset for offset in entry["data_offsets"])
        values = [v for (v,) in struct.iter_unpack("<" + FORMATS[entry["dtype"]], raw[begin:end])]
        out[name] = (entry["dtype"], entry["shape"], values)
    return out


def write(path: str | Path, tensors: dict[str, tuple[str, list[int], list]]) -> None:
    header: dict = {}
    data = b""
    for name, (dtype, shape, values) in tensors.items():
        raw = struct.pack(f"<{len(values)}{FORMATS[dtype]}", *values)
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header).encode()
    Path(path).write_bytes(struct.pack("<Q", len(text)) + text + data)
