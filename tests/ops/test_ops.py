# SPDX-License-Identifier: Apache-2.0
"""Every function of a family at every size of families/FAMILY.py: the compiled model against the interpreter, bit for bit, and
against PyTorch's outputs (make_expected.py).

  test_ops.py FAMILY [--all | --arch ARCH]

Every instruction set of this machine, teams of 1, 2 and 5, the generic variant and one specialized for the family's SPECIALIZED;
inputs of four kinds, from plain ones to any pattern of bits (run_cases.c). One of the machine's instruction sets, which
follows from the family's name, or --all of them with the plain one. --arch: a few sizes on an emulator.

PyTorch's outputs were computed in double precision: RTOL and ATOL are this project's own rounding, of exp, tanh and erf
(docs/numerics.md) and of sums of some hundred terms of about 1.
"""
from __future__ import annotations

import importlib
import json
import os
import sys
import tempfile
import zlib
from dataclasses import replace
from pathlib import Path

from runner import EMULATED, NATIVE, all_isas, build, native_isas, run, words
from tap import done, skip
from tensor_compile.build.assemble import Made
from tensor_compile.build.cache import Cache

HERE = Path(__file__).resolve().parent
RTOL, ATOL = "2e-5", "2e-5"


def expected_sizes(path: Path) -> dict[str, dict[str, int]]:
    """The sizes of each function of make_expected.py: the metadata of its file."""
    data = path.read_bytes()
    metadata = json.loads(data[8:8 + int.from_bytes(data[:8], "little")])["__metadata__"]
    return {function: {k: int(v) for k, v in (word.split("=") for word in text.split(","))}
            for function, text in metadata.items()}


def cases(made: Made, family: str, few: bool) -> list[str]:
    found = []
    expected = expected_sizes(HERE / "expected" / f"{family}.safetensors")
    for f in made.compiled.plan.functions:
        names = [d.sym.name for d in f.dims]
        sizes = [s for s in sizes_of.SIZES if set(s) == set(names)] if names else [{}]
        for size in sizes[:: max(1, len(sizes) // 3)] if few else sizes:
            found.append(f"bits {f.name} {words(made, f.name, size)}")
        at = expected[f.name]
        if set(at) != set(names):
            raise ValueError(f"{f.name}: expected at {at}, its dims are {names}")
        given = words(made, f.name, at)
        found.append(f"near {f.name} {given}")
        if "<" in given:
            found.append(f"outside {f.name} {given}")
    return found


family, options = sys.argv[1], sys.argv[2:]
sizes_of = importlib.import_module(f"families.{family}")
arch = options[1] if options[:1] == ["--arch"] else ""
everything = options == ["--all"]
machine = EMULATED[arch] if arch else replace(
    NATIVE, isas=all_isas() if everything else native_isas(1, zlib.crc32(family.encode())))
if machine.missing:
    skip(family, f"{machine.missing} is not installed")
    done()
with tempfile.TemporaryDirectory() as folder:
    cache = Cache(Path(os.environ.get("TC_TESTS_CACHE", folder)))
    expected = (str(HERE / "expected" / f"{family}.safetensors"), RTOL, ATOL)
    made = build(HERE / f"{family}.c", machine, cache, {} if arch else sizes_of.SPECIALIZED)
    run(made, machine, cache, cases(made, family, bool(arch)), expected)
done()
