# SPDX-License-Identifier: Apache-2.0
"""Depfiles in Make's syntax, as Ninja reads them."""
from __future__ import annotations

import re
from pathlib import Path
from typing import Iterable


def text(outputs: Iterable[str], inputs: Iterable[str]) -> str:
    """`outputs: inputs`, one input a line. Ninja matches the outputs to the names in its own file: give them as the
    command line did."""
    def quote(path: str) -> str:
        return re.sub(r"([ \\#:])", r"\\\1", str(path)).replace("\\:", ":").replace("$", "$$")

    return " ".join(map(quote, outputs)) + ": " + " \\\n  ".join(map(quote, inputs)) + "\n"


def model_inputs(model: Path, headers: Iterable[Path], weights: Iterable[Path], lock: Path, target_file: Path,
                 tool: Iterable[Path]) -> list[str]:
    """What a build depends on. A lock that does not exist yet must not be named (the build would never be up to date),
    but its appearing must be seen: the folder it would lie in is always named."""
    named = [model, lock.parent, *headers, *weights, target_file, *tool]
    if lock.exists():
        named.append(lock)
    return sorted({str(path) for path in named})
