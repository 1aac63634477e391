# SPDX-License-Identifier: Apache-2.0
"""Integer expressions as C text of type tc_index."""
from __future__ import annotations

from typing import Mapping

from ..symbolic import Expr, Sym


def c_index(e: Expr, names: Mapping[Sym, str]) -> str:
    """`names` gives the C text of every symbol. Divisions are of non-negative numbers, as docs/loops.md says of
    indices, so that C's division is the floor."""
    text = ""
    for monomial, c in e.terms:
        factors = [names[a] if isinstance(a, Sym) else f"(({c_index(a.num, names)}) / ({c_index(a.den, names)}))"
                   for a in monomial]
        if abs(c) != 1 or not factors:
            factors.append(str(abs(c)))
        text += (" - " if c < 0 else " + ") + " * ".join(factors)
    if not text:
        return "0"
    return ("-" if text.startswith(" - ") else "") + text[3:]
