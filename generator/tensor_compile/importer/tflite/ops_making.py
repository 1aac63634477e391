# SPDX-License-Identifier: Apache-2.0
"""Tensors that are made of sizes and numbers."""
from __future__ import annotations

import math

from ...symbolic import Expr, equal, wrap
from ..problems import Malformed
from ..values import FLOATS, Element, Value, number
from .registry import Node, op


@op("FILL", versions=4)
def fill(n: Node) -> None:
    shape, value = n.sizes(0, "the shape"), n.input(1)
    if value.rank or any(s.is_const and s.value < 0 for s in shape):
        raise Malformed(f"a value of rank {value.rank} and the shape {list(shape)}")
    if n.scale(1) != n.result_scale():
        n.refuse("a result of another scale than its input")
    single = number(value.single, value.dtype) if value.single is not None else None
    if not shape:
        n.hand_on(1)
    elif single is None:
        n.give(f"tc_expand({value}, {n.dim_list(shape)})", value.dtype, shape)
    else:
        n.give(f"tc_full(g, {single}, TC_{value.dtype.upper()}, {n.dim_list(shape)})", value.dtype, shape)


@op("ZEROS_LIKE", versions=1)
def zeros_like(n: Node) -> None:
    x = n.input(0)
    if n.is_integer:
        n.refuse("quantized operands")
    n.give(f"tc_full_like({x}, 0)", x.dtype, x.shape)


@op("RANGE", versions=2)
def steps(n: Node) -> None:
    """Numbers from the first one on, before the limit. Its size has to be known, so all three have."""
    first, limit, step = (_whole(n, n.input(i)) for i in range(3))
    dtype = n.input(0).dtype
    if not step.is_const or not step.value:
        n.refuse(f"a step of {step}")
    if first.is_const and limit.is_const:
        size = wrap(max(-((limit.value - first.value) // -step.value), 0))
    elif step.value == 1:
        size = limit - first
    else:
        n.refuse("numbers of a dynamic size whose step is not 1")
    begin, end = n.importer.dims.c(first), n.importer.dims.c(limit)
    plain = equal(first, 0) and step.value == 1
    n.give(f"tc_arange(g, TC_{dtype.upper()}, {end})" if plain else
           f"tc_arange_step(g, TC_{dtype.upper()}, {begin}, {end}, {step.value})", dtype, (size,))


def _whole(n: Node, x: Value) -> Expr:
    """A whole number that is known before a call."""
    single: Element | None = x.single if not x.rank else None
    if single is None:
        n.refuse("numbers that are known at run time only", "sizes must follow from the sizes of the inputs")
    if isinstance(single, float):
        if not math.isfinite(single) or single != int(single) or abs(single) >= 1 << 24 or x.dtype not in FLOATS:
            n.refuse(f"steps from or by {single}, which is no whole number")
        return wrap(int(single))
    return wrap(single)


@op("BROADCAST_ARGS", versions=1)
def broadcast_args(n: Node) -> None:
    """What two shapes broadcast to is folded (sizes.py) where it is known."""
    n.refuse("shapes that are known at run time only", "sizes must follow from the sizes of the inputs")


@op("MATRIX_DIAG", versions=1)
def matrix_diag(n: Node) -> None:
    x = n.input(0)
    if n.is_integer or not x.rank:
        n.refuse("quantized operands, or a single number")
    n.give(f"tc_diag({x}, 0)", x.dtype, (*x.shape, x.shape[-1]))


@op("MATRIX_SET_DIAG", versions=1)
def matrix_set_diag(n: Node) -> None:
    x, y = n.input(0), n.input(1)
    sizes = [s.value for s in (*y.shape[-1:], *x.shape[-2:]) if s.is_const]
    if x.rank < 2 or y.rank != x.rank - 1 or x.dtype != y.dtype or [*y.shape[:-1]] != [*x.shape[:-2]] \
            or len(sizes) == 3 and sizes[0] != min(sizes[1:]):
        raise Malformed(f"{list(y.shape)} as the diagonal of {list(x.shape)}")
    if n.scale(0) != n.scale(1):
        n.refuse("operands of different scales")
    n.same_scale()
    n.give(f"tc_diagonal_scatter({x}, {y}, 0)", x.dtype, x.shape)
