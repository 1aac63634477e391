# SPDX-License-Identifier: Apache-2.0
"""A ContractionKernel as CUDA C, from templates/cuda/contraction.cu.in.

A block brings the operands' part of its tile to shared memory, some terms at a time. Each thread brings elements of the
same rows (or terms) every time: what its positions have of rows and columns is computed once a tile, what they have of
terms once for all its rows. Where the two do not part, or neighbours are not 4 aligned elements, it goes element by
element; so every contraction of the loop IR fits: packed or in place, several loops over rows, columns and terms,
padding."""
from __future__ import annotations

from typing import Any

from ...loops import schedule_cuda
from ...loops.few_rows import FewRows
from ...loops.line_tiles import LineTile
from ...loops.library_products import LibraryAlgorithm
from ...loops.loop_ir import ContractionKernel, GroupedContractionKernel
from ...loops.schedule_cuda import EXACT, Tile, Units
from ...loops.schedule_half import HalfTile
from ...symbolic import Expr, Sym, divisor_of, sym
from ..contraction.source import whole
from .epilogue import epilogue
from .few import emit_few
from .half import emit_half
from .lines import emit_lines
from .part import Part, Split, kernel_texts, split
from ..scalar import extent, indent
from ..template import expand_file


def emit_contraction(kernel: ContractionKernel | GroupedContractionKernel, symbol: str, units: Units = EXACT) -> str:
    tile = schedule_cuda.tile(kernel, units)
    if isinstance(tile, HalfTile):
        return emit_half(kernel, symbol, units.precision, tile)
    assert not isinstance(tile, LibraryAlgorithm), "nothing is written of what a library computes"
    if isinstance(tile, FewRows):
        return emit_few(kernel, symbol, units.precision, tile)
    if isinstance(tile, LineTile):
        return emit_lines(kernel, symbol, tile)
    parts = [_Part(part, tile).fields() for part in whole(kernel)]
    sums = max(len(part["sums"]) for part in parts)
    return expand_file("cuda/contraction_mma.cu.in" if tile.matrix else "cuda/contraction.cu.in", {
        **kernel_texts(kernel, symbol, parts), "most_sums": sums,
        "rows": tile.rows, "columns": tile.columns, "depth": tile.depth, "height": tile.height, "width": tile.width,
        "stages": tile.stages(sums), "a_pad": tile.pads[0], "b_pad": tile.pads[1],
        "ahead": tile.sums <= (32 if tile.matrix else 16),
        "buffers": 2 if tile.sums <= 16 else 1, "least_blocks": 2 if tile.sums >= 64 else 1,
        "threads": tile.threads})


def _neighbours(e: Expr, variables: tuple[Sym, ...]) -> bool:
    """Whether 4 points of the variables from a multiple of 4 on are 4 aligned elements at e."""
    last = variables[-1]
    if e.coefficient(last) != 1 or not _fours(extent(last)):
        return False
    return _fours(e.substitute({last: 0}))


def _fours(e: Expr) -> bool:
    return divisor_of(e) % 4 == 0


class _Part(Part):
    def __init__(self, kernel: ContractionKernel, tile: Tile):
        assert all(x.dtype == "f32" and not x.dynamic for x in (kernel.a, *kernel.b)), "contractions are of f32"
        assert not any(b.valid for b in kernel.b), "operands are read as they lie"
        super().__init__(kernel, [f"sum{i}" for i in range(len(kernel.b))])
        self.tile = tile
        self.setup: list[str] = []
        self.bring: list[str] = []
        self.bring_a()
        self.bring_b()

    def fields(self) -> dict[str, Any]:
        kernel, tile = self.kernel, self.tile
        after = {"epilogue": self.stored()} if tile.matrix else \
            {"after": epilogue(self, tile.rows, tile.columns, tile.height, tile.width)}
        limits = self.limits(tile.rows)
        return {**self.texts(), **limits, **{name: "\n".join(lines) for name, lines in after.items()},
                "setup": "\n".join(self.setup), "bring": "\n".join(self.bring),
                "sums": [{"i": i} for i in range(len(kernel.b))],
                "batch_text": self.points(kernel.batch)}

    def stored(self) -> list[str]:
        """Statements of one point, whose sums are known."""
        e, kernel = self.e, self.kernel
        e.open(kernel.batch + kernel.m + kernel.n)
        self.repair("sum0")
        e.stores(kernel.stores)
        return e.scopes.pop().lines

    # -- the first operand: rows x terms -----------------------------------------------------------------------------
    def bring_a(self) -> None:
        """Neighbours among the threads are neighbours in memory: terms, or else rows where those are."""
        kernel, tile, e = self.kernel, self.tile, self.e
        address = e.address(kernel.a.buffer, kernel.a.index)
        place = split(address, kernel.k)
        valid = [split(x, kernel.k) for x in kernel.a.valid]
        if place is None or None in valid:
            place, valid = Split(address * 0, address), [Split(x * 0, x) for x in kernel.a.valid]
        whole_k = all(x is not None and kernel.k[-1] not in x.inner.symbols() for x in valid)
        if whole_k and _neighbours(place.inner, kernel.k) and _fours(place.outer):
            self.rows(place, valid, 4, tile.depth // 4)
        elif kernel.m and address.coefficient(kernel.k[-1]) != 1 and address.coefficient(kernel.m[-1]) == 1 \
                and tile.threads % tile.rows == 0:
            self.terms(place, valid)
        else:
            self.rows(place, valid, 1, tile.depth)

    def rows(self, place: Split, valid: list[Any], width: int, across: int) -> None:
        """A thread has `width` terms of some rows: `across` threads have a row's."""
        kernel, tile, e = self.kernel, self.tile, self.e
        step = tile.threads // across
        count = -(-tile.rows // step)
        ragged = tile.rows % step != 0
        pointer = e.pointers[kernel.a.buffer]
        flags = [f"row_v{j}" for j in range(len(valid))]
        outer_k = bool(set(kernel.m) & set(place.inner.symbols())) or any(set(kernel.m) & set(v.inner.symbols())
                                                                          for v in valid)
        assert not ragged or step % tile.rows == 0 or count > 1
        self.setup += [f"const int a_k = thread % {across} * {width}, a_row = thread / {across};",
                       f"tc_index row_at[{count}];", "unsigned row_in = 0;",
                       *(f"tc_index {flag}[{count}];" for flag in flags), "#pragma unroll",
                       f"for (int i = 0; i < {count}; ++i) {{",
                       f"    const tc_index row = m_first + a_row + i * {step};",
                       *indent(self.decoded["m"]),
                       f"    row_in |= (unsigned)(row < "
                       f"m_size{f' && a_row + i * {step} < {tile.rows}' if ragged else ''}) << i;",
                       f"    row_at[i] = {e.index(place.outer)};",
                       *(f"    {flag}[i] = {e.index(v.outer)};" for flag, v in zip(flags, valid)), "}"]
        tests = [f"{flag}[i] + ({e.index(v.inner)}) >= 0" for flag, v in zip(flags, valid)]
        again = [f"const tc_index row = m_first + a_row + i * {step};", *self.decoded["m"]] if outer_k else []
        there = " && ".join(["k < k_size", "(row_in >> i & 1)", *tests])
        self.bring += [
            "{", "    const tc_index k = k_first + a_k;", *indent(self.decoded["k"]), "#pragma unroll",
            f"    for (int i = 0; i < {count}; ++i) {{", *indent(indent(again)), f"        const bool there = {there};",
            *([f"        if (a_row + i * {step} < {tile.rows})"] if ragged else []),
            f"        tc_copy<{width}>(a_tile + (a_row + i * {step}) * A_LINE + a_k, "
            f"{pointer} + (there ? row_at[i] + ({e.index(place.inner)}) : 0), there);", "    }", "}"]

    def terms(self, place: Split, valid: list[Any]) -> None:
        """A thread has some terms of one row: neighbours have neighbouring rows."""
        kernel, tile, e = self.kernel, self.tile, self.e
        step = tile.threads // tile.rows
        count = -(-tile.depth // step)
        ragged = tile.depth % step != 0
        pointer = e.pointers[kernel.a.buffer]
        flags = [f"row_v{j}" for j in range(len(valid))]
        self.setup += [f"const int a_row = thread % {tile.rows}, a_k = thread / {tile.rows};",
                       "const tc_index row = m_first + a_row;", *self.decoded["m"], "const bool row_in = row < m_size;",
                       f"const tc_index row_at = {e.index(place.outer)};",
                       *(f"const tc_index {flag} = {e.index(v.outer)};" for flag, v in zip(flags, valid))]
        tests = [f"{flag} + ({e.index(v.inner)}) >= 0" for flag, v in zip(flags, valid)]
        self.bring += ["#pragma unroll", f"for (int i = 0; i < {count}; ++i) {{",
                       f"    const tc_index k = k_first + a_k + i * {step};", *indent(self.decoded["k"]),
                       f"    const bool there = {' && '.join(['k < k_size', 'row_in', *tests])};",
                       *([f"    if (a_k + i * {step} < {tile.depth})"] if ragged else []),
                       f"    tc_copy<1>(a_tile + a_row * A_LINE + a_k + i * {step}, "
                       f"{pointer} + (there ? row_at + ({e.index(place.inner)}) : 0), there);", "}"]

    # -- the second operands: terms x columns, which are neighbours ---------------------------------------------------
    def second(self) -> tuple[list[Split], int]:
        """Where elements lie, and how many columns are read at a time."""
        kernel, e = self.kernel, self.e
        addresses = [e.address(b.buffer, b.index) for b in kernel.b]
        places = [place for address in addresses if (place := split(address, kernel.k)) is not None]
        if len(places) < len(addresses):
            return [Split(a * 0, a) for a in addresses], 1
        fours = kernel.b_panel % 4 == 0 and kernel.b_panel > 0 and self.panels(places) \
            or all(_neighbours(p.outer, kernel.n) and _fours(p.inner) for p in places)
        return places, 4 if fours else 1

    def bring_b(self) -> None:
        kernel, tile, e = self.kernel, self.tile, self.e
        places, width = self.second()
        across = tile.columns // width
        step = max(1, tile.threads // across)
        count = -(-tile.depth // step)
        ragged = tile.depth % step != 0
        spare = f"b_k < {step} && " if tile.threads % across and tile.threads > across else ""
        sums = range(len(kernel.b))
        self.setup += [f"const int b_column = thread % {across} * {width}, b_k = thread / {across};",
                       "const tc_index column = n_first + b_column;", *self.decoded["n"],
                       "const bool column_in = column < n_size;",
                       *(f"const tc_index column_at{s} = {e.index(places[s].outer)};" for s in sums)]
        copies = [f"tc_copy<{width}>(b_tile + {s} * B_SIZE + (b_k + i * {step}) * B_LINE + b_column, "
                  f"{e.pointers[kernel.b[s].buffer]} + (there ? column_at{s} + ({e.index(places[s].inner)}) : 0), "
                  f"there);"
                  for s in sums]
        self.bring += ["#pragma unroll", f"for (int i = 0; i < {count}; ++i) {{",
                       f"    const tc_index k = k_first + b_k + i * {step};", *indent(self.decoded["k"]),
                       "    const bool there = k < k_size && column_in;",
                       *([f"    if ({spare}b_k + i * {step} < {tile.depth}) {{"] if ragged or spare else ["    {"]),
                       *indent(indent(copies)), "    }", "}"]

    def panels(self, places: list[Split]) -> bool:
        """Whether 4 columns of a panel are 4 aligned elements: panels are whole, also the last one."""
        if len(self.kernel.n) != 1:
            return False
        (n,) = self.kernel.n
        quarter, lane = Sym("quarter", 0, None), Sym("lane", 0, 3)
        for p in places:
            moved = p.outer.substitute({n: 4 * sym(quarter) + sym(lane)})
            if moved.coefficient(lane) != 1 or not _fours(moved.substitute({lane: 0})) or not _fours(p.inner):
                return False
        return True

