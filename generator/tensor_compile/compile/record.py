# SPDX-License-Identifier: Apache-2.0
"""Records of builds, one a model, under the cache: what was asked for, so that `tune -C builddir` finds every model,
and what went in and came out, so that an unchanged model is recognised without reading any weights.

Inputs are recognised by size and time, and by content where the time alone has changed. A build hashes each of them
before it reads it: one that is edited meanwhile is recorded as what was read, or as changed.
"""
from __future__ import annotations

import json
import os
import time
from dataclasses import replace
from pathlib import Path
from typing import Any, Iterable, Iterator

from ..errors import UserError
from . import files
from .cache import recall, remember
from .options import Options

TICK = 100_000_000   # nanoseconds: an edit within one after another may leave the file's time as it is
CHANGED = "changed"  # the digest of an input that was edited while the build ran: no file has it
FOLDER = "folder"    # that of a folder


class Hashes:
    """Content hashes of files, remembered by what the path leads to, size, time and inode (cache/hashes.json)."""

    def __init__(self, cache: Path):
        self.path = cache / "hashes.json"
        self.changed = False
        self._folders: dict[str, str] = {}  # what they lead to
        self.known: dict[str, list[Any]] = {name: entry for name, entry in recall(self.path).items()
                                       if isinstance(entry, list) and len(entry) == 4}

    def _place(self, path: Path) -> str:
        """What the path leads to: files of one size and time are told apart when a link is changed."""
        folder, name = os.path.split(path)
        if folder not in self._folders:
            self._folders[folder] = os.path.realpath(folder)
        return os.path.realpath(path) if os.path.islink(path) else os.path.join(self._folders[folder], name)

    @staticmethod
    def _state(path: Path) -> list[int]:
        stat = os.stat(path)
        return [stat.st_size, stat.st_mtime_ns, stat.st_ino]

    def of(self, path: Path, ours: bool = False) -> str:
        """ours: written by this process, which nobody edits at the same time."""
        if path.is_dir():
            return FOLDER
        place, state = self._place(path), self._state(path)
        entry = self.known.get(place)
        if entry and entry[:3] == state:
            return str(entry[3])
        digest = files.file_digest(path)
        if ours or time.time_ns() - state[1] > TICK:
            self.known[place] = [*state, digest]
            self.changed = True
        return digest

    def renew(self, path: Path) -> None:
        """Takes the path's present time for what is known of it (its time alone was changed)."""
        place = self._place(path)
        if place in self.known:
            self.known[place][:3] = self._state(path)
            self.changed = True

    def save(self) -> None:
        if self.changed:
            remember(self.path, self.known)


class Inputs:
    """What a build reads: `digest` before each is read, `digests` at the end."""

    def __init__(self, cache: Path):
        self.hashes = Hashes(cache)
        self._seen: dict[Path, tuple[tuple[int, ...], str]] = {}

    def digest(self, path: Path) -> str:
        """The content's, as it was when it was asked for first."""
        if path not in self._seen:
            state = _state(path)
            self._seen[path] = state, self.hashes.of(path)
        return self._seen[path][1]

    def read_unseen(self, path: Path) -> None:
        """The path was read without having been hashed before."""
        self._seen.setdefault(path, ((), CHANGED))

    def changed(self, path: Path) -> bool:
        """Whether it is not what was hashed any more."""
        try:
            return self._seen[path][0] != _state(path)
        except OSError:
            return True

    def check_unchanged(self, paths: Iterable[Path]) -> None:
        """Raises where one was edited since: what was made of it must not be kept under its digest."""
        for path in paths:
            if self.changed(path):
                raise UserError("changed while it was read", str(path), "build again")

    def digests(self) -> dict[str, str]:
        return {str(path): CHANGED if self.changed(path) else digest for path, (_, digest) in self._seen.items()}


def _state(path: Path) -> tuple[int, ...]:
    stat = os.stat(path)
    return stat.st_dev, stat.st_ino, stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns


def _place(options: Options) -> Path:
    return Path(options.cache) / "builds" / (files.digest(options.object)[:40] + ".json")


def write(options: Options, inputs: Inputs, folders: Iterable[str], outputs: Iterable[Path]) -> None:
    """folders: of which it counts that they are there."""
    record = {
        "options": json.loads(options.text()),
        "inputs": {**inputs.digests(), **dict.fromkeys(folders, FOLDER)},
        "outputs": {str(path): inputs.hashes.of(path, ours=True) for path in outputs},
    }
    inputs.hashes.save()
    remember(_place(options), record)


def renew(options: Options, more_inputs: Iterable[Path]) -> list[str] | None:
    """Where the last build of this object was asked the same and no input or output changed since: gives the outputs
    the present time, as Ninja expects of a command that it ran, and returns the inputs; None otherwise.

    more_inputs: what must be among the recorded inputs (a lock that has appeared, every file of the tool).
    """
    record = recall(_place(options))
    try:
        inputs, outputs = record["inputs"], record["outputs"]
        if record["options"] != json.loads(options.text()) or any(str(p) not in inputs for p in more_inputs):
            return None
        hashes = Hashes(Path(options.cache))
        same = all(hashes.of(Path(path)) == known for path, known in [*inputs.items(), *outputs.items()])
        if same:
            for path in outputs:
                os.utime(path)
                hashes.renew(Path(path))
        hashes.save()
        return list(inputs) if same else None
    except (OSError, UserError, KeyError):
        return None


def builds(folder: Path) -> Iterator[Options]:
    """The options of every model built under a build directory (or in the cache itself), in the models' order. Messages
    name the models from here: a build tool names them from its own folder."""
    found: list[Options] = []
    for place in sorted({*folder.glob(".tensor-compile/builds/*.json"), *folder.glob("*/.tensor-compile/builds/*.json"),
                         *folder.glob("builds/*.json")}):
        try:
            options = Options.parse(json.dumps(recall(place)["options"]))
        except (ValueError, KeyError, TypeError):
            continue
        if Path(options.model).exists():
            found.append(replace(options, shown=os.path.relpath(options.model)))
    yield from sorted(found, key=lambda o: (o.model, o.object))
