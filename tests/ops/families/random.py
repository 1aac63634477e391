# SPDX-License-Identifier: Apache-2.0
"""Random numbers."""
from __future__ import annotations

SIZES = [{"n": n, "m": m} for n, m in [(0, 5), (1, 1), (1, 3), (2, 16), (3, 17), (7, 33)]] + [{"n": n}
                                                                                              for n in (0, 1, 3, 5)]

SPECIALIZED = {"n": (3,), "m": (17,)}
