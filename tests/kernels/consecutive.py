# SPDX-License-Identifier: Apache-2.0
"""Parts of a kernel that are computed one behind the other: what a team shares, and the results by any team."""
from __future__ import annotations

import teams
from tap import done, equal
from tensor_compile.emit.contraction.access import Access
from tensor_compile.emit.contraction.schedule_tiles import item_columns
from tensor_compile.loops.contraction_schedule import Schedule
from tensor_compile.loops.loop_ir import GroupedContractionKernel
from tensor_compile.loops.parse import parse_unit
from tensor_compile.loops.program_ir import leaves

TERMS = (24, 40, 33)   # of the parts, the last of which adds what the others stored
KERNEL = """tensor_compile.loops 1 fused "f"
{buffers}grouped_contraction "parts" consecutive {{
  params ({params}) dims ()
{parts}}}
"""
PART = """  contraction "part{i}" batch () m () n (i0:{n}) k (k0:{k}) panel {panel} {{
    params ({params}) dims ()
    a = load f32 ("a{i}"[0,k0])
    b = load f32 ("b{i}"[floordiv(i0,{panel}),k0,-{panel}*floordiv(i0,{panel})+i0])
    "out{i}"[0,i0] = {value}
  }}
"""
ARRAYS = """
enum {{ N = {n}, PANELS = {panels} }};
static _Alignas(64) float a[3][40], b[3][40 * PANELS], out[3][N], want[3][N];
static void fill(void)
{{
    for (int part = 0; part < 3; ++part) {{
        draw(a[part], 40);
        draw(b[part], 40 * PANELS);
    }}
}}
"""


def kernel_of(n: int, panel: int) -> GroupedContractionKernel:
    buffers, parts, names = "", "", []
    for i, k in enumerate(TERMS):
        own = [f"a{i}", f"b{i}"]
        buffers += f'buffer input "a{i}" : f32[1,{k}]\nbuffer packed "b{i}" : f32[{-(-n // panel)},{k},{panel}]\n'
        buffers += f'buffer output "out{i}" : f32[1,{n}]\n'
        value = "acc f32"
        for before in range(i if i == 2 else 0):
            own.append(f"out{before}")
            value = f'add f32 ({value}, load f32 ("out{before}"[0,i0]))'
        own.append(f"out{i}")
        names += own
        parts += PART.format(i=i, n=n, k=k, panel=panel, value=value, params=", ".join(f'"{x}"' for x in own))
    params = ", ".join(f'"{x}"' for x in dict.fromkeys(names))
    (kernel,) = leaves(parse_unit(KERNEL.format(buffers=buffers, params=params, parts=parts), "kernel").kernels)
    assert isinstance(kernel, GroupedContractionKernel)
    return kernel


def wrong(n: int, panel: int, chosen: list[Schedule]) -> str:
    """The teams that compute something else than plain loops do."""
    return teams.wrong(kernel_of(n, panel), chosen, ARRAYS.format(n=n, panels=-(-n // panel) * panel))


def columns(schedule: Schedule) -> int | None:
    return item_columns(Access.of(kernel_of(40, 16).contractions[0]), schedule)


equal(columns(Schedule("avx512", "f32", 1, 64, epilogue="registers")), 16, "a team shares single panels")
equal(columns(Schedule("avx512", "f32", 1, 64, compact=True)), 64, "of compact code groups of columns")
equal(columns(Schedule("scalar", "f32", 1, 4)), 4, "without vectors, too")
equal(columns(Schedule("scalar", "f32", 2, 4)), None, "what is left of a tile of two rows may be cut otherwise")
one, wide, low = Schedule("scalar", "f32", 1, 4), Schedule("scalar", "f32", 1, 8), Schedule("scalar", "f32", 2, 4)
for n in (4, 40, 61):
    for what, chosen in (("equal items", [one] * 3), ("items of different widths", [one, wide, one]),
                         ("items of unknown columns", [one, low, wide]),
                         ("sums in registers", [Schedule("scalar", "f32", 1, 4, epilogue="registers")] * 3)):
        equal(wrong(n, 8, chosen), "", f"{n} columns, {what}: the results of plain loops by every team")
done()
