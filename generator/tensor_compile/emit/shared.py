# SPDX-License-Identifier: Apache-2.0
"""Kernels that differ in constants alone become one function, which is given the constants behind its dims.

A kernel's *form* is its identity (identity.py) with the constants of its expressions taken out. Kernels of one form
differ in constants such as the dilation of a convolution or the part of a concatenation that they write. Constants that
go together are one argument: where one kernel has 2 and 4, and another one has 8 and 16, the second is twice the first.
An argument is a dim of the shared kernel, whose range is that of its values, so all that emitters know of dims holds.

Not every constant may differ: what code is made for stays. A step of 1 is a row in memory, an axis of 1 is none, a
division by a constant is a multiplication, and of a window's terms tables are made, as many as it has. Where speed
counts, only the first operand of a contraction may be walked by other offsets and steps: its addresses are computed
outside of the innermost loop.
"""
from __future__ import annotations

from dataclasses import replace
from math import gcd
from typing import Any, Hashable, Iterable, Mapping, Sequence

from ..loops.loop_ir import ContractionKernel, Kernel, LoopNestKernel
from ..loops.scalar_ir import Buffer, InBounds, Reduction, Scalar
from ..records import dataclass
from ..symbolic import Atom, Expr, Extremum, FloorDiv, Sym, ZERO, floordiv, product, sym, wrap
from .contraction.candidates import refusal
from .identity import Walk, fields_of, held

MOST_ARGUMENTS = 8      # of one function: beyond, its callers are larger than what is saved


@dataclass(frozen=True, slots=True)
class Shared:
    """A kernel that stands for another one, and what that gives for its last dims."""

    kernel: Kernel
    arguments: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class _Constant:
    """kind: offset | step | size | fixed. place: the kernel's field that it was reached through. summed: a step along
    variables of a sum alone."""

    value: int
    kind: str
    place: str
    summed: bool = False

    def may_become(self, others: Sequence[int], fast: bool) -> bool:
        values = {self.value, *others}
        if len(values) == 1 or fast and self.place != "a":
            return len(values) == 1
        if self.kind == "offset":
            return True
        if self.kind == "step":
            return (min(values) > 0 or max(values) < 0) and (self.summed or not {-1, 1} & values)
        return self.kind == "size" and not fast and min(values) > 1


def shared(kernels: Sequence[Kernel], fast: bool) -> list[Shared]:
    """What stands for each of the kernels, which are all different: itself, or one that several share. fast: only where
    that costs no time."""
    forms: dict[Hashable, list[tuple[int, _Form]]] = {}
    for i, kernel in enumerate(kernels):
        if type(kernel) is ContractionKernel or type(kernel) is LoopNestKernel and not fast:
            form = _Form(kernel, fast)
            forms.setdefault(form.key, []).append((i, form))
    found = [Shared(kernel, ()) for kernel in kernels]
    for members in forms.values():
        while members:
            (_, first), *others = members
            group = [members[0]]
            for other in others:
                columns = list(zip(*(form.constants for _, form in (*group, other)), strict=True))
                if all(first.constants[n].may_become([c.value for c in column], fast)
                       for n, column in enumerate(columns)):
                    group.append(other)
            members = [m for m in members if m not in group]
            if len(group) > 1:
                one = _one([form for _, form in group])
                for (i, _), made in zip(group, one or [found[i] for i, _ in group], strict=True):
                    found[i] = made
    return found


def _one(forms: list[_Form]) -> list[Shared]:
    """What stands for each kernel of a group; nothing where they cannot be one."""
    columns = [tuple(c.value for c in column) for column in zip(*(form.constants for form in forms), strict=True)]
    arguments = _Arguments(columns)
    if len(arguments.values) > MOST_ARGUMENTS:
        return []
    made = _Rebuild(forms[0], [arguments.made[column] for column in columns]).value(forms[0].kernel)
    if not _schedulable(made, forms[0].kernel):
        return []
    given = [tuple(values[i] for values in arguments.values.values()) for i in range(len(forms))]
    if not all(_is(made, dict(zip(arguments.values, values)), form) for form, values in zip(forms, given, strict=True)):
        return []
    return [Shared(replace(made, dims=(*made.dims, *arguments.values)), values) for values in given]


def _schedulable(made: Kernel, kernel: Kernel) -> bool:
    """Schedules of the kernel, which may have to know sizes, are such for what is made of it, too."""
    if not isinstance(made, ContractionKernel) or not isinstance(kernel, ContractionKernel):
        return True
    return all(refusal(made, s, spills=True) is None or refusal(kernel, s, spills=True) is not None
               for s in kernel.schedules)


def _is(kernel: Kernel, given: Mapping[Sym, int], form: _Form) -> bool:
    """With its arguments the kernel is that of the form."""
    own = _Form(kernel, form.fast)
    made = _Form(_Rebuild(own, [wrap(c.value) for c in own.constants], given).value(kernel), form.fast)
    return made.key == form.key and [c.value for c in made.constants] == [c.value for c in form.constants]


class _Arguments:
    """The arguments that columns of constants, one of each kernel, are made of: multiples of one, or of the product of
    two, plus a constant. values: those of each argument, a kernel each."""

    def __init__(self, columns: list[tuple[int, ...]]):
        self.values: dict[Sym, tuple[int, ...]] = {}
        self.made: dict[tuple[int, ...], Expr] = {}
        for column in sorted(set(columns), key=lambda values: (max(map(abs, values)), values)):
            self.made[column] = self.find(column)

    def find(self, column: tuple[int, ...]) -> Expr:
        if len(set(column)) == 1:
            return wrap(column[0])
        known = [(sym(s), values) for s, values in self.values.items()]
        pairs = [(a * b, tuple(x * y for x, y in zip(one, two, strict=True)))
                 for i, (a, one) in enumerate(known) for b, two in known[i:]]
        for e, values in (*known, *pairs):
            times = _times(column, values)
            if times is not None:
                return e * times + (column[0] - times * values[0])
        lead = -1 if max(column) <= 0 else 1
        values = tuple(lead * v for v in column)
        argument = Sym(f"#{len(self.values)}", min(values), max(values), gcd(*values) or 1, is_dim=True)
        self.values[argument] = values
        return lead * sym(argument)


def _times(column: tuple[int, ...], values: tuple[int, ...]) -> int | None:
    """t, where the column is t times the values plus a constant."""
    i = next((i for i, v in enumerate(values) if v != values[0]), None)
    if i is None:
        return None
    times, rest = divmod(column[i] - column[0], values[i] - values[0])
    same = not rest and all(c - column[0] == times * (v - values[0]) for c, v in zip(column, values, strict=True))
    return times if same and times else None


class _Form(Walk):
    """key: equal for kernels that differ in constants alone. constants: those, in the order of reaching. fast: as of
    `shared`."""

    def __init__(self, kernel: Kernel, fast: bool):
        super().__init__(kernel)
        self.kernel, self.fast = kernel, fast
        self.constants: list[_Constant] = []
        self.place, self.kind = "", "offset"
        self.summed: set[Atom] = set(kernel.k) if isinstance(kernel, ContractionKernel) else set()
        self.window: set[Sym] = set(kernel.k[:-1]) if isinstance(kernel, ContractionKernel) else set()
        self.value(kernel)
        self.key: Hashable = tuple(self.entries), tuple(c.value for c in self.constants if c.kind == "fixed")

    def lives(self, b: Buffer) -> str:
        """Where size counts, a result that leaves the model is stored as others are."""
        return super().lives(b) if self.fast else held(b)

    def constant(self, value: int, kind: str, summed: bool = False) -> Hashable:
        self.constants.append(_Constant(value, "fixed" if self.kind == "fixed" else kind, self.place, summed))
        return ("constant", "fixed" if self.kind == "fixed" else kind)

    def within(self, kind: str, x: Any) -> Hashable:
        before, self.kind = self.kind, kind if self.kind != "fixed" else "fixed"
        found = self.value(x)
        self.kind = before
        return found

    def value(self, x: Any) -> Hashable:
        if isinstance(x, Expr) and x.is_const:
            return self.constant(x.value, self.kind)
        return super().value(x)

    def parts(self, x: Any) -> list[Hashable]:
        if isinstance(x, Reduction):
            self.summed |= set(x.vars)
        if isinstance(x, Expr):
            found: list[Hashable] = []
            for monomial, c in _steps(x):
                found.append(tuple([self.value(atom) for atom in monomial]))
                found.append(self.constant(c, "step" if self.kind == "offset" else self.kind,
                                           all(atom in self.summed for atom in monomial)))
            return [*found, self.constant(_offset(x), self.kind)]
        if isinstance(x, FloorDiv):
            return [self.value(x.num), self.within("fixed", x.den)]
        if isinstance(x, Sym):
            kind = "fixed" if x.is_dim or x in self.window else "size"
            end = None if x.hi is None else self.within(kind, wrap(x.hi) + 1)
            return [x.name, x.lo, end, x.divisor, x.is_dim]
        if isinstance(x, Buffer):
            kind = "fixed" if x.kind == "scratch" else "size"
            return [self.position[x.name], x.dtype, x.order, self.within(kind, x.shape), self.lives(x)]
        if x is not self.kernel:
            return super().parts(x)
        found = []
        for name in fields_of(x):
            self.place = name
            found.append(self.value(getattr(x, name)))
        return found


def _steps(e: Expr) -> list[tuple[tuple[Atom, ...], int]]:
    return [(monomial, c) for monomial, c in e.terms if monomial]


def _offset(e: Expr) -> int:
    return dict(e.terms).get((), 0)


class _Rebuild:
    """Makes the kernel of a form with other constants, in the order of reaching. dims: values of dims that are no
    longer any. Loop variables are made in the order of the kernel's own, so that expressions sort them alike."""

    def __init__(self, form: _Form, constants: Iterable[Expr], dims: Mapping[Sym, int] | None = None):
        self.constants, self.dims = iter(constants), dims or {}
        loops = sorted((a for a in form.atoms if isinstance(a, Sym) and not a.is_dim), key=lambda s: s.key)
        self.loops = {s: Sym(s.name, s.lo, None) for s in loops}
        self.made: dict[Any, Any] = {}

    def value(self, x: Any) -> Any:
        if x is None or isinstance(x, (int, str)):
            return x
        if isinstance(x, (tuple, list)):
            return type(x)(self.value(item) for item in x)
        if isinstance(x, Expr) and x.is_const:
            return next(self.constants)
        if x not in self.made:
            self.made[x] = self.remade(x)
        return self.made[x]

    def remade(self, x: Any) -> Any:
        if isinstance(x, Expr):
            total = ZERO
            for monomial, _ in _steps(x):
                step = product(self.atom(atom) for atom in monomial)
                total = total + step * next(self.constants)
            return total + next(self.constants)
        if isinstance(x, FloorDiv):
            return floordiv(self.value(x.num), self.value(x.den))
        if isinstance(x, Extremum):
            return x.combine(*(self.value(part) for part in x.parts))
        if isinstance(x, Sym):
            return self.symbol(x)
        if isinstance(x, Buffer):
            return replace(x, shape=self.value(x.shape))
        made = {name: self.value(getattr(x, name)) for name in fields_of(x)}
        if not isinstance(x, Scalar):
            return replace(x, **made)
        kind: Any = type(x)
        return kind(**made) if kind is InBounds else kind(dtype=x.dtype, **made)

    def atom(self, x: Atom) -> Expr:
        made = self.value(x)
        if isinstance(made, Sym):
            return wrap(self.dims[made]) if made in self.dims else sym(made)
        assert isinstance(made, Expr)
        return made

    def symbol(self, x: Sym) -> Sym:
        end = None if x.hi is None else self.value(wrap(x.hi) + 1)
        if x.is_dim:
            return x
        made = self.loops[x]
        if end is not None:
            made.hi = end.value - 1 if end.is_const else end - 1
        return made
