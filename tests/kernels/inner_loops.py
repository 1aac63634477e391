# SPDX-License-Identifier: Apache-2.0
"""The inner loop of every tile of every candidate, disassembled: packed fused multiply-adds on all of its accumulators,
nothing on the stack, no call, no scalar multiply-add.

usage: inner_loops.py ARCH [--all] [COMPILER...]     ARCH: x86_64, aarch64

A candidate in one of four forms, its neighbour in the table in another; --all in each that it fits.
"""
from __future__ import annotations

import re
import shutil
import sys
import tempfile
from pathlib import Path

from cases import convolution, dim, matmul
from disassembly import CALL, OBJDUMP, SPILL, STACK, functions, inner_loops
from tap import done, note, ok, skip
from tensor_compile import target as targets
from tensor_compile.compile import toolchain
from tensor_compile.compile.cache import Cache
from tensor_compile.compile.objects import Unit, compile_units
from tensor_compile.emit.contraction import candidates as table
from tensor_compile.emit.contraction import micro
from tensor_compile.emit.contraction.source import emit_contraction
from tensor_compile.emit.contraction.candidate_table import micro_pointers
from tensor_compile.emit.contraction.in_registers import named
from tensor_compile.emit.contraction.micro import Micro
from tensor_compile.loops.contraction_schedule import Schedule
from tensor_compile.symbolic import sym

COMPILER = {"x86_64": "cc", "aarch64": "aarch64-linux-gnu-gcc"}
ISAS = {"x86_64": ("avx2", "avx512"), "aarch64": ("neon",)}
PACKED = re.compile(r"\tvfmadd\w*ps\s|\tfmla\s+v")
# A micro-kernel of many rows, whose strides are arguments, reads some of its pointers from the stack.
POINTERS = {"avx512": 4, "avx2": 1}
SCALAR = re.compile(r"\tvfmadd\w*ss\s|\tfmadd\s+s")
ONE = re.compile(r"\tldu?r\s+s\d|\tld1r\s")    # a load of one number
REGISTER = {"avx2": "%ymm", "avx512": "%zmm", "neon": ".4s"}


def kernels() -> list[tuple[str, object]]:
    m, n, k = sym(dim("m")), sym(dim("n")), sym(dim("k"))
    return [("constant", matmul(126 * 8, 64 * 48, 384)), ("dynamic", matmul(m, n, k, 0)),
            ("dynamic rows", matmul(m, 768, 384)),
            ("convolution", convolution(1, 64, 56, 56, 768, (3, 3), pad=1))]


def check(isa: str, name: str, tile: str, body: list[tuple[int, str]], once: bool) -> None:
    """once: columns are loaded once a term."""
    rows, columns = map(int, re.match(r"(?:tile_)?(\d+)x(\d+)", tile).groups())
    want = rows * columns // table.instruction_set(isa).lanes
    loops = [loop for loop in inner_loops(body) if any(PACKED.search(t) or SCALAR.search(t) for t in loop)]
    problems = [] if loops else ["no loop"]
    for loop in loops:
        packed = [t for t in loop if PACKED.search(t)]
        if len(packed) % want or not packed:
            problems.append(f"{len(packed)} packed multiply-adds, not {want}")
        problems += [t.strip() for t in loop if CALL.search(t) or SCALAR.search(t)]
        stack = [t.strip() for t in loop if STACK.search(t)]
        pointers = 0 if tile.startswith("tile_") else POINTERS.get(isa, 0)
        if len(stack) > pointers or any("mm" in t or SPILL.search(t) for t in stack):
            problems += stack
        problems += [t.strip() for t in packed if REGISTER[isa] not in t or once and "(" in t]
    if isa == "neon" and name.startswith("library") and "_steps" not in tile:    # four terms of each row by one load
        turns = [loop for loop in loops if sum(bool(PACKED.search(t)) for t in loop) == 4 * want]
        problems += [] if turns else ["no loop of four terms"]
        problems += [t.strip() for loop in turns for t in loop if ONE.search(t)]
    if not ok(not problems, f"{name} {tile}"):
        for problem in problems[:4]:
            note(problem)


def main() -> None:
    arch, everything = sys.argv[1], sys.argv[2:3] == ["--all"]
    command = tuple(sys.argv[3 if everything else 2:]) or (COMPILER[arch],)
    for program in (command[0], OBJDUMP[arch]):
        if not shutil.which(program):
            skip(f"inner loops of {arch}", f"no {program}")
            done()
    target = targets.load(targets.find(arch))
    with tempfile.TemporaryDirectory() as folder:
        cache = Cache(Path(folder))
        compiler = toolchain.detect(command, cache.root, "compiler")
        units, isa_of, once = [], {}, set()
        for isa in ISAS[arch]:
            floats = [c for c in table.candidates(isa) if c.dtype == "f32"]
            flags = toolchain.kernel_flags(compiler, isa, target.flags, (), arch)
            for turn, (form, kernel) in enumerate(kernels()):
                tiles = [Schedule(isa, c.dtype, c.rows, c.columns, epilogue="registers") for c in floats]
                fitting = [s for s in tiles if table.refusal(kernel, s) is None]
                for schedule in fitting[0 if everything else turn:: 1 if everything else 4]:
                    name = f"{schedule.name} {form}"
                    isa_of[name] = isa
                    units.append(Unit(name.replace(" ", "_"), emit_contraction(kernel, [schedule], "kernel").text,
                                      flags, kernel=True))
                    once |= {name} if named(schedule) else set()
            planes = convolution(1, 64, 56, 56, 768, (3, 3), pad=1, planar_in=True, planar_out=True)
            for tile in floats:   # tiles that need every register, where some positions do not exist
                schedule = Schedule(isa, "f32", tile.rows, tile.columns, kc=192, mc=2 * tile.rows, epilogue="registers")
                if named(schedule):
                    name = f"{schedule.name} planes"
                    isa_of[name] = isa
                    once.add(name)
                    units.append(Unit(name.replace(" ", "_"), emit_contraction(planes, [schedule], "kernel").text,
                                      flags, kernel=True))
            if isa == "avx512":   # rows of two sizes that lie evenly apart: one pointer, also beside those of fetches
                rows = Schedule(isa, "f32", 8, 48, epilogue="registers", prefetch=True)
                name = f"{rows.name} rows of two sizes"
                isa_of[name] = isa
                units.append(Unit(name.replace(" ", "_"), emit_contraction(
                    convolution(1, 384, 8, 16, 384, (1, 1)), [rows], "kernel").text, flags, kernel=True))
            library = [Micro(isa, c.rows, c.columns, steps) for c in floats for steps in (False, True)
                       if micro_pointers(c.rows, c.columns, steps) <= table.instruction_set(isa).pointers]
            isa_of[f"library {isa}"] = isa
            units.append(Unit(f"library_{isa}", micro.library(library, isa), flags, kernel=True))
        for (name, isa), built in zip(isa_of.items(), compile_units(units, compiler, cache, None), strict=True):
            tiles = {n.removeprefix("tck_micro_f32_"): body for n, body in functions(built.path, arch).items()
                     if re.match(r"tile_\d|tck_micro_", n) and ".cold" not in n}
            ok(tiles, f"{name}: has tiles")
            for tile, body in tiles.items():
                check(isa, name, tile, body, name in once)
    done()


main()
