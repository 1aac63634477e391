# SPDX-License-Identifier: Apache-2.0
"""Shorten: a temp whose elements are a cheap function of a shorter integer is stored as that integer, and its readers
compute the function: memory moves fewer bytes. A sum of two quantized values has such an operand, which another kernel
left as f32.
"""
from __future__ import annotations

from collections import defaultdict
from functools import partial
from typing import Iterator

from ..graph.dtypes import DTYPES
from .accesses import touched
from .fused import Fused
from .loop_ir import AttentionKernel, ContractionKernel, GroupedContractionKernel, LoopNestKernel, RowSort, Store
from .program_ir import Element, leaves
from .narrow import carried, Stored, with_stored
from .repeat import CHEAP_TO_REPEAT
from .scalar_ir import Apply, Const, Load, Scalar
from .scalars import cost, loads, Rewriter

MOST_LOADS = 4   # of the temp, each of which computes the function


def shorten(fused: Fused) -> Fused:
    """The same kernels over shorter temps."""
    stores: dict[str, list[Store]] = defaultdict(list)
    read: dict[str, list[Load]] = defaultdict(list)
    kept = carried(fused)
    for kernel in leaves(fused.kernels):
        for s in _stores(kernel):
            stores[s.buffer].append(s)
        for x in _values(kernel):
            read[x.buffer].append(x)
        kept |= _whole(kernel)
    chosen = {}
    for name, b in fused.buffers.items():
        if b.kind != "temp" or name in kept or len(stores[name]) != 1 or len(read[name]) > MOST_LOADS \
                or stores[name][0].dynamic or any(x.valid or x.dynamic for x in read[name]):
            continue
        short = _short(stores[name][0].value)
        if short is not None:
            chosen[name] = Stored(short.dtype, _inner, partial(_outer, stores[name][0].value))
    return with_stored(fused, chosen) if chosen else fused


def _stores(kernel: Element) -> Iterator[Store]:
    if isinstance(kernel, LoopNestKernel):
        yield from kernel.stores
    elif isinstance(kernel, (ContractionKernel, GroupedContractionKernel)):
        for part in kernel.contractions:
            yield from part.stores


def _values(kernel: Element) -> Iterator[Load]:
    """What a kernel loads to compute with it."""
    if isinstance(kernel, LoopNestKernel):
        yield from loads(*kernel.values)
    elif isinstance(kernel, (ContractionKernel, GroupedContractionKernel)):
        for part in kernel.contractions:
            yield from loads(*part.predicates, *(v for s in part.stores for v in s.values))


def _whole(kernel: Element) -> set[str]:
    """Buffers whose elements a kernel takes as they are: operands of products, rows that are sorted, what is no kernel
    of loops."""
    if isinstance(kernel, LoopNestKernel):
        return {r.buffer for phase in kernel.phases for r in phase.reduces if isinstance(r, RowSort)}
    if isinstance(kernel, (ContractionKernel, GroupedContractionKernel)) \
            and not any(isinstance(part, AttentionKernel) for part in kernel.contractions):
        return {x.buffer for part in kernel.contractions for x in (part.a, *part.b)}
    reads, writes = touched([kernel])
    return {*reads, *writes}


def _operand(value: Scalar) -> Scalar | None:
    """What a value is a function of, with constants."""
    if not isinstance(value, Apply):
        return None
    found = [a for a in value.args if not isinstance(a, Const)]
    return found[0] if len(found) == 1 else None


def _is_short(value: Scalar, wide: str) -> bool:
    return isinstance(value, Apply) and value.op == "cast" and DTYPES[value.dtype].is_integer \
        and DTYPES[value.dtype].bytes < DTYPES[wide].bytes


def _short(value: Scalar) -> Scalar | None:
    """The shorter integer that a value is a cheap function of."""
    found: Scalar | None = value
    while found is not None and not _is_short(found, value.dtype):
        found = _operand(found)
    return found if found is not None and cost(value) - cost(found) <= CHEAP_TO_REPEAT else None


def _inner(value: Scalar) -> Scalar:
    short = _short(value)
    assert short is not None
    return short


def _outer(value: Scalar, load: Load) -> Scalar:
    """The function of what is loaded."""
    short = _inner(value)
    return Rewriter(leaf=lambda s: load if s is short else None)(value)
