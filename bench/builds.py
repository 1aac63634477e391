# SPDX-License-Identifier: Apache-2.0
"""Benchmark programs: a model compiled by tensor-compile, the runtime's core as its own build makes it, server.c."""
from __future__ import annotations

import os
import platform
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Sequence

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
TOOL = ROOT / "generator" / "tensor-compile"
CC = shlex.split(os.environ.get("CC", "cc"))
POOL = [ROOT / "runtime" / "hosted" / name for name in ("places.c", "pool.c")]
# runtime/meson.build
CORE_FLAGS = ("-std=c11", "-Os", "-ffreestanding", "-ffunction-sections", "-fdata-sections",
              "-fno-asynchronous-unwind-tables", "-fPIC")
SERVER_FLAGS = ("-std=c11", "-D_POSIX_C_SOURCE=200809L", "-O2", "-Wall", "-Wextra", "-Wpedantic", "-Werror")


# the function of each benchmark that is measured, as the generated header names it
FUNCTIONS = {"mlp": "mlp", "lstm-step": "lstm_step", "digits": "digits", "minilm": "minilm", "resnet50": "resnet50",
             "mobilenet_v2": "mobilenet_v2", "gpt2": "gpt2_prefill", "gpt2-decode": "gpt2_decode", "unet": "unet",
             "lstm-vad": "vad"}


# the calls that are measured: a model, and its sizes
ROWS: list[tuple[str, dict[str, int]]] = [
    ("mlp", {"batch": 1}), ("mlp", {"batch": 64}), ("digits", {"batch": 1}), ("digits", {"batch": 32}),
    ("minilm", {"batch": 1, "seq": 128}), ("resnet50", {"batch": 1}), ("mobilenet_v2", {"batch": 1}),
    ("gpt2", {"length": 128}), ("gpt2-decode", {"past": 256}), ("unet", {"height": 128, "width": 128}),
    ("lstm-vad", {}), ("lstm-step", {})]


# shapes of the weights of models that are no examples
OWN: dict[str, dict[str, tuple[int, ...]]] = {
    "mlp": {f"fc{i}.{kind}": (n, k) if kind == "weight" else (n,)
            for i, (n, k) in enumerate([(512, 784), (512, 512), (10, 512)], 1) for kind in ("weight", "bias")},
    "lstm-step": {"lstm.weight_ih": (512, 64), "lstm.bias_ih": (512,), "lstm.weight_hh": (512, 128),
                  "lstm.bias_hh": (512,)}}


def source(model: str) -> Path:
    """The model.c of a benchmark."""
    own = HERE / model / "model.c"
    return own if own.exists() else ROOT / "examples" / model.partition("-decode")[0] / "model.c"


def specialized(model: str) -> list[str]:
    """The options of build for the sizes of all rows of the model."""
    found: dict[str, list[str]] = {}
    for name, size in (item for row, sizes in ROWS if row == model for item in sizes.items()):
        found.setdefault(name, []).append(str(size))
    return [word for name, listed in found.items()
            for word in ("--specialize", f"{name}={','.join(dict.fromkeys(listed))}")]


def best_isa() -> str:
    """The best instruction set that this machine runs, as --isa takes it; empty: all of the target's."""
    if platform.machine() != "x86_64":
        return ""
    flags: set[str] = set()
    for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        if line.startswith("flags"):
            flags = set(line.split(":")[1].split())
            break
    if {"avx512f", "avx512vl", "avx512dq", "avx512bw"} <= flags:
        return "avx512"
    return "avx2" if {"avx2", "fma"} <= flags else "x86_64"


def banner() -> str:
    """The compiler, in one line."""
    return subprocess.run([*CC, "--version"], capture_output=True, text=True, check=True).stdout.splitlines()[0]


def make_weights(written: Path, tool: Path, path: Path, defines: Sequence[str] = ()) -> None:
    """The file of seeded weights that an example's make_weights.c writes. tool: where its program is put."""
    subprocess.run([*CC, "-O2", *defines, str(written), "-o", str(tool), "-lm"], check=True)
    subprocess.run([str(tool), str(path)], check=True)


def program(model: str, written: Path, out: Path, cache: Path, arguments: Sequence[str] = (), function: str = "",
            team: bool = False, turns: bool = False) -> Path:
    """The benchmark process of a model in the folder `out`; an unchanged model is not compiled again. arguments: of
    build. function: the measured one, where FUNCTIONS does not say. team: its first argument is a number of threads.
    turns: the same of threads that take turns (turns.h)."""
    out.mkdir(parents=True, exist_ok=True)
    tool(written, out, cache, arguments)
    objects = core(out.parent / "core")
    made, include = out / ("turns" if turns else "server"), ROOT / "runtime" / "include"
    hosted = map(str, POOL) if team else []
    defines = ["-DBENCH_TEAM", "-pthread"] if team else ["-DBENCH_TEAM", "-DBENCH_TURNS", "-D_XOPEN_SOURCE=700"] if turns else []
    subprocess.run([*CC, *SERVER_FLAGS, f"-DFUNCTION={function or FUNCTIONS[model]}_function", f"-I{out}",
                    f"-I{include}", f"-I{HERE}", *defines,
                    str(HERE / "server.c"), *hosted, str(out / "model.o"), *map(str, objects), "-Wl,--gc-sections",
                    "-o", str(made)], check=True)
    return made


def tool(written: Path, out: Path, cache: Path, arguments: Sequence[str]) -> None:
    """Builds a model in the folder `out`."""
    subprocess.run([sys.executable, str(TOOL), "build", str(written), "-o", str(out), "--cache", str(cache), "--cc",
                    shlex.join(CC), *arguments], check=True)


def core(folder: Path) -> list[Path]:
    """Objects of the runtime's core, the part that calls go through; what is newer than all sources is kept."""
    folder.mkdir(parents=True, exist_ok=True)
    files = sorted((ROOT / "runtime" / "core").glob("*.c"))
    newest = max(p.stat().st_mtime_ns for part in ("core", "include")
                 for p in (ROOT / "runtime" / part).rglob("*.[ch]"))
    objects = []
    for path in files:
        made = folder / f"{path.stem}.o"
        if not made.exists() or made.stat().st_mtime_ns < newest:
            subprocess.run([*CC, *CORE_FLAGS, f"-I{ROOT / 'runtime' / 'include'}", "-c", str(path), "-o", str(made)],
                           check=True)
        objects.append(made)
    return objects
