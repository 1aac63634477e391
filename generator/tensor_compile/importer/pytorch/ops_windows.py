# SPDX-License-Identifier: Apache-2.0
"""Convolutions and pooling."""
from __future__ import annotations

from typing import Sequence

from ...symbolic import equal
from ..problems import Malformed
from ..values import Value, per_axis
from .registry import Node, op


def _options(**given: tuple[Sequence[int], int]) -> str:
    """Those that are not what the DSL takes where they are left out."""
    return "".join(f", .{name} = {per_axis(numbers)}" for name, (numbers, default) in given.items()
                   if any(v != default for v in numbers))


def _with_bias(n: Node, x: Value, weight: Value) -> str:
    bias = n.optional("bias")
    return f"{x}, {weight}" + (f", {bias}" if bias is not None else "")


@op("aten.conv1d.default", "aten.conv2d.default", "aten.conv3d.default", "aten.conv1d.padding", "aten.conv2d.padding",
    "aten.conv3d.padding", "aten.convolution.default", "aten.conv_transpose1d.default", "aten.conv_transpose2d.input",
    "aten.conv_transpose3d.input", "aten._convolution.default")
def convolution(n: Node) -> None:
    """x may come without a batch."""
    n.ignore("benchmark", "deterministic", "cudnn_enabled", "allow_tf32")
    x, weight = n.tensor("input"), n.tensor("weight")
    axes = weight.rank - 2
    if axes not in (1, 2, 3):
        n.refuse(f"a convolution of {axes} axes")
    transposed = "transpose" in n.target or n.flag("transposed")
    words = _options(stride=(n.window("stride", axes, 1), 1))
    if n.target.endswith(".padding"):
        mode = n.text("padding", "valid")
        if mode == "same":
            words += ", .same = TC_SAME"
        elif mode != "valid":
            n.refuse(f"padding={mode}")
    else:
        words += _options(padding=(n.window("padding", axes, 0), 0))
    words += _options(dilation=(n.window("dilation", axes, 1), 1))
    extra = n.window("output_padding", axes, 0)
    if transposed:
        words += _options(output_padding=(extra, 0))
    groups = n.integer("groups", 1)
    words += f", .groups = {groups}" if groups != 1 else ""
    alone = x.rank == axes + 1
    name = f"tc_conv_{'transpose' if transposed else ''}{axes}d" if transposed else f"tc_conv{axes}d"
    operand = n.let(f"tc_unsqueeze({x}, 0)", x.dtype, (1, *x.shape)) if alone else x
    text = f"{name}({_with_bias(n, operand, weight)}{words})"
    n.result(f"tc_squeeze({text}, 0)" if alone else text)


def _pool(n: Node, name: str, axes: int, words: str) -> None:
    x = n.tensor("self")
    alone = x.rank == axes + 1
    if not alone and x.rank != axes + 2:
        raise Malformed(f"a tensor of rank {x.rank} for windows of {axes} axes")
    operand = f"tc_unsqueeze({x}, 0)" if alone else f"{x}"
    text = f"{name}({operand}{words})"
    if len(n.results) > 1:
        if alone:
            n.refuse("indices of a maximum without a batch")
        n.fill(f"{name}({operand}{words}, .indices = &@1)")
        return
    n.result(f"tc_squeeze({text}, 0)" if alone else text)


def _window(n: Node, axes: int) -> str:
    kernel = n.window("kernel_size", axes, 1)
    stride = n.window("stride", axes, 0)
    words = f", .kernel = {per_axis(kernel)}"
    if any(stride) and stride != kernel:
        words += f", .stride = {per_axis(stride)}"
    return words


@op(*(f"aten.max_pool{a}d{form}.default" for a in (1, 2, 3) for form in ("", "_with_indices")))
def max_pool(n: Node) -> None:
    axes = int(n.target[len("aten.max_pool")])
    words = _window(n, axes) + _options(padding=(n.window("padding", axes, 0), 0),
                                        dilation=(n.window("dilation", axes, 1), 1))
    _pool(n, f"tc_max_pool{axes}d", axes, words + (", .ceil_mode = true" if n.flag("ceil_mode") else ""))


@op(*(f"aten.avg_pool{a}d.default" for a in (1, 2, 3)))
def avg_pool(n: Node) -> None:
    axes = int(n.target[len("aten.avg_pool")])
    words = _window(n, axes) + _options(padding=(n.window("padding", axes, 0), 0))
    words += ", .ceil_mode = true" if n.flag("ceil_mode") else ""
    words += "" if n.flag("count_include_pad", True) else ", .exclude_padding = true"
    if n.has("divisor_override"):
        words += f", .divisor = {n.integer('divisor_override')}"
    _pool(n, f"tc_avg_pool{axes}d", axes, words)


@op(*(f"aten.adaptive_{kind}_pool{a}d.default" for kind in ("avg", "max") for a in (1, 2, 3)),
    *(f"aten._adaptive_avg_pool{a}d.default" for a in (2, 3)))
def adaptive_pool(n: Node) -> None:
    kind = "max" if "max" in n.target else "avg"
    axes = int(n.target[-len("1d.default")])
    x = n.tensor("self")
    sizes = n.sizes("output_size")
    if len(sizes) == 1:
        sizes *= axes
    alone = x.rank == axes + 1
    operand = f"tc_unsqueeze({x}, 0)" if alone else f"{x}"
    if kind == "avg" and all(equal(s, 1) for s in sizes) and not alone:
        n.result(f"tc_global_avg_pool({x})")
        return
    text = f"tc_adaptive_{kind}_pool{axes}d({operand}, {n.dim_list(sizes)})"
    if kind == "max":
        if alone:
            n.refuse("indices of a maximum without a batch")
        n.fill(f"tc_adaptive_max_pool{axes}d({operand}, {n.dim_list(sizes)}, &@1)")
        return
    n.result(f"tc_squeeze({text}, 0)" if alone else text)


@op("aten.im2col.default", "aten.col2im.default")
def columns(n: Node) -> None:
    x = n.tensor("self")
    words = f".kernel = {per_axis(n.window('kernel_size', 2, 1))}" + _options(
        stride=(n.window("stride", 2, 1), 1), padding=(n.window("padding", 2, 0), 0),
        dilation=(n.window("dilation", 2, 1), 1))
    if n.target == "aten.im2col.default":
        n.result(f"tc_unfold({x}, {words})")
    else:
        h, w = n.sizes("output_size")
        n.result(f"tc_fold({x}, {n.dim(h)}, {n.dim(w)}, {words})")
