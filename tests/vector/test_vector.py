# SPDX-License-Identifier: Apache-2.0
"""Compiles check_PROGRAM.c for one instruction set and runs it: its TAP is this test's.

  test_vector.py PROGRAM ISA [OPTIMISATION [halves]]

halves, of `values`: the conversions to 16-bit floats of all 2^32 f32 instead. OPTIMISATION: -O2 where not given.
Compilers take longest, a minute and a half, to optimise what has no vectors."""
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.environ["TC_SOURCE_ROOT"], "tests", "nests"))

from harness import ROOT, machine
from tap import done, skip
from tensor_compile.compile.toolchain import EXACT
from tensor_compile.instruction_sets import instruction_set

name, isa, optimisation = sys.argv[1], sys.argv[2], sys.argv[3] if len(sys.argv) > 3 else "-O2"
sources = [os.path.join(ROOT, "tests", "vector", source) for source in (f"check_{name}.c", "lanes.c")]
found = machine(isa, optimise=optimisation)
if isinstance(found, str):
    skip(isa, found)
    done()
with tempfile.TemporaryDirectory() as folder:
    program = os.path.join(folder, "check")
    subprocess.run([found.compiler, "-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror",
                    *EXACT, *instruction_set(isa).compile_flags, *found.more, "-I",
                    os.path.join(ROOT, "templates", "include"), "-I", os.path.join(ROOT, "tests"),
                    *sources, "-o", program, "-lm"], check=True)
    sys.exit(subprocess.run([*found.run, program, *sys.argv[4:]], check=False).returncode)
