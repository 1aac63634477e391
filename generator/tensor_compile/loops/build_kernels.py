# SPDX-License-Identifier: Apache-2.0
"""Groups -> kernels: which values are stored, which are computed again, which wait in a row for a later phase."""
from __future__ import annotations

from dataclasses import replace
from typing import Callable

from ..symbolic import Expr, sym
from .groups import Group, Grouped, Member
from .kernel_interface import contraction, grouped, loop_nest
from .loop_ir import Computation, ContractionKernel, Kernel, LoopNestKernel, RowReduce, RowSort, Phase, Store
from .scalar_ir import Acc, Buffer, Load, Local, Reduction, Scalar, Sorted, unused
from .scalars import CHEAP, Rewriter, bound, cost, extent, loads, rebound, sort_space, walk


class KernelBuilder:
    """grouped: with every item in its group. buffers: of the function; those of scratch are put there."""

    def __init__(self, grouped: Grouped, buffers: dict[str, Buffer]):
        self.grouped, self.uses, self.buffers = grouped, grouped.uses, buffers

    def build(self, group: Group) -> Kernel | None:
        """None: nobody reads what the group computes."""
        if group.kind in ("check", "extern"):
            alone: Kernel = group.members[0].item
            return alone
        parts: list[LoopNestKernel | ContractionKernel] = []
        for part in group.beside or [group]:
            if (kernel := self.build_one(part, group)) is not None:
                loc = next((m.item.loc for m in part.members if m.item.loc is not None), None)
                parts.append(replace(kernel, loc=loc))
        if len(parts) > 1:
            products = tuple(part for part in parts if isinstance(part, ContractionKernel))
            return grouped("+".join(part.label for part in parts), products, parts[0].loc)
        return parts[0] if parts else None

    def build_one(self, group: Group, host: Group) -> LoopNestKernel | ContractionKernel | None:
        """host: in whose kernel the group is a part."""
        for m in group.members:
            out = m.item.out
            m.stored = self.buffers[out].kind != "temp" or out in self.uses.outside \
                or len(self.uses.writers[out]) > 1 or any(
                self.grouped.group_of(r) is not host for r in self.uses.readers.get(out, ()))
        if not any(m.stored for m in group.members):
            return None
        label = _kernel_label(group)
        if group.kind == "sort":
            return self.build_sort(group, label)
        if group.kind == "scatter":
            return self.build_scatter(group.members[0].item, label)
        if group.kind == "contraction":
            return self.build_contraction(group, label)
        if group.kind == "flat":
            resolve = self.resolver(group)
            stores = tuple(Store(m.item.out, m.index, resolve(m, 0)) for m in group.members if m.stored)
            return loop_nest(self.buffers, label, group.coords, (Phase((), (), stores),))
        return self.build_rows(group, label)

    def resolver(self, group: Group) -> Callable[[Member, int], Scalar]:
        """resolve(member, phase): its value as an expression that can be evaluated in that phase."""
        sums = group.contractions
        memo: dict[tuple[Member, int], Scalar] = {}
        rewriters: dict[int, Rewriter] = {}

        def resolve(m: Member, phase: int) -> Scalar:
            if m.level == "reduce" or m.level == "running" and phase == m.phase:
                return Local(m.local, m.item.value.dtype)
            if m.level == "acc":
                return Acc(m.item.product.sum, sums.index(m.item))
            if m.kept is not None and phase > m.phase:
                name, index = m.kept
                return Load(name, m.computed.dtype, index)
            if (m, phase) not in memo:
                memo[m, phase] = rewriter(phase)(m.computed)
            return memo[m, phase]

        def rewriter(phase: int) -> Rewriter:
            if phase not in rewriters:
                def leaf(s: Scalar) -> Scalar | None:
                    if isinstance(s, Reduction) and s.order != "running":
                        return self.apart(s, rewriters[phase])
                    member = self.grouped.inside(s, group) if isinstance(s, Load) and not s.dynamic and not s.valid \
                        else None
                    return resolve(member, phase) if member is not None else None
                rewriters[phase] = Rewriter(leaf=leaf)
            return rewriters[phase]
        return resolve

    def apart(self, s: Reduction, change: Rewriter) -> Reduction:
        """A reduction whose value is changed, with variables that no reduction within the new value binds."""
        value = change(s.value)
        while taken := set(s.vars) & bound(value):
            again = rebound(s, taken, self.grouped.others)
            assert isinstance(again, Reduction)
            s, value = again, change(again.value)
        return Reduction(s.op, s.order, s.dtype, s.vars, value, s.valid)

    def build_contraction(self, group: Group, label: str) -> ContractionKernel:
        sums = group.contractions
        item = sums[0]
        resolve = self.resolver(group)
        stores = tuple(Store(m.item.out, m.index, resolve(m, 0)) for m in group.members if m.stored)
        return contraction(self.buffers, label, item.batch, item.m, item.n, item.k, item.a, tuple(s.b for s in sums),
                           item.panel, stores, product=item.product, where=item.where)

    def build_rows(self, group: Group, label: str) -> LoopNestKernel:
        numbered = [m for m in group.members if m.level in ("reduce", "running")]
        for i, m in enumerate(numbered):
            m.local = f"r{i}"
        last = max(m.phase for m in group.members)
        self.keep(group, last)
        resolve = self.resolver(group)
        reduces: list[list[RowReduce | RowSort]] = [[] for _ in range(last + 1)]
        stores: list[list[Store]] = [[] for _ in range(last + 1)]
        tail: list[Store] = []
        for m in group.members:
            if m.level in ("reduce", "running"):
                r = m.item.value
                value = Rewriter(leaf=self.leaf_at(group, resolve, m.phase))(m.computed)
                reduces[m.phase].append(RowReduce(m.local, r.op, r.order, value, r.dtype))
            if m.kept is not None and not m.stored:
                stores[m.phase].append(Store(m.kept[0], m.kept[1], resolve(m, m.phase)))
            if m.stored:
                where = stores[m.phase] if m.level in ("point", "running") else tail
                where.append(Store(m.item.out, m.index, resolve(m, m.phase)))
        phases = [Phase(group.cols, tuple(r), tuple(s)) for r, s in zip(reduces, stores) if r or s]
        phases += [Phase((), (), tuple(tail), False)] if tail else []
        return loop_nest(self.buffers, label, group.rows, tuple(phases))

    def leaf_at(self, group: Group, resolve: Callable[[Member, int], Scalar], phase: int) -> Callable[[Scalar],
                Scalar | None]:
        def leaf(s: Scalar) -> Scalar | None:
            member = self.grouped.inside(s, group) if isinstance(s, Load) else None
            return resolve(member, phase) if member is not None else None
        return leaf

    def keep(self, group: Group, last: int) -> None:
        """Decides which values of one phase are kept for a later one, and where."""
        resolve = self.resolver(group)
        wanted: dict[Member, int] = {}
        seen: set[tuple[Member, int]] = set()

        def need(m: Member, phase: int) -> None:
            if (m, phase) in seen or m.level == "reduce":
                return
            seen.add((m, phase))
            if m.phase < phase and (m.level == "running" or
                                    m.level == "point" and cost(resolve(m, m.phase)) > CHEAP):
                wanted[m] = max(wanted.get(m, 0), phase)
                need(m, m.phase)
                return
            for x in loads(m.computed):
                member = self.grouped.inside(x, group)
                if member is not None:
                    need(member, phase)

        for m in group.members:
            if m.level in ("reduce", "running"):
                for x in loads(m.computed):
                    member = self.grouped.inside(x, group)
                    if member is not None:
                        need(member, m.phase)
            elif m.stored:
                need(m, m.phase)
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
                name = self.scratch(m.computed.dtype, tuple(extent(s) for s in group.cols))
                m.kept = (name, tuple(sym(s) for s in group.cols))

    def scratch(self, dtype: str, shape: tuple[Expr, ...]) -> str:
        name = unused(self.buffers, "%s", 1)
        self.buffers[name] = Buffer(name, dtype, shape, tuple(range(len(shape))), "scratch")
        return name

    def build_sort(self, group: Group, label: str) -> LoopNestKernel:
        """A row is sorted once for all that ask for positions in it."""
        ordered = next(s for s in walk(group.members[0].computed) if isinstance(s, Sorted))
        size = extent(ordered.var)
        row = self.scratch("i64", (sort_space(size, ordered.value.dtype),))

        def leaf(s: Scalar) -> Scalar | None:
            return Load(row, "i64", (s.at,)) if isinstance(s, Sorted) else None
        change = Rewriter(leaf=leaf)
        places = tuple(v for v in group.coords if v in ordered.at.symbols())
        rows = tuple(v for v in group.coords if v not in places)
        stores = tuple(Store(m.item.out, m.index, change(m.computed)) for m in group.members if m.stored)
        sort = RowSort(row, ordered.value, ordered.count, ordered.descending)
        phases = Phase((ordered.var,), (sort,), (), False), Phase(places, (), stores)
        return loop_nest(self.buffers, label, rows, phases)

    def build_scatter(self, item: Computation, label: str) -> LoopNestKernel:
        """The variables before the first that the stored index does without are rows."""
        within = set().union(*(e.symbols() for e in item.index))
        free = [i for i, v in enumerate(item.vars) if v not in within]
        first = free[0] if free else len(item.vars)
        store = Store(item.out, item.index, item.value, item.dynamic)
        return loop_nest(self.buffers, label, item.vars[:first], (Phase(item.vars[first:], (), (store,)),))

    def can_host(self, group: Group, o: Member, m: Member, until: int, taken: set[str]) -> bool:
        """The row of o, written in the last phase that reads m and by nothing but o there, can hold m until then."""
        out = o.item.out
        return o.stored and o.level == "point" and o.phase == until and out not in taken and out not in group.reads \
            and o.item.value.dtype == m.computed.dtype and self.buffers[out].kind in ("temp", "output") \
            and len(self.uses.writers[out]) == 1 \
            and not any(p is not o and p.phase == until and (p.stored or p.level == "reduce") for p in group.members)


def _kernel_label(group: Group) -> str:
    names: dict[str, None] = {}
    for m in group.members:
        if m.item.label:
            names[m.item.label] = None
    picked = list(names)
    return "_".join(picked if len(picked) <= 4 else picked[:3] + [picked[-1]]) or "nest"
