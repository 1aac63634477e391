# SPDX-License-Identifier: Apache-2.0
"""A folder with a small model, the tests' cache, and the tool run in it."""
from __future__ import annotations

import os
import subprocess
from pathlib import Path

import forked

ROOT = Path(os.environ["TC_SOURCE_ROOT"])
# The plainest of this machine; "" where it has no target.
ISA = {"x86_64": "x86_64", "aarch64": "neon", "riscv64": "rv64"}.get(os.uname().machine, "")


def prepare(folder: Path, model: str) -> None:
    """`folder` gets model.c; what the tool keeps for its user, with `run` too, is in the tests' cache."""
    cache = Path(os.environ.get("TC_TESTS_CACHE", str(folder / "cache")))
    cache.mkdir(parents=True, exist_ok=True)
    (folder / "tensor-compile").symlink_to(cache)
    (folder / "model.c").write_text(model, encoding="utf-8")


def run(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return forked.tool(*words, cwd=folder, env=os.environ | {"XDG_CACHE_HOME": str(folder)})
