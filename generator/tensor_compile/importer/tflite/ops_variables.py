# SPDX-License-Identifier: Apache-2.0
"""Variables, whose values stay from call to call: states of the model. A streaming model keeps the last frames so."""
from __future__ import annotations

from ...symbolic import wrap
from ..problems import Malformed
from ..program import Statement
from ..values import Value, is_zero
from .model import Graph, Operator
from .registry import Node, op
from .variables import Variable


def _variable(n: Node) -> Variable:
    number = n.operator.inputs[0] if n.has(0) else -1
    found = n.importer.resources.get(number)
    if found is None:
        raise Malformed("it names no variable")
    return found


@op("VAR_HANDLE", versions=1)
def var_handle(n: Node) -> None:
    n.ignore("container")
    variable = n.importer.variable(n.text("shared_name"))
    n.importer.resources[n.operator.outputs[0]] = variable
    n.given[0] = n.importer.hold(last=n.importer.program.value("", ()))


@op("READ_VARIABLE", versions=1)
def read_variable(n: Node) -> None:
    variable = _variable(n)
    if variable.current is None:
        _begin(n, variable)
    assert variable.current is not None
    if n.importer.dtype(n.output()) != variable.current.dtype:
        raise Malformed(f"the variable {variable.name!r} is read as another type")
    n.given[0] = n.importer.hold(last=variable.current)


@op("ASSIGN_VARIABLE", versions=1)
def assign_variable(n: Node) -> None:
    variable, x = _variable(n), n.input(1)
    if variable.current is None:
        _begin(n, variable, x)
    if variable.current is None or [*variable.current.shape] != [*x.shape] or variable.current.dtype != x.dtype:
        n.refuse(f"the variable {variable.name!r} becomes one of another type or size")
    variable.current, variable.assigned = x, True


def _begin(n: Node, variable: Variable, like: Value | None = None) -> None:
    """The value before the first operator that has to do with the variable. like: what is assigned to it; else it is
    read."""
    initial, name = variable.initial, variable.name
    if not n.importer.assigns(name):
        if initial is None:
            n.refuse(f"the variable {name!r} has no value: nothing assigns one", "freeze the model's weights")
        variable.current = initial
        return
    if like is None:
        like = initial or Value(n.importer.dtype(n.output()), tuple(wrap(s) for s in n.output().shape))
    dtype, shape = like.dtype, like.shape
    if any(not s.is_const for s in shape):
        n.refuse(f"the variable {name!r} has a dynamic size", "states have constant sizes")
    sizes = "".join(f", {s}" for s in shape)
    state = n.importer.state_name(name)
    variable.handle = n.value(dtype, shape, state)
    n.emit(Statement(f'tc_state(g, "{state}", TC_{dtype.upper()}{sizes})', variable.handle, keep=True))
    variable.current = variable.handle
    if initial is not None and not is_zero(initial):
        # States are zero at first: until the first call has stored it, the value is the file's.
        variable.started = n.value("bool", (), "started")
        n.emit(Statement(f'tc_state(g, "{state}.started", TC_BOOL)', variable.started, keep=True))
        variable.current = n.let(f"tc_where({variable.started}, {variable.handle}, {initial})", dtype, shape, state)


@op("CALL_ONCE", versions=1)
def call_once(n: Node) -> None:
    """A graph that runs before the first call: it gives variables their first values, which are constants."""
    number = n.option("graph")
    if not 0 <= number < len(n.importer.graphs):
        raise Malformed(f"graph {number} of {len(n.importer.graphs)}")
    graph = n.importer.graphs[number]
    names: dict[int, str] = {}
    for operator in graph.operators:
        if operator.name == "VAR_HANDLE" and operator.outputs:
            names[operator.outputs[0]] = Node(n.importer, operator).text("shared_name")
        elif operator.name == "ASSIGN_VARIABLE" and len(operator.inputs) == 2:
            _assign_once(n, graph, operator, names)
        else:
            n.refuse(f"a graph that runs once and does more than to assign constants ({operator.name})")


def _assign_once(n: Node, graph: Graph, operator: Operator, names: dict[int, str]) -> None:
    handle, number = operator.inputs
    if handle not in names or number < 0:
        raise Malformed("it names no variable")
    t = graph.tensors[number]
    if t.data is None:
        n.refuse("a graph that runs once and computes what it assigns")
    n.importer.variable(names[handle]).initial = n.importer.constant(t)
