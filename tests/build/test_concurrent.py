# SPDX-License-Identifier: Apache-2.0
"""Builds that run at once in one cache: none takes away what another one works in, or has just stored, wherever it is
interrupted."""
import errno
import multiprocessing
import os
import random
import shutil
import tempfile
import threading
import time
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Callable, Iterator
from unittest import mock

from tap import done, equal, ok
from tensor_compile.compile import cache as module
from tensor_compile.compile import files
from tensor_compile.compile.cache import Cache
from tensor_compile.errors import UserError

KEY = "k" * 40
OLD = time.time() - 7200


def make(work: Path) -> None:
    (work / "x").write_text("made")


@contextmanager
def before(owner: Any, name: str, act: Callable[..., None]) -> Iterator[None]:
    """The first call of owner.name is preceded by act(its arguments)."""
    real, calls = getattr(owner, name), []

    def call(*args: Any, **kwargs: Any) -> Any:
        calls.append(args)
        if len(calls) == 1:
            act(*args, **kwargs)
        return real(*args, **kwargs)

    setattr(owner, name, call)
    try:
        yield
    finally:
        setattr(owner, name, real)
    assert calls, name


@contextmanager
def behind(owner: Any, name: str, act: Callable[[Any], None]) -> Iterator[None]:
    """The first call of owner.name is followed by act(its result), even where it raises."""
    real, calls = getattr(owner, name), []

    def call(*args: Any, **kwargs: Any) -> Any:
        calls.append(args)
        first, result = len(calls) == 1, None
        try:
            result = real(*args, **kwargs)
        finally:
            if first:
                act(result)
        return result

    setattr(owner, name, call)
    try:
        yield
    finally:
        setattr(owner, name, real)
    assert calls, name


def outcome(root: Path) -> str:
    """What a build that makes an entry and works in a scratch folder says, or what it has made."""
    try:
        with Cache(root).scratch() as scratch:
            (Path(scratch) / "half").write_text("")
            return (Cache(root).entry("objects", KEY, make) / "x").read_text()
    except (UserError, OSError) as error:
        return str(error)


def build_often(root: Path, seed: int, failed: Any) -> None:
    """One process of several: entries of its own and entries that others make too; all is old enough to be swept."""
    module.UNLOCKED = -1
    chance = random.Random(seed)
    for _ in range(40):
        time.sleep(chance.random() / 200)
        try:
            cache = Cache(root)
            for key in (f"shared-{chance.randrange(1000)}", f"own-{seed}-{chance.random()}"):
                if (cache.entry("objects", key, make) / "x").read_text() != "made":
                    failed.put(f"{key}: not what was made")
            with cache.scratch() as scratch:
                time.sleep(chance.random() / 200)
                (Path(scratch) / "x").write_text("")
        except (UserError, OSError) as error:
            failed.put(str(error))


with tempfile.TemporaryDirectory() as folder:
    here = Path(folder)

    def sweep(root: Path) -> None:
        """Of another build, long behind the making of every temporary folder."""
        for path in root.glob("*/*-*"):
            os.utime(path, (OLD, OLD))
        for kind in ("objects", "tmp"):
            module._sweep(root / kind)

    # A temporary folder is old before it is locked: the machine slept, or the file server's clock is another.
    for place, (owner, name) in enumerate(((tempfile, "mkdtemp"), (module.fcntl, "flock"))):
        root = here / f"slept-{place}"
        wrap = behind if name == "mkdtemp" else before
        with wrap(owner, name, lambda *_: sweep(root)):
            equal(outcome(root), "made", f"another build sweeps {wrap.__name__} {name}")
        equal([*root.glob("*/new-*"), *root.glob("*/run-*")], [], "and nothing is left")

    # Another build that sweeps has the lock first.
    root, seen = here / "first", []

    def lock_first(fd: int, _how: int) -> None:
        path = os.readlink(f"/proc/self/fd/{fd}")
        seen.append((path, os.open(path, os.O_RDONLY)))
        module.fcntl.flock(seen[0][1], module.fcntl.LOCK_EX | module.fcntl.LOCK_NB)

    def take_away(_result: object) -> None:
        shutil.rmtree(seen[0][0])
        os.close(seen[0][1])

    with before(module.fcntl, "flock", lock_first), behind(module, "_lock", take_away):
        equal(outcome(root), "made", "another build that sweeps has locked the folder first")

    # A file system has no locks; a folder is never there.
    def without(_fd: int, _how: int) -> None:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    with mock.patch.object(module.fcntl, "flock", without):
        equal(outcome(here / "lockless"), "made", "a file system without locks")
    with mock.patch.object(module, "_is_at", lambda _fd, _path: False):
        equal(outcome(here / "never"), f"{here}/never/tmp: error: cannot write: No such file or directory",
              "a folder that goes each time is an error")

    # A folder of the cache goes while a build is about to write there.
    for kind in ("tmp", "objects"):
        root = here / f"gone-{kind}"
        equal(outcome(root), "made", "a cache")
        shutil.rmtree(root / "objects")
        with before(tempfile, "mkdtemp", lambda prefix, dir: shutil.rmtree(dir)):
            if kind == "tmp":
                equal(outcome(root), "made", "folders are taken away before a scratch folder is made")
            else:
                equal((Cache(root).entry("objects", KEY, make) / "x").read_text(), "made", "or an entry")
    root = here / "output"
    with before(tempfile, "mkstemp", lambda **_: shutil.rmtree(root)):
        files.write(root / "deep" / "x.o", "text")
    equal((root / "deep" / "x.o").read_text(), "text", "or an output")

    # One build makes an entry. Meanwhile it was emptied, and another build takes that away while the first one stores.
    root = here / "emptied"
    final = root / "objects" / KEY
    making, go_on, taken = threading.Event(), threading.Event(), threading.Event()
    stored: list[str] = []

    def make_slowly(work: Path) -> None:
        making.set()
        go_on.wait()
        make(work)

    def store() -> None:
        entry = Cache(root).entry("objects", KEY, make_slowly)
        taken.wait()
        stored.append((entry / "x").read_text() if (entry / "x").is_file() else "gone")

    def let_store(_source: Path, target: Path) -> None:
        assert Path(target).name == "damaged"
        go_on.set()
        first.join(0.5)  # it waits for its turn

    def keep(work: Path) -> None:
        first.join(0.5)
        make(work)

    first = threading.Thread(target=store)
    first.start()
    making.wait()
    final.mkdir()
    with before(module.os, "rename", let_store), behind(module.os, "rename", lambda _result: taken.set()):
        Cache(root).entry("objects", KEY, keep)
    first.join()
    equal((stored, (final / "x").read_text()), (["made"], "made"), "what either of two builds stores stays")
    equal([*root.glob("*/new-*"), *root.glob("*/run-*")], [], "and nothing is left")

    # An entry is damaged while it is made a second time.
    def damage(work: Path) -> None:
        final.mkdir()
        (final / "y").write_text("")
        make(work)

    shutil.rmtree(final)
    equal((Cache(root).entry("objects", KEY, damage) / "x").read_text(), "made", "a damaged one in its place goes")

    # Processes.
    root = here / "many"
    failed: Any = multiprocessing.SimpleQueue()
    processes = [multiprocessing.Process(target=build_often, args=(root, seed, failed)) for seed in range(4)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    said = []
    while not failed.empty():
        said.append(failed.get())
    equal(sorted(set(said))[:3], [], "four processes that build and sweep do not disturb each other")
    ok(len(list((root / "objects").iterdir())) >= 160, "and all that they made is there")
    equal([*root.glob("*/new-*"), *root.glob("*/run-*")], [], "and nothing else")
done()
