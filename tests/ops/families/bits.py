# SPDX-License-Identifier: Apache-2.0
"""i32, i64: bits, shifts, remainders."""
from __future__ import annotations

SIZES = [{"n": n, "m": m} for n, m in [(0, 5), (1, 1), (2, 16), (3, 17), (5, 100)]]

SPECIALIZED = {"n": (3,), "m": (17,)}
