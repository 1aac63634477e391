# SPDX-License-Identifier: Apache-2.0
"""Depfiles in Make's syntax: written as Ninja reads them, and read as compilers write them."""
from __future__ import annotations

import os
import re
from collections import deque
from pathlib import Path
from typing import Iterable

MOST_LINKS = 40


def text(outputs: Iterable[str], inputs: Iterable[str]) -> str:
    """`outputs: inputs`, one input a line. Ninja matches the outputs to the names in its own file: give them as the
    command line did. A backslash stands for itself but before a blank, # and a colon; a colon ends the outputs only
    before a blank."""
    def quote(path: str) -> str:
        path = re.sub(r"(\\*)([ \t])", r"\1\1\\\2", path)
        return re.sub(r"(\\*#|\\+:)", r"\\\1", path).replace("$", "$$")

    return " ".join(map(quote, outputs)) + ": " + " \\\n  ".join(map(quote, inputs)) + "\n"


def read(text: str, target: str) -> list[str]:
    """The inputs of a depfile of GCC's or Clang's for `target`, which has nothing to quote (-MT). One backslash before
    a colon stays: some versions of GCC quote a colon so, others write what is in the name."""
    rest = text.removeprefix(f"{target}:")
    found, word = [], ""
    for slashes, char in re.findall(r"(\\*)([^\\]|$)", rest, re.S):
        count = len(slashes)
        if char == "\n" and count:      # the line goes on
            count, char = count - 1, " "
            word += "\\" * count
        elif char in (" ", "\t") and count:
            word += "\\" * (count // 2)
            if count % 2:
                word += char
                continue
        elif char == "#" and count or char == ":" and count > 1:
            word += "\\" * (count - 1)
        else:
            word += slashes
        if char and char in " \t\n":
            if word:
                found.append(word)
            word = ""
        else:
            word += char
    return [w.replace("$$", "$") for w in [*found, word] if w]


def link_folders(path: Path) -> set[Path]:
    """The folders of the symbolic links on the way to an absolute path: their times tell that a link was changed."""
    found: set[Path] = set()
    here, parts, links = Path(path.anchor), deque(path.parts[1:]), 0
    while parts and links < MOST_LINKS:
        part = parts.popleft()
        if part == "..":
            here = here.parent
        elif (here / part).is_symlink():
            found.add(here)
            links += 1
            target = Path(os.readlink(here / part))
            if target.is_absolute():
                here = Path(target.anchor)
            parts.extendleft(reversed([p for p in target.parts if p != target.anchor]))
        else:
            here /= part
    return found


def model_inputs(model: Path, headers: Iterable[Path], weights: Iterable[Path], lock: Path, target_file: Path,
                 tool: Iterable[Path]) -> tuple[list[str], list[str]]:
    """What a build depends on: files and folders. A lock that does not exist yet must not be named (the build would
    never be up to date), but its appearing must be seen: the folder it would lie in is always named."""
    named = [model, *headers, *weights, target_file]
    if os.path.exists(lock):
        named.append(lock)
    folders = {lock.parent}.union(*map(link_folders, named))
    return sorted({str(path) for path in [*named, *tool]}), sorted(map(_folder_name, folders))


def _folder_name(folder: Path) -> str:
    """A last character that would end the name, or quote what is behind it, is not the last one."""
    return f"{folder}/." if str(folder).endswith((":", "\\")) else str(folder)
