# SPDX-License-Identifier: Apache-2.0
"""Parts, joining, padding."""
from __future__ import annotations

from itertools import product

SIZES = (
    [{"n": n, "m": m} for n, m in [(1, 1), (1, 7), (2, 16), (3, 17), (16, 5), (64, 33)]]
    + [{"n": n, "m": m, "p": p} for (n, m), p in product([(1, 1), (2, 16), (3, 17), (33, 5)], [0, 1, 20])]
    + [{"batch": b, "h": h} for b, h in product((0, 1, 2, 3), (0, 1, 2, 3, 4, 5, 8, 11))])

SPECIALIZED = {"n": (3,), "m": (17,), "p": (20,), "batch": (2,), "h": (5,)}
