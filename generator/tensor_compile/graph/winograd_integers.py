# SPDX-License-Identifier: Apache-2.0
"""Winograd's convolution of bytes, for processors that multiply pairs of 16 bits and no bytes four at a time.

F(2, 3) has no fractions but the 1/2 of its weights (winograd.py). With twice the weights in both axes all sums are four
times those of the convolution, in integers: they are shifted back, and every result is the same. Bytes have at most 11
bits at points and their weights 12, so that products are those of 16 bits: 2.25 times fewer than without points, on a
processor that multiplies bytes little faster than pairs of 16 bits. With dot products of bytes it is not worth it.
"""
from __future__ import annotations

from fractions import Fraction
from typing import Iterator, Sequence

from ..symbolic import wrap
from .absorb import constants
from .dtypes import DTYPES
from .ir import Function, Node, Value
from .winograd import at_points, Convolution, FEWEST, Form, FORMS, TAPS

FORM = FORMS[0]
SHIFT = 2       # by which sums of twice the weights, in both axes, are too large
# what the costs are reckoned with
BYTES = 28      # products of bytes a cycle,
PAIRS = 24      # and of pairs of 16 bits
TRANSFORM = 0.45    # cycles of an element on its way to a point, or back
NEAR = 1 << 20  # bytes of weights at points up to which they do not come from far
FAR = 2         # bytes a cycle of more
WORTH = 0.8     # of the time without points, at most


def winograd_integers(function: Function) -> Function:
    """The function with such convolutions at points."""
    constant = constants(function)
    return at_points(function, dict(_chosen(function.nodes, constant)), _Integers)


def _chosen(nodes: Sequence[Node], constant: set[Node]) -> Iterator[tuple[Node, Form]]:
    for node in nodes:
        if node.op == "convolution" and _possible(node, constant):
            high, wide = (d.value for d in node.types[0].shape[2:])
            outs, ins = (d.value for d in node.operands[1].shape[:2])
            if worth(high, wide, outs, ins):
                yield node, FORM


def _possible(node: Node, constant: set[Node]) -> bool:
    """A 3x3 convolution of stride 1, of bytes by constant bytes, whose sums four times over fit i32."""
    x, w = node.operands
    attrs, ones = node.attrs, (1, 1)
    if node.types[0].dtype != "i32" or len(node.types[0].shape) != 4 or w.node not in constant or x.node in constant \
            or attrs["groups"] != 1 or attrs["stride"] != ones or attrs["dilation"] != ones \
            or min(*attrs["low"], *attrs["high"]) < 0:
        return False
    sizes = (*w.shape, *x.shape[2:], *node.types[0].shape[2:])
    if not all(s.is_const for s in sizes) or w.shape[2:] != (wrap(TAPS), wrap(TAPS)):
        return False
    largest = [_largest(v) for v in (x, w)]
    return all(largest) and TAPS * TAPS * w.shape[1].value * largest[0] * largest[1] << SHIFT < 1 << 31


def _largest(v: Value) -> int:
    """The largest absolute value of what was widened from bytes; 0: it was not."""
    dtype = v.node.operands[0].dtype if v.node.op == "cast" else ""
    return 0 if dtype not in ("i8", "u8") else 1 << DTYPES[dtype].digits


def worth(high: int, wide: int, outs: int, ins: int) -> bool:
    """Whether results of this size take less time at points."""
    if min(outs, ins) < FEWEST or min(high, wide) < 2:
        return False
    tiles, points = -(-high // FORM.m) * -(-wide // FORM.m), FORM.n * FORM.n
    compute, weights = tiles * points * outs * ins / PAIRS, 2 * points * outs * ins
    stream = weights / FAR if weights > NEAR else 0
    cycles = max(compute, stream) + 0.3 * min(compute, stream) + tiles * points * (ins + outs) * TRANSFORM
    return cycles < WORTH * high * wide * TAPS * TAPS * outs * ins / BYTES


class _Integers(Convolution):
    """One of them, in i32; what is stored of points are 16 bits."""

    named = False   # the same bits

    def weights(self, w: Value) -> Value:
        twice = self.multiplied(w, [[Fraction(2) * by for by in line] for line in self.form.weights])
        return self.widened(self.narrowed(twice))

    def image(self, x: Value) -> Value:
        return x.node.operands[0]

    def narrowed(self, x: Value) -> Value:
        return self.value("cast", x, dtype="i16")

    def widened(self, x: Value) -> Value:
        return self.value("cast", x, dtype="i32")

    def whole(self, part: Value) -> Value:
        return self.value("shift_right", part, self.builder.filled(part.type, SHIFT, self.node))
