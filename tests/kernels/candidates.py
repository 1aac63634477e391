# SPDX-License-Identifier: Apache-2.0
"""Every candidate of the table on every instruction set that runs here: equal to the reference bit for bit, on random
and extreme data, with teams of 1, 5 and 9, no byte touched outside the buffers (autotune/ does the comparing).

usage: candidates.py ARCH [--all] [COMPILER...]     ARCH: x86_64, aarch64, riscv64

Of the forms of a tile every third one, and of the kernels that it fits every thirteenth, other ones for its neighbour
in the table, of sets with many tiles a third of these and each at least once, compiled with -Og; --all of them, as
users compile them.
"""
from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

from cases import causal, convolution, dim, heads, image, in_place, matmul, padded, predicated, quantized, sums, \
    term_by_term, typed, window, with_residual
from joined import joined
from processor import lacks, own_sets
from tap import done, equal, note, ok, skip
from tensor_compile import target as targets
from tensor_compile.compile import harness, toolchain
from tensor_compile.compile.cache import Cache
from tensor_compile.compile.harness import Case, Toolset, program
from tensor_compile.emit.contraction import candidates as table, image_lines, term_by_term as in_registers
from tensor_compile.emit.integers.windows import multiplies_four
from tensor_compile.emit.contraction.source import emit_contraction
from tensor_compile.emit.contraction.candidate_table import Candidate
from tensor_compile.emit.contraction.in_registers import named
from tensor_compile.instruction_sets import instruction_set
from tensor_compile.loops import products
from tensor_compile.loops.contraction_schedule import Schedule
from tensor_compile.symbolic import sym

EMULATOR = {"x86_64": (), "aarch64": ("qemu-aarch64", "-L", "/usr/aarch64-linux-gnu"),
            "riscv64": ("qemu-riscv64", "-L", "/usr/riscv64-linux-gnu")}
TURNED = "results column by column"
CUT = "taps in blocks:"
PLANES = "windows of few planes:"
PARTS = "turns of the outermost loop:"
LINES = "lines of images:"
TERM_BY_TERM = "columns term by term:"
COPIED = "copied columns:"
MANY = 8    # tiles of a set, of whose kernels the short form takes a third, and each at least once
COMPILER = {"x86_64": "cc", "aarch64": "aarch64-linux-gnu-gcc", "riscv64": "riscv64-linux-gnu-gcc"}
WHERE = {"x86_64": "x86_64", "aarch64": "aarch64", "riscv64": "riscv64"}


def integers(arch: str, panel: int) -> list[tuple[str, object, list[dict]]]:
    """Products of short integers: of every pair of dtypes, with tails in rows, columns, terms and groups."""
    m, k = dim("m"), dim("k")
    out = []
    for a, b in (("i8", "i8"), ("u8", "i8"), ("i8", "u8"), ("u8", "u8"), ("i16", "i16"), ("i8", "i16"), ("u8", "i16")):
        product = products.integers(a, b, arch)[0]
        name = f"{a} x {b}"
        out += [(f"{name} 37x70x19", typed(37, 70, 19, product, panel), [{}]),
                (f"{name} 21x70x24", typed(21, 70, 24, product, panel), [{}]),
                (f"{name} dynamic", typed(sym(m), 33, sym(k), product, panel), [{m: 1, k: 1}, {m: 9, k: 70}]),
                (f"{name} 3x3", window(5, 6, 20, product, panel=panel), [{}]),
                (f"{name} 3x3 stride 2, planar, filled", window(3, 8, 17, product, 2, 1, True, panel, 0x7d), [{}])]
    if arch == "x86_64":
        for a in ("i8", "u8"):
            sorts = replace(products.integers(a, "i8", arch)[0], ordered=True)
            out += [(f"{a} x i8 37x70x{k}, ordered", typed(37, 70, k, sorts, panel), [{}]) for k in (19, 1040)]
            out += [(f"{a} x i8 3x3, ordered", window(3, 8, 17, sorts, 2, 1, True, panel, 0x7d), [{}])]
    return [*out, ("i8 x i8 1x300x40", typed(1, 300, 40, products.integers("i8", "i8", arch)[0], panel), [{}])]


def halves(panel: int) -> list[tuple[str, object, list[dict]]]:
    """Weights of 16 bits that are widened as they are loaded."""
    out = []
    for dtype in ("f16", "bf16"):
        product = products.Product("f32", dtype)
        m, n, k = dim("m"), dim("n"), dim("k")
        out += [(f"f32 x {dtype} 37x70x19", typed(37, 70, 19, product, panel), [{}]),
                (f"f32 x {dtype}, b in place, 3x64xk", in_place(3, 64, sym(k), dtype), [{k: 1}, {k: 37}]),
                (f"f32 x {dtype}, b in place, all dynamic", in_place(sym(m), sym(n), sym(k), dtype),
                 [{m: 5, n: 100, k: 7}, {m: 8, n: 17, k: 33}]),
                (f"f32 x {dtype} 3x3", window(8, 6, 48, product, panel=panel), [{}])]
    return out


def kernels(panel: int) -> list[tuple[str, object, list[dict]]]:
    """(name, kernel, sizes of its dims): one of every form, with tails in rows, columns and terms."""
    m, n, k, b = dim("m"), dim("n"), dim("k"), dim("b")
    sm, sn, sk, sb = sym(m), sym(n), sym(k), sym(b)
    h, w = dim("h"), dim("w")
    return [
        ("constant 37x150x19", matmul(37, 150, 19, panel), [{}]),
        ("constant 29x24x9, half a panel, residual", matmul(29, 24, 9, panel, residual=True), [{}]),
        ("constant 16x256x8, residual", matmul(16, 256, 8, panel, residual=True), [{}]),
        ("constant transposed 13x33x5", matmul(13, 33, 5, panel, transposed=True), [{}]),
        ("dynamic rows", matmul(sm, 80, 7, panel), [{m: 1}, {m: 2}, {m: 17}, {m: 29}]),
        ("dynamic rows, panels that are far", matmul(sm, 272, 250, panel), [{m: 2}, {m: 17}]),
        ("all dynamic in place", matmul(sm, sn, sk, 0, sb, bias=False),
         [{m: 5, n: 100, k: 70, b: 2}, {m: 15, n: 17, k: 3, b: 1}, {m: 1, n: 129, k: 1, b: 3}]),
        ("a predicate", predicated(sm, sn, sk), [{m: 1, n: 17, k: 9}, {m: 13, n: 48, k: 21}]),
        ("columns of two variables", heads(sm, 5, 16, 21, panel), [{m: 14}]),
        ("columns of two variables, across panels", heads(7, 3, 11, 4, panel), [{}]),
        ("two sums a point", sums(sm, 70, 19, 2, panel), [{m: 1}, {m: 7}, {m: 70}]),
        ("three sums a point, in place", sums(sm, sn, sk, 3, 0), [{m: 5, n: 33, k: 70}, {m: 13, n: 16, k: 3}]),
        ("four sums a point of one row", sums(1, 100, 37, 4, panel), [{}]),
        ("two sums a point of one row, in place", sums(1, 96, sk, 2, 0), [{k: 70}, {k: 1}]),
        ("convolution of one row, padded", convolution(1, 8, 2, 2, 40, (3, 3), 2, 1, panel=panel), [{}]),
        ("convolution 3x3 padded", convolution(2, 8, 9, 7, 40, (3, 3), pad=1, panel=panel), [{}]),
        ("convolution 3x3 of one channel",
         convolution(1, 1, 9, 7, 32, (3, 3), pad=1, planar_in=True, panel=panel), [{}]),
        ("convolution 7x7 stride 2, planar",
         convolution(1, 3, 23, 21, 64, (7, 7), 2, 3, planar_in=True, planar_out=True, panel=panel), [{}]),
        ("convolution 3x2 stride 2 dilation 2 groups 2, planar, dynamic",
         convolution(1, 6, sym(h), sym(w), 20, (3, 2), 2, 2, 2, 2, True, True, panel), [{h: 11, w: 8}, {h: 5, w: 5}]),
    ]


def of_copied(tile: Candidate, panel: int) -> list[tuple[str, object]]:
    """Products whose columns lie where no tile reads them, and all of whose sizes are known: with rows and columns that
    full tiles leave, few and many, or none."""
    rows, columns = tile.rows, tile.columns
    turned = matmul(2 * rows + 1, columns + 5, 19, 0, bias=False, residual=True)
    out = next(p for p in turned.params if p.name == "out")
    across = replace(turned, params=tuple(replace(p, order=(1, 0)) if p is out else p for p in turned.params))
    return [("rests of both", matmul(3 * rows + 1, 2 * columns + 4, 19, 0, 2, bias=False)),
            ("more than half of a register is left", matmul(2 * rows + rows // 2, columns + 9, 8, 0, 3)),
            ("no rest", matmul(2 * rows, 2 * columns, 5, 0, 2, residual=True)),
            ("fewer columns than a tile has", matmul(rows + 1, columns - 11, 32, 0, 2, bias=False)),
            ("a turned", matmul(2 * rows - 1, columns + 1, 7, 0, 2, transposed=True)),
            ("results column by column", across), ("one term", matmul(rows, columns + 20, 1, 0, 2))]


def cut(tile: Candidate, panel: int) -> list[tuple[str, object, list[dict], tuple[int, ...]]]:
    """Convolutions whose terms are cut into blocks with no copy of their rows: (name, kernel, sizes of its dims, terms
    of a block): parts of a tap, a tap, several, a row of the window."""
    wide, h, w = tile.columns, dim("h"), dim("w")
    return [
        ("3x3 of 5 channels, padded", convolution(2, 5, 9, 7, 2 * wide + 20, (3, 3), pad=1, panel=panel), [{}],
         (1, 5, 15, 30)),
        ("3x3 of 6 channels", convolution(1, 6, 8, 9, wide, (3, 3), panel=panel), [{}], (3, 6, 18)),
        ("3x2, stride 2, dilation 2, groups",
         convolution(1, 6, 11, 12, wide + 16, (3, 2), 2, 2, 2, 2, panel=panel), [{}], (1, 3, 6, 9)),
        ("3x3 of 8 channels that lie apart",
         convolution(1, 8, 6, 7, 2 * wide, (3, 3), pad=1, planar_in=True, planar_out=True, panel=panel), [{}],
         (2, 8, 24)),
        ("3x3 of one channel, stride 2",
         convolution(1, 1, 9, 11, wide, (3, 3), 2, 1, planar_in=True, panel=panel), [{}], (1, 2, 3)),
        ("3x3 of 4 channels, dynamic",
         convolution(1, 4, sym(h), sym(w), wide + 1, (3, 3), 1, 1, panel=panel), [{h: 5, w: 6}, {h: 1, w: 2}],
         (2, 4, 12)),
        ("5x1 of two rows, all but one in the padding",
         convolution(1, 4, 2, 9, wide, (5, 1), 1, 2, panel=panel), [{}], (4, 8)),
    ]


def parts(tile: Candidate, panel: int) -> list[tuple[str, object, list[dict], tuple[int, ...], int]]:
    """The same whose tiles are all the kernel's own: blocks of one turn of the outermost loop over terms, of two; and
    tiles of a block of rows, 0 for all rows."""
    wide, h = tile.columns, dim("h")
    return [
        ("3x3 of 64 channels that lie apart",
         convolution(1, 64, 9, 7, 2 * wide, (3, 3), pad=1, planar_in=True, planar_out=True, panel=panel), [{}],
         (192, 384), 3),
        ("5x3 of 40 channels that lie apart, stride 2, results side by side",
         convolution(2, 40, 16, 9, wide, (5, 3), 2, 2, planar_in=True, panel=panel), [{}], (120, 240), 3),
        ("3x3 of 50 channels, dynamic",
         convolution(1, 50, sym(h), 9, 3 * wide, (3, 3), 1, 1, planar_in=True, planar_out=True, panel=panel),
         [{h: 5}, {h: 1}, {h: 2}], (150,), 2),
        ("groups of two, twelve channels each, of which the last columns lack some",
         convolution(2, 24, 8, 31, 2 * (wide - 3 if wide > 16 else wide), (3, 3), 1, 1, 1, 2, True, True, panel), [{}],
         (36,), 2),
        ("3x3 of 60 channels that lie apart, with a residual, results side by side",
         with_residual(convolution(1, 60, 9, 7, 2 * wide, (3, 3), pad=1, planar_in=True, panel=panel)), [{}], (180,),
         2),
        ("3x3 of 60 channels that lie apart, with a residual, as far apart",
         with_residual(convolution(1, 60, 9, 7, wide, (3, 3), pad=1, planar_in=True, planar_out=True, panel=panel)),
         [{}], (180,), 2),
        ("5x5 of 12 channels that lie apart, many rows",
         convolution(1, 12, 30, 31, wide, (5, 5), pad=2, planar_in=True, planar_out=True, panel=panel), [{}], (120,),
         0),
    ]


def planes(tile: Candidate, target: targets.Target) -> list[tuple[str, object, list[dict], Schedule]]:
    """Windows over planes of an image: of so many channels that a line is walked position by position, and of more;
    rows as they lie, and copied, in blocks of terms that end within a line, too."""
    wide, h = tile.columns, dim("h", 64)
    own, ahead, *_, copied = schedules(tile, target)

    def of(n: int, c: int, height: object, w: int, columns: int, size: tuple[int, int], stride: int, **more: object):
        return convolution(n, c, height, w, columns, size, stride, planar_in=True, panel=target.panel, **more)
    found = [("8x8 of three channels, two images", of(2, 3, 33, 43, wide + 20, (8, 8), 8), [{}]),
             ("3x9 stride 4 of two channels", of(1, 2, 19, 50, 2 * wide, (3, 9), 4), [{}]),
             ("2x16 of four channels, dynamic", of(1, 4, sym(h), 90, wide, (2, 16), 6, planar_out=True),
              [{h: 2}, {h: 21}]),
             ("4x4 stride 4 of three channels", of(3, 3, 12, 21, wide, (4, 4), 4), [{}]),
             ("5x8 of five channels", of(1, 5, 11, 26, wide, (5, 8), 3), [{}]),
             ("3x9 of three channels, padded", of(1, 3, 9, 33, 2 * wide, (3, 9), 2, pad=1), [{}])]
    forms = [own, ahead, copied, replace(copied, kc=20), replace(own, kc=27, mc=2 * tile.rows)]
    return [(name, kernel, sizes, form) for name, kernel, sizes in found for form in forms
            if table.refusal(kernel, form) is None]


def parts_of(tile: Candidate, target: targets.Target) -> list[tuple[str, object, list[dict], Schedule]]:
    """Those that fit the tile."""
    own = schedules(tile, target)[0]
    return [(name, kernel, sizes, form) for name, kernel, sizes, blocks, tiles in parts(tile, target.panel)
            for kc in blocks for form in [replace(own, kc=kc, mc=tiles * tile.rows)]
            if table.refusal(kernel, form) is None]


def images(isa: str) -> list[Case]:
    """Images of few channels, whose lines are copied: windows of other widths and steps, channels side by side and in
    planes, both signs, several images, padding and none; lines that end with a page."""
    h, n = dim("h", 64), dim("n", 8)
    unsigned, signed = (products.integers(a, "i8", "x86_64")[0] for a in ("u8", "i8"))
    kernels = [
        ("3x3 stride 2 of three", image(3, 9, 33, 32, (3, 3), 2, 1, unsigned, "u8", 0, fill=125), [{}]),
        ("3x3 stride 2 of three planes", image(3, 9, 33, 16, (3, 3), 2, 1, signed, "i8", 3, True, 0x83), [{}]),
        ("7x7 stride 2 of three", image(3, 17, 43, 64, (7, 7), 2, 3, unsigned, "i8", -7), [{}]),
        ("3x3 of three, dynamic", image(3, sym(h), 20, 24, (3, 3), 1, 1, signed, "u8", 9, fill=0x7f),
         [{h: 1}, {h: 6}]),
        ("5x5 of one", image(1, 9, 31, 80, (5, 5), 1, 2, unsigned, "u8", 0), [{}]),
        ("3x5 stride 3 of two", image(2, 11, 52, 96, (3, 5), 3, 1, signed, "i8", 0, n=3), [{}]),
        ("3x3 of two, no padding", image(2, 5, 12, 40, (3, 3), 1, 0, unsigned, "u8", 0, n=sym(n)), [{n: 1}, {n: 5}]),
        ("3x3 stride 2 of four", image(4, 7, 24, 48, (3, 3), 2, 1, unsigned, "u8", 1, fill=9), [{}]),
        ("4x4 stride 4 of four planes", image(4, 8, 45, 112, (4, 4), 4, 0, signed, "i8", 0, True), [{}])]
    forms = [(name, kernel, sizes, image_lines.schedule_of(kernel, isa)) for name, kernel, sizes in kernels]
    return [Case(f"{LINES} {name}", kernel, size, (form,), form) for name, kernel, sizes, form in forms if form
            for size in sizes]


def columns_term_by_term(isa: str) -> list[Case]:
    """Columns that lie term by term, of as many rows as there may be: neighbours and not, whole panels, some of the
    last one, fewer than one, rows that lie apart; the last columns end with a page."""
    n, b = dim("n"), dim("b", 8)
    found = [("1 x 64", term_by_term(1, 64, 64), [{}]),
             ("3 x n, terms of 64", term_by_term(3, sym(n), 64), [{n: size} for size in (1, 15, 16, 17, 47, 97)]),
             ("2 x 37, terms of 4", term_by_term(2, 37, 4), [{}]),
             ("5 x 20, terms of 24", term_by_term(5, 20, 24), [{}]),
             ("8 x 33, terms of 16, apart", term_by_term(8, 33, 16, 21), [{}]),
             ("4 x n, terms of 48, apart", term_by_term(4, sym(n), 48, 50, sym(b)), [{n: 33, b: 1}, {n: 31, b: 3}]),
             ("7 x 40, terms of 32, a turned", term_by_term(7, 40, 32, transposed=True), [{}]),
             ("6 x 48, one batch", term_by_term(6, 48, 128, batch=1), [{}]),
             ("9 x 33, terms of 12", term_by_term(9, 33, 12), [{}]),
             ("12 x n, terms of 16", term_by_term(12, sym(n), 16), [{n: 16}, {n: 23}]),
             ("16 x 40, f16, terms of 24, a turned", term_by_term(16, 40, 24, transposed=True, dtype="f16"), [{}]),
             ("13 x 17, bf16, terms of 32, apart", term_by_term(13, 17, 32, 40, dtype="bf16"), [{}])]
    for half, rows in (("f16", (1, 2, 3, 4)), ("bf16", (5, 6, 7, 8))):
        first, second, third, last = rows
        found += [(f"{first} x n, {half}, terms of 64", term_by_term(first, sym(n), 64, dtype=half),
                   [{n: size} for size in (1, 16, 31, 97)]),
                  (f"{second} x 20, {half}, terms of 8", term_by_term(second, 20, 8, dtype=half), [{}]),
                  (f"{third} x 37, {half}, terms of 80", term_by_term(third, 37, 80, dtype=half), [{}]),
                  (f"{last} x 64, {half}, terms of 128, one batch",
                   term_by_term(last, 64, 128, batch=1, dtype=half), [{}]),
                  (f"{first} x 33, {half}, terms of 32, apart", term_by_term(first, 33, 32, 51, dtype=half), [{}]),
                  (f"{last} x n, {half}, terms of 64, apart, a turned",
                   term_by_term(last, sym(n), 64, 66, sym(b), True, half), [{n: 33, b: 1}, {n: 15, b: 3}])]
    forms = [(name, kernel, sizes, in_registers.schedule_of(kernel, isa)) for name, kernel, sizes in found]
    forms += [(f"{name}, little code", kernel, sizes, replace(form, compact=True)) for name, kernel, sizes, form in
              forms[1:3] if form]
    return [Case(f"{TERM_BY_TERM} {name}", kernel, size, (form,), form) for name, kernel, sizes, form in forms if form
            for size in sizes]


def schedules(tile: Candidate, target: targets.Target) -> list[Schedule]:
    """Every form of a tile, with blocks so small that each kernel has several."""
    plain = Schedule(tile.isa, tile.dtype, tile.rows, tile.columns)
    blocked = replace(plain, kc=3, mc=2 * tile.rows, nc=2 * tile.columns)
    return [replace(plain, epilogue="registers"), replace(plain, epilogue="registers", prefetch=True), plain,
            replace(plain, prefetch=True), replace(plain, packed_b=True), blocked,
            replace(blocked, packed_a=True, prefetch=True),
            replace(blocked, packed_a=True, packed_b=True), replace(blocked, packed_b=True),
            replace(blocked, kc=0, packed_a=True, prefetch=True)]


def cases(isa: str, target: targets.Target, everything: bool) -> list[Case]:
    whole_table = []
    for i, tile in enumerate(table.candidates(isa)):
        out: list[Case] = []
        forms = list(enumerate(schedules(tile, target)))
        known, apart = [*kernels(target.panel), *halves(target.panel)], 13
        if tile.dtype == "i32":   # rows of integers are copied, but for those below
            forms = [f for f in forms if f[1].packed_a and not f[1].packed_b]
            known, apart = integers(target.arch, target.panel), 25
        for j, candidate in forms if everything or len(forms) < 3 else forms[i % 3::3]:
            fitting = [(k, s) for k in known for s in [replace(candidate, dtype=k[1].product.name)]
                       if table.refusal(k[1], s) is None]
            chosen = fitting if everything else fitting[(i + j) % apart::apart] or fitting[:1]
            sorts = [f for f in fitting if f[0][1].product.ordered and instruction_set(isa).vectors == "AVX2"]
            chosen += sorts[i % max(1, len(sorts))::6] if not everything else []
            for (name, kernel, sizes), form in chosen:
                out += [Case(f"{name} {' '.join(f'{s}={v}' for s, v in size.items())}".rstrip(), kernel, size,
                             (form,), form) for size in sizes]
        if tile.dtype == "i32" and instruction_set(isa).lanes > 1:   # rows where they lie; results of 8 bits
            product = products.integers(*(("u8", "i8") if target.arch == "x86_64" else ("i8", "i8")), target.arch)[0]
            plain = replace(schedules(tile, target)[2], dtype=product.name)
            for columns in (2 * tile.columns, tile.columns + 24, tile.columns + 16)[0 if everything else i % 3:]:
                bytes_of = quantized(3 * tile.rows + 1, columns, 24, product, ("i8", "u8")[i % 2], (0, 3)[i // 2 % 2],
                                     target.panel)
                forms = (plain, replace(plain, mc=2 * tile.rows), replace(plain, mc=2 * tile.rows, nc=2 * tile.columns,
                                                                          packed_a=True))
                out += [Case(f"{columns} columns of bytes", bytes_of, {}, (form,), form) for form in forms
                        if table.refusal(bytes_of, form) is None]
        if tile.dtype == "i32" and target.arch == "x86_64":   # windows of three channels, with padding or none
            a, b = (("u8", "i8"), ("i8", "i16"), ("u8", "i16"))[i % 3]
            product = products.integers(a, b, target.arch)[0]
            whole = replace(schedules(tile, target)[-1], dtype=product.name)
            three = window(3, 6, 20, product, pad=i // 3 % 2, panel=target.panel)
            if table.refusal(three, whole) is None:
                out.append(Case(f"{a} x {b} 3x3 of three channels", three, {}, (whole,), whole))
        if tile.dtype == "f32":
            own = replace(schedules(tile, target)[2], packed_b=True, epilogue="registers")
            for j, (name, kernel) in enumerate(of_copied(tile, target.panel)):
                forms = (own, replace(own, mc=2 * tile.rows, nc=2 * tile.columns))
                out += [Case(f"{COPIED} {name}", kernel, {}, (form,), form) for form in forms
                        if (everything or (i + j) % 3 == 0) and table.refusal(kernel, form) is None]
        if tile.dtype == "f32" and (everything or i % 3 == 0):   # a team shares panels
            whole = matmul(tile.rows, 2 * tile.columns + 52, 19, target.panel)
            out.append(Case("one tile of rows", whole, {}, (plain := schedules(tile, target)[2],), plain))
        if tile.dtype == "f32" and (everything or i % 3 == 1):   # a mask true in a whole tile, in a part, nowhere
            masked = causal(2 * tile.rows + 1, 3 * tile.columns + 20, 7, tile.columns + tile.rows, i % 2 == 0,
                            3 * (i // 3 % 2))
            own = schedules(tile, target)[0]
            if table.refusal(masked, own) is None:
                out.append(Case("a causal mask", masked, {}, (own,), own))
        if tile.dtype == "f32" and (everything or i % 6 == 3 or tile.columns == 64):   # the next terms are fetched
            lines = matmul(4 * tile.rows + 1, tile.columns, 100, 0, bias=False)
            ahead = replace(schedules(tile, target)[2], kc=32, mc=2 * tile.rows, prefetch=True)
            if table.refusal(lines, ahead) is None:
                out.append(Case("blocks of terms that are fetched", lines, {}, (ahead,), ahead))
        if tile.dtype == "f32":   # blocks of terms of taps, rows as they lie
            found = [(name, kernel, sizes, form) for name, kernel, sizes, blocks in cut(tile, target.panel)
                     for kc in blocks for own in schedules(tile, target)[2:4]
                     for form in [replace(own, kc=kc, mc=2 * tile.rows, nc=2 * tile.columns)]
                     if table.refusal(kernel, form) is None]
            out += [Case(f"{CUT} {name}", kernel, size, (form,), form)
                    for name, kernel, sizes, form in (found if everything else found[i % 5::len(found) // 3 or 1])
                    for size in sizes]
            found = planes(tile, target)
            out += [Case(f"{PLANES} {name}", kernel, size, (form,), form)
                    for name, kernel, sizes, form in (found if everything else found[i % 5::5]) for size in sizes]
        if tile.dtype == "f32":   # the same of tiles that are all the kernel's own
            found = parts_of(tile, target)
            out += [Case(f"{PARTS} {name}", kernel, size, (form,), form)
                    for name, kernel, sizes, form in (found if everything or found and named(found[0][3]) else
                                                      found[i % 4::4] or found[:1])
                    for size in sizes]
        if tile.dtype == "f32" and (everything or i % 6 == 2):   # blocks begin in the padding, with copies
            edge = padded(tile.rows + 2, 2 * tile.columns + 20, 4, 5)
            copied = replace(schedules(tile, target)[2], kc=3, mc=2 * tile.rows, packed_a=True, packed_b=True)
            if table.refusal(edge, copied) is None:
                out.append(Case("terms in the padding", edge, {}, (copied,), copied))
        if tile.dtype == "f32" and (tile.rows in (4, 5, 6, 7) or everything and tile.rows > 7):   # columns lie apart
            for size, inner in ((9, 4), (6, 64), (17, 64)):   # 64: positions in the padding are looked up one by one
                turned = convolution(1, inner, size, 7, 2 * tile.columns, (3, 3), pad=1, planar_in=True,
                                     planar_out=True, panel=target.panel)
                own = schedules(tile, target)[0]
                if table.refusal(turned, own) is None:
                    out.append(Case(TURNED, turned, {}, (own,), own))
            # the last columns are no panel; 16 x 64 positions: their lines meet in a set of the first cache
            for h, w, columns, planar in ((9, 7, 2 * tile.columns + 5, False), (9, 7, 2 * tile.columns + 21, True),
                                          (9, 7, tile.columns - 3, True), (9, 7, tile.columns - 3, False),
                                          (16, 64, tile.columns + 16, False), (16, 64, tile.columns - 3, False)):
                turned = with_residual(convolution(1, 4, h, w, columns, (3, 3), pad=1, planar_in=planar,
                                                   planar_out=True, panel=target.panel))
                forms = [form for form in schedules(tile, target)[:3:2] if table.refusal(turned, form) is None]
                out += [Case(f"{TURNED}, the last ones few", turned, {}, (form,), form) for form in forms]
        if tile.dtype == "f32" and (everything or i % 6 == 1):   # a team shares blocks of rows, bands of them
            rows = matmul(5 * tile.rows + 1, 2 * tile.columns + 20, 19, target.panel)
            own, plain = schedules(tile, target)[1:3]
            for of, form in (("blocks", replace(own, mc=2 * tile.rows)), ("blocks", replace(plain, mc=2 * tile.rows)),
                             ("bands", replace(own, bands=3)), ("bands", replace(plain, mc=2 * tile.rows, bands=2)),
                             ("small teams' bands", replace(own, mc=2 * tile.rows, bands=3, small_teams=True)),
                             ("small teams' bands", replace(plain, bands=6, small_teams=True)),
                             ("large teams' bands", replace(own, mc=2 * tile.rows, bands=3, large_teams=True)),
                             ("large teams' bands", replace(plain, bands=5, large_teams=True)),
                             ("bands of both", replace(plain, bands=5, small_teams=True, large_teams=True))):
                if table.refusal(rows, form) is None:
                    out.append(Case(f"{of} of rows", rows, {}, (form,), form))
            image = convolution(2, 4, 9, 7, 2 * tile.columns, (3, 3), pad=1, panel=target.panel)
            form = replace(own, bands=4)
            if table.refusal(image, form) is None:
                out.append(Case("bands of a padded convolution", image, {}, (form,), form))
        whole_table += out if everything or len(table.candidates(isa)) < MANY else \
            thinned(out, i % 3, {case.name for case in whole_table})
    return whole_table + images(isa) + columns_term_by_term(isa)


def thinned(found: list[Case], first: int, before: set[str]) -> list[Case]:
    """Every third kernel and schedule, with all of its sizes, and those of which there were none before."""
    kinds = list(dict.fromkeys((id(case.kernel), case.candidates) for case in found))
    chosen = set(kinds[first::3] or kinds)
    return [case for case in found if (id(case.kernel), case.candidates) in chosen or case.name not in before]


def main() -> None:
    arch, everything = sys.argv[1], sys.argv[2:3] == ["--all"]
    command = tuple(sys.argv[3 if everything else 2:]) or (COMPILER[arch],)
    wrapper = EMULATOR[arch] if arch != _machine() else ()
    if not shutil.which(command[0]):
        skip(f"candidates of {arch}", f"no {command[0]}")
        done()
    if wrapper and not shutil.which(wrapper[0]):
        skip(f"candidates of {arch}", f"no {wrapper[0]}")
        done()
    target = targets.load(targets.find(WHERE[arch]))
    if not everything:
        flags = harness.kernel_flags
        harness.kernel_flags = lambda *a: (*flags(*a), "-Og")
        harness.compile_units = joined(harness.compile_units)
    with tempfile.TemporaryDirectory() as folder:
        cache = Cache(Path(folder) / "cache")
        compiler = toolchain.detect(command, cache.root, "compiler")
        tools = Toolset(compiler, target, (), cache, wrapper)
        for isa in (*own_sets(arch), *(i for i in target.integer_isas if wrapper or not lacks(i))):
            if instruction_set(isa).tiles:   # tiles.py
                continue
            todo = cases(isa, target, everything)
            few = len([c for c in todo if c.name.startswith(TERM_BY_TERM)])
            ok(few == (46 if instruction_set(isa).has_vectors else 0), f"{isa}: columns term by term")
            if isa in target.integer_isas:   # the others are those of its base
                todo = [c for c in todo if c.kernel.product.integer]
                lines = len([c for c in todo if c.name.startswith(LINES)])
                ok(lines == (11 if multiplies_four(isa) else 0), f"{isa}: images of few channels")
                run(program(todo, tools, Path(folder) / isa), isa, wrapper)
                continue
            known = isa in ("avx2", "avx512")
            ok(any(c.name.startswith(COPIED) for c in todo) == known, f"{isa}: tiles of copied columns")
            texts = [emit_contraction(c.kernel, list(c.candidates), "turned").text for c in todo if c.name == TURNED]
            across = all("tc_store_across(" in text for text in texts) and any("_edge(" in text for text in texts)
            ok(not texts or across == instruction_set(isa).has_vectors,
               f"{isa}: tiles of vectors store results whose columns lie apart column by column")
            texts = [emit_contraction(c.kernel, list(c.candidates), "planes").text for c in todo
                     if c.name.startswith(PLANES)]
            ok(any("pack_line(" in text for text in texts) == instruction_set(isa).has_vectors,
               f"{isa}: lines of several planes are copied by vectors")
            floats = [tile for tile in table.candidates(isa) if tile.dtype == "f32"]
            equal({name for tile in floats for name, *_ in parts_of(tile, target)},
                  {name for tile in floats for name, *_ in parts(tile, target.panel)},
                  f"{isa}: every kernel whose tiles are its own fits a tile with blocks of terms")
            tried = {(c.kernel.product.sum, s.mr, s.nr) for c in todo for s in c.candidates if not s.term_by_term}
            ok(tried == {(c.dtype, c.rows, c.columns) for c in table.candidates(isa)},
               f"{isa}: every tile has a kernel that it fits")
            run(program(todo, tools, Path(folder) / isa), isa, wrapper)
    done()


def run(path: Path, isa: str, wrapper: tuple[str, ...]) -> None:
    """Hands the harness's points on as this test's own."""
    result = subprocess.run([*wrapper, str(path), "check"], capture_output=True, text=True, check=False)
    points = 0
    for line in result.stdout.splitlines():
        if line.startswith(("ok ", "not ok ")):
            points += 1
            name, _, why = line.split(" - ", 1)[1].partition(" # SKIP ")
            skip(name, why) if why else ok(line.startswith("ok "), name)
        elif line.startswith("#"):
            note(line[2:])
    ok(result.returncode in (0, 1) and points and f"1..{points}" in result.stdout, f"{isa}: the harness ran to its end")
    if result.stderr or result.returncode < 0:
        note(f"exit {result.returncode}: {result.stderr}")


def _machine() -> str:
    import os
    return os.uname().machine


if __name__ == "__main__":
    main()
