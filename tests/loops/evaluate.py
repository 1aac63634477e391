# SPDX-License-Identifier: Apache-2.0
"""Runs Programs point by point on Python floats rounded to f32 after every operation: a slow oracle for tiny shapes.

Memory is modelled as planned: a temp's element lives at its byte offset of the arena together with the temp's name, so
that a read of what another temp has overwritten, or of what nobody wrote, raises Clobbered. Rows are walked backwards
on request: kernels may not depend on their order. `traffic` counts the distinct elements that each kernel touched.
"""
from __future__ import annotations

import math
import struct
from functools import cmp_to_key
from itertools import count, product

from scalar_functions import FUNCTIONS as MORE
from tensor_compile.graph.dtypes import DTYPES
from tensor_compile.loops import plan as planning
from tensor_compile.loops.arena import offsets
from tensor_compile.loops.loop_ir import Branch, CheckKernel, ContractionKernel, Loop, LoopNestKernel, RowSort, Tiles
from tensor_compile.loops.scalar_ir import Acc, Apply, Const, InBounds, IndexValue, Load, Local, Reduction, Scalar
from tensor_compile.loops.scalars import extent
from tensor_compile.symbolic import Sym

NAN, INF = float("nan"), float("inf")


class Clobbered(Exception):
    """A temp was read where it was not, or no longer, stored."""


class OutOfBounds(Exception):
    """An address outside its buffer."""


class Fault(Exception):
    """A CheckKernel found an index out of range."""


def r32(x: float) -> float:
    """Rounds to f32."""
    try:
        return struct.unpack("<f", struct.pack("<f", x))[0]
    except OverflowError:
        return math.copysign(INF, x)


def from_bits(dtype: str, bits: int):
    if dtype == "f32":
        return struct.unpack("<f", struct.pack("<I", bits))[0]
    if dtype == "bool":
        return bool(bits)
    width = 32 if dtype == "i32" else 64
    return bits - (1 << width) if bits >> (width - 1) else bits


def fma(a: float, b: float, c: float) -> float:
    return r32(a * b + c)


def _div(a: float, b: float) -> float:
    if b == 0 or math.isnan(b):
        return NAN if a == 0 or math.isnan(a) or math.isnan(b) else math.copysign(INF, math.copysign(1, a) *
                                                                                 math.copysign(1, b))
    return NAN if math.isinf(a) and math.isinf(b) else a / b


def maximum(a, b):
    if isinstance(a, float) and (math.isnan(a) or math.isnan(b)):
        return NAN
    if a == b == 0 and isinstance(a, float):
        return a if math.copysign(1, a) > 0 else b
    return a if a > b else b


def minimum(a, b):
    if isinstance(a, float) and (math.isnan(a) or math.isnan(b)):
        return NAN
    if a == b == 0 and isinstance(a, float):
        return a if math.copysign(1, a) < 0 else b
    return a if a < b else b


def _exp(x: float) -> float:
    return INF if x > 709 else math.exp(x)


def _floor(x: float) -> float:
    return x if x == 0 or not math.isfinite(x) else float(math.floor(x))


def _log(x: float) -> float:
    return NAN if x < 0 or math.isnan(x) else -INF if x == 0 else math.log(x)


def _wrap(dtype: str, x: int) -> int:
    half = 1 << (31 if dtype == "i32" else 63)
    return (x + half) % (2 * half) - half


def _integer_div(a: int, b: int) -> int:
    return 0 if b == 0 else int(math.copysign(1, a) * math.copysign(1, b)) * (abs(a) // abs(b))


def bitcast(to: str, x):
    """Between f32 and i32."""
    source, target = ("<i", "<f") if to == "f32" else ("<f", "<i")
    return struct.unpack(target, struct.pack(source, x))[0]


def cast(to: str, x):
    if to == "bool":
        return x != 0
    if to == "f32":
        return r32(float(x))
    if isinstance(x, float):
        half = 1 << (31 if to == "i32" else 63)
        return 0 if math.isnan(x) else max(-half, min(half - 1, int(x) if not math.isinf(x) else int(
            math.copysign(half, x))))
    return _wrap(to, int(x))


FUNCTIONS = {
    "neg": lambda x: -x, "abs": abs, "exp": _exp, "log": _log, "tanh": math.tanh, "erf": math.erf,
    "sqrt": lambda x: NAN if x < 0 else math.sqrt(x), "floor": _floor,
    "add": lambda a, b: a + b, "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b, "maximum": maximum, "minimum": minimum, "logical_not": lambda x: not x,
    "logical_and": lambda a, b: a and b, "logical_or": lambda a, b: a or b, "logical_xor": lambda a, b: a != b,
    "eq": lambda a, b: a == b, "ne": lambda a, b: a != b, "lt": lambda a, b: a < b, "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b, "ge": lambda a, b: a >= b, "select": lambda p, a, b: a if p else b,
}


def scalar(op: str, dtype: str, *args):
    """One scalar operation, as in docs/numerics.md but for the math functions' last bits."""
    if op == "cast":
        return cast(dtype, args[0])
    if op == "bitcast":
        return bitcast(dtype, args[0])
    if op == "pair":
        return args
    if op == "div":
        return r32(_div(*args)) if dtype == "f32" else _wrap(dtype, _integer_div(*args))
    out = MORE[op](dtype, *args) if op in MORE else FUNCTIONS[op](*args)
    if dtype == "f32":
        return r32(out)
    return bool(out) if dtype == "bool" else _wrap(dtype, out)


def positions(terms: list, descending: bool) -> list[int]:
    """Where the sorted terms were: a NaN above every number, equal ones in their order."""
    def before(a: int, b: int) -> bool:
        x, y = (terms[b], terms[a]) if descending else (terms[a], terms[b])
        return x == x and (y != y or x < y)
    return sorted(range(len(terms)), key=cmp_to_key(lambda a, b: -1 if before(a, b) else before(b, a)))


def lanes(terms: list, product: bool = False, multiply: bool = False):
    """The `lanes` order: 16 lanes a block of 4096, a tree over the lanes, blocks in order."""
    total = None
    join = (lambda a, b: r32(a * b)) if multiply else lambda a, b: r32(a + b)
    for start in range(0, len(terms), 4096):
        acc: list = [None] * 16
        for i, t in enumerate(terms[start:start + 4096]):
            j = i % 16
            if t is None:           # no term
                continue
            if product:
                acc[j] = r32(t[0] * t[1]) if acc[j] is None else fma(t[0], t[1], acc[j])
            else:
                acc[j] = t if acc[j] is None else join(acc[j], t)
        for step in (8, 4, 2, 1):
            for j in range(step):
                if acc[j + step] is not None:
                    acc[j] = acc[j + step] if acc[j] is None else join(acc[j], acc[j + step])
        total = acc[0] if total is None else total if acc[0] is None else join(total, acc[0])
    return 0.0 if total is None else total


def reduce(op: str, order: str, dtype: str, terms: list):
    if op == "dot":
        if order == "lanes":
            return lanes(terms, product=True)
        if dtype != "f32":
            return _wrap(dtype, sum(a * b for a, b in terms))
        acc = 0.0
        for a, b in terms:
            acc = fma(a, b, acc)
        return r32(acc + 0.0)
    if op == "prod":
        if order == "lanes":
            return lanes(terms, multiply=True) if terms else 1.0
        acc = terms[0] if terms else 1
        for t in terms[1:]:
            acc = r32(acc * t) if dtype == "f32" else _wrap(dtype, acc * t)
        return acc
    if op == "sum":
        if order == "running":
            acc = terms[0]
            for t in terms[1:]:
                acc = r32(acc + t) if dtype == "f32" else _wrap(dtype, acc + t)
            return acc
        if order == "lanes":
            return lanes(terms)
        if dtype != "f32":
            return _wrap(dtype, sum(terms))
        acc = 0.0
        for t in terms:
            acc = r32(acc + t)
        return r32(acc + 0.0)
    if op in ("any", "all"):
        return any(terms) if op == "any" else all(terms)
    if op in ("argmax", "argmin"):
        best = 0
        for i, t in enumerate(terms):
            if isinstance(t, float) and math.isnan(t):
                return i
            if t > terms[best] if op == "argmax" else t < terms[best]:
                best = i
        return best
    acc = terms[0]
    for t in terms[1:]:
        acc = maximum(acc, t) if op == "max" else minimum(acc, t)
    return acc


def reduce_where(op: str, order: str, dtype: str, terms: list):
    """A reduction with a predicate: None stands where there is no term."""
    held = [t for t in terms if t is not None]
    if not held and op in ("max", "min"):
        kind = DTYPES[dtype]
        return from_bits(dtype, kind.lowest if op == "max" else kind.highest)
    if not held and op in ("sum", "prod"):
        return (0.0 if dtype == "f32" else 0) if op == "sum" else 1.0 if dtype == "f32" else 1
    if order != "lanes":
        return reduce(op, order, dtype, held)
    total = reduce(op, order, dtype, terms)
    return r32(total + 0.0) if op == "sum" else total


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

    def forget(self) -> None:
        """What a tile handed on is gone."""
        kinds = {name: b.kind for name, b in self.program.buffers.items()}
        self.arena = {key: held for key, held in self.arena.items() if kinds[held[0]] != "tile"}

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
                text = f"({text} if {' and '.join(f'{self.expr(e)} >= 0' for e in s.valid)} else {self.scalar(s.other)})"
            return text
        if isinstance(s, Reduction):
            loops = " ".join(f"for {self.sym(v)} in range({self.expr(extent(v))})" for v in s.vars)
            valid = f" if {' and '.join(f'{self.expr(e)} >= 0' for e in s.valid)}" if s.valid else ""
            inner = f"[{self.scalar(s.value)} {loops or 'for _ in (0,)'}{valid}]"
            return f"reduce({s.op!r}, {s.order!r}, {s.dtype!r}, {inner})"
        assert isinstance(s, Apply)
        return f"scalar({s.op!r}, {s.dtype!r}, {', '.join(self.scalar(a) for a in s.args)})"

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
            self.lines.append("  " * depth + f"acc{i} = reduce('dot', 'seq', 'f32', "
                                             f"[({self.scalar(k.a)}, {self.scalar(b)}) {loops}])")
        for s in k.stores:
            self.store(s, depth)


def run(program, dims: dict[Sym, int], values: dict[str, list], backwards: bool = False) -> list[tuple[int, int]]:
    """Runs the program. values: inputs, packed and state as flat lists in memory order; outputs are added.

    Returns the bytes that each kernel read (what it wrote itself apart) and wrote, every element counted once.
    """
    memory = _Memory(program, dims, values)
    for b in program.buffers.values():
        if b.kind == "output":
            values[b.name] = [None] * memory.sizes[b.name]
    counts: list[tuple[int, int]] = []

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
                for at in sorted(product(*starts), reverse=backwards):
                    for a, start in zip(item.axes, at):
                        memory.dims[a.start] = start
                        if a.count is not None:
                            memory.dims[a.count] = min(a.block, a.size.evaluate(dims) - start)
                    memory.forget()
                    items(item.body)
            else:
                counts.append(_kernel(memory, item.kernel, backwards))

    def iteration(loop: Loop) -> None:
        items(loop.body)
        for a, b in loop.swaps:
            memory.swap(a, b)

    items(program.steps)
    return counts


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
                 "wrap": _wrap}
        exec("def kernel():\n  pass\n" + "\n".join(compiler.lines), scope)
        scope["kernel"]()
        allowed = {b.name for b in k.params}
        used = {n for n, _ in memory.read | memory.written}
        assert used <= allowed, f"{k.label} uses {used - allowed} beyond its parameters"
    size = lambda found: sum(DTYPES[memory.program.buffers[n].dtype].bytes for n, _ in found)
    return size(memory.read), size(memory.written)
