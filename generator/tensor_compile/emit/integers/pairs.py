# SPDX-License-Identifier: Apache-2.0
"""Kernels of bytes (loops/byte_products.py) for processors without instructions for several products, over
templates/include/tc_pairs.h: two points in a word, and depthwise convolutions a channel at a time."""
from __future__ import annotations

from ...loops.byte_products import Channels, Columns, Row
from ...loops.scalars import domain_size, extent
from ...symbolic import ZERO, Expr, Sym, sym
from .products import PAIR, QUAD, WordEmitter

BLOCK = 8   # rows of weights whose sums lie on the stack


class PairEmitter(WordEmitter):
    HEADERS = ("tc_pairs.h", "tc_fixed.h")

    def rolled(self, head: str) -> None:
        """Ends a loop whose body is long enough to be there once."""
        self.e.scopes[-2].lines.append("TC_UNROLL(1)")
        self.e.close(head)

    # -- several points -----------------------------------------------------------------------------------------------
    def columns(self, form: Columns) -> None:
        e, points, rows, words = self.e, form.points, extent(form.n).value, 4 * form.groups
        self.split(self.groups(points, PAIR))
        if form.terms < words:
            e.lines += [f"for (tc_index i = {form.terms}; i < {words}; ++i)", "    scratch[i] = 0;"]
        self.open_pair(points)
        points_of, once = self.pair(form.m, points)
        self.stage_pair(form, points_of)
        e.lines.append(f"const int8_t *weights = {self.w};")

        def some(count: int, first: Expr) -> None:
            even, pitch = (count, form.pitch) if count % 2 == 0 or count > 1 else (2, 0)
            e.lines += [f"int32_t sums[{2 * (even + even % 2)}];",
                        f"tc_dot_pairs(sums, scratch, weights, {pitch}, {words}, {even - even % 2});"]
            if even % 2:
                e.lines.append(f"tc_dot_pairs(sums + {2 * (even - 1)}, scratch, weights + {(even - 1) * pitch}, 0, "
                               f"{words}, 2);")
            j = Sym("j", 0, count - 1)
            e.names[j] = "j"
            e.open((j,))
            for r, mapping in enumerate(points_of):
                e.open()
                self.stores(form.stores, {**mapping, form.n: first + sym(j)}, f"sums[2 * j + {r}]")
                e.close(once[r])
            self.rolled(f"for (tc_index j = 0; j < {count}; ++j)")

        if rows >= BLOCK:
            block = Sym("block", 0, rows // BLOCK - 1)
            e.names[block] = "block"
            e.open((block,))
            some(BLOCK, sym(block) * BLOCK)
            self.rolled(f"for (tc_index block = 0; block < {rows // BLOCK}; ++block, weights += {BLOCK * form.pitch})")
        if rows % BLOCK:
            e.open()
            some(rows % BLOCK, ZERO + rows // BLOCK * BLOCK)
            e.close("")
        e.close("for (tc_index item = begin; item < end; ++item)")

    def stage_pair(self, form: Columns, points_of: list[dict[Sym, Expr]]) -> None:
        """The terms of both points to scratch."""
        e, drop = self.e, {s: ZERO for s in form.run}
        if not form.x.valid and not form.outer:
            places = [f"{self.x} + ({e.index(self.x_at.substitute({**drop, **mapping}))})" for mapping in points_of]
            e.lines.append(f"tc_pair(scratch, {places[0]}, {places[1]}, {form.terms});")
            return
        e.open()
        e.lines.append("const tc_index point = r ? second : first;")
        self.point(form.m, "point", "")
        e.lines.append("uint32_t *to = scratch;")
        heads = [e.loop(s) for s in form.outer]
        place = f"{self.x} + ({e.index(self.x_at.substitute(drop))})"
        if form.x.valid:
            self.existing(form)
        else:
            e.lines.append(f"const tc_index low = 0, high = {form.length};")
        e.lines.append(f"to = tc_pair_run(to, {place}, low, high, {form.length}, {form.other}, r ? 16 : 0);")
        for head in reversed(heads):
            e.close(head)
        self.rolled(f"for (int r = 0; r < {PAIR}; ++r)")

    # -- one point ----------------------------------------------------------------------------------------------------
    def fours(self, form: Row) -> int:
        return extent(form.n).value // QUAD

    def four_rows(self, form: Row, mapping: dict[Sym, Expr], first: Expr, weights: str) -> None:
        e = self.e
        e.lines += [f"int32_t sums[{QUAD}];", f"tc_dot_rows(sums, x, {weights}, {form.pitch}, {form.terms});"]
        j = Sym("j", 0, QUAD - 1)
        e.names[j] = "j"
        e.open((j,))
        self.stores(form.stores, {**mapping, form.n: first + sym(j)}, "sums[j]")
        self.rolled(f"for (tc_index j = 0; j < {QUAD}; ++j)")

    def one_row(self, form: Row, weights: str) -> list[str]:
        return [f"const int32_t c0 = tc_dot_row(x, {weights}, {form.terms});"]

    # -- a channel ----------------------------------------------------------------------------------------------------
    def channels(self, form: Channels) -> None:
        """Rows lie interleaved in a ring, of each position a word of every row, so that a window is one run."""
        e = self.e
        tall, wide = form.taps
        taps, width = tall * wide, form.width
        rows, columns, count = self.text(extent(form.row)), extent(form.column).value, extent(form.channel).value
        self.functions.append(f"TC_DEFINE_WINDOWS({taps})")
        self.split(domain_size(form.batch).value * count)
        e.lines += ["int32_t *const taps = (int32_t *)scratch, *const ring = taps + "
                    f"{tall * taps}, *const sums = ring + {tall * width};"]
        block = self.open_block(form, count)
        e.lines += [f"tc_turn_taps(taps, {self.w} + block, {form.tap_step}, {tall}, {wide});",
                    f"const int8_t *const from = {self.x} + ({e.index(form.base)} + block);",
                    "tc_index y = 0, slot = 0, turn = 0;"]
        e.names[form.row] = "row"
        e.open((form.row,))
        self.new_rows(form, [f"tc_stage_channel(ring + slot, {self.row_of(form)}, {tall}, {form.other});",
                             f"slot = slot + 1 < {tall} ? slot + 1 : 0;"])
        e.lines += [f"tc_windows_{taps}(sums, ring, {form.column_stride * tall}, taps + turn * {taps}, {columns});",
                    f"turn += {form.row_stride % tall};", f"turn -= turn < {tall} ? 0 : {tall};"]
        e.names[form.column] = "column"
        e.open((form.column,))
        self.stores(form.stores, {form.channel: sym(block)}, "sums[column]")
        self.rolled(f"for (tc_index column = 0; column < {columns}; ++column)")
        self.rolled(f"for (tc_index row = 0; row < {rows}; ++row)")
        e.close("for (tc_index item = begin; item < end; ++item)")
