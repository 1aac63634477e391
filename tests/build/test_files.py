# SPDX-License-Identifier: Apache-2.0
"""Outputs are whole or absent; digests do not depend on places; depfiles read as Make reads them."""
import os
import tempfile
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
