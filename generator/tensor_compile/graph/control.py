# SPDX-License-Identifier: Apache-2.0
"""Control: cond, while and scan that need not be, and constants where they are used.

A cond whose condition is a constant becomes the side that runs, a scan of length 1 its body, a while whose test is
constantly false its operands. A carry that every iteration hands on as it is is its operand behind the loop too. What a
called function gets as such a carry, or as an operand of a cond, and depends on weights and constants alone, is
computed in it, so that the other passes find it there: fold packs it as everywhere. All of it is exact.
"""
from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from ..symbolic import Expr, ONE
from .infer import Context
from .ir import Function, Module, Node, TensorType, Value
from .rewrite import Builder, Values
from .table import PRIMITIVES
from .verify import callees_of, held

_LEAVES = frozenset(("weight", "constant", "iota", "dim_value"))
_VARYING = frozenset(("state", "packed"))


def control(module: Module) -> Module:
    """The module with every function rebuilt, without those that nothing holds any more."""
    if not any(PRIMITIVES[n.op].graphs for f in module.functions.values() for n in f.nodes):
        return module
    rebuilder = _Rebuilder(module)
    entries = [rebuilder.function(f.name) for f in module.entries]
    return replace(module, functions={f.name: f for f in held(rebuilder.made, *entries)})


class _Rebuilder:
    def __init__(self, module: Module):
        self.module = module
        self.made: dict[str, Function] = {}

    def function(self, name: str) -> Function:
        if name not in self.made:
            source = self.module.functions[name]
            body = _Body(self, source)
            for node in source.nodes:
                body.add(node)
            self.made[name] = body.builder.finish(source, body.values.__getitem__)
        return self.made[name]

    def with_constants(self, function: Function, constants: dict[int, Value], results: Iterable[int]) -> str:
        """The function with some parameters computed in it instead, and only some of its results; its name."""
        name, count = function.name, 1
        while name in self.made or name in self.module.functions:
            count += 1
            name = f"{function.name}_{count}"
        source = replace(function, name=name, results=[function.results[i] for i in results],
                         parameters=[p for i, p in enumerate(function.parameters) if i not in constants])
        body = _Body(self, source)
        for i, value in constants.items():
            body.values[Value(function.parameters[i])] = body.copy(value)
        for node in function.nodes:
            body.add(node)
        self.made[name] = body.builder.finish(source, body.values.__getitem__)
        return name


class _Body:
    """A function under construction."""

    def __init__(self, rebuilder: _Rebuilder, source: Function):
        self.rebuilder = rebuilder
        self.builder = Builder(source, Context(), share=False)
        self.values = Values()
        self.constant: set[Node] = set()

    def remake(self, node: Node, scope: str = "") -> Node:
        scope = f"{scope}/{node.scope}" if scope and node.scope else scope or node.scope
        new = self.builder.make(node.op, self.values.all(node.operands), node.attrs, node.types, node.loc, scope)
        self.values.bind(node, new)
        if node.op in _LEAVES or (node.operands and node.op not in _VARYING and not PRIMITIVES[node.op].graphs
                                  and all(v.node in self.constant for v in new.operands)):
            self.constant.add(new)
        return new

    def copy(self, value: Value) -> Value:
        """A constant of the function around, computed in this one."""
        stack = [value.node]
        while stack:
            node = stack[-1]
            missing = [v.node for v in node.operands if v not in self.values]
            if Value(node) in self.values or not missing:
                stack.pop()
                if Value(node) not in self.values:
                    self.values[Value(node)] = Value(self.remake(node))
            stack += missing
        return self.values[value]

    def add(self, node: Node) -> None:
        if not PRIMITIVES[node.op].graphs:
            self.remake(node)
            return
        operands = self.values.all(node.operands)
        functions = [self.rebuilder.function(h) for h in callees_of(node)]
        if node.op == "cond":
            self.cond(node, operands, functions)
        elif node.op == "scan" and node.attrs["length"][0] == ONE:
            self.once(node, operands, functions[0])
        elif node.op == "while" and _bits(functions[0].results[0][1]) == 0:
            for i, v in enumerate(operands):
                self.values[Value(node, i)] = v
        else:
            self.loop(node, operands, functions)

    # -- what goes -------------------------------------------------------------------------------------------------
    def inline(self, node: Node, function: Function, operands: Iterable[Value]) -> list[Value]:
        for p, v in zip(function.parameters, operands, strict=True):
            self.values[Value(p)] = v
        for inner in function.nodes:
            self.remake(inner, node.scope)
        results = [self.values[v] for _, v, _ in function.results]
        for inner in (*function.parameters, *function.nodes):   # the function may be called by another node too
            for i in range(len(inner.types)):
                self.values.pop(Value(inner, i), None)
        return results

    def cond(self, node: Node, operands: tuple[Value, ...], sides: list[Function]) -> None:
        chosen = _bits(operands[0])
        if chosen is not None:
            for i, v in enumerate(self.inline(node, sides[0 if chosen else 1], operands[1:])):
                self.values[Value(node, i)] = v
            return
        constants = {i: v for i, v in enumerate(operands[1:]) if v.node in self.constant}
        names = [self.rebuilder.with_constants(f, constants, range(len(f.results))) for f in sides] if constants \
            else [f.name for f in sides]
        rest = [v for i, v in enumerate(operands[1:]) if i not in constants]
        attrs = {"then": names[0], "else": names[1]}
        made = self.builder.make("cond", (operands[0], *rest), attrs, node.types, node.loc, node.scope)
        self.values.bind(node, made)

    def once(self, node: Node, operands: tuple[Value, ...], body: Function) -> None:
        count = node.attrs["carries"]
        given = list(operands[:count]) + [self.reshaped(node, x, x.shape[1:]) for x in operands[count:]]
        results = self.inline(node, body, given)
        for i, v in enumerate(results):
            self.values[Value(node, i)] = v if i < count else self.reshaped(node, v, (ONE, *v.shape))

    def reshaped(self, node: Node, x: Value, shape: tuple[Expr, ...]) -> Value:
        return self.builder.value("reshape", x, like=node, types=(TensorType(x.dtype, shape),), shape=shape)

    # -- what stays ------------------------------------------------------------------------------------------------
    def loop(self, node: Node, operands: tuple[Value, ...], functions: list[Function]) -> None:
        body = functions[-1]
        carries = node.attrs["carries"] if node.op == "scan" else len(operands)
        same = [i for i in range(carries) if body.results[i][1] == Value(body.parameters[i])]
        constants = {i: operands[i] for i in same if operands[i].node in self.constant}
        kept = [i for i in range(len(node.types)) if i not in constants]
        attrs = dict(node.attrs)
        if constants:
            for name, f in zip(PRIMITIVES[node.op].graphs, functions, strict=True):
                test = node.op == "while" and name == "test"
                attrs[name] = self.rebuilder.with_constants(f, constants, range(1) if test else kept)
            if node.op == "scan":
                attrs["carries"] = carries - len(constants)
        made = self.builder.make(node.op, [v for i, v in enumerate(operands) if i not in constants], attrs,
                                 tuple(node.types[i] for i in kept), node.loc, node.scope)
        for new, i in enumerate(kept):
            self.values[Value(node, i)] = Value(made, new)
        for i in same:
            self.values[Value(node, i)] = operands[i]


def _bits(value: Value) -> int | None:
    """The bits of a constant, None for anything else."""
    return value.node.attrs["bits"] if value.node.op == "constant" else None
