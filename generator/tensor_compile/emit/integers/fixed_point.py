# SPDX-License-Identifier: Apache-2.0
"""Scalar expressions in which products of 64 bits that are rounded to their upper half, and limits of bytes, are calls
of templates/include/tc_fixed.h: the same bits in fewer instructions of a processor of 32 bits."""
from __future__ import annotations

from typing import TypeGuard

from ...loops.scalar_ir import Apply, Scalar
from ..halves import number_of, high_half, is_of, upper_half
from ..scalar import CValue, ScalarEmitter


def limited(s: Scalar) -> tuple[Scalar, int] | None:
    """x and zero where s is the i8 of min(max(x, -128 - zero), 127 - zero) + zero."""
    if not is_of(s, "cast", "i8"):
        return None
    inner, zero = s.args[0], 0
    if is_of(inner, "add", "i32") and (z := number_of(inner.args[1])) is not None:
        inner, zero = inner.args[0], z
    if not is_of(inner, "minimum", "i32") or not is_of(inner.args[0], "maximum", "i32"):
        return None
    if (number_of(inner.args[1]), number_of(inner.args[0].args[1])) != (127 - zero, -128 - zero):
        return None
    return inner.args[0].args[0], zero


def by_byte(s: Scalar) -> TypeGuard[Apply]:
    """A shift of i32 by a byte."""
    return isinstance(s, Apply) and s.op in ("shift_left", "shift_right") and s.dtype == "i32" \
        and isinstance(s.args[1], Apply) and s.args[1].op == "cast" and s.args[1].args[0].dtype == "u8"


def where_negative(s: Scalar) -> tuple[Scalar, Scalar] | None:
    """x and y of i32 where s is x + ((x >> 31) & y)."""
    if not (is_of(s, "add", "i32") and is_of(s.args[1], "bit_and", "i32")):
        return None
    x, (sign, y) = s.args[0], s.args[1].args
    return (x, y) if is_of(sign, "shift_right", "i32") and sign.args[0] is x and number_of(sign.args[1]) == 31 else None


def shift_of(s: Scalar) -> int | None:
    """The places of a shift of i32 to the right by a constant."""
    return number_of(s.args[1]) if is_of(s, "shift_right", "i32") else None


class FixedPointEmitter(ScalarEmitter):
    """Of one lane."""

    def apply(self, node: Apply) -> CValue:
        if (pair := high_half(node)) is not None:
            return self.call("tc_high_half", "i32", pair)
        if (half := upper_half(node)) is not None:
            x, b = half
            if isinstance(b, int):
                return self.call("tc_upper_half", "i32", (x,), f"INT32_C({b})" if b != -(1 << 31) else "INT32_MIN")
            return self.call("tc_upper_half", "i32", (x, b))
        if (limit := limited(node)) is not None:
            return self.call("tc_limited", "i8", limit[:1], str(limit[1]))
        if by_byte(node):
            return self.call(f"tc_{node.op}_by", "i32", node.args)
        return super().apply(node)

    def call(self, function: str, dtype: str, operands: tuple[Scalar, ...], *literals: str) -> CValue:
        values = [self.value(x) for x in operands]
        arguments = ", ".join((*(v.text for v in values), *literals))
        return self.name(f"{function}({arguments})", dtype, False, max(v.depth for v in values))
