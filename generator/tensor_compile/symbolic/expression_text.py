# SPDX-License-Identifier: Apache-2.0
"""Reads the text of an expression."""
from __future__ import annotations

import re
from typing import Mapping

from .division import floordiv
from .expressions import Expr, Sym, const, sym
from .extrema import maximum, minimum

_FUNCTIONS = {"floordiv": floordiv, "max": maximum, "min": minimum}


def parse(text: str, names: Mapping[str, Sym]) -> Expr:
    """The inverse of repr for dims: + - * with integer and symbol factors, parentheses, floordiv(a, b), max(a, b),
    min(a, b)."""
    if text.lstrip("-").isdigit():
        return const(int(text))
    if text in names:
        return sym(names[text])
    tokens = re.findall(r"\d+|[A-Za-z_][A-Za-z_0-9.]*|[-+*(),]", text)
    if "".join(tokens) != text.replace(" ", ""):
        raise ValueError(f"not an integer expression: {text!r}")
    pos = 0

    def peek() -> str:
        return tokens[pos] if pos < len(tokens) else ""

    def take(expected: str | None = None) -> str:
        nonlocal pos
        token = peek()
        if not token or (expected is not None and token != expected):
            raise ValueError(f"not an integer expression: {text!r}")
        pos += 1
        return token

    def factor() -> Expr:
        token = take()
        if token.isdigit():
            return const(int(token))
        if token == "(":
            inner = total()
            take(")")
            return inner
        if token == "-":
            return -factor()
        if token in _FUNCTIONS:
            take("(")
            a = total()
            take(",")
            b = total()
            take(")")
            return _FUNCTIONS[token](a, b)
        if token not in names:
            raise ValueError(f"unknown dim {token!r} in {text!r}")
        return sym(names[token])

    def term() -> Expr:
        out = factor()
        while peek() == "*":
            take()
            out = out * factor()
        return out

    def total() -> Expr:
        out = term()
        while peek() in ("+", "-"):
            out = out + term() if take() == "+" else out - term()
        return out

    result = total()
    if pos != len(tokens):
        raise ValueError(f"not an integer expression: {text!r}")
    return result
