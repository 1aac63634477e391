# SPDX-License-Identifier: Apache-2.0
"""The int8 models of MLPerf Tiny as programs of AArch64 Linux: instructions of a call under qemu-aarch64 on a processor
with dot products of bytes (max) and on one without (cortex-a57), by the plugin of autotune/plugin.

    aarch64.py [MODEL...]

Instructions are not cycles of a chip. Every byte of the results is compared with the stored one.
"""
from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(ROOT / "tests" / "tflite"), str(ROOT / "generator")]
import tiny
from run import FOLDER, WORK
from tensor_compile.compile import counting

CC = ("aarch64-linux-gnu-gcc",)
PROCESSORS = ("max", "cortex-a57")


def main() -> None:
    print(f"{'model':24} " + " ".join(f"{cpu:>12} {'a MAC':>6}" for cpu in PROCESSORS))
    for model in sys.argv[1:] or WORK:
        with tempfile.TemporaryDirectory() as temporary:
            folder = Path(temporary)
            clock = (f"-I{ROOT / 'autotune'}", str(counting.CLOCKS / "emulator.c"), "-static")
            machine = tiny.Machine("aarch64", CC, link=("-DCOUNTED", *clock))
            wrong = tiny.build(FOLDER / f"{model}.tflite", machine, folder)
            image, why = (None, wrong) if wrong else tiny.program(
                folder / f"{model}.h", machine, FOLDER / f"{model}.io.safetensors", "micro_output", folder)
            if image is None:
                raise SystemExit(why)
            counts = []
            for cpu in PROCESSORS:
                command, file = counting.counted(["qemu-aarch64", "-cpu", cpu], ["cc"], folder)
                result = subprocess.run([*command, str(image)], capture_output=True, text=True, check=False,
                                        env={**os.environ, "TC_COUNT_FILE": str(file)})
                found = re.search(r"^instructions (\d+)$", result.stdout, re.MULTILINE)
                if result.returncode or not found:
                    raise SystemExit(result.stdout + result.stderr)
                counts.append(int(found[1]))
            print(f"{model:24} " + " ".join(f"{count:12} {count / WORK[model]:6.2f}" for count in counts))


if __name__ == "__main__":
    main()
