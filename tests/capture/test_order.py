# SPDX-License-Identifier: Apache-2.0
"""The graph of a model is the same whichever compiler the capture library was built with: C leaves open in which order
arguments are evaluated, and gcc and clang choose differently. Models: those of tests/ops and of examples/, and one
of quantized tensors, compiled once.

usage: test_order.py LIBRARY -- CC...     (CC built LIBRARY)
"""
from __future__ import annotations

import difflib
import os
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import tap

ROOT = Path(os.environ["TC_SOURCE_ROOT"])
CAPTURE = ROOT / "generator" / "capture"
FLAGS = ["-std=c11", "-O0", "-w", f"-I{CAPTURE / 'include'}", f"-I{ROOT / 'runtime' / 'include'}"]
SAFETENSORS = sorted((ROOT / "runtime" / "hosted").glob("safetensors*.c"))
NOTED = 12  # lines of a difference


def run(*words: object, cwd: Path | None = None) -> None:
    subprocess.run([str(word) for word in words], cwd=cwd, check=True)


def is_clang(compiler: list[str]) -> bool:
    return "clang" in subprocess.run([*compiler, "--version"], capture_output=True, text=True, check=True).stdout


def library(compiler: str, folder: Path) -> Path:
    objects = [(source, folder / f"{source.stem}.o") for source in [*sorted(CAPTURE.glob("*.c")), *SAFETENSORS]]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(lambda pair: run(compiler, *FLAGS, "-c", pair[0], "-o", pair[1]), objects))
    run("ar", "rcs", folder / "other.a", *(out for _, out in objects))
    return folder / "other.a"


def small_networks() -> dict[str, list[str]]:
    """The -D words of the examples that have a small form."""
    lines = (ROOT / "tests" / "networks" / "small.txt").read_text(encoding="utf-8").splitlines()
    return {line.split()[0]: [f"-D{word}" for word in line.split() if "=" in word] for line in lines}


def models(compiler: list[str], folder: Path) -> list[tuple[Path, list[str], Path]]:
    """Each with its own words for the compiler and the folder of its weights; those of examples are made in
    `folder`."""
    found = [(path, [], path.parent) for path in sorted((ROOT / "tests" / "ops").glob("*.c"))
             if "TC_MODEL(" in path.read_text("utf-8")]
    calls = ROOT / "tests" / "capture" / "quantized_calls.c"
    found.append((calls, [], calls.parent))
    small = small_networks()
    for path in sorted((ROOT / "examples").glob("*/model.c")):
        name, words = path.parent.name, small.get(path.parent.name, [])
        makes = (path.parent / "make_weights.c").exists()
        if makes:
            run(*compiler, "-std=c11", "-O1", "-w", *words, path.parent / "make_weights.c", "-lm", "-o",
                folder / "make")
            run(folder / "make", folder / f"{name}.safetensors")
        found.append((path, words, folder if makes else path.parent))
    return found


def text(compiler: list[str], weights: Path, program: Path, objects: list[Path]) -> str:
    run(*compiler, *objects, "-lm", "-o", program)
    run(program, f"{program}.tcg", weights, "model.c")
    return Path(f"{program}.tcg").read_text(encoding="utf-8")


def main() -> int:
    ours, _, *compiler = sys.argv[1:]
    other = "gcc" if is_clang(compiler) else "clang"
    if not shutil.which(other):
        tap.skip("graphs of two compilers", f"{other} is not installed")
        return tap.done()
    with tempfile.TemporaryDirectory() as directory:
        folder = Path(directory)
        libraries = [Path(ours).resolve(), library(other, folder)]
        for model, words, weights in models(compiler, folder):
            run(*compiler, *FLAGS, *words, "-c", model.name, "-o", folder / "model.o", cwd=model.parent)
            one, two = (text(compiler, weights, folder / f"capture{i}", [folder / "model.o", path])
                        for i, path in enumerate(libraries))
            if not tap.ok(one == two, f"{model.relative_to(ROOT)}: one graph"):
                lines = difflib.unified_diff(one.splitlines(), two.splitlines(), n=0, lineterm="")
                tap.note("\n".join(list(lines)[:NOTED]))
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
