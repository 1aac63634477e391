# SPDX-License-Identifier: Apache-2.0
"""The four int8 models of MLPerf Tiny, and the streaming one: their stored cases as bytes, a build for a machine, a
run."""
from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
M4F = ["-mcpu=cortex-m4", "-mthumb", "-mfloat-abi=hard", "-mfpu=fpv4-sp-d16"]
M55 = ["-mcpu=cortex-m55", "-mthumb", "-mfloat-abi=hard"]
M0 = ["-mcpu=cortex-m0plus", "-mthumb"]
RV32 = ["-march=rv32imac", "-mabi=ilp32"]
MODELS = ("ad01_int8", "kws_ref_model", "pretrainedResnet_quant", "vww_96_int8", "str_ww_ref_model")


@dataclass(frozen=True, slots=True)
class Machine:
    """cc: with its flags; build: options of the tool; link: flags and files of the executable; run: before the
    program; lean: with the small runtime."""

    name: str
    cc: tuple[str, ...]
    build: tuple[str, ...] = ()
    link: tuple[str, ...] = ()
    run: tuple[str, ...] = ()
    lean: bool = False


@dataclass(frozen=True, slots=True)
class Board:
    """A processor without an operating system, emulated. target: the name of its description and of the machine;
    folder: of tests/cross, with its linker script; emulator: before the program."""

    target: str
    cc: tuple[str, ...]
    folder: str
    emulator: tuple[str, ...]

    @property
    def script(self) -> Path:
        return ROOT / "tests" / "cross" / self.folder / "link.ld"

    @property
    def startup(self) -> Path:
        return ROOT / "tests" / "cross" / ("rv32" if self.folder == "rv32" else "m4f") / "startup.c"

    @property
    def library(self) -> tuple[str, ...]:
        """Chooses a C library, for <stdint.h>, <string.h> and memcpy, where the compiler has none of its own."""
        return ("--specs=picolibc.specs",) if self.folder == "rv32" else ()

    @property
    def link(self) -> tuple[str, ...]:
        """Of a program with the object of the startup code."""
        return *self.library, "-nostartfiles", "-T", str(self.script), "-Wl,--gc-sections"


def _arm(target: str, flags: list[str], folder: str, machine: str, *more: str) -> Board:
    return Board(target, ("arm-none-eabi-gcc", *flags), folder,
                 ("qemu-system-arm", "-M", machine, *more, "-nographic", "-semihosting-config",
                  "enable=on,target=native", "-kernel"))


BOARDS = (_arm("cortex-m4f", M4F, "m4f", "mps2-an386"), _arm("cortex-m55", M55, "m55", "mps3-an547"),
          # the one Cortex-M0 that qemu has, with more memory than its chip
          _arm("cortex-m0plus", M0, "m0", "microbit", "-global", "nrf51-soc.flash-size=0x400000", "-global",
               "nrf51-soc.sram-size=0x100000"),
          Board("rv32imac", ("riscv64-unknown-elf-gcc", *RV32), "rv32", ("qemu-riscv32",)))


def tensors(path: Path) -> dict[str, tuple[list[int], bytes]]:
    data = path.read_bytes()
    length = int.from_bytes(data[:8], "little")
    header = json.loads(data[8:8 + length])
    return {name: (about["shape"], data[8 + length + about["data_offsets"][0]:8 + length + about["data_offsets"][1]])
            for name, about in header.items() if name != "__metadata__"}


def run(command: list[str], **more: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, check=False, **more)  # type: ignore[call-overload]


def build(model: Path, machine: Machine, out: Path, *options: str) -> str:
    """Header and object; "" or what went wrong."""
    cache = os.environ.get("TC_TESTS_CACHE", str(out.parent / "cache"))
    result = run([sys.executable, str(ROOT / "generator" / "tensor-compile"), "build", str(model), "-o", str(out),
                  "--cache", cache, "--cc", " ".join(machine.cc), *machine.build, *options])
    return result.stdout + result.stderr if result.returncode else ""


def program(header: Path, machine: Machine, io: Path, expect: str, out: Path) -> tuple[Path | None, str]:
    """The executable that runs the stored cases; or what went wrong."""
    stored = tensors(io)
    name = header.stem
    text = header.read_text(encoding="utf-8")
    args = re.search(r"typedef struct \w+_args \{\n\s*const (\w+) \*(\w+);.*\n\s*(\w+) \*(\w+);", text)
    assert args, text
    cases = stored["input"][0][0]
    for key, part in (("input", "inputs.bin"), (expect, "outputs.bin")):
        (out / part).write_bytes(stored[key][1])
    upper = name.upper()
    defines = {"MODEL_HEADER": f'"{header}"', "MODEL_CALL": name, "MODEL_ARGS": f"{name}_args", "INPUT": args[2],
               "OUTPUT": args[4],
               "CASES": cases, "INPUT_BYTES": len(stored["input"][1]) // cases,
               "OUTPUT_BYTES": len(stored[expect][1]) // cases,
               "ARENA_BYTES": f"{upper}_ARENA_BYTES", "INPUTS_FILE": f'"{out / "inputs.bin"}"',
               "OUTPUTS_FILE": f'"{out / "outputs.bin"}"'}
    made = out / f"{name}-{machine.name}"
    runtime = ROOT / "runtime"
    files = [runtime / "lean/lean.c", runtime / "core/cpu.c"] if machine.lean else list((runtime / "core").glob("*.c"))
    core = sorted(map(str, files))
    result = run([*machine.cc, "-std=gnu11", "-O2", "-w", f"-I{ROOT / 'runtime' / 'include'}",
                  *(f"-D{key}={value}" for key, value in defines.items()), str(HERE / "cases.c"),
                  str(header.with_suffix(".o")), *core,
                  *machine.link, "-o", str(made)])
    return (None, result.stdout + result.stderr) if result.returncode else (made, "")
