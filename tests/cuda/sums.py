# SPDX-License-Identifier: Apache-2.0
"""Row loop nests with so many sums that a block's shared memory decides about its threads."""
from __future__ import annotations

import struct
from dataclasses import dataclass

from tensor_compile.loops.loop_ir import LoopNestKernel, RowReduce, Phase, Store
from tensor_compile.loops.scalar_ir import Apply, Buffer, Const, Load, Local
from tensor_compile.symbolic import Sym, const, sym

ROWS, POINTS = 5, 700


@dataclass(frozen=True)
class Sums:
    """A loop nest and the threads that its blocks have: `positions` first extremes of f32 in each phase, 12 bytes a
    thread and position. threads 1..32 of `team`: no block shares a row."""

    positions: tuple[int, ...]
    threads: int
    team: bool = False

    @property
    def name(self) -> str:
        return f"sums of {' and '.join(map(str, self.positions))} positions"

    @property
    def kernel(self) -> LoopNestKernel:
        r = Sym("r", 0, const(ROWS - 1))
        phases, stores = [], []
        for i, count in enumerate(self.positions):
            v = Sym(f"v{i}", 0, const(POINTS - 1))
            x = Load("x", "f32", (sym(r), sym(v)))
            reduces = []
            for j in range(count):
                away = Const("f32", struct.unpack("<I", struct.pack("<f", j / 8 - 1.0))[0])
                value = Apply("abs", "f32", (Apply("sub", "f32", (x, away)),))
                reduces.append(RowReduce(f"s{i}_{j}", "argmin" if j % 2 else "argmax", "free", value, "i64"))
                stores.append(Store("y", (sym(r), const(len(stores))), Local(f"s{i}_{j}", "i64")))
            phases.append(Phase((v,), tuple(reduces)))
        buffers = (Buffer("x", "f32", (const(ROWS), const(POINTS)), (0, 1), "input"),
                   Buffer("y", "i64", (const(ROWS), const(len(stores))), (0, 1), "output"))
        return LoopNestKernel(self.name, (r,), (*phases, Phase((), (), tuple(stores))), buffers, ())


REUSED = Sums((10, 10), 256)      # 240 bytes a thread in all, 120 of them at a time
CASES = (Sums((2, 3), 256),
         REUSED,
         Sums((3, 11), 128),
         Sums((85, 1), 32),
         Sums((86,), 32, True))
