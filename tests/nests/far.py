# SPDX-License-Identifier: Apache-2.0
"""What is done where tensors are larger than caches, on small ones: rows are fetched ahead, results are stored past the
caches. And quotients by one number."""
from dataclasses import replace

from harness import Case, buffer, loop, run_all
from tap import done, ok
from tensor_compile.emit.nests import far
from tensor_compile.emit.kernels import emit_kernel
from tensor_compile.loops.loop_ir import ALONE, ALWAYS, Phase, RowReduce, Store
from tensor_compile.loops.scalar_ir import Local, Reduction
from tensor_compile.symbolic import sym
from writing import load, op, small

far.FAR, far.NEAR = 1 << 10, 1 << 4


def quotients(m: int, n: int) -> Case:
    """Each row divided by its sum."""
    r, a, b = loop("r", m), loop("v", n), loop("v", n)
    x, y = (buffer(name, "f32", (m, n), kind) for name, kind in (("x", "input"), ("y", "output")))
    phases = [Phase((a,), (RowReduce("s", "sum", "lanes", load("x", sym(r), sym(a)), "f32"),)),
              Phase((b,), (), (Store("y", (sym(r), sym(b)), op("div", load("x", sym(r), sym(b)), Local("s", "f32"))),))]
    return small(f"quotients {m} x {n}", (r,), phases, (x, y))


def columns(m: int, n: int, k: int) -> Case:
    """Sums of columns in each row, times the sum of another one."""
    r, a, b, c = loop("r", m), loop("v", n), loop("v", n), loop("k", k)
    x, w, y = buffer("x", "f32", (m, k, n), "input"), buffer("w", "f32", (m, n), "input"), buffer("y", "f32", (m, n),
                                                                                                  "output")
    total = Reduction("sum", "lanes", "f32", (c,), load("x", sym(r), sym(c), sym(b)))
    phases = [Phase((a,), (RowReduce("s", "sum", "lanes", load("w", sym(r), sym(a)), "f32"),)),
              Phase((b,), (), (Store("y", (sym(r), sym(b)), op("mul", total, Local("s", "f32"))),))]
    return small(f"columns {m} x {k} x {n}", (r,), phases, (x, w, y))


def turned(m: int, n: int) -> Case:
    """A matrix where its columns are rows."""
    r, v = loop("r", n), loop("v", m)
    x, y = buffer("x", "f32", (m, n), "input"), buffer("y", "f32", (n, m), "output")
    phase = Phase((v,), (), (Store("y", (sym(r), sym(v)), load("x", sym(v), sym(r))),))
    return small(f"turn {m} x {n}", (r,), [phase], (x, y))


def flat(m: int, n: int, stored: str, between: int = 0) -> Case:
    """Sums of two matrices, stored past the caches by whom `stored` says. between: elements from row to row more."""
    r, v = loop("r", m), loop("v", n)
    x, w = (buffer(name, "f32", (m, n), "input") for name in ("x", "w"))
    y = buffer("y", "f32", (m, n + between), "output")
    value = op("add", load("x", sym(r), sym(v)), load("w", sym(r), sym(v)))
    case = small(f"sums {m} x {n} {stored}", (r,), [Phase((v,), (), (Store("y", (sym(r), sym(v)), value),))], (x, w, y))
    return replace(case, kernel=replace(case.kernel, far=stored))


whole, ragged, sums = quotients(37, 48), quotients(37, 40), columns(18, 32, 3)
lines, no_lines = turned(48, 37), turned(40, 37)
added, added_alone, added_tail = flat(37, 48, ALWAYS), flat(21, 2096, ALONE), flat(9, 1051, ALWAYS, 5)
added_apart = flat(37, 40, ALWAYS)
for isa in ("avx2", "avx512"):
    text = emit_kernel(whole.kernel, isa).text
    ok("tcv_stream_f32" in text and "tcv_stream_end" in text, f"{isa}: rows of whole lines pass the caches by")
    ok("__builtin_prefetch" in text and "tcv_div_by_f32" in text, f"{isa}: the next rows are fetched")
    ok("tcv_stream_end" in emit_kernel(lines.kernel, isa).text, f"{isa}: so do whole lines of a matrix that is turned")
    ok("tcv_stream" not in emit_kernel(no_lines.kernel, isa).text, f"{isa}: other lines of one do not")
    ok("tcv_stream" not in emit_kernel(ragged.kernel, isa).text, f"{isa}: rows of other lengths do not")
    text = emit_kernel(added.kernel, isa).text
    ok("far = ((uintptr_t)" in text and "tcv_stream_f32" in text and "tcv_stream_end" in text,
       f"{isa}: so do rows without reductions that were chosen")
    ok("far = threads == 1 &&" in emit_kernel(added_alone.kernel, isa).text, f"{isa}: or where a thread is alone")
    ok("tcv_stream" not in emit_kernel(added_apart.kernel, isa).text, f"{isa}: but not where rows begin within lines")
run_all([whole, ragged, sums, lines, no_lines, added, added_alone, added_apart, added_tail])
done()
