# SPDX-License-Identifier: Apache-2.0
"""The search: edits are tried, large ones first, until none is left after which the model still fails."""
from __future__ import annotations

from typing import Callable, Iterable

from . import edits
from .edits import Edit
from .source import blocks, printed, statements, tokens

Types = Callable[[str], dict[int, str]]


class Reducer:
    """text: the smallest model so far. fails: whether a text still fails in the same way; smaller: told of every text
    that does; types: what stands behind the name of an input of what a line computes, by line."""

    def __init__(self, text: str, fails: Callable[[str], bool], smaller: Callable[[str], None],
                 types: Types = lambda text: {}):
        self.found = tokens(text)
        self._fails, self._smaller, self._types = fails, smaller, types
        self._tried: set[str] = set()
        self.tries = 0

    @property
    def text(self) -> str:
        return printed(self.found)

    def run(self) -> None:
        while True:
            before = self.text
            self._cut()
            self._statements()
            self._sweep(edits.unwrapped)
            self._sweep(edits.copies_propagated)
            self._sweep(self._inputs)
            self._sweep(edits.simpler_calls)
            self._statements()
            self._sweep(edits.smaller_numbers)
            if self.text == before:
                return

    def attempt(self, edit: Edit) -> bool:
        """Tries one; what still fails is kept. Only an input may be longer than what it stands for."""
        found = edit.apply(self.found)
        text = printed(found)
        if text in self._tried or len(found) > len(self.found) and "tc_input" not in edit.by:
            return False
        self._tried.add(text)
        self.tries += 1
        if not self._fails(text):
            return False
        self.found = found
        self._smaller(text)
        return True

    def _cut(self) -> None:
        """Every function ends as early as it can, by halves."""
        for number in range(len(edits.model_bodies(self.found))):
            low = 0
            body = edits.model_bodies(self.found)[number]
            high = len(statements(self.found, body.start, body.end))
            while low < high:
                middle = (low + high) // 2
                body = edits.model_bodies(self.found)[number]
                edit = edits.cut(self.found, body, middle)
                if edit and self.attempt(edit):
                    high = middle
                else:
                    low = middle + 1

    def _statements(self) -> None:
        """Runs of statements, half a block first, the last ones first: what uses a value stands behind it."""
        number = 0
        while number < len(blocks(self.found)):
            count = self._count(number)
            size = count
            while size:
                first = self._count(number) - size
                while first >= 0:
                    self.attempt(edits.without_statements(self.found, blocks(self.found)[number], first, size))
                    first = min(first, self._count(number)) - size
                    if -size < first < 0:
                        first = 0
                    if number >= len(blocks(self.found)):
                        return
                size = min(size // 2, self._count(number))
            number += 1

    def _count(self, number: int) -> int:
        found = blocks(self.found)
        return len(statements(self.found, found[number].start, found[number].end)) if number < len(found) else 0

    def _sweep(self, propose: Callable[[list[str]], Iterable[Edit]]) -> None:
        """Every edit once, from the start; behind one that was kept, those further on of what is left."""
        at = 0
        while True:
            for edit in sorted(propose(self.found), key=lambda e: e.start):
                if edit.start >= at and self.attempt(edit):
                    at = edit.start
                    break
            else:
                return

    def _inputs(self, found: list[str]) -> Iterable[Edit]:
        text = printed(found)
        types = self._types(text)
        lines, line, start, at = [], 1, 0, 0
        for token in found:     # tokens occur in the text in their order
            before, start = start, text.index(token.strip(), at)
            line += text.count("\n", before, start)
            lines.append(line)
            at = start + len(token.strip())
        return list(edits.inputs_for(found, types, lines))
