# SPDX-License-Identifier: Apache-2.0
"""`tune` that is interrupted says what is kept, and keeps it where it is killed; a lock that cannot be written is said
before anything is measured. Where there is no terminal it says now and then how far it is."""
import os
import re
import signal
import subprocess
import tempfile
import time
from pathlib import Path

import forked
from small_model import ISA, prepare, run
from tap import done, equal, note, ok, raises, skip
from tensor_compile.compile import files, lock as locks, machine_lock, progress, tune, tune_model
from tensor_compile.errors import UserError

MODEL = """#include <tensor_compile/model.h>
TC_MODEL(model)
{
    tc_tensor x = tc_input(g, "x", TC_F32, 4, 16), w = tc_input(g, "w", TC_F32, 16, 16);
    tc_tensor v = tc_input(g, "v", TC_F32, 16, 24);
    tc_output(g, "y", tc_matmul(tc_tanh(tc_matmul(x, w)), v));
}
"""
LOCK = "model.tuning.lock"


def interrupt(folder: Path, number: int, *words: str) -> tuple[int, str]:
    """Exit code and last words of a `tune` that gets the signal (SIGINT: its children, too) while it measures."""
    process = subprocess.Popen([str(forked.PROGRAM), "tune", "-C", "out", "--rounds", "4000000", "--budget", "none",
                                *words], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                               env=os.environ | {"XDG_CACHE_HOME": str(folder)}, start_new_session=True)
    below = ""
    while process.poll() is None and "/harness time" not in below:
        time.sleep(0.05)
        below = subprocess.run(["ps", "-o", "args=", "--ppid", str(process.pid)], capture_output=True, text=True,
                               check=False).stdout
    if process.poll() is None:
        os.killpg(process.pid, number) if number == signal.SIGINT else process.send_signal(number)
    said = re.sub(r"^.* (s so far\)|waits for another measurement)\n", "", process.communicate()[1], flags=re.M)
    return process.returncode, said.removeprefix("tensor-compile: ").rstrip()


def listed(said: str) -> int:
    """How many kernels."""
    return len(re.findall(r"^model.c: +[0-9.]+ us  tc_contraction_\w+  contraction f32 rows=4 ", said, re.M))


def lines(folder: Path) -> None:
    """Progress where there is no terminal."""
    progress.PULSE = 0.2
    begun = time.monotonic()
    told = run(folder, "tune", "-C", "out", "--rounds", "2", "--budget", "none", "--exe-wrapper", "env", "--diff")
    last = time.monotonic() - begun
    progress.PULSE = 600.0
    said = told.stderr.splitlines()
    ok(told.returncode == 0 and said and all(re.fullmatch(r"model\.c: .* \(\d+ s so far\)", line) for line in said) and
       len(said) <= last / 0.2, "a line now and then, wherever it is") or note(told.stderr)
    equal(run(folder, "tune", "-C", "out", "--budget", "none", "--exe-wrapper", "env", "--diff").stderr, "",
          "none in a short time")


def main(folder: Path) -> None:
    prepare(folder, MODEL)
    machine_lock.FOLDERS = (str(folder),)    # other tests measure, too
    progress.PULSE = 600.0
    built = run(folder, "build", "model.c", "-o", "out", "--isa", ISA)
    equal(built.returncode, 0, "built") or note(built.stderr)
    for number in (signal.SIGINT, signal.SIGTERM):
        equal(interrupt(folder, number, "--exe-wrapper", "env"),
              (130, f"interrupted: no kernel measured (left for the next run: 2 kernels); there is no {LOCK} yet; run "
               "it again to go on"), number.name)
    equal(interrupt(folder, signal.SIGTERM, "--exe-wrapper", "env", "--diff"),
          (130, "interrupted: nothing was written"), "--diff")

    # Killed between two kernels.
    real = tune.Telling.measuring
    here = os.getpid()

    def killed(self: tune.Telling) -> None:
        real(self)
        if self.done == 2 and os.getpid() != here:
            os.kill(os.getpid(), signal.SIGKILL)
    tune.Telling.measuring = killed
    told = run(folder, "tune", "-C", "out", "--rounds", "2", "--budget", "none", "--exe-wrapper", "env")
    tune.Telling.measuring = real
    equal((told.returncode, len(locks.read(folder / LOCK))), (-signal.SIGKILL, 1), "what was measured is in the lock")
    (folder / LOCK).unlink()

    # Between two kernels.

    def second(self: tune.Telling) -> None:
        real(self)
        if self.done == 2:
            raise KeyboardInterrupt
    tune.Telling.measuring = second
    told = run(folder, "tune", "-C", "out", "--rounds", "2", "--budget", "none", "--exe-wrapper", "env")
    tune.Telling.measuring = real
    equal((told.returncode, told.stderr),
          (130, f"tensor-compile: interrupted: 1 kernel measured (left for the next run: 1 kernel); {LOCK} has what "
           "was measured; run it again to go on\n"), "one is kept, and what is left is told as at the end of a search")
    equal(listed(told.stdout), 1, "and shown") or note(told.stdout)
    tune.Telling.measuring = second
    told = run(folder, "tune", "-C", "out", "--rounds", "2", "--budget", "none", "--exe-wrapper", "env", "--diff")
    tune.Telling.measuring = real
    ok(told.stdout.endswith("; not measured in that time: 1 kernel; nothing written\n") and
       "of 1 kernels would change" in told.stdout, "--diff shows what it has") or note(told.stdout)

    # Behind kernels, while something else is measured.
    left = tune_model._Search.decisions_left
    calls: list[object] = []

    def behind(self: tune_model._Search, of: tune_model.Planned) -> dict[str, int]:
        calls.append(of)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return left(self, of)
    lock = (folder / LOCK).read_bytes()
    tune_model._Search.decisions_left = behind
    told = run(folder, "tune", "-C", "out", "--rounds", "2", "--budget", "100s", "--exe-wrapper", "env")
    tune_model._Search.decisions_left = left
    (folder / LOCK).write_bytes(lock)
    equal((told.stderr, listed(told.stdout)),
          (f"tensor-compile: interrupted: 1 kernel measured; {LOCK} has what was measured; run it again to go on\n", 1),
          "kernels are shown where what follows is interrupted") or note(told.stdout)
    before = (folder / LOCK).read_bytes()

    # Before kernels are looked at.
    kept = tune_model.tune.tune

    def ends(*_: object) -> None:
        raise KeyboardInterrupt
    tune_model.tune.tune = ends
    told = run(folder, "tune", "-C", "out", "--rounds", "2", "--budget", "100s", "--exe-wrapper", "env")
    tune_model.tune.tune = kept
    equal((told.stdout, told.stderr),
          ("", f"tensor-compile: interrupted: no kernel measured; {LOCK} is as it was; run it again to go on\n"),
          "what is left is not known before kernels are looked at")

    # A search begins with what is left beside kernels, where there is a lock.
    search = tune_model._Search
    others = search.decisions_left, search.calls, search.forms, search.lines
    search.decisions_left = lambda self, of: {"variants": 1, "fusions": 2}
    search.calls = lambda self, target: True
    search.forms = search.lines = lambda self, of: False
    tune_model.tune.tune = ends
    said = "model.c: left to be measured, beside kernels: 1 variant, 2 fusions\n"
    for words, wanted in (((), said), (("--all",), "")):
        told = run(folder, "tune", "-C", "out", "--rounds", "2", "--budget", "100s", *words)
        equal(told.stdout, wanted, f"what is left, {' '.join(words) or 'at the beginning'}") or note(told.stderr)
    (folder / LOCK).unlink()
    equal(run(folder, "tune", "-C", "out", "--rounds", "2", "--budget", "100s").stdout, "", "without a lock all is")
    (folder / LOCK).write_bytes(before)
    tune_model.tune.tune = kept
    search.decisions_left, search.calls, search.forms, search.lines = others

    # While the first kernel of a search is measured, with a lock.
    locks.write(folder / LOCK, dict(list(locks.read(folder / LOCK).items())[:1]))
    one = (folder / LOCK).read_bytes()

    def first(self: tune.Telling) -> None:
        real(self)
        raise KeyboardInterrupt
    tune.Telling.measuring = first
    told = run(folder, "tune", "-C", "out", "--rounds", "2", "--budget", "none", "--exe-wrapper", "env", "--all")
    tune.Telling.measuring = real
    equal((told.stdout, told.stderr, (folder / LOCK).read_bytes()),
          ("", "tensor-compile: interrupted: no kernel measured (left for the next run: 2 kernels); "
           f"{LOCK} is as it was; run it again to go on\n", one), "before the first kernel ends, all is left")
    (folder / LOCK).write_bytes(before)

    # Root may write anywhere: the folder says no by itself.
    may, harness = os.access, tune.run_harness

    def measures(*_: object) -> None:
        raise AssertionError("measured")
    os.access = lambda path, mode: str(path) != str(folder) and may(path, mode)
    tune.run_harness = measures
    told = run(folder, "tune", "-C", "out", "--rounds", "2", "--exe-wrapper", "env")
    again = run(folder, "tune", "-C", "out", "--rounds", "2", "--all")
    raises(UserError, lambda: files.require_writable(folder / LOCK), "cannot write: Permission denied", "a folder")
    os.access, tune.run_harness = may, harness
    for ended in (told, again):
        ok(ended.returncode == 1 and ended.stderr.endswith(f"{LOCK}: error: cannot write: Permission denied\n")
           and not ended.stdout, "a lock that cannot be written") or note(ended.stdout + ended.stderr)
    equal((folder / LOCK).read_bytes(), before, "it is as it was")
    lines(folder)
    found = sorted(os.listdir(folder))
    files.require_writable(folder / LOCK)
    files.require_writable(folder / "other.lock")
    equal((sorted(os.listdir(folder)), (folder / LOCK).read_bytes()), (found, before), "looking changes nothing")
    raises(UserError, lambda: files.require_writable(folder / "none" / "x"), "cannot write: No such file", "no folder")


if not ISA:
    skip("stopped", f"no target of {os.uname().machine}")
else:
    with tempfile.TemporaryDirectory() as name:
        main(Path(name).resolve())
done()
