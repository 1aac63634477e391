# SPDX-License-Identifier: Apache-2.0
"""Runs programs of the loop IR point by point: a slow oracle for tiny shapes.

Memory is modelled as planned: a temp's element lives at its byte offset of the arena together with the temp's name, so
that a read of what another temp has overwritten, or of what nobody wrote, raises Clobbered. Rows are walked backwards
on request: kernels may not depend on their order. `traffic` counts the distinct elements that each kernel touched.
"""
from __future__ import annotations

from itertools import count, product

from tensor_compile.graph.dtypes import DTYPES
from tensor_compile.loops import plan as planning
from tensor_compile.loops.arena import offsets
from tensor_compile.loops.loop_ir import CheckKernel, ContractionKernel, LoopNestKernel, RowSort
from tensor_compile.loops.program_ir import Branch, Loop, Tiles
from tensor_compile.loops.scalar_ir import Acc, Apply, Const, InBounds, IndexValue, Load, Local, Reduction, Scalar
from tensor_compile.loops.scalars import extent
from tensor_compile.symbolic import Sym

from .scalars import from_bits, positions, reduce, scalar, wrap


class Clobbered(Exception):
    """A temp was read where it was not, or no longer, stored."""


class OutOfBounds(Exception):
    """An address outside its buffer."""


class Fault(Exception):
    """A CheckKernel found an index out of range."""


class _Memory:
    def __init__(self, program, dims: dict[Sym, int], values: dict[str, list]):
        self.program, self.dims, self.values = program, dict(dims), values
        self.arena: dict[int, tuple] = {}
        self.base: dict[str, int] = {}
        self.sizes = {n: b.elements.evaluate(dims) for n, b in program.buffers.items()}
        arena = program.arena
        begins, _ = offsets(arena.slots, dims)
        self.base = {name: begins[slot] for name, slot in arena.slot_of.items()} | arena.offset
        self.limit = planning.arena_bytes(program, dims)
        self.read: set[tuple] = set()
        self.written: set[tuple] = set()

    def load(self, name: str, address: int):
        if not 0 <= address < self.sizes[name]:
            raise OutOfBounds(f"load {name}[{address}] of {self.sizes[name]}")
        if (name, address) not in self.written:
            self.read.add((name, address))
        if self.program.buffers[name].kind in ("temp", "scratch", "tile"):
            tag, value = self.arena.get(self.key(name, address), (None, None))
            if tag != name:
                raise Clobbered(f"{name}[{address}] holds {tag}")
            return value
        value = self.values[name][address]
        if value is None:
            raise Clobbered(f"{name}[{address}] was not written")
        return value

    def store(self, name: str, address: int, value) -> None:
        if not 0 <= address < self.sizes[name]:
            raise OutOfBounds(f"store {name}[{address}] of {self.sizes[name]}")
        self.written.add((name, address))
        kind = self.program.buffers[name].kind
        if kind in ("temp", "scratch", "tile"):
            self.arena[self.key(name, address)] = (name, value)
        else:
            assert kind in ("output", "state"), f"store into {kind} {name}"
            self.values[name][address] = value

    def swap(self, a: str, b: str) -> None:
        """The two buffers change places: what was stored under one name is found under the other."""
        self.base[a], self.base[b] = self.base[b], self.base[a]
        other = {a: b, b: a}
        self.arena = {key: (other.get(tag, tag), value) for key, (tag, value) in self.arena.items()}

    def forget(self) -> dict:
        """What a tile handed on is gone: that."""
        kinds = {name: b.kind for name, b in self.program.buffers.items()}
        gone = {key: held for key, held in self.arena.items() if kinds[held[0]] == "tile"}
        self.arena = {key: held for key, held in self.arena.items() if kinds[held[0]] != "tile"}
        return gone

    def key(self, name: str, address: int):
        if name not in self.base:
            assert self.program.buffers[name].kind in ("scratch", "tile"), f"{name} has no place"
            return (name, address)
        at = self.base[name] + address * DTYPES[self.program.buffers[name].dtype].bytes
        assert at < self.limit, f"{name} lies beyond the arena"
        return at


class _Compiler:
    """A kernel as the text of a Python function."""

    def __init__(self, memory: _Memory):
        self.memory, self.names, self.lines, self.numbers = memory, {}, [], count()

    def sym(self, s: Sym) -> str:
        if s.is_dim:
            return str(self.memory.dims[s])
        return self.names.setdefault(s, f"v{len(self.names)}")

    def expr(self, e) -> str:
        parts = []
        for monomial, c in e.terms:
            parts.append("*".join([str(c)] + [self.sym(a) if isinstance(a, Sym) else
                                              f"(({self.expr(a.num)})//({self.expr(a.den)}))" for a in monomial]))
        return "+".join(f"({p})" for p in parts) or "0"

    def address(self, name: str, index: tuple) -> str:
        return self.expr(self.memory.program.buffers[name].address(index))

    def scalar(self, s: Scalar) -> str:
        if isinstance(s, Const):
            return f"const({s.dtype!r}, {s.bits})"
        if isinstance(s, IndexValue):
            return f"wrap({s.dtype!r}, {self.expr(s.expr)})"
        if isinstance(s, InBounds):
            return "(" + " and ".join(f"{self.expr(e)} >= 0" for e in s.exprs) + ")"
        if isinstance(s, Acc):
            return f"acc{s.number}"
        if isinstance(s, Local):
            return f"local_{s.name}"
        if isinstance(s, Load):
            text = f"load({s.buffer!r}, {self.address(s.buffer, s.index)})"
            for k, v in s.dynamic:
                text = f"(lambda {self.sym(k)}: {text})({self.scalar(v)})"
            if s.valid:
                inside = " and ".join(f"{self.expr(e)} >= 0" for e in s.valid)
                text = f"({text} if {inside} else {self.scalar(s.other)})"
            return text
        if isinstance(s, Reduction):
            loops = " ".join(f"for {self.sym(v)} in range({self.expr(extent(v))})" for v in s.vars)
            valid = f" if {' and '.join(f'{self.expr(e)} >= 0' for e in s.valid)}" if s.valid else ""
            inner = f"[{self.scalar(s.value)} {loops or 'for _ in (0,)'}{valid}]"
            return f"reduce({s.op!r}, {s.order!r}, {s.dtype!r}, {inner})"
        assert isinstance(s, Apply)
        operands = ', '.join(self.scalar(a) for a in s.args)
        return f"scalar({s.op!r}, {s.dtype!r}, {s.args[-1].dtype!r}, {operands})"

    def open(self, variables, depth: int, backwards: bool = False) -> int:
        for v in variables:
            span = f"range({self.expr(extent(v))})"
            self.lines.append("  " * depth + f"for {self.sym(v)} in {f'reversed({span})' if backwards else span}:")
            depth += 1
        return depth

    def store(self, s, depth: int) -> None:
        for g, at in s.dynamic:
            self.lines.append("  " * depth + f"{self.sym(g)} = {self.scalar(at)}")
            self.lines.append("  " * depth + f"if 0 <= {self.sym(g)} < {self.expr(extent(g))}:")
            depth += 1
        self.lines.append("  " * depth + f"store({s.buffer!r}, {self.address(s.buffer, s.index)}, "
                                         f"{self.scalar(s.value)})")

    def nest(self, k: LoopNestKernel, backwards: bool) -> None:
        depth = self.open(k.rows, 1, backwards)
        for phase in k.phases:
            for i, _ in enumerate(phase.reduces):
                self.lines.append("  " * depth + f"terms_{i} = []")
            inner = self.open(phase.vars, depth)
            self.lines.append("  " * inner + "pass")
            for i, r in enumerate(phase.reduces):
                self.lines.append("  " * inner + f"terms_{i}.append({self.scalar(r.value)})")
                if not isinstance(r, RowSort) and r.order == "running":
                    self.lines.append("  " * inner + self.reduced(i, r))
            for s in phase.stores:
                self.store(s, inner)
            for i, r in enumerate(phase.reduces):
                if isinstance(r, RowSort):
                    self.lines.append("  " * depth + f"for k, at in enumerate(positions(terms_{i}, {r.descending})"
                                                     f"[:{self.expr(r.count)}]): store({r.buffer!r}, k, at)")
                elif r.order != "running":
                    self.lines.append("  " * depth + self.reduced(i, r))

    def reduced(self, i: int, r) -> str:
        return f"local_{r.name} = reduce({r.op!r}, {r.order!r}, {r.dtype!r}, terms_{i})"

    def contraction(self, k: ContractionKernel, backwards: bool) -> None:
        depth = self.open(k.batch + k.m + k.n, 1, backwards)
        loops = " ".join(f"for {self.sym(v)} in range({self.expr(extent(v))})" for v in k.k)
        for i, b in enumerate(k.b):
            terms = f"({self.scalar(k.a)}, {self.scalar(b)}) {loops}"
            self.lines.append("  " * depth + f"acc{i} = reduce('dot', 'seq', 'f32', [{terms}])")
            if k.where is not None:
                self.lines.append("  " * depth + f"if acc{i} != acc{i}: acc{i} = reduce('dot', 'seq', 'f32', "
                                                 f"[{terms} if {self.scalar(k.where)}])")
        for s in k.stores:
            self.store(s, depth)


def run(program, dims: dict[Sym, int], values: dict[str, list], backwards: bool = False) -> list[tuple[int, int]]:
    """Runs the program. values: inputs, packed and state as flat lists in memory order; outputs are added.

    Returns the bytes that each kernel read (what it wrote itself apart) and wrote, every element counted once, of all
    its runs together. What tiles hand on is in a thread's cache and does not count.
    """
    memory = _Memory(program, dims, values)
    for b in program.buffers.values():
        if b.kind == "output":
            values[b.name] = [None] * memory.sizes[b.name]
    counts = {id(step): (0, 0) for step in program.kernel_steps}

    def decide(region) -> bool:
        return memory.load(region.condition, 0)

    def items(found: list) -> None:
        for item in found:
            if isinstance(item, Branch):
                items(item.then if decide(item) else item.other)
            elif isinstance(item, Loop) and item.iteration is None:
                items(item.test)
                while decide(item):
                    iteration(item)
                    items(item.test)
            elif isinstance(item, Loop):
                for memory.dims[item.iteration] in range(extent(item.iteration).evaluate(dims)):
                    iteration(item)
            elif isinstance(item, Tiles):
                starts = [range(0, a.size.evaluate(dims), a.block) for a in item.axes]
                before = None
                for at in sorted(product(*starts), reverse=backwards):
                    for a, start in zip(item.axes, at):
                        memory.dims[a.start] = start
                        if a.count is not None:
                            memory.dims[a.count] = min(a.block, a.size.evaluate(dims) - start)
                    kept = memory.forget()
                    goes_on = before == (*at[:-1], at[-1] - item.axes[-1].block)
                    for w in item.windows:
                        window(w, kept if goes_on else {})
                    before = at
                    items(item.body)
            else:
                (read, written), more = counts[id(item)], _kernel(memory, item.kernel, backwards)
                counts[id(item)] = read + more[0], written + more[1]

    windows = {}

    def window(w, kept) -> None:
        """The rows that the tile before computed stay; what positions beside them held is gone."""
        first, end, size = (e.evaluate(memory.dims) for e in (w.first, w.end, w.size))
        low, high = max(first, 0), min(end, size)
        was, begin = windows.get(w.buffer, (0, 0)) if kept else (0, low)
        begin = max(begin, low)
        step = program.buffers[w.buffer].strides[w.dim].evaluate(dims)
        for address in range((low - first) * step, (begin - first) * step):
            memory.arena[memory.key(w.buffer, address)] = kept[memory.key(w.buffer, address + (first - was) * step)]
        windows[w.buffer] = first, max(high, begin)
        for s, value in zip(w.symbols, (begin, begin - first, max(0, high - begin))):
            memory.dims[s] = value

    def iteration(loop: Loop) -> None:
        items(loop.body)
        for a, b in loop.swaps:
            memory.swap(a, b)

    items(program.steps)
    return list(counts.values())


def _kernel(memory: _Memory, k, backwards: bool) -> tuple[int, int]:
    memory.read, memory.written = set(), set()
    if isinstance(k, CheckKernel):
        bound = k.bound.evaluate(memory.dims)
        for i in range(memory.sizes[k.buffer.name]):
            if not 0 <= memory.load(k.buffer.name, i) < bound:
                raise Fault(k.label)
    else:
        compiler = _Compiler(memory)
        if isinstance(k, LoopNestKernel):
            compiler.nest(k, backwards)
        for part in () if isinstance(k, LoopNestKernel) else reversed(k.contractions) if backwards else k.contractions:
            compiler.contraction(part, backwards)
        scope = {"load": memory.load, "store": memory.store, "scalar": scalar, "reduce": reduce, "positions": positions,
                 "const": from_bits,
                 "wrap": wrap}
        exec("def kernel():\n  pass\n" + "\n".join(compiler.lines), scope)
        scope["kernel"]()
        allowed = {b.name for b in k.params}
        used = {n for n, _ in memory.read | memory.written}
        assert used <= allowed, f"{k.label} uses {used - allowed} beyond its parameters"
    buffers = memory.program.buffers
    apart = ("scratch", "tile")
    size = lambda found: sum(DTYPES[buffers[n].dtype].bytes for n, _ in found if buffers[n].kind not in apart)
    return size(memory.read), size(memory.written)
