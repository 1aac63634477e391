# SPDX-License-Identifier: Apache-2.0
"""com.microsoft: what ONNX Runtime's quantizer writes. Operations on quantized operands are those on what they stand
for."""
from __future__ import annotations

from typing import Callable

from ...symbolic import product, wrap
from ..dims import Shape
from ..problems import Malformed
from ..values import Value, per_axis
from .ops_conv import Window
from .ops_matmul import matmul_shape
from .ops_quantized import given, quantized
from .registry import Node, op

DOMAIN = "com.microsoft"


def _real(n: Node, first: int) -> tuple[str, Value]:
    """What the quantized operand at inputs `first`, scale, zero stands for; and its integers."""
    x, scale, zero = n.input(first), n.input(first + 1), n.optional(first + 2)
    return f"tc_dequantize({x}{given(scale, zero)})", x


def _give(n: Node, text: str, shape: Shape, scale: Value, zero: Value | None, dtype: str) -> None:
    real = n.let(text, scale.dtype, shape, "real")
    quantized(n, real, scale, zero, zero.dtype if zero is not None else dtype)


def _unary(name: str, c: Callable[[Node], str]) -> None:
    def function(n: Node) -> None:
        x, integers = _real(n, 0)
        _give(n, c(n).format(x=x), integers.shape, n.input(3), n.optional(4), integers.dtype)
    op(name, domain=DOMAIN)(function)


_unary("QLinearSigmoid", lambda n: "tc_sigmoid({x})")
_unary("QLinearLeakyRelu", lambda n: f"tc_leaky_relu({{x}}, {n.real('alpha', 0.01)})")


@op("QLinearAdd", "QLinearMul", domain=DOMAIN)
def two(n: Node) -> None:
    (left, a), (right, b) = _real(n, 0), _real(n, 3)
    name = "tc_add" if n.op_type == "QLinearAdd" else "tc_mul"
    _give(n, f"{name}({left}, {right})", n.broadcast(a, b), n.input(6), n.optional(7), a.dtype)


@op("QLinearSoftmax", domain=DOMAIN)
def softmax(n: Node) -> None:
    x, integers = _real(n, 0)
    axis = n.axis(n.integer("axis", -1), integers.rank)
    if n.integer("opset") < 13 and axis != integers.rank - 1:
        n.refuse("a softmax over several axes, as before opset 13")
    _give(n, f"tc_softmax({x}, {axis})", integers.shape, n.input(3), n.optional(4), integers.dtype)


@op("QLinearConcat", domain=DOMAIN)
def concat(n: Node) -> None:
    scale, zero = n.input(0), n.input(1)
    parts = [_real(n, i) for i in range(2, len(n.inputs), 3)]
    if not parts:
        raise Malformed("nothing to concatenate")
    first = parts[0][1]
    axis = n.axis(n.integer("axis"), first.rank)
    size = sum((p.shape[axis] for _, p in parts[1:]), first.shape[axis])
    shape = (*first.shape[:axis], size, *first.shape[axis + 1:])
    _give(n, f"tc_concat({axis}, {', '.join(text for text, _ in parts)})", shape, scale, zero, first.dtype)


def _global_average(n: Node, x: Value) -> None:
    """Of the sum of the integers, as ONNX Runtime has it."""
    scale, zero, y_scale, y_zero = n.input(1), n.optional(2), n.input(3), n.optional(4)
    axes = ", ".join(str(i) for i in range(2, x.rank))
    shape = (*x.shape[:2], *(wrap(1) for _ in x.shape[2:]))
    wide = f"tc_cast({x}, TC_I32)"
    wide = f"tc_sub({wide}, tc_cast({zero}, TC_I32))" if zero is not None else wide
    sums = n.let(f"tc_sum_keepdims({wide}, {axes})", "i32", shape, "sums")
    count = n.dim(product(x.shape[2:]))
    text = f"tc_requantize({sums}, .scale = tc_div({scale}, tc_mul({y_scale}, tc_dim_value(g, TC_F32, {count})))"
    dtype = y_zero.dtype if y_zero is not None else x.dtype
    text += f", .zero = {y_zero}" if y_zero is not None else f", .dtype = TC_{dtype.upper()}"
    n.result(text + ")", dtype, shape)


@op("QLinearAveragePool", "QLinearGlobalAveragePool", domain=DOMAIN)
def average_pool(n: Node) -> None:
    x, integers = _real(n, 0)
    if n.integer("channels_last", 0):
        n.refuse("channels_last")
    if n.op_type == "QLinearGlobalAveragePool":
        _global_average(n, integers)
        return
    window = Window(n, integers, None)
    if n.integer("ceil_mode", 0):
        n.refuse("ceil_mode")
    if not window.fixed(integers):
        n.refuse("auto_pad of a dynamic size")
    kernel = per_axis(window.kernel)
    options = window.options(dilation=False)
    if any(window.low) or any(window.high):
        options += "" if n.integer("count_include_pad", 0) else ", .exclude_padding = true"
    else:
        n.integer("count_include_pad", 0)
    shape = (*integers.shape[:2], *window.out(integers))
    _give(n, f"tc_avg_pool{window.rank}d({x}, .kernel = {kernel}{options})", shape, n.input(3), n.optional(4),
          integers.dtype)


@op("MatMulIntegerToFloat", domain=DOMAIN)
def to_float(n: Node) -> None:
    a, b, a_scale, b_scale = (n.input(i) for i in range(4))
    zeros = "".join(f", .{name} = {z}" for name, z in (("a_zero", n.optional(4)), ("b_zero", n.optional(5)))
                    if z is not None)
    bias = n.optional(6)
    shape = matmul_shape(a.shape, b.shape)
    sums = n.let(f"tc_matmul_integer({a}, {b}{zeros})", "i32", shape, "sums")
    text = f"tc_mul(tc_cast({sums}, TC_{a_scale.dtype.upper()}), tc_mul({a_scale}, {b_scale}))"
    n.result(f"tc_add({text}, {bias})" if bias is not None else text, a_scale.dtype, shape)


@op("DynamicQuantizeMatMul", domain=DOMAIN)
def dynamic(n: Node) -> None:
    a, b, b_scale, b_zero, bias = n.input(0), n.input(1), n.input(2), n.optional(3), n.optional(4)
    scale, zero = n.value("f32", (), "a_scale"), n.value("u8", (), "a_zero")
    whole = n.declare(f"tc_dynamic_quantize({a}, &{scale}, &{zero})", "u8", a.shape, [scale, zero])
    shape = matmul_shape(a.shape, b.shape)
    zeros = f", .a_zero = {zero}" + (f", .b_zero = {b_zero}" if b_zero is not None else "")
    sums = n.let(f"tc_matmul_integer({whole}, {b}{zeros})", "i32", shape, "sums")
    text = f"tc_mul(tc_cast({sums}, TC_F32), tc_mul({scale}, {b_scale}))"
    n.result(f"tc_add({text}, {bias})" if bias is not None else text, "f32", shape)


@op("QGemm", domain=DOMAIN)
def qgemm(n: Node) -> None:
    """alpha a b + c with c's scale alpha times that of the product; as integers again where a scale is given."""
    a, a_scale, a_zero, b, b_scale, b_zero, c = (n.optional(i) for i in range(7))
    y_scale, y_zero = n.optional(7), n.optional(8)
    if a is None or b is None or a_scale is None or b_scale is None:
        raise Malformed("an operand is missing")
    alpha = n.real("alpha", 1.0)
    sides, shapes = [], []
    for x, turned in ((a, n.integer("transA", 0)), (b, n.integer("transB", 0))):
        sides.append(f"tc_transpose({x}, 0, 1)" if turned else f"{x}")
        shapes.append((x.shape[1], x.shape[0]) if turned else x.shape)
    zeros = "".join(f", .{name} = {z}" for name, z in (("a_zero", a_zero), ("b_zero", b_zero)) if z is not None)
    shape = matmul_shape(shapes[0], shapes[1])
    text = f"tc_matmul_integer({sides[0]}, {sides[1]}{zeros})"
    sums = n.let(f"tc_add({text}, {c})" if c is not None else text, "i32", shape, "sums")
    scale = f"tc_mul({a_scale}, {b_scale})" if alpha == 1 else f"tc_mul(tc_mul({a_scale}, {b_scale}), {alpha})"
    if y_scale is None:
        n.result(f"tc_mul(tc_cast({sums}, TC_F32), {scale})", "f32", shape)
        return
    if y_zero is None:
        raise Malformed("a scale of the result without its zero point")
    along = ", .axis = 1" if b_scale.rank == 1 and b_scale.shape[0] != 1 else ""
    n.result(f"tc_requantize({sums}, .scale = tc_div({scale}, {y_scale}), .zero = {y_zero}{along})", y_zero.dtype,
             shape)
