# SPDX-License-Identifier: Apache-2.0
"""einsum and its kin."""
from __future__ import annotations

from itertools import product

SIZES = [{"m": m, "k": k} for m, k in product((1, 2, 5, 13, 16, 33), (1, 3, 16, 17, 64))]

SPECIALIZED = {"m": (13,), "k": (17,)}

FLOATS = ("f16", "bf16", "f64")
