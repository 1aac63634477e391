# SPDX-License-Identifier: Apache-2.0
"""Evaluates functions of the graph IR, one tensor after the other: what the primitives mean (docs/graph.md), with sums
in their orders."""
from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import product
from typing import Any, Callable, Iterable, Iterator

from tensor_compile.graph.dtypes import FLOATS
from tensor_compile.graph.ir import Function, Module, Node, Value
from tensor_compile.graph.table import is_elementwise
from tensor_compile.symbolic import Expr

from .scalars import from_bits, maximum, minimum, positions, reduce, reduce_where, scalar, to_bits, wrap

Index = tuple[int, ...]


@dataclass
class Tensor:
    """data: flat, row-major."""

    dtype: str
    shape: Index
    data: list

    def __post_init__(self) -> None:
        assert math.prod(self.shape) == len(self.data), f"{self.shape} of {len(self.data)}"

    def __getitem__(self, index: Iterable[int]) -> Any:
        at = 0
        for i, n in zip(index, self.shape, strict=True):
            assert 0 <= i < n, f"index {i} outside of {self.shape}"
            at = at * n + i
        return self.data[at]


def same(a: Tensor, b: Tensor) -> bool:
    """Same bits, or both NaN."""
    if (a.dtype, a.shape) != (b.dtype, b.shape):
        return False
    if a.dtype not in FLOATS:
        return a.data == b.data
    return all((x != x and y != y) or to_bits(a.dtype, x) == to_bits(a.dtype, y) for x, y in zip(a.data, b.data))


def indices(shape: Iterable[int]) -> Iterator[Index]:
    return product(*map(range, shape))


class Run:
    """One evaluation: dims by symbol, weights and states and packed constants by name."""

    def __init__(self, module: Module, dims: dict, weights: dict | None = None, states: dict | None = None,
                 packed: dict | None = None):
        self.module, self.dims = module, dims
        self.named = {"weight": weights or {}, "state": states or {}, "packed": packed or {}}
        self.assigned: dict[str, Tensor] = {}

    def function(self, function: Function, inputs: list[Tensor]) -> list[Tensor]:
        """Results in order, then assigned values by their states' names."""
        self.assigned = {}
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

    def sizes(self, shape: Iterable[Expr]) -> Index:
        return tuple(d.evaluate(self.dims) for d in shape)

    # -- nodes that hold a graph
    def callee(self, name: str, inputs: list[Tensor], prefix: str) -> list[Tensor]:
        return self.results(self.module.functions[name], inputs, prefix)

    def node(self, node: Node, x: list[Tensor], prefix: str) -> list[Tensor]:
        op, a = node.op, node.attrs
        if op == "call":
            return self.callee(a["callee"], x, prefix + a["prefix"])
        if op == "cond":
            return self.callee(a["then"] if x[0].data[0] else a["else"], x[1:], prefix)
        if op == "while":
            while self.callee(a["test"], x, prefix)[0].data[0]:
                x = self.callee(a["body"], x, prefix)
            return x
        if op == "scan":
            return self.scan(node, x, prefix)
        if op in self.named:
            return [self.named[op][(prefix if op != "packed" else "") + a["name"]]]
        if op == "sort":
            return self.sort(node, x[0])
        return [self.single(node, x)]

    def scan(self, node: Node, x: list[Tensor], prefix: str) -> list[Tensor]:
        carries, rows = x[:node.attrs["carries"]], x[node.attrs["carries"]:]
        stacked: list[list] = [[] for _ in node.types[len(carries):]]
        for i in range(self.sizes(node.attrs["length"])[0]):
            parts = []
            for r in rows:
                n = math.prod(r.shape[1:])
                parts.append(Tensor(r.dtype, r.shape[1:], r.data[i * n:(i + 1) * n]))
            made = self.callee(node.attrs["body"], carries + parts, prefix)
            carries = made[:len(carries)]
            for out, t in zip(stacked, made[len(carries):], strict=True):
                out += t.data
        return carries + [Tensor(t.dtype, self.sizes(t.shape), data)
                          for t, data in zip(node.types[len(carries):], stacked, strict=True)]

    # -- one tensor
    def sort(self, node: Node, x: Tensor) -> list[Tensor]:
        axis, shape = node.attrs["axis"], self.sizes(node.types[0].shape)
        order = []
        for i in indices(shape):
            row = [x[(*i[:axis], k, *i[axis + 1:])] for k in range(x.shape[axis])]
            order.append(positions(row, bool(node.attrs["descending"]))[i[axis]])
        values = [x[(*i[:axis], at, *i[axis + 1:])] for i, at in zip(indices(shape), order)]
        return [Tensor(x.dtype, shape, values), Tensor("i64", shape, order)]

    def single(self, node: Node, x: list[Tensor]) -> Tensor:
        op, out = node.op, node.types[0]
        shape = self.sizes(out.shape)
        if is_elementwise(op):
            source = x[-1].dtype
            return Tensor(out.dtype, shape, [scalar(op, out.dtype, source, *p)
                                             for p in zip(*(t.data for t in x), strict=True)])
        if op == "reshape":
            return Tensor(out.dtype, shape, x[0].data)
        if op == "scatter":
            return _scatter(node, *x)
        element = _ELEMENTS[op](self, node, shape, *x)
        return Tensor(out.dtype, shape, [element(i) for i in indices(shape)])


# -- elements: each function gives what computes the element of the result at an index ---------------------------------
Element = Callable[[Index], Any]


def _constant(run: Run, node: Node, shape: Index) -> Element:
    return lambda i: from_bits(node.types[0].dtype, node.attrs["bits"])


def _iota(run: Run, node: Node, shape: Index) -> Element:
    return lambda i: i[node.attrs["axis"]]


def _dim_value(run: Run, node: Node, shape: Index) -> Element:
    return lambda i: wrap(node.types[0].dtype, run.sizes(node.attrs["value"])[0])


def _broadcast(run: Run, node: Node, shape: Index, x: Tensor) -> Element:
    return lambda i: x[[0 if n == 1 else i[d] for d, n in zip(node.attrs["axes"], x.shape)]]


def _transpose(run: Run, node: Node, shape: Index, x: Tensor) -> Element:
    where = [node.attrs["perm"].index(d) for d in range(len(shape))]
    return lambda i: x[[i[w] for w in where]]


def _slice(run: Run, node: Node, shape: Index, x: Tensor) -> Element:
    start = run.sizes(node.attrs["start"])
    return lambda i: x[[s + j * t for s, j, t in zip(start, i, node.attrs["stride"])]]


def _within(x: Tensor, i: Index, start: Index) -> list[int] | None:
    """The index into x, which lies at `start`; None outside of it."""
    at = [j - s for j, s in zip(i, start)]
    return at if all(0 <= j < n for j, n in zip(at, x.shape)) else None


def _pad(run: Run, node: Node, shape: Index, x: Tensor, value: Tensor) -> Element:
    low = run.sizes(node.attrs["low"])

    def element(i: Index) -> Any:
        at = _within(x, i, low)
        return value.data[0] if at is None else x[at]
    return element


def _update_slice(run: Run, node: Node, shape: Index, x: Tensor, y: Tensor) -> Element:
    start = run.sizes(node.attrs["start"])

    def element(i: Index) -> Any:
        at = _within(y, i, start)
        return x[i] if at is None else y[at]
    return element


def _concat(run: Run, node: Node, shape: Index, *x: Tensor) -> Element:
    axis = node.attrs["axis"]

    def element(i: Index) -> Any:
        j = i[axis]
        for t in x:
            if j < t.shape[axis]:
                return t[(*i[:axis], j, *i[axis + 1:])]
            j -= t.shape[axis]
        raise AssertionError("beyond the operands")
    return element


def _gather(run: Run, node: Node, shape: Index, x: Tensor, index: Tensor) -> Element:
    k, r = node.attrs["axis"], len(index.shape)
    return lambda i: x[(*i[:k], index[i[k:k + r]], *i[k + r:])]


def _reverse(run: Run, node: Node, shape: Index, x: Tensor) -> Element:
    return lambda i: x[[n - 1 - j if d in node.attrs["axes"] else j for d, (j, n) in enumerate(zip(i, shape))]]


def _cumulative(run: Run, node: Node, shape: Index, x: Tensor) -> Element:
    axis, back = node.attrs["axis"], node.attrs["reverse"]

    def element(i: Index) -> Any:
        whole = [x[(*i[:axis], k, *i[axis + 1:])] for k in range(x.shape[axis])]
        terms = whole[i[axis]:][::-1] if back else whole[:i[axis] + 1]
        return reduce(node.attrs["op"], "running", x.dtype, terms)
    return element


def _terms(x: Tensor, axes: Iterable[int], i: Index) -> Iterator[Index]:
    """The indices of the terms of a reduction."""
    kept = iter(i)
    fixed = [None if d in axes else next(kept) for d in range(len(x.shape))]
    for j in product(*(range(x.shape[d]) for d in axes)):
        over = iter(j)
        yield tuple(next(over) if f is None else f for f in fixed)


def _reduce(run: Run, node: Node, shape: Index, x: Tensor) -> Element:
    a = node.attrs
    return lambda i: reduce(a["op"], a["order"], x.dtype, [x[at] for at in _terms(x, a["axes"], i)])


def _reduce_where(run: Run, node: Node, shape: Index, x: Tensor, p: Tensor) -> Element:
    a = node.attrs
    return lambda i: reduce_where(a["op"], a["order"], x.dtype,
                                  [x[at] if p[at] else None for at in _terms(x, a["axes"], i)])


def _arg_reduce(run: Run, node: Node, shape: Index, x: Tensor) -> Element:
    a = node.attrs
    return lambda i: reduce("arg" + a["op"], "free", x.dtype, [x[at] for at in _terms(x, (a["axis"],), i)])


def _windows(a: dict, where: Index, window: Index) -> list[int]:
    """The place that an element of a window, or a tap of a convolution, looks at."""
    return [w * s - low + k * d for w, s, low, k, d in zip(where, a["stride"], a["low"], window, a["dilation"])]


def _inside(at: Iterable[int], shape: Iterable[int]) -> bool:
    return all(0 <= p < n for p, n in zip(at, shape))


def _window_reduce(run: Run, node: Node, shape: Index, x: Tensor) -> Element:
    a, lead = node.attrs, len(x.shape) - len(node.attrs["size"])

    def element(i: Index) -> Any:
        places = [_windows(a, i[lead:], k) for k in indices(a["size"])]
        return reduce(a["op"], "seq", x.dtype, [x[(*i[:lead], *at)] for at in places if _inside(at, x.shape[lead:])])
    return element


def _dot(run: Run, node: Node, shape: Index, x: Tensor, y: Tensor, p: Tensor | None = None) -> Element:
    a = node.attrs
    sides = [(x, a["lhs_batch"], a["lhs_contract"]), (y, a["rhs_batch"], a["rhs_contract"])]
    free = [[d for d in range(len(t.shape)) if d not in (*batch, *summed)] for t, batch, summed in sides]
    heads, middle = len(a["lhs_batch"]), len(a["lhs_batch"]) + len(free[0])

    def element(i: Index) -> Any:
        terms = []
        for k in product(*(range(x.shape[d]) for d in a["lhs_contract"])):
            places = []
            for (t, batch, summed), own, part in zip(sides, free, (i[heads:middle], i[middle:])):
                at = dict(zip(batch, i)) | dict(zip(own, part)) | dict(zip(summed, k))
                places.append([at[d] for d in range(len(t.shape))])
            if p is None or p[places[0]]:
                terms.append((x[places[0]], y[places[1]]))
        return reduce("dot", a["order"] if x.dtype in FLOATS else "free", x.dtype, terms)
    return element


def _convolution(run: Run, node: Node, shape: Index, x: Tensor, w: Tensor) -> Element:
    a, ins, outs = node.attrs, w.shape[1], w.shape[0] // node.attrs["groups"]

    def element(i: Index) -> Any:
        terms = []
        for *window, c in indices((*w.shape[2:], ins)):
            at = _windows(a, i[2:], tuple(window))
            if _inside(at, x.shape[2:]):
                terms.append((x[(i[0], i[1] // outs * ins + c, *at)], w[(i[1], c, *window)]))
        return reduce("dot", "seq", x.dtype, terms)
    return element


def _scatter(node: Node, x: Tensor, index: Tensor, u: Tensor) -> Tensor:
    out, axis, rank = Tensor(x.dtype, x.shape, list(x.data)), node.attrs["axis"], len(index.shape)
    combine = {"set": lambda a, b: b, "add": lambda a, b: scalar("add", x.dtype, x.dtype, a, b),
               "mul": lambda a, b: scalar("mul", x.dtype, x.dtype, a, b), "max": maximum,
               "min": minimum}[node.attrs["op"]]
    for i in indices(u.shape):
        at = 0
        for j, n in zip((*i[:axis], index[i[axis:axis + rank]], *i[axis + rank:]), x.shape, strict=True):
            assert 0 <= j < n
            at = at * n + j
        out.data[at] = combine(out.data[at], u[i])
    return out


_ELEMENTS: dict[str, Callable[..., Element]] = {
    "constant": _constant, "iota": _iota, "dim_value": _dim_value, "broadcast": _broadcast, "transpose": _transpose,
    "slice": _slice, "pad": _pad, "update_slice": _update_slice, "concat": _concat, "gather": _gather,
    "reverse": _reverse, "cumulative": _cumulative, "reduce": _reduce, "reduce_where": _reduce_where,
    "arg_reduce": _arg_reduce, "window_reduce": _window_reduce, "dot": _dot, "dot_where": _dot,
    "convolution": _convolution,
}
