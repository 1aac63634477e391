# SPDX-License-Identifier: Apache-2.0
"""How a team shares the tiles of contractions of known sizes: every item once, by the C that kernels have as by the
model that chooses it; and slowest threads take less time than where tiles are counted. candidates.py compares results.
"""
from __future__ import annotations

import subprocess
import tempfile
from dataclasses import replace
from pathlib import Path

from cases import dim, matmul, typed, window
from tap import done, equal, ok
from tensor_compile import target as targets
from tensor_compile.emit.contraction import candidates as table
from tensor_compile.emit.contraction.access import Access
from tensor_compile.emit.contraction.team_split import emit_split, Split, team_split, TEAMS, TeamSplit
from tensor_compile.loops import products
from tensor_compile.loops.contraction_schedule import Schedule
from tensor_compile.symbolic import sym

SIZES = (1, 2, 3, 5, 8, 16, 23, 64)
PROGRAM = """
#include <stddef.h>
#include <stdio.h>
typedef ptrdiff_t tc_index;
#define TC_NOINLINE
#define tc_min(a, b) ((a) < (b) ? (a) : (b))
#define tc_max(a, b) ((a) > (b) ? (a) : (b))
{share}
int main(void)
{{
    for (tc_index threads = 1; threads <= {most}; ++threads)
        for (tc_index thread = 0, team = threads; thread < threads; ++thread, (void)team)
            printf("%td\\n", before({time} * thread / threads{threads}));
    return 0;
}}
"""
SORTED = replace(products.integers("i8", "i8", "x86_64")[0], ordered=True)
BYTES = Schedule("avx2", SORTED.name, 12, 16, mc=96, nc=512, packed_a=True)
CASES: list[tuple[str, object, Schedule]] = [
    ("49 rows of sorted words, 512 columns", typed(49, 512, 64, SORTED, 16), BYTES),
    ("49 rows, 160 columns", typed(49, 160, 64, SORTED, 16), BYTES),
    ("196 rows, 1024 columns", typed(196, 1024, 64, SORTED, 16), BYTES),
    ("14x14 positions, 70 columns", window(14, 14, 70, SORTED, panel=16), BYTES),
    ("49 rows of floats, 256 columns", matmul(49, 256, 64), Schedule("avx512", "f32", 9, 48)),
    ("196 rows, 256 columns", matmul(196, 256, 64), Schedule("avx512", "f32", 9, 48)),
    ("blocks of rows, 200 columns", matmul(200, 200, 64), Schedule("avx512", "f32", 9, 48, mc=36)),
    ("copies, blocks of terms", matmul(100, 100, 64), Schedule("avx512", "f32", 9, 48, kc=32, mc=36, nc=48,
                                                                            packed_a=True)),
]


def bounds(split: Split, threads: int) -> list[int]:
    return [*(split.before(split.time * t // threads, threads) for t in range(threads)), split.items]


def in_c(found: TeamSplit) -> list[int]:
    """What the C of a kernel computes, for teams of up to the largest of SIZES."""
    text = emit_split(found)
    with tempfile.TemporaryDirectory() as folder:
        source, program = Path(folder) / "share.c", Path(folder) / "share"
        source.write_text(PROGRAM.format(share=text["share"], most=max(SIZES), time=found.split.time,
                                         threads=text["before_threads"]), encoding="utf-8")
        subprocess.run(["cc", "-std=c11", "-Wall", "-Wextra", "-Werror", str(source), "-o", str(program)], check=True)
        return [int(x) for x in subprocess.run([program], capture_output=True, text=True, check=True).stdout.split()]


chosen = []
for name, kernel, schedule in CASES:
    access = Access.of(kernel)
    found = team_split(access, schedule)
    for form in [found] if found is not None else []:
        chosen.append(form)
        split = form.split
        for threads in SIZES:
            at = bounds(split, threads)
            items = sorted(item for first, last in zip(at, at[1:]) for item in range(first, last))
            if at[0] != 0 or items != list(range(split.items)) or len(split.ordered(threads)) != split.items:
                ok(False, f"{name}: {threads} threads take every item once")
                break
        else:
            ok(True, f"{name}: teams take every item once")
        lost = [(form.slowest(n), TeamSplit(replace(split, tiles=split.tiles + (form.last is not None),
                                                    last_row=form.last.last_row if form.last else split.last_row)
                                            ).slowest(n)) for n in TEAMS]
        ok(sum(new / old for new, old in lost) < len(TEAMS), f"{name}: the slowest thread takes less time: {lost}")
        timed = TeamSplit(split, True, form.last)
        equal(in_c(timed), [split.before(split.time * t // n, n) for n in range(1, max(SIZES) + 1) for t in range(n)],
              f"{name}: kernels compute the same")
ok(any(form.timed for form in chosen), "items are shared by their time")
ok(any(form.last is not None for form in chosen), "the tiles of the last rows stand behind the others")

even = Schedule("avx512", "f32", 8, 48)
ok(team_split(Access.of(matmul(64, 480, 64)), even) is None, "tiles that take as long are counted")
ok(team_split(Access.of(matmul(sym(dim("m")), 256, 64)), even) is None, "so are those of a dynamic number of rows")
ok(team_split(Access.of(matmul(49, 256, 64)), replace(even, mr=9, compact=True)) is None, "and those of little code")
ok(team_split(Access.of(matmul(40000, 520, 64)), even) is None, "and those of which a thread has many")

# a tile of sorted rows meets all columns before the next one, where these stay in the second cache
target = targets.load(targets.find("x86_64"))
for columns, terms, tiles in ((64, 384, 1), (160, 960, 1), (512, 4608, 8)):
    found = table.choose(typed(49, columns, terms, SORTED, 16), "avx2", target)
    equal((found.packed_a, found.mr, found.mc), (True, 12, 12 * tiles),
          f"49 rows of {terms} terms, {columns} columns: tiles of a block")
done()
