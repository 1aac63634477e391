# SPDX-License-Identifier: Apache-2.0
"""test_example.py NAME BOARD...: an example of examples/ on this machine and on emulated boards. What it says are the
words, persons and shares that TensorFlow Lite Micro gives for what MLPerf Tiny stored of the same recording, of the
same photographs. The numbers of a board are those of the example's page."""
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from tap import done, equal, note, ok, skip

SAID = {"keyword-spotting": ["a stored word: on 99 %", "the recording from 0 ms on: unknown 99 %",
                             "the recording from 200 ms on: unknown 98 %"],
        "wake-words": ["astronaut: a person 91 %", "coffee: nobody 89 %"]}
EXAMPLE, *BOARDS = sys.argv[1:]
WANT = SAID[EXAMPLE]
RUN = Path(os.environ["TC_SOURCE_ROOT"]) / "examples" / EXAMPLE / "run.sh"
PAGE = RUN.with_name("README.md").read_text(encoding="utf-8")
COMPILER = "12.2"   # arm-none-eabi-gcc with which the page's numbers were taken


def numbers(line: str) -> list[int]:
    return [int(number.replace(",", "")) for number in re.findall(r"\d[\d,]*", line)]


def page_numbers(board: str) -> list[int]:
    """Flash, RAM, thousand instructions of a board's row."""
    row = re.search(rf"^\| \S*{board}[^|]*\|(.*)\|$", PAGE, re.M)
    return numbers(row[1]) if row else []


def near(a: int, b: int) -> bool:
    """Within 1 %: a page need not follow every kernel."""
    return abs(a - b) * 100 <= max(a, b)


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
    for board in BOARDS:
        lines = run(board)
        costs = lines[len(WANT):]
        equal(lines[:len(WANT)], WANT, f"the same, on {board}")
        ok(len(costs) == 2 and costs[0].startswith("flash: ") and "instructions" in costs[1], "and what it costs")
        note("; ".join(costs))
        version = subprocess.run(["arm-none-eabi-gcc", "-dumpversion"], capture_output=True, text=True, check=True)
        if not version.stdout.startswith(COMPILER):
            skip("the page's numbers", f"they are those of arm-none-eabi-gcc {COMPILER}")
            continue
        flash, ram, *_ = numbers(costs[0])
        thousands = [int(n) for n in re.findall(r"(\d+) (?:a frame|the network|a call)", costs[1])]
        found, stands = [flash, ram, *thousands], page_numbers(board)
        ok(len(found) == len(stands) and all(map(near, found, stands)),
           f"README.md has {board}'s numbers: {stands}, now {found}")
        if board == "an386":
            shown = "\n".join(re.findall(r"^(?:flash|thousand instructions): .*", PAGE, re.M))
            found, stands = numbers("\n".join(costs)), numbers(shown)
            ok(len(found) == len(stands) and all(map(near, found, stands)),
               f"and those of its shown run: {stands}, now {found}")
done()
