# SPDX-License-Identifier: Apache-2.0
"""Folding: splits what depends only on weights and constants off into a function that runs on the build machine.

The function `constants` computes every tensor worth keeping, once for all variants and functions: structurally equal
constants are one. Its users read `packed {name="cN"}`. What is kept where it is used instead, because computing it
costs less than reading it or because it would only repeat stored elements:

- constants, iota, and cheap arithmetic on them (a causal mask is a comparison of two indices) of at most MOST_STEPS
steps; on what
  is stored, too, where the result is larger than that,
- broadcasts, whose operand is stored,
- a reshape or slice of a weight that is stored whole for another user, unless a contraction reads it,
- a cast to wider integers: the narrower ones are stored.

A weight used as it is becomes a packed constant too, so that the object holds nothing but packed constants. Nothing
here touches an element: the interpreter (C) runs `constants`.
"""
from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from ..symbolic import product
from .dtypes import DTYPES, widens
from .infer import Context
from .ir import Function, Module, Node, Value
from .rewrite import Builder, Values
from .table import PRIMITIVES, has_trait, lowering_of

CONSTANTS = "constants"
MOST_STEPS = 64   # of arithmetic on constants that is done again where it is used
_LEAVES = frozenset(("weight", "constant", "iota", "dim_value"))
_NEVER = frozenset(("state", "packed", "parameter", "extern_call", "ordered", "reorder"))


def fold(module: Module, functions: Sequence[Function]) -> tuple[Module, list[Function]]:
    """The module of `constants` (one result a packed constant, in the order of their names), and the functions."""
    folder = _Folder(module)
    folder.taken.update(p.attrs["name"] for f in functions for p in f.parameters)
    folder.taken.update(name for f in functions for name, _, _ in f.results)
    splits = [_Split(f) for f in functions]
    for split in splits:
        split.decide()
        for node in (n for n in split.function.nodes if n in split.stored):
            folder.stored.setdefault(folder.place(Value(node)), node)
    for split in splits:
        for node in split.deferred:
            base = node
            while base.op != "weight":
                base = base.operands[0].node
            if folder.place(Value(base)) not in folder.stored:
                split.kept.discard(node)
                split.stored.add(node)
                folder.stored.setdefault(folder.place(Value(node)), node)
        split.keep_deferred()
    rebuilt = [folder.rebuild(split) for split in splits]
    return folder.constants(), rebuilt


def is_constant(node: Node, known: Collection[Node]) -> bool:
    """The node can be computed on the build machine. known: the constant nodes among those before it."""
    if node.op in _NEVER or PRIMITIVES[node.op].graphs or len(node.types) != 1:
        return False
    if node.op not in _LEAVES and (not node.operands or any(v.node not in known for v in node.operands)):
        return False
    return (all(d.is_const for t in node.types for d in t.shape)
            and all(e.is_const for name, kind in PRIMITIVES[node.op].attributes if kind == "dims"
                    for e in node.attrs[name]))


def size(node: Node) -> int:
    """Bytes of a node of constant sizes."""
    return DTYPES[node.types[0].dtype].bytes * product(node.types[0].shape).value


class _Split:
    """What becomes of the constant nodes of one function: stored, kept in place, or needed by stored ones alone."""

    def __init__(self, function: Function):
        self.function = function
        self.constant: set[Node] = set()
        self.weighty: set[Node] = set()      # depends on a weight
        self.stored: set[Node] = set()
        self.kept: set[Node] = set()
        self.deferred: list[Node] = []       # views of a weight, stored only where the weight is not
        self.steps: dict[Node, int] = {}     # of a constant node, with those of its operands
        self.below: dict[Node, int] = {}     # bytes of what would be stored for a constant node, were it kept
        for node in function.nodes:
            if is_constant(node, self.constant):
                self.constant.add(node)
                steps = sum(self.steps[v.node] for v in node.operands)
                self.steps[node] = min(steps + (node.op not in _LEAVES), MOST_STEPS + 1)
                self.below[node] = 0 if node.op in _LEAVES else size(node) if not has_trait(node.op, "again") else \
                    sum(self.below[n] for n in dict.fromkeys(v.node for v in node.operands))
                if node.op == "weight" or any(v.node in self.weighty for v in node.operands):
                    self.weighty.add(node)

    def decide(self) -> None:
        """Sets stored, kept and deferred; a deferred node is kept for now."""
        used: set[Node] = set()       # constant nodes that the remaining graph reads
        exact: set[Node] = set()      # of these, read by a contraction
        for _, value, _ in (*self.function.assigns, *self.function.results):
            used.add(value.node)
        for node in reversed(self.function.nodes):
            if node in self.constant:
                if node not in used:
                    continue
                if not self._keep(node, node in exact):
                    self.stored.add(node)
                    continue
                self.kept.add(node)
                if node in self.deferred:
                    continue
            for v in node.operands:
                used.add(v.node)
                if lowering_of(node.op) == "contraction":
                    exact.add(v.node)
        self.deferred.reverse()

    def _keep(self, node: Node, exact: bool) -> bool:
        if node.op in _LEAVES or node.op == "broadcast":
            return node.op != "weight"
        if node not in self.weighty:
            # arithmetic on whole numbers is part of an index, which lowering computes: memory would hide its value
            below = self.below[node]
            return (has_trait(node.op, "again") and self.steps[node] <= MOST_STEPS
                    and (not below or size(node) > below)
                    and (node.types[0].rank > 0 or node.types[0].dtype in ("i32", "i64")))
        if node.op == "cast" and widens(node.operands[0].dtype, node.types[0].dtype):
            return True
        if node.op in ("reshape", "slice") and not exact \
                and Value(node).through(("reshape", "slice")).node.op == "weight":
            self.deferred.append(node)
            return True
        return False

    def keep_deferred(self) -> None:
        """Views between a deferred one that is kept and its weight, which is stored, are kept too."""
        for node in self.deferred:
            if node in self.kept:
                while (node := node.operands[0].node).op != "weight":
                    self.kept.add(node)
                self.stored.add(node)


class _Folder:
    def __init__(self, module: Module):
        self.module = module
        self.builder = Builder(Function(CONSTANTS, entry=True), Context())
        self.values = Values()                      # node of some function -> node of `constants`
        self.stored: dict[Value, Node] = {}         # result of `constants` -> a node that it stands for
        self.names: dict[Value, str] = {}
        self.taken = set(module.states)             # names that buffers of the functions have already
        self.count = 0

    def name(self, place: Value) -> str:
        if place not in self.names:
            while f"c{self.count}" in self.taken:
                self.count += 1
            self.names[place] = f"c{self.count}"
            self.count += 1
        return self.names[place]

    def place(self, value: Value) -> Value:
        """The value in `constants`; makes it, and what it needs, on first use."""
        return self.builder.copied(value, self.values)

    def rebuild(self, split: _Split) -> Function:
        """The function with its stored nodes read from packed constants, named in order of first appearance."""
        source = split.function
        builder, values = Builder(source, Context()), Values()
        for node in source.nodes:
            if node in split.stored:
                place = self.place(Value(node))
                name = self.name(place)
                new = builder.make("packed", (), {"name": name}, node.types, node.loc, node.scope)
            elif node not in split.constant or node in split.kept:
                new = builder.again(node, values.all(node.operands))
            else:
                continue
            values.bind(node, new)
        return builder.finish(source, values.__getitem__)

    def constants(self) -> Module:
        function = self.builder.function
        function.results = [(name, place, self.stored[place].loc if place in self.stored else place.node.loc)
                            for place, name in self.names.items()]
        live = _reached(function.nodes, (place.node for place in self.names))
        function.nodes = [n for n in function.nodes if n in live]
        used = {n.attrs["name"] for n in function.nodes if n.op == "weight"}
        weights = {name: w for name, w in self.module.weights.items() if name in used}
        return Module(self.module.model, {}, list(self.module.files), weights, {}, {CONSTANTS: function})


def _reached(nodes: Sequence[Node], roots: Iterable[Node]) -> set[Node]:
    live = set(roots)
    for node in reversed(nodes):
        if node in live:
            live.update(v.node for v in node.operands)
    return live
