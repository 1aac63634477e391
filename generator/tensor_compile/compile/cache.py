# SPDX-License-Identifier: Apache-2.0
"""The cache under a build directory: entries by the digest of everything that makes them, never rewritten.

An entry is a folder. It is made in a temporary folder and renamed into place, so builds that run at once may both make
it and one of the two equal results stays. It lists its files with their digests, which are compared when it is used:
what was cut, changed or lost is made again. Nothing in the cache is an output: deleting it costs time only.

A temporary folder is locked by the process that works in it. One that nobody holds is of a build that was killed, and
the next build takes it away, under the same lock. Its maker cannot lock it in the moment in which it makes it: behind
the lock it looks whether the folder is still there, and makes another one where it is not. Entries get their names, and
lose them, in turns.
"""
from __future__ import annotations

import errno
import fcntl
import json
import os
import shutil
import tempfile
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Callable, Iterator

from ..errors import UserError
from . import files

LISTING = "files.json"  # of an entry
UNLOCKED = 60           # seconds in which a temporary folder is usually locked by its maker
TRIES = 8               # to make a temporary folder that others do not take away
UNUSED = 60 * 86400     # seconds after which a user's cache gives up an entry that no build has used
ROOM = 1 << 30          # bytes of a kind beyond which it gives up those that were not used for longest,
BUSY = 2 * 3600         # but none that a build has used within so many seconds: it may be at work still
RECORDS = (".", "builds", "compilers")
LEFT = 3600             # seconds after which a half-written record is of a build that was killed


def remember(path: Path, value: dict[str, Any]) -> None:
    """Writes a JSON file of the tool's own, with its digest."""
    text = json.dumps(value, sort_keys=True)
    files.write(path, f'{{"digest": "{files.digest(text)}",\n"value": {text}}}\n', ours=True)


def recall(path: Path) -> dict[str, Any]:
    """What `remember` wrote; empty where there is no such file or it is not as it was written."""
    try:
        read = json.loads(b"".join(files.blocks(path)))
        value = read["value"]
        good = isinstance(value, dict) and read["digest"] == files.digest(json.dumps(value, sort_keys=True))
        return value if good else {}
    except (OSError, UserError, ValueError, KeyError, TypeError, RecursionError):
        return {}


class Cache:
    """root: the cache's folder, made when first needed. programs: that of what all builds of a user share, which is of
    the compiler and of this version alone (None: this one)."""

    def __init__(self, root: Path, programs: Path | None = None):
        self.root = Path(os.path.abspath(root))  # tools run in other folders
        self.programs = _UserCache(programs) if programs else self
        self._checked: set[Path] = set()  # entries that were whole
        self._swept: set[Path] = set()

    def _place(self, kind: str, key: str) -> Path:
        return self.root / kind / key[:40]

    def _make(self, kind: str) -> Path:
        """The folder root/kind, without what killed builds left in it. Version control leaves a cache alone."""
        folder = self.root / kind
        folder.mkdir(parents=True, exist_ok=True)
        ignore = self.root / ".gitignore"
        if not ignore.exists():
            ignore.write_text("*\n", encoding="utf-8")
        if folder not in self._swept:
            self._swept.add(folder)
            with suppress(OSError):  # what is left takes room only
                _sweep(folder)
                _sweep_records(self.root)
        return folder

    def has(self, kind: str, key: str) -> bool:
        return self._place(kind, key).is_dir()

    def entry(self, kind: str, key: str, make: Callable[[Path], None]) -> Path:
        """The folder of `key`, made by make(folder) where it does not exist or is damaged; what make raises leaves
        nothing behind."""
        final = self._place(kind, key)
        if self._is_whole(final):
            return final
        try:
            folder = self._make(kind)
        except OSError as error:
            raise files.unwritable(final.parent, error) from None
        with _temporary(folder, "new-") as work:
            made = work / "entry"
            made.mkdir()
            make(made)
            listing = {str(path.relative_to(made)): [path.stat().st_size, files.file_digest(path)]
                       for path in files.tree_files(made)}
            remember(made / LISTING, listing)
            try:
                self._store(made, final, work)
            except OSError as error:
                raise UserError(f"cannot write: {error.strerror}", str(final)) from None
        self._checked.add(final)
        return final

    def _is_whole(self, final: Path) -> bool:
        if final in self._checked:
            return True
        whole = _is_whole(final)
        if whole:
            self._checked.add(final)
        return whole

    def _store(self, made: Path, final: Path, work: Path) -> None:
        """Renames what was made into its place, from which a damaged entry goes. Builds take turns: none takes away
        what another one has stored meanwhile. Where that is whole, it stays: it is the same."""
        with self._turn():
            if os.path.lexists(final):
                if _is_whole(final):
                    return
                os.rename(final, work / "damaged")
            try:
                os.rename(made, final)
            except OSError:
                if not _is_whole(final):  # otherwise a build that takes no turns with this one was first
                    raise

    @contextmanager
    def _turn(self) -> Iterator[None]:
        """While no other build gives an entry its name or takes it."""
        with open(self.root / "lock", "w", encoding="utf-8") as turn:
            with suppress(OSError):  # a file system without locks
                fcntl.flock(turn, fcntl.LOCK_EX)
            yield

    @contextmanager
    def scratch(self) -> Iterator[str]:
        """A temporary folder on the cache's file system."""
        try:
            folder = self._make("tmp")
        except OSError as error:
            raise files.unwritable(self.root, error) from None
        with _temporary(folder, "run-") as work:
            yield str(work)


class _UserCache(Cache):
    """The one of all builds of a user. It grows with every version of a compiler and of this tool: where an entry is
    made, those that were not used for long go."""

    def entry(self, kind: str, key: str, make: Callable[[Path], None]) -> Path:
        final = self._place(kind, key)
        try:
            with self._turn():  # one that another build would take away now is used, or gone
                os.utime(final)
        except FileNotFoundError:
            self._checked.discard(final)
        except OSError:
            pass   # a cache that cannot be written has what it has
        return super().entry(kind, key, make)

    def _make(self, kind: str) -> Path:
        folder = super()._make(kind)
        with suppress(OSError, UserError):  # what is left takes room only
            self._trim(folder)
        return folder

    def _trim(self, folder: Path) -> None:
        """Takes away what was not used for long, and of what is left the oldest where all are larger than ROOM."""
        entries = [(path.stat().st_mtime, path) for path in folder.glob("[0-9a-f]*")]
        room = ROOM
        for used, path in sorted(entries, reverse=True):
            room -= sum(file.stat().st_size for file in path.iterdir())
            if time.time() - used > (UNUSED if room >= 0 else BUSY):
                self._take_away(path, used)

    def _take_away(self, path: Path, used: float) -> None:
        """The entry, unless a build has used it since; `used`: when it was used last."""
        with _temporary(path.parent, "run-") as work:
            with self._turn():
                if path.stat().st_mtime > used:
                    return
                os.rename(path, work / "entry")


def user_folder() -> Path | None:
    """Where a user's programs keep what can be made again; None where nothing can be written there."""
    base = os.environ.get("XDG_CACHE_HOME", "") or os.path.join(os.environ.get("HOME", ""), ".cache")
    folder = Path(base) / "tensor-compile"
    if not os.path.isabs(base):
        return None
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return None
    return folder if os.access(folder, os.W_OK | os.X_OK) else None


def _is_whole(final: Path) -> bool:
    listing = recall(final / LISTING)
    try:
        return bool(listing) and all((final / name).stat().st_size == size and files.file_digest(final / name) == digest
                                     for name, (size, digest) in listing.items())
    except (OSError, UserError):
        return False


@contextmanager
def _temporary(folder: Path, prefix: str) -> Iterator[Path]:
    """A folder that is gone behind the block, and that no other build takes for one that was left."""
    try:
        work, held = _make_locked(folder, prefix)
    except OSError as error:
        raise UserError(f"cannot write: {error.strerror}", str(folder)) from None
    try:
        yield work
    finally:
        shutil.rmtree(work, ignore_errors=True)
        os.close(held)


def _make_locked(folder: Path, prefix: str) -> tuple[Path, int]:
    for left in reversed(range(TRIES)):
        try:
            folder.mkdir(parents=True, exist_ok=True)
            work = Path(tempfile.mkdtemp(prefix=prefix, dir=folder))
            held = os.open(work, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except FileNotFoundError:  # another build has swept it, or a folder above it went
            if not left:
                raise
            continue
        if _lock(held) != errno.EWOULDBLOCK and _is_at(held, work):
            return work, held
        os.close(held)
    raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))


def _lock(fd: int) -> int:
    """Takes the lock of an open folder; 0, or why it did not: EWOULDBLOCK where another process has it."""
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return 0
    except OSError as error:
        return error.errno or errno.EIO


def _is_at(fd: int, path: Path) -> bool:
    """Whether the open folder still has this name."""
    try:
        return os.path.samestat(os.fstat(fd), os.lstat(path))
    except OSError:
        return False


def _sweep(folder: Path) -> None:
    """Takes away the temporary folders whose makers were killed."""
    for path in [*folder.glob("new-*"), *folder.glob("run-*")]:
        try:
            if time.time() - path.stat().st_mtime < UNLOCKED:
                continue
            fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        except OSError:
            continue
        try:
            if not _lock(fd) and _is_at(fd, path):
                shutil.rmtree(path, ignore_errors=True)
        finally:
            os.close(fd)


def _sweep_records(root: Path) -> None:
    """And records that were half-written then: files.Outputs names them with dots. They stand beside other records,
    never in entries, which other builds make and take away meanwhile."""
    for path in [path for folder in RECORDS for path in (root / folder).glob(".*.json.*")]:
        try:
            if time.time() - path.stat().st_mtime > LEFT:
                path.unlink()
        except OSError:
            continue
