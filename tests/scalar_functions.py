# SPDX-License-Identifier: Apache-2.0
"""Scalar operations as Python and the host's libm have them, for the evaluators of the graph and of the loops.

FUNCTIONS: op -> f(dtype, operands...). Floats are Python's, not yet rounded to the dtype; integers are in the range of
theirs, results not yet wrapped.
"""
from __future__ import annotations

import math
from typing import Callable

from tensor_compile.graph.dtypes import DTYPES

WIDTHS = {d.name: d.bits for d in DTYPES.values() if d.is_integer}


def _odd(y: float) -> bool:
    return math.isfinite(y) and y == math.floor(y) and math.fmod(y, 2) != 0


def _power(x: float, y: float) -> float:
    try:
        return math.pow(x, y)
    except OverflowError:
        size = math.inf
    except ValueError:                       # a negative x and a y that is no integer, or a pole
        size = math.nan if x != 0 else math.inf
    return math.copysign(size, x) if _odd(y) else size


def _remainder(dtype: str, x, y):
    if dtype in WIDTHS:
        return 0 if y == 0 else int(math.copysign(1, x)) * (abs(x) % abs(y))
    return math.nan if math.isinf(x) or y == 0 else math.fmod(x, y)


def _guarded(function: Callable) -> Callable:
    """What the host raises as numbers: NaN for an operand outside the domain, infinity for an overflow."""
    def call(dtype: str, x: float) -> float:
        try:
            return function(x)
        except ValueError:
            return math.nan
        except OverflowError:
            return math.inf
    return call


def _log1p(dtype: str, x: float) -> float:
    return -math.inf if x == -1 else math.nan if x < -1 else math.log1p(x)


def _round(dtype: str, x: float) -> float:
    return math.copysign(float(round(x)), x) if math.isfinite(x) else x


def _shift_left(dtype: str, x: int, n: int) -> int:
    return x << n if 0 <= n < WIDTHS[dtype] else 0


def _shift_right(dtype: str, x: int, n: int) -> int:
    return x >> n if 0 <= n < WIDTHS[dtype] else -1 if x < 0 else 0


def _lgamma(dtype: str, x: float) -> float:
    if math.isinf(x) or x <= 0 and x == math.floor(x):
        return math.inf
    try:
        return math.lgamma(x)
    except OverflowError:
        return math.inf


FUNCTIONS: dict[str, Callable] = {
    "sin": _guarded(math.sin), "cos": _guarded(math.cos), "expm1": _guarded(math.expm1), "log1p": _log1p,
    "erfc": _guarded(math.erfc), "lgamma": _lgamma,
    "round": _round, "rem": _remainder, "pow": lambda dtype, x, y: _power(x, y),
    "bit_not": lambda dtype, x: ~x, "bit_and": lambda dtype, x, y: x & y, "bit_or": lambda dtype, x, y: x | y,
    "bit_xor": lambda dtype, x, y: x ^ y, "shift_left": _shift_left, "shift_right": _shift_right,
}
