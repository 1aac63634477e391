# SPDX-License-Identifier: Apache-2.0
"""Lowering of cond, while and scan: their functions are lowered where they stand, as branches and loops of items.

`open_function` gives every node that holds functions nodes of its own for them. A carry that every iteration hands on
as it is stands for the operand itself, and what an iteration computes from nothing else that changes is computed before
the loop.

A carry lives in one buffer. An iteration computes its new value elsewhere and copies it there last, behind all that
reads the old one; fusion then writes it in place where each point needs only itself, and makes the two buffers change
places where not. The slice of an iteration and its part of a stacked result are plain addresses, with the iteration
as a symbol.
"""
from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Iterator

from ..graph.ir import Function, Module, Node, Value
from ..graph.rewrite import Values
from ..graph.table import PRIMITIVES
from ..symbolic import Sym, sym
from .placement import Placement, place, place_carry
from .loop_ir import Branch, Element, Loop
from .scalar_ir import Load, row_major

if TYPE_CHECKING:
    from .lower import Lowering

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
    return Opened(_with(function, function.parameters, nodes, values), opener.bodies)


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


# -- items ----------------------------------------------------------------------------------------------------------
def lower_scan(low: "Lowering", node: Node) -> None:
    (body,) = low.bodies[node]
    iteration = low.iteration(node.attrs["length"][0])
    count = node.attrs["carries"]
    carried = _start(low, node, body)
    for p, operand in body.slices:
        low.slices[p] = (operand, iteration)
    placements = {i: _at_iteration(low.placement_of(Value(node, i)), iteration) for i in range(count, len(node.types))}
    with _inside(low, iteration) as items:
        there = _in_place(low, body, carried)
        _body(low, body, placements)
        _next(low, body, carried, there)
    low.items.append(Loop(low.label(node), iteration, items, tuple(carried.values())))
    _finish(low, node, carried)


def lower_while(low: "Lowering", node: Node) -> None:
    test, body = low.bodies[node]
    carried = _start(low, node, body)
    for i, p in test.carried:
        low.placements[p] = low.placements[dict(body.carried)[i]]
    condition = low.new_placement(test.results[0])
    with _inside(low) as before:
        _body(low, test, {0: condition})
    with _inside(low) as items:
        there = _in_place(low, body, carried)
        _body(low, body, {})
        _next(low, body, carried, there)
    low.items.append(Loop(low.label(node), None, items, tuple(carried.values()), before, condition.buffer.name))
    _finish(low, node, carried)


def lower_cond(low: "Lowering", node: Node) -> None:
    condition = low.read(node.operands[0], ())
    if not (isinstance(condition, Load) and not condition.dynamic and not condition.valid
            and not low.buffers[condition.buffer].shape):
        condition = low.read(low.detach(node.operands[0]), ())
    assert isinstance(condition, Load)
    sides: list[list[Element]] = []
    for body in low.bodies[node]:
        with _inside(low) as items:
            _body(low, body, {i: low.placement_of(Value(node, i)) for i in range(len(node.types))})
        sides.append(items)
    low.items.append(Branch(low.label(node), condition.buffer, sides[0], sides[1]))


def _at_iteration(placement: Placement, iteration: Sym) -> Placement:
    """The part of a stacked result that an iteration makes."""
    return placement.within(lambda index: (sym(iteration), *index))


@contextmanager
def _inside(low: "Lowering", iteration: Sym | None = None) -> Iterator[list[Element]]:
    """What is lowered within goes to a list of its own. iteration: that of a scan, None where it may not run at all."""
    around, low.items = low.items, []
    low.iterations.append(iteration)
    yield low.items
    low.iterations.pop()
    low.items = around


def _start(low: "Lowering", node: Node, body: Body) -> dict[int, str]:
    """The carries' buffers, by position, with what they hold before the first iteration."""
    carried = {}
    for i, p in body.carried:
        placement = low.placements[p] = low.new_placement(p)
        low.copy(node.operands[i], placement.buffer, placement.index, "start")
        carried[i] = placement.buffer.name
    return carried


def _body(low: "Lowering", body: Body, placements: dict[int, Placement]) -> None:
    """The body's items. placements: where some of its results are computed, or copied to."""
    copies = []
    for i, placement in placements.items():
        why = place(low, body.results[i], placement, body.function)
        if why:
            copies.append((body.results[i], placement, why))
    low.lower_nodes(body.function)
    for v, placement, why in copies:
        low.copy(v, placement.buffer, placement.index, "copy", why)


def _in_place(low: "Lowering", body: Body, carried: dict[int, str]) -> set[int]:
    """The carries of which an iteration writes parts (a cache that grows), where they stand."""
    return {i for i, p in body.carried if place_carry(low, body.results[i], p, low.buffers[carried[i]], body.function)}


def _next(low: "Lowering", body: Body, carried: dict[int, str], there: set[int]) -> None:
    """What the next iteration starts from: every new value is known before the first old one is overwritten."""
    staged = [(low.buffers[name], low.detach(body.results[i], "next", row_major(body.results[i].shape)))
            for i, name in carried.items() if i not in there]
    for buffer, v in staged:
        low.copy(v, buffer, lambda index: index, "next")


def _finish(low: "Lowering", node: Node, carried: dict[int, str]) -> None:
    """The carries' last values are results."""
    for i, name in carried.items():
        v = Value(node, i)
        wanted = low.placements.get(v)
        if wanted is None:
            low.placements[v] = low.placement_in(low.buffers[name])
        else:
            low.copy(low.known(v, low.buffers[name]), wanted.buffer, wanted.index, low.label(node))


REGIONS = {"scan": lower_scan, "while": lower_while, "cond": lower_cond}
