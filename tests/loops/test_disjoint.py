# SPDX-License-Identifier: Apache-2.0
"""Proofs that no two points of a loop nest touch one element, against the elements that they do touch."""
from __future__ import annotations

import random
from itertools import product

from tap import done, equal, ok
from tensor_compile.loops.disjoint import apart, one_to_one
from tensor_compile.loops.scalar_ir import Buffer, row_major
from tensor_compile.symbolic import Expr, Sym, sym, wrap

EXTENTS = (2, 3, 4, 6, 7, 8, 16)
drawn = random.Random(5)


def buffer(shape: tuple[int, ...]) -> Buffer:
    sizes = tuple(wrap(n) for n in shape)
    return Buffer("y", "f32", sizes, row_major(sizes), "output")


def touched_once(b: Buffer, index: tuple[Expr, ...], variables: tuple[Sym, ...]) -> bool:
    address = b.address(index)
    places = [address.evaluate(dict(zip(variables, at))) for at in product(*(range(int(s.hi) + 1) for s in variables))]
    return len(set(places)) == len(places)


i, j, k = Sym("i", 0, 6), Sym("j", 0, 15), Sym("k", 0, 32)
run = 16 * sym(i) + sym(j)
turned = (run - 7 * (run // 7), sym(k), run // 7)
ok(one_to_one(buffer((7, 33, 16)), turned, (i, j, k)), "a run of two loops, parted as remainder and quotient")
ok(not one_to_one(buffer((7, 33, 16)), (turned[0], sym(k), wrap(0)), (i, j, k)), "the remainder alone is not enough")
ok(not one_to_one(buffer((7, 33, 16)), (turned[0], sym(k), (run + 1) // 7), (i, j, k)), "nor with another quotient")

proved, wrong, missed = 0, [], 0
for _ in range(600):
    variables = tuple(Sym(f"v{n}", 0, drawn.choice(EXTENTS) - 1) for n in range(drawn.randint(1, 3)))
    steps, at = [], 1
    for s in variables:
        steps.append(at)
        at *= int(s.hi) + 1 if drawn.random() < 0.8 else drawn.choice(EXTENTS)
    position = sum((sym(s) * c for s, c in zip(variables, steps)), wrap(drawn.choice((0, 0, 1))))
    inner = drawn.choice(EXTENTS)
    quotient = (position + drawn.choice((0, 0, 0, 1))) // inner
    parts = [position - inner * (position // inner), quotient]
    drawn.shuffle(parts)
    b = buffer(tuple(64 * inner if part is quotient else inner for part in parts))
    truth, claim = touched_once(b, tuple(parts), variables), one_to_one(b, tuple(parts), variables)
    proved += claim
    missed += truth and not claim
    wrong += [(parts, variables)] if claim and not truth else []
equal(wrong, [], f"what is proved is true ({proved} proofs, {missed} not found)")
ok(proved > 150, "proofs are found")

n = Sym("n", 1, 5, is_dim=True)
N = sym(n)
turn = Sym("i", 0, 2 * N * N - 1)
digits = (sym(turn) - N * (sym(turn) // N), sym(turn) // N - 2 * (sym(turn) // (2 * N)), sym(turn) // (2 * N))
sizes = (N, wrap(2), N)
ok(one_to_one(Buffer("y", "f32", sizes, row_major(sizes), "output"), digits, (turn,)),
   "three digits of one loop, stored the other way round")
ok(one_to_one(buffer((16, 8, 0)), (sym(i), sym(j), wrap(0)), (i, j)), "nothing is stored twice where there is nothing")

height = sym(Sym("height", 1, 128, is_dim=True))
width = sym(Sym("width", 8, 512, divisor=8, is_dim=True)) // 4
sizes = (wrap(32), 2 * height, 2 * width)
image = Buffer("y", "f32", sizes, row_major(sizes), "output")
channel, row = Sym("channel", 0, 31), Sym("row", 0, height - 1)
place, half = Sym("place", 0, width - 1), Sym("half", 0, 1)
for count, right in ((2, True), (3, False)):
    below = Sym("row", 0, count - 1)
    equal(one_to_one(image, (sym(channel), 2 * sym(row) + sym(below), 2 * sym(place) + sym(half)),
                     (channel, row, below, place, half)), right,
          f"{'pairs' if right else 'threes'} of rows of an open image: one steps by its size, one by parts of it")

column = Sym("column", 0, N - 1)
ok(apart((3 * N * sym(i) + sym(column),), (3 * N * sym(j) + sym(column) + N,)), "parts of rows whose length is a size")
ok(not apart((3 * N * sym(i) + sym(column),), (3 * N * sym(j) + sym(column) + N - 1,)), "that share an element")
found, wrong, missed = 0, [], 0
for _ in range(3000):
    def walked() -> tuple[Expr, set[int]]:
        """An index of up to three loops, and its values."""
        loops = [Sym(f"v{n}", 0, drawn.choice(EXTENTS) - 1) for n in range(drawn.randint(1, 3))]
        steps = [drawn.choice((1, 2, 6, 12, 12, 24)) for _ in loops]
        e = sum((sym(s) * c for s, c in zip(loops, steps)), wrap(drawn.randint(0, 12)))
        return e, {int(e.evaluate(dict(zip(loops, at)))) for at in product(*(range(int(s.hi) + 1) for s in loops))}

    (a, of_a), (b, of_b) = walked(), walked()
    claim = apart((a,), (b,))
    found += claim
    missed += not claim and not of_a & of_b
    wrong += [(a, b)] if claim and of_a & of_b else []
equal(wrong, [], f"indices that are proved apart have no value in common ({found} proofs, {missed} not found)")
ok(found > 200, "and proofs are found")
done()
