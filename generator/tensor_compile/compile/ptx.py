# SPDX-License-Identifier: Apache-2.0
"""Portable code of several kernels -> that of one module: nvcc makes a module of each, and the driver loads one.

Modules have the same names for what is private to them (tables, functions that were not inlined, memory of blocks):
what is equal in two is there once, what differs gets another name.
"""
from __future__ import annotations

import re
from typing import Iterable, Iterator, Sequence

from ..records import dataclass

NAME = r"[A-Za-z_$%][\w$]*"
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_HEAD = re.compile(r"\s*\.version[^\n]*\n\s*\.target[^\n]*\n\s*\.address_size[^\n]*\n")
_STOP = re.compile(r'[{};]|"[^"]*"')
_FUNCTION = re.compile(rf"\.(?:entry|func)\s+(?:\([^)]*\)\s*)?({NAME})")
_VARIABLE = re.compile(rf"({NAME})\s*(?:\[[^]]*\]\s*)*(?:=|;)")


class Malformed(ValueError):
    """Text that is not as nvcc writes it."""


@dataclass(frozen=True, slots=True)
class Module:
    """head: version, target and size of addresses; parts: the texts that are of each name, in order; what has none
    (a pragma) is under its own text."""

    head: str
    parts: dict[str, tuple[str, ...]]

    @staticmethod
    def read(text: str) -> Module:
        text = _COMMENT.sub("", text)
        head = _HEAD.match(text)
        if not head:
            raise Malformed("no version, target and size of addresses at the beginning")
        parts: dict[str, tuple[str, ...]] = {}
        for statement in _statements(text[head.end():]):
            name = _name(statement)
            parts[name] = (*parts.get(name, ()), statement)
        return Module(head[0].strip(), parts)

    def renamed(self, names: Iterable[str], suffix: str) -> Module:
        """The same, with other names in the place of these."""
        words = re.compile(rf"(?<![\w$%])(?:{'|'.join(map(re.escape, names))})(?![\w$])")

        def of(text: str) -> str:
            return words.sub(rf"\g<0>{suffix}", text)

        return Module(self.head, {of(name): tuple(map(of, texts)) for name, texts in self.parts.items()})


def merge(texts: Sequence[str]) -> str:
    """One module of these: of all that they have, and what is equal in several once."""
    modules = [Module.read(text) for text in texts]
    heads = {module.head for module in modules}
    if len(heads) != 1:
        raise Malformed(f"modules of {len(heads)} kinds")
    there: dict[str, tuple[str, ...]] = {}
    for number, module in enumerate(modules):
        there |= _apart(module, there, f"_{number}").parts
    return "\n\n".join([heads.pop(), *(text for texts in there.values() for text in texts), ""])


def _apart(module: Module, there: dict[str, tuple[str, ...]], suffix: str) -> Module:
    """The module, where names that are there already mean the same. Who calls what is renamed differs, too."""
    differ: set[str] = set()
    while True:
        made = module.renamed(sorted(differ), suffix) if differ else module
        more = {name for name, texts in made.parts.items() if there.get(name, texts) != texts}
        if not more:
            return made
        if any(".entry" in text or text.startswith(".visible") for name in more for text in made.parts[name]):
            raise Malformed(f"two modules have {', '.join(sorted(more))}")
        differ |= more


def _statements(text: str) -> Iterator[str]:
    """What stands at the top: it ends with a semicolon, or is a function with its body."""
    depth = start = 0
    for found in _STOP.finditer(text):
        depth += {"{": 1, "}": -1}.get(found[0], 0)
        if depth or found[0] not in (";", "}"):
            continue
        if found[0] == "}" and "=" in text[start:text.index("{", start)]:   # of a table's elements
            continue
        yield text[start:found.end()].strip()
        start = found.end()
    if depth or text[start:].strip():
        raise Malformed("the end of a statement is missing")


def _name(statement: str) -> str:
    found = _FUNCTION.search(statement) or _VARIABLE.search(statement)
    return found[1] if found else statement
