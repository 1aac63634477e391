# SPDX-License-Identifier: Apache-2.0
"""How the tests compile generated CUDA C for the processor."""
from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import Iterable, Sequence

from tensor_compile.build.jobs import run_all
from tensor_compile.build.toolchain import EXACT

ROOT = Path(os.environ["TC_SOURCE_ROOT"])
HERE = ROOT / "tests" / "cuda"
INCLUDES = [f"-I{path}" for path in (HERE, ROOT / "templates" / "cuda", ROOT / "templates" / "include",
                                     ROOT / "runtime" / "include", ROOT / "tests", ROOT)]
JOBS = 2


def compiler() -> list[str] | None:
    """That for C++, with what all of it is compiled with; None where there is none."""
    command = os.environ.get("CXX", "c++").split()
    if not command or shutil.which(command[0]) is None:
        return None
    return [*command, "-std=gnu++17", "-O1", "-w", "-fPIC", *EXACT, "-fno-strict-aliasing", *INCLUDES]


def compile_kernels(cxx: Sequence[str], sources: Iterable[Path], folder: Path) -> list[str]:
    """Each .cu as a C++ file -> objects."""
    def one(source: Path) -> str:
        out = folder / f"{source.stem}.o"
        run([*cxx, "-x", "c++", "-include", "emulate.h", "-c", source, "-o", out])
        return str(out)

    return run_all(one, sorted(sources), JOBS)


def run(command: Sequence[object], **more: object) -> subprocess.CompletedProcess:
    """The command's result; what it printed is shown where it failed."""
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False, **more)  # type: ignore
    if done.returncode:
        raise RuntimeError(f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}")
    return done
