# SPDX-License-Identifier: Apache-2.0
"""Graphs that an operator runs: loops and branches."""
from __future__ import annotations

from ..problems import Malformed
from ..program import Statement
from ..values import Value
from .registry import Node, op


def _assigned(n: Node, variables: list[Value], values: list[Value]) -> list[Statement]:
    """variables = values, all at once: a value that is another of the variables is kept first."""
    statements, sources = [], []
    numbers = {v.number for v in variables}
    for variable, value in zip(variables, values, strict=True):
        if value.dtype != variable.dtype or [*value.shape] != [*variable.shape]:
            n.refuse("a result whose type or size is another one in each graph or iteration")
        if value.number in numbers and value is not variable:
            held = n.value(value.dtype, value.shape, "held")
            statements.append(Statement(f"{value}", held, keep=True))
            value = held
        sources.append(value)
    return statements + [Statement(f"{a} = {b}", keep=True) for a, b in zip(variables, sources) if a is not b]


def _block(n: Node, number: int, operands: list[Value]) -> tuple[list[Statement], list[Value]] | None:
    """The statements of a graph and what it gives; None where a node of it cannot be imported, which is reported."""
    statements, held = n.importer.block(number, operands)
    values = [h for h in held if h is not None]
    return (statements, values) if len(values) == len(held) else None


@op("WHILE", versions=1)
def loop(n: Node) -> None:
    """An iteration takes what the one before gave; the first graph says whether there is one more."""
    first = [n.input(i) for i in range(n.count)]
    carried = [n.let(f"{x}", x.dtype, x.shape, x.hint or "carried") for x in first]
    test, body = (_block(n, n.option(name), carried) for name in ("test", "body"))
    if test is None or body is None:
        n.fail()
        return
    (tests, truth), (inside, values) = test, body
    if len(truth) != 1 or truth[0].dtype != "bool" or len(values) != len(carried):
        raise Malformed("its graphs do not fit what it carries")
    n.emit(Statement(head=f"TC_WHILE(g{''.join(f', &{c}' for c in carried)})", keep=True,
                     body=[*tests, Statement(f"tc_test({_scalar(truth[0])})", keep=True), *inside,
                           *_assigned(n, carried, values)]))
    for i, x in enumerate(carried[:len(n.operator.outputs)]):
        n.given[i] = n.importer.hold(last=x)


@op("STABLEHLO_COMPOSITE", versions=1)
def composite(n: Node) -> None:
    """What a name and attributes stand for: the graph that says it in other operations."""
    n.ignore("name", "attributes", "format", "version")
    found = _block(n, n.option("graph"), [n.input(i) for i in range(n.count)])
    if found is None:
        n.fail()
        return
    statements, values = found
    if len(values) != len(n.operator.outputs):
        raise Malformed("its graph does not fit its results")
    for statement in statements:
        n.importer.statements.append(statement)
    for i, x in enumerate(values):
        n.given[i] = n.importer.hold(last=x)


@op("IF", versions=1)
def branches(n: Node) -> None:
    condition, operands = n.input(0), [n.input(i) for i in range(1, n.count)]
    then, other = (_block(n, n.option(name), operands) for name in ("then", "other"))
    if then is None or other is None:
        n.fail()
        return
    if condition.dtype != "bool" or len(then[1]) != len(n.operator.outputs) or len(then[1]) != len(other[1]):
        raise Malformed("its graphs do not fit its results")
    results = [n.let(f"tc_full(g, 0, TC_{x.dtype.upper()}{', ' + n.dim_list(x.shape) if x.rank else ''})", x.dtype,
                     x.shape, x.hint) for x in then[1]]
    head = f"TC_IF(g, {_scalar(condition)}{''.join(f', &{r}' for r in results)})"
    for words, (statements, values) in ((head, then), ("TC_ELSE(g)", other)):
        n.emit(Statement(head=words, body=[*statements, *_assigned(n, results, values)], keep=True))
    for i, x in enumerate(results):
        n.given[i] = n.importer.hold(last=x)


def _scalar(x: Value) -> str:
    return f"tc_reshape_scalar({x})" if x.rank else f"{x}"
