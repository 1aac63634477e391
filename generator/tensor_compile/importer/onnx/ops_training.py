# SPDX-License-Identifier: Apache-2.0
"""Steps of optimizers (ai.onnx.preview.training): of several tensors at once, each with what is remembered of it."""
from __future__ import annotations

from ..problems import Malformed
from ..values import Value
from .registry import Node, op

DOMAIN = "ai.onnx.preview.training"


def _parts(n: Node, kinds: int) -> list[list[Value]]:
    """Behind the rate and the step: the tensors, their gradients, and so on, as many of each kind."""
    values = [n.input(i) for i in range(2, len(n.inputs))]
    if not values or len(values) % kinds:
        raise Malformed(f"{len(values)} tensors of {kinds} kinds")
    count = len(values) // kinds
    return [values[i * count:(i + 1) * count] for i in range(kinds)]


def _options(**numbers: float) -> str:
    """Those that are not 0, which is what the DSL takes where they are left out."""
    return "".join(f", .{name} = {value}" for name, value in numbers.items() if value)


def _step(n: Node, text: str, x: Value, i: int, count: int, pointers: tuple[str, ...]) -> None:
    """Output i and, `count` outputs later each, what is remembered."""
    rate, step = n.input(0), n.input(1)
    numbers = [i + (k + 1) * count for k in range(len(pointers))]
    more = {number: (x.dtype, x.shape) for number in numbers if n.wants(number)}
    text = text.replace("RATE", f"{rate}").replace("STEP", f"{step}")
    for name, number in zip(pointers, numbers):
        if number in more:
            text += f", .{name} = &{{out{number}}}"
    n.call(text + ")", x.dtype, x.shape, more, i)


@op("Adagrad", domain=DOMAIN)
def adagrad(n: Node) -> None:
    xs, gradients, squares = _parts(n, 3)
    options = _options(decay=n.real("decay_factor", 0.0), eps=n.real("epsilon", 1e-6),
                       norm=n.real("norm_coefficient", 0.0))
    for i, (x, d, h) in enumerate(zip(xs, gradients, squares)):
        _step(n, f"tc_adagrad({x}, {d}, RATE, STEP, .squares = {h}{options}", x, i, len(xs), ("squares_next",))


@op("Adam", domain=DOMAIN)
def adam(n: Node) -> None:
    xs, gradients, momenta, squares = _parts(n, 4)
    options = _options(alpha=n.real("alpha", 0.9), beta=n.real("beta", 0.999), eps=n.real("epsilon", 1e-6),
                       norm=n.real("norm_coefficient", 0.0), norm_post=n.real("norm_coefficient_post", 0.0))
    for i, (x, d, v, h) in enumerate(zip(xs, gradients, momenta, squares)):
        _step(n, f"tc_adam({x}, {d}, RATE, STEP, .squares = {h}, .momentum = {v}{options}", x, i, len(xs),
              ("momentum_next", "squares_next"))


@op("Momentum", domain=DOMAIN)
def momentum(n: Node) -> None:
    xs, gradients, momenta = _parts(n, 3)
    mode = n.text("mode")
    if mode not in ("standard", "nesterov"):
        raise Malformed(f"mode={mode!r}")
    options = _options(alpha=n.real("alpha"), beta=n.real("beta"), norm=n.real("norm_coefficient"))
    options += ", .nesterov = true" if mode == "nesterov" else ""
    for i, (x, d, v) in enumerate(zip(xs, gradients, momenta)):
        _step(n, f"tc_momentum({x}, {d}, RATE, STEP, .momentum = {v}{options}", x, i, len(xs), ("momentum_next",))
