# SPDX-License-Identifier: Apache-2.0
"""Reductions of one input, parts of parts, borders around what is computed."""
from __future__ import annotations

SIZES = [{"n": n, "m": m} for n, m in [(1, 1), (2, 16), (3, 17), (19, 5), (40, 33)]] + [{"n": 1}, {"n": 5}]

SPECIALIZED = {"n": (3,), "m": (17,)}
