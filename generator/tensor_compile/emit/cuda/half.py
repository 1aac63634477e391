# SPDX-License-Identifier: Apache-2.0
"""A contraction of 16-bit operands as CUDA C, from templates/cuda/contraction_half.cu.in.

What an operand has as 16 bits with eight neighbours side by side is copied to shared memory as it lies; anything
else, f32 or with neighbours apart, is read element by element, rounded, and stored there."""
from __future__ import annotations

from typing import Any

from ...loops import wide
from ...loops.bulk_copies import BulkCopy, bulk_copies, tensor_maps
from ...loops.loop_ir import ContractionKernel, GroupedContractionKernel
from ...loops.scalar_ir import Load, Reduction, Scalar
from ...loops.scalars import point_number, symbols_of, walk
from ...loops.schedule_half import HalfTile, is_wide
from ...symbolic import Expr, Sym, divisor_of
from . import vectors as cuda_vectors
from ..contraction.source import whole
from .attention import bring
from .groups import wgmma
from .kernels import rounded
from .part import Part, Split, kernel_texts, split
from ..scalar import C_TYPE, extent, indent
from ..template import expand_file


AHEAD = 4   # rows of a thread that the epilogue loads at a time


def emit_half(kernel: ContractionKernel | GroupedContractionKernel, symbol: str, dtype: str, tile: HalfTile) -> str:
    maps = tensor_maps(kernel, tile)
    parts = [_Part(part, tile, dtype, copies, maps).fields() for part, copies in
             zip(whole(kernel), bulk_copies(kernel, tile))]
    sums = max(len(part["sums"]) for part in parts)
    functions = dict.fromkeys((tile.columns, part["b_turned"]) for part in parts) if tile.wgmma else {}
    form = "bulk" if tile.bulk else "half"
    return expand_file(f"cuda/contraction_{form}.cu.in", {
        **kernel_texts(kernel, symbol, parts), "most_sums": sums, "rows": tile.rows, "columns": tile.columns,
        "height": tile.height, "width": tile.width, "warps": tile.warps, "slices": tile.slices, "split": tile.split,
        "clustered": tile.split > 1, "wgmma": tile.wgmma,
        "first_tile": "(group + groups - first % groups) % groups" if len(parts) > 1 else "group",
        "groups": tile.rows // 64, "registers": tile.registers, "not_early": not all(part["before"] for part in parts),
        "ahead": AHEAD, "stages": tile.stages(sums), "threads": tile.threads, "least_blocks": tile.least_blocks(sums),
        "narrow": dtype, "mapped": bool(maps), "maps": len(maps), "barriers": tile.barriers(sums),
        "wgmma_text": "\n".join(wgmma(symbol, columns, turned, dtype) for columns, turned in functions)})


def _eights(e: Expr) -> bool:
    return divisor_of(e) % 8 == 0


def is_lined(kernel: ContractionKernel) -> bool:
    """Whether there is one result of 16 bits, of the sum alone, whose rows begin anywhere: columns are neighbours, but a
    vector of eight need not be aligned."""
    if is_wide(kernel) or len(kernel.stores) != 1 or len(kernel.b) != 1 or kernel.where is not None:
        return False
    (store,) = kernel.stores
    address = {b.name: b for b in kernel.params}[store.buffer].address(store.index)
    return store.value.dtype in ("bf16", "f16") and not store.dynamic \
        and not any(isinstance(x, (Load, Reduction)) for x in walk(store.value)) \
        and not {*kernel.batch, *kernel.m, *kernel.n} & symbols_of(store.value) \
        and address - address.substitute({s: 0 for s in kernel.n}) == point_number(kernel.n)


class _Part(Part):
    def __init__(self, kernel: ContractionKernel, tile: HalfTile, dtype: str, copies: list[BulkCopy | None],
                 maps: list[BulkCopy]):
        super().__init__(kernel, [f"sum[{i}][v]" for i in range(len(kernel.b))])
        self.tile, self.dtype = tile, dtype
        self.e.relaxed = True
        self.setup: list[str] = []
        self.arrays: list[str] = []
        self.fetch: list[str] = []
        self.column_arrays: list[str] = []
        self.fetch_columns: list[str] = []
        self.copies, self.maps = copies, maps
        self.bring: list[str] = []      # that threads copy, all operands and those that no map is for
        self.unmapped: list[str] = []
        self.lines("a", kernel.a, "a_tile", tile.rows, "row", "m")
        self.unmapped += [] if copies[0] else self.bring
        self.turned = self.is_turned()
        for i, b in enumerate(kernel.b):
            place, before = f"(b_tile + {i} * B_SIZE)", len(self.bring)
            if self.turned:
                self.panels(f"b{i}", b, place)
            else:
                self.lines(f"b{i}", b, place, tile.columns, "column", "n")
            self.unmapped += [] if copies[1 + i] else self.bring[before:]

    def fields(self) -> dict[str, Any]:
        kernel, e = self.kernel, self.e
        e.open(kernel.batch + kernel.m)
        epilogue = self.epilogue()
        epilogue = [*e.scopes.pop().lines, *epilogue]
        lined = is_lined(kernel)
        turned = int(self.turned)
        return {**self.mapped(), **self.texts(), "setup": "\n".join(self.setup), "bring": "\n".join(self.bring),
                "turned": self.turned,
                "b_turned": turned, "b_wide": 8192 if turned else 16, "b_step": 128 if turned else 2,
                "sums": [{"i": i} for i in range(len(kernel.b))], "epilogue": "\n".join(epilogue), "wide": self.wide,
                "arrays": "\n".join(self.arrays), "fetch": "\n".join(self.fetch),
                "column_arrays": "\n".join(self.column_arrays), "fetch_columns": "\n".join(self.fetch_columns),
                "batch_text": self.points(kernel.batch), "lined": lined, **(self.line() if lined else {})}

    def line(self) -> dict[str, str]:
        """Results of a row: where they begin, and how one is made of its sum."""
        (store,), e = self.kernel.stores, self.e
        e.open(self.kernel.batch + self.kernel.m)
        start = e.index(e.address(store.buffer, store.index).substitute({s: 0 for s in self.kernel.n}))
        text = e.value(store.value).text
        return {"value": "\n".join(e.scopes.pop().lines), "value_text": text, "line_start": f"({start})",
                "line_pointer": e.pointers[store.buffer]}

    def mapped(self) -> dict[str, Any]:
        """What the bulk copy engine brings, and what threads do beside it."""
        kernel, e = self.kernel, self.e
        constant = all(e.buffers[b.buffer].kind == "packed" for b in kernel.b)
        before = not e.reads_first
        sizes = [self.tile.rows, *[self.tile.columns] * len(kernel.b)]
        asked = [self.asked(c, "a_tile" if i == 0 else f"b_tile + {i - 1} * B_SIZE", "m_first" if i == 0 else "n_first")
                 for i, c in enumerate(self.copies)]
        return {"mapped_first": asked[0], "mapped_second": "\n".join(filter(None, asked[1:])),
                "mapped_bytes": sum(128 * size for size, c in zip(sizes, self.copies) if c),
                "unmapped": "\n".join(self.unmapped),
                "early": constant and before, "late": not constant, "before": before,
                "tiles": "\n".join(self.tiles())}

    def asked(self, copy: BulkCopy | None, to: str, line: str) -> str:
        """One piece of an operand that a map describes."""
        if copy is None:
            return ""
        return (f"tc_bulk_copy({to}, arguments.maps[{self.maps.index(copy)}], k_first, (int){line}, "
                "full + slot(piece));")

    def tiles(self) -> list[str]:
        """Sizes, and tiles of a block of contraction_bulk.cu.in."""
        return [*self.tile_counts(self.tile.rows, self.tile.columns),
                f"const tc_index k_size = {self.points(self.kernel.k)}, pieces = (k_size + 63) / 64;"]

    # -- operands to shared memory ------------------------------------------------------------------------------------
    def lines(self, own: str, load: Load, to: str, count_of: int, flat: str, group: str) -> None:
        """An operand whose lines are rows, or columns: a thread has eight terms of some of them."""
        kernel, e, threads = self.kernel, self.e, self.tile.threads
        address = e.address(load.buffer, load.index)
        place = split(address, kernel.k)
        valid = [x for x in (split(x, kernel.k) for x in load.valid) if x is not None]
        parted = place is not None and len(valid) == len(load.valid)
        if place is None or not parted:
            place, valid = Split(address * 0, address), [Split(x * 0, x) for x in load.valid]
        last = kernel.k[-1]
        side_by_side = parted and _eights(place.outer) and (
            self.is_whole(place.inner) or place.inner.coefficient(last) == 1 and _eights(extent(last))
            and _eights(place.inner.substitute({last: 0}))) and all(last not in v.inner.symbols() for v in valid)
        pointer = e.pointers[load.buffer]
        step = threads // 8
        count = -(-count_of // step)
        size = f"{group}_size"
        first = f"{group}_first"
        ragged = count_of % step != 0
        within = f" && {own}_line + i * {step} < {count_of}" if ragged else ""
        self.setup += [f"const int {own}_vector = thread % 8, {own}_line = thread / 8;"]
        if parted:
            self.setup += [f"tc_index {own}_at[{count}];", f"unsigned {own}_in = 0;",
                           *(f"tc_index {own}_v{j}[{count}];" for j in range(len(valid))), "#pragma unroll",
                           f"for (int i = 0; i < {count}; ++i) {{",
                           f"    const tc_index {flat} = {first} + {own}_line + i * {step};",
                           *indent(self.decoded[group]),
                           f"    {own}_in |= (unsigned)({flat} < {size}{within}) << i;",
                           f"    {own}_at[i] = {e.index(place.outer)};",
                           *(f"    {own}_v{j}[i] = {e.index(v.outer)};" for j, v in enumerate(valid)), "}"]
            tests = [f"{own}_v{j}[i] + ({e.index(v.inner)}) >= 0" for j, v in enumerate(valid)]
            there = " && ".join(["k < k_size", f"({own}_in >> i & 1)", *tests])
            at = f"{own}_at[i] + ({e.index(place.inner) if not side_by_side or not self.is_whole(place.inner) else 'k'})"
            again: list[str] = []
        else:
            again = [f"const tc_index {flat} = {first} + {own}_line + i * {step};", *self.decoded[group]]
            there = " && ".join(["k < k_size", f"{flat} < {size}{within}", *(f"{e.index(v.inner)} >= 0"
                                                                             for v in valid)])
            at = e.index(place.inner)
        target = f"{to} + tc_half_place({own}_line + i * {step}, {own}_vector)"
        guard = [f"if ({own}_line + i * {step} < {count_of})"] if ragged else []
        narrow_at = load.dtype == self.dtype
        simple = self.is_whole(place.inner) if parted else False
        k_lines = [] if simple and side_by_side else self.decoded["k"]
        if side_by_side and narrow_at:
            self.bring += ["{", f"    const tc_index k = k_first + {own}_vector * 8;", *indent(k_lines),
                           "#pragma unroll",
                           f"    for (int i = 0; i < {count}; ++i) {{", f"        const bool there = {there};",
                           *(f"        {line}" for line in guard),
                           f"        tc_copy16({target}, {pointer} + (there ? {at} : 0), there);", "    }", "}"]
            return
        if side_by_side:   # eight floats
            self.bring += ["{", f"    const tc_index k = k_first + {own}_vector * 8;", *indent(k_lines),
                           "#pragma unroll",
                           f"    for (int i = 0; i < {count}; ++i) {{", f"        const bool there = {there};",
                           f"        {C_TYPE[load.dtype]} from[8] = {{}};", "        uint16_t all[8];",
                           "        if (there)", f"            tc_load8(from, {pointer} + ({at}));", "#pragma unroll",
                           "        for (int v = 0; v < 8; ++v)",
                           f"            all[v] = {rounded('from[v]', load.dtype, self.dtype)};",
                           *(f"        {line}" for line in guard),
                           f"        tc_store8((uint16_t *)({target}), all);", "    }", "}"]
            return
        self.bring += ["#pragma unroll", f"for (int i = 0; i < {count}; ++i) {{", *indent(again),
                       "    uint16_t all[8];",
                       "#pragma unroll", "    for (int v = 0; v < 8; ++v) {",
                       f"        const tc_index k = k_first + {own}_vector * 8 + v;",
                       *indent(indent(self.decoded["k"])),
                       f"        all[v] = {there} ? {rounded(f'{pointer}[{at}]', load.dtype, self.dtype)} : (uint16_t)0;",
                       "    }",
                       *(f"    {line}" for line in guard), f"    tc_store8((uint16_t *)({target}), all);", "}"]

    def is_turned(self) -> bool:
        """Whether second operands come as lines of terms: columns are neighbours, eight by eight."""
        kernel, e, last = self.kernel, self.e, self.kernel.n[-1]
        if self.tile.columns % 64:
            return False
        for b in kernel.b:
            place = split(e.address(b.buffer, b.index), kernel.k)
            if place is None or b.valid or place.outer.coefficient(last) != 1 or not _eights(extent(last)) \
                    or not _eights(place.outer.substitute({last: 0})) or not _eights(place.inner) \
                    or self.is_whole(place.inner):
                return False
        return True

    def panels(self, own: str, load: Load, to: str) -> None:
        """Lines of 64 columns, one a term: a thread has eight columns of some terms."""
        kernel, e, tile = self.kernel, self.e, self.tile
        place = split(e.address(load.buffer, load.index), kernel.k)
        assert place is not None
        pointer, across = e.pointers[load.buffer], tile.columns // 8
        total = 64 * across
        count = -(-total // tile.threads)
        put = bring(pointer, load.dtype, self.dtype)
        self.bring += [
            "#pragma unroll", f"for (int i = 0; i < {count}; ++i) {{",
            f"    const int number = thread + i * {tile.threads};",
            f"    const int line = number / {across}, vector = number % {across};",
            "    const tc_index k = k_first + line, column = n_first + vector * 8;", *indent(self.decoded["k"]),
            *indent(self.decoded["n"]), "    const bool there = k < k_size && column < n_size;",
            f"    const tc_index at = {e.index(place.outer)} + ({e.index(place.inner)});",
            f"    unsigned char *const target = {to} + vector / 8 * 8192 + tc_half_place(line, vector % 8);",
            *([f"    if (number < {total}) {{"] if total % tile.threads else ["    {"]), *indent(indent(put)), "    }",
            "}"]

    # -- what follows the sums ----------------------------------------------------------------------------------------
    @property
    def wide(self) -> bool:
        return is_wide(self.kernel)

    def fetch_ahead(self, last: Sym, first: list[str]) -> None:
        """What the epilogue loads in each row, for some rows of a thread before any is stored; in blocks that stay also
        what it loads in columns, for all rows."""
        kernel, e = self.kernel, self.e
        rows = {*kernel.batch, *kernel.m}
        loads = [n for n in dict.fromkeys(walk(*(s.value for s in kernel.stores))) if isinstance(n, Load)
                 and not n.dynamic and not n.valid
                 and wide.is_wide(e.address(n.buffer, n.index), last, n.dtype, e.buffers[n.buffer])]
        of_rows = [n for n in loads if any(rows & set(x.symbols()) for x in n.index)]
        self.arrays, self.fetch, kept = self.fetched(of_rows, last, first, AHEAD, "u")
        if self.tile.bulk:
            of_columns = [n for n in loads if n not in of_rows]
            self.column_arrays, self.fetch_columns, more = self.fetched(of_columns, last, first, 2, "now")
            kept |= more
        e.kept = kept

    def fetched(self, loads: list[Load], last: Sym, first: list[str], count: int,
                which: str) -> tuple[list[str], list[str], dict[Scalar, str]]:
        """Arrays for `count` of each load, statements that bring that at `which`, and what is known by it then."""
        e = self.e
        names = {n: e.fresh("ahead") for n in loads}
        e.open(self.kernel.n)
        cuda_vectors.bring(e, loads, last, "first_last", {n: f"{name}[{which}]" for n, name in names.items()})
        lines = e.scopes.pop().lines
        return ([f"{C_TYPE[n.dtype]} {name}[{count}][8];" for n, name in names.items()],
                [*first, *lines] if loads else [], {n: f"{name}[{which}][v]" for n, name in names.items()})

    def epilogue(self) -> list[str]:
        kernel, e, last = self.kernel, self.e, self.kernel.n[-1]
        if self.wide:
            first = [line.replace(f" {e.names[last]} =", " first_last =") for line in self.decoded["n"]]
            first = ["const tc_index column = first_column;", *first]
            again = [f"const tc_index {e.names[last]} = first_last + v;"]
            self.fetch_ahead(last, first)
            lines = [*first, *cuda_vectors.points(e, kernel.stores, last, "first_last", again, kernel.n,
                                                    each=lambda: self.repair("sum[0][v]"))]
            e.kept = {}
            return lines
        e.open(kernel.n)
        self.repair("sum[0][v]")
        e.stores(kernel.stores)
        return e.scopes.pop().lines
