# SPDX-License-Identifier: Apache-2.0
"""Which kernels of a GPU's program run beside others: those of branches that do not need each other.

The calls of a program of fixed sizes are recorded as a graph (runtime/cuda/graphs.c). A stretch of its steps falls into
parts of which none touches what another stores. The longest of them stays in the row of launches, the others are
launched beside it, each in its own order, from the stretch's begin on, and what is behind the stretch waits for all.
That pays where kernels have so few blocks that they leave multiprocessors idle.

What a step beside the row touches is kept for the whole stretch (plan.py): nothing else lies in its memory meanwhile.
"""
from __future__ import annotations

from typing import Iterator, Mapping, Sequence

from ..graph.dtypes import DTYPES
from ..target import Target
from . import schedule_cuda
from .accesses import conflicts, Touch, touch_of
from .loop_ir import AttentionKernel, CheckKernel, ContractionKernel, GroupedContractionKernel, Kernel, PreparedKernel
from .program_ir import Aside, Element, Step
from .scalars import domain_size
from .schedule_half import MULTIPROCESSORS

LONGEST = 16      # steps of a stretch
MOST = 3          # parts beside the row
START = 2.0       # microseconds that any kernel takes
BYTES = 2e6       # a microsecond: of memory
PRODUCTS = {"f32": 15e6, "tf32": 60e6}    # a microsecond: multiply-adds
NARROW_PRODUCTS = 150e6
LEAST = 1.0       # microseconds that a part beside the row has to save,
LEAST_PART = 0.25  # and of its own time


def asides(steps: Sequence[Element], target: Target) -> tuple[Aside, ...]:
    """Of a program; none where what it launches varies. Stretches do not overlap."""
    if not target.apart or not all(isinstance(s, Step) and _fixed(s.kernel) for s in steps):
        return ()
    kernels = [s.kernel for s in steps if isinstance(s, Step)]
    touches = {i: touch_of(k) for i, k in enumerate(kernels) if _joins(k)}
    cost = _Costs(kernels, target)
    found: list[Aside] = []
    first = 0
    while first < len(kernels):
        end, parts = _stretch(touches, first, cost)
        found += (Aside(first, tuple(part), end) for part in parts)
        first = end if parts else first + 1
    return tuple(found)


def _fixed(kernel: Kernel) -> bool:
    return not kernel.dims


def _joins(kernel: Kernel) -> bool:
    """Whether it may be part of a stretch. A check stops the call; scratch serves the kernels of a program in turn."""
    return not isinstance(kernel, CheckKernel) and all(b.kind != "scratch" for b in kernel.params)


def _stretch(touches: Mapping[int, Touch], first: int, cost: _Costs) -> tuple[int, list[list[int]]]:
    """(end, parts beside the row) of the stretch from `first` on that saves most, the longest of such; no parts where
    none saves enough. touches: of the kernels that may be part of one."""
    parts: list[list[int]] = []
    best: tuple[float, int, list[list[int]]] = (0.0, first + 1, [])
    for i in range(first, first + LONGEST):
        if i not in touches:
            break
        mine = [p for p in parts if any(_needs(touches[i], touches[j]) for j in p)]
        parts = [p for p in parts if p not in mine] + [sorted(j for p in mine for j in p) + [i]]
        row = max(parts, key=lambda p: (cost.time(p), -p[0]))
        beside = [p for p in parts if p is not row]
        saved = [cost.saved(p, row) for p in beside]
        if 0 < len(beside) <= MOST and sum(saved) >= best[0] and all(map(cost.pays, beside, saved)):
            best = sum(saved), i + 1, [list(p) for p in beside]
    return best[1], best[2]


def _needs(later: Touch, earlier: Touch) -> bool:
    return any(conflicts(later, earlier, lambda a, b: False))


class _Costs:
    """time: microseconds of each kernel; fill: the part of the GPU that its blocks keep busy. Estimates. A block of an
    exact product leaves little of a multiprocessor to others: two such kernels, 112 and 128 blocks, took 1 % of a whole
    resnet50 longer beside each other than in a row (H100)."""

    def __init__(self, kernels: Sequence[Kernel], target: Target):
        units = schedule_cuda.units(target)
        products = PRODUCTS.get(target.precision, NARROW_PRODUCTS)
        self.times = [START + max(_bytes(k) / BYTES, _multiply_adds(k) / products) for k in kernels]
        self.fills = [_fill(k, units) for k in kernels]

    def time(self, part: Sequence[int]) -> float:
        return sum(self.times[i] for i in part)

    def fill(self, part: Sequence[int]) -> float:
        return sum(self.times[i] * self.fills[i] for i in part) / self.time(part)

    def pays(self, part: Sequence[int], saved: float) -> bool:
        return saved >= max(LEAST, LEAST_PART * self.time(part))

    def saved(self, part: Sequence[int], row: Sequence[int]) -> float:
        """Two that fill the GPU alone take turns."""
        return min(self.time(part), self.time(row)) * (1 - (self.fill(part) + self.fill(row)) / 2)


def _fill(kernel: Kernel, units: schedule_cuda.Units) -> float:
    launch = schedule_cuda.launch(kernel, units=units)
    blocks = -(-launch.points.value // launch.each)
    products = isinstance(kernel, (ContractionKernel, GroupedContractionKernel, AttentionKernel, PreparedKernel))
    if not products:
        return min(1.0, blocks * launch.threads / (2048 * MULTIPROCESSORS))
    return min(1.0, blocks / (MULTIPROCESSORS if units.relaxed else MULTIPROCESSORS // 2))


def _bytes(kernel: Kernel) -> int:
    return sum(b.elements.value * DTYPES[b.dtype].bytes for b in kernel.params)


def _multiply_adds(kernel: Kernel) -> int:
    return sum(domain_size(part.batch + part.m + part.n + part.k).value for part in _contractions(kernel))


def _contractions(kernel: Kernel) -> Iterator[ContractionKernel]:
    if isinstance(kernel, PreparedKernel):
        yield from _contractions(kernel.contraction)
    elif isinstance(kernel, (ContractionKernel, GroupedContractionKernel)):
        yield from kernel.contractions
