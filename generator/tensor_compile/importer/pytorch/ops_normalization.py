# SPDX-License-Identifier: Apache-2.0
"""Normalizations."""
from __future__ import annotations

from ...symbolic import equal
from ..values import Value
from .registry import Node, op


def _parts(*values: Value | None) -> str:
    """Operands behind the first; one that is left out before another is NULL."""
    texts = ["NULL" if v is None else f"{v}" for v in values]
    while texts and texts[-1] == "NULL":
        texts.pop()
    return "".join(f", {t}" for t in texts)


def _eps(n: Node, value: float) -> str:
    if not value:
        n.refuse("eps=0")
    return f", .eps = {value!r}"


@op("aten.layer_norm.default", "aten.native_layer_norm.default")
def layer_norm(n: Node) -> None:
    n.ignore("cudnn_enable")
    x = n.tensor("input")
    shape = n.sizes("normalized_shape")
    weight, bias = n.optional("weight"), n.optional("bias")
    axes = f", .axes = {len(shape)}" if len(shape) > 1 and weight is None else ""
    n.result(f"tc_layer_norm({x}{_parts(weight, bias)}{_eps(n, n.real('eps', 1e-5))}{axes})")
    if len(n.results) > 1:
        where = "".join(f", {x.rank - len(shape) + i}" for i in range(len(shape)))
        wide = f"tc_cast({x}, TC_F32)" if x.dtype in ("f16", "bf16") else f"{x}"
        n.result(f"tc_mean_keepdims({wide}{where})", "f32" if wide != f"{x}" else x.dtype)
        n.result(f"tc_rsqrt(tc_add(tc_var_keepdims({wide}{where}), {n.real('eps', 1e-5)!r}))",
                 "f32" if wide != f"{x}" else x.dtype)


@op("aten.rms_norm.default", "aten._fused_rms_norm.default")
def rms_norm(n: Node) -> None:
    x = n.tensor("input")
    shape = n.sizes("normalized_shape")
    weight = n.optional("weight")
    eps = n.real("eps") if n.has("eps") else {"f64": 2.220446049250313e-16, "f16": 9.765625e-4, "bf16": 7.8125e-3}.get(
        x.dtype, 1.1920928955078125e-07)
    axes = f", .axes = {len(shape)}" if len(shape) > 1 and weight is None else ""
    n.result(f"tc_rms_norm({x}{_parts(weight)}{_eps(n, eps)}{axes})")
    if len(n.results) > 1:
        where = "".join(f", {x.rank - len(shape) + i}" for i in range(len(shape)))
        n.result(f"tc_rsqrt(tc_add(tc_mean_keepdims(tc_square({x}){where}), {eps!r}))", x.dtype)


@op("aten.batch_norm.default", "aten._native_batch_norm_legit_no_training.default", "aten.native_batch_norm.default",
    "aten.cudnn_batch_norm.default")
def batch_norm(n: Node) -> None:
    n.ignore("momentum", "cudnn_enabled")
    x = n.tensor("input")
    training = n.flag("training")
    weight, bias = n.optional("weight"), n.optional("bias")
    mean, variance = n.optional("running_mean"), n.optional("running_var")
    eps = _eps(n, n.real("eps", 1e-5))
    if training or mean is None or variance is None:
        if training and mean is not None:
            n.refuse("batch normalization that updates its statistics", "export the module after .eval()")
        where = "".join(f", {i}" for i in range(x.rank) if i != 1)
        mean = n.let(f"tc_mean({x}{where})", x.dtype, (x.shape[1],), "batch_mean")
        variance = n.let(f"tc_var({x}{where})", x.dtype, (x.shape[1],), "batch_variance")
    n.result(f"tc_batch_norm({x}, {n.as_dtype(mean, x.dtype)}, "
             f"{n.as_dtype(variance, x.dtype)}{_parts(weight, bias)}{eps})")
    for kind in n.results[1:]:
        if not equal(kind.shape[0] if kind.shape else 0, 0):
            n.refuse("the statistics of a batch")
        n.result(f"tc_full(g, 0, TC_{kind.dtype.upper()}, 0)")


@op("aten.group_norm.default", "aten.native_group_norm.default")
def group_norm(n: Node) -> None:
    n.ignore("cudnn_enabled", "N", "C", "HxW")
    x = n.tensor("input")
    groups = n.integer("num_groups" if n.target == "aten.group_norm.default" else "group")
    n.result(f"tc_group_norm({x}{_parts(n.optional('weight'), n.optional('bias'))}, .groups = {groups}"
             f"{_eps(n, n.real('eps', 1e-5))})")
    if len(n.results) > 1:
        n.refuse("the statistics of groups", "export with torch.no_grad()")


@op("aten.instance_norm.default")
def instance_norm(n: Node) -> None:
    n.ignore("momentum", "cudnn_enabled")
    x = n.tensor("input")
    mean, variance = n.optional("running_mean"), n.optional("running_var")
    weight, bias = n.optional("weight"), n.optional("bias")
    eps = _eps(n, n.real("eps", 1e-5))
    if n.flag("use_input_stats", True):
        n.result(f"tc_instance_norm({x}{_parts(weight, bias)}{eps})")
    else:
        n.result(f"tc_batch_norm({x}{_parts(mean, variance, weight, bias)}{eps})")


@op("aten.local_response_norm.default")
def local_response_norm(n: Node) -> None:
    n.result(f"tc_local_response_norm({n.tensor('input')}, .size = {n.integer('size')}, .alpha = "
             f"{n.real('alpha', 1e-4)!r}, "
             f".beta = {n.real('beta', 0.75)!r}, .k = {n.real('k', 1.0)!r})")


@op("aten._weight_norm.default", "aten._weight_norm_interface.default")
def weight_norm(n: Node) -> None:
    """v * (g / |v|), the norm over all axes but one (dim = -1: over all)."""
    v, g = n.tensor("v"), n.tensor("g")
    axis = n.integer("dim", 0)
    where = "" if axis == -1 else "".join(f", {i}" for i in range(v.rank) if i != n.counted(axis, v.rank))
    norm = n.let(f"tc_norm_keepdims({v}, 2{where})", v.dtype, g.shape if axis != -1 else [1] * v.rank, "norm")
    n.result(f"tc_mul({v}, tc_div({g}, {norm}))")
    if len(n.results) > 1:
        n.give(norm)
