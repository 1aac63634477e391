# SPDX-License-Identifier: Apache-2.0
"""The tree passes ruff, mypy and clang-format with the settings at its root. A tool that is not there is a SKIP."""
import os
import re
import shutil
import subprocess
from pathlib import Path

from tap import done, equal, note, ok, skip

ROOT = Path(os.environ["TC_SOURCE_ROOT"])
CLANG_FORMAT = 14    # other versions break lines elsewhere
FORMATTED = ("autotune", "generator/capture", "generator/check", "interpreter", "runtime")


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

version = shutil.which("clang-format") and subprocess.run(["clang-format", "--version"], capture_output=True,
                                                          text=True).stdout
found = re.search(r"version (\d+)", version or "")
if not found or int(found[1]) != CLANG_FORMAT:
    skip("clang-format changes nothing", f"there is no clang-format {CLANG_FORMAT}")
    done()
files = [path for folder in FORMATTED for end in ("c", "h") for path in sorted((ROOT / folder).rglob(f"*.{end}"))]
dry = subprocess.run(["clang-format", "--dry-run", "--Werror", *files], cwd=ROOT, capture_output=True, text=True)
equal(sorted(set(re.findall(r"^(\S+?):\d+:\d+: error", dry.stderr, re.M))), [], "clang-format changes nothing")
done()
