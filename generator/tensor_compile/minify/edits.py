# SPDX-License-Identifier: Apache-2.0
"""What may be tried to make a model smaller. An edit puts other tokens in place of some; whether the model still fails
afterwards is found by trying, so an edit need not keep the meaning, nor even be C."""
from __future__ import annotations

import re
from typing import Iterator, Sequence

from ..records import dataclass
from .source import Span, arguments, blocks, partners, statements, tokens


@dataclass(frozen=True, slots=True)
class Edit:
    """Tokens [start, end) become `by`."""

    start: int
    end: int
    by: tuple[str, ...] = ()

    def apply(self, found: Sequence[str]) -> list[str]:
        return [*found[:self.start], *self.by, *found[self.end:]]


def assigned(found: Sequence[str], statement: Span) -> str:
    """The variable that `tc_tensor x = …;` or `x = …;` sets; "" of other statements."""
    words = found[statement.start:statement.end]
    if words[:1] == ["tc_tensor"]:
        words = words[1:]
    return words[0] if len(words) > 3 and words[1] == "=" and re.fullmatch(r"[A-Za-z_]\w*", words[0]) else ""


def model_bodies(found: list[str]) -> list[Span]:
    """The blocks of TC_MODEL and TC_FUNCTION."""
    return [b for b in blocks(found) if b.start >= 5 and found[b.start - 5] in ("TC_MODEL", "TC_FUNCTION")]


def cut(found: list[str], body: Span, behind: int) -> Edit | None:
    """The function ends behind a statement and gives what it sets; None where it sets nothing."""
    inside = statements(found, body.start, body.end)
    name = assigned(found, inside[behind])
    return Edit(inside[behind].end, body.end, tuple(tokens(f'tc_output(g, "{name}", {name});'))) if name else None


def without_statements(found: list[str], block: Span, first: int, count: int) -> Edit:
    inside = statements(found, block.start, block.end)
    return Edit(inside[first].start, inside[min(first + count, len(inside)) - 1].end)


def unwrapped(found: list[str]) -> Iterator[Edit]:
    """Of a loop, a condition or a scope its body, once; a loop's variable has its first value there."""
    match = partners(found)
    for block in blocks(found):
        for statement in statements(found, block.start, block.end):
            words = found[statement.start:statement.end]
            end = statement.end - 1
            head = match.get(statement.start + 1, end) + 1 if words[1:2] == ["("] else end
            if head < end and re.fullmatch(r"\w+", found[head]):     # if (…) or TC_SCOPE(…) before a statement
                yield Edit(statement.start, head)
            if words[-1:] != ["}"] or block.start == 0:
                continue
            opening = next(i for i, j in match.items() if j == end)
            first = match.get(statement.start + 1, 0)
            if words[0] == "for" and first and ";" in found[statement.start:first]:
                start = tuple(found[statement.start + 2:found.index(";", statement.start) + 1])
                rest = tuple(found[first + 1:statement.end])
                yield Edit(statement.start, statement.end, ("{", *start, *rest, "}"))
            yield Edit(statement.start, statement.end, tuple(found[opening + 1:end]))


def simpler_calls(found: list[str]) -> Iterator[Edit]:
    """Of a call one of its arguments, or the call without one. Inner calls come behind outer ones."""
    match = partners(found)
    for i, token in enumerate(found):
        if token != "(" or i not in match or i == 0 or not re.fullmatch(r"[A-Za-z_]\w*", found[i - 1]) or \
                found[i - 1] in ("for", "if", "while", "switch", "TC_MODEL", "TC_FUNCTION", "sizeof"):
            continue
        given = arguments(found, i, match)
        statement = i >= 2 and found[i - 2] in (";", "{", "}") or found[i - 2].endswith("\n")
        for a in given:
            words = found[a.start:a.end]
            if words not in (["g"], ["&"]) and words[:1] != ["."] and not words[0].startswith('"') and not statement:
                yield Edit(i - 1, match[i] + 1, tuple(words))
        for n in reversed(range(len(given))):
            if n:
                yield Edit(given[n - 1].end, given[n].end)


def smaller_numbers(found: list[str]) -> Iterator[Edit]:
    for i, token in enumerate(found):
        if token == "tc_dynamic" and found[i - 1] == "=" and found[i - 3:i - 2] == ["tc_dim"]:
            end = partners(found).get(i + 1, i) + 1
            for size in ("1", "2", "3"):     # a size that does not change
                yield Edit(i - 3, end, ("const", "int", found[i - 2], "=", size))
        if re.fullmatch(r"\d+", token) and int(token) > 1:
            for n in sorted({1, 2, 3, 4, int(token) // 2, int(token) - 1}):
                if n < int(token):
                    yield Edit(i, i + 1, (str(n),))
        if named := re.fullmatch(r"(#define \w+ +)(\d+)\s*", token):
            for n in sorted({1, 2, int(named[2]) // 2}):
                if n < int(named[2]):
                    yield Edit(i, i + 1, (f"{named[1]}{n}\n",))


def copies_propagated(found: list[str]) -> Iterator[Edit]:
    """`tc_tensor y = x;` goes, and y is x from there on; `return …` of a helper gives one of its tensors."""
    for block in blocks(found):
        for s in statements(found, block.start, block.end):
            words = found[s.start:s.end]
            if words[:1] == ["tc_tensor"] and len(words) == 5 and words[2] == "=":
                rest = [words[3] if w == words[1] else w for w in found[s.end:block.end]]
                yield Edit(s.start, block.end, tuple(rest))
            if words[:1] == ["return"] and len(words) > 3 and block.start > 2:
                head = found[:block.start - 1]
                begin = max((i for i, w in enumerate(head) if w in ("}", ";") or w.endswith("\n")), default=-1)
                for i in range(begin + 1, len(head) - 1):
                    if head[i] == "tc_tensor" and re.fullmatch(r"[a-z_]\w*", head[i + 1]) and head[i + 2] in (",", ")"):
                        yield Edit(s.start, s.end, ("return", head[i + 1], ";"))


def inputs_for(found: list[str], types: dict[int, str], printed_lines: Sequence[int]) -> Iterator[Edit]:
    """`x = …;` becomes an input of its type. types: what tc_input takes behind the name, by line; printed_lines: the
    line of every token."""
    for body in model_bodies(found):
        for s in statements(found, body.start, body.end):
            name = assigned(found, s)
            line = printed_lines[s.end - 1]
            if name and line in types and "tc_input" not in found[s.start:s.end]:
                equals = found.index("=", s.start)
                yield Edit(equals + 1, s.end, tuple(tokens(f'tc_input(g, "{name}{line}", {types[line]});')))
