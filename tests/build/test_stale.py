# SPDX-License-Identifier: Apache-2.0
"""Inputs that change while a build reads them, behind links, or become something else: the next build sees it."""
import os
import shutil
import tempfile
from pathlib import Path

from places import GOOD, MODEL, SIZES, fill, said, tool, weights
from tap import done, equal, note, ok, raises
from tensor_compile.compile import depfile, host_programs, record, toolchain
from tensor_compile.compile.cache import Cache
from tensor_compile.errors import UserError

SHARED = Path(os.environ["TC_TESTS_CACHE"])
OTHER = MODEL.replace("tc_add", "tc_mul")


def script(path: Path, text: str) -> Path:
    path.write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
    path.chmod(0o755)
    return path


def outputs(folder: Path) -> bytes:
    return (folder / "out" / "model.o").read_bytes() + (folder / "out" / "model.h").read_bytes()


def fresh(folder: Path) -> bytes:
    """What a build of the folder's inputs makes that has no record of an earlier one."""
    with tempfile.TemporaryDirectory(dir=folder.parent) as apart:
        copy = Path(apart) / "copy"
        shutil.copytree(folder, copy, ignore=shutil.ignore_patterns("out"))
        equal(said(tool(copy, "model.c", "-o", "out", "--cache", str(SHARED))), GOOD, "built anew")
        return outputs(copy)


with tempfile.TemporaryDirectory() as scratch:
    here = Path(scratch).resolve()

    (SHARED / "host").mkdir(parents=True, exist_ok=True)
    # H3: (what is edited, its new content, by which program, when): the object of then may be of either; the next
    # build's is of what lies there.
    edits = (("model.c", OTHER.encode(), "cc", "tck_"), ("sizes.h", SIZES.replace("4", "2 * 2").encode(), "cc", "tck_"),
             ("sizes.h", b"#define WIDTH 4 /* four */\n", "host", "/capture "),
             ("m.safetensors", weights(0.5), "cc", "tck_"),
             ("m.safetensors", weights(0.5), "host", "/capture "), ("model.c", OTHER.encode(), "host", "-MM "),
             ("model.tuning.lock", b"# tensor-compile tuning lock 2\n", "cc", "tck_"))
    for number, (name, content, program, when) in enumerate(edits):
        folder = here / f"edit{number}"
        fill(folder)
        (here / "content").write_bytes(content)
        marker = here / f"edited{number}"
        words = {"cc": "--cc", "host": "--host-cc"}
        wrapper = script(here / f"gcc{number}", f'case "$* " in *"{when}"*) [ -e "{marker}" ] || '
                         f'{{ cp "{here}/content" "{folder}/{name}"; touch "{marker}"; }};; esac\nexec cc "$@"')
        given = ("model.c", "-o", "out", "--cache", str(here / f"cache{number}"), words[program], str(wrapper))
        (here / f"cache{number}").mkdir()
        os.symlink(SHARED / "host", here / f"cache{number}" / "host")
        equal(said(tool(folder, *given)), GOOD, f"{name} is edited while {program} runs ({when})")
        ok(marker.exists(), "it was")
        equal(said(tool(folder, *given)), GOOD, "a build behind it")
        ok(outputs(folder) == fresh(folder), "is of what lies there")
        before = os.stat(folder / "out" / "model.o").st_ino
        equal(said(tool(folder, *given)), GOOD, "one more")
        equal(os.stat(folder / "out" / "model.o").st_ino, before, "makes nothing")

    # Weights that change under the interpreter: what it read has no name, so nothing is kept.
    folder = here / "packing"
    fill(folder)
    cache = Cache(here / "packing-cache")
    compiler = toolchain.detect(("cc",), SHARED, "the compiler")
    real = host_programs.interpreter(compiler, Cache(SHARED))
    (here / "content").write_bytes(weights(0.5))
    marker = here / "edited"
    cache.entry("host", real.parent.name, lambda work: script(
        work / "tc-interpret", f'[ -e "{marker}" ] || cp "{here}/content" "{folder}/m.safetensors"\n'
        f'touch "{marker}"\nexec "{real}" "$@"') and None)
    given = ("model.c", "-o", "out", "--cache", str(cache.root))
    failed = tool(folder, *given)
    ok(failed.returncode == 1 and "m.safetensors: error: changed while it was read" in failed.stderr
       and "hint: build again" in failed.stderr, "weights that change while they are packed") or note(failed.stderr)
    equal(said(tool(folder, *given)), GOOD, "the next build")
    ok(outputs(folder) == fresh(folder), "is of what lies there")

    # H4: links, each beside what else they lead to: the same size and time, another content.
    same = ("model.c", "-o", "out", "--cache", str(SHARED))
    for number, name in enumerate(("m.safetensors", "sizes.h", "model.c")):
        folder = here / f"link{number}"
        fill(folder)
        one, two = folder / "one", folder / "two"
        shutil.copy2(folder / name, one)
        two.write_bytes({"m.safetensors": weights(0.5), "sizes.h": SIZES.replace("WIDTH 4", "WIDTH (4)").encode(),
                         "model.c": OTHER.encode()}[name])
        os.utime(two, ns=(os.stat(one).st_atime_ns, os.stat(one).st_mtime_ns))
        (folder / name).unlink()
        (folder / "in").mkdir()
        os.symlink("../one", folder / "in" / "link")
        os.symlink("in/link", folder / name)
        equal(said(tool(folder, *same, "--depfile", "model.d")), GOOD, f"{name} is a link to a link")
        named = depfile.read((folder / "model.d").read_text(), "out/model.o out/model.h")
        ok({str(folder / name), str(folder), str(folder / "in")} <= set(named),
           "the depfile names the link and the folders of both") or note(f"{named}")
        (folder / "in" / "link").unlink()
        os.symlink("../two", folder / "in" / "link")
        equal(said(tool(folder, *same)), GOOD, "another target")
        ok(outputs(folder) == fresh(folder), "is seen")
        (folder / name).unlink()
        equal(tool(folder, *same).returncode, 1, "a deleted link is missed")

    # M6: files that have no end, or none yet
    for number, (name, make) in enumerate((("a FIFO", lambda p: os.mkfifo(p)),
                                           ("a device", lambda p: os.symlink("/dev/zero", p)))):
        for victim, message in (("m.safetensors", "model.c:5: error: tc_weights: m.safetensors: is not a regular file"),
                                ("model.c", "model.c: error: not a regular file"),
                                ("model.tuning.lock", "model.tuning.lock: error: not a regular file")):
            folder = here / f"special{number}{victim}"
            fill(folder)
            equal(said(tool(folder, *same)), GOOD, "built")
            (folder / victim).unlink(missing_ok=True)
            make(folder / victim)
            failed = tool(folder, *same)
            ok(failed.returncode == 1 and message in failed.stderr, f"{victim} becomes {name}") or note(failed.stderr)
    os.mkfifo(here / "pipe")
    raises(UserError, lambda: record.Inputs(here).digest(here / "pipe"), "not a regular file", "nor is it hashed")
    failed = tool(folder, "model.c", "--out", "w", "--from", str(here / "pipe"), command="pack")
    equal(failed.returncode, 1, "nor packed")

    # The time of a file that was edited a moment ago tells nothing yet; of one that has settled, it does.
    for name, age, seen in (("young", 0, True), ("old", 10, False)):
        path, hashes = here / name, record.Hashes(here)
        path.write_text("1", encoding="utf-8")
        then = os.stat(path).st_mtime_ns - age * 10**9
        os.utime(path, ns=(then, then))
        first = hashes.of(path)
        path.write_text("2", encoding="utf-8")
        os.utime(path, ns=(then, then))
        equal(hashes.of(path) != first, seen, f"an edit that leaves the time of a {name} file is seen: {seen}")
done()
