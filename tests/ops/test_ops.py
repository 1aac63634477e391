# SPDX-License-Identifier: Apache-2.0
"""Every function of a family at 30 shapes, the sizes of families/FAMILY.py first: the compiled model against the
interpreter, bit for bit, and the interpreter against PyTorch's outputs (make_expected.py, comparison.py).

  test_ops.py FAMILY [--all | --arch ARCH | --floats | --tiles]

Every instruction set of this machine, teams of 1, 2 and 5, the generic variant and one specialized for the family's
SPECIALIZED; inputs of four kinds, from plain ones to any pattern of bits (run_cases.c). One of the machine's
instruction sets, which follows from the family's name, compiled with -O1; or --all of them with the plain one, as users
compile them. --arch: so on an emulator, a few sizes. --floats: the functions in each of the floats that the family's
FLOATS names in place of f32. --tiles: for a target of hardly any cache, where all kernels that can run in tiles do.
"""
from __future__ import annotations

import importlib
import os
import sys
import tempfile
import zlib
from dataclasses import replace
from pathlib import Path

import comparison
from comparison import Expected, st
from family import cases
from runner import EMULATED, NATIVE, all_isas, build, native_isas, run
from tap import done, ok, skip
from tensor_compile.compile import assemble, host_programs
from tensor_compile.compile.cache import Cache
from tensor_compile.graph.text import print_module
from tensor_compile.loops.program_ir import Tiles, regions

HERE = Path(__file__).resolve().parent

family, options = sys.argv[1], sys.argv[2:]
sizes_of = importlib.import_module(f"families.{family}")
arch = options[1] if options[:1] == ["--arch"] else ""
everything = options == ["--all"]
machine = EMULATED[arch] if arch else replace(
    NATIVE, isas=all_isas() if everything else native_isas(1, zlib.crc32(family.encode())))
if arch or everything:
    machine = replace(machine, optimise="-O3")
if options == ["--tiles"]:
    machine = replace(machine, little_cache=True)
if machine.missing:
    skip(family, f"{machine.missing} is not installed")
    done()
recorded = Expected.read(HERE / "expected" / f"{family}.safetensors")
with tempfile.TemporaryDirectory() as folder:
    cache = Cache(Path(os.environ.get("TC_TESTS_CACHE", folder)))
    for dtype in sizes_of.FLOATS if options == ["--floats"] else ("f32",):
        expected = recorded.with_inputs_in(dtype.upper())
        made = build(HERE / f"{family}.c", machine, cache, {} if arch else sizes_of.SPECIALIZED,
                     defines=(f"-DFLOAT=TC_{dtype.upper()}",))
        if machine.little_cache:
            ok(any(isinstance(r, Tiles) for f in made.compiled.plan.functions for v in f.variants
                   for r in regions(v.program.steps)), "kernels run in tiles")
        given = Path(folder) / "given.safetensors"
        st.write(given, expected.tensors)
        run(made, machine, cache, cases(made, sizes_of.SIZES, expected, bool(arch)), given)
        comparison.compare(f"PyTorch {dtype}", host_programs.interpreter(made.host, cache),
                           print_module(assemble.placed(made.compiled.reference, made)), HERE, expected,
                           getattr(sizes_of, "ROUNDINGS", {}))
done()
