# SPDX-License-Identifier: Apache-2.0
"""The order of a value's dims in memory, from slowest to fastest."""
from __future__ import annotations

Order = tuple[int, ...]


def last_order(rank: int) -> Order:
    """Channels last: of [n, c, spatial...]."""
    return (0, *range(2, rank), 1)
