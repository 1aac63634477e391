# SPDX-License-Identifier: Apache-2.0
"""Evaluates graph functions (no calls) directly, one tensor after the other: what programs are compared with.

Shares the scalar operations and the two orders of sums with evaluate.py, and nothing else.
"""
from __future__ import annotations

from itertools import product

from evaluate import from_bits, maximum, minimum, positions, reduce, reduce_where, scalar
from tensor_compile.graph.ir import Function, Module, Value
from tensor_compile.graph.table import is_elementwise
from tensor_compile.symbolic import Sym


class Tensor:
    """shape: ints; data: flat, row-major."""

    def __init__(self, shape, data):
        self.shape, self.data = tuple(shape), list(data)
        size = 1
        for n in self.shape:
            size *= n
        assert size == len(self.data), f"{self.shape} of {len(self.data)}"

    def __getitem__(self, index):
        at = 0
        for i, n in zip(index, self.shape, strict=True):
            assert 0 <= i < n
            at = at * n + i
        return self.data[at]


def indices(shape):
    return product(*(range(n) for n in shape))


def make(shape, element) -> Tensor:
    return Tensor(shape, [element(i) for i in indices(shape)])


def run(function: Function, module: Module, dims: dict[Sym, int], inputs: dict[str, Tensor],
        weights: dict[str, Tensor], states: dict[str, Tensor]) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    """(results, states after the call)."""
    made: dict[Value, Tensor] = {}
    for p in function.parameters:
        made[Value(p)] = inputs[p.attrs["name"]]
    _evaluate(function, module, dims, made, weights, states)
    after = dict(states)
    for name, v, _ in function.assigns:
        after[name] = made[v]
    return {name: made[v] for name, v, _ in function.results}, after


def _call(function: Function, module: Module, dims: dict, operands: list, weights: dict, states: dict) -> list[Tensor]:
    made = {Value(p): x for p, x in zip(function.parameters, operands, strict=True)}
    _evaluate(function, module, dims, made, weights, states)
    return [made[v] for _, v, _ in function.results]


def _held(node, module: Module, dims: dict, operands: list, weights: dict, states: dict) -> list[Tensor]:
    """The results of cond, while and scan."""
    call = lambda name, x: _call(module.functions[node.attrs[name]], module, dims, x, weights, states)
    if node.op == "cond":
        return call("then" if operands[0].data[0] else "else", operands[1:])
    if node.op == "while":
        while call("test", operands)[0].data[0]:
            operands = call("body", operands)
        return operands
    count = node.attrs["carries"]
    carries, stacked = operands[:count], [[] for _ in node.types[count:]]
    for t in range(node.attrs["length"][0].evaluate(dims)):
        slices = [make(x.shape[1:], lambda i, x=x: x[(t, *i)]) for x in operands[count:]]
        made = call("body", carries + slices)
        carries = made[:count]
        for out, x in zip(stacked, made[count:], strict=True):
            out += x.data
    return carries + [Tensor([d.evaluate(dims) for d in kind.shape], data)
                      for kind, data in zip(node.types[count:], stacked, strict=True)]


def _evaluate(function: Function, module: Module, dims: dict, made: dict, weights: dict, states: dict) -> None:
    for node in function.nodes:
        shape = tuple(d.evaluate(dims) for d in node.types[0].shape)
        if node.op in ("weight", "packed"):
            made[Value(node)] = weights[node.attrs["name"]]
        elif node.op in ("cond", "while", "scan"):
            for i, x in enumerate(_held(node, module, dims, [made[v] for v in node.operands], weights, states)):
                made[Value(node, i)] = x
        elif node.op == "state":
            made[Value(node)] = states[node.attrs["name"]]
        else:
            results = _node(node, shape, dims, [made[v] for v in node.operands])
            for i, result in enumerate(results if isinstance(results, tuple) else (results,)):
                made[Value(node, i)] = result


def _scatter(attrs, dtype, x, index, u) -> Tensor:
    out, axis, rank = Tensor(x.shape, x.data), attrs["axis"], len(index.shape)
    combine = {"set": lambda a, b: b, "add": lambda a, b: scalar("add", dtype, a, b),
               "mul": lambda a, b: scalar("mul", dtype, a, b), "max": maximum, "min": minimum}[attrs["op"]]
    for i in indices(u.shape):
        at = 0
        for j, n in zip((*i[:axis], index[i[axis:axis + rank]], *i[axis + rank:]), x.shape, strict=True):
            assert 0 <= j < n
            at = at * n + j
        out.data[at] = combine(out.data[at], u[i])
    return out


def _sort(axis, descending, shape, x) -> tuple[Tensor, Tensor]:
    def where(i):
        row = [x[(*i[:axis], k, *i[axis + 1:])] for k in range(x.shape[axis])]
        return positions(row, descending)[i[axis]]
    order = make(shape, where)
    return make(shape, lambda i: x[(*i[:axis], order[i], *i[axis + 1:])]), order


def _node(node, shape, dims, args) -> Tensor:
    op, attrs, dtype = node.op, node.attrs, node.types[0].dtype
    at = lambda exprs: tuple(e.evaluate(dims) for e in exprs)
    if is_elementwise(op):
        return Tensor(shape, [scalar(op, dtype, *xs) for xs in zip(*(a.data for a in args), strict=True)])
    if op == "constant":
        return Tensor((), [from_bits(dtype, attrs["bits"])])
    if op == "iota":
        return make(shape, lambda i: i[attrs["axis"]])
    if op == "dim_value":
        return Tensor((), at(attrs["value"]))
    x = args[0]
    if op == "broadcast":
        return make(shape, lambda i: x[tuple(0 if n == 1 else i[a] for a, n in zip(attrs["axes"], x.shape))])
    if op == "reshape":
        return Tensor(shape, x.data)
    if op == "transpose":
        inverse = [attrs["perm"].index(d) for d in range(len(shape))]
        return make(shape, lambda i: x[tuple(i[inverse[d]] for d in range(len(shape)))])
    if op == "slice":
        start = at(attrs["start"])
        return make(shape, lambda i: x[tuple(s + j * t for s, j, t in zip(start, i, attrs["stride"]))])
    if op == "pad":
        low = at(attrs["low"])

        def padded(i):
            j = tuple(a - b for a, b in zip(i, low))
            return x[j] if all(0 <= a < n for a, n in zip(j, x.shape)) else args[1].data[0]
        return make(shape, padded)
    if op == "concat":
        axis = attrs["axis"]

        def joined(i):
            k = i[axis]
            for a in args:
                if k < a.shape[axis]:
                    return a[(*i[:axis], k, *i[axis + 1:])]
                k -= a.shape[axis]
            raise AssertionError
        return make(shape, joined)
    if op == "gather":
        axis, count = attrs["axis"], len(args[1].shape)
        return make(shape, lambda i: x[(*i[:axis], args[1][i[axis:axis + count]], *i[axis + count:])])
    if op == "update_slice":
        start = at(attrs["start"])

        def updated(i):
            j = tuple(a - b for a, b in zip(i, start))
            return args[1][j] if all(0 <= a < n for a, n in zip(j, args[1].shape)) else x[i]
        return make(shape, updated)
    if op == "reverse":
        return make(shape, lambda i: x[tuple(n - 1 - j if d in attrs["axes"] else j
                                             for d, (j, n) in enumerate(zip(i, shape)))])
    if op == "scatter":
        return _scatter(attrs, dtype, *args)
    if op == "sort":
        return _sort(attrs["axis"], bool(attrs["descending"]), shape, x)
    if op == "cumulative":
        axis = attrs["axis"]

        def prefix(i):
            whole = [x[(*i[:axis], k, *i[axis + 1:])] for k in range(x.shape[axis])]
            return reduce(attrs["op"], "running", dtype, whole[:i[axis]:-1] + [whole[i[axis]]] if attrs["reverse"]
                          else whole[:i[axis] + 1])
        return make(shape, prefix)
    if op in ("reduce", "reduce_where", "arg_reduce"):
        axes = (attrs["axis"],) if op == "arg_reduce" else attrs["axes"]
        kind, order = ("arg" + attrs["op"], "free") if op == "arg_reduce" else (attrs["op"], attrs["order"])
        kept = [d for d in range(len(x.shape)) if d not in axes]

        def reduced(i):
            terms = []
            for r in indices([x.shape[a] for a in axes]):
                where = dict(zip(kept, i)) | dict(zip(axes, r))
                at = tuple(where[d] for d in range(len(x.shape)))
                terms.append(x[at] if op != "reduce_where" or args[1][at] else None)
            return (reduce_where if op == "reduce_where" else reduce)(kind, order, dtype, terms)
        return make(shape, reduced)
    if op == "window_reduce":
        lead = len(x.shape) - len(attrs["size"])

        def window(i):
            terms = []
            for r in indices(attrs["size"]):
                j = tuple(a * s + b * t - low for a, s, b, t, low in
                          zip(i[lead:], attrs["stride"], r, attrs["dilation"], attrs["low"]))
                if all(0 <= a < n for a, n in zip(j, x.shape[lead:])):
                    terms.append(x[(*i[:lead], *j)])
            return reduce(attrs["op"], "seq", dtype, terms)
        return make(shape, window)
    y = args[1]
    if op in ("dot", "dot_where"):
        free = lambda rank, *taken: [d for d in range(rank) if not any(d in t for t in taken)]
        lb, rb, lc, rc = (attrs[n] for n in ("lhs_batch", "rhs_batch", "lhs_contract", "rhs_contract"))
        lf, rf = free(len(x.shape), lb, lc), free(len(y.shape), rb, rc)

        def dotted(i):
            head, left, right = i[:len(lb)], i[len(lb):len(lb) + len(lf)], i[len(lb) + len(lf):]
            terms = []
            for k in indices([x.shape[d] for d in lc]):
                a = dict(zip(lb, head)) | dict(zip(lf, left)) | dict(zip(lc, k))
                b = dict(zip(rb, head)) | dict(zip(rf, right)) | dict(zip(rc, k))
                first = tuple(a[d] for d in range(len(x.shape)))
                if op == "dot" or args[2][first]:
                    terms.append((x[first], y[tuple(b[d] for d in range(len(y.shape)))]))
            return reduce("dot", attrs["order"], dtype, terms)
        return make(shape, dotted)
    assert op == "convolution", op
    groups = attrs["groups"]
    outs, ins = shape[1] // groups, y.shape[1]

    def convolved(i):
        g, terms = i[1] // outs, []
        for k in indices((*y.shape[2:], ins)):
            j = tuple(a * s + b * t - low for a, s, b, t, low in
                      zip(i[2:], attrs["stride"], k[:-1], attrs["dilation"], attrs["low"]))
            if all(0 <= a < n for a, n in zip(j, x.shape[2:])):
                terms.append((x[(i[0], g * ins + k[-1], *j)], y[(i[1], k[-1], *k[:-1])]))
        return reduce("dot", "seq", dtype, terms)
    return make(shape, convolved)
