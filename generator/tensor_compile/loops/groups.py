# SPDX-License-Identifier: Apache-2.0
"""Groups of items that become one kernel, and what must run before what: a graph without cycles."""
from __future__ import annotations

import heapq
from dataclasses import field
from typing import Any

from ..records import dataclass
from ..symbolic import Expr, Sym
from .dependences import Dependences
from .loop_ir import Contraction
from .program_ir import Element
from .scalar_ir import Load, Scalar
from .scalars import Others, loads


class Refused(Exception):
    """Why an item cannot join a group, or a group another one."""


class Member:
    """An item within a group: its value and the index of its result in the group's coordinates."""

    __slots__ = ("seq", "item", "value", "index", "level", "phase", "stored", "local", "kept")

    def __init__(self, seq: int, item: Element, value: Scalar | None, index: tuple[Expr, ...], level: str, phase: int):
        self.seq, self.item, self.value, self.index = seq, item, value, index
        self.level, self.phase = level, phase        # level: point | row | reduce | running | acc
        self.stored, self.local = False, ""
        # (buffer name, index) where a later phase finds the value
        self.kept: tuple[str, tuple[Expr, ...]] | None = None

    @property
    def computed(self) -> Scalar:
        """The value of a member that has one: of all but contractions and what touches whole buffers."""
        assert self.value is not None
        return self.value


class Group:
    __slots__ = ("number", "mask", "above", "before", "after", "kind", "rows", "cols", "coords", "members", "seq",
                 "reads", "writes", "merged", "beside")

    def __init__(self, number: int, kind: str, seq: int, coords: tuple[Sym, ...]):
        self.number, self.mask, self.above = number, 1 << number, 0    # bits of this group, of all it depends on
        self.before: set[Group] = set()
        self.after: set[Group] = set()
        # kind: flat | rows | contraction | check | sort | scatter
        self.kind, self.coords, self.seq = kind, coords, seq
        self.rows: tuple[Sym, ...] = coords
        self.cols: tuple[Sym, ...] = ()
        self.members: list[Member] = []
        self.reads: dict[str, list[Load]] = {}
        self.writes: dict[str, list[Member]] = {}
        self.merged: Group | None = None
        self.beside: list[Group] = []    # contractions that run as parts of one kernel, this one first

    def names(self, solution: dict[Sym, Expr]) -> bool:
        """The solution is in the group's coordinates: a load within a reduction is at the reduction's variables."""
        known = set(self.coords)
        return all(s.is_dim or s in known for e in solution.values() for s in e.symbols())

    @property
    def contractions(self) -> list[Contraction]:
        """In the order of their accumulators' numbers."""
        return [m.item for m in self.members if m.level == "acc"]


@dataclass(frozen=True, slots=True)
class Grouped:
    """The groups of a list's items. groups: all that were made, also those that are part of another one by now. at,
    members: by item. early: items that must have run before outputs and states are written. others: variables for
    reductions inside points, where theirs are taken."""

    uses: Dependences
    early: set[int]
    groups: list[Group] = field(default_factory=list)
    at: dict[int, Group] = field(default_factory=dict)
    members: dict[int, Member] = field(default_factory=dict)
    others: Others = field(default_factory=Others)

    def new(self, seq: int, kind: str, coords: tuple[Sym, ...]) -> Group:
        group = Group(len(self.groups), kind, seq, coords)
        self.groups.append(group)
        self.at[seq] = group
        return group

    def group_of(self, seq: int) -> Group:
        group = self.at[seq]
        while group.merged is not None:
            group = group.merged
        self.at[seq] = group
        return group

    def maker(self, x: Load) -> Member | None:
        """The member that computes what an item loads, where one alone does."""
        writer = self.uses.writer_of(x)
        return None if writer is None else self.members.get(writer)

    def made_in(self, x: Load, group: Group) -> bool:
        """The group computes what an item loads."""
        m = self.maker(x)
        return m is not None and self.group_of(m.seq) is group

    def inside(self, x: Load, group: Group) -> Member | None:
        """The member of the group that computes what another one of it loads, at the same point."""
        if self.uses.overwrites(x.buffer):
            return None
        return next((m for m in group.writes.get(x.buffer, ()) if m.index == x.index), None)


@dataclass(frozen=True, slots=True)
class Tried:
    """Two items whose groups stayed apart when it was tried: how they would have been joined, and why they were not."""

    one: int
    other: int
    how: str
    why: str


@dataclass(frozen=True, slots=True)
class Notes:
    """What fusion says of a list: what was fused; what was tried in vain, which may have been done later in another
    way."""

    fusions: list[str] = field(default_factory=list)
    tried: list[Tried] = field(default_factory=list)


def depend(group: Group, needed: list[Group]) -> None:
    grew = False
    for other in needed:
        if other is not group and other not in group.before:
            group.before.add(other)
            other.after.add(group)
            above = group.above | other.above | other.mask
            if above != group.above:
                group.above, grew = above, True
    if grew:
        propagate(group)


def propagate(group: Group) -> None:
    work = [group]
    while work:
        g = work.pop()
        for below in g.after:
            above = below.above | g.above | g.mask
            if above != below.above:
                below.above = above
                work.append(below)


def hand_over(other: Group, group: Group) -> None:
    """What was before and after `other` is before and after `group`."""
    group.mask |= other.mask
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
    propagate(group)


def absorb(group: Group, other: Group) -> None:
    """`other` becomes part of `group`."""
    if other.kind != "flat":
        group.kind = other.kind
        group.rows, group.cols, group.coords = other.rows, other.cols, other.coords
    group.members = sorted(group.members + other.members, key=lambda m: m.seq)
    group.seq = min(group.seq, other.seq)
    for name, read in other.reads.items():
        group.reads.setdefault(name, []).extend(read)
    for name, written in other.writes.items():
        group.writes.setdefault(name, []).extend(written)
    hand_over(other, group)
    maker_of: dict[tuple[Any, ...], Member] = {}
    for m in group.members:  # phases again, as members that joined may wait for each other
        if m.value is None:
            maker_of[m.item.out, m.index] = m
            continue
        m.phase = 0
        for x in loads(m.value):
            maker = maker_of.get((x.buffer, x.index))
            if maker is not None:
                m.phase = max(m.phase, maker.phase + (maker.level == "reduce"))
        maker_of[m.item.out, m.index] = m


def beside(group: Group, other: Group) -> None:
    """`other` runs where `group` does, as another part of its kernel. It keeps its members."""
    group.beside = [*(group.beside or [group]), *(other.beside or [other])]
    other.beside = []
    hand_over(other, group)
    group.seq = min(group.seq, other.seq)


def ordered(groups: list[Group]) -> list[Group]:
    """The groups that are left, in an order in which they may run: that of the items where it is open, but checks and
    what they need before all else, so that what a fault leaves undone includes what could have been done."""
    live = [g for g in groups if g.merged is None]
    waiting = {g: len(g.before) for g in live}
    first = 0
    for g in live:
        if g.kind == "check":
            first |= g.mask | g.above
    heap = [(not g.mask & first, g.seq, g.number, g) for g in live if not g.before]
    heapq.heapify(heap)
    out = []
    while heap:
        *_, g = heapq.heappop(heap)
        out.append(g)
        for below in g.after:
            waiting[below] -= 1
            if not waiting[below]:
                heapq.heappush(heap, (not below.mask & first, below.seq, below.number, below))
    assert len(out) == len(live), "fusion made a cycle"
    return out
