# SPDX-License-Identifier: Apache-2.0
"""What a model computes of its own sizes: integers that are known before a call, dims among them. Converters leave such
steps in where a size may differ, usually the batch: SHAPE, STRIDED_SLICE and PACK before a RESHAPE."""
from __future__ import annotations

import functools
import math
from typing import Callable, Sequence

from ...symbolic import Expr, equal, floordiv, wrap
from ..dims import ARITHMETIC, REPEATED, broadcast, constants
from ..problems import Malformed
from ..values import Value
from .registry import Node

Fold = Callable[[Node, Sequence[Value]], Value | None]
_folds: dict[str, tuple[int, Fold]] = {}    # how many operands there are, 0: any number, and the function

DTYPES = ("i32", "i64")
MOST = 256   # elements of a result


def fold(n: Node) -> bool:
    """Gives the result of a node whose operands are all known integers; whether it could."""
    count, function = _folds.get(n.name, (0, None))
    if function is None or len(n.operator.outputs) != 1 or n.importer.dtype(n.output()) not in DTYPES:
        return False
    operands = []
    for i in range(n.count):
        if not n.has(i) or n.tensor(i).quantization.scales or (x := n.held(i).last) is None or x.dtype not in DTYPES \
                or x.folded is None or constants(x.shape) is None:
            return False
        operands.append(x)
    if not operands or count and len(operands) != count:
        raise Malformed(f"{len(operands)} operands")
    found = function(n, operands)
    if found is None:
        return False
    n.know(found.known or (), found.dtype, found.shape)
    return True


def _folding(*names: str, operands: int = 0) -> Callable[[Fold], Fold]:
    def register(function: Fold) -> Fold:
        for name in names:
            assert name not in _folds, name
            _folds[name] = operands, function
        return function
    return register


def _elements(x: Value) -> list[Expr]:
    return [wrap(e) for e in x.folded or ()]  # type: ignore[arg-type]


def _vector(x: Value, elements: Sequence[Expr], *sizes: int) -> Value:
    return Value(x.dtype, tuple(wrap(s) for s in sizes), tuple(elements))


@_folding(*map(str.upper, ARITHMETIC), "FLOOR_DIV", "DIV", "FLOOR_MOD", operands=2)
def arithmetic(n: Node, operands: Sequence[Value]) -> Value | None:
    a, b = operands
    if n.name in ("ADD", "SUB", "MUL", "DIV") and n.activation:
        return None
    if n.name in ("ADD", "SUB"):
        n.ignore("pot_scale")
    if a.rank > 1 or b.rank > 1 or a.rank and b.rank and not equal(a.shape[0], b.shape[0]):
        return None
    several = a if a.rank else b
    count = len(_elements(several))
    pairs = list(zip(*(_elements(v) * (1 if v.rank else count) for v in (a, b)), strict=True))
    if n.name.lower() in ARITHMETIC:
        found = [ARITHMETIC[n.name.lower()](*pair) for pair in pairs]
    else:
        # A quotient that is rounded towards zero, as that of DIV, is the one that is rounded down where both are sizes.
        if any(not d.is_const or d.value < 1 or c.is_const and c.value < 0 for c, d in pairs):
            return None
        found = [floordiv(c, d) if n.name != "FLOOR_MOD" else c - floordiv(c, d) * d for c, d in pairs]
    return Value(a.dtype, several.shape, tuple(found))


_REDUCTIONS = {"REDUCE_PROD": "prod", "SUM": "sum", "REDUCE_MAX": "amax", "REDUCE_MIN": "amin"}


@_folding(*_REDUCTIONS, operands=2)
def reduction(n: Node, operands: Sequence[Value]) -> Value | None:
    x, keep = operands[0], n.option("keep_dims")
    if x.rank != 1 or not (found := _elements(x)):
        return None
    return _vector(x, [functools.reduce(ARITHMETIC[REPEATED[_REDUCTIONS[n.name]]], found)], *[1] * keep)


@_folding("PACK")
def pack(n: Node, operands: Sequence[Value]) -> Value | None:
    n.ignore("count")
    if n.option("axis") or any(x.rank for x in operands):
        return None
    return _vector(operands[0], [e for x in operands for e in _elements(x)], len(operands))


@_folding("CONCATENATION")
def concat(n: Node, operands: Sequence[Value]) -> Value | None:
    if n.option("axis") not in (0, -1) or n.activation or any(x.rank != 1 for x in operands):
        return None
    found = [e for x in operands for e in _elements(x)]
    return _vector(operands[0], found, len(found)) if len(found) <= MOST else None


@_folding("STRIDED_SLICE", operands=4)
def strided_slice(n: Node, operands: Sequence[Value]) -> Value | None:
    x, bounds = operands[0], [v.integers for v in operands[1:]]
    masks = {name: n.option(f"{name}_mask") for name in ("begin", "end", "shrink_axis", "ellipsis", "new_axis")}
    if x.rank != 1 or any(b is None or len(b) != 1 for b in bounds) or masks["ellipsis"] or masks["new_axis"]:
        return None
    begin, end, step = (b[0] for b in bounds if b is not None)
    found = _elements(x)
    if masks["shrink_axis"]:
        return _vector(x, [found[begin]]) if -len(found) <= begin < len(found) else None
    if not step:
        return None
    found = found[None if masks["begin"] else begin:None if masks["end"] else end:step]
    return _vector(x, found, len(found))


@_folding("GATHER", operands=2)
def gather(n: Node, operands: Sequence[Value]) -> Value | None:
    x, index = operands[0], operands[1].integers
    if x.rank != 1 or index is None or n.option("axis") not in (0, -1) or n.option("batch_dims"):
        return None
    sizes = constants(operands[1].shape)
    if sizes is None or math.prod(sizes) > MOST or any(not 0 <= i < len(_elements(x)) for i in index):
        return None
    return _vector(x, [_elements(x)[i] for i in index], *sizes)


@_folding("FILL", operands=2)
def fill(n: Node, operands: Sequence[Value]) -> Value | None:
    sizes = operands[0].integers
    if sizes is None or operands[1].rank or any(s < 0 for s in sizes) or math.prod(sizes) > MOST:
        return None
    return _vector(operands[1], _elements(operands[1]) * math.prod(sizes), *sizes)


@_folding("RANGE", operands=3)
def steps(n: Node, operands: Sequence[Value]) -> Value | None:
    numbers = [v.integers for v in operands]
    if any(v is None or len(v) != 1 for v in numbers):
        return None
    first, limit, step = (v[0] for v in numbers if v is not None)
    found = range(first, limit, step) if step else range(0)
    return _vector(operands[0], [wrap(i) for i in found], len(found)) if 0 < len(found) <= MOST else None


@_folding("BROADCAST_ARGS", operands=2)
def broadcast_args(n: Node, operands: Sequence[Value]) -> Value | None:
    """The shape that two shapes broadcast to."""
    if any(x.rank != 1 for x in operands):
        return None
    found = broadcast(*(tuple(_elements(x)) for x in operands))
    return None if found is None else _vector(operands[0], found, len(found))


@_folding("CAST", operands=1)
def cast(n: Node, operands: Sequence[Value]) -> Value | None:
    n.ignore("from", "to")
    return Value(n.importer.dtype(n.output()), operands[0].shape, tuple(_elements(operands[0])))


@_folding("SQUEEZE", "EXPAND_DIMS", "RESHAPE")
def one_axis(n: Node, operands: Sequence[Value]) -> Value | None:
    """One number, or a vector that stays one, in the shape that the file gives."""
    x, sizes = operands[0], n.output().shape
    if len(sizes) > 1 or math.prod(sizes) != len(_elements(x)):
        return None
    if n.name != "EXPAND_DIMS":
        n.ignore("dims" if n.name == "SQUEEZE" else "new_shape")
    return _vector(x, _elements(x), *sizes)


@_folding("REVERSE_V2", operands=2)
def reverse(n: Node, operands: Sequence[Value]) -> Value | None:
    x = operands[0]
    return _vector(x, _elements(x)[::-1], len(_elements(x))) if x.rank == 1 else None
