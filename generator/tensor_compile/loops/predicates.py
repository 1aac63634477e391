# SPDX-License-Identifier: Apache-2.0
"""What lowering does with predicates and with arithmetic on indices."""
from __future__ import annotations

from ..symbolic import Expr, floordiv, is_nonnegative
from .scalar_ir import Apply, Const, InBounds, IndexValue, Load, Scalar
from .ranges import index_of
from .scalars import Rewriter

Index = tuple[Expr, ...]


def inside(index: Index, shape: tuple[Expr, ...]) -> Index:
    """What must be >= 0 for the index to lie in a tensor of `shape`, without what always is."""
    out: list[Expr] = []
    for i, n in zip(index, shape, strict=True):
        out.extend(e for e in (i, n - 1 - i) if not is_nonnegative(e))
    return tuple(out)


def guarded(s: Scalar, within: Index, other: Scalar) -> Scalar:
    """s where all of `within` is >= 0, else other; memory behind a false predicate is not touched, and what is never
    loaded is no load, for which a kernel would wait."""
    if not within:
        return s
    if any(is_nonnegative(-1 - e) for e in within):
        return other
    if isinstance(s, Load) and isinstance(other, Const) and (not s.valid or s.other is other):
        return Load(s.buffer, s.dtype, s.index, s.valid + within, other, s.dynamic)
    return Apply("select", s.dtype, (InBounds(within), protect(s, within), other))


def protect(s: Scalar, within: Index) -> Scalar:
    def leaf(node: Scalar) -> Scalar | None:
        if isinstance(node, Load):
            other = node.other or Const(node.dtype, 0)
            return Load(node.buffer, node.dtype, node.index, node.valid + within, other, node.dynamic)
        return None
    return Rewriter(leaf=leaf)(s)


def fold(op: str, dtype: str, args: tuple[Scalar, ...]) -> Scalar:
    """Arithmetic on indices stays an index (ranges permitting), so that bounds can be proved through it."""
    if dtype in ("i32", "i64"):
        exprs = [e for a in args if (e := index_of(a)) is not None]
        if len(exprs) == len(args):
            expr = None
            if op == "add":
                expr = exprs[0] + exprs[1]
            elif op == "sub":
                expr = exprs[0] - exprs[1]
            elif op == "mul":
                expr = exprs[0] * exprs[1]
            elif op == "div" and is_nonnegative(exprs[0]) and exprs[1].is_const and exprs[1].value > 0:
                expr = floordiv(exprs[0], exprs[1])
            elif op == "cast":
                expr = exprs[0]
            if expr is not None:
                low, high = expr.range()
                half = 1 << (31 if dtype == "i32" else 62)
                if low is not None and high is not None and -half <= low and high < half:
                    return IndexValue(dtype, expr)
    return Apply(op, dtype, args)
