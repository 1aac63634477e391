# SPDX-License-Identifier: Apache-2.0
"""A NestKernel as one C function (docs/loops.md, kernel ABI).

Rows are flattened and split over the team; a thread finds its first row by division and steps from there. In a row the
stages run one after the other, each a sweep over its variables, the innermost 16 at a time with an exact tail. A nest
of one stage without reductions has no rows to keep together: its innermost loop is cut into pieces of PIECE elements,
which are split over the team like rows.

Sums of the order `lanes` hold their 16 lanes in one vector (in an array where code is one lane wide), blocks of 4096
terms outermost. The sweep starts lane 0 at term 0, so lane l holds the terms l, l + 16, ... as the order demands.
"""
from __future__ import annotations

import re
from dataclasses import dataclass

from ..loops.ir import Buffer, Const, NestKernel, Reduction, RowReduce, Scalar, Stage
from ..symbolic import Expr, Sym, const, divisor_of, product
from .reduction import BLOCK, MINUS_ZERO, OPERATION, better, identity, term
from .scalar import C_TYPE, V_TYPE, ScalarEmitter, Value, constant, extent, indent, splat, vectorizable

PIECE = 1024      # elements of the innermost loop that a thread takes at a time, a multiple of 16
GRAIN = 4096      # elements that are worth another thread where the kernel's grain counts whole rows of many pieces


def parameters(kernel) -> list[str]:
    """The lines of a kernel's header comment that describe p and d."""
    lines = []
    for i, b in enumerate(kernel.params):
        order = "" if b.order == tuple(range(len(b.shape))) else f", order {', '.join(map(str, b.order))}"
        lines.append(f" *   p[{i}]  {b.kind} {b.dtype}[{', '.join(str(d) for d in b.shape)}]{order}")
    return lines + [f" *   d[{i}]  {s.name}" for i, s in enumerate(kernel.dims)]


def pointer(i: int, b: Buffer, written: bool) -> list[str]:
    """Declares p<i>, the first element of a parameter. Only what is never written through another pointer is
    `restrict`: the planner may put a result where one of its operands was."""
    c_type = C_TYPE[b.dtype]
    if b.kind == "scratch":
        return [f"{c_type} *restrict const p{i} =",
                f"    ({c_type} *)(void *)((char *)p[{i}] + thread * scratch{i});"]
    const_text = "" if written else "const "
    restrict = "restrict " if b.kind == "packed" else ""
    return [f"{const_text}{c_type} *{restrict}const p{i} = p[{i}];".replace("*const", "*const")]


def emit_nest(kernel: NestKernel, isa: str, symbol: str) -> str:
    return _Nest(kernel, isa not in ("scalar", "rv64", "m4f")).source(symbol)


@dataclass(slots=True)
class _Sum:
    """A row reduction in the making: `acc` over the sweep, `total` over blocks ("" where there are none)."""

    reduce: RowReduce
    acc: str
    vector: bool
    lanes: bool
    total: str = ""
    number: str = ""


class _Nest:
    def __init__(self, kernel: NestKernel, vectors: bool):
        self.kernel, self.vectors = kernel, vectors
        self.written = {x.buffer for stage in kernel.stages for x in stage.stores}
        names = {s: f"n_{_identifier(s.name)}" for s in kernel.dims}
        pointers = {b.name: f"p{i}" for i, b in enumerate(kernel.params)}
        buffers = {b.name: b for b in kernel.params}
        self.e = ScalarEmitter(names, pointers, 1, None, None, None, buffers, self.written)
        self.e.steady = True

    # -- the function -----------------------------------------------------------------------------------------------
    def source(self, symbol: str) -> str:
        kernel, e = self.kernel, self.e
        flat = len(kernel.stages) == 1 and not kernel.stages[0].reduces and bool(kernel.stages[0].vars)
        inner = kernel.stages[0].vars[-1] if flat else None
        pieces = None
        if inner is not None and len(kernel.stages[0].vars) == 1 \
                and not (extent(inner).is_const and extent(inner).value <= PIECE):
            pieces = (extent(inner) + PIECE - 1) // PIECE
        items = product(extent(s) for s in kernel.rows) * (pieces if pieces is not None else const(1))
        e.lines += self.split(items, pieces)
        loops: list[tuple[str, str]] = []
        for s in kernel.rows:
            loops.append((e.bind(s), e.index(extent(s))))
        if pieces is not None:
            loops.append((e.fresh("piece"), e.index(pieces)))
        e.lines += _first(loops)
        e.open(kernel.rows)
        if pieces is not None:
            piece = loops[-1][0]
            low = e.fresh("low")
            high = e.fresh("high")
            e.lines += [f"const tc_index {low} = {piece} * {PIECE};",
                        f"const tc_index {high} = tc_min({low} + {PIECE}, {e.index(extent(inner))});"]
            self.stage(kernel.stages[0], (low, high))
        else:
            for stage in kernel.stages:
                self.stage(stage, None)
        if len(loops) > 0:
            e.lines += _next([name for name, _ in loops], [size for _, size in loops])
        e.close("for (tc_index item = begin; item < end; ++item)")
        body = e.lines
        head = ["/* SPDX-License-Identifier: Apache-2.0", f" * {kernel.label}: nest over {_space(kernel.rows)}"
                f"; stages {'; '.join(_space(s.vars) for s in kernel.stages)}.", *parameters(kernel), " */",
                f"#include \"{'tc_vector.h' if self.vectors else 'tc_kernel.h'}\"",
                *([] if self.vectors else ['#include "tc_scalar.h"']), "",
                f"void {symbol}(void *const *p, const tc_index *d, tc_index thread, tc_index threads)", "{",
                *indent(self.prologue(set(re.findall(r"\w+", "\n".join(body))))), *indent(body), "}", ""]
        return "\n".join(head)

    def prologue(self, used: set[str]) -> list[str]:
        """Names the dims and buffers that the body uses."""
        kernel, e = self.kernel, self.e
        scratch = [b for i, b in enumerate(kernel.params) if b.kind == "scratch" and f"p{i}" in used]
        used |= {e.names[s] for b in scratch for s in b.elements.symbols()}
        lines = [f"const tc_index {e.names[s]} = d[{i}];" for i, s in enumerate(kernel.dims) if e.names[s] in used]
        if not lines:
            lines.append("(void)d;")
        for i, b in enumerate(kernel.params):
            if f"p{i}" not in used:
                continue
            if b.kind == "scratch":
                size = e.index(b.elements)
                width = {"f32": 4, "i32": 4, "i64": 8, "bool": 1}[b.dtype]
                lines.append(f"const tc_index scratch{i} = (({size}) * {width} + 63) / 64 * 64;")
            lines += pointer(i, b, b.name in self.written)
        return lines

    def split(self, items: Expr, pieces: Expr | None) -> list[str]:
        e, grain = self.e, self.kernel.grain
        if pieces is not None and (not pieces.is_const or pieces.value > 1):
            grain = max(1, min(grain * 64, GRAIN) // PIECE) if grain > 1 else GRAIN // PIECE
        n = e.index(items)
        team = f"tc_min(threads, ({n} + {grain - 1}) / {grain})" if grain > 1 else "threads"
        return ["tc_index begin, end;", f"const tc_index items = {n};",
                *([f"const tc_index team = {team};", "if (thread >= team)", "    return;"] if grain > 1 else []),
                f"tc_split(items, thread, {'team' if grain > 1 else 'threads'}, &begin, &end);",
                "if (begin >= end)", "    return;"]

    # -- stages -------------------------------------------------------------------------------------------------------
    def stage(self, stage: Stage, piece: tuple[str, str] | None) -> None:
        e = self.e
        if not stage.vars:
            e.open()
            e.stores(stage.stores)
            lines = e.scopes.pop().lines
            e.lines += ["{", *indent(lines), "}"] if lines else []
            return
        inner, outer = stage.vars[-1], stage.vars[:-1]
        values = [r.value for r in stage.reduces] + [x.value for x in stage.stores]
        wide = self.vectors and stage.vector and vectorizable(values, inner) \
            and all(r.op not in ("argmax", "argmin") and r.dtype != "i64" for r in stage.reduces)
        ordered = any(r.order == "lanes" for r in stage.reduces)
        if wide and ordered and outer and not (divisor_of(extent(inner)) % 16 == 0):
            wide = False    # a row of the inner variable would not start at lane 0
        sums = [self.start(r, wide, stage) for r in stage.reduces]
        blocks = [s for s in sums if s.total]
        if blocks and not outer:
            self.blocks(stage, inner, wide, sums, blocks)
        else:
            heads = [e.loop(s) for s in outer]
            low, high = piece or ("0", e.index(extent(inner)))
            self.sweep(stage, inner, wide, sums, low, high, extent(inner) if piece is None else None)
            for head in reversed(heads):
                e.close(head)
        for s in sums:
            self.finish(s, stage)

    def blocks(self, stage: Stage, inner: Sym, wide: bool, sums: list[_Sum], blocks: list[_Sum]) -> None:
        """Blocks of 4096 terms: the lanes of each are combined before the next."""
        e = self.e
        block, end = e.fresh("block"), e.fresh("end")
        e.open()
        e.lines.append(f"const tc_index {end} = tc_min({block} + {BLOCK}, {e.index(extent(inner))});")
        for s in blocks:
            e.lines += self.clear(s)
        self.sweep(stage, inner, wide, sums, block, end, None)
        for s in blocks:
            e.lines.append(f"{s.total} = {s.total} + {self.combined(s)};")
        e.close(f"for (tc_index {block} = 0; {block} < {e.index(extent(inner))}; {block} += {BLOCK})")

    def start(self, r: RowReduce, wide: bool, stage: Stage) -> _Sum:
        e = self.e
        first = identity(r.op, r.order, r.dtype) if r.op not in ("argmax", "argmin") else None
        s = _Sum(r, e.fresh("r"), wide, r.order == "lanes")
        terms = product(extent(v) for v in stage.vars)
        if s.lanes:
            s.number = "" if len(stage.vars) == 1 else e.fresh("n")
            if not (terms.range()[1] is not None and terms.range()[1] <= BLOCK):
                s.total = e.fresh("r")
                e.lines.append(f"float {s.total} = -0.0f;")
            if wide:
                e.lines.append(f"tcv_f32 {s.acc} = tcv_splat_f32(-0.0f);")
            else:
                e.lines += [f"float {s.acc}[16];", *self.clear(s)]
            if s.number:
                e.lines.append(f"tc_index {s.number} = 0;")
        elif first is None:
            s.number = e.fresh("n")
            e.lines += [f"{C_TYPE[r.value.dtype]} {s.acc}_best = 0;", f"int64_t {s.acc} = 0;",
                        f"tc_index {s.number} = 0;"]
        elif wide:
            e.lines.append(f"{V_TYPE[r.dtype]} {s.acc} = {splat(r.dtype, constant(first))};")
        else:
            e.lines.append(f"{C_TYPE[r.dtype]} {s.acc} = {constant(first)};")
        return s

    def clear(self, s: _Sum) -> list[str]:
        if s.vector:
            return [f"{s.acc} = tcv_splat_f32(-0.0f);"]
        return ["for (int l = 0; l < 16; ++l)", f"    {s.acc}[l] = -0.0f;"]

    def combined(self, s: _Sum) -> str:
        return f"tcv_sum_f32({s.acc})" if s.vector else f"tc_lanes_sum_f32({s.acc})"

    def finish(self, s: _Sum, stage: Stage) -> None:
        """Names the result as the local that later stages read."""
        e, r = self.e, s.reduce
        terms = product(extent(v) for v in stage.vars)
        dtype = "i64" if r.op in ("argmax", "argmin") else r.dtype
        if s.lanes:
            text = s.total or self.combined(s)
            if s.total and s.number:
                text = f"{s.number} > 0 ? {s.total} + {self.combined(s)} : {s.total}"
            if (terms.range()[0] or 0) < 1:
                text = f"{e.index(terms)} == 0 ? 0.0f : {text}"
        elif s.vector:
            text = f"tcv_{r.op}_{r.dtype}({s.acc})" if r.op != "dot" else f"tcv_sum_{r.dtype}({s.acc})"
        else:
            text = s.acc
        name = f"row_{_identifier(r.name)}"
        e.lines.append(f"const {C_TYPE[dtype]} {name} = {text};")
        e.locals[r.name] = Value(name, False, len(e.scopes) - 1)

    # -- sweeps -------------------------------------------------------------------------------------------------------
    def sweep(self, stage: Stage, inner: Sym, wide: bool, sums: list[_Sum], low: str, high: str,
              size: Expr | None) -> None:
        """The innermost loop from low (a multiple of 16) to high; `size` is its extent where it is the whole loop."""
        e = self.e
        name = e.bind(inner)
        if not wide:
            self.body(stage, inner, sums, None, 1)
            e.close(f"for (tc_index {name} = {low}; {name} < {high}; ++{name})")
            return
        whole = divisor_of(extent(inner)) % 16 == 0 and extent(inner).terms
        if size is not None and size.is_const:
            full, rest = size.value // 16 * 16, size.value % 16
            if full:
                self.body(stage, inner, sums, None, 16)
                if full == 16:
                    self.pinned(name, "0")
                else:
                    e.close(f"for (tc_index {name} = 0; {name} < {full}; {name} += 16)")
            if rest:
                self.body(stage, inner, sums, str(rest), 16)
                self.pinned(name, str(full))
            return
        if whole:
            self.body(stage, inner, sums, None, 16)
            e.close(f"for (tc_index {name} = {low}; {name} < {high}; {name} += 16)")
            return
        e.open()
        e.lines.append(f"tc_index {name} = {low};")
        self.body(stage, inner, sums, None, 16)
        e.close(f"for (; {name} + 16 <= {high}; {name} += 16)")
        self.body(stage, inner, sums, "rest", 16)
        e.scopes[-1].lines.insert(0, f"const tc_index rest = {high} - {name};")
        e.close(f"if ({name} < {high})")
        e.close("")

    def pinned(self, name: str, at: str) -> None:
        self.e.lines.insert(0, f"const tc_index {name} = {at};")
        self.e.close("")

    def body(self, stage: Stage, inner: Sym, sums: list[_Sum], lanes: str | None, width: int) -> None:
        """One step of the sweep, in a scope that the caller closes."""
        e = self.e
        e.open((inner,))
        e.width, e.vector, e.lanes = width, inner if width == 16 else None, lanes
        values = [(s, e.value(s.reduce.value) if s.reduce.op != "dot" else None) for s in sums]
        results = [(x, e.value(x.value)) for x in stage.stores]
        mask = ""
        if lanes is not None and sums:
            mask = e.fresh("m")
            e.lines.append(f"const tcv_mask {mask} = tcv_range(0, {lanes});")
        for s, _ in values:
            self.accumulate(s, mask, e.names[inner])
        for x, result in results:
            e.store_value(x, result)
        e.width, e.vector, e.lanes = 1, None, None

    def accumulate(self, s: _Sum, mask: str, position: str) -> None:
        e, r = self.e, s.reduce
        if r.op in ("argmax", "argmin"):
            value = e.scalar(r.value)
            e.lines += [f"if ({s.number} == 0 || {better(r.op, r.value.dtype, value, s.acc + '_best')}) {{",
                        f"    {s.acc}_best = {value};", f"    {s.acc} = {s.number};", "}", f"++{s.number};"]
            return
        if s.vector:
            text = term(e, r.op, r.dtype, s.acc, r.value, True)
            if mask:
                text = f"tcv_select_{r.dtype}({mask}, {text}, {s.acc})"
            e.lines.append(f"{s.acc} = {text};")
            step = 16
        elif s.lanes:
            at = f"{s.acc}[{s.number or position} & 15]"
            e.lines.append(f"{at} = {term(e, r.op, r.dtype, at, r.value, False)};")
            step = 1
        else:
            e.lines.append(f"{s.acc} = {term(e, r.op, r.dtype, s.acc, r.value, False)};")
            return
        if s.lanes and s.number:
            e.lines.append(f"{s.number} += {step};")
            if s.total:
                e.lines += [f"if ({s.number} == {BLOCK}) {{", f"    {s.total} = {s.total} + {self.combined(s)};",
                            *indent(self.clear(s)), f"    {s.number} = 0;", "}"]


def _first(loops: list[tuple[str, str]]) -> list[str]:
    """Declares the loop variables at the first item."""
    lines = []
    if len(loops) == 1:
        return [f"tc_index {loops[0][0]} = begin;"]
    at = "begin"
    for i in range(len(loops) - 1, -1, -1):
        name, size = loops[i]
        if i == 0:
            lines.append(f"tc_index {name} = {at};")
        else:
            lines.append(f"tc_index {name} = ({at}) % ({size});")
            at = f"({at}) / ({size})"
    return lines


def _next(names: list[str], sizes: list[str]) -> list[str]:
    """Steps the loop variables to the next item."""
    if len(names) == 1:
        return [f"++{names[0]};"]
    return [f"if (++{names[-1]} == {sizes[-1]}) {{", f"    {names[-1]} = 0;", *indent(_next(names[:-1], sizes[:-1])), "}"]


def _space(variables: tuple[Sym, ...]) -> str:
    return " x ".join(f"{s.name} < {extent(s)}" for s in variables) or "one point"


def _identifier(name: str) -> str:
    return "".join(c if c.isalnum() or c == "_" else "_" for c in name)
