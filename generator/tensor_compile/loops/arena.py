# SPDX-License-Identifier: Apache-2.0
"""Where blocks of memory lie in the arena, given when each is needed.

Greedy: one block after the other at the lowest offset that is free during its life. Several orders are tried, until
one needs no more than what lives at once. Blocks of constant size get their byte offsets.

Where sizes depend on dims, the same is done for sizes at sample points of the dims, and what is kept is not the offsets
but who lies above whom: a block that lives at the same time as a lower one begins at or behind its end. So a slot's
offset is the largest end of the slots below it, an expression that holds for all dims and is evaluated at entry.
"""
from __future__ import annotations

from typing import Any, Callable, Iterable, Mapping, Sequence

from ..records import dataclass
from ..symbolic import Expr, Sym
from .program_ir import Arena, Slot

ALIGN = 64
UNBOUNDED = 4096  # stands for the upper end of a dim that has none


@dataclass(slots=True, eq=False)
class Block:
    """Memory that one temp, or several one after the other, live in: positions first..last."""

    names: list[str]
    size: Expr
    first: int
    last: int


def rounded(size: int) -> int:
    return -(-size // ALIGN) * ALIGN


def place(blocks: list[Block], arena: Arena) -> None:
    """Fills the arena."""
    if all(b.size.is_const for b in blocks):
        sizes = [rounded(b.size.value) for b in blocks]
        least = most_alive(blocks, sizes)
        arena.size, offsets = min((_first_fit(blocks, sizes, order) for order in _orders(blocks, sizes, least)),
                                  key=lambda found: found[0], default=(0, []))
        if arena.size > least:
            arena.size, offsets = min((arena.size, offsets), _both_ends(blocks, sizes, least), key=lambda f: f[0])
        arena.lower_bound = least
        for block, offset in zip(blocks, offsets, strict=True):
            arena.offset |= dict.fromkeys(block.names, offset)
        return
    points = _points(blocks)
    tables = [[rounded(b.size.evaluate(point)) for b in blocks] for point in points]
    least_at = [most_alive(blocks, sizes) for sizes in tables]
    best: tuple[float, list[Slot], list[int]] | None = None
    for sizes, least in zip(tables, least_at, strict=True):
        for order in _orders(blocks, sizes, least):
            slots, slot_of = _stacked(blocks, _first_fit(blocks, sizes, order)[1])
            worst = max(total(slots, point) / max(least, 1) for point, least in zip(points, least_at, strict=True))
            if best is None or worst < best[0]:
                best = worst, slots, slot_of
        if best is not None and best[0] <= 1:
            break
    assert best is not None
    arena.slots = best[1]
    for block, slot in zip(blocks, best[2], strict=True):
        arena.slot_of |= dict.fromkeys(block.names, slot)


def offsets(slots: Sequence[Slot], dims: Mapping[Sym, int]) -> tuple[list[int], int]:
    """The byte offset of each slot at the given dims, and the end of the last one."""
    begins: list[int] = []
    ends: list[int] = []
    for slot in slots:
        begins.append(max((ends[i] for i in slot.above), default=0))
        ends.append(begins[-1] + rounded(slot.size.evaluate(dict(dims))))
    return begins, max(ends, default=0)


def total(slots: Sequence[Slot], dims: Mapping[Sym, int]) -> int:
    return offsets(slots, dims)[1]


def apart(slots: Sequence[Slot]) -> Callable[[int, int], bool]:
    """apart(a, b): one of two slots lies above the other, whatever the dims."""
    below: list[int] = []
    for slot in slots:
        mask = 0
        for i in slot.above:
            mask |= below[i] | 1 << i
        below.append(mask)
    return lambda a, b: bool(below[a] >> b & 1 or below[b] >> a & 1)


def most_alive(blocks: Iterable[Block], sizes: Sequence[int]) -> int:
    """Bytes that no placement can do without: the most that are needed at one position."""
    change: dict[int, int] = {}
    for block, size in zip(blocks, sizes, strict=True):
        change[block.first] = change.get(block.first, 0) + size
        change[block.last + 1] = change.get(block.last + 1, 0) - size
    most = now = 0
    for position in sorted(change):
        now += change[position]
        most = max(most, now)
    return most


def _points(blocks: Sequence[Block]) -> list[dict[Sym, int]]:
    """Sample points of the dims: upper ends first, as these are what the arena is bounded by; lower ends; between."""
    dims = sorted({s for b in blocks for s in b.size.symbols()}, key=lambda s: s.key)
    high = {s: s.hi if isinstance(s.hi, int) else UNBOUNDED for s in dims}
    low = {s: s.lo for s in dims}
    middle = {s: max(s.lo, int((max(s.lo, 1) * high[s]) ** 0.5) // s.divisor * s.divisor) for s in dims}
    return [high, low, middle]


def _orders(blocks: Sequence[Block], sizes: Sequence[int], least: int) -> Iterable[list[int]]:
    """Orders of placing; ends with the first whose placement needs no more than `least`."""
    keys: tuple[Callable[[int], tuple[Any, ...]], ...] = (
        lambda i: (-sizes[i],),
        lambda i: (-sizes[i] * (blocks[i].last - blocks[i].first + 1),),
        lambda i: (blocks[i].first - blocks[i].last, -sizes[i]),
        lambda i: (blocks[i].first, -sizes[i]),
        lambda i: (-blocks[i].last, -sizes[i]),
    )
    for key in keys:
        ranks = [(*key(i), b.first, b.names[0]) for i, b in enumerate(blocks)]
        order = sorted(range(len(blocks)), key=ranks.__getitem__)
        yield order
        if _first_fit(blocks, sizes, order)[0] <= least:
            return


def _first_fit(blocks: Sequence[Block], sizes: Sequence[int], order: Sequence[int]) -> tuple[int, list[int]]:
    """(bytes, offset of each block) where each in turn takes the lowest offset that is free during its life."""
    at = [0] * len(blocks)
    placed: list[int] = []
    for i in order:
        at[i] = _lowest(_taken(blocks, sizes, at, placed, i), sizes[i])
        placed.append(i)
    return max((at[i] + sizes[i] for i in placed), default=0), at


def _taken(blocks: Sequence[Block], sizes: Sequence[int], at: Sequence[int], placed: Sequence[int],
           i: int) -> list[tuple[int, int]]:
    """Where the placed blocks begin and end that live while block i does, the lowest first."""
    return sorted((at[j], at[j] + sizes[j]) for j in placed
                  if blocks[j].first <= blocks[i].last and blocks[i].first <= blocks[j].last)


def _lowest(taken: Sequence[tuple[int, int]], size: int) -> int:
    """The lowest offset from which `size` bytes are free."""
    offset = 0
    for low, high in taken:
        if offset + size <= low:
            break
        offset = max(offset, high)
    return offset


def _both_ends(blocks: Sequence[Block], sizes: Sequence[int], least: int) -> tuple[int, list[int]]:
    """The same in the order of time, from both ends of `least` bytes: a block that cannot begin at 0 takes the highest
    offset that is free there. In a chain of layers operand and result lie at opposite ends, whatever their sizes."""
    at = [0] * len(blocks)
    placed: list[int] = []
    for i in sorted(range(len(blocks)), key=lambda i: (blocks[i].first, -sizes[i], blocks[i].names[0])):
        taken = _taken(blocks, sizes, at, placed, i)
        lowest = _lowest(taken, sizes[i])
        ends = [least, *(low for low, _ in taken)]
        high_places = [end - sizes[i] for end in ends if end >= sizes[i] and all(
            high <= end - sizes[i] or low >= end for low, high in taken)]
        at[i] = lowest if lowest == 0 or not high_places else max(high_places)
        placed.append(i)
    return max((at[i] + sizes[i] for i in placed), default=0), at


def _stacked(blocks: Sequence[Block], at: Sequence[int]) -> tuple[list[Slot], list[int]]:
    """(slots, slot of each block) with the neighbours that the offsets show; equal ones are one slot."""
    slots: list[Slot] = []
    numbers: dict[Slot, int] = {}
    slot_of = [0] * len(blocks)
    below: list[int] = []          # of each slot, a mask of those under it, near and far
    done: list[int] = []
    for i in sorted(range(len(blocks)), key=lambda i: (at[i], blocks[i].first, blocks[i].names[0])):
        under = {slot_of[j] for j in done if blocks[j].first <= blocks[i].last and blocks[i].first <= blocks[j].last}
        above, mask = [], 0
        for j in sorted(under, reverse=True):
            if not mask >> j & 1:
                above.append(j)
                mask |= below[j] | 1 << j
        slot = Slot(blocks[i].size, tuple(sorted(above)))
        if slot not in numbers:
            numbers[slot] = len(slots)
            slots.append(slot)
            below.append(mask)
        slot_of[i] = numbers[slot]
        done.append(i)
    return slots, slot_of
