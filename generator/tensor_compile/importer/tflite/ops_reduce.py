# SPDX-License-Identifier: Apache-2.0
"""Sums, extremes and softmax along axes."""
from __future__ import annotations

from ...symbolic import equal, wrap
from ..problems import Malformed
from ..program import Statement
from ..values import FLOATS, Value
from .ops_elementwise import either
from .registry import Node, Scale, op


@op("SOFTMAX", versions=3)
def softmax(n: Node) -> None:
    """Along the last axis."""
    x = n.input(0)
    beta = n.real("beta")
    if n.is_integer:
        if x.dtype not in ("i8", "u8", "i16") or n.importer.dtype(n.output()) != x.dtype:
            n.refuse(f"a softmax of {x.dtype} to {n.importer.dtype(n.output())}")
        if beta == "0.0" or beta.startswith("-"):
            n.refuse(f"a softmax of integers whose beta is {beta}")
        if n.into() != (Scale("3.0517578e-05", 0) if x.dtype == "i16" else   # 1 / 32768 and 1 / 256
                        Scale("0.00390625", -128 if x.dtype == "i8" else 0)):
            n.refuse(f"a result of the scale {n.into().scale}, zero {n.into().zero}")
        text = f"tc_quantized_softmax(.x = {n.affine(x, n.quantized(0))}{f', .beta = {beta}' if beta != '1.0' else ''})"
    else:
        text = f"tc_softmax({x if beta == '1.0' else f'tc_mul({x}, {beta})'}, -1)"
    n.give(text, x.dtype, x.shape)


@op("LOG_SOFTMAX", versions=1)
def log_softmax(n: Node) -> None:
    x = n.input(0)
    if x.dtype not in FLOATS:
        n.refuse(f"integers of {x.dtype}")
    n.give(f"tc_log_softmax({x}, -1)", x.dtype, x.shape)


_REDUCTIONS = {"MEAN": "mean", "SUM": "sum", "REDUCE_MAX": "amax", "REDUCE_MIN": "amin", "REDUCE_PROD": "prod",
               "REDUCE_ANY": "any",
               "REDUCE_ALL": "all"}


@op(*_REDUCTIONS, versions=3)
def reduce(n: Node) -> None:
    given = n.integers(1, "the axes")
    keep = bool(n.option("keep_dims"))
    x, first = either(n)
    axes = sorted({n.axis(a, x.rank) for a in given})
    if not axes:
        n.refuse("a reduction of no axes")
    if first:
        axes = sorted(1 if a == x.rank - 1 else a + 1 if a else 0 for a in axes)
        left = [a for a in range(x.rank) if a not in axes]
        wide = [a for a in left if not equal(x.shape[a], 1)]
        if not keep and 1 in wide and wide[-1] != 1:   # the order of the axes that are left is another one
            x, first, axes = n.input(0), False, sorted({n.axis(a, x.rank) for a in given})
    if n.is_integer and n.name not in ("REDUCE_MAX", "REDUCE_MIN"):
        _integers(n, x, axes, keep, first)
        return
    if n.is_integer:
        n.same_scale()
    name = f"tc_{_REDUCTIONS[n.name]}{'_keepdims' if keep else ''}"
    _give(n, f"{name}({x}, {', '.join(map(str, axes))})", x, x.dtype, axes, keep, first)


def _give(n: Node, text: str, x: Value, dtype: str, axes: list[int], keep: bool, first: bool) -> None:
    if keep:
        shape = tuple(wrap(1) if a in axes else s for a, s in enumerate(x.shape))
        (n.give_first if first else n.give)(text, dtype, shape)
    else:
        # Channels first: of the axes that are left, only the channels and the batch are wider than 1.
        n.give(text, dtype, tuple(s for a, s in enumerate(x.shape) if a not in axes))


def _integers(n: Node, x: Value, axes: list[int], keep: bool, first: bool) -> None:
    if n.name != "MEAN" or x.dtype not in ("i8", "i16"):
        n.refuse(f"integers of {x.dtype}")
    text = f"tc_quantized_mean(.x = {n.affine(x, n.quantized(0))}{n.behind()}" \
           f", .axes = {{{', '.join(map(str, axes))}}}" \
           f", .axis_count = {len(axes)}" + (", .keepdims = true)" if keep else ")")
    _give(n, text, x, x.dtype, axes, keep, first)


@op("ARG_MAX", "ARG_MIN", versions=3)
def position(n: Node) -> None:
    x, axes = n.input(0), n.integers(1, "the axis")
    n.ignore("dtype")
    if len(axes) != 1:
        raise Malformed(f"{len(axes)} axes")
    axis = n.axis(axes[0], x.rank)
    dtype = n.importer.dtype(n.output())
    text = f"tc_{n.name.lower().replace('_', '')}({x}, {axis})"
    shape = (*x.shape[:axis], *x.shape[axis + 1:])
    n.give(text if dtype == "i64" else f"tc_cast({text}, TC_{dtype.upper()})", dtype, shape)


@op("L2_NORMALIZATION", versions=1)
def l2(n: Node) -> None:
    x = n.input(0)
    if x.dtype not in FLOATS:
        n.refuse(f"integers of {x.dtype}")
    square = n.let(f"tc_sum_keepdims(tc_mul({x}, {x}), -1)", x.dtype, (*x.shape[:-1], wrap(1)), "square")
    text = f"tc_div({x}, tc_sqrt(tc_maximum({square}, 1e-6)))"
    n.give(n.activated(text, x.dtype, x.shape), x.dtype, x.shape)


@op("CUMSUM", versions=1)
def cumsum(n: Node) -> None:
    x, axes = n.input(0), n.integers(1, "the axis")
    if n.is_integer or len(axes) != 1:
        n.refuse("integers with a scale, or several axes")
    name = "tc_cumsum" + "_exclusive" * bool(n.option("exclusive")) + "_reverse" * bool(n.option("reverse"))
    n.give(f"{name}({x}, {n.axis(axes[0], x.rank)})", x.dtype, x.shape)


@op("TOPK_V2", versions=3)
def topk(n: Node) -> None:
    """The largest elements along the last axis, and their places."""
    x, count = n.input(0), n.integers(1, "the number")
    n.same_scale()
    if len(count) != 1 or not x.rank:
        raise Malformed("it needs one number and an axis")
    shape = (*x.shape[:-1], wrap(count[0]))
    wide = n.value("i64", shape, "places")
    value = n.value(x.dtype, shape)
    n.emit(Statement(f"tc_topk({x}, {count[0]}, -1, true, &{wide})", value, declared=(wide,)))
    n.given[0] = n.importer.hold(last=value)
    dtype = n.importer.dtype(n.output(1))
    n.give(f"tc_cast({wide}, TC_{dtype.upper()})", dtype, shape, 1)
