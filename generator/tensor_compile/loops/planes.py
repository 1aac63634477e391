# SPDX-License-Identifier: Apache-2.0
"""Planes, a graph pass behind orders: convolutions of few output channels, whose lanes become positions of a line,
which layout left in panels (few_outputs.py takes those of up to four).

A panel holds 16 output channels. Of five, as the last layer of a network that makes masks may have, most of a register
is empty; lanes that are positions fill it. For that the operand is copied to the order [n, h, c, w], in which the lines
of all channels lie side by side, and the convolution becomes a loop nest that emit/nests/few_outputs.py knows. Only
where the result is stored position by position, line by line.
"""
from __future__ import annotations

import math

from ..graph.fold import is_constant
from ..graph.infer import Context
from ..graph.ir import Function, Node, Value
from ..graph.rewrite import Builder, Values
from ..symbolic import ONE, ZERO, wrap
from . import layout
from .few_outputs import LINE

MOST_OUTPUTS = 8     # of all, or of a group; more fill half of a register of 16
TERM = 20            # sixteenths of a cycle that a term of a position takes with panels; otherwise one a channel
COPY = 16            # of an element that is copied
FEW_CHANNELS = 4     # of an image that is read plane by plane; lines of more would leave the first cache
LINES = (0, 2, 1, 3)


def planes(function: Function) -> Function:
    """The function with such convolutions."""
    orders, constant, found = layout.orders(function), set[Node](), set[Node]()
    for node in function.nodes:
        if is_constant(node, constant):
            constant.add(node)
        elif _is_few(node) and node.operands[1].node in constant and Value(node) not in orders:
            found.add(node)
    if not found:
        return function
    builder, values = Builder(function, Context(), share=False), Values()
    for node in function.nodes:
        operands = values.all(node.operands)
        if node in found:
            x, panels = operands
            if node.operands[0] in orders or x.shape[1].value > FEW_CHANNELS:
                x = builder.value("reorder", x, like=node, types=(x.type,), order=LINES)
            made = builder.make(node.op, (x, _weights(builder, node, panels)), node.attrs | {"panel": 0}, node.types,
                                node.loc, node.scope)
        else:
            made = builder.again(node, operands)
        values.bind(node, made)
    return builder.finish(function, values.__getitem__)


def _is_few(node: Node) -> bool:
    """A convolution in panels, of floats over two axes, that has few output channels and takes every position."""
    if node.op != "packed_convolution" or not node.attrs["panel"] or node.attrs["groups"] != 1 \
            or len(node.attrs["window"]) != 2 or any(s != 1 for s in node.attrs["stride"]):
        return False
    kind, (x, panels) = node.types[0], node.operands
    sizes = (kind.shape[1], kind.shape[3], x.shape[1], x.shape[3])
    if not kind.dtype == x.dtype == panels.dtype == "f32" or not all(n.is_const for n in sizes):
        return False
    outs, width, *_ = (n.value for n in sizes)
    return outs <= MOST_OUTPUTS and width >= LINE and math.prod(node.attrs["window"]) * (TERM - outs) > COPY


def _weights(b: Builder, node: Node, panels: Value) -> Value:
    """[window..., c, o] of panels [1, 1, terms, 16]."""
    outs, terms = node.types[0].shape[1], panels.shape[2]
    part = b.value("slice", panels, like=node, start=(ZERO,) * 4, size=(ONE, ONE, terms, outs), stride=(1,) * 4)
    shape = (*map(wrap, node.attrs["window"]), node.operands[0].shape[1], outs)
    return b.value("reshape", part, like=node, shape=shape)
