# SPDX-License-Identifier: Apache-2.0
"""Divide: a product by constants whose result is read in parts of its columns alone becomes one product a part.

One weight may hold several (queries, keys and values; gate and up; the gates of a recurrent cell), whose product is
split afterwards. As products of their own, which fusion has run side by side or as sums of one kernel, each part has
its own epilogue and place, and no tensor holds them all. The parts of the weights are folded. An element's terms and
their order stay what they were.

A result is followed through elementwise nodes, transposes and reshapes to slices of its columns. It stays whole where
anything else reads it, where two slices overlap and where parts are narrow or take more panels of columns.

Of one row the gates of a recurrent cell are sums of one kernel, which has the cell's functions in its epilogue: a step
has one barrier less, and these functions run while the next columns of the weights come. So there narrow parts are
divided, too. Of weights that some function of the module multiplies more rows by they have to be whole panels, which
are stored once for both (constant_places.py): else both forms would be packed. Of more rows a tile takes its sums one
after the other, for which narrow ones are too short.
"""
from __future__ import annotations

from dataclasses import field
from typing import Any, Iterable

from ..records import dataclass
from ..symbolic import Expr, exact_div, product, wrap
from .infer import Context
from .ir import Function, Node, TensorType, Value
from .rewrite import Builder, Values
from .table import PRIMITIVES

PANEL = 16          # columns that a kernel computes at once
# Columns of a part. Cells of 8 and 32 rows by 128 columns are 2 to 4 % slower in four products than in one.
NARROWEST = 192
MOST_PARTS = 8
_LEAVES = frozenset(("weight", "packed", "constant", "iota"))

Part = tuple[int, int]   # first column, columns


def divide(function: Function, of_a_row: int = NARROWEST, shared: frozenset[str] = frozenset()) -> Function:
    """The function with such products divided. of_a_row: columns that a part has at least where there is one row, and
    none of the weights is `shared` or all parts are whole panels."""
    plan = _Plan(function, of_a_row, shared)
    for node in function.nodes:
        plan.consider(node)
    return _rebuilt(function, plan) if plan.parts else function


def of_several_rows(functions: Iterable[Function]) -> frozenset[str]:
    """The names of the weights by which any of them multiplies more than one row."""
    found: set[str] = set()
    for function in functions:
        weights = _weights(function)
        for node in function.nodes:
            if node.op == "dot" and not _one_row(node):
                found |= weights.get(node.operands[1].node, frozenset())
    return frozenset(found)


def _weights(function: Function) -> dict[Node, frozenset[str]]:
    """Of each node that is constant, the weights that it is made of."""
    made: dict[Node, frozenset[str]] = {}
    for node in function.nodes:
        if node.op in _LEAVES:
            made[node] = frozenset((node.attrs["name"],)) if node.op == "weight" else frozenset()
        elif node.operands and all(v.node in made for v in node.operands):
            made[node] = frozenset().union(*(made[v.node] for v in node.operands))
    return made


@dataclass(slots=True)
class _Found:
    """What one result leads to: the axis of its columns in each value on the way, and the parts that are read."""

    axes: dict[Value, int] = field(default_factory=dict)
    parts: set[Part] = field(default_factory=set)


class _Plan:
    """parts: of each product to be divided; axes: of the columns, in each value that is computed part by part."""

    def __init__(self, function: Function, of_a_row: int, shared: frozenset[str]):
        self.of_a_row, self.shared = of_a_row, shared
        self.users: dict[Value, list[Node]] = {}
        self.kept = {v for _, v, _ in (*function.results, *function.assigns)}
        self.weights = _weights(function)    # of what is constant
        self.parts: dict[Node, list[Part]] = {}
        self.axes: dict[Value, int] = {}
        for node in function.nodes:
            for v in dict.fromkeys(node.operands):
                self.users.setdefault(v, []).append(node)

    def consider(self, node: Node) -> None:
        if node.op != "dot" or node.attrs["order"] != "seq" or node.types[0].dtype != "f32" or node in self.weights:
            return
        second, attrs = node.operands[1], node.attrs
        columns = node.types[0].shape[-1] if node.types[0].shape else None
        fixed = len(attrs["rhs_batch"]) + len(attrs["rhs_contract"])
        if second.node not in self.weights or len(second.shape) != fixed + 1 or columns is None \
                or not columns.is_const:
            return
        found = _Found()
        if self.follow(Value(node), len(node.types[0].shape) - 1, 1, found) \
                and _worth(found.parts, columns.value, self.narrowest(node, found.parts)):
            self.parts[node] = sorted(found.parts)
            self.axes |= found.axes

    def narrowest(self, node: Node, parts: set[Part]) -> int:
        whole = all(start % PANEL == 0 and size % PANEL == 0 for start, size in parts)
        once = whole or self.shared.isdisjoint(self.weights[node.operands[1].node])
        return self.of_a_row if _one_row(node) and once else NARROWEST

    def follow(self, value: Value, axis: int, unit: int, found: _Found) -> bool:
        """Whether all that reads the value reads parts of it. unit: columns of one step along the axis."""
        pending = [(value, axis, unit)]
        while pending:
            value, axis, unit = pending.pop()
            known = found.axes.get(value, self.axes.get(value))
            if value in self.kept or known not in (None, axis):
                return False
            if value in found.axes:
                continue
            found.axes[value] = axis
            for user in self.users.get(value, ()):
                if user.op == "slice":
                    start, size = user.attrs["start"][axis], user.attrs["size"][axis]
                    if not start.is_const or not size.is_const or user.attrs["stride"][axis] != 1 or size.value == 0:
                        return False
                    found.parts.add((start.value * unit, size.value * unit))
                elif PRIMITIVES[user.op].elementwise:
                    pending.append((Value(user), axis, unit))
                elif user.op == "transpose":
                    pending.append((Value(user), user.attrs["perm"].index(axis), unit))
                else:
                    split = _split(value.shape, axis, user.types[0].shape) if user.op == "reshape" else None
                    if split is None:
                        return False
                    pending.append((Value(user), split[0], unit * split[1]))
        return True


def _one_row(node: Node) -> bool:
    return product(node.types[0].shape[:-1]) == 1


def _worth(parts: set[Part], columns: int, narrowest: int) -> bool:
    end = 0
    for start, size in sorted(parts):
        if start < end:
            return False
        end = start + size
    panels = sum(-(-size // PANEL) for _, size in parts)
    return parts != {(0, columns)} and 0 < len(parts) <= MOST_PARTS and panels <= -(-columns // PANEL) \
        and all(size >= narrowest for _, size in parts)


def _split(before: tuple[Expr, ...], axis: int, after: tuple[Expr, ...]) -> tuple[int, int] | None:
    """(axis, steps) of a reshape: where one step along that axis of the result is so many steps along `axis`."""
    ahead, behind = product(before[:axis]), product(before[axis + 1:])
    for p, size in enumerate(after):
        steps = exact_div(product(after[p + 1:]), behind)
        if product(after[:p]) == ahead and steps is not None and steps.is_const and size * steps == before[axis] \
                and size != 1:
            return p, steps.value
    return None


def _rebuilt(function: Function, plan: _Plan) -> Function:
    builder, values = Builder(function, Context(), share=False), Values()
    made: dict[tuple[Value, Part], Value] = {}

    def make(like: Node, op: str, operands: tuple[Value, ...], attrs: dict[str, Any], dtype: str,
             shape: tuple[Expr, ...]) -> Value:
        return Value(builder.make(op, operands, attrs, (TensorType(dtype, shape),), like.loc, like.scope))

    def resized(shape: tuple[Expr, ...], axis: int, size: int) -> tuple[Expr, ...]:
        return tuple(wrap(size) if d == axis else n for d, n in enumerate(shape))

    def sliced(like: Node, x: Value, axis: int, part: Part) -> Value:
        start = tuple(wrap(part[0] if d == axis else 0) for d in range(len(x.shape)))
        shape = resized(x.shape, axis, part[1])
        return make(like, "slice", (x,), {"start": start, "size": shape, "stride": (1,) * len(shape)}, x.dtype, shape)

    def products(node: Node) -> None:
        a, b = values.all(node.operands)
        attrs = node.attrs
        (column,) = [d for d in range(len(b.shape)) if d not in (*attrs["rhs_batch"], *attrs["rhs_contract"])]
        shape = node.types[0].shape
        for part in plan.parts[node]:
            second = sliced(node, b, column, part)
            kind = resized(shape, len(shape) - 1, part[1])
            made[Value(node), part] = make(node, "dot", (a, second), attrs, "f32", kind)

    def source(value: Value, part: Part) -> Part:
        """The part of a value's operands that a part of it is made of, each counted in steps along its axis."""
        if value.node.op != "reshape":
            return part
        x = value.node.operands[0]
        ratio = exact_div(x.shape[plan.axes[x]], value.shape[plan.axes[value]])
        assert ratio is not None
        return part[0] * ratio.value, part[1] * ratio.value

    def cut(value: Value, part: Part) -> Value:
        """A part of a value that is computed part by part."""
        pending = [(value, part)]
        while pending:
            v, p = pending[-1]
            within = source(v, p)
            missing = [(x, within) for x in v.node.operands if x in plan.axes and (x, within) not in made]
            if (v, p) not in made and missing:
                pending += missing
                continue
            pending.pop()
            if (v, p) not in made:
                made[v, p] = computed(v, p, within)
        return made[value, part]

    def computed(value: Value, part: Part, within: Part) -> Value:
        node, axis = value.node, plan.axes[value]
        shape = resized(value.shape, axis, part[1])
        operands = tuple(made[x, within] if x in plan.axes else sliced(node, values[x], axis, part)
                         for x in node.operands)
        attrs = {"shape": shape} if node.op == "reshape" else node.attrs
        return make(node, node.op, operands, attrs, value.dtype, shape)

    for node in function.nodes:
        if node in plan.parts:
            products(node)
        elif Value(node) in plan.axes:
            continue
        elif node.op == "slice" and node.operands[0] in plan.axes:
            axis, attrs = plan.axes[node.operands[0]], node.attrs
            x = cut(node.operands[0], (attrs["start"][axis].value, attrs["size"][axis].value))
            start = tuple(wrap(0) if d == axis else s for d, s in enumerate(attrs["start"]))
            values[Value(node)] = make(node, "slice", (x,), {**attrs, "start": start}, x.dtype, node.types[0].shape)
        else:
            values.bind(node, builder.again(node, values.all(node.operands)))
    return builder.finish(function, values.__getitem__)
