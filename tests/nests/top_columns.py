# SPDX-License-Identifier: Apache-2.0
"""Sorted columns, and the first few of them: elements, positions and both, of equal elements, NaN, infinities and
zeros of both signs; at numbers of columns where strips, vectors and lanes are whole, and where some are left, and at
numbers of terms from those that are kept on."""
from cases import buffer, Case, load, loop, Phase, RowSort, small, Store, sym
from harness import dim, run_all
from tap import done, equal
from tensor_compile.emit.kernels import emit_kernel
from tensor_compile.symbolic import const, Sym, wrap


def top(dtype: str, count: int, outer: int, terms: int, n: int, down: bool, what: str, symbolic: bool = False,
        below: int = 5, room: int = 2) -> Case:
    """room: words of scratch for each term; 16 where all rows are sorted side by side."""
    dims = (dim("t"),) if symbolic else ()
    size = sym(dims[0]) + count if symbolic else wrap(terms)
    o, v, s, k = loop("o", outer), loop("v", n), loop("s", size), loop("k", count)
    g = Sym("g", 0, size - 1)
    x, w = buffer("x", dtype, (outer, size, n), "input"), buffer("w", "i64", (room * size,), "scratch")
    y, z = buffer("y", dtype, (outer, count, n), "output"), buffer("z", "i64", (outer, count, n), "output")
    sort = RowSort("w", load("x", sym(o), sym(s), sym(v), dtype=dtype), const(count), down)
    at = load("w", sym(k) if count > 1 else 0, dtype="i64")
    place = (sym(o), sym(k) if count > 1 else 0, sym(v))
    stores = [Store("y", tuple(map(wrap, place)), load("x", sym(o), sym(g), sym(v), dtype=dtype, dynamic=((g, at),))),
              Store("z", tuple(map(wrap, place)), at)]
    kept = {"elements": stores[:1], "positions": stores[1:], "both": stores}[what]
    params = (x, w, *(b for b in (y, z) if any(store.buffer == b.name for store in kept)))
    phases = [Phase((s,), (sort,), (), False), Phase((k,) if count > 1 else (), (), tuple(kept))]
    name = f"{what} of {count} of {outer}x{terms}x{n} {dtype}{' down' * down}{' dynamic' * symbolic}" \
        f"{' side by side' * (room > 2)}"
    return small(name, (o, v), phases, params, dims, {d: terms - count for d in dims}, extreme=dtype == "f32",
                 below=below)


CASES = [top(dtype, count, *sizes, down, what) for dtype, count, sizes, down, what in (
    ("f32", 1, (1, 1, 16), True, "both"), ("f32", 1, (2, 9, 40), False, "both"),
    ("f32", 3, (1, 3, 64), True, "both"), ("f32", 3, (1, 64, 200), True, "elements"),
    ("f32", 3, (2, 20, 70), False, "both"), ("f32", 2, (1, 300, 33), True, "positions"),
    ("f32", 2, (1, 300, 33), False, "elements"), ("f32", 8, (1, 8, 8), True, "both"),
    ("f32", 8, (2, 40, 17), True, "both"), ("f32", 5, (1, 400, 130), False, "both"),
    ("f32", 9, (1, 40, 33), True, "both"), ("f32", 3, (3, 20, 5), True, "both"),
    ("f32", 8, (1, 600, 16), True, "elements"), ("i32", 1, (2, 9, 20), True, "both"),
    ("i32", 4, (1, 30, 100), True, "both"), ("i32", 4, (1, 30, 100), False, "both"),
    ("i32", 8, (1, 20, 129), False, "elements"), ("i32", 2, (1, 200, 31), True, "positions"),
    ("i64", 2, (1, 20, 40), True, "both"))]
CASES += [top("f32", 3, 2, terms, 37, down, "both", True) for terms in (3, 4, 30) for down in (True, False)]
CASES += [top("i32", 4, 1, 300, 50, down, "both", below=3) for down in (True, False)]

CASES += [top(dtype, count, *sizes, down, what, room=16) for dtype, count, sizes, down, what in (
    ("f32", 9, (1, 9, 16), True, "both"), ("f32", 10, (2, 10, 8), False, "both"),
    ("f32", 11, (1, 37, 33), True, "both"),
    ("f32", 64, (1, 64, 40), True, "elements"), ("f32", 100, (1, 100, 21), False, "positions"),
    ("f32", 20, (2, 129, 17), False, "both"), ("i32", 40, (1, 40, 20), True, "both"),
    ("i32", 33, (1, 33, 16), False, "both"))]
CASES += [top("i32", 50, 1, 70, 35, down, "both", below=3, room=16) for down in (True, False)]
CASES += [top("f32", n, 1, n, 16, True, "both", room=16) for n in (12, 13, 15, 16, 17, 31, 32)]

texts = {case.name: emit_kernel(case.kernel, "avx512").text for case in CASES}
equal([name for name, text in texts.items() if "tcv_store" not in text],
      ["both of 9 of 1x40x33 f32 down", "both of 3 of 3x20x5 f32 down", "both of 2 of 1x20x40 i64 down"],
      "up to eight of eight columns and more are kept in vectors")
equal([name for name, text in texts.items() if ("tc_sort_lanes(" in text) != name.endswith("side by side")], [],
      "what has room is sorted side by side")
equal("tcv_cast_i32_i64" in texts["elements of 3 of 1x64x200 f32 down"], False,
      "positions that nobody asks for are not kept")
run_all(CASES, everywhere=True)
done()
