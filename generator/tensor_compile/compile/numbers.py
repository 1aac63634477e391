# SPDX-License-Identifier: Apache-2.0
"""Numbers of things, as messages have them."""
from __future__ import annotations

from typing import Mapping


def number_of(n: int, what: str) -> str:
    """`1 run`, `3 runs`."""
    return f"{n} {what}" + ("" if n == 1 else "s")


def numbers_of(kinds: Mapping[str, int]) -> str:
    """`3 kernels, 1 order`: kinds are plurals in -s."""
    return ", ".join(number_of(n, kind.removesuffix("s")) for kind, n in kinds.items())
