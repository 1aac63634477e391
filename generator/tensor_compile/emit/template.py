# SPDX-License-Identifier: Apache-2.0
"""Text templates (templates/**/*.c.in): plain C with `${name}`, `${item.field}` and whole-line directives.

    %for x in list       the lines up to %end once for each item; `x` names it
    %if name             the lines up to %end (or %else) where the value is true; `%if not name` where it is not
    %end
    %# text              a remark for the reader of the template

A value is looked up among the parameters and loop variables; a dotted name reads fields (or keys). Nothing is
computed in a template: what differs is prepared by the caller. A value of several lines keeps the indentation of the
place where it stands. An unknown name is an error, and so is a directive without its end.
"""
from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path
from typing import Any, Mapping, Union

from ..records import dataclass

TEMPLATES = Path(__file__).resolve().parents[3] / "templates"
_NAME = re.compile(r"\$\{([A-Za-z_][\w.]*)\}")
_FOR = re.compile(r"for (\w+) in ([\w.]+)$")
_IF = re.compile(r"if (not )?([\w.]+)$")


class TemplateError(Exception):
    """The template and its parameters do not fit: always our own mistake."""


def expand(text: str, parameters: Mapping[str, Any]) -> str:
    return _text(_parse(text), parameters)


def expand_file(name: str, parameters: Mapping[str, Any]) -> str:
    """The template `name` under templates/, expanded."""
    try:
        return _text(_read(name), parameters)
    except TemplateError as error:
        raise TemplateError(f"{name}: {error}") from None


@dataclass(frozen=True, slots=True)
class _Line:
    """parts: literal text and dotted names in turn; indent: what further lines of a value start with."""

    at: int
    indent: str
    parts: tuple[str | tuple[str, ...], ...]


Block = tuple[Union["_Line", "_For", "_If"], ...]


@dataclass(frozen=True, slots=True)
class _For:
    at: int
    name: str
    items: tuple[str, ...]
    body: Block


@dataclass(frozen=True, slots=True)
class _If:
    at: int
    name: tuple[str, ...]
    negated: bool
    body: Block
    otherwise: Block


def _text(block: Block, parameters: Mapping[str, Any]) -> str:
    out: list[str] = []
    _expand(block, dict(parameters), out)
    return "".join(f"{line}\n" for line in out)


@lru_cache(maxsize=None)
def _read(name: str) -> Block:
    return _parse((TEMPLATES / name).read_text(encoding="utf-8"))


def _parse(text: str) -> Block:
    lines = text.splitlines()
    block, end = _block(lines, 0)
    if end != len(lines):
        raise TemplateError(f"line {end + 1}: {lines[end].strip()} without a beginning")
    return block


def _block(lines: list[str], at: int) -> tuple[Block, int]:
    """The lines up to the %else or %end that closes them (or the end of the text), and its number."""
    out: list[_Line | _For | _If] = []
    while at < len(lines):
        line = lines[at].strip()
        if not line.startswith("%"):
            out.append(_line(lines[at], at))
            at += 1
            continue
        directive = line[1:].strip()
        if directive in ("end", "else"):
            break
        if directive.startswith("#"):
            at += 1
        elif match := _FOR.match(directive):
            body, end = _block(lines, at + 1)
            out.append(_For(at, match[1], tuple(match[2].split(".")), body))
            at = _closed(lines, end, at, "end")
        elif match := _IF.match(directive):
            body, end = _block(lines, at + 1)
            otherwise: Block = ()
            if end < len(lines) and lines[end].strip() == "%else":
                otherwise, end = _block(lines, end + 1)
            out.append(_If(at, tuple(match[2].split(".")), bool(match[1]), body, otherwise))
            at = _closed(lines, end, at, "end")
        else:
            raise TemplateError(f"line {at + 1}: unknown directive: {line}")
    return tuple(out), at


def _closed(lines: list[str], end: int, begin: int, word: str) -> int:
    if end >= len(lines) or lines[end].strip() != f"%{word}":
        raise TemplateError(f"line {begin + 1}: {lines[begin].strip()} has no %{word}")
    return end + 1


def _line(line: str, at: int) -> _Line:
    pieces = _NAME.split(line)
    parts = tuple(tuple(piece.split(".")) if i % 2 else piece for i, piece in enumerate(pieces) if piece)
    return _Line(at, line[:len(line) - len(line.lstrip())], parts)


def _expand(block: Block, scope: dict[str, Any], out: list[str]) -> None:
    for item in block:
        if isinstance(item, _Line):
            _substitute(item, scope, out)
        elif isinstance(item, _If):
            holds = bool(_lookup(item.name, scope, item.at)) != item.negated
            _expand(item.body if holds else item.otherwise, scope, out)
        else:
            for value in _lookup(item.items, scope, item.at):
                _expand(item.body, {**scope, item.name: value}, out)


def _substitute(line: _Line, scope: Mapping[str, Any], out: list[str]) -> None:
    text = "".join(part if isinstance(part, str) else
                   str(_lookup(part, scope, line.at)).replace("\n", "\n" + line.indent) for part in line.parts)
    if text.strip():
        out.extend(part.rstrip() for part in text.split("\n"))
    elif all(isinstance(part, str) for part in line.parts):
        out.append("")  # a line that held only an empty value is left out


def _lookup(name: tuple[str, ...], scope: Mapping[str, Any], at: int) -> Any:
    if name[0] not in scope:
        raise TemplateError(f"line {at + 1}: unknown name {name[0]!r}")
    value = scope[name[0]]
    for field in name[1:]:
        try:
            value = value[field] if isinstance(value, dict) else getattr(value, field)
        except (KeyError, AttributeError):
            raise TemplateError(f"line {at + 1}: {'.'.join(name)!r} has no {field!r}") from None
    return value
