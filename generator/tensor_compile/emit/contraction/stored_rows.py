# SPDX-License-Identifier: Apache-2.0
"""How the rows of a tile whose results are bytes are stored: few columns several rows at a time."""
from __future__ import annotations

from typing import Any, Callable

from ...records import dataclass

# how many rows of so many vectors of bytes are stored at a time, and the function that does
JOINED = {("AVX2", 1): (2, "rows"), ("AVX512", 1): (4, "quarters"), ("AVX512", 2): (2, "halves")}


@dataclass(frozen=True, slots=True)
class StoredRows:
    """joined: rows that are stored together; pieces: up to 64 columns of the others; ends: their last columns, fewer
    than 16."""

    joined: list[dict[str, Any]]
    pieces: list[dict[str, Any]]
    ends: list[dict[str, Any]]


def stored_rows(vectors: str, rows: int, columns: int, value: Callable[..., str],
                place: Callable[[int], str]) -> StoredRows:
    """value(r, v), value(r, v, lanes): C text of the 16 columns v of row r, of the first `lanes` of them; place(r):
    where the row begins."""
    full, rest = divmod(columns, 16)
    several, store = JOINED.get((vectors, full), (1, ""))
    together = rows // several * several if store else 0
    joined = [{"name": store, "places": ", ".join(place(r) for r in some),
               "values": ", ".join(value(r, v) for r in some for v in range(full))}
              for some in (range(first, first + several) for first in range(0, together, several))]
    pieces = [{"r": r, "at": 16 * first, "count": 16 * min(4, full - first),
               "values": ", ".join(value(r, min(v, full - 1)) for v in range(first, first + 4))}
              for r in range(together, rows) for first in range(0, full, 4)]
    ends = [{"r": r, "at": 16 * full, "count": rest, "value": value(r, full, str(rest))}
            for r in range(rows)] if rest else []
    return StoredRows(joined, pieces, ends)
