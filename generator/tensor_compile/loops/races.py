# SPDX-License-Identifier: Apache-2.0
"""What the verifier says of threads: points that store one element, and dependencies without a barrier.

Which points of a kernel a thread computes is the kernel's own choice. So two kernels that walk equal rows still need a
barrier between them, and within a kernel a point reads what the kernel stores only where it is the same point (in a row
loop nest: the same row) that stored it.
"""
from __future__ import annotations

from itertools import combinations, permutations
from typing import Callable, Iterable, Iterator

from ..symbolic import Expr, Sym, exact_div, is_nonnegative, sym, ZERO
from .accesses import BarrierWalk, Touch, conflicts
from .loop_ir import CheckKernel, Computation, Contraction, ContractionKernel, ExternKernel, GroupedContractionKernel, \
    Kernel, LoopNestKernel, PreparedKernel, Store
from .program_ir import Element, Program, Region, Step
from .scalar_ir import Buffer, Load
from .disjoint import apart, one_to_one
from .scalars import empty, extent, guarded_loads, lasts, loads
from .tile_axes import Axis


def stores(item: Element) -> Iterator[tuple[Store, tuple[Sym, ...]]]:
    """Every store of a kernel, Computation or Contraction and the variables of its points."""
    if isinstance(item, Computation):
        yield Store(item.out, item.index, item.value, item.dynamic), item.vars
    elif isinstance(item, Contraction):
        yield Store(item.out, item.index, item.a), item.batch + item.m + item.n
    elif isinstance(item, ContractionKernel):
        for s in item.stores:
            yield s, item.batch + item.m + item.n
    elif isinstance(item, GroupedContractionKernel):
        for part in item.contractions:
            yield from stores(part)
    elif isinstance(item, PreparedKernel):
        yield from stores(item.contraction)
    elif isinstance(item, LoopNestKernel):
        for phase in item.phases:
            for s in phase.stores:
                yield s, item.rows + phase.vars


def _stored(item: Element) -> Iterator[tuple[Store, tuple[Sym, ...]]]:
    """Those of its stores that have a point."""
    for s, variables in stores(item):
        if not empty(variables):
            yield s, variables


def _loads(kernel: Kernel) -> Iterator[tuple[Load, tuple[Expr, ...]]]:
    """Every load of a kernel with what is >= 0 where it runs."""
    for v in kernel.values:
        yield from guarded_loads(v)


def same_element(buffers: dict[str, Buffer], item: Element, in_tiles: bool = False, facts: tuple[Expr, ...] = ()
                 ) -> list[str]:
    """Stores of which two points may be of one element. Scratch belongs to one thread, which walks its rows one after
    the other. in_tiles: `between_tiles` looks at the points of all tiles together; facts: what is >= 0."""
    if isinstance(item, PreparedKernel):
        return same_element(buffers, item.rows, facts=facts) + same_element(buffers, item.contraction, facts=facts)
    problems = []
    for s, variables in _stored(item):
        b = buffers[s.buffer]
        if in_tiles and b.kind not in ("scratch", "tile"):
            continue
        if s.dynamic:   # points apart in other variables than those of its index are one thread's, in order
            within = set().union(*(i.symbols() for i in s.index))
            if isinstance(item, LoopNestKernel) and any(v not in within for v in item.rows):
                problems.append(f"{item.label}: rows may store one element of {b.name}[{_text(s.index)}]")
            variables = (*(v for v in variables if v in within), *(g for g, _ in s.dynamic))
        if b.kind == "scratch":
            variables = tuple(v for v in variables if not isinstance(item, LoopNestKernel) or v not in item.rows)
        if not one_to_one(b, s.index, variables, facts):
            problems.append(f"{item.label}: two points may store one element of {b.name}[{_text(s.index)}]")
    # what parts share: `crossed`
    for part in item.contractions if isinstance(item, GroupedContractionKernel) else (item,):
        for (one, first), (two, second) in combinations(_stored(part), 2):
            if one.buffer == two.buffer \
                    and not _apart(buffers[one.buffer], one.index, two.index, lasts((*first, *second))) \
                    and not _same_point(one.index, two.index, _rows(part)):
                problems.append(f"{part.label}: another point may store {one.buffer}[{_text(one.index)}] as "
                             f"{two.buffer}[{_text(two.index)}]")
    return problems


def _apart(b: Buffer, one: tuple[Expr, ...], two: tuple[Expr, ...], within: tuple[Expr, ...] = ()) -> bool:
    """By some dim, or by address where loops that walk several dims were merged. within: what is >= 0 where b[one] is
    touched."""
    return apart(one, two, within) or apart((b.address(one),), (b.address(two),), within)


def _rows(kernel: Kernel) -> set[Sym] | None:
    """The variables of a kernel's rows, whose phases are one thread's; None where each point may be another
    thread's."""
    if isinstance(kernel, LoopNestKernel) and (len(kernel.phases) > 1 or any(phase.reduces for phase in kernel.phases)):
        return set(kernel.rows)
    return None


def _same_point(one: tuple[Expr, ...], two: tuple[Expr, ...], rows: set[Sym] | None) -> bool:
    """Where the indices are of one element, they are of one point, or of one row."""
    return all(a == b or rows is not None and not rows & (a.symbols() | b.symbols())
               for a, b in zip(one, two, strict=True))


def crossed(buffers: dict[str, Buffer], kernel: Kernel) -> list[str]:
    """Loads of what other points of the same kernel store."""
    if isinstance(kernel, CheckKernel):
        return []
    if isinstance(kernel, ExternKernel):
        names = [b.name for b in kernel.params]
        return [f"{kernel.label}: {b.name} is a result and another operand" for b in kernel.writes
                if names.count(b.name) > 1]
    if isinstance(kernel, GroupedContractionKernel) and kernel.consecutive:
        return [line for part in kernel.contractions for line in crossed(buffers, part)] + [
            f"{kernel.label}: {two.label} touches {name}, of which {one.label} before it may store other columns"
            for one, two in combinations(kernel.contractions, 2) for name in other_columns(one, two)]
    if isinstance(kernel, GroupedContractionKernel):
        return [line for part in kernel.contractions for line in crossed(buffers, part)] + [
            f"{kernel.label}: {two.label} touches {name}, which {one.label} beside it stores"
            for one, two in permutations(kernel.contractions, 2) for name in shared(one, two)]
    if isinstance(kernel, PreparedKernel):    # what the nest stores is each block's own
        late = {s.buffer for s in kernel.contraction.stores} & {x.buffer for x in loads(*kernel.rows.values)}
        return [*crossed(buffers, kernel.rows), *crossed(buffers, kernel.contraction),
                *(f"{kernel.label}: stores {name}, which other blocks read for their rows" for name in sorted(late))]
    made: dict[str, list[tuple[Expr, ...]]] = {}
    for s, _ in _stored(kernel):
        made.setdefault(s.buffer, []).append(s.index)
    rows = _rows(kernel)
    problems: dict[str, None] = {}
    for x, within in _loads(kernel):
        for index in made.get(x.buffer, ()):
            if _apart(buffers[x.buffer], x.index, index, within):   # an index that is data has its range, too
                continue
            if x.dynamic or not _same_point(x.index, index, rows):
                problems[f"{kernel.label}: reads {x.buffer}[{_text(x.index)}], which other points of it store"] = None
    return list(problems)


def shared(one: ContractionKernel, two: ContractionKernel) -> list[str]:
    """Buffers of which kernel `two` may read, or store as well, elements that kernel `one` stores."""
    buffers: dict[str, None] = {}
    for s, _ in _stored(one):
        touched = [(x.index, within) for x, within in _loads(two) if x.buffer == s.buffer]
        touched += [(other.index, ()) for other, _ in _stored(two) if other.buffer == s.buffer]
        if any(not apart(index, s.index, within) for index, within in touched):
            buffers[s.buffer] = None
    return list(buffers)


def other_columns(one: ContractionKernel, two: ContractionKernel) -> list[str]:
    """Buffers of which a thread that computes some columns of `two`, and before these the same ones of `one`, may touch
    what another thread stores. Both have one row."""
    if any(s.dynamic for s in (*one.stores, *two.stores)):
        return [s.buffer for s in (*one.stores, *two.stores) if s.dynamic]

    def at_column(index: tuple[Expr, ...], kernel: ContractionKernel) -> tuple[Expr, ...]:
        row = dict.fromkeys(kernel.batch + kernel.m, ZERO)
        return tuple(e.substitute({**row, **dict(zip(kernel.n, map(sym, two.n), strict=True))}) for e in index)
    found: dict[str, None] = {}
    for s in one.stores:
        index = at_column(s.index, one)
        found |= {x.buffer: None for x, within in _loads(two) if x.buffer == s.buffer and (
            x.dynamic or at_column(x.index, two) != index and not apart(x.index, s.index, within))}
    touched = {b.name for b in one.params}
    return [*found, *(s.buffer for s in two.stores if s.buffer in touched)]


def between_tiles(buffers: dict[str, Buffer], axes: tuple[Axis, ...], kernels: list[Element]) -> list[str]:
    """Elements that two tiles store, or one loads and another one stores. A kernel's own points are `same_element`'s
    and `crossed`'s."""
    problems: dict[str, None] = {}
    several = [a for a in axes if a.blocks != 1]
    made = [(kernel, s, variables) for kernel in kernels for s, variables in _stored(kernel)
            if buffers[s.buffer].kind != "tile" and buffers[s.buffer].kind != "scratch"]
    for kernel, s, variables in made:
        index = s.index
        for a in several:
            index, variables = _all_blocks(a, index, variables)
        if s.dynamic or not one_to_one(buffers[s.buffer], index, variables):
            problems[f"{kernel.label}: two tiles may store one element of {s.buffer}[{_text(s.index)}]"] = None
    for (one, s, _), (two, t, _) in combinations(made, 2):
        if s.buffer == t.buffer and not _apart(buffers[s.buffer], s.index, t.index) \
                and not _one_tile(several, s.index, t.index):
            where = f"{t.buffer}[{_text(t.index)}]"
            problems[f"{two.label}: stores {where}, which {one.label} stores in another tile"] = None
    for kernel in kernels:
        for x, within in _loads(kernel):
            for one, s, _ in made:
                if s.buffer == x.buffer and (x.dynamic or not _apart(buffers[s.buffer], x.index, s.index, within)
                                             and not _one_tile(several, s.index, x.index)):
                    problems[f"{kernel.label}: reads {x.buffer}[{_text(x.index)}], which {one.label} stores in another "
                          "tile"] = None
    return list(problems)


def _all_blocks(axis: Axis, index: tuple[Expr, ...], variables: tuple[Sym, ...]) \
        -> tuple[tuple[Expr, ...], tuple[Sym, ...]]:
    """The index over all tiles along the axis: with one variable for the axis' points where a variable of the kernel
    walks those of a block (and what is within them), else with one more for the number of the block."""
    for v in variables:
        within = exact_div(extent(v), axis.points) if v.hi is not None else None
        if within is not None:
            whole = Sym(v.name, 0, axis.size * within - 1)
            walked = tuple(e.substitute({v: sym(whole) - sym(axis.start) * within}) for e in index)
            if not any(axis.start in e.symbols() for e in walked):
                return walked, (*(w for w in variables if w is not v), whole)
    number = Sym(axis.start.name, 0, axis.blocks - 1)
    return tuple(e.substitute({axis.start: sym(number) * axis.block}) for e in index), (*variables, number)


def _one_tile(axes: list[Axis], one: tuple[Expr, ...], two: tuple[Expr, ...]) -> bool:
    """Where the indices are of one element, they are of one tile: for each axis a dim of both lies within the tile's
    block."""
    def within(e: Expr, axis: Axis) -> bool:
        rest = e - sym(axis.start)
        return is_nonnegative(rest) and is_nonnegative(axis.points - 1 - rest)
    return all(any(within(a, axis) and within(b, axis) for a, b in zip(one, two, strict=True)) for axis in axes)


def unordered(program: Program, together: Callable[[str, str], bool]) -> list[str]:
    """Kernels that touch what another one stores, or store what it reads, with no barrier between, and decisions about
    what is still being stored. together(a, b): the two buffers share memory."""
    problems: dict[str, None] = {}

    def needs_barrier(place: Step | Region, touch: Touch, since: Iterable[Touch]) -> bool:
        for before in since if not place.barrier else ():
            if before.is_check and touch.writes:
                problems[f"{touch.label}: stores before every thread has left the check {before.label}"] = None
            for does, mine, did, other in conflicts(touch, before, together):
                problems[f"{touch.label}: {does} {mine} where {before.label} {did} {other}, "
                      "with no barrier between"] = None
        return place.barrier

    BarrierWalk(needs_barrier).run(program.steps, {})
    return list(problems)


def _text(index: tuple[Expr, ...]) -> str:
    return ", ".join(map(str, index))
