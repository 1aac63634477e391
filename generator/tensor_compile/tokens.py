# SPDX-License-Identifier: Apache-2.0
"""One line of the text of an intermediate form (graph or loops) as tokens, and the atoms that both forms share:
integers, bit patterns, quoted strings, places in the user's files, expressions, types."""
from __future__ import annotations

import re
from typing import Callable, TypeVar

from .graph.errors import ParseError
from .graph.dtypes import DTYPES
from .graph.ir import Loc, TensorType
from .symbolic import Expr, Sym, const, floordiv, is_nonnegative, maximum, minimum, sym

T = TypeVar("T")

_TOKEN = re.compile(r'\s*(?:(%\d+(?:\.\d+)?)|([A-Za-z_][A-Za-z_0-9.]*)|(0x[0-9a-fA-F]+|\d+)|("(?:[^"\\]|\\.)*")'
                    r'|(@[A-Za-z_][A-Za-z_0-9.]*)|(==|>=|[-+*()\[\]{},:=]))', re.ASCII)
_ESCAPES = {"n": "\n", '"': '"', "\\": "\\"}
_MAX_DIGITS = 19     # every integer of the text fits an int64
_MAX_DEPTH = 64      # nesting of a dim expression
_MAX_TERMS = 256     # terms of a dim expression


def quote(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


class Line:
    """The tokens of one line: (group of _TOKEN, text); position and what may be taken next."""

    __slots__ = ("file", "number", "tokens", "pos", "names")
    kind_of_name = "dim"   # what a name in an expression is, for messages

    def __init__(self, file: str, number: int, text: str, names: dict[str, Sym]):
        self.file, self.number, self.pos, self.names = file, number, 0, names
        self.tokens: list[tuple[int, str]] = []
        at, end = 0, len(text.rstrip())
        while at < end:
            match = _TOKEN.match(text, at)
            if match is None:
                raise self.error(f"unexpected character {text[at:].lstrip()[:1]!r}")
            kind = match.lastindex
            assert kind is not None    # every alternative is a group
            self.tokens.append((kind, match[kind]))
            at = match.end()

    def error(self, message: str) -> ParseError:
        return ParseError(self.file, self.number, message)

    def peek(self) -> str:
        return self.tokens[self.pos][1] if self.pos < len(self.tokens) else ""

    def take(self, group: int, what: str) -> str:
        if self.pos < len(self.tokens) and self.tokens[self.pos][0] == group:
            self.pos += 1
            return self.tokens[self.pos - 1][1]
        raise self.error(f"expected {what}, not {self.peek() or 'the end of the line'}")

    def expect(self, text: str) -> None:
        if self.peek() != text:
            raise self.error(f"expected '{text}', not {self.peek() or 'the end of the line'}")
        self.pos += 1

    def accept(self, text: str) -> bool:
        if self.peek() == text:
            self.pos += 1
            return True
        return False

    def end(self) -> None:
        if self.pos < len(self.tokens):
            raise self.error(f"unexpected {self.peek()} at the end of the line")

    # -- atoms of the text
    def integer(self) -> int:
        negative = self.accept("-")
        text = self.take(3, "an integer")
        if not text.isdigit():
            raise self.error(f"expected an integer, not {text}")
        if len(text) > _MAX_DIGITS or int(text) >= 1 << 63:
            raise self.error("an integer does not fit 64 bits")
        return -int(text) if negative else int(text)

    def bits(self) -> int:
        text = self.take(3, "a bit pattern such as 0x3f800000")
        if not text.startswith("0x") or len(text) > 18:
            raise self.error(f"expected a bit pattern such as 0x3f800000, not {text}")
        return int(text, 16)

    def string(self) -> str:
        text = self.take(4, "a quoted string")
        if "\\" not in text:
            return text[1:-1]
        bad = next((m[1] for m in re.finditer(r"\\(.)", text) if m[1] not in _ESCAPES), None)
        if bad is not None:
            raise self.error(f"unknown escape \\{bad} in {text}")
        return re.sub(r"\\(.)", lambda m: _ESCAPES[m[1]], text[1:-1])

    def word(self, what: str = "a name") -> str:
        return self.take(2, what)

    def items(self, close: str, read: Callable[[], T]) -> tuple[T, ...]:
        """Comma-separated items up to and including `close`; the opening bracket is already taken."""
        out: list[T] = []
        if self.accept(close):
            return ()
        while True:
            out.append(read())
            if self.accept(close):
                return tuple(out)
            self.expect(",")

    def listed(self, read: Callable[[], T]) -> tuple[T, ...]:
        self.expect("[")
        return self.items("]", read)

    def loc(self) -> Loc | None:
        if not self.accept("loc"):
            return None
        self.expect("(")
        file = self.string()
        self.expect(":")
        line = self.integer()
        scope = "" if self.peek() == ")" else self.string()
        self.expect(")")
        return Loc(file, line, scope)

    # -- dims
    def dim(self, depth: int = 0) -> Expr:
        if depth > _MAX_DEPTH:
            raise self.error("an expression is nested too deeply")
        negative = self.accept("-")
        out = self._term(depth)
        out = -out if negative else out
        while self.peek() in ("+", "-"):
            out = out + self._term(depth) if self._operator() == "+" else out - self._term(depth)
        if len(out.terms) > _MAX_TERMS:
            raise self.error("an expression has too many terms")
        return out

    def _operator(self) -> str:
        self.pos += 1
        return self.tokens[self.pos - 1][1]

    def _term(self, depth: int) -> Expr:
        out = self._factor(depth)
        while self.accept("*"):
            factor = self._factor(depth)
            if len(out.terms) * len(factor.terms) > _MAX_TERMS or (out.terms and len(out.terms[0][0]) > 16):
                raise self.error("an expression has too many terms")
            out = out * factor
        return out

    def _factor(self, depth: int) -> Expr:
        if self.pos < len(self.tokens):
            group, text = self.tokens[self.pos]
            if group == 3:
                return const(self.integer())
            if text in ("max", "min", "floordiv"):
                self.pos += 1
                self.expect("(")
                num = self.dim(depth + 1)
                self.expect(",")
                den = self.dim(depth + 1)
                self.expect(")")
                if text != "floordiv":
                    return maximum(num, den) if text == "max" else minimum(num, den)
                if not is_nonnegative(den - 1):
                    raise self.error(f"the divisor {den} is not positive for all values of the dims")
                return floordiv(num, den)
            if group == 2:
                self.pos += 1
                found = self.names.get(text)
                if found is None:
                    raise self.error(f"unknown {self.kind_of_name} {text}")
                return sym(found)
            if text == "(":
                self.pos += 1
                inner = self.dim(depth + 1)
                self.expect(")")
                return inner
            if text == "-":
                self.pos += 1
                if depth > _MAX_DEPTH:
                    raise self.error("an expression is nested too deeply")
                return -self._factor(depth + 1)
        raise self.error(f"expected a {self.kind_of_name}, not {self.peek() or 'the end of the line'}")

    def type(self) -> TensorType:
        dtype = self.word("a dtype")
        if dtype not in DTYPES:
            raise self.error(f"unknown dtype {dtype}; there are {', '.join(DTYPES)}")
        return TensorType(dtype, self.listed(self.dim))

    def types(self) -> tuple[TensorType, ...]:
        if self.accept("("):
            found = self.items(")", self.type)
            if len(found) == 1:
                raise self.error("a node with one result has a plain type")
            return found
        return (self.type(),)
