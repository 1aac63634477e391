# SPDX-License-Identifier: Apache-2.0
"""Windows whose lanes follow a line of the image: where the last axis of a plain tensor is its width.

A line is cut into vectors of 16 results. Those at the padding are code of their own, in which terms are selected and
loads keep to the line; in the others every lane has every term. Of a line whose length is not known (open_rows.py) the
last vector finds its lanes when it runs. Of a stride of 2, two terms of a window that follow one
another take the elements of even and of odd numbers of one contiguous load; of a stride of 3, 4 or 8 as many terms as
follow one another within a stride are parts of one run of memory (in_turn.py). Long windows of a line, as depthwise
convolutions of sounds have them, load each element twice or so, and vectors of 512 bits are put together of two: nearly
every load of their own would lie in two lines of the cache.
"""
from __future__ import annotations

from typing import Iterable, Iterator, Sequence

from ...instruction_sets import IN_TURN
from ...loops.loop_ir import Store
from ...loops.scalar_ir import Buffer, Load, Reduction, Scalar
from ...loops.scalars import loads, Rewriter, rewritten, walk
from ...records import dataclass
from ...symbolic import Expr, Sym, const, is_nonnegative, sym
from .in_turn import taken
from .open_rows import is_open, least, reaches_behind
from ..scalar import V_TYPE, CValue, Scope, ScalarEmitter, extent, splat

LANES = 16
MOST_BLOCKS = 4     # of a line
FEWEST_SHIFTED = 8  # terms that follow one another from which on vectors are put together
Range = tuple[int, int | str]    # the first lane, and the one behind the last, as C text where it is not known


@dataclass(frozen=True, slots=True)
class Block:
    """`count` vectors of a line from `first` on, of `lanes` results each."""

    first: int
    count: int
    lanes: int


def follows(r: Reduction, lanes: Sym, buffers: dict[str, Buffer]) -> bool:
    """The lanes of a window's terms follow a line: every element lies a constant away from the lane's before it, and
    which exist is known of each position; of a line whose length is not known, when the kernel runs."""
    steps = []
    for x in loads(r.value):
        if x.valid or x.dynamic or x.dtype not in V_TYPE:
            return False
        steps.append(buffers[x.buffer].address(x.index).coefficient(lanes))
    if not all(step is not None and step.is_const and step.value >= 0 for step in steps):
        return False
    asked = [e for e in r.valid if lanes in e.symbols()]
    if is_open(lanes):    # Line.present finds where a line begins of these variables alone
        return least([r], lanes) is not None \
            and all(_along(e, lanes, r.vars) for e in asked if not reaches_behind(e, lanes))
    return all(_along(e, lanes, r.vars) for e in asked)


def _along(e: Expr, lanes: Sym, variables: tuple[Sym, ...]) -> bool:
    step = e.coefficient(lanes)
    return step is not None and step.is_const and e.symbols() <= {lanes, *variables}


def needed(windows: Iterable[Reduction], lanes: Sym, buffers: dict[str, Buffer]) -> bool:
    """Lanes differ in the terms that they have, or their elements do not lie side by side."""
    for r in windows:
        if any(lanes in e.symbols() for e in r.valid):
            return True
        for x in loads(r.value):
            step = buffers[x.buffer].address(x.index).coefficient(lanes)
            if step is not None and step != const(0) and step != const(1):
                return True
    return False


def step(windows: Iterable[Reduction], lanes: Sym, buffers: dict[str, Buffer]) -> int:
    """How far apart the elements of neighbouring lanes lie, the largest of all loads."""
    steps = [buffers[x.buffer].address(x.index).coefficient(lanes) for r in windows for x in loads(r.value)]
    return max(int(s.value) for s in steps if s is not None)


def blocks(stores: Sequence[Store], windows: Sequence[Reduction], lanes: Sym) -> list[Block] | None:
    """The vectors of a line; None where too many of them reach into the padding. The last one starts early where the
    line has 16 results: some are computed twice, to the same bits, as what they are made of is there still."""
    size = extent(lanes).value
    asked = {e for r in windows for e in r.valid if lanes in e.symbols()}
    count = min(size, LANES)
    found: list[Block] = []
    between = False    # whether the last one's lanes have all terms
    for first in range(0, size - count + 1, LANES):
        inside = all(_everywhere(e, lanes, first, count) for e in asked)
        if inside and between:
            found[-1] = Block(found[-1].first, found[-1].count + 1, count)
        else:
            found.append(Block(first, 1, count))
        between = inside
    rest = size % LANES if size > LANES else 0
    if rest:
        early = _reads_lines_alone(stores, lanes)
        found.append(Block(size - LANES, 1, LANES) if early else Block(size - rest, 1, rest))
    return found if len(found) <= MOST_BLOCKS else None


def _reads_lines_alone(stores: Sequence[Store], lanes: Sym) -> bool:
    """Outside of windows nothing is loaded that differs between lanes: it might lie where results are stored."""
    stack: list[Scalar] = [v for x in stores for v in x.values]
    while stack:
        s = stack.pop()
        if isinstance(s, Load) and any(lanes in e.symbols() for e in s.index):
            return False
        if not isinstance(s, Reduction):
            stack += s.children
    return True


def _everywhere(e: Expr, lanes: Sym, first: int, count: int) -> bool:
    return is_nonnegative(e.substitute({lanes: sym(Sym("lane", 0, count - 1)) + first}))


def moved(stores: Sequence[Store], lanes: Sym, at: Expr) -> list[Store]:
    change = Rewriter(lambda e: e.substitute({lanes: at}))
    return [rewritten(x, change) for x in stores]


class Line:
    """What a vector of results loads. lane: the variable of the lanes, from 0 on; lanes: how many there are, as C text
    where that is not known."""

    def __init__(self, emitter: ScalarEmitter, lane: Sym, lanes: int | str, shifts: bool):
        """shifts: vectors may be put together of two."""
        self.e, self.lane, self.lanes = emitter, lane, lanes
        self.ranges: dict[Load, Range] = {}
        self.known_ends: dict[tuple[Expr, ...], str] = {}
        self.base: dict[Load, tuple[Load, bool]] = {}    # of what lies two apart: the even one, and whether this is it
        self.odd: dict[Load, Load] = {}                  # what lies beside an even one
        self.runs: dict[Load, list[tuple[int, Load]]] = {}    # of larger strides: parts of the same run, by number
        self.guards: dict[Load, tuple[Expr, ...]] = {}
        self.shifts = shifts
        self.wholes: dict[tuple[Load, int], list[tuple[Scope, str]]] = {}    # vectors by name, where they are known
        self.shifted: dict[Load, tuple[Load, int, int]] = {}    # a line's first, how far this is, and the last

    def present(self, asked: Iterable[Expr]) -> Range:
        """The lanes for which those of these that differ between lanes are >= 0."""
        lo, hi = 0, LANES
        later: dict[Expr, None] = {}    # where the line ends is not known
        for e in asked:
            if self.lane not in e.symbols():
                continue
            step, rest = e.coefficient(self.lane), e.substitute({self.lane: const(0)})
            assert step is not None
            if not rest.is_const:
                later[e] = None
            elif step.value > 0:
                lo = max(lo, -(rest.value // step.value))
            else:
                hi = min(hi, rest.value // -step.value + 1)
        if isinstance(self.lanes, str):
            return lo, self.ends(tuple(later)) if later else self.lanes
        assert not later, "where a line of known length ends, is known"
        return lo, max(lo, min(hi, self.lanes))

    def ends(self, asked: tuple[Expr, ...]) -> str:
        """The name of the lane from which on one of these is < 0."""
        if asked not in self.known_ends:
            found = self.e.window(asked, len(self.e.scopes) - 1)
            assert found is not None and found[:2] == ("", "0")
            self.known_ends[asked] = found[2]
        return self.known_ends[asked]

    def add(self, value: Scalar, lanes: Range | None, guard: tuple[Expr, ...]) -> None:
        """These lanes of a term will be asked for, where all of the guard are >= 0."""
        assert lanes is not None
        for x in walk(value):
            if isinstance(x, Load) and self.step(x):
                low, high = self.ranges.get(x, lanes)
                self.ranges[x] = min(low, lanes[0]), _largest([high, lanes[1]])
                self.guards.setdefault(x, guard)

    def address(self, x: Load) -> Expr:
        return self.e.address(x.buffer, x.index)

    def step(self, x: Load) -> int:
        c = self.address(x).coefficient(self.lane)
        assert c is not None
        return int(c.value)

    def pair(self) -> None:
        """Finds the loads whose elements lie between another's. They exist where that one's do."""
        if self.shifts:
            self.shift()
        places: dict[tuple[str, tuple[Expr, ...], Expr], Load] = {}
        for x in self.ranges:
            if self.step(x) in IN_TURN and places.setdefault((x.buffer, self.guards[x], self.address(x)), x) is not x:
                self.base[x] = x, True    # the end of a line, and the beginning of the next one
        for x in sorted(places.values(), key=self._constant):
            if x in self.base or x in self.runs:
                continue
            beside = [places.get((x.buffer, self.guards[x], self.address(x) + i)) for i in range(self.step(x))]
            if self.step(x) > 2:
                run = [(i, y) for i, y in enumerate(beside) if y is not None and y not in self.runs]
                self.runs |= {y: run for _, y in run if x.dtype != "bool"}
                continue
            self.base[x], (_, odd) = (x, True), beside
            if odd is not None and odd not in self.base:
                self.base[odd], self.odd[x] = (x, False), odd

    def shift(self) -> None:
        """Finds loads of whole vectors that follow one another, each used once."""
        places: dict[tuple[str, tuple[Expr, ...], Expr], list[tuple[int, Load]]] = {}
        for x in self.ranges:
            if self.step(x) == 1 and x.dtype == "f32" and self.ranges[x] == (0, LANES):
                at = self._constant(x)
                places.setdefault((x.buffer, self.guards[x], self.address(x) - at), []).append((at, x))
        for found in places.values():
            found.sort(key=lambda f: f[0])
            first = last = 0
            while first < len(found):
                last = first + 1
                while last < len(found) and found[last][0] == found[last - 1][0] + 1:
                    last += 1
                if last - first >= FEWEST_SHIFTED:
                    base, end = found[first], found[last - 1]
                    self.shifted |= {x: (base[1], at - base[0], end[0] - base[0]) for at, x in found[first:last]}
                first = last

    def _constant(self, x: Load) -> int:
        address = self.address(x)
        return int(address.substitute({s: const(0) for s in address.symbols()}).value)

    def load(self, value: Scalar) -> None:
        """Loads what a term needs and is not known yet."""
        e = self.e
        for x in walk(value):
            if not isinstance(x, Load) or x not in self.ranges or e.known(x) is not None:
                continue
            if x in self.runs:
                run = self.runs[x]
                taken(e, run, self.step(x), self.place(run[0][1]), self.elements(run))
                continue
            text = self.put_together(x) if x in self.shifted else self.text(x)
            depth = len(e.scopes) - 1
            name = e.fresh("v")
            e.lines.append(f"const {V_TYPE[x.dtype]} {name} = {text};")
            e.scopes[depth].values[x] = CValue(name, True, depth)

    def put_together(self, x: Load) -> str:
        base, apart, last = self.shifted[x]
        number, shift = divmod(apart, LANES)
        vectors = [self.whole(base, number + i, last) for i in range(2 if shift else 1)]
        return f"tcv_shifted_f32({', '.join(vectors)}, {shift})" if shift else vectors[0]

    def whole(self, base: Load, number: int, last: int) -> str:
        """The name of a vector of what follows `base`, as far as the elements that are `last` behind its own go."""
        key = base, number
        for scope, name in self.wholes.get(key, ()):
            if any(scope is s for s in self.e.scopes):
                return name
        name, left = self.e.fresh("v"), last + LANES - LANES * number
        place = f"{self.place(base)} + {LANES * number}" if number else self.place(base)
        text = f"tcv_load_f32({place})" if left >= LANES else f"tcv_loadn_f32({place}, {left})"
        self.e.lines.append(f"const tcv_f32 {name} = {text};")
        self.wholes.setdefault(key, []).append((self.e.scopes[-1], name))
        return name

    def text(self, x: Load) -> str:
        step, (lo, hi) = self.step(x), self.ranges[x]
        if step == 2:
            base, even = self.base[x]
            run = [(0, base), *((1, y) for y in [self.odd.get(base)] if y is not None)]
            return f"tcv_{'evens' if even else 'odds'}_{x.dtype}({self.place(base)}, {self.elements(run)})"
        if step != 1:
            zero = splat(x.dtype, "0")
            return f"tcv_loads_{x.dtype}({self.place(x)}, {step}, {lo}, {hi}, {zero})"
        if (lo, hi) == (0, LANES):
            return f"tcv_load_{x.dtype}({self.place(x)})"
        return f"tcv_loadw_{x.dtype}({self.place(x)}, {lo}, {hi}, {splat(x.dtype, '0')})"

    def place(self, x: Load) -> str:
        return f"{self.e.pointers[x.buffer]} + ({self.e.index(self.address(x).substitute({self.lane: const(0)}))})"

    def elements(self, run: Sequence[tuple[int, Load]]) -> str:
        """Which elements of the vectors' are there, those that lie between two that are asked for; of each load its
        number in a turn."""
        asked: list[Range] = []
        for i, x in run:
            step, (lo, hi) = self.step(x), self.ranges[x]
            if isinstance(hi, str):
                asked.append((step * lo + i, f"{step} * {hi} - {step - 1 - i}"))
            elif lo < hi:
                asked.append((step * lo + i, step * (hi - 1) + i + 1))
        return f"{min(lo for lo, _ in asked)}, {_largest([hi for _, hi in asked])}"


def _largest(ends: Sequence[int | str]) -> int | str:
    known, texts = [e for e in ends if isinstance(e, int)], dict.fromkeys(e for e in ends if isinstance(e, str))
    if not texts:
        return max(known)
    made, *others = [*map(str, [max(known)] if known else []), *texts]
    for text in others:
        made = f"tc_max({made}, {text})"
    return made


def vectors(emitter: ScalarEmitter, parts: Sequence[Block]) -> Iterator[tuple[Block, Sym, Expr]]:
    """Opens a scope for each block, in which a variable is the lane of a vector; closes it behind."""
    for block in parts:
        lane = Sym("lane", 0, block.lanes - 1)
        at: Expr = sym(lane) + block.first
        head = ""
        if block.count > 1:
            vector = Sym("vector", 0, block.count - 1)
            at = at + LANES * sym(vector)
            name = emitter.names[vector] = emitter.fresh("i_vector_")
            head = f"for (tc_index {name} = 0; {name} < {block.count}; ++{name})"
            emitter.open((vector, lane))
        else:
            emitter.open((lane,))
        emitter.names[lane] = "0"
        emitter.width, emitter.vector = LANES, lane
        emitter.lanes = str(block.lanes) if block.lanes < LANES else None
        yield block, lane, at
        emitter.width, emitter.vector, emitter.lanes = 1, None, None
        emitter.close(head)
