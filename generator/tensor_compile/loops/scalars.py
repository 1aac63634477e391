# SPDX-License-Identifier: Apache-2.0
"""Walks over scalar expressions: substitution, loads, cost, and the factory of loop variables."""
from __future__ import annotations

from functools import lru_cache
from typing import Any, Callable, Iterable, Iterator

from ..graph.dtypes import DTYPES
from ..graph.table import cost_of
from ..symbolic import ONE, ZERO, Expr, Sym, exact_div, sym, wrap
from .loop_ir import Store
from .scalar_ir import Apply, Buffer, Const, InBounds, IndexValue, Load, Reduction, Scalar, Sorted

CHEAP = 8           # what costs a lane more is kept rather than computed twice
FUNCTION = 12       # what costs a lane as much fills the registers of most instruction sets


class Variables:
    """Loop variables of one function, one a (kind, position, extent): computations of one shape share theirs."""

    def __init__(self) -> None:
        self.made: dict[tuple[Any, ...], Sym] = {}

    def get(self, kind: str, position: int, extent: Expr) -> Sym:
        key = (kind, position, extent)
        variable = self.made.get(key)
        if variable is None:
            variable = self.made[key] = Sym(f"{kind}{position}", 0, extent - 1)
        return variable

    def space(self, shape: tuple[Expr, ...]) -> tuple[tuple[Sym, ...], tuple[Expr, ...]]:
        """(variables, index) that walk a tensor of `shape`; dims of size 1 have no variable."""
        variables, index = [], []
        for position, extent in enumerate(shape):
            if extent == 1:
                index.append(ZERO)
            else:
                s = self.get("i", position, extent)
                variables.append(s)
                index.append(sym(s))
        return tuple(variables), tuple(index)


def sorts_wide(dtype: str, size: Expr) -> bool:
    """Whether a value to be sorted and its position are two words: both fit one where each has 32 bits."""
    most = size.range()[1]
    return DTYPES[dtype].bytes > 4 or most is None or most >= 1 << 32


def sort_space(size: Expr, dtype: str) -> Expr:
    """Words of i64 that sorting a row of `size` needs: the row twice."""
    return size * (4 if sorts_wide(dtype, size) else 2)


def last(s: Sym) -> Expr:
    """The last value of a loop variable or an iteration."""
    assert s.hi is not None, f"{s.name} has no upper end"
    return wrap(s.hi)


def extent(s: Sym) -> Expr:
    return last(s) + 1


def empty(variables: Iterable[Sym]) -> bool:
    """They are known to have no point."""
    return any(extent(s).is_const and extent(s).value <= 0 for s in variables)


def lasts(variables: Iterable[Sym]) -> tuple[Expr, ...]:
    """The last values of loop variables. Where there is a point none is negative: no loop around it is empty."""
    ends = (last(s) for s in variables)
    return tuple(end for end in ends if not end.is_const)


def domain_size(variables: tuple[Sym, ...]) -> Expr:
    """The number of points of the domain that the variables span."""
    total = wrap(1)
    for s in variables:
        total = total * extent(s)
    return total


def affine(e: Expr, variables: Iterable[Sym]) -> bool:
    """Whether e is a part without `variables` plus each of them times a number that the sizes give: how a contraction
    walks an operand over its terms."""
    strides = (e.coefficient(s) for s in variables)
    return all(c is not None and all(s.is_dim for s in c.symbols()) for c in strides)


def linear(index: tuple[Expr, ...], shape: tuple[Expr, ...]) -> Expr:
    """Row-major position of an index."""
    total = ZERO
    for i, n in zip(index, shape, strict=True):
        total = total * n + i
    return total


def point_number(variables: tuple[Sym, ...]) -> Expr:
    """Row-major number of the point of these variables."""
    return linear(tuple(map(sym, variables)), tuple(map(extent, variables)))


def unlinear(position: Expr, shape: tuple[Expr, ...]) -> tuple[Expr, ...]:
    """The index at a row-major position below the product of `shape`."""
    out: list[Expr] = []
    for d in range(len(shape) - 1, -1, -1):
        n = shape[d]
        if n == 1:
            out.append(ZERO)
        elif d == 0 or all(m == 1 for m in shape[:d]):
            out.append(position)
            position = ZERO
        elif n == 0:    # there is no element, and nothing is read
            out.append(ZERO)
        else:
            quotient = position // n
            out.append(position - quotient * n)
            position = quotient
    return tuple(reversed(out))


def reshaped(index: tuple[Expr, ...], shape: tuple[Expr, ...], to: tuple[Expr, ...]) -> tuple[Expr, ...]:
    """The index in a tensor of shape `to` of the element at `index` of its reshape of shape `shape`. Only dims that
    are really joined or split go through a row-major position; those on both sides are handed on."""
    out: list[Expr] = []
    i = j = 0
    while i < len(shape) or j < len(to):
        if i < len(shape) and shape[i] == 1:
            i += 1
            continue
        if j < len(to) and to[j] == 1:
            out.append(ZERO)
            j += 1
            continue
        a, b, p, q = i + 1, j + 1, shape[i] if i < len(shape) else ONE, to[j] if j < len(to) else ONE
        while p != q and (a < len(shape) or b < len(to)):
            grow_left = a < len(shape) and (b >= len(to) or _divides(p, q))
            if grow_left:
                p, a = p * shape[a], a + 1
            else:
                q, b = q * to[b], b + 1
        out.extend(unlinear(linear(index[i:a], shape[i:a]), to[j:b]))
        i, j = a, b
    return tuple(out)


def _divides(p: Expr, q: Expr) -> bool:
    """p is a proper factor of q, as far as a reshape needs to know which side to extend."""
    if p.is_const and q.is_const:
        return p.value < q.value
    return exact_div(q, p) is not None


class Rewriter:
    """Rebuilds scalar expressions: `indices` maps every Expr, `leaf` may replace any node (None keeps it)."""

    def __init__(self, indices: Callable[[Expr], Expr] | None = None,
                 leaf: Callable[[Scalar], Scalar | None] | None = None):
        self.indices, self.leaf = indices, leaf
        self.memo: dict[Scalar, Scalar] = {}
        self.exprs: dict[Expr, Expr] = {}

    def index(self, e: Expr) -> Expr:
        if self.indices is None or not e.terms:
            return e
        rewritten_expr = self.exprs.get(e)
        if rewritten_expr is None:
            rewritten_expr = self.exprs[e] = self.indices(e)
        return rewritten_expr

    def load(self, x: Load) -> Load:
        """A load, which no leaf makes anything else of."""
        made = self(x)
        assert isinstance(made, Load)
        return made

    def __call__(self, s: Scalar) -> Scalar:
        rewritten_value = self.memo.get(s)
        if rewritten_value is None:
            rewritten_value = self.memo[s] = self.rebuild(s)
        return rewritten_value

    def rebuild(self, s: Scalar) -> Scalar:
        if self.leaf is not None:
            replaced = self.leaf(s)
            if replaced is not None:
                return replaced
        if isinstance(s, Apply):
            args = tuple(self(a) for a in s.args)
            return s if args == s.args else Apply(s.op, s.dtype, args)
        if isinstance(s, Load):
            return Load(s.buffer, s.dtype, tuple(self.index(e) for e in s.index),
                        tuple(self.index(e) for e in s.valid), s.other, tuple((k, self(v)) for k, v in s.dynamic))
        if isinstance(s, Reduction):
            return Reduction(s.op, s.order, s.dtype, s.vars, self(s.value), tuple(self.index(e) for e in s.valid))
        if isinstance(s, Sorted):
            return Sorted(s.var, self(s.value), self.index(s.at), self.index(s.count), s.descending)
        if isinstance(s, IndexValue):
            return IndexValue(s.dtype, self.index(s.expr))
        if isinstance(s, InBounds):
            return InBounds(tuple(self.index(e) for e in s.exprs))
        return s


def rewritten(s: Store, change: Rewriter) -> Store:
    return Store(s.buffer, tuple(change.index(e) for e in s.index), change(s.value),
                 tuple((g, change(v)) for g, v in s.dynamic))


def substitute(s: Scalar, mapping: dict[Sym, Expr]) -> Scalar:
    return Rewriter(lambda e: e.substitute(mapping))(s) if mapping else s


class Others(dict[Sym, Sym]):
    """Variables by those that they stand for where these mean something else. All who ask get the same one, so that
    reductions that share a loop still do."""

    def __missing__(self, s: Sym) -> Sym:
        self[s] = Sym(s.name, s.lo, s.hi)
        return self[s]


def bound(s: Scalar) -> set[Sym]:
    """The variables that reductions in s bind. A running one goes along a variable of the point."""
    return {v for x in walk(s) if isinstance(x, Reduction) and x.order != "running" for v in x.vars}


def rebound(s: Scalar, taken: set[Sym], others: Others) -> Scalar:
    """s, whose reductions bind none of the variables `taken`."""
    if not taken & bound(s):
        return s

    def leaf(x: Scalar) -> Scalar | None:
        if not isinstance(x, Reduction) or x.order == "running" or not taken & set(x.vars):
            return None
        names = {v: others[v] for v in x.vars if v in taken}
        mapping = {v: sym(other) for v, other in names.items()}
        return Reduction(x.op, x.order, x.dtype, tuple(names.get(v, v) for v in x.vars),
                         substitute(change(x.value), mapping), tuple(e.substitute(mapping) for e in x.valid))
    change = Rewriter(leaf=leaf)
    return change(s)


def walk(*roots: Scalar) -> Iterator[Scalar]:
    """Every distinct node below the roots, children before parents."""
    seen: set[Scalar] = set()
    stack = [(r, False) for r in reversed(roots)]
    while stack:
        s, done = stack.pop()
        if done:
            yield s
        elif s not in seen:
            seen.add(s)
            children = s.children
            if not children:
                yield s
                continue
            stack.append((s, True))
            stack.extend([(c, False) for c in reversed(children)])


def loads(*roots: Scalar) -> list[Load]:
    """Every distinct load below the roots."""
    if len(roots) == 1:
        return list(_loads(roots[0]))
    return list(dict.fromkeys(load for root in roots for load in _loads(root)))


@lru_cache(1 << 14)     # scalars are interned: a value is walked once, however often it is asked about
def _loads(root: Scalar) -> tuple[Load, ...]:
    return tuple(s for s in walk(root) if isinstance(s, Load))


@lru_cache(1 << 14)
def guarded_loads(root: Scalar) -> tuple[tuple[Load, tuple[Expr, ...]], ...]:
    """Every load below the root that may run, with what is >= 0 where it does: its own predicate, and those of the
    reductions and selects around it."""
    found: dict[tuple[Load, tuple[Expr, ...]], None] = {}
    seen: set[tuple[Scalar, tuple[Expr, ...]]] = set()
    stack: list[tuple[Scalar, tuple[Expr, ...]]] = [(root, ())]
    while stack:
        s, within = stack.pop()
        if (s, within) in seen:
            continue
        seen.add((s, within))
        if isinstance(s, Load):
            found[s, within + s.valid] = None
        if isinstance(s, Reduction):
            if empty(s.vars):
                continue
            within += s.valid
        if isinstance(s, Apply) and s.op == "select" and isinstance(s.args[0], InBounds):
            stack += [(s.args[2], within), (s.args[1], within + s.args[0].exprs)]
            continue
        stack += [(c, within) for c in reversed(s.children)]
    return tuple(found)


def dims_of(*exprs: Expr) -> tuple[Sym, ...]:
    """The dims among their symbols, in the order of parameters."""
    symbols: set[Sym] = set()
    for e in exprs:
        symbols |= e.symbols()
    return tuple(sorted((s for s in symbols if s.is_dim), key=lambda s: s.key))


def cost(s: Scalar) -> int:
    """Cost of one evaluation, loads apart; a reduction costs more than anything."""
    total = 0
    for node in walk(s):
        if isinstance(node, Apply):
            total += cost_of(node.op)
        elif isinstance(node, (Reduction, Sorted)):
            total += 1000
    return total


def is_function(op: str) -> bool:
    """A scalar operation that is as long as exp or longer."""
    return cost_of(op) >= FUNCTION


def is_position(r: Reduction) -> bool:
    return r.op in ("argmax", "argmin")


def is_narrow(r: Reduction) -> bool:
    """Nothing that it is computed of holds 64 bits, or u32; a position is one that vectors find."""
    if not is_position(r):
        return all(_is_short(s) for s in walk(r))
    terms = domain_size(r.vars).range()[1]
    return r.value.dtype in ("f32", "i32") and not r.valid and terms is not None and terms < 1 << 31 \
        and all(_is_short(s) for s in walk(r.value))


def _is_short(s: Scalar) -> bool:
    return DTYPES[s.dtype].bytes < 8 and s.dtype != "u32"


def own_expressions(s: Scalar) -> tuple[Expr, ...]:
    """The index expressions of a node itself."""
    if isinstance(s, Load):
        return (*s.index, *s.valid)
    if isinstance(s, IndexValue):
        return (s.expr,)
    if isinstance(s, InBounds):
        return s.exprs
    if isinstance(s, Sorted):
        return s.at, s.count
    return s.valid if isinstance(s, Reduction) else ()


def expressions(*roots: Scalar) -> Iterator[Expr]:
    """Every index expression outside Load.index: predicates and index values."""
    for s in walk(*roots):
        yield from s.valid if isinstance(s, Load) else own_expressions(s)


def symbols_of(*roots: Scalar) -> set[Sym]:
    """Every symbol that the values depend on."""
    return {v for s in walk(*roots) for e in own_expressions(s) for v in e.symbols()}


def addresses(buffers: dict[str, Buffer], *roots: Scalar) -> list[Expr]:
    return [buffers[s.buffer].address(s.index) for s in loads(*roots)]


def identity(op: str, order: str, dtype: str) -> Const:
    """What a reduction starts from. -0 is the identity of addition: `lanes` and `running` start from terms, `seq` from
    +0."""
    if op in ("max", "min"):
        return Const(dtype, DTYPES[dtype].lowest if op == "max" else DTYPES[dtype].highest)
    if op == "prod":
        return Const(dtype, DTYPES[dtype].one)
    if op == "sum" and order in ("lanes", "running") or op == "dot" and order == "lanes":
        return Const(dtype, DTYPES[dtype].minus_zero)
    return Const(dtype, 1 if op == "all" else 0)
