# SPDX-License-Identifier: Apache-2.0
"""Losses of margins, distributions and vectors."""
from __future__ import annotations

SIZES = (
    [{"n": n, "m": m} for n, m in [(1, 1), (2, 16), (4, 10), (7, 33)]] + [{"m": m} for m in (1, 10, 33)]
    + [{"t": t, "n": n} for t, n in ((0, 2), (1, 1), (9, 5))])

SPECIALIZED = {"n": (4,), "m": (10,)}

FLOATS = ("f32", "f16", "bf16", "f64")
