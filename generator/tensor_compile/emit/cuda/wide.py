# SPDX-License-Identifier: Apache-2.0
"""Nests whose threads take eight neighbouring points at a time (loops/wide.py), as CUDA C."""
from __future__ import annotations

from ...loops import schedule_cuda
from ...loops.loop_ir import LoopNestKernel, RowReduce, Phase
from ...loops.scalar_ir import Load
from ...loops.schedule_cuda import Launch
from ...loops.scalars import identity, walk
from ...symbolic import ONE, Expr, product
from . import vectors as cuda_vectors
from .kernels import Emitter, decode, emitter, function
from ..nests.reduction import OPERATION
from ..constants import constant
from ..scalar import C_TYPE, extent

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


def emit_rows(kernel: LoopNestKernel, e: Emitter, threads: int) -> tuple[list[str], list[str]]:
    """All rows, by a block of so many threads that does something else as well: what may be done before the kernel in
    front has ended, and the rest. The template has named the thread `thread`."""
    e.relaxed = True
    rows = _Rows(kernel, e, Launch(ONE, 1, threads, wide=threads), "thread")
    body = rows.lines()
    return rows.once, [*e.lines, *body]


class _Rows:
    """thread: what names a thread of a row, in blocks that have all rows."""

    def __init__(self, kernel: LoopNestKernel, e: Emitter, launch: Launch, thread: str = ""):
        self.kernel, self.e, self.launch = kernel, e, launch
        self.threads, self.thread = launch.wide, thread or "lane"
        self.alone = not thread
        phase = next(phase for phase in kernel.phases if phase.vars)
        self.count: Expr = product(extent(s) for s in phase.vars)
        self.passes = -(-self.count.value // (8 * self.threads))
        self.arrays: dict[Load, str] = {}
        self.once: list[str] = []   # what may run before the kernel in front has ended

    def lines(self) -> list[str]:
        kernel, e = self.kernel, self.e
        e.open()
        rows = e.index(product(extent(s) for s in kernel.rows))
        if not self.alone:
            e.lines.append(f"__shared__ float shared[{self.threads // 32}];")
            head = f"for (tc_index row = 0; row < {rows}; ++row)"
        elif self.threads == 32:
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
        """Arrays for what several phases load at their points; in blocks that do something else as well also for what
        later phases load: that is on its way while the first ones sum."""
        e = self.e
        written = {x.buffer for x in self.kernel.stores}
        uses: dict[Load, list[Phase]] = {}
        phases = [phase for phase in self.kernel.phases if phase.vars]
        for phase in phases:
            for node in dict.fromkeys(n for n in walk(*phase.values) if isinstance(n, Load)):
                if node.buffer not in written and cuda_vectors.comes_wide(e, node, phase.vars[-1]):
                    uses.setdefault(node, []).append(phase)
        room = MOST_KEPT
        self.loaded: set[Load] = set()
        for node, where in sorted(uses.items(), key=lambda item: -len(item[1])):
            taken = self.passes * 8
            ahead = not self.alone and (self.is_constant(node) or where[0] is not phases[0] and not node.dynamic)
            if (ahead or len(where) > 1) and taken <= room:
                room -= taken
                self.arrays[node] = e.fresh("kept")
                declared = f"{C_TYPE[node.dtype]} {self.arrays[node]}[{self.passes}][8];"
                if ahead and self.is_constant(node):
                    self.once += [declared, *self.ahead(node, where[0])]
                else:
                    e.lines += [declared, *(self.ahead(node, where[0]) if ahead else [])]

    def is_constant(self, node: Load) -> bool:
        """Whether all rows load the same, which no kernel stores."""
        return self.e.buffers[node.buffer].kind == "packed" and not node.dynamic \
            and not any(set(self.kernel.rows) & set(x.symbols()) for x in node.index)

    def ahead(self, node: Load, phase: Phase) -> list[str]:
        """Brings it for all points of a thread."""
        e, last = self.e, phase.vars[-1]
        self.loaded.add(node)
        e.open()
        self.at(phase)
        cuda_vectors.bring(e, [node], last, e.names[last], {node: f"{self.arrays[node]}[u]"})
        e.kept = {}
        self.each_point()
        return e.scopes.pop().lines

    def at(self, phase: Phase) -> None:
        """Opens what is done at the points of a phase, and declares its variables."""
        e = self.e
        e.open()
        e.lines.append(f"const tc_index at = (u * {self.threads} + {self.thread}) * 8;")
        e.open(phase.vars[:-1])
        e.lines += decode(e, "at", phase.vars)

    def each_point(self) -> None:
        """Closes it."""
        e = self.e
        e.close(f"if (at < {e.index(self.count)})" if self.count.value % (8 * self.threads) else "")
        e.close(f"#pragma unroll\nfor (int u = 0; u < {self.passes}; ++u)")

    def phase(self, phase: Phase) -> None:
        e = self.e
        if not phase.vars:
            if phase.stores:
                if self.threads > 32:
                    e.lines.append("__syncthreads();")
                e.open()
                e.stores(phase.stores)
                e.close(f"if ({self.thread} == 0)")
            return
        last = phase.vars[-1]
        accs = []
        reduces = [r for r in phase.reduces if isinstance(r, RowReduce)]   # there are no others: loops/wide.py
        for r in reduces:
            accs.append(e.fresh("acc"))
            start = identity(r.op, "seq", r.dtype)
            e.lines.append(f"{C_TYPE[r.dtype]} {accs[-1]} = {constant(start)};")
        self.at(phase)
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
        self.each_point()
        for acc, r in zip(accs, reduces):
            self.finish(acc, r)

    def finish(self, acc: str, r: RowReduce) -> None:
        e = self.e
        shared = "shared" if self.threads > 32 else "(float *)0"
        e.name_local(r.name, "f32", f"tc_rows_reduce<{self.threads}>({acc}, {shared}, [](float a, float b) "
                                    f"{{ return tc_{OPERATION[r.op]}_f32(a, b); }})")
