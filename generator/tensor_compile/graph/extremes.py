# SPDX-License-Identifier: Apache-2.0
"""Extremes: a maximum or minimum over a window of several axes is taken along one axis after the other.

The maximum of a window of 5x5 is that of five maxima of lines, and neighbouring windows share these: 10 terms an
element in place of 25. Extremes may be taken in any order (docs/numerics.md), and one of a line that lies in the
padding is the neutral element, so every bit stays. Sums have an order and stay whole. A line's extremes are stored and
loaded again, which a small window, or one that moves in large steps, does not pay for; nor does any but a large one
where caches do not hold them.
"""
from __future__ import annotations

from itertools import permutations
from math import prod
from typing import Any

from ..symbolic.typical import typical
from .dtypes import DTYPES
from .infer import Context
from .ir import Function, Node, Value
from .rewrite import Builder, Values

BETWEEN = 2       # terms that an element between costs: its store, its load, the loop around them
FAR = 20          # the same where there are more bytes of them than NEAR
NEAR = 1 << 21

Axes = tuple[int, ...]    # of a window


def extremes(function: Function) -> Function:
    """The function with such windows axis by axis, where that has fewer terms."""
    chosen = {node: order for node in function.nodes if node.op == "window_reduce" and (order := _order(node))}
    if not chosen:
        return function
    builder, values = Builder(function, Context()), Values()
    for node in function.nodes:
        operands = values.all(node.operands)
        if node in chosen:
            values[Value(node)] = _apart(builder, node, operands[0], chosen[node])
        else:
            values.bind(node, builder.again(node, operands))
    return builder.finish(function, values.__getitem__)


def _order(node: Node) -> Axes:
    """The axes of several elements in the cheapest order; none where the window stays whole."""
    if node.attrs["op"] == "sum":
        return ()
    wide = [axis for axis, size in enumerate(node.attrs["size"]) if size > 1]
    if len(wide) < 2:
        return ()
    cheapest = min(permutations(reversed(wide)), key=lambda order: _cost(node, order))
    whole = typical(node.types[0].elements) * prod(node.attrs["size"])
    return cheapest if _cost(node, cheapest) < whole else ()


def _cost(node: Node, order: Axes) -> int:
    """Terms, and what elements between cost. An axis is as long as the operand until its turn."""
    lead = node.types[0].rank - len(node.attrs["size"])
    sizes, cost = [typical(d) for d in node.operands[0].shape], 0
    for turn, axes in enumerate(_turns(node, order)):
        for axis in axes:
            sizes[lead + axis] = typical(node.types[0].shape[lead + axis])
        cost += prod(sizes) * node.attrs["size"][order[turn]]
        if turn < len(order) - 1:
            far = prod(sizes) * DTYPES[node.types[0].dtype].bytes > NEAR
            cost += prod(sizes) * (FAR if far else BETWEEN)
    return cost


def _turns(node: Node, order: Axes) -> list[Axes]:
    """The axes of every turn: those of one element have the first one."""
    thin = tuple(axis for axis in range(len(node.attrs["size"])) if axis not in order)
    return [(order[0], *thin), *((axis,) for axis in order[1:])]


def _apart(builder: Builder, node: Node, x: Value, order: Axes) -> Value:
    neutral = {"size": 1, "stride": 1, "low": 0, "high": 0, "dilation": 1}
    for axes in _turns(node, order):
        attrs: dict[str, Any] = {name: tuple(value if axis in axes else neutral[name]
                                             for axis, value in enumerate(node.attrs[name])) for name in neutral}
        x = builder.value("window_reduce", x, like=node, op=node.attrs["op"], **attrs)
    return x
