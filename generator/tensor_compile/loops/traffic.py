# SPDX-License-Identifier: Apache-2.0
"""What a kernel moves: bytes of distinct elements that it reads and writes, from its own loads and stores.

An access walks the product of the extents of the variables that its address depends on, and never more than its
buffer; predicates that bound an index by itself bound what is walked of that dim. Accesses of one buffer at one address
(or whose variables differ in name only) count once, several others up to the whole buffer. A data-dependent index
counts every position that is looked up. Scratch is not memory traffic, nor is what a tile's kernels hand on. So the
numbers are exact where accesses are dense, and an upper bound where windows overlap or lookups repeat.
"""
from __future__ import annotations

from typing import Any, Mapping

from ..graph.dtypes import DTYPES
from ..records import dataclass
from ..symbolic import Expr, Sym, sym
from .loop_ir import CheckKernel, ContractionKernel, ExternKernel, GroupedContractionKernel, Kernel, LoopNestKernel
from .scalar_ir import Buffer, Load
from .scalars import extent, walk


@dataclass(frozen=True, slots=True)
class Traffic:
    """Bytes."""

    read: int
    written: int


def traffic(kernel: Kernel, dims: Mapping[Sym, int]) -> Traffic:
    """Bytes that one call of the kernel reads and writes at the given dims ({} in a specialized variant)."""
    buffers = {b.name: b for b in kernel.params}
    if isinstance(kernel, CheckKernel):
        return Traffic(kernel.buffer.elements.evaluate(dims) * DTYPES[kernel.buffer.dtype].bytes, 0)
    if isinstance(kernel, ExternKernel):
        size = [sum(b.elements.evaluate(dims) * DTYPES[b.dtype].bytes for b in side)
                for side in (kernel.reads, kernel.writes)]
        return Traffic(*size)
    if any(extent(s).evaluate(dims) <= 0 for s in _rows(kernel)):
        return Traffic(0, 0)
    written = {(s.buffer, s.index): (s.dynamic, ()) for s in kernel.stores}
    own = {s.buffer for s in kernel.stores}  # rows that are stored and read again stay in the cache
    read: dict[tuple[Any, ...], tuple[Any, ...]] = {}
    rare = {p for part in kernel.contractions for p in part.predicates} \
        if isinstance(kernel, (ContractionKernel, GroupedContractionKernel)) else set()    # asked for NaN alone
    for x in walk(*(v for v in kernel.values if v not in rare)):
        if isinstance(x, Load) and (x.buffer not in own or buffers[x.buffer].kind == "state"):
            valid = read.get((x.buffer, x.index), ((), x.valid))[1]
            read[x.buffer, x.index] = x.dynamic, valid if valid == x.valid else ()
    return Traffic(_total(read, buffers, dims), _total(written, buffers, dims))


def _rows(kernel: Kernel) -> tuple[Sym, ...]:
    """Variables without whose points the kernel touches nothing."""
    if isinstance(kernel, GroupedContractionKernel):
        kernel = kernel.contractions[0]
    return kernel.batch + kernel.m if isinstance(kernel, ContractionKernel) else \
        kernel.rows if isinstance(kernel, LoopNestKernel) else ()


def _total(accesses: Mapping[Any, tuple[Any, ...]], buffers: dict[str, Buffer], dims: Mapping[Sym, int]) -> int:
    count: dict[str, int] = {}
    seen: set[tuple[Any, ...]] = set()
    for (name, index), (dynamic, valid) in accesses.items():
        b = buffers[name]
        if b.kind in ("scratch", "tile"):
            continue
        address = b.address(index)
        variables = sorted((s for s in address.symbols() if not s.is_dim), key=lambda s: s.key)
        shape = _shape(address, variables, dims)
        if (name, shape) in seen:
            continue
        seen.add((name, shape))
        points = 1
        hidden = {k for k, _ in dynamic}
        bounded = _bounded(index, valid, dims) if valid and not dynamic else None
        if bounded is not None:
            count[name] = min(b.elements.evaluate(dims), count.get(name, 0) + bounded)
            continue
        lookups = [s for _, v in dynamic for y in walk(v) if isinstance(y, Load) for e in y.index for s in e.symbols()]
        for s in {*(v for v in variables if v not in hidden), *(s for s in lookups if not s.is_dim)}:
            points *= max(0, extent(s).evaluate(dims))
        count[name] = min(b.elements.evaluate(dims), count.get(name, 0) + points)
    return sum(n * DTYPES[buffers[name].dtype].bytes for name, n in count.items())


def _bounded(index: tuple[Expr, ...], valid: tuple[Expr, ...], dims: Mapping[Sym, int]) -> int | None:
    """Points at which the predicates hold, where no two dims of the index share a variable; None where some do."""
    points = 1
    seen: set[Sym] = set()

    def known(e: Expr) -> bool:
        return all(s.is_dim for s in e.symbols())

    for i in index:
        variables = {s for s in i.symbols() if not s.is_dim}
        if variables & seen:
            return None
        seen |= variables
        extents = 1
        for s in variables:
            extents *= max(0, extent(s).evaluate(dims))
        low = max((e.evaluate(dims) for e in (i - v for v in valid) if known(e)), default=None)
        high = min((e.evaluate(dims) for e in (i + v for v in valid) if known(e)), default=None)
        first = i.evaluate({**dims, **{s: 0 for s in variables}})  # the least index, as all steps are positive
        if high is not None and all((c := i.coefficient(s)) is not None and known(c) and c.evaluate(dims) >= 0
                                    for s in variables):
            extents = min(extents, max(0, high - (first if low is None else max(first, low)) + 1))
        points *= extents
    return points


def _shape(address: Expr, variables: list[Sym], dims: Mapping[Sym, int]) -> object:
    """Strides and extents, where the address is affine: accesses that agree in them walk the same elements."""
    rest, steps = address, []
    for s in variables:
        c = address.coefficient(s)
        if c is None or not all(t.is_dim for t in c.symbols()):
            return address
        rest = rest - c * sym(s)
        steps.append((c.evaluate(dims), extent(s).evaluate(dims)))
    return rest, tuple(sorted(steps))
