# SPDX-License-Identifier: Apache-2.0
"""Programs in C and C++ that read inputs, map weights, call a model twice and write what it gave: every compiler that
there is makes them without a warning, and the results are the numbers of Python."""
import os
import shutil
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

from tap import done, equal, note, ok, skip
from tensor_compile.compile import tensor_files
from tensor_compile.compile.cache import Cache
from tensor_compile.compile.host_programs import target_library
from tensor_compile.compile.toolchain import detect

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).resolve().parent / "mains"
MODEL = """#include <tensor_compile/model.h>
TC_MODEL(model)
{
    tc_dim batch = tc_dynamic(g, "batch", 1, 8);
    tc_tensor x = tc_input(g, "x", TC_F32, batch, 4), calls = tc_state(g, "calls", TC_F32);
    tc_weights(g, "w.safetensors");
    x = tc_add(x, tc_mul(tc_sum(tc_add(tc_slice(x, 0, 0, 2), tc_slice(x, 0, 1, 3))), 0));
    calls = tc_add(calls, 1);
    tc_assign(tc_state(g, "calls", TC_F32), calls);
    tc_output(g, "y", tc_mul(tc_linear(x, tc_weight(g, "w")), calls));
}
"""
X = [float(i - 5) for i in range(12)]
W = [1.0, 2.0, 3.0, 4.0, -1.0, 0.5, 0.25, 8.0]
CALLS = 2
WANT = [CALLS * sum(X[4 * i + k] * W[4 * j + k] for k in range(4)) for i in range(3) for j in range(2)]
FLAGS = {".c": ["-std=c11", "-D_POSIX_C_SOURCE=200809L"], ".cpp": ["-std=c++20"]}


def write(path: Path, name: str, shape: list[int], values: list[float]) -> None:
    header = f'{{"{name}":{{"dtype":"F32","shape":{shape},"data_offsets":[0,{4 * len(values)}]}}}}'.encode()
    path.write_bytes(struct.pack("<Q", len(header)) + header + struct.pack(f"<{len(values)}f", *values))


def read(path: Path) -> tuple[list[int], list[float]]:
    found = tensor_files.read(path, str(path))["y"]
    return list(found.shape), list(struct.unpack_from(f"<{found.bytes // 4}f", path.read_bytes(), found.at))


with tempfile.TemporaryDirectory() as place:
    folder = Path(place)
    cache = Cache(Path(os.environ["TC_TESTS_CACHE"]))
    (folder / "model.c").write_text(MODEL, encoding="utf-8")
    write(folder / "w.safetensors", "w", [2, 4], W)
    write(folder / "x.safetensors", "x", [3, 4], X)
    built = subprocess.run([sys.executable, str(ROOT / "generator" / "tensor-compile"), "build", "model.c", "-o", ".",
                            "--weights", "external", "--isa", "scalar", "--optimize", "size", "--cache",
                            str(cache.root)],
                           cwd=folder, capture_output=True, text=True, check=False)
    if not ok(built.returncode == 0, "a model with weights, state and a dim"):
        note(built.stderr)
    header = (folder / "model.h").read_text(encoding="utf-8")
    ok("    tc_index batch; /* 1..8; needs batch >= 3 */" in header and header.count("Guard, else") == 1,
       "the header tells what a slice needs, and no more than that")
    library = target_library(detect(("cc",), cache.root, "the compiler"), (), cache)
    for compiler in filter(shutil.which, ("g++", "clang++")):
        old = subprocess.run([compiler, "-std=c++17", "-fsyntax-only", "-I", str(ROOT / "runtime" / "include"), "-x",
                              "c++", "-"], input="#include <tensor_compile/runtime.hpp>\n", capture_output=True,
                             text=True, check=False)
        ok(old.returncode and old.stderr.count(" error: ") == 1 and "runtime.hpp needs C++20: -std=c++20" in old.stderr,
           f"{compiler}: an older C++ is told so, and nothing else") or note(old.stderr)
    for compiler, source in (("gcc", "main.c"), ("clang", "main.c"), ("g++", "main.cpp"), ("clang++", "main.cpp")):
        if not shutil.which(compiler):
            skip(f"{compiler} {source}", f"{compiler} is not installed")
            continue
        made = subprocess.run([compiler, *FLAGS[Path(source).suffix], "-Wall", "-Wextra", "-Wpedantic", "-Wshadow",
                               "-Werror", "-I", str(folder), "-I", str(ROOT / "runtime" / "include"),
                               str(HERE / source), "model.o", str(library), "-o", "main", "-pthread", "-ldl"],
                              cwd=folder, capture_output=True, text=True, check=False)
        if not ok(made.returncode == 0, f"{compiler} {source}"):
            note(made.stderr)
            continue
        ran = subprocess.run(["./main", "x.safetensors", "y.safetensors", "model.weights"], cwd=folder,
                             capture_output=True, text=True, check=False, timeout=60)
        if not equal((ran.returncode, ran.stderr), (0, ""), f"{compiler} {source}: ends well"):
            continue
        equal(read(folder / "y.safetensors"), ([3, 2], WANT), "and wrote the numbers of Python")
        (folder / "y.safetensors").unlink()
done()
