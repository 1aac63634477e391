# SPDX-License-Identifier: Apache-2.0
"""Recurrent networks."""
from __future__ import annotations

from ...symbolic import IntLike, wrap
from ..problems import Malformed
from ..values import Value
from .registry import Node, op

_GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}
_FUNCTIONS = {"LSTM": 3, "GRU": 2, "RNN": 1}
# ONNX's name -> the DSL's, ONNX's defaults of alpha and beta (None where it has none).
_ACTIVATIONS: dict[str, tuple[str, float | None, float | None]] = {
    "tanh": ("TANH", None, None), "sigmoid": ("SIGMOID", None, None), "relu": ("RELU", None, None),
    "leakyrelu": ("LEAKY_RELU", 0.01, None), "thresholdedrelu": ("THRESHOLDED_RELU", 1.0, None),
    "affine": ("AFFINE", 1.0, 0.0), "scaledtanh": ("SCALED_TANH", 1.0, 1.0), "hardsigmoid": ("HARD_SIGMOID", 0.2, 0.5),
    "elu": ("ELU", 1.0, None), "softsign": ("SOFTSIGN", None, None), "softplus": ("SOFTPLUS", None, None)}


def _activations(n: Node, kind: str, directions: int) -> str:
    """The option of the DSL's call; empty where they are the cell's own. ONNX lists alpha and beta of those that have
    them."""
    names = [name.lower() for name in n.texts("activations")]
    alphas, betas = n.reals("activation_alpha") or [], n.reals("activation_beta") or []
    count = _FUNCTIONS[kind] * directions
    own = (["tanh"] if kind == "RNN" else ["sigmoid", "tanh", "tanh"][:_FUNCTIONS[kind]]) * directions
    if not names or (names == own and not alphas and not betas):
        return ""
    if len(names) != count:
        raise Malformed(f"{len(names)} activations for {count} functions")
    functions = []
    for name in names:
        if name not in _ACTIVATIONS:
            n.refuse(f"the activation {name!r}")
        constant, alpha, beta = _ACTIVATIONS[name]
        numbers = [constant]
        if alpha is not None:
            numbers.append(str(alphas.pop(0) if alphas else alpha))
        if beta is not None:
            numbers.append(str(betas.pop(0) if betas else beta))
        functions.append("{TC_CELL_" + ", ".join(numbers) + "}")
    return f", .activations = {{{', '.join(functions)}}}"


@op("LSTM", "GRU", "RNN", since=7)
def plain(n: Node) -> None:
    recurrent(n, n.op_type, n.input(1), n.input(2))


@op("DynamicQuantizeLSTM", domain="com.microsoft")
def dynamic(n: Node) -> None:
    """Weights of 8 bits, [directions, depth, gates], with a scale and a zero a direction or a gate. Activations are not
    quantized, so results are nearer to the float model's than ONNX Runtime's."""
    recurrent(n, "LSTM", *(_real_weight(n, i, 8 + 2 * k) for k, i in enumerate((1, 2))))


def _real_weight(n: Node, i: int, scale: int) -> Value:
    w, factor, zero = n.input(i), n.input(scale), n.input(scale + 1)
    if w.rank != 3 or w.dtype not in ("i8", "u8"):
        n.refuse(f"weights of {w.dtype} with {w.rank} axes")
    if factor.rank not in (1, 2) or zero.shape != factor.shape:
        raise Malformed("a scale and a zero a direction or a gate")
    sizes = (factor.shape[0], wrap(1), factor.shape[1] if factor.rank == 2 else wrap(1))
    sides = [n.let(f"tc_cast({v}, TC_F32)", "f32", v.shape) for v in (w, zero)]
    sides[1], factor = (n.let(f"tc_reshape({v}, {n.dim_list(sizes)})", "f32", sizes) for v in (sides[1], factor))
    real = n.let(f"tc_mul(tc_sub({sides[0]}, {sides[1]}), {factor})", "f32", w.shape)
    turned = (w.shape[0], w.shape[2], w.shape[1])
    return n.let(f"tc_permute({real}, 0, 2, 1)", "f32", turned)


def recurrent(n: Node, kind: str, w: Value, r: Value) -> None:
    x = n.input(0)
    direction = n.text("direction", "forward")
    if direction not in ("forward", "reverse", "bidirectional"):
        raise Malformed(f"direction={direction!r}")
    if any(v.rank != 3 for v in (x, w, r)):
        raise Malformed("x, w and r of a recurrent network have three axes")
    directions = 2 if direction == "bidirectional" else 1
    layout = n.integer("layout", 0)
    n.integer("hidden_size", 0)
    n.integer("output_sequence", 0)
    named = [("lengths", 4), ("h0", 5)] + ([("c0", 6), ("peepholes", 7)] if kind == "LSTM" else [])
    bias = n.optional(3)
    text = f"{x}, {w}, {r}" + (f", {bias}" if bias is not None else "")
    for name, i in named:
        value = n.optional(i)
        if value is not None:
            text += f", .{name} = {value}"
    if direction != "forward":
        text += f", .direction = TC_{direction.upper()}"
    text += _activations(n, kind, directions)
    clip = n.real("clip", 0.0)
    if clip:
        text += f", .clip = {clip}"
    if layout:
        text += ", .batch_first = true"
    if kind == "LSTM" and n.integer("input_forget", 0):
        text += ", .input_forget = true"
    if kind == "GRU" and n.integer("linear_before_reset", 0):
        text += ", .linear_before_reset = true"
    batch, steps = (x.shape[0], x.shape[1]) if layout else (x.shape[1], x.shape[0])
    hidden = r.shape[2]
    state: list[IntLike] = [batch, directions, hidden] if layout else [directions, batch, hidden]
    all_steps: list[IntLike] = [batch, steps, directions, hidden] if layout else [steps, directions, batch, hidden]
    states = ["h_n", "c_n"][:2 if kind == "LSTM" else 1]
    wanted = [i for i in range(1, 1 + len(states)) if n.wants(i)]
    text += "".join(f", .{states[i - 1]} = &{{out{i}}}" for i in wanted)
    n.call(f"tc_onnx_{kind.lower()}({text})", x.dtype, all_steps, {i: (x.dtype, state) for i in wanted})
