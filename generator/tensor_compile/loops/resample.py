# SPDX-License-Identifier: Apache-2.0
"""Resample: what is taken along one axis and then along another one is one kernel, which computes the values between
where it needs them. Of a linear resampling vectors load four and store one; as two kernels they store the values
between and load them again.

So it is done where lanes are along neither axis, as with channels last: indices are the same for all lanes. Lanes along
an axis that elements are taken from are put together one by one, which is not done twice.
"""
from __future__ import annotations

from dataclasses import replace
from typing import Iterable

from ..symbolic import Expr, ONE, Sym, ZERO, sym
from ..symbolic.typical import typical
from .accesses import touched
from .equations import solve
from .fused import Fused
from .kernel_interface import changed
from .loop_ir import LoopNestKernel
from .narrow import carried
from .program_ir import Element
from .scalar_ir import Apply, Buffer, Const, Load, Scalar
from .scalars import cost, extent, loads, own_expressions, rewritten, Rewriter, substitute, walk

MOST_LOADS = 2     # of a kernel of either axis
MOST_COST = 8      # of a value between
LANES = 16


def resample(fused: Fused) -> Fused:
    """The same function, with fewer kernels."""
    kernels, fusions, kept = list(fused.kernels), list(fused.fusions), carried(fused)
    for first in fused.kernels:
        if not isinstance(first, LoopNestKernel) or first not in kernels or not _takes(first):
            continue
        last = _reader(kernels, first)
        made = _joined(first, last, fused.buffers, kept) if last is not None else None
        if last is not None and made is not None:
            kernels[kernels.index(last)] = made
            kernels.remove(first)
            fusions.append(f"{first.label} along one axis joins {made.label} along another one")
    return replace(fused, kernels=kernels, fusions=fusions)


def _takes(kernel: LoopNestKernel) -> bool:
    """It stores one value, of elements at indices that are data."""
    return len(kernel.stores) == 1 and _pointwise(kernel) and any(x.dynamic for x in loads(*kernel.values))


def _reader(kernels: list[Element], first: LoopNestKernel) -> LoopNestKernel | None:
    """The only one that touches what a kernel stores, where all that the kernel reads is as it was."""
    reads, writes = touched([first])
    others = [k for k in kernels if k is not first and any(not writes.keys().isdisjoint(t) for t in touched([k]))]
    behind = kernels[kernels.index(first) + 1:]
    if len(others) != 1 or others[0] not in behind or not isinstance(others[0], LoopNestKernel):
        return None
    until = behind[:behind.index(others[0]) + 1]
    return others[0] if reads.keys().isdisjoint(touched(until)[1]) else None


def _joined(first: LoopNestKernel, last: LoopNestKernel, buffers: dict[str, Buffer], kept: set[str]
            ) -> LoopNestKernel | None:
    """`last` without what `first` stores; None where that does not pay, or is not known to be right."""
    if not _pointwise(last):
        return None
    (store,), variables, phase = first.stores, (*first.rows, *first.phases[0].vars), last.phases[0]
    between = buffers[store.buffer]
    found = [x for x in loads(*last.values) if x.buffer == between.name]
    if between.kind != "temp" or between.name in kept or between.dtype != "f32" or cost(store.value) > MOST_COST \
            or len(found) > MOST_LOADS or not _across(first, last, found, between, buffers):
        return None
    solutions = [solve(list(zip(store.index, x.index, strict=True)), variables) for x in found]
    if not all(s is not None and _known(store.value, s, x) for s, x in zip(solutions, found)):
        return None
    values = {x: _with(substitute(store.value, s or {}), x) for s, x in zip(solutions, found)}
    change = Rewriter(leaf=lambda s: values.get(s) if isinstance(s, Load) else None)
    return changed(buffers, last, phases=(replace(phase, stores=tuple(rewritten(s, change) for s in phase.stores)),))


def _pointwise(kernel: LoopNestKernel) -> bool:
    """Every point stores a function of loads, wherever these are."""
    return len(kernel.phases) == 1 and not kernel.phases[0].reduces and not any(s.dynamic for s in kernel.stores) \
        and all(isinstance(s, (Apply, Const, Load)) for s in _outside(s.value for s in kernel.stores))


def _outside(values: Iterable[Scalar]) -> list[Scalar]:
    """What values are made of, but not what indices are."""
    stack, found = list(values), dict[Scalar, None]()
    while stack:
        s = stack.pop()
        if s not in found:
            found[s] = None
            stack += () if isinstance(s, Load) else s.children
    return list(found)


def _across(first: LoopNestKernel, last: LoopNestKernel, found: list[Load], between: Buffer,
            buffers: dict[str, Buffer]) -> bool:
    """Lanes follow a dim that neither kernel takes elements from."""
    fastest, (store,) = between.order[-1], first.stores
    ways = {x.index[fastest] for x in found}
    if len(ways) != 1 or not all(x.dynamic and not x.valid for x in found):
        return False
    mine, own = _alone(store.index[fastest]), _alone(ways.pop())
    sources = [x for x in _outside([store.value]) if isinstance(x, Load)]
    taken = [x for x in sources if x.dynamic]
    if mine is None or own is None or typical(extent(own)) < LANES or not 0 < len(taken) <= MOST_LOADS:
        return False
    return all(not x.valid and _step(buffers, x.buffer, x.index, mine) in (ZERO, ONE) and mine not in _of_indices(x)
               for x in sources) \
        and all(_step(buffers, x.buffer, x.index, mine) == ONE for x in taken) \
        and all(_step(buffers, s.buffer, s.index, own) == ONE for s in last.stores) \
        and not any(own in _of_indices(x) for x in found)


def _alone(e: Expr) -> Sym | None:
    """The variable that an index is."""
    return next((s for s in e.symbols() if e == sym(s)), None)


def _step(buffers: dict[str, Buffer], name: str, index: tuple[Expr, ...], along: Sym) -> Expr | None:
    return buffers[name].address(index).coefficient(along)


def _of_indices(x: Load) -> set[Sym]:
    """The variables that what a load's indices are found by depends on."""
    return {s for _, v in x.dynamic for y in walk(v) for e in own_expressions(y) for s in e.symbols()}


def _known(value: Scalar, solution: dict[Sym, Expr], x: Load) -> bool:
    """What the indices of `value` are found by does not depend on indices of x that are data."""
    data = {s for s, e in solution.items() if not {g for g, _ in x.dynamic}.isdisjoint(e.symbols())}
    return all(data.isdisjoint(_of_indices(y)) for y in _outside([value]) if isinstance(y, Load))


def _with(value: Scalar, x: Load) -> Scalar:
    """The value, whose loads know what indices of x stand for."""
    def leaf(s: Scalar) -> Scalar | None:
        if not isinstance(s, Load):
            return None
        asked = {g for e in own_expressions(s) for g in e.symbols()}
        dynamic = tuple((g, v) for g, v in x.dynamic if g in asked)
        return Load(s.buffer, s.dtype, s.index, s.valid, s.other, (*dynamic, *s.dynamic))
    return Rewriter(leaf=leaf)(value)
