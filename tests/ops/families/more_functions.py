# SPDX-License-Identifier: Apache-2.0
"""Functions made of the elementary ones."""
from __future__ import annotations

SIZES = [{"n": n, "m": m} for n, m in [(0, 5), (1, 1), (3, 17), (2, 100)]]

SPECIALIZED = {"n": (3,), "m": (17,)}

FLOATS = ("f32", "f16", "bf16", "f64")

# the difference before atanh, the size and its sum before a quotient
ROUNDINGS = {"op_logarithms": 1, "op_three": 1}
