# SPDX-License-Identifier: Apache-2.0
"""What products of bytes (byte_products.py) have in scratch where they are computed by vectors of 16 bytes."""
from __future__ import annotations

from dataclasses import dataclass
from math import gcd
from typing import Callable, Iterable

from ..instruction_sets import instruction_set
from .byte_products import Channels, Columns, Form, pair_words, Row
from .scalars import extent

VECTOR = 16
QUAD = 4     # rows of weights, or channels, whose sums are finished together
MOST_POINTS = 8
MOST_BYTES = 1024   # of columns, where fewer than four points have less
MANY_POINTS = 24    # whose sums are finished together, if rows are so short


def rounded(n: int, to: int) -> int:
    return -(-n // to) * to


@dataclass(frozen=True, slots=True)
class ColumnsLayout:
    """`points` columns of `step` bytes, zero behind their terms; behind them four sums of each."""

    points: int
    step: int

    @property
    def bytes(self) -> int:
        return self.points * (self.step + 4 * QUAD)


@dataclass(frozen=True, slots=True)
class ChannelsLayout:
    """`channels` at a time. A channel's rows lie interleaved: of each position the bytes of `slots` rows, row y in the
    slot y % slots, so that a window is one run of bytes. The weights of a window are a run of `chunks` vectors, zero
    where no tap is, in the order of slots that a window of the rows `row` has: `turns` of them. Behind weights and
    rows, `plane` bytes a channel, the sums of `together` rows of points, by four channels."""

    channels: int
    slots: int
    chunks: int
    turns: int
    plane: int
    columns: int
    together: int

    @property
    def weights(self) -> int:
        return self.turns * self.channels * self.chunks * VECTOR

    @property
    def rows(self) -> int:
        return self.channels * self.plane

    @property
    def bytes(self) -> int:
        return self.weights + self.rows + self.together * self.columns * 4 * self.channels


def columns_layout(form: Columns) -> ColumnsLayout:
    step = rounded(form.terms, VECTOR)
    points = MOST_POINTS if MOST_POINTS * step <= MOST_BYTES else QUAD
    return ColumnsLayout(min(points, rounded(form.points, 2)), step)


def channels_layout(form: Channels) -> ChannelsLayout:
    tall, wide = form.taps
    slots = 1 << (tall - 1).bit_length()
    chunks = -(-wide * slots // VECTOR)
    columns, rows = extent(form.column).value, extent(form.row).value
    # what the last window reads behind its own bytes is in the plane, too
    return ChannelsLayout(8 if extent(form.channel).value % 8 == 0 else QUAD, slots, chunks,
                          slots // gcd(slots, form.row_stride), rounded(form.width * slots + VECTOR * chunks, 4),
                          columns, max(1, min(rows, MANY_POINTS // columns)))


def scratch_for(isas: Iterable[str]) -> Callable[[Form], int]:
    """Words that a form needs, whichever of the instruction sets computes it."""
    sets = [instruction_set(isa) for isa in isas]
    ways = [_scratch if s.byte_vectors else pair_words if s.byte_pairs else lambda form: form.scratch for s in sets]
    return lambda form: max(way(form) for way in ways)


def _scratch(form: Form) -> int:
    if isinstance(form, Row):
        return 0
    return -(-(columns_layout(form) if isinstance(form, Columns) else channels_layout(form)).bytes // 4)
