# SPDX-License-Identifier: Apache-2.0
"""The functions that cond, while and scan hold, at each node with nodes of their own: what lowering starts from.

A carry that every iteration hands on as it is stands for the operand itself, and what an iteration computes from
nothing else that changes is computed before the loop.
"""
from __future__ import annotations

from dataclasses import field

from ..graph.ir import Function, Module, Node, Value
from ..graph.rewrite import Values
from ..graph.table import PRIMITIVES
from ..records import dataclass

class LoweringError(Exception):
    """What the loop IR cannot express; a bug of a pass or an unsupported primitive, with the node's location."""


_STAY = frozenset(("gather", "scatter"))   # may fault, so they run where they stand


@dataclass(slots=True, eq=False)
class Body:
    """A called function at one node: nodes, and results as values of these nodes or of what is around. carried: the
    positions of carries that change, with their parameters; slices: (parameter, operand) of what a scan walks."""

    function: Function
    carried: list[tuple[int, Value]] = field(default_factory=list)
    slices: list[tuple[Value, Value]] = field(default_factory=list)

    @property
    def results(self) -> list[Value]:
        return [v for _, v, _ in self.function.results]


@dataclass(slots=True)
class Opened:
    """A function whose nodes hold bodies of their own."""

    function: Function
    bodies: dict[Node, tuple[Body, ...]]

    def functions(self) -> list[Function]:
        """The function and its bodies, a body behind what is around it."""
        out = [self.function]
        for f in out:
            out += [b.function for node in f.nodes for b in self.bodies.get(node, ())]
        return out


def open_function(function: Function, module: Module) -> Opened:
    if not any(PRIMITIVES[n.op].graphs for n in function.nodes):
        return Opened(function, {})
    opener = _Opener(module)
    values = Values()
    nodes = opener.nodes(function, values)
    opened = Opened(_with(function, function.parameters, nodes, values), opener.bodies)
    for f in opened.functions()[1:]:
        if f.assigns:
            raise LoweringError(f"{f.name}: a state is assigned within a loop or branch")
    return opened


def _with(function: Function, parameters: list[Node], nodes: list[Node], values: Values) -> Function:
    return Function(function.name, function.entry, parameters, function.guards, nodes,
                    [(name, values[v], loc) for name, v, loc in function.assigns],
                    [(name, values[v], loc) for name, v, loc in function.results])


class _Opener:
    def __init__(self, module: Module):
        self.module = module
        self.bodies: dict[Node, tuple[Body, ...]] = {}

    def nodes(self, function: Function, values: Values) -> list[Node]:
        """The function's nodes anew, what its loops need not repeat before them. values: old to new, grows."""
        out: list[Node] = []
        for node in function.nodes:
            copied = Node(node.op, values.all(node.operands), node.attrs, node.types, node.loc, node.scope)
            if PRIMITIVES[node.op].graphs:
                before, same = self.hold(copied)
                out += before
            out.append(copied)
            values.bind(node, copied)
            if PRIMITIVES[node.op].graphs:
                values.update({Value(node, i): v for i, v in same.items()})
        return out

    def hold(self, node: Node) -> tuple[list[Node], dict[int, Value]]:
        """Opens what the node holds; (nodes that can run before it, results that are values from around it)."""
        functions = [self.module.functions[node.attrs[a]] for a in PRIMITIVES[node.op].graphs]
        if node.op == "cond":
            self.bodies[node] = tuple(self.body(f, {i: v for i, v in enumerate(node.operands[1:])}) for f in functions)
            return [], {}
        last = functions[-1]   # the body
        count = node.attrs["carries"] if node.op == "scan" else len(node.operands)
        same = {i: node.operands[i] for i in range(count) if last.results[i][1] == Value(last.parameters[i])}
        bodies, before = [], []
        for f in functions:
            body = self.body(f, same)
            body.carried = [(i, Value(body.function.parameters[i])) for i in range(count) if i not in same]
            body.slices = [(Value(body.function.parameters[i]), node.operands[i])
                           for i in range(count, len(node.operands))]
            before += _hoist(body)
            bodies.append(body)
        self.bodies[node] = tuple(bodies)
        return before, same

    def body(self, function: Function, given: dict[int, Value]) -> Body:
        """given: what parameters stand for, by position; the others get nodes of their own."""
        values, parameters = Values(), []
        for i, p in enumerate(function.parameters):
            parameters.append(Node(p.op, (), p.attrs, p.types, p.loc, p.scope))
            values[Value(p)] = given.get(i, Value(parameters[-1]))
        nodes = self.nodes(function, values)
        return Body(_with(function, parameters, nodes, values))


def _hoist(body: Body) -> list[Node]:
    """Takes out of the body what does not change from iteration to iteration."""
    changing = {p.node for _, p in body.carried} | {p.node for p, _ in body.slices}
    before, kept = [], []
    for node in body.function.nodes:
        if node.op in _STAY or PRIMITIVES[node.op].graphs or any(v.node in changing for v in node.operands):
            changing.add(node)
            kept.append(node)
        else:
            before.append(node)
    body.function.nodes = kept
    return before
