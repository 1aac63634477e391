# SPDX-License-Identifier: Apache-2.0
"""Constants of scalar expressions as C literals."""
from __future__ import annotations

import struct

from ..graph.dtypes import DTYPES
from ..loops.scalar_ir import Const


def constant(node: Const) -> str:
    """A C literal with exactly these bits."""
    bits, dtype = node.bits, node.dtype
    if dtype == "bool":
        return "1" if bits else "0"
    about = DTYPES[dtype]
    if about.is_integer:
        bits = about.number(bits)
    if dtype == "i32":
        return "INT32_MIN" if bits == -(1 << 31) else str(bits) if bits >= 0 else f"({bits})"
    if dtype == "i64":
        return "INT64_MIN" if bits == -(1 << 63) else f"INT64_C({bits})" if bits >= 0 else f"(-INT64_C({-bits}))"
    if about.kind == "unsigned":
        return f"UINT64_C({bits})" if dtype == "u64" else f"{bits}u" if dtype == "u32" else str(bits)
    if about.kind == "signed":
        return str(bits) if bits >= 0 else f"({bits})"
    if about.bytes == 2:
        return f"0x{bits:04x}"
    if bits & about.infinity == about.infinity:
        return f"tc_asfloat_i32((int32_t)0x{bits:08x}u)" if dtype == "f32" else \
            f"tc_asfloat_i64((int64_t)UINT64_C(0x{bits:016x}))"
    return _decimal(bits, "<f", "<I", "f") if dtype == "f32" else _decimal(bits, "<d", "<Q", "")


def _decimal(bits: int, as_float: str, as_integer: str, suffix: str) -> str:
    """The shortest decimal number that is this float."""
    value = struct.unpack(as_float, struct.pack(as_integer, bits))[0]
    for digits in range(1, 18):
        text = f"{value:.{digits}g}"
        try:
            same = struct.pack(as_float, float(text)) == struct.pack(as_integer, bits)
        except OverflowError:   # rounds beyond the largest float with so few digits
            same = False
        if same:
            break
    if not any(c in text for c in ".e"):
        text += ".0"
    return f"({text}{suffix})" if value < 0 or text.startswith("-") else f"{text}{suffix}"
