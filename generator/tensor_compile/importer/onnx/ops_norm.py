# SPDX-License-Identifier: Apache-2.0
"""Normalizations."""
from __future__ import annotations

from ...symbolic import IntLike
from .registry import Node, op
from ..problems import Malformed


@op("BatchNormalization")
def batch_norm(n: Node) -> None:
    n.ints("consumed_inputs")
    x, weight, bias, mean, variance = (n.input(i) for i in range(5))
    eps, momentum = n.real("epsilon", 1e-5), n.real("momentum", 0.9)
    n.integer("spatial", 1)
    n.integer("is_test", 1)
    training = n.integer("training_mode", 0)
    if training:
        axes = [i for i in range(x.rank) if i != 1]
        where = "".join(f", {a}" for a in axes)
        now = n.let(f"tc_mean({x}{where})", x.dtype, mean.shape, "batch_mean")
        spread = n.let(f"tc_var({x}{where})", x.dtype, variance.shape, "batch_variance")
        n.result(f"tc_batch_norm({x}, {now}, {spread}, {weight}, {bias}, .eps = {eps})", x.dtype, x.shape)
        for i, (old, new) in enumerate(((mean, now), (variance, spread)), 1):
            if n.wants(i):
                n.result(f"tc_add(tc_mul({old}, {momentum}), tc_mul({new}, {1 - momentum:.9g}))", old.dtype,
                         old.shape, i)
        return
    if any(n.wants(i) for i in range(1, 5)):
        n.refuse("outputs of training")
    n.result(f"tc_batch_norm({x}, {mean}, {variance}, {weight}, {bias}, .eps = {eps})", x.dtype, x.shape)


@op("InstanceNormalization")
def instance_norm(n: Node) -> None:
    n.ints("consumed_inputs")
    x, weight, bias = (n.input(i) for i in range(3))
    n.result(f"tc_instance_norm({x}, {weight}, {bias}, .eps = {n.real('epsilon', 1e-5)})", x.dtype, x.shape)


@op("LayerNormalization")
def layer_norm(n: Node) -> None:
    x, weight, bias = n.input(0), n.input(1), n.optional(2)
    axis = n.axis(n.integer("axis", -1), x.rank)
    eps, stash = n.real("epsilon", 1e-5), n.integer("stash_type", 1)
    count = x.rank - axis
    if weight.shape == x.shape[axis:] and (bias is None or bias.shape == weight.shape) and stash == 1 and eps:
        text = f"tc_layer_norm({x}, {weight}{f', {bias}' if bias is not None else ''}, .eps = {eps}"
        n.result(text + (f", .axes = {count})" if count > 1 else ")"), x.dtype, x.shape)
        if not (n.wants(1) or n.wants(2)):
            return
    axes = ", ".join(str(i) for i in range(axis, x.rank))
    kept: list[IntLike] = [*x.shape[:axis], *(1 for _ in range(count))]
    wide = f"tc_cast({x}, TC_F32)" if x.dtype in ("f16", "bf16") else f"{x}"
    dtype = "f32" if x.dtype in ("f16", "bf16") else x.dtype
    mean = n.let(f"tc_mean_keepdims({wide}, {axes})", dtype, kept, n.outputs[1] if n.wants(1) else "mean")
    inverse = n.let(f"tc_rsqrt(tc_add(tc_var_keepdims({wide}, {axes}), {eps}))", dtype, kept,
                    n.outputs[2] if n.wants(2) else "inv_std_dev")
    if 0 not in n.given:
        normal = f"tc_mul(tc_sub({wide}, {mean}), {inverse})"
        normal = f"tc_cast({normal}, TC_{x.dtype.upper()})" if dtype != x.dtype else normal
        text = f"tc_mul({normal}, {weight})"
        n.result(f"tc_add({text}, {bias})" if bias is not None else text, x.dtype, x.shape)
    n.give(mean, 1)
    n.give(inverse, 2)


@op("RMSNormalization", since=23)
def rms_norm(n: Node) -> None:
    x, weight = n.input(0), n.input(1)
    axis = n.axis(n.integer("axis", -1), x.rank)
    eps = n.real("epsilon", 1e-5)
    n.integer("stash_type", 1)
    count = x.rank - axis
    if weight.shape == x.shape[axis:] and eps and weight.dtype == x.dtype:
        more = f", .axes = {count}" if count > 1 else ""
        n.result(f"tc_rms_norm({x}, {weight}, .eps = {eps}{more})", x.dtype, x.shape)
        return
    axes = ", ".join(str(i) for i in range(axis, x.rank))
    scale = f"tc_rsqrt(tc_add(tc_mean_keepdims(tc_square({x}), {axes}), {eps}))"
    n.result(f"tc_mul(tc_mul({x}, {scale}), {weight})", weight.dtype, x.shape)


@op("GroupNormalization", since=18)
def group_norm(n: Node) -> None:
    """Before opset 21 scale and bias are a group's, since then a channel's."""
    x, weight, bias = (n.input(i) for i in range(3))
    groups, eps = n.integer("num_groups"), n.real("epsilon", 1e-5)
    n.integer("stash_type", 1)
    if groups < 1 or not x.shape[1].is_const or x.shape[1].value % groups:
        raise Malformed(f"{groups} groups of {x.shape[1]} channels")
    if n.opset >= 21 or groups == x.shape[1].value:
        n.result(f"tc_group_norm({x}, {weight}, {bias}, .groups = {groups}, .eps = {eps})", x.dtype, x.shape)
        return
    each = x.shape[1].value // groups
    channels = [f"tc_reshape(tc_expand(tc_reshape({v}, {groups}, 1), {groups}, {each}), {groups * each})"
                for v in (weight, bias)]
    n.result(f"tc_group_norm({x}, {channels[0]}, {channels[1]}, .groups = {groups}, .eps = {eps})", x.dtype, x.shape)


@op("LRN")
def lrn(n: Node) -> None:
    x = n.input(0)
    alpha, beta, k = n.real("alpha", 0.0001), n.real("beta", 0.75), n.real("bias", 1.0)
    size = n.integer("size")
    if size < 1 or not alpha or not beta or not k:
        n.refuse("a size, alpha, beta or bias of 0")
    # ONNX has the shorter half of an even size before, the DSL's operation the longer one.
    turned = x if size % 2 else f"tc_flip({x}, 1)"
    text = f"tc_local_response_norm({turned}, .size = {size}, .alpha = {alpha}, .beta = {beta}, .k = {k})"
    n.result(text if size % 2 else f"tc_flip({text}, 1)", x.dtype, x.shape)


@op("LpNormalization")
def lp_norm(n: Node) -> None:
    x = n.input(0)
    axis, p = n.axis(n.integer("axis", -1), x.rank), n.integer("p", 2)
    if p not in (1, 2):
        n.refuse(f"p={p}")
    norm = n.let(f"tc_norm_keepdims({x}, {p}, {axis})", x.dtype, [1 if i == axis else s for i, s in enumerate(x.shape)])
    n.result(f"tc_where(tc_eq({norm}, 0), 0, tc_div({x}, {norm}))", x.dtype, x.shape)


@op("MeanVarianceNormalization")
def mean_variance(n: Node) -> None:
    x = n.input(0)
    axes = sorted(n.axes(n.ints("axes") or [0, 2, 3], x.rank))
    where = "".join(f", {a}" for a in axes)
    mean = f"tc_mean_keepdims({x}{where})"
    centred = n.let(f"tc_sub({x}, {mean})", x.dtype, x.shape)
    n.result(f"tc_div({centred}, tc_add(tc_std_keepdims({x}{where}), 1e-9))", x.dtype, x.shape)

