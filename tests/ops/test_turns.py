# SPDX-License-Identifier: Apache-2.0
"""Convolutions of one dim whose terms are taken in blocks, each of some turns of the loop over the window, by tiles
that are all the kernel's own (emit/contraction/in_registers.py): the interpreter's bits on every instruction set, with
blocks of one turn, of two and of all but one, for all rows and for a few tiles of them.

usage: test_turns.py [ARCH]     ARCH: aarch64, whose programs an emulator runs; without it this machine's
"""
from __future__ import annotations

import os
import sys
import tempfile
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Callable, Iterator

from runner import EMULATED, NATIVE, all_isas, build, run, words
from tap import done, ok, skip
from tensor_compile.compile.cache import Cache
from tensor_compile.emit.contraction import candidates as table
from tensor_compile.emit.contraction.access import Access
from tensor_compile.emit.contraction.in_registers import turn_terms, walks_planes
from tensor_compile.instruction_sets import instruction_set
from tensor_compile.loops.contraction_schedule import Schedule
from tensor_compile.loops.loop_ir import ContractionKernel
from tensor_compile.target import Target

HERE = Path(__file__).resolve().parent
SIZES = {"line": [{}], "line_of_batches": [{"batch": 1}, {"batch": 3}], "line_behind": [{}], "channels": [{}],
         "dynamic": [{"w": size} for size in (1, 2, 5, 64, 131)],
         "dilated": [{"batch": 1, "w": 37}, {"batch": 2, "w": 1}, {"batch": 3, "w": 50}],
         "groups": [{"batch": 1, "w": 3}, {"batch": 2, "w": 41}],
         "strided": [{"batch": 1, "w": 3}, {"batch": 3, "w": 86}]}
LINES = {name for name in SIZES if name.startswith("line")}     # which tiles walk position by position
ROUNDS = 2          # builds, each with other schedules
SCHEDULES = 10      # of an instruction set, at least
usual = table.choose


def in_turns(kernel: ContractionKernel, isa: str) -> list[Schedule]:
    """The schedules with blocks of turns that the kernel may have."""
    access = Access.of(kernel)
    turn, turns = turn_terms(access.inside), access.inside[0].extent.value
    found = [Schedule(isa, "f32", tile.rows, tile.columns, kc=some * turn, mc=tiles * tile.rows, epilogue="registers")
             for tile in table.candidates(isa) if tile.dtype == "f32"
             for some in (1, 2, turns - 1) for tiles in (0, 3, 1)]
    return [schedule for schedule in found if table.refusal(kernel, schedule) is None]


def checked(arch: str, cache: Cache) -> None:
    machine = EMULATED[arch] if arch else replace(NATIVE, isas=all_isas())
    if machine.missing:
        skip(f"turns {arch}".rstrip(), f"{machine.missing} is not installed")
        return
    lines: set[str] = set()
    taken: set[tuple[str, str]] = set()

    def chooser(numbers: Iterator[int]) -> Callable[..., Schedule]:
        """numbers: of the schedule of each kernel, for as many as have one."""
        def choose(kernel: ContractionKernel, isa: str, target: Target, parts: int = 1) -> Schedule:
            found = in_turns(kernel, isa)
            if not found:
                return usual(kernel, isa, target, parts)
            schedule = found[next(numbers) % len(found)]
            taken.add((isa, schedule.name))
            if walks_planes(Access.of(kernel).inside):
                lines.add(isa)
            return schedule
        return choose

    for first in range(ROUNDS):
        table.choose = chooser(count(first, ROUNDS))
        try:
            made = build(HERE / "turns.c", machine, cache, {})
        finally:
            table.choose = usual
        vectors = {isa for isa in made.target.isas if instruction_set(isa).has_vectors}
        for function in made.compiled.plan.functions:
            found = {schedule.isa for variant in function.variants for step in variant.program.kernel_steps
                     if isinstance(step.kernel, ContractionKernel) for schedule in step.kernel.schedules
                     if schedule.in_parts}
            ok(found >= vectors, f"{function.name}: blocks of turns")
        run(made, machine, cache, [f"bits {name} {words(made, name, size)}" for name, sizes in SIZES.items()
                                   for size in sizes])
    ok(vectors and lines >= vectors, f"{', '.join(sorted(vectors))}: lines of few channels are walked")
    for isa in sorted(vectors):
        ok(len([name for of, name in taken if of == isa]) >= SCHEDULES, f"{isa}: {SCHEDULES} schedules or more")


with tempfile.TemporaryDirectory() as folder:
    checked(sys.argv[1] if len(sys.argv) > 1 else "", Cache(Path(os.environ.get("TC_TESTS_CACHE", folder))))
done()
