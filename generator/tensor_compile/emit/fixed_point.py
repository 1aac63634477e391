# SPDX-License-Identifier: Apache-2.0
"""Scalar expressions in which products of 64 bits that are rounded to their upper half, and limits of bytes, are calls
of templates/include/tc_fixed.h: the same bits in fewer instructions of a processor of 32 bits."""
from __future__ import annotations

from typing import TypeGuard

from ..graph.dtypes import DTYPES
from ..loops.scalar_ir import Apply, Const, IndexValue, Scalar
from .scalar import CValue, ScalarEmitter


def _is(s: Scalar, op: str, dtype: str) -> TypeGuard[Apply]:
    return isinstance(s, Apply) and s.op == op and s.dtype == dtype


def _constant(s: Scalar) -> int | None:
    """The value of a signed constant."""
    if isinstance(s, IndexValue):
        return s.expr.value if s.expr.is_const else None
    if not isinstance(s, Const) or s.dtype not in ("i8", "i32", "i64"):
        return None
    return DTYPES[s.dtype].number(s.bits)


def high_half(s: Scalar) -> tuple[Scalar, Scalar] | None:
    """a and b of i32 where s is min((a * b + 2^30) >> 31, the largest i32)."""
    if not (_is(s, "cast", "i32") and _is(s.args[0], "minimum", "i64")):
        return None
    shifted, most = s.args[0].args
    if _constant(most) != (1 << 31) - 1 or not _is(shifted, "shift_right", "i64") or _constant(shifted.args[1]) != 31:
        return None
    total = shifted.args[0]
    if not _is(total, "add", "i64") or _constant(total.args[1]) != 1 << 30 or not _is(total.args[0], "mul", "i64"):
        return None
    factors = total.args[0].args
    narrow = [f.args[0] for f in factors if _is(f, "cast", "i64") and f.args[0].dtype == "i32"]
    return (narrow[0], narrow[1]) if len(narrow) == 2 else None


def upper_half(s: Scalar) -> tuple[Scalar, Scalar | int] | None:
    """x of i32 and b, one of i32 or a number of as many bits, where s is x + ((x * b + 2^31) >> 32)."""
    if not (_is(s, "add", "i32") and _is(s.args[1], "cast", "i32") and _is(s.args[1].args[0], "shift_right", "i64")):
        return None
    x, (total, places) = s.args[0], s.args[1].args[0].args
    if _constant(places) != 32 or not _is(total, "add", "i64") or _constant(total.args[1]) != 1 << 31 \
            or not _is(total.args[0], "mul", "i64"):
        return None
    wide, factor = total.args[0].args
    if not (_is(wide, "cast", "i64") and wide.args[0] is x):
        return None
    number = _constant(factor)
    if number is not None:
        return (x, number) if -(1 << 31) <= number < 1 << 31 else None
    return (x, factor.args[0]) if _is(factor, "cast", "i64") and factor.args[0].dtype == "i32" else None


def limited(s: Scalar) -> tuple[Scalar, int] | None:
    """x and zero where s is the i8 of min(max(x, -128 - zero), 127 - zero) + zero."""
    if not _is(s, "cast", "i8"):
        return None
    inner, zero = s.args[0], 0
    if _is(inner, "add", "i32") and (z := _constant(inner.args[1])) is not None:
        inner, zero = inner.args[0], z
    if not _is(inner, "minimum", "i32") or not _is(inner.args[0], "maximum", "i32"):
        return None
    if (_constant(inner.args[1]), _constant(inner.args[0].args[1])) != (127 - zero, -128 - zero):
        return None
    return inner.args[0].args[0], zero


def by_byte(s: Scalar) -> TypeGuard[Apply]:
    """A shift of i32 by a byte."""
    return isinstance(s, Apply) and s.op in ("shift_left", "shift_right") and s.dtype == "i32" \
        and isinstance(s.args[1], Apply) and s.args[1].op == "cast" and s.args[1].args[0].dtype == "u8"


def where_negative(s: Scalar) -> tuple[Scalar, Scalar] | None:
    """x and y of i32 where s is x + ((x >> 31) & y)."""
    if not (_is(s, "add", "i32") and _is(s.args[1], "bit_and", "i32")):
        return None
    x, (sign, y) = s.args[0], s.args[1].args
    return (x, y) if _is(sign, "shift_right", "i32") and sign.args[0] is x and _constant(sign.args[1]) == 31 else None


def shift_of(s: Scalar) -> int | None:
    """The places of a shift of i32 to the right by a constant."""
    return _constant(s.args[1]) if _is(s, "shift_right", "i32") else None


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
