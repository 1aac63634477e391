# SPDX-License-Identifier: Apache-2.0
"""Sizes: expressions over the model's dims, and how C writes them.

A size is a symbolic.Expr. Dims are declared once a model, by tc_dynamic, and are C variables of their own names.
"""
from __future__ import annotations

import operator
import re
from typing import Callable, Iterable, Mapping, Sequence

from ..errors import UserError, closest
from ..records import dataclass
from ..symbolic import Atom, Expr, Extremum, IntLike, Sym, equal, floordiv, maximum, minimum, product, sym, wrap

DEFAULT_HIGH = 4096  # the upper end of a dim of which the model says nothing

Shape = tuple[Expr, ...]

# What two sizes give, by the language's names of the operations; and which of these a reduction repeats.
ARITHMETIC: dict[str, Callable[[Expr, Expr], Expr]] = {
    "add": operator.add, "sub": operator.sub, "mul": operator.mul, "maximum": maximum, "minimum": minimum}
REPEATED = {"sum": "add", "prod": "mul", "amax": "maximum", "amin": "minimum"}

# A dim within the text of a statement: MARK name MARK.
MARK = "\x04"


@dataclass(frozen=True, slots=True)
class Range:
    """What was asked for a dim: lo..hi, always a multiple of divisor; lo == hi fixes it."""

    lo: int = 1
    hi: int = DEFAULT_HIGH
    divisor: int = 1

    @staticmethod
    def parse(text: str) -> Range | None:
        """`8`, `1:64` or `32:1024:32`; None where it is none of them."""
        match = re.fullmatch(r"(\d{1,18})(?::(\d{1,18})(?::(\d{1,18}))?)?", text)
        if not match:
            return None
        lo, hi, divisor = (int(word) if word else None for word in match.groups())
        assert lo is not None
        found = Range(lo, lo if hi is None else hi, 1 if divisor is None else divisor)
        return found if found.lo <= found.hi and found.divisor >= 1 else None


class Dims:
    """The dims of one model. asked: ranges by the dim's name, from the command line."""

    def __init__(self, asked: Mapping[str, Range] | None = None):
        self.asked = dict(asked or {})
        self.declared: dict[str, Sym] = {}
        self.specialized: dict[str, tuple[int, ...]] = {}    # sizes that get variants of their own
        self._fixed: dict[str, int] = {}

    def named(self, name: str, default: Range = Range()) -> Expr:
        """The dim of this name, a C identifier; a constant where the command line fixes it. default: what the model
        says of it."""
        if name in self._fixed:
            return wrap(self._fixed[name])
        if name not in self.declared:
            r = self.asked.get(name, default)
            if r.lo == r.hi:
                self._fixed[name] = r.lo
                return wrap(r.lo)
            self.declared[name] = Sym(name, r.lo, r.hi, r.divisor, is_dim=True)
        return sym(self.declared[name])

    def refuse_unknown(self, shown: str) -> None:
        """An error where a dim was asked for that the model does not have."""
        for dim in sorted(set(self.asked) - set(self.declared) - set(self._fixed)):
            raise UserError(f"--dim: the model has no dim {dim!r}", shown, closest(dim, self.declared) +
                            f"its dims: {', '.join(self.declared) or 'none'}")

    # -- C -----------------------------------------------------------------------------------------------------------
    def c(self, size: IntLike) -> str:
        """The size as C; dims are marked, see `plain` and `used`."""
        e = wrap(size)
        if e.is_const:
            return str(e.value)
        text = ""
        ordered = sorted(e.terms, key=lambda term: term[1] < 0)  # a difference begins with what it is taken from
        for monomial, c in ordered:
            factors = [self._atom(atom) for atom in monomial]
            if not factors:
                part = str(abs(c))
            else:
                part = factors[0]
                for factor in factors[1:]:
                    part = f"tc_dim_mul({part}, {factor})"
                if abs(c) != 1:
                    part = f"tc_dim_mul({part}, {abs(c)})"
            if not text:
                text = part if c > 0 else f"tc_dim_sub(0, {part})"
            else:
                text = f"tc_dim_{'add' if c > 0 else 'sub'}({text}, {part})"
        return text

    def _atom(self, atom: Atom) -> str:
        if isinstance(atom, Sym):
            return f"{MARK}{atom.name}{MARK}"
        name = f"tc_dim_{atom.name}" if isinstance(atom, Extremum) else "tc_dim_floordiv"
        return f"{name}({', '.join(map(self.c, atom.parts))})"

    def list(self, sizes: Iterable[IntLike]) -> str:
        return ", ".join(self.c(s) for s in sizes)


def used(text: str) -> list[str]:
    """The dims that a marked text names, each once, in order."""
    return list(dict.fromkeys(re.findall(f"{MARK}([^{MARK}]*){MARK}", text)))


def plain(text: str) -> str:
    return text.replace(MARK, "")


def constants(sizes: Iterable[Expr]) -> list[int] | None:
    """The sizes as numbers, None where one is dynamic."""
    found = list(sizes)
    return [s.value for s in found] if all(s.is_const for s in found) else None


def shape(*sizes: IntLike) -> Shape:
    return tuple(wrap(s) for s in sizes)


def elements(sizes: Sequence[Expr]) -> Expr:
    return product(sizes)


def ceildiv(a: IntLike, b: IntLike) -> Expr:
    return floordiv(wrap(a) + wrap(b) - 1, wrap(b))


def broadcast(*shapes: Shape) -> Shape | None:
    """The shape that they broadcast to; None where two sizes differ and neither is 1. Of two dynamic sizes that are not
    known to be equal capture makes a guard: the first stands for both."""
    rank = max((len(s) for s in shapes), default=0)
    out: list[Expr] = []
    for axis in range(-rank, 0):
        size = wrap(1)
        for s in shapes:
            if -axis > len(s) or equal(s[axis], 1):
                continue
            if equal(size, 1):
                size = s[axis]
            elif not equal(size, s[axis]):
                if size.is_const and s[axis].is_const:
                    return None
                size = s[axis] if s[axis].is_const else size
        out.append(size)
    return tuple(out)
