# SPDX-License-Identifier: Apache-2.0
"""Outputs are whole or absent; digests do not depend on places; depfiles read as Make reads them."""
import os
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tap import done, equal, raises, skip
from tensor_compile.compile import depfile, files
from tensor_compile.errors import UserError

with tempfile.TemporaryDirectory() as folder:
    root = Path(folder)
    out = root / "sub" / "out.o"
    files.write(out, b"one")
    files.write(out, "two")
    equal(out.read_bytes(), b"two", "an output is replaced")
    equal(os.listdir(out.parent), ["out.o"], "nothing lies beside it")
    files.write(out, iter((b"in ", b"parts")))
    equal(out.read_bytes(), b"in parts", "an output is written in parts")

    def failing():
        yield b"half"
        raise OSError(28, "No space left on device")

    raises(UserError, lambda: files.write(out, failing()), "cannot write: No space left", "a failure in the middle")
    equal((out.read_bytes(), os.listdir(out.parent)), (b"in parts", ["out.o"]),
          "leaves the old output, and nothing else")
    for name, place in (("one file system", root), ("two file systems", Path("/dev/shm"))):
        if place != root and (not os.access(place, os.W_OK) or os.stat(place).st_dev == os.stat(root).st_dev):
            skip(f"moved within {name}", "there is no second one")
            continue
        with tempfile.TemporaryDirectory(dir=place) as other:
            (Path(other) / "made.o").write_bytes(b"moved")
            with files.Outputs() as outputs:
                outputs.move(Path(other) / "made.o", out)
            equal((out.read_bytes(), os.listdir(other), os.listdir(out.parent)), (b"moved", [], ["out.o"]),
                  f"moved within {name}")
    blocked = root / "folder"
    (blocked / "out.h").mkdir(parents=True)
    raises(UserError, lambda: files.write(blocked / "out.h", "x"), "cannot write", "a folder in the output's place")
    equal(os.listdir(blocked), ["out.h"], "leaves nothing behind")

    def blocked_together() -> None:
        with files.Outputs() as outputs:
            outputs.write(blocked / "out.o", "new")
            outputs.write(blocked / "out.h", "new")

    raises(UserError, blocked_together, "cannot write: Is a directory", "one of two outputs cannot take its place")
    equal(os.listdir(blocked), ["out.h"], "neither does the other")
    (root / "file").write_text("")
    raises(UserError, lambda: files.write(root / "file" / "out.h", "x"), "cannot write", "a file in the folder's place")
    raises(UserError, lambda: files.write(Path("/proc/self/nothing/out.h"), "x"), "cannot write", "an unwritable place")

    # What is no regular file is written, never replaced; of a link the target is replaced.
    links = root / "links"
    (links / "of").mkdir(parents=True)
    pipe, link, target = links / "pipe", links / "link", links / "of" / "target"
    os.mkfifo(pipe)
    (links / "to_pipe").symlink_to("pipe")
    with ThreadPoolExecutor() as readers:
        for place in (pipe, links / "to_pipe"):
            read = readers.submit(pipe.read_bytes)
            files.write(place, iter((b"in ", b"parts")))
            equal((read.result(), pipe.is_fifo()), (b"in parts", True), f"{place.name}: a FIFO is written")
        read = readers.submit(pipe.read_bytes)
        with files.Outputs() as outputs:
            (links / "made").write_bytes(b"moved")
            outputs.move(links / "made", pipe)
            outputs.write(target, b"beside it")
        equal((read.result(), pipe.is_fifo(), target.read_bytes()), (b"moved", True, b"beside it"), "or moved there")
        read = readers.submit(lambda: os.close(os.open(pipe, os.O_RDONLY)))
        raises(UserError, lambda: files.write(pipe, iter([b"x" * (1 << 16)] * 64)), "cannot write: Broken pipe",
               "a reader that leaves is an error")
    link.symlink_to("of/target")
    files.write(link, b"new")
    equal((os.readlink(link), target.read_bytes(), target.is_symlink()), ("of/target", b"new", False),
          "a link's target is replaced")
    raises(UserError, lambda: files.write(link, failing()), "cannot write", "a failure in the middle")
    equal((target.read_bytes(), os.listdir(links / "of")), (b"new", ["target"]), "leaves the target")
    target.unlink()
    files.write(link, b"again")
    equal((link.is_symlink(), target.read_bytes()), (True, b"again"), "or is made where there is none")
    equal(sorted(os.listdir(links)), ["link", "of", "pipe", "to_pipe"], "nothing lies beside them")
    files.write(link, b"a record", ours=True)
    equal((link.is_symlink(), target.read_bytes()), (False, b"again"), "a place of the tool alone is replaced")

    for place in ("a", "b"):
        (root / place / "deep").mkdir(parents=True)
        (root / place / "deep" / "x").write_text("same")
    equal(files.tree_digest([root / "a"]), files.tree_digest([root / "b"]), "equal trees have equal digests")
    (root / "b" / "deep" / "x").rename(root / "b" / "deep" / "y")
    equal(files.tree_digest([root / "a"]) == files.tree_digest([root / "b"]), False, "names count")
    equal(files.digest("ab", "c") == files.digest("a", "bc"), False, "parts are delimited")

    equal(depfile.text(["out.o", "out.h"], ["a b.c", "x#y", "$z"]), "out.o out.h: a\\ b.c \\\n  x\\#y \\\n  $$z\n",
          "blanks, # and $ are quoted")
    model, lock = root / "m" / "model.c", root / "m" / "model.tuning.lock"
    model.parent.mkdir()
    model.write_text("")
    root = root.resolve()
    model, lock = root / "m" / "model.c", root / "m" / "model.tuning.lock"
    named = depfile.model_inputs(model, [], [], lock, root / "t.toml", [])
    equal(named, (sorted([str(model), str(root / "t.toml")]), [str(model.parent)]),
          "a missing lock is not named, but its folder is")
    lock.write_text("")
    equal(str(lock) in depfile.model_inputs(model, [], [], lock, root / "t.toml", [])[0], True, "an existing one is")
    # What GCC and Clang write; GCC quotes a colon from version 14 on.
    for text, want in (("t: a b \\\n  c\n", ["a", "b", "c"]), ("t: a\\ b\n", ["a b"]),
                       ("t: a\\#b $$c\n", ["a#b", "$c"]),
                       ("t: a\\b\n", ["a\\b"]), ("t: a\\\\\\ b\n", ["a\\ b"]), ("t: a:b\n", ["a:b"]),
                       ("t: a\\:b\n", ["a\\:b"]), ("t:\n", []), ("t: a", ["a"]), ("t: \\\n a\\\n b\n", ["a", "b"])):
        equal(depfile.read(text, "t"), want, f"read: {text!r}")
done()
