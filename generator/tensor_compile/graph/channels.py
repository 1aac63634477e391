# SPDX-License-Identifier: Apache-2.0
"""Channels that need not be computed, for bake.py: what the values of weights say, as a graph of constants.

A channel of a value is *constant* where all its elements are equal whatever the inputs are: a row of weights that is
zero where its terms are not constant makes one, and elementwise operations, poolings and depthwise convolutions hand it
on; a pad does where what it adds is equal. All of it is nodes on weights, `bool[C]` and the elements' dtype `[C]`, that
the interpreter computes. Integers alone make constant channels: of floats, zero times infinity is no zero.

Values whose channels stand for one another, as those on both sides of an elementwise operation, are a *group*: they
lose channels together. The last ones of a group are read by convolutions and products that sum over channels, its
*readers*. A channel may go where, for each of them, it is constant (it becomes a part of the bias) or has no weight but
zero among the channels that are kept.
"""
from __future__ import annotations

from dataclasses import replace
from typing import Iterable

from ..records import dataclass
from ..symbolic import Expr, product, wrap
from .dtypes import DTYPES
from .fold import is_constant
from .infer import Context
from .ir import Function, Node, TensorType, Value
from .rewrite import Builder, Values
from .table import PRIMITIVES, lowering_of

NAME = "channels"


@dataclass(frozen=True, slots=True)
class Channels:
    """Of a value: the axis, how many there are, the group; which are constant, bool[size], and their elements,
    dtype[size] (anything where a channel is not constant), as values of the constants' function."""

    axis: int
    size: int
    group: int
    constant: Value
    element: Value


@dataclass(frozen=True, slots=True)
class Reader:
    """A node that sums over the channels of a group. usable: bool[C], constant and to be added to the bias; nonzero:
    bool[O, C], weights that count; made: the group of its result."""

    node: Node
    usable: Value
    nonzero: Value
    made: int


class Analysis:
    """known: of each value whose channels are followed. constant: nodes on weights and constants alone."""

    def __init__(self, function: Function):
        self.function = function
        self.builder = Builder(Function(NAME, entry=True), Context())
        self.constant: set[Node] = set()
        self.known: dict[Value, Channels] = {}
        self.placed = Values()
        self.parents: list[int] = []
        self.fixed: set[int] = set()              # groups that something reads which needs all channels
        self.readers: list[tuple[int, Reader]] = []
        for node in function.nodes:
            if is_constant(node, self.constant):
                self.constant.add(node)
            else:
                self._node(node)
        for _, value, _ in (*function.assigns, *function.results):
            self._need(value)

    # -- groups -------------------------------------------------------------------------------------------------------
    def group_of(self, number: int) -> int:
        while self.parents[number] != number:
            number = self.parents[number]
        return number

    def _new_group(self) -> int:
        self.parents.append(len(self.parents))
        return len(self.parents) - 1

    def _need(self, value: Value) -> None:
        """Something reads all channels."""
        if value in self.known:
            self.fixed.add(self.known[value].group)

    # -- nodes of constants -------------------------------------------------------------------------------------------
    def place(self, value: Value) -> Value:
        """A constant of the function among the constants' nodes."""
        return self.builder.copied(value, self.placed)

    def _filled(self, dtype: str, shape: tuple[Expr, ...], bits: int, like: Node) -> Value:
        return self.builder.filled(TensorType(dtype, shape), bits, like)

    def _both(self, a: Value, b: Value, like: Node) -> Value:
        return self.builder.value("logical_and", a, b, like=like)

    def _reduced(self, op: str, x: Value, axes: Iterable[int], like: Node) -> Value:
        axes = tuple(axes)
        return self.builder.value("reduce", x, like=like, op=op, axes=axes, order="free") if axes else x

    def vector(self, value: Value, axis: int, size: int, like: Node) -> Value | None:
        """A constant that differs along the axis alone, as dtype[size]; None where it is none."""
        node = value.node
        if node.op != "broadcast":
            return None
        (x,), axes = node.operands, node.attrs["axes"]
        if x.type.rank == 0:
            return self.builder.value("broadcast", self.place(x), like=like, shape=(wrap(size),), axes=())
        return self.place(x) if axes == (axis,) and x.shape == (wrap(size),) else None

    def is_constant(self, value: Value) -> bool:
        """Its elements are; its sizes may be dims."""
        node = value.node
        return node in self.constant or node.op == "broadcast" and node.operands[0].node in self.constant

    # -- rules --------------------------------------------------------------------------------------------------------
    def _node(self, node: Node) -> None:
        found = self._channels(node)
        if found is None:
            for v in node.operands:
                self._need(v)
        else:
            self.known[Value(node)] = found

    def _channels(self, node: Node) -> Channels | None:
        if len(node.types) != 1 or PRIMITIVES[node.op].graphs:
            return None
        if node.op == "convolution":
            return self._convolution(node)
        if node.op == "dot":
            return self._dot(node)
        if lowering_of(node.op) == "elementwise":
            return self._elementwise(node)
        x = self.known.get(node.operands[0]) if node.operands else None
        return None if x is None else self._moved(node, x)

    def _elementwise(self, node: Node) -> Channels | None:
        found = [self.known.get(v) for v in node.operands]
        first = next((f for f in found if f is not None), None)
        if first is None:
            return None
        elements, constant = [], first.constant
        for v, f in zip(node.operands, found, strict=True):
            if f is not None and (f.axis, f.size) == (first.axis, first.size):
                elements.append(f.element)
                constant = self._both(constant, f.constant, node) if f is not first else constant
            elif self.is_constant(v) and (one := self.vector(v, first.axis, first.size, node)) is not None:
                elements.append(one)
            else:
                return None
        for f in found:
            if f is not None:
                self.parents[self.group_of(f.group)] = self.group_of(first.group)
        element = self.builder.value(node.op, *elements, like=node, **node.attrs)
        return replace(first, constant=constant, element=element)

    def _moved(self, node: Node, x: Channels) -> Channels | None:
        shape, attrs = node.types[0].shape, node.attrs
        if node.op == "pad":
            edges = (*attrs["low"], *attrs["high"])
            if attrs["low"][x.axis] != 0 or attrs["high"][x.axis] != 0 or node.operands[1].node not in self.constant:
                return None
            if all(e == 0 for e in edges):
                return x
            other = self.builder.value("broadcast", self.place(node.operands[1]), like=node, shape=(wrap(x.size),),
                                       axes=())
            return replace(x, constant=self._both(x.constant, self._equal(x.element, other, node), node))
        if node.op == "transpose":
            return replace(x, axis=attrs["perm"].index(x.axis))
        if node.op == "broadcast" and attrs["axes"]:
            axis = attrs["axes"][x.axis]
            return replace(x, axis=axis) if shape[axis] == x.size else None
        if node.op == "reshape":
            before = product(node.operands[0].shape[:x.axis])
            axes = [i for i, n in enumerate(shape) if n == x.size and product(shape[:i]) == before]
            return replace(x, axis=axes[0]) if axes else None
        if node.op == "reduce" and x.axis not in attrs["axes"]:
            terms = product(node.operands[0].shape[a] for a in attrs["axes"])
            axis = x.axis - sum(a < x.axis for a in attrs["axes"])
            return self._pooled(node, replace(x, axis=axis), terms)
        if node.op == "window_reduce" and attrs["size"] and x.axis == 1 and not any((*attrs["low"], *attrs["high"])):
            return self._pooled(node, x, product(map(wrap, attrs["size"])))
        return None

    def _pooled(self, node: Node, x: Channels, terms: Expr) -> Channels | None:
        """`terms` equal elements as one."""
        if node.attrs["op"] in ("max", "min"):
            return x
        dtype = node.types[0].dtype
        if node.attrs["op"] != "sum" or not DTYPES[dtype].is_integer or not terms.is_const:
            return None
        many = self._filled(dtype, (wrap(x.size),), terms.value & (1 << 8 * DTYPES[dtype].bytes) - 1, node)
        return replace(x, element=self.builder.value("mul", x.element, many, like=node))

    def _equal(self, a: Value, b: Value, like: Node) -> Value:
        """Of the same bits: -0 is no +0."""
        if DTYPES[a.dtype].is_float:
            a, b = (self.builder.value("bitcast", x, like=like, dtype=f"i{DTYPES[x.dtype].bits}") for x in (a, b))
        return self.builder.value("eq", a, b, like=like)

    def _convolution(self, node: Node) -> Channels | None:
        x, w = node.operands
        if w.node not in self.constant or not DTYPES[w.dtype].is_integer or not all(n.is_const for n in w.shape):
            return None
        outs, groups = w.shape[0].value, node.attrs["groups"]
        edges = any((*node.attrs["low"], *node.attrs["high"]))
        weights, taps = self.place(w), range(2, w.type.rank)
        zero = self._filled(w.dtype, w.shape, 0, node)
        nonzero = self._reduced("any", self.builder.value("ne", weights, zero, like=node), taps, node)
        found = self.known.get(x)
        if groups == 1:
            return self._sum(node, 1, found if found is not None and found.axis == 1 else None, weights, nonzero, edges)
        if found is None or found.axis != 1 or outs != groups or w.shape[1] != 1:
            return None
        usable = self._usable(found, edges, node)
        sums = self._reduced("sum", weights, (1, *taps), node)
        return replace(found, constant=usable, element=self.builder.value("mul", found.element, sums, like=node))

    def _dot(self, node: Node) -> Channels | None:
        x, w = node.operands
        attrs, found = node.attrs, self.known.get(x)
        if found is None or w.node not in self.constant or w.type.rank != 2 or not DTYPES[w.dtype].is_integer \
                or attrs["lhs_batch"] or attrs["lhs_contract"] != (found.axis,) or not all(n.is_const for n in w.shape):
            return None
        weights = self.place(w)
        if attrs["rhs_contract"] == (0,):
            weights = self.builder.value("transpose", weights, like=node, perm=(1, 0))
        zero = self._filled(w.dtype, weights.shape, 0, node)
        nonzero = self.builder.value("ne", weights, zero, like=node)
        return self._sum(node, node.types[0].rank - 1, found, weights, nonzero, False)

    def _usable(self, x: Channels, edges: bool, like: Node) -> Value:
        """Constant for a convolution. edges: zeros stand for what is outside, so that the element must be one."""
        if not edges:
            return x.constant
        zero = self._filled(x.element.dtype, (wrap(x.size),), 0, like)
        return self._both(x.constant, self._equal(x.element, zero, like), like)

    def _sum(self, node: Node, axis: int, x: Channels | None, weights: Value, nonzero: Value, edges: bool) -> Channels:
        """A sum over channels by weights [O, C, ...]."""
        outs, group = weights.shape[0], self._new_group()
        if x is None:
            self._need(node.operands[0])
            counts, element = nonzero, self._filled(weights.dtype, (outs,), 0, node)
        else:
            usable = self._usable(x, edges, node)
            self.readers.append((x.group, Reader(node, usable, nonzero, group)))
            other = self.builder.value("logical_not", usable, like=node)
            counts = self._both(nonzero, self.builder.value("broadcast", other, like=node, shape=nonzero.shape,
                                                            axes=(1,)), node)
            wide = self.builder.value("broadcast", x.element, like=node, shape=weights.shape, axes=(1,))
            element = self._reduced("sum", self.builder.value("mul", weights, wide, like=node),
                                    range(1, weights.type.rank), node)
        constant = self.builder.value("logical_not", self._reduced("any", counts, (1,), node), like=node)
        return Channels(axis, outs.value, group, constant, element)

    # -- what may go --------------------------------------------------------------------------------------------------
    def droppable(self) -> dict[int, Value]:
        """By group, bool[C]: the channels that need not be computed. Groups of which none may go are left out."""
        fixed = {self.group_of(g) for g in self.fixed}
        readers: dict[int, list[Reader]] = {}
        for group, reader in self.readers:
            readers.setdefault(self.group_of(group), []).append(reader)
        done: dict[int, Value] = {}
        # a reader comes behind what it reads, so that its own result is known first where no loop of values leads back
        for group in sorted(readers, key=lambda g: -max(self.function.nodes.index(r.node) for r in readers[g])):
            if group in fixed:
                continue
            whole: Value | None = None
            for r in readers[group]:
                counts, made = r.nonzero, done.get(self.group_of(r.made))
                if made is not None:
                    kept = self.builder.value("logical_not", made, like=r.node)
                    counts = self._both(counts, self.builder.value("broadcast", kept, like=r.node, shape=counts.shape,
                                                                   axes=(0,)), r.node)
                unread = self.builder.value("logical_not", self._reduced("any", counts, (0,), r.node), like=r.node)
                free = self.builder.value("logical_or", r.usable, unread, like=r.node)
                whole = free if whole is None else self._both(whole, free, r.node)
            assert whole is not None
            done[group] = whole
        return done
