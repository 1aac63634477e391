# SPDX-License-Identifier: Apache-2.0
"""model.c -> graph text: compiled for the build machine, linked with the capture library and run once.

The compiler and the program both run in the model's folder with its bare name, so `__FILE__` (and with it every
message and every path in the graph) is the same wherever the project lies. The program is the user's code: it runs
under limits of time, memory and output, and whatever it does ends as one clear error.
"""
from __future__ import annotations

import os
import re
import resource
import signal
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import Iterator, Sequence

from ..errors import Reported, UserError
from ..records import dataclass
from . import depfile, files, host_programs, imported
from .cache import Cache
from .record import Inputs
from .toolchain import Compiler
from .tools import ToolBroken

MEMORY = 4 << 30
GRACE = 5            # seconds of processor time beyond those of the clock: where nobody is left to stop the program
FILE = 256 << 20     # of the graph, and of what the program says
MESSAGES = 1 << 20   # of that, what is shown
HEADERS = host_programs.CAPTURE / "include"
TARGET = "model"     # in the compiler's depfiles
# What old C lets pass and is never meant in a model: an operation that is not there, a number in a tensor's place, a
# variable that was never set.
ERRORS = tuple(f"-Werror={name}" for name in ("implicit-function-declaration", "implicit-int", "int-conversion",
                                              "incompatible-pointer-types", "uninitialized"))

# One number for every axis: the macros set an option before the call does (detail.h).
QUIET = ("-Wno-override-init",)


# What is wrong is said of the user's line alone, not of the macros on the way.
BRIEF = {"gcc": "-ftrack-macro-expansion=0", "clang": "-fmacro-backtrace-limit=1"}


@dataclass(frozen=True, slots=True)
class Captured:
    """text: the graph; headers: the files that the compiler read for model.c, itself among them, but the system's, as
    they were named: absolute, links in their paths kept (of an imported model: the files that it consists of); model:
    the model.c; shown: how the user named the model."""

    text: str
    headers: tuple[Path, ...]
    model: Path
    shown: str

    def as_given(self, messages: str) -> str:
        """Messages about the graph, which name places from the folder of the model, as the user named the model."""
        return as_given(messages, self.model, self.shown)

    @contextmanager
    def errors(self) -> Iterator[None]:
        """Errors that name places of the graph name them as the user named the model."""
        try:
            yield
        except UserError as error:
            error.message, error.where = self.as_given(error.message), self.as_given(error.where)
            raise


def command(compiler: Sequence[str], preprocessor: Sequence[str], headers: Path = HEADERS) -> list[str]:
    """The words that compile a model.c in its folder, but for files and output. headers: of the language."""
    return [*compiler, "-std=c11", "-O0", "-g", *ERRORS, *QUIET, f"-I{headers}", *preprocessor]


def source(model: Path) -> str:
    """The model's name in its folder as an argument: one that begins as options do is told apart."""
    return f"./{model.name}" if model.name[0] in "-@" else model.name


def require(model: Path, shown: str) -> None:
    if model.is_dir():
        raise UserError("a folder, not the source of a model", shown,
                        f"name the file: {os.path.join(shown, 'model.c')}")
    if not model.is_file():
        raise UserError("not a regular file" if model.exists() else "no such file", shown)
    if model.suffix != ".c" and not imported.is_foreign(model.name):  # a compiler may take it for an object file
        raise UserError("not the source of a model", shown,
                        f"a model is a .c; {imported.what()}{imported.how_exported(model.name)}")


def run(model: Path, shown: str, preprocessor: tuple[str, ...], compiler: Compiler, cache: Cache,
        seconds: int, jobs: int | None = None, keep: Path | None = None, inputs: Inputs | None = None) -> Captured:
    """preprocessor: the user's -I and -D words; shown: how the user named the model; keep: a folder in which the
    program stays, for a debugger; inputs: headers are noted there before they are read."""
    require(model, shown)
    library = host_programs.capture_library(compiler, cache, jobs)
    with cache.scratch() as scratch:
        folder = keep or Path(scratch)
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise files.unwritable(folder, error) from None
        program, graph, dependencies = folder / "capture", folder / "graph.tcg", folder / "capture.d"
        for left in (graph, graph.with_name(graph.name + ".end")):
            left.unlink(missing_ok=True)
        words = [*command(compiler.command, preprocessor), BRIEF[compiler.kind]]
        if inputs:
            for path in _listed(words, dependencies, model):
                inputs.digest(path)
        words += ["-MMD", "-MT", TARGET, "-MF", str(dependencies), source(model), *map(str, library), "-lm", "-o",
                  str(program)]
        result = subprocess.run(words, cwd=model.parent, capture_output=True, text=True, errors="replace", check=False,
                                env={**os.environ, "LC_ALL": "C"})
        if result.returncode:
            sys.stderr.write(as_given(_where_they_stand(words, model) or result.stderr, model, shown))
            raise UserError("the model does not compile (the compiler's messages are above)", shown,
                            _compile_hint(model, result.stderr))
        if result.stderr:
            sys.stderr.write(as_given(result.stderr, model, shown))
            _check_counts(result.stderr, shown)
        _execute(program, graph, model, shown, seconds, keep is not None)
        headers = _dependencies(dependencies, model)
        if inputs:
            for path in headers:
                inputs.read_unseen(path)
        return Captured(files.decoded(graph.read_bytes()), tuple(headers), model, shown)


_PLACE = re.compile(r"^((?:In file included from | +from )?)([^/\s][^:\n]*)(?=:)", re.M)


def as_given(messages: str, model: Path, shown: str) -> str:
    """The messages, which name files from the folder of the model, with names from where the user named the model."""
    folder, name = os.path.split(shown)

    def named(place: re.Match[str]) -> str:
        file, given = model.parent / place[2], os.path.join(folder, place[2])
        if not os.path.isfile(file):   # what #line says
            return place[0]
        # The user named a link to the model, or what it is imported from, whose model.c may be elsewhere.
        same = name == model.name or os.path.isfile(given) and os.path.samefile(given, file)
        return place[1] + given if same else place[0]
    return _PLACE.sub(named, messages)


_LINE = re.compile(rb"^[ \t]*#[ \t]*line\b[^\n]*", re.M)


def _where_they_stand(words: list[str], model: Path) -> str:
    """What the compiler says of a model with #line, at the lines of its own file; "": it has none, or nothing is
    said."""
    text, count = _LINE.subn(b"", model.read_bytes())
    if not count:
        return ""
    known = [w for w in words[:words.index("-MMD")]]
    said = subprocess.run([*known, "-fsyntax-only", "-xc", "-"], input=f'# 1 "{source(model)}"\n'.encode() + text,
                          cwd=model.parent, capture_output=True, check=False, env={**os.environ, "LC_ALL": "C"})
    return said.stderr.decode(errors="replace") if said.returncode else ""


def _compile_hint(model: Path, messages: str) -> str:
    text = model.read_text(encoding="utf-8", errors="replace")
    if not re.search(r'^\s*#\s*include\s*(<tensor_compile/|")', text, re.M):
        return "a model starts with #include <tensor_compile/model.h>"
    if options := _options_of(messages):
        return options
    if re.search(r"invalid operands to binary[^\n]*\btc_(tensor|dim)\b", messages):
        return ("C computes neither tensors nor sizes: tc_add, tc_mul, … make tensors; tc_dim_add, tc_dim_mul, … make "
                "sizes; what data or a size decides in a call is a TC_IF")
    if re.search(r"tc_\w+.*-Wimplicit-function-declaration", messages.replace("-Werror=", "-W")):
        return f"all operations are in {HEADERS / 'tensor_compile' / 'ops.h'}"
    return ""


def _options_of(messages: str) -> str:
    """The options of the call that has one which is none, as GCC or Clang says."""
    found = re.search(r"(tc_\w+?)_(?:args|options)\b[^\n]* has no member named", messages) or \
        re.search(r"does not refer to any field in type [^\n]*?(tc_\w+?)_(?:args|options)\b", messages)
    for header in sorted((host_programs.CAPTURE / "include" / "tensor_compile").rglob("*.h")) if found else ():
        assert found is not None
        text = header.read_text(encoding="utf-8")
        if struct := re.search(rf"typedef struct {found[1]}_(?:args|options) {{(.*?)\n}}", text, re.S):
            members = re.sub(r"/\*.*?\*/", "", struct[1], flags=re.S)
            names = [n for n in re.findall(r"(\w+)(?:\[\w+\])?\s*[,;]", members) if n != "at" and "_count" not in n]
            return f"options of {found[1]}: " + ", ".join(f".{name}" for name in names)
    return ""


def _check_counts(messages: str, shown: str) -> None:
    """What a compiler only warns of: more numbers than an option has axes."""
    if "excess elements in" in messages:
        raise UserError("an option has more values than axes (the compiler's messages are above)", shown,
                        "one number stands for every axis")


def _limit(seconds: int) -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (seconds + GRACE, seconds + GRACE))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_FSIZE, (FILE, FILE))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _execute(program: Path, graph: Path, model: Path, shown: str, seconds: int, kept: bool) -> None:
    debug = (f"gdb --args {program} {graph}" if kept else
             "build with --keep DIR to keep the program, then: gdb --args DIR/capture graph.tcg")
    with tempfile.TemporaryFile(dir=graph.parent) as said:
        process = subprocess.Popen([str(program), str(graph), ".", model.name], cwd=model.parent,
                                   stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=said,
                                   preexec_fn=lambda: _limit(seconds), start_new_session=True)
        try:
            code = process.wait(timeout=seconds)
        except subprocess.TimeoutExpired:
            raise UserError(f"recording the model did not end within {seconds} s", shown,
                            "is there an endless loop? " + debug) from None
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        said.seek(0)
        messages = said.read(MESSAGES)
    sys.stderr.write(as_given(messages.decode(errors="replace"), model, shown))
    if code == -signal.SIGXFSZ:
        raise UserError(f"recording the model wrote more than {FILE >> 20} MiB of graph or messages", shown,
                        "is there an endless loop? " + debug)
    if code < 0:
        name = signal.Signals(-code).name if -code in set(signal.Signals) else f"signal {-code}"
        raise UserError(f"the model's program crashed while it was recorded ({name})", shown, debug)
    end = graph.with_name(graph.name + ".end")  # what the library's own main came to
    outcome = end.read_text(encoding="utf-8") if end.is_file() else ""
    if outcome == "memory":
        raise UserError(f"recording the model needs more than {MEMORY >> 30} GiB of memory", shown, debug)
    if outcome == "errors" and messages:
        raise Reported
    if outcome != "graph" or not graph.is_file():
        raise UserError(f"the model's program ended with exit code {code} instead of recording a graph", shown,
                        "a model must not call exit()")


def _listed(words: list[str], dependencies: Path, model: Path) -> list[Path]:
    """What the compiler would read for the model now; nothing where it cannot say: compiling tells why."""
    done = subprocess.run([*words, "-MM", "-MT", TARGET, "-MF", str(dependencies), source(model)], cwd=model.parent,
                          capture_output=True, check=False)
    return [path for path in _dependencies(dependencies, model) if path.is_file()] if done.returncode == 0 else []


def _dependencies(dependencies: Path, model: Path) -> list[Path]:
    """The user's files that the compiler read: not the system's (the compiler's identity stands for them)."""
    try:
        text = files.decoded(dependencies.read_bytes())
    except OSError:
        raise ToolBroken("the compiler wrote no depfile") from None
    paths = {_named(model.parent, name) for name in depfile.read(text, TARGET)}
    return sorted(p for p in paths if not p.resolve().is_relative_to(host_programs.CAPTURE))


def _named(folder: Path, name: str) -> Path:
    path = folder / name.removeprefix("./")
    return path if path.exists() else folder / name.removeprefix("./").replace("\\:", ":")
