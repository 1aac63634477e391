# SPDX-License-Identifier: Apache-2.0
"""What this machine can do at most: its clock, multiply-adds and reads, measured by autotune/ceilings; its caches, as
Linux tells them."""
from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Mapping, Sequence

from ..errors import UserError
from ..instruction_sets import instruction_set
from ..records import dataclass
from ..target import Target
from . import files, host_programs
from .cache import Cache
from .costs import Cost
from .host_programs import ROOT
from .toolchain import Compiler, host_flags
from .tools import ToolBroken, run_tool

FOLDER = ROOT / "autotune" / "ceilings"
SOURCE = FOLDER / "main.c"
CPU = Path("/sys/devices/system/cpu/cpu0/cache")
MEMORY = 1 << 27   # bytes that a thread reads where they come from memory
CACHES = ("l1d", "l2", "l3")
SIZES = ("threads", *CACHES, "line")


@dataclass(frozen=True, slots=True)
class Machine:
    """operations: floating-point operations a second of all threads; reads: bytes a second of all threads, by the
    bytes that each reads again and again; clock: cycles a second of a core that adds integers."""

    threads: int
    operations: float
    reads: dict[int, float]
    clock: float = 0.0

    def seconds(self, cost: Cost) -> float:
        """The least time in which threads can move a kernel's bytes. All of them pass the first cache, what is read
        beside what is written. No cache holds more than its size (twice what was measured for it) and what those before
        it hold: in each run the other bytes come from farther away, of all runs at least those distinct ones. So does
        what stays from call to call, where a call reads more of that."""
        sizes = sorted(self.reads)
        least, held = max(cost.read, cost.written) / self.reads[sizes[0]], 0
        for near, size in zip(sizes, sizes[1:]):
            held += 2 * near    # by a thread
            of_run = held if cost.in_tile else held * self.threads
            beyond = max(cost.distinct - held * self.threads, sum(n * max(0, b - of_run) for n, b in cost.each))
            if cost.all_kept > held * self.threads:
                beyond = max(beyond, cost.kept)
            least = max(least, beyond / self.reads[size])
        return least


def read_sizes(caches: Mapping[str, int], threads: int = 1) -> tuple[int, ...]:
    """Bytes of each of so many threads that stay in each level of cache, and what stays in none. The third cache may be
    shared: then a thread has a part of it."""
    half = {name: caches[name] // 2 for name in CACHES if 0 < caches.get(name, 0) // 2 < MEMORY}
    part = half.get("l3", 0) // threads
    shared = {part} if part > half.get("l2", 0) else set()
    return (*sorted({*half.values(), *shared}), MEMORY)


def measure(compiler: Compiler, target: Target, cflags: tuple[str, ...], isa: str, threads: int, cache: Cache,
            wrapper: tuple[str, ...] = (), sizes: Sequence[int] = ()) -> Machine:
    """wrapper: starts the program here. sizes: that each thread reads (default: for the target's caches)."""
    sizes = sizes or read_sizes({name: getattr(target, name) for name in CACHES}, threads)
    path = _program(compiler, target, cflags, isa, cache)
    command = [*wrapper, str(path), str(threads), *map(str, sizes)]
    try:
        result = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError as error:
        raise UserError(f"the target's program cannot be run here: {error.strerror}", command[0],
                        "--exe-wrapper names what runs it") from None
    if result.returncode:
        raise ToolBroken("the program that measures the machine failed", " ".join(command) + "\n" + result.stderr)
    return parse(result.stdout, threads)


def flags_of(target: Target, cflags: tuple[str, ...], isa: str) -> tuple[str, ...]:
    """With which multiply_adds.h is compiled for an instruction set."""
    lanes = max(instruction_set(isa).lanes, 2)
    return ("-O3", "-std=c11", "-D_POSIX_C_SOURCE=200809L", "-ffp-contract=fast", f"-DLANES={lanes}", *target.flags,
            *host_flags(cflags, target.arch), *instruction_set(isa).compile_flags)


def _program(compiler: Compiler, target: Target, cflags: tuple[str, ...], isa: str, cache: Cache) -> Path:
    flags = flags_of(target, cflags, isa)

    def make(folder: Path) -> None:
        run_tool([*compiler.command, *flags, str(SOURCE), "-o", str(folder / "ceilings"), "-pthread"],
                 "the program that measures the machine does not compile", folder)

    key = files.digest(compiler.identity, files.tree_digest(sorted(FOLDER.glob("*.[ch]"))), *flags)
    return host_programs.program(cache, key, make) / "ceilings"


def parse(text: str, threads: int) -> Machine:
    """The lines of autotune/ceilings/main.c."""
    clock, operations, reads = 0.0, 0.0, {}
    for line in text.splitlines():
        kind, *numbers = line.split()
        if kind == "clock":
            clock = float(numbers[0]) * 1e6
        elif kind == "fma":
            operations = float(numbers[0]) * 1e9
        else:
            reads[int(numbers[0])] = float(numbers[1]) * 1e6
    return Machine(threads, operations, reads, clock)


def caches() -> dict[str, int]:
    """l1d, l2, l3 and line in bytes, those of a core or what it shares; what Linux does not tell is left out."""
    found: dict[str, int] = {}
    for index in sorted(CPU.glob("index*")):
        try:
            kind, level = ((index / name).read_text().strip() for name in ("type", "level"))
            size, line = ((index / name).read_text().strip() for name in ("size", "coherency_line_size"))
        except OSError:
            continue
        if kind == "Instruction" or not re.fullmatch(r"\d+K", size):
            continue
        found["l1d" if level == "1" else f"l{level}"] = int(size[:-1]) * 1024
        found["line"] = int(line)
    return {name: size for name, size in found.items() if name in SIZES}


def rates(alone: Machine, caches: Mapping[str, int]) -> dict[str, int | float]:
    """Clock, bandwidth, and what a core does in a cycle, as a target file has them. alone: of one thread; caches: for
    which it was measured."""
    found: dict[str, int | float] = {"clock": round(alone.clock / 1e6),
                                     "bandwidth": round(alone.reads[max(alone.reads)] / 1e6),
                                     "fma": round(alone.operations / 2 / alone.clock, 1)}
    levels = {**{caches.get(name, 0) // 2: f"{name}_read" for name in CACHES}, MEMORY: "memory_read"}
    for size, rate in sorted(alone.reads.items()):
        if size in levels:
            found[levels[size]] = round(rate / alone.clock, 1)
    return found


def target_text(base: str, values: Mapping[str, int | float]) -> str:
    """A target file with these values in place of its own, comments kept."""
    for name, value in values.items():
        line = re.compile(rf"^({name} *= *)[\d.]+(.*)$", re.MULTILINE)
        base = line.sub(rf"\g<1>{value}\g<2>", base) if line.search(base) else base + f"{name} = {value}\n"
    return base


def write(path: Path, base: Path, values: Mapping[str, int | float]) -> None:
    files.write_if_changed(path, target_text(base.read_text(encoding="utf-8"), values))
