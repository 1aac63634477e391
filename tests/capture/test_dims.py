# SPDX-License-Identifier: Apache-2.0
"""Capture's dims in C against symbolic: canonical text, bounds, divisor and proofs of random expressions."""
import random
import subprocess
import sys

import tap
from tensor_compile import symbolic
from tensor_compile.symbolic import Sym, const, sym

DIMS = [("batch", 1, 64, 1), ("seq", 0, 512, 1), ("h", 4, 1024, 4), ("w", 3, 100, 1), ("n", 6, 96, 6)]
SYMS = {name: sym(Sym(name, lo, hi, divisor, True)) for name, lo, hi, divisor in DIMS}


def make(rng: random.Random, depth: int) -> tuple[str, symbolic.Expr]:
    """A random expression: prefix text and value."""
    if depth == 0 or rng.random() < 0.15:
        if rng.random() < 0.4:
            value = rng.choice([0, 1, 2, 3, 4, 5, 7, 8, 12, 16])
            return str(value), const(value)
        name = rng.choice(list(SYMS))
        return name, SYMS[name]
    op = rng.choice("++--**//><")
    a, ea = make(rng, depth - 1)
    if op == "/":
        if rng.random() < 0.8:
            value = rng.choice([1, 2, 3, 4, 6, 8])
            b, eb = str(value), const(value)
        else:
            b = rng.choice(["batch", "h", "n"])
            eb = SYMS[b]
        return f"/ {a} {b}", ea // eb
    b, eb = make(rng, depth - 1)
    if op in "><":
        return f"{op} {a} {b}", symbolic.maximum(ea, eb) if op == ">" else symbolic.minimum(ea, eb)
    return f"{op} {a} {b}", ea + eb if op == "+" else ea - eb if op == "-" else ea * eb


def main() -> int:
    rng = random.Random(7)
    cases = [make(rng, 1 + i % 5) for i in range(3000)]
    text = "".join(f"{n} {lo} {hi} {d}\n" for n, lo, hi, d in DIMS) + "-\n" + "".join(t + "\n" for t, _ in cases)
    done = subprocess.run([sys.argv[1]], input=text, capture_output=True, text=True, timeout=60)
    lines = done.stdout.splitlines()
    tap.equal(done.returncode, 0, "the program ends well")
    tap.equal(len(lines), len(cases), "one line an expression")
    wrong = {"text": [], "proofs, bounds and divisor": []}
    for (prefix, e), line in zip(cases, lines):
        got_text, _, got_rest = line.partition(" | ")
        lo, hi = e.range()
        rest = f"{int(symbolic.is_nonnegative(e))} {lo} {hi} {symbolic.divisor_of(e)} {int(symbolic.never_equal(e, 0))}"
        if got_text != str(e):
            wrong["text"].append((prefix, got_text, str(e)))
        if got_rest != rest and all(abs(v or 0) < 1 << 62 for v in (lo, hi)):
            wrong["proofs, bounds and divisor"].append((prefix, str(e), got_rest, rest))
    for name, found in wrong.items():
        tap.ok(not found, f"{name} of {len(cases)} expressions")
        for item in found[:5]:
            print("#", *item, sep="  ")
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
