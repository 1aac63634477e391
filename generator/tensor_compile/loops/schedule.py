# SPDX-License-Identifier: Apache-2.0
"""Schedule: the loops of each kernel in the order of its memory, contiguous ones merged, one to be vectorized.

A flat loop nest runs its variables from the largest stride to the smallest; the innermost is the one that has stride 1
(or none) in most accesses, and becomes the variable of its one phase. A loop that addresses divide by one number (heads
that share keys, channels of a group) is split by it first. A row loop nest orders its rows; its columns keep their
order, which numbers the terms of sums. Two neighbouring loops become one where every address steps by the outer as by
the whole inner one and no predicate tells them apart. A contraction merges m, n and k the same way; n of a packed
operand always is one variable. Its m may have no variable, n and k have at least one.
"""
from __future__ import annotations

from dataclasses import replace
from typing import Any, Sequence

from ..instruction_sets import IN_TURN
from ..symbolic import ZERO, Expr, FloorDiv, Sym, exact_div, sym
from ..target import Target
from .fused import Fused
from .kernel_interface import contraction, grouped, loop_nest
from .loop_ir import AttentionKernel, ContractionKernel, GroupedContractionKernel, Kernel, LoopNestKernel, Phase, Store
from .program_ir import mapped
from .scalar_ir import Buffer, Load, Reduction, Scalar
from .scalars import Rewriter, cost, expressions, extent, loads, domain_size, rewritten, unlinear, walk

SHORT = 64         # an innermost loop below this is merged with the next one where possible
THREAD_WORK = 8192  # operations that are worth another thread
UNKNOWN = 64       # a dynamic extent, where a size is guessed


def schedule(fused: Fused, target: Target) -> Fused:
    """The same kernels with their final loops."""
    kernels = mapped(fused.kernels, lambda k: _schedule(k, fused.buffers))
    return replace(fused, kernels=kernels)


def _schedule(kernel: Kernel, buffers: dict[str, Buffer]) -> Kernel:
    if isinstance(kernel, LoopNestKernel):
        body = _Body(buffers, kernel.values, kernel.stores)
        if len(kernel.phases) == 1 and not kernel.phases[0].vars and not kernel.phases[0].reduces \
                and not any(x.dynamic for x in kernel.phases[0].stores):
            return _flat(kernel, body)
        return _rows(kernel, body)
    if isinstance(kernel, ContractionKernel) and not isinstance(kernel, AttentionKernel):
        return _contraction(kernel, buffers)
    if isinstance(kernel, GroupedContractionKernel):
        parts = tuple(_contraction(part, buffers) for part in kernel.contractions)
        return grouped(kernel.label, parts, kernel.loc, kernel.consecutive)
    return kernel


class _Body:
    """What a kernel reads, writes and asks, under a growing substitution of merged variables."""

    def __init__(self, buffers: dict[str, Buffer], values: list[Scalar], stores: Sequence[Store],
                 more: tuple[Any, ...] = ()):
        self.buffers = buffers
        self.accesses = [(buffers[x.buffer], x.index) for x in (*loads(*values), *more)]
        self.accesses += [(buffers[s.buffer], s.index) for s in stores]
        self.stored = len(stores)
        times = {x: _known(domain_size(r.vars)) for r in walk(*values) if isinstance(r, Reduction)
                 for x in loads(r)}
        self.weights = [times.get(x, 1) for x in loads(*values)] + [1] * (len(more) + len(stores))
        self.addresses = [b.address(i) for b, i in self.accesses]
        self.ask(list(expressions(*values)) + [e for x in more for e in x.valid])
        self.mapping: dict[Sym, Expr] = {}

    def strides(self, s: Sym) -> list[Expr | None]:
        return [a.coefficient(s) for a in self.addresses]

    def mergeable(self, outer: Sym, inner: Sym) -> bool:
        if outer in self.told_apart or inner in self.told_apart:
            return False
        size = extent(inner)
        for a in self.addresses:
            c, d = a.coefficient(outer), a.coefficient(inner)
            if c is None or d is None or c != d * size:
                return False
        return True

    def merge(self, outer: Sym, inner: Sym) -> Sym:
        merged = Sym(outer.name, 0, extent(outer) * extent(inner) - 1)
        size, position = extent(inner), sym(merged)
        quotient = position // size
        step = {outer: quotient, inner: position - quotient * size}
        self.mapping = {s: e.substitute(step) for s, e in self.mapping.items()} | step
        affine = {outer: ZERO, inner: position}  # every address steps by the outer as by the whole inner loop
        self.addresses = [a.substitute(affine) for a in self.addresses]
        return merged

    def split_all(self, variables: tuple[Sym, ...]) -> tuple[Sym, ...]:
        """Variables that addresses divide by one number that divides their extent become a pair of loops."""
        out: list[Sym] = []
        for s in variables:
            divisors = {a.den for e in (*self.addresses, *self.asked) for m, _ in e.terms for a in m
                        if isinstance(a, FloorDiv) and s in a.num.symbols()}
            count = exact_div(extent(s), next(iter(divisors))) if len(divisors) == 1 else None
            if count is None or count == 1:
                out.append(s)
                continue
            (size,) = divisors
            outer, inner = Sym(s.name, 0, count - 1), Sym(s.name, 0, size - 1)
            step = {s: sym(outer) * size + sym(inner)}
            self.mapping = {t: e.substitute(step) for t, e in self.mapping.items()} | step
            self.addresses = [e.substitute(step) for e in self.addresses]
            self.ask([e.substitute(step) for e in self.asked])
            out += [outer, inner]
        return tuple(out)

    def ask(self, asked: list[Expr]) -> None:
        self.asked = asked
        self.told_apart: set[Sym] = set().union(*(e.symbols() for e in asked)) if asked else set()

    def merge_all(self, variables: tuple[Sym, ...]) -> tuple[Sym, ...]:
        out: list[Sym] = []
        for s in variables:
            if out and self.mergeable(out[-1], s):
                out[-1] = self.merge(out[-1], s)
            else:
                out.append(s)
        return tuple(out)

    def rewriter(self) -> Rewriter:
        return Rewriter((lambda e: e.substitute(self.mapping)) if self.mapping else None)


def _size_key(e: Expr | None) -> tuple[Any, ...]:
    """Orders strides: by degree, then by size."""
    if e is None or not e.terms:
        return (-1, 0)
    monomial, c = e.terms[0]
    return (len(monomial), abs(c))


def _by_stride(variables: tuple[Sym, ...], body: _Body) -> list[Sym]:
    """From the largest stride of the stores (then of the loads) to the smallest; ties keep their order."""
    if not body.stored and not body.addresses:
        return list(variables)
    ranked = []
    for position, s in enumerate(variables):
        steps = body.strides(s)
        key = max(_size_key(c) for c in (steps[-body.stored:] if body.stored else steps))
        ranked.append((tuple(-k for k in key), position, s))
    return [s for _, _, s in sorted(ranked, key=lambda r: r[:2])]


def _vector_cost(s: Sym, variables: Sequence[Sym], body: _Body) -> float:
    """Memory operations a point when `s` is run 16 at a time: contiguous and repeated accesses are shared by 16. So are
    those of a few elements that lie in turn, where another variable has the others, which are brought to their
    places."""
    lanes = min(16, max(1, _known(extent(s))))
    whole = len(variables) > 1 and body.mergeable(variables[-2], variables[-1])    # one loop walks all
    total = 0.0
    for weight, c, address in zip(body.weights, body.strides(s), body.addresses, strict=True):
        shared = c is not None and (c == 1 or not c.terms)
        turn = 0 if whole else next((size for t in variables if (size := _in_turn(s, t, address))), 0)
        operations = 1 if shared else 1 + (turn - 1).bit_length() if turn else lanes
        total += weight * operations / lanes
    return total


def _in_turn(s: Sym, t: Sym, address: Expr) -> int:
    """The few elements that `t` has, where `s` steps over them; 0: it does not."""
    step = address.coefficient(s)
    found = step is not None and step.is_const and step.value in IN_TURN and address.coefficient(t) == 1 \
        and extent(t) == step
    return int(step.value) if found and step is not None else 0


def _flat(kernel: LoopNestKernel, body: _Body) -> LoopNestKernel:
    order = _by_stride(body.split_all(kernel.rows), body)
    if order:
        best = min(range(len(order)), key=lambda i: (_vector_cost(order[i], order, body), -i))
        order.append(order.pop(best))
        turn = next((t for t in order[:-1] if any(_in_turn(order[-1], t, a) for a in body.addresses)), None)
        if turn is not None:    # its rows are walked together
            order.insert(-1, order.pop(order.index(turn)))
    rows, inner = body.merge_all(tuple(order[:-1])), order[-1] if order else None
    while inner is not None and rows and _known(extent(inner)) < SHORT and extent(inner).is_const \
            and body.mergeable(rows[-1], inner):
        inner = body.merge(rows[-1], inner)
        rows = rows[:-1]
    phase = kernel.phases[0]
    phase = Phase((inner,) if inner is not None else (), (), phase.stores, inner is not None)
    return _rebuilt(kernel, rows, [phase], body)


def _rows(kernel: LoopNestKernel, body: _Body) -> LoopNestKernel:
    rows = body.merge_all(tuple(_by_stride(body.split_all(kernel.rows), body)))
    merged: dict[tuple[Sym, ...], tuple[Sym, ...]] = {s.vars: () for s in kernel.phases}
    for cols in merged:
        merged[cols] = body.merge_all(body.split_all(cols))
    phases = [Phase(merged[s.vars], s.reduces, s.stores, s.vector) for s in kernel.phases]
    return _rebuilt(kernel, rows, phases, body)


def _rebuilt(kernel: LoopNestKernel, rows: tuple[Sym, ...], phases: list[Phase], body: _Body) -> LoopNestKernel:
    change = body.rewriter()
    done = tuple(Phase(s.vars, tuple(replace(r, value=change(r.value)) for r in s.reduces),
                       tuple(rewritten(x, change) for x in s.stores), s.vector) for s in phases)
    work = sum(_known(domain_size(s.vars)) * (2 + sum(_work(x.value) for x in (*s.reduces, *s.stores))) for s in done)
    return loop_nest(body.buffers, kernel.label, rows, done, max(1, THREAD_WORK // max(1, work)), kernel.loc)


def _work(value: Scalar) -> int:
    """Operations of one evaluation."""
    inner = [r for r in walk(value) if isinstance(r, Reduction)]
    return cost(value) if not inner else sum(_known(domain_size(r.vars)) * (2 + cost(r.value)) for r in inner)


def _known(e: Expr) -> int:
    """The value, dynamic dims guessed."""
    return e.value if e.is_const else e.evaluate({s: max(s.lo, min(UNKNOWN, most(s))) for s in e.symbols()})


def most(s: Sym) -> int:
    """Its upper end, where that is a number."""
    end = s.hi.value if isinstance(s.hi, Expr) and s.hi.is_const else s.hi
    return end if isinstance(end, int) else UNKNOWN


def _contraction(kernel: ContractionKernel, buffers: dict[str, Buffer]) -> ContractionKernel:
    a, b, n, k = kernel.a, kernel.b, kernel.n, kernel.k
    mapping: dict[Sym, Expr] = {}
    if len(n) > 1 and kernel.b_panel:
        whole = Sym("n", 0, domain_size(n) - 1)
        mapping = dict(zip(n, unlinear(sym(whole), tuple(extent(s) for s in n))))
        n = (whole,)
    if not n:
        n = (Sym("n", 0, 0),)
        b = tuple(Load(x.buffer, x.dtype, (*x.index[:-1], x.index[-1] + sym(n[0])), x.valid, x.other) for x in b)
    change = Rewriter(lambda e: e.substitute(mapping)) if mapping else Rewriter()
    a, b = change.load(a), tuple(change.load(x) for x in b)
    stores = tuple(rewritten(x, change) for x in kernel.stores)
    where = [change(p) for p in kernel.predicates]
    body = _Body(buffers, [*(x.value for x in stores), *where], stores, (a, *b))
    m, k, batch = (body.merge_all(body.split_all(v)) for v in (kernel.m, k, kernel.batch))
    if len(n) > 1:
        n = body.merge_all(n)
    change = body.rewriter()
    stores = tuple(rewritten(x, change) for x in stores)
    return contraction(buffers, kernel.label, batch, m, n, k, change.load(a), tuple(change.load(x) for x in b),
                       kernel.b_panel, stores, kernel.loc, kernel.product, change(where[0]) if where else None)
