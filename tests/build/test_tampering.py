# SPDX-License-Identifier: Apache-2.0
"""Whatever happens to the files of a cache, the next build makes the object that it always makes, or says what is
wrong; what killed builds leave is taken away, what running ones use is not."""
import fcntl
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Callable

from places import GOOD, ISA, TOOL, fill, said, tool
from tap import done, equal, note, ok
from tensor_compile.compile.cache import LISTING, Cache, recall, remember

SHARED = Path(os.environ["TC_TESTS_CACHE"])


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-3])


def flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 0x10
    path.write_bytes(data)


def flip_keeping_time(path: Path) -> None:
    stat = os.stat(path)
    flip(path)
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))


def clear(path: Path) -> None:
    path.write_bytes(b"")


def folder_in_place(path: Path) -> None:
    path.unlink()
    path.mkdir()


def fifo_in_place(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def write(text: str) -> Callable[[Path], None]:
    return lambda path: path.write_text(text, encoding="utf-8") and None


FILE = (cut, flip, flip_keeping_time, clear, Path.unlink, folder_in_place, fifo_in_place)
RECORDS = (cut, flip, clear, Path.unlink, fifo_in_place,
           *map(write, ("null", "[]", "{}", "7", '{"value": null}', "[" * 9999)))


def empty(entry: Path) -> None:
    shutil.rmtree(entry)
    entry.mkdir()


def file_in_place(entry: Path) -> None:
    shutil.rmtree(entry)
    entry.write_text("", encoding="utf-8")


def link_to_nothing(entry: Path) -> None:
    shutil.rmtree(entry)
    entry.symlink_to("nothing")


with tempfile.TemporaryDirectory() as scratch:
    here = Path(scratch).resolve()
    fill(here / "model")
    cache = here / "model" / "cache"
    given = ("model.c", "-o", "out", "--cache", str(cache))
    (SHARED / "host").mkdir(parents=True, exist_ok=True)
    (cache).mkdir()
    (cache / "host").symlink_to(SHARED / "host")
    out = here / "model" / "out"
    equal(said(tool(here / "model", *given)), GOOD, "a first build")
    first = (out / "model.o").read_bytes(), (out / "model.h").read_bytes()
    (cache / "host").unlink()  # from now on its own, as cheap as it can be had: the tests damage it
    shutil.copytree(SHARED / "host", cache / "host", ignore=shutil.ignore_patterns("new-*"))  # other tests work there

    def damaged(name: str, relink: bool = True) -> None:
        if relink:
            (out / "model.o").unlink()  # or the record's outputs are all that is looked at
        done_ = tool(here / "model", *given)
        same = said(done_) == GOOD and ((out / "model.o").read_bytes(), (out / "model.h").read_bytes()) == first
        ok(same, name) or note(f"{said(done_)}")

    contents = ("objects/*/tc*.o", "weights/*/weights.bin")
    records = ("objects/*/" + LISTING, "weights/*/" + LISTING, "hashes.json", "builds/*.json", "compilers/*.json")
    for patterns, many in ((contents, FILE), (records, RECORDS)):
        for harm in many:
            victims = sorted(path for pattern in patterns for path in cache.glob(pattern))
            for victim in victims:
                harm(victim)
            damaged(f"{' '.join(patterns)}: {getattr(harm, '__name__', 'written over')}")
            ok(len(victims) >= 3 and all(path.is_file() for path in victims), "and they are made again")
    for harm in (flip, clear):
        for victim in cache.glob("builds/*.json"):
            harm(victim)
        damaged(f"only the build's record: {harm.__name__}", relink=False)
    for kind in ("objects", "weights"):
        for harm in (shutil.rmtree, empty, file_in_place, link_to_nothing):
            for victim in sorted((cache / kind).iterdir()):
                harm(victim)
            damaged(f"entries of {kind}: {harm.__name__}")
    for name in ("objects", "weights", "tmp", "builds", "compilers"):
        shutil.rmtree(cache / name)
        damaged(f"no {name}")
    for pattern, harm in (("host/*/libcapture.a", flip), ("host/*/tc-interpret", cut)):
        if sys.argv[1:] != ["--all"] and harm is cut:
            continue  # compiles the interpreter
        for victim in sorted(cache.glob(pattern)):
            harm(victim)
        (cache / "hashes.json").unlink()
        shutil.rmtree(cache / "weights")
        damaged(f"{pattern}: {harm.__name__}")

    # Builds that were killed, and one that is not.
    old = time.time() - 7200
    for name in ("objects/new-killed", "tmp/run-killed", "objects/new-running", "tmp/run-young"):
        (cache / name).mkdir()
        (cache / name / "half").write_text("", encoding="utf-8")
    (cache / ".hashes.json.1234").write_text("", encoding="utf-8")
    for name in ("objects/new-killed", "tmp/run-killed", "objects/new-running", ".hashes.json.1234"):
        os.utime(cache / name, (old, old))
    held = os.open(cache / "objects/new-running", os.O_RDONLY)
    fcntl.flock(held, fcntl.LOCK_EX)
    for victim in cache.glob("objects/*/tck_*.o"):
        clear(victim)
    damaged("leavings of others")
    left = sorted(str(p.relative_to(cache))
                  for p in [*cache.glob("*/new-*"), *cache.glob("*/run-*"), *cache.glob(".h*")])
    equal(left, ["objects/new-running", "tmp/run-young"], "those of killed builds are gone, others are not")
    os.close(held)

    for number in (signal.SIGKILL, signal.SIGTERM):
        slow = here / "slow"
        slow.write_text('#!/bin/sh\ncase "$*" in *tck_*) sleep 60;; esac\nexec cc "$@"\n', encoding="utf-8")
        slow.chmod(0o755)
        shutil.rmtree(cache / "objects")
        process = subprocess.Popen([sys.executable, str(TOOL), "build", *given, "--isa", ISA, "--cc", str(slow)],
                                   cwd=here / "model", stderr=subprocess.DEVNULL, start_new_session=True)
        while process.poll() is None and not list(cache.glob("objects/new-*/entry/tck_*.c")):
            time.sleep(0.05)
        if number == signal.SIGKILL:
            os.killpg(process.pid, number)
        else:
            process.send_signal(number)
            time.sleep(0.2)
            os.killpg(process.pid, signal.SIGTERM)
        process.wait()
        for path in cache.glob("*/new-*"):
            os.utime(path, (old, old))
        damaged(f"behind a build that {number.name} ended")
        equal([*cache.glob("*/new-*"), *cache.glob("tmp/run-k*")], [], "nothing of it is left")

    # A value is read as it was written, or not at all.
    value = {"a": [1, "\udcff", None], "b": {"c": 1}}
    remember(here / "value.json", value)
    equal(recall(here / "value.json"), value, "a record is read back")
    text = (here / "value.json").read_bytes()
    wrong = 0
    for at in range(len(text)):
        for bit in (1, 16):
            changed = bytearray(text)
            changed[at] ^= bit
            (here / "value.json").write_bytes(changed)
            wrong += recall(here / "value.json") not in ({}, value)
    equal(wrong, 0, "and never as something else")

    # Two processes that find one entry damaged: neither takes away what the other has made.
    both = Cache(here / "both"), Cache(here / "both")
    for c in both:
        c.entry("kind", "k" * 40, lambda work: (work / "x").write_text("1") and None)
    path = here / "both" / "kind" / ("k" * 40)
    clear(path / "x")
    stored = []

    def other_first(work: Path) -> None:
        Cache(here / "both").entry("kind", "k" * 40, lambda work: (work / "x").write_text("1") and None)
        stored.append(os.stat(path).st_ino)
        (work / "x").write_text("1")

    Cache(here / "both").entry("kind", "k" * 40, other_first)
    equal(([os.stat(path).st_ino], (path / "x").read_text()), (stored, "1"), "an entry that is whole again stays")
done()
