# SPDX-License-Identifier: Apache-2.0
"""Convolutions of few output channels, whose lanes may be positions of a line of the image.

A panel holds 16 output channels. Of a few, as the last layer of a network that makes images or masks has, most of a
register is empty; lanes that are positions fill it (emit/nests/few_outputs.py). That needs an operand and a result that
lie line by line. A first layer, which reads an image of a few channels, has more output channels, in blocks of 8: its
sums are so short that panels take much of their time to begin and to turn what they store. layout gives such
convolutions panels as any other ones; orders chooses by cost whether they keep them (order_costs.py), together with how
the tensors lie, and `along_lines` is then what becomes of one.
"""
from __future__ import annotations

import math

from ..graph.ir import Node, Value
from ..graph.table import lowering_of
from ..symbolic import ONE, ZERO, wrap
from ..symbolic.typical import typical
from .operands import Make

MOST_OUTPUTS = 8     # of all, or of a group; more fill half of a register of 16
MOST_INPUTS = 3      # of a first layer,
MOST_TERMS = 27      # and terms of its window
LEAST_LINE = 16      # positions that a line of the image has at least


def few(outs: int, terms: int | None) -> bool:
    """Whether so many output channels are few, or whole blocks of few terms each. terms: None if they are many."""
    return outs <= MOST_OUTPUTS or terms is not None and terms <= MOST_TERMS and outs % MOST_OUTPUTS == 0


def few_outputs(node: Node) -> bool:
    """Whether a node is such a convolution, of floats, as layout leaves it."""
    if node.op != "packed_convolution" or not node.attrs["panel"] or node.attrs["groups"] != 1:
        return False
    (kind,), x = node.types, node.operands[0]
    outs, line, ins = kind.shape[1], kind.shape[-1], x.shape[1]
    if not (kind.dtype == x.dtype == "f32" and node.attrs["stride"][-1] == 1 and outs.is_const
            and typical(line) >= LEAST_LINE):
        return False
    first = ins.is_const and ins.value <= MOST_INPUTS
    terms = ins.value * math.prod(node.attrs["window"]) if first else None
    return few(outs.value, terms)


def in_memory(v: Value) -> bool:
    """Lines of it lie in memory: it is no other view than a reshape, such as an enlarged image."""
    while v.node.op == "reshape":
        v = v.node.operands[0]
    return lowering_of(v.node.op) != "view"


def along_lines(node: Node, x: Value, panels: Value, make: Make) -> Node:
    """The same convolution without panels, over an operand whose lines lie in memory."""
    attrs, outs = node.attrs, node.types[0].shape[1]
    _, count, terms, width = panels.shape
    part = make(node, "transpose", (panels,), {"perm": (0, 2, 1, 3)}, panels.dtype, (ONE, terms, count, width))
    part = make(node, "reshape", (part,), {"shape": (terms, count * width)}, panels.dtype, (terms, count * width))
    part = make(node, "slice", (part,), {"start": (ZERO, ZERO), "size": (terms, outs), "stride": (1, 1)}, panels.dtype,
                (terms, outs))
    shape = (*map(wrap, attrs["window"]), x.shape[1], outs)
    weights = make(node, "reshape", (part,), {"shape": shape}, part.dtype, shape)
    if weights.dtype != "f32":
        weights = make(node, "cast", (weights,), {"dtype": "f32"}, "f32", shape)
    return Node(node.op, (x, weights), attrs | {"panel": 0}, node.types, node.loc, node.scope)
