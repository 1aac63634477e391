# SPDX-License-Identifier: Apache-2.0
"""The dtypes beside f32, i32, i64 and bool. Nothing is specialized: what matters is the elements, not the sizes."""
from __future__ import annotations

SIZES = [{"n": n, "m": m} for n, m in [(0, 5), (1, 1), (3, 37), (2, 64)]] + [{"n": n} for n in (0, 1, 3)]

SPECIALIZED: dict[str, tuple[int, ...]] = {}
