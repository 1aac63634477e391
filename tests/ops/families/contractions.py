# SPDX-License-Identifier: Apache-2.0
"""Products, convolutions, pooling."""
from __future__ import annotations

SIZES = (
    [{"m": m, "n": n, "k": k} for m, n, k in
        [(1, 1, 1), (1, 16, 7), (2, 15, 33), (5, 17, 64), (13, 40, 100), (13, 40, 102), (33, 129, 257), (1, 300, 600)]]
    + [{"m": m, "k": k} for m, k in [(1, 1), (1, 600), (2, 15), (7, 17), (13, 64), (13, 102), (33, 257), (1, 512)]]
    + [{"batch": b, "h": h, "w": w} for b, h, w in [(1, 7, 7), (2, 8, 8), (1, 9, 17), (3, 14, 10), (1, 33, 40)]])

SPECIALIZED = {"m": (13,), "n": (40,), "k": (100, 102), "batch": (2,), "h": (8,), "w": (8,)}

FLOATS = ("f16", "bf16", "f64")

# the product with a bias, gelu; convolution, normalization, relu of two layers, their sum and its mean
ROUNDINGS = {"op_linear": 2, "op_residual": 7}
