# SPDX-License-Identifier: Apache-2.0
"""How a tile region (program_ir.Tiles) is cut: the axes of its tiles, and the rows that neighbouring tiles share."""
from __future__ import annotations

from math import gcd

from ..records import dataclass
from ..symbolic import Expr, Sym, divisor_of, sym, wrap
from .scalar_ir import Buffer


@dataclass(frozen=True, slots=True)
class Axis:
    """The points 0..size-1, cut into blocks of `block`. Kernels receive the first point of their block (`start`, a
    multiple of `block`) among their dims, and where the last block may have fewer points, how many there are (`count`,
    a multiple of what divides block and size; None: always `block`)."""

    start: Sym
    count: Sym | None
    block: int
    size: Expr

    @staticmethod
    def of(name: str, block: int, size: Expr) -> Axis:
        """An axis whose symbols are named after `name`; no block is longer than the axis."""
        block = min(block, size.value) if size.is_const else block
        whole = block == 1 or (size.is_const and size.value % block == 0)
        each = gcd(block, divisor_of(size))
        count = None if whole else Sym(f"{name}n", each, wrap(block), each, is_dim=True)
        points = wrap(block) if count is None else sym(count)
        return Axis(Sym(name, 0, size - points, block, is_dim=True), count, block, size)

    @property
    def points(self) -> Expr:
        """Of one block."""
        return wrap(self.block) if self.count is None else sym(self.count)

    @property
    def blocks(self) -> Expr:
        return (self.size + (self.block - 1)) // self.block

    @property
    def symbols(self) -> tuple[Sym, ...]:
        return (self.start,) if self.count is None else (self.start, self.count)


@dataclass(frozen=True, slots=True)
class Window:
    """Rows of a tensor that a tile hands on, a stripe: rows `first` to `end`-1 (of the symbols of the axes), as far as
    they are among `size`. Row `first` is at position 0 of dim `dim` of `buffer`, whatever exists of it.

    A thread that goes on to the next block of the last axis keeps the rows that it needs again: they move to the front.
    The others are computed: `count` rows from row `begin` on, which is position `at`.
    """

    buffer: str
    dim: int
    begin: Sym
    at: Sym
    count: Sym
    first: Expr
    end: Expr
    size: Expr

    @staticmethod
    def of(name: str, buffer: Buffer, dim: int, first: Expr, end: Expr, size: Expr) -> Window:
        """A window whose symbols are named after `name`."""
        height = buffer.shape[dim].value
        count = Sym(f"{name}n", 0, wrap(min(height, size.value) if size.is_const else height), is_dim=True)
        return Window(buffer.name, dim, Sym(name, 0, size - sym(count), is_dim=True),
                      Sym(f"{name}at", 0, height - sym(count), is_dim=True), count, first, end, size)

    @property
    def symbols(self) -> tuple[Sym, ...]:
        return (self.begin, self.at, self.count)
