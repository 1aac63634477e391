# SPDX-License-Identifier: Apache-2.0
"""Sizes as PyTorch writes them: SymPy's text of an expression, in its constructors (Mul(Integer(2), Symbol('s0'))) or
as people write it (2*s0). Read as Python's syntax, never evaluated."""
from __future__ import annotations

import ast
from typing import Callable, Sequence

from ...symbolic import Expr, floordiv, maximum, minimum, wrap
from ..problems import Malformed, Unsupported

MOST = 10_000   # characters of an expression


def parse(text: str, symbol: Callable[[str], Expr]) -> Expr:
    """symbol: the size that a symbol's name stands for."""
    if len(text) > MOST:
        raise Malformed(f"the size {text[:40]}… has {len(text)} characters")
    try:
        tree = ast.parse(text, mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise Malformed(f"the size {text[:80]!r} is no expression") from None
    try:
        return _size(tree.body, symbol, text)
    except RecursionError:
        raise Malformed(f"the size {text[:80]!r} is nested too deeply") from None


def _size(node: ast.expr, symbol: Callable[[str], Expr], text: str) -> Expr:
    def size(inner: ast.expr) -> Expr:
        return _size(inner, symbol, text)

    match node:
        case ast.Constant(value=int(value)) if not isinstance(value, bool):
            return wrap(value)
        case ast.Name(id=name):
            return symbol(name)
        case ast.UnaryOp(op=ast.USub(), operand=a):
            return -size(a)
        case ast.BinOp(left=a, op=operator, right=b):
            return _binary(operator, size(a), size(b), text)
        case ast.Call(func=ast.Name(id=name), args=args):
            if name == "Symbol":
                if args and isinstance(args[0], ast.Constant) and isinstance(args[0].value, str):
                    return symbol(args[0].value)
            elif name == "Integer":
                return size(args[0])
            else:
                return _call(name, [size(a) for a in args], text)
    raise Malformed(f"the size {text[:80]!r} is no expression over sizes")


def _binary(operator: ast.operator, a: Expr, b: Expr, text: str) -> Expr:
    match operator:
        case ast.Add():
            return a + b
        case ast.Sub():
            return a - b
        case ast.Mult():
            return a * b
        case ast.FloorDiv():
            return _quotient(a, b, text)
        case ast.Mod():
            return a - _quotient(a, b, text) * b
        case ast.Pow():
            return _power(a, b, text)
    raise Unsupported(f"a size of the form {text[:80]}")


def _call(name: str, parts: Sequence[Expr], text: str) -> Expr:
    if name in ("Add", "Mul", "Max", "Min") and parts:
        found = parts[0]
        for part in parts[1:]:
            found = (found + part if name == "Add" else found * part if name == "Mul" else
                     maximum(found, part) if name == "Max" else minimum(found, part))
        return found
    if len(parts) == 2:
        a, b = parts
        if name in ("FloorDiv", "CleanDiv", "IntTrueDiv"):
            return _quotient(a, b, text)
        if name == "CeilDiv":
            return _quotient(a + b - 1, b, text)
        if name in ("Mod", "PythonMod", "ModularIndexing"):
            return a - _quotient(a, b, text) * b
        if name in ("Pow", "PowByNatural"):
            return _power(a, b, text)
    if len(parts) == 1 and name in ("Identity", "TruncToInt", "FloorToInt", "floor"):
        return parts[0]
    raise Unsupported(f"a size with {name}: {text[:80]}")


def _quotient(a: Expr, b: Expr, text: str) -> Expr:
    low = b.range()[0]
    if low is None or low < 1:
        raise Unsupported(f"a size divided by what may be 0: {text[:80]}")
    return floordiv(a, b)


def _power(a: Expr, b: Expr, text: str) -> Expr:
    if not b.is_const or not 0 <= b.value <= 8:
        raise Unsupported(f"a size with a power: {text[:80]}")
    found = wrap(1)
    for _ in range(b.value):
        found = found * a
    return found
