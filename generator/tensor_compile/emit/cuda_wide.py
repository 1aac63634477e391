# SPDX-License-Identifier: Apache-2.0
"""Nests whose threads take eight neighbouring points at a time (loops/wide.py), as CUDA C."""
from __future__ import annotations

from ..loops import schedule_cuda
from ..loops.loop_ir import LoopNestKernel, RowReduce, Phase
from ..loops.scalar_ir import Load
from ..loops.schedule_cuda import Launch
from ..loops.scalars import identity, walk
from ..symbolic import Expr, product
from . import cuda_vectors
from .cuda_kernels import Emitter, decode, emitter, function
from .reduction import OPERATION
from .scalar import C_TYPE, constant, extent

MOST_KEPT = 64   # registers of a thread for what several phases load


def emit_wide(kernel: LoopNestKernel, symbol: str, launch: Launch, relaxed: bool) -> str:
    e = emitter(kernel, {x.buffer for x in kernel.stores})
    e.relaxed = relaxed
    if schedule_cuda.is_flat(kernel):
        return function(kernel, e, symbol, "eight points a thread.", _points(kernel, e, launch), "half", launch,
                        relaxed)
    body = _Rows(kernel, e, launch).lines()
    return function(kernel, e, symbol, f"one row {launch.wide} threads, of eight points each.", [*e.lines, *body],
                    "rows", launch, relaxed)


def _points(kernel: LoopNestKernel, e: Emitter, launch: Launch) -> list[str]:
    (phase,) = kernel.phases
    variables = kernel.rows + phase.vars
    last = variables[-1]
    lines = decode(e, "at", variables)
    first = e.names[last]
    e.names[last] = f"({first} + v)"
    e.open(variables[:-1])
    body = cuda_vectors.points(e, phase.stores, last, first, [], variables)
    body = [*e.scopes.pop().lines, *body]
    count = e.index(product(extent(s) for s in variables))
    head = f"for (tc_index at = ((tc_index)blockIdx.x * {launch.threads} + threadIdx.x) * 8; at < {count}; " \
           f"at += (tc_index)gridDim.x * {launch.threads * 8})"
    return [*e.lines, f"{head} {{", *(f"    {line}" for line in [*lines, *body]), "}"]


class _Rows:
    def __init__(self, kernel: LoopNestKernel, e: Emitter, launch: Launch):
        self.kernel, self.e, self.launch = kernel, e, launch
        self.threads = launch.wide
        phase = next(phase for phase in kernel.phases if phase.vars)
        self.count: Expr = product(extent(s) for s in phase.vars)
        self.passes = -(-self.count.value // (8 * self.threads))
        self.arrays: dict[Load, str] = {}

    def lines(self) -> list[str]:
        kernel, e = self.kernel, self.e
        e.open()
        rows = e.index(product(extent(s) for s in kernel.rows))
        if self.threads == 32:
            each = self.launch.each
            e.lines.append("const int lane = threadIdx.x % 32;")
            head = f"for (tc_index row = (tc_index)blockIdx.x * {each} + threadIdx.x / 32; row < {rows}; " \
                   f"row += (tc_index)gridDim.x * {each})"
        else:
            e.lines += [f"__shared__ float shared[{self.threads // 32}];", "const int lane = threadIdx.x;"]
            head = f"for (tc_index row = blockIdx.x; row < {rows}; row += gridDim.x)"
        lines = decode(e, "row", kernel.rows)
        e.open(kernel.rows)
        e.lines += lines
        self.keep()
        for phase in kernel.phases:
            self.phase(phase)
        if any(phase.reduces for phase in kernel.phases) and self.threads > 32:
            e.lines.append("__syncthreads();")
        e.close(head)
        return e.scopes.pop().lines

    def keep(self) -> None:
        """Arrays for what several phases load at their points."""
        e = self.e
        written = {x.buffer for x in self.kernel.stores}
        uses: dict[Load, int] = {}
        for phase in self.kernel.phases:
            if not phase.vars:
                continue
            for node in dict.fromkeys(n for n in walk(*phase.values) if isinstance(n, Load)):
                if node.buffer not in written and cuda_vectors.comes_wide(e, node, phase.vars[-1]):
                    uses[node] = uses.get(node, 0) + 1
        room = MOST_KEPT
        for node, times in uses.items():
            taken = self.passes * 8
            if times > 1 and taken <= room:
                room -= taken
                self.arrays[node] = e.fresh("kept")
                e.lines.append(f"{C_TYPE[node.dtype]} {self.arrays[node]}[{self.passes}][8];")
        self.loaded: set[Load] = set()

    def phase(self, phase: Phase) -> None:
        e = self.e
        if not phase.vars:
            if phase.stores:
                if self.threads > 32:
                    e.lines.append("__syncthreads();")
                e.open()
                e.stores(phase.stores)
                e.close("if (lane == 0)")
            return
        last = phase.vars[-1]
        accs = []
        reduces = [r for r in phase.reduces if isinstance(r, RowReduce)]   # there are no others: loops/wide.py
        for r in reduces:
            accs.append(e.fresh("acc"))
            start = identity(r.op, "seq", r.dtype)
            e.lines.append(f"{C_TYPE[r.dtype]} {accs[-1]} = {constant(start)};")
        e.open()
        e.lines.append(f"const tc_index at = (u * {self.threads} + lane) * 8;")
        e.open(phase.vars[:-1])
        e.lines += decode(e, "at", phase.vars)
        first = e.names[last]
        mine = [n for n in dict.fromkeys(walk(*phase.values)) if isinstance(n, Load) and n in self.arrays]
        before = e.kept
        e.kept = {**before, **{n: f"{self.arrays[n]}[u][v]" for n in mine if n in self.loaded}}
        fresh = [n for n in mine if n not in self.loaded]
        cuda_vectors.bring(e, fresh, last, first, {n: f"{self.arrays[n]}[u]" for n in fresh})
        self.loaded |= set(fresh)
        e.names[last] = f"({first} + v)"

        def each() -> None:
            for acc, r in zip(accs, reduces):
                e.lines.append(f"{acc} = tc_{OPERATION[r.op]}_f32({acc}, {e.scalar(r.value)});")

        e.lines += cuda_vectors.points(e, phase.stores, last, first, [], phase.vars, [r.value for r in phase.reduces],
                                       each)
        e.kept = before
        e.close(f"if (at < {e.index(self.count)})" if self.count.value % (8 * self.threads) else "")
        e.close(f"#pragma unroll\nfor (int u = 0; u < {self.passes}; ++u)")
        for acc, r in zip(accs, reduces):
            self.finish(acc, r)

    def finish(self, acc: str, r: RowReduce) -> None:
        e = self.e
        shared = "shared" if self.threads > 32 else "(float *)0"
        e.name_local(r.name, "f32", f"tc_rows_reduce<{self.threads}>({acc}, {shared}, [](float a, float b) "
                                    f"{{ return tc_{OPERATION[r.op]}_f32(a, b); }})")
