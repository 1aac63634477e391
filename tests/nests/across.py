# SPDX-License-Identifier: Apache-2.0
"""What lies across a row: running sums, sums, extremes and their positions of columns, of which several vectors share
loops; extremes of one long row, whose terms go to several vectors, and functions along it, which take several vectors
side by side. At numbers of columns and terms where strips, vectors and lanes are whole, and where some are left."""
from cases import buffer, Case, load, Local, loop, op, Phase, Reduction, RowReduce, small, Store, sym
from harness import run_all
from tap import done, equal
from tensor_compile.emit.kernels import emit_kernel


def running(kind: str, dtype: str, outer: int, steps: int, n: int, back: bool = False) -> Case:
    """Of each column, doubled behind the sum where it is one of f32."""
    o, v, k = loop("o", outer), loop("v", n), loop("k", steps)
    x, y = (buffer(name, dtype, (outer, steps, n), where) for name, where in (("x", "input"), ("y", "output")))
    at = (sym(o), steps - 1 - sym(k) if back else sym(k), sym(v))
    so_far = Local("s", dtype)
    phase = Phase((k,), (RowReduce("s", kind, "running", load("x", *at, dtype=dtype), dtype),),
                  (Store("y", at, op("add", so_far, so_far, dtype=dtype) if kind == "sum" else so_far),))
    return small(f"running {kind} {dtype} of {outer}x{steps}x{n}{' from the end' * back}", (o, v), [phase], (x, y))


def column(kind: str, dtype: str, outer: int, terms: int, n: int) -> Case:
    o, v, k = loop("o", outer), loop("v", n), loop("k", terms)
    found = "i64" if kind.startswith("arg") else dtype
    x, y = buffer("x", dtype, (outer, terms, n), "input"), buffer("y", found, (outer, n), "output")
    value = Reduction(kind, "lanes" if (kind, dtype) == ("sum", "f32") else "free", found, (k,),
                      load("x", sym(o), sym(k), sym(v), dtype=dtype))
    return small(f"column {kind} {dtype} of {outer}x{terms}x{n}", (o,),
                 [Phase((v,), (), (Store("y", (sym(o), sym(v)), value),))], (x, y), extreme=kind != "sum")


def few_values(kind: str, n: int) -> Case:
    """Equal extremes, NaN and infinities among them: the first counts."""
    v, k = loop("v", n), loop("k", 50)
    x, y = buffer("x", "i32", (50, n), "input"), buffer("y", "i64", (n,), "output")
    taken = op("div", op("cast", load("x", sym(k), sym(v), dtype="i32")), op("cast", load("x", 0, sym(v), dtype="i32")))
    return small(f"{kind} of few values in {n} columns", (),
                 [Phase((v,), (), (Store("y", (sym(v),), Reduction(kind, "free", "i64", (k,), taken)),))], (x, y),
                 below=3)


def row(kind: str, dtype: str, rows: int, n: int) -> Case:
    r, v = loop("r", rows), loop("v", n)
    x, y = buffer("x", dtype, (rows, n), "input"), buffer("y", dtype, (rows,), "output")
    phases = [Phase((v,), (RowReduce("q", kind, "free", load("x", sym(r), sym(v), dtype=dtype), dtype),)),
              Phase((), (), (Store("y", (sym(r),), Local("q", dtype)),))]
    return small(f"row {kind} {dtype} of {rows}x{n}", (r,), phases, (x, y), extreme=True)


def log_softmax(rows: int, n: int) -> Case:
    """Some rows have a NaN, infinities, or zeros of both signs."""
    r, v = loop("r", rows), loop("v", n)
    x, y = buffer("x", "f32", (rows, n), "input"), buffer("y", "f32", (rows, n), "output")
    moved = op("sub", load("x", sym(r), sym(v)), Local("m", "f32"))
    phases = [Phase((v,), (RowReduce("m", "max", "free", load("x", sym(r), sym(v)), "f32"),)),
              Phase((v,), (RowReduce("s", "sum", "lanes", op("exp", moved), "f32"),)),
              Phase((v,), (), (Store("y", (sym(r), sym(v)), op("sub", moved, op("log", Local("s", "f32")))),))]
    return small(f"logarithms of a softmax of {rows}x{n}", (r,), phases, (x, y), extreme=True)


def softmax(rows: int, n: int) -> Case:
    """Vectors of one row side by side, and what is left of it; some rows have a NaN or infinities."""
    r, v = loop("r", rows), loop("v", n)
    x, y = buffer("x", "f32", (rows, n), "input"), buffer("y", "f32", (rows, n), "output")
    e = op("exp", op("sub", load("x", sym(r), sym(v)), Local("m", "f32")))
    phases = [Phase((v,), (RowReduce("m", "max", "free", load("x", sym(r), sym(v)), "f32"),)),
              Phase((v,), (RowReduce("s", "sum", "lanes", e, "f32"),), (Store("y", (sym(r), sym(v)), e),)),
              Phase((v,), (), (Store("y", (sym(r), sym(v)), op("div", load("y", sym(r), sym(v)), Local("s", "f32"))),))]
    return small(f"softmax of {rows}x{n}", (r,), phases, (x, y), extreme=rows > 2)


def several(dtype: str, kinds: tuple[str, ...], outer: int, terms: int, n: int) -> Case:
    """Of the same columns, a result each."""
    o, v, k = loop("o", outer), loop("v", n), loop("k", terms)
    x, stores, outputs = buffer("x", dtype, (outer, terms, n), "input"), [], []
    for kind in kinds:
        found = "i64" if kind.startswith("arg") else dtype
        outputs.append(buffer(kind, found, (outer, n), "output"))
        order = "lanes" if (kind, dtype) == ("sum", "f32") else "free"
        stores.append(Store(kind, (sym(o), sym(v)), Reduction(kind, order, found, (k,), load(
            "x", sym(o), sym(k), sym(v), dtype=dtype))))
    return small(f"{' and '.join(kinds)} {dtype} of columns of {outer}x{terms}x{n}", (o,),
                 [Phase((v,), (), tuple(stores))], (x, *outputs), extreme="sum" not in kinds, below=4)


CASES = [running(kind, dtype, *sizes) for kind, dtype, sizes in (
    ("sum", "f32", (2, 9, 5)), ("sum", "f32", (1, 20, 8)), ("sum", "f32", (3, 7, 17)), ("sum", "f32", (1, 30, 64)),
    ("sum", "f32", (2, 5, 70)), ("prod", "f32", (1, 6, 200)), ("max", "f32", (2, 6, 130)), ("sum", "i32", (2, 9, 80)),
    ("min", "i32", (1, 4, 23)), ("sum", "i64", (1, 5, 20)))]
CASES += [running("sum", "f32", 2, 9, 33, True)]
CASES += [column(kind, dtype, *sizes) for kind, dtype, sizes in (
    ("sum", "f32", (1, 17, 64)), ("sum", "f32", (2, 40, 100)), ("sum", "f32", (1, 4100, 70)),
    ("sum", "f32", (3, 16, 64)), ("sum", "f32", (70, 20, 130)), ("max", "f32", (2, 30, 128)),
    ("min", "f32", (1, 33, 90)), ("max", "i32", (1, 18, 64)), ("sum", "i32", (2, 20, 77)),
    ("argmax", "f32", (2, 21, 5)), ("argmax", "f32", (3, 21, 64)),
    ("argmin", "f32", (1, 40, 37)), ("argmax", "i32", (2, 9, 70)), ("argmin", "i32", (1, 1, 16)))]
CASES += [few_values(kind, n) for kind in ("argmax", "argmin") for n in (7, 48)]
CASES += [row(kind, dtype, rows, n) for kind, dtype, rows, n in (
    ("max", "f32", 3, 256), ("max", "f32", 2, 1000), ("min", "f32", 1, 5000), ("max", "i32", 3, 300),
    ("any", "bool", 3, 257), ("all", "bool", 3, 400), ("max", "f32", 40, 300))]
CASES += [log_softmax(rows, n) for rows, n in ((3, 1), (3, 17), (2, 300), (40, 50), (17, 5000))]
CASES += [softmax(rows, n) for rows, n in ((1, 256), (2, 271), (3, 1000), (1, 4100), (2, 8192), (3, 5057), (3, 255))]
CASES += [several(dtype, kinds, *sizes) for dtype, kinds, sizes in (
    ("f32", ("max", "argmax"), (2, 21, 130)), ("f32", ("min", "argmin"), (1, 40, 64)),
    ("f32", ("max", "argmax", "min", "argmin"), (1, 18, 77)), ("f32", ("sum", "max", "argmax"), (2, 33, 64)),
    ("i32", ("max", "argmax"), (1, 30, 100)), ("f32", ("sum", "max"), (1, 4100, 70)))]

texts = {case.name: emit_kernel(case.kernel, "avx512").text for case in CASES}
equal([name for name, text in texts.items() if name.startswith("running") and "tcv_store" not in text],
      ["running sum f32 of 2x9x5", "running sum i64 of 1x5x20"], "running sums of eight columns and more are vectors")
equal([name for name, text in texts.items() if "arg" in name and "tcv_store" not in text], [],
      "positions in columns are vectors")
equal(texts["column sum f32 of 2x40x100"].count("tcv_load_f32"), 5, "four vectors of sums share their loops")
equal(texts["row max f32 of 2x1000"].count("tcv_maximum_f32("), 4 + 3 + 2, "a long row's maximum is that of four")
equal("tcv_exps_below" in texts["logarithms of a softmax of 40x50"], True, "no exp below a logarithm is above 1")
equal([text.count("tcv_load_f32(p0") for name, text in texts.items() if name.startswith("max and argmax f32")], [5],
      "an extreme and its position share what they load")
equal([texts[f"softmax of {size}"].count("tcv_exps_below_f32") for size in ("1x256", "3x255")], [1, 0],
      "of a long row it is asked once for four vectors whether all operands of an exp are near")
run_all(CASES, everywhere=True)
done()
