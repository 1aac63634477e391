# SPDX-License-Identifier: Apache-2.0
"""Consecutive: a product of one row that reads, at its own points, what products of one row before it stored is one
kernel with them (a recurrent cell: the products of x, those of h, the functions behind them).

A team shares such a kernel by its columns: of its own a thread computes one part behind the other, so no barrier parts
them. Not for GPUs, whose blocks each compute tiles of one part.
"""
from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from typing import Callable, Iterable, Sequence

from .accesses import touched, written
from .fused import Fused
from .grouped_contractions import MOST_GROUPED
from .kernel_interface import grouped
from .loop_ir import AttentionKernel, ContractionKernel, GroupedContractionKernel
from .program_ir import Element, each_list
from .races import other_columns
from .scalars import domain_size, extent, guarded_loads

Parts = tuple[ContractionKernel, ...]


def form(fused: Fused) -> Fused:
    """The same kernels, some of which are parts of one."""
    fusions = list(fused.fusions)
    kernels = each_list(fused.kernels, lambda items: _joined(items, fusions.append))
    return replace(fused, kernels=kernels, fusions=fusions)


def _joined(items: list[Element], tell: Callable[[str], None]) -> list[Element]:
    out: list[Element | None] = list(items)
    for at, last in enumerate(items):
        if type(last) is not ContractionKernel or not _of_columns(last, last):
            continue
        parts: Parts = (last,)
        for before in range(at - 1, -1, -1):
            first = out[before]
            if not isinstance(first, (ContractionKernel, GroupedContractionKernel)) \
                    or isinstance(first, AttentionKernel) or not _reads(last, written(first)):
                continue
            longer, between = (*first.contractions, *parts), [x for x in out[before + 1:at] if x is not None]
            if _one_behind_the_other(longer) and not _needed(first, between):
                tell(f"{last.label} is computed behind {first.label} in one kernel")
                parts, out[before] = longer, None
        if len(parts) > 1:
            out[at] = grouped("+".join(p.label for p in parts), parts, last.loc, consecutive=True)
    return [item for item in out if item is not None]


def _reads(kernel: ContractionKernel, names: Iterable[str]) -> bool:
    return any(x.buffer in names for v in kernel.values for x, _ in guarded_loads(v))


def _one_behind_the_other(parts: Parts) -> bool:
    return len(parts) <= MOST_GROUPED and all(_of_columns(part, parts[-1]) for part in parts) \
        and not any(other_columns(one, two) for one, two in combinations(parts, 2))


def _needed(first: ContractionKernel | GroupedContractionKernel, between: Sequence[Element]) -> bool:
    """Whether what runs between the kernel and a later place needs it before, or changes what it reads."""
    reads, writes = touched(between)
    return bool({b.name for b in first.params} & set(writes) or set(written(first)) & set(reads))


def _of_columns(part: ContractionKernel, last: ContractionKernel) -> bool:
    """A product of one row of floats by panels of constants, of as many columns as the last one."""
    constant = {b.name for b in part.params if b.kind == "packed"}
    return part.b_panel > 0 and domain_size(part.batch + part.m) == 1 and not part.product.integer \
        and part.where is None and len(part.n) == 1 and extent(part.n[0]) == extent(last.n[0]) \
        and all(b.buffer in constant for b in part.b)
