# SPDX-License-Identifier: Apache-2.0
"""Records of builds, one a model, under the cache: what was asked for, so that `tune -C builddir` finds every model,
and what went in and came out, so that an unchanged model is recognised without reading any weights.

Inputs are recognised by size and time, and by content where the time alone has changed.
"""
from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Iterable, Iterator

from . import files
from .options import Options


class Hashes:
    """Content hashes of files, remembered by path, size and time (cache/hashes.json)."""

    def __init__(self, cache: Path):
        self.path = cache / "hashes.json"
        self.changed = False
        try:
            self.known: dict[str, list] = json.loads(self.path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            self.known = {}

    def of(self, path: Path) -> str:
        if path.is_dir():
            return "folder"
        stat = os.stat(path)
        entry = self.known.get(str(path))
        if not entry or entry[:2] != [stat.st_size, stat.st_mtime_ns]:
            entry = [stat.st_size, stat.st_mtime_ns, files.file_digest(path)]
            self.known[str(path)] = entry
            self.changed = True
        return entry[2]

    def renew(self, path: Path) -> None:
        """Takes the path's present time for what is known of it (its time alone was changed)."""
        if str(path) in self.known:
            stat = os.stat(path)
            self.known[str(path)][:2] = [stat.st_size, stat.st_mtime_ns]
            self.changed = True

    def save(self) -> None:
        if self.changed:
            files.write(self.path, json.dumps(self.known, sort_keys=True))


def _place(options: Options) -> Path:
    return Path(options.cache) / "builds" / (files.digest(options.object)[:40] + ".json")


def write(options: Options, inputs: Iterable[Path], outputs: Iterable[Path]) -> None:
    hashes = Hashes(Path(options.cache))
    record = {
        "options": json.loads(options.text()),
        "inputs": {str(path): hashes.of(path) for path in inputs},
        "outputs": {str(path): hashes.of(path) for path in outputs},
    }
    hashes.save()
    files.write(_place(options), json.dumps(record, sort_keys=True, indent=1))


def renew(options: Options, more_inputs: Iterable[Path]) -> list[str] | None:
    """Where the last build of this object was asked the same and no input or output changed since: gives the outputs
    the present time, as Ninja expects of a command that it ran, and returns the inputs; None otherwise.

    more_inputs: what must be among the recorded inputs (a lock that has appeared, every file of the tool).
    """
    try:
        record = json.loads(_place(options).read_text(encoding="utf-8"))
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
    except (OSError, ValueError, KeyError, TypeError):
        return None


def builds(folder: Path) -> Iterator[Options]:
    """The options of every model built under a build directory (or in the cache itself), in the models' order."""
    found: list[Options] = []
    for place in sorted({*folder.glob(".tensor-compile/builds/*.json"), *folder.glob("*/.tensor-compile/builds/*.json"),
                         *folder.glob("builds/*.json")}):
        try:
            options = Options.parse(json.dumps(json.loads(place.read_text(encoding="utf-8"))["options"]))
        except (OSError, ValueError, KeyError, TypeError):
            continue
        if Path(options.model).exists():
            found.append(options)
    yield from sorted(found, key=lambda o: (o.model, o.object))
