# SPDX-License-Identifier: Apache-2.0
"""Casts from and to integers of 4 and 2 bits and floats of 8 and 4: one an element of i8 or u8, the floats as bit
patterns."""
from __future__ import annotations

from ..problems import Malformed
from ..values import DTYPES, FLOATS, Value
from .data import type_of
from .ops_elementwise import cast as plain
from .registry import Node, op

INTEGERS = {"u4": ("u8", 4), "i4": ("i8", 4), "u2": ("u8", 2), "i2": ("i8", 2)}


def is_float(kind: str) -> bool:
    return bool(kind) and kind not in INTEGERS


def constant(kind: str) -> str:
    """The DSL's word for a format of small floats."""
    return f"TC_{kind.upper()}"


def _limited(x: str, kind: str) -> str:
    """Integers of i32 by their low bits."""
    dtype, bits = INTEGERS[kind]
    low = f"tc_bit_and({x}, {(1 << bits) - 1})"
    if dtype == "i8":
        low = f"tc_sub(tc_bit_xor({low}, {1 << bits - 1}), {1 << bits - 1})"
    return f"tc_cast({low}, TC_{dtype.upper()})"


@op("Cast", "CastLike", since=19)
def cast(n: Node) -> None:
    x = n.input(0)
    like: Value | None = n.input(1) if n.op_type == "CastLike" else None
    to, kind = (like.dtype, like.kind) if like is not None else type_of(n.integer("to"))
    if not x.kind and not kind and like is None:
        plain(n)
        return
    saturate, rounding = n.integer("saturate", 1), n.text("round_mode", "up")
    if x.kind == kind and (kind or x.dtype == to):
        n.give(x)
        return
    text, dtype = f"{x}", x.dtype
    if is_float(x.kind):
        text, dtype = f"tc_decode_float({x}, {constant(x.kind)})", "f32"
    if is_float(kind):
        if dtype not in FLOATS:
            text = f"tc_cast({text}, TC_F32)"
        text = f"tc_encode_float({text}, {constant(kind)}"
        text += "" if saturate else ", .overflow = true"
        text += f", .rounding = TC_E8M0_{rounding.upper()}" if kind == "e8m0" and rounding != "up" else ""
        text += ")"
    elif kind:
        text = _limited(text if dtype == "i32" else f"tc_cast({text}, TC_I32)", kind)
    elif dtype != to:
        text = f"tc_cast({text}, TC_{to.upper()})"
    value = n.result(text, to, x.shape) if text != f"{x}" else n.let(f"tc_cast({x}, TC_{to.upper()})", to, x.shape)
    value.kind = kind
    n.give(value)


@op("BitCast", since=26)
def bit_cast(n: Node) -> None:
    x = n.input(0)
    to, kind = type_of(n.integer("to"))
    if x.kind in INTEGERS or kind in INTEGERS or "e2m1" in (x.kind, kind):
        if x.kind != kind:
            n.refuse("bits of elements of less than a byte")
    elif DTYPES[x.dtype][0] != DTYPES[to][0]:
        raise Malformed(f"the bits of {x.dtype} as {to}, whose elements have another width")
    elif to == "bool" and x.dtype != "bool":
        n.refuse("bits as bool", "Cast gives whether they are 0")
    value = x if x.dtype == to and x.kind == kind else n.result(f"tc_bitcast({x}, TC_{to.upper()})", to, x.shape)
    value.kind = kind
    n.give(value)
