# SPDX-License-Identifier: Apache-2.0
"""A contraction of few rows as CUDA C, from templates/cuda/contraction_few.cu.in."""
from __future__ import annotations

from typing import Any

from ..loops.few_rows import FewRows
from ..loops.loop_ir import ContractionKernel, GroupedContractionKernel
from ..symbolic import Expr, divisor_of, product
from .contraction import whole
from .cuda_kernels import rounded
from .cuda_part import Part, kernel_texts, split
from .scalar import C_TYPE, extent, indent
from .template import expand_file


def emit_few(kernel: ContractionKernel | GroupedContractionKernel, symbol: str, dtype: str, tile: FewRows) -> str:
    parts = [_Part(part, tile, dtype).fields() for part in whole(kernel)]
    staged = list(dict.fromkeys(part["stage"] for part in parts))
    for part in parts:
        part["rows_number"] = staged.index(part["stage"])
    return expand_file("cuda/contraction_few.cu.in", {
        **kernel_texts(kernel, symbol, parts), "rows": tile.rows, "warps": tile.warps, "threads": tile.threads,
        "ahead": tile.ahead, "narrow": dtype})


class _Part(Part):
    def __init__(self, kernel: ContractionKernel, tile: FewRows, dtype: str):
        super().__init__(kernel, [f"sum[{i}][v]" for i in range(len(kernel.b))])
        self.tile, self.dtype = tile, dtype
        self.e.relaxed = True

    def fields(self) -> dict[str, Any]:
        kernel, e = self.kernel, self.e
        constant = all(e.buffers[b.buffer].kind == "packed" for b in kernel.b)
        fetch = [f"held[{i}][u] = tc_stream<{str(constant).lower()}>({e.pointers[b.buffer]} + "
                 f"({self.outer(b.buffer, b.index)}) + vector * 8);" for i, b in enumerate(kernel.b)]
        stage = self.stage()
        e.open(kernel.batch + kernel.m)
        e.open(kernel.n)
        self.repair("sum[0][v]")
        e.stores(kernel.stores)
        stores = e.scopes.pop().lines
        epilogue = [*e.scopes.pop().lines, *stores]
        early = constant and not e.reads_first
        return {**self.texts(), "fetch": "\n".join(fetch), "stage": "\n".join(stage), "early": early,
                "epilogue": "\n".join(epilogue)}

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
