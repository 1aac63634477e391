# SPDX-License-Identifier: Apache-2.0
"""Convolutions of few output channels whose lanes follow a line of the image (emit/nests/few_outputs.py), on every
instruction set against the direct evaluation, for teams of 1, 2 and 5, between guard zones; a part of them under the
address sanitizer. Each case on two of five instruction sets, on --all of them.

All numbers of output channels, alone and of groups, and more of few terms, in blocks; lines of a part of a vector, of
one, of some, of several blocks; borders on both sides and on one, wider than a vector's rest, windows of one term and
of one row, strides, dilation, several images, what lies where results are stored; windows whose terms along the line
are the outermost ones, as of an image that was transposed; the same where height and width are known when the kernel
runs."""
import sys

from cases import buffer, Case, f32, load, loop, op, Phase, Reduction, small, Store, Sym, sym
from harness import run_all
from tap import done, equal, ok
from tensor_compile.emit.kernels import emit_kernel
from tensor_compile.symbolic import ZERO, const, floordiv
from writing import sized

# groups, operands and results of each, height, width, window, stride, dilation, padding on the left, on the right
CASES = [(1, 5, 3, 4, 20, (3, 3), 1, 1, 1, 1), (1, 3, 1, 4, 50, (3, 3), 1, 1, 1, 1),
         (1, 4, 2, 3, 16, (3, 3), 1, 1, 1, 1), (1, 2, 4, 3, 130, (3, 3), 1, 1, 1, 1),
         (1, 2, 3, 2, 400, (3, 3), 1, 1, 1, 1), (1, 3, 1, 2, 300, (1, 5), 1, 1, 2, 2),
         (1, 7, 3, 5, 40, (1, 1), 1, 1, 0, 0), (1, 7, 1, 5, 40, (1, 1), 1, 1, 0, 0),
         (1, 2, 3, 12, 33, (9, 9), 1, 1, 4, 4), (1, 3, 3, 4, 37, (3, 3), 1, 2, 2, 2),
         (1, 3, 2, 4, 37, (3, 3), 1, 2, 0, 4), (1, 3, 2, 3, 37, (2, 3), 1, 1, 2, 0),
         (1, 4, 3, 5, 9, (3, 3), 1, 1, 1, 1), (1, 1, 3, 5, 35, (3, 3), 1, 1, 1, 1),
         (1, 1, 1, 3, 35, (3, 3), 1, 1, 1, 1), (1, 3, 3, 5, 70, (3, 3), 2, 1, 1, 1),
         (1, 3, 1, 5, 66, (3, 3), 2, 1, 1, 0), (1, 2, 3, 3, 50, (1, 3), 1, 12, 12, 12),
         (3, 4, 4, 4, 20, (3, 3), 1, 1, 1, 1), (2, 8, 8, 3, 28, (3, 3), 1, 1, 1, 1),
         (4, 2, 2, 3, 60, (3, 3), 1, 1, 1, 1), (2, 3, 5, 4, 33, (3, 3), 2, 1, 1, 1),
         (2, 1, 6, 3, 40, (2, 3), 1, 1, 1, 1), (2, 5, 7, 3, 14, (3, 3), 1, 1, 1, 1)]


def convolution(groups: int, ins: int, outs: int, h: int, w: int, window: tuple, stride: int, dilation: int, left: int,
                right: int, images: int = 1, added: bool = False, turned: bool = False, opened: bool = False) -> Case:
    """As the schedule leaves it: a variable of the groups, one of a group's results; none of one of them. added:
    something that lies as the results do is. turned: terms along a line are outside of those across lines. opened:
    height and width are dims."""
    high = dilation * (window[0] - 1) // 2
    (height, of_h, is_h), (width, of_w, is_w) = sized("h", h, opened), sized("w", w, opened)
    rows, columns = (floordiv(size + (pad - dilation * (terms - 1) - 1), const(stride)) + 1
                     for size, pad, terms in ((height, 2 * high, window[0]), (width, left + right, window[1])))
    sizes = {"n": const(images), "g": const(groups), "o": const(outs), "r": rows}
    loops = {name: loop(name, size) for name, size in sizes.items() if size != const(1)}
    n, g, o, r = (sym(loops[name]) if name in loops else ZERO for name in sizes)
    p = loop("p", columns)
    order = "jic" if turned else "ijc"
    found = {name: Sym(name, 0, size - 1) for name, size in zip("ijc", (*window, ins), strict=True) if size > 1}
    i, j, c = (sym(found[name]) if name in found else ZERO for name in "ijc")
    row, column = r * stride + i * dilation - high, sym(p) * stride + j * dilation - left
    x, y = buffer("x", "f32", (images, groups * ins, height, width), "input"), \
        buffer("y", "f32", (images, groups * outs, rows, columns), "output")
    k = buffer("k", "f32", (*window, ins, groups * outs), "packed")
    b, z = buffer("b", "f32", (groups * outs,), "packed"), buffer("z", "f32", y.shape, "input")
    inside = ((row, height - 1 - row) if high else ()) + ((column, width - 1 - column) if left or right else ())
    here = g * outs + o
    at = (n, here, r, sym(p))
    term = op("pair", load("x", n, g * ins + c, row, column), load("k", i, j, c, here))
    total = Reduction("dot", "seq", "f32", tuple(found[name] for name in order if name in found), term, inside)
    value = op("add", total, load("b", here))
    value = op("add", value, load("z", *at)) if added else op("maximum", value, f32(-0.5))
    name = f"{groups} groups of {ins} and {outs}, {window[0]}x{window[1]}/{stride} by {dilation} of " \
           f"{images}x{h}x{w}, padding {left} and {right}{', added' if added else ''}{', turned' if turned else ''}" \
           f"{', dynamic' * opened}"
    return small(name, tuple(loops.values()), [Phase((p,), (), (Store("y", at, value),))],
                 (x, k, b, z, y) if added else (x, k, b, y), (*of_h, *of_w), is_h | is_w)


def shuffled(ins: int, down: int, across: int, h: int, w: int) -> Case:
    """Whose output channels become positions beside and below each other."""
    i, a, r, p = loop("i", down), loop("a", across), loop("r", h), loop("p", w)
    terms = tuple(Sym(name, 0, size - 1) for name, size in (("y", 3), ("x", 3), ("c", ins)))
    s, t, c = map(sym, terms)
    below, beside = (sym(v) if v.hi != ZERO else ZERO for v in (i, a))
    row, column, here = sym(r) + s - 1, sym(p) + t - 1, below * across + beside
    x, k = buffer("x", "f32", (ins, h, w), "input"), buffer("k", "f32", (3, 3, ins, down * across), "packed")
    b, y = buffer("b", "f32", (down * across,), "packed"), buffer("y", "f32", (h * down, w * across), "output")
    term = op("pair", load("x", c, row, column), load("k", s, t, c, here))
    total = Reduction("dot", "seq", "f32", terms, term, (row, h - 1 - row, column, w - 1 - column))
    at = (sym(r) * down + below, sym(p) * across + beside)
    return small(f"{ins} channels to {down}x{across} positions of {h}x{w}", (r, *(v for v in (i, a) if v.hi != ZERO)),
                 [Phase((p,), (), (Store("y", at, op("add", total, load("b", here))),))], (x, k, b, y))


cases = [convolution(*sizes) for sizes in CASES]
cases += [convolution(1, 3, outs, 3, 45, (3, 3), 1, 1, 1, 1, images=2, added=added) for outs in range(1, 9)
          for added in (False, True)]
cases += [convolution(1, 3, outs, 3, width, (3, 3), 1, 1, 1, 1, images=2, added=added)    # blocks of some of these
          for outs, width in ((16, 45), (24, 20), (64, 300)) for added in (False, True)]
cases += [convolution(1, 1, 40, 4, 37, (5, 5), 1, 1, 2, 2), convolution(1, 3, 16, 3, 33, (1, 1), 1, 1, 0, 0),
          convolution(2, 3, 16, 3, 28, (3, 3), 1, 1, 1, 1), convolution(1, 2, 16, 5, 70, (3, 3), 2, 1, 1, 1)]
cases += [convolution(*sizes, turned=True) for sizes in ((1, 2, 3, 12, 33, (9, 9), 1, 1, 4, 4),
                                                         (1, 3, 1, 4, 50, (3, 3), 1, 1, 1, 1),
                                                         (1, 1, 3, 5, 35, (2, 3), 2, 1, 1, 1))]
cases += [convolution(*sizes, opened=True) for sizes in CASES[::2]]
cases += [convolution(1, 3, outs, 3, width, (3, 3), stride, 1, 1, 1, images=2, added=added, opened=True)
          for outs, width, stride, added in ((1, 1, 1, True), (2, 2, 1, False), (3, 3, 2, True), (8, 15, 1, False),
                                             (5, 16, 1, True), (4, 17, 1, False), (1, 31, 2, True), (7, 32, 1, True),
                                             (2, 600, 1, True), (16, 45, 1, True), (24, 20, 1, False))]
cases += [convolution(1, 2, 3, 12, 33, (9, 9), 1, 1, 4, 4, turned=True, opened=True),
          convolution(1, 2, 2, 3, 1100, (3, 3), 1, 1, 1, 1, opened=True)]
cases += [shuffled(*sizes) for sizes in ((3, 2, 2, 3, 20), (2, 1, 3, 2, 33), (5, 2, 4, 3, 17))]
for case in cases:
    text = emit_kernel(case.kernel, "avx512").text
    ok("tcv_fma_f32(x" in text, f"{case.name}: an element is loaded once for all output channels")
for other, why in ((convolution(3, 1, 1, 3, 40, (3, 3), 1, 1, 1, 1), "depthwise"),
                   (convolution(1, 3, 9, 3, 40, (3, 3), 1, 1, 1, 1), "of more output channels, no whole blocks"),
                   (convolution(1, 4, 16, 3, 40, (3, 3), 1, 1, 1, 1), "of more output channels, of many terms"),
                   (convolution(2, 3, 4, 3, 40, (1, 1), 1, 1, 0, 0), "of groups and one term of the window")):
    equal("tcv_fma_f32(x" in emit_kernel(other.kernel, "avx512").text, False, f"not where it is {why}")
everything = "--all" in sys.argv
run_all(cases, everywhere=everything)
run_all(cases[:: 3 if everything else 9], sanitize=True, isas=("avx512", "avx2"))
done()
