# SPDX-License-Identifier: Apache-2.0
"""Who measures is alone on the machine: a lock that every user's `tune`, `bench`, `profile` and `ceilings` take.

Its file lies in the system's own folder of temporary files, whatever TMPDIR says, and any user can open it. It is made
complete under another name, so that nobody finds it with the permissions of a umask. Where it is there it is opened to
read, with no link followed, and nothing of it is read. Containers with folders of their own do not see each other."""
from __future__ import annotations

import errno
import fcntl
import os
import signal
import stat
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from typing import Callable, Iterator

from ..errors import UserError

FOLDERS = ("/tmp", "/var/tmp")   # the first that is there
NAME = "tensor-compile-measuring.lock"
WAITS = "waits for another measurement"

_waited = [0.0]   # seconds that this process has waited for others


def now() -> float:
    """Seconds of a clock that stands while this process waits for the machine: what budgets count."""
    return time.monotonic() - _waited[0]


def path() -> Path:
    return Path(next((name for name in FOLDERS if os.path.isdir(name)), tempfile.gettempdir())) / NAME


@contextmanager
def alone(say: Callable[[str], None]) -> Iterator[None]:
    """Held by one process of the machine at a time, whoever runs it. say: told that it waits. A timer that is set
    stands meanwhile."""
    fd = _locked(say)
    try:
        yield
    finally:
        os.close(fd)


def _locked(say: Callable[[str], None]) -> int:
    while True:
        at = path()
        try:
            fd = _open(at)
        except OSError as error:
            why = "it is a symbolic link" if error.errno == errno.ELOOP else error.strerror
            raise _refused(at, str(why)) from None
        try:
            if not stat.S_ISREG(os.fstat(fd).st_mode):
                raise _refused(at, "it is not a file")
            _lock(fd, say)
            if _is_at(fd, at):
                return fd
        except OSError as error:
            os.close(fd)
            raise _refused(at, str(error.strerror)) from None
        except BaseException:
            os.close(fd)
            raise
        os.close(fd)   # who cleans that folder took it away meanwhile


def _refused(at: Path, why: str) -> UserError:
    return UserError(f"cannot lock the machine: {why}", str(at), "it is an empty file that every user can read: where "
                     "something else has that name, remove it")


def _open(at: Path) -> int:
    while True:
        try:
            return os.open(at, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        except FileNotFoundError:
            _make(at)


def _make(at: Path) -> None:
    fd, name = tempfile.mkstemp(prefix=f"{NAME}.", dir=at.parent)
    try:
        os.fchmod(fd, 0o444)
        os.link(name, at, follow_symlinks=False)
    except FileExistsError:
        pass   # another process was faster
    finally:
        os.close(fd)
        os.unlink(name)


def _lock(fd: int, say: Callable[[str], None]) -> None:
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return
    except BlockingIOError:
        pass
    left = signal.setitimer(signal.ITIMER_REAL, 0)[0]
    begun = time.monotonic()
    try:
        say(WAITS)
        fcntl.flock(fd, fcntl.LOCK_EX)
    finally:
        _waited[0] += time.monotonic() - begun
        if left:
            signal.setitimer(signal.ITIMER_REAL, left)


def _is_at(fd: int, at: Path) -> bool:
    try:
        found = os.lstat(at)
    except FileNotFoundError:
        return False
    return os.path.samestat(os.fstat(fd), found)
