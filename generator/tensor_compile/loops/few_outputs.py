# SPDX-License-Identifier: Apache-2.0
"""Convolutions of few output channels, whose lanes may be positions of a line of the image.

A panel holds 16 output channels. Of a few, as the last layer of a network that makes images or masks has, most of a
register is empty; lanes that are positions fill it (emit/nests/few_outputs.py). That needs an operand and a result that
lie line by line. layout gives such a convolution panels as any other one; orders chooses by cost whether it keeps them
(order_costs.py), together with how the tensors lie, and `along_lines` is then what becomes of it.
"""
from __future__ import annotations

from ..graph.ir import Node, Value
from ..graph.table import lowering_of
from ..symbolic import ONE, ZERO, wrap
from .operands import Make

MOST_OUTPUTS = 8     # of all, or of a group; more fill half of a register of 16
LINE = 16            # positions that a line has at least


def few_outputs(node: Node) -> bool:
    """Whether a node is such a convolution, of floats, as layout leaves it."""
    if node.op != "packed_convolution" or not node.attrs["panel"] or node.attrs["groups"] != 1:
        return False
    (kind,), x = node.types, node.operands[0]
    outs, line = kind.shape[1], kind.shape[-1]
    return kind.dtype == x.dtype == "f32" and node.attrs["stride"][-1] == 1 \
        and outs.is_const and outs.value <= min(MOST_OUTPUTS, node.attrs["panel"]) \
        and line.is_const and line.value >= LINE


def in_memory(v: Value) -> bool:
    """Lines of it lie in memory: it is no other view than a reshape, such as an enlarged image."""
    while v.node.op == "reshape":
        v = v.node.operands[0]
    return lowering_of(v.node.op) != "view"


def along_lines(node: Node, x: Value, panels: Value, make: Make) -> Node:
    """The same convolution without panels, over an operand whose lines lie in memory."""
    attrs, (kind,) = node.attrs, node.types
    terms, outs = panels.shape[2], kind.shape[1]
    part = make(node, "slice", (panels,), {"start": (ZERO,) * 4, "size": (ONE, ONE, terms, outs), "stride": (1,) * 4},
                panels.dtype, (ONE, ONE, terms, outs))
    shape = (*map(wrap, attrs["window"]), x.shape[1], outs)
    weights = make(node, "reshape", (part,), {"shape": shape}, part.dtype, shape)
    if weights.dtype != "f32":
        weights = make(node, "cast", (weights,), {"dtype": "f32"}, "f32", shape)
    return Node(node.op, (x, weights), attrs | {"panel": 0}, node.types, node.loc, node.scope)
