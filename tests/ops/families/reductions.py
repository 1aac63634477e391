# SPDX-License-Identifier: Apache-2.0
"""Reductions, softmax, normalizations."""
from __future__ import annotations

SIZES = (
    [{"a": a, "b": b, "c": c} for a, b, c in
        [(0, 3, 4), (2, 0, 5), (3, 2, 0), (1, 1, 1), (2, 3, 15), (3, 5, 17), (4, 16, 16), (2, 33, 7),
        (1, 2, 4097), (1, 1, 10000)]]
    + [{"a1": a, "b1": b, "c1": c} for a, b, c in
        [(1, 1, 1), (2, 3, 15), (3, 5, 17), (4, 16, 16), (16, 33, 7), (1, 2, 4097), (1, 1, 10000)]]
    + [{"n": n, "m": m} for n, m in
        [(0, 3), (1, 1), (2, 16), (3, 17), (5, 100), (2, 384), (1, 4095), (1, 4096), (2, 4097), (1, 10000)]]
    + [{"n1": n, "m": m} for n, m in [(1, 1), (3, 17), (20, 33), (17, 100)]])

SPECIALIZED = {"a": (3,), "b": (5,), "c": (17,), "a1": (3,), "b1": (5,), "c1": (17,), "n": (5,), "m": (100,),
               "n1": (17,)}

FLOATS = ("f16", "bf16", "f64")

# sum, normalization, gelu; quotient and its parts, exp, mean
ROUNDINGS = {"op_norm_chain": 3, "op_invented_norm": 4}
