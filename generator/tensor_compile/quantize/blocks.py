# SPDX-License-Identifier: Apache-2.0
"""Nodes of several results as statements of a model.c: loops, branches and orders, which stay in floats."""
from __future__ import annotations

from typing import Callable, Protocol, Sequence

from ..graph.fold import is_constant
from ..graph.ir import Module, Node, Value
from ..importer.program import Program, Statement
from ..importer.values import Value as Tensor
from ..symbolic import equal
from .primitives import dtype_name


class Writer(Protocol):
    """What is written around. floats: the program's values; constants: nodes that depend on constants alone."""

    program: Program
    floats: dict[Value, Tensor]
    constants: set[Node]

    def float(self, value: Value) -> Tensor: ...

    def plain(self, node: Node) -> None: ...

    def named(self, value: Value, hint: str, dtype: str) -> Tensor: ...


def write(writer: Writer, module: Module, node: Node) -> bool:
    """The statements of a node, and its results in `floats`; False where the language has none for it."""
    made: Callable[[], None] | None = getattr(_Blocks(writer, module, node), f"_{node.op}", None)
    if made is not None:
        made()
    return made is not None


class _Blocks:
    def __init__(self, writer: Writer, module: Module, node: Node):
        self.writer, self.module, self.node = writer, module, node

    # -- parts ---------------------------------------------------------------------------------------------------------
    def _emit(self, statement: Statement) -> None:
        self.writer.program.statements.append(statement)

    def _variable(self, text: str, like: Value, hint: str) -> Tensor:
        target = self.writer.named(like, hint, like.dtype)
        self._emit(Statement(text, target, keep=True))
        return target

    def _inside(self, graph: str, given: Sequence[Tensor]) -> tuple[list[Statement], list[Tensor]]:
        """What a function of the node does with these values, and its results."""
        writer, function = self.writer, self.module.functions[graph]
        for node in function.nodes:
            if is_constant(node, writer.constants):
                writer.constants.add(node)
            for i in range(len(node.types)):
                writer.floats.pop(Value(node, i), None)   # another node may hold the same function
        writer.floats.update(zip(map(Value, function.parameters), given, strict=True))
        outer, writer.program.statements = writer.program.statements, []
        for node in function.nodes:
            if node not in writer.constants:
                writer.plain(node)
        results = [writer.float(value) for _, value, _ in function.results]
        body, writer.program.statements = writer.program.statements, outer
        return body, results

    def _assigned(self, variables: Sequence[Tensor | None], made: Sequence[Tensor]
                  ) -> list[Statement]:
        """variables = made, all at once: what is overwritten before it is read is kept under another name."""
        copies, assigns = [], []
        for i, (variable, value) in enumerate(zip(variables, made, strict=True)):
            if variable is None or variable is value:
                continue
            source = value
            if any(value is v for v in variables[:i]):
                source = self.writer.program.value(value.dtype, value.shape, hint="before")
                copies.append(Statement(f"{value}", source, keep=True))
            assigns.append(Statement(f"{variable} = {source}", keep=True))
        return [*copies, *assigns]

    def _carried(self, graph: str, count: int) -> tuple[list[Tensor], list[Tensor | None]]:
        """The values that a body of a loop begins with, and for each the variable, None where no iteration changes
        it."""
        function = self.module.functions[graph]
        given: list[Tensor] = []
        variables: list[Tensor | None] = []
        for i in range(count):
            operand = self.node.operands[i]
            value = self.writer.float(operand)
            changes = function.results[i][1] != Value(function.parameters[i])
            variables.append(self._variable(f"{value}", operand, "carried") if changes else None)
            given.append(variables[-1] or value)
        return given, variables

    def _give(self, values: Sequence[Tensor]) -> None:
        for i, value in enumerate(values):
            self.writer.floats[Value(self.node, i)] = value

    # -- nodes ---------------------------------------------------------------------------------------------------------
    def _scan(self) -> None:
        node, attrs = self.node, self.node.attrs
        graph, count = attrs["body"], attrs["carries"]
        rows = [self.writer.float(v) for v in node.operands[count:]]
        given, variables = self._carried(graph, count)
        parameters = self.module.functions[graph].parameters[count:]
        each = [self.writer.named(Value(p), "step", p.types[0].dtype) for p in parameters]
        all_ = [self._variable("NULL", Value(node, i), "all") for i in range(count, len(node.types))]
        body, made = self._inside(graph, [*given, *each])
        heads = "".join(f", &{v}" for v in variables if v is not None)
        self._emit(Statement(
            head=f"TC_SCAN(g, {self.writer.program.dims.c(attrs['length'][0])}{heads})", keep=True,
            body=[*(Statement(f"tc_each({x})", e, keep=True) for x, e in zip(rows, each, strict=True)), *body,
                  *(Statement(f"tc_collect({v}, &{a})", keep=True) for v, a in zip(made[count:], all_, strict=True)),
                  *self._assigned(variables, made[:count])]))
        self._give([*given, *all_])

    def _while(self) -> None:
        attrs = self.node.attrs
        given, variables = self._carried(attrs["body"], len(self.node.operands))
        tests, truth = self._inside(attrs["test"], given)
        body, made = self._inside(attrs["body"], given)
        heads = "".join(f", &{v}" for v in variables if v is not None)
        self._emit(Statement(head=f"TC_WHILE(g{heads})", keep=True, body=[
            *tests, Statement(f"tc_test({truth[0]})", keep=True), *body, *self._assigned(variables, made)]))
        self._give(given)

    def _cond(self) -> None:
        node, dims = self.node, self.writer.program.dims
        test, *given = (self.writer.float(v) for v in node.operands)
        results = [self._variable(f"tc_full(g, 0, {dtype_name(t.dtype)}{''.join(', ' + dims.c(s) for s in t.shape)})",
                                  Value(node, i), "chosen") for i, t in enumerate(node.types)]
        heads = "".join(f", &{r}" for r in results)
        for graph, head in ((node.attrs["then"], f"TC_IF(g, {test}{heads})"), (node.attrs["else"], "TC_ELSE(g)")):
            body, made = self._inside(graph, given)
            self._emit(Statement(head=head, body=[*body, *self._assigned(results, made)], keep=True))
        self._give(results)

    def _sort(self) -> None:
        node, attrs = self.node, self.node.attrs
        x, (count,), axis = self.writer.float(node.operands[0]), attrs["count"], attrs["axis"]
        values, places = (self.writer.named(Value(node, i), hint, node.types[i].dtype)
                          for i, hint in enumerate(("sorted", "places")))
        order = "true" if attrs["descending"] else "false"
        text = f"tc_sort({x}, {axis}, {order}, &{places})" if equal(count, node.operands[0].shape[axis]) else \
            f"tc_topk({x}, {self.writer.program.dims.c(count)}, {axis}, {order}, &{places})"
        self._emit(Statement(text, values, declared=(places,)))
        self._give([values, places])
