# SPDX-License-Identifier: Apache-2.0
"""What of a graph is computed in integers.

A layer is a part of the graph whose result becomes integers of 8 bits with a scale and a zero. Convolutions and
products with constant weights always are, with the bias and the limits behind them. What lies between layers is one too
where its operands are integers already and a layer reads its result: sums and products of two tensors, means, poolings,
functions of one tensor (as a table of 256 numbers), and what only moves elements, whose result keeps the scale.

Decided by structure alone: no region name is looked at.
"""
from __future__ import annotations

import re
from collections import Counter
from difflib import get_close_matches
from fnmatch import fnmatchcase
from math import inf, isnan, prod
from typing import Collection, Mapping

from ..graph.fold import is_constant
from ..graph.ir import Function, Node, Value
from ..graph.table import is_elementwise
from ..importer.source import Names, identifier
from ..records import dataclass
from ..symbolic import equal
from .primitives import scalar_of

PRODUCTS = ("conv", "linear")
_TWO = ("add", "sub", "mul")
_MOVES = ("reshape", "transpose", "slice", "reverse", "broadcast")
MOST_STEPS = 64     # of a function that becomes a table
MOST_DIGITS = 18    # of the number at the end of a layer's name


@dataclass(frozen=True, slots=True)
class Layer:
    """kind: conv, linear, add, sub, mul, mean, average, concat, table, moves, entry. result: the value that becomes
    integers; inputs: those whose integers are read; node: the operation itself; weight, bias: of products. steps: the
    nodes of a table, in order. name: for weights and reports."""

    kind: str
    result: Value
    inputs: tuple[Value, ...]
    node: Node
    name: str
    weight: Value | None = None
    bias: Value | None = None
    steps: tuple[Node, ...] = ()

    @property
    def keeps_scale(self) -> bool:
        return self.kind in ("moves", "average")

    @property
    def reported(self) -> bool:
        """Whether it is compared with the float model's, and can stay in floats."""
        return self.kind != "entry" and not self.keeps_scale


@dataclass(slots=True)
class Found:
    """layers: by result, in the order in which they are computed. constants: nodes that depend on constants alone."""

    layers: dict[Value, Layer]
    constants: set[Node]

    def scale_of(self, value: Value) -> Value:
        """The value whose scale a layer's result has."""
        layer = self.layers[value]
        return self.scale_of(layer.inputs[0]) if layer.keeps_scale else value

    @property
    def observed(self) -> list[Value]:
        return [v for v, layer in self.layers.items() if not layer.keeps_scale]


class _Finder:
    def __init__(self, function: Function, kept_float: Collection[Node]):
        self.function, self.kept_float = function, kept_float
        self.users: dict[Value, list[Node]] = {}
        self.outputs = Counter(v for _, v, _ in (*function.results, *function.assigns))
        for node in function.nodes:
            for v in dict.fromkeys(node.operands):
                self.users.setdefault(v, []).append(node)
        self.constants: set[Node] = set()
        for node in function.nodes:
            if is_constant(node, self.constants):
                self.constants.add(node)
        self.names = Names()
        self.layers: dict[Value, Layer] = {}
        self.inner: set[Node] = set()       # nodes that a layer computes on the way
        self.roots: dict[Value, Value] = {}  # the one value that a value is a function of, element by element

    # -- helpers -------------------------------------------------------------------------------------------------------
    def constant(self, value: Value) -> bool:
        return value.node in self.constants

    def only_user(self, value: Value) -> Node | None:
        users = self.users.get(value, [])
        return users[0] if len(users) == 1 and not self.outputs[value] else None

    def name(self, wanted: str) -> str:
        return self.names.take(wanted)

    def place(self, node: Node) -> int:
        """Of the nodes of its operation the how manieth."""
        return 1 + sum(1 for n in self.function.nodes[:self.function.nodes.index(node)] if n.op == node.op)

    def limited(self, value: Value) -> Value:
        """The value behind the maximum and minimum by numbers that follow it, which are nodes of the layer then."""
        while (user := self.only_user(value)) is not None and user.op in ("maximum", "minimum"):
            other = user.operands[1] if user.operands[0] == value else user.operands[0]
            if other == value or scalar_of(other) is None:
                break
            self.inner.add(user)
            value = Value(user)
        return value

    # -- products ------------------------------------------------------------------------------------------------------
    def product(self, node: Node) -> Layer | None:
        x, w = node.operands[:2]
        if node.types[0].dtype != "f32" or self.constant(x) or not self.constant(w):
            return None
        if node.op == "convolution":
            kind, channel = "conv", 1
        elif node.op == "dot" and w.type.rank == 2 and not node.attrs["lhs_batch"] and x.type.rank > 0 \
                and node.attrs["lhs_contract"] == (x.type.rank - 1,) and len(node.attrs["rhs_contract"]) == 1:
            kind, channel = "linear", node.types[0].rank - 1
        else:
            return None
        name = self.name(self._weight_name(w) or f"{kind}_{self.place(node)}")
        if node in self.kept_float:
            return None
        value, bias = Value(node), None
        user = self.only_user(value)
        if user is not None and user.op == "add":
            other = user.operands[1] if user.operands[0] == value else user.operands[0]
            bias = self._per_channel(other, channel)
            if bias is not None:
                value = Value(user)
                self.inner.add(user)
        return Layer(kind, self.limited(value), (x,), node, name, w, bias)

    def _per_channel(self, value: Value, channel: int) -> Value | None:
        """The constant with one number a channel that the value repeats along the other axes. Where all of those have
        the size 1, as in a model of one row, nothing is repeated: the constant is the value, in another shape."""
        made = value.node
        if made.op == "broadcast" and self.constant(made.operands[0]) and made.attrs["axes"] == (channel,) \
                and made.operands[0].shape == (value.shape[channel],):
            return made.operands[0]
        alone = all(equal(n, 1) for i, n in enumerate(value.shape) if i != channel)
        return value if alone and self.constant(value) else None

    def _weight_name(self, w: Value) -> str:
        """That of the largest weight that it is made of, without `.weight`."""
        best, pending, seen = "", [w.node], set()
        rank = -1
        while pending:
            node = pending.pop()
            if node in seen:
                continue
            seen.add(node)
            if node.op == "weight" and node.types[0].rank > rank:
                best, rank = node.attrs["name"], node.types[0].rank
            pending += [v.node for v in node.operands]
        return re.sub(r"\.weight$", "", best)

    # -- what lies between ---------------------------------------------------------------------------------------------
    def between(self, node: Node) -> Layer | None:
        """The layer that the node would be were its result read as integers."""
        result = Value(node)
        if len(node.types) != 1 or node.types[0].dtype != "f32":
            return None
        if node.op in _TWO and not any(map(self.constant, node.operands)):
            a, b = (self._stretched(v) for v in node.operands)
            if self.root(a) != self.root(b):
                if self._integers(a) and self._integers(b):
                    return Layer(node.op, self.limited(result), (a, b), node, "")
        if node.op in _MOVES or node.op == "window_reduce" and node.attrs["op"] == "max" and self._pooled(node) \
                or node.op == "reduce" and node.attrs["op"] == "max":
            return Layer("moves", result, node.operands, node, "") if self._integers(node.operands[0]) else None
        if node.op == "pad":
            filled = scalar_of(node.operands[1])
            if filled is None or isnan(float(filled)):      # no integer stands for NaN
                return None
            return Layer("moves", result, node.operands[:1], node, "") if self._integers(node.operands[0]) else None
        if node.op == "concat":
            return Layer("concat", result, node.operands, node, "") if all(map(self._integers, node.operands)) else None
        return self._mean(node)

    def _stretched(self, value: Value) -> Value:
        """What is broadcast to an operand of an operation on two tensors, which does so itself."""
        return value.node.operands[0] if value.node.op == "broadcast" and not self.constant(value) else value

    @staticmethod
    def _pooled(node: Node) -> bool:
        return node.types[0].rank == len(node.attrs["size"]) + 2 and len(node.attrs["size"]) <= 3

    def _mean(self, node: Node) -> Layer | None:
        """A sum times the reciprocal of its number of elements, or divided by it."""
        if node.op not in ("mul", "div"):
            return None
        total, by = node.operands if node.op == "div" or scalar_of(node.operands[1]) else node.operands[::-1]
        number, inner = scalar_of(by), total.node
        if number is None or inner.op not in ("reduce", "window_reduce") or inner.attrs["op"] != "sum" \
                or not self._integers(inner.operands[0]):
            return None
        if inner.op == "reduce":
            sizes = [inner.operands[0].shape[i] for i in inner.attrs["axes"]]
            if not all(s.is_const for s in sizes):
                return None
            counts = [s.value for s in sizes]
        else:
            counts = inner.attrs["size"]
            if len(counts) > 2 or inner.types[0].rank != len(counts) + 2 \
                    or any((*inner.attrs["low"], *inner.attrs["high"])) or any(d != 1 for d in inner.attrs["dilation"]):
                return None
        factor = float(number)
        if node.op == "div":
            factor = 1 / factor if factor else inf
        if not abs(factor * prod(counts) - 1) <= 1e-5:      # NaN is not
            return None
        self.inner.add(inner)
        return Layer("mean" if inner.op == "reduce" else "average", Value(node), (inner.operands[0],), inner, "")

    # -- functions of one tensor ---------------------------------------------------------------------------------------
    def root(self, value: Value) -> Value:
        return self.roots.get(value, value)

    def note_root(self, node: Node) -> None:
        """Whether the node is a function of one value, element by element."""
        if not is_elementwise(node.op) or node.op in ("bitcast",) or node in self.constants:
            return
        found = {self.root(v) for v in node.operands if scalar_of(v) is None}
        if len(found) == 1 and not self.constant(next(iter(found))):
            self.roots[Value(node)] = next(iter(found))

    def _integers(self, value: Value) -> bool:
        """Whether the value is one of integers, or a function of one."""
        root = self.root(value)
        return value in self.layers or value.dtype == "f32" and root in self.layers and root != value

    def table(self, value: Value) -> Layer | None:
        root = self.root(value)
        steps: dict[Node, None] = {}
        pending = [value.node]
        while pending:
            node = pending.pop()
            if node not in steps and Value(node) != root and scalar_of(Value(node)) is None:
                steps[node] = None
                pending += [v.node for v in node.operands]
        order = {node: i for i, node in enumerate(self.function.nodes)}
        listed = tuple(sorted(steps, key=order.__getitem__))
        if len(listed) > MOST_STEPS or value.node in self.kept_float:
            return None
        return Layer("table", value, (root,), value.node, "", steps=listed)


def called(name: str, pattern: str) -> bool:
    """Whether a layer is meant: by its name, or by that of its output under the macro LAYERS."""
    return fnmatchcase(name, pattern) or fnmatchcase(identifier(name), pattern)


def reported(found: Found) -> list[Layer]:
    return [layer for layer in found.layers.values() if layer.reported]


def meant(function: Function, found: Found, unknown: str) -> list[str]:
    """What a name that no layer has may mean: the layers that an output of that name is computed from, a pattern of
    those below it, those of its kind with the numbers next to it, or the one that is written most alike."""
    if outputs := [v for name, v, _ in function.results if name == unknown]:
        return _last(outputs, found)
    names = [layer.name for layer in reported(found)]
    if below := [end for end in (".*", "_*") if any(called(name, unknown + end) for name in names)]:
        return [unknown + below[0]]
    kind, number = _numbered(unknown)
    others = sorted((n, name) for name in names for k, n in [_numbered(name)] if k == kind and min(n, number) >= 0)
    beside = [*[name for n, name in others if n < number][-1:], *[name for n, name in others if n > number][:1]]
    return beside or get_close_matches(unknown, names, 1)


def _numbered(name: str) -> tuple[str, int]:
    """What stands before the number at its end, and that; -1: there is none, or one that counts no layers."""
    kind = name.rstrip("0123456789")
    digits = name[len(kind):]
    return kind, int(digits) if 0 < len(digits) <= MOST_DIGITS else -1


def _last(outputs: Collection[Value], found: Found) -> list[str]:
    """The nearest layers before the values that can stay in floats."""
    pending, seen, last = list(outputs), set(outputs), set()
    while pending:
        value = pending.pop()
        if value in found.layers and found.layers[value].reported:
            last.add(value)
            continue
        pending += [v for v in dict.fromkeys(value.node.operands) if v not in seen]
        seen.update(value.node.operands)
    return [layer.name for v, layer in found.layers.items() if v in last]


def find(function: Function) -> Found:
    return _find(function, ())


def without(function: Function, found: Found, kept_float: Collection[str]) -> Found:
    """kept_float: names, or patterns of names, of layers of `found`, all that there are, which stay as they are."""
    kept = {layer.node for layer in reported(found) if any(called(layer.name, pattern) for pattern in kept_float)}
    return _find(function, kept) if kept else found


def _find(function: Function, kept_float: Collection[Node]) -> Found:
    """kept_float: nodes whose layers are none."""
    f = _Finder(function, kept_float)
    for p in function.parameters:
        if p.types[0].dtype == "f32":
            f.layers[Value(p)] = Layer("entry", Value(p), (), p, "")
    for node in function.nodes:
        if node in f.constants or node in f.inner or len(node.types) != 1:
            continue
        f.note_root(node)
        layer = f.product(node) if node.op in ("convolution", "dot") else None
        if layer is None:
            layer = f.between(node)
        if layer is not None and layer.node not in kept_float:
            f.layers[layer.result] = layer
            f.roots.pop(Value(node), None)
            f.roots.pop(layer.result, None)
    return Found(_needed(f), f.constants)


def _needed(f: _Finder) -> dict[Value, Layer]:
    """The layers that products need, and products; with a table for a function that one of them reads, and an entry for
    a value of floats."""
    kept: dict[Value, Layer] = {}
    pending = [v for v, layer in f.layers.items() if layer.kind in PRODUCTS]
    followers = _between_products(f)
    while pending:
        value = pending.pop()
        if value in kept:
            continue
        layer = f.layers.get(value)
        if layer is None or layer.kind not in PRODUCTS and layer.kind != "entry" and value not in followers:
            root = f.root(value)
            table = f.table(value) if root != value and root in f.layers and root in followers else None
            layer = table or Layer("entry", value, (), value.node, "")
        kept[value] = layer
        pending += layer.inputs
    order = {Value(node, k): (i, k) for i, node in enumerate((*f.function.parameters, *f.function.nodes))
             for k in range(len(node.types))}
    ordered = sorted(kept, key=order.__getitem__)
    return {v: kept[v] if kept[v].name else _named(kept[v], f) for v in ordered}


def _between_products(f: _Finder) -> set[Value]:
    """The values that are integers without a step by floats: results of products, of layers all of whose operands are,
    and parameters that are moved about."""
    found: set[Value] = set()
    for value, layer in f.layers.items():
        moved = layer.kind == "moves" and layer.inputs[0] in f.layers and \
            (f.layers[layer.inputs[0]].kind == "entry" or layer.inputs[0] in found)
        if layer.kind in PRODUCTS or layer.kind != "entry" and (
                moved or all(v in found or f.root(v) in found for v in layer.inputs)):
            found.add(value)
    return found


def _named(layer: Layer, f: _Finder) -> Layer:
    if layer.kind == "entry" and layer.node.op == "parameter":
        name = f.name(identifier(layer.node.attrs["name"]))
    else:   # by its place among the nodes of its kind, which does not depend on what stays float
        name = f.name(f"{layer.kind}_{f.place(layer.node)}")
    return Layer(layer.kind, layer.result, layer.inputs, layer.node, name, layer.weight, layer.bias, layer.steps)


def read_as_floats(function: Function, found: Found) -> set[Value]:
    """Values that are read as they are in the float model."""
    needed: set[Value] = set()
    pending = [v for _, v, _ in (*function.results, *function.assigns)]
    pending += [v for v, layer in found.layers.items() if layer.kind == "entry"]
    while pending:
        value = pending.pop()
        if value in needed:
            continue
        needed.add(value)
        layer = found.layers.get(value)
        if value.node not in found.constants and (layer is None or layer.kind == "entry"):
            pending += value.node.operands
    return needed


def stays_float(function: Function, found: Found) -> Mapping[str, list[Node]]:
    """Operations on floats that results of the model need and no layer computes, by what the model calls them: the
    outermost region that an operation opened, or the primitive."""
    integers = {v.node for v, layer in found.layers.items() if layer.kind != "entry"}
    needed = {v.node for v in read_as_floats(function, found)} - integers - found.constants
    out: dict[str, list[Node]] = {}
    for node in function.nodes:
        if node in needed and not (node.op == "broadcast" and node.operands[0].node in found.constants):
            out.setdefault(_called(node), []).append(node)
    return out


def _called(node: Node) -> str:
    regions = [part for part in node.scope.split("/") if "#" in part]
    return regions[0] if regions else node.op
