# SPDX-License-Identifier: Apache-2.0
"""Places in several axes at once; elements whose number is data."""
from __future__ import annotations

SIZES = [{"n": n, "m": m, "i": i} for n, m, i in
         [(1, 1, 0), (1, 1, 1), (2, 3, 5), (3, 17, 2), (7, 5, 11), (16, 5, 33), (33, 1, 100), (5, 60, 17)]] + [
    {"n": n, "m": m} for n, m in [(1, 1), (2, 3), (7, 5), (16, 5), (33, 1), (1, 33)]]

SPECIALIZED = {"n": (7,), "m": (5,), "i": (11,)}

FLOATS = ("f32", "f16", "bf16", "f64")
