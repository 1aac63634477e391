# SPDX-License-Identifier: Apache-2.0
"""Which taps of a padded window no row of a tile has: tiles leave them out, and the cost model counts them."""
from __future__ import annotations

import itertools
import math
from functools import lru_cache

from .access import Access
from ..scalar import extent

MOST_ROWS = 4096   # for which taps are counted; what padding takes of a larger image is little
MOST_TAPS = 64


@lru_cache(maxsize=256)
def computed(access: Access, height: int) -> float:
    """The part of the taps that full tiles of `height` rows compute; 1 where that is not known."""
    rows, taps = _taps_of_rows(access)
    tiles = len(rows) // height if rows else 0
    if not tiles:
        return 1.0
    count = 0
    for tile in range(tiles):
        some = 0
        for row in rows[tile * height:(tile + 1) * height]:
            some |= row
        count += some.bit_count()
    return count / (tiles * taps)


@lru_cache(maxsize=256)
def _taps_of_rows(access: Access) -> tuple[list[int], int]:
    """Of each row the taps that it has, as bits, and how many there are; no rows where sizes are not known."""
    bounded = {s for bound in access.bounds for s in bound.term.symbols()}
    loops = [loop for loop in access.border if loop.var in bounded]
    sizes = [access.rows, *(extent(s) for s in access.m), *(loop.extent for loop in loops)]
    known = {*access.m, *(loop.var for loop in loops)}   # not the first row of a block of rows, say
    if not access.bounds or not all(e.is_const for e in sizes) or access.rows.value > MOST_ROWS \
            or any(not known.issuperset((b.row + b.term).symbols()) for b in access.bounds) \
            or math.prod(loop.extent.value for loop in loops) > MOST_TAPS:
        return [], 0
    ranges = [range(loop.extent.value) for loop in loops]
    rows = [-1] * access.rows.value
    for bound in access.bounds:
        terms = [bound.term.evaluate({loop.var: at for loop, at in zip(loops, point)})
                 for point in itertools.product(*ranges)]
        own = [s for s in access.m if s in bound.row.symbols()]
        found: dict[tuple[int, ...], int] = {}
        for points in itertools.product(*(range(extent(s).value) for s in own)):
            value = bound.row.evaluate(dict(zip(own, points)))
            found[points] = sum(1 << tap for tap, term in enumerate(terms) if value + term >= 0)
        picked = [access.m.index(s) for s in own]
        for row, point in enumerate(itertools.product(*(range(extent(s).value) for s in access.m))):
            rows[row] &= found[tuple(point[i] for i in picked)]
    return rows, math.prod(map(len, ranges))
