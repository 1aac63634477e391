# SPDX-License-Identifier: Apache-2.0
"""Fusion: Computations, Contractions and checks -> kernels.

Items are taken in order. Each joins the kernel (here: a group) of something that it reads, if every point of it needs
only what that kernel has at the same point, and if no path leads from the kernel through another one to the item. Two
groups that an item reads at the same points become one. A group has *coordinates*; a member's own variables are solved
for in terms of them:

  flat         pointwise members (a Reduction may stand inside a value: windows, columns)
  rows, cols   as soon as a reduction over `cols` joins: a row loop nest. A member then lives at points or once a
               row, and in a *phase*: the loop over the row in which all it needs is known
  sort, scatter  kernels of their own: what sorts the same rows is one; stores at indices that are data run in order
  contraction  its epilogue: pointwise members at the points batch x m x n; several sums a point where products of one
               first operand are operands of one consumer. Other products of one first operand stand side by side
               in one kernel

What nobody outside reads is never stored. A value that a later phase of a row needs again is computed again if that is
cheap; otherwise it waits in the row of an output that is written later, or in scratch. Nothing here asks for names of
ops or regions. Every refusal is recorded with its reason.
"""
from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from typing import Any, Iterable

from ..symbolic import Expr, Sym, sym
from .accesses import touched
from .build_kernels import KernelBuilder
from .equations import fill, in_range, solve
from .exchange import exchanged
from .faults import waited_for
from .groups import Group, Member, Refused, absorb, depend, ordered
from .loop_ir import Branch, CheckKernel, Computation, Contraction, Element, ExternKernel, Loop
from .scalar_ir import Buffer, Load, Reduction, Scalar, Sorted
from .lower import LoweredFunction
from .disjoint import apart
from .repeat import repeat
from .uses import reading_items
from .scalars import Others, extent, has_lanes, linear, loads, domain_size, rebound, reshaped, substitute, walk
from .grouped_contractions import alike, group_contractions

MOST_MEMBERS = 48      # operations of one kernel: beyond, registers spill and compilers slow down
ALONE = ("sort", "scatter")
MOST_SIBLINGS = 4      # kernels that a reduction of what they load is tried with


@dataclass(slots=True)
class Fused:
    """Kernels in an order in which they may run, their loops not yet scheduled; `params` and `dims` still empty."""

    name: str
    buffers: dict[str, Buffer]
    kernels: list[Element]
    inputs: list[Buffer]
    outputs: list[Buffer]
    states: list[Buffer]
    dims: tuple[Sym, ...]
    fusions: list[str] = field(default_factory=list)
    refusals: list[tuple[str, str]] = field(default_factory=list)


def item_loads(item: Computation) -> list[Load]:
    return loads(*(v for _, v in item.dynamic), item.value)


def sorts(value: Scalar) -> list[Sorted]:
    return [s for s in walk(value) if isinstance(s, Sorted)]


def outer(item: Computation) -> tuple[Sym, ...]:
    """The variables of an item that is a reduction, without those that it reduces: a running one stores at those
    too."""
    return tuple(s for s in item.vars if s not in item.value.vars)


def reducing(reduction: Reduction) -> str:
    """The level of a member."""
    return "running" if reduction.order == "running" else "reduce"


def fuse(lowered: LoweredFunction, separate: bool = False) -> Fused:
    """The kernels of a function. separate: one an item, nothing fused (what fusion is compared with)."""
    low = lowered
    fusion = Fusion(low.items, dict(low.buffers), separate, reading_items(low.items))
    return Fused(low.name, fusion.buffers, fusion.run(True), low.inputs, low.outputs, low.states, low.dims,
                 fusion.fusions,
                 fusion.refusals)


class Fusion:
    """The items of a function, or those of one list of a region, whose kernels are that list's alone.

    readers_of_all: of each buffer, in the whole function. lasting: buffers whose value an iteration of a loop around
    finds and then overwrites, beside the states.
    """

    def __init__(self, items: list[Element], buffers: dict[str, Buffer], separate: bool, readers_of_all: Counter[str],
                 lasting: frozenset[str] = frozenset()):
        self.separate, self.buffers, self.items = separate, buffers, list(items)
        self.readers_of_all, self.lasting = readers_of_all, lasting
        mine = reading_items(items)
        self.outside = {name for name, count in readers_of_all.items() if count > mine[name]} | lasting
        self.groups: list[Group] = []
        self.group_at: list[Group | None] = []              # group by item
        self.writers: dict[str, list[int]] = {}
        self.readers: dict[str, list[int]] = {}
        self.loads: list[list[Load]] = []
        self.early: set[int] = set()                    # items that must have run before outputs and states are written
        self.members: dict[int, Member] = {}            # by item
        self.made: dict[tuple[Any, ...], int | None] = {}         # by buffer and index: see `maker`
        self.loaded_by: dict[str, dict[Group, None]] = {}
        self.checks: dict[str, list[Group]] = {}
        self.sorts: dict[tuple[Any, ...], Group] = {}
        self.others = Others()
        self.fusions: list[str] = []
        self.refusals: list[tuple[str, str]] = []

    def run(self, outermost: bool = False) -> list[Element]:
        self.index_items()
        if not self.separate:
            repeat(self)
        self.early = waited_for(self.items) if outermost else set()
        for seq, item in enumerate(self.items):
            self.group_at.append(None)
            if item is not None:
                self.add(seq, item)
        if not self.separate:
            group_contractions(self)
        for seq, item in enumerate(self.items):
            if isinstance(item, Computation) and item.copy and isinstance(item.value, Load) \
                    and not self.made_in(item.value, self.group_of(seq)):
                self.refusals.append((f"{item.label} in place", item.copy))
        builder = KernelBuilder(self)
        kernels = [self.region(g.members[0].item) if g.kind == "region" else builder.build(g)
                   for g in ordered(self.groups)]
        return [k for k in kernels if k is not None]

    # -- regions --------------------------------------------------------------------------------------------------
    def region(self, item: Loop | Branch) -> Loop | Branch:
        """The region with its lists fused, each by itself."""
        if isinstance(item, Branch):
            return replace(item, then=self.inner(item.then), other=self.inner(item.other))
        lasting = self.lasting | frozenset(item.carried)
        body, swaps = exchanged(item, self.inner(item.body, lasting), self.buffers, self.readers_of_all)
        return replace(item, test=self.inner(item.test, lasting), body=body, swaps=swaps)

    def inner(self, items: list[Element], lasting: frozenset[str] | None = None) -> list[Element]:
        fusion = Fusion(items, self.buffers, self.separate, self.readers_of_all,
                        self.lasting if lasting is None else lasting)
        kernels = fusion.run()
        self.fusions += fusion.fusions
        self.refusals += fusion.refusals
        return kernels

    # -- who reads and writes what --------------------------------------------------------------------------------
    def index_items(self) -> None:
        for seq, item in enumerate(self.items):
            if isinstance(item, CheckKernel):
                self.loads.append([])
                self.readers.setdefault(item.buffer.name, []).append(seq)
                continue
            if isinstance(item, (Loop, Branch, ExternKernel)):
                self.loads.append([])
                reads, writes = touched([item])
                for positions, names in ((self.readers, reads), (self.writers, writes)):
                    for name in names:
                        positions.setdefault(name, []).append(seq)
                continue
            item_reads = loads(*item.values) if isinstance(item, Contraction) else item_loads(item)
            self.loads.append(item_reads)
            for name in {x.buffer: None for x in item_reads}:
                self.readers.setdefault(name, []).append(seq)
            self.writers.setdefault(item.out, []).append(seq)

    # -- joining --------------------------------------------------------------------------------------------------
    def group_of(self, seq: int) -> Group:
        group = self.group_at[seq]
        while group.merged is not None:
            group = group.merged
        self.group_at[seq] = group
        return group

    def add(self, seq: int, item: Element) -> None:
        if isinstance(item, (Loop, Branch, ExternKernel)):
            self.add_region(seq, item)
            return
        if isinstance(item, CheckKernel):
            group = self.new_group(seq, "check", ())
            group.members.append(Member(seq, item, None, (), "check", 0))
            depend(group, [self.group_of(w) for w in self.writers.get(item.buffer.name, ()) if w < seq])
            self.checks.setdefault(item.buffer.name, []).append(group)
            return
        needed = self.needed(seq, item)
        if isinstance(item, Contraction):
            group = self.new_group(seq, "contraction", item.batch + item.m + item.n)
            self.enter(group, Member(seq, item, None, item.index, "acc", 0), self.loads[seq])
            depend(group, needed)
            return
        for group in self.candidates(seq, item, needed):
            kind = group.kind
            try:
                member = self.match(seq, item, group, needed)
            except Refused as refused:
                self.refusals.append((f"{item.label} into {group.members[0].item.label}", str(refused)))
                continue
            self.enter(group, member, loads(member.value))
            depend(group, [g for g in needed if g is not group])
            self.fusions.append(f"{item.label} joins {group.members[0].item.label}")
            self.merge_others(group, member, needed)
            if group.kind == "rows" != kind:
                self.merge_siblings(group)
            return
        self.start(seq, item, needed)

    def add_region(self, seq: int, item: Loop | Branch | ExternKernel) -> None:
        """What nothing joins, and what touches buffers as a whole."""
        kind = "extern" if isinstance(item, ExternKernel) else "region"
        group = self.new_group(seq, kind, ())
        group.members.append(Member(seq, item, None, (), kind, 0))
        reads, writes = touched([item])
        above: dict[Group, None] = {}
        for name in reads:
            above |= {self.group_of(w): None for w in self.writers.get(name, ()) if w < seq}
            above |= {check: None for check in self.checks.get(name, ())}
        for name in writes:
            above |= {self.group_of(r): None for r in (*self.readers.get(name, ()), *self.writers[name])
                      if r < seq and self.items[r] is not None}
        depend(group, list(above))

    def overwrites(self, name: str) -> bool:
        """The buffer has two values here, one before the item that stores into it and one behind it."""
        return name in self.lasting or self.buffers[name].kind == "state"

    def written_in_turn(self, name: str, group: Group) -> list[Member]:
        """The members that store into a buffer of which several items may store one element."""
        return group.writes.get(name, []) if self.overwrites(name) else []

    def needed(self, seq: int, item: Element) -> list[Group]:
        """The groups that must have run before the item, in order."""
        above: dict[Group, None] = {}
        for x in self.loads[seq]:
            for w in self.writers.get(x.buffer, ()):
                if w < seq and self.may_alias(w, x):
                    above[self.group_of(w)] = None
            for _, value in x.dynamic:
                above |= self.checks_of(value)
        if isinstance(item, Computation) and item.dynamic:   # in place: after what was there before
            for _, value in item.dynamic:
                above |= self.checks_of(value)
            above |= {self.group_of(w): None for w in self.writers[item.out] if w < seq}
        if self.overwrites(item.out):  # in place: after everything that reads what was there
            for other in [*self.readers.get(item.out, ()), *self.writers[item.out]]:
                if other < seq and self.items[other] is not None:
                    above[self.group_of(other)] = None
        return list(above)

    def checks_of(self, index: Scalar) -> dict[Group, None]:
        return {group: None for x in loads(index) for group in self.checks.get(x.buffer, ())}

    def candidates(self, seq: int, item: Computation, needed: list[Group]) -> list[Group]:
        candidates: dict[Group, None] = {}
        if self.separate or item.dynamic or sorts(item.value):
            return []
        for x in self.loads[seq]:
            member = self.maker(x)
            if member is not None:
                candidates[self.group_of(member.seq)] = None
        ranked = sorted(candidates, key=lambda g: (g.kind != "contraction", -g.number))
        if isinstance(item.value, Reduction):
            kind = "rows" if self.is_row(item) else "flat"
            ranked += [g for g in self.siblings({x.buffer for x in self.loads[seq]}, kind) if g not in candidates]
        return ranked

    def siblings(self, names: Iterable[str], kind: str) -> list[Group]:
        """Groups that reduce what they load from one of the buffers: rows, or at a point (flat); the latest first."""
        candidates: dict[Group, None] = {}
        for name in names:
            for group in self.loaded_by.get(name, ()):
                while group.merged is not None:
                    group = group.merged
                if group.kind == kind and (kind == "rows" or any(isinstance(m.value, Reduction)
                                                                 for m in group.members)):
                    candidates[group] = None
        return sorted(candidates, key=lambda g: -g.number)[:MOST_SIBLINGS]

    def new_group(self, seq: int, kind: str, coords: tuple[Sym, ...]) -> Group:
        group = Group(len(self.groups), kind, seq, coords)
        self.groups.append(group)
        self.group_at[seq] = group
        return group

    def start(self, seq: int, item: Computation, needed: list[Group]) -> None:
        sorted_values = sorts(item.value)
        if sorted_values:
            first = sorted_values[0]
            key = (item.vars, first.var, first.value, first.count, first.descending)
            group = self.sorts.get(key)
            if group is None or self.separate:
                group = self.sorts[key] = self.new_group(seq, "sort", item.vars)
            member = Member(seq, item, item.value, item.index, "point", 0)
        elif item.dynamic:
            group = self.new_group(seq, "scatter", item.vars)
            member = Member(seq, item, item.value, item.index, "point", 0)
        elif self.is_row(item):
            kept = outer(item)
            group = self.new_group(seq, "rows", kept + item.value.vars)
            group.rows, group.cols = kept, item.value.vars
            member = Member(seq, item, item.value.value, item.index, reducing(item.value), 0)
        else:
            group = self.new_group(seq, "flat", item.vars)
            member = Member(seq, item, item.value, item.index, "point", 0)
        self.enter(group, member, self.loads[seq])
        depend(group, needed)

    def enter(self, group: Group, member: Member, item_reads: list[Load]) -> None:
        group.members.append(member)
        group.writes.setdefault(member.item.out, []).append(member)
        self.group_at[member.seq] = group
        self.members[member.seq] = member
        for x in item_reads:
            group.reads.setdefault(x.buffer, []).append(x)
            self.loaded_by.setdefault(x.buffer, {})[group] = None

    def is_row(self, item: Computation) -> bool:
        """A reduction whose terms lie next to each other in memory, rather than its results."""
        value = item.value
        if isinstance(value, Reduction) and value.order == "running":
            return True
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

    # -- matching -------------------------------------------------------------------------------------------------
    def match(self, seq: int, item: Computation, group: Group, needed: list[Group]) -> Member:
        """The item as a member of the group; raises Refused."""
        if group.kind == "check":
            raise Refused("a check computes nothing")
        if group.kind in ALONE:
            raise Refused(f"a {group.kind} has a kernel of its own")
        if (seq in self.early) != (group.members[0].seq in self.early):
            raise Refused("indices are looked at between the two")
        if len(group.members) >= MOST_MEMBERS:
            raise Refused(f"the kernel has {MOST_MEMBERS} operations already")
        for other in needed:
            if other is not group and other.above & group.mask:
                raise Refused("it needs another kernel that runs after this one")
        row, item_reads = self.is_row(item), self.loads[seq]
        if not row and (value := rebound(item.value, set(group.coords), self.others)) is not item.value:
            item = replace(item, value=value)   # reductions inside points have variables of their own
            item_reads = item_loads(item)
        inside = [x for x in item_reads if self.made_in(x, group)]
        for x in item_reads:
            if x not in inside and any(w < seq and self.group_of(w) is group and self.may_alias(w, x)
                                       for w in self.writers.get(x.buffer, ())):
                raise Refused(f"{x.buffer} is written in parts")
        for x in group.reads.get(item.out, ()):
            if not self.overwrites(item.out):
                if self.inside(x, group) is None and not apart(item.index, x.index):
                    raise Refused(f"the kernel reads other points of {item.out}")
            elif x.index != item.index or x.dynamic:
                raise Refused(f"it overwrites {self.buffers[item.out].kind} {item.out}, "
                               "which the kernel reads at other points")
        reduction = item.value if row else None
        variables = outer(item) + reduction.vars if row else item.vars
        if row and group.kind == "contraction":
            raise Refused("a reduction is no epilogue of a contraction")
        if any(x.valid or x.dynamic for x in inside):
            raise Refused("it reads under a predicate what the kernel computes")
        if isinstance(item.value, Reduction) and not row and not inside:
            self.look_alike(item.value, group)
        solution = self.solve(item_reads, variables, group)
        mapped = {s: e for s, e in solution.items() if e is not sym(s)}
        index = tuple(e.substitute(mapped) for e in item.index)
        if any(not apart(m.index, index) for m in self.written_in_turn(item.out, group)):
            raise Refused(f"the kernel may store the same elements of {item.out}")
        value = substitute(item.value if not row else reduction.value, mapped)
        level = self.level(item, reduction, solution, group)
        phase = 0
        for x in loads(value):
            m = self.inside(x, group)
            if m is not None:
                phase = max(phase, m.phase + (m.level == "reduce"))
        return Member(seq, item, value, index, level, phase)

    def look_alike(self, reduction: Reduction, group: Group) -> None:
        """Reductions inside points share a loop where they have the same terms, and the same number of lanes."""
        others = [m.value for m in group.members if isinstance(m.value, Reduction)]
        if any((r.vars, r.valid) != (reduction.vars, reduction.valid) for r in others):
            raise Refused("it reduces other terms than the kernel")
        if any(has_lanes(r) != has_lanes(reduction) for r in others):
            raise Refused("one of them runs 16 points at a time and the other does not")

    def maker(self, x: Load) -> Member | None:
        """The member that computes what an item loads, where one alone does: of a buffer that is written in parts, that
        of the part."""
        key = x.buffer, x.index
        if key not in self.made:
            writers = list(self.writers.get(x.buffer, ())) if not self.overwrites(x.buffer) else []
            if len(writers) > 1:
                writers = [w for w in writers if self.may_alias(w, x)]
            self.made[key] = writers[0] if len(writers) == 1 else None
        return self.members.get(self.made[key])

    def may_alias(self, writer: int, x: Load) -> bool:
        """What is loaded may be an element that the item writes."""
        item = self.items[writer]
        return not (isinstance(item, (Computation, Contraction)) and apart(item.index, x.index))

    def made_in(self, x: Load, group: Group) -> bool:
        """The group computes what an item loads."""
        m = self.maker(x)
        return m is not None and self.group_of(m.seq) is group

    def inside(self, x: Load, group: Group) -> Member | None:
        """The member of the group that computes what another one of it loads, at the same point."""
        if self.overwrites(x.buffer):
            return None
        return next((m for m in group.writes.get(x.buffer, ()) if m.index == x.index), None)

    def solve(self, item_reads: list[Load], variables: tuple[Sym, ...], group: Group) -> dict[Sym, Expr]:
        """Every variable of an item in the group's coordinates."""
        makers = {x: self.maker(x) for x in item_reads if self.made_in(x, group)}
        own = [(a, b) for x, m in makers.items() for a, b in zip(x.index, m.index, strict=True)]
        shared = []
        for x in item_reads:
            if x not in makers and not x.dynamic:
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
            if all(a.substitute(solution) == b for a, b in own) and in_range(solution) and group.names(solution):
                return solution
        shape = tuple(extent(s) for s in variables)
        for x in item_reads:
            if x not in makers or domain_size(variables) != self.buffers[x.buffer].elements:
                continue
            whole = self.buffers[x.buffer].shape
            if linear(tuple(sym(s) for s in variables), shape) == linear(x.index, whole):  # a reshape
                solution = dict(zip(variables, reshaped(makers[x].index, whole, shape)))
                if all(a.substitute(solution) == b for a, b in own) and in_range(solution):
                    return solution
        raise Refused("it reads other points than the kernel computes")

    def level(self, item: Computation, reduction: Reduction | None, solution: dict[Sym, Expr], group: Group) -> str:
        """point, row or reduce; splits a flat group into rows and cols where a reduction asks for it."""
        rows = set(group.rows)
        total = domain_size(group.coords)
        if reduction is None:
            symbols = set().union(*(solution[s].symbols() for s in item.vars)) if item.vars else set()
            count = domain_size(item.vars)
            if count == total and (group.kind != "rows" or group.cols and not symbols <= rows or not group.cols):
                return "point"
            if group.kind == "rows" and count == domain_size(group.rows) and all(s in rows or s.is_dim
                                                                                 for s in symbols):
                return "row"
            raise Refused("it has other points than the kernel")
        kept = outer(item)
        if domain_size(kept + reduction.vars) != total:
            raise Refused("it reduces other points than the kernel has")
        images = [solution[s] for s in reduction.vars]
        if group.kind == "flat":
            cols = tuple(s for e in images for s in e.symbols())
            if any(e is not sym(s) for e, s in zip(images, cols)) or len(set(cols)) != len(images):
                raise Refused("its rows are not rows of the kernel")
            if any(set(solution[s].symbols()) & set(cols) for s in kept):
                raise Refused("its rows are not rows of the kernel")
            if any(isinstance(s, Reduction) for m in group.members for s in (m.value,)):
                raise Refused("the kernel holds a reduction of another kind")
            group.kind, group.cols = "rows", cols
            group.rows = tuple(s for s in group.coords if s not in cols)
            group.coords = group.rows + cols
            return reducing(reduction)
        a = linear(tuple(images), tuple(extent(s) for s in reduction.vars))
        b = linear(tuple(sym(s) for s in group.cols), tuple(extent(s) for s in group.cols))
        if a != b or any(set(solution[s].symbols()) & set(group.cols) for s in kept):
            raise Refused("its rows are not rows of the kernel")
        return reducing(reduction)

    def merge_others(self, group: Group, member: Member, needed: list[Group]) -> None:
        """The other groups that the new member reads at its own points become part of this one, where that is legal."""
        for x in list(self.loads[member.seq]):
            m = self.maker(x)
            if m is None or x.valid or x.dynamic:
                continue
            other = self.group_of(m.seq)
            if other is group or other.kind == "check" or other.kind in ALONE:
                continue
            if any(y.buffer == x.buffer and y.index != m.index for y in loads(member.value)):
                self.refuse(other, group, "it reads other points than the kernel computes")
                continue
            self.merge(group, other, member)

    def merge_siblings(self, group: Group) -> None:
        """Groups that reduce rows of what this one loads, which has just come to reduce rows, become part of it."""
        for other in self.siblings(list(group.reads), "rows"):
            if other is group:
                continue
            if other in group.before or group in other.before:
                self.refuse(other, group, "one needs the other")
            else:
                self.merge(group, other, None)

    def refuse(self, other: Group, group: Group, reason: str) -> None:
        self.refusals.append((f"{other.members[0].item.label} with {group.members[0].item.label}", reason))

    def merge(self, group: Group, other: Group, reader: Member | None) -> None:
        """`other` becomes part of the group, or the reason why not is recorded. reader: the member that reads both."""
        try:
            self.mergeable(group, other, reader)
        except Refused as refused:
            self.refuse(other, group, str(refused))
            return
        if group.kind == other.kind == "contraction":
            self.fusions.append(f"{other.members[0].item.label} and {group.members[0].item.label} are sums of one "
                                f"kernel")
        absorb(group, other)

    def mergeable(self, group: Group, other: Group, reader: Member | None) -> None:
        """Raises Refused where the two cannot be one kernel."""
        if (group.members[0].seq in self.early) != (other.members[0].seq in self.early):
            raise Refused("indices are looked at between the two")
        kinds = {group.kind, other.kind}
        if kinds == {"contraction", "rows"}:
            raise Refused("each needs a kernel of its own")
        if group.kind == other.kind == "contraction":
            alike(self.buffers, group.contractions + other.contractions)
        if set(group.coords) != set(other.coords):
            raise Refused("they have different points")
        if group.kind == other.kind == "rows" and (group.cols != other.cols):
            raise Refused("they have different rows")
        if len(group.members) + len(other.members) > MOST_MEMBERS:
            raise Refused(f"together they have more than {MOST_MEMBERS} operations")
        if other in group.before and any(
                self.inside(x, other) for m in group.members if m is not reader for x in self.member_loads(m)) \
                or group in other.before:
            raise Refused("one reads other points of the other")
        for one, two in ((group, other), (other, group)):
            for name in one.writes.keys() & two.reads.keys():
                if any(x.dynamic or m.index != x.index and not apart(m.index, x.index)
                       for m in one.writes[name] for x in two.reads[name]):
                    raise Refused(f"one reads other points of {name} than the other writes")
        for name in group.writes.keys() & other.writes.keys():
            if any(not apart(m.index, n.index) for m in self.written_in_turn(name, group) for n in other.writes[name]):
                raise Refused(f"both may store the same elements of {name}")
        for one, two in ((group, other), (other, group)):
            for between in two.before:
                if between is not one and between.above & one.mask:
                    raise Refused("a third kernel lies between them")
        if any(isinstance(m.value, Reduction) for g in (group, other) for m in g.members) and "flat" != group.kind:
            raise Refused("the kernel holds a reduction of another kind")
        integers = [{(r.vars, r.valid) for r in walk(*(m.value for m in g.members if m.value is not None))
                     if isinstance(r, Reduction) and r.op == "dot" and r.dtype == "i32"} for g in (group, other)]
        if all(integers) and integers[0] != integers[1]:
            raise Refused("it reduces other terms than the kernel")

    def member_loads(self, m: Member) -> list[Load]:
        return loads(*m.item.values) if m.value is None else loads(m.value)
