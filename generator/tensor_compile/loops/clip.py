# SPDX-License-Identifier: Apache-2.0
"""Columns that are masked in every row of a tile are left out: causal attention does half of the work.

The chain is a product whose column j of row i is -inf where j > i, softmax over the columns, and a product with the
result. Of a block of rows that ends before row c the columns from c on are not computed at all. No bit changes:

- The maximum of a row is the same without terms of -inf, as a row has column 0 at least.
- A masked term is exp(-inf - max). Where max is finite or +inf that is +0. The sum of the other terms, which are exp's,
  is never -0, so +0 more changes nothing. Where max is -inf or NaN all terms of the row are NaN, with or without them.
- In the second product with a predicate that is false in those columns, they are no terms.
- In one without a predicate a masked weight is +0 (or NaN, in a row of NaN). fma(+0, v, sum) is sum where v is finite,
  but for a sum of -0, which ends as +0 anyway, by the last step of the order `seq`. Where v is not finite it is NaN.
  So `beyond`, the sum of 0 * v over what was left out, is added to the result: it is a zero or NaN. It is summed once
  for each block of rows, and over blocks in each tile.
"""
from __future__ import annotations

from dataclasses import replace
from typing import Callable, Mapping, TypeVar

from ..records import dataclass
from ..symbolic import Expr, Sym, sym, wrap
from .kernel_interface import Buffers, changed, loop_nest
from .loop_ir import ContractionKernel, LoopNestKernel, Phase, Store
from .program_ir import Element
from .scalar_ir import Acc, Apply, Buffer, Const, Load, Reduction, Scalar
from .masks import conjuncts, holds_where, is_lowest, softmax_columns
from .scalars import Rewriter, extent, last as last_value, rewritten, walk
from .tile_axes import Axis

Clippable = TypeVar("Clippable", ContractionKernel, LoopNestKernel)

_ZERO = Const("f32", 0)


@dataclass(frozen=True, slots=True)
class Clipped:
    """before: what has to run before the region, if anything; body: the tile's kernels with fewer columns."""

    before: LoopNestKernel | None
    body: list[Element]


def clip(body: list[Element], axis: Axis, whole: ContractionKernel, step: Mapping[Sym, Expr], buffers: Buffers,
         fresh: Callable[[str, tuple[Expr, ...]], Buffer]) -> Clipped | None:
    """None where the tile's kernels are no such chain. whole: the last one as it was; step: what its row variables are
    in a tile; fresh(kind, shape): makes a buffer of f32, which `buffers` then has."""
    chain = _chain(body, axis)
    if chain is None:
        return None
    first, softmax, last, columns = chain
    limit = sym(axis.start) + axis.points
    if last.where is not None:
        if not any(_false_behind(s, last.k[0], axis) for s in conjuncts(last.where)):
            return None
        return Clipped(None, [_fewer(first, first.n[0], limit, buffers), _fewer(softmax, columns, limit, buffers),
                              _fewer(last, last.k[0], limit, buffers)])
    left_out = _left_out(whole, axis, buffers, fresh)
    (store,) = left_out.phases[0].stores
    later = _later(whole, axis, step, store, buffers, fresh)
    zeros = later.phases[0].stores[0]
    added = _added(_fewer(last, last.k[0], limit, buffers), zeros, last.n, whole.n, buffers)
    return Clipped(left_out, [_fewer(first, first.n[0], limit, buffers), _fewer(softmax, columns, limit, buffers),
                              later, added])


# -- what may be left out
def _chain(body: list[Element], axis: Axis) -> tuple[ContractionKernel, LoopNestKernel, ContractionKernel, Sym] | None:
    """The kernels and the variable of softmax's columns."""
    if len(body) != 3 or axis.blocks == 1:
        return None
    first, softmax, last = body
    if not (isinstance(first, ContractionKernel) and isinstance(softmax, LoopNestKernel)
            and isinstance(last, ContractionKernel)) or not len(first.n) == len(first.stores) == len(last.k) == 1 \
            or len(last.b) > 1 or last.b_panel or last.b[0].valid or last.a.valid:
        return None
    (scores,) = first.stores
    columns = softmax_columns(softmax, scores.buffer)
    if columns is None or last.a.buffer != softmax.phases[-1].stores[0].buffer \
            or any(extent(s) != axis.size for s in (first.n[0], columns, last.k[0])):
        return None
    return (first, softmax, last, columns) if masked(scores.value, first.n[0], axis) else None


def masked(value: Scalar, column: Sym, axis: Axis) -> bool:
    """The value is -inf in all rows of the tile where the column is not below the tile's end."""
    return any(_false_behind(s, column, axis) and is_lowest(value, s) for s in walk(value))


def _false_behind(s: Scalar, column: Sym, axis: Axis) -> bool:
    """A comparison of indices is false in all rows of the tile where the column is not below the tile's end."""
    left = holds_where(s)
    if left is None or left.coefficient(column) != -1:
        return False
    rest = left + sym(column)                  # it is false where the column is above this
    for own in sorted((v for v in rest.symbols() if not v.is_dim), key=lambda v: v.key):
        rest = rest.substitute({own: last_value(own)}) if rest.coefficient(own) == 1 else rest
    return rest == sym(axis.start) + axis.points - 1


# -- what is left
def _fewer(kernel: Clippable, old: Sym, count: Expr, buffers: Buffers) -> Clippable:
    """The kernel with `count` points of a variable."""
    new = Sym(old.name, 0, count - 1)
    change = Rewriter(lambda e: e.substitute({old: sym(new)}))

    def kept(variables: tuple[Sym, ...]) -> tuple[Sym, ...]:
        return tuple(new if s is old else s for s in variables)
    if isinstance(kernel, ContractionKernel):
        return changed(buffers, kernel, n=kept(kernel.n), k=kept(kernel.k), a=change.load(kernel.a),
                       b=tuple(change.load(b) for b in kernel.b),
                       stores=tuple(rewritten(s, change) for s in kernel.stores),
                       where=change(kernel.where) if kernel.where is not None else None)
    phases = (replace(s, vars=kept(s.vars), stores=tuple(rewritten(x, change) for x in s.stores),
                      reduces=tuple(replace(r, value=change(r.value)) for r in s.reduces)) for s in kernel.phases)
    return changed(buffers, kernel, phases=tuple(phases))


def _left_out(whole: ContractionKernel, axis: Axis, buffers: Buffers,
              fresh: Callable[[str, tuple[Expr, ...]], Buffer]) -> LoopNestKernel:
    """For each block of rows of the second operand the sum of 0 * v: a zero, or NaN where a v is not finite."""
    (b,), (k,) = whole.b, whole.k
    batch = tuple(s for s in whole.batch if any(s in e.symbols() for e in b.index))
    block, within = Sym("block", 0, axis.blocks - 1), Sym("k", 0, wrap(axis.block - 1))
    at = sym(block) * axis.block + sym(within)
    v = Load(b.buffer, b.dtype, tuple(e.substitute({k: at}) for e in b.index))
    valid = (axis.size - 1 - at,) if axis.count is not None else ()
    total = Reduction("sum", "seq", "f32", (within,), Apply("mul", "f32", (v, _ZERO)), valid)
    zeros = fresh("temp", (*(extent(s) for s in batch), axis.blocks, *(extent(s) for s in whole.n)))
    points = (*batch, block, *whole.n)
    store = Store(zeros.name, tuple(map(sym, points)), total)
    return loop_nest(buffers, f"{whole.label}_finite", points, (Phase((), (), (store,)),), loc=whole.loc)


def _later(whole: ContractionKernel, axis: Axis, step: Mapping[Sym, Expr], left_out: Store, buffers: Buffers,
           fresh: Callable[[str, tuple[Expr, ...]], Buffer]) -> LoopNestKernel:
    """The sum over the blocks behind the tile's."""
    here = sym(axis.start) // axis.block
    after = Sym("block", 0, axis.blocks - 2 - here)
    batch = left_out.index[:len(left_out.index) - len(whole.n) - 1]
    first = (e.substitute(dict(step)) for e in batch)
    x = Load(left_out.buffer, "f32", (*first, here + 1 + sym(after), *map(sym, whole.n)))
    zeros = fresh("tile", tuple(extent(s) for s in whole.n))
    total = Reduction("sum", "seq", "f32", (after,), x)
    store = Store(zeros.name, tuple(map(sym, whole.n)), total)
    return loop_nest(buffers, f"{whole.label}_finite", whole.n, (Phase((), (), (store,)),), loc=whole.loc)


def _added(kernel: ContractionKernel, zeros: Store, now: tuple[Sym, ...], before: tuple[Sym, ...],
           buffers: Buffers) -> ContractionKernel:
    """The kernel with what was left out added to its accumulator."""
    names = {a: sym(b) for a, b in zip(before, now, strict=True)}
    more = Load(zeros.buffer, "f32", tuple(e.substitute(names) for e in zeros.index))

    def leaf(s: Scalar) -> Scalar | None:
        return Apply("add", "f32", (s, more)) if isinstance(s, Acc) else None
    change = Rewriter(leaf=leaf)
    return changed(buffers, kernel, stores=tuple(rewritten(s, change) for s in kernel.stores))
