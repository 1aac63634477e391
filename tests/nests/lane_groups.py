# SPDX-License-Identifier: Apache-2.0
"""Convolutions of few channels a group, lanes across groups (emit/nests/lane_groups.py), on every instruction set
against the direct evaluation, for teams of 1, 2 and 5, between guard zones; a part of them under the address sanitizer.
Each case on two of five instruction sets, on --all of them.

Groups that fill 16 lanes, some that are left, fewer than a block, blocks that teams share; all numbers of results a
group; operands a group of quads, of parts of one, fewer and more than results; strides, dilation, borders that reach
several parts, windows of a line and of one term, positions of one part and of several; the same where height and width
are known when the kernel runs."""
import itertools
import sys

from harness import buffer, Case, loop, run_all
from tap import done, ok
from tensor_compile.emit.kernels import emit_kernel
from tensor_compile.loops.loop_ir import Phase, Store
from tensor_compile.loops.scalar_ir import Reduction
from tensor_compile.symbolic import Sym, ZERO, const, floordiv, sym
from writing import f32, load, op, sized, small

# groups, operands and results of each, height, width, window, stride, dilation, padding
CASES = [(4, 4, 4, 3, 19, (3, 3), 1, 1, 1), (8, 2, 2, 3, 9, (3, 3), 1, 1, 1), (2, 8, 8, 4, 9, (3, 3), 1, 1, 1),
         (5, 4, 4, 3, 17, (3, 3), 2, 1, 1), (3, 8, 8, 3, 7, (3, 3), 2, 1, 1), (9, 2, 2, 4, 8, (3, 2), 1, 1, 1),
         (32, 4, 4, 2, 3, (3, 3), 1, 1, 1), (64, 2, 2, 2, 3, (2, 2), 1, 1, 0), (24, 8, 8, 1, 2, (1, 3), 1, 1, 1),
         (2, 12, 12, 2, 8, (3, 3), 1, 1, 1), (3, 6, 6, 3, 9, (3, 3), 1, 1, 1), (7, 3, 3, 3, 9, (3, 3), 1, 2, 2),
         (4, 5, 5, 3, 10, (3, 3), 2, 1, 1), (5, 7, 7, 2, 9, (2, 3), 1, 1, 1), (2, 9, 9, 2, 5, (1, 1), 1, 1, 0),
         (3, 1, 2, 5, 11, (3, 3), 1, 1, 1), (17, 1, 4, 2, 9, (2, 3), 1, 1, 1), (3, 3, 8, 2, 9, (2, 3), 1, 1, 1),
         (4, 2, 4, 2, 9, (2, 3), 2, 1, 1), (5, 24, 4, 2, 5, (1, 3), 1, 1, 1), (4, 22, 8, 2, 5, (1, 2), 1, 1, 0),
         (9, 4, 2, 2, 9, (1, 3), 1, 1, 1), (6, 8, 2, 2, 7, (2, 2), 1, 1, 0), (5, 7, 4, 2, 7, (2, 3), 1, 1, 1),
         (3, 5, 8, 2, 9, (2, 3), 1, 1, 0), (4, 4, 4, 3, 20, (3, 5), 1, 2, 4), (2, 8, 8, 1, 33, (1, 9), 1, 1, 4),
         (4, 4, 4, 5, 16, (1, 1), 1, 1, 0), (8, 4, 4, 5, 15, (1, 1), 2, 1, 0), (4, 4, 4, 9, 1, (3, 1), 1, 1, 1),
         (4, 4, 4, 2, 6, (3, 7), 1, 1, 3), (6, 4, 4, 1, 12, (1, 4), 3, 2, 2), (3, 13, 11, 2, 4, (1, 2), 1, 1, 1),
         (2, 10, 15, 2, 4, (2, 2), 1, 1, 1), (2, 16, 14, 1, 5, (1, 3), 1, 1, 1), (11, 1, 3, 2, 9, (2, 2), 1, 1, 1)]


def convolution(groups: int, ins: int, outs: int, h: int, w: int, window: tuple, stride: int, dilation: int, pad: int,
                images: int = 1, opened: bool = False) -> Case:
    """As the schedule leaves it: a variable of the groups, one of a group's results; none of one position or term.
    opened: height and width are dims."""
    high, wide = pad if h > 1 or opened else 0, pad if w > 1 or opened else 0
    (height, of_h, is_h), (width, of_w, is_w) = sized("h", h, opened), sized("w", w, opened)
    rows, columns = (floordiv(size + (2 * pad - dilation * (terms - 1) - 1), const(stride)) + 1
                     for size, pad, terms in ((height, high, window[0]), (width, wide, window[1])))
    sizes = {"n": const(images), "r": rows, "p": columns}
    loops = {name: loop(name, size) for name, size in sizes.items() if size != const(1)}
    n, r, p = (sym(loops[name]) if name in loops else ZERO for name in sizes)
    g, o = loop("g", groups), loop("o", outs)
    terms = [Sym(name, 0, size - 1) if size > 1 else None for name, size in zip("ijc", (*window, ins), strict=True)]
    i, j, c = (sym(s) if s is not None else ZERO for s in terms)
    row, column = r * stride + i * dilation - high, p * stride + j * dilation - wide
    channels = groups * outs
    x, y = buffer("x", "f32", (images, height, width, groups * ins), "input"), \
        buffer("y", "f32", (images, rows, columns, channels), "output")
    k, b = buffer("k", "f32", (*window, ins, channels), "packed"), buffer("b", "f32", (channels,), "packed")
    inside = ((row, height - 1 - row) if high else ()) + ((column, width - 1 - column) if wide else ())
    here = sym(g) * outs + sym(o)
    term = op("pair", load("x", n, row, column, sym(g) * ins + c), load("k", i, j, c, here))
    total = Reduction("dot", "seq", "f32", tuple(s for s in terms if s is not None), term, inside)
    value = op("maximum", op("add", total, load("b", here)), f32(-0.5))
    name = f"{groups} groups of {ins} and {outs}, {window[0]}x{window[1]}/{stride} by {dilation} of " \
           f"{images}x{h}x{w}, padding {pad}{', dynamic' * opened}"
    return small(name, (*loops.values(), g), [Phase((o,), (), (Store("y", (n, r, p, here), value),))], (x, k, b, y),
                 (*of_h, *of_w), is_h | is_w)


def all_cases() -> list[Case]:
    out = [convolution(*sizes) for sizes in CASES]
    out += [convolution(4, 4, 4, 2, 5, (2, 3), 1, 1, 1, images=2),
            convolution(6, 2, 2, 1, 1, (1, 1), 1, 1, 0, images=9)]
    for ins, outs in itertools.product((1, 2, 3, 4, 5, 8, 11), (2, 3, 4, 6, 8)):
        out.append(convolution(2 + (ins * outs) % 6, ins, outs, 2, 7, (2, 2), 1, 1, 1))
    out += [convolution(*sizes, opened=True) for sizes in CASES[::2] if sizes[3] > 1 and sizes[4] > 1]
    out += [convolution(5, 4, 4, 2, w, (3, 3), stride, dilation, dilation, images=2, opened=True)
            for w, stride, dilation in ((1, 1, 1), (2, 2, 1), (3, 1, 3), (4, 1, 1), (9, 2, 1), (16, 1, 3), (40, 1, 1))]
    return out


cases = all_cases()
for case in cases:
    text = emit_kernel(case.kernel, "avx512").text
    ok('#include "tc_groups.h"' in text, f"{case.name}: lanes are of several groups")
everything = "--all" in sys.argv
run_all(cases, everywhere=everything)
run_all(cases[:: 3 if everything else 9], sanitize=True, isas=("avx512", "avx2"))
done()
