# SPDX-License-Identifier: Apache-2.0
"""An example of examples/ on this machine and on the emulated board, keyword-spotting or the named one: what it says
are the words, persons and shares that TensorFlow Lite Micro gives for what MLPerf Tiny stored of the same recording, of
the same photographs."""
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from tap import done, equal, note, ok, skip

SAID = {"keyword-spotting": ["a stored word: on 99 %", "the recording from 0 ms on: unknown 99 %",
                             "the recording from 200 ms on: unknown 98 %"],
        "wake-words": ["astronaut: a person 91 %", "coffee: nobody 89 %"]}
EXAMPLE = sys.argv[1] if len(sys.argv) > 1 else "keyword-spotting"
WANT = SAID[EXAMPLE]
RUN = Path(os.environ["TC_SOURCE_ROOT"]) / "examples" / EXAMPLE / "run.sh"


def run(*words: str) -> list[str]:
    with tempfile.TemporaryDirectory() as folder:
        result = subprocess.run(["bash", str(RUN), *words], capture_output=True, text=True, check=False,
                                env={**os.environ, "TC_BUILD_DIR": folder})
    if not ok(result.returncode == 0, f"run.sh {' '.join(words)}"):
        note(result.stdout[-2000:] + result.stderr[-2000:])
    return [line for line in result.stdout.splitlines()
            if not line.startswith(("building", "setting up"))][:len(WANT) + 2]


equal(run("host"), WANT, f"what {EXAMPLE} says, on this machine")
if not shutil.which("arm-none-eabi-gcc") or not shutil.which("qemu-system-arm"):
    skip("the board", "arm-none-eabi-gcc or qemu-system-arm is not installed")
else:
    lines = run()
    costs = lines[len(WANT):]
    equal(lines[:len(WANT)], WANT, "the same, on the board")
    ok(len(costs) == 2 and costs[0].startswith("flash: ") and "instructions" in costs[1], "and what it costs")
    note("; ".join(costs))
done()
