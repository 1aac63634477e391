# SPDX-License-Identifier: Apache-2.0
"""Elements that lie in turn in memory (emit/nests/in_turn.py), on every instruction set against the direct evaluation,
for teams of 1, 2 and 5, between guard zones; a part of them under the address sanitizer.

Turns of 2, 3, 4 and 8 elements; rows shorter than a vector, of whole vectors, with some left, and of several pieces;
all dtypes of vectors; turns that are loaded, stored, both, and filled by stores of several operations."""
import sys

from harness import buffer, Case, loop, run_all
from tap import done, ok
from tensor_compile.emit.kernels import emit_kernel
from tensor_compile.loops.loop_ir import Phase, Store
from tensor_compile.loops.scalar_ir import Scalar
from tensor_compile.symbolic import sym
from writing import f32, load, op, small

WIDTHS = (1, 7, 16, 37, 48)
DTYPES = ("i32", "f16", "i8", "u8", "i16", "u16")


def doubled(x: Scalar, dtype: str) -> Scalar:
    return op("add", x, x, dtype=dtype) if dtype in ("f32", "i32") else x


def parted(turn: int, width: int, dtype: str, images: int = 2) -> Case:
    """[width, turn] to [turn, width]."""
    n, t, v = loop("n", images), loop("t", turn), loop("v", width)
    x = buffer("x", dtype, (images, width, turn), "input")
    y = buffer("y", dtype, (images, turn, width), "output")
    value = doubled(load("x", sym(n), sym(v), sym(t), dtype=dtype), dtype)
    return small(f"{width} turns of {turn} {dtype} parted", (n, t),
                 [Phase((v,), (), (Store("y", (sym(n), sym(t), sym(v)), value),))], (x, y), extreme=True)


def joined(turn: int, width: int, dtype: str, images: int = 2) -> Case:
    """[turn, width] to [width, turn]."""
    n, t, v = loop("n", images), loop("t", turn), loop("v", width)
    x = buffer("x", dtype, (images, turn, width), "input")
    y = buffer("y", dtype, (images, width, turn), "output")
    value = doubled(load("x", sym(n), sym(t), sym(v), dtype=dtype), dtype)
    return small(f"{width} turns of {turn} {dtype} joined", (n, t),
                 [Phase((v,), (), (Store("y", (sym(n), sym(v), sym(t)), value),))], (x, y), extreme=True)


def guarded(width: int) -> Case:
    """Elements in front of a line and behind it are numbers."""
    n, t, v = loop("n", 2), loop("t", 2), loop("v", width)
    x, y = buffer("x", "f32", (2, 2 * width), "input"), buffer("y", "f32", (2, width, 2), "output")
    at = 2 * sym(v) + sym(t) - 1
    value = load("x", sym(n), at, valid=(at,), other=f32(2.5))
    return small(f"{width} turns of 2 behind a number", (n, t),
                 [Phase((v,), (), (Store("y", (sym(n), sym(v), sym(t)), value),))], (x, y))


def products(width: int, turn: int = 2) -> Case:
    """Complex numbers: two loads, two stores, without rows of a turn. Of 3 a part of each is no part of it."""
    n, v = loop("n", 2), loop("v", width)
    x, z, y = (buffer(name, "f32", (2, width, turn), kind) for name, kind in
               (("x", "input"), ("z", "input"), ("y", "output")))
    a, b, c, d = (load(name, sym(n), sym(v), i) for name in "xz" for i in (0, 1))
    real = op("sub", op("mul", a, c), op("mul", b, d))
    other = op("add", op("mul", a, d), op("mul", b, c))
    stores = tuple(Store("y", (sym(n), sym(v), sym(v) * 0 + i), value) for i, value in enumerate((real, other)))
    return small(f"{width} products of complex numbers, {turn} apart", (n,), [Phase((v,), (), stores)], (x, z, y))


def repeated(width: int, turn: int) -> Case:
    """Each element to all places of a turn."""
    n, t, v = loop("n", 3), loop("t", turn), loop("v", width)
    x, y = buffer("x", "f32", (3, width), "input"), buffer("y", "f32", (3, width, turn), "output")
    return small(f"{width} elements {turn} times", (n, t),
                 [Phase((v,), (), (Store("y", (sym(n), sym(v), sym(t)), load("x", sym(n), sym(v))),))], (x, y))


def one_row(width: int) -> Case:
    """No rows but those of a turn, and pieces."""
    t, v = loop("t", 3), loop("v", width)
    x, y = buffer("x", "u8", (width, 3), "input"), buffer("y", "f32", (3, width), "output")
    value = op("mul", op("cast", load("x", sym(v), sym(t), dtype="u8")), f32(1 / 255))
    return small(f"{width} pixels of bytes", (t,), [Phase((v,), (), (Store("y", (sym(t), sym(v)), value),))], (x, y))


def all_cases() -> list[Case]:
    out = [make(turn, width, "f32") for make in (parted, joined) for turn in (2, 3, 4, 8) for width in WIDTHS]
    out += [make(turn, 37, dtype) for make in (parted, joined) for turn in (2, 3, 4, 8) for dtype in DTYPES]
    out += [make(turn, width, "f32", 1) for make in (parted, joined)
            for turn, width in ((3, 2050), (2, 1024), (4, 3000))]
    out += [products(width, turn) for width in WIDTHS for turn in (2, 3)]
    out += [repeated(width, turn) for width in (3, 20, 32) for turn in (2, 4)]
    return [*out, guarded(19), one_row(2100), one_row(300)]


def walked(case: Case) -> bool:
    return "tcv_take_" in (text := emit_kernel(case.kernel, "avx512").text) or "tcv_put_" in text


cases = all_cases()
for case in cases:
    expected = not any(word in case.name for word in ("3 apart", "behind a number"))
    ok(walked(case) or not expected, f"{case.name}: elements in turn are moved together")
others = [Case(f"{case.name}, others", case.kernel) for case in (parted(5, 20, "f32"), joined(3, 20, "bool"))]
for case in others:
    ok(not walked(case), f"{case.name}: each by itself")
everything = "--all" in sys.argv
run_all([*cases, *others], everywhere=everything)
run_all(cases[:: 3 if everything else 9], sanitize=True, isas=("avx512", "avx2"))
done()
