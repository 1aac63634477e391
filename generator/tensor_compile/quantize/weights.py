# SPDX-License-Identifier: Apache-2.0
"""The integers of weights, as a graph that the interpreter runs: symmetric, a scale a channel or one for all; and
tables."""
from __future__ import annotations

import struct
from typing import Mapping

from ..graph.infer import Context
from ..graph.ir import Function, Module, TensorType, Value
from ..graph.rewrite import Builder, Values
from ..importer.source import unused
from ..symbolic import Expr, product, wrap
from .layers import Found, Layer
from .observe import Scale

NAME = "integers"
SMALLEST = 2.0 ** -100      # scale of a channel of zeros
MOST_BIAS = 1 << 30


class Constants:
    """A function whose results are the tensors of the quantized model's file."""

    def __init__(self, function: Function, found: Found):
        empty = Function(NAME, entry=True)
        self.builder, self.values = Builder(empty, Context(), share=False), Values()
        self.function, self.found = function, found
        self.results: dict[str, Value] = {}
        self._stored: dict[Value, str] = {}

    def _copied(self, value: Value) -> Value:
        """A constant of the model in this function."""
        pending = [value.node]
        while pending:
            node = pending[-1]
            if Value(node) in self.values:
                pending.pop()
                continue
            missing = [v.node for v in node.operands if v not in self.values]
            pending += missing
            if not missing:
                pending.pop()
                made = self.builder.again(node, self.values.all(node.operands))
                self.values[Value(node)] = Value(made)
        return self.values[value]

    # -- arithmetic ----------------------------------------------------------------------------------------------------
    def _number(self, number: float, dtype: str, like: Value) -> Value:
        """A number, repeated to a value's shape."""
        letter = {"f32": "<f", "f64": "<d"}[dtype]
        bits = int.from_bytes(struct.pack(letter, number), "little")
        one = Value(self.builder.make("constant", (), {"bits": bits}, (TensorType(dtype, ()),)))
        return self._repeated(one, like.shape, ()) if like.type.rank else one

    def _repeated(self, x: Value, shape: tuple[Expr, ...], axes: tuple[int, ...]) -> Value:
        return Value(self.builder.make("broadcast", (x,), {"shape": shape, "axes": axes}))

    def _op(self, op: str, /, *operands: Value | float, **attrs: object) -> Value:
        first = next(v for v in operands if isinstance(v, Value))
        return Value(self.builder.make(op, (v if isinstance(v, Value) else self._number(v, first.dtype, first)
                                            for v in operands), dict(attrs)))

    def _rounded(self, x: Value, low: float, high: float, dtype: str) -> Value:
        limited = self._op("minimum", self._op("maximum", self._op("round", x), low), high)
        return self._op("cast", limited, dtype=dtype)

    # -- what is stored ------------------------------------------------------------------------------------------------
    def _keep(self, name: str, value: Value) -> str:
        name = unused(name, self.results)
        self.results[name] = value
        return name

    def stored(self, value: Value, name: str) -> str:
        """A constant that the quantized model reads as it is."""
        if value not in self._stored:
            self._stored[value] = self._keep(name, self._copied(value))
        return self._stored[value]

    def product(self, layer: Layer, scale: Scale, per_channel: bool) -> tuple[str, str, str]:
        """The names of weights, scales and bias ("" for none) of a product whose operand has the scale."""
        assert layer.weight is not None
        w = self._copied(layer.weight)
        if layer.kind == "linear" and layer.node.attrs["rhs_contract"] == (0,):
            w = self._op("transpose", w, perm=(1, 0))
        axes = tuple(range(0 if not per_channel else 1, w.type.rank))
        step = self._op("div", self._op("reduce", self._op("abs", w), op="max", axes=axes, order="free"), 127.0)
        step = self._op("maximum", step, SMALLEST)
        bias = self._copied(layer.bias) if layer.bias is not None else None
        if bias is not None and bias.type.rank != 1:
            bias = self._op("reshape", bias, shape=(product(bias.shape),))
        if bias is not None:     # its integers have 32 bits
            least = self._op("div", self._op("div", self._op("abs", bias), scale.scale), float(MOST_BIAS))
            step = self._op("maximum", step, least if per_channel else
                            self._op("reduce", least, op="max", axes=(0,), order="free"))
        at = (0,) if per_channel else ()
        q = self._rounded(self._op("div", w, self._repeated(step, w.shape, at)), -127, 127, "i8")
        names = self._keep(f"{layer.name}.weight", q), self._keep(f"{layer.name}.scale", step), ""
        if bias is not None:
            wide = self._op("mul", self._op("cast", step, dtype="f64"), scale.scale)
            wide = wide if per_channel else self._repeated(wide, bias.shape, ())
            whole = self._rounded(self._op("div", self._op("cast", bias, dtype="f64"), wide), -2.0 ** 31, 2.0 ** 31 - 1,
                                  "i32")
            names = *names[:2], self._keep(f"{layer.name}.bias", whole)
        return names

    def table(self, layer: Layer, scales: Mapping[Value, Scale], scale: Scale) -> str:
        """The result's integers for every integer of its operand, from the lowest on."""
        root, into = scales[layer.inputs[0]], scale
        every = Value(self.builder.make("iota", (), {"axis": 0}, (TensorType("i32", (wrap(256),)),)))
        x = self._op("sub", self._op("cast", every, dtype="f32"), float(root.zero - root.lowest))
        x = self._op("mul", x, root.scale)
        values = Values({layer.inputs[0]: x})
        for node in layer.steps:
            operands = [values[v] if v in values else self._stretched_number(v) for v in node.operands]
            made = self.builder.make(node.op, operands, node.attrs)
            values[Value(node)] = Value(made)
        y = self._op("add", self._op("div", values[layer.result], into.scale), float(into.zero))
        return self._keep(f"{layer.name}.table", self._rounded(y, into.lowest, into.lowest + 255, into.dtype))

    def _stretched_number(self, value: Value) -> Value:
        """A number that every element of a constant is, 256 times."""
        return self._repeated(self._copied(value.through(("broadcast", "reshape"))), (wrap(256),), ())

    def module(self, of: Module) -> Module:
        function = self.builder.function
        function.results = [(name, value, None) for name, value in self.results.items()]
        used = {n.attrs["name"] for n in function.nodes if n.op == "weight"}
        return Module(of.model, {}, list(of.files), {k: w for k, w in of.weights.items() if k in used}, {},
                      {NAME: function})
