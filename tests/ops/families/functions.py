# SPDX-License-Identifier: Apache-2.0
"""f32: elementary functions, rounding, remainders."""
from __future__ import annotations

SIZES = [{"n": n, "m": m} for n, m in [(0, 5), (1, 1), (1, 15), (2, 16), (3, 17), (7, 33), (2, 100), (5, 21)]]

SPECIALIZED = {"n": (5,), "m": (21,)}

FLOATS = ("f16", "bf16", "f64")
