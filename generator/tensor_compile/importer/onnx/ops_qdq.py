# SPDX-License-Identifier: Apache-2.0
"""Operations of QDQ models in integers (qdq.py), as TensorFlow Lite defines them."""
from __future__ import annotations

import struct

from ...symbolic import Expr, equal, wrap
from ..values import Value, number
from .ops_conv import Window
from .ops_matmul import matmul_shape
from .ops_quantized import _window
from .qdq import DOMAIN
from .registry import Node, op


def _numbers(n: Node, value: Value, what: str) -> list[int | float]:
    """The elements of a value that no dim decides."""
    found = [x for x in n.elements(value, what) if not isinstance(x, Expr)]
    if len(found) != len(n.elements(value, what)):
        n.refuse(f"{what} that depend on a size")
    return found


def _single(n: Node, value: Value, what: str) -> int | float:
    found = _numbers(n, value, what)
    if len(found) != 1:
        n.refuse(f"{what} of a slice each")
    return found[0]


def _scale(n: Node, i: int) -> str:
    text = number(_single(n, n.input(i), "the scale"), "f32")
    assert text is not None
    return text


def _zero(n: Node, i: int) -> int:
    zero = n.optional(i)
    return int(_single(n, zero, "the zero point")) if zero is not None else 0


def _affine(n: Node, i: int) -> str:
    """Integers, scale and zero from input i on."""
    return f"{{{n.input(i)}, {_scale(n, i + 1)}, {_zero(n, i + 2)}}}"


def _into(n: Node, i: int) -> str:
    zero = _zero(n, i + 1)
    return f", .scale = {_scale(n, i)}" + (f", .zero = {zero}" if zero else "")


def _give(n: Node, text: str, dtype: str, shape: tuple[Expr, ...], i: int) -> None:
    """The result, whose scale is input i; behind a Relu it is not below its zero."""
    zero = n.optional(i + 1)
    if (zero.dtype if zero is not None else "u8") != dtype:
        n.refuse("a result of another element type than its operands")
    least = 0 if dtype == "u8" else -(1 << (15 if dtype == "i16" else 7))
    if n.integer("relu", 0) and _zero(n, i + 1) > least:
        text = f"tc_maximum({n.let(text, dtype, shape)}, {_zero(n, i + 1)})"
    n.result(text, dtype, shape)


def _weights(n: Node, bias: Value | None) -> Value:
    """Scales of weights whose zero is 0; the bias has the scale of the product."""
    scale, zero = n.input(4), n.optional(5)
    if zero is not None and any(n.elements(zero, "the zero point")):
        n.refuse("weights with a zero point")
    if bias is None:
        return scale
    exact = struct.unpack("<f", struct.pack("<f", _single(n, n.input(1), "the scale")))[0]
    own, given = _numbers(n, scale, "the scales"), _numbers(n, n.input(7), "the scales of the bias")
    if len(given) not in (1, len(own)) or bias.dtype != "i32" or any(
            abs(given[min(k, len(given) - 1)] - exact * s) > 1e-5 * exact * s
            for k, s in enumerate(own)) or n.optional(8) is not None and any(n.elements(n.input(8), "the zero point")):
        n.refuse("a bias that has not the scale of the product")
    return scale


def _integers_only(n: Node, x: Value) -> None:
    if x.dtype not in ("i8", "u8", "i16"):
        n.refuse(f"an input of {x.dtype}")


@op("Conv", domain=DOMAIN)
def conv(n: Node) -> None:
    x, w = n.input(0), n.input(3)
    _integers_only(n, x)
    last = len(n.inputs) - 2
    bias = n.input(6) if last == 9 else None
    scale = _weights(n, bias)
    options, shape = _window(n, x, w)
    text = f"tc_quantized_conv(.x = {_affine(n, 0)}, .w = {w}, .w_scale = {scale}" \
           + (f", .bias = {bias}" if bias is not None else "") + _into(n, last) + options + ")"
    _give(n, text, x.dtype, tuple(map(wrap, shape)), last)


@op("MatMul", domain=DOMAIN)
def matmul(n: Node) -> None:
    x, w = n.input(0), n.input(3)
    _integers_only(n, x)
    if w.rank != 2 or not w.is_constant:
        n.refuse("a product of two tensors of integers")
    last = len(n.inputs) - 2
    bias = n.input(6) if last == 9 else None
    scale = _weights(n, bias)
    text = f"tc_quantized_linear(.x = {_affine(n, 0)}, .w = tc_transpose({w}, 0, 1), .w_scale = {scale}" \
           + (f", .bias = {bias}" if bias is not None else "") + _into(n, last) + ")"
    _give(n, text, x.dtype, matmul_shape(x.shape, w.shape), last)


@op("Add", "Sub", "Mul", domain=DOMAIN)
def two(n: Node) -> None:
    a, b = n.input(0), n.input(3)
    _integers_only(n, a)
    text = f"tc_quantized_{n.op_type.lower()}(.a = {_affine(n, 0)}, .b = {_affine(n, 3)}{_into(n, 6)})"
    _give(n, text, n.same_dtype(a, b), n.broadcast(a, b), 6)


def _same(n: Node) -> None:
    if (_scale(n, 1), _zero(n, 2)) != (_scale(n, 3), _zero(n, 4)):
        n.refuse("a result of another scale than its input")


@op("AveragePool", "GlobalAveragePool", domain=DOMAIN)
def average_pool(n: Node) -> None:
    x = n.input(0)
    _integers_only(n, x)
    _same(n)
    if x.rank != 4:
        n.refuse(f"windows of {x.rank - 2} axes")
    if n.op_type == "GlobalAveragePool":
        if not all(s.is_const for s in x.shape[2:]):
            n.refuse("a window of a dynamic size")
        kernel = f"{{{x.shape[2]}, {x.shape[3]}}}"
        _give(n, f"tc_quantized_avg_pool2d({x}, .kernel = {kernel})", x.dtype, (*x.shape[:2], wrap(1), wrap(1)), 3)
        return
    window = Window(n, x, None)
    padded = not window.fixed(x) or any((*window.low, *window.high))
    if n.integer("ceil_mode", 0) or n.integer("count_include_pad", 0) and padded:
        n.refuse("ceil_mode or count_include_pad")
    text = f"tc_quantized_avg_pool2d({x}, .kernel = {{{', '.join(map(str, window.kernel))}}}" \
           f"{window.options(dilation=False)}"
    if all(s == 1 for s in window.stride) and any(k != 1 for k in window.kernel):
        text += ", .stride = {1, 1}"
    _give(n, text + ")", x.dtype, (*x.shape[:2], *window.out(x)), 3)


_FIXED = {"Softmax": ("0.00390625", -128), "Sigmoid": ("0.00390625", -128), "Tanh": ("0.0078125", 0)}


@op("Softmax", "Sigmoid", "Tanh", domain=DOMAIN)
def function(n: Node) -> None:
    x = n.input(0)
    scale, zero = _FIXED[n.op_type]
    zero += 128 if x.dtype == "u8" else 0
    if x.dtype not in ("i8", "u8") or (_scale(n, 3), _zero(n, 4)) != (scale, zero):
        n.refuse(f"a result that has not the scale {scale} and the zero {zero}")
    if n.op_type == "Softmax" and n.axis(n.integer("axis", -1), x.rank) != x.rank - 1 and not all(
            equal(s, 1) for s in x.shape[n.axis(n.integer("axis", -1), x.rank) + 1:]):
        n.refuse("a softmax along another axis than the last one")
    _give(n, f"tc_quantized_{n.op_type.lower()}(.x = {_affine(n, 0)})", x.dtype, x.shape, 3)
