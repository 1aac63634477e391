# SPDX-License-Identifier: Apache-2.0
"""Which elements the points of a loop nest touch: proofs that no two are one. False means not proved."""
from __future__ import annotations

from functools import lru_cache

from ..symbolic import Expr, FloorDiv, Sym, exact_div, extreme, holds, is_nonnegative, sym, wrap
from ..symbolic.typical import typical
from .scalar_ir import Buffer
from .scalars import empty, extent, lasts

_MOST_SPLITS = 8


def one_to_one(b: Buffer, index: tuple[Expr, ...], variables: tuple[Sym, ...], facts: tuple[Expr, ...] = ()) -> bool:
    """Different values of the variables lead to different elements b[index]. facts: what is >= 0. Where iterations
    of loops lead to different ones as well, that is proved of them too: it says that there is an iteration at all,
    that its sizes are not 0."""
    iterations = tuple(sorted((s for s in b.address(index).symbols() if s.is_iteration), key=lambda s: s.key))
    return _one_to_one(b, index, variables, facts) or \
        iterations != () and _one_to_one(b, index, (*variables, *iterations), facts)


def _one_to_one(b: Buffer, index: tuple[Expr, ...], variables: tuple[Sym, ...], facts: tuple[Expr, ...]) -> bool:
    if b.is_empty:
        return True
    address = b.address(index)
    for _ in range(_MOST_SPLITS):  # what is divided is walked as the pair of quotient and remainder
        divided = _widest(address)
        s = None if divided is None else next((s for s in variables if s in divided.num.symbols()), None)
        if divided is None or s is None:
            break
        address, variables, s = _one_run(address, variables, divided.num, s)
        pair = _quotient_and_remainder(s, divided.den)
        if pair is None:
            return False
        address = address.substitute({s: sym(pair[0]) * divided.den + sym(pair[1])})
        variables = (*(v for v in variables if v is not s), *pair)
    steps = []
    there = lasts(variables) + facts
    for s in variables:
        if s.hi == 0:
            continue
        step = address.coefficient(s)
        if step is None or not step.terms:
            return False
        if not holds(step, there):
            step = -step
        steps.append((step, s))
    return any(_over_all_before(sorted(steps, key=key), there) for key in (_degree, _size))


def _over_all_before(steps: list[tuple[Expr, Sym]], there: tuple[Expr, ...]) -> bool:
    """Each variable steps over all that those before it lead to."""
    reach: Expr | int = 0
    for step, s in steps:
        if not holds(step - 1 - reach, there):
            return False
        reach = reach + step * (extent(s) - 1)
    return True


def _degree(of: tuple[Expr, Sym]) -> tuple[int, int]:
    """The sizes that a step multiplies, and the number: which of two steps is the larger where they are of the same
    sizes."""
    monomial, c = of[0].terms[0]
    return len(monomial), abs(c)


def _size(of: tuple[Expr, Sym]) -> tuple[int, int, int]:
    """A step where sizes are typical: which is the larger where one is of a size and one of parts of it, width and
    2*floordiv(width, 4)."""
    return (typical(of[0]), *_degree(of))


def _quotient_and_remainder(s: Sym, den: Expr) -> tuple[Sym, Sym] | None:
    """Loops that walk what s // den and s mod den do, where s has whole runs of den."""
    count = exact_div(extent(s), den)
    return None if count is None else (Sym(s.name, 0, count - 1), Sym(s.name, 0, den - 1))


def _widest(address: Expr) -> FloorDiv | None:
    """A division of the address whose divisor divides that of no other: i // (2*n) before i // n. The other way about,
    n*i + j for j < n would stand over 2*n, which does not become i // 2."""
    found: FloorDiv | None = None
    for monomial, _ in address.terms:
        for a in monomial:
            if isinstance(a, FloorDiv) and (found is None or exact_div(a.den, found.den) is not None):
                found = a
    return found


def _one_run(address: Expr, variables: tuple[Sym, ...], num: Expr, s: Sym) -> tuple[Expr, tuple[Sym, ...], Sym]:
    """What is divided may count the points of several loops in one run: 16*i + j for j < 16. Then one variable takes
    their places. Otherwise s stays the one that is divided."""
    run = [v for v in variables if v in num.symbols()]
    steps = {v: c.value for v in run if (c := num.coefficient(v)) is not None and c.is_const}
    if len(run) < 2 or len(steps) < len(run):
        return address, variables, s
    run.sort(key=lambda v: steps[v])
    count: Expr = wrap(1)
    for v in run:
        if count != steps[v]:
            return address, variables, s
        count = count * extent(v)
    whole = Sym(run[0].name, 0, count - 1)
    others = num - sym(run[0])
    joined = address.substitute({run[0]: sym(whole) - others})
    if any(v in joined.symbols() for v in run):
        return address, variables, s
    return joined, (*(v for v in variables if v not in run), whole), whole


@lru_cache(1 << 14)     # repeated layers ask about the same indices again and again
def apart(one: tuple[Expr, ...], two: tuple[Expr, ...], within: tuple[Expr, ...] = ()) -> bool:
    """No point of one kernel leads to an element b[one] that a point of another one reaches as b[two]: the indices of
    some dim lie in disjoint ranges. The kernels' variables are not the same ones, whatever they are called.
    within: what is >= 0 where b[one] is touched.
    Where there is no point at all nothing is claimed: it would be true of any two, and who reads what would be lost."""
    if empty(s for e in (*one, *two) for s in e.symbols() if not s.is_dim):
        return False
    if within and any(_parted(a, b, within) for a, b in zip(one, two, strict=True)):
        return True
    return any(_below(a, b) or _below(b, a) for a, b in zip(one, two, strict=True)) or any(
        _below(a, b) or _below(b, a) or _interleaved(a, b)
        for a, b in zip(_divided(one), _divided(two), strict=True))


def _divided(index: tuple[Expr, ...]) -> tuple[Expr, ...]:
    """The index with loops that it divides walked as pairs of quotient and remainder."""
    for _ in range(_MOST_SPLITS):
        for s, den in ((s, a.den) for e in index for m, _ in e.terms for a in m if isinstance(a, FloorDiv)
                       for s in sorted(a.num.symbols(), key=lambda s: s.key) if not s.is_dim):
            pair = _quotient_and_remainder(s, den)
            if pair is not None:
                step = sym(pair[0]) * den + sym(pair[1])
                index = tuple(e.substitute({s: step}) for e in index)
                break
        else:
            break
    return index


def _below(a: Expr, b: Expr) -> bool:
    top, bottom = extreme(a, True), extreme(b, False)
    return all(s.is_dim for s in top.symbols() | bottom.symbols()) and is_nonnegative(bottom - top - 1)


def _parted(a: Expr, b: Expr, within: tuple[Expr, ...]) -> bool:
    """Where all of `within` is >= 0, a lies below all that b can be, or above it."""
    top, bottom = extreme(b, True), extreme(b, False)
    if not all(s.is_dim for s in top.symbols() | bottom.symbols()):
        return False
    variables = sorted((s for s in a.symbols() if not s.is_dim and s.hi is not None), key=lambda s: s.key)
    guards = within + lasts(variables)
    return holds(bottom - 1 - a, guards) or holds(a - 1 - top, guards)


def _interleaved(a: Expr, b: Expr) -> bool:
    """The two step over one another: 60*i + j and 60*i + j + 20 for j < 20. Of some step, a's and b's other terms lead
    to disjoint remainders: all that b is more than a lies between two multiples of the step."""
    for s in sorted((s for s in a.symbols() if not s.is_dim), key=lambda s: s.key):
        step = a.coefficient(s)
        if step is None or not is_nonnegative(step - 2):
            continue
        one, two = _remainder(a, step), _remainder(b, step)
        least = extreme(two, False) - extreme(one, True)
        most = extreme(two, True) - extreme(one, False)
        if not all(s.is_dim for s in least.symbols() | most.symbols()):
            continue
        steps = (least.value // step.value,) if least.is_const and step.is_const else (0, -1)
        if any(is_nonnegative(least - k * step - 1) and is_nonnegative((k + 1) * step - 1 - most) for k in steps):
            return True
    return False


def _remainder(e: Expr, step: Expr) -> Expr:
    """e without the loop variables that lead from one multiple of the step to another."""
    for s in e.symbols():
        c = e.coefficient(s) if not s.is_dim else None
        if c is not None and exact_div(c, step) is not None:
            e = e - c * sym(s)
    return e
