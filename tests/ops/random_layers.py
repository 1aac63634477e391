# SPDX-License-Identifier: Apache-2.0
"""Random functions of layers on images and sequences: convolutions of few and of many outputs, of groups, strided and
transposed, windows, resampling, concatenations that grow, elements that lie in turn, recurrent networks.

Operations as those of random_ops.py, whose elementwise ones, reductions and parts stand between them. Images are larger
than what other random graphs compute with, so that a line of one has several vectors.
"""
from __future__ import annotations

import math
from collections import defaultdict
from typing import Any, Callable

import random_ops
from random_graph_c import MOST, ONE, Maker, Refused, Shape, Size, Value
from random_products import INTEGERS, short

CHANNELS = (1, 1, 2, 3, 3, 4, 4, 5, 6, 8, 8, 9, 12, 15, 16, 16, 17, 20, 24, 32, 33, 48)
SIDES = (1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 14, 15, 16, 16, 17, 18, 20, 24, 28, 31, 32, 33, 34, 40, 48, 50)
OUTPUTS = (1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 15, 16, 17, 24, 32, 33)
TERMS = 1 << 22    # products of a convolution, at most


class LayerMaker(Maker):
    """Draws a graph whose inputs are images, and some sequences. newest: operations take the last image."""

    newest = False
    dtypes = ("f32",) * 6 + ("f16", "bf16")
    largest = 40000

    def inputs(self) -> None:
        """Often with a chain of layers behind them."""
        rng = self.rng
        for _ in range(rng.choice((1, 1, 2))):
            while True:
                batch = self.dim() if rng.random() < 0.4 else Size.of(rng.choice((1, 1, 1, 2, 3, 4, 5)))
                sides = [self.dim() if rng.random() < 0.12 else Size.of(rng.choice(SIDES)) for _ in range(2)]
                shape = (batch, Size.of(rng.choice(CHANNELS)), *sides)
                if self.elements(shape) <= self.largest:
                    break
            self.input(shape)
        if rng.random() < 0.5:
            try:
                chain(self)
            except Refused:
                pass

    def weight(self, shape: Shape) -> Value:
        """For the operation that asks for it alone; some are inputs."""
        made = self.input(shape) if self.rng.random() < 0.1 else super().weight(shape)
        self.values.remove(made)
        return made

    def dim(self) -> Size:
        return self.rng.choice(list(self.dims.values())) if self.dims else ONE

    def image(self, least: int = 1, known: bool = True) -> Value:
        """[n, c, h, w] with c known. least: of the height and of the width, where they are known."""
        fitting = [v for v in self.values if v.kind == "float" and v.rank == 4 and v.most <= 1e5
                   and all(s.constant is None or s.constant >= least for s in v.shape[2:])
                   and (not known or v.shape[1].constant)]
        if not fitting:
            raise Refused
        if self.newest:
            return fitting[-1]
        return self.rng.choice(fitting[-4:] if self.rng.random() < 0.8 else fitting)

    def finish(self) -> None:
        """Often with the last value as the only result: all others are handed on within the model."""
        if self.rng.random() < 0.6 and self.graph.steps:
            self.values = [*self.graph.inputs, self.graph.steps[-1].results[0]]
            self.graph.outputs.append(("r", self.values[-1]))
            self.line(f'tc_output(g, "r", {self.values[-1].name});')
            return
        super().finish()


# -- windows ----------------------------------------------------------------------------------------------------------
def windowed(size: Size, window: int, stride: int, low: int, high: int, dilation: int = 1) -> Size:
    """How many windows an axis has."""
    reach = (window - 1) * dilation + 1
    if size.at(defaultdict(lambda: MOST)) + low + high < reach:
        raise Refused
    return (size + Size.of(low + high - reach)).over(stride) + ONE


def padded(t: Any, x: Any, low: tuple[int, int], high: tuple[int, int], value: float = 0.0) -> Any:
    return t.nn.functional.pad(x, [low[1], high[1], low[0], high[0]], value=value)


def padding(m: Maker, window: tuple[int, int]) -> tuple[tuple[int, int], tuple[int, int]]:
    """What is before and behind the height and the width: none, as much as keeps the size, or anything."""
    kind = m.rng.randrange(5)
    if kind == 0:
        return (0, 0), (0, 0)
    if kind < 4:
        return tuple((k - 1) // 2 for k in window), tuple(k // 2 for k in window)   # type: ignore[return-value]
    return tuple(m.rng.randrange(k) for k in window), tuple(m.rng.randrange(k) for k in window)   # type: ignore


def pair(values: tuple[int, int]) -> str:
    return f"{{{values[0]}, {values[1]}}}"


def convolution(m: LayerMaker) -> None:
    """Of floats, or of short integers; weights may be of 16 bits; what follows it may be an activation."""
    rng, x = m.rng, m.image()
    channels = x.shape[1].constant or 0
    window = rng.choice(((1, 1), (1, 1), (3, 3), (3, 3), (3, 3), (5, 5), (7, 7), (1, 3), (3, 1), (2, 2), (4, 4),
                         (1, 7)))
    stride = rng.choice(((1, 1), (1, 1), (1, 1), (2, 2), (2, 2), (3, 3), (1, 2), (4, 4)))
    dilation = rng.choice((1, 1, 1, 1, 1, 2))
    low, high = padding(m, window)
    groups = rng.choice([1, 1, 1, *(k for k in (2, 3, 4, 8, channels) if channels % k == 0)])
    each = rng.choice(OUTPUTS) if groups == 1 else rng.choice((1, 1, 2, 3, 4, 8, 12))
    outs = each * groups
    sides = [windowed(s, k, d, a, b, dilation) for s, k, d, a, b in zip(x.shape[2:], window, stride, low, high)]
    shape = (x.shape[0], Size.of(outs), *sides)
    terms = channels // groups * math.prod(window)
    if m.elements(shape) * terms > TERMS:
        raise Refused
    w = m.weight((Size.of(outs), Size.of(channels // groups), *map(Size.of, window)))
    options = f".stride = {pair(stride)}, .low = {pair(low)}, .high = {pair(high)}, .dilation = {dilation}, " \
              f".groups = {groups}"

    def run(t: Any, x: Any, w: Any, b: Any = None) -> Any:
        return t.nn.functional.conv2d(padded(t, x, low, high), w, b, stride=stride, dilation=dilation, groups=groups)
    if x.exact and x.most <= 8 and terms <= 150 and rng.random() < 0.3:
        left, right = rng.choice(list(INTEGERS)), rng.choice(list(INTEGERS))
        m.make(f"tc_cast(tc_conv2d({short(m, x, left)}, {short(m, w, right)}, {options}), {m.float_type})", [x, w],
               lambda t, d, x, w: run(t, _numbers(x, left), _numbers(w, right)), shape, exact=m.graph.dtype == "f32",
               most=1e7)
        return
    weights, operands = w.name, [x, w]
    if m.graph.dtype == "f32" and w in m.graph.weights and rng.random() < 0.15:   # an input of f16 may be infinite
        weights = f"tc_cast(tc_cast({w.name}, TC_{rng.choice(('F16', 'BF16'))}), TC_F32)"
    elif rng.random() < 0.6:
        operands.append(m.weight((Size.of(outs),)))
        weights += f", {operands[-1].name}"
    y = m.make(f"tc_conv2d({x.name}, {weights}, {options})", operands, lambda t, d, *of: run(t, *of), shape,
               most=x.most * 4 * terms + 4)
    activation(m, y)


def _numbers(x: Any, dtype: str) -> Any:
    return (x * 80).clamp(*INTEGERS[dtype]).trunc()


def activation(m: LayerMaker, y: Value) -> None:
    kind = m.rng.randrange(6)
    if kind < 2:
        m.make(f"tc_relu({y.name})", [y], lambda t, d, y: y.relu(), y.shape, most=y.most)
    elif kind == 2:
        m.make(f"tc_clamp({y.name}, 0, 6)", [y], lambda t, d, y: y.clamp(0, 6), y.shape, most=6.0)
    elif kind == 3:
        m.make(f"tc_silu({y.name})", [y], lambda t, d, y: t.nn.functional.silu(y), y.shape, most=y.most)


def depthwise(m: LayerMaker) -> None:
    """Windows along lines, of strides that lie in turn, too."""
    rng, x = m.rng, m.image()
    channels = x.shape[1].constant or 0
    window = rng.choice(((3, 3), (3, 3), (5, 5), (7, 7), (1, 3), (1, 9), (1, 15), (4, 4), (2, 2), (1, 31), (8, 8)))
    stride = rng.choice(((1, 1), (1, 1), (2, 2), (2, 2), (3, 3), (4, 4), (8, 8), (1, 2), (2, 1), (1, 3), (5, 5)))
    low, high = padding(m, window)
    sides = [windowed(s, k, d, a, b) for s, k, d, a, b in zip(x.shape[2:], window, stride, low, high)]
    shape = (x.shape[0], x.shape[1], *sides)
    if m.elements(shape) * math.prod(window) > TERMS:
        raise Refused
    w = m.weight((x.shape[1], ONE, *map(Size.of, window)))
    y = m.make(f"tc_conv2d({x.name}, {w.name}, .stride = {pair(stride)}, .low = {pair(low)}, .high = {pair(high)}, "
               f".groups = {channels})", [x, w],
               lambda t, d, x, w: t.nn.functional.conv2d(padded(t, x, low, high), w, stride=stride, groups=channels),
               shape, most=x.most * 4 * math.prod(window))
    activation(m, y)


def transposed(m: LayerMaker) -> None:
    rng, x = m.rng, m.image()
    channels = x.shape[1].constant or 0
    window = rng.choice(((2, 2), (2, 2), (3, 3), (4, 4), (3, 2), (1, 2), (8, 8), (5, 5)))
    stride = rng.choice(((2, 2), (2, 2), (1, 1), (3, 3), (4, 4), (1, 2), (2, 1), (8, 8)))
    pad = rng.choice((0, 0, 1))
    extra = rng.choice((0, 0, 1)) if min(stride) > 1 else 0
    groups = rng.choice([1, 1, 1, *(k for k in (2, channels) if channels % k == 0)])
    each = rng.choice((1, 2, 3, 4, 6, 8, 16, 17, 24))
    sides = []
    for s, k, d in zip(x.shape[2:], window, stride):
        size = s * Size.of(d) + Size.of(k - d - 2 * pad + extra)
        if size.constant is not None and size.constant <= 0 or k - d - 2 * pad + extra < -d:
            raise Refused
        sides.append(size)
    shape = (x.shape[0], Size.of(each * groups), *sides)
    if m.elements(shape) * channels // groups * math.prod(window) > TERMS:
        raise Refused
    w = m.weight((x.shape[1], Size.of(each), *map(Size.of, window)))
    y = m.make(f"tc_conv_transpose2d({x.name}, {w.name}, .stride = {pair(stride)}, .padding = {pad}, "
               f".output_padding = {extra}, .groups = {groups})", [x, w],
               lambda t, d, x, w: t.nn.functional.conv_transpose2d(x, w, stride=stride, padding=pad,
                                                                   output_padding=extra, groups=groups),
               shape, most=x.most * 4 * channels * math.prod(window))
    activation(m, y)


def pooling(m: LayerMaker) -> None:
    rng, x = m.rng, m.image()
    window = rng.choice(((2, 2), (2, 2), (3, 3), (4, 4), (8, 8), (1, 3), (3, 1), (5, 5)))
    stride = rng.choice((window, window, (1, 1), (2, 2), (3, 3), (4, 4), (8, 8)))
    low = tuple(rng.choice((0, k // 2)) for k in window)
    sides = [windowed(s, k, d, a, a) for s, k, d, a in zip(x.shape[2:], window, stride, low)]
    options = f".kernel = {pair(window)}, .stride = {pair(stride)}, .padding = {pair(low)}"
    shape, of = (x.shape[0], x.shape[1], *sides), rng.randrange(3)
    if of == 0:
        m.make(f"tc_avg_pool2d({x.name}, {options})", [x],
               lambda t, d, x: t.nn.functional.avg_pool2d(x, window, stride, low), shape, most=x.most)
    elif of == 1:
        m.make(f"tc_avg_pool2d({x.name}, {options}, .exclude_padding = true)", [x],
               lambda t, d, x: t.nn.functional.avg_pool2d(x, window, stride, low, count_include_pad=False), shape,
               most=x.most)
    else:
        m.make(f"tc_max_pool2d({x.name}, {options})", [x],
               lambda t, d, x: t.nn.functional.max_pool2d(x, window, stride, low), shape, exact=x.exact, most=x.most)


def adaptive(m: LayerMaker) -> None:
    rng, x = m.rng, m.image()
    h, w = rng.choice(((1, 1), (1, 1), (7, 7), (3, 5), (16, 16), (20, 4)))
    name = rng.choice(("avg", "max"))
    if any(s.constant is None for s in x.shape[2:]) and (h, w) != (1, 1):
        raise Refused
    m.make(f"tc_adaptive_{name}_pool2d({x.name}, {h}, {w})", [x],
           lambda t, d, x: getattr(t.nn.functional, f"adaptive_{name}_pool2d")(x, (h, w)),
           (*x.shape[:2], Size.of(h), Size.of(w)), exact=name == "max" and x.exact, most=x.most)


# -- positions --------------------------------------------------------------------------------------------------------
def resample(m: LayerMaker) -> None:
    rng, x = m.rng, m.image()
    times = rng.choice((2, 2, 2, 3, 4))
    shape = (*x.shape[:2], *(s * Size.of(times) for s in x.shape[2:]))
    mode = rng.choice(("nearest", "nearest", "bilinear"))
    if mode == "bilinear" and m.graph.dtype == "f64":
        raise Refused
    text = {"nearest": "TC_NEAREST", "bilinear": "TC_LINEAR"}[mode]
    corners = None if mode == "nearest" else False
    m.make(f"tc_interpolate({x.name}, .mode = {text}, .scale = {{{times}, {times}}})", [x],
           lambda t, d, x: t.nn.functional.interpolate(x, scale_factor=times, mode=mode, align_corners=corners), shape,
           exact=x.exact and mode == "nearest", most=x.most)


def shuffle(m: LayerMaker) -> None:
    rng, x = m.rng, m.image()
    channels, kind, r = x.shape[1].constant or 0, rng.randrange(3), rng.choice((2, 2, 3, 4, 8))
    n, c, h, w = x.shape
    if kind == 0 and channels % (r * r) == 0:
        random_ops.moved(m, f"tc_pixel_shuffle({x.name}, {r})", x, lambda t, d, x: t.nn.functional.pixel_shuffle(x, r),
                         (n, Size.of(channels // (r * r)), h * Size.of(r), w * Size.of(r)))
    elif kind == 1 and h.constant is not None and w.constant is not None and h.constant % r == w.constant % r == 0:
        random_ops.moved(m, f"tc_pixel_unshuffle({x.name}, {r})", x,
                         lambda t, d, x: t.nn.functional.pixel_unshuffle(x, r),
                         (n, Size.of(channels * r * r), h.over(r), w.over(r)))
    elif kind == 2 and channels % r == 0:
        random_ops.moved(m, f"tc_channel_shuffle({x.name}, {r})", x,
                         lambda t, d, x: x.unflatten(1, (r, -1)).transpose(1, 2).flatten(1, 2), x.shape)
    else:
        raise Refused


def last(m: LayerMaker) -> None:
    """Channels come last, or are where they were; so values of rank 4 that are no images are some, too."""
    x = m.pick(rank=(4,))
    order = m.rng.choice(((0, 2, 3, 1), (0, 2, 3, 1), (0, 3, 1, 2), (0, 1, 3, 2), (0, 2, 1, 3), (1, 0, 2, 3)))
    random_ops.moved(m, f"tc_permute({x.name}, {', '.join(map(str, order))})", x, lambda t, d, x: x.permute(order),
                     tuple(x.shape[i] for i in order))


def in_turn(m: LayerMaker) -> None:
    """Parts of every few elements, computed with, and put back in turn."""
    rng, x, turn = m.rng, m.pick(rank=(2, 3, 4)), m.rng.choice((2, 2, 3, 4, 8))
    axis = rng.choice((x.rank - 1, x.rank - 1, x.rank - 2))
    size = x.shape[axis]
    if size.constant is None or not size.constant or size.constant % turn:
        raise Refused
    shape = tuple(size.over(turn) if i == axis else s for i, s in enumerate(x.shape))
    parts = [m.make(f"tc_slice_step({x.name}, {axis}, {k}, TC_END, {turn})", [x],
                    lambda t, d, x, k=k: x[(slice(None),) * axis + (slice(k, None, turn),)], shape, exact=x.exact,
                    most=x.most) for k in range(turn)]
    if rng.random() < 0.6:
        a, b = parts[0], parts[1]
        parts[0] = m.make(f"tc_sub(tc_mul({a.name}, 0.5), {b.name})", [a, b], lambda t, d, a, b: a * 0.5 - b, shape,
                          most=2 * x.most)
        parts[1] = m.make(f"tc_add({a.name}, tc_mul({b.name}, 0.25))", [a, b], lambda t, d, a, b: a + b * 0.25, shape,
                          most=2 * x.most)
    if rng.random() < 0.7:
        rng.shuffle(parts)
        stacked = m.make(f"tc_stack({axis + 1}, {', '.join(p.name for p in parts)})", parts,
                         lambda t, d, *xs: t.stack(xs, axis + 1),
                         (*shape[:axis + 1], Size.of(turn), *shape[axis + 1:]), exact=all(p.exact for p in parts),
                         most=max(p.most for p in parts))
        m.make(f"tc_reshape({stacked.name}, {', '.join(s.text for s in x.shape)})", [stacked],
               lambda t, d, x: x.flatten(axis, axis + 1), x.shape, exact=stacked.exact, most=stacked.most)


# -- channels ---------------------------------------------------------------------------------------------------------
def dense(m: LayerMaker) -> None:
    """A concatenation of channels that begins with, or holds, what earlier ones have."""
    rng, x = m.rng, m.image(known=False)
    fitting = [v for v in m.values if v.kind == "float" and v.rank == 4 and v.most <= 1e5
               and (v.shape[0], *v.shape[2:]) == (x.shape[0], *x.shape[2:])]
    parts = [x, *(rng.choice(fitting) for _ in range(rng.choice((1, 2, 2, 3))))]
    for _ in range(rng.choice((1, 2))):
        whole = parts[0].shape[1]
        for p in parts[1:]:
            whole = whole + p.shape[1]
        m.make(f"tc_concat(1, {', '.join(p.name for p in parts)})", parts, lambda t, d, *xs: t.cat(xs, 1),
               (x.shape[0], whole, *x.shape[2:]), exact=all(p.exact for p in parts), most=max(p.most for p in parts))
        parts = [*parts, rng.choice(fitting)] if rng.random() < 0.6 else [rng.choice(fitting), *parts]


def residual(m: LayerMaker) -> None:
    rng, x = m.rng, m.image(known=False)
    fitting = [v for v in m.values if v.kind == "float" and v.rank == 4 and v.shape == x.shape and v.most <= 1e5]
    y = rng.choice(fitting)
    total = m.make(f"tc_add({x.name}, {y.name})", [x, y], lambda t, d, x, y: x + y, x.shape, most=x.most + y.most)
    activation(m, total)


def of_channels(m: LayerMaker) -> None:
    """Each channel by a number, of the weights or of the image's own means."""
    rng, x = m.rng, m.image()
    if rng.random() < 0.5:
        w = m.weight((x.shape[1], ONE, ONE))
        m.make(f"tc_mul({x.name}, {w.name})", [x, w], lambda t, d, x, w: x * w, x.shape, most=x.most * 4)
        return
    mean = m.make(f"tc_mean_keepdims({x.name}, 2, 3)", [x], lambda t, d, x: x.mean((2, 3), keepdim=True),
                  (*x.shape[:2], ONE, ONE), most=x.most)
    m.make(f"tc_mul({x.name}, tc_sigmoid({mean.name}))", [x, mean], lambda t, d, x, y: x * y.sigmoid(), x.shape,
           most=x.most)


def split(m: LayerMaker) -> None:
    """Parts of the channels, or of the height or width."""
    rng, x = m.rng, m.pick(rank=(3, 4))
    axis = rng.choice((1, 1, x.rank - 2, x.rank - 1))
    size = x.shape[axis].constant
    if not size or size < 2:
        raise Refused
    at = rng.randrange(1, size)
    for low, high in ((0, at), (at, size)):
        m.make(f"tc_slice({x.name}, {axis}, {low}, {high})", [x],
               lambda t, d, x, low=low, high=high: x.narrow(axis, low, high - low),
               tuple(Size.of(high - low) if i == axis else s for i, s in enumerate(x.shape)), exact=x.exact,
               most=x.most)


def heads(m: LayerMaker) -> None:
    """Positions as rows, and products of them."""
    rng, x = m.rng, m.image()
    n, c, h, w = x.shape
    rows = m.make(f"tc_flatten({x.name}, 2)", [x], lambda t, d, x: x.flatten(2), (n, c, h * w), exact=x.exact,
                  most=x.most)
    if rng.random() < 0.5 and m.elements((n, c, c)) * m.elements((h, w)) <= TERMS:
        m.make(f"tc_softmax(tc_matmul({rows.name}, tc_transpose({rows.name}, 1, 2)), 2)", [rows],
               lambda t, d, x: (x @ x.transpose(1, 2)).softmax(2), (n, c, c), most=1.0)
        return
    outs = rng.choice(OUTPUTS)
    weight = m.weight((c, Size.of(outs)))
    y = m.make(f"tc_matmul(tc_transpose({rows.name}, 1, 2), {weight.name})", [rows, weight],
               lambda t, d, x, w: x.transpose(1, 2) @ w, (n, h * w, Size.of(outs)), most=x.most * 4 * (c.constant or 1))
    if rng.random() < 0.5:
        m.make(f"tc_transpose({y.name}, 1, 2)", [y], lambda t, d, y: y.transpose(1, 2), (n, Size.of(outs), h * w),
               most=y.most)


def chain(m: LayerMaker) -> None:
    """Layers each of which reads what the one before it made, and nobody else does."""
    m.newest = True
    try:
        made, most = 0, m.rng.choice((2, 3, 4))
        for _ in range(12):
            if made < most:
                try:
                    m.rng.choice(CHAINED)(m)
                    made += 1
                except Refused:   # before anything is made
                    pass
        if not made:
            raise Refused
    finally:
        m.newest = False


def activation_of(m: LayerMaker) -> None:
    activation(m, m.image())


CHAINED = (convolution, convolution, depthwise, depthwise, pooling, transposed, activation_of)


# -- sequences --------------------------------------------------------------------------------------------------------
def recurrent(m: LayerMaker) -> None:
    """One layer over the rows of what has three axes, or of a new sequence."""
    rng = m.rng
    fitting = [v for v in m.values if v.kind == "float" and v.rank == 3 and v.shape[2].constant and v.most <= 1e4
               and m.elements(v.shape[:1]) <= 40]
    x = rng.choice(fitting) if fitting and rng.random() < 0.6 else m.input(
        (m.dim() if rng.random() < 0.5 else Size.of(rng.choice((1, 2, 7))), Size.of(rng.choice((1, 1, 1, 2, 5))),
         Size.of(rng.choice((1, 5, 16, 24)))))
    name, gates = rng.choice((("lstm", 4), ("gru", 3), ("rnn", 1)))
    hidden = rng.choice((1, 5, 8, 16, 17, 32, 40))
    wide = Size.of(gates * hidden)
    ws = [m.weight((wide, x.shape[2])), m.weight((wide, Size.of(hidden))), m.weight((wide,)), m.weight((wide,))]
    texts = (ws[0].name, f"tc_mul({ws[1].name}, 0.125)", ws[2].name, ws[3].name)   # errors do not grow step by step
    fields = ", ".join(f".{f} = {text}" for f, text in zip(("ih", "hh", "ih_bias", "hh_bias"), texts))
    m.make(f"tc_{name}({x.name}, NULL, .weights = (tc_recurrent_weights[]){{{{{fields}}}}})", [x, *ws],
           lambda t, d, *of: _recurrent(t, name, *of), (*x.shape[:2], Size.of(hidden)), most=1.0)


def _recurrent(t: Any, name: str, x: Any, ih: Any, hh: Any, ih_bias: Any, hh_bias: Any) -> Any:
    h = c = t.zeros(x.shape[1], hh.shape[1], dtype=x.dtype)
    hh = hh * 0.125
    found = []
    for row in x:
        a, b = row @ ih.T + ih_bias, h @ hh.T + hh_bias
        if name == "lstm":
            i, f, g, o = (a + b).chunk(4, 1)
            c = f.sigmoid() * c + i.sigmoid() * g.tanh()
            h = o.sigmoid() * c.tanh()
        elif name == "gru":
            (ra, za, na), (rb, zb, nb) = a.chunk(3, 1), b.chunk(3, 1)
            z, n = (za + zb).sigmoid(), (na + (ra + rb).sigmoid() * nb).tanh()
            h = (1 - z) * n + z * h
        else:
            h = (a + b).tanh()
        found.append(h)
    return t.stack(found) if found else x.new_zeros(0, x.shape[1], hh.shape[1])


OPERATIONS: list[Callable[[Any], None]] = [
    chain, chain, chain, convolution, convolution, convolution, depthwise, depthwise, transposed, transposed, pooling,
    pooling, adaptive, resample, shuffle, last, in_turn, dense, dense, residual, residual, of_channels, split, heads,
    recurrent, random_ops.unary, random_ops.binary, random_ops.choose, random_ops.pad, random_ops.cut, random_ops.join,
    random_ops.reduce, random_ops.places, random_ops.normal, random_ops.cumulative, random_ops.rearrange]


def graph(seed: int) -> Any:
    return LayerMaker(seed, OPERATIONS).graph
