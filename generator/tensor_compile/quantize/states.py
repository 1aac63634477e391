# SPDX-License-Identifier: Apache-2.0
"""States as parameters and results: so a model is called for one sample after the other, and what it remembers is
looked at like any other value."""
from __future__ import annotations

from dataclasses import replace
from typing import Sequence

from ..graph.infer import Context
from ..graph.ir import Function, Module, Node, Value
from ..graph.rewrite import Builder, Values
from ..importer.source import Names, identifier
from ..records import dataclass


@dataclass(frozen=True, slots=True)
class State:
    """name: the model's; before, after: of the parameter and the result that stand for it."""

    name: str
    before: str
    after: str
    dtype: str
    shape: tuple[int, ...]


def opened(module: Module, function: Function) -> tuple[Function, list[State]]:
    """The function with its states as parameters, the last ones; it assigns them as before."""
    names = Names([*(p.attrs["name"] for p in function.parameters), *(name for name, _, _ in function.results)])
    states: dict[str, State] = {}
    parameters: dict[str, Node] = {}
    values = Values()
    builder = Builder(function, Context(), share=False)

    def parameter(name: str) -> Value:
        if name not in parameters:
            declared, plain = module.states[name], identifier(name)
            states[name] = State(name, names.take(f"{plain}_before"), names.take(f"{plain}_after"), declared.type.dtype,
                                 tuple(size.value for size in declared.type.shape))
            parameters[name] = Node("parameter", (), {"name": states[name].before}, (declared.type,), declared.loc)
        return Value(parameters[name])

    for node in function.nodes:
        if node.op == "state":
            values[Value(node)] = parameter(node.attrs["name"])
        else:
            values.bind(node, builder.again(node, values.all(node.operands)))
    for name, _, _ in function.assigns:
        parameter(name)
    builder.function.parameters += parameters.values()
    return builder.finish(function, values.__getitem__), list(states.values())


def with_results(function: Function, states: Sequence[State]) -> Function:
    """The function with what states are after the call as results, and without assignments."""
    left = {name: value for name, value, _ in function.assigns}
    before = {p.attrs["name"]: Value(p) for p in function.parameters}
    return replace(function, assigns=[], results=[
        *function.results, *((s.after, left.get(s.name, before[s.before]), None) for s in states)])
