# SPDX-License-Identifier: Apache-2.0
"""Axes of size 1."""
from __future__ import annotations

SIZES = [{"n": n, "m": m} for n, m in [(1, 1), (1, 5), (2, 1), (1, 16), (1, 17), (3, 17), (17, 3), (5, 33), (40, 40)]] \
    + [{"m": m} for m in (1, 2, 5, 16, 17, 33)] \
    + [{"k": k} for k in (1, 2, 7, 16, 33)]

SPECIALIZED = {"n": (1, 3), "m": (1,)}

FLOATS = ("f64",)
