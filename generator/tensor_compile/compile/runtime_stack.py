# SPDX-License-Identifier: Apache-2.0
"""The stack that the runtime needs for a call on a processor of one thread: the deepest path through its functions, as
GCC tells their frames and calls (-fcallgraph-info). The generated functions that it calls are not in it.

A call goes from the entry through `tc_run` to the generated driver, and from there through a step to a kernel.
"""
from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Mapping

from . import files
from .cache import Cache
from .host_programs import RUNTIME
from .toolchain import Compiler

SOURCES = {"core": ("core/*.c",), "lean": ("lean/lean.c", "core/cpu.c")}   # by what --runtime says
ENTRY = "tc_run"
STEPS = ("tc_step", "tc_shared_step", "tc_tile_step", "tc_fault", "tc_faulted")   # what a driver calls
TEAM = "run_team"     # of the core: with one thread it does not run
OPTIMISE = "-O2"      # a Meson project's own level may need less or more

_NODE = re.compile(r'^node: \{ title: "([^"]+)" label: "([^"]*)"', re.MULTILINE)
_EDGE = re.compile(r'^edge: \{ sourcename: "([^"]+)" targetname: "([^"]+)"', re.MULTILINE)
_FRAME = re.compile(r"\\n(\d+) bytes")


def needed(runtime: str, compiler: Compiler, flags: tuple[str, ...], cache: Cache) -> int | None:
    """Bytes; None where the compiler does not tell."""
    if compiler.kind != "gcc":
        return None
    key = files.digest("runtime stack", runtime, compiler.identity, " ".join((*compiler.command[1:], *flags)),
                       files.tree_digest([RUNTIME / name for name in ("core", "lean", "include")]))

    def make(folder: Path) -> None:
        sources = sorted(str(p) for pattern in SOURCES[runtime] for p in RUNTIME.glob(pattern))
        result = subprocess.run([*compiler.command, *flags, OPTIMISE, "-std=gnu11", "-w", "-fcallgraph-info=su",
                                 f"-I{RUNTIME / 'include'}", "-c", *sources], cwd=folder, capture_output=True,
                                check=False)
        text = "".join(p.read_text(encoding="utf-8", errors="replace") for p in sorted(folder.glob("*.ci")))
        for path in folder.iterdir():
            path.unlink()
        (folder / "calls.txt").write_text("" if result.returncode else text, encoding="utf-8")

    text = (cache.entry("runtime-stack", key, make) / "calls.txt").read_text(encoding="utf-8")
    return of_calls(text) if text else None


def of_calls(text: str) -> int | None:
    """Of the nodes and edges that the compiler wrote; None where functions call themselves."""
    frames = {name: int(m[1]) for name, label in _NODE.findall(text) if (m := _FRAME.search(label))}
    calls: dict[str, set[str]] = {}
    for caller, called in _EDGE.findall(text):
        if not called.endswith(f":{TEAM}"):
            calls.setdefault(caller, set()).add(called)
    depths: dict[str, int] = {}
    if ENTRY not in frames or not all(_depth(name, frames, calls, depths, ()) for name in (ENTRY, *STEPS)):
        return None
    return depths[ENTRY] + max(depths[name] for name in STEPS)


def _depth(name: str, frames: Mapping[str, int], calls: Mapping[str, set[str]], depths: dict[str, int],
           above: tuple[str, ...]) -> bool:
    """Fills in the deepest path from a function; False where it comes back to one."""
    if name in above:
        return False
    if name not in depths:
        if not all(_depth(called, frames, calls, depths, (*above, name)) for called in calls.get(name, ())):
            return False
        depths[name] = frames.get(name, 0) + max((depths[c] for c in calls.get(name, ())), default=0)
    return True
