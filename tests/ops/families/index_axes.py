# SPDX-License-Identifier: Apache-2.0
"""Indices of any axes, reductions at indices, masks."""
from __future__ import annotations

SIZES = (
    [{"n": n, "m": m, "i": i} for n, m, i in
        [(1, 1, 0), (1, 1, 1), (2, 3, 5), (3, 17, 2), (7, 16, 9), (16, 5, 33), (33, 1, 100), (60, 8, 64), (5, 60, 17)]])

SPECIALIZED = {"n": (7,), "m": (17,), "i": (11,)}

FLOATS = ("f16", "bf16", "f64")
