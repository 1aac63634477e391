# SPDX-License-Identifier: Apache-2.0
"""Reductions, softmax, prefixes, places of extremes, sorting."""
from __future__ import annotations

import functools
import math
from typing import Callable

from ...symbolic import IntLike, equal, product, wrap
from ..dims import ARITHMETIC, REPEATED, constants
from ..program import Statement
from ..values import FLOATS, INTEGERS, MOST_FOLDED, Element, Value
from .registry import Node, add, op
from ..problems import Malformed

# The opset from which on the axes of a reduction are an input.
_INPUT_SINCE = {"ReduceSum": 13}


def reduced(n: Node, x: Value) -> tuple[list[int], bool]:
    """The axes, in order, and whether they stay as 1."""
    keep = bool(n.integer("keepdims", 1))
    empty = n.integer("noop_with_empty_axes", 0)
    axes: list[int] | None
    if n.opset >= _INPUT_SINCE.get(n.op_type, 18):
        given = n.optional(1)
        axes = n.whole(given, "the axes") if given is not None else None
        if not axes:
            axes = [] if empty else list(range(x.rank))
    else:
        axes = n.ints("axes")
        if not axes:
            axes = list(range(x.rank))
    return sorted(n.axes(axes, x.rank)), keep


def without(x: Value, axes: list[int], keep: bool) -> list[IntLike]:
    return [1 if i in axes else s for i, s in enumerate(x.shape) if keep or i not in axes]


def call(function: str, x: str, axes: list[int], keep: bool, more: str = "") -> str:
    listed = "".join(f", {a}" for a in axes)
    return f"tc_{function}{'_keepdims' if keep else ''}({x}{more}{listed})"


# What comes before the reduction, the reduction, what comes behind; {} is the operand.
_REDUCTIONS = {
    "ReduceSum": ("{}", "sum", "{}"), "ReduceMean": ("{}", "mean", "{}"), "ReduceProd": ("{}", "prod", "{}"),
    "ReduceMax": ("{}", "amax", "{}"), "ReduceMin": ("{}", "amin", "{}"), "ReduceL1": ("tc_abs({})", "sum", "{}"),
    "ReduceSumSquare": ("tc_square({})", "sum", "{}"), "ReduceL2": ("tc_square({})", "sum", "tc_sqrt({})"),
    "ReduceLogSum": ("{}", "sum", "tc_log({})"), "ReduceLogSumExp": ("{}", "logsumexp", "{}")}


def _reduce(before: str, function: str, after: str) -> Callable[[Node], None]:
    def apply(n: Node) -> None:
        x = n.input(0)
        axes, keep = reduced(n, x)
        shape = without(x, axes, keep)
        if x.rank == 0 or not axes:
            text = {"logsumexp": "{}", "mean": "{}"}.get(function, after).format(before.format(f"{x}"))
            n.give(x) if text == f"{x}" else n.result(text, x.dtype, shape)
            return
        if (known := _known(x, function, after, axes)) is not None:
            n.give_elements([known], x.dtype, shape)
            return
        empty = any(equal(x.shape[a], 0) for a in axes)
        if empty and function in ("amax", "amin", "logsumexp"):
            _of_nothing(n, x, function, shape)
            return
        operand = f"{x}"
        if x.dtype == "bool":
            logic = {"amax": "any", "amin": "all"}.get(function) or n.refuse("an input of bool")
            n.result(call(logic, operand, axes, keep), "bool", shape)
            return
        if x.dtype in ("i32", "i64", "u32", "u64") and function in ("mean",):
            count = n.dim(product(x.shape[a] for a in axes))
            total = call("sum", operand, axes, keep)
            name = f"TC_{x.dtype.upper()}"
            number = f"tc_dim_value(g, {name}, {count})" if x.dtype in ("i32", "i64") else \
                f"tc_cast(tc_dim_value(g, TC_I64, {count}), {name})"
            n.result(f"tc_div({total}, {number})", x.dtype, shape)
            return
        cast = x.dtype not in FLOATS and (function == "logsumexp" or "tc_sqrt" in after or "tc_log" in after)
        if cast:
            operand = f"tc_cast({operand}, TC_F64)"
        text = after.format(call(function, before.format(operand), axes, keep))
        n.result(f"tc_cast({text}, TC_{x.dtype.upper()})" if cast else text, x.dtype, shape)
    return apply


def _known(x: Value, function: str, after: str, axes: list[int]) -> Element | None:
    """What sizes give, a product or the largest of them; of floats, extremes of few."""
    if len(axes) != x.rank or after != "{}":
        return None
    if x.dtype in INTEGERS and x.folded and function in REPEATED:
        return functools.reduce(ARITHMETIC[REPEATED[function]], [wrap(e) for e in x.folded])  # type: ignore[arg-type]
    if x.dtype in FLOATS and function in ("amax", "amin"):
        count = constants(x.shape)
        if count is not None and math.prod(count) <= MOST_FOLDED and x.known \
                and all(isinstance(e, float) and math.isfinite(e) for e in x.known):
            return (max if function == "amax" else min)(x.known)  # type: ignore[type-var]
    return None


def _of_nothing(n: Node, x: Value, function: str, shape: list[IntLike]) -> None:
    """The extreme of no elements: the end of the dtype."""
    if x.dtype in FLOATS:
        fill = "INFINITY" if function == "amin" else "-INFINITY"
    else:
        bits = int(x.dtype[1:]) if x.dtype != "bool" else 1
        low, high = (0, (1 << bits) - 1) if x.dtype[0] in "ub" else (-(1 << bits - 1), (1 << bits - 1) - 1)
        value = high if function == "amin" else low
        if abs(value) >= 1 << 63:
            n.refuse(f"the extreme of no elements of {x.dtype}")
        fill = str(value)
    sizes = f", {n.dim_list(shape)}" if shape else ""
    n.result(f"tc_full(g, {fill}, TC_{x.dtype.upper()}{sizes})", x.dtype, shape)


for _onnx, _parts in _REDUCTIONS.items():
    add(_reduce(*_parts), _onnx)


@op("ArgMax", "ArgMin")
def arg(n: Node) -> None:
    x = n.input(0)
    axis = n.axis(n.integer("axis", 0), x.rank)
    keep, last = bool(n.integer("keepdims", 1)), n.integer("select_last_index", 0)
    name = ("argmax" if n.op_type == "ArgMax" else "argmin") + ("_keepdims" if keep else "")
    shape = without(x, [axis], keep)
    if not last:
        n.result(f"tc_{name}({x}, {axis})", "i64", shape)
        return
    turned = f"tc_{name}(tc_flip({x}, {axis}), {axis})"
    n.result(f"tc_sub(tc_dim_value(g, TC_I64, {n.dim(x.shape[axis] - 1)}), {turned})", "i64", shape)


@op("Softmax", "LogSoftmax", "Hardmax")
def softmax(n: Node) -> None:
    """Before opset 13: over all axes from `axis` on, together."""
    x = n.input(0)
    axis = n.integer("axis", -1 if n.opset >= 13 else 1)
    axis = axis + x.rank if axis < 0 else axis
    if not 0 <= axis < x.rank and not (n.opset < 13 and 0 < axis == x.rank):
        raise Malformed(f"axis {axis} of a tensor of rank {x.rank}")
    axes = [axis] if n.opset >= 13 else list(range(axis, x.rank))
    if n.op_type != "Hardmax":
        name = "tc_softmax" if n.op_type == "Softmax" else "tc_log_softmax"
        n.result(f"{name}({x}, {', '.join(map(str, axes))})", x.dtype, x.shape)
        return
    if len(axes) > 1:
        flat = n.let(f"tc_flatten({x}, {axes[0]})", x.dtype, (*x.shape[:axis], product(x.shape[axis:])))
        hot = f"tc_one_hot(tc_argmax({flat}, {axis}), {n.dim(flat.shape[axis])}, TC_{x.dtype.upper()})"
        n.result(f"tc_reshape({hot}, {n.dim_list(x.shape)})", x.dtype, x.shape)
        return
    hot = f"tc_one_hot(tc_argmax({x}, {axis}), {n.dim(x.shape[axis])}, TC_{x.dtype.upper()})"
    n.result(hot if axis == x.rank - 1 else f"tc_movedim({hot}, -1, {axis})", x.dtype, x.shape)


@op("CumSum", "CumProd")
def cumulative(n: Node) -> None:
    x = n.input(0)
    axis = n.axis(n.whole(n.input(1), "the axis")[0], x.rank)
    exclusive, reverse = n.integer("exclusive", 0), n.integer("reverse", 0)
    name = "tc_cumsum" if n.op_type == "CumSum" else "tc_cumprod"
    text = f"tc_flip({x}, {axis})" if reverse else f"{x}"
    if exclusive:
        fill = 0 if n.op_type == "CumSum" else 1
        text = f"tc_slice(tc_pad_axis({text}, {axis}, 1, 0, {fill}), {axis}, 0, {n.dim(x.shape[axis])})"
    text = f"{name}({text}, {axis})"
    n.result(f"tc_flip({text}, {axis})" if reverse else text, x.dtype, x.shape)


@op("TopK")
def topk(n: Node) -> None:
    x = n.input(0)
    axis = n.axis(n.integer("axis", -1), x.rank)
    k = n.size(n.input(1), "k") if n.opset >= 10 else wrap(n.integer("k"))
    largest = n.integer("largest", 1)
    n.integer("sorted", 1)
    shape = [*x.shape[:axis], k, *x.shape[axis + 1:]]
    indices = n.value("i64", shape, n.outputs[1] if n.wants(1) else "indices")
    values = n.value(x.dtype, shape, n.outputs[0] or "values")
    n.emit(Statement(f"tc_topk({x}, {n.dim(k)}, {axis}, {'true' if largest else 'false'}, &{indices})", values,
                     declared=(indices,)))
    n.give(values)
    n.give(indices, 1)
