# SPDX-License-Identifier: Apache-2.0
"""ONNX files for tests: messages written in the wire format, field numbers as onnx.proto has them."""
from __future__ import annotations

import struct
from typing import Any, Sequence

FLOAT, UINT8, INT8, INT32, INT64, STRING, BOOL, FLOAT16, DOUBLE, UINT32, UINT64 = 1, 2, 3, 6, 7, 8, 9, 10, 11, 12, 13
BFLOAT16 = 16
LETTERS = {FLOAT: "f", UINT8: "B", INT8: "b", INT32: "i", INT64: "q", BOOL: "?", FLOAT16: "e", DOUBLE: "d", UINT32: "I",
           UINT64: "Q"}


def varint(value: int) -> bytes:
    value &= (1 << 64) - 1
    out = bytearray()
    while True:
        out.append(value & 0x7f | (0x80 if value > 0x7f else 0))
        value >>= 7
        if not value:
            return bytes(out)


def number(field: int, value: int) -> bytes:
    return varint(field << 3) + varint(value)


def content(field: int, value: bytes | str) -> bytes:
    data = value.encode() if isinstance(value, str) else value
    return varint(field << 3 | 2) + varint(len(data)) + data


def tensor(name: str, kind: int, dims: Sequence[int], values: Sequence[Any] | None = None, *, raw: bytes | None = None,
           external: dict[str, str] | None = None, typed: bytes = b"") -> bytes:
    """A TensorProto: values as raw data; typed: a list field instead."""
    out = b"".join(number(1, d) for d in dims) + number(2, kind) + content(8, name)
    if external is not None:
        out += b"".join(content(13, content(1, k) + content(2, v)) for k, v in external.items()) + number(14, 1)
    elif raw is not None:
        out += content(9, raw)
    elif values is not None:
        out += content(9, struct.pack(f"<{len(values)}{LETTERS[kind]}", *values))
    return out + typed


def value_info(name: str, kind: int, dims: Sequence[int | str | None] | None) -> bytes:
    """None as a size: unknown; None as dims: the rank is unknown."""
    body = number(1, kind)
    if dims is not None:
        shape = b"".join(content(1, number(1, d) if isinstance(d, int) else content(2, d) if d else b"") for d in dims)
        body += content(2, shape)
    return content(1, name) + content(2, content(1, body))


def attribute(name: str, value: Any) -> bytes:
    """bytes: a message, as ("graph", …) or ("tensor", …); ("ref", NAME) of a function."""
    out = content(1, name)
    if isinstance(value, tuple) and value and value[0] == "tensor":
        return out + content(5, value[1]) + number(20, 4)
    if isinstance(value, tuple) and value and value[0] == "graph":
        return out + content(6, value[1]) + number(20, 5)
    if isinstance(value, tuple) and value and value[0] == "ref":
        return out + content(21, value[1]) + number(20, value[2])
    if isinstance(value, float):
        return out + varint(2 << 3 | 5) + struct.pack("<f", value) + number(20, 1)
    if isinstance(value, int):
        return out + number(3, value) + number(20, 2)
    if isinstance(value, str):
        return out + content(4, value) + number(20, 3)
    if value and isinstance(value[0], float):
        return out + b"".join(varint(7 << 3 | 5) + struct.pack("<f", v) for v in value) + number(20, 6)
    return out + b"".join(number(8, v) for v in value) + number(20, 7)


def node(op: str, inputs: Sequence[str], outputs: Sequence[str], name: str = "", domain: str = "",
         **attributes: Any) -> bytes:
    out = b"".join(content(1, i) for i in inputs) + b"".join(content(2, o) for o in outputs)
    out += (content(3, name) if name else b"") + content(4, op) + (content(7, domain) if domain else b"")
    return out + b"".join(content(5, attribute(k, v)) for k, v in attributes.items())


def graph(nodes: Sequence[bytes], inputs: Sequence[bytes], outputs: Sequence[bytes], tensors: Sequence[bytes] = (),
          name: str = "graph") -> bytes:
    return b"".join([*(content(1, n) for n in nodes), content(2, name), *(content(5, t) for t in tensors),
                     *(content(11, i) for i in inputs), *(content(12, o) for o in outputs)])


def function(domain: str, name: str, inputs: Sequence[str], outputs: Sequence[str], nodes: Sequence[bytes],
             attributes: Sequence[str] = (), opset: int = 17) -> bytes:
    return b"".join([content(1, name), *(content(4, i) for i in inputs), *(content(5, o) for o in outputs),
                     *(content(6, a) for a in attributes), *(content(7, n) for n in nodes),
                     content(9, content(1, "") + number(2, opset)), content(10, domain)])


def model(body: bytes, opset: int = 17, functions: Sequence[bytes] = (),
          domains: dict[str, int] | None = None) -> bytes:
    out = number(1, 8) + content(2, "tests") + content(7, body) + content(8, content(1, "") + number(2, opset))
    for name, version in (domains or {}).items():
        out += content(8, content(1, name) + number(2, version))
    return out + b"".join(content(25, f) for f in functions)
