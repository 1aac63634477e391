# SPDX-License-Identifier: Apache-2.0
"""Normalizations, norms, distances."""
from __future__ import annotations

from itertools import product

SIZES = [{"batch": b, "h": h} for b, h in product((1, 2, 3), (1, 2, 3, 4, 5, 8, 11, 15, 16, 33))]

SPECIALIZED = {"batch": (2,), "h": (7,)}

FLOATS = ("f16", "bf16", "f64")
