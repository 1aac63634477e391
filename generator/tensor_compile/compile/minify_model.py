# SPDX-License-Identifier: Apache-2.0
"""`minify`: the tool itself is run on smaller and smaller sources; those that fail as the model does are kept."""
from __future__ import annotations

import io
import os
import re
import shlex
import subprocess
import sys
import tempfile
import time
from contextlib import redirect_stderr
from pathlib import Path
from typing import Sequence

from ..errors import Reported, UserError
from ..graph.text import parse_module
from ..minify.reduce import Reducer
from ..records import dataclass
from . import capture_run, files, recording
from .cache import Cache, user_folder
from .host_programs import GENERATOR
from .progress import Progress

TOOL = (sys.executable, str(GENERATOR / "tensor-compile"))
SLOWER = 4         # how many times as long as the model a part of it may take
LEAST_TIME = 60.0  # seconds that it may take in any case


@dataclass(frozen=True, slots=True)
class Failure:
    """What is the same in two failures of one cause: kind is `wrong result`, `internal error`, `error` or `crash`;
    about: the message without names and numbers, or the place of the exception in the tool."""

    kind: str
    about: str
    shown: str


def run(model: Path, shown: str, out: Path, command: Sequence[str]) -> int:
    """command: the sub-command that fails and its options."""
    if model.suffix != ".c":
        raise UserError("minify takes the source of a model", shown,
                        "import it first: tensor-compile import writes a model.c")
    if not model.is_file():
        raise UserError("no such file", shown)
    with Progress() as progress:
        return _run(model, shown, out, command, progress)


def _run(model: Path, shown: str, out: Path, command: Sequence[str], progress: Progress) -> int:
    # beside the headers and weights that it names
    candidate = model.with_name(f".{model.stem}.minify-{os.getpid()}.c")
    out.unlink(missing_ok=True)
    started = time.monotonic()
    progress.say(f"{shown}: {command[0]}")
    with tempfile.TemporaryDirectory() as scratch:
        try:
            text = model.read_text(encoding="utf-8")
            candidate.write_text(text, encoding="utf-8")
            wanted = _failure(candidate, command, Path(scratch), 3600)
            if wanted is None:
                print(f"{shown}: nothing fails: tensor-compile {' '.join([command[0], shown, *command[1:]])}")
                return 1
            if wanted.kind == "usage":
                raise UserError(f"tensor-compile {command[0]} does not take what stands behind --\n{wanted.shown}",
                                shown)
            limit = max(LEAST_TIME, SLOWER * (time.monotonic() - started))

            def fails(smaller: str) -> bool:
                progress.say(f"{shown}: {wanted.kind}, {reducer.tries} tried, {len(reducer.found)} of {whole} tokens "
                             f"left (Ctrl-C ends and keeps {out.name})")
                candidate.write_text(smaller, encoding="utf-8")
                if compiled and not _is_c(candidate, syntax):
                    return False
                found = _failure(candidate, command, Path(scratch), limit)
                return found is not None and (found.kind, found.about) == (wanted.kind, wanted.about)

            def keep(smaller: str) -> None:
                files.write(out, [_signed(smaller, wanted, shown, command, out)])

            syntax = [*capture_run.command(_host_compiler(), _macros(command)), "-w", "-fsyntax-only"]
            compiled = _is_c(candidate, syntax)
            reducer = Reducer(text, fails, keep, lambda smaller: _types(smaller, candidate, command, Path(scratch)))
            whole = len(reducer.found)
            ended = "nothing smaller fails"
            try:
                if fails(reducer.text):    # without its comments
                    keep(reducer.text)
                    reducer.run()
            except KeyboardInterrupt:
                ended = "interrupted"
        finally:
            candidate.unlink(missing_ok=True)
    progress.say("")
    if not out.exists():
        print(f"{shown}: {wanted.kind}, and nothing smaller was found ({ended}): {wanted.shown}")
        return 1
    lines = reducer.text.count("\n")
    print(f"{out}: {lines} lines, {len(reducer.found)} of {whole} tokens, {reducer.tries} tried in "
          f"{time.monotonic() - started:.0f} s ({ended})\n{wanted.kind}: {wanted.shown}")
    return 0


def _signed(text: str, failure: Failure, shown: str, command: Sequence[str], out: Path) -> bytes:
    again = " ".join(["tensor-compile", command[0], out.name, *command[1:]])
    said = failure.shown.replace("*/", "* /")
    return f"/* Made by minify from {shown}. {again}\n * {failure.kind}: {said} */\n{text}".encode()


def _host_compiler() -> tuple[str, ...]:
    return tuple(shlex.split(os.environ.get("CC_FOR_BUILD", "cc")))


def _macros(command: Sequence[str]) -> tuple[str, ...]:
    """What the failing sub-command tells the compiler of the model."""
    return tuple(f"-I{os.path.abspath(word[2:])}" if word.startswith("-I") else word
                 for word in command[1:] if word.startswith(("-D", "-I")))


def _is_c(candidate: Path, syntax: Sequence[str]) -> bool:
    """Most texts are no C: the compiler says so sooner than the tool."""
    return subprocess.run([*syntax, candidate.name], cwd=candidate.parent, capture_output=True, check=False,
                          env={**os.environ, "LC_ALL": "C"}).returncode == 0


def _failure(candidate: Path, command: Sequence[str], scratch: Path, limit: float) -> Failure | None:
    words = [*TOOL, command[0], os.path.relpath(candidate), "--build-cache", str(scratch / "cache"), *command[1:]]
    if command[0] == "build":
        words += ["-o", str(scratch / "built")]
    for left in scratch.glob("*.dump.txt"):
        left.unlink()
    environment = {**os.environ, "TMPDIR": str(scratch)}
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                               errors="replace", env=environment)
    try:
        output, errors = process.communicate(timeout=limit)
    except subprocess.TimeoutExpired:
        process.terminate()
        process.communicate()
        return None     # it became slow: another failure, and one that takes long to look into
    except KeyboardInterrupt:
        process.terminate()
        process.communicate()
        raise
    if process.returncode == 0:
        return None
    if process.returncode == 2:
        return Failure("usage", "", errors.strip())
    if process.returncode == 3:
        return _bug(scratch, errors)
    if process.returncode != 1:
        return Failure("crash", str(process.returncode), f"exit code {process.returncode}")
    verdict = next((line for line in output.splitlines()[::-1] if ": WRONG: " in line), "")
    if verdict:
        line = verdict.split("the first: ", 1)[-1]
        about = next((how for how in ("bits of the interpreter", "double precision", "written beyond its end")
                      if how in line), "expected outputs")
        return Failure("wrong result", about, line)
    line = next((line for line in errors.splitlines() if "error: " in line), errors.strip())
    message = re.sub(r"^(tc_\w+: )in \S+: ", r"\1", line.split("error: ", 1)[-1])  # wherever it stands
    return Failure("error", re.sub(r"\d+|'[^']*'|\"[^\"]*\"|\[[^\]]*\]", "#", message), message)


def _bug(scratch: Path, errors: str) -> Failure:
    text = "\n".join(path.read_text(encoding="utf-8") for path in scratch.glob("*.dump.txt"))
    places = re.findall(r'File "[^"]*?/(\w+\.py)", line \d+, in (\w+)', text)
    raised = re.findall(r"^([\w.]+)(?:: .*)?$", text, re.M)
    where = " ".join(places[-1]) if places else ""
    return Failure("internal error", f"{where} {raised[-1] if raised else ''}", errors.strip().splitlines()[0])


def _types(text: str, candidate: Path, command: Sequence[str], scratch: Path) -> dict[int, str]:
    """What tc_input takes behind the name for what a line computes last, by line: types without dynamic sizes."""
    candidate.write_text(text, encoding="utf-8")
    cache = Cache(scratch / "cache", user_folder())
    compiler = recording.host_compiler(_host_compiler(), cache)
    try:
        with redirect_stderr(io.StringIO()):
            recorded = capture_run.run(candidate, candidate.name, _macros(command), compiler, cache, int(LEAST_TIME))
    except (UserError, Reported):
        return {}
    found: dict[int, str] = {}
    for function in parse_module(recorded.text, candidate.name).functions.values():
        for node in function.nodes if function.entry else ():
            sizes = [size.value if size.is_const else None for size in node.types[0].shape]
            if node.loc and node.loc.file == candidate.name and None not in sizes:
                found[node.loc.line] = ", ".join([f"TC_{node.types[0].dtype.upper()}", *map(str, sizes)])
    return found
