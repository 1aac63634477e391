# SPDX-License-Identifier: Apache-2.0
"""Compilers: detection, the flags of the build machine's programs, and the flags of kernels.

A kernel is compiled with this project's own optimisation and floating-point flags, the instruction set's flags, and of
the host's flags only those that decide on the ABI and the processor. Optimisation, sanitizer, LTO and coverage flags of
the host never reach a kernel: docs/numerics.md holds for every build type.
"""
from __future__ import annotations

import os
import re
import shutil
import subprocess
from dataclasses import asdict
from functools import cached_property
from pathlib import Path

from ..errors import UserError
from ..instruction_sets import instruction_set
from ..records import dataclass
from . import files
from .cache import recall, remember

# What decides results, and what keeps the object small and freestanding.
EXACT = ("-ffp-contract=off", "-fwrapv", "-fno-math-errno", "-fno-fast-math", "-fno-trapping-math")
KERNEL = ("-std=c11", *EXACT, "-ffreestanding", "-fno-strict-aliasing", "-fvisibility=hidden", "-ffunction-sections",
          "-fdata-sections", "-fno-asynchronous-unwind-tables", "-fno-stack-protector", "-fno-common", "-fno-ident",
          "-fno-lto", "-w")
# The interpreter moves and multiplies whole weights: -O1 makes it as fast as -O2 in half the time.
BUILD_MACHINE = ("-std=c11", "-O1", "-ffp-contract=off", "-fwrapv", "-fno-math-errno")

X86_CHOICE = re.compile(r"-m(arch|cpu|tune|prefer-vector-width)=|-m(no-)?(sse|ssse|avx|fma|fma4|bmi|f16c|xop|amx|abm|"
                        r"lzcnt|popcnt|movbe|aes|sha|pclmul|vpclmul|vaes|gfni|80387|x87|general-regs-only|fpmath)")
PREFIX_MAP = re.compile(r"-f(file|debug|macro)-prefix-map=")
TAKES_VALUE = {"-isysroot", "--sysroot", "-target", "--target", "-B"}


@dataclass(frozen=True)
class Compiler:
    """command: the words that start it; kind: gcc or clang; machine: what it compiles for (its own triplet)."""

    command: tuple[str, ...]
    kind: str
    version: str
    machine: str
    banner: str

    @property
    def release(self) -> str:
        """As lines of a tuning lock name it."""
        return f"{self.kind} {self.version}"

    @property
    def identity(self) -> str:
        """What decides the code it makes, free of where it is installed."""
        return f"{self.banner}\n{self.machine}"

    def makes(self, arch: str) -> bool:
        """Whether flags choose an architecture: a compiler for RISC-V makes code of 32 and of 64 bits."""
        return arch == self.arch or {arch, self.arch} == {"riscv32", "riscv64"}

    @property
    def arch(self) -> str:
        cpu = self.machine.split("-")[0]
        if cpu.startswith("riscv") and any(word.startswith("-march=rv32") for word in self.command):
            return "riscv32"
        return "arm" if cpu.startswith(("arm", "thumb")) else "x86_64" if cpu == "amd64" else cpu

    @cached_property
    def objcopy(self) -> str:
        return self._program("objcopy", ("llvm-objcopy",))

    def _program(self, name: str, others: tuple[str, ...]) -> str:
        answer = subprocess.run([*self.command, f"-print-prog-name={name}"], capture_output=True, text=True,
                                check=False).stdout.strip()
        words = [answer, f"{self.machine}-{name}", *others, *([name] if self.arch == os.uname().machine else [])]
        if self.kind == "clang" and self.arch != os.uname().machine:
            words = words[1:]  # clang answers with the build machine's tool
        for word in words:
            found = shutil.which(word) if word else None
            if found:
                return found
        raise UserError(f"no {name} for {self.machine}", hint=f"install binutils for {self.machine}, or llvm")


def detect(command: tuple[str, ...], cache: Path, what: str) -> Compiler:
    """Asks the compiler what it is; remembered in the cache by the program's file until that changes."""
    program = shutil.which(command[0]) if command else None
    if program is None:
        raise UserError(f"{what} not found: {command[0] if command else '(empty)'}",
                        hint="name one with --host-cc" if "build machine" in what else "name one with --cc")
    stat = os.stat(program)
    record = cache / "compilers" / (files.digest(*command, program, str(stat.st_size), str(stat.st_mtime_ns)) + ".json")
    try:
        stored = recall(record)
        return Compiler(**{**stored, "command": tuple(stored["command"])})
    except (KeyError, TypeError):  # none, or another version's
        pass
    compiler = _ask(command, what)
    remember(record, asdict(compiler))
    return compiler


def answer(command: tuple[str, ...], option: str, what: str) -> str:
    """What a compiler prints of itself. what: its name for people."""
    try:
        result = subprocess.run([*command, option], capture_output=True, text=True, check=False, timeout=60)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise UserError(f"{what} does not run: {' '.join(command)}: {error}") from None
    if result.returncode:
        raise UserError(f"{what} does not answer {option}: {' '.join(command)}\n{result.stderr.strip()}")
    return result.stdout


def _ask(command: tuple[str, ...], what: str) -> Compiler:
    def run(option: str) -> str:
        return answer(command, option, what).strip()

    banner = run("--version").splitlines()[0]
    kind = "clang" if "clang" in banner else "gcc"
    found = re.search(r"(\d+)(\.\d+)+(?!.*\d+\.\d+\.\d+)", banner) or re.search(r"(\d+)\.\d+", banner)
    if not found:
        raise UserError(f"{what} is neither GCC nor Clang: {' '.join(command)}: {banner}")
    floor = 14 if kind == "clang" else 12
    if int(found[1]) < floor:
        raise UserError(f"{what} is too old: {banner}", hint="GCC >= 12 or Clang >= 14 is needed")
    # GCC's banner starts with the name it was called by: that is not part of what it is.
    version = found[0]
    return Compiler(command, kind, version, run("-dumpmachine"), re.sub(r"^\S*(gcc|cc|clang)\b\S*", kind, banner))


def host_flags(flags: tuple[str, ...], arch: str) -> tuple[str, ...]:
    """Of the host's flags those that reach kernels: processor and ABI (never `native`), sysroot, prefix maps."""
    kept: list[str] = []
    words = iter(flags)
    for word in words:
        if word in TAKES_VALUE:
            kept += [word, next(words, "")]
        elif word.startswith("-m"):
            if word.endswith("=native"):
                continue
            if word in ("-m32", "-mx32", "-m16"):
                raise UserError(f"{word}: 32-bit x86 is not supported")
            if arch != "x86_64" or not X86_CHOICE.match(word):
                kept.append(word)
        elif word.startswith(("--sysroot=", "--target=", "-B", "-fshort-enums", "-fno-short-enums", "-fpic", "-fPIC",
                              "-fpie", "-fPIE", "-fno-pic", "-fno-pie", "-fcf-protection")) or PREFIX_MAP.match(word):
            kept.append(word)
    return tuple(kept)


def kernel_flags(compiler: Compiler, isa: str, target_flags: tuple[str, ...], host: tuple[str, ...], arch: str,
                 optimise: str = "-O3") -> tuple[str, ...]:
    """Every flag of a kernel's compilation but the include path: the target's, then the host's, then the set's."""
    pic = () if arch in ("arm", "riscv32") else ("-fPIC",)
    return (optimise, *KERNEL, *pic, *target_flags, *host_flags(host, arch), *instruction_set(isa).compile_flags)
