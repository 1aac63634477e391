# SPDX-License-Identifier: Apache-2.0
"""Nests whose last row variable is cut into parts (window.Cut): positions of a part are computed side by side, windows
as window.py has them, sums of a few channels a group as lane_groups.py has them. Parts, and channels where these are
few, are split over the team. The first and the last part are code of their own where they differ from others; of a row
whose number of positions is not known the code is open_rows.py's."""
from __future__ import annotations

from dataclasses import replace
from typing import Callable, Protocol, Sequence

from ...instruction_sets import WIDE
from ...loops.loop_ir import LoopNestKernel, Phase, Store
from ...loops.scalar_ir import Reduction
from ...records import dataclass
from ...symbolic import Expr, Sym, const, floordiv, product, sym
from .items import channels_of, next_item, positions, share
from .row_sums import copied
from ..scalar import ScalarEmitter, extent, indent
from . import along_lines, lane_groups, open_rows, window

LEAST_POSITIONS = 32    # of a part of a row whose number of positions is not known
Channels = tuple[str, str]    # the first one, and the one behind the last


@dataclass(frozen=True, slots=True)
class RowParts:
    """groups: None where the phase stores windows."""

    cut: window.Cut
    groups: lane_groups.LaneGroups | None = None


def emit(e: ScalarEmitter, kernel: LoopNestKernel, form: RowParts,
         body: Callable[[list[Phase], Channels | None], None]) -> None:
    """body: writes the loop over the channels of some positions, a phase each."""
    parts, groups = form.cut, form.groups
    width, size = parts.width, extent(parts.row)
    count = const(parts.count) if parts.count else floordiv(size + (_positions(parts) - 1), const(_positions(parts)))
    alone, (phase,) = kernel.rows[:-1], kernel.phases
    items = product(extent(s) for s in alone) * count
    channels = extent(phase.vars[0])
    whole = groups is None or groups.side * groups.outs == WIDE   # pieces begin where lanes do
    each = channels_of(items, channels) if kernel.grain == 1 and whole and parts.blocks is None else None
    pieces = -(-channels.value // each) if each else 1
    e.lines += share(e, items * pieces, max(1, kernel.grain // (width if parts.count else _positions(parts))))
    loops = [(e.bind(s), e.index(extent(s))) for s in alone] + [(e.fresh("part"), e.index(count))]
    part, piece = loops[-1][0], None
    if pieces > 1:
        loops.append((e.fresh("piece"), str(pieces)))
    e.lines += positions(loops, "begin")
    e.open(alone)
    if pieces > 1:
        piece = e.fresh("low"), e.fresh("high")
        e.lines += [f"const tc_index {piece[0]} = {loops[-1][0]} * {each};",
                    f"const tc_index {piece[1]} = tc_min({piece[0]} + {each}, {e.index(channels)});"]

    def some(first: Expr, size: int, all_terms: bool = False) -> None:
        one = replace(phase, stores=open_rows.without_tests(phase.stores, parts.row)) if all_terms else phase
        copies = [copied(one, parts.row, first + i, "") for i in range(size)]
        if groups is not None:
            lane_groups.emit(e, groups, copies, piece)
        elif parts.blocks is None:
            body(copies, piece)
        else:
            along = _along if parts.blocks else _along_open
            along(e, [x for one in copies for x in one.stores], phase.vars[0], parts)

    if parts.count is None:
        _open(e, parts, part, window.windows_of(phase.stores), some)
    else:
        _known(e, parts, part, parts.count, some)
    e.lines += next_item([name for name, _ in loops], [size for _, size in loops])
    e.close("for (tc_index item = begin; item < end; ++item)")


class Some(Protocol):
    """Writes the code of so many positions from `first` on. all_terms: all of them have all terms."""

    def __call__(self, first: Expr, size: int, all_terms: bool = False) -> None: ...


def _known(e: ScalarEmitter, parts: window.Cut, part: str, count: int, some: Some) -> None:
    """The code of the parts of a row of so many. part: the number of one."""
    before = not parts.alike
    behind = count > 1 and (before or parts.rest < parts.width)
    heads = []
    if before:
        heads.append((f"if ({part} == 0)" if count > 1 else "", const(0), parts.width))
    if behind:
        test = f"if ({part} == {count - 1})"
        heads.append((f"else {test}" if before else test, const(parts.width * (count - 1)), parts.rest))
    between = count - len(heads)
    blocks: list[tuple[str, list[str]]] = []   # what all parts need is written before the first of them
    for head, first, size in heads:
        e.open()
        some(first, size)
        blocks.append((head, e.scopes.pop().lines))
    if between > 0:
        at = Sym("part", 0, between - 1)
        e.open((at,))
        e.names[at] = e.fresh("at")
        e.lines.append(f"const tc_index {e.names[at]} = {part} - {int(before)};")
        some((sym(at) + int(before)) * parts.width, parts.width)
        blocks.append(("else" if heads else "", e.scopes.pop().lines))
    for head, lines in blocks:
        e.lines += [f"{head} {{".lstrip(), *indent(lines), "}"]


def _positions(parts: window.Cut) -> int:
    """Of a part of a row whose number of positions is not known: whole pieces."""
    return parts.width * -(-LEAST_POSITIONS // parts.width)


def _open(e: ScalarEmitter, parts: window.Cut, part: str, windows: list[Reduction], some: Some) -> None:
    """The code of the parts of a row whose number of positions is not known. The first one also has the positions at
    the padding, so that the others begin with one that has all terms."""
    tests, size, width = open_rows.least(windows, parts.row) or [], e.index(extent(parts.row)), parts.width
    padded, most = open_rows.before(tests, parts.row), _positions(parts)
    low, high, more = e.fresh("low"), e.fresh("high"), f" + {padded}" if padded else ""
    begin = f"{part} * {most}{more}"
    e.lines += [f"const tc_index {low} = {f'{part} > 0 ? {begin} : 0' if padded else begin};",
                f"const tc_index {high} = tc_min({begin} + {most}, {size});"]

    def whole(count: int) -> open_rows.Piece:
        return open_rows.Piece(count, count, count, tests, lambda at: some(sym(at), count, True))
    alone = open_rows.Piece(1, 1, 0, (), lambda at: some(sym(at), 1))
    open_rows.walk_row(e, parts.row, low, high, [*(whole(count) for count in (width, width // 2) if count > 1), alone])


def _along(e: ScalarEmitter, stores: list[Store], lanes: Sym, parts: window.Cut) -> None:
    """The results of lines that lie above each other, 16 of each at a time."""
    for block, lane, at in along_lines.vectors(e, parts.blocks or []):
        here = along_lines.moved(stores, lanes, at)
        window.compute(e, here, along_lines.Line(e, lane, block.lanes, parts.shifts))
        e.stores(here)


def _along_open(e: ScalarEmitter, stores: list[Store], lanes: Sym, parts: window.Cut) -> None:
    """The same of lines whose length is not known. The first vector of a line has code of its own, as does the last
    one, which finds its lanes when it runs; of lines that are too short for that each lane asks for each term."""
    tests = open_rows.least(window.windows_of(stores), lanes) or []
    high = e.index(extent(lanes))

    def vector(here: Sequence[Store], at: Expr, ends: bool, alone: bool = False) -> None:
        lane = Sym("lane", 0, along_lines.LANES - 1)
        e.names[lane], e.width, e.vector = "0", along_lines.LANES, lane
        if ends:
            e.lanes = e.name_index(f"tc_min({along_lines.LANES}, {high} - ({e.index(at)}))", len(e.scopes) - 1)
        e.open((lane,))
        here = along_lines.moved(here, lanes, sym(lane) + at)
        if not alone:
            window.compute(e, here, along_lines.Line(e, lane, e.lanes or along_lines.LANES, parts.shifts))
        e.stores(here)
        e.width, e.vector, e.lanes = 1, None, None
        e.close("")

    def is_behind(test: Expr) -> bool:
        return open_rows.reaches_behind(test, lanes)

    def is_before(test: Expr) -> bool:
        return not is_behind(test)
    behind, before = list(filter(is_behind, tests)), list(filter(is_before, tests))
    first, last = (open_rows.without_tests(stores, lanes, holds) for holds in (is_behind, is_before))
    whole = open_rows.without_tests(stores, lanes)
    count = along_lines.LANES
    pieces = [open_rows.Piece(count, count, count, tests, lambda at: vector(whole, sym(at), False)),
              open_rows.Piece(count, 1, 1, before, lambda at: vector(last, sym(at), True))]
    if before:
        pieces = [open_rows.Piece(count, count, count, behind, lambda at: vector(first, const(0), False), begins=True),
                  *pieces, open_rows.Piece(count, 1, 0, (), lambda at: vector(stores, sym(at), True, alone=True))]
    open_rows.walk_row(e, lanes, "0", high, pieces)
