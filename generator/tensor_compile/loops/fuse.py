# SPDX-License-Identifier: Apache-2.0
"""Fusion: Computations, Contractions and checks -> kernels.

Items are taken in order. Each joins the kernel (here: a group) of something that it reads, if every point of it needs
only what that kernel has at the same point, and if no path leads from the kernel through another one to the item. Two
groups that an item reads at the same points become one. A group has *coordinates*; a member's own variables are solved
for in terms of them:

  flat         pointwise members (a Reduction may stand inside a value: windows, columns)
  rows, cols   as soon as a reduction over `cols` joins: a row nest. A member then lives at points or once a row, and
               in a *stage*: the sweep of the row in which all it needs is known
  contraction  its epilogue: pointwise members at the points batch x m x n

What nobody outside reads is never stored. A value that a later sweep of a row needs again is computed again if that is
cheap; otherwise it waits in the row of an output that is written later, or in scratch. Nothing here asks for names of
ops or regions. Every refusal is recorded with its reason.
"""
from __future__ import annotations

import heapq
from dataclasses import dataclass, field

from ..symbolic import Expr, Sym, sym
from .equations import fill, in_range, solve
from .ir import Acc, Buffer, CheckKernel, Computation, Contraction, ContractionKernel, Load, Local, NestKernel, \
    Reduction, RowReduce, Scalar, Stage, Store
from .lower import LoweredFunction
from .scalars import CHEAP, Rewriter, cost, extent, linear, loads, points, reshaped, substitute

MOST_MEMBERS = 48      # operations of one kernel: beyond, registers spill and compilers slow down
CHEAP_TO_REPEAT = 4    # cost of a value that its readers compute again rather than load


@dataclass(slots=True)
class Fused:
    """Kernels in an order in which they may run, their loops not yet scheduled; `params` and `dims` still empty."""

    name: str
    buffers: dict[str, Buffer]
    kernels: list
    inputs: list[Buffer]
    outputs: list[Buffer]
    states: list[Buffer]
    dims: tuple[Sym, ...]
    fusions: list[str] = field(default_factory=list)
    refusals: list[tuple[str, str]] = field(default_factory=list)


class Member:
    """An item within a group: its value and the index of its result in the group's coordinates."""

    __slots__ = ("seq", "item", "value", "index", "level", "stage", "stored", "local", "kept")

    def __init__(self, seq: int, item, value: Scalar | None, index: tuple[Expr, ...], level: str, stage: int):
        self.seq, self.item, self.value, self.index = seq, item, value, index
        self.level, self.stage = level, stage        # level: point | row | reduce | acc
        self.stored, self.local = False, ""
        self.kept: tuple | None = None               # (buffer name, index) where a later sweep finds the value


class Group:
    __slots__ = ("number", "mask", "above", "before", "after", "kind", "rows", "cols", "coords", "members", "seq",
                 "reads", "merged")

    def __init__(self, number: int, kind: str, seq: int, coords: tuple[Sym, ...]):
        self.number, self.mask, self.above = number, 1 << number, 0    # bits of this group, of all it depends on
        self.before: set[Group] = set()
        self.after: set[Group] = set()
        self.kind, self.coords, self.seq = kind, coords, seq           # kind: flat | rows | contraction | check
        self.rows: tuple[Sym, ...] = coords
        self.cols: tuple[Sym, ...] = ()
        self.members: list[Member] = []
        self.reads: dict[str, list[Load]] = {}
        self.merged: Group | None = None


class _Refused(Exception):
    """Why an item cannot join a group."""


def fuse(lowered: LoweredFunction, separate: bool = False) -> Fused:
    """The kernels of a function. separate: one an item, nothing fused (what fusion is compared with)."""
    return _Fusion(lowered, separate).run()


class _Fusion:
    def __init__(self, lowered: LoweredFunction, separate: bool):
        self.lowered, self.separate = lowered, separate
        self.buffers = dict(lowered.buffers)
        self.items = list(lowered.items)
        self.groups: list[Group] = []
        self.home: list[Group | None] = []              # group by item
        self.writers: dict[str, list[int]] = {}
        self.readers: dict[str, list[int]] = {}
        self.loads: list[list[Load]] = []
        self.member_of: dict[str, Member] = {}          # by buffer, where one item alone writes it
        self.latest_reader: dict[tuple, Group] = {}
        self.checks: dict[str, list[Group]] = {}
        self.scratches = 0
        self.fusions: list[str] = []
        self.refusals: list[tuple[str, str]] = []

    def run(self) -> Fused:
        self.index_items()
        if not self.separate:
            self.repeat_cheap()
        for seq, item in enumerate(self.items):
            self.home.append(None)
            if item is not None:
                self.add(seq, item)
        kernels = [self.build(g) for g in self.ordered()]
        low = self.lowered
        return Fused(low.name, self.buffers, [k for k in kernels if k is not None], low.inputs, low.outputs,
                     low.states, low.dims, self.fusions, self.refusals)

    # -- who reads and writes what --------------------------------------------------------------------------------
    def index_items(self) -> None:
        for seq, item in enumerate(self.items):
            if isinstance(item, CheckKernel):
                self.loads.append([])
                self.readers.setdefault(item.buffer.name, []).append(seq)
                continue
            found = [item.a, item.b] if isinstance(item, Contraction) else loads(item.value)
            self.loads.append(found)
            for name in {x.buffer: None for x in found}:
                self.readers.setdefault(name, []).append(seq)
            self.writers.setdefault(item.out, []).append(seq)

    def repeat_cheap(self) -> None:
        """Cheap values that are read at other points than they are computed at, by few, are computed by the reader."""
        for seq, item in enumerate(self.items):
            if not isinstance(item, Computation):
                continue
            replaced: dict[str, Computation] = {}
            for x in self.loads[seq]:
                writers = self.writers.get(x.buffer, ())
                if len(writers) != 1 or x.dynamic:
                    continue
                made = self.items[writers[0]]
                if isinstance(made, Computation) and made.index != x.index and not x.valid \
                        and self.repeatable(writers[0], made, x.buffer):
                    replaced[x.buffer] = made
            if not replaced:
                continue

            def leaf(s: Scalar) -> Scalar | None:
                made = replaced.get(s.buffer) if isinstance(s, Load) else None
                if made is None:
                    return None
                solution = solve(list(zip(made.index, s.index, strict=True)), made.vars)
                return substitute(made.value, solution) if solution is not None else None

            value = Rewriter(leaf=leaf)(item.value)
            self.items[seq] = Computation(item.out, item.vars, item.index, value, item.label, item.loc, item.window)
            self.loads[seq] = loads(value)
            for name in replaced:
                if not any(x.buffer == name for x in self.loads[seq]):
                    self.readers[name].remove(seq)
                    if not self.readers[name]:
                        self.drop(self.writers[name][0])
            for name in {x.buffer: None for x in self.loads[seq]}:
                if seq not in self.readers.setdefault(name, []):
                    self.readers[name].append(seq)

    def repeatable(self, seq: int, made: Computation, name: str) -> bool:
        if self.buffers[name].kind != "temp" or len(self.readers[name]) > 2 or cost(made.value) > CHEAP_TO_REPEAT:
            return False
        # what could be the epilogue of a contraction or the tail of a reduction stays there
        for x in self.loads[seq]:
            if x.dynamic or self.buffers[x.buffer].kind not in ("input", "packed"):
                return False
        return all(isinstance(self.items[r], Computation) for r in self.readers[name])

    def drop(self, seq: int) -> None:
        item = self.items[seq]
        self.items[seq] = None
        self.writers[item.out].remove(seq)
        for name in {x.buffer: None for x in self.loads[seq]}:
            self.readers[name].remove(seq)

    # -- joining --------------------------------------------------------------------------------------------------
    def group_of(self, seq: int) -> Group:
        group = self.home[seq]
        while group.merged is not None:
            group = group.merged
        self.home[seq] = group
        return group

    def add(self, seq: int, item) -> None:
        if isinstance(item, CheckKernel):
            group = self.new_group(seq, "check", ())
            group.members.append(Member(seq, item, None, (), "check", 0))
            self.depend(group, [self.group_of(w) for w in self.writers.get(item.buffer.name, ()) if w < seq])
            self.checks.setdefault(item.buffer.name, []).append(group)
            return
        needed = self.needed(seq, item)
        if isinstance(item, Contraction):
            group = self.new_group(seq, "contraction", item.batch + item.m + item.n)
            self.enter(group, Member(seq, item, None, item.index, "acc", 0), self.loads[seq])
            self.depend(group, needed)
            return
        for group in self.candidates(seq, item, needed):
            try:
                member = self.match(seq, item, group, needed)
            except _Refused as refused:
                self.refusals.append((f"{item.label} into {group.members[0].item.label}", str(refused)))
                continue
            self.enter(group, member, loads(member.value))
            self.depend(group, [g for g in needed if g is not group])
            self.fusions.append(f"{item.label} joins {group.members[0].item.label}")
            self.merge_others(group, member, needed)
            return
        self.start(seq, item, needed)

    def needed(self, seq: int, item) -> list[Group]:
        """The groups that must have run before the item, in order."""
        found: dict[Group, None] = {}
        for x in self.loads[seq]:
            for w in self.writers.get(x.buffer, ()):
                if w < seq:
                    found[self.group_of(w)] = None
            for value in (v for _, v in x.dynamic):
                for inner in loads(value):
                    for group in self.checks.get(inner.buffer, ()):
                        found[group] = None
        if self.buffers[item.out].kind == "state":  # written in place: after everything that reads what was there
            for other in [*self.readers.get(item.out, ()), *self.writers[item.out]]:
                if other < seq and self.items[other] is not None:
                    found[self.group_of(other)] = None
        return list(found)

    def candidates(self, seq: int, item: Computation, needed: list[Group]) -> list[Group]:
        found: dict[Group, None] = {}
        if self.separate:
            return []
        for x in self.loads[seq]:
            if x.buffer in self.member_of:
                found[self.group_of(self.member_of[x.buffer].seq)] = None
        ranked = sorted(found, key=lambda g: (g.kind != "contraction", -g.number))
        if self.is_row(item):  # reductions over the rows that another one already walks
            for x in self.loads[seq]:
                other = self.latest_reader.get((x.buffer, x.index))
                while other is not None and other.merged is not None:
                    other = other.merged
                if other is not None and other.kind == "rows" and other not in ranked:
                    ranked.append(other)
        return ranked

    def new_group(self, seq: int, kind: str, coords: tuple[Sym, ...]) -> Group:
        group = Group(len(self.groups), kind, seq, coords)
        self.groups.append(group)
        self.home[seq] = group
        return group

    def start(self, seq: int, item: Computation, needed: list[Group]) -> None:
        if self.is_row(item):
            group = self.new_group(seq, "rows", item.vars + item.value.vars)
            group.rows, group.cols = item.vars, item.value.vars
            member = Member(seq, item, item.value.value, item.index, "reduce", 0)
        else:
            group = self.new_group(seq, "flat", item.vars)
            member = Member(seq, item, item.value, item.index, "point", 0)
        self.enter(group, member, self.loads[seq])
        self.depend(group, needed)

    def enter(self, group: Group, member: Member, found: list[Load]) -> None:
        group.members.append(member)
        self.home[member.seq] = group
        out = member.item.out
        if len(self.writers[out]) == 1 and self.buffers[out].kind != "state":  # a state's name has two values
            self.member_of[out] = member
        for x in found:
            group.reads.setdefault(x.buffer, []).append(x)
            self.latest_reader[(x.buffer, x.index)] = group

    def is_row(self, item: Computation) -> bool:
        """A reduction whose terms lie next to each other in memory, rather than its results."""
        value = item.value
        if not isinstance(value, Reduction) or item.window or value.order == "seq" or value.valid:
            return False
        inner = set(value.vars)
        for x in loads(value.value):
            symbols = set().union(*(e.symbols() for e in x.index)) if x.index else set()
            if not inner & symbols:
                continue
            address = self.buffers[x.buffer].address(x.index)
            for s in item.vars:
                if address.coefficient(s) == 1:
                    return False
        return True

    def depend(self, group: Group, needed: list[Group]) -> None:
        grew = False
        for other in needed:
            if other is not group and other not in group.before:
                group.before.add(other)
                other.after.add(group)
                above = group.above | other.above | other.mask
                if above != group.above:
                    group.above, grew = above, True
        if grew:
            self.propagate(group)

    def propagate(self, group: Group) -> None:
        work = [group]
        while work:
            g = work.pop()
            for below in g.after:
                above = below.above | g.above | g.mask
                if above != below.above:
                    below.above = above
                    work.append(below)

    # -- matching -------------------------------------------------------------------------------------------------
    def match(self, seq: int, item: Computation, group: Group, needed: list[Group]) -> Member:
        """The item as a member of the group; raises _Refused."""
        if group.kind == "check":
            raise _Refused("a check computes nothing")
        if len(group.members) >= MOST_MEMBERS:
            raise _Refused(f"the kernel has {MOST_MEMBERS} operations already")
        for other in needed:
            if other is not group and other.above & group.mask:
                raise _Refused("it needs another kernel that runs after this one")
        found = self.loads[seq]
        for x in found:
            if x.buffer not in self.member_of and any(
                    w < seq and self.group_of(w) is group for w in self.writers.get(x.buffer, ())):
                raise _Refused(f"{x.buffer} is written in parts")
        if self.buffers[item.out].kind == "state":
            for x in group.reads.get(item.out, ()):
                if x.index != item.index or x.dynamic:
                    raise _Refused(f"it overwrites state {item.out} that the kernel reads at other points")
        row = self.is_row(item)
        reduction = item.value if row else None
        variables = item.vars + reduction.vars if row else item.vars
        if row and group.kind == "contraction":
            raise _Refused("a reduction is no epilogue of a contraction")
        if any(s.valid or s.dynamic for s in found if self.inside(s, group)):
            raise _Refused("it reads under a predicate what the kernel computes")
        solution = self.solve(found, variables, group)
        mapped = {s: e for s, e in solution.items() if e is not sym(s)}
        index = tuple(e.substitute(mapped) for e in item.index)
        value = substitute(item.value if not row else reduction.value, mapped)
        level = self.level(item, reduction, solution, group)
        stage = 0
        for x in loads(value):
            if self.inside(x, group):
                m = self.member_of[x.buffer]
                stage = max(stage, m.stage + (m.level == "reduce"))
        return Member(seq, item, value, index, level, stage)

    def inside(self, x: Load, group: Group) -> bool:
        m = self.member_of.get(x.buffer)
        return m is not None and self.group_of(m.seq) is group

    def solve(self, found: list[Load], variables: tuple[Sym, ...], group: Group) -> dict[Sym, Expr]:
        """Every variable of an item in the group's coordinates."""
        own = [(a, b) for x in found if self.inside(x, group)
               for a, b in zip(x.index, self.member_of[x.buffer].index, strict=True)]
        shared = []
        for x in found:
            if not self.inside(x, group) and not x.dynamic:
                for y in group.reads.get(x.buffer, ()):
                    if not y.dynamic:
                        shared.append(list(zip(x.index, y.index, strict=True)))
                        break
        for equations in ([own] if own else []) + [own + s for s in shared]:
            solution = solve(equations, variables)
            if solution is None:
                continue
            rest = [s for s in variables if s not in solution]
            if rest and not fill(solution, rest, group.cols):
                continue
            if all(a.substitute(solution) == b for a, b in own) and in_range(solution):
                return solution
        shape = tuple(extent(s) for s in variables)
        for x in found:
            if not self.inside(x, group) or points(variables) != self.buffers[x.buffer].elements:
                continue
            whole = self.buffers[x.buffer].shape
            if linear(tuple(sym(s) for s in variables), shape) == linear(x.index, whole):  # a reshape
                solution = dict(zip(variables, reshaped(self.member_of[x.buffer].index, whole, shape)))
                if all(a.substitute(solution) == b for a, b in own) and in_range(solution):
                    return solution
        raise _Refused("it reads other points than the kernel computes")

    def level(self, item: Computation, reduction: Reduction | None, solution: dict, group: Group) -> str:
        """point, row or reduce; splits a flat group into rows and cols where a reduction asks for it."""
        rows = set(group.rows)
        total = points(group.coords)
        if reduction is None:
            symbols = set().union(*(solution[s].symbols() for s in item.vars)) if item.vars else set()
            count = points(item.vars)
            if count == total and (group.kind != "rows" or group.cols and not symbols <= rows or not group.cols):
                return "point"
            if group.kind == "rows" and count == points(group.rows) and all(s in rows or s.is_dim for s in symbols):
                return "row"
            raise _Refused("it has other points than the kernel")
        if points(item.vars + reduction.vars) != total:
            raise _Refused("it reduces other points than the kernel has")
        images = [solution[s] for s in reduction.vars]
        if group.kind == "flat":
            cols = tuple(s for e in images for s in e.symbols())
            if any(e is not sym(s) for e, s in zip(images, cols)) or len(set(cols)) != len(images):
                raise _Refused("its rows are not rows of the kernel")
            if any(set(solution[s].symbols()) & set(cols) for s in item.vars):
                raise _Refused("its rows are not rows of the kernel")
            if any(isinstance(s, Reduction) for m in group.members for s in (m.value,)):
                raise _Refused("the kernel holds a reduction of another kind")
            group.kind, group.cols = "rows", cols
            group.rows = tuple(s for s in group.coords if s not in cols)
            group.coords = group.rows + cols
            return "reduce"
        a = linear(tuple(images), tuple(extent(s) for s in reduction.vars))
        b = linear(tuple(sym(s) for s in group.cols), tuple(extent(s) for s in group.cols))
        if a != b or any(set(solution[s].symbols()) & set(group.cols) for s in item.vars):
            raise _Refused("its rows are not rows of the kernel")
        return "reduce"

    def merge_others(self, group: Group, member: Member, needed: list[Group]) -> None:
        """The other groups that the new member reads at its own points become part of this one, where that is legal."""
        for x in list(self.loads[member.seq]):
            m = self.member_of.get(x.buffer)
            if m is None or x.valid or x.dynamic:
                continue
            other = self.group_of(m.seq)
            if other is group or other.kind == "check":
                continue
            try:
                self.merge(group, other, m, member)
            except _Refused as refused:
                self.refusals.append(
                    (f"{other.members[0].item.label} with {group.members[0].item.label}", str(refused)))

    def merge(self, group: Group, other: Group, made: Member, reader: Member) -> None:
        kinds = {group.kind, other.kind}
        if group.kind == other.kind == "contraction" or kinds == {"contraction", "rows"}:
            raise _Refused("each needs a kernel of its own")
        if set(group.coords) != set(other.coords):
            raise _Refused("they have different points")
        if group.kind == other.kind == "rows" and (group.cols != other.cols):
            raise _Refused("they have different rows")
        if len(group.members) + len(other.members) > MOST_MEMBERS:
            raise _Refused(f"together they have more than {MOST_MEMBERS} operations")
        if any(x.buffer == made.item.out and x.index != made.index for x in loads(reader.value)):
            raise _Refused("it reads other points than the kernel computes")
        if other in group.before and any(
                self.inside(x, other) for m in group.members if m is not reader for x in self.member_loads(m)) \
                or group in other.before:
            raise _Refused("one reads other points of the other")
        for one, two in ((group, other), (other, group)):
            for between in two.before:
                if between is not one and between.above & one.mask:
                    raise _Refused("a third kernel lies between them")
        if any(isinstance(m.value, Reduction) for g in (group, other) for m in g.members) and "flat" != group.kind:
            raise _Refused("the kernel holds a reduction of another kind")
        self.absorb(group, other)

    def member_loads(self, m: Member) -> list[Load]:
        return [m.item.a, m.item.b] if m.value is None else loads(m.value)

    def absorb(self, group: Group, other: Group) -> None:
        if other.kind != "flat":
            group.kind = other.kind
            group.rows, group.cols, group.coords = other.rows, other.cols, other.coords
        group.members = sorted(group.members + other.members, key=lambda m: m.seq)
        group.seq = min(group.seq, other.seq)
        group.mask |= other.mask
        for name, found in other.reads.items():
            group.reads.setdefault(name, []).extend(found)
        other.merged = group
        for g in other.before:
            g.after.discard(other)
            if g is not group:
                group.before.add(g)
                g.after.add(group)
        for g in other.after:
            g.before.discard(other)
            if g is not group:
                group.after.add(g)
                g.before.add(group)
        group.before.discard(other)
        group.after.discard(other)
        group.above = 0
        for g in group.before:
            group.above |= g.above | g.mask
        self.propagate(group)
        stage_of: dict[str, Member] = {}
        for m in group.members:  # stages again, as joined sweeps may wait for each other
            if m.value is None:
                stage_of[m.item.out] = m
                continue
            m.stage = 0
            for x in loads(m.value):
                made = stage_of.get(x.buffer)
                if made is not None:
                    m.stage = max(m.stage, made.stage + (made.level == "reduce"))
            stage_of[m.item.out] = m

    # -- kernels --------------------------------------------------------------------------------------------------
    def ordered(self) -> list[Group]:
        live = [g for g in self.groups if g.merged is None]
        waiting = {g: len(g.before) for g in live}
        heap = [(g.seq, g.number, g) for g in live if not g.before]
        heapq.heapify(heap)
        out = []
        while heap:
            _, _, g = heapq.heappop(heap)
            out.append(g)
            for below in g.after:
                waiting[below] -= 1
                if not waiting[below]:
                    heapq.heappush(heap, (below.seq, below.number, below))
        assert len(out) == len(live), "fusion made a cycle"
        return out

    def build(self, group: Group):
        if group.kind == "check":
            return group.members[0].item
        for m in group.members:
            out = m.item.out
            m.stored = self.buffers[out].kind != "temp" or len(self.writers[out]) > 1 or any(
                self.group_of(r) is not group for r in self.readers.get(out, ()))
        if not any(m.stored for m in group.members):
            return None
        label = _kernel_label(group)
        if group.kind == "contraction":
            return self.build_contraction(group, label)
        if group.kind == "flat":
            resolve = self.resolver(group, {})
            stores = [Store(m.item.out, m.index, resolve(m, 0)) for m in group.members if m.stored]
            return NestKernel(label, group.coords, [Stage((), [], stores)], (), ())
        return self.build_rows(group, label)

    def resolver(self, group: Group, made: dict):
        """resolve(member, stage): its value as an expression that can be evaluated in that sweep."""
        members = {m.item.out: m for m in group.members if self.member_of.get(m.item.out) is m}
        rewriters: dict[int, Rewriter] = {}

        def resolve(m: Member, stage: int) -> Scalar:
            if m.level == "reduce":
                return Local(m.local, m.item.value.dtype)
            if m.level == "acc":
                return Acc("f32")
            if m.kept is not None and stage > m.stage:
                name, index = m.kept
                return Load(name, m.value.dtype, index)
            if (m, stage) not in made:
                made[m, stage] = rewriter(stage)(m.value)
            return made[m, stage]

        def rewriter(stage: int) -> Rewriter:
            if stage not in rewriters:
                def leaf(s: Scalar) -> Scalar | None:
                    if isinstance(s, Load) and not s.dynamic:
                        found = members.get(s.buffer)
                        if found is not None and found.index == s.index and not s.valid:
                            return resolve(found, stage)
                    return None
                rewriters[stage] = Rewriter(leaf=leaf)
            return rewriters[stage]
        return resolve

    def build_contraction(self, group: Group, label: str) -> ContractionKernel:
        item = next(m.item for m in group.members if m.level == "acc")
        resolve = self.resolver(group, {})
        stores = [Store(m.item.out, m.index, resolve(m, 0)) for m in group.members if m.stored]
        return ContractionKernel(label, item.batch, item.m, item.n, item.k, item.a, item.b, item.panel, stores, (), ())

    def build_rows(self, group: Group, label: str) -> NestKernel:
        numbered = [m for m in group.members if m.level == "reduce"]
        for i, m in enumerate(numbered):
            m.local = f"r{i}"
        last = max(m.stage for m in group.members)
        self.keep(group, last)
        resolve = self.resolver(group, {})
        stages = [Stage(group.cols) for _ in range(last + 1)]
        tail = Stage((), vector=False)
        for m in group.members:
            if m.level == "reduce":
                r = m.item.value
                value = Rewriter(leaf=self.leaf_at(group, resolve, m.stage))(m.value)
                stages[m.stage].reduces.append(RowReduce(m.local, r.op, r.order, value, r.dtype))
            elif m.kept is not None and not m.stored:
                stages[m.stage].stores.append(Store(m.kept[0], m.kept[1], resolve(m, m.stage)))
            if m.stored:
                where = stages[m.stage] if m.level == "point" else tail
                where.stores.append(Store(m.item.out, m.index, resolve(m, m.stage)))
        kept = [s for s in stages if s.reduces or s.stores]
        return NestKernel(label, group.rows, kept + ([tail] if tail.stores else []), (), ())

    def leaf_at(self, group: Group, resolve, stage: int):
        def leaf(s: Scalar) -> Scalar | None:
            if isinstance(s, Load) and self.inside(s, group):
                return resolve(self.member_of[s.buffer], stage)
            return None
        return leaf

    def keep(self, group: Group, last: int) -> None:
        """Decides which values of one sweep are kept for a later one, and where."""
        full: dict = {}
        resolve = self.resolver(group, full)
        wanted: dict[Member, int] = {}
        seen: set[tuple[Member, int]] = set()

        def need(m: Member, stage: int) -> None:
            if (m, stage) in seen or m.level == "reduce":
                return
            seen.add((m, stage))
            if m.level == "point" and m.stage < stage and cost(resolve(m, m.stage)) > CHEAP:
                wanted[m] = max(wanted.get(m, 0), stage)
                need(m, m.stage)
                return
            for x in loads(m.value):
                if self.inside(x, group):
                    need(self.member_of[x.buffer], stage)

        for m in group.members:
            if m.level == "reduce":
                for x in loads(m.value):
                    if self.inside(x, group):
                        need(self.member_of[x.buffer], m.stage)
            elif m.stored:
                need(m, m.stage)
        taken: set[str] = set()
        for m, until in wanted.items():
            if m.stored:
                m.kept = (m.item.out, m.index)
                continue
            host = next((o for o in group.members if self.can_host(group, o, m, until, taken)), None)
            if host is not None:
                taken.add(host.item.out)
                m.kept = (host.item.out, host.index)
            else:
                self.scratches += 1
                name = f"%s{self.scratches}"
                shape = tuple(extent(s) for s in group.cols)
                self.buffers[name] = Buffer(name, m.value.dtype, shape, tuple(range(len(shape))), "scratch")
                m.kept = (name, tuple(sym(s) for s in group.cols))

    def can_host(self, group: Group, o: Member, m: Member, until: int, taken: set) -> bool:
        """The row of o, written in the last sweep that reads m and by nothing but o there, can hold m until then."""
        out = o.item.out
        return o.stored and o.level == "point" and o.stage == until and out not in taken and out not in group.reads \
            and o.item.value.dtype == m.value.dtype and self.buffers[out].kind in ("temp", "output") \
            and len(self.writers[out]) == 1 \
            and not any(p is not o and p.stage == until and (p.stored or p.level == "reduce") for p in group.members)


def _kernel_label(group: Group) -> str:
    names: dict[str, None] = {}
    for m in group.members:
        if m.item.label:
            names[m.item.label] = None
    picked = list(names)
    return "_".join(picked if len(picked) <= 4 else picked[:3] + [picked[-1]]) or "nest"
