# SPDX-License-Identifier: Apache-2.0
"""Rewrite rules of arithmetic that are exact under docs/numerics.md: same bits, or both NaN, for every input.

Hence no x*0 and no x + (+0) on floats (-0 + +0 is +0), and nothing is ever reassociated. A rule takes the builder
and a node that is not part of the function yet, and gives the value that stands for it, or None. Bits are compared
and moved here, never computed with; arithmetic on constants is the constant graph's.
"""
from __future__ import annotations

from typing import Any, Callable

from ..symbolic import ONE
from .dtypes import DTYPES, Dtype, keeps_values, of_integer, widened
from .ir import Node, TensorType, Value
from .rewrite import Builder
from .table import PRIMITIVES

# op -> the bits of e with `x op e` equal to x for all x of a dtype
_RIGHT_IDENTITY: dict[str, Callable[[Dtype], int]] = {
    "add": lambda t: t.minus_zero, "sub": lambda t: 0, "mul": lambda t: t.one, "div": lambda t: t.one,
    "maximum": lambda t: t.lowest, "minimum": lambda t: t.highest, "bit_and": lambda t: t.mask, "bit_or": lambda t: 0,
    "bit_xor": lambda t: 0, "shift_left": lambda t: 0, "shift_right": lambda t: 0}

_MOST_WORD = (1 << 31) - 1


def uniform(value: Value) -> int | None:
    """The bits of every element where the value is a constant, or a constant repeated."""
    node = value.node
    if node.op == "broadcast":
        node = node.operands[0].node
    return node.attrs["bits"] if node.op == "constant" else None


def _made_by(value: Value, op: str) -> Node | None:
    return value.node if value.node.op == op else None


def constant_like(b: Builder, bits: int, n: Node) -> Value:
    """A value of n's type whose elements all have `bits`."""
    return b.filled(n.types[0], bits, n)


def constant_second(b: Builder, n: Node) -> Value | None:
    """c op x -> x op c for commutative op, so that other rules look for constants on one side."""
    x, y = n.operands
    if uniform(x) is not None and uniform(y) is None:
        return b.value(n.op, y, x, like=n)
    return None


def identity_operand(b: Builder, n: Node) -> Value | None:
    """x + (-0), x - (+0), x * 1, x / 1, max(x, -inf), min(x, +inf) -> x, and their integer kin."""
    x, y = n.operands
    bits = uniform(y)
    return x if bits is not None and bits == _RIGHT_IDENTITY[n.op](DTYPES[x.dtype]) else None


def negate_by_product(b: Builder, n: Node) -> Value | None:
    """x * -1, x / -1 -> -x (an unsigned quotient has no -1)."""
    x, y = n.operands
    dtype = DTYPES[x.dtype]
    if uniform(y) != dtype.minus_one or (n.op == "div" and dtype.kind == "unsigned"):
        return None
    return b.value("neg", x, like=n)


def negate_by_difference(b: Builder, n: Node) -> Value | None:
    """(-0) - x -> -x."""
    x, y = n.operands
    return b.value("neg", y, like=n) if uniform(x) == DTYPES[x.dtype].minus_zero else None


def add_negated(b: Builder, n: Node) -> Value | None:
    """x + -y -> x - y and -x + y -> y - x."""
    x, y = n.operands
    if (inner := _made_by(y, "neg")) is not None:
        return b.value("sub", x, inner.operands[0], like=n)
    if (inner := _made_by(x, "neg")) is not None:
        return b.value("sub", y, inner.operands[0], like=n)
    return None


def subtract_negated(b: Builder, n: Node) -> Value | None:
    """x - -y -> x + y."""
    inner = _made_by(n.operands[1], "neg")
    return b.value("add", n.operands[0], inner.operands[0], like=n) if inner is not None else None


def product_of_negated(b: Builder, n: Node) -> Value | None:
    """-x * -y -> x * y; -x / -y -> x / y (floats: the signs cancel; integer division wraps, so not there)."""
    x, y = (_made_by(v, "neg") for v in n.operands)
    if x is None or y is None or (n.op == "div" and not DTYPES[n.types[0].dtype].is_float):
        return None
    return b.value(n.op, x.operands[0], y.operands[0], like=n)


def divide_by_power_of_two(b: Builder, n: Node) -> Value | None:
    """x / 2**k -> x * 2**-k: both round the same number once. The reciprocal's bits follow from the exponent's."""
    x, y = n.operands
    dtype = DTYPES[x.dtype]
    bits = uniform(y) if dtype.is_float else None
    if bits is None or bits & dtype.fraction:
        return None
    exponent, most = (bits & ~dtype.sign) >> dtype.digits - 1, 2 * dtype.bias
    if not 1 <= exponent < most:
        return None
    return b.value("mul", x, constant_like(b, bits & dtype.sign | (most - exponent) << dtype.digits - 1, n), like=n)


def double_negation(b: Builder, n: Node) -> Value | None:
    """--x -> x, not not x -> x."""
    inner = _made_by(n.operands[0], n.op)
    return inner.operands[0] if inner is not None else None


def absolute_twice(b: Builder, n: Node) -> Value | None:
    """|(|x|)| -> |x|, |-x| -> |x|; unsigned numbers are their own."""
    x = n.operands[0]
    if DTYPES[x.dtype].kind == "unsigned":
        return x
    if x.node.op == "abs":
        return x
    return b.value("abs", x.node.operands[0], like=n) if x.node.op == "neg" else None


def idempotent(b: Builder, n: Node) -> Value | None:
    """max(x, x), min(x, x), x and x, x or x -> x."""
    return n.operands[0] if n.operands[0] == n.operands[1] else None


def absorbed_extreme(b: Builder, n: Node) -> Value | None:
    """max(max(x, y), y) -> max(x, y); likewise min, and, or. Equal constants count as one value."""
    x, y = n.operands
    for outer, other in ((x, y), (y, x)):
        if outer.node.op == n.op and any(v == other or (uniform(v) is not None and uniform(v) == uniform(other))
                                         for v in outer.node.operands):
            return outer
    return None


def logical_constant(b: Builder, n: Node) -> Value | None:
    """x and true -> x, x and false -> false, x or false -> x, x or true -> true, x xor false -> x, x xor true -> not
    x."""
    x, y = n.operands
    bits = uniform(y)
    if bits is None:
        return None
    if n.op == "logical_xor":
        return b.value("logical_not", x, like=n) if bits else x
    return x if bits == (n.op == "logical_and") else y


def compare_with_itself(b: Builder, n: Node) -> Value | None:
    """x == x and its kin where x cannot be NaN."""
    x, y = n.operands
    if x != y or DTYPES[x.dtype].is_float:
        return None
    return constant_like(b, int(n.op in ("eq", "le", "ge")), n)


def cast_chain(b: Builder, n: Node) -> Value | None:
    """cast(cast(x)) -> one cast, or none, where the inner one keeps every value. From integers by way of a float to
    integers the outer one saturates, where one cast would wrap: only if it keeps all values too. A cast to fewer digits
    and back is a rounding and stays."""
    x = n.operands[0]
    if x.dtype == n.attrs["dtype"]:
        return x
    if x.node.op == "cast":
        source = x.node.operands[0]
        ends = DTYPES[source.dtype], DTYPES[n.attrs["dtype"]]
        saturates = DTYPES[x.dtype].is_float and all(d.is_integer for d in ends)
        if keeps_values(source.dtype, x.dtype) and (not saturates or keeps_values(source.dtype, n.attrs["dtype"])):
            return source if source.dtype == n.attrs["dtype"] else b.value("cast", source, like=n, **n.attrs)
    return None


def bitcast_chain(b: Builder, n: Node) -> Value | None:
    """bitcast(bitcast(x)) -> x, a bitcast, or a cast of integers to those of the other sign."""
    x, to = n.operands[0], n.attrs["dtype"]
    if x.node.op != "bitcast":
        return None
    source = x.node.operands[0]
    if source.dtype == to:
        return source
    integers = DTYPES[to].is_integer and DTYPES[source.dtype].is_integer
    return b.value("cast", source, like=n, dtype=to) if integers else None


def bitcast_constant(b: Builder, n: Node) -> Value | None:
    """bitcast(c) -> the constant of the same bits."""
    x = n.operands[0]
    return constant_like(b, x.node.attrs["bits"], n) if x.node.op == "constant" else None


def cast_constant(b: Builder, n: Node) -> Value | None:
    """cast(c) -> the constant of the same value: of a float in a wider one, of an integer in a float that has it."""
    x, to = n.operands[0], n.attrs["dtype"]
    if x.node.op != "constant":
        return None
    if DTYPES[x.dtype].is_integer and DTYPES[to].is_float:
        bits = of_integer(DTYPES[x.dtype].number(x.node.attrs["bits"]), to)
        return None if bits is None else constant_like(b, bits, n)
    if not (DTYPES[x.dtype].is_float and keeps_values(x.dtype, to)):
        return None
    return constant_like(b, widened(x.node.attrs["bits"], x.dtype, to), n)


def select_constant(b: Builder, n: Node) -> Value | None:
    """select(true, x, y) -> x, select(false, x, y) -> y, select(p, x, x) -> x."""
    p, x, y = n.operands
    if x == y:
        return x
    bits = uniform(p)
    return None if bits is None else x if bits else y


def select_negated(b: Builder, n: Node) -> Value | None:
    """select(not p, x, y) -> select(p, y, x)."""
    p, x, y = n.operands
    return b.value("select", p.node.operands[0], y, x, like=n) if p.node.op == "logical_not" else None


def select_of_truth(b: Builder, n: Node) -> Value | None:
    """select(p, true, false) -> p, select(p, false, true) -> not p."""
    p, x, y = n.operands
    truth = (uniform(x), uniform(y)) if x.dtype == "bool" else None
    return p if truth == (1, 0) else b.value("logical_not", p, like=n) if truth == (0, 1) else None


def elementwise_of_broadcasts(b: Builder, n: Node) -> Value | None:
    """f(broadcast(x), broadcast(y)) -> broadcast(f(x, y)) where both are repeated alike, or are scalars repeated."""
    if any(v.node.op != "broadcast" for v in n.operands):
        return None
    repeats = [v.node for v in n.operands]
    inner = [r.operands[0] for r in repeats]
    whole = next((r for r in repeats if r.operands[0].type.rank), repeats[0])
    axes, small = whole.attrs["axes"], whole.operands[0].shape
    if any(v.type.rank and (v.shape != small or r.attrs["axes"] != axes) for v, r in zip(inner, repeats)):
        return None
    if small:
        inner = [v if v.type.rank else b.value("broadcast", v, like=n, shape=small, axes=()) for v in inner]
    return b.value("broadcast", b.value(n.op, *inner, like=n, **n.attrs), like=n, shape=n.types[0].shape, axes=axes)


def known_dim(b: Builder, n: Node) -> Value | None:
    """dim_value of a constant -> constant."""
    value = n.attrs["value"][0]
    if not value.is_const:
        return None
    dtype = n.types[0].dtype
    return constant_like(b, value.value & DTYPES[dtype].mask, n)


def compare_in_words(b: Builder, n: Node) -> Value | None:
    """Positions along the last axis, compared with 64-bit integers that are the same along it: 32 bits tell the same of
    these limited to -1..2^31-1, where there are vectors."""
    numbers = [_along_last(x) for x in n.operands]
    if numbers[0] is numbers[1]:
        return None
    which = 0 if numbers[0] else 1
    number, other = n.operands[which], n.operands[1 - which].node
    if number.dtype != "i64" or other.op != "broadcast" or number.type.rank - 1 in other.attrs["axes"] \
            or uniform(n.operands[1 - which]) is not None:
        return None
    x = other.operands[0]
    if x.node.op == "iota":    # of another axis
        return None
    low, high = (b.filled(x.type, bits, n) for bits in (DTYPES["i64"].minus_one, _MOST_WORD))
    limited = b.value("minimum", b.value("maximum", x, low, like=n), high, like=n)
    word = b.value("cast", limited, like=n, dtype="i32")
    counted = number.node if number.node.op == "iota" else number.node.operands[0].node
    count = b.value("iota", like=n, types=(TensorType("i32", counted.types[0].shape),), axis=counted.attrs["axis"])
    if number.node.op == "broadcast":
        count = b.value("broadcast", count, like=n, **number.node.attrs)
    pair = [count, b.value("broadcast", word, like=n, **other.attrs)]
    return b.value(n.op, *(pair if which == 0 else reversed(pair)), like=n)


def _along_last(x: Value) -> bool:
    """iota along x's last axis, fewer than 2^31 numbers."""
    node, axis = x.node, x.type.rank - 1
    if node.op == "broadcast":
        node = node.operands[0].node
        axis = next((i for i, a in enumerate(x.node.attrs["axes"]) if a == axis), -1)
    if node.op != "iota" or node.attrs["axis"] != axis:
        return False
    _, most = node.types[0].shape[axis].range()
    return most is not None and most <= _MOST_WORD


def iota_of_one(b: Builder, n: Node) -> Value | None:
    """iota along an axis of size 1 -> zeros."""
    return constant_like(b, 0, n) if n.types[0].shape[n.attrs["axis"]] is ONE else None


_ARITHMETIC = (("constant_second", constant_second), ("identity_operand", identity_operand))
_WORDS = (("compare_in_words", compare_in_words),)
_LAST = (("elementwise_of_broadcasts", elementwise_of_broadcasts),)

RULES: dict[str, tuple[Any, ...]] = {
    **{name: _LAST for name, primitive in PRIMITIVES.items() if primitive.elementwise},
    "neg": (("double_negation", double_negation), *_LAST),
    "abs": (("absolute_twice", absolute_twice), *_LAST),
    "bit_not": (("double_negation", double_negation), *_LAST),
    "logical_not": (("double_negation", double_negation), *_LAST),
    "cast": (("cast_chain", cast_chain), ("cast_constant", cast_constant), *_LAST),
    "bitcast": (("bitcast_chain", bitcast_chain), ("bitcast_constant", bitcast_constant), *_LAST),
    "add": (*_ARITHMETIC, ("add_negated", add_negated), *_LAST),
    "sub": (("identity_operand", identity_operand), ("negate_by_difference", negate_by_difference),
            ("subtract_negated", subtract_negated), *_LAST),
    "mul": (*_ARITHMETIC, ("negate_by_product", negate_by_product), ("product_of_negated", product_of_negated), *_LAST),
    "div": (("identity_operand", identity_operand), ("negate_by_product", negate_by_product),
            ("product_of_negated", product_of_negated), ("divide_by_power_of_two", divide_by_power_of_two), *_LAST),
    "maximum": (*_ARITHMETIC, ("idempotent", idempotent), ("absorbed_extreme", absorbed_extreme), *_LAST),
    "minimum": (*_ARITHMETIC, ("idempotent", idempotent), ("absorbed_extreme", absorbed_extreme), *_LAST),
    "bit_and": (*_ARITHMETIC, ("idempotent", idempotent), *_LAST),
    "bit_or": (*_ARITHMETIC, ("idempotent", idempotent), *_LAST), "bit_xor": (*_ARITHMETIC, *_LAST),
    **{op: (("identity_operand", identity_operand), *_LAST) for op in ("shift_left", "shift_right")},
    "logical_and": (("constant_second", constant_second), ("logical_constant", logical_constant),
                    ("idempotent", idempotent), ("absorbed_extreme", absorbed_extreme), *_LAST),
    "logical_or": (("constant_second", constant_second), ("logical_constant", logical_constant),
                   ("idempotent", idempotent), ("absorbed_extreme", absorbed_extreme), *_LAST),
    "logical_xor": (("constant_second", constant_second), ("logical_constant", logical_constant), *_LAST),
    "eq": (("constant_second", constant_second), ("compare_with_itself", compare_with_itself), *_WORDS, *_LAST),
    "ne": (("constant_second", constant_second), ("compare_with_itself", compare_with_itself), *_WORDS, *_LAST),
    **{op: (("compare_with_itself", compare_with_itself), *_WORDS, *_LAST) for op in ("lt", "le", "gt", "ge")},
    "select": (("select_constant", select_constant), ("select_of_truth", select_of_truth),
               ("select_negated", select_negated), *_LAST),
    "dim_value": (("known_dim", known_dim),),
    "iota": (("iota_of_one", iota_of_one),),
}
