# SPDX-License-Identifier: Apache-2.0
"""f32: one and two operands, broadcasting."""
from __future__ import annotations

SIZES = (
    [{"n": n, "m": m} for n, m in
        [(0, 5), (5, 0), (1, 1), (1, 15), (1, 16), (3, 17), (7, 33), (2, 100), (64, 8), (3, 512)]])

SPECIALIZED = {"n": (3,), "m": (17,)}

FLOATS = ("f16", "bf16", "f64")

# sum, sigmoid, tanh, difference, product, square
ROUNDINGS = {"op_chain": 6}
