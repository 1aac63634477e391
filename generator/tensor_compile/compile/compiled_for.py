# SPDX-License-Identifier: Apache-2.0
"""The processor that the user's flags compile for, as the compiler's macros describe it: whether it has the instruction
sets of a target, and which target suits it where none is named.

Only instruction sets whose features no flag of ours switches on are asked for (those of Cortex-M): the others bring
their flags with them.
"""
from __future__ import annotations

import os
import subprocess

from .. import target as targets
from ..errors import UserError
from ..instruction_sets import Feature, instruction_set
from ..target import Target
from . import files
from .cache import Cache, recall, remember
from .options import Machine
from .toolchain import Compiler, host_flags


def suited(machine: Machine, compiler: Compiler) -> str:
    """The target that uses most of the Cortex-M processor that the flags name; "" for others."""
    if compiler.arch != "arm" or not _named(machine, compiler):
        return ""
    macros = _macros(compiler, host_flags(machine.cflags, compiler.arch), machine.open_cache())
    return _best(macros) if _is_microcontroller(macros) else ""


def require(machine: Machine, target: Target, compiler: Compiler) -> None:
    """A user's error where the flags compile for a processor without an instruction set of the target."""
    if not any(_asked(isa) for isa in target.isas):
        return
    own = host_flags(machine.cflags, compiler.arch)
    named = _named(machine, compiler)
    macros = _macros(compiler, own if named else (*target.flags, *own), machine.open_cache())
    for isa in target.isas:
        missing = [f for f in _asked(isa) if f.macro not in macros]
        if missing:
            others = [f"--target-file {_best(macros)}, or"] if _is_microcontroller(macros) else []
            raise UserError(f"{' '.join(named or target.flags)} compiles for a processor or an ABI without "
                            f"{missing[0].name} ({missing[0].macro}): the instruction set {isa} needs it",
                            hint=" ".join([*others, f"the flags of {_owner(isa)}"]))


def _is_microcontroller(macros: dict[str, str]) -> bool:
    return macros.get("__ARM_ARCH_PROFILE") in ("77", "'M'")    # M: GCC writes the number, Clang the letter


def _owner(isa: str) -> str:
    """A target of the project with an instruction set, and its flags."""
    found = [t for t in map(targets.load, map(targets.find, targets.names())) if isa in t.isas]
    return f"{found[0].name}: {' '.join(found[0].flags)}" if found else f"a processor with {isa}"


def _asked(isa: str) -> list[Feature]:
    """What an instruction set needs and no flag of ours asks the compiler for."""
    return [f for f in instruction_set(isa).needs if not f.option]


def _named(machine: Machine, compiler: Compiler) -> list[str]:
    """The words of the user that decide on the processor."""
    words = [w for w in (*compiler.command[1:], *machine.cflags) if w.startswith(("-mcpu=", "-march=", "-mfloat-abi="))]
    return words if any(not w.startswith("-mfloat-abi=") for w in words) else []


def _best(macros: dict[str, str]) -> str:
    """The target whose instruction set needs most of what the macros tell of."""
    def needs(t: Target) -> list[Feature]:
        return _asked(t.isas[-1])

    arm = [t for t in map(targets.load, map(targets.find, targets.names())) if t.arch == "arm"]
    return max((t for t in arm if all(f.macro in macros for f in needs(t))), key=lambda t: len(needs(t))).name


def _macros(compiler: Compiler, flags: tuple[str, ...], cache: Cache) -> dict[str, str]:
    """What the compiler defines; remembered in the cache."""
    record = cache.programs.root / "compilers" / (files.digest(compiler.identity, *compiler.command, "macros", *flags)
                                                  + ".json")
    if known := recall(record):
        return known
    made = subprocess.run([*compiler.command, *flags, "-dM", "-E", "-x", "c", os.devnull], capture_output=True,
                          text=True, check=False)
    if made.returncode:
        raise UserError(f"{' '.join((*compiler.command, *flags))} does not run: {made.stderr.strip()}",
                        hint="--cflags has flags of the processor and of the ABI")
    lines = (line.split(maxsplit=2) for line in made.stdout.splitlines())
    found = {words[1]: words[2] if len(words) > 2 else "" for words in lines if len(words) > 1}
    remember(record, found)
    return found
