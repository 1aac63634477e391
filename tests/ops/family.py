# SPDX-License-Identifier: Apache-2.0
"""The cases of a family (tests/ops/FAMILY.c) for run_cases.c."""
from __future__ import annotations

from comparison import Expected
from runner import words
from tensor_compile.build.assemble import Made


def cases(made: Made, listed: list[dict[str, int]], expected: Expected, few: bool) -> list[str]:
    """listed: the sizes of the family; few: at some of them, for slow machines."""
    found = []
    for f in made.compiled.plan.functions:
        names = [d.sym.name for d in f.dims]
        sizes = [s for s in listed if set(s) == set(names)] if names else [{}]
        for size in sizes[:: max(1, len(sizes) // 3)] if few else sizes:
            found.append(f"bits {f.name} {words(made, f.name, size)}")
        at = expected.sizes[f.name]
        if set(at) != set(names):
            raise ValueError(f"{f.name}: expected at {at}, its dims are {names}")
        given = words(made, f.name, at)
        found.append(f"given {f.name} {given}")
        if "<" in given:
            found.append(f"outside {f.name} {given}")
    return found
