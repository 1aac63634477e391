# SPDX-License-Identifier: Apache-2.0
"""What `tune` counts of a candidate (--count): time, instructions that an emulator runs, cycles of a board. Which clock
of autotune/clocks is linked, and how the harness is started so that it counts (docs/tuning.md)."""
from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Sequence

from ..errors import UserError
from ..target import Target
from .host_programs import ROOT
from .tools import run_tool

UNITS = {"time": "us", "instructions": "instructions", "cycles": "cycles"}
CLOCKS = ROOT / "autotune" / "clocks"
PLUGIN = ROOT / "autotune" / "plugin" / "count.c"


def bare(target: Target) -> bool:
    """Its programs run without an operating system: they have no arguments and no clock of a system."""
    return target.arch == "arm"


def clock(count: str, target: Target) -> Path:
    """The source of the harness's clock."""
    if count == "instructions":
        return CLOCKS / ("systick.c" if bare(target) else "emulator.c")
    return CLOCKS / f"{count}.c"


def check(count: str, target: Target, wrapper: Sequence[str]) -> None:
    """That the harness can count so."""
    emulator = Path(wrapper[0]).name if wrapper else ""
    if count == "time" and bare(target):
        raise UserError(f"{target.name} has no clock that tells the time of a call",
                        hint="--count instructions (an emulator), or --count cycles (a board): docs/tuning.md")
    if count == "cycles" and not bare(target):
        raise UserError(f"cycles are counted on Cortex-M, {target.name} is another processor",
                        hint="--count time, or --count instructions under an emulator")
    if count == "instructions" and bare(target) and "-icount" not in wrapper:
        raise UserError("instructions of a Cortex-M are counted by an emulator whose time is instructions",
                        hint="--exe-wrapper 'qemu-system-arm -M mps2-an386 -icount shift=0 … -kernel': docs/tuning.md")
    if count == "instructions" and not bare(target) and (not emulator.startswith("qemu-") or "system" in emulator):
        raise UserError("instructions are counted by an emulator of user programs",
                        hint="--exe-wrapper 'qemu-aarch64 -L /usr/aarch64-linux-gnu', for example")


def counted(wrapper: Sequence[str], host: Sequence[str], folder: Path) -> tuple[list[str], Path]:
    """The command of an emulator of user programs with the plugin that counts, made by the build machine's compiler
    `host`, and the file that it counts in."""
    library, file = folder / "count.so", folder / "count"
    run_tool([*host, "-shared", "-fPIC", "-O2", f"-DPLUGIN_VERSION={_interface(wrapper[0])}", str(PLUGIN), "-o",
              str(library)], "the emulator's plugin does not compile", folder)
    return [wrapper[0], "-plugin", f"{library},count={file}", *wrapper[1:]], file


def _interface(emulator: str) -> int:
    """The version of its plugins' interface."""
    try:
        said = subprocess.run([emulator, "--version"], capture_output=True, text=True, check=False).stdout
    except OSError as error:
        raise UserError(f"the emulator does not start: {error.strerror}: {emulator}") from None
    number = re.search(r"version (\d+)\.", said)
    return 1 if number and int(number[1]) < 9 else 2
