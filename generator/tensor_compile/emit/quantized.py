# SPDX-License-Identifier: Apache-2.0
"""Rounding to 8 bits as it stands in scalar expressions: what vectors compute as one operation."""
from __future__ import annotations

import math
import struct
from typing import Sequence

from ..loops.scalar_ir import Apply, Buffer, Const, Load, Scalar
from .halves import is_of

MOST_ZERO = 255      # of a zero point: 16 bits hold it beside what is limited to 16 bits
MOST_FACTOR = 0.25   # of factors that come with the weights, where results are rounded without a look at their size
ROUNDED = 2.0**30    # which a conversion to i32 rounds without a limit
NEAR = 2.0**60       # to which, from 1 / NEAR on, tcv_quantized_quotient_f32 divides by a number
FINITE = 2.0**127    # of f32: beyond are infinite numbers, whose difference is NaN


def quantized(s: Scalar) -> tuple[Scalar, int] | None:
    """x of f32 and the zero point where s is round(x) + zero, cast to i8 or u8."""
    if not (isinstance(s, Apply) and s.op == "cast" and s.dtype in ("i8", "u8")):
        return None
    x, zero = s.args[0], 0
    if is_of(x, "add", "f32") and isinstance(x.args[1], Const):
        number = _number(x.args[1])
        if not abs(number) <= MOST_ZERO or number != int(number):
            return None
        x, zero = x.args[0], int(number)
    return (x.args[0], zero) if is_of(x, "round", "f32") else None


def quotient(s: Scalar) -> tuple[Scalar, Scalar] | None:
    """x and y where s is x / y, for a constant y whose reciprocal is far from the ends of f32."""
    if not is_of(s, "div", "f32") or not isinstance(s.args[1], Const):
        return None
    return (s.args[0], s.args[1]) if 1 / NEAR <= _number(s.args[1]) <= NEAR else None


def limits(s: Scalar) -> tuple[int, int]:
    """The least and the largest value of a dtype of 8 bits."""
    low = -128 if s.dtype == "i8" else 0
    return low, low + 255


def largest(s: Scalar, params: Sequence[Buffer], factors: set[str]) -> float:
    """A bound of the size of a number of f32 that is not NaN within it, inf where none is known. What it loads of
    constants is taken for at most MOST_FACTOR, and their buffers are added to the factors."""
    if isinstance(s, Const):
        return abs(_number(s))
    if isinstance(s, Load) and s.dtype == "f32" and not s.valid and not s.dynamic \
            and any(p.name == s.buffer and p.kind == "packed" for p in params):
        factors.add(s.buffer)
        return MOST_FACTOR
    if not isinstance(s, Apply) or s.dtype != "f32":
        return math.inf
    if s.op == "cast":
        return {"i8": 2.0**7, "u8": 2.0**8, "i32": 2.0**31}.get(s.args[0].dtype, math.inf)
    if s.op in ("add", "sub", "mul"):
        x, y = (largest(a, params, factors) for a in s.args)
        bound = (x * y if s.op == "mul" else x + y) * (1 + 2.0**-20)    # each step rounds
        return bound if bound < FINITE else math.inf
    return math.inf


def _number(s: Const) -> float:
    """Of f32."""
    (number,) = struct.unpack("<f", struct.pack("<I", s.bits))
    return float(number)
