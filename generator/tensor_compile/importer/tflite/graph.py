# SPDX-License-Identifier: Apache-2.0
"""The file's graph to a Program: operators in order through the table of operations."""
from __future__ import annotations

import math
import re
from typing import Sequence

from ...records import dataclass
from ...symbolic import Expr, wrap
from ..dims import Dims, Range
from ..mapped import Mapped
from ..problems import Malformed, Problem, Unsupported
from ..program import Program, Statement
from ..source import Names, identifier
from ..values import COMPLEX, DTYPES, Value
from . import registry, sizes
from .model import Graph, Operator, Tensor
from .registry import Node
from .rows import updates
from .schema import OPTIONS, OTHERS, TYPES
from .variables import Variable, store

MOST = 1 << 40   # bytes of a tensor
MOST_DEEP = 16   # graphs within graphs
# Operations that read variables among their inputs and say what these become.
_STATEFUL = ("UNIDIRECTIONAL_SEQUENCE_LSTM", "UNIDIRECTIONAL_SEQUENCE_RNN", "SVDF")

# What a weight is called by the operation that reads it, and at which place.
_ROLES = {(name, i): role for name in ("CONV_2D", "DEPTHWISE_CONV_2D", "CONV_3D", "FULLY_CONNECTED")
          for i, role in ((1, "weight"), (2, "bias"))} | {
    ("ADD", 1): "bias", ("MUL", 1): "scale", ("PRELU", 1): "slope", ("TRANSPOSE_CONV", 1): "weight",
    ("TRANSPOSE_CONV", 3): "bias", ("CONV_3D_TRANSPOSE", 1): "weight", ("CONV_3D_TRANSPOSE", 3): "bias",
    ("EMBEDDING_LOOKUP", 1): "weight"}
# The last part of a name that says which operation of a layer a tensor belongs to, and not which layer.
_PARTS = r"/(?:Conv2D|DepthwiseConv2dNative|depthwise|MatMul|BiasAdd(?:/ReadVariableOp(?:/resource)?)?" \
         r"|FusedBatchNormV3" \
         r"|ReadVariableOp(?:/resource)?|Relu6?|AvgPool|MaxPool|Reshape|Softmax|Sigmoid|Tanh|add|mul|Conv2D1|Const)\d*$"


@dataclass(eq=False, slots=True)
class Held:
    """A result in the order of its axes, with the last axis behind the first one, or in both orders; in neither: what
    gives it could not be imported."""

    last: Value | None = None
    first: Value | None = None


def channels_first(rank: int) -> list[int]:
    return [0, rank - 1, *range(1, rank - 1)]


def channels_last(rank: int) -> list[int]:
    return [0, *range(2, rank), 1]


class Importer:
    """One model's import."""

    def __init__(self, graphs: list[Graph], program: Program):
        self.graph, self.graphs, self.program = graphs[0], graphs, program
        self.dims: Dims = program.dims
        for graph in graphs:
            graph.operators = updates(graph)
        self.statements: list[Statement] = program.statements
        self.problems: list[Problem] = []
        self.resources: dict[int, Variable] = {}   # by the tensor that names the variable
        self._variables: dict[str, Variable] = {}
        self._kept: dict[int, Variable] = {}    # by the tensor that is a variable itself
        self._states = Names()
        self._depth = 0    # of graphs that operators run
        self._held: dict[int, Held] = {}
        self._layers: dict[int, str] = {}    # names of operators' layers, by the operator's identity

    # -- the model
    # ---------------------------------------------------------------------------------------------------------
    def run(self) -> None:
        names = Names()
        self._name_layers()
        for i in dict.fromkeys(self.graph.inputs):
            self._input(i, names)
        for operator in _needed(self.graph):
            self._operator(operator)
        for variable in (*self._variables.values(), *self._kept.values()):
            self.statements += store(variable)
        if not self.graph.outputs:
            raise Malformed("it has no outputs")
        for i in self.graph.outputs:
            held = self.held(i)
            if held.last is not None or held.first is not None:
                name = names.take(identifier(self._public(i), "output"))
                self.program.outputs.append((name, self.last(held)))

    def _public(self, i: int) -> str:
        """What an input or output is called."""
        return self.graph.names.get(i) or re.sub(r":\d+$", "", self.graph.tensors[i].name)

    def dtype(self, t: Tensor) -> str:
        if t.dtype not in TYPES:
            raise Unsupported(f"tensors of {OTHERS.get(t.dtype, f'element type {t.dtype}')}")
        return TYPES[t.dtype]

    def _input(self, i: int, names: Names) -> None:
        t = self.graph.tensors[i]
        name = names.take(identifier(self._public(i), "input"))
        if t.data is not None or t.is_variable:
            raise Malformed(f"the input {t.name!r} is a constant or a variable")
        try:
            dtype = self.dtype(t)
        except Unsupported as error:
            self.problems.append(Problem("input", error.message, name))
            self._held[i] = Held()
            return
        shape: list[Expr] = []
        for axis, (size, declared) in enumerate(zip(t.shape, t.signature, strict=True)):
            # A size that may differ has a value in the file, which stands unless --dim names another one.
            shape.append(wrap(size) if declared >= 0 else
                         self.dims.named(names.take(f"{name}_{axis}"), Range(max(size, 1), max(size, 1))))
        value = self.program.value(dtype, tuple(shape), hint=name)
        self._held[i] = Held(value)
        self.program.inputs.append((name, value))

    # -- tensors
    # -----------------------------------------------------------------------------------------------------------
    def hold(self, last: Value | None = None, first: Value | None = None) -> Held:
        return Held(last, first)

    def held(self, i: int) -> Held:
        if i not in self._held:
            t = self.graph.tensors[i]
            if t.data is None and math.prod(t.shape) > 0:
                if t.is_variable:
                    raise Unsupported("a variable, whose value stays from call to call",
                                      "export the model without its state")
                raise Malformed(f"nothing before it gives the tensor {t.name!r}")
            self._held[i] = Held(self.constant(t))
        return self._held[i]

    def constant(self, t: Tensor) -> Value:
        dtype = self.dtype(t)
        size = DTYPES[dtype][0] * math.prod(t.shape)
        data = t.data if t.data is not None else memoryview(b"")
        if size > MOST or len(data) != size:
            raise Malformed(f"the tensor {t.name!r} has {len(data)} bytes, its shape needs {size}")
        return self.program.add(Value(dtype, tuple(wrap(s) for s in t.shape), data=Mapped(data), hint=_short(t.name)))

    def variable(self, name: str) -> Variable:
        """The variable of a name."""
        return self._variables.setdefault(name, Variable(name))

    def assigns(self, name: str) -> bool:
        """Whether the graph assigns to the variable."""
        handles = {o.outputs[0] for o in self.graph.operators
                   if o.name == "VAR_HANDLE" and o.outputs and Node(self, o).text("shared_name") == name}
        return any(o.name == "ASSIGN_VARIABLE" and o.inputs and o.inputs[0] in handles for o in self.graph.operators)

    def state_name(self, name: str) -> str:
        return self._states.take(_dotted(name) or "state")

    def _begin(self, i: int) -> None:
        """A tensor that is a variable becomes a state, zeros at first."""
        t = self.graph.tensors[i]
        if self._depth:
            raise Unsupported("a variable within a graph that an operator runs")
        name, shape = self.state_name(t.name), tuple(wrap(s) for s in t.shape)
        value = self.program.value(self.dtype(t), shape, hint=name)
        sizes_ = "".join(f", {s}" for s in t.shape)
        self.statements.append(Statement(f'tc_state(g, "{name}", TC_{value.dtype.upper()}{sizes_})', value, keep=True))
        self._held[i] = Held(value)
        self._kept[i] = Variable(t.name, handle=value, current=value)

    def keep(self, i: int, value: Value) -> None:
        """What a tensor that is a variable becomes, also for the operators behind."""
        self._held[i] = Held(value)
        self._kept[i].current, self._kept[i].assigned = value, True

    def block(self, number: int, operands: Sequence[Value]) -> tuple[list[Statement], list[Value | None]]:
        """The statements of a graph that an operator runs, and what it gives; None for what could not be imported."""
        if not 0 < number < len(self.graphs):
            raise Malformed(f"graph {number} of {len(self.graphs)}")
        if self._depth == MOST_DEEP:
            raise Malformed(f"graphs run each other more than {MOST_DEEP} deep")
        around = self.graph, self.statements, self._held, self._layers, self.resources
        self.graph, self.statements, self._held, self.resources = self.graphs[number], [], {}, {}
        self._depth += 1
        try:
            if len(self.graph.inputs) != len(operands):
                raise Malformed(f"graph {number} takes {len(self.graph.inputs)} tensors of {len(operands)}")
            self._name_layers()
            for i, operand in zip(self.graph.inputs, operands):
                self._held[i] = Held(operand)
            for operator in _needed(self.graph):
                self._operator(operator)
            found = [self.held(i) for i in self.graph.outputs]
            values = [self.last(h) if h.last is not None or h.first is not None else None for h in found]
            return self.statements, values
        finally:
            self._depth -= 1
            self.graph, self.statements, self._held, self._layers, self.resources = around

    def last(self, held: Held) -> Value:
        """The value in the order of its axes."""
        if held.last is None:
            assert held.first is not None
            held.last = self._moved(held.first, channels_last(held.first.rank))
        return held.last

    def first(self, held: Held) -> Value:
        """The value with its last axis behind the first one."""
        if held.first is None:
            assert held.last is not None
            if not 3 <= held.last.rank <= 5:
                raise Malformed(f"channels of a tensor of rank {held.last.rank}")
            held.first = self._moved(held.last, channels_first(held.last.rank))
        return held.first

    def _moved(self, x: Value, order: Sequence[int]) -> Value:
        shape = tuple(x.shape[a] for a in order)
        wide = [a for a in order if not (x.shape[a].is_const and x.shape[a].value == 1)]
        value = self.program.value(x.dtype, shape, hint=x.hint)
        if wide == sorted(wide):   # axes of one element move: the elements stay where they are
            text = f"tc_reshape({x}, {self.dims.list(shape)})"
        else:
            text = f"tc_permute({x}, {', '.join(map(str, order))})"
        self.statements.append(Statement(text, value))
        return value

    # -- operators
    # -----------------------------------------------------------------------------------------------------------
    def _operator(self, operator: Operator) -> None:
        what = f"custom operation {operator.custom!r}" if operator.name == "CUSTOM" else operator.name
        entry = registry.find(operator.name) or registry.find(operator.name, COMPLEX)
        where = self._layers.get(id(operator), "")
        for i in operator.outputs:
            if i in self._held or self.graph.tensors[i].data is not None:
                raise Malformed(f"{what}: its output {self.graph.tensors[i].name!r} exists already")
        if entry is None or operator.version > entry[0]:
            why = "no such operation is known" if entry is None else \
                f"version {operator.version} of it is not known, {entry[0]} is the newest"
            hint = "in a model.c of your own tc_extern calls a C function of yours (docs/externs.md)" \
                * (operator.name == "CUSTOM")
            self.problems.append(Problem(what, why, where, hint))
            self._failed(operator)
            return
        before = len(self.statements)
        node = Node(self, operator)
        try:
            if operator.name in _STATEFUL:
                for i in operator.inputs:
                    if i >= 0 and i not in self._held and self.graph.tensors[i].is_variable:
                        self._begin(i)
            if any(h.last is None and h.first is None for h in (self.held(i) for i in operator.inputs if i >= 0)):
                self._failed(operator)
                return
            self._name_weights(operator)
            kind = self._kind(operator)
            found = registry.find(operator.name, kind)
            if found is None:
                raise Unsupported(f"operands that are {'' if kind else 'no '}complex numbers")
            if kind or not sizes.fold(node):
                found[1](node)
            unread = operator.options.unread() if operator.options is not None else []
            if unread:
                raise Unsupported(f"the option{'s' * (len(unread) > 1)} "
                                  f"{', '.join(self._option(operator, u) for u in unread)}")
        except Unsupported as error:
            del self.statements[before:]
            self.problems.append(Problem(what, error.message, where, error.hint))
            self._failed(operator)
            return
        except Malformed as error:
            raise Malformed(f"{what} {where}: {error}") from None
        for k, i in enumerate(operator.outputs):
            if k in node.given:
                self._held[i] = node.given[k]
            else:
                self.problems.append(Problem(what, f"its output {k} is not imported", where))
                self._held[i] = Held()

    def _kind(self, operator: Operator) -> str:
        """The kind of its operands: complex numbers or "" for others."""
        values = [self.held(i).last for i in operator.inputs if i >= 0]
        return COMPLEX if any(v is not None and v.kind == COMPLEX for v in values) else ""

    def _failed(self, operator: Operator) -> None:
        for i in operator.outputs:
            self._held[i] = Held()

    @staticmethod
    def _option(operator: Operator, field: int) -> str:
        return next((name for name, (place, _, _) in OPTIONS.get(operator.name, {}).items() if place == field),
                    f"number {field}")

    # -- names
    # -------------------------------------------------------------------------------------------------------------
    def _name_layers(self) -> None:
        """What operators are called: by their weights, else by their results, without what all names begin with."""
        found = {}
        for operator in self.graph.operators:
            weight = next((i for i in operator.inputs[1:2] if i >= 0 and (operator.name, 1) in _ROLES
                           and self.graph.tensors[i].data is not None), None)
            i = weight if weight is not None else operator.outputs[0] if operator.outputs else None
            found[id(operator)] = _layer(self.graph.tensors[i].name) if i is not None else ""
        heads = {name.split("/")[0] for name in found.values() if "/" in name}
        if len(heads) == 1:
            head = heads.pop() + "/"
            found = {key: name.removeprefix(head) for key, name in found.items()}
        self._layers = found

    def _name_weights(self, operator: Operator) -> None:
        layer = self._layers[id(operator)]
        for k, i in enumerate(operator.inputs):
            if i < 0 or (role := _ROLES.get((operator.name, k))) is None:
                continue
            value = self.held(i).last
            if value is not None and value.data is not None and not value.weight:
                value.weight = f"{_dotted(layer) or operator.name.lower()}.{role}"

    def hint(self, operator: Operator) -> str:
        """What variables between are called."""
        return self._layers.get(id(operator), "") or operator.name.lower()

    def result_hint(self, operator: Operator, i: int) -> str:
        if i == 0:
            return self.hint(operator)
        return _short(self.graph.tensors[operator.outputs[i]].name) or operator.name.lower()


def _segments(name: str) -> list[str]:
    return [s for s in name.split(";") if s]


def _layer(name: str) -> str:
    """The layer that a tensor's name tells: converters join the names of all that went into an operation."""
    parts = _segments(name)
    for pattern in (r"/(?:depthwise|DepthwiseConv2dNative)\d*$", r"/(?:Conv2D|MatMul)\d*$"):
        for part in parts:
            if re.search(pattern, part):
                return re.sub(_PARTS, "", part)
    return re.sub(_PARTS, "", parts[0]) if parts else ""


def _short(name: str) -> str:
    parts = _segments(name)
    return parts[0] if parts else ""


def _dotted(name: str) -> str:
    return re.sub(r"[\x00-\x1f\"\\%]", "_", re.sub(r"[/.]+", ".", re.sub(r":\d+$", "", name)).strip("."))


def _needed(graph: Graph) -> list[Operator]:
    """The operators whose results are read, by way of others, and those that assign to variables."""
    live = set(graph.outputs)
    kept = []
    for operator in reversed(graph.operators):
        if any(i in live for i in operator.outputs) or operator.name in ("ASSIGN_VARIABLE", "CALL_ONCE"):
            live.update(operator.inputs)
            kept.append(operator)
    kept.reverse()
    return kept
