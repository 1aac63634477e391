# SPDX-License-Identifier: Apache-2.0
"""The dtypes beside f32, i32, i64 and bool."""
from __future__ import annotations

SIZES = [{"n": n, "m": m} for n, m in [(0, 5), (1, 1), (3, 37), (2, 64)]] + [{"n": n} for n in (0, 1, 3)]

SPECIALIZED = {"m": (37,)}
