# SPDX-License-Identifier: Apache-2.0
"""An exact contraction whose operands one warp of a block brings, as CUDA C from
templates/cuda/contraction_lines.cu.in."""
from __future__ import annotations

from typing import Any

from ...loops.line_tiles import PANEL, LineTile, is_packed
from ...loops.loop_ir import ContractionKernel, GroupedContractionKernel
from ..contraction.source import whole
from .epilogue import epilogue
from .part import Part, Split, kernel_texts, split
from ..scalar import indent
from ..template import expand_file

UNROLLED = 1024   # multiplications of a loop's body


def emit_lines(kernel: ContractionKernel | GroupedContractionKernel, symbol: str, tile: LineTile) -> str:
    parts = [_Part(part, tile).fields() for part in whole(kernel)]
    sums = max(len(part["sums"]) for part in parts)
    packed = is_packed(kernel.contractions[0])
    steps = max(1, UNROLLED // (tile.sums * sums * (8 if tile.ahead else 4)))
    return expand_file("cuda/contraction_lines.cu.in", {
        **kernel_texts(kernel, symbol, parts), "most_sums": sums, "rows": tile.rows, "columns": tile.columns,
        "depth": tile.depth, "height": tile.height, "width": tile.width, "stages": tile.stages(sums),
        "threads": tile.threads, "together": tile.together, "panel": tile.panel,
        "step": PANEL if packed else tile.columns,
        "b_size": tile.panels * tile.panel if packed else tile.depth * tile.columns,
        "ahead": tile.ahead, "down": tile.height >= 6, "buffers": 2 if tile.ahead else 1, "unroll": steps,
        "first_tile": "(group + groups - first % groups) % groups" if len(parts) > 1 else "group"})


class _Part(Part):
    def __init__(self, kernel: ContractionKernel, tile: LineTile):
        super().__init__(kernel, [f"sum{i}" for i in range(len(kernel.b))])
        self.tile = tile

    def fields(self) -> dict[str, Any]:
        kernel, tile, e = self.kernel, self.tile, self.e
        constant = all(e.buffers[b.buffer].kind == "packed" for b in kernel.b)
        bring = {"setup": self.setup(), "bring_first": self.bring_first(),
                 "bring_second": self.panels() if is_packed(kernel) else self.columns()}
        after = epilogue(self, tile.rows, tile.columns, tile.height, tile.width)
        shifted = is_packed(kernel) and tile.columns % PANEL
        return {**self.texts(), **{name: "\n".join(lines) for name, lines in bring.items()},
                "after": "\n".join(after), "tiles": "\n".join(self.tiles()),
                "tile": "\n".join(self.one_tile()), "sums": [{"i": i} for i in range(len(kernel.b))],
                "early": constant and not e.reads_first, "reads_first": e.reads_first,
                "shift": f"(int)(n_first % {PANEL}) + " if shifted else "",
                "column_at": f"column / {PANEL} * PANEL + column % {PANEL}" if is_packed(kernel) else "column"}

    def tiles(self) -> list[str]:
        return [*self.tile_counts(self.tile.rows, self.tile.columns),
                f"const tc_index pieces = {self.points(self.kernel.k)} / {self.tile.depth};"]

    def one_tile(self) -> list[str]:
        limits, batches = self.limits(self.tile.rows), self.points(self.kernel.batch)
        if limits["terms_limited"]:
            return [f"const tc_index batch = tile / n_tiles % {batches}; /* rows of many terms first */",
                    f"const tc_index m_first = (m_tiles - 1 - tile / ({batches} * n_tiles)) * ROWS;",
                    "const tc_index n_first = tile % n_tiles * COLUMNS;", *limits["limited"].splitlines(),
                    f"const tc_index pieces = (tc_min(({self.points(self.kernel.k)}), left_out) + DEPTH - 1) / DEPTH;"]
        return ["const tc_index batch = tile / (m_tiles * n_tiles);",
                "const tc_index m_first = tile % m_tiles * ROWS, n_first = tile / m_tiles % n_tiles * COLUMNS;"]

    def places(self) -> list[Split]:
        """Where elements of the second operands lie."""
        found = [split(self.e.address(b.buffer, b.index), self.kernel.k) for b in self.kernel.b]
        return [place for place in found if place is not None]

    # -- what the lanes of one warp bring, 16 bytes at a time ---------------------------------------------------------
    def setup(self) -> list[str]:
        kernel, tile, e = self.kernel, self.tile, self.e
        place = split(e.address(kernel.a.buffer, kernel.a.index), kernel.k)
        assert place is not None, "rows come in lines"
        step, count = self.rows_at_once()
        lines = [f"tc_index row_at[{count}];", "#pragma unroll", f"for (int i = 0; i < {count}; ++i) {{",
                 f"    const tc_index row = tc_min(m_first + lane / CHUNKS + i * {step}, m_size - 1);",
                 *indent(self.decoded["m"]), f"    row_at[i] = {e.index(place.outer)} + lane % CHUNKS * 4;", "}"]
        places = self.places()
        if is_packed(kernel):
            found = [f"panel_at[i][{s}] = {e.index(p.outer)} + lane * 4;" for s, p in enumerate(places)]
            return [*lines, f"tc_index panel_at[{tile.panels}][{len(places)}];", "#pragma unroll",
                    f"for (int i = 0; i < {tile.panels}; ++i) {{",
                    f"    const tc_index column = tc_min(n_first / {PANEL} + i, (n_size - 1) / {PANEL}) * {PANEL};",
                    *indent(self.decoded["n"]), *indent(found), "}"]
        return lines

    def rows_at_once(self) -> tuple[int, int]:
        """Rows that a warp's lanes bring in one access, and accesses."""
        step = 32 // (self.tile.depth // 4)
        return step, self.tile.rows // step

    def bring_first(self) -> list[str]:
        pointer = self.e.pointers[self.kernel.a.buffer]
        step, count = self.rows_at_once()
        return ["#pragma unroll", f"for (int i = 0; i < {count}; ++i)",
                f"    tc_copy<4>(a_tile + i * ({step} * A_LINE), {pointer} + k_first + row_at[i], true);"]

    def panels(self) -> list[str]:
        """A panel's terms lie one behind the other."""
        e, tile = self.e, self.tile
        copies = [f"        tc_copy<4>(b_tile + {s} * B_SIZE + i * PANEL + lane * 4 + j * 128, "
                  f"{e.pointers[b.buffer]} + k_first * {PANEL} + panel_at[i][{s}] + j * 128, true);"
                  for s, b in enumerate(self.kernel.b)]
        return ["#pragma unroll", f"for (int i = 0; i < {tile.panels}; ++i)", "#pragma unroll",
                f"    for (int j = 0; j < {tile.depth * PANEL // 128}; ++j) {{", *copies, "    }"]

    def columns(self) -> list[str]:
        e, across = self.e, self.tile.columns // 4
        copies = [f"    tc_copy<4>(b_tile + {s} * B_SIZE + line * COLUMNS + fours * 4, {e.pointers[b.buffer]} + "
                  f"{e.index(p.outer)} + ({e.index(p.inner)}), true);"
                  for s, (b, p) in enumerate(zip(self.kernel.b, self.places(), strict=True))]
        return ["#pragma unroll 4", f"for (int at = lane; at < DEPTH * {across}; at += 32) {{",
                f"    const int line = at / {across}, fours = at % {across};",
                "    const tc_index k = k_first + line, column = tc_min(n_first + fours * 4, n_size - 4);",
                *indent(self.decoded["k"]), *indent(self.decoded["n"]), *copies, "}"]
