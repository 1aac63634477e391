# SPDX-License-Identifier: Apache-2.0
"""model.c and its weights, as text and as a stream of bytes; and whether what lies there is the user's by now."""
from __future__ import annotations

import hashlib
import re
from pathlib import Path
from typing import Iterator, Sequence

from ..errors import UserError
from ..records import dataclass
from .program import Program, without_dead
from .scopes import part
from .source import Writer, comment_text, numbered
from .weights import Weights

_SEAL = re.compile(r"^ \* sha256 of the lines below: ([0-9a-f]{64})\n", re.M)


@dataclass(frozen=True, slots=True)
class Written:
    """What an import gives. sources: the files that it read besides the model."""

    text: str
    weights: Weights
    sources: tuple[Path, ...] = ()

    def blocks(self) -> Iterator[bytes]:
        return self.weights.blocks()


def write(programs: Sequence[Program], weights_name: str, comment: Sequence[str], model: str = "",
          sources: tuple[Path, ...] = ()) -> Written:
    """The source of the programs. model: the name of a model without outputs, whose functions they all are; "": the
    first program is the model."""
    weights = Weights()
    writer = Writer(weights, weights_name)
    for program in programs:
        writer.reserve(program.name)
    lines: list[str] = []
    if model:
        lines += [f"TC_MODEL({model})", "{", "}", ""]
    for program in programs:
        for dim in program.dims.declared:
            writer.reserve(dim)
    for i, program in enumerate(programs):
        program.statements = without_dead(program.statements, [v.number for _, v in program.outputs])
        parted = part(program, writer.function_name)
        writer.name_weights(program)
        for function in parted.functions:
            lines += writer.function(function, program)
        if program.comment:
            lines += ["/* " + "\n * ".join(map(comment_text, program.comment)) + " */"]
        lines += [*writer.entry(program, parted.main, not model and i == 0), ""]
    code = re.sub(r'"(?:[^"\\]|\\.)*"|/\*.*?\*/', "", "\n".join(lines), flags=re.S)
    includes = ["#include <math.h>", ""] if re.search(r"\b(?:INFINITY|NAN)\b", code) else []
    head = [f" * {comment_text(line)}".rstrip() for line in comment]
    head += [" *", " * Change what you like: no command replaces what is no longer as it wrote it.",
             " * sha256 of the lines below: "]
    body = "\n".join(numbered([*includes, "#include <tensor_compile/model.h>", "", *lines], len(head) + 1))
    seal = hashlib.sha256(body.encode()).hexdigest()
    return Written("/*" + "\n".join(head)[2:] + f"{seal}\n */\n{body}", weights, sources)


def check_untouched(path: Path, shown: str, writer: str = "an import") -> None:
    """Raises where a file lies there that neither an import nor `quantize` wrote, or that was changed since. writer:
    what would take its place."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return
    except (OSError, UnicodeDecodeError):
        text = ""
    found = _SEAL.search(text)
    rest = text[text.index(" */\n", found.end()) + 4:] if found and " */\n" in text[found.end():] else ""
    if not found or hashlib.sha256(rest.encode()).hexdigest() != found[1]:
        raise UserError(f"it was changed since {writer} wrote it, or something else wrote it", shown,
                        "--force overwrites it; -o names another folder")
