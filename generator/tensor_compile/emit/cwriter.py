# SPDX-License-Identifier: Apache-2.0
"""Pieces of C text that the driver and the header share: names, strings, integer expressions over dims."""
from __future__ import annotations

import re
from typing import Mapping

from ..c_names import KEYWORDS
from ..errors import UserError
from ..symbolic import Expr, Extremum, Sym, is_nonnegative, wrap

LOWER = "lower the upper ends of the dims' ranges"


def identifier(name: str) -> str:
    """A C and C++ identifier that reads like `name`: "cache.k" -> cache_k."""
    text = re.sub(r"[^A-Za-z0-9_]+", "_", name)
    text = re.sub(r"__+", "_", text)  # C++ reserves double underscores
    if not text or text[0].isdigit() or text[0] == "_":
        text = "x" + text
    return text + "_" if text in KEYWORDS else text


def macro(name: str) -> str:
    return identifier(name).upper()


def string(text: str) -> str:
    """A C string literal; bytes beyond ASCII by octal escapes, which end by themselves."""
    out = ""
    for byte in text.encode(errors="surrogateescape"):
        char = chr(byte)
        out += "\\" + char if char in '"\\' else char if 32 <= byte < 127 else f"\\{byte:03o}"
    return f'"{out}"'


def comment(text: str) -> str:
    """Text that cannot end the comment it is put in."""
    return text.replace("*/", "* /").replace("\n", " ")


def integer(e: Expr, names: Mapping[Sym, str]) -> str:
    """`e` as C of type int64_t: `names` gives each symbol's text, of that type. Division is the floor."""
    text = ""
    for monomial, c in e.terms:
        factors = []
        for atom in monomial:
            if isinstance(atom, Sym):
                factors.append(names[atom])
                continue
            num, den = (integer(part, names) for part in atom.parts)
            if isinstance(atom, Extremum):
                factors.append(f"(({num}) {'>' if atom.largest else '<'} ({den}) ? ({num}) : ({den}))")
                continue
            plain = is_nonnegative(atom.num)
            factors.append(f"(({num}) / ({den}))" if plain else f"tc_floordiv({num}, {den})")
        if abs(c) != 1 or not factors:
            factors.append(f"INT64_C({abs(c)})" if abs(c) >= 1 << 31 else str(abs(c)))
        text += (" - " if c < 0 else " + ") + " * ".join(factors)
    if not text:
        return "0"
    return ("-" if text.startswith(" - ") else "") + text[3:]


def fits(e: Expr) -> bool:
    """Whether 64 bits hold what leads to the value, each term of it, at all sizes of its dims."""
    ends = [end for monomial, c in e.terms for end in Expr(((monomial, c),)).range()]
    return all(end is not None and abs(end) < 1 << 62 for end in ends)


def largest(e: Expr | int, what: str) -> int:
    """The bound of a size at the upper ends of its dims. A user's error where 64 bits cannot hold what leads to it."""
    e = wrap(e)
    if not fits(e):
        raise UserError(f"{what} can grow beyond 64 bits: {e} bytes", hint=LOWER)
    high = e.range()[1]
    assert high is not None
    return max(high, 0)
