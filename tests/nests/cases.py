# SPDX-License-Identifier: Apache-2.0
"""Nests written by hand, at the sizes where tails, blocks and shares begin and end."""
from __future__ import annotations

import math

from harness import Case, buffer, kernel, loop
from images import depthwise, depthwise_bytes, lines, windows
from tensor_compile.loops.loop_ir import RowReduce, RowSort, Phase, Store
from tensor_compile.loops.scalar_ir import Const, InBounds, IndexValue, Local, Reduction, Scalar
from tensor_compile.symbolic import Sym, const, sym
from writing import f32, flat, load, op, sized, small

SIZES = (1, 15, 16, 17, 40, 4095, 4096, 4097, 10000)


def softmax(size: int, symbolic: bool, rows: int = 3) -> Case:
    """rows below 0: that many, as a dim."""
    n, dims, sizes = sized("n", size, symbolic)
    m, more, known = sized("m", abs(rows), rows < 0)
    r, a, b, c = loop("r", m), loop("v", n), loop("v", n), loop("v", n)
    x, y = buffer("x", "f32", (m, n), "input"), buffer("y", "f32", (m, n), "output")
    phases = [
        Phase((a,), (RowReduce("m", "max", "free", load("x", sym(r), sym(a)), "f32"),)),
        Phase((b,),
              (RowReduce("s", "sum", "lanes", e := op("exp", op("sub", load("x", sym(r), sym(b)), Local("m", "f32"))),
                               "f32"),), (Store("y", (sym(r), sym(b)), e),)),
        Phase((c,), (), (Store("y", (sym(r), sym(c)), op("div", load("y", sym(r), sym(c)), Local("s", "f32"))),))]
    return Case(f"softmax {rows} x {size}{' dynamic' * symbolic}",
                kernel("softmax", (r,), phases, (x, y), more + dims), sizes | known)


def attention_softmax(size: int, held: int = 0) -> Case:
    """As attention has it: of many rows, some with a NaN, infinities or zeros of both signs; one of -inf becomes 0.
    held: so many rows, in the memory of a tile, where the maxima of those that come next are found ahead."""
    count = held or 40
    r, v = loop("r", count), loop("v", size)
    x, y = buffer("x", "f32", (count, size), "tile" if held else "input"), buffer("y", "f32", (count, size), "output")
    most = op("maximum", Local("m", "f32"), f32(-3.4028234663852886e38))
    e = op("exp", op("sub", load("x", sym(r), sym(v)), most))
    part = op("div", load("y", sym(r), sym(v)), op("maximum", Local("s", "f32"), f32(1.0)))
    phases = [Phase((v,), (RowReduce("m", "max", "free", load("x", sym(r), sym(v)), "f32"),)),
              Phase((v,), (RowReduce("s", "sum", "lanes", e, "f32"),), (Store("y", (sym(r), sym(v)), e),)),
              Phase((v,), (), (Store("y", (sym(r), sym(v)), part),))]
    return Case(f"softmax of attention {count} x {size}{', in a tile' * (held > 0)}",
                kernel("softmax", (r,), phases, (x, y), ()), extreme=True)


def layer_norm(size: int, symbolic: bool, rows: int = 2) -> Case:
    n, dims, sizes = sized("n", size, symbolic)
    r, a, b, c = loop("r", rows), loop("v", n), loop("v", n), loop("v", n)
    x, y = (buffer(name, "f32", (rows, n), kind) for name, kind in (("x", "input"), ("y", "temp")))
    w = buffer("w", "f32", (n,), "packed")
    count = op("cast", IndexValue("i32", n), dtype="f32")

    def centered(v: Sym) -> Scalar:
        return op("sub", load("x", sym(r), sym(v)), op("div", Local("s", "f32"), count))
    square = op("mul", centered(b), centered(b))
    scale = op("sqrt", op("add", op("div", Local("q", "f32"), count), f32(1e-5)))
    phases = [Phase((a,), (RowReduce("s", "sum", "lanes", load("x", sym(r), sym(a)), "f32"),)),
              Phase((b,), (RowReduce("q", "sum", "lanes", square, "f32"),)),
              Phase((c,), (), (Store("y", (sym(r), sym(c)),
                                     op("mul", op("div", centered(c), scale), load("w", sym(c)))),))]
    name = f"layer norm {f'{rows} x ' * (rows > 2)}{size}{' dynamic' * symbolic}"
    return Case(name, kernel("layer_norm", (r,), phases, (x, w, y), dims), sizes,
                extreme=False)


def many_rows(m: int, n: int, size: int) -> Case:
    """Rows of two loops whose sums scale a gathered row."""
    r, q, a, b, k = loop("r", m), loop("q", n), loop("v", size), loop("v", size), Sym("k", 0, 4)
    x, y = (buffer(name, "f32", (m, n, size), kind) for name, kind in (("x", "input"), ("y", "output")))
    w = buffer("w", "f32", (5, size), "packed")
    i, z = buffer("i", "i64", (m, n), "input"), buffer("z", "f32", (n,), "input")
    at = load("i", sym(r), sym(q), dtype="i64")
    here = [load("x", sym(r), sym(q), sym(v)) for v in (a, b)]
    row = load("w", sym(k), sym(b), dynamic=((k, at),))
    scale = op("sub", Local("s", "f32"), op("mul", load("z", sym(q)), Local("m", "f32")))
    result = op("mul", op("add", row, here[1]), scale)
    phases = [Phase((a,), (RowReduce("s", "sum", "lanes", op("abs", here[0]), "f32"),
                           RowReduce("m", "min", "free", here[0], "f32"))),
              Phase((b,), (), (Store("y", (sym(r), sym(q), sym(b)), result),))]
    return Case(f"rows of {m} x {n}", kernel("many_rows", (r, q), phases, (x, w, i, z, y)))


def pad() -> list[Case]:
    out = []
    for n, low, high in ((5, 2, 3), (16, 1, 0), (40, 17, 20), (4096, 3, 1)):
        v, r = loop("v", n + low + high), loop("r", 3)
        at = sym(v) - low
        inside = (at, n - 1 - at)
        x, y = buffer("x", "f32", (3, n), "input"), buffer("y", "f32", (3, n + low + high), "output")
        value = load("x", sym(r), at, valid=inside, other=f32(-0.0))
        out.append(small(f"pad {low}+{n}+{high}", (r,), [Phase((v,), (), (Store("y", (sym(r), sym(v)), value),))],
                         (x, y)))
        both = op("select", InBounds(inside), op("neg", load("x", sym(r), at, valid=inside, other=f32(0.0))), f32(3.0))
        out.append(small(f"guarded {low}+{n}+{high}", (r,), [Phase((v,), (), (Store("y", (sym(r), sym(v)), both),))],
                         (x, y)))
        back = n - 1 - at
        reverse = load("x", sym(r), back, valid=(back, n - 1 - back), other=f32(7.0))
        out.append(small(f"reversed {low}+{n}+{high}", (r,),
                         [Phase((v,), (), (Store("y", (sym(r), sym(v)), reverse),))], (x, y)))
    return out


def columns() -> list[Case]:
    out = []
    for m, n in ((1, 17), (7, 16), (16, 5), (17, 40), (60, 70), (300, 20), (4097, 3), (9000, 1)):
        v, k = loop("v", n), loop("k", m)
        x, y = buffer("x", "f32", (m, n), "input"), buffer("y", "f32", (n,), "output")
        value = op("div", Reduction("sum", "lanes", "f32", (k,), load("x", sym(k), sym(v))), f32(float(m)))
        out.append(small(f"column mean {m}x{n}", (), [Phase((v,), (), (Store("y", (sym(v),), value),))], (x, y)))
    size, dims, sizes = sized("m", 50, True)
    v, k = loop("v", 20), loop("k", size)
    x, y = buffer("x", "f32", (size, 20), "input"), buffer("y", "f32", (20,), "output")
    value = Reduction("sum", "lanes", "f32", (k,), load("x", sym(k), sym(v)))
    made = [Phase((v,), (), (Store("y", (sym(v),), value),))]
    out.append(small("column sum dynamic", (), made, (x, y), dims, sizes))
    out.append(small("column sum of nothing", (), made, (x, y), dims, {dims[0]: 0}))
    # two reduced loops around the kept one: the terms are numbered across both
    for a, b in ((5, 7), (40, 110)):
        v, i, j = loop("v", 18), loop("i", a), loop("j", b)
        x, y = buffer("x", "f32", (a, 18, b), "input"), buffer("y", "f32", (18,), "output")
        value = Reduction("sum", "lanes", "f32", (i, j), load("x", sym(i), sym(v), sym(j)))
        out.append(small(f"sum over {a} and {b} around 18", (), [Phase((v,), (), (Store("y", (sym(v),), value),))],
                         (x, y)))
    v, i, j = loop("v", 18), loop("i", 6), loop("j", 9)
    x, y = buffer("x", "f32", (6, 9, 18), "input"), buffer("y", "f32", (18,), "output")
    value = Reduction("sum", "lanes", "f32", (i, j), load("x", sym(i), sym(j), sym(v)))
    out.append(small("sum over two loops that are one", (), [Phase((v,), (), (Store("y", (sym(v),), value),))], (x, y)))
    for order in ("seq", "lanes"):
        v, k = loop("v", 21), loop("k", 33)
        a, b, y = buffer("a", "f32", (33,), "input"), buffer("b", "f32", (33, 21), "packed"), buffer("y", "f32", (21,),
                                                                                                     "output")
        pair = op("pair", load("a", sym(k)), load("b", sym(k), sym(v)))
        value = Reduction("dot", order, "f32", (k,), pair)
        out.append(small(f"dot {order}", (), [Phase((v,), (), (Store("y", (sym(v),), value),))], (a, b, y)))
    return out


def siblings() -> list[Case]:
    """Several reductions of the same terms at one point: each element is loaded at one place."""
    out = []
    for m, n in ((30, 40), (300, 20), (4097, 3)):
        size, dims, sizes = sized("m", m, m == 300)
        v, k = loop("v", n), loop("k", size)
        x = buffer("x", "f32", (size, n), "input")
        y, z, w = (buffer(name, "f32", (n,), "output") for name in "yzw")
        at = load("x", sym(k), sym(v))
        sums = [Store(name, (sym(v),), Reduction(kind, "lanes", "f32", (k,), term))
                for name, kind, term in (("y", "sum", at), ("z", "sum", op("mul", at, at)), ("w", "prod", at))]
        out.append(small(f"siblings: sums of columns {m}x{n}", (), [Phase((v,), (), tuple(sums))], (x, y, z, w),
                         dims, sizes))
        value = op("sub", *(Reduction(kind, "free", "f32", (k,), at) for kind in ("max", "min")))
        out.append(small(f"siblings: extremes of columns {m}x{n}", (),
                         [Phase((v,), (), (Store("y", (sym(v),), value),))],
                         (x, y), dims, sizes))
    v, i, j = loop("v", 18), loop("i", 40), loop("j", 110)
    x, y, z = buffer("x", "f32", (40, 18, 110), "input"), *(buffer(name, "f32", (18,), "output") for name in "yz")
    at = load("x", sym(i), sym(v), sym(j))
    sums = [Store(name, (sym(v),), Reduction("sum", "lanes", "f32", (i, j), term)) for name, term in
            (("y", at), ("z", op("abs", at)))]
    out.append(small("siblings: sums over two loops", (), [Phase((v,), (), tuple(sums))], (x, y, z)))
    v, i, j = loop("v", 18), loop("i", 6), loop("j", 9)
    x, y, z = buffer("x", "f32", (6, 9, 18), "input"), *(buffer(name, "f32", (18,), "output") for name in "yz")
    at = load("x", sym(i), sym(j), sym(v))
    sums = [Store(name, (sym(v),), Reduction(kind, "lanes", "f32", (i, j), at)) for name, kind in
            (("y", "sum"), ("z", "prod"))]
    out.append(small("siblings: over two loops that are one", (), [Phase((v,), (), tuple(sums))], (x, y, z)))
    v, k = loop("v", 5), loop("k", 33)
    x, y, z = buffer("x", "f32", (33, 5), "input"), *(buffer(name, "i64", (5,), "output") for name in "yz")
    found = [Store(name, (sym(v),), Reduction(kind, "free", "i64", (k,), load("x", sym(k), sym(v))))
             for name, kind in (("y", "argmax"), ("z", "argmin"))]
    out.append(small("siblings: positions in columns", (), [Phase((v,), (), tuple(found))], (x, y, z), extreme=True))
    c, v, i, j = loop("c", 3), loop("v", 20), Sym("i", 0, 2), Sym("j", 0, 2)
    row, column = sym(c) + sym(i) - 1, sym(v) + sym(j) - 1
    x, y, z = buffer("x", "f32", (3, 20), "input"), *(buffer(name, "f32", (3, 20), "output") for name in "yz")
    windows = [Store(name, (sym(c), sym(v)), Reduction(kind, order, "f32", (i, j), load("x", row, column),
                                                       (row, 2 - row, column, 19 - column)))
               for name, kind, order in (("y", "max", "free"), ("z", "sum", "seq"))]
    out.append(small("siblings: windows", (c,), [Phase((v,), (), tuple(windows))], (x, y, z)))
    return out


def rows() -> list[Case]:
    out = []
    for n in (0, 1, 15, 17, 100, 5000):
        size, dims, sizes = sized("n", n, True)
        r, v = loop("r", 4), loop("v", size)
        x, y = buffer("x", "f32", (4, size), "input"), buffer("y", "f32", (4,), "output")
        phases = [Phase((v,), (RowReduce("s", "sum", "lanes", load("x", sym(r), sym(v)), "f32"),)),
                  Phase((), (), (Store("y", (sym(r),), Local("s", "f32")),))]
        out.append(small(f"row sum {n}", (r,), phases, (x, y), dims, sizes))
        if n:
            w, z = buffer("x", "i32", (4, size), "input"), buffer("y", "i64", (4,), "output")
            for kind, dtype, source in (("argmax", "f32", x), ("argmin", "i32", w)):
                phases = [Phase((v,), (RowReduce("p", kind, "free", load("x", sym(r), sym(v), dtype=dtype), "i64"),)),
                          Phase((), (), (Store("y", (sym(r),), Local("p", "i64")),))]
                out.append(small(f"{kind} {dtype} {n}", (r,), phases, (source, z), dims, sizes, extreme=n == 100))
            for kind, dtype in (("min", "f32"), ("max", "i32"), ("min", "i32"), ("sum", "i32"), ("sum", "i64"),
                                ("any", "bool"), ("all", "bool")):
                phases = [Phase((v,), (RowReduce("q", kind, "free", load("x", sym(r), sym(v), dtype=dtype), dtype),)),
                          Phase((), (), (Store("y", (sym(r),), Local("q", dtype)),))]
                out.append(small(f"row {kind} {dtype} {n}", (r,), phases,
                                 (buffer("x", dtype, (4, size), "input"), buffer("y", dtype, (4,), "output")), dims,
                                 sizes,
                                 extreme=True))
    # equal extremes, in all lanes and in some: the first counts
    for kind in ("argmax", "argmin"):
        r, v = loop("r", 40), loop("v", 50)
        x, y = buffer("x", "i32", (40, 50), "input"), buffer("y", "i64", (40,), "output")
        value = op("cast", load("x", sym(r), sym(v), dtype="i32"))
        edge = op("div", value, f32(0.0))
        for name, taken in (("few values", value), ("infinities", edge)):
            phases = [Phase((v,), (RowReduce("p", kind, "free", taken, "i64"),)),
                      Phase((), (), (Store("y", (sym(r),), Local("p", "i64")),))]
            out.append(small(f"{kind} of {name}", (r,), phases, (x, y), below=3))
    # a phase over two loops: 16 divides the inner one, or not
    for a, b in ((3, 16), (300, 32), (3, 10), (500, 10)):
        r, i, j = loop("r", 3), loop("i", a), loop("j", b)
        x, y = buffer("x", "f32", (a, 3, b), "input"), buffer("y", "f32", (3,), "output")
        phases = [Phase((i, j), (RowReduce("s", "sum", "lanes", load("x", sym(i), sym(r), sym(j)), "f32"),)),
                  Phase((), (), (Store("y", (sym(r),), Local("s", "f32")),))]
        out.append(small(f"row sum of {a} x {b}", (r,), phases, (x, y)))
    # kept in scratch between phases
    r, a, b = loop("r", 7), loop("v", 50), loop("v", 50)
    x, t, y = buffer("x", "f32", (7, 50), "input"), buffer("t", "f32", (50,), "scratch"), buffer("y", "f32", (7, 50),
                                                                                                 "output")
    phases = [Phase((a,), (RowReduce("m", "max", "free", load("x", sym(r), sym(a)), "f32"),),
                    (Store("t", (sym(a),), op("neg", load("x", sym(r), sym(a)))),)),
              Phase((b,), (), (Store("y", (sym(r), sym(b)), op("add", load("t", sym(b)), Local("m", "f32"))),))]
    out.append(small("row in scratch", (r,), phases, (x, t, y)))
    return out


def memory() -> list[Case]:
    out = []
    r, v = loop("r", 5), loop("v", 37)
    x, y = buffer("x", "f32", (37, 5), "input"), buffer("y", "f32", (5, 37), "output")
    for dtype in ("f32", "i32", "i64", "bool"):  # the same value along the row
        x, y = buffer("x", dtype, (5,), "input"), buffer("y", dtype, (5, 37), "output")
        phase = Phase((v,), (), (Store("y", (sym(r), sym(v)), load("x", sym(r), dtype=dtype)),))
        out.append(small(f"repeated {dtype}", (r,), [phase], (x, y), extreme=True))
    for dtype in ("f32", "i32", "bool"):
        x, y = buffer("x", dtype, (37, 5), "input"), buffer("y", dtype, (5, 37), "output")
        phase = Phase((v,), (), (Store("y", (sym(r), sym(v)), load("x", sym(v), sym(r), dtype=dtype)),))
        out.append(small(f"strided load {dtype}", (r,), [phase], (x, y), extreme=True))
        x, y = buffer("x", dtype, (5, 37), "input"), buffer("y", dtype, (37, 5), "output")
        phase = Phase((v,), (), (Store("y", (sym(v), sym(r)), load("x", sym(r), sym(v), dtype=dtype)),))
        out.append(small(f"strided store {dtype}", (r,), [phase], (x, y), extreme=True))
    # panels of 16 columns, packed: the last one may be filled up with zeros; more rows than there are panels of
    for dtype, count, terms, symbolic in (
            ("f32", 16, 16, False), ("f32", 53, 32, False), ("f32", 40, 64, True), ("f32", 1, 16, True),
            ("f32", 33, 20, False), ("f16", 53, 32, False), ("f16", 40, 64, True), ("f16", 33, 24, False)):
        n, dims, sizes = sized("n", count, symbolic)
        panels = (n + 15) // 16
        i, k, v = loop("i", panels), loop("k", terms), loop("v", 16)
        x, y = buffer("x", dtype, (n, terms), "input"), buffer("y", dtype, (panels, terms, 16), "output")
        at = sym(i) * 16 + sym(v)
        value = load("x", at, sym(k), valid=(n - 1 - at,), other=Const(dtype, 0), dtype=dtype)
        phase = Phase((v,), (), (Store("y", (sym(i), sym(k), sym(v)), value),))
        name = f"pack {count} x {terms}{' dynamic' * symbolic}{f', {dtype}' * (dtype != 'f32')}"
        out.append(small(name, (i, k), [phase], (x, y), dims, sizes, extreme=True))
    # without rows of panels, and with a step of the result that is not 16
    k, v = loop("k", 32), loop("v", 16)
    x, y = buffer("x", "f32", (16, 48), "input"), buffer("y", "f32", (32, 24), "output")
    phase = Phase((v,), (), (Store("y", (sym(k), sym(v) + 5), load("x", sym(v), sym(k) + 7)),))
    out.append(small("transpose a part", (k,), [phase], (x, y), extreme=True))
    out += turned()
    # a merged loop whose address divides: by 12 (lane by lane) and by 32 (lanes stay together)
    for inner in (12, 32):
        v = loop("v", 4 * inner)
        q = sym(v) // inner
        x, y = buffer("x", "f32", (4, inner + 3), "input"), buffer("y", "f32", (4, inner + 1), "output")
        rest = sym(v) - q * inner
        phase = Phase((v,), (), (Store("y", (q, rest), op("neg", load("x", q, rest))),))
        out.append(small(f"divided index {inner}", (), [phase], (x, y)))
        mask = Phase((v,), (), (Store("y", (q, rest), op("select", InBounds((rest - 3,)), f32(1.0), f32(2.0))),))
        out.append(small(f"divided predicate {inner}", (), [mask], (y,)))
    r, v, k = loop("r", 6), loop("v", 21), Sym("k", 0, 4)
    t, y = buffer("t", "f32", (5, 21), "input"), buffer("y", "f32", (6, 21), "output")
    for dtype in ("i32", "i64"):
        i = buffer("i", dtype, (6,), "input")
        value = load("t", sym(k), sym(v), dynamic=((k, load("i", sym(r), dtype=dtype)),))
        out.append(small(f"gather of rows {dtype}", (r,), [Phase((v,), (), (Store("y", (sym(r), sym(v)), value),))],
                         (t, i, y)))
        i = buffer("i", dtype, (21,), "input")
        value = load("t", sym(k), sym(r), dynamic=((k, load("i", sym(v), dtype=dtype)),))
        out.append(small(f"gather of elements {dtype}", (r,), [Phase((v,), (), (Store("y", (sym(r), sym(v)), value),))],
                         (t, i, y)))
    y = buffer("y", "i32", (6, 21), "output")
    value = op("add", IndexValue("i32", sym(v) * 3 + sym(r)), IndexValue("i32", sym(r)), dtype="i32")
    out.append(small("positions i32", (r,), [Phase((v,), (), (Store("y", (sym(r), sym(v)), value),))], (y,)))
    y = buffer("y", "i64", (6, 21), "output")
    value = op("sub", IndexValue("i64", sym(v)), IndexValue("i64", sym(r)), dtype="i64")
    out.append(small("positions i64", (r,), [Phase((v,), (), (Store("y", (sym(r), sym(v)), value),))], (y,)))
    # two results of one phase, a broadcast along the lanes and one along the rows
    x, z = buffer("x", "f32", (6,), "input"), buffer("z", "f32", (21,), "input")
    y, w = buffer("y", "f32", (6, 21), "output"), buffer("w", "bool", (6, 21), "output")
    s = op("add", load("x", sym(r)), load("z", sym(v)))
    out.append(small("two results", (r,), (Phase((v,), (), (
        Store("y", (sym(r), sym(v)), s), Store("w", (sym(r), sym(v)), op("lt", s, f32(0.5), dtype="bool")))),),
        (x, z, y, w)))
    return out


def elementwise() -> list[Case]:
    out = []
    for size in (0, *SIZES):
        out.append(flat("relu", size, True, lambda x, z: op("maximum", x, f32(0.0))))
    for size in SIZES:
        out.append(flat("add", size, False, lambda x, z: op("add", x, z), grain=2 if size > 100 else 1))
    for name in ("neg", "abs", "sqrt", "floor", "round", "exp", "log", "tanh", "erf", "sin", "cos", "expm1", "log1p",
                 "erfc",
                 "lgamma"):
        out.append(flat(name, 43, False, lambda x, z: op(name, x)))
    for name in ("add", "sub", "mul", "div", "maximum", "minimum"):
        for dtype in ("f32", "i32", "i64"):
            out.append(flat(f"{name} {dtype}", 300, False, lambda x, z: op(name, x, z, dtype=dtype), dtype, dtype))
    out += [flat(f"{name} f32", 300, False, lambda x, z: op(name, x, z)) for name in ("rem", "pow")]
    for name in ("maximum", "minimum"):
        for by in (0.0, -0.0, 6.0, -3.0, math.inf, math.nan):
            out.append(flat(f"{name} with {by}", 300, False, lambda x, z: op(name, x, f32(by))))
    out += [flat("a sum, limited", 300, False, lambda x, z: op("maximum", op("add", x, f32(0.0)), f32(0.0))),
            flat("a limited number, limited", 300, False,
                 lambda x, z: op("minimum", op("maximum", f32(-0.0), x), f32(6.0)))]
    for name in ("rem", "bit_and", "bit_or", "bit_xor", "shift_left", "shift_right"):
        for dtype in ("i32", "i64"):
            out.append(flat(f"{name} {dtype}", 60, False, lambda x, z: op(name, x, z, dtype=dtype), dtype, dtype))
    for dtype in ("i32", "i64"):
        out.append(flat(f"bit_not {dtype}", 60, False, lambda x, z: op("bit_not", x, dtype=dtype), dtype, dtype))
    for name in ("eq", "ne", "lt", "le", "gt", "ge"):
        for dtype in ("f32", "i32", "i64", "bool"):
            out.append(flat(f"{name} {dtype}", 300, False, lambda x, z: op(name, x, z, dtype="bool"), "bool", dtype))
    for name in ("logical_and", "logical_or", "logical_xor"):
        out.append(flat(name, 50, False, lambda x, z: op(name, x, z, dtype="bool"), "bool", "bool"))
    out.append(flat("logical_not", 50, False, lambda x, z: op("logical_not", x, dtype="bool"), "bool", "bool"))
    for source in ("f32", "i32", "i64", "bool"):
        for to in ("f32", "i32", "i64", "bool"):
            if source != to:
                out.append(flat(f"cast {source} to {to}", 300, False, lambda x, z: op("cast", x, dtype=to), to, source))
    for source, to in (("f32", "i32"), ("i32", "f32")):
        out.append(flat(f"bitcast {source} to {to}", 300, False, lambda x, z: op("bitcast", x, dtype=to), to, source))
    for dtype in ("f32", "i32", "bool"):
        out.append(flat(f"select {dtype}", 60, False, lambda x, z: op(
            "select", op("lt", x, z, dtype="bool"), x, z, dtype=dtype), dtype, dtype))
    gelu = lambda x, z: op("mul", op("mul", f32(0.5), x),
                           op("add", f32(1.0), op("erf", op("mul", x, f32(0.70710677)))))
    out += [flat("gelu", size, symbolic, gelu) for size in (17, 2000) for symbolic in (False, True)]
    return out


def in_order() -> list[Case]:
    """Scatters, running reductions, sorts and products. Work enough for a team: 5 threads share what is stored to."""
    out = []
    for n, count, width in ((1, 3, 1), (7, 40, 1), (300, 900, 20), (40, 200, 33), (5, 9000, 3)):
        r, j, b, g = loop("r", 3), loop("j", count), loop("b", width), Sym("g", 0, n - 1)
        x, i = buffer("x", "f32", (3, count, width), "input"), buffer("i", "i64", (count,), "input")
        y = buffer("y", "f32", (3, n, width), "output")
        value = op("neg", load("x", sym(r), sym(j), sym(b)))
        store = Store("y", (sym(r), sym(g), sym(b)), value, ((g, load("i", sym(j), dtype="i64")),))
        out.append(small(f"scatter {count} x {width} into {n}", (r,), [Phase((j, b), (), (store,))], (x, i, y),
                         below=n + 1))    # some lie outside
        if count in (40, 900):   # along an axis: each element has an index of its own
            i = buffer("i", "i64", (3, count, width), "input")
            store = Store("y", (sym(r), sym(g), sym(b)), value, ((g, load("i", sym(r), sym(j), sym(b), dtype="i64")),))
            out.append(small(f"scatter {count} x {width} along {n}", (r,), [Phase((j, b), (), (store,))], (x, i, y),
                             below=n + 1))
    for size in (1, 11, 12, 13, 25, 200):
        r, v, k = loop("r", 3), loop("v", size), loop("k", (size + 1) // 2)
        x, y = buffer("x", "f32", (3, size), "input"), buffer("y", "f32", (3, size), "output")
        value = load("x", sym(r), sym(v))
        for how in ("sum", "prod", "max"):
            so_far = RowReduce("s", how, "running", value, "f32")
            phase = Phase((v,), (so_far,), (Store("y", (sym(r), sym(v)), op("sub", Local("s", "f32"), value)),))
            out.append(small(f"running {how} {size}", (r,), [phase], (x, y)))
        total = RowReduce("p", "prod", "lanes", value, "f32")
        z = buffer("z", "f32", (3,), "output")
        out.append(small(f"product {size}", (r,), [Phase((v,), (total,)), Phase((), (), (
            Store("z", (sym(r),), Local("p", "f32")),), False)], (x, z)))
        for dtype, words in (("f32", 2), ("i64", 4), ("bool", 2)):
            for count, down in dict.fromkeys(((size, False), (size, True), ((size + 1) // 2, True), (1, False))):
                k = loop("k", count)
                x, w = buffer("x", dtype, (3, size), "input"), buffer("w", "i64", (words * size,), "scratch")
                y = buffer("y", "i64", (3, count), "output")
                sort = RowSort("w", load("x", sym(r), sym(v), dtype=dtype), const(count), down)
                store = Store("y", (sym(r), sym(k)), load("w", sym(k), dtype="i64"))
                out.append(small(f"sort {dtype} {count} of {size}{' down' * down}", (r,), [
                    Phase((v,), (sort,), (), False), Phase((k,), (), (store,))], (x, w, y), extreme=dtype == "f32"))
    return out


def turned() -> list[Case]:
    """Copies in another order, of every size of element: blocks, what is left of them, several tiles, others around,
    parts of tensors, few rows or columns where sizes are dims."""
    out = []
    for dtype in ("f32", "f16", "i8", "i64", "bool", "i32"):
        for rows, columns in ((16, 16), (64, 64), (17, 40), (130, 67), (600, 16), (33, 300)):
            if dtype in ("bool", "i32") and rows != 130:
                continue
            r, v = loop("r", columns), loop("v", rows)
            x, y = buffer("x", dtype, (rows, columns), "input"), buffer("y", dtype, (columns, rows), "output")
            phase = Phase((v,), (), (Store("y", (sym(r), sym(v)), load("x", sym(v), sym(r), dtype=dtype)),))
            out.append(small(f"turn {dtype} {rows} x {columns}", (r,), [phase], (x, y), extreme=True))
        for rows, columns in ((1, 20), (20, 3), (70, 70)):
            (m, dims, sizes), (n, more, known) = sized("m", rows, True), sized("n", columns, True)
            b, r, v = loop("b", 2), loop("r", n), loop("v", m)
            x, y = buffer("x", dtype, (2, m, n), "input"), buffer("y", dtype, (2, n, m), "output")
            value = load("x", sym(b), sym(v), sym(r), dtype=dtype)
            phase = Phase((v,), (), (Store("y", (sym(b), sym(r), sym(v)), value),))
            out.append(small(f"turn {dtype} {rows} x {columns} dynamic", (b, r), [phase], (x, y), dims + more,
                             sizes | known, extreme=True))
    # pointwise, of what lies in another order and what does not
    for rows, columns, symbolic in ((16, 16, False), (37, 150, False), (20, 300, True), (5, 2, True), (300, 18, False)):
        (m, dims, sizes), (n, more, known) = sized("m", rows, symbolic), sized("n", columns, symbolic)
        r, v = loop("r", m), loop("v", n)
        x, y = buffer("x", "f32", (n, m), "input"), buffer("y", "f32", (m, n), "output")
        z, w = buffer("z", "f32", (m, n), "input"), buffer("w", "i8", (n, m + 2), "input")
        first, straight = load("x", sym(v), sym(r)), load("z", sym(r), sym(v))
        second = op("cast", load("w", sym(v), sym(r) + 1, dtype="i8"), dtype="f32")
        for name, value, params in (
                ("neg", op("neg", first), (x, y)), ("add", op("add", first, straight), (x, z, y)),
                ("mul", op("mul", op("add", first, second), straight), (x, w, z, y))):
            phase = Phase((v,), (), (Store("y", (sym(r), sym(v)), value),))
            out.append(small(f"turned load {name} {rows} x {columns}{' dynamic' * symbolic}", (r,), [phase], params,
                             dims + more, sizes | known, extreme=True))
    # five dims in another order, a part of a tensor on both sides; the loops as they come, the last one not that stored
    a, b, c, d, f = (loop(name, size) for name, size in zip("abcdf", (2, 3, 18, 2, 21)))
    x, y = buffer("x", "f32", (3, 2, 2, 19, 23), "input"), buffer("y", "f32", (2, 24, 3, 2, 20), "output")
    value = load("x", sym(b), sym(a), sym(d), sym(c) + 1, sym(f) + 2)
    phase = Phase((f,), (), (Store("y", (sym(a), sym(f) + 3, sym(b), sym(d), sym(c) + 1), value),))
    out.append(small("turn a part of five dims", (a, b, d, c), [phase], (x, y), extreme=True))
    return out


def all_cases() -> list[Case]:
    out = [make(size, symbolic) for make in (softmax, layer_norm) for size in SIZES for symbolic in (False, True)]
    # rows side by side, and what is left of them
    out += [softmax(size, symbolic, rows) for rows in (16, 18, 19, -3, -18)
            for size, symbolic in ((40, False), (33, True))]
    out += [layer_norm(size, False, rows) for rows in (16, 19) for size in (40, 1500)]
    out += [softmax(4096, False, 16), *(attention_softmax(size) for size in (1, 3, 16, 33)),
            *(attention_softmax(size, 40) for size in (1, 3, 16, 33)), attention_softmax(4130, 16)]
    out += [many_rows(m, n, 40) for m, n in ((3, 18), (9, 4), (6, 3))]
    return out + pad() + windows() + depthwise() + lines() + depthwise_bytes() + columns() + siblings() + rows() \
        + memory() + elementwise() + in_order()
