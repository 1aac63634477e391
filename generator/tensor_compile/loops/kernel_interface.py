# SPDX-License-Identifier: Apache-2.0
"""Kernels are made here, complete: `params` and `dims` follow from what a kernel computes and from its buffers.

params are the buffers in order of first use: what is loaded, in the order of evaluation, scratch of sorts, then what is
stored. dims are those that indices, predicates, extents of loops and the buffers' shapes ask for. Only scratch that a
schedule needs is added later, behind them.
"""
from __future__ import annotations

from dataclasses import replace
from typing import Any, Mapping, Sequence, TypeVar

from ..graph.ir import Loc
from ..symbolic import Expr, Sym, sym
from .loop_ir import AttentionKernel, ContractionKernel, GroupedContractionKernel, LoopNestKernel, Phase, \
    PreparedKernel, RowSort, Store
from .products import F32, Product
from .scalar_ir import Buffer, Load, Reduction, Scalar
from .scalars import dims_of, expressions, extent, loads, walk

Buffers = Mapping[str, Buffer]
Single = TypeVar("Single", bound=LoopNestKernel | ContractionKernel)


def loop_nest(buffers: Buffers, label: str, rows: tuple[Sym, ...], phases: tuple[Phase, ...], grain: int = 1,
              loc: Loc | None = None) -> LoopNestKernel:
    return _complete(buffers, LoopNestKernel(label, rows, phases, (), (), grain, loc))


def contraction(buffers: Buffers, label: str, batch: tuple[Sym, ...], m: tuple[Sym, ...], n: tuple[Sym, ...],
                k: tuple[Sym, ...], a: Load, b: tuple[Load, ...], b_panel: int, stores: tuple[Store, ...],
                loc: Loc | None = None, product: Product = F32, where: Scalar | None = None) -> ContractionKernel:
    return _complete(buffers, ContractionKernel(label, batch, m, n, k, a, b, b_panel, stores, (), (), loc=loc,
                                                product=product, where=where))


def attention(buffers: Buffers, values: ContractionKernel, k: tuple[Sym, ...], a: Load, b: Load, *, second: Load,
              score: Scalar, limit: Expr | None, zeros: bool) -> AttentionKernel:
    """values: the second product, in whose place the kernel stands."""
    return _complete(buffers, AttentionKernel(values.label, values.batch, values.m, values.n, k, a, (b,), 0,
                                              values.stores, (), (), loc=values.loc, second=second, score=score,
                                              limit=limit, zeros=zeros))


def grouped(label: str, parts: tuple[ContractionKernel, ...], loc: Loc | None = None,
            consecutive: bool = False) -> GroupedContractionKernel:
    params = tuple(dict.fromkeys(b for part in parts for b in part.params))
    return GroupedContractionKernel(label, parts, params, dims_of(*(sym(s) for part in parts for s in part.dims)), loc,
                                    consecutive=consecutive)


def prepared(rows: LoopNestKernel, product: ContractionKernel | GroupedContractionKernel) -> PreparedKernel:
    params = tuple(dict.fromkeys(rows.params + product.params))
    return PreparedKernel(f"{rows.label}+{product.label}", rows, product, params,
                          dims_of(*(sym(s) for s in rows.dims + product.dims)), product.loc)


def changed(buffers: Buffers, kernel: Single, **content: Any) -> Single:
    """The kernel with other content: fields of its class, but not params and dims, which follow from it."""
    return _complete(buffers, replace(kernel, **content))


def _complete(buffers: Buffers, kernel: Single) -> Single:
    if isinstance(kernel, ContractionKernel):
        loops = kernel.batch + kernel.m + kernel.n + kernel.k
    else:
        loops = kernel.rows + tuple(s for phase in kernel.phases for s in phase.vars)
    values = kernel.values
    names: dict[str, None] = {}
    asked = [*expressions(*values), *map(extent, (*loops, *_reduced(values)))]
    for x in loads(*values):
        names[x.buffer] = None
        asked += x.index
    for r in _sorts(kernel):
        names[r.buffer] = None
        asked.append(r.count)
    for s in kernel.stores:
        names[s.buffer] = None
        asked += s.index
    params = tuple(buffers[name] for name in names)
    return replace(kernel, params=params, dims=dims_of(*asked, *(e for b in params for e in b.shape)))


def _sorts(kernel: LoopNestKernel | ContractionKernel) -> list[RowSort]:
    phases = kernel.phases if isinstance(kernel, LoopNestKernel) else ()
    return [r for phase in phases for r in phase.reduces if isinstance(r, RowSort)]


def _reduced(values: Sequence[Scalar]) -> list[Sym]:
    """The variables of all reductions."""
    return [s for v in walk(*values) if isinstance(v, Reduction) for s in v.vars]
