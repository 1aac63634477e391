# SPDX-License-Identifier: Apache-2.0
"""What a kernel moves: bytes of distinct elements that it reads and writes, from its own loads and stores.

An access walks the product of what its indices walk, and never more than its buffer. An index walks the product of the
extents of its variables, but no more than lies between its ends in its steps: neighbouring windows share elements.
Predicates that bound an index by itself bound what is walked of that dim. Accesses of one buffer at one address (or
whose variables differ in name only) count once, several others up to the whole buffer. A data-dependent index counts
every position that is looked up. Scratch is not memory traffic, nor is what a tile's kernels hand on. So the numbers
are exact where accesses are dense, and an upper bound where lookups repeat.
"""
from __future__ import annotations

from math import gcd
from typing import Any, Collection, Iterable, Mapping

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


def traffic(kernel: Kernel, dims: Mapping[Sym, int], over: Collection[Sym] = ()) -> Traffic:
    """Bytes that one call of the kernel reads and writes at the given dims ({} in a specialized variant). over:
    iterations, in all of which together."""
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
    return Traffic(_total(read, buffers, dims, over), _total(written, buffers, dims, over))


def _rows(kernel: Kernel) -> tuple[Sym, ...]:
    """Variables without whose points the kernel touches nothing."""
    if isinstance(kernel, GroupedContractionKernel):
        kernel = kernel.contractions[0]
    return kernel.batch + kernel.m if isinstance(kernel, ContractionKernel) else \
        kernel.rows if isinstance(kernel, LoopNestKernel) else ()


def _total(accesses: Mapping[Any, tuple[Any, ...]], buffers: dict[str, Buffer], dims: Mapping[Sym, int],
           over: Collection[Sym]) -> int:
    count: dict[str, int] = {}
    seen: set[tuple[Any, ...]] = set()
    for (name, index), (dynamic, valid) in accesses.items():
        b = buffers[name]
        if b.kind in ("scratch", "tile"):
            continue
        address = b.address(index)
        shape = _shape(address, sorted(_walked((address,), over), key=lambda s: s.key), dims)
        if (name, shape) in seen:
            continue
        seen.add((name, shape))
        points = _looked_up(address, dynamic, dims, over) if dynamic else _points(index, valid, dims, over)
        count[name] = min(b.elements.evaluate(dims), count.get(name, 0) + points)
    return sum(n * DTYPES[buffers[name].dtype].bytes for name, n in count.items())


def _walked(of: Iterable[Expr], over: Collection[Sym]) -> set[Sym]:
    """The variables, and the iterations of all of which together it is asked."""
    return {s for e in of for s in e.symbols() if not s.is_dim or s in over}


def _extents(variables: Iterable[Sym], dims: Mapping[Sym, int]) -> int:
    points = 1
    for s in variables:
        points *= max(0, extent(s).evaluate(dims))
    return points


def _looked_up(address: Expr, dynamic: tuple[Any, ...], dims: Mapping[Sym, int], over: Collection[Sym]) -> int:
    """Points at positions that are data: as many as are looked up, times those of the other variables."""
    hidden = {k for k, _ in dynamic}
    lookups = [e for _, v in dynamic for y in walk(v) if isinstance(y, Load) for e in y.index]
    return _extents((_walked((address,), over) - hidden) | _walked(lookups, over), dims)


def _points(index: tuple[Expr, ...], valid: tuple[Expr, ...], dims: Mapping[Sym, int], over: Collection[Sym]) -> int:
    """Distinct elements, at most: dims that share variables walk their points together."""
    groups: list[tuple[set[Sym], list[Expr]]] = []
    for i in index:
        variables, members = _walked((i,), over), [i]
        apart = []
        for others, parts in groups:
            if others & variables:
                variables, members = variables | others, parts + members
            else:
                apart.append((others, parts))
        groups = [*apart, (variables, members)]
    points = 1
    for variables, members in groups:
        between = [_between(i, valid, dims, over) for i in members]
        product = 1
        for n in between:
            product *= _extents(variables, dims) if n is None else n
        points *= min(_extents(variables, dims), product)
    return points


def _between(index: Expr, valid: tuple[Expr, ...], dims: Mapping[Sym, int], over: Collection[Sym]) -> int | None:
    """How many values of an index lie between its ends in its steps, where predicates hold that bound it by itself;
    None where it is not affine."""
    variables = _walked((index,), over)
    ends, step = [index.evaluate({**dims, **{s: 0 for s in variables}})] * 2, 0
    rest = index
    for s in variables:
        c, last = index.coefficient(s), extent(s).evaluate(dims) - 1
        if c is None or _walked((c,), over) or last < 0:
            return None if last >= 0 else 0
        rest, by = rest - c * sym(s), c.evaluate(dims)
        ends[by > 0] += by * last
        step = gcd(step, by) if last else step
    if _walked((rest,), over):
        return None
    low = [e.evaluate(dims) for e in (index - v for v in valid) if not _walked((e,), over)]
    high = [e.evaluate(dims) for e in (index + v for v in valid) if not _walked((e,), over)]
    first, end = max([ends[0], *low]), min([ends[1], *high])
    return max(0, (end - first) // (step or 1) + 1)


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
