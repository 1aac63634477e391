# SPDX-License-Identifier: Apache-2.0
"""The same elements in other places; statistics."""
from __future__ import annotations

from itertools import product

SIZES = (
    [{"n": n, "m": m} for n, m in
        [(0, 3), (1, 3), (2, 4), (3, 5), (2, 7), (2, 8), (3, 9), (1, 11), (2, 12), (2, 15), (5, 16), (3, 17), (1, 24),
         (1, 25), (7, 31), (6, 32), (5, 33), (2, 47), (2, 48), (2, 49), (1, 95), (1, 97), (64, 3), (33, 4), (2, 100),
         (3, 127), (2, 129), (1, 1000), (1, 4095), (1, 4096), (2, 4097)]]
    + [{"n": n} for n in range(3, 35)]
    + [{"batch": b, "h": h} for b, h in product((0, 1, 2, 3), (0, 1, 2, 3, 4, 5, 8, 11))])

SPECIALIZED = {"n": (5,), "m": (100,), "batch": (2,), "h": (5,)}
