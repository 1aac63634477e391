# SPDX-License-Identifier: Apache-2.0
"""The runs of `check` side by side: the same lines with any number of jobs, one that fails among them, a signal while
they run; and the user's files, which are read once."""
from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import models
from tap import done, equal, note, ok
from tensor_compile.compile import children, memory
from tensor_compile.compile.spread import Samples, Spread
from tensor_compile.errors import UserError

sys.path.insert(0, str(models.ROOT / "tests" / "interpreter"))
import st

MODEL = """#include <tensor_compile/model.h>
TC_MODEL(m)
{
    tc_tensor x = tc_input(g, "x", TC_F32, 200, 500);
    tc_output(g, "y", tc_sum(tc_mul(x, tc_input(g, "w", TC_F32, 500)), 1));
}
"""
# The tool with a script before its interpreter. It notes which files of tensors are read.
TOOL = """import os, pathlib, sys
from tensor_compile.cli import main
from tensor_compile.compile import host_programs, memory, tensor_files
made, read = host_programs.interpreter, tensor_files.read

def instead(*given):
    path = pathlib.Path(os.environ["RUNS"], "interpret")
    path.write_text(f'#!/bin/sh\\\\nreal={made(*given)}\\\\n' + os.environ["SCRIPT"] + '\\\\nexec "$real" "$@"\\\\n')
    path.chmod(0o755)
    return path

def noted(path, shown):
    with open(os.environ["RUNS"] + "/read", "a") as f:
        print(shown, file=f)
    return read(path, shown)

host_programs.interpreter, tensor_files.read = instead, noted
memory.fitting = lambda size: int(os.environ["FITTING"])
sys.exit(main(sys.argv[1:]))
""".replace("\\\\n", "\\n")
# n: the number of a run with errors
SCRIPT = """for word; do
    [ "$before" = --noise ] && n=$word
    before=$word
done
"""
NOTED = SCRIPT + """if [ "$n" ]; then
    echo begin >>"$RUNS/log"; "$real" "$@"; code=$?; echo end >>"$RUNS/log"
    exit $code
fi"""


def started(folder: Path, script: str, *options: str, fitting: int = 64) -> subprocess.Popen[str]:
    (folder / "runs").mkdir(exist_ok=True)
    for old in (folder / "runs").iterdir():
        old.unlink()
    return subprocess.Popen([sys.executable, "-c", TOOL, "check", "m.c", "--cache", str(folder / "cache"),
                             *(("--isa", "x86_64") if models.X86 else ()), *options], cwd=folder, text=True,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                            env={**os.environ, "RUNS": str(folder / "runs"), "SCRIPT": script, "MAKEFLAGS": "",
                                 "FITTING": str(fitting), "TMPDIR": str(folder)})


def run(folder: Path, script: str, *options: str, fitting: int = 64) -> tuple[int, str, str]:
    process = started(folder, script, *options, fitting=fitting)
    said, wrong = process.communicate()
    return process.returncode, said, wrong


def asleep(pid: int) -> list[int]:
    """The processes below it that are `sleep`."""
    found = []
    for child in children.below(pid):
        try:
            if Path(f"/proc/{child}/cmdline").read_bytes().startswith(b"sleep\0"):
                found.append(child)
        except OSError:
            pass    # it has ended
    return found


with tempfile.TemporaryDirectory() as place:
    folder = Path(place)
    (folder / "m.c").write_text(MODEL, encoding="utf-8")
    code, wanted, wrong = run(folder, NOTED, "-j1")
    ok(code == 0 and "of the bound" in wanted and "m.c: right: 2 comparisons" in wanted, "one job"
       ) or note(wanted + wrong)
    log = (folder / "runs" / "log").read_text().split()
    ok(len(log) >= 8 and log == ["begin", "end"] * (len(log) // 2), "one run behind the other, four or more")
    for options, fitting in ((("-j2",), 64), (("-j16",), 64), (("-j16",), 1)):
        code, said, wrong = run(folder, NOTED, *options, fitting=fitting)
        equal((code, said, wrong), (0, wanted, ""), f"{' '.join(options)}, memory for {fitting}: the same lines")
    log = (folder / "runs" / "log").read_text().split()
    equal(log, ["begin", "end"] * (len(log) // 2), "16 jobs and memory for one run: one behind the other")

    fails = '[ "$n" = 2 ] && { echo "m.tcg:3: error: gather: index 9 is outside 0..3" >&2; exit 1; }'
    code, said, wrong = run(folder, SCRIPT + fails, "-j2")
    ok(code == 0 and "m.c: right: 2 comparisons" in said and not wrong,
       "a run that leads to an index out of range is none") or note(said + wrong)
    code, said, wrong = run(folder, SCRIPT + '[ "$n" = 1 ] || [ "$n" = 2 ] && kill -9 $$', "-j2")
    ok(code == 3 and wrong.count("error") == 1 and "interpret failed" in wrong, "two that are killed are told once"
       ) or note(f"{code} {said}{wrong}")

    for number in (signal.SIGINT, signal.SIGTERM):
        process = started(folder, SCRIPT + '[ "$n" ] && exec sleep 3600', "-j2")
        while len(running := asleep(process.pid)) < 2 and process.poll() is None:
            time.sleep(0.05)
        process.send_signal(number)
        said, wrong = process.communicate()
        ok((process.returncode, wrong) == (130, "tensor-compile: interrupted\n") and len(running) == 2
           and not any(Path(f"/proc/{pid}").exists() for pid in running),
           f"{number.name} while two run: both are stopped") or note(f"{process.returncode} {running} {wrong}")

    draw = random.Random(1)
    x, w = ([float(draw.randrange(-9, 9)) for _ in range(n)] for n in (200 * 500, 500))
    st.write(folder / "in", {"x": ("F32", [200, 500], x), "w": ("F32", [500], w)})
    st.write(folder / "want", {"y": ("F32", [200], [sum(a * b for a, b in zip(x[i * 500:i * 500 + 500], w))
                                                   for i in range(200)])})
    code, said, wrong = run(folder, "", "--inputs", "in", "--expect", "want", "-j2")
    ok(code == 0 and "right: 3 comparisons" in said, "the user's inputs and outputs") or note(said + wrong)
    equal(sorted((folder / "runs" / "read").read_text().split()), ["in", "want"], "each file is read once")

    drawn: list[int] = []

    def sample(*options: str, out: Path) -> None:
        number = int(options[1])
        drawn.append(number)
        if number == 3:
            raise UserError("an index is out of range", "m.c")

    def samples(jobs: int | None) -> Samples:
        drawn.clear()
        return Spread.around(folder / "center", sample, folder / "at", jobs, said_of.append).samples

    def numbers(files: list[Path]) -> list[str]:
        return [str(path).rpartition("-")[2] for path in files]

    said_of: list[str] = []
    most, memory.fitting = memory.fitting, lambda size: 64
    few = samples(2)
    equal((numbers(few.first(2, 8)), sorted(drawn)), (["1", "2"], [1, 2]), "two jobs: as many as asked for")
    equal((numbers(few.first(4, 8)), few.asked), (["1", "2", "4"], 4), "and those that follow")
    many = samples(6)
    equal((numbers(many.first(2, 8)), sorted(drawn)), (["1", "2"], [1, 2, 3, 4, 5, 6]), "six: those that will follow")
    equal((numbers(many.first(4, 8)), many.asked, len(drawn)), (["1", "2", "4"], 4, 6), "which are there then")
    equal((numbers(many.first(16, 16)), len(drawn)), ([str(n) for n in range(1, 17) if n != 3], 16), "and others")
    samples(6).first(2, 2)
    equal(sorted(drawn), [1, 2], "no more than it will take")
    memory.fitting = lambda size: 3
    samples(6).first(2, 8)
    equal(sorted(drawn), [1, 2, 3], "nor than have room")
    memory.fitting = lambda size: 64
    os.environ["MAKEFLAGS"] = " -j8 --jobserver-auth=98,99"
    samples(None).first(2, 8)
    equal(sorted(drawn), [1, 2], "nor those of a jobserver, whose processors others may want")
    said_of.clear()
    samples(1).first(2)
    equal(said_of, [f"{n} of 2 runs with other roundings" for n in range(3)] + [""], "how far it is")
    memory.fitting = most

    given: list[tuple[str, ...]] = []
    larger = Spread.around(folder / "center", lambda *options, out: given.append(options), folder / "at", 1,
                           said_of.append).larger
    larger.first(4)
    equal(given, [("--noise", seed, "--times", times) for seed in ("17", "18") for times in ("8", "-8")],
          "larger errors: of other seeds than those of any sample, and of both signs")
done()
