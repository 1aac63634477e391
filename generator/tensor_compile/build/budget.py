# SPDX-License-Identifier: Apache-2.0
"""Budgets: what a build may use of arena, weights, code and stack, and the bill where it uses more."""
from __future__ import annotations

from dataclasses import dataclass

from ..errors import UserError


@dataclass(frozen=True, slots=True)
class Line:
    """One kernel (or other part) of the bill; bytes."""

    what: str
    code: int
    stack: int | None


@dataclass(frozen=True, slots=True)
class Bill:
    """Bytes. arena: of the largest variant at the dims' upper ends; None where a dim has no upper end. code: per
    instruction set the machine code of all kernels, and the drivers'; stack: the deepest call, None where the compiler
    does not tell."""

    arena: int | None
    weights: int
    code: int
    stack: int | None
    arena_lines: tuple[tuple[str, int], ...]
    weight_lines: tuple[tuple[str, int], ...]
    lines: tuple[Line, ...]


def check(bill: Bill, shown: str, arena: int | None, weights: int | None, code: int | None, stack: int | None) -> None:
    """Raises with the bill, largest lines first, where a limit (None: none) is exceeded."""
    over = []
    for name, used, limit, lines in (
            ("arena", bill.arena, arena, bill.arena_lines),
            ("weights", bill.weights, weights, bill.weight_lines),
            ("code", bill.code, code, tuple((line.what, line.code) for line in bill.lines)),
            ("stack", bill.stack, stack, tuple((line.what, line.stack or 0) for line in bill.lines))):
        if limit is None or (used is not None and used <= limit):
            continue
        shown_use = f"{used} bytes" if used is not None else "an amount that is not known"
        over.append(f"{shown}: error: --max-{name}: {shown_use} needed, {limit} allowed")
        width = max((len(what) for what, _ in lines), default=0)
        over += [f"    {what:<{width}}  {size:>10}" for what, size in sorted(lines, key=lambda l: (-l[1], l[0]))]
    if over:
        raise Over("\n".join(over))


class Over(UserError):
    def __str__(self) -> str:
        return self.message
