# SPDX-License-Identifier: Apache-2.0
"""How a ContractionKernel walks its operands: what the candidate table's constraints and the template ask about it.

Rows are the points of `m`, columns those of `n`, terms those of `k`, each flattened in row-major order.
"""
from __future__ import annotations

from functools import lru_cache

from ...loops.loop_ir import ContractionKernel
from ...loops.products import Product
from ...loops.scalar_ir import Buffer, Load
from ...records import dataclass
from ...symbolic import Expr, Sym, ZERO, const, is_nonnegative, product, sym, wrap
from ..scalar import extent

ZERO_ROW = 2048   # the longest row of zeros that stands in for a position in the padding


@dataclass(frozen=True, slots=True)
class TermLoop:
    """A loop over terms: element strides of a and b."""

    var: Sym
    extent: Expr
    a: Expr
    b: Expr


@dataclass(frozen=True, slots=True)
class Bound:
    """An expression of `valid`, which must be >= 0: the row's part, the term's part, and the term's least value
    (None where its sign is not known)."""

    row: Expr
    term: Expr
    least: Expr | None


@dataclass(frozen=True, slots=True)
class Access:
    """a_offset: of a row's first term, over batch and m. a_row: distance of consecutive rows, None where it varies.
    b_offset: of the first term of the column `column`, over batch. b_piece: distance of columns 16 apart (of the panel
    width apart, for panels of 4).
    sums: accumulators a point, each of a second operand of its own; those all lie as the first does.
    inside: the loops over terms where every position exists; border: those where `bounds` decide, the last of which
    (when `border_inner`) is free of them. in_place: b is not in panels; term_by_term: and its columns lie so.
    run: rows of the last variable of m.
    Where the product has groups, a term is a group of them, and what is said of b counts words of one group: terms is
    the number of groups, `elements` that of the products, over which the loops go."""

    rows: Expr
    columns: Expr
    terms: Expr
    batches: Expr
    a_offset: Expr
    a_row: Expr | None
    b_offset: Expr
    b_piece: Expr
    column: Sym
    inside: tuple[TermLoop, ...]
    border: tuple[TermLoop, ...]
    border_inner: bool
    bounds: tuple[Bound, ...]
    sums: int
    in_place: bool
    product: Product
    elements: Expr
    run: Expr
    m: tuple[Sym, ...]
    term_by_term: bool

    @property
    def row_stride_known(self) -> bool:
        """The rows of a tile are a constant distance apart: one pointer reaches them all."""
        return self.evenly is not None and not self.bounds

    @property
    def evenly(self) -> int | None:
        """The distance of consecutive rows, in the padding too; None where it is no constant."""
        return self.a_row.value if self.a_row is not None and self.a_row.is_const else None

    @property
    def whole_panels(self) -> bool:
        """No panel of 16 columns has some that do not exist."""
        return self.columns.is_const and self.columns.value % 16 == 0

    @property
    def taps(self) -> int | None:
        """Of the loops over terms all but the innermost, as one count, where some positions may not exist; None where
        it is not known."""
        count = 1
        for loop in self.border[:-1] if self.border_inner else self.border:
            if not loop.extent.is_const:
                return None
            count *= loop.extent.value
        return count

    @staticmethod
    def of(kernel: ContractionKernel) -> "Access":
        return _access(kernel.batch, kernel.m, kernel.n, kernel.k, kernel.a, kernel.b, kernel.b_panel,
                       tuple(kernel.params), kernel.product)


def flat(variables: tuple[Sym, ...], flattened: Expr) -> dict[Sym, Expr]:
    """Each variable as an expression of the flattened row-major index."""
    out: dict[Sym, Expr] = {}
    rest = flattened
    for position, s in reversed(list(enumerate(variables))):
        if position == 0:
            out[s] = rest
        else:
            out[s] = rest % extent(s)
            rest = rest // extent(s)
    return out


@lru_cache(maxsize=4096)
def _access(batch: tuple[Sym, ...], m: tuple[Sym, ...], n: tuple[Sym, ...], k: tuple[Sym, ...], a: Load,
            second: tuple[Load, ...], b_panel: int, params: tuple[Buffer, ...], kind: Product) -> Access:
    buffers, b = {p.name: p for p in params}, second[0]
    first_term = {s: ZERO for s in k}
    a_address = buffers[a.buffer].address(a.index)
    elements = product(extent(s) for s in k)
    terms = (elements + (kind.group - 1)) // kind.group
    b_address = buffers[b.buffer].address(b.index)
    if kind.group > 1:   # in words, of the first one of a column
        b_address = ZERO
        for at, stride in zip((*b.index[:-3], ZERO, b.index[-2]), buffers[b.buffer].strides):
            b_address += at * (stride // kind.group)
    rows, columns = product(extent(s) for s in m), product(extent(s) for s in n)

    row = Sym("row", 0, rows - 1)
    a_flat = a_address.substitute(first_term).substitute(flat(m, sym(row)))
    a_row = a_flat.coefficient(row)
    column = Sym("column", 0, columns - 1)
    b_flat = b_address.substitute(flat(n, sym(column)))
    b_offset = b_flat.substitute(first_term)
    panel = Sym("panel", 0, columns // max(b_panel, 1))
    width = b_panel or 16
    b_piece = b_offset.substitute({column: width * sym(panel)}).coefficient(panel)
    assert b_piece is not None, f"{b.buffer}: not in panels and not of stride 1"
    term_by_term = not b_panel and b_offset.coefficient(column) != 1
    assert not term_by_term or len(k) == 1 and b_address.coefficient(k[0]) == 1, f"{b.buffer}: nothing is of stride 1"

    def step(address: Expr, s: Sym) -> Expr:
        stride = address.coefficient(s)
        assert stride is not None, f"{address} is not affine in {s.name}"
        return stride

    loops = tuple(TermLoop(s, extent(s), step(a_address, s), step(b_flat, s) if kind.group == 1 else
                           product((wrap(b_panel), *(extent(x) for x in k[i + 1:])))) for i, s in enumerate(k))
    bounded = frozenset().union(*(v.symbols() for v in a.valid)) if a.valid else frozenset()
    border = _merge(loops, bounded)
    inner = border and border[-1].var not in bounded and _fits(border[-1])
    return Access(rows, columns, terms, product(extent(s) for s in batch),
                  a_address.substitute(first_term), a_row, b_offset, b_piece, column, _merge(loops, frozenset()),
                  border, bool(inner), tuple(_bound(v, k) for v in a.valid), len(second), b_panel == 0, kind,
                  elements, extent(m[-1]) if m else const(1), m, term_by_term)


def _fits(loop: TermLoop) -> bool:
    return loop.a.is_const and loop.extent.is_const and abs(loop.a.value) * (loop.extent.value - 1) < ZERO_ROW


def _merge(loops: tuple[TermLoop, ...], keep: frozenset[Sym]) -> tuple[TermLoop, ...]:
    """Joins neighbouring loops that walk both operands as one; those over a symbol of `keep` stay as they are."""
    out: list[TermLoop] = []
    for loop in loops:
        last = out[-1] if out else None
        if last and last.var not in keep and loop.var not in keep \
                and last.a == loop.a * loop.extent and last.b == loop.b * loop.extent:
            joined = last.extent * loop.extent
            out[-1] = TermLoop(Sym(last.var.name, 0, joined - 1), joined, loop.a, loop.b)
        else:
            out.append(loop)
    return tuple(out)


def _bound(e: Expr, k: tuple[Sym, ...]) -> Bound:
    row = e.substitute({s: ZERO for s in k})
    term, least = e - row, ZERO
    for s in k:
        c = e.coefficient(s)
        if c is None or not (is_nonnegative(c) or is_nonnegative(-c)):
            return Bound(row, term, None)
        if not is_nonnegative(c):
            least = least + c * (extent(s) - 1)
    return Bound(row, term, least)
