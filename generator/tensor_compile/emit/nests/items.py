# SPDX-License-Identifier: Apache-2.0
"""The items that a thread is given, begin to end of a space of loops: the variables at the first and from one to the
next, without a division an item."""
from __future__ import annotations

from typing import Iterable, Sequence

from ...loops.loop_ir import LoopNestKernel
from ...loops.scalar_ir import Reduction, Scalar
from ...loops.scalars import domain_size, walk
from ...symbolic import Expr
from ..scalar import indent, ScalarEmitter

PIECE = 1024      # elements of the innermost loop that a thread takes at a time, a multiple of 16
GRAIN = 4096      # elements that are worth another thread
LEAST = 32        # elements of the innermost loop that a thread takes at a time, where each has many terms
FEW_ITEMS = 64    # below which a large team shares what is inside of them, too


def is_few(items: Expr) -> bool:
    return items.is_const and 0 < items.value < FEW_ITEMS


def piece_of(values: Iterable[Scalar], most: int, together: int) -> int:
    """Elements of the innermost loop that a thread takes at a time: `most`, or fewer where each has many terms;
    `together` of them share a loop over terms."""
    sizes = [domain_size(x.vars) for value in values for x in walk(value) if isinstance(x, Reduction)]
    terms = max((size.value for size in sizes if size.is_const), default=1)
    step = max(16, together)
    return max(LEAST, step, most // max(1, terms) // step * step)


def channels_of(items: Expr, channels: Expr) -> int | None:
    """How many channels a thread takes at a time of windows that are too few for a team; None: all of them."""
    if not channels.is_const or not is_few(items):
        return None
    each = max(LEAST, -(-channels.value * items.value // FEW_ITEMS // 16) * 16)
    return each if each < channels.value else None


def elements_of_row(kernel: LoopNestKernel) -> int:
    """Where that is a number."""
    inner = domain_size(kernel.phases[0].vars)
    return inner.value if inner.is_const else PIECE


def share(e: ScalarEmitter, items: Expr, grain: int) -> list[str]:
    """Declares `begin` and `end` of a thread's items; ends the function where it has none. grain: how many are worth a
    thread."""
    n = e.index(items)
    team = f"tc_min(threads, ({n} + {grain - 1}) / {grain})" if grain > 1 else "threads"
    return ["tc_index begin, end;", f"const tc_index items = {n};",
            *([f"const tc_index team = {team};", "if (thread >= team)", "    return;"] if grain > 1 else []),
            f"tc_split(items, thread, {'team' if grain > 1 else 'threads'}, &begin, &end);",
            "if (begin >= end)", "    return;"]


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
