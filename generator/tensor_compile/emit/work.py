# SPDX-License-Identifier: Apache-2.0
"""How many scalar operations a program's kernels execute: their work, which the core weighs a team's cost against and
in which what is loaded counts, too; and what they compute, which reports compare with a processor's arithmetic.

Both are estimates: a transcendental function counts as one operation like any other, padding is not subtracted.
"""
from __future__ import annotations

from typing import Callable, Iterable, Mapping

from ..graph.dtypes import DTYPES
from ..loops.column_pairs import multiplied
from ..loops.loop_ir import CheckKernel, ContractionKernel, ExternKernel, GroupedContractionKernel, Kernel, \
    LoopNestKernel, Phase, PreparedKernel, RowReduce, RowSort
from ..loops.program_ir import Branch, Element, Loop, Program, Step, Tiles
from ..loops.scalar_ir import Apply, Reduction, Scalar
from ..loops.scalars import extent, walk
from ..symbolic import Expr, Sym, ONE, ZERO, wrap
from .memory import closes_checks


SORTING = 20   # operations a point that is sorted
CONVERTING = ("cast", "bitcast")
MOST_ITERATIONS = 4   # a barrier costs about a quarter of what starting the team does
WORK_PER_THREAD = 1 << 18   # TC_WORK_PER_THREAD, and so on, of driver.h
WORK_PER_AWAKE_THREAD, WORK_PER_BARRIER = 1 << 16, 1 << 14


def program_work(program: Program) -> Expr:
    """Counts at most MOST_ITERATIONS iterations per loop: one iteration must be worth the team by itself. Counts both
    sides of a branch."""
    return _work(program.steps)


def _work(items: list[Element], usual: Mapping[Sym, int] | None = None) -> Expr:
    total = ZERO
    for item in items:
        if isinstance(item, Step):
            total = total + kernel_work(item.kernel, usual)
        elif isinstance(item, Branch):
            total = total + _work(item.then) + _work(item.other)
        elif isinstance(item, Tiles):
            total = total + tiles_work(item)
        else:
            total = total + (_work(item.test) + _work(item.body)) * iterations(item)
    return total


def program_barriers(program: Program) -> int:
    """Barriers of one call, loops counted as in program_work. None stands before all steps."""
    before = [item for item in program.steps[:1] if not isinstance(item, Loop) and item.barrier]
    return _barriers(program.steps) - len(before)


def team_worth(work: int, barriers: int, most: int) -> int:
    """How many of `most` threads the core gives a call of that work where calls follow, so that all are awake:
    team_size of runtime/core/run.c."""
    return min(most, max(1, work // WORK_PER_THREAD, work // (WORK_PER_AWAKE_THREAD + barriers * WORK_PER_BARRIER)))


def _barriers(items: list[Element]) -> int:
    total = 0
    for i, item in enumerate(items):
        if isinstance(item, Loop):
            condition = int(item.barrier and bool(item.condition))
            each = int(item.iteration_barrier) + condition + _barriers(item.test) + _barriers(item.body)
            total += int(closes_checks(items, i)) + iterations(item) * each
        elif isinstance(item, Branch):
            total += int(closes_checks(items, i)) + int(item.barrier) + _barriers(item.then) + _barriers(item.other)
        else:
            total += int(closes_checks(items, i) or item.barrier)
    return total + int(closes_checks(items, len(items)))


def iterations(loop: Loop) -> int:
    """Iterations of a loop that are counted."""
    count = extent(loop.iteration) if loop.iteration is not None else None
    return min(MOST_ITERATIONS, count.value) if count is not None and count.is_const else MOST_ITERATIONS


def tiles_work(tiles: Tiles) -> Expr:
    """Of all tiles."""
    work = _over_dims(_work(tiles.body, tiles.usual))
    for axis in tiles.axes:
        work = work * axis.blocks
    return work


def kernel_work(kernel: Kernel, usual: Mapping[Sym, int] | None = None) -> Expr:
    """Values of one run of a kernel, what it loads among them. usual: of a tile region with windows."""
    return _over_dims(_kernel(kernel, lambda value: 1).substitute(usual or {}))


def kernel_operations(kernel: Kernel, usual: Mapping[Sym, int] | None = None) -> Expr:
    """Arithmetic of one run of a kernel: a multiply-add is two operations; what is loaded, moved or converted none."""
    return _over_dims(_kernel(kernel, lambda value: int(isinstance(value, Apply) and value.op not in CONVERTING))
                      .substitute(usual or {}))


def product_operations(kernel: Kernel, usual: Mapping[Sym, int] | None = None) -> Expr:
    """Of one run of a kernel what its products and convolutions do alone: two operations a multiply-add."""
    return _over_dims(_products(kernel).substitute(usual or {}))


def in_integers(kernel: Kernel) -> bool:
    """Whether what a kernel computes is integers, which a ceiling of float multiply-adds says nothing of: its products
    and sums, where it has any; else all its values. What only moves or converts elements computes nothing."""
    if isinstance(kernel, PreparedKernel):
        return in_integers(kernel.contraction)
    if isinstance(kernel, GroupedContractionKernel):
        return all(in_integers(part) for part in kernel.contractions)
    if isinstance(kernel, ContractionKernel):
        return kernel.product.integer
    if not isinstance(kernel, LoopNestKernel):
        return False
    values = [s for phase in kernel.phases for s in walk(*phase.values)]
    dtypes = {r.value.dtype for phase in kernel.phases for r in phase.reduces} | \
        {s.value.dtype for s in values if isinstance(s, Reduction)}
    if not dtypes and any(isinstance(s, Apply) and s.op not in CONVERTING for s in values):
        dtypes = {s.dtype for s in values}
    return bool(dtypes) and not any(DTYPES[dtype].is_float for dtype in dtypes)


def _kernel(kernel: Kernel, weigh: Callable[[Scalar], int]) -> Expr:
    if isinstance(kernel, CheckKernel):
        return kernel.buffer.elements
    if isinstance(kernel, ExternKernel):   # one thread's, whatever it does
        return ZERO
    if isinstance(kernel, PreparedKernel):
        return _kernel(kernel.rows, weigh) + _kernel(kernel.contraction, weigh)
    if isinstance(kernel, GroupedContractionKernel):
        return sum((_kernel(part, weigh) for part in kernel.contractions), ZERO)
    if isinstance(kernel, ContractionKernel):
        return _products(kernel) + _points(kernel) * _values((s.value for s in kernel.stores), weigh)
    phases = ZERO
    for phase in kernel.phases:
        reducing = sum(SORTING if isinstance(r, RowSort) else 1 for r in phase.reduces)
        phases = phases + _domain_size(phase.vars) * (_values(phase.values, weigh) + reducing)
    return _domain_size(kernel.rows) * phases


def _products(kernel: Kernel) -> Expr:
    if isinstance(kernel, PreparedKernel):
        return _products(kernel.contraction)
    if isinstance(kernel, GroupedContractionKernel):
        return sum(map(_products, kernel.contractions), ZERO)
    if isinstance(kernel, LoopNestKernel):
        return _domain_size(kernel.rows) * sum((_dots(phase) for phase in kernel.phases), ZERO)
    if not isinstance(kernel, ContractionKernel):
        return ZERO
    sums = len(multiplied({b.name: b for b in kernel.params}, kernel))
    return _points(kernel) * (2 * sums * _domain_size(kernel.k))


def _dots(phase: Phase) -> Expr:
    """Products and depthwise convolutions that are loops: their sums are called dot."""
    terms = wrap(sum(isinstance(r, RowReduce) and r.op == "dot" for r in phase.reduces))
    for value in set(walk(*phase.values)):
        if isinstance(value, Reduction) and value.op == "dot":
            terms = terms + _domain_size(value.vars)
    return _domain_size(phase.vars) * terms * 2


def _points(kernel: ContractionKernel) -> Expr:
    return _domain_size(kernel.batch) * _domain_size(kernel.m) * _domain_size(kernel.n)


def _domain_size(variables: Iterable[Sym]) -> Expr:
    out = ONE
    for v in variables:
        out = out * (wrap(v.hi if v.hi is not None else 0) - v.lo + 1)
    return out


def _values(values: Iterable[Scalar], weigh: Callable[[Scalar], int]) -> Expr:
    """Of one point: every distinct value once, what a Reduction holds once a term."""
    total, seen, todo = ZERO, set(), list(values)
    while todo:
        value = todo.pop()
        if value in seen:
            continue
        seen.add(value)
        if isinstance(value, Reduction):
            total = total + _domain_size(value.vars) * (1 + _values([value.value], weigh))
        else:
            total = total + weigh(value)
            todo += value.children
    return total


def _over_dims(e: Expr) -> Expr:
    """Without loop variables and iterations: each at its upper end."""
    for _ in range(8):
        loops = {s: wrap(s.hi if s.hi is not None else s.lo) for s in e.symbols() if not s.is_dim or s.is_iteration}
        if not loops:
            break
        e = e.substitute(loops)
    return e
