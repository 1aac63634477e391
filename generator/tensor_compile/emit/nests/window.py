# SPDX-License-Identifier: Apache-2.0
"""Windows: results of neighbouring positions that read the same few elements, some of them side by side.

A depthwise convolution, or a pooling, over the last variable of the rows: `Cut.width` positions are computed together,
16 channels at a time. Every term of the window is code of its own, with the weight loaded once and an element of the
image once for all positions that read it. The first and the last positions of a row are code of their own, in which
terms of the padding do not occur; those in between need no test. Every sum keeps its order. Where lanes are no
channels but follow a line of the image, along_lines.py cuts the line, too.
"""
from __future__ import annotations

import itertools
from typing import Sequence

from ...instruction_sets import InstructionSet
from ...loops.loop_ir import LoopNestKernel, Store
from ...loops.scalar_ir import Const, Reduction, Scalar
from ...loops.scalars import Rewriter, domain_size, expressions, identity, loads, walk
from ...records import dataclass
from ...symbolic import Expr, Sym, const, is_nonnegative
from .along_lines import Block, Line, Range
from . import along_lines, open_rows
from .reduction import POSITIONS, term
from ..constants import constant
from ..scalar import V_TYPE, ScalarEmitter, extent, splat

MOST_WIDTH = 8      # positions side by side
MOST_POOLED = 2     # of windows without weights: lines of one position follow one another, those of many lie apart
MOST_TERMS = 64     # of a window
MOST_CODE = 288     # terms of all positions
MOST_ALONG = 4      # positions of windows whose lanes follow a line, and
FEW_ALONG = 2       # of those of up to
FEW_TERMS = 9       # terms, which share fewer lines of the image
MOST_PARTS = 16     # vectors that these make of runs of memory at a time
OPEN_BLOCKS = 3     # vectors of a line whose length is not known that are code of their own
MOST_ALONG_CODE = 640    # terms of all positions and all blocks of a line
FLOATS = 3          # of the registers' vectors one is a sum: others are weights and elements
INTEGERS = 2        # whose elements are widened when they are loaded: the more positions share one, the better


@dataclass(frozen=True, slots=True)
class Cut:
    """The last row variable, cut into `count` parts of `width` positions, the last of which has `rest`. alike: no
    part has terms of the padding. blocks: the vectors of a line that lanes follow, none of a line whose length is not
    known; None where lanes are channels. shifts: these vectors may be put together of two. Of a row whose number of
    positions is not known (open_rows.py) `count` is None: its last part has what is left."""

    row: Sym
    width: int
    count: int | None
    rest: int
    alike: bool
    blocks: list[Block] | None = None
    shifts: bool = False


def cut(kernel: LoopNestKernel, isa: InstructionSet) -> Cut | None:
    """How a kernel's positions are computed side by side; None where they are not windows, or not wide."""
    if len(kernel.phases) != 1 or not kernel.rows:
        return None
    (phase,), row = kernel.phases, kernel.rows[-1]
    stores = phase.stores
    if phase.reduces or len(phase.vars) != 1 or any(x.dynamic for x in stores):
        return None
    found, lanes = windows_of(stores), phase.vars[0]
    buffers = {b.name: b for b in kernel.params}
    if not found or not all(_fits(r, lanes, row) for r in found):
        return None
    blocks = None
    if along_lines.needed(found, lanes, buffers):
        follow = all(along_lines.follows(r, lanes, buffers) for r in found)
        blocks = None if not follow else [] if open_rows.is_open(lanes) else along_lines.blocks(stores, found, lanes)
        # without multiply-adds the code of a sum is long, and its loads take little of its time
        if blocks is None or isa.vectors == "X86_64" and any(r.op == "dot" for r in found):
            return None
    terms = sum(_terms(r) for r in found)
    dots = any(r.op == "dot" for r in found)
    if blocks is None:
        side, code = MOST_WIDTH if dots else MOST_POOLED, MOST_CODE // terms
    else:
        side = FEW_ALONG if terms <= FEW_TERMS else MOST_ALONG
        code = MOST_ALONG_CODE // (terms * (len(blocks) or OPEN_BLOCKS))
        side = min(side, max(2, MOST_PARTS // max(1, along_lines.step(found, lanes, buffers))))
    most = min(side, max(2, isa.room // (INTEGERS if found[0].dtype == "i32" else FLOATS)) // len(found), code)
    if most < 2:
        return None
    asked = [e for x in stores for e in expressions(x.value)]
    alike, shifts = not any(row in e.symbols() for e in asked), isa.lanes == along_lines.LANES
    if open_rows.is_open(row):
        known = open_rows.least(found, row) is not None
        return Cut(row, most, None, 0, alike, blocks, shifts) if known else None
    size = extent(row).value
    if size < 2:
        return None
    width = -(-size // -(-size // most))
    count = -(-size // width)
    return Cut(row, width, count, size - width * (count - 1), alike, blocks, shifts)


def windows_of(stores: Sequence[Store]) -> list[Reduction]:
    return list(dict.fromkeys(r for x in stores for r in walk(x.value) if isinstance(r, Reduction)))


def _terms(r: Reduction) -> int:
    return domain_size(r.vars).value


def _fits(r: Reduction, lanes: Sym, row: Sym) -> bool:
    """Few terms, in an order that takes one after the other."""
    if r.order in ("lanes", "running") or r.op in POSITIONS or r.dtype not in V_TYPE:
        return False
    if not all(extent(s).is_const for s in r.vars) or not 2 <= _terms(r) <= MOST_TERMS:
        return False
    inside = list(walk(r.value))
    if any(isinstance(x, Reduction) for x in inside):
        return False
    read = [e for x in loads(r.value) for e in x.index]
    return any(lanes in e.symbols() for e in read) and any(row in e.symbols() for e in read)


@dataclass(frozen=True, slots=True)
class _Term:
    """One term of the window `number` of a group, where all of the guard are >= 0. lanes: those that have it, where
    they follow a line."""

    number: int
    value: Scalar
    guard: tuple[Expr, ...]
    lanes: Range | None


def compute(emitter: ScalarEmitter, stores: Sequence[Store], line: Line | None = None) -> None:
    """The windows of all stores in the innermost scope, a term of each in turn; their values are known from then on.
    line: where the lanes follow one."""
    groups: dict[tuple[Sym, ...], list[Reduction]] = {}
    for r in windows_of(stores):
        groups.setdefault(r.vars, []).append(r)
    listed = [(group, _listed(variables, group, line)) for variables, group in groups.items()]
    if line is not None:
        for _, terms in listed:
            for t in terms:
                line.add(t.value, t.lanes, t.guard)
        line.pair()
    for group, terms in listed:
        _compute(emitter, group, terms, line)


def _listed(variables: tuple[Sym, ...], group: list[Reduction], line: Line | None) -> list[_Term]:
    """The terms of the windows, one of each in turn, that some result has."""
    found = []
    for place in itertools.product(*(range(extent(s).value) for s in variables)):
        at = {s: const(i) for s, i in zip(variables, place)}

        def there(e: Expr, at: dict[Sym, Expr] = at) -> Expr:
            return e.substitute(at)
        change = Rewriter(there)
        for number, r in enumerate(group):
            asked = [e.substitute(at) for e in r.valid]
            if any(is_nonnegative(-1 - e) for e in asked):
                continue
            wanted = tuple(e for e in asked if not is_nonnegative(e))
            lanes = None
            if line is not None:
                lanes = line.present(wanted)
                if lanes[0] == lanes[1]:
                    continue
                wanted = tuple(e for e in wanted if line.lane not in e.symbols())
            found.append(_Term(number, change(r.value), wanted, lanes))
    return found


def _compute(emitter: ScalarEmitter, group: list[Reduction], terms: list[_Term], line: Line | None) -> None:
    accs = [emitter.fresh("s") for _ in group]
    for acc, r in zip(accs, group, strict=True):
        first = constant(identity(r.op, r.order, r.dtype))
        emitter.lines.append(f"{V_TYPE[r.dtype]} {acc} = {splat(r.dtype, first)};")
    guard: tuple[Expr, ...] = ()
    for t in terms:
        acc, r = accs[t.number], group[t.number]
        if t.guard != guard:
            _leave(emitter, guard)
            guard = t.guard
            if guard:
                emitter.open(guard=True)
        if line is not None:
            line.load(t.value)
        text = term(emitter, r.op, r.dtype, acc, t.value, True)
        if line is not None and t.lanes is not None and t.lanes != (0, line.lanes):
            text = f"tcv_select_{r.dtype}(tcv_range({t.lanes[0]}, {t.lanes[1]}), {text}, {acc})"
        emitter.lines.append(f"{acc} = {text};")
    _leave(emitter, guard)
    for acc, r in zip(accs, group, strict=True):
        if r.op == "dot":   # a sum that starts from +0 never is -0; a fused product that underflows may be
            emitter.lines.append(f"{acc} = tcv_add_{r.dtype}({acc}, {splat(r.dtype, constant(Const(r.dtype, 0)))});")
        emitter.know(r, acc)


def _leave(emitter: ScalarEmitter, guard: tuple[Expr, ...]) -> None:
    if guard:
        emitter.close(f"if ({emitter.all_nonnegative(guard)})")
