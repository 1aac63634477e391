# SPDX-License-Identifier: Apache-2.0
"""Convolutions of few output channels: lanes are positions of a line, a tile is some vectors of it for all channels.

The terms of a sum are loops, the last of them over the channels of the image, whose lines lie side by side
(loops/planes.py). A turn loads each vector of the image once for all output channels, and the weights of a term once
for all vectors. Where a vector reaches into the padding, what lies there is loaded as zeros: weights of padded
convolutions are finite (docs/numerics.md), so that such terms add nothing. Lines of the padding are left out. Every sum
keeps its order.
"""
from __future__ import annotations

from typing import Mapping, Sequence

from ...instruction_sets import InstructionSet, WIDE
from ...loops.accesses import written
from ...loops.loop_ir import LoopNestKernel, Store
from ...loops.scalar_ir import Buffer, Load, Reduction
from ...loops.scalars import Rewriter, domain_size, rewritten, walk
from ...records import dataclass
from ...symbolic import Expr, Sym, const, is_nonnegative, product, sym
from .items import next_item, positions, share
from ..scalar import ScalarEmitter, extent

MOST_OUTPUTS = 16
LEAST_TERMS = 4      # of a sum: the last loop has some turns
SUMS = 24            # vectors of a tile where registers are many; others are weights and elements,
REGISTERS = 2        # so many where they are few


@dataclass(frozen=True, slots=True)
class Sum:
    """A sum of a position. lines, columns: what its guard says of lines and of positions."""

    sum: Reduction
    image: Load
    weights: Load
    lines: tuple[Expr, ...]
    columns: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class FewOutputs:
    """outs: the variable of the output channels, None: there is one; lane: of the positions; rows: of the lines; side,
    vectors: channels and vectors of a tile."""

    outs: Sym | None
    lane: Sym
    rows: tuple[Sym, ...]
    sums: tuple[Sum, ...]
    side: int
    vectors: int

    @property
    def channels(self) -> int:
        return extent(self.outs).value if self.outs is not None else 1

    def at(self, channel: int) -> dict[Sym, Expr]:
        return {self.outs: const(channel)} if self.outs is not None else {}


@dataclass(frozen=True, slots=True)
class _Block:
    """`count` tiles one behind the other from position `first` on, each of vectors of so many lanes. padded: of each
    vector, whether some of its positions have terms in the padding."""

    first: int
    count: int
    lanes: tuple[int, ...]
    padded: tuple[bool, ...]


def find(kernel: LoopNestKernel, isa: InstructionSet) -> FewOutputs | None:
    """The form of a kernel that is such a convolution, or several of the same points; None of others."""
    if len(kernel.phases) != 1:
        return None
    (phase,) = kernel.phases
    if phase.reduces or len(phase.vars) != 1 or not phase.vector or any(x.dynamic for x in phase.stores):
        return None
    (lane,), stored = phase.vars, written(kernel)
    if not extent(lane).is_const or extent(lane).value < WIDE:
        return None
    buffers = {b.name: b for b in kernel.params}
    sums = [_sum(r, lane, buffers) for r in _sums(phase.stores)]
    if not sums or any(x is None or x.image.buffer in stored for x in sums):
        return None
    known = [x for x in sums if x is not None]
    own = {s for x in known for s in kernel.rows if s in buffers[x.weights.buffer].address(x.weights.index).symbols()}
    outs = own.pop() if own else None
    if own or outs is not None and not (extent(outs).is_const and extent(outs).value <= MOST_OUTPUTS):
        return None
    if outs is not None and any(outs in e.symbols() for x in known for e in (*x.image.index, *x.sum.valid)):
        return None
    channels, count = extent(outs).value if outs is not None else 1, -(-extent(lane).value // WIDE)
    room = min(SUMS, max(2, isa.room - REGISTERS)) // len(known)
    side = _part(channels, max(1, room))
    return FewOutputs(outs, lane, tuple(s for s in kernel.rows if s is not outs), tuple(known), side,
                     _part(count, max(1, room // side)))


def _sum(r: Reduction, lane: Sym, buffers: Mapping[str, Buffer]) -> Sum | None:
    """A sum of products of an image's line and of weights, which are the same for all positions."""
    if r.op != "dot" or r.order != "seq" or r.dtype != "f32" or not all(extent(s).is_const for s in r.vars) \
            or domain_size(r.vars).value < LEAST_TERMS:
        return None
    x, w = r.value.children
    if not isinstance(x, Load) or not isinstance(w, Load) \
            or any(f.dtype != "f32" or f.dynamic or f.valid for f in (x, w)):
        return None
    image, weights = (buffers[f.buffer].address(f.index) for f in (x, w))
    columns = tuple(e for e in r.valid if lane in e.symbols())
    if image.coefficient(lane) != 1 or lane in weights.symbols() \
            or any(e.coefficient(lane) not in (const(1), const(-1)) or e.symbols() - {lane, *r.vars} for e in columns):
        return None
    return Sum(r, x, w, tuple(e for e in r.valid if e not in columns), columns)


def _sums(stores: Sequence[Store]) -> list[Reduction]:
    return list(dict.fromkeys(r for x in stores for r in walk(x.value) if isinstance(r, Reduction)))


def _part(count: int, most: int) -> int:
    """The size of the parts, equal ones but for the last, of at most so many."""
    return -(-count // -(-count // most))


def _blocks(form: FewOutputs) -> list[_Block]:
    """Tiles of a line; those that are alike are one block."""
    size, found = extent(form.lane).value, list[_Block]()
    for first in range(0, size, form.vectors * WIDE):
        starts = range(first, min(size, first + form.vectors * WIDE), WIDE)
        lanes = tuple(min(WIDE, size - at) for at in starts)
        padded = tuple(not all(is_nonnegative(e.substitute({form.lane: sym(Sym("lane", 0, n - 1)) + at}))
                               for x in form.sums for e in x.columns) for at, n in zip(starts, lanes, strict=True))
        last = found[-1] if found else None
        if last is not None and (last.lanes, last.padded) == (lanes, padded) and not any(padded):
            found[-1] = _Block(last.first, last.count + 1, lanes, padded)
        else:
            found.append(_Block(first, 1, lanes, padded))
    return found


# -- code -----------------------------------------------------------------------------------------------------------
def emit(e: ScalarEmitter, kernel: LoopNestKernel, form: FewOutputs) -> None:
    """Lines of results, all channels of each, split over the team."""
    e.lines += share(e, product(extent(s) for s in form.rows), max(1, kernel.grain // form.channels))
    loops = [(e.bind(s), e.index(extent(s))) for s in form.rows]
    e.lines += positions(loops, "begin")
    e.open(form.rows)
    _line(e, form, kernel.phases[0].stores)
    if loops:
        e.lines += next_item([name for name, _ in loops], [size for _, size in loops])
    e.close("for (tc_index item = begin; item < end; ++item)")


def _line(e: ScalarEmitter, form: FewOutputs, stores: Sequence[Store]) -> None:
    for block in _blocks(form):
        at: Expr = const(block.first)
        head = ""
        if block.count > 1:
            tile = Sym("tile", 0, block.count - 1)
            name = e.names[tile] = e.fresh("tile")
            at = at + sym(tile) * (len(block.lanes) * WIDE)
            head = f"for (tc_index {name} = 0; {name} < {block.count}; ++{name})"
            e.open((tile,))
        else:
            e.open()
        for channel in range(0, form.channels, form.side):
            _tile(e, form, stores, block, at, range(channel, min(form.channels, channel + form.side)))
        e.close(head)


def _tile(e: ScalarEmitter, form: FewOutputs, stores: Sequence[Store], block: _Block, at: Expr, outs: range) -> None:
    e.open()
    accs = [_sum_up(e, form, x, block, at, outs) for x in form.sums]
    for o in range(len(outs)):
        for v, lanes in enumerate(block.lanes):
            _store(e, form, stores, outs[o], [of[o][v] for of in accs], at + v * WIDE, lanes)
    e.close("")


def _sum_up(e: ScalarEmitter, form: FewOutputs, x: Sum, block: _Block, at: Expr, outs: range) -> list[list[str]]:
    """The names of the sums of these channels, of each vector."""
    accs = [[e.fresh("s") for _ in block.lanes] for _ in outs]
    e.lines += [f"tcv_f32 {acc} = tcv_splat_f32(0.0f);" for of in accs for acc in of]
    heads: list[str] = []
    guard, ranges = x.lines, None
    for number in range(len(x.sum.vars) + 1):   # guards and ranges stand in front of the loops that they do not need
        later = set(x.sum.vars[number:])
        known = tuple(a for a in guard if not a.symbols() & later)
        if known:
            e.open(guard=True)
            heads.append(f"if ({e.all_nonnegative(known)})")
            guard = tuple(a for a in guard if a not in known)
        if ranges is None and not any(a.symbols() & later for a in x.columns):
            ranges = _ranges(e, form, x, block, at)
        if later:
            heads.append(e.loop(x.sum.vars[number]))
    assert ranges is not None
    _turn(e, form, x, at, outs, accs, ranges)
    for head in reversed(heads):
        e.close(head)
    return accs


def _ranges(e: ScalarEmitter, form: FewOutputs, x: Sum, block: _Block, at: Expr) -> list[tuple[str, str] | None]:
    """Of each vector, the lanes whose elements exist; None: all."""
    found: list[tuple[str, str] | None] = []
    for v, (lanes, padded) in enumerate(zip(block.lanes, block.padded, strict=True)):
        if not padded:
            found.append(None if lanes == WIDE else ("0", str(lanes)))
            continue
        low, high = ["0"], [str(lanes)]
        for asked in x.columns:
            rest = asked.substitute({form.lane: at + v * WIDE})
            if asked.coefficient(form.lane) == 1:
                low.append(e.index(-rest))
            else:
                high.append(e.index(rest + 1))
        names = []
        for kind, parts in (("tc_max", low), ("tc_min", high)):
            text = parts[0]
            for part in parts[1:]:
                text = f"{kind}({text}, {part})"
            names.append(e.fresh("lo" if kind == "tc_max" else "hi"))
            e.lines.append(f"const tc_index {names[-1]} = {text};")
        e.lines[-1] = f"const tc_index {names[1]} = tc_max({names[0]}, {text});"
        found.append((names[0], names[1]))
    return found


def _turn(e: ScalarEmitter, form: FewOutputs, x: Sum, at: Expr, outs: range, accs: list[list[str]],
          ranges: list[tuple[str, str] | None]) -> None:
    """One term of all sums of a tile."""
    weights, image = e.address(x.weights.buffer, x.weights.index), e.address(x.image.buffer, x.image.index)
    names = []
    for o in outs:
        names.append(e.fresh("w"))
        place = f"{e.pointers[x.weights.buffer]}[{e.index(weights.substitute(form.at(o)))}]"
        e.lines.append(f"const tcv_f32 {names[-1]} = tcv_splat_f32({place});")
    place = e.fresh("x")
    first = e.index(image.substitute({form.lane: at}))
    e.lines.append(f"const float *const {place} = {e.pointers[x.image.buffer]} + ({first});")
    for v, lanes in enumerate(ranges):
        name, there = e.fresh("v"), f"{place} + {v * WIDE}" if v else place
        text = f"tcv_load_f32({there})" if lanes is None else \
            f"tcv_loadw_f32({there}, {lanes[0]}, {lanes[1]}, tcv_splat_f32(0.0f))"
        e.lines.append(f"const tcv_f32 {name} = {text};")
        e.lines += [f"{of[v]} = tcv_fma_f32({name}, {w}, {of[v]});" for of, w in zip(accs, names, strict=True)]


def _store(e: ScalarEmitter, form: FewOutputs, stores: Sequence[Store], channel: int, accs: list[str], at: Expr,
           lanes: int) -> None:
    """What becomes of one vector of each sum."""
    lane = Sym("lane", 0, lanes - 1)
    there = form.at(channel) | {form.lane: sym(lane) + at}
    change = Rewriter(lambda a: a.substitute(there))
    here = [rewritten(x, change) for x in stores]
    e.open((lane,))
    e.names[lane] = "0"
    e.width, e.vector, e.lanes = WIDE, lane, None if lanes == WIDE else str(lanes)
    for x, acc in zip(form.sums, accs, strict=True):
        name = e.fresh("sum")   # never -0: a fused product that underflows may be
        e.lines.append(f"const tcv_f32 {name} = tcv_add_f32({acc}, tcv_splat_f32(0.0f));")
        (moved,) = _sums([Store(stores[0].buffer, stores[0].index, change(x.sum))])
        e.know(moved, name)
    e.stores(here)
    e.width, e.vector, e.lanes = 1, None, None
    e.close("")
