# SPDX-License-Identifier: Apache-2.0
"""The inner loops of softmax, layer norm and GELU for AVX2 and AVX-512, disassembled: whole registers, no call, nothing
stored on the stack (constants may be read from there). Windows of bytes are loaded by vectors.

usage: inner_loops.py [COMPILER...]
"""
from __future__ import annotations

import os
import re
import shutil
import sys
import tempfile
from pathlib import Path

from cases import all_cases
from disassembly import CALL, OBJDUMP, SPILL, functions, inner_loops
from tap import done, note, ok, skip
from tensor_compile import target as targets
from tensor_compile.compile import toolchain
from tensor_compile.compile.cache import Cache
from tensor_compile.compile.objects import Unit, compile_units
from tensor_compile.emit.kernels import emit_kernel

REGISTER = {"avx2": "%ymm", "avx512": "%zmm"}
CASES = ("softmax 3 x 4096", "softmax 16 x 4096", "softmax of attention 16 x 4130, in a tile",
         "layer norm 10000", "gelu 2000", "depthwise 3x3/1 of 4x12x16")
BYTES = ("depthwise u8 by i8, 3x3/1 of 4x12x16",)
# what is called where an operand of exp is far from 0, and the calls
RARE = re.compile(r"tcv_exp_far_f32$|.*\.cold$")
ONE_BYTE = re.compile(r"\t(?:movs|movz)b|\tv?pinsr")


def check(isa: str, name: str, body: list[tuple[int, str]]) -> None:
    loops = inner_loops(body)
    problems = [] if any(REGISTER[isa] in t for loop in loops for t in loop) else ["no loop over whole registers"]
    wrong = (ONE_BYTE, CALL) if name in BYTES else (SPILL, CALL)
    problems += [t.strip() for loop in loops for t in loop if any(w.search(t) for w in wrong)]
    if not ok(not problems, f"{isa}: {name}"):
        for problem in problems[:4]:
            note(problem)


def main() -> None:
    arch = "x86_64"
    command = tuple(sys.argv[1:]) or ("cc",)
    if os.uname().machine != arch or not shutil.which(OBJDUMP[arch]):
        skip("inner loops", f"not on {arch}, or no {OBJDUMP[arch]}")
        done()
    target = targets.load(targets.find(arch))
    kernels = {case.name: case.kernel for case in all_cases() if case.name in CASES + BYTES}
    ok(len(kernels) == len(CASES + BYTES), "the cases are there")
    with tempfile.TemporaryDirectory() as folder:
        cache = Cache(Path(folder))
        compiler = toolchain.detect(command, cache.root, "compiler")
        units, names = [], []
        for isa in REGISTER:
            flags = toolchain.kernel_flags(compiler, isa, target.flags, (), arch)
            for name, kernel in kernels.items():
                names.append((isa, name))
                units.append(Unit(re.sub(r"\W", "_", f"{name} {isa}"), emit_kernel(kernel, isa).text, flags,
                                  kernel=True))
        for (isa, name), built in zip(names, compile_units(units, compiler, cache, None), strict=True):
            for symbol, body in functions(built.path, arch).items():
                if RARE.match(symbol):
                    continue
                ok(symbol.startswith("tck_"), f"{isa}: {name}: {symbol} is the kernel, all else is inlined")
                check(isa, name, body)
    done()


main()
