# SPDX-License-Identifier: Apache-2.0
"""Products of bytes by tiles of AMX: every candidate, equal to the reference bit for bit like those of candidates.py;
tiles in C (amx_emulated.h) on processors that have none.

usage: tiles.py [real]     real: on this processor's tiles, skipped where it has none
"""
from __future__ import annotations

import os
import shutil
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

from candidates import run
from cases import dim, quantized, typed, window
from processor import lacks
from tap import done, equal, ok, skip
from tensor_compile import target as targets
from tensor_compile.compile import harness, toolchain
from tensor_compile.compile.cache import Cache
from tensor_compile.emit.contraction import candidates as table, schedule_blocks
from tensor_compile.emit.contraction.access import Access
from tensor_compile.emit.contraction.schedules import isas_of
from tensor_compile.loops import products
from tensor_compile.loops.contraction_schedule import Schedule
from tensor_compile.symbolic import Sym, sym

ISA = "avx512_amx"
HERE = Path(__file__).resolve().parent
CPU = harness.DETECTION


def kernels() -> list[tuple[str, object, list[dict], int]]:
    """With rows, columns and terms that fill tiles and that do not, of every pair of dtypes; the words of a row that a
    product takes."""
    m = Sym("m", 16, 4096, is_dim=True)
    signed, mixed, unsigned = (products.integers(a, b, "x86_64")[0]
                               for a, b in (("i8", "i8"), ("u8", "i8"), ("u8", "u8")))
    return [("i8 x i8 37x70x75", typed(37, 70, 75, signed), [{}], 16),
            ("i8 x i8 3x3, filled", window(9, 6, 40, signed, fill=0x7d), [{}], 16),
            ("u8 x i8 83x64x128, full tiles where they lie", typed(83, 64, 128, mixed), [{}], 16),
            ("u8 x i8 83x64x96, the same of 12 words", typed(83, 64, 96, mixed), [{}], 12),
            ("u8 x i8 80x64x144, the same of bytes", quantized(80, 64, 144, mixed, "u8", 3), [{}], 12),
            ("u8 x i8 83x70x160, one product more", typed(83, 70, 160, mixed), [{}], 10),
            ("u8 x i8 83x64x68, words that nothing divides", typed(83, 64, 68, mixed), [{}], 16),
            ("u8 x i8 35x64x94, bytes that fill no words", typed(35, 64, 94, mixed), [{}], 12),
            ("i8 x i8 37x70x96, copied rows", typed(37, 70, 96, signed), [{}], 12),
            ("i8 x i8 37x70x160, copied rows of one product less", typed(37, 70, 160, signed), [{}], 16),
            ("u8 x i8 3x3 of 40 channels, filled", window(40, 6, 40, mixed, fill=0x7d), [{}], 15),
            ("u8 x i8 33x66x270, ordered", typed(33, 66, 270, replace(mixed, ordered=True)), [{}], 16),
            ("i8 x i8 49x66x75, ordered", typed(49, 66, 75, replace(signed, ordered=True)), [{}], 16),
            ("u8 x u8 dynamic rows", typed(sym(m), 33, 190, unsigned), [{m: 16}, {m: 51}], 16)]


def main() -> None:
    real = sys.argv[1:] == ["real"]
    if os.uname().machine != "x86_64" or not shutil.which("cc"):
        skip("tiles", "this machine is no x86-64, or has no cc")
        done()
    if lacks(ISA if real else "avx512_vnni"):
        skip("tiles", f"this processor lacks {', '.join(lacks(ISA if real else 'avx512_vnni'))}")
        done()
    target = targets.load(targets.find("x86_64"))
    found = table.candidates(ISA)
    todo = []
    for turn, (name, kernel, sizes, depth) in enumerate(kernels()):
        forms = [Schedule(ISA, kernel.product.name, c.rows, c.columns, mc=(1 + (i + turn) % 2) * c.rows,
                          nc=2 * c.columns, packed_a=True, prefetch=c.columns == 64)
                 for i, c in enumerate(x for x in found if x.dtype == "i32")]
        fitting = [s for i, s in enumerate(forms) if table.refusal(kernel, s) is None and (real or i != turn % 3)]
        ok(fitting and table.choose(kernel, ISA, target).packed_a, f"{name}: {len(fitting)} candidates")
        equal({schedule_blocks.tile_depth(Access.of(kernel), s) for s in fitting}, {depth}, f"{name}: words at a time")
        todo += [harness.Case(f"{name} {' '.join(f'{s}={v}' for s, v in size.items())}".rstrip(), kernel, size,
                              tuple(fitting), fitting[0]) for size in sizes]
    few = [typed(15, 70, 75, products.integers("i8", "i8", "x86_64")[0]),
           typed(37, 70, 60, products.integers("i8", "i8", "x86_64")[0]),
           typed(37, 24, 75, products.integers("i8", "i8", "x86_64")[0]),
           typed(sym(dim("m")), 70, 75, products.integers("i8", "i8", "x86_64")[0]),
           typed(37, 70, 75, products.integers("i16", "i16", "x86_64")[0])]
    wide = target.with_isas(("avx512", "avx512_vnni", ISA))
    for kernel in few:
        ok(not schedule_blocks.tiled(kernel) and (ISA, "avx512_vnni") in isas_of(kernel, wide),
           "a product that no tile is full of, or that leaves much of few tiles empty, is the base's")
    equal({(c.rows, c.columns) for c in found if c.dtype == "i32"},
          {(s.mr, s.nr) for case in todo for s in case.candidates}, "every tile has a kernel that it fits")
    with tempfile.TemporaryDirectory() as folder:
        if not real:
            (Path(folder) / "cpu.c").write_bytes(CPU.read_bytes())
            made = Path(folder) / "amx_detected.c"
            made.write_text((HERE / "amx_detected.c").read_text().replace('"cpu.c"', f'"{CPU}"'), encoding="utf-8")
            harness.DETECTION = made
            flags = harness.kernel_flags
            harness.kernel_flags = lambda *a: (*flags(*a), "-O1", "-include", str(HERE / "amx_emulated.h"))
        cache = Cache(Path(folder) / "cache")
        compiler = toolchain.detect(("cc",), cache.root, "compiler")
        run(harness.program(todo, harness.Toolset(compiler, target, (), cache), Path(folder) / ISA), ISA, ())
    done()


if __name__ == "__main__":
    main()
