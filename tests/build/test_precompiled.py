# SPDX-License-Identifier: Apache-2.0
"""The precompiled header of kernels: made where it pays, and no byte of an object depends on it."""
import os
import shutil
import tempfile
from pathlib import Path

from tap import done, equal, ok, skip
from tensor_compile.compile import precompiled, toolchain
from tensor_compile.compile.cache import Cache
from tensor_compile.compile.objects import Unit, compile_units
from tensor_compile.instruction_sets import baseline

TEXT = """#include "tc_tile.h"
void tck_{i}(void *const *p, const tc_index *d, tc_index thread, tc_index threads)
{{
    tcv_store_f32(p[0], tcv_tanh_f32(tcv_add_f32(tcv_load_f32(p[{i}]), tcv_splat_f32({i}.5f))));
}}
"""


def units(flags: tuple[str, ...], kernel: bool, count: int) -> list[Unit]:
    return [Unit(f"tck_{i}", TEXT.format(i=i), flags, kernel) for i in range(count)]


for name in ("gcc", "clang"):
    if not shutil.which(name):
        skip(f"{name}: objects with and without a precompiled header", "not installed")
        continue
    with tempfile.TemporaryDirectory() as folder:
        few, many, without = (Cache(Path(folder) / part) for part in ("few", "many", "without"))
        compiler = toolchain.detect((name,), few.root, name)
        isa = "avx2" if compiler.arch == "x86_64" else baseline(compiler.arch).name
        flags = toolchain.kernel_flags(compiler, isa, (), (), compiler.arch)
        compile_units(units(flags, True, precompiled.LEAST - 1), compiler, few, 2)
        ok(not (few.root / "headers").exists(), f"{name}: none for {precompiled.LEAST - 1} kernels")
        got = compile_units(units(flags, True, precompiled.LEAST), compiler, many, 2)
        equal(len(os.listdir(many.root / "headers")), 1, f"{name}: one for {precompiled.LEAST}")
        want = compile_units(units(flags, False, precompiled.LEAST), compiler, without, 2)
        ok(not (without.root / "headers").exists(), f"{name}: none for what is no kernel")
        equal([o.path.read_bytes() for o in got], [o.path.read_bytes() for o in want], f"{name}: the same objects")
        stale = next((many.root / "headers").iterdir())
        shutil.rmtree(many.root / "objects")
        if name == "gcc":  # a header of another compiler of the same version
            many = Cache(many.root)
            many.entry("headers", stale.name, lambda work: None)  # is whole; what becomes of it then is not looked at
            (stale / f"{precompiled.HEADER}.gch").write_bytes(b"gpch.014" + bytes(64))
            got = compile_units(units(flags, True, precompiled.LEAST), compiler, many, 2)
            equal([o.path.read_bytes() for o in got], [o.path.read_bytes() for o in want],
                  "gcc: a precompiled header that does not fit is passed over")
done()
