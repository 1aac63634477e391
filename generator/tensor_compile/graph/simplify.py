# SPDX-License-Identifier: Apache-2.0
"""Simplification: applies the tables of rewrite rules (rules_algebra.py, rules_views.py) until none applies.

Every rule is exact, so the pass may run before and after specialization without changing a bit. First the guards'
equalities are put to use: a dim that one of them fixes is replaced everywhere, so that later stages see one name a
size; the guards themselves stay, the entry checks them. Then one walk in order suffices, as rules look at operands
only, and what a rule makes is simplified as it is made. Equal nodes become one on the way; dead ones stay for dce.
"""
from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Callable

from . import rules_algebra, rules_views
from .facts import Facts
from .infer import Context, infer
from .ir import Function, Loc, Node, TensorType, Value
from .rewrite import Builder, Values, substitute_dims

Rule = Callable[[Builder, Node], Value | None]
RULES: dict[str, tuple[tuple[str, Rule], ...]] = {**rules_algebra.RULES, **rules_views.RULES}


class _Simplifier(Builder):
    """A builder that tries the rules on every node before it makes it."""

    __slots__ = ()

    def value(self, op: str, /, *operands: Value, like: Node, types: tuple[TensorType, ...] | None = None,
              **attrs: Any) -> Value:
        return self.simplified(op, operands, attrs, types, like.loc, like.scope)

    def simplified(self, op: str, operands: Iterable[Value], attrs: dict[str, Any],
                   types: tuple[TensorType, ...] | None,
                   loc: Loc | None, scope: str) -> Value:
        """The single result of the node, or what a rule gives for it."""
        operands = tuple(operands)
        if types is None:
            types = infer(op, tuple(v.type for v in operands), attrs, (), self.context)
        rules = RULES.get(op)
        if rules:
            node = Node(op, operands, attrs, types, loc, scope)
            for _, rule in rules:
                found = rule(self, node)
                if found is not None:
                    return found
        return Value(self.make(op, operands, attrs, types, loc, scope))


def simplify(function: Function) -> Function:
    """The function with every rule applied wherever it applies."""
    facts = Facts(function.guards)
    if facts.replace:
        function = substitute_dims(function, facts.normal, list(function.guards))
    builder, values = _Simplifier(function, Context(facts=facts)), Values()
    for node in function.nodes:
        operands = values.all(node.operands)
        if node.op in RULES:
            values[Value(node)] = builder.simplified(node.op, operands, node.attrs, node.types, node.loc, node.scope)
        else:
            values.bind(node, builder.again(node, operands))
    return builder.finish(function, values.__getitem__)
