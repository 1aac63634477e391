# SPDX-License-Identifier: Apache-2.0
"""Scalar values and operations as Python and the host's libm have them; reductions in the orders of docs/numerics.md.

A float is Python's, rounded to its dtype; an integer is in the range of its dtype; a bool is 0 or 1. Arithmetic is done
in double and rounded once more, which for + - * / and square roots of f32 is the correctly rounded result. The last
bits of the math functions are the host's.
"""
from __future__ import annotations

import math
import struct
from functools import cmp_to_key
from typing import Any, Callable

from tensor_compile.graph.dtypes import DTYPES, FLOATS

FORMATS = {"f32": "<f", "f64": "<d", "f16": "<e"}      # of struct
WIDTHS = {d.name: d.bits for d in DTYPES.values() if d.is_integer}


# -- values -----------------------------------------------------------------------------------------------------------
def rounded(dtype: str, x: float) -> float:
    """The nearest float of the dtype (bf16: of the nearest f32)."""
    if dtype == "bf16":
        bits = to_bits("f32", rounded("f32", x))
        return x if x != x else from_bits("f32", bits + 0x7fff + (bits >> 16 & 1) & 0xffff0000)
    try:
        return struct.unpack(FORMATS[dtype], struct.pack(FORMATS[dtype], x))[0]
    except OverflowError:
        return math.copysign(math.inf, x)


def wrap(dtype: str, x: int) -> int:
    """The integer of the dtype with the same low bits."""
    half = 1 << DTYPES[dtype].bits - 1 if DTYPES[dtype].kind == "signed" else 0
    return (x + half) % (1 << DTYPES[dtype].bits) - half


def number(dtype: str, x: Any) -> Any:
    """A result that is not rounded, or not wrapped, yet."""
    return rounded(dtype, x) if dtype in FLOATS else int(bool(x)) if dtype == "bool" else wrap(dtype, x)


def from_bits(dtype: str, bits: int) -> Any:
    if dtype == "bf16":
        return from_bits("f32", bits << 16)
    if dtype in FLOATS:
        return struct.unpack(FORMATS[dtype], bits.to_bytes(DTYPES[dtype].bytes, "little"))[0]
    return bits if dtype == "bool" else wrap(dtype, bits)


def to_bits(dtype: str, x: Any) -> int:
    if dtype == "bf16":
        return to_bits("f32", x) >> 16
    if dtype in FLOATS:
        return int.from_bytes(struct.pack(FORMATS[dtype], x), "little")
    return x & DTYPES[dtype].mask


def ends(dtype: str) -> tuple[Any, Any]:
    """The smallest and the largest value."""
    return from_bits(dtype, DTYPES[dtype].lowest), from_bits(dtype, DTYPES[dtype].highest)


def cast(to: str, source: str, x: Any) -> Any:
    if to == "bool":
        return int(x != 0)
    if to in FLOATS:
        return rounded(to, float(x))
    if source not in FLOATS:
        return wrap(to, x)
    low, high = ends(to)
    return 0 if x != x else max(low, min(high, math.trunc(x) if math.isfinite(x) else high if x > 0 else low))


# -- operations -------------------------------------------------------------------------------------------------------
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


def _quotient(dtype: str, x: Any, y: Any) -> Any:
    if dtype not in FLOATS:
        return 0 if y == 0 else abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)
    if y == 0:
        return math.nan if x == 0 or x != x else math.copysign(math.inf, math.copysign(1, x) * math.copysign(1, y))
    return x / y


def _extreme(x: Any, y: Any, sign: int) -> Any:
    if x != x or y != y:
        return math.nan
    if x == y == 0 and isinstance(x, float):
        return x if math.copysign(1, x) * sign > 0 else y
    return x if x * sign > y * sign else y


def maximum(x: Any, y: Any) -> Any:
    """NaN where one is; -0 is below +0."""
    return _extreme(x, y, 1)


def minimum(x: Any, y: Any) -> Any:
    return _extreme(x, y, -1)


def _log(dtype: str, x: float) -> float:
    return math.nan if x < 0 or x != x else -math.inf if x == 0 else math.log(x)


def _floor(dtype: str, x: float) -> float:
    return x if x == 0 or not math.isfinite(x) else float(math.floor(x))


# op -> f(dtype of the operands, operands...); the result is not rounded, or not wrapped, yet
OPERATIONS: dict[str, Callable[..., Any]] = {
    **FUNCTIONS, "neg": lambda t, x: -x, "abs": lambda t, x: abs(x), "exp": _guarded(math.exp), "log": _log,
    "tanh": _guarded(math.tanh), "erf": _guarded(math.erf), "sqrt": _guarded(math.sqrt), "floor": _floor,
    "add": lambda t, x, y: x + y, "sub": lambda t, x, y: x - y, "mul": lambda t, x, y: x * y, "div": _quotient,
    "maximum": lambda t, x, y: maximum(x, y), "minimum": lambda t, x, y: minimum(x, y),
    "logical_not": lambda t, x: not x, "logical_and": lambda t, x, y: x and y, "logical_or": lambda t, x, y: x or y,
    "logical_xor": lambda t, x, y: x != y, "eq": lambda t, x, y: x == y, "ne": lambda t, x, y: x != y,
    "lt": lambda t, x, y: x < y, "le": lambda t, x, y: x <= y, "gt": lambda t, x, y: x > y,
    "ge": lambda t, x, y: x >= y,
}


def scalar(op: str, dtype: str, source: str, *args: Any) -> Any:
    """One scalar operation. dtype: of the result; source: of the last operand."""
    if op == "cast":
        return cast(dtype, source, args[0])
    if op == "bitcast":
        return from_bits(dtype, to_bits(source, args[0]))
    if op == "select":
        return args[1] if args[0] else args[2]
    if op == "pair":
        return args
    return number(dtype, OPERATIONS[op](source, *args))


# -- reductions -------------------------------------------------------------------------------------------------------
def positions(terms: list, descending: bool) -> list[int]:
    """Where the sorted terms were: a NaN above every number, equal ones in their order."""
    def before(a: int, b: int) -> bool:
        x, y = (terms[b], terms[a]) if descending else (terms[a], terms[b])
        return x == x and (y != y or x < y)
    return sorted(range(len(terms)), key=cmp_to_key(lambda a, b: -1 if before(a, b) else before(b, a)))


def _fma(dtype: str, a: float, b: float, c: float) -> float:
    return rounded(dtype, a * b + c)


def lanes(op: str, dtype: str, terms: list) -> Any:
    """The `lanes` order: 16 lanes a block of 4096, a tree over the lanes, blocks in order. None where there is no term,
    as is the result of none."""
    def join(a: Any, b: Any) -> Any:
        if a is None or b is None:
            return b if a is None else a
        return rounded(dtype, a * b if op == "prod" else a + b)

    total = None
    for start in range(0, len(terms), 4096):
        acc: list = [None] * 16
        for i, t in enumerate(terms[start:start + 4096]):
            if t is not None and op == "dot":
                acc[i % 16] = rounded(dtype, t[0] * t[1]) if acc[i % 16] is None else _fma(dtype, *t, acc[i % 16])
            elif t is not None:
                acc[i % 16] = join(acc[i % 16], t)
        for step in (8, 4, 2, 1):
            for j in range(step):
                acc[j] = join(acc[j], acc[j + step])
        total = join(total, acc[0])
    return total


def of_none(op: str, dtype: str) -> Any:
    """The reduction of no terms."""
    if op in ("max", "min"):
        return ends(dtype)[op == "min"]
    return number(dtype, 1 if op in ("prod", "all") else 0)


def reduce(op: str, order: str, dtype: str, terms: list) -> Any:
    """Of `dot` the terms are pairs. None: there is no term at that position."""
    if order == "lanes":
        total = lanes(op, dtype, terms)
        return of_none(op, dtype) if total is None else total
    terms = [t for t in terms if t is not None]
    if op in ("argmax", "argmin"):
        best = 0
        for i, t in enumerate(terms):
            if t != t:
                return i
            if t > terms[best] if op == "argmax" else t < terms[best]:
                best = i
        return best
    if op == "dot":
        if dtype not in FLOATS:
            return wrap(dtype, sum(a * b for a, b in terms))
        total = 0.0
        for a, b in terms:
            total = _fma(dtype, a, b, total)
        return rounded(dtype, total + 0.0)
    if op == "sum" and order == "seq" and dtype in FLOATS:
        total = 0.0
        for t in terms:
            total = rounded(dtype, total + t)
        return rounded(dtype, total + 0.0)
    if not terms:
        return of_none(op, dtype)
    if op in ("any", "all"):
        return int((any if op == "any" else all)(terms))
    total = terms[0]
    for t in terms[1:]:
        total = number(dtype, total + t) if op == "sum" else number(dtype, total * t) if op == "prod" \
            else maximum(total, t) if op == "max" else minimum(total, t)
    return total


def reduce_where(op: str, order: str, dtype: str, terms: list) -> Any:
    """A reduction with a predicate: None stands where there is no term. A sum of floats ends with + (+0)."""
    total = reduce(op, order, dtype, terms)
    return total + 0.0 if op == "sum" and dtype in FLOATS else total
