# SPDX-License-Identifier: Apache-2.0
"""Lowering of primitives that write at indices that are data, that sort, and that accumulate along an axis.

A scatter is what its first operand is, and behind that stores at dynamic indices in the same buffer. What sorts asks
for positions (Sorted); values are loads at them. A cumulative operation is a Reduction of the order `running`.
"""
from __future__ import annotations

from typing import Any, Callable

from ..graph.ir import Node, Value
from ..symbolic import ONE, ZERO, Expr, Sym, is_nonnegative, sym
from .loop_ir import Computation
from .lower_items import Items, label, source
from .scalar_ir import Apply, Buffer, IndexValue, Load, Reduction, Scalar, Sorted
from .disjoint import one_to_one
from .ranges import index_of
from .scalars import linear

_DEEP = 32    # operations that the linear index of a scatter along an axis may take
_COMBINE = {"add": "add", "mul": "mul", "max": "maximum", "min": "minimum"}


def _scatter(low: Items, node: Node) -> None:
    v, (x, i, u), axis = Value(node), node.operands, node.attrs["axis"]
    placement, bound = low.places.of[v], x.shape[axis]
    name = low.buffer_at(placement).name
    if node not in low.places.in_place:
        low.write_slice(node, 0, tuple(ZERO for _ in x.shape))
    variables, index = low.vars.space(u.shape)
    count = len(i.shape)
    at = low.read(i, index[axis:axis + count])
    if not (isinstance(at, IndexValue) and is_nonnegative(at.expr) and is_nonnegative(bound - 1 - at.expr)):
        at = low.read(low.check(node, i, bound), index[axis:axis + count])
    g = Sym(f"g{len(low.items)}", 0, bound - 1)
    place = placement.index((*index[:axis], sym(g), *index[axis + count:]))
    along = _along(low, i, x) if x.type.rank == 1 else None
    if along is not None:
        variables, position, flat, g, at = along
        index, place = (position,), placement.index((flat,))
    value = low.read(u, index)
    if node.attrs["op"] != "set":
        value = Apply(_COMBINE[node.attrs["op"]], v.dtype, (Load(name, v.dtype, place), value))
    low.items.append(Computation(name, variables, place, value, label(node), source(node), dynamic=((g, at),)))


def _along(low: Items, i: Value, x: Value) -> tuple[Any, ...] | None:
    """A scatter into all elements in a row, at a linear index that is `place` along one axis and the point's own place
    along the others, as one over those axes, whose parts are disjoint: (variables, position of the point, flat index,
    g, place), g standing for the place. The linear index was looked at: it is -1 where the place is outside its axis.
    """
    if i.node.op != "reshape" or i.node.operands[0].node.op != "select":
        return None
    whole = i.node.operands[0]
    condition, linear_index, outside = whole.node.operands
    bounds = {v.node.op: v.node.operands for v in condition.node.operands} if condition.node.op == "logical_and" else {}
    if bounds.keys() != {"ge", "lt"} or bounds["ge"][0] != bounds["lt"][0]:
        return None
    variables, index = low.vars.space(whole.shape)
    low_end, size, none = (index_of(low.read(v, index)) for v in (bounds["ge"][1], bounds["lt"][1], outside))
    value = bounds["lt"][0]
    place = low.read(value, index, _DEEP)
    parts = _affine(low.read(linear_index, index, _DEEP), place)
    if size is None or parts is None or low_end != ZERO or none != -1:
        return None
    g = Sym(f"g{len(low.items)}", 0, size - 1)
    flat = parts[0] + parts[1] * sym(g)
    kept = (*(v for v in variables if v in flat.symbols()), g)
    buffer = Buffer("", x.dtype, x.shape, (0,), "temp")
    if not (is_nonnegative(flat) and is_nonnegative(x.shape[0] - 1 - flat) and one_to_one(buffer, (flat,), kept)):
        return None
    return variables, linear(index, whole.shape), flat, g, low.read(value, index)


def _affine(s: Scalar, place: Scalar) -> tuple[Expr, Expr] | None:
    """(rest, factor) where s = rest + factor * place."""
    expr = index_of(s)
    if expr is not None:
        return expr, ZERO
    if s is place:
        return ZERO, ONE
    if not isinstance(s, Apply) or s.op not in ("add", "mul"):
        return None
    a, b = (_affine(x, place) for x in s.args)
    if a is None or b is None:
        return None
    if s.op == "add":
        return a[0] + b[0], a[1] + b[1]
    if a[1].terms and b[1].terms:
        return None
    return a[0] * b[0], a[0] * b[1] + a[1] * b[0]


def _sort(low: Items, node: Node) -> None:
    x, axis, count = node.operands[0], node.attrs["axis"], node.attrs["count"][0]
    variables, index = low.vars.space(node.types[0].shape)
    s = low.vars.get("r", axis, x.shape[axis])
    row = low.load(x, (*index[:axis], sym(s), *index[axis + 1:]))
    position = Sorted(s, row, index[axis], count, bool(node.attrs["descending"]))
    g = Sym(f"g{len(low.items)}", 0, x.shape[axis] - 1)
    there = tuple(e.substitute({s: sym(g)}) for e in row.index)
    valid = tuple(e.substitute({s: sym(g)}) for e in row.valid)
    values = (Load(row.buffer, row.dtype, there, valid, row.other, ((g, position),)), position)
    for result, value in enumerate(values):
        v = Value(node, result)
        if low.facts.uses[v]:
            placement = low.places.of[v]
            low.items.append(Computation(low.buffer_at(placement).name, variables, placement.index(index), value,
                                         label(node), source(node)))


def _cumulative(low: Items, node: Node) -> None:
    x, axis = node.operands[0], node.attrs["axis"]
    variables, index = low.vars.space(x.shape)
    if x.shape[axis] == ONE:
        low.compute(node, variables, index, low.read(x, index))
        return
    (s,) = index[axis].symbols()
    if node.attrs["reverse"]:
        index = (*index[:axis], x.shape[axis] - 1 - sym(s), *index[axis + 1:])
    value = Reduction(node.attrs["op"], "running", node.types[0].dtype, (s,), low.read(x, index))
    low.compute(node, variables, index, value)


INDEXING: dict[str, Callable[[Items, Node], None]] = {
    "scatter": _scatter, "sort": _sort, "cumulative": _cumulative}
