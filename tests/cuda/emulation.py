# SPDX-License-Identifier: Apache-2.0
"""How the tests compile generated CUDA C for the processor."""
from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Iterable, Sequence

from tensor_compile.compile.jobs import run_all
from tensor_compile.compile.toolchain import EXACT

ROOT = Path(os.environ["TC_SOURCE_ROOT"])
HERE = ROOT / "tests" / "cuda"
INCLUDES = [f"-I{path}" for path in (HERE, ROOT / "templates" / "cuda", ROOT / "templates" / "include",
                                     ROOT / "runtime" / "include", ROOT / "tests", ROOT)]
STRICT = ["-O1", "-Wall", "-Wextra", "-Werror", *INCLUDES]
READ = [HERE, ROOT / "runtime", ROOT / "bench" / "cuda"]   # what the programs below are made of
JOBS = 2
KERNEL = re.compile(r"^(?:extern.*\) )?(\w+)\(const tc_\w+<[^(]*__grid_constant__", re.MULTILINE)

TOOLKIT = {"stub-nvcc": """case "$1" in
--version) echo "release 13.0, V13.0.0.0"; exit ;;
--list-gpu-code) echo "sm_90"; exit ;;
--dryrun) echo "#$ PATH=${0%/*}" >&2; exit ;;
esac
while [ "$2" != -o ]; do shift; done
name=${1%%.*}
case "$3" in
*.ptx) printf '.version 9.0\\n.target sm_90\\n.address_size 64\\n.visible .entry %s()\\n{\\n}\\n' "$name" > "$3" ;;
*.cubin) echo "$name" > "$3" ;;
*) : > "$3" ;;
esac
""", "nvlink": """while [ "$1" != -optf ]; do shift; done
while read -r name || [ -n "$name" ]; do
    read -r line < "$name"
    echo "$line"
done < "$2" > "$4"
""", "fatbinary": """for word; do
    case $word in
    --create=*) out=${word#*=} ;;
    *kind=elf*) machine=${word##*file=} ;;
    *kind=ptx*) portable=${word##*file=} ;;
    esac
done
[ -s "$portable" ] || exit 1
printf '\\120\\355\\125\\272' > "$out"
while read -r line; do echo "$line"; done < "$machine" >> "$out"
printf '\\0' >> "$out"
"""}


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


def together(sources: Iterable[str | Path]) -> str:
    """One file of several .cu: a compiler's start costs more than a kernel. Each may make positions ints for itself."""
    wide = "".join(f"#undef {name}\n" for name in ("tc_index", "tc_floordiv", "tc_min", "tc_max"))
    return "".join(f'#include "{path}"\n{wide}' for path in sources)


def stub(folder: Path) -> Path:
    """A compiler in nvcc's place, for kernels that are emulated, with its toolkit beside it: an image holds the number
    that it starts with and the kernels' names, which their machine code and portable code are, too."""
    for name, text in TOOLKIT.items():
        (folder / name).write_text(f"#!/bin/sh\n{text}", encoding="utf-8")
        (folder / name).chmod(0o755)
    return folder / "stub-nvcc"


def driver(cxx: Sequence[str], folder: Path) -> Path:
    """The driver library of the tests, in a folder of its own."""
    return kept([*cxx, "-shared", "-Wl,-soname,libcuda.so.1", HERE / "fake_driver.cc", HERE / "emulate.cc", "-ldl"],
                folder / "driver" / "libcuda.so.1")


def library(cxx: Sequence[str], driver: Path) -> Path:
    """The library of the tests, beside their driver."""
    return kept([*cxx, "-shared", "-Wl,-soname,libcublasLt.so.13", HERE / "fake_library.cc", "-ldl"],
                driver.parent / "libcublasLt.so.13")


def comparison(out: Path) -> Path:
    """The program that compares calls of two objects (bench/cuda/compare.c), with the runtime."""
    return kept(with_runtime(ROOT / "bench" / "cuda" / "compare.c"), out)


def with_runtime(*sources: object) -> list[object]:
    """The command that makes a program of these and the runtime."""
    runtime = [*sorted((ROOT / "runtime" / "core").glob("*.c")), *sorted((ROOT / "runtime" / "cuda").glob("*.c")),
               *(ROOT / "runtime" / "hosted" / name for name in ("file.c", "sha256.c"))]
    return ["cc", "-std=gnu11", *STRICT, *sources, *runtime, "-rdynamic", "-ldl", "-lm"]


def kept(command: Sequence[object], out: Path) -> Path:
    """`out`, which the command makes; what it made before of the same files is taken where there is a cache of the
    tests."""
    out.parent.mkdir(exist_ok=True)
    cache = os.environ.get("TC_TESTS_CACHE")
    if not cache:
        run([*command, "-o", out])
        return out
    digest = hashlib.sha256(repr(list(map(str, command))).encode())
    for path in sorted(path for folder in READ for end in ("c", "cc", "h", "inc", "def")
                       for path in folder.rglob(f"*.{end}")):
        digest.update(path.read_bytes())
    made = Path(cache) / "emulation" / digest.hexdigest()[:24]
    if not made.exists():
        made.parent.mkdir(parents=True, exist_ok=True)
        run([*command, "-o", out])
        whole = made.with_name(f"{made.name}.{os.getpid()}")
        shutil.copy(out, whole)
        whole.replace(made)
    else:
        shutil.copy(made, out)
    return out


def prepared(sources: Sequence[Path], out: Path, fake: Path, cxx: Sequence[str]) -> dict[str, str]:
    """What to set for programs to find the driver of the tests, and it the kernels of the .cu."""
    whole = out / "whole.cu"
    symbols = [symbol for path in sources for symbol in KERNEL.findall(path.read_text(encoding="utf-8"))]
    whole.write_text(together(sources) + "".join(f"EMULATED_BYTES({symbol})\n" for symbol in symbols),
                     encoding="utf-8")
    run([*cxx, "-shared", *compile_kernels(cxx, [whole], out), fake, "-o", out / "kernels.so"])
    return {"LD_LIBRARY_PATH": str(fake.parent), "FAKE_CUDA_KERNELS": str(out / "kernels.so")}


def run(command: Sequence[object], **more: object) -> subprocess.CompletedProcess:
    """The command's result; what it printed is shown where it failed."""
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False, **more)  # type: ignore
    if done.returncode:
        raise RuntimeError(f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}")
    return done
