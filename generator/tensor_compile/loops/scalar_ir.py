# SPDX-License-Identifier: Apache-2.0
"""Data of the loop IR (docs/loops.md): buffers and scalar expressions, of which loop_ir.py makes kernels.

Scalar expressions are interned: equal ones are one object, so `is` and dict lookups are cheap on shared DAGs.
"""
from __future__ import annotations

from itertools import count
from typing import Any, Container, Hashable, Self, TypeAlias

from ..records import dataclass
from ..symbolic import Expr, Sym, ZERO, ONE, product


# -- buffers --------------------------------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class Buffer:
    """A tensor in memory. `order` lists the logical dims from slowest to fastest; elements are dense in that order.

    kind: input | output | state | packed (read-only, built at build time) | temp (arena) | scratch (arena, one
    instance a thread, for one kernel; `shape` is one thread's) | tile (the same, for the kernels of one tile region).
    """

    name: str
    dtype: str
    shape: tuple[Expr, ...]
    order: tuple[int, ...]
    kind: str

    @property
    def elements(self) -> Expr:
        return product(self.shape)

    @property
    def is_empty(self) -> bool:
        """It has no element, whatever the dims are."""
        return self.elements.is_const and self.elements.value == 0

    @property
    def strides(self) -> tuple[Expr, ...]:
        out: list[Expr] = [ONE] * len(self.shape)
        step = ONE
        for d in reversed(self.order):
            out[d], step = step, step * self.shape[d]
        return tuple(out)

    def address(self, index: tuple[Expr, ...]) -> Expr:
        """Element offset of a logical index."""
        total = ZERO
        for i, stride in zip(index, self.strides, strict=True):
            total = total + i * stride
        return total


def row_major(shape: tuple[Expr, ...]) -> tuple[int, ...]:
    """The `order` of a buffer whose last dim is the fastest."""
    return tuple(range(len(shape)))


def unused(buffers: Container[str], prefix: str, first: int = 0) -> str:
    """A name for a new buffer: the prefix with the first number that none of the buffers has."""
    return next(name for i in count(first) if (name := f"{prefix}{i}") not in buffers)


# -- scalar expressions ---------------------------------------------------------------------------------------------
class Scalar:
    """Base of the scalar expressions; `dtype` is the dtype of the value."""

    __slots__ = ("dtype", "key")
    dtype: str
    key: tuple[Hashable, ...]
    _interned: dict[tuple[Hashable, ...], Any] = {}

    @classmethod
    def _intern(cls, *fields: Hashable) -> Self:
        key = (cls, *fields)
        interned = Scalar._interned.get(key)
        if interned is None:
            interned = object.__new__(cls)
            interned.key = key
            Scalar._interned[key] = interned
        return interned

    @property
    def children(self) -> tuple["Scalar", ...]:
        return ()


class Const(Scalar):
    """A value by its bit pattern."""

    __slots__ = ("bits",)
    bits: int

    def __new__(cls, dtype: str, bits: int) -> Self:
        self = cls._intern(dtype, bits)
        self.dtype, self.bits = dtype, bits
        return self


class IndexValue(Scalar):
    """The value of an index expression as i32 or i64."""

    __slots__ = ("expr",)
    expr: Expr

    def __new__(cls, dtype: str, expr: Expr) -> Self:
        self = cls._intern(dtype, expr)
        self.dtype, self.expr = dtype, expr
        return self


class Load(Scalar):
    """buffer[index], index one Expr a logical dim.

    valid  expressions that must all be >= 0 for the element to exist; where one is not, the value is `other`
           (a Const) and memory is not touched.
    dynamic  pairs (symbol, Scalar): data-dependent index symbols and the i32/i64 values they stand for.
    """

    __slots__ = ("buffer", "index", "valid", "other", "dynamic")
    buffer: str
    index: tuple[Expr, ...]
    valid: tuple[Expr, ...]
    other: Const | None
    dynamic: Dynamic

    def __new__(cls, buffer: str, dtype: str, index: tuple[Expr, ...], valid: tuple[Expr, ...] = (),
                other: Const | None = None, dynamic: Dynamic = ()) -> Self:
        self = cls._intern(buffer, dtype, index, valid, other, dynamic)
        self.dtype, self.buffer, self.index = dtype, buffer, index
        self.valid, self.other, self.dynamic = valid, other, dynamic
        return self

    @property
    def children(self) -> tuple[Scalar, ...]:
        return tuple(v for _, v in self.dynamic)


class Apply(Scalar):
    """A scalar operation of docs/numerics.md on operands; `cast` converts args[0].dtype to dtype, `bitcast` keeps the
    bits."""

    __slots__ = ("op", "args")
    op: str
    args: tuple[Scalar, ...]

    def __new__(cls, op: str, dtype: str, args: tuple[Scalar, ...]) -> Self:
        self = cls._intern(op, dtype, args)
        self.dtype, self.op, self.args = dtype, op, args
        return self

    @property
    def children(self) -> tuple[Scalar, ...]:
        return self.args


class InBounds(Scalar):
    """bool: all expressions are >= 0 (the predicate of pad and concat over computed values)."""

    __slots__ = ("exprs",)
    exprs: tuple[Expr, ...]

    def __new__(cls, exprs: tuple[Expr, ...]) -> Self:
        self = cls._intern("bool", exprs)
        self.dtype, self.exprs = "bool", exprs
        return self


class Reduction(Scalar):
    """A reduction of `value` over `vars` (nested, first outermost; term number = row-major position).

    op     sum | prod | max | min | any | all | dot (value is the pair of factors: Apply('pair', dtype, (a, b)); one
    fused
           multiply-add a term) | argmax | argmin (i64 position of the first extreme)
    order  seq | lanes | free | running (docs/numerics.md). running: over one variable, which is one of the point's
           too: the terms up to the point's own, first to last
    valid  expressions that must all be >= 0 for a position to be a term (windows that reach into padding)
    """

    __slots__ = ("op", "order", "vars", "value", "valid")
    op: str
    order: str
    vars: tuple[Sym, ...]
    value: Scalar
    valid: tuple[Expr, ...]

    def __new__(cls, op: str, order: str, dtype: str, vars: tuple[Sym, ...], value: Scalar,
                valid: tuple[Expr, ...] = ()) -> Self:
        self = cls._intern(op, order, dtype, vars, value, valid)
        self.dtype, self.op, self.order, self.vars, self.value, self.valid = dtype, op, order, vars, value, valid
        return self

    @property
    def children(self) -> tuple[Scalar, ...]:
        return (self.value,)


class Sorted(Scalar):
    """i64: the position of the element that stands at place `at` (below `count`) when the values over `var` are sorted.

    The order is docs/numerics.md's: ascending, or descending; equal elements keep theirs. It is one of a row: `at` does
    not depend on `var`, nor `value` on the variables of `at`.
    """

    __slots__ = ("var", "value", "at", "count", "descending")
    var: Sym
    value: Scalar
    at: Expr
    count: Expr
    descending: bool

    def __new__(cls, var: Sym, value: Scalar, at: Expr, count: Expr, descending: bool) -> Self:
        self = cls._intern(var, value, at, count, descending)
        self.dtype, self.var, self.value, self.at, self.count, self.descending = \
            "i64", var, value, at, count, descending
        return self

    @property
    def children(self) -> tuple[Scalar, ...]:
        return (self.value,)


class Acc(Scalar):
    """A finished accumulator of a contraction, inside its epilogue: that of its second operand `number`."""

    __slots__ = ("number",)
    number: int

    def __new__(cls, dtype: str, number: int = 0) -> Self:
        self = cls._intern(dtype, number)
        self.dtype, self.number = dtype, number
        return self


class Local(Scalar):
    """The value of a row reduction of an earlier phase of the same loop nest."""

    __slots__ = ("name",)
    name: str

    def __new__(cls, name: str, dtype: str) -> Self:
        self = cls._intern(name, dtype)
        self.dtype, self.name = dtype, name
        return self


Dynamic: TypeAlias = tuple[tuple[Sym, Scalar], ...]   # index symbols that are data, and their values
