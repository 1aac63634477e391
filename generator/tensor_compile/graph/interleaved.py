# SPDX-License-Identifier: Apache-2.0
"""Interleaved: what is done to every element of interleaved convolutions is done to each of these.

A transposed convolution is one convolution for each phase of its stride, whose results are interleaved: by reshapes and
concatenations along dims of positions, and a slice where the last positions are none. A bias, the factors of a norm or
an activation behind it would be a kernel of its own. Here they move to the convolutions in front: each has them in its
epilogue, and `absorb`, which comes next, finds the norm. Operations of an element and their order stay what they were.

Operations move where all that reads what they read moves too, so that nothing is computed for both places. Their other
operands are the same at all positions: values of channels, or scalars.
"""
from __future__ import annotations

from typing import Iterator

from ..symbolic import ONE
from .dce import dce
from .infer import Context
from .ir import Function, Node, TensorType, Value
from .rewrite import Builder, Values
from .table import is_elementwise

_POSITIONS = 2   # the first dim of positions: behind the batch and the channels


def interleaved(function: Function) -> Function:
    """The function with such operations in front of the interleaving."""
    plan = _Plan(dce(function))   # what nobody uses reads nothing
    return _rebuilt(plan) if plan.moved else function


class _Plan:
    """roots: of each interleaving the whole, with the convolutions in it; of: by value, the root that it is computed
    from element by element, itself included; moved: the operations that move; kept: what is a result or assigned."""

    def __init__(self, function: Function):
        self.function = function
        self.users: dict[Value, list[Node]] = {}
        for node in function.nodes:
            for v in node.operands:
                self.users.setdefault(v, []).append(node)
        self.kept = {v for _, v, _ in (*function.results, *function.assigns)}
        self.roots = {v: leaves for node in function.nodes if (v := Value(node)) not in self.kept
                      and any(is_elementwise(user.op) for user in self.users.get(v, ()))
                      and (leaves := self.leaves(v))}
        self.of = self.computed()
        self.moved = {v.node for v in self.of if v not in self.roots}
        pending = [v for v in self.of if not self.goes_on(v)]
        while pending:
            for user in self.users.get(pending.pop(), ()):
                if user in self.moved:
                    self.moved.remove(user)
                    del self.of[Value(user)]
                    pending += [Value(user), *(v for v in user.operands if v in self.of)]

    def goes_on(self, v: Value) -> bool:
        """All that reads it moves."""
        return v not in self.kept and all(user in self.moved for user in self.users.get(v, ()))

    def computed(self) -> dict[Value, Value]:
        """`of` as if all operations could move."""
        of = {root: root for root in self.roots}
        for node in self.function.nodes:
            if not is_elementwise(node.op) or len(node.types) != 1:
                continue
            roots = {of[v] for v in node.operands if v in of}
            if len(roots) == 1 and all(v in of or _even(v) for v in node.operands):
                of[Value(node)] = roots.pop()
        return of

    def leaves(self, root: Value) -> tuple[Value, ...]:
        """The convolutions, and the constants of phases without taps, that are interleaved; () where it is something
        else, or a part of it is read elsewhere."""
        found: list[Value] = []
        pending, joins, sums = [root], False, False
        while pending:
            v = pending.pop()
            node = v.node
            if node.op == "broadcast" and not node.attrs["axes"]:
                found.append(v)
                continue
            if v != root and (len(self.users[v]) != 1 or v in self.kept):
                return ()
            if node.op == "convolution" and v != root:
                found.append(v)
                sums = True
            elif _moves(node):
                joins |= node.op == "concat"
                pending += reversed(node.operands)
            else:
                return ()
        return tuple(found) if joins and sums else ()


def interleaves(node: Node) -> bool:
    """A concatenation of positions in turn, of one element of each operand."""
    return node.op == "concat" and node.attrs["axis"] >= _POSITIONS \
        and all(v.shape[node.attrs["axis"]] == ONE for v in node.operands)


def of_positions(view: Node) -> bool:
    """It leaves the dims before the positions, batch and channels, as they are."""
    before, after = view.operands[0].shape, view.types[0].shape
    return min(len(before), len(after)) > _POSITIONS and before[:_POSITIONS] == after[:_POSITIONS]


def _moves(node: Node) -> bool:
    """It interleaves positions, or moves them."""
    return interleaves(node) or node.op in ("reshape", "slice") and of_positions(node)


def _even(v: Value) -> bool:
    """The same at all positions."""
    return v.node.op == "broadcast" and len(v.shape) > _POSITIONS \
        and all(axis < _POSITIONS for axis in v.node.attrs["axes"])


def _rebuilt(plan: _Plan) -> Function:
    function = plan.function
    builder, values = Builder(function, Context()), Values()
    parts: dict[Value, tuple[Value, ...]] = {}   # of a root, and of what moved: in each convolution's place
    dead = {node for root in plan.roots if plan.goes_on(root) for node in _views(root)}

    def part(v: Value, at: int, like: Value) -> Value:
        if v in parts:
            return parts[v][at]
        return builder.value("broadcast", values[v.node.operands[0]], like=v.node, shape=like.shape,
                             axes=v.node.attrs["axes"])

    def joined(v: Value, leaves: Iterator[Value]) -> Value:
        """The views of an interleaving, of other convolutions."""
        if not _moves(v.node):
            return next(leaves)
        operands = [joined(x, leaves) for x in v.node.operands]
        types = (TensorType(operands[0].dtype, v.shape),)
        return Value(builder.make(v.node.op, operands, v.node.attrs, types, v.node.loc, v.node.scope))

    for node in function.nodes:
        v = Value(node)
        if node in dead:
            if v in plan.roots:
                parts[v] = tuple(values[leaf] for leaf in plan.roots[v])
        elif node in plan.moved:
            root = plan.of[v]
            parts[v] = tuple(
                builder.value(node.op, *(part(x, at, leaf) for x in node.operands), like=node,
                              types=(TensorType(v.dtype, leaf.shape),), **node.attrs)
                for at, leaf in enumerate(plan.roots[root]))
            if not plan.goes_on(v):
                values[v] = joined(root, iter(parts[v]))
        else:
            values.bind(node, builder.again(node, values.all(node.operands)))
    return builder.finish(function, values.__getitem__)


def _views(root: Value) -> Iterator[Node]:
    pending = [root]
    while pending:
        node = pending.pop().node
        if _moves(node):
            yield node
            pending += node.operands
