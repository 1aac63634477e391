# SPDX-License-Identifier: Apache-2.0
"""How a contraction is computed: data that is chosen before memory is planned. Every schedule gives the same bits."""
from __future__ import annotations

import re

from ..records import dataclass

_NAME = re.compile(r"tc_contraction_(?P<dtype>\w+?)_(?P<mr>\d+)x(?P<nr>\d+)(?P<more>(?:_[a-z]+\d*)*?)__(?P<isa>\w+)$")
_WORDS = {"packed_a": "a", "packed_b": "b", "prefetch": "p", "compact": "s", "lines": "l", "small_teams": "t",
          "large_teams": "g", "term_by_term": "u"}
_NUMBERS = {"kc": "k", "mc": "m", "nc": "n", "bands": "w"}

LARGE_TEAM = 8        # threads of a large team (TC_LARGE_TEAM)
LARGE_PIECES = 8 * LARGE_TEAM    # that it shares a product in: each thread has 8 at least, where a product is large


@dataclass(frozen=True, slots=True)
class Schedule:
    """mr x nr accumulators of a full tile stay in registers over kc terms (0: over all). Within one block of terms a
    thread computes the tiles of mc rows and nc columns (0: all that are its own, of one group of nr columns) before it
    goes on to the next terms; sums that are not complete wait in its scratch, and each goes on from where it was. Where
    terms are not cut, a thread computes all columns of mc rows (0: of all) before it goes on to the next rows.

    packed_a: the rows of a block are copied to scratch first, where they lie side by side and padding is zeros.
    packed_b: so are the columns of b, nc at a time (0: nr), in panels. prefetch: panels of the next columns are fetched
    meanwhile, and the next terms of its own to the first cache; where b lies as one piece, the next block of terms.
    epilogue: "registers", in the code of the tile, which then is the kernel's own; "memory", behind a micro-kernel of
    the library, which leaves its accumulators in memory (emit/contraction/micro.py). compact: what is left of the rows
    is computed by few tiles, as large as the full one or of one row (emit/contraction/schedule_tiles.py). bands: a team
    shares the results as so many bands of rows, in each columns outermost, so that what a thread takes are rectangles;
    0: columns outermost, or blocks of mc rows where there are any. small_teams: so do those alone of whose pieces each
    has as much as a tile of rows; larger teams share as without bands. large_teams: so do those that share a product in
    LARGE_PIECES pieces and more, with small teams or alone. lines: rows are windows of an image, whose lines
    are copied in their place (emit/contraction/image_lines.py). term_by_term: columns of b lie so, and are turned in
    registers (emit/contraction/term_by_term.py).
    """

    isa: str
    dtype: str
    mr: int
    nr: int
    kc: int = 0
    mc: int = 0
    nc: int = 0
    packed_a: bool = False
    packed_b: bool = False
    prefetch: bool = False
    epilogue: str = "memory"
    compact: bool = False
    bands: int = 0
    lines: bool = False
    small_teams: bool = False
    large_teams: bool = False
    term_by_term: bool = False

    def block(self, tiles: int) -> int:
        """Tiles of a block of rows; all `tiles`, where columns are outermost."""
        return max(1, self.mc // self.mr) if self.mc else tiles

    @property
    def in_parts(self) -> bool:
        """Tiles of the kernel's own take terms in blocks, each of one group of columns and of mc rows."""
        return self.kc > 0 and self.epilogue == "registers"

    @property
    def blocked(self) -> bool:
        """Micro-kernels take terms in blocks, or rows are copied: the sums of many tiles are under way at the same
        time."""
        return self.kc > 0 and not self.in_parts or self.packed_a

    @property
    def name(self) -> str:
        """As a tuning lock has it: tc_contraction_f32_8x48_k1152_m48_n480_a_p__avx512."""
        words = ["r"] if self.epilogue == "registers" else []
        words += [f"{short}{getattr(self, name)}" for name, short in _NUMBERS.items() if getattr(self, name)]
        words += [short for name, short in _WORDS.items() if getattr(self, name)]
        return f"tc_contraction_{self.dtype}_{self.mr}x{self.nr}{''.join(f'_{w}' for w in words)}__{self.isa}"


def parse(name: str) -> Schedule | None:
    """The schedule of that name; None where it is none."""
    match = _NAME.match(name)
    if match is None:
        return None
    schedule = Schedule(match["isa"], match["dtype"], int(match["mr"]), int(match["nr"]))
    values: dict[str, object] = {}
    for word in match["more"].split("_")[1:]:
        if word == "r":
            values["epilogue"] = "registers"
        elif word in _WORDS.values():
            values[next(n for n, short in _WORDS.items() if short == word)] = True
        else:
            field = next((n for n, short in _NUMBERS.items() if short == word[0]), None)
            if field is None or not word[1:].isdigit():
                return None
            values[field] = int(word[1:])
    fields = {f: getattr(schedule, f) for f in Schedule.__slots__} | values
    schedule = Schedule(**fields)
    return schedule if schedule.name == name else None
