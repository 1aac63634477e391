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
from pathlib import Path
from typing import Any, Mapping

TEMPLATES = Path(__file__).resolve().parents[3] / "templates"
_NAME = re.compile(r"\$\{([A-Za-z_][\w.]*)\}")
_FOR = re.compile(r"for (\w+) in ([\w.]+)$")
_IF = re.compile(r"if (not )?([\w.]+)$")


class TemplateError(Exception):
    """The template and its parameters do not fit: always our own mistake."""


def expand(text: str, parameters: Mapping[str, Any]) -> str:
    lines = text.splitlines()
    out: list[str] = []
    end = _lines(lines, 0, dict(parameters), out)
    if end != len(lines):
        raise TemplateError(f"line {end + 1}: {lines[end].strip()} without a beginning")
    return "".join(f"{line}\n" for line in out)


def expand_file(name: str, parameters: Mapping[str, Any]) -> str:
    """The template `name` under templates/, expanded."""
    try:
        return expand((TEMPLATES / name).read_text(encoding="utf-8"), parameters)
    except TemplateError as error:
        raise TemplateError(f"{name}: {error}") from None


def _lines(lines: list[str], at: int, scope: dict[str, Any], out: list[str] | None) -> int:
    """Expands from line `at` to the %else or %end that closes it (or the end of the text) and returns its number.
    With out None the lines are only skipped."""
    while at < len(lines):
        line = lines[at].strip()
        if not line.startswith("%"):
            if out is not None:
                out.extend(_substitute(lines[at], scope, at))
            at += 1
            continue
        directive = line[1:].strip()
        if directive in ("end", "else"):
            return at
        if directive.startswith("#"):
            at += 1
        elif match := _FOR.match(directive):
            name, items = match[1], _lookup(match[2], scope, at) if out is not None else ()
            end = _lines(lines, at + 1, scope, None)
            for item in items:
                _lines(lines, at + 1, {**scope, name: item}, out)
            at = _closed(lines, end, at, "end")
        elif match := _IF.match(directive):
            holds = out is not None and bool(_lookup(match[2], scope, at)) != bool(match[1])
            end = _lines(lines, at + 1, scope, out if holds else None)
            if end < len(lines) and lines[end].strip() == "%else":
                end = _lines(lines, end + 1, scope, out if out is not None and not holds else None)
            at = _closed(lines, end, at, "end")
        else:
            raise TemplateError(f"line {at + 1}: unknown directive: {line}")
    return at


def _closed(lines: list[str], end: int, begin: int, word: str) -> int:
    if end >= len(lines) or lines[end].strip() != f"%{word}":
        raise TemplateError(f"line {begin + 1}: {lines[begin].strip()} has no %{word}")
    return end + 1


def _substitute(line: str, scope: Mapping[str, Any], at: int) -> list[str]:
    def value(match: re.Match) -> str:
        return str(_lookup(match[1], scope, at)).replace("\n", "\n" + indent)

    indent = line[:len(line) - len(line.lstrip())]
    text = _NAME.sub(value, line)
    if line.strip() and not text.strip():
        return []  # a line that held only an empty value
    return [part.rstrip() for part in text.split("\n")]


def _lookup(name: str, scope: Mapping[str, Any], at: int) -> Any:
    head, *rest = name.split(".")
    if head not in scope:
        raise TemplateError(f"line {at + 1}: unknown name {head!r}")
    value = scope[head]
    for field in rest:
        try:
            value = value[field] if isinstance(value, Mapping) else getattr(value, field)
        except (KeyError, AttributeError):
            raise TemplateError(f"line {at + 1}: {name!r} has no {field!r}") from None
    return value
