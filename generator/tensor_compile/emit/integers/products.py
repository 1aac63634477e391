# SPDX-License-Identifier: Apache-2.0
"""Kernels of bytes (loops/byte_products.py) as C over templates/include/tc_bytes.h."""
from __future__ import annotations

from typing import Iterable

from ...instruction_sets import instruction_set
from ...loops.byte_products import ByteProductKernel, Channels, Columns, FAR, Form, Row, find
from ...loops.scalars import domain_size, extent, Rewriter, rewritten
from ...loops.loop_ir import Store
from ...symbolic import ZERO, Expr, Sym, exact_div, sym
from ..nests.loop_nest import PLAIN_SCHEDULE, parameters, pointer
from ..scalar import indent
from .fixed_point import FixedPointEmitter

PAIR, QUAD = 2, 4


def emit_byte_product(kernel: ByteProductKernel, isa: str, symbol: str, emitter_of: type[WordEmitter]) -> str:
    form = find(kernel)
    assert form is not None, kernel.label
    emitter = emitter_of(kernel, form)
    body = emitter.body()
    head = ["/* SPDX-License-Identifier: Apache-2.0", f" * {kernel.label}: a product of bytes, by "
            f"{type(form).__name__.lower()}.", *parameters(kernel), " */", *PLAIN_SCHEDULE,
            *(f'#include "{name}"' for name in emitter.HEADERS), "", *emitter.functions,
            f"void {symbol}(void *const *p, const tc_index *d, tc_index thread, tc_index threads)", "{"]
    assert instruction_set(isa).lanes == 1
    lines = ["(void)d;", *(f"const tc_index {emitter.e.names[s]} = d[{i}];" for i, s in enumerate(kernel.dims)
                           if s in emitter.e.names.used)]
    for i, b in enumerate(kernel.params):
        if b is kernel.work:
            lines.append(f"uint32_t *const scratch = p[{i}];")
        else:
            lines += pointer(i, b, any(s.buffer == b.name for s in form.stores))
    return "\n".join([*head, *indent(lines), *indent(body), "}", ""])


class WordEmitter:
    """By words of four bytes."""

    HEADERS: tuple[str, ...] = ("tc_bytes.h", "tc_fixed.h")
    EMITTER: type[FixedPointEmitter] = FixedPointEmitter

    def __init__(self, kernel: ByteProductKernel, form: Form):
        self.kernel, self.form = kernel, form
        self.buffers = {b.name: b for b in kernel.params}
        pointers = {b.name: f"p{i}" for i, b in enumerate(kernel.params)}
        dims = {s: f"n{i}" for i, s in enumerate(kernel.dims)}
        self.e = self.EMITTER(dims, pointers, 1, None, None, (), self.buffers, {s.buffer for s in form.stores})
        self.functions: list[str] = []
        self.x = pointers[form.x.buffer]
        self.w = pointers[form.w.buffer]
        self.x_at = self.buffers[form.x.buffer].address(form.x.index)

    def body(self) -> list[str]:
        if isinstance(self.form, Columns):
            self.columns(self.form)
        elif isinstance(self.form, Row):
            self.row(self.form)
        else:
            self.channels(self.form)
        return self.e.lines

    def text(self, e: Expr) -> str:
        """C text of a number of points or rows."""
        return str(e.value) if e.is_const else f"({self.e.index(e)})"

    def groups(self, points: Expr, size: int) -> str:
        """C text of how many times `size` points are computed together."""
        whole = exact_div(points, size)
        return str(-(-points.value // size)) if points.is_const else self.text(whole) if whole is not None else \
            f"{self.text(points + (size - 1))} / {size}"

    def split(self, items: int | str) -> None:
        self.e.lines += ["tc_index begin, end;", f"tc_split({items}, thread, threads, &begin, &end);"]

    def point(self, variables: tuple[Sym, ...], number: str, suffix: str) -> None:
        """Names the variables of point `number`."""
        for i, s in enumerate(variables):
            inner = domain_size(variables[i + 1:]).value
            text = f"{number} / {inner}" if inner > 1 else number
            name = self.e.names[s] = f"m{i}{suffix}"
            self.e.lines.append(f"const tc_index {name} = {f'{text} % {extent(s).value}' if i else text};")

    def open_pair(self, points: Expr) -> None:
        """Opens the loop over pairs of points: the numbers of both."""
        self.e.open()
        second = f"tc_min(first + 1, {self.text(points - 1)})"
        self.e.lines.append(f"const tc_index first = item * {PAIR}, second = "
                            f"{'first + 1' if exact_div(points, PAIR) is not None else second};")

    def pair(self, variables: tuple[Sym, ...], points: Expr) -> tuple[list[dict[Sym, Expr]], tuple[str, str]]:
        """Names the variables of both points: what stands for them in each, and the heads of what each stores."""
        points_of: list[dict[Sym, Expr]] = []
        for r in range(PAIR):
            copies = tuple(Sym(s.name, 0, s.hi) for s in variables)
            self.point(copies, ("first", "second")[r], f"_{r}")
            points_of.append(dict(zip(variables, map(sym, copies), strict=True)))
            self.e.scopes[-1].bound |= set(copies)
        # a point that has no neighbour is not stored again: its result may be where an operand was
        return points_of, ("", "" if exact_div(points, PAIR) is not None else "if (second > first)")

    def stores(self, stores: Iterable[Store], mapping: dict[Sym, Expr], total: str) -> None:
        """Stores with variables replaced, in a scope of their own. total: C text of the sum."""
        self.e.accs = [total]
        change = Rewriter(lambda e: e.substitute(mapping)) if mapping else Rewriter()
        self.e.stores([rewritten(s, change) for s in stores])

    # -- several points -----------------------------------------------------------------------------------------------
    def columns(self, form: Columns) -> None:
        e, points, rows = self.e, form.points, extent(form.n).value
        self.split(self.groups(points, PAIR))
        if not form.whole_words:
            e.lines += [f"int8_t *const bytes = (int8_t *)(scratch + {4 * form.groups});",
                        f"for (tc_index i = {form.terms}; i < {4 * form.groups}; ++i)", "    bytes[i] = 0;"]
        self.open_pair(points)
        e.open()
        e.lines.append("const tc_index point = r ? second : first;")
        self.point(form.m, "point", "")
        self.stage(form)
        e.close(f"for (int r = 0; r < {PAIR}; ++r)")
        points_of, once = self.pair(form.m, points)
        e.lines.append(f"const int8_t *weights = {self.w};")
        if rows > 1:
            pair = Sym("pair", 0, rows // PAIR - 1)
            e.names[pair] = "pair"
            e.open((pair,))
            e.lines += ["int32_t c00, c01, c10, c11;",
                        f"TC_DOT_2X2(scratch, weights, {form.pitch}, {form.groups}, c00, c01, c10, c11);"]
            for j in range(PAIR):
                for r, mapping in enumerate(points_of):
                    e.open()
                    self.stores(form.stores, {**mapping, form.n: sym(pair) * PAIR + j}, f"c{r}{j}")
                    e.close(once[r])
            e.close(f"for (tc_index pair = 0; pair < {rows // PAIR}; ++pair, weights += {PAIR * form.pitch})")
        if rows % PAIR:
            e.open()
            e.lines += ["int32_t c0, c1;", f"TC_DOT_2X1(scratch, weights, {form.groups}, c0, c1);"]
            for r, mapping in enumerate(points_of):
                e.open()
                self.stores(form.stores, {**mapping, form.n: ZERO + (rows - 1)}, f"c{r}")
                e.close(once[r])
            e.close("")
        e.close("for (tc_index item = begin; item < end; ++item)")

    def stage(self, form: Columns) -> None:
        """Point r's terms to scratch."""
        e = self.e
        drop = {s: ZERO for s in form.run}
        whole = form.whole_words
        e.lines.append("uint32_t *to = scratch + 2 * r;" if whole else "int8_t *to = bytes;")
        heads = [e.loop(s) for s in form.outer]
        place = f"{self.x} + ({e.index(self.x_at.substitute(drop))})"
        if not form.x.valid:
            if whole and not form.outer:
                e.lines.append(f"tc_widen(to, {place}, {form.groups});")
            else:
                e.lines.append(f"to = {'tc_widen_run' if whole else 'tc_copy_run'}(to, {place}, 0, {form.length}, "
                               f"{form.length}, 0);")
        else:
            self.existing(form)
            e.lines.append(f"to = {'tc_widen_run' if whole else 'tc_copy_run'}(to, {place}, low, high, {form.length}, "
                           f"{form.other});")
        for head in reversed(heads):
            e.close(head)
        if not whole:
            e.lines.append(f"tc_widen(scratch + 2 * r, bytes, {form.groups});")

    def existing(self, form: Columns) -> None:
        """Declares low and high, the part of a run that exists, in bytes."""
        e, drop = self.e, {s: ZERO for s in form.run}
        low, high, tests = ["0"], [str(form.length // form.unit)], []
        for v in form.x.valid:
            factor = v.coefficient(form.bounded) if form.bounded is not None else None
            step = factor.value if factor is not None else 0
            first = e.index(v.substitute(drop))
            if not step:
                tests.append(f"{first} >= 0")
            elif step > 0:
                low.append(f"-({first})")
            else:
                high.append(f"{first} + 1")
        self.limits(low, high, tests, form.unit)

    def limits(self, low: list[str], high: list[str], tests: list[str], unit: int) -> None:
        """Declares low and high, the part of a run that exists."""
        most = high[0]
        lowest, highest = low[0], high[0]
        for text in low[1:]:
            lowest = f"tc_max({lowest}, {text})"
        for text in high[1:]:
            highest = f"tc_min({highest}, {text})"
        scale = f" * {unit}" if unit != 1 else ""
        exists = " && ".join(tests) or "1"
        self.e.lines += [
            f"const int exists = {exists};",
            f"const tc_index low = (exists ? tc_min({lowest}, {most}) : {most}){scale};",
            f"const tc_index high = (exists ? {highest} : 0){scale};"]

    # -- one point ----------------------------------------------------------------------------------------------------
    def row(self, form: Row) -> None:
        """An item is four rows of weights, or one of those that are left."""
        e, rows, whole = self.e, extent(form.n).value, self.fours(form)
        left = rows - QUAD * whole
        for s in form.m:
            e.names[s] = "0"
        self.split(whole + left)
        drop = {s: ZERO for s in (*form.k, *form.m)}
        e.lines.append(f"const int8_t *const x = {self.x} + ({e.index(self.x_at.substitute(drop))});")
        zero = {s: ZERO for s in form.m}
        if whole:
            quad = Sym("item", 0, whole - 1)
            e.names[quad] = "item"
            e.open((quad,))
            self.four_rows(form, zero, sym(quad) * QUAD, f"{self.w} + item * {QUAD * form.pitch}")
            e.close(f"for (tc_index item = begin; item < tc_min(end, {whole}); ++item)")
        if left:
            single = Sym("item", 0, whole + left - 1)
            e.names[single] = "item"
            n = sym(single) + (QUAD - 1) * whole
            e.open((single,))
            e.lines += self.one_row(form, f"{self.w} + ({e.index(n)}) * {form.pitch}")
            self.stores(form.stores, {**zero, form.n: n}, "c0")
            e.close(f"for (tc_index item = tc_max(begin, {whole}); item < end; ++item)")

    def fours(self, form: Row) -> int:
        """How many times four rows are computed together."""
        return extent(form.n).value // QUAD if 3 * form.pitch < FAR else 0

    def four_rows(self, form: Row, mapping: dict[Sym, Expr], first: Expr, weights: str) -> None:
        """Sums and stores of four rows. weights: C text of where they begin."""
        self.e.lines += ["int32_t c0, c1, c2, c3;",
                         f"TC_DOT_1X4(x, {weights}, {form.pitch}, {form.terms // 4}, c0, c1, c2, c3);"]
        for j in range(QUAD):
            self.e.open()
            self.stores(form.stores, {**mapping, form.n: first + j}, f"c{j}")
            self.e.close("")

    def one_row(self, form: Row, weights: str) -> list[str]:
        """Declares the sum c0 of a row."""
        return ["int32_t c0;", f"TC_DOT_1X1(x, {weights}, {form.terms // 4}, c0);"]

    # -- neighbouring channels ----------------------------------------------------------------------------------------
    def channels(self, form: Channels) -> None:
        e = self.e
        tall, wide = form.taps
        taps, width, rows = tall * wide, form.width, self.text(extent(form.row))
        blocks = extent(form.channel).value // QUAD
        self.split(domain_size(form.batch).value * blocks)
        e.lines += [f"uint32_t *const taps = scratch, *const ring = scratch + {2 * taps};"]
        block = self.open_block(form, blocks)
        e.lines += ["TC_UNROLL(1)", f"for (tc_index i = 0; i < {taps}; ++i) {{",
                    f"    const uint32_t w = tc_load_word({self.w} + {QUAD} * block + i * {form.tap_step});",
                    "    taps[2 * i] = tc_even(w);", "    taps[2 * i + 1] = tc_odd(w);", "}",
                    f"const int8_t *const from = {self.x} + ({e.index(form.base)} + {QUAD} * block);",
                    "tc_index y = 0;"]
        # parameters of the channels are named here, outside of the loops over points
        e.names[form.row] = "row"
        e.open((form.row,))
        self.new_rows(form, [f"tc_widen_row(ring + y % {tall} * {2 * width}, {self.row_of(form)}, {form.other});"])
        for i in range(tall):
            e.lines.append(f"const uint32_t *row{i} = ring + (row * {form.row_stride} + {i}) % {tall} * {2 * width};")
        e.names[form.column] = "column"
        e.open((form.column,))
        e.lines.append("int32_t c0 = 0, c1 = 0, c2 = 0, c3 = 0;")
        for i in range(tall):
            for k in range(wide):
                e.lines.append(f"TC_FOUR_CHANNELS(row{i}, {2 * k}, taps, {2 * (i * wide + k)}, c0, c1, c2, c3);")
        for j in range(QUAD):
            e.open()
            self.stores(form.stores, {form.channel: sym(block) * QUAD + j}, f"c{j}")
            e.close("")
        steps = "".join(f", row{i} += {2 * form.column_stride}" for i in range(tall))
        e.close(f"for (tc_index column = 0; column < {extent(form.column).value}; ++column{steps})")
        e.close(f"for (tc_index row = 0; row < {rows}; ++row)")
        e.close("for (tc_index item = begin; item < end; ++item)")

    def new_rows(self, form: Channels, stage: list[str]) -> None:
        """Stages the rows up to the last one of the window, those that the window before had not."""
        self.e.lines += ["TC_UNROLL(1)", f"for (; y < row * {form.row_stride} + {form.taps[0]}; ++y) {{",
                         f"    const int exists = y >= {self.text(form.y_low)} && y < {self.text(form.y_high)};",
                         *(f"    {line}" for line in stage), "}"]

    def row_of(self, form: Channels) -> str:
        """Of row y: where it is, the columns that exist, how many there are, their step."""
        return (f"from + y * {form.row_step}, exists ? {form.x_low} : {form.width}, "
                f"exists ? {min(form.x_high, form.width)} : 0, {form.width}, {form.column_step}")

    def open_block(self, form: Channels, blocks: int) -> Sym:
        """Opens the loop over the blocks of channels of all batches; the variable of the block."""
        e, block, batches = self.e, Sym("block", 0, blocks - 1), domain_size(form.batch).value
        e.names[block] = "block"
        e.open((block, *form.batch))
        e.lines.append(f"const tc_index block = item % {blocks};" if batches > 1 else "const tc_index block = item;")
        if batches > 1:
            self.point(form.batch, f"(item / {blocks})", "_b")
        return block
