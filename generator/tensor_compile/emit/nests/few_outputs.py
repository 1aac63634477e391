# SPDX-License-Identifier: Apache-2.0
"""Convolutions of few output channels whose images lie line by line: lanes follow a line, and all output channels
of a block of vectors are computed together, so that an element is loaded once for all of them.

Panels would have as many lanes as there are output channels. The terms of a sum keep their order: loops over the
window, in them over the channels. Which lanes of a vector have a term is known of each position of the window along the
line; a term of the padding leaves the sum of its lanes as it is. Where the length of a line is not known, vectors all
lanes of which have all terms are code of their own (open_rows.py), and others find their lanes when they run.
"""
from __future__ import annotations

from dataclasses import replace
from typing import Iterator

from ...instruction_sets import InstructionSet
from ...loops.accesses import written
from ...loops.few_outputs import MOST_OUTPUTS, few
from ...loops.loop_ir import LoopNestKernel, Store
from ...loops.scalar_ir import Load, Reduction
from ...loops.scalars import Rewriter, rewritten
from ...records import dataclass
from ...symbolic import Expr, Sym, const, floordiv, is_nonnegative, product, sym
from ..scalar import ScalarEmitter, extent
from .along_lines import LANES, follows
from .items import next_item, positions, share
from .lane_groups import factors
from .open_rows import is_open, least, Piece, reaches_behind, walk_row
from .window import windows_of

MOST_WIDTH = 8      # vectors of a block
LEAST_VECTORS = 32  # of a part of a line whose length is not known


@dataclass(frozen=True, slots=True)
class Sum:
    """line: the variable of the window that decides which lanes have a term (None: all have all)."""

    sum: Reduction
    image: Load
    weights: Load
    line: Sym | None

    @property
    def terms(self) -> list[dict[Sym, Expr]]:
        """What the variable of the line is, for each of its values."""
        return [{}] if self.line is None else [{self.line: const(t)} for t in range(extent(self.line).value)]


@dataclass(frozen=True, slots=True)
class FewOutputs:
    """sums: several where results of convolutions are added. out: the variables of the output channels: none where
    there is one channel, several where channels become positions. outs: how many channels a block has. block: the
    variable of the blocks; None where there is one. rows: the other variables, and that of the blocks. lanes: the
    variable along the line, which is cut into `count` blocks of `width` vectors, the last of which has fewer. count: 0
    of a line whose length is not known."""

    sums: tuple[Sum, ...]
    out: tuple[Sym, ...]
    outs: int
    block: Sym | None
    rows: tuple[Sym, ...]
    lanes: Sym
    width: int
    count: int

    def channel(self, o: int) -> dict[Sym, Expr]:
        """The output channel of number o in a block."""
        if self.block is not None:
            return {self.out[0]: sym(self.block) * self.outs + o}
        found: dict[Sym, Expr] = {}
        for s in reversed(self.out):
            o, at = divmod(o, extent(s).value)
            found[s] = const(at)
        return found

    @property
    def items(self) -> Expr:
        return product(extent(s) for s in self.rows) * self.parts

    @property
    def parts(self) -> Expr:
        """Of a line."""
        return const(self.count) if self.count else floordiv(extent(self.lanes) + (self.part - 1), const(self.part))

    @property
    def part(self) -> int:
        """Positions of a part of a line whose length is not known."""
        return LANES * self.width * -(-LEAST_VECTORS // self.width)

    def blocks(self) -> Iterator[tuple[Expr, Sym | None, int]]:
        """Which blocks are code of their own: the first position, the variable that it depends on, and how many vectors
        there are."""
        size = extent(self.lanes).value
        behind = -(-size // LANES) - self.width * (self.count - 1)
        yield const(0), None, self.width if self.count > 1 else behind
        if self.count > 2:
            at = Sym("part", 1, self.count - 2)
            yield sym(at) * (self.width * LANES), at, self.width
        if self.count > 1:
            yield const((self.count - 1) * self.width * LANES), None, behind


def find(kernel: LoopNestKernel, isa: InstructionSet) -> FewOutputs | None:
    """The form of a kernel that is such a convolution, or several of the same points; None of others."""
    if len(kernel.phases) != 1 or kernel.phases[0].reduces or len(kernel.phases[0].vars) != 1:
        return None
    (phase,), (lanes,) = kernel.phases, kernel.phases[0].vars
    if not phase.vector or any(x.dynamic for x in phase.stores):
        return None
    found = [_sum(r, kernel, lanes) for r in windows_of(phase.stores)]
    parts = [x for x in found if x is not None]
    if not parts or len(parts) < len(found) or len({out for _, out in parts}) > 1:
        return None
    out = parts[0][1]
    outs = product(extent(s) for s in out)
    if out and not (outs.is_const and all(_few(x, outs.value) for x, _ in parts)) \
            or len(out) > 1 and outs.value > MOST_OUTPUTS:
        return None
    return _cut(tuple(x for x, _ in parts), out, tuple(s for s in kernel.rows if s not in out), lanes, isa)


def _sum(r: Reduction, kernel: LoopNestKernel, lanes: Sym) -> tuple[Sum, tuple[Sym, ...]] | None:
    """A sum, and the variables of its output channels."""
    loads, buffers = factors(r), {b.name: b for b in kernel.params}
    if loads is None or loads[0].buffer in written(kernel) or not follows(r, lanes, buffers):
        return None
    image, weights = (buffers[f.buffer].address(f.index) for f in loads)
    of_weights = [s for s in kernel.rows if s in weights.symbols()]
    outs = [s for s in of_weights if s not in image.symbols()]   # the others are groups
    if image.coefficient(lanes) not in (1, 2) or lanes in weights.symbols() \
            or of_weights != outs and (not outs or len(r.vars) == 1):   # depthwise, or no window
        return None
    asked = {s for e in r.valid if lanes in e.symbols() for s in e.symbols() if s in r.vars}
    if len(asked) > 1 or any(s in e.symbols() for e in r.valid for s in outs):
        return None
    return Sum(r, *loads, next(iter(asked), None)), tuple(outs)


def _few(part: Sum, outs: int) -> bool:
    terms = product(extent(s) for s in part.sum.vars)
    return few(outs, terms.value if terms.is_const else None)


def _cut(parts: tuple[Sum, ...], out: tuple[Sym, ...], rows: tuple[Sym, ...], lanes: Sym,
         isa: InstructionSet) -> FewOutputs | None:
    whole = product(extent(s) for s in out).value
    outs = whole if whole <= MOST_OUTPUTS else _in_block(len(parts), isa)
    block = Sym("outs", 0, whole // outs - 1) if whole > outs else None
    rows = rows if block is None else (*rows, block)
    most = max(1, min(MOST_WIDTH, _room(outs, isa) // (outs * len(parts))))
    if is_open(lanes):
        known = least((part.sum for part in parts), lanes) is not None
        return FewOutputs(parts, out, outs, block, rows, lanes, most, 0) if known else None
    vectors = -(-extent(lanes).value // LANES)
    count = -(-vectors // most)
    made = FewOutputs(parts, out, outs, block, rows, lanes, -(-vectors // count), count)
    made = replace(made, count=-(-vectors // made.width))
    known = all(_present(made, part, first + LANES * v, term) is not None
                for first, _, count in made.blocks() for v in range(count) for part in parts for term in part.terms)
    return made if known else None


def _room(outs: int, isa: InstructionSet) -> int:
    """Vectors of sums that registers hold beside the weights of so many output channels and an element."""
    return isa.room - -(-outs * isa.lanes // LANES) - 1


def _in_block(parts: int, isa: InstructionSet) -> int:
    """Of many output channels, how many are computed together: as many as have room, so that all are whole blocks."""
    return next((n for n in (MOST_OUTPUTS, MOST_OUTPUTS // 2, MOST_OUTPUTS // 4) if n * parts <= _room(n, isa)), 1)


def _present(form: FewOutputs, part: Sum, first: Expr, term: dict[Sym, Expr]) -> tuple[int, int] | None:
    """The lanes of the vector from `first` that have a term; None where that is not known."""
    size = extent(form.lanes).value
    most = min(LANES, size - first.value) if first.is_const else LANES
    lane, lo, hi = Sym("lane", 0, most - 1), 0, most
    for e in part.sum.valid:
        if form.lanes not in e.symbols():
            continue
        at = e.substitute({form.lanes: sym(lane) + first, **term})
        if is_nonnegative(at):
            continue
        step, rest = at.coefficient(lane), at.substitute({lane: const(0)})
        if step is None or not step.is_const or not rest.is_const or not step.terms:
            return None
        if step.value > 0:
            lo = max(lo, -(rest.value // step.value))
        else:
            hi = min(hi, rest.value // -step.value + 1)
    return lo, max(lo, hi)


# -- which lanes have a term ----------------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class Lanes:
    """Those of a vector that have a term, from lo to hi - 1, and the mask by which others keep their sum; "" where
    nothing is added to it. All C text."""

    lo: str
    hi: str
    mask: str

    @property
    def all(self) -> bool:
        return (self.lo, self.hi) == ("0", str(LANES))

    @property
    def evens(self) -> str:
        """The elements from the first one to the last, where lanes take every other one."""
        if self.lo.isdigit() and self.hi.isdigit():
            return f"{2 * int(self.lo)}, {2 * int(self.hi) - 1}"
        return f"2 * ({self.lo}), 2 * ({self.hi}) - 1"


WHOLE = Lanes("0", str(LANES), "")


@dataclass(frozen=True, slots=True)
class Block:
    """`vectors` of a line from `first` on. lanes: those that a vector has of a term of a sum, in the order of the
    terms; None where it has none. ends: how many lanes of a vector are positions, as C text; "" where all are."""

    first: Expr
    vectors: int
    lanes: dict[tuple[Sum, int], list[Lanes | None]]
    ends: list[str]

    def of(self, part: Sum, number: int) -> list[Lanes | None]:
        """The lanes that all vectors have of the term of this number."""
        return [self.lanes[part, v][number] for v in range(self.vectors)]


def _known(form: FewOutputs, first: Expr, vectors: int) -> Block:
    lanes: dict[tuple[Sum, int], list[Lanes | None]] = {}
    ends: list[str] = []
    for v in range(vectors):
        low = first + LANES * v
        for part in form.sums:
            found = [_present(form, part, low, term) for term in part.terms]
            lanes[part, v] = [Lanes(str(r[0]), str(r[1]), f"tcv_range({r[0]}, {r[1]})" if r != (0, LANES) else "")
                              if r and r[0] < r[1] else None for r in found]
        behind = extent(form.lanes).value - low.value if low.is_const else LANES
        ends.append("" if behind >= LANES else str(behind))
    return Block(first, vectors, lanes, ends)


def _all(form: FewOutputs, first: Expr, vectors: int) -> Block:
    """Vectors all lanes of which have all terms."""
    return Block(first, vectors, {(part, v): [WHOLE for _ in part.terms] for part in form.sums for v in range(vectors)},
                 [""] * vectors)


def _asked(e: ScalarEmitter, form: FewOutputs, first: Expr, vectors: int, high: str) -> Block:
    """Vectors that find their lanes when they run; the last one may reach beyond the end of the line, `high`. Lanes
    that have no term load 0, which adds nothing to a sum by weights that are known to be finite."""
    lanes: dict[tuple[Sum, int], list[Lanes | None]] = {}
    ends = [""] * vectors
    for v in range(vectors):
        low, lane = first + LANES * v, Sym("lane", 0, LANES - 1)
        if v == vectors - 1:
            ends[v] = e.name_index(f"tc_min({LANES}, {high} - ({e.index(low)}))", len(e.scopes) - 1)
        e.names[lane], e.width, e.vector, e.lanes = "0", LANES, lane, ends[v] or None
        for part in form.sums:
            lanes[part, v] = []
            for term in part.terms:
                tests = [x.substitute({form.lanes: sym(lane) + low, **term}) for x in part.sum.valid
                         if form.lanes in x.symbols() and (ends[v] or not reaches_behind(x, form.lanes))]
                found = e.window([x for x in tests if not is_nonnegative(x)], len(e.scopes) - 1)
                assert found is not None and not found[0]
                lo, hi = found[1:]
                mask = ""
                if (lo, hi) != ("0", str(LANES)) and not _adds_zeros(e, part, form):
                    mask = e.fresh("m")
                    e.lines.append(f"const tcv_mask {mask} = tcv_range({lo}, {hi});")
                lanes[part, v].append(Lanes(lo, hi, mask))
        e.width, e.vector, e.lanes = 1, None, None
    return Block(first, vectors, lanes, ends)


def _adds_zeros(e: ScalarEmitter, part: Sum, form: FewOutputs) -> bool:
    """What a lane without a term loads is 0, and its product is 0, as builds refuse weights that are not finite."""
    image = e.address(part.image.buffer, part.image.index)
    return image.coefficient(form.lanes) == 1 and e.buffers[part.weights.buffer].kind == "packed"


# -- code -----------------------------------------------------------------------------------------------------------
def emit(e: ScalarEmitter, kernel: LoopNestKernel, form: FewOutputs) -> None:
    """The loops over items begin to end-1."""
    # The grain counts lines of one channel. A part of a line whose length is not known is taken for a line, as it may
    # be one: where positions were counted instead, calls were as fast.
    e.lines += share(e, form.items, max(1, kernel.grain * max(1, form.count) // form.outs))
    loops = [(e.bind(s), e.index(extent(s))) for s in form.rows]
    part = e.fresh("part")
    if form.count != 1:
        loops.append((part, e.index(form.parts)))
    e.lines += positions(loops, "begin")
    e.open(form.rows)
    stores = kernel.phases[0].stores
    if form.count:
        _of_known(e, stores, form, part)
    else:
        _of_open(e, stores, form, part)
    e.lines += next_item([name for name, _ in loops], [size for _, size in loops]) if loops else []
    e.close("for (tc_index item = begin; item < end; ++item)")


def _of_known(e: ScalarEmitter, stores: tuple[Store, ...], form: FewOutputs, part: str) -> None:
    """The code of the parts of a line, a block each."""
    made: list[tuple[str, list[str]]] = []   # what all blocks need is written before the first of them
    for number, (first, at, vectors) in enumerate(form.blocks()):
        if at is None:
            e.open()
        else:
            e.open((at,))
            e.names[at] = part
        _block(e, stores, form, _known(form, first, vectors))
        test = "" if form.count == 1 else f"if ({part} == 0)" if number == 0 else \
            "else" if at is None else f"else if ({part} < {form.count - 1})"
        made.append((test, e.scopes.pop().lines))
    for test, lines in made:
        e.lines += [f"{test} {{".lstrip(), *(f"    {line}" for line in lines), "}"]


def _of_open(e: ScalarEmitter, stores: tuple[Store, ...], form: FewOutputs, part: str) -> None:
    """The code of the parts of a line whose length is not known."""
    low, high = e.fresh("low"), e.fresh("high")
    e.lines += [f"const tc_index {low} = {part} * {form.part};",
                f"const tc_index {high} = tc_min({low} + {form.part}, {e.index(extent(form.lanes))});"]
    tests = least((x.sum for x in form.sums), form.lanes) or []
    behind = [test for test in tests if reaches_behind(test, form.lanes)]

    def asking(count: int) -> Piece:
        """Of several vectors the last one alone reaches what lies behind the line."""
        inside = LANES * (count - 1)
        return Piece(LANES * count, inside + 1, inside, behind if inside else (),
                     lambda at: _block(e, stores, form, _asked(e, form, sym(at), count, high)))
    whole = Piece(LANES * form.width, LANES * form.width, LANES * form.width, tests,
                  lambda at: _block(e, stores, form, _all(form, sym(at), form.width)))
    counts = dict.fromkeys((*range(form.width, 0, -2), 1))    # one or two of them take what is left of a line
    walk_row(e, form.lanes, low, high, [*([whole] if tests else []), *map(asking, counts)])


def _block(e: ScalarEmitter, stores: tuple[Store, ...], form: FewOutputs, block: Block) -> None:
    accs = [_sum_up(e, form, part, block) for part in form.sums]
    for v in range(block.vectors):
        _store(e, stores, form, block.first + LANES * v, block.ends[v], [[row[v] for row in rows] for rows in accs])


def _sum_up(e: ScalarEmitter, form: FewOutputs, part: Sum, block: Block) -> list[list[str]]:
    """The names of a sum of all output channels, of each vector."""
    accs = [[e.fresh("s") for _ in range(block.vectors)] for _ in range(form.outs)]
    e.lines += [f"tcv_f32 {acc} = tcv_splat_f32(0.0f);" for row in accs for acc in row]
    place = len(part.sum.vars) if part.line is None else part.sum.vars.index(part.line)
    around, inside = part.sum.vars[:place], part.sum.vars[place + 1:]
    heads = [e.loop(s) for s in around]
    for number, term in enumerate(part.terms):
        lanes = block.of(part, number)
        if not any(lanes):
            continue
        guard = [x.substitute(term) for x in part.sum.valid if form.lanes not in x.symbols()]
        guard = [x for x in guard if not is_nonnegative(x)]
        within = []
        for behind in range(len(inside) + 1):    # each condition around the loops that it does not depend on
            if behind:
                within.append(e.loop(inside[behind - 1]))
            known = [x for x in guard if x.symbols().isdisjoint(inside[behind:])]
            guard = [x for x in guard if x not in known]
            if known:
                within.append(f"if ({e.all_nonnegative(known)})")
                e.open(guard=True)
        _term(e, form, part, term, block.first, lanes, accs)
        for head in reversed(within):
            e.close(head)
    for head in reversed(heads):
        e.close(head)
    e.lines += [f"{acc} = tcv_add_f32({acc}, tcv_splat_f32(0.0f));" for row in accs for acc in row]   # never -0
    return accs


def _term(e: ScalarEmitter, form: FewOutputs, part: Sum, term: dict[Sym, Expr], first: Expr,
          lanes: list[Lanes | None], accs: list[list[str]]) -> None:
    """Adds a term to the sums of all output channels and of all vectors that have it. lanes: of each vector."""
    image, weights = part.image, part.weights
    places = [e.address(f.buffer, f.index).substitute(term) for f in (image, weights)]
    splats = []
    for o in range(form.outs):
        at = places[1].substitute(form.channel(o))
        splats.append(e.fresh("w"))
        e.lines.append(f"const tcv_f32 {splats[-1]} = tcv_splat_f32({e.pointers[weights.buffer]}[{e.index(at)}]);")
    for v, there in enumerate(lanes):
        if there is None:
            continue
        low = first + LANES * v
        x, place = e.fresh("x"), f"{e.pointers[image.buffer]} + ({e.index(places[0].substitute({form.lanes: low}))})"
        text = f"tcv_evens_f32({place}, {there.evens})" if places[0].coefficient(form.lanes) == 2 else \
            f"tcv_load_f32({place})" if there.all else \
            f"tcv_loadw_f32({place}, {there.lo}, {there.hi}, tcv_splat_f32(0.0f))"
        e.lines.append(f"const tcv_f32 {x} = {text};")
        for o, w in enumerate(splats):
            acc = accs[o][v]
            added = f"tcv_fma_f32({x}, {w}, {acc})"
            e.lines.append(f"{acc} = {added};" if not there.mask else
                           f"{acc} = tcv_select_f32({there.mask}, {added}, {acc});")


def _store(e: ScalarEmitter, stores: tuple[Store, ...], form: FewOutputs, first: Expr, lanes: str,
           accs: list[list[str]]) -> None:
    """Stores what all output channels have at the positions of a vector. lanes: how many there are, "" of all; accs: of
    each sum, of each channel."""
    for o in range(form.outs):
        lane = Sym("lane", 0, int(lanes) - 1 if lanes.isdigit() else LANES - 1)
        at = {form.lanes: sym(lane) + first} | form.channel(o)
        here = _at(stores, at)
        e.open((lane,))
        e.names[lane] = "0"
        e.width, e.vector, e.lanes = LANES, lane, lanes or None
        for x, of in zip(windows_of(here), accs, strict=True):
            e.know(x, of[o])
        e.stores(here)
        e.width, e.vector, e.lanes = 1, None, None
        e.close("")


def _at(stores: tuple[Store, ...], at: dict[Sym, Expr]) -> list[Store]:
    change = Rewriter(lambda x: x.substitute(at))
    return [rewritten(x, change) for x in stores]
