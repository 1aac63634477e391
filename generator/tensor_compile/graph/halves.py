# SPDX-License-Identifier: Apache-2.0
"""Halves: concat(-x[h:], x[:h]), as models that come from elsewhere write rotary positions, is x with its halves
exchanged: a view, and the sign one operation where it is read. A device then multiplies, exchanges and adds in the
kernel of the product in front (loops/paired.py); as a concat these are three kernels more."""
from __future__ import annotations

from ..symbolic import Expr, wrap
from .infer import Context
from .ir import Function, Node, TensorType, Value
from .rewrite import Builder, Values

Shape = tuple[Expr, ...]


def halves(function: Function) -> Function:
    """The function with such concats as views."""
    found = {node: of for node in function.nodes if (of := _exchanged(node))}
    if not found:
        return function
    builder, values = Builder(function, Context(), share=False), Values()
    for node in function.nodes:
        if node in found:
            x, *negated = found[node]
            values[Value(node)] = _view(builder, node, values[x], *negated)
        else:
            values.bind(node, builder.again(node, values.all(node.operands)))
    return builder.finish(function, values.__getitem__)


def _exchanged(node: Node) -> tuple[Value, bool, bool] | None:
    """What the two halves are of that a concat exchanges, and which of its operands are negated."""
    if node.op != "concat" or len(node.operands) != 2:
        return None
    axis, size = node.attrs["axis"], node.types[0].shape[node.attrs["axis"]]
    first, second = (_half(v, axis) for v in node.operands)
    if first is None or second is None or first[0] != second[0] or first[0].shape != node.types[0].shape \
            or not size.is_const or size.value % 2:
        return None
    half = size.value // 2
    return (first[0], first[2], second[2]) if (first[1], second[1]) == (half, 0) else None


def _half(value: Value, axis: int) -> tuple[Value, int, bool] | None:
    """(x, first element, negated) of a slice of x along one axis that starts at a constant."""
    negated = value.node.op == "neg"
    node = value.node.operands[0].node if negated else value.node
    if node.op != "slice":
        return None
    x, start = node.operands[0], node.attrs["start"]
    along = all(d == axis or (not s.terms and size is x.shape[d])
                for d, (s, size) in enumerate(zip(start, node.attrs["size"])))
    if not along or node.attrs["stride"][axis] != 1 or not start[axis].is_const \
            or node.attrs["size"][axis] * 2 is not x.shape[axis]:
        return None
    return x, start[axis].value, negated


def _view(b: Builder, node: Node, x: Value, first: bool, second: bool) -> Value:
    """x with its halves exchanged, those negated that are to be."""
    axis, shape = node.attrs["axis"], node.types[0].shape
    split = (*shape[:axis], wrap(2), wrap(shape[axis].value // 2), *shape[axis + 1:])
    made = b.value("reverse", b.value("reshape", x, like=node, shape=split), like=node, axes=(axis,))
    if first or second:
        other = b.value("neg", made, like=node)
        made = other if first and second else b.value("select", _is_first(b, node, split, axis),
                                                      *((other, made) if first else (made, other)), like=node)
    return b.value("reshape", made, like=node, shape=shape)


def _is_first(b: Builder, node: Node, split: Shape, axis: int) -> Value:
    """Whether an element lies in the first half, for each."""
    two = TensorType("i32", (wrap(2),))
    number = b.value("iota", like=node, types=(two,), axis=0)
    is_first = b.value("eq", number, b.filled(two, 0, node), like=node)
    return b.value("broadcast", is_first, like=node, shape=split, axes=(axis,))
