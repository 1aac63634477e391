# SPDX-License-Identifier: Apache-2.0
"""The tree passes ruff and mypy with the settings at its root. A tool that is not there is a SKIP."""
import os
import shutil
import subprocess
from pathlib import Path

from tap import done, note, ok, skip

ROOT = Path(os.environ["TC_SOURCE_ROOT"])


def passes(name: str, *command: str) -> None:
    if not shutil.which(command[0]):
        skip(name, f"there is no {command[0]}")
        return
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    if not ok(result.returncode == 0, name):
        for line in (result.stdout + result.stderr).splitlines()[:60]:
            note(line)


passes("ruff finds nothing", "ruff", "check", "--no-cache", "--output-format", "concise", ".")
passes("mypy finds nothing", "mypy", "--cache-dir", os.path.join(os.environ["TC_TESTS_CACHE"], "mypy"))
done()
