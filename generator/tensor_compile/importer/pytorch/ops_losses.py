# SPDX-License-Identifier: Apache-2.0
"""Losses."""
from __future__ import annotations

from .registry import Function, Node, add, op

_REDUCTIONS = {0: ", .reduction = TC_LOSS_NONE", 1: "", 2: ", .reduction = TC_LOSS_SUM"}


def _reduction(n: Node) -> str:
    kind = n.integer("reduction", 1)
    if kind not in _REDUCTIONS:
        n.refuse(f"reduction={kind}")
    return _REDUCTIONS[kind]


def _simple(name: str, *options: tuple[str, str, float]) -> Function:
    def function(n: Node) -> None:
        words = "".join(f", .{own} = {n.real(theirs, default)!r}" for theirs, own, default in options if n.has(theirs))
        n.result(f"{name}({n.tensor('self')}, {n.tensor('target')}{words}{_reduction(n)})")
    return function


add(_simple("tc_mse_loss"), "aten.mse_loss.default")
add(_simple("tc_l1_loss"), "aten.l1_loss.default")
add(_simple("tc_huber_loss", ("delta", "delta", 1.0)), "aten.huber_loss.default")
add(_simple("tc_smooth_l1_loss", ("beta", "beta", 1.0)), "aten.smooth_l1_loss.default")
add(_simple("tc_soft_margin_loss"), "aten.soft_margin_loss.default")


@op("aten.binary_cross_entropy.default", "aten.binary_cross_entropy_with_logits.default")
def binary_cross_entropy(n: Node) -> None:
    words = "".join(f", .{own} = {n.tensor(theirs)}"
                    for theirs, own in (("weight", "weight"), ("pos_weight", "positive_weight"))
                    if n.has(theirs))
    n.result(f"tc_{n.target.split('.')[1]}({n.tensor('self')}, {n.tensor('target')}{words}{_reduction(n)})")


@op("aten.kl_div.default")
def kl_div(n: Node) -> None:
    words = ", .log_target = true" if n.flag("log_target") else ""
    n.result(f"tc_kl_div({n.tensor('self')}, {n.tensor('target')}{words}{_reduction(n)})")


@op("aten.cross_entropy_loss.default", "aten.nll_loss.default", "aten.nll_loss_nd.default", "aten.nll_loss2d.default")
def classes(n: Node) -> None:
    words = f", .weight = {n.tensor('weight')}" if n.has("weight") else ""
    ignored = n.integer("ignore_index", -100)
    words += f", .ignore_index = {ignored}" if ignored != -100 else ""
    smoothing = n.real("label_smoothing", 0.0)
    words += f", .label_smoothing = {smoothing!r}" if smoothing else ""
    name = "cross_entropy" if "cross" in n.target else "nll_loss"
    n.result(f"tc_{name}({n.tensor('self')}, {n.tensor('target')}{words}{_reduction(n)})")
