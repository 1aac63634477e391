# SPDX-License-Identifier: Apache-2.0
"""Specialization: dims become constants.

Every type and attribute is rewritten and every type inferred again. Guards that became true are dropped; one that can
no longer hold is an error, as no call would ever reach the variant (passes.py leaves such combinations out).
Functions called by nodes are named with a suffix that states the sizes; the caller specializes them likewise.
"""
from __future__ import annotations

from collections.abc import Mapping

from .. import symbolic
from ..symbolic import Expr, Sym
from .errors import IrError
from .facts import Facts
from .infer import Context, infer
from .ir import Function, Guard
from .rewrite import substitute_dims
from .table import PRIMITIVES


def suffix(sizes: Mapping[Sym, int]) -> str:
    """What is appended to the name of a called function: `__batch_1__seq_128`, dims by name."""
    return "".join(f"__{s.name}_{sizes[s]}" for s in sorted(sizes, key=lambda s: s.key))


def refuted(guard: Guard) -> bool:
    """Whether no values of the dims satisfy the guard."""
    if guard.relation == "==":
        return symbolic.never_equal(guard.lhs, guard.rhs)
    return symbolic.is_nonnegative(guard.rhs - guard.lhs - 1)


def proved(guard: Guard) -> bool:
    if guard.relation == "==":
        return symbolic.equal(guard.lhs, guard.rhs)
    return symbolic.is_nonnegative(guard.lhs - guard.rhs)


def specialize(function: Function, sizes: Mapping[Sym, int]) -> Function:
    """The function with the dims of `sizes` constant. Raises IrError where a size or a guard forbids it."""
    for s in sorted(sizes, key=lambda s: s.key):
        size = sizes[s]
        if size < s.lo or isinstance(s.hi, int) and size > s.hi or size % s.divisor:
            raise IrError([f"dim {s.name} cannot be {size}: its range is {s.lo}:{s.hi} and its divisor {s.divisor}"])
    known: dict[Expr, Expr] = {}

    def replace(e: Expr) -> Expr:
        found = known.get(e)
        if found is None:
            found = known[e] = e.substitute(sizes)
        return found

    guards = []
    for g in function.guards:
        new = Guard(g.name, replace(g.lhs), g.relation, replace(g.rhs), g.loc)
        if refuted(new):
            raise IrError([f"{g.loc or function.name}: error: guard {g.name} cannot hold for "
                           + ", ".join(f"{s.name} = {sizes[s]}" for s in sorted(sizes, key=lambda s: s.key))])
        if not proved(new):
            guards.append(new)
    end = suffix(sizes)
    out = substitute_dims(function, replace, guards, (lambda name: name + end) if end else None)
    context = Context(facts=Facts(guards))
    for node in out.nodes:
        if not PRIMITIVES[node.op].graphs:
            types = infer(node.op, tuple(v.type for v in node.operands), node.attrs, node.types, context)
            if types != node.types and not all(map(context.facts.same_type, types, node.types)):
                raise IrError([f"{node.loc or function.name}: error: {node.op}: the type is {types[0]}, "
                               f"not {node.types[0]}, once {end[2:]}"])
    return out
