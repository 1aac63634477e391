# SPDX-License-Identifier: Apache-2.0
"""Convolutions of one to three dims, transposed ones."""
from __future__ import annotations

from itertools import product

SIZES = [{"batch": b, "h": h} for b, h in product((1, 2, 3), (4, 5, 6, 7, 8, 9, 10, 11, 13, 17))]

SPECIALIZED = {"batch": (2,), "h": (7,)}

FLOATS = ("f16", "bf16", "f64")
