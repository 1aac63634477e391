# SPDX-License-Identifier: Apache-2.0
"""Measures the candidates of a build's contractions and writes the tuning lock. The only code that runs kernels of the
target, and never part of a build.

Everything is compiled first; then the harness runs alone, under a lock of the whole machine. It proves every candidate
against the reference before it is timed.
"""
from __future__ import annotations

import fcntl
import os
import subprocess
import tempfile
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Callable, Iterator, Mapping, Sequence

from ..emit import candidates as table
from ..emit.key import kernel_key
from ..errors import UserError
from ..loops.contraction_schedule import Schedule, parse
from ..loops.loop_ir import ContractionKernel, ModelPlan, GroupedContractionKernel
from ..loops.scalars import last
from ..symbolic import Sym, sym
from . import lock as locks
from .harness import Case, Toolset, program
from .lock import Entry
from .tools import ToolBroken

Say = Callable[[str], None]


MOST = 24   # schedules of a kernel that are measured: those that the cost model prefers


@dataclass(slots=True)
class Result:
    """timed: (key, winner, microseconds) of every case; before: those of what was used before, by key; skipped:
    instruction sets that this processor lacks; wrong: candidates that differ from the reference, which is a bug of
    ours."""

    timed: list[tuple[str, Schedule, float]] = field(default_factory=list)
    before: dict[str, float] = field(default_factory=dict)
    skipped: set[str] = field(default_factory=set)
    wrong: list[str] = field(default_factory=list)


def contractions(plan: ModelPlan) -> list[ContractionKernel]:
    """Every contraction of every variant, in the order of the programs. Parts of a kernel are measured by
    themselves."""
    return [part for function in plan.functions for variant in function.variants
            for step in variant.program.kernel_steps
            if isinstance(step.kernel, (ContractionKernel, GroupedContractionKernel))
            for part in step.kernel.contractions]


def sizes(kernel: ContractionKernel) -> dict[Sym, int]:
    """At which sizes a kernel of dynamic dims is measured: those that the cost model assumes, in a loop's first
    iteration and in a block of tiles that is neither the first nor, where there are more, the last."""
    def assumed(s: Sym) -> int:
        if s.is_iteration and not s.lo and s.divisor == 1:
            return 0
        return min(table.size(sym(s)), max(0, table.size(last(s)))) if s.is_iteration else table.size(sym(s))
    return {s: assumed(s) for s in kernel.dims}


def cases(kernels: Sequence[ContractionKernel], tools: Toolset, known: dict[str, Entry], again: bool) -> list[Case]:
    """What is to be measured: each key once, and only those whose entry is missing, does not apply, or was measured
    with other templates or another compiler (all of them where `again`)."""
    found: dict[str, Case] = {}
    templates, compiler = locks.templates_digest(), compiler_name(tools)
    for kernel in kernels:
        for isa in tools.target.isas:
            key = kernel_key(kernel, isa, tools.target.name)
            if key in found:
                continue
            legal = tuple(table.ranked(kernel, isa, tools.target)[:MOST])
            entry = known.get(key)
            named = parse(entry.candidate) if entry else None
            if named is not None and (named.isa != isa or table.refusal(kernel, named)):
                named = None
            legal = legal if named is None or named in legal else (*legal, named)
            if named and entry and not again and entry.templates == templates and entry.compiler == compiler:
                continue
            incumbent = named or table.choose(kernel, isa, tools.target)
            found[key] = Case(key, kernel, sizes(kernel), legal, incumbent)
    return list(found.values())


def compiler_name(tools: Toolset) -> str:
    return f"{tools.compiler.kind} {tools.compiler.version}"


def tune(kernels: Sequence[ContractionKernel], tools: Toolset, lock: Path, rounds: int = 20, again: bool = False,
         say: Say = lambda line: None) -> Result:
    """Brings the lock up to date with the kernels; entries of other kernels stay as they are."""
    known = locks.read(lock)
    todo = cases(kernels, tools, known, again)
    result = Result()
    if not todo:
        return result
    say(f"compiling {sum(len(c.candidates) for c in todo)} candidates of {len(todo)} kernels")
    with tools.cache.scratch() as scratch:
        path = program(todo, tools, Path(scratch) / "harness")
        say("waiting for the machine")
        with alone():
            names: list[str] = []

            def progress(line: str) -> None:
                if line.startswith("case "):
                    names.append(line)
                    say(f"measuring {len(names)} of {len(todo)} kernels")

            output = _run([*tools.wrapper, str(path), "time", str(rounds)], progress)
    _read(output, result, {case.name: case.incumbent.name for case in todo})
    emulated = bool(tools.wrapper) and Path(tools.wrapper[0]).name.startswith("qemu")
    for key, winner, time in result.timed:
        known[key] = Entry(key, winner.name, time, emulated, compiler_name(tools), locks.templates_digest())
    locks.write(lock, known)
    return result


def _run(command: list[str], progress: Say) -> str:
    """What the harness prints; progress gets its lines as they come."""
    lines: list[str] = []
    with tempfile.TemporaryFile("w+") as errors:
        try:
            process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True)
        except OSError as error:
            raise UserError(f"the measuring harness does not start: {error.strerror}: {command[0]}",
                            hint="for another processor, --exe-wrapper names what runs its programs here") from None
        with process:
            for line in process.stdout or ():
                lines.append(line)
                progress(line)
        if process.returncode:
            errors.seek(0)
            raise ToolBroken(f"the measuring harness failed (exit {process.returncode})",
                             f"{' '.join(command)}\n{''.join(lines)}\n{errors.read()}")
    return "".join(lines)


def _read(output: str, result: Result, incumbents: Mapping[str, str]) -> None:
    """The lines that autotune/main.c documents. incumbents: what was used before, by key."""
    key = ""
    for line in output.splitlines():
        kind, _, rest = line.partition(" ")
        if kind == "case":
            key = rest
        elif kind == "skipped":
            result.skipped.add(_schedule(rest).isa)
        elif kind == "wrong":
            name, _, why = rest.partition(" ")
            result.wrong.append(f"{name}: {key}: {why}")
        elif kind == "candidate":
            name, ns, _ = rest.split(" ")
            if name == incumbents.get(key):
                result.before[key] = float(ns) / 1000
        elif kind == "winner":
            name, ns = rest.split(" ")
            result.timed.append((key, _schedule(name), float(ns) / 1000))


def _schedule(name: str) -> Schedule:
    found = parse(name)
    assert found is not None, f"{name}: the harness names what it was given"
    return found


@contextmanager
def alone() -> Iterator[None]:
    """Held by one `tune` of the machine at a time, whoever runs it."""
    path = Path(tempfile.gettempdir()) / "tensor-compile-tune.lock"
    try:
        fd = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    except OSError as error:
        raise UserError(f"cannot lock the machine: {error.strerror}", str(path)) from None
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        yield
    finally:
        os.close(fd)
