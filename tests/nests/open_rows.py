# SPDX-License-Identifier: Apache-2.0
"""Windows of images whose height and width are known when the kernel runs (emit/nests/open_rows.py), on every
instruction set against the direct evaluation, for teams of 1, 2 and 5, between guard zones; a part of them under the
address sanitizer. Each case on two of five instruction sets, on --all of them.

Images of one position, smaller than a part of a row, of several parts, of some positions more; strides, borders wider
than an image; channels last, and lines of an image last: shorter than a vector, of some vectors, and of some positions
more."""
import sys

from harness import run_all
from images import depthwise, lines
from tap import done, ok
from tensor_compile.emit.kernels import emit_kernel

everything = "--all" in sys.argv
general = ("9x9", "8x8", " of 64, 16 ")    # many terms, or none at a border
walked = [case for case in lines(opened=True) if case.sizes and not any(part in case.name for part in general)]
cases = depthwise(opened=True) + walked[::1 if everything else 5]
for case in cases:
    text = emit_kernel(case.kernel, "avx512").text
    ok("for (tc_index at" in text, f"{case.name}: rows are walked by pieces")
run_all(cases, everywhere=everything)
run_all(cases[:: 3 if everything else 11], sanitize=True, isas=("avx512", "avx2"))
done()
