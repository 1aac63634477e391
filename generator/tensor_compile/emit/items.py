# SPDX-License-Identifier: Apache-2.0
"""The items that a thread is given, begin to end of a space of loops: the variables at the first and from one to the
next, without a division an item."""
from __future__ import annotations

from typing import Sequence

from .scalar import indent


def positions(loops: Sequence[tuple[str, str]], at: str, kind: str = "tc_index") -> list[str]:
    """Declares the loop variables at an item by its number, the innermost first. loops: names and sizes."""
    lines = []
    for i, (name, size) in reversed(list(enumerate(loops))):
        lines.append(f"{kind} {name} = {at if i == 0 else f'({at}) % ({size})'};")
        at = f"({at}) / ({size})"
    return lines


def next_item(names: list[str], sizes: list[str]) -> list[str]:
    """Steps the loop variables to the next item."""
    if len(names) == 1:
        return [f"++{names[0]};"]
    carry = indent(next_item(names[:-1], sizes[:-1]))
    return [f"if (++{names[-1]} == {sizes[-1]}) {{", f"    {names[-1]} = 0;", *carry, "}"]
