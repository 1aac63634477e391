# SPDX-License-Identifier: Apache-2.0
"""Integer expressions as C text of type tc_index."""
from __future__ import annotations

from typing import Mapping, TypeVar

from ..symbolic import Expr, Extremum, FloorDiv, Sym, is_nonnegative


Key = TypeVar("Key")


class Names(dict[Key, str]):
    """C text of symbols, or of buffers by name. used: those that some text was made of, so that a prologue declares
    what its kernel needs and nothing else."""

    def __init__(self, texts: Mapping[Key, str]):
        super().__init__(texts)
        self.used: set[Key] = set()

    def __getitem__(self, key: Key) -> str:
        self.used.add(key)
        return super().__getitem__(key)


def c_index(e: Expr, names: Mapping[Sym, str]) -> str:
    """`names` gives the C text of every symbol."""
    text = ""
    for monomial, c in e.terms:
        factors = [names[a] if isinstance(a, Sym) else _quotient(a, names) for a in monomial]
        if abs(c) != 1 or not factors:
            factors.append(str(abs(c)))
        text += (" - " if c < 0 else " + ") + " * ".join(factors)
    if not text:
        return "0"
    return ("-" if text.startswith(" - ") else "") + text[3:]


def _quotient(a: FloorDiv | Extremum, names: Mapping[Sym, str]) -> str:
    """Or an extremum. C's division is the floor where the number is not negative; otherwise tc_floordiv is."""
    num, den = (c_index(part, names) for part in a.parts)
    if isinstance(a, Extremum):
        return f"tc_{a.name}({num}, {den})"
    return f"(({num}) / ({den}))" if is_nonnegative(a.num) else f"tc_floordiv({num}, {den})"
