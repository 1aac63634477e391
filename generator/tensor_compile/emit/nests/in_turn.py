# SPDX-License-Identifier: Apache-2.0
"""Elements that lie in turn in memory, where vectors are along what steps over them: the channels of an image that has
them last, the two parts of complex numbers, positions that an upsampling puts beside each other.

Loads that together read everything between the lanes of each other are one run of memory, which is parted in registers;
stores that fill everything are joined there (tc_in_turn.h). Where the last row variable has the elements of a turn, all
of its rows are walked together.
"""
from __future__ import annotations

from typing import Callable, Iterable, Sequence, TypeVar

from ...instruction_sets import IN_TURN
from ...loops.loop_ir import LoopNestKernel, Phase, Store
from ...loops.scalar_ir import Load, Reduction, Scalar
from ...loops.scalars import cost, walk
from ...symbolic import Expr, const
from .row_sums import copied
from ..scalar import V_TYPE, CValue, ScalarEmitter, extent, splat

MOST_CODE = 256         # cost of what the rows of a turn compute, above which each is walked alone
HEADER = "tc_in_turn.h"
TAKE, PUT = "tcv_take_", "tcv_put_"    # of it, ahead of a dtype
T = TypeVar("T")


def told(text: str) -> tuple[bool, bool]:
    """Whether a kernel's text parts what lies in turn, and whether it joins such elements."""
    return TAKE in text, PUT in text


def rows_in_turn(kernel: LoopNestKernel) -> int:
    """The last rows that have the elements of a turn; 1: none."""
    if len(kernel.phases) != 1 or not kernel.rows:
        return 1
    (phase,), turn = kernel.phases, kernel.rows[-1]
    size, values = extent(turn), [x.value for x in phase.stores]
    if phase.reduces or len(phase.vars) != 1 or not size.is_const or size.value not in IN_TURN \
            or any(x.dynamic for x in phase.stores) or any(isinstance(x, Reduction) for x in walk(*values)) \
            or size.value * sum(map(cost, values)) > MOST_CODE:
        return 1
    buffers = {b.name: b for b in kernel.params}
    accesses = [(x.buffer, x.index) for x in _loads(values)] + [(x.buffer, x.index) for x in phase.stores]
    for name, index in accesses:
        address = buffers[name].address(index)
        if address.coefficient(turn) == 1 and address.coefficient(phase.vars[0]) == size:
            return int(size.value)
    return 1


def rows(kernel: LoopNestKernel, count: int) -> list[Phase]:
    """The phase of each row of a turn."""
    phase = kernel.phases[0]
    return [copied(phase, kernel.rows[-1], const(i), "") for i in range(count)] if count > 1 else [phase]


def _loads(values: Iterable[Scalar]) -> list[Load]:
    """Of the points themselves, not of reductions inside of them."""
    stack, found = list(values), dict[Scalar, None]()
    while stack:
        s = stack.pop()
        if s not in found and not isinstance(s, Reduction):
            found[s] = None
            stack += s.children
    return [s for s in found if isinstance(s, Load)]


def _runs(e: ScalarEmitter, accesses: Iterable[tuple[T, str, Expr]]) -> list[tuple[list[T], Expr]]:
    """Of what is accessed in a buffer at an address: those that lie in turn, and where the first lane's first one
    lies."""
    groups: dict[tuple[str, Expr, int], dict[int, tuple[T, Expr]]] = {}
    for x, buffer, address in accesses:
        assert e.vector is not None
        step = address.coefficient(e.vector)
        if step is not None and step.is_const and step.value in IN_TURN:
            apart = address.substitute({s: const(0) for s in address.symbols()}).value
            groups.setdefault((buffer, address - apart, step.value), {})[apart] = x, address
    found = []
    for (_, _, turn), at in groups.items():
        for first in sorted(at):
            if all(first + i in at for i in range(turn)):
                found.append([at.pop(first + i) for i in range(turn)])
    return [([x for x, _ in run], run[0][1]) for run in found]


def take(e: ScalarEmitter, values: Iterable[Scalar]) -> None:
    """Loads what lies in turn, of values that are computed next."""
    possible = [(x, f"{x.buffer} {x.dtype}", e.address(x.buffer, x.index)) for x in _loads(values)
                if not x.dynamic and not x.valid and x.dtype in V_TYPE and x.dtype != "bool"
                and x.buffer not in e.written and e.known(x) is None and e.inside(x)]
    found = _runs(e, possible)
    for run, first in found:
        end = f"{len(run)} * {e.lanes}" if e.lanes else str(16 * len(run))
        taken(e, list(enumerate(run)), len(run), f"{e.pointers[run[0].buffer]} + ({e.index(first)})", f"0, {end}")


def taken(e: ScalarEmitter, run: Sequence[tuple[int, Load]], turn: int, place: str, elements: str) -> None:
    """Loads a run in the innermost scope: some of the elements of each turn, by their numbers."""
    name, dtype = e.fresh("v"), run[0][1].dtype
    e.headers.add(HEADER)
    e.lines += [f"{V_TYPE[dtype]} {name}[{turn}];", f"{TAKE}{dtype}({place}, {turn}, {elements}, {name});"]
    for i, x in run:
        e.know(x, f"{name}[{i}]")


def joins(e: ScalarEmitter, stores: Sequence[Store]) -> bool:
    """Whether some of them fill what lies in turn."""
    return bool(_stored(e, [(x, x) for x in stores]))


def _stored(e: ScalarEmitter, stores: Iterable[tuple[Store, T]]) -> list[tuple[list[T], Expr]]:
    return _runs(e, [(of, f"{x.buffer} {x.value.dtype}", e.address(x.buffer, x.index)) for x, of in stores
                     if x.value.dtype in V_TYPE and x.value.dtype != "bool"])


def put(e: ScalarEmitter, results: Sequence[tuple[Store, CValue]], alone: Callable[[Store, CValue], None]) -> None:
    """Stores the results, what lies in turn together. alone: stores one."""
    found = _stored(e, [(x, (x, result)) for x, result in results])
    stored = {id(x) for run, _ in found for x, _ in run}
    for run, first in found:
        name, (store, _), dtype = e.fresh("v"), run[0], run[0][0].value.dtype
        e.headers.add(HEADER)
        texts = ", ".join(r.text if r.vector else splat(dtype, r.text) for _, r in run)
        e.lines += [f"{V_TYPE[dtype]} {name}[{len(run)}] = {{{texts}}};",
                    f"{PUT}{dtype}({e.pointers[store.buffer]} + ({e.index(first)}), {len(run)}, {e.lanes or '16'}, "
                    f"{name});"]
    for x, result in results:
        if id(x) not in stored:
            alone(x, result)
