# SPDX-License-Identifier: Apache-2.0
"""Convolutions and pooling."""
from __future__ import annotations

import math
from typing import Sequence

from ...symbolic import Expr, IntLike, equal, floordiv, product, wrap
from ..program import Statement
from ..values import FLOATS, Value, per_axis
from .registry import Node, op
from ..problems import Malformed


class Window:
    """The attributes that windows share. low, high: the padding, [0…] where `same` decides; same: "" or the C word."""

    def __init__(self, n: Node, x: Value, kernel: Sequence[int] | None):
        self.rank = x.rank - 2
        if self.rank < 1:
            raise Malformed(f"windows of a tensor of rank {x.rank}")
        if self.rank > 3:
            n.refuse(f"windows of {self.rank} axes", "one to three are there")
        asked = n.ints("kernel_shape")
        kernel = asked if asked else kernel
        if kernel is None or len(kernel) != self.rank:
            raise Malformed("kernel_shape does not fit the input")
        self.kernel = list(kernel)
        self.stride = self._ints(n, "strides", 1)
        self.dilation = self._ints(n, "dilations", 1)
        pads = n.ints("pads") or [0] * (2 * self.rank)
        if len(pads) != 2 * self.rank:
            raise Malformed(f"{len(pads)} pads of {self.rank} axes")
        if any(k < 1 for k in (*self.kernel, *self.stride, *self.dilation)):
            raise Malformed("a window, stride or dilation below 1")
        self.low, self.high = pads[:self.rank], pads[self.rank:]
        how = n.text("auto_pad", "NOTSET")
        self.same = {"SAME_UPPER": "TC_SAME", "SAME_LOWER": "TC_SAME_LOWER"}.get(how, "")
        if how == "VALID" or self.same:
            self.low, self.high = [0] * self.rank, [0] * self.rank
        elif how not in ("NOTSET", ""):
            raise Malformed(f"auto_pad={how!r}")

    def _ints(self, n: Node, name: str, default: int) -> list[int]:
        found = n.ints(name) or [default] * self.rank
        if len(found) != self.rank:
            raise Malformed(f"{name} has {len(found)} values of {self.rank} axes")
        return found

    def fixed(self, x: Value) -> bool:
        """Makes `same` padding numbers where the sizes are constants. False where they are not."""
        if not self.same:
            return True
        sizes = x.shape[2:]
        if not all(s.is_const for s in sizes):
            return False
        for i, s in enumerate(sizes):
            out = -(-s.value // self.stride[i])
            total = max((out - 1) * self.stride[i] + (self.kernel[i] - 1) * self.dilation[i] + 1 - s.value, 0)
            small = total // 2
            self.low[i], self.high[i] = (small, total - small) if self.same == "TC_SAME" else (total - small, small)
        self.same = ""
        return True

    def options(self, dilation: bool = True) -> str:
        """What stands behind the operands, "" or ", .stride = …"."""
        text = ""
        if any(s != 1 for s in self.stride):
            text += f", .stride = {per_axis(self.stride)}"
        if self.same:
            text += f", .same = {self.same}"
        elif self.low == self.high and any(self.low):
            text += f", .padding = {per_axis(self.low)}"
        elif self.low != self.high:
            text += f", .low = {per_axis(self.low)}, .high = {per_axis(self.high)}"
        if dilation and any(d != 1 for d in self.dilation):
            text += f", .dilation = {per_axis(self.dilation)}"
        return text

    def out(self, x: Value, ceil: bool = False) -> list[Expr]:
        """The sizes of the result."""
        found = []
        for i, size in enumerate(x.shape[2:]):
            s = wrap(self.stride[i])
            if self.same:
                found.append(floordiv(size + s - 1, s))
                continue
            reach = self.dilation[i] * (self.kernel[i] - 1) + 1
            room = size + self.low[i] + self.high[i] - reach
            if ceil:
                count = floordiv(room + s - 1, s) + 1
                if count.is_const and size.is_const and (count.value - 1) * self.stride[i] >= size.value + self.low[i]:
                    count = count - 1   # the last window would begin in the padding behind
                found.append(count)
            else:
                found.append(floordiv(room, s) + 1)
        return found


def _sizes_of(w: Value) -> list[int]:
    sizes = [s for s in w.shape[2:]]
    if not all(s.is_const for s in sizes):
        raise Malformed("the kernel has dynamic sizes")
    return [s.value for s in sizes]


@op("Conv")
def conv(n: Node) -> None:
    x, w, b = n.input(0), n.input(1), n.optional(2)
    window = Window(n, x, _sizes_of(w))
    groups = n.integer("group", 1)
    dtype = n.same_dtype(x, w, b)
    window.fixed(x)
    text = f"tc_conv{window.rank}d({x}, {w}{f', {b}' if b is not None else ''}{window.options()}"
    text += f", .groups = {groups})" if groups != 1 else ")"
    n.result(text, dtype, (x.shape[0], w.shape[0], *window.out(x)))


@op("ConvTranspose")
def conv_transpose(n: Node) -> None:
    x, w, b = n.input(0), n.input(1), n.optional(2)
    how = n.text("auto_pad", "NOTSET")
    window = Window(n, x, _sizes_of(w))
    groups = n.integer("group", 1)
    more = n.ints("output_padding") or [0] * window.rank
    asked = n.ints("output_shape")
    if len(more) != window.rank or asked is not None and len(asked) not in (window.rank, x.rank):
        raise Malformed("output_padding or output_shape does not fit the input")
    sizes: list[Expr] = []
    for i, size in enumerate(x.shape[2:]):
        reach = window.dilation[i] * (window.kernel[i] - 1) + 1
        full = (size - 1) * window.stride[i] + more[i] + reach
        want = wrap(asked[i - window.rank]) if asked else size * window.stride[i] if window.same else None
        if want is not None:
            cut = full - want
            if not cut.is_const:
                n.refuse("an output_shape of a dynamic size")
            total = max(cut.value, 0)
            if cut.value < 0:
                more[i] -= cut.value
            window.low[i] = total // 2 if how != "SAME_LOWER" else total - total // 2
            window.high[i] = total - window.low[i]
            full = full if cut.value >= 0 else want
            sizes.append(full - total)
        else:
            sizes.append(full - window.low[i] - window.high[i])
    window.same = ""
    text = f"tc_conv_transpose{window.rank}d({x}, {w}{f', {b}' if b is not None else ''}{window.options()}"
    if any(more):
        text += f", .output_padding = {per_axis(more)}"
    text += f", .groups = {groups})" if groups != 1 else ")"
    n.result(text, n.same_dtype(x, w, b), (x.shape[0], w.shape[1] * groups, *sizes))


@op("MaxPool", "AveragePool", "LpPool")
def pool(n: Node) -> None:
    x = n.input(0)
    window = Window(n, x, None)
    ceil = bool(n.integer("ceil_mode", 0))
    counts_padding, column = n.integer("count_include_pad", 0), n.integer("storage_order", 0)
    p = n.integer("p", 2)
    window.fixed(x)
    name = {"MaxPool": "max", "AveragePool": "avg", "LpPool": "lp"}[n.op_type]
    shape: list[IntLike] = [x.shape[0], x.shape[1], *window.out(x, ceil)]
    wide = any(2 * p > k for p, k in zip((*window.low, *window.high), window.kernel * 2))
    if name == "max" and wide:
        _wide_padding(n, x, window, ceil, shape, bool(column))
        return
    odd = wide or any(d != 1 for d in window.dilation) or name == "lp" and (ceil or p % 2 != 0)
    if name != "max" and not window.same and odd:
        _by_convolution(n, x, window, shape, p if name == "lp" else None, bool(counts_padding))
        return
    text = f"tc_{name}_pool{window.rank}d({x}, .kernel = {per_axis(window.kernel)}"
    if not any(s != 1 for s in window.stride):
        text += f", .stride = {per_axis(window.stride)}"   # left out it would be the kernel's size
    text += window.options(name == "max")
    text += ", .ceil_mode = true" if ceil else ""
    if name == "avg" and not counts_padding and (window.same or any((*window.low, *window.high)) or ceil):
        text += ", .exclude_padding = true"
    if name == "lp":
        text += f", .norm = {p}"
    _pooled(n, text, x, shape, bool(column), None)


def _pooled(n: Node, text: str, x: Value, shape: list[IntLike], column: bool, padded: Window | None) -> None:
    """The node's results by a call of a pool that lacks its end. padded: the window, where the call's operand is x with
    its padding as elements."""
    if not n.wants(1):
        n.result(text + ")", x.dtype, shape)
        return
    indices = n.value("i64", shape, n.outputs[1])
    value = n.value(x.dtype, shape, n.outputs[0] or "values")
    n.emit(Statement(f"{text}, .indices = &{indices})", value, declared=(indices,)))
    n.give(value)
    inner = x.shape[2:]
    if column and len(inner) != 2:
        n.refuse("indices in column-major order of no images")
    if column or padded is not None:
        places = _unpadded(n, indices, x, padded) if padded is not None else _places(n, indices, inner)
        order = range(len(inner)) if column else range(len(inner) - 1, -1, -1)   # the axis that changes fastest first
        indices = _counted(n, places, inner, list(order), shape)
    # ONNX counts within the whole tensor, the pool within a plane.
    planes = f"tc_reshape(tc_arange(g, TC_I64, {n.dim(x.shape[0] * x.shape[1])}), " \
             f"{n.dim_list([x.shape[0], x.shape[1], *(1 for _ in inner)])})"
    n.result(f"tc_add({indices}, tc_mul({planes}, {_size(n, product(inner))}))", "i64", shape, 1)


def _size(n: Node, size: Expr) -> str:
    """The size beside a tensor of i64."""
    return n.dim(size) if size.is_const else f"tc_dim_value(g, TC_I64, {n.dim(size)})"


def _places(n: Node, index: Value, sizes: Sequence[Expr]) -> list[Value]:
    """The place along each axis of a row-major index."""
    places = []
    for i in range(len(sizes) - 1, 0, -1):
        places.append(n.let(f"tc_rem({index}, {_size(n, sizes[i])})", "i64", index.shape, "place"))
        index = n.let(f"tc_div({index}, {_size(n, sizes[i])})", "i64", index.shape, "place")
    return [index, *reversed(places)]


def _counted(n: Node, places: list[Value], sizes: Sequence[Expr], order: list[int], shape: list[IntLike]) -> Value:
    """The index of places, whose first axis of `order` changes fastest."""
    text = f"{places[order[-1]]}"
    for axis in reversed(order[:-1]):
        text = f"tc_add(tc_mul({text}, {_size(n, sizes[axis])}), {places[axis]})"
    return n.let(text, "i64", shape, "indices")


def _unpadded(n: Node, indices: Value, x: Value, window: Window) -> list[Value]:
    """The places in x of indices in x with its padding. Where all elements of a window are the smallest number, the
    pool found padding before x: the window's first place in x is as large."""
    sizes = [s + a + b for s, a, b in zip(x.shape[2:], window.low, window.high)]
    places = []
    for i, place in enumerate(_places(n, indices, sizes)):
        if window.low[i]:
            place = n.let(f"tc_sub({place}, {window.low[i]})", "i64", indices.shape, "place")
            first = f"tc_remainder({place}, {window.dilation[i]})" if window.dilation[i] != 1 else "0"
            place = n.let(f"tc_where(tc_lt({place}, 0), {first}, {place})", "i64", indices.shape, "place")
        places.append(place)
    return places


def _wide_padding(n: Node, x: Value, window: Window, ceil: bool, shape: list[IntLike], column: bool) -> None:
    """A maximum whose padding is more than half of the window, which pools do not take: as elements of the tensor."""
    if x.dtype not in (*FLOATS, "i8", "u8"):
        n.refuse(f"padding of more than half of the window, of {x.dtype}")
    if ceil:
        window.high = [a + b for a, b in zip(window.high, _beyond(n, x, window, shape))]
    pads = f".low = {per_axis([0, 0, *window.low])}, .high = {per_axis([0, 0, *window.high])}"
    least = "-INFINITY" if x.dtype in FLOATS else {"i8": "-128", "u8": "0"}[x.dtype]
    dilation = f", .dilation = {per_axis(window.dilation)}" if any(d != 1 for d in window.dilation) else ""
    text = f"tc_max_pool{window.rank}d(tc_pad({x}, {pads}, .value = {least}), .kernel = {per_axis(window.kernel)}, " \
           f".stride = {per_axis(window.stride)}{dilation}"
    _pooled(n, text, x, shape, column, window)


def _beyond(n: Node, x: Value, window: Window, shape: list[IntLike]) -> list[int]:
    """How far the last windows reach behind the padding."""
    beyond = []
    for i, size in enumerate(x.shape[2:]):
        reach = window.dilation[i] * (window.kernel[i] - 1) + 1
        more = (wrap(shape[i + 2]) - 1) * window.stride[i] + reach - size - window.low[i] - window.high[i]
        if not more.is_const:
            n.refuse("ceil_mode of a dynamic size, in windows that are dilated or have much padding")
        beyond.append(max(more.value, 0))
    return beyond


def _by_convolution(n: Node, x: Value, window: Window, shape: list[IntLike], norm: int | None,
                    counts_padding: bool) -> None:
    """An average, or a norm, of windows that pools do not take (dilated, or with much padding): the sums are
    convolutions of planes with ones. What ceil_mode adds behind the padding counts nowhere."""
    beyond = _beyond(n, x, window, shape)
    high = [a + b for a, b in zip(window.high, beyond)]
    dtype = f"TC_{x.dtype.upper()}"
    ones = f"tc_full(g, 1, {dtype}, 1, 1, {n.dim_list(window.kernel)})"
    steps = f".stride = {per_axis(window.stride)}, .dilation = {per_axis(window.dilation)}"
    pads = f", .low = {per_axis(window.low)}, .high = {per_axis(high)}"
    planes = f"tc_reshape({x}, {n.dim_list([x.shape[0] * x.shape[1], 1, *x.shape[2:]])})"
    if norm is not None:
        planes = f"tc_pow(tc_abs({planes}), {norm})"
    total = f"tc_conv{window.rank}d({planes}, {ones}, {steps}{pads})"
    if norm is not None:
        total = f"tc_pow({total}, {1 / norm!r})"
    elif counts_padding and not any(beyond):
        total = f"tc_div({total}, {math.prod(window.kernel)})"
    else:
        sizes = [s + a + b for s, a, b in zip(x.shape[2:], window.low, window.high)] if counts_padding else x.shape[2:]
        if counts_padding:
            pads = f", .high = {per_axis(beyond)}"
        count = f"tc_conv{window.rank}d(tc_full(g, 1, {dtype}, 1, 1, {n.dim_list(sizes)}), {ones}, {steps}{pads})"
        total = f"tc_div({total}, {count})"
    n.result(f"tc_reshape({total}, {n.dim_list(shape)})", x.dtype, shape)


@op("GlobalAveragePool", "GlobalMaxPool")
def global_pool(n: Node) -> None:
    x = n.input(0)
    name = "avg" if n.op_type == "GlobalAveragePool" else "max"
    n.result(f"tc_global_{name}_pool({x})", x.dtype, (*x.shape[:2], *(1 for _ in x.shape[2:])))


@op("GlobalLpPool")
def global_lp_pool(n: Node) -> None:
    x = n.input(0)
    axes = ", ".join(str(i) for i in range(2, x.rank))
    n.result(f"tc_norm_keepdims({x}, {n.integer('p', 2)}, {axes})", x.dtype, (*x.shape[:2], *(1 for _ in x.shape[2:])))


@op("MaxUnpool")
def max_unpool(n: Node) -> None:
    x, indices, given = n.input(0), n.input(1), n.optional(2)
    window = Window(n, x, None)
    sizes: list[Expr] = []
    for i, s in enumerate(x.shape[2:]):
        sizes.append((s - 1) * window.stride[i] + window.kernel[i] - window.low[i] - window.high[i])
    inner = product(sizes)
    local = n.let(f"tc_remainder({indices}, tc_dim_value(g, TC_{indices.dtype.upper()}, {n.dim(inner)}))",
                  indices.dtype, indices.shape)
    shape: list[IntLike] = [x.shape[0], x.shape[1], *sizes]
    text = f"tc_max_unpool{window.rank}d({x}, {local}, TC_SIZES({n.dim_list(sizes)}))"
    if given is not None:
        # The indices count within the shape that the windows give; the result is larger.
        target = n.sizes(given, "the output shape")
        for i, (a, b) in enumerate(zip(sizes, target[2:])):
            text = text if equal(a, b) else f"tc_pad_axis({text}, {i + 2}, 0, {n.dim(b - a)}, 0)"
        shape = [*target]
    n.result(text, x.dtype, shape)
