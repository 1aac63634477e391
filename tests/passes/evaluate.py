# SPDX-License-Identifier: Apache-2.0
"""A slow evaluator of graph functions for tests: what the primitives mean (docs/graph.md), element by element.

f32 arithmetic is done in double and rounded once more, which for + - * / and square roots is the correctly rounded
f32 result. The functions and the order of sums are not the product's: two graphs are compared, not numerics.
"""
from __future__ import annotations

import math
import struct
from ctypes import c_float
from dataclasses import dataclass
from itertools import product as points

from scalar_functions import FUNCTIONS
from tensor_compile.graph.dtypes import DTYPES, FLOATS
from tensor_compile.graph.ir import Function, Module, Node, Value

BITS = {name: d.bits for name, d in DTYPES.items()}
FORMATS = {"f32": "<f", "f64": "<d", "f16": "<e"}      # of struct


@dataclass
class Tensor:
    dtype: str
    shape: tuple[int, ...]
    data: list

    def at(self, index) -> object:
        flat = 0
        for i, n in zip(index, self.shape):
            assert 0 <= i < n, f"index {index} outside {self.shape}"
            flat = flat * n + i
        return self.data[flat]


def f32(x: float) -> float:
    return c_float(x).value


def rounded(dtype: str, x: float) -> float:
    """The nearest float of the dtype (bf16: of the nearest f32)."""
    if dtype == "bf16":
        bits = struct.unpack("<I", struct.pack("<f", f32(x)))[0]
        return x if x != x else from_bits("f32", bits + 0x7fff + (bits >> 16 & 1) & 0xffff0000)
    try:
        return f32(x) if dtype == "f32" else struct.unpack(FORMATS[dtype], struct.pack(FORMATS[dtype], x))[0]
    except OverflowError:
        return math.copysign(math.inf, x)


def from_bits(dtype: str, bits: int):
    if dtype == "bf16":
        return from_bits("f32", bits << 16)
    if dtype in FLOATS:
        return struct.unpack(FORMATS[dtype], bits.to_bytes(BITS[dtype] // 8, "little"))[0]
    return bits if dtype == "bool" else wrap(dtype, bits)


def to_bits(dtype: str, x) -> int:
    if dtype == "bf16":
        return to_bits("f32", x) >> 16
    if dtype in FLOATS:
        return int.from_bytes(struct.pack(FORMATS[dtype], x), "little")
    return x & DTYPES[dtype].mask


def wrap(dtype: str, x: int) -> int:
    half = 1 << BITS[dtype] - 1 if DTYPES[dtype].kind == "signed" else 0
    return (x + half) % (1 << BITS[dtype]) - half


def same(a: Tensor, b: Tensor) -> bool:
    """Same bits, or both NaN."""
    if (a.dtype, a.shape) != (b.dtype, b.shape):
        return False
    if a.dtype not in FLOATS:
        return a.data == b.data
    return all((x != x and y != y) or struct.pack("<d", x) == struct.pack("<d", y) for x, y in zip(a.data, b.data))


def _divide(dtype: str, x, y):
    if dtype not in FLOATS:
        return 0 if y == 0 else wrap(dtype, abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1))
    if y == 0:
        return math.nan if x == 0 or x != x else math.copysign(math.inf, math.copysign(1, x) * math.copysign(1, y))
    return rounded(dtype, x / y)


def _extreme(x, y, sign: int):
    if x != x or y != y:
        return math.nan
    if x == y == 0 and isinstance(x, float):
        first = math.copysign(1, x) * sign > 0
        return x if first else y
    return x if x * sign > y * sign else y


def _safe(function, x: float) -> float:
    try:
        return f32(function(x))
    except (ValueError, OverflowError):
        return math.inf if function is math.exp else -math.inf if x == 0 else math.nan


def _number(dtype: str, x):
    return rounded(dtype, x) if dtype in FLOATS else wrap(dtype, x)


def ends(dtype: str) -> tuple[int, int]:
    """The smallest and the largest integer."""
    return wrap(dtype, DTYPES[dtype].lowest), wrap(dtype, DTYPES[dtype].highest)


def _cast(x, source: str, dtype: str):
    if dtype == "bool":
        return int(x != 0)
    if dtype in FLOATS:
        return rounded(dtype, float(x))
    if source in FLOATS:
        low, high = ends(dtype)
        return 0 if x != x else max(low, min(high, math.trunc(x) if math.isfinite(x) else high if x > 0 else low))
    return wrap(dtype, x)


_BINARY = {
    "add": lambda t, x, y: _number(t, x + y), "sub": lambda t, x, y: _number(t, x - y),
    "mul": lambda t, x, y: _number(t, x * y), "div": _divide,
    "maximum": lambda t, x, y: _extreme(x, y, 1), "minimum": lambda t, x, y: _extreme(x, y, -1),
    "logical_and": lambda t, x, y: x & y, "logical_or": lambda t, x, y: x | y, "logical_xor": lambda t, x, y: x ^ y,
    "eq": lambda t, x, y: int(x == y), "ne": lambda t, x, y: int(x != y), "lt": lambda t, x, y: int(x < y),
    "le": lambda t, x, y: int(x <= y), "gt": lambda t, x, y: int(x > y), "ge": lambda t, x, y: int(x >= y),
}
_UNARY = {
    "neg": lambda t, x: -x if t in FLOATS else wrap(t, -x), "abs": lambda t,
    x: abs(x) if t in FLOATS else wrap(t, abs(x)),
    "exp": lambda t, x: _safe(math.exp, x), "log": lambda t, x: _safe(math.log, x),
    "sqrt": lambda t, x: x if x == 0 else _safe(math.sqrt, x),
    "floor": lambda t, x: x if x == 0 or not math.isfinite(x) else float(math.floor(x)), "tanh": lambda t,
    x: _safe(math.tanh, x),
    "erf": lambda t, x: _safe(math.erf, x), "logical_not": lambda t, x: 1 - x,
}


class Run:
    """One evaluation: dims by symbol, weights and states and packed constants by name."""

    def __init__(self, module: Module, dims: dict, weights: dict | None = None, states: dict | None = None,
                 packed: dict | None = None):
        self.module, self.dims = module, dims
        self.named = {"weight": weights or {}, "state": states or {}, "packed": packed or {}}

    def function(self, function: Function, inputs: list[Tensor]) -> list[Tensor]:
        """Results in order, then assigned values by their states' names."""
        self.assigned: dict[str, Tensor] = {}
        return self.results(function, inputs, "") + [self.assigned[name] for name in sorted(self.assigned)]

    def results(self, function: Function, inputs: list[Tensor], prefix: str) -> list[Tensor]:
        values = {Value(p): x for p, x in zip(function.parameters, inputs, strict=True)}
        for p, x in zip(function.parameters, inputs):
            assert self.sizes(p.types[0].shape) == x.shape, (p.attrs["name"], str(p.types[0]), x.shape)
        for node in function.nodes:
            results = self.node(node, [values[v] for v in node.operands], prefix)
            for i, (x, t) in enumerate(zip(results, node.types, strict=True)):
                assert (x.dtype, x.shape) == (t.dtype, self.sizes(t.shape)), f"{node}: {x.dtype}{x.shape}"
                values[Value(node, i)] = x
        self.assigned.update((prefix + name, values[v]) for name, v, _ in function.assigns)
        return [values[v] for _, v, _ in function.results]

    def sizes(self, shape) -> tuple[int, ...]:
        return tuple(d.evaluate(self.dims) for d in shape)

    def held(self, name: str, inputs: list[Tensor], prefix: str) -> list[Tensor]:
        return self.results(self.module.functions[name], inputs, prefix)

    def node(self, node: Node, x: list[Tensor], prefix: str) -> list[Tensor]:
        op, a = node.op, node.attrs
        if op == "call":
            return self.held(a["callee"], x, prefix + a["prefix"])
        if op == "cond":
            return self.held(a["then"] if x[0].data[0] else a["else"], x[1:], prefix)
        if op == "while":
            while self.held(a["test"], x, prefix)[0].data[0]:
                x = self.held(a["body"], x, prefix)
            return x
        if op == "scan":
            return self.scan(node, x, prefix)
        return [self.single(node, x, prefix)]

    def scan(self, node: Node, x: list[Tensor], prefix: str) -> list[Tensor]:
        carries, rows = x[:node.attrs["carries"]], x[node.attrs["carries"]:]
        outs: list[list[Tensor]] = []
        for i in range(self.sizes(node.attrs["length"])[0]):
            parts = []
            for r in rows:
                n = math.prod(r.shape[1:])
                parts.append(Tensor(r.dtype, r.shape[1:], r.data[i * n:(i + 1) * n]))
            made = self.held(node.attrs["body"], carries + parts, prefix)
            carries = made[:len(carries)]
            outs.append(made[len(carries):])
        stacked = []
        for i, t in enumerate(node.types[len(carries):]):
            stacked.append(Tensor(t.dtype, self.sizes(t.shape), [v for step in outs for v in step[i].data]))
        return carries + stacked

    def single(self, node: Node, x: list[Tensor], prefix: str) -> Tensor:
        op, a, out = node.op, node.attrs, node.types[0]
        shape = self.sizes(out.shape)
        every = lambda: points(*map(range, shape))
        make = lambda data: Tensor(out.dtype, shape, list(data))
        if op in self.named:
            return self.named[op][(prefix if op != "packed" else "") + a["name"]]
        if op == "constant":
            return make([from_bits(out.dtype, a["bits"])])
        if op == "dim_value":
            return make(map(lambda v: wrap(out.dtype, v), self.sizes(a["value"])))
        if op == "iota":
            return make(i[a["axis"]] for i in every())
        if op in _BINARY:
            return make(_BINARY[op](x[0].dtype, p, q) for p, q in zip(x[0].data, x[1].data, strict=True))
        if op in FUNCTIONS:
            return make(_number(x[0].dtype, FUNCTIONS[op](x[0].dtype, *p))
                        for p in zip(*(t.data for t in x), strict=True))
        if op in _UNARY:
            return make(_UNARY[op](x[0].dtype, p) for p in x[0].data)
        if op == "cast":
            return make(_cast(p, x[0].dtype, out.dtype) for p in x[0].data)
        if op == "bitcast":
            return make(from_bits(out.dtype, to_bits(x[0].dtype, p)) for p in x[0].data)
        if op == "select":
            return make(q if p else r for p, q, r in zip(x[0].data, x[1].data, x[2].data, strict=True))
        if op == "broadcast":
            return make(x[0].at([0 if n == 1 else i[d] for d, n in zip(a["axes"], x[0].shape)]) for i in every())
        if op == "reshape":
            return make(x[0].data)
        if op == "transpose":
            where = [a["perm"].index(d) for d in range(len(shape))]
            return make(x[0].at([i[w] for w in where]) for i in every())
        if op == "slice":
            start = self.sizes(a["start"])
            return make(x[0].at([s + j * t for s, j, t in zip(start, i, a["stride"])]) for i in every())
        if op == "pad":
            low = self.sizes(a["low"])
            inside = lambda i: all(0 <= j - s < n for j, s, n in zip(i, low, x[0].shape))
            return make(x[0].at([j - s for j, s in zip(i, low)]) if inside(i) else x[1].data[0] for i in every())
        if op == "concat":
            return make(self.concat(x, a["axis"], i) for i in every())
        if op == "gather":
            k, r = a["axis"], len(x[1].shape)
            return make(x[0].at([*i[:k], x[1].at(i[k:k + r]), *i[k + r:]]) for i in every())
        if op == "update_slice":
            start = self.sizes(a["start"])
            inside = lambda i: all(0 <= j - s < n for j, s, n in zip(i, start, x[1].shape))
            return make(x[1].at([j - s for j, s in zip(i, start)]) if inside(i) else x[0].at(i) for i in every())
        if op in ("reduce", "reduce_where"):
            return make(self.reduce(x[0], a["op"], a["axes"], i, *x[1:]) for i in every())
        if op == "arg_reduce":
            return make(self.arg(x[0], a["op"], a["axis"], i) for i in every())
        if op == "window_reduce":
            return make(self.window(x[0], a, i) for i in every())
        if op in ("dot", "dot_where"):
            return make(self.dot(*x, a, i) for i in every())
        if op == "convolution":
            return make(self.convolution(x[0], x[1], a, i) for i in every())
        raise AssertionError(f"no evaluation of {op}")

    def concat(self, x: list[Tensor], axis: int, i) -> object:
        j = i[axis]
        for t in x:
            if j < t.shape[axis]:
                return t.at([*i[:axis], j, *i[axis + 1:]])
            j -= t.shape[axis]
        raise AssertionError("beyond the operands")

    def terms(self, x: Tensor, axes, i) -> list:
        kept, out = iter(i), []
        fixed = [None if d in axes else next(kept) for d in range(len(x.shape))]
        for j in points(*(range(x.shape[d]) for d in axes)):
            over = iter(j)
            out.append(x.at([next(over) if f is None else f for f in fixed]))
        return out

    def reduce(self, x: Tensor, op: str, axes, i, predicate: Tensor | None = None):
        terms = self.terms(x, axes, i)
        if predicate is not None:
            terms = [t for t, holds in zip(terms, self.terms(predicate, axes, i)) if holds]
        if op in ("any", "all"):
            return int((any if op == "any" else all)(terms))
        if not terms and op in ("sum", "prod"):
            return _number(x.dtype, 0 if op == "sum" else 1)
        if not terms:
            return self.least(x.dtype, op)
        total = terms[0]
        for t in terms[1:]:
            total = _number(x.dtype, total + t) if op == "sum" else _number(x.dtype, total * t) if op == "prod" \
                else _extreme(total, t, 1 if op == "max" else -1)
        return total + 0.0 if predicate is not None and op == "sum" and x.dtype in FLOATS else total

    def least(self, dtype: str, op: str):
        low, high = (-math.inf, math.inf) if dtype in FLOATS else ends(dtype)
        return low if op == "max" else high

    def arg(self, x: Tensor, op: str, axis: int, i):
        terms = self.terms(x, (axis,), i)
        best = 0
        for k, t in enumerate(terms):
            if terms[best] == terms[best] and (t != t or (t > terms[best] if op == "max" else t < terms[best])):
                best = k
        return best

    def window(self, x: Tensor, a: dict, i):
        rank = len(a["size"])
        kept, where, terms = i[:-rank], i[-rank:], []
        for j in points(*map(range, a["size"])):
            at = [w * s - lo + k * d for w, s, lo, k, d in zip(where, a["stride"], a["low"], j, a["dilation"])]
            if all(0 <= p < n for p, n in zip(at, x.shape[-rank:])):
                terms.append(x.at([*kept, *at]))
        if a["op"] == "sum":
            total = 0.0 if x.dtype in FLOATS else 0
            for t in terms:
                total = _number(x.dtype, total + t)
            return total
        total = terms[0] if terms else self.least(x.dtype, a["op"])
        for t in terms[1:]:
            total = _extreme(total, t, 1 if a["op"] == "max" else -1)
        return total

    def dot(self, p: Tensor, q: Tensor, *more):
        *predicate, a, i = more
        nb = len(a["lhs_batch"])
        free = [[d for d in range(len(t.shape)) if d not in a[f"{s}_batch"] and d not in a[f"{s}_contract"]]
                for t, s in ((p, "lhs"), (q, "rhs"))]
        index = []
        parts = (i[nb:nb + len(free[0])], i[nb + len(free[0]):])
        for side, t, f, part in (("lhs", p, free[0], parts[0]), ("rhs", q, free[1], parts[1])):
            at = [0] * len(t.shape)
            for d, v in zip(a[f"{side}_batch"], i):
                at[d] = v
            for d, v in zip(f, part):
                at[d] = v
            index.append(at)
        total = 0.0 if p.dtype in FLOATS else 0
        for k in points(*(range(p.shape[d]) for d in a["lhs_contract"])):
            for side, at in zip(("lhs", "rhs"), index):
                for d, v in zip(a[f"{side}_contract"], k):
                    at[d] = v
            if not predicate or predicate[0].at(index[0]):
                total = _number(p.dtype, total + p.at(index[0]) * q.at(index[1]))
        return total

    def convolution(self, x: Tensor, w: Tensor, a: dict, i):
        per, out_per = w.shape[1], w.shape[0] // a["groups"]
        group, total = i[1] // out_per, 0.0
        for k in points(*map(range, w.shape[2:])):
            at = [o * s - lo + j * d for o, s, lo, j, d in zip(i[2:], a["stride"], a["low"], k, a["dilation"])]
            if all(0 <= v < n for v, n in zip(at, x.shape[2:])):
                for c in range(per):
                    total = f32(total + x.at([i[0], group * per + c, *at]) * w.at([i[1], c, *k]))
        return total
