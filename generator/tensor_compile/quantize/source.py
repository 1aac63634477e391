# SPDX-License-Identifier: Apache-2.0
"""The quantized graph as statements of a model.c, which importer/output.py writes."""
from __future__ import annotations

from collections import Counter
from typing import Callable, Mapping, Sequence

from ..errors import UserError
from ..graph.ir import Function, Module, Node, Value
from ..importer import values as constants
from ..importer.dims import Dims
from ..importer.program import Program, Statement, values_of
from ..importer.source import Names, identifier
from ..importer.values import braces
from ..records import dataclass
from . import blocks, primitives
from .layers import PRODUCTS, Found, Layer, read_as_floats, reported
from .observe import Scale
from .primitives import windows
from .states import State
from .weights import Constants

SHOWN = 8       # places that a message names

@dataclass(slots=True)
class Written:
    """program: without its weights, whose names are in `weights`: by name the program's value."""

    program: Program
    weights: dict[str, constants.Value]


class _Source:
    def __init__(self, module: Module, function: Function, found: Found, scales: Mapping[Value, Scale],
                 stored: Constants,
                 per_channel: bool, in_floats: bool, states: Sequence[State]):
        self.states = states
        self.module, self.function, self.found, self.stored = module, function, found, stored
        self.constants = set(found.constants)
        self.per_channel, self.in_floats = per_channel, in_floats
        self.scales = {v: scales[found.scale_of(v)] for v in found.layers}
        dims = Dims()
        self.program = Program(function.name, dims)
        dims.declared.update({name: d.sym for name, d in module.dims.items()})
        dims.specialized.update({name: d.specialize for name, d in module.dims.items() if d.specialize})
        self.floats: dict[Value, constants.Value] = {}
        self.integers: dict[Value, constants.Value] = {}
        self.weights: dict[str, constants.Value] = {}
        self.writer = primitives.Writer(dims, lambda v: f"{self.float(v)}")
        self.refused: Counter[str] = Counter()
        self.places: dict[str, list[str]] = {}
        self.needed = read_as_floats(function, found)

    # -- values --------------------------------------------------------------------------------------------------------
    def named(self, value: Value, hint: str, dtype: str) -> constants.Value:
        return self.program.value(dtype, value.shape, hint=hint)

    def _weight(self, name: str, value: Value | None = None) -> constants.Value:
        """A tensor of the file, by its name among the results of `stored`."""
        if name not in self.weights:
            made = self.stored.results[name]
            self.weights[name] = self.program.value(made.dtype, made.shape, hint=name)
            self.weights[name].weight = name
        return self.weights[name]

    def float(self, value: Value) -> constants.Value:
        """The program's value; of a constant one that is stored, or written where it is read."""
        if value not in self.floats:
            if value.node not in self.constants:
                raise KeyError(value)
            self.floats[value] = self._constant(value)
        return self.floats[value]

    def _constant(self, value: Value) -> constants.Value:
        node = value.node
        if node.op == "broadcast" and (scalar := primitives.scalar_of(value)) is not None:
            text = f"tc_full(g, {scalar}, {primitives.dtype_name(value.dtype)}, {self.program.dims.list(value.shape)})"
            return self._say(text, value, "full", value.dtype)
        if _by_weights(node) and node.op != "broadcast":
            return self._weight(self.stored.stored(value, _name_of(node)))
        written = self.writer.statement(node)
        if written is None:
            return self._weight(self.stored.stored(value, _name_of(node)))
        return self._say(written, value, node.op, value.dtype)

    def _say(self, text: str, value: Value, hint: str, dtype: str, within: str = "") -> constants.Value:
        """within: the scope of the statement, where all weights that it reads are there."""
        target = self.named(value, hint, dtype)
        weights = (self.program.values[number].weight for number in values_of(text))
        if not all(name.startswith(f"{within}.") for name in weights if name):
            within = ""
        self.program.statements.append(Statement(text, target, within=within))
        return target

    # -- layers --------------------------------------------------------------------------------------------------------
    def affine(self, value: Value) -> str:
        s = self.scales[value]
        return f"{{{self.integers[value]}, {_number(s.scale)}, {s.zero}}}"

    def into(self, value: Value) -> str:
        s = self.scales[value]
        return f", .scale = {_number(s.scale)}" + (f", .zero = {s.zero}" if s.zero else "") \
            + (", .floats = true" if self.in_floats else "")

    def layer(self, layer: Layer) -> str:
        write: Callable[[Layer], str] = getattr(self, f"_{layer.kind}")
        return write(layer)

    def _tensors(self, layer: Layer) -> str:
        w, scale, bias = self.stored.product(layer, self.scales[layer.inputs[0]], self.per_channel)
        return f".x = {self.affine(layer.inputs[0])}, .w = {self._weight(w)}, .w_scale = {self._weight(scale)}" \
            + (f", .bias = {self._weight(bias)}" if bias else "") + self.into(layer.result)

    def _conv(self, layer: Layer) -> str:
        groups = layer.node.attrs["groups"]
        options = windows(layer.node, ("stride", "low", "high", "dilation"), braces)
        return f"tc_quantized_conv({self._tensors(layer)}{options}" \
            + (f", .groups = {groups}" if groups != 1 else "") + ")"

    def _linear(self, layer: Layer) -> str:
        return f"tc_quantized_linear({self._tensors(layer)})"

    def _two(self, layer: Layer) -> str:
        operands = zip(layer.inputs, layer.node.operands, strict=True)
        a, b = (self._stretched(value, operand) for value, operand in operands)
        return f"tc_quantized_{layer.kind}(.a = {a}, .b = {b}{self.into(layer.result)})"

    _add = _sub = _mul = _two

    def _stretched(self, value: Value, operand: Value) -> str:
        """The integers of an operand at the axes where it is broadcast to."""
        if value == operand:
            return self.affine(value)
        axes, shape = operand.node.attrs["axes"], operand.shape
        sizes = [self.program.dims.c(value.shape[axes.index(i)]) if i in axes else "1" for i in range(len(shape))]
        s, q = self.scales[value], f"{self.integers[value]}"
        q = q if value.type.rank == len(shape) else f"tc_reshape({q}, {', '.join(sizes)})"
        return f"{{{q}, {_number(s.scale)}, {s.zero}}}"

    def _mean(self, layer: Layer) -> str:
        axes = layer.node.attrs["axes"]
        return f"tc_quantized_mean(.x = {self.affine(layer.inputs[0])}, .axes = {braces(axes)}, " \
               f".axis_count = {len(axes)}{self.into(layer.result)})"

    def _average(self, layer: Layer) -> str:
        attrs, x = layer.node.attrs, f"{self.integers[layer.inputs[0]]}"
        size, stride = attrs["size"], attrs["stride"]
        if len(size) == 2:
            return f"tc_quantized_avg_pool2d({x}, .kernel = {braces(size)}, .stride = {braces(stride)})"
        pooled = f"tc_quantized_avg_pool2d(tc_unsqueeze({x}, 2), .kernel = {braces((1, *size))}, " \
                 f".stride = {braces((1, *stride))})"
        return f"tc_squeeze({pooled}, 2)"

    def _table(self, layer: Layer) -> str:
        table = self.stored.table(layer, self.scales, self.scales[layer.result])
        index, lowest = f"tc_cast({self.integers[layer.inputs[0]]}, TC_I32)", self.scales[layer.inputs[0]].lowest
        index = f"tc_add({index}, {-lowest})" if lowest else index
        return f"tc_gather({self._weight(table)}, {index}, 0)"

    def _concat(self, layer: Layer) -> str:
        mine = self.scales[layer.result]
        parts = [f"{self.integers[v]}" if self.scales[v] == mine else
                 f"tc_quantized_rescale(.x = {self.affine(v)}{self.into(layer.result)})" for v in layer.inputs]
        return f"tc_concat({layer.node.attrs['axis']}, {', '.join(parts)})"

    def _moves(self, layer: Layer) -> str:
        node, x = layer.node, layer.inputs[0]
        if node.op == "pad":
            filled = primitives.scalar_of(node.operands[1])
            return self.writer.padded(node, f"{self.integers[x]}", str(self.scales[x].integer(float(filled or 0))))
        on_integers = primitives.Writer(self.program.dims, lambda v: f"{self.integers[v]}")
        text = on_integers.statement(node)
        assert text is not None, node.op
        return text

    def _entry(self, layer: Layer) -> str:
        s = self.scales[layer.result]
        return f"tc_quantize({self.float(layer.result)}, tc_full(g, {_number(s.scale)}, TC_F32), " \
               f"tc_full(g, {s.zero}, {primitives.dtype_name(s.dtype)}))"

    def dequantized(self, value: Value) -> str:
        s = self.scales[value]
        return f"tc_dequantize({self.integers[value]}, tc_full(g, {_number(s.scale)}, TC_F32), " \
               f"tc_full(g, {s.zero}, {primitives.dtype_name(s.dtype)}))"

    # -- all of it -----------------------------------------------------------------------------------------------------
    def write(self, shown: str) -> Program:
        held = {s.before: s.name for s in self.states}
        variables: dict[str, constants.Value] = {}
        for p in self.function.parameters:
            value, name = Value(p), p.attrs["name"]
            self.floats[value] = self.named(value, held.get(name, name), value.dtype)
            if name in held:
                text = f'tc_state(g, "{held[name]}", {primitives.dtype_name(value.dtype)}, ' \
                       f"{self.program.dims.list(value.shape)})"
                self.program.statements.append(Statement(text, self.floats[value], keep=True))
                variables[held[name]] = self.floats[value]
            else:
                self.program.inputs.append((name, self.floats[value]))
        for guard in self.function.guards:
            sides = self.program.dims.c(guard.lhs), self.program.dims.c(guard.rhs)
            name = "equal" if guard.relation == "==" else "at_least"
            self.program.statements.append(Statement(f"tc_require_{name}(g, {', '.join(sides)})", keep=True))
        for node in (*self.function.parameters, *self.function.nodes):
            if node not in self.found.constants:
                self._node(node)
        for name, value, _ in self.function.assigns:
            self.program.statements.append(Statement(f"tc_assign({variables[name]}, {self.float(value)})", keep=True))
        self._refuse(shown)
        for name, value, _ in self.function.results:
            self.program.outputs.append((name, self.float(value)))
        for name, value in named_layers(self.function, self.found).items():
            self.program.optional.append((name, self.dequantized(value)))
        return self.program

    def _node(self, node: Node) -> None:
        value = Value(node)
        layer = self.found.layers.get(value)
        if layer is not None and layer.kind != "entry":
            within = layer.name if layer.kind in PRODUCTS else _scope(layer.node)
            self.integers[value] = self._say(self.layer(layer), value, layer.name, self.scales[value].dtype, within)
        values = [Value(node, i) for i in range(len(node.types))]
        if node.op != "parameter" and any(v in self.needed for v in values):
            if layer is not None and layer.kind != "entry":
                self.floats[value] = self._say(self.dequantized(value), value, f"{layer.name}_float", "f32")
            else:
                self.plain(node)
        for v in values:
            if (entry := self.found.layers.get(v)) is not None and entry.kind == "entry":
                self.integers[v] = self._say(self._entry(entry), v, entry.name, self.scales[v].dtype)

    def plain(self, node: Node) -> None:
        """As it is in the float model."""
        value = Value(node)
        if blocks.write(self, self.module, node):
            return
        text = self.writer.statement(node) if len(node.types) == 1 else None
        if text is None:
            self.refused[node.op] += 1
            self.places.setdefault(node.op, []).append(str(node.loc or node.scope))
            text = ""
        self.floats[value] = self._say(text, value, node.op, value.dtype, _scope(node))

    def _refuse(self, shown: str) -> None:
        if self.refused:
            lines = [f"  {count} x {op} (at {', '.join(dict.fromkeys(self.places[op][:SHOWN]))})" for op, count in
                     self.refused.items()]
            raise UserError("the model has operations that a quantized model cannot be written with:\n"
                            + "\n".join(lines), shown,
                            "quantize the parts without them")


def _scope(node: Node) -> str:
    """The scopes of the float model that a node is in, without regions."""
    return ".".join(part for part in node.scope.split("/") if part and "#" not in part)


def _number(scale: float) -> str:
    text = constants.number(scale, "f32")
    assert text is not None
    return text


def _by_weights(node: Node) -> bool:
    pending, seen = [node], set()
    while pending:
        n = pending.pop()
        if n.op == "weight":
            return True
        if n not in seen:
            seen.add(n)
            pending += [v.node for v in n.operands]
    return False


def _name_of(node: Node) -> str:
    """A constant's own name where it is a weight, else that of a weight that it is made of."""
    while node.op != "weight" and node.operands:
        node = node.operands[0].node
    name: str = node.attrs["name"] if node.op == "weight" else "constant"
    return name


def write(module: Module, function: Function, found: Found, scales: Mapping[Value, Scale], stored: Constants,
          per_channel: bool, in_floats: bool, shown: str, states: Sequence[State] = ()) -> Written:
    """scales: of every layer whose result does not keep that of its operand; in_floats: integers are brought to another
    scale in f32, else in integers."""
    source = _Source(module, function, found, scales, stored, per_channel, in_floats, states)
    return Written(source.write(shown), source.weights)


def named_layers(function: Function, found: Found) -> dict[str, Value]:
    """The layers whose results are compared with those of the float model, by the names of the outputs that they are
    under the macro."""
    names = Names([*(name for name, _, _ in function.results), *(p.attrs["name"] for p in function.parameters)])
    return {names.take(identifier(layer.name)): layer.result for layer in reported(found)}
