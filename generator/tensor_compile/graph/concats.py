# SPDX-License-Identifier: Apache-2.0
"""Concats: a concatenation that has all operands of another one, side by side, has that one as its operand.

concat(x, y) and concat(x, y, z) become c = concat(x, y) and concat(c, z). Lowering computes c in its part of the larger
one, so that x and y are stored once. The layers of a DenseNet, each of which reads the results of all before it, store
one tensor so. `simplify` makes concatenations flat, also those that a model nests; this pass is behind it.
"""
from __future__ import annotations

from typing import Iterable, Iterator

from .infer import Context
from .ir import Function, Node, Value
from .rewrite import Builder, Values

NARROWEST = 16   # elements along the axis; shorter rows are faster to read where they lie one behind the other

Known = dict[int, dict[tuple[Value, ...], Node]]   # concatenations by number of operands and by operands
Part = Node | Value


def concats(function: Function) -> Function:
    """The function with such concatenations one within the other."""
    known: dict[int, Known] = {}
    for node in function.nodes:
        if node.op == "concat" and len(node.operands) > 1:
            known.setdefault(node.attrs["axis"], {}).setdefault(len(node.operands), {}).setdefault(node.operands, node)
    parts = {node: list(_parts(node.operands, {n: same for n, same in by_length.items() if n < length}))
             for by_length in known.values() for length, found in by_length.items() for node in found.values()}
    if not any(isinstance(part, Node) for of in parts.values() for part in of):
        return function
    builder, values = Builder(function, Context()), Values()
    for node in function.nodes:
        _make(node, parts, builder, values)
    return builder.finish(function, values.__getitem__)


def _parts(operands: tuple[Value, ...], known: Known) -> Iterator[Part]:
    """The operands, in place of runs of them concatenations that hold the same: the longest first."""
    for length in sorted(known, reverse=True):
        for i in range(len(operands) - length + 1):
            found = known[length].get(operands[i:i + length])
            if found is not None and _wide(found):
                yield from _parts(operands[:i], known)
                yield found
                yield from _parts(operands[i + length:], known)
                return
    yield from operands


def _wide(node: Node) -> bool:
    size = node.types[0].shape[node.attrs["axis"]]
    return not size.is_const or size.value >= NARROWEST


def _make(node: Node, parts: dict[Node, list[Part]], builder: Builder, values: Values) -> None:
    """A smaller concatenation that comes later is made where it is needed: all of its operands are there."""
    inner = parts.get(node, node.operands)
    for part in inner:
        if isinstance(part, Node) and Value(part) not in values:
            _make(part, parts, builder, values)
    values.bind(node, builder.again(node, values.all(_values(inner))))


def _values(parts: Iterable[Part]) -> Iterator[Value]:
    return (Value(part) if isinstance(part, Node) else part for part in parts)
