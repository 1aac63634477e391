# SPDX-License-Identifier: Apache-2.0
"""The epilogue of a contraction: C text of the stores at 16 columns of a row (at one, without vectors), given the
sums."""
from __future__ import annotations

import math
from dataclasses import replace
from typing import Mapping

from ...graph.dtypes import DTYPES
from ...graph.table import code_of
from ...instruction_sets import CACHE_LINE
from ...loops.loop_ir import ContractionKernel, Store
from ...loops.masks import conjuncts, holds_where
from ...loops.plan import bytes_of
from ...loops.scalar_ir import Acc, Apply, Buffer, Const, Scalar
from ...loops.scalars import loads, Rewriter, symbols_of
from ...records import dataclass
from ...symbolic import const, Expr, Sym
from .access import Access
from .again import add_again
from ..index import c_index
from ..quantized import ROUNDED, largest, quantized
from ..scalar import C_TYPE, V_TYPE, ScalarEmitter, extent, vectorizable

_ZERO, _INFINITY = Const("f32", 0), 0x7f800000
WAY, WAYS = 4096, 8       # bytes of a way of the first cache, and how many it has
FEWEST_TERMS = 32         # of sums that take as long as a line from far
LARGE = 1 << 20           # bytes beyond which a temp's lines are fetched for writing; measured on a Zen 4 core
LARGE_IN_TURN = 1 << 19   # where they lie in turn with lines of other kernels, which no processor expects
MOST_IN_TURN = 8          # elements from a row of a line to the next one, of which rows of a column share cache lines
INLINE_LIMIT = 400        # operations of a tile's epilogue up to which it is expanded in place


@dataclass(frozen=True, slots=True)
class Four:
    """dtype: of 8 bits; factors: parameters whose elements must be small; value, partial, place: bodies of functions of
    16 columns (templates/contraction/store.c.in), of which `lanes` exist in partial."""

    dtype: str
    zero: int
    factors: list[dict[str, object]]
    value: list[str]
    partial: list[str]
    place: list[str]


@dataclass(frozen=True, slots=True)
class Across:
    """step: the distance of two columns; value, partial, place: bodies of functions (templates/contraction/store.c.in)
    of 16 columns, of which `lanes` exist in partial; bytes: of the step, 0 where it is not known. together: rows follow
    one another; else those of a line lie a few elements apart."""

    step: str
    bytes: int
    value: list[str]
    partial: list[str]
    place: list[str]
    together: bool

    def meets(self, columns: int) -> bool:
        """Lines of so many columns meet in sets of the first cache, and push each other out before a line is whole."""
        sets = WAY // math.gcd(WAY, self.bytes) if self.bytes else columns
        return columns > WAYS * min(sets, WAY // CACHE_LINE)


@dataclass(frozen=True, slots=True)
class Epilogue:
    """own: what names begin with that are this part's alone; vector: 16 columns at a time."""

    kernel: ContractionKernel
    access: Access
    names: Mapping[Sym, str]
    own: str
    vector: bool

    def text(self, e: Expr) -> str:
        return c_index(e, self.names)

    @property
    def accs(self) -> list[str]:
        return [f"acc{s}" for s in range(self.access.sums)]

    def finishes(self, pieces: int) -> list[dict[str, str]]:
        """The functions `finish`, where a mask may be true in a whole tile `finish_unmasked`, and, where the last
        columns are no whole panel, `finish_partial`. pieces: times that one is expanded in a tile."""
        out = self.again() + self.finish_unmasked()
        work = sum(_work(s.value) for s in self.kernel.stores)
        inline = "__attribute__((noinline))" if work * pieces > INLINE_LIMIT else \
            "inline __attribute__((always_inline))"
        dtype = self.access.product.sum
        acc_type = V_TYPE[dtype] if self.vector else C_TYPE[dtype]
        accs = [f"{acc_type} {acc}" for acc in self.accs]
        if not self.vector:
            body = self.point("j") + self.statements(1, None, self.accs)
            return [*out, {"name": f"{self.own}finish", "inline": inline, "parameters": ", ".join(accs),
                           "body": "\n".join([*self.repair("1"), *body])}]
        for name, lanes in (("finish", None), ("finish_partial", "lanes")):
            if lanes and self.whole_panels:
                continue
            body = self.point("j") + self.statements(16, lanes, self.accs) if self.wide else self.by_lane(lanes or "16")
            out.append({"name": self.own + name, "inline": inline,
                        "body": "\n".join([*self.repair(lanes or "16"), *body]),
                        "parameters": ", ".join([*accs, *(("tc_index lanes",) if lanes else ())])})
        return out

    # -- masks ------------------------------------------------------------------------------------------------------
    def unmasked(self, columns: int) -> str:
        """Whether a mask, causality say, is true at all points of a tile of so many columns: C text; "" where results
        do not depend on a mask, or it does not grow with rows and shrink with columns."""
        kernel = self.kernel
        mask = self.mask()
        if not mask:
            return ""
        batch = {s: f"t->b{i}" for i, s in enumerate(kernel.batch)}
        last = {**self.names, **batch, kernel.m[0]: "t->row", kernel.n[0]: f"(j + {columns - 1})"}
        return " && ".join(f"{c_index(e, last)} >= 0" for e in mask)

    def mask(self) -> list[Expr]:
        """What is >= 0 where the mask is true; nothing where there is no such mask."""
        kernel = self.kernel
        if len(kernel.stores) != 1 or kernel.where is not None or not (self.vector and self.wide) \
                or not len(kernel.m) == len(kernel.n) == self.access.sums == 1 or self.access.product.sum != "f32":
            return []
        value = kernel.stores[0].value
        if not isinstance(value, Apply) or value.op != "select":
            return []
        mask = [e for e in map(holds_where, conjuncts(value.args[0])) if e is not None]
        down, across = ([e.coefficient(s) for e in mask] for s in (kernel.m[0], kernel.n[0]))
        known = len(mask) == len(conjuncts(value.args[0])) and all(c in (0, 1) for c in down) \
            and all(c in (-1, 0) for c in across)
        return mask if known else []

    def finish_unmasked(self) -> list[dict[str, str]]:
        """16 columns of a row where the mask is true, of sums to which no zero was added yet."""
        if not self.mask():
            return []
        (store,) = self.kernel.stores
        assert isinstance(store.value, Apply)
        value = Rewriter(leaf=_with_zero)(store.value.args[1])
        used = {s for e in store.index for s in e.symbols()} | symbols_of(value)
        body = [*self.declared("j", used),
                *statements(self.kernel, self.names, 16, None, self.accs, (replace(store, value=value),))]
        return [{"name": f"{self.own}finish_unmasked", "inline": "inline __attribute__((always_inline))",
                 "parameters": f"tcv_f32 {self.accs[0]}", "body": "\n".join(body)}]

    # -- columns apart ----------------------------------------------------------------------------------------------
    def across(self) -> "Across | None":
        """How a tile stores its results, where columns lie apart and rows follow one another in memory, or in turn with
        others: turned, column by column. None where rows are stored one by one."""
        kernel = self.kernel
        if not (self.vector and self.wide) or kernel.where is not None or self.mask() \
                or len(kernel.stores) != 1 or self.access.sums != 1 or len(kernel.n) != 1:
            return None
        (store,) = kernel.stores
        address = {p.name: p for p in kernel.params}[store.buffer].address(store.index)
        step, below = address.coefficient(kernel.n[0]), const(1)
        if store.value.dtype != "f32" or store.dynamic or step is None or step.symbols() & {*kernel.m} \
                or step.is_const and step.value in (0, 1):
            return None
        together = True
        for s in reversed(kernel.m):
            together = together and address.coefficient(s) == below
            below = below * extent(s)
        line = address.coefficient(kernel.m[-1]) if kernel.m else None
        if not together and not (self.whole_panels and line is not None and line.is_const
                                 and 1 < line.value <= MOST_IN_TURN):
            return None
        used = {s for e in store.index for s in e.symbols()}
        place = _emitter(kernel, self.names, 16, None, self.accs)
        pointer = f"return {place.pointers[store.buffer]} + ({place.index(address)});"
        return Across(self.text(step), 4 * step.value if step.is_const else 0, self.across_value(store, None),
                      [] if self.whole_panels else self.across_value(store, "lanes"),
                      [*self.declared("j", used), pointer], together)

    def across_value(self, store: Store, lanes: str | None) -> list[str]:
        emitter = _emitter(self.kernel, self.names, 16, lanes, self.accs)
        emitter.steady = True
        value = emitter.wide(store.value)
        return [*self.declared("j", symbols_of(store.value)), *emitter.lines, f"return {value};"]

    # -- bytes ------------------------------------------------------------------------------------------------------
    def four(self, vectors: str) -> "Four | None":
        """How results of four vectors are stored together, where they are rounded to 8 bits and lie side by side."""
        kernel = self.kernel
        if vectors not in ("AVX2", "AVX512") or not self.vector or not self.wide or kernel.where is not None \
                or len(kernel.stores) != 1 or self.access.sums != 1 or not self.access.product.integer:
            return None
        (store,) = kernel.stores
        found = quantized(store.value)
        address = {p.name: p for p in kernel.params}[store.buffer].address(store.index)
        if store.dynamic or address.coefficient(kernel.n[-1]) != 1 or len(kernel.n) != 1:
            return None
        place = _emitter(kernel, self.names, 16, None, self.accs)
        pointer = f"return {place.pointers[store.buffer]} + ({place.index(address)});"
        used = {s for e in store.index for s in e.symbols()}
        if vectors == "AVX2" and store.value == Acc("i32"):    # sums as they are
            body = ["(void)p, (void)d, (void)t, (void)r, (void)j;", f"return {self.accs[0]};"]
            return Four("i32", 0, [], body, [] if self.whole_panels else ["(void)lanes;", *body],
                        [*self.declared("j", used), pointer])
        factors: set[str] = set()
        if found is None or not largest(found[0], kernel.params, factors) <= ROUNDED:
            return None
        numbers = self.numbers(found[0], factors)
        sizes = [{"parameter": i, "count": self.text(p.elements)} for i, p in enumerate(kernel.params)
                 if p.name in factors]
        return Four(store.value.dtype, found[1], sizes, self.rounded(found[0], None, numbers),
                    [] if self.whole_panels else self.rounded(found[0], "lanes", numbers),
                    [*self.declared("j", used), pointer])

    def numbers(self, value: Scalar, factors: set[str]) -> frozenset[Scalar]:
        """The roundings to 8 bits within a value that are of no NaN, where the factors are small; adds those that these
        have."""
        found, stack = set(), [value]
        while stack:
            node = stack.pop()
            stack += node.children
            inner, own = quantized(node), set[str]()
            if inner is not None and largest(inner[0], self.kernel.params, own) < math.inf:
                found.add(node)
                factors |= own
        return frozenset(found)

    def rounded(self, value: Scalar, lanes: str | None, numbers: frozenset[Scalar]) -> list[str]:
        """The rounded value of 16 columns, of which the first `lanes` exist. numbers: see above."""
        emitter = _emitter(self.kernel, self.names, 16, lanes, self.accs)
        emitter.steady, emitter.numbers = True, numbers
        result = emitter.wide(value)
        return [*self.point("j"), *emitter.lines, f"return tcv_rounded_f32({result});"]

    # -- a predicate ----------------------------------------------------------------------------------------------
    def again(self) -> list[dict[str, str]]:
        """The function that computes NaN among some sums of a row again (again.py), where there is a predicate."""
        kernel = self.kernel
        if kernel.where is None:
            return []
        used = symbols_of(kernel.a, *kernel.b, kernel.where)
        body = ["for (tc_index l = 0; l < lanes; ++l) {",
                *indented(self.declared("(j + l)", used) + sum_again(kernel, self.names, "sums[l]")), "}"]
        return [{"name": f"{self.own}again", "inline": "TC_NOINLINE", "body": "\n".join(body),
                 "parameters": "float *sums, tc_index lanes"}]

    def repair(self, lanes: str) -> list[str]:
        """What stands before an epilogue of a product with a predicate."""
        if self.kernel.where is None:
            return []
        (acc,) = self.accs
        if not self.vector:
            return [f"if ({acc} != {acc})", f"    {self.own}again(p, d, t, r, j, &{acc}, 1);"]
        return [f"if (tcv_any_bool(tcv_ne_f32({acc}, {acc}))) {{", "    _Alignas(64) float sums[16];",
                f"    tcv_store_f32(sums, {acc});", f"    {self.own}again(p, d, t, r, j, sums, {lanes});",
                f"    {acc} = tcv_load_f32(sums);", "}"]

    @property
    def whole_panels(self) -> bool:
        return self.access.columns.is_const and self.access.columns.value % 16 == 0

    @property
    def wide(self) -> bool:
        """The 16 columns of a panel are 16 values of the last variable of n, and the epilogue can be computed so."""
        n = self.kernel.n
        size = extent(n[-1]) if n else None
        together = len(n) == 1 or (size is not None and size.is_const and size.value % 16 == 0)
        return together and vectorizable([s.value for s in self.kernel.stores], n[-1])

    def point(self, column: str) -> list[str]:
        """Declares the variables of the tile's row r and of a column that the stores use."""
        stores = self.kernel.stores
        stored = {s for x in stores for e in x.index for s in e.symbols()}
        return self.declared(column, stored | symbols_of(*(x.value for x in stores)))

    def declared(self, column: str, used: set[Sym]) -> list[str]:
        """Declares those of the variables that are used, and all of a column."""
        kernel = self.kernel
        lines = [f"const tc_index b{i} = t->b{i};" for i, s in enumerate(kernel.batch) if s in used]
        for i, s in enumerate(kernel.m):
            if s in used:
                lines.append(f"const tc_index m{i} = {f't->m{i}[r]' if len(kernel.m) > 1 else 't->row + r'};")
        return lines + decode(column, "n", [self.text(extent(s)) for s in kernel.n])

    def by_lane(self, lanes: str) -> list[str]:
        """Column by column."""
        dtype = self.access.product.sum
        lanes_of = [f"{acc}_lane" for acc in self.accs]
        body = self.point("j + l") + self.statements(1, None, [f"{lane}[l]" for lane in lanes_of])
        stored = [line for acc, lane in zip(self.accs, lanes_of, strict=True)
                  for line in (f"{C_TYPE[dtype]} {lane}[16];", f"tcv_store_{dtype}({lane}, {acc});")]
        return [*stored, f"for (int l = 0; l < {lanes}; ++l) {{", *indented(body), "}"]

    def ahead(self) -> tuple[list[str], int]:
        """Fetches what the epilogue of row r and of columns from j loads of that row alone (a residual, say), and where
        it stores floats that leave the model, or a large temp: those lines lie where the processor does not expect
        them. Of other temps they are in a cache mostly. Nothing where there are no such lines. And how many columns a
        line has, of the widest elements."""
        kernel = self.kernel
        if not self.vector or not kernel.m:
            return [], CACHE_LINE
        buffers, rows, last = {p.name: p for p in kernel.params}, set(kernel.m), kernel.n[-1]
        found = []
        for x in loads(*(s.value for s in kernel.stores)):
            at = buffers[x.buffer].address(x.index)
            if not x.dynamic and not x.valid and at.symbols() & rows and at.coefficient(last) == 1:
                found.append((buffers[x.buffer], at, 0))
        for y in kernel.stores:
            buffer = buffers[y.buffer]
            at = buffer.address(y.index)
            if self.far(buffer, y) and buffer.dtype == "f32" and not y.dynamic and at.coefficient(last) == 1:
                found.append((buffer, at, 1))
        if not found:
            return [], CACHE_LINE
        used = {s for _, at, _ in found for s in at.symbols()}
        number = {p.name: i for i, p in enumerate(kernel.params)}
        return [*self.declared("j", used),
                *(f"{'tct_fetch_to_write' if written else '__builtin_prefetch'}"
                  f"(({C_TYPE[b.dtype]} *)p[{number[b.name]}] + ({self.text(at)}){'' if written else ', 0, 3'});"
                  for b, at, written in found)], CACHE_LINE // max(DTYPES[b.dtype].bytes for b, _, _ in found)

    def far(self, buffer: Buffer, store: Store) -> bool:
        """Its lines are likely behind the second cache when results are stored: those of a model's output, or of a temp
        that is larger than LARGE, where a tile's sums take so long that a line comes meanwhile. A temp of unknown size
        counts as small."""
        size, terms = bytes_of(buffer), self.access.terms
        steps = [e.coefficient(self.kernel.m[-1]) for e in store.index]
        in_turn = any(step is not None and step.is_const and step.value > 1 for step in steps)
        large = buffer.kind == "temp" and size.is_const and size.value > (LARGE_IN_TURN if in_turn else LARGE)
        return buffer.kind == "output" or large and not (terms.is_const and terms.value < FEWEST_TERMS)

    def statements(self, width: int, lanes: str | None, accs: list[str]) -> list[str]:
        return statements(self.kernel, self.names, width, lanes, accs)


def names_of(kernel: ContractionKernel) -> dict[Sym, str]:
    """C names of the dims and of the variables of batch, m and n."""
    names = {s: f"d[{i}]" for i, s in enumerate(kernel.dims)}
    for prefix, variables in (("b", kernel.batch), ("m", kernel.m), ("n", kernel.n)):
        names |= {s: f"{prefix}{i}" for i, s in enumerate(variables)}
    return names


def statements(kernel: ContractionKernel, names: Mapping[Sym, str], width: int, lanes: str | None,
               accs: list[str], stores: tuple[Store, ...] | None = None) -> list[str]:
    """The stores of the epilogue (others in their place) at one point, or at 16 columns of which the first `lanes`
    exist."""
    emitter = _emitter(kernel, names, width, lanes, accs)
    emitter.steady = width > 1    # columns start at panels
    emitter.stores(kernel.stores if stores is None else stores)
    return emitter.lines


def sum_again(kernel: ContractionKernel, names: Mapping[Sym, str], place: str) -> list[str]:
    """The sum at one point computed again where it is NaN (again.py); nothing without a predicate."""
    emitter = _emitter(kernel, names, 1, None, [])
    if kernel.where is not None:
        add_again(emitter, kernel, place)
    return emitter.lines


def _emitter(kernel: ContractionKernel, names: Mapping[Sym, str], width: int, lanes: str | None,
             accs: list[str]) -> ScalarEmitter:
    pointers = {p.name: f"(({C_TYPE[p.dtype]} *)p[{i}])" for i, p in enumerate(kernel.params)}
    return ScalarEmitter(names, pointers, width, kernel.n[-1] if width > 1 else None, lanes, accs,
                         {p.name: p for p in kernel.params}, {s.buffer for s in kernel.stores})


def decode(flat: str, prefix: str, sizes: list[str]) -> list[str]:
    """Declarations of prefix0.. from a flattened index."""
    out = []
    for i in range(len(sizes)):
        inner = " * ".join(f"({s})" for s in sizes[i + 1:])
        text = f"({flat}) / ({inner})" if inner else f"({flat})"
        out.append(f"const tc_index {prefix}{i} = {f'{text} % ({sizes[i]})' if i else text};")
    return out


def indented(lines: list[str]) -> list[str]:
    return [f"    {line}" for line in lines]


def _with_zero(s: Scalar) -> Scalar | None:
    """A sum plus +0, which makes a sum of negative zeros +0; times a positive number in one operation."""
    if isinstance(s, Acc):
        return Apply("add", "f32", (s, _ZERO))
    if isinstance(s, Apply) and s.op == "mul" and isinstance(s.args[0], Acc) and isinstance(s.args[1], Const) \
            and 0 < s.args[1].bits < _INFINITY:
        return Apply("fma", "f32", (*s.args, _ZERO))
    return None


def _work(value: Scalar) -> int:
    """Operations of an epilogue, transcendental functions by what they are made of."""
    seen: dict[Scalar, int] = {}
    stack = [value]
    while stack:
        node = stack.pop()
        if node not in seen:
            seen[node] = code_of(node.op) if isinstance(node, Apply) else 0 if isinstance(node, Acc) else 1
            stack.extend(node.children)
    return 1 + sum(seen.values())
