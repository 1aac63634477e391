# SPDX-License-Identifier: Apache-2.0
"""A ContractionKernel as CUDA C, from templates/cuda/contraction.cu.in.

A block brings the operands' part of its tile to shared memory, some terms at a time. Each thread brings elements of the
same rows (or terms) every time: what its positions have of rows and columns is computed once a tile, what they have of
terms once for all its rows. Where the two do not part, or neighbours are not 4 aligned elements, it goes element by
element; so every contraction of the loop IR fits: packed or in place, several loops over rows, columns and terms, padding."""
from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Iterable

from ..loops import schedule_cuda
from ..loops.ir import ContractionKernel, Load, SiblingsKernel
from ..loops.schedule_cuda import Tile
from ..symbolic import Expr, Sym, divisor_of, product, sym
from .contraction import whole
from .cuda import decode, emitter, narrow, pointers, prologue
from .nest import parameters
from .scalar import extent, indent
from .template import expand_file


def emit_contraction(kernel: ContractionKernel | SiblingsKernel, symbol: str, precision: str = "f32") -> str:
    tile = schedule_cuda.tile(kernel, precision)
    parts = [(_Part(part, tile) if tile.group else _Words(part, tile, precision)).fields() for part in whole(kernel)]
    used = {word for part in parts for text in part.values() if isinstance(text, str) for word in re.findall(r"\w+", text)}
    text = expand_file("cuda/contraction.cu.in" if tile.group else "cuda/contraction_mma.cu.in", {
        "label": kernel.label, "symbol": symbol, "parameters": parameters(kernel), "pointers": pointers(kernel),
        "dims": len(kernel.dims), "prologue": "\n".join(prologue(kernel, used, frozenset(s.buffer for s in kernel.stores))),
        "parts": parts, "many": len(parts) > 1, "most_sums": max(len(part["sums"]) for part in parts),
        "rows": tile.rows, "columns": tile.columns, "depth": tile.depth, "height": tile.height, "width": tile.width,
        "group": tile.group, "least_blocks": ", 2" if tile.sums >= 64 else "",
        "threads": tile.threads, "precision": precision, "terms": 1 if precision == "tf32" else 2})
    return narrow(kernel, text)


@dataclass(frozen=True, slots=True)
class _Split:
    """An expression as one of rows (or columns) and batches, and one of terms, whose sum it is."""

    outer: Expr
    inner: Expr


def _split(e: Expr, terms: Iterable[Sym]) -> _Split | None:
    """None where the two do not part."""
    outer = e.substitute({s: 0 for s in terms})
    inner = e - outer
    return _Split(outer, inner) if inner.symbols() <= set(terms) | {s for s in e.symbols() if s.is_dim} else None


def _neighbours(e: Expr, variables: tuple[Sym, ...]) -> bool:
    """Whether 4 points of the variables from a multiple of 4 on are 4 aligned elements at e."""
    last = variables[-1]
    if e.coefficient(last) != 1 or not _fours(extent(last)):
        return False
    return _fours(e.substitute({last: 0}))


def _fours(e: Expr) -> bool:
    return divisor_of(e) % 4 == 0


class _Part:
    """The texts of one contraction of a kernel."""

    def __init__(self, kernel: ContractionKernel, tile: Tile):
        assert all(x.dtype == "f32" and not x.dynamic for x in (kernel.a, *kernel.b)), "contractions are of f32"
        assert not any(b.valid for b in kernel.b), "operands are read as they lie"
        self.kernel, self.tile = kernel, tile
        self.e = emitter(kernel, {s.buffer for s in kernel.stores}, [f"sum{i}" for i in range(len(kernel.b))])
        self.decoded = {name: decode(self.e, flat, variables) for name, flat, variables in
                        (("batch", "batch", kernel.batch), ("m", "row", kernel.m), ("n", "column", kernel.n),
                         ("k", "k", kernel.k))}
        self.setup: list[str] = []
        self.load: list[str] = []
        self.keep: list[str] = []
        self.bring_a()
        self.bring_b()

    def fields(self) -> dict[str, Any]:
        e, kernel = self.e, self.kernel
        e.open(kernel.batch + kernel.m + kernel.n)
        e.stores(kernel.stores)
        epilogue = e.scopes.pop().lines
        return {**{f"{name}_decode": "\n".join(lines) for name, lines in self.decoded.items()},
                "setup": "\n".join(self.setup), "load": "\n".join(self.load), "keep": "\n".join(self.keep),
                "sums": [{"i": i} for i in range(len(kernel.b))], "sum_count": len(kernel.b),
                "epilogue": "\n".join(epilogue), "prologue": "\n".join(e.lines), "m_text": self.points(kernel.m),
                "n_text": self.points(kernel.n), "k_text": self.points(kernel.k), "batch_text": self.points(kernel.batch)}

    def points(self, variables: tuple[Sym, ...]) -> str:
        return f"({self.e.index(product(extent(s) for s in variables))})"

    # -- the first operand: rows x terms -----------------------------------------------------------------------------
    def bring_a(self) -> None:
        """Neighbours among the threads are neighbours in memory: terms, or else rows where those are."""
        kernel, tile, e = self.kernel, self.tile, self.e
        address = e.address(kernel.a.buffer, kernel.a.index)
        place = _split(address, kernel.k)
        valid = [_split(x, kernel.k) for x in kernel.a.valid]
        if place is None or None in valid:
            place, valid = _Split(address * 0, address), [_Split(x * 0, x) for x in kernel.a.valid]
        whole_k = all(x is not None and kernel.k[-1] not in x.inner.symbols() for x in valid)
        if whole_k and _neighbours(place.inner, kernel.k) and _fours(place.outer):
            self.rows(place, valid, 4, tile.depth // 4)
        elif kernel.m and address.coefficient(kernel.k[-1]) != 1 and address.coefficient(kernel.m[-1]) == 1 \
                and tile.threads % tile.rows == 0:
            self.terms(place, valid)
        else:
            self.rows(place, valid, 1, tile.depth)

    def rows(self, place: _Split, valid: list, width: int, across: int) -> None:
        """A thread has `width` terms of some rows: `across` threads have a row's."""
        kernel, tile, e = self.kernel, self.tile, self.e
        step = tile.threads // across
        count = -(-tile.rows // step)
        ragged = tile.rows % step != 0
        pointer = e.pointers[kernel.a.buffer]
        flags = [f"row_v{j}" for j in range(len(valid))]
        outer_k = bool(set(kernel.m) & set(place.inner.symbols())) or any(set(kernel.m) & set(v.inner.symbols()) for v in valid)
        assert not ragged or step % tile.rows == 0 or count > 1
        self.setup += [f"const int a_k = thread % {across} * {width}, a_row = thread / {across};",
                       f"tc_index row_at[{count}];", f"unsigned row_in = 0;",
                       *(f"tc_index {flag}[{count}];" for flag in flags), "#pragma unroll",
                       f"for (int i = 0; i < {count}; ++i) {{",
                       f"    const tc_index row = m_first + a_row + i * {step};",
                       *indent(self.decoded["m"]),
                       f"    row_in |= (unsigned)(row < m_size{f' && a_row + i * {step} < {tile.rows}' if ragged else ''}) << i;",
                       f"    row_at[i] = {e.index(place.outer)};",
                       *(f"    {flag}[i] = {e.index(v.outer)};" for flag, v in zip(flags, valid)), "}",
                       f"float a_next[{count}][{width}];"]
        tests = [f"{flag}[i] + ({e.index(v.inner)}) >= 0" for flag, v in zip(flags, valid)]
        read = f"tc_load4(a_next[i], {pointer} + (row_at[i] + ({e.index(place.inner)})));" if width == 4 else \
            f"a_next[i][0] = {pointer}[row_at[i] + ({e.index(place.inner)})];"
        again = [f"const tc_index row = m_first + a_row + i * {step};", *self.decoded["m"]] if outer_k else []
        self.load += [
            "{", "    const tc_index k = k_first + a_k;", *indent(self.decoded["k"]), "#pragma unroll",
            f"    for (int i = 0; i < {count}; ++i) {{", *indent(indent(again)), "#pragma unroll",
            f"        for (int j = 0; j < {width}; ++j)", "            a_next[i][j] = 0.0f;",
            f"        if ({' && '.join(['k < k_size', '(row_in >> i & 1)', *tests])})", f"            {read}", "    }", "}"]
        self.keep += ["#pragma unroll", f"for (int i = 0; i < {count}; ++i) {{",
                      *([f"    if (a_row + i * {step} < {tile.rows})"] if ragged else []),
                      f"    {self.kept_row(f'a_row + i * {step}', width)}", "}"]

    def terms(self, place: _Split, valid: list) -> None:
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
                       *(f"const tc_index {flag} = {e.index(v.outer)};" for flag, v in zip(flags, valid)),
                       f"float a_next[{count}];"]
        tests = [f"{flag} + ({e.index(v.inner)}) >= 0" for flag, v in zip(flags, valid)]
        inside = [f"a_k + i * {step} < {tile.depth}"] if ragged else []
        self.load += ["#pragma unroll", f"for (int i = 0; i < {count}; ++i) {{",
                      f"    const tc_index k = k_first + a_k + i * {step};", *indent(self.decoded["k"]),
                      "    a_next[i] = 0.0f;", f"    if ({' && '.join([*inside, 'k < k_size', 'row_in', *tests])})",
                      f"        a_next[i] = {pointer}[row_at + ({e.index(place.inner)})];", "}"]
        guard = f"if (a_k + i * {step} < {tile.depth})\n        " if ragged else ""
        self.keep += ["#pragma unroll", f"for (int i = 0; i < {count}; ++i)",
                      f"    {guard}{self.kept_term(f'a_k + i * {step}')}"]

    def kept_row(self, row: str, width: int) -> str:
        """Leaves a_next[i], terms of a row, in shared memory."""
        return f"for (int j = 0; j < {width}; ++j) a_tile[half][a_k + j][{row}] = a_next[i][j];"

    def kept_term(self, k: str) -> str:
        return f"a_tile[half][{k}][a_row] = a_next[i];"

    # -- the second operands: terms x columns, which are neighbours ---------------------------------------------------
    def second(self) -> tuple[list[_Split], int]:
        """Where elements lie, and how many columns are read at a time."""
        kernel, e = self.kernel, self.e
        addresses = [e.address(b.buffer, b.index) for b in kernel.b]
        places = [_split(address, kernel.k) for address in addresses]
        fours = all(p is not None for p in places) and \
            (kernel.b_panel % 4 == 0 and kernel.b_panel > 0 and self.panels(places)
             or all(_neighbours(p.outer, kernel.n) and _fours(p.inner) for p in places if p))
        if None in places:
            places = [_Split(a * 0, a) for a in addresses]
        return places, 4 if fours else 1

    def bring_b(self) -> None:
        kernel, tile, e = self.kernel, self.tile, self.e
        places, width = self.second()
        fours = width == 4
        across = tile.columns // width
        step = max(1, tile.threads // across)
        count = -(-tile.depth // step)
        ragged = tile.depth % step != 0
        sums = range(len(kernel.b))
        assert tile.threads % across == 0, "columns of a tile are parted evenly"
        self.setup += [f"const int b_column = thread % {across} * {width}, b_k = thread / {across};",
                       "const tc_index column = n_first + b_column;", *self.decoded["n"],
                       "const bool column_in = column < n_size;",
                       *(f"const tc_index column_at{s} = {e.index(places[s].outer)};" for s in sums),
                       f"float b_next[{len(kernel.b)}][{count}][{width}];"]
        inside = [f"b_k + i * {step} < {tile.depth}"] if ragged else []
        reads = []
        for s in sums:
            at = f"column_at{s} + ({e.index(places[s].inner)})"
            pointer = e.pointers[kernel.b[s].buffer]
            reads.append(f"tc_load4(b_next[{s}][i], {pointer} + ({at}));" if fours else
                         f"b_next[{s}][i][0] = {pointer}[{at}];")
        self.load += ["#pragma unroll", f"for (int i = 0; i < {count}; ++i) {{",
                      f"    const tc_index k = k_first + b_k + i * {step};", *indent(self.decoded["k"]),
                      "#pragma unroll", f"    for (int j = 0; j < {width}; ++j)", "#pragma unroll",
                      f"        for (int s = 0; s < {len(kernel.b)}; ++s)", "            b_next[s][i][j] = 0.0f;",
                      f"    if ({' && '.join([*inside, 'k < k_size', 'column_in'])}) {{", *indent(indent(reads)), "    }", "}"]
        guard = f"if (b_k + i * {step} < {tile.depth})\n            " if ragged else ""
        self.keep += ["#pragma unroll", f"for (int i = 0; i < {count}; ++i)", "#pragma unroll",
                      f"    for (int s = 0; s < {len(kernel.b)}; ++s)",
                      f"        {guard}" + (f"tc_keep4(&b_tile[half][s][b_k + i * {step}][b_column], b_next[s][i]);" if fours
                                            else f"b_tile[half][s][b_k + i * {step}][b_column] = b_next[s][i][0];")]

    def panels(self, places: list) -> bool:
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


class _Words(_Part):
    """The same for the matrix units: words of shared memory hold one or two rounded terms."""

    def __init__(self, kernel: ContractionKernel, tile: Tile, precision: str):
        self.precision = precision
        super().__init__(kernel, tile)

    def kept_row(self, row: str, width: int) -> str:
        if self.precision == "tf32":
            return f"for (int j = 0; j < {width}; ++j) a_tile[half][{row}][a_k + j] = tc_word_tf32(a_next[i][j]);"
        if width == 1:
            return self.half_word(row, "a_k", "a_next[i][0]")
        return f"for (int j = 0; j < {width}; j += 2) a_tile[half][{row}][(a_k + j) / 2] = " \
               f"tc_pair_{self.precision}(a_next[i][j], a_next[i][j + 1]);"

    def kept_term(self, k: str) -> str:
        if self.precision == "tf32":
            return f"a_tile[half][a_row][{k}] = tc_word_tf32(a_next[i]);"
        return self.half_word("a_row", k, "a_next[i]")

    def half_word(self, row: str, k: str, value: str) -> str:
        return f"((unsigned short *)a_tile[half][{row}])[{k}] = (unsigned short)tc_pair_{self.precision}({value}, 0.0f);"

    def bring_b(self) -> None:
        """A thread has words of some columns: both terms of each."""
        kernel, tile, e = self.kernel, self.tile, self.e
        places, width = self.second()
        terms = 1 if self.precision == "tf32" else 2
        across = tile.columns // width
        step = max(1, tile.threads // across)
        words = tile.depth // terms
        count = -(-words // step)
        ragged = words % step != 0
        sums = range(len(kernel.b))
        self.setup += [f"const int b_column = thread % {across} * {width}, b_word = thread / {across};",
                       "const tc_index column = n_first + b_column;", *self.decoded["n"],
                       "const bool column_in = column < n_size;",
                       *(f"const tc_index column_at{s} = {e.index(places[s].outer)};" for s in sums),
                       f"float b_next[{len(kernel.b)}][{count}][{terms}][{width}];"]
        inside = [f"b_word + i * {step} < {words}"] if ragged else []
        reads = []
        for s in sums:
            at = f"column_at{s} + ({e.index(places[s].inner)})"
            pointer = e.pointers[kernel.b[s].buffer]
            reads.append(f"tc_load4(b_next[{s}][i][t], {pointer} + ({at}));" if width == 4 else
                         f"b_next[{s}][i][t][0] = {pointer}[{at}];")
        self.load += ["#pragma unroll", f"for (int i = 0; i < {count}; ++i)", "#pragma unroll",
                      f"    for (int t = 0; t < {terms}; ++t) {{",
                      f"        const tc_index k = k_first + (b_word + i * {step}) * {terms} + t;",
                      *indent(indent(self.decoded["k"])), "#pragma unroll", f"        for (int j = 0; j < {width}; ++j)",
                      "#pragma unroll", f"            for (int s = 0; s < {len(kernel.b)}; ++s)",
                      "                b_next[s][i][t][j] = 0.0f;",
                      f"        if ({' && '.join([*inside, 'k < k_size', 'column_in'])}) {{",
                      *indent(indent(indent(reads))), "        }", "    }"]
        word = "tc_word_tf32(b_next[s][i][0][j])" if terms == 1 else \
            f"tc_pair_{self.precision}(b_next[s][i][0][j], b_next[s][i][1][j])"
        guard = f"if (b_word + i * {step} < {words})\n            " if ragged else ""
        self.keep += ["#pragma unroll", f"for (int i = 0; i < {count}; ++i)", "#pragma unroll",
                      f"    for (int s = 0; s < {len(kernel.b)}; ++s)", f"        {guard}{{",
                      f"            unsigned word[{width}];", "#pragma unroll",
                      f"            for (int j = 0; j < {width}; ++j)", f"                word[j] = {word};",
                      f"            tc_keep_words<{width}>(&b_tile[half][s][b_word + i * {step}][b_column], word);", "        }"]
