# SPDX-License-Identifier: Apache-2.0
"""Panels of bytes whose words are sorted by how x86-64 may multiply them, for processors without dot products.

vpmaddubsw multiplies bytes u of a row (0 to 255) by weights w and adds pairs of products in 16 bits, which saturate. It
is exact where the positive weights of a pair have a sum of at most MOST, and the negative ones of at least -MOST. There
are three kinds of words of four terms, each for eight columns together (a register):

  0  both pairs of every column are so;
  1  they are with the second weight of each pair negated, multiplied by 255 - u: u * w = 255 * w + (255 - u) * -w;
  2  all others; they are multiplied in 16 bits, where nothing saturates.

Behind the words of a panel stands their order, in lines of 16 words of 32 bits. The first line is what the sums of
columns start from: the 255 * w of kind 1, less 128 * w of all words where a row's bytes are signed, whose highest bit
is turned. Words are taken in blocks of about BLOCK, whose rows and columns stay in the first cache while both eight
columns of a panel are multiplied. Of each block there are the numbers of words of kind 0 and of kind 1 of the first
eight columns, and of the others; then, of each block and each eight, the numbers of its words by kind, two in a word.
"""
from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, Callable, Sequence

from ..graph.ir import Node, Value
from ..instruction_sets import InstructionSet, instruction_set
from ..symbolic import Expr, IntLike, wrap
from ..target import Target
from .products import Product

MOST = 128      # 255 * MOST fits 16 bits
LEAST = 64      # words of a sum from which on three loops over them are worth it,
FEWEST = 64     # and columns from which on the copies of rows are, which are twice as large
COLUMNS = 16    # of a panel
ROW = 16        # words of each of its rows
BLOCK = 128     # words at most
DOTS = frozenset(("AVX_VNNI", "AVX512_VNNI"))
# (like, op, operands, attributes, dtype, shape) -> the result of a new node
Make = Callable[[Node, str, tuple[Value, ...], dict[str, Any], str, tuple[Expr, ...]], Value]


def multiplies(target: Target) -> bool:
    """A processor of the target multiplies sorted words."""
    return not target.apart and any(multiplied_by(instruction_set(isa)) for isa in target.isas)


def alone(target: Target) -> bool:
    """And all processors that the target's kernels are for multiply bytes no other way."""
    return multiplies(target) and not any(f.name in DOTS for isa in (*target.isas, *target.integer_isas)
                                          for f in instruction_set(isa).features)


def multiplied_by(isa: InstructionSet) -> bool:
    return isa.vectors == "AVX2" and not any(f.name in DOTS for f in isa.features)


def ordered(product: Product, elements: Expr, columns: Expr) -> Product:
    """The product with an order behind its panels, where that is worth it. elements: of a sum."""
    words = (elements + (product.group - 1)) // product.group
    few = not (words.is_const and columns.is_const) or columns.value < FEWEST or not LEAST <= words.value < 1 << 16
    return product if few or not product.sortable else replace(product, ordered=True)


def pairs(elements: Expr, columns: Expr) -> bool:
    """Sums of so few words, or columns, that they are not sorted: pairs of 16 bits need not be taken apart."""
    return elements.is_const and columns.is_const and columns.value >= COLUMNS \
        and (elements.value <= 4 * (LEAST - 1) or columns.value < FEWEST)


def blocks(words: int) -> tuple[int, int]:
    """How many there are, and the words of each; of the last one fewer, perhaps."""
    count = -(-words // BLOCK)
    each = -(-words // count)
    return count, each + each % 2


def order_rows(words: int) -> int:
    """Of the order of a panel of that many words a column."""
    count, each = blocks(words)
    return 1 + -(-(4 * count + count * each) // ROW)


def with_order(make: Make, like: Node, x: Value, product: Product) -> Value:
    """Panels x [..., panels, words, COLUMNS, 4] with the lines of their order behind the words of each."""
    *heads, words, _, _ = (d.value for d in x.shape)
    panels = math.prod(heads)
    count, each = blocks(words)
    graph = _Nodes(make, like)
    # of 16 bits: sums of two weights are within them, and what the build holds of all weights at once is half as large
    w = graph.cast(graph.reshape(x, [panels, words, COLUMNS, 4]), "i16")
    if product.zero:
        w = graph.add(w, graph.number(-product.zero, w))
    first, second = graph.every(w, 3, 0, 2), graph.every(w, 3, 1, 2)
    negative = graph.node("neg", (second,), {}, "i16", second.shape)
    # the smallest number has no negative one in 8 bits
    kinds = graph.mul(graph.unsafe(first, second), graph.add(graph.number(1, (panels, words, 2)), graph.either(
        graph.unsafe(first, negative), graph.halves(graph.test("lt", second, -127)))))
    # -- what sums start from
    turned = graph.cast(graph.bits("eq", kinds, 1), "i16")
    turned = graph.reshape(graph.spread(turned, (panels, words, 2, 16), (0, 1, 2)), second.shape)
    starts = graph.mul(graph.total(graph.mul(second, turned)), graph.number(255, (panels, COLUMNS)))
    if product.a == "i8":
        starts = graph.add(starts, graph.mul(graph.total(w), graph.number(-128, (panels, COLUMNS))))
    # -- the numbers of the words of a block by kind: each goes where the words before it leave off
    number = graph.spread(graph.node("iota", (), {"axis": 0}, "i32", (count * each,)), (panels, count * each, 2), (1,))
    if count * each > words:    # words that are not there, at the end
        kinds = graph.concat([kinds, graph.number(3, (panels, count * each - words, 2))], 1)
    rows = panels * count
    kinds, number = (graph.reshape(v, [rows, each, 2]) for v in (kinds, number))
    within = graph.spread(graph.node("iota", (), {"axis": 0}, "i32", (each,)), kinds.shape, (1,))
    is_first, is_second = graph.bits("eq", kinds, 0), graph.bits("eq", kinds, 1)
    before = [graph.running(is_first), graph.running(is_second)]     # of a kind, up to the word
    counts = [graph.spread(graph.sum(v, (1,)), kinds.shape, (0, 2)) for v in (is_first, is_second)]
    left = graph.op("sub", within, graph.add(*before))
    others = graph.add(graph.add(*counts), graph.add(left, graph.number(1, within)))
    is_other = graph.op("sub", graph.number(1, kinds), graph.add(is_first, is_second))
    place = graph.add(graph.mul(is_first, before[0]), graph.mul(is_second, graph.add(counts[0], before[1])))
    place = graph.add(graph.add(place, graph.mul(is_other, others)), graph.number(-1, place))
    order = graph.scattered(graph.turned(place, each), graph.turned(number, 0), 2 * rows * each)
    order = graph.reshape(order, [panels, count * 2 * each])
    upper = graph.every(order, 1, 1, 2)
    order = graph.either(graph.every(order, 1, 0, 2), graph.op("shift_left", upper, graph.number(16, upper)))
    numbers = graph.concat([graph.reshape(graph.sum(v, (1,)), [rows, 2, 1]) for v in (is_first, is_second)], 2)
    all_words = [starts, graph.reshape(numbers, [panels, 4 * count]), order]
    missing = -(4 * count + count * each) % ROW
    if missing:
        all_words.append(graph.number(0, (panels, missing)))
    return graph.concat([x, graph.reshape(graph.bytes(graph.concat(all_words, 1), x.dtype),
                                          [*heads, order_rows(words), COLUMNS, 4])], len(heads))


class _Nodes:
    """Makes nodes of integers beside others."""

    def __init__(self, make: Make, like: Node):
        self.make, self.like = make, like

    def node(self, op: str, operands: tuple[Value, ...], attrs: dict[str, Any], dtype: str,
             shape: Sequence[IntLike]) -> Value:
        return self.make(self.like, op, operands, attrs, dtype, tuple(wrap(d) for d in shape))

    def op(self, op: str, x: Value, y: Value) -> Value:
        return self.node(op, (x, y), {}, x.dtype, x.shape)

    def add(self, x: Value, y: Value) -> Value:
        return self.op("add", x, y)

    def mul(self, x: Value, y: Value) -> Value:
        return self.op("mul", x, y)

    def either(self, x: Value, y: Value) -> Value:
        return self.op("bit_or", x, y)

    def number(self, number: int, like: Value | Sequence[IntLike]) -> Value:
        shape, dtype = (like.shape, like.dtype) if isinstance(like, Value) else (tuple(wrap(d) for d in like), "i32")
        one = self.node("constant", (), {"bits": number & (0xffff if dtype == "i16" else 0xffffffff)}, dtype, ())
        return self.spread(one, shape, ())

    def spread(self, x: Value, shape: Sequence[IntLike], axes: tuple[int, ...]) -> Value:
        dims = tuple(wrap(d) for d in shape)
        return self.node("broadcast", (x,), {"shape": dims, "axes": axes}, x.dtype, dims)

    def cast(self, x: Value, dtype: str) -> Value:
        return self.node("cast", (x,), {"dtype": dtype}, dtype, x.shape)

    def reshape(self, x: Value, shape: Sequence[IntLike]) -> Value:
        dims = tuple(wrap(d) for d in shape)
        return self.node("reshape", (x,), {"shape": dims}, x.dtype, dims)

    def every(self, x: Value, axis: int, start: int, stride: int) -> Value:
        """Each `stride`-th element along an axis, from `start` on."""
        size = tuple(d // stride if i == axis else d for i, d in enumerate(x.shape))
        attrs = {"start": tuple(wrap(start if i == axis else 0) for i in range(len(size))), "size": size,
                 "stride": tuple(stride if i == axis else 1 for i in range(len(size)))}
        return self.node("slice", (x,), attrs, x.dtype, size)

    def concat(self, parts: list[Value], axis: int) -> Value:
        size = sum((p.shape[axis] for p in parts), wrap(0))
        return self.node("concat", tuple(parts), {"axis": axis}, parts[0].dtype,
                         tuple(size if i == axis else d for i, d in enumerate(parts[0].shape)))

    def reduced(self, how: str, x: Value, axes: tuple[int, ...]) -> Value:
        return self.node("reduce", (x,), {"op": how, "axes": axes, "order": "free"}, x.dtype,
                            [d for i, d in enumerate(x.shape) if i not in axes])

    def sum(self, x: Value, axes: tuple[int, ...]) -> Value:
        return self.reduced("sum", x, axes)

    def total(self, x: Value) -> Value:
        """The sum of x [panels, words, COLUMNS, bytes] of 16 bits by column: of a word it fits 16 bits."""
        return self.sum(self.cast(self.reduced("sum", x, (3,)), "i32"), (1,))

    def running(self, x: Value) -> Value:
        """The sum of the elements along axis 1 up to each."""
        return self.node("cumulative", (x,), {"op": "sum", "axis": 1, "reverse": 0}, x.dtype, x.shape)

    def turned(self, x: Value, row: int) -> Value:
        """x [panels, words, 2] as [panels * 2 * words], each element more by `row` times the number of its row."""
        panels, words, halves = (d.value for d in x.shape)
        x = self.node("transpose", (x,), {"perm": (0, 2, 1)}, x.dtype, (panels, halves, words))
        x = self.reshape(x, [panels * halves, words])
        if row:
            first = self.node("iota", (), {"axis": 0}, "i32", (panels * halves,))
            first = self.mul(first, self.number(row, first))
            x = self.add(x, self.spread(first, x.shape, (0,)))
        return self.reshape(x, [panels * halves * words])

    def scattered(self, places: Value, values: Value, count: int) -> Value:
        zeros = self.number(0, (count,))
        return self.node("scatter", (zeros, places, values), {"op": "set", "axis": 0}, "i32", (count,))

    def test(self, compare: str, x: Value, number: int) -> Value:
        return self.node(compare, (x, self.number(number, x)), {}, "bool", x.shape)

    def bits(self, compare: str, x: Value, number: int) -> Value:
        """1 where it holds, else 0."""
        return self.cast(self.test(compare, x, number), "i32")

    def halves(self, found: Value) -> Value:
        """1 for the eight columns of a word of which one or more have what was found."""
        panels, words = found.shape[:2]
        return self.reduced("max", self.reshape(self.cast(found, "i32"), [panels, words, 2, 16]), (3,))

    def unsafe(self, p: Value, q: Value) -> Value:
        """1 for the eight columns of a word with a pair that may saturate."""
        zero = self.number(0, p)
        high = self.add(self.op("maximum", p, zero), self.op("maximum", q, zero))
        low = self.add(self.op("minimum", p, zero), self.op("minimum", q, zero))
        return self.halves(self.op("logical_or", self.test("gt", high, MOST), self.test("lt", low, -MOST)))

    def bytes(self, x: Value, dtype: str) -> Value:
        """The bytes of the words of x [panels, words], least first: [panels, words, 4]."""
        parts = []
        for i in range(4):
            part = self.op("shift_right", self.op("shift_left", x, self.number(24 - 8 * i, x)), self.number(24, x))
            if dtype == "u8":
                part = self.op("bit_and", part, self.number(0xff, part))
            parts.append(self.reshape(self.cast(part, dtype), [*x.shape, 1]))
        return self.concat(parts, 2)
