# SPDX-License-Identifier: Apache-2.0
"""Convolutions of few output channels (loops/few_outputs.py), lanes along lines (emit/nests/few_outputs.py), the
channels of a line of the image side by side or plane by plane, on every instruction set against the direct evaluation,
for teams of 1, 2 and 5, between guard zones; a part of them under the address sanitizer. Each case on two of five
instruction sets, on --all of them.

One channel to eight, tiles that split them; lines of one vector, of several, of tiles that are alike, of what is left;
padding on one side, on both, as wide as a vector and wider; dilations, windows of a line, of one term a channel, one
channel of the image; lines side by side and plane by plane; something that is added; several sums of a position."""
import sys

from cases import buffer, Case, f32, load, loop, op, Phase, Reduction, small, Store, Sym, sym
from harness import run_all
from tap import done, ok
from tensor_compile.emit.nests import few_outputs
from tensor_compile.instruction_sets import instruction_set
from tensor_compile.symbolic import ZERO, const

# channels of the image, results, height, width, window, dilation, padding low and high; images
CASES = [(5, 3, 4, 16, (3, 3), 1, 1, 1, 1), (5, 3, 4, 17, (3, 3), 1, 1, 1, 2), (4, 1, 3, 33, (3, 3), 1, 1, 1, 1),
         (3, 2, 3, 40, (5, 5), 1, 2, 2, 1), (6, 4, 2, 31, (1, 1), 1, 0, 0, 3), (2, 8, 3, 50, (3, 3), 1, 1, 1, 1),
         (1, 3, 4, 19, (3, 3), 1, 1, 1, 1), (1, 1, 3, 24, (1, 9), 1, 4, 4, 1), (7, 5, 2, 64, (1, 3), 2, 2, 2, 1),
         (3, 7, 3, 130, (3, 3), 1, 1, 1, 1), (2, 3, 2, 300, (2, 2), 1, 0, 0, 1), (4, 3, 2, 20, (3, 5), 8, 16, 16, 1),
         (3, 2, 2, 18, (1, 3), 17, 17, 17, 1), (3, 3, 3, 22, (3, 3), 1, 2, 0, 1), (3, 6, 3, 22, (3, 3), 1, 0, 2, 1),
         (5, 2, 1, 16, (1, 1), 1, 0, 0, 1), (9, 1, 2, 225, (1, 1), 1, 0, 0, 1), (2, 3, 5, 29, (5, 1), 1, 2, 2, 1)]


def convolution(ins: int, outs: int, h: int, w: int, window: tuple, dilation: int, low: int, high: int, images: int,
                planes: bool = False, added: bool = False, sums: int = 1) -> Case:
    """As the schedule leaves it: the positions of a line innermost; no variable of what there is one of."""
    sides = [(low, high) if n > 1 else (0, 0) for n in window]
    rows, columns = (n + sum(side) - dilation * (k - 1)
                     for n, side, k in zip((h, w), sides, window, strict=True))
    sizes = {"n": images, "o": outs, "r": rows}
    loops = {name: loop(name, size) for name, size in sizes.items() if size > 1}
    n, o, r = (sym(loops[name]) if name in loops else ZERO for name in sizes)
    p = loop("p", columns)
    terms = [Sym(name, 0, size - 1) if size > 1 else None for name, size in zip("ijc", (*window, ins), strict=True)]
    i, j, c = (sym(s) if s is not None else ZERO for s in terms)
    row, column = r + i * dilation - sides[0][0], sym(p) + j * dilation - sides[1][0]
    inside = ((row, const(h - 1) - row) if any(sides[0]) else ()) \
        + ((column, const(w - 1) - column) if any(sides[1]) else ())
    x = buffer("x", "f32", (images, ins, h, w) if planes else (images, h, ins, w), "input")
    y, b = buffer("y", "f32", (images, outs, rows, columns), "output"), buffer("b", "f32", (outs,), "packed")
    weights = [buffer(f"k{number}", "f32", (*window, ins, outs), "packed") for number in range(sums)]
    element = load("x", n, c, row, column) if planes else load("x", n, row, c, column)
    total = load("b", o)
    for k in weights:
        term = op("pair", element, load(k.name, i, j, c, o))
        total = op("add", total, Reduction("dot", "seq", "f32", tuple(s for s in terms if s is not None), term, inside))
    if added:
        total = op("add", total, load("a", n, o, r, sym(p)))
    form = f"{', planes' if planes else ''}{', added' if added else ''}{f', {sums} sums' if sums > 1 else ''}"
    name = f"{ins} to {outs} channels, {window[0]}x{window[1]} by {dilation} of {images}x{h}x{w}, padding {low} " \
           f"{high}{form}"
    return small(name, tuple(loops.values()),
                 [Phase((p,), (), (Store("y", (n, o, r, sym(p)), op("maximum", total, f32(-0.5))),))],
                 (x, *weights, b, *([buffer("a", "f32", y.shape, "input")] if added else []), y))


def all_cases() -> list[Case]:
    out = [convolution(*sizes) for sizes in CASES]
    out += [convolution(*sizes, planes=True) for sizes in CASES[:4]]
    out += [convolution(*sizes, added=True) for sizes in CASES[1:4]]
    return out + [convolution(*CASES[1], sums=2), convolution(*CASES[5], sums=3)]


cases = all_cases()
for case in cases:
    ok(few_outputs.find(case.kernel, instruction_set("avx512")), f"{case.name}: lanes are positions of a line")
everything = "--all" in sys.argv
run_all(cases, everywhere=everything)
run_all(cases[:: 3 if everything else 7], sanitize=True, isas=("avx512", "avx2"))
done()
