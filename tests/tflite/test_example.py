# SPDX-License-Identifier: Apache-2.0
"""examples/keyword-spotting on this machine and on the emulated board: the words and shares that TensorFlow Lite Micro
gives for the features that MLPerf Tiny stored of the same recording."""
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from tap import done, equal, note, ok, skip

RUN = Path(os.environ["TC_SOURCE_ROOT"]) / "examples" / "keyword-spotting" / "run.sh"
WANT = ["a stored word: on 99 %", "the recording from 0 ms on: unknown 99 %",
        "the recording from 200 ms on: unknown 98 %"]


def run(*words: str) -> list[str]:
    with tempfile.TemporaryDirectory() as folder:
        result = subprocess.run(["bash", str(RUN), *words], capture_output=True, text=True, check=False,
                                env={**os.environ, "TC_BUILD_DIR": folder})
    if not ok(result.returncode == 0, f"run.sh {' '.join(words)}"):
        note(result.stdout[-2000:] + result.stderr[-2000:])
    return [line for line in result.stdout.splitlines() if not line.startswith("building")][:5]


equal(run("host"), WANT, "the words, on this machine")
if not shutil.which("arm-none-eabi-gcc") or not shutil.which("qemu-system-arm"):
    skip("the board", "arm-none-eabi-gcc or qemu-system-arm is not installed")
else:
    lines = run()
    equal(lines[:3], WANT, "the words, on the board")
    ok(len(lines) == 5 and lines[3].startswith("flash: ") and "instructions" in lines[4], "and what they cost")
    note("; ".join(lines[3:]))
done()
