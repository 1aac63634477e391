# SPDX-License-Identifier: Apache-2.0
"""What the passes share: a builder that makes a function node by node, with or without sharing equal nodes."""
from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from ..symbolic import Expr
from .facts import Facts, NO_FACTS
from .infer import Context, infer
from .ir import Function, Guard, Loc, Node, TensorType, Value
from .table import PRIMITIVES


def key_of(op: str, operands: tuple[Value, ...], attrs: dict[str, Any], types: tuple[TensorType, ...]) -> tuple[Any,
           ...]:
    """Equal for nodes that compute the same: everything but where they were written."""
    return op, operands, tuple(attrs[name] for name, _ in PRIMITIVES[op].attributes), types


class Builder:
    """A function under construction. `make` returns the results of a node, of an equal earlier one where `share`."""

    __slots__ = ("function", "context", "share", "_made")

    def __init__(self, source: Function, context: Context, share: bool = True):
        """Starts with the name, parameters and guards of `source`, without nodes, assigns and results. What its guards
        say is known, where the context has no facts of its own."""
        if context.facts is NO_FACTS and source.guards:
            context = replace(context, facts=Facts(source.guards))
        self.function = Function(source.name, source.entry, list(source.parameters), list(source.guards))
        self.context, self.share = context, share
        self._made: dict[tuple[Any, ...], Node] = {}

    def make(self, op: str, operands: Iterable[Value], attrs: dict[str, Any],
             types: tuple[TensorType, ...] | None = None,
             loc: Loc | None = None, scope: str = "") -> Node:
        """The node; where `types` is not given, it is inferred from the operands."""
        operands = tuple(operands)
        if types is None:
            types = infer(op, tuple(v.type for v in operands), attrs, (), self.context)
        if not self.share:
            return self.add(Node(op, operands, attrs, types, loc, scope))
        key = key_of(op, operands, attrs, types)
        found = self._made.get(key)
        if found is None:
            found = self._made[key] = self.add(Node(op, operands, attrs, types, loc, scope))
        return found

    def again(self, node: Node, operands: Iterable[Value]) -> Node:
        """The node with other operands."""
        return self.make(node.op, operands, node.attrs, node.types, node.loc, node.scope)

    def copied(self, value: Value, values: Values) -> Value:
        """A value of another function, with what it needs. values: by value of that function what it is here."""
        stack = [value.node]
        while stack:
            node = stack[-1]
            if Value(node) in values:
                stack.pop()
                continue
            missing = [v.node for v in node.operands if v not in values]
            if missing:
                stack += reversed(missing)
                continue
            stack.pop()
            values[Value(node)] = Value(self.again(node, values.all(node.operands)))
        return values[value]

    def add(self, node: Node) -> Node:
        self.function.nodes.append(node)
        return node

    def value(self, op: str, /, *operands: Value, like: Node, types: tuple[TensorType, ...] | None = None,
              **attrs: Any) -> Value:
        """The single result of a node placed where `like` was written."""
        return Value(self.make(op, operands, attrs, types, like.loc, like.scope))

    def filled(self, kind: TensorType, bits: int, like: Node) -> Value:
        """A value whose elements all have `bits`."""
        one = self.value("constant", like=like, types=(TensorType(kind.dtype, ()),), bits=bits)
        return one if kind.rank == 0 else self.value("broadcast", one, like=like, shape=kind.shape, axes=())

    def finish(self, source: Function, new: Callable[[Value], Value]) -> Function:
        """Adds the assigns and results of `source` with their values replaced."""
        self.function.assigns = [(name, new(value), loc) for name, value, loc in source.assigns]
        self.function.results = [(name, new(value), loc) for name, value, loc in source.results]
        return self.function


class Values(dict[Value, Value]):
    """Old value -> new value, an unmapped one being itself."""

    def __missing__(self, value: Value) -> Value:
        return value

    def all(self, values: Iterable[Value]) -> tuple[Value, ...]:
        return tuple(map(self.__getitem__, values))

    def bind(self, old: Node, new: Node) -> None:
        """Results of `old` become those of `new`."""
        if old is not new:
            for i in range(len(old.types)):
                self[Value(old, i)] = Value(new, i)


def only_readers(function: Function) -> dict[Value, Node]:
    """By value, the node that reads it, where nothing else does."""
    reads = Counter(v for node in function.nodes for v in node.operands)
    reads.update(v for _, v, _ in (*function.assigns, *function.results))
    return {v: node for node in function.nodes for v in node.operands if reads[v] == 1}


def substitute_dims(function: Function, replace: Callable[[Expr], Expr], guards: list[Guard],
                    rename: Callable[[str], str] | None = None) -> Function:
    """The function over other dims: `replace` in every type and attribute; `rename` in names of called functions."""
    types: dict[TensorType, TensorType] = {}

    def new_type(tensor: TensorType) -> TensorType:
        found = types.get(tensor)
        if found is None:
            found = types[tensor] = TensorType(tensor.dtype, tuple(map(replace, tensor.shape)))
        return found

    def new_attrs(node: Node) -> dict[str, Any]:
        kinds = PRIMITIVES[node.op].attributes if node.op != "parameter" else ()
        if not any(kind == "dims" or (rename and kind == "graph") for _, kind in kinds):
            return node.attrs
        return {name: tuple(map(replace, node.attrs[name])) if kind == "dims"
                else rename(node.attrs[name]) if rename and kind == "graph" else node.attrs[name]
                for name, kind in kinds}

    values = Values()

    def new_node(node: Node) -> Node:
        made = Node(node.op, values.all(node.operands), new_attrs(node), tuple(map(new_type, node.types)), node.loc,
                    node.scope)
        values.bind(node, made)
        return made

    return Function(function.name, function.entry, [new_node(p) for p in function.parameters], guards,
                    [new_node(n) for n in function.nodes],
                    [(name, values[value], loc) for name, value, loc in function.assigns],
                    [(name, values[value], loc) for name, value, loc in function.results])
