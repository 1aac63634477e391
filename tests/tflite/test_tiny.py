# SPDX-License-Identifier: Apache-2.0
"""The int8 models of MLPerf Tiny from their .tflite or, with --onnx, from the QDQ models that tf2onnx made of them:
every byte of every stored case of TensorFlow Lite Micro, on every instruction set of this machine, on emulated Linux
machines and on a board without an operating system.

    test_tiny.py [--onnx] [--bake-values] [--small] [MODEL...] [MACHINE...]

--small: with --memory small, with which an arena is less than what lives at once otherwise.
The models lie in ../shared/data/tiny beside the checkout, or where TC_TINY says; without them the test is skipped.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import tiny
from tap import done, note, ok, skip
from tiny import BOARDS, MODELS, ROOT, Machine

FOLDER = Path(os.environ.get("TC_TINY", ROOT.parent / "shared" / "data" / "tiny"))
# of the emulators: an AArch64 with dot products of bytes, and one without
PROCESSORS = {"aarch64": ("max", "cortex-a57"), "riscv64": ("rv64",)}
# bytes of tensors that are needed at once
LIVE = {"ad01_int8": 256, "kws_ref_model": 8000, "pretrainedResnet_quant": 32768, "vww_96_int8": 55296}
BARE = tuple(board.target for board in BOARDS)


def machines(folder: Path) -> list[Machine]:
    native = tuple(os.environ.get("CC", "cc").split())
    found = [Machine("native", native)]
    if os.uname().machine == "x86_64":
        flags = Path("/proc/cpuinfo").read_text(encoding="utf-8")
        found = [Machine(isa, native, ("--isa", isa)) for isa, flag in (("x86_64", "sse2"), ("avx2", "avx2"),
                                                                        ("avx512", "avx512bw")) if flag in flags]
    for name in ("aarch64", "riscv64"):
        run = (f"qemu-{name}", "-L", f"/usr/{name}-linux-gnu", "-cpu", PROCESSORS[name][0])
        found.append(Machine(name, (f"{name}-linux-gnu-gcc",), run=run))
    for board in BOARDS:
        startup = folder / f"startup-{board.target}.o"
        if shutil.which(board.cc[0]):
            subprocess.run([*board.cc, *board.library, "-std=c11", "-O2", "-c", str(board.startup), "-o", str(startup)],
                           check=True)
        for lean in (False, True) if board.target == "cortex-m4f" else (False,):
            found.append(Machine(board.target + ("-lean" if lean else ""), board.cc, ("--target-file", board.target),
                                 ("-DBARE_METAL", str(startup), *board.link), board.emulator, lean))
    return found


def check(model: str, machine: Machine, folder: Path, suffix: str, options: list[str],
          expect: str = "micro_output") -> None:
    what = f"{model}{suffix} on {machine.name}: all stored bytes of {expect}"
    if machine.lean and model == "str_ww_ref_model":
        skip(what, "the small runtime knows no state")
        return
    missing = next((c for c in (machine.cc[0], *machine.run[:1]) if not shutil.which(c)), "")
    if missing:
        skip(what, f"{missing} is not installed")
        return
    out = folder / f"{model}-{machine.name}{suffix}"
    out.mkdir()
    wrong = tiny.build(FOLDER / f"{model}{suffix}", machine, out, *options)
    path = None
    if not wrong and suffix == ".tflite" and machine.name in BARE and model in LIVE:
        size = int((out / f"{model}.h").read_text(encoding="utf-8").split("_ARENA_BYTES ")[1].split()[0])
        least = 0.5 if "small" in options and model == "vww_96_int8" else 1.05
        ok(size <= LIVE[model] * least, f"{model} on {machine.name}: an arena of {size} bytes, {least} of what lives")
    if not wrong:
        path, wrong = tiny.program(out / f"{model}.h", machine, FOLDER / f"{model}.io.safetensors", expect, out)
    if path is None:
        ok(False, what)
        note(wrong[-3000:])
        return
    if machine.name == "cortex-m4f":
        sizes = dict(re.findall(r"^\.(weights|kernels)\s+(\d+)",
                                tiny.run(["arm-none-eabi-size", "-A", str(path)]).stdout, re.MULTILINE))
        ok(int(sizes["weights"]) > int(sizes["kernels"]) > 2000,
           f"{model}: weights and code where the linker script says")
        note(f"{sizes}")
    for cpu in PROCESSORS.get(machine.name, ("",)):
        command = [cpu if word in PROCESSORS.get(machine.name, ()) else word for word in machine.run]
        result = tiny.run([*command, str(path)], timeout=600)
        ok(result.returncode == 0, f"{what}{cpu and f', {cpu}'}")
        note(f"{machine.name}: {result.stdout.strip()}{result.stderr[-500:]}")


names = [a for a in sys.argv[1:] if a in MODELS] or list(MODELS)
if not FOLDER.is_dir():
    skip("MLPerf Tiny", f"{FOLDER} is not there")
    done()
with tempfile.TemporaryDirectory() as temporary:
    chosen = machines(Path(temporary))
    chosen = [m for m in chosen if m.name in sys.argv[1:]] or chosen
    for name in names:
        for m in chosen:
            if "--onnx" in sys.argv:
                check(name, m, Path(temporary), ".onnx", ["--dim", "n=1", "--qdq", "integers"])
            else:
                options = [a for a in sys.argv if a == "--bake-values"]
                options += ["--memory", "small"] if "--small" in sys.argv else []
                check(name, m, Path(temporary), ".tflite", options)
done()
