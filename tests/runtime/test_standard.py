# SPDX-License-Identifier: Apache-2.0
"""The runtime's files compile as C11 without GNU's extensions, each by itself: programs without Meson do so."""
import os
import subprocess
import sys
from pathlib import Path

from tap import done, note, ok

RUNTIME = Path(os.environ["TC_SOURCE_ROOT"]) / "runtime"
compiler = sys.argv[1:]
for path in sorted([*RUNTIME.glob("core/*.c"), *RUNTIME.glob("hosted/*.c")]):
    openmp = ["-fopenmp"] if path.name == "openmp.c" else []
    flags = ["-std=c11", "-fsyntax-only", "-Wall", "-Wextra", "-Wpedantic", "-Werror", *openmp]
    result = subprocess.run([*compiler, *flags, f"-I{RUNTIME / 'include'}", str(path)],
                            capture_output=True, text=True, check=False)
    ok(result.returncode == 0, f"C11: {path.relative_to(RUNTIME)}") or note(result.stderr)
done()
