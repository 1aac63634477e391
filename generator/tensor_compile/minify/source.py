# SPDX-License-Identifier: Apache-2.0
"""C text as tokens, statements and calls: as much of the language as taking parts out of it needs."""
from __future__ import annotations

import re

from ..records import dataclass

TOKEN = re.compile(r"""(?P<gap>(?:\s|//[^\n]*|/\*.*?\*/|\\\n)+)
                     |(?P<text>"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')
                     |(?P<number>\.?\d(?:[eEpP][+-]|[\w.])*)
                     |(?P<word>[A-Za-z_]\w*)
                     |(?P<mark>->|\+\+|--|<<=?|>>=?|[<>=!+\-*/%&|^]=|&&|\|\||\.\.\.|\S)""", re.X | re.S)
DIRECTIVE = re.compile(r"[ \t]*#(?:\\\n|[^\n])*")    # at the start of a line
OPEN, CLOSE = "([{", ")]}"


@dataclass(frozen=True, slots=True)
class Span:
    """Tokens [start, end)."""

    start: int
    end: int


def tokens(text: str) -> list[str]:
    """Without comments; what stands between two tokens is not kept. A directive is one token, with its line's end."""
    found: list[str] = []
    at = 0
    while at < len(text):
        directive = DIRECTIVE.match(text, at) if at == 0 or text[at - 1] == "\n" else None
        m = directive or TOKEN.match(text, at)
        assert m, "every character is a mark at least"
        if directive:
            found.append(directive[0].strip() + "\n")
        elif m.lastgroup != "gap":
            found.append(m[0])
        elif "\n" in m[0]:      # a line may begin with a directive
            at = m.start() + m[0].rindex("\n") + 1
            continue
        at = m.end()
    return found


def partners(found: list[str]) -> dict[int, int]:
    """The closing bracket of every opening one; of text that is no C, as far as they match."""
    stack: list[int] = []
    out: dict[int, int] = {}
    for i, token in enumerate(found):
        if token in OPEN:
            stack.append(i)
        elif token in CLOSE and stack:
            out[stack.pop()] = i
    return out


def statements(found: list[str], start: int, end: int) -> list[Span]:
    """Those of a block whose tokens are [start, end), or of the file: up to `;`, up to the end of a block, a
    directive."""
    match = partners(found)
    out: list[Span] = []
    at = begin = start
    while at < end:
        token = found[at]
        if token in OPEN and at in match:
            block = token == "{" and at > begin and found[at - 1] != "=" and found[at - 1] not in (",", "return")
            alone = token == "{" and at == begin
            at = match[at] + 1
            if block or alone:
                out.append(Span(begin, at))
                begin = at
        else:
            at += 1
            if token == ";" or token.endswith("\n"):
                out.append(Span(begin, at))
                begin = at
    if begin < end:
        out.append(Span(begin, end))
    return out


def blocks(found: list[str]) -> list[Span]:
    """What stands in braces that hold statements, and the file itself; inner ones behind outer ones."""
    match = partners(found)
    out = [Span(0, len(found))]
    for i, token in enumerate(found):
        if token == "{" and i in match and i > 0 and found[i - 1] not in ("=", ",", "(") and \
                not (found[i - 1] == ")" and _literal(found, i, match)):
            out.append(Span(i + 1, match[i]))
    return out


def _literal(found: list[str], at: int, match: dict[int, int]) -> bool:
    """Whether the brace behind `)` begins a compound literal: (type){…} in an expression."""
    before = next((i for i, j in match.items() if j == at - 1), at)
    return before > 0 and found[before - 1] in ("=", ",", "(", "&", "return", "?", ":")


def arguments(found: list[str], opening: int, match: dict[int, int]) -> list[Span]:
    """Of the call whose `(` is at `opening`; match: the partners of `found`."""
    out, at, begin = [], opening + 1, opening + 1
    end = match.get(opening, opening)
    while at < end:
        if found[at] in OPEN and at in match:
            at = match[at]
        elif found[at] == ",":
            out.append(Span(begin, at))
            begin = at + 1
        at += 1
    return [*out, Span(begin, end)] if begin < end else out


def printed(found: list[str]) -> str:
    """One statement a line, indented by its blocks."""
    lines: list[str] = []
    line = ""
    depth = brackets = 0
    braces: list[bool] = []     # whether each that is open began a block
    for i, token in enumerate(found):
        if token.endswith("\n"):
            lines += [_indented(line, depth), token.rstrip("\n")]
            line = ""
            continue
        following = found[i + 1] if i + 1 < len(found) else ""
        if token in "([":
            brackets += 1
        elif token in ")]":
            brackets -= 1
        if token == "{":
            braces.append(not brackets and not line.rstrip().endswith(("=", ",")))
        if token == "{" and braces[-1]:
            lines += [_indented(line, depth), _indented("{", depth)]
            line, depth = "", depth + 1
        elif token == "}" and (not braces or braces.pop()):
            lines.append(_indented(line, depth))
            depth = max(depth - 1, 0)
            line = "}"
            if following != ";":
                lines.append(_indented(line, depth))
                line = ""
        else:
            line += token + (" " if _apart(token, following) else "")
            if token == ";" and not brackets:
                lines.append(_indented(line, depth))
                line = ""
    lines.append(_indented(line, depth))
    return "\n".join(text for text in lines if text.strip()) + "\n"


def _indented(line: str, depth: int) -> str:
    return "    " * depth + line.strip() if line.strip() else ""


def _apart(token: str, following: str) -> bool:
    if not following or following in (";", ",", ")", "]", ".", "->", "++", "--") and token != ",":
        return False
    if token in ("(", "[", ".", "->", "!", "~", "&", "++", "--", "-"):
        return False
    if token == "*":
        return not re.match(r"\w", following)
    if token in ("for", "if", "while", "switch", "return"):
        return True
    return not (following in ("(", "[") and (re.fullmatch(r"\w+", token) or token in ")]"))
