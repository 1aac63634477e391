# SPDX-License-Identifier: Apache-2.0
"""A NestKernel as CUDA C: one point a thread, or one row a block.

The threads of a row's block take the points of a sweep in passes, neighbours side by side. Where a sweep sums floats,
the terms of a pass go to shared memory and are added there in the order that docs/numerics.md gives, by the first 16
threads (`lanes`) or the first one (`seq`); what is associative each thread reduces for itself and the block by a tree.
Every thread then has the result. A barrier ends each stage, as a later one may load what it stored, and its sums take
the same shared memory."""
from __future__ import annotations

import re
from dataclasses import dataclass

from ..graph.dtypes import DTYPES
from ..loops import schedule_cuda
from ..loops.ir import NestKernel, RowReduce, Stage
from ..symbolic import product
from .cuda import Emitter, decode, emitter, function, grid_loop, team
from .nest import emit_nest as emit_scalar
from .reduction import BLOCK, OPERATION, POSITIONS, better, identity, siblings, term
from .scalar import C_TYPE, Value, constant, extent, indent

MEMORY = "block_memory"   # of the kernel's sums


def emit_nest(kernel: NestKernel, symbol: str) -> str:
    return emit_team(kernel, symbol) if schedule_cuda.is_team(kernel) else _Nest(kernel).source(symbol)


def emit_team(kernel: NestKernel, symbol: str) -> str:
    """One element after the other, by the threads of the grid."""
    return team(kernel, symbol, emit_scalar(kernel, "scalar", f"{symbol}_part", Emitter))


@dataclass(frozen=True, slots=True)
class _Sum:
    """A reduction of a sweep. acc: what each thread holds; shared: its memory; lanes: threads that add (0: by a tree);
    total: over blocks of terms ("" where there is one)."""

    reduce: RowReduce
    acc: str
    shared: str
    lanes: int
    total: str

    @property
    def pair(self) -> bool:
        return self.lanes > 0 and self.reduce.op == "dot"


class _Nest:
    def __init__(self, kernel: NestKernel):
        self.kernel = kernel
        self.written = {x.buffer for stage in kernel.stages for x in stage.stores}
        self.e = emitter(kernel, self.written)
        for stage in kernel.stages:
            self.e.siblings |= siblings(stage.stores)
        self.threads = schedule_cuda.launch(kernel).threads
        self.taken = 0   # bytes of shared memory, by the sums of the stage so far

    def source(self, symbol: str) -> str:
        kernel, e = self.kernel, self.e
        if schedule_cuda.is_flat(kernel):
            what, header = "one point a thread.", "device"
            variables = kernel.rows + kernel.stages[0].vars
            points = e.fresh("points")
            e.lines.append(f"const tc_index {points} = {e.index(product(extent(s) for s in variables))};")
            lines = decode(e, "point", variables)
            e.open(variables)
            e.lines += lines
            e.stores(kernel.stages[0].stores)
            e.close(grid_loop("point", points, self.threads))
        else:
            what, header = f"one row a block of {self.threads} threads.", "block"
            rows = e.fresh("rows")
            e.lines.append(f"const tc_index {rows} = {e.index(product(extent(s) for s in kernel.rows))};")
            if used := schedule_cuda.shared_bytes(kernel) * self.threads:
                e.lines.append(f"__shared__ __align__(16) unsigned char {MEMORY}[{used}];")
            lines = decode(e, "row", kernel.rows)
            e.open(kernel.rows)
            e.lines += lines
            for stage in kernel.stages:
                self.stage(stage)
            e.close(grid_loop("row", rows, 1))
        return function(kernel, symbol, what, e.lines, self.written, header)

    def stage(self, stage: Stage) -> None:
        e = self.e
        if not stage.vars:
            if stage.stores:
                e.open()
                e.stores(stage.stores)
                e.close("if (threadIdx.x == 0)")
                e.lines.append("__syncthreads();")
            return
        self.taken = 0
        sums = [self.start(r, stage) for r in stage.reduces]
        count = e.fresh("count")
        e.lines.append(f"const tc_index {count} = {e.index(product(extent(s) for s in stage.vars))};")
        first, at = e.fresh("first"), e.fresh("at")
        e.open()
        e.lines.append(f"const tc_index {at} = {first} + threadIdx.x;")
        for s in sums:
            e.lines += self.absent(s)
        lines = decode(e, at, stage.vars)
        e.open(stage.vars)
        e.lines += lines
        self.point(stage, sums, at)
        e.close(f"if ({at} < {count})")
        for s in sums:
            e.lines += self.add(s, first)
        e.close(f"for (tc_index {first} = 0; {first} < {count}; {first} += {self.threads})")
        for s in sums:
            self.finish(s, count)
        if stage.stores:
            e.lines.append("__syncthreads();")

    def point(self, stage: Stage, sums: list[_Sum], at: str) -> None:
        """The statements of one point: reductions first, then the stores."""
        e = self.e
        for s in sums:
            if s.reduce.op != "dot":
                e.value(s.reduce.value)
        results = [(x, e.value(x.value)) for x in stage.stores]
        for s in sums:
            r = s.reduce
            if s.pair:
                a, b = (e.scalar(x) for x in r.value.args)
                e.lines += [f"{s.shared}[threadIdx.x] = {a};", f"{s.shared}_b[threadIdx.x] = {b};"]
            elif s.lanes:
                e.lines.append(f"{s.shared}[threadIdx.x] = {e.scalar(r.value)};")
            elif r.op in POSITIONS:
                value = e.scalar(r.value)
                e.lines += [f"if ({s.acc} < 0 || {better(r.op, r.value.dtype, value, s.acc + '_best')}) {{",
                            f"    {s.acc}_best = {value};", f"    {s.acc} = {at};", "}"]
            else:
                e.lines.append(f"{s.acc} = {term(e, r.op, r.dtype, s.acc, r.value, False)};")
        for x, result in results:
            e.store_value(x, result)

    def start(self, r: RowReduce, stage: Stage) -> _Sum:
        e = self.e
        terms = product(extent(v) for v in stage.vars).range()[1]
        lanes = {"lanes": 16, "seq": 1}.get(r.order, 0)
        blocks = lanes == 16 and not (terms is not None and terms <= BLOCK)
        s = _Sum(r, e.fresh("r"), e.fresh("shared"), lanes, e.fresh("r") if blocks else "")
        if r.op in POSITIONS:
            c_type = C_TYPE[r.value.dtype]
            e.lines += [self.array("int64_t", 8, f"{s.shared}_at"),
                        self.array(c_type, DTYPES[r.value.dtype].bytes, s.shared), f"{c_type} {s.acc}_best = 0;",
                        f"int64_t {s.acc} = -1;"]
            return s
        c_type, size = C_TYPE[r.dtype], DTYPES[r.dtype].bytes
        e.lines.append(self.array(c_type, size, s.shared))
        if s.pair:
            e.lines.append(self.array(c_type, size, f"{s.shared}_b"))
        e.lines.append(f"{c_type} {s.acc} = {constant(identity(r.op, r.order, r.dtype))};")
        if s.total:
            e.lines.append(f"{c_type} {s.total} = {constant(identity('sum', 'lanes', r.dtype))};")
        return s

    def array(self, c_type: str, size: int, name: str) -> str:
        """Declares an element of shared memory for each thread, behind those of the stage so far."""
        at, self.taken = self.taken, self.taken + size * self.threads
        return f"{c_type} *const {name} = ({c_type} *)({MEMORY} + {at});"

    def absent(self, s: _Sum) -> list[str]:
        """Terms behind the last are the identity of addition."""
        if not s.lanes:
            return []
        none = constant(identity("sum", "lanes", s.reduce.dtype))
        return [f"{s.shared}[threadIdx.x] = {none};"] + ([f"{s.shared}_b[threadIdx.x] = 0;"] if s.pair else [])

    def add(self, s: _Sum, first: str) -> list[str]:
        """After a pass: its terms to the lanes; after a block of terms its lanes to the total."""
        if not s.lanes:
            return []
        dtype, c_type = s.reduce.dtype, C_TYPE[s.reduce.dtype]
        text = f"tc_fma_{dtype}({s.shared}[i], {s.shared}_b[i], lane)" if s.pair else \
            f"tc_add_{dtype}(lane, {s.shared}[i])"
        lines = [f"tc_block_add<{self.threads}, {s.lanes}>({s.acc}, [&]({c_type} lane, int i) {{ return {text}; }});"]
        if s.total:
            lines += [f"if (({first} + {self.threads}) % {BLOCK} == 0) {{",
                      *indent([f"{s.total} = tc_add_{dtype}({s.total}, {self.lanes(s)});",
                               f"{s.acc} = {constant(identity('sum', 'lanes', dtype))};"]), "}"]
        return lines

    def lanes(self, s: _Sum) -> str:
        dtype = s.reduce.dtype
        return f"tc_block_lanes({s.acc}, {s.shared}, [](const {C_TYPE[dtype]} *lane) {{ " \
               f"return tc_lanes_sum_{dtype}(lane); }})"

    def finish(self, s: _Sum, count: str) -> None:
        """Names the result as the local that later stages read."""
        e, r = self.e, s.reduce
        dtype = "i64" if r.op in POSITIONS else r.dtype
        if r.op in POSITIONS:
            c_type = C_TYPE[r.value.dtype]
            rule = better(r.op, r.value.dtype, "a", "b")
            text = f"tc_block_position<{self.threads}>({s.acc}_best, {s.acc}, {s.shared}, {s.shared}_at, " \
                   f"[]({c_type} a, {c_type} b) {{ return {rule}; }})"
        elif s.lanes == 16:
            text = self.lanes(s)
            if s.total:
                text = f"{count} % {BLOCK} != 0 ? tc_add_{dtype}({s.total}, {text}) : {s.total}"
            text = f"{count} == 0 ? ({C_TYPE[dtype]})0 : {text}"
        elif s.lanes:
            text = f"tc_block_first({s.acc}, {s.shared})"
            if r.op == "dot":
                text = f"tc_add_{dtype}({text}, ({C_TYPE[dtype]})0)"
        else:
            op, c_type = OPERATION["sum" if r.op == "dot" else r.op], C_TYPE[dtype]
            text = f"tc_block_reduce<{self.threads}>({s.acc}, {s.shared}, " \
                   f"[]({c_type} a, {c_type} b) {{ return tc_{op}_{dtype}(a, b); }})"
        name = "row_" + re.sub(r"\W", "_", r.name)
        e.lines.append(f"const {C_TYPE[dtype]} {name} = {text};")
        e.locals[r.name] = Value(name, False, len(e.scopes) - 1)
