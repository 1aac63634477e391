# SPDX-License-Identifier: Apache-2.0
"""Runs compilers, archivers and linkers on this project's own sources and on what it generates."""
from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Sequence

from ..errors import UserError

NO_ROOM = ("No space left on device", "Disk quota exceeded", "File too large", "Read-only file system")


class ToolBroken(Exception):
    """A part of this project does not compile or crashed: our bug, exit code 3. `detail` is for the dump."""

    def __init__(self, message: str, detail: str = ""):
        super().__init__(message)
        self.detail = detail


def run_tool(command: Sequence[str], failure: str, folder: Path, detail: str = "") -> None:
    """Runs the command in `folder`, where it writes. That it fails is our mistake, which `failure` names (detail: what
    it was given), unless it found no room to write."""
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False,
                          env={**os.environ, "LC_ALL": "C"})
    if done.returncode:
        for why in NO_ROOM:
            if why in done.stderr:
                raise UserError(f"cannot write: {why}", str(folder))
        raise ToolBroken(failure, f"{' '.join(command)}\n{done.stdout}{done.stderr}\n{detail}")
