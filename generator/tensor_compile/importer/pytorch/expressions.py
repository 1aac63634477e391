# SPDX-License-Identifier: Apache-2.0
"""Sizes as PyTorch writes them: SymPy's text of an expression, in its constructors (Mul(Integer(2), Symbol('s0'))) or
as people write it (2*s0). Read as Python's syntax, never evaluated. Floats of sizes (s0 / 2) become sizes where they
are rounded, and else C that computes them."""
from __future__ import annotations

import ast
import functools
from fractions import Fraction
from typing import Callable, Sequence

from ...symbolic import Expr, floordiv, wrap
from ..dims import ARITHMETIC
from ..problems import Malformed, Unsupported

MOST = 10_000   # characters of an expression


def _tree(text: str) -> ast.expr:
    if len(text) > MOST:
        raise Malformed(f"the size {text[:40]}… has {len(text)} characters")
    try:
        return ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise Malformed(f"the size {text[:80]!r} is no expression") from None


def parse(text: str, symbol: Callable[[str], Expr]) -> Expr:
    """symbol: the size that a symbol's name stands for."""
    tree = _tree(text)
    try:
        return _size(tree, symbol, text)
    except RecursionError:
        raise Malformed(f"the size {text[:80]!r} is nested too deeply") from None


def parse_number(text: str, symbol: Callable[[str], Expr], c: Callable[[Expr], str]) -> str:
    """C of an f64 tensor without axes. c: of a size."""
    tree = _tree(text)
    try:
        return _number(tree, symbol, c, text)
    except RecursionError:
        raise Malformed(f"the number {text[:80]!r} is nested too deeply") from None


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
            elif name == "Integer" and args:
                return size(args[0])
            elif name in _ROUNDED and len(args) == 1:
                whole, parts = _fraction(args[0], symbol, text)
                return floordiv(whole + (parts - 1 if _ROUNDED[name] else 0), wrap(parts))
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


_REPEATED = {"Add": "add", "Mul": "mul", "Max": "maximum", "Min": "minimum"}


def _call(name: str, parts: Sequence[Expr], text: str) -> Expr:
    if name in _REPEATED and parts:
        return functools.reduce(ARITHMETIC[_REPEATED[name]], parts)
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
    if len(parts) == 1 and name in ("Identity", "ToFloat"):
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


# -- floats ----------------------------------------------------------------------------------------------------
# To a size: whether upwards. Sizes are not negative, so that cutting off is rounding down.
_ROUNDED = {"TruncToInt": False, "FloorToInt": False, "floor": False, "CeilToInt": True, "ceiling": True}
_FLOAT_FUNCTIONS = {"Add": "tc_add", "Mul": "tc_mul", "Max": "tc_maximum", "Min": "tc_minimum", "Pow": "tc_pow",
                    "FloatTrueDiv": "tc_div", "IntTrueDiv": "tc_div", "FloatPow": "tc_pow"}
_OPAQUE = {f"OpaqueUnaryFn_{name}": f"tc_{name}" for name in ("sqrt", "exp", "log", "sin", "cos", "tanh", "log2")}


def _literal(node: ast.expr) -> Fraction | None:
    """A number: 0.5, Float('0.5', precision=53), Integer(2), Rational(1, 2)."""
    match node:
        case ast.Constant(value=int() | float() as value) if not isinstance(value, bool) and value - value == 0:
            return Fraction(value)
        case ast.UnaryOp(op=ast.USub(), operand=a):
            found = _literal(a)
            return None if found is None else -found
        case ast.Call(func=ast.Name(id="Float"), args=[ast.Constant(value=str(written)), *_]):
            try:
                return Fraction(float(written))
            except (ValueError, OverflowError):
                return None
        case ast.Call(func=ast.Name(id="Integer"), args=[a]):
            return _literal(a)
        case ast.Call(func=ast.Name(id="Rational"), args=[a, b]):
            above, below = _literal(a), _literal(b)
            return above / below if above is not None and below else None
    return None


def _fraction(node: ast.expr, symbol: Callable[[str], Expr], text: str) -> tuple[Expr, int]:
    """A float of sizes as a size over a number."""
    known = _literal(node)
    if known is not None:
        return wrap(known.numerator), known.denominator
    match node:
        case ast.Call(func=ast.Name(id="FloatTrueDiv" | "IntTrueDiv"), args=[a, b]) if (by := _literal(b)) and by > 0:
            above, below = _fraction(a, symbol, text)
            return above * by.denominator, below * by.numerator
        case ast.Call(func=ast.Name(id="Mul"), args=args):
            above, below = wrap(1), 1
            for factor in args:
                more, parts = _fraction(factor, symbol, text)
                above, below = above * more, below * parts
            return above, below
        case ast.BinOp(left=a, op=ast.Mult(), right=b):
            (a_above, a_below), (b_above, b_below) = (_fraction(side, symbol, text) for side in (a, b))
            return a_above * b_above, a_below * b_below
    return _size(node, symbol, text), 1


def _number(node: ast.expr, symbol: Callable[[str], Expr], c: Callable[[Expr], str], text: str) -> str:
    known = _literal(node)
    if known is not None:
        return f"tc_full(g, {float(known)!r}, TC_F64)"
    match node:
        case ast.Call(func=ast.Name(id=name), args=[first, *more]) if name in _FLOAT_FUNCTIONS:
            found = _number(first, symbol, c, text)
            for arg in more:
                found = f"{_FLOAT_FUNCTIONS[name]}({found}, {_number(arg, symbol, c, text)})"
            return found
        case ast.Call(func=ast.Name(id=name), args=[a]) if name in _OPAQUE:
            return f"{_OPAQUE[name]}({_number(a, symbol, c, text)})"
    return f"tc_cast(tc_dim_value(g, TC_I64, {c(_size(node, symbol, text))}), TC_F64)"
