# SPDX-License-Identifier: Apache-2.0
"""Joining: the items of a list -> groups, each of which becomes a kernel.

Items are taken in order. Each joins the kernel (here: a group) of something that it reads, if every point of it needs
only what that kernel has at the same point, and if no path leads from the kernel through another one to the item. Two
groups that an item reads at the same points become one. Parts of one buffer that load the same elements are computed
together. A group has *coordinates*; a member's own variables are solved for in terms of them:

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

from dataclasses import replace
from typing import Any, Callable, Iterable, Mapping

from ..symbolic import Expr, Sym, sym
from .accesses import touched
from .dependences import Dependences, item_loads
from .disjoint import apart
from .equations import fill, in_range, solve
from .groups import Group, Grouped, Member, Notes, Refused, Tried, absorb, depend
from .grouped_contractions import alike
from .loop_ir import CheckKernel, Computation, Contraction, ExternKernel
from .program_ir import Branch, Element, Loop
from .scalar_ir import Buffer, Load, Reduction, Scalar, Sorted
from .scalars import domain_size, extent, is_narrow, is_position, linear, loads, point_number, rebound, reshaped, \
    substitute, walk

MOST_MEMBERS = 48      # operations of one kernel: beyond, registers spill and compilers slow down
ALONE = ("sort", "scatter")
MOST_SIBLINGS = 4      # kernels that a reduction of what they load is tried with


def sorts(value: Scalar) -> list[Sorted]:
    return [s for s in walk(value) if isinstance(s, Sorted)]


def outer(item: Computation, reduction: Reduction) -> tuple[Sym, ...]:
    """The variables of an item that is a reduction, without those that it reduces: a running one stores at those
    too."""
    return tuple(s for s in item.vars if s not in reduction.vars)


def same_points(variables: tuple[Sym, ...], group: Group) -> dict[Sym, Expr]:
    """The variables as the group's coordinates in the same order; none where they run over other points."""
    same = [extent(s) for s in variables] == [extent(s) for s in group.coords]
    return dict(zip(variables, map(sym, group.coords), strict=True)) if same else {}


def reducing(reduction: Reduction) -> str:
    """The level of a member."""
    return "running" if reduction.order == "running" else "reduce"


def _by_vectors(item: Element, reduction: Reduction) -> bool:
    """Neighbouring points of a reduction inside points are lanes; positions of windows are not."""
    window = isinstance(item, Computation) and item.window
    return is_narrow(reduction) and not (window and is_position(reduction))


# (first item of a kernel, item that can join it, what it reads of the kernel, all buffers) -> whether it does not
SaysApart = Callable[[Element, Computation, tuple[str, ...], Mapping[str, Buffer]], bool]


def join(uses: Dependences, early: set[int], separate: bool, notes: Notes, apart: SaysApart) -> Grouped:
    """Every item in a group. early: as of Grouped; separate: each in one of its own; apart: asked for the first that
    follows a contraction's sums, and for the first that reduces what a kernel has at points."""
    joining = _Joining(uses, early, separate, notes, apart)
    for seq, item in enumerate(uses.items):
        if item is not None:
            joining.add(seq, item)
    return joining.grouped


class _Joining:
    def __init__(self, uses: Dependences, early: set[int], separate: bool, notes: Notes, apart: SaysApart):
        self.uses, self.separate, self.notes, self.apart = uses, separate, notes, apart
        self.grouped = Grouped(uses, early)
        self.loaded_by: dict[str, dict[Group, None]] = {}
        self.checks: dict[str, list[Group]] = {}
        self.sorts: dict[tuple[Any, ...], Group] = {}

    # -- joining --------------------------------------------------------------------------------------------------
    def add(self, seq: int, item: Element) -> None:
        if isinstance(item, (Loop, Branch, ExternKernel)):
            self.add_region(seq, item)
            return
        if isinstance(item, CheckKernel):
            group = self.grouped.new(seq, "check", ())
            group.members.append(Member(seq, item, None, (), "check", 0))
            depend(group, [self.grouped.group_of(w) for w in self.uses.writers.get(item.buffer.name, ()) if w < seq])
            self.checks.setdefault(item.buffer.name, []).append(group)
            return
        needed = self.needed(seq, item)
        if isinstance(item, Contraction):
            group = self.grouped.new(seq, "contraction", item.batch + item.m + item.n)
            self.enter(group, Member(seq, item, None, item.index, "acc", 0), self.uses.loads[seq])
            depend(group, needed)
            return
        part = self.part_before(seq, item)
        for group in self.candidates(seq, item, part):
            kind, points = group.kind, (group.rows, group.cols, group.coords)
            try:
                made = tuple(dict.fromkeys(x.buffer for x in self.uses.loads[seq] if self.grouped.made_in(x, group)))
                member = self.match(seq, item, group, needed, part)
                if made and self.first_of(group, kind) and self.apart(group.members[0].item, item, made,
                                                                      self.uses.buffers):
                    group.kind, (group.rows, group.cols, group.coords) = kind, points
                    raise Refused("the tuning lock has it apart")
            except Refused as refused:
                self.notes.tried.append(Tried(seq, group.members[0].seq, "into", str(refused)))
                continue
            self.enter(group, member, self.member_loads(member))
            depend(group, [g for g in needed if g is not group])
            self.notes.fusions.append(f"{item.label} joins {group.members[0].item.label}")
            self.merge_others(group, member, needed)
            self.merge_parts(seq, item, group)
            if group.kind == "rows" != kind:
                self.merge_siblings(group)
            return
        self.start(seq, item, needed)

    def first_of(self, group: Group, kind: str) -> bool:
        """Whether what joins is the first that follows sums, or that reduces points. kind: of the group before."""
        if kind == "contraction":
            return all(m.level == "acc" for m in group.members)
        return kind == "flat" and group.kind == "rows"

    def add_region(self, seq: int, item: Loop | Branch | ExternKernel) -> None:
        """What nothing joins, and what touches buffers as a whole."""
        kind = "extern" if isinstance(item, ExternKernel) else "region"
        group = self.grouped.new(seq, kind, ())
        group.members.append(Member(seq, item, None, (), kind, 0))
        reads, writes = touched([item])
        above: dict[Group, None] = {}
        for name in reads:
            above |= {self.grouped.group_of(w): None for w in self.uses.writers.get(name, ()) if w < seq}
            above |= {check: None for check in self.checks.get(name, ())}
        for name in writes:
            touching = (*self.uses.readers.get(name, ()), *self.uses.writers[name])
            above |= {self.grouped.group_of(r): None for r in touching if r < seq and self.uses.items[r] is not None}
        depend(group, list(above))

    def written_in_turn(self, name: str, group: Group) -> list[Member]:
        """The members that store into a buffer of which several items may store one element."""
        return group.writes.get(name, []) if self.uses.overwrites(name) else []

    def needed(self, seq: int, item: Element) -> list[Group]:
        """The groups that must have run before the item, in order."""
        above: dict[Group, None] = {}
        for x in self.uses.loads[seq]:
            for w in self.uses.writers.get(x.buffer, ()):
                if w < seq and self.uses.may_alias(w, x):
                    above[self.grouped.group_of(w)] = None
            for _, value in x.dynamic:
                above |= self.checks_of(value)
        if isinstance(item, Computation) and item.dynamic:   # in place: after what was there before
            for _, value in item.dynamic:
                above |= self.checks_of(value)
            above |= {self.grouped.group_of(w): None for w in self.uses.writers[item.out] if w < seq}
        if self.uses.overwrites(item.out):  # in place: after everything that reads what was there
            for other in [*self.uses.readers.get(item.out, ()), *self.uses.writers[item.out]]:
                if other < seq and self.uses.items[other] is not None:
                    above[self.grouped.group_of(other)] = None
        return list(above)

    def checks_of(self, index: Scalar) -> dict[Group, None]:
        return {group: None for x in loads(index) for group in self.checks.get(x.buffer, ())}

    def candidates(self, seq: int, item: Computation, part: Group | None) -> list[Group]:
        """The groups that the item may join, the likeliest first. part: of part_before."""
        candidates: dict[Group, None] = {}
        if self.separate or item.dynamic or sorts(item.value):
            return []
        for x in self.uses.loads[seq]:
            member = self.grouped.maker(x)
            if member is not None:
                candidates[self.grouped.group_of(member.seq)] = None
        ranked = sorted(candidates, key=lambda g: (g.kind != "contraction", -g.number))
        if isinstance(item.value, Reduction):
            kind = "flat" if self.row_of(item) is None else "rows"
            ranked += [g for g in self.siblings({x.buffer for x in self.uses.loads[seq]}, kind) if g not in candidates]
        elif part is not None and part not in candidates:
            ranked.append(part)
        return ranked

    def part_before(self, seq: int, item: Computation) -> Group | None:
        """The group that computes the part of the item's buffer before this one, where it loads some of the same
        elements at the same points."""
        before = [w for w in self.uses.writers[item.out] if w < seq and w in self.grouped.members]
        group = self.grouped.group_of(before[-1]) if before else None
        if group is None or group.kind != "flat" or self.uses.overwrites(item.out) \
                or any(isinstance(s, Reduction) for s in walk(item.value, *(m.computed for m in group.members))):
            return None
        points = same_points(item.vars, group)
        own = {substitute(x, points) for x in self.uses.loads[seq]} if points else set()
        return group if any(x in own for name in group.reads for x in group.reads[name]) else None

    def merge_parts(self, seq: int, item: Computation, group: Group) -> None:
        """The same where the item has joined what it reads: that group becomes part of the one of the part before."""
        before = [w for w in self.uses.writers[item.out] if w < seq and w in self.grouped.members]
        other = self.grouped.group_of(before[-1]) if before else group
        members = [*group.members, *other.members]
        if other is group or {group.kind, other.kind} != {"flat"} or self.uses.overwrites(item.out) \
                or any(isinstance(s, Reduction) for m in members for s in walk(m.computed)):
            return
        if any(x in other.reads.get(name, ()) for name in group.reads for x in group.reads[name]):
            self.merge(other, group, None)

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

    def start(self, seq: int, item: Computation, needed: list[Group]) -> None:
        sorted_values = sorts(item.value)
        if sorted_values:
            first = sorted_values[0]
            key = (item.vars, first.var, first.value, first.count, first.descending)
            group = self.sorts.get(key)
            if group is None or self.separate:
                group = self.sorts[key] = self.grouped.new(seq, "sort", item.vars)
            member = Member(seq, item, item.value, item.index, "point", 0)
        elif item.dynamic:
            group = self.grouped.new(seq, "scatter", item.vars)
            member = Member(seq, item, item.value, item.index, "point", 0)
        elif (row := self.row_of(item)) is not None:
            kept = outer(item, row)
            group = self.grouped.new(seq, "rows", kept + row.vars)
            group.rows, group.cols = kept, row.vars
            member = Member(seq, item, row.value, item.index, reducing(row), 0)
        else:
            group = self.grouped.new(seq, "flat", item.vars)
            member = Member(seq, item, item.value, item.index, "point", 0)
        self.enter(group, member, self.uses.loads[seq])
        depend(group, needed)

    def enter(self, group: Group, member: Member, item_reads: list[Load]) -> None:
        group.members.append(member)
        group.writes.setdefault(member.item.out, []).append(member)
        self.grouped.at[member.seq] = group
        self.grouped.members[member.seq] = member
        for x in item_reads:
            group.reads.setdefault(x.buffer, []).append(x)
            self.loaded_by.setdefault(x.buffer, {})[group] = None

    def row_of(self, item: Computation) -> Reduction | None:
        """A reduction whose terms lie next to each other in memory, rather than its results."""
        value = item.value
        if isinstance(value, Reduction) and value.order == "running":
            return value
        if not isinstance(value, Reduction) or item.window or value.order == "seq" or value.valid:
            return None
        inner = set(value.vars)
        for x in loads(value.value):
            symbols = set().union(*(e.symbols() for e in x.index)) if x.index else set()
            if not inner & symbols:
                continue
            address = self.uses.buffers[x.buffer].address(x.index)
            for s in item.vars:
                if address.coefficient(s) == 1:
                    return None
        return value

    # -- matching -------------------------------------------------------------------------------------------------
    def match(self, seq: int, item: Computation, group: Group, needed: list[Group], part: Group | None) -> Member:
        """The item as a member of the group; raises Refused. part: of part_before."""
        if group.kind == "check":
            raise Refused("a check computes nothing")
        if group.kind in ALONE:
            raise Refused(f"a {group.kind} has a kernel of its own")
        if (seq in self.grouped.early) != (group.members[0].seq in self.grouped.early):
            raise Refused("indices are looked at between the two")
        if len(group.members) >= MOST_MEMBERS:
            raise Refused(f"the kernel has {MOST_MEMBERS} operations already")
        for other in needed:
            if other is not group and other.above & group.mask:
                raise Refused("it needs another kernel that runs after this one")
        reduction, item_reads = self.row_of(item), self.uses.loads[seq]
        value = rebound(item.value, set(group.coords), self.grouped.others) if reduction is None else item.value
        if value is not item.value:
            item = replace(item, value=value)   # reductions inside points have variables of their own
            item_reads = item_loads(item)
        inside = [x for x in item_reads if self.grouped.made_in(x, group)]
        for x in item_reads:
            if x not in inside and any(w < seq and self.grouped.group_of(w) is group and self.uses.may_alias(w, x)
                                       for w in self.uses.writers.get(x.buffer, ())):
                raise Refused(f"{x.buffer} is written in parts")
        for x in group.reads.get(item.out, ()):
            if not self.uses.overwrites(item.out):
                if self.grouped.inside(x, group) is None and not apart(item.index, x.index):
                    raise Refused(f"the kernel reads other points of {item.out}")
            elif x.index != item.index or x.dynamic:
                raise Refused(f"it overwrites {self.uses.buffers[item.out].kind} {item.out}, "
                               "which the kernel reads at other points")
        variables = item.vars if reduction is None else outer(item, reduction) + reduction.vars
        if reduction is not None and group.kind == "contraction":
            raise Refused("a reduction is no epilogue of a contraction")
        if any(x.valid or x.dynamic for x in inside):
            raise Refused("it reads under a predicate what the kernel computes")
        if isinstance(item.value, Reduction) and reduction is None and not inside:
            self.look_alike(item, item.value, group)
        if not inside and group is part:
            solution = same_points(variables, group)
        else:
            solution = self.solve(item_reads, variables, group)
        mapped = {s: e for s, e in solution.items() if e is not sym(s)}
        index = tuple(e.substitute(mapped) for e in item.index)
        if any(not apart(m.index, index) for m in self.written_in_turn(item.out, group)):
            raise Refused(f"the kernel may store the same elements of {item.out}")
        value = substitute(item.value if reduction is None else reduction.value, mapped)
        level = self.level(item, reduction, solution, group)
        phase = 0
        for x in loads(value):
            m = self.grouped.inside(x, group)
            if m is not None:
                phase = max(phase, m.phase + (m.level == "reduce"))
        return Member(seq, item, value, index, level, phase)

    def look_alike(self, item: Computation, reduction: Reduction, group: Group) -> None:
        """Reductions inside points share a loop where they have the same terms, and vectors compute all or none."""
        others = [(m.item, m.value) for m in group.members if isinstance(m.value, Reduction)]
        if any((r.vars, r.valid) != (reduction.vars, reduction.valid) for _, r in others):
            raise Refused("it reduces other terms than the kernel")
        if any(_by_vectors(other, r) != _by_vectors(item, reduction) for other, r in others):
            raise Refused("vectors compute one of them and not the other")

    def solve(self, item_reads: list[Load], variables: tuple[Sym, ...], group: Group) -> dict[Sym, Expr]:
        """Every variable of an item in the group's coordinates."""
        makers = {x: m for x in item_reads if (m := self.grouped.maker(x)) is not None
                  and self.grouped.group_of(m.seq) is group}
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
            if x not in makers or domain_size(variables) != self.uses.buffers[x.buffer].elements:
                continue
            whole = self.uses.buffers[x.buffer].shape
            if point_number(variables) == linear(x.index, whole):  # a reshape
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
        kept = outer(item, reduction)
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
        b = point_number(group.cols)
        if a != b or any(set(solution[s].symbols()) & set(group.cols) for s in kept):
            raise Refused("its rows are not rows of the kernel")
        return reducing(reduction)

    def merge_others(self, group: Group, member: Member, needed: list[Group]) -> None:
        """The other groups that the new member reads at its own points become part of this one, where that is legal."""
        for x in list(self.uses.loads[member.seq]):
            m = self.grouped.maker(x)
            if m is None or x.valid or x.dynamic:
                continue
            other = self.grouped.group_of(m.seq)
            if other is group or other.kind == "check" or other.kind in ALONE:
                continue
            if any(y.buffer == x.buffer and y.index != m.index for y in self.member_loads(member)):
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
        self.notes.tried.append(Tried(other.members[0].seq, group.members[0].seq, "with", reason))

    def merge(self, group: Group, other: Group, reader: Member | None) -> None:
        """`other` becomes part of the group, or the reason why not is recorded. reader: the member that reads both."""
        try:
            self.mergeable(group, other, reader)
        except Refused as refused:
            self.refuse(other, group, str(refused))
            return
        if group.kind == other.kind == "contraction":
            self.notes.fusions.append(f"{other.members[0].item.label} and {group.members[0].item.label} are sums of "
                                      "one kernel")
        absorb(group, other)

    def mergeable(self, group: Group, other: Group, reader: Member | None) -> None:
        """Raises Refused where the two cannot be one kernel."""
        if (group.members[0].seq in self.grouped.early) != (other.members[0].seq in self.grouped.early):
            raise Refused("indices are looked at between the two")
        kinds = {group.kind, other.kind}
        if kinds == {"contraction", "rows"}:
            raise Refused("each needs a kernel of its own")
        if group.kind == other.kind == "contraction":
            alike(self.uses.buffers, group.contractions + other.contractions)
        if set(group.coords) != set(other.coords):
            raise Refused("they have different points")
        if group.kind == other.kind == "rows" and (group.cols != other.cols):
            raise Refused("they have different rows")
        if len(group.members) + len(other.members) > MOST_MEMBERS:
            raise Refused(f"together they have more than {MOST_MEMBERS} operations")
        if other in group.before and any(
                self.grouped.inside(x, other) for m in group.members if m is not reader for x in self.member_loads(m)) \
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
