# SPDX-License-Identifier: Apache-2.0
"""The processes that this one has started, and those that they have: what ends with a search whose time is up."""
from __future__ import annotations

import os
import signal
from pathlib import Path


def end() -> None:
    """Kills them all. Where the system does not list them (Linux does), none."""
    for pid in below(os.getpid()):
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass   # it has ended by itself


def below(pid: int) -> list[int]:
    """Those of a process and of their own, the youngest last."""
    found: list[int] = []
    tasks = Path(f"/proc/{pid}/task")
    for task in _names(tasks):
        try:
            found += map(int, (tasks / task / "children").read_text(encoding="ascii").split())
        except OSError:
            pass   # it has ended
    return [x for child in found for x in (child, *below(child))]


def _names(folder: Path) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []   # the process has ended
