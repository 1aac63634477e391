# SPDX-License-Identifier: Apache-2.0
"""The tiles of the rows that full tiles leave: wider than a group of columns where all panels may be read once more.
candidates.py compares results.
"""
from __future__ import annotations

from cases import Size, dim, matmul, sums
from tap import done, equal, ok
from tensor_compile.emit.contraction.access import Access
from tensor_compile.emit.contraction.schedule_tiles import Tiles, tiles
from tensor_compile.emit.contraction.source import emit_contraction
from tensor_compile.loops.contraction_schedule import Schedule
from tensor_compile.loops.loop_ir import ContractionKernel
from tensor_compile.symbolic import sym

SCHEDULE = Schedule("avx2", "f32", 6, 16)


def near(rows: Size) -> ContractionKernel:
    return matmul(rows, 768, 80)


def far(rows: Size) -> ContractionKernel:
    return matmul(rows, 768, 768)


def plan(kernel: ContractionKernel) -> Tiles:
    return tiles(Access.of(kernel), SCHEDULE)


def columns(found: Tiles, full: int) -> int:
    """Of a tile of two rows behind so many full ones."""
    band = found.behind(full, 2)
    assert band is not None and band.height == 2
    return band.cut(768, found.unit)[0] if band.columns > SCHEDULE.nr else band.cut(band.columns, found.unit)[0]


m = dim("m")
equal(columns(plan(near(128)), 21), 48, "panels that are near: two rows of 128 are tiles of 48 columns")
equal(columns(plan(far(128)), 21), 16, "panels that are far: tiles of a group, so that panels are read once")
equal(columns(plan(far(2)), 0), 48, "rows of which no tile is full read panels once: tiles of 48 columns")
equal(len(plan(far(2)).rests[2].widths), 1, "of which there is one width")
equal([columns(plan(near(sym(m))), full) for full in (0, 21)], [48, 48], "a dynamic number of rows, near panels")
equal([columns(plan(far(sym(m))), full) for full in (0, 21)], [48, 16], "a dynamic number of rows, far panels")
equal([columns(plan(kernel), 21) for kernel in (matmul(128, 768, 90), sums(128, 768, 50, 2))], [16, 16],
      "from 256 KiB on panels are far, those of two sums together")
ok("w.full > 0 ? 0 : rest == 1" in emit_contraction(far(sym(m)), [SCHEDULE], "f").text,
   "the kernel asks whether there are full tiles")
ok("w.wide = rest == 2 ? 48 : 0" in emit_contraction(near(128), [SCHEDULE], "f").text,
   "and does not where panels are near")
done()
