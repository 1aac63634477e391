# SPDX-License-Identifier: Apache-2.0
"""The kernels' headers, precompiled: parsing an instruction set's intrinsics takes longer than most kernels do.

A precompiled header changes the time of a compilation and no byte of its object. GCC reads the header itself where the
precompiled one does not fit (another compiler of the same version, say); Clang is told not to look at the times of the
headers that it was made of, which are part of the key by their content and their place.
"""
from __future__ import annotations

from pathlib import Path
from typing import Sequence

from . import files
from .cache import Cache
from .host_programs import TEMPLATES
from .toolchain import Compiler
from .tools import run_tool

HEADER = "tc_tile.h"  # includes all that kernels include
LEAST = 4             # compilations with the same flags that take longer than to make one


def least(cache: Cache) -> int:
    """From how many compilations on one is made: where later builds find it, it always is."""
    return LEAST if cache.programs is cache else 1


def words(compiler: Compiler, flags: Sequence[str], headers: str, cache: Cache) -> tuple[str, ...]:
    """The flags that make a compilation with `flags` start from the precompiled header, which is made where the cache
    has none; headers: the digest of what it holds."""
    include = str(TEMPLATES / "include")
    output = f"{HEADER}.pch" if compiler.kind == "clang" else f"{HEADER}.gch"
    extra = ("-Xclang", "-fno-pch-timestamp") if compiler.kind == "clang" else ()

    def make(work: Path) -> None:
        command = [*compiler.command, *flags, *extra, f"-I{include}", "-x", "c-header", f"{include}/{HEADER}", "-o",
                   str(work / output)]
        run_tool(command, f"{HEADER} does not compile", work)
        (work / HEADER).write_bytes((TEMPLATES / "include" / HEADER).read_bytes())  # what GCC takes where it must

    folder = cache.programs.entry("headers", files.digest(compiler.identity, headers, include, *flags), make)
    if compiler.kind == "clang":
        return "-include-pch", str(folder / output)
    return "-include", str(folder / HEADER)
