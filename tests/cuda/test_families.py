# SPDX-License-Identifier: Apache-2.0
"""The families of tests/ops compiled for CUDA: every function against the interpreter, bit for bit, as test_ops.py does
it for processors.

  test_families.py FAMILY[:DTYPE][@PRECISION]… [--device TARGET_FILE NVCC [WRAPPER…]]

DTYPE: one of the family's FLOATS in place of f32. PRECISION: of products (--precision), where values are near those of
the interpreter and calls are repeated. On the emulated device of these tests, or with --device on this
machine's first GPU, where a WRAPPER (compute-sanitizer) may start the program, and several kernels are compiled at
once. At all sizes in f32 on a device without a wrapper, else at a few."""
from __future__ import annotations

import os
import sys
import tempfile
from dataclasses import replace
from importlib import import_module
from pathlib import Path

import batching
import emulation
from emulation import ROOT

OPS = ROOT / "tests" / "ops"
sys.path.insert(0, str(OPS))

from comparison import Expected, st
from family import cases
from runner import Machine, build, run
from tap import done, skip
from tensor_compile.compile import cuda_image
from tensor_compile.compile.cache import Cache

words = sys.argv[1:]
at = words.index("--device") if "--device" in words else len(words)
families, device, wrapper = words[:at], tuple(words[at + 1:at + 3]), tuple(words[at + 3:])
cxx = emulation.compiler()
if cxx is None and not device:
    skip("emulated families", "no C++ compiler")
    done()
if device:
    cuda_image.make = batching.make_batched
with tempfile.TemporaryDirectory() as place:
    folder = Path(place)
    cache = Cache(Path(os.environ.get("TC_TESTS_CACHE", folder / "cache")))
    machine = Machine(wrapper=wrapper, device=device or ("cuda-sm90", str(emulation.stub(folder))))
    fake = None if device else emulation.driver(cxx, folder)
    for word in families:
        word, _, precision = word.partition("@")
        family, _, dtype = word.partition(":")
        dtype = (dtype or "f32").upper()
        sizes = import_module(f"families.{family}")
        machine = replace(machine, precision=precision or "f32")
        made = build(OPS / f"{family}.c", machine, cache, sizes.SPECIALIZED, defines=(f"-DFLOAT=TC_{dtype}",))
        there = machine
        if fake:
            out = folder / word
            out.mkdir()
            for name, text in made.sources.texts():
                (out / name).write_text(text, encoding="utf-8")
            found = emulation.prepared(sorted(out.glob("*.cu")), out, fake, cxx)
            there = replace(machine, wrapper=("env", *(f"{name}={value}" for name, value in found.items())))
        expected = Expected.read(OPS / "expected" / f"{family}.safetensors").with_inputs_in(dtype)
        st.write(folder / "given.safetensors", expected.tensors)
        few = bool(fake or wrapper or dtype != "F32")
        run(made, there, cache, cases(made, sizes.SIZES, expected, few, not precision), folder / "given.safetensors")
done()
