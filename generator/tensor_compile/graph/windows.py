# SPDX-License-Identifier: Apache-2.0
"""Windows: a convolution loses those outer elements of its window that lie in the padding wherever the window stands.

Where an image is about as small as the window, as at the end of a network or in a model that is called for a few
samples at a time, most of a window may never meet it: of 3 elements at an image of 1 with a padding of 1, one does.
What the others would add is zero times a weight, which a convolution may leave out (docs/numerics.md): `build` refuses
weights that are not finite, and looks for them in the graph as it was before. The weights' slice is folded.
"""
from __future__ import annotations

from typing import Any

from ..records import dataclass
from ..symbolic import Expr, wrap
from .infer import Context
from .ir import Function, Node, Value
from .rewrite import Builder, Values

_LEAVES = frozenset(("weight", "constant", "iota"))


@dataclass(frozen=True, slots=True)
class _Axis:
    """first, size: of the elements of the window that are left; low, high: the padding of those."""

    first: int
    size: int
    low: int
    high: int


def windows(function: Function) -> Function:
    """The function with such convolutions on windows of what is left."""
    constant: set[Node] = set()
    cut: dict[Node, list[_Axis]] = {}
    for node in function.nodes:
        if node.op in _LEAVES or node.operands and all(v.node in constant for v in node.operands):
            constant.add(node)
        elif node.op == "convolution" and node.operands[1].node in constant and (axes := _left(node)):
            cut[node] = axes
    if not cut:
        return function
    builder, values = Builder(function, Context(), share=False), Values()
    for node in function.nodes:
        operands = values.all(node.operands)
        if node in cut:
            values[Value(node)] = _smaller(builder, node, operands, cut[node])
        else:
            values.bind(node, builder.again(node, operands))
    return builder.finish(function, values.__getitem__)


def _left(node: Node) -> list[_Axis]:
    """What is left of the window along each axis; nothing where that is all of it."""
    x, weights = node.operands
    axes: list[_Axis] = []
    sizes = zip(x.shape[2:], weights.shape[2:], node.types[0].shape[2:], strict=True)
    for i, (image, window, count) in enumerate(sizes):
        whole = [node.attrs[name][i] for name in ("stride", "low", "high", "dilation")]
        if not image.is_const or not window.is_const or not count.is_const:
            return []
        axes.append(_axis(image.value, window.value, count.value, *whole))
    lost = any(axis.size != window.value for axis, window in zip(axes, weights.shape[2:], strict=True))
    return axes if lost else []


def _axis(image: int, window: int, count: int, stride: int, low: int, high: int, dilation: int) -> _Axis:
    def met(element: int) -> bool:
        """Some place of the window has the element on the image."""
        behind = low - element * dilation      # the element lies at place * stride - behind
        return max(0, -(-behind // stride)) <= min(count - 1, (image - 1 + behind) // stride)

    all_met = [element for element in range(window) if met(element)]
    if not all_met:
        return _Axis(0, window, low, high)
    first, last = all_met[0], all_met[-1]
    before, behind_last = low - first * dilation, high - (window - 1 - last) * dilation
    if before < 0 or behind_last < 0:   # an image would lose elements, too
        return _Axis(0, window, low, high)
    size = last - first + 1
    end = (count - 1) * stride + (size - 1) * dilation + 1   # of the last window
    return _Axis(first, size, before, min(behind_last, max(0, end - image - before)))


def _smaller(builder: Builder, node: Node, operands: tuple[Value, ...], axes: list[_Axis]) -> Value:
    x, weights = operands
    start: tuple[Expr, ...] = (wrap(0), wrap(0), *(wrap(axis.first) for axis in axes))
    size: tuple[Expr, ...] = (*weights.shape[:2], *(wrap(axis.size) for axis in axes))
    part = builder.value("slice", weights, like=node, start=start, size=size, stride=(1,) * len(size))
    attrs: dict[str, Any] = {**node.attrs, "low": tuple(axis.low for axis in axes),
                             "high": tuple(axis.high for axis in axes)}
    return builder.value("convolution", x, part, like=node, **attrs)
