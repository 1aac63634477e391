# SPDX-License-Identifier: Apache-2.0
"""What may be relied on about dims inside a function: its guards, as a substitution and as known inequalities."""
from __future__ import annotations

from collections.abc import Iterable

from .. import symbolic
from ..symbolic import Expr, Sym, sym
from .ir import Guard, TensorType


class Facts:
    """Answers questions about dims given guards.

    An equality that can be solved for one of its symbols in integers becomes a substitution of that symbol; other
    equalities are kept as expressions known to be zero, inequalities as expressions known to be non-negative.
    """

    __slots__ = ("replace", "zeros", "positives", "_normal")

    def __init__(self, guards: Iterable[Guard] = ()):
        self.replace: dict[Sym, Expr] = {}
        self.zeros: list[Expr] = []
        self.positives: list[Expr] = []
        self._normal: dict[Expr, Expr] = {}
        guards = list(guards)
        for g in guards:
            if g.relation == "==":
                self._equality(self.normal(g.lhs - g.rhs))
        for g in guards:
            if g.relation == ">=":
                self.positives.append(self.normal(g.lhs - g.rhs))

    def _equality(self, zero: Expr) -> None:
        for s in sorted(zero.symbols(), key=lambda s: s.key):
            c = zero.coefficient(s)
            value = symbolic.exact_div(c * sym(s) - zero, c) if c is not None and c.is_const else None
            # a symbol of sizes must not stand for something that might be negative
            if value is None or not symbolic.is_nonnegative(value):
                continue
            self.replace = {k: v.substitute({s: value}) for k, v in self.replace.items()}
            self.replace[s] = value
            self.zeros = [z.substitute({s: value}) for z in self.zeros]
            self._normal.clear()
            return
        if zero.terms:
            self.zeros.append(zero)

    def normal(self, e: Expr) -> Expr:
        """e with every symbol that an equality fixes replaced."""
        if not self.replace:
            return e
        found = self._normal.get(e)
        if found is None:
            found = self._normal[e] = e.substitute(self.replace)
        return found

    def equal(self, a: Expr, b: Expr) -> bool:
        """Proved equal for all dims that satisfy the guards."""
        if a is b:
            return True
        if not self.replace and not self.zeros:
            return symbolic.equal(a, b)
        difference = self.normal(a - b)
        return not difference.terms or any(symbolic.exact_div(difference, z) is not None for z in self.zeros)

    def is_nonnegative(self, e: Expr) -> bool:
        """Proved >= 0 for all dims that satisfy the guards."""
        if symbolic.is_nonnegative(e):
            return True
        if not self.replace and not self.positives:
            return False
        e = self.normal(e)
        return symbolic.holds(e, self.positives, pairs=False)

    def same_type(self, a: TensorType, b: TensorType) -> bool:
        return a is b or (a.dtype == b.dtype and len(a.shape) == len(b.shape)
                          and all(x is y or self.equal(x, y) for x, y in zip(a.shape, b.shape)))


NO_FACTS = Facts()
