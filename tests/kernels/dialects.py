# SPDX-License-Identifier: Apache-2.0
"""Kernels with assembly of their own are the same code where a build asks for Intel's dialect: -masm=intel is a flag of
the host that reaches kernels, and operands that a dialect turns round would be other results."""
from __future__ import annotations

import platform
import shutil
import tempfile
from dataclasses import replace
from pathlib import Path

from cases import convolution, term_by_term
from tap import done, equal, ok, skip
from tensor_compile.compile import toolchain
from tensor_compile.compile.cache import Cache
from tensor_compile.compile.objects import Unit, compile_units
from tensor_compile.emit.contraction.candidates import refusal
from tensor_compile.emit.contraction.source import emit_contraction
from tensor_compile.emit.contraction.in_registers import named
from tensor_compile.emit.contraction.term_by_term import schedule_of
from tensor_compile.loops.contraction_schedule import Schedule
from tensor_compile.loops.scalar_ir import Apply

ROOTS = """#include "tc_kernel.h"
#include "tc_scalar.h"
#include "tc_f64.h"
float of_f32(float x) { return x + 10 * tc_sqrt_f32(x); }
double of_f64(double x) { return x + 10 * tc_sqrt_f64(x); }
"""


def main() -> None:
    if platform.machine() != "x86_64":
        skip("dialects of assembly", f"this machine is {platform.machine()}")
        done()
    kernel = convolution(1, 64, 9, 9, 32, (3, 3), pad=1, planar_in=True)
    (store,) = kernel.stores
    root = replace(kernel, stores=(replace(store, value=Apply("sqrt", "f32", (store.value,))),))
    schedule = Schedule("avx2", "f32", 3, 32, kc=192, mc=6, epilogue="registers")
    ok(named(schedule) and refusal(root, schedule) is None, "a tile has registers by name")
    tile = emit_contraction(root, [schedule], "kernel").text
    keys = term_by_term(3, 64, 64)
    columns = schedule_of(keys, "avx2")
    assert columns is not None
    touching = emit_contraction(keys, [columns], "kernel").text
    ok("tc_touch(" in touching, "lines of columns are loaded by assembly")
    for command in ("cc", "clang"):
        if not shutil.which(command):
            skip(command, f"{command} is not installed")
            continue
        with tempfile.TemporaryDirectory() as folder:
            cache = Cache(Path(folder))
            compiler = toolchain.detect((command,), cache.root, "compiler")
            objects = []
            for host in ((), ("-masm=intel",)):
                flags = {isa: toolchain.kernel_flags(compiler, isa, (), host, "x86_64") for isa in ("x86_64", "avx2")}
                objects.append(compile_units([Unit("tile", tile, flags["avx2"], kernel=True),
                                              Unit("columns", touching, flags["avx2"], kernel=True),
                                              *(Unit(f"roots_{isa}", ROOTS, flags[isa], kernel=True) for isa in flags)],
                                             compiler, cache, None))
            for plain, intel in zip(*objects, strict=True):
                equal(intel.path.read_bytes() == plain.path.read_bytes(), True, f"{command}: {plain.path.name}")
    done()


main()
