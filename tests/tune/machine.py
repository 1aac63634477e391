# SPDX-License-Identifier: Apache-2.0
"""The lock of the machine: one file for all users and all TMPDIRs, that nobody's umask or link spoils; who waits says
so, and a budget does not count it. `bench`, `profile` and `ceilings` take it, too."""
from __future__ import annotations

import fcntl
import os
import stat
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from typing import Callable, Iterator

from small_model import ISA, prepare, run
from tap import done, equal, note, ok, raises, skip
from tensor_compile.compile import machine, machine_lock, tune, tune_model
from tensor_compile.errors import UserError

MODEL = """#include <tensor_compile/model.h>
TC_MODEL(model)
{
    tc_output(g, "y", tc_exp(tc_input(g, "x", TC_F32, 4)));
}
"""
NOBODY = 65534
HOLDER = """import fcntl, os, sys, time
fcntl.flock(os.open(sys.argv[1], os.O_RDONLY), fcntl.LOCK_EX)
print(flush=True)
sys.stdin.read()
"""


@contextmanager
def held(seconds: float) -> Iterator[None]:
    """By another process, which lets it go so much later."""
    process = subprocess.Popen([sys.executable, "-c", HOLDER, str(machine_lock.path())], text=True,
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdin and process.stdout
    process.stdout.readline()
    later = subprocess.Popen(["sleep", str(seconds)], stdout=process.stdin)
    process.stdin.close()   # the last that holds it open is `sleep`
    yield
    process.wait()
    later.wait()


def as_user(number: int, mask: int, work: Callable[[], object]) -> bool:
    """Whether work() succeeds in a process of that user."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            os.umask(mask)
            if number:
                os.setgroups([])
                os.setgid(number)
                os.setuid(number)
            work()
            code = 0
        except BaseException as error:
            note(repr(error))
        os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def take() -> None:
    with machine_lock.alone(print):
        pass


def place() -> None:
    given = machine_lock.path()
    equal(str(given.parent), "/tmp", "the folder is the system's")
    kept = os.environ.get("TMPDIR"), tempfile.tempdir
    os.environ["TMPDIR"], tempfile.tempdir = "/", None
    equal(machine_lock.path(), given, "another TMPDIR changes nothing")
    tempfile.tempdir = kept[1]
    if kept[0] is None:
        del os.environ["TMPDIR"]
    else:
        os.environ["TMPDIR"] = kept[0]


def users() -> None:
    """Who made the file does not matter, nor with which umask."""
    at = machine_lock.path()
    owners = [0, NOBODY] if os.getuid() == 0 else [0]   # 0: who runs this
    for owner in owners:
        at.unlink(missing_ok=True)
        ok(as_user(owner, 0o077, take), f"made by {owner or 'the first user'}")
        equal(stat.S_IMODE(at.stat().st_mode), 0o444, "anybody may open it")
        for other in owners:
            ok(as_user(other, 0o077, take), f"and taken by {other or 'the first user'}")
    if len(owners) == 1:
        skip("other users", "this is not root")
    equal(os.listdir(at.parent), [at.name], "nothing else is left in the folder")


def spoiled() -> None:
    at = machine_lock.path()
    at.unlink()
    other = at.parent / "other"
    other.write_text("mine")
    at.symlink_to(other)
    raises(UserError, take, "cannot lock the machine: it is a symbolic link", "a link is not followed")
    at.unlink()
    other.unlink()
    os.mkfifo(at)
    raises(UserError, take, "cannot lock the machine: it is not a file", "a pipe hangs nobody")
    at.unlink()
    at.mkdir()
    raises(UserError, take, "cannot lock the machine: it is not a file", "nor is a folder the lock")
    at.rmdir()
    at.write_text("not empty\n")
    take()
    equal(at.read_text(), "not empty\n", "what is in it stays, and means nothing")
    at.unlink()

    # Who cleans the folder takes it away while somebody waits.
    said: list[str] = []

    def cleaned(line: str) -> None:
        said.append(line)
        at.unlink()
    take()
    with held(0.3), machine_lock.alone(cleaned):
        ok(at.exists() and said == [machine_lock.WAITS], "a file that was taken away is made again")
        fd = os.open(at, os.O_RDONLY)
        raises(BlockingIOError, lambda: fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB), "", "that one is held")
        os.close(fd)


def waiting() -> None:
    said: list[str] = []
    with machine_lock.alone(said.append):
        pass
    equal(said, [], "who does not wait says nothing")
    clock = tune_model.Clock(100.0)
    begun = time.monotonic()
    with held(1.5), tune.limited(1.0):
        with machine_lock.alone(said.append):
            pass
        waited = time.monotonic() - begun
    equal(said, ["waits for another measurement"], "who waits says it")
    left = clock.left() or 0
    ok(waited > 1.0 and 97 - left < waited / 2, "a budget does not count it") or note(f"{waited} {left}")

    def over() -> None:
        with tune.limited(0.3):
            with machine_lock.alone(said.append):
                time.sleep(5)
    with held(0.6):
        begun = time.monotonic()
        raises(tune.OutOfTime, over, "", "what follows is counted again")
        ok(time.monotonic() - begun > 0.6, "behind the waiting")


def commands(folder: Path) -> None:
    """Each is alone while it measures, and tells that it waits."""
    prepare(folder, MODEL)
    real = machine.measure

    def measure(*words: object) -> machine.Machine:
        fd = os.open(machine_lock.path(), os.O_RDONLY)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            print("not alone")
        except BlockingIOError:
            print("alone")
        os.close(fd)
        return machine.Machine(1, 1e9, {size: 1e9 for size in words[-1] or (1 << 27,)})   # type: ignore[union-attr]
    machine.measure = measure
    for words in (("ceilings",), ("bench", "model.c", "--calls", "3", "--isa", ISA)):
        told = run(folder, *words)
        ok(told.returncode == 0 and told.stdout.startswith("alone\n") and "not alone" not in told.stdout,
           f"{words[0]} measures alone") or note(told.stdout + told.stderr)
    machine.measure = real

    lock = machine_lock._lock

    def behind(fd: int, say: Callable[[str], None]) -> None:   # another one has it when this one comes
        with held(0.2):
            lock(fd, say)
    machine_lock._lock = behind
    for words in (("ceilings",), ("profile", "model.c", "--calls", "3", "--isa", ISA)):
        told = run(folder, *words)
        name = words[0] if len(words) == 1 else "model.c"
        ok(told.returncode == 0 and f"{name}: waits for another measurement\n" in told.stderr,
           f"{words[0]} says that it waits") or note(told.stdout + told.stderr)
    machine_lock._lock = lock


place()
with tempfile.TemporaryDirectory() as name:
    folder = Path(name).resolve()
    shared, work = folder / "shared", folder / "work"
    folder.chmod(0o755)
    for made in (shared, work):
        made.mkdir()
    shared.chmod(0o1777)
    machine_lock.FOLDERS = (str(shared),)
    users()
    spoiled()
    waiting()
    if ISA:
        commands(work)
    else:
        skip("commands", f"no target of {os.uname().machine}")
done()
