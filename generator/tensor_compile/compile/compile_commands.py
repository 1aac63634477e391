# SPDX-License-Identifier: Apache-2.0
"""compile_commands.json: how model.c is compiled, so that an editor finds the operations, macros and headers in it.

Meson writes the file when it configures and lists what its own rules compile; each build of a model adds that model,
and generator/compile-commands adds all known ones again after a configuration.
"""
from __future__ import annotations

import fcntl
import json
from pathlib import Path
from typing import Iterable

from ..errors import UserError
from . import editor_headers, files
from .capture_run import command, source
from .imported import is_foreign
from .options import Options


def _entry(options: Options, headers: Path) -> dict[str, object]:
    """The model as it is compiled to be recorded, with headers for editors; output: the object, which tells builds of
    one model apart."""
    model = Path(options.model)
    return {"directory": str(model.parent), "file": str(model), "output": options.object,
            "arguments": [*command(options.host_cc, options.preprocessor, headers), "-c", source(model)]}


def update(path: Path, cache: Path, builds: Iterable[Options]) -> None:
    """Puts the builds' models into the file, which is made where it is not there; other entries stay. cache: the folder
    whose builds take turns."""
    written = [options for options in builds if not is_foreign(options.model)]
    if not written:
        return
    headers = editor_headers.folder(cache)
    found = {options.object: _entry(options, headers) for options in written}
    try:
        cache.mkdir(parents=True, exist_ok=True)
        turn = open(cache / "compile_commands.lock", "w", encoding="utf-8")
    except OSError as error:
        raise UserError(f"cannot write: {error.strerror}", str(cache)) from None
    with turn:
        fcntl.flock(turn, fcntl.LOCK_EX)
        try:
            entries = json.loads(path.read_text(encoding="utf-8")) if path.exists() else []
            kept = [e for e in entries if e.get("output") not in found]
        except (OSError, ValueError, AttributeError, TypeError) as error:
            raise UserError(f"cannot be read as a list of compile commands: {error}", str(path)) from None
        # By output, whichever build ended first.
        entries = sorted(kept + list(found.values()), key=lambda e: str(e.get("output")))
        files.write_if_changed(path, json.dumps(entries, indent=2) + "\n")
