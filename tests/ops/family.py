# SPDX-License-Identifier: Apache-2.0
"""The cases of a family (tests/ops/FAMILY.c) for run_cases.c."""
from __future__ import annotations

import random
import zlib
from itertools import product

from comparison import Expected
from runner import words_of
from tensor_compile.compile.given import failed_guard
from tensor_compile.compile.assemble import Made
from tensor_compile.loops.program_ir import FunctionPlan

SHAPES = 30  # of a function, at least, where its dims have as many


def drawn(f: FunctionPlan, given: list[dict[str, int]]) -> list[dict[str, int]]:
    """Small sizes, about where vectors and tiles end, that with `given` are SHAPES; the same ones at every run."""
    choices = [[v for v in (0, 1, 2, 3, 4, 5, 7, 8, 9, 13, 15, 16, 17, 24, 31, 32, 33)
                if d.sym.lo <= v <= d.sym.hi and v % d.sym.divisor == 0] or [d.sym.lo] for d in f.dims]
    found = (dict(zip([d.sym.name for d in f.dims], values)) for values in product(*choices))
    others = [sizes for sizes in found if sizes not in given and failed_guard(f, sizes) is None]
    rng = random.Random(zlib.crc32(f.name.encode()))
    return rng.sample(others, max(0, min(len(others), SHAPES - len(given))))


def cases(made: Made, listed: list[dict[str, int]], expected: Expected, few: bool, exact: bool = True) -> list[str]:
    """listed: the sizes of the family, to which others are drawn; few: at some of those listed, for slow machines;
    exact: all bits are asked for."""
    found = []
    for f in made.compiled.plan.functions:
        names = [d.sym.name for d in f.dims]
        sizes = [s for s in listed if set(s) == set(names)] if names else [{}]
        words = words_of(made, f.name)
        if not exact:
            found += [f"near {f.name} {words(size)}" for size in sizes]
            continue
        for size in sizes[:: max(1, len(sizes) // 3)] if few else sizes:
            found.append(f"bits {f.name} {words(size)}")
        for size in [] if few else drawn(f, sizes):
            found.append(f"shape {f.name} {words(size)}")
        at = expected.sizes[f.name]
        if set(at) != set(names):
            raise ValueError(f"{f.name}: expected at {at}, its dims are {names}")
        given = words(at)
        found.append(f"given {f.name} {given}")
        if "<" in given:
            found.append(f"outside {f.name} {given}")
    return found
