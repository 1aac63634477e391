# SPDX-License-Identifier: Apache-2.0
"""Integer expressions over symbols: canonical polynomials with floor division, and the prover over them.

Dims of tensors and index expressions of loops are both `Expr`. An `Expr` is kept in canonical form (a sum of integer
multiples of products of atoms), so two equal polynomials are the same object and `==` is identity. An atom is a symbol
or a floor division that could not be reduced. `x mod d` is never an atom: it is written `x - d*floordiv(x, d)`, which
makes `d*(x//d) + x mod d` collapse to `x` by itself.

A symbol carries its inclusive range: `lo` an int, `hi` an int or an `Expr` (a loop variable's `extent - 1`), and, for a
dim, a divisor of its value. All values are non-negative unless a range says otherwise.
"""
from __future__ import annotations

from math import gcd
from operator import attrgetter
from typing import Iterable, Mapping, Union

IntLike = Union[int, "Expr"]


class Sym:
    """A named integer with an inclusive range. Identity is the object: two loops may use one name."""

    __slots__ = ("name", "lo", "hi", "divisor", "is_dim", "key")
    _count = 0

    def __init__(self, name: str, lo: int, hi: IntLike | None, divisor: int = 1, is_dim: bool = False):
        self.name, self.lo, self.hi, self.divisor, self.is_dim = name, lo, hi, divisor, is_dim
        Sym._count += 1
        # Dims sort by name, so that canonical text does not depend on creation order; loop variables sort after them.
        self.key = (0, name, 0) if is_dim else (1, name, Sym._count)

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

    def __repr__(self) -> str:
        return f"floordiv({self.num}, {self.den})"

    def __lt__(self, other: "Atom") -> bool:
        return self.key < other.key


Atom = Union[Sym, FloorDiv]
Monomial = tuple  # of atoms, sorted, repeated for powers; () is the constant

_exprs: dict = {}
_divs: dict = {}


class Expr:
    """Canonical polynomial. Build with `const`, `sym` and the operators; never construct directly."""

    __slots__ = ("terms", "_text", "_syms", "_hash", "_range")

    def __new__(cls, terms: tuple):
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
        return not self.terms or (len(self.terms) == 1 and not self.terms[0][0])

    @property
    def value(self) -> int:
        assert self.is_const, f"{self} is not a constant"
        return self.terms[0][1] if self.terms else 0

    def symbols(self) -> frozenset:
        """Every symbol that occurs, inside floor divisions too."""
        if self._syms is None:
            found: set = set()
            for monomial, _ in self.terms:
                for atom in monomial:
                    if isinstance(atom, Sym):
                        found.add(atom)
                    else:
                        found |= atom.num.symbols() | atom.den.symbols()
            self._syms = frozenset(found)
        return self._syms

    def coefficient(self, s: Sym) -> "Expr | None":
        """The stride of `s`: c in self == c*s + rest with c and rest free of s; None where self is not affine in s."""
        if s not in self.symbols():
            return ZERO
        out: dict = {}
        for monomial, c in self.terms:
            if s in monomial:
                rest = list(monomial)
                rest.remove(s)
                if s in rest or any(isinstance(a, FloorDiv) and s in _atom_syms(a) for a in rest):
                    return None
                out[tuple(rest)] = out.get(tuple(rest), 0) + c
            elif any(isinstance(a, FloorDiv) and s in _atom_syms(a) for a in monomial):
                return None
        return _make(out)

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
        other = wrap(other)
        if not other.terms:
            return self
        if not self.terms:
            return other
        out = dict(self.terms)
        for monomial, c in other.terms:
            out[monomial] = out.get(monomial, 0) + c
        return _make(out)

    __radd__ = __add__

    def __neg__(self) -> "Expr":
        return Expr(tuple((m, -c) for m, c in self.terms))

    def __sub__(self, other: IntLike) -> "Expr":
        return self + (-wrap(other))

    def __rsub__(self, other: IntLike) -> "Expr":
        return wrap(other) + (-self)

    def __mul__(self, other: IntLike) -> "Expr":
        other = wrap(other)
        if self.is_const or other.is_const:
            expr, c = (other, self.value) if self.is_const else (self, other.value)
            if c in (0, 1):
                return expr if c else ZERO
            return _make({m: k * c for m, k in expr.terms}) if _exact else Expr(tuple((m, k * c) for m, k in expr.terms))
        out: dict = {}
        for ma, ca in self.terms:
            for mb, cb in other.terms:
                monomial = tuple(sorted(ma + mb, key=_atom_key))
                out[monomial] = out.get(monomial, 0) + ca * cb
        return _make(out)

    __rmul__ = __mul__

    def __floordiv__(self, other: IntLike) -> "Expr":
        return floordiv(self, wrap(other))

    def __mod__(self, other: IntLike) -> "Expr":
        return self - (self // other) * other

    # -- bounds -------------------------------------------------------------------------------------------------
    def range(self) -> tuple:
        """Inclusive (lo, hi) as ints, either None where unbounded. Sound, not always tight."""
        if self._range is None:
            self._range = (_bound(self, False), _bound(self, True))
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
                    term = term * floordiv(atom.num.substitute(mapping), atom.den.substitute(mapping))
            out = out + term
        return out

    def evaluate(self, values: Mapping[Sym, int]) -> int:
        total = 0
        for monomial, c in self.terms:
            for atom in monomial:
                c *= values[atom] if isinstance(atom, Sym) else atom.num.evaluate(values) // atom.den.evaluate(values)
            total += c
        return total


def _atom_syms(atom: FloorDiv) -> frozenset:
    return atom.num.symbols() | atom.den.symbols()


_atom_key = attrgetter("key")
_exact: set = set()   # the exact atoms there are; most programs have none


def _make(terms: Mapping) -> Expr:
    if _exact:
        for monomial, c in terms.items():
            atom = next((a for a in monomial if c and a in _exact and c % a.exact == 0), None)
            if atom is not None:   # 4*floordiv(x, 4) is x where x is a multiple of 4
                rest, others = list(monomial), dict(terms)
                rest.remove(atom)
                del others[monomial]
                return _make(others) + atom.num * Expr(((tuple(rest), c // atom.exact),))
    return Expr(tuple(sorted(((m, c) for m, c in terms.items() if c), key=_term_key)))


def _term_key(term: tuple) -> tuple:
    # Higher degree first, constant last: reads as people write polynomials.
    return (-len(term[0]), tuple(a.key for a in term[0]))


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


# -- division -------------------------------------------------------------------------------------------------------
def _divide_term(monomial: Monomial, c: int, dm: Monomial, dc: int) -> tuple | None:
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
        divided = next((d for m, c in rest.terms if (d := _divide_term(m, c, lead_m, lead_c)) is not None), None)
        if divided is None:
            break
        step = _make(dict([divided]))
        quotient, rest = quotient + step, rest - step * den
    return None


def divisor_of(e: Expr) -> int:
    """The largest known integer that divides e for every value of its symbols (0 for the zero expression)."""
    out = 0
    for monomial, c in e.terms:
        term = abs(c)
        for atom in monomial:
            if isinstance(atom, Sym):
                term *= atom.divisor
            elif atom.exact:
                term *= max(1, divisor_of(atom.num) // atom.exact)
        out = gcd(out, term)
    return out


def floordiv(num: Expr, den: Expr) -> Expr:
    if den.is_const and den.value == 1:
        return num
    if num.is_const and den.is_const:
        return const(num.value // den.value)
    found = _divs.get((num, den))
    if found is None:
        found = _divs[(num, den)] = _floordiv(num, den)
    return found


def _floordiv(num: Expr, den: Expr) -> Expr:
    exact = exact_div(num, den)
    if exact is not None:
        return exact
    # num = den*q + rest with q polynomial: floor(num/den) = q + floor(rest/den)
    quotient = ZERO
    if len(den.terms) == 1:
        dm, dc = den.terms[0]
        rest: dict = {}
        q: dict = {}
        for monomial, c in num.terms:
            divided = _divide_term(monomial, c, dm, dc)
            if divided is None and not dm and not monomial and not 0 <= c < dc:
                # the constant's remainder is kept in [0, dc), so that (x - 1)//2 + 1 and (x + 1)//2 are one expression;
                # floor((5*x)/3) has no simpler form for a symbol
                q[()] = q.get((), 0) + c // dc
                if c % dc:
                    rest[()] = c % dc
                continue
            if divided is None:
                rest[monomial] = c
            else:
                q[divided[0]] = q.get(divided[0], 0) + divided[1]
        quotient, num = _make(q), _make(rest)
    if is_nonnegative(num) and is_nonnegative(den - 1 - num):
        return quotient
    if den.is_const:
        # drop a small remainder that cannot carry: floor((4*x + 3)/8) = floor(x/2) as g = 4 divides the rest of num
        constant = next((c for m, c in num.terms if not m), 0)
        g = gcd(divisor_of(num - constant), den.value)
        if g > 1:
            reduced = _scale_down(num - constant, g)
            if reduced is not None:
                inner = reduced + constant // g
                d = const(den.value // g)
                return quotient + (floordiv(inner, d) if d.value != 1 else inner)
            if constant % g:
                return quotient + floordiv(num - constant % g, den)
        small = _drop_small(num, den.value)
        if small is not None:
            return quotient + floordiv(small, den)
    # floor(floor(x/a)/b) = floor(x/(a*b))
    if len(num.terms) == 1 and num.terms[0][1] == 1 and len(num.terms[0][0]) == 1:
        atom = num.terms[0][0][0]
        if isinstance(atom, FloorDiv):
            return quotient + floordiv(atom.num, atom.den * den)
    if num.is_const and num.value == 0:
        return quotient
    return quotient + Expr((((_division(num, den),), 1),))


_div_atoms: dict = {}


def _division(num: Expr, den: Expr) -> FloorDiv:
    atom = _div_atoms.get((num, den))
    if atom is None:
        atom = _div_atoms[(num, den)] = FloorDiv(num, den, len(_div_atoms))
        if atom.exact:
            _exact.add(atom)
    return atom


def _scale_down(e: Expr, g: int) -> Expr | None:
    """e / g where every coefficient is a multiple of g."""
    if any(c % g for _, c in e.terms):
        return None
    return Expr(tuple((m, c // g) for m, c in e.terms))


def _drop_small(num: Expr, den: int) -> Expr | None:
    """num without the terms whose sum lies in [0, g), g dividing the other terms and den: they cannot carry."""
    g = 0
    for monomial, c in sorted(num.terms, key=lambda t: -abs(t[1])):
        g2 = gcd(gcd(g, abs(c)), den)
        if g2 <= 1:
            return None
        g = g2
        big = _make({m: k for m, k in num.terms if k % g == 0})
        small = num - big
        if not small.terms:
            return None
        if is_nonnegative(small) and is_nonnegative(const(g - 1) - small):
            return big
    return None


# -- the prover -----------------------------------------------------------------------------------------------------
def _split(e: Expr, s: Sym) -> tuple | None:
    c = e.coefficient(s)
    return None if c is None else (c, e - c * sym(s))


def _extreme(e: Expr, upper: bool) -> Expr:
    """Replaces loop variables by the end of their range that makes e largest (smallest); dims stay."""
    for _ in range(64):
        loops = sorted((s for s in e.symbols() if not s.is_dim and isinstance(s.hi, (int, Expr))), key=lambda s: s.key)
        done = True
        for s in loops:
            split = _split(e, s)
            if split is None:
                continue
            c, rest = split
            if c.terms and is_nonnegative(c):
                e, done = rest + c * (s.hi if upper else s.lo), False
            elif c.terms and is_nonnegative(-c):
                e, done = rest + c * (s.lo if upper else s.hi), False
            else:
                continue
            break
        if done:
            break
    return e


def _atom_range(atom: Atom) -> tuple:
    if isinstance(atom, Sym):
        hi = atom.hi.range()[1] if isinstance(atom.hi, Expr) else atom.hi
        return atom.lo, hi
    (nlo, nhi), (dlo, dhi) = atom.num.range(), atom.den.range()
    if dlo is None or dlo <= 0:
        return None, None
    lo = None if nlo is None else (nlo // (dhi if nlo >= 0 and dhi else dlo) if nlo < 0 or dhi else 0)
    hi = None if nhi is None else (nhi // dlo if nhi >= 0 else (nhi // dhi if dhi else 0))
    return lo, hi


def _bound(e: Expr, upper: bool) -> int | None:
    total = 0
    for monomial, c in e.terms:
        lo, hi = 1, 1
        for atom in monomial:
            alo, ahi = _atom_range(atom)
            if alo is None or alo < 0 or lo is None:
                if len(monomial) == 1:
                    lo, hi = alo, ahi
                    break
                return None
            lo, hi = lo * alo, (None if hi is None or ahi is None else hi * ahi)
        pick = hi if (c > 0) == upper else lo
        if pick is None:
            return None
        total += c * pick
    return total


_nonneg: dict = {}


def is_nonnegative(e: IntLike) -> bool:
    """True only where e >= 0 is proved for every value of its symbols within their ranges."""
    e = wrap(e)
    if e.is_const:
        return e.value >= 0
    found = _nonneg.get(e)
    if found is None:
        _nonneg[e] = False  # a question that leads back to itself is not proved
        found = _nonneg[e] = _prove_nonnegative(e)
    return found


def _prove_nonnegative(e: Expr) -> bool:
    lo = _bound(e, False)
    if lo is not None and lo >= 0:
        return True
    reduced = _extreme(e, False)
    if reduced is not e:
        if reduced.is_const:
            return reduced.value >= 0
        lo = _bound(reduced, False)
        if lo is not None and lo >= 0:
            return True
    return _prove_by_factor(reduced) or _prove_by_floor(reduced) or _prove_by_remainder(e)


def _prove_by_factor(e: Expr) -> bool:
    """x*y - x = x*(y - 1): take out a symbol that divides every term but is itself non-negative."""
    if len(e.terms) < 2:
        return False
    common = set(e.terms[0][0])
    for monomial, _ in e.terms[1:]:
        common &= set(monomial)
    for atom in sorted(common, key=lambda a: a.key):
        lo = _atom_range(atom)[0]
        if lo is not None and lo >= 0:
            quotient = exact_div(e, Expr((((atom,), 1),)))
            if quotient is not None and quotient is not e and is_nonnegative(quotient):
                return True
    # shift dims to start at zero: with x = lo + x', every coefficient of the shifted polynomial >= 0 proves it
    dims = [s for s in e.symbols() if isinstance(s, Sym) and s.lo > 0]
    if dims and all(isinstance(a, Sym) and a.lo >= 0 for m, _ in e.terms for a in m):
        shifted = {s: sym(Sym(s.name, 0, None)) + s.lo for s in dims}
        moved = e.substitute(shifted)
        return all(c >= 0 for _, c in moved.terms)
    return False


def _prove_by_floor(e: Expr) -> bool:
    """Replaces floordiv(n, d) by what it says of n: q <= floordiv(n, d) where q*d <= n, and floordiv(n, d) <= q where
    n <= q*d + d - 1; with another factor, where d is a constant, by (n - d + 1)/d <= floordiv(n, d) <= n/d."""
    for monomial, c in e.terms:
        if len(monomial) != 1 or not isinstance(monomial[0], FloorDiv):
            continue
        n, d = monomial[0].num, monomial[0].den
        rest = e - c * Expr(((monomial, 1),))
        if c == 1 and is_nonnegative(n + rest * d) or c == -1 and is_nonnegative(rest * d + d - 1 - n):
            return True
        if d.is_const and is_nonnegative(rest * d + (n * c if c < 0 else (n - (d - 1)) * c)):
            return True
    return False


def _prove_by_remainder(e: Expr) -> bool:
    """Takes out a remainder: 0 <= n - d*floordiv(n, d) <= d - 1, also where n is a floor division itself."""
    atoms = sorted({a for m, _ in e.terms for a in m if isinstance(a, FloorDiv)}, key=lambda a: a.key)
    for atom in atoms:
        factor = _make({tuple(a for a in m if a is not atom): c for m, c in e.terms if m.count(atom) == 1})
        whole = [(atom.num, atom.den)]
        for inner in atoms:  # floordiv(n, d1*d) = floordiv(floordiv(n, d1), d)
            d = exact_div(atom.den, inner.den) if inner is not atom and inner.num is atom.num else None
            if d is not None:
                whole.append((Expr((((inner,), 1),)), d))
        for n, d in whole:
            times = exact_div(factor, d)
            if times is None or not times.is_const:
                continue
            rest = e + times * (n - d * Expr((((atom,), 1),)))  # e = rest - times * remainder
            if any(atom in m for m, _ in rest.terms):
                continue
            if is_nonnegative(rest if times.value < 0 else rest - times * (d - 1)):
                return True
    return False


def is_zero(e: IntLike) -> bool:
    return wrap(e).terms == ()


def equal(a: IntLike, b: IntLike) -> bool:
    """Proved equal for every value of the symbols."""
    return (wrap(a) - wrap(b)).terms == ()


def never_equal(a: IntLike, b: IntLike) -> bool:
    """Proved different for every value of the symbols."""
    d = wrap(a) - wrap(b)
    if is_nonnegative(d - 1) or is_nonnegative(-d - 1):
        return True
    # parity: 2*x + 1 is never 0
    constant = next((c for m, c in d.terms if not m), 0)
    g = divisor_of(d - constant)
    return g > 1 and constant % g != 0


# -- text -----------------------------------------------------------------------------------------------------------
def parse(text: str, names: Mapping[str, Sym]) -> Expr:
    """The inverse of repr for dims: + - * with integer and symbol factors, parentheses and floordiv(a, b)."""
    if text.lstrip("-").isdigit():
        return const(int(text))
    if text in names:
        return sym(names[text])
    import re

    tokens = re.findall(r"\d+|[A-Za-z_][A-Za-z_0-9.]*|[-+*(),]", text)
    if "".join(tokens) != text.replace(" ", ""):
        raise ValueError(f"not an integer expression: {text!r}")
    pos = 0

    def peek() -> str:
        return tokens[pos] if pos < len(tokens) else ""

    def take(expected: str | None = None) -> str:
        nonlocal pos
        token = peek()
        if not token or (expected is not None and token != expected):
            raise ValueError(f"not an integer expression: {text!r}")
        pos += 1
        return token

    def factor() -> Expr:
        token = take()
        if token.isdigit():
            return const(int(token))
        if token == "(":
            inner = total()
            take(")")
            return inner
        if token == "-":
            return -factor()
        if token == "floordiv":
            take("(")
            a = total()
            take(",")
            b = total()
            take(")")
            return floordiv(a, b)
        if token not in names:
            raise ValueError(f"unknown dim {token!r} in {text!r}")
        return sym(names[token])

    def term() -> Expr:
        out = factor()
        while peek() == "*":
            take()
            out = out * factor()
        return out

    def total() -> Expr:
        out = term()
        while peek() in ("+", "-"):
            out = out + term() if take() == "+" else out - term()
        return out

    result = total()
    if pos != len(tokens):
        raise ValueError(f"not an integer expression: {text!r}")
    return result
