# SPDX-License-Identifier: Apache-2.0
"""Depthwise convolutions of bytes by words and by pairs (templates/window/), for teams of 1, 2 and 5, between guard
zones: 64 channels side by side, some that are left, 32 of two rows; factors that need limits and those that do not. Two
rows of windows share words where the stride is 1 and a byte is free: odd and even numbers of rows, several images,
shares that begin at odd rows. One program a case, as the functions of such kernels have the same names."""
from dataclasses import replace

from harness import buffer, Case, loop, run_all
from tap import done, ok
from tensor_compile.emit.integers.windows import emit_byte_window
from tensor_compile.loops.loop_ir import Phase, Store
from tensor_compile.loops.scalar_ir import Const, Reduction
from tensor_compile.symbolic import Sym, sym
from writing import f32, load, op, small

# images, height, width, channels, window, stride, padding, dtypes of image and results, largest factor, zero point
CASES = ((1, 5, 4, 16, 3, 1, 1, "u8", "i8", 0.02, -3), (1, 6, 5, 32, 3, 2, 1, "i8", "u8", 2, -3),
         (1, 5, 4, 48, 3, 1, 1, "i8", "i8", 0.02, -3), (1, 3, 3, 96, 2, 1, 0, "u8", "u8", 0.02, -3),
         (1, 6, 5, 112, 3, 2, 1, "u8", "i8", 0.02, -3), (1, 5, 3, 144, 3, 1, 1, "i8", "i8", 2, -3),
         (1, 3, 4, 192, 3, 1, 1, "i8", "u8", 0.02, -3), (2, 7, 3, 16, 3, 1, 1, "i8", "i8", 0.02, -128),
         (2, 4, 3, 32, 3, 1, 1, "u8", "u8", 0.02, 0), (3, 3, 3, 32, 3, 1, 1, "i8", "u8", 0.02, 7),
         (2, 5, 4, 48, 3, 1, 0, "i8", "i8", 0.02, 5), (2, 4, 3, 64, 3, 1, 1, "i8", "i8", 0.02, -128),
         (2, 7, 3, 64, 3, 1, 1, "u8", "u8", 0.02, 0), (3, 1, 3, 64, 3, 1, 1, "u8", "u8", 0.02, 0),
         (2, 6, 4, 96, 3, 1, 1, "u8", "i8", 0.02, 4), (2, 5, 3, 144, 3, 1, 1, "i8", "u8", 0.02, 9),
         (2, 6, 5, 128, 3, 1, 0, "u8", "u8", 0.02, 3), (1, 6, 5, 64, 4, 1, 1, "u8", "u8", 0.02, 0))


def window(images: int, h: int, w: int, channels: int, taps: int, stride: int, pad: int, dtype: str, to: str,
           most: float, zero: int) -> Case:
    rows, columns = ((size + 2 * pad - taps) // stride + 1 for size in (h, w))
    n, r, p, c = loop("n", images), loop("r", rows), loop("p", columns), loop("c", channels)
    i, j = Sym("i", 0, taps - 1), Sym("j", 0, taps - 1)
    row, column = sym(r) * stride + sym(i) - pad, sym(p) * stride + sym(j) - pad
    x, y = buffer("x", dtype, (images, h, w, channels), "input"), \
        buffer("y", to, (images, rows, columns, channels), "output")
    k, s = buffer("k", "i8", (taps, taps, channels), "packed"), buffer("s", "f32", (channels,), "packed")
    b = buffer("b", "i32", (channels,), "packed")
    at = load("x", sym(n), row, column, sym(c), dtype=dtype, other=Const(dtype, 0x83) if pad else None,
              valid=(row, h - 1 - row, column, w - 1 - column) if pad else ())
    weight = load("k", sym(i), sym(j), sym(c), dtype="i8")
    term = op("pair", op("cast", at, dtype="i32"), op("cast", weight, dtype="i32"), dtype="i32")
    total = op("add", Reduction("dot", "free", "i32", (i, j), term), load("b", sym(c), dtype="i32"), dtype="i32")
    value = op("cast", op("add", op("round", op("mul", op("cast", total), load("s", sym(c)))), f32(zero)), dtype=to)
    made = small(f"{dtype} to {to}, {taps}x{taps}/{stride} of {images}x{h}x{w}x{channels}, factors to {most}, "
                 f"zero {zero}", (n, r, p),
                 [Phase((c,), (), (Store("y", (sym(n), sym(r), sym(p), sym(c)), value),))], (x, k, s, b, y))
    return replace(made, most=most)


for sizes in CASES:
    case, taps, stride = window(*sizes), *sizes[4:6]
    text = emit_byte_window(case.kernel, "avx512_vnni", "k", [])
    ok(text is not None and ("below0" in text) == (stride == 1 and taps < 4),
       f"{case.name} is a window of words, two rows at a time where the stride is 1 and a byte is free")
    # of an odd number of rows pairs are made that nothing reads, and without padding its value
    run_all([case], isas=("avx2", "avx512_vnni"), flags=("-Wno-unused",))
done()
