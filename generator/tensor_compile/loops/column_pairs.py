# SPDX-License-Identifier: Apache-2.0
"""Columns of a product as pairs that lie a half of something apart, as the elements that rotary positions turn: where
both sums of a point are of such a pair, warps of one block have them and tell each other (paired.py,
emit/cuda/few.py)."""
from __future__ import annotations

from functools import lru_cache
from typing import Iterator, Mapping

from ..records import dataclass
from ..symbolic import Expr, Sym, sym
from .loop_ir import ContractionKernel
from .scalar_ir import Buffer, Load
from .scalars import extent

LEAST = 4    # columns of a half: as many as half of a block has warps (few_rows.FORMS)


@dataclass(frozen=True)
class Halves:
    """Columns as pairs of neighbouring blocks of `half`: the other column of each lies as far in the other block."""

    column: Sym
    half: int

    def other(self, e: Expr) -> Expr:
        """What e is at the other column."""
        (outer, second, within), n = self.parts, sym(self.column)
        turned = e.substitute({self.column: 2 * self.half * outer + self.half * (1 - second) + within})
        places = {s: place for part, place in zip(self.parts, (
            n // (2 * self.half), n // self.half - 2 * (n // (2 * self.half)), n % self.half)) for s in part.symbols()}
        return turned.substitute(places)

    @property
    def parts(self) -> tuple[Expr, Expr, Expr]:
        """Pair of blocks, block of the two, column in the block."""
        return _parts(extent(self.column).value, self.half)


@lru_cache
def _parts(columns: int, half: int) -> tuple[Expr, Expr, Expr]:
    pairs = columns // (2 * half)
    outer = sym(Sym("pair", 0, pairs - 1)) if pairs > 1 else Expr(())
    return outer, sym(Sym("second", 0, 1)), sym(Sym("within", 0, half - 1))


def half_of(buffers: Mapping[str, Buffer], part: ContractionKernel) -> int:
    """How far the column of its second sum lies from that of the first; 0 where that is no other column of it."""
    if len(part.b) != 2 or part.b[0].buffer != part.b[1].buffer or len(part.n) != 1 or not extent(part.n[0]).is_const:
        return 0
    one, two = (buffers[b.buffer].address(b.index) for b in part.b)
    return next((h.half for h in halves_of(part.n[0]) if one != two and h.other(one) == two), 0)


def multiplied(buffers: Mapping[str, Buffer], part: ContractionKernel) -> tuple[Load, ...]:
    """The second operands that a point's columns are multiplied by: the other column's sum is that of another point."""
    return part.b[:1] if half_of(buffers, part) else part.b


def halves_of(column: Sym) -> Iterator[Halves]:
    columns, half = extent(column).value, LEAST
    while columns % (2 * half) == 0:
        yield Halves(column, half)
        half *= 2
