# SPDX-License-Identifier: Apache-2.0
"""Attention and lookups."""
from __future__ import annotations

SIZES = (
    [{"batch": b, "l": l, "s": s} for b, l, s in
        [(1, 1, 1), (1, 1, 17), (2, 5, 16), (1, 16, 33), (3, 33, 33), (1, 130, 127)]]
    + [{"batch": b, "l": l} for b, l in [(1, 1), (2, 7), (1, 16), (3, 33), (1, 130)]]
    + [{"l": l} for l in (1, 2, 16, 17, 100)])

SPECIALIZED = {"batch": (2,), "l": (5,), "s": (16,)}

FLOATS = ("f16", "bf16", "f64")

# the products with weights, attention
ROUNDINGS = {"op_heads": 2}
