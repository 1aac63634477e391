# SPDX-License-Identifier: Apache-2.0
"""--target cuda: what it refuses; objects that need nothing of CUDA; and, over the driver library of the tests, results
with the bits of the processor's, state and faults. Arguments: nvcc, or `none`; `--all`: the encoder and loops too."""
from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import emulation
from emulation import HERE, ROOT
from tap import done, equal, note, ok, skip
from tensor_compile.build import elf

TOOL = [sys.executable, ROOT / "generator" / "tensor-compile"]
DIGITS = ROOT / "examples" / "digits" / "model.c"
CONTROL, ORDERING = ROOT / "tests" / "ops" / "control.c", ROOT / "tests" / "ops" / "ordering.c"
LOOPS = ("scan", "scan_kinds", "while")
DECODER = ROOT / "tests" / "decoder" / "model.c"
ENCODER = ROOT / "examples" / "minilm" / "model.c"
SMALL = ["-DLAYERS=1", "-DHIDDEN=24", "-DHEADS=3", f'-DWEIGHTS="{ROOT}/tests/e2e/encoder.safetensors"']
RUNTIME = [*sorted((ROOT / "runtime" / "core").glob("*.c")), *sorted((ROOT / "runtime" / "cuda").glob("*.c"))]
nvcc = sys.argv[1] if len(sys.argv) > 1 else "nvcc"
if shutil.which(nvcc) is None:
    nvcc = "none"


def refused(words: list, message: str, name: str, command: str = "build", code: int = 1) -> None:
    done = subprocess.run([*map(str, TOOL), command, str(DIGITS), *words], capture_output=True, text=True, check=False)
    if not ok(done.returncode == code and message in done.stderr, name):
        note(f"{done.returncode}: {done.stderr}")


def build(model: Path, out: Path, *more: str, cache: Path) -> Path:
    """The object, with its kernels' sources in out/keep."""
    emulation.run([*TOOL, "build", model, "-o", out, "--cache", cache, "--keep", out / "keep", "-j", "2", *more])
    return out / f"{model.stem}.o"


def prepared(out: Path, obj: Path, driver: Path, cxx: list[str]) -> dict[str, str]:
    """The environment in which the driver of the tests finds the object's kernels; out/cuda.so is the object."""
    whole = out / "whole.cu"  # a compiler's start costs more than a kernel
    whole.write_text("".join(f'#include "{path}"\n' for path in sorted((out / "keep").glob("*.cu"))), encoding="utf-8")
    emulation.run([*cxx, "-shared", *emulation.compile_kernels(cxx, [whole], out), driver, "-o", out / "kernels.so"])
    emulation.run(["cc", "-shared", obj, "-o", out / "cuda.so"])
    return {**os.environ, "LD_LIBRARY_PATH": str(driver.parent), "FAKE_CUDA_KERNELS": str(out / "kernels.so")}


def objects(folder: Path, device: list[str], cache: Path) -> None:
    """What nvcc's part in an object is."""
    first = build(DIGITS, folder / "digits", *device, cache=cache)
    again = build(DIGITS, folder / "elsewhere" / "digits", *device, cache=folder / "elsewhere" / "cache")
    ok(first.read_bytes() == again.read_bytes(), "the same bytes in another folder with another cache")
    equal(first.with_suffix(".h").read_text(), again.with_suffix(".h").read_text(), "and the same header")
    data = first.read_bytes()
    ok(str(folder).encode() not in data and str(ROOT).encode() not in data, "no path in it")
    symbols = elf.read(first)
    names = [s.name for s in symbols.symbols]
    ok(not [n for n in names if n.startswith(("cu", "__cuda", "nv"))], "no symbol of CUDA")
    others = [n for n in symbols.undefined if not n.startswith("tc_") and n != "_GLOBAL_OFFSET_TABLE_"]
    equal(others, [], "nothing but the core is undefined")


def stub(folder: Path) -> Path:
    """A compiler in nvcc's place, for kernels that are emulated: images hold nothing but the number that they start
    with."""
    script = folder / "stub-nvcc"
    script.write_text("""#!/bin/sh
case "$1" in
--version) echo "release 13.0, V13.0.0"; exit ;;
--list-gpu-code) echo "sm_90"; exit ;;
esac
while [ "$1" != -o ]; do shift; done
printf '\\120\\355\\125\\272' > "$2"
""", encoding="utf-8")
    script.chmod(0o755)
    return script


with tempfile.TemporaryDirectory() as place:
    folder = Path(place)
    cache = folder / "cache"
    device = ["--target", "cuda", "--target-file", "cuda-sm90", "--nvcc", nvcc]
    quiet = ["-o", str(folder / "refused"), "--cache", str(cache)]
    refused(["--target", "cuda", "--nvcc", "/no/such/nvcc", *quiet], "nvcc not found: /no/such/nvcc", "no nvcc")
    refused(["--target", "cuda", "--nvcc", "true", *quiet], "no CUDA compiler: true", "another program for nvcc")
    refused([*device, "--target-file", "x86_64", *quiet], "the target x86_64 is x86_64, no GPU",
            "a processor's target file")
    refused(["--target-file", "cuda-sm90", *quiet], "the target cuda-sm90 is cuda, but",
            "a GPU's target file for a processor")
    refused([*device, "--with-reference", *quiet], "there are no reference kernels for cuda", "a reference")
    refused([*device, "--isa", "avx2", *quiet], "unknown instruction set 'avx2' for cuda",
            "a processor's instruction set", code=2)
    refused([*device, "--cache", str(cache)], "check does not run kernels for cuda", "check", "check")
    ok(not (folder / "refused").exists(), "nothing is left behind")

    if nvcc == "none":
        skip("objects for CUDA", "no nvcc")
    else:
        objects(folder, device, cache)

    cxx = emulation.compiler()
    if cxx is None:
        skip("calls", "no C++ compiler")
        done()
    device[-1] = str(stub(folder))
    driver = folder / "driver" / "libcuda.so.1"
    driver.parent.mkdir()
    emulation.run([*cxx, "-shared", "-Wl,-soname,libcuda.so.1", HERE / "fake_driver.cc", HERE / "emulate.cc", "-ldl",
                   "-o", driver])
    compare = folder / "compare"
    strict = ["-O1", "-Wall", "-Wextra", "-Werror", *emulation.INCLUDES]
    emulation.run(["cc", "-std=gnu11", *strict, ROOT / "bench" / "cuda" / "compare.c", *RUNTIME, "-rdynamic", "-o",
                   compare, "-ldl", "-lm"])

    def same(out: Path, obj: Path, model: Path, name: str, calls: list[str], *more: str) -> dict[str, str]:
        """One point a call and order of threads: all outputs and states have the bits of the processor's."""
        env = prepared(out, obj, driver, cxx)
        isa = ["--isa", "x86_64"] if os.uname().machine == "x86_64" else []
        cpu = build(model, out / "cpu", *isa, *more, cache=cache)
        emulation.run(["cc", "-shared", cpu, "-o", out / "cpu.so"])
        for order in ("forward", "reverse"):
            done = subprocess.run([compare, out / "cpu.so", out / "cuda.so", name, "--repeat", "1", *calls],
                                  env={**env, "FAKE_CUDA_ORDER": order}, capture_output=True, text=True, check=False)
            lines = done.stdout.splitlines()
            results = [line for line in lines if "elements differ" in line]
            good = done.returncode == 0 and results and all(", 0 of " in line for line in results) and not done.stderr
            if not ok(good, f"{name}, threads {order}: {len(results)} outputs and states have the processor's bits"):
                note(done.stdout + done.stderr)
        return env

    out = folder / "emulated"
    digits = build(DIGITS, out, *device, "--specialize", "batch=3", cache=cache)
    same(out, digits, DIGITS, "digits", ["digits,batch=1", "digits,batch=3", "digits,batch=7"])
    # What points do one after the other: the processor's kernels, a team of threads.
    out = folder / "ordering"
    ordering = build(ORDERING, out, *device, cache=cache)
    table = next((out / "keep").glob("tcd_*.c")).read_text(encoding="utf-8")
    functions = re.findall(r"TC_PUBLIC const tc_function (\w+)_function", table)
    same(out, ordering, ORDERING, "ordering", [f"{name},n=6,m=5,m1=5,m3=5" for name in functions])

    if "--all" in sys.argv:
        out = folder / "control"
        control = build(CONTROL, out, *device, cache=cache)
        dims = ",n=5,m=7"
        same(out, control, CONTROL, "control", [f"control_op_{name}{dims}" for name in LOOPS])
        out = folder / "encoder"
        encoder = build(ENCODER, out, *device, *SMALL, "--specialize", "batch=2", "--specialize", "seq=9", cache=cache)
        same(out, encoder, ENCODER, "minilm", ["minilm,batch=2,seq=9", "minilm,batch=1,seq=5"], *SMALL)

    out = folder / "decoder"
    decoder = build(DECODER, out, *device, cache=cache)
    env = same(out, decoder, DECODER, "decoder_model",
               ["--below", "ids=96", "decoder_model_prefill,length=9", "decoder_model_decode,past=9",
                "decoder_model_decode,past=10"])
    program = out / "calls"
    emulation.run(["cc", "-std=c11", f"-I{out}", *strict, HERE / "test_calls.c", decoder, *RUNTIME, "-o", program,
                   "-ldl"])
    for scenario, more in (("", {}), ("absent", {"FAKE_CUDA_DEVICES": "0"}), ("open", {"FAKE_CUDA_FAIL": "cuInit"}),
                           ("open", {"FAKE_CUDA_FAIL": "cuStreamCreate"}),
                           ("load", {"FAKE_CUDA_FAIL": "cuModuleLoadData:2"}), ("load", {"FAKE_CUDA_FAIL": "cuMemAlloc"}),
                           ("call", {"FAKE_CUDA_FAIL": "cuLaunchKernel:3"}),
                           ("call", {"FAKE_CUDA_FAIL": "cuMemcpyDtoHAsync:2"}),
                           ("call", {"FAKE_CUDA_FAIL": "cuCtxPushCurrent:4"})):
        done_ = subprocess.run([program, scenario], env={**env, **more}, capture_output=True, text=True, check=False)
        named = " ".join(f"{k}={v}" for k, v in more.items()) or "refusals"
        points = [line for line in done_.stdout.splitlines() if "ok " in line]
        if not ok(done_.returncode == 0 and points and not done_.stderr, f"decoder, {named}: {len(points)} points"):
            note(done_.stdout + done_.stderr)
        for line in points:
            note(line)
    real = subprocess.run([program, "absent"], env={**os.environ, "LD_LIBRARY_PATH": ""}, capture_output=True,
                          text=True, check=False)
    if "opened" in real.stdout or real.returncode:
        skip("without a driver", "this machine has one")
    else:
        said = real.stdout.splitlines()[0]
        ok("libcuda.so.1: not found" in said or "CUDA_ERROR" in said, f"without a driver: {said}")
done()
