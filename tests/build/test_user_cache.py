# SPDX-License-Identifier: Apache-2.0
"""Programs of the build machine are made once a user, not once a model; --cache keeps everything in one folder; builds
at once make them once or twice and both succeed; what is not used for long goes, and the oldest where all are large."""
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tap import done, equal, note, ok
from tensor_compile.compile import cache as caches
from tensor_compile.compile import host_programs, toolchain
from tensor_compile.compile.cache import BUSY, UNUSED, Cache

ROOT = Path(os.environ["TC_SOURCE_ROOT"])
TOOL = (sys.executable, str(ROOT / "generator" / "tensor-compile"))
MODEL = """#include <tensor_compile/model.h>
TC_MODEL(NAME)
{
    tc_output(g, "y", tc_relu(tc_input(g, "x", TC_F32, 4)));
}
"""

with tempfile.TemporaryDirectory() as place:
    folder = Path(place)
    home = folder / "home"
    quiet = {k: v for k, v in os.environ.items() if k not in ("XDG_CACHE_HOME", "HOME")}
    isa = ("--isa", "x86_64") if os.uname().machine == "x86_64" else ()

    def started(name: str, *more: str, **environment: str) -> subprocess.Popen:
        (folder / f"{name}.c").write_text(MODEL.replace("NAME", name), encoding="utf-8")
        return subprocess.Popen([*TOOL, "build", f"{name}.c", "-o", name, *isa, *more], cwd=folder,
                                env={**quiet, **environment},
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def built(*builds: subprocess.Popen) -> bool:
        said = [build.communicate()[0] for build in builds]
        for text in filter(None, said):
            note(text)
        return all(build.returncode == 0 for build in builds)

    def kinds(cache: Path) -> list[str]:
        return sorted(p.name for p in cache.iterdir() if p.is_dir() and p.name != "tmp") if cache.is_dir() else []

    user = home / ".cache" / "tensor-compile"
    shared = Cache(Path(os.environ["TC_TESTS_CACHE"]))
    interpreter = host_programs.interpreter(toolchain.detect(("cc",), shared.root, "the compiler"), shared).parent
    shutil.copytree(interpreter, user / "host" / interpreter.name)   # both make the capture library
    ok(built(started("one", HOME=str(home)), started("two", HOME=str(home))),
       "two builds at once, for a user whose cache lacks a program")
    equal(kinds(user), ["compilers", "headers", "host"],
          "the user's cache: compilers, headers, programs of the build machine")
    equal(len(list((user / "host").glob("[0-9a-f]*"))), 2, "the capture library and the interpreter, each once")
    equal("host" in kinds(folder / "one" / ".tensor-compile"), False, "the build's own cache has none")
    made = {p: p.stat().st_ino for p in (user / "host").iterdir()}
    ok(built(started("three", HOME=str(home))), "a third build")
    equal({p: p.stat().st_ino for p in (user / "host").iterdir()}, made, "makes no program")

    # elsewhere; programs that are there need not be made
    for cache in ("xdg/tensor-compile", "all", "six/.tensor-compile"):
        shutil.copytree(user / "host", folder / cache / "host")
    ok(built(started("four", XDG_CACHE_HOME=str(folder / "xdg"), HOME="/nowhere")), "$XDG_CACHE_HOME")
    equal(kinds(folder / "xdg" / "tensor-compile"), ["compilers", "headers", "host"], "is where they are then")
    ok(built(started("five", "--cache", "all", HOME=str(folder / "other"))), "--cache")
    equal((kinds(folder / "other"), "objects" in kinds(folder / "all")), ([], True), "holds everything")
    (folder / "file").write_text("", encoding="utf-8")
    ok(built(started("six", HOME=str(folder / "file"))), "a home that cannot be written leaves the build's own cache")

    shared = Cache(folder / "build", folder / "user").programs
    old, new = (shared.entry("host", key * 40, lambda work: (work / "file").write_text(key) and None)
                for key in ("a", "b"))
    os.utime(old, (time.time() - UNUSED - 10,) * 2)
    Cache(folder / "build", folder / "user").programs.entry("host", "c" * 40, lambda work: None)
    equal((old.exists(), new.exists()), (False, True), "an entry that no build has used for long goes")
    os.utime(new, (time.time() - UNUSED - 10,) * 2)
    Cache(folder / "build", folder / "user").programs.entry("host", "b" * 40, lambda work: None)
    ok(time.time() - new.stat().st_mtime < 60, "one that is used stays")

    caches.ROOM = 3000
    grown = folder / "grown"
    made = {key: Cache(folder / "build", grown).programs.entry(
        "headers", key * 40, lambda work: (work / "file").write_bytes(bytes(1000)) and None) for key in "abcd"}
    for age, key in enumerate("dbac"):  # d was used last
        os.utime(made[key], (time.time() - BUSY - 100 * age - 10,) * 2)
    Cache(folder / "build", grown).programs.entry("headers", "e" * 40, lambda work: None)
    equal({key: path.exists() for key, path in made.items()}, {"a": False, "b": True, "c": False, "d": True},
          "of entries that take more room than there is, those go that were not used for longest")
    caches.ROOM = 0
    os.utime(made["b"], (time.time() - BUSY + 60,) * 2)
    Cache(folder / "build", grown).programs.entry("headers", "f" * 40, lambda work: None)
    equal((made["b"].exists(), made["d"].exists()), (True, False), "one that a build may be using stays")
    trimming = Cache(folder / "build", grown).programs
    assert isinstance(trimming, caches._UserCache)
    long_ago = made["b"].stat().st_mtime
    Cache(folder / "build", grown).programs.entry("headers", "b" * 40, lambda work: None)
    trimming._take_away(made["b"], long_ago)
    ok(made["b"].exists(), "and one that is used while another build takes old ones away")
    trimming.entry("headers", "b" * 40, lambda work: None)
    trimming._take_away(made["b"], time.time() + 60)
    ok(trimming.entry("headers", "b" * 40, lambda work: None).exists(),
       "one that is gone is made again, also by a build that has used it before")
done()
