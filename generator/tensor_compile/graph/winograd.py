# SPDX-License-Identifier: Apache-2.0
"""Winograd's convolution, for `--numerics relaxed`: 3x3 windows of stride 1 with fewer products, in another order.

F(m, 3) computes m neighbouring results of three taps from m + 2 products instead of 3m: polynomials are multiplied at
points (0, 1, -1, infinity; for m = 4 also 1/2 and -2, which lose least of f32: docs/numerics.md). In both axes of an
image, tiles of (m + 2) x (m + 2) elements and the weights go to these points, are multiplied there, summed over the
channels as (m + 2)^2 products of matrices, and come back as m x m results.

All of it are nodes of the graph. So weights are transformed at build time (fold), kernels are what lowering makes of
any graph, and the interpreter computes the same bits. Additions, scales and maxima of one point behind a convolution
are taken before the tiles are put together. It runs before numerics are fixed, on the graph of all variants; structure
alone decides, so every target has the same sums.
"""
from __future__ import annotations

import re
import struct
from fractions import Fraction
from typing import Any, Callable, Mapping, Protocol, Sequence, TypeVar

from ..records import dataclass
from ..symbolic import Expr, equal, is_nonnegative, is_zero, wrap
from ..symbolic.typical import typical
from .absorb import constants
from .dtypes import DTYPES
from .infer import Context
from .ir import Function, Loc, Node, TensorType, Value
from .rewrite import Builder, Values, only_readers
from .table import is_elementwise

TAPS = 3
FEWEST = 16         # channels of the result
# what the costs are reckoned with, of any target: sums are the same on all
LANES = 16          # products a cycle
BYTES = 8           # of weights, a cycle
NEAR = 1 << 20      # bytes of weights up to which that is so
FAR_BYTES = 2       # a cycle, of more
TRANSFORM = 0.6     # cycles of an element on its way to a point, or back
WORTH = 0.8         # of the exact order's time, at most

T = TypeVar("T")


class Arithmetic(Protocol[T]):
    """What the transformations are written in: nodes of a graph, or numbers."""

    def add(self, a: T, b: T) -> T: ...
    def sub(self, a: T, b: T) -> T: ...
    def scale(self, by: Fraction, a: T) -> T: ...


# -- the transformations of one axis ---------------------------------------------------------------------------------
def image_2(o: Arithmetic[T], d: Sequence[T]) -> list[T]:
    return [o.sub(d[2], d[0]), o.add(d[2], d[1]), o.sub(d[2], d[1]), o.sub(d[3], d[1])]


def result_2(o: Arithmetic[T], m: Sequence[T]) -> list[T]:
    return [o.add(m[0], o.add(m[1], m[2])), o.add(o.sub(m[1], m[2]), m[3])]


def image_4(o: Arithmetic[T], d: Sequence[T]) -> list[T]:
    """Products of the x - p of all points but one: with q = x^2 + 3/2 x - 1, these are a = x^2 q, b = x q, c = q and
    g = x^3 q, added and subtracted, and x (x^2 - 1) (x + 2), x (x^2 - 1) (2x - 1)."""
    half3, two = Fraction(3, 2), Fraction(2)
    e, f = o.sub(d[4], d[2]), o.sub(d[3], d[1])
    a, b = o.add(o.scale(half3, d[3]), e), o.add(o.scale(half3, d[2]), f)
    c, g = o.add(o.scale(half3, d[1]), o.sub(d[2], d[0])), o.add(o.scale(half3, d[4]), o.sub(d[5], d[3]))
    return [o.sub(a, c), o.add(a, b), o.sub(a, b), o.add(e, o.scale(two, f)), o.sub(o.scale(two, e), f), o.sub(g, b)]


def result_4(o: Arithmetic[T], m: Sequence[T]) -> list[T]:
    s, d = o.add(m[1], m[2]), o.sub(m[1], m[2])

    def beside(to: T, power: int) -> T:
        """And the powers of the points 1/2 and -2."""
        return o.add(o.add(to, o.scale(Fraction(1, 2) ** power, m[3])), o.scale(Fraction(-2) ** power, m[4]))

    return [o.add(o.add(m[0], s), o.add(m[3], m[4])), beside(d, 1), beside(s, 2), o.add(beside(d, 3), m[5])]


@dataclass(frozen=True)
class Form:
    """m results of an axis at a time. fewest: channels of the image; with fewer, errors in those of the direct sum are
    larger, as these grow with the terms (docs/numerics.md, tests/reference/test_winograd.py). weights: what the taps
    are multiplied by, a line a point."""

    m: int
    fewest: int
    image: Callable[[Arithmetic[Any], Sequence[Any]], list[Any]]
    result: Callable[[Arithmetic[Any], Sequence[Any]], list[Any]]
    weights: tuple[tuple[Fraction, Fraction, Fraction], ...]

    @property
    def n(self) -> int:
        return self.m + TAPS - 1

    def tiles(self, size: Expr) -> Expr:
        """Of an axis of this many results."""
        return (size + (self.m - 1)) // self.m

    @property
    def name(self) -> str:
        return f"F({self.m},{TAPS})"

    @property
    def products(self) -> Fraction:
        """A result's, of one channel."""
        return Fraction(self.n * self.n, self.m * self.m)

    @property
    def at_once(self) -> bool:
        """A tile is transformed in both axes by one kernel, from elements in registers. Of larger ones a kernel takes
        one axis, and what is between is stored."""
        return self.m == 2


def _powers(point: Fraction | int, by: Fraction | int) -> tuple[Fraction, Fraction, Fraction]:
    return Fraction(by), Fraction(by) * point, Fraction(by) * point * point


_LAST = (Fraction(0), Fraction(0), Fraction(1))
FORMS = (Form(2, 16, image_2, result_2, (_powers(0, -1), _powers(1, Fraction(1, 2)), _powers(-1, Fraction(1, 2)),
                                         _LAST)),
         Form(4, 32, image_4, result_4, (_powers(0, 1), _powers(1, Fraction(1, 3)), _powers(-1, Fraction(-1, 3)),
                                     _powers(Fraction(1, 2), Fraction(-16, 15)), _powers(-2, Fraction(1, 30)), _LAST)))


# -- which convolutions ----------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Decision:
    """What was decided of a convolution. form: None where it stays as it is; why: that, or why it is not a form of
    fewer products."""

    loc: Loc | None
    scope: str
    form: Form | None
    why: str


def decisions(function: Function) -> dict[Node, Decision]:
    """Of every convolution, in order."""
    constant = constants(function)
    found = [(node, _decided(node, constant)) for node in function.nodes if node.op == "convolution"]
    return {node: Decision(node.loc, node.scope, form, why) for node, (form, why) in found}


def _decided(node: Node, constant: set[Node]) -> tuple[Form | None, str]:
    """How a convolution is computed, and why so; None: as it is."""
    result, (x, w), attrs = node.types[0], node.operands, node.attrs
    refusals = (
        (result.dtype != "f32", f"it computes {result.dtype}, not f32"),
        (len(result.shape) != 4, "it has not two spatial axes"),
        (w.node not in constant, "its weights are no constants"),
        (x.node in constant, "its image is a constant"),
        (attrs["groups"] != 1, "it has groups"),
        (any(step != 1 for step in attrs["stride"]), "its stride is not 1"),
        (any(step != 1 for step in attrs["dilation"]), "its dilation is not 1"),
        (min(*attrs["low"], *attrs["high"]) < 0, "its padding is negative"),
        (not all(size.is_const for size in w.shape) or w.shape[2:] != (wrap(TAPS), wrap(TAPS)),
         f"its window is not {TAPS}x{TAPS}"),
        (not all(is_nonnegative(_beyond(form, size)) for form in FORMS for size in result.shape[2:]),
         "nothing shows that tiles cover its results"))
    why = next((why for refused, why in refusals if refused), "")
    if why:
        return None, why
    high, wide = map(typical, result.shape[2:])
    return reckoned(high, wide, w.shape[0].value, w.shape[1].value)


def _beyond(form: Form, size: Expr) -> Expr:
    """Results of the tiles of an axis that are none of the convolution's."""
    return form.m * form.tiles(size) - size


def chosen(high: int, wide: int, outs: int, ins: int) -> Form | None:
    """The form that takes least, of results of this size; None where none is worth its errors."""
    return reckoned(high, wide, outs, ins)[0]


def reckoned(high: int, wide: int, outs: int, ins: int) -> tuple[Form | None, str]:
    """The same, and why it is this one."""
    if outs < FEWEST:
        return None, f"results have fewer than {FEWEST} channels"
    if ins < FORMS[0].fewest:
        return None, f"the image has fewer than {FORMS[0].fewest} channels"
    if min(high, wide) < 2:
        return None, "results are one element high or wide"
    best, least = None, WORTH * _products(high * wide * TAPS * TAPS, outs, ins, TAPS * TAPS)
    for form in FORMS:
        tiles, points = -(-high // form.m) * -(-wide // form.m), form.n * form.n
        cycles = _products(tiles * points, outs, ins, points) + tiles * points * (ins + outs) * TRANSFORM
        if ins >= form.fewest and cycles < least:
            best, least = form, cycles
    if best is None:
        return None, "the model of the costs expects no gain"
    others = [form for form in FORMS if form.products < best.products]
    few = [form for form in others if ins < form.fewest]
    return best, f"for {few[0].name} the image has fewer than {few[0].fewest} channels" if few else \
        f"for {others[0].name} the model of the costs expects less gain" if others else ""


def _products(rows: int, outs: int, ins: int, weights: int) -> float:
    """Cycles of products of all positions and points, of one image; beside them weights come from memory."""
    size = 4 * weights * outs * ins
    compute, stream = rows * outs * ins / LANES, size / (BYTES if size <= NEAR else FAR_BYTES)
    return max(compute, stream) + 0.3 * min(compute, stream)


# -- the graph -------------------------------------------------------------------------------------------------------
def winograd(function: Function, decided: Mapping[Node, Decision]) -> Function:
    """The function with its convolutions as was decided of them."""
    return at_points(function, {node: d.form for node, d in decided.items() if d.form is not None}, Convolution)


def at_points(function: Function, forms: Mapping[Node, Form], kind: type[Convolution]) -> Function:
    """The function with these convolutions at the points of their forms."""
    if not forms:
        return function
    readers = only_readers(function)
    chains = {node: _chain(node, readers) for node in forms}
    inner = {link for node, chain in chains.items() for link in (node, *chain)[:-1]}
    ends = {(node, *chain)[-1]: node for node, chain in chains.items()}
    builder, values = Builder(function, Context()), Values()
    for node in function.nodes:
        if node in ends:
            start = ends[node]
            values[Value(node)] = kind(builder, values, start, forms[start]).made(chains[start])
        elif node not in inner:
            values.bind(node, builder.again(node, values.all(node.operands)))
    return builder.finish(function, values.__getitem__)


def _chain(node: Node, readers: Mapping[Value, Node]) -> list[Node]:
    """The elementwise nodes that a convolution's result runs through, and nobody else reads what is between."""
    links: list[Node] = []
    value = Value(node)
    while (link := readers.get(value)) is not None and is_elementwise(link.op) \
            and all(v.shape == value.shape for v in (Value(link), *link.operands)):
        links.append(link)
        value = Value(link)
    while links and _wider(links[-1]):  # what is stored are the narrow elements
        links.pop()
    return links


def _wider(node: Node) -> bool:
    """A cast to elements of more bytes."""
    return node.op == "cast" and DTYPES[node.types[0].dtype].bytes > DTYPES[node.operands[0].dtype].bytes


@dataclass(frozen=True)
class Nodes:
    """Arithmetic on values of a graph."""

    builder: Builder
    like: Node
    dtype: str = "f32"

    def add(self, a: Value, b: Value) -> Value:
        return self.builder.value("add", a, b, like=self.like)

    def sub(self, a: Value, b: Value) -> Value:
        return self.builder.value("sub", a, b, like=self.like)

    def scale(self, by: Fraction, a: Value) -> Value:
        if by == 1:
            return a
        if by == 2:
            return self.add(a, a)
        return self.builder.value("mul", a, self.filled(by, a.shape), like=self.like)

    def filled(self, number: Fraction, shape: tuple[Expr, ...]) -> Value:
        if self.dtype == "i32":
            assert number.denominator == 1, "integers are multiplied by integers"
            return self.builder.filled(TensorType("i32", shape), int(number) & 0xffffffff, self.like)
        kind, width = ("f", "I") if self.dtype == "f32" else ("d", "Q")
        (bits,) = struct.unpack(f"<{width}", struct.pack(f"<{kind}", float(number)))
        return self.builder.filled(TensorType(self.dtype, shape), bits, self.like)


WORD = "winograd"   # in the names of kernels


def _scope(scope: str, form: Form) -> str:
    """Of the nodes of a convolution: the last operation of the language around it has the form in its name."""
    named = re.sub(r"([^/#]+)(#\d+)(?!.*#)", rf"\g<1>_{WORD}{form.m}\g<2>", scope, count=1)
    return named if named != scope else f"{scope}/convolution_{WORD}{form.m}#1".lstrip("/")


class Convolution:
    """One of them. Axes of values: points of columns j and of rows i, image, tile row, tile column, channel.
    named: kernels have the form in their names, so that nobody takes their products for those of the convolution."""

    named = True

    def __init__(self, builder: Builder, values: Values, node: Node, form: Form):
        self.builder, self.values, self.node, self.form = builder, values, node, form
        scope = _scope(node.scope, form) if self.named else node.scope
        self.like = Node(node.op, node.operands, node.attrs, node.types, node.loc, scope)
        self.o = Nodes(builder, self.like, node.types[0].dtype)

    def value(self, op: str, *operands: Value, **attrs: Any) -> Value:
        return self.builder.value(op, *operands, like=self.like, **attrs)

    def reshape(self, x: Value, *sizes: Expr | int) -> Value:
        shape = tuple(map(wrap, sizes))
        return x if x.shape == shape else self.value("reshape", x, shape=shape)

    def transpose(self, x: Value, *perm: int) -> Value:
        return self.value("transpose", x, perm=perm)

    def part(self, x: Value, axis: int, start: int, size: Expr | int, stride: int = 1) -> Value:
        rank = range(len(x.shape))
        return self.value("slice", x, start=tuple(wrap(start if d == axis else 0) for d in rank),
                          size=tuple(wrap(size) if d == axis else x.shape[d] for d in rank),
                          stride=tuple(stride if d == axis else 1 for d in rank))

    def padded(self, x: Value, axis: int, low: int, high: Expr) -> Value:
        if low == 0 and is_zero(high):
            return x
        zero = self.builder.filled(TensorType(x.dtype, ()), 0, self.like)
        at = range(len(x.shape))
        return self.value("pad", x, zero, low=tuple(wrap(low if d == axis else 0) for d in at),
                          high=tuple(wrap(high if d == axis else 0) for d in at))

    def stacked(self, parts: Sequence[Value], axis: int) -> Value:
        """Along a new axis."""
        wide = [self.reshape(p, *p.shape[:axis], 1, *p.shape[axis:]) for p in parts]
        return self.value("concat", *wide, axis=axis)

    def tiled(self, x: Value, axis: int, low: int, tiles: Expr) -> Value:
        """With the zeros around an axis that its tiles reach."""
        return self.padded(x, axis, low, self.form.m * tiles + (TAPS - 1 - low) - x.shape[axis])

    def points(self, x: Value, axis: int, low: int, tiles: Expr) -> Value:
        """Elements of an axis to points, which are the first axis."""
        m, n = self.form.m, self.form.n
        x = self.tiled(x, axis, low, tiles)
        parts = [self.widened(self.part(x, axis, i, tiles, m)) for i in range(n)]
        return self.stacked([self.narrowed(part) for part in self.form.image(self.o, parts)], 0)

    def image_at_points(self, x: Value, low: tuple[int, int], rows: Expr, columns: Expr) -> Value:
        """x [images, rows, columns, channels] as [j, i, image, tile row, tile column, channel]."""
        form, m, n = self.form, self.form.m, self.form.n
        if not form.at_once:
            return self.points(self.points(x, 1, low[0], rows), 3, low[1], columns)
        x = self.tiled(self.tiled(x, 1, low[0], rows), 2, low[1], columns)
        down = [form.image(self.o, [self.widened(self.part(self.part(x, 1, i, rows, m), 2, j, columns, m))
                                    for i in range(n)]) for j in range(n)]
        across = [form.image(self.o, [line[i] for line in down]) for i in range(n)]
        parts = [self.narrowed(across[i][j]) for j in range(n) for i in range(n)]
        return self.reshape(self.stacked(parts, 0), n, n, *parts[0].shape)

    def weights(self, w: Value) -> Value:
        """[points, points, ins, outs], computed in f64."""
        wide = self.value("cast", w, dtype="f64")
        return self.value("cast", self.multiplied(wide, self.form.weights), dtype="f32")

    def multiplied(self, w: Value, lines: Sequence[Sequence[Fraction]]) -> Value:
        """Weights [outs, ins, rows, columns] by the lines of points, of rows and of columns."""
        o = Nodes(self.builder, self.like, w.dtype)
        x = self.transpose(w, 3, 2, 1, 0)
        for _ in range(2):   # rows, which go first; then columns
            parts = [self.reshape(self.part(x, 1, t, 1), x.shape[0], *x.shape[2:]) for t in range(TAPS)]
            sums = []
            for line in lines:
                terms = [o.scale(by, part) for by, part in zip(line, parts, strict=True) if by]
                while len(terms) > 1:
                    terms[:2] = [o.add(*terms[:2])]
                sums.append(terms[0])
            x = self.transpose(self.stacked(sums, 1), 1, 0, 2, 3)
        return x

    def narrowed(self, x: Value) -> Value:
        """What is stored of elements at points."""
        return x

    def widened(self, x: Value) -> Value:
        """What is computed with of stored elements."""
        return x

    def image(self, x: Value) -> Value:
        """What is stored of the image."""
        return x

    def whole(self, part: Value) -> Value:
        """Results of what came back from points."""
        return part

    def made(self, chain: list[Node]) -> Value:
        x, w = self.values.all(self.node.operands)
        low, high = self.node.attrs["low"], self.node.types[0].shape
        rows, columns = map(self.form.tiles, high[2:])
        images, outs = x.shape[0], w.shape[0]
        v = self.widened(self.image_at_points(self.transpose(self.image(x), 0, 2, 3, 1), low, rows, columns))
        v = self.value("dot", v, self.weights(w), lhs_batch=(0, 1), rhs_batch=(0, 1), lhs_contract=(5,),
                       rhs_contract=(2,), order="seq")
        y = self.from_points(v, images, rows, columns, outs, chain)
        for axis, size in ((1, high[2]), (2, high[3])):
            y = y if equal(y.shape[axis], size) else self.part(y, axis, 0, size)
        return self.transpose(y, 0, 3, 1, 2)

    def from_points(self, v: Value, images: Expr, rows: Expr, columns: Expr, outs: Expr, chain: list[Node]) -> Value:
        """v [j, i, image, tile row, tile column, channel] as results [images, rows, columns, channels]."""
        form, m, n = self.form, self.form.m, self.form.n
        if not form.at_once:
            parts = [self.reshape(self.part(v, 1, i, 1), n, images, rows, columns, outs) for i in range(n)]
            v = self.stacked(form.result(self.o, parts), 3)            # j, image, tile row, row, tile column
            v = self.reshape(v, n, images, rows * m, columns, outs)
            parts = [self.reshape(self.part(v, 0, j, 1), images, rows * m, columns, outs) for j in range(n)]
            parts = [self.finished(part, (0, 1), (j, m), chain) for j, part in enumerate(form.result(self.o, parts))]
            return self.reshape(self.stacked(parts, 3), images, rows * m, columns * m, outs)
        down = [form.result(self.o, [self.reshape(self.part(self.part(v, 0, j, 1), 1, i, 1), images, rows, columns,
                                                  outs) for i in range(n)]) for j in range(n)]
        across = [form.result(self.o, [line[i] for line in down]) for i in range(m)]
        parts = [self.stacked([self.finished(part, (i, m), (j, m), chain) for j, part in enumerate(line)], 3)
                 for i, line in enumerate(across)]
        return self.reshape(self.stacked(parts, 2), images, rows * m, columns * m, outs)

    def finished(self, part: Value, row: tuple[int, int], column: tuple[int, int], chain: list[Node]) -> Value:
        """What follows the convolution, for some rows and columns: (the first, the step to the next)."""
        value = Value(self.node)
        part = self.whole(part)
        for link in chain:
            operands = [part if v == value else self.beside(self.values[v], part, row, column) for v in link.operands]
            part = self.builder.value(link.op, *operands, like=link, **link.attrs)
            value = Value(link)
        return part

    def beside(self, x: Value, part: Value, row: tuple[int, int], column: tuple[int, int]) -> Value:
        """Of another operand, the elements at the positions of a part."""
        if x.node.op == "broadcast" and x.node.attrs["axes"] in ((), (1,)):
            axes = tuple(3 for _ in x.node.attrs["axes"])
            return self.value("broadcast", x.node.operands[0], shape=part.shape, axes=axes)
        x = self.transpose(x, 0, 2, 3, 1)
        for axis, (first, step) in ((1, row), (2, column)):
            size = part.shape[axis]
            x = self.padded(x, axis, 0, size * step - x.shape[axis])
            x = self.part(x, axis, first, size, step)
        return x
