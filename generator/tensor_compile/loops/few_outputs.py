# SPDX-License-Identifier: Apache-2.0
"""Convolutions of few output channels: panels would have as many lanes as there are of these, so they have none, and
lanes follow a line of the image (emit/nests/few_outputs.py). Both tensors are plain for that."""
from __future__ import annotations

from ..graph.ir import Node, Value
from ..graph.table import is_elementwise
from ..symbolic import ONE
from .operands import VIEWS

MOST = 4       # output channels
LINE = 16      # positions that a line has at least


def few_outputs(node: Node) -> bool:
    """Whether a convolution of floats is worth it. A window of one term takes no longer in panels than the convolution
    before it takes to store a plain tensor."""
    weights, line = node.operands[1].shape, node.types[0].shape[-1]
    single = all(size == ONE for size in weights[2:])
    return node.attrs["groups"] == 1 and node.types[0].dtype == "f32" and len(weights) > 2 \
        and weights[0].is_const and weights[0].value <= MOST and node.attrs["stride"][-1] == 1 \
        and line.is_const and line.value >= LINE and not (single and _convolved(node.operands[0])) \
        and _lies(node.operands[0])


def _lies(v: Value) -> bool:
    """Lines of it lie in memory: it is no other view than a reshape, such as an enlarged image. Of these planes.py
    makes copies where that pays."""
    while v.node.op == "reshape":
        v = v.node.operands[0]
    return v.node.op not in VIEWS


def _convolved(v: Value) -> bool:
    """It is a convolution's result, or computed from one element by element."""
    while is_elementwise(v.node.op):
        v = max(v.node.operands, key=lambda x: len(x.shape))
    return v.node.op in ("convolution", "packed_convolution")


def takes_lines(node: Node) -> bool:
    """Whether a node is such a convolution."""
    return node.op == "packed_convolution" and not node.attrs["panel"] and node.attrs["groups"] == 1 \
        and node.types[0].dtype == "f32" and len(node.operands[1].shape) > 2
