# SPDX-License-Identifier: Apache-2.0
"""Activations."""
from __future__ import annotations

SIZES = [{"n": n, "m": m} for n, m in [(0, 5), (1, 1), (1, 15), (2, 16), (3, 17), (7, 33), (2, 100), (64, 8)]]

SPECIALIZED = {"n": (3,), "m": (17,)}

FLOATS = ("f16", "bf16", "f64")
