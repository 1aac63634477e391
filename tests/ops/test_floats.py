# SPDX-License-Identifier: Apache-2.0
"""The functions of a family in the other floats that its FLOATS names (families/FAMILY.py): recorded, through the
passes that fix their arithmetic, and run by the interpreter against PyTorch's outputs of the same inputs
(comparison.py).

  test_floats.py FAMILY

No kernel is compiled: that kernels have the interpreter's bits in every float is shown by other tests (dtypes.c, random
graphs; test_ops.py --floats).
"""
from __future__ import annotations

import importlib
import os
import sys
import tempfile
from pathlib import Path

import comparison
from comparison import Expected
from tensor_compile.compile import capture_run, host_programs, toolchain
from tensor_compile.compile.cache import Cache
from tensor_compile.graph import passes
from tensor_compile.graph.text import parse_module, print_module
from tap import done

HERE = Path(__file__).resolve().parent

family = sys.argv[1]
about = importlib.import_module(f"families.{family}")
expected = Expected.read(HERE / "expected" / f"{family}.safetensors")
with tempfile.TemporaryDirectory() as folder:
    cache = Cache(Path(os.environ.get("TC_TESTS_CACHE", folder)))
    host = toolchain.detect(("cc",), cache.root, "the compiler for the build machine")
    interpreter = host_programs.interpreter(host, cache)
    for dtype in about.FLOATS:
        recorded = capture_run.run(HERE / f"{family}.c", f"{family}.c", (f"-DFLOAT=TC_{dtype.upper()}",), host, cache,
                                   60)
        reference = passes.run(parse_module(recorded.text, f"{family}.c")).reference
        comparison.compare(f"PyTorch {dtype}", interpreter, print_module(reference), HERE,
                           expected.with_inputs_in(dtype.upper()), getattr(about, "ROUNDINGS", {}))
done()
