# SPDX-License-Identifier: Apache-2.0
"""Convolutions and pooling: channels first."""
from __future__ import annotations

from typing import Sequence

from ...symbolic import Expr, wrap
from ..problems import Malformed
from ..values import FLOATS, Value, braces, number
from .registry import Node, op


class Window:
    """Sides of the padding and sizes of the result, of height and width, or of the axes whose letters are given."""

    def __init__(self, n: Node, x: Value, kernel: Sequence[int], dilation: Sequence[int] = (1, 1), axes: str = "hw"):
        if x.rank != 2 + len(axes):
            raise Malformed(f"windows of a tensor of rank {x.rank}")
        self.kernel, self.dilation = list(kernel), list(dilation)
        self.stride = [n.option(f"stride_{a}") for a in axes]
        if any(k < 1 for k in (*self.kernel, *self.stride, *self.dilation)):
            raise Malformed("a window, stride or dilation below 1")
        self.low, self.high = [0] * len(axes), [0] * len(axes)
        self.out: list[Expr] = []
        same = n.padding == "same"
        for i, size in enumerate(n.constant_sizes(x.shape[2:])):
            reach = (self.kernel[i] - 1) * self.dilation[i] + 1
            if same:
                count = -(-size // self.stride[i])
                total = max((count - 1) * self.stride[i] + reach - size, 0)
                self.low[i], self.high[i] = total // 2, total - total // 2
            elif size < reach:
                raise Malformed(f"a window of {reach} elements of {size}")
            else:
                count = (size - reach) // self.stride[i] + 1
            self.out.append(wrap(count))

    def options(self, stride: Sequence[int] = ()) -> str:
        """Behind the operands. stride: what it is where it is left out; 1 where not given."""
        text = f", .stride = {braces(self.stride)}" if self.stride != list(stride or [1] * len(self.stride)) else ""
        if self.low == self.high and any(self.low):
            text += f", .padding = {braces(self.low)}"
        elif self.low != self.high:
            text += f", .low = {braces(self.low)}, .high = {braces(self.high)}"
        if any(d != 1 for d in self.dilation):
            text += f", .dilation = {braces(self.dilation)}"
        return text


def weight_scale(n: Node, i: int, channels: Expr, axis: int) -> Value:
    """The scales of weights: one number, or one an output channel."""
    t = n.tensor(i)
    q = t.quantization
    if any(q.zeros):
        n.refuse("weights with a zero point")
    if not q.scales or len(q.scales) not in (1, channels.value if channels.is_const else -1):
        raise Malformed(f"{len(q.scales)} scales of {channels} channels")
    if len(q.scales) > 1 and q.axis != axis:
        n.refuse(f"scales along axis {q.axis} of the weights")
    if len(q.scales) == 1:
        return n.importer.program.value("f32", (), splat=q.scales[0])
    value = n.importer.program.value("f32", (channels,), elements=q.scales)
    value.weight = n.input(i).weight.rpartition(".")[0] + ".scale"
    return value


def real_weight(n: Node, i: int, w: Value, axis: int) -> Value:
    """Weights of a float operation: those that are stored as integers stand for floats."""
    if w.dtype in FLOATS:
        return w
    scale = weight_scale(n, i, w.shape[axis], axis)
    along = f", .axis = {axis}" if scale.rank else ""
    return n.let(f"tc_dequantize({w}, {scale}{along})", "f32", w.shape, "weight")


def _convolution(n: Node, w: Value, channels: int, groups: int, out: Expr, axis: int, order: Sequence[int]) -> None:
    """axis: of the stored weights, whose slices are output channels; order: of axes that makes them [o, c, h, w];
    channels: of the weights."""
    x, bias = n.first(0), n.optional(2)
    height, width = n.constant_sizes(w.shape[1:3])
    window = Window(n, x, (height, width), (n.option("dilation_h"), n.option("dilation_w")))
    depth = x.shape[1]
    if not depth.is_const or depth.value != channels * groups:
        raise Malformed(f"weights of {channels * groups} channels for {depth}")
    shape = (x.shape[0], out, *window.out)
    options = window.options() + (f", .groups = {groups}" if groups != 1 else "")
    if n.is_integer:
        if x.dtype not in ("i8", "i16") or w.dtype != "i8":
            n.refuse(f"a convolution of {x.dtype} by {w.dtype}")
        moved = _ordered(n, w, order)
        scale = weight_scale(n, 1, out, axis)
        text = f"tc_quantized_conv(.x = {n.affine(x, n.quantized(0))}, .w = {moved}, .w_scale = {scale}" \
               + (f", .bias = {bias}" if bias is not None else "") + n.behind() + options + ")"
        text = n.activated(text, x.dtype, shape)
    else:
        moved = _ordered(n, real_weight(n, 1, w, axis), order)
        operands = f"{x}, {moved}" + (f", {bias}" if bias is not None else "")
        text = n.activated(f"tc_conv2d({operands}{options})", x.dtype, shape)
    n.give_first(text, x.dtype, shape)


def _ordered(n: Node, w: Value, order: Sequence[int]) -> str:
    shape = [w.shape[a] for a in order]
    wide = [a for a in order if w.shape[a] != wrap(1)]
    if wide == sorted(wide):
        return f"tc_reshape({w}, {n.dim_list(shape)})"
    return f"tc_permute({w}, {', '.join(map(str, order))})"


@op("CONV_2D", versions=8)
def conv(n: Node) -> None:
    n.ignore("bias_type")
    w = n.input(1)
    if w.rank != 4:
        raise Malformed(f"weights of rank {w.rank}")
    outputs, depth = n.constant_sizes((w.shape[0], w.shape[3]))
    channels = n.constant_sizes(n.first(0).shape[1:2])[0]
    if not depth or channels % depth or outputs % (channels // depth or 1):
        raise Malformed(f"weights of {depth} channels for {channels}")
    _convolution(n, w, depth, channels // depth, w.shape[0], 0, (0, 3, 1, 2))


@op("DEPTHWISE_CONV_2D", versions=7)
def depthwise(n: Node) -> None:
    w = n.input(1)
    if w.rank != 4 or w.shape[0] != wrap(1):
        raise Malformed(f"weights of the shape {list(w.shape)}")
    n.ignore("multiplier")   # the weights' shape says it
    channels = n.constant_sizes(n.first(0).shape[1:2])[0]
    outputs = n.constant_sizes(w.shape[3:])[0]
    if not channels or outputs % channels:
        raise Malformed(f"{outputs} outputs of {channels} channels")
    _convolution(n, w, 1, channels, w.shape[3], 3, (3, 0, 1, 2))


@op("CONV_3D", versions=1)
def conv3d(n: Node) -> None:
    """Weights: [d, h, w, c, o]."""
    x, w, bias = n.first(0), n.input(1), n.optional(2)
    if x.dtype not in FLOATS or w.dtype != x.dtype:
        n.refuse(f"a convolution of {x.dtype} by {w.dtype} along three axes")
    if w.rank != 5 or [*w.shape[3:4]] != [*x.shape[1:2]]:
        raise Malformed(f"weights of the shape {list(w.shape)} for {x.shape[1]} channels")
    window = Window(n, x, n.constant_sizes(w.shape[:3]), [n.option(f"dilation_{a}") for a in "dhw"], "dhw")
    shape = (x.shape[0], w.shape[4], *window.out)
    operands = f"{x}, {_ordered(n, w, (4, 3, 0, 1, 2))}" + (f", {bias}" if bias is not None else "")
    n.give_first(n.activated(f"tc_conv3d({operands}{window.options()})", x.dtype, shape), x.dtype, shape)


def _backwards(n: Node, x: Value, kernel: Sequence[int], whole: Sequence[int], axes: str,
               dilation: Sequence[int]) -> str:
    """The options of a transposed convolution with a result of these sizes: its padding is that of the convolution
    which makes x from the result."""
    stride, count = [n.option(f"stride_{a}") for a in axes], len(axes)
    same, low, high, more = n.padding == "same", [0] * count, [0] * count, [0] * count
    for i, size in enumerate(n.constant_sizes(x.shape[2:])):
        if stride[i] < 1 or dilation[i] < 1:
            raise Malformed("a stride or dilation below 1")
        reach = (kernel[i] - 1) * dilation[i] + 1
        if size != (-(-whole[i] // stride[i]) if same else (whole[i] - reach) // stride[i] + 1):
            raise Malformed(f"a result of {whole[i]} positions does not follow from {size}, a window of "
                            f"{kernel[i]} and a stride of {stride[i]}")
        total = max((size - 1) * stride[i] + reach - whole[i], 0) if same else 0
        low[i] = total // 2
        cut = (size - 1) * stride[i] + reach - whole[i] - low[i]
        high[i], more[i] = max(cut, 0), max(-cut, 0)
    options = f", .stride = {braces(stride)}" if any(s != 1 for s in stride) else ""
    if any(low) or any(high):
        options += f", .low = {braces(low)}, .high = {braces(high)}"
    if any(more):
        options += f", .output_padding = {braces(more)}"
    return options + (f", .dilation = {braces(dilation)}" if any(d != 1 for d in dilation) else "")


def _fit(x: Value, taken: Expr, given: Expr, whole: Sequence[Expr], w: Value) -> None:
    """Raises where weights do not take the channels of x, or a result of the shape `whole` has not as many images as x
    and channels as the weights give."""
    if taken != x.shape[1]:
        raise Malformed(f"weights of the shape {list(w.shape)} for {x.shape[1]} channels")
    if (whole[0], whole[-1]) != (x.shape[0], given):
        raise Malformed(f"a result of the shape {list(whole)}, of {x.shape[0]} images and {given} channels")


@op("CONV_3D_TRANSPOSE", versions=1)
def transpose_conv3d(n: Node) -> None:
    """Inputs: the result's shape, weights [d, h, w, o, c], x, bias."""
    w, x, bias = n.input(1), n.first(2), n.optional(3)
    whole = n.sizes(0, "the result's shape")
    if x.dtype not in FLOATS or w.dtype != x.dtype:
        n.refuse(f"a transposed convolution of {x.dtype} by {w.dtype} along three axes")
    if w.rank != 5 or x.rank != 5 or len(whole) != 5:
        raise Malformed("weights, operand and the result's shape have rank 5")
    _fit(x, w.shape[4], w.shape[3], whole, w)
    sizes, dilation = n.constant_sizes(whole[1:4]), [n.option(f"dilation_{a}") for a in "dhw"]
    options = _backwards(n, x, n.constant_sizes(w.shape[:3]), sizes, "dhw", dilation)
    shape = (x.shape[0], w.shape[3], *map(wrap, sizes))
    operands = f"{x}, {_ordered(n, w, (4, 3, 0, 1, 2))}" + (f", {bias}" if bias is not None else "")
    n.give_first(n.activated(f"tc_conv_transpose3d({operands}{options})", x.dtype, shape), x.dtype, shape)


@op("TRANSPOSE_CONV", versions=4)
def transpose_conv(n: Node) -> None:
    """Inputs: the result's shape, weights [o, h, w, c], x, bias."""
    n.ignore("bias_type")
    w, x, bias = n.input(1), n.first(2), n.optional(3)
    whole = n.sizes(0, "the result's shape")
    integers, into = x.dtype in ("i8", "i16"), n.importer.dtype(n.output())
    taken = ("i8",) if integers else (*FLOATS, "i8") if x.dtype in FLOATS else ()    # dtypes of weights
    if w.dtype not in taken:
        n.refuse(f"a transposed convolution of {x.dtype} by {w.dtype}")
    if integers and into != x.dtype:
        n.refuse(f"a transposed convolution of {x.dtype} to {into}")
    if x.dtype == "i16" and bias is not None and bias.dtype != "i64":
        n.refuse(f"a bias of {bias.dtype} for 16 bits")
    if w.rank != 4 or x.rank != 4 or len(whole) != 4:
        raise Malformed("weights, operand and the result's shape have rank 4")
    _fit(x, w.shape[3], w.shape[0], whole, w)
    shape = n.constant_sizes(whole[1:3])
    options = _backwards(n, x, n.constant_sizes(w.shape[1:3]), shape, "hw", (1, 1))
    result = (x.shape[0], w.shape[0], *map(wrap, shape))
    moved = _ordered(n, w if integers else real_weight(n, 1, w, 0), (3, 0, 1, 2))
    if integers:
        text = f"tc_quantized_conv_transpose2d(.x = {n.affine(x, n.quantized(2))}, .w = {moved}, " \
               f".w_scale = {weight_scale(n, 1, w.shape[0], 0)}" + (f", .bias = {bias}" if bias is not None else "") \
               + f"{n.behind()}{options})"
    else:
        text = f"tc_conv_transpose2d({x}, {moved}{f', {bias}' if bias is not None else ''}{options})"
    n.give_first(n.activated(text, x.dtype, result), x.dtype, result)


@op("L2_POOL_2D", versions=1)
def l2_pool(n: Node) -> None:
    """The root of the mean of the squares, without padding."""
    x = n.first(0)
    if x.dtype not in FLOATS:
        n.refuse(f"integers of {x.dtype}")
    window = Window(n, x, (n.option("height"), n.option("width")))
    shape = (*x.shape[:2], *window.out)
    options = f", .kernel = {braces(window.kernel)}{window.options(window.kernel)}"
    options += ", .exclude_padding = true" if any((*window.low, *window.high)) else ""
    n.give_first(n.activated(f"tc_sqrt(tc_avg_pool2d(tc_mul({x}, {x}){options}))", x.dtype, shape), x.dtype, shape)


@op("LOCAL_RESPONSE_NORMALIZATION", versions=1)
def response_norm(n: Node) -> None:
    x, radius = n.first(0), n.option("radius")
    alpha, beta, bias = (float(n.real(name)) for name in ("alpha", "beta", "bias"))
    if radius < 0 or x.rank != 4:
        raise Malformed(f"a radius of {radius}, a tensor of rank {x.rank}")
    if x.dtype not in FLOATS or not alpha or not beta or not bias:
        n.refuse(f"{x.dtype}, alpha {alpha}, beta {beta} and bias {bias}")
    size = 2 * radius + 1
    n.give_first(f"tc_local_response_norm({x}, .size = {size}, .alpha = {number(alpha * size, 'f64')}, "
                 f".beta = {number(beta, 'f32')}, .k = {number(bias, 'f32')})", x.dtype, x.shape)


@op("AVERAGE_POOL_2D", "MAX_POOL_2D", versions=3)
def pool(n: Node) -> None:
    x = n.first(0)
    window = Window(n, x, (n.option("height"), n.option("width")))
    shape = (*x.shape[:2], *window.out)
    options = f", .kernel = {braces(window.kernel)}{window.options(window.kernel)}"
    if n.is_integer:
        n.same_scale()
    if n.name == "MAX_POOL_2D":
        text = f"tc_max_pool2d({x}{options})"
    elif n.is_integer:
        text = f"tc_quantized_avg_pool2d({x}{options})"
    else:
        text = f"tc_avg_pool2d({x}{options}{', .exclude_padding = true' if any((*window.low, *window.high)) else ''})"
    n.give_first(n.activated(text, x.dtype, shape), x.dtype, shape)
