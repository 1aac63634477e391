# SPDX-License-Identifier: Apache-2.0
"""Integer expressions: simplifications and proofs against brute force over all values of the symbols."""
from __future__ import annotations

import os
import random

from tap import done, equal, note, ok, raises
from tensor_compile import symbolic
from tensor_compile.symbolic import Expr, Sym, const, exact_div, holds, is_nonnegative, maximum, minimum
from tensor_compile.symbolic import never_equal, parse, sym

DIMS = [Sym("a", 0, 5, is_dim=True), Sym("b", 1, 4, is_dim=True), Sym("c", 4, 12, 4, is_dim=True)]
NAMES = {s.name: s for s in DIMS}
LOOPS = [Sym("i", 0, sym(DIMS[1]) - 1), Sym("j", 0, 2), Sym("l", 0, sym(DIMS[2]) * sym(DIMS[1]) - 1)]


def values(symbols: list[Sym]):
    """Every assignment of the symbols within their ranges and divisors; a range's end may be an expression."""
    def extend(done: dict, rest: list[Sym]):
        if not rest:
            yield done
            return
        s = rest[0]
        high = s.hi.evaluate(done) if isinstance(s.hi, Expr) else s.hi
        for v in range(s.lo, high + 1):
            if v % s.divisor == 0:
                yield from extend({**done, s: v}, rest[1:])
    yield from extend({}, symbols)


POINTS = list(values(DIMS + LOOPS))
SAMPLE = random.Random(1).sample(POINTS, 200) + [POINTS[0], POINTS[-1]]


class Tree:
    """A random expression twice: as Expr, and as a function that computes it without any simplification."""

    def __init__(self, rng: random.Random, symbols: list[Sym], depth: int):
        kind = rng.randrange(10) if depth else rng.randrange(2)
        if kind == 0:
            n = rng.randrange(-6, 13)
            self.expr, self.value = const(n), lambda at: n
        elif kind == 1:
            s = rng.choice(symbols)
            self.expr, self.value = sym(s), lambda at: at[s]
        else:
            x, y = Tree(rng, symbols, depth - 1), Tree(rng, symbols, depth - 1)
            if kind <= 3:
                self.expr, self.value = x.expr + y.expr, lambda at: x.value(at) + y.value(at)
            elif kind == 4:
                self.expr, self.value = x.expr - y.expr, lambda at: x.value(at) - y.value(at)
            elif kind == 5:
                self.expr, self.value = x.expr * y.expr, lambda at: x.value(at) * y.value(at)
            elif kind == 8:
                self.expr, self.value = maximum(x.expr, y.expr), lambda at: max(x.value(at), y.value(at))
            elif kind == 9:
                self.expr, self.value = minimum(x.expr, y.expr), lambda at: min(x.value(at), y.value(at))
            else:
                d, den = self.divisor(rng, symbols)
                if kind == 6:
                    self.expr, self.value = x.expr // d, lambda at: x.value(at) // den(at)
                else:
                    self.expr, self.value = x.expr % d, lambda at: x.value(at) % den(at)

    @staticmethod
    def divisor(rng: random.Random, symbols: list[Sym]):
        """A positive divisor."""
        n = rng.choice((1, 2, 3, 4, 6, 8, 12))
        positive = [s for s in symbols if s.lo > 0]
        if positive and rng.random() < 0.4:
            s = rng.choice(positive)
            return sym(s) * n, lambda at: at[s] * n
        return const(n), lambda at: n


failures = {"value": 0, "range": 0, "nonnegative": 0, "never_equal": 0, "divisor": 0, "substitute": 0, "text": 0,
            "exact_div": 0, "coefficient": 0}
proved = 0
count = int(os.environ.get("TC_FUZZ", "3000"))
rng = random.Random(11)


def failed(what: str, message: str) -> None:
    failures[what] += 1
    if failures[what] < 4:
        note(f"{what}: {message}")


for n in range(count):
    only_dims = n % 3 == 0
    tree = Tree(rng, DIMS if only_dims else DIMS + LOOPS, rng.choice((1, 2, 3, 4)))
    e = tree.expr
    got = [e.evaluate(at) for at in SAMPLE]
    if got != [tree.value(at) for at in SAMPLE]:
        failed("value", repr(e))
    low, high = e.range()
    if (low is not None and min(got) < low) or (high is not None and max(got) > high):
        failed("range", f"{e} in {low}..{high}, has {min(got)}..{max(got)}")
    if is_nonnegative(e):
        proved += 1
        if any(e.evaluate(at) < 0 for at in SAMPLE):
            failed("nonnegative", repr(e))
    d = symbolic.divisor_of(e)
    if any(v % d if d else v for v in got):
        failed("divisor", f"{d} does not divide {e}")
    if never_equal(e, 0) and 0 in got:
        failed("never_equal", repr(e))
    sizes = {s: v for s, v in rng.choice(SAMPLE).items() if s in DIMS[:2] and rng.random() < 0.7}
    new = e.substitute(sizes)
    where = [at for at in SAMPLE if all(at[s] == v for s, v in sizes.items())]
    if any(new.evaluate(at) != e.evaluate(at) for at in where):
        failed("substitute", f"{e} with {sizes} is {new}")
    if only_dims and parse(repr(e), NAMES) is not e:
        failed("text", f"{e} reads as {parse(repr(e), NAMES)}")
    den = Tree(rng, DIMS, 1).expr
    quotient = exact_div(e, den)
    if quotient is not None and not (quotient * den - e).terms == ():
        failed("exact_div", f"{e} / {den} = {quotient}")
    # (c, a multiple of 4, may hide in a division of c: completeness is for the other symbols)
    if exact_div(e * den, den) is None and den.terms and DIMS[2] not in (e * den).symbols():
        failed("exact_div", f"({e * den}) / ({den}) is not found")
    s = rng.choice(DIMS + LOOPS)
    c = e.coefficient(s)
    if c is not None and (s in c.symbols() or s in (e - c * sym(s)).symbols()):
        failed("coefficient", f"of {s} in {e}: {c}")
for what, number in failures.items():
    equal(number, 0, f"{count} random expressions: {what}")
ok(proved > count // 5, f"a good part of the random expressions is proved non-negative ({proved})")

# -- one form for equal sizes, and what reshapes of dynamic dims come to
B, S, N = (sym(Sym(name, 1, 4096, is_dim=True)) for name in ("batch", "seq", "n"))
K = sym(Sym("k", 4, 4096, 4, is_dim=True))
b, s, f, h, w = (sym(Sym(name, 0, end - 1)) for name, end in
                 (("b", B), ("s", S), ("f", const(384)), ("h", const(12)), ("w", const(32))))
row = (b * S + s) * 384 + f
p = sym(Sym("p", 0, B * S * 384 - 1))
CASES = [
    (row // (S * 384), b, "row // (S*384) is the batch"),
    (row % (S * 384), s * 384 + f, "row % (S*384) is the rest"),
    (row % (S * 384) // 384, s, "then // 384 is the position"),
    (row % 384, f, "row % 384 is the feature"),
    (row // 384, b * S + s, "row // 384 is the token"),
    (((b * S + s) * 12 + h) * 32 + w - row.substitute({}) + f - (h * 32 + w), const(0), "heads split the features"),
    ((h * 32 + w) // 32, h, "feature // 32 is the head"),
    ((h * 32 + w) % 32, w, "feature % 32 is within the head"),
    (((b * 12 + h) * S + s) // (12 * S), b, "(b, h, s) flattened // (12*S)"),
    (((b * 12 + h) * S + s) // S % 12, h, "(b, h, s) flattened // S % 12"),
    (p // 384 * 384 + p % 384, p, "d*(x//d) + x%d is x"),
    (p // 384 // S, p // (384 * S), "x//a//b is x//(a*b)"),
    ((p % (S * 384)) % 384, p % 384, "(x % (S*384)) % 384 is x % 384"),
    ((4 * N + 3) // 8, (N) // 2, "a remainder that cannot carry is dropped"),
    ((N - 1) // 2 + 1, (N + 1) // 2, "two ways to write a strided size"),
    ((N + 2 - 3) // 1 + 1, N, "a convolution of stride 1 that keeps the size"),
    ((2 * N - 2) // 2 + 1, N, "stride 2 of an even size"),
    (K // 4 * 4, K, "a size with divisor 4, divided by 4 and multiplied again"),
    (K % 2, const(0), "a size with divisor 4 is even"),
    ((K * 3 + 1) // 4, K * 3 // 4, "a multiple of 4 and 1, divided by 4"),
    ((B * S * 384) // (B * 384), S, "reshape with -1"),
    (B * (S + N) - B * S, B * N, "past and new sequence"),
    (const(-7) // 2, const(-4), "floor of a negative number"),
    (maximum(N, 0), N, "a size or 0"),
    (minimum(N, N + S), N, "the smaller of ordered sizes"),
    (maximum(N + 1, 5), maximum(4, N) + 1, "a constant outside of a maximum"),
    (minimum(2 * N, 8), 2 * minimum(4, N), "a factor outside of a minimum"),
]
for got, want, name in CASES:
    equal(got, want, name)
pairs = sym(Sym("pairs", 0, 2 * (N // 2) + 1))
for e, name in [(B * S - B, "B*S >= B"), (B * S * 384 - 1 - row, "a flat index is within its size"),
                (S - 1 - s, "s < S"), (B * S - 1 - (b * S + s), "b*S + s < B*S"),
                (S * (B - b) - s - 1, "s < S*(B - b)"),
                (N - (N + 1) // 2, "half a size is within it"), (N - 2 * (N // 2), "x >= 2*(x//2)"),
                (2 * (N // 2) - N + 1, "2*(x//2) >= x - 1"), (K - 4, "a range"), (N * N - 2 * N + 1, "(n - 1)**2"),
                (((N + 7) // 2 - 1) * (K - 2), "a product of a strided size and another"),
                (2 * N - 2 - 2 * (N // 2), "twice n - 1 >= n//2"),
                (N // 16 - pairs // 16, "the panel of a column of pairs"),
                *((m * ((size + m - 1) // m) - size, f"tiles of {m} cover {name}") for m in (2, 4) for size, name in
                  ((N, "n"), (N // 2, "n//2"), ((N + 7) // 8, "an eighth of n"), (K // 2, "half a multiple of 4"),
                   (2 * (K // 4), "twice a quarter of it"), (K // 2 + 2, "half of it and 2"))),
                (4 * ((N + 3) // 4) + 3 - sym(Sym("r", 0, 2 * ((N + 1) // 2) + 3)), "a row of those that tiles cover"),
                (maximum(N, S) - N, "max(n, s) >= n"), (B * (S - minimum(N, S)), "min(n, s) <= s"),
                (N + S - maximum(N, S), "max(n, s) <= n + s"), (minimum(N, S) - 1, "min(n, s) >= 1"),
                (maximum(N, S) - minimum(N, S), "min <= max"), (128 - minimum(128, N) * 1, "min(128, n) <= 128")]:
    ok(is_nonnegative(e), f"proved: {name}")
for e, name in [(S - 2 - s, "s <= S - 2"), (N - B, "n >= batch"), (N - 2, "n >= 2"), (N * N - 3 * N, "n*n >= 3*n"),
                (N // 2 - 1, "n//2 >= 1"), (4 * ((K + 4) // 8) - K // 2 - 1, "tiles of 4 reach beyond k/2"),
                (N - maximum(N, S), "max(n, s) <= n")]:
    ok(not is_nonnegative(e), f"not proved: {name}")
ok(never_equal(2 * N + 1, 2 * B), "odd is never even")
ok(never_equal(N, 0) and not never_equal(N, 1), "a size from 1 is never 0")
ok(never_equal(K, 4 * N + 2), "a multiple of 4 is never 4*n + 2")
ok(not never_equal(2 * N, B), "2*n may be batch")

ok(holds((N + 1) // 2 - 1, [N - 1]) and not holds((N + 1) // 2 - 2, [N - 1]), "half a size, rounded up, from a guard")
ok(holds(3 - 2 * (N // 6), [11 - N]) and not holds(1 - 2 * (N // 6), [11 - N]), "a multiple of a quotient, at most")
ok(holds(2 * (N // 6) - 3, [N - 12]) and not holds(2 * (N // 6) - 3, [N - 11]), "and at least")
ok(holds((N + 5) // 6 - 2, [(N + 2) // 3 - 5]) and not holds((N + 5) // 6 - 4, [(N + 2) // 3 - 5]),
   "a quotient, from a guard of another one of the same size")
ok(holds(3 * N - 6, [N - 2]) and not holds(3 * N - 7, [N - 2]), "a multiple of a guard")

Z = sym(Sym("z", 0, 40, is_dim=True))
one, row_of = sym(Sym("j", 0, 1)), sym(Sym("g", 0, Z - 2))
ok(holds(2 * Z - 3 - one * (Z - 1) - row_of, [Z - 1]) and not holds(2 * Z - 4 - one * (Z - 1) - row_of, [Z - 1]),
   "two rows of a size that a guard keeps from being negative")

ok(holds(Z * sym(DIMS[1]) - 1 - 4 * sym(DIMS[1]) * row_of, [Z - 1 - 4 * row_of]), "a guarded row of several elements")
ok(not holds(Z * sym(DIMS[1]) - 2 - 4 * sym(DIMS[1]) * row_of, [Z - 1 - 4 * row_of]), "and not beyond its end")
left = Z - 16 * sym(Sym("panel", 0, Z // 16)) - sym(Sym("lane", 0, 15))
ok(holds((Z + 1) * left, [left]) and not holds((Z + 1) * left - 1, [left]), "a guarded row of a size and one elements")
ok(holds(2 * Z * Z - 1 - 2 * row_of - one, [Z - 1]), "a row of a square that is not empty")
ok(holds(Z - 1 - 8 * row_of, [2 * Z - 1 - 16 * row_of - one]), "half a guard, rounded up as an integer is")
ok(not holds(Z - 2 - 8 * row_of, [2 * Z - 1 - 16 * row_of - one]), "and no more than that")

drawn = random.Random(11)
symbols = [*DIMS, *LOOPS[:2]]
everywhere = [dict(v) for v in values(symbols)]
kept, wrong = 0, []
for _ in range(1500):
    def polynomial() -> Expr:
        e = const(drawn.randint(-6, 6))
        for _ in range(drawn.randint(1, 3)):
            factors = drawn.sample(symbols, drawn.randint(1, 2))
            term = const(drawn.choice((-4, -2, -1, 1, 2, 3, 4)))
            for s in factors:
                term = term * sym(s)
            e = e + term
        return e

    claim, guard = polynomial(), polynomial()
    claim = drawn.choice((claim, guard * drawn.randint(1, 3) + drawn.randint(-1, 2), (guard + claim * 2)))
    if holds(claim, [guard]):
        kept += 1
        wrong += [(claim, guard) for at in everywhere if guard.evaluate(at) >= 0 and claim.evaluate(at) < 0][:1]
equal(wrong, [], f"what follows from a guard is true wherever the guard is ({kept} claims)")

twins = [Sym("i", 0, 9), Sym("i", 0, 9)]
x, y = (sym(t) // 4 for t in twins)
ok(x * y is y * x and (x + y) - y is x, "divisions of two loop variables of one name stay apart")
again = (sym(twins[0]) * 3 + sym(twins[1])) // 4
ok((sym(twins[0]) * 3 + sym(twins[1])) // 4 is again, "an equal division is the same object")

walk = sym(Sym("i", 0, 4 * Z * Z - 1))
turned = walk + Z * Z - Z + 2 * Z * Z * (walk // (Z * Z)) - 2 * Z * (walk // Z)
ok(is_nonnegative(turned) and is_nonnegative(4 * Z * Z - 1 - turned), "rows counted backwards in a stack of squares")
ok(not is_nonnegative(turned - 1) and not is_nonnegative(4 * Z * Z - 2 - turned), "and no more than that")
shifted = sym(Sym("i", 0, 40))
equal((shifted // 3 + 2) // 4, (shifted + 6) // 12, "a quotient moved and divided again is one division")
tall, flat = Z - 1 - sym(Sym("row", 0, Z + 5)), 4 - sym(Sym("k", 0, 9))
ok(holds(5 * tall + flat, [tall, flat]) and not holds(5 * tall + flat - 1, [tall, flat]),
   "five of one guard and another")

# -- text
for text in ("2*n + batch*seq - 1", "floordiv(n + 1, 2)*batch - 3", "-n", "-3*batch*floordiv(batch*n, 3*seq) + 2", "0",
             "-5",
             "batch*batch - floordiv(floordiv(batch*n + 1, seq), 2)", "max(batch, 2*n) - 3*min(floordiv(n, 2), seq)"):
    names = {e.terms[0][0][0].name: e.terms[0][0][0] for e in (B, S, N)}
    equal(repr(parse(repr(parse(text, names)), names)), repr(parse(text, names)), f"reads what it prints: {text}")
for text in ("", "n +", "(n", "n n", "q", "floordiv(n)", "max(n)", "n @ 2", "1.5", "n//2"):
    raises(ValueError, lambda: parse(text, names), "", f"not an expression: {text!r}")
done()
