# SPDX-License-Identifier: Apache-2.0
"""Matrices and images put in other places."""
from __future__ import annotations

SIZES = [{"n": n, "m": m} for n, m in [(1, 1), (1, 3), (2, 16), (3, 17), (7, 33), (33, 2)]]

SPECIALIZED = {"n": (3,), "m": (17,)}

FLOATS = ("f16", "bf16", "f64")
