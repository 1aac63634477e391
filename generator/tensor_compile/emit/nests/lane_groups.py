# SPDX-License-Identifier: Apache-2.0
"""Convolutions of few output channels a group: lanes are the output channels of as many groups as 16 lanes hold.

Channels lie side by side, so what the lanes of a term need, each an element of its own group, comes of few vectors that
are permuted (tc_groups.h). `Cut.width` positions of the last row variable are computed together. Terms of one line of
the window are code of their own, in the order of the image's elements: an element is permuted once, for all positions
that read it. Each position meets its elements in the order of its terms, so every sum keeps its order. The first and
the last positions of a row are code of their own, as in window.py.
"""
from __future__ import annotations

from dataclasses import replace
from typing import Sequence

from ...instruction_sets import InstructionSet, WIDE
from ...loops.accesses import written
from ...loops.loop_ir import LoopNestKernel, Phase
from ...loops.scalar_ir import Load, Reduction, Scalar
from ...loops.scalars import Rewriter, rewritten
from ...records import dataclass
from ...symbolic import Expr, Sym, ZERO, const, floordiv, is_nonnegative, sym
from ..scalar import ScalarEmitter, extent
from .window import Cut, windows_of
from . import open_rows

MOST_WIDTH = 8      # positions side by side
MOST_LINE = 320     # terms of one line of the window
MOST_CODE = 640     # of all positions
QUAD = 4            # lanes that one instruction gives an element of theirs


@dataclass(frozen=True, slots=True)
class LaneGroups:
    """kernel: with one variable, `channels`, in place of that of the groups and that of a group's results; outs and
    ins: results and operands of a group; line: the variable of the window whose terms are code of their own (None: the
    window has one term); channel: the variable of the operands of a group (None: there is one); cut: the positions."""

    kernel: LoopNestKernel
    channels: Sym
    groups: int
    outs: int
    ins: int
    line: Sym | None
    channel: Sym | None
    cut: Cut

    @property
    def side(self) -> int:
        """Groups of a block of lanes."""
        return min(WIDE // self.outs, self.groups)


@dataclass(frozen=True, slots=True)
class _Entry:
    """A term of a position, for all channels of its group: the element of the image for channel 0 of the first group is
    at `place`, and exists where `guard` holds."""

    position: int
    term: int
    place: Expr
    guard: tuple[Expr, ...]


def find(kernel: LoopNestKernel, isa: InstructionSet) -> LaneGroups | None:
    """The form of a kernel that is such a convolution; None of others."""
    if len(kernel.phases) != 1 or len(kernel.rows) < 2:
        return None
    (phase,) = kernel.phases
    if phase.reduces or len(phase.vars) != 1 or not phase.vector or any(x.dynamic for x in phase.stores):
        return None
    (lane,), found = phase.vars, windows_of(phase.stores)
    outs = extent(lane)
    if len(found) != 1 or not outs.is_const or not 1 < outs.value < WIDE:
        return None
    loads = factors(found[0])
    if loads is None or loads[0].buffer in written(kernel):
        return None
    return _form(kernel, found[0], loads, outs.value, isa)


def factors(r: Reduction) -> tuple[Load, Load] | None:
    """The element of the image and the weight of a sum of products of f32."""
    if r.op != "dot" or r.order != "seq" or r.dtype != "f32" or not all(extent(s).is_const for s in r.vars):
        return None
    x, w = r.value.children
    if not isinstance(x, Load) or not isinstance(w, Load):
        return None
    plain = all(f.dtype == "f32" and not f.dynamic and not f.valid for f in (x, w))
    return (x, w) if plain else None


def _form(kernel: LoopNestKernel, r: Reduction, factors: tuple[Load, Load], outs: int, isa: InstructionSet
          ) -> LaneGroups | None:
    (lane,) = kernel.phases[0].vars
    buffers = {b.name: b for b in kernel.params}
    image, weights = (buffers[f.buffer].address(f.index) for f in factors)
    of_groups = [s for s in kernel.rows if weights.coefficient(s) == outs and extent(s).is_const]
    if len(of_groups) != 1 or weights.coefficient(lane) != 1 or image.coefficient(lane) != 0:
        return None
    (g,) = of_groups
    ins, last = image.coefficient(g), r.vars[-1]
    channel = last if image.coefficient(last) == 1 and ins == extent(last) else None
    if ins is None or channel is None and ins != 1 or {lane, g, channel} & set().union(*(e.symbols() for e in r.valid)):
        return None
    rows, window = tuple(s for s in kernel.rows if s is not g), [s for s in r.vars if s is not channel]
    line = window[-1] if window else None
    row, terms = rows[-1], ins.value * (extent(line).value if line else 1)
    if row not in image.symbols() or terms > MOST_LINE or open_rows.is_open(row) and open_rows.least([r], row) is None:
        return None
    merged, channels = _merged(kernel, rows, g, lane)
    return LaneGroups(merged, channels, extent(g).value, outs, ins.value, line, channel, _cut(r, row, terms, isa))


def _merged(kernel: LoopNestKernel, rows: tuple[Sym, ...], g: Sym, lane: Sym) -> tuple[LoopNestKernel, Sym]:
    """The kernel with one variable for all output channels, and that variable."""
    outs, (phase,) = extent(lane), kernel.phases
    channels = Sym(g.name, 0, extent(g) * outs - 1)
    group = floordiv(sym(channels), outs)
    back = {g: group, lane: sym(channels) - group * outs}
    change = Rewriter(lambda e: e.substitute(back))
    made = Phase((channels,), (), tuple(rewritten(x, change) for x in phase.stores), True)
    return replace(kernel, rows=rows, phases=(made,), grain=max(1, kernel.grain // extent(g).value)), channels


def _cut(r: Reduction, row: Sym, terms: int, isa: InstructionSet) -> Cut:
    """Half of the registers are sums: others are weights and elements."""
    most = max(1, min(MOST_WIDTH, isa.room // 2, MOST_CODE // terms))
    alike = not any(row in e.symbols() for e in r.valid)
    if open_rows.is_open(row):
        return Cut(row, most, None, 0, alike)
    size = extent(row).value
    width = -(-size // -(-size // most))
    count = -(-size // width)
    return Cut(row, width, count, size - width * (count - 1), alike)


# -- code -----------------------------------------------------------------------------------------------------------
def emit(e: ScalarEmitter, form: LaneGroups, phases: Sequence[Phase], piece: tuple[str, str] | None) -> None:
    """All channels of some positions, those of each phase; piece: the first channel and the one behind the last,
    multiples of 16 or the ends."""
    side, lanes = form.side, form.side * form.outs
    full, rest = divmod(form.groups, side)
    assert piece is None or lanes == WIDE
    block, name = Sym("block", 0, max(0, full - 1)), e.fresh("block")
    if full:
        low, high = ("0", str(full)) if piece is None else \
            (f"{piece[0]} / {WIDE}", f"tc_min({piece[1]}, {full * WIDE}) / {WIDE}")
        e.names[block] = name
        e.open((block, form.channels))
        _block(e, form, phases, sym(block), side)
        e.close(f"for (tc_index {name} = {low}; {name} < {high}; ++{name})")
    if rest:
        e.open((form.channels,))
        _block(e, form, phases, const(full), rest)
        e.close(f"if ({piece[1]} > {full * WIDE})" if piece is not None else "")


def _block(e: ScalarEmitter, form: LaneGroups, phases: Sequence[Phase], block: Expr, groups: int) -> None:
    """One block of lanes, of so many groups."""
    v, first = form.channels, block * (form.side * form.outs)
    name = e.bind(v)
    e.lines.append(f"const tc_index {name} = {e.index(first)};")
    lanes, steady = groups * form.outs, e.steady
    e.width, e.vector, e.lanes, e.steady = WIDE, v, None if lanes == WIDE else str(lanes), lanes == WIDE
    _Sums(e, form, [windows_of(phase.stores)[0] for phase in phases], first, groups).compute()
    stores = [x for phase in phases for x in phase.stores]
    done = [(x, e.value(x.value)) for x in stores]
    for x, result in done:
        e.store_value(x, result)
    e.width, e.vector, e.lanes, e.steady = 1, None, None, steady


class _Sums:
    """The sums of some positions for one block of lanes, whose first channel is `first`."""

    def __init__(self, e: ScalarEmitter, form: LaneGroups, found: list[Reduction], first: Expr, groups: int):
        self.e, self.form, self.found, self.first, self.groups = e, form, found, first, groups
        self.around = [s for s in found[0].vars if s is not form.line and s is not form.channel]

    def compute(self) -> None:
        e, zero = self.e, "tcv_splat_f32(0.0f)"
        accs = [e.fresh("s") for _ in self.found]
        e.lines += [f"tcv_f32 {acc} = {zero};" for acc in accs]
        entries = self.entries()
        if entries:
            same = tuple(x for x in entries[0].guard if all(x in other.guard for other in entries))
            heads = [e.loop(s) for s in self.around]
            if same:
                e.open(guard=True)
            for place in dict.fromkeys(x.place for x in entries):
                here = [x for x in entries if x.place is place]
                self.element(here, tuple(x for x in here[0].guard if x not in same), accs)
            if same:
                e.close(f"if ({e.all_nonnegative(same)})")
            for head in reversed(heads):
                e.close(head)
        for acc, r in zip(accs, self.found, strict=True):   # never -0: a fused product that underflows may be
            e.lines.append(f"{acc} = tcv_add_f32({acc}, {zero});")
            e.know(r, acc)

    def entries(self) -> list[_Entry]:
        """The terms of all positions in the order in which they are added."""
        line, made = self.form.line, []
        for position, r in enumerate(self.found):
            x = r.value.children[0]
            assert isinstance(x, Load)
            address = self.e.address(x.buffer, x.index)
            for term in range(extent(line).value if line is not None else 1):
                at = {self.form.channels: self.first}
                if self.form.channel is not None:
                    at[self.form.channel] = ZERO
                if line is not None:
                    at[line] = const(term)
                asked = [a.substitute(at) for a in r.valid]
                if any(is_nonnegative(-1 - a) for a in asked):
                    continue
                guard = tuple(a for a in asked if not is_nonnegative(a))
                made.append(_Entry(position, term, address.substitute(at), guard))
        steps = [x.place - made[0].place for x in made]
        if all(step.is_const for step in steps):
            made = [x for _, x in sorted(zip(steps, made, strict=True), key=lambda both: both[0].value)]
            for position in range(len(self.found)):   # the elements of a position lie in the order of its terms
                mine = [x.term for x in made if x.position == position]
                assert mine == sorted(mine)
        return made

    def element(self, entries: list[_Entry], guard: tuple[Expr, ...], accs: list[str]) -> None:
        """Adds all terms of the elements at one place of the image."""
        e = self.e
        if guard:
            e.open(guard=True)
        held: dict[int, str] = {}
        for c in range(self.form.ins):
            for x in entries:
                acc = accs[x.position]
                e.lines.append(f"{acc} = {self.product(x, c, held)}, {self.weight(x, c)}, {acc});")
        if guard:
            e.close(f"if ({e.all_nonnegative(guard)})")

    def product(self, x: _Entry, c: int, held: dict[int, str]) -> str:
        """The beginning of a fused product of channel c of each lane's group; held: vectors by their first channel."""
        outs, ins, e = self.form.outs, self.form.ins, self.e
        quads = outs % QUAD == 0
        first = max(0, min(c // QUAD * QUAD, ins - QUAD)) if quads and ins >= QUAD else c
        if first not in held:
            r = self.found[x.position]
            image = r.value.children[0]
            assert isinstance(image, Load)
            place = f"{e.pointers[image.buffer]} + ({e.index(x.place)})"
            offsets = ", ".join(str(min(QUAD * j // outs, self.groups - 1) * ins + first) for j in range(WIDE // QUAD))
            if quads:
                text = f"tcv_{'quads' if ins >= QUAD else 'quad_splats'}_f32({place}, {offsets})"
            else:
                text = f"tcv_spread_f32({place}, {outs}, {ins}, {c}, {self.groups})"
            held[first] = e.name(text, "f32", True, len(e.scopes) - 1).text
        if quads and ins >= QUAD:
            return f"tcv_fma_in_quads_f32({held[first]}, {c - first}"
        return f"tcv_fma_f32({held[first]}"

    def weight(self, x: _Entry, c: int) -> str:
        form = self.form
        at: dict[Sym, Expr] = {}
        if form.channel is not None:
            at[form.channel] = const(c)
        if form.line is not None:
            at[form.line] = const(x.term)
        weights: Scalar = self.found[x.position].value.children[1]
        return self.e.wide(Rewriter(lambda a: a.substitute(at))(weights))
