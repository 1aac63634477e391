# SPDX-License-Identifier: Apache-2.0
"""Losses."""
from __future__ import annotations

SIZES = [{"n": n, "m": m} for n, m in [(1, 1), (1, 7), (2, 16), (4, 10), (7, 33), (40, 5), (2, 300)]]

SPECIALIZED = {"n": (4,), "m": (10,)}

FLOATS = ("f16", "bf16", "f64")
