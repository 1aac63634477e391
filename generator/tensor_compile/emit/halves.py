# SPDX-License-Identifier: Apache-2.0
"""Products of i32 that are rounded to a half of their bits, as they stand in scalar expressions."""
from __future__ import annotations

from typing import TypeGuard

from ..graph.dtypes import DTYPES
from ..loops.scalar_ir import Apply, Const, IndexValue, Scalar


def is_of(s: Scalar, op: str, dtype: str) -> TypeGuard[Apply]:
    return isinstance(s, Apply) and s.op == op and s.dtype == dtype


def number_of(s: Scalar) -> int | None:
    """The value of a signed constant."""
    if isinstance(s, IndexValue):
        return s.expr.value if s.expr.is_const else None
    if not isinstance(s, Const) or s.dtype not in ("i8", "i32", "i64"):
        return None
    return DTYPES[s.dtype].number(s.bits)


def high_half(s: Scalar) -> tuple[Scalar, Scalar] | None:
    """a and b of i32 where s is min((a * b + 2^30) >> 31, the largest i32)."""
    if not (is_of(s, "cast", "i32") and is_of(s.args[0], "minimum", "i64")):
        return None
    shifted, most = s.args[0].args
    if number_of(most) != (1 << 31) - 1 or not is_of(shifted, "shift_right", "i64") \
            or number_of(shifted.args[1]) != 31:
        return None
    total = shifted.args[0]
    if not is_of(total, "add", "i64") or number_of(total.args[1]) != 1 << 30 or not is_of(total.args[0], "mul", "i64"):
        return None
    factors = total.args[0].args
    narrow = [f.args[0] for f in factors if is_of(f, "cast", "i64") and f.args[0].dtype == "i32"]
    return (narrow[0], narrow[1]) if len(narrow) == 2 else None


def upper_half(s: Scalar) -> tuple[Scalar, Scalar | int] | None:
    """x of i32 and b, one of i32 or a number of as many bits, where s is x + ((x * b + 2^31) >> 32)."""
    if not (is_of(s, "add", "i32") and is_of(s.args[1], "cast", "i32")
            and is_of(s.args[1].args[0], "shift_right", "i64")):
        return None
    x, (total, places) = s.args[0], s.args[1].args[0].args
    if number_of(places) != 32 or not is_of(total, "add", "i64") or number_of(total.args[1]) != 1 << 31 \
            or not is_of(total.args[0], "mul", "i64"):
        return None
    wide, factor = total.args[0].args
    if not (is_of(wide, "cast", "i64") and wide.args[0] is x):
        return None
    number = number_of(factor)
    if number is not None:
        return (x, number) if -(1 << 31) <= number < 1 << 31 else None
    return (x, factor.args[0]) if is_of(factor, "cast", "i64") and factor.args[0].dtype == "i32" else None
