# SPDX-License-Identifier: Apache-2.0
"""Kernels and driver to objects: compiled in parallel, cached by content."""
from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Callable, Sequence

from ..records import dataclass
from . import elf, files, precompiled
from .cache import Cache
from .host_programs import ROOT, TEMPLATES
from .jobs import run_all
from .toolchain import Compiler
from .tools import run_tool

RUNTIME_INCLUDE = ROOT / "runtime" / "include"


@dataclass(frozen=True, slots=True)
class Unit:
    """One C translation unit: `name` is its file's stem (and part of the object: it must not depend on the place),
    flags all but the include path."""

    name: str
    text: str
    flags: tuple[str, ...]
    kernel: bool = False  # may begin with the precompiled headers of kernels (GCC fails where arm_mve.h follows them)


@dataclass(frozen=True, slots=True)
class Object:
    """path: the object in the cache (None: it is part of another one); code: bytes of its code; stack: the deepest it
    can go within the unit, bytes (None where the compiler did not say)."""

    name: str
    path: Path | None
    code: int
    stack: int | None


def header_digest() -> str:
    """The headers that kernels and driver may include."""
    return files.tree_digest([TEMPLATES / "include", RUNTIME_INCLUDE])


def compile_units(units: Sequence[Unit], compiler: Compiler, cache: Cache, jobs: int | None,
                  progress: Callable[[int], None] = lambda n: None) -> list[Object]:
    """One object a unit, in the units' order."""
    headers = header_digest()
    keys = [files.digest(compiler.identity, headers, " ".join(unit.flags), unit.name, unit.text) for unit in units]
    missing = Counter(unit.flags for unit, key in zip(units, keys, strict=True)
                      if unit.kernel and not cache.has("objects", key))
    many = [flags for flags, count in missing.items() if count >= precompiled.least(cache)]
    begin = dict(zip(many, run_all(lambda flags: precompiled.words(compiler, flags, headers, cache), many, jobs),
                     strict=True))

    def one(job: tuple[Unit, str]) -> Object:
        unit, key = job
        first = begin.get(unit.flags, ()) if unit.kernel else ()
        folder = cache.entry("objects", key, lambda work: _compile(unit, compiler, first, work))
        path = folder / f"{unit.name}.o"
        return Object(unit.name, path, elf.read(path).size("code"), _stack(folder / f"{unit.name}.su"))

    return run_all(one, list(zip(units, keys, strict=True)), jobs, progress)


def _compile(unit: Unit, compiler: Compiler, first: Sequence[str], work: Path) -> None:
    source = work / f"{unit.name}.c"
    source.write_text(unit.text, encoding="utf-8")
    command = [*compiler.command, *unit.flags, "-fstack-usage", *first, f"-I{TEMPLATES / 'include'}",
               f"-I{RUNTIME_INCLUDE}", "-c", source.name, "-o", f"{unit.name}.o"]
    run_tool(command, f"the generated {unit.name}.c does not compile", work, unit.text)


def assemble(text: str, compiler: Compiler, flags: tuple[str, ...], work: Path, name: str = "weights") -> Path:
    """Assembler text, which may embed what lies in the scratch folder `work`, -> object in it."""
    (work / f"{name}.S").write_text(text, encoding="utf-8")
    command = [*compiler.command, *flags, "-c", f"{name}.S", "-o", f"{name}.o"]
    run_tool(command, f"the {name} cannot be embedded", work, text)
    return work / f"{name}.o"


def _stack(path: Path) -> int | None:
    """The sum over the unit's functions: calls within a unit do not recurse, so no chain is deeper."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
        return sum(int(line.split("\t")[1]) for line in lines)
    except (OSError, ValueError, IndexError):
        return None
