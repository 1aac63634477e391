# SPDX-License-Identifier: Apache-2.0
"""Tensors made from nothing."""
from __future__ import annotations

SIZES = [{"n": n, "m": m} for n, m in [(0, 1), (1, 1), (1, 3), (2, 16), (3, 17), (7, 33), (64, 2)]]

SPECIALIZED = {"n": (3,), "m": (17,)}

FLOATS = ("f16", "bf16", "f64")
# of sums and products that are outputs of the model's own steps
ROUNDINGS = {"op_grids": 1}
