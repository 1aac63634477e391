# SPDX-License-Identifier: Apache-2.0
"""What is done where tensors are larger than caches, on small ones: rows are fetched ahead, results are stored past the
caches. And quotients by one number."""
from harness import Case, buffer, loop, run_all
from tap import done, ok
from tensor_compile.emit.nests import far
from tensor_compile.emit.kernels import emit_kernel
from tensor_compile.loops.loop_ir import Phase, RowReduce, Store
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


whole, ragged, sums = quotients(37, 48), quotients(37, 40), columns(18, 32, 3)
lines, no_lines = turned(48, 37), turned(40, 37)
for isa in ("avx2", "avx512"):
    text = emit_kernel(whole.kernel, isa).text
    ok("tcv_stream_f32" in text and "tcv_stream_end" in text, f"{isa}: rows of whole lines pass the caches by")
    ok("__builtin_prefetch" in text and "tcv_div_by_f32" in text, f"{isa}: the next rows are fetched")
    ok("tcv_stream_end" in emit_kernel(lines.kernel, isa).text, f"{isa}: so do whole lines of a matrix that is turned")
    ok("tcv_stream" not in emit_kernel(no_lines.kernel, isa).text, f"{isa}: other lines of one do not")
    ok("tcv_stream" not in emit_kernel(ragged.kernel, isa).text, f"{isa}: rows of other lengths do not")
run_all([whole, ragged, sums, lines, no_lines])
done()
