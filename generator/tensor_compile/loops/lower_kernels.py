# SPDX-License-Identifier: Apache-2.0
"""Lowering of what becomes computations of its own: parts of tensors, gathers, reductions, calls of the user's
functions."""
from __future__ import annotations

from typing import Any, Callable

from ..graph.dtypes import DTYPES
from ..graph.ir import Node, Value
from ..symbolic import ONE, ZERO, Expr, Sym, is_nonnegative, sym
from .loop_ir import Computation, ExternKernel
from .lower_items import Items, label, source
from .scalar_ir import Apply, Const, InBounds, IndexValue, Load, Reduction, Scalar, row_major
from .predicates import inside, protect
from .ranges import lies_in
from .scalars import dims_of, identity

SHOWN = 8       # integer operations in a row that the proof of an index looks through


def lower_concat(low: Items, node: Node) -> None:
    v, axis = Value(node), node.attrs["axis"]
    at = ZERO
    for position, operand in enumerate(node.operands):
        start = tuple(at if d == axis else ZERO for d in range(len(v.shape)))
        low.write_slice(node, position, start)
        at = at + operand.shape[axis]


def lower_update_slice(low: Items, node: Node) -> None:
    v, (x, y), start = Value(node), node.operands, node.attrs["start"]
    if node in low.places.in_place:
        low.write_slice(node, 1, start)
        return
    variables, index = low.vars.space(v.shape)
    inner = tuple(i - s for i, s in zip(index, start, strict=True))
    within = inside(inner, y.shape)
    written = low.read(y, inner)
    if within:
        written = Apply("select", v.dtype, (InBounds(within), protect(written, within), low.read(x, index)))
    low.compute(node, variables, index, written)


def lower_gather(low: Items, node: Node) -> None:
    v, (x, i), axis = Value(node), node.operands, node.attrs["axis"]
    variables, index = low.vars.space(v.shape)
    count = len(i.shape)
    where, bound = index[axis:axis + count], x.shape[axis]
    at = low.read(i, where)
    if isinstance(at, IndexValue) and is_nonnegative(at.expr) and is_nonnegative(bound - 1 - at.expr):
        value = low.read(x, (*index[:axis], at.expr, *index[axis + count:]))
    else:
        if not lies_in(low.read(i, where, SHOWN), bound):
            i = low.check(node, i, bound)
            at = low.read(i, where)
        s = Sym(f"g{len(low.items)}", 0, bound - 1)
        base = low.load(x, (*index[:axis], sym(s), *index[axis + count:]))
        value = Load(base.buffer, base.dtype, base.index, base.valid, base.other, ((s, at),))
    low.compute(node, variables, index, value)


def lower_extern_call(low: Items, node: Node) -> None:
    """Operands as whole row-major buffers; results in buffers of their own, copied to where they are to be."""
    reads = tuple(low.whole(v) for v in node.operands)
    results = [Value(node, i) for i in range(len(node.types))]
    placements = [low.places.of[v] for v in results]
    stores = [p if p.own else low.temp(v, row_major(v.shape)) for v, p in zip(results, placements, strict=True)]
    writes = [low.buffer_at(p) for p in stores]
    params = (*reads, *writes)
    kernel = ExternKernel(label(node), node.attrs["function"], reads, tuple(writes), params,
                          dims_of(*(s for b in params for s in b.shape)), source(node))
    low.items.append(kernel)
    for v, placement, stored in zip(results, placements, stores, strict=True):
        if stored is not placement:
            low.copy(low.known(v, stored), placement, label(node))


def lower_reorder(low: Items, node: Node) -> None:
    variables, index = low.vars.space(node.types[0].shape)
    low.compute(node, variables, index, low.read(node.operands[0], index))


def lower_reduce(low: Items, node: Node) -> None:
    v, x = Value(node), node.operands[0]
    axes, variables, index, inner, reduced = _reduced(low, node, node.attrs["axes"])
    value = low.read(x, inner)
    if reduced:
        value = Reduction(node.attrs["op"], node.attrs["order"], v.dtype, reduced, value)
    low.compute(node, variables, index, value)


def lower_reduce_where(low: Items, node: Node) -> None:
    """What is no term becomes the identity of the operation. A sum of floats ends with + (+0): without it, the -0 of no
    terms would be seen."""
    v, (x, p), op = Value(node), node.operands, node.attrs["op"]
    _, variables, index, inner, reduced = _reduced(low, node, node.attrs["axes"])
    kept = Apply("select", v.dtype, (low.read(p, inner), low.read(x, inner),
                                     identity(op, node.attrs["order"], v.dtype)))
    value: Scalar = Reduction(op, node.attrs["order"], v.dtype, reduced, kept) if reduced else kept
    if op == "sum" and DTYPES[v.dtype].is_float:
        if reduced:
            total = low.buffer_at(low.temp(v))
            low.items.append(Computation(total.name, variables, index, value, label(node), source(node)))
            value = Load(total.name, v.dtype, index)
        value = Apply("add", v.dtype, (value, Const(v.dtype, 0)))
    low.compute(node, variables, index, value)


def lower_arg_reduce(low: Items, node: Node) -> None:
    x = node.operands[0]
    axes, variables, index, inner, reduced = _reduced(low, node, (node.attrs["axis"],))
    value = low.read(x, inner)
    value = Reduction("arg" + node.attrs["op"], "free", "i64", reduced, value) if reduced else Const("i64", 0)
    low.compute(node, variables, index, value)


def _reduced(low: Items, node: Node, axes: tuple[int, ...]) -> tuple[Any, ...]:
    """Result variables and index, index of the operand, and the reduced variables. Trailing axes use the
    variables of the operand's own space, so that a row and its reduction are walked by the same ones."""
    x = node.operands[0]
    variables, index = low.vars.space(node.types[0].shape)
    kept = [d for d in range(len(x.shape)) if d not in axes]
    kind = "i" if all(d < min(axes, default=len(x.shape)) for d in kept) else "r"
    inner: list[Expr] = [ZERO] * len(x.shape)
    for d, i in zip(kept, index, strict=True):
        inner[d] = i
    reduced = []
    for d in axes:
        if x.shape[d] != ONE:
            s = low.vars.get(kind, d, x.shape[d])
            reduced.append(s)
            inner[d] = sym(s)
    return axes, variables, index, tuple(inner), tuple(reduced)


def lower_window_reduce(low: Items, node: Node) -> None:
    v, x, attrs = Value(node), node.operands[0], node.attrs
    variables, index = low.vars.space(v.shape)
    spatial = len(attrs["size"])
    lead = len(x.shape) - spatial
    reduced, inner = [], list(index[:lead])
    for d in range(spatial):
        window, s = low.window("r", d, attrs["size"][d])
        if s is not None:
            reduced.append(s)
        inner.append(index[lead + d] * attrs["stride"][d] + window * attrs["dilation"][d] - attrs["low"][d])
    order = "seq" if attrs["op"] == "sum" and DTYPES[v.dtype].is_float else "free"
    value = Reduction(attrs["op"], order, v.dtype, tuple(reduced), low.read(x, tuple(inner)),
                      inside(tuple(inner), x.shape))
    low.compute(node, variables, index, value, window=True)


KERNELS: dict[str, Callable[[Items, Node], None]] = {
    "concat": lower_concat, "update_slice": lower_update_slice, "gather": lower_gather,
    "extern_call": lower_extern_call, "reorder": lower_reorder,
    "reduce": lower_reduce, "reduce_where": lower_reduce_where, "arg_reduce": lower_arg_reduce,
    "window_reduce": lower_window_reduce}
