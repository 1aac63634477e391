# SPDX-License-Identifier: Apache-2.0
"""The bytes that kernels move: every element that a kernel reads or writes counts once, as if its caches were perfect.

Counted from the kernel's own index expressions at given sizes of the dims. Each dim of a buffer gets the set of indices
that the kernel's loops reach in it; an access touches the product of these sets, and the accesses to a buffer their
union.
"""
from __future__ import annotations

from itertools import product
from typing import Iterable, Mapping

from ..graph.ir import DTYPES
from ..loops.ir import CheckKernel, ContractionKernel, Kernel, Load
from ..loops.scalars import loads
from ..symbolic import Expr, Sym

ENUMERATED = 1 << 16  # points of an index expression; beyond, its range is taken

Box = tuple[frozenset[int], ...]


def kernel_bytes(kernel: Kernel, sizes: Mapping[Sym, int]) -> tuple[dict[str, int], dict[str, int]]:
    """(read, written): bytes by buffer, at the given sizes of the kernel's dims."""
    read: dict[str, list[Box]] = {}
    written: dict[str, list[Box]] = {}
    if isinstance(kernel, CheckKernel):
        return {kernel.buffer.name: kernel.buffer.elements.evaluate(sizes) * DTYPES[kernel.buffer.dtype]}, {}
    if isinstance(kernel, ContractionKernel):
        stores = kernel.stores
        values = [kernel.a, kernel.b, *(s.value for s in stores)]
    else:
        stores = [s for stage in kernel.stages for s in stage.stores]
        values = [r.value for stage in kernel.stages for r in stage.reduces] + [s.value for s in stores]
    shape = {b.name: [d.evaluate(sizes) for d in b.shape] for b in kernel.params}
    for load in dict.fromkeys(loads(*values)):
        read.setdefault(load.buffer, []).append(_box(load.index, shape[load.buffer], sizes, load))
    for store in stores:
        written.setdefault(store.buffer, []).append(_box(store.index, shape[store.buffer], sizes, None))
    width = {b.name: DTYPES[b.dtype] for b in kernel.params}
    return ({name: _union(boxes) * width[name] for name, boxes in read.items()},
            {name: _union(boxes) * width[name] for name, boxes in written.items()})


def _box(index: Iterable[Expr], shape: list[int], sizes: Mapping[Sym, int], load: Load | None) -> Box:
    """Indices outside the buffer (padding that `valid` rules out) touch nothing."""
    dynamic = {s for s, _ in load.dynamic} if load is not None else set()
    out = []
    for e, size in zip(index, shape, strict=True):
        if dynamic & e.symbols():
            out.append(frozenset(range(size)))  # decided by data: any element may be read
        else:
            out.append(frozenset(v for v in _values(e, sizes) if 0 <= v < size))
    return tuple(out)


def _values(e: Expr, sizes: Mapping[Sym, int]) -> Iterable[int]:
    variables = [s for s in e.symbols() if not s.is_dim]
    known = {s: n for s, n in sizes.items() if s in e.symbols()}
    ranges = [range(s.lo, (s.hi.evaluate(sizes) if isinstance(s.hi, Expr) else s.hi) + 1) for s in variables]
    points = 1
    for r in ranges:
        points *= len(r)
    if points > ENUMERATED and all(e.coefficient(s) is not None for s in variables):
        return _affine(e, variables, ranges, known)
    return {e.evaluate({**known, **dict(zip(variables, point))}) for point in product(*ranges)}


def _affine(e: Expr, variables: list[Sym], ranges: list[range], known: Mapping[Sym, int]) -> set[int]:
    """The sums of one multiple of each coefficient: set by set, without the whole product."""
    start = {**known, **{s: 0 for s in variables}}
    found = {e.evaluate(start)}
    for s, r in zip(variables, ranges):
        step = e.coefficient(s).evaluate(start)
        found = {v + step * i for v in found for i in r}
    return found


def _union(boxes: list[Box]) -> int:
    """Points in any of the boxes."""
    boxes = list(dict.fromkeys(b for b in boxes if all(b)))
    boxes = [b for b in boxes if not any(b is not o and b != o and _inside(b, o) for o in boxes)]
    return sum(_minus(box, boxes[:i]) for i, box in enumerate(boxes))


def _minus(box: Box, others: list[Box]) -> int:
    """Points of the box in none of the others, by inclusion and exclusion."""
    total = _points(box)
    for i, other in enumerate(others):
        common = tuple(a & b for a, b in zip(box, other))
        if all(common):
            total -= _minus(common, others[:i])
    return total


def _inside(a: Box, b: Box) -> bool:
    return all(x <= y for x, y in zip(a, b))


def _points(box: Box) -> int:
    total = 1
    for indices in box:
        total *= len(indices)
    return total
