# SPDX-License-Identifier: Apache-2.0
"""Losses of classes."""
from __future__ import annotations

from ..problems import Malformed
from .registry import Node, op

_REDUCTIONS = {"mean": "", "sum": ", .reduction = TC_LOSS_SUM", "none": ", .reduction = TC_LOSS_NONE"}


@op("NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss")
def class_loss(n: Node) -> None:
    x, target, weight = n.input(0), n.input(1), n.optional(2)
    reduction = n.text("reduction", "mean")
    if reduction not in _REDUCTIONS or x.rank < 2:
        raise Malformed(f"reduction={reduction!r} of a tensor of rank {x.rank}")
    logarithms = f"{x}"
    if n.op_type == "SoftmaxCrossEntropyLoss" and n.wants(1):
        logarithms = f"{n.result(f'tc_log_softmax({x}, 1)', x.dtype, x.shape, 1)}"
    name = "tc_cross_entropy" if n.op_type == "SoftmaxCrossEntropyLoss" and not n.wants(1) else "tc_nll_loss"
    text = f"{name}({logarithms}, {target}{f', .weight = {weight}' if weight is not None else ''}"
    text += _REDUCTIONS[reduction]
    if n.has("ignore_index"):
        text += f", .ignore = true, .ignore_index = {n.integer('ignore_index')}"
    n.result(text + ")", x.dtype, target.shape if reduction == "none" else ())
