# SPDX-License-Identifier: Apache-2.0
"""Kernels of bytes (loops/byte_products.py) by vectors of 16 bytes, over templates/include/tc_helium.h.

Sums are made four rows of weights, or channels, at a time and are stored to scratch; what follows them is computed by
vectors of these four where lanes.py knows how, else one by one.
"""
from __future__ import annotations

from ...loops.byte_products import ByteProductKernel, Channels, Columns, Form, Row
from ...loops.byte_vectors import QUAD, channels_layout, columns_layout
from ...loops.loop_ir import Store
from ...loops.scalars import domain_size, extent, loads, Rewriter, rewritten
from ...symbolic import ZERO, Expr, Sym, exact_div, sym
from .products import WordEmitter
from .tile import tile
from .lanes import LANES, LanesEmitter, possible

LANE = Sym("lane", 0, LANES - 1)


class VectorEmitter(WordEmitter):
    HEADERS = ("tc_bytes.h", "tc_fixed.h", "tc_helium.h")
    EMITTER = LanesEmitter

    def __init__(self, kernel: ByteProductKernel, form: Form):
        super().__init__(kernel, form)
        self.e: LanesEmitter
        self.room = kernel.work.elements.value * 4 if kernel.work is not None else 0
        self.e.facts = kernel.facts

    def quad(self, stores: tuple[Store, ...], mapping: dict[Sym, Expr], over: Sym, first: Expr, sums: str) -> None:
        """Stores of four neighbours along `over`, whose sums are at the C text `sums`."""
        e = self.e
        change = Rewriter(lambda x: x.substitute({**mapping, over: first + sym(LANE)}))
        wide = [rewritten(s, change) for s in stores]
        if possible(wide, LANE, self.buffers, self.e.facts):
            e.vector, e.width, e.names[LANE] = LANE, LANES, "0"
            e.accs = [f"tch_load_i32({sums})"]
            e.stores(wide)
            e.width = 1
            return
        for j in range(LANES):
            e.open()
            self.stores(stores, {**mapping, over: first + j}, f"({sums})[{j}]")
            e.close("")

    def close_rolled(self, head: str) -> None:
        """Ends a loop that is too long to be unrolled; what it needs is declared before it."""
        self.e.scopes[-2].lines.append("TC_UNROLL(1)")
        self.e.close(head)

    # -- several points -----------------------------------------------------------------------------------------------
    def columns(self, form: Columns) -> None:
        e, points, rows, layout = self.e, form.points, extent(form.n).value, columns_layout(form, self.room)
        block, step = layout.points, layout.step
        self.split(self.groups(points, block))
        e.lines += ["int8_t *const columns = (int8_t *)scratch;",
                    f"int32_t *const sums = (int32_t *)(void *)(columns + {block * step});"]
        if form.terms < step:
            e.lines += [f"for (tc_index i = 0; i < {block}; ++i)",
                        f"    tch_fill(columns + i * {step} + {form.terms}, 0, {step - form.terms});"]
        e.open()
        left = f"tc_min({block}, {self.text(points)} - first)"
        e.lines.append(f"const tc_index first = item * {block}, count = "
                       f"{block if exact_div(points, block) is not None else left};")
        e.open()
        e.lines.append("const tc_index point = first + r;")
        self.point(form.m, "point", "")
        self.stage(form)
        e.close("for (tc_index r = 0; r < count; ++r)")
        e.lines.append(f"const int8_t *weights = {self.w};")
        whole = rows // QUAD
        if whole:
            together = 2 if tile(self.functions, "two", 2, form.terms, form.pitch, step) else 1
            if together == 1:
                tile(self.functions, "one", 1, form.terms, form.pitch, step)
            quad = Sym("quad", 0, whole - 1)
            e.names[quad] = "quad"
            e.open((quad,))
            # else every address that depends on it is a variable of its own, which has no register
            e.lines += ['__asm__("" : "+r"(quad));', "TC_UNROLL(1)",
                        f"for (tc_index r = 0; r < count; r += {together})",
                        f"    {'two' if together == 2 else 'one'}(sums + {QUAD} * r, columns + r * {step}, weights);"]
            mapping = self.open_points(form)
            self.quad(form.stores, mapping, form.n, sym(quad) * QUAD, f"sums + {QUAD} * r")
            self.close_rolled("for (tc_index r = 0; r < count; ++r)")
            e.close(f"for (tc_index quad = 0; quad < {whole}; ++quad, weights += {QUAD * form.pitch})")
        if rows % QUAD:
            rest = Sym("rest", 0, rows % QUAD - 1)
            e.names[rest] = "rest"
            e.open((rest,))
            mapping = self.open_points(form)
            e.lines.append(f"const int32_t c0 = tch_dot(columns + r * {step}, weights, {form.terms});")
            self.stores(form.stores, {**mapping, form.n: sym(rest) + whole * QUAD}, "c0")
            e.close("for (tc_index r = 0; r < count; ++r)")
            e.close(f"for (tc_index rest = 0; rest < {rows % QUAD}; ++rest, weights += {form.pitch})")
        e.close("for (tc_index item = begin; item < end; ++item)")

    def open_points(self, form: Columns) -> dict[Sym, Expr]:
        """Opens the loop over the points of a block, and says what stands for their variables."""
        e, points = self.e, form.points
        point = Sym("point", 0, points - 1)
        if self.flat(form):
            e.open((point,))
            e.lines.append("const tc_index point = first + r;")
            e.names[point] = "point"
            return {**{s: ZERO for s in form.m}, **({form.m[-1]: sym(point)} if form.m else {})}
        copies = tuple(Sym(s.name, 0, s.hi) for s in form.m)
        e.open(copies)
        e.lines.append("const tc_index point = first + r;")
        self.point(copies, "point", "_r")
        return dict(zip(form.m, map(sym, copies), strict=True))

    def flat(self, form: Columns) -> bool:
        """All that stores read and write is at a multiple of the point's number."""
        read = loads(*(s.value for s in form.stores))
        if any(load.valid or load.dynamic for load in read):
            return False
        for buffer, index in [(s.buffer, s.index) for s in form.stores] + [(load.buffer, load.index) for load in read]:
            address = self.buffers[buffer].address(index)
            of_point = address.coefficient(form.m[-1]) if form.m else ZERO
            if of_point is None or any(address.coefficient(s) != of_point * domain_size(form.m[i + 1:]).value
                                       for i, s in enumerate(form.m)):
                return False
        return True

    def stage(self, form: Columns) -> None:
        """The point's terms to its column."""
        e, layout = self.e, columns_layout(form, self.room)
        drop = {s: ZERO for s in form.run}
        e.lines.append(f"int8_t *to = columns + r * {layout.step};")
        heads = [e.loop(s) for s in form.outer]
        place = f"{self.x} + ({e.index(self.x_at.substitute(drop))})"
        if not form.x.valid:
            e.lines += [f"tch_copy(to, {place}, {form.length});", f"to += {form.length};"]
        else:
            self.existing(form)
            e.lines.append(f"to = tch_copy_run(to, {place}, low, high, {form.length}, {form.other});")
        for head in reversed(heads):
            e.close(head)
        e.lines.append("(void)to;")

    # -- one point ----------------------------------------------------------------------------------------------------
    def fours(self, form: Row) -> int:
        return extent(form.n).value // QUAD

    def four_rows(self, form: Row, mapping: dict[Sym, Expr], first: Expr, weights: str) -> None:
        tile(self.functions, "one", 1, form.terms, form.pitch, 0)
        self.e.lines += [f"int32_t sums[{QUAD}];", f"one(sums, x, {weights});"]
        self.quad(form.stores, mapping, form.n, first, "sums")

    def one_row(self, form: Row, weights: str) -> list[str]:
        return [f"const int32_t c0 = tch_dot(x, {weights}, {form.terms});"]

    # -- neighbouring channels ----------------------------------------------------------------------------------------
    def channels(self, form: Channels) -> None:
        e, layout = self.e, channels_layout(form, self.room)
        tall, wide = form.taps
        many, slots, run = layout.channels, layout.slots, layout.run
        blocks = extent(form.channel).value // many
        self.split(domain_size(form.batch).value * blocks)
        e.lines += ["int8_t *const taps = (int8_t *)scratch;", f"int8_t *const rows = taps + {layout.weights};",
                    f"int32_t *const sums = (int32_t *)(void *)(rows + {layout.rows});"]
        block = self.open_block(form, blocks)
        e.lines += ["TC_UNROLL(1)", f"for (tc_index turn = 0; turn < {layout.turns}; ++turn)",
                    "    TC_UNROLL(1)", f"    for (tc_index i = 0; i < {tall}; ++i)",
                    f"        for (tc_index k = 0; k < {wide}; ++k)",
                    f"            tch_spread{many}(taps + turn * {many * run} + k * {slots} + (i + turn * "
                    f"{form.row_stride}) % {slots}, {run}, {self.w} + {many} * block + (i * {wide} + k) * "
                    f"{form.tap_step});",
                    f"const int8_t *const from = {self.x} + ({e.index(form.base)} + {many} * block);",
                    "tc_index y = 0, slot = 0, turn = 0;"]
        height, together = extent(form.row), layout.together
        rows = self.text(height)
        e.open()
        left = f"tc_min({together}, {rows} - first)"
        e.lines.append(f"const tc_index count = {together if exact_div(height, together) is not None else left};")
        stage, ring = f"tch_stage{many}(rows + slot, {layout.plane}, from + y * {form.row_step}, ", \
            f"{form.width}, {form.column_step}, {slots}, {form.other});"
        e.lines += ["TC_UNROLL(1)", "for (tc_index i = 0; i < count; ++i) {",
                    "    TC_UNROLL(1)", f"    for (; y < (first + i) * {form.row_stride} + {tall}; ++y) {{",
                    f"        if (y >= {self.text(form.y_low)} && y < {self.text(form.y_high)})",
                    f"            {stage}{form.x_low}, {min(form.x_high, form.width)}, {ring}", "        else",
                    f"            {stage}{form.width}, 0, {ring}",
                    f"        slot = slot < {slots - 1} ? slot + 1 : 0;", "    }",
                    f"    const int8_t *const turned = taps + turn * {many * run};",
                    f"    turn = turn < {layout.turns - 1} ? turn + 1 : 0;",
                    "    TC_UNROLL(1)", f"    for (tc_index quad = 0; quad < {many // QUAD}; ++quad)",
                    f"        tch_windows(sums + (quad * {together} + i) * {QUAD * layout.columns}, rows + quad * "
                    f"{QUAD * layout.plane}, {layout.plane}, {form.column_stride * slots}, "
                    f"turned + quad * {QUAD * run}, {run}, {layout.columns});", "}"]
        quad = Sym("quad", 0, many // QUAD - 1)
        e.names[quad], e.names[form.row], e.names[form.column] = "quad", "row", "column"
        e.open((quad,))
        e.lines.append(f"const int32_t *sum = sums + quad * {together * QUAD * layout.columns};")
        e.open((form.row,))
        e.open((form.column,))
        self.quad(form.stores, {}, form.channel, sym(block) * many + sym(quad) * QUAD, "sum")
        self.close_rolled(f"for (tc_index column = 0; column < {layout.columns}; ++column, sum += {QUAD})")
        self.close_rolled("for (tc_index row = first; row < first + count; ++row)")
        self.close_rolled(f"for (tc_index quad = 0; quad < {many // QUAD}; ++quad)")
        e.close(f"for (tc_index first = 0; first < {rows}; first += {together})")
        e.close("for (tc_index item = begin; item < end; ++item)")
