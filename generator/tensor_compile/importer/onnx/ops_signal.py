# SPDX-License-Identifier: Apache-2.0
"""Fourier transforms, windows, mel bands."""
from __future__ import annotations

from ...symbolic import Expr, IntLike, floordiv, wrap
from ..problems import Malformed
from ..values import FLOATS, Value
from .registry import Node, op


def _length(n: Node, value: Value | None, what: str) -> Expr | None:
    """A size, None where it is left out."""
    if value is None:
        return None
    found = n.sizes(value, what)
    if len(found) != 1:
        raise Malformed(f"{what} has {len(found)} elements")
    return found[0]


def _half(length: Expr) -> Expr:
    return floordiv(length, wrap(2)) + 1


@op("DFT", since=17)
def dft(n: Node) -> None:
    x, length = n.input(0), _length(n, n.optional(1), "the length")
    inverse, onesided = n.integer("inverse", 0), n.integer("onesided", 0)
    n.floats_only(x)
    if n.opset < 20:
        axis = n.integer("axis", 1)
    else:
        given = n.optional(2)
        axis = -2 if given is None else n.whole(given, "the axis")[0]
    axis = n.axis(axis, x.rank)
    if axis == x.rank - 1:
        raise Malformed(f"axis {axis} holds the parts of numbers")
    back = bool(inverse and onesided)
    whole = length if length is not None else 2 * (x.shape[axis] - 1) if back else x.shape[axis]
    shape: list[IntLike] = [*x.shape[:-1], 1 if back else 2]
    shape[axis] = _half(whole) if onesided and not inverse else whole
    text = f"tc_dft({x}, .axis = {axis}"
    text += f", TC_SIZES({n.dim(length)})" if length is not None else ""
    text += ", .inverse = true" if inverse else ""
    n.result(text + (", .onesided = true)" if onesided else ")"), x.dtype, shape)


@op("STFT", since=17)
def stft(n: Node) -> None:
    x, step, window = n.input(0), n.whole(n.input(1), "the step")[0], n.optional(2)
    given, onesided = n.optional(3), n.integer("onesided", 1)
    n.floats_only(x)
    if x.rank == 2:   # as PyTorch writes a real signal
        x = n.let(f"tc_unsqueeze({x}, 2)", x.dtype, (*x.shape, wrap(1)))
    if x.rank != 3 or window is not None and (window.rank != 1 or not window.shape[0].is_const):
        n.refuse("a signal that is not [batch, length, 1 or 2], or a window of unknown size")
    length = n.whole(given, "the length of frames")[0] if given is not None else \
        window.shape[0].value if window is not None else 0
    if length < 1 or step < 1:
        raise Malformed(f"frames of {length}, one every {step}")
    if onesided and not x.shape[2] == 1:
        n.refuse("half a spectrum of complex numbers")
    frames = floordiv(x.shape[1] - length, wrap(step)) + 1
    text = f"tc_stft({x}, .step = {step}, .length = {length}{f', .window = {window}' if window is not None else ''}"
    bins = _half(wrap(length)) if onesided else wrap(length)
    n.result(text + (")" if onesided else ", .twosided = true)"), x.dtype, (x.shape[0], frames, bins, 2))


@op("HannWindow", "HammingWindow", "BlackmanWindow", since=17)
def window(n: Node) -> None:
    size = _length(n, n.input(0), "the size")
    assert size is not None
    periodic = "true" if n.integer("periodic", 1) else "false"
    dtype = n.dtype("output_datatype", "f32")
    given = f"(g, TC_{dtype.upper()}, {n.dim(size)}, {periodic}"
    names = {"HannWindow": "tc_hann_window", "BlackmanWindow": "tc_blackman_window",
             "HammingWindow": "tc_cosine_window"}
    more = ", 25.0 / 46, 21.0 / 46, 0)" if n.op_type == "HammingWindow" else ")"
    n.result(names[n.op_type] + given + more, dtype, (size,))


@op("MelWeightMatrix", since=17)
def mel(n: Node) -> None:
    numbers = [n.number(n.input(i)) for i in range(5)]
    if any(v is None for v in numbers):
        n.elements(next(n.input(i) for i, v in enumerate(numbers) if v is None), "the bands")
    bins, length, rate, low, high = numbers
    if not (isinstance(bins, int) and isinstance(length, int)):
        raise Malformed(f"{bins} bands of {length} frequencies")
    dtype = n.dtype("output_datatype", "f32")
    if dtype not in FLOATS:
        n.refuse(f"weights of {dtype}")
    n.result(f"tc_mel_weights(g, TC_{dtype.upper()}, {bins}, {length}, {rate}, {low}, {high})", dtype,
             (length // 2 + 1, bins))
