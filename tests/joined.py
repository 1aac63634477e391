# SPDX-License-Identifier: Apache-2.0
"""Many kernels in one translation unit: half the time of a small kernel's compilation is the compiler's start, and of
many references of one set of flags almost all of it."""
from __future__ import annotations

import re
from dataclasses import replace
from typing import Callable, Sequence

from tensor_compile.compile import cpu_target, objects
from tensor_compile.compile.objects import Object, Unit

LARGEST = 16    # units in one
COMPILE_UNITS = objects.compile_units
ATTRIBUTE = re.compile(r"__attribute__\(\(\w+\)\) ")
OWN = re.compile(r"^(?:struct|static .*?) ?\b(\w+)(?: \{|\(|\[)", re.M)


def compile_as(optimize: str, level: str) -> None:
    """How kernels of builds with that --optimize are compiled from now on. -O1 is no choice of users: with it many are
    in a file."""
    cpu_target.OPTIMISE[optimize] = level
    objects.compile_units = joined(COMPILE_UNITS) if level == "-O1" else COMPILE_UNITS


def joined(compile_units: Callable[..., list[Object]]) -> Callable[..., list[Object]]:
    """compile_units of objects.py for units of one program, whose objects are linked whatever they hold. What is not
    joined comes last, in its order: the driver."""
    return lambda units, *more: compile_units(_joined(units), *more)


def _joined(units: Sequence[Unit]) -> list[Unit]:
    """Kernels and references of the same flags in one unit each; the others as they are."""
    groups: dict[tuple[str, ...], list[Unit]] = {}
    others = []
    for unit in units:
        if unit.kernel and not unit.name.startswith("micro_") or unit.name.startswith("reference_"):
            groups.setdefault(unit.flags, []).append(unit)
        else:
            others.append(unit)
    together = []
    for group in groups.values():
        for first in range(0, len(group), LARGEST):
            some = group[first:first + LARGEST]
            text = "".join(_apart(unit.text, i) for i, unit in enumerate(some))
            together.append(replace(some[0], text=text, kernel=True))
    return [*together, *others]


def _apart(text: str, number: int) -> str:
    """What only the file sees has a name of its own in it."""
    own = set(OWN.findall(ATTRIBUTE.sub("", text)))
    if not own:
        return text
    # no member of a struct, whose declaration and uses keep its name
    return re.sub(rf"(?m)(?<![\w.>])(?<!^    int )(?:{'|'.join(own)})\b", lambda m: f"{m[0]}_{number}", text)
