# SPDX-License-Identifier: Apache-2.0
"""The items that a thread is given, begin to end of a space of loops: the variables at the first and from one to the
next, without a division an item."""
from __future__ import annotations

from .scalar import indent


def first_item(loops: list[tuple[str, str]]) -> list[str]:
    """Declares the loop variables at the first item."""
    lines = []
    if len(loops) == 1:
        return [f"tc_index {loops[0][0]} = begin;"]
    at = "begin"
    for i in range(len(loops) - 1, -1, -1):
        name, size = loops[i]
        if i == 0:
            lines.append(f"tc_index {name} = {at};")
        else:
            lines.append(f"tc_index {name} = ({at}) % ({size});")
            at = f"({at}) / ({size})"
    return lines


def next_item(names: list[str], sizes: list[str]) -> list[str]:
    """Steps the loop variables to the next item."""
    if len(names) == 1:
        return [f"++{names[0]};"]
    carry = indent(next_item(names[:-1], sizes[:-1]))
    return [f"if (++{names[-1]} == {sizes[-1]}) {{", f"    {names[-1]} = 0;", *carry, "}"]
