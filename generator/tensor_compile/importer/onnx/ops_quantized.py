# SPDX-License-Identifier: Apache-2.0
"""Quantized tensors: to integers and back, and products of them."""
from __future__ import annotations

import re
from typing import Sequence

from ...symbolic import IntLike
from ..problems import Malformed
from ..values import Value
from .data import dtype_of, type_of
from .ops_conv import Window, _sizes_of
from .ops_matmul import matmul_shape
from .ops_small import INTEGERS, constant, is_float
from .registry import Node, op


def given(*values: Value | None) -> str:
    """Operands behind the first; those at the end that are left out are not written."""
    kept = list(values)
    while kept and kept[-1] is None:
        kept.pop()
    return "".join(f", {'NULL' if v is None else f'{v}'}" for v in kept)


def _along(n: Node, x: Value, scale: Value) -> str:
    """The options .axis and .block, where the scale is not one number."""
    axis, block = n.integer("axis", 1), n.integer("block_size", 0)
    if scale.rank == 0 or (not block and all(s == 1 for s in scale.shape)):
        return ""
    axis = n.axis(axis, x.rank)
    return f", .axis = {axis}" + (f", .block = {block}" if block else "")


def quantized(n: Node, x: Value, scale: Value, zero: Value | None, dtype: str, options: str = "", i: int = 0) -> Value:
    """Output i: x as integers. zero's dtype is the result's, which is named where zero is left out."""
    if zero is None and dtype != "u8":
        options = f", .dtype = TC_{dtype.upper()}{options}"
    return n.result(f"tc_quantize({x}{given(scale, zero)}{options})", dtype, x.shape, i)


@op("QuantizeLinear", since=10)
@op("QuantizeLinear", domain="com.microsoft")
def quantize(n: Node) -> None:
    x, scale, zero = n.input(0), n.input(1), n.optional(2)
    asked = n.integer("output_dtype", 0)
    dtype, kind = (zero.dtype, zero.kind) if zero is not None else type_of(asked) if asked else ("u8", "")
    if zero is not None and asked and type_of(asked) != (dtype, kind):
        raise Malformed("output_dtype is not the element type of the zero point")
    saturate = n.integer("saturate", 1)
    options = _along(n, x, scale)
    precision = n.integer("precision", 0)
    if precision and dtype_of(precision) != scale.dtype:
        options += f", .precision = TC_{dtype_of(precision).upper()}"
    if dtype not in ("i8", "u8", "i16", "u16"):
        n.refuse(f"quantizing to {dtype}")
    if is_float(kind):
        _no_zero(n, zero)
        overflow = "" if saturate else ", .overflow = true"
        value = n.result(f"tc_quantize({x}, {scale}, .format = {constant(kind)}{overflow}{options})", "u8", x.shape)
    elif kind:
        value = quantized(n, x, scale, zero, dtype, f", .bits = {INTEGERS[kind][1]}{options}")
    else:
        value = quantized(n, x, scale, zero, dtype, options)
    value.kind = kind


def _no_zero(n: Node, zero: Value | None) -> None:
    """The zero of small floats is 0."""
    if zero is not None and any(n.elements(zero, "the zero point")):
        n.refuse("a zero point of small floats that is not 0")


@op("DequantizeLinear", since=10)
@op("DequantizeLinear", domain="com.microsoft")
def dequantize(n: Node) -> None:
    x, scale, zero = n.input(0), n.input(1), n.optional(2)
    if x.dtype not in ("i8", "u8", "i16", "u16", "i32"):
        n.refuse(f"dequantizing {x.dtype}")
    asked = n.integer("output_dtype", 0)
    dtype = dtype_of(asked) if asked else scale.dtype
    options = _along(n, x, scale)
    if is_float(x.kind):
        _no_zero(n, zero)
        zero = None
        options = f", .format = {constant(x.kind)}{options}"
    options += (f", .dtype = TC_{dtype.upper()}" if dtype != scale.dtype else "")
    n.result(f"tc_dequantize({x}{given(scale, zero)}{options})", dtype, x.shape)


@op("DynamicQuantizeLinear", since=11)
def dynamic_quantize(n: Node) -> None:
    x = n.input(0)
    n.call(f"tc_dynamic_quantize({x}, &{{out1}}, &{{out2}})", "u8", x.shape, {1: ("f32", ()), 2: ("u8", ())})


def _zeros(**zeros: Value | None) -> str:
    return "".join(f", .{name} = {zero}" for name, zero in zeros.items() if zero is not None)


@op("MatMulInteger", since=10)
def matmul_integer(n: Node) -> None:
    a, b = n.input(0), n.input(1)
    zeros = _zeros(a_zero=n.optional(2), b_zero=n.optional(3))
    n.result(f"tc_matmul_integer({a}, {b}{zeros})", "i32", matmul_shape(a.shape, b.shape))


def _triple(n: Node, first: int) -> tuple[str, Value]:
    """A quantized operand in braces, and its integers."""
    x, scale, zero = n.input(first), n.input(first + 1), n.optional(first + 2)
    return f"{{{x}{given(scale, zero)}}}", x


@op("QLinearMatMul", since=10)
def qlinear_matmul(n: Node) -> None:
    (left, a), (right, b) = _triple(n, 0), _triple(n, 3)
    scale, zero = n.input(6), n.optional(7)
    text = f"tc_qlinear_matmul(.a = {left}, .b = {right}, .scale = {scale}{_zeros(zero=zero)})"
    n.result(text, zero.dtype if zero is not None else a.dtype, matmul_shape(a.shape, b.shape))


def _window(n: Node, x: Value, w: Value) -> tuple[str, Sequence[IntLike]]:
    """The options of an integer convolution, arrays of any rank, and the shape of its result."""
    groups, window = n.integer("group", 1), Window(n, x, _sizes_of(w))
    window.fixed(x)
    text = re.sub(r"= (\d+)", r"= {\1}", window.options())
    return text + (f", .groups = {groups}" if groups != 1 else ""), [x.shape[0], w.shape[0], *window.out(x)]


@op("ConvInteger", since=10)
def conv_integer(n: Node) -> None:
    x, w = n.input(0), n.input(1)
    options, shape = _window(n, x, w)
    zeros = _zeros(x_zero=n.optional(2), w_zero=n.optional(3))
    n.result(f"tc_conv_integer({x}, {w}{zeros}{options})", "i32", shape)


@op("QLinearConv", since=10)
@op("QLinearConv", domain="com.microsoft")
def qlinear_conv(n: Node) -> None:
    if n.integer("channels_last", 0):
        n.refuse("channels_last")
    (left, x), (right, w) = _triple(n, 0), _triple(n, 3)
    scale, zero, bias = n.input(6), n.optional(7), n.optional(8)
    options, shape = _window(n, x, w)
    text = f"tc_qlinear_conv(.x = {left}, .w = {right}{_zeros(bias=bias)}, .scale = {scale}{_zeros(zero=zero)}" \
           f"{options})"
    n.result(text, zero.dtype if zero is not None else x.dtype, shape)
