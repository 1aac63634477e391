# SPDX-License-Identifier: Apache-2.0
"""What the verifier says of threads: points that store one element, and dependencies without a barrier.

Which points of a kernel a thread computes is the kernel's own choice. So two kernels that walk equal rows still need a
barrier between them, and within a kernel a point reads what the kernel stores only where it is the same point (in a row
nest: the same row) that stored it.
"""
from __future__ import annotations

from itertools import combinations, permutations
from typing import Callable, Iterable, Iterator

from ..symbolic import Expr, Sym
from .accesses import Meetings, Touch, conflicts
from .ir import Branch, Buffer, CheckKernel, Computation, Contraction, ContractionKernel, Loop, NestKernel, Program, \
    SiblingsKernel, Step, Store
from .points import apart, one_to_one
from .scalars import empty, loads


def stores(item) -> Iterator[tuple[Store, tuple[Sym, ...]]]:
    """Every store of a kernel, Computation or Contraction and the variables of its points."""
    if isinstance(item, Computation):
        yield Store(item.out, item.index, item.value, item.dynamic), item.vars
    elif isinstance(item, Contraction):
        yield Store(item.out, item.index, item.a), item.batch + item.m + item.n
    elif isinstance(item, ContractionKernel):
        for s in item.stores:
            yield s, item.batch + item.m + item.n
    elif isinstance(item, SiblingsKernel):
        for part in item.parts:
            yield from stores(part)
    elif isinstance(item, NestKernel):
        for stage in item.stages:
            for s in stage.stores:
                yield s, item.rows + stage.vars


def _stored(item) -> Iterator[tuple[Store, tuple[Sym, ...]]]:
    """Those of its stores that have a point."""
    for s, variables in stores(item):
        if not empty(variables):
            yield s, variables


def same_element(buffers: dict, item) -> list[str]:
    """Stores of which two points may meet. Scratch belongs to one thread, which walks its rows one after the other."""
    found = []
    for s, variables in _stored(item):
        b = buffers[s.buffer]
        if s.dynamic:   # points apart in other variables than those of its index are one thread's, in order
            within = set().union(*(i.symbols() for i in s.index))
            if isinstance(item, NestKernel) and any(v not in within for v in item.rows):
                found.append(f"{item.label}: rows may store one element of {b.name}[{_text(s.index)}]")
            variables = (*(v for v in variables if v in within), *(g for g, _ in s.dynamic))
        if b.kind == "scratch":
            variables = tuple(v for v in variables if not isinstance(item, NestKernel) or v not in item.rows)
        if not one_to_one(b, s.index, variables):
            found.append(f"{item.label}: two points may store one element of {b.name}[{_text(s.index)}]")
    for part in item.parts if isinstance(item, SiblingsKernel) else (item,):   # what parts share: `crossed`
        for (one, _), (two, _) in combinations(_stored(part), 2):
            if one.buffer == two.buffer and not _apart(buffers[one.buffer], one.index, two.index) \
                    and not _same_point(one.index, two.index, _rows(part)):
                found.append(f"{part.label}: another point may store {one.buffer}[{_text(one.index)}] as "
                             f"{two.buffer}[{_text(two.index)}]")
    return found


def _apart(b: Buffer, one: tuple[Expr, ...], two: tuple[Expr, ...]) -> bool:
    """By some dim, or by address where loops that walk several dims were merged."""
    return apart(one, two) or apart((b.address(one),), (b.address(two),))


def _rows(kernel) -> set[Sym] | None:
    """The variables of a kernel's rows, whose stages are one thread's; None where each point may be another thread's."""
    if isinstance(kernel, NestKernel) and (len(kernel.stages) > 1 or any(stage.reduces for stage in kernel.stages)):
        return set(kernel.rows)
    return None


def _same_point(one: tuple[Expr, ...], two: tuple[Expr, ...], rows: set[Sym] | None) -> bool:
    """Where the indices are of one element, they are of one point, or of one row."""
    return all(a == b or rows is not None and not rows & (a.symbols() | b.symbols()) for a, b in zip(one, two, strict=True))


def crossed(buffers: dict[str, Buffer], kernel) -> list[str]:
    """Loads of what other points of the same kernel store."""
    if isinstance(kernel, CheckKernel):
        return []
    if isinstance(kernel, SiblingsKernel):
        return [line for part in kernel.parts for line in crossed(buffers, part)] + [
            f"{kernel.label}: {two.label} touches {name}, which {one.label} beside it stores"
            for one, two in permutations(kernel.parts, 2) for name in met(one, two)]
    made: dict[str, list[tuple[Expr, ...]]] = {}
    for s, _ in _stored(kernel):
        made.setdefault(s.buffer, []).append(s.index)
    values = [v for s, _ in stores(kernel) for v in s.values]
    if isinstance(kernel, NestKernel):
        values += [r.value for stage in kernel.stages for r in stage.reduces]
    else:
        values += [kernel.a, *kernel.b]
    rows = _rows(kernel)
    found: dict[str, None] = {}
    for x in loads(*values):
        for index in made.get(x.buffer, ()):
            if not x.dynamic and _apart(buffers[x.buffer], x.index, index):
                continue
            if x.dynamic or not _same_point(x.index, index, rows):
                found[f"{kernel.label}: reads {x.buffer}[{_text(x.index)}], which other points of it store"] = None
    return list(found)


def met(one, two) -> list[str]:
    """Buffers of which kernel `two` may read, or store as well, elements that kernel `one` stores."""
    found: dict[str, None] = {}
    for s, _ in _stored(one):
        touched = [x.index for x in loads(*two.values) if x.buffer == s.buffer]
        touched += [other.index for other, _ in _stored(two) if other.buffer == s.buffer]
        if any(not apart(s.index, index) for index in touched):
            found[s.buffer] = None
    return list(found)


def unordered(program: Program, together: Callable[[str, str], bool]) -> list[str]:
    """Kernels that touch what another one stores, or store what it reads, with no barrier between, and decisions about
    what is still being stored. together(a, b): the two buffers share memory."""
    found: dict[str, None] = {}

    def meets(place: Step | Loop | Branch, touch: Touch, since: Iterable[Touch]) -> bool:
        for before in since if not place.barrier else ():
            if before.is_check and touch.writes:
                found[f"{touch.label}: stores before every thread has left the check {before.label}"] = None
            for does, mine, did, other in conflicts(touch, before, together):
                found[f"{touch.label}: {does} {mine} where {before.label} {did} {other}, "
                      "with no barrier between"] = None
        return place.barrier

    Meetings(meets).run(program.steps, {})
    return list(found)


def _text(index: tuple[Expr, ...]) -> str:
    return ", ".join(map(str, index))
