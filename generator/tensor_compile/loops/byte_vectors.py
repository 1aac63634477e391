# SPDX-License-Identifier: Apache-2.0
"""What products of bytes (byte_products.py) have in scratch where they are computed by vectors of 16 bytes."""
from __future__ import annotations

from math import gcd
from typing import Callable, Iterable, Iterator, TypeVar

from ..instruction_sets import instruction_set
from ..records import dataclass
from ..symbolic import Expr
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
    """`channels` at a time. A channel's rows lie interleaved: of each position the bytes of `slots` rows, as many as a
    window has, row y in the slot y % slots, so that a window is one run of bytes. The weights of a window are such a
    run, too, of `run` bytes, in the order of slots that a window of the rows `row` has: `turns` of them. Behind weights
    and rows, `plane` bytes a channel, the sums of `together` rows of points, by four channels."""

    channels: int
    slots: int
    run: int
    turns: int
    plane: int
    columns: int
    together: int

    @property
    def weights(self) -> int:
        return rounded(self.turns * self.channels * self.run, 4)

    @property
    def rows(self) -> int:
        return self.channels * self.plane

    @property
    def bytes(self) -> int:
        return self.weights + self.rows + self.together * self.columns * 4 * self.channels


_Layout = TypeVar("_Layout", ColumnsLayout, ChannelsLayout)


def columns_layout(form: Columns, room: int | None = None) -> ColumnsLayout:
    """The fastest layout that has at most `room` bytes; the smallest one where none has. None: as many as it likes."""
    step = rounded(form.terms, VECTOR)
    most = MOST_POINTS if MOST_POINTS * step <= MOST_BYTES else QUAD
    there = rounded(_most(form.points), 2)
    return _fitting((ColumnsLayout(min(points, there), step) for points in range(most, 0, -2)), room)


def channels_layout(form: Channels, room: int | None = None) -> ChannelsLayout:
    """As columns_layout."""
    tall, wide = form.taps
    slots, run = tall, wide * tall
    columns, rows = extent(form.column).value, _most(extent(form.row))
    # what the last window reads behind its own bytes is in the plane, too
    last = (columns - 1) * form.column_stride * slots + rounded(run, VECTOR)
    plane = rounded(max(form.width * slots, last), 4)
    turns = slots // gcd(slots, form.row_stride)
    together = max(1, min(rows, MANY_POINTS // columns))
    sizes = (8, QUAD) if extent(form.channel).value % 8 == 0 else (QUAD,)
    return _fitting((ChannelsLayout(channels, slots, run, turns, plane, columns, many)
                     for channels in sizes for many in (together, min(together, 2), 1)), room)


def _most(e: Expr) -> int:
    """The upper end of a number of points or rows."""
    high = e.range()[1]
    assert high is not None
    return high


def _fitting(layouts: Iterator[_Layout], room: int | None) -> _Layout:
    """The first that fits, else the last."""
    found = next(layouts)
    while room is not None and found.bytes > room and (smaller := next(layouts, None)) is not None:
        found = smaller
    return found


def scratch_for(isas: Iterable[str]) -> Callable[[Form, int | None], int]:
    """Words that a form needs, whichever of the instruction sets computes it; in as many bytes as there is room for, if
    it can."""
    sets = [instruction_set(isa) for isa in isas]

    def words(form: Form, room: int | None) -> int:
        return max(_scratch(form, room) if s.byte_vectors else pair_words(form) if s.byte_pairs else form.scratch
                   for s in sets)

    return words


def _scratch(form: Form, room: int | None) -> int:
    if isinstance(form, Row):
        return 0
    layout = columns_layout(form, room) if isinstance(form, Columns) else channels_layout(form, room)
    return -(-layout.bytes // 4)
