# SPDX-License-Identifier: Apache-2.0
"""Nests over windows of images: poolings and depthwise convolutions, channels last or lines of an image last."""
from __future__ import annotations

from harness import Case, buffer, loop
from tensor_compile.loops.loop_ir import Phase, Store
from tensor_compile.loops.scalar_ir import Const, Reduction
from tensor_compile.symbolic import Sym, const, floordiv, sym
from writing import f32, load, op, sized, small

# height, width, channels, window, stride, padding of images that are smaller than a part of a row, or end behind one
OPENED = ((1, 1, 20, 3, 1, 1), (2, 2, 16, 3, 2, 1), (3, 3, 33, 5, 1, 2), (2, 9, 16, 3, 1, 1), (3, 8, 20, 3, 1, 0),
          (2, 36, 16, 3, 1, 1), (1, 71, 20, 3, 2, 1), (4, 6, 16, 5, 2, 4))
# height, width, window, stride, padding, distance of terms, dtype of lines that are short, or end beside a vector
OPENED_LINES = ((3, 1, 3, 1, 1, 1, "f32", "f32"), (3, 2, 3, 2, 1, 1, "f32", "f32"), (4, 16, 3, 1, 1, 1, "f32", "f32"),
                (4, 17, 3, 1, 1, 1, "f32", "f32"), (4, 18, 5, 1, 2, 1, "f32", "f32"), (3, 32, 3, 2, 1, 1, "f32", "f32"),
                (3, 31, 3, 2, 1, 1, "f32", "f32"), (3, 34, 4, 2, 1, 1, "f32", "f32"), (3, 48, 3, 1, 1, 1, "f32", "f32"),
                (3, 47, 9, 1, 20, 5, "f32", "f32"), (3, 97, 3, 3, 1, 1, "i8", "i8"), (3, 33, 7, 1, 3, 1, "f32", "f16"))


def windows() -> list[Case]:
    out = []
    for w, stride, kind in ((8, 2, "max"), (33, 2, "sum"), (40, 1, "min"), (64, 3, "max")):
        o = (w + 2 - 3) // stride + 1
        c, v = loop("c", 4), loop("v", o)
        k = Sym("k", 0, 2)
        at = sym(v) * stride + sym(k) - 1
        x, y = buffer("x", "f32", (4, w), "input"), buffer("y", "f32", (4, o), "output")
        value = Reduction(kind, "seq" if kind == "sum" else "free", "f32", (k,), load("x", sym(c), at),
                          (at, w - 1 - at))
        out.append(small(f"window {kind} {w}/{stride}", (c,), [Phase((v,), (), (Store("y", (sym(c), sym(v)), value),))],
                         (x, y), extreme=kind != "sum"))
        # channels last: the window is the same for all lanes
        d = loop("d", 20)
        p = loop("p", o)
        at = sym(p) * stride + sym(k) - 1
        x, y = buffer("x", "f32", (w, 20), "input"), buffer("y", "f32", (o, 20), "output")
        value = Reduction(kind, "seq" if kind == "sum" else "free", "f32", (k,), load("x", at, sym(d)),
                          (at, w - 1 - at))
        out.append(small(f"window {kind} {w}/{stride} channels last", (p,),
                         [Phase((d,), (), (Store("y", (sym(p), sym(d)), value),))], (x, y)))
    # the first and the last row lie in the padding for all lanes, the first and the last column for some
    for h, w, kind in ((1, 7, "max"), (3, 20, "sum"), (2, 64, "min")):
        r, v, i, j = loop("r", h), loop("v", w), Sym("i", 0, 2), Sym("j", 0, 2)
        row, column = sym(r) + sym(i) - 1, sym(v) + sym(j) - 1
        x, y = buffer("x", "f32", (h, w), "input"), buffer("y", "f32", (h, w), "output")
        value = Reduction(kind, "seq" if kind == "sum" else "free", "f32", (i, j), load("x", row, column),
                          (row, h - 1 - row, column, w - 1 - column))
        out.append(small(f"window {kind} of {h} x {w}", (r,), [Phase((v,), (), (Store("y", (sym(r), sym(v)), value),))],
                         (x, y)))
    # the first channel is a number: what a load has of its own is not all that it relies on
    for h, w, stride in ((3, 20, 1), (9, 17, 2), (17, 24, 8)):
        c, r, v, i, j = loop("c", 3), loop("r", h), loop("v", (w - 1) // stride + 1), Sym("i", 0, 4), Sym("j", 0, 4)
        row, column = sym(r) + sym(i) - 2, sym(v) * stride + sym(j) - 2
        x, y = buffer("x", "f32", (2, h, w), "input"), buffer("y", "f32", (3, h, (w - 1) // stride + 1), "output")
        at = load("x", sym(c) - 1, row, column, valid=(sym(c) - 1,), other=f32(1.5))
        value = Reduction("sum", "seq", "f32", (i, j), at, (row, h - 1 - row, column, w - 1 - column))
        out.append(small(f"window sum of {h} x {w}/{stride} behind a channel", (c, r),
                         [Phase((v,), (), (Store("y", (sym(c), sym(r), sym(v)), value),))], (x, y)))
    return out


def depthwise(opened: bool = False) -> list[Case]:
    """Images whose channels lie side by side, at widths where parts of a row begin and end. A residual is added, the
    last channels are no whole vector. opened: height and width are dims."""
    out = []
    for h, w, channels, window, stride, pad in ((3, 5, 20, 3, 1, 1), (4, 12, 16, 3, 1, 0), (4, 21, 33, 3, 2, 1),
                                                (5, 26, 16, 5, 1, 2), (6, 28, 20, 5, 2, 2), (4, 42, 16, 2, 2, 0),
                                                (3, 7, 100, 3, 1, 1), *(OPENED if opened else ())):
        name = f"{window}x{window}/{stride} of {h}x{w}x{channels}{', dynamic' * opened}"
        (h, of_h, is_h), (w, of_w, is_w) = sized("h", h, opened), sized("w", w, opened)
        dims, sizes = (*of_h, *of_w), is_h | is_w
        rows, columns = (floordiv(n + (2 * pad - window), const(stride)) + 1 for n in (h, w))
        r, p, c, i, j = loop("r", rows), loop("p", columns), loop("c", channels), Sym("i", 0, window - 1), \
            Sym("j", 0, window - 1)
        row, column = sym(r) * stride + sym(i) - pad, sym(p) * stride + sym(j) - pad
        x, y = buffer("x", "f32", (h, w, channels), "input"), buffer("y", "f32", (rows, columns, channels), "output")
        k, z = buffer("k", "f32", (window, window, channels), "packed"), buffer("z", "f32", y.shape, "input")
        valid = (row, h - 1 - row, column, w - 1 - column) if pad else ()
        at = load("x", row, column, sym(c))
        pair = op("pair", at, load("k", sym(i), sym(j), sym(c)))
        total = Reduction("dot", "seq", "f32", (i, j), pair, valid)
        here = (sym(r), sym(p), sym(c))
        value = op("maximum", op("add", total, load("z", *here)), f32(0.0))
        out.append(small(f"depthwise {name}", (r, p), [Phase((c,), (), (Store("y", here, value),))], (x, k, z, y), dims,
                         sizes))
        most = Reduction("max", "free", "f32", (i, j), at, valid)
        if stride == 2:
            out.append(small(f"pooling {name}", (r, p), [Phase((c,), (), (Store("y", here, most),))], (x, y), dims,
                             sizes, extreme=True))
        elif window == 3:   # two windows of the same terms
            both = op("sub", most, Reduction("sum", "seq", "f32", (i, j), at, valid))
            out.append(small(f"two windows {name}", (r, p), [Phase((c,), (), (Store("y", here, both),))], (x, y), dims,
                             sizes))
    return out


def lines(opened: bool = False) -> list[Case]:
    """Images whose width is innermost: channels, rows and columns that are no whole vector, one, or several; of some
    columns every lane has all terms. What is added to a result may lie where it is stored. opened: height and width are
    dims."""
    out = []
    for h, w, window, stride, pad, apart, dtype, source in (
            (5, 9, 3, 1, 1, 1, "f32", "f32"), (4, 33, 3, 2, 1, 1, "f32", "f32"), (7, 57, 3, 2, 1, 1, "f32", "f32"),
            (6, 70, 3, 1, 1, 1, "f32", "f32"), (9, 130, 3, 2, 0, 1, "f32", "f32"), (6, 80, 5, 2, 2, 1, "f32", "f32"),
            (8, 40, 5, 1, 2, 1, "f32", "f32"), (6, 64, 2, 2, 0, 1, "f32", "f32"), (9, 60, 3, 3, 1, 1, "f32", "f32"),
            (7, 71, 3, 2, 2, 2, "f32", "f32"), (4, 36, 4, 2, 1, 1, "f32", "f32"), (5, 31, 1, 2, 0, 1, "f32", "f32"),
            (5, 68, 3, 2, 1, 1, "i32", "i32"), (5, 68, 3, 2, 1, 1, "f32", "f16"), (4, 67, 4, 2, 1, 1, "f32", "f16"),
            (5, 66, 3, 2, 1, 1, "i8", "i8"), (5, 35, 3, 2, 1, 1, "u8", "u8"), (4, 40, 3, 2, 0, 1, "i16", "i16"),
            (5, 37, 3, 2, 1, 1, "u16", "u16"), (4, 65, 3, 2, 1, 1, "bool", "bool"), (5, 50, 3, 1, 1, 1, "i8", "i8"),
            (3, 300, 3, 2, 1, 1, "f32", "f32"), (3, 5, 3, 2, 1, 1, "f32", "f32"),
            (9, 63, 3, 3, 0, 1, "f32", "f32"), (8, 56, 4, 4, 0, 1, "f32", "f32"), (9, 70, 5, 4, 2, 1, "f32", "f32"),
            (16, 56, 8, 8, 0, 1, "f32", "f32"), (9, 140, 3, 8, 1, 1, "f32", "f32"), (7, 70, 3, 3, 2, 2, "f32", "f32"),
            (6, 55, 2, 3, 1, 1, "f32", "f32"), (9, 51, 3, 3, 1, 1, "i32", "i32"), (9, 54, 3, 3, 1, 1, "f32", "f16"),
            (9, 60, 3, 3, 1, 1, "u8", "u8"), (8, 68, 4, 4, 1, 1, "i16", "i16"), (9, 57, 3, 3, 1, 1, "bool", "bool"),
            (8, 3, 3, 3, 1, 1, "f32", "f32"), (9, 80, 6, 5, 1, 1, "f32", "f32"),
            # wider than the image: the end of one line has the address of the next one's beginning
            (4, 4, 8, 2, 4, 1, "f32", "f32"), (6, 3, 6, 2, 3, 1, "f32", "f32"), (8, 4, 8, 4, 4, 1, "f32", "f32"),
            *(OPENED_LINES if opened else ())):
        reach = apart * (window - 1) + 1
        name = f"{window}x{window}/{stride} by {apart} of {h}x{w} {source}{', dynamic' * opened}"
        (h, of_h, is_h), (w, of_w, is_w) = sized("h", h, opened), sized("w", w, opened)
        dims = {"dims": (*of_h, *of_w), "sizes": is_h | is_w}
        rows, columns = (floordiv(n + (2 * pad - reach), const(stride)) + 1 for n in (h, w))
        c, r, v = loop("c", 3), loop("r", rows), loop("v", columns)
        i, j = Sym("i", 0, window - 1 if window > 1 else 1), Sym("j", 0, window - 1)
        row, column = sym(r) * stride + sym(i) * apart - pad, sym(v) * stride + sym(j) * apart - pad
        x, y = buffer("x", source, (3, h, w), "input"), buffer("y", dtype, (3, rows, columns), "output")
        valid = (row, h - 1 - row, column, w - 1 - column) if pad or window == 1 else ()
        at = load("x", sym(c), row, column, dtype=source)
        at = op("cast", at, dtype=dtype) if dtype != source else at
        here = (sym(c), sym(r), sym(v))
        most = Reduction("any" if dtype == "bool" else "max", "free", dtype, (i, j), at, valid)
        out.append(small(f"pooling of lines {name}", (c, r), [Phase((v,), (), (Store("y", here, most),))], (x, y),
                         extreme=True, **dims))
        if dtype != "f32":
            continue
        k, b = buffer("k", "f32", (3, window + 1, window), "packed"), buffer("b", "f32", (3,), "packed")
        z = buffer("z", "f32", y.shape, "input")
        dot = Reduction("dot", "seq", "f32", (i, j), op("pair", at, load("k", sym(c), sym(i), sym(j))), valid)
        value = op("maximum", op("add", dot, load("b", sym(c))), f32(0.0))
        out.append(small(f"depthwise of lines {name}", (c, r), [Phase((v,), (), (Store("y", here, value),))],
                         (x, k, b, y), **dims))
        if window == 3:   # two windows of the same terms, and what lies where they are stored
            both = op("add", op("sub", most, Reduction("sum", "seq", "f32", (i, j), at, valid)), load("z", *here))
            out.append(small(f"two windows of lines {name}", (c, r), [Phase((v,), (), (Store("y", here, both),))],
                             (x, z, y), **dims))
    # long windows of one dim, whose loads are put together where vectors have 512 bits
    for w, window, pad, apart in ((100, 31, 15, 1), (70, 9, 4, 1), (64, 16, 0, 1), (112, 33, 16, 1), (130, 10, 9, 2),
                                  (12, 9, 4, 1), (200, 7, 3, 1)):
        name = f"depthwise of a line of {w}, {window} terms by {apart}{', dynamic' * opened}"
        w, of_w, is_w = sized("w", w, opened)
        columns = w + (2 * pad - apart * (window - 1))
        c, v, j = loop("c", 5), loop("v", columns), Sym("j", 0, window - 1)
        column = sym(v) + sym(j) * apart - pad
        x, k, y = buffer("x", "f32", (5, w), "input"), buffer("k", "f32", (5, window), "packed"), \
            buffer("y", "f32", (5, columns), "output")
        dot = Reduction("dot", "seq", "f32", (j,), op("pair", load("x", sym(c), column), load("k", sym(c), sym(j))),
                        (column, w - 1 - column) if pad else ())
        out.append(small(name, (c,), [Phase((v,), (), (Store("y", (sym(c), sym(v)), dot),))], (x, k, y), of_w, is_w))
    # above and below an image lies a number, and each term is it or an element
    c, r, v, i, j = loop("c", 3), loop("r", 4), loop("v", 20), Sym("i", 0, 2), Sym("j", 0, 1)
    x, y = buffer("x", "f32", (3, 6, 40), "input"), buffer("y", "f32", (3, 4, 20), "output")
    row, column = sym(r) * 2 + sym(i) - 1, sym(v) * 2 + sym(j)
    at = load("x", sym(c), row, column, valid=(row, 5 - row), other=f32(1.5))
    most = Reduction("max", "free", "f32", (i, j), at)
    out.append(small("pooling of lines between others", (c, r), [Phase((v,), (), (Store("y", (sym(c), sym(r), sym(v)),
                                                                                        most),))], (x, y)))
    return out


def depthwise_bytes() -> list[Case]:
    """The same of bytes: sums of i32, then scaled and rounded to bytes again. Beside the image stands its zero."""
    out = []
    for h, w, channels, window, stride, pad, dtypes in (
            (3, 5, 20, 3, 1, 1, ("i8", "i8")), (4, 12, 16, 3, 1, 0, ("u8", "i8")), (4, 21, 33, 3, 2, 1, ("i8", "i8")),
            (5, 26, 16, 5, 1, 2, ("i8", "u8")), (6, 28, 20, 5, 2, 2, ("u8", "u8")), (4, 42, 16, 2, 2, 0, ("i8", "i8"))):
        rows, columns = ((n + 2 * pad - window) // stride + 1 for n in (h, w))
        r, p, c, i, j = loop("r", rows), loop("p", columns), loop("c", channels), Sym("i", 0, window - 1), \
            Sym("j", 0, window - 1)
        row, column = sym(r) * stride + sym(i) - pad, sym(p) * stride + sym(j) - pad
        x, y = buffer("x", dtypes[0], (h, w, channels), "input"), buffer("y", "i8", (rows, columns, channels), "output")
        k, s = buffer("k", dtypes[1], (window, window, channels), "packed"), buffer("s", "f32", (channels,), "packed")
        valid = (row, h - 1 - row, column, w - 1 - column) if pad else ()
        at = load("x", row, column, sym(c), dtype=dtypes[0], valid=valid, other=Const(dtypes[0], 0x83) if pad else None)
        term = op("pair", op("cast", at, dtype="i32"), op("cast", load("k", sym(i), sym(j), sym(c), dtype=dtypes[1]),
                                                          dtype="i32"), dtype="i32")
        total = Reduction("dot", "free", "i32", (i, j), term)
        scaled = op("mul", op("cast", total), op("mul", load("s", sym(c)), f32(0.001)))
        value = op("cast", op("add", op("round", scaled), f32(-3.0)), dtype="i8")
        name = f"{dtypes[0]} by {dtypes[1]}, {window}x{window}/{stride} of {h}x{w}x{channels}"
        out.append(small(f"depthwise {name}", (r, p), [Phase((c,), (), (Store("y", (sym(r), sym(p), sym(c)), value),))],
                         (x, k, s, y)))
    return out
