# SPDX-License-Identifier: Apache-2.0
"""Numbers of things, as messages have them."""
from __future__ import annotations

from typing import Mapping

from ..symbolic import Sym


def number_of(n: int, what: str) -> str:
    """`1 run`, `3 runs`."""
    return f"{n} {what}" + ("" if n == 1 else "s")


def numbers_of(kinds: Mapping[str, int]) -> str:
    """`3 kernels, 1 order`: kinds are plurals in -s."""
    return ", ".join(number_of(n, kind.removesuffix("s")) for kind, n in kinds.items())


def range_of(s: Sym) -> str:
    """The sizes that a dim may have."""
    by = f", a multiple of {s.divisor}" if s.divisor > 1 else ""
    return f"{s.lo} to {s.hi if s.hi is not None else 'any size'}{by}"
