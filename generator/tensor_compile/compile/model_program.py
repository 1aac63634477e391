# SPDX-License-Identifier: Apache-2.0
"""Programs around a compiled model: one that calls it (generator/check/run_model.c), the interpreter that knows the
user's own functions, and tc-data, which makes, compares and shows tensors. All arithmetic is in C."""
from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Mapping, Sequence

from ..errors import UserError
from ..records import dataclass
from ..target import Target
from . import assemble, files, host_programs, toolchain
from .assemble import Made, Planned
from .cache import Cache
from .host_programs import INTERPRETER, ROOT, RUNTIME, TEMPLATES
from .numbers import number_of
from .objects import RUNTIME_INCLUDE
from .options import Options
from .tools import ToolBroken, run_tool

CHECK = ROOT / "generator" / "check"
TARGET_INCLUDES = (RUNTIME_INCLUDE, INTERPRETER, TEMPLATES / "include", host_programs.GENERATOR)
PART = "a part of `check` does not compile"
BARE = ("arm", "riscv32")   # no program with arguments and files runs there
CALL_FAILED, NO_SUCH_CPU, NO_DEVICE = 1, 3, 4   # exit codes of run_model.c


@dataclass(frozen=True, slots=True)
class Caller:
    """Sources of a program that calls models, and what they include: files and folders of this project."""

    sources: tuple[Path, ...]
    included: tuple[Path, ...]


RUN_MODEL = Caller((CHECK / "run_model.c",), (RUNTIME_INCLUDE,))


@dataclass(frozen=True, slots=True)
class Program:
    """path: of the program that calls the model; wrapper: the words that start it here; weights: "-" where the object
    has them."""

    path: Path
    wrapper: tuple[str, ...]
    weights: str

    def call(self, symbol: str, inputs: Path, out: Path, cpu: str, threads: int, sizes: Mapping[str, int],
             states: tuple[str, str] = ("-", "-"), shown: str = "", profile: tuple[str, ...] = (), time: int = 0
             ) -> subprocess.CompletedProcess[str]:
        """One call of a function. cpu: an instruction set, "best" or "reference"; states: the state before it and the
        file of the one behind it; profile: how many more calls are recorded, and the file of the record; time: for how
        many milliseconds more calls are timed, the least of which it prints in nanoseconds."""
        more = ("--profile", *profile) if profile else ("--time", str(time), "-") if time else ()
        command = [*self.wrapper, str(self.path), *more, symbol, str(inputs),
                   str(out), cpu, str(threads), self.weights, *states,
                   *(f"{k}={v}" for k, v in sizes.items())]
        try:
            return subprocess.run(command, capture_output=True, text=True, check=False)
        except OSError as error:  # another machine's program, or no such wrapper
            raise UserError(f"the target's program cannot be run here: {error.strerror}",
                            self.wrapper[0] if self.wrapper else shown,
                            "--exe-wrapper names what runs it, e.g. 'qemu-aarch64 -L /usr/aarch64-linux-gnu'") from None


def build(made: Made, options: Options, cache: Cache, folder: Path, externs: Sequence[Path],
          wrapper: tuple[str, ...]) -> Program:
    """The program that calls the model, and its weights where they are external, in `folder`."""
    if made.target.arch in BARE:
        raise UserError(f"a call from here needs a target with an operating system: {made.target.name} has none",
                        options.shown, "leave out --target-file and --cc: every target computes the same bits")
    path = model_program(made, options.cflags, cache, options.jobs, RUN_MODEL, externs, folder / "run-model")
    weights = "-"
    if options.weights == "external":
        weights = str(folder / "weights")
        files.write(Path(weights), assemble.external_weights(made.compiled.plan, made.weights))
    return Program(path, wrapper, weights)


def run(command: list[str], hint: str = "") -> str:
    """What one of the build machine's programs prints."""
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode == 1 and result.stderr.strip():
        where, found, message = result.stderr.strip().rpartition("error: ")
        raise UserError(message, where.removesuffix(": ") if found else Path(command[0]).name,
                        hint)
    if result.returncode:
        raise ToolBroken(f"{Path(command[0]).name} failed", " ".join(command) + "\n" + result.stderr)
    return result.stdout


def warn_fewer(options: Options, threads: int, target: Target) -> None:
    """Says so where calls have fewer threads than were asked for."""
    if target.threads < threads:
        print(f"{options.shown}: warning: --threads {threads}: calls have {number_of(target.threads, 'thread')} "
              f"at most, as target {target.name} has; --target-file names another one", file=sys.stderr)


def data_tool(made: Planned, cache: Cache) -> Path:
    roots = [CHECK, RUNTIME / "hosted", RUNTIME / "include", TEMPLATES / "include", *host_programs.TABLES]
    key = files.digest(made.host.identity, files.tree_digest(roots))

    def make(folder: Path) -> None:
        run_tool([*made.host.command, *toolchain.BUILD_MACHINE, "-D_GNU_SOURCE",
                  f"-I{RUNTIME / 'include'}", f"-I{host_programs.GENERATOR}", f"-I{TEMPLATES / 'include'}",
                  *(str(CHECK / name) for name in ("data.c", "compare.c")), *map(str, host_programs.SAFETENSORS),
                  "-o", str(folder / "tc-data"), "-lm"], PART, folder)

    return host_programs.program(cache, key, make) / "tc-data"


def extern_sources(made: Made, shown: str, given: Sequence[str]) -> tuple[list[str], list[Path]]:
    """The functions that the model calls with tc_extern, and the C sources that the user named for them."""
    names = sorted({n.attrs["function"] for f in made.compiled.captured.functions.values() for n in f.nodes
                    if n.op == "extern_call"})
    if not names:
        return [], []
    if not given:
        raise UserError(f"the model calls functions of your program: {', '.join(names)}", shown,
                        "name their C sources: --extern-source FILE")
    sources = [Path(s).resolve() for s in given]
    for s in sources:
        if not s.is_file():
            raise UserError("no such file", str(s), "--extern-source names C sources")
    return names, sources


def model_program(made: Made, cflags: tuple[str, ...], cache: Cache, jobs: int | None, caller: Caller,
                  externs: Sequence[Path], out: Path) -> Path:
    """A program for the target: the caller, the user's functions, the model's object, a table run_functions of its
    functions, the runtime and the interpreter (whose main is left out). Scratch files lie beside `out`."""
    model, table = out.with_suffix(".model.o"), out.with_suffix(".table.c")
    with files.Outputs() as outputs:
        assemble.link_object(made, cache, model, outputs)
    functions = [f"{symbol}_function" for symbol in assemble.entry_symbols(made.compiled.plan).values()]
    table.write_text("\n".join([
        "#include <tensor_compile/runtime.h>", *(f"extern const tc_function {name};" for name in functions),
        f"const tc_function *const run_functions[] = {{{', '.join(f'&{name}' for name in functions)}, 0}};", ""]),
        encoding="utf-8")
    flags = (*made.target.flags, *toolchain.host_flags(cflags, made.compiler.arch))
    objects = host_programs.target_objects(made.compiler, flags, caller.sources, (ROOT, *TARGET_INCLUDES),
                                           caller.included, cache, jobs)
    run_tool([*made.compiler.command, *toolchain.BUILD_MACHINE, "-D_GNU_SOURCE", *flags,
              *(f"-I{path}" for path in TARGET_INCLUDES), *map(str, [*objects, *externs, table, model]),
              str(host_programs.target_library(made.compiler, flags, cache, jobs)), "-o", str(out), "-lm", "-pthread",
              "-ldl"],
             PART, out.parent)
    return out
