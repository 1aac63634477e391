# SPDX-License-Identifier: Apache-2.0
"""Tuning locks of two branches, merged by git with `merge=union` as docs/tuning.md says: builds take the result."""
from __future__ import annotations

import itertools
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

from cases import matmul
from tap import done, equal, note, ok, raises, skip
from tensor_compile.compile import lock as locks
from tensor_compile import target as targets
from tensor_compile.compile.lock_cuda import ShapeTuning
from tensor_compile.emit.contraction import candidates as table
from tensor_compile.emit.contraction.key import kernel_key
from tensor_compile.errors import UserError

PAGE = Path(os.environ["TC_SOURCE_ROOT"]) / "docs" / "tuning.md"
TARGET = targets.load(targets.find("x86_64"))
KERNELS = {rows: matmul(rows, 384, 384) for rows in (61, 62, 63, 64, 65, 66)}
KEYS = {rows: kernel_key(kernel, "avx2", TARGET.name) for rows, kernel in KERNELS.items()}
USUAL = {rows: table.choose(kernel, "avx2", TARGET).name for rows, kernel in KERNELS.items()}
OTHER = {rows: next(c.name for c in table.legal(kernel, "avx2", TARGET) if c.name != USUAL[rows])
         for rows, kernel in KERNELS.items()}
FIRST = {rows: (OTHER[rows], 20.0) for rows in (61, 66)}   # what both branches begin with


def entries(chosen: dict[int, tuple[str, float]]) -> dict[str, locks.Entry]:
    """By rows: the candidate and its time."""
    return {KEYS[rows]: locks.Entry(KEYS[rows], name, time, False, "gcc 12.2.0", "0123abcd")
            for rows, (name, time) in chosen.items()}


class Repository:
    def __init__(self, folder: Path, attributes: str, first: str):
        self.folder, self.lock = folder, folder / "m.tuning.lock"
        folder.mkdir()
        self.git("init", "-q", "-b", "main")
        (folder / ".gitattributes").write_text(attributes, encoding="utf-8")
        self.commit(first)

    def git(self, *words: str) -> int:
        command = ["git", "-c", "user.name=a", "-c", "user.email=a@b", *words]
        environment = os.environ | {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1"}
        return subprocess.run(command, cwd=self.folder, env=environment, capture_output=True, check=False).returncode

    def commit(self, text: str) -> None:
        self.lock.write_text(text, encoding="utf-8")
        equal((self.git("add", "."), self.git("commit", "-qm", "tuned")), (0, 0), "a lock is committed")

    def merged(self, left: str, right: str) -> bool:
        """Whether git merges two branches of these texts without a conflict."""
        for branch, text in (("left", left), ("right", right)):
            self.git("checkout", "-qb", branch, "main")
            self.commit(text)
        return self.git("merge", "-q", "--no-edit", "left") == 0


def built(path: Path, mode: str, rows: tuple[int, ...]) -> tuple[list[str], list[str]]:
    """Schedules of a build, and what it says."""
    tuning = locks.Tuning.load(mode, path, TARGET)
    return [tuning.schedule(KERNELS[n], "avx2").name for n in rows], tuning.finish()


def attributes() -> str:
    (line,) = re.findall(r"^\*\.tuning\.lock .*$", PAGE.read_text(encoding="utf-8"), re.MULTILINE) or [""]
    equal(line, "*.tuning.lock merge=union", "the page recommends a line for .gitattributes")
    return line + "\n"


def added(folder: Path, line: str) -> None:
    """Each branch adds entries between the same two; both add one of them."""
    left, right = ({n: (OTHER[n], 12.5) for n in some} for some in ((62, 64), (63, 64, 65)))
    texts = [locks.print_entries(entries(FIRST | more)) for more in ({}, left, right)]
    plain = Repository(folder / "plain", "", texts[0])
    ok(not plain.merged(*texts[1:]), "without the line git reports a conflict")
    raises(UserError, lambda: built(plain.lock, "lock", ()), "a merge conflict that is not resolved", "a build, too")
    raises(UserError, lambda: built(plain.lock, "lock", ()), "*.tuning.lock merge=union", "which names the line")
    union = Repository(folder / "union", line, texts[0])
    ok(union.merged(*texts[1:]), "with it there is none")
    rows = tuple(KERNELS)
    for mode in ("lock", "frozen"):
        equal(built(union.lock, mode, rows), ([OTHER[n] for n in rows], []), f"{mode}: all entries decide")
    locks.renew(union.lock)
    equal(union.lock.read_text(encoding="utf-8"), locks.print_entries(entries(FIRST | left | right)),
          "tune writes what one branch with all entries would have")


def created(folder: Path, line: str) -> None:
    """The lock is new on both branches."""
    repository = Repository(folder / "created", line, "")
    repository.lock.unlink()
    repository.git("add", ".")
    repository.git("commit", "-qm", "no lock")
    texts = [locks.print_entries(entries({n: (OTHER[n], 12.5)})) for n in (62, 63)]
    ok(repository.merged(*texts), "a lock that both branches add")
    equal(built(repository.lock, "frozen", (62, 63)), ([OTHER[62], OTHER[63]], []), "a frozen build takes it")


def measured_again(folder: Path, line: str) -> None:
    """Both branches measure an entry again, with two choices; its neighbour is another one on one branch alone."""
    first = {62: (OTHER[62], 20.0), 63: (OTHER[63], 20.0)}
    left, right = {**first, 62: (USUAL[62], 11.0)}, {62: (OTHER[62], 10.0), 63: (USUAL[63], 15.0)}
    repository = Repository(folder / "again", line, locks.print_entries(entries(first)))
    ok(repository.merged(*(locks.print_entries(entries(some)) for some in (left, right))), "two choices of a key")
    for mode in ("lock", "frozen"):
        chosen, said = built(repository.lock, mode, (62, 63))
        equal(chosen, [OTHER[62], USUAL[63]], f"{mode}: the one of the least time is used")
        ok(f"m.tuning.lock: warning: two choices of one key: {KEYS[62]}: {OTHER[62]} is used, whose time is less, not "
           f"{USUAL[62]}; tensor-compile tune keeps that line alone" in "\n".join(said), f"{mode}: which is said") or \
            note(repr(said))
    locks.renew(repository.lock)
    equal(built(repository.lock, "lock", (62, 63)), ([OTHER[62], USUAL[63]], []), "tune leaves one line of each")


def doubled() -> None:
    """Lines of one key, in any order."""
    several = [locks.Entry(KEYS[62], name, time, emulated, "gcc 12.2.0", "0123abcd", unit)
               for name, time, emulated, unit in (("b", 12.5, False, "us"), ("b", 13.0, False, "us"),
                                                  ("a", 14.0, False, "us"), ("c", 1.0, True, "instructions"))]
    found = {repr(locks.parse("".join([f"{locks.HEADER}\n", *(e.text() for e in some)]), "x"))
             for some in itertools.permutations(several)}
    equal(len(found), 1, "the order of lines decides nothing")
    (entry,) = locks.parse(locks.HEADER + "\n" + "".join(e.text() for e in several), "x").values()
    equal((entry.candidate, entry.time, entry.beside), ("b", 12.5, ["a", "c"]), "the least time, emulated ones last")
    (entry,) = locks.parse(f"{locks.HEADER}\n{several[0].text() * 2}{several[1].text()}", "x").values()
    equal((entry.time, entry.beside), (12.5, []), "one choice with two times is one")


def ranked(folder: Path) -> None:
    """Which of two lines of a key is used, of other templates, compilers, units, and what is said of it."""
    ours, gpu, key = locks.templates_digest(), locks.gpu_templates_digest(), KEYS[62]
    for about, best, other, why in (
            ("lines of earlier templates come behind", (12.5, False, "us", ours), (9.0, False, "us", "0123abcd"),
             ", which was measured with this version's templates"),
            ("those of a GPU's have a digest of their own", (12.5, False, "us", gpu), (9.0, False, "us", "0123abcd"),
             ", which was measured with this version's templates"),
            ("of none of this version's the least time", (9.0, False, "us", "0123abcd"),
             (12.5, False, "us", "76543210"), ", whose time is less"),
            ("what was emulated comes behind, with whatever templates", (12.5, False, "us", "0123abcd"),
             (9.0, True, "us", ours), ", which was not emulated"),
            ("a count says more than a time", (5e6, False, "cycles", ours), (9.0, False, "us", ours),
             ", of which cycles are known"),
            ("an emulator's, too", (5e6, True, "instructions", ours), (9.0, True, "us", ours),
             ", of which instructions are known"),
            ("templates count more than units", (9.0, False, "us", ours), (5e6, False, "cycles", "0123abcd"),
             ", which was measured with this version's templates")):
        lines = [locks.Entry(key, name, time, emulated, "gcc 12.2.0", templates, unit)
                 for name, (time, emulated, unit, templates) in ((OTHER[62], best), (USUAL[62], other))]
        path = folder / "ranked.lock"
        for some in (lines, lines[::-1]):
            path.write_text("".join([f"{locks.HEADER}\n", *(e.text() for e in some)]), encoding="utf-8")
            chosen, said = built(path, "lock", (62,))
            equal((chosen, said), ([OTHER[62]], [
                f"{path}: warning: two choices of one key: {key}: {OTHER[62]} is used{why}, not {USUAL[62]}; "
                "tensor-compile tune keeps that line alone"]), about)


def others_targets(folder: Path) -> None:
    """What a lock has of other targets is nothing to a build: it does not use it."""
    path = folder / "others.lock"
    for name, warned in (("x86_64/avx2", True), ("x86_64/avx512", True), ("x86_64", True), ("aarch64/neon", False),
                         ("x86_64_v4", False), ("my-x86_64/avx2", False)):
        key = KEYS[62].replace("x86_64/avx2", name)
        lines = [locks.Entry(key, choice, time, False, "gcc 12.2.0", "0123abcd").text()
                 for choice, time in ((OTHER[62], 9.0), (USUAL[62], 12.5))]
        path.write_text("".join([f"{locks.HEADER}\n", *lines]), encoding="utf-8")
        equal(len(locks.Tuning.load("lock", path, TARGET).finish()), warned, f"two choices of a key of {name}")


def other_toolkits(folder: Path) -> None:
    """A build for a GPU uses the line of its toolkit."""
    path, target = folder / "toolkits.lock", targets.load(targets.find("cuda-sm90"))
    key = "rows f32 rows=128 points=768 nest=5c0e41d2 target=cuda-sm90/sm_90a"
    lines = [locks.Entry(key, name, time, False, f"{toolkit} on NVIDIA H100", locks.gpu_templates_digest())
             for name, time, toolkit in (("a", 9.0, "nvcc 12.4"), ("b", 12.5, "nvcc 13.0"), ("c", 14.0, "nvcc 13.0"))]
    path.write_text("".join([f"{locks.HEADER}\n", *(e.text() for e in lines)]), encoding="utf-8")
    for toolkit, used, why in (("nvcc 12.4", "a", ", whose time is less"), ("nvcc 11.8", "a", ", whose time is less"),
                               ("nvcc 13.0", "b", ", which was measured with nvcc 13.0 on NVIDIA H100")):
        tuning = ShapeTuning.load("lock", path, target, lambda toolkit=toolkit: toolkit)
        equal(tuning.entries[key].candidate, used, f"of two toolkits, with {toolkit}")
        (said,) = tuning.finish()
        ok(f"{used} is used{why}, not " in said, "which is said") or note(said)


def earlier(folder: Path, line: str) -> None:
    """A branch still has a lock of version 1."""
    def version_1(text: str) -> str:
        return text.replace("lock 2", "lock 1").replace(" -> ", "\n  ")
    left, right = {62: (OTHER[62], 12.5)}, {63: (OTHER[63], 12.5)}
    repository = Repository(folder / "earlier", line, version_1(locks.print_entries(entries(FIRST))))
    ok(repository.merged(locks.print_entries(entries(FIRST | left)),
                         version_1(locks.print_entries(entries(FIRST | right)))), "entries of one and of two lines")
    equal(built(repository.lock, "frozen", (61, 62, 63, 66)), ([OTHER[n] for n in (61, 62, 63, 66)], []),
          "a frozen build takes them")


doubled()
with tempfile.TemporaryDirectory() as made:
    for of_lines in (ranked, others_targets, other_toolkits):
        of_lines(Path(made))
recommended = attributes()
if shutil.which("git") is None:
    skip("merges", "no git")
else:
    with tempfile.TemporaryDirectory() as name:
        for check in (added, created, measured_again, earlier):
            check(Path(name), recommended)
done()
