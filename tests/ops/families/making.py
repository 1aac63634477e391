# SPDX-License-Identifier: Apache-2.0
"""Tensors made from nothing."""
from __future__ import annotations

SIZES = [{"n": n, "m": m} for n, m in [(0, 1), (1, 1), (1, 3), (2, 16), (3, 17), (7, 33), (64, 2)]]

SPECIALIZED = {"n": (3,), "m": (17,)}
