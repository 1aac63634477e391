# SPDX-License-Identifier: Apache-2.0
"""`build --emit c`: the sources build in a folder that holds nothing else, without a warning, by GCC, Clang and the
compiler of a board, and give the bits of the object whatever the optimisation."""
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from tap import done, equal, note, ok, skip

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
TOOL = [sys.executable, str(ROOT / "generator" / "tensor-compile")]
STRICT = ["-Wall", "-Wextra", "-Werror"]
M4F = ["-mcpu=cortex-m4", "-mthumb", "-mfloat-abi=hard", "-mfpu=fpv4-sp-d16"]
X86 = os.uname().machine == "x86_64"
NATIVE = ["--isa", "x86_64,avx2"] if X86 else []


def run(command: list[str], **more) -> subprocess.CompletedProcess:
    return subprocess.run(list(map(str, command)), capture_output=True, text=True, errors="replace", check=False,
                          **more)


def works(result: subprocess.CompletedProcess, what: str) -> bool:
    if ok(result.returncode == 0 and not result.stderr, what):
        return True
    note((result.stdout + result.stderr)[:4000])
    return False


with tempfile.TemporaryDirectory() as name:
    root = Path(name)
    cache = os.environ.get("TC_TESTS_CACHE", root / "cache")
    for path in (HERE / "consumer" / "model.c", ROOT / "examples" / "digits" / "digits.safetensors"):
        shutil.copy(path, root)

    def tool(folder: str, *options: str) -> subprocess.CompletedProcess:
        return run([*TOOL, "build", "model.c", "-o", folder, "--cache", cache, *options], cwd=root)

    def compiled(folder: str, program: str, command: list[str]) -> bool:
        """From a folder that holds the sources and the program's main, and nothing else."""
        alone = root / f"{folder}-alone"
        shutil.rmtree(alone, ignore_errors=True)
        shutil.copytree(root / folder, alone)
        shutil.copy(HERE / "consumer" / "main.c", alone)
        sources = sorted(p.name for p in alone.glob("*.c"))
        return works(run([*command, *sources, "-o", root / program], cwd=alone), f"{' '.join(command[:4])}: builds")

    runtime = [*sorted((ROOT / "runtime" / "core").glob("*.c"))]
    want = ""
    if works(tool("object", *NATIVE), "the object builds") and works(
            run(["cc", "-O1", "-I", "object", "-I", ROOT / "runtime" / "include", HERE / "consumer" / "main.c",
                 "object/model.o", *runtime, "-o", "reference"], cwd=root), "and a program with it"):
        want = run([root / "reference"]).stdout
        ok(len(want) > 1000, "it computes")

    works(tool("sources", "--emit", "c", *NATIVE), "sources are made, and nothing is said")
    for compiler, flags in (("gcc", ["-std=c11", "-O2"]), ("gcc", ["-std=gnu11", "-O1", "-ffp-contract=fast", "-mfma"]),
                            ("clang", ["-std=c11", "-O2"])):
        what = f"{compiler} {' '.join(flags)}"
        if not shutil.which(compiler) or (not X86 and "-mfma" in flags):
            skip(what, f"not here: {what}")
        elif compiled("sources", "program", [compiler, *flags, *STRICT]):
            equal(run([root / "program"]).stdout, want, f"{what}: the bits of the object")
    refused = run(["cc", "-ffast-math", "-c", "model.c"], cwd=root / "sources")
    ok(refused.returncode and "compile without -ffast-math" in refused.stderr, "-ffast-math is refused")
    listed = (root / "sources" / "model.files").read_text().split()
    there = sorted(p.name for p in (root / "sources").iterdir() if not p.name.startswith("."))
    equal(there, sorted([*listed, "model.files"]), "model.files lists what there is")

    # the same bytes elsewhere; nothing stale remains
    other = root / "elsewhere"
    other.mkdir()
    for file in ("model.c", "digits.safetensors"):
        shutil.copy(root / file, other)
    works(run([*TOOL, "build", "model.c", "-o", "deep/er", "--build-cache", "c", "--emit", "c", *NATIVE], cwd=other),
          "elsewhere")
    equal({f: (other / "deep" / "er" / f).read_bytes() for f in listed},
          {f: (root / "sources" / f).read_bytes() for f in listed}, "sources do not depend on where they are made")
    ok(not any(str(root).encode() in (root / "sources" / f).read_bytes() for f in listed), "and name no folder")
    if X86:
        works(tool("sources", "--emit", "c", "--isa", "x86_64"), "fewer instruction sets")
        equal([p.name for p in (root / "sources").glob("*avx2*")], [], "sources that are no longer made are gone")

    # external weights
    works(tool("external", "--emit", "c", "--weights", "external", *NATIVE), "external weights")
    ok((root / "external" / "model.weights").is_file() and not (root / "external" / "model_weights.c").exists(),
       "are a file of their own")

    for options in (("--object", "x.o"), ("--header", "x.h"), ("--explain", "x"), ("--max-code", "1"),
                    ("--max-stack", "1"), ("--target", "cuda")):
        result = tool("no", "--emit", "c", *options)
        ok(result.returncode == 2 and " does not go with --emit c, which makes sources and no object" in result.stderr,
           f"{options[0]} is a usage error")
    result = tool("no", "--emit", "c", "--max-weights", "16")
    ok(result.returncode == 1 and "--max-weights:" in result.stderr and not (root / "no").exists(),
       "budgets of memory hold")

    if not shutil.which("arm-none-eabi-gcc") or not shutil.which("qemu-system-arm"):
        skip("cortex-m4f", "arm-none-eabi-gcc or qemu-system-arm is not installed")
    else:
        # no compiler of the target is needed to make them
        works(tool("board", "--emit", "c", "--target-file", "cortex-m4f"), "sources for a board")
        shutil.copy(HERE / "m4f" / "startup.c", root / "board")
        command = ["arm-none-eabi-gcc", "-std=c11", "-O2", *M4F, "-DBARE_METAL", *STRICT, "-nostartfiles", "-T",
                   HERE / "m4f" / "link.ld"]
        if compiled("board", "image", command):
            got = run(["qemu-system-arm", "-M", "mps2-an386", "-nographic", "-semihosting-config",
                       "enable=on,target=native", "-kernel", root / "image"], timeout=300)
            equal(got.stdout + got.stderr, want, "cortex-m4f: the bits of the object")
done()
