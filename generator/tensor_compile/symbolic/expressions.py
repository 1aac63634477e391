# SPDX-License-Identifier: Apache-2.0
"""Symbols, divisions, extrema and the canonical polynomials over them, with the arithmetic that stays polynomial."""
from __future__ import annotations

from math import gcd
from operator import attrgetter
from typing import Iterable, Mapping, TypeAlias, Union

IntLike = Union[int, "Expr"]


class Sym:
    """A named integer with an inclusive range. Identity is the object: two loops may use one name.

    is_dim: known when a kernel is called, a size or the iteration of a loop around it; an iteration's `hi` is an Expr.
    """

    __slots__ = ("name", "lo", "hi", "divisor", "is_dim", "key")
    key: tuple[int, str, int]
    _count = 0

    def __init__(self, name: str, lo: int, hi: IntLike | None, divisor: int = 1, is_dim: bool = False):
        self.name, self.lo, self.hi, self.divisor, self.is_dim = name, lo, hi, divisor, is_dim
        Sym._count += 1
        # Dims sort by name, so that canonical text does not depend on creation order; loop variables sort after them.
        self.key = (0, name, 0) if is_dim else (1, name, Sym._count)

    @property
    def is_iteration(self) -> bool:
        return self.is_dim and isinstance(self.hi, Expr)

    def takes(self, size: int) -> bool:
        """Whether a dim may have this size."""
        return self.lo <= size and not (isinstance(self.hi, int) and size > self.hi) and size % self.divisor == 0

    def __repr__(self) -> str:
        return self.name

    def __lt__(self, other: "Atom") -> bool:
        return self.key < other.key


class FloorDiv:
    """Atom: floor(num / den), den provably positive, neither part reducible any further.

    exact: the constant den where the divisors of dims make it divide num, else 0; den times the atom is then num.
    """

    __slots__ = ("num", "den", "key", "exact")

    def __init__(self, num: "Expr", den: "Expr", number: int):
        self.num, self.den = num, den
        self.exact = den.value if den.is_const and divisor_of(num) % den.value == 0 else 0
        # The number tells divisions apart whose symbols only share their names.
        self.key = (2, f"{num}//{den}", number)

    @property
    def parts(self) -> tuple["Expr", "Expr"]:
        return self.num, self.den

    def combine(self, a: "Expr", b: "Expr") -> "Expr":
        return floordiv(a, b)

    def __repr__(self) -> str:
        return f"floordiv({self.num}, {self.den})"

    def __lt__(self, other: "Atom") -> bool:
        return self.key < other.key


class Extremum:
    """Atom: the larger or the smaller of two expressions of which neither is proved to be that."""

    __slots__ = ("largest", "parts", "key")
    exact = 0
    parts: tuple["Expr", "Expr"]

    def __init__(self, largest: bool, a: "Expr", b: "Expr", number: int):
        self.largest, self.parts = largest, (a, b)
        self.key = (3 if largest else 4, repr(self), number)

    @property
    def name(self) -> str:
        return "max" if self.largest else "min"

    def combine(self, a: "Expr", b: "Expr") -> "Expr":
        return maximum(a, b) if self.largest else minimum(a, b)

    def __repr__(self) -> str:
        return f"{self.name}({self.parts[0]}, {self.parts[1]})"

    def __lt__(self, other: "Atom") -> bool:
        return self.key < other.key


Atom = Union[Sym, FloorDiv, Extremum]
Monomial: TypeAlias = tuple[Atom, ...]            # sorted, an atom repeated for its powers; () is the constant
Terms: TypeAlias = tuple[tuple[Monomial, int], ...]
Range: TypeAlias = tuple[int | None, int | None]  # inclusive; None where it is unbounded

_exprs: dict[Terms, "Expr"] = {}


class Expr:
    """Canonical polynomial. Build with `const`, `sym` and the operators; never construct directly."""

    __slots__ = ("terms", "_text", "_syms", "_hash", "_range")
    terms: Terms
    _text: str | None
    _syms: frozenset[Sym] | None
    _hash: int
    _range: Range | None

    def __new__(cls, terms: Terms) -> "Expr":
        found = _exprs.get(terms)
        if found is None:
            found = object.__new__(cls)
            found.terms, found._text, found._syms, found._hash = terms, None, None, hash(terms)
            found._range = None
            _exprs[terms] = found
        return found

    # -- inspection ---------------------------------------------------------------------------------------------
    @property
    def is_const(self) -> bool:
        return not self.terms or not self.terms[0][0]   # the constant is the last term

    @property
    def value(self) -> int:
        assert self.is_const, f"{self} is not a constant"
        return self.terms[0][1] if self.terms else 0

    def symbols(self) -> frozenset[Sym]:
        """Every symbol that occurs, inside other atoms too."""
        if self._syms is None:
            found: set[Sym] = set()
            for monomial, _ in self.terms:
                for atom in monomial:
                    if isinstance(atom, Sym):
                        found.add(atom)
                    else:
                        found |= _atom_syms(atom)
            self._syms = frozenset(found)
        return self._syms

    def coefficient(self, s: Sym) -> "Expr | None":
        """The stride of `s`: c in self == c*s + rest with c and rest free of s; None where self is not affine in s."""
        if s not in self.symbols():
            return ZERO
        out: dict[Monomial, int] = {}
        for monomial, c in self.terms:
            if s in monomial:
                rest = list(monomial)
                rest.remove(s)
                if s in rest or any(not isinstance(a, Sym) and s in _atom_syms(a) for a in rest):
                    return None
                out[tuple(rest)] = out.get(tuple(rest), 0) + c
            elif any(not isinstance(a, Sym) and s in _atom_syms(a) for a in monomial):
                return None
        return make(out)

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        if isinstance(other, int):
            return self.is_const and self.value == other
        return self is other

    def __repr__(self) -> str:
        if self._text is None:
            parts = []
            for monomial, c in self.terms:
                names = "*".join(repr(a) for a in monomial)
                mag = abs(c)
                text = names if names and mag == 1 else f"{mag}*{names}" if names else str(mag)
                parts.append((" - " if c < 0 else " + ", text))
            head = "".join(s + t for s, t in parts)
            self._text = (("-" if head.startswith(" - ") else "") + head[3:]) if parts else "0"
        return self._text

    # -- arithmetic ---------------------------------------------------------------------------------------------
    def __add__(self, other: IntLike) -> "Expr":
        if not isinstance(other, Expr):
            other = const(other)
        if not other.terms:
            return self
        if not self.terms:
            return other
        if not exact_atoms:
            if not other.terms[0][0]:
                return _with_constant(self.terms, other.terms[0][1])
            if not self.terms[0][0]:
                return _with_constant(other.terms, self.terms[0][1])
        out = dict(self.terms)
        for monomial, c in other.terms:
            out[monomial] = out.get(monomial, 0) + c
        return make(out)

    __radd__ = __add__

    def __neg__(self) -> "Expr":
        return Expr(tuple([(m, -c) for m, c in self.terms]))

    def __sub__(self, other: IntLike) -> "Expr":
        if not isinstance(other, Expr):
            return self + -other
        return ZERO if other is self else self + (-other)

    def __rsub__(self, other: IntLike) -> "Expr":
        return wrap(other) + (-self)

    def __mul__(self, other: IntLike) -> "Expr":
        if not isinstance(other, Expr):
            other = const(other)
        if not self.terms or not other.terms:
            return ZERO
        if not self.terms[0][0] or not other.terms[0][0]:
            expr, c = (self, other.terms[0][1]) if self.terms[0][0] else (other, self.terms[0][1])
            if c == 1:
                return expr
            if not exact_atoms:
                return Expr(tuple([(m, k * c) for m, k in expr.terms]))
            return make({m: k * c for m, k in expr.terms})
        out: dict[Monomial, int] = {}
        for ma, ca in self.terms:
            for mb, cb in other.terms:
                monomial = tuple(sorted(ma + mb, key=_atom_key))
                out[monomial] = out.get(monomial, 0) + ca * cb
        return make(out)

    __rmul__ = __mul__

    def __floordiv__(self, other: IntLike) -> "Expr":
        return floordiv(self, wrap(other))

    def __mod__(self, other: IntLike) -> "Expr":
        return self - (self // other) * other

    # -- bounds -------------------------------------------------------------------------------------------------
    def range(self) -> Range:
        """Inclusive (lo, hi) as ints, either None where unbounded. Sound, not always tight."""
        if self._range is None:
            self._range = (bound(self, False), bound(self, True))
        return self._range

    def substitute(self, mapping: Mapping[Sym, IntLike]) -> "Expr":
        if not any(s in mapping for s in self.symbols()):
            return self
        out = ZERO
        for monomial, c in self.terms:
            term = const(c)
            for atom in monomial:
                if isinstance(atom, Sym):
                    term = term * wrap(mapping.get(atom, sym(atom)))
                else:
                    term = term * atom.combine(*(part.substitute(mapping) for part in atom.parts))
            out = out + term
        return out

    def evaluate(self, values: Mapping[Sym, int]) -> int:
        total = 0
        for monomial, c in self.terms:
            for atom in monomial:
                c *= values[atom] if isinstance(atom, Sym) else _evaluate(atom, values)
            total += c
        return total


def _atom_syms(atom: FloorDiv | Extremum) -> frozenset[Sym]:
    a, b = atom.parts
    return a.symbols() | b.symbols()


def _evaluate(atom: FloorDiv | Extremum, values: Mapping[Sym, int]) -> int:
    a, b = (part.evaluate(values) for part in atom.parts)
    return a // b if isinstance(atom, FloorDiv) else max(a, b) if atom.largest else min(a, b)


_atom_key = attrgetter("key")
exact_atoms: set[FloorDiv] = set()   # the exact atoms there are; most programs have none


def make(terms: Mapping[Monomial, int]) -> Expr:
    if exact_atoms:
        for monomial, c in terms.items():
            atom = next((a for a in monomial if c and isinstance(a, FloorDiv) and a in exact_atoms
                         and c % a.exact == 0), None)
            if atom is not None:   # 4*floordiv(x, 4) is x where x is a multiple of 4
                rest, others = list(monomial), dict(terms)
                rest.remove(atom)
                del others[monomial]
                return make(others) + atom.num * Expr(((tuple(rest), c // atom.exact),))
    kept = [term for term in terms.items() if term[1]]
    if len(kept) > 1:
        kept.sort(key=_term_key)
    return Expr(tuple(kept))


def _with_constant(terms: Terms, c: int) -> Expr:
    """The sum of an expression's terms, of which there is at least one, and a constant."""
    monomial, own = terms[-1]
    if monomial:
        return Expr((*terms, ((), c)))
    return Expr((*terms[:-1], ((), own + c)) if own + c else terms[:-1])


def _term_key(term: tuple[Monomial, int]) -> tuple[int, tuple[tuple[int, str, int], ...]]:
    # Higher degree first, constant last: reads as people write polynomials.
    return (-len(term[0]), tuple([a.key for a in term[0]]))


def const(value: int) -> Expr:
    return Expr((((), value),)) if value else ZERO


def sym(s: Sym) -> Expr:
    return Expr((((s,), 1),))


def wrap(value: IntLike) -> Expr:
    return value if isinstance(value, Expr) else const(value)


ZERO = Expr(())
ONE = Expr((((), 1),))


def product(values: Iterable[IntLike]) -> Expr:
    out = ONE
    for v in values:
        out = out * v
    return out


def divide_term(monomial: Monomial, c: int, dm: Monomial, dc: int) -> tuple[Monomial, int] | None:
    if c % dc:
        return None
    rest = list(monomial)
    for atom in dm:
        if atom not in rest:
            return None
        rest.remove(atom)
    return tuple(rest), c // dc


def exact_div(num: IntLike, den: IntLike) -> Expr | None:
    """num / den where that is a polynomial for every value of the symbols; None otherwise."""
    num, den = wrap(num), wrap(den)
    if num is den:
        return ONE
    if not den.terms:
        return None
    quotient, rest = ZERO, num
    lead_m, lead_c = den.terms[0]
    for _ in range(len(num.terms) + 8):
        if not rest.terms:
            return quotient
        divided = next((d for m, c in rest.terms if (d := divide_term(m, c, lead_m, lead_c)) is not None), None)
        if divided is None:
            break
        step = make(dict([divided]))
        quotient, rest = quotient + step, rest - step * den
    return None


def constant_term(e: Expr) -> int:
    return next((c for m, c in e.terms if not m), 0)


def divisor_of(e: Expr) -> int:
    """The largest known integer that divides e for every value of its symbols (0 for the zero expression)."""
    out = 0
    for monomial, c in e.terms:
        term = abs(c)
        for atom in monomial:
            if isinstance(atom, Sym):
                term *= atom.divisor
            elif isinstance(atom, Extremum):
                term *= gcd(divisor_of(atom.parts[0]), divisor_of(atom.parts[1]))
            elif atom.exact:
                term *= max(1, divisor_of(atom.num) // atom.exact)
        out = gcd(out, term)
    return out


# Expressions divide, are ordered and have bounds: these build on all of the above and so come last.
from .division import floordiv
from .extrema import maximum, minimum
from .prover import bound
