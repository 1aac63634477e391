# SPDX-License-Identifier: Apache-2.0
"""Operations that hold graphs: branches, loops, and wrappers that change nothing."""
from __future__ import annotations

from typing import Any

from ...symbolic import Expr
from ..problems import Malformed
from ..program import Statement
from ..values import Value
from .registry import Node, as_kind, complex_op, op


def _graph(n: Node, name: str) -> Any:
    found = n.argument(name)
    if not isinstance(found, dict) or "graph" not in found:
        raise Malformed(f"the argument {name!r} is no graph")
    return found["graph"]


def _operands(n: Node, name: str) -> list[Any]:
    found = n.argument(name, [])
    return list(found) if isinstance(found, list) else [found]


def _block(n: Node, graph: Any, operands: list[Any]) -> tuple[list[Statement], list[Value]]:
    """The statements of a graph and its tensors, apart from those around."""
    around, n.importer.statements = n.importer.statements, []
    try:
        given = n.importer.graph(graph, operands)
        inner = n.importer.statements
    finally:
        n.importer.statements = around
    values = [v for v in given if isinstance(v, Value)]
    if len(values) != len(given):
        n.refuse("a graph that gives something else than tensors")
    return inner, values


def _assigned(n: Node, variables: list[Value], values: list[Value]) -> list[Statement]:
    """variables = values, all at once: a value that is another of the variables is kept first."""
    statements, sources = [], []
    numbers = {v.number for v in variables}
    for variable, value in zip(variables, values, strict=True):
        if value.number in numbers and value is not variable:
            held = n.value(value.dtype, value.shape, "held")
            statements.append(Statement(f"{value}", held, keep=True))
            value = held
        sources.append(value)
    statements += [Statement(f"{a} = {b}", keep=True) for a, b in zip(variables, sources) if a is not b]
    return statements


def _copies(n: Node, values: list[Any]) -> list[Value]:
    """Variables of a block, which start as these values."""
    found = []
    for value in values:
        if not isinstance(value, Value):
            n.refuse("a loop over something else than tensors")
        found.append(n.let(f"{value}", value.dtype, value.shape, value.hint or "state"))
    return found


_WRAPPERS = tuple(f"higher_order.{name}" for name in (
    "wrap_with_set_grad_enabled", "wrap_with_autocast", "invoke_subgraph", "wrap", "hints_wrapper",
    "tag_activation_checkpoint", "wrap_activation_checkpoint"))


@op(*_WRAPPERS)
@complex_op(*_WRAPPERS)
def wrapper(n: Node) -> None:
    """The graph stands for the node: its operands are the tensors behind it."""
    names = list(n.arguments)
    graphs = [k for k, v in n.arguments.items() if isinstance(v, dict) and "graph" in v]
    if len(graphs) != 1:
        raise Malformed("it has no graph")
    if n.target == "higher_order.wrap_with_autocast" and n.argument(names[2] if len(names) > 2 else "",
                                                                    True) not in (False, None):
        n.refuse("autocast", "export the module in the precision it is to run in")
    n.ignore(*names)
    operands: list[Any] = []
    for name in names[names.index(graphs[0]) + 1:]:
        value = n.arguments[name]
        if not isinstance(value, str):
            operands += value if isinstance(value, list) else [value]
    for value in n.importer.graph(_graph(n, graphs[0]), operands):
        if isinstance(value, Value):
            n.give(value)


@op("higher_order.cond")
@complex_op("higher_order.cond")
def cond(n: Node) -> None:
    names = list(n.arguments)
    if len(names) < 3:
        raise Malformed("it needs a condition and two graphs")
    test = n.argument(names[0])
    operands = _operands(n, names[3]) if len(names) > 3 else []
    if isinstance(test, (bool, int, Expr)):
        if isinstance(test, Expr):
            n.refuse("a condition over sizes that is known at run time only")
        for value in n.importer.graph(_graph(n, names[1] if test else names[2]), operands):
            n.give(value)
        n.ignore(*names)
        return
    if not isinstance(test, Value):
        raise Malformed("its condition is no tensor")
    results = [n.let(f"tc_full(g, 0, TC_{t.dtype.upper()}{''.join(', ' + n.dim(s) for s in t.shape)})", t.dtype,
                     t.shape, hint)
               for t, hint in zip(n.results, n.hints)]
    addresses = "".join(f", &{r}" for r in results)
    for name, head in ((names[1], f"TC_IF(g, {test}{addresses})"), (names[2], "TC_ELSE(g)")):
        body, values = _block(n, _graph(n, name), operands)
        n.emit(Statement(head=head, body=[*body, *_assigned(n, results, values)], keep=True))
    for r, t in zip(results, n.results, strict=True):
        n.give(as_kind(r, t.kind))


@op("higher_order.while_loop")
def while_loop(n: Node) -> None:
    names = list(n.arguments)
    carried = _copies(n, _operands(n, names[2]))
    more = _operands(n, names[3]) if len(names) > 3 else []
    tests, truth = _block(n, _graph(n, names[0]), [*carried, *more])
    body, values = _block(n, _graph(n, names[1]), [*carried, *more])
    if len(truth) != 1 or len(values) != len(carried):
        raise Malformed("its graphs do not fit what it carries")
    n.emit(Statement(head=f"TC_WHILE(g{''.join(f', &{c}' for c in carried)})", keep=True,
                     body=[*tests, Statement(f"tc_test({truth[0]})", keep=True), *body,
                           *_assigned(n, carried, values)]))
    for value in carried:
        n.give(value)


@op("higher_order.scan")
def scan(n: Node) -> None:
    """The graph is of one step: the carried tensors and the steps' elements in, the carried tensors and results out."""
    names = list(n.arguments)
    carried = _copies(n, _operands(n, names[1]))
    xs = _operands(n, names[2])
    if len(names) == 6:   # of PyTorch 2.6, with an axis and a direction
        if n.argument(names[3]) != 0 or n.argument(names[4]):
            n.refuse("a scan backwards or along another axis than the first", "export with PyTorch 2.7 or newer")
        del names[3:5]
    more = _operands(n, names[3]) if len(names) > 3 else []
    if not xs:
        n.refuse("a scan over nothing")
    steps = xs[0].shape[0]
    each = [n.value(x.dtype, x.shape[1:], "step") for x in xs]
    body, values = _block(n, _graph(n, names[0]), [*carried, *each, *more])
    results = n.results[len(carried):]
    all_ = [n.let("NULL", t.dtype, t.shape, hint) for t, hint in zip(results, n.hints[len(carried):])]
    collected = values[len(carried):]
    n.emit(Statement(
        head=f"TC_SCAN(g, {n.dim(steps)}{''.join(f', &{c}' for c in carried)})", keep=True,
        body=[*(Statement(f"tc_each({x})", e, keep=True) for x, e in zip(xs, each)), *body,
              *(Statement(f"tc_collect({v}, &{a})", keep=True) for v, a in zip(collected, all_, strict=True)),
              *_assigned(n, carried, values[:len(carried)])]))
    for value in [*carried, *all_]:
        n.give(value)
