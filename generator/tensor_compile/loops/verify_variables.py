# SPDX-License-Identifier: Apache-2.0
"""What the verifier says of names: which loop variables, accumulators and row reductions a value may speak of.

Every variable in an index is bound once: by the loops around the value, by a reduction or a sort inside it, or by the
load whose index it is part of. A variable is never bound again within its own scope: a point's variable that a
reduction bound anew would mean the one or the other depending on who reads the expression.
"""
from __future__ import annotations

from collections import Counter
from typing import Iterable

from ..symbolic import Expr, Sym
from .loop_ir import CheckKernel, Computation, Contraction, ContractionKernel, ExternKernel, GroupedContractionKernel, \
    LoopNestKernel, PreparedKernel, RowReduce
from .program_ir import Element
from .scalar_ir import Acc, Apply, Dynamic, InBounds, IndexValue, Load, Local, Reduction, Scalar, Sorted
from .scalars import walk

Names = frozenset[Sym]
NONE: Names = frozenset()


def unbound(item: Element) -> list[str]:
    """The findings of a Computation, Contraction or kernel."""
    problems: dict[str, None] = {}
    _Scopes(problems).item(item)
    return list(problems)


class _Scopes:
    """free, inner: by scalar, the variables that something around it binds, and those that are bound in it."""

    def __init__(self, problems: dict[str, None]):
        self.problems = problems
        self.label = ""
        self.free: dict[Scalar, Names] = {}
        self.inner: dict[Scalar, Names] = {}

    def item(self, item: Element) -> None:
        self.label = getattr(item, "label", "")
        if isinstance(item, Computation):
            self.once(item.vars)
            self.store(item.index, item.value, item.dynamic, frozenset(item.vars))
        elif isinstance(item, Contraction):
            self.contraction(item, (item.b,))
            self.indices(item.index, frozenset((*item.batch, *item.m, *item.n)))
        elif isinstance(item, ContractionKernel):
            self.contraction(item, item.b)
            for s in item.stores:
                self.store(s.index, s.value, s.dynamic, frozenset((*item.batch, *item.m, *item.n)), len(item.b))
        elif isinstance(item, GroupedContractionKernel):
            for part in item.contractions:
                self.item(part)
        elif isinstance(item, PreparedKernel):
            self.item(item.rows)
            self.item(item.contraction)
        elif isinstance(item, LoopNestKernel):
            self.nest(item)
        else:
            assert isinstance(item, (CheckKernel, ExternKernel))

    def contraction(self, item: Contraction | ContractionKernel, second: tuple[Load, ...]) -> None:
        self.once((*item.batch, *item.m, *item.n, *item.k))
        self.value(item.a, frozenset((*item.batch, *item.m, *item.k)))
        for b in second:
            self.value(b, frozenset((*item.batch, *item.n, *item.k)))
        for p in item.predicates:
            self.value(p, frozenset((*item.batch, *item.m, *item.k)))

    def nest(self, kernel: LoopNestKernel) -> None:
        known: set[str] = set()
        for phase in kernel.phases:
            self.once((*kernel.rows, *phase.vars))
            scope = frozenset((*kernel.rows, *phase.vars))
            here = set(known)     # reductions whose value a point of the phase may use
            for r in phase.reduces:
                self.value(r.value, scope, 0, here)
                if isinstance(r, RowReduce):
                    known.add(r.name)
                    here |= {r.name} if r.order == "running" else set()
            for s in phase.stores:
                self.store(s.index, s.value, s.dynamic, scope, 0, here)

    def once(self, variables: tuple[Sym, ...]) -> None:
        for s, times in Counter(variables).items():
            if times > 1:
                self.say(f"{s.name} is the variable of two loops")

    def say(self, text: str) -> None:
        self.problems[f"{self.label}: {text}"] = None

    # -- values ---------------------------------------------------------------------------------------------------
    def store(self, index: tuple[Expr, ...], value: Scalar, dynamic: Dynamic, scope: Names, accs: int = 0,
              locals_: Iterable[str] = ()) -> None:
        within = scope | {s for s, _ in dynamic}
        self.indices(index, within)
        for _, v in dynamic:
            self.value(v, scope, accs, locals_)
        self.value(value, within, accs, locals_)

    def indices(self, index: tuple[Expr, ...], scope: Names) -> None:
        self.missing(_symbols(index) - scope)

    def missing(self, names: Names) -> None:
        for s in sorted(names, key=lambda s: s.key):
            self.say(f"nothing binds the variable {s.name}")

    def value(self, root: Scalar, scope: Names, accs: int = 0, locals_: Iterable[str] = ()) -> None:
        for s in walk(root):
            if s not in self.free:
                self.look(s)
            if isinstance(s, Acc) and s.number >= accs:
                self.say(f"there is no accumulator {s.number}")
            if isinstance(s, Local) and s.name not in locals_:
                self.say(f"the row reduction {s.name} has no value yet")
        self.missing(self.free[root] - scope)
        self.again(self.inner[root] & scope)

    def again(self, names: Names) -> None:
        for s in sorted(names, key=lambda s: s.key):
            self.say(f"{s.name} is bound again where it has a value")

    def look(self, s: Scalar) -> None:
        """Notes the variables of one node, whose children are known."""
        free = NONE.union(*(self.free[c] for c in s.children))
        inner = NONE.union(*(self.inner[c] for c in s.children))
        if isinstance(s, Load):
            bound = frozenset(g for g, _ in s.dynamic)
            self.again(bound & inner)
            free |= _symbols((*s.index, *s.valid)) - bound
            inner |= bound
        elif isinstance(s, Reduction):
            free |= _symbols(s.valid)
            if s.order == "running":
                free |= frozenset(s.vars)
            else:
                self.once(s.vars)
                self.again(frozenset(s.vars) & inner)
                free -= frozenset(s.vars)
                inner |= frozenset(s.vars)
        elif isinstance(s, Sorted):
            self.again(inner & {s.var})
            free = free - {s.var} | _symbols((s.at, s.count))
            inner |= {s.var}
        elif isinstance(s, IndexValue):
            free = _symbols((s.expr,))
        elif isinstance(s, InBounds):
            free = _symbols(s.exprs)
        else:
            assert isinstance(s, (Apply, Acc, Local)) or not s.children
        self.free[s], self.inner[s] = free, inner


def _symbols(exprs: Iterable[Expr]) -> Names:
    """The variables, without what is known when the kernel is called."""
    return frozenset(s for e in exprs for s in e.symbols() if not s.is_dim)
