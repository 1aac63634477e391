# SPDX-License-Identifier: Apache-2.0
"""Windows of images whose height and width are known when the kernel runs (emit/nests/open_rows.py), on every
instruction set against the direct evaluation, for teams of 1, 2 and 5, between guard zones; a part of them under the
address sanitizer. Each case on two of five instruction sets, on --all of them.

Images of one position, smaller than a part of a row, of several parts, of some positions more; strides, borders wider
than an image; channels last, and lines of an image last: shorter than a vector, of some vectors, and of some positions
more; lines in two parts, whose first positions alone are at the border."""
import sys

from harness import Case, run_all
from images import depthwise, lines
from tap import done, ok
from tensor_compile.emit.kernels import emit_kernel
from tensor_compile.loops.loop_ir import Phase, Store
from tensor_compile.loops.scalar_ir import Reduction
from tensor_compile.symbolic import Sym, sym
from writing import buffer, dim, load, loop, op, small


def in_two_parts(width: int) -> Case:
    """A padded 3x3 window of lines of 2 * width positions, whose results are stored part by part."""
    w = dim("w")
    c, r, part, v = loop("c", 3), loop("r", 4), loop("part", 2), loop("v", sym(w))
    i, j = Sym("i", 0, 2), Sym("j", 0, 2)
    row, column = sym(r) + sym(i) - 1, sym(part) * sym(w) + sym(v) + sym(j) - 1
    x, k = buffer("x", "f32", (3, 4, sym(w) * 2), "input"), buffer("k", "f32", (3, 3, 3), "packed")
    y = buffer("y", "f32", (3, 2, 4, sym(w)), "output")
    term = op("pair", load("x", sym(c), row, column), load("k", sym(c), sym(i), sym(j)))
    total = Reduction("dot", "seq", "f32", (i, j), term, (row, 3 - row, column, sym(w) * 2 - 1 - column))
    store = Store("y", (sym(c), sym(part), sym(r), sym(v)), total)
    return small(f"lines in two parts of {width}", (c, part, r), [Phase((v,), (), (store,))], (x, k, y), (w,),
                 {w: width})



everything = "--all" in sys.argv
general = ("9x9", "8x8", " of 64, 16 ")    # many terms, or none at a border
walked = [case for case in lines(opened=True) if case.sizes and not any(part in case.name for part in general)]
cases = depthwise(opened=True) + walked[::1 if everything else 5]
parts = [in_two_parts(width) for width in (5, 16, 17, 40)]
for case in cases:
    text = emit_kernel(case.kernel, "avx512").text
    ok("for (tc_index at" in text, f"{case.name}: rows are walked by pieces")
run_all(cases + parts, everywhere=everything)
run_all(cases[:: 3 if everything else 11], sanitize=True, isas=("avx512", "avx2"))
run_all(parts, sanitize=True, isas=("avx512", "avx2"))
done()
