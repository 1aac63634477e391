# SPDX-License-Identifier: Apache-2.0
"""The statements that a front end writes, before they are text.

The text of a statement is C with marks: a value, a dim (dims.MARK) or a name of the program stand in it by identity, so
that scopes.py can move statements into functions and source.py can name variables where they are.
"""
from __future__ import annotations

import re
from dataclasses import field
from typing import Iterable, Iterator

from ..records import dataclass
from .dims import Dims, Shape
from .values import MARK, Data, Element, Value

LAYERS = "TC_LAYERS"    # the macro with which layers of the model are outputs, too

_VALUE = re.compile(f"{MARK}(\\d+){MARK}")


@dataclass(frozen=True, slots=True)
class Origin:
    """The node of the model that a statement stands for. line: where the node is of source code, the line in the file
    `name`; else 0."""

    kind: str = ""
    name: str = ""
    line: int = 0


@dataclass(eq=False, slots=True)
class Statement:
    """`tc_tensor TARGET = TEXT;`, or TEXT; alone where there is no target. declared: values that are declared before,
    without a value; array: the value that is an array of `count` tensors, of which `parts` are the elements in order.
    assigns: `a = b;` behind the text, in order. head: of a block (TC_WHILE(...)), whose body follows; a block's TEXT is
    empty. scope: where it belongs, outermost first. within: the scope that it opens for itself, where all weights
    are that it reads."""

    text: str = ""
    target: Value | None = None
    declared: tuple[Value, ...] = ()
    array: Value | None = None
    parts: tuple[Value, ...] = ()
    head: str = ""
    body: list[Statement] = field(default_factory=list)
    origin: Origin = Origin()
    scope: tuple[str, ...] = ()
    within: str = ""
    keep: bool = False   # it does something besides making its results

    @property
    def results(self) -> tuple[Value, ...]:
        return (*((self.target,) if self.target else ()), *self.declared, *self.parts)

    def texts(self) -> Iterator[str]:
        """Its own text and head, and those of its body."""
        yield self.head
        yield self.text
        for inner in self.body:
            yield from inner.texts()

    def reads(self) -> list[int]:
        """The numbers of the values that are named in it, each once, in order; results of its own too."""
        return list(dict.fromkeys(int(n) for text in self.texts() for n in _VALUE.findall(text)))

    def made(self) -> Iterator[Value]:
        """Its results, its array and what is made within."""
        if self.array is not None:
            yield self.array
        yield from self.results
        for inner in self.body:
            yield from inner.made()


@dataclass(slots=True)
class Program:
    """One entry function: what it takes, does and gives. inputs, outputs: (C name, value). prefix: before the names of
    all weights, for programs that share a file."""

    name: str
    dims: Dims
    values: dict[int, Value] = field(default_factory=dict)
    inputs: list[tuple[str, Value]] = field(default_factory=list)
    outputs: list[tuple[str, Value]] = field(default_factory=list)
    statements: list[Statement] = field(default_factory=list)
    prefix: str = ""
    comment: list[str] = field(default_factory=list)
    optional: list[tuple[str, str]] = field(default_factory=list)   # outputs under the macro LAYERS: (C name, text)

    def value(self, dtype: str, shape: Shape, *, elements: tuple[Element, ...] | None = None,
              splat: Element | None = None, data: Data | None = None, hint: str = "") -> Value:
        return self.add(Value(dtype, shape, elements, splat, data, hint))

    def add(self, value: Value) -> Value:
        """Values are named in texts by their number: this makes a value known."""
        self.values[value.number] = value
        return value


def values_of(text: str) -> list[int]:
    return [int(n) for n in _VALUE.findall(text)]


def substitute(text: str, names: dict[int, str]) -> str:
    return _VALUE.sub(lambda match: names[int(match[1])], text)


def without_dead(statements: list[Statement], needed: Iterable[int]) -> list[Statement]:
    """The statements whose results somebody needs."""
    live = set(needed)
    kept = []
    for statement in reversed(statements):
        if statement.head:
            statement.body = without_dead(statement.body, live)
        if statement.keep or any(value.number in live for value in statement.results):
            live.update(statement.reads())
            kept.append(statement)
    kept.reverse()
    return kept
