# SPDX-License-Identifier: Apache-2.0
"""Lowering of primitives that write at indices that are data, that sort, and that accumulate along an axis.

A scatter is what its first operand is, and behind that stores at dynamic indices in the same buffer. What sorts asks for
positions (Sorted); values are loads at them. A cumulative operation is a Reduction of the order `running`.
"""
from __future__ import annotations

from typing import TYPE_CHECKING, Callable

from ..graph.ir import Node, Value
from ..symbolic import ONE, ZERO, Sym, is_nonnegative, sym
from .ir import Apply, Computation, IndexValue, Load, Reduction, Sorted

if TYPE_CHECKING:
    from .lower import Lowering

_COMBINE = {"add": "add", "mul": "mul", "max": "maximum", "min": "minimum"}


def _scatter(low: Lowering, node: Node) -> None:
    v, (x, i, u), axis = Value(node), node.operands, node.attrs["axis"]
    home, bound = low.home_of(v), x.shape[axis]
    if node not in low.in_place:
        low.write_part(node, 0, home, tuple(ZERO for _ in x.shape))
    variables, index = low.vars.space(u.shape)
    count = len(i.shape)
    at = low.read(i, index[axis:axis + count])
    if not (isinstance(at, IndexValue) and is_nonnegative(at.expr) and is_nonnegative(bound - 1 - at.expr)):
        at = low.read(low.check(node, i, bound), index[axis:axis + count])
    g = Sym(f"g{len(low.items)}", 0, bound - 1)
    place = home.place((*index[:axis], sym(g), *index[axis + count:]))
    value = low.read(u, index)
    if node.attrs["op"] != "set":
        value = Apply(_COMBINE[node.attrs["op"]], v.dtype, (Load(home.buffer.name, v.dtype, place), value))
    low.items.append(Computation(home.buffer.name, variables, place, value, low.label(node), node.loc,
                                 dynamic=((g, at),)))


def _sort(low: Lowering, node: Node) -> None:
    x, axis, count = node.operands[0], node.attrs["axis"], node.attrs["count"][0]
    variables, index = low.vars.space(node.types[0].shape)
    s = low.vars.get("r", axis, x.shape[axis])
    row = low.load(x, (*index[:axis], sym(s), *index[axis + 1:]), node)
    position = Sorted(s, row, index[axis], count, bool(node.attrs["descending"]))
    g = Sym(f"g{len(low.items)}", 0, x.shape[axis] - 1)
    there = tuple(e.substitute({s: sym(g)}) for e in row.index)
    valid = tuple(e.substitute({s: sym(g)}) for e in row.valid)
    values = (Load(row.buffer, row.dtype, there, valid, row.other, ((g, position),)), position)
    for result, value in enumerate(values):
        v = Value(node, result)
        if low.uses.get(v):
            home = low.home_of(v)
            low.items.append(Computation(home.buffer.name, variables, home.place(index), value, low.label(node),
                                         node.loc))


def _cumulative(low: Lowering, node: Node) -> None:
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


INDEXING: dict[str, Callable[[Lowering, Node], None]] = {
    "scatter": _scatter, "sort": _sort, "cumulative": _cumulative}
