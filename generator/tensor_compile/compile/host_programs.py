# SPDX-License-Identifier: Apache-2.0
"""C parts that run on the build machine (the capture library, the interpreter), and those that checks on the target are
linked with, compiled once into the cache."""
from __future__ import annotations

from functools import cache as once
from pathlib import Path
from typing import Callable, Sequence

from ..errors import UserError
from . import files
from .cache import Cache
from .jobs import run_all
from .toolchain import BUILD_MACHINE, Compiler
from .tools import ToolBroken, run_tool

ROOT = Path(__file__).resolve().parents[3]
PREBUILT = ROOT / "prebuilt"   # of an installation: a cache with the programs of the compiler that it was built with
CAPTURE = ROOT / "generator" / "capture"
INTERPRETER = ROOT / "interpreter"
TEMPLATES = ROOT / "templates"
RUNTIME = ROOT / "runtime"
GENERATOR = ROOT / "generator"
# what reads and writes files of tensors, here and in programs of the user's
SAFETENSORS = [RUNTIME / "hosted" / f"safetensors{part}.c" for part in ("", "_header", "_write")]
# with threads and files
HOSTED = [*(RUNTIME / "hosted" / f"{name}.c"
            for name in ("environment", "file", "pages", "places", "pool", "recorder", "sha256")), *SAFETENSORS]
# what C and Python both read
TABLES = [GENERATOR / "dtypes.def", GENERATOR / "primitives.def", GENERATOR / "c_names.def"]


_INTERPRETER_INCLUDES = [INTERPRETER, TEMPLATES / "include", GENERATOR, RUNTIME / "include"]
_INTERPRETER_ROOTS = (INTERPRETER, TEMPLATES / "include", RUNTIME / "hosted", RUNTIME / "include", *TABLES)
EXTERNS = "the sources of --extern-source do not make a program with what the model calls"
CAPTURE_FLAGS = ("-O0", "-g1")  # it runs for milliseconds


@once
def _key(identity: str, roots: tuple[Path, ...], flags: tuple[str, ...]) -> str:
    """identity: the compiler's. Sources of the tool do not change while it runs."""
    return files.digest(identity, " ".join((*BUILD_MACHINE, *flags)), files.tree_digest(roots))


def program(cache: Cache, key: str, make: Callable[[Path], None]) -> Path:
    """The folder of a program or library of the build machine: that of the installation, else the user's cache's."""
    if PREBUILT.is_dir() and Cache(PREBUILT).has("host", key):
        return Cache(PREBUILT).entry("host", key, make)
    return cache.programs.entry("host", key, make)


def _objects(compiler: Compiler, sources: list[Path], includes: Sequence[Path], flags: tuple[str, ...],
             folder: Path, jobs: int | None) -> list[Path]:
    options = [*BUILD_MACHINE, *flags, "-w"] + [f"-I{path}" for path in includes]

    def compile_one(source: Path) -> Path:
        out = folder / f"{source.parent.name}-{source.stem}.o"
        run_tool([*compiler.command, *options, "-c", str(source), "-o", str(out)],
                 f"{source.relative_to(ROOT)} does not compile with {' '.join(compiler.command)}", folder)
        return out

    return run_all(compile_one, sources, jobs)


def _archive(compiler: Compiler, objects: list[Path], out: Path) -> None:
    archiver = compiler._program("ar", ("llvm-ar",))
    run_tool([archiver, "rcsD", str(out), *map(str, objects)], f"{out.name} cannot be archived", out.parent)


def capture_library(compiler: Compiler, cache: Cache, jobs: int | None = None) -> tuple[Path, Path]:
    """What a model.c is linked with: the main of the program, and the static library, which has none."""
    sources = [*sorted(CAPTURE.glob("*.c")), *SAFETENSORS]
    includes = [CAPTURE / "include", CAPTURE, CAPTURE.parent, RUNTIME / "include"]

    def make(folder: Path) -> None:
        objects = _objects(compiler, sources, includes, CAPTURE_FLAGS, folder, jobs)
        program = objects.pop(sources.index(CAPTURE / "main.c"))
        program.rename(folder / "main.o")
        _archive(compiler, objects, folder / "libcapture.a")
        for path in objects:
            path.unlink()

    roots = (CAPTURE, RUNTIME / "hosted", RUNTIME / "include", *TABLES)
    folder = program(cache, _key(compiler.identity, roots, ("capture", *CAPTURE_FLAGS)), make)
    return folder / "main.o", folder / "libcapture.a"


def _interpreter_objects(compiler: Compiler, flags: tuple[str, ...], cache: Cache, jobs: int | None) -> list[Path]:
    """All of the interpreter but its main: a part of its program and of the target's library."""
    sources = [*sorted(path for path in INTERPRETER.glob("*.c") if path.name != "main.c"), *SAFETENSORS]

    def make(folder: Path) -> None:
        _objects(compiler, sources, _INTERPRETER_INCLUDES, ("-D_GNU_SOURCE", *flags), folder, jobs)

    return sorted(program(cache, _key(compiler.identity, _INTERPRETER_ROOTS, ("interpreter objects", *flags)), make)
                  .glob("*.o"))


def interpreter(compiler: Compiler, cache: Cache, jobs: int | None = None) -> Path:
    """The program tc-interpret."""

    def make(folder: Path) -> None:
        main = _objects(compiler, [INTERPRETER / "main.c"], _INTERPRETER_INCLUDES, (), folder, jobs)
        objects = _interpreter_objects(compiler, (), cache, jobs)
        run_tool([*compiler.command, "-o", str(folder / "tc-interpret"), *map(str, main + objects), "-lm"],
                 "the interpreter does not link", folder)
        main[0].unlink()

    return program(cache, _key(compiler.identity, _INTERPRETER_ROOTS, ("interpreter",)), make) / "tc-interpret"


def interpreter_with(compiler: Compiler, cache: Cache, folder: Path, sources: Sequence[Path], names: Sequence[str],
                     jobs: int | None = None) -> Path:
    """The same with functions of the user's, which extern calls name, in `folder`."""
    table = folder / "externs.c"
    parameters = "const void *const *, void *const *, const ptrdiff_t *const *, const ptrdiff_t *const *"
    table.write_text("\n".join([
        "#include <stddef.h>", "#include <string.h>", f"typedef void function({parameters});",
        "function *tci_extern_named(const char *name);", *(f"function {name};" for name in names),
        "function *tci_extern_named(const char *name)", "{",
        *(f'    if (!strcmp(name, "{name}"))\n        return {name};' for name in names), "    return 0;", "}", ""]),
        encoding="utf-8")
    library = target_library(compiler, (), cache, jobs)
    out = folder / "tc-interpret"
    try:
        run_tool([*compiler.command, *BUILD_MACHINE, "-w", "-ffp-contract=off", f"-I{INTERPRETER}",
                  f"-I{TEMPLATES / 'include'}", f"-I{GENERATOR}", f"-I{RUNTIME / 'include'}",
                  str(INTERPRETER / "main.c"), *map(str, sources), str(table), str(library), "-o", str(out), "-lm",
                  "-pthread", "-ldl"], EXTERNS, folder)
    except ToolBroken as broken:
        raise UserError(f"{EXTERNS}\n{broken.detail}") from None
    return out


def target_objects(compiler: Compiler, flags: tuple[str, ...], sources: tuple[Path, ...], includes: Sequence[Path],
                   included: tuple[Path, ...], cache: Cache, jobs: int | None) -> list[Path]:
    """Objects of this project's sources for the target, which are of no model. included: what the sources include."""

    def make(folder: Path) -> None:
        _objects(compiler, list(sources), includes, ("-D_GNU_SOURCE", *flags), folder, jobs)

    key = _key(compiler.identity, (*sources, *included), ("objects", *flags))
    return sorted(program(cache, key, make).glob("*.o"))


def target_library(compiler: Compiler, flags: tuple[str, ...], cache: Cache, jobs: int | None = None) -> Path:
    """The runtime, devices among it, and the interpreter for the target (flags: what chooses it), as a static
    library."""
    sources = [*sorted((RUNTIME / "core").glob("*.c")), *sorted((RUNTIME / "cuda").glob("*.c")),
               *(path for path in HOSTED if path not in SAFETENSORS)]

    def make(folder: Path) -> None:
        includes = [RUNTIME / "include", RUNTIME / "core"]
        objects = _objects(compiler, sources, includes, ("-D_GNU_SOURCE", *flags), folder, jobs)
        _archive(compiler, [*objects, *_interpreter_objects(compiler, flags, cache, jobs)], folder / "libtarget.a")
        for path in objects:
            path.unlink()

    roots = (RUNTIME, INTERPRETER, TEMPLATES / "include", *TABLES)
    return program(cache, _key(compiler.identity, roots, ("target", *flags)), make) / "libtarget.a"
