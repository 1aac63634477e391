# SPDX-License-Identifier: Apache-2.0
"""A LoopNestKernel as CUDA C: some points a thread, one row a warp, or one row a block.

The threads of a row take the points of a phase in passes, neighbours side by side. Where a phase sums floats, the terms
of a pass are added in the order that docs/numerics.md gives, by the first 16 threads (`lanes`) or the first one
(`seq`), which get them from the others by shuffles, in a block through shared memory; what is associative each thread
reduces for itself and all by a tree. Every thread then has the result. A barrier ends each phase, as a later one may
load what it stored, and its sums take the same shared memory.

Where a thread has several points of a phase without sums, it loads what all of them need before it stores anything."""
from __future__ import annotations

from typing import Any, Sequence

from ...graph.dtypes import DTYPES
from ...loops import schedule_cuda
from ...loops.loop_ir import LoopNestKernel, Phase, RowReduce, Store
from ...loops.scalar_ir import Apply, Load, Scalar
from ...loops.schedule_cuda import EXACT, UNROLL, Units, usual
from ...loops.scalars import identity, walk
from ...records import dataclass
from ...symbolic import product, Sym
from .kernels import Emitter, decode, emitter, function, grid_loop, team
from ..frame import DEVICE
from ..nests.loop_nest import emit_loop_nest as emit_scalar
from ..nests.reduction import BLOCK, OPERATION, POSITIONS, better, siblings, term
from ..nests.row_sums import row_reduces
from ..constants import constant
from ..scalar import C_TYPE, CValue, extent, indent

MEMORY = "block_memory"   # of the kernel's sums
MOST_KEPT = 64            # registers of a thread for what several phases load


def emit_loop_nest(kernel: LoopNestKernel, symbol: str, units: Units = EXACT) -> str:
    launch = schedule_cuda.launch(kernel, units=units)
    if launch.wide:
        from .wide import emit_wide
        return emit_wide(kernel, symbol, launch, units.relaxed)
    if schedule_cuda.is_team(kernel):
        return emit_team(kernel, symbol)
    return _LoopNestEmitter(kernel).source(symbol, units.relaxed)


def emit_team(kernel: LoopNestKernel, symbol: str) -> str:
    """One element after the other, by the threads of the grid."""
    return team(kernel, symbol, emit_scalar(kernel, "scalar", f"{symbol}_part", Emitter, DEVICE))


@dataclass(slots=True)
class _Sum:
    """A reduction of a phase. acc: what each thread holds; shared: its memory, or where a warp has the row the start of
    its names; lanes: threads that add (0: by a tree); total: over blocks of terms ("" where there is one); at: a
    thread's place in the memory."""

    reduce: RowReduce
    acc: str
    shared: str
    lanes: int
    total: str

    warp: bool
    at: str = "threadIdx.x"

    @property
    def pair(self) -> bool:
        return self.lanes > 0 and self.reduce.op == "dot"

    @property
    def term(self) -> str:
        """Where a thread leaves its term of a pass; of a pair the first."""
        return f"{self.shared}_term" if self.warp else f"{self.shared}[{self.at}]"

    @property
    def term_b(self) -> str:
        return f"{self.shared}_term_b" if self.warp else f"{self.shared}_b[{self.at}]"


@dataclass(frozen=True, slots=True)
class _Handed:
    """name: of the registers that have what phase number `by` stores at its points, which `loads` of later phases are.
    last: no other phase stores there."""

    name: str
    by: int
    store: Store
    loads: frozenset[Load]
    last: bool


def values_of(phase: Phase) -> list[Load]:
    """All loads of a phase."""
    values = [*(r.value for r in row_reduces(phase)), *(x.value for x in phase.stores)]
    return [x for x in dict.fromkeys(walk(*values)) if isinstance(x, Load)]


class _LoopNestEmitter:
    def __init__(self, kernel: LoopNestKernel):
        self.kernel = kernel
        self.written = {x.buffer for x in kernel.stores}
        self.e = emitter(kernel, self.written)
        for phase in kernel.phases:
            self.e.siblings |= siblings(phase.stores)
        self.launch = schedule_cuda.launch(kernel)
        self.warps = self.launch.warps
        self.threads = 32 if self.warps else self.launch.threads   # of a row
        self.thread, self.barrier = ("lane", "__syncwarp();") if self.warps else ("threadIdx.x", "__syncthreads();")
        self.taken = 0   # bytes of shared memory, by the sums of the phase so far
        flat = schedule_cuda.is_flat(kernel)
        self.passes = 0 if flat or self.launch.scratch else schedule_cuda.passes(kernel)
        self.whole = 0 if self.warps else self.passes   # terms of a thread that are added at a time
        self.handed: list[_Handed] = []

    def source(self, symbol: str, early: bool) -> str:
        kernel, e = self.kernel, self.e
        if schedule_cuda.is_flat(kernel):
            what, header = "one point a thread.", "device"
            variables = kernel.rows + kernel.phases[0].vars
            points = e.fresh("points")
            e.lines.append(f"const tc_index {points} = {e.index(product(extent(s) for s in variables))};")
            self.points(kernel.phases[0].stores, variables, points, self.launch.unroll, "(tc_index)blockIdx.x",
                        "(tc_index)gridDim.x")
        else:
            what, header = f"one row a block of {self.threads} threads.", "block"
            rows = e.fresh("rows")
            e.lines.append(f"const tc_index {rows} = {e.index(product(extent(s) for s in kernel.rows))};")
            head = grid_loop("row", rows, 1)
            if self.warps:
                what, header = "one row a warp.", "warp"
                each = self.launch.each
                head = f"for (tc_index row = (tc_index)blockIdx.x * {each} + threadIdx.x / 32; row < {rows}; " \
                       f"row += (tc_index)gridDim.x * {each})"
                e.lines.append("const int lane = threadIdx.x % 32;")
            elif used := schedule_cuda.memory(kernel, self.threads, self.whole or 1):
                e.lines.append(f"__shared__ __align__(16) unsigned char {MEMORY}[{used}];")
            lines = decode(e, "row", kernel.rows)
            e.open(kernel.rows)
            e.lines += lines
            if self.passes:
                self.keep()
                self.hand_on()
            for number, phase in enumerate(kernel.phases):
                e.kept = {**e.kept, **{load: f"{h.name}[u]" for h in self.handed if h.by < number for load in h.loads}}
                self.phase(phase)
            e.close(head)
        return function(kernel, e, symbol, what, e.lines, header, early=early)

    def keep(self) -> None:
        """Brings what several phases load at their points to registers, once a row."""
        e, phases = self.e, [phase for phase in self.kernel.phases if phase.vars]
        found: dict[tuple[Any, ...], list[tuple[int, Load]]] = {}   # the number of the phase, and the load
        with e.aside():
            for number, phase in enumerate(phases):
                e.names.update({s: f"v{i}" for i, s in enumerate(phase.vars)})
                values = [*(r.value for r in phase.reduces), *(x.value for x in phase.stores)]
                for node in dict.fromkeys(x for value in values for x in walk(value) if isinstance(x, Load)):
                    if node.buffer not in self.written and not node.dynamic and not node.valid and \
                            any(s in x.symbols() for x in node.index for s in phase.vars):
                        key = (node.buffer, e.index(e.address(node.buffer, node.index)), tuple(map(extent, phase.vars)))
                        found.setdefault(key, []).append((number, node))
        several = [uses for uses in found.values() if len({number for number, _ in uses}) > 1]
        kept: dict[Scalar, str] = {}
        for uses in several[:MOST_KEPT // self.passes]:
            name, (number, node) = e.fresh("kept"), uses[0]
            phase = phases[number]
            kept.update({node: f"{name}[u]" for _, node in uses})
            e.lines.append(f"{C_TYPE[node.dtype]} {name}[{self.passes}];")
            at = e.fresh("at")
            e.open()
            e.lines.append(f"const tc_index {at} = u * {self.threads} + {self.thread};")
            lines = decode(e, at, phase.vars)
            e.open(phase.vars)
            e.lines += lines
            e.lines.append(f"{name}[u] = {e.scalar(node)};")
            e.close(f"if ({at} < {e.index(product(extent(s) for s in phase.vars))})")
            e.close(f"#pragma unroll\nfor (int u = 0; u < {self.passes}; ++u)")
        e.kept = kept

    def hand_on(self) -> None:
        """Finds what a phase stores at its points and later ones load there: it stays in registers. Where a later phase
        stores to the same place it is not stored at all."""
        phases, e = self.kernel.phases, self.e
        room = (MOST_KEPT - self.passes * len(set(e.kept.values()))) // self.passes
        for number, phase in enumerate(phases):
            for x in phase.stores:
                own = (x.buffer, e.address(x.buffer, x.index))
                same = [(i, s) for i, p in enumerate(phases) for s in p.stores if s.buffer == x.buffer]
                loads = [(i, n) for i, p in enumerate(phases) for n in values_of(p) if n.buffer == x.buffer]
                if len(self.handed) == room or x.dynamic or x.value.dtype != "f32" or not loads or not all(
                        phases[i].vars == phase.vars and (n.buffer, e.address(n.buffer, n.index)) == own
                        and not n.dynamic for i, n in same + loads) or any(i <= number for i, _ in loads) \
                        or sum(i <= number for i, _ in same) > 1 or any(n.valid for _, n in loads):
                    continue
                name = e.fresh("handed")
                e.lines.append(f"float {name}[{self.passes}];")
                last = len(same) == 1
                self.handed.append(_Handed(name, number, x, frozenset(n for _, n in loads), last))

    def points(self, stores: Sequence[Store], variables: tuple[Sym, ...], count: str, unroll: int, block: str,
               blocks: str) -> None:
        """All points by threads side by side, `unroll` a thread at a time. block: which piece is the first."""
        e = self.e
        first, at = e.fresh("first"), e.fresh("at")
        threads = self.launch.threads if not self.warps else 32
        thread = self.thread
        size = threads * unroll
        kept = [e.fresh("kept") for _ in stores]
        e.open()
        position = f"const tc_index {at} = {first} + {thread};"
        if unroll > 1:
            e.lines += [f"{C_TYPE[x.value.dtype]} {name}[{unroll}];" for x, name in zip(stores, kept)]
            position = f"const tc_index {at} = {first} + u * {threads} + {thread};"
            e.open()
        e.lines.append(position)
        lines = decode(e, at, variables)
        e.open(variables)
        e.lines += lines
        if unroll == 1:
            e.stores(stores)
            e.close(f"if ({at} < {count})")
        else:
            for x, name in zip(stores, kept):
                e.lines.append(f"{name}[u] = {e.scalar(x.value)};")
            e.close(f"if ({at} < {count})")
            e.close(f"#pragma unroll\nfor (int u = 0; u < {unroll}; ++u)")
            e.open()
            e.lines.append(position)
            lines = decode(e, at, variables)
            e.open(variables)
            e.lines += lines
            for x, name in zip(stores, kept):
                e.store_value(x, CValue(f"{name}[u]", False, len(e.scopes) - 1))
            e.close(f"if ({at} < {count})")
            e.close(f"#pragma unroll\nfor (int u = 0; u < {unroll}; ++u)")
        e.close(f"for (tc_index {first} = {block} * {size}; {first} < {count}; {first} += {blocks} * {size})")

    def phase(self, phase: Phase) -> None:
        e = self.e
        if not phase.vars:
            if phase.stores:
                e.open()
                e.stores(phase.stores)
                e.close(f"if ({self.thread} == 0)")
                e.lines.append(self.barrier)
            return
        self.taken = 0
        sums = [self.start(r, phase) for r in row_reduces(phase)]
        count = e.fresh("count")
        e.lines.append(f"const tc_index {count} = {e.index(product(extent(s) for s in phase.vars))};")
        if self.passes:
            self.phase_loop(phase, sums, count)
            return
        if not sums:
            unroll = UNROLL if usual(phase.vars) >= UNROLL * self.threads else 1
            self.points(phase.stores, phase.vars, count, unroll, "(tc_index)0", "1")
            e.lines.append(self.barrier)
            return
        first, at = e.fresh("first"), e.fresh("at")
        e.open()
        e.lines.append(f"const tc_index {at} = {first} + {self.thread};")
        for s in sums:
            e.lines += self.absent(s)
        self.point_if_any(phase, sums, at, count)
        for s in sums:
            e.lines += self.add(s, first)
        pragma = "#pragma unroll 4\n" if self.warps and not phase.stores else ""
        e.close(f"{pragma}for (tc_index {first} = 0; {first} < {count}; {first} += {self.threads})")
        for s in sums:
            self.finish(s, count)
        if phase.stores:
            e.lines.append(self.barrier)

    def point_if_any(self, phase: Phase, sums: list[_Sum], at: str, count: str) -> None:
        """The point number `at` of a phase, where it has so many."""
        e = self.e
        lines = decode(e, at, phase.vars)
        e.open(phase.vars)
        e.lines += lines
        self.point(phase, sums, at)
        e.close(f"if ({at} < {count})")

    def phase_loop(self, phase: Phase, sums: list[_Sum], count: str) -> None:
        """The loop of a phase that has a constant number of points a thread."""
        e, at = self.e, self.e.fresh("at")
        e.open()
        e.lines.append(f"const tc_index {at} = u * {self.threads} + {self.thread};")
        for s in sums:
            s.at = at if self.whole else s.at
            e.lines += self.absent(s)
        self.point_if_any(phase, sums, at, count)
        for s in sums if not self.whole else ():
            e.lines += self.add(s, f"u * {self.threads}")
        e.close(f"#pragma unroll\nfor (int u = 0; u < {self.passes}; ++u)")
        for s in sums if self.whole else ():
            e.lines += self.add(s, "0")
        for s in sums:
            self.finish(s, count)
        if phase.stores:
            e.lines.append(self.barrier)

    def point(self, phase: Phase, sums: list[_Sum], at: str) -> None:
        """The statements of one point: reductions first, then the stores."""
        e = self.e
        for s in sums:
            if s.reduce.op != "dot":
                e.value(s.reduce.value)
        results = [(x, e.value(x.value)) for x in phase.stores]
        for s in sums:
            r = s.reduce
            if s.pair:
                assert isinstance(r.value, Apply)
                a, b = (e.scalar(x) for x in r.value.args)
                e.lines += [f"{s.term} = {a};", f"{s.term_b} = {b};"]
            elif s.lanes:
                e.lines.append(f"{s.term} = {e.scalar(r.value)};")
            elif r.op in POSITIONS:
                value = e.scalar(r.value)
                e.lines += [f"if ({s.acc} < 0 || {better(r.op, r.value.dtype, value, s.acc + '_best')}) {{",
                            f"    {s.acc}_best = {value};", f"    {s.acc} = {at};", "}"]
            else:
                e.lines.append(f"{s.acc} = {term(e, r.op, r.dtype, s.acc, r.value, False)};")
        for x, result in results:
            handed = next((h for h in self.handed if h.store is x), None)
            if handed:
                e.lines.append(f"{handed.name}[u] = {result.text};")
            if handed is None or handed.last:
                e.store_value(x, result)

    def start(self, r: RowReduce, phase: Phase) -> _Sum:
        e = self.e
        terms = product(extent(v) for v in phase.vars).range()[1]
        lanes = {"lanes": 16, "seq": 1}.get(r.order, 0)
        blocks = lanes == 16 and not (terms is not None and terms <= BLOCK)
        s = _Sum(r, e.fresh("r"), e.fresh("shared"), lanes, e.fresh("r") if blocks else "", self.warps)
        if r.op in POSITIONS:
            c_type = C_TYPE[r.value.dtype]
            if self.warps:
                e.lines += [f"{c_type} {s.acc}_best = 0;", f"int64_t {s.acc} = -1;"]
                return s
            e.lines += [self.array("int64_t", 8, f"{s.shared}_at"),
                        self.array(c_type, DTYPES[r.value.dtype].bytes, s.shared), f"{c_type} {s.acc}_best = 0;",
                        f"int64_t {s.acc} = -1;"]
            return s
        c_type, size = C_TYPE[r.dtype], DTYPES[r.dtype].bytes
        terms = self.whole if self.whole and s.lanes else 1
        if not self.warps:
            e.lines.append(self.array(c_type, size, s.shared, terms))
        if s.pair and not self.warps:
            e.lines.append(self.array(c_type, size, f"{s.shared}_b", terms))
        e.lines.append(f"{c_type} {s.acc} = {constant(identity(r.op, r.order, r.dtype))};")
        if s.total:
            e.lines.append(f"{c_type} {s.total} = {constant(identity('sum', 'lanes', r.dtype))};")
        return s

    def array(self, c_type: str, size: int, name: str, terms: int = 1) -> str:
        """Declares elements of shared memory for each thread, behind those of the phase so far."""
        at, self.taken = self.taken, self.taken + size * self.threads * terms
        return f"{c_type} *const {name} = ({c_type} *)({MEMORY} + {at});"

    def absent(self, s: _Sum) -> list[str]:
        """Terms behind the last are the identity of addition."""
        if not s.lanes:
            return []
        none = constant(identity("sum", "lanes", s.reduce.dtype))
        kind = f"{C_TYPE[s.reduce.dtype]} " if self.warps else ""
        return [f"{kind}{s.term} = {none};"] + ([f"{kind}{s.term_b} = 0;"] if s.pair else [])

    def add(self, s: _Sum, first: str) -> list[str]:
        """After a pass: its terms to the lanes; after a block of terms its lanes to the total."""
        if not s.lanes:
            return []
        dtype, c_type = s.reduce.dtype, C_TYPE[s.reduce.dtype]
        if self.warps:
            terms, names = (f"{s.term}, {s.term_b}", "a, {0} b") if s.pair else (s.term, "a")
            text = f"tc_fma_{dtype}(a, b, lane)" if s.pair else f"tc_add_{dtype}(lane, a)"
            lines = [f"tc_warp_add{s.lanes}({s.acc}, {terms}, [&]({c_type} lane, {c_type} {names.format(c_type)}) "
                     f"{{ return {text}; }});"]
        else:
            text = f"tc_fma_{dtype}({s.shared}[i], {s.shared}_b[i], lane)" if s.pair else \
                f"tc_add_{dtype}(lane, {s.shared}[i])"
            count = self.threads * max(self.whole, 1)
            lines = [f"tc_block_add<{count}, {s.lanes}>({s.acc}, [&]({c_type} lane, int i) {{ return {text}; }});"]
        if s.total:
            lines += [f"if (({first} + {self.threads}) % {BLOCK} == 0) {{",
                      *indent([f"{s.total} = tc_add_{dtype}({s.total}, {self.lanes(s)});",
                               f"{s.acc} = {constant(identity('sum', 'lanes', dtype))};"]), "}"]
        return lines

    def lanes(self, s: _Sum) -> str:
        dtype = s.reduce.dtype
        c_type = C_TYPE[dtype]
        if self.warps:
            return f"tc_warp_lanes({s.acc}, []({c_type} a, {c_type} b) {{ return tc_add_{dtype}(a, b); }})"
        return f"tc_block_lanes({s.acc}, {s.shared}, [](const {c_type} *lane) {{ return tc_lanes_sum_{dtype}(lane); }})"

    def finish(self, s: _Sum, count: str) -> None:
        """Names the result as the local that later phases read."""
        e, r = self.e, s.reduce
        dtype = "i64" if r.op in POSITIONS else r.dtype
        if r.op in POSITIONS:
            c_type = C_TYPE[r.value.dtype]
            rule = better(r.op, r.value.dtype, "a", "b")
            rule = f"[]({c_type} a, {c_type} b) {{ return {rule}; }}"
            text = f"tc_warp_position({s.acc}_best, {s.acc}, {rule})" if self.warps else \
                f"tc_block_position<{self.threads}>({s.acc}_best, {s.acc}, {s.shared}, {s.shared}_at, {rule})"
        elif s.lanes == 16:
            text = self.lanes(s)
            if s.total:
                text = f"{count} % {BLOCK} != 0 ? tc_add_{dtype}({s.total}, {text}) : {s.total}"
            text = f"{count} == 0 ? ({C_TYPE[dtype]})0 : {text}"
        elif s.lanes:
            text = f"__shfl_sync(TC_WARP, {s.acc}, 0)" if self.warps else f"tc_block_first({s.acc}, {s.shared})"
            if r.op == "dot":
                text = f"tc_add_{dtype}({text}, ({C_TYPE[dtype]})0)"
        else:
            op, c_type = OPERATION["sum" if r.op == "dot" else r.op], C_TYPE[dtype]
            combine = f"[]({c_type} a, {c_type} b) {{ return tc_{op}_{dtype}(a, b); }}"
            text = f"tc_warp_reduce({s.acc}, {combine})" if self.warps else \
                f"tc_block_reduce<{self.threads}>({s.acc}, {s.shared}, {combine})"
        e.name_local(r.name, dtype, text)
