# SPDX-License-Identifier: Apache-2.0
"""Recurrent layers and cells."""
from __future__ import annotations

from ..problems import Malformed
from ..values import Value
from .registry import Node, op


def _weights(n: Node, params: list[Value], layers: int, directions: int, biases: bool) -> str:
    each = len(params) // (layers * directions) if layers * directions else 0
    if each * layers * directions != len(params) or each not in ((4, 5) if biases else (2, 3)):
        raise Malformed(f"{len(params)} weights of {layers} layers")
    rows = []
    for i in range(layers * directions):
        part = [f"{p}" for p in params[i * each:(i + 1) * each]]
        ih, hh, rest = part[0], part[1], part[2:]
        bias = [rest.pop(0), rest.pop(0)] if biases else ["NULL", "NULL"]
        rows.append(f"{{{', '.join([ih, hh, *bias, *rest])}}}")
    return f".weights = (const tc_recurrent_weights[]){{{', '.join(rows)}}}"


@op("aten.lstm.input", "aten.gru.input", "aten.rnn_tanh.input", "aten.rnn_relu.input")
def recurrent(n: Node) -> None:
    lstm = n.target == "aten.lstm.input"
    if n.flag("train") and n.real("dropout", 0.0):
        n.refuse("dropout while training", "export the module after .eval()")
    n.ignore("dropout")
    x = n.tensor("input")
    states = n.tensors("hx") if lstm else [n.tensor("hx")]
    if len(states) != (2 if lstm else 1):
        raise Malformed(f"{len(states)} states at the start of a recurrent layer")
    layers, both = n.integer("num_layers"), n.flag("bidirectional")
    params = n.tensors("params")
    biases = n.flag("has_biases", True)
    words = _weights(n, params, layers, 2 if both else 1, biases)
    each = len(params) // (layers * (2 if both else 1))
    words += f", .layers = {layers}" if layers != 1 else ""
    words += ", .bidirectional = true" if both else ""
    words += "" if biases else ", .no_bias = true"
    words += ", .projected = true" if each in (3, 5) else ""
    words += ", .batch_first = true" if n.flag("batch_first") else ""
    words += ", .relu = true" if "relu" in n.target else ""
    words += f", .h0 = {states[0]}" + (f", .c0 = {states[1]}" if lstm else "")
    name = "lstm" if lstm else "gru" if "gru" in n.target else "rnn"
    n.fill(f"tc_{name}({x}, NULL, {words}, .h_n = &@1{', .c_n = &@2' if lstm else ''})")


@op("aten.lstm_cell.default", "aten.gru_cell.default", "aten.rnn_tanh_cell.default", "aten.rnn_relu_cell.default")
def cell(n: Node) -> None:
    x, ih, hh = n.tensor("input"), n.tensor("w_ih"), n.tensor("w_hh")
    first, second = n.optional("b_ih"), n.optional("b_hh")
    biases = "".join(f", {b}" for b in (first, second) if b is not None)
    weights = f"{{{ih}, {hh}{biases}}}"
    if n.target == "aten.lstm_cell.default":
        h, c = n.tensors("hx")
        n.fill(f"tc_lstm_cell({x}, {h}, {weights}, .c = {c}, .c_next = &@1)")
    else:
        name = "gru" if "gru" in n.target else "rnn"
        relu = ", .relu = true" if "relu" in n.target else ""
        n.result(f"tc_{name}_cell({x}, {n.tensor('hx')}, {weights}{relu})")
