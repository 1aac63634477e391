# SPDX-License-Identifier: Apache-2.0
"""A contraction of few rows as CUDA C, from templates/cuda/contraction_few.cu.in."""
from __future__ import annotations

from dataclasses import replace
from typing import Any

from ...loops import schedule_cuda
from ...loops.column_pairs import half_of
from ...loops.few_rows import FewRows
from ...loops.loop_ir import ContractionKernel, GroupedContractionKernel, PreparedKernel
from ...loops.scalar_ir import Load, Scalar
from ...loops.scalars import walk
from ...loops.schedule_cuda import Units
from ...records import dataclass
from ...symbolic import Expr, Sym, divisor_of, product
from ..contraction.source import whole
from .kernels import emitter, rounded
from .part import Part, kernel_texts, split
from .wide import emit_rows
from ..scalar import C_TYPE, extent, indent
from ..template import expand_file


def emit_prepared(kernel: PreparedKernel, symbol: str, units: Units) -> str:
    """The rows of the product are what the nest makes, in shared memory."""
    tile, (own,) = schedule_cuda.tile(kernel.contraction, units), {s.buffer for s in kernel.rows.stores}
    assert isinstance(tile, FewRows)
    rows = replace(kernel.rows, params=kernel.params, dims=kernel.dims)
    e = emitter(rows, {own})
    e.pointers[own] = "lines"
    early, body = emit_rows(rows, e, tile.threads)
    product = replace(kernel.contraction, label=kernel.label, params=kernel.params, dims=kernel.dims)
    return emit_few(product, symbol, units.precision, tile, Rows(early, body, frozenset(e.used) - {own}))


@dataclass(frozen=True, slots=True)
class Rows:
    """Statements that make all rows of a product: what may be done before the kernel in front has ended, the rest, and
    what they use."""

    early: list[str]
    body: list[str]
    used: frozenset[Sym | str]


def emit_few(kernel: ContractionKernel | GroupedContractionKernel, symbol: str, dtype: str, tile: FewRows,
             rows: Rows | None = None) -> str:
    parts = [_Part(part, tile, dtype).fields(rows.body if rows else None) for part in whole(kernel)]
    staged = list(dict.fromkeys(part["stage"] for part in parts))
    for part in parts:
        part["rows_number"] = staged.index(part["stage"])
    return expand_file("cuda/contraction_few.cu.in", {
        **kernel_texts(kernel, symbol, parts, rows.used if rows else frozenset()),
        "rows": tile.rows, "warps": tile.warps, "threads": tile.threads,
        "columns": tile.columns, "parted": tile.parted > 1, "sharing": tile.parted,
        "there": f"row < m_size && column < n_size && warp % {tile.parted} == 0" if tile.parted > 1 else "row < m_size",
        "ahead": tile.ahead, "together": tile.together, "narrow": dtype, "prepared": rows is not None,
        "constants": "\n".join(rows.early) if rows else ""})


class _Part(Part):
    def __init__(self, kernel: ContractionKernel, tile: FewRows, dtype: str):
        self.half = half_of({b.name: b for b in kernel.params}, kernel)
        super().__init__(kernel, ["sum[0][v]", "other"] if self.half else
                         [f"sum[{i}][v]" for i in range(len(kernel.b))])
        self.tile, self.dtype = tile, dtype
        self.e.relaxed = True

    def fields(self, made: list[str] | None) -> dict[str, Any]:
        """made: statements that make the rows, where they are not in memory."""
        kernel, e = self.kernel, self.e
        operands = kernel.b[:1] if self.half else kernel.b
        constant = all(e.buffers[b.buffer].kind == "packed" for b in operands)
        fetch = [f"held[{i}][u] = tc_stream<{str(constant).lower()}>({e.pointers[b.buffer]} + "
                 f"({self.outer(b.buffer, b.index)}) + vector * 8);" for i, b in enumerate(operands)]
        stage = self.stage() if made is None else made
        loaded, kept = self.loaded()
        e.open(kernel.batch + kernel.m)
        e.open(kernel.n)
        e.kept = kept
        self.repair("sum[0][v]")
        e.stores(kernel.stores)
        e.kept = {}
        stores = e.scopes.pop().lines
        epilogue = [*e.scopes.pop().lines, *stores]
        early = constant and not e.reads_first
        return {**self.texts(), "fetch": "\n".join(fetch), "stage": "\n".join(stage), "early": early,
                "epilogue": "\n".join(epilogue), "loaded": "\n".join(loaded), "column": self.column(),
                "declared": "\n".join(f"{C_TYPE[n.dtype]} {name} = 0;" for n, name in kept.items()),
                "sum_count": len(operands), "paired": bool(self.half),
                "ragged": not self.half and self.tile.parted == 1, "half_warps": self.tile.warps // 2,
                **self.shares()}

    def loaded(self) -> tuple[list[str], dict[Scalar, str]]:
        """Statements that bring what a point needs besides its sums, while its terms are multiplied, and where that is
        then: behind the sums a warp would wait for it as long as for all of its column."""
        kernel, e = self.kernel, self.e
        found = [n for n in dict.fromkeys(walk(*(s.value for s in kernel.stores)))
                 if isinstance(n, Load) and not n.dynamic and not n.valid and
                 all(s.is_dim or s in (*kernel.m, *kernel.n) for x in n.index for s in x.symbols())
                 ] if kernel.where is None else []
        names: dict[Scalar, str] = {n: e.fresh("early") for n in found}
        e.open(kernel.batch + kernel.m + kernel.n)
        texts = [f"{names[n]} = {e.scalar(n)};" for n in found]
        return [*e.scopes.pop().lines, *texts], names

    def shares(self) -> dict[str, Any]:
        """share: vectors of a column that a warp has, where several share it; inside: whether vector `own` of those is
        one. As constants, where they can be: what is not asked of each vector needs no registers beside it."""
        vectors, sharing = -(-product(extent(s) for s in self.kernel.k).value // 8), self.tile.parted
        share = -(-vectors // (32 * sharing)) * 32
        inside = "own < SHARE" if share * sharing == vectors else "own < SHARE && vector < vectors"
        return {"share": share, "inside": inside, "terms_text": "SHARE" if sharing > 1 else "vectors"}

    def column(self) -> str:
        """Of a warp in a tile: where columns are pairs, the warps of a block's second half have the other ones."""
        if not self.half:
            return "tile * WARPS + warp" if self.tile.parted == 1 else f"tile * COLUMNS + warp / {self.tile.parted}"
        own = self.tile.warps // 2
        tiles = self.half // own
        return f"tile / {tiles} * {2 * self.half} + tile % {tiles} * {own} + warp % {own} + warp / {own} * {self.half}"

    def outer(self, buffer: str, index: tuple[Expr, ...]) -> str:
        return self.e.index(self.e.address(buffer, index).substitute({s: 0 for s in self.kernel.k}))

    def stage(self) -> list[str]:
        """Brings the rows to shared memory, in whole vectors with zeros behind the last term."""
        kernel, e, load = self.kernel, self.e, self.kernel.a
        address = e.address(load.buffer, load.index)
        place = split(address, kernel.k)
        pointer, threads = e.pointers[load.buffer], self.tile.threads
        count = product(extent(s) for s in kernel.k)
        if place is not None and self.is_whole(place.inner) and divisor_of(place.outer) % 8 == 0 and not load.valid \
                and count.value % 8 == 0:
            return ["#pragma unroll 4", f"for (int i = thread; i < ROWS * vectors; i += {threads}) {{", *indent([
                "const tc_index row = i / vectors, vector = i % vectors;", f"{C_TYPE[load.dtype]} from[8] = {{}};",
                "uint16_t all[8];", "if (row < m_size) {", *indent(self.decoded["m"]),
                f"    tc_load8(from, {pointer} + ({e.index(place.outer)}) + vector * 8);", "}", "#pragma unroll",
                "for (int v = 0; v < 8; ++v)", f"    all[v] = {rounded('from[v]', load.dtype, self.dtype)};",
                "tc_store8(lines + i * 8, all);"]), "}"]
        element = rounded(f"{pointer}[{e.index(address)}]", load.dtype, self.dtype)
        there = " && ".join(["row < m_size", "k < k_size", *(f"{e.index(x)} >= 0" for x in load.valid)])
        return ["#pragma unroll 8", f"for (int i = thread; i < ROWS * vectors * 8; i += {threads}) {{", *indent([
            "const tc_index row = i / (vectors * 8), k = i % (vectors * 8);", *self.decoded["m"], *self.decoded["k"],
            f"lines[i] = {there} ? {element} : (uint16_t)0;"]), "}"]
