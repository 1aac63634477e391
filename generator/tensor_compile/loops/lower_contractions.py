# SPDX-License-Identifier: Apache-2.0
"""Lowering of contractions: dot and convolution, packed (docs/loops.md) or not, to Contractions or Reductions."""
from __future__ import annotations

from typing import Any

from ..graph.dtypes import DTYPES
from ..graph.ir import Node, Value
from ..symbolic import Expr, floordiv, ONE, Sym, sym, wrap, ZERO
from .left_out import predicate, zero_outside
from .predicates import Index, inside
from .loop_ir import Computation, Contraction
from .lower_items import Items, label, source
from .products import F32, Product
from .scalar_ir import Apply, Const, Load, Reduction, Scalar
from .scalars import affine, linear

def lower_dot(low: Items, node: Node) -> None:
    a, b = node.operands
    attrs = node.attrs
    heads, out, a_index, terms, reduced = dot_sides(low, node)
    b_index, free = second_index(node, out, heads, terms), second_free(node)
    if attrs["order"] == "seq" and a.dtype == "f32" and free and not low.plain:
        second = columns_last(low, node, free, out[-1], b_index, reduced)
        contract(low, node, heads, len(free), out, reduced, operand(low, a, a_index, reduced, node), second, 0)
        return
    sum_products(low, node, (low.read(a, a_index), low.read(b, b_index)), reduced, attrs["order"])


def lower_dot_where(low: Items, node: Node) -> None:
    """A term whose predicate is false becomes a zero: in the order seq, which ends with + (+0), it changes no bit. In a
    contraction it is one where b is finite (Contraction.where has the rest), in a plain sum b is a zero, too."""
    a, b, p = node.operands
    heads, out, a_index, terms, reduced = dot_sides(low, node)
    b_index, free = second_index(node, out, heads, terms), second_free(node)
    if a.dtype == "f32" and free and not low.plain:
        where = predicate(low.reader, p, a_index)
        second = columns_last(low, node, free, out[-1], b_index, reduced)
        first = a if zero_outside(low.reader, a, a_index, where) else without(low, node)
        contract(low, node, heads, len(free), out, reduced, operand(low, first, a_index, reduced, node), second, 0,
                 where=where)
        return
    holds, zero = low.read(p, a_index), Const(a.dtype, 0)
    factors = (low.read(a, a_index), low.read(b, b_index))
    sum_products(low, node, tuple(Apply("select", a.dtype, (holds, f, zero)) for f in factors), reduced, "seq")


def without(low: Items, node: Node) -> Value:
    """The first operand with +0 where the predicate is false."""
    a, _, p = node.operands
    placement = low.temp(a)
    variables, index = low.vars.space(a.shape)
    kept = Apply("select", a.dtype, (low.read(p, index), low.read(a, index), Const(a.dtype, 0)))
    low.items.append(Computation(low.buffer_at(placement).name, variables, index, kept, label(node), source(node)))
    return low.known(a, placement)


def columns_last(low: Items, node: Node, free: list[int], n: Expr, b_index: Index, reduced: tuple[Sym, ...]) -> Load:
    """The second operand of a dot, with columns side by side where kernels need that. free: its dims of columns, the
    last of which n walks."""
    b = node.operands[1]
    second = operand(low, b, b_index, reduced, node)
    stride = low.memory.buffers[second.buffer].address(second.index)
    if low.any_order or not n.terms or stride.coefficient(next(iter(n.symbols()))) == 1:
        return second
    order = tuple(d for d in range(len(b.shape)) if d not in free) + tuple(free)
    return low.load(low.detach(b, order=order), b_index)


def sum_products(low: Items, node: Node, factors: tuple[Scalar, ...], terms: tuple[Sym, ...], order: str) -> None:
    """A contraction as a reduction of each point."""
    dtype = node.types[0].dtype
    variables, index = low.vars.space(node.types[0].shape)
    low.compute(node, variables, index, Reduction("dot", order if DTYPES[dtype].is_float else "free", dtype, terms,
                                                  Apply("pair", dtype, factors)))


def second_index(node: Node, out: Index, heads: int, terms: Index) -> Index:
    """The index of the second operand of a dot."""
    b, attrs = node.operands[1], node.attrs
    index: list[Expr] = [ZERO] * len(b.shape)
    for d, i in zip(attrs["rhs_batch"], out[:heads], strict=True):
        index[d] = i
    for d, i in zip(attrs["rhs_contract"], terms, strict=True):
        index[d] = i
    free = second_free(node)
    for d, i in zip(free, out[len(out) - len(free):], strict=True):
        index[d] = i
    return tuple(index)


def second_free(node: Node) -> list[int]:
    """The dims of the second operand that the result has too, batch dims apart."""
    return [d for d in range(len(node.operands[1].shape))
            if d not in node.attrs["rhs_batch"] and d not in node.attrs["rhs_contract"]]


def operand(low: Items, v: Value, index: Index, terms: tuple[Sym, ...], node: Node, filled: bool = False) -> Load:
    """v as a contraction walks it; a view in which a step of a term depends on the row is computed into a buffer of its
    own (a window over an enlarged image: x[(row + term) / 2])."""
    load = low.load(v, index, filled)
    if all(affine(e, terms) for e in (low.memory.buffers[load.buffer].address(load.index), *load.valid)):
        return load
    return low.load(low.detach(v), index)


def dot_sides(low: Items, node: Node) -> tuple[Any, ...]:
    """(batch rank, result index, index of a, index along the contracted axes, reduced variables) of a dot or
    packed_dot. Axes of size 1 have no variable; but there is one always, as a term is a product, and one of no axes has
    one term."""
    a, attrs = node.operands[0], node.attrs
    _, out = low.vars.space(node.types[0].shape)
    heads = len(attrs["lhs_batch"])
    sizes = [a.shape[d] for d in attrs["lhs_contract"]]
    variables = [low.vars.get("k", j, size) for j, size in enumerate(sizes)]
    reduced = tuple(s for s, size in zip(variables, sizes) if size != ONE) or (low.vars.get("k", 0, ONE),)
    terms = tuple(sym(s) if s in reduced else ZERO for s in variables)
    a_index: list[Expr] = [ZERO] * len(a.shape)
    for d, i in zip(attrs["lhs_batch"], out[:heads], strict=True):
        a_index[d] = i
    for d, i in zip(attrs["lhs_contract"], terms, strict=True):
        a_index[d] = i
    free = [d for d in range(len(a.shape)) if d not in attrs["lhs_batch"] and d not in attrs["lhs_contract"]]
    for d, i in zip(free, out[heads:heads + len(free)], strict=True):
        a_index[d] = i
    return heads, out, tuple(a_index), terms, reduced


def lower_packed_dot(low: Items, node: Node) -> None:
    a, b = node.operands
    panel = node.attrs["panel"]
    heads, out, a_index, terms, reduced = dot_sides(low, node)
    free = len(out) - heads - (len(a.shape) - heads - len(terms))
    shape = node.types[0].shape
    n = linear(out[len(out) - free:], shape[len(shape) - free:])
    k = linear(terms, tuple(a.shape[d] for d in node.attrs["lhs_contract"]))
    kind = product_of(node)
    if not panel:
        second = columns_last(low, node, [len(b.shape) - 1], out[-1], (*out[:heads], *terms, out[-1]), reduced)
        contract(low, node, heads, free, out, reduced, operand(low, a, a_index, reduced, node), second, 0, kind)
        return
    block = n // panel
    first = operand(low, a, a_index, reduced, node, kind.integer)
    second = low.load(low.stored(b), (*out[:heads], block, *in_panel(k, n - block * panel, kind)))
    contract(low, node, heads, free, out, reduced, first, second, panel, kind)


def product_of(node: Node) -> Product:
    """The dtypes of a packed contraction."""
    (a, b), attrs = node.operands, node.attrs
    return Product(a.dtype, b.dtype, node.types[0].dtype, attrs["group"], attrs["zero"], attrs["ordered"] > 0)


def in_panel(k: Expr, column: Expr, kind: Product) -> Index:
    """Where a panel has term k of a column."""
    if kind.group == 1:
        return k, column
    group = floordiv(k, wrap(kind.group))
    return group, column, k - group * kind.group


def contract(low: Items, node: Node, heads: int, free: int, out: Index, k: tuple[Sym, ...], a: Load, b: Load,
             panel: int, kind: Product = F32, where: Scalar | None = None) -> None:
    def pick(part: Index) -> tuple[Sym, ...]:
        return tuple(s for e in part for s in e.symbols() if not s.is_dim)
    batch, m, n = pick(out[:heads]), pick(out[heads:len(out) - free]), pick(out[len(out) - free:])
    placement = low.places.of[Value(node)]
    low.items.append(Contraction(low.buffer_at(placement).name, batch, m, n, k, a, b, placement.index(out), label(node),
                                 source(node), panel, kind, where))


def lower_packed_convolution(low: Items, node: Node) -> None:
    v, (x, w), attrs = Value(node), node.operands, node.attrs
    groups, panel = attrs["groups"], attrs["panel"]
    outs, ins = v.shape[1].value // groups, floordiv(x.shape[1], wrap(groups))
    variables, index = low.vars.space(v.shape)
    if panel == 0 and len(w.shape) == 2:
        k, inner, position = convolution_terms(low, node, index, ZERO, ins)
        convolve(low, node, index, k, inner, (index[1], position))
        return
    if panel == 0:
        grouped_convolution(low, node, index, outs, ins)
        return
    w = low.stored(w)
    g = low.vars.get("g", 0, wrap(groups)) if groups > 1 else None
    o = low.vars.get("i", 1, wrap(outs))
    group = sym(g) if g is not None else ZERO
    k, inner, position = convolution_terms(low, node, index, group, ins)
    out = (index[0], group * outs + sym(o), *index[2:])
    kind = product_of(node)
    # rows of integers are copied: where x is padded already, with its zero, that is what a copy puts there
    a = operand(low, x, inner, k, node, kind.integer and not any((*attrs["low"], *attrs["high"])))
    a = Load(a.buffer, a.dtype, a.index, a.valid + inside(inner, x.shape), a.other or Const(a.dtype, 0))
    if not a.valid:
        a = Load(a.buffer, a.dtype, a.index)
    block = sym(o) // panel
    b = low.load(w, (group, block, *in_panel(position, sym(o) - block * panel, kind)))
    m = tuple(s for e in (index[0], *index[2:]) for s in e.symbols() if not s.is_dim)
    placement = low.places.of[v]
    low.items.append(Contraction(low.buffer_at(placement).name, (g,) if g is not None else (), m, (o,), k, a, b,
                                  placement.index(out), label(node), source(node), panel, kind))


def convolution_terms(low: Items, node: Node, index: Index, group: Expr, ins: Expr) -> tuple[Any, ...]:
    """(k variables, index of x, linear k) of a convolution at a result index; k = (window..., channel)."""
    attrs = node.attrs
    window = attrs["window"] if "window" in attrs else tuple(d.value for d in node.operands[1].shape[2:])
    ks = [low.vars.get("k", d, wrap(size)) for d, size in enumerate(window)]
    c = low.vars.get("k", len(window), ins)
    inner = [index[0], group * ins + sym(c)]
    for d, s in enumerate(ks):
        inner.append(index[2 + d] * attrs["stride"][d] + sym(s) * attrs["dilation"][d] - attrs["low"][d])
    k = (*ks, c)
    position = linear(tuple(sym(s) for s in k), (*(wrap(size) for size in window), ins))
    kept = tuple(s for s in k if s.hi != 0) or (c,)
    drop = {s: ZERO for s in k if s not in kept}
    return kept, tuple(e.substitute(drop) for e in inner), position.substitute(drop)


def grouped_convolution(low: Items, node: Node, index: Index, outs: int, ins: Expr) -> None:
    """Few output channels a group: a reduction over the window, vectorized over the output channels."""
    x, w = node.operands
    k, inner, _ = convolution_terms(low, node, index, floordiv(index[1], wrap(outs)), ins)
    drop = {s: ZERO for s in [low.vars.get("k", d, n) for d, n in enumerate(w.shape[:-1])] if s not in k}
    w_index = tuple(sym(low.vars.get("k", d, n)).substitute(drop) for d, n in enumerate(w.shape[:-1]))
    convolve(low, node, index, k, inner, (*w_index, index[1]))


def lower_convolution(low: Items, node: Node) -> None:
    """Weights that could not be packed (their count is dynamic, or they are no f32): a plain reduction."""
    w, attrs = node.operands[1], node.attrs
    _, index = low.vars.space(node.types[0].shape)
    outs, ins = floordiv(w.shape[0], wrap(attrs["groups"])), w.shape[1]
    k, inner, _ = convolution_terms(low, node, index, floordiv(index[1], outs), ins)
    names = [low.vars.get("k", d, n) for d, n in enumerate((*w.shape[2:], ins))]
    *window, c = (sym(s) if s in k else ZERO for s in names)
    convolve(low, node, index, k, inner, (index[1], c, *window))


def convolve(low: Items, node: Node, index: Index, k: tuple[Sym, ...], inner: Index, w_index: Index) -> None:
    x, w = node.operands
    within = inside(inner, x.shape)
    dtype = node.types[0].dtype
    pair = Apply("pair", dtype, tuple(Apply("cast", dtype, (v,)) if v.dtype != dtype else v
                                      for v in (low.read(x, inner), low.read(w, w_index))))
    order = "seq" if DTYPES[dtype].is_float else "free"
    variables, _ = low.vars.space(node.types[0].shape)
    low.compute(node, variables, index, Reduction("dot", order, dtype, k, pair, within), window=True)


CONTRACTIONS = {"dot": lower_dot, "dot_where": lower_dot_where, "packed_dot": lower_packed_dot,
                "convolution": lower_convolution, "packed_convolution": lower_packed_convolution}
